// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/copy/copy.hpp"

#include <numeric>

#include "support/arrays.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/streamer.hpp"
#include "tessera/kernels/copy/cast.hpp"

namespace tessera {
namespace {

std::vector<double> counted(i64 n) {
  std::vector<double> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 1.0);
  return v;
}

TEST(Cast, EveryPairOfTypesAnyStride) {
  const double numbers[] = {0, 1, 2, 100, 5, 0.5, -1, -100};
  for (int f = 0; f < dtype_count; ++f)
    for (int t = 0; t < dtype_count; ++t) {
      const DType from = static_cast<DType>(f), to = static_cast<DType>(t);
      const bool no_sign =
          is_unsigned_int(from) || from == DType::b1 || is_unsigned_int(to) || to == DType::b1;
      for (i64 step : {1, 2, -1}) {
        const i64 n = no_sign ? 5 : 8, size = size_of(from);
        std::vector<Element> source(40);
        auto* base = reinterpret_cast<std::byte*>(source.data()) + 20 * size;
        std::vector<double> held;
        for (i64 i = 0; i < n; ++i) {
          const Element e = element_of(Value(numbers[i]), from);
          std::memcpy(base + i * step * size, &e, static_cast<std::size_t>(size));
          const double whole = is_inexact(from) ? numbers[i] : std::trunc(numbers[i]);
          held.push_back(from == DType::b1 ? static_cast<double>(whole != 0) : whole);
        }
        const Array y = empty_dense({n}, to);
        cast_row(from, to)(base, step * size, y.data(), size_of(to), n);
        const auto got = numbers_of(y);
        for (i64 i = 0; i < n; ++i) {
          const double h = held[static_cast<std::size_t>(i)];
          const double expected = to == DType::b1  ? static_cast<double>(h != 0)
                                  : is_integer(to) ? std::trunc(h)
                                                   : h;
          ASSERT_EQ(got[static_cast<std::size_t>(i)], expected)
              << to_text(from) << " to " << to_text(to);
        }
      }
    }
}

TEST(Cast, IntegersStayExact) {
  const Array big = Array::of<i64>({(i64{1} << 62) + 1, -7});
  EXPECT_EQ(values_of<std::uint64_t>(big.astype(DType::u64))[0], (std::uint64_t{1} << 62) + 1);
  const Array huge = Array::of<std::uint64_t>({~std::uint64_t{0}});
  EXPECT_EQ(huge.item().str(), "18446744073709551615");
  EXPECT_EQ(values_of<i64>(huge.astype(DType::i64))[0], -1);
}

// Next to the middle between two neighbours float alone would see the middle itself.
TEST(Cast, DoublesAreRoundedOnceToSixteenBits) {
  for (const DType to : {DType::f16, DType::bf16}) {
    const int infinity = to == DType::f16 ? 0x7c00 : 0x7f80;
    const auto number = [&](int bits) {
      const auto b = static_cast<std::uint16_t>(bits);
      return static_cast<double>(to == DType::f16 ? half_to_float(b)
                                                  : bits_float(std::uint32_t{b} << 16));
    };
    std::vector<double> given;
    std::vector<int> wanted;
    for (int b = 0; b < infinity; ++b) {
      const double low = number(b),
                   step = b + 1 < infinity ? number(b + 1) - low : low - number(b - 1);
      const double middle = low + step / 2;
      for (const double x : {low, std::nextafter(middle, 0), middle, std::nextafter(middle, 1e300)})
        for (const double sign : {1.0, -1.0}) {
          given.push_back(sign * x);
          wanted.push_back((x > middle || (x == middle && b % 2 == 1) ? b + 1 : b) |
                           (sign < 0 ? 0x8000 : 0));
        }
    }
    for (const double x : {1e300, std::numeric_limits<double>::infinity()}) {
      given.push_back(-x);
      wanted.push_back(infinity | 0x8000);
    }
    const i64 n = static_cast<i64>(given.size());
    std::vector<std::uint16_t> row(given.size(), 0xbeef), alone(given.size(), 0xbeef);
    cast_row(DType::f64, to)(given.data(), 8, row.data(), 2, n);
    for (i64 i = 0; i < n; ++i)
      cast_row(DType::f64, to)(given.data() + i, 8, alone.data() + i, 2, 1);
    for (std::size_t i = 0; i < given.size(); ++i) {
      ASSERT_EQ(row[i], wanted[i]) << given[i] << " to " << to_text(to);
      ASSERT_EQ(alone[i], wanted[i]) << given[i] << " to " << to_text(to);
    }
  }
}

TEST(Copy, EveryLayoutBecomesDense) {
  for (const Shape& shape :
       {Shape{}, Shape{0, 3}, Shape{7}, Shape{3, 1, 5}, Shape{2, 3, 4, 5}, Shape{130, 70}})
    for (Lay lay : all_lays) {
      const std::vector<double> v = counted(count_of(shape));
      const Array x = laid_out<double>(shape, v, lay);
      EXPECT_EQ(values_of<double>(x), v);
      for (const Array& y :
           {x.copy(), x.contiguous(), x.to(Device::parse("sim:2")), x.to(Device::parse("sim:3"))}) {
        EXPECT_TRUE(y.is_contiguous());
        EXPECT_EQ(y.shape(), shape);
        EXPECT_EQ(values_of<double>(y), v);
      }
      const Array z = x.astype(DType::c64);
      EXPECT_EQ(z.dtype(), DType::c64);
      const auto numbers = numbers_of(z);
      for (std::size_t i = 0; i < v.size(); ++i) ASSERT_EQ(numbers[i], v[i]);
    }
}

TEST(Copy, SharesWhenNothingIsToDo) {
  const Array x = laid_out<double>({4}, counted(4));
  EXPECT_EQ(x.to(x.device()).storage(), x.storage());
  EXPECT_EQ(x.astype(DType::f64).storage(), x.storage());
  EXPECT_EQ(x.contiguous().storage(), x.storage());
  EXPECT_FALSE(x.copy().storage() == x.storage());
}

TEST(Copy, TransfersAreCounted) {
  const Device sim = Device::parse("sim:0"), other = Device::parse("sim:1");
  const Array x = laid_out<double>({3, 5}, counted(15), Lay::gaps, cpu);
  auto moved = [](Counter c, auto&& f) {
    const i64 before = counter(c);
    f();
    return counter(c) - before;
  };
  Array y, z;
  EXPECT_EQ(moved(Counter::bytes_host_to_device, [&] { y = x.to(sim); }), 15 * 8);
  EXPECT_EQ(moved(Counter::bytes_device_to_device, [&] { z = y.to(other); }), 15 * 8);
  EXPECT_EQ(moved(Counter::bytes_device_to_host, [&] { (void)z.transpose().to(cpu); }), 15 * 8);
  EXPECT_EQ(moved(Counter::copies, [&] { (void)z.to(other); }), 0);
  EXPECT_EQ(values_of<double>(z), counted(15));
  EXPECT_THROW((void)x.to(Device{Kind::sim, 99}), DeviceError);
}

TEST(Copy, BuffersCutTheWayOfHostMemoryThatIsNotPinned) {
  const Device there{Kind::sim, 0};
  const Array x = arange(Value(0), Value(i64{1} << 20), Value(1), DType::f32),
              pinned = x.pin_memory();
  const auto copies = [&](const Array& a, Device to) {
    const i64 before = counter(Counter::copies);
    const Array y = a.to(to);
    return counter(Counter::copies) - before;
  };
  set_stream_buffer_size(0);
  EXPECT_EQ(copies(x, there), 1);
  set_stream_buffer_size(i64{1} << 19);
  EXPECT_EQ(copies(x, there), 8);
  EXPECT_EQ(copies(x.to(there), cpu), 8);
  EXPECT_EQ(copies(pinned, there), 1);
  EXPECT_EQ(copies(x.slice(0, 0, 1000), there), 1);
  EXPECT_EQ(values_of<float>(x.to(there).to(cpu)), values_of<float>(x));
  set_stream_buffer_size(default_stream_buffer);
  EXPECT_EQ(copies(x, there), 4);
}

TEST(Copy, FillAndCopyFrom) {
  const Array x = laid_out<double>({3, 4}, counted(12), Lay::exchanged);
  x.slice(0, 0, 3, 2).fill(Value(7));
  EXPECT_EQ(values_of<double>(x), (std::vector<double>{7, 7, 7, 7, 5, 6, 7, 8, 7, 7, 7, 7}));
  x.copy_from(laid_out<float>({4}, {1, 2, 3, 4}));
  EXPECT_EQ(values_of<double>(x), (std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(thrown_text<DTypeError>([&] {
              zeros({3}, DType::i32, test_device()).copy_from(ones({3}, DType::f64, test_device()));
            }),
            "Cannot cast array data from dtype('float64') to dtype('int32') according to the rule "
            "'same_kind'");
  EXPECT_THROW(x.fill(Value(c128(0, 1))), DTypeError);
  const Array row = laid_out<double>({6}, counted(6));
  row.slice(0, 1, 6).copy_from(row.slice(0, 0, 5));
  EXPECT_EQ(values_of<double>(row), (std::vector<double>{1, 1, 2, 3, 4, 5}));
  row.copy_from(flip(row, {0}));
  EXPECT_EQ(values_of<double>(row), (std::vector<double>{5, 4, 3, 2, 1, 1}));
  int owned = 3;
  const Array fixed(Storage::adopt(cpu, &owned, 4, {}, /*writable=*/false), Layout{}, DType::i32);
  EXPECT_THROW(fixed.fill(Value(1)), ArgumentError);
  EXPECT_EQ(fixed.item().as<int>(), 3);
}

TEST(Copy, Item) {
  EXPECT_EQ(full({1, 1}, Value(2.5), DType::f16, test_device()).item().as<double>(), 2.5);
  EXPECT_EQ(full({}, Value(c128(1, -2)), DType::c64, test_device()).item().as<c128>(), c128(1, -2));
  EXPECT_EQ(ones({}, DType::b1, test_device()).item().kind(), Value::Kind::boolean);
  EXPECT_EQ(thrown_text<ArgumentError>([] { (void)zeros({2}, DType::f32).item(); }),
            "can only convert an array of size 1 to a Python scalar");
}

TEST(Create, Ranges) {
  const Device d = test_device();
  EXPECT_EQ(values_of<i64>(arange(Value(3), Value(12), Value(4), DType::i64, d)),
            (std::vector<i64>{3, 7, 11}));
  EXPECT_EQ(values_of<i64>(arange(Value(5), Value(0), Value(-2), DType::i64, d)),
            (std::vector<i64>{5, 3, 1}));
  EXPECT_EQ(arange(Value(5), Value(0), Value(1), DType::i64, d).size(), 0);
  EXPECT_EQ(arange(Value(0), Value(1.0), Value(0.1), DType::f64, d).size(), 10);
  const i64 big = (i64{1} << 62) + 1;
  EXPECT_EQ(values_of<i64>(arange(Value(big), Value(big + 3), Value(1), DType::i64, d))[2],
            big + 2);
  EXPECT_EQ(values_of<float>(arange(Value(0.5), Value(3), Value(1), DType::f32, d)),
            (std::vector<float>{0.5, 1.5, 2.5}));
  EXPECT_THROW(arange(Value(0), Value(1), Value(0), DType::i64, d), ArgumentError);
  EXPECT_EQ(values_of<double>(linspace(0, 1, 5, DType::f64, d)),
            (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(values_of<double>(linspace(3, 9, 1, DType::f64, d)), (std::vector<double>{3}));
  EXPECT_EQ(values_of<i64>(linspace(0, -1, 3, DType::i64, d)), (std::vector<i64>{0, -1, -1}));
  EXPECT_EQ(linspace(0, 1, 0, DType::f32, d).size(), 0);
  EXPECT_EQ(thrown_text<ArgumentError>([&] { linspace(0, 1, -1, DType::f32, d); }),
            "Number of samples, -1, must be non-negative.");
  EXPECT_EQ(values_of<float>(eye(2, 3, 1, DType::f32, d)), (std::vector<float>{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(values_of<float>(eye(3, 2, -2, DType::f32, d)), (std::vector<float>{0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(values_of<float>(eye(2, 2, 5, DType::f32, d)), (std::vector<float>(4, 0)));
  EXPECT_THROW(eye(-1, 2, 0, DType::f32, d), ShapeError);
}

TEST(Join, ConcatenateAndStack) {
  const Array a = laid_out<double>({2, 2}, {1, 2, 3, 4}, Lay::exchanged),
              b = laid_out<float>({2, 1}, {5, 6});
  const Array c = concatenate(std::array{a, b}, -1);
  EXPECT_EQ(c.shape(), (Shape{2, 3}));
  EXPECT_EQ(values_of<double>(c), (std::vector<double>{1, 2, 5, 3, 4, 6}));
  const Array s = stack(std::array{a, a}, 1);
  EXPECT_EQ(s.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(values_of<double>(s), (std::vector<double>{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(thrown_text<ShapeError>([&] {
              concatenate(std::array{a, b}, 0);
            }),
            "all the input array dimensions except for the concatenation axis must match exactly, "
            "but along dimension "
            "1, the array at index 0 has size 2 and the array at index 1 has size 1");
  EXPECT_EQ(thrown_text<ArgumentError>([] { concatenate({}, 0); }),
            "need at least one array to concatenate");
  EXPECT_EQ(thrown_text<ShapeError>([&] {
              stack(std::array{a, b}, 0);
            }),
            "all input arrays must have the same shape");
}

TEST(Join, RollAndFlip) {
  const Array x = laid_out<double>({2, 3}, {0, 1, 2, 3, 4, 5}, Lay::gaps);
  EXPECT_EQ(values_of<double>(roll(x, {1}, {})), (std::vector<double>{5, 0, 1, 2, 3, 4}));
  EXPECT_EQ(values_of<double>(roll(x, {1, -1}, {0, 1})), (std::vector<double>{4, 5, 3, 1, 2, 0}));
  EXPECT_EQ(values_of<double>(roll(x, {1}, {1, 1})), (std::vector<double>{1, 2, 0, 4, 5, 3}));
  EXPECT_EQ(values_of<double>(roll(x, {6}, {1})), values_of<double>(x));
  EXPECT_EQ(values_of<double>(flip(x, {0, 1})), (std::vector<double>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(flip(x, {1}).storage(), x.storage());
  EXPECT_THROW(roll(x, {1, 2, 3}, {0, 1}), ArgumentError);
}

}  // namespace
}  // namespace tessera
