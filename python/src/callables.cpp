// SPDX-License-Identifier: Apache-2.0
#include "callables.hpp"

#include <atomic>

#include "tessera/linop/ops/simple_linop.hpp"

namespace tessera::python {

namespace {
std::atomic<i64> functions_held{0};  // 0: no operator needs to be looked through
}

// `owners` changes with the interpreter's lock, and only while somebody shares the record.
struct Callable::Record {
  PyObject* function;
  i64 owners = 0;  // Python objects that own a reference; with none, the record owns one

  explicit Record(PyObject* f) : function(Py_NewRef(f)) { ++functions_held; }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  ~Record() {
    --functions_held;
    if (owners > 0 || !nb::is_alive()) return;  // or the interpreter has gone, and the object too
    const nb::gil_scoped_acquire lock;
    Py_DECREF(function);
  }
};

Callable::Callable(nb::handle f) : record_(std::make_shared<Record>(f.ptr())) {}

nb::object Callable::operator()() const { return nb::borrow(record_->function); }

int Callable::traverse_alone(visitproc visit, void* arg) const {
  if (record_.use_count() == 1 && record_->owners == 0) Py_VISIT(record_->function);
  return 0;
}

Array CalledFunction::operator()(const Array& x) const {
  const nb::gil_scoped_acquire lock;
  return as_array(f()(wrap(x)), "SimpleLinop");
}

Reached::~Reached() {
  for (const Owned& o : owned_) {
    const auto record = o.record.lock();
    if (record && --record->owners == 0) continue;  // the record owns the reference from now on
    Py_DECREF(o.function);
  }
}

void Reached::add(const Callable& c) {
  if (c.record_->owners++ > 0) Py_INCREF(c.record_->function);  // the first takes the record's own
  owned_.push_back({c.record_, c.record_->function});
}

void Reached::add(const NamedLinop& a) {
  if (functions_held == 0) return;
  if (const SimpleLinop* s = a.as<SimpleLinop>())
    for (const SimpleLinop::Function* f : {&s->forward, &s->backward, &s->own_normal})
      if (const auto* called = f->target<CalledFunction>()) add(called->f);
  for (const NamedLinop& part : a.parts()) add(part);
}

int Reached::traverse(visitproc visit, void* arg) const {
  for (const Owned& o : owned_) Py_VISIT(o.function);
  return 0;
}

}  // namespace tessera::python
