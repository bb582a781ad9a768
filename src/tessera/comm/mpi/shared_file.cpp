// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace tessera::mpi {

int make_shared_file(const char* name, i64 bytes) {
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) == 0) return file;
  close(file);
  return -1;
}

// Where ranks number processes each for itself (containers), a number may be somebody else's: only
// what bears our name is ever opened.
int open_shared_file(std::string_view name, pid_t process, i64 file) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file);
  char target[64];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  const std::string_view shown(target, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  if (!shown.starts_with("/memfd:" + std::string(name)) &&
      !shown.starts_with("/" + std::string(name)))
    return -1;
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

std::byte* map_shared(int file, i64 bytes) {
  if (file < 0) return nullptr;
  void* found =
      mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return found == MAP_FAILED ? nullptr : static_cast<std::byte*>(found);
}

}  // namespace tessera::mpi
