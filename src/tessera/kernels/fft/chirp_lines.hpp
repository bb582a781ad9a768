// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transforms of lines whose length has large prime factors (Bluestein): with jk = (j^2 + k^2 - (k -
// j)^2) / 2 a transform is a product with a chirp exp(-i pi j^2 / n), a convolution with its
// conjugate, which transforms of a length of small factors do, and another product with it. Private
// to the cpu's FFT.
//   ChirpLines<float> line(1009);   line.transform(x, y, -1, scratch);

#include <vector>

#include "tessera/kernels/fft/smooth_lines.hpp"

namespace tessera {

template <class R>
class ChirpLines {
 public:
  using C = Complex<R>;
  explicit ChirpLines(i64 points);
  // Elements of scratch memory, which starts on a boundary of 16 bytes.
  i64 scratch() const { return 2 * padded_ + inner_->line_scratch(1); }
  // to = DFT(from), sign -1 forward, +1 backward. `from` may be `to`.
  void transform(const C* from, C* to, int sign, R* scratch) const;

 private:
  i64 points_, padded_;
  std::shared_ptr<const SmoothLines<R>> inner_;
  std::vector<C> chirp_, filter_;  // the filter: the conjugate chirp, transformed and scaled
};

}  // namespace tessera
