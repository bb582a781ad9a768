// SPDX-License-Identifier: Apache-2.0
// The one entry through which tessera/fft.py reaches the transforms.
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

Array transformed(const std::string& kind, nb::handle x, nb::handle n, nb::handle axes,
                  nb::handle norm) {
  const auto f = kind_of_transform(kind, &fftn, &ifftn, &rfftn, &irfftn);
  const Array a = as_array(x, kind);
  const Transform t = transform_from(a.ndim(), n, axes, norm);
  return released([&] { return f(a, t.axes, t.norm, t.sizes); });
}

Array shifted(nb::handle x, nb::handle axes, bool inverse) {
  const Array a = as_array(x, "fftshift");
  const Shape along = axes_or_all(axes, a.ndim());
  return released([&] { return fftshift(a, along, inverse); });
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
  m.def("_fft", &transformed, nb::arg("kind"), nb::arg("x"), nb::arg("n").none(),
        nb::arg("axes").none(), nb::arg("norm").none(),
        nb::sig("def _fft(kind: str, x: ArrayLike, n: ShapeLike | None, axes: ShapeLike | None, "
                "norm: str | None) -> Array"));
  m.def("_fftshift", &shifted, nb::arg("x"), nb::arg("axes").none(), nb::arg("inverse"),
        nb::sig("def _fftshift(x: ArrayLike, axes: ShapeLike | None, inverse: bool) -> Array"));
}

}  // namespace tessera::python
