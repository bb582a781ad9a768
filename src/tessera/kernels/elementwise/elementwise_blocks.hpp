// SPDX-License-Identifier: Apache-2.0
#pragma once
// The block loops of the cpu kernel and the tables that find them; included by the files that
// instantiate one family each. Plain loops that g++ vectorises, for each set of instructions of a
// host (wide.hpp): `ivdep` because an output is an input or apart from it.
//   template BlockFn family_block<ElementFamily::bits>(ElementOp, DType);

#include <algorithm>

#include "tessera/kernels/copy/cast_rows.hpp"
#include "tessera/kernels/elementwise/elementwise_cpu.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/elementwise/math/divisor.hpp"
#include "tessera/kernels/elementwise/math/register_ops.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {

// What operations on registers take of a block, from its beginning: nothing where there is none.
template <class F, class T>
inline i64 registers_1([[maybe_unused]] const auto* a, [[maybe_unused]] auto* r,
                       [[maybe_unused]] i64 n) {
#if defined(__aarch64__)
  if constexpr (InRegisters<F, T>)
    return each_register(
        n, r, [](const auto& x) { return in_register(F{}, x); },
        [=](i64 i) { return load_register(a + i); });
  if constexpr (std::is_same_v<F, element::conj> && is_complex_v<T>) {
    using R = decltype(T::re);
    return each_register(
               2 * n, reinterpret_cast<R*>(r),
               [](const auto& x) { return conjugate_register<R>(x); },
               [=](i64 i) { return load_register(reinterpret_cast<const R*>(a) + i); }) /
           2;
  }
#endif
  return 0;
}

template <class F, class T>
inline i64 registers_2([[maybe_unused]] const auto* a, [[maybe_unused]] const auto* b,
                       [[maybe_unused]] auto* r, [[maybe_unused]] i64 n,
                       [[maybe_unused]] unsigned scalars) {
#if defined(__aarch64__)
  if constexpr (InRegisters<F, T, T>) {
    const auto f = [](const auto& x, const auto& y) { return in_register(F{}, x, y); };
    const auto each = [](const T* p) { return [p](i64 i) { return load_register(p + i); }; };
    const auto same = [](const T* p) { return [v = in_all_lanes(*p)](i64) { return v; }; };
    if (scalars == 0) return each_register(n, r, f, each(a), each(b));
    if (scalars == 1) return each_register(n, r, f, same(a), each(b));
    if (scalars == 2) return each_register(n, r, f, each(a), same(b));
  }
#endif
  return 0;
}

template <class F, class T>
void block_1(const void* const* in, void* out, i64 n, unsigned scalars) {
  using R = decltype(F{}(T{}));
  const auto* a = static_cast<const Stored<T>*>(in[0]);
  auto* r = static_cast<R*>(out);
  wide([=] {
    if (scalars) {
      std::fill(r, r + n, F{}(load_element<T>(a)));
      return;
    }
    i64 i = registers_1<F, T>(a, r, n);
#pragma GCC ivdep
#pragma GCC unroll 4
    for (; i < n; ++i) r[i] = F{}(load_element<T>(a + i));
  });
}

// Quotients and remainders of integers by one number; false where F is neither or the number is one
// that has no reciprocal.
template <class F, class T>
inline bool divide_by([[maybe_unused]] const Stored<T>* a, [[maybe_unused]] T y,
                      [[maybe_unused]] auto* r, [[maybe_unused]] i64 n) {
  constexpr bool quotient = std::is_same_v<F, element::floor_divide>;
  if constexpr (element::Integer<T> && (quotient || std::is_same_v<F, element::remainder>)) {
    const Divisor<T> by(y);
    if (!by.has_reciprocal()) return false;
    i64 i = quotient ? by.quotients(a, r, n) : 0;
#pragma GCC ivdep
    for (; i < n; ++i) r[i] = quotient ? by.quotient(a[i]) : by.rest(a[i]);
    return true;
  }
  return false;
}

template <class F, class T>
void block_2(const void* const* in, void* out, i64 n, unsigned scalars) {
  using R = decltype(F{}(T{}, T{}));
  const auto* a = static_cast<const Stored<T>*>(in[0]);
  const auto* b = static_cast<const Stored<T>*>(in[1]);
  auto* r = static_cast<R*>(out);
  wide([=] {
    i64 i = registers_2<F, T>(a, b, r, n, scalars);
    if (scalars == 0) {
#pragma GCC ivdep
      for (; i < n; ++i) r[i] = F{}(load_element<T>(a + i), load_element<T>(b + i));
    } else if (scalars == 1) {
      const T x = load_element<T>(a);
#pragma GCC ivdep
      for (; i < n; ++i) r[i] = F{}(x, load_element<T>(b + i));
    } else if (scalars == 2) {
      const T y = load_element<T>(b);
      if (divide_by<F, T>(a, y, r, n)) return;
#pragma GCC ivdep
      for (; i < n; ++i) r[i] = F{}(load_element<T>(a + i), y);
    } else {
      std::fill(r, r + n, F{}(load_element<T>(a), load_element<T>(b)));
    }
  });
}

// The second operand may be a scalar (y + a x with one number a), the others never are.
template <class F, class A, class T>
void block_3(const void* const* in, void* out, i64 n, unsigned scalars) {
  const auto* a = static_cast<const Stored<A>*>(in[0]);
  const auto* b = static_cast<const Stored<T>*>(in[1]);
  const auto* c = static_cast<const Stored<T>*>(in[2]);
  auto* r = static_cast<T*>(out);
  wide([=] {
    if (scalars) {
      const T y = load_element<T>(b);
#pragma GCC ivdep
      for (i64 i = 0; i < n; ++i) r[i] = F{}(load_element<A>(a + i), y, load_element<T>(c + i));
      return;
    }
#pragma GCC ivdep
    for (i64 i = 0; i < n; ++i)
      r[i] = F{}(load_element<A>(a + i), load_element<T>(b + i), load_element<T>(c + i));
  });
}

// Operations that do the same to the bits of an integer whatever its sign: integers of one size
// share a loop, which is compiled for each set of instructions.
template <class F, class... Of>
inline constexpr bool is_one_of = (std::is_same_v<F, Of> || ...);
template <class F>
inline constexpr bool knows_no_sign =
    is_one_of<F, element::copy, element::positive, element::negative, element::square,
              element::conj, element::add, element::subtract, element::multiply,
              element::conj_multiply, element::multiply_add, element::where, element::equal,
              element::not_equal, element::bitwise_and, element::bitwise_or, element::bitwise_xor,
              element::invert, element::left_shift>;
template <class F, class T>
struct LoopType {
  using type = T;
};
template <class F, element::Integer T>
requires knows_no_sign<F>
struct LoopType<F, T> {
  using type = std::make_unsigned_t<T>;
};

template <class F, int arity, class T>
constexpr BlockFn block_of() {
  using L = typename LoopType<F, T>::type;
  if constexpr (std::is_same_v<F, element::where>) {
    return &block_3<F, bool, L>;
  } else if constexpr (arity == 1) {
    if constexpr (std::is_invocable_v<F, T>) return &block_1<F, L>;
  } else if constexpr (arity == 2) {
    if constexpr (std::is_invocable_v<F, T, T>) return &block_2<F, L>;
  } else {
    if constexpr (std::is_invocable_v<F, T, T, T>) return &block_3<F, L, L>;
  }
  return nullptr;
}

template <class F, int arity>
BlockFn block_for(DType t) {
  static constexpr BlockFn of[dtype_count] = {
      block_of<F, arity, bool>(),          block_of<F, arity, std::int8_t>(),
      block_of<F, arity, std::int16_t>(),  block_of<F, arity, std::int32_t>(),
      block_of<F, arity, std::int64_t>(),  block_of<F, arity, std::uint8_t>(),
      block_of<F, arity, std::uint16_t>(), block_of<F, arity, std::uint32_t>(),
      block_of<F, arity, std::uint64_t>(), block_of<F, arity, float>(),
      block_of<F, arity, float>(),         block_of<F, arity, float>(),
      block_of<F, arity, double>(),        block_of<F, arity, c64>(),
      block_of<F, arity, c128>()};
  return of[static_cast<int>(t)];
}

template <ElementFamily family>
// NOLINTNEXTLINE(readability-function-size): a case for each function of the list
BlockFn family_block(ElementOp op, DType compute) {
  switch (op) {
#define ELEMENT(name, arity, member)                   \
  case ElementOp::name:                                \
    if constexpr (ElementFamily::member == family)     \
      return block_for<element::name, arity>(compute); \
    break;
    TESSERA_ELEMENT_OPS(ELEMENT)
#undef ELEMENT
  }
  return nullptr;
}

}  // namespace tessera
