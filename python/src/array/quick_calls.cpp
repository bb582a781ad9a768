// SPDX-License-Identifier: Apache-2.0
// The commonest calls without the function dispatcher: arrays and plain numbers given by position
// go straight to the library. Whatever else is given (keywords, lists, objects of others, what is
// wrong) takes the bound function's own way, which also has the sentences for errors.
#include <array>

#include "array/array_family.hpp"
#include "array/array_object.hpp"
#include "array/element_docs.hpp"
#include "array/index_key.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/copy/repeat_few.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/kernels/sort/distinct.hpp"
#include "tessera/kernels/sort/select.hpp"

namespace tessera::python {

namespace {

using Args = PyObject* const*;
// Nothing: the call is not for this way.
using Quick = nb::object (*)(Args args, i64 count);

template <Quick quick>
struct QuickCall {
  static inline vectorcallfunc slow = nullptr;

  static PyObject* call(PyObject* self, Args args, std::size_t nargsf, PyObject* names) noexcept {
    if (!names) try {
        // nanobind keeps a mark of its own beside the one of Python, above any number of arguments
        if (nb::object r = quick(args, static_cast<i64>(nargsf & 0xffffffffU)); r.is_valid())
          return r.release().ptr();
      } catch (const OutOfMemory&) {  // the bound function's way knows of the disk
      } catch (...) {
        set_error_from_exception();
        return nullptr;
      }
    return slow(self, args, nargsf, names);
  }
};

template <Quick quick>
void quicken(nb::handle function) {
  const Py_ssize_t at = Py_TYPE(function.ptr())->tp_vectorcall_offset;
  auto& call = *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function.ptr()) + at);
  QuickCall<quick>::slow = call;
  call = &QuickCall<quick>::call;
}

// --- element-wise functions of arrays

template <ElementOp op, int arity>
nb::object element(Args args, i64 count) {
  if (count != arity) return {};
  for (int i = 0; i < arity; ++i)
    if (!is_array(args[i])) return {};
  if constexpr (arity == 1)
    return wrap(Local::elementwise(op, std::array{ArrayOrValue(array_of(args[0]))}));
  else
    return wrap(Local::elementwise(
        op, std::array{ArrayOrValue(array_of(args[0])), ArrayOrValue(array_of(args[1]))}));
}

template <ElementOp op, int arity>
void quicken_element(nb::handle function) {
  if constexpr (arity <= 2) quicken<&element<op, arity>>(function);
}

constexpr void (*element_ways[])(nb::handle) = {
#define ELEMENT(name, arity, family) &quicken_element<ElementOp::name, arity>,
    TESSERA_ELEMENT_OPS(ELEMENT)
#undef ELEMENT
};

// --- making arrays

// An int, or a tuple of ints; false when it is something else.
bool plain_shape(PyObject* o, Shape& shape) {
  i64 n = 0;
  if (plain_int(o, n)) {
    shape.push_back(n);
    return true;
  }
  if (!PyTuple_CheckExact(o)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    if (!plain_int(PyTuple_GET_ITEM(o, i), n)) return false;
    shape.push_back(n);
  }
  return true;
}

bool is_small(const Shape& shape) {
  constexpr i64 few = 32768;  // elements, which one thread writes in some microseconds
  i64 n = 1;
  for (const i64 size : shape) {
    if (size < 0 || size > few) return false;
    n *= size;
    if (n > few) return false;
  }
  return true;
}

template <int value>
nb::object filled(Args args, i64 count) {
  Shape shape;
  if (count != 1 || !plain_shape(args[0], shape) || !is_small(shape)) return {};
  return wrap(full(shape, Value(value), DType::f64, cpu));
}

nb::object empty(Args args, i64 count) {
  Shape shape;
  if (count != 1 || !plain_shape(args[0], shape)) return {};
  return wrap(Array::empty(shape, DType::f64, cpu));
}

nb::object full_of(Args args, i64 count) {
  Shape shape;
  if (count != 2 || !PyFloat_CheckExact(args[1]) || !plain_shape(args[0], shape) ||
      !is_small(shape))
    return {};
  return wrap(full(shape, Value(PyFloat_AS_DOUBLE(args[1])), DType::f64, cpu));
}

nb::object range(Args args, i64 count) {
  i64 n = 0;
  if (count != 1 || !plain_int(args[0], n) || !is_small(Shape{n})) return {};
  return wrap(arange(Value(0), Value(n), Value(1), DType::i64, cpu));
}

// --- members and functions of one array

nb::object copy(Args args, i64 count) {
  if (count != 1 || !is_array(args[0])) return {};
  const Array& x = array_of(args[0]);
  return wrap(released(is_large(x), [&] { return x.copy(); }));
}

nb::object transposed(Args args, i64 count) {
  if (count != 1 || !is_array(args[0])) return {};
  return wrap(array_of(args[0]).transpose());
}

nb::object reshaped(Args args, i64 count) {
  if (count < 2 || !is_array(args[0])) return {};
  const Array& x = array_of(args[0]);
  if (!x.is_contiguous()) return {};
  Shape shape;
  if (count == 2) {
    if (!plain_shape(args[1], shape)) return {};
  } else {
    i64 n = 0;
    for (i64 i = 1; i < count; ++i) {
      if (!plain_int(args[i], n)) return {};
      shape.push_back(n);
    }
  }
  return wrap(x.reshape(shape));
}

nb::object positions(Args args, i64 count) {
  if (count != 1 || !is_array(args[0])) return {};
  const Array& x = array_of(args[0]);
  if (is_large(x)) return {};
  const std::vector<Array> found = nonzero(x);
  nb::object all = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(found.size())));
  if (!all.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < found.size(); ++i)
    PyTuple_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(i), wrap(found[i]).release().ptr());
  return all;
}

nb::object counted(Args args, i64 count) {
  if (count != 1 || !is_array(args[0]) || is_large(array_of(args[0]))) return {};
  return wrap(reduce(ReduceOp::count_nonzero, array_of(args[0])));
}

// --- functions of several arrays

bool are_small(Args args, i64 count) {
  for (i64 i = 0; i < count; ++i)
    if (!is_array(args[i]) || is_large(array_of(args[i]))) return false;
  return true;
}

nb::object taken(Args args, i64 count) {
  if (count != 2 || !are_small(args, count)) return {};
  return wrap(take(array_of(args[0]), array_of(args[1]), std::nullopt));
}

nb::object selected(Args args, i64 count) {
  if (count != 3 || !are_small(args, count) || array_of(args[0]).dtype() != DType::b1) return {};
  return wrap(ops::where(array_of(args[0]), array_of(args[1]), array_of(args[2])));
}

nb::object joined(Args args, i64 count) {
  i64 axis = 0;
  if (count < 1 || count > 2 || !(PyList_CheckExact(args[0]) || PyTuple_CheckExact(args[0])) ||
      (count == 2 && !plain_int(args[1], axis)))
    return {};
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(args[0]);
  if (n == 0 || n > 8 || !are_small(PySequence_Fast_ITEMS(args[0]), n)) return {};
  std::vector<Array> parts;
  parts.reserve(static_cast<std::size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i)
    parts.push_back(array_of(PySequence_Fast_GET_ITEM(args[0], i)));
  return wrap(concatenate(parts, axis));
}

nb::object inner(Args args, i64 count) {
  if (count != 2 || !are_small(args, count)) return {};
  const Array &a = array_of(args[0]), &b = array_of(args[1]);
  nb::object found = dot_of_lines(a, b);  // real numbers are their own conjugates
  return found.is_valid() ? found : wrap(vdot(a, b));
}

nb::object dotted(Args args, i64 count) {
  if (count != 2 || !is_array(args[0]) || !is_array(args[1])) return {};
  return dot_of_lines(array_of(args[0]), array_of(args[1]));
}

// --- for functions that Python writes: None where the general way has to be taken

nb::object repeated(nb::handle x, nb::handle repeats, nb::handle axis) {
  i64 one = 0, along = 0;
  const bool each = is_array(repeats.ptr()) && !is_large(array_of(repeats.ptr())) &&
                    array_of(repeats.ptr()).dtype() == DType::i64 &&
                    array_of(repeats.ptr()).ndim() == 1 && array_of(repeats.ptr()).is_contiguous();
  if (!is_array(x.ptr()) || !(each || plain_int(repeats.ptr(), one)) ||
      !(axis.is_none() || plain_int(axis.ptr(), along)))
    return nb::none();
  std::span<const i64> times(&one, 1);
  if (each)
    times = {array_of(repeats.ptr()).host<i64>(),
             static_cast<std::size_t>(array_of(repeats.ptr()).size())};
  Array out;
  if (!repeat_few(array_of(x.ptr()), times, axis.is_none() ? std::nullopt : std::optional(along),
                  out))
    return nb::none();
  return wrap(std::move(out));
}

nb::object best_of(nb::handle x, nb::handle k, nb::handle axis, nb::handle largest) {
  i64 many = 0, along = 0;
  if (!is_array(x.ptr()) || !plain_int(k.ptr(), many) || !plain_int(axis.ptr(), along) ||
      !PyBool_Check(largest.ptr()))
    return nb::none();
  const Array& a = array_of(x.ptr());
  if (along < 0) along += a.ndim();
  if (is_large(a) || is_complex(a.dtype()) || along < 0 || along >= a.ndim() || many < 1 ||
      many > a.shape(along) || a.size() == 0)
    return nb::none();
  Best best = best_entries(a, many, along, largest.ptr() == Py_True);
  return nb::make_tuple(wrap(std::move(best.values)), wrap(std::move(best.indices)));
}

nb::object distinct_of(nb::handle x) {
  if (!is_array(x.ptr()) || is_large(array_of(x.ptr()))) return nb::none();
  return wrap(distinct(array_of(x.ptr())));
}

}  // namespace

void quicken_calls(nb::module_& m) {
  for (const ElementDoc& d : element_docs)
    element_ways[static_cast<std::size_t>(d.op)](m.attr(d.name));
  quicken<&filled<0>>(m.attr("zeros"));
  quicken<&filled<1>>(m.attr("ones"));
  quicken<&empty>(m.attr("empty"));
  quicken<&full_of>(m.attr("full"));
  quicken<&range>(m.attr("arange"));
  quicken<&positions>(m.attr("nonzero"));
  quicken<&counted>(m.attr("count_nonzero"));
  quicken<&selected>(m.attr("where"));
  quicken<&inner>(m.attr("vdot"));
  quicken<&dotted>(m.attr("dot"));
  quicken<&joined>(m.attr("concatenate"));
  m.def("_best_few", &best_of, nb::arg("x"), nb::arg("k"), nb::arg("axis"), nb::arg("largest"));
  m.def("_distinct_few", &distinct_of, nb::arg("x"));
  m.def("_repeat_few", &repeated, nb::arg("x"), nb::arg("repeats"), nb::arg("axis").none());
  const nb::object array = m.attr("Array");
  quicken<&copy>(array.attr("copy"));
  quicken<&transposed>(array.attr("T").attr("fget"));
  quicken<&reshaped>(array.attr("reshape"));
  quicken<&taken>(array.attr("take"));
}

}  // namespace tessera::python
