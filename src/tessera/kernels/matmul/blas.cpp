// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/matmul/blas.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "tessera/device/threads.hpp"

// Weak: an OpenBLAS that was built for one processor has no choice to make.
extern "C" {
void gotoblas_dynamic_init() __attribute__((weak));
void gotoblas_dynamic_quit() __attribute__((weak));
}

namespace tessera::blas {
namespace {

// OpenBLAS has one number of threads for the process; this counts who wants it to be one.
struct Holders {
  std::mutex mutex;
  int count = 0;
};
Holders& holders() {
  static Holders* h = new Holders;  // leaked: streams may outlive statics
  return *h;
}

#if defined(__x86_64__)

bool is_older_than_avx2(std::string_view core) {
  constexpr std::string_view old[] = {"Prescott", "Core2",       "Penryn",       "Dunnington",
                                      "Nehalem",  "Sandybridge", "Atom",         "Nano",
                                      "Athlon",   "Opteron",     "Opteron_SSE3", "Barcelona",
                                      "Bobcat",   "Bulldozer",   "Piledriver",   "Steamroller"};
  return std::find(std::begin(old), std::end(old), core) != std::end(old);
}

// Note [kernels of OpenBLAS]
// OpenBLAS looks at the processor when it is loaded. One that is older than the processor does not
// know its number and falls back to kernels of 2004, a fifth of the speed. It is told otherwise as
// this library is loaded, right behind it: before anybody computes, and where the user has not said
// what to take.
[[gnu::constructor]] void choose_core() {
  if (!gotoblas_dynamic_init || !gotoblas_dynamic_quit || std::getenv(core_variable)) return;
  try {
    const std::string better = better_core(openblas_get_corename(), host_instructions());
    if (better.empty()) return;
    setenv(core_variable, better.c_str(), 1);
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    unsetenv(core_variable);
  } catch (const std::exception&) {
    // A wrong TESSERA_INSTRUCTIONS is said where somebody can hear it.
  }
}

#endif

}  // namespace

#if defined(__x86_64__)
std::string better_core(std::string_view chosen, Instructions host) {
  if (host == Instructions::base || !is_older_than_avx2(chosen)) return {};
  return host == Instructions::avx512 ? "SkylakeX" : "Haswell";
}
#endif

SingleThread::SingleThread() {
  Holders& h = holders();
  std::lock_guard lock(h.mutex);
  if (h.count++ == 0) openblas_set_num_threads(1);
}

SingleThread::~SingleThread() {
  Holders& h = holders();
  std::lock_guard lock(h.mutex);
  if (--h.count == 0) openblas_set_num_threads(process_threads());
}

}  // namespace tessera::blas
