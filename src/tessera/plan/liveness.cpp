// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/liveness.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace tessera {
namespace {

Slot& at(std::vector<Slot>& slots, int i) { return slots[static_cast<std::size_t>(i)]; }
const Slot& at(const std::vector<Slot>& slots, int i) { return slots[static_cast<std::size_t>(i)]; }

void touch(Slot& slot, int step) {
  if (slot.first < 0) slot.first = step;
  slot.last = step;
}

i64 aligned(i64 bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

// The placed slots of one arena, found by the time in which they live: those that are alive when
// another begins hang on the nodes of a tree over the steps, those that begin later are in order.
class Lives {
 public:
  explicit Lives(int steps)
      : leaves_(std::bit_ceil(static_cast<std::size_t>(steps))), alive_(2 * leaves_) {}

  void add(int slot, const Slot& s) {
    begins_.emplace(s.first, slot);
    std::size_t low = leaves_ + static_cast<std::size_t>(s.first),
                high = leaves_ + static_cast<std::size_t>(s.last) + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) alive_[low++].push_back(slot);
      if (high % 2 == 1) alive_[--high].push_back(slot);
    }
  }

  // Those that are alive at some step at which `s` is.
  std::vector<int> beside(const Slot& s) const {
    std::vector<int> found;
    for (std::size_t at = leaves_ + static_cast<std::size_t>(s.first); at > 0; at /= 2)
      found.insert(found.end(), alive_[at].begin(), alive_[at].end());
    for (auto it = begins_.upper_bound(s.first); it != begins_.end() && it->first <= s.last; ++it)
      found.push_back(it->second);
    return found;
  }

 private:
  std::size_t leaves_;
  std::vector<std::vector<int>> alive_;
  std::multimap<int, int> begins_;
};

// The lowest offset at which `s` fits for its whole life beside the slots that were placed before.
i64 first_gap(const std::vector<Slot>& slots, const Lives& placed, const Slot& s) {
  std::vector<int> live = placed.beside(s);
  std::sort(live.begin(), live.end(),
            [&](int a, int b) { return at(slots, a).offset < at(slots, b).offset; });
  i64 offset = 0;
  for (int j : live) {
    const Slot& q = at(slots, j);
    if (offset + s.bytes <= q.offset) break;
    offset = std::max(offset, aligned(q.offset + q.bytes));
  }
  return offset;
}

// The temporaries that need memory, largest first.
std::vector<int> by_size(const std::vector<Slot>& slots, bool pinned) {
  std::vector<int> order;
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i].kind == SlotKind::temporary && slots[i].first >= 0 && slots[i].shares < 0 &&
        slots[i].bytes > 0 && slots[i].pinned.has_value() == pinned)
      order.push_back(static_cast<int>(i));
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return at(slots, a).bytes > at(slots, b).bytes; });
  return order;
}

// Sets the offsets of `order`; `arena_of` names the arena of a slot in the sizes.
template <class Sizes, class ArenaOf>
Sizes placed_in(std::vector<Slot>& slots, const std::vector<int>& order, ArenaOf&& arena_of) {
  Sizes sizes;
  int steps = 0;
  for (int i : order) steps = std::max(steps, at(slots, i).last + 1);
  std::vector<Lives> placed;  // one per arena
  for (int i : order) {
    Slot& s = at(slots, i);
    auto it = std::find_if(sizes.begin(), sizes.end(),
                           [&](const auto& p) { return p.first == arena_of(s); });
    if (it == sizes.end()) {
      it = sizes.insert(sizes.end(), {arena_of(s), 0});
      placed.emplace_back(steps);
    }
    Lives& beside = placed[static_cast<std::size_t>(it - sizes.begin())];
    s.offset = first_gap(slots, beside, s);
    beside.add(i, s);
    it->second = std::max(it->second, s.offset + s.bytes);
  }
  return sizes;
}

}  // namespace

int root_of(const std::vector<Slot>& slots, int slot) {
  while (at(slots, slot).shares >= 0) slot = at(slots, slot).shares;
  return slot;
}

void find_lifetimes(std::vector<Slot>& slots, const std::vector<Step>& steps) {
  for (std::size_t t = 0; t < steps.size(); ++t) {
    for (const Access& a : steps[t].operands) touch(at(slots, a.slot), static_cast<int>(t));
    if (steps[t].workspace >= 0) touch(at(slots, steps[t].workspace), static_cast<int>(t));
  }
}

void share_in_place(std::vector<Slot>& slots, const std::vector<Step>& steps) {
  for (std::size_t t = 0; t < steps.size(); ++t) {
    const Step& step = steps[t];
    if (step.reuse < 0 || step.updates) continue;
    const Access from = step.operands[static_cast<std::size_t>(step.reuse)], to = step.write();
    const int source = root_of(slots, from.slot), target = to.slot;
    Slot &s = at(slots, source), &d = at(slots, target);
    const bool whole = from.byte_offset == 0 && to.byte_offset == 0 && s.bytes == d.bytes;
    const bool dies =
        s.last == static_cast<int>(t) && d.first == static_cast<int>(t) && d.shares < 0;
    // Another operand that is the same slot under another layout would be overwritten while it is
    // read.
    int uses = 0;
    for (const Access& a : step.operands) uses += root_of(slots, a.slot) == source;
    if (!whole || !dies || uses != 1 || s.device != d.device || source == target) continue;
    if (s.kind == SlotKind::temporary && d.kind == SlotKind::temporary) {
      d.shares = source;
      s.last = d.last;
    } else if (s.kind == SlotKind::temporary && d.kind == SlotKind::output && d.layout.dense()) {
      // The producer writes straight into the output.
      s.shares = target;
      d.first = s.first;
    }
  }
}

ArenaSizes place_in_arenas(std::vector<Slot>& slots) {
  return placed_in<ArenaSizes>(slots, by_size(slots, false),
                               [](const Slot& s) { return s.device; });
}

PinnedSizes place_in_pinned(std::vector<Slot>& slots) {
  return placed_in<PinnedSizes>(slots, by_size(slots, true),
                                [](const Slot& s) { return *s.pinned; });
}

}  // namespace tessera
