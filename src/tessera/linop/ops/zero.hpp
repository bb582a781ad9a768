// SPDX-License-Identifier: Apache-2.0
#pragma once
// The map that gives zeros. Sizes of output dims that the input does not have must be given.
//   Zero(dims("NQ"), dims("NP"), {{"P", 3}})      Zero(dims("N"), dims("N"))

#include <utility>
#include <vector>

#include "tessera/linop/linop.hpp"

namespace tessera {

struct TESSERA_API Zero {
  using Sizes = std::vector<std::pair<NamedDimension, i64>>;
  NamedShape names;
  Sizes sizes;

  static constexpr const char* kind = "Zero";
  Zero(Dims ishape, Dims oshape, Sizes sizes = {});
  NamedShape shape() const { return names; }
  std::optional<i64> size(NamedDimension d) const;
  void apply(Recorder& r, const View&, const View& y) const { record::fill(r, Value(0), y); }
  Zero adjoint() const { return Zero(names.oshape, names.ishape, sizes); }
  Zero normal() const;
  Zero renamed(const Renames& r) const;
  Zero split(const Tile& tile) const;
  std::string details() const;
};

}  // namespace tessera
