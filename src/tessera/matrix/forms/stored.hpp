// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the operations on matrices share: the data of a matrix as a kernel wants them (a dtype, a
// device, views applied or handed on as flags), its diagonal, its bits, the call that is being
// done, and the words of tags. Private to matrix/.
//   Array d = stored(m, DType::f64, where);   // packed, scaled and conjugated, not transposed

#include <string_view>

#include "tessera/base/tags.hpp"
#include "tessera/compute/promotion.hpp"
#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

Value times(const Value& a, const Value& b);
// As an immediate of float and complex kernels.
inline c128 factor_of(const Value& v) { return v.as<c128>(); }

inline bool has_words(const AnyMatrix& m) {
  return m.form() == Form::bit || m.form() == Form::triangular_bit;
}
inline bool is_strips(Form f) {
  return f == Form::triangular || f == Form::symmetric || f == Form::antisymmetric;
}
inline bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

// The data of any form but those of bits: scaled, conjugated, of the dtype; not transposed.
Array stored(const AnyMatrix& m, DType dtype, Device where);

// The elements (i, i), views applied: min(rows, cols) numbers. Not read where they are declared.
Array diagonal_of(const AnyMatrix& m, DType dtype, Device where);
// A view of the elements (i, i) of a matrix.
Array diagonal_view(const Array& a);

// rows -= a b, in place.
void subtract_product(const Array& a, const Array& b, const Array& rows);

// Where an element is not zero, views applied.
Bits bits_of(const AnyMatrix& m, Device where);

// Of packed data: strips, or the numbers of a diagonal. `lower`: the transpose of what is stored.
AnyMatrix packed_matrix(Form form, i64 n, const Array& data, bool strict = false,
                        bool lower = false);

// "a Dense of shape (2, 3)": for sentences.
std::string described(const AnyMatrix& m);

// Of two matrices element by element, axes of size 1 repeated: how many elements that gives.
// ShapeError.
i64 broadcast_elements(std::string_view who, const AnyMatrix& a, const AnyMatrix& b);

// Tells once where a longer float was shortened.
void say_precision(MatrixOp op, DType a, DType b, const Resolved& r);

// Details of tags: before the short name of a dtype (f64, bit, ...).
enum class TagDetail : std::uint8_t {
  plain,
  bit_left,
  bit_right,
  triangular,
  diagonal,
  diagonal_left,
  diagonal_right,
  symmetric,
  antisymmetric,
  identity
};
inline constexpr int tag_detail_count = 10;
void tag(Device where, std::string_view what, TagDetail detail, DType dtype);
// For operations that do not always go through placed(): its tag, and none of its kernels'.
inline TagScope tagged(std::string_view what, const AnyMatrix& m, DType dtype) {
  return {name(m.device().kind), what, dtype};
}

// An operation on two matrices, the dtype it is done in and where.
struct MatrixCall {
  MatrixOp op;
  DType dtype;
  Device where;
};
inline void tag(const MatrixCall& c, TagDetail detail) {
  tag(c.where, name(c.op), detail, c.dtype);
}

}  // namespace tessera
