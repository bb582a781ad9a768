// SPDX-License-Identifier: Apache-2.0
// What stands around a NUFFT: weights of its points, and transforms of objects that turn meanwhile.
#include <nanobind/stl/optional.h>

#include "linop/operators.hpp"
#include "tessera/linop/ops/transforms/density.hpp"
#include "tessera/linop/ops/transforms/field_map.hpp"
#include "tessera/linop/ops/transforms/nufft_type3.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

std::optional<Dims> given_dims(nb::handle h) {
  return h.is_none() ? std::nullopt : std::optional(dims_from(h));
}

nb::object density_of(const ReadArg& locs, const ShapeArg& grid_size, const std::string& method,
                      i64 iterations) {
  DensityOptions o;
  o.method = method == "cells" ? DensityMethod::cells : DensityMethod::pipe_menon;
  o.iterations = iterations;
  const Array at = as_array(locs, "density_compensation");
  const Shape grid = shape_from(grid_size);
  return wrap(released([&] { return density_compensation(at, grid, o); }));
}

nb::object make_field_map_nufft(const ArrayArg& locs, const ShapeArg& grid_size,
                                const ReadArg& field_map, const ReadArg& times,
                                const DimsArg& output_shape, const DimsArg& input_shape,
                                const DimsArg& batch_shape, double tol, std::optional<i64> segments,
                                const std::string& segmentation, bool wrap,
                                std::optional<bool> toeplitz, const TextArg& name) {
  FieldMapOptions o;
  o.wrap = wrap;
  o.toeplitz = toeplitz;
  o.tol = tol;
  o.segments = segments;
  require<ArgumentError>(segmentation == "time" || segmentation == "frequency",
                         "FieldMapNUFFT: segmentation is 'time' or 'frequency', got '",
                         segmentation, "'");
  o.segmentation = segmentation == "time" ? Segmentation::time : Segmentation::frequency;
  o.output_shape = given_dims(output_shape);
  o.input_shape = given_dims(input_shape);
  if (!batch_shape.is_none()) o.batch_shape = dims_from(batch_shape);
  const Array at = as_array(owned(locs), "FieldMapNUFFT"), f = as_array(field_map, "FieldMapNUFFT"),
              t = as_array(times, "FieldMapNUFFT");
  const Shape grid = shape_from(grid_size);
  const NamedLinop made = released([&] { return field_map_nufft(at, grid, f, t, o); });
  return named(wrap_linop(made), name, "FieldMapNUFFT");
}

nb::object make_nufft_type3(const ReadArg& points, const ReadArg& frequencies,
                            const DimsArg& output_shape, const DimsArg& input_shape,
                            const DimsArg& batch_shape, double tol, int sign, const TextArg& name) {
  NufftType3Options o;
  o.tol = tol;
  o.sign = sign;
  o.output_shape = given_dims(output_shape);
  o.input_shape = given_dims(input_shape);
  if (!batch_shape.is_none()) o.batch_shape = dims_from(batch_shape);
  const Array x = as_array(points, "NUFFT3"), s = as_array(frequencies, "NUFFT3");
  const NamedLinop made = released([&] { return nufft_type3(x, s, o); });
  return named(wrap_linop(made), name, "NUFFT3");
}

}  // namespace

void bind_trajectories(nb::module_& m) {
  m.def("_density_compensation", &density_of, "locs"_a, "grid_size"_a, "method"_a, "iterations"_a,
        nb::sig("def _density_compensation(locs: ArrayLike, grid_size: ShapeLike, method: str, "
                "iterations: int) -> Array"));
  m.def(
      "FieldMapNUFFT", &make_field_map_nufft, "locs"_a, "grid_size"_a, "field_map"_a, "times"_a,
      "output_shape"_a = nb::none(), "input_shape"_a = nb::none(), "batch_shape"_a = nb::none(),
      nb::kw_only(), "tol"_a = 1e-3, "segments"_a = nb::none(), "segmentation"_a = "time",
      "wrap"_a = false, "toeplitz"_a = nb::none(), "name"_a = nb::none(),
      nb::sig("def FieldMapNUFFT(locs: ArrayLike, grid_size: ShapeLike, field_map: ArrayLike, "
              "times: ArrayLike, output_shape: DimsLike | None = None, input_shape: DimsLike | "
              "None = None, batch_shape: DimsLike | None = None, *, tol: float = 0.001, segments: "
              "int | None = None, segmentation: str = 'time', wrap: bool = False, toeplitz: bool | "
              "None "
              "= None, name: str | None = None) -> NamedLinop"),
      documented(
          "FieldMapNUFFT",
          "The NUFFT of an object whose pixels turn by field_map (hertz) during times (seconds): "
          "sums "
          "of\nx[n] exp(-2 pi i (k (n - N//2) / N + field_map[n] time)) / sqrt(N), to the relative "
          "error "
          "tol.\n\nIt is a Dense, a NUFFT of several segments and a Dense; segments=None takes as "
          "few "
          "as "
          "reach\ntol. times have the shape of the points or its last axes.\n\n"
          ">>> k, hertz, seconds = np.linspace(-4, 4, 20)[:, None], np.arange(8) * 10.0, "
          "np.linspace(0, "
          "0.02, 20)\n"
          ">>> A = ts.FieldMapNUFFT(k, (8,), hertz, seconds, tol=1e-6)\n"
          ">>> turns = k * (np.arange(8) - 4) / 8 + hertz * seconds[:, None]\n"
          ">>> exact = np.exp(-2j * np.pi * turns).sum(1) / 8 ** 0.5\n"
          ">>> float(abs(A(np.ones(8)).numpy() - exact).max()) < 1e-6\nTrue\n"));
  m.def("NUFFT3", &make_nufft_type3, "points"_a, "frequencies"_a, "output_shape"_a = nb::none(),
        "input_shape"_a = nb::none(), "batch_shape"_a = nb::none(), nb::kw_only(), "tol"_a = 1e-6,
        "sign"_a = -1, "name"_a = nb::none(),
        nb::sig(
            "def NUFFT3(points: ArrayLike, frequencies: ArrayLike, output_shape: DimsLike | None "
            "= None, input_shape: DimsLike | None = None, batch_shape: DimsLike | None = None, *, "
            "tol: float = 1e-06, sign: int = -1, name: str | None = None) -> NamedLinop"),
        documented(
            "NUFFT3",
            "The Fourier sum from points to frequencies, both anywhere (a NUFFT of type 3): sums "
            "over j "
            "of\nc[j] exp(sign i s[k] . x[j]), in radians and not normalised, to the relative "
            "error tol, "
            "from 1e-11.\n\npoints and frequencies have the shape (..., axes), with one to three "
            "axes; "
            "the operator is a chain of\na Diagonal, the adjoint of an Interpolate, a NUFFT and a "
            "Diagonal.\n\n"
            ">>> x, s = np.array([[0.0], [0.5], [7.25]]), np.array([[-3.0], [0.1]])\n"
            ">>> A = ts.NUFFT3(x, s, tol=1e-9)\n"
            ">>> exact = np.exp(-1j * s * x.T) @ np.ones(3)\n"
            ">>> A.ishape, A.oshape, float(abs(A(np.ones(3)).numpy() - exact).max()) < 1e-8\n"
            "((..., J), (..., K), True)\n"));
}

}  // namespace tessera::python
