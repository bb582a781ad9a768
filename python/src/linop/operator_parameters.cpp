// SPDX-License-Identifier: Apache-2.0
// What each argument of the catalogue's operators means, for `help` and the reference: one text for a class, put
// between its summary and its examples. `name` and `copy` mean the same everywhere and are added where a class takes
// them.
#include <cstring>
#include <deque>

#include "linop/operators.hpp"

namespace tessera::python {

namespace {

struct Described {
  const char* kind;
  const char* parameters;
};

constexpr Described basic[] = {
    {"NamedLinop", R"(shape
    Names of the input and the output: a ``ts.NS``, or one list of names for both.
name
    What ``repr`` and plans call it; the name of the class when not given.
dtype
    The least dtype of results: with complex64, real inputs give complex results.
)"},
    {"Identity", R"(ishape
    Names of the input; any array when not given.
oshape
    Names of the output, as many as of the input; the same when not given.
)"},
    {"Scalar", R"(weight
    The number. A real one keeps the dtype of the data, a complex one makes it complex.
ioshape
    Names of input and output; any array when not given.
)"},
    {"Diagonal", R"(weight
    What is multiplied by, aligned to the right of the dims as in NumPy; axes of length 1 stand for any length. It
    may be an array on disk (``ts.stored``).
ioshape
    Names of input and output; any array when not given.
broadcast_dims
    Names of ``ioshape`` along which the weight is the same and has length 1: the operator can be cut there.
)"},
    {"Dense", R"(weight
    The tensor. It may be an array on disk (``ts.stored``).
weightshape
    Names of its axes. Without it, ``ishape`` and ``oshape``: the last axis is summed, the one before it is the
    output, those in front are batches.
ishape
    Names of the input.
oshape
    Names of the output. Names of weight and input that it does not have are summed over.
broadcast_dims
    Names of ``weightshape`` along which the weight has length 1 and stands for any length.
)"},
    {"Matrix", R"(matrix
    An array of two axes, a sparse matrix of SciPy, or one of ``ts.matrix``; an array on disk works as well.
ishape
    Names of the input, of which the last is multiplied; (..., N) when not given.
oshape
    Names of the output; (..., M) when not given.
)"},
    {"Sparse", R"(matrix
    A sparse matrix of SciPy, ``(data, indices, indptr)``, ``(data, (rows, columns))``, or an array of two axes
    whose zeros are left out.
ishape
    Names of the input, which count as one axis in row-major order; ``N`` when not given.
oshape
    Names of the output; ``M`` when not given.
input_size
    Lengths of the dims of ``ishape``, where there are several.
output_size
    Lengths of the dims of ``oshape``, where there are several.
batch_shape
    Names of leading dims that pass through; any when not given.
shape
    (rows, columns) of the matrix, where it is given by its parts.
)"},
    {"Zero", R"(ishape
    Names of the input.
oshape
    Names of the output; those of the input when not given.
sizes
    ``{name: length}`` of output dims that the input does not have.
)"},
    {"ShapeSpec", R"(ishape
    Names of the input.
oshape
    Their new names, one for each; the same when not given.
)"},
    {"SumReduce", R"(ishape
    Names of the input.
oshape
    Names that are left, in the order of the input; the others are summed over.
sizes
    ``{name: length}`` of the dims that are summed over: the adjoint needs them.
)"},
    {"Repeat", R"(n_repeats
    ``{name: number}`` of each new dim.
ishape
    Names of the input.
oshape
    Names of the output: those of the input and the new ones.
broadcast_dims
    Names of new dims that get length 1 and stand for any length.
)"},
    {"Toeplitz", R"(column
    The first column of the matrix.
row
    The first row, whose first number is not looked at; conj(column) when not given.
dim
    The dim along which the matrix is applied; the last one when not given.
ishape
    Names of the input; (..., N) when not given.
oshape
    Names of the output; by default ``dim`` has its next number there, as in N1.
)"},
    {"Kronecker", R"(factors
    The operators. Names of input and output are theirs, one after another, and no two may share one.
)"},
    {"SimpleLinop", R"(forward
    A function of an array that gives the result of the operator.
adjoint
    A function that gives the result of the adjoint.
normal
    A function that gives ``A.H(A(x))``; when not given, one after the other is called.
ishape
    Names of the input; any array when not given.
oshape
    Names of the output; those of the input when not given.
name
    What ``repr`` and plans call it.
sizes
    ``{name: length}`` of output dims that are not the input's.
dtype
    The least dtype of results.
split
    A function of a tile ``{name: slice}`` that gives the part of the operator there; without it the operator
    cannot be cut.
size
    A function of a name that gives its length, or None where it is not known.
)"},
    {"Sleep", R"(duration
    How many seconds it takes.
ioshape
    Names of the input; any array when not given.
oshape
    Names of the output; those of the input when not given.
)"},
    {"ToDevice", R"(idevice
    The device of the input, or a ``ts.DeviceSpec`` with its streams.
odevice
    The device of the output, or a ``ts.DeviceSpec``.
ioshape
    Names of input and output; any array when not given.
input_listener
    An event, or (owner, name) of one: the transfer starts after its latest record.
)"},
    {"Chain", R"(linops
    The operators, the one that is applied first in front: ``ts.Chain(A, B)`` is ``B @ A``.
)"},
    {"Add", R"(linops
    The operators; their names must match.
threaded
    Taken for programs written for torch-named-linops, and without effect: plans decide what runs at once.
num_workers
    As ``threaded``.
)"},
    {"Concat", R"(linops
    The operators, from the first part of the dim to the last.
idim
    The input dim along which they stand side by side: each takes its part, results are summed.
odim
    The output dim along which results stand side by side. With both, a block diagonal.
threaded
    Taken for programs written for torch-named-linops, and without effect: plans decide what runs at once.
num_workers
    As ``threaded``.
)"},
    {"Stack", R"(linops
    The operators, one for each index along the new dim.
idim_and_idx
    (name, position) of the new dim of the input: each operator takes its slice, results are summed.
odim_and_idx
    (name, position) of the new dim of the output. With both, slice goes to slice.
threaded
    Taken for programs written for torch-named-linops, and without effect: plans decide what runs at once.
num_workers
    As ``threaded``.
)"},
    {"BlockDiag", R"(linops
    The operators, from the first block to the last.
idim
    The input dim that is cut; the first one when not given.
odim
    The output dim along which results stand; the first one when not given.
)"},
    {"AsyncStreamer", R"(linop
    The operator.
sizes
    ``{name: length}``: the largest tile along each dim that is cut.
device
    Where tiles are computed.
resident
    True: the operator's arrays lie on the device. False: they stay on the host and travel with each tile.
shape
    The shape of an input, where the operator does not know its sizes.
)"},
};

}  // namespace

const char* documented(const char* kind, const char* doc, bool keeps_arrays) {
  static auto& texts = *new std::deque<std::string>;  // nanobind may keep what it is given
  const char* told = nullptr;
  for (const Described& d : basic)
    if (std::strcmp(d.kind, kind) == 0) told = d.parameters;
  if (!told) told = parameters_of_grids(kind);
  if (!told) return doc;
  std::string all = cat("Parameters\n----------\n", told);
  if (!std::strstr(told, "\nname\n"))
    all += "name\n    What ``repr`` and plans call it; the kind of operator when not given.\n";
  if (keeps_arrays)
    all +=
        "copy\n    False: the operator shares the arrays, and nobody may write to them any more.\n";
  const std::string_view whole = doc;
  const std::size_t example = whole.find("\n>>>");
  texts.push_back(example == std::string_view::npos
                      ? cat(whole, "\n\n", all)
                      : cat(whole.substr(0, example + 1), all, whole.substr(example)));
  return texts.back().c_str();
}

}  // namespace tessera::python
