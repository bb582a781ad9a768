// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators written in Python: subclasses of NamedLinop with fn, adj_fn and, where they have them,
// normal_fn, split_forward and size. Each is a SimpleLinop whose functions call these methods.
//
// Note [twins]: C++ cannot hold the Python object that holds it. So the methods are called with a
// twin: an object of the same class over the same __dict__, which knows the names that the operator
// was made with and cannot be applied. What is set on one is seen on the other. Arrays (and
// operators) among the attributes belong to the operator: they move with it, and where it was moved
// the methods see a twin with the arrays that are there.
//   class Twice(ts.NamedLinop): fn = staticmethod(lambda linop, x: 2 * x); adj_fn = fn

#include "core/callables.hpp"
#include "tessera/linop/ops/basic/simple_linop.hpp"

namespace tessera::python {

struct WrittenFunction {
  Callable twin;
  const char* method;
  Array operator()(const Array& x, std::span<const Array> held) const;
};
struct WrittenSplit {
  Callable twin;
  NamedLinop operator()(const Tile& tile) const;
};
struct WrittenSize {
  Callable twin;
  std::optional<i64> operator()(NamedDimension d) const;
};
struct WrittenArrays {
  Callable twin;
  std::vector<Array> operator()() const;
};

void bind_written(nb::class_<LinopObject>& c);
// The class of a Python object defines the method itself: what then reaches NamedLinop's own is a
// call of super().
bool overrides(nb::handle linop, const char* method);
// An object of the class, with the attributes, for an operator that one is: as it was made, moved
// or renamed; nothing for others, and for those that are not written in Python.
nb::object written_object(const NamedLinop& a);
// (class, __dict__, ishape, oshape, name, dtype): what `_pickle.written` makes it of again; nothing
// for what is not written in Python.
nb::object written_state(const SimpleLinop& s);

}  // namespace tessera::python
