// SPDX-License-Identifier: Apache-2.0
#include "tessera/split/split_linop.hpp"

#include <algorithm>

#include "tessera/device/host_limits.hpp"
#include "tessera/linop/containers/chain.hpp"

namespace tessera {
namespace {

// The named dims of one side, each with its range: of the tile where it is cut, else all of it.
Tile side(const Dims& names, const Tile& cuts, const NamedLinop& a,
          const std::optional<Shape>& input) {
  Tile t;
  for (NamedDimension d : names) {
    if (d.is_wildcard()) continue;
    if (const Cut* c = cuts.find(d))
      t.cuts.push_back(*c);
    else if (const std::optional<i64> n = size_of_dim(a, d, input))
      t.cuts.push_back({d, 0, *n});
  }
  return t;
}

std::vector<Cut> cuts_along(const NamedLinop& a, NamedDimension d, i64 chunk,
                            const std::optional<Shape>& input) {
  require<DimError>(contains(a.dims(), d) && !d.is_wildcard(), "split_linop: ", a, " has no dim '",
                    d, "' to cut along; it has ", to_text(a.dims()));
  const std::optional<i64> n = size_of_dim(a, d, input);
  require<DimError>(n.has_value(), "split_linop: the size of dim '", d, "' is not known to ", a,
                    "; give the shape of an input");
  require<ArgumentError>(chunk >= 1, "split_linop: ", a, ": tiles of dim '", d, "' have size ",
                         chunk, ", expected at least 1");
  require<ArgumentError>(*n >= 1, "split_linop: ", a, ": dim '", d,
                         "' is empty: there is nothing to cut");
  std::vector<Cut> cuts;
  for (const auto& [start, stop] : batch_ranges(*n, chunk)) cuts.push_back({d, start, stop, *n});
  return cuts;
}

DimRange of_side(const NamedLinop& a, const Dims& names, const std::vector<DimRange>& ranges,
                 i64 i) {
  const DimRange r = ranges[static_cast<std::size_t>(i)];
  require<SplitError>(r.whole() || !names[i].is_wildcard(), "split_forward: ", a, ": dim ", i,
                      " is '", names[i], "', which has no name to be cut by");
  require<SplitError>(r.start >= 0 && (!r.stop || *r.stop > r.start), "split_forward: ", a,
                      ": the slice ", r.start, ":", r.stop.value_or(0), " of dim '", names[i],
                      "' is empty");
  return r;
}

// Before the first of them is made: each is an operator with its names and ranges.
void check_number_of_tiles(i64 count) {
  constexpr i64 each = 1024, most = i64{1} << 50;
  if (count > large_request / each)
    check_host_memory(cat("split_linop: ", count, " tiles"), std::min(count, most) * each);
}

}  // namespace

std::vector<std::pair<i64, i64>> batch_ranges(i64 total, i64 chunk) {
  require<ArgumentError>(total >= 1 && chunk >= 1, "batch_ranges: ", total, " in pieces of ", chunk,
                         "; both must be at least 1");
  check_number_of_tiles((total - 1) / chunk + 1);
  std::vector<std::pair<i64, i64>> all;
  for (i64 start = 0; start < total; start += chunk)
    all.emplace_back(start, start + std::min(chunk, total - start));
  return all;
}

std::optional<i64> size_of_dim(const NamedLinop& a, NamedDimension d,
                               const std::optional<Shape>& input) {
  if (const std::optional<i64> n = a.size(d)) return n;
  if (!input) return std::nullopt;
  if (const std::optional<i64> n = bind_dims(a.str(), a.ishape(), *input).size(d)) return n;
  const Chain* c = a.as<Chain>();
  if (!c) return bind_dims(a.str(), a.oshape(), a.output_shape(*input)).size(d);
  Shape shape = *input;
  for (const NamedLinop& part : c->operators) {
    shape = part.output_shape(shape);
    if (const std::optional<i64> n = bind_dims(part.str(), part.oshape(), shape).size(d)) return n;
  }
  return std::nullopt;
}

i64 tiles_along(const NamedLinop& a, NamedDimension d, i64 chunk,
                const std::optional<Shape>& input) {
  return static_cast<i64>(cuts_along(a, d, chunk, input).size());
}

SplitGrid split_linop(const NamedLinop& a, const DimSizes& sizes,
                      const std::optional<Shape>& input) {
  SplitGrid g;
  for (const auto& [d, chunk] : sizes) {
    require<DimError>(!contains(g.dims, d), "split_linop: dim '", d, "' is given two sizes");
    g.ranges.push_back(cuts_along(a, d, chunk, input));
    g.dims.push_back(d);
    g.grid.push_back(static_cast<i64>(g.ranges.back().size()));
  }
  const i64 count = count_of(g.grid);
  check_number_of_tiles(count);
  g.tiles.reserve(static_cast<std::size_t>(count));
  for (i64 i = 0; i < count; ++i) {
    Tile cuts, ranges;
    i64 rest = i;
    for (i64 k = g.grid.size(); k-- > 0;) {
      const Cut& c =
          g.ranges[static_cast<std::size_t>(k)][static_cast<std::size_t>(rest % g.grid[k])];
      rest /= g.grid[k];
      ranges.cuts.push_back(c);
      if (g.grid[k] > 1) cuts.cuts.push_back(c);
    }
    std::reverse(cuts.cuts.begin(), cuts.cuts.end());
    NamedLinop op = a.split(cuts);
    g.tiles.push_back({std::move(op), std::move(cuts), side(a.ishape(), ranges, a, input),
                       side(a.oshape(), ranges, a, input)});
  }
  return g;
}

NamedLinop split_forward(const NamedLinop& a, const std::vector<DimRange>& ibatch,
                         const std::vector<DimRange>& obatch) {
  const NamedShape names = a.shape();
  require<DimError>(static_cast<i64>(ibatch.size()) == names.ishape.size() &&
                        static_cast<i64>(obatch.size()) == names.oshape.size(),
                    "split_forward: ", a, " has ", names.ishape.size(), " input and ",
                    names.oshape.size(), " output dims, got ", ibatch.size(), " and ",
                    obatch.size(), " slices");
  Tile tile;
  auto take = [&](const Dims& side, const std::vector<DimRange>& ranges, const Dims& other) {
    for (i64 i = 0; i < side.size(); ++i) {
      const DimRange r = of_side(a, side, ranges, i);
      const std::optional<i64> n = a.size(side[i]);
      if (side[i].is_wildcard() || (r.whole() && !contains(other, side[i]))) continue;
      const std::optional<i64> stop = r.stop ? r.stop : n;
      require<SplitError>(stop.has_value() || r.whole(), "split_forward: ", a, ": the slice ",
                          r.start, ": of dim '", side[i], "' needs a stop; its size is not known");
      const Cut cut{side[i], r.start, stop.value_or(-1)};
      const Cut* known = tile.find(side[i]);
      require<SplitError>(!known || (known->start == cut.start && known->stop == cut.stop),
                          "split_forward: ", a, ": dim '", side[i],
                          "' is on both sides and is given two slices");
      if (!known) tile.cuts.push_back(cut);
    }
  };
  take(names.ishape, ibatch, names.oshape);
  take(names.oshape, obatch, names.ishape);
  // Whole on both sides, of a size that nobody knows: not cut.
  std::erase_if(tile.cuts, [](const Cut& c) { return c.stop < 0; });
  return a.split(tile);
}

}  // namespace tessera
