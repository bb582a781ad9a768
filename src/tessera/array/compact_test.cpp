// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/compact.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <set>

namespace tessera {
namespace {

ByteView view_of(const Layout& l, i64 item) { return {l.offset * item, l.shape, l.strides, item}; }

// Bytes of a view, element by element in row-major order.
std::vector<i64> bytes_in_order(i64 start, const Shape& shape, const Strides& strides, i64 item) {
  std::vector<i64> all;
  const i64 n = count_of(shape);
  for (i64 i = 0; i < n; ++i) {
    i64 rest = i, at = start;
    for (i64 a = shape.size() - 1; a >= 0; --a) {
      at += rest % shape[a] * strides[a] * item;
      rest /= shape[a];
    }
    for (i64 b = 0; b < item; ++b) all.push_back(at + b);
  }
  return all;
}

struct Outcome {
  i64 bytes = 0, needed = 0, span = 0;
  bool disjoint = true;
};

// Compacts and checks everything that must hold whatever the views.
Outcome checked(const std::vector<ByteView>& views) {
  Outcome o;
  std::map<i64, std::pair<std::size_t, i64>> went;  // byte -> block and place
  std::set<std::pair<std::size_t, i64>> taken;
  std::vector<int> seen(views.size(), 0);
  const std::vector<CompactBlock> blocks = compact(views);
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    o.bytes += blocks[k].bytes;
    for (const CompactBlock::Place& p : blocks[k].places) {
      const ByteView& v = views[p.view];
      ++seen[p.view];
      EXPECT_EQ(p.layout.shape, v.shape);
      const std::vector<i64> from = bytes_in_order(v.start, v.shape, v.strides, v.item),
                             to = bytes_in_order(p.layout.offset * v.item, v.shape,
                                                 p.layout.strides, v.item);
      for (std::size_t i = 0; i < from.size(); ++i) {
        EXPECT_TRUE(to[i] >= 0 && to[i] < blocks[k].bytes);
        EXPECT_EQ(to[i] + blocks[k].source.value_or(from[i] - to[i]), from[i]);
        const auto [it, fresh] = went.emplace(from[i], std::pair(k, to[i]));
        EXPECT_EQ(it->second, std::pair(k, to[i])) << "a shared byte went to two places";
        if (fresh) {
          EXPECT_TRUE(taken.insert(it->second).second) << "two bytes went to one place";
          ++o.needed;
        }
      }
    }
  }
  EXPECT_EQ(seen, std::vector<int>(views.size(), 1));
  EXPECT_EQ(bytes_of(views), o.needed);
  std::vector<std::set<i64>> sets;
  for (const ByteView& v : views) {
    const std::vector<i64> all = bytes_in_order(v.start, v.shape, v.strides, v.item);
    const std::set<i64> mine(all.begin(), all.end());
    for (const std::set<i64>& other : sets) {
      const bool same = other == mine;
      for (i64 b : mine) o.disjoint = o.disjoint && (same || !other.contains(b));
    }
    sets.push_back(mine);
  }
  if (!went.empty()) o.span = went.rbegin()->first - went.begin()->first + 1;
  return o;
}

Layout random_view(std::mt19937& gen, const Shape& base, i64& item, bool complex) {
  auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(gen); };
  Layout l = Layout::contiguous(base);
  for (i64 a = 0; a < l.ndim(); ++a) {
    const i64 start = pick(0, base[a] - 1), step = pick(1, 3) == 3 ? 2 : 1;
    const i64 length = pick(pick(1, 20) == 1 ? 0 : 1, (base[a] - start + step - 1) / step);
    l = l.slice(a, start, length, step);
    if (pick(0, 4) == 0 && length > 0) l = l.slice(a, length - 1, length, -1);
  }
  if (pick(0, 1) != 0) {
    std::vector<i64> order(static_cast<std::size_t>(l.ndim()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<i64>(i);
    std::shuffle(order.begin(), order.end(), gen);
    l = l.permute(order);
  }
  if (pick(0, 5) == 0) {
    l = l.insert_axis(0);
    l.shape[0] = 3;
  }
  if (complex && pick(0, 2) == 0) {  // its real or imaginary part
    item /= 2;
    l.offset = 2 * l.offset + pick(0, 1);
    for (i64& s : l.strides) s *= 2;
  }
  return l;
}

TEST(Compact, ColumnsOfAMatrixTakeTheirOwnBytes) {
  const Layout whole = Layout::contiguous({7, 1000});
  const Outcome o = checked({view_of(whole.slice(1, 2, 2), 4)});
  EXPECT_EQ(o.bytes, 7 * 2 * 4);
}

TEST(Compact, TilesThatFillABoxStaySideBySide) {
  // Rows, columns and a grid of tiles of the columns 10 to 40 of a matrix.
  const Layout box = Layout::contiguous({12, 100}).slice(1, 10, 30);
  std::vector<ByteView> rows, columns, grid;
  for (i64 i = 0; i < 4; ++i) rows.push_back(view_of(box.slice(0, 3 * i, 3), 8));
  for (i64 j = 0; j < 3; ++j) columns.push_back(view_of(box.slice(1, 10 * j, 10), 8));
  for (i64 i = 0; i < 4; ++i)
    for (i64 j = 0; j < 3; ++j)
      grid.push_back(view_of(box.slice(0, 3 * i, 3).slice(1, 10 * j, 10), 8));
  for (const auto& tiles : {rows, columns, grid}) {
    EXPECT_EQ(checked(tiles).bytes, 12 * 30 * 8);
    const std::vector<CompactBlock> blocks = compact(tiles);
    ASSERT_EQ(blocks.size(), 1u);
    for (const CompactBlock::Place& p : blocks.front().places) {
      const ByteView& v = tiles[p.view];
      EXPECT_EQ(p.layout.strides, (Strides{30, 1}));
      EXPECT_EQ(p.layout.offset, (v.start / 8 - 10) / 100 * 30 + (v.start / 8 - 10) % 100);
    }
  }
  // Tiles that are no neighbours move together; those that cannot get a block each.
  EXPECT_EQ(compact({grid[0], grid[4], grid[8]}).size(), 1u);
  const std::vector<ByteView> shifted{view_of(box.slice(0, 0, 4).slice(1, 0, 10), 8),
                                      view_of(box.slice(0, 2, 4).slice(1, 20, 10), 8)};
  EXPECT_EQ(checked(shifted).bytes, 2 * 4 * 10 * 8);
  EXPECT_EQ(compact(shifted).size(), 2u);
}

TEST(Compact, SharedElementsAreSharedAgain) {
  const Layout w = Layout::contiguous({6, 8});
  const std::array<i64, 2> turned{1, 0};
  EXPECT_EQ(checked({view_of(w, 4), view_of(w.permute(turned), 4), view_of(w.slice(0, 1, 2), 4),
                     view_of(w.slice(1, 0, 8, 1).slice(0, 5, 3, -2), 4)})
                .bytes,
            6 * 8 * 4);
  // A complex array, its real and its imaginary part; and the real part alone.
  const ByteView z{0, {5}, {1}, 8}, re{0, {5}, {2}, 4}, im{4, {5}, {2}, 4};
  EXPECT_EQ(checked({z, re, im}).bytes, 40);
  EXPECT_EQ(checked({re}).bytes, 20);
  EXPECT_EQ(checked({re, im}).bytes, 40);
  // Windows that overlap, repeated elements, and none.
  EXPECT_EQ(checked({{16, {10, 3}, {1, 1}, 4}}).bytes, 12 * 4);
  EXPECT_EQ(checked({{16, {10, 3}, {0, 5}, 4}}).bytes, 3 * 4);
  EXPECT_EQ(checked({{16, {4, 2}, {3, 6}, 4}}).bytes, 6 * 4);
  EXPECT_EQ(checked({{16, {4, 2}, {3, 4}, 4}}).needed, 8 * 4);
  EXPECT_EQ(checked({{0, {0, 3}, {3, 1}, 4}, {0, {}, {}, 4}}).bytes, 4);
}

TEST(Compact, WhatAllViewsRepeatIsLookedAtOnce) {
  // Real and imaginary parts of 2^40 numbers, and columns of as many rows: no list of runs could be
  // as long.
  const i64 n = i64{1} << 40;
  const ByteView re{0, {n}, {2}, 4}, im{4, {n}, {2}, 4};
  EXPECT_EQ(bytes_of({re, im}), 8 * n);
  EXPECT_EQ(compact({re, im}).front().source, 0);
  const std::vector<ByteView> columns{{40, {n, 2}, {100, 1}, 4},
                                      {48, {n, 3}, {100, 1}, 4},
                                      {80, {3, n}, {1, 100}, 4},
                                      {84, {3, n}, {1, 100}, 4}};
  EXPECT_EQ(bytes_of(columns), 9 * 4 * n);
  const std::vector<CompactBlock> blocks = compact(columns);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks.front().bytes, 9 * 4 * n);
  for (const CompactBlock::Place& p : blocks.front().places) {
    const std::array<i64, 4> starts{0, 2, 5, 6};
    EXPECT_EQ(p.layout.offset, starts[p.view]);
    EXPECT_EQ(p.layout.strides, p.view < 2 ? (Strides{9, 1}) : (Strides{1, 9}));
  }
}

TEST(Compact, BoxesThatOverlapAtACornerTakeTheRowsOfBoth) {
  const Layout w = Layout::contiguous({10, 1000});
  const Outcome o = checked(
      {view_of(w.slice(0, 0, 5).slice(1, 20, 5), 4), view_of(w.slice(0, 3, 5).slice(1, 23, 5), 4)});
  EXPECT_EQ(o.needed, (25 + 25 - 4) * 4);
  EXPECT_EQ(o.bytes, 8 * 8 * 4);
}

TEST(Compact, RandomViewsShareWhatTheySharedAndTakeNoMore) {
  std::mt19937 gen(20);
  int exact = 0, trials = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const bool complex = trial % 3 == 0;
    const Shape base{1 + trial % 5, 2 + trial % 4, 1 + trial % 7};
    std::vector<ByteView> views;
    for (int n = 0; n <= trial % 5; ++n) {
      i64 item = complex ? 8 : i64{1} << (trial % 4);
      const Layout l = random_view(gen, base, item, complex);
      views.push_back(view_of(l, item));
    }
    const Outcome o = checked(views);
    if (::testing::Test::HasFailure()) FAIL() << "trial " << trial;
    EXPECT_GE(o.bytes, o.needed);
    EXPECT_LE(o.bytes, o.span + 7);
    // Not exact: boxes that overlap at a corner, or a complex number that begins between two.
    EXPECT_TRUE(o.bytes == o.needed ||
                (!o.disjoint && (o.needed < o.span || o.bytes < o.needed + 8)))
        << "trial " << trial;
    exact += o.bytes == o.needed;
    ++trials;
  }
  EXPECT_GT(exact, trials / 2);
}

}  // namespace
}  // namespace tessera
