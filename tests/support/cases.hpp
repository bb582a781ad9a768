// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests of functions of distributed arrays: the same array in every distribution (distributions.hpp)
// on every number of ranks, and comparison of what came out with what the local function makes of
// the whole.
//   for_each_spread({5, 4}, [&](const Case& c) { expect_same(dist::sum(c.of(x)), want); });

#include <functional>

#include "support/distributions.hpp"

namespace tessera {

inline constexpr int rank_counts[] = {1, 2, 3, 4, 7};

struct Case {
  Communicator comm;
  dist::Distribution distribution;
  DNDarray of(const Array& whole) const { return distribute(whole, distribution, comm); }
  std::string str() const {
    return cat(comm, ", split ",
               distribution.split ? to_text(*distribution.split) : std::string("none"));
  }
};

// For every number of ranks and every distribution of an array of `shape`, on all ranks.
inline void for_each_distribution(const Shape& shape, const std::function<void(const Case&)>& f) {
  on_ranks([&](const Communicator& comm) {
    for (const dist::Distribution& s : distributions_of(shape, comm.size())) {
      const Case c{comm, s};
      SCOPED_TRACE(c.str());
      f(c);
    }
  });
}

// Equal dtype, shape and values; floats within `error` rounding errors of the largest. NaN equals
// NaN.
inline void expect_same(const Array& got, const Array& want, double error = 0) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  const auto a = numbers_of(got.to(cpu)), b = numbers_of(want.to(cpu));
  double largest = 1;
  for (const auto& v : b)
    if (std::isfinite(std::abs(v))) largest = std::max(largest, std::abs(v));
  const double tolerance = error * epsilon_of(want.dtype()) * largest;
  const auto alike = [&](double x, double y) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    return x == y || std::abs(x - y) <= tolerance;
  };
  for (std::size_t i = 0; i < b.size(); ++i)
    ASSERT_TRUE(alike(a[i].real(), b[i].real()) && alike(a[i].imag(), b[i].imag()))
        << "element " << i << ": " << a[i].real() << "+" << a[i].imag() << "i, expected "
        << b[i].real() << "+" << b[i].imag() << "i";
}

inline void expect_same(const DNDarray& got, const Array& want, double error = 0) {
  EXPECT_EQ(got.shape(), want.shape());
  EXPECT_EQ(got.dtype(), want.dtype());
  expect_same(got.gathered(), want, error);
}

inline void expect_split(const DNDarray& x, std::optional<i64> split) {
  EXPECT_EQ(x.split().value_or(-1), split.value_or(-1));
}

// f() sends nothing.
template <class F>
auto silent(const Communicator& comm, F&& f) {
  const Traffic before = comm.traffic();
  auto result = f();
  EXPECT_EQ(comm.traffic(), before) << (comm.traffic() - before).bytes << " bytes were sent";
  return result;
}

// The local and the distributed call fail alike, on every rank.
template <class E, class F, class G>
void expect_same_error(F&& local, G&& distributed) {
  EXPECT_EQ(thrown_text<E>(distributed), thrown_text<E>(local));
}

// Numbers without a pattern, small enough to be exact in float32, as a dtype.
inline Array sample(const Shape& shape, DType dtype = DType::f64, i64 seed = 1) {
  std::vector<double> numbers;
  for (i64 i = 0; i < count_of(shape); ++i)
    numbers.push_back(static_cast<double>((i * 7919 + seed * 104729) % 23) -
                      (is_unsigned_int(dtype) ? 0 : 11));
  if (dtype == DType::b1)
    for (double& v : numbers) v = v > 0;
  Array x = laid_out(dtype, shape, numbers, Lay::dense);
  if (is_complex(dtype)) x.imag().copy_from(sample(shape, real_of(dtype), seed + 5));
  return x;
}

}  // namespace tessera
