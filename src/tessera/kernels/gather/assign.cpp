// SPDX-License-Identifier: Apache-2.0
// x[key] = value and x[key] += value, as if the right side and the positions were copied first.
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/gather/by_bits.hpp"
#include "tessera/kernels/gather/fit.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/gather/key.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

void require_writable(const Array& x) {
  bool repeats = false;  // a broadcast view: several positions share one element
  for (i64 a = 0; a < x.ndim(); ++a)
    repeats = repeats || (x.shape(a) > 1 && x.layout().strides[a] == 0);
  repeats = repeats && x.size() > 0;
  require<ArgumentError>(x.storage().writable() && !repeats, "assignment destination is read-only");
}

// The value without the leading axes of size 1 that NumPy drops in assignments.
Array fitted(const Array& value, const IndexPlan& plan) {
  require_fit(value.shape(), plan);
  Layout l = value.layout();
  while (l.ndim() > plan.shape.size()) {
    if (l.shape[0] != 1)  // there is no element: see fits()
      return Array::empty(Shape(l.shape.end() - plan.shape.size(), l.shape.end()), value.dtype(),
                          value.device());
    l = l.select(0, 0);
  }
  return value.view(std::move(l));
}

void store_view(const Array& target, const Array& value, ScatterOp op) {
  if (op == ScatterOp::add) {
    elementwise(ElementOp::add, std::array<ArrayOrValue, 2>{target, value}, target);
    return;
  }
  const bool same = value.layout() == target.layout() && value.storage() == target.storage();
  if (same) return;
  target.copy_from(may_share_memory(value, target) ? value.copy() : value);
}

void store_gathered(const Array& x, const IndexPlan& plan, const Array& value, ScatterOp op) {
  if (plan.arrays.empty()) {  // truth values only: one new axis, or nothing at all
    if (count_of(plan.lead) > 0)
      store_view(x.view(plan.view.insert_axis(plan.position)), value, op);
    return;
  }
  std::vector<Array> positions = checked_positions(x, plan);
  if (count_of(plan.shape) == 0) return;
  for (Array& p : positions)
    if (may_share_memory(p, x)) p = p.copy();
  const Array spread = (may_share_memory(value, x) ? value.copy() : value).broadcast_to(plan.shape);
  const Array from = spread.view(plan.lead_first(spread.layout()));
  const Array target = x.view(join_positions(positions, plan.view));
  ScatterSpec spec{op, operand_of(from), {}, operand_of(target)};
  SmallVec<const Array*, max_operands> operands{&from};
  for (const Array& p : positions) {
    spec.indices.push_back(operand_of(p));
    operands.push_back(&p);
  }
  operands.push_back(&target);
  const auto prepare = kernels_of(x.device()).scatter.prepare;
  if (!prepare) throw NotAvailable(no_kernel_text("scatter", x.device()));
  tag_launch(name(x.device().kind), "scatter", x.dtype());
  enqueue(prepare(spec, x.device()), x.device(), operands.span());
}

// True when the key is one mask over the leading axes of x and the value one number: then every
// element is kept or replaced where it stands, and nothing needs to be counted or waited for.
bool store_by_where(const Array& x, const Index& key, const Array& value) {
  const auto items = key.items();
  if (items.size() != 1 || items[0].kind != Index::Kind::mask || value.ndim() > 0) return false;
  const Array& mask = key.arrays()[0];
  if (mask.ndim() == 0 || mask.ndim() > x.ndim() || mask.device() != x.device()) return false;
  for (i64 a = 0; a < mask.ndim(); ++a)
    if (mask.shape(a) != x.shape(a)) return false;
  const Array kept = may_share_memory(mask, x) ? mask.copy() : mask;
  Layout spread = kept.layout();
  for (i64 a = mask.ndim(); a < x.ndim(); ++a) spread = spread.insert_axis(a);
  const Array condition = kept.view(spread).broadcast_to(x.shape());
  const Array number = may_share_memory(value, x) ? value.copy() : value;
  elementwise(ElementOp::where, std::array<ArrayOrValue, 3>{condition, number, x}, x);
  return true;
}

i64 count_true(const Array& mask) { return reduce(ReduceOp::count_nonzero, mask).item().as<i64>(); }

void check_mask_rank(const Array& value) {
  require<DTypeError>(
      value.ndim() <= 1,
      "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has ",
      value.ndim(), " dimensions");
}

// A mask of x's whole shape has rules of its own in NumPy: numbers in order, and other texts.
bool store_by_mask(const Array& x, const Index& key, const Array& value) {
  if (x.ndim() == 0 && key.items().size() == 1 && key.items()[0].kind == Index::Kind::boolean) {
    check_mask_rank(value);
    check_mask_count(value, key.items()[0].value);
    return false;
  }
  const Array* mask = full_mask(x, key);
  if (!mask) return false;
  check_mask_rank(value);
  if (value.ndim() == 0 && !on_host(x)) return store_by_where(x, key, value);
  if (!on_host(x)) {
    check_mask_count(value, count_true(*mask));
    return false;
  }
  const Array m = may_share_memory(*mask, x) ? mask->copy() : *mask;
  write_masked(x, m, may_share_memory(value, x) ? value.copy() : value);
  return true;
}

void store(const Array& x, const Index& key, const Array& given, ScatterOp op) {
  require_writable(x);
  require<DeviceError>(given.device() == x.device(), "the assigned array is on ", x.device(),
                       " and the value on ", given.device(), "; move one of them with to()");
  const Array value = given.astype(x.dtype());
  if (op == ScatterOp::assign && (store_by_mask(x, key, value) || store_by_where(x, key, value)))
    return;
  const IndexPlan plan = plan_key(x, key);
  if (plan.kind == IndexPlan::Kind::advanced)
    return store_gathered(x, plan, fitted(value, plan), op);
  require<ArgumentError>(plan.kind == IndexPlan::Kind::view || value.ndim() == 0,
                         "setting an array element with a sequence.");
  store_view(x.view(plan.view), fitted(value, plan), op);
}

}  // namespace

void check_mask_count(const Array& value, i64 n) {
  require<ShapeError>(value.ndim() == 0 || value.size() == n || value.size() == 1,
                      "NumPy boolean array indexing assignment cannot assign ", value.size(),
                      " input values to the ", n, " output values where the mask is true");
}

void Array::assign(const Index& key, const Array& value) const {
  store(*this, key, value, ScatterOp::assign);
}

void assign(const Array& x, const Index& key, const Value& v) {
  if (!key.advanced()) {
    require_writable(x);
    return x.view(plan_key(x, key).view).fill(v);
  }
  store(x, key, full({}, v, x.dtype(), x.device()), ScatterOp::assign);
}

bool assign_by_bits(const Array& x, std::span<const std::uint64_t> bits, const Array& value) {
  if (!on_host(x) || !on_host(value) || x.ndim() != 1 || !x.layout().dense() || value.size() != 1)
    return false;
  require_writable(x);
  const Array one = value.astype(x.dtype());
  write_by_bits(x, bits, may_share_memory(one, x) ? one.copy() : one);
  return true;
}

void add_at(const Array& x, const Index& key, const Array& values) {
  store(x, key, values, ScatterOp::add);
}

}  // namespace tessera
