// SPDX-License-Identifier: Apache-2.0
#pragma once
// Discrete Fourier transforms over any axes of a strided array: complex, real to half-complex and
// back. Any length. On the cpu passes of our own (smooth_lines.hpp), or FFTW (plans and wisdom cached)
// where that is built in and faster (line_plan.hpp); on CUDA cuFFT. No shifts: operators fold them into phases.
//   Array y = fftn(x, {-2, -1}, Norm::ortho);

#include <optional>

#include "tessera/array/array.hpp"
#include "tessera/kernels/kernel.hpp"

namespace tessera {

enum class FftKind : std::uint8_t { complex, real_to_complex, complex_to_real };
enum class Norm : std::uint8_t { backward, ortho, forward };

// out = scale * DFT(in) over `axes` (distinct, non-negative), sign -1 forward, +1 backward.
// Operands of a launch: in, out. Types c64/c128 (f32/f64 on the real side). real_to_complex: the
// last of `axes` has n/2+1 outputs; complex_to_real: out's size n tells the parity. `in_place`:
// both operands are the same memory and layout, complex only. complex_to_real never destroys its
// input.
struct FftSpec {
  FftKind kind = FftKind::complex;
  Operand in, out;
  Shape axes;
  int sign = -1;
  double scale = 1;
  bool in_place = false;
  // A filter: out = scale * DFT^-1(weight * DFT(in)), the inverse without a scale of its own. The
  // weight has the shape of the arrays, with stride 0 where it repeats, and their dtype or its real
  // part's. Operands of a launch: in, weight, out. Complex, not in place; on devices that compute
  // in host memory (null elsewhere: transform, multiply, transform).
  std::optional<Operand> weight{};
};

TESSERA_API double fft_scale(Norm norm, int sign, i64 points);
// n: sizes to crop or zero-pad to, per axis, as NumPy's `s`. Real input is promoted to complex.
TESSERA_API Array fftn(const Array& x, const Shape& axes, Norm norm = Norm::backward,
                       const std::optional<Shape>& n = {});
TESSERA_API Array ifftn(const Array& x, const Shape& axes, Norm norm = Norm::backward,
                        const std::optional<Shape>& n = {});
TESSERA_API Array rfftn(const Array& x, const Shape& axes, Norm norm = Norm::backward,
                        const std::optional<Shape>& n = {});
TESSERA_API Array irfftn(const Array& x, const Shape& axes, Norm norm = Norm::backward,
                         const std::optional<Shape>& n = {});
TESSERA_API Array fftshift(const Array& x, const Shape& axes, bool inverse = false);
// FFTW plans with config().fft_effort: 0 estimates, 1 measures where FFTW can do so quickly, 2
// searches patiently. What was measured is kept in the user's cache folder (fft/fftw_plans.hpp).

}  // namespace tessera
