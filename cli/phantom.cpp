// SPDX-License-Identifier: Apache-2.0
#include "phantom.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera::cli {
namespace {

struct Ellipse {
  double value, half_width, half_height, x, y, degrees;
};

// Toft's contrast of Shepp and Logan's head, coordinates in [-1, 1].
constexpr Ellipse head[] = {
    {1.0, 0.69, 0.92, 0, 0, 0},        {-0.8, 0.6624, 0.874, 0, -0.0184, 0},
    {-0.2, 0.11, 0.31, 0.22, 0, -18},  {-0.2, 0.16, 0.41, -0.22, 0, 18},
    {0.1, 0.21, 0.25, 0, 0.35, 0},     {0.1, 0.046, 0.046, 0, 0.1, 0},
    {0.1, 0.046, 0.046, 0, -0.1, 0},   {0.1, 0.046, 0.023, -0.08, -0.605, 0},
    {0.1, 0.023, 0.023, 0, -0.606, 0}, {0.1, 0.023, 0.046, 0.06, -0.605, 0},
};

bool inside(const Ellipse& e, double x, double y) {
  const double angle = e.degrees * std::numbers::pi / 180;
  const double c = std::cos(angle), s = std::sin(angle);
  const double u = (c * (x - e.x) + s * (y - e.y)) / e.half_width;
  const double v = (c * (y - e.y) - s * (x - e.x)) / e.half_height;
  return u * u + v * v <= 1;
}

// SplitMix64: one multiplication chain per number, the same on every machine.
double uniform(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
}

double coordinate(i64 i, i64 n) {
  return (2 * static_cast<double>(i) + 1) / static_cast<double>(n) - 1;
}

}  // namespace

std::vector<float> head_phantom(i64 n) {
  std::vector<float> image;
  image.reserve(static_cast<std::size_t>(n * n));
  for (i64 row = 0; row < n; ++row) {
    for (i64 column = 0; column < n; ++column) {
      double value = 0;
      for (const Ellipse& e : head)
        if (inside(e, coordinate(column, n), -coordinate(row, n))) value += e.value;
      image.push_back(static_cast<float>(std::clamp(value, 0.0, 1.0)));
    }
  }
  return image;
}

std::vector<std::complex<float>> coil_maps(i64 coils, i64 n) {
  const auto plane = static_cast<std::size_t>(n * n);
  std::vector<std::complex<float>> maps(static_cast<std::size_t>(coils) * plane);
  for (i64 row = 0; row < n; ++row) {
    for (i64 column = 0; column < n; ++column) {
      const double x = coordinate(column, n), y = coordinate(row, n);
      const auto at = static_cast<std::size_t>(row * n + column);
      double sum = 0;
      for (i64 c = 0; c < coils; ++c) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(c) / static_cast<double>(coils);
        const double dx = x - 1.2 * std::cos(angle), dy = y - 1.2 * std::sin(angle);
        const double size = std::exp(-(dx * dx + dy * dy) / 0.6);
        maps[static_cast<std::size_t>(c) * plane + at] =
            std::polar(static_cast<float>(size), static_cast<float>(angle + 0.8 * (dx - dy)));
        sum += size * size;
      }
      for (i64 c = 0; c < coils; ++c)
        maps[static_cast<std::size_t>(c) * plane + at] /= static_cast<float>(std::sqrt(sum));
    }
  }
  return maps;
}

std::vector<bool> sampled_rows(i64 n, i64 acceleration, std::uint64_t seed) {
  std::vector<bool> rows(static_cast<std::size_t>(n), false);
  const i64 centre = std::max<i64>(n / 16, 1);
  for (i64 i = 0; i < centre; ++i) rows[static_cast<std::size_t>(n / 2 - centre / 2 + i)] = true;
  std::uint64_t state = seed;
  for (i64 first = 0; first < n; first += acceleration) {
    const i64 length = std::min(acceleration, n - first);
    const i64 chosen =
        std::min(static_cast<i64>(uniform(state) * static_cast<double>(length)), length - 1);
    rows[static_cast<std::size_t>(first + chosen)] = true;
  }
  return rows;
}

}  // namespace tessera::cli
