// SPDX-License-Identifier: Apache-2.0
// The array functions: NumPy's dtypes and texts, then one kernel.
#include "tessera/kernels/reduce/reduce.hpp"

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/nonzero/few.hpp"

namespace tessera {
namespace {

bool is_position(ReduceOp op) { return op == ReduceOp::argmax || op == ReduceOp::argmin; }

Axes normalized(std::string_view who, const std::optional<Axes>& axes, i64 ndim) {
  Axes all;
  if (!axes) {
    for (i64 a = 0; a < ndim; ++a) all.push_back(a);
    return all;
  }
  for (i64 a : *axes) {
    a = normalize_axis(a, ndim, who);
    require<ArgumentError>(std::find(all.begin(), all.end(), a) == all.end(),
                           "duplicate value in 'axis'");
    all.push_back(a);
  }
  return all;
}

// `out` has the rank of `in`. An empty result is refused too when the reduced axes are empty, as
// NumPy does.
void check_not_empty(ReduceOp op, const Shape& in, const Shape& out) {
  bool empty = false;
  for (i64 a = 0; a < in.size(); ++a) empty = empty || (in[a] == 0 && out[a] == 1);
  if (!empty) return;
  if (op == ReduceOp::max || op == ReduceOp::min)
    throw ArgumentError(cat("zero-size array to reduction operation ",
                            op == ReduceOp::max ? "maximum" : "minimum", " which has no identity"));
  if (is_position(op))
    throw ArgumentError(cat("attempt to get ", name(op), " of an empty sequence"));
}

Array without_axes(const Array& x, const Axes& axes) {
  Layout l = x.layout();
  for (i64 a = x.ndim() - 1; a >= 0; --a)
    if (std::find(axes.begin(), axes.end(), a) != axes.end()) l = l.select(a, 0);
  return x.view(std::move(l));
}

i64 count_along(const Array& x, const Axes& axes) {
  i64 n = 1;
  for (i64 a : axes) n *= x.shape(a);
  return n;
}

// Sums of means are accumulated in at least float32; integers in float64.
DType mean_accumulator(DType t) {
  if (!is_inexact(t)) return DType::f64;
  return t == DType::f16 || t == DType::bf16 ? DType::f32 : t;
}
DType mean_result(DType t) { return is_inexact(t) ? t : DType::f64; }

}  // namespace

std::string_view name(ReduceOp op) {
  static constexpr std::string_view names[] = {
#define REDUCE(op) #op,
      TESSERA_REDUCE_OPS(REDUCE)
#undef REDUCE
  };
  return names[static_cast<int>(op)];
}

DType reduce_dtype(ReduceOp op, DType in) {
  const DType wide = in == DType::b1 || is_signed_int(in) ? DType::i64
                     : is_unsigned_int(in)                ? DType::u64
                                                          : in;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::prod: return wide;
    case ReduceOp::sum_abs2: return real_of(wide);
    case ReduceOp::any:
    case ReduceOp::all: return DType::b1;
    case ReduceOp::argmax:
    case ReduceOp::argmin:
    case ReduceOp::count_nonzero: return DType::i64;
    default: return in;
  }
}

Array reduce(ReduceOp op, const Array& x, const std::optional<Axes>& axes, bool keepdims,
             std::optional<DType> dtype) {
  require<ArgumentError>(op != ReduceOp::vdot, "reduce: vdot takes two arrays; call vdot(a, b)");
  if (i64 found = 0;
      op == ReduceOp::count_nonzero && !axes && !keepdims && !dtype && count_few(x, found))
    return Array::scalar(Value(found), DType::i64);
  const Axes over = normalized(name(op), axes, x.ndim());
  Shape shape = x.shape();
  for (i64 a : over) shape[a] = 1;
  check_not_empty(op, x.shape(), shape);
  const bool sums = op == ReduceOp::sum || op == ReduceOp::prod;
  const Array y =
      Array::empty(shape, sums && dtype ? *dtype : reduce_dtype(op, x.dtype()), x.device());
  ReduceSpec spec;
  spec.op = op;
  spec.in = operand_of(x);
  spec.out = operand_of(y);
  launch_now(&KernelTable::reduce, name(op), spec, x.device(), {&x, &y});
  const Array result = keepdims ? y : without_axes(y, over);
  const TagScope scope;  // the conversion is no operation of its own
  return dtype ? result.astype(*dtype) : result;
}

Array mean(const Array& x, const std::optional<Axes>& axes, bool keepdims) {
  const TagScope scope(name(x.device().kind), "mean", x.dtype());
  const i64 n = count_along(x, normalized("mean", axes, x.ndim()));
  const Array sum = reduce(ReduceOp::sum, x, axes, keepdims, mean_accumulator(x.dtype()));
  return ops::divide(sum, Value(static_cast<double>(n))).astype(mean_result(x.dtype()));
}

Array variance(const Array& x, const std::optional<Axes>& axes, i64 ddof, bool keepdims) {
  const TagScope scope(name(x.device().kind), "var", x.dtype());
  const i64 n = count_along(x, normalized("var", axes, x.ndim()));
  const Array wide = x.astype(mean_accumulator(x.dtype()));
  const Array squares =
      reduce(ReduceOp::sum_abs2, ops::subtract(wide, mean(wide, axes, true)), axes, keepdims);
  const double divisor = static_cast<double>(std::max<i64>(n - ddof, 0));
  return ops::divide(squares, Value(divisor)).astype(real_of(mean_result(x.dtype())));
}

Array vdot(const Array& a, const Array& b) {
  const Array* both[] = {&a, &b};
  const Device device = common_device("vdot", both);
  require<ShapeError>(a.size() == b.size(), "vdot: cannot pair ", a.size(), " elements of shape ",
                      a.shape(), " with ", b.size(), " of shape ", b.shape());
  if (!(a.shape() == b.shape())) return vdot(a.reshape({-1}), b.reshape({-1}));
  const Array y = Array::empty(Shape(a.ndim(), 1), promote(a.dtype(), b.dtype()), device);
  const ReduceSpec spec{
      .op = ReduceOp::vdot, .in = operand_of(a), .in2 = operand_of(b), .out = operand_of(y)};
  launch_now(&KernelTable::reduce, "vdot", spec, device, {&a, &b, &y});
  return without_axes(y, normalized("vdot", {}, a.ndim()));
}

Array norm(const Array& x) {
  const TagScope scope(name(x.device().kind), "norm", x.dtype());
  const Array real = is_inexact(x.dtype()) ? x : x.astype(DType::f64);
  return ops::sqrt(reduce(ReduceOp::sum_abs2, real));
}

}  // namespace tessera
