// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/masks/mask_known.hpp"

#include <algorithm>

#include "tessera/distributed/indexing/masks/mask_bits.hpp"
#include "tessera/distributed/wire/to_index.hpp"

namespace tessera::dist {
namespace {

std::string name_of(const Distribution& to) {
  return to.split ? cat("mask, axis ", *to.split, " by ", join(to.part.starts())) : "mask, whole";
}

// The bytes of the rank with the most.
i64 bytes_of_bits(const DNDarray& mask, const Distribution& to) {
  if (!to.split) return mask.size();
  const std::vector<i64> counts = to.part.counts();
  return mask.size() / std::max<i64>(1, mask.shape(*to.split)) *
         *std::max_element(counts.begin(), counts.end());
}
i64 bytes_of_order(const MaskOrder& order) {
  return 8 * (order.rows + std::ssize(order.before) * (std::ssize(order.picked) + 1));
}

bool may_remember(const DNDarray& mask, const Distribution& to, const KnownMask& known) {
  return !mask.comm().alone() && bytes_of_bits(mask, to) <= most_remembered &&
         known.bytes <= most_remembered;
}
void remember_mask(const DNDarray& mask, const Distribution& to, const KnownMask& known) {
  mask.remember(name_of(to), std::make_shared<const KnownMask>(known));
}
KnownMask known_mask(const DNDarray& mask, const Distribution& to) {
  const auto known = std::static_pointer_cast<const KnownMask>(mask.recall(name_of(to)));
  return known ? *known : KnownMask{};
}

}  // namespace

Array known_bits(const DNDarray& mask, const Distribution& to) { return known_mask(mask, to).bits; }

Array distributed_bits(const DNDarray& mask, const Distribution& to) {
  const KnownMask known{BitRelayout(mask, to).run(), {}, nullptr};
  if (may_remember(mask, to, known)) remember_mask(mask, to, known);
  return known.bits;
}

MaskUse::MaskUse(const DNDarray& x, const SoleMask& mask)
    : x_(x),
      mask_(mask),
      as_{*x.split() - mask.first, x.part()},
      known_(known_mask(mask.mask, as_)) {}

std::shared_ptr<const MaskOrder> MaskUse::known_order(bool each) const {
  const auto found = std::find_if(
      known_.orders.begin(), known_.orders.end(),
      [g = RowCounts::of(x_, mask_, each).group](const auto& order) { return order->group == g; });
  return found == known_.orders.end() ? nullptr : *found;
}

std::shared_ptr<const MaskRows> MaskUse::known_rows(const std::shared_ptr<const MaskOrder>& order,
                                                    const Partition& to) const {
  if (order->group == 1) return std::make_shared<const MaskRows>(order, to, x_.comm());
  return known_.rows && known_.rows->order() == order && known_.rows->to() == to ? known_.rows
                                                                                 : nullptr;
}

void MaskUse::count_bits(Transfers& t) const {
  if (!bits_known()) BitRelayout(mask_.mask, as_).count(t);
}

void MaskUse::count_order(Transfers& t, bool each) const {
  if (!known_order(each)) RowCounts::of(x_, mask_, each).count(t);
}

void MaskUse::count_picked(Transfers& t) const { RowCounts::of(x_, mask_).count_single_rows(t); }

Array MaskUse::bits() {
  if (known_.bits) return known_.bits;
  if (lies_alike()) return mask_.mask.resident();  // kept when it is counted
  const Array bits = distributed_bits(mask_.mask, as_);
  known_.bits = bits;
  return bits;
}

std::shared_ptr<const MaskOrder> MaskUse::order(const std::function<std::vector<i64>()>& own,
                                                bool each) {
  if (auto known = known_order(each)) return known;
  auto order =
      std::make_shared<const MaskOrder>(RowCounts::of(x_, mask_, each).run(own(), x_.comm()));
  KnownMask more = known_;
  more.bytes += bytes_of_order(*order);
  more.orders.push_back(order);
  keep(std::move(more));
  return order;
}

std::shared_ptr<const MaskRows> MaskUse::rows(const std::shared_ptr<const MaskOrder>& order,
                                              const Partition& to) {
  if (auto known = known_rows(order, to)) return known;
  auto rows = std::make_shared<const MaskRows>(order, to, x_.comm());
  if (known_order(false) != order) return rows;  // was too much to remember
  KnownMask more = known_;
  more.bytes += rows->bytes() - (more.rows ? more.rows->bytes() : 0);
  more.rows = rows;
  keep(std::move(more));
  return rows;
}

void MaskUse::keep(KnownMask more) {
  if (!may_remember(mask_.mask, as_, more)) return;
  if (!more.bits) more.bits = mask_.mask.resident().copy();  // it lies alike
  known_ = std::move(more);
  remember_mask(mask_.mask, as_, known_);
}

}  // namespace tessera::dist
