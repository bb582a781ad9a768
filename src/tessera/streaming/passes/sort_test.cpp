// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/passes/sort.hpp"

#include <cmath>

#include "support/streams.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::streaming {
namespace {

constexpr DType sorted_dtypes[] = {DType::b1,  DType::i8,  DType::i16, DType::i32, DType::i64,
                                   DType::u8,  DType::u16, DType::u32, DType::u64, DType::f16,
                                   DType::f32, DType::f64, DType::c64, DType::bf16};

// Many equal numbers, both zeros and NaN where there are such.
Array few_numbers(const Shape& shape, DType t, int spread, unsigned seed) {
  const Array r = ops::rint(
      ops::multiply(random_on_host(shape, DType::f32, seed), Value(static_cast<double>(spread))));
  if (is_inexact(t))
    for (i64 i = 0; i < r.size(); i += 17) r.host<float>()[i] = std::nanf("");
  return is_inexact(t) ? r.astype(t) : ops::absolute(r).astype(t);
}

// The scratch stores that a plan asked for, watched.
struct Beside {
  std::vector<Watched> made;
  MakeScratch make() {
    return [this](std::string_view, const Shape& shape, DType t) {
      made.push_back(fresh(shape, t, Shape(shape.size(), 1000)));
      return made.back();
    };
  }
  std::vector<Watched> with(std::vector<Watched> stores) const {
    if (!made.empty()) stores.push_back(made.back());
    return stores;
  }
};

void check_sort(const Shape& shape, const Shape& tile, DType t, int spread) {
  const Array x = few_numbers(shape, t, spread, 5), kept = x.copy(), wanted = tessera::sort(x, -1);
  const Watched from = watched(x, tile);
  Beside beside;
  const auto plan = [&](const StorePtr& to) {
    return [&, to](const Options& o) { return plan_sort(from, to, beside.make(), o); };
  };
  for (const i64 budget : budgets_of(plan(fresh(shape, t, tile)), x.bytes())) {
    const Watched to = fresh(shape, t, tile);
    beside.made.clear();
    const StreamPlan p = plan(to)({.budget = budget});
    run_checked(p, budget, beside.with({from, to}));
    EXPECT_TRUE(same_bits(whole(*to), wanted)) << name(t) << " " << budget << " " << p.explain();
    EXPECT_TRUE(same_bits(x, kept));
  }
}

TEST(StreamingSort, LinesOfEveryDtypeForEveryBudget) {
  for (const DType t : sorted_dtypes)
    for (const int spread : {2, 3000}) check_sort({20011}, {3000}, t, spread);
}

TEST(StreamingSort, RowsForEveryBudget) {
  check_sort({5, 3, 2500}, {2, 3, 1000}, DType::f64, 100);
  check_sort({700, 9}, {64, 9}, DType::f32, 100);
  check_sort({3000, 1}, {64, 1}, DType::i16, 100);
}

TEST(StreamingSort, MergesInSeveralPassesWhatIsInOrderAlready) {
  const i64 n = 40000;
  for (const int step : {1, -1, 0}) {
    const Array x = Array::empty({n}, DType::i64);
    for (i64 i = 0; i < n; ++i) x.host<i64>()[i] = step * i;
    const Watched from = watched(x, {4096}), to = fresh({n}, DType::i64, {4096});
    Beside beside;
    const auto plan = [&](const Options& o) { return plan_sort(from, to, beside.make(), o); };
    const i64 budget = least_budget(plan);
    const StreamPlan p = plan({.budget = budget});
    EXPECT_NE(p.explain().find("merged 2 at a time in 6 passes"), std::string::npos) << p.explain();
    EXPECT_EQ(p.bytes_read(), 7 * x.bytes());
    EXPECT_EQ(p.bytes_written(), 7 * x.bytes());
    run_checked(p, budget, beside.with({from, to}));
    EXPECT_TRUE(same_bits(whole(*to), tessera::sort(x)));
  }
}

TEST(StreamingSort, FailuresPassAndLeaveNothingUnderWay) {
  const Array x = random_on_host({9000}, DType::f32, 3), kept = x.copy();
  const Watched from = watched(x, {1000}), to = fresh({9000}, DType::f32, {1000}),
                beside = fresh({9000}, DType::f32, {1000});
  const auto scratch = [&](std::string_view, const Shape&, DType) { return beside; };
  fail_everywhere({from, to, beside},
                  [&] { plan_sort(from, to, scratch, {.budget = 40000}).run(); });
  EXPECT_TRUE(same_bits(x, kept));
}

TEST(StreamingSort, RefusesWithASentence) {
  const Watched a = fresh({4, 5}, DType::f32, {2, 2});
  const MakeScratch none;
  EXPECT_THROW(plan_sort(a, a, none), ArgumentError);
  EXPECT_THROW(plan_sort(a, fresh({5, 4}, DType::f32, {2, 2}), none), ShapeError);
  EXPECT_THROW(plan_sort(a, fresh({4, 5}, DType::f64, {2, 2}), none), DTypeError);
  EXPECT_THROW(plan_sort(fresh({}, DType::f32, {}), fresh({}, DType::f32, {}), none), ShapeError);
  plan_sort(fresh({0, 5}, DType::f32, {1, 2}), fresh({0, 5}, DType::f32, {1, 1}), none).run();
  plan_sort(fresh({5, 0}, DType::f32, {1, 2}), fresh({5, 0}, DType::f32, {1, 1}), none).run();
}

}  // namespace
}  // namespace tessera::streaming
