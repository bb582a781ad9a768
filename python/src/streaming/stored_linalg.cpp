// SPDX-License-Identifier: Apache-2.0
#include "streaming/stored_linalg.hpp"

#include "array/linalg.hpp"
#include "core/sequence.hpp"
#include "streaming/stored_array.hpp"
#include "tessera/streaming/stored/stored_factors.hpp"
#include "tessera/streaming/stored/stored_linalg.hpp"

namespace tessera::python {
namespace {

using nb::literals::operator""_a;
using streaming::StoredArray;

void bind_factors_of_stored(nb::module_& m) {
  m.def(
      "_stored_qr",
      [](const StoredArray& a) {
        streaming::StoredQr f = released([&] { return streaming::qr(a); });
        return nb::make_tuple(f.q, wrap(std::move(f.r)));
      },
      nb::sig("def _stored_qr(a: StoredArray) -> tuple[StoredArray, Array]"));
  m.def(
      "_stored_qr_triangle",
      [](const StoredArray& a) {
        return wrap(released([&] { return streaming::qr_triangle(a); }));
      },
      nb::sig("def _stored_qr_triangle(a: StoredArray) -> Array"));
  m.def(
      "_stored_svd",
      [](const StoredArray& a) {
        streaming::StoredSvd f = released([&] { return streaming::svd(a); });
        return nb::make_tuple(f.u, wrap(std::move(f.s)), wrap(std::move(f.vh)));
      },
      nb::sig("def _stored_svd(a: StoredArray) -> tuple[StoredArray, Array, Array]"));
  m.def(
      "_stored_svdvals",
      [](const StoredArray& a) { return wrap(released([&] { return streaming::svdvals(a); })); },
      nb::sig("def _stored_svdvals(a: StoredArray) -> Array"));
  m.def(
      "_stored_lstsq",
      [](const StoredArray& a, const StoredArray& b, nb::handle rcond) {
        const double tolerance = tolerance_from(rcond, "lstsq");
        linalg::Lstsq r = released([&] { return streaming::lstsq(a, b, tolerance); });
        return nb::make_tuple(wrap(std::move(r.x)), wrap(std::move(r.residuals)), r.rank,
                              wrap(std::move(r.s)));
      },
      "a"_a, "b"_a, "rcond"_a.none(),
      nb::sig("def _stored_lstsq(a: StoredArray, b: StoredArray, rcond: float | None) -> "
              "tuple[Array, Array, int, Array]"));
  m.def(
      "_stored_pinv",
      [](const StoredArray& a, nb::handle rtol) {
        const double tolerance = tolerance_from(rtol, "pinv");
        return released([&] { return streaming::pinv(a, tolerance); });
      },
      "a"_a, "rtol"_a.none(),
      nb::sig("def _stored_pinv(a: StoredArray, rtol: float | None) -> StoredArray"));
  m.def(
      "_stored_multiply",
      [](const StoredArray& a, nb::handle x, nb::handle trans) {
        const Array right = as_array(x, "matmul");
        const Turn turn = turn_from(trans, "matmul");
        return wrap(released([&] { return streaming::multiply(a, right, turn); }));
      },
      "a"_a, "x"_a, "trans"_a,
      nb::sig("def _stored_multiply(a: StoredArray, x: Array, trans: int | str) -> Array"));
  m.def(
      "_stored_randomized_svd",
      [](const StoredArray& a, i64 k, i64 oversample, i64 passes, double rtol, double atol,
         std::uint64_t seed) {
        const streaming::RandomizedSvdOptions what{k, oversample, passes, rtol, atol, seed};
        streaming::RandomizedSvd f = released([&] { return streaming::randomized_svd(a, what); });
        nb::list changes;
        for (const double c : f.changes) changes.append(c);
        return nb::make_tuple(f.u, wrap(std::move(f.s)), f.vh, changes, f.converged);
      },
      "a"_a, "k"_a, "oversample"_a, "passes"_a, "rtol"_a, "atol"_a, "seed"_a,
      nb::sig("def _stored_randomized_svd(a: StoredArray, k: int, oversample: int, passes: int, "
              "rtol: float, atol: float, seed: int) -> tuple[StoredArray, Array, StoredArray, "
              "list[float], bool]"));
}

}  // namespace

void bind_stored_linalg(nb::module_& m) {
  m.def(
      "_stored_cholesky",
      [](const StoredArray& a, bool upper, const std::string& path) {
        return released([&] { return streaming::cholesky(a, upper, path); });
      },
      "a"_a, "upper"_a, "path"_a = "");
  m.def(
      "_stored_solve",
      [](const StoredArray& a, const StoredArray& b, const std::string& path, nb::handle device) {
        const std::optional<Device> where = device_or_none(device);
        return released([&] { return streaming::solve(a, b, path, where); });
      },
      "a"_a, "b"_a, "path"_a = "", "device"_a.none() = nb::none());
  m.def(
      "_stored_solve_into",
      [](nb::handle out, nb::handle a, nb::handle b, nb::handle device) {
        const StoredArray matrix = in_place(a, "solve"), right = in_place(b, "solve");
        const StoredArray to = place_for(out, "solve", {a, b});
        const std::optional<Device> where = device_or_none(device);
        released([&] { streaming::solve_into(to, matrix, right, where); });
      },
      "out"_a, "a"_a, "b"_a, "device"_a.none(),
      nb::sig("def _stored_solve_into(out: typing.Any, a: typing.Any, b: typing.Any, "
              "device: typing.Any) -> None"));
  m.def(
      "_stored_inverse",
      [](const StoredArray& a, const std::string& path, nb::handle device) {
        const std::optional<Device> where = device_or_none(device);
        return released([&] { return streaming::inverse(a, path, where); });
      },
      "a"_a, "path"_a = "", "device"_a.none() = nb::none());
  m.def(
      "_stored_inverse_into",
      [](nb::handle out, nb::handle a, nb::handle device) {
        const StoredArray matrix = in_place(a, "inverse");
        const StoredArray to = place_for(out, "inverse", {a});
        const std::optional<Device> where = device_or_none(device);
        released([&] { streaming::inverse_into(to, matrix, where); });
      },
      "out"_a, "a"_a, "device"_a.none(),
      nb::sig("def _stored_inverse_into(out: typing.Any, a: typing.Any, device: typing.Any) -> "
              "None"));
  m.def(
      "_stored_solve_triangular",
      [](const StoredArray& a, const StoredArray& b, nb::handle trans, bool lower, bool unit,
         const std::string& path) {
        const linalg::TriangularOptions what{lower, turn_from(trans, "solve_triangular"), unit};
        return released([&] { return streaming::solve_triangular(a, b, what, path); });
      },
      "a"_a, "b"_a, "trans"_a, "lower"_a, "unit"_a, "path"_a = "",
      nb::sig("def _stored_solve_triangular(a: StoredArray, b: StoredArray, trans: int | str, "
              "lower: bool, unit: bool, path: str = '') -> StoredArray"));
  bind_factors_of_stored(m);
}

}  // namespace tessera::python
