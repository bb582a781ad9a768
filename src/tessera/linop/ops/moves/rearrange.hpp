// SPDX-License-Identifier: Apache-2.0
#pragma once
// Axes split, merged and moved as two patterns say: "(A B) C" -> "A B C" cuts the first axis. Each
// item of a pattern is an axis and belongs to the dim at the same place; words in parentheses are
// one axis, first word slowest; "1" and "()" are axes of size 1; "..." stands for "...". The words
// are the pattern's own and need not be names of dims. One strided copy.
//   Rearrange("(a b) c", "a b c", {"Ab", "C"}, {"A", "B", "C"}, {{"a", 2}, {"b", 3}})

#include <string>

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Rearrange {
  using Lengths = std::vector<std::pair<std::string, i64>>;
  struct Axis {
    std::vector<std::string> words;
    bool rest = false;  // "..."
    friend bool operator==(const Axis&, const Axis&) = default;
  };
  using Pattern = std::vector<Axis>;

  std::string ipattern, opattern;
  NamedShape names;
  Lengths axes_lengths;
  Pattern in, out;

  static constexpr const char* kind = "Rearrange";
  // ArgumentError for a pattern that cannot be read or a word on one side only; DimError when
  // names and patterns do not correspond, or a name on both sides would not act point by point.
  Rearrange(std::string ipattern, std::string opattern, Dims ishape, Dims oshape,
            Lengths axes_lengths = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(ipattern, opattern, names, axes_lengths); }
  static Rearrange from_state(std::string from, std::string to, const NamedShape& n,
                              Lengths lengths) {
    return Rearrange(std::move(from), std::move(to), n.ishape, n.oshape, std::move(lengths));
  }
  std::optional<i64> size(NamedDimension d) const;
  Shape output_shape(const Shape& input) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  Rearrange adjoint() const;
  NamedLinop normal() const;
  bool isometry() const { return true; }
  Rearrange renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  std::string details() const { return cat("'", ipattern, "' -> '", opattern, "'"); }
};

extern template struct NamedLinop::Model<Rearrange>;

}  // namespace tessera
