// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multiplication by one number. A real number keeps the dtype of the array (integers become
// float64); a complex number makes it complex.
//   NamedLinop A = Scalar(2.0);   Scalar(c128(0, 1), dims("Nx"))

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"
#include "tessera/linop/core/side_by_side.hpp"

namespace tessera {

struct TESSERA_API Scalar {
  Value weight;
  NamedShape names;

  static constexpr const char* kind = "Scalar";
  // DimError for a name that comes twice.
  explicit Scalar(Value w, Dims ioshape = {NamedDimension::ellipses()})
      : weight(w), names(std::move(ioshape)) {
    check_distinct(kind, names.ishape);
  }
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(weight, names.ishape); }
  static Scalar from_state(Value w, Dims ioshape) { return Scalar(w, std::move(ioshape)); }
  Shape output_shape(const Shape& input) const { return input; }
  DType output_dtype(DType t) const {
    if (weight.kind() == Value::Kind::complex) return complex_of(t);
    return is_inexact(t) ? t : DType::f64;
  }
  void apply(Recorder& r, const View& x, const View& y) const { record::scale(r, weight, x, y); }
  bool apply_add(Recorder& r, const View& x, const View& y) const {
    record::multiply_add(r, weight, x, y, y);
    return true;
  }
  Scalar adjoint() const { return Scalar(conjugate(), names.ishape); }
  Scalar normal() const {
    const c128 w = weight.as<c128>();
    return Scalar(Value(w.re * w.re + w.im * w.im), names.ishape);
  }
  Scalar renamed(const Renames& r) const { return Scalar(weight, rename(names.ishape, r)); }
  std::string details() const { return weight.str(); }
  Value factor() const { return weight; }
  Scalar scaled(const Value& by) const { return Scalar(factor_product(weight, by), names.ishape); }
  std::optional<NamedLinop> settled(const NamedShape& n) const {
    if (!(n.ishape == n.oshape)) return std::nullopt;
    return Scalar(weight, n.ishape);
  }
  Scalar opened() const { return Scalar(weight, behind_ellipses(names.ishape)); }
  bool ignores_axis(i64) const { return true; }
  std::optional<NamedLinop> joined_with(const NamedLinop& next, const Seam& seam) const {
    const std::optional<Value> other = next.offers().factor();
    const bool same =
        seam.both_sides && other && same_value(*other, weight) && same_names(names, next.shape());
    return same ? std::optional<NamedLinop>(*this) : std::nullopt;
  }
  Value conjugate() const {
    return weight.kind() == Value::Kind::complex ? Value(conj(weight.as<c128>())) : weight;
  }
};

extern template struct NamedLinop::Model<Scalar>;

}  // namespace tessera
