// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same dims in another order.
//   Permute(dims("CXY"), dims("XYC"))

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Permute {
  NamedShape names;

  static constexpr const char* kind = "Permute";
  // DimError unless both sides have the same distinct names.
  Permute(Dims ishape, Dims oshape);
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(names); }
  static Permute from_state(const NamedShape& n) { return Permute(n.ishape, n.oshape); }
  void apply(Recorder& r, const View& x, const View& y) const;
  Permute adjoint() const { return Permute(names.oshape, names.ishape); }
  NamedLinop normal() const;
  bool isometry() const { return true; }
  Permute renamed(const Renames& r) const;
};

extern template struct NamedLinop::Model<Permute>;

}  // namespace tessera
