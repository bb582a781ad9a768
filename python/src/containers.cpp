// SPDX-License-Identifier: Apache-2.0
// Operators made of operators: Chain, Add, Concat, Stack, BlockDiag.
#include "operators.hpp"
#include "tessera/linop/algebra.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

std::optional<NamedDimension> optional_dim(nb::handle h) {
  return h.is_none() ? std::nullopt : std::optional(dimension_from(h));
}

// (dim, index), where dim may be None.
std::optional<StackDim> stack_dim(nb::handle h, const char* which) {
  if (h.is_none()) return std::nullopt;
  require<ArgumentError>(nb::len(h) == 2, "Stack: ", which, " is a pair (dim, index), got ",
                         nb::len(h), " items");
  const nb::object dim = nb::object(h[0]), index = nb::object(h[1]);
  if (dim.is_none()) return std::nullopt;
  return StackDim{dimension_from(dim), int_from(index, "Stack")};
}

struct BlockDiag;  // names a Python class; the operator itself is a Concat

}  // namespace

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
      [](nb::args a, bool, nb::handle) { return wrap_linop(sum(operators_from(a, "Add"))); },
      "linops"_a, nb::kw_only(), "threaded"_a = true, "num_workers"_a = nb::none());
  add_operator<Concat>(
      m, "Concat",
      "Operators side by side along an input dim (summed), an output dim, or both (block "
      "diagonal).\n\n"
      ">>> A = ts.Dense([[1, 2]], 'PQ', 'Q', 'P'); B = ts.Dense([[3]], 'PQ', 'Q', 'P')\n"
      ">>> ts.Concat(A, B, idim='Q')([1, 1, 1]).tolist()\n[6]\n",
      [](nb::args a, nb::handle idim, nb::handle odim, bool, nb::handle) {
        return wrap_linop(
            concat(operators_from(a, "Concat"), {optional_dim(idim), optional_dim(odim)}));
      },
      "linops"_a, nb::kw_only(), "idim"_a = nb::none(), "odim"_a = nb::none(), "threaded"_a = true,
      "num_workers"_a = nb::none());
  add_operator<Stack>(
      m, "Stack",
      "Operators side by side along a new dim of the input, the output, or both.\n\n"
      ">>> A = ts.Scalar(2, ('X',)); ts.Stack(A, A.H, odim_and_idx=('M', 0))([1.0]).tolist()\n"
      "[[2.0], [2.0]]\n",
      [](nb::args a, nb::handle in, nb::handle out, bool, nb::handle) {
        return wrap_linop(stack(operators_from(a, "Stack"), stack_dim(in, "idim_and_idx"),
                                stack_dim(out, "odim_and_idx")));
      },
      "linops"_a, nb::kw_only(), "idim_and_idx"_a = nb::none(), "odim_and_idx"_a = nb::none(),
      "threaded"_a = true, "num_workers"_a = nb::none());
  add_operator<BlockDiag>(
      m, "BlockDiag",
      "Operators along the diagonal: Concat along an input and an output dim, by default the "
      "first of each.\n\n"
      ">>> A = ts.Dense([[1, 2]], 'PQ', 'Q', 'P'); ts.BlockDiag(A, A)([1, 1, 1, 0]).tolist()\n"
      "[3, 1]\n",
      [](nb::args a, nb::handle idim, nb::handle odim) {
        return wrap_linop(
            block_diag(operators_from(a, "BlockDiag"), {optional_dim(idim), optional_dim(odim)}));
      },
      "linops"_a, nb::kw_only(), "idim"_a = nb::none(), "odim"_a = nb::none());
}

}  // namespace tessera::python
