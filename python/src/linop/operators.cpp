// SPDX-License-Identifier: Apache-2.0
// Constructors of the operators, with the arguments that their C++ structs take.
#include "linop/operators.hpp"

#include <map>

#include "matrix/matrix.hpp"
#include "streaming/stored_array.hpp"
#include "streaming/stored_operators.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/basic/scalar.hpp"
#include "tessera/linop/ops/basic/zero.hpp"
#include "tessera/linop/ops/transforms/fft.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

std::map<std::string, nb::handle, std::less<>>& classes() {
  static auto* c =
      new std::map<std::string, nb::handle, std::less<>>;  // handles: the module owns the classes
  return *c;
}

nb::object identity(const DimsArg& ishape, const DimsArg& oshape) {
  if (oshape.is_none()) return wrap_linop(Identity(dims_or_any(ishape)));
  return wrap_linop(Identity(dims_or_any(ishape), dims_from(oshape)));
}

nb::object zero(const DimsArg& ishape, const DimsArg& oshape, const SizesArg& sizes) {
  const Dims in = dims_from(ishape), out = oshape.is_none() ? in : dims_from(oshape);
  return wrap_linop(Zero(in, out, sizes_from(sizes, "Zero")));
}

nb::object diagonal(const ArrayArg& weight, const DimsArg& ioshape, const DimsArg& broadcast_dims) {
  if (is_stored(weight.ptr()))
    return stored_diagonal(weight, dims_or_any(ioshape), dims_from(broadcast_dims));
  return wrap_linop(
      Diagonal(as_array(weight, "Diagonal"), dims_or_any(ioshape), dims_from(broadcast_dims)));
}

nb::object scalar(const NumberArg& weight, const DimsArg& ioshape) {
  return wrap_linop(Scalar(value_from(weight, "Scalar"), dims_or_any(ioshape)));
}

nb::object dense(const ArrayArg& weight, const DimsArg& weightshape, const DimsArg& ishape,
                 const DimsArg& oshape, const DimsArg& broadcast_dims) {
  const int given = !weightshape.is_none() + !ishape.is_none() + !oshape.is_none();
  require<DimError>(given == 0 || given == 3,
                    "Dense: of weightshape, ishape and oshape either all must be None or none");
  if (is_stored(weight.ptr())) {
    const auto names = given ? std::optional(dims_from(weightshape)) : std::nullopt;
    return stored_dense(weight, names, dims_from(ishape), dims_from(oshape),
                        dims_from(broadcast_dims));
  }
  Array w = as_array(weight, "Dense");
  if (given == 0) return wrap_linop(Dense(std::move(w)));
  return wrap_linop(Dense(std::move(w), dims_from(weightshape), dims_from(ishape),
                          dims_from(oshape), dims_from(broadcast_dims)));
}

// "MN,N->M": weight, input, output.
nb::object dense_from_text(const ArrayArg& weight, const std::string& text,
                           const DimsArg& broadcast_dims) {
  const auto comma = text.find(','), arrow = text.find("->");
  require<ArgumentError>(comma != std::string::npos && arrow != std::string::npos && comma < arrow,
                         "Dense.from_einstr: expected 'weight,input->output', got '", text, "'");
  const Dims b = dims_from(broadcast_dims), w = dims(text.substr(0, comma));
  for (const NamedDimension d : b)
    require<DimError>(contains(w, d), "Dense.from_einstr: broadcast dim ", d,
                      " is not a dim of the weight ", w);
  const Dims ishape = dims(text.substr(comma + 1, arrow - comma - 1)),
             oshape = dims(text.substr(arrow + 2));
  if (is_stored(weight.ptr())) return stored_dense(weight, w, ishape, oshape, b);
  return wrap_linop(Dense(as_array(weight, "Dense"), w, ishape, oshape, b));
}

Norm norm_from(const std::string& s) {
  if (s == "ortho") return Norm::ortho;
  if (s == "backward") return Norm::backward;
  require<ArgumentError>(s == "forward", "FFT: norm is 'ortho', 'backward' or 'forward', got '", s,
                         "'");
  return Norm::forward;
}

nb::object fourier(i64 ndim, const DimsArg& batch_shape, const GridsArg& grid_shapes,
                   const std::string& norm, bool centered, i64 real) {
  std::optional<FFT::Grids> grids;
  if (!grid_shapes.is_none()) {
    require<DTypeError>(PySequence_Check(grid_shapes.ptr()) != 0,
                        "FFT: grid_shapes are two lists of names, got ",
                        Py_TYPE(grid_shapes.ptr())->tp_name);
    require<DimError>(nb::len(grid_shapes) == 2, "FFT: grid_shapes are two lists of names, got ",
                      nb::len(grid_shapes));
    grids =
        FFT::Grids(dims_from(nb::object(grid_shapes[0])), dims_from(nb::object(grid_shapes[1])));
  }
  return wrap_linop(FFT(ndim, dims_or_any(batch_shape), grids, norm_from(norm), centered, real));
}

}  // namespace

nb::handle class_of_kind(std::string_view kind) {
  const auto it = classes().find(kind);
  return it != classes().end() ? it->second : classes().find("NamedLinop")->second;
}

nb::object checked(nb::object linop, const char* kind) {
  const NamedShape s = linop_from(linop, kind).shape();
  for (const Dims* side : {&s.ishape, &s.oshape}) check_distinct(cat(kind, " ", s.str()), *side);
  return linop;
}

ArrayArg owned(const ArrayArg& given) {
  PyObject* o = given.ptr();
  if (given.is_none() || PyList_Check(o) || weak_value(o)) return given;  // read into new memory
  if (is_stored(o)) return given;  // the operator reads it tile by tile
  if (PyTuple_Check(o)) {
    nb::list parts;
    for (nb::handle part : nb::borrow<nb::tuple>(given))
      parts.append(owned(nb::borrow<ArrayArg>(part)));
    return nb::borrow<ArrayArg>(nb::tuple(parts));
  }
  if (is_matrix(given)) {
    const AnyMatrix& m = matrix_of(given);
    return nb::borrow<ArrayArg>(wrap(released([&] { return m.copy(); })));
  }
  if (nb::hasattr(given, "tocsr"))
    return nb::borrow<ArrayArg>(given.attr("tocsr")("copy"_a = true));
  const std::optional<Array> a = try_array(given);
  if (!a) return given;  // the constructor says what it expected
  return nb::borrow<ArrayArg>(wrap(released([&] {
    // What repeats is copied once.
    Layout once = a->layout();
    for (i64 i = 0; i < once.ndim(); ++i)
      if (once.strides[i] == 0) once.shape[i] = std::min<i64>(once.shape[i], 1);
    return a->view(once).copy().broadcast_to(a->shape());
  })));
}

void rethrow_naming(const char* kind) {
  const auto names = [&](const Error& e) { return std::string_view(e.what()).starts_with(kind); };
  try {
    throw;
  }
#define TESSERA_ERROR(Name)                \
  catch (const Name& e) {                  \
    if (names(e)) throw;                   \
    throw Name(cat(kind, ": ", e.what())); \
  }
  TESSERA_ERRORS(TESSERA_ERROR)
#undef TESSERA_ERROR
}

std::string name_from(nb::handle name, const char* kind) {
  if (name.is_none()) return {};
  require<DTypeError>(PyUnicode_Check(name.ptr()) != 0, kind, ": name is a ",
                      Py_TYPE(name.ptr())->tp_name, ", expected a str");
  return nb::cast<std::string>(name);
}

nb::object named(nb::object linop, nb::handle name, const char* kind) {
  if (name.is_none()) return linop;
  return wrap_linop(linop_from(linop, kind).named(name_from(name, kind)));
}

void set_class_of_kind(const char* kind, nb::handle c) { classes()[kind] = c; }

DimSizes sizes_from(nb::handle h, std::string_view who) {
  DimSizes s;
  if (h.is_none()) return s;
  require<DTypeError>(PyDict_Check(h.ptr()), who, ": expected a dict {dim: number}, got ",
                      Py_TYPE(h.ptr())->tp_name);
  for (auto [d, n] : nb::borrow<nb::dict>(h)) s.emplace_back(dimension_from(d), int_from(n, who));
  return s;
}

std::vector<NamedLinop> operators_from(const nb::args& args, const char* who) {
  std::vector<NamedLinop> l;
  for (nb::handle h : args) l.push_back(linop_from(h, who));
  require<ArgumentError>(!l.empty(), who, ": expected at least one operator");
  return l;
}

void bind_operators(nb::module_& m, nb::class_<LinopObject>& base) {
  set_class_of_kind("NamedLinop", base);
  add_operator<Identity>(
      m, "Identity",
      "The map that changes nothing; with two lists of names it only renames.\n\n"
      ">>> ts.Identity(('Nx',))([1, 2]).tolist()\n[1, 2]\n",
      &identity, "ishape"_a = nb::none(), "oshape"_a = nb::none());
  const char* weight_doc = "What it multiplies by, as a copy: operators are never changed.";
  add_operator<Scalar>(
      m, "Scalar", "Multiplication by one number.\n\n>>> ts.Scalar(2j).H([1.0]).tolist()\n[-2j]\n",
      &scalar, "weight"_a, "ioshape"_a = nb::none())
      .def_prop_ro(
          "weight",
          [](const LinopObject& a) { return nb::steal(python_number(a.op.as<Scalar>()->weight)); },
          nb::sig("def weight(self) -> complex"), "The number.");
  add_operator<Diagonal>(
      m, "Diagonal",
      "Multiplication by an array, point by point; the weight is aligned to the right of the "
      "dims.\nThe weight is copied; with copy=False the operator shares it, and nobody may write "
      "to it any more.\n\n"
      ">>> ts.Diagonal([1, 2j], ('Nx',)).N([1, 1]).tolist()\n[1.0, 4.0]\n",
      &diagonal, "weight"_a, "ioshape"_a = nb::none(), "broadcast_dims"_a = nb::none())
      .def_prop_ro(
          "weight",
          [](const LinopObject& a) {
            const Diagonal& d = *a.op.as<Diagonal>();
            return wrap(
                released([&] { return d.product(d.factors.front().weight.dtype()).copy(); }));
          },
          nb::sig("def weight(self) -> Array"), weight_doc);
  auto dense_class = add_operator<Dense>(
      m, "Dense",
      "A tensor with names applied to an array with names.\n\n"
      ">>> W = ts.Dense([[1, 2], [3, 4], [5, 6]], ('M', 'N'), ('N',), ('M',))\n>>> W([1, "
      "1]).tolist()\n[3, 7, 11]\n",
      &dense, "weight"_a, "weightshape"_a = nb::none(), "ishape"_a = nb::none(),
      "oshape"_a = nb::none(), "broadcast_dims"_a = nb::none());
  dense_class.def_prop_ro(
      "weight",
      [](const LinopObject& a) {
        const Dense& d = *a.op.as<Dense>();
        return wrap(released([&] { return d.conjugated ? ops::conj(d.weight) : d.weight.copy(); }));
      },
      nb::sig("def weight(self) -> Array"), weight_doc);
  add_constructor(dense_class, "from_einstr", &dense_from_text, "weight"_a, "einstr"_a,
                  "broadcast_dims"_a = nb::none(),
                  "A Dense from 'weight,input->output'.\n\n>>> ts.Dense.from_einstr([[1, 2]], "
                  "'MN,N->M').oshape\n(M,)\n");
  add_operator<FFT>(
      m, "FFT",
      "The discrete Fourier transform of the last dims, any norm, with its true adjoint. real=n:\n"
      "real input, half of the spectrum, for a last dim of length n.\n\n"
      ">>> ts.FFT(2, ('C',)).oshape\n(C, Kx, Ky)\n",
      &fourier, "ndim"_a, "batch_shape"_a = nb::none(), "grid_shapes"_a = nb::none(),
      "norm"_a = "ortho", "centered"_a = false, "real"_a = 0);
  add_operator<Zero>(m, "Zero",
                     "The map that gives zeros; sizes of output dims that the input does not have "
                     "are given.\n\n"
                     ">>> ts.Zero(('N', 'Q'), ('N', 'P'), {'P': 3})([[1, 2]]).tolist()\n[[0, 0, "
                     "0]]\n",
                     &zero, "ishape"_a, "oshape"_a = nb::none(), "sizes"_a = nb::none());
  bind_containers(m);
  bind_operators_gridding(m);
  bind_trajectories(m);
  bind_operators_rays(m);
  bind_operators_moves(m);
  bind_operators_blocks(m);
}

}  // namespace tessera::python
