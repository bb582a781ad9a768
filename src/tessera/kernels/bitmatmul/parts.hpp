// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of bitmatmul on the cpu, one function per kind of product. Private to bitmatmul.
//   case BitProduct::any: return prepare_any_cpu(spec);

#include "tessera/kernels/bitmatmul/bitmatmul.hpp"

namespace tessera {

Prepared prepare_counts_cpu(const BitMatmulSpec& spec);
Prepared prepare_any_cpu(const BitMatmulSpec& spec);
Prepared prepare_closure_cpu(const BitMatmulSpec& spec);

// A layout without its last two axes.
inline Layout batch_layout(const Layout& l) {
  const i64 n = l.ndim() - 2;
  return {Shape(l.shape.begin(), l.shape.begin() + n),
          Strides(l.strides.begin(), l.strides.begin() + n), 0};
}

// ShapeError and DTypeError unless x is what the contract says of words of `columns` bits.
TESSERA_API void check_words(const char* who, const Operand& x, i64 columns);
TESSERA_API void check_bitmatmul(const BitMatmulSpec& spec);
TESSERA_API void check_bitmove(const BitMoveSpec& spec);
TESSERA_API void check_bitdense(const BitDenseSpec& spec);

}  // namespace tessera
