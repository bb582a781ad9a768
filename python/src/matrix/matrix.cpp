// SPDX-License-Identifier: Apache-2.0
// The classes of tessera.matrix: what a matrix is, its views, its elements, its properties.
#include "matrix/matrix.hpp"

#include "array/index_key.hpp"
#include "core/sequence.hpp"
#include "linop/linop.hpp"
#include "matrix/matrix_docs.hpp"
#include "matrix/matrix_functions.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/matrix/forms/properties_check.hpp"
#include "tessera/matrix/forms/slices.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

std::pair<i64, i64> place_from(const AnyMatrix& m, nb::handle key) {
  if (!PyTuple_Check(key.ptr()) || PyTuple_GET_SIZE(key.ptr()) != 2)
    throw IndexError("elements are set one by one, m[i, j] = v");
  const auto of = [&](Py_ssize_t axis, i64 n) {
    const i64 i = int_from(PyTuple_GET_ITEM(key.ptr(), axis), "a matrix takes m[i, j]");
    return i < 0 ? i + n : i;
  };
  return {of(0, m.rows()), of(1, m.cols())};
}

nb::object element(const AnyMatrix& m, nb::handle key) {
  const auto [i, j] = place_from(m, key);
  return nb::steal(python_number(released([&] { return m.at(i, j); })));
}

Slice slice_from(nb::handle h) { return h.is_none() ? Slice{} : slice_of(h.ptr()); }

// m[i, j] is a number, m[i] and m[:, j] are arrays, m[a:b] and m[a:b, c:d] matrices.
nb::object item(const AnyMatrix& m, nb::handle key) {
  const bool two = PyTuple_Check(key.ptr()) && PyTuple_GET_SIZE(key.ptr()) == 2;
  const nb::handle row = two ? nb::handle(PyTuple_GET_ITEM(key.ptr(), 0)) : key,
                   column = two ? nb::handle(PyTuple_GET_ITEM(key.ptr(), 1)) : nb::handle(Py_None);
  const auto is_slice = [](nb::handle h) { return PySlice_Check(h.ptr()); };
  const bool rows = is_slice(row), columns = column.is_none() || is_slice(column);
  if (two && !rows && !columns) return element(m, key);
  if ((two && column.is_none()) || !(rows || PyIndex_Check(row.ptr())) ||
      !(columns || PyIndex_Check(column.ptr())))
    throw IndexError(
        "a matrix takes integers and slices, m[i, j], m[i], m[:, j], m[a:b, c:d]; for "
        "other keys use m.array()");
  if (rows && columns) {
    const Slice down = slice_from(row), across = slice_from(column);
    return wrap(released([&] { return sliced(m, down, across); }));
  }
  const i64 i = int_from(rows ? column : row, "a matrix takes m[i]");
  const Slice rest = slice_from(rows ? row : column);
  return wrap(released([&] {
    const Array line = rows ? column_of(m, i) : row_of(m, i);
    return line[Index{rest}].copy();
  }));
}

void set_element(AnyMatrix& m, i64 i, i64 j, nb::handle value) {
  const Value v = value_from(value, name(m.form()));
  released([&] { m.set(i, j, v); });
}

void assign(AnyMatrix& m, nb::handle key, nb::handle value) {
  const auto [i, j] = place_from(m, key);
  if (m.form() == Form::triangular_bit && i == j && i < m.rows()) {
    const char* text = "TriangularBit: the diagonal of a strictly triangular matrix is zero";
    if (PyErr_WarnEx(PyExc_UserWarning, text, 1) != 0) throw nb::python_error();
    return;
  }
  set_element(m, i, j, value);
}

nb::object as_numpy(const AnyMatrix& m) {
  return numpy_of(wrap(released([&] { return full_copy(m, {}, cpu); })), false);
}

nb::object array_protocol(const AnyMatrix& m, nb::handle dtype, nb::handle copy) {
  if (!copy.is_none() && !flag_from(copy, "copy"))
    raise(PyExc_ValueError, "Unable to avoid copy while creating an array as requested.");
  nb::object out = as_numpy(m);
  return dtype.is_none() ? out : out.attr("astype")(dtype, nb::arg("copy") = false);
}

constexpr std::pair<const char*, std::optional<Value> Derived::*> derived_names[] = {
    {"trace", &Derived::trace},
    {"determinant", &Derived::determinant},
    {"sum", &Derived::sum},
    {"diagonal_value", &Derived::diagonal_value}};

// The values that are kept under a name, where there is one.
template <class Values>
auto* derived_value(Values& d, std::string_view name) {
  decltype(&(d.trace)) found = nullptr;
  for (const auto& [known, member] : derived_names)
    if (known == name) found = &(d.*member);
  return found;
}

// Of everything that Properties can be asked for.
nb::tuple property_names() {
  nb::list all;
  for (int i = 0; i < property_count; ++i)
    all.append(std::string(name(static_cast<Property>(i))).c_str());
  for (const auto& [name, member] : derived_names) all.append(name);
  all.append("norm");
  return nb::tuple(all);
}

nb::object known(const AnyMatrix& m, std::string_view name) {
  const Derived d = m.properties().derived();
  if (const auto* v = derived_value(d, name))
    return *v ? nb::steal(python_number(**v)) : nb::none();
  if (name == "norm") return d.norm ? nb::object(nb::float_(*d.norm)) : nb::none();
  const Property p = parse_property(name);
  if (m.is(p)) return nb::bool_(true);
  const auto said = m.properties().declared(p);
  return said ? nb::object(nb::bool_(*said)) : nb::none();
}

void declare(AnyMatrix& m, std::string_view name, nb::handle value) {
  Derived d = m.properties().derived();
  const std::optional<Value> v =
      value.is_none() ? std::nullopt : std::optional(value_from(value, name));
  if (auto* place = derived_value(d, name)) {
    require<ArgumentError>(m.rows() == m.cols() || (name != "trace" && name != "determinant"), name,
                           ": a matrix of shape (", m.rows(), ", ", m.cols(), ") is not square");
    *place = v;
    m.properties().set_derived(std::move(d));
  } else if (name == "norm") {
    m.properties().keep(&Derived::norm, v ? std::optional(v->as<double>()) : std::nullopt);
  } else {
    const Property p = parse_property(name);
    require<DTypeError>(!v || PyBool_Check(value.ptr()), name, ": expected True, False or None");
    m.properties().declare(p, v ? std::optional(v->as<bool>()) : std::nullopt);
  }
}

// Pickles as its stored data, its views, what was declared and the numbers that were derived.
nb::tuple reduced(const AnyMatrix& m) {
  const Payload& p = m.payload();
  nb::dict said;
  const Derived d = m.properties().derived();
  for (const auto& [name, member] : derived_names)
    if (d.*member) said[name] = nb::steal(python_number(*(d.*member)));
  if (d.norm) said["norm"] = *d.norm;
  for (int i = 0; i < property_count; ++i)
    if (const auto flag = m.properties().declared(static_cast<Property>(i)))
      said[nb::str(std::string(name(static_cast<Property>(i))).c_str())] = *flag;
  nb::object restore = nb::module_::import_("tessera.matrix").attr("_restored");
  return nb::make_tuple(
      restore,
      nb::make_tuple(name(p.form), p.rows, p.cols, name(p.dtype), p.strict, wrap(p.data),
                     nb::steal(python_number(m.scale())), m.transposed(), m.conjugated(), said));
}

nb::object restored(std::string_view form, i64 rows, i64 cols, nb::handle dtype, bool strict,
                    const Array& data, nb::handle scale, bool transposed, bool conjugated,
                    nb::dict said) {
  AnyMatrix m = AnyMatrix::of_stored(parse_form(form), rows, cols, dtype_from(dtype), data, strict);
  if (conjugated) m = m.conj();
  m = m.scaled(value_from(scale, "scale"));
  if (transposed) m = m.transpose();
  for (const auto& [name, flag] : said) declare(m, nb::cast<std::string>(name), flag);
  return wrap(std::move(m));
}

void bind_facts(nb::class_<AnyMatrix>& c) {
  c.def_prop_ro(
       "shape", [](const AnyMatrix& m) { return nb::make_tuple(m.rows(), m.cols()); },
       nb::sig("def shape(self) -> tuple[int, int]"), "Rows and columns.")
      .def_prop_ro(
          "ndim", [](const AnyMatrix&) { return 2; }, "Two.")
      .def_prop_ro(
          "size", [](const AnyMatrix& m) { return m.rows() * m.cols(); },
          "Rows times columns, whatever is stored.")
      .def_prop_ro("nbytes", &AnyMatrix::bytes, "Bytes that are stored.")
      .def_prop_ro(
          "dtype", [](const AnyMatrix& m) { return dtype_object(m.dtype()); },
          nb::sig("def dtype(self) -> DType"), "The element type, the scale included.")
      .def_prop_ro("device", &AnyMatrix::device, nb::sig("def device(self) -> Device"),
                   "Where the elements were made; operations run where the context says.")
      .def_prop_ro(
          "held_at",
          [](const AnyMatrix& m) {
            nb::list all;
            for (const Device d : m.held_at()) all.append(d);
            return all;
          },
          nb::sig("def held_at(self) -> list[Device]"),
          "The device, and those that have a mirror of the elements.")
      .def_prop_ro(
          "form", [](const AnyMatrix& m) { return name(m.form()); },
          nb::sig("def form(self) -> str"), "The name of its class.")
      .def_prop_ro(
          "properties",
          [](nb::handle self) {
            return nb::module_::import_("tessera.matrix").attr("Properties")(self);
          },
          nb::sig("def properties(self) -> tessera.matrix.Properties"),
          "What is known of the matrix: a mapping of names to True, False or None.")
      .def(
          "check",
          [](const AnyMatrix& m, std::string_view property) {
            const Property p = parse_property(property);
            return released([&] { return check(m, p); });
          },
          "property"_a, check_doc)
      .def("_property", &known, "name"_a, nb::sig("def _property(self, name: str) -> typing.Any"))
      .def("_declare", &declare, "name"_a, "value"_a.none(),
           nb::sig("def _declare(self, name: str, value: typing.Any) -> None"));
}

void bind_views(nb::class_<AnyMatrix>& c) {
  const auto view = [&](const char* name, AnyMatrix (AnyMatrix::*f)() const, const char* doc) {
    const std::string sig = cat("def ", name, "(self) -> AnyMatrix");
    c.def(
        name, [f](const AnyMatrix& m) { return wrap(released([&] { return (m.*f)(); })); },
        nb::sig(sig.c_str()), doc);
  };
  c.def_prop_ro(
       "T", [](const AnyMatrix& m) { return wrap(m.transpose()); },
       nb::sig("def T(self) -> AnyMatrix"), "The transpose: a view.")
      .def_prop_ro(
          "H", [](const AnyMatrix& m) { return wrap(m.adjoint()); },
          nb::sig("def H(self) -> AnyMatrix"), "The conjugated transpose: a view.");
  view("transpose", &AnyMatrix::transpose, transpose_doc);
  view("conj", &AnyMatrix::conj, conj_doc);
  view("copy", &AnyMatrix::copy, copy_doc);
  view("__copy__", &AnyMatrix::copy, "The same as copy().");
  c.def(
       "__deepcopy__", [](const AnyMatrix& m, nb::handle) { return wrap(m.copy()); }, "memo"_a,
       nb::sig("def __deepcopy__(self, memo: typing.Any) -> AnyMatrix"))
      .def(
          "astype",
          [](const AnyMatrix& m, nb::handle dtype) {
            const DType t = dtype_from(dtype);
            return wrap(released([&] { return m.astype(t); }));
          },
          "dtype"_a, nb::sig("def astype(self, dtype: DTypeLike) -> AnyMatrix"), astype_doc)
      .def(
          "to",
          [](const AnyMatrix& m, nb::handle device) {
            const Device d = device_from(device);
            return wrap(released([&] { return m.to(d); }));
          },
          "device"_a, nb::sig("def to(self, device: DeviceLike) -> AnyMatrix"), to_doc);
}

void bind_elements(nb::class_<AnyMatrix>& c) {
  c.def("__getitem__", &item, "key"_a,
        nb::sig("def __getitem__(self, key: typing.Any, /) -> typing.Any"))
      .def("__setitem__", &assign, "key"_a, "value"_a,
           nb::sig("def __setitem__(self, key: tuple[int, int], value: typing.Any, /) -> None"))
      .def("set", &set_element, "i"_a, "j"_a, "value"_a,
           nb::sig("def set(self, i: int, j: int, value: typing.Any) -> None"), set_doc)
      .def(
          "set_identity", [](AnyMatrix& m) { released([&] { m.set_identity(); }); },
          nb::sig("def set_identity(self) -> None"), set_identity_doc)
      .def(
          "array",
          [](const AnyMatrix& m, nb::handle dtype, nb::handle device) {
            const Given g(dtype, device);
            return wrap(released([&] { return full_copy(m, g.dtype, g.device); }));
          },
          "dtype"_a = nb::none(), "device"_a = nb::none(),
          nb::sig("def array(self, dtype: DTypeLike | None = None, device: DeviceLike | None = "
                  "None) -> Array"),
          array_doc_of_matrix)
      .def("numpy", &as_numpy, nb::sig("def numpy(self) -> typing.Any"), numpy_doc)
      .def("__array__", &array_protocol, "dtype"_a = nb::none(), "copy"_a = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
                   "typing.Any"))
      .def(
          "__repr__", [](const AnyMatrix& m) { return released([&] { return m.str(); }); },
          nb::sig("def __repr__(self) -> str"));
  c.def("__reduce__", &reduced,
        nb::sig("def __reduce__(self) -> tuple[typing.Any, tuple[typing.Any, ...]]"));
  c.attr("__array_ufunc__") = nb::none();  // NumPy leaves arithmetic to the slots below
  c.attr("__iter__") = nb::none();
}

void bind_signs(nb::class_<AnyMatrix>& c) {
  c.def(
       "__neg__", [](const AnyMatrix& m) { return wrap(m.scaled(Value(-1))); },
       nb::sig("def __neg__(self) -> AnyMatrix"))
      .def(
          "__pos__", [](const AnyMatrix& m) { return wrap(m); },
          nb::sig("def __pos__(self) -> AnyMatrix"))
      .def(
          "__invert__",
          [](const AnyMatrix& m) { return wrap(released([&] { return m.complement(); })); },
          nb::sig("def __invert__(self) -> AnyMatrix"));
}

}  // namespace

Array full_copy(const AnyMatrix& m, std::optional<DType> dtype, std::optional<Device> where) {
  const TagScope looking;
  const Array a = m.array(dtype, where);
  for (const Device d : m.held_at())  // of a dense matrix it may be the data, or a mirror
    if (d == a.device() && may_share_memory(a, m.data(d))) return a.copy();
  return a;
}

std::optional<Value> factor_from(nb::handle h) {
  if (auto v = weak_value(h.ptr())) return v;
  const bool one = is_array(h.ptr()) ? array_of(h.ptr()).ndim() == 0
                                     : PyObject_CheckBuffer(h.ptr()) && PyNumber_Check(h.ptr()) &&
                                           !nb::hasattr(h, "__len__");
  return one ? std::optional(value_from(h, "a factor")) : std::nullopt;
}

void bind_matrix(nb::module_& m) {
  std::string name = nb::cast<std::string>(m.attr("__name__"));
  name = cat(name.substr(0, name.rfind('.') + 1), "_matrix");
  PyObject* made = PyImport_AddModule(name.c_str());  // borrowed from sys.modules
  if (!made) throw nb::python_error();
  nb::module_ d = nb::borrow<nb::module_>(made);
  d.doc() = "The compiled part of tessera.matrix; import tessera.matrix instead.";
  nb::class_<AnyMatrix> c(d, "AnyMatrix", any_matrix_doc);
  bind_facts(c);
  bind_views(c);
  bind_elements(c);
  bind_signs(c);
  bind_matrix_forms(d);
  d.def("_restore", &restored,
        nb::sig("def _restore(*state: typing.Any) -> AnyMatrix"));  // for pickles
  d.def("_property_names", &property_names, nb::sig("def _property_names() -> tuple[str, ...]"));
  bind_matrix_functions(d, c);
  explain_calls(d);
}

}  // namespace tessera::python
