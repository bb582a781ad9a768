// SPDX-License-Identifier: Apache-2.0
#pragma once
// From steps to addresses: when each temporary lives, which may take over the memory of one that
// dies, and where each lies in the one arena of its device. Pure functions over recorded data;
// exact: the arena is what a run allocates, and all that it allocates.
//   find_lifetimes(slots, steps);  share_in_place(slots, steps);  ArenaSizes s =
//   place_in_arenas(slots);

#include <utility>
#include <vector>

#include "tessera/plan/step.hpp"

namespace tessera {

inline constexpr i64 arena_alignment = 256;

using ArenaSizes = std::vector<std::pair<Device, i64>>;
using PinnedSizes = std::vector<std::pair<Kind, i64>>;  // host memory, page-locked for a kind

// Sets Slot::first and Slot::last.
TESSERA_API void find_lifetimes(std::vector<Slot>& slots, const std::vector<Step>& steps);
// Sets Slot::shares where a step with `reuse` is the last reader of a temporary and the first
// writer of its target; then merges the lifetimes. Operands of steps are left as they are: follow
// `shares`.
TESSERA_API void share_in_place(std::vector<Slot>& slots, const std::vector<Step>& steps);
// Sets Slot::offset of every temporary that is used, largest first into the first gap that is free
// for its whole life. Lifetimes are step positions; the schedule orders lanes that reuse the same
// bytes.
TESSERA_API ArenaSizes place_in_arenas(std::vector<Slot>& slots);
// The same for temporaries in pinned memory, which have arenas of their own.
TESSERA_API PinnedSizes place_in_pinned(std::vector<Slot>& slots);
// The slot that owns the memory.
TESSERA_API int root_of(const std::vector<Slot>& slots, int slot);

}  // namespace tessera
