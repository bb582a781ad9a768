// SPDX-License-Identifier: Apache-2.0
// The routes one by one; that every operator gives the right numbers is a law (tests/laws).
#include "tessera/distributed/operators/apply.hpp"

#include <gtest/gtest.h>

#include "support/problems.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/comm/thread.hpp"

namespace tessera::dist {
namespace {

DNDarray split_of(const Array& whole, i64 axis, const Communicator& comm) {
  return DNDarray::replicated(whole, comm).resplit(axis);
}

DNDarray split_of(const Array& whole, i64 axis, std::vector<i64> counts, const Communicator& comm) {
  return DNDarray::replicated(whole, comm).distributed_as({axis, Partition::of(counts)});
}

NamedLinop transform() {
  return FFT(2, dims("C"), FFT::Grids{dims("NxNy"), dims("KxKy")}, Norm::ortho, true);
}
NamedLinop coils() {
  return Dense(random({4, 6, 5}, DType::c64, 1), dims("CNxNy"), dims("NxNy"), dims("CNxNy"));
}

// Weights in between, so that the transforms of A.N do not meet.
NamedLinop acquisition() {
  const Array w = Random(11).uniform({6, 5}, DType::f32, test_device(), 0.5, 1.5);
  return NamedLinop(Diagonal(w, dims("CKxKy"), dims("C"))) * transform() * coils();
}

TEST(Apply, SendsNothingAlongADimOfBothSides) {
  const NamedLinop a = transform() * coils();
  const Array y = random({4, 6, 5}, DType::c64, 2), expected = a.H()(y);
  const NamedLinop w = Diagonal(random({7, 3}, DType::f64, 3), dims("AB"));
  const Array x = random({7, 3}, DType::f64, 4), product = w(x);
  for (const int p : {1, 2, 3, 4, 7})
    run_ranks(p, [&](Communicator comm) {
      const DNDarray mine = split_of(x, 0, comm);
      const Traffic before = comm.traffic();
      const DNDarray wx = w(mine);
      EXPECT_EQ(comm.traffic(), before);
      EXPECT_EQ(wx.split(), 0);
      EXPECT_LT(relative(wx.gathered(), product), 1e-15);
      const DNDarray sum = a.H()(split_of(y, 0, comm));  // the coils are summed over
      EXPECT_FALSE(sum.split());
      EXPECT_LT(relative(sum.local(), expected), 1e-5);
    });
}

TEST(Apply, KeepsTheCountsOfUnbalancedArraysAndEmptyRanks) {
  const NamedLinop a = Diagonal(random({10, 3}, DType::f64, 3), dims("AB"));
  const Array x = random({10, 3}, DType::f64, 4), expected = a(x);
  run_ranks(3, [&](Communicator comm) {
    for (const std::vector<i64>& counts : {std::vector<i64>{7, 2, 1}, {0, 10, 0}, {5, 0, 5}}) {
      const DNDarray y = a(split_of(x, 0, counts, comm));
      EXPECT_EQ(y.counts(), counts);
      EXPECT_LT(relative(y.gathered(), expected), 1e-15);
    }
  });
}

TEST(Apply, TakesArraysWithoutElements) {
  const NamedLinop twice(Scalar(2.0, dims("AB"))), sum(SumReduce(dims("AB"), dims("B")));
  run_ranks(3, [&](Communicator comm) {
    const DNDarray none = split_of(zeros({0, 3}, DType::f64, test_device()), 0, comm);
    const Traffic before = comm.traffic();
    const DNDarray y = twice(none);
    EXPECT_EQ(comm.traffic(), before);
    EXPECT_EQ(y.shape(), (Shape{0, 3}));
    EXPECT_EQ(y.split(), 0);
    const DNDarray s = sum(none);
    EXPECT_EQ(norm(s.gathered()).item().as<double>(), 0);
    // Fewer entries than ranks.
    const Array one = ones({1, 3}, DType::f64, test_device());
    EXPECT_EQ(twice(split_of(one, 0, comm)).counts(), (std::vector<i64>{1, 0, 0}));
    EXPECT_EQ(relative(sum(split_of(one, 0, comm)).gathered(), one.select(0, 0)), 0);
  });
}

TEST(Apply, GoesAroundADimThatIsMixed) {
  const NamedLinop f = transform(), a = acquisition();
  const Array images = random({4, 6, 5}, DType::c64, 5), image = random({6, 5}, DType::c64, 6);
  for (const int p : {1, 2, 3})
    run_ranks(p, [&](Communicator comm) {
      const DNDarray moved = f(split_of(images, 1, comm));
      EXPECT_EQ(moved.split(), 0);  // the coils
      EXPECT_LT(relative(moved.gathered(), f(images)), 1e-5);
      const DNDarray rows =
          a(split_of(image, 0, comm));  // the image is gathered, the coils distributed
      EXPECT_EQ(rows.split(), 0);
      EXPECT_LT(relative(rows.gathered(), a(image)), 1e-5);
      const DNDarray back = a.H()(split_of(a(image), 1, comm));
      EXPECT_FALSE(back.split());
      EXPECT_LT(relative(back.local(), a.H()(a(image))), 1e-5);
      const DNDarray normal = a.N()(split_of(image, 1, comm));  // terms of a dim inside
      EXPECT_FALSE(normal.split());
      EXPECT_LT(relative(normal.local(), a.N()(image)), 1e-5);
      const NamedLinop line = FFT(1);
      const DNDarray whole = line(split_of(image.select(1, 2), 0, comm));
      EXPECT_EQ(whole.split(), 0);  // nothing can be cut: gathered, applied, cut
      EXPECT_LT(relative(whole.gathered(), line(image.select(1, 2))), 1e-5);
    });
}

TEST(Apply, DealsTheWorkOutAlongTheDimThatIsAskedFor) {
  const NamedLinop a = acquisition();
  const Array image = random({6, 5}, DType::c64, 6), expected = a.N()(image);
  run_ranks(3, [&](Communicator comm) {
    const DNDarray x = DNDarray::replicated(image, comm);
    const DNDarray y = dist::apply(a, x, {.along = "C"});
    EXPECT_EQ(y.split(), 0);
    EXPECT_EQ(y.counts(), (std::vector<i64>{2, 1, 1}));
    const DNDarray n = dist::apply(a.N(), x, {.along = "C"});
    EXPECT_FALSE(n.split());
    EXPECT_LT(relative(n.local(), expected), 1e-5);
    EXPECT_THROW(dist::apply(a, x, {.along = "Nx"}), SplitError);
    EXPECT_THROW(dist::apply(a, x, {.along = "Q"}), DimError);
  });
}

TEST(Apply, LeavesReplicatedArraysWhereTheyAre) {
  const NamedLinop a = problems::matrix(5, 7, DType::f64);
  const Array x = random({7}, DType::f64, 7);
  run_ranks(2, [&](Communicator comm) {
    const Traffic before = comm.traffic();
    const DNDarray y = a(DNDarray::replicated(x, comm));
    EXPECT_EQ(comm.traffic(), before);
    EXPECT_FALSE(y.split());
    EXPECT_EQ(relative(y.local(), a(x)), 0);
  });
}

TEST(Apply, NamesTheAxesThatHaveNone) {
  const NamedLinop open = Diagonal(random({4}, DType::f64, 5));  // right aligned under "..."
  const NamedLinop sum = open + Value(2.0) * NamedLinop(Identity());
  const Array x = random({5, 3, 4}, DType::f64, 8);
  run_ranks(3, [&](Communicator comm) {
    for (i64 axis = 0; axis < 3; ++axis) {
      const DNDarray mine = split_of(x, axis, comm);
      const Traffic before = comm.traffic();
      const DNDarray y = open(mine);
      EXPECT_EQ(comm.traffic(), before);
      EXPECT_EQ(y.split(), axis);
      EXPECT_LT(relative(y.gathered(), open(x)), 1e-15);
      EXPECT_LT(relative(sum(mine).gathered(), sum(x)), 1e-15);
    }
  });
}

TEST(Apply, AsksNothingOfFunctionsWithoutNames) {
  auto turn = [](const Array& x) { return flip(x, {0, 1}); };
  const NamedLinop a = SimpleLinop(turn, turn);
  const Array x = random({5, 3}, DType::f64, 9);
  run_ranks(2, [&](Communicator comm) {
    const DNDarray y = a(split_of(x, 0, comm));
    EXPECT_EQ(y.split(), 0);
    EXPECT_EQ(relative(y.gathered(), a(x)), 0);
  });
}

// Blocks that cannot be cut inside stand side by side: some partitions meet their borders.
TEST(Apply, LaysTheResultOutAlikeWhereSomePartsDoNotExist) {
  auto twice = [](const Array& v) { return ops::multiply(v, 2.0); };
  const NamedLinop whole(SimpleLinop(twice, twice, {}, dims("X"), dims("X"), "twice", {{"X", 4}}));
  const NamedLinop one(Zero(dims("X"), dims("X"), {{"X", 1}}));
  const NamedLinop a = concat({one, whole, one}, {.idim = "X", .odim = "X"});
  const Array x = random({6}, DType::f64, 2), expected = a(x);
  for (const int p : {1, 2, 3})
    run_ranks(p, [&](Communicator comm) {
      const DNDarray y = a(split_of(x, 0, comm));
      EXPECT_EQ(y.split(), 0);
      EXPECT_EQ(relative(y.gathered(), expected), 0);
    });
}

TEST(Apply, RecordsNothingASecondTime) {
  const NamedLinop a = problems::matrix(5, 7, DType::f64);
  const Array x = random({7}, DType::f64, 7);
  run_ranks(2, [&](Communicator comm) {
    const DNDarray mine = split_of(x, 0, comm);
    const Array first = a(mine).local();
    comm.barrier();
    const i64 plans = counter(Counter::plans);
    comm.barrier();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(relative(a(mine).local(), first), 0);
    comm.barrier();
    EXPECT_EQ(counter(Counter::plans), plans);
  });
}

TEST(Apply, RaisesTheOperatorsErrorsOnAllRanks) {
  const NamedLinop a = problems::matrix(5, 7, DType::f64);
  const Device elsewhere = Device::parse(test_device() == cpu ? "sim:0" : "cpu");
  const NamedLinop w(Dense(random({3, 4}, DType::f64, 1), dims("MN"), dims("CN"), dims("CM")));
  run_ranks(4, [&](Communicator comm) {
    EXPECT_THROW(a(split_of(random({6}, DType::f64, 1), 0, comm)), DimError);
    // Two ranks have nothing to multiply, and say the same.
    const DNDarray x = split_of(zeros({2, 4}, DType::f64, elsewhere), 0, comm);
    EXPECT_THROW(w(x), DeviceError);
    comm.barrier();
  });
}

TEST(Apply, SaysWhatItWillDo) {
  const NamedLinop f = transform();
  const Array images = random({4, 6, 5}, DType::c64, 5);
  run_ranks(2, [&](Communicator comm) {
    const DNDarray x = split_of(images, 1, comm);
    const Traffic before = comm.traffic();
    const dist::ApplyRoute r = dist::explain_apply(f, x);
    EXPECT_EQ(comm.traffic(), before);
    EXPECT_EQ(r.cut, ND("C"));
    EXPECT_EQ(r.in.split, 0);
    EXPECT_FALSE(r.summed);
    (void)f(x);
    EXPECT_EQ((comm.traffic() - before).bytes, r.moved.sent[static_cast<std::size_t>(comm.rank())]);
    EXPECT_NE(r.str().find("A mixes along 'Nx'"), std::string::npos) << r.str();
  });
}

}  // namespace
}  // namespace tessera::dist
