// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/transforms/transform_plan.hpp"

#include "support/streams.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/streaming/plan/planning.hpp"

namespace tessera::streaming {
namespace {

constexpr Direction forward{FftKind::complex, -1}, backward{FftKind::complex, +1},
    from_real{FftKind::real_to_complex, -1}, to_real{FftKind::complex_to_real, +1};

Array in_memory(const Direction& d, const Array& x, const Shape& axes, Norm norm,
                const std::optional<Shape>& n) {
  const bool before = d.conjugate && d.kind == FftKind::complex_to_real;
  const Array from = before ? ops::conj(x) : x;
  const Array y = (d.kind == FftKind::real_to_complex   ? rfftn
                   : d.kind == FftKind::complex_to_real ? irfftn
                   : d.sign < 0                         ? fftn
                                                        : ifftn)(from, axes, norm, n);
  return d.conjugate && !before ? ops::conj(y) : y;
}

// Stores that count, without threads of their own: products of cases are many.
Watched counted(const Array& a, const Shape& tile) {
  return std::make_shared<WatchedStore>(store::memory_store(a, tile), false);
}
Watched counted_fresh(const Shape& shape, DType t, const Shape& tile) {
  return counted(Array::empty(shape, t), tile);
}

// The scratch stores that a plan asked for, in the tiles that it asked for.
struct BesideTransform {
  std::vector<Watched> made;
  MakeScratch make() {
    return [this](std::string_view, const Shape& shape, DType t, const std::optional<Shape>& tile) {
      made.push_back(counted_fresh(shape, t, *tile));
      return made.back();
    };
  }
  std::vector<Watched> with(std::vector<Watched> stores) const {
    stores.insert(stores.end(), made.begin(), made.end());
    return stores;
  }
};

struct TransformCase {
  Direction direction;
  Shape shape;
  Shape axes;
  std::optional<Shape> n = {};
  DType dtype = DType::c128;
  Norm norm = Norm::backward;
};

// Against the transform in memory, for budgets from the least on; the bytes and the peak are those
// that the plan names. Says how many passes were seen.
std::vector<std::size_t> check_transform(const TransformCase& c) {
  const Array x =
      c.dtype == DType::b1 || !is_inexact(c.dtype)
          ? ops::absolute(ops::rint(random_on_host(c.shape, DType::f64, 3))).astype(c.dtype)
          : random_on_host(c.shape, DType::f64, 3).astype(c.dtype);
  if (c.dtype == DType::c128)
    for (i64 i = 0; i < x.size(); ++i) x.host<c128>()[i].im = 0.01 * static_cast<double>(i % 89);
  const Array kept = x.copy(), wanted = in_memory(c.direction, x, c.axes, c.norm, c.n);
  const TransformSpec spec = transform_spec(c.direction, c.shape, c.dtype, c.axes, c.norm, c.n);
  EXPECT_EQ(spec.out, wanted.shape());
  EXPECT_EQ(spec.result, wanted.dtype());
  Shape tile;
  for (const i64 n : c.shape) tile.push_back(std::max<i64>(1, (n + 2) / 3));
  const Watched from = counted(x, tile);
  BesideTransform beside;
  const auto plan = [&](const StorePtr& to) {
    return [&, to](const Options& o) {
      beside.made.clear();
      return plan_transform(spec, from, to, beside.make(), o);
    };
  };
  const double tolerance = real_of(spec.working) == DType::f32 ? 2e-6 : 1e-14;
  std::vector<std::size_t> seen;
  for (const i64 budget : budgets_of(plan(fresh(spec.out, spec.result, spec.out)), x.bytes())) {
    const TransformLayout layout = transform_layout(spec, *from, {.budget = budget});
    const Watched to = counted_fresh(spec.out, spec.result, layout.tiles.back());
    const StreamPlan p = plan(to)({.budget = budget});
    EXPECT_EQ(layout.passes.size(), beside.made.size() + 1);
    run_checked(p, budget, beside.with({from, to}));
    const double error = relative(whole(*to), wanted);
    EXPECT_TRUE(error < tolerance) << error << " " << budget << " " << p.explain();
    EXPECT_TRUE(same_bits(x, kept));
    seen.push_back(layout.passes.size());
  }
  return seen;
}

bool has(const std::vector<std::size_t>& seen, std::size_t passes) {
  return std::find(seen.begin(), seen.end(), passes) != seen.end();
}

TEST(StreamingTransform, EveryKindAlongEveryAxisForEveryBudget) {
  int turn = 0;
  for (const Direction& d : {forward, backward, from_real, to_real})
    for (const Shape& axes :
         {Shape{0}, Shape{1}, Shape{2}, Shape{0, 1, 2}, Shape{2, 0}, Shape{1, 1}})
      check_transform({d,
                       {12, 15, 10},
                       axes,
                       {},
                       d.kind == FftKind::real_to_complex ? DType::f64 : DType::c128,
                       static_cast<Norm>(turn++ % 3)});
}

TEST(StreamingTransform, SizesThatCutOrPad) {
  for (const Direction& d : {forward, from_real, to_real}) {
    const DType t = d.kind == FftKind::real_to_complex ? DType::f32 : DType::c64;
    for (const i64 n : {1, 2, 7, 30, 64, 97, 100})
      for (const i64 m : {-1, 5, 40}) {
        check_transform({d, {30, 21}, {0, 1}, Shape{m, n}, t});
        check_transform({d, {30, 21}, {1, 0}, Shape{m, n}, t});
      }
    check_transform({d, {30, 21}, {1, 1}, Shape{9, 40}, t});
  }
}

TEST(StreamingTransform, LinesThatFitInTwoPassesOnly) {
  for (const Direction& d :
       {forward, backward, from_real, to_real, Direction{FftKind::real_to_complex, -1, true},
        Direction{FftKind::complex_to_real, +1, true}}) {
    const DType t = d.kind == FftKind::real_to_complex ? DType::f64 : DType::c128;
    for (const i64 n : {2048, 5005, 9, 2 * 2003})
      for (const i64 there : {n, n / 3}) {
        const auto seen = check_transform({d, {there}, {0}, Shape{n}, t});
        EXPECT_TRUE(has(seen, 1));
        if (n > 2000 && n % 2003 != 0) {
          EXPECT_TRUE(has(seen, 2)) << n;
        }
      }
    EXPECT_TRUE(has(check_transform({d, {3, 2048, 2}, {1}, {}, t}), 2));
  }
  EXPECT_TRUE(has(check_transform({forward, {512, 300}, {0, 1}, {}, DType::c64}), 4));
}

TEST(StreamingTransform, EveryDtypeThatArraysHave) {
  for (const DType t :
       {DType::b1, DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32,
        DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64, DType::c64, DType::c128})
    for (const Direction& d : {forward, from_real, to_real})
      if (d.kind != FftKind::real_to_complex || !is_complex(t))
        for (const Shape& axes : {Shape{0, 1}, Shape{0}})
          check_transform({d, {40, 9}, axes, {}, t});
}

TEST(StreamingTransform, SmallAndEmptyArrays) {
  check_transform({forward, {1}, {0}});
  check_transform({forward, {1, 1, 1}, {0, 2}});
  check_transform({forward, {7, 5}, {}, {}, DType::f32});
  const TransformSpec none = transform_spec(forward, {0, 5}, DType::c64, {1});
  const Watched from = watched(Array::empty({0, 5}, DType::c64), {1, 5}),
                to = fresh({0, 5}, DType::c64, {1, 5});
  EXPECT_EQ(plan_transform(none, from, to, {}, {.budget = 1}).steps(), 0);
  EXPECT_THROW(transform_spec(forward, {0, 5}, DType::c64, {0}), ArgumentError);
  EXPECT_THROW(transform_spec(from_real, {4}, DType::c64, {0}), DTypeError);
  EXPECT_THROW(transform_spec(to_real, {1}, DType::c64, {0}), ArgumentError);
  EXPECT_THROW(transform_spec(forward, {4}, DType::c64, {0}, Norm::ortho, Shape{2, 3}),
               ArgumentError);
}

TEST(StreamingTransform, PrimeLinesThatDoNotFitAreRefusedAtOnce) {
  const i64 n = 2147483647;  // 32 GiB a line
  const TransformSpec spec = transform_spec(forward, {n}, DType::c128, {0});
  const auto unmade = [](i64 points) {
    return Planning::unmade_store("a line", store::TileGrid::square({points}, DType::c128));
  };
  i64 least = 0;
  try {
    transform_layout(spec, *unmade(n), {.budget = i64{1} << 30});
    ADD_FAILURE() << "not refused";
  } catch (const OutOfMemory& e) {
    const std::string text = e.what(), before = "the least for these operands is ";
    least = std::atoll(text.c_str() + text.find(before) + before.size());
  }
  EXPECT_GT(least, 16 * n);
  // A length that has factors is taken in two passes.
  const TransformSpec even = transform_spec(forward, {n + 1}, DType::c128, {0});
  EXPECT_EQ(transform_layout(even, *unmade(n + 1), {.budget = i64{1} << 30}).passes.size(), 2u);
}

TEST(StreamingTransform, FailuresPassAndLeaveNothingUnderWay) {
  const Array x = random_on_host({64, 48}, DType::c64, 1);
  const Watched from = watched(x, {20, 20}), to = fresh({64, 48}, DType::c64, {20, 20});
  const Watched beside = fresh({64, 48}, DType::c64, {9, 9});
  const auto scratch = [&](std::string_view, const Shape&, DType) -> StorePtr { return beside; };
  const TransformSpec spec = transform_spec(forward, {64, 48}, DType::c64, {0, 1});
  const Options little{.budget = 40000};
  ASSERT_EQ(transform_layout(spec, *from, little).passes.size(), 2u);
  fail_everywhere({from, to, beside},
                  [&] { plan_transform(spec, from, to, scratch, little).run(); });
}

TEST(StreamingTransform, ShiftsAreThoseOfArrays) {
  for (const Shape& shape : {Shape{9}, Shape{1}, Shape{6, 7}, Shape{4, 5, 3}})
    for (const bool inverse : {false, true})
      for (const Shape& axes : {Shape{0}, Shape{-1}, Shape{0, 0}, Shape{-1, 0}}) {
        const Array x = random_on_host(shape, DType::f32, 2);
        const Watched from = watched(x, Shape(shape.size(), 4));
        const auto plan = [&](const StorePtr& to) {
          return [&, to](const Options& o) { return plan_shift(from, to, axes, inverse, o); };
        };
        for (const i64 budget :
             budgets_of(plan(fresh(shape, DType::f32, Shape(shape.size(), 3))), x.bytes())) {
          const Watched to = fresh(shape, DType::f32, Shape(shape.size(), 3));
          run_checked(plan(to)({.budget = budget}), budget, {from, to});
          EXPECT_TRUE(same_bits(whole(*to), fftshift(x, axes, inverse)));
        }
      }
}

}  // namespace
}  // namespace tessera::streaming
