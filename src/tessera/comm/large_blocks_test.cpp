// SPDX-License-Identifier: Apache-2.0
// Blocks so large that ranks of one machine stage them in the shared window: every pair of layouts,
// and more bytes than the window has.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/ranks.hpp"

namespace tessera {
namespace {

constexpr i64 high = 191, wide = 203;  // of a block: 310 KB

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

std::vector<i64> poisoned(i64 count) {
  return std::vector<i64>(static_cast<std::size_t>(count), -7);
}

std::vector<Block> blocks_of(std::vector<i64>& array, Arrangement arrangement, int p) {
  std::vector<Block> blocks;
  blocks.reserve(static_cast<std::size_t>(p));
  for (int q = 0; q < p; ++q)
    blocks.push_back(
        {q, reinterpret_cast<std::byte*>(array.data()), 8, block_layout(arrangement, p, q)});
  return blocks;
}

i64& element(std::vector<i64>& array, const Layout& l, i64 i, i64 j) {
  return array[static_cast<std::size_t>(l.offset + i * l.strides[0] + j * l.strides[1])];
}

TEST(Ranks, LargeBlocksOfAnyLayout) {
  on_ranks({2, 3}, [](const Communicator& comm) {
    const int p = comm.size(), me = comm.rank();
    const i64 count = 2 * p * high * wide;
    for (const Arrangement from : arrangements)
      for (const Arrangement to : arrangements) {
        std::vector<i64> source = poisoned(count), target = poisoned(count);
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
        for (const i64 x : target) untouched += x == -7;
        EXPECT_EQ(wrong, 0) << static_cast<int>(from) << static_cast<int>(to);
        EXPECT_EQ(untouched, count - p * high * wide);
      }
  });
}

// One rank receives all, and copies its own block besides.
TEST(Ranks, LargeBlocksOfAllRanksToOne) {
  on_ranks({2, 3}, [](const Communicator& comm) {
    const int p = comm.size(), me = comm.rank();
    for (int root = 0; root < p; ++root) {
      std::vector<i64> source = poisoned(high * wide), target = poisoned(p * high * wide);
      for (i64 k = 0; k < high * wide; ++k)
        source[static_cast<std::size_t>(k)] = item_of(me, root, 0, k);
      const Block mine{root, reinterpret_cast<std::byte*>(source.data()), 8,
                       Layout::contiguous({high, wide})};
      std::vector<Block> receives;
      if (me == root) receives = blocks_of(target, Arrangement::rows, p);
      comm.exchange({&mine, 1}, receives);
      i64 wrong = 0;
      for (int q = 0; q < p; ++q)
        for (i64 k = 0; k < high * wide; ++k)
          wrong += target[static_cast<std::size_t>(q * high * wide + k)] !=
                   (me == root ? item_of(q, root, 0, k) : -7);
      EXPECT_EQ(wrong, 0) << root;
    }
  });
}

// More exchanges at once than the segment of a rank has room for: some blocks are streams.
TEST(Ranks, LargeBlocksOfManyGroupsAtOnce) {
  on_ranks({2, 3}, [](const Communicator& comm) {
    const int p = comm.size(), me = comm.rank(), groups = 24;
    std::vector<Communicator> comms;
    for (int g = 0; g < groups; ++g) comms.push_back(comm.split(0, me));
    std::vector<std::thread> threads;
    std::vector<i64> wrong(groups);
    for (int g = 0; g < groups; ++g)
      threads.emplace_back([&, g] {
        std::vector<i64> source = poisoned(p * high * wide), target = poisoned(p * high * wide);
        const std::vector<Block> sends = blocks_of(source, Arrangement::columns, p);
        const std::vector<Block> receives = blocks_of(target, Arrangement::rows, p);
        const auto value = [&](int from, int to, i64 i, i64 j) {
          return item_of(from, to, i, j) * groups + g;
        };
        for (int q = 0; q < p; ++q)
          for (i64 i = 0; i < high; ++i)
            for (i64 j = 0; j < wide; ++j)
              element(source, sends[static_cast<std::size_t>(q)].layout, i, j) = value(me, q, i, j);
        comms[static_cast<std::size_t>(g)].exchange(sends, receives);
        for (int q = 0; q < p; ++q)
          for (i64 i = 0; i < high; ++i)
            for (i64 j = 0; j < wide; ++j)
              wrong[static_cast<std::size_t>(g)] +=
                  element(target, receives[static_cast<std::size_t>(q)].layout, i, j) !=
                  value(q, me, i, j);
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, std::vector<i64>(groups));
  });
}

// Pieces end in the middle of runs.
TEST(Ranks, LargeBlocksOfManyPieces) {
  on_ranks({2}, [](const Communicator& comm) {
    const int p = comm.size(), me = comm.rank();
    const i64 rows = 1501, columns = 2003;  // 24 MB a block
    std::vector<i64> by_rows = poisoned(rows * columns * p);
    std::vector<i64> by_columns = poisoned(rows * columns * p + 5);
    i64* const a = by_rows.data();
    i64* const b = by_columns.data() + 5;
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
