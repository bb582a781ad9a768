// SPDX-License-Identifier: Apache-2.0
#include "tessera/split/tiled.hpp"

#include <algorithm>

#include "tessera/linop/ops/transforms/nufft.hpp"
#include "tessera/linop/rewrite/memory_map.hpp"
#include "tessera/split/batched.hpp"
#include "tessera/split/split_linop.hpp"

namespace tessera {
namespace {

// It has a part whose stated normal differs from the part and then its adjoint by more than
// rounding.
bool approximates_normal(const NamedLinop& a) {
  if (a.as<Adjoint>()) return false;
  if (a.offers().approximates_normal()) return true;
  const std::vector<NamedLinop> parts = a.parts();
  return std::any_of(parts.begin(), parts.end(), approximates_normal);
}

bool on_one_device(const NamedLinop& a, const NamedLinop& b) {
  const std::optional<Device> here = a.device(), there = b.device();
  return !here || !there || *here == *there;
}

// Every NUFFT in it does the same for each of these dims.
bool are_batches(const NamedLinop& a, const Dims& cut) {
  if (const NUFFT* f = a.as<NUFFT>()) {
    const NamedShape names = f->shape();
    return std::all_of(cut.begin(), cut.end(), [&](NamedDimension d) {
      return contains(names.ishape, d) && contains(names.oshape, d);
    });
  }
  const std::vector<NamedLinop> parts = a.parts();
  return std::all_of(parts.begin(), parts.end(),
                     [&](const NamedLinop& p) { return are_batches(p, cut); });
}

// The first of the tiles that these sizes make; nothing where they cannot be made.
struct FirstTile {
  NamedLinop op;
  std::optional<Shape> input;
};
std::optional<FirstTile> first_tile(const NamedLinop& a, const DimSizes& sizes,
                                    const std::optional<Shape>& input) {
  Tile tile;
  for (const auto& [d, chunk] : sizes) {
    const std::optional<i64> n =
        contains(a.dims(), d) ? size_of_dim(a, d, input) : std::optional<i64>{};
    if (!n) return std::nullopt;
    if (chunk < *n) tile.cuts.push_back({d, 0, chunk, *n});
  }
  try {
    std::optional<Shape> part;
    if (input) part = part_of(Layout::contiguous(*input), a.ishape(), tile).shape;
    return FirstTile{a.split(tile), std::move(part)};
  } catch (const SplitError&) {
    return std::nullopt;
  }
}

// The places along some axes, at the start of the others.
DeviceMatrix along(const DeviceMatrix& all, const std::vector<bool>& kept) {
  DeviceMatrix m;
  for (i64 k = 0; k < all.shape.size(); ++k)
    if (kept[static_cast<std::size_t>(k)]) m.shape.push_back(all.shape[k]);
  for (std::size_t i = 0; i < all.places.size(); ++i) {
    i64 rest = static_cast<i64>(i);
    bool starts = true;
    for (i64 k = all.shape.size(); k-- > 0; rest /= all.shape[k])
      starts = starts && (kept[static_cast<std::size_t>(k)] || rest % all.shape[k] == 0);
    if (starts) m.places.push_back(all.places[i]);
  }
  return m;
}

}  // namespace

std::optional<CutFrom> CutFrom::where_normals_differ(const NamedLinop& whole,
                                                     const std::vector<BatchSpec>& specs,
                                                     const std::optional<Shape>& input) {
  if (!approximates_normal(whole)) return std::nullopt;
  return CutFrom{whole, specs, input};
}

std::optional<NamedLinop> CutFrom::normal() const {
  // Of a copy: the whole lives as long as the tiles, and would keep the uncut normal.
  return flipped ? std::nullopt : std::optional(whole.copy().N());
}

std::optional<NamedLinop> CutFrom::normal(const NamedLinop& inner) const {
  if (flipped || !on_one_device(whole, inner)) return std::nullopt;
  const NamedLinop n = whole.normal(inner);
  return approximates_normal(n) ? std::nullopt : std::optional(n);  // still one after the other
}

std::vector<BatchSpec> CutFrom::specs_of(const NamedLinop& normal) const {
  FirstTile tile{whole, input}, of_normal{normal, input};
  std::vector<BatchSpec> all;
  for (const BatchSpec& spec : specs) {
    BatchSpec s = spec;
    s.batch_sizes.clear();
    std::vector<bool> kept;
    for (const auto& size : spec.batch_sizes) {
      s.batch_sizes.push_back(size);
      kept.push_back(first_tile(of_normal.op, s.batch_sizes, of_normal.input).has_value());
      if (!kept.back()) s.batch_sizes.pop_back();
    }
    if (!spec.device_matrix.empty())
      s.device_matrix = along(spec.broadcast_device_matrix(tile.op, tile.input), kept);
    if (all.empty()) s.base_device = spec.base_device.value_or(whole.device().value_or(cpu));
    const auto is_there = [&](const RankDevice& p) {
      return p.device == s.transfer_stream->device();
    };
    if (s.transfer_stream && !(s.base_device && is_there(*s.base_device)) &&
        std::none_of(s.device_matrix.places.begin(), s.device_matrix.places.end(), is_there))
      s.transfer_stream.reset();
    all.push_back(s);
    tile = first_tile(tile.op, spec.batch_sizes, tile.input).value_or(tile);
    of_normal = first_tile(of_normal.op, s.batch_sizes, of_normal.input).value_or(of_normal);
  }
  return all;
}

CutFrom CutFrom::renamed(const Renames& r) const {
  CutFrom other{whole.rename(r), specs, input, flipped};
  for (BatchSpec& s : other.specs)
    for (auto& [d, chunk] : s.batch_sizes) d = rename({d}, r)[0];
  return other;
}

CutFrom CutFrom::split(const Tile& tile) const {
  CutFrom part{flipped ? whole.adj_split(tile) : whole.split(tile), specs, input, flipped};
  if (input) part.input = part_of(Layout::contiguous(*input), whole.ishape(), tile).shape;
  return part;
}

bool CutFrom::only_along_batches() const {
  Dims cut;
  for (const BatchSpec& s : specs)
    for (const auto& size : s.batch_sizes) cut.push_back(size.first);
  const Dims out = whole.oshape();
  return std::all_of(cut.begin(), cut.end(), [&](NamedDimension d) { return contains(out, d); }) &&
         are_batches(whole, cut);
}

Tiled Tiled::from_state(NamedLinop tiles, CutFrom from) {
  const NamedShape whole = from.flipped ? from.whole.shape().H() : from.whole.shape();
  require<IoError>(whole == tiles.shape() && !from.specs.empty(),
                   "Tiled: tiles and whole do not belong together");
  return {std::move(tiles), std::move(from)};
}

NamedLinop Tiled::normal() const {
  if (!from.flipped && from.only_along_batches()) return a.N();
  const std::optional<NamedLinop> n = from.normal();
  return n ? cut_alike(*n) : a.N();
}

std::optional<NamedLinop> Tiled::normal(const NamedLinop& inner) const {
  const std::optional<NamedLinop> n = from.normal(inner);
  return n ? std::optional(cut_alike(*n)) : std::nullopt;
}

NamedLinop Tiled::split(const Tile& tile) const {
  // Which devices a part of the grid has, the specs do not say.
  if (crosses_devices(a)) return a.split(tile);
  return Tiled{a.split(tile), from.split(tile)};
}

std::optional<NamedLinop> Tiled::to(Device d) const {
  if (on_one_device(from.whole, a)) return std::nullopt;
  return Tiled{a.to(d), from};
}

NamedLinop Tiled::cut_alike(const NamedLinop& normal) const {
  if (crosses_devices(a)) return create_batched_linop(normal, from.specs_of(normal), from.input);
  // All of it on one device, to which it may have been moved since.
  CutFrom here = from;
  for (BatchSpec& s : here.specs) s.device_matrix = {};
  std::vector<BatchSpec> specs = here.specs_of(normal);
  for (BatchSpec& s : specs) {
    s.base_device.reset();
    s.base_stream.reset();
    s.transfer_stream.reset();
  }
  return create_batched_linop(normal.to(a.device().value_or(cpu)), specs, from.input);
}

}  // namespace tessera
