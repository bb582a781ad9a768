// SPDX-License-Identifier: Apache-2.0
// QR, eigenvalues, singular values, and what follows from them.
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/kernels/linalg/stack.hpp"

namespace tessera::linalg {
namespace {

constexpr const char* not_converged = "Eigenvalues did not converge";

Array identities(const Shape& lead, i64 m, i64 n, DType t, Device device) {
  return eye(m, n, 0, t, device).broadcast_to(with(lead, {m, n})).copy();
}

double precision_of(DType t) {
  return real_of(t) == DType::f32 ? static_cast<double>(std::numeric_limits<float>::epsilon())
                                  : std::numeric_limits<double>::epsilon();
}

bool all_true(const Array& x) { return reduce(ReduceOp::all, x).item().as<bool>(); }

bool on_host(const Array& a) { return &kernels_of(a.device()) == &cpu_kernels(); }

// LAPACK notices numbers that are not finite; others may iterate on them forever.
void require_finite_off_host(std::string_view who, const Array& a, const char* reason) {
  if (on_host(a)) return;
  require<LinAlgError>(all_true(ops::isfinite(a)), who, ": ", reason);
}

Eigh eigh_with(std::string_view who, const Array& a, bool lower, bool vectors) {
  const TagScope scope = tagged(who, a);
  require_square(who, a);
  const DType t = working_dtype(a.dtype());
  const i64 n = rows(a);
  // A real symmetric matrix is its own transpose, with the triangles exchanged.
  const bool straight = !is_complex(t);
  const Array m = straight ? rows_of(a, t) : columns_of(a, t);
  const Array values = room(with(leading(a), {n}), real_of(t), a);
  if (a.size() == 0) return {values, m};
  require_finite_off_host(who, a, not_converged);
  const Array info = room(leading(a), DType::i64, a);
  DenseSpec spec = spec_of(DenseOp::eigh, a, t);
  spec.lower = straight ? !lower : lower;
  spec.vectors = vectors;
  factor(spec, a.device(), {&m, &values, &info});
  require_done(who, info, not_converged);
  return {values, vectors ? turned(m).contiguous() : Array{}};
}

// 1: a = aᴴ, -1: a = -aᴴ, 0: neither; exactly, all matrices of the stack.
int symmetry_of(const Array& a) {
  if (a.size() == 0) return 0;
  const Array h = adjoint(a);
  if (all_true(ops::equal(a, h))) return 1;
  return all_true(ops::equal(a, ops::negative(h))) ? -1 : 0;
}

struct EigWants {
  bool right = false, left = false;
};

// i a is Hermitian; its values w are those of a times i: a v = -i w v.
Eig eig_skew(std::string_view who, const Array& a, DType t, EigWants want) {
  const DType c = complex_of(t);
  const Eigh e = eigh_with(who, ops::multiply(a.astype(c), Value(c128(0, 1))), true, want.right);
  Eig out;
  out.values = ops::multiply(e.values.astype(c), Value(c128(0, -1)));
  out.values.real().fill(Value(0));  // and no -0
  out.vectors = e.vectors;
  if (want.left) out.left = e.vectors;
  return out;
}

Eig eig_general(std::string_view who, const Array& a, DType t, EigWants want) {
  const i64 n = rows(a);
  const DType c = complex_of(t);
  const Array m = columns_of(a, t), values = room(with(leading(a), {n}), c, a),
              info = room(leading(a), DType::i64, a);
  const Array right = want.right ? room(a.shape(), c, a) : info,
              left = want.left ? room(a.shape(), c, a) : info;
  DenseSpec spec = spec_of(DenseOp::eig, a, t);
  spec.vectors = want.right;
  spec.left = want.left;
  if (a.size() > 0) {
    factor(spec, a.device(), {&m, &values, &left, &right, &info});
    require_done(who, info, not_converged);
  }
  Eig out;
  out.values = values;
  if (want.right) out.vectors = turned(right).contiguous();
  if (want.left) out.left = turned(left).contiguous();
  return out;
}

Eig eig_with(std::string_view who, const Array& a, EigWants want) {
  const TagScope scope = tagged(who, a);
  require_square(who, a);
  const DType t = working_dtype(a.dtype());
  const Array x = a.astype(t);
  require<LinAlgError>(x.size() == 0 || all_true(ops::isfinite(x)), who,
                       ": Array must not contain infs or NaNs");
  const int symmetry = symmetry_of(x);
  if (symmetry < 0 && !is_complex(t) && !want.right && !want.left) return {eigvals_skew(x), {}, {}};
  if (symmetry < 0) return eig_skew(who, x, t, want);
  if (symmetry == 0) return eig_general(who, x, t, want);
  const Eigh e = eigh_with(who, x, true, want.right || want.left);
  const DType c = complex_of(t);
  const Array vectors = e.vectors ? e.vectors.astype(c) : Array{};
  return {e.values.astype(c), vectors, want.left ? vectors : Array{}};
}

Svd svd_with(std::string_view who, const Array& a, bool full, bool vectors) {
  const TagScope scope = tagged(who, a);
  require_matrices(who, a);
  const DType t = working_dtype(a.dtype());
  const Shape lead = leading(a);
  const i64 m = rows(a), n = columns(a), k = std::min(m, n), mu = full ? m : k, nv = full ? n : k;
  const Array s = room(with(lead, {k}), real_of(t), a);
  if (a.size() == 0) {
    if (!vectors) return {{}, s, {}};
    return {identities(lead, m, mu, t, a.device()), s, identities(lead, nv, n, t, a.device())};
  }
  // Some LAPACKs notice, others give zeros or NaN.
  require<LinAlgError>(all_true(ops::isfinite(a)), who,
                       ": SVD did not converge: the matrix has elements that are not finite");
  const Array x = rows_of(a, t), info = room(lead, DType::i64, a);
  const Array u = vectors ? room(with(lead, {m, mu}), t, a) : info,
              vh = vectors ? room(with(lead, {nv, n}), t, a) : info;
  DenseSpec spec = spec_of(DenseOp::svd, a, t);
  std::swap(spec.m, spec.n);  // Note [transposes]: u and vh change places
  spec.full = full;
  spec.vectors = vectors;
  factor(spec, a.device(), {&x, &vh, &s, &u, &info});
  require_done(who, info, "SVD did not converge");
  return {vectors ? u : Array{}, s, vectors ? vh : Array{}};
}

// 1 / s where s counts, 0 elsewhere; s has the precision of its matrices.
struct Inverted {
  Array values, rank;
};
Inverted inverted(const Array& s, double rtol, i64 m, i64 n) {
  const double relative =
      rtol < 0 ? precision_of(s.dtype()) * static_cast<double>(std::max(m, n)) : rtol;
  const i64 last = s.ndim() - 1;
  if (s.size() == 0) return {s, reduce(ReduceOp::count_nonzero, s, Axes{last})};
  const Array most = reduce(ReduceOp::max, s, Axes{last}, true);
  const Array counts = ops::greater(s, ops::multiply(most, relative));
  // A value that does not count is not divided by.
  const Array safe = ops::where(counts, s, 1.0);
  return {ops::where(counts, ops::reciprocal(safe), 0.0),
          reduce(ReduceOp::count_nonzero, counts, Axes{last})};
}

// V (1/s) (Uᴴ b): the shortest solution of least squares.
Array shortest(const Svd& f, const Array& inverse, const Array& b) {
  const Array y = matmul(adjoint(f.u), b);
  return matmul(adjoint(f.vh),
                ops::multiply(y, inverse.expand_dims(inverse.ndim()).astype(f.u.dtype())));
}

// Powers of two by which columns (pivoted: whole matrices) are multiplied whose squares, as some
// libraries form them, would leave the range; nothing where none would.
Array into_range(const Array& a, DType t, bool pivoted) {
  const bool is_short = real_of(t) == DType::f32;
  const double small = is_short ? 0x1p-50 : 0x1p-400, large = 1 / small;
  const Array sizes = ops::absolute(a);
  const i64 rows_axis = a.ndim() - 2;
  const Axes axes = pivoted ? Axes{rows_axis, rows_axis + 1} : Axes{rows_axis};
  const Array top = reduce(ReduceOp::max, sizes, axes, true);
  const Array low = ops::logical_and(ops::less(top, small), ops::greater(top, 0.0)),
              high = ops::greater(top, large);
  if (!reduce(ReduceOp::any, ops::logical_or(low, high)).item().as<bool>()) return {};
  const Array one = ones({}, real_of(t), a.device());
  return ops::where(low, ops::multiply(one, is_short ? 0x1p90 : 0x1p600),
                    ops::where(high, ops::multiply(one, is_short ? 0x1p-66 : 0x1p-600), one));
}

}  // namespace

Qr qr(const Array& a, QrMode mode, bool pivoted) {
  const TagScope scope = tagged("qr", a);
  require_matrices("qr", a);
  const DType t = working_dtype(a.dtype());
  const Shape lead = leading(a);
  const i64 m = rows(a), n = columns(a), rank = mode == QrMode::complete ? m : std::min(m, n);
  Qr out;
  if (pivoted) {
    out.order = room(with(lead, {n}), DType::i64, a);
    out.order.copy_from(arange(Value(0), Value(n), Value(1), DType::i64, a.device()));
  }
  if (a.size() == 0) {
    if (mode != QrMode::r) out.q = identities(lead, m, rank, t, a.device());
    out.r = zeros(with(lead, {rank, n}), t, a.device());
    return out;
  }
  const Array factors = into_range(a, t, pivoted);
  const Array work = columns_of(factors ? ops::multiply(a.astype(t), factors) : a, t),
              info = room(lead, DType::i64, a),
              q = mode == QrMode::r ? info : room(with(lead, {rank, m}), t, a),
              r = room(with(lead, {n, rank}), t, a);
  DenseSpec spec = spec_of(DenseOp::qr, a, t);
  spec.full = mode == QrMode::complete;
  spec.vectors = mode != QrMode::r;
  spec.pivoted = pivoted;
  factor(spec, a.device(), {&work, &q, &r, pivoted ? &out.order : &info, &info});
  require_done("qr", info, "failed");
  if (spec.vectors) out.q = turned(q).contiguous();
  out.r = turned(r).contiguous();
  if (factors) out.r = ops::divide(out.r, factors);
  return out;
}

Eigh eigh(const Array& a, bool lower) { return eigh_with("eigh", a, lower, true); }
Array eigvalsh(const Array& a, bool lower) { return eigh_with("eigvalsh", a, lower, false).values; }

Array eigvals_skew(const Array& a) {
  require_square("eigvals", a);
  if (!on_host(a)) {  // cuSOLVER finds singular values slowly, those of Hermitian matrices quickly
    const DType t = working_dtype(a.dtype());
    const Array values = eig_skew("eigvals", a.astype(t), t, {}).values, w = values.imag().copy();
    values.imag().copy_from(ops::multiply(ops::subtract(w, flip(w, {w.ndim() - 1})), 0.5));
    return values;
  }
  const Array s = svd_with("eigvals", a, false, false).s;
  const i64 last = s.ndim() - 1, n = s.shape(last), pairs = n / 2;
  const auto every_other = [&](i64 first) {
    Layout l = s.layout();
    l.offset += n > 1 ? first * l.strides[static_cast<std::size_t>(last)] : 0;
    l.strides[static_cast<std::size_t>(last)] *= 2;
    l.shape[static_cast<std::size_t>(last)] = pairs;
    return s.view(l);
  };
  const Array values = zeros(s.shape(), complex_of(s.dtype()), a.device());
  if (pairs == 0) return values;
  const Array sizes = ops::multiply(ops::add(every_other(0), every_other(1)), 0.5);
  values.imag().slice(last, 0, pairs).copy_from(sizes);
  values.imag().slice(last, n - pairs, n).copy_from(flip(ops::negative(sizes), {last}));
  return values;
}

Eig eig(const Array& a, bool left) { return eig_with("eig", a, {true, left}); }
Array eigvals(const Array& a) { return eig_with("eigvals", a, {}).values; }

Svd svd(const Array& a, bool full_matrices) { return svd_with("svd", a, full_matrices, true); }
Array svdvals(const Array& a) { return svd_with("svdvals", a, false, false).s; }

Array pinv(const Array& a, double rtol) {
  const TagScope scope = tagged("pinv", a);
  const Svd f = svd_with("pinv", a, false, true);
  const Array one_over = inverted(f.s, rtol, rows(a), columns(a)).values;
  return matmul(
      adjoint(f.vh),
      ops::multiply(one_over.expand_dims(one_over.ndim()).astype(f.u.dtype()), adjoint(f.u)));
}

Array matrix_rank(const Array& a, double rtol) {
  const TagScope scope = tagged("matrix_rank", a);
  if (a.ndim() < 2) {  // as NumPy: a vector has rank 1 unless it is zero
    const Array any = reduce(ReduceOp::any, ops::not_equal(a, 0.0));
    return any.astype(DType::i64);
  }
  return inverted(svd_with("matrix_rank", a, false, false).s, rtol, rows(a), columns(a)).rank;
}

Lstsq lstsq(const Array& a, const Array& b, double rcond) {
  const TagScope scope = tagged("lstsq", a);
  require_matrices("lstsq", a);
  const bool vector = b.ndim() == 1;
  const Array right = vector ? b.expand_dims(1) : b;
  require<ShapeError>(right.ndim() >= 2 && rows(right) == rows(a), "lstsq: a matrix of shape ",
                      a.shape(), " and right sides of shape ", b.shape(), " do not fit");
  const Array* both[] = {&a, &b};
  common_device("lstsq", both);
  const i64 m = rows(a), n = columns(a);
  const DType t = promote(working_dtype(a.dtype()), working_dtype(b.dtype()));
  const Array y = right.astype(t), matrix = a.astype(t);
  // Singular values and sums near the ends of the range would leave it.
  const Array by = matrix.size() == 0 ? Array{} : into_range(matrix, t, true),
              by_right = y.size() == 0 ? Array{} : into_range(y, t, true);
  const Array scaled = by ? ops::multiply(matrix, by) : matrix,
              wanted = by_right ? ops::multiply(y, by_right) : y;
  const Svd f = svd_with("lstsq", scaled, false, true);
  const Inverted inverse = inverted(f.s, rcond, m, n);
  const Array found = shortest(f, inverse.values, wanted);
  Array x = by ? ops::multiply(found, by) : found;
  if (by_right) x = ops::divide(x, by_right);
  Lstsq out;
  out.rank = inverse.rank.size() == 0 ? 0 : reduce(ReduceOp::min, inverse.rank).item().as<i64>();
  out.s = by ? ops::divide(f.s, by.squeeze(by.ndim() - 1)) : f.s;
  out.x = vector ? x.squeeze(x.ndim() - 1) : x;
  if (m > n && out.rank == n) {
    Array rest = ops::subtract(wanted, matmul(scaled, found));
    if (by_right) rest = ops::divide(rest, by_right);
    out.residuals = reduce(ReduceOp::sum_abs2, rest, Axes{rest.ndim() - 2});
  } else {
    out.residuals = zeros({0}, real_of(t), a.device());
  }
  return out;
}

}  // namespace tessera::linalg
