// SPDX-License-Identifier: Apache-2.0
// x[key]: the route is chosen in index_route.cpp, here it is gone.
#include "tessera/device/pool.hpp"
#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/indexing/entry_rows.hpp"
#include "tessera/distributed/indexing/index_positions.hpp"
#include "tessera/distributed/indexing/index_route.hpp"
#include "tessera/distributed/indexing/index_winners.hpp"
#include "tessera/distributed/indexing/masks/mask.hpp"
#include "tessera/distributed/indexing/masks/mask_owners.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/within.hpp"

namespace tessera::dist {
namespace {

// Integers that came as arrays of rank 0, such as argmax's, are integers: plan.copy is not asked.
bool is_view(const NormalKey& key) { return key.plan.kind == IndexPlan::Kind::view; }
// A local answer is a view of x's memory or new memory; handles of views share their writes.
DNDarray wrap(const DNDarray& x, const NormalKey& key, Array local, const Shape& shape,
              const Distribution& distribution) {
  if (is_view(key))
    return x.with(std::move(local), resolve(key.index, x.whole()).view, distribution);
  return DNDarray(std::move(local), shape, distribution, x.comm());
}

// One rank has what is asked for: a handle on it, read when somebody reads it.
DNDarray at_owner(const DNDarray& x, const NormalKey& key, int owner, const AtAxis& where) {
  const bool view = is_view(key);
  Array there;
  if (x.comm().rank() == owner)
    there = x.resident()[local_key(key, key.plan.arrays, where, x.device())];
  if (view) return x.rooted_view(std::move(there), resolve(key.index, x.whole()).view, owner);
  return DNDarray::rooted(std::move(there), key.plan.shape, x.dtype(), x.device(), owner, x.comm());
}

// Every rank has all of x. The first distributed array of the key lends its distributed to the
// result.
DNDarray from_whole(const DNDarray& x, const NormalKey& key) {
  if (!key.any_distribution()) {
    if (x.owner()) return at_owner(x, key, *x.owner(), {});
    return wrap(x, key, x.local()[local_key(key, key.plan.arrays, {}, x.device())], key.plan.shape,
                {});
  }
  const i64 lead_axis = key.lands[key.guide];
  const Partition part = part_of_guide(key, x.comm().size());
  const bool known = all_ranges_known(key);
  if (known && !within_ranges(x, key)) throw_first_problem(x, key);
  std::string problem;
  const std::vector<Array> mine = entries_of(x, key, lead_axis, part, problem);
  if (!known && count_of(key.plan.lead) > 0 && !x.comm().first_problem(problem).empty())
    throw_first_problem(x, key);
  const Array local = x.local()[local_key(key, mine, {}, x.device())];
  return DNDarray(local, key.plan.shape, {split_of(x, key), part}, x.comm());
}

// Each rank answers from its own part.
Array own_answer(const DNDarray& x, const NormalKey& key, const RoutePlan& plan) {
  const int me = x.comm().rank();
  const i64 split = *x.split();
  if (plan.array < 0) {
    const SliceRange range = own_range(x, key, plan, me);
    return x.resident()[local_key(key, key.plan.arrays, {split, range, {}}, x.device())];
  }
  return read_within(x.resident(), local_key(key, own_positions(x, key, plan), {}, x.device()));
}

// Dense positions, relative to the first one of a part.
Array counted_from(const Array& positions, i64 first) {
  if (first == 0) return positions;
  const Array out(Storage::allocate(cpu, positions.bytes()), Layout::contiguous(positions.shape()),
                  DType::i64);
  const i64* from = positions.host<i64>();
  i64* to = out.host<i64>();
  const i64 n = positions.size();
  for (i64 j = 0; j < n; ++j) to[j] = from[j] - first;
  return out;
}

// The lead goes back to its place between the other axes.
Shape lead_behind(const NormalKey& key, i64 lead, i64 ndim) {
  const i64 position = key.plan.position;
  Shape order;
  for (i64 a = 0; a < position; ++a) order.push_back(lead + a);
  for (i64 a = 0; a < lead; ++a) order.push_back(a);
  for (i64 a = lead + position; a < ndim; ++a) order.push_back(a);
  return order;
}

// How a result of this shape lies when its rows were made one behind the other.
Layout layout_behind(const NormalKey& key, const Shape& shape) {
  const Layout lead_first =
      Layout::contiguous(key.plan.lead_first(Layout::contiguous(shape)).shape);
  return lead_first.permute(lead_behind(key, key.plan.lead.size(), shape.size()));
}

// The rows of the entries of this rank, in the shape of the result.
Array shaped(const Array& rows, const NormalKey& key, const Shape& local_lead) {
  Shape shape = local_lead;
  for (i64 a = 1; a < rows.ndim(); ++a) shape.push_back(rows.shape(a));
  const Array lead_first = rows.reshape(shape);
  return lead_first.permute(lead_behind(key, local_lead.size(), shape.size()));
}

// What a read took beside its result and what is remembered goes back to the system, but for a
// little.
class OwnScratch {
 public:
  ~OwnScratch() { device_pool(cpu).trim_to(before_ + little); }

 private:
  static constexpr i64 little = 4 << 20;
  const i64 before_ = device_pool(cpu).cached();
};

DNDarray unordered(const DNDarray& x, const NormalKey& key, const RoutePlan& plan) {
  const OwnScratch scratch;
  const EntryRows rows(x, key);
  Shape lead = key.plan.lead;
  lead[plan.lead_axis] = plan.distribution.part.count(x.comm().rank());
  Array result;
  if (plan.ask) {
    result = fetch_rows(rows, *ask_owners(rows, key, plan.lead_axis, plan.distribution.part));
  } else {
    const Array ids = rows.ids(key.plan.arrays, key.plan.lead);
    result = fetch_rows(rows, know_owners(rows, ids, plan.lead_axis, plan.distribution.part));
  }
  return DNDarray::lying(shaped(result, key, lead), layout_behind(key, plan.shape),
                         plan.distribution, x.comm());
}

// Intervals change hands.
DNDarray descending(const DNDarray& x, const NormalKey& key, const RoutePlan& plan) {
  const Once once = each_once(x, key);
  const RoutePlan way = route_of(x, once.key);
  const int p = x.comm().size();
  const Array there =
      relayout(own_answer(x, once.key, way), way.shape, x.dtype(), boxes_of_own(way),
               boxes_of(way.shape, way.distribution, p), x.comm());
  const DNDarray y(repeated(there, once, key.plan), plan.shape, plan.distribution, x.comm());
  return is_view(key) ? y.moved_copy() : y;  // NumPy has a view
}

}  // namespace

Boxes boxes_of_own(const RoutePlan& plan) {
  Boxes boxes;
  for (std::size_t q = 0; q < plan.begins.size(); ++q)
    boxes.push_back({plan.axis, plan.begins[q], plan.ends[q]});
  return boxes;
}

Partition part_of_guide(const NormalKey& key, int ranks) {
  const i64 axis = key.lands[key.guide], n = key.plan.lead[axis];
  for (std::size_t a = to_index(key.guide); a < key.distribution.size(); ++a) {
    const DNDarray& distribution = key.distribution[a];
    if (distribution && key.lands[static_cast<i64>(a)] == axis &&
        distribution.shape(*distribution.split()) == n)
      return distribution.part();
  }
  return Partition::even(n, ranks);
}

std::vector<Array> entries_of(const DNDarray& x, const NormalKey& key, i64 lead_axis,
                              const Partition& part, std::string& problem) {
  const Shape& lead = key.plan.lead;
  const int me = x.comm().rank();
  std::vector<Array> mine;
  for (std::size_t a = 0; a < key.plan.arrays.size(); ++a) {
    const DNDarray& distribution = key.distribution[a];
    if (!distribution) {
      mine.push_back(
          cut_positions(key.plan.arrays[a], lead, lead_axis, part.begin(me), part.end(me)));
      continue;
    }
    const i64 own = lead_axis - (lead.size() - distribution.ndim());
    const bool has_axis = own >= 0 && distribution.shape(own) == lead[lead_axis];
    Shape shape = distribution.shape();
    if (has_axis) shape[own] = part.count(me);
    if (count_of(lead) == 0) {  // nobody looks at them
      mine.push_back(zeros(shape, DType::i64));
      continue;
    }
    const i64 axis = key.plan.axes[static_cast<i64>(a)];
    if (has_axis && distribution.distribution() == Distribution{own, part}) {  // they stay
      mine.push_back(own_checked(distribution, axis, x.shape(axis), problem));
      continue;
    }
    const DNDarray narrow = narrowed(distribution, axis, x.shape(axis), problem);
    mine.push_back((has_axis ? narrow.distributed_as({own, part}).local() : narrow.gathered())
                       .astype(DType::i64));
  }
  return mine;
}

SliceRange own_range(const DNDarray& x, const NormalKey& key, const RoutePlan& plan, int rank) {
  SliceRange range = key.axes[to_index(*x.split())].range;
  if (range.step > 0) return x.part().local_range(range, rank);
  const i64 first = plan.begins[to_index(rank)];
  range.length = plan.ends[to_index(rank)] - first;
  range.start = range.length > 0 ? range.start + first * range.step - x.part().begin(rank) : 0;
  return range;
}

std::vector<Array> own_positions(const DNDarray& x, const NormalKey& key, const RoutePlan& plan) {
  const int me = x.comm().rank();
  std::vector<Array> arrays;
  for (std::size_t a = 0; a < key.plan.arrays.size(); ++a) {
    Array p = cut_positions(key.plan.arrays[a], key.plan.lead, plan.lead_axis,
                            plan.begins[to_index(me)], plan.ends[to_index(me)]);
    if (static_cast<i64>(a) == plan.array) p = counted_from(p.contiguous(), x.part().begin(me));
    arrays.push_back(p);
  }
  return arrays;
}

NormalKey routable(const DNDarray& x, NormalKey k) {
  if (!k.any_distribution()) {
    check_values(x, k);
    return k;
  }
  try {
    check_values(x, k);
  } catch (const IndexError&) {  // of this array; a distributed one before it may be wrong, too
    throw_first_problem(x, k);
  }
  if (!x.split() || keeps_distribution(x, k)) return k;
  return gathered(x, k);
}

std::optional<LoneSlice> lone_slice(const DNDarray& x, const DistIndex& key) {
  const auto items = key.index().items();
  if (items.size() != 1 || items[0].kind != Index::Kind::slice || key.index().force_copy() ||
      !x.split())
    return {};
  const SliceRange all = resolve_slice(items[0].slice, x.shape(0));
  if (all.step < 0) return {};
  const bool cut = *x.split() == 0;
  const SliceRange own = cut ? x.part().local_range(all, x.comm().rank()) : all;
  const Array& mine = x.resident();
  return LoneSlice{
      mine.view(mine.layout().slice(0, own.start, own.length, own.length > 1 ? own.step : 1)),
      x.whole().slice(0, all.start, all.length, all.length > 1 ? all.step : 1),
      cut ? Distribution{0, x.part().sliced(all)} : x.distribution()};
}

DNDarray DNDarray::operator[](const DistIndex& key) const {
  if (auto slice = lone_slice(*this, key)) {
    return with(std::move(slice->own), std::move(slice->whole), std::move(slice->distribution));
  }
  const IndexPlan checked = check_key_aloud(*this, key);
  const DistIndex near = with_whole_masks(key, loose_masks(*this, key));
  if (const auto mask = lone_mask(*this, near); mask && covers_split(*this, *mask))
    return read_masked(*this, near, *mask, checked);
  const auto positions = owned_positions(*this, near);
  NormalKey k = routable(*this, normalize(*this, near, positions));
  k.at_owners = !positions.empty() && keeps_distribution(*this, k);
  if (!split()) return from_whole(*this, k);
  const RoutePlan plan = route_of(*this, k);
  switch (plan.route) {
    case Route::scalar:
      return at_owner(*this, k, plan.owner,
                      {*split(), {}, k.axes[to_index(*split())].value - part().begin(plan.owner)});
    case Route::unordered: return unordered(*this, k, plan);
    case Route::descending_slice: return descending(*this, k, plan);
    default: return wrap(*this, k, own_answer(*this, k, plan), plan.shape, plan.distribution);
  }
}

}  // namespace tessera::dist
