// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/stored_vectors.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/streaming/operators/fitted_on_disk.hpp"
#include "tessera/streaming/operators/on_disk.hpp"
#include "tessera/streaming/stored/fill.hpp"
#include "tessera/streaming/stored/result_store.hpp"

namespace tessera {

using streaming::StoredArray;
using streaming::StorePtr;
using streaming::StreamPlan;

StoredSolve::StoredSolve(std::optional<StoredArray> b, std::optional<StoredArray> x0, i64 budget_)
    : budget(budget_) {
  if (b) b_ = stand_in(*b, b->dtype());
  if (x0) x0_ = stand_in(*x0, x0->dtype());
}

Array StoredSolve::stand_in(StoredArray a, DType dtype) {
  return known_.emplace_back(streaming::sketched(a.shape(), dtype), std::move(a)).first;
}

Array StoredSolve::stand_in(const Array& a, DType dtype) {
  if (a.dtype() == dtype) return a;
  const auto it = find(a);
  return it == known_.end() ? streaming::sketched(a.shape(), dtype)
                            : stand_in(StoredArray(it->second), dtype);
}

StoredSolve::Known::const_iterator StoredSolve::find(const Array& a) const {
  return std::find_if(known_.begin(), known_.end(),
                      [&](const auto& k) { return k.first.data() == a.data(); });
}

const StoredArray& StoredSolve::known(const Array& a) const {
  const auto it = find(a);
  require<ArgumentError>(it != known_.end(), "solvers with vectors on disk: an array of shape ",
                         a.shape(), " is in memory, where one on disk is expected");
  return it->second;
}

vec::Vector StoredSolve::wrap(StorePtr store) {
  vec::Vector v(streaming::sketched(store->grid().shape(), store->grid().dtype()));
  v.stored =
      std::make_shared<const StoredVector>(StoredVector{shared_from_this(), std::move(store)});
  return v;
}

// Tiles follow from the budget of the solve, so that one that goes on adds in the same order.
vec::Vector StoredSolve::zeros(const Shape& shape, DType dtype) {
  const store::TileGrid grid =
      store::TileGrid::square(shape, dtype, streaming::tile_bytes_for(budget));
  return wrap(streaming::backed_store(grid, store::Space::later));
}

vec::Vector StoredSolve::vector_of(const StoredArray& a, DType dtype) {
  if (a.dtype() == dtype && !a.is_formula()) return wrap(a.store());
  const vec::Vector v = zeros(a.shape(), dtype);
  streaming::assign(a.expression().as(dtype), v.stored->store, {.budget = budget});
  return v;
}

vec::Vector StoredSolve::normal(const RandomSpec& spec, const Shape& shape, DType drawn,
                                DType dtype) {
  return vector_of(StoredArray(streaming::drawn(shape, drawn, spec)), dtype);
}

void StoredSolve::start_at(const vec::Vector& x) {
  const StoredArray now(x.stored->store);
  const vec::Vector kept = zeros(now.shape(), now.dtype());
  copy(x, kept);
  x0_ = stand_in(StoredArray(kept.stored->store), now.dtype());
}

void StoredSolve::copy(const vec::Vector& from, const vec::Vector& to) const {
  streaming::copy(from.stored->store, to.stored->store, {.budget = budget});
}

void StoredSolve::clear(const StorePtr& vector) const {
  SweepProgram zeros;
  zeros.add(SweepKind::fill, {}, vector);
  zeros.run(nullptr, budget);
}

StreamPlan StoredSolve::plan_of(const NamedLinop& a, const StorePtr& x, const StorePtr& y) const {
  streaming::WithBudgets what = streaming::with_budgets(a);
  if (what.options.budget == 0) what.options.budget = budget;
  return streaming::plan_apply(what.a, x, y, what.options);
}

vec::Vector StoredSolve::image(const NamedLinop& a, const Array& b, DType dtype) {
  const OnStoredVectors* mine = a.as<OnStoredVectors>();
  const NamedLinop& op = mine ? mine->a : a;
  const StorePtr from = held(b, b.dtype()).stored->store;
  const vec::Vector y = zeros(op.output_shape(b.shape()), op.output_dtype(b.dtype()));
  plan_of(op, from, y.stored->store).run();
  return vector_of(StoredArray(y.stored->store), dtype);
}

// All calls write the cells, as far as a plan can see: so they stay in their order.
void StoredSolve::call(Recorder& r, const std::string& what,
                       std::function<void(double*)> run) const {
  r.call(
      what,
      [run = std::move(run)](std::span<const Array>, const Array& cells) {
        run(cells.host<double>());
      },
      {}, r.constant(scalars_->memory()));
}

void StoredSolve::sweep(Recorder& r, SweepKind kind, const SweepProgram::Operands& in,
                        const StorePtr& like, const StorePtr& to, i64 cell) {
  const bool goes_on = open_ && open_->recorder == &r && open_->programs == scalars_->programs() &&
                       open_->program->takes(like, in.factor);
  if (!goes_on) {
    open_ = Open{&r, scalars_->programs(), std::make_shared<SweepProgram>()};
    call(r, "vectors on disk",
         [program = open_->program, most = budget](double* cells) { program->run(cells, most); });
  }
  open_->program->add(kind, in, to, cell);
}

void StoredSolve::apply(Recorder& r, const NamedLinop& a, const vec::Vector& x,
                        const vec::Vector& y) {
  close();
  const auto plan = std::make_shared<std::optional<StreamPlan>>();
  call(r, cat(a), [=, this, from = x.stored->store, to = y.stored->store](double*) {
    if (!*plan) plan->emplace(plan_of(a, from, to));
    (*plan)->run();
  });
}

void StoredSolve::map(Recorder& r, const std::string& what, const vec::Vector& x,
                      const vec::Vector& y, const BoxMap& f, const store::Box& part,
                      const Axes& uncut) {
  const DType dtype = x.dtype();
  const auto work = [f, dtype](const auto& swept, const store::Box& box) {
    const i64 bytes = box.size() * size_of(dtype);
    const auto array = [&](std::size_t i) {
      const Storage memory = Storage::adopt(
          cpu, swept.vectors[i], bytes, [] {}, true);
      return Array(memory, Layout::contiguous(box.shape), dtype);
    };
    array(1).copy_from(f(array(0), box));
  };
  const StorePtr from = x.stored->store, to = y.stored->store;
  const auto plan = std::make_shared<std::optional<StreamPlan>>();
  passes(r, what, [=, most = budget] {
    // What f holds counts as much as the boxes do.
    if (!*plan)
      plan->emplace(
          plan_sweep(what, {{from}, {to, true, false}}, sweep_work(work), most / 4, uncut, part));
    (*plan)->run();
  });
}

void StoredSolve::passes(Recorder& r, const std::string& what, std::function<void()> run) {
  close();
  call(r, what, [run = std::move(run)](double*) { run(); });
}

void OnStoredVectors::apply(Recorder&, const View&, const View&) const {
  throw ArgumentError(cat(a,
                          ": with vectors on disk this solver cannot apply it; "
                          "bring the vectors into memory, for example with b[...]"));
}

StoredSolvePtr stored_solve_of(const NamedLinop& a) {
  const OnStoredVectors* mine = a.as<OnStoredVectors>();
  return mine ? mine->solve : nullptr;
}

}  // namespace tessera
