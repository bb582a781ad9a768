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

constexpr i64 batch = 64;  // counters taken through the rounds side by side

// philox() of `batch` positions from `first` on, written so that g++ vectorises over them.
struct Batch {
  std::uint32_t word[4][batch];

  Batch(std::uint64_t seed, std::uint64_t draw, std::uint64_t first) {
    for (i64 i = 0; i < batch; ++i) {
      const std::uint64_t p = first + static_cast<std::uint64_t>(i);
      word[0][i] = static_cast<std::uint32_t>(p);
      word[1][i] = static_cast<std::uint32_t>(p >> 32);
      word[2][i] = static_cast<std::uint32_t>(draw);
      word[3][i] = static_cast<std::uint32_t>(draw >> 32);
    }
    std::uint32_t k0 = static_cast<std::uint32_t>(seed),
                  k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
      for (i64 i = 0; i < batch; ++i) {
        const std::uint64_t a = std::uint64_t{0xD2511F53u} * word[0][i],
                            b = std::uint64_t{0xCD9E8D57u} * word[2][i];
        word[0][i] = static_cast<std::uint32_t>(b >> 32) ^ word[1][i] ^ k0;
        word[1][i] = static_cast<std::uint32_t>(b);
        word[2][i] = static_cast<std::uint32_t>(a >> 32) ^ word[3][i] ^ k1;
        word[3][i] = static_cast<std::uint32_t>(a);
      }
  }
  Philox operator[](i64 i) const { return {{word[0][i], word[1][i], word[2][i], word[3][i]}}; }
};

// f(p, counter, n) for the runs of the output whose counters follow one another, in parallel.
template <class F>
void for_each_run(const State& s, const Launch& launch, F&& f) {
  auto* out = static_cast<std::byte*>(launch.operand[0]);
  parallel_for(s.loop.size(), 2048, [&](i64 begin, i64 end) {
    for (Cursor c(s.loop, begin); c.position() < end;) {
      const i64 position = c.position(), row = s.spec.row;
      i64 n = std::min(c.run(), end - position);
      if (row > 0) n = std::min(n, row - position % row);
      f(out + c.offset(0), counter_at(position, s.spec.first, row, s.spec.pitch), n);
      c.advance(n);
    }
  });
}

template <class Draw>
void write_draws(const State& s, const Launch& launch, Draw&& draw) {
  using T = decltype(draw(Philox{}));
  const i64 step = s.loop.inner_stride(0);
  for_each_run(s, launch, [&](std::byte* p, std::uint64_t position, i64 n) {
    i64 i = 0;
    for (; i + batch <= n; i += batch) {
      const Batch words(s.spec.seed, s.spec.draw, position + static_cast<std::uint64_t>(i));
      for (i64 j = 0; j < batch; ++j, p += step) *reinterpret_cast<T*>(p) = draw(words[j]);
    }
    for (; i < n; ++i, p += step)
      *reinterpret_cast<T*>(p) =
          draw(philox(s.spec.seed, s.spec.draw, position + static_cast<std::uint64_t>(i)));
  });
}

template <class T>
void run_uniform(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  write_draws(s, launch,
              [&](const Philox& r) { return draw_between<T>(r, s.spec.low, s.spec.high); });
}

template <class T>
void run_normal(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  write_draws(s, launch,
              [&](const Philox& r) { return draw_normal<T>(r, s.spec.low, s.spec.high); });
}

template <class T>
void run_integers(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const i64 step = s.loop.inner_stride(0);
  for_each_run(s, launch, [&](std::byte* p, std::uint64_t position, i64 n) {
    for (i64 i = 0; i < n; ++i, p += step) {
      const std::uint64_t v = draw_below(
          s.spec.seed, s.spec.draw, position + static_cast<std::uint64_t>(i), s.spec.integer_range);
      *reinterpret_cast<T*>(p) = static_cast<T>(static_cast<std::uint64_t>(s.spec.integer_low) + v);
    }
  });
}

void run_bits(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  write_draws(s, launch, [](const Philox& r) { return join_words(r.word[0], r.word[1]); });
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
