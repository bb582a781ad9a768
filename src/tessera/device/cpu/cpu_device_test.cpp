// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "tessera/device/registry.hpp"

namespace tessera {
namespace {

// Whether the page of an address is mapped.
bool is_mapped(const char* p) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGE_SIZE));
  unsigned char ignored = 0;
  const auto start = reinterpret_cast<std::uintptr_t>(p) / page * page;
  return mincore(reinterpret_cast<void*>(start), 1, &ignored) == 0;
}

// Libraries that load whole registers read a little behind the last element.
TEST(CpuDevice, MemoryCanBeReadALittleBeyondItsEnd) {
  ComputeDevice& host = compute_device(cpu);
  const i64 mib = i64{1} << 20;
  for (const i64 bytes : {64 * (i64{1} << 10), mib, 2 * mib, 4 * mib, 2 * mib + 64, 32 * mib}) {
    std::vector<char*> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(static_cast<char*>(host.allocate(0, bytes)));
    for (char* p : blocks) {
      ASSERT_TRUE(is_mapped(p + bytes + 63)) << bytes;
      volatile const char* behind = p + bytes;
      for (int i = 0; i < 64; ++i) (void)behind[i];
      p[bytes - 1] = 1;
    }
    for (char* p : blocks) host.release(0, p, bytes);
    if (bytes >= 2 * mib) {
      EXPECT_FALSE(is_mapped(blocks[0])) << bytes << ": not given back";
    }
  }
}

}  // namespace
}  // namespace tessera
