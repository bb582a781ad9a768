// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrices of bits: packing, transposing, and products that count, ask, close or select. A bit
// matrix is an array of 64-bit words of shape (..., rows, words): bit j of a row is bit j % 64 of
// word j / 64, rows are padded to whole 64 bytes and the padding is zero, which every function here
// keeps. The number of columns stands beside the words. No names and no lazy views.
//   Bits a = bit_pack(x), b = bit_pack(y);
//   Array c = bit_counts(a, b);   // c[i, j] = how many k have a[i, k] and b[k, j]

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

// Words of a row of `columns` bits: whole 64 bytes.
inline constexpr i64 bit_words(i64 columns) { return (columns + 511) / 512 * 8; }

// In all specs below: word operands are uint64 of rank >= 2, their last axis has bit_words(columns)
// words at stride 1 (rows and batches at any stride); batch axes are already broadcast to out's.
// Outputs share no memory with inputs, but for closure.

enum class BitMove : std::uint8_t { pack, unpack, transpose };

// pack: words = (in != 0), in of any dtype and strides (..., rows, columns).
// unpack: out = 0 or 1, of any dtype and strides (..., rows, columns).
// transpose: words (..., rows, columns) into words (..., columns, rows).
// Operands of a launch: in, out.
struct BitMoveSpec {
  BitMove kind = BitMove::pack;
  Operand in, out;
  i64 columns = 0;  // of the matrix before a transposition
};

enum class BitProduct : std::uint8_t { counts, any, closure };

// counts:  out[i, j] = sum over k of a[i, k] b[j, k], int32 or int64: b is the transposed right
//          operand. upper: a is square and strictly upper triangular, b is the transpose of such a
//          matrix, and blocks that are zero for that reason are skipped.
// any:     out[i, j] = whether there is a k with a[i, k] and b[k, j], as bits.
// closure: out = whether there is a path from i to j over edges of a, as bits; out may be a.
// Operands of a launch: a, b, out; for closure: a, out.
struct BitMatmulSpec {
  BitProduct kind = BitProduct::counts;
  Operand a, b, out;
  i64 inner = 0;    // k: columns of a
  i64 columns = 0;  // of out, where out is of bits
  bool upper = false;
};

// out = bits @ in: row i of out is the sum of the rows of `in` whose bit is set in row i of bits.
// in (..., inner, n) of int8 ... int64, float32, float64, complex64, complex128; out (..., m, n) of
// the same dtype, or int64 where `in` is of integers; integers wrap in 64 bits (bit_dense checks).
// Any strides. Operands of a launch: bits, in, out.
struct BitDenseSpec {
  Operand bits, in, out;
  i64 inner = 0;
};

// Words and the number of columns.
struct Bits {
  Array words;
  i64 columns = 0;
  i64 rows() const { return words.shape(words.ndim() - 2); }
};

TESSERA_API Bits bit_pack(const Array& x);  // rank >= 2; nonzero is 1
TESSERA_API Array bit_unpack(const Bits& x, DType dtype = DType::b1);
TESSERA_API Bits bit_transpose(const Bits& x);

struct BitCounts {
  bool upper = false;        // both strictly upper triangular, which is trusted; so is the result
  bool transposed = false;   // b is given as its transpose
  DType dtype = DType::i32;  // or i64; i64 in any case where more than 2^31 - 1 terms are added
};
// Batch axes broadcast. ShapeError unless a has as many columns as b has rows.
TESSERA_API Array bit_counts(const Bits& a, const Bits& b, const BitCounts& options = {});
TESSERA_API Bits bit_any(const Bits& a, const Bits& b);
TESSERA_API Bits bit_closure(const Bits& a);  // of a square matrix: at least one step
// Matrix (or batch) of bits times numbers of rank 1 (a vector) or more, and the other way round.
// The result has the dtype of the numbers; OverflowError where an integer does not fit it.
TESSERA_API Array bit_dense(const Bits& a, const Array& b);
TESSERA_API Array dense_bit(const Array& a, const Bits& b);
// Of two vectors of bits, packed as one row each: how many places are set in both.
TESSERA_API i64 bit_dot(const Bits& a, const Bits& b);

}  // namespace tessera
