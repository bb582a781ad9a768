// SPDX-License-Identifier: Apache-2.0
#pragma once
// How an operator was cut over devices, read off its containers, and its tiles without their
// transfers: what tells where vectors can stay. Knows no vectors.
//   if (const auto ways = ways_of(A)) …   const auto parts = bare(A.split(tile), cpu, {true,
//   true});

#include <optional>
#include <vector>

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct Concat;

// One direction of the grid of tiles: along a dim of the input, of the output, or of both.
struct Way {
  struct Range {
    i64 in_start, in_size, out_start, out_size;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::optional<NamedDimension> idim, odim;
  std::vector<Range> ranges;
};

// Of blocks in a row that leaves nothing out; nothing for any other arrangement.
std::optional<Way> way_of(const Concat& c);

// Outermost first; none for an operator that was not cut over devices. Nothing where its parts were
// cut in ways that do not fit together.
std::optional<std::vector<Way>> ways_of(const NamedLinop& a);

// A term of a tile, and where it takes its input and gives its output.
struct BarePart {
  NamedLinop op;
  Device in, out;
};
// Which ends of a tile are free of the base device: what it does there is done on its own device.
struct FreeEnds {
  bool in, out;
};
// The terms of a tile without the transfers between `base` and its device. Nothing where it goes to
// and fro.
std::optional<std::vector<BarePart>> bare(const NamedLinop& tile, Device base, FreeEnds free);

}  // namespace tessera
