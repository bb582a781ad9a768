// SPDX-License-Identifier: Apache-2.0
// Sorting, searching and selecting in distributed arrays.
#include "array/index_key.hpp"
#include "dist/dist_family.hpp"
#include "dist/dist_methods.hpp"
#include "tessera/distributed/functions/join.hpp"
#include "tessera/distributed/indexing/masks/nonzero.hpp"
#include "tessera/distributed/sorting/quantile.hpp"
#include "tessera/distributed/sorting/searchsorted.hpp"
#include "tessera/distributed/sorting/sort.hpp"
#include "tessera/distributed/sorting/take.hpp"
#include "tessera/distributed/sorting/topk.hpp"
#include "tessera/distributed/sorting/unique.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

nb::object positions(nb::handle x, bool as_tuple) {
  const DNDarray a = as_dist(x, "nonzero");
  const std::vector<DNDarray> found = released([&] { return dist::nonzero(a); });
  if (as_tuple) return tuple_of_arrays(found);
  return wrap(released([&] { return dist::stack(found, 1); }));
}

nb::object selected(nb::handle condition, nb::handle x, nb::handle y) {
  if (x.is_none() && y.is_none()) return positions(condition, true);
  require<ArgumentError>(!x.is_none() && !y.is_none(),
                         "either both or neither of x and y should be given");
  const std::array from{condition, x, y};
  std::vector<dist::Operand> operands;
  for (nb::handle h : from) operands.push_back(Distributed::operand(h, "where", condition));
  Distributed::require_array(operands, from, "where");
  return wrap(released([&] {
    dist::Operand& mask = operands[0];
    if (mask.distribution) mask = mask.distribution.astype(DType::b1);
    if (mask.array) mask = mask.array.astype(DType::b1);
    return dist::elementwise(ElementOp::where, operands);
  }));
}

nb::object clipped(nb::handle x, nb::handle low, nb::handle high, nb::handle out) {
  const DNDarray a = as_dist(x, "clip");
  std::optional<dist::Operand> lo, hi;
  if (!low.is_none() && !is_idle_bound(low, a.dtype(), true))
    lo = Distributed::operand(low, "clip", x);
  if (!high.is_none() && !is_idle_bound(high, a.dtype(), false))
    hi = Distributed::operand(high, "clip", x);
  return finished(released([&] {
                    DNDarray r = lo ? dist::maximum(a, *lo) : a;
                    if (hi) r = dist::minimum(r, *hi);
                    return lo || hi ? r : r.copy();
                  }),
                  out, "clip");
}

nb::object distinct(nb::handle x, bool index, bool inverse, bool counts, nb::handle axis) {
  const DNDarray a = as_dist(x, "unique");
  const auto along = axis_or_none(axis, "unique");
  const dist::UniqueParts parts{index, inverse, counts};
  const dist::Unique u =
      released([&] { return along ? dist::unique(a, *along, parts) : dist::unique(a, parts); });
  if (!index && !inverse && !counts) return wrap(u.values);
  std::vector<DNDarray> all{u.values};
  if (index) all.push_back(u.index);
  if (inverse) all.push_back(u.inverse);
  if (counts) all.push_back(u.counts);
  return tuple_of_arrays(std::move(all));
}

// Keys may come as lists of no numbers, which count as integers.
DNDarray indices_from(nb::handle h, std::string_view who, const DNDarray& x) {
  if (is_dist(h.ptr())) return dist_of(h.ptr());
  Array a = as_array(h, who);
  return DNDarray::replicated(released([&] {
                                if (a.size() == 0 && !is_integer(a.dtype()))
                                  a = a.astype(DType::i64);
                                return a.to(x.device());
                              }),
                              x.comm());
}

DNDarray values_from(nb::handle h, const DNDarray& x) {
  if (is_dist(h.ptr())) return dist_of(h.ptr());
  return DNDarray::replicated(assigned_value(h, x.dtype(), x.device()), x.comm());
}

void bind_sorting(nb::module_& m, nb::class_<DNDarray>& c) {
  m.def(
      "sort",
      [](nb::handle x, nb::handle axis) {
        const DNDarray a = as_dist(x, "sort");
        const auto along = axis_or_none(axis, "sort");
        return wrap(released([&] { return dist::sort(a, along); }));
      },
      "x"_a, "axis"_a.none() = -1,
      nb::sig("def sort(x: ArrayLike, axis: int | None = -1) -> DNDarray"),
      "The elements in order, as a new array; stable, NaN last.\n\n"
      ">>> ts.dist.sort(ts.dist.array([3, 1, 2], split=0)).tolist()\n[1, 2, 3]\n");
  c.def(
      "sort",
      [](const DNDarray& x, i64 axis) {
        released([&] {
          const dist::Operand sorted(dist::sort(x, axis));
          dist::elementwise(ElementOp::copy, std::array{sorted}, x);
        });
      },
      "axis"_a = -1, nb::sig("def sort(self, axis: int = -1) -> None"),
      "Sorts in place.\n\n"
      ">>> x = ts.dist.array([2, 1], split=0); x.sort(); x.tolist()\n[1, 2]\n");
  both(
      m, c, "argsort", "axis: int | None = -1) -> DNDarray",
      "The positions that sort the array; stable.\n\n"
      ">>> ts.dist.array([3, 1, 2], split=0).argsort().tolist()\n[1, 2, 0]\n",
      [](nb::handle x, nb::handle axis) {
        const DNDarray a = as_dist(x, "argsort");
        const auto along = axis_or_none(axis, "argsort");
        return wrap(released([&] { return dist::argsort(a, along); }));
      },
      "axis"_a.none() = -1);
  both(
      m, c, "topk", "k: int, axis: int = -1, largest: bool = True) -> tuple[DNDarray, DNDarray]",
      "The k largest or smallest elements along an axis, in order, and where they are.\n\n"
      ">>> values, where = ts.dist.array([3, 9, 5], split=0).topk(2)\n"
      ">>> values.tolist(), where.tolist()\n([9, 5], [1, 2])\n",
      [](nb::handle x, i64 k, i64 axis, bool largest) {
        const DNDarray a = as_dist(x, "topk");
        dist::TopK t = released([&] { return dist::topk(a, k, axis, largest); });
        return tuple_of_arrays({std::move(t.values), std::move(t.indices)});
      },
      "k"_a, "axis"_a = -1, "largest"_a = true);
  m.def("unique", &distinct, "x"_a, "return_index"_a = false, "return_inverse"_a = false,
        "return_counts"_a = false, "axis"_a = nb::none(),
        nb::sig("def unique(x: ArrayLike, return_index: bool = False, return_inverse: bool = "
                "False, return_counts: bool = False, axis: int | None = None) -> typing.Any"),
        "The distinct elements in order, or the distinct slices along an axis.\n\n"
        ">>> ts.dist.unique(ts.dist.array([2, 1, 2], split=0)).tolist()\n[1, 2]\n");
  m.def(
      "searchsorted",
      [](nb::handle sorted, nb::handle values, const std::string& side) {
        require<ArgumentError>(side == "left" || side == "right",
                               "search side must be 'left' or 'right' (got '", side, "')");
        const Communicator comm = group_of({sorted, values});
        const DNDarray a = as_dist(sorted, "searchsorted", comm);
        const DNDarray v = as_dist(values, "searchsorted", comm);
        return wrap(released([&] { return dist::searchsorted(a, v, side == "right"); }));
      },
      "a"_a, "v"_a, "side"_a = "left",
      nb::sig("def searchsorted(a: ArrayLike, v: ArrayLike, side: str = 'left') -> DNDarray"),
      "Where values would be inserted into a sorted array.\n\n"
      ">>> ts.dist.searchsorted(ts.dist.array([1, 3, 5], split=0), [4, 0]).tolist()\n[2, 0]\n");
}

// NumPy's numbers take the dtype of a floating array.
nb::object quantiles(nb::handle x, nb::handle q, nb::handle axis, bool keepdims, const char* who,
                     DNDarray (*f)(const DNDarray&, const Array&, const std::optional<Axes>&,
                                   bool)) {
  const DNDarray a = as_dist(x, who);
  const auto axes = shape_or_none(axis);
  Array fractions = as_array(q, who);
  // A number adapts to the array; a quantile 0 or 1 that is an integer is an end of it.
  if (PyFloat_Check(q.ptr()) || (PyLong_Check(q.ptr()) && f != &dist::quantile))
    fractions = fractions.astype(is_inexact(a.dtype()) ? a.dtype() : DType::f64);
  return wrap(released([&] { return f(a, fractions, axes, keepdims); }));
}

void bind_middle(nb::module_& m) {
  m.def(
      "median",
      [](nb::handle x, nb::handle axis, bool keepdims) {
        const DNDarray a = as_dist(x, "median");
        const auto axes = shape_or_none(axis);
        return wrap(released([&] { return dist::median(a, axes, keepdims); }));
      },
      "x"_a, "axis"_a = nb::none(), "keepdims"_a = false,
      nb::sig("def median(x: ArrayLike, axis: int | typing.Sequence[int] | None = None, keepdims: "
              "bool = False) -> DNDarray"),
      "The middle of the elements in order; NaN where there is a NaN. Only samples travel.\n\n"
      ">>> ts.dist.median(ts.dist.array([7, 1, 5, 2], split=0)).item()\n3.5\n");
  m.def(
      "quantile",
      [](nb::handle x, nb::handle q, nb::handle axis, bool keepdims) {
        return quantiles(x, q, axis, keepdims, "quantile", &dist::quantile);
      },
      "x"_a, "q"_a, "axis"_a = nb::none(), "keepdims"_a = false,
      nb::sig("def quantile(x: ArrayLike, q: ArrayLike, axis: int | typing.Sequence[int] | None = "
              "None, keepdims: bool = False) -> DNDarray"),
      "What a share q (0 to 1) of the elements lies below, between two elements by a line.\n\n"
      ">>> ts.dist.quantile(ts.dist.arange(5, split=0), [0.25, 0.9]).tolist()\n[1.0, 3.6]\n");
  m.def(
      "percentile",
      [](nb::handle x, nb::handle q, nb::handle axis, bool keepdims) {
        return quantiles(x, q, axis, keepdims, "percentile", &dist::percentile);
      },
      "x"_a, "q"_a, "axis"_a = nb::none(), "keepdims"_a = false,
      nb::sig("def percentile(x: ArrayLike, q: ArrayLike, axis: int | typing.Sequence[int] | None "
              "= None, keepdims: bool = False) -> DNDarray"),
      "Quantiles counted from 0 to 100.\n\n"
      ">>> ts.dist.percentile(ts.dist.arange(5, split=0), 50).item()\n2.0\n");
}

void bind_selecting(nb::module_& m, nb::class_<DNDarray>& c) {
  const char* nonzero_doc =
      "Positions of the elements that are not zero: one array per axis, or with ``as_tuple`` false "
      "one array with a row for each.\n\n"
      ">>> x = ts.dist.array([0, 3, 4], split=0)\n"
      ">>> x.nonzero()[0].tolist(), x.nonzero(as_tuple=False).tolist()\n([1, 2], [[1], [2]])\n";
  m.def("nonzero", &positions, "x"_a, "as_tuple"_a = true,
        nb::sig("def nonzero(x: ArrayLike, as_tuple: bool = True) -> typing.Any"), nonzero_doc);
  c.def("nonzero", &positions, "as_tuple"_a = true,
        nb::sig("def nonzero(self, as_tuple: bool = True) -> typing.Any"), nonzero_doc);
  m.def("where", &selected, "condition"_a, "x"_a = nb::none(), "y"_a = nb::none(),
        nb::sig("def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = "
                "None) -> typing.Any"),
        "x where the condition holds, else y; with the condition alone, its positions.\n\n"
        ">>> a = ts.dist.arange(4, split=0); ts.dist.where(a > 1, a, -1).tolist()\n"
        "[-1, -1, 2, 3]\n");
  both(m, c, "clip",
       "min: ArrayLike | None = None, max: ArrayLike | None = None, out: DNDarray | None = None) "
       "-> DNDarray",
       "Elements limited to an interval.\n\n"
       ">>> ts.dist.array([1, 5, 9], split=0).clip(2, 8).tolist()\n[2, 5, 8]\n",
       &clipped, "min"_a = nb::none(), "max"_a = nb::none(), "out"_a = nb::none());
}

void bind_taking(nb::module_& m, nb::class_<DNDarray>& c) {
  both(
      m, c, "take", "indices: ArrayLike, axis: int | None = None) -> DNDarray",
      "Elements at positions along an axis, or of the flattened array.\n\n"
      ">>> ts.dist.array([5, 6, 7], split=0).take([2, 0]).tolist()\n[7, 5]\n",
      [](nb::handle x, nb::handle indices, nb::handle axis) {
        const DNDarray a = as_dist(x, "take", group_of({x, indices}));
        const DNDarray i = indices_from(indices, "take", a);
        const auto along = axis_or_none(axis, "take");
        return wrap(released([&] { return dist::take(a, i, along); }));
      },
      "indices"_a, "axis"_a = nb::none());
  both(
      m, c, "take_along_axis", "indices: ArrayLike, axis: int | None = -1) -> DNDarray",
      "Elements at positions along an axis that differ from line to line.\n\n"
      ">>> x = ts.dist.array([[3, 1], [4, 9]], split=0)\n"
      ">>> x.take_along_axis(x.argsort(axis=1), axis=1).tolist()\n[[1, 3], [4, 9]]\n",
      [](nb::handle x, nb::handle indices, nb::handle axis) {
        const DNDarray a = as_dist(x, "take_along_axis", group_of({x, indices}));
        const DNDarray i = indices_from(indices, "take_along_axis", a);
        const auto along = axis_or_none(axis, "take_along_axis");
        return wrap(released([&] { return dist::take_along_axis(a, i, along); }));
      },
      "indices"_a, "axis"_a.none() = -1);
  both(
      m, c, "put", "indices: ArrayLike, values: ArrayLike) -> None",
      "Writes values at positions of the flattened array; few values are repeated.\n\n"
      ">>> x = ts.dist.zeros(4, split=0); x.put([3, 0], [5, 6]); x.tolist()\n"
      "[6.0, 0.0, 0.0, 5.0]\n",
      [](nb::handle x, nb::handle indices, nb::handle values) {
        const DNDarray& a = Distributed::target(x, "put");
        const DNDarray i = indices_from(indices, "put", a), v = values_from(values, a);
        released([&] { dist::put(a, i, v); });
      },
      "indices"_a, "values"_a);
}

// What is not an array of ours goes to the device of the array that it chooses from.
DNDarray condition_on(const DNDarray& x, nb::handle condition, std::string_view who) {
  const DNDarray c = as_dist(condition, who, x.comm());
  return is_dist(condition.ptr()) || is_array(condition.ptr()) ? c : c.to(x.device());
}

void bind_lines(nb::module_& m) {
  m.def(
      "put_along_axis",
      [](nb::handle x, nb::handle indices, nb::handle values, nb::handle axis) {
        const DNDarray& a = Distributed::target(x, "put_along_axis");
        const DNDarray i = indices_from(indices, "put_along_axis", a), v = values_from(values, a);
        const auto along = axis_or_none(axis, "put_along_axis");
        released([&] { dist::put_along_axis(a, i, v, along); });
      },
      "x"_a, "indices"_a, "values"_a, "axis"_a.none(),
      nb::sig("def put_along_axis(x: DNDarray, indices: ArrayLike, values: ArrayLike, axis: int | "
              "None) -> None"),
      "Writes values at positions along an axis that differ from line to line.\n\n"
      ">>> x = ts.dist.zeros((2, 2), split=0); ts.dist.put_along_axis(x, [[1], [0]], 5, 1)\n"
      ">>> x.tolist()\n[[0.0, 5.0], [5.0, 0.0]]\n");
  m.def(
      "compress",
      [](nb::handle condition, nb::handle x, nb::handle axis) {
        const Communicator comm = group_of({x, condition});
        const DNDarray a = as_dist(x, "compress", comm), c = condition_on(a, condition, "compress");
        const auto along = axis_or_none(axis, "compress");
        return wrap(released([&] { return dist::compress(c, a, along); }));
      },
      "condition"_a, "x"_a, "axis"_a = nb::none(),
      nb::sig("def compress(condition: ArrayLike, x: ArrayLike, axis: int | None = None) -> "
              "DNDarray"),
      "Slices along an axis where a condition is not zero.\n\n"
      ">>> ts.dist.compress([0, 1, 1], ts.dist.arange(3, split=0)).tolist()\n[1, 2]\n");
  m.def(
      "extract",
      [](nb::handle condition, nb::handle x) {
        const Communicator comm = group_of({x, condition});
        const DNDarray a = as_dist(x, "extract", comm), c = condition_on(a, condition, "extract");
        return wrap(released([&] { return dist::extract(c, a); }));
      },
      "condition"_a, "x"_a, nb::sig("def extract(condition: ArrayLike, x: ArrayLike) -> DNDarray"),
      "The elements where a condition is not zero.\n\n"
      ">>> x = ts.dist.arange(5, split=0); ts.dist.extract(x % 2, x).tolist()\n[1, 3]\n");
}

}  // namespace

void bind_dist_order(nb::module_& m, nb::class_<DNDarray>& c) {
  bind_sorting(m, c);
  bind_middle(m);
  bind_selecting(m, c);
  bind_taking(m, c);
  bind_lines(m);
}

}  // namespace tessera::python
