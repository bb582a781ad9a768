// SPDX-License-Identifier: Apache-2.0
// Note [panels of bits]: for a panel of columns of the result and a range of k, the rows of b are
// packed four by four into a workspace that stays in the second cache; every strip of four rows of
// a is packed on the stack of its thread and meets all of them. A count is the same with its
// operands exchanged, so the longer side makes the strips.
#include <algorithm>
#include <cstring>

#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/bitmatmul/parts.hpp"
#include "tessera/kernels/bitmatmul/tile.hpp"

namespace tessera {
namespace {

using Word = std::uint64_t;
constexpr i64 panel_words = 128;          // of k: 1 kB of a row
constexpr i64 panel_columns = 512;        // 512 kB of packed b
constexpr i64 small_item = 8192;          // words of packed b that a thread's stack takes
constexpr i64 grain_bits = i64{1} << 24;  // pairs of bits that are worth another thread

struct State {
  const BitTile* tile = nullptr;
  i64 m = 0, n = 0, words = 0;  // words of k, in whole lanes
  i64 a_row = 0, b_row = 0, c_row = 0, c_column = 0;
  bool exchanged = false, upper = false, wide = false;
  i64 panel_n = 0, panel_k = 0;
  Loop batch;  // a, b, out
};

template <int Lane>
void pack_lanes(const Word* row, i64 steps, Word* to) {
  for (i64 s = 0; s < steps; ++s, row += Lane, to += tile_rows * Lane)
    std::memcpy(to, row, Lane * sizeof(Word));
}

// Rows [0, live) of `rows`, words [0, steps * lane), as a panel of four; rows beyond are zero.
void pack_panel(i64 lane, const Word* rows, i64 row_step, i64 live, i64 steps, Word* to) {
  for (i64 r = 0; r < tile_rows; ++r, to += lane) {
    if (r >= live) {
      for (i64 s = 0; s < steps; ++s)
        std::memset(to + s * tile_rows * lane, 0, static_cast<std::size_t>(lane) * sizeof(Word));
      continue;
    }
    const Word* row = rows + r * row_step;
    switch (lane) {
      case 1: pack_lanes<1>(row, steps, to); break;
      case 2: pack_lanes<2>(row, steps, to); break;
      case 4: pack_lanes<4>(row, steps, to); break;
      default: pack_lanes<8>(row, steps, to); break;
    }
  }
}

// The place of one panel: columns [n0, n1) of the result, words [w0, w1) of k.
struct Panel {
  i64 n0, n1, w0, w1;
};

template <class T>
void store(const std::uint32_t* sums, T* c, const State& s, i64 rows, i64 columns, bool first) {
  for (i64 i = 0; i < rows; ++i)
    for (i64 j = 0; j < columns; ++j) {
      T& to = c[i * s.c_row + j * s.c_column];
      to = (first ? T(0) : to) + static_cast<T>(sums[tile_rows * i + j]);
    }
}

// Strip i0 of four rows against all packed columns of the panel.
template <class T>
void strip(const State& s, const Panel& p, i64 i0, const Word* a, const Word* packed, T* c) {
  alignas(64) Word left[tile_rows * panel_words];
  const i64 lane = s.tile->lane, live = std::min(tile_rows, s.m - i0), steps = (p.w1 - p.w0) / lane;
  // A strictly upper row i has no bit up to i: the words before it are skipped, in whole steps.
  const i64 begin = s.upper ? std::clamp<i64>(((i0 + 1) / 64 - p.w0) / lane, 0, steps) : 0;
  if (begin < steps)
    pack_panel(lane, a + i0 * s.a_row + p.w0 + begin * lane, s.a_row, live, steps - begin,
               left + begin * lane * tile_rows);
  for (i64 j0 = p.n0; j0 < p.n1; j0 += tile_rows) {
    const i64 group = (j0 - p.n0) / tile_rows * steps * lane * tile_rows;
    // Column j has no bit from j on.
    const i64 end =
        s.upper ? std::clamp<i64>((((j0 + 3) / 64 + 1) - p.w0 + lane - 1) / lane, 0, steps) : steps;
    std::uint32_t sums[tile_rows * tile_rows] = {};
    if (begin < end)
      s.tile->count(end - begin, left + begin * lane * tile_rows,
                    packed + group + begin * lane * tile_rows, sums);
    else if (p.w0 > 0)
      continue;
    store(sums, c + i0 * s.c_row + j0 * s.c_column, s, live, std::min(tile_rows, p.n1 - j0),
          p.w0 == 0);
  }
}

template <class T>
void multiply(const State& s, const Word* a, const Word* b, T* c, Word* packed) {
  const i64 lane = s.tile->lane, strips = (s.m + tile_rows - 1) / tile_rows;
  for (i64 n0 = 0; n0 < s.n; n0 += s.panel_n)
    for (i64 w0 = 0; w0 == 0 || w0 < s.words; w0 += s.panel_k) {
      const Panel p{n0, std::min(s.n, n0 + s.panel_n), w0, std::min(s.words, w0 + s.panel_k)};
      if (s.upper && w0 > 0 && w0 * 64 >= p.n1) break;
      const i64 steps = (p.w1 - p.w0) / lane;
      parallel_for((p.n1 - n0 + tile_rows - 1) / tile_rows, 16, [&](i64 begin, i64 end) {
        for (i64 g = begin; g < end; ++g) {
          const i64 j0 = n0 + g * tile_rows;
          pack_panel(lane, b + j0 * s.b_row + w0, s.b_row, std::min(tile_rows, p.n1 - j0), steps,
                     packed + g * steps * lane * tile_rows);
        }
      });
      const i64 work = tile_rows * (p.n1 - n0) * (p.w1 - w0) * 64 + 1;
      parallel_for(strips, std::max<i64>(1, grain_bits / work), [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; ++i) strip(s, p, i * tile_rows, a, packed, c);
      });
    }
}

void run_item(const State& s, const Launch& launch, i64 item, Word* packed) {
  const Cursor at(s.batch, item);
  const auto operand = [&](int i) {
    return static_cast<std::byte*>(launch.operand[i]) + at.offset(i);
  };
  const auto *a = reinterpret_cast<const Word*>(operand(s.exchanged ? 1 : 0)),
             *b = reinterpret_cast<const Word*>(operand(s.exchanged ? 0 : 1));
  if (s.wide)
    multiply(s, a, b, reinterpret_cast<i64*>(operand(2)), packed);
  else
    multiply(s, a, b, reinterpret_cast<std::int32_t*>(operand(2)), packed);
}

void run_large(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  for (i64 item = 0; item < s.batch.size(); ++item)
    run_item(s, launch, item, static_cast<Word*>(launch.workspace));
}

void run_small(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const i64 work = s.m * s.n * s.words * 64 + 1;
  parallel_for(s.batch.size(), std::max<i64>(1, grain_bits / work), [&](i64 begin, i64 end) {
    alignas(64) Word packed[small_item];
    for (i64 item = begin; item < end; ++item) run_item(s, launch, item, packed);
  });
}

}  // namespace

Prepared prepare_counts_cpu(const BitMatmulSpec& spec) {
  auto state = std::make_shared<State>();
  State& s = *state;
  const Layout &a = spec.a.layout, &b = spec.b.layout, &c = spec.out.layout;
  const i64 last = c.ndim() - 1;
  s.tile = &bit_tile();
  s.m = c.shape[last - 1];
  s.n = c.shape[last];
  const i64 lane = s.tile->lane;
  s.words = ((spec.inner + 63) / 64 + lane - 1) / lane * lane;
  s.a_row = a.strides[last - 1];
  s.b_row = b.strides[last - 1];
  s.c_row = c.strides[last - 1];
  s.c_column = c.strides[last];
  s.upper = spec.upper;
  s.wide = spec.out.dtype == DType::i64;
  s.exchanged = s.n > s.m;  // never when upper: those are square
  if (s.exchanged) {
    std::swap(s.m, s.n);
    std::swap(s.a_row, s.b_row);
    std::swap(s.c_row, s.c_column);
  }
  const Layout ab = batch_layout(a), bb = batch_layout(b), cb = batch_layout(c);
  s.batch = Loop({&ab, &bb, &cb}, {8, 8, size_of(spec.out.dtype)});
  s.panel_k = std::min(panel_words, std::max<i64>(s.words, lane));
  s.panel_n = std::min(panel_columns, (s.n + tile_rows - 1) / tile_rows * tile_rows);
  const i64 packed = s.panel_n * s.panel_k;
  Prepared p;
  p.flops = 2.0 * static_cast<double>(c.size()) * static_cast<double>(spec.inner) *
            (spec.upper ? 1.0 / 6 : 1.0);
  const bool small = s.batch.size() > 1 && packed <= small_item && s.n <= s.panel_n;
  if (!small) p.workspace = packed * static_cast<i64>(sizeof(Word));
  p.task = {small ? &run_small : &run_large, std::move(state)};
  return p;
}

}  // namespace tessera
