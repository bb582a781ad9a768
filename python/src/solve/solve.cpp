// SPDX-License-Identifier: Apache-2.0
// Solvers and the adjoint test; tessera/solve.py gives the solvers their names and defaults.
#include "solve/solve.hpp"

#include "core/repr.hpp"
#include "solve/stored_solve.hpp"
#include "tessera/linop/core/check_adjoint.hpp"
#include "tessera/linop/rewrite/memory_map.hpp"
#include "tessera/solve/core/polynomial_preconditioner.hpp"
#include "tessera/solve/linear/cg.hpp"
#include "tessera/solve/linear/gmres.hpp"
#include "tessera/solve/linear/lsmr.hpp"
#include "tessera/solve/linear/lsqr.hpp"
#include "tessera/solve/linear/minres.hpp"
#include "tessera/solve/proximal/admm.hpp"
#include "tessera/solve/proximal/fista.hpp"
#include "tessera/solve/proximal/pdhg.hpp"
#include "tessera/solve/spectra/eigs.hpp"
#include "tessera/solve/spectra/power_method.hpp"
#include "tessera/solve/spectra/randomized_svd.hpp"
#include "tessera/solve/spectra/svd.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;
using Options = const SolveOptions&;

SolveResult solve_cg(nb::handle a, nb::handle b, Options o, nb::handle preconditioner) {
  const NamedLinop op = linop_from(a, "cg");
  const Array rhs = as_array(b, "cg");
  const CgSettings s{linop_or_none(preconditioner, "cg")};
  return released([&] { return cg(op, rhs, o, s); });
}

SolveResult solve_lsqr(nb::handle a, nb::handle b, Options o, double damp, double conlim) {
  const NamedLinop op = linop_from(a, "lsqr");
  const Array rhs = as_array(b, "lsqr");
  return released([&] { return lsqr(op, rhs, o, {damp, conlim}); });
}

SolveResult solve_lsmr(nb::handle a, nb::handle b, Options o, double damp, double conlim) {
  const NamedLinop op = linop_from(a, "lsmr");
  const Array rhs = as_array(b, "lsmr");
  return released([&] { return lsmr(op, rhs, o, {damp, conlim}); });
}

SolveResult solve_minres(nb::handle a, nb::handle b, Options o, double shift,
                         nb::handle preconditioner) {
  const NamedLinop op = linop_from(a, "minres");
  const Array rhs = as_array(b, "minres");
  const MinresSettings s{shift, linop_or_none(preconditioner, "minres")};
  return released([&] { return minres(op, rhs, o, s); });
}

SolveResult solve_gmres(nb::handle a, nb::handle b, Options o, i64 restart,
                        nb::handle preconditioner) {
  const NamedLinop op = linop_from(a, "gmres");
  const Array rhs = as_array(b, "gmres");
  const GmresSettings s{restart, linop_or_none(preconditioner, "gmres")};
  return released([&] { return gmres(op, rhs, o, s); });
}

SolveResult solve_fista(nb::handle a, nb::handle b, nb::handle g, Options o, nb::handle step,
                        bool momentum, bool restart) {
  const NamedLinop op = linop_from(a, "fista");
  const Array rhs = as_array(b, "fista");
  const Prox map = prox_from(g, "fista");
  const FistaSettings s = fista_settings(step, momentum, restart);
  return released([&] { return fista(op, rhs, map, o, s); });
}

SolveResult solve_pdhg(nb::handle a, nb::handle b, nb::handle f, nb::handle g, Options o,
                       double tau, double sigma, double theta) {
  const PdhgParts parts(a, b, f);
  const NamedLinop op = linop_from(parts.operators.front(), "pdhg");
  const Array rhs = as_array(parts.bs.front(), "pdhg");
  const Prox data = parts.f(0), map = prox_from(g, "pdhg");
  PdhgSettings s{tau, sigma, theta};
  for (std::size_t i = 1; i < parts.operators.size(); ++i) {
    const nb::object& own = parts.bs[i];
    s.more.push_back({linop_from(parts.operators[i], "pdhg"), parts.f(i),
                      own.is_none() ? Array() : as_array(own, "pdhg")});
  }
  return released([&] { return pdhg(op, rhs, data, map, o, s); });
}

SolveResult solve_admm(nb::handle a, nb::handle b, nb::handle g, Options o, nb::handle G,
                       double rho, i64 inner) {
  const NamedLinop op = linop_from(a, "admm");
  const Array rhs = as_array(b, "admm");
  const Prox map = prox_from(g, "admm");
  const AdmmSettings s{linop_or_none(G, "admm"), rho, inner};
  return released([&] { return admm(op, rhs, map, o, s); });
}

// Where an operator acts: as given, else the sizes that it knows itself.
Space space_from(const NamedLinop& a, std::string_view who, Options o, nb::handle shape,
                 nb::handle dtype, nb::handle device) {
  Space s;
  if (!dtype.is_none()) s.dtype = dtype_from(dtype);
  s.device = device.is_none() ? a.device().value_or(cpu) : device_from(device);
  if (o.x0) return s;
  if (!shape.is_none()) {
    s.shape = shape_from(shape);
    return s;
  }
  for (const NamedDimension d : a.ishape()) {
    if (d.is_ellipses()) continue;
    const auto n = a.size(d);
    require<DimError>(n.has_value(), who, ": the size of ", d, " is not known to ", a.str(),
                      "; give x0 or shape=");
    s.shape.push_back(*n);
  }
  return s;
}

EigenResult solve_power_method(nb::handle a, Options o, nb::handle axes, nb::handle shape,
                               nb::handle dtype, nb::handle device, std::uint64_t seed) {
  const NamedLinop op = linop_from(a, "power_method");
  const Space space = space_from(op, "power_method", o, shape, dtype, device);
  PowerMethodSettings s;
  if (!axes.is_none()) s.axes = shape_from(axes);
  s.seed = seed;
  return released([&] { return power_method(op, space, s, o); });
}

EigenResult solve_lanczos(nb::handle a, Options o, i64 k, const std::string& which, i64 ncv,
                          bool reorthogonalize, nb::handle shape, nb::handle dtype,
                          nb::handle device, std::uint64_t seed) {
  const NamedLinop op = linop_from(a, "lanczos");
  const Space space = space_from(op, "lanczos", o, shape, dtype, device);
  const LanczosSettings s{k, which_from(which), ncv, reorthogonalize, seed};
  return released([&] { return lanczos(op, space, s, o); });
}

Spectrum spectrum_from(const std::string& name) {
  constexpr const char* names[] = {"LM", "SM", "LR", "SR", "LI", "SI"};
  for (std::uint8_t i = 0; i < std::size(names); ++i)
    if (name == names[i]) return static_cast<Spectrum>(i);
  throw ArgumentError(cat("eigs: which '", name, "'; expected LM, SM, LR, SR, LI or SI"));
}

EigenResult solve_eigs(nb::handle a, Options o, i64 k, const std::string& which, i64 ncv, i64 block,
                       nb::handle shape, nb::handle dtype, nb::handle device, std::uint64_t seed) {
  const NamedLinop op = linop_from(a, "eigs");
  const Space space = space_from(op, "eigs", o, shape, dtype, device);
  const EigsSettings s{k, spectrum_from(which), ncv, block, seed};
  return released([&] { return eigs(op, space, s, o); });
}

SvdResult solve_svd(nb::handle a, Options o, i64 k, i64 ncv, nb::handle shape, nb::handle dtype,
                    nb::handle device, std::uint64_t seed) {
  const NamedLinop op = linop_from(a, "svd");
  const Space space = space_from(op, "svd", o, shape, dtype, device);
  return released([&] { return svd(op, space, {k, ncv, seed}, o); });
}

SvdResult solve_randomized_svd(nb::handle a, Options o, i64 k, i64 oversample, nb::handle shape,
                               nb::handle dtype, nb::handle device, std::uint64_t seed) {
  const NamedLinop op = linop_from(a, "randomized_svd");
  const Space space = space_from(op, "randomized_svd", o, shape, dtype, device);
  return released([&] { return randomized_svd(op, space, {k, oversample, seed}, o); });
}

PolynomialNorm norm_from(const std::string& name) {
  if (name == "l_2" || name == "l2") return PolynomialNorm::l_2;
  if (name == "l_inf") return PolynomialNorm::l_inf;
  require<ArgumentError>(name == "ifista", "polynomial_preconditioner: norm '", name,
                         "'; expected l_2, l_inf or ifista");
  return PolynomialNorm::ifista;
}

nb::object make_polynomial(nb::handle T, i64 degree, const std::string& norm, double lower,
                           double upper) {
  return wrap_linop(polynomial_preconditioner(linop_from(T, "polynomial_preconditioner"), degree,
                                              norm_from(norm), lower, upper));
}

nb::list coefficients(i64 degree, const std::string& norm, double lower, double upper) {
  nb::list l;
  for (const double c : polynomial_coefficients(degree, norm_from(norm), lower, upper)) l.append(c);
  return l;
}

void bind_systems(nb::module_& m) {
  const auto none = nb::arg("M").none();
  m.def("_cg", &solve_cg, "A"_a, "b"_a, "options"_a, none,
        nb::sig("def _cg(A: NamedLinop, b: ArrayLike, options: _SolveOptions, M: NamedLinop | "
                "None) -> SolveResult"));
  m.def("_lsqr", &solve_lsqr, "A"_a, "b"_a, "options"_a, "damp"_a, "conlim"_a,
        nb::sig("def _lsqr(A: NamedLinop, b: ArrayLike, options: _SolveOptions, damp: float, "
                "conlim: float) -> SolveResult"));
  m.def("_lsmr", &solve_lsmr, "A"_a, "b"_a, "options"_a, "damp"_a, "conlim"_a,
        nb::sig("def _lsmr(A: NamedLinop, b: ArrayLike, options: _SolveOptions, damp: float, "
                "conlim: float) -> SolveResult"));
  m.def("_minres", &solve_minres, "A"_a, "b"_a, "options"_a, "shift"_a, none,
        nb::sig("def _minres(A: NamedLinop, b: ArrayLike, options: _SolveOptions, shift: float, "
                "M: NamedLinop | None) -> SolveResult"));
  m.def("_gmres", &solve_gmres, "A"_a, "b"_a, "options"_a, "restart"_a, none,
        nb::sig("def _gmres(A: NamedLinop, b: ArrayLike, options: _SolveOptions, restart: int, M: "
                "NamedLinop | None) -> SolveResult"));
  m.def("_fista", &solve_fista, "A"_a, "b"_a, "g"_a.none(), "options"_a, "step"_a.none(),
        "momentum"_a, "restart"_a,
        nb::sig("def _fista(A: NamedLinop, b: ArrayLike, g: typing.Any, options: _SolveOptions, "
                "step: float | str | None, momentum: bool, restart: bool) -> SolveResult"));
  m.def("_pdhg", &solve_pdhg, "A"_a, "b"_a, "f"_a.none(), "g"_a.none(), "options"_a, "tau"_a,
        "sigma"_a, "theta"_a,
        nb::sig("def _pdhg(A: typing.Any, b: typing.Any, f: typing.Any, g: typing.Any, options: "
                "_SolveOptions, tau: float, sigma: float, theta: float) -> SolveResult"));
  m.def("_admm", &solve_admm, "A"_a, "b"_a, "g"_a.none(), "options"_a, nb::arg("G").none(), "rho"_a,
        "inner"_a,
        nb::sig("def _admm(A: NamedLinop, b: ArrayLike, g: typing.Any, options: _SolveOptions, G: "
                "NamedLinop | None, rho: float, inner: int) -> SolveResult"));
}

void bind_spectra(nb::module_& m) {
  m.def("_power_method", &solve_power_method, "A"_a, "options"_a, "axes"_a.none(), "shape"_a.none(),
        "dtype"_a.none(), "device"_a.none(), "seed"_a,
        nb::sig("def _power_method(A: NamedLinop, options: _SolveOptions, axes: ShapeLike | None, "
                "shape: ShapeLike | None, dtype: DTypeLike | None, device: DeviceLike | None, "
                "seed: int) -> EigenResult"));
  m.def("_lanczos", &solve_lanczos, "A"_a, "options"_a, "k"_a, "which"_a, "ncv"_a,
        "reorthogonalize"_a, "shape"_a.none(), "dtype"_a.none(), "device"_a.none(), "seed"_a,
        nb::sig("def _lanczos(A: NamedLinop, options: _SolveOptions, k: int, which: str, ncv: int, "
                "reorthogonalize: bool, shape: ShapeLike | None, dtype: DTypeLike | None, device: "
                "DeviceLike | None, seed: int) -> EigenResult"));
  m.def("_eigs", &solve_eigs, "A"_a, "options"_a, "k"_a, "which"_a, "ncv"_a, "block"_a,
        "shape"_a.none(), "dtype"_a.none(), "device"_a.none(), "seed"_a,
        nb::sig("def _eigs(A: NamedLinop, options: _SolveOptions, k: int, which: str, ncv: int, "
                "block: int, shape: ShapeLike | None, dtype: DTypeLike | None, "
                "device: DeviceLike | None, seed: int) -> EigenResult"));
  m.def("_svd", &solve_svd, "A"_a, "options"_a, "k"_a, "ncv"_a, "shape"_a.none(), "dtype"_a.none(),
        "device"_a.none(), "seed"_a,
        nb::sig("def _svd(A: NamedLinop, options: _SolveOptions, k: int, ncv: int, shape: "
                "ShapeLike | None, dtype: DTypeLike | None, device: DeviceLike | None, seed: int) "
                "-> SvdResult"));
  m.def("_randomized_svd", &solve_randomized_svd, "A"_a, "options"_a, "k"_a, "oversample"_a,
        "shape"_a.none(), "dtype"_a.none(), "device"_a.none(), "seed"_a,
        nb::sig("def _randomized_svd(A: NamedLinop, options: _SolveOptions, k: int, oversample: "
                "int, shape: ShapeLike | None, dtype: DTypeLike | None, device: DeviceLike | None, "
                "seed: int) -> SvdResult"));
  m.def("_polynomial_preconditioner", &make_polynomial, "T"_a, "degree"_a, "norm"_a, "lower_eig"_a,
        "upper_eig"_a,
        nb::sig("def _polynomial_preconditioner(T: NamedLinop, degree: int, norm: str, lower_eig: "
                "float, upper_eig: float) -> NamedLinop"));
  m.def("_polynomial_coefficients", &coefficients, "degree"_a, "norm"_a, "lower_eig"_a,
        "upper_eig"_a,
        nb::sig("def _polynomial_coefficients(degree: int, norm: str, lower_eig: float, upper_eig: "
                "float) -> list[float]"));
}

// Sizes that the operator does not know do not matter to it: small, distinct, neither equal nor
// powers of two.
Shape test_shape(const NamedLinop& a) {
  Shape s;
  i64 free = 5;
  for (const NamedDimension d : a.ishape()) {
    if (d.is_ellipses()) continue;
    const auto n = a.size(d);
    s.push_back(n ? *n : free);
    free += n ? 0 : 2;
  }
  if (s.empty()) s.push_back(free);
  return s;
}

AdjointCheck checked_adjoint(nb::handle a, nb::handle shape, nb::handle dtype, nb::handle device,
                             std::uint64_t seed, nb::handle tolerance) {
  const NamedLinop op = linop_from(a, "check_adjoint");
  const Shape s = shape.is_none() ? test_shape(op) : shape_from(shape);
  const Device d = device.is_none() ? op.device().value_or(cpu) : device_from(device);
  const std::optional<double> most =
      tolerance.is_none() ? std::nullopt
                          : std::optional(value_from(tolerance, "check_adjoint").as<double>());
  const auto with = [&](DType t) {
    return released([&] { return check_adjoint(op, s, t, d, seed, most); });
  };
  if (!dtype.is_none()) return with(dtype_from(dtype));
  try {
    return with(DType::c128);
  } catch (const DTypeError&) {  // a map of real numbers
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
  }
  return with(DType::f64);
}

void bind_adjoint_check(nb::module_& m) {
  nb::class_<AdjointCheck> c(
      m, "AdjointCheck",
      "What ts.check_adjoint() found: true where the law holds. As a number it is the error.\n\n"
      ">>> r = ts.check_adjoint(ts.FFT(2)); bool(r), r.error == float(r) < r.tolerance\n"
      "(True, True)\n");
  c.def_ro("error", &AdjointCheck::error,
           "The relative error of the dot test, |<y, Ax> - <A.H y, x>| / (|Ax| |y| / sqrt(n)).")
      .def_ro("tolerance", &AdjointCheck::tolerance, "The most that counts as rounding.")
      .def(
          "__getstate__",
          [](const AdjointCheck& r) { return nb::make_tuple(r.error, r.tolerance); },
          nb::sig("def __getstate__(self) -> tuple[float, float]"))
      .def(
          "__setstate__",
          [](AdjointCheck* self, const nb::tuple& state) {
            double error = 0, tolerance = 0;
            require<DTypeError>(state.size() == 2 && nb::try_cast(state[0], error) &&
                                    nb::try_cast(state[1], tolerance),
                                "AdjointCheck: a state ", repr_of(state),
                                "; expected its error and its tolerance");
            new (self) AdjointCheck{error, tolerance};
          },
          nb::sig("def __setstate__(self, state: tuple[float, float], /) -> None"))
      .def("__bool__", [](const AdjointCheck& r) { return static_cast<bool>(r); })
      .def("__float__", [](const AdjointCheck& r) { return r.error; })
      .def(
          "__lt__", [](const AdjointCheck& r, double x) { return r.error < x; }, nb::is_operator())
      .def(
          "__le__", [](const AdjointCheck& r, double x) { return r.error <= x; }, nb::is_operator())
      .def(
          "__gt__", [](const AdjointCheck& r, double x) { return r.error > x; }, nb::is_operator())
      .def(
          "__ge__", [](const AdjointCheck& r, double x) { return r.error >= x; }, nb::is_operator())
      .def("__format__",
           [](const AdjointCheck& r, nb::handle spec) {
             return nb::float_(r.error).attr("__format__")(spec);
           })
      .def("__repr__", [](const AdjointCheck& r) {
        const auto text = [](double x) { return nb::repr(nb::float_(x)); };
        return nb::str(cat("<AdjointCheck: ", r ? "holds" : "fails", ", error ",
                           text(r.error).c_str(), ", tolerance ", text(r.tolerance).c_str(), ">")
                           .c_str());
      });
  m.def(
      "check_adjoint", &checked_adjoint, "A"_a, "shape"_a = nb::none(), "dtype"_a = nb::none(),
      "device"_a = nb::none(), "seed"_a = 0, "tolerance"_a = nb::none(),
      nb::sig("def check_adjoint(A: NamedLinop, shape: ShapeLike | None = None, dtype: DTypeLike "
              "| None = None, device: DeviceLike | None = None, seed: int = 0, "
              "tolerance: float | None = None) -> AdjointCheck"),
      "Whether <y, Ax> = <A.H y, x> for random vectors: a result that is true where it holds, "
      "with\nthe relative error. The vectors are complex where A takes such; where A makes complex "
      "numbers\nof real ones, the inner product is the real one, Re<x, y>.\n\n"
      ">>> assert ts.check_adjoint(ts.FFT(2)) and ts.check_adjoint(ts.FFT(1, real=8))\n"
      ">>> wrong = ts.SimpleLinop(lambda x: 2 * x, lambda y: 3 * y)\n"
      ">>> bool(ts.check_adjoint(wrong)), ts.check_adjoint(wrong).error > 1e-3\n(False, True)\n");
}

}  // namespace

void bind_solve(nb::module_& m) {
  bind_solve_options(m);
  bind_stored_solve(m);
  bind_systems(m);
  bind_spectra(m);
  m.def(
      "memory_report", [](nb::handle a) { return memory_report(linop_from(a, "memory_report")); },
      "A"_a, nb::sig("def memory_report(A: NamedLinop) -> str"),
      "What an operator holds on each device, in words; memory that several arrays share counts "
      "once.\n\n>>> ts.memory_report(ts.Diagonal(ts.ones(512, 'float32')))\n'cpu: 2.00 KiB in 1 "
      "array'\n");
  bind_adjoint_check(m);
}

}  // namespace tessera::python
