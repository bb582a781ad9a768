// SPDX-License-Identifier: Apache-2.0
// Sums, extrema, means and truth values over axes of distributed arrays: each a function and a
// method, with NumPy's arguments.
#include "dist_methods.hpp"
#include "tessera/dist/reduce.hpp"
#include "tessera/dist/scan.hpp"

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

nb::object spread(bool root, nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                  i64 ddof, bool keepdims) {
  const char* who = root ? "std" : "var";
  const DNDarray a = as_dist(x, who);
  const auto axes = axes_from(axis, a.ndim());
  const auto t = dtype_or_none(dtype);
  return finished(released([&] {
                    const DNDarray from = t ? a.astype(*t) : a;
                    return root ? dist::deviation(from, axes, ddof, keepdims)
                                : dist::variance(from, axes, ddof, keepdims);
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

#define AXIS "axis: int | typing.Sequence[int] | None = None, "
#define TYPE "dtype: DTypeLike | None = None, "
#define TAIL "out: DNDarray | None = None, keepdims: bool = False) -> DNDarray"

void bind_typed(nb::module_& m, nb::class_<DNDarray>& c) {
  struct Typed {
    const char* name;
    ReduceOp op;
    const char* doc;
  };
  static constexpr Typed typed[] = {
      {"sum", ReduceOp::sum,
       "The sum over axes; small integers are summed in 64 bits.\n\n"
       ">>> ts.dist.sum(ts.dist.ones((4, 3), split=0), axis=0).tolist()\n[4.0, 4.0, 4.0]\n"},
      {"prod", ReduceOp::prod,
       "The product over axes.\n\n>>> ts.dist.arange(1, 5, split=0).prod().item()\n24\n"}};
  for (const Typed& t : typed) {
    both(
        m, c, t.name, AXIS TYPE TAIL, t.doc,
        [op = t.op](nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out,
                    bool keepdims) { return reduced(op, x, axis, dtype, out, keepdims); },
        "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none(), "keepdims"_a = false);
  }
  both(m, c, "mean", AXIS TYPE TAIL,
       "The mean over axes.\n\n>>> ts.dist.arange(5, split=0).mean().item()\n2.0\n", &averaged,
       "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none(), "keepdims"_a = false);
  for (const bool root : {false, true}) {
    both(
        m, c, root ? "std" : "var",
        AXIS TYPE "out: DNDarray | None = None, ddof: int = 0, keepdims: bool = False) -> DNDarray",
        root ? "The standard deviation over axes.\n\n"
               ">>> ts.dist.array([1.0, 3.0], split=0).std().item()\n1.0\n"
             : "The variance over axes.\n\n"
               ">>> ts.dist.array([1.0, 5.0], split=0).var().item()\n4.0\n",
        [root](nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out, i64 ddof,
               bool keepdims) { return spread(root, x, axis, dtype, out, ddof, keepdims); },
        "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none(), "ddof"_a = 0,
        "keepdims"_a = false);
  }
}

void bind_plain(nb::module_& m, nb::class_<DNDarray>& c) {
  struct Plain {
    const char* name;
    ReduceOp op;
    const char *text, *numbers, *result;
  };
  static constexpr Plain plain[] = {
      {"max", ReduceOp::max, "The largest element over axes; NaN where there is one.", "[3, 1]",
       "3"},
      {"min", ReduceOp::min, "The smallest element over axes; NaN where there is one.", "[3, 1]",
       "1"},
      {"any", ReduceOp::any, "Some element is not zero.", "[0, 2]", "True"},
      {"all", ReduceOp::all, "Every element is not zero.", "[0, 2]", "False"},
      {"argmax", ReduceOp::argmax, "Where the largest element is, counted along the axis.",
       "[1, 5, 5]", "1"},
      {"argmin", ReduceOp::argmin, "Where the smallest element is, counted along the axis.",
       "[2, 1, 1]", "1"},
      {"count_nonzero", ReduceOp::count_nonzero, "How many elements are not zero.", "[0, 3, 4]",
       "2"}};
  for (const Plain& p : plain) {
    const std::string doc = cat(p.text, "\n\n>>> ts.dist.array(", p.numbers, ", split=0).", p.name,
                                "().item()\n", p.result, "\n");
    both(
        m, c, p.name, AXIS TAIL, doc.c_str(),
        [op = p.op](nb::handle x, nb::handle axis, nb::handle out, bool keepdims) {
          return reduced(op, x, axis, nb::none(), out, keepdims);
        },
        "axis"_a = nb::none(), "out"_a = nb::none(), "keepdims"_a = false);
  }
}

}  // namespace

void bind_dist_reductions(nb::module_& m, nb::class_<DNDarray>& c) {
  bind_typed(m, c);
  bind_plain(m, c);
  for (const ScanOp op : {ScanOp::sum, ScanOp::prod}) {
    const bool sum = op == ScanOp::sum;
    both(
        m, c, sum ? "cumsum" : "cumprod",
        "axis: int | None = None, " TYPE "out: DNDarray | None = None) -> DNDarray",
        sum ? "Running sums along an axis, or over the flattened array.\n\n"
              ">>> ts.dist.arange(1, 4, split=0).cumsum().tolist()\n[1, 3, 6]\n"
            : "Running products along an axis, or over the flattened array.\n\n"
              ">>> ts.dist.arange(1, 4, split=0).cumprod().tolist()\n[1, 2, 6]\n",
        [op](nb::handle x, nb::handle axis, nb::handle dtype, nb::handle out) {
          return scanned(op, x, axis, dtype, out);
        },
        "axis"_a = nb::none(), "dtype"_a = nb::none(), "out"_a = nb::none());
  }
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
