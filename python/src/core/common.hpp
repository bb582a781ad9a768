// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the binding files share: how Python objects become arrays, values, shapes, dtypes and
// devices, and how C++ exceptions become Python's. Conversion only; what the objects do is the
// library's business.
//   ArrayOrValue v = operand(h);   return wrap(released([&] { return ops::add(v, w); }));

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <optional>
#include <string>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/device/device_spec.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"

namespace tessera::python {

namespace nb = nanobind;

// One function per topic; each adds its names to the module.
void bind_errors(nb::module_& m);
void bind_dtype(nb::module_& m);
nb::class_<Array> bind_array(nb::module_& m);
void bind_creation(nb::module_& m);
void bind_functions(nb::module_& m);
void bind_reductions(nb::module_& m, nb::class_<Array>& c);
void bind_manipulation(nb::module_& m, nb::class_<Array>& c);
void bind_fft(nb::module_& m);
void bind_random(nb::module_& m);
void bind_device(nb::module_& m);
void bind_config(nb::module_& m);
void bind_io(nb::module_& m);

// --- errors.cpp
// Sets the Python error of the exception in flight; for functions that Python calls directly.
void set_error_from_exception() noexcept;
[[noreturn]] void raise(PyObject* type, const std::string& text);
// For long work between two of its steps, without the interpreter's lock: throws KeyboardInterrupt
// after Ctrl-C.
void check_signals();

// Runs f; an exception becomes a Python error and `failed` is returned.
template <class R, class F>
R guarded(R failed, F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_error_from_exception();
    return failed;
  }
}

// Runs f without the interpreter's lock.
template <class F>
auto released(F&& f) {
  nb::gil_scoped_release unlocked;
  return f();
}

// The same where that pays: to give the lock away and to take it again costs as much as a call on
// few elements.
template <class F>
auto released(bool pays, F&& f) {
  if (!pays) return f();
  return released(std::forward<F>(f));
}
inline bool is_large(const Array& a) {
  constexpr i64 few = 2048;  // elements
  return a.size() > few || a.device().kind != Kind::cpu;
}

// --- io.cpp
// Of a str, bytes or os.PathLike.
std::string path_from(nb::handle h);

// --- dtype.cpp
DType dtype_from(nb::handle h);                    // DTypeError
std::optional<DType> dtype_or_none(nb::handle h);  // None: nothing
std::optional<DType> try_dtype(nb::handle h);
nb::object dtype_object(DType t);  // ts.float32 …

// --- array.cpp
extern PyTypeObject* array_type;
inline bool is_array(PyObject* o) { return Py_TYPE(o) == array_type; }
inline const Array& array_of(PyObject* o) { return *nb::inst_ptr<Array>(nb::handle(o)); }
nb::object wrap(Array a);

// --- number_slots.cpp, index.cpp: what Python calls directly, without the function dispatcher
std::vector<PyType_Slot> number_slots();
PyObject* array_subscript(PyObject* self, PyObject* key) noexcept;
int array_assign_subscript(PyObject* self, PyObject* key, PyObject* value) noexcept;
PyObject* array_item(PyObject* self, Py_ssize_t i) noexcept;
Py_ssize_t array_length(PyObject* self) noexcept;

// --- convert_in.cpp
// A Python bool, int, float or complex: adapts to the arrays it meets. Others: nothing. An int
// beyond 64 bits is a double where it meets a dtype that is not of integers, else OverflowError.
std::optional<Value> weak_value(PyObject* o, std::optional<DType> meets = {});
// What a number beside this operand of an operator meets: the dtype of an array of floats.
std::optional<DType> float_dtype(PyObject* o);
// Any number-like object, arrays of one element included; `meets` as of weak_value.
Value value_from(nb::handle h, std::string_view who, std::optional<DType> meets = {});
// Shares memory where it can (buffers, DLPack, CUDA array interface), else copies; DTypeError by
// name of the type when the object is no array at all.
Array as_array(nb::handle h, std::string_view who, std::optional<DType> dtype = {});
// Nothing when the object is not array-like.
std::optional<Array> try_array(nb::handle h, std::optional<DType> dtype = {});
// For out= and in-place targets: really a tessera array.
const Array& target_array(nb::handle h, std::string_view who);
// `other`: the operand beside it.
ArrayOrValue operand(nb::handle h, std::string_view who, nb::handle other = {});
// Nested lists, tuples and ranges of numbers.
Array array_from_nested(nb::handle h, std::optional<DType> dtype);
Device device_from(nb::handle h);    // None: cpu
DeviceSpec spec_from(nb::handle h);  // a DeviceSpec, or a device
Shape shape_from(nb::handle h);      // an int or a sequence of ints
std::optional<Shape> shape_or_none(nb::handle h);
i64 int_from(nb::handle h, std::string_view who);
// Bytes as an int or "2GiB".
i64 bytes_from(nb::handle h);

// --- reductions.cpp
// None is every axis; NumPy lets axis 0 of a number pass, though not (0,).
std::optional<Shape> axes_from(nb::handle axis, i64 ndim);

// --- scalars.cpp
// Writes a number as NumPy casts it; OverflowError for one out of bounds.
void store(void* p, DType dtype, const Value& v);
Value load(const void* p, DType dtype);
PyObject* python_number(const Value& v);
PyObject* python_number(const void* p, DType dtype);  // bool, int, float, complex
void check_fits(const Value& v, DType dtype);
// Whether a bound of this dtype's numbers is an integer of Python at their end or beyond: it asks for nothing.
bool is_idle_bound(nb::handle bound, DType dtype, bool is_low);

// --- convert_out.cpp
nb::object tolist(const Array& a);
int array_buffer(PyObject* self, Py_buffer* view, int flags) noexcept;
void array_release_buffer(PyObject* self, Py_buffer* view) noexcept;
nb::tuple tuple_of(const Shape& s);
nb::object numpy_of(nb::handle self, bool copy);

// --- dlpack.cpp
Array array_from_dlpack(nb::handle h);
Array array_from_cuda_interface(nb::handle h);
nb::object dlpack_capsule(const Array& a, bool versioned, bool copied, void* consumer);
std::pair<int, int> dlpack_device(const Array& x);

}  // namespace tessera::python
