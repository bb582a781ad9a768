// SPDX-License-Identifier: Apache-2.0
// Solvers over tiles, and data streamed through a device, when a device is lost or full half way:
// an error that names the device, no hang, right-hand sides as they were, and the same answer once
// the device is back.
#include <gtest/gtest.h>

#include "support/devices.hpp"
#include "support/problems.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

struct Whole {  // gives the device back whatever a test did to it
  ~Whole() { sim::restore(1); }
};

NamedLinop tall_matrix() {
  return Dense(Random(1).normal({24, 10}, DType::f64), dims("MN"), dims("N"), dims("M"));
}

NamedLinop over_two(const NamedLinop& a, NamedDimension along, i64 tile) {
  return create_batched_linop(
      a, {.batch_sizes = {{along, tile}}, .device_matrix = {"sim:0", "sim:1"}});
}

template <class E, class F>
void expect_error(F&& f, const std::string& what) {
  try {
    f();
    ADD_FAILURE() << what << ": no error";
  } catch (const E& e) {
    EXPECT_NE(std::string(e.what()).find("sim:1"), std::string::npos) << what << ": " << e.what();
  }
}

using Solve = std::function<Array(const SolveOptions&)>;

void expect_loss_is_told(const std::string& what, const Array& b, const Solve& solve) {
  const Array before = b.copy();
  const Array expected = solve({.rtol = 1e-10, .maxiter = 60});
  const Whole back;
  SolveOptions lossy{.rtol = 1e-10, .maxiter = 60};
  lossy.callback = [](const Iteration& i) {
    if (i.number == 2) sim::lose_device(1);
    return true;
  };
  expect_error<DeviceError>([&] { (void)solve(lossy).to(cpu); }, what);
  sim::restore(1);
  EXPECT_EQ(relative(b, before), 0) << what;
  EXPECT_LT(relative(solve({.rtol = 1e-10, .maxiter = 60}), expected), 1e-6) << what;
}

TEST(SolverFaults, ADeviceLostBetweenIterationsIsAnError) {
  const NamedLinop a = tall_matrix();
  const Array b = Random(2).normal({24}, DType::f64), right = a.H()(b);
  for (const auto& [dim, tile] : {std::pair<NamedDimension, i64>{"M", 5}, {"N", 3}}) {
    // Made anew for each solve: a plan that has failed does not come back with its device.
    auto cut = [&, d = dim, n = tile] { return over_two(a, d, n); };
    expect_loss_is_told(cat("cg along ", dim), right,
                        [&](const SolveOptions& o) { return cg(cut().N(), right, o).x; });
    expect_loss_is_told(cat("lsqr along ", dim), b,
                        [&](const SolveOptions& o) { return lsqr(cut(), b, o).x; });
    expect_loss_is_told(cat("lsmr along ", dim), b,
                        [&](const SolveOptions& o) { return lsmr(cut(), b, o).x; });
    expect_loss_is_told(cat("minres along ", dim), right,
                        [&](const SolveOptions& o) { return minres(cut().N(), right, o).x; });
  }
}

TEST(StreamerFaults, LostAndFullDevices) {
  const NamedLinop a = FFT(1, dims("C"), std::pair(dims("X"), dims("K"))) *
                       NamedLinop(Diagonal(Random(3).normal({12, 40}, DType::c64), dims("CX")));
  const Array x = Random(4).normal({12, 40}, DType::c64), before = x.copy(), expected = a(x);
  const Whole back;
  for (const bool resident : {true, false}) {
    auto streamed = [&] { return NamedLinop(AsyncStreamer(a, {{"C", 5}}, sim1, resident)); };
    {
      const NamedLinop s = streamed();
      EXPECT_LT(relative(s(x), expected), 1e-5);
      sim::lose_device(1);
      expect_error<DeviceError>([&] { (void)s(x); }, "streamed");
      expect_error<DeviceError>([&] { (void)s.H()(expected); }, "streamed back");
    }
    sim::restore(1);
    trim_pool(sim1);
    sim::fail_allocation_after(1, 0);
    expect_error<OutOfMemory>([&] { (void)streamed()(x); }, "full");
    sim::restore(1);
    EXPECT_EQ(relative(x, before), 0);
    EXPECT_LT(relative(streamed()(x), expected), 1e-5);
  }
}

// A device that has less than was thought: fit() takes the next way that fits.
TEST(FitFaults, MemoryThatIsNotThereMeansSmallerTiles) {
  const NamedLinop a = tall_matrix();
  const Array x = Random(5).normal({10}, DType::f64);
  const Whole back;
  trim_pool(sim1);
  (void)topology();  // what forecasts of time are made of is measured while there is memory
  sim::fail_allocation_after(1, 0);  // nothing can be placed there
  const FitOptions wide{.shape = {10}, .dtype = DType::f64, .budget = {{sim1, i64{1} << 20}}};
  const Fitted f = fit(a, wide);
  EXPECT_FALSE(f.specs.empty());
  EXPECT_FALSE(f.specs.front().resident) << f.explain();
  sim::restore(1);
  EXPECT_LT(relative(NamedLinop(f)(x), a(x)), 1e-12);
}

}  // namespace
}  // namespace tessera
