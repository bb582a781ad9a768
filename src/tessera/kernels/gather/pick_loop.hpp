// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loop that gather and scatter share on the host: pairs of elements, one in the array that is
// indexed (the picked side), one in the array that is not (the other side). Lead positions j come
// from the index arrays, rest positions r are the same on both sides. For one picked element the
// pairs come in ascending j.
//   PickLoop loop = make_pick_loop(picked, indices, other);   pick_range<T>(loop, ..., begin, end,
//   op);

#include <cstring>
#include <vector>

#include "tessera/base/shape.hpp"
#include "tessera/kernels/kernel.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {

// A shape walked by several operands at once; axes of size 1 are gone, mergeable axes merged.
struct JointLoop {
  Shape shape;
  std::vector<Strides> strides;  // [operand][axis]
  i64 count = 1;

  void simplify();
};

struct PickLoop {
  JointLoop lead;           // operands: the k index arrays, then the other side
  JointLoop rest;           // operands: picked side, other side
  Shape sizes;              // of the k picked axes
  Strides steps;            // strides of the k picked axes
  bool lead_inner = false;  // the other side runs faster along lead than along rest
};

PickLoop make_pick_loop(const Operand& picked, const std::vector<Operand>& indices,
                        const Operand& other);

// Positions handled together: their offsets stay in the first cache.
inline constexpr i64 pick_block = 512;

// Offsets of lead positions first ... first + n - 1 on both sides; n <= pick_block.
void pick_offsets(const PickLoop& loop, const i64* const* indices, i64 first, i64 n, i64* picked,
                  i64* other);

// Calls run(offsets, n) for the pieces of [begin, begin + n) that lie on one inner line.
template <class Run>
void joint_runs(const JointLoop& loop, i64 begin, i64 n, Run&& run) {
  const i64 operands = static_cast<i64>(loop.strides.size()), axes = loop.shape.size();
  SmallVec<i64, 6> at(axes), offset(operands);
  i64 left = begin;
  for (i64 a = axes - 1; a >= 0; --a) {
    at[a] = left % loop.shape[a];
    left /= loop.shape[a];
    for (i64 k = 0; k < operands; ++k)
      offset[k] += at[a] * loop.strides[static_cast<std::size_t>(k)][a];
  }
  if (axes == 0) return run(offset.data(), n);
  while (n > 0) {
    const i64 length = std::min(n, loop.shape[axes - 1] - at[axes - 1]);
    run(offset.data(), length);
    n -= length;
    if (n == 0) return;
    i64 moved = length;  // positions that the axis at hand has advanced
    for (i64 a = axes - 1; a >= 0; --a) {
      const i64 next = at[a] + moved, wrap = next == loop.shape[a] ? loop.shape[a] : 0;
      for (i64 k = 0; k < operands; ++k)
        offset[k] += (moved - wrap) * loop.strides[static_cast<std::size_t>(k)][a];
      at[a] = next - wrap;
      if (wrap == 0) break;
      moved = 1;
    }
  }
}

inline i64 inner_stride(const JointLoop& loop, i64 operand) {
  return loop.shape.empty() ? 0 : loop.strides[static_cast<std::size_t>(operand)].back();
}

// One lead position after the other, rest [first, first + n) of each; op.line(picked, step, other,
// step, n).
template <class T, class Op>
void pick_rows(const PickLoop& loop, T* picked, T* other, const i64* p, const i64* o, i64 rows,
               i64 first, i64 n, const Op& op) {
  const i64 ps = inner_stride(loop.rest, 0), os = inner_stride(loop.rest, 1);
  if (loop.rest.shape.size() <= 1) {
    for (i64 j = 0; j < rows; ++j)
      op.line(picked + p[j] + first * ps, ps, other + o[j] + first * os, os, n);
    return;
  }
  for (i64 j = 0; j < rows; ++j)
    joint_runs(loop.rest, first, n, [&](const i64* at, i64 length) {
      op.line(picked + p[j] + at[0], ps, other + o[j] + at[1], os, length);
    });
}

// One rest position after the other in [first, first + n), all lead positions of each.
template <class T, class Op>
void pick_columns(const PickLoop& loop, T* picked, T* other, const i64* p, const i64* o, i64 rows,
                  i64 first, i64 n, const Op& op) {
  const i64 ps = inner_stride(loop.rest, 0), os = inner_stride(loop.rest, 1);
  joint_runs(loop.rest, first, n, [&](const i64* at, i64 length) {
    for (i64 r = 0; r < length; ++r) {
      T *a = picked + at[0] + r * ps, *b = other + at[1] + r * os;
      for (i64 j = 0; j < rows; ++j) op.one(a[p[j]], b[o[j]]);
    }
  });
}

// Single elements by one list of positions: no offsets are kept.
template <class T, class Op>
void pick_list(const PickLoop& loop, const i64* positions, T* picked, T* other, i64 begin, i64 end,
               const Op& op) {
  const i64 stride = inner_stride(loop.lead, 0), along = inner_stride(loop.lead, 1);
  const i64 size = loop.sizes[0], step = loop.steps[0];
  if (stride == 1 && along == 1 && step == 1) {
    wide([=] {
#pragma GCC unroll 4
      for (i64 j = begin; j < end; ++j) {
        const i64 v = positions[j];
        op.one(picked[v + (v < 0 ? size : 0)], other[j]);
      }
    });
    return;
  }
  for (i64 j = begin; j < end; ++j) {
    const i64 v = positions[j * stride];
    op.one(picked[(v < 0 ? v + size : v) * step], other[j * along]);
  }
}

// Lead positions [lead_begin, lead_end), rest positions [rest_begin, rest_begin + rest_count) of
// each.
template <class T, class Op>
void pick_range(const PickLoop& loop, const i64* const* indices, T* picked, T* other,
                i64 lead_begin, i64 lead_end, i64 rest_begin, i64 rest_count, const Op& op) {
  if (loop.sizes.size() == 1 && loop.rest.count == 1 && loop.lead.shape.size() == 1)
    return pick_list(loop, indices[0], picked, other, lead_begin, lead_end, op);
  i64 p[pick_block], o[pick_block];
  for (i64 j = lead_begin; j < lead_end; j += pick_block) {
    const i64 rows = std::min(pick_block, lead_end - j);
    pick_offsets(loop, indices, j, rows, p, o);
    if (loop.rest.count == 1) {
      for (i64 i = 0; i < rows; ++i) op.one(picked[p[i]], other[o[i]]);
    } else if (loop.lead_inner) {
      pick_columns(loop, picked, other, p, o, rows, rest_begin, rest_count, op);
    } else {
      pick_rows(loop, picked, other, p, o, rows, rest_begin, rest_count, op);
    }
  }
}

// The element types of copies: only the size matters.
struct alignas(8) Bytes16 {
  std::uint64_t half[2];
};
template <class F>
void with_size(i64 size, F&& f) {
  switch (size) {
    case 1: return f.template operator()<std::uint8_t>();
    case 2: return f.template operator()<std::uint16_t>();
    case 4: return f.template operator()<std::uint32_t>();
    case 8: return f.template operator()<std::uint64_t>();
    default: return f.template operator()<Bytes16>();
  }
}

}  // namespace tessera
