// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/proximal/sequence.hpp"

#include "tessera/solve/proximal/stored_prox.hpp"
#include "tessera/solve/spectra/power_method.hpp"

namespace tessera {

void Sequence::prox(const Prox& p, const VectorSpace& side, const vec::Vector& x, double t,
                    const vec::Vector& y) {
  if (side.stored())
    return record([=, this](Recorder& r) {
      record_on_disk(e_, r, p, x, t, y, [this] { return iteration_.value_or(e_.iteration()); });
    });
  if (p.record) return record([=](Recorder& r) { p.record(r, side, x, t, y); });
  require<ArgumentError>(static_cast<bool>(p.call), e_.name, ": the proximal map '", p.name,
                         "' has neither steps nor a function");
  if (!side.distribution()) return call(p, x.pieces.front(), t, y.pieces.front());
  // A function sees the whole vector.
  const Array from = e_.work(cat(of_, "given to call ", parts_.size()), side.shape(), x.dtype()),
              to = e_.work(cat(of_, "given by call ", parts_.size()), side.shape(), y.dtype());
  record([=](Recorder& r) { side.gather(r, x, from); });
  call(p, from, t, to);
  record([=](Recorder& r) { side.scatter(r, to, y); });
}

void Sequence::call(const Prox& p, const Array& x, double t, const Array& y) {
  flush();
  parts_.push_back({nullptr, [this, p, x, t, y] {
                      const Array v = apply_prox(p, x, t, iteration_);
                      require<ShapeError>(v.shape() == y.shape(), e_.name, ": the proximal map '",
                                          p.name, "' gave shape ", v.shape(), ", expected ",
                                          y.shape());
                      y.copy_from(v);
                    }});
}

void Sequence::run(Run& other, i64 times) {
  flush();
  parts_.push_back({nullptr, [this, &other, times] {
                      for (i64 i = 0; i < times; ++i) {
                        e_.run(other);
                        e_.poll();
                      }
                    }});
}

void Sequence::flush() {
  if (pending_.empty()) return;
  Run& run = e_.plan(cat(of_, "part ", parts_.size()), [&](Recorder& r) {
    for (const auto& part : pending_) part(r);
  });
  parts_.push_back({&run, {}});
  pending_.clear();
}

void Sequence::operator()() { (*this)(iteration_ ? *iteration_ + 1 : e_.iteration()); }

void Sequence::operator()(i64 iteration) {
  iteration_ = iteration;
  for (Part& p : parts_) {
    if (p.run)
      e_.run(*p.run);
    else
      p.call();
  }
}

SolveKey with_maps(SolveKey key, std::initializer_list<const Prox*> maps) {
  for (const Prox* p : maps) {
    key.maps += cat(p->record ? p->name : "a call", "; ");
    key.kept = key.kept && (!p->record || p->told_by_name);
  }
  return key;
}

double squared_norm_of(std::string_view who, const NamedLinop& A, const Shape& shape, DType dtype,
                       Device device) {
  const EigenResult r = power_method(A.N(), {.shape = shape, .dtype = dtype, .device = device}, {},
                                     {.rtol = 1e-3, .maxiter = 100});
  const double value = r.eigenvalues.item().as<double>();
  require<ArgumentError>(value >= 0 && value < 1e300, who, ": the norm of ", A,
                         " could not be estimated (", value, "); give the step sizes");
  return 1.05 * value;
}

}  // namespace tessera
