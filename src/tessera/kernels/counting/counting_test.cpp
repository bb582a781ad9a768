// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/counting/counting.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tessera/kernels/copy/copy.hpp"

namespace tessera {
namespace {

template <class T>
Array array_of_numbers(const std::vector<T>& numbers) {
  const Array a = empty_dense({static_cast<i64>(numbers.size())}, dtype_of<T>);
  std::copy(numbers.begin(), numbers.end(), a.template host<T>());
  return a;
}

template <class T>
std::vector<i64> counted_one_by_one(const std::vector<T>& x, const std::vector<T>& edges) {
  const auto n = edges.size() - 1;
  std::vector<i64> counts(n, 0);
  for (const T v : x)
    for (std::size_t k = 0; k < n; ++k)
      counts[k] += v >= edges[k] && (v < edges[k + 1] || (k + 1 == n && v == edges[n]));
  return counts;
}

template <class T>
class CountBetween : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(CountBetween, Floats);

// Even bins from edges that lie near each other to edges whose distance is beyond the largest
// number, for numbers on, beside and beyond them: what a comparison with the edges says.
TYPED_TEST(CountBetween, BinsOfAnyExtentAreThoseOfTheirEdges) {
  using T = TypeParam;
  constexpr T most = std::numeric_limits<T>::max(), inf = std::numeric_limits<T>::infinity();
  for (const T reach : {T(1), T(1e-30), T(1e30), most / 4, most / 2, T(most * 0.75), most})
    for (const int n : {1, 2, 4, 7, 300}) {
      std::vector<T> edges, x{-inf, inf, std::numeric_limits<T>::quiet_NaN(), most, -most, T(0)};
      for (int k = 0; k <= n; ++k)
        edges.push_back(reach * (T(2) * static_cast<T>(k) / static_cast<T>(n) - T(1)));
      for (const T e : edges)
        x.insert(x.end(), {e, std::nextafter(e, inf), std::nextafter(e, -inf), e / 2});
      const Array got = count_between(array_of_numbers(x), array_of_numbers(edges), true, nullptr);
      const std::vector<i64> wanted = counted_one_by_one(x, edges);
      ASSERT_EQ(got.shape(), Shape{n});
      for (i64 k = 0; k < n; ++k)
        EXPECT_EQ(got.host<i64>()[k], wanted[static_cast<std::size_t>(k)])
            << reach << ", bin " << k << " of " << n;
    }
}

TEST(CountNumbers, CountsAndSumsOfWeights) {
  const Array x = array_of_numbers<i64>({3, 0, 3, 5}),
              w = array_of_numbers<double>({0.5, 1, 2, -1});
  const Array counts = count_numbers(x, nullptr, 8), sums = count_numbers(x, &w, 0);
  EXPECT_EQ(std::vector<i64>(counts.host<i64>(), counts.host<i64>() + 8),
            (std::vector<i64>{1, 0, 0, 2, 0, 1, 0, 0}));
  EXPECT_EQ(std::vector<double>(sums.host<double>(), sums.host<double>() + 6),
            (std::vector<double>{1, 0, 0, 2.5, 0, -1}));
  EXPECT_FALSE(count_numbers(array_of_numbers<i64>({1, -1}), nullptr, 0));
}

}  // namespace
}  // namespace tessera
