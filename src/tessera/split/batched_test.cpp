// SPDX-License-Identifier: Apache-2.0
// Batched operators on sim devices: the same numbers as the operator, exact bytes, few transfers,
// and what happens when a device is slow, full or lost. tests/laws does the same for every
// operator.
#include "tessera/split/batched.hpp"

#include <gtest/gtest.h>

#include <set>

#include "support/devices.hpp"
#include "support/problems.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

NamedLinop matrix(i64 m = 6, i64 n = 8) {
  return Dense(random_on_host({m, n}, DType::f64, 2), dims("MN"), dims("N"), dims("M"));
}

void expect_same(const NamedLinop& a, const NamedLinop& b, const Array& x) {
  const Array ax = a(x);
  const Array bx = b(x);
  EXPECT_EQ(bx.device(), x.device());
  EXPECT_LT(distance(bx, ax), 1e-11);
  EXPECT_LT(distance(b.H()(ax), a.H()(ax)), 1e-10);
  EXPECT_LT(distance(b.N()(x), a.N()(x)), 1e-10);
}

DeviceMatrix row(int n) {
  std::vector<RankDevice> places;
  for (int i = 0; i < n; ++i) places.emplace_back(sim_at(i));
  return places;
}

i64 transfers(const Plan& plan) {
  i64 n = 0;
  for (const Step& s : plan.steps()) n += s.kind == Step::Kind::transfer;
  return n;
}

Plan plan_of(const NamedLinop& a, const Shape& shape, Device device = cpu) {
  return a.plan({.shape = shape, .dtype = DType::f64, .device = device});
}

TEST(Batched, EqualsTheOperator) {  // acceptance case 127
  const NamedLinop a = problems::batched_matrix();
  const Array x = random_on_host({10, 7}, DType::f64, 3);
  expect_same(a, create_batched_linop(a, {.batch_sizes = {{"N", 2}, {"M", 1}}}), x);
  for (int n = 1; n <= 8; ++n)
    expect_same(
        a, create_batched_linop(a, {.batch_sizes = {{"N", 2}, {"M", 1}}, .device_matrix = row(n)}),
        x);
  const std::vector<BatchSpec> two{{.batch_sizes = {{"B", 5}}, .device_matrix = row(2)},
                                   {.batch_sizes = {{"N", 3}, {"M", 2}}}};
  expect_same(a, create_batched_linop(a, two), x);
  const std::vector<BatchSpec> inner{{.batch_sizes = {{"B", 5}}, .device_matrix = row(2)},
                                     {.batch_sizes = {{"N", 3}}, .device_matrix = {"cpu", "sim:3"}},
                                     {.batch_sizes = {{"M", 1}}, .device_matrix = row(4)}};
  expect_same(a, create_batched_linop(a, inner), x);
}

TEST(Batched, BaseDeviceTakesInputAndGivesOutput) {
  const NamedLinop a = problems::batched_matrix();
  const NamedLinop b = create_batched_linop(
      a, {.batch_sizes = {{"M", 1}}, .device_matrix = {"cpu", "sim:1"}, .base_device = "sim:0"});
  EXPECT_EQ(b.device(), sim_at(0));
  const Array x = random_on_host({10, 7}, DType::f64, 4).to(sim_at(0));
  expect_same(a.to(sim_at(0)), b, x);
  EXPECT_THROW((void)b(x.to(cpu)), DeviceError);
}

TEST(Batched, ReassemblyFollowsTheNames) {
  const NamedLinop a = problems::batched_matrix();
  auto kinds = [&](const DimSizes& sizes) {
    const NamedLinop b = create_batched_linop(a, {.batch_sizes = sizes});
    std::string text;
    for (NamedLinop at = b; !at.parts().empty(); at = at.parts().front())
      text += cat(at.kind(), " ", at.details(), ";");
    return text;
  };
  EXPECT_EQ(kinds({{"B", 4}}), "Concat idim=B odim=B;");
  EXPECT_EQ(kinds({{"M", 2}}), "Concat odim=M;");
  EXPECT_EQ(kinds({{"N", 2}}), "Concat idim=N;");
  EXPECT_EQ(kinds({{"N", 2}, {"M", 2}, {"B", 5}}),
            "Concat idim=B odim=B;Concat odim=M;Concat idim=N;");
  const NamedLinop chained =
      matrix(6, 8).rename({{"N", "K"}}) *
      NamedLinop(Dense(random_on_host({8, 5}, DType::f64, 5), dims("KL"), dims("L"), dims("K")));
  const NamedLinop b = create_batched_linop(chained, {.batch_sizes = {{"K", 3}}});
  EXPECT_EQ(b.kind(), "Add");
  EXPECT_EQ(b.parts().size(), 3u);
  expect_same(chained, b, random_on_host({5}, DType::f64, 6));
}

TEST(Batched, OneTileOnTheBaseIsTheOperator) {
  const NamedLinop a = matrix();
  EXPECT_EQ(create_batched_linop(a, {.batch_sizes = {{"N", 99}}}).kind(), "Dense");
  const NamedLinop there =
      create_batched_linop(a, {.batch_sizes = {}, .device_matrix = {"sim:1", "sim:2"}});
  EXPECT_EQ(there.kind(), "Chain");
  expect_same(a, there, random_on_host({8}, DType::f64, 7));
}

TEST(Batched, UnknownSizesComeFromTheShapeOfAnInput) {
  const NamedLinop a =
      NamedLinop(FFT(1, dims("C"))) *
      NamedLinop(Diagonal(random_on_host({8}, DType::f64, 8), dims("CNx"), dims("C")));
  const BatchSpec spec{.batch_sizes = {{"C", 2}}, .device_matrix = row(2)};
  EXPECT_THROW((void)create_batched_linop(a, spec), DimError);
  const Array x = random_on_host({5, 8}, DType::c128, 9);
  const NamedLinop b = create_batched_linop(a, spec, x.shape());
  expect_same(a, b, x);
  EXPECT_EQ(b.size("C"), 5);
  const std::vector<BatchSpec> two{spec, {.batch_sizes = {{"C", 1}}}};
  expect_same(a, create_batched_linop(a, two, x.shape()), x);
}

TEST(Batched, IsAnOrdinaryOperator) {
  const NamedLinop a = problems::batched_matrix();
  const Array x = random_on_host({10, 7}, DType::f64, 10);
  const NamedLinop b =
      create_batched_linop(a, {.batch_sizes = {{"N", 2}, {"B", 3}}, .device_matrix = row(3)});
  EXPECT_LT(distance(b.rename({{"N", "Q"}, {"B", "R"}})(x), a(x)), 1e-11);
  EXPECT_EQ(b.H().H(), b);
  EXPECT_LT(distance(b.to_dense(x.shape(), DType::f64), a.to_dense(x.shape(), DType::f64)), 1e-11);
  EXPECT_LT(distance((b + a)(x), ops::multiply(a(x), 2.0)), 1e-11);
  const Tile tile{{"N", 1, 6}, {"B", 2, 5}, {"M", 1, 3}};
  const Array part = x.slice(0, 2, 5).slice(1, 1, 6);
  expect_same(a.split(tile), b.split(tile), part);
  for (const SplitTile& t : split_linop(b, {{"N", 3}}).tiles) EXPECT_EQ(t.op.device(), cpu);
  const NamedLinop again = create_batched_linop(b, {.batch_sizes = {{"M", 2}, {"N", 3}}});
  expect_same(a, again, x);
  EXPECT_THROW(
      (void)create_batched_linop(b, {.batch_sizes = {{"M", 2}}, .device_matrix = {"sim:5"}}),
      SplitError);
}

TEST(Batched, ShowsWhichTileIsWhere) {
  const NamedLinop b = create_batched_linop(
      matrix().named("A"), {.batch_sizes = {{"M", 3}}, .device_matrix = {"sim:0", "sim:1"}});
  EXPECT_EQ(b.name(), "A");
  const std::string tree = b.tree();
  EXPECT_NE(tree.find("tile M=0:3 @ sim:0"), std::string::npos) << tree;
  EXPECT_NE(tree.find("tile M=3:6 @ sim:1"), std::string::npos) << tree;
  EXPECT_NE(tree.find("cpu -> sim:1"), std::string::npos) << tree;
  const std::string text = plan_of(b, {8}).explain();
  EXPECT_NE(text.find("2 tiles on sim:0, sim:1"), std::string::npos) << text;
}

TEST(Batched, DevicesHoldTheBytesOfTheirTilesOnly) {  // acceptance case 129
  const Array w = random_on_host({40, 50}, DType::f64, 11);
  const NamedLinop a = Dense(w, dims("MN"), dims("N"), dims("M"));
  for (const DimSizes& sizes : {DimSizes{{"M", 10}}, {{"N", 13}}, {{"M", 20}, {"N", 10}}}) {
    i64 before[4];
    for (int i = 0; i < 4; ++i) before[i] = memory_stats(sim_at(i)).in_use;
    const NamedLinop b = create_batched_linop(a, {.batch_sizes = sizes, .device_matrix = row(4)});
    i64 expected[4] = {};
    const SplitGrid g = split_linop(a, sizes);
    const DeviceMatrix where =
        BatchSpec{.batch_sizes = sizes, .device_matrix = row(4)}.broadcast_device_matrix(a);
    for (std::size_t i = 0; i < g.tiles.size(); ++i)
      expected[where.places[i].device.index] +=
          count_of(g.tiles[i].op.arrays().front().shape()) * 8;
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(memory_stats(sim_at(i)).in_use - before[i], expected[i])
          << to_text(sizes) << " " << i;
  }
}

TEST(Batched, ArraysMayStayAndBeFetched) {
  const NamedLinop a = matrix(40, 50);
  const i64 before = memory_stats(sim_at(1)).in_use;
  const NamedLinop b = create_batched_linop(
      a, {.batch_sizes = {{"M", 10}}, .device_matrix = row(2), .resident = false});
  EXPECT_EQ(memory_stats(sim_at(1)).in_use, before);
  EXPECT_NE(b.tree().find("Fetched"), std::string::npos) << b.tree();
  expect_same(a, b, random_on_host({50}, DType::f64, 18));
}

// What tiles of one device add to one place is summed there: one transfer back per device.
TEST(Batched, PartialSumsTravelOncePerDevice) {
  const NamedLinop a = matrix(6, 8);
  for (const auto& [sizes, tiles] :
       {std::pair<DimSizes, i64>{{{"N", 1}}, 8}, {{{"N", 2}, {"M", 6}}, 4}}) {
    const NamedLinop b = create_batched_linop(a, {.batch_sizes = sizes, .device_matrix = row(2)});
    EXPECT_EQ(transfers(plan_of(b, {8})), tiles + 2) << plan_of(b, {8}).explain();
    expect_same(a, b, random_on_host({8}, DType::f64, 19));
  }
  // Rows inside columns, as in the adjoint of columns inside rows.
  const NamedLinop b =
      create_batched_linop(a, {.batch_sizes = {{"M", 3}, {"N", 2}},
                               .device_matrix = DeviceMatrix({2, 1}, {"sim:0", "sim:1"})});
  EXPECT_EQ(transfers(plan_of(b, {8})), 2 * 4 + 2) << plan_of(b, {8}).explain();
  EXPECT_EQ(transfers(plan_of(b.H(), {6})), 2 + 2 * 4) << plan_of(b.H(), {6}).explain();
  const std::vector<BatchSpec> two{{.batch_sizes = {{"N", 2}}, .device_matrix = row(2)},
                                   {.batch_sizes = {{"M", 2}}}};
  const NamedLinop c = create_batched_linop(a, two);
  EXPECT_EQ(transfers(plan_of(c, {8})), 4 + 2) << plan_of(c, {8}).explain();
  expect_same(a, c, random_on_host({8}, DType::f64, 20));
}

// The middle of A.H A: what was computed on a device is not sent home and back.
TEST(Batched, NormalMakesNoRoundTripInTheMiddle) {
  const NamedLinop a = matrix(6, 8);
  const NamedLinop b =
      create_batched_linop(a, {.batch_sizes = {{"M", 2}}, .device_matrix = row(3)});
  EXPECT_EQ(transfers(plan_of(b.N(), {8})), 6) << plan_of(b.N(), {8}).explain();
  const NamedLinop points = Diagonal(random_on_host({9}, DType::f64, 12), dims("X"));
  const NamedLinop p =
      create_batched_linop(points, {.batch_sizes = {{"X", 3}}, .device_matrix = row(3)});
  EXPECT_EQ(transfers(plan_of(p.N(), {9})), 6);
}

i64 multiplications(const NamedLinop& a, const Shape& shape) {
  i64 n = 0;
  const Plan p = plan_of(a, shape);
  for (const Step& s : p.steps()) n += s.label.find("matmul") != std::string::npos;
  return n;
}

TEST(Batched, NormalCostsTwoApplicationsOfEachTile) {  // acceptance cases 72 and 75
  const NamedLinop a = matrix(8, 16);
  for (const DimSizes& sizes : {DimSizes{{"N", 2}}, {{"M", 1}}, {{"M", 2}, {"N", 4}}}) {
    const Using apart_tiles(config().rewrite_gram, false);
    const NamedLinop b = create_batched_linop(a, {.batch_sizes = sizes, .device_matrix = row(2)});
    const i64 tiles = static_cast<i64>(split_linop(a, sizes).tiles.size());
    EXPECT_LE(multiplications(b.N(), {16}), 2 * tiles) << to_text(sizes);
    EXPECT_GT(multiplications(b.N(), {16}), 0);
  }
}

TEST(Batched, DevicesThatAreNotThereAreRefusedAtOnce) {
  const NamedLinop a = matrix();
  auto with = [&](const RankDevice& p) {
    return create_batched_linop(a, {.batch_sizes = {{"N", 4}}, .device_matrix = {p}});
  };
  EXPECT_THROW((void)with(RankDevice(sim_at(99))), DeviceError);
  EXPECT_THROW((void)with("rank1/sim:0"), CommError);
  if (!why_unavailable(Kind::cuda).empty()) {
    EXPECT_THROW((void)with("cuda:0"), NotAvailable);
  }
  EXPECT_THROW((void)create_batched_linop(a, std::vector<BatchSpec>{}), ArgumentError);
}

// --- devices that are slow, full or lost

TEST(BatchedFaults, RepeatedRunsDoNotOvertakeTheirInput) {
  const Using slow(config().sim_delay_us, i64{150});
  const NamedLinop a = matrix();
  for (const DimSizes& sizes : {DimSizes{{"M", 2}}, {{"N", 3}}, {{"M", 3}, {"N", 4}}})
    for (const Device base : {cpu, sim_at(0)}) {
      const NamedLinop b = create_batched_linop(
          a, {.batch_sizes = sizes, .device_matrix = row(3), .base_device = base});
      const Array x = random_on_host({8}, DType::f64, 13).to(base),
                  y = zeros({6}, DType::f64, base);
      std::vector<Array> results, expected;
      for (int i = 0; i < 6; ++i) {
        const Array next = random_on_host({8}, DType::f64, 20 + static_cast<std::uint64_t>(i));
        expected.push_back(a(next));
        x.copy_from(next.to(base));  // while the run before may still read it
        b(x, y);
        results.push_back(y.copy());
      }
      for (std::size_t i = 0; i < results.size(); ++i)
        EXPECT_LT(distance(results[i], expected[i]), 1e-12) << to_text(sizes) << " run " << i;
    }
}

struct Whole {  // gives the device back whatever a test did to it
  int index;
  ~Whole() { sim::restore(index); }
};

TEST(BatchedFaults, OutOfMemoryIsASentenceAndLeavesInputsIntact) {
  const NamedLinop a = matrix(60, 80);
  const Array x = random_on_host({80}, DType::f64, 14), before = x.copy();
  const Whole device{1};
  trim_pool(sim_at(1));
  sim::fail_allocation_after(1, 0);
  const BatchSpec spec{.batch_sizes = {{"M", 30}}, .device_matrix = row(2)};
  try {
    (void)create_batched_linop(a, spec)(x);
    ADD_FAILURE() << "no error";
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("sim:1"), std::string::npos) << e.what();
  }
  sim::restore(1);
  EXPECT_EQ(distance(x, before), 0);
  expect_same(a, create_batched_linop(a, spec), x);
}

TEST(BatchedFaults, TemporariesThatDoNotFitAreASentenceToo) {
  const NamedLinop a = matrix(60, 80);
  const Array x = random_on_host({80}, DType::f64, 15), before = x.copy();
  const BatchSpec spec{.batch_sizes = {{"M", 30}}, .device_matrix = row(2)};
  const NamedLinop b = create_batched_linop(a, spec);
  const Whole device{1};
  trim_pool(sim_at(1));
  sim::fail_allocation_after(1, 0);
  EXPECT_THROW((void)b(x), OutOfMemory);
  sim::restore(1);
  EXPECT_EQ(distance(x, before), 0);
  expect_same(a, b, x);
}

TEST(BatchedFaults, AFailedTaskIsAnErrorOfTheRun) {
  const NamedLinop a = matrix();
  const BatchSpec spec{.batch_sizes = {{"M", 2}}, .device_matrix = row(3)};
  const Array x = random_on_host({8}, DType::f64, 16), before = x.copy();
  const Whole device{2};
  const NamedLinop b = create_batched_linop(a, spec);
  expect_same(a, b, x);
  sim::fail_task_after(2, 0);
  EXPECT_THROW((void)b(x), DeviceError);
  EXPECT_EQ(distance(x, before), 0);
}

TEST(BatchedFaults, ALostDeviceIsAnErrorAndNothingHangs) {
  const NamedLinop a = matrix();
  const BatchSpec spec{.batch_sizes = {{"N", 2}}, .device_matrix = row(4)};
  const Array x = random_on_host({8}, DType::f64, 17), before = x.copy();
  const Whole device{3};
  {
    const NamedLinop b = create_batched_linop(a, spec);
    expect_same(a, b, x);
    sim::lose_device(3);
    EXPECT_THROW((void)b(x), DeviceError);
    EXPECT_THROW((void)create_batched_linop(a, spec), DeviceError);
  }
  EXPECT_EQ(distance(x, before), 0);
  sim::restore(3);
  expect_same(a, create_batched_linop(a, spec), x);
}

}  // namespace
}  // namespace tessera
