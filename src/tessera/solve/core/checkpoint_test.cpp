// SPDX-License-Identifier: Apache-2.0
// What all solvers promise: a resumed solve is the uninterrupted one bit for bit, another problem
// is refused, and an iteration allocates nothing.
#include "tessera/solve/core/checkpoint.hpp"

#include <atomic>
#include <filesystem>
#include <thread>

#include "fuzz/checkpoints.hpp"
#include "support/arrays.hpp"
#include "support/problems.hpp"
#include "support/text.hpp"

namespace tessera {
namespace {

using namespace problems;

struct Resumable {
  const char* name;
  std::function<SolveResult(const SolveOptions&)> solve;
};

NamedLinop positive_matrix() {
  return NamedLinop(matrix(50, 40, DType::c128).N()) + NamedLinop(Scalar(0.01));
}
NamedLinop square() { return matrix(40, 40, DType::c128, 7); }
NamedLinop wide() { return matrix(30, 40, DType::f32, 8); }

std::vector<Resumable> resumable_solvers() {
  const Array b = vector(40, DType::c128), c = vector(30, DType::f32);
  const Space s{.shape = {40}, .dtype = DType::c128, .device = test_device()};
  return {
      {"cg", [=](const SolveOptions& o) { return cg(positive_matrix(), b, o); }},
      {"lsqr", [=](const SolveOptions& o) { return lsqr(wide(), c, o); }},
      {"lsmr", [=](const SolveOptions& o) { return lsmr(wide(), c, o); }},
      {"minres",
       [=](const SolveOptions& o) { return minres(positive_matrix(), b, o, {.shift = 1}); }},
      {"gmres", [=](const SolveOptions& o) { return gmres(square(), b, o, {.restart = 5}); }},
      {"fista", [=](const SolveOptions& o) { return fista(wide(), c, prox::l1(0.01), o); }},
      {"fista that searches",
       [=](const SolveOptions& o) {
         return fista(wide(), c, prox::l1(0.01), o, {.step = 1, .search = true});
       }},
      {"pdhg",
       [=](const SolveOptions& o) { return pdhg(wide(), c, prox::l1(1), prox::none(), o); }},
      {"admm", [=](const SolveOptions& o) { return admm(wide(), c, prox::l1(0.1), o); }},
      {"power_method",
       [=](const SolveOptions& o) { return power_method(positive_matrix(), s, {}, o); }},
      {"lanczos",
       [=](const SolveOptions& o) { return lanczos(positive_matrix(), s, {.k = 2, .ncv = 6}, o); }},
      {"eigs", [=](const SolveOptions& o) { return eigs(square(), s, {.k = 2, .ncv = 6}, o); }},
      {"eigs in blocks",
       [=](const SolveOptions& o) {
         return eigs(square(), s, {.k = 2, .ncv = 10, .block = 3}, o);
       }},
      {"svd", [=](const SolveOptions& o) { return svd(square(), s, {.k = 2, .ncv = 6}, o); }},
      {"randomized_svd",
       [=](const SolveOptions& o) {
         return randomized_svd(square(), s, {.k = 2, .oversample = 2}, o);
       }},
  };
}

std::string fresh_path(const std::string& name) {
  const std::string path = scratch_folder() + "/" + name + ".npz";
  std::filesystem::remove(path);
  return path;
}

struct Interrupted {};

TEST(Checkpoint, AResumedSolveIsTheUninterruptedOne) {
  for (const Resumable& n : resumable_solvers()) {
    const SolveResult whole = n.solve({.rtol = 1e-14, .maxiter = 17});
    const std::string path = fresh_path(std::string("resume_") + n.name);
    // Ends as a kill does: the exception leaves nothing but the file.
    const SolveOptions killed{.rtol = 1e-14,
                              .maxiter = 17,
                              .callback = [](const Iteration& i) -> bool {
                                if (i.number == 8) throw Interrupted();
                                return true;
                              },
                              .checkpoint = {.path = path, .every = 3}};
    EXPECT_THROW((void)n.solve(killed), Interrupted) << n.name;
    ASSERT_TRUE(std::filesystem::exists(path)) << n.name;
    i64 first = 0;
    const SolveOptions again{.rtol = 1e-14,
                             .maxiter = 17,
                             .callback = [&](const Iteration& i) -> bool {
                               if (first == 0) first = i.number;
                               return true;
                             },
                             .checkpoint = {.path = path}};
    const SolveResult resumed = n.solve(again);
    EXPECT_EQ(first, 7) << n.name;
    EXPECT_EQ(resumed.iterations, whole.iterations) << n.name;
    EXPECT_EQ(resumed.history, whole.history) << n.name;
    EXPECT_TRUE(same_bits(resumed.x, whole.x)) << n.name;
    // The finished solve is found and given back.
    const SolveResult found = n.solve({.rtol = 1e-14, .maxiter = 17, .checkpoint = {.path = path}});
    EXPECT_EQ(found.iterations, whole.iterations) << n.name;
    EXPECT_TRUE(same_bits(found.x, whole.x)) << n.name;
  }
}

TEST(Checkpoint, GoesOnUnderATighterTolerance) {
  const std::string path = fresh_path("tighter");
  const Array b = vector(40, DType::c128);
  const SolveResult loose = cg(positive_matrix(), b, {.rtol = 1e-2, .checkpoint = {.path = path}});
  const SolveResult tight =
      cg(positive_matrix(), b, {.rtol = 1e-8, .maxiter = 300, .checkpoint = {.path = path}});
  EXPECT_TRUE(loose.converged && tight.converged);
  EXPECT_GT(tight.iterations, loose.iterations);
  EXPECT_LT(relative(positive_matrix()(tight.x), b), 1e-7);
}

TEST(Checkpoint, RefusesAnotherProblem) {
  const std::string path = fresh_path("other");
  const Array b = vector(40, DType::c128);
  const SolveOptions o{.maxiter = 4, .checkpoint = {.path = path}};
  (void)cg(positive_matrix(), b, o);
  const auto refused = [&](auto&& f) { return thrown_text<ArgumentError>(f); };
  const std::string other_b =
      refused([&] { (void)cg(positive_matrix(), ops::multiply(b, Value(2.0)), o); });
  EXPECT_NE(other_b.find("belongs to another problem: b is not the same"), std::string::npos)
      << other_b;
  const NamedLinop other =
      NamedLinop(matrix(50, 40, DType::c128, 99).N()) + NamedLinop(Scalar(0.01));
  const std::string other_A = refused([&] { (void)cg(other, b, o); });
  EXPECT_NE(other_A.find("the operator is not the same"), std::string::npos) << other_A;
  const std::string solver = refused([&] { (void)minres(positive_matrix(), b, o); });
  EXPECT_NE(solver.find("the solver is not the same (cg there, minres here)"), std::string::npos)
      << solver;
  const std::string blocks = fresh_path("other_block");
  const Space s{.shape = {40}, .dtype = DType::c128, .device = test_device()};
  const auto with_block = [&](i64 block) {
    (void)eigs(square(), s, {.k = 2, .ncv = 10, .block = block},
               {.maxiter = 3, .checkpoint = {.path = blocks}});
  };
  with_block(3);
  const std::string other_block = refused([&] { with_block(2); });
  EXPECT_NE(other_block.find("k, which, ncv, block, seed is not the same (2 0 10 3 0 there, "
                             "2 0 10 2 0 here)"),
            std::string::npos)
      << other_block;
  const std::string path2 = fresh_path("no_checkpoint");
  save_npz(path2, {{"x", b}});
  EXPECT_NE(refused([&] {
              (void)cg(positive_matrix(), b, {.checkpoint = {.path = path2}});
            }).find("is not a checkpoint"),
            std::string::npos);
}

TEST(Checkpoint, HistoryGoesOnUnderATighterTolerance) {
  // On a device that reports several iterations at once the reports begin where the host reads.
  for (const Device d : {cpu, Device{Kind::sim, 0}}) {
    const std::string path = fresh_path("history");
    const NamedLinop a(Diagonal(linspace(1, 9, 40, DType::f64, d), dims("N")));
    const Array b = ones({40}, DType::f64, d);
    const SolveResult loose = cg(a, b, {.rtol = 1e-1, .checkpoint = {.path = path}});
    const SolveResult tight =
        cg(a, b, {.rtol = 1e-9, .maxiter = 300, .checkpoint = {.path = path}});
    ASSERT_TRUE(loose.converged && loose.iterations > 0 && tight.converged) << d.str();
    ASSERT_EQ(tight.history.size(), static_cast<std::size_t>(tight.iterations) + 1);
    for (std::size_t i = 0; i < tight.history.size(); ++i)
      EXPECT_GT(tight.history[i], i + 1 < tight.history.size() ? 1e-9 : 0)
          << d.str() << " at " << i;
    EXPECT_EQ(tight.history.back() <= 1e-9, true) << d.str();
  }
}

// Each a function of its number; fuzz_checkpoint goes through as many as there is time for.
TEST(Checkpoint, MutatedOnesAreRefusedOrGiveAResult) {
  const std::string folder = scratch_folder() + "/mutated";
  std::filesystem::create_directories(folder);
  const fuzz::Checkpoints all(folder, test_device());
  i64 accepted = 0, refused = 0;
  for (i64 solver = 0; solver < all.count(); ++solver)
    for (std::uint64_t number = 0; number < 25; ++number) try {
        all.run(solver, number) ? ++accepted : ++refused;
      } catch (const std::exception& e) {
        ADD_FAILURE() << all.name(solver) << ", case " << number << ": " << e.what();
      }
  EXPECT_GT(accepted, 20);
  EXPECT_GT(refused, 100);
}

TEST(Checkpoint, SaysWhatIsWrongInIt) {
  const Space s{.shape = {40}, .dtype = DType::c128, .device = test_device()};
  const std::string path = fresh_path("wrong");
  const SolveOptions o{.rtol = 1e-14, .maxiter = 4, .checkpoint = {.path = path}},
      more{.rtol = 1e-14, .maxiter = 9, .checkpoint = {.path = path}};
  const auto solve = [&](const SolveOptions& with) {
    return lanczos(positive_matrix(), s, {.k = 2, .ncv = 6}, with);
  };
  const auto refused = [&](const std::string& what, auto&& change) {
    std::filesystem::remove(path);
    (void)solve(o);
    NamedArrays file = load_npz(path);
    for (auto& [name, array] : file)
      if (name == what) array = change(array.copy());
    save_npz(path, file);
    return thrown_text<IoError>([&] { (void)solve(more); });
  };
  const auto first = [](double v) {
    return [v](const Array& a) {
      a.reshape({a.size()}).slice(0, 0, 1).fill(Value(v));
      return a;
    };
  };
  for (const double v : {-1.0, 6.0, 0.5, 1e300, std::nan("")}) {
    const std::string text = refused("state/numbers", first(v));
    EXPECT_TRUE(has(text, "lanczos: 'numbers' of the checkpoint")) << text;
  }
  EXPECT_TRUE(has(refused("state/T", first(std::nan(""))), "'T' of the checkpoint"));
  EXPECT_TRUE(has(refused("state/V", [](const Array& a) { return a.slice(0, 0, 2); }), "expected"));
  EXPECT_TRUE(
      has(refused("state/V", [](const Array& a) { return a.real().copy(); }), "complex128"));
  for (const double v : {-5.0, 2.0, 1e18, std::nan("")})
    EXPECT_TRUE(has(refused("numbers", first(v)), "is damaged"));
  EXPECT_TRUE(has(refused("cells", [](const Array& a) { return a.slice(0, 0, 3); }), "damaged"));
  EXPECT_TRUE(
      has(refused("cells", [](const Array& a) { return a.astype(DType::f32); }), "damaged"));
}

// Iterations after the first cycle of a method with restarts: no memory is asked for.
TEST(Engine, IterationsAllocateNothing) {
  for (const Resumable& n : resumable_solvers()) {
    i64 before = 0, after = 0;
    (void)n.solve({.rtol = 0, .maxiter = 30, .callback = [&](const Iteration& i) -> bool {
                     if (i.number == 12)
                       before = counter(Counter::pool_requests) + counter(Counter::plans);
                     if (i.number == 28)
                       after = counter(Counter::pool_requests) + counter(Counter::plans);
                     return true;
                   }});
    if (after == 0) continue;  // it had nothing left to do
    EXPECT_EQ(after - before, 0) << n.name;
  }
}

TEST(Engine, CallbackSeesTheIterate) {
  const Array b = vector(40, DType::c128);
  const NamedLinop A = positive_matrix();
  double worst = 0;
  (void)cg(A, b, {.rtol = 0, .maxiter = 6, .callback = [&](const Iteration& i) -> bool {
                    worst = std::max(worst, std::abs(relative(A(i.x), b) - i.residual));
                    return true;
                  }});
  EXPECT_LT(worst, 1e-10);
}

// Threads share the home stream of a device; the graphs that one makes are none of the others'.
TEST(Engine, ThreadsSolveOnOneDevice) {
  const Device device{Kind::sim, 0};
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      const Array d = Random(k).uniform({50}, DType::f64, device, 1, 2),
                  x = Random(k + 9).normal({50}, DType::f64, device);
      try {
        for (int repeat = 0; repeat < 60; ++repeat) {
          const SolveResult r = cg(Diagonal(d, dims("X")), ops::multiply(d, x), {.rtol = 1e-12});
          if (!(relative(r.x, x) < 1e-10)) ++wrong;
        }
      } catch (const Error&) {
        ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Engine, RefusesNonsense) {
  const NamedLinop A(Diagonal(ones({3}, DType::f64, test_device()), dims("N")));
  const Array b = ones({3}, DType::f64, test_device());
  EXPECT_THROW((void)cg(A, b, {.rtol = -1}), ArgumentError);
  EXPECT_THROW((void)cg(A, b, {.maxiter = -1}), ArgumentError);
  EXPECT_THROW((void)cg(A, b, {.check_every = -1}), ArgumentError);
  EXPECT_THROW((void)cg(A, b, {.x0 = ones({4}, DType::f64, test_device())}), ShapeError);
  EXPECT_THROW((void)cg(A, b.astype(DType::f16)), DTypeError);
  EXPECT_THROW((void)lsqr(A, b, {}, {.damp = -1}), ArgumentError);
  EXPECT_THROW((void)fista(A, b, prox::none(), {}, {.step = -1}), ArgumentError);
  EXPECT_THROW((void)pdhg(A, b, prox::none(), prox::none(), {}, {.tau = -1}), ArgumentError);
  EXPECT_THROW((void)admm(A, b, prox::none(), {}, {.rho = 0}), ArgumentError);
}

}  // namespace
}  // namespace tessera
