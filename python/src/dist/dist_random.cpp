// SPDX-License-Identifier: Apache-2.0
// The generator class behind ts.dist.random: every rank draws the same number of times, and makes
// only its own part of each draw.
#include "core/generator.hpp"
#include "dist/dist.hpp"
#include "dist/dist_options.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// A class of its own for Python: the draws of ts.random.Generator are local arrays.
struct SharedGenerator : Generator {
  using Generator::Generator;
};

nb::object normal(SharedGenerator& g, nb::handle shape, nb::handle dtype, nb::handle split,
                  nb::handle device, nb::handle comm, double mean, double deviation) {
  const Shape s = shape_from(shape);
  const DType t = dtype_from(dtype);
  const dist::Options options = options_from(split, device, comm);
  return wrap(g.draw([&](Random& r) { return dist::normal(r, s, t, options, mean, deviation); }));
}

nb::object uniform(SharedGenerator& g, nb::handle shape, nb::handle dtype, nb::handle split,
                   nb::handle device, nb::handle comm, double low, double high) {
  const Shape s = shape_from(shape);
  const DType t = dtype_from(dtype);
  const dist::Options options = options_from(split, device, comm);
  return wrap(g.draw([&](Random& r) { return dist::uniform(r, s, t, options, low, high); }));
}

nb::object integers(SharedGenerator& g, i64 low, i64 high, nb::handle shape, nb::handle dtype,
                    nb::handle split, nb::handle device, nb::handle comm) {
  require<ArgumentError>(low < high, "low >= high");
  const Shape s = shape_from(shape);
  const DType t = dtype_from(dtype);
  const dist::Options options = options_from(split, device, comm);
  return wrap(g.draw([&](Random& r) { return dist::integers(r, low, high, s, t, options); }));
}

nb::object permutation(SharedGenerator& g, i64 n, nb::handle split, nb::handle device,
                       nb::handle comm) {
  const dist::Options options = options_from(split, device, comm);
  return wrap(g.draw([&](Random& r) { return dist::permutation(r, n, options); }));
}

#define PLACE                                                    \
  "split: int | None = None, device: DeviceLike | None = None, " \
  "comm: Communicator | None = None"
#define WITH_PLACE "split"_a = nb::none(), "device"_a = nb::none(), "comm"_a = nb::none()

}  // namespace

void bind_dist_random(nb::module_& m) {
  nb::class_<SharedGenerator> c(
      m, "Generator",
      "A source of random arrays that depend on the seed and the number of the draw only, not on "
      "the number of ranks.\n\n"
      ">>> g = ts.dist.random.Generator(7)\n"
      ">>> bool((g.normal(3, split=0) == ts.random.Generator(7).normal(3)).all())\nTrue\n");
  bind_generator_state<SharedGenerator>(c);
  c.def(
       "__init__",
       [](SharedGenerator* g, nb::handle seed) { new (g) SharedGenerator(seed_from(seed)); },
       "seed"_a, nb::sig("def __init__(self, seed: int) -> None"))
      .def(
          "seed", [](SharedGenerator& g, nb::handle seed) { g.seed(seed_from(seed)); }, "seed"_a,
          nb::sig("def seed(self, seed: int) -> None"),
          "Starts again from draw 0 of another seed.\n\n"
          ">>> g = ts.dist.random.Generator(1); a = g.normal(2); g.seed(1)\n"
          ">>> bool((g.normal(2) == a).all())\nTrue\n")
      .def("normal", &normal, "shape"_a, "dtype"_a = "float64", WITH_PLACE, "mean"_a = 0.0,
           "deviation"_a = 1.0,
           nb::sig("def normal(self, shape: ShapeLike, dtype: DTypeLike = 'float64', " PLACE
                   ", mean: float = 0.0, deviation: float = 1.0) -> DNDarray"),
           "Normal numbers; complex ones have the deviation in both parts together.\n\n"
           ">>> ts.dist.random.Generator(1).normal((2, 3), 'complex64', split=0).shape\n(2, 3)\n")
      .def("uniform", &uniform, "shape"_a, "dtype"_a = "float64", WITH_PLACE, "low"_a = 0.0,
           "high"_a = 1.0,
           nb::sig("def uniform(self, shape: ShapeLike, dtype: DTypeLike = 'float64', " PLACE
                   ", low: float = 0.0, high: float = 1.0) -> DNDarray"),
           "Uniform numbers in [low, high).\n\n"
           ">>> x = ts.dist.random.Generator(1).uniform(100, split=0, low=2, high=3)\n"
           ">>> bool(((x >= 2) & (x < 3)).all())\nTrue\n")
      .def("integers", &integers, "low"_a, "high"_a, "shape"_a, "dtype"_a = "int64", WITH_PLACE,
           nb::sig("def integers(self, low: int, high: int, shape: ShapeLike, dtype: DTypeLike = "
                   "'int64', " PLACE ") -> DNDarray"),
           "Integers in [low, high), without bias.\n\n"
           ">>> sorted(set(ts.dist.random.Generator(1).integers(0, 3, 100, "
           "split=0).tolist()))\n[0, 1, 2]\n")
      .def("permutation", &permutation, "n"_a, WITH_PLACE,
           nb::sig("def permutation(self, n: int, " PLACE ") -> DNDarray"),
           "The numbers 0 … n-1 in random order.\n\n"
           ">>> sorted(ts.dist.random.Generator(1).permutation(4, split=0).tolist())\n[0, 1, 2, "
           "3]\n");
}

}  // namespace tessera::python
