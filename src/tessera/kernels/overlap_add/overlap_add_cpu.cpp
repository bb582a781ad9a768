// SPDX-License-Identifier: Apache-2.0
// Note [tiles of the output]: the output is cut into tiles that fit the first cache. A thread
// clears a small dense tile, adds the parts of all blocks that touch it, rows of a block after each
// other as they lie in memory, and writes the tile out once, whatever the layout of the output is.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/cast.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/overlap_add/overlap_add.hpp"

namespace tessera {
namespace {

constexpr i64 tile_bytes = 32 << 10;
constexpr i64 tile_columns = 256;
constexpr i64 grain = 16384;  // elements of the output per chunk

// A row of places in a masked block that follow each other on both sides.
struct Run {
  i64 first = 0, count = 0, offset = 0;  // offset: elements from the block's first point
};

// rows x n elements of a block onto a tile; steps in elements.
struct Rows {
  i64 rows = 1, n = 0;
  i64 in_row = 0, in_step = 1, to_row = 0;
};
using AddRows = void (*)(const void* in, void* to, const Rows& r);

struct State {
  Shape grid, block, stride, counts, tile, tiles;
  Strides k_steps, j_steps, tile_steps, out_steps;  // in elements
  i64 point_step = 0;                               // masked: along the points
  Loop batch;                                       // out, in
  i64 tiles_in_all = 1, in_size = 0, work_size = 0, out_size = 0;
  std::vector<Run> runs;  // masked: of row r of a block, run_begin[r] ... run_begin[r + 1]
  std::vector<i64> run_begin;
  AddRows add = nullptr;
  CastRow store = nullptr;
  bool masked() const { return !run_begin.empty(); }
};

template <class T, int N>
void add_fixed(const T* __restrict in, T* __restrict to, const Rows& r, i64 unit) {
  for (i64 row = 0; row < r.rows; ++row, in += r.in_row * unit, to += r.to_row * unit)
    for (int i = 0; i < N; ++i) to[i] += in[i];
}

// Dense rows: complex numbers are pairs of real ones.
template <class T>
void add_dense(const T* in, T* to, const Rows& r, i64 unit) {
  const i64 n = r.n * unit;
  switch (n) {
    case 4: return add_fixed<T, 4>(in, to, r, unit);
    case 8: return add_fixed<T, 8>(in, to, r, unit);
    case 16: return add_fixed<T, 16>(in, to, r, unit);
    case 32: return add_fixed<T, 32>(in, to, r, unit);
    default: break;
  }
  for (i64 row = 0; row < r.rows; ++row, in += r.in_row * unit, to += r.to_row * unit) {
    const T* __restrict a = in;
    T* __restrict b = to;
    for (i64 i = 0; i < n; ++i) b[i] += a[i];
  }
}

template <class In, class Work>
void add_rows(const void* from, void* onto, const Rows& r) {
  const In* in = static_cast<const In*>(from);
  Work* to = static_cast<Work*>(onto);
  if constexpr (std::is_same_v<In, Work>) {
    if (r.in_step == 1) {
      if constexpr (is_complex_v<In>)
        return add_dense(&in->re, &to->re, r, 2);
      else
        return add_dense(in, to, r, 1);
    }
  }
  for (i64 row = 0; row < r.rows; ++row, in += r.in_row, to += r.to_row)
    for (i64 i = 0; i < r.n; ++i) to[i] += convert<Work>(in[i * r.in_step]);
}

// The part of the tile at `origin` that one block covers.
struct Box {
  Shape low, high;  // places in the block
  i64 in = 0, to = 0;
};

// f(box) for every block that touches the tile.
template <class F>
void for_each_block(const State& s, const Shape& origin, const Shape& extent, F&& f) {
  const i64 rank = s.block.size();
  Shape first(rank, 0), last(rank, 0), k;
  for (i64 a = 0; a < rank; ++a) {
    const i64 before = origin[a] - s.block[a];  // a block from here or before ends too early
    first[a] = before < 0 ? 0 : before / s.stride[a] + 1;
    last[a] = std::min(s.counts[a] - 1, (origin[a] + extent[a] - 1) / s.stride[a]);
    if (first[a] > last[a]) return;
  }
  k = first;
  Box box{Shape(rank, 0), Shape(rank, 0)};
  while (true) {
    box.in = box.to = 0;
    for (i64 a = 0; a < rank; ++a) {
      const i64 start = k[a] * s.stride[a] - origin[a];
      box.low[a] = std::max<i64>(0, -start);
      box.high[a] = std::min(s.block[a], extent[a] - start);
      box.in += k[a] * s.k_steps[a];
      box.to += (start + box.low[a]) * s.tile_steps[a];
    }
    f(box);
    i64 a = rank - 1;
    while (a >= 0 && ++k[a] > last[a]) k[a] = first[a], --a;
    if (a < 0) return;
  }
}

// f(row's position among the rows of a block, in offset, tile offset) over the axes before `axis`.
template <class F>
void for_each_row(const State& s, const Box& box, i64 axis, F&& f) {
  Shape j = box.low;
  i64 to = box.to;
  while (true) {
    i64 row = 0, in = box.in;
    for (i64 a = 0; a < axis; ++a) {
      row = row * s.block[a] + j[a];
      in += j[a] * s.j_steps[a];
    }
    f(row, in, to);
    i64 a = axis - 1;
    for (; a >= 0; --a) {
      to += s.tile_steps[a];
      if (++j[a] < box.high[a]) break;
      to -= (box.high[a] - box.low[a]) * s.tile_steps[a];
      j[a] = box.low[a];
    }
    if (a < 0) return;
  }
}

void add_block(const State& s, const Box& box, const std::byte* in, std::byte* tile) {
  const i64 inner = s.block.size() - 1, outer = std::max<i64>(0, inner - 1);
  Rows r;
  r.n = box.high[inner] - box.low[inner];
  r.in_step = s.j_steps[inner];
  i64 start = box.low[inner] * s.j_steps[inner];
  if (inner > 0) {
    r.rows = box.high[outer] - box.low[outer];
    r.in_row = s.j_steps[outer];
    r.to_row = s.tile_steps[outer];
    start += box.low[outer] * s.j_steps[outer];
  }
  for_each_row(s, box, outer, [&](i64, i64 from, i64 to) {
    s.add(in + (from + start) * s.in_size, tile + to * s.work_size, r);
  });
}

void add_masked_block(const State& s, const Box& box, const std::byte* in, std::byte* tile) {
  const i64 inner = s.block.size() - 1;
  Rows r;
  r.in_step = s.point_step;
  for_each_row(s, box, inner, [&](i64 row, i64, i64 to) {
    const auto at = static_cast<std::size_t>(row);
    for (i64 i = s.run_begin[at]; i < s.run_begin[at + 1]; ++i) {
      const Run& run = s.runs[static_cast<std::size_t>(i)];
      const i64 low = std::max(run.first, box.low[inner]),
                high = std::min(run.first + run.count, box.high[inner]);
      if (low >= high) continue;
      r.n = high - low;
      const i64 from = box.in + run.offset + (low - run.first) * s.point_step;
      s.add(in + from * s.in_size, tile + (to + low - box.low[inner]) * s.work_size, r);
    }
  });
}

void store_tile(const State& s, const Shape& origin, const Shape& extent, const std::byte* tile,
                std::byte* out) {
  const i64 inner = s.grid.size() - 1;
  Shape g(inner, 0);
  while (true) {
    i64 to = origin[inner] * s.out_steps[inner], from = 0;
    for (i64 a = 0; a < inner; ++a) {
      to += (origin[a] + g[a]) * s.out_steps[a];
      from += g[a] * s.tile_steps[a];
    }
    s.store(tile + from * s.work_size, s.work_size, out + to * s.out_size,
            s.out_steps[inner] * s.out_size, extent[inner]);
    i64 a = inner - 1;
    while (a >= 0 && ++g[a] == extent[a]) g[a] = 0, --a;
    if (a < 0) return;
  }
}

void run(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const auto* in = static_cast<const std::byte*>(launch.operand[0]);
  auto* out = static_cast<std::byte*>(launch.operand[1]);
  const i64 tile_size = count_of(s.tile), rank = s.grid.size();
  parallel_for(s.batch.size() * s.tiles_in_all, std::max<i64>(1, grain / tile_size),
               [&](i64 begin, i64 end) {
                 alignas(64) std::byte tile[tile_bytes];
                 Shape origin(rank, 0), extent(rank, 0);
                 for (i64 t = begin; t < end; ++t) {
                   const Cursor item(s.batch, t / s.tiles_in_all);
                   i64 rest = t % s.tiles_in_all;
                   for (i64 a = rank - 1; a >= 0; --a) {
                     origin[a] = rest % s.tiles[a] * s.tile[a];
                     extent[a] = std::min(s.tile[a], s.grid[a] - origin[a]);
                     rest /= s.tiles[a];
                   }
                   std::memset(tile, 0, static_cast<std::size_t>(tile_size * s.work_size));
                   for_each_block(s, origin, extent, [&](const Box& box) {
                     for (i64 a = 0; a < rank; ++a)
                       if (box.low[a] >= box.high[a]) return;  // the tile lies between blocks
                     s.masked() ? add_masked_block(s, box, in + item.offset(1), tile)
                                : add_block(s, box, in + item.offset(1), tile);
                   });
                   store_tile(s, origin, extent, tile, out + item.offset(0));
                 }
               });
}

// Columns first, then as many rows as fit, shared out evenly over the other axes in whole strides.
void choose_tile(State& s) {
  const i64 rank = s.grid.size();
  s.tile = s.grid;
  i64 left = tile_bytes / s.work_size;
  for (i64 a = rank - 1; a >= 0; --a) {
    i64 n = std::min<i64>(left, rank == 1 ? left : tile_columns);
    if (a < rank - 1) {
      const double even = std::pow(static_cast<double>(left), 1.0 / static_cast<double>(a + 1));
      n = std::clamp<i64>(static_cast<i64>(even), 1, left);
      if (n > s.stride[a])
        n -= n % s.stride[a];
      else if (s.stride[a] <= left)
        n = s.stride[a];
    }
    s.tile[a] = std::clamp<i64>(n, 1, std::max<i64>(1, s.grid[a]));
    left /= s.tile[a];
  }
  s.tile_steps = Layout::contiguous(s.tile).strides;
  for (i64 a = 0; a < rank; ++a) {
    s.tiles.push_back((s.grid[a] + s.tile[a] - 1) / s.tile[a]);
    s.tiles_in_all *= s.tiles[a];
  }
}

void find_runs(State& s, const std::vector<i64>& places) {
  const i64 inner = s.block.back();
  i64 rows = 1;
  for (i64 a = 0; a + 1 < s.block.size(); ++a) rows *= s.block[a];
  std::size_t p = 0;
  for (i64 row = 0; row < rows; ++row) {
    s.run_begin.push_back(static_cast<i64>(s.runs.size()));
    for (; p < places.size() && places[p] / inner == row; ++p) {
      const i64 j = places[p] % inner;
      const bool joins = static_cast<i64>(s.runs.size()) > s.run_begin.back() &&
                         s.runs.back().first + s.runs.back().count == j;
      if (joins)
        ++s.runs.back().count;
      else
        s.runs.push_back({j, 1, static_cast<i64>(p) * s.point_step});
    }
  }
  s.run_begin.push_back(static_cast<i64>(s.runs.size()));
}

}  // namespace

Prepared prepare_overlap_add_cpu(const OverlapAddSpec& spec, Device) {
  require<DTypeError>(spec.in.dtype == spec.out.dtype, "overlap_add: from ", name(spec.in.dtype),
                      " into ", name(spec.out.dtype));
  auto state = std::make_shared<State>();
  State& s = *state;
  const i64 rank = spec.block.size(), batch = spec.out.layout.ndim() - rank;
  s.block = spec.block;
  s.stride = spec.stride;
  const Layout &in = spec.in.layout, &out = spec.out.layout;
  const auto part = [](const auto& v, i64 from, i64 n) {
    return Shape(v.begin() + from, v.begin() + from + n);
  };
  s.grid = part(out.shape, batch, rank);
  s.counts = part(in.shape, batch, rank);
  s.out_steps = part(out.strides, batch, rank);
  s.k_steps = part(in.strides, batch, rank);
  if (spec.masked) {
    s.point_step = in.strides[batch + rank];
    s.j_steps = Strides(rank, 0);
    find_runs(s, spec.places);
  } else {
    s.j_steps = part(in.strides, batch + rank, rank);
  }
  dispatch<std::int32_t, std::int64_t, Half, BFloat16, float, double, c64, c128>(
      spec.in.dtype, "overlap_add", [&]<class T>() {
        using Work =
            std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
        s.add = &add_rows<T, Work>;
        s.work_size = sizeof(Work);
        s.store = cast_row(dtype_of<Work>, dtype_of<T>);
      });
  s.in_size = s.out_size = size_of(spec.in.dtype);
  const Layout out_batch{part(out.shape, 0, batch), part(out.strides, 0, batch)},
      in_batch{part(in.shape, 0, batch), part(in.strides, 0, batch)};
  s.batch = Loop({&out_batch, &in_batch}, {s.out_size, s.in_size});
  choose_tile(s);
  return {.task = {&run, std::move(state)}, .flops = static_cast<double>(in.size())};
}

}  // namespace tessera
