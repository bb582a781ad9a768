// SPDX-License-Identifier: Apache-2.0
#pragma once
// The NUFFT of an object that turns while it is sampled, each pixel by a frequency of its own:
//   y(j) = N^(-1/2) sum over n of x[n] exp(-2 pi i (k_j (n - N//2) / N + f[n] t_j)),
// as a few NUFFTs side by side. The factor exp(-2 pi i f t) is a sum of products of functions of f
// and of t: exponentials at some times and what interpolates between these in the sense of least
// squares, or the other way around. The operator is a chain of a Dense, a NUFFT and a Dense, so
// that its adjoint, its normal and its tiles are theirs.
//   NamedLinop A = field_map_nufft(locs, {64, 64}, hertz, seconds);

#include "tessera/linop/ops/transforms/nufft.hpp"

namespace tessera {

// time: images at some times, interpolated for each point; frequency: images of some frequencies,
// of which each pixel takes its mixture.
enum class Segmentation : std::uint8_t { time, frequency };
constexpr Segmentation last_of(Segmentation) { return Segmentation::frequency; }

struct FieldMapOptions {
  double tol = 1e-3;              // the relative error against the sum, as that of NUFFT
  std::optional<i64> segments{};  // none: as few as reach tol
  Segmentation segmentation = Segmentation::time;
  std::optional<Dims> output_shape{}, input_shape{};
  Dims batch_shape{NamedDimension::ellipses()};
  NamedDimension segment = NamedDimension("S");  // the dim within, numbered where it is taken
  bool wrap = false;                             // as that of NUFFT
};

// field_map: of the image's shape; times: of the points' shape, or of its last axes where the
// others share them; the product counts in turns (hertz and seconds). The weights have the
// precision of the field map. ShapeError, DTypeError and ArgumentError for what does not fit, is
// not real or not finite, and a tolerance out of reach.
TESSERA_API NamedLinop field_map_nufft(const Array& locs, const Shape& grid_size,
                                       const Array& field_map, const Array& times,
                                       const FieldMapOptions& options = {});

// What it is made of.
namespace nufft {
inline constexpr double least_field_map_tolerance = 1e-9;

// exp(-2 pi i u v) as a sum over segments s of exp(-2 pi i u nodes[s]) mixture(s, v).
struct Segments {
  std::vector<double> nodes;
  Array samples;      // of u, float64
  Array left, right;  // right (left exp(-2 pi i samples v)) is mixture(v); complex128
  double error = 0;   // the largest, over the samples of u and v
  double gain = 0;    // the largest sum over s of |mixture(s, v)|
  Array mixture(const Array& v) const;    // complex128 (segments, size of v)
  Array mixed(const Array& turns) const;  // the same from exp(-2 pi i samples v)
};
// The fewest that keep the error below `tolerance`; or `count` of them, the best there are.
TESSERA_API Segments segments_for(const Array& u, const Array& v, double tolerance,
                                  std::optional<i64> count = {});
}  // namespace nufft

}  // namespace tessera
