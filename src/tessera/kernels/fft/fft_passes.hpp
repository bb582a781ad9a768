// SPDX-License-Identifier: Apache-2.0
#pragma once
// Note [passes of lines]: a transform over several axes runs axis by axis. A pass takes a few
// neighbouring lines into a small dense buffer, transforms them there with one plan (line_plan.hpp)
// and puts them back, scaled in the last pass. Lines that are dense already are transformed where
// they lie. So plans depend on lengths only, not on strides or addresses, any layout works, columns
// never thrash the cache, and complex_to_real destroys only buffers. Batches of small transforms
// are spread slice by slice, large ones pass by pass. Dense slices that fit the cache go to FFTW
// whole, where its plans are asked for and it can measure how to do them best. Else most lengths go
// through the passes of smooth_lines.hpp instead of plans.
// Note [long lines]: a single line of rows * columns points that no cache holds takes two passes
// over its elements instead of many: transforms down the columns into other memory, rows of which
// are multiplied by roots of unity (turns.hpp) and transformed, and become columns of the result.
// Private to the cpu's FFT.
//   Passes all = plan_passes(spec, by_slice);   for (const Pass& p : all.passes) run_pass<R>(p,
//   ...);

#include <memory>
#include <tuple>
#include <vector>

#include "tessera/kernels/fft/fft.hpp"
#include "tessera/kernels/fft/line_plan.hpp"
#include "tessera/kernels/fft/smooth_lines.hpp"
#include "tessera/kernels/fft/turns.hpp"

namespace tessera {

enum class PassMemory : std::uint8_t { input, output, space };

struct Pass {
  FftKind kind = FftKind::complex;
  PassMemory from = PassMemory::input, to = PassMemory::output;
  i64 in_points = 0, out_points = 0;  // elements of a line on each side
  i64 from_step = 0, to_step = 0;     // along the line
  Shape shape;                        // of the lines; the last axis is cut into blocks
  Strides from_strides, to_strides;
  i64 lines = 1;  // in a block
  i64 blocks = 0, blocks_per_row = 0;
  i64 in_distance = 0, out_distance = 0, out_offset = 0, buffer_bytes = 0;
  std::shared_ptr<const LinePlan> many, one, direct;  // direct: where the lines lie
  i64 direct_lines = 1;                               // in one call of it
  // Instead of plans, for one precision.
  std::tuple<std::shared_ptr<const SmoothLines<float>>, std::shared_ptr<const SmoothLines<double>>>
      own;
  i64 scratch_offset = 0;  // of plans and of `own`: the last of the buffer
  // The second pass of a long line: what its lines are multiplied by before they are transformed.
  std::tuple<std::shared_ptr<const Turns<float>>, std::shared_ptr<const Turns<double>>> turned;
  int sign = -1;
  double scale = 1;
  // A filter's middle: multiplied by the weight and transformed back while in the buffer.
  bool filter = false, real_weight = false;
  std::shared_ptr<const LinePlan> back_many, back_one;
  i64 weight_step = 0;
  Strides weight_strides;
};

struct Passes {
  std::vector<Pass> passes;
  i64 buffer_bytes = 0, space_bytes = 0;  // of one task; of one slice or of the whole input
};

// Of all lines of the arrays, or of those of one slice of the batch.
Passes plan_passes(const FftSpec& spec, bool by_slice);

// Blocks [begin, end) of a pass. `space` is where complex_to_real and long lines work, `buffer` the
// task's own.
template <class R>
void run_pass(const Pass& p, i64 begin, i64 end, const void* in, void* out, void* space,
              const void* weight, std::byte* buffer);

inline i64 round_up(i64 n, i64 to) { return (n + to - 1) / to * to; }

}  // namespace tessera
