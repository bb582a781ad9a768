// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of blocks so large that nobody will find them in the cache: whole lines are stored without
// being read before. x86-64 has to be told, others see it.
//   if (block.bytes() >= past_cache_bytes) copy_past_cache(to, from, bytes);

#include <cstddef>

#include "tessera/base/api.hpp"

namespace tessera::mpi {

inline constexpr i64 past_cache_bytes = 4 << 20;

void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace tessera::mpi
