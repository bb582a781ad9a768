// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/functions/elementwise.hpp"

#include "tessera/distributed/exchange/point_to_point.hpp"
#include "tessera/kernels/elementwise/out_shape.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::dist {
namespace {

using Inputs = std::span<const Operand>;

const DNDarray* first_of(Inputs inputs) {
  for (const Operand& in : inputs)
    if (in.distribution) return &in.distribution;
  return nullptr;
}

void check_group(ElementOp op, Inputs inputs, const DNDarray& like) {
  for (const Operand& in : inputs)
    if (in.distribution) require_same_group(name(op), like, in.distribution);
}

// The local function is called with arrays of no elements: its errors of dtypes and numbers are
// ours, and so is its dtype.
std::vector<ArrayOrValue> without_elements(Inputs inputs) {
  std::vector<ArrayOrValue> all;
  for (const Operand& in : inputs)
    all.push_back(in.is_value() ? ArrayOrValue(in.value)
                                : ArrayOrValue(Array::empty({0}, in.dtype())));
  return all;
}

Shape shape_of(Inputs inputs) {
  Shape shape;
  for (const Operand& in : inputs)
    if (!in.is_value()) shape = broadcast_shapes(shape, in.shape());
  return shape;
}

bool any_negative(const Array& a) {
  return a.size() > 0 && tessera::reduce(ReduceOp::min, a).item().as<i64>() < 0;
}

// Integers to negative integer powers: each rank sees its part of the exponents only, so that the
// local function would refuse them on some ranks.
void check_exponent(ElementOp op, Inputs inputs, DType result) {
  if (op != ElementOp::power || !is_signed_int(result) || inputs[1].is_value()) return;
  const Operand& e = inputs[1];
  if (!is_signed_int(e.dtype())) return;
  const bool negative = any_negative(e.distribution ? e.distribution.local() : e.array);
  const std::string text =
      negative ? "Integers to negative integer powers are not allowed." : std::string();
  if (e.distribution && e.distribution.distributed())
    return e.distribution.comm().agree<ArgumentError>(text);
  require<ArgumentError>(!negative, text);
}

std::vector<ArrayOrValue> parts_for(Inputs inputs, const Target& to, const Communicator& comm) {
  std::vector<ArrayOrValue> parts;
  for (const Operand& in : inputs) {
    if (in.is_value())
      parts.emplace_back(in.value);
    else
      parts.emplace_back(in.distribution
                             ? part_for(in.distribution, to.shape, to.distribution)
                             : part_for(in.array, to.shape, to.distribution, comm.rank()));
  }
  return parts;
}

void check_out(ElementOp op, Inputs inputs, const DNDarray& out) {
  out.require_writable("output array");
  check_group(op, inputs, out);
  tessera::elementwise(op, without_elements(inputs), Array::empty({0}, out.dtype()));
  require_out_shape(shape_of(inputs), out.shape(), [&] {
    std::string shapes;
    for (const Operand& in : inputs)
      if (!in.is_value()) shapes += cat(in.shape(), " ");
    return shapes;
  });
}

}  // namespace

Target elementwise_target(Inputs inputs) {
  Target t{shape_of(inputs), {}};
  bool repeated = true;  // what was chosen so far is none, or is repeated along its split axis
  for (const Operand& in : inputs) {
    if (!in.distribution || !in.distribution.split() || !repeated) continue;
    const DNDarray& x = in.distribution;
    const i64 axis = *x.split() + t.shape.size() - x.ndim();
    const bool repeats = x.shape(*x.split()) != t.shape[axis];
    if (repeats && t.distribution.split) continue;
    t.distribution = {axis, repeats ? Partition::even(t.shape[axis], x.comm().size()) : x.part()};
    repeated = repeats;
  }
  return t;
}

Array part_for(const DNDarray& x, const Shape& shape, const Distribution& to) {
  const i64 axis = to.split ? *to.split - (shape.size() - x.ndim()) : -1;
  if (axis < 0 || x.shape(axis) != shape[*to.split]) return x.resplit(std::nullopt).local();
  return x.distributed_as({axis, to.part}).local();
}

Array part_for(const Array& x, const Shape& shape, const Distribution& to, int rank) {
  const i64 axis = to.split ? *to.split - (shape.size() - x.ndim()) : -1;
  if (axis < 0 || x.shape(axis) != shape[*to.split]) return x;
  return x.slice(axis, to.part.begin(rank), to.part.end(rank));
}

DNDarray elementwise(ElementOp op, Inputs inputs) {
  const DNDarray* like = first_of(inputs);
  require<ArgumentError>(like, name(op), ": at least one operand must be a distributed array");
  check_group(op, inputs, *like);
  const DType dtype = tessera::elementwise(op, without_elements(inputs)).dtype();
  const Target to = elementwise_target(inputs);
  check_exponent(op, inputs, dtype);
  return DNDarray(tessera::elementwise(op, parts_for(inputs, to, like->comm())), to.shape,
                  to.distribution, like->comm());
}

void elementwise(ElementOp op, Inputs inputs, const DNDarray& out) {
  check_out(op, inputs, out);
  check_exponent(op, inputs, tessera::elementwise(op, without_elements(inputs)).dtype());
  // What all ranks see of an array that one rank owns is its owner's: only the owner writes.
  const std::vector<ArrayOrValue> parts =
      parts_for(inputs, {out.shape(), out.distribution()}, out.comm());
  if (!out.owner())
    tessera::elementwise(op, parts, out.local());
  else if (*out.owner() == out.comm().rank())
    tessera::elementwise(op, parts, out.resident());
  out.touch();
}

}  // namespace tessera::dist
