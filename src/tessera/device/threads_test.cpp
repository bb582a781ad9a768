// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/threads.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "support/support.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/device/host_limits.hpp"

namespace tessera {
namespace {

using Threads = Using<i64>;

TEST(Threads, EveryIndexOnceWhateverTheNumberOfThreads) {
  for (const i64 threads : {1, 2, 3, 8}) {
    Threads use(config().num_threads, threads);
    for (const i64 n : {0, 1, 2, 7, 100, 1023, 40001}) {
      for (const i64 grain : {0, 1, 5, 64, 50000}) {
        std::vector<int> hits(static_cast<std::size_t>(n), 0);
        parallel_for(n, grain, [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
        });
        EXPECT_EQ(std::accumulate(hits.begin(), hits.end(), i64{0}), n) << n << " / " << grain;
        for (int h : hits) ASSERT_EQ(h, 1);
      }
    }
  }
}

TEST(Threads, ChunksKeepTheGrain) {
  Threads use(config().num_threads, 4);
  std::mutex mutex;
  std::vector<i64> sizes;
  parallel_for(1000, 10, [&](i64 begin, i64 end) {
    std::lock_guard lock(mutex);
    sizes.push_back(end - begin);
  });
  EXPECT_EQ(sizes.size(), 16u);  // range / (4 * threads) = 62.5, rounded up to 63: 16 chunks
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 63), 15);
  sizes.clear();
  parallel_for(1000, 400, [&](i64 begin, i64 end) {
    std::lock_guard lock(mutex);
    sizes.push_back(end - begin);
  });
  EXPECT_EQ(sizes.size(), 3u);
}

// Two chunks that each wait for the other: only two threads at once can finish them.
TEST(Threads, ChunksRunAtTheSameTime) {
  Threads use(config().num_threads, 2);
  std::atomic<int> inside{0};
  std::mutex mutex;
  std::set<std::thread::id> ids;
  parallel_for(2, 1, [&](i64, i64) {
    inside.fetch_add(1);
    while (inside.load() < 2) std::this_thread::yield();
    std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));  // the caller works too
}

TEST(Threads, ReturnsOnlyWhenEveryChunkHasEnded) {
  Threads use(config().num_threads, 2);
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> inside{0}, ended{0};
    parallel_for(2, 1, [&](i64, i64) {
      inside.fetch_add(1);
      while (inside.load() < 2) std::this_thread::yield();
      if (std::this_thread::get_id() != caller)
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
      ended.fetch_add(1);
    });
    EXPECT_EQ(ended.load(), 2);
  }
}

TEST(Threads, NestedThreeDeep) {
  Threads use(config().num_threads, 4);
  std::atomic<i64> sum{0};
  parallel_for(8, 1, [&](i64 a, i64 b) {
    for (i64 i = a; i < b; ++i)
      parallel_for(8, 1, [&](i64 c, i64 d) {
        for (i64 j = c; j < d; ++j)
          parallel_for(8, 1, [&](i64 e, i64 f) {
            for (i64 k = e; k < f; ++k) sum.fetch_add(64 * i + 8 * j + k);
          });
      });
  });
  EXPECT_EQ(sum.load(), 511 * 512 / 2);
}

TEST(Threads, ManyCallersAtOnce) {
  Threads use(config().num_threads, 3);
  std::vector<std::thread> callers;
  std::atomic<i64> sum{0};
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([&] {
      for (int r = 0; r < 200; ++r)
        parallel_for(100, 3, [&](i64 begin, i64 end) { sum.fetch_add(end - begin); });
    });
  for (auto& c : callers) c.join();
  EXPECT_EQ(sum.load(), 6 * 200 * 100);
}

TEST(Threads, MoreNestedJobsThanThereAreSlots) {
  Threads use(config().num_threads, 2);
  std::atomic<i64> leaves{0};
  // 80 levels of two chunks each: deeper than the pool has places for jobs.
  auto descend = [&](auto& self, int depth) -> void {
    if (depth == 80) return void(leaves.fetch_add(1));
    parallel_for(2, 1, [&](i64 begin, i64) {
      if (begin == 0) self(self, depth + 1);
    });
  };
  descend(descend, 0);
  EXPECT_EQ(leaves.load(), 1);
}

TEST(Threads, FirstExceptionComesOutAndThePoolLivesOn) {
  Threads use(config().num_threads, 4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> running{0};
    try {
      parallel_for(64, 1, [&](i64 begin, i64) {
        running.fetch_add(1);
        const bool bad = begin == 20;
        running.fetch_sub(1);
        if (bad) throw ShapeError(cat("chunk ", begin));
      });
      FAIL() << "no exception";
    } catch (const ShapeError& e) {
      EXPECT_STREQ(e.what(), "chunk 20");
    }
    EXPECT_EQ(running.load(), 0);  // all chunks have stopped when it is thrown
  }
  std::atomic<i64> sum{0};
  parallel_for(64, 1, [&](i64 begin, i64 end) { sum.fetch_add(end - begin); });
  EXPECT_EQ(sum.load(), 64);
}

TEST(Threads, ExceptionOfANestedJobPassesBothLevels) {
  Threads use(config().num_threads, 4);
  EXPECT_THROW(parallel_for(4, 1,
                            [&](i64, i64) {
                              parallel_for(4, 1, [&](i64 begin, i64) {
                                if (begin == 3) throw IndexError("deep");
                              });
                            }),
               IndexError);
}

TEST(Threads, NumberIsCheckedAndFollowsTheConfig) {
  Threads use(config().num_threads, 0);
  EXPECT_EQ(num_threads(), default_threads());
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
  EXPECT_THROW(set_num_threads(-2), ArgumentError);
  EXPECT_EQ(num_threads(), 3);
  set_num_threads(0);
  EXPECT_EQ(num_threads(), 1);
}

TEST(Threads, AForkedChildWorks) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow threads started in a forked child";
#endif
  Threads use(config().num_threads, 3);
  std::atomic<i64> warm{0};
  parallel_for(100, 1, [&](i64 begin, i64 end) { warm.fetch_add(end - begin); });
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);  // a hang is a failure, not a wait
    std::atomic<i64> sum{0};
    parallel_for(1000, 1, [&](i64 begin, i64 end) { sum.fetch_add(end - begin); });
    _exit(sum.load() == 1000 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

TEST(HostLimits, CgroupVersion2TakesTheTightestParent) {
  const std::string root = scratch_folder() + "/v2";
  std::filesystem::remove_all(root);
  write(root + "/proc/self/cgroup", "0::/a/b\n");
  EXPECT_FALSE(cgroup_cpus(root).has_value());
  write(root + "/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_FALSE(cgroup_cpus(root).has_value());
  write(root + "/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_cpus(root).value(), 1.5);
  write(root + "/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_cpus(root).value(), 0.5);
  write(root + "/sys/fs/cgroup/a/b/cpu.max", "nonsense\n");
  EXPECT_DOUBLE_EQ(cgroup_cpus(root).value(), 1.5);
}

TEST(HostLimits, CgroupVersion1) {
  const std::string root = scratch_folder() + "/v1";
  std::filesystem::remove_all(root);
  write(root + "/proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/job\n");
  write(root + "/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  write(root + "/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(cgroup_cpus(root).has_value());
  write(root + "/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "300000\n");
  EXPECT_DOUBLE_EQ(cgroup_cpus(root).value(), 3);
}

TEST(HostLimits, RanksOfThisMachineAsTheirLauncherSays) {
  const char* before = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  const std::string kept = before ? before : "";
  for (const auto& [text, ranks] : {std::pair{"6", 6}, {"0", 1}, {"-3", 1}, {"some", 1}}) {
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", text, 1);
    EXPECT_EQ(processes_here(), ranks) << text;
  }
  before ? setenv("OMPI_COMM_WORLD_LOCAL_SIZE", kept.c_str(), 1)
         : unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
}

TEST(HostLimits, OmpNumThreadsCuts) {
  const char* before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before ? before : "";
  setenv("OMP_NUM_THREADS", "1,4", 1);
  EXPECT_EQ(default_threads(), 1);
  setenv("OMP_NUM_THREADS", "100000", 1);
  EXPECT_EQ(default_threads(), cores_allowed());
  setenv("OMP_NUM_THREADS", "many", 1);
  EXPECT_EQ(default_threads(), cores_allowed());
  before ? setenv("OMP_NUM_THREADS", kept.c_str(), 1) : unsetenv("OMP_NUM_THREADS");
}

TEST(Threads, OneThreadKeepsItsWorkToItself) {
  const int everybody = num_threads();
  const std::thread::id me = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  {
    const OneThread outer, inner;
    EXPECT_TRUE(OneThread::here());
    EXPECT_EQ(num_threads(), 1);
    EXPECT_EQ(process_threads(), everybody);
    parallel_for(10000, 1, [&](i64, i64) { elsewhere += std::this_thread::get_id() != me; });
    std::thread([&] { EXPECT_EQ(num_threads(), everybody); }).join();
  }
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(num_threads(), everybody);
}

TEST(HostLimits, MemoryThatACgroupHasLeft) {
  const std::string root = scratch_folder() + "/groups_of_memory", v2 = "/sys/fs/cgroup/a/b",
                    v1 = "/sys/fs/cgroup/memory/job";
  std::filesystem::remove_all(root);
  write(root + "/proc/meminfo", "MemTotal:  64000 kB\nMemAvailable:    50000 kB\n");
  EXPECT_EQ(host_memory_available(root), 50000 * 1024);
  write(root + "/proc/self/cgroup", "0::/a/b\n");
  write(root + v2 + "/memory.max", "max\n");
  EXPECT_EQ(host_memory_available(root), 50000 * 1024);
  write(root + v2 + "/memory.max", "30000000\n");
  write(root + v2 + "/memory.current", "25000000\n");
  EXPECT_EQ(host_memory_total(root), 30000000);
  EXPECT_EQ(host_memory_available(root), 5000000);
  // Pages of files would be given up.
  write(root + v2 + "/memory.stat", "anon 9\ninactive_file 1000000\nactive_file 500000\nfile 77\n");
  EXPECT_EQ(host_memory_available(root), 6500000);
  // A parent that is tighter, with several children in it.
  write(root + "/sys/fs/cgroup/a/memory.max", "40000000\n");
  write(root + "/sys/fs/cgroup/a/memory.current", "39000000\n");
  EXPECT_EQ(host_memory_total(root), 30000000);
  EXPECT_EQ(host_memory_available(root), 1000000);
  // Where a group is slowed down counts as its limit.
  write(root + "/sys/fs/cgroup/a/memory.high", "39400000\n");
  EXPECT_EQ(host_memory_available(root), 400000);
  write(root + v2 + "/memory.high", "29000000\n");
  EXPECT_EQ(host_memory_total(root), 29000000);
  write(root + v2 + "/memory.high", "max\n");
  write(root + "/sys/fs/cgroup/a/memory.high", "max\n");
  write(root + "/sys/fs/cgroup/a/memory.stat", "slab_reclaimable 70\n");
  EXPECT_EQ(host_memory_available(root), 1000070);
  // Beyond its limit: nothing is left, not less than nothing.
  write(root + "/sys/fs/cgroup/a/memory.current", "41000000\n");
  EXPECT_EQ(host_memory_available(root), 0);
  // Version 1.
  write(root + "/proc/self/cgroup", "7:cpu,memory:/job\n");
  write(root + v1 + "/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(host_memory_available(root), 50000 * 1024);
  write(root + v1 + "/memory.limit_in_bytes", "20000000\n");
  write(root + v1 + "/memory.usage_in_bytes", "15000000\n");
  write(root + v1 + "/memory.stat",
        "inactive_file 5\ntotal_inactive_file 200\ntotal_active_file 30\n");
  EXPECT_EQ(host_memory_total(root), 20000000);
  EXPECT_EQ(host_memory_available(root), 5000230);
}

TEST(HostLimits, AddressesOfTheProcess) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const i64 total = host_memory_total(), more = 64 << 20;
  i64 pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit = before;
  limit.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGE_SIZE) + more);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const i64 most = host_memory_total(), left = host_memory_available();
  limit.rlim_cur = before.rlim_cur;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  EXPECT_EQ(most, std::min(total, pages * sysconf(_SC_PAGE_SIZE) + more));
  EXPECT_LE(left, more);
  EXPECT_EQ(host_memory_total(), total);
}

TEST(HostLimits, Memory) {
  EXPECT_GT(host_memory_total(), i64{1} << 26);
  EXPECT_GT(host_memory_available(), 0);
  EXPECT_LE(host_memory_available(), host_memory_total());
}

}  // namespace
}  // namespace tessera
