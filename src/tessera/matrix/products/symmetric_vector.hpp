// SPDX-License-Identifier: Apache-2.0
#pragma once
// A packed symmetric or antisymmetric matrix times one vector in the memory of the host: each
// stored element is read once and used for both halves, which is half of what a full matrix takes.
// Private to matrix/.
//   symmetric_vector(strips, data, {.anti = false}, x, y);

#include "tessera/array/array.hpp"
#include "tessera/matrix/forms/strips.hpp"

namespace tessera {

struct SymmetricOptions {
  bool anti = false;
  bool conj = false;  // of the matrix
  c128 alpha{1, 0};
};

// y = alpha * a x. float32, float64, complex64 or complex128, all three of one dtype; x of n
// elements at any stride, y dense. Waits for what is pending and is done when it returns.
void symmetric_vector(const Strips& strips, const Array& data, const SymmetricOptions& options,
                      const Array& x, const Array& y);

}  // namespace tessera
