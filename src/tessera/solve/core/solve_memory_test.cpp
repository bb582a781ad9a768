// SPDX-License-Identifier: Apache-2.0
// What a solve leaves beside its operator: a second one of the same problem records nothing and
// gives the same numbers; what was given and returned before stays as it was.
#include "tessera/solve/core/solve_memory.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "support/problems.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using namespace problems;

struct Keeper {
  const char* name;
  std::function<SolveResult(const NamedLinop&, const Array&, const SolveOptions&)> solve;
};

std::vector<Keeper> keepers() {
  return {
      {"cg", [](const auto& a, const auto& b, const auto& o) { return cg(a, b, o); }},
      {"minres", [](const auto& a, const auto& b, const auto& o) { return minres(a, b, o); }},
      {"lsqr", [](const auto& a, const auto& b, const auto& o) { return lsqr(a, b, o); }},
      {"lsmr", [](const auto& a, const auto& b, const auto& o) { return lsmr(a, b, o); }},
  };
}

NamedLinop positive(Device device) {
  const Array w = Random(1).normal({30, 20}, DType::f64).to(device);
  return NamedLinop(Dense(w, dims("MN"), dims("N"), dims("M"))).N();
}

Array right_side(std::uint64_t seed, Device device) {
  return Random(seed).normal({20}, DType::f64).to(device);
}

i64 plans_of(const std::function<void()>& f) {
  const i64 before = counter(Counter::plans);
  f();
  return counter(Counter::plans) - before;
}

bool same_numbers(const Array& a, const Array& b) { return relative(a.to(cpu), b.to(cpu)) == 0; }

TEST(SolveMemory, ASecondSolveRecordsNothingAndGivesTheSame) {
  const Device device = test_device();
  for (const Keeper& k : keepers()) {
    const NamedLinop A = positive(device);
    const Array b = right_side(2, device), c = right_side(3, device);
    const SolveOptions options{.rtol = 1e-9, .maxiter = 40};
    const SolveResult first = k.solve(A, b, options);
    const Array copy = first.x.copy();
    SolveResult other, again;
    EXPECT_EQ(plans_of([&] { other = k.solve(A, c, options); }), 0) << k.name;
    EXPECT_EQ(plans_of([&] { again = k.solve(A, b, options); }), 0) << k.name;
    EXPECT_TRUE(same_numbers(first.x, copy)) << k.name << ": a result was written over";
    EXPECT_TRUE(same_numbers(again.x, copy)) << k.name;
    EXPECT_EQ(again.history, first.history) << k.name;
    EXPECT_TRUE(same_numbers(other.x, k.solve(A.copy(), c, options).x)) << k.name;
  }
}

TEST(SolveMemory, AFirstGuessOfOneSolveIsNotThatOfTheNext) {
  for (const Keeper& k : keepers()) {
    const NamedLinop A = positive(cpu);
    const Array b = right_side(2, cpu), guess = right_side(5, cpu), kept = guess.copy();
    const SolveOptions plain{.rtol = 1e-9, .maxiter = 9};
    SolveOptions guessed = plain;
    guessed.x0 = guess;
    const SolveResult from_zero = k.solve(A, b, plain), from_guess = k.solve(A, b, guessed);
    EXPECT_NE(from_zero.history, from_guess.history) << k.name;
    SolveResult zero, guessed_again;
    EXPECT_EQ(plans_of([&] {
                zero = k.solve(A, b, plain);
                guessed_again = k.solve(A, b, guessed);
              }),
              0)
        << k.name;
    EXPECT_EQ(zero.history, from_zero.history) << k.name;
    EXPECT_EQ(guessed_again.history, from_guess.history) << k.name;
    EXPECT_TRUE(same_numbers(guess, kept)) << k.name;
    guessed.x0 = right_side(6, cpu);
    EXPECT_TRUE(same_numbers(k.solve(A, b, guessed).x, k.solve(A.copy(), b, guessed).x)) << k.name;
  }
}

TEST(SolveMemory, OtherProblemsHaveOtherPlans) {
  const NamedLinop A = positive(cpu);
  const Array b = right_side(2, cpu);
  (void)minres(A, b, {.maxiter = 3}, {.shift = 0});
  EXPECT_GT(plans_of([&] { (void)minres(A, b, {.maxiter = 3}, {.shift = 0.5}); }), 0);
  EXPECT_GT(plans_of([&] { (void)minres(A, ops::add(b, Value(c128(0, 1))), {.maxiter = 3}); }), 0);
  EXPECT_EQ(plans_of([&] { (void)minres(A, b, {.maxiter = 5}, {.shift = 0.5}); }), 0);
  const Using<bool> apart(config().reuse_in_place, false);
  EXPECT_GT(plans_of([&] { (void)minres(A, b, {.maxiter = 3}); }), 0);
}

TEST(SolveMemory, APreconditionerIsPartOfTheProblem) {
  const NamedLinop A = positive(cpu);
  const Array b = right_side(2, cpu);
  const NamedLinop M(Diagonal(full({20}, Value(2.0), DType::f64), dims("N")));
  const SolveResult with = cg(A, b, {.rtol = 1e-9, .maxiter = 40}, {M});
  EXPECT_GT(plans_of([&] { (void)cg(A, b); }), 0);
  SolveResult again;
  EXPECT_EQ(plans_of([&] { again = cg(A, b, {.rtol = 1e-9, .maxiter = 40}, {M}); }), 0);
  EXPECT_EQ(again.history, with.history);
  EXPECT_GT(plans_of([&] { (void)cg(A, b, {}, {M.deep_copy()}); }), 0);
}

TEST(SolveMemory, ASolveThatIsCutShortLeavesNothing) {
  const NamedLinop A = positive(cpu);
  const Array b = right_side(2, cpu);
  struct Stop {};
  EXPECT_THROW((void)cg(A, b, {.callback = [](const Iteration&) -> bool { throw Stop(); }}), Stop);
  EXPECT_GT(plans_of([&] { (void)cg(A, b); }), 0);
  EXPECT_EQ(plans_of([&] { (void)cg(A, b); }), 0);
}

TEST(SolveMemory, IsBoundedAndGoesWithTheOperator) {
  const Device device{Kind::sim, 2};
  const i64 before = memory_stats(device).in_use;
  {
    const NamedLinop A = positive(device);
    const Array b = right_side(2, device);
    {
      const Using<i64> none(config().kept_solver_bytes, 0);
      const i64 held = memory_stats(device).in_use;
      (void)cg(A, b);
      EXPECT_EQ(memory_stats(device).in_use, held);
      EXPECT_GT(plans_of([&] { (void)cg(A, b); }), 0);
    }
    i64 most = 0;
    for (double shift = 0; shift < 12; ++shift) {
      (void)minres(A, b, {.maxiter = 2}, {.shift = shift});
      if (shift == 5) most = memory_stats(device).in_use;
    }
    EXPECT_EQ(memory_stats(device).in_use, most);  // the oldest go
  }
  EXPECT_EQ(memory_stats(device).in_use, before);
}

TEST(SolveMemory, ThreadsHaveTheirOwn) {
  const NamedLinop A = positive(cpu);
  const Array b = right_side(2, cpu);
  const SolveOptions options{.rtol = 1e-9, .maxiter = 40};
  const SolveResult expected = cg(A, b, options);
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&] {
      for (int i = 0; i < 10; ++i) EXPECT_EQ(cg(A, b, options).history, expected.history);
    });
  for (std::thread& t : all) t.join();
}

TEST(SolveMemory, TilesOnSeveralDevicesToo) {
  const Array w = Random(1).normal({24, 10}, DType::f64);
  const NamedLinop A =
      create_batched_linop(NamedLinop(Dense(w, dims("MN"), dims("N"), dims("M"))),
                           {.batch_sizes = {{"N", 5}}, .device_matrix = {"sim:0", "sim:1"}});
  const Array b = Random(2).normal({24}, DType::f64), c = Random(3).normal({24}, DType::f64);
  const SolveOptions options{.rtol = 1e-9, .maxiter = 30};
  const SolveResult first = lsqr(A, b, options);
  SolveResult other, again;
  EXPECT_EQ(plans_of([&] { other = lsqr(A, c, options); }), 0);
  EXPECT_EQ(plans_of([&] { again = lsqr(A, b, options); }), 0);
  EXPECT_EQ(again.history, first.history);
  EXPECT_TRUE(same_numbers(again.x, first.x));
  EXPECT_EQ(lsqr(A.copy(), c, options).history, other.history);
}

}  // namespace
}  // namespace tessera
