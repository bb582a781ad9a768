// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/cg_ranks.hpp"

#include <gtest/gtest.h>

#include "support/problems.hpp"
#include "support/ranks.hpp"
#include "tessera/base/trace.hpp"

namespace tessera {
namespace {

using problems::relative;

// Batches of positive matrices, and coils that are seen through a transform.
NamedLinop batches(DType t) {
  return NamedLinop(Dense(Random(1).normal({5, 8, 6}, t, test_device()), dims("BMN"), dims("BN"),
                          dims("BM")))
             .N() +
         Value(0.5) * NamedLinop(Identity());
}

TEST(CgOverRanks, SolvesAsOneRankDoes) {
  for (const DType t : {DType::f64, DType::c64}) {
    const NamedLinop A = batches(t);
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

TEST(CgOverRanks, SendsOnlyTwoNumbersWhereNothingIsMixed) {
  const NamedLinop A = batches(DType::f64);
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
  const NamedLinop A = batches(DType::f64);
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

}  // namespace
}  // namespace tessera
