// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/threads.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/gather/pick_loop.hpp"

namespace tessera {
namespace {

constexpr i64 grain = 16384;  // elements per chunk

struct Write {
  template <class T>
  void one(T& picked, const T& other) const {
    picked = other;
  }
  template <class T>
  void line(T* picked, i64 p, const T* other, i64 o, i64 n) const {
    if (p == 1 && o == 1) {
      std::memcpy(picked, other, static_cast<std::size_t>(n) * sizeof(T));
      return;
    }
    for (i64 i = 0; i < n; ++i) picked[i * p] = other[i * o];
  }
};

// Adds where the address lies in [low, high): how threads share scattered sums. Signed integers
// come here as unsigned ones of their size: the sums are the same bits, and wrap around as NumPy's
// do.
struct Add {
  const void *low, *high;
  template <class T>
  void one(T& picked, const T& other) const {
    if (&picked < low || &picked >= high) return;
    if constexpr (std::is_same_v<T, bool>)
      picked = picked || other;
    else
      picked = static_cast<T>(picked + other);
  }
  template <class T>
  void line(T* picked, i64 p, const T* other, i64 o, i64 n) const {
    for (i64 i = 0; i < n; ++i) one(picked[i * p], other[i * o]);
  }
};

// The same for writes.
struct WriteWithin {
  const void *low, *high;
  template <class T>
  void one(T& picked, const T& other) const {
    if (&picked >= low && &picked < high) picked = other;
  }
  template <class T>
  void line(T* picked, i64 p, const T* other, i64 o, i64 n) const {
    for (i64 i = 0; i < n; ++i) one(picked[i * p], other[i * o]);
  }
};

// One number at a list of positions: it stays in a register, and what is written soon is asked for
// ahead, as stores that wait for memory one after the other hold up those behind them.
template <class T>
bool write_one_number(const PickLoop& loop, const i64* positions, T* target, const T* value) {
  if (loop.sizes.size() != 1 || loop.rest.count != 1 || loop.lead.shape.size() != 1 ||
      inner_stride(loop.lead, 0) != 1 || inner_stride(loop.lead, 1) != 0)
    return false;
  constexpr i64 ahead = 32;
  const i64 size = loop.sizes[0], step = loop.steps[0], n = loop.lead.count;
  const T one = *value;
  const auto place = [=](i64 j) {
    const i64 v = positions[j];
    return target + (v + (v < 0 ? size : 0)) * step;
  };
  i64 j = 0;
  for (; j + ahead < n; ++j) {
    __builtin_prefetch(place(j + ahead), 1);
    *place(j) = one;
  }
  for (; j < n; ++j) *place(j) = one;
  return true;
}

// Note [one writer per element]
// Equal positions must be written in row-major order of the index arrays, so lead positions are
// never shared out among threads. Long rows are cut along the rest axes. Short rows are cut by
// address: every thread walks all positions and writes only the elements that lie in its own part
// of the target.
template <class T, class Bounded, class Whole>
void run_typed(const PickLoop& loop, const i64* const* indices, T* target, T* value,
               const Whole& whole) {
  const i64 lead = loop.lead.count, rest = loop.rest.count;
  if (lead * rest <= grain || num_threads() == 1) {
    if constexpr (std::is_same_v<Whole, Write>)
      if (write_one_number(loop, indices[0], target, value)) return;
    return pick_range(loop, indices, target, value, 0, lead, 0, rest, whole);
  }
  if (rest >= 256) {
    parallel_for(rest, std::max<i64>(128, grain / lead), [&](i64 begin, i64 end) {
      pick_range(loop, indices, target, value, 0, lead, begin, end - begin, whole);
    });
    return;
  }
  Layout all;
  all.shape = loop.sizes;
  all.strides = loop.steps;
  all.shape.append(loop.rest.shape);
  all.strides.append(loop.rest.strides[0]);
  const auto [low, high] = all.span();
  const i64 parts = std::min<i64>(num_threads(), 8), width = (high - low) / parts + 1, first = low;
  parallel_for(parts, 1, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      T* from = target + first + i * width;
      pick_range(loop, indices, target, value, 0, lead, 0, rest, Bounded{from, from + width});
    }
  });
}

DType unsigned_of(DType t) {
  switch (t) {
    case DType::i8: return DType::u8;
    case DType::i16: return DType::u16;
    case DType::i32: return DType::u32;
    case DType::i64: return DType::u64;
    default: return t;
  }
}

struct State {
  PickLoop loop;
  ScatterOp op = ScatterOp::assign;
  DType dtype = DType::f32;
};

void run(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const i64 k = s.loop.sizes.size();
  const i64* indices[max_operands];
  for (i64 a = 0; a < k; ++a)
    indices[a] = static_cast<const i64*>(launch.operand[static_cast<std::size_t>(a + 1)]);
  void *value = launch.operand[0], *target = launch.operand[static_cast<std::size_t>(k + 1)];
  if (s.loop.lead.count == 0 || s.loop.rest.count == 0) return;
  if (s.op == ScatterOp::assign) {
    with_size(size_of(s.dtype), [&]<class T>() {
      run_typed<T, WriteWithin>(s.loop, indices, static_cast<T*>(target), static_cast<T*>(value),
                                Write{});
    });
    return;
  }
  const Add all{nullptr, reinterpret_cast<const void*>(UINTPTR_MAX)};
  dispatch<bool, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, Half, BFloat16, float,
           double, c64, c128>(unsigned_of(s.dtype), "scatter", [&]<class T>() {
    run_typed<T, Add>(s.loop, indices, static_cast<T*>(target), static_cast<T*>(value), all);
  });
}

}  // namespace

Prepared prepare_scatter_cpu(const ScatterSpec& spec, Device) {
  require<DTypeError>(spec.value.dtype == spec.target.dtype, "scatter: from ",
                      name(spec.value.dtype), " into ", name(spec.target.dtype));
  auto state = std::make_shared<State>();
  state->loop = make_pick_loop(spec.target, spec.indices, spec.value);
  state->op = spec.op;
  state->dtype = spec.target.dtype;
  Prepared p;
  p.task = {run, std::move(state)};
  p.flops = spec.op == ScatterOp::add ? static_cast<double>(spec.value.layout.size()) : 0;
  return p;
}

}  // namespace tessera
