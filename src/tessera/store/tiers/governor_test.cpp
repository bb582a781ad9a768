// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiers/governor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "support/files.hpp"
#include "tessera/array/array.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/store/tiers/backing_file.hpp"

namespace tessera::store {
namespace {

// A folder of its own for backing files, a budget of the host beyond what is held already, and both
// as they were at the end; then nothing may be left.
struct Small {
  std::string folder;
  i64 base = memory_stats(cpu).in_use;
  explicit Small(const std::string& name, i64 bytes) : folder(path_of(name)) {
    set_backing_dir(folder);
    set_memory_budget(cpu, base + bytes);
    reset_peak(cpu);
    reset_governor_stats();
  }
  ~Small() {
    set_memory_budget(cpu, config_decides);
    set_disk_budget(config_decides);
    set_file_fault(nullptr);
    set_backing_dir("");
    EXPECT_EQ(memory_stats(cpu).in_use, base);
    EXPECT_EQ(disk_stats().in_use, 0);
    EXPECT_TRUE(std::filesystem::is_empty(folder)) << "files are left in " << folder;
    EXPECT_EQ(governor_stats().blocks, 0);
  }
};

void fill(const Lease& l, int value) {
  std::memset(l.data(), value, static_cast<std::size_t>(l.bytes()));
}
::testing::AssertionResult holds(const void* p, i64 bytes, int value) {
  for (i64 i = 0; i < bytes; ++i)
    if (static_cast<const unsigned char*>(p)[i] != value)
      return ::testing::AssertionFailure() << "byte " << i << " is not " << value;
  return ::testing::AssertionSuccess();
}
Block filled_block(i64 bytes, int value, Device home = cpu) {
  Block b = Block::make(bytes, home);
  fill(b.lease(Use::overwrite), value);
  return b;
}

TEST(Governor, SpillsWhatWasUsedLongestAgo) {
  Small small("lru", 30000);
  const Block a = filled_block(10000, 1), b = filled_block(10000, 2), c = filled_block(10000, 3);
  EXPECT_EQ(governor_stats().held[2], 30000);
  a.touch();  // b is the oldest now
  const Block d = filled_block(10000, 4);
  EXPECT_EQ(b.tier(), Tier::disk);
  for (const Block& x : {a, c, d}) EXPECT_EQ(x.tier(), Tier::host);
  EXPECT_TRUE(holds(b.lease().data(), 10000, 2));
  EXPECT_EQ(c.tier(), Tier::disk);
  const GovernorStats s = governor_stats();
  EXPECT_EQ(s.blocks, 4);
  EXPECT_EQ(s.held[2], 30000);
  EXPECT_EQ(s.held[3], 10000);
  EXPECT_EQ(s.copies, 10000);  // b was only read: its place on disk is still right
  EXPECT_EQ(s.spills, 2);
  EXPECT_EQ(s.promotions, 1);
  EXPECT_EQ(s.bytes_written, 20000);
  EXPECT_EQ(s.bytes_read, 10000);
  EXPECT_LE(memory_stats(cpu).peak, small.base + 30000);
}

TEST(Governor, NothingGoesForARequestThatNeverFits) {
  Small small("never", 30000);
  const Block a = filled_block(10000, 1), b = filled_block(10000, 2);
  EXPECT_THROW((void)Array::empty({small.base + 30001}, DType::u8), OutOfMemory);
  EXPECT_THROW((void)Array::empty({i64{1} << 45}, DType::u8), OutOfMemory);
  set_memory_budget(cpu, 0);  // then the machine is the limit
  EXPECT_THROW((void)Array::empty({i64{1} << 45}, DType::u8), OutOfMemory);
  EXPECT_EQ(a.tier(), Tier::host);
  EXPECT_EQ(b.tier(), Tier::host);
  EXPECT_EQ(governor_stats().spills, 0);
}

TEST(Governor, WhatIsLeasedStays) {
  Small small("leased", 20000);
  const Block a = filled_block(10000, 1), b = filled_block(10000, 2), c = Block::make(10000);
  Lease la = a.lease();
  const void* address = la.data();
  {
    const Lease lb = b.lease();
    EXPECT_EQ(governor_stats().leased, 20000);
    EXPECT_THROW((void)c.lease(), OutOfMemory);  // nothing else can go
    EXPECT_EQ(c.tier(), Tier::nowhere);
    EXPECT_FALSE(a.spill());
  }
  fill(c.lease(Use::overwrite), 3);
  EXPECT_EQ(b.tier(), Tier::disk);
  EXPECT_EQ(la.data(), address);
  EXPECT_TRUE(holds(la.data(), 10000, 1));
  la.end();
  EXPECT_TRUE(a.spill());
  EXPECT_EQ(a.tier(), Tier::disk);
}

TEST(Governor, ArraysKeepTheirBlockAndMakeRoom) {
  Small small("arrays", 40000);
  const Block a = filled_block(8000, 0), b = filled_block(16000, 7);
  {
    const Array view(a.lease(Use::write).storage(), Layout::contiguous({1000}), DType::f64);
    view.host<double>()[999] = 5;
    EXPECT_TRUE(a.leased());
    const Array other = Array::empty({4000}, DType::f64, cpu);  // 32000: b has to go
    EXPECT_EQ(b.tier(), Tier::disk);
    EXPECT_EQ(a.tier(), Tier::host);
    EXPECT_THROW((void)Array::empty({4000}, DType::f64, cpu), OutOfMemory);
  }
  EXPECT_FALSE(a.leased());
  EXPECT_TRUE(a.spill());
  EXPECT_EQ(static_cast<const double*>(a.lease().data())[999], 5);
  EXPECT_TRUE(holds(b.lease().data(), 16000, 7));
}

TEST(Governor, OnlyReadBlocksLeaveWithoutBeingWritten) {
  Small small("dropped", 10000);
  const Block a = filled_block(10000, 1);
  EXPECT_TRUE(a.spill());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(holds(a.lease(Use::read).data(), 10000, 1));
    EXPECT_TRUE(a.spill());
  }
  EXPECT_EQ(governor_stats().bytes_written, 10000);
  EXPECT_EQ(governor_stats().dropped, 3);
  fill(a.lease(Use::write), 2);
  EXPECT_EQ(governor_stats().copies, 0);
  EXPECT_EQ(disk_stats().in_use, 0);
  EXPECT_TRUE(a.spill());
  EXPECT_EQ(governor_stats().bytes_written, 20000);
  const i64 read = governor_stats().bytes_read;
  fill(a.lease(Use::overwrite), 3);  // nothing is brought
  EXPECT_EQ(governor_stats().bytes_read, read);
  EXPECT_TRUE(holds(a.lease().data(), 10000, 3));
}

TEST(Governor, DevicesSpillToTheHostAndOnToDisk) {
  Small small("devices", 3000000);
  const Device sim = Device::parse("sim:3");
  const i64 before = memory_stats(sim).in_use;
  set_memory_budget(sim, before + 4000000);
  {
    std::vector<Block> blocks;
    for (int i = 0; i < 4; ++i) {  // two fit the device, one the host
      blocks.push_back(Block::make(2000000, sim));
      const Lease l = blocks.back().lease(Use::overwrite);
      Stream::home(sim).fill(l.data(), 10 + i, l.bytes());
    }
    EXPECT_EQ(blocks[0].tier(), Tier::disk);
    EXPECT_EQ(blocks[1].tier(), Tier::host);
    EXPECT_EQ(blocks[2].tier(), Tier::device);
    for (int i = 0; i < 4; ++i) {
      const Lease l = blocks[static_cast<std::size_t>(i)].lease();
      EXPECT_EQ(l.device(), sim);
      std::vector<char> here(2000000);
      Stream::home(sim).copy(here.data(), cpu, l.data(), sim, l.bytes());
      Stream::home(sim).sync();
      EXPECT_TRUE(holds(here.data(), l.bytes(), 10 + i));
    }
    EXPECT_LE(memory_stats(sim).peak, before + 4000000);
    EXPECT_LE(memory_stats(cpu).peak, small.base + 3000000);
    const Block pinned = Block::pinned(Kind::sim, 5000);
    fill(pinned.lease(Use::overwrite), 9);
    EXPECT_EQ(pinned.tier(), Tier::pinned);
    const i64 held = pinned_stats().in_use;
    set_pinned_budget(held);
    const Block other = Block::pinned(Kind::sim, 5000);
    fill(other.lease(Use::overwrite), 8);
    EXPECT_EQ(pinned.tier(), Tier::host);
    EXPECT_TRUE(holds(pinned.lease().data(), 5000, 9));
    EXPECT_EQ(other.tier(), Tier::host);
    set_pinned_budget(config_decides);
  }
  set_memory_budget(sim, config_decides);
  EXPECT_EQ(memory_stats(sim).in_use, before);
}

TEST(Governor, DiskBudget) {
  Small small("disk_budget", 20000);
  set_disk_budget(8192);
  const Block a = filled_block(8000, 1), b = filled_block(8000, 2), c = filled_block(8000, 3);
  EXPECT_EQ(a.tier(), Tier::disk);
  const Block d = Block::make(8000);
  try {
    (void)d.lease(Use::overwrite);
    ADD_FAILURE();
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("set_memory_budget(disk=...)"), std::string::npos)
        << e.what();
  }
  EXPECT_TRUE(holds(b.lease().data(), 8000, 2));
  set_disk_budget(0);
  fill(d.lease(Use::overwrite), 4);
  EXPECT_TRUE(holds(a.lease().data(), 8000, 1));
}

// What the governor should do, said simply: blocks by age, and who has to go.
struct Model {
  struct One {
    Block block;
    int value = -1;  // -1: never written
    bool in_memory = false;
    std::vector<Lease> leases;
  };
  std::vector<One> all;
  std::deque<std::size_t> unused;  // in memory and not leased, longest unused first
  i64 used = 0, budget = 0;

  void forget(std::size_t i) { std::erase(unused, i); }
  // False: there is no room.
  bool make_room(i64 bytes) {
    i64 missing = used + bytes - budget;
    while (missing > 0 && !unused.empty()) {
      One& victim = all[unused.front()];
      unused.pop_front();
      victim.in_memory = false;
      missing -= victim.block.bytes();
      used -= victim.block.bytes();
    }
    return missing <= 0;
  }
};

void check_model(const Model& m) {
  i64 memory = 0, disk = 0, leased = 0;
  for (const Model::One& x : m.all) {
    const Tier expected = x.value < 0 ? Tier::nowhere : x.in_memory ? Tier::host : Tier::disk;
    ASSERT_EQ(x.block.tier(), expected);
    if (x.value >= 0) (x.in_memory ? memory : disk) += x.block.bytes();
    if (!x.leases.empty()) leased += x.block.bytes();
  }
  const GovernorStats s = governor_stats();
  ASSERT_EQ(s.held[2], memory);
  ASSERT_EQ(s.held[3], disk);
  ASSERT_EQ(s.leased, leased);
  ASSERT_EQ(s.blocks, static_cast<i64>(m.all.size()));
}

void lease_in_model(Model& m, std::size_t i, int value) {
  Model::One& x = m.all[i];
  const bool fresh = x.value < 0, write = fresh || value % 2 == 0;
  const Use use = fresh || value % 4 == 0 ? Use::overwrite : write ? Use::write : Use::read;
  bool fits = true;
  if (!x.in_memory) fits = m.make_room(x.block.bytes());
  if (!fits) {
    ASSERT_THROW((void)x.block.lease(use), OutOfMemory);
    return;
  }
  if (!x.in_memory) m.used += x.block.bytes();
  m.forget(i);
  Lease l = x.block.lease(use);
  if (use == Use::read || use == Use::write) {
    ASSERT_TRUE(holds(l.data(), l.bytes(), x.value));
  }
  x.in_memory = true;
  if (write && x.leases.empty()) {
    x.value = value % 200;
    fill(l, x.value);
  }
  x.leases.push_back(std::move(l));
}

TEST(Governor, RandomSequencesAsTheModelSays) {
  for (int seed = 0; seed < 20; ++seed) {
    Small small("model", 200000);
    Model m;
    m.budget = 200000;
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int step = 0; step < 400; ++step) {
      const auto pick = random() % 10;
      const std::size_t i = m.all.empty() ? 0 : random() % m.all.size();
      if (m.all.empty() || (pick == 0 && m.all.size() < 40)) {
        m.all.push_back({Block::make(1 + static_cast<i64>(random() % 40000)), -1, false, {}});
      } else if (pick <= 4) {
        lease_in_model(m, i, static_cast<int>(random() % 1000));
      } else if (pick <= 7) {
        Model::One& x = m.all[i];
        if (x.leases.empty()) continue;
        x.leases.pop_back();
        if (x.leases.empty()) m.unused.push_back(i);
      } else if (pick == 8) {
        m.all[i].block.touch();
        if (std::erase(m.unused, i) > 0) m.unused.push_back(i);
      } else if (Model::One& x = m.all[i]; x.leases.empty() && x.value >= 0) {
        ASSERT_TRUE(x.block.spill());
        if (x.in_memory) m.used -= x.block.bytes();
        x.in_memory = false;
        m.forget(i);
      } else {
        ASSERT_FALSE(x.block.spill());
      }
      ASSERT_EQ(memory_stats(cpu).in_use, small.base + m.used) << seed << " " << step;
      check_model(m);
      if (HasFatalFailure()) return;
    }
    EXPECT_LE(memory_stats(cpu).peak, small.base + m.budget);
  }
}

std::atomic<int> calls_left{0}, fault_error{0};
std::atomic<const char*> fault_call{nullptr};
int nth_fails(std::string_view call) {
  const char* which = fault_call.load();
  if (which && call != which) return 0;
  return calls_left.fetch_sub(1) == 1 ? fault_error.load() : 0;
}

// One walk that spills and promotes; stops at the first error.
void walk(std::vector<Block>& blocks) {
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Lease l = blocks[i].lease(round == 0 ? Use::overwrite : Use::write);
      if (round == 1) {
        ASSERT_TRUE(holds(l.data(), l.bytes(), 20 + static_cast<int>(i)));
      }
      fill(l, 20 + static_cast<int>(i));
    }
}

TEST(Governor, FaultsAtEveryCallLeaveBlocksWhole) {
  for (const char* call : {"make", "claim", "write", "read"})
    for (const int error : {ENOSPC, EIO, moves_half})
      for (int n = 1; n <= 12; ++n) {
        if (error == moves_half && std::string_view(call) < "read") continue;
        Small small("faults", 30000);
        std::vector<Block> blocks;
        for (int i = 0; i < 8; ++i) blocks.push_back(Block::make(9000));
        fault_call = call;
        fault_error = error;
        calls_left = n;
        set_file_fault(nth_fails);
        bool failed = false;
        try {
          walk(blocks);
        } catch (const Error& e) {
          failed = true;
          const std::string text = e.what();
          EXPECT_NE(text.find(std::strerror(error)), std::string::npos) << text;
          EXPECT_NE(text.find("backing file '"), std::string::npos) << text;
        }
        EXPECT_FALSE(failed && error == moves_half);
        set_file_fault(nullptr);
        // What was written before is what is there, and all goes on.
        for (std::size_t i = 0; i < blocks.size(); ++i)
          if (blocks[i].tier() != Tier::nowhere) {
            const Lease l = blocks[i].lease();
            EXPECT_TRUE(holds(l.data(), l.bytes(), 20 + static_cast<int>(i)))
                << call << " " << error << " " << n;
          }
        walk(blocks);
        if (HasFatalFailure()) return;
        EXPECT_EQ(governor_stats().leased, 0);
      }
}

TEST(Governor, ThreadsThatContend) {
  Small small("threads", 40 * 4096);
  constexpr int block_count = 64, thread_count = 8;
  std::vector<Block> blocks;
  std::vector<std::atomic<int>> owner(block_count);  // one thread at a time writes a block
  std::vector<int> value(block_count, 1);
  for (int i = 0; i < block_count; ++i) blocks.push_back(filled_block(4096, 1));
  std::atomic<int> wrong{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int step = 0; step < 400; ++step) {
        const std::size_t i = random() % block_count;
        int nobody = 0;
        if (!owner[i].compare_exchange_strong(nobody, t + 1)) {
          blocks[i].touch();
          continue;
        }
        try {
          const Lease l = blocks[i].lease(Use::write), again = blocks[i].lease();
          if (l.data() != again.data() || !holds(l.data(), 4096, value[i])) ++wrong;
          value[i] = static_cast<int>(random() % 250);
          fill(l, value[i]);
          if (!holds(again.data(), 4096, value[i])) ++wrong;
        } catch (const OutOfMemory&) {
          ++refused;  // at most 8 blocks of 40 are leased: never
        }
        if (random() % 7 == 0) blocks[i].spill();
        owner[i] = 0;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(refused, 0);
  EXPECT_LE(memory_stats(cpu).peak, small.base + 40 * 4096);
  for (std::size_t i = 0; i < block_count; ++i)
    EXPECT_TRUE(holds(blocks[i].lease().data(), 4096, value[i]));
}

TEST(Governor, BlocksThatGoWhileOthersAreEvicted) {
  Small small("going", 16 * 4096);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::deque<Block> mine;
      for (int step = 0; step < 500; ++step) {
        mine.push_back(filled_block(4096, t));
        EXPECT_TRUE(holds(mine[random() % mine.size()].lease().data(), 4096, t));
        if (mine.size() > 12) mine.erase(mine.begin() + static_cast<long>(random() % mine.size()));
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace tessera::store
