// SPDX-License-Identifier: Apache-2.0
// Matrices of every form on disk: conversion only. Keys and operators are in
// tessera/_stored_forms.py.
#include "streaming/stored_forms.hpp"

#include "core/generator.hpp"
#include "core/sequence.hpp"
#include "matrix/matrix.hpp"
#include "streaming/stored_array.hpp"
#include "tessera/matrix/functions/elementwise.hpp"
#include "tessera/streaming/forms/stored_forms.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::python {

PyTypeObject* stored_matrix_type = nullptr;

namespace {

using nb::literals::operator""_a;
using streaming::FormMap;
using streaming::FormSource;
using streaming::StoredArray;

// A matrix on disk, an array on disk, a matrix in memory or what is like an array of two axes.
FormSource source_from(nb::handle h, std::string_view who) {
  if (nb::isinstance<FormSource>(h)) return *nb::inst_ptr<FormSource>(h);
  if (is_stored(h.ptr())) {
    const StoredArray x = *nb::inst_ptr<StoredArray>(h);
    require<ShapeError>(x.ndim() == 2, who, ": an array on disk of shape ", x.shape(),
                        " with a matrix; expected two axes");
    return released([&] { return FormSource::numbers(Form::dense, x.store()); });
  }
  const AnyMatrix m = matrix_from(h, who);
  require<DeviceError>(m.device() == cpu, who, ": a matrix on disk beside one on ", m.device(),
                       "; move that to the host with to(\"cpu\")");
  return released([&] { return FormSource::memory(m); });
}

// Dense results are arrays on disk.
nb::object shown(const FormSource& m) {
  if (m.form == Form::dense && !m.transposed && !m.conjugated && !m.is_scaled())
    return nb::cast(StoredArray(m.store));
  return nb::cast(m);
}

FormMap map_named(const std::string& name) {
  const auto of_two = [&](AnyMatrix (*f)(const AnyMatrix&, const AnyMatrix&)) {
    return FormMap{name, [f](std::span<const AnyMatrix> x) { return f(x[0], x[1]); }};
  };
  if (name == "add") return of_two(&add);
  if (name == "subtract") return of_two(&subtract);
  if (name == "multiply") return of_two(&multiply);
  if (name == "divide") return of_two(&divide);
  if (name == "invert")
    return {name, [](std::span<const AnyMatrix> x) { return x[0].complement(); }};
  for (const ElementOp op : {ElementOp::bitwise_and, ElementOp::bitwise_or, ElementOp::bitwise_xor})
    if (tessera::name(op) == name)
      return {name, [op](std::span<const AnyMatrix> x) { return logical(op, x[0], x[1]); }};
  throw ArgumentError(cat("no function of matrices on disk is named '", name, "'"));
}

std::string repr_of_matrix(const FormSource& m) {
  return cat("StoredMatrix(", name(m.form), m.lower() ? ", lower" : "", ", shape=(", m.rows(), ", ",
             m.cols(), "), dtype=", name(m.element_dtype()),
             m.is_scaled() ? cat(", times ", m.scale.str()) : "", ", ", m.store->describe(), ")");
}

// Bytes of what the form stores.
i64 bytes_of(const FormSource& m) {
  const i64 all = m.store->grid().bytes();
  return m.is_half()
             ? (all + m.stored_rows * (all / std::max<i64>(1, m.stored_rows * m.stored_rows))) / 2
             : all;
}

void bind_matrix_class(nb::module_& m) {
  nb::class_<FormSource> c(
      m, "StoredMatrix",
      "A matrix of a form that is known, on disk: bits, triangular, symmetric or antisymmetric.\n\n"
      "`@`, `&`, `|`, `^`, `~`, `+`, `-` and `*` give what matrices in memory give, block by block "
      "within the budget; `m[key]` reads\nwhat the key names. Of a half only the half is read and "
      "written.\n\n"
      ">>> c = ts.stored.matrix(ts.matrix.TriangularBit([[0, 1, 1], [0, 0, 1], [0, 0, 0]]))\n"
      ">>> c.form, c.shape, (c @ c).numpy().tolist()\n"
      "('TriangularBit', (3, 3), [[0, 0, 1], [0, 0, 0], [0, 0, 0]])\n");
  stored_matrix_type = reinterpret_cast<PyTypeObject*>(c.ptr());
  c.def_prop_ro(
       "shape", [](const FormSource& x) { return nb::make_tuple(x.rows(), x.cols()); },
       nb::sig("def shape(self) -> tuple[int, int]"), "Rows and columns.")
      .def_prop_ro(
          "dtype", [](const FormSource& x) { return dtype_object(x.element_dtype()); },
          nb::sig("def dtype(self) -> DType"),
          "Of the elements, the factor of a scaled view included; bool for bits.")
      .def_prop_ro(
          "form", [](const FormSource& x) { return std::string(name(x.form)); },
          nb::sig("def form(self) -> str"), "The name of the class of such matrices in memory.")
      .def_prop_ro(
          "is_lower", [](const FormSource& x) { return x.lower(); },
          "Whether it is a triangle below the diagonal.")
      .def_prop_ro("_strict", [](const FormSource& x) { return x.strict; })
      .def_prop_ro("nbytes", &bytes_of, "Bytes of what the form stores.")
      .def_prop_ro(
          "T", [](const FormSource& x) { return x.transpose(); },
          nb::sig("def T(self) -> StoredMatrix"), "The transpose: a view, which moves nothing.")
      .def_prop_ro(
          "H", [](const FormSource& x) { return x.transpose().conj(); },
          nb::sig("def H(self) -> StoredMatrix"), "The conjugated transpose: a view.")
      .def(
          "conj", [](const FormSource& x) { return x.conj(); },
          nb::sig("def conj(self) -> StoredMatrix"),
          "The complex conjugate: a view.\n\n"
          ">>> ts.stored.matrix(ts.matrix.Symmetric([[1j]])).conj()[0, 0]\n-1j\n")
      .def(
          "_scaled",
          [](const FormSource& x, nb::handle by, bool divides) {
            const Value v = value_from(by, divides ? "divide" : "multiply");
            return shown(released([&] {
              return divides ? streaming::divided_on_disk(x, v) : streaming::scaled_on_disk(x, v);
            }));
          },
          nb::sig("def _scaled(self, by: typing.Any, divides: bool) -> typing.Any"))
      .def(
          "_read",
          [](const FormSource& x, i64 top, i64 bottom, i64 left, i64 right) {
            return wrap(released([&] {
              return streaming::read_form(x, {top, bottom}, {left, right});
            }));
          },
          nb::sig("def _read(self, top: int, bottom: int, left: int, right: int) -> typing.Any"))
      .def(
          "_sums",
          [](const FormSource& x, i64 axis) {
            return wrap(released([&] { return streaming::sum_of_form(x, axis); }));
          },
          nb::sig("def _sums(self, axis: int) -> Array"))
      .def("__repr__", &repr_of_matrix);
}

}  // namespace

void bind_stored_forms(nb::module_& m) {
  bind_matrix_class(m);
  m.def(
      "_stored_form_product",
      [](nb::handle a, nb::handle b, bool boolean, const std::string& path) {
        const std::string_view who = boolean ? "boolean_product" : "matmul";
        const FormSource x = source_from(a, who), y = source_from(b, who);
        return shown(released([&] { return streaming::product_on_disk(x, y, {boolean}, path); }));
      },
      "a"_a, "b"_a, "boolean"_a, "path"_a,
      nb::sig("def _stored_form_product(a: typing.Any, b: typing.Any, boolean: bool, path: str) -> "
              "typing.Any"));
  m.def(
      "_stored_form_times",
      [](nb::handle a, nb::handle b) {
        const FormSource x = source_from(a, "matmul"), y = source_from(b, "matmul");
        return wrap(released([&] { return streaming::product_in_memory(x, y); }));
      },
      nb::sig("def _stored_form_times(a: typing.Any, b: typing.Any) -> Array"));
  m.def(
      "_stored_form_explain",
      [](nb::handle a, nb::handle b, bool boolean) {
        const FormSource x = source_from(a, "matmul"), y = source_from(b, "matmul");
        return released([&] { return streaming::explain_product(x, y, {boolean}); });
      },
      "a"_a, "b"_a, "boolean"_a,
      nb::sig("def _stored_form_explain(a: typing.Any, b: typing.Any, boolean: bool) -> str"));
  m.def(
      "_stored_compute_k",
      [](nb::handle c, double a, const std::string& path) {
        const FormSource from = source_from(c, "compute_k");
        return released([&] { return streaming::compute_k_on_disk(from, a, path); });
      },
      nb::sig("def _stored_compute_k(c: typing.Any, a: float, path: str) -> StoredMatrix"));
  m.def(
      "_stored_form_map",
      [](const std::string& which, const std::string& path, const nb::args& inputs) {
        const FormMap map = map_named(which);
        std::vector<FormSource> all;
        for (nb::handle h : inputs) all.push_back(source_from(h, which));
        return shown(released([&] { return streaming::mapped_on_disk(all, map, path); }));
      },
      nb::sig("def _stored_form_map(which: str, path: str, *inputs: typing.Any) -> typing.Any"));
  m.def(
      "_stored_form_copy",
      [](nb::handle x, const std::string& path) {
        const FormSource from = source_from(x, "stored.matrix");
        require<ArgumentError>(!from.is_diagonal(), "stored.matrix: ", from.describe(),
                               " takes little memory and stays there");
        return shown(released([&] { return streaming::copied_to_disk(from, path); }));
      },
      nb::sig("def _stored_form_copy(x: typing.Any, path: str) -> typing.Any"));
  m.def(
      "_stored_form_of",
      [](const StoredArray& x, const std::string& form, bool lower, bool strict) {
        const Form f = parse_form(form);
        return released([&] {
          const FormSource s = FormSource::numbers(f, x.store(), strict);
          return lower ? s.transpose() : s;
        });
      },
      nb::sig("def _stored_form_of(x: StoredArray, form: str, lower: bool, strict: bool) -> "
              "StoredMatrix"));
  m.def(
      "_stored_random_bits",
      [](Generator& g, i64 rows, i64 cols, double p, bool triangular) {
        const Form f = triangular ? Form::triangular_bit : Form::bit;
        return g.draw_here(
            [&](Random& r) { return streaming::random_bits_on_disk(f, rows, cols, p, r); });
      },
      nb::sig("def _stored_random_bits(generator: Generator, rows: int, cols: int, p: float, "
              "triangular: bool) -> StoredMatrix"));
}

}  // namespace tessera::python
