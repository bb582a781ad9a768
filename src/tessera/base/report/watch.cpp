// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/report/watch.hpp"

#include <array>

namespace tessera {

std::atomic<int> watchers{0};

namespace {
std::array<std::atomic<i64>, watched_count> seen{};
}

void add_watched(Watched what, i64 n) {
  seen[static_cast<std::size_t>(what)].fetch_add(n, std::memory_order_relaxed);
}

i64 watched(Watched what) {
  return seen[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
}

}  // namespace tessera
