// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes, ranks and places are signed here, indices of std::vector are not: the one cast between
// them. For what is known not to be negative.
//   counts[at(comm.rank())]

#include <cstddef>

#include "tessera/base/shape.hpp"

namespace tessera::dist {

constexpr std::size_t at(i64 i) { return static_cast<std::size_t>(i); }

}  // namespace tessera::dist
