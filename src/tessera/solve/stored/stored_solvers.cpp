// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/stored/stored_solvers.hpp"

#include "tessera/device/host_limits.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/solve/core/stored_vectors.hpp"
#include "tessera/solve/disk/stored_checkpoint.hpp"

namespace tessera {
namespace {

using streaming::StoredArray;

// A solve goes on with the memory that it was begun with: the order of its sums follows from it.
// Without a budget of the user half of what is there is left to others, so that there is more than it
// takes when it goes on.
i64 budget_for(std::string_view who, const SolveOptions& o) {
  const i64 now = streaming::stream_budget();
  const auto begun = budget_of_checkpoint(o.checkpoint.path);
  if (!begun) return std::max<i64>(now / 8 * 7, 1);
  const i64 most = memory_stats(cpu).budget > 0 ? now : std::max(now, host_memory_available());
  require<ArgumentError>(*begun <= most, who, ": the checkpoint '", o.checkpoint.path,
                         "' is of a solve that had ", bytes_text(*begun),
                         " of memory, now there are ", bytes_text(most),
                         "; give it as much, or remove the file to start anew");
  return *begun;
}

struct OnDiskSolve {
  SolveOptions options;
  StoredSolvePtr solve;

  OnDiskSolve(std::string_view who, const std::optional<StoredArray>& b,
              const StoredSolveOptions& o)
      : options(o), solve(std::make_shared<StoredSolve>(b, o.first_guess, budget_for(who, o))) {
    options.x0 = solve->first_guess();
  }
  NamedLinop on(const NamedLinop& a) const { return OnStoredVectors{a, solve}; }
  std::optional<NamedLinop> on(const std::optional<NamedLinop>& a) const {
    return a ? std::optional(on(*a)) : std::nullopt;
  }
  StoredSolveResult result(SolveResult r) const {
    return {StoredArray(solve->solution), r.iterations, r.converged, std::move(r.reason),
            std::move(r.history)};
  }
};

}  // namespace

StoredSolveResult stored_cg(const NamedLinop& A, const StoredArray& b,
                            const StoredSolveOptions& options, const CgSettings& settings) {
  const OnDiskSolve s("cg", b, options);
  return s.result(cg(s.on(A), s.solve->stand_in(), s.options, {s.on(settings.preconditioner)}));
}

StoredSolveResult stored_lsqr(const NamedLinop& A, const StoredArray& b,
                              const StoredSolveOptions& options,
                              const LeastSquaresSettings& settings) {
  const OnDiskSolve s("lsqr", b, options);
  return s.result(lsqr(s.on(A), s.solve->stand_in(), s.options, settings));
}

StoredSolveResult stored_lsmr(const NamedLinop& A, const StoredArray& b,
                              const StoredSolveOptions& options,
                              const LeastSquaresSettings& settings) {
  const OnDiskSolve s("lsmr", b, options);
  return s.result(lsmr(s.on(A), s.solve->stand_in(), s.options, settings));
}

StoredSolveResult stored_minres(const NamedLinop& A, const StoredArray& b,
                                const StoredSolveOptions& options, const MinresSettings& settings) {
  const OnDiskSolve s("minres", b, options);
  MinresSettings there = settings;
  there.preconditioner = s.on(settings.preconditioner);
  return s.result(minres(s.on(A), s.solve->stand_in(), s.options, there));
}

StoredSolveResult stored_gmres(const NamedLinop& A, const StoredArray& b,
                               const StoredSolveOptions& options, const GmresSettings& settings) {
  const OnDiskSolve s("gmres", b, options);
  GmresSettings there = settings;
  there.preconditioner = s.on(settings.preconditioner);
  return s.result(gmres(s.on(A), s.solve->stand_in(), s.options, there));
}

StoredSolveResult stored_fista(const NamedLinop& A, const StoredArray& b, const Prox& g,
                               const StoredSolveOptions& options, const FistaSettings& settings) {
  const OnDiskSolve s("fista", b, options);
  return s.result(fista(s.on(A), s.solve->stand_in(), g, s.options, settings));
}

StoredSolveResult stored_admm(const NamedLinop& A, const StoredArray& b, const Prox& g,
                              const StoredSolveOptions& options, const AdmmSettings& settings) {
  const OnDiskSolve s("admm", b, options);
  AdmmSettings there = settings;
  there.G = s.on(settings.G);
  return s.result(admm(s.on(A), s.solve->stand_in(), g, s.options, there));
}

StoredSolveResult stored_pdhg(const NamedLinop& A, const StoredArray& b, const Prox& f,
                              const Prox& g, const StoredSolveOptions& options,
                              const PdhgSettings& settings,
                              const std::vector<StoredPdhgTerm>& more) {
  require<ArgumentError>(settings.more.empty(),
                         "pdhg: with vectors on disk further terms are an argument of their own");
  const OnDiskSolve s("pdhg", b, options);
  PdhgSettings there = settings;
  for (const StoredPdhgTerm& t : more)
    there.more.push_back({s.on(t.K), t.f, t.b ? s.solve->stand_in(*t.b, t.b->dtype()) : Array()});
  return s.result(pdhg(s.on(A), s.solve->stand_in(), f, g, s.options, there));
}

StoredEigenResult stored_power_method(const NamedLinop& A, const Space& space,
                                      const PowerMethodSettings& settings,
                                      const StoredSolveOptions& options) {
  const OnDiskSolve s("power_method", std::nullopt, options);
  const EigenResult r = power_method(s.on(A), space, settings, s.options);
  return {s.result(r), r.eigenvalues};
}

}  // namespace tessera
