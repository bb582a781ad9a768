// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/ranks/over_ranks.hpp"

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/solve/core/ranks.hpp"

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
    out_ = std::make_shared<const Ranks>(Ranks{comm, b.shape(), b.distribution()});
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
  const RanksPtr& in() const { return in_; }
  const RanksPtr& out() const { return out_; }
  NamedLinop part_of(const NamedLinop& A) const { return LocalPart(A, in_, out_, options_.along); }
  // Another operator of the problem, on the vectors that A takes.
  void replace(std::optional<NamedLinop>& other) const {
    if (other) other = NamedLinop(part_beside(*other));
  }
  PdhgTerm term(const RanksPdhgTerm& t) const {
    const LocalPart part = part_beside(t.K);
    Array b;
    if (t.b) {
      require<ShapeError>(t.b.shape() == part.out->shape, "pdhg: ", t.K, " maps shape ", in_->shape,
                          " to ", part.out->shape, ", beside a b of ", t.b.shape());
      b = t.b.distributed_as(part.out->distribution).local();
    }
    return {part, t.f, b};
  }

  SolveOptions options() const {
    SolveOptions o{.rtol = options_.rtol, .atol = options_.atol, .maxiter = options_.maxiter};
    if (options_.x0) o.x0 = options_.x0.distributed_as(in_->distribution).local();
    if (options_.callback)
      o.callback = [this](const Iteration& i) {
        return all(in_->comm, options_.callback(i.number, i.residual));
      };
    o.checkpoint = options_.checkpoint;
    if (!o.checkpoint.path.empty()) o.group = std::make_shared<const Communicator>(in_->comm);
    return o;
  }

  RanksResult result(SolveResult r) const {
    return {in_->vector(r.x), r.iterations, r.converged, std::move(r.reason), std::move(r.history)};
  }

 private:
  LocalPart part_beside(const NamedLinop& other) const {
    const DNDarray like = in_->vector(zeros(in_->local_shape(), DType::f64, b_.device()));
    const Shape shape = other.output_shape(in_->shape);
    const dist::Distribution to =
        shape == in_->shape ? in_->distribution : dist::explain_apply(other, like).out;
    return LocalPart(other, in_, std::make_shared<const Ranks>(Ranks{in_->comm, shape, to}));
  }

  const RanksOptions& options_;
  Array b_;
  RanksPtr in_, out_;
};

template <class Settings>
using Solver = SolveResult(const NamedLinop&, const Array&, const SolveOptions&, const Settings&);

// Solvers of A x = b with a square A, and a preconditioner or not.
template <class Settings>
RanksResult square(const char* who, Solver<Settings>* solve, const NamedLinop& A, const DNDarray& b,
                   const RanksOptions& options, Settings settings) {
  const Problem p(who, A, b, options, true);
  p.replace(settings.preconditioner);
  return p.result(solve(p.part_of(A), p.b(), p.options(), settings));
}

// Solvers with any A: `solve` is given the parts of this rank.
template <class Solve>
RanksResult any(const char* who, const NamedLinop& A, const DNDarray& b,
                const RanksOptions& options, Solve&& solve) {
  const Problem p(who, A, b, options, false);
  return p.result(solve(p.part_of(A), p.b(), p.options(), p));
}

}  // namespace

RanksResult cg(const NamedLinop& A, const DNDarray& b, const RanksOptions& options,
               const CgSettings& settings) {
  return square<CgSettings>("cg", &cg, A, b, options, settings);
}

RanksResult minres(const NamedLinop& A, const DNDarray& b, const RanksOptions& options,
                   const MinresSettings& settings) {
  return square<MinresSettings>("minres", &minres, A, b, options, settings);
}

RanksResult gmres(const NamedLinop& A, const DNDarray& b, const RanksOptions& options,
                  const GmresSettings& settings) {
  return square<GmresSettings>("gmres", &gmres, A, b, options, settings);
}

RanksResult lsqr(const NamedLinop& A, const DNDarray& b, const RanksOptions& options,
                 const LeastSquaresSettings& settings) {
  return any("lsqr", A, b, options, [&](const auto& a, const auto& y, const auto& o, auto&) {
    return lsqr(a, y, o, settings);
  });
}

RanksResult lsmr(const NamedLinop& A, const DNDarray& b, const RanksOptions& options,
                 const LeastSquaresSettings& settings) {
  return any("lsmr", A, b, options, [&](const auto& a, const auto& y, const auto& o, auto&) {
    return lsmr(a, y, o, settings);
  });
}

RanksResult fista(const NamedLinop& A, const DNDarray& b, const Prox& g,
                  const RanksOptions& options, const FistaSettings& settings) {
  return any("fista", A, b, options, [&](const auto& a, const auto& y, const auto& o, auto&) {
    return fista(a, y, g, o, settings);
  });
}

RanksResult pdhg(const NamedLinop& A, const DNDarray& b, const Prox& f, const Prox& g,
                 const RanksOptions& options, const PdhgSettings& settings,
                 const std::vector<RanksPdhgTerm>& more) {
  require<ArgumentError>(settings.more.empty(),
                         "pdhg: over ranks further terms are an argument of their own");
  return any("pdhg", A, b, options, [&](const auto& a, const auto& y, const auto& o, auto& p) {
    PdhgSettings s = settings;
    for (const RanksPdhgTerm& t : more) s.more.push_back(p.term(t));
    return pdhg(a, y, f, g, o, s);
  });
}

RanksResult admm(const NamedLinop& A, const DNDarray& b, const Prox& g, const RanksOptions& options,
                 const AdmmSettings& settings) {
  return any("admm", A, b, options, [&](const auto& a, const auto& y, const auto& o, auto& p) {
    AdmmSettings s = settings;
    p.replace(s.G);
    return admm(a, y, g, o, s);
  });
}

namespace {

// Options of a problem that is told by its first vector.
RanksOptions without_x0(RanksOptions options) {
  options.x0 = {};
  return options;
}

SolveOptions starting_at(SolveOptions options, const DNDarray& x0) {
  options.x0 = x0.local();
  return options;
}

// Vectors side by side: `mine`, where the vectors' axes begin at `first`.
DNDarray vectors(const Array& mine, const Ranks& lie, i64 first) {
  if (!mine) return {};
  Shape shape = mine.shape();
  std::copy(lie.shape.begin(), lie.shape.end(), shape.begin() + first);
  dist::Distribution distribution = lie.distribution;
  if (distribution.split) *distribution.split += first;
  return DNDarray(mine, shape, distribution, lie.comm);
}

DNDarray for_all(const Array& numbers, const Communicator& comm) {
  return numbers ? DNDarray::replicated(numbers, comm) : DNDarray();
}

RanksResult common(SolveResult&& r, DNDarray x) {
  return {std::move(x), r.iterations, r.converged, std::move(r.reason), std::move(r.history)};
}

// One number for each problem of a batch, of which `axes` make a vector.
DNDarray batch(const Array& numbers, const Ranks& lie, const std::optional<Axes>& axes) {
  if (!numbers) return {};
  Ranks left{lie.comm, {}, {}};
  for (i64 a = 0; a < lie.shape.size(); ++a) {
    bool reduced = !axes;
    if (axes)
      for (const i64 given : *axes)
        reduced = reduced || normalize_axis(given, lie.shape.size(), "power_method") == a;
    if (reduced) continue;
    if (lie.distribution.split == a) left.distribution = {left.shape.size(), lie.distribution.part};
    left.shape.push_back(lie.shape[a]);
  }
  return left.vector(numbers);
}

// Singular values: a problem seen from A.H, whose output is x0.
template <class Solve>
RanksSvdResult singular(const char* who, const NamedLinop& A, const DNDarray& x0,
                        const RanksOptions& given, Solve&& solve) {
  const RanksOptions options = without_x0(given);
  const Problem p(who, A.H(), x0, options, false);
  const NamedLinop mine = LocalPart(A, p.out(), p.in(), options.along);
  SvdResult r = solve(mine, starting_at(p.options(), x0));
  RanksSvdResult result{
      {}, vectors(r.U, *p.in(), 0), for_all(r.S, x0.comm()), vectors(r.Vh, *p.out(), 1)};
  static_cast<RanksResult&>(result) = common(std::move(r), result.S);
  return result;
}

}  // namespace

RanksEigenResult power_method(const NamedLinop& A, const DNDarray& x0,
                              const PowerMethodSettings& settings, const RanksOptions& given) {
  const RanksOptions options = without_x0(given);
  const Problem p("power_method", A, x0, options, true);
  EigenResult r = power_method(p.part_of(A), {}, settings, starting_at(p.options(), x0));
  const DNDarray x = p.in()->vector(r.x);
  RanksEigenResult result{{}, batch(r.eigenvalues, *p.in(), settings.axes), x};
  static_cast<RanksResult&>(result) = common(std::move(r), x);
  return result;
}

RanksEigenResult lanczos(const NamedLinop& A, const DNDarray& x0, const LanczosSettings& settings,
                         const RanksOptions& given) {
  const RanksOptions options = without_x0(given);
  const Problem p("lanczos", A, x0, options, true);
  EigenResult r = lanczos(p.part_of(A), {}, settings, starting_at(p.options(), x0));
  RanksEigenResult result{
      {}, for_all(r.eigenvalues, x0.comm()), vectors(r.eigenvectors, *p.in(), 0)};
  static_cast<RanksResult&>(result) = common(std::move(r), result.eigenvectors);
  return result;
}

RanksSvdResult svd(const NamedLinop& A, const DNDarray& x0, const SvdSettings& settings,
                   const RanksOptions& options) {
  return singular("svd", A, x0, options, [&](const NamedLinop& mine, const SolveOptions& o) {
    return svd(mine, {}, settings, o);
  });
}

RanksSvdResult randomized_svd(const NamedLinop& A, const DNDarray& x0,
                              const RandomizedSvdSettings& settings, const RanksOptions& options) {
  return singular("randomized_svd", A, x0, options,
                  [&](const NamedLinop& mine, const SolveOptions& o) {
                    return randomized_svd(mine, {}, settings, o);
                  });
}

}  // namespace tessera
