// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/host_limits.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tessera/base/text.hpp"
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

std::optional<i64> cgroup_memory() {
  std::optional<double> limit;
  auto read = [&](const std::string& file) {
    // Version 1 says "no limit" with a number near 2^63, version 2 with the word max.
    if (auto n = number(first_line(file)); n && *n < i64{1} << 60)
      tighten(limit, static_cast<double>(*n));
  };
  if (auto path = cgroup_path("", ""))
    each_parent("/sys/fs/cgroup", *path, [&](const std::string& d) { read(d + "/memory.max"); });
  if (auto path = cgroup_path("", "memory"))
    each_parent("/sys/fs/cgroup/memory", *path,
                [&](const std::string& d) { read(d + "/memory.limit_in_bytes"); });
  if (!limit) return std::nullopt;
  return static_cast<i64>(*limit);
}

i64 meminfo(std::string_view key) {
  const std::string text = read_text("/proc/meminfo").value_or("");
  for (const std::string_view line : lines_of(text))
    if (line.starts_with(key)) {
      const std::size_t digit = line.find_first_of("0123456789");
      if (digit != line.npos) return number(line.substr(digit)).value_or(0) * 1024;
    }
  return 0;
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

i64 host_memory_total() {
  const i64 machine = static_cast<i64>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  return std::min(machine, cgroup_memory().value_or(machine));
}

i64 host_memory_available() { return std::min(meminfo("MemAvailable:"), host_memory_total()); }

}  // namespace tessera
