// SPDX-License-Identifier: Apache-2.0
// Batched operators whose devices have no peer access: the same numbers, through pinned memory.
#include <gtest/gtest.h>

#include "support/distances.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/split/batched.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

TEST(WithoutPeerAccess, TilesGoThroughPinnedMemory) {
  const Device base = Device::parse("sim:0");
  const NamedLinop a(
      Dense(Random(1).normal({13, 60}, DType::f64, base), dims("MN"), dims("N"), dims("M")));
  const Array x = Random(2).normal({60}, DType::f64, base), y = a(x);
  const Using pieces(config().staging_bytes, i64{100});
  const Using slow(config().sim_delay_us, i64{30});
  for (int i = 0; i < 4; ++i) sim::isolate(i);
  for (const DimSizes& sizes :
       {DimSizes{{"M", 4}}, DimSizes{{"N", 17}}, DimSizes{{"M", 5}, {"N", 40}}}) {
    const NamedLinop b = create_batched_linop(
        a,
        {.batch_sizes = sizes, .device_matrix = {"sim:1", "sim:2", "sim:3"}, .base_device = base});
    const i64 direct = counter(Counter::bytes_device_to_device);
    for (int again = 0; again < 3; ++again) {
      EXPECT_LT(distance(b(x), y), 1e-11);
      EXPECT_LT(distance(b.H()(y), a.H()(y)), 1e-10);
      EXPECT_LT(distance(b.N()(x), a.N()(x)), 1e-9);
    }
    EXPECT_EQ(counter(Counter::bytes_device_to_device), direct);
    const Plan p = b.plan({.shape = {60}, .dtype = DType::f64, .device = base});
    EXPECT_GT(p.pinned_workspace(), 0) << p.explain();
    EXPECT_EQ(p.workspace(cpu), 0) << p.explain();
  }
  for (int i = 0; i < 4; ++i) sim::restore(i);
}

}  // namespace
}  // namespace tessera
