// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "tessera/solve/core/vector_space.hpp"
#include "tessera/solve/proximal/prox.hpp"

namespace tessera::prox {
namespace {

// The projection is max(x - level, 0) with the level of each group at which it sums up to `total`.
// Measured from the largest number of the group, where no digits of it are lost, the level lies
// between -total and 0. That sum falls with the level: the interval is halved until no number lies
// in it. By bisection, and not by sorting, groups may lie in pieces and over ranks.
void project_on_simplex(Recorder& r, const VectorSpace& side, const vec::Vector& x, double total,
                        const Axes& axes, const vec::Vector& y) {
  const DType t = x.dtype();
  require<DTypeError>(!is_complex(t), "prox.simplex: complex numbers have no order");
  const VectorSpace groups = side.reduced(axes);
  using Views = std::vector<View>;
  const Views to = vec::whole(r, y), above = side.temporaries(r, t);
  const Views low = groups.temporaries(r, t), high = groups.temporaries(r, t),
              level = groups.temporaries(r, t), sum = groups.temporaries(r, t);
  record_largest(r, side, groups, vec::whole(r, x), level);
  vec::apply(r, ElementOp::subtract, t, {vec::whole(r, x), level}, to);
  vec::apply(r, ElementOp::copy, t, {vec::Factor(-total)}, low);
  vec::apply(r, ElementOp::copy, t, {vec::Factor(0.0)}, high);
  // A level that is shared by all n numbers of a group is as small as total / n.
  i64 numbers = 1;
  for (const i64 axis : axes) numbers *= (side.ranks() ? side.ranks()->shape : side.shape())[axis];
  const int halvings =
      (t == DType::f64 ? 56 : 27) + static_cast<int>(std::bit_width(std::uint64_t(numbers)));
  for (int i = 0; i < halvings; ++i) {
    vec::apply(r, ElementOp::add, t, {low, high}, level);
    vec::apply(r, ElementOp::multiply, t, {level, vec::Factor(0.5)}, level);
    vec::apply(r, ElementOp::subtract, t, {to, level}, above);
    vec::apply(r, ElementOp::maximum, t, {above, vec::Factor(0.0)}, above);
    vec::apply(r, ElementOp::sqrt, t, {above}, above);
    record_norms2(r, side, groups, above, sum);
    // Positive where the level is too low.
    vec::apply(r, ElementOp::subtract, t, {sum, vec::Factor(total)}, sum);
    vec::apply(r, ElementOp::maximum, t, {sum, vec::Factor(0.0)}, sum);
    vec::apply(r, ElementOp::where, t, {sum, level, low}, low);
    vec::apply(r, ElementOp::where, t, {sum, high, level}, high);
  }
  vec::apply(r, ElementOp::subtract, t, {to, level}, to);
  vec::apply(r, ElementOp::maximum, t, {to, vec::Factor(0.0)}, to);
}

}  // namespace

Prox simplex(double total, const std::optional<Axes>& axes) {
  require<ArgumentError>(total > 0, "prox.simplex: total ", total, " must be positive");
  const std::string along = axes ? cat(", ", *axes) : "";
  return {.name = cat("simplex(", total, along, ")"),
          .record =
              [=](Recorder& r, const VectorSpace& side, const vec::Vector& x, double,
                  const vec::Vector& y) {
                Axes normal;
                const i64 rank = side.shape().size();
                if (axes)
                  for (i64 a : *axes) normal.push_back(normalize_axis(a, rank, "prox.simplex"));
                else
                  for (i64 a = 0; a < rank; ++a) normal.push_back(a);
                project_on_simplex(r, side, x, total, normal, y);
              },
          .told_by_name = true,
          .reach = Prox::Reach::group,
          .axes = axes,
          .maker = "simplex",
          .numbers = {total}};
}

}  // namespace tessera::prox
