// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/io/io_engine.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/device/memory.hpp"

namespace tessera::store {
namespace {

constexpr i64 large = i64{64} << 20;  // malloc maps what is as large as this, and gives it back

i64 mapped() {
  i64 pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGE_SIZE);
}

// While it lives the process gets no more than so many bytes of addresses.
class Room {
 public:
  explicit Room(i64 bytes) {
    EXPECT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(mapped() + bytes);
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~Room() { EXPECT_EQ(setrlimit(RLIMIT_AS, &before_), 0); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

 private:
  rlimit before_{};
};

// A thread that begins when go() is called. What malloc sets aside for it is there before.
template <class F>
class Later {
 public:
  explicit Later(F run)
      : result_(std::async(std::launch::async, [this, run] {
          std::free(std::malloc(1));
          ready_.count_down();
          go_.wait();
          return run();
        })) {
    ready_.wait();
  }
  std::future<std::invoke_result_t<F>>& go() {
    go_.count_down();
    return result_;
  }

 private:
  std::latch ready_{1}, go_{1};
  std::future<std::invoke_result_t<F>> result_;  // last: its thread uses the others
};

class IoEngineMemory : public testing::TestWithParam<IoEngine::Kind> {
 protected:
  void SetUp() override {
    if (mapped() > i64{1} << 40) GTEST_SKIP() << "a sanitizer maps more than there is memory";
    trim_pool(cpu);
  }
  IoEngine engine_{GetParam(), 4 * large};
};
INSTANTIATE_TEST_SUITE_P(Kinds, IoEngineMemory,
                         testing::Values(IoEngine::Kind::threads, IoEngine::Kind::automatic));

TEST_P(IoEngineMemory, IsWaitedForWhereItEnds) {
  auto held = engine_.buffer(large);
  Later later([&] { return engine_.buffer(large); });
  const Room room(large / 2);
  auto& asked = later.go();
  asked.wait_for(std::chrono::milliseconds(30));  // the heap may have what the system has not
  held.reset();
  EXPECT_EQ(asked.get()->bytes(), large);
  EXPECT_EQ(engine_.under_way(), 0);
}

TEST_P(IoEngineMemory, ThatIsKeptGoesBackFirst) {
  engine_.buffer(large).reset();
  const Room room(large / 4);
  EXPECT_EQ(engine_.buffer(large / 2)->bytes(), large / 2);
}

// What malloc may still take from the system, but for some small blocks.
class NoneLeft {
 public:
  NoneLeft() {
    taken_.reserve(100000);
    std::vector<void*> small(100);
    for (void*& p : small) p = std::malloc(4000);
    for (std::size_t size = std::size_t{1} << 20; size >= std::size_t{1} << 16; size /= 2)
      while (void* p = std::malloc(size)) taken_.push_back(p);
    for (void* p : small) std::free(p);
  }
  ~NoneLeft() {
    for (void* p : taken_) std::free(p);
  }
  NoneLeft(const NoneLeft&) = delete;
  NoneLeft& operator=(const NoneLeft&) = delete;

 private:
  std::vector<void*> taken_;
};

TEST_P(IoEngineMemory, OfOneBufferIsAlwaysThere) {
  constexpr i64 sizes[] = {IoEngine::piece, 1, IoEngine::piece / 2};
  Later later([&] {
    for (int k = 0; k < 30; ++k) engine_.buffer(sizes[k % 3]);
  });
  const Room room(0);
  std::optional<NoneLeft> none(std::in_place);
  auto& asked = later.go();
  for (int k = 0; k < 30; ++k) engine_.buffer(sizes[(k + 1) % 3]);
  asked.get();
  EXPECT_THROW(engine_.buffer(i64{1} << 50), OutOfMemory);
  none.reset();
  EXPECT_EQ(engine_.under_way(), 0);
}

}  // namespace
}  // namespace tessera::store
