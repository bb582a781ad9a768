// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/prox.hpp"

#include <algorithm>

#include "tessera/plan/plan.hpp"
#include "tessera/solve/vectors.hpp"

namespace tessera {
namespace {

double tiny_of(DType t) { return real_of(t) == DType::f32 ? 1e-37 : 1e-300; }

// to = max(size - t, 0) / size, 0 where size is 0; `size` is spent.
void shrink_factor(Recorder& r, const View& size, double t, const View& to) {
  const DType real = size.dtype;
  const vec::Factor less[] = {size, t};
  vec::apply(r, ElementOp::subtract, real, less, to);
  const vec::Factor cut[] = {to, 0.0};
  vec::apply(r, ElementOp::maximum, real, cut, to);
  const vec::Factor guarded[] = {size, tiny_of(real)};
  vec::apply(r, ElementOp::maximum, real, guarded, size);
  const vec::Factor ratio[] = {to, size};
  vec::apply(r, ElementOp::divide, real, ratio, to);
}

void multiply(Recorder& r, const Array& x, const View& factor, const Array& y) {
  const vec::Factor in[] = {vec::whole(r, x), factor};
  vec::apply(r, ElementOp::multiply, x.dtype(), in, vec::whole(r, y));
}

// Shrinks the vectors along `axes` by lam t in length.
void shrink_groups(Recorder& r, const Array& x, double t, const Axes& axes, const Array& y) {
  Shape one = x.shape();
  for (i64 a : axes) one[normalize_axis(a, x.ndim(), "prox.group")] = 1;
  const DType real = real_of(x.dtype());
  const View size = r.temporary(one, real, x.device()), f = r.temporary(one, real, x.device());
  vec::reduce(r, ReduceOp::sum_abs2, vec::whole(r, x), size);
  const vec::Factor squares[] = {size};
  vec::apply(r, ElementOp::sqrt, real, squares, size);
  shrink_factor(r, size, t, f);
  multiply(r, x, f, y);
}

}  // namespace

namespace prox {

Prox none() {
  return {.name = "none", .record = [](Recorder& r, const Array& x, double, const Array& y) {
            if (x.data() != y.data()) vec::copy(r, x, y);
          }};
}

Prox l1(double lam) {
  require<ArgumentError>(lam >= 0, "prox.l1: lam ", lam, " must not be negative");
  return {.name = cat("l1(", lam, ")"),
          .record = [lam](Recorder& r, const Array& x, double t, const Array& y) {
            const DType real = real_of(x.dtype());
            const View size = r.temporary(x.shape(), real, x.device()),
                       f = r.temporary(x.shape(), real, x.device());
            const vec::Factor in[] = {vec::whole(r, x)};
            vec::apply(r, ElementOp::absolute, x.dtype(), in, size);
            shrink_factor(r, size, lam * t, f);
            multiply(r, x, f, y);
          }};
}

Prox l2(double lam) {
  require<ArgumentError>(lam >= 0, "prox.l2: lam ", lam, " must not be negative");
  return {.name = cat("l2(", lam, ")"),
          .record = [lam](Recorder& r, const Array& x, double t, const Array& y) {
            Axes all;
            for (i64 a = 0; a < x.ndim(); ++a) all.push_back(a);
            shrink_groups(r, x, lam * t, all, y);
          }};
}

Prox l2_squared(double lam, const Array& center) {
  require<ArgumentError>(lam >= 0, "prox.l2_squared: lam ", lam, " must not be negative");
  return {.name = cat("l2_squared(", lam, center ? ", center" : "", ")"),
          .record = [lam, center](Recorder& r, const Array& x, double t, const Array& y) {
            vec::scale(r, 1 / (1 + lam * t), x, y);
            if (center)
              vec::add_scaled(r,
                              vec::copy_of("prox.l2_squared", "center", center, x.shape(),
                                           x.dtype(), x.device()),
                              lam * t / (1 + lam * t), y);
          }};
}

Prox nonneg() {
  return {.name = "nonneg", .record = [](Recorder& r, const Array& x, double, const Array& y) {
            const vec::Factor in[] = {r.constant(x.real()), 0.0}, zero[] = {0.0};
            const DType real = real_of(x.dtype());
            vec::apply(r, ElementOp::maximum, real, in, r.constant(y.real()));
            if (is_complex(y.dtype()))
              vec::apply(r, ElementOp::copy, real, zero, r.constant(y.imag()));
          }};
}

Prox box(double low, double high) {
  require<ArgumentError>(low <= high, "prox.box: low ", low, " is above high ", high);
  return {.name = cat("box(", low, ", ", high, ")"),
          .record = [=](Recorder& r, const Array& x, double, const Array& y) {
            require<DTypeError>(!is_complex(x.dtype()), "prox.box: complex numbers have no order");
            const vec::Factor above[] = {vec::whole(r, x), low}, below[] = {vec::whole(r, y), high};
            vec::apply(r, ElementOp::maximum, x.dtype(), above, vec::whole(r, y));
            vec::apply(r, ElementOp::minimum, x.dtype(), below, vec::whole(r, y));
          }};
}

Prox group(double lam, const Axes& axes) {
  require<ArgumentError>(lam >= 0, "prox.group: lam ", lam, " must not be negative");
  return {.name = cat("group(", lam, ", ", axes, ")"),
          .record = [=](Recorder& r, const Array& x, double t, const Array& y) {
            shrink_groups(r, x, lam * t, axes, y);
          }};
}

Prox function(std::string name, std::function<Array(const Array&, double)> call) {
  return {.name = std::move(name), .record = {}, .call = std::move(call)};
}

}  // namespace prox

Array apply_prox(const Prox& p, const Array& x, double t) {
  if (!p.record) return p.call(x, t);
  const DType dtype = is_inexact(x.dtype()) ? x.dtype() : DType::f64;
  const Array in = vec::copy_of("prox", "x", x, x.shape(), dtype, x.device());
  const Array y = vec::zeros(x.shape(), dtype, x.device());
  Recorder r;
  p.record(r, in, t, y);
  Run run = Plan(std::move(r), p.name).instance(Stream::home(x.device()));
  run(std::span<const Array>{}, std::span<const Array>{});
  run.sync();
  return y;
}

}  // namespace tessera
