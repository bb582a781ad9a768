// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sixteen bytes of numbers in one register, which every host has: for sums and products that
// compilers leave one number at a time. Arithmetic is that of the compiler's vectors, v[i] is a
// lane. More bytes are for code inside of wide() (wide.hpp). Private to the cpu's kernels.
//   Register<float> sum = load_register(x) * in_all_lanes(2.0f);   store_register(y, sum);
//   Register<float, 32> eight = load_register<32>(x);              store_register<float, 32>(y, eight);

#include "tessera/base/api.hpp"

namespace tessera {

// What hands registers of more than 16 bytes on is inlined, so that no call depends on who has them.
#pragma GCC diagnostic ignored "-Wpsabi"

#define TESSERA_INLINE [[gnu::always_inline]] inline

inline constexpr int register_bytes = 16;
template <class R, int bytes = register_bytes>
inline constexpr int lanes = bytes / static_cast<int>(sizeof(R));
template <class R, int bytes = register_bytes>
struct RegisterOf {
  typedef R type __attribute__((vector_size(bytes)));
  typedef R in_memory __attribute__((vector_size(bytes), aligned(alignof(R)), may_alias));
};
template <class R, int bytes = register_bytes>
using Register = typename RegisterOf<R, bytes>::type;

template <int bytes = register_bytes, class R>
TESSERA_INLINE Register<R, bytes> load_register(const R* p) {
  return *reinterpret_cast<const typename RegisterOf<R, bytes>::in_memory*>(p);
}
// Not by memcpy, whose stores g++ does not join to pairs (30 000 numbers: 6.5 us instead of 4.8).
template <class R, int bytes = register_bytes>
TESSERA_INLINE void store_register(R* p, const Register<R, bytes>& v) {
  *reinterpret_cast<typename RegisterOf<R, bytes>::in_memory*>(p) = v;
}
template <int bytes = register_bytes, class R>
TESSERA_INLINE Register<R, bytes> in_all_lanes(R value) {
  return Register<R, bytes>{} + value;
}
// Of the lanes, in their order.
template <class R>
TESSERA_INLINE R sum_of_lanes(const Register<R>& v) {
  R sum = v[0];
  for (int i = 1; i < lanes<R>; ++i) sum += v[i];
  return sum;
}

}  // namespace tessera
