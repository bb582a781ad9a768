// SPDX-License-Identifier: Apache-2.0
// What a solve leaves beside its operator: a second one of the same problem records nothing and
// gives the same numbers; what was given and returned before stays as it was.
#include "tessera/solve/core/solve_memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
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

Prox halves() {
  return prox::function("halves", [](const Array& v, double) { return ops::multiply(v, 0.5); });
}

std::vector<Keeper> keepers() {
  return {
      {"cg", [](const auto& a, const auto& b, const auto& o) { return cg(a, b, o); }},
      {"minres", [](const auto& a, const auto& b, const auto& o) { return minres(a, b, o); }},
      {"lsqr", [](const auto& a, const auto& b, const auto& o) { return lsqr(a, b, o); }},
      {"lsmr", [](const auto& a, const auto& b, const auto& o) { return lsmr(a, b, o); }},
      {"gmres", [](const auto& a, const auto& b, const auto& o) { return gmres(a, b, o); }},
      {"gmres, restarted",
       [](const auto& a, const auto& b, const auto& o) { return gmres(a, b, o, {.restart = 4}); }},
      {"fista",
       [](const auto& a, const auto& b, const auto& o) { return fista(a, b, prox::l1(0.01), o); }},
      {"fista that searches",
       [](const auto& a, const auto& b, const auto& o) {
         return fista(a, b, prox::l1(0.01), o, {.step = 1, .search = true});
       }},
      {"fista, a function",
       [](const auto& a, const auto& b, const auto& o) { return fista(a, b, halves(), o); }},
      {"pdhg",
       [](const auto& a, const auto& b, const auto& o) {
         return pdhg(a, b, prox::l2_squared(1), prox::group(0.02, {0}), o);
       }},
      {"pdhg, functions",
       [](const auto& a, const auto& b, const auto& o) {
         return pdhg(a, b, halves(), halves(), o, {.tau = 0.01, .sigma = 0.01});
       }},
      {"admm",
       [](const auto& a, const auto& b, const auto& o) { return admm(a, b, prox::nonneg(), o); }},
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

// What they give, and not only whether: none of it may be memory of the next solve.
struct Decomposer {
  const char* name;
  std::function<std::vector<Array>(const NamedLinop&, std::uint64_t seed, Array x0)> solve;
};

std::vector<Array> arrays_of(const EigenResult& r) { return {r.eigenvalues, r.eigenvectors, r.x}; }
std::vector<Array> arrays_of(const SvdResult& r) { return {r.U, r.S, r.Vh}; }

std::vector<Decomposer> decomposers(const Space& space) {
  const auto of = [](const Array& x0) { return SolveOptions{.rtol = 1e-8, .x0 = x0}; };
  return {
      {"power_method",
       [=](const auto& a, auto seed, Array x0) {
         return arrays_of(power_method(a, space, {.seed = seed}, of(x0)));
       }},
      {"lanczos",
       [=](const auto& a, auto seed, Array x0) {
         return arrays_of(lanczos(a, space, {.k = 2, .ncv = 7, .seed = seed}, of(x0)));
       }},
      {"lanczos, the whole space",
       [=](const auto& a, auto seed, Array x0) {
         return arrays_of(lanczos(a, space, {.k = 2, .seed = seed}, of(x0)));
       }},
      {"eigs",
       [=](const auto& a, auto seed, Array x0) {
         return arrays_of(eigs(a, space, {.k = 2, .ncv = 9, .seed = seed}, of(x0)));
       }},
      {"eigs, two at once",
       [=](const auto& a, auto seed, Array x0) {
         return arrays_of(eigs(a, space, {.k = 2, .ncv = 9, .block = 2, .seed = seed}, of(x0)));
       }},
      {"svd",
       [=](const auto& a, auto seed, Array x0) {
         return arrays_of(svd(a, space, {.k = 2, .ncv = 8, .seed = seed}, of(x0)));
       }},
      {"randomized_svd",
       [=](const auto& a, auto seed, Array x0) {
         return arrays_of(randomized_svd(a, space, {.k = 3, .seed = seed}, of(x0)));
       }},
  };
}

void expect_same_arrays(const std::vector<Array>& a, const std::vector<Array>& b,
                        const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_numbers(a[i], b[i])) << what << i;
}

TEST(SolveMemory, ASecondDecompositionRecordsNothingAndGivesTheSame) {
  const Device device = test_device();
  const Space space{{20}, DType::f64, device};
  for (const Decomposer& k : decomposers(space)) {
    const NamedLinop A = positive(device);
    const Array guess = right_side(7, device);
    const std::vector<Array> first = k.solve(A, 1, {}), guessed = k.solve(A, 1, guess);
    std::vector<Array> copies, again, again_guessed;
    for (const Array& a : first) copies.push_back(a.copy());
    EXPECT_EQ(plans_of([&] { again_guessed = k.solve(A, 1, guess); }), 0) << k.name;
    EXPECT_EQ(plans_of([&] { again = k.solve(A, 1, {}); }), 0) << k.name;
    expect_same_arrays(first, copies, cat(k.name, ": written over: "));
    expect_same_arrays(again, copies, cat(k.name, ": the second: "));
    expect_same_arrays(again_guessed, guessed, cat(k.name, ": from x0: "));
    expect_same_arrays(k.solve(A, 5, {}), k.solve(A.copy(), 5, {}), cat(k.name, ": seed: "));
  }
}

// Plans have the map in them: only where its name says all of it may the next solve take them.
TEST(SolveMemory, ProximalMapsArePartOfTheProblem) {
  const NamedLinop A = positive(cpu);
  const Array b = right_side(2, cpu);
  const SolveOptions options{.rtol = 1e-9, .maxiter = 12};
  const auto solves = [&](const NamedLinop& a, const Prox& g) {
    return std::vector{fista(a, b, g, options, {.step = 0.01}), admm(a, b, g, options),
                       pdhg(a, b, prox::l2_squared(1), g, options),
                       pdhg(a, b, g, prox::l1(0.02), options, {.tau = 0.01, .sigma = 0.01})};
  };
  const auto own = [&](double factor) {
    return Prox{.name = "own",
                .record = [=](Recorder& r, const VectorSpace&, const vec::Vector& x, double,
                              const vec::Vector& y) {
                  record::scale(r, factor, r.constant(x.pieces[0]), r.constant(y.pieces[0]));
                }};
  };
  const Prox maps[] = {prox::none(),
                       prox::l1(0.1),
                       prox::l1(std::nextafter(0.1, 1)),
                       prox::l2(0.1),
                       prox::l2_squared(0.1),
                       prox::l2_squared(0.1, full({20}, Value(1.0), DType::f64)),
                       prox::l2_squared(0.1, full({20}, Value(2.0), DType::f64)),
                       prox::box(-1, 1),
                       own(0.5),
                       own(0.25),
                       halves()};
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < std::size(maps); ++i) {
      const std::vector<SolveResult> alone = solves(A.copy(), maps[i]), shared = solves(A, maps[i]);
      for (std::size_t k = 0; k < alone.size(); ++k) {
        EXPECT_EQ(distance(shared[k].x, alone[k].x), 0) << i << " " << maps[i].name << " " << k;
        EXPECT_EQ(shared[k].history, alone[k].history) << i << " " << maps[i].name << " " << k;
      }
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
  // A function sees the pieces of a vector put together.
  for (const Prox& g : {prox::l2(0.01), halves()}) {
    const SolveResult once = fista(A, b, g, options);
    EXPECT_EQ(plans_of([&] { again = fista(A, b, g, options); }), 0) << g.name;
    EXPECT_EQ(again.history, once.history) << g.name;
    EXPECT_TRUE(same_numbers(again.x, once.x)) << g.name;
  }
  std::vector<Array> pairs, same;
  for (const Decomposer& k : decomposers({{10}, DType::f64, cpu})) {
    const bool square = k.name[0] != 's' && k.name[0] != 'r';
    const NamedLinop op = square ? A.N() : A;
    pairs = k.solve(op, 1, {});
    EXPECT_EQ(plans_of([&] { same = k.solve(op, 1, {}); }), 0) << k.name;
    expect_same_arrays(same, pairs, k.name);
    expect_same_arrays(k.solve(op.copy(), 1, {}), pairs, cat(k.name, ": a copy: "));
  }
}

}  // namespace
}  // namespace tessera
