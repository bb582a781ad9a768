// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/touch.hpp"

#include <algorithm>
#include <iterator>

#include "tessera/plan/liveness.hpp"

namespace tessera {

Touches touches(const std::vector<Slot>& slots, const Step& step) {
  Touches all;
  auto add = [&](int slot, i64 begin, i64 end, bool writes) {
    const int root = root_of(slots, slot);
    const Slot& s = slots[static_cast<std::size_t>(root)];
    const bool arena = s.kind == SlotKind::temporary && s.offset >= 0;
    const i64 base = arena ? s.offset : 0;
    all.push_back({root, arena, s.device, s.pinned, base + begin, base + end, writes});
  };
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const Access& a = step.operands[i];
    add(a.slot, a.begin, a.end, step.writes(i));
  }
  if (step.workspace >= 0)
    add(step.workspace, 0, slots[static_cast<std::size_t>(step.workspace)].bytes, true);
  return all;
}

Touched::Pieces::iterator Touched::cut(Pieces& pieces, i64 at) {
  const auto next = pieces.lower_bound(at);
  if (next != pieces.end() && next->first == at) return next;
  Piece same = next == pieces.begin() ? Piece{} : std::prev(next)->second;
  return pieces.emplace_hint(next, at, std::move(same));
}

void Touched::read(Piece& piece, int step, int lane) {
  if (lane >= 0)
    for (Reader& r : piece.readers)
      if (r.lane == lane) {
        r.step = step;
        return;
      }
  piece.readers.push_back({step, lane});
}

std::vector<int> Touched::before(int step, int lane, const Touches& touches) {
  std::vector<int> found;
  auto pieces_of = [this](const Touch& t) -> Pieces& {
    if (!t.arena) return places_[{t.root, Kind::cpu, 0, -1}];
    return places_[{-1, t.device.kind, t.device.index,
                    t.pinned ? static_cast<int>(*t.pinned) : -1}];
  };
  for (const Touch& t : touches) {
    if (t.begin >= t.end) continue;
    Pieces& pieces = pieces_of(t);
    auto it = pieces.upper_bound(t.begin);
    if (it != pieces.begin()) --it;
    for (; it != pieces.end() && it->first < t.end; ++it) {
      if (it->second.writer >= 0) found.push_back(it->second.writer);
      if (!t.writes) continue;
      for (const Reader& r : it->second.readers) found.push_back(r.step);
    }
  }
  for (const Touch& t : touches) {
    if (t.begin >= t.end) continue;
    Pieces& pieces = pieces_of(t);
    const auto first = cut(pieces, t.begin), end = cut(pieces, t.end);
    if (t.writes) {
      // All that touched these bytes comes before the writer: it stands for them.
      first->second = {step, {}};
      pieces.erase(std::next(first), end);
      continue;
    }
    for (auto it = first; it != end; ++it) read(it->second, step, lane);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace tessera
