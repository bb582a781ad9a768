// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/lu.hpp"

#include <cmath>

#include "support/devices.hpp"
#include "support/streams.hpp"
#include "tessera/device/streamer.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/matmul/matmul.hpp"

namespace tessera::streaming {
namespace {

class StreamingLu : public testing::TestWithParam<std::tuple<Shape, DType, Device>> {
 protected:
  void SetUp() override { set_stream_buffer_size(3000); }
  void TearDown() override { set_stream_buffer_size(default_stream_buffer); }
};

TEST_P(StreamingLu, SolvesForEveryBudget) {
  const auto& [sides, t, device] = GetParam();
  const i64 n = sides[0];
  const Array a = random_on_host({n, n}, t, 1), b = random_on_host(sides, t, 2), kept = a.copy(),
              kept_b = b.copy();
  const Shape tile(sides.size(), 9);
  const auto plan_of = [&](const Options& o) {
    return plan_solve(watched(a, {16, 20}), watched(b, tile), fresh(sides, t, tile),
                      fresh({n, n}, t, {9, 16}), o, nullptr, device);
  };
  int number = 0;
  for (const i64 budget : budgets_of(plan_of, a.bytes() + b.bytes())) {
    if (device != cpu && number++ % 3 > 0) continue;  // steps on a device wait for its threads
    const Watched wa = watched(a, {16, 20}), wb = watched(b, tile), wx = fresh(sides, t, tile),
                  wf = fresh({n, n}, t, {9, 16});
    run_checked(plan_solve(wa, wb, wx, wf, {.budget = budget}, nullptr, device), budget,
                {wa, wb, wx, wf});
    const Array x = whole(*wx);
    EXPECT_FALSE(!(distance(matmul(a, x), b) <
                   30 * epsilon_of(t) * std::sqrt(static_cast<double>(n)) * size(a) * size(x)))
        << budget;
    EXPECT_TRUE(same_bits(a, kept) && same_bits(b, kept_b));
  }
}

INSTANTIATE_TEST_SUITE_P(Every, StreamingLu,
                         testing::Combine(testing::Values(Shape{35, 13}, Shape{41}, Shape{1, 3},
                                                          Shape{1}, Shape{30, 40}, Shape{2, 1}),
                                          testing::Values(DType::f32, DType::f64, DType::c64,
                                                          DType::c128),
                                          testing::Values(cpu, sim0)));

class StreamingInverse : public testing::TestWithParam<std::tuple<i64, DType, Device>> {
 protected:
  void SetUp() override { set_stream_buffer_size(3000); }
  void TearDown() override { set_stream_buffer_size(default_stream_buffer); }
};

TEST_P(StreamingInverse, InvertsForEveryBudget) {
  const auto& [n, t, device] = GetParam();
  const Array a = random_on_host({n, n}, t, 3), one = eye(n, n, 0, t);
  const auto plan_of = [&](const Options& o) {
    return plan_inverse(watched(a, {16, 20}), fresh({n, n}, t, {7, 7}), fresh({n, n}, t, {9, 16}),
                        o, nullptr, device);
  };
  int number = 0;
  for (const i64 budget : budgets_of(plan_of, 2 * a.bytes())) {
    if (device != cpu && number++ % 3 > 0) continue;
    const Watched wa = watched(a, {16, 20}), wx = fresh({n, n}, t, {7, 7}),
                  wf = fresh({n, n}, t, {9, 16});
    run_checked(plan_inverse(wa, wx, wf, {.budget = budget}, nullptr, device), budget,
                {wa, wx, wf});
    const Array x = whole(*wx);
    const double tolerance =
        30 * epsilon_of(t) * std::sqrt(static_cast<double>(n)) * size(a) * size(x);
    EXPECT_FALSE(!(distance(matmul(a, x), one) < tolerance * size(a))) << budget;
    EXPECT_FALSE(!(distance(x, linalg::inverse(a)) < tolerance * size(x))) << budget;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, StreamingInverse,
                         testing::Combine(testing::Values(1, 2, 27, 38),
                                          testing::Values(DType::f32, DType::f64, DType::c64,
                                                          DType::c128),
                                          testing::Values(cpu, sim0)));

TEST(StreamingInverse, RefusesSingularMatricesAndLeavesTheResultAlone) {
  for (const i64 axis : {0, 1})
    for (const i64 budget : {8000, 0}) {
      const Array a = random_on_host({40, 40}, DType::f64, 4);
      a.slice(axis, 17, 18).fill(Value(0.0));
      const Array start = random_on_host({40, 40}, DType::f64, 5), kept = start.copy();
      const Watched wa = watched(a, {16, 16}), wx = watched(start, {16, 16}),
                    wf = fresh({40, 40}, DType::f64, {16, 16});
      EXPECT_THROW(inverse(wa, wx, wf, {.budget = budget}), LinAlgError);
      EXPECT_THROW(solve(wa, wa, wx, wf, {.budget = budget}), LinAlgError);
      const Options there{.budget = 2 * budget};
      EXPECT_THROW(plan_inverse(wa, wx, wf, there, nullptr, sim0).run(), LinAlgError);
      EXPECT_THROW(plan_solve(wa, wa, wx, wf, there, nullptr, sim0).run(), LinAlgError);
      EXPECT_TRUE(same_bits(start, kept));
    }
  try {
    const Array none = Array::empty({5, 5}, DType::c64);
    none.fill(Value(0.0));
    inverse(watched(none, {2, 2}), fresh({5, 5}, DType::c64, {2, 2}),
            fresh({5, 5}, DType::c64, {2, 2}));
    ADD_FAILURE() << "inverted";
  } catch (const LinAlgError& e) {
    EXPECT_STREQ(e.what(), "inverse: Singular matrix: zero pivot 1");
  }
}

// Numbers that grow without exchanges: only the pivots keep the answer exact.
TEST(StreamingInverse, NeedsItsPivots) {
  constexpr i64 n = 50;
  const Array a = random_on_host({n, n}, DType::f64, 6);
  for (i64 k = 0; k < n; ++k) a.slice(0, k, k + 1).slice(1, k, k + 1).fill(Value(1e-14));
  const Watched wa = watched(a, {16, 16}), wx = fresh({n, n}, DType::f64, {16, 16});
  for (const Device device : {cpu, sim0}) {
    plan_inverse(wa, wx, fresh({n, n}, DType::f64, {16, 16}), {.budget = 14000}, nullptr, device)
        .run();
    EXPECT_FALSE(!(distance(matmul(a, whole(*wx)), eye(n, n, 0, DType::f64)) < 1e-10));
  }
}

TEST(StreamingInverse, ReadsTheFactorsAsOftenAsPanelsNeedThem) {
  const auto make = [](const Box&, const Array& into) { into.fill(Value(1.0)); };
  constexpr i64 n = 20000;
  const store::TileGrid grid({n, n}, {512, 512}, DType::f64);
  const auto big = [&] {
    return store::memory_store(Array::empty({1, 1}, DType::f64).broadcast_to({n, n}), {512, 512});
  };
  for (const double part : {0.02, 0.125, 0.5}) {
    const i64 budget = static_cast<i64>(part * static_cast<double>(grid.bytes()));
    const StreamPlan plan =
        plan_inverse(store::generated_store("ones", grid, make), big(), big(), {.budget = budget});
    // a third for each panel of A and of the upward sweep, a half of the one downwards
    const double rows = static_cast<double>(budget) / 8 / n, size = n;
    EXPECT_LT(static_cast<double>(plan.bytes_read()),
              8 * size * size * (2 + 1.15 * (size / rows + 1)))
        << plan.explain();
    EXPECT_EQ(plan.bytes_written(), 2 * grid.bytes());
    EXPECT_LE(plan.bytes_held(), budget);
  }
}

TEST(StreamingInverse, PassesFailuresAndRefusesWithASentence) {
  const Array a = random_on_host({30, 30}, DType::f64, 1),
              b = random_on_host({30, 20}, DType::f64, 2);
  const Watched wa = watched(a, {16, 16}), wb = watched(b, {16, 16}),
                wx = fresh({30, 20}, DType::f64, {16, 16}),
                wf = fresh({30, 30}, DType::f64, {16, 16});
  fail_everywhere({wa, wb, wx, wf}, [&] { plan_solve(wa, wb, wx, wf, {.budget = 4000}).run(); });
  EXPECT_THROW(solve(wa, wb, wx, wa), ArgumentError);
  EXPECT_THROW(solve(wa, wb, wb, wf), ArgumentError);
  EXPECT_THROW(solve(wa, wb, wx, wx), ShapeError);
  EXPECT_THROW(solve(wb, wb, wx, wf), ShapeError);
  EXPECT_THROW(solve(wa, wb, wx, fresh({30, 30}, DType::f32, {16, 16})), DTypeError);
  EXPECT_THROW(inverse(wa, wx, wf), ShapeError);
  const Watched none = fresh({0, 0}, DType::f64, {2, 2});
  inverse(none, fresh({0, 0}, DType::f64, {2, 2}), fresh({0, 0}, DType::f64, {2, 2}));
  solve(wa, fresh({30, 0}, DType::f64, {2, 2}), fresh({30, 0}, DType::f64, {2, 2}), wf);
}

}  // namespace
}  // namespace tessera::streaming
