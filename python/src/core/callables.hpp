// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python functions that C++ holds, so that the garbage collector sees them: an object that keeps an
// operator made of its own methods is a cycle through C++.
//
// C++ copies and drops a Callable on any thread; all copies share one record. The collector can
// only follow references that Python objects own: so each Python object that reaches callables (an
// operator, a plan) owns a reference to each of them in its Reached, and the record itself owns one
// only while no Python object does, such as for work that outlives its operator. None of these
// classes clears anything: they never change once they are made, so a cycle has another member that
// does, as with tuples.
//   Callable f(h);  f()(x);        Reached r;  r.add(linop);  r.traverse(visit, arg);

#include <memory>
#include <span>
#include <vector>

#include "linop/linop.hpp"
#include "tessera/linop/ops/basic/simple_linop.hpp"

namespace tessera::python {

class Callable {
 public:
  explicit Callable(nb::handle f);
  nb::object operator()() const;  // the function; with the interpreter's lock
  // For an object that holds the only copy: visits the function where nobody else does.
  int traverse_alone(visitproc visit, void* arg) const;

 private:
  friend class Reached;
  struct Record;
  std::shared_ptr<Record> record_;
};

// Functions of an operator, as its SimpleLinop holds them.
struct CalledFunction {
  Callable f;
  Array operator()(const Array& x, std::span<const Array>) const;
};
struct CalledSplit {
  Callable f;
  NamedLinop operator()(const Tile& tile) const;
};
struct CalledSize {
  Callable f;
  std::optional<i64> operator()(NamedDimension d) const;
};

// What one Python object reaches. Made, changed and destroyed with the interpreter's lock;
// destroyed after the C++ objects whose callables it has.
class Reached {
 public:
  Reached() = default;
  Reached(const Reached&) = delete;
  Reached& operator=(const Reached&) = delete;
  ~Reached();
  void add(const NamedLinop& a);  // the functions of an operator and its parts
  int traverse(visitproc visit, void* arg) const;

 private:
  struct Owned {
    std::weak_ptr<Callable::Record> record;
    PyObject* function;
  };
  void add(const Callable& c);
  void add(const SimpleLinop& s);
  std::vector<Owned> owned_;
};

}  // namespace tessera::python
