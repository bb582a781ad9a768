// SPDX-License-Identifier: Apache-2.0
#pragma once
// The transforms of local and distributed arrays: the same arguments, other functions.
//   bind_transforms<Array>(m, "Array", {&as_plain, &fftn, &ifftn, &rfftn, &irfftn, &fftshift});

#include "dist/dist.hpp"
#include "tessera/kernels/fft/fft.hpp"

namespace tessera::python {

// --- fft.cpp
struct Transform {
  std::optional<Shape> sizes;  // along the axes
  Shape axes;
  Norm norm = Norm::backward;
};
Transform transform_from(i64 ndim, nb::handle n, nb::handle axes, nb::handle norm);
// All of them when None.
Shape axes_or_all(nb::handle axes, i64 ndim);

template <class A>
struct Transforms {
  using F = A (*)(const A& x, const Shape& axes, Norm norm, const std::optional<Shape>& sizes);
  A (*operand)(nb::handle h, std::string_view who);
  F fftn, ifftn, rfftn, irfftn;
  A (*fftshift)(const A& x, const Shape& axes, bool inverse);

  F named(std::string_view kind) const {
    if (kind == "fftn") return fftn;
    if (kind == "ifftn") return ifftn;
    if (kind == "rfftn") return rfftn;
    require<ArgumentError>(kind == "irfftn", "fft: no transform named ", kind);
    return irfftn;
  }
};

// The two entries through which tessera/fft.py reaches them.
template <class A>
void bind_transforms(nb::module_& m, const char* type, const Transforms<A>& all) {
  m.def(
      "_fft",
      [all](const std::string& kind, nb::handle x, nb::handle n, nb::handle axes, nb::handle norm) {
        const auto f = all.named(kind);
        const A a = all.operand(x, kind);
        const Transform t = transform_from(a.ndim(), n, axes, norm);
        return wrap(released([&] { return f(a, t.axes, t.norm, t.sizes); }));
      },
      nb::arg("kind"), nb::arg("x"), nb::arg("n").none(), nb::arg("axes").none(),
      nb::arg("norm").none(),
      nb::sig(cat("def _fft(kind: str, x: ArrayLike, n: ShapeLike | None, axes: ShapeLike | None, "
                  "norm: str | None) -> ",
                  type)
                  .c_str()));
  m.def(
      "_fftshift",
      [all](nb::handle x, nb::handle axes, bool inverse) {
        const A a = all.operand(x, "fftshift");
        const Shape along = axes_or_all(axes, a.ndim());
        return wrap(released([&] { return all.fftshift(a, along, inverse); }));
      },
      nb::arg("x"), nb::arg("axes").none(), nb::arg("inverse"),
      nb::sig(cat("def _fftshift(x: ArrayLike, axes: ShapeLike | None, inverse: bool) -> ", type)
                  .c_str()));
}

}  // namespace tessera::python
