// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which part of an operator: for some of its dims a half-open range. A dim that is not named is
// taken whole.
//   Tile t{{"C", 0, 4}, {"Nx", 10, 20}};   A.split(t)

#include <initializer_list>
#include <optional>
#include <vector>

#include "tessera/base/shape.hpp"
#include "tessera/names/named_shape.hpp"

namespace tessera {

struct Cut {
  NamedDimension dim;
  i64 start = 0, stop = 0;
  std::optional<i64> whole{};  // the size of the dim that is cut, where somebody knows it
  i64 size() const { return stop - start; }
};

struct TESSERA_API Tile {
  std::vector<Cut> cuts;

  Tile() = default;
  Tile(std::initializer_list<Cut> c) : cuts(c) {}
  bool empty() const { return cuts.empty(); }
  const Cut* find(NamedDimension d) const;
  Tile only(const Dims& dims) const;  // the cuts along these dims
  Tile renamed(const Renames& renames) const;
  std::string str() const;  // "{C: 0:4, Nx: 10:20}"
};

// The part of a layout whose axes are named by `dims` (one "..." at most).
TESSERA_API Layout part_of(const Layout& layout, const Dims& dims, const Tile& tile);

}  // namespace tessera
