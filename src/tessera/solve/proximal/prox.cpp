// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/proximal/prox.hpp"

#include <algorithm>

#include "tessera/plan/plan.hpp"
#include "tessera/solve/core/vector_space.hpp"

namespace tessera {
namespace {

void keep(Recorder& r, const vec::Vector& x, const vec::Vector& y) {
  if (x.pieces.front().data() != y.pieces.front().data()) vec::copy(r, x, y);
}

// y = x max(1 - t / size, 0) for t > 0, one size for each group: 0 where it is 0; `size` is spent.
void shrink(Recorder& r, const std::vector<View>& x, const std::vector<View>& size, double t,
            const std::vector<View>& y) {
  const DType real = size.front().dtype;
  vec::apply(r, ElementOp::divide, real, {vec::Factor(t), size}, size);
  vec::apply(r, ElementOp::subtract, real, {vec::Factor(1.0), size}, size);
  vec::apply(r, ElementOp::maximum, real, {size, 0.0}, size);
  vec::apply(r, ElementOp::multiply, x.front().dtype, {x, size}, y);
}

// Real numbers: y = x - min(max(x, -t), t).
void shrink_real(Recorder& r, const VectorSpace& side, const std::vector<View>& x, double t,
                 const std::vector<View>& y) {
  const DType real = x.front().dtype;
  const std::vector<View> lost = side.temporaries(r, real);
  vec::apply(r, ElementOp::maximum, real, {x, -t}, lost);
  vec::apply(r, ElementOp::minimum, real, {lost, t}, lost);
  vec::apply(r, ElementOp::subtract, real, {x, lost}, y);
}

// Shrinks the vectors along `axes` by t in length.
void shrink_groups(Recorder& r, const VectorSpace& side, const vec::Vector& x, double t,
                   const Axes& axes, const vec::Vector& y) {
  Axes normal;
  for (i64 a : axes) normal.push_back(normalize_axis(a, side.shape().size(), "prox.group"));
  if (t == 0) return keep(r, x, y);
  const VectorSpace groups = side.reduced(normal);
  // In float64 the squares of all float32 neither overflow nor vanish.
  const std::vector<View> all = vec::whole(r, x), size = groups.temporaries(r, DType::f64);
  record_norms2(r, side, groups, all, size);
  vec::apply(r, ElementOp::sqrt, DType::f64, {size}, size);
  shrink(r, all, size, t, vec::whole(r, y));
}

}  // namespace

namespace prox {

Prox none() {
  return {.name = "none",
          .record = [](Recorder& r, const VectorSpace&, const vec::Vector& x, double,
                       const vec::Vector& y) { keep(r, x, y); },
          .told_by_name = true,
          .reach = Prox::Reach::number,
          .maker = "none"};
}

Prox l1(double lam) {
  require<ArgumentError>(lam >= 0, "prox.l1: lam ", lam, " must not be negative");
  return {.name = cat("l1(", lam, ")"),
          .record =
              [lam](Recorder& r, const VectorSpace& side, const vec::Vector& x, double t,
                    const vec::Vector& y) {
                if (lam * t == 0) return keep(r, x, y);
                const std::vector<View> all = vec::whole(r, x), to = vec::whole(r, y);
                if (!is_complex(x.dtype())) return shrink_real(r, side, all, lam * t, to);
                const std::vector<View> size = side.temporaries(r, real_of(x.dtype()));
                vec::apply(r, ElementOp::absolute, x.dtype(), {all}, size);
                shrink(r, all, size, lam * t, to);
              },
          .told_by_name = true,
          .reach = Prox::Reach::number,
          .maker = "l1",
          .numbers = {lam}};
}

Prox l2(double lam) {
  require<ArgumentError>(lam >= 0, "prox.l2: lam ", lam, " must not be negative");
  return {.name = cat("l2(", lam, ")"),
          .record =
              [lam](Recorder& r, const VectorSpace& side, const vec::Vector& x, double t,
                    const vec::Vector& y) {
                Axes all;
                for (i64 a = 0; a < side.shape().size(); ++a) all.push_back(a);
                shrink_groups(r, side, x, lam * t, all, y);
              },
          .told_by_name = true,
          .reach = Prox::Reach::group,
          .maker = "l2",
          .numbers = {lam}};
}

Prox l2_squared(double lam, const Array& center) {
  require<ArgumentError>(lam >= 0, "prox.l2_squared: lam ", lam, " must not be negative");
  return {.name = cat("l2_squared(", lam, center ? ", center" : "", ")"),
          .record =
              [lam, center](Recorder& r, const VectorSpace& side, const vec::Vector& x, double t,
                            const vec::Vector& y) {
                vec::scale(r, 1 / (1 + lam * t), x, y);
                if (!center) return;
                const Array c = vec::copy_of("prox.l2_squared", "center", center, side.shape(),
                                             x.dtype(), side.base());
                // As lam t / (1 + lam t), also where that product is infinite.
                vec::add_scaled(r, side.pieces_of(c), 1 / (1 + 1 / (lam * t)), y);
              },
          .told_by_name = !center,
          .reach = Prox::Reach::number,
          .maker = "l2_squared",
          .numbers = {lam},
          .center = center};
}

Prox nonneg() {
  return {
      .name = "nonneg",
      .record =
          [](Recorder& r, const VectorSpace&, const vec::Vector& x, double, const vec::Vector& y) {
            const DType real = real_of(x.dtype());
            for (std::size_t i = 0; i < x.pieces.size(); ++i) {
              const Array &from = x.pieces[i], &to = y.pieces[i];
              const vec::Factor in[] = {r.constant(from.real()), 0.0}, zero[] = {0.0};
              vec::apply(r, ElementOp::maximum, real, in, r.constant(to.real()));
              if (is_complex(to.dtype()))
                vec::apply(r, ElementOp::copy, real, zero, r.constant(to.imag()));
            }
          },
      .told_by_name = true,
      .reach = Prox::Reach::number,
      .maker = "nonneg"};
}

Prox box(double low, double high) {
  require<ArgumentError>(low <= high, "prox.box: low ", low, " is above high ", high);
  return {
      .name = cat("box(", low, ", ", high, ")"),
      .record =
          [=](Recorder& r, const VectorSpace&, const vec::Vector& x, double, const vec::Vector& y) {
            require<DTypeError>(!is_complex(x.dtype()), "prox.box: complex numbers have no order");
            const std::vector<View> from = vec::whole(r, x), to = vec::whole(r, y);
            vec::apply(r, ElementOp::maximum, x.dtype(), {from, low}, to);
            vec::apply(r, ElementOp::minimum, x.dtype(), {to, high}, to);
          },
      .told_by_name = true,
      .reach = Prox::Reach::number,
      .maker = "box",
      .numbers = {low, high}};
}

Prox group(double lam, const Axes& axes) {
  require<ArgumentError>(lam >= 0, "prox.group: lam ", lam, " must not be negative");
  return {.name = cat("group(", lam, ", ", axes, ")"),
          .record = [=](Recorder& r, const VectorSpace& side, const vec::Vector& x, double t,
                        const vec::Vector& y) { shrink_groups(r, side, x, lam * t, axes, y); },
          .told_by_name = true,
          .reach = Prox::Reach::group,
          .axes = axes,
          .maker = "group",
          .numbers = {lam}};
}

Prox function(std::string name, std::function<Array(const Array&, double)> call) {
  return {.name = std::move(name), .record = {}, .call = std::move(call)};
}

}  // namespace prox

Array apply_prox(const Prox& p, const Array& x, double t, std::optional<i64> iteration) {
  if (!p.record) return iteration && p.numbered ? p.numbered(x, t, *iteration) : p.call(x, t);
  const DType dtype = is_inexact(x.dtype()) ? x.dtype() : DType::f64;
  const Array in = vec::copy_of("prox", "x", x, x.shape(), dtype, x.device());
  const Array y = vec::zeros(x.shape(), dtype, x.device());
  Recorder r;
  p.record(r, VectorSpace(x.shape(), x.device()), in, t, y);
  Run run = Plan(std::move(r), p.name).instance(Stream::home(x.device()));
  run(std::span<const Array>{}, std::span<const Array>{});
  run.sync();
  return y;
}

}  // namespace tessera
