// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that several processes of one machine see: a file without a name in any folder, so that
// nothing is left behind however a process ends. Its pages come with their first use.
//   int file = make_shared_file("tessera-slots", bytes);   std::byte* start = map_shared(file,
//   bytes);

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <string_view>

#include "tessera/base/api.hpp"

namespace tessera::mpi {

int make_shared_file(const char* name, i64 bytes);  // -1 where the system gives none
// That of another process, known there by number `file`; -1 where it cannot be seen.
int open_shared_file(std::string_view name, pid_t process, i64 file);
std::byte* map_shared(int file, i64 bytes);  // nullptr where that fails, or for -1

// What was found of each other process, once, until this one ends.
template <class Found>
class FoundOf {
 public:
  template <class Look>
  Found operator()(pid_t process, Look&& look) {
    const std::lock_guard lock(mutex_);
    const auto it = found_.find(process);
    return it != found_.end() ? it->second : found_.emplace(process, look()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<pid_t, Found> found_;
};

}  // namespace tessera::mpi
