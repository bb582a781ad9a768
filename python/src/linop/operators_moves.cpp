// SPDX-License-Identifier: Apache-2.0
// Constructors of the operators that move data, and of those made of functions and matrices.
#include <nanobind/stl/optional.h>

#include "core/callables.hpp"
#include "core/repr.hpp"
#include "linop/operators.hpp"
#include "matrix/matrix.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/linop/ops/basic/kronecker.hpp"
#include "tessera/linop/ops/basic/matrix.hpp"
#include "tessera/linop/ops/basic/shape_spec.hpp"
#include "tessera/linop/ops/basic/simple_linop.hpp"
#include "tessera/linop/ops/basic/sleep.hpp"
#include "tessera/linop/ops/basic/sum_reduce.hpp"
#include "tessera/linop/ops/moves/flip.hpp"
#include "tessera/linop/ops/moves/pad.hpp"
#include "tessera/linop/ops/moves/permute.hpp"
#include "tessera/linop/ops/moves/rearrange.hpp"
#include "tessera/linop/ops/moves/roll.hpp"
#include "tessera/linop/ops/moves/truncate.hpp"
#include "tessera/linop/ops/sampling/to_device.hpp"
#include "tessera/linop/ops/transforms/gradient.hpp"
#include "tessera/linop/ops/transforms/toeplitz.hpp"
#include "tessera/matrix/products/operator.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

nb::dict dict_of(const DimSizes& s) {
  nb::dict d;
  for (const auto& [dim, n] : s) d[nb::cast(dim)] = n;
  return d;
}

// --- padding and cutting

template <class Op>
nb::object padded(const ShapeArg& large, const ShapeArg& small, const DimsArg& in_shape,
                  const DimsArg& out_shape, const DimsArg& batch_shape) {
  return wrap_linop(Op(shape_from(large), shape_from(small), dims_from(in_shape),
                       dims_from(out_shape), dims_or_any(batch_shape)));
}

template <class Op>
nb::object cut(const PositionArg& dim, i64 from_length, i64 to_length, const DimsArg& ishape,
               const DimsArg& oshape) {
  const Dims in = dims_from(ishape), out = dims_from(oshape);
  if (PyUnicode_Check(dim.ptr()) || nb::isinstance<NamedDimension>(dim))
    return wrap_linop(Op(dimension_from(dim), from_length, to_length, in, out));
  return wrap_linop(Op(int_from(dim, Op::kind), from_length, to_length, in, out));
}

template <class Op>
void bind_cut(nb::module_& m, const char* doc) {
  auto c = add_operator<Op>(m, Op::kind, doc, &cut<Op>, "dim"_a, "from_length"_a, "to_length"_a,
                            "ishape"_a, "oshape"_a = nb::none());
  c.def_prop_ro(
      "dim", [](const LinopObject& a) { return a.op.as<Op>()->dim; },
      "Position of the dim in the names.");
  c.def_prop_ro(
      "from_length", [](const LinopObject& a) { return a.op.as<Op>()->from_length; },
      "Length of the input.");
  c.def_prop_ro(
      "to_length", [](const LinopObject& a) { return a.op.as<Op>()->to_length; },
      "Length of the output.");
}

void bind_padding(nb::module_& m) {
  add_operator<Pad>(
      m, "Pad",
      "An image in the middle of a larger one, zeros around it: index n//2 goes to p//2.\n\n"
      ">>> ts.Pad((4,), (2,), ('X',))([1, 2]).tolist()\n[0, 1, 2, 0]\n",
      &padded<Pad>, "pad_im_size"_a, "im_size"_a, "in_shape"_a = nb::none(),
      "out_shape"_a = nb::none(), "batch_shape"_a = nb::none());
  add_operator<Crop>(m, "Crop",
                     "The middle of an image; the adjoint of Pad.\n\n"
                     ">>> ts.Crop((2,), (4,), ('X',))([1, 2, 3, 4]).tolist()\n[2, 3]\n",
                     &padded<Crop>, "crop_im_size"_a, "im_size"_a, "in_shape"_a = nb::none(),
                     "out_shape"_a = nb::none(), "batch_shape"_a = nb::none());
  bind_cut<Truncate>(m,
                     "The first elements along a dim, given by name or position.\n\n"
                     ">>> ts.Truncate(0, 4, 2, ('N',))([1, 2, 3, 4]).tolist()\n[1, 2]\n");
  bind_cut<PadDim>(m,
                   "Zeros at the end of a dim; the adjoint of Truncate.\n\n"
                   ">>> ts.PadDim('N', 2, 4, ('N',))([1, 2]).tolist()\n[1, 2, 0, 0]\n");
}

// --- names, order, sums

nb::object rearrange(const std::string& ipattern, const std::string& opattern,
                     const DimsArg& ishape, const DimsArg& oshape,
                     const WordSizesArg& axes_lengths) {
  Rearrange::Lengths lengths;
  require<DTypeError>(axes_lengths.is_none() || PyDict_Check(axes_lengths.ptr()),
                      "Rearrange: axes_lengths is a dict {word: number}, got ",
                      Py_TYPE(axes_lengths.ptr())->tp_name);
  if (!axes_lengths.is_none())
    for (auto [word, n] : nb::borrow<nb::dict>(axes_lengths))
      lengths.emplace_back(nb::str(word).c_str(), int_from(n, "Rearrange"));
  return wrap_linop(Rearrange(ipattern, opattern, dims_from(ishape), dims_from(oshape), lengths));
}

void bind_order(nb::module_& m) {
  add_operator<ShapeSpec>(
      m, "ShapeSpec",
      "New names for the same array.\n\n>>> ts.ShapeSpec(('N',), ('K',)).H.oshape == "
      "('N',)\nTrue\n",
      [](const DimsArg& in, const DimsArg& out) {
        return wrap_linop(ShapeSpec(dims_from(in), out.is_none() ? dims_from(in) : dims_from(out)));
      },
      "ishape"_a, "oshape"_a = nb::none());
  add_operator<Rearrange>(
      m, "Rearrange",
      "Axes cut, merged and moved as two patterns say; one item of a pattern per dim.\n\n"
      ">>> A = ts.Rearrange('(a b)', 'b a', ('N',), ('B', 'A'), {'a': 2})\n"
      ">>> A([1, 2, 3, 4]).tolist()\n[[1, 3], [2, 4]]\n",
      &rearrange, "ipattern"_a, "opattern"_a, "ishape"_a, "oshape"_a,
      "axes_lengths"_a = nb::none());
  add_operator<Permute>(
      m, "Permute",
      "The same dims in another order.\n\n"
      ">>> ts.Permute(('X', 'Y'), ('Y', 'X'))([[1, 2]]).tolist()\n[[1], [2]]\n",
      [](const DimsArg& in, const DimsArg& out) {
        return wrap_linop(Permute(dims_from(in), dims_from(out)));
      },
      "ishape"_a, "oshape"_a);
  add_operator<Flip>(
      m, "Flip",
      "Some dims read backwards.\n\n>>> ts.Flip('X', ('X',))([1, 2, 3]).tolist()\n[3, 2, 1]\n",
      [](const DimsArg& dims, const DimsArg& in, const DimsArg& out) {
        return wrap_linop(Flip(dims_from(dims), dims_from(in), dims_from(out)));
      },
      "dims"_a, "ishape"_a, "oshape"_a = nb::none());
  add_operator<Roll>(
      m, "Roll",
      "Some dims turned around their end, as numpy.roll.\n\n"
      ">>> ts.Roll({'X': 1}, ('X',))([1, 2, 3]).tolist()\n[3, 1, 2]\n",
      [](const SizesArg& shifts, const DimsArg& in, const DimsArg& out) {
        return wrap_linop(Roll(sizes_from(shifts, "Roll"), dims_from(in), dims_from(out)));
      },
      "shifts"_a, "ishape"_a, "oshape"_a = nb::none());
}

void bind_sums(nb::module_& m) {
  add_operator<SumReduce>(
      m, "SumReduce",
      "The sum over the dims that the output does not have. Its adjoint repeats, for which it "
      "must\n"
      "know how long these dims are.\n\n"
      ">>> A = ts.SumReduce(('A', 'C'), ('A',), {'C': 2})\n"
      ">>> A([[1, 2]]).tolist(), A.H([3]).tolist()\n([3], [[3, 3]])\n",
      [](const DimsArg& in, const DimsArg& out, const SizesArg& sizes) {
        return wrap_linop(SumReduce(dims_from(in), dims_from(out), sizes_from(sizes, "SumReduce")));
      },
      "ishape"_a, "oshape"_a, "sizes"_a = nb::none());
  auto c = add_operator<Repeat>(
      m, "Repeat",
      "The input again and again along new dims.\n\n"
      ">>> A = ts.Repeat({'C': 2}, ('A',), ('A', 'C'))\n"
      ">>> A([1, 2]).tolist(), A.N([1.0]).tolist()\n([[1, 1], [2, 2]], [2.0])\n",
      [](const SizesArg& n, const DimsArg& in, const DimsArg& out, const DimsArg& broadcast) {
        return wrap_linop(
            Repeat(sizes_from(n, "Repeat"), dims_from(in), dims_from(out), dims_from(broadcast)));
      },
      "n_repeats"_a, "ishape"_a, "oshape"_a, "broadcast_dims"_a = nb::none());
  for (const char* name : {"n_repeats", "axes_lengths"})
    c.def_prop_ro(
        name, [](const LinopObject& a) { return dict_of(a.op.as<Repeat>()->n_repeats); },
        "How often along each new dim.");
}

// --- differences and matrices

void bind_differences(nb::module_& m) {
  add_operator<FiniteDifference>(
      m, "FiniteDifference",
      "Differences of neighbours along a dim: mode 'forward', 'backward' or 'central'. Beyond its\n"
      "ends the input is 'zero', goes on 'circular', or keeps its last value ('replicate').\n\n"
      ">>> ts.FiniteDifference('X', ('X',), edge='circular')([1.0, 3.0, 6.0]).tolist()\n"
      "[2.0, 3.0, -5.0]\n",
      [](const DimArg& dim, const DimsArg& in, const DimsArg& out, const std::string& mode,
         const std::string& edge) {
        return wrap_linop(FiniteDifference(dimension_from(dim), dims_from(in), dims_from(out),
                                           parse_difference("FiniteDifference", mode),
                                           parse_edge("FiniteDifference", edge)));
      },
      "dim"_a, "ishape"_a, "oshape"_a = nb::none(), "mode"_a = "forward", "edge"_a = "zero");
  add_operator<Gradient>(
      m, "Gradient",
      "Differences along several dims, one direction after another along a new first dim.\n\n"
      ">>> G = ts.Gradient(('X', 'Y'), ('X', 'Y'), edge='replicate')\n"
      ">>> G([[1.0, 2.0], [4.0, 8.0]]).tolist()\n"
      "[[[3.0, 6.0], [0.0, 0.0]], [[1.0, 0.0], [4.0, 0.0]]]\n",
      [](const DimsArg& dims, const DimsArg& in, const DimsArg& out, const std::string& mode,
         const std::string& edge) {
        return wrap_linop(Gradient(dims_from(dims), dims_from(in), dims_from(out),
                                   parse_difference("Gradient", mode),
                                   parse_edge("Gradient", edge)));
      },
      "dims"_a, "ishape"_a, "oshape"_a = nb::none(), "mode"_a = "forward", "edge"_a = "zero");
}

nb::object toeplitz(const ArrayArg& column, const ArrayArg& row, const DimArg& dim,
                    const DimsArg& ishape, const DimsArg& oshape) {
  const Array c = as_array(column, "Toeplitz");
  const Array r = row.is_none() ? Array() : as_array(row, "Toeplitz");
  const Dims in = ishape.is_none() ? dims("...N") : dims_from(ishape);
  require<DimError>(!in.empty(), "Toeplitz: the input needs a dim");
  return wrap_linop(
      Toeplitz(c, r, dim.is_none() ? in.back() : dimension_from(dim), in, dims_from(oshape)));
}

nb::object matrix(const ArrayArg& matrix, const DimsArg& ishape, const DimsArg& oshape) {
  if (nb::hasattr(matrix, "tocsr")) {
    // SciPy's sparse matrices: names before the last dim of each side are batch dims.
    const auto split = [](nb::handle h, const char* own) {
      Dims all = h.is_none() ? Dims{NamedDimension::ellipses(), own} : dims_from(h);
      require<DimError>(!all.empty() && !all.back().is_ellipses(),
                        "Matrix: the last dim of a sparse matrix's side must be its own");
      const NamedDimension last = all.back();
      all.pop_back();
      return std::pair(all, last);
    };
    const auto [in_batch, in] = split(ishape, "N");
    const auto [out_batch, out] = split(oshape, "M");
    require<DimError>(in_batch == out_batch, "Matrix: batch dims ", to_text(in_batch), " and ",
                      to_text(out_batch), " differ");
    const nb::object sparse = class_of_kind("Sparse")(
        matrix, "ishape"_a = tuple_of(Dims{in}), "oshape"_a = tuple_of(Dims{out}),
        "batch_shape"_a = tuple_of(in_batch), "copy"_a = false);
    return wrap_linop(Matrix(linop_from(sparse, "Matrix")));
  }
  const Dims in = ishape.is_none() ? dims("...N") : dims_from(ishape),
             out = oshape.is_none() ? dims("...M") : dims_from(oshape);
  if (is_matrix(matrix)) return wrap_linop(matrix_operator(matrix_of(matrix), in, out));
  return wrap_linop(Matrix(as_array(matrix, "Matrix"), in, out));
}

void bind_matrices(nb::module_& m) {
  add_operator<Toeplitz>(
      m, "Toeplitz",
      "A matrix with constant diagonals, from its first column and row (default: conj(column)),\n"
      "applied along a dim (default: the last). Large ones use transforms.\n\n"
      ">>> ts.Toeplitz([1, 2, 3], [1, 5])([1, 1]).tolist()\n[6, 3, 5]\n",
      &toeplitz, "column"_a, "row"_a = nb::none(), "dim"_a = nb::none(), "ishape"_a = nb::none(),
      "oshape"_a = nb::none());
  add_operator<Kronecker>(
      m, "Kronecker",
      "The Kronecker product of operators: each acts on its own dims.\n\n"
      ">>> A = ts.Dense([[1, 2]], ('M', 'N'), ('N',), ('M',))\n"
      ">>> K = ts.Kronecker(A, ts.Diagonal([1, 10], ('X',)))\n"
      ">>> K([[1, 1], [1, 1]]).tolist()\n[[3, 30]]\n",
      [](nb::args factors) { return wrap_linop(Kronecker(operators_from(factors, "Kronecker"))); },
      "factors"_a, nb::kw_only());
  add_operator<Matrix>(
      m, "Matrix",
      "A matrix as an operator from one dim to another; other dims pass through. It may be an\n"
      "array, a sparse matrix of SciPy or any of :mod:`tessera.matrix`, which stays packed.\n\n"
      ">>> ts.Matrix([[1, 2], [3, 4], [5, 6]]).H([1, 1, 1]).tolist()\n[9, 12]\n",
      &matrix, "matrix"_a, "ishape"_a = nb::none(), "oshape"_a = nb::none());
}

// --- functions and devices

Callable function_from(nb::handle h, const char* what) {
  require<DTypeError>(PyCallable_Check(h.ptr()) != 0, "SimpleLinop: ", what,
                      " is not a function but ", Py_TYPE(h.ptr())->tp_name);
  return Callable(h);
}

nb::object simple(const FunctionArg& forward, const FunctionArg& adjoint, const FunctionArg& normal,
                  const DimsArg& ishape, const DimsArg& oshape, const TextArg& name,
                  const SizesArg& sizes, const DTypeArg& dtype, const SplitArg& split,
                  const SizeArg& size) {
  SimpleLinop::Calls c{.forward = CalledFunction{function_from(forward, "forward")},
                       .backward = CalledFunction{function_from(adjoint, "adjoint")}};
  if (!normal.is_none()) c.normal = CalledFunction{function_from(normal, "normal")};
  if (!split.is_none()) c.split = CalledSplit{function_from(split, "split")};
  if (!size.is_none()) c.size = CalledSize{function_from(size, "size")};
  return wrap_linop(SimpleLinop(std::move(c), dims_or_any(ishape),
                                oshape.is_none() ? std::nullopt : std::optional(dims_from(oshape)),
                                name_from(name, "SimpleLinop"), sizes_from(sizes, "SimpleLinop"),
                                dtype.is_none() ? DType::b1 : dtype_from(dtype)));
}

void bind_functions_and_devices(nb::module_& m) {
  add_operator<SimpleLinop>(
      m, "SimpleLinop",
      "An operator given by functions of arrays; whether they are linear and fit each other,\n"
      "ts.check_adjoint shows. Sizes of output dims that are not the input's are found by a call\n"
      "with zeros unless `sizes` or `size(dim)` has them; `dtype` is the least dtype of results.\n"
      "With `split(tile)`, which gives the part of the operator between slices {dim: slice}, it is "
      "cut\nand batched as any other; both speak in the names that the operator was made with.\n\n"
      ">>> A = ts.SimpleLinop(lambda x: 2 * x, lambda y: 2 * y, name='twice')\n"
      ">>> A([1.0]).tolist(), A.N([1.0]).tolist()\n([2.0], [4.0])\n"
      ">>> def scaling(w):\n"
      "...     return ts.SimpleLinop(lambda x: w * x, lambda y: w * y, ishape='X', size=lambda "
      "dim: "
      "len(w),\n"
      "...                           split=lambda tile: scaling(w[tile['X']]))\n"
      ">>> A = scaling(ts.arange(5.0)).split({'X': slice(1, 3)}); A([1.0, 1.0]).tolist()\n"
      "[1.0, 2.0]\n",
      &simple, "forward"_a, "adjoint"_a, "normal"_a = nb::none(), "ishape"_a = nb::none(),
      "oshape"_a = nb::none(), "name"_a = nb::none(), "sizes"_a = nb::none(),
      "dtype"_a = nb::none(), "split"_a = nb::none(), "size"_a = nb::none());
  add_operator<Sleep>(
      m, "Sleep",
      "The identity, after some seconds; the adjoint does not sleep.\n\n"
      ">>> ts.Sleep(0.001)([1]).tolist()\n[1]\n",
      [](double duration, const DimsArg& ioshape, const DimsArg& oshape) {
        return wrap_linop(Sleep(duration, dims_or_any(ioshape), dims_from(oshape)));
      },
      "duration"_a = 0.1, "ioshape"_a = nb::none(), "oshape"_a = nb::none());
  auto c = add_operator<ToDevice>(
      m, "ToDevice",
      "The same array on another device; the adjoint goes back. Devices, or DeviceSpecs whose\n"
      "streams are used; the transfer starts after the latest record of input_listener, an event "
      "or\n"
      "(owner, name): the event that the owner has under that name.\n\n"
      ">>> y = ts.ToDevice('cpu', 'sim:0')([1, 2]); str(y.device)\n'sim:0'\n"
      ">>> ts.ToDevice(ts.DeviceSpec('sim:0').p2p_setup('sim:1'), 'sim:1').is_gpu2gpu\nTrue\n",
      [](const SpecArg& from, const SpecArg& to, const DimsArg& ioshape, const ListenerArg& given) {
        return wrap_linop(ToDevice(spec_from(from), spec_from(to), dims_or_any(ioshape),
                                   listener_from(given, "ToDevice")));
      },
      "idevice"_a, "odevice"_a, "ioshape"_a = nb::none(), "input_listener"_a = nb::none());
  const auto property = [&c](const char* name, auto read, const char* doc) {
    c.def_prop_ro(
        name, [read](const LinopObject& a) { return read(*a.op.as<ToDevice>()); }, doc);
  };
  property(
      "idevice", [](const ToDevice& t) { return t.idevice(); }, "Where the input is.");
  property(
      "odevice", [](const ToDevice& t) { return t.odevice(); }, "Where the output is.");
  property(
      "ispec", [](const ToDevice& t) { return t.ispec; }, "The input's device and streams.");
  property(
      "ospec", [](const ToDevice& t) { return t.ospec; }, "The output's device and streams.");
  property(
      "is_gpu2gpu", [](const ToDevice& t) { return t.is_gpu2gpu(); },
      "Between two accelerators (sim devices stand for GPUs).");
}

nb::object diagonal_from_weight(const ArrayArg& weight, const DimsArg& weight_shape,
                                const DimsArg& ioshape, const SizesArg& shape_kwargs) {
  return wrap_linop(Diagonal::from_weight(as_array(weight, "Diagonal"), dims_from(weight_shape),
                                          dims_from(ioshape),
                                          sizes_from(shape_kwargs, "Diagonal.from_weight")));
}

}  // namespace

void bind_operators_moves(nb::module_& m) {
  add_constructor(
      class_of_kind("Diagonal"), "from_weight", &diagonal_from_weight, "weight"_a, "weight_shape"_a,
      "ioshape"_a, "shape_kwargs"_a = nb::none(),
      "A Diagonal whose weight has named axes, in any order; other dims of ioshape are\n"
      "broadcast, with the sizes of shape_kwargs.\n\n"
      ">>> D = ts.Diagonal.from_weight([1, 2], ('X',), ('X', 'Y'), {'Y': 2})\n"
      ">>> D([[1, 1], [1, 1]]).tolist(), D.size('Y')\n([[1, 1], [2, 2]], 2)\n");
  bind_padding(m);
  bind_order(m);
  bind_sums(m);
  bind_differences(m);
  bind_matrices(m);
  bind_functions_and_devices(m);
}

}  // namespace tessera::python
