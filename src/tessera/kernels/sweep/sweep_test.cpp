// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/sweep/sweep.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "support/arrays.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

constexpr int shown_cell = 60;  // what the program after the pass writes

struct Case {
  SweepSpec spec;
  std::vector<std::vector<double>> vectors;
  std::vector<double> cells;
};

struct Outcome {
  std::vector<std::vector<double>> vectors;
  std::vector<double> cells;
  std::vector<float> mirror;
  std::uint32_t counter;
};

template <class T>
std::vector<double> as_doubles(const Array& there) {
  const Array a = there.to(cpu).contiguous();
  const T* p = a.host<T>();
  return std::vector<double>(p, p + a.size());
}

// On the test device, each vector `skipped` numbers inside of its memory.
template <class T>
Outcome run(const Case& c, i64 skipped) {
  const Device d = test_device();
  std::vector<Array> all, operands;
  for (const std::vector<double>& v : c.vectors) {
    const Array host = empty_dense({c.spec.count + skipped}, dtype_of<T>, cpu);
    for (i64 i = 0; i < c.spec.count; ++i)
      host.host<T>()[i + skipped] = static_cast<T>(v[static_cast<std::size_t>(i)]);
    const Array there = empty_dense(host.shape(), dtype_of<T>, d);
    there.copy_from(host.to(d));
    all.push_back(there);
    operands.push_back(there.slice(0, skipped, skipped + c.spec.count));
  }
  const Array memory = empty_dense({cell_memory_bytes / 8}, DType::f64, cpu);
  auto* cell = memory.host<double>();
  auto* mirror = reinterpret_cast<float*>(cell + max_cells);
  for (int i = 0; i < max_cells; ++i) {
    cell[i] = c.cells[static_cast<std::size_t>(i)];
    mirror[i] = static_cast<float>(cell[i]);
  }
  cell[counter_offset / 8] = 0;
  const Array cells = empty_dense(memory.shape(), DType::f64, d);
  cells.copy_from(memory.to(d));
  operands.push_back(cells);
  std::vector<const Array*> pointers;
  for (const Array& a : operands) pointers.push_back(&a);
  enqueue(kernels_of(d).sweep.prepare(c.spec, d), d, pointers);
  Outcome o;
  for (std::size_t v = 0; v + 1 < operands.size(); ++v)
    o.vectors.push_back(as_doubles<T>(operands[v]));
  const Array back = cells.to(cpu);
  o.cells.assign(back.host<double>(), back.host<double>() + max_cells);
  o.mirror.resize(max_cells);
  std::memcpy(o.mirror.data(), back.host<double>() + max_cells, sizeof(float) * max_cells);
  std::memcpy(&o.counter, back.host<double>() + counter_offset / 8, sizeof o.counter);
  return o;
}

template <class T>
double factor_of(const Case& c, const SweepStep& s) {
  return static_cast<double>(
      static_cast<T>(s.factor < 0 ? s.value : c.cells[static_cast<std::size_t>(s.factor)]));
}

// What it should be, number by number in float64 with T's rounding of what is stored.
template <class T>
void expect(Case c, const Outcome& found) {
  const double unit = sizeof(T) == 4 ? 1e-6 : 1e-14;
  for (const SweepStep& s : c.spec.steps) {
    const double f = factor_of<T>(c, s);
    long double sum = 0;
    double size = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(c.spec.count); ++i) {
      const double a = s.a < 0 ? 0 : c.vectors[static_cast<std::size_t>(s.a)][i];
      const double b = s.b < 0 ? 0 : c.vectors[static_cast<std::size_t>(s.b)][i];
      double y = 0;
      switch (s.kind) {
        case SweepKind::copy: y = a; break;
        case SweepKind::fill: y = f; break;
        case SweepKind::scale: y = f * a; break;
        case SweepKind::add: y = a + b; break;
        case SweepKind::subtract: y = a - b; break;
        case SweepKind::multiply_add: y = a * f + b; break;
        case SweepKind::select: y = f != 0 ? a : b; break;
        case SweepKind::dot: y = a * b; break;
        case SweepKind::norm2: y = a * a; break;
      }
      sum += y;
      size += std::abs(y);
      if (s.to >= 0)
        c.vectors[static_cast<std::size_t>(s.to)][i] = static_cast<double>(static_cast<T>(y));
    }
    if (!is_sum(s.kind)) continue;
    c.cells[static_cast<std::size_t>(s.sum)] = static_cast<double>(sum);
    EXPECT_NEAR(found.cells[static_cast<std::size_t>(s.sum)], static_cast<double>(sum),
                8 * unit * size);
  }
  for (std::size_t v = 0; v < c.vectors.size(); ++v)
    for (std::size_t i = 0; i < c.vectors[v].size(); ++i)
      ASSERT_NEAR(found.vectors[v][i], c.vectors[v][i], unit * (64 + 8 * std::abs(c.vectors[v][i])))
          << "vector " << v << ", number " << i;
  EXPECT_EQ(found.counter, 0u);
  if (c.spec.after.code.empty()) return;
  const ScalarStep& s = c.spec.after.code.back();
  EXPECT_EQ(found.cells[shown_cell], found.cells[s.a] + found.cells[s.b]);
  if (sizeof(T) == 4) {
    EXPECT_EQ(found.mirror[shown_cell], static_cast<float>(found.cells[shown_cell]));
  }
}

struct Draw {
  std::mt19937 random;
  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  double number() { return std::uniform_real_distribution<double>(-1, 1)(random); }

  SweepStep step(int vectors, int sum) {
    SweepStep s;
    s.kind = static_cast<SweepKind>(below(9));
    const bool two = s.kind == SweepKind::add || s.kind == SweepKind::subtract ||
                     s.kind == SweepKind::multiply_add || s.kind == SweepKind::select ||
                     s.kind == SweepKind::dot;
    if (s.kind != SweepKind::fill) s.a = below(vectors);
    if (two) s.b = below(vectors);
    if (is_sum(s.kind))
      s.sum = sum;
    else
      s.to = below(vectors);
    if (has_factor(s.kind)) {
      s.value = below(3) == 0 ? 0 : number();
      if (below(2) == 0) s.factor = 50 + below(3);
    }
    return s;
  }
  template <class T>
  Case draw(i64 count) {
    Case c;
    c.spec.dtype = dtype_of<T>;
    c.spec.count = count;
    c.spec.vectors = 1 + below(5);
    c.spec.cells = true;
    for (int k = 1 + below(max_sweep_steps), i = 0; i < k; ++i)
      c.spec.steps.push_back(step(c.spec.vectors, 40 + i));
    c.spec.after.mirror = dtype_of<T>;
    if (below(2) == 0)
      c.spec.after.code = {{ScalarOp::add, shown_cell, 40, static_cast<std::uint8_t>(41), 0}};
    for (int v = 0; v < c.spec.vectors; ++v) {
      c.vectors.emplace_back();
      for (i64 i = 0; i < count; ++i)
        c.vectors.back().push_back(static_cast<double>(static_cast<T>(number())));
    }
    for (int i = 0; i < max_cells; ++i) c.cells.push_back(i == 51 ? 0 : number());
    return c;
  }
};

template <class T>
void draw_cases(std::uint32_t seed) {
  Draw draw{std::mt19937(seed)};
  for (const i64 count : {0, 1, 2, 3, 7, 255, 256, 257, 1024, 1026, 5000, 20001, 131072})
    for (int k = 0; k < (count > 5000 ? 4 : 12); ++k) {
      const Case c = draw.draw<T>(count);
      const i64 skipped = draw.below(4);
      SCOPED_TRACE(cat(count, " numbers, case ", k, ", ", skipped, " skipped"));
      const Outcome o = run<T>(c, skipped);
      expect<T>(c, o);
      const Outcome again = run<T>(c, skipped);
      EXPECT_EQ(o.cells, again.cells);
      EXPECT_EQ(o.vectors, again.vectors);
    }
}

TEST(Sweep, DoesItsStepsInOrder) {
  draw_cases<float>(1);
  draw_cases<double>(2);
}

TEST(Sweep, RefusesWhatItCannotRun) {
  const auto of = [](SweepStep s) {
    return SweepSpec{.count = 4, .vectors = 2, .cells = true, .steps = {s}, .after = {}};
  };
  EXPECT_NO_THROW(check_sweep(of({.kind = SweepKind::copy, .a = 0, .to = 1})));
  EXPECT_THROW(check_sweep(of({.kind = SweepKind::copy, .a = 2, .to = 1})), ArgumentError);
  EXPECT_THROW(check_sweep(of({.kind = SweepKind::copy, .a = 0})), ArgumentError);
  EXPECT_THROW(check_sweep(of({.kind = SweepKind::add, .a = 0, .to = 1})), ArgumentError);
  EXPECT_THROW(check_sweep(of({.kind = SweepKind::dot, .a = 0, .b = 1, .sum = max_cells})),
               ArgumentError);
  EXPECT_THROW(check_sweep(of({.kind = SweepKind::copy, .a = 0, .to = 1, .factor = 3})),
               ArgumentError);
  SweepSpec waits = of({.kind = SweepKind::dot, .a = 0, .b = 1, .sum = 3});
  waits.steps.push_back({.kind = SweepKind::scale, .a = 0, .to = 1, .factor = 4});
  EXPECT_NO_THROW(check_sweep(waits));
  waits.steps.back().factor = 3;  // the sum of this very pass
  EXPECT_THROW(check_sweep(waits), ArgumentError);
  SweepSpec many = of({.kind = SweepKind::copy, .a = 0, .to = 1});
  many.steps.resize(max_sweep_steps + 1, many.steps.front());
  EXPECT_THROW(check_sweep(many), ArgumentError);
  SweepSpec half = of({.kind = SweepKind::copy, .a = 0, .to = 1});
  half.dtype = DType::f16;
  EXPECT_THROW(check_sweep(half), DTypeError);
}

}  // namespace
}  // namespace tessera
