// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/mask_known.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/dist/at.hpp"

namespace tessera {
namespace {

std::string text_of(const Spread& spread) {
  return spread.split ? cat("axis ", *spread.split, " by ", join(spread.part.starts())) : "whole";
}

// The bytes of the rank with the most.
i64 bytes_of_bits(const DNDarray& mask, const Spread& to) {
  if (!to.split) return mask.size();
  const std::vector<i64> counts = to.part.counts();
  return mask.size() / std::max<i64>(1, mask.shape(*to.split)) *
         *std::max_element(counts.begin(), counts.end());
}
i64 bytes_of_order(const MaskOrder& order) {
  return 8 * (order.rows + std::ssize(order.before) * (std::ssize(order.picked) + 1));
}

// Writing through `local` is a rank's own affair: no other knows of it, and what all of them
// remember does not fit any more.
void require_unwritten(const std::vector<i64>& now, const std::vector<i64>& then, int rank) {
  const auto sum = [](const std::vector<i64>& v) {
    return std::accumulate(v.begin(), v.end(), i64{0});
  };
  require<ArgumentError>(now == then, "x[mask]: on rank ", rank, " the mask picks ", sum(now),
                         " elements, and ", sum(then), " in ", now.size(),
                         " rows as all ranks remember it: it was written to through `local`, after "
                         "which every rank has to call its touch()");
}

}  // namespace

Array known_bits(const DNDarray& mask, const Spread& to) {
  const auto known = std::static_pointer_cast<const Array>(mask.recall("bits, " + text_of(to)));
  return known ? *known : Array();
}

Array dealt_bits(const DNDarray& mask, const Spread& to) {
  const Array bits = relayout_bits(mask, to);
  if (!mask.comm().alone() && bytes_of_bits(mask, to) <= most_remembered)
    mask.remember("bits, " + text_of(to), std::make_shared<const Array>(bits));
  return bits;
}

MaskUse::MaskUse(const DNDarray& x, const LoneMask& mask)
    : x_(x), mask_(mask), as_{*x.split() - mask.first, x.part()} {
  if (!lies_alike()) known_bits_ = known_bits(mask.mask, as_);
  if (const auto known = mask.mask.recall(name()))
    known_ = *static_cast<const KnownOrders*>(known.get());
}

std::string MaskUse::name() const { return "picked, " + text_of(as_); }

i64 MaskUse::group(bool each) const { return group_of_rows(x_, mask_, each); }

std::shared_ptr<const MaskOrder> MaskUse::known_order(bool each) const {
  const auto found =
      std::find_if(known_.orders.begin(), known_.orders.end(),
                   [g = group(each)](const auto& order) { return order->group == g; });
  return found == known_.orders.end() ? nullptr : *found;
}

std::shared_ptr<const MaskRows> MaskUse::known_rows(const std::shared_ptr<const MaskOrder>& order,
                                                    const Partition& to) const {
  if (order->group == 1) return std::make_shared<const MaskRows>(order, to, x_.comm());
  return known_.rows && known_.rows->order() == order && known_.rows->to() == to ? known_.rows
                                                                                 : nullptr;
}

Array MaskUse::bits() const {
  if (lies_alike()) return mask_.mask.resident();
  return known_bits_ ? known_bits_ : dealt_bits(mask_.mask, as_);
}

std::shared_ptr<const MaskOrder> MaskUse::order(std::vector<i64> own, bool each) {
  if (auto known = known_order(each)) {
    require_unwritten(own, known->own, x_.comm().rank());
    return known;
  }
  auto order = std::make_shared<const MaskOrder>(
      order_of_rows(std::move(own), most_picked(x_, mask_), group(each), x_.comm()));
  KnownOrders more = known_;
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
  KnownOrders more = known_;
  more.bytes += rows->bytes() - (more.rows ? more.rows->bytes() : 0);
  more.rows = rows;
  keep(std::move(more));
  return rows;
}

void MaskUse::keep(KnownOrders more) {
  if (x_.comm().alone() || more.bytes > most_remembered) return;
  known_ = std::move(more);
  mask_.mask.remember(name(), std::make_shared<const KnownOrders>(known_));
}

}  // namespace tessera
