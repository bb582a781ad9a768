// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiers/backing_name.hpp"

#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>

#include "tessera/base/text.hpp"
#include "tessera/base/text_file.hpp"

namespace tessera::store {
namespace {

constexpr std::string_view first = "tessera", ending = ".backing";

std::string letters_only(std::string_view text) {
  std::string kept;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_') kept += c;
  return kept.empty() ? "x" : kept.substr(0, 40);
}

std::string hex(std::uint64_t value) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return {digits.data(), end};
}

template <class T>
bool number_of(std::string_view text, T& value, int base = 10) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return ec == std::errc{} && end == text.data() + text.size();
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? letters_only(name.data()) : "x";
}

// Process numbers mean the same in one run of the system and one space of process numbers.
std::uint32_t this_world() {
  std::string text = read_text("/proc/sys/kernel/random/boot_id").value_or("");
  struct stat s {};
  if (stat("/proc/self/ns/pid", &s) == 0) text += to_text(static_cast<i64>(s.st_ino));
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits))
    bits = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) *
           0x9E3779B97F4A7C15U;
  return bits;
}

// Locks of such file systems may be those of one machine only.
bool over_the_network(int file) {
  struct statfs s {};
  if (fstatfs(file, &s) != 0) return true;
  constexpr std::array<std::uint32_t, 9> known = {
      0x6969,     /* NFS */
      0xFF534D42, /* CIFS */
      0xFE534D42, /* SMB2 */
      0x517B,     /* SMB */
      0x0BD00BD0, /* Lustre */
      0x00C36400, /* Ceph */
      0x65735546, /* FUSE */
      0x19830326, /* BeeGFS */
      0x47504653, /* GPFS */
  };
  return std::ranges::find(known, static_cast<std::uint32_t>(s.f_type)) != known.end();
}

}  // namespace

std::optional<i64> process_start(pid_t process) {
  const auto text = read_text(cat("/proc/", static_cast<i64>(process), "/stat"));
  if (!text) return std::nullopt;
  // "4711 (name with ) and blanks) S 1 …": the 22nd number, counted from behind the name.
  std::size_t at = text->rfind(')');
  for (int field = 2; field < 22 && at != text->npos; ++field) at = text->find(' ', at + 1);
  if (at == text->npos) return std::nullopt;
  i64 start = 0;
  const std::size_t end = std::min(text->find(' ', at + 1), text->size());
  if (!number_of(std::string_view(*text).substr(at + 1, end - at - 1), start)) return std::nullopt;
  return start;
}

BackingName BackingName::fresh(std::string_view what) {
  const pid_t me = getpid();
  return {host_name(),   this_world(),      me, process_start(me).value_or(0),
          random_bits(), letters_only(what)};
}

std::string BackingName::str() const {
  return cat(first, "-", host, "-", hex(world), "-", static_cast<i64>(process), "-", start, "-",
             hex(random), "-", what, ending);
}

std::optional<BackingName> BackingName::parse(std::string_view text) {
  if (!text.ends_with(ending)) return std::nullopt;
  text.remove_suffix(ending.size());
  std::array<std::string_view, 7> part;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::size_t end = i + 1 < part.size() ? text.find('-') : text.size();
    if (end == text.npos || end == 0) return std::nullopt;
    part[i] = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  BackingName n;
  n.host = part[1];
  n.what = part[6];
  if (part[0] != first || n.what.find('-') != n.what.npos || !number_of(part[2], n.world, 16) ||
      !number_of(part[3], n.process) || !number_of(part[4], n.start) ||
      !number_of(part[5], n.random, 16) || n.process <= 0)
    return std::nullopt;
  return n;
}

bool BackingName::of_this_process() const {
  const pid_t me = getpid();
  return process == me && host == host_name() && world == this_world() &&
         start == process_start(me).value_or(0);
}

bool abandoned(int file, const BackingName& name) {
  const bool same_host = name.host == host_name();
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return same_host || !over_the_network(file);
  if (errno == EWOULDBLOCK) return false;
  // No locks here: the numbers, where they mean the same to both.
  return same_host && name.world == this_world() && process_start(name.process) != name.start;
}

}  // namespace tessera::store
