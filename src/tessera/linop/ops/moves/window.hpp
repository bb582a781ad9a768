// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps a box of the array and gives zeros outside of it: what cutting a part out and putting it
// back in its place does. An orthogonal projection; what is outside is not read. Made by Crop.N and
// Truncate.N.
//   Window(dims("CX"), {{"X", 2, 6, 9}})   // elements 2 to 5 of 9 along X

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Window {
  struct Range {
    NamedDimension dim;
    i64 start, stop, size;
    auto state() const { return std::tuple(dim, start, stop, size); }
    static Range from_state(NamedDimension d, i64 from, i64 to, i64 n) { return {d, from, to, n}; }
  };
  NamedShape names;
  std::vector<Range> ranges;

  static constexpr const char* kind = "Window";
  Window(Dims ioshape, std::vector<Range> kept);
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(names.ishape, ranges); }
  static Window from_state(Dims ioshape, std::vector<Range> kept) {
    return Window(std::move(ioshape), std::move(kept));
  }
  std::optional<i64> size(NamedDimension d) const;
  Shape output_shape(const Shape& input) const { return input; }
  void apply(Recorder& r, const View& x, const View& y) const;
  Window adjoint() const { return *this; }
  Window normal() const { return *this; }
  Window renamed(const Renames& r) const;
  Window split(const Tile& tile) const;
  std::string details() const;
};

extern template struct NamedLinop::Model<Window>;

}  // namespace tessera
