# SPDX-License-Identifier: Apache-2.0
"""Operators drawn at random from the constructors' options, for tests that hold for every operator."""

import numpy as np

import tessera as ts


def numbers(rng, shape, dtype):
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def pick(rng, *choices):
    return choices[rng.integers(len(choices))]


def _diagonal(rng, n, t):
    shape = pick(rng, (n, 3), (n, 1), (1, 3), (3,))
    return ts.Diagonal(numbers(rng, shape, t), ("X", "Y")), (n, 3)


def _dense(rng, n, t):
    m = int(rng.integers(1, 7))
    w = numbers(rng, (m, n), t)
    return pick(
        rng,
        (ts.Dense(w, "MN", "N", "M"), (n,)),
        (ts.Dense(w, "MN", "BN", "BM"), (3, n)),
        (ts.Dense(numbers(rng, (3, m, n), t), "BMN", "BN", "BM"), (3, n)),
        (ts.Dense(numbers(rng, (3, n), t), "CX", "X", "CX"), (n,)),
        (ts.Dense(w, "MN", "NB", "MB"), (n, 5)),
    )


def _fft(rng, n, t):
    norm = pick(rng, "ortho", "backward", "forward")
    if rng.integers(2):
        return ts.FFT(1, ("C",), (("X",), ("K",)), norm, bool(rng.integers(2))), (3, n)
    return ts.FFT(2, ("C",), (("X", "Y"), ("K", "L")), norm, bool(rng.integers(2))), (2, n, 4)


def _real_fft(rng, n, t):
    return ts.FFT(1, ("C",), (("X",), ("K",)), pick(rng, "ortho", "backward"), real=n), (3, n)


def _convolution(rng, n, t):
    kernel = numbers(rng, pick(rng, 1, 2), t)
    if rng.integers(2):
        return ts.FFTConvolution(kernel, ("C",), "X", "Y"), (3, n)
    mode, normal = pick(rng, ("zeros", None), ("circular", None), ("circular", "conv"), ("circular", "fft"))
    return ts.Convolution(kernel, ("C",), "X", "Y", mode, normal), (3, n)


def _sampling(rng, n, t):
    idx = rng.integers(0, n, pick(rng, (5,), (3, 4), (7, 1)))
    return ts.Sampling((idx,), (n,), ("R", "S")[: idx.ndim], ("X",), pick(rng, (), ("C",))), None


def _interpolate(rng, n, t):
    return ts.Interpolate(rng.uniform(0, n, (5, 1)), (n,), ("C",), ("K",), ("X",), width=2), (3, n)


def _nufft(rng, n, t):
    locs = rng.uniform(-n / 2, n / 2, (6, 1)).astype(np.float32)
    A = ts.NUFFT(locs, (n,), ("K",), ("X",), batch_shape=("C",), toeplitz=bool(rng.integers(2)))
    return A, (2, n)


def _moves(rng, n, t):
    k = int(rng.integers(1, n + 1))
    return pick(
        rng,
        (ts.Pad((n + 3,), (n,), ("X",), ("P",), ("C",)), (3, n)),
        (ts.Crop((k,), (n,), ("X",), ("P",), ("C",)), (3, n)),
        (ts.Flip("X", ("C", "X"), ("C", "Z")), (3, n)),
        (ts.Roll({"X": 1}, ("C", "X"), ("C", "Z")), (3, n)),
        (ts.Permute(("C", "X"), ("X", "C")), (3, n)),
        (ts.SumReduce(("C", "X"), ("X",), {"C": 3}), (3, n)),
        (ts.Repeat({"C": 3}, ("X",), ("C", "X")), (n,)),
        (ts.FiniteDifference("X", ("C", "X"), ("C", "Z"), edge=pick(rng, "zero", "circular", "replicate")), (3, n)),
        (ts.Gradient(("X", "Y"), ("X", "Y")), (n, 3)),
        (ts.ArrayToBlocks((n,), (k,), (pick(rng, 1, 2),), None, ("C",), ("X",), ("B", "I")), (3, n)),
        (ts.Wavelet("X", "haar", 1, "periodization", ("C",), "Z"), (3, n)),
        (ts.Scalar(2.5, ("C", "X")), (3, n)),
    )


def _matrix(rng, n, t):
    w = numbers(rng, (n, n), t)
    if np.dtype(t).kind == "c":
        return ts.Matrix(w, ("C", "N"), ("C", "M")), (3, n)
    return pick(
        rng,
        (ts.Matrix(w, ("C", "N"), ("C", "M")), (3, n)),
        (ts.Matrix(ts.matrix.Symmetric(w + w.T), ("C", "N"), ("C", "M")), (3, n)),
        (ts.Matrix(ts.matrix.Triangular(np.triu(w)), ("N",), ("M",)), (n,)),
        (ts.Sparse(w * (rng.random((n, n)) < 0.5), ("N",), ("M",), batch_shape=("C",)), (3, n)),
        (ts.Toeplitz(w[0], w[1], "N", ("C", "N"), ("C", "M")), (3, n)),
    )


SIMPLE = [_diagonal, _dense, _fft, _convolution, _sampling, _interpolate, _nufft, _moves, _moves, _matrix]


def simple(rng, t):
    n = int(rng.integers(2, 12))
    A, shape = pick(rng, *SIMPLE)(rng, n, t)
    return A, shape or tuple(A.size(d) or 3 for d in A.ishape)


def random_linop(rng, dtype):
    """An operator with the shape of an input, whose arrays are of `dtype`."""
    A, shape = simple(rng, dtype)
    for _ in range(int(rng.integers(0, 3))):
        kind = int(rng.integers(8))
        out = A.output_shape(shape)
        if kind == 0:
            A, shape = A.H, out
        elif kind == 1:
            A = A.N
        elif kind == 2:
            A = ts.Diagonal(numbers(rng, out, dtype), A.oshape) @ A
        elif kind == 3:
            A = A @ ts.Diagonal(numbers(rng, shape, dtype), A.ishape)
        elif kind == 4:
            A = A + 2 * A
        elif kind == 5:
            A = ts.Stack(A, 3 * A, odim_and_idx=("S", 0)) if "S" not in A.dims else A
        elif kind == 6 and not set(A.ishape) & set(A.oshape):
            A = ts.Diagonal(numbers(rng, out, dtype), A.oshape).normal() @ A
        elif kind == 7:
            A = A.normal(ts.Diagonal(np.abs(numbers(rng, out, dtype)), A.oshape))
    return A, shape
