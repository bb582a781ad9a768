// SPDX-License-Identifier: Apache-2.0
#pragma once
// The walk over an output that is drawn tile by tile. A whole tile is made wherever a run begins
// and ends, so the bits of an element are the same. Private to the cpu's kernel.
//   RunFn run = &run_draws<UniformDraw<float>>;   // calls fill_values(draw, blocks, position, out)

#include <algorithm>
#include <cstring>

#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/random/philox_tile.hpp"

namespace tessera {

template <class Draw>
struct DrawState {
  Draw draw;
  RandomSpec spec;
  Loop loop;
};

// The elements of one tile, of which the last that was asked for is kept: short runs often share
// it.
template <class Draw>
class DrawnTile {
 public:
  using T = typename Draw::Element;
  static constexpr i64 elements = tile_elements<Draw>;

  explicit DrawnTile(const DrawState<Draw>& state) : state_(state) {}
  const T* at(std::uint64_t tile) {
    if (!made_ || tile != tile_) {
      PhiloxTile blocks;
      fill_tile(blocks, state_.spec.seed, state_.spec.draw, tile * tile_blocks);
      fill_values(state_.draw, blocks, tile * elements, values_);
      tile_ = tile;
      made_ = true;
    }
    return values_;
  }

 private:
  const DrawState<Draw>& state_;
  std::uint64_t tile_ = 0;
  bool made_ = false;
  alignas(64) T values_[elements];
};

template <class Draw>
void run_draws(const void* state, const Launch& launch) {
  using T = typename Draw::Element;
  const auto& s = *static_cast<const DrawState<Draw>*>(state);
  const i64 step = s.loop.inner_stride(0), row = s.spec.row;
  parallel_for(s.loop.size(), 2048, [&](i64 begin, i64 end) {
    DrawnTile<Draw> tile(s);
    for (Cursor c(s.loop, begin); c.position() < end;) {
      const i64 p = c.position();
      const auto at = static_cast<std::uint64_t>(s.spec.first +
                                                 (row > 0 ? p / row * s.spec.pitch + p % row : p));
      const i64 skip = static_cast<i64>(at % tile.elements);
      i64 n = std::min({c.run(), end - p, tile.elements - skip});
      if (row > 0) n = std::min(n, row - p % row);
      const T* from = tile.at(at / tile.elements) + skip;
      std::byte* to = static_cast<std::byte*>(launch.operand[0]) + c.offset(0);
      if (step == sizeof(T))
        std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
      else
        for (i64 j = 0; j < n; ++j) *reinterpret_cast<T*>(to + j * step) = from[j];
      c.advance(n);
    }
  });
}

// random_normal_cpu.cpp: products and sums may be fused there, and here they may not.
template <class T>
RunFn run_of_normal();

}  // namespace tessera
