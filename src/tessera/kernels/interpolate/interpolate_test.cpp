// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/interpolate/interpolate.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "support/arrays.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/interpolate/piecewise.hpp"
#include "tessera/kernels/interpolate/regions.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera {
namespace {

using Numbers = std::vector<std::complex<double>>;

// I0 by its integral: (1/pi) * integral over [0, pi] of exp(x cos t), which the trapezoidal rule
// gives to full precision.
double bessel_i0(double x) {
  constexpr int n = 200;
  double sum = (std::exp(x) + std::exp(-x)) / 2;
  for (int k = 1; k < n; ++k) sum += std::exp(x * std::cos(M_PI * k / n));
  return sum / n;
}

double kernel_value(const SpreadKernel& k, double u) {
  if (u > 1 + 1e-12) return 0;
  if (k.kind == SpreadKind::spline) return std::max(0.0, 1 - u);
  return k.scale * bessel_i0(k.beta * std::sqrt(std::max(0.0, 1 - u * u)));
}

// weight[point][grid point], summed over the periods of a circular grid: from the definition.
std::vector<std::vector<double>> matrix(const std::vector<double>& locs, const Shape& grid,
                                        const SpreadKernel& k) {
  const i64 axes = grid.size(), cells = count_of(grid);
  const i64 reach = k.circular ? 40 : 0;
  std::vector<std::vector<double>> m;
  for (std::size_t p = 0; p < locs.size(); p += static_cast<std::size_t>(axes)) {
    std::vector<double> row(static_cast<std::size_t>(cells), 0);
    for (i64 c = 0; c < cells; ++c) {
      // The periods of each axis that lie within the kernel.
      std::vector<std::vector<double>> near(3, {0.0});
      i64 rest = c;
      for (i64 a = axes - 1; a >= 0; --a) {
        const double width = k.width[k.width.size() == 1 ? 0 : a];
        near[static_cast<std::size_t>(a)].clear();
        for (i64 period = -reach; period <= reach; ++period) {
          const double d = std::abs(static_cast<double>(rest % grid[a] + period * grid[a]) -
                                    locs[p + static_cast<std::size_t>(a)]) /
                           (width / 2);
          if (d <= 1) near[static_cast<std::size_t>(a)].push_back(d);
        }
        rest /= grid[a];
      }
      for (double x : near[0])
        for (double y : near[1])
          for (double z : near[2]) {
            if (k.norm == 2) {
              row[static_cast<std::size_t>(c)] += kernel_value(k, std::sqrt(x * x + y * y + z * z));
              continue;
            }
            double w = kernel_value(k, x);
            if (axes > 1) w *= kernel_value(k, y);
            if (axes > 2) w *= kernel_value(k, z);
            row[static_cast<std::size_t>(c)] += w;
          }
    }
    m.push_back(row);
  }
  return m;
}

struct Example {
  const char* label;
  Shape grid;
  SpreadKernel kernel;
};

const std::vector<Example>& examples() {
  using enum SpreadKind;
  static const std::vector<Example> all{
      {"line", {11}, {.width = {4.0}}},
      {"line with an end", {11}, {.width = {3.0}, .circular = false}},
      {"narrow", {7}, {.width = {1.3}, .beta = 2}},
      {"one point", {1}, {.width = {2.0}}},
      {"wider than the grid", {3}, {.width = {7.0}, .kind = spline}},
      {"plane", {6, 9}, {.width = {4.0}, .beta = 7}},
      {"tiny plane", {2, 2}, {.width = {2.0}, .kind = spline}},
      {"widths per axis", {8, 5}, {.width = {2.0, 3.5}, .kind = spline}},
      {"plane by distance", {9, 7}, {.width = {4.0, 3.0}, .beta = 3, .norm = 2}},
      {"spline by distance",
       {9, 7},
       {.width = {4.0}, .kind = spline, .norm = 2, .circular = false}},
      {"volume", {5, 6, 7}, {.width = {4.0}, .beta = 6.9966590}},
      {"volume with ends", {5, 6, 7}, {.width = {3.0}, .beta = 5, .circular = false}},
      {"volume by distance", {5, 4, 7}, {.width = {3.0, 2.0, 4.0}, .beta = 4, .norm = 2}},
      {"wide", {40}, {.width = {20.0}, .beta = 30}},
      {"many tiles", {70, 131}, {.width = {4.0}, .beta = 6}},
      {"many tiles, odd", {110, 40}, {.width = {3.0}, .beta = 6, .circular = false}}};
  return all;
}

std::vector<double> locations(const Shape& grid, i64 count, std::uint64_t seed) {
  std::vector<double> locs;
  const Array u = Random(seed).uniform({count, grid.size()}, DType::f64).contiguous();
  for (i64 i = 0; i < u.size(); ++i) {
    const double n = static_cast<double>(grid[i % grid.size()]), v = u.host<double>()[i];
    // Off the grid, on its points, at its ends and beyond them.
    locs.push_back(i % 5 == 0 ? std::floor(v * n) : i % 7 == 0 ? -0.25 + v : v * (n + 1) - 0.5);
  }
  return locs;
}

// `scale`: what rounding is measured by, where sums cancel; else the largest number.
void expect_close(const Numbers& got, const Numbers& want, double tolerance, double scale = 0) {
  ASSERT_EQ(got.size(), want.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    scale = std::max(scale, std::abs(want[i]));
    worst = std::abs(got[i] - want[i]) > worst || !(std::abs(got[i] - want[i]) >= 0)
                ? std::abs(got[i] - want[i])
                : worst;
  }
  EXPECT_FALSE(!(worst <= tolerance * scale)) << worst << " of " << scale;
}

// So many points that a device takes the grid by pieces in both directions.
i64 points_for_pieces(const Shape& grid, double width) {
  const double least = std::max(cuda::least_taps_to_read_pieces, cuda::least_taps_to_grid_volume),
               taps = std::pow(width, static_cast<double>(grid.size()));
  return std::max<i64>(2000,
                       static_cast<i64>(1.2 * least * static_cast<double>(count_of(grid)) / taps));
}

class Interpolate : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Interpolate, IsTheSumOfItsDefinitionInBothDirections) {
  const Example& e = examples()[GetParam()];
  const i64 count = 23, cells = count_of(e.grid);
  const std::vector<double> locs = locations(e.grid, count, GetParam() + 1);
  const auto m = matrix(locs, e.grid, e.kernel);
  const GridPoints points = make_grid_points(
      laid_out<double>({count, e.grid.size()}, locs, Lay::exchanged), e.grid, e.kernel);
  EXPECT_EQ(points.count(), count);
  for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (Lay lay : {Lay::dense, Lay::gaps, Lay::exchanged}) {
      const double tolerance = 200 * epsilon_of(t);
      Shape grid = e.grid;
      grid.insert(0, 11);  // more batches than one group
      i64 size = 0;
      const Array dense = Random(7).normal(grid, t, test_device());
      const Layout layout = layout_of(grid, lay, &size);
      const Array x =
          Array(Storage::allocate(test_device(), size * size_of(t)), Layout::contiguous({size}), t)
              .view(layout);
      x.copy_from(dense);
      const Numbers xs = numbers_of(x);
      Numbers want;
      for (i64 b = 0; b < 11; ++b)
        for (const auto& row : m) {
          want.emplace_back();
          for (i64 c = 0; c < cells; ++c)
            want.back() +=
                row[static_cast<std::size_t>(c)] * xs[static_cast<std::size_t>(b * cells + c)];
        }
      expect_close(numbers_of(interpolate(x, points)), want, tolerance);

      const Array y = Random(8).normal({11, count}, t, test_device());
      const Numbers ys = numbers_of(y);
      Numbers back(static_cast<std::size_t>(11 * cells));
      for (i64 b = 0; b < 11; ++b)
        for (i64 p = 0; p < count; ++p)
          for (i64 c = 0; c < cells; ++c)
            back[static_cast<std::size_t>(b * cells + c)] +=
                m[static_cast<std::size_t>(p)][static_cast<std::size_t>(c)] *
                ys[static_cast<std::size_t>(b * count + p)];
      expect_close(numbers_of(interpolate_adjoint(y, points)), back, tolerance);
    }
}

INSTANTIATE_TEST_SUITE_P(Examples, Interpolate, ::testing::Range<std::size_t>(0, examples().size()),
                         [](const auto& info) {
                           std::string s = examples()[info.param].label;
                           for (char& c : s)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return s;
                         });

TEST(InterpolateKernel, GriddingDoesNotDependOnTheThreads) {
  if (test_device() != cpu) GTEST_SKIP() << "about the threads of the cpu";
  const Shape grid{101, 67};
  const std::vector<double> locs = locations(grid, 5000, 3);
  const GridPoints points =
      make_grid_points(laid_out<double>({5000, 2}, locs), grid, {.width = {4.0}, .beta = 7});
  const int before = num_threads();
  for (i64 batches : {1, 3, 19}) {  // 19: in one piece on one thread, in groups on several
    const Array y = Random(1).normal({batches, 5000}, DType::c64);
    std::vector<std::vector<c64>> results;
    for (int n : {1, 2, 3, 8}) {
      set_num_threads(n);
      results.push_back(values_of<c64>(interpolate_adjoint(y, points)));
    }
    set_num_threads(before);
    for (const auto& r : results) EXPECT_TRUE(r == results[0]);
  }
}

TEST(InterpolateKernel, GriddingGivesTheSameBitsEveryTime) {
  for (const Shape& grid : {Shape{90}, Shape{64, 50}, Shape{20, 24, 22}})
    for (DType t : {DType::c64, DType::c128}) {
      const i64 axes = grid.size();
      const GridPoints points =
          make_grid_points(laid_out<double>({4000, axes}, locations(grid, 4000, 3)), grid,
                           {.width = {4.0}, .beta = 7})
              .to(test_device());
      const Array y = Random(1).normal({5, 4000}, t, test_device());
      const auto first = numbers_of(interpolate_adjoint(y, points));
      for (int again = 0; again < 3; ++again)
        EXPECT_TRUE(numbers_of(interpolate_adjoint(y, points)) == first);
    }
}

// A device may cut single precision in another way: points in one place, on the grid, at its ends
// and hardly any, on grids whose last tiles are long and short, beside double precision.
TEST(InterpolateKernel, GriddingIsTheSameInBothPrecisions) {
  for (const Shape& grid : {Shape{41, 63}, Shape{97, 111}, Shape{40, 160}})
    for (double width = 2; width <= 9; ++width)
      for (i64 count : {3, 5000}) {
        std::vector<double> locs = locations(grid, count, 6);
        for (std::size_t i = 0; i < locs.size() / 2; ++i)  // a tile with most of the points
          locs[i] = 20 + locs[i] / 40;
        const SpreadKernel k{.width = {width}, .beta = 1.5 * width};
        const GridPoints points = make_grid_points(laid_out<double>({count, 2}, locs), grid, k);
        for (i64 batches : {1, 5}) {
          const Array y = Random(2).normal({batches, count}, DType::c64, test_device());
          expect_close(numbers_of(interpolate_adjoint(y, points)),
                       numbers_of(interpolate_adjoint(y.astype(DType::c128), points)), 2e-5);
        }
      }
}

// A value that is not finite reaches its neighbours, and no other element.
TEST(InterpolateKernel, InfiniteValuesStayAmongNeighbours) {
  const Shape grid{24, 40};
  const std::vector<double> locs = locations(grid, 30, 4);
  const SpreadKernel k{.width = {4.0}, .beta = 7};
  const auto m = matrix(locs, grid, k);
  const GridPoints points =
      make_grid_points(laid_out<double>({30, 2}, locs), grid, k).to(test_device());
  Numbers values(30, 1.0);
  values[7] = std::numeric_limits<double>::infinity();
  const Array y = laid_out<c128>({30},
                                 [&] {
                                   std::vector<c128> v;
                                   for (const auto& z : values) v.emplace_back(z.real(), z.imag());
                                   return v;
                                 }())
                      .to(test_device());
  const Numbers got = numbers_of(interpolate_adjoint(y, points));
  for (std::size_t c = 0; c < got.size(); ++c)
    EXPECT_EQ(std::isfinite(got[c].real()), m[7][c] == 0) << "element " << c;
}

// Reading one adds no NaN to it, whatever the width: nothing is read that weighs nothing, and no
// neighbour is read twice.
TEST(InterpolateKernel, PointsBesideAnInfiniteElementAreInfinite) {
  for (const Shape& grid : {Shape{40}, Shape{36, 41}, Shape{18, 17, 19}})
    for (double width = 2; width <= 9; ++width)
      for (bool many : {false, true}) {
        const i64 axes = grid.size(), count = many ? points_for_pieces(grid, width) : 60;
        std::vector<double> locs = locations(grid, count, 4);
        for (std::size_t i = 0; i < locs.size() / 4; ++i)  // on the grid: one tap more
          locs[i] = std::floor(locs[i]) + (static_cast<i64>(width) % 2 == 0 ? 0 : 0.5);
        const SpreadKernel k{.width = {width}, .beta = 5};
        const GridPoints points = make_grid_points(laid_out<double>({count, axes}, locs), grid, k);
        std::vector<c64> values(static_cast<std::size_t>(count_of(grid)), c64(1, 2));
        const std::size_t at = values.size() / 2 + 3;
        values[at] = c64(std::numeric_limits<float>::infinity(), 1);
        const Numbers got = numbers_of(interpolate(laid_out<c64>(grid, values), points));
        for (std::size_t p = 0; p < got.size(); ++p) {
          bool beside = true;
          i64 rest = static_cast<i64>(at);
          for (i64 a = axes - 1; a >= 0; rest /= grid[a--]) {
            const double n = static_cast<double>(grid[a]),
                         off = std::abs(static_cast<double>(rest % grid[a]) -
                                        locs[p * static_cast<std::size_t>(axes) +
                                             static_cast<std::size_t>(a)]);
            beside = beside && std::abs(off - n * std::round(off / n)) <= width / 2;
          }
          ASSERT_EQ(std::isinf(got[p].real()), beside) << "width " << width << " point " << p;
          ASSERT_TRUE(std::isfinite(got[p].imag())) << "width " << width << " point " << p;
          ASSERT_FALSE(std::isnan(got[p].real())) << "width " << width << " point " << p;
        }
      }
}

// Complex numbers go a row of taps at a time, real ones tap by tap: the same sums, of weights that
// are made in different ways. Some points lie on the grid, at its ends and across them.
TEST(InterpolateKernel, RowsOfEveryWidthAreTheSumsOfTheirTaps) {
  for (double width = 2; width <= 17;
       ++width)  // beta: cubes of weights are single-precision numbers
    for (const Shape& grid : {Shape{61}, Shape{23, 40}, Shape{18, 21, 19}})
      for (bool circular : {true, false})
        for (DType t : {DType::c64, DType::c128}) {
          const i64 count = 150, axes = grid.size();
          const SpreadKernel k{
              .width = {width}, .beta = std::min(2.3 * width, 25.0), .circular = circular};
          const GridPoints points =
              make_grid_points(laid_out<double>({count, axes}, locations(grid, count, 5)), grid, k);
          Shape many = grid;
          many.insert(0, 3);
          const Array x = Random(7).normal(many, t, test_device()),
                      y = Random(8).normal({3, count}, t, test_device());
          const double tolerance = 100 * epsilon_of(t);
          for (bool imaginary : {false, true}) {
            const auto part = [&](const Array& a) {
              return (imaginary ? a.imag() : a.real()).contiguous();
            };
            expect_close(numbers_of(part(interpolate(x, points))),
                         numbers_of(interpolate(part(x.astype(DType::c128)), points)), tolerance);
            expect_close(numbers_of(part(interpolate_adjoint(y, points))),
                         numbers_of(interpolate_adjoint(part(y.astype(DType::c128)), points)),
                         tolerance);
          }
        }
}

// A row of matrix() of a kernel that is a product over the axes, axis by axis.
std::vector<double> row_of(const double* loc, const Shape& grid, const SpreadKernel& k) {
  std::vector<double> row{1.0};
  for (i64 a = 0; a < grid.size(); ++a) {
    const auto along = matrix({loc[a]}, {grid[a]}, k)[0];
    std::vector<double> next;
    for (double w : row)
      for (double v : along) next.push_back(w * v);
    row = std::move(next);
  }
  return row;
}

void expect_sums_of_definition(const std::vector<double>& locs, const Shape& grid,
                               const SpreadKernel& k) {
  const i64 axes = grid.size(), count = static_cast<i64>(locs.size()) / axes,
            cells = count_of(grid);
  std::vector<std::vector<double>> rows;
  for (i64 p = 0; p < count; ++p) rows.push_back(row_of(&locs[p * axes], grid, k));
  const GridPoints points = make_grid_points(laid_out<double>({count, axes}, locs), grid, k);
  for (i64 batches : {1, 2, 3})
    for (DType t : {DType::f64, DType::c64, DType::c128}) {
      Shape many = grid;
      many.insert(0, batches);
      const Array x = Random(7).normal(many, t, test_device()),
                  y = Random(8).normal({batches, count}, t, test_device());
      const Numbers xs = numbers_of(x), ys = numbers_of(y);
      Numbers read, gridded(static_cast<std::size_t>(batches * cells));
      double largest = 0;
      for (i64 b = 0; b < batches; ++b)
        for (i64 p = 0; p < count; ++p) {
          double terms = 0;
          read.emplace_back();
          for (i64 c = 0; c < cells; ++c) {
            const auto at = static_cast<std::size_t>(b * cells + c);
            const double w = rows[static_cast<std::size_t>(p)][static_cast<std::size_t>(c)];
            read.back() += w * xs[at];
            gridded[at] += w * ys[static_cast<std::size_t>(b * count + p)];
            terms += w * std::abs(xs[at]);
          }
          largest = std::max(largest, terms);
        }
      expect_close(numbers_of(interpolate(x, points)), read, 200 * epsilon_of(t), largest);
      expect_close(numbers_of(interpolate_adjoint(y, points)), gridded, 200 * epsilon_of(t));
    }
}

// A kernel that is scaled reaches from edge to edge of a point that lies on the grid (even widths)
// or half-way (odd ones): a tap more, as small as the scale. One point and several, at the ends too,
// on grids of one point up to three kernels: regions and lanes of a device take the larger ones.
TEST(InterpolateKernel, EdgesOfScaledKernelsWeighAsMuchAsTheyShould) {
  for (i64 axes : {1, 2, 3})
    for (i64 width = 2; width <= 9; ++width) {
      if (axes == 3 && width != 2 && width != 5 && width != 8) continue;
      for (i64 n : {i64{1}, width - 1, width, width + 1, 2 * width - 1, 2 * width, 2 * width + 1,
                    3 * width})
        for (bool circular : {true, false}) {
          SCOPED_TRACE(cat("axes ", axes, " width ", width, " n ", n, " circular ", circular));
          const SpreadKernel k{.width = {static_cast<double>(width)},
                               .beta = 2.3 * static_cast<double>(width),
                               .circular = circular,
                               .scale = std::ldexp(1.0, static_cast<int>(-2 * width))};
          Shape grid;
          while (grid.size() < axes) grid.push_back(n + grid.size());
          const double end = static_cast<double>(n), middle = std::floor(end / 2);
          const double places[] = {middle, middle + 0.5, 0, end - 1, end - 0.5, middle + 0.3, -0.5};
          std::vector<double> mixed;
          for (std::size_t p = 0; p < std::size(places); ++p)
            for (std::size_t a = 0; a < static_cast<std::size_t>(axes); ++a)
              mixed.push_back(places[(p + a * (p % 3)) % std::size(places)]);
          const auto one = [&](double at) {
            return std::vector<double>(static_cast<std::size_t>(axes), at);
          };
          expect_sums_of_definition(one(middle), grid, k);
          expect_sums_of_definition(one(middle + 0.5), grid, k);
          expect_sums_of_definition(mixed, grid, k);
        }
    }
}

template <class T>
std::vector<T> typed(const Array& x) {
  return values_of<T>(x.astype(dtype_of<T>).to(cpu));
}

// The elements of an array's span that are not its own must stay as they are.
template <class T>
std::vector<T> between(const Array& x) {
  const auto [low, high] = x.layout().span();
  Layout all = Layout::contiguous({high + 1 - low});
  all.offset = low;
  std::vector<T> values = values_of<T>(x.view(all));
  for_each_offset(x.layout(),
                  [&](i64, i64 offset) { values[static_cast<std::size_t>(offset - low)] = T(0); });
  return values;
}

// Real and imaginary parts go tap by tap, in double precision on the cpu.
Numbers by_parts(const Array& x, const std::function<Array(const Array&)>& f) {
  const Array wide = x.astype(DType::c128);
  Numbers sums = numbers_of(f(wide.real().contiguous()));
  const Numbers imaginary = numbers_of(f(wide.imag().contiguous()));
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += Numbers::value_type(0, 1) * imaginary[i];
  return sums;
}

// Operands in the layout, results over poison or over numbers, twice with the same bits.
template <class T>
void expect_sums_of_crowd(const GridPoints& points, i64 batches, Lay lay) {
  const GridPoints there = points.to(test_device());
  Shape many = points.grid;
  many.insert(0, batches);
  const Shape some{batches, points.count()};
  const Array x = Random(7).normal(many, dtype_of<T>), y = Random(8).normal(some, dtype_of<T>),
              before = Random(9).normal(many, dtype_of<T>);
  const double tolerance = 400 * epsilon_of(dtype_of<T>);
  const auto run = [&](bool gridding, const Array& from, const Array& to) {
    const InterpolateSpec spec{gridding, operand_of(gridding ? to : from),
                               operand_of(gridding ? from : to), 1, there.kernel};
    const auto beside = between<T>(to);
    launch_now(&KernelTable::interpolate, "interpolate", spec, test_device(),
               {&from, &there.locs, &there.order, &there.starts, &to});
    const auto after = between<T>(to);
    EXPECT_EQ(std::memcmp(beside.data(), after.data(), beside.size() * sizeof(T)), 0);
    return numbers_of(to);
  };
  const std::vector<T> poison(static_cast<std::size_t>(y.size()),
                              T(std::numeric_limits<decltype(T::re)>::quiet_NaN()));
  const Array from = laid_out<T>(many, typed<T>(x), lay);
  const Numbers read = run(false, from, laid_out<T>(some, poison, lay));
  EXPECT_TRUE(run(false, from, laid_out<T>(some, poison, lay)) == read);
  expect_close(read, by_parts(x, [&](const Array& v) { return interpolate(v, points); }),
               tolerance);

  const Array values = laid_out<T>(some, typed<T>(y), lay);
  const Numbers gridded = run(true, values, laid_out<T>(many, typed<T>(before), lay));
  EXPECT_TRUE(run(true, values, laid_out<T>(many, typed<T>(before), lay)) == gridded);
  Numbers want = by_parts(y, [&](const Array& v) { return interpolate_adjoint(v, points); });
  const Numbers already = numbers_of(before);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] += already[i];
  expect_close(gridded, want, tolerance);
}

// Small grids with so many points that every cell is read and written many times: spread over the
// grid, some on it and at its ends, and all of them around the last corner. The largest is cut into
// whole tiles, where kernels are wide.
TEST(InterpolateKernel, ManyPointsToACellAreTheSumsOfTheirTaps) {
  for (const Shape& grid : {Shape{40, 36}, Shape{20, 18, 22}, Shape{24, 24, 36}})
    for (int width = 2; width <= 8; ++width)
      for (bool corner : {false, true}) {
        if (grid[0] == 24 && width <= 4) continue;
        SCOPED_TRACE(cat("grid ", grid, " width ", width, " corner ", corner));
        const SpreadKernel k{.width = {static_cast<double>(width)},
                             .beta = 1.5 * width,
                             .scale = std::ldexp(1.0, -2 * width)};
        ASSERT_TRUE(spread::PiecewiseKernel<float>(k).exact);
        ASSERT_TRUE(spread::PiecewiseKernel<double>(k).exact);
        const i64 axes = grid.size(), count = points_for_pieces(grid, width);
        std::vector<double> locs = locations(grid, count, 10);
        for (std::size_t i = 0; corner && i < locs.size(); ++i) {
          const auto n = static_cast<double>(grid[static_cast<i64>(i) % axes]);
          locs[i] = n - 1 + (i % 4 == 0 ? 0 : locs[i] / n);
        }
        const GridPoints points =
            make_grid_points(laid_out<double>({count, axes}, locs, Lay::dense, cpu), grid, k);
        expect_sums_of_crowd<c64>(points, 2,
                                  corner      ? Lay::reversed
                                  : axes == 2 ? Lay::gaps
                                              : Lay::exchanged);
        expect_sums_of_crowd<c128>(points, 3, corner ? Lay::dense : Lay::reversed);
      }
}

TEST(InterpolateKernel, KnownNumbers) {
  const auto at = [](double loc, const SpreadKernel& k) {
    const Array x = laid_out<double>({8}, {1, 2, 3, 4, 5, 6, 7, 8});
    const GridPoints p = make_grid_points(laid_out<double>({1, 1}, {loc}), {8}, k);
    return numbers_of(interpolate(x, p))[0].real();
  };
  SpreadKernel k;
  EXPECT_NEAR(at(4.0, k), 28.295072, 1e-6);
  EXPECT_NEAR(at(3.3, k), 21.069920, 1e-6);
  EXPECT_NEAR(at(0.0, k), 23.230809, 1e-6);
  k.circular = false;
  EXPECT_NEAR(at(0.0, k), 6.659014, 1e-6);
  k.kind = SpreadKind::spline;
  EXPECT_DOUBLE_EQ(at(4.0, k), 10.0);
  EXPECT_DOUBLE_EQ(at(3.5, k), 9.0);
  EXPECT_DOUBLE_EQ(at(7.5, k), 7.75);
  k.circular = true;
  EXPECT_DOUBLE_EQ(at(7.5, k), 9.0);
  EXPECT_DOUBLE_EQ(at(-8.5, k), at(7.5, k));
  k.width = {2.0};
  EXPECT_DOUBLE_EQ(at(3.25, k), 4.25);
  k.width = {1.0};
  EXPECT_DOUBLE_EQ(at(3.0, k), 4.0);
}

TEST(InterpolateKernel, FarAwayAndNoPoints) {
  SpreadKernel k;
  k.circular = false;
  const Array x = laid_out<double>({8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const GridPoints far = make_grid_points(laid_out<double>({3, 1}, {1e300, -1e300, 11}), {8}, k);
  EXPECT_EQ(values_of<double>(interpolate(x, far)), (std::vector<double>{0, 0, 0}));
  k.circular = true;
  const GridPoints round = make_grid_points(laid_out<double>({1, 1}, {-1e-30}), {8}, k);
  EXPECT_NEAR(values_of<double>(interpolate(x, round))[0], 23.230809, 1e-6);
  const GridPoints none = make_grid_points(Array::empty({0, 1}, DType::f64, test_device()), {8}, k);
  EXPECT_EQ(interpolate(x, none).shape(), (Shape{0}));
  EXPECT_EQ(
      values_of<double>(interpolate_adjoint(Array::empty({0}, DType::f64, test_device()), none)),
      std::vector<double>(8, 0.0));
}

TEST(InterpolateKernel, RefusesWhatItCannotMean) {
  const Array locs = laid_out<double>({2, 1}, {1, 2});
  const auto text = [&](const Array& l, const Shape& grid, SpreadKernel k) {
    return thrown_text<Error>([&] { (void)make_grid_points(l, grid, k, "Interpolate"); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  EXPECT_NE(text(laid_out<double>({2, 1}, {1, nan}), {8}, {}).find("location 1 is nan"),
            std::string::npos);
  EXPECT_NE(text(laid_out<double>({2, 1}, {inf, 1}), {8}, {}).find("finite"), std::string::npos);
  EXPECT_NE(text(locs, {8, 8}, {}).find("expected (..., 2)"), std::string::npos);
  EXPECT_NE(text(locs, {0}, {}).find("no point"), std::string::npos);
  EXPECT_NE(text(locs, {}, {}).find("one to three"), std::string::npos);
  EXPECT_NE(text(locs, {8}, {.width = {2.0, 2.0}}).find("2 widths for 1"), std::string::npos);
  EXPECT_NE(text(locs, {8}, {.width = {0.0}}).find("width 0"), std::string::npos);
  EXPECT_NE(text(locs, {8}, {.width = {100.0}}).find("width 100"), std::string::npos);
  EXPECT_NE(text(locs, {8}, {.norm = 3}).find("norm 3"), std::string::npos);
  EXPECT_NE(text(locs, {8}, {.beta = -1}).find("beta"), std::string::npos);
  EXPECT_NE(text(locs, {8}, {.beta = nan}).find("beta"), std::string::npos);
  EXPECT_THROW((void)make_grid_points(locs.astype(DType::c64), {8}, {}), DTypeError);
  EXPECT_THROW((void)interpolate(laid_out<double>({2}, {1, 2}), make_grid_points(locs, {8}, {})),
               ShapeError);
}

}  // namespace
}  // namespace tessera
