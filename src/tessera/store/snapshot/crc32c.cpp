// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/snapshot/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace tessera {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: what byte b does to the remainder when k more bytes come after it.
constexpr Tables crc_tables() {
  Tables t{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t r = b;
    for (int bit = 0; bit < 8; ++bit) r = (r >> 1) ^ ((r & 1) != 0 ? 0x82F63B78u : 0u);
    t[0][b] = r;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 255];
  return t;
}
constexpr Tables tables = crc_tables();

std::uint64_t eight_bytes(const unsigned char* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, 8);
  return word;
}

#if defined(__x86_64__)
bool has_crc_instruction() { return __builtin_cpu_supports("sse4.2") != 0; }

__attribute__((target("sse4.2"))) std::uint32_t crc_by_instruction(const unsigned char* p, i64 n,
                                                                   std::uint32_t r) {
  std::uint64_t wide = r;
  for (; n >= 8; p += 8, n -= 8) wide = __builtin_ia32_crc32di(wide, eight_bytes(p));
  r = static_cast<std::uint32_t>(wide);
  for (; n > 0; ++p, --n) r = __builtin_ia32_crc32qi(r, *p);
  return r;
}
#elif defined(__aarch64__)
bool has_crc_instruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }

__attribute__((target("+crc"))) std::uint32_t crc_by_instruction(const unsigned char* p, i64 n,
                                                                 std::uint32_t r) {
  for (; n >= 8; p += 8, n -= 8) r = __builtin_aarch64_crc32cx(r, eight_bytes(p));
  for (; n > 0; ++p, --n) r = __builtin_aarch64_crc32cb(r, *p);
  return r;
}
#else
bool has_crc_instruction() { return false; }
std::uint32_t crc_by_instruction(const unsigned char*, i64, std::uint32_t r) { return r; }
#endif

}  // namespace

std::uint32_t crc32c_by_table(const void* data, i64 bytes, std::uint32_t before) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint32_t r = ~before;
  for (; bytes >= 8; p += 8, bytes -= 8) {
    const std::uint64_t word = eight_bytes(p) ^ r;
    r = 0;
    for (std::size_t k = 0; k < 8; ++k) r ^= tables[7 - k][(word >> (8 * k)) & 255];
  }
  for (; bytes > 0; ++p, --bytes) r = (r >> 8) ^ tables[0][(r ^ *p) & 255];
  return ~r;
}

std::uint32_t crc32c(const void* data, i64 bytes, std::uint32_t before) {
  static const bool quick = has_crc_instruction();
  if (!quick) return crc32c_by_table(data, bytes, before);
  return ~crc_by_instruction(static_cast<const unsigned char*>(data), bytes, ~before);
}

}  // namespace tessera
