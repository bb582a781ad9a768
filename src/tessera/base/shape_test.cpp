// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/shape.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace tessera {
namespace {

// The storage positions of all elements in row-major order of the index: what a layout means.
std::vector<i64> positions(const Layout& l) {
  std::vector<i64> all;
  Shape index(l.ndim(), 0);
  for (i64 n = l.size(); n > 0; --n) {
    i64 p = l.offset;
    for (i64 i = 0; i < l.ndim(); ++i) p += index[i] * l.strides[i];
    all.push_back(p);
    for (i64 i = l.ndim() - 1; i >= 0 && ++index[i] == l.shape[i]; --i) index[i] = 0;
  }
  return all;
}

// Whether any strides can describe these positions in this shape: they must agree with the unit
// steps.
bool is_view(const std::vector<i64>& where, const Shape& shape) {
  if (where.empty()) return true;
  Layout l = Layout::contiguous(shape);
  for (i64 i = 0; i < l.ndim(); ++i) {
    const i64 step = l.strides[i];
    if (shape[i] > 1) l.strides[i] = where[static_cast<std::size_t>(step)] - where[0];
  }
  l.offset = where[0];
  return positions(l) == where;
}

class Random {
 public:
  i64 below(i64 n) { return std::uniform_int_distribution<i64>(0, n - 1)(engine_); }
  Shape shape(i64 most_rank, i64 most) {
    Shape s;
    for (i64 i = below(most_rank + 1); i > 0; --i) s.push_back(below(most) + 1);
    return s;
  }
  // A contiguous layout, cut, reversed, permuted and broadcast at random.
  Layout layout() {
    Layout l = Layout::contiguous(shape(4, 6));
    l.offset = below(50);
    for (int i = 0; i < 3 && l.ndim() > 0; ++i) {
      const i64 axis = below(l.ndim());
      switch (below(5)) {
        case 0: {
          const i64 step = below(2) + 1, n = (l.shape[axis] + step - 1) / step;
          l = l.slice(axis, 0, n, step);
          break;
        }
        case 1: l = l.slice(axis, l.shape[axis] - 1, l.shape[axis], -1); break;
        case 2: {
          SmallVec<i64, 6> axes;
          for (i64 a = 0; a < l.ndim(); ++a) axes.push_back(a);
          std::shuffle(axes.begin(), axes.end(), engine_);
          l = l.permute(axes);
          break;
        }
        case 3: l = l.insert_axis(below(l.ndim() + 1)); break;
        default: l = l.select(axis, below(l.shape[axis])); break;
      }
    }
    return l;
  }
  // Another way to cut n elements into axes, ones among them.
  Shape factors(i64 n) {
    Shape s;
    while (n > 1) {
      i64 f = 2;
      while (n % f != 0) ++f;
      if (!s.empty() && below(2) == 0)
        s.back() *= f;
      else
        s.push_back(f);
      n /= f;
      if (below(4) == 0) s.push_back(1);
    }
    std::shuffle(s.begin(), s.end(), engine_);
    return s;
  }

 private:
  std::mt19937_64 engine_{42};
};

TEST(Layout, ReshapeAgreesWithBruteForce) {
  Random random;
  int views = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const Layout l = random.layout();
    const Shape to = random.factors(l.size());
    const auto reshaped = l.reshape(to);
    const std::vector<i64> where = positions(l);
    ASSERT_EQ(reshaped.has_value(), is_view(where, to)) << to_text(l) << " -> " << to_text(to);
    if (reshaped) {
      ASSERT_EQ(reshaped->shape, to);
      ASSERT_EQ(positions(*reshaped), where) << to_text(l) << " -> " << to_text(to);
      ++views;
    } else {
      ++refused;
    }
  }
  EXPECT_GT(views, 500);  // the inputs must exercise both answers
  EXPECT_GT(refused, 200);
}

TEST(Layout, QuestionsAgreeWithBruteForce) {
  Random random;
  for (int i = 0; i < 3000; ++i) {
    Layout l = random.layout();
    if (l.ndim() > 0 && random.below(3) == 0) l.strides[random.below(l.ndim())] = random.below(4);
    const std::vector<i64> where = positions(l);
    const auto [low, high] = l.span();
    ASSERT_EQ(low, *std::min_element(where.begin(), where.end()));
    ASSERT_EQ(high, *std::max_element(where.begin(), where.end()));
    bool dense = true;
    for (std::size_t k = 0; k < where.size(); ++k)
      dense &= where[k] == where[0] + static_cast<i64>(k);
    ASSERT_EQ(l.dense(), dense) << to_text(l);
    const bool repeats = std::set<i64>(where.begin(), where.end()).size() < where.size();
    if (repeats) {
      ASSERT_TRUE(l.self_overlaps()) << to_text(l);  // conservative: may say yes without need
    }
    const Layout other = random.layout();
    const std::vector<i64> there = positions(other);
    bool shared = false;
    for (i64 p : where) shared |= std::find(there.begin(), there.end(), p) != there.end();
    if (shared) {
      ASSERT_TRUE(l.overlaps(other));
    }
  }
  EXPECT_FALSE(Layout::contiguous({3, 4}).self_overlaps());
  EXPECT_FALSE(Layout::contiguous({4}).overlaps(Layout::contiguous({4}).slice(0, 5, 2)));
}

TEST(Layout, SliceSelectPermuteInsert) {
  const Layout l = Layout::contiguous({3, 4});
  EXPECT_EQ(positions(l.slice(1, 3, 2, -2)), (std::vector<i64>{3, 1, 7, 5, 11, 9}));
  EXPECT_EQ(positions(l.select(0, 2)), (std::vector<i64>{8, 9, 10, 11}));
  const i64 axes[] = {1, 0};
  EXPECT_EQ(positions(l.permute(axes)), (std::vector<i64>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(l.insert_axis(1).shape, (Shape{3, 1, 4}));
  EXPECT_EQ(positions(l.insert_axis(2)), positions(l));
  EXPECT_EQ(l.slice(0, 3, 0).size(), 0);
  EXPECT_EQ(l.slice(0, 3, 0).span(), (std::pair<i64, i64>{0, -1}));
}

TEST(Layout, BroadcastRepeatsElements) {
  Random random;
  for (int i = 0; i < 1000; ++i) {
    Layout l = random.layout();
    Shape to;
    for (i64 k = random.below(2); k > 0; --k) to.push_back(random.below(3) + 1);
    for (i64 n : l.shape) to.push_back(n == 1 ? random.below(4) + 1 : n);
    const Layout b = l.broadcast_to(to);
    ASSERT_EQ(b.shape, to);
    const std::vector<i64> from = positions(l), where = positions(b);
    const i64 lead = to.size() - l.ndim();
    std::size_t at = 0;
    Shape index(to.size(), 0);
    for (i64 n = b.size(); n > 0; --n, ++at) {
      i64 flat = 0;
      for (i64 a = 0; a < l.ndim(); ++a)
        flat = flat * l.shape[a] + (l.shape[a] == 1 ? 0 : index[lead + a]);
      ASSERT_EQ(where[at], from[static_cast<std::size_t>(flat)]);
      for (i64 a = to.size() - 1; a >= 0 && ++index[a] == to[a]; --a) index[a] = 0;
    }
  }
  EXPECT_THROW(Layout::contiguous({3}).broadcast_to({4}), ShapeError);
  EXPECT_THROW(Layout::contiguous({2, 3}).broadcast_to({3}), ShapeError);
}

TEST(Shape, BroadcastTextCountAndErrors) {
  EXPECT_EQ(broadcast_shapes({3, 1}, {4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast_shapes({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes({0, 1}, {1, 5}), (Shape{0, 5}));
  try {
    (void)broadcast_shapes({3}, {4});
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_STREQ(e.what(), "operands could not be broadcast together with shapes (3,) (4,)");
  }
  EXPECT_EQ(to_text(Shape{}), "()");
  EXPECT_EQ(to_text(Shape{3}), "(3,)");
  EXPECT_EQ(to_text(Shape{3, 4}), "(3, 4)");
  EXPECT_EQ(count_of({}), 1);
  EXPECT_EQ(count_of({2, 0, 7}), 0);
  EXPECT_THROW(count_of({2, -1}), ShapeError);
  EXPECT_THROW(count_of({i64{1} << 32, i64{1} << 31}), ShapeError);
  EXPECT_EQ(count_of({i64{1} << 31, i64{1} << 31}), i64{1} << 62);
  EXPECT_THROW(Layout::contiguous(Shape(max_rank + 1, 1)), ShapeError);
  EXPECT_EQ(normalize_axis(-1, 3, "sum"), 2);
  EXPECT_THROW(normalize_axis(3, 3, "sum"), IndexError);
  EXPECT_THROW(normalize_axis(-4, 3, ""), IndexError);
  EXPECT_EQ(to_text(Layout::contiguous({2, 3})), "(2, 3) strides (3, 1) offset 0");
}

}  // namespace
}  // namespace tessera
