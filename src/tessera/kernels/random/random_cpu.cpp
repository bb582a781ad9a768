// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tessera/array/loop.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/elementwise/quick_math.hpp"
#include "tessera/kernels/random/philox_batch.hpp"
#include "tessera/kernels/random/random_functors.hpp"

namespace tessera {
namespace {

struct State {
  RandomSpec spec;
  Loop loop;
};

constexpr i64 batch = 64;  // counters at a time

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

// Elements of a run, a batch at a time: make(words, position, count, values) writes those of all
// words that were made, which fill registers, and what is beyond the run is left. So the same loop
// makes an element wherever a run begins and ends, and its bits are the same.
template <int Words, class T, class Make>
void write_draws(const State& s, const Launch& launch, Make&& make) {
  const i64 step = s.loop.inner_stride(0);
  for_each_run(s, launch, [&](std::byte* p, std::uint64_t position, i64 n) {
    for (i64 i = 0; i < n; i += batch, p += batch * step) {
      const i64 count = std::min(batch, n - i);
      const PhiloxBatch<Words, batch> words(s.spec.seed, s.spec.draw,
                                            position + static_cast<std::uint64_t>(i), count);
      T values[batch];
      make(words, position + static_cast<std::uint64_t>(i), count, values);
      if (step == sizeof(T))
        std::memcpy(p, values, static_cast<std::size_t>(count) * sizeof(T));
      else
        for (i64 j = 0; j < count; ++j) *reinterpret_cast<T*>(p + j * step) = values[j];
    }
  });
}

template <class T>
void run_uniform(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  write_draws<2, T>(s, launch, [&](const auto& words, std::uint64_t, i64, T* values) {
    for (i64 j = 0; j < words.made; ++j)
      values[j] =
          draw_between<T>({{words.word[0][j], words.word[1][j], 0, 0}}, s.spec.low, s.spec.high);
  });
}

// Pairs of draw_normal_pair; the second of each where it is wanted.
template <class F, bool Both>
[[gnu::noinline]] void make_normals(const PhiloxBatch<4, batch>& words, F* first, F* second) {
  F u[batch], angle[batch];
  for (i64 j = 0; j < words.made; ++j) {
    const NormalWords<F> w(
        Philox{{words.word[0][j], words.word[1][j], words.word[2][j], words.word[3][j]}});
    u[j] = w.u;
    angle[j] = w.angle;
  }
  for (i64 j = 0; j < words.made; ++j) {
    const F radius = math::sqrt(F(-2) * quick::log_normal(u[j]));
    const quick::Circle<F> at = quick::circle(angle[j]);
    first[j] = radius * at.cos;
    if constexpr (Both) second[j] = radius * at.sin;
  }
}

template <class T>
void run_normal(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  using W = Work<T>;
  write_draws<4, T>(s, launch, [&](const auto& words, std::uint64_t, i64, T* values) {
    if constexpr (is_complex_v<T>) {
      using F = decltype(T::re);
      F re[batch], im[batch];
      make_normals<F, true>(words, re, im);
      const F mean = static_cast<F>(s.spec.low),
              deviation = static_cast<F>(s.spec.high * 0.70710678118654752440);
      for (i64 j = 0; j < words.made; ++j)
        values[j] = {mean + deviation * re[j], deviation * im[j]};
    } else {
      W z[batch];
      make_normals<W, false>(words, z, nullptr);
      const W mean = static_cast<W>(s.spec.low), deviation = static_cast<W>(s.spec.high);
      for (i64 j = 0; j < words.made; ++j) values[j] = convert<T>(mean + deviation * z[j]);
    }
  });
}

// draw_below() of a batch from its first words; false where one of them may have to be drawn again.
bool make_below(const PhiloxBatch<2, batch>& words, std::uint64_t range, std::uint64_t* below) {
  bool again = false;
  if (range != 0 && range >> 32 == 0) {
    // Products of halves, which vector registers have. What is drawn again has zeros here.
    const auto by = static_cast<std::uint32_t>(range);
    std::uint32_t zeros = 0;
    for (i64 j = 0; j < words.made; ++j) {
      const std::uint64_t high =
          std::uint64_t{words.word[1][j]} * by + (std::uint64_t{words.word[0][j]} * by >> 32);
      below[j] = high >> 32;
      zeros |= static_cast<std::uint32_t>(high) == 0;
    }
    return zeros == 0;
  }
  const std::uint64_t threshold = range == 0 ? 0 : (0 - range) % range;
  for (i64 j = 0; j < words.made; ++j) {
    const std::uint64_t x = join_words(words.word[0][j], words.word[1][j]);
    below[j] = range == 0 ? x : high_product(x, range);
    again |= x * range < threshold;
  }
  return !again;
}

template <class T>
void run_integers(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const auto low = static_cast<std::uint64_t>(s.spec.integer_low);
  const std::uint64_t range = s.spec.integer_range;
  write_draws<2, T>(s, launch,
                    [&](const auto& words, std::uint64_t position, i64 count, T* values) {
                      std::uint64_t below[batch];
                      if (!make_below(words, range, below))
                        for (i64 j = 0; j < count; ++j)
                          below[j] = draw_below(s.spec.seed, s.spec.draw,
                                                position + static_cast<std::uint64_t>(j), range);
                      for (i64 j = 0; j < words.made; ++j)
                        values[j] = static_cast<T>(low + below[j]);
                    });
}

void run_bits(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  write_draws<2, std::uint64_t>(s, launch,
                                [](const auto& words, std::uint64_t, i64, std::uint64_t* values) {
                                  for (i64 j = 0; j < words.made; ++j)
                                    values[j] = join_words(words.word[0][j], words.word[1][j]);
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
