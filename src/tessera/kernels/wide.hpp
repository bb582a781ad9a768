// SPDX-License-Identifier: Apache-2.0
#pragma once
// A loop compiled for each set of vector instructions that hosts of one kind have; the widest one
// that this host has runs. Everything that the loop calls is inlined into it, so a definition in a
// header is never compiled for one processor and run on another. Private to the cpu's kernels.
//   wide([=] { for (i64 i = 0; i < n; ++i) r[i] = a[i] + b[i]; });
// What the loop reads is captured by value: a bound behind a reference is memory that r[i] might
// be. TESSERA_INSTRUCTIONS=base, avx2 or avx512 asks for less than the host has: for tests.

#include "tessera/base/api.hpp"

namespace tessera {

#if defined(__x86_64__)

enum class Instructions { base, avx2, avx512 };
TESSERA_API Instructions host_instructions();
// For tests, while no loop runs: from now on at most these, and no more than the host has. Gives
// those that were used before.
TESSERA_API Instructions use_instructions(Instructions most);

#define TESSERA_AVX2 "avx2,fma,bmi,bmi2,lzcnt,popcnt,f16c"
#define TESSERA_AVX512 TESSERA_AVX2 ",avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"

// Copied word by word: g++ copies an argument by wider loads, which wait for the words' stores.
template <class F>
[[gnu::target(TESSERA_AVX2), gnu::flatten]] inline void run_avx2(const F& f) {
  (static_cast<F>(f))();
}
template <class F>
[[gnu::target(TESSERA_AVX512), gnu::flatten]] inline void run_avx512(const F& f) {
  (static_cast<F>(f))();
}
template <class F>
inline void wide(F&& f) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return f();  // the same source thrice is not watched any better
#endif
  switch (host_instructions()) {
    case Instructions::avx512: return run_avx512(f);
    case Instructions::avx2: return run_avx2(f);
    case Instructions::base: return f();
  }
}

#else  // 128-bit registers of aarch64 are what the compiler already uses

template <class F>
inline void wide(F&& f) {
  f();
}

#endif

}  // namespace tessera
