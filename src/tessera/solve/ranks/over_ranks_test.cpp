// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/ranks/over_ranks.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/arrays.hpp"
#include "support/every_solver.hpp"
#include "support/ranks.hpp"
#include "tessera/array/npz.hpp"
#include "tessera/base/trace.hpp"

namespace tessera {
namespace {

// Batches of positive matrices, and coils that are seen through a transform.
NamedLinop positive_batches(DType t) {
  return NamedLinop(Dense(Random(1).normal({5, 8, 6}, t, test_device()), dims("BMN"), dims("BN"),
                          dims("BM")))
             .N() +
         Value(0.5) * NamedLinop(Identity());
}

TEST(CgOverRanks, SolvesAsOneRankDoes) {
  for (const DType t : {DType::f64, DType::c64}) {
    const NamedLinop A = positive_batches(t);
    const Array b = Random(2).normal({5, 6}, t, test_device());
    const double rtol = t == DType::f64 ? 1e-10 : 1e-5, tolerance = 100 * rtol;
    const SolveResult expected = cg(A, b, {.rtol = rtol, .maxiter = 90});
    on_ranks({1, 2, 3, 7}, [&](Communicator comm) {
      for (const std::optional<i64>& split : {std::optional<i64>(0), std::optional<i64>(1), {}}) {
        const DNDarray right = DNDarray::replicated(b, comm).resplit(split);
        const RanksResult r = cg(A, right, {.rtol = rtol, .maxiter = 90});
        EXPECT_TRUE(r.converged) << r.reason;
        EXPECT_EQ(r.x.split(), split);
        EXPECT_LE(std::abs(r.iterations - expected.iterations), 2);
        EXPECT_LT(relative(r.x.gathered(), expected.x), tolerance);
      }
    });
  }
}

// Every solver: name, on one rank, over ranks; for A of (B, N, X) -> (B, M, X) and vectors of it.
struct Both {
  const char* name;
  std::function<SolveResult(const NamedLinop&, const Array&, const SolveOptions&)> here;
  std::function<RanksResult(const NamedLinop&, const DNDarray&, const RanksOptions&)> there;
  bool square;
};
using A = const NamedLinop&;
using O = const SolveOptions&;
using R = const RanksOptions&;
using D = const DNDarray&;
using V = const Array&;

// The same text for both: only the types of b and of the options differ.
#define TESSERA_BOTH(name, square, call)                          \
  Both {                                                          \
    name, [](A a, V b, O o) -> SolveResult { return call; },      \
        [](A a, D b, R o) -> RanksResult { return call; }, square \
  }
const std::vector<Both>& solvers_of_both() {
  static const NamedLinop halve = Value(0.5) * NamedLinop(Identity());
  static const NamedLinop differences = FiniteDifference("N", dims("BNX"));
  static const std::vector<Both> all{
      TESSERA_BOTH("cg", true, cg(a, b, o)),
      TESSERA_BOTH("cg, preconditioned", true, cg(a, b, o, {.preconditioner = halve})),
      TESSERA_BOTH("minres", true, minres(a, b, o, {.shift = 0.1})),
      TESSERA_BOTH("minres, preconditioned", true, minres(a, b, o, {.preconditioner = halve})),
      TESSERA_BOTH("gmres", true, gmres(a, b, o, {.restart = 4})),
      TESSERA_BOTH("lsqr", false, lsqr(a, b, o, {.damp = 0.1})),
      TESSERA_BOTH("lsmr", false, lsmr(a, b, o)),
      TESSERA_BOTH("fista", false, fista(a, b, prox::l1(0.2), o)),
      TESSERA_BOTH("fista of groups", false, fista(a, b, prox::group(0.5, {0}), o)),
      TESSERA_BOTH("fista that searches", false, fista(a, b, prox::l1(0.3), o, {.search = true})),
      TESSERA_BOTH("pdhg", false, pdhg(a, b, prox::l2(20), prox::l1(0.1), o)),
      TESSERA_BOTH("admm", false, admm(a, b, prox::l1(0.2), o, {.inner = 3})),
      TESSERA_BOTH("admm with G", false,
                   admm(a, b, prox::l1(0.2), o, {.G = differences, .inner = 3})),
  };
  return all;
}
#undef TESSERA_BOTH

NamedLinop batched_matrices(DType t) {
  const Array w = Random(1).normal({5, 8, 6}, t, test_device());
  return Dense(ops::multiply(w, Value(0.4)), dims("BMN"), dims("BNX"), dims("BMX"));
}

TEST(OverRanks, EverySolverFindsWhatOneRankFinds) {
  for (const DType t : {DType::f64, DType::c64})
    for (const Both& solver : solvers_of_both()) {
      const NamedLinop a =
          solver.square ? problems::positive(batched_matrices(t)) : batched_matrices(t);
      const Array b = Random(2).normal({5, solver.square ? 6 : 8, 3}, t, test_device());
      const SolveResult expected = solver.here(a, b, {.rtol = 0, .maxiter = 8});
      const auto check = [&](Communicator comm, const std::optional<i64>& split) {
        i64 calls = 0;
        const RanksResult r = solver.there(a, DNDarray::replicated(b, comm).resplit(split),
                                           {.rtol = 0, .maxiter = 8, .callback = [&](i64, double) {
                                              ++calls;
                                              return true;
                                            }});
        const std::string text = cat(solver.name, " ", t, " on ", comm.size(), " ranks, split ",
                                     split ? cat(*split) : "none");
        EXPECT_EQ(calls, expected.iterations) << text << ": " << r.reason;
        EXPECT_EQ(r.history.size(), expected.history.size()) << text;
        const double error = relative(r.x.gathered(), expected.x);
        EXPECT_TRUE(error < (t == DType::f64 ? 1e-9 : 2e-3)) << text << ": " << error;
      };
      const auto splits = [&](Communicator comm) {
        for (const std::optional<i64>& split : {std::optional<i64>(0), std::optional<i64>(1), {}})
          check(comm, split);
      };
      if (t == DType::f64)
        on_ranks({1, 3, 7}, splits);
      else
        on_ranks({2}, splits);
    }
}

// Where A mixes nothing along the split, ranks send sums and no vectors.
TEST(OverRanks, VectorsStayWithTheirRank) {
  for (const Both& solver : solvers_of_both()) {
    if (std::string_view(solver.name) == "fista of groups") continue;  // one sum for each group
    const NamedLinop a = solver.square ? problems::positive(batched_matrices(DType::f64))
                                       : batched_matrices(DType::f64);
    i64 moved[2];
    for (const int size : {0, 1}) {
      const Array b = Random(2).normal({5, solver.square ? 6 : 8, size == 0 ? 2 : 200}, DType::f64,
                                       test_device());
      run_ranks(3, [&](Communicator comm) {
        const DNDarray right = DNDarray::replicated(b, comm).resplit(0);
        auto bytes = [&](i64 iterations) {
          const Traffic before = comm.traffic();
          (void)solver.there(a, right, {.rtol = 0, .maxiter = iterations});
          return (comm.traffic() - before).bytes;
        };
        const i64 per_iteration = (bytes(7) - bytes(4)) / 3;
        if (comm.rank() == 1) moved[size] = per_iteration;
      });
    }
    EXPECT_EQ(moved[0], moved[1]) << solver.name;
  }
}

// b split along its coils: each rank keeps the data of its own; only images travel.
TEST(OverRanks, CoilsStayWithTheirRank) {
  i64 moved[2];
  for (const i64 coils : {4, 8}) {
    const NamedLinop S(Dense(Random(3).normal({coils, 6, 5}, DType::c64, test_device()),
                             dims("CNxNy"), dims("NxNy"), dims("CNxNy")));
    const NamedLinop a = NamedLinop(FFT(2, dims("C"), FFT::Grids{dims("NxNy"), dims("KxKy")})) * S;
    const Array b = Random(4).normal({coils, 6, 5}, DType::c64, test_device());
    const Array expected = fista(a, b, prox::l1(0.1), {.rtol = 0, .maxiter = 9}).x;
    run_ranks(3, [&](Communicator comm) {
      const DNDarray right = DNDarray::replicated(b, comm).resplit(0);
      auto bytes = [&](i64 iterations) {
        const Traffic before = comm.traffic();
        const RanksResult r = fista(a, right, prox::l1(0.1), {.rtol = 0, .maxiter = iterations});
        EXPECT_FALSE(r.x.split());
        EXPECT_TRUE(iterations < 9 || relative(r.x.local(), expected) < 1e-3);
        return (comm.traffic() - before).bytes;
      };
      const i64 per_iteration = (bytes(9) - bytes(5)) / 4;
      if (comm.rank() == 1) moved[coils / 8] = per_iteration;
    });
  }
  EXPECT_EQ(moved[0], moved[1]);
}

TEST(CgOverRanks, SendsOnlyTwoNumbersWhereNothingIsMixed) {
  const NamedLinop A = positive_batches(DType::f64);
  const Array b = Random(2).normal({5, 6}, DType::f64, test_device());
  run_ranks(3, [&](Communicator comm) {
    const DNDarray right = DNDarray::replicated(b, comm).resplit(0);
    auto bytes = [&](i64 iterations) {
      const Traffic before = comm.traffic();
      (void)cg(A, right, {.rtol = 0, .maxiter = iterations});
      return (comm.traffic() - before).bytes;
    };
    const i64 few = bytes(2), many = bytes(7);
    EXPECT_LE(many - few, 5 * 2 * 8 * 2 * 2);  // five iterations of two sums to two ranks, twice
  });
}

TEST(CgOverRanks, DealsCoilsOutForAReplicatedImage) {
  const NamedLinop S(Dense(Random(3).normal({4, 6, 5}, DType::c64, test_device()), dims("CNxNy"),
                           dims("NxNy"), dims("CNxNy")));
  const NamedLinop F(FFT(2, dims("C"), FFT::Grids{dims("NxNy"), dims("KxKy")}));
  const Array mask = Random(5).uniform({6, 5}, DType::f32, test_device(), 0.5, 1.5);
  const NamedLinop A = (NamedLinop(Diagonal(mask, dims("CKxKy"), dims("C"))) * F * S).N();
  const Array b = Random(4).normal({6, 5}, DType::c64, test_device());
  const SolveResult expected = cg(A, b, {.rtol = 1e-4});
  run_ranks(3, [&](Communicator comm) {
    i64 calls = 0;
    const RanksResult r = cg(A, DNDarray::replicated(b, comm),
                             {.rtol = 1e-4, .along = "C", .callback = [&](i64, double) {
                                ++calls;
                                return true;
                              }});
    EXPECT_EQ(calls, r.iterations);
    EXPECT_FALSE(r.x.split());
    EXPECT_LT(relative(r.x.local(), expected.x), 1e-3);
  });
}

TEST(CgOverRanks, StopsOnAllRanksAtOnce) {
  const NamedLinop A = positive_batches(DType::f64);
  const Array b = Random(2).normal({5, 6}, DType::f64, test_device());
  run_ranks(2, [&](Communicator comm) {
    const DNDarray right = DNDarray::replicated(b, comm).resplit(0);
    const RanksResult r = cg(A, right, {.callback = [&](i64 i, double) {
                               return comm.rank() == 0 || i < 2;  // one of them has enough
                             }});
    EXPECT_EQ(r.iterations, 2);
    const RanksResult bad = cg(Value(-1.0) * A, right, {});
    EXPECT_NE(bad.reason.find("breakdown"), std::string::npos);
    const RanksResult warm = cg(A, right, {.rtol = 1e-9, .x0 = cg(A, right, {.rtol = 1e-10}).x});
    EXPECT_EQ(warm.iterations, 0);
    EXPECT_THROW(cg(problems::matrix(5, 7, DType::f64),
                    DNDarray::replicated(problems::vector(7, DType::f64), comm), {}),
                 ShapeError);
  });
}

std::string checkpoint_path(const Communicator& comm, const char* name) {
  const std::string path = cat(scratch_folder(), "/over_", comm.size(), "_", name, ".npz");
  if (comm.rank() == 0) {
    const std::filesystem::path named(path);
    for (const auto& f : std::filesystem::directory_iterator(named.parent_path()))
      if (f.path().filename().string().starts_with(named.filename().string()))
        std::filesystem::remove(f.path());
  }
  comm.barrier();
  return path;
}

i64 files_of(const std::string& path) {
  const std::filesystem::path named(path);
  i64 n = 0;
  for (const auto& f : std::filesystem::directory_iterator(named.parent_path()))
    n += f.path().filename().string().starts_with(named.filename().string());
  return n;
}

struct Killed {};

TEST(OverRanks, AResumedSolveIsTheUninterruptedOne) {
  if (over_mpi()) GTEST_SKIP() << "kills a solve with an exception, which ends an MPI program";
  for (const int p : {1, 3})
    for (std::size_t k = 0; k < solvers_of_both().size(); ++k)
      run_ranks(p, [&](Communicator comm) {
        const Both& solver = solvers_of_both()[k];
        const NamedLinop a = solver.square ? problems::positive(batched_matrices(DType::f64))
                                           : batched_matrices(DType::f64);
        const Array whole =
            Random(2).normal({5, solver.square ? 6 : 8, 3}, DType::f64, test_device());
        const DNDarray b = DNDarray::replicated(whole, comm).resplit(0);
        const RanksResult expected = solver.there(a, b, {.rtol = 0, .maxiter = 9});
        const std::string path = checkpoint_path(comm, cat("resume", k).c_str());
        RanksOptions o{.rtol = 0, .maxiter = 9, .checkpoint = {.path = path, .every = 2}};
        o.callback = [](i64 i, double) {
          if (i == 5) throw Killed();
          return true;
        };
        EXPECT_THROW((void)solver.there(a, b, o), Killed) << solver.name;
        comm.barrier();
        o.callback = {};
        i64 first = 0;
        o.callback = [&](i64 i, double) {
          if (first == 0) first = i;
          return true;
        };
        const RanksResult r = solver.there(a, b, o);
        EXPECT_EQ(first, 5) << solver.name;
        EXPECT_EQ(r.history, expected.history) << solver.name;
        EXPECT_TRUE(same_bits(r.x.local(), expected.x.local())) << solver.name;
        comm.barrier();
        if (comm.rank() == 0) {
          EXPECT_EQ(files_of(path), 1 + comm.size()) << solver.name;
        }
        comm.barrier();
      });
}

TEST(OverRanks, ACheckpointOfAnotherProblemIsRefusedByAll) {
  on_ranks({1, 2, 3}, [](Communicator comm) {
    const NamedLinop a = problems::positive(batched_matrices(DType::f64));
    const Array whole = Random(2).normal({5, 6, 3}, DType::f64, test_device());
    const DNDarray b = DNDarray::replicated(whole, comm).resplit(0);
    const std::string path = checkpoint_path(comm, "other");
    const RanksOptions o{.rtol = 0, .maxiter = 3, .checkpoint = {.path = path}};
    (void)cg(a, b, o);
    comm.barrier();
    whole.slice(0, 0, 1).fill(Value(1.0));  // what the first rank has
    const DNDarray other = DNDarray::replicated(whole, comm).resplit(0);
    EXPECT_THROW((void)cg(a, other, o), ArgumentError);
    EXPECT_THROW((void)minres(a, b, o), ArgumentError);
    comm.barrier();
    const Communicator fewer = comm.split(comm.rank() == 0 ? 0 : 1, comm.rank());
    if (comm.size() > 1 && comm.rank() == 0) {
      const DNDarray alone = DNDarray::replicated(whole, fewer).resplit(0);
      EXPECT_THROW((void)cg(a, alone, o), ArgumentError);
      EXPECT_THROW((void)cg(a, whole, {.checkpoint = {.path = path}}), ArgumentError);
    }
    comm.barrier();
    if (comm.rank() == comm.size() - 1) std::filesystem::remove(cat(path, ".3.", comm.rank()));
    comm.barrier();
    EXPECT_THROW((void)cg(a, b, o), IoError);
  });
}

// Ranks that went on from different iterations would wait for each other for ever.
TEST(OverRanks, FilesOfDifferentIterationsAreRefusedByAll) {
  on_ranks({2, 3}, [](Communicator comm) {
    const NamedLinop a = problems::positive(batched_matrices(DType::f64));
    const DNDarray b =
        DNDarray::replicated(Random(2).normal({5, 6, 3}, DType::f64, test_device()), comm)
            .resplit(0);
    const std::string path = checkpoint_path(comm, "apart"), mine = cat(path, ".3.", comm.rank());
    (void)cg(a, b, {.rtol = 0, .maxiter = 3, .checkpoint = {.path = path}});
    comm.barrier();
    if (comm.rank() == comm.size() - 1) {
      NamedArrays file = load_npz(mine);
      for (auto& [name, array] : file) {
        if (name == "history") array = array.slice(0, 0, 3).copy();
        if (name == "numbers") array.slice(0, 0, 1).fill(Value(2.0));
      }
      save_npz(mine, file);
    }
    comm.barrier();
    EXPECT_THROW((void)cg(a, b, {.rtol = 0, .maxiter = 9, .checkpoint = {.path = path}}), IoError);
    comm.barrier();
  });
}

TEST(OverRanks, EigenvaluesAsOneRankFindsThem) {
  const NamedLinop a = problems::positive(batched_matrices(DType::f64)),
                   wide = batched_matrices(DType::f64);
  const Array start = Random(3).normal({5, 6, 3}, DType::f64, test_device());
  const EigenResult power = power_method(a, {}, {}, {.rtol = 0, .maxiter = 12, .x0 = start});
  const EigenResult batch =
      power_method(a, {}, {.axes = Axes{1, 2}}, {.rtol = 0, .maxiter = 12, .x0 = start});
  const EigenResult few = lanczos(a, {}, {.k = 3}, {.rtol = 1e-10, .maxiter = 200, .x0 = start});
  const SvdResult pairs = svd(wide, {}, {.k = 3}, {.rtol = 1e-10, .maxiter = 200, .x0 = start});
  const SvdResult block = randomized_svd(wide, {.shape = {5, 6, 3}, .device = test_device()},
                                         {.k = 3, .oversample = 60}, {.rtol = 1e-9, .maxiter = 30});
  on_ranks({2, 7}, [&](Communicator comm) {
    for (const std::optional<i64>& split : {std::optional<i64>(0), std::optional<i64>(2), {}}) {
      const DNDarray x0 = DNDarray::replicated(start, comm).resplit(split);
      const RanksEigenResult p = power_method(a, x0, {}, {.rtol = 0, .maxiter = 12});
      EXPECT_LT(relative(p.eigenvalues.gathered(), power.eigenvalues), 1e-10);
      EXPECT_LT(relative(p.eigenvectors.gathered(), power.eigenvectors), 1e-8);
      EXPECT_EQ(p.x.split(), split);
      const RanksEigenResult q =
          power_method(a, x0, {.axes = Axes{1, 2}}, {.rtol = 0, .maxiter = 12});
      EXPECT_LT(relative(q.eigenvalues.gathered(), batch.eigenvalues), 1e-10);
      const RanksEigenResult l = lanczos(a, x0, {.k = 3}, {.rtol = 1e-10, .maxiter = 200});
      EXPECT_TRUE(l.converged) << l.reason;
      EXPECT_LT(relative(l.eigenvalues.gathered(), few.eigenvalues), 1e-8);
      EXPECT_EQ(l.eigenvectors.shape(), (Shape{5, 6, 3, 3}));
      EXPECT_EQ(l.eigenvectors.split(), split);
      const RanksSvdResult s = svd(wide, x0, {.k = 3}, {.rtol = 1e-10, .maxiter = 200});
      EXPECT_TRUE(s.converged) << s.reason;
      EXPECT_LT(relative(s.S.gathered(), pairs.S), 1e-8);
      EXPECT_EQ(s.U.shape(), (Shape{5, 8, 3, 3}));
      EXPECT_EQ(s.Vh.shape(), (Shape{3, 5, 6, 3}));
      // A v = s u, whatever the sign of the pair.
      const Array u = s.U.gathered(), v = s.Vh.gathered();
      const Array image = wide(v.select(0, 0).copy());
      const Array expected = ops::multiply(u.select(3, 0), s.S.gathered().select(0, 0));
      EXPECT_LT(relative(image, expected), 1e-6);
      const RanksSvdResult r =
          randomized_svd(wide, x0, {.k = 3, .oversample = 60}, {.rtol = 1e-9, .maxiter = 30});
      EXPECT_LT(relative(r.S.gathered(), block.S), 1e-6);
    }
  });
}

}  // namespace
}  // namespace tessera
