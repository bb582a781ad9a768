// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans of one-dimensional transforms for batches of dense lines, cached (least recently used goes
// first): our own (own_plans.hpp), or FFTW's (fftw_plans.hpp) where TESSERA_FFT=fftw asks for them.
// Lines start on 16-byte boundaries: that is what FFTW's vector code needs, and what callers must
// check before they execute a plan on memory that is not a buffer of theirs.
//   auto plan = line_plan({.single = true, .points = 512, .lines = 8, ...});
//   plan->execute(x, x, scratch);

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
  // too (complex, one line, FFTW's plans only). 1 where there is none.
  i64 rows = 1, layers = 1;
  auto operator<=>(const LineKey&) const = default;
};

inline constexpr i64 line_alignment = 16;
inline bool line_aligned(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) % line_alignment == 0;
}

class TESSERA_API LinePlan {
 public:
  virtual ~LinePlan() = default;
  // All on 16-byte boundaries. Safe from several threads. complex_to_real destroys `in`.
  virtual void execute(void* in, void* out, void* scratch) const = 0;
  virtual i64 scratch_bytes() const { return 0; }
};

// Whether FFTW makes the plans.
TESSERA_API bool fftw_plans();
// From the cache, or planned now. BackendError when FFTW refuses.
TESSERA_API std::shared_ptr<const LinePlan> line_plan(const LineKey& key);

}  // namespace tessera
