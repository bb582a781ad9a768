// SPDX-License-Identifier: Apache-2.0
#include "tessera/split/batched.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "tessera/device/registry.hpp"
#include "tessera/linop/containers/add.hpp"
#include "tessera/linop/containers/chain.hpp"
#include "tessera/linop/containers/concat.hpp"
#include "tessera/linop/containers/fetched.hpp"
#include "tessera/linop/containers/remote_tile.hpp"
#include "tessera/linop/ops/sampling/to_device.hpp"
#include "tessera/linop/rewrite/memory_map.hpp"
#include "tessera/split/split_linop.hpp"
#include "tessera/split/tiled.hpp"

namespace tessera {
namespace {

constexpr std::string_view batching = "create_batched_linop";

// One level: the tiles of an operator, the device of each, and what each is cut into further.
struct Level {
  SplitGrid grid;
  Device base;
  std::vector<RankDevice> places;  // of the tiles
  std::vector<Device> devices;     // where each tile takes its input; the base for those of others
  std::vector<Level> below;        // one per tile, or none
  bool resident = true;
  std::optional<Stream> base_stream{}, transfer_stream{};  // the caller's

  // The streams to use at one end of a transfer between the base and a tile.
  DeviceSpec at(Device d) const {
    const auto of_it = [&](const std::optional<Stream>& s) {
      return s && s->device() == d ? s : std::nullopt;
    };
    return DeviceSpec(d, of_it(base_stream), of_it(transfer_stream));
  }
};

// What a tile takes of an input of this shape.
std::optional<Shape> shape_of_tile(const std::optional<Shape>& input, const NamedLinop& a,
                                   const SplitTile& tile) {
  if (!input) return std::nullopt;
  return part_of(Layout::contiguous(*input), a.ishape(), tile.in).shape;
}

// Whose tiles are wanted: without ranks, those of the only process there is.
struct Whose {
  std::optional<OfRank> rank{};
  int number() const { return rank ? rank->rank : 0; }
  bool here(const RankDevice& p) const { return p.rank == number(); }
  // Where a tile of the first spec is, or (without `first`) one of those that a rank's tile is cut
  // into.
  RankDevice checked(RankDevice p, bool first) const {
    if (!rank) (void)p.local(batching);
    if (rank && !first) p.rank = rank->rank;
    require<CommError>(!rank || p.rank < rank->ranks, batching, ": '", p.str(), "' is on rank ",
                       p.rank, "; the number of ranks is ", rank ? rank->ranks : 1);
    if (here(p)) (void)compute_device(p.device);
    return p;
  }
};

void refuse_ranks(const BatchSpec& spec) {
  std::vector<RankDevice> all = spec.device_matrix.places;
  if (spec.base_device) all.push_back(*spec.base_device);
  for (const RankDevice& p : all)
    require<CommError>(p.rank == 0, batching, ": '", p.str(),
                       "': ranks are named by the first spec; ",
                       "the next ones cut what a rank has, over its own devices");
}

void check_streams(const Level& level) {
  const std::optional<Stream>&base = level.base_stream, &transfer = level.transfer_stream;
  require<DeviceError>(!base || base->device() == level.base, batching, ": base_stream is of ",
                       base ? base->device() : cpu, ", expected one of the base device ",
                       level.base);
  if (!transfer) return;
  const Device d = transfer->device();
  const auto is = [&](Device tile) { return tile == d; };
  require<DeviceError>(
      d == level.base || std::any_of(level.devices.begin(), level.devices.end(), is), batching,
      ": transfer_stream is of ", d, ", expected one of the base device ", level.base,
      " or of a device of the tiles");
  require<DeviceError>(d != cpu || std::all_of(level.devices.begin(), level.devices.end(), is),
                       batching,
                       ": transfer_stream is of the host, between which and devices data ",
                       "move on streams of those; expected one of a device of the tiles");
}

Level plan_level(const NamedLinop& a, std::span<const BatchSpec> specs, Device default_device,
                 const std::optional<Shape>& input, const Whose& whose, bool first = true) {
  const BatchSpec spec = specs.front().resolve(a, default_device, input);
  Level level{.grid = {},
              .base = whose.rank ? spec.base_device->device : spec.base_device->local(batching),
              .places = {},
              .devices = {},
              .below = {},
              .resident = spec.resident,
              .base_stream = spec.base_stream,
              .transfer_stream = spec.transfer_stream};
  (void)compute_device(level.base);
  for (const RankDevice& p : spec.device_matrix.places) {
    level.places.push_back(whose.checked(p, first));
    level.devices.push_back(whose.here(level.places.back()) ? p.device : level.base);
  }
  check_streams(level);
  level.grid = split_linop(a, spec.batch_sizes, input);
  if (specs.size() == 1) return level;
  level.below.resize(level.grid.tiles.size());
  for (std::size_t i = 0; i < level.grid.tiles.size(); ++i) {
    if (!whose.here(level.places[i])) continue;
    const SplitTile& tile = level.grid.tiles[i];
    level.below[i] = plan_level(tile.op, specs.subspan(1), level.devices[i],
                                shape_of_tile(input, a, tile), whose, false);
    level.devices[i] = level.below[i].base;
  }
  return level;
}

struct ByKindAndIndex {
  bool operator()(Device a, Device b) const {
    return a.kind != b.kind ? a.kind < b.kind : a.index < b.index;
  }
};
// One for all tiles of all levels: what they share on a device is there once.
using Memory = std::map<Device, MemoryMap, ByKindAndIndex>;

void add_tiles(Memory& memory, const Level& level, const Whose& whose) {
  for (const Level& l : level.below) add_tiles(memory, l, whose);
  if (!level.below.empty() || !level.resident) return;
  for (std::size_t i = 0; i < level.devices.size(); ++i)
    if (whose.here(level.places[i]) && !crosses_devices(level.grid.tiles[i].op))
      memory.try_emplace(level.devices[i], level.devices[i])
          .first->second.add(level.grid.tiles[i].op);
}

NamedLinop placed(const PlaceTile& place, const NamedLinop& tile, Device device, bool resident) {
  if (!crosses_devices(tile)) return place(tile, device, resident);
  require<SplitError>(tile.device() == device, batching, ": ", tile,
                      " says itself which devices it runs on and takes its input on ",
                      tile.device().value_or(cpu), ", not on ", device,
                      "; batch the operator that it was made of");
  return tile;
}

// Tiles side by side again. A dim of both sides makes blocks on a diagonal, one of the output rows,
// one of the input columns whose results are summed, one inside a chain terms of a sum. Sums stand
// innermost: what is added then lands in its place of the result.
class Joined {
 public:
  Joined(const NamedLinop& whole, const SplitGrid& grid, std::vector<NamedLinop> parts)
      : names_(whole.ishape(), whole.oshape()),
        grid_(grid),
        parts_(std::move(parts)),
        at_(grid.grid.size(), 0) {
    for (i64 k = 0; k < grid.grid.size(); ++k) order_.push_back(k);
    std::stable_sort(order_.begin(), order_.end(), [&](i64 a, i64 b) { return rank(a) < rank(b); });
  }
  NamedLinop operator()() { return along(0); }

 private:
  bool in(i64 k) const { return contains(names_.ishape, grid_.dims[k]); }
  bool out(i64 k) const { return contains(names_.oshape, grid_.dims[k]); }
  int rank(i64 k) const { return in(k) && out(k) ? 0 : out(k) ? 1 : in(k) ? 2 : 3; }

  NamedLinop along(std::size_t depth) {
    if (depth == order_.size()) {
      i64 flat = 0;
      for (i64 k = 0; k < at_.size(); ++k) flat = flat * grid_.grid[k] + at_[k];
      return parts_[static_cast<std::size_t>(flat)];
    }
    const i64 k = order_[depth];
    std::vector<NamedLinop> row;
    for (i64 i = 0; i < grid_.grid[k]; ++i) {
      at_[k] = i;
      row.push_back(along(depth + 1));
    }
    if (row.size() == 1) return row.front();
    if (!in(k) && !out(k)) return sum(std::move(row));
    return side_by_side(k, row);
  }

  // Not concat(): tiles may not know the size of the dim that they are cut along.
  NamedLinop side_by_side(i64 k, const std::vector<NamedLinop>& row) const {
    const std::vector<Cut>& cuts = grid_.ranges[static_cast<std::size_t>(k)];
    const i64 size = cuts.back().stop;
    Concat c;
    c.names = names_;
    if (in(k)) {
      c.idim = grid_.dims[k];
      c.isize = size;
    }
    if (out(k)) {
      c.odim = grid_.dims[k];
      c.osize = size;
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      const i64 start = cuts[i].start, n = cuts[i].size();
      c.blocks.push_back(
          {row[i], in(k) ? start : 0, in(k) ? n : 0, out(k) ? start : 0, out(k) ? n : 0});
    }
    return c;
  }

  NamedShape names_;
  const SplitGrid& grid_;
  std::vector<NamedLinop> parts_;
  std::vector<i64> order_;
  Shape at_;
};

// "tile C=0:4 @ sim:1": what trees, plans and traces call it.
std::string tile_name(const Tile& cuts, const RankDevice& place) {
  std::string text = "tile";
  for (const Cut& c : cuts.cuts) text += cat(" ", c.dim, "=", c.start, ":", c.stop);
  return cat(text, " @ ", place.str());
}

NamedLinop assembled(const PlaceTile& place, const NamedLinop& whole, const Level& level,
                     const Whose& whose) {
  std::vector<NamedLinop> parts;
  for (std::size_t i = 0; i < level.grid.tiles.size(); ++i) {
    const SplitTile& tile = level.grid.tiles[i];
    const Device device = level.devices[i];
    NamedLinop part = !whose.here(level.places[i]) ? NamedLinop(RemoteTile::of(tile.op))
                      : level.below.empty()        ? placed(place, tile.op, device, level.resident)
                                            : assembled(place, tile.op, level.below[i], whose);
    // Where a tile is on the base device, only the stream is another.
    if (device != level.base || level.base_stream)
      part = chain({ToDevice(level.at(level.base), level.at(device), part.ishape()), part});
    if (const Device end = part.output_device(level.base); end != level.base)
      part = chain({part, ToDevice(level.at(end), level.at(level.base), part.oshape())});
    if (level.grid.tiles.size() > 1 || device != level.base)
      part = part.named(tile_name(tile.cuts, whose.here(level.places[i])
                                                 ? RankDevice(level.places[i].rank, device)
                                                 : level.places[i]));
    parts.push_back(std::move(part));
  }
  return Joined(whole, level.grid, std::move(parts))();
}

std::string what_was_done(const NamedLinop& a, const Level& level) {
  std::string text =
      cat(a, " cut along ", to_text(level.grid.dims), " into ", level.grid.tiles.size(), " tiles");
  std::vector<std::string> distinct;
  for (std::size_t i = 0; i < level.places.size(); ++i) {
    const RankDevice& p = level.places[i];
    std::string d = p.rank == 0 ? level.devices[i].str() : p.str();
    if (std::find(distinct.begin(), distinct.end(), d) == distinct.end()) distinct.push_back(d);
  }
  return cat(text, " on ", join(distinct), ", input and output on ", level.base);
}

Level top_level(const NamedLinop& a, const std::vector<BatchSpec>& specs,
                const std::optional<Shape>& input, const Whose& whose = {}) {
  require<ArgumentError>(!specs.empty(), batching, ": ", a, ": no BatchSpec given");
  return plan_level(a, specs, a.device().value_or(cpu), input, whose);
}

NamedLinop assembled_as(const NamedLinop& a, const Level& top, const PlaceTile& place,
                        const Whose& whose = {}) {
  std::vector<std::string> notes = a.notes();
  notes.push_back(what_was_done(a, top));
  const NamedLinop batched = assembled(place, a, top, whose).noted(std::move(notes));
  return a.name() == a.kind() ? batched : batched.named(a.name());
}

NamedLinop in_memory(const NamedLinop& a, const Level& top, const Whose& whose) {
  Memory memory;
  add_tiles(memory, top, whose);
  return assembled_as(
      a, top,
      [&](const NamedLinop& tile, Device device, bool resident) {
        if (resident) return memory.at(device).place(tile);
        return tile.device().value_or(device) == device ? tile : NamedLinop(Fetched{tile, device});
      },
      whose);
}

}  // namespace

NamedLinop create_batched_linop(const NamedLinop& a, const std::vector<BatchSpec>& specs,
                                const std::optional<Shape>& input) {
  const NamedLinop tiles = in_memory(a, top_level(a, specs, input), {});
  const auto from = CutFrom::where_normals_differ(a, specs, input);
  if (!from) return tiles;
  const NamedLinop tiled = NamedLinop(Tiled{tiles.noted({}), *from}).noted(tiles.notes());
  return a.name() == a.kind() ? tiled : tiled.named(a.name());
}

TilesOfRank tiles_of_rank(const NamedLinop& a, const std::vector<BatchSpec>& specs,
                          const std::optional<Shape>& input, const OfRank& rank) {
  for (std::size_t i = 1; i < specs.size(); ++i) refuse_ranks(specs[i]);
  const Whose whose{rank};
  const Level top = top_level(a, specs, input, whose);
  TilesOfRank result{in_memory(a, top, whose), top.base, {}};
  for (std::size_t i = 0; i < top.places.size(); ++i)
    result.tiles.push_back({top.places[i].rank, top.grid.tiles[i].in, top.grid.tiles[i].out});
  return result;
}

NamedLinop batched_with(const NamedLinop& a, const std::vector<BatchSpec>& specs,
                        const std::optional<Shape>& input, const PlaceTile& place) {
  return assembled_as(a, top_level(a, specs, input), place);
}

NamedLinop create_batched_linop(const NamedLinop& a, const BatchSpec& spec,
                                const std::optional<Shape>& input) {
  return create_batched_linop(a, std::vector<BatchSpec>{spec}, input);
}

}  // namespace tessera
