// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator given by functions of arrays: the caller's own code, called by the host when a plan
// reaches it. It is neither captured nor cut along a dim, and whether it is linear, and the adjoint
// right, is the caller's word; check_adjoint() looks.
//   SimpleLinop([](const Array& x) { return ops::multiply(x, 2.0); },
//               [](const Array& y) { return ops::multiply(y, 2.0); })

#include <functional>
#include <memory>
#include <string>

#include "tessera/linop/dim_sizes.hpp"
#include "tessera/linop/linop.hpp"

namespace tessera {

struct TESSERA_API SimpleLinop {
  using Function = std::function<Array(const Array&)>;
  Function forward, backward, own_normal;  // own_normal may be empty
  NamedShape names;
  std::string label;  // "L", "L.H"
  DimSizes sizes;     // of dims that one side alone has; others are found by calling with zeros
  DType least;        // results have at least this dtype: complex64 for maps that are complex

  static constexpr const char* kind = "SimpleLinop";
  SimpleLinop(Function forward, Function adjoint, Function normal = {},
              Dims ishape = {NamedDimension::ellipses()}, std::optional<Dims> oshape = {},
              std::string name = {}, DimSizes sizes = {}, DType least = DType::b1);
  NamedShape shape() const { return names; }
  std::optional<i64> size(NamedDimension d) const { return size_in(sizes, d); }
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const { return promote(t, least); }
  void apply(Recorder& r, const View& x, const View& y) const;
  SimpleLinop adjoint() const;
  std::optional<NamedLinop> normal() const;
  SimpleLinop renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;

 private:
  struct Found;
  std::shared_ptr<Found> found_;
};

}  // namespace tessera
