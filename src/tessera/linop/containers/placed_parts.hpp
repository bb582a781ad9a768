// SPDX-License-Identifier: Apache-2.0
#pragma once
// How containers record: their parts, each with the views that are its own, and those of containers
// inside them as if they stood in one list. So a tile writes straight into its place of the result,
// however deeply it is nested, and what several tiles of one device add to one place is summed
// there before it travels.
//   record_placed(r, concat.placed(x, y), r.device(y));

#include <vector>

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct PlacedPart {
  NamedLinop a;
  View in, out;
};

// Every part; what two of them write is the same view, or they write nothing in common. The first
// one of a place writes it, the others add to it; with `adds`, all of them do.
void record_placed(Recorder& r, const std::vector<PlacedPart>& parts, Device base,
                   bool adds = false);

}  // namespace tessera
