// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the operators of matrices share: names with one dim of each side that the other has not,
// and arrays seen as panels of columns along it. Private to the folder.
//   const Panels p = sides.panels(r, x, y, y.dtype);   record(p.rows_in(0, 3));   p.finish(r);

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

// y as rows of columns: in place, or in a temporary that finish() copies to its place.
struct Panels {
  View x, y;                // (columns of the matrix, c), (rows of the matrix, c)
  std::optional<View> far;  // y as it lies, axes in the order of the panel

  void finish(Recorder& r) const;
};

struct TESSERA_API MatrixSides {
  NamedShape names;
  NamedDimension in, out;

  // DimError unless each side has one dim that the other has not.
  MatrixSides(const Dims& ishape, const Dims& oshape);
  MatrixSides adjoint() const { return {names.oshape, names.ishape}; }
  MatrixSides opened() const {
    return {behind_ellipses(names.ishape), behind_ellipses(names.oshape)};
  }
  MatrixSides renamed(const Renames& r) const {
    return {rename(names.ishape, r), rename(names.oshape, r)};
  }
  // The axes of an input (or an output) with its own dim first, then those that pass through, in
  // the order of the input.
  Layout arranged(const Layout& l, bool output) const;
  // Whether y can be seen as a panel where it is.
  bool in_place(const View& y) const;
  // x is cast to `dtype`.
  Panels panels(Recorder& r, const View& x, const View& y, DType dtype) const;
};

// Rows [begin, end) of a panel.
inline View rows_of(const View& v, i64 begin, i64 end) {
  return sub_view(v, v.layout.slice(0, begin, end - begin));
}

// What a tile takes of `dim`, all of it (n) where the tile does not say.
inline Cut cut_of(const Tile& tile, NamedDimension dim, i64 n) {
  const Cut* c = tile.find(dim);
  return c ? *c : Cut{dim, 0, n};
}

}  // namespace tessera
