// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same map under other names, axis by axis: for operators that cannot rename themselves.
//   NamedLinop B = A.rename({{"M", "P"}});

#include "tessera/linop/containers/wrapper.hpp"

namespace tessera {

struct TESSERA_API Relabel : Wrapper {
  NamedShape names;

  static constexpr const char* kind = "Relabel";
  NamedShape shape() const { return names; }
  Dims dims() const { return dims_of(names); }
  auto state() const { return std::tuple(a, names); }
  static Relabel from_state(NamedLinop of, NamedShape n) { return {std::move(of), std::move(n)}; }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<NamedDimension> same_size(NamedDimension d) const;
  NamedLinop adjoint() const { return Relabel{a.H(), names.H()}; }
  Relabel renamed(const Renames& r) const { return {a, names.renamed(r)}; }
  NamedLinop split(const Tile& tile) const;

 private:
  std::optional<NamedDimension> inner_name(NamedDimension d) const;
};

extern template struct NamedLinop::Model<Relabel>;

}  // namespace tessera
