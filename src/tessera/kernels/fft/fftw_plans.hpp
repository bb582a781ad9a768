// SPDX-License-Identifier: Apache-2.0
#pragma once
// FFTW's one-dimensional plans for batches of dense lines, cached (least recently used goes first),
// planned on scratch memory under one lock, with wisdom read from and written to the user's cache
// folder. Lines start on 16-byte boundaries: that is what FFTW's vector code needs, and what
// callers must check before they execute a plan on memory that is not a buffer of theirs.
//   auto plan = line_plan({.single = true, .points = 512, .lines = 8, ...});   plan->execute(x, x);

#include <compare>
#include <memory>

#include "tessera/kernels/fft/fft.hpp"

namespace tessera {

struct LineKey {
  bool single = true;  // float or double
  FftKind kind = FftKind::complex;
  i64 points = 0;  // length of the transform; the complex side of a real one has points/2+1
  i64 lines = 1;
  i64 in_distance = 0, out_distance = 0;  // elements from line to line
  bool in_place = false;
  int sign = -1;
  int threads = 1;
  i64 effort = 0;  // config().fft_effort
  // A whole dense plane or volume at once: lengths of the axes before the lines' own, transformed
  // too (complex, one line). 1 where there is none.
  i64 rows = 1, layers = 1;
  auto operator<=>(const LineKey&) const = default;
};

inline constexpr i64 fftw_alignment = 16;

// FFTW can compare candidates in little time, so that config().fft_effort 1 measures.
#if defined(__x86_64__)
inline constexpr bool fftw_measures_quickly = true;
#else
// Distributions build FFTW for other processors without a cycle counter; each candidate is then
// timed for a tenth of a second and a plan takes half a minute: only when patience is asked for.
inline constexpr bool fftw_measures_quickly = false;
#endif

class TESSERA_API LinePlan {
 public:
  LinePlan(const LineKey& key);
  ~LinePlan();
  LinePlan(const LinePlan&) = delete;
  LinePlan& operator=(const LinePlan&) = delete;
  // Both on 16-byte boundaries. Safe from several threads. complex_to_real destroys `in`.
  void execute(void* in, void* out) const;

 private:
  LineKey key_;
  void* plan_ = nullptr;
};

// From the cache, or planned now. BackendError when FFTW refuses.
TESSERA_API std::shared_ptr<const LinePlan> line_plan(const LineKey& key);

// The file that keeps wisdom of one precision: under $XDG_CACHE_HOME or ~/.cache; empty when
// neither is set.
TESSERA_API std::string wisdom_file(bool single);
// That file is read at the first plan of a precision, and written after planning that took time. A
// missing or broken file counts as no wisdom; one that cannot be written is left out. Both give
// false then.
TESSERA_API bool read_wisdom(bool single, const std::string& path);
TESSERA_API bool write_wisdom(bool single, const std::string& path);

}  // namespace tessera
