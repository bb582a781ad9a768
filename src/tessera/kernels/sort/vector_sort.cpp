// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/sort/vector_sort.hpp"

#include "tessera/kernels/sort/lanes_avx512.hpp"

#if defined(__x86_64__)

namespace tessera {
namespace {

template <class K>
bool sort_if_wide(K* x, K* scratch, i64 n) {
  if (!sorts_in_wide_registers(sizeof(K))) return false;
  sort_in_registers<Avx512Lanes<K>>(x, scratch, n);
  return true;
}

}  // namespace

bool sort_in_wide_registers(std::uint32_t* x, std::uint32_t* scratch, i64 n) {
  return sort_if_wide(x, scratch, n);
}
bool sort_in_wide_registers(std::uint64_t* x, std::uint64_t* scratch, i64 n) {
  return sort_if_wide(x, scratch, n);
}

}  // namespace tessera

#endif
