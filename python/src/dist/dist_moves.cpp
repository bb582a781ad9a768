// SPDX-License-Identifier: Apache-2.0
// Axes and elements of distributed arrays in other places: shapes, transposes, rolls, padding,
// repeats.
#include "dist/dist_methods.hpp"
#include "tessera/distributed/functions/moves.hpp"
#include "tessera/distributed/functions/reshape.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// x.reshape(2, 3), x.reshape((2, 3)): both spellings.
Shape shape_arguments(const nb::args& args) {
  return args.size() == 1 ? shape_from(args[0]) : shape_from(args);
}

DNDarray transposed(const DNDarray& x, const std::optional<Shape>& axes) {
  return axes ? dist::permute(x, *axes) : dist::transpose(x);
}

dist::PadMode pad_mode(const std::string& mode) {
  using M = dist::PadMode;
  for (const auto& [name, m] : {std::pair{"constant", M::constant},
                                {"edge", M::edge},
                                {"reflect", M::reflect},
                                {"symmetric", M::symmetric},
                                {"wrap", M::wrap}})
    if (mode == name) return m;
  throw ArgumentError(
      cat("pad: mode is 'constant', 'edge', 'reflect', 'symmetric' or 'wrap', got '", mode, "'"));
}

// 2, (1, 2), ((1, 2),) or a pair for each axis.
dist::PadWidths pad_widths(nb::handle h) {
  const Array given = as_array(h, "pad", DType::i64);
  if (given.ndim() == 0) {
    const i64 n = given.item().as<i64>();
    return {{n, n}};
  }
  const bool pair = given.ndim() == 1 && (given.shape(0) == 2 || given.shape(0) == 1);
  require<ShapeError>(
      pair || (given.ndim() == 2 && given.shape(1) <= 2 && given.shape(1) >= 1),
      "pad: pad_width is a number, (before, after) or such a pair for each axis, got "
      "an array of shape ",
      given.shape());
  const Array rows = given.reshape({-1, given.shape(given.ndim() - 1)}).contiguous();
  dist::PadWidths widths;
  const i64* at = rows.host<i64>();
  const i64 last = rows.shape(1) - 1;
  for (i64 i = 0; i < rows.shape(0); ++i, at += rows.shape(1)) widths.emplace_back(at[0], at[last]);
  return widths;
}

void bind_shapes(nb::module_& m, nb::class_<DNDarray>& c) {
  m.def(
      "reshape",
      [](nb::handle x, nb::handle shape, nb::handle new_split) {
        const Shape s = shape_from(shape);
        const auto split = axis_or_none(new_split, "reshape");
        const bool passing = is_passing(x.ptr());
        const DNDarray a = as_dist(x, "reshape");
        return wrap_view(passing, [&] { return dist::reshape(a, s, split); });
      },
      "x"_a, "shape"_a, "new_split"_a = nb::none(),
      nb::sig("def reshape(x: ArrayLike, shape: ShapeLike, new_split: int | None = None) -> "
              "DNDarray"),
      "Another shape of the same elements. A view where the split axis and those before it are "
      "kept; elsewhere a copy that cannot be written (on no rank, however many there are), unless "
      "nothing else holds ``x``. The split follows its axis unless told.\n\n"
      ">>> ts.dist.reshape(ts.dist.arange(6, split=0), (2, -1)).tolist()\n[[0, 1, 2], [3, 4, "
      "5]]\n");
  c.def(
       "reshape",
       [](nb::handle_t<DNDarray> self, nb::args shape, nb::handle new_split) {
         const DNDarray& x = dist_of(self.ptr());
         const Shape s = shape_arguments(shape);
         const auto split = axis_or_none(new_split, "reshape");
         return wrap_view(is_passing(self.ptr()), [&] { return dist::reshape(x, s, split); });
       },
       "shape"_a, "new_split"_a = nb::none(),
       nb::sig("def reshape(self, *shape: int | typing.Sequence[int], new_split: int | None = "
               "None) -> DNDarray"),
       "Another shape of the same elements. A view where the split axis and those before it are "
       "kept; elsewhere a copy that cannot be written (on no rank, however many there are), unless "
       "nothing else holds the array. The split follows its axis unless told.\n\n"
       ">>> x = ts.dist.arange(6, split=0)\n>>> x.reshape(2, -1).shape, x.reshape(2, -1).writable\n"
       "((2, 3), False)\n>>> ts.dist.arange(6, split=0).reshape(2, -1).writable\nTrue\n")
      .def(
          "transpose",
          [](const DNDarray& x, nb::args axes) {
            const bool none = axes.size() == 0 || (axes.size() == 1 && axes[0].is_none());
            const auto order = none ? std::nullopt : std::optional(shape_arguments(axes));
            return wrap(released([&] { return transposed(x, order); }));
          },
          nb::sig("def transpose(self, *axes: int | typing.Sequence[int]) -> DNDarray"),
          "The axes in another order: a view.\n\n"
          ">>> ts.dist.zeros((2, 3, 4), split=0).transpose(2, 0, 1).split\n1\n")
      .def_prop_ro(
          "T", [](const DNDarray& x) { return wrap(released([&] { return dist::transpose(x); })); },
          nb::sig("def T(self) -> DNDarray"), "The axes in reverse order: a view.")
      .def_prop_ro(
          "mT",
          [](const DNDarray& x) {
            require<ShapeError>(x.ndim() >= 2, "matrix transpose with ndim < 2 is undefined");
            return wrap(released([&] { return dist::swapaxes(x, -2, -1); }));
          },
          nb::sig("def mT(self) -> DNDarray"), "The last two axes swapped: a view.");
  m.def(
      "transpose",
      [](nb::handle x, nb::handle axes) {
        const DNDarray a = as_dist(x, "transpose");
        const auto order = shape_or_none(axes);
        return wrap(released([&] { return transposed(a, order); }));
      },
      "x"_a, "axes"_a = nb::none(),
      nb::sig("def transpose(x: ArrayLike, axes: typing.Sequence[int] | None = None) -> DNDarray"),
      "The axes in another order: a view.\n\n"
      ">>> ts.dist.transpose(ts.dist.zeros((2, 3), split=0)).split\n1\n");
  both(
      m, c, "swapaxes", "axis1: int, axis2: int) -> DNDarray",
      "Two axes exchanged: a view.\n\n>>> ts.dist.zeros((2, 3), split=0).swapaxes(0, 1).split\n1\n",
      [](nb::handle x, i64 a, i64 b) {
        const DNDarray from = as_dist(x, "swapaxes");
        return wrap(released([&] { return dist::swapaxes(from, a, b); }));
      },
      "axis1"_a, "axis2"_a);
  both(
      m, c, "squeeze", "axis: ShapeLike | None = None) -> DNDarray",
      "Without axes of size 1: a view.\n\n"
      ">>> ts.dist.zeros((1, 3, 1), split=1).squeeze().split\n0\n",
      [](nb::handle x, nb::handle axis) {
        const DNDarray a = as_dist(x, "squeeze");
        const auto axes = shape_or_none(axis);
        return wrap(released([&] { return dist::squeeze(a, axes); }));
      },
      "axis"_a = nb::none());
  both(m, c, "ravel", ") -> DNDarray",
       "One axis: a view where axis 0 is split, as of ``reshape``.\n\n"
       ">>> ts.dist.eye(2, split=0).ravel().tolist()\n[1.0, 0.0, 0.0, 1.0]\n",
       [](nb::handle x) {
         const bool passing = is_passing(x.ptr());
         const DNDarray a = as_dist(x, "ravel");
         return wrap_view(passing, [&] { return dist::ravel(a); });
       });
  c.def(
      "flatten", [](const DNDarray& x) { return wrap(released([&] { return dist::flatten(x); })); },
      nb::sig("def flatten(self) -> DNDarray"),
      "One axis, always a copy.\n\n>>> ts.dist.eye(2, split=0).flatten().shape\n(4,)\n");
}

void bind_axes(nb::module_& m) {
  m.def(
      "moveaxis",
      [](nb::handle x, nb::handle source, nb::handle destination) {
        const DNDarray a = as_dist(x, "moveaxis");
        const Shape from = shape_from(source), to = shape_from(destination);
        return wrap(released([&] { return dist::moveaxis(a, from, to); }));
      },
      "x"_a, "source"_a, "destination"_a,
      nb::sig("def moveaxis(x: ArrayLike, source: ShapeLike, destination: ShapeLike) -> DNDarray"),
      "Axes in other places: a view.\n\n"
      ">>> ts.dist.moveaxis(ts.dist.zeros((2, 3, 4), split=0), 0, -1).split\n2\n");
  m.def(
      "expand_dims",
      [](nb::handle x, i64 axis) {
        const DNDarray a = as_dist(x, "expand_dims");
        return wrap(released([&] { return dist::expand_dims(a, axis); }));
      },
      "x"_a, "axis"_a, nb::sig("def expand_dims(x: ArrayLike, axis: int) -> DNDarray"),
      "A new axis of size 1: a view.\n\n"
      ">>> ts.dist.expand_dims(ts.dist.zeros(3, split=0), 0).split\n1\n");
  m.def(
      "broadcast_to",
      [](nb::handle x, nb::handle shape) {
        const DNDarray a = as_dist(x, "broadcast_to");
        const Shape s = shape_from(shape);
        return wrap(released([&] { return dist::broadcast_to(a, s); }));
      },
      "x"_a, "shape"_a, nb::sig("def broadcast_to(x: ArrayLike, shape: ShapeLike) -> DNDarray"),
      "Axes of size 1 repeated: a view.\n\n"
      ">>> ts.dist.broadcast_to(ts.dist.arange(2, split=0), (2, 2)).tolist()\n[[0, 1], [0, 1]]\n");
  m.def(
      "flip",
      [](nb::handle x, nb::handle axis) {
        const bool passing = is_passing(x.ptr());
        const DNDarray a = as_dist(x, "flip");
        const auto axes = shape_or_none(axis);
        return wrap_view(passing, [&] { return dist::flip(a, axes); });
      },
      "x"_a, "axis"_a = nb::none(),
      nb::sig("def flip(x: ArrayLike, axis: ShapeLike | None = None) -> DNDarray"),
      "Axes in the opposite direction.\n\n"
      ">>> ts.dist.flip(ts.dist.arange(3, split=0)).tolist()\n[2, 1, 0]\n");
  m.def(
      "roll",
      [](nb::handle x, nb::handle shift, nb::handle axis) {
        const DNDarray a = as_dist(x, "roll");
        const Shape shifts = shape_from(shift);
        const Shape axes = axis.is_none() ? Shape{} : shape_from(axis);
        return wrap(released([&] { return dist::roll(a, shifts, axes); }));
      },
      "x"_a, "shift"_a, "axis"_a = nb::none(),
      nb::sig(
          "def roll(x: ArrayLike, shift: ShapeLike, axis: ShapeLike | None = None) -> DNDarray"),
      "Elements moved along axes; what leaves at one end enters at the other.\n\n"
      ">>> ts.dist.roll(ts.dist.arange(3, split=0), 1).tolist()\n[2, 0, 1]\n");
}

void bind_repeats(nb::module_& m, nb::class_<DNDarray>& c) {
  m.def(
      "pad",
      [](nb::handle x, nb::handle pad_width, const std::string& mode, nb::handle value) {
        const DNDarray a = as_dist(x, "pad");
        const dist::PadWidths widths = pad_widths(pad_width);
        const dist::PadMode how = pad_mode(mode);
        const Value v = value_from(value, "pad");
        return wrap(released([&] { return dist::pad(a, widths, how, v); }));
      },
      "x"_a, "pad_width"_a, "mode"_a = "constant", "constant_values"_a = 0,
      nb::sig("def pad(x: ArrayLike, pad_width: ArrayLike, mode: str = 'constant', "
              "constant_values: complex = 0) -> DNDarray"),
      "Entries put before and after along every axis: a constant, or by mode 'edge', 'reflect', "
      "'symmetric' or 'wrap'.\n\n"
      ">>> ts.dist.pad(ts.dist.arange(3, split=0), (1, 2), 'edge').tolist()\n[0, 0, 1, 2, 2, 2]\n");
  both(
      m, c, "repeat", "repeats: ArrayLike, axis: int | None = None) -> DNDarray",
      "Entries several times, one after the other.\n\n"
      ">>> ts.dist.arange(3, split=0).repeat(2).tolist()\n[0, 0, 1, 1, 2, 2]\n",
      [](nb::handle x, nb::handle repeats, nb::handle axis) {
        const DNDarray a = as_dist(x, "repeat");
        const auto along = axis_or_none(axis, "repeat");
        const auto one = weak_value(repeats.ptr());
        if (one && one->is_integer())
          return wrap(released([&] { return dist::repeat(a, one->as<i64>(), along); }));
        const Array each = is_dist(repeats.ptr())
                               ? released([&] { return as_dist(repeats, "repeat").gathered(); })
                               : as_array(repeats, "repeat");
        return wrap(released([&] { return dist::repeat(a, each, along); }));
      },
      "repeats"_a, "axis"_a = nb::none());
  m.def(
      "tile",
      [](nb::handle x, nb::handle repeats) {
        const DNDarray a = as_dist(x, "tile");
        const Shape n = shape_from(repeats);
        return wrap(released([&] { return dist::tile(a, n); }));
      },
      "x"_a, "repeats"_a, nb::sig("def tile(x: ArrayLike, repeats: ShapeLike) -> DNDarray"),
      "The array several times beside itself.\n\n"
      ">>> ts.dist.tile(ts.dist.arange(2, split=0), 2).tolist()\n[0, 1, 0, 1]\n");
  m.def(
      "diff",
      [](nb::handle x, i64 n, i64 axis) {
        const DNDarray a = as_dist(x, "diff");
        return wrap(released([&] { return dist::diff(a, n, axis); }));
      },
      "x"_a, "n"_a = 1, "axis"_a = -1,
      nb::sig("def diff(x: ArrayLike, n: int = 1, axis: int = -1) -> DNDarray"),
      "Differences of neighbours, n times over.\n\n"
      ">>> ts.dist.diff(ts.dist.array([1, 4, 9], split=0)).tolist()\n[3, 5]\n");
}

void bind_diagonals(nb::module_& m, nb::class_<DNDarray>& c) {
  both(
      m, c, "diagonal", "offset: int = 0, axis1: int = 0, axis2: int = 1) -> DNDarray",
      "The diagonal of two axes, as a last axis.\n\n"
      ">>> ts.dist.arange(9, split=0).reshape(3, 3).diagonal().tolist()\n[0, 4, 8]\n",
      [](nb::handle x, i64 offset, i64 axis1, i64 axis2) {
        const DNDarray a = as_dist(x, "diagonal");
        return wrap(released([&] { return dist::diagonal(a, offset, axis1, axis2); }));
      },
      "offset"_a = 0, "axis1"_a = 0, "axis2"_a = 1);
  struct Kept {
    const char *name, *doc;
    DNDarray (*function)(const DNDarray&, i64);
  };
  static constexpr Kept kept[] = {
      {"diag",
       "The matrix with this diagonal, or the diagonal of a matrix.\n\n"
       ">>> ts.dist.diag(ts.dist.arange(1, 3, split=0)).tolist()\n[[1, 0], [0, 2]]\n",
       &dist::diag},
      {"tril",
       "Zeros above a diagonal.\n\n"
       ">>> ts.dist.tril(ts.dist.ones((2, 2), split=0)).tolist()\n[[1.0, 0.0], [1.0, 1.0]]\n",
       &dist::tril},
      {"triu",
       "Zeros below a diagonal.\n\n"
       ">>> ts.dist.triu(ts.dist.ones((2, 2), split=0)).tolist()\n[[1.0, 1.0], [0.0, 1.0]]\n",
       &dist::triu}};
  for (const Kept& k : kept) {
    const std::string sig = cat("def ", k.name, "(x: ArrayLike, k: int = 0) -> DNDarray");
    m.def(
        k.name,
        [f = k.function, who = k.name](nb::handle x, i64 offset) {
          const DNDarray a = as_dist(x, who);
          return wrap(released([&] { return f(a, offset); }));
        },
        "x"_a, "k"_a = 0, nb::sig(sig.c_str()), k.doc);
  }
}

}  // namespace

void bind_dist_moves(nb::module_& m, nb::class_<DNDarray>& c) {
  bind_shapes(m, c);
  bind_axes(m);
  bind_repeats(m, c);
  bind_diagonals(m, c);
}

}  // namespace tessera::python
