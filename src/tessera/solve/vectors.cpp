// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/vectors.hpp"

#include "tessera/kernels/copy/copy.hpp"

namespace tessera::vec {

Array zeros(const Shape& shape, DType dtype, Device device) {
  const Array a = empty_dense(shape, dtype, device);
  a.fill(Value(0));
  return a;
}

Array copy_of(std::string_view who, std::string_view what, const Array& a, const Shape& shape,
              DType dtype, Device device) {
  require<ShapeError>(a.shape() == shape, who, ": ", what, " has shape ", a.shape(), ", expected ",
                      shape);
  require<DeviceError>(a.device() == device, who, ": ", what, " is on ", a.device(),
                       ", the other arrays on ", device, "; move it with to()");
  require<DTypeError>(can_cast_same_kind(a.dtype(), dtype) || !is_inexact(a.dtype()), who, ": ",
                      what, " is ", a.dtype(), ", which ", dtype, " cannot hold");
  const Array y = empty_dense(shape, dtype, device);
  y.copy_from(a.astype(dtype));
  return y;
}

View whole(Recorder& r, const Array& a) { return r.constant(a); }

View flat(Recorder& r, const Array& a) {
  View v = r.constant(a);
  const i64 parts = is_complex(a.dtype()) ? 2 : 1, offset = v.layout.offset * parts;
  v.dtype = real_of(a.dtype());
  v.layout = Layout::contiguous({a.size() * parts});
  v.layout.offset = offset;
  return v;
}

void apply(Recorder& r, ElementOp op, DType compute, std::span<const Factor> inputs,
           const View& y) {
  ElementwiseSpec spec;
  spec.op = op;
  spec.compute = compute;
  spec.out = operand_of(y);
  std::vector<View> reads;
  for (const Factor& f : inputs) {
    if (f.immediate) {
      spec.inputs.push_back({{}, f.value});
      continue;
    }
    spec.inputs.push_back({{f.view.layout.broadcast_to(y.shape()), f.view.dtype}, std::nullopt});
    reads.push_back(f.view);
  }
  r.launch(&KernelTable::elementwise, name(op), spec, reads, y);
}

void copy(Recorder& r, const Array& x, const Array& y) {
  const Factor in[] = {flat(r, x)};
  apply(r, ElementOp::copy, real_of(y.dtype()), in, flat(r, y));
}

void fill(Recorder& r, double v, const Array& y) {
  const Factor in[] = {v};
  apply(r, ElementOp::copy, real_of(y.dtype()), in, flat(r, y));
}

void scale(Recorder& r, const Factor& f, const Array& x, const Array& y) {
  const Factor in[] = {f, flat(r, x)};
  apply(r, ElementOp::multiply, real_of(y.dtype()), in, flat(r, y));
}

void add(Recorder& r, const Array& a, const Array& b, const Array& y) {
  const Factor in[] = {flat(r, a), flat(r, b)};
  apply(r, ElementOp::add, real_of(y.dtype()), in, flat(r, y));
}

void subtract(Recorder& r, const Array& a, const Array& b, const Array& y) {
  const Factor in[] = {flat(r, a), flat(r, b)};
  apply(r, ElementOp::subtract, real_of(y.dtype()), in, flat(r, y));
}

void multiply_add(Recorder& r, const Array& a, const Factor& f, const Array& b, const Array& y) {
  const Factor in[] = {flat(r, a), f, flat(r, b)};
  apply(r, ElementOp::multiply_add, real_of(y.dtype()), in, flat(r, y));
}

void add_scaled(Recorder& r, const Array& x, const Factor& f, const Array& y) {
  multiply_add(r, x, f, y, y);
}

void select(Recorder& r, const View& condition, const Array& a, const Array& b, const Array& y) {
  const Factor in[] = {condition, flat(r, a), flat(r, b)};
  apply(r, ElementOp::where, real_of(y.dtype()), in, flat(r, y));
}

void dot(Recorder& r, const Array& a, const Array& b, const View& to) {
  const View x = flat(r, a), y = flat(r, b);
  const ReduceSpec spec{
      .op = ReduceOp::vdot, .in = operand_of(x), .in2 = operand_of(y), .out = operand_of(to)};
  const View reads[] = {x, y};
  r.launch(&KernelTable::reduce, "vdot", spec, reads, to);
}

void norm2(Recorder& r, const Array& a, const View& to) {
  reduce(r, ReduceOp::sum_abs2, flat(r, a), to);
}

void reduce(Recorder& r, ReduceOp op, const View& x, const View& y) {
  const ReduceSpec spec{.op = op, .in = operand_of(x), .in2 = {}, .out = operand_of(y)};
  const View reads[] = {x};
  r.launch(&KernelTable::reduce, name(op), spec, reads, y);
}

void matmul(Recorder& r, const View& a, const View& b, const View& y, const Product& p) {
  MatmulSpec spec;
  spec.a = operand_of(a);
  spec.b = operand_of(b);
  spec.out = operand_of(y);
  spec.conj_a = p.conj_a && is_complex(a.dtype);
  spec.conj_b = p.conj_b && is_complex(b.dtype);
  spec.alpha = {p.alpha, 0};
  spec.beta = {p.beta, 0};
  const View reads[] = {a, b};
  r.launch(&KernelTable::matmul, "matmul", spec, reads, y, {.updates = p.beta != 0});
}

}  // namespace tessera::vec
