// SPDX-License-Identifier: Apache-2.0
// The entries through which tessera/linalg.py reaches dense linear algebra, and factored matrices.
#include "array/linalg.hpp"

#include "tessera/kernels/linalg/decompositions.hpp"

namespace tessera::python {

using nb::literals::operator""_a;
namespace la = linalg;

la::NormOrder order_from(nb::handle h) {
  using Order = la::NormOrder;
  if (h.is_none()) return {};
  if (nb::isinstance<nb::str>(h)) {
    const auto text = nb::cast<std::string>(h);
    if (text == "fro") return {Order::frobenius};
    if (text == "nuc") return {Order::nuclear};
    throw ArgumentError(
        cat("norm: Invalid norm order '", text, "'; expected a number, 'fro' or 'nuc'"));
  }
  return {Order::number, value_from(h, "norm").as<double>()};
}

la::QrMode qr_mode_from(std::string_view mode) {
  require<ArgumentError>(mode == "reduced" || mode == "complete" || mode == "r", "qr: mode '", mode,
                         "'; expected 'reduced', 'complete' or 'r'");
  return mode == "reduced"    ? la::QrMode::reduced
         : mode == "complete" ? la::QrMode::complete
                              : la::QrMode::r;
}

double tolerance_from(nb::handle h, std::string_view who) {
  return h.is_none() ? -1 : value_from(h, who).as<double>();
}

namespace {

template <class F>
nb::object one(nb::handle a, const char* who, F&& f) {
  const Array x = as_array(a, who);
  return wrap(released([&] { return f(x); }));
}

void bind_one(nb::module_& m, const char* name, Array (*f)(const Array&)) {
  const std::string sig = cat("def ", name, "(a: ArrayLike) -> Array");
  m.def(
      name, [f, name](nb::handle a) { return one(a, name + 1, f); }, "a"_a, nb::sig(sig.c_str()));
}

nb::object solve_with(nb::handle a, nb::handle b) {
  const Array x = as_array(a, "solve"), y = as_array(b, "solve");
  return wrap(released([&] { return la::solve(x, y); }));
}

nb::object solve_triangle(nb::handle a, nb::handle b, nb::handle trans, bool lower, bool unit) {
  const Array x = as_array(a, "solve_triangular"), y = as_array(b, "solve_triangular");
  const la::TriangularOptions o{lower, turn_from(trans, "solve_triangular"), unit};
  return wrap(released([&] { return la::solve_triangular(x, y, o); }));
}

nb::object qr_of(nb::handle a, const std::string& mode, bool pivoting) {
  const la::QrMode how = qr_mode_from(mode);
  const Array x = as_array(a, "qr");
  la::Qr f = released([&] { return la::qr(x, how, pivoting); });
  const auto or_none = [](Array& y) { return y ? wrap(std::move(y)) : nb::none(); };
  return nb::make_tuple(or_none(f.q), wrap(std::move(f.r)), or_none(f.order));
}

nb::object lstsq_of(nb::handle a, nb::handle b, nb::handle rcond) {
  const Array x = as_array(a, "lstsq"), y = as_array(b, "lstsq");
  const double tolerance = tolerance_from(rcond, "lstsq");
  la::Lstsq r = released([&] { return la::lstsq(x, y, tolerance); });
  return nb::make_tuple(wrap(std::move(r.x)), wrap(std::move(r.residuals)), r.rank,
                        wrap(std::move(r.s)));
}

nb::object norm_of(nb::handle x, nb::handle order, nb::handle axis, bool keepdims) {
  const Array a = as_array(x, "norm");
  const la::NormOrder o = order_from(order);
  const std::optional<Shape> axes = shape_or_none(axis);
  return wrap(released([&] { return la::norm(a, o, axes, keepdims); }));
}

void bind_spectra(nb::module_& m) {
  m.def(
      "_eigh",
      [](nb::handle a, bool lower) {
        const Array x = as_array(a, "eigh");
        la::Eigh e = released([&] { return la::eigh(x, lower); });
        return nb::make_tuple(wrap(std::move(e.values)), wrap(std::move(e.vectors)));
      },
      "a"_a, "lower"_a, nb::sig("def _eigh(a: ArrayLike, lower: bool) -> tuple[Array, Array]"));
  m.def(
      "_eigvalsh",
      [](nb::handle a, bool lower) {
        return one(a, "eigvalsh", [&](const Array& x) { return la::eigvalsh(x, lower); });
      },
      "a"_a, "lower"_a, nb::sig("def _eigvalsh(a: ArrayLike, lower: bool) -> Array"));
  m.def(
      "_eig",
      [](nb::handle a, bool left) {
        const Array x = as_array(a, "eig");
        la::Eig e = released([&] { return la::eig(x, left); });
        return nb::make_tuple(wrap(std::move(e.values)), wrap(std::move(e.vectors)),
                              left ? wrap(std::move(e.left)) : nb::none());
      },
      "a"_a, "left"_a,
      nb::sig("def _eig(a: ArrayLike, left: bool) -> tuple[Array, Array, Array | None]"));
  bind_one(m, "_eigvals", &la::eigvals);
  m.def(
      "_svd_of",
      [](nb::handle a, bool full_matrices) {
        const Array x = as_array(a, "svd");
        la::Svd f = released([&] { return la::svd(x, full_matrices); });
        return nb::make_tuple(wrap(std::move(f.u)), wrap(std::move(f.s)), wrap(std::move(f.vh)));
      },
      "a"_a, "full_matrices"_a,
      nb::sig("def _svd_of(a: ArrayLike, full_matrices: bool) -> tuple[Array, Array, Array]"));
  bind_one(m, "_svdvals", &la::svdvals);
  m.def(
      "_pinv",
      [](nb::handle a, nb::handle rtol) {
        const double tolerance = tolerance_from(rtol, "pinv");
        return one(a, "pinv", [&](const Array& x) { return la::pinv(x, tolerance); });
      },
      "a"_a, "rtol"_a.none(), nb::sig("def _pinv(a: ArrayLike, rtol: float | None) -> Array"));
  m.def(
      "_matrix_rank",
      [](nb::handle a, nb::handle rtol) {
        const double tolerance = tolerance_from(rtol, "matrix_rank");
        return one(a, "matrix_rank", [&](const Array& x) { return la::matrix_rank(x, tolerance); });
      },
      "a"_a, "rtol"_a.none(),
      nb::sig("def _matrix_rank(a: ArrayLike, rtol: float | None) -> Array"));
}

void set_lu(la::Lu* self, const nb::tuple& s) {
  require<ArgumentError>(s.size() == 3, "Lu: made again of ", s.size(), " arrays, expected 3");
  const la::LuParts parts{as_array(s[0], "Lu"), as_array(s[1], "Lu"), as_array(s[2], "Lu")};
  new (self) la::Lu(released([&] { return la::Lu(parts); }));
}
void set_cholesky(la::Cholesky* self, const nb::tuple& s) {
  require<ArgumentError>(s.size() == 1, "Cholesky: made again of ", s.size(),
                         " arrays, expected 1");
  const Array l = as_array(s[0], "Cholesky");
  new (self) la::Cholesky(released([&] { return la::Cholesky::of_factor(l); }));
}

void bind_factors(nb::module_& m) {
  nb::class_<la::Lu>(m, "Lu",
                     "A matrix in the factored form a = P L U, which solves for many right sides; "
                     "made by :func:`tessera.linalg.lu_factor`.\n\n"
                     ">>> f = ts.linalg.lu_factor([[4.0, 1.0], [2.0, 3.0]])\n"
                     ">>> f.solve([1.0, 0.0]).numpy().round(6).tolist()\n[0.3, -0.2]\n")
      .def(
          "solve",
          [](const la::Lu& f, nb::handle b, nb::handle trans) {
            const Array y = as_array(b, "Lu.solve");
            const Turn turn = turn_from(trans, "Lu.solve");
            return wrap(released([&] { return f.solve(y, turn); }));
          },
          "b"_a, "trans"_a = 0,
          nb::sig("def solve(self, b: ArrayLike, trans: int | str = 0) -> Array"),
          "The x of a x = b; ``trans`` 1 or 'T': of the transposed matrix, 2 or 'C': of the "
          "adjoint.\n\n"
          ">>> f = ts.linalg.lu_factor([[2.0, 1.0], [0.0, 4.0]])\n"
          ">>> f.solve([4.0, 4.0]).tolist(), f.solve([2.0, 5.0], trans='T').tolist()\n"
          "([1.5, 1.0], [1.0, 1.0])\n")
      .def_prop_ro(
          "P", [](const la::Lu& f) { return wrap(f.p()); }, nb::sig("def P(self) -> Array"),
          "The permutation, as a matrix.")
      .def_prop_ro(
          "L", [](const la::Lu& f) { return wrap(f.l()); }, nb::sig("def L(self) -> Array"),
          "Lower, with ones on the diagonal.")
      .def_prop_ro(
          "U", [](const la::Lu& f) { return wrap(f.u()); }, nb::sig("def U(self) -> Array"),
          "Upper.")
      .def_prop_ro(
          "rows", [](const la::Lu& f) { return wrap(f.rows()); },
          nb::sig("def rows(self) -> Array"), "The permutation as indices: a[rows] = L U.")
      .def(
          "__getstate__",
          [](const la::Lu& f) {
            const la::LuParts p = released([&] { return f.parts(); });
            return nb::make_tuple(wrap(p.triangles), wrap(p.pivots), wrap(p.info));
          },
          nb::sig("def __getstate__(self) -> tuple[Array, Array, Array]"))
      .def("__setstate__", &set_lu,
           nb::sig("def __setstate__(self, state: tuple[Array, Array, Array], /) -> None"));
  nb::class_<la::Cholesky>(m, "Cholesky",
                           "A positive matrix in the factored form a = L L.H, which solves for "
                           "many right sides; made by :func:`tessera.linalg.cholesky_factor`.\n\n"
                           ">>> ts.linalg.cholesky_factor([[4.0]]).solve([2.0]).tolist()\n[0.5]\n")
      .def(
          "solve",
          [](const la::Cholesky& f, nb::handle b) {
            const Array y = as_array(b, "Cholesky.solve");
            return wrap(released([&] { return f.solve(y); }));
          },
          "b"_a, nb::sig("def solve(self, b: ArrayLike) -> Array"),
          "The x of a x = b.\n\n"
          ">>> ts.linalg.cholesky_factor([[4.0, 0.0], [0.0, 1.0]]).solve([2.0, 3.0]).tolist()\n"
          "[0.5, 3.0]\n")
      .def_prop_ro(
          "L", [](const la::Cholesky& f) { return wrap(f.l()); }, nb::sig("def L(self) -> Array"),
          "The lower factor.")
      .def(
          "__getstate__",
          [](const la::Cholesky& f) {
            return nb::make_tuple(wrap(released([&] { return f.l(); })));
          },
          nb::sig("def __getstate__(self) -> tuple[Array]"))
      .def("__setstate__", &set_cholesky,
           nb::sig("def __setstate__(self, state: tuple[Array], /) -> None"));
  m.def(
      "_lu_factor",
      [](nb::handle a) {
        const Array x = as_array(a, "lu_factor");
        return released([&] { return la::Lu(x); });
      },
      "a"_a, nb::sig("def _lu_factor(a: ArrayLike) -> Lu"));
  m.def(
      "_cholesky_factor",
      [](nb::handle a) {
        const Array x = as_array(a, "cholesky_factor");
        return released([&] { return la::Cholesky(x); });
      },
      "a"_a, nb::sig("def _cholesky_factor(a: ArrayLike) -> Cholesky"));
}

void bind_decompositions(nb::module_& m) {
  m.def(
      "_schur",
      [](nb::handle a, bool complex) {
        const Array x = as_array(a, "schur");
        la::Schur f = released([&] { return la::schur(x, complex); });
        return nb::make_tuple(wrap(std::move(f.t)), wrap(std::move(f.z)));
      },
      "a"_a, "complex"_a,
      nb::sig("def _schur(a: ArrayLike, complex: bool) -> tuple[Array, Array]"));
  m.def(
      "_ldl",
      [](nb::handle a, bool lower, bool hermitian) {
        const Array x = as_array(a, "ldl");
        la::Ldl f = released([&] { return la::ldl(x, lower, hermitian); });
        return nb::make_tuple(wrap(std::move(f.l)), wrap(std::move(f.d)), wrap(std::move(f.order)));
      },
      "a"_a, "lower"_a, "hermitian"_a,
      nb::sig(
          "def _ldl(a: ArrayLike, lower: bool, hermitian: bool) -> tuple[Array, Array, Array]"));
  m.def(
      "_solve_banded",
      [](i64 lower, i64 upper, nb::handle bands, nb::handle b) {
        const Array x = as_array(bands, "solve_banded"), y = as_array(b, "solve_banded");
        return wrap(released([&] { return la::solve_banded(lower, upper, x, y); }));
      },
      "lower"_a, "upper"_a, "bands"_a, "b"_a,
      nb::sig(
          "def _solve_banded(lower: int, upper: int, bands: ArrayLike, b: ArrayLike) -> Array"));
  m.def(
      "_solveh_banded",
      [](nb::handle bands, nb::handle b, bool lower) {
        const Array x = as_array(bands, "solveh_banded"), y = as_array(b, "solveh_banded");
        return wrap(released([&] { return la::solve_banded_positive(x, y, lower); }));
      },
      "bands"_a, "b"_a, "lower"_a,
      nb::sig("def _solveh_banded(bands: ArrayLike, b: ArrayLike, lower: bool) -> Array"));
  m.def(
      "_eig_pair",
      [](nb::handle a, nb::handle b, bool left) {
        const Array x = as_array(a, "eig"), y = as_array(b, "eig");
        la::EigPair e = released([&] { return la::eig_pair(x, y, left); });
        return nb::make_tuple(wrap(std::move(e.alpha)), wrap(std::move(e.beta)),
                              wrap(std::move(e.vectors)),
                              left ? wrap(std::move(e.left)) : nb::none());
      },
      "a"_a, "b"_a, "left"_a,
      nb::sig("def _eig_pair(a: ArrayLike, b: ArrayLike, left: bool) -> tuple[Array, Array, Array, "
              "Array | None]"));
}

}  // namespace

Turn turn_from(nb::handle h, std::string_view who) {
  const std::string text = nb::cast<std::string>(nb::str(nb::borrow(h)));
  if (text == "0" || text == "N") return Turn::none;
  if (text == "1" || text == "T") return Turn::transposed;
  require<ArgumentError>(text == "2" || text == "C", who, ": trans is ", text,
                         "; expected 0 or 'N', 1 or 'T' (transposed), 2 or 'C' (adjoint)");
  return Turn::adjoint;
}

void bind_linalg(nb::module_& m) {
  bind_one(m, "_inverse", &la::inverse);
  bind_one(m, "_det", &la::det);
  m.def(
      "_as_working",
      [](nb::handle a) {
        return one(a, "eigs",
                   [](const Array& x) { return x.astype(la::working_dtype(x.dtype())); });
      },
      "a"_a, nb::sig("def _as_working(a: ArrayLike) -> Array"));
  m.def(
      "_matrix_power",
      [](nb::handle a, i64 n) {
        return one(a, "matrix_power", [&](const Array& x) { return la::matrix_power(x, n); });
      },
      "a"_a, "n"_a, nb::sig("def _matrix_power(a: ArrayLike, n: int) -> Array"));
  m.def("_solve", &solve_with, "a"_a, "b"_a,
        nb::sig("def _solve(a: ArrayLike, b: ArrayLike) -> Array"));
  m.def("_solve_triangular", &solve_triangle, "a"_a, "b"_a, "trans"_a, "lower"_a, "unit"_a,
        nb::sig("def _solve_triangular(a: ArrayLike, b: ArrayLike, trans: int | str, lower: bool, "
                "unit: bool) -> Array"));
  m.def(
      "_cholesky",
      [](nb::handle a, bool upper) {
        return one(a, "cholesky", [&](const Array& x) { return la::cholesky(x, upper); });
      },
      "a"_a, "upper"_a, nb::sig("def _cholesky(a: ArrayLike, upper: bool) -> Array"));
  m.def("_qr", &qr_of, "a"_a, "mode"_a, "pivoting"_a,
        nb::sig("def _qr(a: ArrayLike, mode: str, pivoting: bool) -> tuple[Array | None, Array, "
                "Array | None]"));
  m.def("_lstsq", &lstsq_of, "a"_a, "b"_a, "rcond"_a.none(),
        nb::sig("def _lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None) -> tuple[Array, "
                "Array, int, Array]"));
  m.def(
      "_slogdet",
      [](nb::handle a) {
        const Array x = as_array(a, "slogdet");
        la::SlogDet d = released([&] { return la::slogdet(x); });
        return nb::make_tuple(wrap(std::move(d.sign)), wrap(std::move(d.logabsdet)));
      },
      "a"_a, nb::sig("def _slogdet(a: ArrayLike) -> tuple[Array, Array]"));
  m.def("_norm", &norm_of, "x"_a, "ord"_a.none(), "axis"_a.none(), "keepdims"_a,
        nb::sig("def _norm(x: ArrayLike, ord: float | str | None, axis: ShapeLike | None, "
                "keepdims: bool) -> Array"));
  m.def(
      "_cond",
      [](nb::handle a, nb::handle p) {
        const la::NormOrder order = order_from(p);
        return one(a, "cond", [&](const Array& x) { return la::cond(x, order); });
      },
      "a"_a, "p"_a.none(), nb::sig("def _cond(a: ArrayLike, p: float | str | None) -> Array"));
  m.def(
      "_trace",
      [](nb::handle a, i64 offset) {
        return one(a, "trace", [&](const Array& x) { return la::trace(x, offset); });
      },
      "a"_a, "offset"_a, nb::sig("def _trace(a: ArrayLike, offset: int) -> Array"));
  bind_spectra(m);
  bind_factors(m);
  bind_decompositions(m);
}

}  // namespace tessera::python
