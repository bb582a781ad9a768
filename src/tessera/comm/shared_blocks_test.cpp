// SPDX-License-Identifier: Apache-2.0
// Large blocks out of, and into, memory that ranks of one machine share where the system lets them:
// every pair of layouts, and of memory that is shared and memory that is not.
#include <gtest/gtest.h>

#include <vector>

#include "support/ranks.hpp"
#include "tessera/device/storage.hpp"

namespace tessera {
namespace {

constexpr i64 high = 191, wide = 203;     // of a block: 310 KB
constexpr i64 pool_bytes = i64{3} << 20;  // arrays of the pool that are shared begin at 2 MiB

i64 item_of(int from, int to, i64 i, i64 j) {
  return ((from * i64{100} + to) * 1000 + i) * 1000 + j;
}

enum class Arrangement : std::uint8_t { rows, columns, upside_down, turned, apart };

// The block of rank q, (high, wide), in an array that has one for each of p.
Layout block_layout(Arrangement arrangement, i64 p, i64 q) {
  const i64 axes[] = {1, 0};
  switch (arrangement) {
    case Arrangement::rows: return Layout::contiguous({p * high, wide}).slice(0, q * high, high);
    case Arrangement::columns: return Layout::contiguous({high, p * wide}).slice(1, q * wide, wide);
    case Arrangement::upside_down:
      return Layout::contiguous({p * high, wide}).slice(0, q * high + high - 1, high, -1);
    case Arrangement::turned:
      return Layout::contiguous({p * wide, high}).slice(0, q * wide, wide).permute(axes);
    case Arrangement::apart:  // runs of one element
      return Layout::contiguous({p * high, 2 * wide}).slice(0, q * high, high).slice(1, 1, wide, 2);
  }
  return {};
}
constexpr Arrangement arrangements[] = {Arrangement::rows, Arrangement::columns,
                                        Arrangement::upside_down, Arrangement::turned,
                                        Arrangement::apart};

// An array in memory of the pool, or in memory that only its process sees.
struct Held {
  Held(i64 count, bool from_pool)
      : own(from_pool ? 0 : static_cast<std::size_t>(count), -7),
        pool(Storage::allocate(cpu, from_pool ? std::max(pool_bytes, count * 8) : 8)),
        data(from_pool ? static_cast<i64*>(pool.data()) : own.data()) {
    std::fill(data, data + count, -7);
  }
  std::vector<i64> own;
  Storage pool;
  i64* data;
};

std::vector<Block> blocks_of(const Held& held, Arrangement arrangement, int p) {
  std::vector<Block> blocks;
  blocks.reserve(static_cast<std::size_t>(p));
  for (int q = 0; q < p; ++q)
    blocks.push_back(
        {q, reinterpret_cast<std::byte*>(held.data), 8, block_layout(arrangement, p, q)});
  return blocks;
}

i64& element(const Held& held, const Layout& l, i64 i, i64 j) {
  return held.data[l.offset + i * l.strides[0] + j * l.strides[1]];
}

TEST(Ranks, BlocksInSharedMemoryOfAnyLayout) {
  on_ranks({2, 3}, [](const Communicator& comm) {
    const int p = comm.size(), me = comm.rank();
    const i64 count = 2 * p * high * wide;
    for (const Arrangement from : arrangements)
      for (const Arrangement to : arrangements)
        for (const int kinds : {0, 1, 2, 3}) {
          const Held source(count, (kinds & 1) != 0), target(count, (kinds & 2) != 0);
          const std::vector<Block> sends = blocks_of(source, from, p);
          const std::vector<Block> receives = blocks_of(target, to, p);
          for (int q = 0; q < p; ++q)
            for (i64 i = 0; i < high; ++i)
              for (i64 j = 0; j < wide; ++j)
                element(source, sends[static_cast<std::size_t>(q)].layout, i, j) =
                    item_of(me, q, i, j);
          const Traffic before = comm.traffic();
          comm.exchange(sends, receives);
          EXPECT_EQ(comm.traffic() - before, (Traffic{p - 1, (p - 1) * high * wide * 8}));
          i64 wrong = 0, untouched = 0;
          for (int q = 0; q < p; ++q)
            for (i64 i = 0; i < high; ++i)
              for (i64 j = 0; j < wide; ++j)
                wrong += element(target, receives[static_cast<std::size_t>(q)].layout, i, j) !=
                         item_of(q, me, i, j);
          for (i64 k = 0; k < count; ++k) untouched += target.data[k] == -7;
          EXPECT_EQ(wrong, 0) << static_cast<int>(from) << static_cast<int>(to) << kinds;
          EXPECT_EQ(untouched, count - p * high * wide);
        }
  });
}

// One rank receives all, and copies its own block besides: the others, who have nothing to do,
// write.
TEST(Ranks, BlocksGoIntoTheMemoryOfTheRankThatHasMoreToDo) {
  on_ranks({2, 3}, [](const Communicator& comm) {
    const int p = comm.size(), me = comm.rank();
    for (int root = 0; root < p; ++root)
      for (const int kinds : {0, 1, 2, 3}) {
        const Held source(high * wide, (kinds & 1) != 0), target(p * high * wide, (kinds & 2) != 0);
        for (i64 k = 0; k < high * wide; ++k) source.data[k] = item_of(me, root, 0, k);
        const Block mine{root, reinterpret_cast<std::byte*>(source.data), 8,
                         Layout::contiguous({high, wide})};
        std::vector<Block> receives;
        if (me == root) receives = blocks_of(target, Arrangement::rows, p);
        comm.exchange({&mine, 1}, receives);
        i64 wrong = 0;
        for (int q = 0; q < p; ++q)
          for (i64 k = 0; k < high * wide; ++k)
            wrong += target.data[q * high * wide + k] != (me == root ? item_of(q, root, 0, k) : -7);
        EXPECT_EQ(wrong, 0) << root << ' ' << kinds;
      }
  });
}

// Windows end in the middle of runs, and rooms in the middle of pages.
TEST(Ranks, BlocksOfManyWindowsInSharedMemory) {
  on_ranks({2}, [](const Communicator& comm) {
    const int p = comm.size(), me = comm.rank();
    const i64 rows = 1501, columns = 2003;  // 24 MB a block
    const Storage by_rows = Storage::allocate(cpu, rows * columns * p * 8);
    const Storage by_columns = Storage::allocate(cpu, (rows * columns * p + 5) * 8);
    auto* const a = static_cast<i64*>(by_rows.data());
    i64* const b = static_cast<i64*>(by_columns.data()) + 5;
    std::vector<Block> wide_blocks, high_blocks;
    for (int q = 0; q < p; ++q) {
      wide_blocks.push_back(
          {q, reinterpret_cast<std::byte*>(a), 8,
           Layout::contiguous({rows, p * columns}).slice(1, q * columns, columns)});
      high_blocks.push_back({q, reinterpret_cast<std::byte*>(b), 8,
                             Layout::contiguous({p * rows, columns}).slice(0, q * rows, rows)});
    }
    const auto number = [&](int rank, i64 i, i64 j) { return (rank * rows + i) * p * columns + j; };
    for (i64 i = 0; i < rows; ++i)
      for (i64 j = 0; j < p * columns; ++j) a[i * p * columns + j] = number(me, i, j);
    comm.exchange(wide_blocks, high_blocks);
    i64 wrong = 0;
    for (i64 i = 0; i < p * rows; ++i)
      for (i64 j = 0; j < columns; ++j)
        wrong +=
            b[i * columns + j] != number(static_cast<int>(i / rows), i % rows, me * columns + j);
    EXPECT_EQ(wrong, 0);
    std::fill(a, a + rows * columns * p, -1);
    comm.exchange(high_blocks, wide_blocks);
    for (i64 i = 0; i < rows; ++i)
      for (i64 j = 0; j < p * columns; ++j) wrong += a[i * p * columns + j] != number(me, i, j);
    EXPECT_EQ(wrong, 0);
  });
}

}  // namespace
}  // namespace tessera
