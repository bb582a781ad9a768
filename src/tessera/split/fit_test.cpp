// SPDX-License-Identifier: Apache-2.0
#include "tessera/split/fit.hpp"

#include <gtest/gtest.h>

#include "support/devices.hpp"
#include "support/problems.hpp"
#include "tessera/device/memory.hpp"

namespace tessera {
namespace {

NamedLinop coils(i64 n, i64 grid) {
  const Array maps = Random(1).normal({n, grid, grid}, DType::c64);
  return FFT(2, dims("C"), std::pair(dims("NxNy"), dims("KxKy"))) *
         Dense(maps, dims("CNxNy"), dims("NxNy"), dims("CNxNy"));
}

const DeviceBytes& memory_on(const Fitted& f, Device d) {
  for (const DeviceBytes& m : f.forecast.memory)
    if (m.device == d) return m;
  throw ArgumentError("not used");
}

// The forecast is a promise: a device that may hold exactly so many bytes is enough, and one byte
// less is not.
void expect_exact(const Fitted& f, const Array& x, const Array& expected, Device d) {
  const i64 promised = memory_on(f, d).total();
  trim_pool(d);
  const i64 before = memory_stats(d).in_use - memory_on(f, d).arrays;
  set_memory_budget(d, before + promised);
  reset_peak(d);
  const NamedLinop A = f;
  EXPECT_LT(relative(A(x), expected), 1e-5);
  EXPECT_EQ(memory_stats(d).peak, before + promised);
  set_memory_budget(d, 0);
}

TEST(Fit, WholeWhereItFits) {
  const NamedLinop A = coils(4, 16);
  const Array x = Random(2).normal({16, 16}, DType::c64);
  const Fitted f = fit(A, {.shape = {16, 16}, .budget = {{sim0, i64{1} << 30}}, .devices = {sim0}});
  EXPECT_LT(relative(NamedLinop(f)(x), A(x)), 1e-5);
}

TEST(Fit, TilesUnderABudgetAreExactInBytes) {
  const NamedLinop A = coils(12, 32);
  const Array x = Random(2).normal({32, 32}, DType::c64), expected = A(x);
  i64 tried = 0;
  for (const i64 budget : {400'000, 150'000, 90'000, 74'000}) {
    const Fitted f = fit(A, {.shape = {32, 32}, .budget = {{sim0, budget}}});
    EXPECT_LE(memory_on(f, sim0).total(), budget) << f.explain();
    EXPECT_FALSE(f.reasons.empty());
    expect_exact(f, x, expected, sim0);
    ++tried;
  }
  EXPECT_EQ(tried, 4);
}

TEST(Fit, TwoDevicesShareTheWork) {
  const NamedLinop A = coils(12, 32);
  const Array x = Random(2).normal({32, 32}, DType::c64), expected = A(x);
  const Fitted f = fit(A, {.shape = {32, 32}, .budget = {{sim0, 120'000}, {sim1, 120'000}}});
  EXPECT_LE(memory_on(f, sim0).total(), 120'000);
  EXPECT_LE(memory_on(f, sim1).total(), 120'000);
  EXPECT_GT(memory_on(f, sim1).total(), 0);
  EXPECT_LT(relative(NamedLinop(f)(x), expected), 1e-5);
  const Array y = Random(3).normal(expected.shape(), DType::c64);
  EXPECT_LT(relative(NamedLinop(f).H()(y), A.H()(y)), 1e-5);
  EXPECT_LT(relative(NamedLinop(f).N()(x), A.N()(x)), 1e-5);
}

// Input, output and the operator's own arrays live on a device that is counted too.
TEST(Fit, BytesOfTheBaseAreExactToo) {
  const Device sim2{Kind::sim, 2}, sim3{Kind::sim, 3};
  trim_pool(sim2);
  const i64 before = memory_stats(sim2).in_use;
  const NamedLinop A = coils(12, 32).to(sim2);
  const Array x = Random(2).normal({32, 32}, DType::c64, sim2);
  for (const bool here : {true, false}) {
    const Fitted f = fit(A, {.shape = {32, 32},
                             .device = sim2,
                             .budget = {{sim3, 90'000}},
                             .devices = here ? std::vector{sim2, sim3} : std::vector{sim3}});
    const NamedLinop fitted = f;
    for (const DeviceBytes& m : f.forecast.memory) {
      trim_pool(m.device);
      reset_peak(m.device);
    }
    const Array y = fitted(x);
    for (const DeviceBytes& m : f.forecast.memory)
      EXPECT_EQ(memory_stats(m.device).peak - (m.device == sim2 ? before : 0), m.total())
          << f.explain();
    EXPECT_EQ(f.forecast.memory.size(), here ? 1U : 2U) << f.explain();
    EXPECT_LT(relative(y, A.copy()(x)), 1e-5);  // a copy: A would keep what its plan takes
  }
}

// A matrix that is larger than the device: its tiles are fetched by each run.
TEST(Fit, AnOperatorLargerThanTheDeviceIsFetched) {
  const Array w = Random(1).normal({300, 200}, DType::f32);
  const NamedLinop A = Dense(w, dims("MN"), dims("N"), dims("M"));
  const Array x = Random(2).normal({200}, DType::f32);
  const Fitted f = fit(A, {.shape = {200}, .dtype = DType::f32, .budget = {{sim0, 60'000}}});
  ASSERT_FALSE(f.specs.empty());
  EXPECT_FALSE(f.specs.front().resident);
  EXPECT_LE(memory_on(f, sim0).total(), 60'000);
  expect_exact(f, x, A(x), sim0);
}

TEST(Fit, SaysWhatWouldBeEnough) {
  const NamedLinop A = FFT(1, dims("C"), std::pair(dims("X"), dims("K")));
  const FitOptions tight{.shape = {3, 4096}, .budget = {{sim0, 10'000}}};
  i64 enough = 0;
  try {
    (void)fit(A, tight);
    FAIL() << "10 kB are not enough";
  } catch (const OutOfMemory& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("sim:0"), std::string::npos) << text;
    const auto at = text.find("would do is ");
    ASSERT_NE(at, std::string::npos) << text;
    enough = std::stoll(text.substr(at + 12));
  }
  FitOptions wide = tight;
  wide.budget = {{sim0, enough}};
  EXPECT_EQ(memory_on(fit(A, wide), sim0).total(), enough);
  wide.budget = {{sim0, enough - 1}};
  EXPECT_THROW((void)fit(A, wide), OutOfMemory);
}

TEST(Fit, OperatorsThatSayWhereTheyRunStayThere) {
  const NamedLinop A =
      Dense(Random(4).normal({6, 5}, DType::f32), dims("MN"), dims("N"), dims("M"));
  const NamedLinop B = create_batched_linop(
      A, {.batch_sizes = {{"M", 2}}, .device_matrix = {"sim:0", "sim:1"}, .base_device = cpu});
  const std::string text = thrown_text<SplitError>([&] {
    (void)fit(B, {.shape = {5}, .dtype = DType::f32, .budget = {{sim_at(3), 10'000}}});
  });
  EXPECT_NE(text.find("Concat"), std::string::npos) << text;
  EXPECT_NE(text.find("sim:3"), std::string::npos) << text;
  const Array x = Random(5).normal({5}, DType::f32);
  const Fitted f = fit(B, {.shape = {5}, .dtype = DType::f32, .budget = {{cpu, 10'000}}});
  EXPECT_LT(relative(NamedLinop(f)(x), A(x)), 1e-5);
}

TEST(Fit, RefusesNonsense) {
  const NamedLinop A = FFT(1, dims("C"), std::pair(dims("X"), dims("K")));
  EXPECT_THROW((void)fit(A, {.shape = {3, 8}, .budget = {}}), ArgumentError);
  EXPECT_THROW((void)fit(A, {.shape = {3, 8}, .budget = {{sim0, -1}}}), ArgumentError);
  EXPECT_THROW((void)fit(A, {.shape = {3, 8}, .budget = {{Device{Kind::sim, 60}, 100}}}), Error);
}

}  // namespace
}  // namespace tessera
