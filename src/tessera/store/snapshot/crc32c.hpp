// SPDX-License-Identifier: Apache-2.0
#pragma once
// CRC-32C (Castagnoli), as iSCSI, ext4 and Zarr have it: reflected polynomial 0x82F63B78, all bits
// inverted before and after. It finds every error of up to 32 bits in a row; it is no signature.
// Processors have an instruction for it, which is used where it is there.
//   crc32c("123456789", 9) == 0xE3069283;   crc32c(rest, m, crc32c(start, n))   // of both together

#include "tessera/base/api.hpp"

namespace tessera {

TESSERA_API std::uint32_t crc32c(const void* data, i64 bytes, std::uint32_t before = 0);
// The same without that instruction.
TESSERA_API std::uint32_t crc32c_by_table(const void* data, i64 bytes, std::uint32_t before = 0);

}  // namespace tessera
