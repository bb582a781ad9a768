// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/matmul.hpp"

#include <cmath>
#include <filesystem>

#include "support/devices.hpp"
#include "support/files.hpp"
#include "support/streams.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/device/streamer.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/store/io/io_engine.hpp"
#include "tessera/store/tiles/open_store.hpp"

namespace tessera::streaming {
namespace {

Array op_of(const Array& x, Turn turn) {
  return turn == Turn::none         ? x
         : turn == Turn::transposed ? x.transpose()
                                    : ops::conj(x).transpose();
}

class StreamingMatmul : public testing::TestWithParam<std::tuple<Shape, DType, Device>> {
 protected:
  void SetUp() override { set_stream_buffer_size(3000); }  // boxes are cut on their way to a device
  void TearDown() override { set_stream_buffer_size(default_stream_buffer); }
};

TEST_P(StreamingMatmul, EqualsThatOfArraysForEveryBudget) {
  const auto& [size, t, device] = GetParam();
  const i64 m = size[0], k = size[1], n = size[2];
  const Turn turns[] = {Turn::none, Turn::transposed, Turn::adjoint};
  int number = 0;
  const Watched nothing = fresh({m, n}, t, {16, 16});
  const Array a = random_on_host({m, k}, t, 1), b = random_on_host({k, n}, t, 2);
  const auto plan_of = [&](const Options& o) {
    return plan_matmul(watched(a, {16, 20}), watched(b, {32, 9}), nothing, {.device = device}, o);
  };
  for (const i64 budget : budgets_of(plan_of, a.bytes() + b.bytes() + m * n * size_of(t))) {
    if (budget > 0 && budget < 4 * size_of(t) * 64 && m * n * k > 20000) continue;  // minutes
    const MatmulOptions what{.alpha = {1.5, 0},
                             .beta = {number % 2 == 0 ? 0.0 : -0.5, 0},
                             .turn_a = turns[number % 3],
                             .turn_b = turns[number / 3 % 3],
                             .device = device};
    ++number;
    // op(stored) is a
    const Array sa = op_of(a, what.turn_a).copy(), sb = op_of(b, what.turn_b).copy();
    const Array kept_a = sa.copy(), kept_b = sb.copy();
    const Array start = what.beta.re == 0 ? Array::empty({m, n}, t) : random_on_host({m, n}, t, 3);
    const Array expected = ops::multiply(tessera::matmul(a, b), Value(1.5));
    const Array all = what.beta.re == 0
                          ? expected
                          : ops::add(expected, ops::multiply(start, Value(what.beta.re)));
    const Watched wa = watched(sa, {16, 20}), wb = watched(sb, {32, 9}),
                  wc = watched(start, {16, 16});
    run_checked(plan_matmul(wa, wb, wc, what, {.budget = budget}), budget, {wa, wb, wc});
    const double tolerance = 8 * epsilon_of(t) * std::sqrt(static_cast<double>(k) + 1);
    EXPECT_FALSE(!(relative(whole(*wc), all) < tolerance)) << budget;
    EXPECT_TRUE(same_bits(sa, kept_a) && same_bits(sb, kept_b));
  }
}

INSTANTIATE_TEST_SUITE_P(Every, StreamingMatmul,
                         testing::Combine(testing::Values(Shape{67, 45, 83}, Shape{150, 3, 20},
                                                          Shape{7, 300, 5}, Shape{1, 40, 33}),
                                          testing::Values(DType::f32, DType::f64, DType::c64,
                                                          DType::c128),
                                          testing::Values(cpu, sim0)));

TEST(StreamingMatmul, MovesFewBytes) {
  const auto make = [](const Box&, const Array& into) { into.fill(Value(1.0)); };
  for (const i64 n : {4000, 20000})
    for (const double part : {0.02, 0.1, 0.5}) {
      const store::TileGrid grid({n, n}, {512, 512}, DType::f64);
      const i64 budget = static_cast<i64>(part * static_cast<double>(grid.bytes()));
      // c is never touched: a plan is made and asked
      const StreamPlan plan = plan_matmul(
          store::generated_store("ones", grid, make), store::generated_store("ones", grid, make),
          store::memory_store(Array::empty({1, 1}, DType::f64).broadcast_to({n, n}), {512, 512}),
          {}, {.budget = budget});
      const double elements = static_cast<double>(budget) / 8 / 3, size = static_cast<double>(n);
      EXPECT_LT(static_cast<double>(plan.bytes_read()),
                1.05 * 8 * 2 * size * size * size / std::sqrt(elements))
          << plan.explain();
      EXPECT_EQ(plan.bytes_written(), grid.bytes());
      EXPECT_LE(plan.bytes_held(), budget);
    }
}

TEST(StreamingMatmul, ReadsEverythingOnceWhereAFactorFits) {
  const Array a = random_on_host({30, 20}, DType::f64, 1),
              b = random_on_host({20, 4000}, DType::f64, 2);
  for (const bool turned : {false, true}) {
    const Watched wa = watched(turned ? b.transpose().copy() : a, {16, 16}),
                  wb = watched(turned ? a.transpose().copy() : b, {16, 16}),
                  wc = fresh(turned ? Shape{4000, 30} : Shape{30, 4000}, DType::f64, {16, 16});
    const StreamPlan plan = plan_matmul(wa, wb, wc, {}, {.budget = 60000});
    EXPECT_EQ(plan.bytes_read(), a.bytes() + b.bytes()) << plan.explain();
    run_checked(plan, 60000, {wa, wb, wc});
    const Array expected = tessera::matmul(a, b);
    EXPECT_FALSE(!(relative(whole(*wc), turned ? expected.transpose() : expected) < 1e-13));
  }
}

TEST(StreamingMatmul, TakesWholeTilesOfFiles) {
  const auto file = [](const std::string& name, const Shape& shape, const Shape& tile) {
    std::filesystem::remove(path_of(name));
    return store::create_store(path_of(name), store::TileGrid(shape, tile, DType::f64));
  };
  const StorePtr a = file("a.tiles", {1400, 1300}, {150, 130}),
                 b = file("b.tiles", {1300, 1500}, {130, 150}),
                 c = file("c.tiles", {1400, 1500}, {150, 150});
  for (const i64 mib : {2, 3, 5, 8}) {
    const std::string text = plan_matmul(a, b, c, {}, {.budget = mib << 20}).explain();
    const std::size_t end = text.find(" columns of A"), begin = text.rfind(' ', end - 1);
    ASSERT_NE(end, std::string::npos) << text;
    EXPECT_EQ(std::stoi(text.substr(begin, end - begin)) % 130, 0) << text;
  }
}

TEST(StreamingMatmul, PassesFailures) {
  const Array a = random_on_host({40, 30}, DType::f64, 1),
              b = random_on_host({30, 50}, DType::f64, 2);
  const Watched wa = watched(a, {16, 16}), wb = watched(b, {16, 16}),
                wc = fresh({40, 50}, DType::f64, {16, 16});
  for (const Device device : {cpu, sim0})
    fail_everywhere({wa, wb, wc}, [&] {
      plan_matmul(wa, wb, wc, {.beta = {1, 0}, .device = device}, {.budget = 19000}).run();
    });
}

TEST(StreamingMatmul, PassesFailuresOfItsDevice) {
  const Array a = random_on_host({90, 80}, DType::f64, 1),
              b = random_on_host({80, 70}, DType::f64, 2);
  const Watched wa = watched(a, {16, 16}), wb = watched(b, {16, 16}),
                wc = fresh({90, 70}, DType::f64, {16, 16});
  const auto run = [&] {
    return run_checked(plan_matmul(wa, wb, wc, {.device = sim1}, {.budget = 60000}), 60000,
                       {wa, wb, wc});
  };
  for (const i64 after : {0, 3, 17}) {
    sim::fail_task_after(1, after);
    EXPECT_THROW(run(), DeviceError);
    sim::restore(1);
    EXPECT_EQ(wa->under_way + wb->under_way + wc->under_way, 0);
  }
  run();
  EXPECT_LT(relative(whole(*wc), tessera::matmul(a, b)), 1e-13);
}

// Of what is stored in files what lies between is counted as it is read.
TEST(StreamingMatmul, ReadsFilesForADeviceAsItSays) {
  const auto file = [](const std::string& name, const Array& x, const Shape& tile) {
    std::filesystem::remove(path_of(name));
    const StorePtr s =
        store::create_store(path_of(name), store::TileGrid(x.shape(), tile, x.dtype()));
    store::write_box(*s, s->grid().whole(), x);
    return s;
  };
  const Array x = random_on_host({300, 260}, DType::f64, 1),
              y = random_on_host({260, 310}, DType::f64, 2);
  for (const std::string ending : {".tiles", ".npy"}) {
    const StorePtr a = file("da" + ending, x, {50, 130}), b = file("db" + ending, y, {130, 50});
    const Watched c = fresh({300, 310}, DType::f64, {64, 64});
    StreamPlan plan = plan_matmul(a, b, c, {.device = sim0}, {.budget = 400000});
    const i64 before = store::io_traffic().read;
    plan.run();
    const auto read = static_cast<double>(store::io_traffic().read - before);
    EXPECT_NEAR(read, static_cast<double>(plan.figures().disk().read), 0.02 * read)
        << plan.explain();
    EXPECT_LT(relative(whole(*c), tessera::matmul(x, y)), 1e-13);
  }
}

TEST(StreamingMatmul, TakesNothingAndRefusesWithASentence) {
  const Watched a = fresh({4, 0}, DType::f64, {2, 2}), b = fresh({0, 5}, DType::f64, {2, 2}),
                c = fresh({4, 5}, DType::f64, {2, 2});
  matmul(a, b, c);
  EXPECT_EQ(size(whole(*c)), 0.0);
  EXPECT_THROW(matmul(c, c, fresh({4, 5}, DType::f64, {2, 2})), ShapeError);
  EXPECT_THROW(matmul(a, b, fresh({4, 5}, DType::f32, {2, 2})), DTypeError);
  EXPECT_THROW(matmul(a, b, fresh({4, 5}, DType::i64, {2, 2})), DTypeError);
  const Watched square = fresh({4, 4}, DType::f64, {2, 2});
  EXPECT_THROW(matmul(square, square, square), ArgumentError);
}

}  // namespace
}  // namespace tessera::streaming
