// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/forecast.hpp"

#include <gtest/gtest.h>

#include "support/devices.hpp"
#include "tessera/base/config.hpp"

namespace tessera {
namespace {

// A machine whose links move 1 MB/s and whose devices sweep 10 MB/s.
Machine invented() {
  Machine m;
  for (Device a : {cpu, sim0})
    for (Device b : {cpu, sim0}) m.links.links.push_back({a, b, a == b ? 10e6 : 1e6, 0, true});
  return m;
}

Plan doubled(i64 parts) {
  Recorder r;
  const View x = r.input(Layout::contiguous({parts, 1000}), DType::f32, cpu);
  const View y = r.output(Layout::contiguous({parts, 1000}), DType::f32, cpu);
  Recorder::Parts marks(r, cpu);
  for (i64 k = 0; k < parts; ++k) {
    marks.next();
    const View in = r.resident(sub_view(x, x.layout.select(0, k)), sim0);
    const View out = r.temporary({1000}, DType::f32, sim0);
    record::scale(r, Value(2.0), in, out);
    record::copy(r, out, sub_view(y, y.layout.select(0, k)));
  }
  return Plan(std::move(r), "doubled");
}

TEST(Forecast, CountsBytesOfEachLink) {
  const Forecast f = forecast(doubled(8), invented());
  ASSERT_EQ(f.transfers.size(), 2U);
  for (const LinkBytes& l : f.transfers) EXPECT_EQ(l.bytes, 8 * 4000);
}

TEST(Forecast, OverlapIsSeen) {
  // 4 ms in, 0.8 ms of work and 4 ms out for each part: one after the other 8.8 ms a part.
  const double overlapped = forecast(doubled(8), invented()).seconds;
  EXPECT_NEAR(overlapped, 8 * 4e-3 + 0.8e-3 + 4e-3, 1e-3);
  const Using off(config().pipeline, false);
  const double serial = forecast(doubled(8), invented()).seconds;
  EXPECT_GT(serial, 1.5 * overlapped);
}

TEST(Forecast, AnUnknownDeviceIsNamed) {
  Machine m = invented();
  m.links.links.pop_back();
  EXPECT_THROW((void)m.seconds(sim0, {}), DeviceError);
}

}  // namespace
}  // namespace tessera
