// SPDX-License-Identifier: Apache-2.0
#include "tessera/comm/mpi/process.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "tessera/base/text.hpp"

namespace tessera::mpi {
namespace {

std::string read_text(const char* path) {
  std::string text;
  if (std::FILE* file = std::fopen(path, "re")) {
    std::array<char, 1024> part;
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), file))
      text.append(part.data(), n);
    std::fclose(file);
  }
  return text;
}

struct Stat {
  char state = 0;  // 0: no such process
  i64 started = 0;
};

// The state is the third word of /proc/ID/stat and the start the 22nd; the second, a name in
// parentheses, may hold anything.
Stat stat_of(i64 id) {
  const std::string text = read_text(cat("/proc/", id, "/stat").c_str());
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return {};
  Stat s;
  s.state = text[name_end + 2];
  const char* word = text.c_str() + name_end + 2;
  for (int k = 3; k < 22 && word != nullptr; ++k) {
    word = std::strchr(word, ' ');
    if (word != nullptr) ++word;
  }
  if (word != nullptr) s.started = std::strtoll(word, nullptr, 10);
  return s;
}

}  // namespace

Process this_process() {
  const i64 id = getpid();
  return {id, stat_of(id).started};
}

Health health(const Process& process) {
  const Stat s = stat_of(process.id);
  if (s.state == 0 || s.state == 'Z' || s.state == 'X' || s.started != process.started)
    return Health::ended;
  return s.state == 'T' ? Health::stopped : Health::runs;
}

std::uint64_t host_key() {
  std::array<char, 256> words{};
  std::string key = read_text("/proc/sys/kernel/random/boot_id");
  if (gethostname(words.data(), words.size() - 1) == 0) key += words.data();
  words.fill(0);
  if (readlink("/proc/self/ns/pid", words.data(), words.size() - 1) > 0) key += words.data();
  std::uint64_t hash = 1469598103934665603u;  // FNV-1a
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace tessera::mpi
