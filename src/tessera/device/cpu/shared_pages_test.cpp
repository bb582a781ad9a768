// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/cpu/shared_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace tessera {
namespace {

// What these pages are is a matter of the whole process: each test has one of its own. Its body
// gives 0, or the number of the line that failed.
#define HOLDS(condition) \
  if (!(condition)) return __LINE__ % 200
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The same with pages that are open. A system that is short of huge pages has one for one process
// and none for the next: each finds out for itself.
void with_pages(const std::function<int(SharedPages&)>& body) {
  constexpr int has_none = 255;
  const int ended = in_child([&] {
    SharedPages& pages = SharedPages::own();
    return pages.open() ? body(pages) : has_none;
  });
  if (ended == has_none) GTEST_SKIP() << "this system has no huge pages for files of ours";
  EXPECT_EQ(ended, 0);
}

i64 bytes_in_memory(i64 file) {
  struct stat found {};
  return fstat(static_cast<int>(file), &found) == 0 ? found.st_blocks * 512 : -1;
}

TEST(SharedPages, NothingIsSharedBeforeTheyAreOpen) {
  EXPECT_EQ(in_child([] {
              HOLDS(SharedPages::own().take(huge_page) == nullptr);
              std::byte own{};
              HOLDS(!SharedPages::own().find(&own, 1) && !SharedPages::own().give(&own, 1));
              return 0;
            }),
            0);
}

TEST(SharedPages, WhatIsTakenAgainIsZeroWhereTheySaySo) {
  with_pages([](SharedPages& pages) {
    for (int round = 0; round < 3; ++round) {
      HOLDS(pages.gives_zeros());
      auto* a = static_cast<std::byte*>(pages.take(2 * huge_page));
      HOLDS(a != nullptr);
      HOLDS(std::all_of(a, a + 2 * huge_page, [](std::byte b) { return b == std::byte{0}; }));
      std::memset(a, 7, 2 * huge_page);
      HOLDS(pages.give(a, 2 * huge_page));
    }
    pages.withdraw();
    HOLDS(!pages.gives_zeros());
    return 0;
  });
}

TEST(SharedPages, AnotherMappingSeesWhatIsWritten) {
  with_pages([](SharedPages& pages) {
    HOLDS(pages.open());  // again
    auto* a = static_cast<std::byte*>(pages.take(3 * huge_page));
    auto* b = static_cast<std::byte*>(pages.take(huge_page));
    HOLDS(a != nullptr && b != nullptr && a != b);
    std::memset(a, 7, 3 * huge_page);
    const auto place = pages.find(a + huge_page + 5, 100);
    HOLDS(place.has_value());
    HOLDS(!pages.find(a - huge_page * 1000000, 1));
    auto* seen =
        static_cast<std::byte*>(mmap(nullptr, 3 * huge_page, PROT_READ, MAP_SHARED,
                                     static_cast<int>(place->file), place->offset - huge_page - 5));
    HOLDS(seen != MAP_FAILED && seen[2 * huge_page] == std::byte{7});
    a[2 * huge_page] = std::byte{8};
    HOLDS(seen[2 * huge_page] == std::byte{8});
    return 0;
  });
}

TEST(SharedPages, WhatIsGivenBackIsMemoryOfTheSystemAgain) {
  with_pages([](SharedPages& pages) {
    std::byte* blocks[4];
    for (std::byte*& block : blocks) {
      block = static_cast<std::byte*>(pages.take(2 * huge_page));
      std::memset(block, 1, 2 * huge_page);
    }
    const i64 file = pages.find(blocks[0], 1)->file;
    HOLDS(bytes_in_memory(file) == 8 * huge_page);
    for (const int k : {1, 3, 2})  // holes become one again, from both sides
      HOLDS(pages.give(blocks[k], 2 * huge_page));
    HOLDS(bytes_in_memory(file) == 2 * huge_page);
    auto* again = static_cast<std::byte*>(pages.take(6 * huge_page));
    HOLDS(again == blocks[1] && again[huge_page] == std::byte{0});
    HOLDS(blocks[0][0] == std::byte{1});
    return 0;
  });
}

TEST(SharedPages, AForkedChildKeepsWhatItWritesToItself) {
  with_pages([](SharedPages& pages) {
    auto* a = static_cast<std::byte*>(pages.take(2 * huge_page));
    std::memset(a, 3, 2 * huge_page);
    const int child = in_child([&] {
      HOLDS(a[5] == std::byte{3} && !pages.find(a, 1));
      a[5] = std::byte{4};
      HOLDS(a[5] == std::byte{4} && a[6] == std::byte{3});
      HOLDS(pages.give(a, 2 * huge_page));
      auto* fresh = static_cast<std::byte*>(pages.take(huge_page));
      HOLDS(fresh != nullptr);
      std::memset(fresh, 9, huge_page);
      return 0;
    });
    HOLDS(child == 0);
    for (i64 k = 0; k < 2 * huge_page; ++k) HOLDS(a[k] == std::byte{3});
    return 0;
  });
}

TEST(SharedPages, WhoWithdrawsIsNotWrittenToAnyMore) {
  with_pages([](SharedPages& pages) {
    auto* a = static_cast<std::byte*>(pages.take(huge_page));
    std::memset(a, 3, huge_page);
    const auto place = pages.find(a, huge_page);
    auto* other =
        static_cast<std::byte*>(mmap(nullptr, huge_page, PROT_READ | PROT_WRITE, MAP_SHARED,
                                     static_cast<int>(place->file), place->offset));
    pages.withdraw();
    HOLDS(!pages.find(a, 1) && !pages.open());
    HOLDS(a[0] == std::byte{3});
    std::memset(a, 5, huge_page);      // the block's next user
    std::memset(other, 6, huge_page);  // somebody who came too late
    for (i64 k = 0; k < huge_page; ++k) HOLDS(a[k] == std::byte{5});
    HOLDS(pages.give(a, huge_page));
    return 0;
  });
}
#undef HOLDS

}  // namespace
}  // namespace tessera
