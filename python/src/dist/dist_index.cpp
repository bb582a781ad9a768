// SPDX-License-Identifier: Apache-2.0
// x[key] and x[key] = value of distributed arrays, and what they would do. Keys of integers alone
// take a short path where no other rank is concerned; everything else becomes a dist::DistIndex.
#include <algorithm>
#include <cstring>

#include "array/index_key.hpp"
#include "dist/dist.hpp"
#include "tessera/distributed/indexing/explain.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// The element of a key of integers in this rank's memory; null when another rank has it. False when
// the key is something else, or when the element cannot be reached from here without the others.
inline bool element_key(const DNDarray& x, PyObject* key, std::byte*& element) {
  const i64 ndim = x.ndim();
  i64 at[max_rank];
  if (x.owner() || x.device().kind != Kind::cpu || !integer_key(key, ndim, at)) return false;
  for (i64 axis = 0; axis < ndim; ++axis) at[axis] = resolve_integer(at[axis], axis, x.shape(axis));
  element = nullptr;
  if (const auto split = x.split()) {
    const int rank = x.comm().rank();
    at[*split] -= x.part().begin(rank);
    if (at[*split] < 0 || at[*split] >= x.part().count(rank)) return true;
  }
  const Array& mine = x.resident();
  const i64 offset = element_offset(mine.layout(), {at, static_cast<std::size_t>(ndim)});
  mine.storage().wait();
  element = static_cast<std::byte*>(mine.storage().data()) + offset * size_of(x.dtype());
  return true;
}

// A value that cannot be converted is refused behind a key that is wrong, as NumPy has it.
Array value_behind_key(const DNDarray& x, const dist::DistIndex& index, PyObject* value) {
  try {
    require_depth(value, index.index(), x.shape());
    return assigned_value(value, x.dtype(), x.device());
  } catch (...) {
    released([&] { require_key(x, index); });
    throw;
  }
}

dist::Explanation explained(const DNDarray& x, nb::handle key, nb::handle value) {
  const dist::DistIndex index = key_of<dist::DistIndex>(key.ptr(), x.device());
  if (value.is_none()) return released([&] { return explain(x, index); });
  const DNDarray v =
      is_dist(value.ptr())
          ? dist_of(value.ptr())
          : DNDarray::replicated(assigned_value(value, x.dtype(), x.device()), x.comm());
  return released([&] { return explain(x, index, v); });
}

nb::tuple tuple_of_counts(std::span<const i64> counts) {
  return tuple_of(Shape(counts.begin(), counts.end()));
}

}  // namespace

PyObject* dist_subscript(PyObject* self, PyObject* key) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    const DNDarray& x = dist_of(self);
    std::byte* element = nullptr;
    if ((x.comm().alone() || !x.split()) && element_key(x, key, element)) {
      Array item(Storage::allocate(cpu, size_of(x.dtype())), Layout{}, x.dtype());
      std::memcpy(item.storage().data(), element, static_cast<std::size_t>(size_of(x.dtype())));
      return wrap(DNDarray::replicated(std::move(item), x.comm())).release().ptr();
    }
    const dist::DistIndex index = key_of<dist::DistIndex>(key, x.device());
    return wrap_view(is_passing(self), [&] { return x[index]; }).release().ptr();
  });
}

int dist_assign_subscript(PyObject* self, PyObject* key, PyObject* value) noexcept {
  return guarded(-1, [&] {
    const DNDarray& x = dist_of(self);
    if (!value) raise(PyExc_ValueError, "cannot delete array elements");
    x.require_writable();
    if (const auto v = weak_value(value, x.dtype())) {
      std::byte* element = nullptr;
      if (element_key(x, key, element)) {
        check_fits(*v, x.dtype());
        if (element) store(element, x.dtype(), *v);
        x.touch();
        return 0;
      }
    }
    const dist::DistIndex index = key_of<dist::DistIndex>(key, x.device());
    if (is_dist(value)) {
      const DNDarray& v = dist_of(value);
      released([&] { x.assign(index, v); });
    } else {
      const Array v = value_behind_key(x, index, value);
      released([&] { x.assign(index, v); });
    }
    return 0;
  });
}

PyObject* dist_item(PyObject* self, Py_ssize_t i) noexcept {
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    if (dist_of(self).ndim() == 0) raise(PyExc_TypeError, "iteration over a 0-d array");
    nb::object key = nb::steal(PyLong_FromSsize_t(i));
    return dist_subscript(self, key.ptr());
  });
}

Py_ssize_t dist_length(PyObject* self) noexcept {
  return guarded(static_cast<Py_ssize_t>(-1), [&]() -> Py_ssize_t {
    const DNDarray& x = dist_of(self);
    if (x.ndim() == 0) raise(PyExc_TypeError, "len() of unsized object");
    return x.shape(0);
  });
}

void bind_dist_explain(nb::module_& m, nb::class_<DNDarray>& c) {
  nb::class_<dist::Explanation>(
      m, "Explanation",
      "What ``x[key]`` or ``x[key] = value`` will do: the route, the result, who sends what.\n\n"
      ">>> e = ts.dist.arange(10, split=0).explain(slice(1, 8, 2))\n"
      ">>> e.route, e.shape, e.split, e.messages\n('local', (4,), 0, 0)\n")
      .def_prop_ro(
          "route",
          [](const dist::Explanation& e) {
            std::string word(name(e.route));
            std::replace(word.begin(), word.end(), ' ', '_');
            return word;
          },
          nb::sig("def route(self) -> str"),
          "'local', 'scalar', 'local_mask', 'distributed_mask', 'descending_slice' or 'unordered'.")
      .def_prop_ro(
          "reason", [](const dist::Explanation& e) { return e.reason; },
          nb::sig("def reason(self) -> str"), "Why this one, in a sentence.")
      .def_prop_ro(
          "shape", [](const dist::Explanation& e) { return tuple_of(e.shape); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Of the result.")
      .def_prop_ro(
          "split",
          [](const dist::Explanation& e) -> nb::object {
            if (!e.distribution.split) return nb::none();
            return nb::int_(*e.distribution.split);
          },
          nb::sig("def split(self) -> int | None"), "Of the result.")
      .def_prop_ro(
          "counts",
          [](const dist::Explanation& e) -> nb::object {
            const Partition& part = e.distribution.part;
            if (!e.distribution.split || static_cast<std::size_t>(part.ranks()) != e.sent.size() ||
                part.size() != e.shape[*e.distribution.split])
              return nb::none();
            return tuple_of_counts(part.counts());
          },
          nb::sig("def counts(self) -> tuple[int, ...] | None"),
          "Entries of the result on each rank; None without a split, and where values decide.")
      .def_ro("messages", &dist::Explanation::messages, "Of all ranks together.")
      .def_ro("index_bytes", &dist::Explanation::index_bytes, "Of all ranks together.")
      .def_ro("data_bytes", &dist::Explanation::data_bytes, "Of all ranks together.")
      .def_prop_ro(
          "sent", [](const dist::Explanation& e) { return tuple_of_counts(e.sent); },
          nb::sig("def sent(self) -> tuple[int, ...]"), "Bytes that each rank sends.")
      .def_ro("exact", &dist::Explanation::exact,
              "False: upper bounds, because the key's values lie on other ranks.")
      .def("__str__", &dist::Explanation::str, nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__", [](const dist::Explanation& e) { return cat("<", e.str(), ">"); },
          nb::sig("def __repr__(self) -> str"));
  c.def("explain", &explained, "key"_a.none(), "value"_a = nb::none(),
        nb::sig("def explain(self, key: typing.Any, value: ArrayLike | None = None) -> "
                "Explanation"),
        "What ``x[key]``, or with a value ``x[key] = value``, will do. Nothing is sent.\n\n"
        ">>> print(ts.dist.arange(10, split=0).explain([7, 2, 8]).route)\nunordered\n");
}

}  // namespace tessera::python
