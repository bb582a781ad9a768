// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/index.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tessera {
namespace {

Layout shape(const Shape& s) { return Layout::contiguous(s); }

// A mask with `n` true elements stands for positions 0 … n-1 on every axis: resolution needs shapes
// only.
std::vector<Array> three_positions(const Array& mask) {
  return std::vector<Array>(static_cast<std::size_t>(mask.ndim()), Array::of<i64>({0, 0, 0}));
}

template <class E>
std::string text_of(const std::string& key, const Shape& s) {
  try {
    (void)resolve(parse_index(key), shape(s), three_positions);
  } catch (const E& e) {
    return e.what();
  }
  return "no error";
}

IndexPlan plan(const std::string& key, const Shape& s) {
  return resolve(parse_index(key), shape(s), three_positions);
}

TEST(Index, BasicKeysAreViews) {
  const IndexPlan p = plan("1, ::-2, None, ...", {2, 5, 3});
  EXPECT_EQ(p.kind, IndexPlan::Kind::view);
  EXPECT_EQ(p.shape, (Shape{3, 1, 3}));
  EXPECT_EQ(p.view.strides, (Strides{-6, 0, 1}));
  EXPECT_EQ(p.view.offset, 15 + 12);
  EXPECT_EQ(plan("", {2, 3}).shape, (Shape{2, 3}));
}

TEST(Index, IntegersForEveryAxisAreAnElement) {
  EXPECT_EQ(plan("-1, 2", {2, 3}).kind, IndexPlan::Kind::element);
  EXPECT_EQ(plan("-1, 2", {2, 3}).view.offset, 5);
  EXPECT_EQ(plan("", {}).kind, IndexPlan::Kind::element);
  EXPECT_EQ(plan("-1, 2, ...", {2, 3}).kind, IndexPlan::Kind::view);
}

TEST(Index, PlaceOfTheBroadcastAxes) {
  const Shape s{2, 3, 4, 5};
  EXPECT_EQ(plan(":, [0, 1, 0, 1, 0, 1, 0], [0]", s).shape, (Shape{2, 7, 5}));
  EXPECT_EQ(plan(":, [[0], [1]], :, [0, 1, 2]", s).shape, (Shape{2, 3, 2, 4}));
  EXPECT_EQ(plan("0, :, [0, 1]", s).shape, (Shape{2, 3, 5})) << "an integer is advanced too";
  EXPECT_EQ(plan(":, 0, [0, 1]", s).shape, (Shape{2, 2, 5}));
  EXPECT_EQ(plan("[0, 1], None, 0", s).shape, (Shape{2, 1, 4, 5}));
  EXPECT_EQ(plan(":, [0, 0, 0], ..., [0]", s).shape, (Shape{3, 2, 4}))
      << "an empty ellipsis separates";
  EXPECT_EQ(plan("..., True", s).shape, (Shape{2, 3, 4, 5, 1}));
  EXPECT_EQ(plan(":, False, :, True", s).shape, (Shape{0, 2, 3, 4, 5}));
  EXPECT_EQ(plan("[[True, False, True], [False, True, True]]", s).shape, (Shape{3, 4, 5}));
}

TEST(Index, AdvancedPlansPutIndexedAxesFirst) {
  const IndexPlan p = plan("1:, [0, 2], :, [3, 1]", {2, 3, 4, 5});
  EXPECT_EQ(p.kind, IndexPlan::Kind::advanced);
  EXPECT_EQ(p.axes, (Shape{1, 3}));
  EXPECT_EQ(p.view.shape, (Shape{3, 5, 1, 4}));
  EXPECT_EQ(p.view.strides, (Strides{20, 1, 60, 5}));
  EXPECT_EQ(p.view.offset, 60);
  EXPECT_EQ(p.lead, (Shape{2}));
  EXPECT_EQ(p.shape, (Shape{2, 1, 4}));
  const IndexPlan q = plan(":, [[0, 1, 2]]", {2, 3, 5});
  EXPECT_EQ(q.lead_first(shape(q.shape)).shape, (Shape{1, 3, 2, 5}));
}

TEST(Index, ErrorsAreNumPys) {
  const Shape s{2, 3, 4};
  EXPECT_EQ(text_of<IndexError>("2", s), "index 2 is out of bounds for axis 0 with size 2");
  EXPECT_EQ(text_of<IndexError>(":, -4", s), "index -4 is out of bounds for axis 1 with size 3");
  EXPECT_EQ(text_of<IndexError>("0, 0, 0, 0", s),
            "too many indices for array: array is 3-dimensional, but 4 were indexed");
  EXPECT_EQ(text_of<IndexError>("..., 0, ...", s),
            "an index can only have a single ellipsis ('...')");
  EXPECT_EQ(text_of<ArgumentError>("::0", s), "slice step cannot be zero");
  EXPECT_EQ(
      text_of<IndexError>("[0, 1], [0, 1, 2]", s),
      "shape mismatch: indexing arrays could not be broadcast together with shapes (2,) (3,) ");
  EXPECT_EQ(text_of<IndexError>(":, [True, False]", s),
            "boolean index did not match indexed array along axis 1; size of axis is 3 but size of "
            "corresponding "
            "boolean axis is 2");
  std::string many;
  for (int i = 0; i < 62; ++i) many += "None, ";
  EXPECT_EQ(text_of<IndexError>(many, s),
            "number of dimensions must be within [0, 64], indexing result would have 65");
  const std::string no_key =
      "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
      "boolean arrays are "
      "valid indices";
  for (const char* key : {"1.5", "a", "[1.0]", "1e3", "[0, x]"})
    EXPECT_EQ(text_of<IndexError>(key, s), no_key);
  try {
    Index key(Array::of<float>({0.5f}));
    FAIL() << "floats are no key";
  } catch (const IndexError& e) {
    EXPECT_STREQ(e.what(), "arrays used as indices must be of integer (or boolean) type");
  }
}

TEST(Index, MasksOfSizeZeroPassAsInNumPy) {
  Index key(Array::empty({0, 3}, DType::b1));
  EXPECT_NO_THROW((void)resolve(key, shape({2, 3}), three_positions));
}

TEST(Index, ArraysOfRankZeroAreNumbersAndForceACopy) {
  const IndexPlan p = resolve(Index(Array::scalar(Value(1), DType::i32)), shape({2, 3}));
  EXPECT_EQ(p.kind, IndexPlan::Kind::view);
  EXPECT_TRUE(p.copy);
  EXPECT_EQ(p.view.offset, 3);
  EXPECT_EQ(resolve(Index(Array::scalar(Value(false), DType::b1)), shape({2, 3})).shape,
            (Shape{0, 2, 3}));
}

TEST(Index, SlicesClipAsPythons) {
  constexpr i64 most = std::numeric_limits<i64>::max(), least = std::numeric_limits<i64>::min();
  struct Case {
    Slice s;
    i64 size, start, length;
  };
  const Case cases[] = {
      {{}, 5, 0, 5},           {{{}, {}, -1}, 5, 4, 5},    {{-3, {}, {}}, 5, 2, 3},
      {{{}, -7, {}}, 5, 0, 0}, {{10, least, -2}, 5, 4, 3}, {{least, most, 2}, 5, 0, 3},
      {{0, 5, most}, 5, 0, 1}, {{{}, {}, least}, 5, 4, 1}, {{3, 1, {}}, 5, 3, 0},
      {{{}, {}, -1}, 0, -1, 0}};
  for (const Case& c : cases) {
    const SliceRange r = resolve_slice(c.s, c.size);
    EXPECT_EQ(r.start, c.start);
    EXPECT_EQ(r.length, c.length);
  }
  EXPECT_EQ(slice_layout(shape({5}), 0, {{}, {}, most}).strides[0], 1)
      << "a step never taken cannot overflow";
}

TEST(Index, TextComesBackFromTheParser) {
  for (const char* key : {"", "1, -2", "1:5:-1, ..., None", "::, :3, 2:", "[0, 2, 1], True",
                          "[[1], [0]], False", "[[True, False]]", "[]", "[[], []]"}) {
    const std::string once = parse_index(key).str();
    EXPECT_EQ(parse_index(once).str(), once) << key;
  }
  EXPECT_EQ(parse_index(" ( 1 : 5 : -1 ,..., newaxis,[[0,2],[1 ,3]] , False ,) ").str(),
            "1:5:-1, ..., None, [[0, 2], [1, 3]], False");
  EXPECT_EQ(parse_index("[True, 2]").str(), "[1, 2]") << "bools among integers are integers";
  EXPECT_EQ(parse_index("[]").arrays()[0].dtype(), DType::i64);
}

TEST(Index, TextThatIsNoKey) {
  for (const char* key : {"1,,2", "(1", "1)", "[1", "1]", "--1", "1 2", "[1, [2]]", "[[1], 2]",
                          "[[1], [2, 3]]", "99999999999999999999", "1:2:3:4", ","})
    EXPECT_THROW((void)parse_index(key), ArgumentError) << key;
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_THROW((void)parse_index(deep), ArgumentError);
}

}  // namespace
}  // namespace tessera
