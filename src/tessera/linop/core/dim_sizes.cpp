// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/core/dim_sizes.hpp"

namespace tessera {

std::optional<i64> size_in(const DimSizes& sizes, NamedDimension d) {
  for (const auto& [dim, n] : sizes)
    if (dim == d) return n;
  return std::nullopt;
}

DimSizes renamed_sizes(const DimSizes& sizes, const Renames& renames) {
  DimSizes r = sizes;
  for (auto& [dim, n] : r) dim = rename({dim}, renames)[0];
  return r;
}

DimSizes cut_sizes(DimSizes sizes, const Tile& tile) {
  for (auto& [dim, n] : sizes)
    if (const Cut* c = tile.find(dim)) n = c->size();
  return sizes;
}

std::string to_text(const DimSizes& sizes) {
  std::string text = "{";
  for (const auto& [dim, n] : sizes) text += cat(text.size() > 1 ? ", " : "", dim, ": ", n);
  return text + "}";
}

void check_sizes(std::string_view who, const DimSizes& sizes, const Dims& dims) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto& [dim, n] = sizes[i];
    require<DimError>(contains(dims, dim) && !dim.is_ellipses(), who, ": a size is given for '",
                      dim, "', which is not one of its dims ", to_text(dims));
    require<ArgumentError>(n >= 0, who, ": size ", n, " of dim '", dim, "' is negative");
    for (std::size_t j = 0; j < i; ++j)
      require<DimError>(!(sizes[j].first == dim), who, ": dim '", dim, "' is given two sizes");
  }
}

void check_distinct(std::string_view who, const Dims& dims) {
  for (i64 i = 0; i < dims.size(); ++i)
    for (i64 j = 0; j < i; ++j)
      require<DimError>(!(dims[i] == dims[j]) || dims[i] == NamedDimension("()"), who, ": dim '",
                        dims[i], "' appears twice in ", to_text(dims));
}

void check_renaming(std::string_view who, const NamedShape& names) {
  check_distinct(who, names.ishape);
  if (names.ishape == names.oshape) return;
  check_distinct(who, names.oshape);
  require<DimError>(iscompatible(names.ishape, names.oshape).matched, who, ": ", names.str(),
                    " has different numbers of dims on its two sides");
  if (names.ishape.size() != names.oshape.size()) return;
  for (i64 i = 0; i < names.ishape.size(); ++i)
    require<DimError>(names.ishape[i] == names.oshape[i] || names.ishape[i].is_wildcard() ||
                          !contains(names.oshape, names.ishape[i]),
                      who, ": in ", names.str(), " dim '", names.ishape[i],
                      "' would name another axis; that is a Permute");
}

Dims mixed_output(std::string_view who, const Dims& ishape, const Dims& oshape, const Dims& mixed) {
  check_distinct(who, ishape);
  check_distinct(who, oshape);
  for (NamedDimension d : mixed)
    require<DimError>(contains(ishape, d) && !d.is_ellipses(), who, ": '", d,
                      "' is not a dim of the input ", to_text(ishape));
  Dims out = oshape.empty() ? ishape : oshape, taken = ishape;
  taken.append(out);
  require<DimError>(out.size() == ishape.size(), who, ": input ", to_text(ishape), " and output ",
                    to_text(out), " have different numbers of dims");
  for (i64 i = 0; i < out.size(); ++i) {
    const bool mixes = contains(mixed, ishape[i]);
    require<DimError>(mixes || out[i] == ishape[i], who, ": dim '", ishape[i],
                      "' passes through; it cannot become '", out[i], "'");
    require<DimError>(!mixes || out[i] == ishape[i] || !contains(ishape, out[i]), who, ": dim '",
                      ishape[i], "' becomes '", out[i], "', which names another dim of the input ",
                      to_text(ishape));
    if (!mixes || !(out[i] == ishape[i])) continue;
    out[i] = out[i].next_unused(taken);
    taken.push_back(out[i]);
  }
  return out;
}

Dims behind_ellipses(const Dims& dims) {
  Dims all{NamedDimension::ellipses()};
  all.append(dims);
  return all;
}

std::pair<Dims, Dims> cut_last(std::string_view who, const Dims& d, i64 n) {
  require<DimError>(n >= 0 && n <= d.size(), who, ": ", n, " of the names ", to_text(d));
  const auto at = d.end() - n;
  return {Dims(d.begin(), at), Dims(at, d.end())};
}

Layout aligned(const Layout& layout, const Dims& from, const Dims& to) {
  Layout l;
  l.offset = layout.offset;
  auto add = [&](i64 size, i64 stride) {
    l.shape.push_back(size);
    l.strides.push_back(stride);
  };
  for (NamedDimension d : to) {
    const std::optional<i64> axis = axis_of(from, d, layout.ndim());
    const i64 count = d.is_ellipses() && axis ? layout.ndim() - (from.size() - 1) : 1;
    for (i64 k = 0; k < count; ++k)
      axis ? add(layout.shape[*axis + k], layout.strides[*axis + k]) : add(1, 0);
  }
  return l;
}

}  // namespace tessera
