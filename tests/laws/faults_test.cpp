// SPDX-License-Identifier: Apache-2.0
// Every sample cut over devices in every pattern of BatchesEqualTheWhole, on devices that are slow,
// full or lost: the right result or a sentence that names the device, inputs as they were, no hang,
// and the right result again once the device is back.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "samples.hpp"
#include "support/support.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/sim/faults.hpp"
#include "tessera/split/batched.hpp"
#include "tessera/testing/subject.hpp"

namespace tessera::laws {
namespace {

struct Whole {  // gives the device back whatever a test did to it
  int index;
  ~Whole() { sim::restore(index); }
};

struct Cut {
  const Sample& sample;
  std::vector<BatchSpec> specs;
  Array x, expected;  // on the base device
  NamedLinop batched() const { return create_batched_linop(sample.op, specs, sample.input); }
  std::string text() const { return cat(sample.label, ", ", text_of(specs)); }
  bool right(const Array& y) const {
    return y.shape() == expected.shape() &&
           difference(y.to(cpu), expected) < 4 * Subject(sample, DType::c64, cpu).tolerance();
  }
};

// One of the devices that a run of it uses, but for the one that holds its input; in turn.
std::optional<int> device_of(const Cut& c, std::size_t turn) {
  std::vector<int> all;
  const Plan plan =
      c.batched().plan({.shape = c.x.shape(), .dtype = c.x.dtype(), .device = c.x.device()});
  for (const Slot& s : plan.slots())
    if (s.device.kind == Kind::sim && s.device != c.x.device() &&
        std::find(all.begin(), all.end(), s.device.index) == all.end())
      all.push_back(s.device.index);
  return all.empty() ? std::nullopt : std::optional(all[turn % all.size()]);
}

template <class Expected>
void expect_error(const Cut& c, int device, const std::function<Array()>& run, bool must) {
  try {
    const Array y = run();
    EXPECT_FALSE(must) << c.text() << ": no error";
    EXPECT_TRUE(c.right(y)) << c.text();
  } catch (const Expected& e) {
    EXPECT_NE(std::string(e.what()).find(cat("sim:", device)), std::string::npos)
        << c.text() << ": " << e.what();
  }
}

void full_device(const Cut& c, int device, i64 after) {
  const Array before = c.x.copy();
  const Whole back{device};
  trim_pool({Kind::sim, static_cast<std::int16_t>(device)});
  sim::fail_allocation_after(device, after);
  expect_error<OutOfMemory>(
      c, device, [&] { return c.batched()(c.x); }, after == 0);
  sim::restore(device);
  EXPECT_EQ(difference(c.x, before), 0) << c.text();
  EXPECT_TRUE(c.right(c.batched()(c.x))) << c.text();
}

void lost_device(const Cut& c, int device) {
  const Array before = c.x.copy();
  const Whole back{device};
  {
    const NamedLinop b = c.batched();
    EXPECT_TRUE(c.right(b(c.x))) << c.text();
    sim::lose_device(device);
    expect_error<DeviceError>(
        c, device, [&] { return b(c.x); }, true);
  }
  sim::restore(device);
  EXPECT_EQ(difference(c.x, before), 0) << c.text();
  EXPECT_TRUE(c.right(c.batched()(c.x))) << c.text();
}

class Faults : public ::testing::TestWithParam<std::size_t> {
 protected:
  const Sample& sample() const { return all_samples(DType::c64, cpu)[GetParam()]; }
  // The sample in each pattern; none for one that cannot be cut, or is bound to its devices.
  std::vector<Cut> cuts() const {
    const Sample& s = sample();
    std::vector<Sized> dims;
    for (const Sized& d : sized_dims(s.op, s.input))
      if (!contains(s.unsplittable, d.dim)) dims.push_back(d);
    std::vector<Cut> all;
    if (dims.empty() || bound_to_devices(s.op)) return all;
    const Array x = Subject(s, DType::c64, cpu).random_input(17), y = s.op(x);
    for (int k = 0; k < batch_patterns; ++k) {
      if (!in_share(s, k)) continue;
      const Device base = k % 2 ? Device{Kind::sim, 0} : cpu;
      all.push_back({s, batch_pattern(dims, k, Kind::sim, base), x.to(base), y});
    }
    return all;
  }
};

TEST_P(Faults, FullDevices) {
  std::size_t turn = GetParam();
  for (const Cut& c : cuts())
    if (const auto device = device_of(c, ++turn))
      full_device(c, *device, static_cast<i64>(turn % 3));
}

TEST_P(Faults, LostDevices) {
  std::size_t turn = GetParam();
  for (const Cut& c : cuts())
    if (const auto device = device_of(c, ++turn)) lost_device(c, *device);
}

TEST_P(Faults, SlowDevices) {
  const Using slow(config().sim_delay_us, i64{15});
  const auto law = std::find_if(all_laws().begin(), all_laws().end(), [](const Law& l) {
    return std::string_view(l.name) == "BatchesEqualTheWhole";
  });
  ASSERT_NE(law, all_laws().end());
  for (const std::string& fault : faults_of(*law, sample(), DType::c64, cpu))
    ADD_FAILURE() << fault;
}

std::string sample_name(const ::testing::TestParamInfo<std::size_t>& info) {
  std::string text = all_samples(DType::c64, cpu)[info.param].label;
  for (char& letter : text)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return text;
}

INSTANTIATE_TEST_SUITE_P(All, Faults,
                         ::testing::Range<std::size_t>(0, all_samples(DType::c64, cpu).size()),
                         sample_name);

}  // namespace
}  // namespace tessera::laws
