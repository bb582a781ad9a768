// SPDX-License-Identifier: Apache-2.0
// Sorting of every dtype against std::stable_sort with NumPy's order written out.
#include "tessera/kernels/sort/sort.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "support/arrays.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/sort/distinct.hpp"
#include "tessera/kernels/sort/merge.hpp"

namespace tessera {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

template <class T>
double part(const T& v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<float>(v);
  else
    return static_cast<double>(v);
}

// NumPy's order: NaN last; complex by class of NaN, then lexicographic.
template <class T>
bool less(const T& a, const T& b) {
  if constexpr (is_complex_v<T>) {
    auto rank = [](const T& z) { return std::pair(std::isnan(z.re), std::isnan(z.im)); };
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    if (!std::isnan(a.re) && a.re != b.re) return a.re < b.re;
    return !std::isnan(a.im) && a.im < b.im;
  } else if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    const double x = part(a), y = part(b);
    return x < y || (std::isnan(y) && !std::isnan(x));
  }
}

// Few distinct values, so that equal ones meet; zeros of both signs, infinities and NaNs.
template <class T>
std::vector<T> awkward(i64 n, unsigned seed) {
  std::mt19937_64 engine(seed);
  const double special[] = {nan, -nan, inf, -inf, 0.0, -0.0, 1.5, -1.5};
  auto real = [&] {
    const auto pick = engine() % 24;
    return pick < 8 ? special[pick]
                    : static_cast<double>(static_cast<i64>(engine() % 2001) - 1000) / 16;
  };
  std::vector<T> v;
  for (i64 i = 0; i < n; ++i) {
    if constexpr (is_complex_v<T>)
      v.push_back(T(c128(real(), real())));
    else if constexpr (std::is_same_v<T, bool>)
      v.push_back(engine() % 2);
    else if constexpr (std::is_integral_v<T>)
      v.push_back(static_cast<T>(engine() % 3 ? engine() : engine() % 5));
    else
      v.push_back(T(static_cast<float>(real())));
  }
  return v;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
void check(i64 rows, i64 n, Lay lay) {
  const std::vector<T> v = awkward<T>(rows * n, static_cast<unsigned>(n + 1));
  const Array x = laid_out<T>({rows, n}, v, lay);
  const std::vector<T> got = values_of<T>(sort(x));
  const std::vector<i64> places = values_of<i64>(argsort(x));
  for (i64 r = 0; r < rows; ++r) {
    std::vector<i64> want(static_cast<std::size_t>(n));
    std::iota(want.begin(), want.end(), 0);
    auto value = [&](i64 i) { return v[static_cast<std::size_t>(r * n + i)]; };
    std::stable_sort(want.begin(), want.end(),
                     [&](i64 a, i64 b) { return less<T>(value(a), value(b)); });
    for (i64 i = 0; i < n; ++i) {
      const std::size_t at = static_cast<std::size_t>(r * n + i);
      ASSERT_EQ(places[at], want[size_t(i)]) << name(dtype_of<T>) << " n " << n << " at " << i;
      ASSERT_TRUE(same_bits<T>(got[at], value(want[size_t(i)])))
          << name(dtype_of<T>) << " n " << n << " at " << i;
    }
  }
}

template <class T>
class SortKernelTyped : public testing::Test {};
using AllTypes = testing::Types<TESSERA_ALL_TYPES>;
TYPED_TEST_SUITE(SortKernelTyped, AllTypes);

TYPED_TEST(SortKernelTyped, EveryLengthAndLayout) {
  for (i64 n : {1, 2, 3, 17, 24, 25, 60, 101, 300, 1000})
    for (Lay lay : all_lays) {
      check<TypeParam>(3, n, lay);
      if (this->HasFatalFailure()) return;
    }
  check<TypeParam>(9, 3001, Lay::gaps);
  check<TypeParam>(0, 5, Lay::dense);
}

TYPED_TEST(SortKernelTyped, ManyShortLines) {
  for (i64 n : {2, 3, 33, 129})
    for (Lay lay : all_lays) {
      check<TypeParam>(70, n, lay);
      if (this->HasFatalFailure()) return;
    }
  for (i64 n : {1000, 1024, 1025}) check<TypeParam>(9, n, Lay::exchanged);
}

// Doubles that differ in their last bits alone, beside some that are far away: no number of leading
// bits tells the former apart. Many are equal, so that the order of positions shows.
void check_close(i64 n, i64 distinct) {
  std::mt19937_64 engine(static_cast<unsigned>(n));
  std::vector<double> v(static_cast<std::size_t>(n));
  for (double& x : v) {
    const auto pick = engine() % 64;
    const auto last = static_cast<double>(engine() % static_cast<unsigned>(distinct));
    x = pick == 0 ? nan : pick == 1 ? -1e300 : pick == 2 ? 1e300 : 1 + last * 0x1p-52;
  }
  std::vector<i64> want(v.size());
  std::iota(want.begin(), want.end(), 0);
  std::stable_sort(want.begin(), want.end(), [&](i64 a, i64 b) {
    return less(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(b)]);
  });
  for (Lay lay : {Lay::dense, Lay::gaps})
    ASSERT_EQ(values_of<i64>(argsort(laid_out<double>({n}, v, lay))), want) << n;
}

TEST(SortKernel, PositionsOfKeysThatAreAlike) {
  for (i64 n : {2, 15, 40, 700, 5000, 70001})
    for (i64 distinct : {1, 9, 1 << 20}) check_close(n, distinct);
}

TEST(SortKernel, LongRowsOnAllThreads) {
  check<float>(1, 200001, Lay::dense);
  check<i64>(1, 131072, Lay::reversed);
  check<c64>(1, 70001, Lay::gaps);
  check<Half>(1, 100003, Lay::dense);
  check<bool>(1, 66000, Lay::dense);
}

// The output holds the keys: beside it a row needs its own size.
TEST(SortKernel, ValuesAreSortedInTheOutput) {
  const Array x = laid_out<double>({1000}, awkward<double>(1000, 3), Lay::gaps),
              out = Array::empty({1000}, DType::f64);
  EXPECT_LE(cpu_kernels().sort.prepare({operand_of(x), operand_of(out), false}, cpu).workspace,
            1000 * 8 + 64);
}

template <class T>
void check_merge(const std::vector<i64>& lengths) {
  const i64 n = std::accumulate(lengths.begin(), lengths.end(), i64{0});
  const Array whole = laid_out<T>({n}, awkward<T>(n, 17)), runs = whole.copy();
  i64 begin = 0;
  for (const i64 length : lengths) {
    const Array run = runs.slice(0, begin, begin + length);
    run.copy_from(sort(run));
    begin += length;
  }
  const auto want = values_of<T>(sort(runs)), got = values_of<T>(merged(runs.copy(), lengths));
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_TRUE(same_bits<T>(got[i], want[i])) << name(dtype_of<T>) << " at " << i;
}

TYPED_TEST(SortKernelTyped, RunsAreMerged) {
  for (const auto& lengths : std::vector<std::vector<i64>>{
           {5}, {0, 7, 0}, {3, 4}, {40, 1, 0, 33}, {100, 200, 300}, {9, 9, 9, 9, 9, 9, 9}, {0}})
    check_merge<TypeParam>(lengths);
}

TEST(SortKernel, LongRunsAreMerged) {
  check_merge<double>({70001, 50000, 3});
  check_merge<c64>({30000, 40000});
  EXPECT_THROW(merged(Array::empty({3}, DType::f32), std::vector<i64>{1, 1}), ShapeError);
}

TEST(SortKernel, AllEqualAndSorted) {
  std::vector<double> v(5000, 2.5), up;
  for (int i = 0; i < 5000; ++i) up.push_back(i);
  EXPECT_EQ(values_of<double>(sort(laid_out<double>({5000}, v))), v);
  EXPECT_EQ(values_of<double>(sort(laid_out<double>({5000}, up, Lay::gaps))), up);
  EXPECT_EQ(values_of<i64>(argsort(laid_out<double>({5000}, v))).back(), 4999);
}

#if defined(__x86_64__)
TEST(SortKernel, NumbersBelowTheLeastNormalOneAreNotZero) {
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | 0x40);  // for comparisons they are zeros, from now on
  std::vector<std::uint64_t> bits;
  for (std::uint64_t i = 0; i < 700; ++i) bits.push_back(i * 31 % 701 + 1);
  Array x = Array::empty({700}, DType::f64);
  std::memcpy(x.host_data(), bits.data(), 700 * 8);
  const Array sorted = sort(x);
  __builtin_ia32_ldmxcsr(before);
  std::sort(bits.begin(), bits.end());
  EXPECT_EQ(std::memcmp(sorted.host_data(), bits.data(), 700 * 8), 0);
}
#endif

TEST(SortKernel, RunsAllocateNothing) {
  if (test_device() != cpu) GTEST_SKIP() << "runs the task on this thread";
  const Array x = laid_out<float>({70000}, awkward<float>(70000, 1)),
              out = Array::empty({70000}, DType::i64);
  const Prepared p = cpu_kernels().sort.prepare({operand_of(x), operand_of(out), true}, cpu);
  const Storage workspace = Storage::allocate(cpu, p.workspace);
  Launch launch;
  launch.operand = {x.data(), out.data()};
  launch.workspace = workspace.data();
  const NoAllocation guard;
  p.task.run(p.task.state.get(), launch);
}

TEST(Sort, AxesAndErrors) {
  const Array x = laid_out<i64>({2, 3}, {5, 1, 4, 2, 3, 0});
  EXPECT_EQ(values_of<i64>(sort(x, 0)), (std::vector<i64>{2, 1, 0, 5, 3, 4}));
  EXPECT_EQ(values_of<i64>(sort(x, -1)), (std::vector<i64>{1, 4, 5, 0, 2, 3}));
  EXPECT_EQ(values_of<i64>(sort(x, std::nullopt)), (std::vector<i64>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values_of<i64>(argsort(x, 0)), (std::vector<i64>{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(values_of<i64>(argsort(x, std::nullopt)), (std::vector<i64>{5, 1, 3, 4, 2, 0}));
  EXPECT_EQ(thrown_text<IndexError>([&] { sort(x, 2); }),
            "axis 2 is out of bounds for array of dimension 2");
  EXPECT_THROW(sort(Array::scalar(Value(1), DType::i64).to(test_device())), IndexError);
  EXPECT_EQ(sort(Array::empty({0, 3}, DType::f32, test_device())).shape(), (Shape{0, 3}));
}

template <class T>
void check_unique(const Shape& shape, const std::vector<T>& v) {
  const Unique u = unique(laid_out<T>(shape, v, Lay::exchanged));
  const auto values = values_of<T>(u.values);
  const auto index = values_of<i64>(u.index), inverse = values_of<i64>(u.inverse),
             counts = values_of<i64>(u.counts);
  ASSERT_EQ(u.inverse.shape(), shape);
  ASSERT_EQ(index.size(), values.size());
  ASSERT_EQ(counts.size(), values.size());
  for (std::size_t i = 1; i < values.size(); ++i) ASSERT_TRUE(less<T>(values[i - 1], values[i]));
  std::vector<i64> seen(values.size()), first(values.size(), -1);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto at = static_cast<std::size_t>(inverse[i]);
    ASSERT_LT(at, values.size());
    ASSERT_FALSE(less<T>(v[i], values[at]) || less<T>(values[at], v[i])) << i;
    if (seen[at]++ == 0) first[at] = static_cast<i64>(i);
  }
  EXPECT_EQ(seen, counts);
  EXPECT_EQ(first, index);
  const auto alone = values_of<T>(distinct(laid_out<T>(shape, v, Lay::exchanged)));
  ASSERT_EQ(alone.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(same_bits<T>(alone[i], values[i]));
}

TEST(Unique, ValuesIndexInverseCounts) {
  check_unique<std::int8_t>({4, 5}, awkward<std::int8_t>(20, 3));
  check_unique<float>({7, 30}, awkward<float>(210, 4));
  check_unique<Half>({300}, awkward<Half>(300, 5));
  check_unique<bool>({5}, {true, false, true, true, false});
  check_unique<i64>({1}, {7});
  const Unique none = unique(Array::empty({0, 2}, DType::f32, test_device()));
  EXPECT_EQ(none.values.shape(), (Shape{0}));
  EXPECT_EQ(none.inverse.shape(), (Shape{0, 2}));
}

TEST(Unique, NaNsAreOneValue) {
  const float q = static_cast<float>(nan);
  const Unique u = unique(laid_out<float>({5}, {q, 1, q, 0, q}));
  EXPECT_EQ(values_of<i64>(u.counts), (std::vector<i64>{1, 1, 3}));
  EXPECT_EQ(values_of<i64>(u.inverse), (std::vector<i64>{2, 1, 2, 0, 2}));
  const Unique z = unique(laid_out<c64>({4}, {c64(q, 1), c64(2, q), c64(1, 1), c64(q, q)}));
  EXPECT_EQ(values_of<i64>(z.counts), (std::vector<i64>{1, 3}));  // any complex NaN, as NumPy
}

template <class T>
void check_search(i64 n, i64 wanted) {
  std::vector<T> v = awkward<T>(n, 11);
  std::stable_sort(v.begin(), v.end(), less<T>);
  const std::vector<T> x = awkward<T>(wanted, 12);
  for (bool right : {false, true})
    for (Lay lay : {Lay::dense, Lay::gaps}) {
      const auto got = values_of<i64>(
          searchsorted(laid_out<T>({n}, v, lay), laid_out<T>({wanted}, x, lay), right));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto at = right ? std::upper_bound(v.begin(), v.end(), x[i], less<T>)
                              : std::lower_bound(v.begin(), v.end(), x[i], less<T>);
        ASSERT_EQ(got[i], at - v.begin()) << name(dtype_of<T>) << " " << i;
      }
    }
}

TEST(Searchsorted, BothSidesInSortOrder) {
  check_search<double>(1, 9);
  check_search<double>(100, 57);
  check_search<float>(64, 57);
  check_search<std::int16_t>(33, 40);
  check_search<c64>(77, 40);
  check_search<Half>(50, 40);
}

// The same answers from element-wise steps, which is what devices without host memory run.
TEST(Searchsorted, OnASimulatedDevice) {
  const Device device = Device::parse("sim:1");
  std::vector<c64> v = awkward<c64>(41, 13);
  std::stable_sort(v.begin(), v.end(), less<c64>);
  const std::vector<c64> x = awkward<c64>(30, 14);
  for (bool right : {false, true}) {
    const Array here = searchsorted(laid_out<c64>({41}, v, Lay::dense, cpu),
                                    laid_out<c64>({30}, x, Lay::dense, cpu), right);
    const Array there = searchsorted(laid_out<c64>({41}, v, Lay::dense, device),
                                     laid_out<c64>({30}, x, Lay::gaps, device), right);
    EXPECT_EQ(there.device(), device);
    EXPECT_EQ(values_of<i64>(here), values_of<i64>(there));
  }
}

TEST(Searchsorted, PromotesShapesAndErrors) {
  const Array s = laid_out<i64>({3}, {1, 3, 5}), x = laid_out<double>({2, 2}, {0.5, 3.0, 3.5, 9.0});
  EXPECT_EQ(values_of<i64>(searchsorted(s, x)), (std::vector<i64>{0, 1, 2, 3}));
  EXPECT_EQ(searchsorted(s, x).shape(), (Shape{2, 2}));
  EXPECT_EQ(values_of<i64>(searchsorted(Array::empty({0}, DType::i64, test_device()), x)),
            (std::vector<i64>(4, 0)));
  EXPECT_THROW(searchsorted(x, x), ShapeError);
}

}  // namespace
}  // namespace tessera
