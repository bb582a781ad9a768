// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements whose dtype is known at run time only, as CUDA kernels read and write them: a uniform
// switch per access and the conversions that all devices share. Kernels with a compile-time dtype
// do not need it.
//   float v = load_as<float>(p, DType::i16, offset);   store_as(q, DType::c64, offset, v);

#include "tessera/base/dtype.hpp"
#include "tessera/kernels/elementwise/elementwise_functors.hpp"

namespace tessera::cuda {

// Calls f.operator()<T>() with the element type of `t`: the only switch over dtypes on the device.
template <class F>
__host__ __device__ inline void with_type(DType t, F&& f) {
  switch (t) {
    case DType::b1: f.template operator()<bool>(); break;
    case DType::i8: f.template operator()<std::int8_t>(); break;
    case DType::i16: f.template operator()<std::int16_t>(); break;
    case DType::i32: f.template operator()<std::int32_t>(); break;
    case DType::i64: f.template operator()<std::int64_t>(); break;
    case DType::u8: f.template operator()<std::uint8_t>(); break;
    case DType::u16: f.template operator()<std::uint16_t>(); break;
    case DType::u32: f.template operator()<std::uint32_t>(); break;
    case DType::u64: f.template operator()<std::uint64_t>(); break;
    case DType::f16: f.template operator()<Half>(); break;
    case DType::bf16: f.template operator()<BFloat16>(); break;
    case DType::f32: f.template operator()<float>(); break;
    case DType::f64: f.template operator()<double>(); break;
    case DType::c64: f.template operator()<c64>(); break;
    case DType::c128: f.template operator()<c128>(); break;
  }
}

// A bool in memory may hold any byte (views of foreign data): read it as a byte.
template <class T>
__device__ inline T load_raw(const void* p, i64 at) {
  if constexpr (std::is_same_v<T, bool>)
    return static_cast<const std::uint8_t*>(p)[at] != 0;
  else
    return static_cast<const T*>(p)[at];
}

template <class T>
__device__ inline T load_as(const void* p, DType t, i64 at) {
  T r;
  with_type(t, [&]<class S>() { r = convert<T>(load_raw<S>(p, at)); });
  return r;
}

// N elements with one switch, so that their loads are under way together; T(0) where not live.
template <class T, int N>
__device__ inline void load_several(T (&r)[N], const void* p, DType t, const i64 (&at)[N],
                                    const bool (&live)[N]) {
  with_type(t, [&]<class S>() {
#pragma unroll
    for (int u = 0; u < N; ++u) r[u] = live[u] ? convert<T>(load_raw<S>(p, at[u])) : T(0);
  });
}

template <class T>
__device__ inline void store_as(void* p, DType t, i64 at, const T& v) {
  with_type(t, [&]<class S>() { static_cast<S*>(p)[at] = convert<S>(v); });
}

template <class T, int N>
__device__ inline void store_several(const T (&r)[N], void* p, DType t, const i64 (&at)[N],
                                     const bool (&live)[N]) {
  with_type(t, [&]<class S>() {
#pragma unroll
    for (int u = 0; u < N; ++u)
      if (live[u]) static_cast<S*>(p)[at[u]] = convert<S>(r[u]);
  });
}

}  // namespace tessera::cuda
