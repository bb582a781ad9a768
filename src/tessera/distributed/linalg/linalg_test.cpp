// SPDX-License-Identifier: Apache-2.0
// Against the equations that define the results, over threads (gathered matrices) and, started by
// mpirun, over ScaLAPACK.
#include "tessera/distributed/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include "support/distances.hpp"
#include "support/distributions.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/linalg/linalg.hpp"

namespace tessera {
namespace {

namespace dl = dist::linalg;
constexpr DType dtypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};

Array adjoint(const Array& a) { return ops::conj(a).swap_axes(a.ndim() - 2, a.ndim() - 1); }

void expect_near(const Array& a, const Array& b, double scale) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_EQ(a.dtype(), b.dtype());
  const double tolerance = 64 * epsilon_of(a.dtype()) * scale * (1 + size(b));
  if (const double d = size(ops::subtract(a, b)); !(d < tolerance))
    ADD_FAILURE() << "difference " << d << ", expected less than " << tolerance;
}
Array unit(i64 n, DType t) { return eye(n, n, 0, t, test_device()); }

// Large enough for a grid of ranks where there is one, and not a multiple of anything.
const i64 N = over_mpi() ? 67 : 11, M = over_mpi() ? 83 : 17;

// Over processes every fifth combination of what a test goes through: each of them costs many small
// messages there, and the ways through the code are few.
class Turn {
 public:
  bool skip() { return over_mpi() && at_++ % 5 != 0; }

 private:
  int at_ = 0;
};

TEST(DistLinalg, SaysWhoComputes) {
  on_ranks({1, 2}, [](Communicator comm) {
    const std::string text = dl::backend(comm);
    if (over_mpi())
      EXPECT_EQ(text, "ScaLAPACK");
    else
      EXPECT_NE(text.find("rank"), std::string::npos) << text;
  });
}

TEST(DistLinalg, Multiplies) {
  on_ranks({1, 3}, [](Communicator comm) {
    Turn turn;
    for (const DType t : dtypes) {
      const Array a = random({M, N}, t, 1), b = random({N, 70}, t, 2), expected = matmul(a, b);
      for (const i64 sa : {0, 1})
        for (const i64 sb : {0, 1}) {
          if (turn.skip()) continue;
          const DNDarray c = dl::matmul(DNDarray::replicated(a, comm).resplit(sa),
                                        DNDarray::replicated(b, comm).resplit(sb));
          EXPECT_EQ(c.split(), 0);
          EXPECT_TRUE(c.balanced());
          expect_near(c.gathered(), expected, 1);
        }
    }
  });
}

TEST(DistLinalg, SolvesAndInverts) {
  on_ranks({1, 2, 3}, [](Communicator comm) {
    Turn turn;
    for (const DType t : dtypes) {
      const Array a = ops::add(random({N, N}, t, 3), ops::multiply(unit(N, t), Value(20.0)));
      const Array b = random({N, 5}, t, 4), v = random({N}, t, 5);
      for (const dist::Distribution& s : distributions_of({N, N}, comm.size())) {
        if (turn.skip()) continue;
        const DNDarray da = distribute(a, s, comm);
        const DNDarray x = dl::solve(da, DNDarray::replicated(b, comm).resplit(1));
        EXPECT_EQ(x.split(), 1);
        expect_near(matmul(a, x.gathered()), b, 4);
        const DNDarray y = dl::solve(da, DNDarray::replicated(v, comm).resplit(0));
        EXPECT_EQ(y.shape(), (Shape{N}));
        expect_near(matmul(a, y.gathered().expand_dims(1)).squeeze(1), v, 4);
        const DNDarray inverse = dl::inverse(da);
        EXPECT_TRUE(inverse.distribution() == s);
        expect_near(matmul(a, inverse.gathered()), unit(N, t), 4);
      }
    }
  });
}

TEST(DistLinalg, FactorsPositiveMatrices) {
  on_ranks({1, 3}, [](Communicator comm) {
    Turn turn;
    for (const DType t : dtypes) {
      const Array g = random({N, M}, t, 6), a = matmul(g, adjoint(g));
      for (const i64 split : {0, 1}) {
        if (turn.skip()) continue;
        const DNDarray l = dl::cholesky(DNDarray::replicated(a, comm).resplit(split));
        EXPECT_EQ(l.split(), split);
        const Array whole = l.gathered();
        expect_near(matmul(whole, adjoint(whole)), a, 4);
        expect_near(whole, linalg::cholesky(a), 100);
      }
    }
  });
}

TEST(DistLinalg, FactorsRectangles) {
  on_ranks({1, 3}, [](Communicator comm) {
    Turn turn;
    for (const DType t : dtypes)
      for (const Shape& shape : {Shape{M, N}, {N, M}})
        for (const i64 split : {0, 1}) {
          if (turn.skip()) continue;
          const Array a = random(shape, t, 7);
          const auto [q, r] = dl::qr(DNDarray::replicated(a, comm).resplit(split));
          const Array wq = q.gathered(), wr = r.gathered();
          EXPECT_EQ(q.split(), split);
          EXPECT_EQ(wr.shape(), (Shape{N, shape[1]}));
          expect_near(matmul(wq, wr), a, 4);
          expect_near(matmul(adjoint(wq), wq), unit(N, t), 4);
          EXPECT_EQ(wr.select(0, N - 1).select(0, 3).item().as<c128>().re, 0);
          const auto [u, s, vh] = dl::svd(DNDarray::replicated(a, comm).resplit(split));
          const Array wu = u.gathered(), ws = s.gathered(), wv = vh.gathered();
          EXPECT_FALSE(s.split());
          expect_near(matmul(ops::multiply(wu, ws.astype(t)), wv), a, 8);
          expect_near(matmul(adjoint(wu), wu), unit(N, t), 8);
          expect_near(matmul(wv, adjoint(wv)), unit(N, t), 8);
          expect_near(ws, linalg::svd(a, false).s, 8);
        }
  });
}

TEST(DistLinalg, FindsEigenvaluesInOrder) {
  on_ranks({1, 3}, [](Communicator comm) {
    Turn turn;
    for (const DType t : dtypes) {
      const Array g = random({N, N}, t, 8), a = ops::add(g, adjoint(g));
      for (const i64 split : {0, 1}) {
        if (turn.skip()) continue;
        const auto [w, v] = dl::eigh(DNDarray::replicated(a, comm).resplit(split));
        const Array ww = w.gathered(), wv = v.gathered();
        EXPECT_FALSE(w.split());
        EXPECT_EQ(v.split(), split);
        expect_near(matmul(a, wv), ops::multiply(wv, ww.astype(t)), 8);
        expect_near(matmul(adjoint(wv), wv), unit(N, t), 8);
        expect_near(ww, linalg::eigh(a).values, 8);
      }
    }
  });
}

TEST(DistLinalg, MeasuresVolumesAndFits) {
  on_ranks({1, 2, 3}, [](Communicator comm) {
    for (const DType t : dtypes) {
      const Array a = random({N, N}, t, 9);
      const linalg::SlogDet expected = linalg::slogdet(a);
      const auto [sign, logs] = dl::slogdet(DNDarray::replicated(a, comm).resplit(0));
      expect_near(sign.gathered(), expected.sign, 20);
      expect_near(logs.gathered(), expected.logabsdet, 20);
      const Array b = random({N, 2}, t, 10), tall = random({N, 4}, t, 11);
      const dl::Lstsq fit = dl::lstsq(DNDarray::replicated(tall, comm).resplit(0),
                                      DNDarray::replicated(b, comm).resplit(0));
      EXPECT_EQ(fit.x.split(), 0);
      expect_near(fit.x.gathered(), linalg::lstsq(tall, b).x, 20);
    }
    const Array small = laid_out<double>({2, 2}, {1, 2, 3, 4}, Lay::dense, test_device());
    const DNDarray d = dl::det(DNDarray::replicated(small, comm).resplit(1));
    EXPECT_NEAR(d.gathered().item().as<double>(), -2, 1e-14);
  });
}

TEST(DistLinalg, TreatsStacksWhereTheyAre) {
  const Array g = random({5, 4, 6}, DType::c128, 12), a = matmul(g, adjoint(g));
  run_ranks(3, [&](Communicator comm) {
    const DNDarray da = DNDarray::replicated(a, comm).resplit(0);
    const Traffic before = comm.traffic();
    const DNDarray inverse = dl::inverse(da);
    EXPECT_LE((comm.traffic() - before).bytes, 8);  // only the agreement
    EXPECT_EQ(inverse.split(), 0);
    expect_near(matmul(a, inverse.gathered()), unit(4, DType::c128).broadcast_to({5, 4, 4}), 100);
    const DNDarray across = DNDarray::replicated(a, comm).resplit(2);
    const auto [w, v] = dl::eigh(across);
    EXPECT_EQ(v.split(), 2);
    EXPECT_EQ(w.split(), 0);
    expect_near(w.gathered(), linalg::eigh(a).values, 10);
    expect_near(dl::det(da).gathered(), linalg::det(a), 100);
  });
}

TEST(DistLinalg, FailsOnAllRanksAlike) {
  on_ranks({1, 2, 3}, [](Communicator comm) {
    const Array zero = zeros({N, N}, DType::f64, test_device());
    const DNDarray d = DNDarray::replicated(zero, comm).resplit(0);
    EXPECT_NE(thrown_text<LinAlgError>([&] { (void)dl::inverse(d); }).find("Singular matrix"),
              std::string::npos);
    EXPECT_THROW(dl::solve(d, d), LinAlgError);
    EXPECT_THROW(dl::cholesky(d), LinAlgError);
    EXPECT_THROW(dl::inverse(DNDarray::replicated(zeros({2, 3}, DType::f32), comm).resplit(0)),
                 ShapeError);
    const Array odd = unit(N, DType::f64);
    odd.select(0, N / 2).fill(Value(std::nan("")));
    EXPECT_THROW(dl::svd(DNDarray::replicated(odd, comm).resplit(0)), LinAlgError);
    // One matrix of a stack, on one rank, is singular.
    const Array stack = zeros({4, 2, 2}, DType::f64, test_device());
    stack.copy_from(unit(2, DType::f64));
    stack.select(0, 3).fill(Value(1.0));
    const DNDarray stacks = DNDarray::replicated(stack, comm).resplit(0);
    EXPECT_EQ(thrown_text<LinAlgError>([&] { (void)dl::inverse(stacks); }),
              "inverse: Singular matrix, matrix (3,) of the stack: zero pivot 2");
    comm.barrier();
  });
}

}  // namespace
}  // namespace tessera
