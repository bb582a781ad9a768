// SPDX-License-Identifier: Apache-2.0
// Operators between grids and points, and sparse matrices.
#include <nanobind/stl/optional.h>

#include "core/sequence.hpp"
#include "linop/operators.hpp"
#include "tessera/array/index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/linop/containers/stack.hpp"
#include "tessera/linop/ops/basic/sparse.hpp"
#include "tessera/linop/ops/sampling/interpolate.hpp"
#include "tessera/linop/ops/sampling/sampling.hpp"
#include "tessera/linop/ops/transforms/nufft.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

std::optional<Dims> dims_or_none(nb::handle h) {
  return h.is_none() ? std::nullopt : std::optional(dims_from(h));
}

double number_from(nb::handle h, std::string_view who) { return value_from(h, who).as<double>(); }

// A number for all axes, or a sequence with one for each.
SmallVec<double, 3> widths_from(nb::handle h, i64 axes, std::string_view who) {
  if (!has_items(h)) return {number_from(h, who)};
  SmallVec<double, 3> w;
  for (nb::handle item : nb::borrow<nb::sequence>(h)) w.push_back(number_from(item, who));
  require<ArgumentError>(w.size() == axes, who, ": ", w.size(), " widths for ", axes,
                         " axes; expected a number for all or one each");
  return w;
}

SpreadKernel kernel_from(nb::handle width, i64 axes, const std::string& kind, int norm,
                         const std::string& pad_mode, nb::handle params) {
  SpreadKernel k;
  k.width = widths_from(width, axes, "Interpolate");
  require<ArgumentError>(kind == "kaiser_bessel" || kind == "spline",
                         "Interpolate: kernel is 'kaiser_bessel' or 'spline', got '", kind, "'");
  k.kind = kind == "spline" ? SpreadKind::spline : SpreadKind::kaiser_bessel;
  k.norm = norm;
  require<ArgumentError>(pad_mode == "circular" || pad_mode == "zero",
                         "Interpolate: pad_mode is 'circular' or 'zero', got '", pad_mode, "'");
  k.circular = pad_mode == "circular";
  if (params.is_none()) return k;
  require<DTypeError>(PyDict_Check(params.ptr()),
                      "Interpolate: kernel_params is a dict {'beta': "
                      "number}, got ",
                      Py_TYPE(params.ptr())->tp_name);
  for (const auto& [key, value] : nb::borrow<nb::dict>(params)) {
    const std::string name = nb::str(nb::borrow(key)).c_str();
    require<ArgumentError>(name == "beta", "Interpolate: kernel_params know 'beta', got '", name,
                           "'");
    k.beta = number_from(value, "Interpolate");
  }
  return k;
}

nb::object interpolate(const ArrayArg& locs, const ShapeArg& grid_size, const DimsArg& batch_shape,
                       const DimsArg& locs_batch_shape, const DimsArg& grid_shape,
                       const WidthArg& width, const std::string& kernel, int norm,
                       const std::string& pad_mode, const ParametersArg& kernel_params) {
  const Shape grid = shape_from(grid_size);
  return wrap_linop(
      Interpolate(as_array(locs, "Interpolate"), grid, dims_or_any(batch_shape),
                  dims_or_none(locs_batch_shape), dims_or_none(grid_shape),
                  kernel_from(width, grid.size(), kernel, norm, pad_mode, kernel_params)));
}

// With slices, the key is applied to the numbered grid, as NumPy would.
Array positions_of_key(const nb::sequence& idx, const Shape& size) {
  const Array numbers =
      arange(Value(0), Value(count_of(size)), Value(1), DType::i64, cpu).reshape(size);
  const nb::object picked = nb::steal(array_subscript(wrap(numbers).ptr(), nb::tuple(idx).ptr()));
  if (!picked.is_valid()) throw nb::python_error();
  return as_array(picked, "Sampling");
}

nb::object sampling(const IndicesArg& idx, const ShapeArg& input_size, const DimsArg& output_shape,
                    const DimsArg& input_shape, const DimsArg& batch_shape) {
  const Shape size = shape_from(input_size);
  require<ArgumentError>(nb::isinstance<nb::tuple>(idx) || nb::isinstance<nb::list>(idx),
                         "Sampling: idx is a tuple with an index array for each axis");
  const nb::sequence items = nb::borrow<nb::sequence>(idx);
  std::vector<Array> each;
  bool slices = false;
  for (nb::handle h : items) {
    if (PySlice_Check(h.ptr())) {
      slices = true;
      each.push_back(zeros({1}, DType::i64));
      continue;
    }
    each.push_back(as_array(h, "Sampling"));
  }
  const Sampling checked(each, size, slices ? std::nullopt : dims_or_none(output_shape),
                         dims_or_none(input_shape), dims_or_any(batch_shape));
  if (!slices) return wrap_linop(checked);
  return wrap_linop(Sampling::from_positions(positions_of_key(items, size), size,
                                             dims_or_none(output_shape), dims_or_none(input_shape),
                                             dims_or_any(batch_shape)));
}

nb::object sampling_from_mask(const ReadArg& mask, const ShapeArg& input_size,
                              const DimsArg& output_shape, const DimsArg& input_shape,
                              const DimsArg& batch_shape) {
  return wrap_linop(Sampling::from_mask(as_array(mask, "Sampling.from_mask"),
                                        shape_or_none(input_size), dims_or_none(output_shape),
                                        dims_or_none(input_shape), dims_or_any(batch_shape)));
}

nb::object sampling_from_stacked(const ReadArg& idx, const ShapeArg& input_size,
                                 const DimsArg& output_shape, const DimsArg& input_shape,
                                 const DimsArg& batch_shape, i64 dim) {
  Array i = as_array(idx, "Sampling.from_stacked_idx");
  const i64 axis = normalize_axis(dim, i.ndim(), "Sampling.from_stacked_idx");
  Shape order;
  for (i64 a = 0; a < i.ndim(); ++a)
    if (a != axis) order.push_back(a);
  order.push_back(axis);
  return wrap_linop(Sampling::from_stacked_idx(
      i.permute(order), shape_from(input_size), dims_or_none(output_shape),
      dims_or_none(input_shape), dims_or_any(batch_shape)));
}

// One transform for each position along the leading dims of the locations, which input and output
// have in front, too: each frame has its own trajectory.
NamedLinop paired(const Dims& frames, i64 depth, const Array& locs,
                  const std::function<NamedLinop(const Array&)>& one) {
  if (depth == frames.size()) return one(locs);
  std::vector<NamedLinop> parts;
  for (i64 t = 0; t < locs.shape(0); ++t)
    parts.push_back(paired(frames, depth + 1, locs.select(0, t), one));
  const StackDim dim{frames[depth], 0};
  return stack(std::move(parts), dim, dim);
}

nb::object make_nufft(const ArrayArg& locs, const ShapeArg& grid_size, const DimsArg& output_shape,
                      const DimsArg& input_shape, const DimsArg& input_kshape,
                      const DimsArg& batch_shape, std::optional<double> oversamp,
                      std::optional<double> width, const std::string& mode, bool do_prep_locs,
                      const ArrayArg& apodize_weights, std::optional<bool> toeplitz,
                      const DTypeArg& toeplitz_dtype, double toeplitz_oversamp,
                      const DimsArg& locs_batch_shape, std::optional<double> tol, bool wrap) {
  NufftOptions o;
  o.wrap = wrap;
  o.oversamp = oversamp.value_or(o.oversamp);
  o.width = width.value_or(o.width);
  require<ArgumentError>(mode == "interpolate" || mode == "sampling",
                         "NUFFT: mode is 'interpolate' or 'sampling', got '", mode, "'");
  o.mode = mode == "sampling" ? NufftMode::sampling : NufftMode::interpolate;
  o.do_prep_locs = do_prep_locs;
  if (!apodize_weights.is_none()) o.apodize_weights = as_array(apodize_weights, "NUFFT");
  o.toeplitz_dtype = dtype_or_none(toeplitz_dtype);
  o.toeplitz_oversamp = toeplitz_oversamp;
  const Array points = as_array(locs, "NUFFT");
  const Dims frames = dims_from(locs_batch_shape);
  require<ShapeError>(frames.size() < points.ndim() && (frames.empty() || points.size() > 0),
                      "NUFFT: locations of shape ", points.shape(), " for the frames ",
                      to_text(frames), "; expected an axis for each frame dim before (..., axes)");
  if (tol) {
    const char* other = oversamp                     ? "oversamp"
                        : width                      ? "width"
                        : mode == "sampling"         ? "mode='sampling'"
                        : !do_prep_locs              ? "do_prep_locs=False"
                        : !apodize_weights.is_none() ? "apodize_weights"
                                                     : nullptr;
    require<ArgumentError>(!other, "NUFFT: tol and ", other ? other : "",
                           " were given; tol chooses oversampling, kernel and apodisation");
    i64 points_of_one = 1;
    for (i64 a = frames.size(); a < points.ndim() - 1; ++a) points_of_one *= points.shape(a);
    const NufftOptions k = nufft::options_for(*tol, shape_from(grid_size), points_of_one);
    o.oversamp = k.oversamp;
    o.width = k.width;
    o.toeplitz = k.toeplitz;
    o.chosen_by_cost = !toeplitz;
  }
  o.toeplitz = toeplitz.value_or(o.toeplitz);
  return wrap_linop(paired(frames, 0, points, [&](const Array& at) -> NamedLinop {
    return NUFFT(at, shape_from(grid_size), dims_or_none(output_shape), dims_or_none(input_shape),
                 dims_or_none(input_kshape), dims_or_any(batch_shape), o);
  }));
}

std::pair<i64, i64> matrix_shape(nb::handle shape) {
  const Shape s = shape_from(shape);
  require<ShapeError>(s.size() == 2, "Sparse: a matrix of shape ", s, "; expected two sizes");
  return {s[0], s[1]};
}

// (data, indices, indptr), (data, (rows, columns)), an object of SciPy, or a dense matrix.
CsrMatrix matrix_from(nb::handle h, nb::handle shape, const std::string& who) {
  if (nb::hasattr(h, "tocsr")) {
    const nb::object csr = h.attr("tocsr")();
    const auto [rows, columns] = matrix_shape(csr.attr("shape"));
    return make_csr(as_array(csr.attr("data"), who), as_array(csr.attr("indices"), who),
                    as_array(csr.attr("indptr"), who), rows, columns, who);
  }
  if (!nb::isinstance<nb::tuple>(h)) return csr_from_dense(as_array(h, who), who);
  const nb::tuple t = nb::borrow<nb::tuple>(h);
  require<ArgumentError>((t.size() == 2 || t.size() == 3) && !shape.is_none(), who,
                         ": expected (data, indices, indptr) or (data, (rows, columns)) and "
                         "the shape of the matrix");
  const auto [rows, columns] = matrix_shape(shape);
  if (t.size() == 3)
    return make_csr(as_array(t[0], who), as_array(t[1], who), as_array(t[2], who), rows, columns,
                    who);
  const nb::object at = t[1];
  require<ArgumentError>(PySequence_Check(at.ptr()) != 0 && nb::len(at) == 2, who,
                         ": expected (data, (rows, columns))");
  return csr_from_coo(as_array(t[0], who), as_array(at[0], who), as_array(at[1], who), rows,
                      columns, who);
}

nb::object make_sparse(const ArrayArg& matrix, const DimsArg& ishape, const DimsArg& oshape,
                       const ShapeArg& input_size, const ShapeArg& output_size,
                       const DimsArg& batch_shape, const ShapeArg& shape) {
  const Dims in = dims_or_none(ishape).value_or(Dims{NamedDimension("N")}),
             out = dims_or_none(oshape).value_or(Dims{NamedDimension("M")});
  const std::string who = cat("Sparse ", to_text(in), " -> ", to_text(out));
  return wrap_linop(Sparse(matrix_from(matrix, shape, who), in, out,
                           shape_or_none(input_size).value_or(Shape{}),
                           shape_or_none(output_size).value_or(Shape{}), dims_or_any(batch_shape)));
}

void bind_interpolate(nb::module_& m) {
  auto c = add_operator<Interpolate>(
      m, "Interpolate",
      "Values at points off a grid, by a kernel of given width; the adjoint is gridding.\n\n"
      ">>> A = ts.Interpolate([[3.5]], (8,), width=4, kernel='spline')\n"
      ">>> A([1., 2., 3., 4., 5., 6., 7., 8.]).tolist()\n[9.0]\n",
      &interpolate, "locs"_a, "grid_size"_a, "batch_shape"_a = nb::none(),
      "locs_batch_shape"_a = nb::none(), "grid_shape"_a = nb::none(), "width"_a = 4.0,
      "kernel"_a = "kaiser_bessel", "norm"_a = 1, "pad_mode"_a = "circular",
      "kernel_params"_a = nb::none());
  c.def_prop_ro(
      "locs", [](const LinopObject& a) { return wrap(a.op.as<Interpolate>()->positions().copy()); },
      "A copy of the locations, (..., axes).");
}

void bind_sampling(nb::module_& m) {
  auto c = add_operator<Sampling>(
      m, "Sampling",
      "Points of a grid picked by their indices; the adjoint adds them back.\n\n"
      ">>> A = ts.Sampling(([0, 2],), (4,))\n"
      ">>> A([1, 2, 3, 4]).tolist(), A.H([5, 6]).tolist()\n([1, 3], [5, 0, 6, 0])\n",
      &sampling, "idx"_a, "input_size"_a, "output_shape"_a = nb::none(),
      "input_shape"_a = nb::none(), "batch_shape"_a = nb::none());
  add_constructor(c, "from_mask", &sampling_from_mask, "mask"_a, "input_size"_a = nb::none(),
                  "output_shape"_a = nb::none(), "input_shape"_a = nb::none(),
                  "batch_shape"_a = nb::none(),
                  "The points where a bool array is true.\n\n"
                  ">>> ts.Sampling.from_mask([True, False, True])([1, 2, 3]).tolist()\n[1, 3]\n");
  add_constructor(c, "from_stacked_idx", &sampling_from_stacked, "idx"_a, "input_size"_a,
                  "output_shape"_a = nb::none(), "input_shape"_a = nb::none(),
                  "batch_shape"_a = nb::none(), "dim"_a = -1,
                  "Indices of shape (..., axes).\n\n"
                  ">>> ts.Sampling.from_stacked_idx([[1, 0]], (2, 2))([[1, 2], [3, 4]]).tolist()\n"
                  "[3]\n");
  c.def_prop_ro(
      "locs", [](const LinopObject& a) { return wrap(a.op.as<Sampling>()->locs()); },
      "The indices, (..., axes).");
}

void bind_nufft(nb::module_& m) {
  auto c = add_operator<NUFFT>(
      m, "NUFFT",
      "The Fourier transform at arbitrary frequencies, in [-n/2, n/2] along each axis.\n\n"
      ">>> A = ts.NUFFT([[0.0], [0.3]], (8,), oversamp=2, width=6)\n"
      ">>> y = A([1, 2, 3, 4, 5, 6, 7, 8])\n"
      ">>> abs(complex(y[0]) - 36 / 8 ** 0.5) < 1e-4\nTrue\n"
      "\noversamp (1.25) and width (4) set the accuracy, or tol chooses them: the relative error "
      "in\n"
      "double precision, from 1e-12, against an exact sum.\n\n"
      ">>> A = ts.NUFFT([[0.0], [0.3]], (8,), tol=1e-9)\n"
      ">>> abs(complex(A([1, 2, 3, 4, 5, 6, 7, 8])[0]) - 36 / 8 ** 0.5) < 1e-8\nTrue\n"
      "\ntoeplitz=True makes normal operators convolutions; None takes, where tol is given, what "
      "is\n"
      "predicted to be cheaper (explain() says which), and gridding otherwise.\n"
      "\nlocs_batch_shape names leading axes of the locations that input and output have too, in "
      "front:\neach frame is transformed along its own trajectory.\n\n"
      ">>> frames = ts.NUFFT(np.zeros((3, 5, 1)), (8,), locs_batch_shape=('T',), batch_shape=())\n"
      ">>> frames.ishape, frames.oshape, frames(np.ones((3, 8))).shape\n"
      "((T, Nx), (T, K), (3, 5))\n",
      &make_nufft, "locs"_a, "grid_size"_a, "output_shape"_a = nb::none(),
      "input_shape"_a = nb::none(), "input_kshape"_a = nb::none(), "batch_shape"_a = nb::none(),
      "oversamp"_a = nb::none(), "width"_a = nb::none(), "mode"_a = "interpolate",
      "do_prep_locs"_a = true, "apodize_weights"_a = nb::none(), "toeplitz"_a = nb::none(),
      "toeplitz_dtype"_a = nb::none(), "toeplitz_oversamp"_a = 2.0,
      "locs_batch_shape"_a = nb::none(), "tol"_a = nb::none(), "wrap"_a = false);
  c.def_prop_ro(
      "locs", [](const LinopObject& a) { return wrap(a.op.as<NUFFT>()->locs.copy()); },
      "A copy of the frequencies, (..., axes).");
  c.def(
      "with_locs",
      [](const LinopObject& a, const ArrayArg& locs, bool copy) {
        const ArrayArg kept = held_by_operator(locs, copy);
        return wrap_linop(nufft::with_locs(a.op, as_array(kept, "NUFFT")));
      },
      "locs"_a, nb::kw_only(), "copy"_a = true,
      nb::sig("def with_locs(self, locs: ArrayLike, *, copy: bool = True) -> NUFFT"),
      "The same transform at other frequencies: sizes, names, options and device stay, and only "
      "what\ndepends on the points is made anew. The new locations have the shape of the old.\n\n"
      ">>> A = ts.NUFFT([[0.0], [0.3]], (8,), tol=1e-9)\n"
      ">>> B = A.with_locs([[1.0], [-2.5]])\n"
      ">>> B.locs.tolist(), B.N.ishape == A.N.ishape\n([[1.0], [-2.5]], True)\n");
}

void bind_sparse(nb::module_& m) {
  add_operator<Sparse>(
      m, "Sparse",
      "A sparse matrix between named dims: one of SciPy's, (data, indices, indptr) or\n"
      "(data, (rows, columns)) with shape=, or a dense matrix whose zeros are left out.\n\n"
      ">>> A = ts.Sparse(([1.0, 2.0], ([0, 1], [2, 0])), shape=(2, 3))\n"
      ">>> A([1, 10, 100]).tolist(), A.H([1, 10]).tolist()\n([100.0, 2.0], [20.0, 0.0, 1.0])\n",
      &make_sparse, "matrix"_a, "ishape"_a = nb::none(), "oshape"_a = nb::none(),
      "input_size"_a = nb::none(), "output_size"_a = nb::none(), "batch_shape"_a = nb::none(),
      "shape"_a = nb::none());
}

}  // namespace

void bind_operators_gridding(nb::module_& m) {
  bind_interpolate(m);
  bind_sampling(m);
  bind_nufft(m);
  bind_sparse(m);
}

}  // namespace tessera::python
