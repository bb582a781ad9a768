// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/stored/stored_cg.hpp"

#include <cmath>

#include "tessera/solve/stored/vector_sweep.hpp"
#include "tessera/streaming/operators/fitted_on_disk.hpp"

namespace tessera {
namespace {

using solve_stored::plan_sweep;
using solve_stored::sweep_work;
using streaming::StoredArray;
using streaming::StorePtr;
using streaming::StreamPlan;

// What A applied to b's dtype settles at: complex where A is.
DType dtype_of_vectors(const NamedLinop& a, DType b) {
  DType t = is_inexact(b) ? b : DType::f64;
  for (DType next = promote(t, a.output_dtype(t)); next != t; next = promote(t, a.output_dtype(t)))
    t = next;
  return t;
}

class StoredCg {
 public:
  StoredCg(const NamedLinop& a, const StoredArray& b, const StoredSolveOptions& o)
      : options_(o), dtype_(dtype_of_vectors(a, b.dtype())), shape_(b.shape()) {
    require<ShapeError>(a.output_shape(shape_) == shape_, "cg: ", a, " maps an array of shape ",
                        shape_, " to ", a.output_shape(shape_),
                        "; expected a square operator, for example A.N");
    require<ArgumentError>(o.rtol >= 0 && o.atol >= 0 && o.maxiter >= 0,
                           "cg: rtol, atol and maxiter are not negative, got ", o.rtol, ", ",
                           o.atol, ", ", o.maxiter);
    require<ShapeError>(!o.x0 || o.x0->shape() == shape_, "cg: x0 has shape ",
                        o.x0 ? o.x0->shape() : shape_, ", b has ", shape_);
    for (StorePtr* v : {&x_, &p_, &Ap_}) *v = StoredArray::zeros(shape_, dtype_).store();
    r_ = copy_of(b);
    applied_.emplace(application(a, p_, Ap_));
    z_ = r_;
    if (o.preconditioner) {
      z_ = StoredArray::zeros(shape_, dtype_).store();
      preconditioned_.emplace(application(*o.preconditioner, r_, z_));
    }
    make_passes();
  }

  StoredSolveResult run() {
    norms();
    const double b_norm = std::sqrt(rr_), scale = b_norm > 0 ? b_norm : 1,
                 target = std::max(options_.rtol * b_norm, options_.atol);
    StoredSolveResult result{StoredArray(x_), 0, false, "", {}};
    if (options_.x0) start_at(*options_.x0);
    begin();
    result.history.push_back(std::sqrt(rr_) / scale);
    while (true) {
      result.converged = std::sqrt(rr_) <= target;
      if (result.converged || result.iterations == options_.maxiter) break;
      applied_->run();
      curvature_ = 0;
      dot_->run();
      if (!(curvature_ > 0) || !std::isfinite(curvature_)) {
        result.reason = cat("breakdown: <p, A p> = ", curvature_,
                            " is not positive; A is not positive definite here");
        return result;
      }
      alpha_ = rz_ / curvature_;
      const double before = rz_;
      rr_ = 0;
      update_->run();
      precondition();
      ++result.iterations;
      result.history.push_back(std::sqrt(rr_) / scale);
      beta_ = rz_ / before;
      turn_->run();
    }
    result.reason = result.converged ? "residual below tolerance" : "maxiter";
    return result;
  }

 private:
  StorePtr copy_of(const StoredArray& v) const {
    const StorePtr copy = StoredArray::zeros(shape_, dtype_).store();
    streaming::assign(v.expression().as(dtype_), copy, {.budget = streaming::stream_budget()});
    return copy;
  }

  // Of the dtype that the vectors have, whatever a run gives.
  StreamPlan application(const NamedLinop& a, const StorePtr& from, const StorePtr& to) const {
    require<DTypeError>(a.output_dtype(dtype_) == dtype_, "cg: ", a, " maps ", name(dtype_), " to ",
                        name(a.output_dtype(dtype_)), "; vectors on disk keep their dtype");
    const streaming::WithBudgets what = streaming::with_budgets(a);
    return streaming::plan_apply(what.a, from, to, what.options);
  }

  void make_passes() {
    dot_.emplace(plan_sweep("cg: <p, A p>", {{p_}, {Ap_}}, sweep_work([this](const auto& s) {
                              for (i64 i = 0; i < s.count; ++i)
                                curvature_ += double{s.vectors[0][i]} * double{s.vectors[1][i]};
                            })));
    update_.emplace(plan_sweep("cg: x += a p, r -= a A p", {{x_, true}, {p_}, {r_, true}, {Ap_}},
                               sweep_work([this](const auto& s) {
                                 auto [x, p, r, Ap] = std::tuple(s.vectors[0], s.vectors[1],
                                                                 s.vectors[2], s.vectors[3]);
                                 using T = std::remove_reference_t<decltype(*x)>;
                                 const T alpha = static_cast<T>(alpha_);
                                 for (i64 i = 0; i < s.count; ++i) {
                                   x[i] += alpha * p[i];
                                   r[i] -= alpha * Ap[i];
                                   rr_ += double{r[i]} * double{r[i]};
                                 }
                               })));
    turn_.emplace(
        plan_sweep("cg: p = z + b p", {{p_, true}, {z_}}, sweep_work([this](const auto& s) {
                     using T = std::remove_reference_t<decltype(*s.vectors[0])>;
                     const T beta = static_cast<T>(beta_);
                     for (i64 i = 0; i < s.count; ++i)
                       s.vectors[0][i] = s.vectors[1][i] + beta * s.vectors[0][i];
                   })));
    norms_.emplace(plan_sweep("cg: |r|^2", {{r_}}, sweep_work([this](const auto& s) {
                                for (i64 i = 0; i < s.count; ++i)
                                  rr_ += double{s.vectors[0][i]} * double{s.vectors[0][i]};
                              })));
    if (z_ == r_) return;
    product_.emplace(plan_sweep("cg: <r, z>", {{r_}, {z_}}, sweep_work([this](const auto& s) {
                                  for (i64 i = 0; i < s.count; ++i)
                                    rz_ += double{s.vectors[0][i]} * double{s.vectors[1][i]};
                                })));
  }

  void norms() {
    rr_ = 0;
    norms_->run();
  }
  void precondition() {
    rz_ = rr_;
    if (!preconditioned_) return;
    preconditioned_->run();
    rz_ = 0;
    product_->run();
  }
  // x = x0 and r = b - A x0, with p in between.
  void start_at(const StoredArray& x0) {
    const auto budget = streaming::Options{.budget = streaming::stream_budget()};
    for (const StorePtr& to : {x_, p_}) streaming::assign(x0.expression().as(dtype_), to, budget);
    applied_->run();
    alpha_ = 1;
    plan_sweep("cg: r = b - A x0", {{r_, true}, {Ap_}}, sweep_work([](const auto& s) {
                 for (i64 i = 0; i < s.count; ++i) s.vectors[0][i] -= s.vectors[1][i];
               }))
        .run();
    norms();
  }
  // The first direction.
  void begin() {
    precondition();
    beta_ = 0;
    turn_->run();
  }

  const StoredSolveOptions& options_;
  DType dtype_;
  Shape shape_;
  StorePtr x_, r_, p_, Ap_, z_;
  std::optional<StreamPlan> applied_, preconditioned_, dot_, update_, turn_, norms_, product_;
  double rr_ = 0, rz_ = 0, curvature_ = 0, alpha_ = 0, beta_ = 0;
};

}  // namespace

StoredSolveResult stored_cg(const NamedLinop& A, const StoredArray& b,
                            const StoredSolveOptions& options) {
  return StoredCg(A, b, options).run();
}

}  // namespace tessera
