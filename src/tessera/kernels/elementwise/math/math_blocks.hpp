// SPDX-License-Identifier: Apache-2.0
#pragma once
// Block loops over the functions of quick_*.hpp, and which blocks of the cpu kernel they are. A
// value depends on its argument alone, not on where it stands in a block: the last few go through
// the same loop with others beside them, and an argument that a quick function does not take goes
// through the C library by itself.
//   TESSERA_QUICK_1(float, exp, TakesAll)   // the block of element::exp by quick::exp

#include <algorithm>

#include "tessera/kernels/elementwise/elementwise_blocks.hpp"
#include "tessera/kernels/elementwise/math/avx512_math.hpp"
#include "tessera/kernels/elementwise/math/quick_math.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {

// f(fused) compiled for each set of instructions, fused where it has products with sums.
template <class F>
inline void wide_math(F&& f) {
#if defined(__x86_64__)
  auto fused = [&] { f(std::true_type{}); };
  switch (host_instructions()) {
    case Instructions::avx512: return run_avx512(fused);
    case Instructions::avx2: return run_avx2(fused);
    case Instructions::base: return f(std::false_type{});
  }
#else
  f(std::true_type{});
#endif
}

inline constexpr i64 math_group = 16;  // a loop runs over whole groups
inline constexpr i64 math_part = 512;  // and is checked for rare arguments after so many

// The next numbers of an input as whole groups: where they stand, or copied with the last one
// repeated, or one number for all.
template <class T>
class MathInput {
 public:
  MathInput(const void* data, bool scalar, i64 n)
      : data_(static_cast<const T*>(data)), scalar_(scalar) {
    if (scalar) std::fill(copy_, copy_ + std::clamp(n, math_group, math_part), *data_);
  }
  const T* next(i64 n) {
    if (scalar_) return copy_;
    const T* at = data_;
    data_ += n;
    if (n % math_group == 0) return at;
    std::copy(at, at + n, copy_);
    std::fill(copy_ + n, copy_ + math_group, at[n - 1]);
    return copy_;
  }

 private:
  const T* data_;
  bool scalar_;
  T copy_[math_part];
};

// n results by `loop(in..., out, groups)`, where `rare(in..., groups)` says that some arguments
// need `repair(in, out, n)`. Outputs may be inputs, so what needs repair is computed beside.
template <class T, int inputs, class Loop, class Rare, class Repair>
TESSERA_INLINE void in_parts(MathInput<T>* input, T* out, i64 n, Loop loop, Rare rare,
                             Repair repair) {
  T beside[math_part];
  while (n > 0) {
    const i64 some = n < math_group ? n : std::min(n / math_group * math_group, math_part);
    const i64 groups = (some + math_group - 1) / math_group;
    const T* in[inputs];
    for (int i = 0; i < inputs; ++i) in[i] = input[i].next(some);
    const bool needs_repair = rare(in, groups);
    T* to = needs_repair || some % math_group != 0 ? beside : out;
    loop(in, to, groups);
    if (needs_repair) repair(in, to, some);
    if (to == beside) std::copy(beside, beside + some, out);
    out += some;
    n -= some;
  }
}

// What a quick function takes: Takes::check(x). Others go through F.
struct TakesAll {
  static constexpr bool all = true;
  template <class T>
  TESSERA_INLINE static bool check(T) {
    return true;
  }
};

// The loop of an operation in avx512_math.hpp, which hosts with such instructions take, where there
// is one. (Whether an address is null is no constant to UBSan.)
template <class F, class T>
inline constexpr bool has_loop_512 = false;
template <class F, class T>
inline constexpr void (*loop_512)(const T*, T*, i64) = nullptr;
template <class F, class T>
inline constexpr void (*loop_512_of_two)(const T*, const T*, T*, i64, unsigned) = nullptr;
#if defined(__x86_64__)
#define TESSERA_LOOP_512(T, name)                              \
  template <>                                                  \
  inline constexpr bool has_loop_512<element::name, T> = true; \
  template <>                                                  \
  inline constexpr void (*loop_512<element::name, T>)(const T*, T*, i64) = &avx512::name;
TESSERA_LOOP_512(double, log)
TESSERA_LOOP_512(float, log)
TESSERA_LOOP_512(double, log2)
TESSERA_LOOP_512(double, log10)
TESSERA_LOOP_512(double, log1p)
TESSERA_LOOP_512(double, exp)
TESSERA_LOOP_512(double, exp2)
TESSERA_LOOP_512(float, tanh)
TESSERA_LOOP_512(double, cbrt)
#undef TESSERA_LOOP_512
template <>
inline constexpr bool has_loop_512<element::power, double> = true;
template <>
inline constexpr void (*loop_512_of_two<element::power, double>)(const double*, const double*,
                                                                 double*, i64,
                                                                 unsigned) = &avx512::pow;
inline bool has_avx512() { return host_instructions() == Instructions::avx512; }
#else
constexpr bool has_avx512() { return false; }
#endif

template <class F, class Takes, class T, class Quick>
void quick_block_1(const void* const* in, void* out, i64 n, unsigned scalars, Quick quick) {
  T* r = static_cast<T*>(out);
  if constexpr (has_loop_512<F, T>)
    if (has_avx512()) {
      loop_512<F, T>(static_cast<const T*>(in[0]), r, scalars ? std::min<i64>(n, 1) : n);
      if (scalars && n > 0) std::fill(r + 1, r + n, *r);
      return;
    }
  MathInput<T> input(in[0], false, n);
  wide_math([&](auto fused) {
    auto loop = [&](const T* const* x, T* y, i64 groups) __attribute__((always_inline)) {
      const T* a = x[0];
#pragma GCC ivdep
      for (i64 i = 0; i < groups * math_group; ++i) y[i] = quick(fused, a[i]);
    };
    auto rare = [](const T* const* x, i64 groups) {
      if (Takes::all) return false;
      const T* a = x[0];
      typename quick::Format<T>::Bits found = 0;
      for (i64 i = 0; i < groups * math_group; ++i) found |= quick::mask<T>(!Takes::check(a[i]));
      return found != 0;
    };
    auto repair = [](const T* const* x, T* y, i64 some) {
      for (i64 i = 0; i < some; ++i)
        if (!Takes::check(x[0][i])) y[i] = F{}(x[0][i]);
    };
    in_parts<T, 1>(&input, r, scalars ? std::min<i64>(n, 1) : n, loop, rare, repair);
  });
  if (scalars && n > 0) std::fill(r + 1, r + n, *r);
}

template <class F, class Takes, class T, class Quick>
void quick_block_2(const void* const* in, void* out, i64 n, unsigned scalars, Quick quick) {
  if constexpr (has_loop_512<F, T>)
    if (has_avx512())
      return loop_512_of_two<F, T>(static_cast<const T*>(in[0]), static_cast<const T*>(in[1]),
                                   static_cast<T*>(out), n, scalars);
  MathInput<T> input[2] = {{in[0], (scalars & 1) != 0, n}, {in[1], (scalars & 2) != 0, n}};
  wide_math([&](auto fused) {
    auto loop = [&](const T* const* x, T* y, i64 groups) __attribute__((always_inline)) {
      const T *a = x[0], *b = x[1];
#pragma GCC ivdep
      for (i64 i = 0; i < groups * math_group; ++i) y[i] = quick(fused, a[i], b[i]);
    };
    auto rare = [](const T* const* x, i64 groups) {
      const T *a = x[0], *b = x[1];
      typename quick::Format<T>::Bits found = 0;
      for (i64 i = 0; i < groups * math_group; ++i)
        found |= quick::mask<T>(!Takes::check(a[i], b[i]));
      return found != 0;
    };
    auto repair = [](const T* const* x, T* y, i64 some) {
      for (i64 i = 0; i < some; ++i)
        if (!Takes::check(x[0][i], x[1][i])) y[i] = F{}(x[0][i], x[1][i]);
    };
    in_parts<T, 2>(input, static_cast<T*>(out), n, loop, rare, repair);
  });
}

#define TESSERA_QUICK_BLOCK(arity, name, T) \
  template <>                               \
  void block_##arity<element::name, T>(const void* const*, void*, i64, unsigned);
#define TESSERA_QUICK_BLOCKS(arity, name) \
  TESSERA_QUICK_BLOCK(arity, name, float) \
  TESSERA_QUICK_BLOCK(arity, name, double)

// Functions that two lanes of double do no faster than the C library one number.
#if defined(__x86_64__)
#define TESSERA_IF_WIDE(...) __VA_ARGS__
#else
#define TESSERA_IF_WIDE(...)
#endif

// The blocks of this kind. Each is defined in the file that is named as its header, or in
// elementwise_complex_cpu.cpp.
TESSERA_QUICK_BLOCK(1, exp, float)
TESSERA_QUICK_BLOCK(1, exp2, float)
TESSERA_QUICK_BLOCKS(1, expm1)
TESSERA_QUICK_BLOCKS(1, sinh)
TESSERA_QUICK_BLOCKS(1, cosh)
TESSERA_QUICK_BLOCKS(1, tanh)
TESSERA_QUICK_BLOCK(1, log, float)
TESSERA_QUICK_BLOCK(1, log2, float)
TESSERA_QUICK_BLOCKS(1, log10)
TESSERA_QUICK_BLOCKS(1, log1p)
TESSERA_QUICK_BLOCKS(1, sin)
TESSERA_QUICK_BLOCKS(1, cos)
TESSERA_QUICK_BLOCKS(1, tan)
TESSERA_QUICK_BLOCKS(1, arctan)
TESSERA_QUICK_BLOCKS(1, arcsin)
TESSERA_QUICK_BLOCKS(1, arccos)
TESSERA_QUICK_BLOCKS(1, arcsinh)
TESSERA_QUICK_BLOCKS(1, arccosh)
TESSERA_QUICK_BLOCKS(1, arctanh)
TESSERA_QUICK_BLOCKS(1, cbrt)
TESSERA_QUICK_BLOCKS(2, arctan2)
TESSERA_QUICK_BLOCKS(2, hypot)
TESSERA_IF_WIDE(TESSERA_QUICK_BLOCK(1, exp, double))
TESSERA_IF_WIDE(TESSERA_QUICK_BLOCK(1, exp2, double))
TESSERA_IF_WIDE(TESSERA_QUICK_BLOCK(1, log, double))
TESSERA_IF_WIDE(TESSERA_QUICK_BLOCK(1, log2, double))
TESSERA_IF_WIDE(TESSERA_QUICK_BLOCKS(2, power))
TESSERA_QUICK_BLOCK(1, angle, c64)
TESSERA_QUICK_BLOCK(1, angle, c128)
TESSERA_QUICK_BLOCK(1, exp, c64)
TESSERA_QUICK_BLOCK(1, exp, c128)
#undef TESSERA_QUICK_BLOCK
#undef TESSERA_QUICK_BLOCKS

}  // namespace tessera

#define TESSERA_QUICK_BODY(arity, T, name, Takes, ...)                              \
  template <>                                                                       \
  void block_##arity<element::name, T>(const void* const* in, void* out, i64 n,     \
                                       unsigned scalars) {                          \
    quick_block_##arity<element::name, Takes, T>(in, out, n, scalars, __VA_ARGS__); \
  }
#define TESSERA_QUICK_1(T, name, Takes) \
  TESSERA_QUICK_BODY(                   \
      1, T, name, Takes,                \
      [](auto fused, T x) __attribute__((always_inline)) { return quick::name<fused()>(x); })
#define TESSERA_QUICK_2(T, name, function, Takes)                                  \
  TESSERA_QUICK_BODY(                                                              \
      2, T, name, Takes, [](auto fused, T x, T y) __attribute__((always_inline)) { \
        return quick::function<fused()>(x, y);                                     \
      })
