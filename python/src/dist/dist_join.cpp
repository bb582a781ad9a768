// SPDX-License-Identifier: Apache-2.0
// Distributed arrays joined, cut, and multiplied as matrices.
#include "tessera/distributed/functions/join.hpp"

#include "core/sequence.hpp"
#include "dist/dist_methods.hpp"
#include "tessera/distributed/functions/elementwise.hpp"
#include "tessera/distributed/functions/reshape.hpp"
#include "tessera/distributed/linalg/matmul.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

std::vector<DNDarray> arrays_of(nb::handle sequence, std::string_view who) {
  const nb::object items = held_items(sequence, "expected a sequence of arrays");
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.ptr());
  if (n == 0) throw ArgumentError(cat("need at least one array to ", who));
  nb::handle distributed = PySequence_Fast_GET_ITEM(items.ptr(), 0);
  for (Py_ssize_t i = n; i-- > 0;) {
    nb::handle item = PySequence_Fast_GET_ITEM(items.ptr(), i);
    if (is_dist(item.ptr())) distributed = item;
  }
  const Communicator comm = group_of({distributed});
  std::vector<DNDarray> arrays;
  for (Py_ssize_t i = 0; i < n; ++i)
    arrays.push_back(as_dist(PySequence_Fast_GET_ITEM(items.ptr(), i), who, comm));
  return arrays;
}

nb::object joined(nb::handle arrays, nb::handle axis) {
  std::vector<DNDarray> parts = arrays_of(arrays, "concatenate");
  const auto along = axis_or_none(axis, "concatenate");
  return wrap(released([&] {
    if (!along)
      for (DNDarray& p : parts) p = dist::ravel(p);
    return dist::concatenate(parts, along.value_or(0));
  }));
}

nb::object cut(nb::handle x, nb::handle sections, i64 axis, bool equal) {
  const char* who = equal ? "split" : "array_split";
  const DNDarray a = as_dist(x, who);
  if (is_one_integer(sections)) {
    const i64 n = int_from(sections, who);
    return list_of_arrays(
        released([&] { return equal ? dist::split(a, n, axis) : dist::array_split(a, n, axis); }));
  }
  const Shape at = shape_from(sections);
  return list_of_arrays(released([&] { return dist::split(a, at, axis); }));
}

// NumPy's dot: a number times an array, inner products of vectors, matrix products; of higher ranks
// on the right only what matmul says as well.
nb::object dotted(nb::handle a, nb::handle b) {
  const Communicator comm = group_of({a, b});
  const DNDarray x = as_dist(a, "dot", comm), y = as_dist(b, "dot", comm);
  require<ShapeError>(y.ndim() <= 2,
                      "dot: of distributed arrays the second has two axes at most, "
                      "got shape ",
                      y.shape(), "; use matmul");
  return wrap(released(
      [&] { return x.ndim() == 0 || y.ndim() == 0 ? dist::multiply(x, y) : dist::matmul(x, y); }));
}

void bind_joining(nb::module_& m) {
  m.def("concatenate", &joined, "arrays"_a, "axis"_a.none() = 0,
        nb::sig("def concatenate(arrays: typing.Sequence[ArrayLike], axis: int | None = 0) -> "
                "DNDarray"),
        "Arrays one after another along an axis they have.\n\n"
        ">>> x = ts.dist.arange(2, split=0); ts.dist.concatenate([x, [7]]).tolist()\n[0, 1, 7]\n");
  m.def(
      "stack",
      [](nb::handle arrays, i64 axis) {
        const std::vector<DNDarray> parts = arrays_of(arrays, "stack");
        return wrap(released([&] { return dist::stack(parts, axis); }));
      },
      "arrays"_a, "axis"_a = 0,
      nb::sig("def stack(arrays: typing.Sequence[ArrayLike], axis: int = 0) -> DNDarray"),
      "Arrays of one shape along a new axis.\n\n"
      ">>> x = ts.dist.arange(2, split=0); ts.dist.stack([x, x], axis=1).tolist()\n"
      "[[0, 0], [1, 1]]\n");
  struct Beside {
    const char *name, *doc;
    DNDarray (*function)(std::span<const DNDarray>);
  };
  static constexpr Beside beside[] = {
      {"hstack",
       "Arrays beside each other.\n\n"
       ">>> ts.dist.hstack([ts.dist.arange(2, split=0), [5]]).tolist()\n[0, 1, 5]\n",
       &dist::hstack},
      {"vstack",
       "Arrays on top of each other.\n\n"
       ">>> ts.dist.vstack([ts.dist.arange(2, split=0), [5, 6]]).tolist()\n[[0, 1], [5, 6]]\n",
       &dist::vstack},
      {"column_stack",
       "Vectors as the columns of a matrix.\n\n"
       ">>> ts.dist.column_stack([ts.dist.arange(2, split=0), [5, 6]]).tolist()\n"
       "[[0, 5], [1, 6]]\n",
       &dist::column_stack}};
  for (const Beside& b : beside) {
    const std::string sig = cat("def ", b.name, "(arrays: typing.Sequence[ArrayLike]) -> DNDarray");
    m.def(
        b.name,
        [f = b.function, who = b.name](nb::handle arrays) {
          const std::vector<DNDarray> parts = arrays_of(arrays, who);
          return wrap(released([&] { return f(parts); }));
        },
        "arrays"_a, nb::sig(sig.c_str()), b.doc);
  }
}

}  // namespace

void bind_dist_join(nb::module_& m, nb::class_<DNDarray>& c) {
  bind_joining(m);
  for (const bool equal : {true, false}) {
    const std::string sig = cat("def ", equal ? "split" : "array_split",
                                "(x: ArrayLike, indices_or_sections: ShapeLike, axis: int = 0) -> "
                                "list[DNDarray]");
    m.def(
        equal ? "split" : "array_split",
        [equal](nb::handle x, nb::handle sections, i64 axis) {
          return cut(x, sections, axis, equal);
        },
        "x"_a, "indices_or_sections"_a, "axis"_a = 0, nb::sig(sig.c_str()),
        equal ? "Parts of equal length, or cut before the given positions: views.\n\n"
                ">>> [p.tolist() for p in ts.dist.split(ts.dist.arange(4, split=0), 2)]\n"
                "[[0, 1], [2, 3]]\n"
              : "Parts of lengths that differ by one at most: views.\n\n"
                ">>> [p.tolist() for p in ts.dist.array_split(ts.dist.arange(3, split=0), 2)]\n"
                "[[0, 1], [2]]\n");
  }
  m.def(
      "matmul",
      [](nb::handle a, nb::handle b, nb::handle out) {
        const Communicator comm = group_of({a, b});
        const DNDarray x = as_dist(a, "matmul", comm), y = as_dist(b, "matmul", comm);
        return finished(released([&] { return dist::matmul(x, y); }), out, "matmul");
      },
      "x1"_a, "x2"_a, nb::kw_only(), "out"_a = nb::none(),
      nb::sig("def matmul(x1: ArrayLike, x2: ArrayLike, *, out: DNDarray | None = None) -> "
              "DNDarray"),
      "Matrix products of the last two axes, batched over the others.\n\n"
      ">>> ts.dist.matmul(ts.dist.ones((2, 3), split=0), ts.dist.ones((3, 1))).tolist()\n"
      "[[3.0], [3.0]]\n");
  m.def("dot", &dotted, "a"_a, "b"_a, nb::sig("def dot(a: ArrayLike, b: ArrayLike) -> DNDarray"),
        "NumPy's dot: inner products of vectors, products of matrices.\n\n"
        ">>> x = ts.dist.arange(3, split=0); ts.dist.dot(x, x).item()\n5\n");
  c.def("dot", &dotted, "b"_a, nb::sig("def dot(self, b: ArrayLike) -> DNDarray"),
        "NumPy's dot.\n\n>>> ts.dist.ones(3, split=0).dot(ts.ones(3)).item()\n3.0\n");
  c.def(
      "conj", [](const DNDarray& x) { return wrap(released([&] { return dist::conj(x); })); },
      nb::sig("def conj(self) -> DNDarray"),
      "The complex conjugate.\n\n>>> ts.dist.array([1j], split=0).conj().tolist()\n[-1j]\n");
}

}  // namespace tessera::python
