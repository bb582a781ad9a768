// SPDX-License-Identifier: Apache-2.0
// Rung 10: Fourier transforms over any axes, any lengths, any strides, real and complex.
#include "ladder/ladder.hpp"

namespace tessera::ladder {
namespace {

double fft_tolerance(DType t, i64 points) {
  return tolerance(t, points) * 20 * std::sqrt(static_cast<double>(points));
}

i64 points_of(const Shape& shape, const Shape& axes) {
  i64 n = 1;
  for (i64 a : axes) n *= shape[a];
  return n;
}

void try_complex(const Shape& shape, const Shape& axes, DType t, LayoutKind in_kind,
                 LayoutKind out_kind, int sign, double scale) {
  const Twin x = twin(shape, t, in_kind, 1), y = twin(shape, t, out_kind, 2);
  FftSpec spec{FftKind::complex, x.operand(), y.operand(), axes, sign, scale, false};
  run_both(&KernelTable::fft, "fft", spec, {x, y});
  const std::string what = cat("fft of ", shape, " over ", axes, " ", name(t), " ", text(in_kind),
                               " to ", text(out_kind));
  expect_same(y, fft_tolerance(t, points_of(shape, axes)), what);
  expect_same(x, 1e-300, what + ": the input");
}

struct Transform {
  Shape shape, axes;
};
const std::vector<Transform>& transforms() {
  static const std::vector<Transform> all = {{{8}, {0}},
                                             {{1}, {0}},
                                             {{13}, {0}},
                                             {{4, 6}, {1}},
                                             {{4, 6}, {0}},
                                             {{4, 6}, {0, 1}},
                                             {{3, 5, 4}, {1}},
                                             {{3, 5, 4}, {2, 1}},
                                             {{3, 5, 4}, {0, 2}},
                                             {{3, 5, 4}, {0, 1, 2}},
                                             {{2, 3, 4, 5}, {1, 3}},
                                             {{2, 3, 4, 5}, {0, 1, 2, 3}},
                                             {{2, 1, 6}, {1, 2}},
                                             {{20, 7, 3}, {1}},
                                             {{3, 1009}, {1}}};
  return all;
}

TEST(Ladder10Fft, Complex) {
  for (DType t : {DType::c64, DType::c128})
    for (const Transform& c : transforms())
      for (LayoutKind in : all_layouts)
        for (LayoutKind out : {LayoutKind::dense, LayoutKind::padded, LayoutKind::reversed_axes,
                               LayoutKind::negative})
          for (int sign : {-1, 1})
            try_complex(c.shape, c.axes, t, in, out, sign, sign < 0 ? 1.0 : 0.125);
}

TEST(Ladder10Fft, InPlace) {
  for (DType t : {DType::c64, DType::c128})
    for (const Transform& c : transforms())
      for (LayoutKind kind : {LayoutKind::dense, LayoutKind::padded, LayoutKind::negative}) {
        const Twin x = twin(c.shape, t, kind, 1);
        FftSpec spec{FftKind::complex, x.operand(), x.operand(), c.axes, -1, 0.5, true};
        run_both(&KernelTable::fft, "fft", spec, {x, x});
        expect_same(x, fft_tolerance(t, points_of(c.shape, c.axes)),
                    cat("fft in place of ", c.shape, " over ", c.axes));
      }
}

TEST(Ladder10Fft, RealToComplexAndBack) {
  for (DType real : {DType::f32, DType::f64})
    for (const Transform& c : transforms())
      for (LayoutKind kind : all_layouts)
        for (double scale : {1.0, 0.25}) {
          const DType complex = complex_of(real);
          Shape half = c.shape;
          half[c.axes.back()] = half[c.axes.back()] / 2 + 1;
          const Twin x = twin(c.shape, real, kind, 1),
                     y = twin(half, complex, LayoutKind::padded, 2);
          FftSpec forward{
              FftKind::real_to_complex, x.operand(), y.operand(), c.axes, -1, scale, false};
          run_both(&KernelTable::fft, "rfft", forward, {x, y});
          const double tol = fft_tolerance(real, points_of(c.shape, c.axes));
          expect_same(y, tol, cat("rfft of ", c.shape, " over ", c.axes, " ", text(kind)));
          // Back from the host's result, which has the symmetry of a real signal.
          const Twin spectrum = twin_of(y.host), z = twin(c.shape, real, kind, 3);
          FftSpec backward{
              FftKind::complex_to_real, spectrum.operand(), z.operand(), c.axes, 1, scale, false};
          run_both(&KernelTable::fft, "irfft", backward, {spectrum, z});
          const auto n = static_cast<double>(points_of(c.shape, c.axes));
          expect_same(z, tol * std::sqrt(n),
                      cat("irfft of ", c.shape, " over ", c.axes, " ", text(kind)));
          expect_same(spectrum, 1e-300, "irfft: the input");
        }
}

TEST(Ladder10Fft, Images) {
  try_complex({6, 96, 80}, {1, 2}, DType::c64, LayoutKind::dense, LayoutKind::dense, -1, 1.0 / 96);
  try_complex({96, 80, 6}, {0, 1}, DType::c64, LayoutKind::dense, LayoutKind::dense, 1, 1);
  try_complex({5, 64, 33}, {1}, DType::c128, LayoutKind::dense, LayoutKind::dense, -1, 1);
  try_complex({50, 64, 33}, {1}, DType::c64, LayoutKind::dense, LayoutKind::dense, -1, 2);
}

}  // namespace
}  // namespace tessera::ladder
