// SPDX-License-Identifier: Apache-2.0
#pragma once
// The map that gives zeros. Sizes of output dims that the input does not have must be given.
//   Zero(dims("NQ"), dims("NP"), {{"P", 3}})      Zero(dims("N"), dims("N"))

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Zero {
  using Sizes = DimSizes;
  NamedShape names;
  Sizes sizes;

  static constexpr const char* kind = "Zero";
  Zero(Dims ishape, Dims oshape, Sizes sizes = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(names, sizes); }
  static Zero from_state(const NamedShape& n, Sizes s) {
    return Zero(n.ishape, n.oshape, std::move(s));
  }
  std::optional<i64> size(NamedDimension d) const { return size_in(sizes, d); }
  void apply(Recorder& r, const View&, const View& y) const { record::fill(r, Value(0), y); }
  Zero adjoint() const { return Zero(names.oshape, names.ishape, sizes); }
  Zero normal() const;
  Zero renamed(const Renames& r) const {
    const NamedShape n = names.renamed(r);
    return Zero(n.ishape, n.oshape, renamed_sizes(sizes, r));
  }
  Zero split(const Tile& tile) const {
    return Zero(names.ishape, names.oshape, cut_sizes(sizes, tile));
  }
  std::string details() const;
  bool gives_zeros() const { return true; }
  std::optional<NamedLinop> informed(const SizeOf& size_of) const;
};

extern template struct NamedLinop::Model<Zero>;

}  // namespace tessera
