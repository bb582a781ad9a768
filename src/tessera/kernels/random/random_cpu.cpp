// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/random/random_functors.hpp"

namespace tessera {
namespace {

struct State {
  RandomSpec spec;
  Loop loop;
};

template <class Draw>
void write_draws(const State& s, const Launch& launch, Draw&& draw) {
  using T = decltype(draw(std::uint64_t{0}));
  auto* out = static_cast<std::byte*>(launch.operand[0]);
  const i64 step = s.loop.inner_stride(0);
  parallel_for(s.loop.size(), 2048, [&](i64 begin, i64 end) {
    for (Cursor c(s.loop, begin); c.position() < end;) {
      const i64 n = std::min(c.run(), end - c.position());
      std::byte* p = out + c.offset(0);
      for (i64 i = 0; i < n; ++i, p += step)
        *reinterpret_cast<T*>(p) =
            draw(static_cast<std::uint64_t>(s.spec.first + c.position() + i));
      c.advance(n);
    }
  });
}

template <class T>
void run_uniform(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  write_draws(s, launch, [&](std::uint64_t p) {
    return draw_between<T>(philox(s.spec.seed, s.spec.draw, p), s.spec.low, s.spec.high);
  });
}

template <class T>
void run_normal(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  write_draws(s, launch, [&](std::uint64_t p) {
    return draw_normal<T>(philox(s.spec.seed, s.spec.draw, p), s.spec.low, s.spec.high);
  });
}

template <class T>
void run_integers(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  write_draws(s, launch, [&](std::uint64_t p) {
    const std::uint64_t v = draw_below(s.spec.seed, s.spec.draw, p, s.spec.integer_range);
    return static_cast<T>(static_cast<std::uint64_t>(s.spec.integer_low) + v);
  });
}

void run_bits(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  write_draws(s, launch, [&](std::uint64_t p) {
    const Philox r = philox(s.spec.seed, s.spec.draw, p);
    return join_words(r.word[0], r.word[1]);
  });
}

RunFn run_of(const RandomSpec& spec) {
  RunFn run = nullptr;
  const DType t = spec.out.dtype;
  switch (spec.distribution) {
    case Distribution::bits:
      dispatch<std::uint64_t>(t, "random bits", [&]<class T>() { run = &run_bits; });
      break;
    case Distribution::uniform:
      dispatch<Half, BFloat16, float, double>(t, "uniform",
                                              [&]<class T>() { run = &run_uniform<T>; });
      break;
    case Distribution::normal:
      dispatch<Half, BFloat16, float, double, c64, c128>(t, "normal",
                                                         [&]<class T>() { run = &run_normal<T>; });
      break;
    case Distribution::integers:
      dispatch<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
               std::uint16_t, std::uint32_t, std::uint64_t>(
          t, "integers", [&]<class T>() { run = &run_integers<T>; });
      break;
  }
  return run;
}

}  // namespace

Prepared prepare_random_cpu(const RandomSpec& spec, Device) {
  const RunFn run = run_of(spec);
  auto state = std::make_shared<State>();
  state->spec = spec;
  state->loop = Loop({&spec.out.layout}, {size_of(spec.out.dtype)}, Loop::Order::row_major);
  return {.task = {run, std::move(state)},
          .flops = 50.0 * static_cast<double>(spec.out.layout.size())};
}

}  // namespace tessera
