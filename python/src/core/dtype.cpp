// SPDX-License-Identifier: Apache-2.0
// ts.float32 and its fourteen siblings: singletons that compare equal to NumPy's dtypes, to their
// names and to the Python types a NumPy user would write. NumPy itself is not imported before it is
// asked for.
#include "dist/dist.hpp"

#include <cstring>

#include "core/repr.hpp"

namespace tessera::python {

namespace {

struct DTypeObject {
  DType value;
};

std::array<PyObject*, dtype_count> singletons{};

// "f4", "<i8", "?", "float", "double", "torch.float32" and the full names.
std::optional<DType> from_text(std::string_view s) {
  if (s.starts_with("torch.")) s.remove_prefix(6);
  if (!s.empty() && (s[0] == '=' || s[0] == '<' || s[0] == '|')) s.remove_prefix(1);
  if (auto t = parse_dtype(s)) return t;
  struct Alias {
    std::string_view name;
    DType dtype;
  };
  static constexpr Alias aliases[] = {
      {"?", DType::b1},         {"b1", DType::b1},      {"bool_", DType::b1},
      {"i1", DType::i8},        {"b", DType::i8},       {"i2", DType::i16},
      {"h", DType::i16},        {"i4", DType::i32},     {"i", DType::i32},
      {"i8", DType::i64},       {"q", DType::i64},      {"l", DType::i64},
      {"u1", DType::u8},        {"B", DType::u8},       {"u2", DType::u16},
      {"H", DType::u16},        {"u4", DType::u32},     {"I", DType::u32},
      {"u8", DType::u64},       {"Q", DType::u64},      {"L", DType::u64},
      {"f2", DType::f16},       {"e", DType::f16},      {"f4", DType::f32},
      {"f", DType::f32},        {"f8", DType::f64},     {"d", DType::f64},
      {"c8", DType::c64},       {"F", DType::c64},      {"c16", DType::c128},
      {"D", DType::c128},       {"Zf", DType::c64},     {"Zd", DType::c128},
      {"int", DType::i64},      {"float", DType::f64},  {"complex", DType::c128},
      {"half", DType::f16},     {"single", DType::f32}, {"double", DType::f64},
      {"longlong", DType::i64}, {"uint", DType::u64},   {"ulonglong", DType::u64}};
  for (const Alias& a : aliases)
    if (a.name == s) return a.dtype;
  return std::nullopt;
}

std::optional<DType> from_attribute(nb::handle h, const char* attribute) {
  nb::object text = nb::steal(PyObject_GetAttrString(h.ptr(), attribute));
  if (!text.is_valid()) {
    PyErr_Clear();
    return std::nullopt;
  }
  if (!PyUnicode_Check(text.ptr())) return std::nullopt;
  return from_text(nb::cast<std::string_view>(nb::str(text)));
}

bool native_order(nb::handle h) {
  nb::object native = nb::steal(PyObject_GetAttrString(h.ptr(), "isnative"));
  if (!native.is_valid()) {
    PyErr_Clear();
    return true;
  }
  const int said = PyObject_IsTrue(native.ptr());
  if (said < 0) throw nb::python_error();
  return said == 1;
}

nb::object numpy_dtype(const DTypeObject& self) {
  if (self.value == DType::bf16) {
    nb::object types = nb::module_::import_("ml_dtypes");
    return nb::module_::import_("numpy").attr("dtype")(types.attr("bfloat16"));
  }
  const std::string text(name(self.value));
  return nb::module_::import_("numpy").attr("dtype")(text.c_str());
}

// 0 for bool, 1 for integers, 2 for floats, 3 for complex numbers.
int rank_of(DType t) { return t == DType::b1 ? 0 : is_integer(t) ? 1 : is_float(t) ? 2 : 3; }

// Python's numbers have a kind and no precision of their own (NEP 50).
DType beside_number(DType t, DType number) {
  if (rank_of(number) <= rank_of(t)) return t;
  return is_complex(number) && is_inexact(t) ? complex_of(t) : number;
}

// Of an array, a dtype, or anything else that says which one it has.
DType dtype_of_any(nb::handle h) {
  if (is_array(h.ptr())) return array_of(h.ptr()).dtype();
  if (is_dist(h.ptr())) return dist_of(h.ptr()).dtype();
  if (auto t = try_dtype(h)) return *t;
  nb::object held = nb::steal(PyObject_GetAttrString(h.ptr(), "dtype"));
  if (!held.is_valid()) PyErr_Clear();
  return dtype_from(held.is_valid() ? nb::handle(held) : h);
}

DType common_dtype(const nb::args& all) {
  std::optional<DType> common, of_numbers;
  for (nb::handle h : all) {
    const auto number = weak_value(h.ptr());
    std::optional<DType>& met = number ? of_numbers : common;
    const DType t = number ? number->dtype() : dtype_of_any(h);
    met = met ? promote(*met, t) : t;
  }
  require<ArgumentError>(common || of_numbers,
                         "result_type: expected at least one array, dtype or number");
  if (!common) return *of_numbers;
  return of_numbers ? beside_number(*common, *of_numbers) : *common;
}

const char* kind_of(DType t) {
  return t == DType::b1       ? "b"
         : is_signed_int(t)   ? "i"
         : is_unsigned_int(t) ? "u"
         : is_float(t)        ? "f"
                              : "c";
}

}  // namespace

std::optional<DType> try_dtype(nb::handle h) {
  PyObject* o = h.ptr();
  if (nb::isinstance<DTypeObject>(h)) return nb::inst_ptr<DTypeObject>(h)->value;
  if (PyUnicode_Check(o)) return from_text(nb::cast<std::string_view>(nb::str(nb::borrow(h))));
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::b1;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::i64;
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::f64;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::c128;
  if (PyType_Check(o)) return from_attribute(h, "__name__");
  const char* type = Py_TYPE(o)->tp_name;
  if (std::strncmp(type, "torch", 5) == 0 || std::strcmp(type, "dtype") == 0)
    return from_text(nb::cast<std::string>(nb::str(nb::borrow(h))));
  return native_order(h) ? from_attribute(h, "name") : std::nullopt;
}

DType dtype_from(nb::handle h) {
  if (auto t = try_dtype(h)) return *t;
  throw DTypeError(cat("dtype: ", repr_of(h),
                       " is not one of bool, int8 … int64, uint8 … uint64, "
                       "float16, bfloat16, float32, float64, complex64, complex128"));
}

std::optional<DType> dtype_or_none(nb::handle h) {
  if (h.is_none()) return std::nullopt;
  return dtype_from(h);
}

nb::object dtype_object(DType t) { return nb::borrow(singletons[static_cast<int>(t)]); }

void bind_dtype(nb::module_& m) {
  nb::class_<DTypeObject>(m, "DType",
                          "An element type: ``ts.float32``, ``ts.complex64``, …\n\n"
                          ">>> ts.float32.itemsize, str(ts.float32), ts.float32 == 'float32'\n"
                          "(4, 'float32', True)\n")
      .def_prop_ro(
          "name", [](const DTypeObject& s) { return nb::str(name(s.value).data()); },
          "The name, as NumPy's: ``'float32'``.")
      .def_prop_ro(
          "itemsize", [](const DTypeObject& s) { return size_of(s.value); },
          "Bytes of one element.")
      .def_prop_ro(
          "kind", [](const DTypeObject& s) { return nb::str(kind_of(s.value)); },
          "NumPy's letter: b, i, u, f or c.")
      .def_prop_ro("dtype", &numpy_dtype, nb::sig("def dtype(self) -> typing.Any"),
                   "The NumPy dtype; what ``np.dtype(ts.float32)`` asks for.")
      .def(
          "__eq__",
          [](const DTypeObject& s, nb::handle o) {
            auto t = try_dtype(o);
            return t && *t == s.value;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const DTypeObject& s) { return PyObject_Hash(nb::str(name(s.value).data()).ptr()); })
      .def("__str__", [](const DTypeObject& s) { return nb::str(name(s.value).data()); })
      .def("__repr__",
           [](const DTypeObject& s) { return nb::str(cat("tessera.", name(s.value)).c_str()); })
      .def("__reduce__", [](const DTypeObject& s) {
        return nb::str(s.value == DType::b1 ? "bool_" : name(s.value).data());
      });
  for (int i = 0; i < dtype_count; ++i) {
    const DType t = static_cast<DType>(i);
    nb::object o = nb::cast(DTypeObject{t});
    // bool_: a module with its own `bool` cannot be described by a stub; tessera/__init__.py adds
    // the name.
    m.attr(t == DType::b1 ? "bool_" : std::string(name(t)).c_str()) = o;
    singletons[static_cast<std::size_t>(i)] = o.ptr();  // the module holds it
  }
  m.def(
      "result_type", [](nb::args all) { return dtype_object(common_dtype(all)); },
      nb::sig("def result_type(*arrays_and_dtypes: typing.Any) -> DType"),
      "The dtype in which NumPy would compute with these arrays, dtypes and numbers; numbers of "
      "Python\nadapt to the others.\n\n"
      ">>> ts.result_type(ts.float32, ts.int64), ts.result_type(ts.float32, 1.0)\n"
      "(tessera.float64, tessera.float32)\n");
}

}  // namespace tessera::python
