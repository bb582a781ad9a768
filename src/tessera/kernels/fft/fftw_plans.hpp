// SPDX-License-Identifier: Apache-2.0
#pragma once
// FFTW's plans for batches of dense lines, planned on scratch memory under one lock, with wisdom
// read from and written to the user's cache folder. They are made by a plug-in (fft/fftw), opened by
// the first call of what is declared here.
//   auto plan = make_fftw_plan({.single = true, .points = 512, .lines = 8, ...});

#include <string>

#include "tessera/base/plugin_file.hpp"
#include "tessera/kernels/fft/line_plan.hpp"

namespace tessera {

// Why FFTW cannot be asked, as a sentence; "" where it can.
TESSERA_API std::string problem_with_fftw();

// FFTW can compare candidates in little time, so that config().fft_effort 1 measures.
#if defined(__x86_64__)
inline constexpr bool fftw_measures_quickly = true;
#else
// Distributions build FFTW for other processors without a cycle counter; each candidate is then
// timed for a tenth of a second and a plan takes half a minute: only when patience is asked for.
inline constexpr bool fftw_measures_quickly = false;
#endif

// BackendError when FFTW refuses, and without the plug-in.
std::shared_ptr<const LinePlan> make_fftw_plan(const LineKey& key);

// The file that keeps wisdom of one precision: under $XDG_CACHE_HOME or ~/.cache; empty when
// neither is set.
TESSERA_API std::string wisdom_file(bool single);
// That file is read at the first plan of a precision, and written after planning that took time. A
// missing or broken file counts as no wisdom; one that cannot be written is left out. Both give
// false then, and without the plug-in.
TESSERA_API bool read_wisdom(bool single, const std::string& path);
TESSERA_API bool write_wisdom(bool single, const std::string& path);

// What the plug-in offers. One exported function; a library of another build is refused.
//   extern "C" TESSERA_API const tessera::FftwBackend* tessera_fftw();
struct FftwBackend {
  const char* abi_tag;
  std::shared_ptr<const LinePlan> (*plan)(const LineKey& key);
  bool (*read_wisdom)(bool single, const std::string& path);
  bool (*write_wisdom)(bool single, const std::string& path);
};
inline constexpr const char* fftw_symbol = "tessera_fftw";

[[maybe_unused]] static std::string fftw_abi_tag() {
  return cat(build_tag(), ", fft sizes ", sizeof(LineKey), " ", sizeof(LinePlan), " ",
             sizeof(FftwBackend));
}

}  // namespace tessera
