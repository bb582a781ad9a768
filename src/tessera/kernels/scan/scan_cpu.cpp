// SPDX-License-Identifier: Apache-2.0
// The cpu kernel. Lines along the axis are scanned block by block; where the axis is not the one
// that lies densely in memory, up to `lane_count` neighbouring lines are scanned side by side.
#include <algorithm>
#include <cstring>

#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/cast_rows.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/scan/scan.hpp"

namespace tessera {
namespace {

constexpr i64 block_size = 1024;
constexpr i64 lane_count = 128;

struct ScanFns {
  // p[i] becomes the op of carry and p[0..i]; carry the last of them.
  void (*row)(void* p, i64 n, void* carry) = nullptr;
  // carry[j] = carry[j] (op) p[j].
  void (*lanes)(void* carry, const void* p, i64 n) = nullptr;
};

template <class Op, class T>
struct ScanLoops {
  static void row(void* p, i64 n, void* carry) {
    auto* x = static_cast<Stored<T>*>(p);
    T s = *static_cast<T*>(carry);
    for (i64 i = 0; i < n; ++i) {
      s = Op{}(s, load_element<T>(x + i));
      x[i] = s;
    }
    *static_cast<T*>(carry) = s;
  }
  static void lanes(void* carry, const void* p, i64 n) {
    T* s = static_cast<T*>(carry);
    const auto* x = static_cast<const Stored<T>*>(p);
    for (i64 j = 0; j < n; ++j) s[j] = Op{}(s[j], load_element<T>(x + j));
  }
};

template <class Op, class T>
ScanFns fns_of() {
  using Loops = ScanLoops<Op, T>;
  return {&Loops::row, &Loops::lanes};
}

struct State {
  ScanFns fns;
  Loop lines;  // out, in over the other axes
  i64 length = 0, in_step = 0, out_step = 0, work_size = 0;
  bool by_lanes = false;
  CastRow load = nullptr, store = nullptr;
};

void scan_line(const State& s, const std::byte* in, std::byte* out) {
  alignas(64) std::byte buffer[block_size * 16], carry[16];
  for (i64 begin = 0; begin < s.length; begin += block_size) {
    const i64 n = std::min(block_size, s.length - begin);
    s.load(in + begin * s.in_step, s.in_step, buffer, s.work_size, n);
    const i64 first = begin == 0 ? 1 : 0;  // stays as it is: 1 * x is not x for complex infinities
    if (first > 0) std::memcpy(carry, buffer, static_cast<std::size_t>(s.work_size));
    s.fns.row(buffer + first * s.work_size, n - first, carry);
    s.store(buffer, s.work_size, out + begin * s.out_step, s.out_step, n);
  }
}

void scan_lanes(const State& s, const std::byte* in, std::byte* out, i64 lanes) {
  alignas(64) std::byte buffer[lane_count * 16], carry[lane_count * 16];
  for (i64 i = 0; i < s.length; ++i, in += s.in_step, out += s.out_step) {
    s.load(in, s.lines.inner_stride(1), i == 0 ? carry : buffer, s.work_size, lanes);
    if (i > 0) s.fns.lanes(carry, buffer, lanes);
    s.store(carry, s.work_size, out, s.lines.inner_stride(0), lanes);
  }
}

void run_scan(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const auto* in = static_cast<const std::byte*>(launch.operand[0]);
  auto* out = static_cast<std::byte*>(launch.operand[1]);
  const i64 grain = std::max<i64>(1, 16384 / std::max<i64>(1, s.length));
  parallel_for(s.lines.size(), grain, [&](i64 begin, i64 end) {
    for (Cursor c(s.lines, begin); c.position() < end;) {
      const i64 n = s.by_lanes ? std::min({c.run(), end - c.position(), lane_count}) : 1;
      if (s.by_lanes)
        scan_lanes(s, in + c.offset(1), out + c.offset(0), n);
      else
        scan_line(s, in + c.offset(1), out + c.offset(0));
      c.advance(n);
    }
  });
}

}  // namespace

Prepared prepare_scan_cpu(const ScanSpec& spec, Device) {
  auto state = std::make_shared<State>();
  State& s = *state;
  const DType t = spec.out.dtype, work = t == DType::f16 || t == DType::bf16 ? DType::f32 : t;
  dispatch<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
           std::uint32_t, std::uint64_t, float, double, c64, c128>(work, "scan", [&]<class T>() {
    s.fns = spec.op == ScanOp::sum ? fns_of<element::add, T>() : fns_of<element::multiply, T>();
  });
  s.length = spec.in.layout.shape[spec.axis];
  s.in_step = spec.in.layout.strides[spec.axis] * size_of(spec.in.dtype);
  s.out_step = spec.out.layout.strides[spec.axis] * size_of(t);
  s.work_size = size_of(work);
  s.load = cast_row(spec.in.dtype, work);
  s.store = cast_row(work, t);
  const Layout in = spec.in.layout.select(spec.axis, 0), out = spec.out.layout.select(spec.axis, 0);
  s.lines = Loop({&out, &in}, {size_of(t), size_of(spec.in.dtype)});
  s.by_lanes = s.lines.inner_size() >= 4 &&
               (std::abs(s.lines.inner_stride(1)) < std::abs(s.in_step) || s.length < 16);
  return {.task = {&run_scan, std::move(state)},
          .flops = static_cast<double>(spec.in.layout.size())};
}

}  // namespace tessera
