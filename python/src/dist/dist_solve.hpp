// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the binding files of the solvers over ranks share.
//   Call c("cg", a, b, {x0, rtol, atol, maxiter, callback, along, checkpoint});
//   return c([&] { return cg(c.op, c.rhs, c.options); });

#include "dist/dist.hpp"
#include "solve/solve.hpp"
#include "tessera/solve/ranks/over_ranks.hpp"

// What every solver over ranks takes, in signatures and as arguments.
#define TESSERA_MORE_OPTIONS                                                                    \
  "callback: typing.Callable[[int, float], typing.Any] | None = None, along: DimLike | None = " \
  "None, checkpoint: typing.Any = None"
#define TESSERA_OPTIONS \
  "rtol: float = 1e-6, atol: float = 0.0, maxiter: int = 100, " TESSERA_MORE_OPTIONS
#define TESSERA_ARGUMENTS_FROM(tolerance, iterations)                                \
  nb::kw_only(), "rtol"_a = (tolerance), "atol"_a = 0.0, "maxiter"_a = (iterations), \
                 "callback"_a = nb::none(), "along"_a = nb::none(), "checkpoint"_a = nb::none()
#define TESSERA_ARGUMENTS TESSERA_ARGUMENTS_FROM(1e-6, 100)

namespace tessera::python {

// Eigenvalues and singular values.
void bind_dist_eigen(nb::module_& m);

// One call of a solver. An exception of the callback stops the iterations of all ranks; it is this
// rank's alone.
struct Call {
  const char* who;
  NamedLinop op;
  DNDarray rhs;
  RanksOptions options;
  std::optional<nb::python_error> failed{};

  struct Given {
    nb::handle x0;
    double rtol, atol;
    i64 maxiter;
    nb::handle callback, along, checkpoint;
  };
  Call(const char* name, nb::handle a, nb::handle b, const Given& g)
      : who(name),
        op(linop_from(a, name)),
        rhs(as_dist(b, name)),
        options{.rtol = g.rtol, .atol = g.atol, .maxiter = g.maxiter} {
    if (!g.x0.is_none()) options.x0 = as_dist(g.x0, who, rhs.comm());
    if (!g.along.is_none()) options.along = dimension_from(g.along);
    options.checkpoint = checkpoint_from(g.checkpoint);
    if (g.callback.is_none()) return;
    options.callback = [this, callback = g.callback](i64 iteration, double residual) {
      nb::gil_scoped_acquire locked;
      try {
        return callback(iteration, residual).ptr() != Py_False;
      } catch (nb::python_error& e) {
        failed.emplace(e);
        return false;
      }
    };
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  template <class Solve>
  auto operator()(Solve&& solve) {
    auto r = released([&] { return solve(); });
    if (failed) throw nb::python_error(*failed);
    return r;
  }
};

}  // namespace tessera::python
