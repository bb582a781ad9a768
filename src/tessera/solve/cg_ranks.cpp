// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/cg_ranks.hpp"

#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera {
namespace {

// Vectors as the right side lies, and the sums over them that every rank agrees on.
class Vectors {
 public:
  explicit Vectors(const DNDarray& b) : spread_(b.spread()), comm_(b.comm()) {}

  DNDarray laid(const DNDarray& v) const { return v.spread_as(spread_); }

  // Re <a, b>. Replicated vectors have it whole: rank 0 says it, so that no rank ends before the
  // others.
  double dot(const Array& a, const Array& b) const {
    double sum = a.size() == 0 ? 0 : vdot(a, b).item().as<c128>().re;
    if (comm_.alone()) return sum;
    if (spread_.split)
      comm_.allreduce(&sum, 1, DType::f64, Combine::sum);
    else
      comm_.broadcast(&sum, sizeof sum, 0);
    return sum;
  }

  bool all(bool mine) const {
    i64 yes = mine ? 1 : 0;
    comm_.allreduce(&yes, 1, DType::i64, Combine::min);
    return yes == 1;
  }

 private:
  Spread spread_;
  Communicator comm_;
};

// y = f x + z, where y may be either.
void multiply_add(const Array& x, double f, const Array& z, const Array& y) {
  elementwise(ElementOp::multiply_add, std::array<ArrayOrValue, 3>{x, Value(f), z}, y);
}

DNDarray right_side(const NamedLinop& A, const DNDarray& b) {
  require<ShapeError>(A.output_shape(b.shape()) == b.shape(), "cg: ", A, " maps shape ", b.shape(),
                      " to ", A.output_shape(b.shape()), ", expected the same");
  const DType t = A.output_dtype(is_inexact(b.dtype()) ? b.dtype() : DType::f64);
  require<DTypeError>(A.output_dtype(t) == t, "cg: ", A, " on ", t, " gives ", A.output_dtype(t));
  return b.astype(t);
}

}  // namespace

RanksResult cg(const NamedLinop& A, const DNDarray& given, const RanksOptions& options) {
  require<ArgumentError>(options.rtol >= 0 && options.atol >= 0 && options.maxiter >= 0,
                         "cg: rtol ", options.rtol, ", atol ", options.atol, ", maxiter ",
                         options.maxiter, "; none may be negative");
  const DNDarray b = right_side(A, given);
  const Vectors v(b);
  auto apply = [&](const DNDarray& x) {
    return v.laid(dist::apply(A, x, {.along = options.along})).local();
  };
  auto vector = [&](const Array& mine) { return DNDarray(mine, b.shape(), b.spread(), b.comm()); };

  RanksResult result;
  const Array& right = b.local();
  const Array x = zeros(right.shape(), right.dtype(), right.device());
  Array r = right.copy();
  if (options.x0) {
    require_same_group("cg", b, options.x0);
    require<ShapeError>(options.x0.shape() == b.shape(), "cg: x0 has shape ", options.x0.shape(),
                        ", expected ", b.shape());
    x.copy_from(v.laid(options.x0).local());
    r = ops::subtract(right, apply(vector(x)));
  }
  const Array p = r.copy();
  double rr = v.dot(r, r);
  const double norm_b = std::sqrt(v.dot(right, right)), scale = norm_b > 0 ? norm_b : 1,
               target = std::max(options.rtol * norm_b, options.atol);
  result.history.push_back(std::sqrt(rr) / scale);
  result.converged = std::sqrt(rr) <= target;
  result.reason = result.converged ? "converged" : "maxiter";
  while (!result.converged && result.iterations < options.maxiter) {
    const Array Ap = apply(vector(p));
    const double curvature = v.dot(p, Ap);
    if (!(curvature > 0 && std::isfinite(curvature))) {
      result.reason = cat("breakdown: <p, A p> = ", curvature,
                          " is not positive; A is not positive definite here");
      break;
    }
    const double alpha = rr / curvature;
    multiply_add(p, alpha, x, x);
    multiply_add(Ap, -alpha, r, r);
    const double fresh = v.dot(r, r);
    multiply_add(p, fresh / rr, r, p);
    rr = fresh;
    ++result.iterations;
    result.history.push_back(std::sqrt(rr) / scale);
    result.converged = std::sqrt(rr) <= target;
    if (result.converged) result.reason = "converged";
    if (options.callback && !v.all(options.callback(result.iterations, result.history.back()))) {
      result.reason = "stopped by the callback";
      break;
    }
  }
  result.x = vector(x);
  return result;
}

}  // namespace tessera
