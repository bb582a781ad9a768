// SPDX-License-Identifier: Apache-2.0
// Samples of the ray transforms: every beam, images that are not square, voxels that are not cubes,
// cells narrower and wider than voxels, and shadows that miss the image.
#include "samples.hpp"

namespace tessera::laws {
namespace {

Array turns(i64 count, Device d) { return Random(17).uniform({count}, DType::f64, d, -4, 4); }

RayOptions options_of(Beam beam, const SmallVec<double, 3>& voxel, double row_pitch = 1) {
  RayOptions o;
  o.beam = beam;
  o.voxel = voxel;
  o.row_pitch = row_pitch;
  return o;
}

}  // namespace

template <>
std::vector<Sample> samples<RayTransform>(DType, Device d) {
  using enum Beam;
  const FanGeometry near{12, 5, 1.7, 0.3}, round{11, 4, 1.1, -0.8, 0, true},
      high{13, 6, 2.1, 0.4, 0.7}, cylinder{12, 3, 1.3, 0, -0.4, true};
  RayOptions moved = options_of(parallel, {1.0, 0.7});
  moved.centre = {1.5, 4.0};
  return {{"parallel", RayTransform(parallel_views(turns(4, d)), {5, 6}, {9}), {5, 6}},
          {"batch of slices",
           RayTransform(parallel_views(turns(3, d), 0.4, 0.2), {4, 7}, {11}, moved, dims("Nz")),
           {5, 4, 7}},
          {"wide cells",
           RayTransform(parallel_views(turns(3, d), 3.3), {7, 5}, {3}, {}, dims("...")),
           {2, 2, 7, 5}},
          {"one voxel", RayTransform(parallel_views(turns(2, d)), {1, 1}, {1}), {1, 1}},
          {"fan",
           RayTransform(fan_views(turns(4, d), near), {5, 7}, {6}, options_of(flat, {1.0, 1.2}),
                        dims("C")),
           {9, 5, 7}},
          {"fan beside an image of small voxels",
           RayTransform(fan_views(turns(3, d), {4, 3, 0.7, 0.1}), {9, 11}, {8},
                        options_of(flat, {0.5, 0.45})),
           {9, 11}},
          {"fan on an arc",
           RayTransform(fan_views(turns(3, d), round), {6, 5}, {8}, options_of(arc, {1.0}),
                        dims("..."), dims("YX"), dims("RK")),
           {6, 5}},
          {"cone",
           RayTransform(fan_views(turns(3, d), high), {4, 5, 6}, {3, 5},
                        options_of(flat, {0.8, 1.0, 1.1}, 1.9)),
           {4, 5, 6}},
          {"helix on a cylinder",
           RayTransform(fan_views(turns(2, d), cylinder, turns(2, d)), {5, 4, 4}, {6, 4},
                        options_of(arc, {1.0}, 0.6), dims("C")),
           {2, 5, 4, 4}}};
}

template <>
std::vector<Refusal> refusals<RayTransform>() {
  const auto angles = [] { return ones({3}, DType::f64, cpu); };
  const auto fan = [=](double distance) { return fan_views(angles(), FanGeometry{distance, 5}); };
  const auto with = [](Beam beam, const SmallVec<double, 3>& voxel) {
    return options_of(beam, voxel);
  };
  return {{[=] { RayTransform(parallel_views(angles()), {5}, {9}); }, "expected two axes"},
          {[=] {
             RayTransform(parallel_views(angles()), {5, 5}, {9, 2});
           },
           "detector of shape"},
          {[=] {
             RayTransform(parallel_views(angles()), {5, 0}, {9});
           },
           "at least 1"},
          {[=] {
             RayTransform(parallel_views(angles(), 0), {5, 5}, {9});
           },
           "without extent"},
          {[=] {
             RayTransform(parallel_views(angles()), {3, 5, 5}, {2, 9});
           },
           "batch of images"},
          {[=] {
             RayTransform(ones({3, 7}, DType::f64, cpu), {5, 5}, {9});
           },
           "expected (angles, 8)"},
          {[=] {
             RayTransform(ones({3, 8}, DType::f32, cpu), {5, 5}, {9});
           },
           "expected float64"},
          {[=] {
             RayTransform(parallel_views(angles()), {5, 5}, {9}, {}, dims("..."), dims("X"));
           },
           "has the names (X,)"},
          {[=] {
             RayTransform(parallel_views(angles()), {5, 5}, {9}, {}, dims("..."), dims("XY"),
                          dims("AX"));
           },
           "'X' appears twice"},
          {[=] {
             RayTransform(fan(2), {5, 5}, {9}, with(Beam::flat, {1.0}));
           },
           "within the image or beside it"},
          {[=] {
             RayTransform(fan(20), {5, 5}, {9}, with(Beam::flat, {0.0}));
           },
           "expected a positive number"},
          {[=] {
             RayTransform(fan(20), {5, 5}, {9}, with(Beam::flat, {1.0, 2.0, 3.0}));
           },
           "expected one for all, or one each"}};
}

}  // namespace tessera::laws
