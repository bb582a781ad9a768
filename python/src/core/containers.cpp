// SPDX-License-Identifier: Apache-2.0
// Operators made of operators: Chain, Add, Concat, Stack, BlockDiag.
#include "core/repr.hpp"
#include "linop/operators.hpp"
#include "tessera/linop/core/algebra.hpp"
#include "tessera/linop/ops/transforms/nufft.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

std::optional<NamedDimension> optional_dim(nb::handle h) {
  return h.is_none() ? std::nullopt : std::optional(dimension_from(h));
}

// (dim, index), where dim may be None.
std::optional<StackDim> stack_dim(nb::handle h, const char* which) {
  if (h.is_none()) return std::nullopt;
  require<DTypeError>(PySequence_Check(h.ptr()) != 0, "Stack: ", which,
                      " is a pair (dim, index), got ", Py_TYPE(h.ptr())->tp_name);
  require<ArgumentError>(nb::len(h) == 2, "Stack: ", which, " is a pair (dim, index), got ",
                         nb::len(h), " items");
  const nb::object dim = nb::object(h[0]), index = nb::object(h[1]);
  if (dim.is_none()) return std::nullopt;
  return StackDim{dimension_from(dim), int_from(index, "Stack")};
}

// The same kind of container with some of the parts.
NamedLinop with_parts(const NamedLinop& a, std::vector<NamedLinop> parts) {
  auto place = [](const std::optional<NamedDimension>& d, const Dims& names) {
    std::optional<StackDim> at;
    for (i64 i = 0; d && i < names.size(); ++i)
      if (names[i] == *d) at = StackDim{*d, i};
    return at;
  };
  require<IndexError>(!parts.empty(), a, ": the slice takes none of its ", a.parts().size(),
                      " parts");
  if (const Chain* c = a.as<Chain>()) {
    const bool first = parts.front() == c->operators.front(),
               last = parts.back() == c->operators.back();
    const Dims in = first ? c->in : parts.front().ishape(),
               out = last ? c->out : parts.back().oshape();
    return Chain{std::move(parts), in, out};
  }
  if (a.as<Add>()) return Add{std::move(parts)};
  if (const Concat* c = a.as<Concat>()) return concat(std::move(parts), {c->idim, c->odim});
  if (const Stack* s = a.as<Stack>())
    return stack(std::move(parts), place(s->idim, s->names.ishape),
                 place(s->odim, s->names.oshape));
  throw DTypeError(cat(a, " is not a container: it has no parts to choose from"));
}

nb::object item(LinopObject& self, nb::handle key) {
  const std::vector<NamedLinop> parts = self.op.parts();
  const auto n = static_cast<i64>(parts.size());
  if (!PySlice_Check(key.ptr())) {
    const i64 given = int_from(key, "index of a part"), i = given < 0 ? given + n : given;
    require<IndexError>(i >= 0 && i < n, self.op, ": part ", given, " of ", n);
    return wrap_linop(parts[static_cast<std::size_t>(i)]);
  }
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(key.ptr(), &start, &stop, &step) < 0) nb::raise_python_error();
  require<IndexError>(step == 1, self.op, ": parts are chosen without steps, got step ", step);
  PySlice_AdjustIndices(static_cast<Py_ssize_t>(n), &start, &stop, step);
  return wrap_linop(
      with_parts(self.op, {parts.begin() + start, parts.begin() + std::max(start, stop)}));
}

// Accepted for programs that give it; a negative number is a mistake all the same.
void check_workers(nb::handle n, const char* who) {
  require<ArgumentError>(n.is_none() || int_from(n, who) >= 0, who, ": num_workers is ", repr_of(n),
                         ", expected None or a number of threads");
}

struct BlockDiag;  // names a Python class; the operator itself is a Concat

}  // namespace

void bind_parts(nb::class_<LinopObject>& c) {
  c.def("__getitem__", &item, "index"_a,
        nb::sig("def __getitem__(self, index: int | slice, /) -> NamedLinop"));
}

// Parts run as one plan; `threaded` and `num_workers` are accepted for programs that give them.
void bind_containers(nb::module_& m) {
  add_operator<Chain>(
      m, "Chain",
      "Operators one after another, the first first.\n\n>>> ts.Chain(ts.FFT(1), "
      "ts.FFT(1).H).ishape[-1]\nNx\n",
      [](nb::args a) { return wrap_linop(chain(operators_from(a, "Chain"))); }, "linops"_a,
      nb::kw_only());
  add_operator<Add>(
      m, "Add",
      "The sum of operators.\n\n>>> ts.Add(ts.Scalar(1), ts.Scalar(2))([1.0]).tolist()\n[3.0]\n",
      [](nb::args a, bool, const IntArg& workers) {
        check_workers(workers, "Add");
        return wrap_linop(sum(operators_from(a, "Add")));
      },
      "linops"_a, nb::kw_only(), "threaded"_a = true, "num_workers"_a = nb::none());
  add_operator<Concat>(
      m, "Concat",
      "Operators side by side along an input dim (summed), an output dim, or both (block "
      "diagonal).\n\n"
      ">>> A = ts.Dense([[1, 2]], 'PQ', 'Q', 'P'); B = ts.Dense([[3]], 'PQ', 'Q', 'P')\n"
      ">>> ts.Concat(A, B, idim='Q')([1, 1, 1]).tolist()\n[6]\n",
      [](nb::args a, const DimArg& idim, const DimArg& odim, bool, const IntArg& workers) {
        check_workers(workers, "Concat");
        return wrap_linop(
            concat(operators_from(a, "Concat"), {optional_dim(idim), optional_dim(odim)}));
      },
      "linops"_a, nb::kw_only(), "idim"_a = nb::none(), "odim"_a = nb::none(), "threaded"_a = true,
      "num_workers"_a = nb::none());
  auto stacks = add_operator<Stack>(
      m, "Stack",
      "Operators side by side along a new dim of the input, the output, or both.\n\n"
      ">>> A = ts.Scalar(2, ('X',)); ts.Stack(A, A.H, odim_and_idx=('M', 0))([1.0]).tolist()\n"
      "[[2.0], [2.0]]\n",
      [](nb::args a, const PlaceArg& in, const PlaceArg& out, bool, const IntArg& workers) {
        check_workers(workers, "Stack");
        return wrap_linop(stack(operators_from(a, "Stack"), stack_dim(in, "idim_and_idx"),
                                stack_dim(out, "odim_and_idx")));
      },
      "linops"_a, nb::kw_only(), "idim_and_idx"_a = nb::none(), "odim_and_idx"_a = nb::none(),
      "threaded"_a = true, "num_workers"_a = nb::none());
  stacks.def(
      "with_locs",
      [](const LinopObject& a, const ArrayArg& locs, bool copy) {
        return wrap_linop(
            nufft::with_locs(a.op, as_array(held_by_operator(locs, copy), "with_locs")));
      },
      "locs"_a, nb::kw_only(), "copy"_a = true,
      nb::sig("def with_locs(self, locs: ArrayLike, *, copy: bool = True) -> Stack"),
      "The same frames of a NUFFT along other trajectories; see NUFFT.with_locs.\n\n"
      ">>> A = ts.NUFFT(np.zeros((3, 5, 1)), (8,), locs_batch_shape=('T',), batch_shape=())\n"
      ">>> A.with_locs(np.ones((3, 5, 1))).shape == A.shape\nTrue\n");
  add_operator<BlockDiag>(
      m, "BlockDiag",
      "Operators along the diagonal: Concat along an input and an output dim, by default the "
      "first of each.\n\n"
      ">>> A = ts.Dense([[1, 2]], 'PQ', 'Q', 'P'); ts.BlockDiag(A, A)([1, 1, 1, 0]).tolist()\n"
      "[3, 1]\n",
      [](nb::args a, const DimArg& idim, const DimArg& odim) {
        return wrap_linop(
            block_diag(operators_from(a, "BlockDiag"), {optional_dim(idim), optional_dim(odim)}));
      },
      "linops"_a, nb::kw_only(), "idim"_a = nb::none(), "odim"_a = nb::none());
}

}  // namespace tessera::python
