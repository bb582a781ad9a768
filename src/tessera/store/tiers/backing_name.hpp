// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of backing files and whether their process lives. A name says host, the run of the system
// and its view of process numbers (`world`), process, when that started, random bits, and what it
// is for: "tessera-node7-1f3a55e0-4711-889012-9c0ffee1d00dbeef-spill.backing". The lock on the file
// decides; numbers only where a file system has no locks.
//   auto name = BackingName::parse(entry);   if (name && abandoned(file, *name)) unlink(...);

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/api.hpp"

namespace tessera::store {

struct TESSERA_API BackingName {
  std::string host;  // no '-'
  std::uint32_t world = 0;
  pid_t process = 0;
  i64 start = 0;  // of the process, in ticks since the system's start
  std::uint64_t random = 0;
  std::string what;

  static BackingName fresh(std::string_view what);
  static std::optional<BackingName> parse(std::string_view file_name);
  std::string str() const;
  bool of_this_process() const;
};

// When a process started; nothing where there is no such process.
TESSERA_API std::optional<i64> process_start(pid_t process);
// True: the process of this open file is gone, and the file is locked by us until it is closed
// (where the file system has locks).
TESSERA_API bool abandoned(int file, const BackingName& name);

}  // namespace tessera::store
