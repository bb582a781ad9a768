// SPDX-License-Identifier: Apache-2.0
// The generator class behind ts.random.
#include "core/generator.hpp"
#include "core/repr.hpp"
#include "core/sequence.hpp"

namespace tessera::python {

std::uint64_t seed_from(nb::handle h) {
  const bool whole = is_one_integer(h) && !PyBool_Check(h.ptr());
  const nb::object index = whole ? nb::steal(PyNumber_Index(h.ptr())) : nb::object();
  PyErr_Clear();
  const auto v = index.is_valid() ? weak_value(index.ptr()) : std::nullopt;
  require<ArgumentError>(v && v->is_integer() && v->as<i64>() >= 0,
                         "seed: expected a non-negative integer, got ", repr_of(h));
  return v->as<std::uint64_t>();
}

namespace {

using nb::literals::operator""_a;

// The defaults are texts; they are not read anew for every draw.
DType drawn_dtype(nb::handle h) {
  if (PyUnicode_CheckExact(h.ptr()) && PyUnicode_CompareWithASCIIString(h.ptr(), "float64") == 0)
    return DType::f64;
  return dtype_from(h);
}
Device drawn_device(nb::handle h) {
  if (PyUnicode_CheckExact(h.ptr()) && PyUnicode_CompareWithASCIIString(h.ptr(), "cpu") == 0)
    return cpu;
  return device_from(h);
}

bool is_many(const Shape& shape, Device device) {
  constexpr i64 few = 256;
  return device.kind != Kind::cpu || shape.size() != 1 || shape[0] > few;
}

Array normal(Generator& g, nb::handle shape, nb::handle dtype, nb::handle device, double mean,
             double deviation) {
  const Shape s = shape_from(shape);
  const DType t = drawn_dtype(dtype);
  const Device d = drawn_device(device);
  return g.draw_here([&](Random& r) { return r.normal(s, t, d, mean, deviation); }, is_many(s, d));
}

Array uniform(Generator& g, nb::handle shape, nb::handle dtype, nb::handle device, double low,
              double high) {
  const Shape s = shape_from(shape);
  const DType t = drawn_dtype(dtype);
  const Device d = drawn_device(device);
  return g.draw_here([&](Random& r) { return r.uniform(s, t, d, low, high); }, is_many(s, d));
}

Array integers(Generator& g, i64 low, i64 high, nb::handle shape, nb::handle dtype,
               nb::handle device) {
  require<ArgumentError>(low < high, "low >= high");
  const Shape s = shape_from(shape);
  const DType t = drawn_dtype(dtype);
  const Device d = drawn_device(device);
  return g.draw_here([&](Random& r) { return r.integers(low, high, s, t, d); }, is_many(s, d));
}

Array permutation(Generator& g, i64 n, nb::handle device) {
  const Device d = drawn_device(device);
  return g.draw_here([&](Random& r) { return r.permutation(n, d); }, is_many({n}, d));
}

}  // namespace

void bind_random(nb::module_& m) {
  nb::class_<Generator> c(
      m, "Generator",
      "A source of random numbers that depend on the seed and the number of the draw only. Pickles "
      "and copies go on\nfrom the next draw.\n\n"
      ">>> a, b = ts.random.Generator(7), ts.random.Generator(7)\n"
      ">>> bool((a.normal(3) == b.normal(3)).all())\nTrue\n");
  bind_generator_state<Generator>(c);
  c.def(
       "__init__", [](Generator* g, nb::handle seed) { new (g) Generator(seed_from(seed)); },
       "seed"_a, nb::sig("def __init__(self, seed: int) -> None"))
      .def(
          "seed", [](Generator& g, nb::handle seed) { g.seed(seed_from(seed)); }, "seed"_a,
          nb::sig("def seed(self, seed: int) -> None"),
          "Starts again from draw 0 of another seed.\n\n"
          ">>> g = ts.random.Generator(1); a = g.normal(2); g.seed(1)\n"
          ">>> bool((g.normal(2) == a).all())\nTrue\n")
      .def("normal", &normal, "shape"_a, "dtype"_a = "float64", "device"_a.none() = "cpu",
           "mean"_a = 0.0, "deviation"_a = 1.0,
           nb::sig("def normal(self, shape: ShapeLike, dtype: DTypeLike = 'float64', device: "
                   "DeviceLike = 'cpu', "
                   "mean: float = 0.0, deviation: float = 1.0) -> Array"),
           "Normal numbers; complex ones have the deviation in both parts together.\n\n"
           ">>> ts.random.Generator(1).normal((2, 3), 'complex64').shape\n(2, 3)\n")
      .def("uniform", &uniform, "shape"_a, "dtype"_a = "float64", "device"_a.none() = "cpu",
           "low"_a = 0.0, "high"_a = 1.0,
           nb::sig("def uniform(self, shape: ShapeLike, dtype: DTypeLike = 'float64', device: "
                   "DeviceLike = 'cpu', "
                   "low: float = 0.0, high: float = 1.0) -> Array"),
           "Uniform numbers in [low, high).\n\n"
           ">>> x = ts.random.Generator(1).uniform(100, low=2, high=3)\n"
           ">>> bool(((x >= 2) & (x < 3)).all())\nTrue\n")
      .def("integers", &integers, "low"_a, "high"_a, "shape"_a, "dtype"_a = "int64",
           "device"_a.none() = "cpu",
           nb::sig("def integers(self, low: int, high: int, shape: ShapeLike, dtype: DTypeLike = "
                   "'int64', "
                   "device: DeviceLike = 'cpu') -> Array"),
           "Integers in [low, high), without bias.\n\n"
           ">>> sorted(set(ts.random.Generator(1).integers(0, 3, 100).tolist()))\n[0, 1, 2]\n")
      .def("permutation", &permutation, "n"_a, "device"_a.none() = "cpu",
           nb::sig("def permutation(self, n: int, device: DeviceLike = 'cpu') -> Array"),
           "The numbers 0 … n-1 in random order.\n\n"
           ">>> sorted(ts.random.Generator(1).permutation(4).tolist())\n[0, 1, 2, 3]\n");
}

}  // namespace tessera::python
