// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and singular values over ranks: those of ts.solve with a distributed first vector.
#include "array/fft.hpp"
#include "dist/dist_solve.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

nb::object wrap_or_none(const DNDarray& a) { return a ? wrap(a) : nb::object(nb::none()); }

RanksEigenResult find_power(nb::handle a, nb::handle x0, double rtol, double atol, i64 maxiter,
                            nb::handle callback, nb::handle along, nb::handle checkpoint,
                            nb::handle axes) {
  Call c("power_method", a, x0, {nb::none(), rtol, atol, maxiter, callback, along, checkpoint});
  PowerMethodSettings s;
  if (!axes.is_none()) s.axes = axes_or_all(axes, c.rhs.ndim());
  return c([&] { return power_method(c.op, c.rhs, s, c.options); });
}

RanksEigenResult find_lanczos(nb::handle a, nb::handle x0, i64 k, double rtol, double atol,
                              i64 maxiter, nb::handle callback, nb::handle along,
                              nb::handle checkpoint, const std::string& which, i64 ncv,
                              bool reorthogonalize) {
  Call c("lanczos", a, x0, {nb::none(), rtol, atol, maxiter, callback, along, checkpoint});
  const LanczosSettings s{
      .k = k, .which = which_from(which), .ncv = ncv, .reorthogonalise = reorthogonalize};
  return c([&] { return lanczos(c.op, c.rhs, s, c.options); });
}

RanksSvdResult find_svd(nb::handle a, nb::handle x0, i64 k, double rtol, double atol, i64 maxiter,
                        nb::handle callback, nb::handle along, nb::handle checkpoint, i64 ncv) {
  Call c("svd", a, x0, {nb::none(), rtol, atol, maxiter, callback, along, checkpoint});
  return c([&] { return svd(c.op, c.rhs, {.k = k, .ncv = ncv}, c.options); });
}

RanksSvdResult find_randomized_svd(nb::handle a, nb::handle x0, i64 k, double rtol, double atol,
                                   i64 maxiter, nb::handle callback, nb::handle along,
                                   nb::handle checkpoint, i64 oversample, std::uint64_t seed) {
  Call c("randomized_svd", a, x0, {nb::none(), rtol, atol, maxiter, callback, along, checkpoint});
  const RandomizedSvdSettings s{.k = k, .oversample = oversample, .seed = seed};
  return c([&] { return randomized_svd(c.op, c.rhs, s, c.options); });
}

void bind_results(nb::module_& m) {
  nb::class_<RanksEigenResult, RanksResult>(
      m, "EigenResult",
      "Eigenvalues, and vectors that lie as the first one does.\n\n"
      ">>> A = ts.Diagonal([1.0, 4.0], ('X',))\n"
      ">>> ts.dist.lanczos(A, ts.dist.ones(2, split=0), 1).eigenvectors.shape\n(2, 1)\n")
      .def_prop_ro(
          "eigenvalues", [](const RanksEigenResult& r) { return wrap_or_none(r.eigenvalues); },
          nb::sig("def eigenvalues(self) -> DNDarray"), "Ascending.")
      .def_prop_ro(
          "eigenvectors", [](const RanksEigenResult& r) { return wrap_or_none(r.eigenvectors); },
          nb::sig("def eigenvectors(self) -> DNDarray"), "Of length one, along the last axis.");
  nb::class_<RanksSvdResult, RanksResult>(
      m, "SvdResult",
      "Singular values and vectors.\n\n"
      ">>> A = ts.Diagonal([1.0, 4.0], ('X',))\n"
      ">>> ts.dist.svd(A, ts.dist.ones(2, split=0), 1).Vh.shape\n(1, 2)\n")
      .def_prop_ro(
          "U", [](const RanksSvdResult& r) { return wrap_or_none(r.U); },
          nb::sig("def U(self) -> DNDarray"), "Left vectors (*oshape, k), as A(x0) lies.")
      .def_prop_ro(
          "S", [](const RanksSvdResult& r) { return wrap_or_none(r.S); },
          nb::sig("def S(self) -> DNDarray"), "Descending.")
      .def_prop_ro(
          "Vh", [](const RanksSvdResult& r) { return wrap_or_none(r.Vh); },
          nb::sig("def Vh(self) -> DNDarray"), "Right vectors (k, *ishape), as x0 lies.");
}

}  // namespace

void bind_dist_eigen(nb::module_& m) {
  bind_results(m);
  m.def("power_method", &find_power, "A"_a, "x0"_a, TESSERA_ARGUMENTS_FROM(1e-5, 50),
        "axes"_a = nb::none(),
        nb::sig("def power_method(A: NamedLinop, x0: ArrayLike, *, rtol: float = 1e-5, atol: float "
                "= 0.0, maxiter: int = 50, " TESSERA_MORE_OPTIONS
                ", axes: ShapeLike | None = None) -> EigenResult"),
        over_ranks("power_method", {"x0"}, {"axes"},
                   "The eigenvalue of largest magnitude, over ranks. ``axes`` make one vector; the "
                   "others are "
                   "a batch.\n\n"
                   ">>> A = ts.Diagonal([1.0, 2.0, 5.0], ('X',))\n"
                   ">>> round(ts.dist.power_method(A, ts.dist.ones(3, "
                   "split=0)).eigenvalues.item(), 2)\n5.0\n"));
  m.def(
      "lanczos", &find_lanczos, "A"_a, "x0"_a, "k"_a = 6, TESSERA_ARGUMENTS_FROM(1e-8, 1000),
      "which"_a = "LM", "ncv"_a = 0, "reorthogonalize"_a = true,
      nb::sig("def lanczos(A: NamedLinop, x0: ArrayLike, k: int = 6, *, rtol: float = 1e-8, atol: "
              "float = 0.0, maxiter: int = 1000, " TESSERA_MORE_OPTIONS
              ", which: str = 'LM', ncv: int = 0, reorthogonalize: bool = True) -> EigenResult"),
      over_ranks(
          "lanczos", {"x0", "k"}, {"which", "ncv", "reorthogonalize"},
          "The ``k`` extreme eigenvalues of a Hermitian A, over ranks; ``which`` LM, LA, SA or "
          "BE.\n\n"
          ">>> A = ts.Diagonal([1.0, 2.0, 5.0, -3.0], ('X',))\n"
          ">>> r = ts.dist.lanczos(A, ts.dist.ones(4, split=0), 2)\n"
          ">>> r.eigenvalues.numpy().round(6).tolist()\n[-3.0, 5.0]\n"));
  m.def("svd", &find_svd, "A"_a, "x0"_a, "k"_a = 6, TESSERA_ARGUMENTS_FROM(1e-8, 1000), "ncv"_a = 0,
        nb::sig("def svd(A: NamedLinop, x0: ArrayLike, k: int = 6, *, rtol: float = 1e-8, atol: "
                "float = 0.0, maxiter: int = 1000, " TESSERA_MORE_OPTIONS
                ", ncv: int = 0) -> SvdResult"),
        over_ranks("svd", {"x0", "k"}, {"ncv"},
                   "The ``k`` largest singular values of any A, over ranks.\n\n"
                   ">>> A = ts.Diagonal([1.0, 2.0, 5.0], ('X',))\n"
                   ">>> ts.dist.svd(A, ts.dist.ones(3, split=0), 2).S.numpy().round(6).tolist()\n"
                   "[5.0, 2.0]\n"));
  m.def(
      "randomized_svd", &find_randomized_svd, "A"_a, "x0"_a, "k"_a = 6,
      TESSERA_ARGUMENTS_FROM(1e-6, 4), "oversample"_a = 10, "seed"_a = 0,
      nb::sig("def randomized_svd(A: NamedLinop, x0: ArrayLike, k: int = 6, *, rtol: float = "
              "1e-6, atol: float = 0.0, maxiter: int = 4, " TESSERA_MORE_OPTIONS
              ", oversample: int = 10, seed: int = 0) -> SvdResult"),
      over_ranks(
          "randomized_svd", {"x0", "k"}, {"oversample", "seed"},
          "The ``k`` largest singular values from a random block, over ranks; x0 says where "
          "vectors "
          "lie.\n\n"
          ">>> A = ts.Diagonal([1.0, 2.0, 5.0], ('X',))\n"
          ">>> ts.dist.randomized_svd(A, ts.dist.ones(3, split=0), 2).S.numpy().round(6).tolist()\n"
          "[5.0, 2.0]\n"));
}

}  // namespace tessera::python
