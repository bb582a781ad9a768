// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/job_file.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "support/arrays.hpp"
#include "support/files.hpp"
#include "support/problems.hpp"
#include "tessera/base/error.hpp"
#include "tessera/streaming/stored/fill.hpp"

namespace tessera::streaming {
namespace {

// Each holder removes the file while others open it: one that locked what has no name any more
// would work beside the next, who locks a new file.
TEST(JobFiles, HaveOneHolderWhileTheyAreRemovedAndMadeAgain) {
  const std::string path = path_of("taken.job");
  std::atomic<int> holders{0}, most{0}, held{0}, nameless{0};
  auto work = [&] {
    for (int k = 0; k < 2000; ++k) {
      try {
        JobFile file(path);
        const int now = ++holders;
        if (now > most) most = now;
        if (!std::filesystem::exists(path)) ++nameless;
        ++held;
        std::this_thread::yield();
        --holders;
        file.remove();
      } catch (const IoError&) {  // somebody else has it
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(nameless, 0);
  EXPECT_GT(held, 0);
}

TEST(BackedStores, AreOfTheNumbersThatAreStillBeingWritten) {
  const Box whole{{0, 0}, {512, 512}};
  const StoredArray made = filled({512, 512}, Value(0), DType::f64);
  const StorePtr store = made.store();
  for (int k = 0; k < 20; ++k) {
    const Array x = random_on_host({512, 512}, DType::f64, static_cast<std::uint64_t>(k));
    const store::Transfer on_its_way = store->write(whole, x);
    const std::string said = store->version();
    on_its_way.wait();
    // Written once more, the numbers are the same and asked for anew.
    store->write(whole, x).wait();
    ASSERT_EQ(store->version(), said) << k;
  }
}

}  // namespace
}  // namespace tessera::streaming
