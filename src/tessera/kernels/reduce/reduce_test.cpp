// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/reduce/reduce.hpp"

#include <cmath>
#include <random>

#include "support/arrays.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera {
namespace {

using Z = std::complex<double>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const ReduceOp all_ops[] = {
#define REDUCE(op) ReduceOp::op,
    TESSERA_REDUCE_OPS(REDUCE)
#undef REDUCE
};

bool before(Z a, Z b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}

// The reduction of the listed numbers, one after the other.
Z reference(ReduceOp op, DType in, const std::vector<Z>& v) {
  Z r = op == ReduceOp::prod || op == ReduceOp::all ? 1 : 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < v.size(); ++i) switch (op) {
      case ReduceOp::sum: r += v[i]; break;
      case ReduceOp::prod: r *= v[i]; break;
      case ReduceOp::any: r = r != 0.0 || v[i] != 0.0; break;
      case ReduceOp::all: r = r != 0.0 && v[i] != 0.0; break;
      case ReduceOp::count_nonzero: r += v[i] != 0.0; break;
      case ReduceOp::sum_abs2:
      case ReduceOp::vdot: r += std::norm(v[i]); break;
      case ReduceOp::max:
      case ReduceOp::argmax: best = before(v[best], v[i]) ? i : best; break;
      case ReduceOp::min:
      case ReduceOp::argmin: best = before(v[i], v[best]) ? i : best; break;
    }
  if (op == ReduceOp::max || op == ReduceOp::min) return v[best];
  if (op == ReduceOp::argmax || op == ReduceOp::argmin) return static_cast<double>(best);
  return op == ReduceOp::vdot && in == DType::b1 ? Z(r != 0.0) : r;
}

// Whole numbers so small that every sum and product is exact in every dtype but bool.
std::vector<double> small_numbers(ReduceOp op, DType t, i64 n) {
  std::mt19937 random(5);
  std::vector<double> v;
  for (i64 i = 0; i < n; ++i) {
    const double any = static_cast<double>(random() % 5);
    const double x = op == ReduceOp::prod ? (random() % 256 == 0 ? 2 : 1) : any;
    const bool sign = !is_unsigned_int(t) && t != DType::b1 && random() % 2;
    v.push_back(t == DType::b1 ? std::min(x, 1.0) : sign ? -x : x);
  }
  return v;
}

// Groups the row-major numbers of `shape` by the kept axes.
std::vector<std::vector<Z>> grouped(const Shape& shape, const Axes& axes, const std::vector<Z>& v) {
  i64 groups = 1;
  for (i64 a = 0; a < shape.size(); ++a)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) groups *= shape[a];
  std::vector<std::vector<Z>> g(static_cast<std::size_t>(groups));
  for (std::size_t k = 0; k < v.size(); ++k) {
    i64 rest = static_cast<i64>(k), group = 0, scale = 1;
    for (i64 a = shape.size() - 1; a >= 0; --a) {
      if (std::find(axes.begin(), axes.end(), a) == axes.end()) {
        group += rest % shape[a] * scale;
        scale *= shape[a];
      }
      rest /= shape[a];
    }
    g[static_cast<std::size_t>(group)].push_back(v[k]);
  }
  return g;
}

void check(ReduceOp op, DType t, const Shape& shape, const Axes& axes, Lay lay) {
  const Array x = laid_out(t, shape, small_numbers(op, t, count_of(shape)), lay);
  const Array y = op == ReduceOp::vdot ? vdot(x, x) : reduce(op, x, axes, false);
  ASSERT_EQ(y.dtype(), reduce_dtype(op, t));
  ASSERT_EQ(y.ndim(), shape.size() - axes.size());
  const auto groups = grouped(shape, axes, numbers_of(x));
  const auto got = numbers_of(y);
  ASSERT_EQ(got.size(), groups.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], reference(op, t, groups[i]))
        << name(op) << " of " << to_text(t) << " " << to_text(shape) << " over " << to_text(axes);
}

TEST(Reduce, EveryOpTypeAxisAndLayout) {
  struct Case {
    Shape shape;
    Axes axes;
  };
  const Case cases[] = {
      {{}, {}},        {{7}, {0}},       {{1}, {0}},          {{5, 6}, {0}},
      {{5, 6}, {1}},   {{3, 4, 5}, {1}}, {{3, 4, 5}, {0, 2}}, {{3, 4, 5}, {0, 1, 2}},
      {{2, 200}, {0}}, {{150, 2}, {0}},  {{3, 0}, {0}},       {{2, 3, 2, 3}, {1, 2}},
      {{1100}, {0}},   {{3, 4, 5}, {}},  {{40, 33}, {0, 1}}};
  for (ReduceOp op : all_ops)
    for (int t = 0; t < dtype_count; ++t)
      for (const Case& c : cases) {
        const DType dtype = static_cast<DType>(t);
        if (op == ReduceOp::vdot &&
            (c.axes.size() != c.shape.size() || dtype == DType::i8 || dtype == DType::u8))
          continue;
        if ((op == ReduceOp::sum_abs2 || op == ReduceOp::vdot) &&
            (dtype == DType::f16 || dtype == DType::bf16))
          continue;
        if (op == ReduceOp::sum && dtype == DType::bf16 && count_of(c.shape) > 500)
          continue;  // 8 bits round
        check(op, dtype, c.shape, c.axes, all_lays[(t + c.shape.size()) % 4]);
        if (HasFatalFailure()) return;
      }
}

TEST(Reduce, LongReductionsOfEveryForm) {
  for (const Shape& shape :
       {Shape{100003}, Shape{40009, 3}, Shape{3, 40009}, Shape{70, 1500}, Shape{5000, 65}})
    for (i64 axis = 0; axis < shape.size(); ++axis)
      for (ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::argmin, ReduceOp::count_nonzero})
        for (Lay lay : {Lay::dense, Lay::gaps, Lay::exchanged})
          check(op, DType::f64, shape, {axis}, lay);
}

TEST(Reduce, SumsKeepTheirDigits) {
  const i64 n = 1 << 20;
  const Array tenth = full({n}, Value(0.1), DType::f32, test_device());
  const double exact = static_cast<double>(n) * static_cast<double>(0.1f);
  const double tolerance = exact * 32 * epsilon_of(DType::f32);  // log2(n) additions, not n
  const double whole = reduce(ReduceOp::sum, tenth).item().as<double>();
  EXPECT_FALSE(!(std::abs(whole - exact) < tolerance)) << whole << " " << exact;
  const Array columns = tenth.reshape({n / 4, 4});
  for (double v : values_of<float>(reduce(ReduceOp::sum, columns, Axes{0})))
    EXPECT_FALSE(!(std::abs(v - exact / 4) < tolerance / 4)) << v;
}

TEST(Reduce, SameBitsForAnyNumberOfThreads) {
  std::mt19937 random(3);
  std::vector<float> v(200003);
  for (float& x : v) x = static_cast<float>(random()) * 1e-9f;
  const Array x = laid_out<float>({static_cast<i64>(v.size())}, v);
  const Array m = x.slice(0, 0, 200000).reshape({50000, 4}),
              w = x.slice(0, 0, 200000).reshape({50, 4000});
  const int before = num_threads();
  std::vector<std::vector<float>> found;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    std::vector<float> all = values_of<float>(reduce(ReduceOp::sum, x));
    for (const Array& y : {reduce(ReduceOp::sum, m, Axes{0}), reduce(ReduceOp::sum, w, Axes{0}),
                           reduce(ReduceOp::sum, w, Axes{1}), vdot(x, x).reshape({1})})
      for (float s : values_of<float>(y)) all.push_back(s);
    found.push_back(all);
  }
  set_num_threads(before);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

TEST(Reduce, NanAsNumPy) {
  const Array x = laid_out<double>({5}, {3, nan, 7, nan, -1});
  EXPECT_TRUE(std::isnan(reduce(ReduceOp::max, x).item().as<double>()));
  EXPECT_TRUE(std::isnan(reduce(ReduceOp::min, x).item().as<double>()));
  EXPECT_EQ(reduce(ReduceOp::argmax, x).item().as<i64>(), 1);
  EXPECT_EQ(reduce(ReduceOp::argmin, x).item().as<i64>(), 1);
  EXPECT_TRUE(reduce(ReduceOp::any, x).item().as<bool>());
  std::vector<double> late(5000, 1.0);
  late[4321] = nan;
  late[77] = 9;
  const Array y = laid_out<double>({5000}, late, Lay::reversed);
  EXPECT_EQ(reduce(ReduceOp::argmax, y).item().as<i64>(), 4321);
  EXPECT_TRUE(std::isnan(reduce(ReduceOp::max, y.reshape({50, 100}), Axes{0})
                             .reshape({-1})
                             .select(0, 21)
                             .item()
                             .as<double>()));
  const Array ties = laid_out<double>({6}, {2, 5, 5, 1, 1, 5});
  EXPECT_EQ(reduce(ReduceOp::argmax, ties).item().as<i64>(), 1);
  EXPECT_EQ(reduce(ReduceOp::argmin, ties).item().as<i64>(), 3);
}

// Lengths around those of the loops' blocks; the special numbers stand in the body and in the tail.
template <class T>
void check_special_numbers() {
  constexpr T inf = std::numeric_limits<T>::infinity(), none = std::numeric_limits<T>::quiet_NaN();
  std::mt19937 random(11);
  for (const i64 n : {1, 15, 16, 31, 32, 33, 63, 64, 65, 95, 232, 1023, 2047, 2049, 4097, 8200})
    for (const std::vector<T>& special :
         {std::vector<T>{}, {inf}, {-inf, inf}, {none}, {inf, none}})
      for (const bool late : {false, true}) {
        if (n < static_cast<i64>(special.size())) continue;
        std::vector<T> v;
        for (i64 i = 0; i < n; ++i) v.push_back(static_cast<T>(random() % 1000) - T(500));
        for (std::size_t k = 0; k < special.size(); ++k)
          v[late ? v.size() - 1 - k : v.size() / 2 + k - special.size() / 2] = special[k];
        const auto first_nan = std::find_if(v.begin(), v.end(), [](T x) { return x != x; });
        const bool has_nan = first_nan != v.end();
        const auto place = [&](auto best) { return (has_nan ? first_nan : best) - v.begin(); };
        const i64 most = place(std::max_element(v.begin(), v.end())),
                  least = place(std::min_element(v.begin(), v.end()));
        const Array x = laid_out<T>({n}, v), rows = laid_out<T>({1, n}, v);
        EXPECT_EQ(reduce(ReduceOp::argmax, x).item().as<i64>(), most) << n;
        EXPECT_EQ(reduce(ReduceOp::argmin, x).item().as<i64>(), least) << n;
        EXPECT_EQ(values_of<i64>(reduce(ReduceOp::argmin, rows, Axes{1}))[0], least) << n;
        const T max = values_of<T>(reduce(ReduceOp::max, x))[0],
                min = values_of<T>(reduce(ReduceOp::min, x))[0];
        EXPECT_EQ(std::isnan(max), has_nan) << n;
        EXPECT_EQ(std::isnan(min), has_nan) << n;
        if (has_nan) continue;
        EXPECT_EQ(max, v[static_cast<std::size_t>(most)]) << n;
        EXPECT_EQ(min, v[static_cast<std::size_t>(least)]) << n;
      }
}
TEST(Reduce, ExtremaOfInfinitiesAndNan) {
  check_special_numbers<float>();
  check_special_numbers<double>();
}

// Columns that are settled early, late or not at all, in more and fewer rows than are taken at once.
TEST(Reduce, TruthsOfColumns) {
  for (const DType t : {DType::b1, DType::u8, DType::i64, DType::f32, DType::f64, DType::c64})
    for (const i64 rows : {1, 2, 7, 8, 9, 63, 64, 65, 200})
      for (const i64 columns : {4, 5, 31, 64, 133})
        for (const bool sparse : {false, true}) {  // few ones, or few zeros
          std::mt19937 random(static_cast<unsigned>(rows * columns));
          std::vector<double> v;
          for (i64 i = 0; i < rows * columns; ++i)
            v.push_back((random() % 50 == 0) == sparse ? 1.0 : 0.0);
          const Array x = laid_out(t, {rows, columns}, v);
          const auto any = values_of<bool>(reduce(ReduceOp::any, x, Axes{0})),
                     all = values_of<bool>(reduce(ReduceOp::all, x, Axes{0}));
          for (i64 j = 0; j < columns; ++j) {
            i64 ones = 0;
            for (i64 r = 0; r < rows; ++r)
              ones += v[static_cast<std::size_t>(r * columns + j)] != 0;
            ASSERT_EQ(any[static_cast<std::size_t>(j)], ones > 0) << rows << " " << columns;
            ASSERT_EQ(all[static_cast<std::size_t>(j)], ones == rows) << rows << " " << columns;
          }
        }
}

TEST(Reduce, EmptyAndErrors) {
  const Device d = test_device();
  const Array none = zeros({0, 3}, DType::f64, d);
  EXPECT_EQ(values_of<double>(reduce(ReduceOp::sum, none, Axes{0})),
            (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(values_of<double>(reduce(ReduceOp::prod, none, Axes{0})),
            (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(values_of<bool>(reduce(ReduceOp::all, none, Axes{0})),
            (std::vector<bool>{true, true, true}));
  EXPECT_EQ(reduce(ReduceOp::max, none, Axes{1}).size(), 0);
  EXPECT_EQ(thrown_text<ArgumentError>([&] { reduce(ReduceOp::max, none); }),
            "zero-size array to reduction operation maximum which has no identity");
  EXPECT_EQ(thrown_text<ArgumentError>([&] { reduce(ReduceOp::min, none, Axes{0}); }),
            "zero-size array to reduction operation minimum which has no identity");
  EXPECT_EQ(thrown_text<ArgumentError>([&] { reduce(ReduceOp::argmax, none, Axes{0}); }),
            "attempt to get argmax of an empty sequence");
  const Array x = ones({2, 3}, DType::f32, d);
  EXPECT_EQ(thrown_text<ArgumentError>([&] {
              reduce(ReduceOp::sum, x, Axes{0, -2});
            }),
            "duplicate value in 'axis'");
  EXPECT_THROW(reduce(ReduceOp::sum, x, Axes{2}), IndexError);
  EXPECT_EQ(reduce(ReduceOp::sum, x, Axes{1}, true).shape(), (Shape{2, 1}));
  EXPECT_THROW(vdot(x, ones({2}, DType::f32, d)), ShapeError);
}

TEST(Reduce, TypesAsNumPy) {
  EXPECT_EQ(reduce_dtype(ReduceOp::sum, DType::b1), DType::i64);
  EXPECT_EQ(reduce_dtype(ReduceOp::prod, DType::u8), DType::u64);
  EXPECT_EQ(reduce_dtype(ReduceOp::sum, DType::f16), DType::f16);
  EXPECT_EQ(reduce_dtype(ReduceOp::sum_abs2, DType::c64), DType::f32);
  EXPECT_EQ(reduce_dtype(ReduceOp::max, DType::i8), DType::i8);
  const Array x = full({300}, Value(100), DType::i8, test_device());
  EXPECT_EQ(reduce(ReduceOp::sum, x).item().as<i64>(), 30000);
  EXPECT_EQ(reduce(ReduceOp::sum, x, {}, false, DType::i8).item().as<i64>(), 30000 % 256)
      << "wraps when asked to";
  EXPECT_EQ(reduce(ReduceOp::sum, x, {}, false, DType::f32).dtype(), DType::f32);
}

TEST(Reduce, MeanVarianceVdotNorm) {
  const Device d = test_device();
  const Array x = laid_out<double>({2, 3}, {1, 2, 3, 4, 5, 9}, Lay::exchanged);
  EXPECT_EQ(values_of<double>(mean(x, Axes{1})), (std::vector<double>{2, 6}));
  EXPECT_EQ(mean(x, {}, true).shape(), (Shape{1, 1}));
  EXPECT_NEAR(variance(x).item().as<double>(), 20.0 / 3, 1e-14);
  EXPECT_NEAR(variance(x, Axes{1}, 1).select(0, 0).item().as<double>(), 1.0, 1e-14);
  EXPECT_EQ(mean(ones({4}, DType::i32, d)).dtype(), DType::f64);
  const Array half = full({5000}, Value(100), DType::f16, d);
  EXPECT_EQ(mean(half).dtype(), DType::f16);
  EXPECT_EQ(mean(half).item().as<double>(), 100) << "the sum is beyond float16, the mean is not";
  EXPECT_TRUE(std::isnan(mean(zeros({0}, DType::f64, d)).item().as<double>()));
  const Array a = laid_out<c64>({2}, {c64(1, 2), c64(3, -1)}),
              b = laid_out<c64>({2}, {c64(0, 1), c64(2, 2)});
  EXPECT_EQ(vdot(a, b).item().as<c128>(), c128(2 + 6 - 2, 1 + 6 + 2));
  EXPECT_EQ(vdot(a, b).ndim(), 0);
  EXPECT_EQ(variance(a).dtype(), DType::f32);
  EXPECT_EQ(vdot(x, laid_out<double>({3, 2}, {1, 1, 1, 1, 1, 1})).item().as<double>(), 24);
  EXPECT_NEAR(norm(laid_out<c64>({2}, {c64(3, 0), c64(0, 4)})).item().as<double>(), 5, 1e-6);
  EXPECT_EQ(norm(full({4}, Value(2), DType::i8, d)).item().as<double>(), 4);
}

TEST(Reduce, FloatsSummedInDoubles) {
  const i64 rows = 37, columns = 1201;
  std::vector<float> v;
  for (i64 i = 0; i < rows * columns; ++i)
    v.push_back(0.1F + static_cast<float>(i * 7919 % 1000) * 1e-4F);
  for (const Lay lay : all_lays) {
    const Array x = laid_out<float>({rows, columns}, v, lay), y = x.astype(DType::f64);
    const auto sums = [](ReduceOp op, const Array& in, const Shape& shape) {
      const Array out = Array::empty(shape, DType::f64, in.device());
      const Operand one{in.layout(), in.dtype()};
      const ReduceSpec spec{.op = op, .in = one, .in2 = one, .out = {out.layout(), out.dtype()}};
      if (op == ReduceOp::vdot)
        launch_now(&KernelTable::reduce, "vdot", spec, in.device(), {&in, &in, &out});
      else
        launch_now(&KernelTable::reduce, name(op), spec, in.device(), {&in, &out});
      return values_of<double>(out);
    };
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::sum_abs2, ReduceOp::vdot})
      for (const Shape& shape : {Shape{1, 1}, Shape{1, columns}, Shape{rows, 1}}) {
        const auto got = sums(op, x, shape), want = sums(op, y, shape);
        for (std::size_t i = 0; i < want.size(); ++i)
          ASSERT_TRUE(std::abs(got[i] - want[i]) < 1e-12 * std::abs(want[i]))
              << name(op) << " " << got[i] << ", expected " << want[i];
      }
  }
}

}  // namespace
}  // namespace tessera
