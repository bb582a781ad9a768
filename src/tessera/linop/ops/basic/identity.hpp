// SPDX-License-Identifier: Apache-2.0
#pragma once
// The map that changes nothing; with two lists of names it only renames.
//   NamedLinop I = Identity();   Identity(dims("Nx"))

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"
#include "tessera/linop/core/side_by_side.hpp"

namespace tessera {

struct TESSERA_API Identity {
  NamedShape names;

  static constexpr const char* kind = "Identity";
  static constexpr bool keeps_sizes = true;
  Identity() = default;
  // DimError for a name twice on a side, sides of different lengths, or a name that moves.
  explicit Identity(Dims ioshape) : names(std::move(ioshape)) { check_renaming(kind, names); }
  Identity(Dims ishape, Dims oshape) : names(std::move(ishape), std::move(oshape)) {
    check_renaming(kind, names);
  }
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(names); }
  static Identity from_state(const NamedShape& n) { return Identity(n.ishape, n.oshape); }
  Shape output_shape(const Shape& input) const { return input; }
  void apply(Recorder& r, const View& x, const View& y) const { record::copy(r, x, y); }
  bool apply_add(Recorder& r, const View& x, const View& y) const {
    record::add(r, y, x, y);
    return true;
  }
  Identity adjoint() const { return Identity(names.oshape, names.ishape); }
  Identity normal() const { return Identity(names.ishape); }
  bool isometry() const { return true; }
  bool changes_nothing() const { return true; }
  Identity settled(const NamedShape& n) const { return Identity(n.ishape, n.oshape); }
  std::optional<NamedLinop> joined_with(const NamedLinop& next, const Seam& seam) const;
  Identity renamed(const Renames& r) const {
    return Identity(rename(names.ishape, r), rename(names.oshape, r));
  }
};

inline std::optional<NamedLinop> Identity::joined_with(const NamedLinop& next,
                                                       const Seam& seam) const {
  const bool same = seam.both_sides && next.as<Identity>() && same_names(names, next.shape());
  return same ? std::optional<NamedLinop>(*this) : std::nullopt;
}

extern template struct NamedLinop::Model<Identity>;

}  // namespace tessera
