// SPDX-License-Identifier: Apache-2.0
#include "tessera/solve/core/vector_space.hpp"
#include "tessera/solve/proximal/prox.hpp"

namespace tessera::prox {
namespace {

// The projection is max(x - level, 0) with the level of each group at which it sums up to `total`.
// That sum falls with the level: it is halved in until no number lies between. By bisection, and not
// by sorting, groups may lie in pieces and over ranks.
void project_on_simplex(Recorder& r, const VectorSpace& side, const vec::Vector& x, double total,
                        const Axes& axes, const vec::Vector& y) {
  const DType t = x.dtype();
  require<DTypeError>(!is_complex(t), "prox.simplex: complex numbers have no order");
  const VectorSpace groups = side.reduced(axes);
  using Views = std::vector<View>;
  const Views from = vec::whole(r, x), to = vec::whole(r, y), above = side.temporaries(r, t);
  const Views low = groups.temporaries(r, t), high = groups.temporaries(r, t),
              level = groups.temporaries(r, t), sum = groups.temporaries(r, t);
  // At the length of the group nothing is left, below minus that every number exceeds the total.
  record_norms2(r, side, groups, from, high);
  vec::apply(r, ElementOp::sqrt, t, {high}, high);
  vec::apply(r, ElementOp::subtract, t, {vec::Factor(-total), high}, low);
  const int halvings = t == DType::f64 ? 60 : 32;
  for (int i = 0; i < halvings; ++i) {
    vec::apply(r, ElementOp::add, t, {low, high}, level);
    vec::apply(r, ElementOp::multiply, t, {level, vec::Factor(0.5)}, level);
    vec::apply(r, ElementOp::subtract, t, {from, level}, above);
    vec::apply(r, ElementOp::maximum, t, {above, vec::Factor(0.0)}, above);
    vec::apply(r, ElementOp::sqrt, t, {above}, above);
    record_norms2(r, side, groups, above, sum);
    // Positive where the level is too low.
    vec::apply(r, ElementOp::subtract, t, {sum, vec::Factor(total)}, sum);
    vec::apply(r, ElementOp::maximum, t, {sum, vec::Factor(0.0)}, sum);
    vec::apply(r, ElementOp::where, t, {sum, level, low}, low);
    vec::apply(r, ElementOp::where, t, {sum, high, level}, high);
  }
  vec::apply(r, ElementOp::subtract, t, {from, level}, to);
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
          .maker = "simplex",
          .numbers = {total},
          .axes = axes.value_or(Axes{})};
}

}  // namespace tessera::prox
