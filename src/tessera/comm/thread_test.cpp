// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "support/text.hpp"
#include "tessera/base/config.hpp"

namespace tessera {
namespace {

// What each rank was told; run_ranks itself throws the first of them.
struct Ends {
  std::mutex mutex;
  std::vector<std::string> texts;
  std::string first;
};

void run(Ends& ends, int ranks, const std::function<void(Communicator)>& body) {
  ends.texts.assign(static_cast<std::size_t>(ranks), "");
  try {
    run_ranks(ranks, [&](Communicator comm) {
      try {
        body(comm);
      } catch (const std::exception& e) {
        const std::lock_guard lock(ends.mutex);
        ends.texts[static_cast<std::size_t>(comm.rank())] = e.what();
        throw;
      }
    });
  } catch (const std::exception& e) {
    ends.first = e.what();
  }
}

TEST(Threads, RunsEveryRankOnce) {
  std::atomic<int> seen = 0;
  run_ranks(4, [&](Communicator comm) {
    seen += 1 << (4 * comm.rank());
    EXPECT_EQ(comm.size(), 4);
    EXPECT_EQ(comm.str(), cat("rank ", comm.rank(), " of 4 (threads)"));
  });
  EXPECT_EQ(seen, 0x1111);
  EXPECT_THROW(run_ranks(0, [](Communicator) {}), ArgumentError);
}

TEST(Threads, AnExceptionOfARankEndsTheWaitsOfTheOthers) {
  Ends ends;
  run(ends, 4, [](Communicator comm) {
    comm.barrier();
    if (comm.rank() == 2) throw IndexError("index 9 is out of bounds");
    const std::vector<i64> mine(4);
    std::vector<i64> all(4);
    comm.alltoall(mine.data(), 8, all.data());
  });
  EXPECT_EQ(ends.first, "index 9 is out of bounds");
  for (const std::size_t r : {0u, 1u, 3u})
    EXPECT_TRUE(has(ends.texts[r], "waited for rank ") && has(ends.texts[r], " in alltoall: ") &&
                has(ends.texts[r], "index 9 is out of bounds"))
        << ends.texts[r];
}

TEST(Threads, ARankThatReturnsEarlyIsNamed) {
  Ends ends;
  run(ends, 3, [](Communicator comm) {
    if (comm.rank() == 1) return;
    char x = 0;
    comm.broadcast(&x, 1, 1);
  });
  EXPECT_EQ(ends.first, "waited for rank 1 in broadcast: it has returned");
}

TEST(Threads, ARankThatIsNotNeededMayReturn) {
  run_ranks(3, [](Communicator comm) {
    const Communicator pair = comm.split(comm.rank() == 2, 0);
    if (comm.rank() == 2) return;
    for (int k = 0; k < 50; ++k) pair.barrier();
  });
}

TEST(Threads, TheGroupIsLostAfterAFailure) {
  Ends ends;
  run(ends, 2, [](Communicator comm) {
    if (comm.rank() == 1) return;
    EXPECT_THROW(comm.barrier(), CommError);
    comm.barrier();
  });
  EXPECT_TRUE(has(ends.first, "barrier: the group is lost")) << ends.first;
}

TEST(Threads, BytesThatDoNotFitAreNamedOnBothSides) {
  Ends ends;
  run(ends, 2, [](Communicator comm) {
    std::vector<char> memory(16);
    const Block b = Block::dense(1 - comm.rank(), memory.data(), comm.rank() == 0 ? 16 : 8);
    comm.rank() == 0 ? comm.exchange({&b, 1}, {}) : comm.exchange({}, {&b, 1});
  });
  for (const std::string& text : ends.texts)
    EXPECT_TRUE(has(text, "rank 0 sends 16 bytes to rank 1, which expects 8")) << text;
}

TEST(Threads, ACircleOfWaitsEnds) {
  Ends ends;
  run(ends, 3, [](Communicator comm) {
    i64 x = 0;
    const Block from_next = Block::dense((comm.rank() + 1) % 3, &x, 8);
    comm.exchange({}, {&from_next, 1});
  });
  EXPECT_TRUE(has(ends.first, "all ranks wait for one another") &&
              has(ends.first, "rank 1 for rank 2 in exchange"))
      << ends.first;
}

TEST(Threads, TheTimeLimitEndsAWait) {
  const Using<i64> limit(config().comm_timeout, 1);
  Ends ends;
  std::atomic<bool> over = false;
  run(ends, 2, [&](Communicator comm) {
    if (comm.rank() == 1) {
      while (!over) std::this_thread::yield();
      return;
    }
    try {
      comm.barrier();
    } catch (...) {
      over = true;
      throw;
    }
  });
  EXPECT_TRUE(has(ends.first, "waited for rank 1 in barrier: nothing came within 1 seconds"))
      << ends.first;
}

}  // namespace
}  // namespace tessera
