// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/fft/fftw_plans.hpp"

#include <cstdlib>

#include "tessera/base/error.hpp"

namespace tessera {
namespace {

const TablePlugin<FftwBackend>& plugin() {
  static const auto* once = new TablePlugin<FftwBackend>(
      load_table<FftwBackend>("libtessera_fftw.so", fftw_symbol, fftw_abi_tag(),
                              "build it where FFTW is installed (apt-get install libfftw3-dev)"));
  return *once;
}

}  // namespace

std::string problem_with_fftw() { return plugin().problem; }

std::shared_ptr<const LinePlan> make_fftw_plan(const LineKey& key) {
  require<BackendError>(plugin().table != nullptr, "fft: FFTW was to plan ", key.points,
                        " points; ", plugin().problem);
  return plugin().table->plan(key);
}

std::string wisdom_file(bool single) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder;
  if (cache && *cache)
    folder = cache;
  else if (home && *home)
    folder = cat(home, "/.cache");
  else
    return {};
  return cat(folder, "/tessera/fftw_wisdom_", single ? "float32" : "float64");
}

bool read_wisdom(bool single, const std::string& path) {
  return plugin().table && plugin().table->read_wisdom(single, path);
}

bool write_wisdom(bool single, const std::string& path) {
  return plugin().table && plugin().table->write_wisdom(single, path);
}

}  // namespace tessera
