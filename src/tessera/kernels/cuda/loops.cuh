// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strided loops over up to four operands: the host merges and orders axes once (outputs innermost
// first), the device turns a linear position into one offset per operand. Positions are 64-bit;
// below 2^31 a multiplication replaces each division. More than eight axes are cut into slices by
// the host.
//   MergedLoops m = merge_loops(shape, strides, 4);   Loops l = device_loops(m, 8);

#include <array>
#include <span>
#include <vector>

#include "tessera/base/shape.hpp"

namespace tessera::cuda {

inline constexpr int loop_operands = 4, loop_axes = 8;

// Axes innermost first, as few as possible. Operand `leader` decides the order; -1 keeps it
// row-major.
struct MergedLoops {
  Shape size;
  std::array<Strides, loop_operands> stride;
  i64 count = 1;
};

inline MergedLoops merge_loops(const Shape& shape, std::span<const Strides> strides, int leader) {
  auto magnitude = [](i64 v) { return v < 0 ? -v : v; };
  MergedLoops m;
  SmallVec<i64, 6> order;
  for (i64 i = shape.size() - 1; i >= 0; --i) {
    m.count *= shape[i];
    if (shape[i] != 1) order.push_back(i);
  }
  // Small strides of the leader inside; broadcast axes (stride 0) of a leader would be written
  // twice, so they only occur for inputs and stay where they are: the sort is stable.
  if (leader >= 0) {
    const Strides& by = strides[static_cast<std::size_t>(leader)];
    std::stable_sort(order.begin(), order.end(),
                     [&](i64 a, i64 b) { return magnitude(by[a]) < magnitude(by[b]); });
  }
  for (i64 axis : order) {
    bool joins = !m.size.empty();
    for (std::size_t k = 0; joins && k < strides.size(); ++k)
      joins = strides[k][axis] == m.stride[k].back() * m.size.back();
    if (joins) {
      m.size.back() *= shape[axis];
      continue;
    }
    m.size.push_back(shape[axis]);
    for (std::size_t k = 0; k < loop_operands; ++k)
      m.stride[k].push_back(k < strides.size() ? strides[k][axis] : 0);
  }
  return m;
}

// Division by an invariant below 2^31: floor(n / d) = (mulhi(n, magic) + n) >> shift.
struct FastDivider {
  std::uint32_t divisor = 1, magic = 1, shift = 0;
  FastDivider() = default;
  explicit FastDivider(std::uint32_t d) : divisor(d) {
    while (shift < 32 && (1u << shift) < d) ++shift;
    const std::uint64_t one = 1;
    magic = static_cast<std::uint32_t>(((one << 32) * ((one << shift) - d)) / d + 1);
  }
#ifdef __CUDACC__
  __device__ std::uint32_t divide(std::uint32_t n) const {
    return (__umulhi(n, magic) + n) >> shift;
  }
#endif
};

struct Loops {
  i64 count = 0;
  int rank = 0;
  bool small = true;  // count < 2^31
  FastDivider divider[loop_axes];
  i64 size[loop_axes];
  i64 stride[loop_axes][loop_operands];

#ifdef __CUDACC__
  // N operands, in elements.
  template <int N>
  __device__ void offsets(i64 position, i64 (&at)[N]) const {
#pragma unroll
    for (int k = 0; k < N; ++k) at[k] = 0;
    if (rank <= 1) {
#pragma unroll
      for (int k = 0; k < N; ++k) at[k] = position * stride[0][k];
    } else if (small) {
      std::uint32_t rest = static_cast<std::uint32_t>(position);
#pragma unroll
      for (int axis = 0; axis < loop_axes; ++axis) {
        if (axis == rank) break;
        const std::uint32_t next = divider[axis].divide(rest),
                            here = rest - next * divider[axis].divisor;
        rest = next;
#pragma unroll
        for (int k = 0; k < N; ++k) at[k] += static_cast<i64>(here) * stride[axis][k];
      }
    } else {
      i64 rest = position;
#pragma unroll 1
      for (int axis = 0; axis < rank; ++axis) {
        const i64 next = rest / size[axis], here = rest - next * size[axis];
        rest = next;
#pragma unroll
        for (int k = 0; k < N; ++k) at[k] += here * stride[axis][k];
      }
    }
  }
#endif
};

// The innermost `axes` of the merged loops as the device wants them.
inline Loops device_loops(const MergedLoops& m, i64 axes) {
  Loops l;
  l.rank = static_cast<int>(std::min<i64>(axes, m.size.size()));
  l.count = 1;
  for (int i = 0; i < loop_axes; ++i) {
    const bool used = i < l.rank;
    l.size[i] = used ? m.size[i] : 1;
    l.count *= l.size[i];
    for (std::size_t k = 0; k < loop_operands; ++k) l.stride[i][k] = used ? m.stride[k][i] : 0;
  }
  if (m.count == 0) l.count = 0;
  l.small = l.count < (i64{1} << 31);
  if (l.small && l.count > 0)
    for (int i = 0; i < l.rank; ++i)
      l.divider[i] = FastDivider(static_cast<std::uint32_t>(l.size[i]));
  return l;
}

// Offsets of the slices that the axes beyond `axes` make; one slice of zeros when there are none.
inline std::vector<std::array<i64, loop_operands>> outer_slices(const MergedLoops& m, i64 axes) {
  std::vector<std::array<i64, loop_operands>> slices(1);
  slices[0].fill(0);
  for (i64 axis = axes; axis < m.size.size(); ++axis) {
    const std::size_t before = slices.size();
    for (i64 i = 1; i < m.size[axis]; ++i)
      for (std::size_t s = 0; s < before; ++s) {
        auto at = slices[s];
        for (std::size_t k = 0; k < loop_operands; ++k) at[k] += i * m.stride[k][axis];
        slices.push_back(at);
      }
  }
  return slices;
}

}  // namespace tessera::cuda
