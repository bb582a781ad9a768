// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace tessera {
namespace {

using Offsets = std::vector<i64>;  // bytes, one per operand

// Offsets of every element in row-major order, by plain index arithmetic.
std::vector<Offsets> brute_force(const std::vector<Layout>& layouts,
                                 const std::vector<i64>& sizes) {
  std::vector<Offsets> all;
  const Layout& first = layouts[0];
  for (i64 k = 0; k < first.size(); ++k) {
    Offsets o;
    for (std::size_t j = 0; j < layouts.size(); ++j) {
      i64 rest = k, offset = 0;
      for (i64 a = first.ndim() - 1; a >= 0; --a) {
        offset += rest % first.shape[a] * layouts[j].strides[a];
        rest /= first.shape[a];
      }
      o.push_back(offset * sizes[j]);
    }
    all.push_back(o);
  }
  return all;
}

// The same, by cursors over pieces of odd lengths.
std::vector<Offsets> walked(const Loop& loop, i64 piece) {
  std::vector<Offsets> all;
  for (i64 begin = 0; begin < loop.size(); begin += piece) {
    const i64 end = std::min(loop.size(), begin + piece);
    for (Cursor c(loop, begin); c.position() < end;) {
      const i64 n = std::min(c.run(), end - c.position());
      for (i64 i = 0; i < n; ++i) {
        Offsets o;
        for (int k = 0; k < loop.operands(); ++k)
          o.push_back(c.offset(k) + i * loop.inner_stride(k));
        all.push_back(o);
      }
      c.advance(n);
    }
  }
  return all;
}

std::vector<const Layout*> pointers(const std::vector<Layout>& layouts) {
  std::vector<const Layout*> p;
  for (const Layout& l : layouts) p.push_back(&l);
  return p;
}

TEST(Loop, VisitsEveryElementOnceInAnyLayout) {
  std::mt19937 random(7);
  auto pick = [&](i64 low, i64 high) {
    return low + static_cast<i64>(random()) % (high - low + 1);
  };
  for (int trial = 0; trial < 3000; ++trial) {
    Shape shape;
    for (i64 rank = pick(0, 5); rank > 0; --rank) shape.push_back(pick(0, 9) == 0 ? 0 : pick(1, 4));
    std::vector<Layout> layouts;
    std::vector<i64> sizes;
    for (i64 k = pick(1, 4); k > 0; --k) {
      Layout l = Layout::contiguous(shape);
      for (i64 a = 0; a < l.ndim(); ++a) {
        const i64 what = pick(0, 5);
        if (what == 0) l.strides[a] = 0;
        if (what == 1) l.strides[a] = -l.strides[a];
        if (what == 2) l.strides[a] *= pick(2, 3);
        if (what == 3 && a > 0) std::swap(l.strides[a], l.strides[a - 1]);
      }
      layouts.push_back(l);
      sizes.push_back(i64{1} << pick(0, 4));
    }
    std::vector<Offsets> expected = brute_force(layouts, sizes);
    const Loop ordered(pointers(layouts), sizes, Loop::Order::row_major);
    EXPECT_EQ(walked(ordered, pick(1, 40)), expected);
    const Loop free(pointers(layouts), sizes);
    std::vector<Offsets> found = walked(free, pick(1, 40));
    for (int k = 0; k < free.operands(); ++k) {  // one operand alone walks in the same order
      const std::vector<Offsets> alone = walked(free.only(k), pick(1, 40));
      ASSERT_EQ(alone.size(), found.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(alone[i][0], found[i][static_cast<std::size_t>(k)]);
    }
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(found, expected) << "shape " << to_text(shape);
  }
}

TEST(Loop, MergesWhatStepsEvenly) {
  const Layout dense = Layout::contiguous({3, 4, 5});
  EXPECT_EQ(Loop({&dense, &dense}, {4, 8}).axes(), 1);
  EXPECT_EQ(Loop({&dense, &dense}, {4, 8}).inner_size(), 60);
  const std::array<i64, 3> turn{2, 1, 0};
  const Layout turned = dense.permute(turn);
  EXPECT_EQ(Loop({&turned, &turned}, {4, 4}).axes(), 1) << "axes are sorted before they are merged";
  EXPECT_EQ(Loop({&turned, &turned}, {4, 4}, Loop::Order::row_major).axes(), 3);
  const Layout back = dense.slice(0, 2, 3, -1).slice(1, 3, 4, -1).slice(2, 4, 5, -1);
  const Loop reversed({&back}, {4});
  EXPECT_EQ(reversed.axes(), 1);
  EXPECT_EQ(reversed.inner_stride(0), 4);
  EXPECT_EQ(reversed.start(0), -59 * 4);
  const Layout row = Layout::contiguous({5}).broadcast_to({3, 4, 5});
  const Loop broadcast({&dense, &row}, {4, 4});
  EXPECT_EQ(broadcast.axes(), 2);
  EXPECT_EQ(broadcast.only(0).axes(), 1);
  EXPECT_FALSE(broadcast.is_scalar(1));
  const Layout one = Layout().broadcast_to({3, 4, 5});
  EXPECT_TRUE(Loop({&dense, &one}, {4, 4}).is_scalar(1));
}

TEST(Loop, RowsAreTheWalkWithoutTheInnermostAxis) {
  const Layout dense = Layout::contiguous({3, 4, 5});
  const Layout part = dense.slice(2, 1, 3).slice(1, 0, 2);
  const Layout out = Layout::contiguous({3, 2, 3});
  const Loop rows = Loop({&out, &part}, {4, 4}).rows();
  EXPECT_EQ(rows.size(), 6);
  std::vector<i64> at;
  for (Cursor c(rows, 0); c.position() < rows.size(); c.advance(1)) at.push_back(c.offset(1) / 4);
  EXPECT_EQ(at, (std::vector<i64>{0, 5, 20, 25, 40, 45}));
  EXPECT_EQ(Loop({&dense}, {4}).rows().size(), 1);
}

}  // namespace
}  // namespace tessera
