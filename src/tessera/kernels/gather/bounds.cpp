// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <limits>

#include "tessera/base/sign_bits.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/gather/key.hpp"
#include "tessera/kernels/gather/pick_loop.hpp"
#include "tessera/kernels/reduce/reduce.hpp"

namespace tessera {
namespace {

bool outside(i64 v, i64 size) { return v < -size || v >= size; }

JointLoop loop_of(const Array& a) {
  JointLoop loop;
  loop.shape = a.shape();
  loop.strides = {a.layout().strides};
  loop.simplify();
  return loop;
}

constexpr i64 largest = std::numeric_limits<i64>::max();

// v + size is in [0, 2 size), or it or what is left of that range is negative.
bool any_outside(const i64* line, i64 n, i64 size) {
  const auto above = static_cast<std::uint64_t>(size);
  return any_negative(n, [&](i64 i) {
    const std::uint64_t v = static_cast<std::uint64_t>(line[i]) + above;
    return v | (2 * above - 1 - v);
  });
}

bool any_outside(const JointLoop& loop, const i64* data, i64 size) {
  std::atomic<bool> found{false};
  const i64 stride = inner_stride(loop, 0);
  parallel_for(loop.count, 1 << 16, [&](i64 begin, i64 end) {
    joint_runs(loop, begin, end - begin, [&](const i64* at, i64 n) {
      const i64* const line = data + at[0];
      bool bad = false;
      if (stride == 1 && size <= largest / 2)
        bad = any_outside(line, n, size);
      else
        for (i64 i = 0; i < n; ++i) bad |= outside(line[i * stride], size);
      if (bad) found.store(true, std::memory_order_relaxed);
    });
  });
  return found;
}

void check_on_host(const Array& positions, i64 size, i64 axis) {
  const JointLoop loop = loop_of(positions);
  const i64* data = positions.host<i64>();
  if (!any_outside(loop, data, size)) return;
  const i64 stride = inner_stride(loop, 0);  // once more, for the first one: the error names it
  joint_runs(loop, 0, loop.count, [&](const i64* at, i64 n) {
    for (i64 i = 0; i < n; ++i)
      if (outside(data[at[0] + i * stride], size))
        throw_out_of_bounds(data[at[0] + i * stride], axis, size);
  });
}

}  // namespace

void check_bounds(std::span<const Array> positions, std::span<const i64> sizes,
                  std::span<const i64> axes) {
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const Array& p = positions[k];
    if (p.size() == 0) continue;
    if (on_host(p)) {
      check_on_host(p, sizes[k], axes[k]);
      continue;
    }
    const i64 least = reduce(ReduceOp::min, p).item().as<i64>(),
              most = reduce(ReduceOp::max, p).item().as<i64>();
    if (least < -sizes[k] || most >= sizes[k]) check_on_host(p.to(cpu), sizes[k], axes[k]);
  }
}

void check_indices(std::span<const Array> indices, const Array& source, i64 first_axis) {
  Shape sizes, axes;
  std::vector<Array> positions;
  for (const Array& a : indices) {
    axes.push_back(first_axis + axes.size());
    sizes.push_back(source.shape(axes.back()));
    positions.push_back(a.astype(DType::i64));
  }
  check_bounds(positions, sizes, axes);
}

}  // namespace tessera
