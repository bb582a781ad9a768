// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/gather/gather.hpp"

#include <gtest/gtest.h>

#include "support/support.hpp"
#include "tessera/array/index.hpp"
#include "tessera/base/config.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/gather/within.hpp"

namespace tessera {
namespace {

Array counted(const Shape& shape, DType dtype = DType::i64) {
  return arange(Value(0), Value(count_of(shape)), Value(1), DType::i64, test_device())
      .reshape(shape)
      .astype(dtype);
}

template <class T>
Array on_device(std::initializer_list<T> values) {
  return Array::of<T>(values).to(test_device());
}

// Row-major elements, wherever they live.
std::vector<i64> values(const Array& x) {
  std::vector<i64> v;
  const Array here = x.astype(DType::i64).to(cpu);
  const Layout& l = here.layout();
  Shape at(l.ndim(), 0);
  for (i64 n = here.size(); n > 0; --n) {
    i64 offset = 0;
    for (i64 a = 0; a < l.ndim(); ++a) offset += at[a] * l.strides[a];
    v.push_back(here.host<i64>()[offset]);
    for (i64 a = l.ndim() - 1; a >= 0 && ++at[a] == l.shape[a]; --a) at[a] = 0;
  }
  return v;
}

// The lists of a parsed key, moved to the device under test.
Index key(std::string_view text) {
  const Index parsed = parse_index(text);
  Index k;
  for (const Index::Item& item : parsed.items()) {
    switch (item.kind) {
      case Index::Kind::integer: k.add(item.value); break;
      case Index::Kind::slice: k.add(item.slice); break;
      case Index::Kind::new_axis: k.add(new_axis); break;
      case Index::Kind::ellipsis: k.add(ellipsis); break;
      case Index::Kind::boolean: k.add(item.value != 0); break;
      default: k.add(parsed.arrays()[static_cast<std::size_t>(item.value)].to(test_device()));
    }
  }
  return k;
}

using Numbers = std::vector<i64>;

TEST(Gather, PositionsThatAreWithinBoundsReadTheSame) {
  const Array x = counted({4, 5});
  for (const char* k : {"[3, 0, 3]", "[[1], [2]], [0, 4]", "1:, [4, 2]", "[2], ..., None", "[]",
                        "[-1, 0]", "2", "1:3"})
    EXPECT_EQ(values(read_within(x, key(k))), values(x[key(k)])) << k;
}

TEST(Gather, BasicKeysShareMemoryAndElementsAreSnapshots) {
  const Array x = counted({3, 4});
  const Array row = x[key("1, ::2")], one = x[key("1, 2")];
  EXPECT_EQ(row.storage(), x.storage());
  EXPECT_EQ(one.ndim(), 0);
  assign(x, key("..."), Value(9));
  EXPECT_EQ(values(row), (Numbers{9, 9}));
  EXPECT_EQ(values(one), (Numbers{6}));
}

TEST(Gather, ArraysOfRankZeroGiveCopies) {
  const Array x = counted({3, 4});
  const Array row = x[Index(Array::scalar(Value(1), DType::i64).to(test_device()))];
  EXPECT_EQ(values(row), (Numbers{4, 5, 6, 7}));
  EXPECT_FALSE(row.storage() == x.storage());
  EXPECT_EQ(x[Index(Array::scalar(Value(true), DType::b1).to(test_device()))].shape(),
            (Shape{1, 3, 4}));
  EXPECT_EQ(x[Index(Array::scalar(Value(false), DType::b1).to(test_device()))].shape(),
            (Shape{0, 3, 4}));
}

TEST(Gather, AdvancedKeysRead) {
  const Array x = counted({2, 3, 4});
  EXPECT_EQ(values(x[key("[1, 0, -1]")].slice(1, 0, 1).slice(2, 0, 1)), (Numbers{12, 0, 12}));
  EXPECT_EQ(values(x[key("0, [2, 0], 1:3")]), (Numbers{9, 10, 1, 2}));
  EXPECT_EQ(values(x[key("[[0], [1]], :, [0, 3]")].select(2, 1)), (Numbers{4, 7, 16, 19}));
  EXPECT_EQ(values(x[key(":, [1], 2")]), (Numbers{6, 18}));
  EXPECT_EQ(values(x[key("1, [True, False, True], 0")]), (Numbers{12, 20}));
  EXPECT_EQ(values(x.transpose()[key("[3, 3], ::-1, 1")]), (Numbers{23, 19, 15, 23, 19, 15}));
  EXPECT_EQ(x[key("[], 0")].shape(), (Shape{0, 4}));
}

TEST(Gather, EveryDtypeAndLargeArraysInParallel) {
  for (int t = 0; t < dtype_count; ++t) {
    const Array x = counted({97, 53}, DType::i64);
    const Array typed = x.astype(static_cast<DType>(t)), back = typed[key("[96, 0, 5], ::-1")];
    const std::vector<i64> got = values(back), want = values(typed);
    for (i64 j = 0; j < 53; ++j)
      ASSERT_EQ(got[static_cast<std::size_t>(j)], want[static_cast<std::size_t>(96 * 53 + 52 - j)]);
  }
  const i64 n = 70001;
  const Array x = counted({n}),
              reversed = arange(Value(n - 1), Value(-1), Value(-1), DType::i64, test_device());
  const std::vector<i64> got = values(x[Index(reversed)]);
  for (i64 i = 0; i < n; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], n - 1 - i);
  const Array wide = counted({3, n}), rows = wide[key("[2, 0]")],
              columns = wide[Index(Slice{}, reversed)];
  EXPECT_EQ(values(rows)[static_cast<std::size_t>(n + 7)], 7);
  EXPECT_EQ(values(columns)[static_cast<std::size_t>(n)], 2 * n - 1);
  EXPECT_EQ(values(columns)[static_cast<std::size_t>(2 * n - 1)], n);
}

// Rows of the commonest lengths have copies of their own, and all are fetched ahead of time.
TEST(Gather, RowsOfEveryLength) {
  const i64 n = 301;
  const Array down = arange(Value(n - 1), Value(-n - 1), Value(-1), DType::i64, test_device());
  for (const i64 width : {1, 2, 3, 4, 8, 16, 32, 33, 512, 600}) {
    const Array x = counted({n, width + 1}).slice(1, 0, width);
    const std::vector<i64> got = values(x[Index(down)]);
    ASSERT_EQ(static_cast<i64>(got.size()), 2 * n * width);
    for (i64 j = 0; j < 2 * n; ++j)
      for (const i64 c : {i64{0}, width - 1})
        ASSERT_EQ(got[static_cast<std::size_t>(j * width + c)],
                  (2 * n - 1 - j) % n * (width + 1) + c)
            << "row " << j << " of " << width;
  }
}

TEST(Gather, MasksOfTheWholeShape) {
  const Array x = counted({5, 7}), mask = (counted({7, 5}).transpose()).astype(DType::b1);
  EXPECT_EQ(values(x[Index(mask)]).size(), 34u);
  EXPECT_EQ(values(x[Index(mask)]).front(), 1);
  const Array large = counted({123457});
  assign(large, Index(Slice{0, 123457, 3}), Value(0));
  const Array picked = large[Index(large.astype(DType::b1))];
  EXPECT_EQ(picked.size(), 123457 - 41153);
  EXPECT_EQ(values(picked).back(), 123455);
}

TEST(Gather, BoundsAreCheckedBeforeAnythingIsWritten) {
  const Array x = counted({4, 3});
  auto text = [&](std::string_view k) -> std::string {
    try {
      x.assign(key(k), Array::scalar(Value(7), DType::i64).to(test_device()));
    } catch (const IndexError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(text("[0, 1, 5]"), "index 5 is out of bounds for axis 0 with size 4");
  EXPECT_EQ(text("[0, 1], [0, -4]"), "index -4 is out of bounds for axis 1 with size 3");
  EXPECT_EQ(values(x), values(counted({4, 3})));
  EXPECT_THROW((void)x[key(":, [3]")], IndexError);
  EXPECT_EQ(x[key("[9], []")].shape(), (Shape{0})) << "as NumPy: broadcast away";
}

TEST(Scatter, LastAssignmentWins) {
  const Array x = counted({3});
  x.assign(key("[1, 1, 0, 1]"), on_device<i64>({10, 20, 30, 40}));
  EXPECT_EQ(values(x), (Numbers{30, 40, 2}));
  const i64 n = 200000;  // several threads
  const Array target = zeros({1000, 3}, DType::i64, test_device());
  Array positions = arange(Value(0), Value(n), Value(1), DType::i64, cpu);
  for (i64 i = 0; i < n; ++i) positions.host<i64>()[i] = (i * 7919) % 1000;
  target.assign(Index(positions.to(test_device())), counted({n, 1}));
  const std::vector<i64> got = values(target);
  std::vector<i64> want(1000);
  for (i64 i = 0; i < n; ++i) want[static_cast<std::size_t>((i * 7919) % 1000)] = i;
  for (std::size_t i = 0; i < 3000; ++i) ASSERT_EQ(got[i], want[i / 3]);
}

TEST(Scatter, ValuesBroadcastAndCast) {
  const Array x = counted({2, 3}, DType::i16);
  x.assign(key(":, [2, 0]"), on_device<double>({1.9, -2.9}));
  EXPECT_EQ(values(x), (Numbers{-2, 1, 1, -2, 4, 1}));
  x.assign(key("1"), on_device<float>({7.5f}));
  EXPECT_EQ(values(x), (Numbers{-2, 1, 1, 7, 7, 7}));
  x.assign(key("[[True, False, True], [False, True, False]]"), on_device<i64>({1, 2, 3}));
  EXPECT_EQ(values(x), (Numbers{1, 1, 2, 7, 3, 7}));
  x.assign(key("[False, True]"), Array::scalar(Value(5), DType::i64).to(test_device()));
  EXPECT_EQ(values(x), (Numbers{1, 1, 2, 5, 5, 5}));
  x.assign(key("True"), on_device<i64>({8, 9, 10}));
  EXPECT_EQ(values(x), (Numbers{8, 9, 10, 8, 9, 10}));
  x.assign(key("False"), on_device<i64>({1}));
  EXPECT_EQ(values(x), (Numbers{8, 9, 10, 8, 9, 10}));
}

TEST(Scatter, AliasedOperandsAreAsIfCopiedFirst) {
  const Array x = counted({6});
  x.assign(key("1:"), x[key(":-1")]);
  EXPECT_EQ(values(x), (Numbers{0, 0, 1, 2, 3, 4}));
  x.assign(key("::-1"), x);
  EXPECT_EQ(values(x), (Numbers{4, 3, 2, 1, 0, 0}));
  const Array y = on_device<i64>({2, 0, 1});
  y.assign(Index(y), y);
  EXPECT_EQ(values(y), (Numbers{0, 1, 2}));
  const Array m = on_device<bool>({true, false, true});
  m.assign(Index(m), Array::scalar(Value(false), DType::b1).to(test_device()));
  EXPECT_EQ(values(m), (Numbers{0, 0, 0}));
}

TEST(Scatter, ReadOnlyArraysAreRefused) {
  double data[2] = {1, 2};
  const Array x(Storage::adopt(cpu, data, 16, {}, false), Layout::contiguous({2}), DType::f64);
  const Array broadcast = counted({1, 3}).broadcast_to({2, 3});
  const Array one = Array::scalar(Value(1), DType::i64);
  for (const auto& attempt :
       {std::function<void()>([&] { x.assign(Index(0), one); }),
        std::function<void()>([&] { assign(x, Index(Slice{}), Value(1)); }),
        std::function<void()>([&] { set_element(x, Shape{0}, Value(1)); }),
        std::function<void()>([&] { assign(broadcast, Index(0), Value(1)); })}) {
    try {
      attempt();
      FAIL() << "a read-only array was written";
    } catch (const ArgumentError& e) {
      EXPECT_STREQ(e.what(), "assignment destination is read-only");
    }
  }
}

TEST(Scatter, ErrorsAreNumPys) {
  const Array x = counted({2, 3});
  auto text = [&](std::string_view k, const Shape& value) -> std::string {
    try {
      x.assign(key(k), counted(value));
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(text("0", {2}), "could not broadcast input array from shape (2,) into shape (3,)");
  EXPECT_EQ(text("", {3, 2}), "could not broadcast input array from shape (3,2) into shape (2,3)");
  EXPECT_EQ(text("[0, 1]", {4, 3}),
            "shape mismatch: value array of shape (4,3) could not be broadcast to indexing result "
            "of shape (2,3)");
  EXPECT_EQ(text("0, 0", {1}), "setting an array element with a sequence.");
  EXPECT_EQ(text("[[True, True, False], [False, False, False]]", {3}),
            "NumPy boolean array indexing assignment cannot assign 3 input values to the 2 output "
            "values where the "
            "mask is true");
  EXPECT_EQ(values(x), values(counted({2, 3})));
}

TEST(Scatter, AddAtCountsEveryPosition) {
  for (const DType t :
       {DType::i8, DType::u16, DType::i64, DType::f16, DType::f32, DType::f64, DType::c64}) {
    const Array x = zeros({3, 2}, t, test_device());
    add_at(x, key("[1, 1, 2]"), on_device<i64>({1, 2}));
    EXPECT_EQ(values(x.real()), (Numbers{0, 0, 2, 4, 1, 2})) << name(t);
    add_at(x, key("0"), on_device<i64>({5, 6}));
    EXPECT_EQ(values(x.real()), (Numbers{5, 6, 2, 4, 1, 2})) << name(t);
  }
  const i64 n = 100000;
  const Array x = zeros({10}, DType::i64, test_device());
  Array positions = arange(Value(0), Value(n), Value(1), DType::i64, cpu);
  for (i64 i = 0; i < n; ++i) positions.host<i64>()[i] = i % 10;
  add_at(x, Index(positions.to(test_device())), on_device<i64>({1}));
  EXPECT_EQ(values(x), Numbers(10, n / 10));
}

TEST(Gather, NothingMovesBetweenDevices) {
  const Device other = test_device() == cpu ? Device::parse("sim:1") : cpu;
  const Array x = counted({3});
  const Array elsewhere = Array::of<i64>({0}).to(other);
  EXPECT_THROW((void)x[Index(elsewhere)], DeviceError);
  EXPECT_THROW(x.assign(Index(0), Array::scalar(Value(1), DType::i64).to(other)), DeviceError);
  try {
    (void)take(x, elsewhere, 0);
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find(other.str()), std::string::npos);
    EXPECT_NE(std::string(e.what()).find(test_device().str()), std::string::npos);
  }
}

TEST(Gather, FastLanes) {
  const Array x = counted({3, 4}, DType::f32);
  EXPECT_EQ(values(element_at(x, Shape{-1, 2})), (Numbers{10}));
  EXPECT_EQ(element_value(x, Shape{0, 3}).as<double>(), 3);
  set_element(x, Shape{0, 3}, Value(-7));
  EXPECT_EQ(element_value(x, Shape{0, -1}).as<double>(), -7);
  EXPECT_EQ(values(slice_view(x, 1, {{}, {}, -2})), (Numbers{-7, 1, 7, 5, 11, 9}));
  EXPECT_THROW((void)element_at(x, Shape{3, 0}), IndexError);
  EXPECT_THROW((void)element_at(x, Shape{0, 0, 0}), IndexError);
  for (int t = 0; t < dtype_count; ++t) {
    const Array y = zeros({2}, static_cast<DType>(t), test_device());
    set_element(y, Shape{1}, Value(1));
    EXPECT_EQ(element_value(y, Shape{1}).as<double>(), 1) << name(static_cast<DType>(t));
  }
}

TEST(Take, AsNumPys) {
  const Array x = counted({2, 3, 2});
  EXPECT_EQ(values(take(x, on_device<std::int32_t>({2, -1}), 1)),
            (Numbers{4, 5, 4, 5, 10, 11, 10, 11}));
  EXPECT_EQ(values(take(x, on_device<i64>({11, 0}), {})), (Numbers{11, 0}));
  EXPECT_EQ(take(x, counted({1, 2}), -1).shape(), (Shape{2, 3, 1, 2}));
  EXPECT_THROW((void)take(x, on_device<i64>({3}), 1), IndexError);
  EXPECT_THROW((void)take(x, on_device<float>({0}), 1), DTypeError);
  EXPECT_THROW((void)take(counted({0, 2}), on_device<i64>({0}), 0), IndexError);
  EXPECT_THROW((void)take(x, on_device<i64>({0}), 3), IndexError);
}

TEST(Take, AlongAnAxis) {
  const Array x = counted({2, 3});
  const Array i = on_device<i64>({2, 0, 1, 1}).reshape({2, 2});
  EXPECT_EQ(values(take_along_axis(x, i, 1)), (Numbers{2, 0, 4, 4}));
  EXPECT_EQ(values(take_along_axis(x, on_device<i64>({5, 0}), {})), (Numbers{5, 0}));
  put_along_axis(x, i, on_device<i64>({-1, -2}), 1);
  EXPECT_EQ(values(x), (Numbers{-2, 1, -1, 3, -2, 5}));
  put_along_axis(x.transpose(), on_device<i64>({1}), on_device<i64>({99}), {});
  EXPECT_EQ(values(x), (Numbers{-2, 1, -1, 99, -2, 5}));
  EXPECT_THROW((void)take_along_axis(x, on_device<i64>({0}), 1), ArgumentError);
  EXPECT_THROW((void)take_along_axis(x, zeros({2, 2}, DType::f32, test_device()), 1), IndexError);
}

}  // namespace
}  // namespace tessera
