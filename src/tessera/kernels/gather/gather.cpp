// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/gather/gather.hpp"

#include <cstring>

#include "tessera/base/trace.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/key.hpp"
#include "tessera/kernels/gather/pick_loop.hpp"
#include "tessera/kernels/gather/within.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"

namespace tessera {
namespace {

std::vector<Array> expand_mask(const Array& mask) { return nonzero(mask); }

// Truth values that live on a device which the host cannot read are fetched: the result's shape
// hangs on them.
Index fetch_truth_values(const Index& key) {
  Index fetched;
  for (const Index::Item& item : key.items()) {
    switch (item.kind) {
      case Index::Kind::integer: fetched.add(item.value); break;
      case Index::Kind::slice: fetched.add(item.slice); break;
      case Index::Kind::new_axis: fetched.add(new_axis); break;
      case Index::Kind::ellipsis: fetched.add(ellipsis); break;
      case Index::Kind::boolean: fetched.add(item.value != 0); break;
      default: {
        const Array& a = key.arrays()[static_cast<std::size_t>(item.value)];
        if (item.kind == Index::Kind::mask && a.ndim() == 0)
          fetched.add(a.item().as<bool>());
        else
          fetched.add(a);
      }
    }
  }
  return fetched;
}

Array element_at(const Array& x, i64 offset) {
  if (!on_host(x)) return x.view(Layout{{}, {}, offset}).copy();
  x.storage().wait();
  const i64 size = size_of(x.dtype());
  Storage s = Storage::allocate(x.device(), size);
  std::memcpy(s.data(), static_cast<const std::byte*>(x.storage().data()) + offset * size,
              static_cast<std::size_t>(size));
  return Array(std::move(s), Layout{}, x.dtype());
}

void check_rank(const Array& x, std::span<const i64> at) {
  const i64 given = static_cast<i64>(at.size());
  if (given > x.ndim()) throw_too_many(x.ndim(), given);
  require<ArgumentError>(given == x.ndim(), "element: ", given, " integers for an array of shape ",
                         x.shape());
}

template <class F>
void with_element(const Array& x, i64 offset, F&& f) {
  x.storage().wait();
  dispatch<TESSERA_ALL_TYPES>(x.dtype(), "element",
                              [&]<class T>() { f(static_cast<T*>(x.storage().data()) + offset); });
}

// Positions of plan.lead's shape, within bounds.
Array gather_at(const Array& x, const IndexPlan& plan, std::vector<Array> positions) {
  const Array out = Array::empty(plan.shape, x.dtype(), x.device());
  if (out.size() == 0) return out;
  const Array lead_first = out.view(plan.lead_first(out.layout()));
  if (positions.empty()) {
    lead_first.copy_from(x.view(plan.view));
    return out;
  }
  const Array source = x.view(join_positions(positions, plan.view));
  GatherSpec spec{operand_of(source), {}, operand_of(lead_first)};
  SmallVec<const Array*, max_operands> operands{&source};
  for (const Array& p : positions) {
    spec.indices.push_back(operand_of(p));
    operands.push_back(&p);
  }
  operands.push_back(&lead_first);
  const auto prepare = kernels_of(x.device()).gather.prepare;
  if (!prepare) throw NotAvailable(no_kernel_text("gather", x.device()));
  tag_launch(name(x.device().kind), "gather", x.dtype());
  enqueue(prepare(spec, x.device()), x.device(), operands.span());
  return out;
}

}  // namespace

bool on_host(const Array& x) {
  return x.device().kind == Kind::cpu || compute_device(x.device().kind).host_memory();
}

IndexPlan plan_key(const Array& x, const Index& key) {
  bool fetch = false;
  for (const Array& a : key.arrays()) {
    require<DeviceError>(a.device() == x.device(), "the indexed array is on ", x.device(),
                         " and an index array on ", a.device(), "; move one of them with to()");
    fetch = fetch || (a.ndim() == 0 && a.dtype() == DType::b1);
  }
  return resolve(fetch ? fetch_truth_values(key) : key, x.layout(), expand_mask);
}

std::vector<Array> checked_positions(const Array& x, const IndexPlan& plan) {
  std::vector<Array> positions;
  for (const Array& a : plan.arrays) positions.push_back(a.astype(DType::i64));
  // As NumPy: positions that broadcasting drops altogether are not looked at.
  if (count_of(plan.lead) > 0) {
    Shape sizes;
    for (const i64 axis : plan.axes) sizes.push_back(x.shape(axis));
    check_bounds(positions, sizes, plan.axes);
  }
  for (Array& p : positions) p = p.view(p.layout().broadcast_to(plan.lead));
  return positions;
}

Layout join_positions(std::vector<Array>& positions, const Layout& view) {
  constexpr i64 most = max_operands - 2;  // beside the arrays on both sides
  const i64 indexed = static_cast<i64>(positions.size());
  if (indexed <= most) return view;
  Layout joined = view;
  Array offsets;
  i64 reach = 0;
  for (i64 axis = most - 1; axis < indexed; ++axis) {
    const i64 n = view.shape[axis], stride = view.strides[axis];
    const Array& at = positions[static_cast<std::size_t>(axis)];
    Array steps = ops::where(ops::less(at, Value(0)), ops::add(at, Value(n)), at);
    if (stride < 0) {  // counted from the other end, so that no offset is negative
      steps = ops::subtract(Value(n - 1), steps);
      joined.offset += (n - 1) * stride;
    }
    const i64 length = stride < 0 ? -stride : stride;
    steps = ops::multiply(steps, Value(length));
    offsets = offsets ? ops::add(offsets, steps) : steps;
    reach += (n - 1) * length;
  }
  positions.resize(static_cast<std::size_t>(most - 1));
  positions.push_back(offsets);
  for (i64 axis = indexed - 1; axis >= most; --axis) {
    joined.shape.erase(axis);
    joined.strides.erase(axis);
  }
  joined.shape[most - 1] = reach + 1;
  joined.strides[most - 1] = 1;
  return joined;
}

const Array* full_mask(const Array& x, const Index& key) {
  const auto items = key.items();
  if (items.size() != 1 || items[0].kind != Index::Kind::mask) return nullptr;
  const Array& mask = key.arrays()[0];
  return mask.ndim() > 0 && mask.shape() == x.shape() && mask.device() == x.device() ? &mask
                                                                                     : nullptr;
}

Array gather_plan(const Array& x, const IndexPlan& plan) {
  return gather_at(x, plan, checked_positions(x, plan));
}

Array read_within(const Array& x, const Index& key) {
  const IndexPlan plan = plan_key(x, key);
  if (plan.kind != IndexPlan::Kind::advanced) return x[key];
  std::vector<Array> positions;
  for (const Array& a : plan.arrays)
    positions.push_back(a.astype(DType::i64).broadcast_to(plan.lead));
  return gather_at(x, plan, std::move(positions));
}

Array Array::operator[](const Index& key) const {
  if (Array out; key.items().size() == 1 && key.arrays().size() == 1 &&
                 key.items()[0].kind == Index::Kind::integer_array && !key.force_copy() &&
                 take_few(*this, key.arrays()[0], out))
    return out;
  if (!key.advanced() && !key.force_copy() &&
      key.items().size() == 1) {  // the commonest keys: no plan
    const Index::Item& item = key.items()[0];
    if (item.kind == Index::Kind::slice && ndim() > 0)
      return view(slice_layout(layout_, 0, item.slice));
    if (item.kind == Index::Kind::integer && ndim() == 1)
      return element_at(*this, element_offset(layout_, {&item.value, 1}));
  }
  if (const Array* mask = full_mask(*this, key); mask && on_host(*this))
    return read_masked(*this, *mask);
  const IndexPlan plan = plan_key(*this, key);
  if (plan.kind == IndexPlan::Kind::element) return element_at(*this, plan.view.offset);
  if (plan.kind == IndexPlan::Kind::view)
    return plan.copy ? view(plan.view).copy() : view(plan.view);
  return gather_plan(*this, plan);
}

Array element_at(const Array& x, std::span<const i64> at) {
  check_rank(x, at);
  return element_at(x, element_offset(x.layout(), at));
}

Value element_value(const Array& x, std::span<const i64> at) {
  check_rank(x, at);
  const i64 offset = element_offset(x.layout(), at);
  if (!on_host(x)) return x.view(Layout{{}, {}, offset}).item();
  Value v;
  with_element(x, offset, [&]<class T>(const T* p) {
    if constexpr (std::is_same_v<T, bool>)
      v = Value(*p);
    else if constexpr (std::is_unsigned_v<T>)
      v = Value(static_cast<std::uint64_t>(*p));
    else if constexpr (std::is_integral_v<T>)
      v = Value(static_cast<i64>(*p));
    else if constexpr (is_complex_v<T>)
      v = Value(c128(*p));
    else
      v = Value(static_cast<double>(*p));
  });
  return v;
}

void set_element(const Array& x, std::span<const i64> at, const Value& value) {
  require<ArgumentError>(x.storage().writable(), "assignment destination is read-only");
  check_rank(x, at);
  const i64 offset = element_offset(x.layout(), at);
  if (!on_host(x)) return x.view(Layout{{}, {}, offset}).fill(value);
  with_element(x, offset, [&]<class T>(T* p) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      *p = T(value.as<float>());
    else
      *p = value.as<T>();
  });
}

Array slice_view(const Array& x, i64 axis, const Slice& s) {
  return x.view(slice_layout(x.layout(), axis, s));
}

}  // namespace tessera
