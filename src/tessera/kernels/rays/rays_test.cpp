// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/rays/rays.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/arrays.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/rays/ray_math.hpp"
#include "tessera/kernels/wide.hpp"

namespace tessera {
namespace {

using Numbers = std::vector<double>;

struct Tomograph {
  const char* label;
  RayGeometry g;
  Numbers views;
  i64 voxels[3] = {1, 1, 1}, cells = 1, rows = 1;  // x, y, z
  i64 view_count() const { return static_cast<i64>(views.size()) / view_numbers; }
  i64 image() const { return voxels[0] * voxels[1] * voxels[2]; }
  i64 data() const { return view_count() * rows * cells; }
};

// Along the axes, where edges of cells and voxels meet, along the diagonals, and anywhere.
const double turns[] = {0,   M_PI / 2, M_PI / 4, 3 * M_PI / 4, M_PI, 3 * M_PI / 2,
                        0.3, -1.1,     2.2,      4.0};

Tomograph centred(const char* label, Beam beam, i64 x, i64 y, i64 z, i64 cells, i64 rows) {
  Tomograph t{label, {}, {}, {x, y, z}, cells, rows};
  t.g.beam = beam;
  t.g.rows = rows > 0;
  t.rows = std::max<i64>(rows, 1);
  for (int a = 0; a < 3; ++a) t.g.origin[a] = static_cast<double>(t.voxels[a] / 2) + 0.5;
  t.g.zero[0] = static_cast<double>(cells / 2) + 0.5;
  t.g.zero[1] = static_cast<double>(rows / 2) + 0.5;
  return t;
}

Tomograph parallel(const char* label, i64 x, i64 y, i64 cells, double pitch, double offset) {
  Tomograph t = centred(label, Beam::parallel, x, y, 1, cells, 0);
  for (const double a : turns) {
    const double c = std::cos(a), s = std::sin(a);
    for (const double v : {-s, c, 0.0, offset * c, offset * s, 0.0, pitch * c, pitch * s})
      t.views.push_back(v);
  }
  return t;
}

struct Source {
  double distance, detector, pitch, height;  // height: by which the source rises from view to view
};
Tomograph from_source(Tomograph t, const Source& from, std::size_t views) {
  for (std::size_t i = 0; i < views; ++i) {
    const double c = std::cos(turns[i]), s = std::sin(turns[i]);
    const double z = (static_cast<double>(i) - 1) * from.height;
    const bool arc = t.g.beam == Beam::arc;
    const double step = arc ? from.pitch / (from.distance + from.detector) : from.pitch;
    for (const double v :
         {from.distance * s, -from.distance * c, z, -from.detector * s + 0.3 * c,
          from.detector * c + 0.3 * s, z + 0.2, arc ? step : step * c, arc ? 0 : step * s})
      t.views.push_back(v);
  }
  return t;
}

std::vector<Tomograph> tomographs() {
  std::vector<Tomograph> all = {
      parallel("parallel", 37, 45, 61, 1, 0),
      parallel("parallel, half a cell aside", 45, 37, 61, 1, 0.5),
      parallel("parallel, narrow cells", 19, 23, 140, 0.27, 0.1),
      parallel("parallel, wide cells", 37, 45, 23, 2.6, -0.4),
      parallel("parallel, one cell for all", 9, 35, 3, 40, 0),
      parallel("parallel, the other way", 37, 5, 50, -1.1, 0.2),
      parallel("parallel, one row", 33, 1, 35, 1.3, 0),
      from_source(centred("fan", Beam::flat, 41, 37, 1, 67, 0), {75, 30, 1.4, 0}, 10),
      from_source(centred("fan, the other way", Beam::flat, 41, 37, 1, 67, 0), {75, 30, -1.4, 0},
                  10),
      from_source(centred("fan, narrow cells", Beam::flat, 21, 37, 1, 190, 0), {60, 30, 0.4, 0},
                  10),
      from_source(centred("fan, very narrow cells", Beam::flat, 21, 13, 1, 300, 0),
                  {30, 9, 0.12, 0}, 7),
      from_source(centred("fan, wide cells", Beam::flat, 41, 37, 1, 19, 0), {75, 30, 5.3, 0}, 10),
      from_source(centred("fan, few cells", Beam::flat, 41, 37, 1, 2, 0), {75, 30, 17, 0}, 10),
      // Slabs of columns on both sides of the source.
      from_source(centred("fan, source at the edge", Beam::flat, 13, 13, 1, 41, 0),
                  {9.7, 4, 1.6, 0}, 6),
      from_source(centred("arc", Beam::arc, 41, 37, 1, 67, 0), {75, 30, 1.4, 0}, 10),
      from_source(centred("arc, source at the edge", Beam::arc, 13, 13, 1, 51, 0),
                  {9.7, 4, -0.52, 0}, 6),
      from_source(centred("cone", Beam::flat, 11, 9, 21, 23, 19), {19, 8, 1.4, 0}, 3),
      from_source(centred("cone, narrow rows", Beam::flat, 9, 11, 7, 15, 37), {19, 8, 1.9, 0}, 3),
      from_source(centred("cone, wide rows", Beam::arc, 9, 11, 33, 15, 5), {19, 8, 1.9, 0}, 3),
      from_source(centred("helix", Beam::arc, 9, 8, 18, 21, 21), {16, 8, -1.4, 2.5}, 3)};
  all[0].g.voxel[0] = 0.8;
  all[9].g.voxel[1] = 1.3;
  all[17].g.row_pitch = 0.3;
  all[18].g.row_pitch = 6.1;
  all[19].g.voxel[2] = 0.7;
  for (Tomograph& t : all)
    measure_rays(t.g, t.views.data(), t.view_count(), t.voxels, t.cells, t.label);
  return all;
}

double overlap(double a, double b, i64 voxel) {
  return rays::covered(std::min(a, b), std::max(a, b), static_cast<double>(voxel)) /
         std::max(std::fabs(b - a), rays::least_shadow);
}

// weight[cell][voxel], each from its definition.
std::vector<Numbers> matrix(const Tomograph& t) {
  const RayGeometry& g = t.g;
  std::vector<Numbers> m;
  for (i64 v = 0; v < t.view_count(); ++v)
    for (i64 row = 0; row < t.rows; ++row)
      for (i64 cell = 0; cell < t.cells; ++cell) {
        Numbers weights(static_cast<std::size_t>(t.image()), 0);
        const double* view = t.views.data() + v * view_numbers;
        const auto at = static_cast<double>(cell);
        const rays::RayLine middle = rays::ray_line(g, view, at + 0.5);
        const int axis = rays::main_axis(middle);
        const rays::SlabLine left = rays::on_slabs(rays::ray_line(g, view, at), axis),
                             right = rays::on_slabs(rays::ray_line(g, view, at + 1), axis);
        const double length = rays::slab_length(g, middle, axis) *
                              (g.rows ? rays::row_stretch(g, view, middle, row) : 1);
        for (i64 slab = 0; slab < t.voxels[axis]; ++slab) {
          const double c = static_cast<double>(slab) + 0.5;
          rays::SlabLine z{0, 1};
          if (g.rows) z = rays::rows_on_slab(g, view, rays::slab_depth(middle, axis, c));
          const double low = g.rows ? z.base + z.slope * static_cast<double>(row) : 0;
          for (i64 place = 0; place < t.voxels[1 - axis]; ++place) {
            const double w =
                length * overlap(left.base + left.slope * c, right.base + right.slope * c, place);
            const i64 pixel = axis == 1 ? slab * t.voxels[0] + place : place * t.voxels[0] + slab;
            for (i64 k = 0; w > 0 && k < t.voxels[2]; ++k)
              weights[static_cast<std::size_t>(k * t.voxels[0] * t.voxels[1] + pixel)] =
                  w * overlap(low, low + z.slope, k);
          }
        }
        m.push_back(std::move(weights));
      }
  return m;
}

Shape image_shape(const Tomograph& t, i64 images) {
  return t.g.rows ? Shape{images, t.voxels[2], t.voxels[1], t.voxels[0]}
                  : Shape{images, t.voxels[1], t.voxels[0]};
}
Shape data_shape(const Tomograph& t, i64 images) {
  return t.g.rows ? Shape{images, t.view_count(), t.rows, t.cells}
                  : Shape{images, t.view_count(), t.cells};
}

// The kernel, on arrays in some layout.
template <class T>
std::vector<T> apply(const Tomograph& t, bool adjoint, const std::vector<T>& values, Lay lay) {
  const i64 from = adjoint ? t.data() : t.image(), to = adjoint ? t.image() : t.data();
  const i64 images = static_cast<i64>(values.size()) / from;
  const Shape in = adjoint ? data_shape(t, images) : image_shape(t, images),
              out = adjoint ? image_shape(t, images) : data_shape(t, images);
  const Array x = laid_out<T>(in, values, lay),
              views = laid_out<double>({t.view_count(), view_numbers}, t.views),
              y = laid_out<T>(
                  out, std::vector<T>(static_cast<std::size_t>(images * to), T(std::nanf(""))),
                  lay);
  const RaysSpec spec{adjoint, operand_of(adjoint ? y : x), operand_of(adjoint ? x : y), 1, t.g};
  launch_now(&KernelTable::rays, "rays", spec, test_device(), {&x, &views, &y});
  return values_of<T>(y);
}

template <class T>
std::vector<T> numbers(i64 count, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> normal;
  std::vector<T> v;
  for (i64 i = 0; i < count; ++i) v.push_back(static_cast<T>(normal(rng)));
  return v;
}

// Every set of instructions that the host has, whose registers and sums differ.
template <class F>
void on_all_instructions(const F& f) {
#if defined(__x86_64__)
  const Instructions before = use_instructions(Instructions::avx512);
  for (const Instructions level : {Instructions::base, Instructions::avx2, Instructions::avx512}) {
    use_instructions(level);
    f();
  }
  use_instructions(before);
#else
  f();
#endif
}

class OnThreads {
 public:
  explicit OnThreads(int n) { set_num_threads(n); }
  ~OnThreads() { set_num_threads(before_); }

 private:
  const int before_ = num_threads();
};

// Weights are found from places that are rounded: to 2^-24 of sixteen cells or voxels for float32,
// that is to some 1e-6 of one; sums of as many numbers as an image has rows add less.
template <class T>
void expect_weights(const Tomograph& t, const std::vector<Numbers>& m, i64 images, Lay lay) {
  const double tolerance = sizeof(T) == 4 ? 3e-6 : 1e-13;
  const std::vector<T> x = numbers<T>(images * t.image(), 1), y = numbers<T>(images * t.data(), 2);
  const std::vector<T> forward = apply<T>(t, false, x, lay), back = apply<T>(t, true, y, lay);
  double worst[2] = {0, 0}, most[2] = {0, 0};
  for (i64 b = 0; b < images; ++b) {
    Numbers sums(static_cast<std::size_t>(t.image()), 0), sizes = sums;
    for (i64 c = 0; c < t.data(); ++c) {
      const Numbers& w = m[static_cast<std::size_t>(c)];
      const double value = static_cast<double>(y[static_cast<std::size_t>(b * t.data() + c)]);
      double sum = 0, size = 0;
      for (i64 v = 0; v < t.image(); ++v) {
        const auto at = static_cast<std::size_t>(v);
        const double pixel = static_cast<double>(x[static_cast<std::size_t>(b * t.image() + v)]);
        sum += w[at] * pixel;
        size += w[at] * std::fabs(pixel);
        sums[at] += w[at] * value;
        sizes[at] += w[at] * std::fabs(value);
      }
      const double error =
          std::fabs(sum - static_cast<double>(forward[static_cast<std::size_t>(b * t.data() + c)]));
      if (!(error <= worst[0])) worst[0] = error;
      most[0] = std::max(most[0], size);
    }
    for (std::size_t v = 0; v < sums.size(); ++v) {
      const double found = static_cast<double>(back[static_cast<std::size_t>(b * t.image()) + v]);
      const double error = std::fabs(sums[v] - found);
      if (!(error <= worst[1])) worst[1] = error;
      most[1] = std::max(most[1], sizes[v]);
    }
  }
  EXPECT_TRUE(worst[0] < tolerance * most[0])
      << t.label << ", " << images << ": " << worst[0] / most[0];
  EXPECT_TRUE(worst[1] < tolerance * most[1])
      << t.label << ", adjoint, " << images << ": " << worst[1] / most[1];
}

TEST(Rays, HaveTheWeightsOfTheirDefinition) {
  for (const Tomograph& t : tomographs()) {
    const std::vector<Numbers> m = matrix(t);
    on_all_instructions([&] {
      for (const i64 images : {1, 2, 3, 5})
        expect_weights<float>(t, m, images, images == 2 ? Lay::gaps : Lay::dense);
      expect_weights<double>(t, m, 1, Lay::exchanged);
      expect_weights<double>(t, m, 2, Lay::reversed);
    });
  }
}

template <class T>
void expect_adjoint(const Tomograph& t, double tolerance) {
  const std::vector<T> x = numbers<T>(t.image(), 3), y = numbers<T>(t.data(), 4);
  const std::vector<T> forward = apply<T>(t, false, x, Lay::dense),
                       back = apply<T>(t, true, y, Lay::dense);
  const auto product = [](const std::vector<T>& a, const std::vector<T>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
  };
  const double difference = product(forward, y) - product(x, back);
  const double size = std::sqrt(product(forward, forward) * product(y, y));
  EXPECT_TRUE(std::fabs(difference) < tolerance * size) << t.label << ": " << difference / size;
}

TEST(Rays, AndTheirAdjointAreTransposes) {
  for (const Tomograph& t : tomographs())
    on_all_instructions([&] {
      expect_adjoint<float>(t, 1e-6);
      expect_adjoint<double>(t, 1e-14);
    });
}

// To the bit: on any number of threads, alone or among other images, in any layout.
TEST(Rays, AreTheSameOnAnyNumberOfThreads) {
  for (const Tomograph& t : tomographs())
    for (const bool adjoint : {false, true})
      on_all_instructions([&] {
        const i64 size = adjoint ? t.data() : t.image(), out = adjoint ? t.image() : t.data();
        const std::vector<float> x = numbers<float>(7 * size, 5);
        std::vector<float> whole;
        {
          const OnThreads one(1);
          whole = apply(t, adjoint, x, Lay::dense);
        }
        for (const int threads : {2, 3, 8}) {
          const OnThreads some(threads);
          EXPECT_EQ(apply(t, adjoint, x, Lay::gaps), whole) << t.label;
          const i64 b = threads % 3 + 2;
          const std::vector<float> alone(x.begin() + b * size, x.begin() + (b + 1) * size),
              part(whole.begin() + b * out, whole.begin() + (b + 1) * out);
          EXPECT_EQ(apply(t, adjoint, alone, Lay::dense), part) << t.label;
        }
      });
}

// A part of the detector or of the volume along one axis, and which numbers of the whole it has.
struct Part {
  Tomograph t;
  std::vector<i64> outputs;
};
Part cut(const Tomograph& t, bool image, i64 axis, i64 begin, i64 end) {
  Part p{t, {}};
  Shape shape = image ? image_shape(t, 1) : data_shape(t, 1);
  const i64 last = shape.size() - 1;
  if (image) {
    p.t.voxels[last - axis] = end - begin;
    p.t.g.first_voxel[last - axis] += begin;
  } else if (axis == 1) {
    p.t.views.assign(t.views.begin() + begin * view_numbers, t.views.begin() + end * view_numbers);
  } else {
    (axis == last ? p.t.cells : p.t.rows) = end - begin;
    (axis == last ? p.t.g.first_cell : p.t.g.first_row) += begin;
  }
  for_each_offset(Layout::contiguous(shape).slice(axis, begin, end - begin),
                  [&](i64, i64 offset) { p.outputs.push_back(offset); });
  return p;
}

// Each output of a part has the bits that it has in the whole.
TEST(Rays, OfPartsAreThoseOfTheWhole) {
  for (const Tomograph& t : tomographs())
    for (const bool adjoint : {false, true})
      on_all_instructions([&] {
        const std::vector<float> x = numbers<float>(adjoint ? t.data() : t.image(), 6);
        const std::vector<float> whole = apply(t, adjoint, x, Lay::dense);
        const Shape out = adjoint ? image_shape(t, 1) : data_shape(t, 1);
        for (i64 axis = 1; axis < out.size(); ++axis)
          for (const i64 begin : {i64{0}, out[axis] / 3, out[axis] / 2}) {
            const i64 end = begin == 0 ? (out[axis] + 2) / 3 : out[axis];
            const Part p = cut(t, adjoint, axis, begin, end);
            std::vector<float> expected;
            for (const i64 i : p.outputs) expected.push_back(whole[static_cast<std::size_t>(i)]);
            EXPECT_EQ(apply(p.t, adjoint, x, Lay::dense), expected)
                << t.label << ", axis " << axis << " of " << (adjoint ? "the image" : "the data")
                << " from " << begin << " to " << end;
          }
      });
}

}  // namespace
}  // namespace tessera
