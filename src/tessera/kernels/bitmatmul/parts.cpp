// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/bitmatmul/parts.hpp"

namespace tessera {
namespace {

i64 rows_of(const Operand& x) { return x.layout.shape[x.layout.ndim() - 2]; }

void check_shape(const char* who, const char* what, const Operand& x, i64 rows, i64 columns) {
  const Layout& l = x.layout;
  require<ShapeError>(l.ndim() >= 2 && rows_of(x) == rows && l.shape.back() == columns, who, ": ",
                      what, " has shape ", l.shape, ", expected ", rows, " x ", columns,
                      " as the last two axes");
}

}  // namespace

void check_words(const char* who, const Operand& x, i64 columns) {
  const Layout& l = x.layout;
  require<DTypeError>(x.dtype == DType::u64, who, ": bits are kept in words of uint64, got ",
                      name(x.dtype));
  require<ShapeError>(l.ndim() >= 2 && columns >= 0 && l.shape.back() == bit_words(columns), who,
                      ": words of shape ", l.shape, " for ", columns, " columns; expected rows of ",
                      bit_words(columns), " words");
  require<ShapeError>(l.strides.back() == 1 || l.shape.back() == 0, who,
                      ": the words of a row must follow each other, got ", l);
}

void check_bitmatmul(const BitMatmulSpec& spec) {
  check_words("bitmatmul", spec.a, spec.inner);
  if (spec.kind == BitProduct::counts) {
    check_words("bitmatmul", spec.b, spec.inner);
    check_shape("bitmatmul", "the result", spec.out, rows_of(spec.a), rows_of(spec.b));
    const DType t = spec.out.dtype;
    require<DTypeError>(t == DType::i64 || (t == DType::i32 && spec.inner <= 0x7fffffff),
                        "bitmatmul: ", spec.inner, " terms counted in ", name(t),
                        "; expected int32, or int64 for more than 2^31 - 1 terms");
    require<ShapeError>(
        !spec.upper || (rows_of(spec.a) == spec.inner && rows_of(spec.b) == spec.inner),
        "bitmatmul: strictly upper triangular operands of ", rows_of(spec.a), " x ", spec.inner,
        " and ", spec.inner, " x ", rows_of(spec.b), "; expected squares");
    return;
  }
  check_words("bitmatmul", spec.out, spec.columns);
  if (spec.kind == BitProduct::any) {
    check_words("bitmatmul", spec.b, spec.columns);
    require<ShapeError>(rows_of(spec.b) == spec.inner && rows_of(spec.out) == rows_of(spec.a),
                        "bitmatmul: ", rows_of(spec.a), " x ", spec.inner, " bits and ",
                        rows_of(spec.b), " x ", spec.columns, " bits into ", rows_of(spec.out),
                        " rows");
  } else {
    require<ShapeError>(rows_of(spec.a) == spec.inner && spec.columns == spec.inner &&
                            rows_of(spec.out) == spec.inner,
                        "bit_closure: ", rows_of(spec.a), " x ", spec.inner,
                        " bits; expected a square matrix");
  }
}

void check_bitmove(const BitMoveSpec& spec) {
  const Operand &in = spec.in, &out = spec.out;
  if (spec.kind == BitMove::pack) {
    check_words("bit_pack", out, spec.columns);
    check_shape("bit_pack", "the input", in, rows_of(out), spec.columns);
    return;
  }
  check_words("bit_unpack", in, spec.columns);
  if (spec.kind == BitMove::unpack) {
    check_shape("bit_unpack", "the output", out, rows_of(in), spec.columns);
  } else {
    check_words("bit_transpose", out, rows_of(in));
    check_shape("bit_transpose", "the output", out, spec.columns, bit_words(rows_of(in)));
  }
}

void check_bitdense(const BitDenseSpec& spec) {
  check_words("bit_dense", spec.bits, spec.inner);
  const i64 columns = spec.in.layout.shape.back();
  check_shape("bit_dense", "the input", spec.in, spec.inner, columns);
  check_shape("bit_dense", "the result", spec.out, rows_of(spec.bits), columns);
  const DType sum = is_integer(spec.in.dtype) ? DType::i64 : spec.in.dtype;
  require<DTypeError>(spec.out.dtype == sum, "bit_dense: sums of ", name(spec.in.dtype), " are ",
                      name(sum), ", got ", name(spec.out.dtype));
}

}  // namespace tessera
