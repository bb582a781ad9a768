// SPDX-License-Identifier: Apache-2.0
// Joining, sorting, selecting, products: the functions of arrays that are neither element-wise nor
// sums.
#include "core/beside.hpp"
#include "core/common.hpp"
#include "core/sequence.hpp"
#include "matrix/matrix.hpp"
#include "tessera/array/index.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/einsum/einsum.hpp"
#include "tessera/kernels/elementwise/clip.hpp"
#include "tessera/kernels/gather/gather.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/nonzero/nonzero.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

std::vector<Array> arrays_of(nb::handle sequence, const char* who) {
  const nb::object items = held_items(sequence, "expected a sequence of arrays");
  std::vector<Array> arrays;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i)
    arrays.push_back(as_array(PySequence_Fast_GET_ITEM(items.ptr(), i), who));
  if (arrays.empty()) throw ArgumentError(cat("need at least one array to ", who));
  return arrays;
}

nb::object joined(nb::handle arrays, nb::handle axis) {
  std::vector<Array> parts = arrays_of(arrays, "concatenate");
  if (!axis.is_none()) {
    const i64 along = int_from(axis, "concatenate");
    return wrap(released([&] { return concatenate(parts, along); }));
  }
  return wrap(released([&] {
    for (Array& p : parts) p = p.reshape({-1});
    return concatenate(parts, 0);
  }));
}

nb::object tuple_of_arrays(std::vector<Array> arrays) {
  nb::object t = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(arrays.size())));
  if (!t.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < arrays.size(); ++i)
    PyTuple_SET_ITEM(t.ptr(), static_cast<Py_ssize_t>(i),
                     wrap(std::move(arrays[i])).release().ptr());
  return t;
}

nb::object positions(nb::handle x) {
  const Array a = as_array(x, "nonzero");
  return tuple_of_arrays(released([&] { return nonzero(a); }));
}

nb::object selected(nb::handle condition, nb::handle x, nb::handle y) {
  if (x.is_none() && y.is_none()) return positions(condition);
  require<ArgumentError>(!x.is_none() && !y.is_none(),
                         "either both or neither of x and y should be given");
  Array mask = as_array(condition, "where");
  ArrayOrValue a = operand(x, "where"), b = operand(y, "where");
  if (!a.is_value()) a = beside(a.array, x, condition);
  if (!b.is_value()) b = beside(b.array, y, condition);
  return wrap(released([&] {
    if (mask.dtype() != DType::b1) mask = mask.astype(DType::b1);
    return ops::where(mask, a, b);
  }));
}

nb::object clipped(nb::handle x, nb::handle low, nb::handle high, nb::handle out) {
  const Array a = as_array(x, "clip");
  const bool has_low = !low.is_none() && !is_idle_bound(low, a.dtype(), true),
             has_high = !high.is_none() && !is_idle_bound(high, a.dtype(), false);
  ArrayOrValue lo = has_low ? operand(low, "clip") : ArrayOrValue(0.0);
  ArrayOrValue hi = has_high ? operand(high, "clip") : ArrayOrValue(0.0);
  if (!lo.is_value()) lo = beside(lo.array, low, x);
  if (!hi.is_value()) hi = beside(hi.array, high, x);
  Array result = released([&] {
    if (has_low && has_high && lo.is_value() && hi.is_value())
      if (Array both = clip_dense(a, lo.value, hi.value)) return both;
    Array r = has_low ? ops::maximum(a, lo) : a;
    if (has_low && has_high && is_float(r.dtype()) && hi.is_value() &&
        hi.value.kind() != Value::Kind::complex)
      tessera::elementwise(ElementOp::minimum, std::array<ArrayOrValue, 2>{r, hi}, r);
    else if (has_high)
      r = ops::minimum(r, hi);
    return has_low || has_high ? r : r.copy();
  });
  if (out.is_none()) return wrap(std::move(result));
  const Array& target = target_array(out, "clip");
  released([&] { target.copy_from(result); });
  return nb::borrow(out);
}

nb::object product(nb::handle a, nb::handle b, nb::handle out) {
  if (is_matrix(a) || is_matrix(b)) {  // by their own rules: bits are counted, integers never wrap
    nb::object c = nb::steal(PyNumber_MatrixMultiply(a.ptr(), b.ptr()));
    if (!c.is_valid()) throw nb::python_error();
    if (out.is_none()) return c;
    const Array full = as_array(c, "matmul"), &target = target_array(out, "matmul");
    require<ShapeError>(target.shape() == full.shape(), "matmul: the output has shape ",
                        target.shape(), ", expected ", full.shape());
    released([&] { target.copy_from(full); });
    return nb::borrow(out);
  }
  const Array x = as_array(a, "matmul"), y = as_array(b, "matmul");
  if (out.is_none()) return wrap(released([&] { return matmul(x, y); }));
  const Array& target = target_array(out, "matmul");
  released([&] { matmul(x, y, target); });
  return nb::borrow(out);
}

// NumPy's dot: a number times an array, inner products of vectors, matrix products; higher ranks
// contract the last axis of a with the second to last of b.
nb::object dotted(nb::handle a, nb::handle b) {
  const Array x = as_array(a, "dot"), y = as_array(b, "dot");
  return wrap(released([&] {
    if (x.ndim() == 0 || y.ndim() == 0) return ops::multiply(x, y);
    if (x.ndim() <= 2 || y.ndim() <= 2) {
      if (y.ndim() <= 2) return matmul(x, y);
    }
    const std::string letters = "abcdefghijklmnopqrstuvwxy";
    std::string left = letters.substr(0, static_cast<std::size_t>(x.ndim() - 1));
    std::string right = letters.substr(left.size(), static_cast<std::size_t>(y.ndim() - 1));
    std::string y_text = right;
    y_text.insert(y_text.size() - 1, "z");
    return einsum(left + "z," + y_text + "->" + left + right, std::array{x, y});
  }));
}

nb::object contracted(const std::string& subscripts, nb::args operands) {
  std::vector<Array> arrays;
  for (nb::handle h : operands) arrays.push_back(as_array(h, "einsum"));
  return wrap(released([&] { return einsum(subscripts, arrays); }));
}

std::optional<i64> axis_or_none(nb::handle axis, const char* who) {
  return axis.is_none() ? std::nullopt : std::optional(int_from(axis, who));
}

void bind_joining(nb::module_& m) {
  m.def(
      "concatenate", &joined, "arrays"_a, "axis"_a.none() = 0,
      nb::sig("def concatenate(arrays: typing.Sequence[ArrayLike], axis: int | None = 0) -> Array"),
      "Arrays one after another along an axis they have.\n\n>>> ts.concatenate([[1], [2, "
      "3]]).tolist()\n[1, 2, 3]\n");
  m.def(
      "stack",
      [](nb::handle arrays, i64 axis) {
        const std::vector<Array> parts = arrays_of(arrays, "stack");
        return released([&] { return stack(parts, axis); });
      },
      "arrays"_a, "axis"_a.none() = 0,
      nb::sig("def stack(arrays: typing.Sequence[ArrayLike], axis: int = 0) -> Array"),
      "Arrays of one shape along a new axis.\n\n>>> ts.stack([[1, 2], [3, 4]], "
      "axis=1).tolist()\n[[1, 3], [2, 4]]\n");
  m.def(
      "roll",
      [](nb::handle x, nb::handle shift, nb::handle axis) {
        const Array a = as_array(x, "roll");
        Shape shifts = shape_from(shift);
        if (axis.is_none())
          return released([&] { return roll(a.reshape({-1}), shifts, {0}).reshape(a.shape()); });
        Shape axes = shape_from(axis);
        while (shifts.size() < axes.size()) shifts.push_back(shifts.front());
        return released([&] { return roll(a, shifts, axes); });
      },
      "x"_a, "shift"_a, "axis"_a = nb::none(),
      nb::sig("def roll(x: ArrayLike, shift: ShapeLike, axis: ShapeLike | None = None) -> Array"),
      "Elements moved along axes; what leaves at one end enters at the other.\n\n>>> ts.roll([1, "
      "2, 3], 1).tolist()\n[3, 1, 2]\n");
}

void bind_views(nb::module_& m) {
  m.def(
      "flip",
      [](nb::handle x, nb::handle axis) {
        const Array a = as_array(x, "flip");
        Shape axes;
        if (axis.is_none()) {
          for (i64 i = 0; i < a.ndim(); ++i) axes.push_back(i);
        } else {
          axes = shape_from(axis);
        }
        return flip(a, axes);
      },
      "x"_a, "axis"_a = nb::none(),
      nb::sig("def flip(x: ArrayLike, axis: ShapeLike | None = None) -> Array"),
      "Axes in the opposite direction: a view.\n\n>>> ts.flip([1, 2, 3]).tolist()\n[3, 2, 1]\n");
  m.def(
      "broadcast_to",
      [](nb::handle x, nb::handle shape) {
        return as_array(x, "broadcast_to").broadcast_to(shape_from(shape));
      },
      "x"_a, "shape"_a, nb::sig("def broadcast_to(x: ArrayLike, shape: ShapeLike) -> Array"),
      "Axes of size 1 repeated: a view.\n\n>>> ts.broadcast_to([1, 2], (2, 2)).tolist()\n[[1, 2], "
      "[1, 2]]\n");
  m.def(
      "expand_dims",
      [](nb::handle x, i64 axis) { return as_array(x, "expand_dims").expand_dims(axis); }, "x"_a,
      "axis"_a, nb::sig("def expand_dims(x: ArrayLike, axis: int) -> Array"),
      "A new axis of size 1: a view.\n\n>>> ts.expand_dims([1, 2], 1).shape\n(2, 1)\n");
  m.def(
      "may_share_memory", [](const Array& a, const Array& b) { return may_share_memory(a, b); },
      "a"_a, "b"_a,
      "The memory of two arrays may intersect.\n\n>>> x = ts.zeros(3); ts.may_share_memory(x, "
      "x[1:])\nTrue\n");
}

void bind_products(nb::module_& m) {
  m.def("matmul", &product, "x1"_a, "x2"_a, nb::kw_only(), "out"_a = nb::none(),
        nb::sig("def matmul(x1: ArrayLike, x2: ArrayLike, *, out: Array | None = None) -> Array"),
        "Matrix products of the last two axes, batched over the others.\n\n>>> ts.matmul([[1, 2]], "
        "[[3], [4]]).tolist()\n[[11]]\n");
  m.def("dot", &dotted, "a"_a, "b"_a, nb::sig("def dot(a: ArrayLike, b: ArrayLike) -> Array"),
        "NumPy's dot: inner products of vectors, products of matrices.\n\n>>> ts.dot([1, 2], [3, "
        "4]).item()\n11\n");
  m.def("einsum", &contracted, "subscripts"_a, "operands"_a,
        nb::sig("def einsum(subscripts: str, *operands: ArrayLike) -> Array"),
        "Sums of products by subscripts.\n\n>>> ts.einsum('ij,j->i', [[1, 2], [3, 4]], [1, "
        "1]).tolist()\n[3, 7]\n");
}

void bind_sorting(nb::module_& m, nb::class_<Array>& c) {
  const auto sorted = [](nb::handle x, nb::handle axis) {
    const Array a = as_array(x, "sort");
    const auto along = axis_or_none(axis, "sort");
    return released([&] { return sort(a, along); });
  };
  const auto order = [](nb::handle x, nb::handle axis) {
    const Array a = as_array(x, "argsort");
    const auto along = axis_or_none(axis, "argsort");
    return released([&] { return argsort(a, along); });
  };
  const char* order_doc =
      "The positions that sort the array; stable.\n\n>>> ts.argsort([3, 1, 2]).tolist()\n[1, 2, "
      "0]\n";
  m.def("sort", sorted, "x"_a, "axis"_a.none() = -1,
        nb::sig("def sort(x: ArrayLike, axis: int | None = -1) -> Array"),
        "The elements in order, as a new array; stable, NaN last.\n\n>>> ts.sort([3, 1, "
        "2]).tolist()\n[1, 2, 3]\n");
  m.def("argsort", order, "x"_a, "axis"_a.none() = -1,
        nb::sig("def argsort(x: ArrayLike, axis: int | None = -1) -> Array"), order_doc);
  // Every kind of sort that NumPy knows by name is the one we have.
  c.def(
      "argsort", [order](nb::handle x, nb::handle axis, nb::handle) { return order(x, axis); },
      "axis"_a.none() = -1, "kind"_a = nb::none(),
      nb::sig("def argsort(self, axis: int | None = -1, kind: str | None = None) -> Array"),
      order_doc);
  c.def(
      "sort",
      [](nb::handle_t<Array> self, nb::handle axis, nb::handle) {
        const Array& a = array_of(self.ptr());
        const auto along = axis_or_none(axis, "sort");
        require<ArgumentError>(along.has_value(), "sort: sorting in place needs an axis");
        released([&] { a.copy_from(sort(a, along)); });
      },
      "axis"_a.none() = -1, "kind"_a = nb::none(),
      nb::sig("def sort(self, axis: int = -1, kind: str | None = None) -> None"),
      "Sorts in place.\n\n>>> x = ts.array([2, 1]); x.sort(); x.tolist()\n[1, 2]\n");
}

void bind_positions(nb::module_& m, nb::class_<Array>& c) {
  m.def("nonzero", &positions, "x"_a, nb::sig("def nonzero(x: ArrayLike) -> tuple[Array, ...]"),
        "Positions of the elements that are not zero, one array per axis.\n\n>>> ts.nonzero([0, "
        "3])[0].tolist()\n[1]\n");
  c.def("nonzero", &positions, nb::sig("def nonzero(self) -> tuple[Array, ...]"),
        "Positions of the elements that are not zero, one array per axis.\n\n>>> "
        "ts.eye(2).nonzero()[1].tolist()\n[0, 1]\n");
  const auto taken = [](nb::handle x, nb::handle indices, nb::handle axis) {
    const Array a = as_array(x, "take");
    Array i = as_array(indices, "take");
    const auto along = axis_or_none(axis, "take");
    return released(
        [&] { return take(a, i.device() == a.device() ? i : i.to(a.device()), along); });
  };
  const char* take_doc =
      "Elements at positions along an axis, or of the flattened array.\n\n>>> ts.take([5, 6, 7], "
      "[2, 0]).tolist()\n[7, 5]\n";
  m.def("take", taken, "x"_a, "indices"_a, "axis"_a = nb::none(),
        nb::sig("def take(x: ArrayLike, indices: ArrayLike, axis: int | None = None) -> Array"),
        take_doc);
  c.def("take", taken, "indices"_a, "axis"_a = nb::none(),
        nb::sig("def take(self, indices: ArrayLike, axis: int | None = None) -> Array"), take_doc);
  m.def(
      "searchsorted",
      [](nb::handle sorted_array, nb::handle values, const std::string& side) {
        require<ArgumentError>(side == "left" || side == "right",
                               "search side must be 'left' or 'right' (got '", side, "')");
        const Array a = as_array(sorted_array, "searchsorted"),
                    v = as_array(values, "searchsorted");
        return released([&] { return searchsorted(a, v, side == "right"); });
      },
      "a"_a, "v"_a, "side"_a = "left",
      nb::sig("def searchsorted(a: ArrayLike, v: ArrayLike, side: str = 'left') -> Array"),
      "Where values would be inserted into a sorted array.\n\n>>> ts.searchsorted([1, 3, 5], "
      "4).item()\n2\n");
  m.def(
      "_add_at",
      [](nb::handle x, nb::handle positions, nb::handle values) {
        const Array& target = target_array(x, "add_at");
        const Array at = as_array(positions, "add_at"), v = as_array(values, "add_at");
        released([&] { add_at(target, Index(at), v); });
      },
      "x"_a, "positions"_a, "values"_a,
      nb::sig("def _add_at(x: Array, positions: ArrayLike, values: ArrayLike) -> None"));
}

}  // namespace

void bind_manipulation(nb::module_& m, nb::class_<Array>& c) {
  bind_joining(m);
  bind_views(m);
  bind_products(m);
  bind_sorting(m, c);
  bind_positions(m, c);
  m.def("where", &selected, "condition"_a, "x"_a = nb::none(), "y"_a = nb::none(),
        nb::sig("def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = "
                "None) -> typing.Any"),
        "x where the condition holds, else y; with the condition alone, its positions.\n\n"
        ">>> ts.where([True, False], 1, 2).tolist()\n[1, 2]\n");
  const char* clip_doc =
      "Elements limited to an interval.\n\n>>> ts.clip([1, 5, 9], 2, 8).tolist()\n[2, 5, 8]\n";
  m.def("clip", &clipped, "x"_a, "min"_a = nb::none(), "max"_a = nb::none(), "out"_a = nb::none(),
        nb::sig("def clip(x: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = "
                "None, out: Array | None = None) -> Array"),
        clip_doc);
  c.def("clip", &clipped, "min"_a = nb::none(), "max"_a = nb::none(), "out"_a = nb::none(),
        nb::sig("def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None, out: "
                "Array | None = None) -> Array"),
        clip_doc);
  c.def("dot", &dotted, "b"_a, nb::sig("def dot(self, b: ArrayLike) -> Array"),
        "NumPy's dot.\n\n>>> ts.ones(3).dot(ts.ones(3)).item()\n3.0\n");
  c.def(
      "conj", [](const Array& x) { return released([&] { return ops::conj(x); }); },
      "The complex conjugate.\n\n>>> ts.array([1j]).conj().tolist()\n[-1j]\n");
}

}  // namespace tessera::python
