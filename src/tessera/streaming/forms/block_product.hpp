// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a product of two blocks adds to a block of the result, by the kernels of matrices in memory:
// gemm for numbers, counts for bits, sums of selected rows for bits with numbers. Squares on the
// diagonal of a form are cut further, so that what is not stored meets nothing and temporary
// arrays stay small.
//   multiply_add(c, a, b, {.dtype = DType::f64, .work = DType::f64, .strip = 64});

#include "tessera/streaming/forms/form_source.hpp"

namespace tessera::streaming {

struct BlockCall {
  DType dtype = DType::f64;  // of the product
  DType work = DType::f64;   // of the sums: longer than that of short floats and integers
  bool counts = false;       // of bits: sums cannot overflow
  bool boolean = false;      // words of bits, joined by `or`
  i64 strip = 64;            // rows at a time
  Value factor = Value(1);   // of both operands' scales: of the sums at their end
  bool scales() const { return !factor.is_integer() || factor.as<c128>() != c128{1, 0}; }
};

// In which sums are kept: of integers in 64 bits, of short floats in float32.
TESSERA_API DType work_dtype(DType product, bool counts);
// Bytes of temporary arrays for blocks of `side` rows and columns.
TESSERA_API i64 temporary_bytes(const FormSource& a, const FormSource& b, const BlockCall& call,
                                i64 side);
// The result: sums times the factor, in its own dtype (OverflowError). Waits.
TESSERA_API void finish_block(const Array& sums, const Array& result, const BlockCall& call);
// c += a b of what is stored, or words: c |= whether there is a k. Waits.
TESSERA_API void multiply_add(const Array& c, const Piece& a, const Piece& b,
                              const BlockCall& call);

}  // namespace tessera::streaming
