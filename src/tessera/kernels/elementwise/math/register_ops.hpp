// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element-wise operations on whole registers of aarch64, for what the compiler's own loops are slow
// at: they load and store in turn, where these load four registers and then store four. A block
// loop takes the overload for its operation and type where there is one. Empty on other hosts,
// whose loops are made by the compiler for each set of instructions (wide.hpp).
//   const Register<float> r = in_register(element::floor{}, v);

#include "tessera/kernels/elementwise/elementwise_functors.hpp"
#include "tessera/kernels/register.hpp"

namespace tessera {

#if defined(__aarch64__)

#define TESSERA_REGISTER_1(op, expression)                \
  template <class V>                                      \
  TESSERA_INLINE V in_register(element::op, const V& a) { \
    return expression;                                    \
  }
#define TESSERA_REGISTER_2(op, expression)                            \
  template <class V>                                                  \
  TESSERA_INLINE V in_register(element::op, const V& a, const V& b) { \
    return expression;                                                \
  }
TESSERA_REGISTER_1(negative, -a)
TESSERA_REGISTER_1(square, a* a)
TESSERA_REGISTER_2(add, a + b)
TESSERA_REGISTER_2(subtract, a - b)
TESSERA_REGISTER_2(multiply, a* b)
#undef TESSERA_REGISTER_1
#undef TESSERA_REGISTER_2

// Single instructions, written out: <arm_neon.h> ends by asking for the options that were in force
// before it, and with a precompiled header g++ takes those of the header, not those of the file.
#define TESSERA_REGISTER_1(op, instruction)                                             \
  TESSERA_INLINE Register<float> in_register(element::op, const Register<float>& a) {   \
    Register<float> r;                                                                  \
    asm(instruction " %0.4s, %1.4s" : "=w"(r) : "w"(a));                                \
    return r;                                                                           \
  }                                                                                     \
  TESSERA_INLINE Register<double> in_register(element::op, const Register<double>& a) { \
    Register<double> r;                                                                 \
    asm(instruction " %0.2d, %1.2d" : "=w"(r) : "w"(a));                                \
    return r;                                                                           \
  }
TESSERA_REGISTER_1(floor, "frintm")
TESSERA_REGISTER_1(ceil, "frintp")
TESSERA_REGISTER_1(trunc, "frintz")
TESSERA_REGISTER_1(absolute, "fabs")
#undef TESSERA_REGISTER_1

// These pass NaNs on.
#define TESSERA_REGISTER_2(op, instruction)                                           \
  TESSERA_INLINE Register<float> in_register(element::op, const Register<float>& a,   \
                                             const Register<float>& b) {              \
    Register<float> r;                                                                \
    asm(instruction " %0.4s, %1.4s, %2.4s" : "=w"(r) : "w"(a), "w"(b));               \
    return r;                                                                         \
  }                                                                                   \
  TESSERA_INLINE Register<double> in_register(element::op, const Register<double>& a, \
                                              const Register<double>& b) {            \
    Register<double> r;                                                               \
    asm(instruction " %0.2d, %1.2d, %2.2d" : "=w"(r) : "w"(a), "w"(b));               \
    return r;                                                                         \
  }
TESSERA_REGISTER_2(maximum, "fmax")
TESSERA_REGISTER_2(minimum, "fmin")
#undef TESSERA_REGISTER_2

// The sign of every second number changes, and nothing else: no arithmetic that a NaN would feel.
template <class R>
TESSERA_INLINE Register<R> conjugate_register(const Register<R>& a) {
  using Bits = std::conditional_t<sizeof(R) == 8, std::uint64_t, std::uint32_t>;
  Register<Bits> signs{};
  for (int i = 1; i < lanes<R>; i += 2) signs[i] = Bits(1) << (8 * sizeof(R) - 1);
  return reinterpret_cast<Register<R>>(reinterpret_cast<Register<Bits>>(a) ^ signs);
}

// f(register) for n numbers, four registers at a time; gives how many were taken.
template <class R, class F, class... From>
TESSERA_INLINE i64 each_register(i64 n, R* r, F f, From... from) {
  i64 i = 0;
  for (; i + 4 * lanes<R> <= n; i += 4 * lanes<R>) {
    Register<R> v[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) v[k] = f(from(i + k * lanes<R>)...);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) store_register(r + i + k * lanes<R>, v[k]);
  }
  return i;
}

template <class F, class T, class... More>
concept InRegisters = element::Float<T> && requires(Register<T> v, Register<More>... more) {
  in_register(F{}, v, more...);
};

#else

template <class F, class T, class... More>
concept InRegisters = false;

#endif

}  // namespace tessera
