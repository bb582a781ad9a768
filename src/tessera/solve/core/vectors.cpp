// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/vectors.hpp"

#include <limits>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/solve/core/ranks.hpp"
#include "tessera/solve/core/stored_vectors.hpp"

namespace tessera::vec {

Array zeros(const Shape& shape, DType dtype, Device device) {
  const Array a = empty_dense(shape, dtype, device);
  a.fill(Value(0));
  return a;
}

Array fitting(std::string_view who, std::string_view what, const Array& a, const Shape& shape,
              DType dtype, Device device) {
  require<ShapeError>(a.shape() == shape, who, ": ", what, " has shape ", a.shape(), ", expected ",
                      shape);
  require<DeviceError>(a.device() == device, who, ": ", what, " is on ", a.device(),
                       ", the other arrays on ", device, "; move it with to()");
  require<DTypeError>(can_cast_same_kind(a.dtype(), dtype) || !is_inexact(a.dtype()), who, ": ",
                      what, " is ", a.dtype(), ", which ", dtype, " cannot hold");
  return a.astype(dtype);
}

Array copy_of(std::string_view who, std::string_view what, const Array& a, const Shape& shape,
              DType dtype, Device device) {
  const Array y = empty_dense(shape, dtype, device);
  y.copy_from(fitting(who, what, a, shape, dtype, device));
  return y;
}

View whole(Recorder& r, const Array& a) { return r.constant(a); }

std::vector<View> whole(Recorder& r, const Vector& v) {
  std::vector<View> views;
  views.reserve(v.pieces.size());
  for (const Array& piece : v.pieces) views.push_back(r.constant(piece));
  return views;
}

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
    const View v = r.resident(f.view, r.device(y));
    spec.inputs.push_back({{v.layout.broadcast_to(y.shape()), v.dtype}, std::nullopt});
    reads.push_back(v);
  }
  r.launch(&KernelTable::elementwise, name(op), spec, reads, y);
}

void apply(Recorder& r, ElementOp op, DType compute, const Inputs& inputs,
           const std::vector<View>& y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::vector<Factor> in;
    for (const auto& input : inputs) {
      if (const Factor* f = std::get_if<Factor>(&input))
        in.push_back(*f);
      else
        in.emplace_back(piece(std::get<std::vector<View>>(input), i));
    }
    apply(r, op, compute, in, y[i]);
  }
}

namespace {

// What a factor is in a program over vectors on disk; its view is a cell.
SweepProgram::Factor cell_of(const Factor& f) {
  if (f.immediate) return {.value = f.value.as<double>()};
  return {.cell = f.view.layout.offset};
}

SweepKind kind_of(ElementOp op, bool only_a_factor) {
  switch (op) {
    case ElementOp::copy: return only_a_factor ? SweepKind::fill : SweepKind::copy;
    case ElementOp::multiply: return SweepKind::scale;
    case ElementOp::add: return SweepKind::add;
    case ElementOp::subtract: return SweepKind::subtract;
    case ElementOp::multiply_add: return SweepKind::multiply_add;
    default: return SweepKind::select;
  }
}

using Input = std::variant<const Factor*, const Vector*>;
void sweep_on_disk(Recorder& r, ElementOp op, std::initializer_list<Input> inputs,
                   const Vector& y) {
  SweepProgram::Operands in;
  for (const Input& input : inputs) {
    if (const Factor* const* f = std::get_if<const Factor*>(&input))
      in.factor = cell_of(**f);
    else
      (in.a ? in.b : in.a) = std::get<const Vector*>(input)->stored->store;
  }
  const StoredVector& to = *y.stored;
  to.solve->sweep(r, kind_of(op, !in.a), in, to.store, to.store);
}

SweepPart part_of(ElementOp op, std::initializer_list<Input> inputs, const View& to) {
  SweepPart part{.dtype = to.dtype, .count = count_of(to.shape())};
  int operands = 0;
  for (const Input& input : inputs) {
    const Factor* const* f = std::get_if<const Factor*>(&input);
    if (f && (*f)->immediate)
      part.value = (*f)->value.as<double>();
    else
      (f ? part.factor : part.a < 0 ? part.a : part.b) = operands++;
  }
  part.kind = kind_of(op, part.a < 0);
  return part;
}

// One sweep over each piece of y with those of the inputs beside it.
void sweep(Recorder& r, ElementOp op, std::initializer_list<Input> inputs, const Vector& y) {
  if (y.stored) return sweep_on_disk(r, op, inputs, y);
  for (std::size_t i = 0; i < y.pieces.size(); ++i) {
    std::vector<Factor> in;
    for (const Input& input : inputs) {
      if (const Factor* const* f = std::get_if<const Factor*>(&input))
        in.push_back(**f);
      else
        in.emplace_back(flat(r, std::get<const Vector*>(input)->pieces[i]));
    }
    const View to = flat(r, y.pieces[i]);
    apply(r, op, to.dtype, in, to);
    r.may_join(part_of(op, inputs, to));
  }
}

// One number of each piece, put together where it is wanted.
template <class F>
void over_pieces(Recorder& r, std::size_t pieces, ReduceOp op, const View& to, F&& number) {
  if (pieces == 1) return number(0, to);
  const i64 n = static_cast<i64>(pieces);
  const View all = r.temporary({n}, to.dtype, r.device(to));
  for (i64 i = 0; i < n; ++i)
    number(static_cast<std::size_t>(i), sub_view(all, all.layout.slice(0, i, 1)));
  reduce(r, op, all, to);
}

// Where a piece is, its number is formed; then it travels.
View beside(Recorder& r, const View& piece, const View& to) {
  return r.device(piece) == r.device(to) ? to : r.temporary({1}, to.dtype, r.device(piece));
}

}  // namespace

void copy(Recorder& r, const Vector& x, const Vector& y) { sweep(r, ElementOp::copy, {&x}, y); }

void fill(Recorder& r, double v, const Vector& y) {
  const Factor value(v);
  sweep(r, ElementOp::copy, {&value}, y);
}

void scale(Recorder& r, const Factor& f, const Vector& x, const Vector& y) {
  sweep(r, ElementOp::multiply, {&f, &x}, y);
}

void add(Recorder& r, const Vector& a, const Vector& b, const Vector& y) {
  sweep(r, ElementOp::add, {&a, &b}, y);
}

void subtract(Recorder& r, const Vector& a, const Vector& b, const Vector& y) {
  sweep(r, ElementOp::subtract, {&a, &b}, y);
}

void multiply_add(Recorder& r, const Vector& a, const Factor& f, const Vector& b, const Vector& y) {
  sweep(r, ElementOp::multiply_add, {&a, &f, &b}, y);
}

void add_scaled(Recorder& r, const Vector& x, const Factor& f, const Vector& y) {
  multiply_add(r, x, f, y, y);
}

void select(Recorder& r, const View& condition, const Vector& a, const Vector& b, const Vector& y) {
  const Factor which(condition);
  sweep(r, ElementOp::where, {&which, &a, &b}, y);
}

namespace {

void dot_on_disk(Recorder& r, const StoredVector& a, const StoredVector& b, const View& to) {
  a.solve->sweep(r, SweepKind::dot, {.a = a.store, .b = b.store}, a.store, nullptr,
                 to.layout.offset);
}

}  // namespace

void dot(Recorder& r, const Vector& a, const Vector& b, const View& to) {
  if (a.stored) return dot_on_disk(r, *a.stored, *b.stored, to);
  over_pieces(r, a.pieces.size(), ReduceOp::sum, to, [&](std::size_t i, const View& place) {
    const View x = flat(r, a.pieces[i]), y = flat(r, b.pieces[i]), out = beside(r, x, place);
    const ReduceSpec spec{
        .op = ReduceOp::vdot, .in = operand_of(x), .in2 = operand_of(y), .out = operand_of(out)};
    const View reads[] = {x, y};
    r.launch(&KernelTable::reduce, "vdot", spec, reads, out);
    r.may_join(
        {.kind = SweepKind::dot, .dtype = x.dtype, .count = count_of(x.shape()), .a = 0, .b = 1});
    if (out.slot != place.slot) record::copy(r, out, place);
  });
  if (a.ranks) a.ranks->combine(r, to);
}

namespace {

void reduce_pieces(Recorder& r, ReduceOp op, ReduceOp over, const Vector& a, const View& to) {
  over_pieces(r, a.pieces.size(), over, to, [&](std::size_t i, const View& place) {
    const View x = flat(r, a.pieces[i]), out = beside(r, x, place);
    // A rank without elements has no say; there is nothing that a kernel could choose.
    if (op == ReduceOp::max && count_of(x.shape()) == 0)
      record::fill(r, Value(-std::numeric_limits<double>::infinity()), out);
    else
      reduce(r, op, x, out);
    if (op == ReduceOp::sum_abs2)
      r.may_join(
          {.kind = SweepKind::norm2, .dtype = x.dtype, .count = count_of(x.shape()), .a = 0});
    if (out.slot != place.slot) record::copy(r, out, place);
  });
}

}  // namespace

void norm2(Recorder& r, const Vector& a, const View& to) {
  if (a.stored) return dot_on_disk(r, *a.stored, *a.stored, to);
  reduce_pieces(r, ReduceOp::sum_abs2, ReduceOp::sum, a, to);
  if (a.ranks) a.ranks->combine(r, to);
}

void largest(Recorder& r, const Vector& a, const View& to) {
  reduce_pieces(r, ReduceOp::max, ReduceOp::max, a, to);
  if (a.ranks) a.ranks->combine(r, to, Combine::max);
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
