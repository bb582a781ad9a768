// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/masks/mask_owners.hpp"

#include <algorithm>

#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/indexing/masks/mask_bits.hpp"
#include "tessera/distributed/indexing/masks/mask_rows.hpp"
#include "tessera/distributed/indexing/masks/nonzero.hpp"
#include "tessera/distributed/indexing/positions.hpp"
#include "tessera/distributed/indexing/route.hpp"
#include "tessera/distributed/indexing/rows/ids.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera::dist {
namespace {

Distribution as_owned(const DNDarray& x, const SoleMask& mask) {
  return {*x.split() - mask.first, x.part()};
}
bool interleaves(const DNDarray& x, const SoleMask& mask) { return *x.split() != mask.first; }

// The axis of an array that lies on the last one of the lead, or -1 where it does not differ there.
i64 differing_axis(const DNDarray& value, const IndexPlan& plan) {
  const i64 own = plan.position + plan.lead.size() - 1 - (plan.shape.size() - value.ndim());
  return own >= 0 && value.shape(own) != 1 ? own : -1;
}

// The mask, distributed as x is (collective).
DNDarray as_owners_have(const DNDarray& x, const SoleMask& mask) {
  const Distribution as = as_owned(x, mask);
  if (mask.mask.distribution() == as) return mask.mask;
  return {BitRelayout(mask.mask, as).run(), mask.mask.shape(), as, x.comm()};
}

// Elements that change hands between two distributions of a mask.
i64 bits_moved(const DNDarray& mask, const Distribution& from, const Distribution& to) {
  const int p = mask.comm().size();
  return Relayout(mask.shape(), boxes_of(mask.shape(), from, p), boxes_of(mask.shape(), to, p))
      .movement(1)
      .bytes();
}

// Bytes before any value moves. The owners' way: the bits of the mask, and the counts of its rows.
// Otherwise each entry goes to the owner of its place, as a byte at least; a mask that is not split
// by rows has to be so first.
class BothWays {
 public:
  BothWays(const DNDarray& x, const MaskBeside& beside, const PicksDiffer& differ, i64 outer)
      : size_(beside.mask.mask.size()), outer_(outer) {
    const DNDarray& mask = beside.mask.mask;
    const i64 p = x.comm().size();
    const Distribution owned = as_owned(x, beside.mask);
    const Distribution even{0, Partition::even(mask.shape(0), x.comm().size())};
    const Distribution& rows = mask.split() == 0 ? mask.distribution() : even;
    owners_ = bits_moved(mask, mask.distribution(), owned) / 8;
    if (differ.in_order)
      owners_ += RowCounts::of(x, beside.mask, true).bytes() * p * (differ.each ? p - 1 : 1);
    first_ = bits_moved(mask, mask.distribution(), rows) / 8;
    away_ = bits_moved(mask, rows, owned);
    counting_ = p * (p - 1) * RowCounts::by_rank(mask, mask.distribution()).bytes();
  }
  // Next to nothing at most: less than it takes to count the mask.
  bool owners_never_send_more() const { return owners_ <= first_ + counting_; }
  bool owners_always_send_more() const { return owners_ > entries(size_); }
  bool owners_send_no_more(i64 picked) const { return owners_ <= entries(picked); }

 private:
  i64 entries(i64 picked) const {
    return first_ + static_cast<i64>(static_cast<double>(away_) * static_cast<double>(outer_) *
                                     static_cast<double>(picked) / static_cast<double>(size_));
  }
  i64 size_, outer_, owners_ = 0, first_ = 0, away_ = 0, counting_ = 0;
};

// Where the elements of the owners stand in NumPy's order.
std::vector<i64> by_rank(const MaskOrder& order) {
  std::vector<i64> all;
  for (std::size_t r = 0; r < order.picked.size(); ++r) {
    const std::vector<i64> of_rank = order.positions(static_cast<int>(r));
    all.insert(all.end(), of_rank.begin(), of_rank.end());
  }
  return all;
}

}  // namespace

std::optional<MaskBeside> mask_beside(const DNDarray& x, const DistIndex& key) {
  if (!x.distributed() || !key.distributed()) return {};
  const std::vector<i64> axes = first_axes(key.index(), x.ndim());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Index::Item& item = key.index().items()[i];
    if (item.kind != Index::Kind::mask || !key.distribution()[to_index(item.value)]) continue;
    const SoleMask mask{key.distribution()[to_index(item.value)], axes[i]};
    if (!covers_split(x, mask)) continue;
    for (i64 a = 0; a < mask.mask.ndim(); ++a)  // a side of length zero on a longer axis
      if (mask.mask.shape(a) != x.shape(mask.first + a)) return {};
    if (mask.mask.size() == 0) return {};
    return MaskBeside{mask, item.value};
  }
  return {};
}

std::vector<DNDarray> owned_positions(const DNDarray& x, const DistIndex& key) {
  const auto beside = mask_beside(x, key);
  if (!beside || interleaves(x, beside->mask)) return {};
  const DNDarray owned = as_owners_have(x, beside->mask);
  return nonzero_by_rank(owned, counted_by_rank(owned).counts());
}

bool count_owned_positions(Transfers& t, const DNDarray& x, const DistIndex& key,
                           const DNDarray& mask) {
  const auto beside = mask_beside(x, key);
  if (!beside || interleaves(x, beside->mask)) {
    count_nonzero(t, mask);
    return false;
  }
  BitRelayout(mask, as_owned(x, beside->mask)).count(t);
  RowCounts::by_rank(mask, as_owned(x, beside->mask)).count(t);
  return true;
}

DNDarray by_owners(const DNDarray& a, i64 axis, const MaskOrder& order) {
  const Communicator& comm = a.comm();
  const Distribution owned{axis, Partition::of(order.counts())};
  if (a.split() == axis) {
    const MaskRows rows(std::make_shared<const MaskOrder>(order), a.part(), comm);
    return DNDarray(in_order(a, axis, rows.shares()), a.shape(), owned, comm);
  }
  const auto taken = [&](const Array& from, const std::vector<i64>& places) {
    return take(from, list_of(places).to(a.device()), axis);
  };
  if (!a.split() && a.known())
    return DNDarray(taken(a.local(), order.positions(comm.rank())), a.shape(), owned, comm);
  // Whoever has something of it has it along the whole axis.
  const Array there = a.resident() ? taken(a.resident(), by_rank(order)) : Array();
  if (a.split()) return DNDarray(there, a.shape(), a.distribution(), comm);
  return DNDarray::owned_by_one_rank(there, a.shape(), a.dtype(), a.device(), *a.owner(), comm);
}

PicksDiffer PicksBeside::differ_along(const DistIndex& key, const IndexPlan& checked,
                                      const DNDarray& value) const {
  if (!interleaves(x_, beside_->mask)) return {};
  const i64 own = differing_axis(value, checked);
  bool others = false;
  for (const Index::Item& item : key.index().items()) {
    if (item.kind == Index::Kind::mask && item.value != beside_->array) others = true;
    if (item.kind != Index::Kind::integer_array) continue;
    const Array& a = key.index().arrays()[to_index(item.value)];
    others = others || (a.ndim() > 0 && a.shape(a.ndim() - 1) != 1);
  }
  return {own >= 0 || others, others || (own >= 0 && value.split() != own)};
}

PicksBeside::PicksBeside(const DNDarray& x, const DistIndex& key, const IndexPlan& checked,
                         const DNDarray& value)
    : x_(x), beside_(mask_beside(x, key)) {
  if (!beside_) return;
  differ_ = differ_along(key, checked, value);
  for (i64 a = 0; a + 1 < checked.lead.size(); ++a) outer_ *= checked.lead[a];
  const BothWays ways(x, *beside_, differ_, outer_);
  list_ = ways.owners_never_send_more()    ? List::owners
          : ways.owners_always_send_more() ? List::nonzero
                                           : List::counted;
}

void PicksBeside::count(Transfers& t) const {
  if (list_ == List::none) return;
  const SoleMask& mask = beside_->mask;
  const bool exact = list_ == List::owners;
  if (list_ == List::counted) RowCounts::by_rank(mask.mask, mask.mask.distribution()).count(t);
  if (list_ != List::owners) count_nonzero(t, mask.mask);
  if (list_ == List::nonzero) return;
  BitRelayout(mask.mask, as_owned(x_, mask)).count(t, exact);
  if (!differ_.in_order) return RowCounts::by_rank(mask.mask, as_owned(x_, mask)).count(t);
  const RowCounts counts = RowCounts::of(x_, mask, differ_.each);
  counts.count(t);
  counts.count_single_rows(t);
}

std::optional<MaskPicks> PicksBeside::run() const {
  if (list_ == List::none || list_ == List::nonzero) return {};
  const SoleMask& mask = beside_->mask;
  MaskPicks picks{*beside_, {}, true, {}};
  if (list_ == List::counted) {
    const MaskOrder all = counted_by_rank(mask.mask);
    picks.at_owners = BothWays(x_, *beside_, differ_, outer_).owners_send_no_more(all.total());
    if (!picks.at_owners) {
      picks.positions =
          mask.mask.split() == 0 ? nonzero_by_rank(mask.mask, all.counts()) : nonzero(mask.mask);
      return picks;
    }
  }
  const DNDarray owned = as_owners_have(x_, mask);
  if (differ_.in_order)
    picks.order = RowCounts::of(x_, mask, differ_.each)
                      .run(picked_by_row(x_, mask, owned.resident()), x_.comm());
  picks.positions =
      nonzero_by_rank(owned, picks.order ? picks.order->counts() : counted_by_rank(owned).counts());
  return picks;
}

void follow_picks(const MaskPicks& picks, const DNDarray& x, NormalKey& k, DNDarray& value) {
  k.at_owners = picks.at_owners && keeps_distribution(x, k);
  // One element for all, or none: nothing is out of order.
  if (!picks.order || picks.order->total() < 2) return;
  const MaskOrder& order = *picks.order;
  const SoleMask& mask = picks.beside.mask;
  const auto differs = [](const Shape& shape) { return !shape.empty() && shape.back() != 1; };
  std::string problem;
  std::vector<std::pair<std::size_t, DNDarray>> distribution;
  for (std::size_t a = 0; a < k.distribution.size(); ++a) {
    const i64 axis = k.plan.axes[static_cast<i64>(a)];
    const bool of_mask = axis >= mask.first && axis < mask.first + mask.mask.ndim();
    if (of_mask || !differs(k.plan.arrays[a].shape())) continue;
    if (k.distribution[a])
      distribution.emplace_back(a, narrowed(k.distribution[a], axis, x.shape(axis), problem));
    else
      k.plan.arrays[a] =
          take(k.plan.arrays[a], list_of(by_rank(order)), k.plan.arrays[a].ndim() - 1);
  }
  if (!distribution.empty()) {
    const bool known = all_ranges_known(k);
    if (known ? !within_ranges(x, k) : !x.comm().first_problem(problem).empty())
      throw_first_problem(x, k);
    for (auto& [a, narrow] : distribution) {
      k.distribution[a] = by_owners(narrow, narrow.ndim() - 1, order);
      k.distribution[a].remember(value_range,
                                 std::make_shared<const ValueRange>(
                                     ValueRange{0, x.shape(k.plan.axes[static_cast<i64>(a)]) - 1}));
    }
  }
  const i64 own = differing_axis(value, k.plan);
  if (own >= 0 && count_of(k.plan.shape) > 0) value = by_owners(value, own, order);
}

}  // namespace tessera::dist
