// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file without a name whose pages are huge and lie in memory: what several processes can map and
// yet is written for the first time as quickly as memory of one process. A plain memfd has small
// pages on most systems, and four times the cost.
//   int file = make_huge_file("tessera-pages", bytes);

#include "tessera/base/api.hpp"

namespace tessera {

inline constexpr i64 huge_page = i64{2} << 20;

// Of `bytes` that take no memory until they are written to; -1 where the system has no such files
// or does not let us. /proc shows it as "/NAME (deleted)".
TESSERA_API int make_huge_file(const char* name, i64 bytes);

}  // namespace tessera
