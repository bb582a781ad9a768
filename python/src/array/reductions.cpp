// SPDX-License-Identifier: Apache-2.0
// Sums, extrema, means and truth values over axes: each a function and a method, with NumPy's
// arguments.
#include "array/reduction_functions.hpp"

namespace tessera::python {

std::optional<Shape> axes_from(nb::handle axis, i64 ndim) {
  auto axes = shape_or_none(axis);
  const bool one = axes && axes->size() == 1 && PyIndex_Check(axis.ptr());
  if (one && ndim == 0 && ((*axes)[0] == 0 || (*axes)[0] == -1)) return std::nullopt;
  return axes;
}

namespace {

using nb::literals::operator""_a;

nb::object finished(Array result, nb::handle out, const char* who) {
  if (out.is_none()) return wrap(std::move(result));
  const Array& target = target_array(out, who);
  require<ShapeError>(target.shape() == result.shape(), who, ": output array has shape ",
                      target.shape(), ", expected ", result.shape());
  released([&] { target.copy_from(result); });
  return nb::borrow(out);
}

nb::object reduced(ReduceOp op, nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                   bool keepdims) {
  const std::string who(name(op));
  const Array a = as_array(x, who);
  const auto axes = axes_from(axis, a.ndim());
  const auto t = dtype_or_none(dtype);
  return finished(released([&] { return reduce(op, a, axes, keepdims, t); }), out, who.c_str());
}

nb::object averaged(nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                    bool keepdims) {
  Array a = as_array(x, "mean");
  const auto axes = axes_from(axis, a.ndim());
  const auto t = dtype_or_none(dtype);
  return finished(released([&] { return mean(t ? a.astype(*t) : a, axes, keepdims); }), out,
                  "mean");
}

nb::object distributed(bool root, nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                       double ddof, bool keepdims) {
  const char* who = root ? "std" : "var";
  Array a = as_array(x, who);
  const auto axes = axes_from(axis, a.ndim());
  const auto t = dtype_or_none(dtype);
  return finished(released([&] {
                    const i64 whole = is_whole(ddof) ? static_cast<i64>(ddof) : 0;
                    Array v = variance(t ? a.astype(*t) : a, axes, whole, keepdims);
                    if (!is_whole(ddof))
                      v = ops::multiply(v, Value(factor_for(ddof, a.size(), v.size())));
                    return root ? ops::sqrt(v) : v;
                  }),
                  out, who);
}

nb::object scanned(ScanOp op, nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out) {
  const char* who = op == ScanOp::sum ? "cumsum" : "cumprod";
  const Array a = as_array(x, who);
  const std::optional<i64> along =
      axis.is_none() ? std::nullopt : std::optional(int_from(axis, who));
  const auto t = dtype_or_none(dtype);
  return finished(released([&] { return scan(op, a, along, t); }), out, who);
}

Array vector_norm(nb::handle x, nb::handle axis, bool keepdims) {
  const Array a = as_array(x, "norm");
  const auto axes = axes_from(axis, a.ndim());
  return released([&] {
    if (!axes && !keepdims) return norm(a);
    const DType real = real_of(a.dtype());
    const Array f = is_inexact(real) ? a : a.astype(DType::f64);
    return ops::sqrt(reduce(ReduceOp::sum_abs2, f, axes, keepdims));
  });
}

}  // namespace

void bind_reductions(nb::module_& m, nb::class_<Array>& c) {
  bind_reduction_functions(m, c,
                           {.type = "Array",
                            .array = "ts.array(",
                            .end = ")",
                            .masked = "local",
                            .reduce = &reduced,
                            .mean = &averaged,
                            .distributed = &distributed,
                            .scan = &scanned});
  m.def(
      "vdot",
      [](nb::handle a, nb::handle b) {
        const Array x = as_array(a, "vdot"), y = as_array(b, "vdot");
        return released([&] { return vdot(x, y); });
      },
      "a"_a, "b"_a, nb::sig("def vdot(a: ArrayLike, b: ArrayLike) -> Array"),
      "The sum of conj(a) * b over all elements.\n\n>>> ts.vdot([1j, 2], [1j, "
      "3]).item()\n(7+0j)\n");
  m.def("norm", &vector_norm, "x"_a, "axis"_a = nb::none(), "keepdims"_a = false,
        nb::sig("def norm(x: ArrayLike, axis: int | typing.Sequence[int] | None = None, keepdims: "
                "bool = False) -> Array"),
        "The square root of the sum of |x|**2.\n\n>>> ts.norm([3.0, 4.0]).item()\n5.0\n");
}

}  // namespace tessera::python
