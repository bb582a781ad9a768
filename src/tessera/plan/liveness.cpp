// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/liveness.hpp"

#include <algorithm>

namespace tessera {
namespace {

Slot& at(std::vector<Slot>& slots, int i) { return slots[static_cast<std::size_t>(i)]; }
const Slot& at(const std::vector<Slot>& slots, int i) { return slots[static_cast<std::size_t>(i)]; }

void touch(Slot& slot, int step) {
  if (slot.first < 0) slot.first = step;
  slot.last = step;
}

i64 aligned(i64 bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

// The lowest offset at which `s` fits for its whole life beside the slots that were placed before.
i64 first_gap(const std::vector<Slot>& slots, const std::vector<int>& placed, const Slot& s) {
  std::vector<int> live;
  for (int j : placed) {
    const Slot& q = at(slots, j);
    if (q.device == s.device && q.pinned == s.pinned && s.first <= q.last && q.first <= s.last)
      live.push_back(j);
  }
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
  std::vector<int> placed;
  for (int i : order) {
    Slot& s = at(slots, i);
    s.offset = first_gap(slots, placed, s);
    placed.push_back(i);
    auto it = std::find_if(sizes.begin(), sizes.end(),
                           [&](const auto& p) { return p.first == arena_of(s); });
    if (it == sizes.end()) it = sizes.insert(sizes.end(), {arena_of(s), 0});
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
