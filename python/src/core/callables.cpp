// SPDX-License-Identifier: Apache-2.0
#include "core/callables.hpp"

#include <atomic>

#include "linop/written.hpp"

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

Array CalledFunction::operator()(const Array& x, std::span<const Array>) const {
  const nb::gil_scoped_acquire lock;
  return as_array(f()(wrap(x)), "SimpleLinop");
}

NamedLinop CalledSplit::operator()(const Tile& tile) const {
  const nb::gil_scoped_acquire lock;
  nb::dict slices;
  for (const Cut& c : tile.cuts)
    slices[nb::cast(c.dim)] = nb::slice(nb::int_(c.start), nb::int_(c.stop), nb::none());
  return linop_from(f()(slices), "SimpleLinop: split");
}

std::optional<i64> CalledSize::operator()(NamedDimension d) const {
  const nb::gil_scoped_acquire lock;
  const nb::object n = f()(d);
  if (n.is_none()) return std::nullopt;
  return int_from(n, "SimpleLinop: size");
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

void Reached::add(const SimpleLinop& s) {
  const SimpleLinop::Calls& c = s.calls;
  for (const SimpleLinop::Calls::OfArrays* f : {&c.forward, &c.backward, &c.normal})
    if (const auto* called = f->target<CalledFunction>()) add(called->f);
  if (const auto* split = c.split.target<CalledSplit>()) add(split->f);
  if (const auto* size = c.size.target<CalledSize>()) add(size->f);
  if (const auto* written = c.arrays.target<WrittenArrays>()) add(written->twin);  // of all methods
  if (const SimpleLinop* of = s.normal_of()) add(*of);
}

void Reached::add(const NamedLinop& a) {
  if (functions_held == 0) return;
  if (const SimpleLinop* s = a.as<SimpleLinop>()) add(*s);
  for (const NamedLinop& part : a.parts()) add(part);
}

int Reached::traverse(visitproc visit, void* arg) const {
  for (const Owned& o : owned_) Py_VISIT(o.function);
  return 0;
}

}  // namespace tessera::python
