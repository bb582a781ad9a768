// SPDX-License-Identifier: Apache-2.0
// Solvers and the adjoint test; tessera/solve.py gives the solvers their names.
#include "linop.hpp"
#include "tessera/solve/cg.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// The caller's function between iterations; what it raises ends the solve and is raised again.
std::function<bool(const Iteration&)> callback_from(nb::handle callback) {
  if (callback.is_none()) return {};
  return [callback](const Iteration& i) {
    nb::gil_scoped_acquire locked;
    nb::object answer = nb::steal(PyObject_CallOneArg(callback.ptr(), nb::cast(i).ptr()));
    if (!answer.is_valid()) throw nb::python_error();
    return !answer.is(nb::bool_(false));
  };
}

SolveResult solve_cg(nb::handle a, nb::handle b, nb::handle x0, double rtol, double atol,
                     i64 maxiter, nb::handle callback, bool progress) {
  SolveOptions options;
  options.rtol = rtol;
  options.atol = atol;
  options.maxiter = maxiter;
  options.progress = progress;
  options.callback = callback_from(callback);
  if (!x0.is_none()) options.x0 = as_array(x0, "cg");
  const NamedLinop op = linop_from(a, "cg");
  const Array rhs = as_array(b, "cg");
  return released([&] { return cg(op, rhs, options); });
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

double adjoint_error(nb::handle a, nb::handle shape, nb::handle dtype, nb::handle device,
                     std::uint64_t seed) {
  const NamedLinop op = linop_from(a, "check_adjoint");
  const Shape s = shape.is_none() ? test_shape(op) : shape_from(shape);
  const DType t = dtype.is_none() ? DType::c128 : dtype_from(dtype);
  const Device d = device.is_none() ? op.device().value_or(cpu) : device_from(device);
  return released([&] { return check_adjoint(op, s, t, d, seed); });
}

}  // namespace

void bind_solve(nb::module_& m) {
  nb::class_<Iteration>(m, "Iteration",
                        "What a solver's callback gets.\n\n"
                        ">>> seen = []\n>>> r = ts.solve.cg(ts.Diagonal([1.0, 2.0], ('X',)), [1.0, "
                        "1.0], callback=lambda i: seen.append(i.residual))\n"
                        ">>> len(seen) == r.iterations\nTrue\n")
      .def_ro("number", &Iteration::number, "1, 2, …")
      .def_ro("residual", &Iteration::residual, "Relative residual.");
  nb::class_<SolveResult>(
      m, "SolveResult",
      "What a solver found, and how it went.\n\n"
      ">>> r = ts.solve.cg(ts.Scalar(2.0), [4.0]); r.x.tolist(), r.converged\n([2.0], True)\n")
      .def_ro("x", &SolveResult::x, "The solution.")
      .def_ro("iterations", &SolveResult::iterations, "Iterations made.")
      .def_ro("converged", &SolveResult::converged, "The residual reached the tolerance.")
      .def_ro("reason", &SolveResult::reason, "Why it stopped.")
      .def_prop_ro(
          "history",
          [](const SolveResult& r) {
            nb::list l;
            for (const double v : r.history) l.append(v);
            return l;
          },
          nb::sig("def history(self) -> list[float]"),
          "Relative residuals, before the first iteration and after each.")
      .def("__repr__", [](const SolveResult& r) {
        return nb::str(cat("<SolveResult: ", r.iterations, " iterations, ", r.reason, ">").c_str());
      });
  m.def("_cg", &solve_cg, "A"_a, "b"_a, "x0"_a.none(), "rtol"_a, "atol"_a, "maxiter"_a,
        "callback"_a.none(), "progress"_a,
        nb::sig("def _cg(A: NamedLinop, b: ArrayLike, x0: ArrayLike | None, rtol: float, atol: "
                "float, maxiter: int, "
                "callback: typing.Callable[[Iteration], typing.Any] | None, progress: bool) -> "
                "SolveResult"));
  m.def("check_adjoint", &adjoint_error, "A"_a, "shape"_a = nb::none(), "dtype"_a = nb::none(),
        "device"_a = nb::none(), "seed"_a = 0,
        nb::sig("def check_adjoint(A: NamedLinop, shape: ShapeLike | None = None, dtype: DTypeLike "
                "| None = None, "
                "device: DeviceLike | None = None, seed: int = 0) -> float"),
        "The relative error of the dot test |<y, Ax> - <A.H y, x>| with random vectors.\n\n"
        ">>> ts.check_adjoint(ts.FFT(2)) < 1e-12\nTrue\n");
}

}  // namespace tessera::python
