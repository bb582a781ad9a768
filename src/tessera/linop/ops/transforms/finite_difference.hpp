// SPDX-License-Identifier: Apache-2.0
#pragma once
// Differences of neighbours along one dim, as long as the input. forward: x[i+1] - x[i]; backward:
// x[i] - x[i-1]; central: (x[i+1] - x[i-1]) / 2. Beyond its ends the input is zero, goes on from
// the other end (circular), or keeps its last value (replicate).
//   FiniteDifference("X", dims("CX"), {}, Difference::forward, Edge::circular)   // (C, X) -> (C,
//   X1)

#include "tessera/linop/core/linop.hpp"

namespace tessera {

enum class Difference : std::uint8_t { forward, backward, central };
enum class Edge : std::uint8_t { zero, circular, replicate };
constexpr Difference last_of(Difference) { return Difference::central; }
constexpr Edge last_of(Edge) { return Edge::replicate; }
TESSERA_API std::string_view name(Difference d);
TESSERA_API std::string_view name(Edge e);
TESSERA_API Difference parse_difference(std::string_view who, std::string_view text);
TESSERA_API Edge parse_edge(std::string_view who, std::string_view text);  // ArgumentError

struct TESSERA_API FiniteDifference {
  NamedDimension dim;  // of the input
  NamedShape names;
  Difference mode;
  Edge edge;
  bool transposed = false;

  static constexpr const char* kind = "FiniteDifference";
  static constexpr bool keeps_sizes = true;
  // An output name that repeats `dim`, or is not given, becomes the next unused name.
  FiniteDifference(NamedDimension dim, Dims ishape, Dims oshape = {},
                   Difference mode = Difference::forward, Edge edge = Edge::zero);
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(dim, names, mode, edge, transposed); }
  static FiniteDifference from_state(NamedDimension dim, const NamedShape& n, Difference mode,
                                     Edge edge, bool transposed) {
    FiniteDifference a(dim, n.ishape, n.oshape, mode, edge);
    a.transposed = transposed;
    return a;
  }
  Shape output_shape(const Shape& input) const { return input; }
  DType output_dtype(DType t) const { return is_inexact(t) ? t : DType::f64; }
  void apply(Recorder& r, const View& x, const View& y) const;
  FiniteDifference adjoint() const;
  FiniteDifference renamed(const Renames& r) const;
  std::string details() const;
};

// y = D x or Dᵀ x along an axis; at most two slices at each end are separate steps.
void record_difference(Recorder& r, const View& x, const View& y, i64 axis, Difference mode,
                       Edge edge, bool transposed);

extern template struct NamedLinop::Model<FiniteDifference>;

}  // namespace tessera
