// SPDX-License-Identifier: Apache-2.0
// The entries through which tessera/_stored_transforms.py reaches the transforms.
#include "streaming/stored_transforms.hpp"

#include "array/fft.hpp"
#include "tessera/streaming/stored/stored_transforms.hpp"

namespace tessera::python {
namespace {

using streaming::Direction;
using streaming::StoredArray;

Direction direction_from(std::string_view kind) {
  if (kind == "hfft") return {FftKind::complex_to_real, +1, true};
  if (kind == "ihfft") return {FftKind::real_to_complex, -1, true};
  if (kind == "fftn") return {FftKind::complex, -1};
  if (kind == "ifftn") return {FftKind::complex, +1};
  if (kind == "rfftn") return {FftKind::real_to_complex, -1};
  require<ArgumentError>(kind == "irfftn", "fft: no transform named ", kind);
  return {FftKind::complex_to_real, +1};
}

}  // namespace

void bind_stored_transforms(nb::module_& m) {
  m.def(
      "_stored_fft",
      [](const std::string& kind, const StoredArray& x, nb::handle n, nb::handle axes,
         nb::handle norm, const std::string& path) {
        const Direction d = direction_from(kind);
        const Transform t = transform_from(x.ndim(), n, axes, norm);
        return released([&] { return streaming::transform(x, d, t.axes, t.norm, t.sizes, path); });
      },
      nb::arg("kind"), nb::arg("x"), nb::arg("n").none(), nb::arg("axes").none(),
      nb::arg("norm").none(), nb::arg("path"),
      nb::sig("def _stored_fft(kind: str, x: StoredArray, n: ShapeLike | None, axes: ShapeLike | "
              "None, norm: str | None, path: str) -> StoredArray"));
  m.def(
      "_stored_fftshift",
      [](const StoredArray& x, nb::handle axes, bool inverse, const std::string& path) {
        const Shape along = axes_or_all(axes, x.ndim());
        return released([&] { return streaming::fftshift(x, along, inverse, path); });
      },
      nb::arg("x"), nb::arg("axes").none(), nb::arg("inverse"), nb::arg("path"),
      nb::sig("def _stored_fftshift(x: StoredArray, axes: ShapeLike | None, inverse: bool, path: "
              "str) -> StoredArray"));
}

}  // namespace tessera::python
