// SPDX-License-Identifier: Apache-2.0
#include "streaming/stored_creation.hpp"

#include "array/creation.hpp"
#include "core/generator.hpp"
#include "tessera/streaming/stored/fill.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;
using streaming::StoredArray;

StoredArray stored_zeros(nb::handle shape, nb::handle dtype) {
  const Shape s = shape_from(shape);
  const DType t = dtype_from(dtype);
  return released([&] { return StoredArray::zeros(s, t); });
}

StoredArray stored_full(nb::handle shape, nb::handle value, nb::handle dtype) {
  const Shape s = shape_from(shape);
  const auto wanted = dtype_or_none(dtype);
  const Value v = value_from(value, "full", wanted);
  const DType t = wanted.value_or(v.dtype());
  check_fits(v, t);
  return released([&] { return streaming::filled(s, v, t); });
}

StoredArray stored_drawn(Generator& g, nb::handle shape, nb::handle dtype,
                         const std::function<RandomSpec(Random&, DType)>& next) {
  const Shape s = shape_from(shape);
  const DType t = dtype_from(dtype);
  return g.draw_here([&](Random& r) { return streaming::drawn(s, t, next(r, t)); });
}

}  // namespace

void bind_stored_creation(nb::module_& m) {
  m.def("_stored_zeros", &stored_zeros, "shape"_a, "dtype"_a,
        nb::sig("def _stored_zeros(shape: typing.Any, dtype: typing.Any) -> StoredArray"));
  m.def("_stored_full", &stored_full, "shape"_a, "value"_a, "dtype"_a.none(),
        nb::sig("def _stored_full(shape: typing.Any, value: typing.Any, dtype: typing.Any) -> "
                "StoredArray"));
  m.def(
      "_stored_arange",
      [](nb::handle start, nb::handle stop, nb::handle step, nb::handle dtype) {
        const Range r = range_from(start, stop, step, dtype);
        return released([&] { return streaming::ranged(r.from, r.to, r.by, r.dtype); });
      },
      "start"_a, "stop"_a.none(), "step"_a, "dtype"_a.none(),
      nb::sig("def _stored_arange(start: typing.Any, stop: typing.Any, step: typing.Any, dtype: "
              "typing.Any) -> StoredArray"));
  m.def(
      "_stored_linspace",
      [](double start, double stop, i64 num, bool endpoint, nb::handle dtype) {
        const DType t = dtype_from(dtype);
        const i64 steps = endpoint ? num : num + 1;
        return released([&] { return streaming::spaced(start, stop, steps, num, t); });
      },
      "start"_a, "stop"_a, "num"_a, "endpoint"_a, "dtype"_a,
      nb::sig("def _stored_linspace(start: float, stop: float, num: int, endpoint: bool, dtype: "
              "typing.Any) -> StoredArray"));
  m.def(
      "_stored_eye",
      [](i64 rows, i64 columns, i64 k, nb::handle dtype) {
        const DType t = dtype_from(dtype);
        return released([&] { return streaming::ones_on_diagonal(rows, columns, k, t); });
      },
      "rows"_a, "columns"_a, "k"_a, "dtype"_a,
      nb::sig("def _stored_eye(rows: int, columns: int, k: int, dtype: typing.Any) -> "
              "StoredArray"));
  m.def(
      "_stored_normal",
      [](Generator& g, nb::handle shape, nb::handle dtype, double mean, double deviation) {
        return stored_drawn(g, shape, dtype,
                            [&](Random& r, DType t) { return r.next_normal(t, mean, deviation); });
      },
      "generator"_a, "shape"_a, "dtype"_a, "mean"_a, "deviation"_a,
      nb::sig("def _stored_normal(generator: Generator, shape: typing.Any, dtype: typing.Any, "
              "mean: float, deviation: float) -> StoredArray"));
  m.def(
      "_stored_uniform",
      [](Generator& g, nb::handle shape, nb::handle dtype, double low, double high) {
        return stored_drawn(g, shape, dtype,
                            [&](Random& r, DType t) { return r.next_uniform(t, low, high); });
      },
      "generator"_a, "shape"_a, "dtype"_a, "low"_a, "high"_a,
      nb::sig("def _stored_uniform(generator: Generator, shape: typing.Any, dtype: typing.Any, "
              "low: float, high: float) -> StoredArray"));
  m.def(
      "_stored_integers",
      [](Generator& g, nb::handle shape, nb::handle dtype, i64 low, i64 high) {
        return stored_drawn(g, shape, dtype,
                            [&](Random& r, DType t) { return r.next_integers(low, high, t); });
      },
      "generator"_a, "shape"_a, "dtype"_a, "low"_a, "high"_a,
      nb::sig("def _stored_integers(generator: Generator, shape: typing.Any, dtype: typing.Any, "
              "low: int, high: int) -> StoredArray"));
}

}  // namespace tessera::python
