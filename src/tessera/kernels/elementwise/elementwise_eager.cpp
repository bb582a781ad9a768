// SPDX-License-Identifier: Apache-2.0
// The array functions: operands are checked, promoted and broadcast, then one kernel is launched.
#include <limits>

#include "tessera/base/report/watch.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/kernels/copy/cast.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise_cpu.hpp"
#include "tessera/kernels/elementwise/out_shape.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

using Inputs = std::span<const ArrayOrValue>;
using Types = SmallVec<DType, 4>;

int kind_rank(DType t) { return t == DType::b1 ? 0 : is_integer(t) ? 1 : is_float(t) ? 2 : 3; }

// NEP 50: a number takes the arrays' dtype unless its kind is higher.
DType adapted(const Value& v, DType arrays) {
  const DType own = v.dtype();
  if (kind_rank(own) <= kind_rank(arrays)) return arrays;
  return is_complex(own) && is_inexact(arrays) ? complex_of(arrays) : own;
}

Types input_types(ElementOp op, Inputs inputs) {
  Types types;
  const std::size_t first = op == ElementOp::where ? 1 : 0;
  bool any = false;
  DType common = DType::b1;
  for (std::size_t i = first; i < inputs.size(); ++i)
    if (!inputs[i].is_value()) {
      common = any ? promote(common, inputs[i].array.dtype()) : inputs[i].array.dtype();
      any = true;
    }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayOrValue& in = inputs[i];
    types.push_back(!in.is_value()      ? in.array.dtype()
                    : any && i >= first ? adapted(in.value, common)
                                        : in.value.dtype());
  }
  return types;
}

// -1, 0, 1: the number lies below, in or above the range of an integer dtype.
int outside_of(const Value& v, DType dtype) {
  if (!is_integer(dtype) || !v.is_integer()) return 0;
  int side = 0;
  dispatch<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
           std::uint32_t, std::uint64_t>(dtype, "range", [&]<class T>() {
    using Limits = std::numeric_limits<T>;
    const bool natural = v.kind() == Value::Kind::natural;
    const i64 i = v.as<i64>();
    if (!natural && (std::is_unsigned_v<T> ? i < 0 : i < static_cast<i64>(Limits::min())))
      side = -1;
    else if ((natural || i > 0) &&
             v.as<std::uint64_t>() > static_cast<std::uint64_t>(Limits::max()))
      side = 1;
  });
  return side;
}

// A comparison with a number that the integer dtype cannot hold has one answer for all elements.
std::optional<bool> constant_answer(ElementOp op, Inputs inputs, DType compute) {
  if (family(op) != ElementFamily::compare) return {};
  for (int i = 0; i < 2; ++i) {
    const ArrayOrValue& in = inputs[static_cast<std::size_t>(i)];
    const int side = in.is_value() ? outside_of(in.value, compute) : 0;
    if (side == 0) continue;
    const int a = i == 0 ? side : 0, b = i == 0 ? 0 : side;
    switch (op) {
      case ElementOp::equal: return a == b;
      case ElementOp::not_equal: return a != b;
      case ElementOp::less: return a < b;
      case ElementOp::less_equal: return a <= b;
      case ElementOp::greater: return a > b;
      default: return a >= b;
    }
  }
  return {};
}

void check_exponent(Inputs inputs, DType compute) {
  if (!is_signed_int(compute)) return;
  const ArrayOrValue& e = inputs[1];
  const bool negative = e.is_value() ? e.value.as<i64>() < 0
                                     : is_signed_int(e.array.dtype()) && e.array.size() > 0 &&
                                           reduce(ReduceOp::min, e.array).item().as<i64>() < 0;
  require<ArgumentError>(!negative, "Integers to negative integer powers are not allowed.");
}

void check_values(ElementOp op, Inputs inputs, DType compute) {
  for (std::size_t i = op == ElementOp::where ? 1 : 0; i < inputs.size(); ++i)
    if (inputs[i].is_value() && family(op) != ElementFamily::logic)
      require_fits(inputs[i].value, compute);
  if (op == ElementOp::power) check_exponent(inputs, compute);
}

Device device_of(ElementOp op, Inputs inputs, const Array* out) {
  SmallVec<const Array*, 4> arrays;
  for (const ArrayOrValue& in : inputs)
    if (!in.is_value()) arrays.push_back(&in.array);
  require<ArgumentError>(!arrays.empty(), name(op), ": at least one operand must be an array");
  if (out) arrays.push_back(out);
  return common_device(name(op), arrays);
}

Shape shape_of(Inputs inputs) {
  Shape shape;
  for (const ArrayOrValue& in : inputs)
    if (!in.is_value()) shape = broadcast_shapes(shape, in.array.shape());
  return shape;
}

void launch(ElementOp op, Inputs inputs, DType compute, const Array& out) {
  ElementwiseSpec spec{.op = op, .compute = compute, .inputs = {}, .out = operand_of(out)};
  SmallVec<const Array*, 4> arrays;
  spec.inputs.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayOrValue& in = inputs[i];
    if (in.is_value()) {
      spec.inputs[i].immediate = in.value;
      continue;
    }
    spec.inputs[i].operand = {in.array.layout().broadcast_to(out.shape()), in.array.dtype()};
    arrays.push_back(&in.array);
  }
  arrays.push_back(&out);
  const Kernel<ElementwiseSpec>& kernel = kernels_of(out.device()).elementwise;
  if (!kernel.prepare) throw NotAvailable(no_kernel_text(name(op), out.device()));
  tag_launch(name(out.device().kind), name(op), compute);
  enqueue(kernel.prepare(spec, out.device()), out.device(), arrays);
}

void run(ElementOp op, Inputs inputs, DType compute, const Array& out) {
  if (const auto answer = constant_answer(op, inputs, compute)) {
    out.fill(Value(*answer));
    return;
  }
  check_values(op, inputs, compute);
  launch(op, inputs, compute, out);
}

// Small contiguous arrays of one dtype on the cpu, where work is done in the caller anyway: no
// plan, no queue.
struct SmallCall {
  ElementOp op;
  BlockFn block = nullptr;  // null: the general way has to be taken
  const Array* first = nullptr;
  std::array<const void*, 2> in{};
  Element constant{};
  unsigned scalars = 0;
  DType compute = DType::f32, result = DType::f32;

  static constexpr i64 most_truths = 1024;  // of numbers whose truth is asked for

  void operator()(const Array& out) const {
    count(Counter::launches);
    if (out.size() <= few_elements) saw(Watched::small_launches);
    tag_launch(name(Kind::cpu), name(op), compute);
    std::array<const void*, 2> p = in;
    for (unsigned i = 0; i < 2; ++i)
      if (scalars >> i & 1) p[i] = &constant;
    if (compute == first->dtype()) return block(p.data(), out.data(), out.size(), scalars);
    std::byte truths[2][most_truths];
    const CastRow as_truths = cast_row(first->dtype(), compute);
    for (unsigned i = 0; i < 2; ++i)
      if (in[i]) {
        as_truths(in[i], size_of(first->dtype()), truths[i], 1, out.size());
        p[i] = truths[i];
      }
    block(p.data(), out.data(), out.size(), scalars);
  }
};

bool is_small_operand(const Array& a, const Array& like) {
  return a.device() == cpu && a.dtype() == like.dtype() && a.shape() == like.shape() &&
         a.is_contiguous();
}

SmallCall small_call(ElementOp op, Inputs inputs) {
  SmallCall call{.op = op};
  if (inputs.size() > 2) return call;
  const Array& like = inputs[inputs[0].is_value() ? inputs.size() - 1 : 0].array;
  if (op == ElementOp::power && like && !is_inexact(like.dtype())) return call;  // of negatives
  if (!like || like.size() > element_grain(op) || like.dtype() == DType::f16 ||
      like.dtype() == DType::bf16)
    return call;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayOrValue& x = inputs[i];
    if (!x.is_value()) {
      if (!is_small_operand(x.array, like)) return call;
      call.in[i] = x.array.data();
      continue;
    }
    if (adapted(x.value, like.dtype()) != like.dtype() || outside_of(x.value, like.dtype()) != 0)
      return call;
    call.constant = element_of(x.value, like.dtype());
    call.scalars |= 1u << i;
  }
  const std::array<DType, 2> same{like.dtype(), like.dtype()};
  const ElementTypes types = element_types(op, std::span(same).first(inputs.size()));
  const bool truths =
      types.compute == DType::b1 && call.scalars == 0 && like.size() <= SmallCall::most_truths;
  if (types.compute != like.dtype() && !truths) return call;
  call.first = &like;
  call.compute = types.compute;
  call.result = types.result;
  call.block = element_block(op, types.compute);
  return call;
}

// The input may be read while `out` is written: apart from it, or element on element.
bool is_safe(const ArrayOrValue& in, const Array& out) {
  if (in.is_value() || !may_share_memory(in.array, out)) return true;
  return in.array.data() == out.data() && in.array.dtype() == out.dtype() &&
         in.array.shape() == out.shape() && in.array.layout().strides == out.layout().strides;
}

void check_out_shape(Inputs inputs, const Shape& shape, const Array& out) {
  require_out_shape(shape, out.shape(), [&] {
    std::string shapes;
    for (const ArrayOrValue& in : inputs)
      if (!in.is_value()) shapes += cat(in.array.shape(), " ");
    return shapes;
  });
}

}  // namespace

void require_fits(const Value& v, DType dtype) {
  require<OverflowError>(outside_of(v, dtype) == 0, "Python integer ", v, " out of bounds for ",
                         dtype);
}

Array elementwise(ElementOp op, std::span<const ArrayOrValue> inputs) {
  if (const SmallCall call = small_call(op, inputs); call.block) {
    const Array out = Array::empty(call.first->shape(), call.result);
    if (out.is_contiguous()) {
      call(out);
      return out;
    }
  }
  const Device device = device_of(op, inputs, nullptr);
  const ElementTypes types = element_types(op, input_types(op, inputs));
  Array out = Array::empty(shape_of(inputs), types.result, device);
  run(op, inputs, types.compute, out);
  return out;
}

void elementwise(ElementOp op, std::span<const ArrayOrValue> inputs, const Array& out) {
  (void)device_of(op, inputs, &out);
  const ElementTypes types = element_types(op, input_types(op, inputs));
  require<DTypeError>(can_cast_same_kind(types.result, out.dtype()), "Cannot cast ufunc '",
                      name(op), "' output from dtype('", types.result, "') to dtype('", out.dtype(),
                      "') with casting rule 'same_kind'");
  check_out_shape(inputs, shape_of(inputs), out);
  require<ArgumentError>(out.storage().writable(), "output array is read-only");
  require<ArgumentError>(!out.layout().self_overlaps(), name(op),
                         ": elements of the output array share memory (a broadcast view?)");
  bool apart = true;
  for (const ArrayOrValue& in : inputs) apart = apart && is_safe(in, out);
  if (apart) {
    const SmallCall call = small_call(op, inputs);
    if (call.block && call.result == out.dtype() && call.first->shape() == out.shape() &&
        out.is_contiguous())
      return call(out);
    return run(op, inputs, types.compute, out);
  }
  std::vector<ArrayOrValue> copies;
  copies.reserve(inputs.size());
  for (const ArrayOrValue& in : inputs)
    copies.push_back(is_safe(in, out) ? in : ArrayOrValue(in.array.copy()));
  run(op, copies, types.compute, out);
}

}  // namespace tessera
