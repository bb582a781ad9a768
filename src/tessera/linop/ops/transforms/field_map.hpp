// SPDX-License-Identifier: Apache-2.0
#pragma once
// The NUFFT of an object that turns while it is sampled, each pixel by a frequency of its own:
//   y(j) = N^(-1/2) sum over n of x[n] exp(-2 pi i (k_j (n - N//2) / N + f[n] t_j)),
// as a few NUFFTs side by side. The factor exp(-2 pi i f t) is a sum of products of functions of f
// and of t: exponentials at some times and what interpolates between these in the sense of least
// squares, or the other way around. The operator is a chain of a Dense, a NUFFT and a Dense, so
// that its adjoint and its tiles are theirs, and its normal where that is not made of convolutions.
//   NamedLinop A = field_map_nufft(locs, {64, 64}, hertz, seconds);

#include <span>

#include "tessera/linop/containers/wrapper.hpp"
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
  // Normals are convolutions of segments, without the points; none: where that takes at most half
  // the time and holds few enough numbers.
  std::optional<bool> toeplitz{};
};

// field_map: of the image's shape; times: of the points' shape, or of its last axes where the
// others share them; the product counts in turns (hertz and seconds). The weights have the
// precision of the field map. ShapeError, DTypeError and ArgumentError for what does not fit, is
// not real or not finite, and a tolerance out of reach.
TESSERA_API NamedLinop field_map_nufft(const Array& locs, const Shape& grid_size,
                                       const Array& field_map, const Array& times,
                                       const FieldMapOptions& options = {});

// The chain that does it, where its normal is made in another way: images of the object at some
// times, a convolution for each, and back. In tiles as well, but along segments, which have a normal
// of their own.
struct TESSERA_API FieldMapNUFFT : Wrapper {
  NamedLinop segments;  // (batch, image) -> (batch, segment, points)
  Array mixture;  // of these at each point, real: (segment, points), or 1 where it is the same

  static constexpr const char* kind = "FieldMapNUFFT";
  auto state() const { return std::tuple(a, segments, mixture); }
  static FieldMapNUFFT from_state(NamedLinop map, NamedLinop segments, Array mixture);
  DType adjoint_dtype(DType t) const { return a.H().output_dtype(t); }
  void apply_adjoint(Recorder& r, const View& y, const View& x) const { a.H().record(r, y, x); }
  NamedLinop normal() const { return normal_with(mixture); }
  std::optional<NamedLinop> normal(const NamedLinop& inner) const;
  bool normal_keeps(NamedDimension) const { return false; }
  bool approximates_normal() const { return true; }
  FieldMapNUFFT renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  std::vector<NamedLinop> parts() const { return {a}; }
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    f(self.a);
    f(self.segments);
  }
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    f(self.mixture);
  }
  std::string details() const { return cat("normal by ", mixture.shape(0), " convolutions"); }

 private:
  NamedLinop normal_with(const Array& weights) const;
  Dims points() const;
};

extern template struct NamedLinop::Model<FieldMapNUFFT>;

// What it is made of.
namespace nufft {
inline constexpr double least_field_map_tolerance = 1e-9;
inline constexpr double most_turns = 128;

Array host_numbers(const Array& x);  // float64, dense
std::span<const double> numbers_of(const Array& x);
// exp(-2 pi i u v) for all pairs, complex128 (size of u, size of v).
Array turned(std::span<const double> u, std::span<const double> v);

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
// So many are needed at least, which is told in a fraction of the time.
i64 fewest_segments(const Array& u, const Array& v, double tolerance);
double range_of(const Array& x);  // from the least to the largest of float64 on the host
}  // namespace nufft

}  // namespace tessera
