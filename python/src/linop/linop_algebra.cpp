// SPDX-License-Identifier: Apache-2.0
// Application and algebra of operators: A(x), A @ B, A + B, 2 * A, A ** 2.
#include "core/repr.hpp"
#include "dist/dist_methods.hpp"
#include "linop/linop.hpp"
#include "streaming/stored_operators.hpp"
#include "tessera/distributed/operators/apply.hpp"
#include "tessera/linop/core/algebra.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/basic/scalar.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// Whether x may be an array of another library, of which the like is given back (tessera._guests). The commonest that
// are not need no look at Python's modules.
bool may_be_guest(nb::handle x) {
  PyObject* o = x.ptr();
  if (is_array(o) || PyList_Check(o) || PyTuple_Check(o)) return false;
  return std::string_view(Py_TYPE(o)->tp_name) != "numpy.ndarray";
}

nb::object applied(nb::handle self, nb::handle x, nb::handle out) {
  const NamedLinop& a = held(self);
  if (is_dist(x.ptr())) {
    const DNDarray& input = dist_of(x.ptr());
    return finished(released([&] { return dist::apply(a, input); }), out, a.kind());
  }
  if (may_be_guest(x)) {
    nb::object y = nb::module_::import_("tessera._guests").attr("applied")(self, x, out);
    if (!y.is(nb::handle(Py_NotImplemented))) return y;
  }
  if (works_on_disk(a, x, out)) return applied_on_disk(a, x, out);
  const Array input = as_array(x, a.kind());
  if (out.is_none()) return wrap(released([&] { return a(input); }));
  const Array& target = target_array(out, a.kind());
  released([&] { a(input, target); });
  return nb::borrow(out);
}

nb::object not_implemented() { return nb::borrow(Py_NotImplemented); }

nb::object product(nb::handle self, nb::handle other) {
  if (is_linop(other)) return wrap_linop(held(self) * held(other));
  if (is_array(other.ptr()) || PyObject_HasAttrString(other.ptr(), "__array__"))
    return applied(self, other, nb::none());
  return not_implemented();
}

std::optional<Value> factor(nb::handle h) {
  if (is_linop(h)) return std::nullopt;
  if (auto v = weak_value(h.ptr())) return v;
  if (is_array(h.ptr()) && array_of(h.ptr()).size() == 1) return value_from(h, "scalar");
  if (PyObject_CheckBuffer(h.ptr()) && PyNumber_Check(h.ptr())) return value_from(h, "scalar");
  return std::nullopt;
}

// A * x, with more than one element: people mean A(x), or weights.
void refuse_array(nb::handle self, nb::handle c) {
  if (is_linop(c) || !nb::hasattr(c, "__array__") || !nb::hasattr(c, "shape")) return;
  const nb::object shape = c.attr("shape");
  const nb::object size = nb::module_::import_("math").attr("prod")(shape);
  require<DTypeError>(nb::cast<i64>(size) == 1, held(self), " * an array of shape ", repr_of(shape),
                      ": an operator is scaled by a number; write A(x) or A @ x to apply it, "
                      "ts.Diagonal(w, names) @ A for weights");
}

nb::object scaled(nb::handle self, nb::handle c, bool left) {
  refuse_array(self, c);
  const auto v = factor(c);
  if (!v) return not_implemented();
  return wrap_linop(left ? *v * held(self) : held(self) * *v);
}

nb::object power(nb::handle self, nb::handle exponent) {
  const NamedLinop& a = held(self);
  if (const auto* d = a.as<Diagonal>()) {
    const Value v = value_from(exponent, "power");
    return wrap_linop(released([&] { return d->power(v); }));
  }
  if (const auto* s = a.as<Scalar>()) {
    const nb::object weight = nb::steal(python_number(s->weight)),
                     power = nb::steal(PyNumber_Power(weight.ptr(), exponent.ptr(), Py_None));
    if (!power.is_valid()) throw nb::python_error();
    return wrap_linop(Scalar(value_from(power, "power"), s->names.ishape));
  }
  const i64 k = int_from(exponent, "power");
  require<ArgumentError>(k >= 0, a.kind(), " ** ", k, ": expected an exponent of 0 or more");
  require<DimError>(a.shape().ishape == a.shape().oshape, a.str(), " ** ", k,
                    ": input and output differ");
  if (k == 0) return wrap_linop(Identity(a.ishape()));
  return wrap_linop(chain(std::vector<NamedLinop>(static_cast<std::size_t>(k), a)));
}

// sum([A, B]) starts from 0.
nb::object sum_with(nb::handle self, nb::handle other) {
  if (is_linop(other)) return wrap_linop(held(self) + held(other));
  const auto v = weak_value(other.ptr());
  if (!v) return not_implemented();
  require<DTypeError>(v->as<c128>() == c128(0, 0), held(self), " + ", repr_of(other),
                      ": a number is no operator; write c * ts.Identity(names)");
  return nb::borrow(self);
}

nb::object divided(nb::handle self, nb::handle c) {
  const bool whole = is_linop(c) || is_dist(c.ptr());
  const auto a = whole ? std::nullopt : try_array(c);
  const auto v = a && a->size() == 1 ? std::optional(value_from(c, "scalar")) : std::nullopt;
  require<DTypeError>(v.has_value(), held(self), " / ", Py_TYPE(c.ptr())->tp_name,
                      ": an operator is divided by a number; A x = b is solved by ts.solve");
  const c128 w = v->as<c128>();
  if (w == c128(0, 0)) raise(PyExc_ZeroDivisionError, cat(held(self), " / 0"));
  if (v->kind() != Value::Kind::complex) return wrap_linop(held(self) * Value(1 / w.re));
  return wrap_linop(held(self) * Value(c128(1, 0) / w));
}

[[noreturn]] nb::object from_the_left(nb::handle self, nb::handle x) {
  PyObject* o = x.ptr();
  require<ArgumentError>(!PyLong_Check(o) && !PyFloat_Check(o) && !PyComplex_Check(o), repr_of(x),
                         " @ ", held(self), ": a number does not compose; write c * A");
  throw DTypeError(cat(Py_TYPE(x.ptr())->tp_name, " @ ", held(self),
                       ": an operator stands on the left of what it is applied to; write A @ x or "
                       "A(x), and A.H @ x for the adjoint"));
}

}  // namespace

void bind_algebra(nb::class_<LinopObject>& c) {
  c.def("__call__", &applied, "x"_a, "out"_a = nb::none(),
        nb::sig("@typing.overload\n"
                "def __call__(self, x: DNDarray, out: DNDarray | None = None) -> DNDarray: ...\n"
                "@typing.overload\n"
                "def __call__(self, x: StoredArray, out: StoredArray | Array | None = None) -> "
                "StoredArray | Array: ...\n"
                "@typing.overload\n"
                "def __call__(self, x: ArrayLike, out: StoredArray) -> StoredArray: ...\n"
                "@typing.overload\n"
                "def __call__(self, x: _GuestT, out: _GuestT | None = None) -> _GuestT: ...\n"
                "@typing.overload\n"
                "def __call__(self, x: ArrayLike, out: Array | None = None) -> Array"))
      .def("__matmul__", &product, nb::is_operator(),
           nb::sig(
               "@typing.overload\ndef __matmul__(self, other: NamedLinop, /) -> NamedLinop: ...\n"
               "@typing.overload\ndef __matmul__(self, other: DNDarray, /) -> DNDarray: ...\n"
               "@typing.overload\ndef __matmul__(self, other: _GuestT, /) -> _GuestT: ...\n"
               "@typing.overload\ndef __matmul__(self, other: Array, /) -> Array"))
      .def("__add__", &sum_with, nb::is_operator(),
           nb::sig("def __add__(self, other: NamedLinop | int, /) -> NamedLinop"))
      .def("__radd__", &sum_with, nb::is_operator(),
           nb::sig("def __radd__(self, other: int, /) -> NamedLinop"))
      .def(
          "__sub__",
          [](nb::handle a, nb::handle b) {
            return is_linop(b) ? wrap_linop(held(a) - held(b)) : not_implemented();
          },
          nb::is_operator(), nb::sig("def __sub__(self, other: NamedLinop, /) -> NamedLinop"))
      .def(
          "__neg__", [](nb::handle a) { return wrap_linop(-held(a)); },
          nb::sig("def __neg__(self) -> NamedLinop"))
      .def(
          "__mul__", [](nb::handle a, nb::handle c) { return scaled(a, c, false); },
          nb::is_operator(), nb::sig("def __mul__(self, other: complex, /) -> NamedLinop"))
      .def(
          "__rmul__", [](nb::handle a, nb::handle c) { return scaled(a, c, true); },
          nb::is_operator(), nb::sig("def __rmul__(self, other: complex, /) -> NamedLinop"))
      .def("__truediv__", &divided, nb::is_operator(),
           nb::sig("def __truediv__(self, other: complex, /) -> NamedLinop"))
      .def(
          "__rtruediv__",
          [](nb::handle a, nb::handle x) -> nb::object {
            throw DTypeError(cat(Py_TYPE(x.ptr())->tp_name, " / ", held(a),
                                 ": an operator has no inverse; A x = b is solved by ts.solve"));
          },
          nb::is_operator(),
          nb::sig("def __rtruediv__(self, other: typing.Any, /) -> typing.NoReturn"))
      .def("__rmatmul__", &from_the_left, nb::is_operator(),
           nb::sig("def __rmatmul__(self, other: typing.Any, /) -> typing.NoReturn"))
      .def("__pow__", &power, nb::is_operator(),
           nb::sig("def __pow__(self, exponent: complex, /) -> NamedLinop"));
  c.def(
      "__array__",
      [](nb::handle self, nb::args, nb::kwargs) -> nb::object {
        throw DTypeError(cat(held(self), ": an operator is no array; its matrix is A.to_dense()"));
      },
      nb::sig("def __array__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.NoReturn"));
  c.attr("__array_ufunc__") = nb::none();  // ndarray @ A and np.float64(2) * A ask the operator
}

}  // namespace tessera::python
