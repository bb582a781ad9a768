// SPDX-License-Identifier: Apache-2.0
// Transforms of local arrays, and what the arguments of all transforms mean.
#include "array/fft.hpp"

namespace tessera::python {

namespace {

Norm norm_from(nb::handle h) {
  if (h.is_none()) return Norm::backward;
  const std::string s = nb::cast<std::string>(nb::str(nb::borrow(h)));
  if (s == "backward") return Norm::backward;
  if (s == "ortho") return Norm::ortho;
  if (s == "forward") return Norm::forward;
  throw ArgumentError(
      cat("Invalid norm value ", s, "; should be \"backward\", \"ortho\" or \"forward\"."));
}

}  // namespace

Shape axes_or_all(nb::handle axes, i64 ndim) {
  if (!axes.is_none()) return shape_from(axes);
  Shape all;
  for (i64 i = 0; i < ndim; ++i) all.push_back(i);
  return all;
}

Transform transform_from(i64 ndim, nb::handle n, nb::handle axes, nb::handle norm) {
  Transform t;
  t.sizes = shape_or_none(n);
  // -1 means "as it is" only where lengths are given by axis, as in NumPy.
  if (t.sizes && t.sizes->size() == 1 && PyIndex_Check(n.ptr()))
    require<ArgumentError>((*t.sizes)[0] >= 1, "Invalid number of FFT data points (", (*t.sizes)[0],
                           ") specified.");
  if (!axes.is_none()) {
    t.axes = shape_from(axes);
  } else {
    const i64 count = t.sizes ? t.sizes->size() : ndim;
    for (i64 i = -count; i < 0; ++i) t.axes.push_back(i);
  }
  require<ArgumentError>(!t.sizes || t.sizes->size() == t.axes.size(),
                         "Shape and axes have different lengths.");
  t.norm = norm_from(norm);
  return t;
}

void bind_fft(nb::module_& m) {
  const auto operand = [](nb::handle h, std::string_view who) { return as_array(h, who); };
  bind_transforms<Array>(m, "Array", {operand, &fftn, &ifftn, &rfftn, &irfftn, &fftshift});
}

}  // namespace tessera::python
