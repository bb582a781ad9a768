// SPDX-License-Identifier: Apache-2.0
// Conversion without an operation: straight from the input's dtype to the output's. What the
// element-wise kernel does for ElementOp::copy. Copies that exchange axes go by square tiles, so
// that every cache line that is fetched is used before it leaves. Short dense rows (blocks of an
// array) are copied a plane at a time, without a call for each.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/cast.hpp"
#include "tessera/kernels/elementwise/elementwise_cpu.hpp"

namespace tessera {
namespace {

constexpr i64 grain = 32768;    // elements
constexpr i64 tile_side = 32;   // rows and columns
constexpr i64 short_row = 512;  // bytes
constexpr i64 line_bytes = 64;  // of the cache

// Rows that follow each other in even steps, in bytes.
using CopyPlane = void (*)(const std::byte* from, i64 from_step, std::byte* to, i64 to_step,
                           i64 rows, i64 row_bytes);

// Rows of the output from columns of the input, in steps of bytes: element c of row r stands at
// `from + c * from_step`, r elements further.
using CopyTile = void (*)(const std::byte* from, i64 from_step, std::byte* to, i64 to_step,
                          i64 rows, i64 columns);

struct CopyState {
  CastRow row = nullptr;
  Loop loop;  // out, in
  bool immediate = false;
  Element value{};
  i64 across = -1;  // the axis that lies densely in the input when it is not the innermost one
  CopyTile tile = nullptr;  // where elements keep their dtype and lie densely across
  i64 strip = tile_side;    // positions along `across` that are copied together
  CopyPlane plane = nullptr;
  Loop rows;  // of the loop, for planes
};

struct Ends {
  const std::byte* from;
  std::byte* to;
};

Ends ends_of(const CopyState& s, const Launch& launch) {
  return {s.immediate ? s.value.bytes : static_cast<const std::byte*>(launch.operand[0]),
          static_cast<std::byte*>(launch.operand[s.immediate ? 0 : 1])};
}

void run_rows(const void* state, const Launch& launch) {
  const CopyState& s = *static_cast<const CopyState*>(state);
  const Ends ends = ends_of(s, launch);
  parallel_for(s.loop.size(), grain, [&](i64 begin, i64 end) {
    for (Cursor c(s.loop, begin); c.position() < end;) {
      const i64 n = std::min(c.run(), end - c.position());
      s.row(ends.from + c.offset(1), s.loop.inner_stride(1), ends.to + c.offset(0),
            s.loop.inner_stride(0), n);
      c.advance(n);
    }
  });
}

// A strip: up to `s.strip` positions along `across`, all of the innermost axis, one position of the
// other axes.
void copy_strip(const CopyState& s, Ends ends, i64 strip) {
  const Loop& l = s.loop;
  const i64 inner = l.axes() - 1, strips = (l.axis_size(s.across) - 1) / s.strip + 1;
  const i64 first = strip % strips * s.strip,
            rows = std::min(s.strip, l.axis_size(s.across) - first);
  i64 rest = strip / strips;
  i64 to = l.start(0) + first * l.stride(s.across, 0),
      from = l.start(1) + first * l.stride(s.across, 1);
  for (i64 a = inner - 1; a >= 0; --a) {
    if (a == s.across) continue;
    const i64 i = rest % l.axis_size(a);
    rest /= l.axis_size(a);
    to += i * l.stride(a, 0);
    from += i * l.stride(a, 1);
  }
  const i64 to_step = l.stride(inner, 0), from_step = l.stride(inner, 1);
  for (i64 column = 0; column < l.axis_size(inner); column += tile_side) {
    const i64 n = std::min(tile_side, l.axis_size(inner) - column);
    if (s.tile) {
      s.tile(ends.from + from + column * from_step, from_step, ends.to + to + column * to_step,
             l.stride(s.across, 0), rows, n);
      continue;
    }
    for (i64 r = 0; r < rows; ++r)
      s.row(ends.from + from + r * l.stride(s.across, 1) + column * from_step, from_step,
            ends.to + to + r * l.stride(s.across, 0) + column * to_step, to_step, n);
  }
}

void run_tiles(const void* state, const Launch& launch) {
  const CopyState& s = *static_cast<const CopyState*>(state);
  const Ends ends = ends_of(s, launch);
  const i64 inner = s.loop.inner_size(), across = s.loop.axis_size(s.across);
  const i64 strips = s.loop.size() / (inner * across) * ((across - 1) / s.strip + 1);
  parallel_for(strips, std::max<i64>(1, grain / (s.strip * inner)), [&](i64 begin, i64 end) {
    for (i64 k = begin; k < end; ++k) copy_strip(s, ends, k);
  });
}

// Eight columns at a time: eight streams are read along their memory, and each line of the output
// gets a whole line of the cache, which is fetched ahead: a processor foresees few streams at once.
template <class T>
void copy_tile(const std::byte* from, i64 from_step, std::byte* to, i64 to_step, i64 rows,
               i64 columns) {
  const auto at = [=](i64 r, i64 c) -> const T& {
    return reinterpret_cast<const T*>(from + c * from_step)[r];
  };
  i64 c = 0;
  for (; c + 8 <= columns; c += 8)
    for (i64 r = 0; r < rows; ++r) {
      T* line = reinterpret_cast<T*>(to + r * to_step) + c;
      __builtin_prefetch(reinterpret_cast<std::byte*>(line) + 2 * line_bytes, 1);
#pragma GCC unroll 8
      for (i64 k = 0; k < 8; ++k) line[k] = at(r, c + k);
    }
  for (i64 r = 0; r < rows; ++r)
    for (i64 k = c; k < columns; ++k) reinterpret_cast<T*>(to + r * to_step)[k] = at(r, k);
}
CopyTile tile_of(i64 element) {
  switch (element) {
    case 1: return &copy_tile<std::uint8_t>;
    case 2: return &copy_tile<std::uint16_t>;
    case 4: return &copy_tile<std::uint32_t>;
    case 8: return &copy_tile<std::uint64_t>;
    default: return &copy_tile<c128>;
  }
}

template <int Bytes>
void copy_plane(const std::byte* from, i64 from_step, std::byte* to, i64 to_step, i64 rows, i64) {
  for (i64 r = 0; r < rows; ++r, from += from_step, to += to_step) std::memcpy(to, from, Bytes);
}

void copy_any_plane(const std::byte* from, i64 from_step, std::byte* to, i64 to_step, i64 rows,
                    i64 row_bytes) {
  for (i64 r = 0; r < rows; ++r, from += from_step, to += to_step)
    std::memcpy(to, from, static_cast<std::size_t>(row_bytes));
}

CopyPlane plane_of(i64 row_bytes) {
  switch (row_bytes) {
    case 8: return &copy_plane<8>;
    case 16: return &copy_plane<16>;
    case 32: return &copy_plane<32>;
    case 64: return &copy_plane<64>;
    case 128: return &copy_plane<128>;
    default: return &copy_any_plane;
  }
}

// One element of the input for each row, `Times` or any number of times.
template <class T, int Times>
void spread_plane(const std::byte* from, i64 from_step, std::byte* to, i64 to_step, i64 rows,
                  i64 row_bytes) {
  const i64 times = Times > 0 ? Times : row_bytes / static_cast<i64>(sizeof(T));
  for (i64 r = 0; r < rows; ++r, from += from_step, to += to_step) {
    const T v = *reinterpret_cast<const T*>(from);
    for (i64 k = 0; k < times; ++k) reinterpret_cast<T*>(to)[k] = v;
  }
}
template <class T>
CopyPlane spread_of(i64 times) {
  switch (times) {
    case 2: return &spread_plane<T, 2>;
    case 3: return &spread_plane<T, 3>;
    case 4: return &spread_plane<T, 4>;
    default: return &spread_plane<T, 0>;
  }
}
CopyPlane spread_of(i64 element, i64 times) {
  switch (element) {
    case 1: return spread_of<std::uint8_t>(times);
    case 2: return spread_of<std::uint16_t>(times);
    case 4: return spread_of<std::uint32_t>(times);
    case 8: return spread_of<std::uint64_t>(times);
    default: return spread_of<c128>(times);
  }
}

void run_planes(const void* state, const Launch& launch) {
  const CopyState& s = *static_cast<const CopyState*>(state);
  const Ends ends = ends_of(s, launch);
  const i64 bytes = s.loop.inner_size() * s.loop.inner_stride(0);
  parallel_for(s.rows.size(), std::max<i64>(1, grain / s.loop.inner_size()),
               [&](i64 begin, i64 end) {
                 for (Cursor c(s.rows, begin); c.position() < end;) {
                   const i64 n = std::min(c.run(), end - c.position());
                   s.plane(ends.from + c.offset(1), s.rows.inner_stride(1), ends.to + c.offset(0),
                           s.rows.inner_stride(0), n, bytes);
                   c.advance(n);
                 }
               });
}

// Rows of the output that are dense, short, and many; those of the input step by so many bytes.
bool short_rows(const Loop& l, i64 element, i64 step) {
  return l.axes() > 1 && l.inner_stride(0) == element && l.inner_stride(1) == step &&
         l.inner_size() * element <= short_row && l.size() > 0;
}

// The axis to pair with the innermost one in tiles; -1 when rows are as good.
i64 axis_across(const Loop& l) {
  const i64 inner = l.axes() - 1;
  i64 best = inner;
  for (i64 a = 0; a < inner; ++a)
    if (l.stride(a, 1) != 0 && std::abs(l.stride(a, 1)) < std::abs(l.stride(best, 1))) best = a;
  return best == inner || l.axis_size(best) < 4 || l.axis_size(inner) < 4 ? -1 : best;
}

}  // namespace

Prepared prepare_copy_cpu(const ElementwiseSpec& spec) {
  auto state = std::make_shared<CopyState>();
  const ElementwiseSpec::Input& in = spec.inputs[0];
  state->immediate = in.immediate.has_value();
  Layout still;
  still.shape = spec.out.layout.shape;
  still.strides.resize(still.ndim(), 0);
  const DType from = state->immediate ? spec.out.dtype : in.operand.dtype;
  if (state->immediate) state->value = element_of(*in.immediate, spec.out.dtype);
  state->row = cast_row(from, spec.out.dtype);
  state->loop = Loop({&spec.out.layout, state->immediate ? &still : &in.operand.layout},
                     {size_of(spec.out.dtype), size_of(from)});
  state->across = axis_across(state->loop);
  const i64 element = size_of(from);
  if (state->across >= 0 && from == spec.out.dtype &&
      state->loop.stride(state->across, 1) == element && state->loop.inner_stride(0) == element) {
    state->tile = tile_of(element);
    state->strip = std::max<i64>(16, line_bytes / element);
  }
  if (state->across < 0 && from == spec.out.dtype && !state->immediate) {
    const i64 many = state->loop.inner_size();
    if (short_rows(state->loop, element, element)) state->plane = plane_of(many * element);
    if (short_rows(state->loop, element, 0)) state->plane = spread_of(element, many);
    if (state->plane) state->rows = state->loop.rows();
  }
  const RunFn run = state->plane ? &run_planes : state->across < 0 ? &run_rows : &run_tiles;
  return {.task = {run, std::move(state)}};
}

}  // namespace tessera
