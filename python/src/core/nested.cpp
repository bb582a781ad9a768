// SPDX-License-Identifier: Apache-2.0
// Nested lists and tuples of numbers: the shape is found first, then the widest kind of number,
// then the elements are written. Rows that are arrays themselves are stacked.
#include "core/common.hpp"
#include "core/sequence.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::python {

namespace {

bool is_sequence(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o); }

// No code of the caller runs between two looks at these: a list need not be held.
nb::object items_of(nb::handle h) {
  if (PyRange_Check(h.ptr())) check_length(h);
  nb::object items = nb::steal(PySequence_Fast(h.ptr(), "expected a sequence"));
  if (!items.is_valid()) throw nb::python_error();
  return items;
}

struct Found {
  Shape shape;
  std::optional<Value::Kind> kind;  // of the widest number
  bool negative = false;            // some integer is
  bool arrays = false;              // some leaf is an array or a NumPy scalar
};

[[noreturn]] void inhomogeneous(const Shape& shape, i64 depth) {
  Shape known(shape.begin(), shape.begin() + depth);
  throw ShapeError(
      cat("setting an array element with a sequence. The requested array has an inhomogeneous "
          "shape after ",
          depth, " dimensions. The detected shape was ", known, " + inhomogeneous part."));
}

Value::Kind widest(std::optional<Value::Kind> a, Value::Kind b) {
  if (!a || *a == b) return b;
  if ((*a == Value::Kind::natural && b == Value::Kind::integer) ||
      (*a == Value::Kind::integer && b == Value::Kind::natural)) {
    return Value::Kind::natural;
  }
  return std::max(*a, b);
}

void look(nb::handle h, i64 depth, std::optional<DType> dtype, Found& f) {
  if (!is_sequence(h.ptr())) {
    if (auto v = weak_value(h.ptr(), dtype)) {
      if (depth != f.shape.size()) inhomogeneous(f.shape, depth);
      f.kind = widest(f.kind, v->kind());
      f.negative |= v->kind() == Value::Kind::integer && v->as<i64>() < 0;
    } else {
      f.arrays = true;
    }
    return;
  }
  if (f.arrays) return;
  nb::object items = items_of(h);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.ptr());
  if (depth >= f.shape.size() || f.shape[depth] != n)
    inhomogeneous(f.shape, std::min(depth, f.shape.size()));
  for (Py_ssize_t i = 0; i < n; ++i)
    look(PySequence_Fast_GET_ITEM(items.ptr(), i), depth + 1, dtype, f);
}

void write(nb::handle h, DType dtype, std::byte*& at) {
  if (!is_sequence(h.ptr())) {
    store(at, dtype, *weak_value(h.ptr(), dtype));
    at += size_of(dtype);
    return;
  }
  nb::object items = items_of(h);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.ptr());
  for (Py_ssize_t i = 0; i < n; ++i) write(PySequence_Fast_GET_ITEM(items.ptr(), i), dtype, at);
}

// A list may hold itself beside an array: no deeper than arrays have axes.
struct Deeper {
  static thread_local i64 depth;
  Deeper() {
    require<ShapeError>(depth < max_rank, "array: lists nested more than ", max_rank, " deep");
    ++depth;
  }
  ~Deeper() { --depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
};
thread_local i64 Deeper::depth = 0;

Array stacked(nb::handle h, std::optional<DType> dtype) {
  const Deeper deeper;
  const nb::object items = held_items(h, "expected a sequence");
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.ptr());
  std::vector<Array> rows;
  for (Py_ssize_t i = 0; i < n; ++i) {
    nb::handle item = PySequence_Fast_GET_ITEM(items.ptr(), i);
    rows.push_back(as_array(item, "array", dtype));
    if (rows.back().shape() != rows.front().shape()) inhomogeneous({n}, 1);
  }
  return released([&] { return stack(rows, 0); });
}

Shape first_shape(nb::handle h) {
  Shape shape;
  nb::object o = nb::borrow(h);
  while (is_sequence(o.ptr())) {
    require<ShapeError>(shape.size() < max_rank, "array: lists nested more than ", max_rank,
                        " deep");
    nb::object items = items_of(o);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.ptr());
    shape.push_back(n);
    if (n == 0) break;
    o = nb::borrow(PySequence_Fast_GET_ITEM(items.ptr(), 0));
  }
  return shape;
}

}  // namespace

Array array_from_nested(nb::handle h, std::optional<DType> dtype) {
  Found f;
  f.shape = first_shape(h);
  look(h, 0, dtype, f);
  if (f.arrays) return stacked(h, dtype);
  const DType t = dtype.value_or([&] {
    constexpr DType of[] = {DType::b1, DType::i64, DType::u64, DType::f64, DType::c128};
    // Integers of which some need the sign and others the last bit: floats, as NumPy has it.
    if (!f.kind || (f.kind == Value::Kind::natural && f.negative)) return DType::f64;
    return of[static_cast<int>(*f.kind)];
  }());
  Array a(Storage::allocate(cpu, count_of(f.shape) * size_of(t)), Layout::contiguous(f.shape), t);
  std::byte* at = static_cast<std::byte*>(a.host_data());
  write(h, t, at);
  return a;
}

}  // namespace tessera::python
