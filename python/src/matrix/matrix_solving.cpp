// SPDX-License-Identifier: Apache-2.0
// tessera.linalg for matrices: overloads of the functions of arrays, and compute_k. Arguments are
// taken by reference, so that what was found stays with the matrix.
#include "tessera/matrix/functions/solving.hpp"

#include "array/linalg.hpp"
#include "matrix/matrix.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/matrix/functions/reductions.hpp"
#include "tessera/matrix/products/compute_k.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;
namespace la = linalg;

// A number as an array; its tag is that of what was computed.
nb::object scalar_array(const Value& v, DType t) {
  const TagScope scope;
  return wrap(full({}, v, t, cpu));
}

// A number as the functions of arrays give it: rank 0, of the dtype they compute with.
nb::object number_of(const Value& v, const AnyMatrix& m, bool real = false) {
  const DType t = la::working_dtype(m.dtype());
  return scalar_array(v, real ? real_of(t) : t);
}

nb::object or_none(Array& a) { return a ? wrap(std::move(a)) : nb::none(); }

template <class F>
void bind_one(nb::module_& m, const char* name, const char* result, F f) {
  const std::string sig = cat("def ", name, "(a: AnyMatrix) -> ", result);
  m.def(
      name, [f](const AnyMatrix& a) { return wrap(released([&] { return f(a); })); }, "a"_a,
      nb::sig(sig.c_str()));
}

void bind_systems(nb::module_& m) {
  bind_one(m, "_inverse", "AnyMatrix", [](const AnyMatrix& a) { return inverse(a); });
  m.def(
      "_matrix_power",
      [](const AnyMatrix& a, i64 n) { return wrap(released([&] { return matrix_power(a, n); })); },
      "a"_a, "n"_a, nb::sig("def _matrix_power(a: AnyMatrix, n: int) -> AnyMatrix"));
  m.def(
      "_det",
      [](AnyMatrix& a) {
        const Value d = released([&] { return determinant(a); });
        return number_of(d, a);
      },
      "a"_a, nb::sig("def _det(a: AnyMatrix) -> Array"));
  m.def(
      "_trace",
      [](AnyMatrix& a, i64 offset) {
        if (offset == 0) {
          const Value t = released([&] { return trace(a); });
          return scalar_array(t, t.dtype());
        }
        return wrap(released([&] { return la::trace(a.array(), offset); }));
      },
      "a"_a, "offset"_a, nb::sig("def _trace(a: AnyMatrix, offset: int) -> Array"));
  m.def(
      "_slogdet",
      [](const AnyMatrix& a) {
        const LogDeterminant d = released([&] { return slogdet(a); });
        return nb::make_tuple(number_of(d.sign, a), number_of(Value(d.logabsdet), a, true));
      },
      "a"_a, nb::sig("def _slogdet(a: AnyMatrix) -> tuple[Array, Array]"));
  m.def(
      "_solve",
      [](const AnyMatrix& a, nb::handle b) {
        const Array y = as_array(b, "solve");
        return wrap(released([&] { return solve(a, y); }));
      },
      "a"_a, "b"_a, nb::sig("def _solve(a: AnyMatrix, b: ArrayLike) -> Array"));
  m.def(
      "_solve_triangular",
      [](const AnyMatrix& a, nb::handle b, nb::handle trans, bool lower, bool unit) {
        const Array y = as_array(b, "solve_triangular");
        const la::TriangularOptions o{lower, turn_from(trans, "solve_triangular"), unit};
        return wrap(released([&] { return solve_triangular(a, y, o); }));
      },
      "a"_a, "b"_a, "trans"_a, "lower"_a, "unit"_a,
      nb::sig("def _solve_triangular(a: AnyMatrix, b: ArrayLike, trans: int | str, lower: bool, "
              "unit: bool) -> Array"));
  m.def(
      "_lstsq",
      [](const AnyMatrix& a, nb::handle b, nb::handle rcond) {
        const Array y = as_array(b, "lstsq");
        const double tolerance = tolerance_from(rcond, "lstsq");
        la::Lstsq r = released([&] { return lstsq(a, y, tolerance); });
        return nb::make_tuple(wrap(std::move(r.x)), wrap(std::move(r.residuals)), r.rank,
                              wrap(std::move(r.s)));
      },
      "a"_a, "b"_a, "rcond"_a.none(),
      nb::sig("def _lstsq(a: AnyMatrix, b: ArrayLike, rcond: float | None) -> tuple[Array, Array, "
              "int, Array]"));
}

void bind_factors(nb::module_& m) {
  m.def(
      "_lu_factor", [](const AnyMatrix& a) { return released([&] { return lu(a); }); }, "a"_a,
      nb::sig("def _lu_factor(a: AnyMatrix) -> Lu"));
  m.def(
      "_cholesky",
      [](const AnyMatrix& a, bool upper) {
        return wrap(released([&] {
          const AnyMatrix l = cholesky(a);
          return upper ? l.adjoint() : l;
        }));
      },
      "a"_a, "upper"_a, nb::sig("def _cholesky(a: AnyMatrix, upper: bool) -> AnyMatrix"));
  m.def(
      "_qr",
      [](const AnyMatrix& a, const std::string& mode, bool pivoting) {
        const la::QrMode how = qr_mode_from(mode);
        la::Qr f = released([&] { return qr(a, how, pivoting); });
        return nb::make_tuple(or_none(f.q), wrap(std::move(f.r)), or_none(f.order));
      },
      "a"_a, "mode"_a, "pivoting"_a,
      nb::sig("def _qr(a: AnyMatrix, mode: str, pivoting: bool) -> tuple[Array | None, Array, "
              "Array | None]"));
}

void bind_eigen(nb::module_& m) {
  m.def(
      "_eigh",
      [](const AnyMatrix& a, bool lower) {
        la::Eigh e = released([&] { return eigh(a, lower); });
        return nb::make_tuple(wrap(std::move(e.values)), wrap(std::move(e.vectors)));
      },
      "a"_a, "lower"_a, nb::sig("def _eigh(a: AnyMatrix, lower: bool) -> tuple[Array, Array]"));
  m.def(
      "_eigvalsh",
      [](const AnyMatrix& a, bool lower) {
        return wrap(released([&] { return eigvalsh(a, lower); }));
      },
      "a"_a, "lower"_a, nb::sig("def _eigvalsh(a: AnyMatrix, lower: bool) -> Array"));
  m.def(
      "_eig",
      [](const AnyMatrix& a, bool left) {
        la::Eig e = released([&] { return eig(a, left); });
        return nb::make_tuple(wrap(std::move(e.values)), wrap(std::move(e.vectors)),
                              left ? wrap(std::move(e.left)) : nb::none());
      },
      "a"_a, "left"_a,
      nb::sig("def _eig(a: AnyMatrix, left: bool) -> tuple[Array, Array, Array | None]"));
  m.def(
      "_eigvals", [](AnyMatrix& a) { return wrap(released([&] { return eigvals(a); })); }, "a"_a,
      nb::sig("def _eigvals(a: AnyMatrix) -> Array"));
  bind_one(m, "_as_working", "Array",
           [](const AnyMatrix& a) { return a.array(la::working_dtype(a.dtype())); });
}

void bind_singular(nb::module_& m) {
  m.def(
      "_svd_of",
      [](const AnyMatrix& a, bool full_matrices) {
        la::Svd f = released([&] { return svd(a, full_matrices); });
        return nb::make_tuple(wrap(std::move(f.u)), wrap(std::move(f.s)), wrap(std::move(f.vh)));
      },
      "a"_a, "full_matrices"_a,
      nb::sig("def _svd_of(a: AnyMatrix, full_matrices: bool) -> tuple[Array, Array, Array]"));
  bind_one(m, "_svdvals", "Array", [](const AnyMatrix& a) { return svdvals(a); });
  m.def(
      "_pinv",
      [](const AnyMatrix& a, nb::handle rtol) {
        const double tolerance = tolerance_from(rtol, "pinv");
        return wrap(released([&] { return pinv(a, tolerance); }));
      },
      "a"_a, "rtol"_a.none(), nb::sig("def _pinv(a: AnyMatrix, rtol: float | None) -> AnyMatrix"));
  m.def(
      "_matrix_rank",
      [](const AnyMatrix& a, nb::handle rtol) {
        const double tolerance = tolerance_from(rtol, "matrix_rank");
        return wrap(released([&] { return matrix_rank(a, tolerance); }));
      },
      "a"_a, "rtol"_a.none(),
      nb::sig("def _matrix_rank(a: AnyMatrix, rtol: float | None) -> Array"));
  m.def(
      "_norm",
      [](const AnyMatrix& a, nb::handle ord, nb::handle axis, bool keepdims) {
        const la::NormOrder order = order_from(ord);
        if (axis.is_none() && !keepdims) return wrap(released([&] { return norm(a, order); }));
        const std::optional<Shape> axes = shape_or_none(axis);
        return wrap(released([&] { return la::norm(a.array(), order, axes, keepdims); }));
      },
      "x"_a, "ord"_a.none(), "axis"_a.none(), "keepdims"_a,
      nb::sig("def _norm(x: AnyMatrix, ord: float | str | None, axis: ShapeLike | None, "
              "keepdims: bool) -> Array"));
  m.def(
      "_cond",
      [](const AnyMatrix& a, nb::handle p) {
        const la::NormOrder order = order_from(p);
        return wrap(released([&] { return cond(a, order); }));
      },
      "a"_a, "p"_a.none(), nb::sig("def _cond(a: AnyMatrix, p: float | str | None) -> Array"));
}

}  // namespace

void bind_matrix_solving(nb::module_& m) {
  bind_systems(m);
  bind_factors(m);
  bind_eigen(m);
  bind_singular(m);
  m.def(
      "_compute_k",
      [](const AnyMatrix& c, double a) { return wrap(released([&] { return compute_k(c, a); })); },
      "c"_a, "a"_a, nb::sig("def _compute_k(c: AnyMatrix, a: float) -> AnyMatrix"));
}

}  // namespace tessera::python
