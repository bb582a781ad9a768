// SPDX-License-Identifier: Apache-2.0
// The order of sorted points: that of a stable sort by tiles, on every device and whatever the number
// of threads.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/arrays.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/interpolate/interpolate.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera {
namespace {

struct Sorting {
  Shape grid;
  SpreadKernel kernel;
  i64 count;
};

// From the definition: the tile of the first neighbour, and its half along the first two of several
// axes, in whole numbers.
struct Place {
  i64 tile = 0, cell = 0;
  bool operator<(const Place& b) const {
    return tile < b.tile || (tile == b.tile && cell < b.cell);
  }
};
Place place_by_definition(const double* loc, const Shape& grid, const SpreadKernel& k) {
  const SpreadTiles tiles(grid, k);
  Place at;
  for (i64 a = 0; a < grid.size(); ++a) {
    const double width = k.width[k.width.size() == 1 ? 0 : a];
    const i64 first = static_cast<i64>(std::ceil(loc[a] - width / 2)), n = grid[a];
    const i64 index = k.circular ? (first % n + n) % n : std::clamp<i64>(first, 0, n - 1);
    const i64 tile = std::min(index / tiles.length[a], tiles.count[a] - 1);
    at.tile = at.tile * tiles.count[a] + tile;
    if (grid.size() == 1 || a == 2) continue;
    const i64 inside = index - tile * tiles.length[a];
    at.cell = 2 * at.cell + (2 * inside + 1 >= tiles.length[a] ? 1 : 0);
  }
  return at;
}

TEST(GridPoints, AreInTheOrderOfAStableSort) {
  std::vector<Device> places{test_device()};
  if (test_device() == cpu) places.push_back(Device::parse("sim:0"));
  const std::vector<Sorting> all{{{1}, {.width = {2.0}}, 7},
                                 {{5000}, {.width = {0.1}}, 3000},
                                 {{1537}, {.width = {4.0}}, 200000},
                                 {{320, 321}, {.width = {4.0, 6.0}}, 100000},
                                 {{64, 37}, {.width = {3.0}, .circular = false}, 50000},
                                 {{25, 60, 36}, {.width = {4.0}}, 70000},
                                 {{13, 12, 47}, {.width = {14.0}, .circular = false}, 40000},
                                 {{3, 2, 5}, {.width = {20.0}}, 1000},
                                 {{700, 600}, {.width = {4.0}}, 3},  // tiles without points
                                 {{40, 40}, {.width = {4.0}}, 0}};
  const int before = num_threads();
  for (const Sorting& c : all) {
    const i64 axes = c.grid.size();
    const Array u = Random(5).uniform({c.count, axes}, DType::f64).contiguous();
    std::vector<double> at;
    for (i64 i = 0; i < u.size(); ++i) {
      const double n = static_cast<double>(c.grid[i % axes]), v = u.host<double>()[i];
      // On grid points, on the seams of tiles, at the ends and between.
      at.push_back(i % 3 == 0 ? std::floor(v * n) : std::min(v * n, std::nextafter(n, 0)));
    }
    std::vector<Place> places_of;
    std::vector<i64> order(static_cast<std::size_t>(c.count));
    for (i64 i = 0; i < c.count; ++i)
      places_of.push_back(place_by_definition(at.data() + i * axes, c.grid, c.kernel));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) {
      return places_of[static_cast<std::size_t>(a)] < places_of[static_cast<std::size_t>(b)];
    });
    for (int run = 0; run < 3 * static_cast<int>(places.size()); ++run) {
      const Device where = places[static_cast<std::size_t>(run / 3)];
      set_num_threads(run % 3 == 0 ? 1 : run % 3 == 1 ? 3 : 8);
      const GridPoints p = make_grid_points(
          laid_out<double>({c.count, axes}, at, Lay::dense, where), c.grid, c.kernel);
      EXPECT_EQ(p.device(), where);
      EXPECT_EQ(values_of<i64>(p.order), order);
      const std::vector<i64> starts = values_of<i64>(p.starts);
      const std::vector<double> locs = values_of<double>(p.locs);
      ASSERT_EQ(static_cast<i64>(starts.size()), count_of(SpreadTiles(c.grid, c.kernel).count) + 1);
      EXPECT_EQ(starts.front(), 0);
      EXPECT_EQ(starts.back(), c.count);
      for (std::size_t t = 0; t + 1 < starts.size(); ++t)
        for (i64 i = starts[t]; i < starts[t + 1]; ++i) {
          const i64 from = order[static_cast<std::size_t>(i)];
          ASSERT_EQ(places_of[static_cast<std::size_t>(from)].tile, static_cast<i64>(t));
          for (i64 a = 0; a < axes; ++a)
            ASSERT_EQ(locs[static_cast<std::size_t>(i * axes + a)],
                      at[static_cast<std::size_t>(from * axes + a)]);
        }
    }
    set_num_threads(before);
  }
}

// Locations off the grid come into it, or near its ends, as on the host.
TEST(GridPoints, OffTheGridTheyAreThoseOfTheHost) {
  const Device there = test_device() == cpu ? Device::parse("sim:0") : test_device();
  for (bool circular : {true, false})
    for (DType t : {DType::f64, DType::f32, DType::i32}) {
      const Array at = ops::multiply(Random(8).normal({3000, 2}, DType::f64), 90.0).astype(t);
      const SpreadKernel k{.width = {5.0}, .circular = circular};
      const GridPoints here = make_grid_points(at.to(there), {70, 33}, k),
                       host = make_grid_points(at.to(cpu), {70, 33}, k);
      EXPECT_EQ(values_of<double>(here.locs), values_of<double>(host.locs));
      EXPECT_EQ(values_of<i64>(here.order), values_of<i64>(host.order));
      EXPECT_EQ(values_of<i64>(here.starts), values_of<i64>(host.starts));
    }
}

// Frequencies are the positions that they mean, on every device, however far off.
TEST(GridPoints, FrequenciesLieWhereTheirPositionsDo) {
  const Device there = test_device() == cpu ? Device::parse("sim:0") : test_device();
  const Shape grid{60, 33, 21};
  const Frequencies of{{40, 33, 7}, {30, 0, -10}, true};
  const Array k = ops::multiply(Random(9).uniform({4001, 3}, DType::f64, cpu, -1, 1), 90.0);
  std::vector<double> at = values_of<double>(k);
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double n = static_cast<double>(grid[static_cast<i64>(i % 3)]),
                 x = at[i] * n / static_cast<double>(of.image[static_cast<i64>(i % 3)]) +
                     static_cast<double>(of.zero[static_cast<i64>(i % 3)]);
    at[i] = x - n * std::floor(x / n);
  }
  const Array positions = laid_out<double>({4001, 3}, at, Lay::dense, cpu);
  const SpreadKernel kernel{.width = {4.0}};
  const GridPoints want = make_grid_points(positions, grid, kernel);
  EXPECT_EQ(values_of<double>(grid_positions(k, grid, of)), at);
  for (Device where : {Device(cpu), there}) {
    const GridPoints got = make_grid_points(k.to(where), grid, kernel, "Points", of);
    EXPECT_EQ(got.device(), where);
    EXPECT_EQ(values_of<i64>(got.order), values_of<i64>(want.order));
    EXPECT_EQ(values_of<i64>(got.starts), values_of<i64>(want.starts));
    EXPECT_EQ(values_of<double>(got.locs), values_of<double>(want.locs));
    EXPECT_EQ(values_of<double>(grid_positions(k.to(where), grid, of)), at);
    const std::string text = thrown_text<ArgumentError>([&] {
      (void)make_grid_points(k.to(where), grid, kernel, "Points", {of.image, of.zero, false});
    });
    EXPECT_NE(text.find("expected cycles per field of view"), std::string::npos) << text;
  }
}

TEST(GridPoints, TheFirstLocationThatIsNotFiniteIsNamed) {
  std::vector<double> at(100000, 0.5);
  at[70001] = at[90000] = std::numeric_limits<double>::infinity();
  std::vector<Device> places{test_device()};
  if (test_device() == cpu) places.push_back(Device::parse("sim:0"));
  for (Device where : places) {
    const std::string text = thrown_text<ArgumentError>([&] {
      (void)make_grid_points(laid_out<double>({50000, 2}, at, Lay::dense, where), {8, 8}, {},
                             "Points");
    });
    EXPECT_EQ(text, "Points: location 35000 is inf along axis 1; locations must be finite");
  }
}

// Points are sorted when they are first used: an array may have changed since it was checked.
TEST(GridPoints, WhatIsNotFiniteAnyMoreGetsAPlace) {
  const double inf = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> at(600, 2.5);
  at[0] = at[301] = nan;
  at[100] = inf;
  at[599] = -inf;
  std::vector<Device> places{test_device()};
  if (test_device() == cpu) places.push_back(Device::parse("sim:0"));
  for (bool circular : {true, false})
    for (Device where : places) {
      const SpreadKernel k{.width = {3.0, 3.0}, .circular = circular};
      const GridPoints p =
          sorted_points(laid_out<double>({300, 2}, at, Lay::dense, where), {70, 33}, k);
      EXPECT_EQ(values_of<i64>(p.starts).front(), 0);
      EXPECT_EQ(values_of<i64>(p.starts).back(), 300);
      for (double x : values_of<double>(p.locs)) {
        EXPECT_GE(x, circular ? 0 : -5);
        EXPECT_LT(x, circular ? 70 : 76);
      }
    }
}

}  // namespace
}  // namespace tessera
