// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes, ranks and places are signed here, indices of std::vector are not: the one cast between
// them, for what is known not to be negative; and bytes that may be none.
//   counts[to_index(comm.rank())]

#include <cstddef>
#include <cstring>

#include "tessera/base/shape.hpp"

namespace tessera::dist {

constexpr std::size_t to_index(i64 i) { return static_cast<std::size_t>(i); }

// memcpy of a number of bytes that may be none, of lists that then have no memory.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace tessera::dist
