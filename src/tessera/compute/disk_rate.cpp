// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/disk_rate.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "tessera/base/text_file.hpp"
#include "tessera/compute/calibrate.hpp"
#include "tessera/store/tiers/backing_name.hpp"
#include "tessera/store/tiles/tiled_file.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view word = "disk ";
constexpr i64 tile_bytes = i64{4} << 20, tiles = 8;
constexpr int probes = 9;
constexpr double under_way = 16;  // transfers that wait together

double seconds_since(Clock::time_point start) {
  return std::max(1e-9, std::chrono::duration<double>(Clock::now() - start).count());
}

// All tiles, in one go; seconds.
template <class Move>
double all_tiles(const store::TileGrid& grid, Move move) {
  const auto start = Clock::now();
  std::vector<store::Transfer> transfers;
  for (i64 k = 0; k < grid.tiles(); ++k) transfers.push_back(move(grid.tile(k), k));
  for (const store::Transfer& t : transfers) t.wait();
  return seconds_since(start);
}

DiskRate rate_of(store::TileStore& file) {
  const store::TileGrid& grid = file.grid();
  const Array numbers = Array::empty({grid.tiles(), grid.tile_shape()[0]}, DType::f64);
  for (i64 k = 0; k < grid.tiles(); ++k) numbers.select(0, k).fill(Value(1.0 / double(k + 3)));
  const auto row = [&](i64 k) { return numbers.select(0, k); };
  const auto bytes = double(grid.bytes());
  DiskRate rate;
  rate.written = bytes / all_tiles(grid, [&](const store::Box& box, i64 k) {
                   return file.write(box, row(k));
                 });
  rate.read =
      bytes / all_tiles(grid, [&](const store::Box& box, i64 k) { return file.read(box, row(k)); });
  std::vector<double> times;
  for (int k = 0; k < probes; ++k) {
    const store::Box box{{(k * grid.shape()[0] / probes) / 512 * 512}, {512}};
    const auto start = Clock::now();
    store::read_box(file, box);
    times.push_back(seconds_since(start));
  }
  std::nth_element(times.begin(), times.begin() + probes / 2, times.end());
  rate.latency = times[probes / 2];
  return rate;
}

std::optional<DiskRate> parsed(std::string_view line, std::string_view folder) {
  if (!is_line_of_disk(line)) return std::nullopt;
  line.remove_prefix(word.size());
  DiskRate rate;
  for (double* value : {&rate.read, &rate.written, &rate.latency}) {
    const std::size_t space = line.find(' ');
    if (space == line.npos) return std::nullopt;
    const auto [end, error] = std::from_chars(line.data(), line.data() + space, *value);
    if (error != std::errc{} || end != line.data() + space || !(*value > 0) ||
        !std::isfinite(*value))
      return std::nullopt;
    line.remove_prefix(space + 1);
  }
  if (line != folder) return std::nullopt;
  return rate;
}

}  // namespace

double DiskRate::seconds(i64 read_bytes, i64 written_bytes, i64 transfers) const {
  return double(read_bytes) / read + double(written_bytes) / written +
         double(transfers) * latency / under_way;
}

bool is_line_of_disk(std::string_view line) { return line.starts_with(word); }

std::optional<DiskRate> measured_disk_rate(const std::string& folder) {
  const std::string path =
      (std::filesystem::path(folder) / store::BackingName::fresh("speed").str()).string();
  const i64 numbers = tile_bytes / size_of(DType::f64);
  const store::TileGrid grid({tiles * numbers}, {numbers}, DType::f64);
  std::optional<DiskRate> rate;
  try {
    rate = rate_of(*store::create_tiled_file(path, grid));
  } catch (const Error&) {
    // No leave to write there, or no room: nothing is known.
  }
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return rate;
}

std::optional<DiskRate> cached_disk_rate(const std::string& path, const std::string& folder) {
  if (path.empty()) return measured_disk_rate(folder);
  const std::string key = cost_cache_key();
  std::string text = read_text(path).value_or("");
  if (!text.starts_with(key)) text = key;
  for (const std::string_view line : lines_of(text))
    if (const auto rate = parsed(line, folder)) return rate;
  const auto rate = measured_disk_rate(folder);
  if (rate && folder.find('\n') == folder.npos)
    replace_text(path, cat(text, word, rate->read, ' ', rate->written, ' ', rate->latency, ' ',
                           folder, '\n'));
  return rate;
}

const CostModel& host_costs() {
  static const CostModel costs = [] {
    const Device host[] = {cpu};
    return cached_costs(cost_cache_path(), host);
  }();
  return costs;
}

}  // namespace tessera
