// SPDX-License-Identifier: Apache-2.0
#pragma once
// What often costs more than it has to, counted while somebody watches and only then (otherwise one
// relaxed load): elements looked at one by one, kernels over few elements, transfers of host memory
// that is not pinned. Counters that are always on are in base/trace.hpp.
//   const Watch watch;   ...   watched(Watched::elements)

#include <atomic>

#include "tessera/base/api.hpp"

namespace tessera {

enum class Watched : std::uint8_t {
  elements,         // read or written by themselves
  small_launches,   // kernels all of whose operands have few elements
  pageable_copies,  // to a device from host memory that is not pinned
  pageable_bytes,   // of those copies
  last_
};
inline constexpr int watched_count = static_cast<int>(Watched::last_);
inline constexpr i64 few_elements = 4096;  // a kernel over no more takes as long to start as to run

TESSERA_API extern std::atomic<int> watchers;

// While one of these lives, events are counted; several may live at a time.
class Watch {
 public:
  Watch() { watchers.fetch_add(1, std::memory_order_relaxed); }
  ~Watch() { watchers.fetch_sub(1, std::memory_order_relaxed); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};

inline bool watching() { return watchers.load(std::memory_order_relaxed) > 0; }
TESSERA_API void add_watched(Watched what, i64 n);
// Since the start of the process: differences mean something.
TESSERA_API i64 watched(Watched what);

inline void saw(Watched what, i64 n = 1) {
  if (watching()) add_watched(what, n);
}

}  // namespace tessera
