// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/transforms/transform_spec.hpp"

#include <algorithm>
#include <limits>

namespace tessera::streaming {
namespace {

struct Asked {
  i64 axis, size;  // -1: as it is
  FftKind kind;
};

bool any_twice(const Shape& axes) {
  Shape sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

// The halved axis is transformed first of real numbers and last into them. Of the others, where each
// is named once, those that lie together come first, so that whole rows are read; into real numbers
// the last ones remain, which may be run with the halved one.
std::vector<Asked> in_order(const Direction& direction, const Shape& axes,
                            const std::optional<Shape>& n) {
  std::vector<Asked> all;
  for (i64 i = axes.size() - 1; i >= 0; --i)
    all.push_back({axes[i], n ? (*n)[i] : -1, FftKind::complex});
  const bool to_real = direction.kind == FftKind::complex_to_real;
  if (all.empty()) return all;
  Asked halved = all.front();
  if (direction.kind != FftKind::complex) all.erase(all.begin());
  if (!any_twice(axes))
    std::sort(all.begin(), all.end(), [&](const Asked& a, const Asked& b) {
      return to_real ? a.axis < b.axis : a.axis > b.axis;
    });
  halved.kind = direction.kind;
  if (direction.kind != FftKind::complex) all.insert(to_real ? all.end() : all.begin(), halved);
  return all;
}

DType working_dtype_of(FftKind kind, DType dtype) {
  if (kind != FftKind::real_to_complex) return complex_of(dtype);
  const bool small = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  return small ? DType::f32 : DType::f64;
}

constexpr i64 most_countable = std::numeric_limits<i64>::max();

// Far below what the sums of a plan can count, far above what any disk holds.
constexpr i64 largest_store = i64{1} << 55;

i64 counted(std::string_view who, i64 count, i64 by, const Shape& shape, DType dtype) {
  require<ShapeError>(count <= most_countable / std::max<i64>(by, 1), who, ": an array of shape ",
                      shape, " of ", name(dtype), " has more bytes than 63 bits can count");
  return count * std::max<i64>(by, 1);
}

// Before anything is planned: plans multiply what they are given.
void require_room(std::string_view who, const Shape& shape, DType dtype) {
  i64 bytes = size_of(dtype);
  for (const i64 side : shape) bytes = counted(who, bytes, side, shape, dtype);
  require<OutOfMemory>(bytes <= largest_store || count_of(shape) == 0, who, ": an array of shape ",
                       shape, " of ", name(dtype), " takes ", bytes_text(bytes),
                       ": more than any disk holds");
}

}  // namespace

std::string_view name(const Direction& d) {
  if (d.kind == FftKind::real_to_complex) return d.conjugate ? "ihfft" : "rfftn";
  if (d.kind == FftKind::complex_to_real) return d.conjugate ? "hfft" : "irfftn";
  return d.sign < 0 ? "fftn" : "ifftn";
}

TransformSpec transform_spec(const Direction& direction, const Shape& shape, DType dtype,
                             const Shape& axes, Norm norm, const std::optional<Shape>& n) {
  const std::string_view who = name(direction);
  const FftKind kind = direction.kind;
  require<DTypeError>(kind != FftKind::real_to_complex || !is_complex(dtype), who,
                      ": the input is ", name(dtype),
                      "; it takes real arrays, fftn takes complex ones");
  Shape along;
  for (const i64 a : axes) along.push_back(normalize_axis(a, shape.size(), who));
  require<ArgumentError>(kind == FftKind::complex || !along.empty(), who,
                         ": at least 1 axis must be transformed");
  require<ArgumentError>(!n || n->size() == along.size(),
                         "Shape and axes have different lengths: ", n ? n->size() : 0,
                         " sizes for ", along.size(), " axes");
  TransformSpec spec{.direction = direction, .in = shape, .out = shape};
  const DType working = working_dtype_of(kind, dtype);
  Shape seen;
  i64 points = 1;
  for (const Asked& a : in_order(direction, along, n)) {
    const i64 here = spec.out[a.axis];
    AxisTransform s{.axis = a.axis, .kind = a.kind, .points = a.size == -1 ? here : a.size};
    if (a.size == -1 && a.kind == FftKind::complex_to_real) s.points = 2 * (here - 1);
    require<ArgumentError>(s.points >= 1, "Invalid number of FFT data points (", s.points,
                           ") specified.");
    const i64 half = s.points / 2 + 1;
    s.in = a.kind == FftKind::complex_to_real ? half : s.points;
    s.out = a.kind == FftKind::real_to_complex ? half : s.points;
    if (std::find(seen.begin(), seen.end(), a.axis) == seen.end())
      spec.in[a.axis] = std::min(here, s.in);
    seen.push_back(a.axis);
    spec.out[a.axis] = std::max(s.in, s.out);
    require_room(who, spec.out, complex_of(working));
    spec.out[a.axis] = s.out;
    points = counted(who, points, s.points, spec.out, complex_of(working));
    spec.stages.push_back(s);
  }
  spec.scale = fft_scale(norm, direction.sign, points);
  spec.working = working;
  spec.result = kind == FftKind::complex_to_real ? real_of(spec.working) : complex_of(spec.working);
  return spec;
}

}  // namespace tessera::streaming
