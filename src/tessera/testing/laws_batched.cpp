// SPDX-License-Identifier: Apache-2.0
// An operator cut into tiles over several devices is the operator: forward, adjoint and normal, for
// tiles of 1, 2, 3, all but one and all elements along each dim, one to eight devices, one level
// and two, on streams of the run's or of the caller's. EverySpecEqualsTheWhole takes every size with every number of devices. In
// BatchesEqualTheWhole, which is cheap enough for slow devices, sanitizers and other dtypes, a
// fixed pattern says which sizes meet which devices.
#include <algorithm>
#include <optional>

#include "tessera/device/registry.hpp"
#include "tessera/split/batched.hpp"
#include "tessera/split/split_linop.hpp"
#include "tessera/tessera.hpp"
#include "tessera/testing/subject.hpp"

namespace tessera::laws {
namespace {

// Tiles of the k-th size along a dim of n: one, two, three, all but one (ragged), all.
i64 chunk(i64 n, int k) {
  const i64 sizes[] = {1, 2, 3, n - 1, n};
  return std::clamp<i64>(sizes[k % 5], 1, n);
}

// Number i of the devices over which a sample is spread: GPUs for one that is on a GPU, in turn
// where there are not so many.
Device numbered(Kind kind, int i) {
  return {kind, static_cast<std::int16_t>(i % compute_device(kind).count())};
}

DeviceMatrix first_devices(Kind kind, int n) {
  std::vector<RankDevice> places;
  places.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) places.emplace_back(numbered(kind, i));
  return places;
}

struct Expected {
  Array x, ax, hy, nx;
  explicit Expected(const Subject& s)
      : x(s.random_input(16)), ax(s.A(x)), hy(s.A.H()(ax)), nx(s.A.N()(x)) {}
};

// Every byte that the arrays mean, once.
i64 distinct_bytes(const std::vector<Array>& arrays) {
  std::vector<std::uintptr_t> all;
  for (const Array& a : arrays) {
    const auto start = reinterpret_cast<std::uintptr_t>(a.storage().data());
    const i64 item = size_of(a.dtype());
    for (i64 k = 0; k < a.size(); ++k) {
      i64 rest = k, offset = a.layout().offset;
      for (i64 i = a.ndim(); i-- > 0; rest /= a.shape(i))
        offset += rest % a.shape(i) * a.layout().strides[i];
      for (i64 b = 0; b < item; ++b)
        all.push_back(start + static_cast<std::uintptr_t>(offset * item + b));
    }
  }
  std::sort(all.begin(), all.end());
  return std::unique(all.begin(), all.end()) - all.begin();
}

// A device holds the bytes of its own tiles: what is allocated there is what they mean.
void check_bytes(Subject& s, const NamedLinop& b, const BatchSpec& spec) {
  if (!s.A.device()) return;  // what it holds is read when it is recorded, on no device
  const SplitGrid g = split_linop(s.A, spec.batch_sizes, s.sample.input);
  const DeviceMatrix where = spec.broadcast_device_matrix(s.A, s.sample.input);
  for (const RankDevice& p : spec.device_matrix.places) {
    if (p.device == s.A.device()) continue;
    std::vector<Array> mine;
    for (std::size_t i = 0; i < g.tiles.size(); ++i)
      if (where.places[i] == p)
        for (const Array& a : g.tiles[i].op.arrays()) mine.push_back(a);
    std::vector<Storage> held;
    i64 bytes = 0;
    for (const Array& a : b.arrays())
      if (a.device() == p.device &&
          std::find(held.begin(), held.end(), a.storage()) == held.end()) {
        held.push_back(a.storage());
        bytes += a.storage().bytes();
      }
    const i64 expected = distinct_bytes(mine);
    s.expect(bytes == expected, spec.str(), ": ", p.str(), " holds ", bytes, " bytes, its tiles ",
             expected);
  }
}

void check(Subject& s, const Expected& e, const std::vector<BatchSpec>& specs, Device base) {
  const NamedLinop b = create_batched_linop(s.A, specs, s.sample.input);
  const std::string who = text_of(specs);
  const Array x = e.x.to(base), y = e.ax.to(base), before = x.copy();
  s.expect(b.ishape() == s.A.ishape() && b.oshape() == s.A.oshape(), who, " maps ", b.shape());
  const double tolerance = 4 * s.tolerance();
  const bool right =
      s.expect_near(b(x).to(e.ax.device()), e.ax, tolerance, cat("forward, ", who)) &&
      s.expect_near(b.H()(y).to(e.hy.device()), e.hy, tolerance, cat("adjoint, ", who)) &&
      s.expect_near(b.N()(x).to(e.nx.device()), e.nx, 4 * tolerance, cat("normal, ", who));
  s.expect(right, "the operator was\n", b.tree());
  s.expect(difference(x, before) == 0, who, ": the input has changed");
  if (specs.size() == 1 && !specs.front().device_matrix.empty()) check_bytes(s, b, specs.front());
}

// Streams of the caller's: transfers go on one of the first tile's device, or every other time of
// the base device, where that is not the host.
void name_streams(BatchSpec& spec, Device base, int turn) {
  const std::vector<RankDevice>& places = spec.device_matrix.places;
  const Device first = places.empty() ? base : places.front().device;
  spec.base_stream = Stream(base);
  spec.transfer_stream = Stream(turn % 2 && base != cpu ? base : first);
}

// The sizes of tiles along a dim that make different grids.
std::vector<i64> chunks(i64 n) {
  std::vector<i64> all;
  for (int k = 0; k < 5; ++k)
    if (std::find(all.begin(), all.end(), chunk(n, k)) == all.end()) all.push_back(chunk(n, k));
  return all;
}

// What the tiles of `size` elements along dim i are cut into: tiles along the next dim, of every
// size in turn, every other time with devices of their own. Nothing where they stay as they are.
std::optional<BatchSpec> second_level(const std::vector<Sized>& dims, std::size_t i, i64 size,
                                      int turn, Kind kind) {
  const bool alone = dims.size() == 1;
  const Sized& d = dims[(i + 1) % dims.size()];
  const i64 n = alone ? size : d.size, inner = n > 12 ? n - 1 : chunk(n, turn % 4);
  if (inner >= n) return std::nullopt;
  BatchSpec spec{.batch_sizes = {{d.dim, inner}}};
  if (turn % 2) spec.device_matrix = {RankDevice(cpu), RankDevice(numbered(kind, 3))};
  return spec;
}

void check_refusal(Subject& s, const Sized& d) {
  try {
    (void)create_batched_linop(s.A, {.batch_sizes = {{d.dim, 1}}}, s.sample.input);
    s.expect(false, "was cut along '", d.dim, "', expected a SplitError");
  } catch (const SplitError& e) {
    const std::string text = e.what();
    s.expect(text.find(cat("'", d.dim, "'")) != std::string::npos,
             "the error does not name the dim: ", text);
  }
}

void try_out(Subject& s, const Expected& e, const std::vector<BatchSpec>& specs, Device base) {
  try {
    check(s, e, specs, base);
  } catch (const std::exception& error) {
    s.expect(false, text_of(specs), ": ", error.what());
  }
}

// An operator that goes between devices by itself is cut where it is, for inputs and outputs on any
// device, and refuses to be put elsewhere.
void check_bound(Subject& s, const Expected& e, BatchSpec spec, std::optional<BatchSpec> inner) {
  try {
    (void)create_batched_linop(s.A, spec, s.sample.input);
    s.expect(false, spec.str(), ": was put elsewhere, expected a SplitError");
  } catch (const SplitError& error) {
    const std::string text = error.what();
    s.expect(text.find(s.A.kind()) != std::string::npos && text.find("sim:0") != std::string::npos,
             "the error does not name the operator and the device: ", text);
  }
  const Device base = spec.device_matrix.places.back().device;  // that of the last tile
  spec.device_matrix = {RankDevice(*s.A.device())};
  for (const Device d : {cpu, base}) {
    spec.base_device = d;
    try_out(s, e, {spec}, d);
    if (!inner) continue;
    inner->device_matrix = {};
    try_out(s, e, {spec, *inner}, d);
  }
}

std::vector<Sized> cut_dims(const Subject& s) {
  std::vector<Sized> dims = sized_dims(s.A, s.sample.input);
  std::erase_if(dims, [&](const Sized& d) { return contains(s.sample.unsplittable, d.dim); });
  return dims;
}

Kind kind_of_tiles(const Subject& s) {
  return s.device.kind == Kind::cuda ? Kind::cuda : Kind::sim;
}

// Complex64 takes every pattern; real numbers and other devices a few, for what differs there.
bool wanted(const Subject& s, int k) {
  if (s.dtype == DType::c64 && s.device == cpu) return true;
  if (s.dtype == DType::c64) return k == 1 || k == 4 || k == 6;
  return s.dtype == DType::f32 && (k == 2 || k == 5);
}

}  // namespace

bool bound_to_devices(const NamedLinop& a) {
  const std::vector<NamedLinop> parts = a.parts();
  return a.offers().transfer() || std::any_of(parts.begin(), parts.end(), bound_to_devices);
}

// Pattern k: k+1 devices; from the sixth on pairs of dims, in the last one after the other.
std::vector<BatchSpec> batch_pattern(const std::vector<Sized>& dims, int k, Kind kind,
                                     Device base) {
  const std::size_t n = dims.size(), at = static_cast<std::size_t>(k);
  const Sized &first = dims[at % n], &second = dims[(at + 1) % n];
  BatchSpec spec{.batch_sizes = {{first.dim, chunk(first.size, k)}},
                 .device_matrix = first_devices(kind, k + 1),
                 .base_device = base};
  if (k < 5) return {spec};
  if (k < 7 && n > 1) {
    spec.batch_sizes.emplace_back(second.dim, chunk(second.size, k + 1));
    return {spec};
  }
  spec.batch_sizes.front().second = std::max<i64>(1, (first.size + 1) / 2);
  BatchSpec inner{.batch_sizes = {{second.dim, 1}}};
  if (k == 7) inner.device_matrix = {RankDevice(base), RankDevice(numbered(kind, 3))};
  return {spec, inner};
}

std::string text_of(const std::vector<BatchSpec>& specs) {
  std::string text;
  for (const BatchSpec& s : specs) text += cat(text.empty() ? "" : " then ", s.str());
  return text;
}

void batches_equal_the_whole(Subject& s) {
  if (s.dtype != DType::c64 && s.dtype != DType::f32) return;  // tiles do not look at numbers
  for (const Sized& d : sized_dims(s.A, s.sample.input))
    if (contains(s.sample.unsplittable, d.dim)) check_refusal(s, d);
  const std::vector<Sized> dims = cut_dims(s);
  if (dims.empty()) return;
  const Expected e(s);
  const bool bound = bound_to_devices(s.A);
  const Kind kind = kind_of_tiles(s);
  for (int k = 0; k < batch_patterns; ++k) {
    if (!wanted(s, k) || !in_share(s.sample, k)) continue;
    const Device base = bound ? s.A.device().value_or(cpu) : k % 2 ? Device{kind, 0} : cpu;
    std::vector<BatchSpec> specs = batch_pattern(dims, k, kind, base);
    if (bound)
      for (BatchSpec& spec : specs) spec.device_matrix = {};
    if (k % 3 == 1 && !bound) name_streams(specs.front(), base, k);
    try_out(s, e, specs, base);
  }
}

// All numbers of devices with all tiles, but for grids of hundreds of tiles: each takes two numbers
// of eight, the next grid two others; and what is cut twice has few tiles at first. Every operator
// has small samples besides. TESSERA_LARGE takes everything.
void every_spec_equals_the_whole(Subject& s) {
  constexpr i64 few = 12, many = 64;
  const std::vector<Sized> dims = cut_dims(s);
  if (s.dtype != DType::c64 || s.device != cpu || dims.empty()) return;
  const Expected e(s);
  const Kind kind = kind_of_tiles(s);
  const bool bound = bound_to_devices(s.A);
  int turn = 0, grids = 0;
  for (std::size_t i = 0; i < dims.size(); ++i)
    for (const i64 size : chunks(dims[i].size)) {
      const i64 tiles = (dims[i].size + size - 1) / size;
      BatchSpec spec{.batch_sizes = {{dims[i].dim, size}}, .base_device = cpu};
      DeviceMatrix seen;
      ++grids;
      for (int n = 1; n <= 8; ++n) {
        spec.device_matrix = first_devices(kind, n);
        const DeviceMatrix where = spec.broadcast_device_matrix(s.A, s.sample.input);
        // Devices beyond the last tile have none: the same tiles on the same devices again.
        if (n > tiles) {
          s.expect(where.places == seen.places, spec.str(), ": other devices than with ", tiles);
          continue;
        }
        seen = where;
        ++turn;
        const bool in_turn = tiles <= many || (n + grids) % 4 == 0;
        if ((!in_turn && !everything()) || !in_share(s.sample, turn)) continue;
        const auto inner =
            tiles <= few || everything() ? second_level(dims, i, size, turn, kind) : std::nullopt;
        if (bound) {
          check_bound(s, e, spec, inner);
          continue;
        }
        BatchSpec first = spec;
        if (turn % 3 == 0) name_streams(first, cpu, turn);
        try_out(s, e, {first}, cpu);
        if (inner) try_out(s, e, {first, *inner}, cpu);
      }
    }
}

}  // namespace tessera::laws
