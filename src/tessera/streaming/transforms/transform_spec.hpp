// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a Fourier transform of a stored array is asked to do, with the rules of the functions of
// arrays (kernels/fft/fft.hpp): which axes in which order, how many points along each, dtypes and
// shapes of what is read and of the result. No memory and no file is touched.
//   TransformSpec what = transform_spec({FftKind::complex, -1}, {1000, 700}, DType::f32, {0, 1});

#include <optional>
#include <vector>

#include "tessera/kernels/fft/fft.hpp"

namespace tessera::streaming {

struct Direction {
  FftKind kind = FftKind::complex;
  int sign = -1;
  // The transforms of Hermitian numbers: conjugates are transformed, or the result is conjugated,
  // on whichever side is complex.
  bool conjugate = false;
};

// The transform along one axis.
struct AxisTransform {
  i64 axis = 0;
  FftKind kind = FftKind::complex;
  i64 points = 0;       // of the transform
  i64 in = 0, out = 0;  // elements of a line before it, with zeros appended, and after it
};

struct TransformSpec {
  Direction direction;
  std::vector<AxisTransform> stages = {};  // in the order in which they may be run
  double scale = 1;
  Shape in, out;  // what is read, without what is cut off; and the result
  DType working = DType::c128, result = DType::c128;  // of the numbers that the first stage takes
};

// `n` as NumPy's s: sizes to cut or to pad with zeros to, one for each axis, -1 keeps it. Throws
// what fftn, ifftn, rfftn and irfftn throw.
TESSERA_API TransformSpec transform_spec(const Direction& direction, const Shape& shape,
                                         DType dtype, const Shape& axes, Norm norm = Norm::backward,
                                         const std::optional<Shape>& n = {});

// "rfftn"
TESSERA_API std::string_view name(const Direction& direction);

}  // namespace tessera::streaming
