// SPDX-License-Identifier: Apache-2.0
// The one entry through which tessera/fft.py reaches the transforms.
#include "tessera/kernels/fft/fft.hpp"

#include "common.hpp"

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

using Transform = Array (*)(const Array&, const Shape&, Norm, const std::optional<Shape>&);

Transform transform_from(std::string_view kind) {
  if (kind == "fftn") return &fftn;
  if (kind == "ifftn") return &ifftn;
  if (kind == "rfftn") return &rfftn;
  require<ArgumentError>(kind == "irfftn", "fft: no transform named ", kind);
  return &irfftn;
}

Array transformed(const std::string& kind, nb::handle x, nb::handle n, nb::handle axes,
                  nb::handle norm) {
  const Transform f = transform_from(kind);
  const Array a = as_array(x, kind);
  const auto sizes = shape_or_none(n);
  Shape along;
  if (!axes.is_none()) {
    along = shape_from(axes);
  } else {
    const i64 count = sizes ? sizes->size() : a.ndim();
    for (i64 i = -count; i < 0; ++i) along.push_back(i);
  }
  require<ArgumentError>(!sizes || sizes->size() == along.size(),
                         "Shape and axes have different lengths.");
  const Norm scaling = norm_from(norm);
  return released([&] { return f(a, along, scaling, sizes); });
}

Array shifted(nb::handle x, nb::handle axes, bool inverse) {
  const Array a = as_array(x, "fftshift");
  Shape along;
  if (axes.is_none()) {
    for (i64 i = 0; i < a.ndim(); ++i) along.push_back(i);
  } else {
    along = shape_from(axes);
  }
  return released([&] { return fftshift(a, along, inverse); });
}

}  // namespace

void bind_fft(nb::module_& m) {
  m.def("_fft", &transformed, nb::arg("kind"), nb::arg("x"), nb::arg("n").none(),
        nb::arg("axes").none(), nb::arg("norm").none(),
        nb::sig("def _fft(kind: str, x: ArrayLike, n: ShapeLike | None, axes: ShapeLike | None, "
                "norm: str | None) -> Array"));
  m.def("_fftshift", &shifted, nb::arg("x"), nb::arg("axes").none(), nb::arg("inverse"),
        nb::sig("def _fftshift(x: ArrayLike, axes: ShapeLike | None, inverse: bool) -> Array"));
}

}  // namespace tessera::python
