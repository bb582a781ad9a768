// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/wide.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tessera/base/error.hpp"

namespace tessera {
namespace {

Instructions widest() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("f16c"))
    return Instructions::base;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Instructions::avx512;
  return Instructions::avx2;
}

Instructions asked_for() {
  const char* text = std::getenv("TESSERA_INSTRUCTIONS");
  const std::string_view name = text ? text : "";
  require<ArgumentError>(name.empty() || name == "base" || name == "avx2" || name == "avx512",
                         "TESSERA_INSTRUCTIONS is \"", name, "\"; it is base, avx2 or avx512");
  return name == "base"   ? Instructions::base
         : name == "avx2" ? Instructions::avx2
                          : Instructions::avx512;
}

Instructions& chosen() {
  static Instructions instructions = std::min(widest(), asked_for());
  return instructions;
}

}  // namespace

Instructions host_instructions() { return chosen(); }

Instructions use_instructions(Instructions most) {
  return std::exchange(chosen(), std::min(widest(), most));
}

}  // namespace tessera

#endif
