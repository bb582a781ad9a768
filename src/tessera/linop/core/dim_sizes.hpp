// SPDX-License-Identifier: Apache-2.0
#pragma once
// What operators that move data share: sizes by name, names for dims that change, and views whose
// axes follow another list of names. No recording here.
//   DimSizes s{{"C", 3}};   size_in(s, "C") == 3;   Layout v = aligned(x.layout, "XC", "CXY");

#include <optional>
#include <utility>
#include <vector>

#include "tessera/linop/core/binding.hpp"
#include "tessera/linop/core/tile.hpp"

namespace tessera {

using DimSizes = std::vector<std::pair<NamedDimension, i64>>;

TESSERA_API std::optional<i64> size_in(const DimSizes& sizes, NamedDimension d);
TESSERA_API DimSizes renamed_sizes(const DimSizes& sizes, const Renames& renames);
// The sizes of the parts that a tile names.
TESSERA_API DimSizes cut_sizes(DimSizes sizes, const Tile& tile);
TESSERA_API std::string to_text(const DimSizes& sizes);  // "{C: 3, X: 4}"
// DimError for a dim that is not in `dims` or comes twice, ArgumentError for a negative size.
TESSERA_API void check_sizes(std::string_view who, const DimSizes& sizes, const Dims& dims);

// DimError when a name appears twice, or "..." twice.
TESSERA_API void check_distinct(std::string_view who, const Dims& dims);
// For maps that change names alone: DimError when a name appears twice on a side, when the sides
// have different numbers of dims, or when a name moves to another axis.
TESSERA_API void check_renaming(std::string_view who, const NamedShape& names);
// The output names of a map that mixes along `mixed` and passes the rest: where `oshape` is empty
// or repeats the name of a mixed dim, the next unused name; so a name on both sides means point by
// point. DimError when the two lists do not correspond, axis by axis.
TESSERA_API Dims mixed_output(std::string_view who, const Dims& ishape, const Dims& oshape,
                              const Dims& mixed);

TESSERA_API Dims behind_ellipses(const Dims& dims);  // (..., X, Y) for (X, Y)
// The names before the last n, and these; DimError where there are fewer.
TESSERA_API std::pair<Dims, Dims> cut_last(std::string_view who, const Dims& d, i64 n);

// The axes of a layout named by `from` in the order of `to`; a dim that `from` does not have
// becomes an axis of size 1 and stride 0. "..." carries over.
TESSERA_API Layout aligned(const Layout& layout, const Dims& from, const Dims& to);

}  // namespace tessera
