// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every solver on one problem, for the tests of operators that were cut over devices: its answer,
// the bytes that travel in an iteration, and what holds however an operator was cut. Not part of
// the library.
//   for (const Named& n : solvers()) n.solve(problem(a, 4, t, cpu), {.maxiter = 9});

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/arrays.hpp"
#include "support/problems.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/solve/core/sharded_operator.hpp"

namespace tessera::problems {

// Batches T of matrices that act on N, X along for the ride: dims (T, N, X) -> (T, M, X).
inline constexpr i64 batches = 6, rows = 9, columns = 7;
inline NamedLinop matrices(DType t, Device base) {
  const Array w = Random(1).normal({batches, rows, columns}, t, base);
  return Dense(ops::multiply(w, Value(0.3)), dims("TMN"), dims("TNX"), dims("TMX"));
}
inline NamedLinop positive(const NamedLinop& a) {
  return a.N() + Value(0.5) * NamedLinop(Identity());
}

struct Problem {
  NamedLinop square, any;  // one positive definite, one with sides of different sizes
  Array b, c;              // of their outputs
};
inline Problem problem(const NamedLinop& a, i64 width, DType t, Device base) {
  return {positive(a), a, Random(2).normal({batches, columns, width}, t, base),
          Random(3).normal({batches, rows, width}, t, base)};
}

struct Named {
  const char* name;
  std::function<SolveResult(const Problem&, const SolveOptions&)> solve;
};
using O = const SolveOptions&;
using P = const Problem&;
inline Space space_of(P p) { return {p.b.shape(), p.b.dtype(), p.b.device()}; }

inline const std::vector<Named>& solvers() {
  static const std::vector<Named> all{
      {"cg", [](P p, O o) { return cg(p.square, p.b, o); }},
      {"cg with a preconditioner",
       [](P p, O o) {
         const NamedLinop M = polynomial_preconditioner(p.square, 1, PolynomialNorm::l_2, 0.4, 9);
         return cg(p.square, p.b, o, {.preconditioner = M});
       }},
      {"minres", [](P p, O o) { return minres(p.square, p.b, o, {.shift = 1}); }},
      {"minres with a preconditioner",
       [](P p, O o) {
         const Array w = Random(4).uniform({batches, 1, 1}, DType::f64, p.b.device(), 1, 2);
         return minres(
             p.square, p.b, o,
             {.preconditioner = Diagonal(w.astype(p.b.dtype()).broadcast_to({batches, columns, 1}),
                                         dims("TNX"), dims("X"))});
       }},
      {"gmres", [](P p, O o) { return gmres(p.square, p.b, o, {.restart = 5}); }},
      {"lsqr", [](P p, O o) { return lsqr(p.any, p.c, o); }},
      {"lsmr", [](P p, O o) { return lsmr(p.any, p.c, o); }},
      {"fista", [](P p, O o) { return fista(p.any, p.c, prox::l1(0.1), o, {.step = 0.1}); }},
      {"fista of groups",
       [](P p, O o) {
         return fista(p.any, p.c, prox::group(0.5, {0, 1}), o, {.step = 0.1});
       }},
      {"pdhg", [](P p, O o) { return pdhg(p.any, p.c, prox::l1(1), prox::l2(0.5), o); }},
      {"pdhg of three terms",
       [](P p, O o) {
         const NamedLinop D = FiniteDifference("N", dims("TNX"));
         return pdhg(p.any, p.c, prox::l2_squared(1), prox::l1(0.1), o,
                     {.more = {{D, prox::group(0.2, {1})}, {Identity(), prox::l2(0.1), p.b}}});
       }},
      {"admm", [](P p, O o) { return admm(p.any, p.c, prox::l1(0.2), o, {.inner = 3}); }},
      {"admm with G",
       [](P p, O o) {
         const NamedLinop G = FiniteDifference("N", dims("TNX"));
         return admm(p.any, p.c, prox::group(0.2, {1}), o, {.G = G, .inner = 3});
       }},
      {"power_method", [](P p, O o) { return power_method(p.square, space_of(p), {}, o); }},
      {"power_method of batches",
       [](P p, O o) { return power_method(p.square, space_of(p), {.axes = Axes{1}}, o); }},
      {"lanczos", [](P p, O o) { return lanczos(p.square, space_of(p), {.k = 2, .ncv = 7}, o); }},
      {"svd", [](P p, O o) { return svd(p.any, space_of(p), {.k = 2, .ncv = 7}, o); }},
      {"randomized_svd",
       [](P p, O o) { return randomized_svd(p.any, space_of(p), {.k = 2, .oversample = 3}, o); }},
  };
  return all;
}

inline i64 bytes_moved() {
  return counter(Counter::bytes_host_to_device) + counter(Counter::bytes_device_to_host) +
         counter(Counter::bytes_device_to_device);
}

// Bytes that travel in one iteration on vectors of (T, N, width).
inline i64 bytes_of_iteration(const Named& n, const NamedLinop& a, i64 width) {
  const Problem p = problem(a, width, DType::f64, cpu);
  auto bytes_of = [&](i64 iterations) {
    const i64 before = bytes_moved();
    const SolveResult r = n.solve(p, {.rtol = 0, .maxiter = iterations});
    EXPECT_EQ(r.iterations, iterations) << n.name << ": " << r.reason;
    return bytes_moved() - before;
  };
  return (bytes_of(11) - bytes_of(4)) / 7;
}

// The same iterations and nearly the same answer, on the base device; `cut` says how it was cut.
inline void expect_answers_of_the_whole(const Problem& whole, const Problem& distribution,
                                        std::string_view cut) {
  const DType t = whole.b.dtype();
  const Device base = whole.b.device();
  EXPECT_TRUE(
      ShardedOperator::square(distribution.square, distribution.b.shape(), base).distribution())
      << cut;
  for (const Named& n : solvers()) {
    const SolveOptions o{.rtol = 0, .maxiter = 9};
    const SolveResult expected = n.solve(whole, o), r = n.solve(distribution, o);
    EXPECT_EQ(r.iterations, expected.iterations) << n.name;
    EXPECT_EQ(r.history.size(), expected.history.size()) << n.name;
    EXPECT_TRUE(relative(r.x, expected.x) < (is_wide(t) ? 1e-9 : 2e-3))
        << cat(cut, ": ", n.name, " ", t, " on ", base, ": ", relative(r.x, expected.x));
    EXPECT_TRUE(r.x.device() == base) << n.name;
  }
}

// A solve that was interrupted goes on to the bits of the whole one; the file of a finished solve,
// under another tolerance, is a first guess.
inline void expect_resumed_as_uninterrupted(const Problem& p, const std::string& cut) {
  struct Interrupted {};
  for (const Named& n : solvers()) {
    const std::string path = cat(scratch_folder(), "/", cut, "_", n.name, ".npz");
    std::filesystem::remove(path);
    const SolveResult whole = n.solve(p, {.rtol = 0, .maxiter = 12});
    const SolveOptions killed{.rtol = 0,
                              .maxiter = 12,
                              .callback = [&](const Iteration& i) -> bool {
                                EXPECT_TRUE(!i.x || i.x.shape() == whole.x.shape()) << n.name;
                                if (i.number == 8) throw Interrupted();
                                return true;
                              },
                              .checkpoint = {.path = path, .every = 3}};
    EXPECT_THROW((void)n.solve(p, killed), Interrupted) << n.name;
    const SolveResult resumed =
        n.solve(p, {.rtol = 0, .maxiter = 12, .checkpoint = {.path = path}});
    EXPECT_EQ(resumed.history, whole.history) << n.name;
    EXPECT_TRUE(numbers_of(resumed.x) == numbers_of(whole.x)) << n.name;
    const SolveResult more =
        n.solve(p, {.rtol = 1e-30, .maxiter = 14, .checkpoint = {.path = path}});
    EXPECT_EQ(more.iterations, 14) << n.name << more.reason;
  }
}

inline void expect_iterations_allocate_nothing(const Problem& p) {
  for (const Named& n : solvers()) {
    i64 before = 0, after = 0;
    (void)n.solve(p, {.rtol = 0, .maxiter = 16, .callback = [&](const Iteration& i) -> bool {
                        const i64 now = counter(Counter::pool_requests) + counter(Counter::plans);
                        if (i.number == 8) before = now;
                        if (i.number == 15) after = now;
                        return true;
                      }});
    EXPECT_GT(after, 0) << n.name;
    EXPECT_EQ(after - before, 0) << n.name;
  }
}

}  // namespace tessera::problems
