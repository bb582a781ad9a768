// SPDX-License-Identifier: Apache-2.0
#pragma once
// wide() for code over registers (register.hpp), which is told how many bytes those of the host
// have: 64, 32 or 16. Private to the cpu's kernels.
//   wide_registers([=]<int bytes>() { store_register<float, bytes>(y, load_register<bytes>(x)); });

#include "tessera/kernels/register.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {

template <class F>
inline void wide_registers(const F& f) {
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  switch (host_instructions()) {
    case Instructions::avx512: return run_avx512([f] { f.template operator()<64>(); });
    case Instructions::avx2: return run_avx2([f] { f.template operator()<32>(); });
    case Instructions::base: break;
  }
#endif
  f.template operator()<register_bytes>();
}

}  // namespace tessera
