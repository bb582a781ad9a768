// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/block.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace tessera {
namespace {

// Row-major bytes of a block, by plain index arithmetic.
std::vector<std::byte> bytes_of(const Block& b) {
  std::vector<std::byte> bytes;
  for (i64 k = 0; k < b.layout.size(); ++k) {
    i64 rest = k, offset = b.layout.offset;
    for (i64 a = b.layout.ndim() - 1; a >= 0; --a) {
      offset += rest % b.layout.shape[a] * b.layout.strides[a];
      rest /= b.layout.shape[a];
    }
    const std::byte* p = b.first + offset * b.item;
    bytes.insert(bytes.end(), p, p + b.item);
  }
  return bytes;
}

struct Room {
  std::vector<std::byte> memory;
  Block block;
};

// The same 3 x 4 x 5 elements in several layouts, numbered bytes in the memory around them.
std::vector<Room> rooms(i64 item, int seed) {
  const Layout whole = Layout::contiguous({9, 11, 12});
  const i64 turned[] = {2, 0, 1};
  std::vector<Layout> layouts = {
      Layout::contiguous({3, 4, 5}),
      Layout::contiguous({60}),
      whole.slice(0, 1, 3).slice(1, 2, 4).slice(2, 3, 5),
      whole.slice(0, 8, 3, -2).slice(1, 0, 4, 3).slice(2, 11, 5, -1),
      Layout::contiguous({4, 5, 3}).permute(turned),
      whole.slice(0, 0, 3, 4).slice(1, 5, 4, -1).slice(2, 0, 5),
      Layout::contiguous({1, 60, 1}),
  };
  std::vector<Room> made;
  for (const Layout& l : layouts) {
    Room r;
    r.memory.resize(static_cast<std::size_t>(whole.size() * item));
    for (std::size_t k = 0; k < r.memory.size(); ++k)
      r.memory[k] = static_cast<std::byte>(k * 7 + static_cast<std::size_t>(seed));
    r.block = {0, nullptr, item, l};
    made.push_back(std::move(r));
  }
  for (Room& r : made) r.block.first = r.memory.data();
  return made;
}

TEST(Block, CopiesBetweenAnyTwoLayouts) {
  for (const i64 item : {1, 2, 3, 4, 8, 16, 24, 300}) {
    const std::vector<Room> from = rooms(item, 1), fresh = rooms(item, 99);
    for (std::size_t i = 0; i < from.size(); ++i)
      for (std::size_t j = 0; j < fresh.size(); ++j) {
        Room to = fresh[j];
        to.block.first = to.memory.data();
        copy_block(from[i].block, to.block);
        EXPECT_EQ(bytes_of(from[i].block), bytes_of(to.block)) << item << " " << i << " " << j;
        // Nothing beside the block was touched: put the old bytes back and compare.
        copy_block(fresh[j].block, to.block);
        EXPECT_EQ(to.memory, fresh[j].memory) << item << " " << i << " " << j;
      }
  }
}

TEST(Block, PacksInPiecesOfAnySize) {
  for (const i64 item : {1, 3, 8, 16})
    for (const i64 piece : {1, 5, 7, 8, 64, 1000})
      for (Room& r : rooms(item, 5)) {
        std::vector<std::byte> packed(static_cast<std::size_t>(r.block.bytes()));
        BlockWalk walk(r.block);
        for (i64 at = 0; walk.left() > 0;) {
          const i64 n = std::min(piece, walk.left());
          walk.pack(packed.data() + at, n);
          at += n;
        }
        EXPECT_EQ(packed, bytes_of(r.block)) << item << " " << piece;
        const std::vector<std::byte> before = r.memory;
        for (const std::byte& b : packed) const_cast<std::byte&>(b) ^= std::byte{0x5a};
        BlockWalk back(r.block);
        for (i64 at = 0; back.left() > 0;) {
          const i64 n = std::min(piece, back.left());
          back.unpack(packed.data() + at, n);
          at += n;
        }
        EXPECT_EQ(bytes_of(r.block), packed) << item << " " << piece;
      }
}

TEST(Block, RunsAreAsLongAsTheLayoutAllows) {
  std::vector<std::byte> memory(4000);
  const auto run = [&](i64 item, const Layout& l) {
    return BlockWalk({0, memory.data(), item, l}).run();
  };
  EXPECT_EQ(run(8, Layout::contiguous({3, 4, 5})), 480);
  EXPECT_EQ(run(8, Layout::contiguous({3, 4, 5}).slice(1, 1, 2)), 80);
  EXPECT_EQ(run(8, Layout::contiguous({3, 4, 5}).slice(0, 1, 2)), 320);
  EXPECT_EQ(run(8, Layout::contiguous({3, 4, 5}).slice(2, 0, 2)), 16);
  EXPECT_EQ(run(8, Layout::contiguous({3, 4, 5}).slice(2, 4, 5, -1)), 8);
  EXPECT_TRUE(BlockWalk({0, memory.data(), 8, Layout::contiguous({1, 5})}).contiguous());
}

TEST(Block, EmptyOnesAndSingleElements) {
  std::byte one{7}, other{0};
  BlockWalk empty({0, nullptr, 8, Layout::contiguous({3, 0, 5})});
  EXPECT_EQ(empty.left(), 0);
  EXPECT_TRUE(empty.next(100).empty());
  copy_block({0, nullptr, 8, Layout::contiguous({0})}, {0, nullptr, 4, Layout::contiguous({5, 0})});
  copy_block({0, &one, 1, Layout::contiguous({})}, {0, &other, 1, Layout::contiguous({1, 1})});
  EXPECT_EQ(other, std::byte{7});
}

}  // namespace
}  // namespace tessera
