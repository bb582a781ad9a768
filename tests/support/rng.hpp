// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whole numbers drawn for tests of random cases, the same on every machine.
//   Rng rng(5);   const i64 axis = below(rng, x.ndim());

#include <random>

#include "tessera/base/api.hpp"

namespace tessera {

using Rng = std::mt19937_64;

inline i64 below(Rng& rng, i64 n) {
  return static_cast<i64>(rng() % static_cast<std::uint64_t>(n));
}

}  // namespace tessera
