// SPDX-License-Identifier: Apache-2.0
// Rung 1: there is a device, it says what it is, it has memory and kernels.
#include "ladder/ladder.hpp"

namespace tessera::ladder {
namespace {

TEST(Ladder01Device, IsThere) {
  const Device d = test_device();
  ComputeDevice& backend = compute_device(d);
  EXPECT_GT(backend.count(), d.index);
  EXPECT_EQ(backend.kind(), d.kind);
  const DeviceInfo info = backend.info(d.index);
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.memory_total, 0);
  EXPECT_LE(info.memory_free, info.memory_total);
  RecordProperty("device", info.name + ", " + info.details);
}

TEST(Ladder01Device, RefusesAnIndexThatIsNotThere) {
  EXPECT_THROW(compute_device(Device{test_device().kind, 4000}), DeviceError);
}

TEST(Ladder01Device, GivesAlignedMemory) {
  const Device d = test_device();
  ComputeDevice& backend = compute_device(d);
  for (i64 bytes : {i64{1}, i64{100}, i64{1} << 20}) {
    void* p = backend.allocate(d.index, bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
    backend.release(d.index, p, bytes);
  }
}

TEST(Ladder01Device, HasEveryKernel) {
  const KernelTable& table = kernels_of(test_device());
#define KERNEL(name, Spec) EXPECT_TRUE(table.name.prepare) << #name;
#include "tessera/kernels/kernels.def"
#undef KERNEL
}

}  // namespace
}  // namespace tessera::ladder
