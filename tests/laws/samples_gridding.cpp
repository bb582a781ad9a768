// SPDX-License-Identifier: Apache-2.0
// Samples of the operators between grids and points.
#include "samples.hpp"
#include "tessera/kernels/eager.hpp"

namespace tessera::laws {
namespace {

// Locations from `low` to `high` along every axis.
Array places(const Shape& shape, Device d, std::uint64_t seed, double low, double high) {
  return Random(seed).uniform(shape, DType::f64, d, low, high);
}

Array integers(const Shape& shape, Device d, std::uint64_t seed, i64 high) {
  return Random(seed).integers(0, high, shape, DType::i64, d);
}

CsrMatrix sparse(i64 rows, i64 columns, DType t, Device d, std::uint64_t seed, i64 entries) {
  return csr_from_coo(random({entries}, t, d, seed), integers({entries}, d, seed + 1, rows),
                      integers({entries}, d, seed + 2, columns), rows, columns);
}

}  // namespace

template <>
std::vector<Sample> samples<Interpolate>(DType, Device d) {
  using enum SpreadKind;
  const SpreadKernel bessel{.width = {4.0}, .beta = 6.5};
  return {{"line", Interpolate(places({9, 1}, d, 1, -1, 12), {11}), {11}, dims("Nx")},
          {"one point", Interpolate(places({1}, d, 2, 0, 5), {5}, dims("C")), {2, 5}, dims("Nx")},
          {"grid of one",
           Interpolate(places({3, 1}, d, 3, 0, 1), {1}, dims("..."), dims("K"), dims("Nx"),
                       {.width = {1.0}}),
           {2, 1},
           dims("Nx")},
          {"plane of coils",
           Interpolate(places({3, 5, 2}, d, 4, 0, 7), {7, 6}, dims("C"), dims("RK"), dims("XY"),
                       bessel),
           {10, 7, 6},
           dims("XY")},
          {"with ends",
           Interpolate(places({8, 2}, d, 5, -2, 9), {6, 7}, dims("..."), dims("K"), dims("XY"),
                       {.width = {3.0, 2.5}, .kind = spline, .circular = false}),
           {2, 2, 6, 7},
           dims("XY")},
          {"by distance",
           Interpolate(places({8, 2}, d, 6, 0, 6), {6, 5}, dims("B"), dims("K"), dims("XY"),
                       {.width = {3.0}, .beta = 2.5, .norm = 2}),
           {3, 6, 5},
           dims("XY")},
          {"volume",
           Interpolate(places({2, 4, 3}, d, 7, 0, 5), {5, 4, 6}, dims("C"), dims("RK"), dims("XYZ"),
                       bessel),
           {2, 5, 4, 6},
           dims("XYZ")}};
}

template <>
std::vector<Sample> samples<Sampling>(DType, Device d) {
  const Array mask = ops::greater(random({5, 4}, DType::f64, d, 9), 0.0);
  return {{"line", Sampling({integers({6}, d, 1, 9)}, {9}), {9}, dims("Nx")},
          {"repeated",
           Sampling({integers({12}, d, 2, 3)}, {3}, dims("K"), dims("X"), dims("C")),
           {2, 3},
           dims("X")},
          {"broadcast indices",
           Sampling({integers({3, 1}, d, 3, 6), integers({5}, d, 4, 7)}, {6, 7}, dims("RK"),
                    dims("XY")),
           {2, 2, 6, 7},
           dims("XY")},
          {"mask",
           Sampling::from_mask(mask, {}, dims("K"), dims("XY"), dims("C")),
           {3, 5, 4},
           dims("XY")},
          {"stacked",
           Sampling::from_stacked_idx(integers({2, 3, 3}, d, 5, 3), {3, 4, 5}, dims("RK"),
                                      dims("XYZ"), dims("C")),
           {2, 3, 4, 5},
           dims("XYZ")},
          {"grid of one", Sampling({integers({2}, d, 6, 1)}, {1}), {3, 1}, dims("Nx")}};
}

template <>
std::vector<Sample> samples<Sparse>(DType t, Device d) {
  return {
      {"matrix", Sparse(sparse(5, 7, t, d, 1, 12)), {7}},
      {"coils", Sparse(sparse(6, 4, t, d, 2, 9), dims("N"), dims("M"), {}, {}, dims("C")), {9, 4}},
      {"real values", Sparse(sparse(3, 5, real_of(t), d, 3, 8)), {2, 2, 5}},
      {"several dims",
       Sparse(sparse(6, 20, t, d, 4, 25), dims("XY"), dims("PQ"), {4, 5}, {2, 3}, dims("C")),
       {2, 4, 5}},
      {"no entries", Sparse(sparse(2, 3, t, d, 5, 0)), {3}},
      {"one entry", Sparse(sparse(1, 1, t, d, 6, 1)), {1}}};
}

template <>
std::vector<Sample> samples<NUFFT>(DType, Device d) {
  const auto locs = [&](const Shape& s, std::uint64_t seed) { return places(s, d, seed, -4, 4); };
  NufftOptions wrapped, own, none;
  wrapped.wrap = true;
  NufftOptions accurate = wrapped, sampling = wrapped, even = wrapped;
  accurate.oversamp = 2;
  accurate.width = 6;
  sampling.mode = NufftMode::sampling;
  own.apodize_weights = Random(3).uniform({8}, DType::f64, d, 0.5, 1);
  none.oversamp = 1;
  even.oversamp = 2;
  even.width = 4;
  return {{"line", NUFFT(locs({5, 1}, 1), {8}), {8}, dims("Nx")},
          {"plane of coils",
           NUFFT(locs({2, 3, 2}, 2), {7, 8}, dims("RK"), dims("XY"), {}, dims("C"), wrapped),
           {3, 7, 8},
           dims("XY")},
          {"accurate",
           NUFFT(locs({4, 2}, 3), {6, 5}, {}, {}, {}, dims("..."), accurate),
           {2, 6, 5},
           dims("NxNy")},
          {"volume",
           NUFFT(locs({4, 3}, 4), {5, 4, 3}, {}, {}, {}, dims("..."), wrapped),
           {5, 4, 3},
           dims("NxNyNz")},
          {"flat",
           NUFFT(locs({4, 2}, 5), {6, 1}, {}, {}, {}, dims("..."), wrapped),
           {6, 1},
           dims("NxNy")},
          {"names that meet",
           NUFFT(locs({3, 4, 1}, 6), {8}, Dims{"Nx1", "Kx"}, dims("Nx"), {}, dims("C")),
           {2, 8},
           dims("Nx")},
          {"nearest points",
           NUFFT(locs({6, 2}, 7), {8, 7}, dims("K"), dims("XY"), {}, dims("C"), sampling),
           {2, 8, 7},
           dims("XY")},
          {"own apodisation",
           NUFFT(locs({5, 1}, 8), {8}, {}, {}, {}, dims("..."), own),
           {8},
           dims("Nx")},
          {"frequencies on grid points",
           NUFFT(ops::rint(locs({5, 2}, 10)), {8, 6}, {}, {}, {}, {}, even),
           {8, 6},
           dims("NxNy")},
          {"not oversampled",
           NUFFT(locs({5, 1}, 9), {9}, {}, {}, {}, dims("..."), none),
           {9},
           dims("Nx")}};
}

std::vector<Sample> trajectory_samples(DType t, Device d) {
  const auto type3 = [&](const Shape& points, const Shape& frequencies, Dims batch, Dims in,
                         Dims out) {
    NufftType3Options o{.tol = 1e-4, .sign = points.size() == 2 ? 1 : -1};
    o.batch_shape = std::move(batch);
    o.input_shape = std::move(in);
    o.output_shape = std::move(out);
    return nufft_type3(places(points, d, 21, -3, 3), places(frequencies, d, 22, -1, 1), o);
  };
  FieldMapOptions by_time{.tol = 1e-3, .segments = 3};
  by_time.batch_shape = dims("C");
  by_time.wrap = true;
  FieldMapOptions by_frequency = by_time;
  by_frequency.segmentation = Segmentation::frequency;
  const auto field_map = [&](const FieldMapOptions& o) {
    return field_map_nufft(places({5, 2}, d, 23, -3, 3), {6, 5},
                           places({6, 5}, d, 24, -30, 30).astype(real_of(t)),
                           places({5}, d, 25, 0, 0.02), o);
  };
  // Grids lie within: what is cut are points, frequencies, coils and segments.
  const auto sample = [](std::string label, const NamedLinop& op, const Shape& input) {
    Dims whole;
    for (NamedDimension n : op.dims())
      if (n.word().size() > 1) whole.push_back(n);
    return Sample{std::move(label), op, input, whole};
  };
  return {
      sample("NUFFT3 line", type3({5, 1}, {7, 1}, {}, dims("J"), dims("K")), {5}),
      sample("NUFFT3 one point", type3({1, 1}, {1, 1}, dims("C"), dims("J"), dims("K")), {2, 1}),
      sample("NUFFT3 plane of coils", type3({2, 3, 2}, {4, 2}, dims("C"), dims("PQ"), dims("K")),
             {3, 2, 3}),
      sample("NUFFT3 volume", type3({4, 3}, {3, 3}, dims("..."), dims("J"), dims("K")), {2, 4}),
      sample("FieldMapNUFFT by time", field_map(by_time), {2, 6, 5}),
      sample("FieldMapNUFFT by frequency", field_map(by_frequency), {2, 6, 5})};
}

}  // namespace tessera::laws
