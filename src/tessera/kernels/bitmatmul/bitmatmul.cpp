// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/bitmatmul/bitmatmul.hpp"

#include <algorithm>

#include "tessera/kernels/bitmatmul/parts.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

constexpr i64 most_int32 = 0x7fffffff;

Shape batch_of(const Shape& s) { return Shape(s.begin(), s.end() - 2); }

Shape joined(Shape batch, i64 rows, i64 columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

Layout broadcast(const Layout& l, const Shape& batch) {
  return l.broadcast_to(joined(batch, l.shape[l.ndim() - 2], l.shape.back()));
}

// The words as kernels want them: a copy only when the words of a row do not follow each other.
Bits checked(const char* who, const Bits& x) {
  require<ShapeError>(x.words.ndim() >= 2, who, ": the words of bits of shape ", x.words.shape(),
                      "; expected rows and words");
  Bits y = x;
  if (x.words.layout().strides.back() != 1 && x.words.shape(x.words.ndim() - 1) > 0)
    y.words = x.words.copy();
  check_words(who, operand_of(y.words), y.columns);
  return y;
}

Device device_of(const char* who, const Array& a, const Array& b) {
  const Array* both[] = {&a, &b};
  return common_device(who, both);
}

Shape shape_of(const Bits& bits) {
  Shape shape = bits.words.shape();
  shape[shape.size() - 1] = bits.columns;
  return shape;
}

void check_inner(const char* who, const Shape& a, i64 given, i64 expected) {
  require<ShapeError>(given == expected, who, ": the left operand of shape ", a, " has ", expected,
                      " columns, the right one ", given, " rows");
}

Operand at_batch(const Array& x, const Shape& batch) {
  return {broadcast(x.layout(), batch), x.dtype()};
}

// bits @ in for matrices; integers come as int64, wrapped.
Array product(const Bits& a, const Array& in) {
  const Device device = device_of("bit_dense", a.words, in);
  const Shape batch = broadcast_shapes(batch_of(a.words.shape()), batch_of(in.shape()));
  const DType dtype = is_integer(in.dtype()) ? DType::i64 : in.dtype();
  const Array out = Array::empty(joined(batch, a.rows(), in.shape(in.ndim() - 1)), dtype, device);
  const BitDenseSpec spec{at_batch(a.words, batch), at_batch(in, batch), operand_of(out),
                          a.columns};
  launch_now(&KernelTable::bitdense, "bit_dense", spec, device, {&a.words, &in, &out});
  return out;
}

i64 extreme(ReduceOp op, const Array& x) { return reduce(op, x).item().as<i64>(); }

// OverflowError unless all of x lies in [low, high].
void require_range(const Array& x, i64 low, i64 high, DType dtype) {
  if (x.size() == 0) return;
  const i64 least = extreme(ReduceOp::min, x), most = extreme(ReduceOp::max, x);
  require<OverflowError>(least >= low && most <= high, "bit_dense: sums from ", least, " to ", most,
                         " do not fit ", name(dtype), "; convert the numbers with astype()");
}

// Sums of 64-bit integers: where they might not fit, the halves of the numbers are summed apart.
Array checked_product(const Bits& a, const Array& in) {
  if (in.size() == 0 || a.words.size() == 0) return product(a, in);
  const double least = static_cast<double>(extreme(ReduceOp::min, in)),
               most = static_cast<double>(extreme(ReduceOp::max, in));
  if (std::max(-least, most) * static_cast<double>(a.columns) < 9.2e18) return product(a, in);
  constexpr i64 mask = 0xffffffff;
  const Value half(i64{32}), low_half(mask);
  const Array high = product(a, ops::right_shift(in, half)),
              low = product(a, ops::bitwise_and(in, low_half)),
              top = ops::add(high, ops::right_shift(low, half));
  const i64 limit = i64{1} << 31;
  const i64 from = extreme(ReduceOp::min, top), to = extreme(ReduceOp::max, top);
  require<OverflowError>(from >= -limit && to < limit, "bit_dense: a sum of ", a.columns,
                         " numbers does not fit int64; convert the numbers with astype()");
  return ops::bitwise_or(ops::left_shift(top, half), ops::bitwise_and(low, low_half));
}

// The integers of `sums` in the dtype of the numbers they were made of.
Array narrowed(const Array& sums, DType dtype) {
  if (sums.dtype() == dtype) return sums;
  const i64 bits = 8 * size_of(dtype);
  if (is_signed_int(dtype))
    require_range(sums, -(i64{1} << (bits - 1)), (i64{1} << (bits - 1)) - 1, dtype);
  else
    require_range(sums, 0, (i64{1} << bits) - 1, dtype);
  return sums.astype(dtype);
}

Array matrix_product(const Bits& a, const Array& b) {
  const DType t = b.dtype();
  if (!is_integer(t)) return product(a, b);
  require<DTypeError>(t != DType::u64, "bit_dense: no kernel for uint64; convert the numbers to ",
                      "int64 with astype()");
  const Array in = is_unsigned_int(t) ? b.astype(DType::i64) : b;
  return narrowed(t == DType::i64 ? checked_product(a, in) : product(a, in), t);
}

}  // namespace

Bits bit_pack(const Array& x) {
  require<ShapeError>(x.ndim() >= 2, "bit_pack: expected a matrix, got an array of shape ",
                      x.shape());
  const i64 rows = x.shape(x.ndim() - 2), columns = x.shape(x.ndim() - 1);
  const Array out =
      Array::empty(joined(batch_of(x.shape()), rows, bit_words(columns)), DType::u64, x.device());
  const BitMoveSpec spec{BitMove::pack, operand_of(x), operand_of(out), columns};
  launch_now(&KernelTable::bitmove, "bit_pack", spec, x.device(), {&x, &out});
  return {out, columns};
}

Array bit_unpack(const Bits& x, DType dtype) {
  const Bits in = checked("bit_unpack", x);
  const Device device = in.words.device();
  const Array out =
      Array::empty(joined(batch_of(in.words.shape()), in.rows(), in.columns), dtype, device);
  const BitMoveSpec spec{BitMove::unpack, operand_of(in.words), operand_of(out), in.columns};
  launch_now(&KernelTable::bitmove, "bit_unpack", spec, device, {&in.words, &out});
  return out;
}

Bits bit_transpose(const Bits& x) {
  const Bits in = checked("bit_transpose", x);
  const Device device = in.words.device();
  const Array out = Array::empty(
      joined(batch_of(in.words.shape()), in.columns, bit_words(in.rows())), DType::u64, device);
  const BitMoveSpec spec{BitMove::transpose, operand_of(in.words), operand_of(out), in.columns};
  launch_now(&KernelTable::bitmove, "bit_transpose", spec, device, {&in.words, &out});
  return {out, in.rows()};
}

Array bit_counts(const Bits& a, const Bits& b, const BitCounts& options) {
  const Bits left = checked("bit_counts", a), given = checked("bit_counts", b);
  const Device device = device_of("bit_counts", left.words, given.words);
  check_inner("bit_counts", shape_of(left), options.transposed ? given.columns : given.rows(),
              left.columns);
  const Bits right = options.transposed ? given : bit_transpose(given);
  const Shape batch = broadcast_shapes(batch_of(left.words.shape()), batch_of(right.words.shape()));
  const DType dtype = left.columns > most_int32 ? DType::i64 : options.dtype;
  const Array out = Array::empty(joined(batch, left.rows(), right.rows()), dtype, device);
  BitMatmulSpec spec;
  spec.a = at_batch(left.words, batch);
  spec.b = at_batch(right.words, batch);
  spec.out = operand_of(out);
  spec.inner = left.columns;
  spec.upper = options.upper;
  launch_now(&KernelTable::bitmatmul, "bit_counts", spec, device,
             {&left.words, &right.words, &out});
  return out;
}

Bits bit_any(const Bits& a, const Bits& b) {
  const Bits left = checked("bit_any", a), right = checked("bit_any", b);
  const Device device = device_of("bit_any", left.words, right.words);
  check_inner("bit_any", shape_of(left), right.rows(), left.columns);
  const Shape batch = broadcast_shapes(batch_of(left.words.shape()), batch_of(right.words.shape()));
  const Array out =
      Array::empty(joined(batch, left.rows(), bit_words(right.columns)), DType::u64, device);
  BitMatmulSpec spec;
  spec.kind = BitProduct::any;
  spec.a = at_batch(left.words, batch);
  spec.b = at_batch(right.words, batch);
  spec.out = operand_of(out);
  spec.inner = left.columns;
  spec.columns = right.columns;
  launch_now(&KernelTable::bitmatmul, "bit_any", spec, device, {&left.words, &right.words, &out});
  return {out, right.columns};
}

Bits bit_closure(const Bits& a) {
  const Bits in = checked("bit_closure", a);
  const Array out = Array::empty(in.words.shape(), DType::u64, in.words.device());
  BitMatmulSpec spec;
  spec.kind = BitProduct::closure;
  spec.a = operand_of(in.words);
  spec.out = operand_of(out);
  spec.inner = spec.columns = in.columns;
  launch_now(&KernelTable::bitmatmul, "bit_closure", spec, in.words.device(), {&in.words, &out});
  return {out, in.columns};
}

Array bit_dense(const Bits& a, const Array& b) {
  const Bits left = checked("bit_dense", a);
  require<ShapeError>(b.ndim() >= 1, "bit_dense: expected a vector or a matrix of numbers");
  const Array right = b.ndim() == 1 ? b.expand_dims(1) : b;
  check_inner("bit_dense", shape_of(left), right.shape(right.ndim() - 2), left.columns);
  const Array out = matrix_product(left, right);
  return b.ndim() == 1 ? out.squeeze(out.ndim() - 1) : out;
}

Array dense_bit(const Array& a, const Bits& b) {
  const Bits right = checked("dense_bit", b);
  require<ShapeError>(a.ndim() >= 1, "dense_bit: expected a vector or a matrix of numbers");
  const Array left = a.ndim() == 1 ? a.expand_dims(0) : a;
  check_inner("dense_bit", left.shape(), right.rows(), left.shape(left.ndim() - 1));
  // (a b)^T = b^T a^T
  const Array turned = left.swap_axes(left.ndim() - 2, left.ndim() - 1);
  const Array out = matrix_product(bit_transpose(right), turned);
  const Array result = out.swap_axes(out.ndim() - 2, out.ndim() - 1);
  return a.ndim() == 1 ? result.squeeze(result.ndim() - 2) : result;
}

i64 bit_dot(const Bits& a, const Bits& b) {
  for (const Bits* x : {&a, &b})
    require<ShapeError>(x->words.ndim() == 2 && x->rows() == 1,
                        "bit_dot: expected one row of bits each, got words of shapes ",
                        a.words.shape(), " and ", b.words.shape());
  return bit_counts(a, b, {.transposed = true, .dtype = DType::i64}).item().as<i64>();
}

}  // namespace tessera
