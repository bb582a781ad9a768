// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/matmul/loops.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace tessera {
namespace {

// How a type multiplies and sums: in what it accumulates, and back.
template <class T>
struct Ring {
  using Sum = T;
  static Sum load(T v) { return v; }
  static T store(Sum v) { return v; }
  static Sum multiply_add(Sum a, Sum b, Sum c) { return a * b + c; }
};
template <class T>
requires std::is_integral_v<T>
struct Ring<T> {
  using Sum = std::make_unsigned_t<T>;  // wraps; signed overflow would be undefined
  using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, Sum>;
  static Sum load(T v) { return static_cast<Sum>(v); }
  static T store(Sum v) { return static_cast<T>(v); }
  static Sum multiply_add(Sum a, Sum b, Sum c) {
    return static_cast<Sum>(static_cast<Wide>(a) * static_cast<Wide>(b) + c);
  }
};
template <>
struct Ring<bool> {
  using Sum = std::uint8_t;
  static Sum load(bool v) { return v; }
  static bool store(Sum v) { return v != 0; }
  static Sum multiply_add(Sum a, Sum b, Sum c) { return static_cast<Sum>((a & b) | c); }
};
template <class T>
struct FloatRing {
  using Sum = float;
  static Sum load(T v) { return v; }
  static T store(Sum v) { return T(v); }
  static Sum multiply_add(Sum a, Sum b, Sum c) { return a * b + c; }
};
template <>
struct Ring<Half> : FloatRing<Half> {};
template <>
struct Ring<BFloat16> : FloatRing<BFloat16> {};

template <class T>
typename Ring<T>::Sum factor(const c128& v) {
  using Sum = typename Ring<T>::Sum;
  if constexpr (is_complex_v<T>)
    return Sum(v);
  else if constexpr (std::is_same_v<T, bool>)
    return v.re != 0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<Sum>(static_cast<i64>(v.re));
  else
    return static_cast<Sum>(v.re);
}

template <class T>
auto value(T v, bool conjugate) {
  if constexpr (is_complex_v<T>)
    return conjugate ? conj(v) : v;
  else
    return Ring<T>::load(v);
}

constexpr i64 tile_rows = 4, tile_columns = 64;

// One tile: `rows` x `columns` sums kept on the stack while k runs once over a and b.
template <class T>
void tile(const LoopArgs& s, const T* a, const T* b, T* c, i64 rows, i64 columns) {
  using R = Ring<T>;
  using Sum = typename R::Sum;
  Sum sum[tile_rows][tile_columns];
  for (i64 r = 0; r < rows; ++r) std::fill_n(sum[r], columns, Sum(0));
  for (i64 p = 0; p < s.k; ++p) {
    Sum line[tile_columns];
    const T* from = b + p * s.b_rows;
    if (s.b_columns == 1 && !s.conj_b)
      for (i64 j = 0; j < columns; ++j) line[j] = value(from[j], false);
    else
      for (i64 j = 0; j < columns; ++j) line[j] = value(from[j * s.b_columns], s.conj_b);
    for (i64 r = 0; r < rows; ++r) {
      const Sum x = value(a[r * s.a_rows + p * s.a_columns], s.conj_a);
      for (i64 j = 0; j < columns; ++j) sum[r][j] = R::multiply_add(x, line[j], sum[r][j]);
    }
  }
  const Sum alpha = factor<T>(s.alpha), beta = factor<T>(s.beta);
  const bool scale = !(alpha == Sum(1)), add = s.beta != c128(0);
  for (i64 r = 0; r < rows; ++r)
    for (i64 j = 0; j < columns; ++j) {
      T& to = c[r * s.c_rows + j * s.c_columns];
      Sum v = sum[r][j];
      if (scale) v = R::multiply_add(alpha, v, Sum(0));
      if (add) v = R::multiply_add(beta, R::load(to), v);
      to = R::store(v);
    }
}

// `Rows` rows of `Count` times as many neighbours as fill `Bytes`: their sums stay in registers.
template <class T, int Rows, int Count, int Bytes>
void strip(const LoopArgs& s, const T* a, const T* b, T* c) {
  typedef T Wide __attribute__((vector_size(Bytes)));
  constexpr i64 width = Bytes / sizeof(T);
  Wide sum[Rows][Count] = {};
  for (i64 p = 0; p < s.k; ++p) {
    Wide line[Count];
    std::memcpy(line, b + p * s.b_rows, sizeof line);
    for (int r = 0; r < Rows; ++r) {
      const T x = a[r * s.a_rows + p * s.a_columns];
      for (int j = 0; j < Count; ++j) sum[r][j] += x * line[j];
    }
  }
  const T alpha = factor<T>(s.alpha), beta = factor<T>(s.beta);
  for (int r = 0; r < Rows; ++r)
    for (int j = 0; j < Count; ++j) {
      T* const to = c + r * s.c_rows + j * width;
      Wide v = alpha * sum[r][j];
      if (beta != 0) {
        Wide before;
        std::memcpy(&before, to, Bytes);
        v += beta * before;
      }
      std::memcpy(to, &v, Bytes);
    }
}

template <class T, int Rows>
void strips(const LoopArgs& s, const T* a, const T* b, T* c) {
  constexpr i64 width = 16 / sizeof(T);  // a register of every host
  i64 j = 0;
  for (; j + 2 * width <= s.n; j += 2 * width) strip<T, Rows, 2, 16>(s, a, b + j, c + j);
  for (; j + width <= s.n; j += width) strip<T, Rows, 1, 16>(s, a, b + j, c + j);
  for (; j < s.n; ++j) strip<T, Rows, 1, sizeof(T)>(s, a, b + j, c + j);
}

// Elements of b and of c that are neighbours along a row.
template <class T>
void row_product(const LoopArgs& s, const T* a, const T* b, T* c, i64 begin, i64 end) {
  i64 i = begin;
  for (; i + 4 <= end; i += 4) strips<T, 4>(s, a + i * s.a_rows, b, c + i * s.c_rows);
  for (; i + 2 <= end; i += 2) strips<T, 2>(s, a + i * s.a_rows, b, c + i * s.c_rows);
  for (; i < end; ++i) strips<T, 1>(s, a + i * s.a_rows, b, c + i * s.c_rows);
}

// True where it was done so: floats, a small b of any strides.
template <class T>
bool by_rows(const LoopArgs& s, const T* a, const T* b, T* c, i64 begin, i64 end) {
  if constexpr (std::is_floating_point_v<T>) {
    if (s.c_columns != 1) return false;
    if (s.b_columns == 1) {
      row_product(s, a, b, c, begin, end);
      return true;
    }
    if (s.n > most_turned || s.k > most_turned || s.n * s.k > most_turned) return false;
    T turned[most_turned];
    for (i64 p = 0; p < s.k; ++p)
      for (i64 j = 0; j < s.n; ++j) turned[p * s.n + j] = b[p * s.b_rows + j * s.b_columns];
    LoopArgs plain = s;
    plain.b_rows = s.n;
    plain.b_columns = 1;
    row_product(plain, a, turned, c, begin, end);
    return true;
  } else {
    return false;
  }
}

template <class T>
void product(const LoopArgs& s, const void* a, const void* b, void* c, i64 begin, i64 end) {
  const T* pa = static_cast<const T*>(a);
  const T* pb = static_cast<const T*>(b);
  T* pc = static_cast<T*>(c);
  if (by_rows(s, pa, pb, pc, begin, end)) return;
  for (i64 j = 0; j < s.n; j += tile_columns)
    for (i64 i = begin; i < end; i += tile_rows)
      tile<T>(s, pa + i * s.a_rows, pb + j * s.b_columns, pc + i * s.c_rows + j * s.c_columns,
              std::min(tile_rows, end - i), std::min(tile_columns, s.n - j));
}

}  // namespace

LoopFn loop_product(DType dtype) {
  LoopFn f = nullptr;
  dispatch<TESSERA_ALL_TYPES>(dtype, "matmul", [&]<class T>() { f = product<T>; });
  return f;
}

}  // namespace tessera
