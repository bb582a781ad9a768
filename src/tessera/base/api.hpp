// SPDX-License-Identifier: Apache-2.0
#pragma once
// Marks what the shared library exports, and what both compilers (g++ and nvcc) may call. Nothing
// else lives here: no option changes a public header.
//   class TESSERA_API Array;            TESSERA_HOST_DEVICE inline float half_to_float(...);

#define TESSERA_API __attribute__((visibility("default")))

#ifdef __CUDACC__
#define TESSERA_HOST_DEVICE __host__ __device__
#else
#define TESSERA_HOST_DEVICE
#endif

#include <cstddef>
#include <cstdint>

namespace tessera {
using i64 = std::int64_t;  // every size, index and stride
}  // namespace tessera
