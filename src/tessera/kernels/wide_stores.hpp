// SPDX-License-Identifier: Apache-2.0
#pragma once
// wide() for loops that do little but write. Registers of 64 bytes write whole lines, which of more
// than the second cache holds takes half as long again as the same lines in two parts (measured:
// 8 MB on Cascade Lake 607 and 384 us). Results are the same. Private to the cpu's kernels.
//   wide_stores(n * 8, [=] { for (i64 i = 0; i < n; ++i) r[i] = v; });

#include "tessera/base/scalar.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {

template <class F>
inline void wide_stores([[maybe_unused]] i64 bytes, F&& f) {
#if defined(__x86_64__)
  constexpr i64 second_cache = i64{1} << 20;
  if (bytes > second_cache && host_instructions() == Instructions::avx512) return run_avx2(f);
#endif
  wide(f);
}

}  // namespace tessera
