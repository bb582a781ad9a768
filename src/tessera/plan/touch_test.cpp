// SPDX-License-Identifier: Apache-2.0
// The order of steps from the memory that they touch, against all pairs of steps.
#include "tessera/plan/touch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera {
namespace {

bool conflict(const Touches& a, const Touches& b) {
  for (const Touch& s : a)
    for (const Touch& t : b) {
      const bool together =
          s.arena == t.arena &&
          (s.arena ? s.device == t.device && s.pinned == t.pinned : s.root == t.root);
      if (together && (s.writes || t.writes) && std::max(s.begin, t.begin) < std::min(s.end, t.end))
        return true;
    }
  return false;
}

struct Draw {
  std::mt19937 random;
  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  Touch touch(bool writes) {
    const i64 begin = below(20), end = begin + below(9);  // empty ones too
    const bool arena = below(2) == 1;
    std::optional<Kind> pinned;
    if (below(4) == 0) pinned = Kind::sim;
    return {below(3), arena, {Kind::sim, static_cast<std::int16_t>(below(2))}, pinned, begin,
            end,      writes};
  }
  Touches touches() {
    Touches all;
    for (int reads = below(3); reads > 0; --reads) all.push_back(touch(false));
    all.push_back(touch(true));
    if (below(4) == 0) all.push_back(touch(true));  // a work area
    return all;
  }
};

// Steps that conflict are in order, by way of what before() said and of their lanes; and it said
// nothing about steps that do not.
void check_order(std::uint32_t seed, int lanes) {
  Draw draw{std::mt19937(seed)};
  constexpr int steps = 40;
  Touched memory;
  std::vector<Touches> touched;
  std::vector<int> lane;
  std::vector<std::vector<bool>> after;  // after[t][u]: t comes after u
  for (int t = 0; t < steps; ++t) {
    touched.push_back(draw.touches());
    lane.push_back(lanes ? draw.below(lanes) : -1);
    after.emplace_back(static_cast<std::size_t>(t), false);
    auto follow = [&](int u) {
      const auto i = static_cast<std::size_t>(u);
      after.back()[i] = true;
      for (std::size_t v = 0; v < i; ++v) after.back()[v] = after.back()[v] || after[i][v];
    };
    const auto at = static_cast<std::size_t>(t);
    for (const int u : memory.before(t, lane[at], touched[at])) {
      ASSERT_LT(u, t);
      EXPECT_TRUE(conflict(touched[static_cast<std::size_t>(u)], touched[at])) << u << " " << t;
      follow(u);
    }
    for (int u = 0; u < t; ++u)
      if (lanes && lane[static_cast<std::size_t>(u)] == lane[at]) follow(u);
    for (std::size_t u = 0; u < at; ++u)
      EXPECT_TRUE(after[at][u] || !conflict(touched[u], touched[at]))
          << "seed " << seed << ": " << t << " after " << u;
  }
}

TEST(Touched, OrdersAllThatConflicts) {
  for (std::uint32_t seed = 0; seed < 60; ++seed)
    for (const int lanes : {0, 1, 3}) check_order(seed, lanes);
}

// Tiles that write their own bytes, and one that reads them all: what is said grows with the tiles.
TEST(Touched, TilesSayNothingOfEachOther) {
  Touched memory;
  constexpr int tiles = 1000;
  for (int k = 0; k < tiles; ++k) {
    const i64 begin = 8 * k;
    const Touch x{0, false, {}, {}, 0, 8 * tiles, false},
        y{1, false, {}, {}, begin, begin + 8, true};
    EXPECT_TRUE(memory.before(k, k % 3, {x, y}).empty()) << k;
  }
  const Touch all{1, false, {}, {}, 0, 8 * tiles, true};
  EXPECT_EQ(memory.before(tiles, 0, {all}).size(), static_cast<std::size_t>(tiles));
  EXPECT_EQ(memory.before(tiles + 1, 1, {all}), std::vector<int>{tiles});
}

}  // namespace
}  // namespace tessera
