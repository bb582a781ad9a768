// SPDX-License-Identifier: Apache-2.0
#pragma once
// A hash of bytes, the same in every process: it tells one input from another by accident, not
// against someone who wants them to be confused.
//   std::uint64_t h = hash_bytes(text.data(), text.size());

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tessera {

inline std::uint64_t hash_bytes(const void* data, std::size_t bytes) {
  std::uint64_t h = 0xcbf29ce484222325u ^ bytes;
  const auto* p = static_cast<const unsigned char*>(data);
  for (; bytes > 0;) {
    std::uint64_t word = 0;
    const std::size_t n = std::min<std::size_t>(8, bytes);
    std::memcpy(&word, p, n);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    p += n;
    bytes -= n;
  }
  return h;
}

}  // namespace tessera
