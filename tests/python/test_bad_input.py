# SPDX-License-Identifier: Apache-2.0
"""Every constructor of the catalogue with wrong shapes, names, ranges and types: refused at once, by a sentence that
names the operator."""

import numpy as np
import pytest
import scipy.sparse
from cut_operators import WRONG

import tessera as ts
from tessera import (
    FFT,
    NUFFT,
    Add,
    ArrayToBlocks,
    BlockDiag,
    BlocksToArray,
    Chain,
    Concat,
    Convolution,
    Crop,
    Dense,
    Diagonal,
    FFTConvolution,
    FiniteDifference,
    Flip,
    Gradient,
    Identity,
    Interpolate,
    Kronecker,
    Matrix,
    Pad,
    PadDim,
    Permute,
    Rearrange,
    Repeat,
    Roll,
    Sampling,
    Scalar,
    ShapeSpec,
    SimpleLinop,
    Sleep,
    Sparse,
    Stack,
    SumReduce,
    ToDevice,
    Toeplitz,
    Truncate,
    Wavelet,
    Zero,
)


class Mine(Dense):
    pass


nan, inf = float("nan"), float("inf")
ones = np.ones
W = ones((3, 2))
A = Dense(W, "MN", "N", "M")
at, at2 = ones((5, 1)), ones((5, 2))
one = np.array([1])
S = scipy.sparse.csr_matrix(W)


def same(x):
    return x


# A list of wrong calls for each operator.
BAD = {
    "Identity": [
        lambda: Identity("AB", "A"),
        lambda: Identity("AA"),
        lambda: Identity("AB", "AA"),
        lambda: Identity(3),
        lambda: Identity((1, 2)),
        lambda: Identity("......"),
        lambda: Identity("AB", "BA"),
        lambda: Identity("A", name=3),
    ],
    "Zero": [
        lambda: Zero("N", "P", {"Q": 3}),
        lambda: Zero("N", "P", {"P": -1}),
        lambda: Zero("N", "PP", {"P": 2}),
        lambda: Zero("N", "P", {"P": 2.5}),
        lambda: Zero("N", "P", 3),
        lambda: Zero("N", "P")(ones(3)),
    ],
    "ShapeSpec": [lambda: ShapeSpec("AB", "C"), lambda: ShapeSpec("AB", "CC")],
    "Diagonal": [
        lambda: Diagonal(W, "A"),
        lambda: Diagonal(ones(2), "AA"),
        lambda: Diagonal(W, "AB", broadcast_dims=("Q",)),
        lambda: Diagonal(ones(2), "A", "AA"),
        lambda: Diagonal("x", "A"),
        lambda: Diagonal([[1, 2], [3]], "AB"),
        lambda: Diagonal.from_weight(W, ("C", "Q"), ("C", "Nx", "Ny"), {"Ny": 5}),
        lambda: Diagonal.from_weight(W, ("C",), ("C", "Nx"), {}),
    ],
    "Scalar": [lambda: Scalar("x"), lambda: Scalar(ones(2)), lambda: Scalar(2.0, "AA")],
    "Dense": [
        lambda: Dense(ones(3)),
        lambda: Dense(W, "MN"),
        lambda: Dense(W, "M", "N", "M"),
        lambda: Dense(W, "MN", "N", "P"),
        lambda: Dense(W, "MM", "M", "M"),
        lambda: Dense(W, "MN", "NN", "M"),
        lambda: Dense(W, "MN", "N", "MM"),
        lambda: Dense(W, "MN", "N", "M", broadcast_dims="Q"),
        lambda: Dense(W, "MN", "NB", "M"),
        lambda: Dense(W, "MN", "N", "M", "NN"),
        lambda: Dense.from_einstr(W, "MN,N-M"),
        lambda: Dense.from_einstr(W, "MNK,N->M"),
        lambda: A.split({"Q": slice(0, 1)}),
        lambda: A.split({"M": slice(0, 9)}),
        lambda: A.rename({"M": "N"}),
    ],
    "FFT": [
        lambda: FFT(0),
        lambda: FFT(-1),
        lambda: FFT(4),
        lambda: FFT(2, grid_shapes=("A", "B")),
        lambda: FFT(2, grid_shapes=("AB", "AC")),
        lambda: FFT(2, grid_shapes=("AB",)),
        lambda: FFT(2, (), ("AA", "BC")),
        lambda: FFT(1, ("Nx",)),
        lambda: FFT(1, "......"),
        lambda: FFT(1, grid_shapes=3),
        lambda: FFT(1, norm="other"),
        lambda: FFT(1, real=-1),
        lambda: FFT(1, real=8, centered=True),
        lambda: FFT(1, real=8)(ones(8) + 0j),
    ],
    "NUFFT": [
        lambda: NUFFT(at, (8, 8)),
        lambda: NUFFT(at * nan, (8,)),
        lambda: NUFFT(at * inf, (8,)),
        lambda: NUFFT(at * nan, (8,), do_prep_locs=False),
        lambda: NUFFT(at * nan, (8,), mode="sampling", do_prep_locs=False),
        lambda: NUFFT(at, (8,), batch_shape="......"),
        lambda: NUFFT(at + 1j, (8,)),
        lambda: NUFFT(at, (0,)),
        lambda: NUFFT(at, (-8,)),
        lambda: NUFFT(at, ("a",)),
        lambda: NUFFT(at, (8,), oversamp=0.5),
        lambda: NUFFT(at, (8,), oversamp=nan),
        lambda: NUFFT(at, (8,), width=0),
        lambda: NUFFT(at, (8,), width=100.0),
        lambda: NUFFT(at, (8,), tol=1e-13),
        lambda: NUFFT(at, (8,), tol=nan),
        lambda: NUFFT(at, (8,), tol=1e-3, width=4),
        lambda: NUFFT(at, (0,), tol=1e-3),
        lambda: NUFFT(at, (8, 8), tol=1e-3),
        lambda: NUFFT(at * nan, (8,), tol=1e-3),
        lambda: NUFFT(at, (8,), mode="other"),
        lambda: NUFFT(at, (8,), "AB"),
        lambda: NUFFT(at, (8,), "K", "XY"),
        lambda: NUFFT(at, (8,), "X", "X"),
        lambda: NUFFT(at, (8,), apodize_weights=ones(5)),
        lambda: NUFFT(at, (8,), apodize_weights=ones(8) * nan),
        lambda: NUFFT(at, (8,), toeplitz=True, toeplitz_oversamp=1.0),
    ],
    "Interpolate": [
        lambda: Interpolate(at, (8, 8)),
        lambda: Interpolate(at * nan, (8,)),
        lambda: Interpolate(at * inf, (8,)),
        lambda: Interpolate(at, (3,)),
        lambda: Interpolate(at, (8,), width=8.5),
        lambda: Interpolate(at, (8,), width=8.5, pad_mode="zero"),
        lambda: Interpolate(at2, (8, 4), width=5, kernel="spline"),
        lambda: Interpolate(at, (8,), "......"),
        lambda: Interpolate(np.float64(3), (8,)),
        lambda: Interpolate(ones((5, 4)), (2, 2, 2, 2)),
        lambda: Interpolate(at + 0j, (8,)),
        lambda: Interpolate(at, (0,)),
        lambda: Interpolate(at, (8.5,)),
        lambda: Interpolate(at, (8,), width=0),
        lambda: Interpolate(at, (8,), width=nan),
        lambda: Interpolate(at2, (8, 8), width=(3.0,)),
        lambda: Interpolate(at2, (8, 8), width=(3.0, 3.0, 3.0)),
        lambda: Interpolate(at, (8,), kernel="other"),
        lambda: Interpolate(at, (8,), norm=3),
        lambda: Interpolate(at, (8,), pad_mode="other"),
        lambda: Interpolate(at, (8,), kernel_params={"alpha": 1.0}),
        lambda: Interpolate(at, (8,), kernel_params={1: 1.0}),
        lambda: Interpolate(at, (8,), kernel_params={"beta": nan}),
        lambda: Interpolate(at, (8,), kernel_params=3),
        lambda: Interpolate(at, (8,), (), "PQ", "X"),
        lambda: Interpolate(at, (8,), (), "X", "X"),
    ],
    "Sampling": [
        lambda: Sampling((np.array([8]),), (8,)),
        lambda: Sampling((np.array([-1]),), (8,)),
        lambda: Sampling((np.array([1.5]),), (8,)),
        lambda: Sampling((one, one), (8,)),
        lambda: Sampling((np.array([1, 2]), np.array([1, 2, 3])), (8, 8)),
        lambda: Sampling((), ()),
        lambda: Sampling((one,), (0,)),
        lambda: Sampling((one,), (8,), "K", "N", "......"),
        lambda: Sampling((one,), (8,), "AB"),
        lambda: Sampling((one,), (8,), "X", "X"),
        lambda: Sampling(one, (8,)),
        lambda: Sampling.from_mask(np.zeros((3, 3), bool), (4, 4)),
        lambda: Sampling.from_mask(np.zeros((3, 3)), (3, 3)),
        lambda: Sampling.from_stacked_idx(np.array([[1, 9]]), (4, 4)),
        lambda: Sampling.from_stacked_idx(np.array([[1, 2, 3]]), (4, 4)),
    ],
    "Pad": [
        lambda: Pad((20, 20), (10,)),
        lambda: Pad((5,), (10,)),
        lambda: Pad((20,), (-1,)),
        lambda: Pad((20.5,), (10,)),
        lambda: Pad((20,), (10,), "X", "Y", "X"),
    ],
    "Crop": [lambda: Crop((20,), (10,)), lambda: Crop((5,), (10,), "X", "XY"), lambda: Crop((5,), ("a",))],
    "Truncate": [
        lambda: Truncate(0, -1, 3, "N"),
        lambda: Truncate(0, 5, 6, "N"),
        lambda: Truncate(2, 5, 3, "N"),
        lambda: Truncate("Q", 5, 3, "N"),
        lambda: Truncate(0, 5, 3, "NN"),
    ],
    "PadDim": [lambda: PadDim(0, 6, 5, "N"), lambda: PadDim(1.5, 3, 5, "N"), lambda: PadDim(0, 3, 5, 7)],
    "ArrayToBlocks": [
        lambda: ArrayToBlocks((3,), (5,), (1,)),
        lambda: ArrayToBlocks((3, 3), (2,), (1,)),
        lambda: ArrayToBlocks((5,), (2,), (0,)),
        lambda: ArrayToBlocks((5,), (2,), (1,), np.ones(3, bool)),
        lambda: ArrayToBlocks((5,), (2,), (1,), ones(2)),
        lambda: ArrayToBlocks((5,), (2,), (1,), np.zeros(2, bool)),
        lambda: ArrayToBlocks((5,), (2,), (1,), None, (), "XY"),
        lambda: ArrayToBlocks((5,), (2,), (1,), None, "X", "X", "BC"),
        lambda: ArrayToBlocks((5,), (2.5,)),
    ],
    "BlocksToArray": [lambda: BlocksToArray((5,), (7,)), lambda: BlocksToArray((5,), (2,))(ones((6, 6)))],
    "Rearrange": [
        lambda: Rearrange("(a b", "a b", "N", "AB"),
        lambda: Rearrange("a b", "a", "AB", "A"),
        lambda: Rearrange("a a", "a a", "AB", "AB"),
        lambda: Rearrange("a b", "b a", "ABC", "BA"),
        lambda: Rearrange("a b", "b a", "AB", "BA", {"c": 3}),
        lambda: Rearrange("a b", "b a", "AB", "AB"),
        lambda: Rearrange("(a b)", "a b", "N", "AB", 3),
    ],
    "SumReduce": [
        lambda: SumReduce("AB", "AB"),
        lambda: SumReduce("AB", "C"),
        lambda: SumReduce("ABC", "AB", {"Q": 3}),
        lambda: SumReduce("ABC", "AB", {"C": -3}),
        lambda: SumReduce("AAB", "A"),
    ],
    "Repeat": [
        lambda: Repeat({}, "A", "AB"),
        lambda: Repeat({"B": -2}, "A", "AB"),
        lambda: Repeat({"B": 2.5}, "A", "AB"),
        lambda: Repeat(3, "A", "AB"),
    ],
    "Convolution": [
        lambda: Convolution(ones(())),
        lambda: Convolution(ones(0)),
        lambda: Convolution(ones(3), padding_mode="other"),
        lambda: Convolution(ones(3), normal_mode="fft"),
        lambda: Convolution(ones(3), (), "XY"),
        lambda: Convolution(ones(3), (), "X", "X"),
    ],
    "FFTConvolution": [
        lambda: FFTConvolution(ones((2,) * 4)),
        lambda: FFTConvolution(ones((5, 5)))(ones((3, 3))),
    ],
    "SimpleLinop": [
        lambda: SimpleLinop(3, same),
        lambda: SimpleLinop(same, same, 3),
        lambda: SimpleLinop(lambda x: "a", same)(ones(3)),
        lambda: SimpleLinop(lambda x: x + 1j, same)(ones(3)),
        lambda: SimpleLinop(same, same, ishape="N", oshape="M", sizes={"M": 2})(ones(3)),
        lambda: SimpleLinop(same, same, ishape="N", sizes={"Q": 2}),
        lambda: SimpleLinop(same, same, name=3),
        lambda: SimpleLinop(same, same, dtype="text"),
        lambda: SimpleLinop(same, same, split=3),
        lambda: SimpleLinop(same, same, size={"N": 3}),
        lambda: SimpleLinop(same, same, ishape="N", size=lambda dim: "a").size("N"),
        lambda: SimpleLinop(same, same, ishape="N", size=lambda dim: -1).size("N"),
        lambda: SimpleLinop(same, same, ishape="N", split=lambda tile: 3).split({"N": slice(0, 1)}),
        lambda: SimpleLinop(same, same, ishape="N", split=lambda tile: Dense(ones((2, 2)), "NM", "N", "M")).split(
            {"N": slice(0, 1)}
        ),
    ],
    "ToDevice": [
        lambda: ToDevice("cpu", "gpu"),
        lambda: ToDevice("cpu", 3),
        lambda: ToDevice("cpu", "sim:0", "AA"),
        lambda: ToDevice("cpu", "sim:99"),
        lambda: ToDevice("cuda:999", "cpu"),
        lambda: ToDevice("cpu", "rank1/sim:0"),
    ],
    "Sleep": [
        lambda: Sleep(-1),
        lambda: Sleep(nan),
        lambda: Sleep(0.0, "A", "AB"),
        lambda: Sleep(0.0, "AA"),
        lambda: Sleep(0.0, "AB", "BA"),
    ],
    "Chain": [lambda: Chain(), lambda: Chain(A, A), lambda: Chain(A, 3), lambda: Chain(A, Diagonal(ones(4), "M"))],
    "Add": [
        lambda: Add(),
        lambda: Add(A, Dense(W, "PN", "N", "P")),
        lambda: Add(A, Dense(ones((4, 2)), "MN", "N", "M")),
        lambda: Add(A, A, num_workers=-1),
    ],
    "Concat": [
        lambda: Concat(A, A),
        lambda: Concat(A, A, idim="M"),
        lambda: Concat(A, Scalar(2.0), idim="N"),
        lambda: Concat(A, A, idim=3),
        lambda: Concat(A, Dense(ones((3, 5)), "MN", "N", "M"), odim="M"),
    ],
    "Stack": [
        lambda: Stack(A, A),
        lambda: Stack(A, A, odim_and_idx=("M", 0)),
        lambda: Stack(A, A, odim_and_idx=("Q", 7)),
        lambda: Stack(A, A, odim_and_idx=("...", 0)),
        lambda: Stack(A, A, odim_and_idx=3),
        lambda: Stack(A, A, idim_and_idx="Q"),
        lambda: Stack(A, A, idim_and_idx=("Q", 0))(ones((3, 2))),
    ],
    "Sparse": [
        lambda: Sparse(S, "NK", "M"),
        lambda: Sparse((ones(2), np.array([0, 9]), np.array([0, 1, 2])), "N", "M", shape=(2, 3)),
        lambda: Sparse((ones(2), np.array([0, 1]), np.array([0, 2, 1])), "N", "M", shape=(2, 3)),
        lambda: Sparse((ones(2), np.array([0, 1]), np.array([0, 1, 2])), "N", "M"),
        lambda: Sparse((ones(2), 3), "N", "M", shape=(2, 3)),
    ],
    "FiniteDifference": [
        lambda: FiniteDifference("Q", "N"),
        lambda: FiniteDifference("N", "N", mode="other"),
        lambda: FiniteDifference("N", "N", edge="other"),
        lambda: FiniteDifference(3, "N"),
    ],
    "Gradient": [lambda: Gradient("Q", "N"), lambda: Gradient("", "N"), lambda: Gradient("NN", "N")],
    "Wavelet": [
        lambda: Wavelet("X", "other"),
        lambda: Wavelet("X", "db4", -1),
        lambda: Wavelet("X", mode="other"),
        lambda: Wavelet("X", batch_shape="X"),
    ],
    "Toeplitz": [lambda: Toeplitz(W), lambda: Toeplitz(ones(0)), lambda: Toeplitz(ones(3), dim="N", ishape="M")],
    "Kronecker": [lambda: Kronecker(), lambda: Kronecker(A, A), lambda: Kronecker(A, Identity())],
    "BlockDiag": [
        lambda: BlockDiag(),
        lambda: BlockDiag(A, A, idim="Q"),
        lambda: BlockDiag(A, Dense(W, "PN", "N", "P")),
        lambda: BlockDiag(Identity(), Identity()),
    ],
    "Permute": [lambda: Permute("AB", "AC"), lambda: Permute("AB", "A"), lambda: Permute("AA", "AA")],
    "Flip": [lambda: Flip("Q", "N"), lambda: Flip("NN", "N"), lambda: Flip("N", "N", "AB")],
    "Roll": [lambda: Roll({"Q": 1}, "N"), lambda: Roll({"N": 1.5}, "N"), lambda: Roll(1, "N")],
    "Matrix": [lambda: Matrix(ones(3)), lambda: Matrix(W, "N", "MK"), lambda: Matrix(W, "N", "N")],
    **WRONG,  # of operators whose wrong calls stand beside their samples
}


@pytest.mark.parametrize(("kind", "number"), [(k, i) for k, calls in BAD.items() for i in range(len(calls))])
def test_refused_by_a_sentence(kind, number):
    with pytest.raises(ts.Error) as info:
        BAD[kind][number]()
    text = str(info.value)
    assert text.startswith(kind) and len(text.split()) > 4, text
    assert isinstance(info.value, (ValueError, TypeError, IndexError, RuntimeError))


# What is wrong with a range or a name, and the dims that the sentence names.
@pytest.mark.parametrize(
    ("call", "dims", "words"),
    [
        (lambda: Sampling((np.array([8]),), (8,), "K", "X"), "(..., X) -> (..., K)", "index 8"),
        (lambda: Interpolate(at * nan, (8,), "C", "K", "X"), "(C, X) -> (C, K)", "location 0 is nan"),
        (lambda: Interpolate(at, (3,), "C", "K", "X"), "(C, X) -> (C, K)", "width 4 is larger than the grid"),
        (lambda: NUFFT(at * nan, (8,), "K", "X"), "(..., X) -> (..., K)", "location 0 is nan"),
        (lambda: ArrayToBlocks((3,), (5,)), "between (Nx,) and (Bx, Nx1)", "block (5,) is larger"),
        (lambda: FFTConvolution(ones(5), "C", "X", "Y")(ones((2, 3))), "(C, X) -> (C, Y)", "larger than the grid"),
        (lambda: Pad((5,), (10,), "X", "Y"), "(X,) -> (Y,)", "(10,) does not fit"),
        (lambda: Sparse((ones(1), ([0], [9])), "N", "M", shape=(2, 3)), "(N,) -> (M,)", "column 9"),
        (lambda: Chain(A, A), "(N,), got (M,)", "Mismatched"),
    ],
)
def test_names_the_dims(call, dims, words):
    with pytest.raises(ts.Error) as info:
        call()
    assert dims in str(info.value) and words in str(info.value)


# Arguments that are no argument of the call, and the sentence as it stands.
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: FFT("a"), "FFT: argument 'ndim' is 'a' of type str; expected int"),
        (lambda: FFT(1.5), "FFT: argument 'ndim' is 1.5 of type float; expected int"),
        (lambda: FFT(1, centered="yes"), "FFT: argument 'centered' is 'yes' of type str; expected bool"),
        (lambda: FFT(ndim=1, norm=3), "FFT: argument 'norm' is 3 of type int; expected str"),
        (lambda: NUFFT(at, (8,), width="a"), "NUFFT: argument 'width' is 'a' of type str; expected float | None"),
        (lambda: NUFFT(at, (8,), tol="a"), "NUFFT: argument 'tol' is 'a' of type str; expected float | None"),
        (lambda: Diagonal(None), "Diagonal: argument 'weight' is None; expected ArrayLike"),
        (lambda: Diagonal(), "Diagonal: argument 'weight' is missing; expected ArrayLike"),
        (lambda: Permute("AB"), "Permute: argument 'oshape' is missing; expected DimsLike"),
        (lambda: Identity(other=3), "Identity: there is no argument 'other'; it takes ishape, oshape, name"),
        (lambda: Identity("A", ishape="A"), "Identity: argument 'ishape' is given twice"),
        (lambda: Identity(*"ABCD"), "Identity: 4 arguments are given; it takes ishape, oshape, name"),
        (lambda: Add(A, A, threaded="a"), "Add: argument 'threaded' is 'a' of type str; expected bool"),
        (lambda: Dense.from_einstr(W, 3), "Dense.from_einstr: argument 'einstr' is 3 of type int; expected str"),
        (
            lambda: Sampling.from_stacked_idx(one, (8,), dim="a"),
            "Sampling.from_stacked_idx: argument 'dim' is 'a' of type str; expected int",
        ),
        (lambda: A.rename(3), "Dense.rename: argument 'names' is 3 of type int; expected dict[DimLike, DimLike]"),
        (lambda: A.split(), "Dense.split: argument 'tile' is missing; expected dict[DimLike, slice]"),
        (lambda: A.H.size(), "Dense.size: argument 'dim' is missing; expected DimLike"),
        (lambda: A(1, 2, 3), "Dense: 3 arguments are given; it takes x, out"),
        (
            lambda: A.explain(None, (2,)),
            "Dense.explain: 2 arguments are given; it takes x, shape, dtype, device, format",
        ),
        (lambda: A.to(where="cpu"), "Dense.to: there is no argument 'where'; it takes device"),
        (
            lambda: A.with_start_event(3),
            "Dense.with_start_event: argument 'event' is 3 of type int; expected RepeatedEvent",
        ),
        (
            lambda: Mine(W, other=3),
            "Mine: there is no argument 'other'; it takes weight, weightshape, ishape, oshape, broadcast_dims, name, "
            "copy",
        ),
        (lambda: Mine(), "Mine: argument 'weight' is missing; expected ArrayLike"),
        (lambda: Mine(W).rename(), "Mine.rename: argument 'names' is missing; expected dict[DimLike, DimLike]"),
        (lambda: ts.solve.cg(A.N, ones(2), maxiter="a"), "cg: argument 'maxiter' is 'a' of type str; expected int"),
        (lambda: ts.solve.lsqr(A, ones(3), damp="a"), "lsqr: argument 'damp' is 'a' of type str; expected float"),
        (lambda: ts.solve.Checkpoint(), "Checkpoint: argument 'path' is missing; expected str | os.PathLike[str]"),
        (
            lambda: ts.create_batched_linop(A),
            "create_batched_linop: argument 'specs' is missing; expected BatchSpec | typing.Sequence[BatchSpec]",
        ),
        (lambda: ts.check_adjoint(A, seed="a"), "check_adjoint: argument 'seed' is 'a' of type str; expected int"),
        (lambda: ts.ND("A", None), "NamedDimension: argument 'i' is None; expected int"),
        (lambda: ts.zeros(2).astype(), "Array.astype: argument 'dtype' is missing; expected DTypeLike"),
        (lambda: ts.ND("A", 10**20), "NamedDimension: values of type str, int do not fit; it takes name, i"),
        (lambda: ts.dist.ones(2).resplit(0, 1), "DNDarray.resplit: 2 arguments are given; it takes axis"),
        (lambda: ts.matrix.Dense(), "Dense: argument 'obj' is missing; expected typing.Any"),
        (lambda: ts.Array.copy(3), "Array.copy: called on 3 of type int; expected Array"),
        (
            lambda: Truncate([1] * 100, [2] * 100, 3, "N"),
            "Truncate: argument 'from_length' is [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, ... of type list; expected int",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_told_by_a_sentence(call, text):
    with pytest.raises(TypeError) as info:
        call()
    assert str(info.value) == text


L = ts.NamedLinop


# Python lets a method be called on anything; nothing else may be read as an operator or an array.
@pytest.mark.parametrize("other", [3, None, "text", Dense.__new__(Dense)], ids=["int", "None", "str", "empty"])
@pytest.mark.parametrize(
    "call",
    [
        lambda o: L.__call__(o, [1.0]),
        lambda o: L.__repr__(o),
        lambda o: L.__neg__(o),
        lambda o: L.H.fget(o),
        lambda o: L.N.fget(o),
        lambda o: L.rename(o, {}),
        lambda o: L.split(o, {}),
        lambda o: L.size(o, "N"),
        lambda o: L.to(o, "cpu"),
        lambda o: L.plan(o, [1.0]),
        lambda o: A + o,
        lambda o: ts.Array.numpy(o),
        lambda o: ts.Array.__array__(o),
        lambda o: ts.Array.sort(o),
        lambda o: ts.dist.DNDarray.item(o),
    ],
)
def test_methods_of_other_objects_are_refused(call, other):
    with pytest.raises(TypeError):
        call(other)


def test_an_error_within_a_call_stays_as_it_is():
    class Odd:
        def __array__(self, *_, **__):
            raise TypeError("f(): incompatible numbers")

    with pytest.raises(TypeError, match="incompatible numbers"):
        Diagonal(Odd())

    def calls_others(x):
        raise TypeError("other(): incompatible function arguments. The following ...")

    with pytest.raises(TypeError, match="other"):
        SimpleLinop(calls_others, same)(ones(3))


def test_every_operator_has_its_wrong_calls():
    shown = {c.__name__ for c in vars(ts).values() if isinstance(c, type) and issubclass(c, ts.NamedLinop)}
    assert shown - {"NamedLinop", "Fitted", "AsyncStreamer"} == set(BAD)  # those are made of operators


def test_classes_have_the_names_that_people_know():
    with pytest.raises(TypeError, match="expected tessera.Array$"):
        ts.may_share_memory(3, 4)
