// SPDX-License-Identifier: Apache-2.0
// The one entry through which tessera/dist/fft.py reaches the transforms.
#include "array/fft.hpp"
#include "dist/dist.hpp"
#include "tessera/distributed/fft/fft.hpp"

namespace tessera::python {

namespace {

nb::object transformed(const std::string& kind, nb::handle x, nb::handle n, nb::handle axes,
                       nb::handle norm) {
  const auto f = kind_of_transform(kind, &dist::fftn, &dist::ifftn, &dist::rfftn, &dist::irfftn);
  const DNDarray a = as_dist(x, kind);
  const Transform t = transform_from(a.ndim(), n, axes, norm);
  return wrap(released([&] { return f(a, t.axes, t.norm, t.sizes); }));
}

nb::object shifted(nb::handle x, nb::handle axes, bool inverse) {
  const DNDarray a = as_dist(x, "fftshift");
  const Shape along = axes_or_all(axes, a.ndim());
  return wrap(released([&] { return dist::fftshift(a, along, inverse); }));
}

}  // namespace

void bind_dist_fft(nb::module_& m) {
  m.def("_fft", &transformed, nb::arg("kind"), nb::arg("x"), nb::arg("n").none(),
        nb::arg("axes").none(), nb::arg("norm").none(),
        nb::sig("def _fft(kind: str, x: ArrayLike, n: ShapeLike | None, axes: ShapeLike | None, "
                "norm: str | None) -> DNDarray"));
  m.def("_fftshift", &shifted, nb::arg("x"), nb::arg("axes").none(), nb::arg("inverse"),
        nb::sig("def _fftshift(x: ArrayLike, axes: ShapeLike | None, inverse: bool) -> DNDarray"));
}

}  // namespace tessera::python
