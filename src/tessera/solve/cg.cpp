// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/cg.hpp"

#include <fmt/format.h>

#include <cmath>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/solve/progress.hpp"

namespace tessera {
namespace {

double squared_norm(const Array& v) { return reduce(ReduceOp::sum_abs2, v).item().as<double>(); }
double real_dot(const Array& a, const Array& b) { return vdot(a, b).item().as<c128>().re; }

// y += c x and y = x + c y, in one pass each.
void add_scaled(double c, const Array& x, const Array& y) {
  elementwise(ElementOp::multiply_add, std::array<ArrayOrValue, 3>{x, Value(c), y}, y);
}
void scale_and_add(double c, const Array& y, const Array& x) {
  elementwise(ElementOp::multiply_add, std::array<ArrayOrValue, 3>{y, Value(c), x}, y);
}

}  // namespace

SolveResult cg(const NamedLinop& A, const Array& b, const SolveOptions& options) {
  const Shape out = A.output_shape(b.shape());
  require<ShapeError>(out == b.shape(), "cg: ", A, " maps shape ", b.shape(), " to ", out,
                      "; it must map b's shape to itself");
  require<DTypeError>(is_inexact(b.dtype()) && A.output_dtype(b.dtype()) == b.dtype(), "cg: ", A,
                      " maps ", name(b.dtype()), " to ", name(A.output_dtype(b.dtype())),
                      "; convert b with astype() first");
  require<ArgumentError>(options.maxiter >= 0 && options.rtol >= 0 && options.atol >= 0,
                         "cg: maxiter ", options.maxiter, ", rtol ", options.rtol, " and atol ",
                         options.atol, " must not be negative");
  SolveResult result;
  Array x =
      options.x0 ? options.x0.astype(b.dtype()).copy() : zeros(b.shape(), b.dtype(), b.device());
  Array r = b.copy();
  const Array Ap = Array::empty(b.shape(), b.dtype(), b.device());
  if (options.x0) {
    A(x, Ap);
    add_scaled(-1, Ap, r);
  }
  const Array p = r.copy();
  const double b_norm = std::sqrt(squared_norm(b));
  const double scale = b_norm > 0 ? b_norm : 1,
               target = std::max(options.rtol * b_norm, options.atol);
  double rr = squared_norm(r);
  result.history.push_back(std::sqrt(rr) / scale);
  Progress bar("cg", options.maxiter, options.progress);
  result.reason = "maxiter";
  for (i64 k = 1; k <= options.maxiter; ++k) {
    if (std::sqrt(rr) <= target) break;
    A(p, Ap);
    const double curvature = real_dot(p, Ap);
    if (!(curvature > 0)) {  // also catches NaN
      result.reason = fmt::format(
          "breakdown: <p, A p> = {:.3g} is not positive; A is not positive definite here",
          curvature);
      break;
    }
    const double alpha = rr / curvature;
    add_scaled(alpha, p, x);
    add_scaled(-alpha, Ap, r);
    const double fresh = squared_norm(r);
    scale_and_add(fresh / rr, p, r);
    rr = fresh;
    result.iterations = k;
    result.history.push_back(std::sqrt(rr) / scale);
    bar.update(k, fmt::format("residual {:.2e}", result.history.back()));
    if (options.callback && !options.callback({k, result.history.back()})) {
      result.reason = "stopped by the callback";
      break;
    }
  }
  result.converged = std::sqrt(rr) <= target;
  if (result.converged) result.reason = "residual below tolerance";
  result.x = x;
  return result;
}

}  // namespace tessera
