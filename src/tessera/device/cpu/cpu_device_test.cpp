// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
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

constexpr i64 kib = i64{1} << 10;
constexpr i64 mib = i64{1} << 20;

// Note [reading beyond the end]: one column more of a square matrix, whatever its size.
TEST(CpuDevice, MemoryCanBeReadALittleBeyondItsEnd) {
  ComputeDevice& host = compute_device(cpu);
  for (const i64 bytes :
       {4 * kib, 64 * kib, mib, 2 * mib, 4 * mib, 2 * mib + 64, 32 * mib, 1600 * mib}) {
    const i64 n = static_cast<i64>(std::sqrt(static_cast<double>(bytes) / 16)), tail = 16 * n;
    std::vector<char*> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(static_cast<char*>(host.allocate(0, bytes)));
    for (char* p : blocks) {
      for (i64 at = 0; at < tail; at += 4096) ASSERT_TRUE(is_mapped(p + bytes + at)) << bytes;
      ASSERT_TRUE(is_mapped(p + bytes + tail - 1)) << bytes;
      volatile const char* behind = p + bytes;
      for (i64 i = 0; i < tail; ++i) (void)behind[i];
      p[bytes - 1] = 1;
    }
    for (char* p : blocks) host.release(0, p, bytes);
  }
}

// How many of some large blocks are still mapped after they were released.
int blocks_not_given_back(i64 bytes) {
  ComputeDevice& host = compute_device(cpu);
  std::vector<char*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(static_cast<char*>(host.allocate(0, bytes)));
  for (char* p : blocks) host.release(0, p, bytes);
  return static_cast<int>(std::ranges::count_if(blocks, is_mapped));
}

// In a process of its own, which has one thread: others may map the addresses again at once.
TEST(CpuDevice, LargeBlocksAreGivenBackToTheSystem) {
  for (const i64 bytes : {2 * mib, 4 * mib, 2 * mib + 64, 32 * mib})
    EXPECT_EXIT(std::_Exit(blocks_not_given_back(bytes)), testing::ExitedWithCode(0), "") << bytes;
}

}  // namespace
}  // namespace tessera
