// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles that belong together, joined again when they are recorded: parts of a Concat or a Stack
// whose weights lie side by side in one storage are one operator, without a copy. A grid of tiles
// joins row by row. What remains apart is recorded part by part; config().rewrite_tiles turns it
// off.
//   if (const auto whole = joined(concat, x, y)) whole->record(r, x, y);

#include <optional>

#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/containers/stack.hpp"

namespace tessera {

// The same map with fewer parts, or as one operator, with a note that says what was joined; nullopt
// when there is nothing to join, or when it would take temporaries that the tiles do not take.
std::optional<NamedLinop> joined(const Concat& tiles, const View& x, const View& y);
// All tiles as one operator, whatever the input; nullopt when some remain apart.
std::optional<NamedLinop> joined(const Concat& tiles);
std::optional<NamedLinop> joined(const Stack& tiles, const View& x, const View& y);

}  // namespace tessera
