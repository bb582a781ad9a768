// SPDX-License-Identifier: Apache-2.0
// tessera.Error and its family. Each class also derives from the built-ins that a NumPy user would
// catch.
#include "core/common.hpp"
#include "tessera/base/axis_error.hpp"
#include "tessera/device/host_limits.hpp"
#include "tessera/kernels/linalg/linalg_error.hpp"

namespace tessera::python {

namespace {

struct ErrorClass {
  const char* name;
  const char* text;
  PyObject* builtin;
  PyObject* another = nullptr;
  PyObject* type = nullptr;
};

enum Class : int {
  base,
  shape,
  dim,
  dtype,
  index,
  device,
  memory,
  split,
  available,
  plan,
  comm,
  io,
  backend,
  argument,
  overflow,
  linalg,
  axis
};
std::vector<ErrorClass> classes;

PyObject* make_class(nb::module_& m, const ErrorClass& c, PyObject* parent) {
  nb::list bases;
  for (PyObject* one : {parent, c.builtin, c.another})
    if (one) bases.append(nb::handle(one));
  const std::string qualified = std::string("tessera.") + c.name;
  PyObject* type =
      PyErr_NewExceptionWithDoc(qualified.c_str(), c.text, nb::tuple(bases).ptr(), nullptr);
  if (!type) throw nb::python_error();
  m.attr(c.name) = nb::handle(type);
  return type;  // kept for the life of the process: exceptions may be raised until the end
}

// Texts may quote bytes of a damaged file: what is not UTF-8 is replaced.
void set(Class c, const std::exception& e) {
  const std::string_view text = e.what();
  PyObject* s = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (!s) return;
  PyErr_SetObject(classes[c].type, s);
  Py_DECREF(s);
}

// Most derived first; returns false for exceptions of others.
bool translate(const std::exception_ptr& p) {
  try {
    std::rethrow_exception(p);
  } catch (const LinAlgError& e) {
    set(linalg, e);
  } catch (const ArgumentError& e) {
    set(argument, e);
  } catch (const OverflowError& e) {
    set(overflow, e);
  } catch (const ShapeError& e) {
    set(shape, e);
  } catch (const DimError& e) {
    set(dim, e);
  } catch (const DTypeError& e) {
    set(dtype, e);
  } catch (const AxisError& e) {
    set(axis, e);
  } catch (const IndexError& e) {
    set(index, e);
  } catch (const DeviceError& e) {
    set(device, e);
  } catch (const OutOfMemory& e) {
    set(memory, e);
  } catch (const SplitError& e) {
    set(split, e);
  } catch (const NotAvailable& e) {
    set(available, e);
  } catch (const PlanError& e) {
    set(plan, e);
  } catch (const CommError& e) {
    set(comm, e);
  } catch (const IoError& e) {
    set(io, e);
  } catch (const BackendError& e) {
    set(backend, e);
  } catch (const Error& e) {
    set(base, e);
  } catch (const std::bad_alloc&) {
    set(memory, OutOfMemory("the system has no memory left for this call"));
  } catch (const std::length_error&) {  // of a list that no memory could hold
    set(memory, OutOfMemory("more elements were asked for than memory can hold"));
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "an argument is of a type that this function does not take");
  } catch (...) {
    return false;
  }
  return true;
}

}  // namespace

void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw nb::python_error();
}

void check_signals() {
  nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void set_error_from_exception() noexcept {
  try {
    throw;
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const std::exception& e) {
    if (!translate(std::current_exception())) PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

void bind_errors(nb::module_& m) {
  PyObject* const v = PyExc_ValueError;
  PyObject* const r = PyExc_RuntimeError;
  classes = {
      {"Error",
       "What every error of tessera derives from.\n\n"
       ">>> try: ts.ones(2)[5]\n"
       "... except ts.Error as e: print(type(e).__name__)\nIndexError\n",
       PyExc_Exception},
      {"ShapeError",
       "Shapes that do not fit together; also a ValueError.\n\n"
       ">>> try: ts.ones(2) + ts.ones(3)\n"
       "... except ValueError as e: print(type(e).__name__)\nShapeError\n",
       v},
      {"DimError",
       "Named dimensions that do not fit together; also a ValueError.\n\n"
       ">>> try: ts.Diagonal(ts.ones((2, 2)), ('X',))\n"
       "... except ValueError as e: print(type(e).__name__)\nDimError\n",
       v},
      {"DTypeError",
       "An element type that does not fit, or none; a TypeError and a ValueError.\n\n"
       ">>> try: ts.zeros(2, 'text')\n"
       "... except TypeError as e: print(type(e).__name__)\nDTypeError\n",
       PyExc_TypeError, v},
      {"IndexError",
       "A key or axis outside the array; also the built-in IndexError.\n\n"
       ">>> try: ts.ones(2)[5]\n"
       "... except IndexError as e: print(type(e).__name__)\nIndexError\n",
       PyExc_IndexError},
      {"DeviceError",
       "Arrays on the wrong device, or a device that failed; also a RuntimeError.\n\n"
       ">>> try: ts.ones(2) + ts.ones(2, device='sim:0')\n"
       "... except RuntimeError as e: print(type(e).__name__)\nDeviceError\n",
       r},
      {"OutOfMemory",
       "More memory than the device or the budget has; also a MemoryError.\n\n"
       ">>> try: ts.empty(2**40, device='sim:0')\n"
       "... except MemoryError as e: print(type(e).__name__)\nOutOfMemory\n",
       PyExc_MemoryError},
      {"SplitError",
       "An operator or array that cannot be split as asked; a ValueError and a RuntimeError.\n\n"
       ">>> try: ts.FFT(1, grid_shapes=(('X',), ('K',))).split({'X': slice(0, 2)})\n"
       "... except ValueError as e: print(type(e).__name__)\nSplitError\n",
       v, r},
      {"NotAvailable",
       "Something this build or machine does not have; also a RuntimeError.\n\n"
       ">>> issubclass(ts.NotAvailable, RuntimeError)\nTrue\n",
       r},
      {"PlanError",
       "A plan that cannot be made or run as asked; also a RuntimeError.\n\n"
       ">>> x = ts.ones(3)\n"
       ">>> try: ts.Scalar(2.0).plan(x)(x, out=x)\n"
       "... except RuntimeError as e: print(type(e).__name__)\nPlanError\n",
       r},
      {"CommError",
       "Communication between ranks failed; also a RuntimeError.\n\n"
       ">>> issubclass(ts.CommError, RuntimeError)\nTrue\n",
       r},
      {"IoError",
       "A file that cannot be read or written; also an OSError.\n\n"
       ">>> try: ts.load('nothing.npy')\n"
       "... except OSError as e: print(type(e).__name__)\nIoError\n",
       PyExc_OSError},
      {"BackendError",
       "A library or driver below reported a failure; also a RuntimeError.\n\n"
       ">>> issubclass(ts.BackendError, RuntimeError)\nTrue\n",
       r},
      {"ArgumentError",
       "A value that the function does not take; also a ValueError.\n\n"
       ">>> try: ts.linspace(0, 1, -1)\n"
       "... except ValueError as e: print(type(e).__name__)\nArgumentError\n",
       v},
      {"OverflowError",
       "A number that its dtype cannot hold; also the built-in OverflowError.\n\n"
       ">>> try: ts.full(2, 300, 'int8')\n"
       "... except OverflowError as e: print(type(e).__name__)\nOverflowError\n",
       PyExc_OverflowError},
      {"LinAlgError",
       "A singular matrix, or one that cannot be factored; a ValueError and a RuntimeError.\n\n"
       ">>> try: ts.linalg.inverse([[0.0]])\n"
       "... except ValueError as e: print(type(e).__name__)\nLinAlgError\n",
       r},
      {"AxisError",
       "An axis that the array does not have; an IndexError and a ValueError.\n\n"
       ">>> try: ts.ones(2).sum(axis=1)\n"
       "... except ValueError as e: print(type(e).__name__)\nAxisError\n",
       v},
  };
  for (ErrorClass& c : classes) {
    const Class parent = &c == &classes[linalg] ? argument : &c == &classes[axis] ? index : base;
    c.type = make_class(m, c, classes[parent].type);
  }
  m.def(
      "_check_host_memory",
      [](const std::string& who, nb::int_ bytes) {
        const auto fits = nb::module_::import_("builtins").attr("min")(bytes, i64{1} << 60);
        check_host_memory(who, nb::cast<i64>(fits));
      },
      "OutOfMemory where the machine has not so many bytes left.");
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    if (!translate(p)) std::rethrow_exception(p);
  });
}

}  // namespace tessera::python
