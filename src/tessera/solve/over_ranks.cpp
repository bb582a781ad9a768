// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/over_ranks.hpp"

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/solve/ranks.hpp"

namespace tessera {
namespace {

bool all(const Communicator& comm, bool mine) {
  i64 yes = mine ? 1 : 0;
  comm.allreduce(&yes, 1, DType::i64, Combine::min);
  return yes == 1;
}

// A problem as one rank sees it.
class Problem {
 public:
  Problem(const char* who, const NamedLinop& A, const DNDarray& b, const RanksOptions& options,
          bool square)
      : options_(options), b_(b.local()) {
    const Communicator& comm = b.comm();
    require<ArgumentError>(options.rtol >= 0 && options.atol >= 0 && options.maxiter >= 0, who,
                           ": rtol ", options.rtol, ", atol ", options.atol, ", maxiter ",
                           options.maxiter, "; none may be negative");
    const Shape shape = square ? b.shape() : A.H().output_shape(b.shape());
    const Shape out = A.output_shape(shape);
    require<ShapeError>(out == b.shape(), who, ": ", A, " maps shape ", shape, " to ", out,
                        ", expected ", b.shape());
    out_ = std::make_shared<const Ranks>(Ranks{comm, b.shape(), b.spread()});
    in_ = square ? out_
                 : std::make_shared<const Ranks>(
                       Ranks{comm, shape, dist::explain_apply(A.H(), b, {options.along}).out});
    // A dim that A cannot be cut along is refused here, on all ranks.
    if (options.along && square) (void)dist::explain_apply(A, b, {options.along});
    if (!options.x0) return;
    require_same_group(who, b, options.x0);
    require<ShapeError>(options.x0.shape() == shape, who, ": x0 has shape ", options.x0.shape(),
                        ", expected ", shape);
  }

  const Array& b() const { return b_; }
  NamedLinop part_of(const NamedLinop& A) const { return LocalPart(A, in_, out_, options_.along); }
  // Another operator of the problem, on the vectors that A takes.
  void replace(std::optional<NamedLinop>& other) const {
    if (!other) return;
    const DNDarray like = in_->vector(zeros(in_->local_shape(), DType::f64, b_.device()));
    const Shape shape = other->output_shape(in_->shape);
    const Spread to = shape == in_->shape ? in_->spread : dist::explain_apply(*other, like).out;
    other = NamedLinop(
        LocalPart(*other, in_, std::make_shared<const Ranks>(Ranks{in_->comm, shape, to})));
  }

  SolveOptions options() const {
    SolveOptions o{.rtol = options_.rtol, .atol = options_.atol, .maxiter = options_.maxiter};
    if (options_.x0) o.x0 = options_.x0.spread_as(in_->spread).local();
    if (options_.callback)
      o.callback = [this](const Iteration& i) {
        return all(in_->comm, options_.callback(i.number, i.residual));
      };
    return o;
  }

  RanksResult result(SolveResult r) const {
    return {in_->vector(r.x), r.iterations, r.converged, std::move(r.reason), std::move(r.history)};
  }

 private:
  const RanksOptions& options_;
  Array b_;
  RanksPtr in_, out_;
};

}  // namespace

RanksResult cg(const NamedLinop& A, const DNDarray& b, const RanksOptions& options,
               const CgSettings& settings) {
  const Problem p("cg", A, b, options, true);
  CgSettings s = settings;
  p.replace(s.preconditioner);
  return p.result(cg(p.part_of(A), p.b(), p.options(), s));
}

RanksResult minres(const NamedLinop& A, const DNDarray& b, const RanksOptions& options,
                   const MinresSettings& settings) {
  const Problem p("minres", A, b, options, true);
  MinresSettings s = settings;
  p.replace(s.preconditioner);
  return p.result(minres(p.part_of(A), p.b(), p.options(), s));
}

RanksResult gmres(const NamedLinop& A, const DNDarray& b, const RanksOptions& options,
                  const GmresSettings& settings) {
  const Problem p("gmres", A, b, options, true);
  GmresSettings s = settings;
  p.replace(s.preconditioner);
  return p.result(gmres(p.part_of(A), p.b(), p.options(), s));
}

RanksResult lsqr(const NamedLinop& A, const DNDarray& b, const RanksOptions& options,
                 const LeastSquaresSettings& settings) {
  const Problem p("lsqr", A, b, options, false);
  return p.result(lsqr(p.part_of(A), p.b(), p.options(), settings));
}

RanksResult lsmr(const NamedLinop& A, const DNDarray& b, const RanksOptions& options,
                 const LeastSquaresSettings& settings) {
  const Problem p("lsmr", A, b, options, false);
  return p.result(lsmr(p.part_of(A), p.b(), p.options(), settings));
}

RanksResult fista(const NamedLinop& A, const DNDarray& b, const Prox& g,
                  const RanksOptions& options, const FistaSettings& settings) {
  const Problem p("fista", A, b, options, false);
  return p.result(fista(p.part_of(A), p.b(), g, p.options(), settings));
}

RanksResult pdhg(const NamedLinop& A, const DNDarray& b, const Prox& f, const Prox& g,
                 const RanksOptions& options, const PdhgSettings& settings) {
  const Problem p("pdhg", A, b, options, false);
  return p.result(pdhg(p.part_of(A), p.b(), f, g, p.options(), settings));
}

RanksResult admm(const NamedLinop& A, const DNDarray& b, const Prox& g, const RanksOptions& options,
                 const AdmmSettings& settings) {
  const Problem p("admm", A, b, options, false);
  AdmmSettings s = settings;
  p.replace(s.G);
  return p.result(admm(p.part_of(A), p.b(), g, p.options(), s));
}

}  // namespace tessera
