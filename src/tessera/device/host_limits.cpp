// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/host_limits.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tessera/base/error.hpp"
#include "tessera/base/text_file.hpp"

namespace tessera {
namespace {

std::string first_line(const std::string& path) {
  const std::string text = read_text(path).value_or("");
  return text.substr(0, text.find('\n'));
}

std::optional<i64> number(std::string_view text) {
  i64 value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

// The folder of this process under the controller ("" = the unified tree), from lines "0::/a/b" and
// "4:cpu,cpuacct:/a/b".
std::optional<std::string> cgroup_path(const std::string& root, std::string_view controller) {
  const std::string text = read_text(root + "/proc/self/cgroup").value_or("");
  for (const std::string_view line : lines_of(text)) {
    const std::size_t a = line.find(':'), b = line.find(':', a + 1);
    if (a == std::string::npos || b == std::string::npos) continue;
    const std::string list = cat(",", line.substr(a + 1, b - a - 1), ",");
    const bool match = controller.empty()
                           ? list == ",,"
                           : list.find("," + std::string(controller) + ",") != list.npos;
    if (match) return std::string(line.substr(b + 1));
  }
  return std::nullopt;
}

// Calls f(folder) for the folder of this process and each of its parents up to the mount.
template <class F>
void each_parent(const std::string& mount, std::string path, F&& f) {
  while (true) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    f(mount + path);
    if (path.empty()) return;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

void tighten(std::optional<double>& limit, double value) {
  if (value > 0) limit = std::min(limit.value_or(value), value);
}

// The number behind `key` at the start of a line of a file such as /proc/meminfo; 0: there is none.
i64 entry_of(const std::string& path, std::string_view key) {
  const std::string text = read_text(path).value_or("");
  for (const std::string_view line : lines_of(text)) {
    if (!line.starts_with(key) || line.size() == key.size() || line[key.size()] != ' ') continue;
    const std::size_t digit = line.find_first_of("0123456789", key.size());
    if (digit != line.npos) return number(line.substr(digit)).value_or(0);
  }
  return 0;
}

// How a version of cgroups names what it limits.
struct CgroupMemory {
  std::string_view controller, mount, limit, used, in_stat;
};
constexpr CgroupMemory cgroup_versions[] = {
    {"", "/sys/fs/cgroup", "/memory.max", "/memory.current", ""},
    {"", "/sys/fs/cgroup", "/memory.high", "/memory.current", ""},
    {"memory", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
     "total_"}};

// The tightest of value(limit, folder, version) over the groups that have a limit.
template <class F>
std::optional<i64> tightest_memory(const std::string& root, F&& value) {
  std::optional<i64> least;
  for (const CgroupMemory& v : cgroup_versions)
    if (auto path = cgroup_path(root, v.controller))
      each_parent(cat(root, v.mount), *path, [&](const std::string& folder) {
        // Version 1 says "no limit" with a number near 2^63, version 2 with the word max.
        const auto limit = number(first_line(cat(folder, v.limit)));
        if (!limit || *limit <= 0 || *limit >= i64{1} << 60) return;
        const i64 one = value(*limit, folder, v);
        least = std::min(least.value_or(one), one);
      });
  return least;
}

// What a group may still take: pages of files are given up for it.
i64 room_in(i64 limit, const std::string& folder, const CgroupMemory& v) {
  const std::string stat = folder + "/memory.stat";
  const i64 used = number(first_line(cat(folder, v.used))).value_or(0),
            files = entry_of(stat, cat(v.in_stat, "inactive_file")) +
                    entry_of(stat, cat(v.in_stat, "active_file")) +
                    entry_of(stat, "slab_reclaimable");  // what is known of files; version 2
  return std::clamp<i64>(limit - used + files, 0, limit);
}

// Note [claimed and untouched]
// Memory that was mapped counts as free until it is touched. Of what this library has claimed, at
// least as much as the process does not hold is still to come.
std::atomic<i64> claimed{0}, not_compared{0};

struct OwnMemory {
  i64 addresses = 0, held = 0;  // bytes
};
OwnMemory own_memory() {
  const std::string text = first_line("/proc/self/statm");  // pages: of addresses, held, …
  const std::size_t space = text.find(' ');
  if (space == text.npos) return {};
  const i64 page = sysconf(_SC_PAGE_SIZE);
  return {number(text).value_or(0) * page,
          number(std::string_view(text).substr(space + 1)).value_or(0) * page};
}

// Bytes of addresses that this process may have in all; nothing where there is no limit.
std::optional<i64> address_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= rlim_t{1} << 60) return std::nullopt;
  return static_cast<i64>(limit.rlim_cur);
}

i64 address_room(i64 otherwise) {
  const auto limit = address_limit();
  if (!limit) return otherwise;
  return std::clamp<i64>(*limit - own_memory().addresses, 0, otherwise);
}

i64 memory_room(const std::string& root) {
  const i64 total = host_memory_total(root),
            machine = entry_of(root + "/proc/meminfo", "MemAvailable:") * 1024,
            left = machine > 0 ? std::min(machine, total) : total;
  return std::min(left, tightest_memory(root, room_in).value_or(left));
}

}  // namespace

std::optional<double> cgroup_cpus(const std::string& root) {
  std::optional<double> limit;
  if (auto path = cgroup_path(root, ""))
    each_parent(root + "/sys/fs/cgroup", *path, [&](const std::string& folder) {
      const std::string line = first_line(folder + "/cpu.max");  // "150000 100000" or "max 100000"
      const std::size_t space = line.find(' ');
      if (space == line.npos) return;
      const auto quota = number(line), period = number(std::string_view(line).substr(space + 1));
      if (quota && period && *period > 0)
        tighten(limit, static_cast<double>(*quota) / static_cast<double>(*period));
    });
  if (auto path = cgroup_path(root, "cpu"))
    each_parent(root + "/sys/fs/cgroup/cpu", *path, [&](const std::string& folder) {
      const auto quota = number(first_line(folder + "/cpu.cfs_quota_us"));
      const auto period = number(first_line(folder + "/cpu.cfs_period_us"));
      if (quota && period && *period > 0)
        tighten(limit, static_cast<double>(*quota) / static_cast<double>(*period));
    });
  return limit;
}

int cores_allowed() {
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) cores = CPU_COUNT(&mask);
  if (auto limit = cgroup_cpus("")) cores = std::min(cores, static_cast<int>(std::ceil(*limit)));
  return std::max(cores, 1);
}

int default_threads() {
  const int cores = cores_allowed();
  if (const char* text = std::getenv("OMP_NUM_THREADS"))
    if (auto n = number(text); n && *n >= 1) return static_cast<int>(std::min<i64>(*n, cores));
  return cores;
}

int processes_here() {
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const char* text = std::getenv(variable))
      if (auto n = number(text); n && *n >= 1) return static_cast<int>(std::min<i64>(*n, 1 << 20));
  return 1;
}

i64 host_memory_total(const std::string& root) {
  const i64 machine = static_cast<i64>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  const auto limit = tightest_memory(root, [](i64 most, const auto&, const auto&) { return most; });
  return std::min({machine, limit.value_or(machine), address_limit().value_or(machine)});
}

i64 host_memory_available(const std::string& root) { return address_room(memory_room(root)); }

void check_host_memory(std::string_view who, i64 bytes) {
  if (bytes < large_request) return;
  // Memory that nobody has touched has its addresses already.
  const i64 untouched = std::max<i64>(claimed.load() - own_memory().held, 0),
            left = address_room(std::max<i64>(memory_room("") - untouched, 0));
  if (bytes <= left) return;
  const std::string promised =
      cat(" (", bytes_text(untouched), " more are promised to arrays that have not touched them)");
  throw OutOfMemory(cat(who, ": cannot take ", bytes_text(bytes), ": of the ",
                        bytes_text(host_memory_total()), " that this process may use ",
                        bytes_text(left), " are left", untouched > 0 ? promised : ""));
}

void claim_host_memory(std::string_view who, i64 bytes) {
  if (bytes >= large_request) {
    check_host_memory(who, bytes);
  } else if (not_compared.fetch_add(bytes) + bytes >= large_request) {
    not_compared = 0;
    check_host_memory(who, large_request);
  }
  claimed += bytes;
}

void unclaim_host_memory(i64 bytes) noexcept { claimed -= bytes; }

}  // namespace tessera
