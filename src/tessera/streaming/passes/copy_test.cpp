// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/passes/copy.hpp"

#include "support/streams.hpp"

namespace tessera::streaming {
namespace {

class StreamingCopy : public testing::TestWithParam<std::tuple<Shape, Shape>> {};

TEST_P(StreamingCopy, MovesEachByteOnce) {
  const auto& [from_tile, to_tile] = GetParam();
  for (const DType t : {DType::b1, DType::f64, DType::c128}) {
    const Array x = Array::empty({75, 131}, t);
    x.copy_from(ops::greater(random_on_host({75, 131}, DType::f32, 1), Value(0.0)));
    const Array kept = x.copy();
    const Watched from = watched(x, from_tile);
    for (const bool turned : {false, true}) {
      const Shape shape = turned ? Shape{131, 75} : Shape{75, 131};
      const auto plan = [&](const StorePtr& to, const Options& o) {
        return turned ? plan_transpose(from, to, {}, o) : plan_copy(from, to, o);
      };
      const Watched first = fresh(shape, t, to_tile);
      // one element at a time is allowed, and slow: a small array tries the least budget below
      for (const i64 budget : {i64{4096}, x.bytes() / 3, x.bytes(), 4 * x.bytes(), i64{0}}) {
        const Watched to = fresh(shape, t, to_tile);
        const StreamPlan p = plan(to, {.budget = budget});
        EXPECT_EQ(p.bytes_read(), x.bytes());
        EXPECT_EQ(p.bytes_written(), x.bytes());
        run_checked(p, budget, {from, to});
        EXPECT_TRUE(same_bits(whole(*to), turned ? x.transpose() : x)) << budget;
        EXPECT_TRUE(same_bits(x, kept));
      }
      if (t == DType::f64)
        fail_everywhere({from, first}, [&] { plan(first, {.budget = 20000}).run(); });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tiles, StreamingCopy,
    testing::Combine(testing::Values(Shape{16, 16}, Shape{75, 8}, Shape{10, 131}),
                     testing::Values(Shape{16, 16}, Shape{9, 70}, Shape{200, 200})));

TEST(StreamingTranspose, TakesAxesInAnyOrderWithTheLeastBudget) {
  const Array x = random_on_host({3, 7, 5}, DType::f32, 1);
  const Watched from = watched(x, {2, 4, 3});
  const Shape axes{1, -1, 0};
  const auto plan = [&](const Options& o) {
    return plan_transpose(from, fresh({7, 5, 3}, DType::f32, {3, 3, 3}), axes, o);
  };
  for (const i64 budget : budgets_of(plan, x.bytes())) {
    const Watched to = fresh({7, 5, 3}, DType::f32, {3, 3, 3});
    run_checked(plan_transpose(from, to, axes, {.budget = budget}), budget, {from, to});
    EXPECT_TRUE(same_bits(whole(*to), x.permute(Shape{1, 2, 0})));
  }
}

TEST(StreamingTranspose, RefusesWithASentence) {
  const Watched a = fresh({4, 5}, DType::f32, {2, 2}), b = fresh({4, 5}, DType::f32, {2, 2});
  EXPECT_THROW(transpose(a, b), ShapeError);
  EXPECT_THROW(copy(a, fresh({4, 5}, DType::f64, {2, 2})), DTypeError);
  EXPECT_THROW(copy(a, a), ArgumentError);
  EXPECT_THROW(transpose(a, b, Shape{0, 0}), ArgumentError);
  EXPECT_THROW(transpose(a, b, Shape{0, 2}), IndexError);
  copy(fresh({0, 5}, DType::f32, {1, 2}), fresh({0, 5}, DType::f32, {1, 1}));
}

}  // namespace
}  // namespace tessera::streaming
