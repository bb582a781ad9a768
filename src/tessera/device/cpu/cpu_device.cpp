// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/cpu/cpu_device.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tessera/base/error.hpp"
#include "tessera/base/text_file.hpp"
#include "tessera/device/host_limits.hpp"
#include "tessera/device/kernel_tables.hpp"
#include "tessera/device/readable_tail.hpp"
#include "tessera/device/threads.hpp"

namespace tessera {
namespace {

constexpr i64 huge_page = i64{2} << 20;
constexpr i64 heap_page = 4096;  // behind smaller blocks there is always some heap

constexpr i64 copy_grain = i64{1} << 20;  // bytes; below this one core copies as fast as several

i64 round_up(i64 n, i64 to) { return (n + to - 1) / to * to; }

// Behind a mapping, in whole pages of any host: see Note [reading beyond the end].
i64 pages_behind(i64 bytes) { return round_up(readable_tail(bytes), i64{64} << 10); }

// A mapping that starts at a huge page: map more, give the ends back. Its pages are zero, and take
// no memory before somebody touches them.
void* map_huge(i64 bytes) {
  const i64 tail = pages_behind(bytes), asked = bytes + tail + huge_page;
  void* raw = mmap(nullptr, static_cast<std::size_t>(asked), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(raw);
  const i64 head =
      (huge_page - static_cast<i64>(reinterpret_cast<std::uintptr_t>(begin) % huge_page)) %
      huge_page;
  if (head > 0) munmap(begin, static_cast<std::size_t>(head));
  if (huge_page - head > 0)
    munmap(begin + head + bytes + tail, static_cast<std::size_t>(huge_page - head));
  madvise(begin + head, static_cast<std::size_t>(bytes),
          MADV_HUGEPAGE);  // advice: no matter if refused
  return begin + head;
}

void* taken(void* p, i64 bytes) {
  if (p != nullptr) return p;
  unclaim_host_memory(bytes);
  throw OutOfMemory(cat("cpu: the system has no ", bytes_text(bytes), " to give"));
}

std::string cpu_name() {
  const std::string text = read_text("/proc/cpuinfo").value_or("");
  for (const std::string_view line : lines_of(text))
    if (line.starts_with("model name"))
      return std::string(line.substr(std::min(line.size(), line.find(':') + 2)));
#if defined(__aarch64__)
  return "aarch64";
#else
  return "host";
#endif
}

[[noreturn]] void no_capture() {
  throw DeviceError("cpu: streams of the cpu cannot be captured; capturable() says so");
}

}  // namespace

CpuDevice::CpuDevice() { limit_library_threads(); }

DeviceInfo CpuDevice::info(int) const {
  DeviceInfo info;
  info.name = cpu_name();
  info.details = cat(cores_allowed(), " of ", std::thread::hardware_concurrency(), " cores, ",
                     num_threads(), " threads");
  info.memory_total = host_memory_total();
  info.memory_free = host_memory_available();
  return info;
}

const KernelTable& CpuDevice::kernels() const { return cpu_kernels(); }

void* CpuDevice::allocate(int, i64 bytes) {
  require<OutOfMemory>(bytes >= 0 && bytes < i64{1} << 62, "cpu: cannot take ", bytes, " bytes");
  claim_host_memory("cpu", bytes);
  if (bytes >= huge_page) return taken(map_huge(round_up(bytes, huge_page)), bytes);
  return taken(std::aligned_alloc(
                   64, static_cast<std::size_t>(round_up(std::max<i64>(bytes, 1), 64) +
                                                (bytes >= heap_page ? readable_tail(bytes) : 0))),
               bytes);
}

void* allocate_zeroed_host(i64 bytes) {
  if (bytes < huge_page || bytes >= i64{1} << 62) return nullptr;
  claim_host_memory("cpu", bytes);
  return taken(map_huge(round_up(bytes, huge_page)), bytes);
}

void CpuDevice::release(int, void* p, i64 bytes) noexcept {
  unclaim_host_memory(bytes);
  if (bytes < huge_page) return std::free(p);
  const i64 mapped = round_up(bytes, huge_page);
  munmap(p, static_cast<std::size_t>(mapped + pages_behind(mapped)));
}

void CpuDevice::launch(int, void*, const Task& task, const Launch& launch) {
  task.run(task.state.get(), launch);
}

void CpuDevice::copy(int, void*, const Copy& copy) {
  char* const to = static_cast<char*>(copy.to);
  const char* const from = static_cast<const char*>(copy.from);
  if (copy.rows == 1)
    return parallel_for(copy.row_bytes, copy_grain, [=](i64 begin, i64 end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
  const i64 grain = std::max<i64>(copy_grain / std::max<i64>(copy.row_bytes, 1), 1);
  parallel_for(copy.rows, grain, [=](i64 begin, i64 end) {
    for (i64 r = begin; r < end; ++r)
      std::memcpy(to + r * copy.to_pitch, from + r * copy.from_pitch,
                  static_cast<std::size_t>(copy.row_bytes));
  });
}

void CpuDevice::fill(int, void*, void* p, int byte, i64 bytes) {
  parallel_for(bytes, copy_grain, [=](i64 begin, i64 end) {
    std::memset(static_cast<char*>(p) + begin, byte, static_cast<std::size_t>(end - begin));
  });
}

void CpuDevice::begin_capture(int, void*) { no_capture(); }
void* CpuDevice::end_capture(int, void*) { no_capture(); }
void CpuDevice::launch_graph(int, void*, void*) { no_capture(); }

}  // namespace tessera
