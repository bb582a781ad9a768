// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which memory a step touches, and which steps before it it must come after: what orders steps when
// they are moved (pipeline.hpp) and when they run on different lanes (schedule.hpp).
//   Touched memory;   for (t : steps) memory.before(t, lane, touches(slots, steps[t]));

#include <map>
#include <tuple>
#include <vector>

#include "tessera/plan/step.hpp"

namespace tessera {

// A range of bytes: of the arena of a device once slots have their offsets, else of a slot.
struct Touch {
  int root;
  bool arena;
  Device device;
  std::optional<Kind> pinned;  // of an arena in pinned host memory
  i64 begin, end;
  bool writes;
};
using Touches = std::vector<Touch>;

TESSERA_API Touches touches(const std::vector<Slot>& slots, const Step& step);

// Who touched which bytes last. Steps come in their order; the cost of one grows with the ranges
// that it meets, not with the steps before it.
class TESSERA_API Touched {
 public:
  // The steps that `step` must come after, ascending: those that write what it touches, and those
  // that read what it writes. A step that all of these come after, directly or by way of others,
  // need not be among them; neither need any but the last reader of a lane. Without a lane
  // (negative) every reader counts. Ranges of strided views count with their gaps.
  std::vector<int> before(int step, int lane, const Touches& touches);

 private:
  struct Reader {
    int step, lane;
  };
  struct Piece {
    int writer = -1;
    std::vector<Reader> readers;  // since it was written
  };
  // From its begin to that of the next.
  using Pieces = std::map<i64, Piece>;
  // A slot, or an arena (-1): of a device, in pinned memory for a kind or (-1) not.
  using Place = std::tuple<int, Kind, int, int>;

  static void read(Piece& piece, int step, int lane);
  static Pieces::iterator cut(Pieces& pieces, i64 at);
  std::map<Place, Pieces> places_;
};

}  // namespace tessera
