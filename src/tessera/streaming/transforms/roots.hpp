// SPDX-License-Identifier: Apache-2.0
#pragma once
// The roots of unity between the two halves of a transform that is cut into rows and columns:
// exp(sign 2 pi i row column / points) for any row and column, as the product of two entries of
// tables of about sqrt(points) numbers each, so that memory does not grow with the transform.
// Private to the library.
//   RootTable roots(n);   roots.multiply(work, axis, first_column, -1);

#include "tessera/array/array.hpp"

namespace tessera::streaming {

class TESSERA_API RootTable {
 public:
  explicit RootTable(i64 points);
  static i64 bytes(i64 points);  // of the tables
  // Dense c64 or c128 memory: along `axis` all rows, along the next axis columns from `first` on.
  void multiply(const Array& work, i64 axis, i64 first, int sign) const;

 private:
  template <class R>
  void multiply_as(const Array& work, i64 axis, i64 first, int sign) const;

  i64 points_, fine_bits_;
  Array fine_, coarse_;  // exp(2 pi i k / points) for k < 2^fine_bits, and for its multiples
};

}  // namespace tessera::streaming
