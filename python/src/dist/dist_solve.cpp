// SPDX-License-Identifier: Apache-2.0
// Solvers over ranks: those of ts.solve with a distributed right-hand side.
#include "dist/dist_solve.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

double or_zero(nb::handle h) { return h.is_none() ? 0.0 : nb::cast<double>(h); }

RanksResult solve_cg(nb::handle a, nb::handle b, nb::handle x0, double rtol, double atol,
                     i64 maxiter, nb::handle callback, nb::handle along, nb::handle checkpoint,
                     nb::handle M) {
  Call c("cg", a, b, {x0, rtol, atol, maxiter, callback, along, checkpoint});
  const CgSettings s{linop_or_none(M, c.who)};
  return c([&] { return cg(c.op, c.rhs, c.options, s); });
}

RanksResult solve_minres(nb::handle a, nb::handle b, nb::handle x0, double rtol, double atol,
                         i64 maxiter, nb::handle callback, nb::handle along, nb::handle checkpoint,
                         double shift, nb::handle M) {
  Call c("minres", a, b, {x0, rtol, atol, maxiter, callback, along, checkpoint});
  const MinresSettings s{shift, linop_or_none(M, c.who)};
  return c([&] { return minres(c.op, c.rhs, c.options, s); });
}

RanksResult solve_gmres(nb::handle a, nb::handle b, nb::handle x0, double rtol, double atol,
                        i64 maxiter, nb::handle callback, nb::handle along, nb::handle checkpoint,
                        i64 restart, nb::handle M) {
  Call c("gmres", a, b, {x0, rtol, atol, maxiter, callback, along, checkpoint});
  const GmresSettings s{restart, linop_or_none(M, c.who)};
  return c([&] { return gmres(c.op, c.rhs, c.options, s); });
}

RanksResult solve_lsqr(nb::handle a, nb::handle b, nb::handle x0, double rtol, double atol,
                       i64 maxiter, nb::handle callback, nb::handle along, nb::handle checkpoint,
                       double damp, double conlim) {
  Call c("lsqr", a, b, {x0, rtol, atol, maxiter, callback, along, checkpoint});
  return c([&] { return lsqr(c.op, c.rhs, c.options, {damp, conlim}); });
}

RanksResult solve_lsmr(nb::handle a, nb::handle b, nb::handle x0, double rtol, double atol,
                       i64 maxiter, nb::handle callback, nb::handle along, nb::handle checkpoint,
                       double damp, double conlim) {
  Call c("lsmr", a, b, {x0, rtol, atol, maxiter, callback, along, checkpoint});
  return c([&] { return lsmr(c.op, c.rhs, c.options, {damp, conlim}); });
}

RanksResult solve_fista(nb::handle a, nb::handle b, nb::handle g, nb::handle x0, double rtol,
                        double atol, i64 maxiter, nb::handle callback, nb::handle along,
                        nb::handle checkpoint, nb::handle step, bool momentum, bool restart) {
  Call c("fista", a, b, {x0, rtol, atol, maxiter, callback, along, checkpoint});
  const Prox map = prox_from(g, c.who);
  const FistaSettings s = fista_settings(step, momentum, restart);
  return c([&] { return fista(c.op, c.rhs, map, c.options, s); });
}

RanksResult solve_pdhg(nb::handle a, nb::handle b, nb::handle f, nb::handle g, nb::handle x0,
                       double rtol, double atol, i64 maxiter, nb::handle callback, nb::handle along,
                       nb::handle checkpoint, nb::handle tau, nb::handle sigma, double theta) {
  const PdhgParts parts(a, b, f);
  Call c("pdhg", parts.operators.front(), parts.bs.front(),
         {x0, rtol, atol, maxiter, callback, along, checkpoint});
  const Prox data = parts.f(0), map = prox_from(g, c.who);
  const PdhgSettings steps{or_zero(tau), or_zero(sigma), theta};
  std::vector<RanksPdhgTerm> more;
  for (std::size_t i = 1; i < parts.operators.size(); ++i) {
    const nb::object& own = parts.bs[i];
    more.push_back({linop_from(parts.operators[i], c.who), parts.f(i),
                    own.is_none() ? DNDarray() : as_dist(own, c.who, c.rhs.comm())});
  }
  return c([&] { return pdhg(c.op, c.rhs, data, map, c.options, steps, more); });
}

RanksResult solve_admm(nb::handle a, nb::handle b, nb::handle g, nb::handle x0, double rtol,
                       double atol, i64 maxiter, nb::handle callback, nb::handle along,
                       nb::handle checkpoint, nb::handle G, double rho, i64 inner) {
  Call c("admm", a, b, {x0, rtol, atol, maxiter, callback, along, checkpoint});
  const Prox map = prox_from(g, c.who);
  const AdmmSettings s{linop_or_none(G, c.who), rho, inner};
  return c([&] { return admm(c.op, c.rhs, map, c.options, s); });
}

void bind_result(nb::module_& m) {
  nb::class_<RanksResult>(m, "SolveResult",
                          "What a solver over ranks found.\n\n"
                          ">>> A = ts.Diagonal([1.0, 4.0], ('X',))\n"
                          ">>> ts.dist.cg(A, ts.dist.ones(2, split=0)).converged\nTrue\n")
      .def_prop_ro(
          "x", [](const RanksResult& r) { return wrap(r.x); }, nb::sig("def x(self) -> DNDarray"),
          "The solution: distributed as b for a square operator, else as A.H(b).")
      .def_ro("iterations", &RanksResult::iterations, "How many were made.")
      .def_ro("converged", &RanksResult::converged, "The solver ended as it should.")
      .def_prop_ro(
          "reason", [](const RanksResult& r) { return r.reason; },
          nb::sig("def reason(self) -> str"), "Why it ended, in a sentence.")
      .def_prop_ro(
          "history", [](const RanksResult& r) { return list_of(r.history); },
          nb::sig("def history(self) -> list[float]"),
          "The solver's measure, before the first iteration and after each.")
      .def(
          "__repr__",
          [](const RanksResult& r) {
            return cat("<SolveResult: ", r.iterations, " iterations, ", r.reason, ">");
          },
          nb::sig("def __repr__(self) -> str"));
}

void bind_systems(nb::module_& m) {
  m.def(
      "cg", &solve_cg, "A"_a, "b"_a, "x0"_a = nb::none(), TESSERA_ARGUMENTS, "M"_a = nb::none(),
      nb::sig("def cg(A: NamedLinop, b: ArrayLike, x0: ArrayLike | None = None, *, " TESSERA_OPTIONS
              ", M: NamedLinop | None = None) -> SolveResult"),
      over_ranks(
          "cg", {"b", "x0"}, {"M"},
          "Conjugate gradients over ranks for A x = b with A Hermitian and positive "
          "(semi)definite. ``callback(iteration, residual)`` stops all ranks by returning False on "
          "one; ``along`` splits the work along that dim of A.\n\n"
          ">>> A = ts.Diagonal([1.0, 4.0], ('X',))\n"
          ">>> ts.dist.cg(A, ts.dist.array([1.0, 2.0], split=0)).x.numpy().round(6).tolist()\n"
          "[1.0, 0.5]\n"));
  m.def(
      "minres", &solve_minres, "A"_a, "b"_a, "x0"_a = nb::none(), TESSERA_ARGUMENTS,
      "shift"_a = 0.0, "M"_a = nb::none(),
      nb::sig(
          "def minres(A: NamedLinop, b: ArrayLike, x0: ArrayLike | None = None, *, " TESSERA_OPTIONS
          ", shift: float = 0.0, M: NamedLinop | None = None) -> SolveResult"),
      over_ranks(
          "minres", {"b", "x0"}, {"shift", "M"},
          "MINRES over ranks: (A - shift I) x = b with A Hermitian, indefinite or singular.\n\n"
          ">>> A = ts.Diagonal([1.0, -4.0], ('X',))\n"
          ">>> ts.dist.minres(A, ts.dist.array([1.0, 2.0], split=0)).x.numpy().round(6).tolist()\n"
          "[1.0, -0.5]\n"));
  m.def(
      "gmres", &solve_gmres, "A"_a, "b"_a, "x0"_a = nb::none(), TESSERA_ARGUMENTS, "restart"_a = 30,
      "M"_a = nb::none(),
      nb::sig(
          "def gmres(A: NamedLinop, b: ArrayLike, x0: ArrayLike | None = None, *, " TESSERA_OPTIONS
          ", restart: int = 30, M: NamedLinop | None = None) -> SolveResult"),
      over_ranks(
          "gmres", {"b", "x0"}, {"restart", "M"},
          "GMRES over ranks for A x = b with any square A, begun again after ``restart`` "
          "vectors.\n\n"
          ">>> A = ts.Diagonal([1.0, -4.0], ('X',))\n"
          ">>> ts.dist.gmres(A, ts.dist.array([1.0, 2.0], split=0)).x.numpy().round(6).tolist()\n"
          "[1.0, -0.5]\n"));
  m.def("lsqr", &solve_lsqr, "A"_a, "b"_a, "x0"_a = nb::none(), TESSERA_ARGUMENTS, "damp"_a = 0.0,
        "conlim"_a = 1e8,
        nb::sig(
            "def lsqr(A: NamedLinop, b: ArrayLike, x0: ArrayLike | None = None, *, " TESSERA_OPTIONS
            ", damp: float = 0.0, conlim: float = 1e8) -> SolveResult"),
        over_ranks(
            "lsqr", {"b", "x0"}, {"damp", "conlim"},
            "LSQR over ranks: least squares with A of any shape. x lies as A.H(b).\n\n"
            ">>> A = ts.Diagonal([1.0, 4.0], ('X',))\n"
            ">>> ts.dist.lsqr(A, ts.dist.array([1.0, 2.0], split=0)).x.numpy().round(6).tolist()\n"
            "[1.0, 0.5]\n"));
  m.def("lsmr", &solve_lsmr, "A"_a, "b"_a, "x0"_a = nb::none(), TESSERA_ARGUMENTS, "damp"_a = 0.0,
        "conlim"_a = 1e8,
        nb::sig(
            "def lsmr(A: NamedLinop, b: ArrayLike, x0: ArrayLike | None = None, *, " TESSERA_OPTIONS
            ", damp: float = 0.0, conlim: float = 1e8) -> SolveResult"),
        over_ranks(
            "lsmr", {"b", "x0"}, {"damp", "conlim"},
            "LSMR over ranks: least squares with A of any shape. x lies as A.H(b).\n\n"
            ">>> A = ts.Diagonal([1.0, 4.0], ('X',))\n"
            ">>> ts.dist.lsmr(A, ts.dist.array([1.0, 2.0], split=0)).x.numpy().round(6).tolist()\n"
            "[1.0, 0.5]\n"));
}

void bind_regularised(nb::module_& m) {
  m.def("fista", &solve_fista, "A"_a, "b"_a, "g"_a = nb::none(), "x0"_a = nb::none(),
        TESSERA_ARGUMENTS, "step"_a = nb::none(), "momentum"_a = true, "restart"_a = true,
        nb::sig("def fista(A: NamedLinop, b: ArrayLike, g: typing.Any = None, x0: ArrayLike | None "
                "= None, *, " TESSERA_OPTIONS
                ", step: float | str | None = None, momentum: bool = True, "
                "restart: bool = True) -> SolveResult"),
        over_ranks(
            "fista", {"b", "g", "x0"}, {"step", "momentum", "restart"},
            "FISTA over ranks: minimises |A x - b|^2 / 2 + g(x). A function in place of g sees the "
            "part of a rank.\n\n"
            ">>> A = ts.Diagonal([1.0, 1.0], ('X',))\n"
            ">>> r = ts.dist.fista(A, ts.dist.array([3.0, 0.5], split=0), ts.solve.prox.l1(1.0))\n"
            ">>> r.x.numpy().round(4).tolist()\n[2.0, 0.0]\n"));
  m.def("pdhg", &solve_pdhg, "A"_a, "b"_a, "f"_a = nb::none(), "g"_a = nb::none(),
        "x0"_a = nb::none(), TESSERA_ARGUMENTS, "tau"_a = nb::none(), "sigma"_a = nb::none(),
        "theta"_a = 1.0,
        nb::sig("def pdhg(A: NamedLinop | typing.Sequence[NamedLinop], b: typing.Any, "
                "f: typing.Any = None, g: typing.Any = None, "
                "x0: ArrayLike | None = None, *, " TESSERA_OPTIONS
                ", tau: float | None = None, sigma: float | None = None, theta: float = 1.0) -> "
                "SolveResult"),
        over_ranks(
            "pdhg", {"b", "f", "g", "x0"}, {"tau", "sigma", "theta"},
            "The method of Chambolle and Pock over ranks: minimises f(A x - b) + g(x); f is half "
            "the square when not given. Lists of A, b and f are terms that are added up.\n\n"
            ">>> A = ts.Diagonal([1.0, 1.0], ('X',))\n"
            ">>> r = ts.dist.pdhg(A, ts.dist.array([3.0, 0.5], split=0), None, "
            "ts.solve.prox.l1(1.0))\n"
            ">>> r.x.numpy().round(3).tolist()\n[2.0, 0.0]\n"));
  m.def("admm", &solve_admm, "A"_a, "b"_a, "g"_a = nb::none(), "x0"_a = nb::none(),
        TESSERA_ARGUMENTS, "G"_a = nb::none(), "rho"_a = 1.0, "inner"_a = 10,
        nb::sig("def admm(A: NamedLinop, b: ArrayLike, g: typing.Any = None, x0: ArrayLike | None "
                "= None, *, " TESSERA_OPTIONS
                ", G: NamedLinop | None = None, rho: float = 1.0, inner: int = 10) -> "
                "SolveResult"),
        over_ranks(
            "admm", {"b", "g", "x0"}, {"G", "rho", "inner"},
            "ADMM over ranks: minimises |A x - b|^2 / 2 + g(G x).\n\n"
            ">>> A = ts.Diagonal([1.0, 1.0], ('X',))\n"
            ">>> r = ts.dist.admm(A, ts.dist.array([3.0, 0.5], split=0), ts.solve.prox.l1(1.0))\n"
            ">>> r.x.numpy().round(3).tolist()\n[2.0, 0.0]\n"));
}

}  // namespace

void bind_dist_solve(nb::module_& m) {
  bind_result(m);
  bind_systems(m);
  bind_regularised(m);
  bind_dist_eigen(m);
}

}  // namespace tessera::python
