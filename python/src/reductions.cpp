// SPDX-License-Identifier: Apache-2.0
// Sums, extrema, means and truth values over axes: each a function and a method, with NumPy's
// arguments.
#include "common.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/kernels/scan/scan.hpp"

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

nb::object spread(bool root, nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                  i64 ddof, bool keepdims) {
  const char* who = root ? "std" : "var";
  Array a = as_array(x, who);
  const auto axes = axes_from(axis, a.ndim());
  const auto t = dtype_or_none(dtype);
  return finished(released([&] {
                    Array v = variance(t ? a.astype(*t) : a, axes, ddof, keepdims);
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

#define AXIS "axis: int | typing.Sequence[int] | None = None, "
#define TAIL "out: Array | None = None, keepdims: bool = False) -> Array"

// Binds one callable twice: ts.name(x, …) and x.name(…).
template <class F, class... Extra>
void both(nb::module_& m, nb::class_<Array>& c, const char* name, const char* arguments,
          const char* doc, const F& f, const Extra&... extra) {
  const std::string function = cat("def ", name, "(x: ArrayLike, ", arguments);
  const std::string method = cat("def ", name, "(self, ", arguments);
  m.def(name, f, "x"_a, extra..., nb::sig(function.c_str()), doc);
  c.def(name, f, extra..., nb::sig(method.c_str()), doc);
}

void bind_typed(nb::module_& m, nb::class_<Array>& c) {
  struct Typed {
    const char* name;
    ReduceOp op;
    const char* doc;
  };
  static constexpr Typed typed[] = {
      {"sum", ReduceOp::sum,
       "The sum over axes; small integers are summed in 64 bits.\n\n"
       ">>> ts.sum([[1, 2], [3, 4]], axis=0).tolist()\n[4, 6]\n"},
      {"prod", ReduceOp::prod, "The product over axes.\n\n>>> ts.prod([1, 2, 3]).item()\n6\n"}};
  for (const Typed& t : typed) {
    both(
        m, c, t.name, AXIS "dtype: DTypeLike | None = None, " TAIL, t.doc,
        [op = t.op](nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                    bool keepdims) { return reduced(op, x, axis, dtype, out, keepdims); },
        "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none(), "keepdims"_a = false);
  }
  both(m, c, "mean", AXIS "dtype: DTypeLike | None = None, " TAIL,
       "The mean over axes.\n\n>>> ts.mean([1, 2, 6]).item()\n3.0\n", &averaged,
       "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none(), "keepdims"_a = false);
  for (const bool root : {false, true}) {
    both(
        m, c, root ? "std" : "var",
        AXIS
        "dtype: DTypeLike | None = None, out: Array | None = None, ddof: int = 0, keepdims: bool = "
        "False) -> Array",
        root ? "The standard deviation over axes.\n\n>>> ts.std([1.0, 3.0]).item()\n1.0\n"
             : "The variance over axes.\n\n>>> ts.var([1.0, 5.0]).item()\n4.0\n",
        [root](nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out, i64 ddof,
               bool keepdims) { return spread(root, x, axis, dtype, out, ddof, keepdims); },
        "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none(), "ddof"_a = 0,
        "keepdims"_a = false);
  }
}

void bind_plain(nb::module_& m, nb::class_<Array>& c) {
  struct Plain {
    const char* name;
    ReduceOp op;
    const char* doc;
  };
  static constexpr Plain plain[] = {
      {"max", ReduceOp::max,
       "The largest element over axes; NaN where there is one.\n\n>>> ts.max([3, 1]).item()\n3\n"},
      {"min", ReduceOp::min,
       "The smallest element over axes; NaN where there is one.\n\n>>> ts.min([3, 1]).item()\n1\n"},
      {"any", ReduceOp::any, "Some element is not zero.\n\n>>> ts.any([0, 2]).item()\nTrue\n"},
      {"all", ReduceOp::all, "Every element is not zero.\n\n>>> ts.all([0, 2]).item()\nFalse\n"},
      {"argmax", ReduceOp::argmax,
       "Where the largest element is, counted along the axis.\n\n>>> ts.argmax([1, 5, "
       "5]).item()\n1\n"},
      {"argmin", ReduceOp::argmin,
       "Where the smallest element is, counted along the axis.\n\n>>> ts.argmin([2, 1, "
       "1]).item()\n1\n"},
      {"count_nonzero", ReduceOp::count_nonzero,
       "How many elements are not zero.\n\n>>> ts.count_nonzero([0, 3, 4]).item()\n2\n"}};
  for (const Plain& p : plain) {
    both(
        m, c, p.name, AXIS TAIL, p.doc,
        [op = p.op](nb::handle x, nb::handle axis, nb::handle out, bool keepdims) {
          return reduced(op, x, axis, nb::none(), out, keepdims);
        },
        "axis"_a = nb::none(), "out"_a = nb::none(), "keepdims"_a = false);
  }
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
  bind_typed(m, c);
  bind_plain(m, c);
  for (const ScanOp op : {ScanOp::sum, ScanOp::prod}) {
    const bool sum = op == ScanOp::sum;
    both(
        m, c, sum ? "cumsum" : "cumprod",
        "axis: int | None = None, dtype: DTypeLike | None = None, out: Array | None = None) -> "
        "Array",
        sum ? "Running sums along an axis, or over the flattened array.\n\n>>> ts.cumsum([1, 2, "
              "3]).tolist()\n[1, 3, 6]\n"
            : "Running products along an axis, or over the flattened array.\n\n>>> ts.cumprod([1, "
              "2, 3]).tolist()\n[1, 2, 6]\n",
        [op](nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out) {
          return scanned(op, x, axis, dtype, out);
        },
        "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none());
  }
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
