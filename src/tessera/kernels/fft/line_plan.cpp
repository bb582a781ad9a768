// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/fft/line_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

#include "tessera/kernels/fft/fftw_plans.hpp"
#include "tessera/kernels/fft/own_plans.hpp"

namespace tessera {
namespace {

constexpr std::size_t cache_capacity = 256;

struct Cache {
  struct Entry {
    std::shared_ptr<const LinePlan> plan;
    i64 used = 0;
  };
  std::mutex mutex;
  std::map<LineKey, Entry> entries;
  i64 clock = 0;
};

bool chosen() {
  const char* asked = std::getenv("TESSERA_FFT");
  const std::string_view word = asked ? asked : "";
  require<ArgumentError>(word.empty() || word == "own" || word == "fftw", "TESSERA_FFT is \"", word,
                         "\"; it can be \"own\" or \"fftw\"");
  if (word != "fftw") return false;
  const std::string problem = problem_with_fftw();
  require<ArgumentError>(problem.empty(), "TESSERA_FFT is \"fftw\", and ", problem);
  return true;
}

}  // namespace

bool fftw_plans() {
  static const bool by_fftw = chosen();
  return by_fftw;
}

std::shared_ptr<const LinePlan> line_plan(const LineKey& key) {
  static Cache* cache = new Cache;  // leaked: outlives every plan in use
  {
    std::lock_guard lock(cache->mutex);
    if (const auto it = cache->entries.find(key); it != cache->entries.end()) {
      it->second.used = ++cache->clock;
      return it->second.plan;
    }
  }
  // Planned outside the cache's lock: others find their plans meanwhile.
  std::shared_ptr<const LinePlan> plan = fftw_plans() ? make_fftw_plan(key) : make_own_plan(key);
  std::shared_ptr<const LinePlan> evicted;  // destroyed after the lock is gone
  std::lock_guard lock(cache->mutex);
  if (cache->entries.size() >= cache_capacity) {
    const auto oldest = std::min_element(
        cache->entries.begin(), cache->entries.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    evicted = oldest->second.plan;
    cache->entries.erase(oldest);
  }
  cache->entries[key] = {plan, ++cache->clock};
  return plan;
}

}  // namespace tessera
