// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrices of every form for tests, each beside the full list of its elements as complex doubles,
// made without the code under test; and the same four views of both.
//   MatrixSample s = sample(Make::lower, DType::f32, 37, 37, 1);   MatrixSample t = viewed(s,
//   MatrixView::turned);

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "support/arrays.hpp"
#include "tessera/matrix/forms/any_matrix.hpp"

namespace tessera {

struct Grid {
  i64 rows = 0, cols = 0;
  std::vector<std::complex<double>> v;
  std::complex<double>& at(i64 i, i64 j) { return v[static_cast<std::size_t>(i * cols + j)]; }
  std::complex<double> at(i64 i, i64 j) const { return v[static_cast<std::size_t>(i * cols + j)]; }
};

inline Grid grid_of(i64 rows, i64 cols) {
  return {rows, cols, std::vector<std::complex<double>>(static_cast<std::size_t>(rows * cols))};
}

enum class Make : std::uint8_t {
  dense,
  bit,
  triangular_bit,
  upper,
  strict_upper,
  lower,
  symmetric,
  antisymmetric,
  diagonal,
  identity
};
inline constexpr Make all_makes[] = {
    Make::dense, Make::bit,       Make::triangular_bit, Make::upper,    Make::strict_upper,
    Make::lower, Make::symmetric, Make::antisymmetric,  Make::diagonal, Make::identity};
inline constexpr Make rectangular_makes[] = {Make::dense, Make::bit, Make::diagonal,
                                             Make::identity};

enum class MatrixView : std::uint8_t { plain, turned, conjugated, scaled };
inline constexpr MatrixView all_views[] = {MatrixView::plain, MatrixView::turned,
                                           MatrixView::conjugated, MatrixView::scaled};

// Pairs of views that show each of them on either side, and some together.
struct MatrixViews {
  MatrixView left, right;
};
inline constexpr MatrixViews pairs_of_views[] = {
    {MatrixView::plain, MatrixView::plain},       {MatrixView::turned, MatrixView::plain},
    {MatrixView::plain, MatrixView::turned},      {MatrixView::turned, MatrixView::turned},
    {MatrixView::conjugated, MatrixView::scaled}, {MatrixView::scaled, MatrixView::conjugated}};

struct MatrixSample {
  AnyMatrix m;
  Grid g;
  std::string text;
};

// Small numbers, exact in every dtype that has them.
inline std::complex<double> small_number(DType t, std::mt19937& engine) {
  const auto whole = [&](int low, int high) {
    return static_cast<double>(std::uniform_int_distribution<int>(low, high)(engine));
  };
  if (t == DType::b1) return whole(0, 1);
  if (is_unsigned_int(t)) return whole(0, 2);
  if (is_integer(t)) return whole(-2, 2);
  if (is_complex(t)) return {whole(-8, 8) / 8, whole(-8, 8) / 8};
  return whole(-8, 8) / 8;
}

// Whether integers of a dtype hold the numbers.
inline bool fits(const Grid& g, DType t) {
  if (!is_integer(t)) return true;
  const double most =
      std::ldexp(1.0, static_cast<int>(8 * size_of(t)) - (is_signed_int(t) ? 1 : 0)) - 1;
  for (const std::complex<double> z : g.v)
    if (z.real() > most || z.real() < (is_signed_int(t) ? -most - 1 : 0)) return false;
  return true;
}

inline Array array_of(const Grid& g, DType t, Device device = test_device()) {
  Array x;
  dispatch<TESSERA_ALL_TYPES>(t, "array_of", [&]<class T>() {
    std::vector<T> values;
    for (const std::complex<double> z : g.v) {
      if constexpr (is_complex_v<T>)
        values.push_back(T(c128(z.real(), z.imag())));
      else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        values.push_back(T(static_cast<float>(z.real())));
      else
        values.push_back(static_cast<T>(z.real()));
    }
    x = laid_out<T>({g.rows, g.cols}, values, Lay::dense, device);
  });
  return x;
}

inline bool is_kept(Make make, i64 i, i64 j) {
  switch (make) {
    case Make::triangular_bit:
    case Make::strict_upper: return i < j;
    case Make::upper: return i <= j;
    case Make::lower: return i >= j;
    case Make::diagonal:
    case Make::identity: return i == j;
    default: return true;
  }
}

inline bool has_dtype(Make make, DType t) {
  if (make == Make::bit || make == Make::triangular_bit) return t == DType::b1;
  if (make == Make::antisymmetric) return !is_unsigned_int(t) && t != DType::b1;
  return true;
}

inline AnyMatrix matrix_of(Make make, const Grid& g, DType t, Device device) {
  const Array full = array_of(g, t, device);
  switch (make) {
    case Make::dense: return AnyMatrix::dense(full);
    case Make::bit: return AnyMatrix::bit(full);
    case Make::triangular_bit: return AnyMatrix::triangular_bit(full);
    case Make::upper: return AnyMatrix::triangular(full);
    case Make::strict_upper: return AnyMatrix::triangular(full, false, true);
    case Make::lower: return AnyMatrix::triangular(full, true);
    case Make::symmetric: return AnyMatrix::symmetric(full);
    case Make::antisymmetric: return AnyMatrix::antisymmetric(full);
    case Make::identity: return AnyMatrix::identity(g.rows, g.cols, t, device);
    default: break;
  }
  Grid numbers = grid_of(1, std::min(g.rows, g.cols));
  for (i64 i = 0; i < numbers.cols; ++i) numbers.at(0, i) = g.at(i, i);
  return AnyMatrix::diagonal(array_of(numbers, t, device).select(0, 0), g.rows, g.cols);
}

inline MatrixSample sample(Make make, DType t, i64 rows, i64 cols, unsigned seed,
                           Device device = test_device()) {
  std::mt19937 engine(seed);
  Grid g = grid_of(rows, cols);
  for (i64 i = 0; i < rows; ++i)
    for (i64 j = 0; j < cols; ++j) {
      const std::complex<double> z = small_number(t, engine);
      if (is_kept(make, i, j)) g.at(i, j) = make == Make::identity ? 1.0 : z;
    }
  if (make == Make::symmetric || make == Make::antisymmetric)
    for (i64 i = 0; i < rows; ++i)
      for (i64 j = 0; j <= i; ++j)
        g.at(i, j) = make == Make::symmetric ? g.at(j, i) : i == j ? 0.0 : -g.at(j, i);
  AnyMatrix m = matrix_of(make, g, t, device);
  return {m, g, cat(name(m.form()), " ", static_cast<int>(make), " of ", name(t))};
}

inline Grid turned(const Grid& g) {
  Grid t = grid_of(g.cols, g.rows);
  for (i64 i = 0; i < g.rows; ++i)
    for (i64 j = 0; j < g.cols; ++j) t.at(j, i) = g.at(i, j);
  return t;
}

// Scaled by a number of the kind of the elements.
inline MatrixSample viewed(const MatrixSample& s, MatrixView view) {
  const DType t = s.m.dtype();
  switch (view) {
    case MatrixView::turned: return {s.m.transpose(), turned(s.g), s.text + ", transposed"};
    case MatrixView::conjugated: {
      MatrixSample c{s.m.conj(), s.g, s.text + ", conjugated"};
      for (auto& z : c.g.v) z = std::conj(z);
      return c;
    }
    case MatrixView::scaled: {
      const std::complex<double> by = is_complex(t)   ? std::complex<double>(0.5, -2)
                                      : is_inexact(t) ? 1.5
                                                      : 2.0;
      const Value v = is_complex(t) ? Value(by) : is_inexact(t) ? Value(by.real()) : Value(i64{2});
      MatrixSample c{s.m.scaled(v), s.g, s.text + ", scaled"};
      for (auto& z : c.g.v) z *= by;
      return c;
    }
    default: return s;
  }
}

}  // namespace tessera
