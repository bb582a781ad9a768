// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "commands.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/text.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/device/topology.hpp"
#include "tessera/kernels/fft/line_plan.hpp"

namespace tessera::cli {
namespace {

// MPI is not linked: whether a library is there, and which, is asked of the loader.
std::string mpi_text() {
  for (const char* file : {"libmpi.so.40", "libmpi.so.12", "libmpi.so"}) {
    void* library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (!library) continue;
    using VersionFn = int (*)(char*, int*);
    const auto version = reinterpret_cast<VersionFn>(dlsym(library, "MPI_Get_library_version"));
    char text[8192] = "";
    int length = 0;
    if (!version || version(text, &length) != 0) return file;
    const std::string_view whole(text);
    return std::string(whole.substr(0, whole.find_first_of(",\n")));
  }
  return "no MPI library found";
}

void print_versions() {
  fmt::print("tessera    {} ({} build, {} threads)\n", TESSERA_VERSION, TESSERA_BUILD_TYPE,
             num_threads());
  fmt::print("compiler   g++ {}, C++{}\n", __VERSION__, __cplusplus / 100 % 100);
  fmt::print("BLAS       {}\n", openblas_get_config());
  fmt::print("FFT        {}\n", fftw_plans() ? "FFTW 3" : "own passes");
  fmt::print("MPI        {}\n", mpi_text());
}

std::string budget_text(i64 bytes) { return bytes > 0 ? bytes_text(bytes) : "no budget"; }

// The simulated devices are alike: the first stands for all.
bool shown(Device device) { return device.kind != Kind::sim || device.index == 0; }

std::string label_of(Device device) {
  const int count = compute_device(device.kind).count();
  return device.kind == Kind::sim && count > 1 ? fmt::format("sim:0-{}", count - 1) : device.str();
}

void print_devices() {
  fmt::print("\nDevices\n");
  for (const Device device : devices()) {
    if (!shown(device)) continue;
    const DeviceInfo info = compute_device(device).info(device.index);
    fmt::print("  {:<8} {}, {} of {} free, {}{}{}\n", label_of(device), info.name,
               bytes_text(info.memory_free), bytes_text(info.memory_total),
               budget_text(memory_stats(device).budget), info.details.empty() ? "" : "; ",
               info.details);
  }
  const std::string reason = why_unavailable(Kind::cuda);
  if (!reason.empty()) fmt::print("  cuda     not available: {}\n", reason);
  fmt::print("  pinned   {}\n", budget_text(pinned_stats().budget));
}

void print_links() {
  fmt::print("\nLinks\n");
  for (const Link& link : topology().links) {
    if (!shown(link.from) || !shown(link.to)) continue;
    fmt::print("  {:<8} -> {:<8} {:7.1f} GB/s {:8.2f} us {}\n", link.from.str(), link.to.str(),
               link.bytes_per_second / 1e9, link.latency_seconds * 1e6,
               link.direct ? "" : "through the host");
  }
}

void print_settings() {
  fmt::print("\nSettings (environment: TESSERA_<NAME>)\n");
  for (const Config::Row& row : config().rows())
    fmt::print("  {:<26} {:<8} {}\n", row.name, row.value, row.text);
}

}  // namespace

int info(const InfoOptions& options) {
  print_versions();
  print_devices();
  if (options.topology) print_links();
  print_settings();
  return 0;
}

}  // namespace tessera::cli
