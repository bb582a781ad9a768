// SPDX-License-Identifier: Apache-2.0
// ts.array, ts.asarray, ts.zeros and their like.
#include "array/creation.hpp"

#include "core/sequence.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::python {

Range range_from(nb::handle start, nb::handle stop, nb::handle step, nb::handle dtype) {
  const bool one = stop.is_none();
  Range r;
  r.from = one ? Value(0) : value_from(start, "arange");
  r.to = value_from(one ? start : stop, "arange");
  r.by = value_from(step, "arange");
  const bool integers = r.from.is_integer() && r.to.is_integer() && r.by.is_integer();
  r.dtype = !dtype.is_none() ? dtype_from(dtype) : integers ? DType::i64 : DType::f64;
  if (r.by.as<double>() == 0) raise(PyExc_ZeroDivisionError, "division by zero");
  // As NumPy, which makes the first two elements of numbers of Python, and the others by adding.
  if (integers && is_integer(r.dtype)) {
    const i64 length = arange_length(r.from, r.to, r.by);
    if (length > 0) check_fits(r.from, r.dtype);
    i64 second = 0;
    if (length > 1 && !__builtin_add_overflow(r.from.as<i64>(), r.by.as<i64>(), &second) &&
        r.from.kind() != Value::Kind::natural)
      check_fits(Value(second), r.dtype);
  }
  return r;
}

namespace {

using nb::literals::operator""_a;

Array placed(Array a, nb::handle device, bool must_copy) {
  if (device.is_none() && !must_copy) return a;
  const Device d = device.is_none() ? a.device() : device_from(device);
  return released([&] { return a.device() != d ? a.to(d) : must_copy ? a.copy() : a; });
}

Array make_array(nb::handle obj, nb::handle dtype, nb::handle device, nb::handle copy) {
  PyObject* const p = obj.ptr();
  const bool number = PyLong_Check(p) || PyFloat_CheckExact(p) || PyComplex_CheckExact(p);
  const bool fresh = PyList_Check(p) || PyTuple_Check(p) || PyRange_Check(p) || number;
  const bool must = !fresh && (copy.is_none() || flag_from(copy, "copy"));
  const auto wanted = dtype_or_none(dtype);
  Array a = as_array(obj, "array", fresh ? wanted : std::nullopt);
  if (!wanted || a.dtype() == *wanted) return placed(std::move(a), device, must);
  return placed(released([&] { return a.astype(*wanted); }), device, false);
}

// The standard's copy=: true always, false never, None where it must.
Array imported(nb::handle x, nb::handle device, nb::handle copy) {
  const Array a = is_array(x.ptr()) ? array_of(x.ptr()) : array_from_dlpack(x);
  const Device to = device.is_none() ? a.device() : device_from(device);
  if (!copy.is_none() && !flag_from(copy, "copy") && to != a.device())
    raise(PyExc_BufferError,
          cat("from_dlpack: the array is on ", a.device(), "; on ", to, " it would be a copy"));
  return placed(a, device, !copy.is_none() && flag_from(copy, "copy"));
}

Array share_array(nb::handle obj, nb::handle dtype, nb::handle device, nb::handle copy) {
  if (copy.is_none()) {
    Array a = as_array(obj, "asarray", dtype_or_none(dtype));
    // A number of NumPy's cannot be changed, and so there is nothing to share with it.
    const bool number = a.ndim() == 0 && !a.storage().writable() && !is_array(obj.ptr()) &&
                        !nb::hasattr(obj, "__array_finalize__");
    return placed(std::move(a), device, number);
  }
  if (flag_from(copy, "copy")) return make_array(obj, dtype, device, copy);
  const Array a = as_array(obj, "asarray");
  const bool shared =
      (is_array(obj.ptr()) || PyObject_CheckBuffer(obj.ptr()) || nb::hasattr(obj, "__dlpack__") ||
       nb::hasattr(obj, "__cuda_array_interface__")) &&
      (dtype.is_none() || dtype_from(dtype) == a.dtype()) &&
      (device.is_none() || device_from(device) == a.device());
  require<ArgumentError>(shared, "asarray: what was asked for cannot be had without a copy");
  return a;
}

Array filled(nb::handle shape, const Value& v, DType t, nb::handle device) {
  const Shape s = shape_from(shape);
  const Device d = device_from(device);
  check_fits(v, t);
  return released([&] { return full(s, v, t, d); });
}

Array filled_like(const Array& x, nb::handle v, nb::handle dtype, nb::handle device,
                  nb::handle shape) {
  const Shape s = shape.is_none() ? x.shape() : shape_from(shape);
  const DType t = dtype.is_none() ? x.dtype() : dtype_from(dtype);
  const Device d = device.is_none() ? x.device() : device_from(device);
  if (v.is_none()) return Array::empty(s, t, d);
  const Value value = value_from(v, "full_like", t);
  check_fits(value, t);
  return released([&] { return full(s, value, t, d); });
}

Array make_range(nb::handle start, nb::handle stop, nb::handle step, nb::handle dtype,
                 nb::handle device) {
  const Range r = range_from(start, stop, step, dtype);
  const Device d = device_from(device);
  return released([&] { return arange(r.from, r.to, r.by, r.dtype, d); });
}

Array make_linspace(double start, double stop, i64 num, bool endpoint, nb::handle dtype,
                    nb::handle device) {
  require<ArgumentError>(num >= 0, "Number of samples, ", num, ", must be non-negative.");
  const DType t = dtype.is_none() ? DType::f64 : dtype_from(dtype);
  const Device d = device_from(device);
  // Without the end: the same steps as with it, to the last bit.
  const i64 steps = endpoint ? num : num + 1;
  return released([&] { return linspace_part(start, stop, steps, 0, num, t, d); });
}

Array make_eye(i64 n, nb::handle m, nb::handle offset, nb::handle dtype, nb::handle device) {
  const i64 columns = m.is_none() ? n : int_from(m, "eye");
  // A diagonal beyond the matrix, however far, is empty.
  nb::object given = nb::steal(PyNumber_Index(offset.ptr()));
  if (!given.is_valid()) throw nb::python_error();
  const i64 far = std::max({n, columns, i64{0}});
  const i64 k = std::clamp<i64>(PyNumber_AsSsize_t(given.ptr(), nullptr), -far, far);
  const DType t = dtype.is_none() ? DType::f64 : dtype_from(dtype);
  const Device d = device_from(device);
  return released([&] { return eye(n, columns, k, t, d); });
}

#define OPTIONS "dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Array"

void bind_filled(nb::module_& m) {
  m.def(
      "zeros",
      [](nb::handle shape, nb::handle dtype, nb::handle device) {
        return filled(shape, Value(0), dtype.is_none() ? DType::f64 : dtype_from(dtype), device);
      },
      "shape"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
      nb::sig("def zeros(shape: ShapeLike, " OPTIONS),
      "Zeros; float64 unless told. Where memory or its budget has no room and "
      "`ts.set_backing_dir` named a folder,\nan array on disk (`ts.stored`); the same holds for "
      "`ones`, "
      "`full`, `empty` and `ts.random.normal`, `uniform` and `integers`.\n\n"
      ">>> ts.zeros(2).tolist()\n[0.0, 0.0]\n");
  m.def(
      "ones",
      [](nb::handle shape, nb::handle dtype, nb::handle device) {
        return filled(shape, Value(1), dtype.is_none() ? DType::f64 : dtype_from(dtype), device);
      },
      "shape"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
      nb::sig("def ones(shape: ShapeLike, " OPTIONS),
      "Ones; float64 unless told.\n\n>>> ts.ones(2, 'int8').tolist()\n[1, 1]\n");
  m.def(
      "empty",
      [](nb::handle shape, nb::handle dtype, nb::handle device) {
        const Shape s = shape_from(shape);
        const DType t = dtype.is_none() ? DType::f64 : dtype_from(dtype);
        return Array::empty(s, t, device_from(device));
      },
      "shape"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
      nb::sig("def empty(shape: ShapeLike, " OPTIONS),
      "Memory as it is found; float64 unless told.\n\n>>> ts.empty((2, 3)).shape\n(2, 3)\n");
  m.def(
      "full",
      [](nb::handle shape, nb::handle value, nb::handle dtype, nb::handle device) {
        const auto wanted = dtype_or_none(dtype);
        const Value v = value_from(value, "full", wanted);
        return filled(shape, v, wanted.value_or(v.dtype()), device);
      },
      "shape"_a, "fill_value"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
      nb::sig("def full(shape: ShapeLike, fill_value: complex, " OPTIONS),
      "One value everywhere, in its own dtype unless told.\n\n>>> ts.full(2, 7).tolist()\n[7, "
      "7]\n");
}

#define LIKE_OPTIONS                                                                             \
  "dtype: DTypeLike | None = None, device: DeviceLike | None = None, shape: ShapeLike | None = " \
  "None) -> Array"

void bind_likes(nb::module_& m) {
  struct Like {
    const char *name, *sig, *doc;
    std::optional<int> value;
  };
  static constexpr Like likes[] = {{"zeros_like", "def zeros_like(x: ArrayLike, " LIKE_OPTIONS,
                                    "Zeros with the shape, dtype and device of x.\n\n>>> "
                                    "ts.zeros_like(ts.ones(2)).tolist()\n[0.0, 0.0]\n",
                                    0},
                                   {"ones_like", "def ones_like(x: ArrayLike, " LIKE_OPTIONS,
                                    "Ones with the shape, dtype and device of x.\n\n>>> "
                                    "ts.ones_like(ts.zeros(2)).tolist()\n[1.0, 1.0]\n",
                                    1},
                                   {"empty_like",
                                    "def empty_like(x: ArrayLike, " LIKE_OPTIONS,
                                    "Fresh memory with the shape, dtype and device of x.\n\n>>> "
                                    "ts.empty_like(ts.zeros(2)).shape\n(2,)\n",
                                    {}}};
  for (const Like& like : likes) {
    m.def(
        like.name,
        [value = like.value](nb::handle x, nb::handle dtype, nb::handle device, nb::handle shape) {
          const nb::object v = value ? nb::object(nb::int_(*value)) : nb::none();
          return filled_like(as_array(x, "like"), v, dtype, device, shape);
        },
        "x"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), "shape"_a = nb::none(),
        nb::sig(like.sig), like.doc);
  }
  m.def(
      "full_like",
      [](nb::handle x, nb::handle value, nb::handle dtype, nb::handle device, nb::handle shape) {
        return filled_like(as_array(x, "full_like"), value, dtype, device, shape);
      },
      "x"_a, "fill_value"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
      "shape"_a = nb::none(),
      nb::sig("def full_like(x: ArrayLike, fill_value: complex, " LIKE_OPTIONS),
      "One value with the shape, dtype and device of x.\n\n>>> ts.full_like(ts.zeros(2), "
      "3).tolist()\n[3.0, 3.0]\n");
}

}  // namespace

void bind_creation(nb::module_& m) {
  m.def("array", &make_array, "obj"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
        nb::kw_only(), "copy"_a = nb::none(),
        nb::sig("def array(obj: ArrayLike, dtype: DTypeLike | None = None, device: DeviceLike | "
                "None = None, *, "
                "copy: bool | None = None) -> Array"),
        "A new array with the elements of obj: numbers, nested lists, or any array.\n\n"
        ">>> ts.array([[1, 2], [3, 4]], dtype='float32').sum().item()\n10.0\n");
  m.def("asarray", &share_array, "obj"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
        nb::kw_only(), "copy"_a = nb::none(),
        nb::sig("def asarray(obj: ArrayLike, dtype: DTypeLike | None = None, device: DeviceLike | "
                "None = None, *, copy: bool | None = None) -> Array"),
        "An array that shares the memory of obj where it can: NumPy arrays, buffers, DLPack, CUDA "
        "arrays; always (copy=False, a ValueError where it cannot) or never (copy=True).\n\n"
        ">>> a = np.zeros(2); ts.asarray(a)[0] = 1; a.tolist()\n[1.0, 0.0]\n");
  m.def("from_dlpack", &imported, "x"_a, nb::kw_only(), "device"_a = nb::none(),
        "copy"_a = nb::none(),
        nb::sig("def from_dlpack(x: typing.Any, *, device: DeviceLike | None = None, copy: bool | "
                "None = None) -> Array"),
        "An array over the memory of anything with ``__dlpack__``, or a copy of it: on another "
        "device, or where one is asked for; with copy=False a BufferError instead.\n\n"
        ">>> ts.from_dlpack(np.arange(3)).tolist()\n[0, 1, 2]\n"
        ">>> x = ts.zeros(2); y = ts.from_dlpack(x, copy=True); y[0] = 1; x.tolist()\n"
        "[0.0, 0.0]\n");
  m.def("arange", &make_range, "start"_a, "stop"_a = nb::none(), "step"_a = 1,
        "dtype"_a = nb::none(), "device"_a = nb::none(),
        nb::sig("def arange(start: float, stop: float | None = None, step: float = 1, " OPTIONS),
        "Evenly spaced values from start up to, not including, stop.\n\n"
        ">>> ts.arange(3).tolist(), ts.arange(1, 2, 0.5).tolist()\n([0, 1, 2], [1.0, 1.5])\n");
  m.def(
      "linspace", &make_linspace, "start"_a, "stop"_a, "num"_a = 50, "endpoint"_a = true,
      "dtype"_a = nb::none(), "device"_a = nb::none(),
      nb::sig(
          "def linspace(start: float, stop: float, num: int = 50, endpoint: bool = True, " OPTIONS),
      "num values from start to stop.\n\n>>> ts.linspace(0, 1, 5).tolist()\n[0.0, 0.25, 0.5, 0.75, "
      "1.0]\n");
  m.def("eye", &make_eye, "N"_a, "M"_a = nb::none(), "k"_a = 0, "dtype"_a = nb::none(),
        "device"_a = nb::none(),
        nb::sig("def eye(N: int, M: int | None = None, k: int = 0, " OPTIONS),
        "Ones on diagonal k of an N by M matrix.\n\n>>> ts.eye(2, 3, 1).tolist()\n[[0.0, 1.0, "
        "0.0], [0.0, 0.0, 1.0]]\n");
  bind_filled(m);
  bind_likes(m);
}

}  // namespace tessera::python
