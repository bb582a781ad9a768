// SPDX-License-Identifier: Apache-2.0
// Functions of NumPy's that the library has whole for arrays on the host, for those that Python
// composes of others (Composed, Signals, Histograms): they ask here first and take the general way,
// which knows devices and ranks and says what is wrong, where the answer is None.
#include "array/array_object.hpp"
#include "array/index_key.hpp"
#include "tessera/kernels/convolve/lines.hpp"
#include "tessera/kernels/counting/counting.hpp"
#include "tessera/kernels/einsum/row_dots.hpp"
#include "tessera/kernels/elementwise/close.hpp"
#include "tessera/kernels/elementwise/logaddexp.hpp"
#include "tessera/kernels/interpolate/lines.hpp"
#include "tessera/kernels/reduce/spread.hpp"

namespace tessera::python {

namespace {

// An array of ours on the host, or what lists, numbers and buffers become.
std::optional<Array> on_host(nb::handle h) {
  PyObject* const o = h.ptr();
  std::optional<Array> x;
  if (is_array(o))
    x = array_of(o);
  else if (PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyList_CheckExact(o) ||
           PyTuple_CheckExact(o) || PyObject_CheckBuffer(o))
    x = try_array(h);
  if (x && x->device() != cpu) x.reset();
  return x;
}

nb::object found_or_none(Array found) { return found ? wrap(std::move(found)) : nb::none(); }

bool is_number(nb::handle h) { return PyFloat_CheckExact(h.ptr()) || PyLong_CheckExact(h.ptr()); }

nb::object interpolated(nb::handle x, nb::handle xp, nb::handle fp, nb::handle left,
                        nb::handle right) {
  const auto a = on_host(x), at = on_host(xp), values = on_host(fp);
  if (!a || !at || !values) return nb::none();
  std::optional<Value> sides[2];
  for (int i = 0; i < 2; ++i)
    if (nb::handle told = i == 0 ? left : right; !told.is_none()) {
      sides[i] = weak_value(told.ptr(), values->dtype());
      if (!sides[i]) return nb::none();
    }
  return found_or_none(released(is_large(*a) || is_large(*at), [&] {
    return interpolate_lines(*a, *at, *values, sides[0], sides[1]);
  }));
}

nb::object counted_numbers(nb::handle x, nb::handle weights, nb::handle minlength) {
  const auto a = on_host(x);
  i64 least = 0;
  if (!a || !plain_int(minlength.ptr(), least) || least < 0 || !is_integer(a->dtype()))
    return nb::none();
  if (weights.is_none())
    return found_or_none(released(is_large(*a), [&] { return count_numbers(*a, nullptr, least); }));
  const auto w = on_host(weights);
  if (!w || is_complex(w->dtype())) return nb::none();
  return found_or_none(released(is_large(*a), [&] {
    const Array wide = w->astype(DType::f64);
    return count_numbers(*a, &wide, least);
  }));
}

nb::object counted_between(nb::handle x, nb::handle edges, bool even, nb::handle weights) {
  const auto a = on_host(x), cuts = on_host(edges);
  if (!a || !cuts) return nb::none();
  if (weights.is_none())
    return found_or_none(
        released(is_large(*a), [&] { return count_between(*a, *cuts, even, nullptr); }));
  const auto w = on_host(weights);
  if (!w || is_complex(w->dtype())) return nb::none();
  return found_or_none(released(is_large(*a), [&] {
    const Array wide = w->astype(is_float(w->dtype()) ? DType::f64 : DType::i64);
    return count_between(*a, *cuts, even, &wide);
  }));
}

// A number beside an array has its dtype.
template <bool of_two>
nb::object log_of_sum(nb::handle x, nb::handle y) {
  const bool first = is_array(x.ptr()), second = is_array(y.ptr());
  if (!first && !second) return nb::none();
  const auto operand_beside = [](nb::handle h, nb::handle other) -> std::optional<Array> {
    if (is_array(h.ptr())) return array_of(h.ptr());
    const DType t = array_of(other.ptr()).dtype();
    if (!is_number(h) || !is_float(t)) return {};
    return Array::scalar(*weak_value(h.ptr(), t), t);
  };
  const auto a = operand_beside(x, y), b = operand_beside(y, x);
  if (!a || !b) return nb::none();
  return found_or_none(
      released(is_large(*a) || is_large(*b), [&] { return logaddexp_dense(*a, *b, of_two); }));
}

// The arguments of isclose and allclose as they are mostly given.
struct Compared {
  const Array *a, *b;
  Closeness how;
};
std::optional<Compared> compared(nb::handle a, nb::handle b, nb::handle rtol, nb::handle atol,
                                 nb::handle equal_nan) {
  if (!is_array(a.ptr()) || !is_array(b.ptr()) || !is_number(rtol) || !is_number(atol) ||
      !PyBool_Check(equal_nan.ptr()))
    return {};
  const double limits[] = {PyFloat_AsDouble(rtol.ptr()), PyFloat_AsDouble(atol.ptr())};
  if (PyErr_Occurred()) throw nb::python_error();
  return Compared{
      &array_of(a.ptr()), &array_of(b.ptr()), {limits[0], limits[1], equal_nan.ptr() == Py_True}};
}

nb::object close(nb::handle a, nb::handle b, nb::handle rtol, nb::handle atol, nb::handle nan) {
  const auto c = compared(a, b, rtol, atol, nan);
  if (!c) return nb::none();
  return found_or_none(
      released(is_large(*c->a), [&] { return close_dense(*c->a, *c->b, c->how); }));
}

nb::object all_close(nb::handle a, nb::handle b, nb::handle rtol, nb::handle atol, nb::handle nan) {
  const auto c = compared(a, b, rtol, atol, nan);
  if (!c) return nb::none();
  const auto found =
      released(is_large(*c->a), [&] { return all_close_dense(*c->a, *c->b, c->how); });
  if (!found) return nb::none();
  return nb::borrow(*found ? Py_True : Py_False);
}

template <Array (*function)(const Array&, const Array&, Overlap)>
nb::object over_lines(nb::handle a, nb::handle v, nb::handle mode) {
  const auto x = on_host(a), y = on_host(v);
  if (!x || !y || !PyUnicode_CheckExact(mode.ptr())) return nb::none();
  Overlap overlap = Overlap::full;
  if (PyUnicode_CompareWithASCIIString(mode.ptr(), "same") == 0)
    overlap = Overlap::same;
  else if (PyUnicode_CompareWithASCIIString(mode.ptr(), "valid") == 0)
    overlap = Overlap::valid;
  else if (PyUnicode_CompareWithASCIIString(mode.ptr(), "full") != 0)
    return nb::none();
  return found_or_none(
      released(is_large(*x) || is_large(*y), [&] { return function(*x, *y, overlap); }));
}

nb::object inner_of(nb::handle a, nb::handle b) {
  if (!is_array(a.ptr()) || !is_array(b.ptr())) return nb::none();
  nb::object found = dot_of_lines(array_of(a.ptr()), array_of(b.ptr()));
  return found.is_valid() ? found : nb::none();
}

nb::object spread_of(nb::handle x) {
  if (!is_array(x.ptr())) return nb::none();
  const Array& a = array_of(x.ptr());
  return found_or_none(released(is_large(a), [&] { return spread_dense(a); }));
}

}  // namespace

nb::object dot_of_lines(const Array& a, const Array& b) {
  if (!has_dot_line(a, b)) return {};
  nb::object sum = number_object(a.dtype());
  dot_line(a, b, array_of(sum.ptr()).storage().data());
  return sum;
}

void bind_host_calls(nb::module_& m) {
  using nb::literals::operator""_a;
  m.def("_interp_host", &interpolated, "x"_a, "xp"_a, "fp"_a, "left"_a.none(), "right"_a.none());
  m.def("_bincount_host", &counted_numbers, "x"_a, "weights"_a.none(), "minlength"_a);
  m.def("_counts_host", &counted_between, "x"_a, "edges"_a, "even"_a, "weights"_a.none());
  m.def("_logaddexp_host", &log_of_sum<false>, "x1"_a, "x2"_a);
  m.def("_logaddexp2_host", &log_of_sum<true>, "x1"_a, "x2"_a);
  m.def("_isclose_host", &close, "a"_a, "b"_a, "rtol"_a, "atol"_a, "equal_nan"_a);
  m.def("_allclose_host", &all_close, "a"_a, "b"_a, "rtol"_a, "atol"_a, "equal_nan"_a);
  m.def("_convolve_host", &over_lines<&convolve_lines>, "a"_a, "v"_a, "mode"_a);
  m.def("_correlate_host", &over_lines<&correlate_lines>, "a"_a, "v"_a, "mode"_a);
  m.def("_inner_host", &inner_of, "x1"_a, "x2"_a);
  m.def("_ptp_host", &spread_of, "x"_a);
}

}  // namespace tessera::python
