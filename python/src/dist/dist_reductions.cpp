// SPDX-License-Identifier: Apache-2.0
// Sums, extrema, means and truth values over axes of distributed arrays: each a function and a
// method, with NumPy's arguments.
#include "array/reduction_functions.hpp"
#include "dist/dist_methods.hpp"
#include "tessera/distributed/functions/elementwise.hpp"
#include "tessera/distributed/functions/reduce.hpp"
#include "tessera/distributed/functions/scan.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

nb::object reduced(ReduceOp op, nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                   bool keepdims) {
  const std::string who(name(op));
  const DNDarray a = as_dist(x, who);
  const auto axes = axes_from(axis, a.ndim());
  const auto t = dtype_or_none(dtype);
  return finished(released([&] { return dist::reduce(op, a, axes, keepdims, t); }), out, who);
}

nb::object averaged(nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                    bool keepdims) {
  const DNDarray a = as_dist(x, "mean");
  const auto axes = axes_from(axis, a.ndim());
  const auto t = dtype_or_none(dtype);
  return finished(released([&] { return dist::mean(t ? a.astype(*t) : a, axes, keepdims); }), out,
                  "mean");
}

nb::object distribution(bool root, nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                        double ddof, bool keepdims) {
  const char* who = root ? "std" : "var";
  const DNDarray a = as_dist(x, who);
  const auto axes = axes_from(axis, a.ndim());
  const auto t = dtype_or_none(dtype);
  return finished(released([&] {
                    const DNDarray from = t ? a.astype(*t) : a;
                    const i64 whole = is_whole(ddof) ? static_cast<i64>(ddof) : 0;
                    DNDarray v = dist::variance(from, axes, whole, keepdims);
                    if (!is_whole(ddof))
                      v = dist::multiply(v, factor_for(ddof, a.size(), v.size()));
                    return root ? dist::sqrt(v) : v;
                  }),
                  out, who);
}

nb::object scanned(ScanOp op, nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out) {
  const char* who = op == ScanOp::sum ? "cumsum" : "cumprod";
  const DNDarray a = as_dist(x, who);
  const auto along = axis_or_none(axis, who);
  const auto t = dtype_or_none(dtype);
  return finished(released([&] { return dist::scan(op, a, along, t); }), out, who);
}

}  // namespace

void bind_dist_reductions(nb::module_& m, nb::class_<DNDarray>& c) {
  bind_reduction_functions(m, c,
                           {.type = "DNDarray",
                            .array = "ts.dist.array(",
                            .end = ", split=0)",
                            .masked = "distributed",
                            .reduce = &reduced,
                            .mean = &averaged,
                            .distributed = &distribution,
                            .scan = &scanned});
  m.def(
      "vdot",
      [](nb::handle a, nb::handle b) {
        const Communicator comm = group_of({a, b});
        const DNDarray x = as_dist(a, "vdot", comm), y = as_dist(b, "vdot", comm);
        return wrap(released([&] { return dist::vdot(x, y); }));
      },
      "a"_a, "b"_a, nb::sig("def vdot(a: ArrayLike, b: ArrayLike) -> DNDarray"),
      "The sum of conj(a) * b over all elements.\n\n"
      ">>> x = ts.dist.arange(3, split=0); ts.dist.vdot(x, x).item()\n5\n");
  m.def(
      "norm",
      [](nb::handle x, nb::handle axis, bool keepdims) {
        const DNDarray a = as_dist(x, "norm");
        const auto axes = axes_from(axis, a.ndim());
        return wrap(released([&] { return dist::norm(a, axes, keepdims); }));
      },
      "x"_a, "axis"_a = nb::none(), "keepdims"_a = false,
      nb::sig("def norm(x: ArrayLike, axis: int | typing.Sequence[int] | None = None, keepdims: "
              "bool = False) -> DNDarray"),
      "The square root of the sum of |x|**2.\n\n"
      ">>> ts.dist.norm(ts.dist.array([3.0, 4.0], split=0)).item()\n5.0\n");
}

}  // namespace tessera::python
