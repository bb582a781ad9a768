// SPDX-License-Identifier: Apache-2.0
#pragma once
// The roots of unity between the two passes of a long transform (Note [long lines] in
// fft_passes.hpp): exp(-2 pi i row column / points). A row has those of every `stride`-th column
// and of the first `stride` ones; products of two give all. Private to the cpu's FFT.
//   turns<float>(1 << 20, 1024)->multiply(line, 7, -1);   // the line of row 7

#include <array>
#include <memory>
#include <vector>

#include "tessera/base/scalar.hpp"

namespace tessera {

// exp(-2 pi i numerator / points), exact where the parts are 0, 1 or equal.
TESSERA_API std::array<double, 2> root_of_unity(i64 numerator, i64 points);

template <class R>
class Turns {
 public:
  Turns(i64 points, i64 rows);
  // line[c] *= exp(sign 2 pi i row c / points) for all columns.
  void multiply(Complex<R>* line, i64 row, int sign) const;

 private:
  static constexpr i64 stride = 32;
  i64 columns_, coarse_;
  std::vector<Complex<R>> roots_;  // by row: of the strides, then of the first columns
};

// Those of a few lengths are kept: eager calls would make them anew each time.
template <class R>
std::shared_ptr<const Turns<R>> turns(i64 points, i64 rows);

// The number of rows into which a line of so many points is cut for two passes; 0 where one does.
TESSERA_API i64 long_line_rows(i64 points);

}  // namespace tessera
