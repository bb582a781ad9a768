// SPDX-License-Identifier: Apache-2.0
#pragma once
// How A(x) is chosen: the part of distributed/operators/apply that touches no data and sends
// nothing. Not for users.
//   Cuttable a(A, x.shape());   ApplyRoute r = route_of(a, x, {});   a.part(r, rank)

#include "tessera/distributed/operators/apply.hpp"

namespace tessera::dist {

// An operator with a name for every axis of its input: what it calls "..." or "()" gets one, so
// that it can be cut there too. A copy: it may be kept with the operator itself.
class Cuttable {
 public:
  Cuttable(const NamedLinop& a, const Shape& input);
  const NamedLinop& op() const { return op_; }
  const Shape& in() const { return in_; }
  const Shape& out() const { return out_; }
  NamedDimension dim(i64 axis) const { return names_[axis]; }
  Dims dims() const { return op_.dims(); }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<i64> in_axis(NamedDimension d) const;
  std::optional<i64> out_axis(NamedDimension d) const;
  // SplitError, DimError or ShapeError where this part does not exist.
  NamedLinop part(const Cut& cut) const;
  bool has_part(const Cut& cut) const;
  // At both ends, whatever the number of ranks.
  bool can_cut(NamedDimension d) const;
  bool can_cut(NamedDimension d, const Partition& part) const;  // and into these parts
  Shape shape_of_part(const Shape& whole, std::optional<i64> axis, i64 n) const;

 private:
  NamedLinop op_;
  Shape in_, out_;
  Dims names_;            // of the axes of the input
  bool unknown_ = false;  // functions that nobody sees through stand under a wildcard
};

ApplyRoute route_of(const Cuttable& a, const DNDarray& x, const ApplyOptions& options);

}  // namespace tessera::dist
