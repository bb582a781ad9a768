// SPDX-License-Identifier: Apache-2.0
// Dtypes, numbers as operands, broadcasting, out=, overlap and errors, as NumPy has them.
#include <numeric>

#include "support/arrays.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

constexpr DType f32 = DType::f32, f64 = DType::f64, i8 = DType::i8, u8 = DType::u8, b1 = DType::b1;

ElementOp op_named(std::string_view text) {
#define ELEMENT(op, arity, family) \
  if (text == #op) return ElementOp::op;
  TESSERA_ELEMENT_OPS(ELEMENT)
#undef ELEMENT
  ADD_FAILURE() << text;
  return ElementOp::copy;
}

// One letter per dtype in the order b1 i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 c64 c128; X:
// refused. Written down from NumPy 2.
TEST(ElementTypes, ResultsAsNumPy) {
  const std::string_view letters = "?bhilBHILefdFD";
  const DType types[] = {DType::b1,  DType::i8,  DType::i16, DType::i32, DType::i64,
                         DType::u8,  DType::u16, DType::u32, DType::u64, DType::f16,
                         DType::f32, DType::f64, DType::c64, DType::c128};
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"negative", "XbhilBHILefdFD"},    {"positive", "XbhilBHILefdFD"},
      {"square", "bbhilBHILefdFD"},      {"sign", "XbhilBHILefdFD"},
      {"conj", "bbhilBHILefdFD"},        {"reciprocal", "bbhilBHILefdFD"},
      {"add", "?bhilBHILefdFD"},         {"subtract", "XbhilBHILefdFD"},
      {"multiply", "?bhilBHILefdFD"},    {"floor_divide", "bbhilBHILefdXX"},
      {"remainder", "bbhilBHILefdXX"},   {"power", "bbhilBHILefdFD"},
      {"maximum", "?bhilBHILefdFD"},     {"fmin", "?bhilBHILefdFD"},
      {"equal", "??????????????"},       {"less", "??????????????"},
      {"logical_and", "??????????????"}, {"bitwise_and", "?bhilBHILXXXXX"},
      {"invert", "?bhilBHILXXXXX"},      {"left_shift", "bbhilBHILXXXXX"},
      {"divide", "ddddddddde fdFD"},     {"sqrt", "eefddefddefdFD"},
      {"exp2", "eefddefddefdFD"},        {"cbrt", "eefddefddefdXX"},
      {"arctan2", "eefddefddefdXX"},     {"floor", "?bhilBHILefdXX"},
      {"rint", "eefddefddefdFD"},        {"isnan", "??????????????"},
      {"signbit", "????????????XX"},     {"absolute", "?bhilBHILefdfd"}};
  for (auto [name, row] : rows) {
    std::string expected(row);
    std::erase(expected, ' ');
    const ElementOp op = op_named(name);
    for (std::size_t t = 0; t < letters.size(); ++t) {
      char got = 'X';
      try {
        const DType r =
            element_types(op, std::vector<DType>(static_cast<std::size_t>(arity(op)), types[t]))
                .result;
        got = letters[static_cast<std::size_t>(std::find(types, types + 14, r) - types)];
      } catch (const DTypeError&) {
      }
      EXPECT_EQ(got, expected[t]) << name << " of " << to_text(types[t]);
    }
  }
  EXPECT_EQ(element_types(ElementOp::add, std::array{DType::u8, DType::i8}).result, DType::i16);
  EXPECT_EQ(element_types(ElementOp::add, std::array{DType::u64, DType::i64}).result, f64);
  EXPECT_EQ(element_types(ElementOp::where, std::array{f64, DType::i16, DType::u8}).result,
            DType::i16);
}

TEST(ElementTypes, NumbersAdaptToArrays) {
  auto result = [](DType t, const Value& v) {
    return ops::add(zeros({2}, t, test_device()), v).dtype();
  };
  EXPECT_EQ(result(i8, Value(1)), i8);
  EXPECT_EQ(result(i8, Value(1.5)), f64);
  EXPECT_EQ(result(i8, Value(c128(0, 1))), DType::c128);
  EXPECT_EQ(result(f32, Value(1)), f32);
  EXPECT_EQ(result(f32, Value(1.5)), f32);
  EXPECT_EQ(result(f32, Value(c128(0, 1))), DType::c64);
  EXPECT_EQ(result(f64, Value(c128(0, 1))), DType::c128);
  EXPECT_EQ(result(DType::f16, Value(1e6)), DType::f16);
  EXPECT_EQ(result(b1, Value(true)), b1);
  EXPECT_EQ(result(b1, Value(1)), DType::i64);
  EXPECT_EQ(result(u8, Value(true)), u8);
  const Array half = ones({2}, DType::f16, test_device());
  EXPECT_EQ(numbers_of(ops::add(half, Value(1e6)))[0].real(),
            std::numeric_limits<double>::infinity());
  const Array pick = ops::where(zeros({2}, b1, test_device()), Value(1), Value(2.5));
  EXPECT_EQ(values_of<double>(pick), (std::vector<double>{2.5, 2.5}));
}

TEST(ElementTypes, IntegersOutOfBounds) {
  const Array x = ones({3}, i8, test_device()), u = ones({3}, u8, test_device());
  EXPECT_EQ(thrown_text<OverflowError>([&] { ops::add(x, Value(300)); }),
            "Python integer 300 out of bounds for int8");
  EXPECT_EQ(thrown_text<OverflowError>([&] { ops::add(u, Value(-1)); }),
            "Python integer -1 out of bounds for uint8");
  EXPECT_EQ(thrown_text<OverflowError>([&] { x.fill(Value(-129)); }),
            "Python integer -129 out of bounds for int8");
  EXPECT_EQ(numbers_of(ops::add(x, Value(127)))[0].real(), -128) << "wraps, as NumPy";
  const Array wide = ones({2}, DType::u64, test_device());
  EXPECT_THROW(ops::add(wide, Value(-1)), OverflowError);
  EXPECT_THROW(ops::add(ones({2}, DType::i64, test_device()), Value(~std::uint64_t{0})),
               OverflowError);
  // Comparisons know the answer without the number.
  auto truth = [](const Array& y) -> bool { return values_of<bool>(y)[0]; };
  EXPECT_FALSE(truth(ops::equal(u, Value(-1))));
  EXPECT_TRUE(truth(ops::not_equal(u, Value(300))));
  EXPECT_TRUE(truth(ops::less(u, Value(300))));
  EXPECT_TRUE(truth(ops::greater(Value(300), u)));
  EXPECT_TRUE(truth(ops::greater_equal(wide, Value(-5))));
  EXPECT_FALSE(truth(ops::less_equal(Value(300), u)));
}

// Small whole numbers are exact in every dtype: each pair of dtypes, in turning layouts and shapes.
void check_pair(DType ta, DType tb, const Shape& sa, const Shape& sb, Lay la, Lay lb) {
  auto numbers = [](i64 n) {
    std::vector<double> v;
    for (i64 i = 0; i < n; ++i) v.push_back(static_cast<double>(i % 7));
    return v;
  };
  const Array a = laid_out(ta, sa, numbers(count_of(sa)), la),
              b = laid_out(tb, sb, numbers(count_of(sb)), lb);
  const Array sum = ops::add(a, b);
  const Shape shape = broadcast_shapes(sa, sb);
  ASSERT_EQ(sum.dtype(), promote(ta, tb));
  ASSERT_EQ(sum.shape(), shape);
  const auto x = numbers_of(a.broadcast_to(shape)), y = numbers_of(b.broadcast_to(shape)),
             z = numbers_of(sum);
  const auto less = values_of<bool>(ops::less(a, b));
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double s = (x[i] + y[i]).real();
    ASSERT_EQ(z[i].real(), sum.dtype() == DType::b1 ? static_cast<double>(s != 0) : s)
        << to_text(ta) << " + " << to_text(tb) << " of shapes " << to_text(sa) << " "
        << to_text(sb);
    ASSERT_EQ(less[i], x[i].real() < y[i].real());
  }
}

TEST(Elementwise, EveryPairOfTypesAndLayouts) {
  const std::pair<Shape, Shape> shapes[] = {
      {{}, {}},          {{0, 3}, {3}},     {{5}, {1}},      {{4, 1}, {3}}, {{2, 3, 5}, {3, 1}},
      {{3, 131}, {131}}, {{2, 1}, {2, 70}}, {{1500}, {1500}}};
  unsigned turn = 0;
  for (int a = 0; a < dtype_count; ++a)
    for (int b = 0; b < dtype_count; ++b)
      for (const auto& [sa, sb] : shapes) {
        turn = turn * 5 + 3;
        check_pair(static_cast<DType>(a), static_cast<DType>(b), sa, sb, all_lays[turn % 4],
                   all_lays[turn / 4 % 4]);
        if (HasFatalFailure()) return;
      }
}

TEST(Elementwise, ThreeOperandsWithNumbersAndStrides) {
  const Shape shape{4, 67};
  std::vector<float> v(static_cast<std::size_t>(count_of(shape)));
  std::iota(v.begin(), v.end(), 0.0f);
  for (Lay lay : all_lays) {
    const Array x = laid_out<float>(shape, v, lay),
                column = laid_out<float>({4, 1}, {1, 2, 3, 4}, lay);
    const auto y = values_of<float>(ops::multiply_add(Value(2.0), x, column));
    const auto w = values_of<float>(ops::where(ops::greater(x, 100.0), x, Value(-1.0)));
    for (std::size_t i = 0; i < v.size(); ++i) {
      ASSERT_EQ(y[i], 2 * v[i] + static_cast<float>(i / 67 + 1));
      ASSERT_EQ(w[i], v[i] > 100 ? v[i] : -1.0f);
    }
  }
}

TEST(Elementwise, LargeArraysAreCutIntoChunks) {
  const i64 n = 300001;
  const Array a = arange(Value(0), Value(n), Value(1), f64, test_device());
  const Array b = ops::multiply(a, a.astype(DType::i32));
  const Array c = ops::add(flip(a, {0}), a.reshape({1, n}));
  const auto x = values_of<double>(b), y = values_of<double>(c);
  for (i64 i = 0; i < n; ++i) {
    ASSERT_EQ(x[static_cast<std::size_t>(i)], static_cast<double>(i) * static_cast<double>(i));
    ASSERT_EQ(y[static_cast<std::size_t>(i)], static_cast<double>(n - 1));
  }
}

TEST(ElementwiseOut, CastsWithinAKindOnly) {
  const Array a = ones({3}, f64, test_device()), narrow = zeros({3}, f32, test_device());
  const std::array<ArrayOrValue, 2> in{a, a};
  elementwise(ElementOp::add, in, narrow);
  EXPECT_EQ(values_of<float>(narrow), (std::vector<float>{2, 2, 2}));
  const Array integers = zeros({3}, DType::i32, test_device());
  EXPECT_EQ(thrown_text<DTypeError>([&] { elementwise(ElementOp::add, in, integers); }),
            "Cannot cast ufunc 'add' output from dtype('float64') to dtype('int32') with casting "
            "rule 'same_kind'");
  const Array wide = zeros({2, 3}, f64, test_device());
  elementwise(ElementOp::add, in, wide);
  EXPECT_EQ(values_of<double>(wide), (std::vector<double>(6, 2.0)));
  const Array rows = ones({2, 3}, f64, test_device());
  const std::array<ArrayOrValue, 1> tall{rows};
  EXPECT_EQ(
      thrown_text<ShapeError>([&] { elementwise(ElementOp::sqrt, tall, a); }),
      "non-broadcastable output operand with shape (3,) doesn't match the broadcast shape (2, 3)");
  EXPECT_THROW(elementwise(ElementOp::add, in, a.broadcast_to({2, 3})), ArgumentError);
  EXPECT_THROW(elementwise(ElementOp::add, in, zeros({4}, f64, test_device())), ShapeError);
}

TEST(ElementwiseOut, OverlapBehavesAsIfCopied) {
  for (const auto& [from, to] : {std::pair<i64, i64>{0, 1}, {1, 0}}) {
    const Array x = arange(Value(0), Value(3000), Value(1), f64, test_device());
    const Array source = x.slice(0, from, from + 2999), target = x.slice(0, to, to + 2999);
    const std::array<ArrayOrValue, 2> in{source, Value(100)};
    elementwise(ElementOp::add, in, target);
    const auto got = values_of<double>(target);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], static_cast<double>(i) + static_cast<double>(from) + 100);
  }
  const Array x = arange(Value(0), Value(10), Value(1), f64, test_device());
  const std::array<ArrayOrValue, 2> turned{x, flip(x, {0})};
  elementwise(ElementOp::subtract, turned, x);
  EXPECT_EQ(values_of<double>(x), (std::vector<double>{-9, -7, -5, -3, -1, 1, 3, 5, 7, 9}));
  const std::array<ArrayOrValue, 2> self{x, x};
  elementwise(ElementOp::multiply, self, x);
  EXPECT_EQ(values_of<double>(x)[0], 81);
}

TEST(ElementwiseErrors, TextsAsNumPy) {
  const Device d = test_device();
  const Array flags = zeros({2}, b1, d), x = ones({2}, f64, d), z = ones({2}, DType::c128, d),
              n = ones({2}, DType::i32, d);
  EXPECT_EQ(thrown_text<DTypeError>([&] { ops::subtract(flags, flags); }),
            "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the "
            "`^` operator, or the "
            "logical_xor function instead.");
  EXPECT_EQ(thrown_text<DTypeError>([&] { ops::negative(flags); }),
            "The numpy boolean negative, the `-` operator, is not supported, use the `~` operator "
            "or the logical_not "
            "function instead.");
  EXPECT_EQ(thrown_text<DTypeError>([&] { ops::left_shift(x, x); }),
            "ufunc 'left_shift' not supported for the input types, and the inputs could not be "
            "safely coerced to any "
            "supported types according to the casting rule ''safe''");
  EXPECT_THROW(ops::floor_divide(z, z), DTypeError);
  EXPECT_EQ(thrown_text<ArgumentError>([&] { ops::power(n, Value(-1)); }),
            "Integers to negative integer powers are not allowed.");
  EXPECT_THROW(ops::power(n, ops::negative(n)), ArgumentError);
  EXPECT_EQ(thrown_text<ShapeError>([&] { ops::add(x, ones({3}, f64, d)); }),
            "operands could not be broadcast together with shapes (2,) (3,)");
  EXPECT_THROW(ops::add(x, ones({2}, f64, Device::parse(d == cpu ? "sim:0" : "cpu"))), DeviceError);
  EXPECT_THROW(ops::add(Value(1), Value(2)), ArgumentError);
}

TEST(ElementwisePrepared, RunsAgainWithOtherPointersAndInPlace) {
  const Array a = Array::of<float>({1, 2, 3}), b = Array::of<float>({5, 7, 11}),
              c = empty_dense({3}, f32);
  const Array first = a.contiguous(), second = b.contiguous();
  ElementwiseSpec spec;
  spec.op = ElementOp::multiply;
  spec.inputs = {{operand_of(first), {}}, {operand_of(second), {}}};
  spec.out = operand_of(c);
  const Prepared p = cpu_kernels().elementwise.prepare(spec, cpu);
  EXPECT_EQ(p.workspace, 0);
  Launch launch;
  launch.operand = {first.data(), second.data(), c.data()};
  p.task.run(p.task.state.get(), launch);
  EXPECT_EQ(values_of<float>(c), (std::vector<float>{5, 14, 33}));
  launch.operand = {c.data(), c.data(), c.data()};
  p.task.run(p.task.state.get(), launch);
  EXPECT_EQ(values_of<float>(c), (std::vector<float>{25, 196, 1089}));
}

}  // namespace
}  // namespace tessera
