// SPDX-License-Identifier: Apache-2.0
// Entries of sorted lines and the best few, against lines that std::stable_sort has put in order.
#include "tessera/kernels/sort/select.hpp"

#include <cmath>
#include <numeric>
#include <random>

#include "support/arrays.hpp"

namespace tessera {
namespace {

template <class T>
double number(const T& v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<float>(v);
  else
    return static_cast<double>(v);
}

// NaN last.
template <class T>
bool less(const T& a, const T& b) {
  if constexpr (std::is_integral_v<T>) return a < b;
  const double x = number(a), y = number(b);
  return x < y || (std::isnan(y) && !std::isnan(x));
}

// Some equal, some far apart, and NaNs in some lines.
template <class T>
std::vector<T> items(i64 lines, i64 n) {
  std::mt19937_64 engine(static_cast<unsigned>(lines * n));
  std::vector<T> v;
  for (i64 i = 0; i < lines * n; ++i) {
    const auto pick = engine() % 200;
    const double x = static_cast<double>(engine() % 100000) - 50000;
    if constexpr (std::is_same_v<T, bool>)
      v.push_back(pick < 100);
    else if constexpr (std::is_integral_v<T>)
      v.push_back(static_cast<T>(pick < 20 ? 3 : static_cast<i64>(x)));
    else
      v.push_back(T(static_cast<float>(pick == 0 && i / n % 3 == 0 ? std::nan("") : x / 64)));
  }
  return v;
}

template <class T>
std::vector<i64> order_of(const std::vector<T>& v, i64 line, i64 n, bool largest) {
  std::vector<i64> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](i64 i) { return v[static_cast<std::size_t>(line * n + i)]; };
  std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) {
    return largest ? less<T>(at(b), at(a)) : less<T>(at(a), at(b));
  });
  return order;
}

template <class T>
void check(i64 lines, i64 n, Lay lay) {
  const std::vector<T> v = items<T>(lines, n);
  const Array x = laid_out<T>({lines, n}, v, lay, cpu);
  std::vector<i64> places{0, n / 3, n / 2, n - 1};
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const auto wanted = static_cast<i64>(places.size());
  const auto found = values_of<T>(entries_in_order(x, 1, places));
  const i64 k = std::min<i64>(n, 5);
  for (i64 line = 0; line < lines; ++line) {
    const std::vector<i64> order = order_of(v, line, n, false);
    for (i64 j = 0; j < wanted; ++j) {
      const T want = v[static_cast<std::size_t>(
                  line * n + order[static_cast<std::size_t>(places[static_cast<std::size_t>(j)])])],
              got = found[static_cast<std::size_t>(line * wanted + j)];
      ASSERT_FALSE(less<T>(want, got) || less<T>(got, want))
          << name(dtype_of<T>) << " line " << line << " of length " << n << " place " << j;
    }
  }
  for (bool largest : {false, true}) {
    const Best best = best_entries(x, k, 1, largest);
    const auto at = values_of<i64>(best.indices);
    for (i64 line = 0; line < lines; ++line) {
      const std::vector<i64> order = order_of(v, line, n, largest);
      for (i64 j = 0; j < k; ++j)
        ASSERT_EQ(at[static_cast<std::size_t>(line * k + j)], order[static_cast<std::size_t>(j)])
            << name(dtype_of<T>) << " line " << line << " of length " << n;
    }
  }
}

template <class T>
class Select : public testing::Test {};
using RealTypes =
    testing::Types<bool, std::int8_t, std::int16_t, std::int32_t, i64, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t, Half, BFloat16, float, double>;
TYPED_TEST_SUITE(Select, RealTypes);

TYPED_TEST(Select, EntriesAndTheBest) {
  for (Lay lay : all_lays) {
    for (i64 n : {1, 2, 5, 33, 130, 300}) {
      check<TypeParam>(1, n, lay);
      check<TypeParam>(70, n, lay);
      if (this->HasFatalFailure()) return;
    }
    check<TypeParam>(9, 1500, lay);
    check<TypeParam>(2, 20000, lay);
  }
}

TEST(SelectLines, AlongAnotherAxis) {
  const std::vector<double> v = items<double>(6 * 11, 40);
  std::vector<double> turned(v.size());  // shape (6, 40, 11)
  for (std::size_t l = 0; l < 66; ++l)
    for (std::size_t i = 0; i < 40; ++i) turned[l / 11 * 440 + i * 11 + l % 11] = v[l * 40 + i];
  const Array x = laid_out<double>({6, 11, 40}, v, Lay::dense, cpu),
              y = laid_out<double>({6, 40, 11}, turned, Lay::gaps, cpu);
  const std::vector<i64> places{3, 20};
  const Array want = entries_in_order(x, 2, places).swap_axes(1, 2).copy();
  const Array got = entries_in_order(y, 1, places);
  ASSERT_EQ(got.shape(), (Shape{6, 2, 11}));
  const auto a = values_of<double>(got), b = values_of<double>(want);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i] == b[i] || std::isnan(a[i])) << i;
}

}  // namespace
}  // namespace tessera
