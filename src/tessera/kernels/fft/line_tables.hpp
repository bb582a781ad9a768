// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the passes over lines of one length read, and in which order. Private to the cpu's FFT.

#include <algorithm>
#include <vector>

#include "tessera/base/real_of.hpp"

namespace tessera {

inline constexpr int largest_factor = 61;  // beyond it a convolution is quicker (chirp_lines.hpp)
inline constexpr int longest_pass = 15;    // lines of up to so many points are one pass

template <class R>
struct LineTables {
  i64 points = 0;
  std::vector<int> radices;           // of the passes, in their order: 240 is 4 * 4 * 3 * 5
  std::vector<std::vector<R>> roots;  // for each pass, where it is one of a larger prime
  std::vector<R> line_turns;          // of the first pass over a dense line, blocked
  std::vector<std::vector<R>> turns;  // of every pass but the last, re and im
};

// Where a first pass over a dense line of radix * m points has the registers of its step b: the last
// one may begin before the one before it has ended, and writes the same once more.
inline i64 first_of_step(i64 b, i64 m, int lanes) { return std::min<i64>(b * lanes, m - lanes); }

// Note [order of lanes]: registers of 32 bytes are two halves of 16 for most of what moves numbers
// between lanes. So what is loaded from memory where parts alternate stays in its half, which puts
// neighbours in the order 0 1 4 5 2 3 6 7, and of doubles 0 2 1 3. Transforms of neighbours do not
// mind, and storing puts them back. What meets such registers one number a lane (a filter's weights,
// the turns of a dense line, lanes that become lines) follows that order.
template <class R, int bytes>
constexpr int neighbour_in_lane(int lane) {
  constexpr int floats[8] = {0, 1, 4, 5, 2, 3, 6, 7}, doubles[4] = {0, 2, 1, 3};
  return bytes == 16 ? lane : sizeof(R) == 4 ? floats[lane] : doubles[lane];
}

}  // namespace tessera
