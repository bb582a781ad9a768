# SPDX-License-Identifier: Apache-2.0
"""Operators that move data, and those made of matrices and functions, against NumPy and SciPy."""

import gc
import itertools
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from support import check, draw_numbers, on

import tessera as ts
from tessera import Dim

TOL = 1e-5


def adjoint_error(A, *shapes):
    """The dot test on arrays of the given shapes, by NumPy."""
    rng = np.random.default_rng(7)
    x, y = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in shapes)
    left, right = np.vdot(y, A(x).numpy()), np.vdot(A.H(y).numpy(), x)
    return abs(left - right) / (np.linalg.norm(x) * np.linalg.norm(y))


# --- padding and cutting


@pytest.mark.parametrize(
    ("n", "p", "before", "after"),
    [(10, 20, 5, 5), (10, 21, 5, 6), (3, 6, 2, 1), (11, 20, 5, 4), (11, 21, 5, 5), (4, 7, 1, 2)],
)
def test_pad_keeps_the_centre(n, p, before, after, device, rng):
    x = draw_numbers(rng, (2, n), "complex64")
    P = ts.Pad((p,), (n,), ("X",))
    check(P(on(device, x)), np.pad(x, ((0, 0), (before, after))))
    check(P.H(on(device, np.pad(x, ((0, 0), (before, after)), constant_values=1))), x)


def test_pad_and_crop(device):
    x = np.arange(9.0).reshape(3, 3)
    assert ts.PadLast is ts.Pad
    P = ts.Pad((6, 6), (3, 3))
    y = P(on(device, x))
    assert np.array_equal(y.numpy()[2:5, 2:5], x) and y.numpy().sum() == x.sum()
    check(P.H(y), x)
    P = ts.Pad((20, 20), (10, 10), Dim("XY"))
    assert P.ishape == ("...", "X", "Y") and P.oshape == ("...", "X1", "Y1")
    assert P.size("X") == 10 and P.size("X1") == 20 and P.size("Z") is None
    assert isinstance(P.H, ts.Crop) and isinstance(P.N, ts.Identity) and P.H.H is P
    C = ts.Crop((10, 10), (20, 20), ("X", "Y"), ("A", "B"), ("...",))
    assert C(np.zeros((20, 20))).shape == (10, 10) and isinstance(C.H, ts.Pad)
    assert adjoint_error(P, (2, 10, 10), (2, 20, 20)) < 1e-14
    with pytest.raises(ValueError, match="cut along dim 'X'"):
        P.split({"X": slice(0, 5)})
    Q = ts.Pad((20, 20), (10, 10), Dim("AXY"), batch_shape=())
    assert Q.split({"A": slice(0, 1)})(np.zeros((1, 10, 10))).shape == (1, 20, 20)
    assert Q.H.split({"A": slice(0, 1)})(np.zeros((1, 20, 20))).shape == (1, 10, 10)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: ts.Pad((20, 20), (10,)),
        lambda: ts.Pad((5,), (10,)),
        lambda: ts.Pad((20, 20), (10, 10), "X"),
        lambda: ts.Pad((20,), (10,), "X", "X", "X"),
        lambda: ts.Crop((20,), (10,)),
        lambda: ts.Pad((20, 20), (10, 10))(np.zeros((5, 5))),
        lambda: ts.Pad((20, 20), (10, 10)).H(np.zeros((10, 10))),
        lambda: ts.Truncate(0, -1, 3, ("N",), ("N",)),
        lambda: ts.Truncate(0, 5, 6, ("N",), ("N",)),
        lambda: ts.Truncate(2, 5, 3, ("N",)),
        lambda: ts.Truncate("Q", 5, 3, ("N",)),
        lambda: ts.Truncate(0, 5, 3, ("N",))(np.zeros(10)),
        lambda: ts.Truncate(0, 5, 3, ("N",)).H(np.zeros(10)),
        lambda: ts.Truncate(0, 5, 3, ("N",)).N(np.zeros(10)),
        lambda: ts.PadDim(0, 3, -1, ("N",), ("N",)),
        lambda: ts.PadDim(0, 6, 5, ("N",), ("N",)),
        lambda: ts.PadDim(0, 3, 5, ("N",))(np.zeros(10)),
        lambda: ts.PadDim(0, 3, 5, ("N",)).H(np.zeros(10)),
    ],
)
def test_padding_refuses(bad):
    with pytest.raises(ValueError, match=r"Pad|Crop|Truncate|PadDim|Window"):
        bad()


def test_truncate_and_pad_dim(device, rng):
    x, y = draw_numbers(rng, (4, 5), "complex64"), draw_numbers(rng, (4, 3), "complex64")
    T = ts.Truncate(dim=1, from_length=5, to_length=3, ishape=("N", "M"), oshape=("N", "M"))
    check(T(on(device, x)), x[:, :3])
    assert isinstance(T.H, ts.PadDim) and (T.H.dim, T.H.from_length, T.H.to_length) == (1, 3, 5)
    check(T.H(on(device, y)), np.pad(y, ((0, 0), (0, 2))))
    expected = x.copy()
    expected[:, 3:] = 0
    check(T.N(on(device, x)), expected)
    check(T.normal(ts.Identity(("N", "M")))(on(device, x)), expected)
    assert T.N.ishape == T.ishape
    with pytest.raises(ValueError, match="cut along dim 'M'"):
        T.split({"M": slice(0, 3)})
    part = T.split({"N": slice(0, 2)})
    assert isinstance(part, ts.Truncate) and (part.dim, part.from_length, part.to_length) == (1, 5, 3)
    P = ts.PadDim("M", 3, 5, ("N", "M"))
    assert isinstance(P.H, ts.Truncate) and isinstance(P.N, ts.Identity)
    check(P.H(on(device, x)), x[:, :3])
    check(P.N(on(device, y)), y)
    check(ts.PadDim(0, 3, 5, ("N",))(on(device, np.array([1.0, 2, 3]))), np.array([1.0, 2, 3, 0, 0]))


# --- names, order, sums


def test_rearrange(device, rng):
    A = ts.Rearrange("(A B) C", "A B C", ishape=("Ab", "C"), oshape=("A", "B", "C"), axes_lengths={"A": 2, "B": 3})
    x = draw_numbers(rng, (6, 4), "complex64")
    check(A(on(device, x)), x.reshape(2, 3, 4))
    check(A.H(on(device, x.reshape(2, 3, 4))), x)
    assert isinstance(A.N, ts.Identity) and A.size("Ab") == 6 and A.size("C") is None
    part = A.split({"C": slice(1, 3)})
    check(part(on(device, x[:, 1:3])), x[:, 1:3].reshape(2, 3, 2))
    check(A.H.split({"C": slice(1, 3)})(on(device, x[:, 1:3].reshape(2, 3, 2))), x[:, 1:3])
    with pytest.raises(ts.SplitError):
        A.split({"Ab": slice(0, 2)})
    z = draw_numbers(rng, (2, 6, 4, 5), "float64")
    B = ts.Rearrange("b ... (p q) c", "c (q b) ... p", Dim("B...XC"), Dim("CZ...P"), {"p": 2})
    expected = z.reshape(2, 6, 2, 2, 5).transpose(4, 3, 0, 1, 2).reshape(5, 4, 6, 2)
    check(B(on(device, z)), expected)
    # As an eye for the containers: the adjoint stays the adjoint inside a chain that is split.
    chain = ts.Diagonal(on(device, np.ones(4, "float32")), ("Ab", "C"), ("Ab",)) @ A.H
    half = chain.split({"C": slice(0, 2)})
    check(half(on(device, x.reshape(2, 3, 4)[..., :2])), x[:, :2], tol=TOL)


@pytest.mark.parametrize(
    ("patterns", "shapes", "lengths"),
    [
        (("(a b", "a b"), ("N", "AB"), None),
        (("a b", "a"), ("AB", "A"), None),
        (("(a b)", "(b a)"), ("N", "N"), None),
        (("a b", "b a"), ("ABC", "BA"), None),
        (("a b", "b a"), ("AB", "BA"), {"c": 3}),
        (("... a", "a"), (("...", "A"), "A"), None),
    ],
)
def test_rearrange_refuses(patterns, shapes, lengths):
    with pytest.raises(ValueError, match="Rearrange"):
        ts.Rearrange(*patterns, *shapes, lengths)


def test_sum_reduce(device, rng):
    x, y = draw_numbers(rng, (5, 2, 3), "complex64"), draw_numbers(rng, (5, 2), "complex64")
    for A in (
        ts.SumReduce(("A", "B", "C"), ("A", "B"), {"C": 3}),
        ts.SumReduce(("...", "C"), ("...",), sizes={"C": 3}),
    ):
        check(A(on(device, x)), x.sum(-1), tol=TOL)
        check(A.H(on(device, y)), np.repeat(y[..., None], 3, -1))
        check(A.N(on(device, x)), np.repeat(x.sum(-1)[..., None], 3, -1), tol=TOL)
        assert A.N.ishape == A.ishape and A.N.oshape[-1] == "C1" and isinstance(A.H, ts.Repeat)
    open_ = ts.SumReduce(("A", "B", "C"), ("A", "B"))
    check(open_.N(on(device, x)), np.repeat(x.sum(-1)[..., None], 3, -1), tol=TOL)
    with pytest.raises(ts.DimError, match="'C'.*sizes"):
        open_.H(on(device, y))
    check(ts.SumReduce("ABC", "CA")(on(device, x)), x.sum(1).T, tol=TOL)
    for bad in (("AB", "AB"), ("AB", "C"), ("AB", "ABC")):
        with pytest.raises(ValueError, match="SumReduce"):
            ts.SumReduce(*bad)
    with pytest.raises(TypeError, match="dict"):
        ts.SumReduce("AB", "A", 3)


def test_repeat(device, rng):
    x, y = draw_numbers(rng, (4, 5), "complex64"), draw_numbers(rng, (4, 5, 3), "complex64")
    A = ts.Repeat({"C": 3}, ishape=("A", "B"), oshape=("A", "B", "C"))
    check(A(on(device, x)), np.repeat(x[..., None], 3, -1))
    check(A.H(on(device, y)), y.sum(-1), tol=TOL)
    check(A.N(on(device, x)), 3 * x, tol=TOL)
    part = A.split({"C": slice(0, 2)})
    assert A.size("C") == 3 and part.size("C") == 2
    assert A.axes_lengths == {"C": 3} and part.n_repeats == {"C": 2}
    assert ts.Repeat({"C": 3}, "A", "AC", ["C"]).size("C") is None
    for bad in (
        lambda: ts.Repeat({"C": 3}, ("A", "B", "C"), ("A", "B")),
        lambda: ts.Repeat({}, ("A", "B"), ("A", "B")),
        lambda: ts.Repeat({}, "A", "AB"),
        lambda: ts.Repeat({"A": 2}, "A", "AB"),
    ):
        with pytest.raises(ValueError, match="Repeat"):
            bad()


def test_order(device, rng):
    x = draw_numbers(rng, (2, 3, 4), "complex64")
    check(ts.Permute("CXY", "YCX")(on(device, x)), x.transpose(2, 0, 1))
    check(ts.Permute(("...", "X"), ("X", "..."))(on(device, x)), x.transpose(2, 0, 1))
    F = ts.Flip(("X", "Y"), "CXY")
    check(F(on(device, x)), x[:, ::-1, ::-1])
    assert F.oshape == ("C", "X1", "Y1")
    R = ts.Roll({"C": 1, "Y": -6}, "CXY", "UXV")
    check(R(on(device, x)), np.roll(x, (1, -6), (0, 2)))
    check(R.H(on(device, x)), np.roll(x, (-1, 6), (0, 2)))
    S = ts.ShapeSpec("NM", "KL")
    assert S.H.ishape == ("K", "L") and S.H.oshape == ("N", "M") and isinstance(S.N, ts.NamedLinop)
    check(S(on(device, x[0])), x[0])
    for op in (F, R):
        assert isinstance(op.N, ts.Identity) and op.N.ishape == op.ishape
    for bad in (
        lambda: ts.Permute("AB", "AC"),
        lambda: ts.Flip("Z", "AB"),
        lambda: ts.Roll({"Z": 1}, "AB"),
        lambda: ts.ShapeSpec("AB", "C"),
    ):
        with pytest.raises(ts.DimError):
            bad()


def test_zero(device):
    Z = ts.Zero(("N", "Q"), ("N", "P"), {"Q": 4, "P": 3})
    x = on(device, np.ones((1, 4)))
    check(Z(x), np.zeros((1, 3)))
    check(Z.H(Z(x)), np.zeros((1, 4)))
    check(Z.N(x), np.zeros((1, 4)))
    check(x, np.ones((1, 4)))


# --- Diagonal


def test_diagonal_from_weight(device, rng):
    w, x = draw_numbers(rng, (3, 4), "complex64"), draw_numbers(rng, (3, 4, 5), "complex64")
    D = ts.Diagonal.from_weight(on(device, w), ("C", "Nx"), ("C", "Nx", "Ny"), {"Ny": 5})
    check(D(on(device, x)), w[..., None] * x, tol=TOL)
    assert D.size("Ny") == 5 and isinstance(D, ts.Diagonal)
    T = ts.Diagonal.from_weight(on(device, w.T), ("Nx", "C"), ("C", "Nx", "Ny"))
    check(T(on(device, x)), w[..., None] * x, tol=TOL)
    assert T.size("Ny") is None
    part = D.split({"Ny": slice(1, 3), "C": slice(0, 2)})
    check(part(on(device, x[:2, :, 1:3])), w[:2, :, None] * x[:2, :, 1:3], tol=TOL)
    with pytest.raises(ValueError):
        ts.Diagonal.from_weight(w, ("C",), ("C", "Nx"))
    with pytest.raises(ValueError):
        ts.Diagonal.from_weight(w, ("C", "Q"), ("C", "Nx"))


def test_diagonal_numbers(device):
    A = ts.Diagonal(on(device, np.array([1, 2j])), ("X",))
    x = on(device, np.ones(2, "complex128"))
    check(A(x), np.array([1, 2j]))
    check(A.H(x), np.array([1, -2j]))
    check(A.N(x), np.array([1, 4 + 0j]))
    check((A**2)(x), np.array([1, -4 + 0j]), tol=1e-15)
    check((A.N**2)(x), np.array([1, 16 + 0j]), tol=1e-15)


# --- differences


def difference_matrix(n, mode, edge):
    plus, minus, scale = {"forward": (1, 0, 1), "backward": (0, -1, 1), "central": (1, -1, 0.5)}[mode]
    M = np.zeros((n, n))
    for i, (offset, sign) in itertools.product(range(n), ((plus, scale), (minus, -scale))):
        j = i + offset
        if edge == "circular":
            j %= n
        elif edge == "replicate":
            j = min(max(j, 0), n - 1)
        if 0 <= j < n:
            M[i, j] += sign
    return M


@pytest.mark.parametrize("mode", ["forward", "backward", "central"])
@pytest.mark.parametrize("edge", ["zero", "circular", "replicate"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_finite_difference(mode, edge, n, device, rng):
    M = difference_matrix(n, mode, edge)
    A = ts.FiniteDifference("X", ("C", "X"), mode=mode, edge=edge)
    x = rng.standard_normal((3, n))
    check(A(on(device, x)), x @ M.T, tol=1e-14)
    check(A.H(on(device, x)), x @ M, tol=1e-14)
    G = ts.Gradient(("X", "Y"), ("X", "Y"), mode=mode, edge=edge)
    z, N = rng.standard_normal((n, 3)), difference_matrix(3, mode, edge)
    check(G(on(device, z)), np.stack([M @ z, z @ N.T]), tol=1e-14)
    g = rng.standard_normal((2, n, 3))
    check(G.H(on(device, g)), M.T @ g[0] + g[1] @ N, tol=1e-14)
    assert G.oshape == ("D", "X1", "Y1") and G.size("D") == 2


def test_differences_refuse():
    for bad in (
        lambda: ts.FiniteDifference("Z", "X"),
        lambda: ts.FiniteDifference("X", "X", mode="up"),
        lambda: ts.FiniteDifference("X", "X", edge="soft"),
        lambda: ts.Gradient((), "X"),
        lambda: ts.Gradient("X", "XC", ("C", "X", "C")),
    ):
        with pytest.raises(ValueError, match=r"FiniteDifference|Gradient"):
            bad()


# --- matrices


@pytest.mark.parametrize(("m", "n"), [(1, 1), (4, 6), (7, 3), (420, 500)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_toeplitz(m, n, dtype, device, rng):
    c, r = draw_numbers(rng, (m,), dtype), draw_numbers(rng, (n,), dtype)
    x, y = draw_numbers(rng, (2, n, 3), dtype), draw_numbers(rng, (2, m, 3), dtype)
    T = scipy.linalg.toeplitz(c, r)
    A = ts.Toeplitz(on(device, c), on(device, r), "N", ("B", "N", "X"))
    eps = np.finfo(np.dtype(dtype).char.lower() if dtype.startswith("c") else dtype).eps
    for op, matrix, z in ((A, T, x), (A.H, T.conj().T, y)):
        got, expected = op(on(device, z)).numpy(), np.einsum("mn,bnx->bmx", matrix, z)
        assert got.dtype == z.dtype
        assert np.linalg.norm(got - expected) <= 40 * eps * np.linalg.norm(expected)
    assert A.size("N") == n and A.size("N1") == m
    part = A.split({"N": slice(n // 2, n), "N1": slice(0, (m + 1) // 2)})
    expected = T[: (m + 1) // 2, n // 2 :] @ x[0, n // 2 :]
    assert np.allclose(part(on(device, x[:1, n // 2 :])).numpy()[0], expected, atol=100 * eps * n)


def test_toeplitz_default_row_and_refusals(device):
    c = np.array([1.0, 2 + 1j, 3j])
    x = np.arange(3) + 1j
    check(ts.Toeplitz(on(device, c))(on(device, x)), scipy.linalg.toeplitz(c) @ x, tol=1e-14)
    bits, many = ts.Toeplitz(on(device, np.ones(300, bool))), on(device, np.ones(300, bool))
    assert bits(many).dtype == bits.H(many).dtype == "bool" and bits(many).all() and bits.H(many).all()
    for bad in (lambda: ts.Toeplitz(np.ones((2, 2))), lambda: ts.Toeplitz([]), lambda: ts.Toeplitz([1.0], dim="Q")):
        with pytest.raises(ValueError, match="Toeplitz"):
            bad()


def test_kronecker(device, rng):
    a, b = draw_numbers(rng, (2, 3), "complex64"), draw_numbers(rng, (5, 4), "complex64")
    A = ts.Dense(on(device, a), "MN", "N", "M")
    B = ts.Dense(on(device, b), "PQ", "Q", "P")
    K = ts.Kronecker(A, B)
    x, y = draw_numbers(rng, (3, 4), "complex64"), draw_numbers(rng, (2, 5), "complex64")
    k = np.kron(a, b)
    check(K(on(device, x)), (k @ x.ravel()).reshape(2, 5), tol=TOL)
    check(K.H(on(device, y)), (k.conj().T @ y.ravel()).reshape(3, 4), tol=TOL)
    check(K.N(on(device, x)), (k.conj().T @ k @ x.ravel()).reshape(3, 4), tol=TOL)
    F = ts.Kronecker(ts.FFT(1, (), (("X",), ("K",))), A, ts.Flip("Z", "Z"))
    z = draw_numbers(rng, (4, 3, 2), "complex64")
    expected = np.einsum("mn,knz->kmz", a, np.fft.fft(z, axis=0, norm="ortho"))[..., ::-1]
    check(F(on(device, z)), expected.astype("complex64"), tol=TOL)
    with pytest.raises(ts.DimError, match="share the dim"):
        ts.Kronecker(A, A)
    with pytest.raises(ValueError):
        ts.Kronecker()
    with pytest.raises(TypeError):
        ts.Kronecker(A, 3)


def test_matrix(device, rng):
    w = draw_numbers(rng, (3, 4), "complex64")
    x = draw_numbers(rng, (2, 4), "complex64")
    A = ts.Matrix(on(device, w))
    check(A(on(device, x)), x @ w.T, tol=TOL)
    check(A.H(A(on(device, x))), x @ w.T @ w.conj(), tol=TOL)
    assert A.ishape == ("...", "N") and A.oshape == ("...", "M") and A.size("M") == 3
    B = ts.Matrix(on(device, w), ("N", "X"), ("M", "X"))
    check(B(on(device, x.T.copy())), w @ x.T, tol=TOL)
    for bad in (lambda: ts.Matrix([1.0]), lambda: ts.Matrix(w, "N", "N"), lambda: ts.Matrix(w, "NA", "M")):
        with pytest.raises(ts.DimError, match="Matrix"):
            bad()


def test_matrix_of_scipy(rng):
    s = scipy.sparse.random(6, 8, 0.3, random_state=3, dtype="float64")
    A = ts.Matrix(s, ("B", "N"), ("B", "M"))
    x, y = rng.standard_normal((2, 8)), rng.standard_normal((2, 6))
    assert isinstance(A, ts.Matrix) and np.allclose(A(x).numpy(), (s @ x.T).T)
    assert np.allclose(A.H(y).numpy(), (s.T @ y.T).T)


# --- functions


def test_simple_linop():
    x = np.random.default_rng(0).standard_normal((10, 20)).astype("float32")
    A = ts.SimpleLinop(lambda x: 2 * x, lambda y: 3 * y, lambda x: 10 * x, name="L")
    check(A(x), 2 * x)
    check(A.H(x), 3 * x)
    check(A.N(x), 10 * x)
    check(A.H.N(x), 6 * x, tol=TOL)
    check(ts.SimpleLinop(lambda x: 2 * x, lambda y: 3 * y).N(x), 6 * x, tol=TOL)
    assert isinstance(A.H, ts.SimpleLinop) and A.H.H is A and A.name == "L" and A.H.name == "L.H"
    B = ts.SimpleLinop(lambda x: x, lambda y: y, ishape=("Nx", "Ny"), oshape=("Mx", "My"))
    assert B.H.ishape == ("Mx", "My") and B.H.oshape == ("Nx", "Ny")
    C = ts.SimpleLinop(lambda x: 2 * x, lambda y: 2 * y, ishape=("N",))
    y = x[0]
    check((C @ C + C)(y), 6 * y, tol=TOL)
    check(ts.Stack(C, C, odim_and_idx=("M", 0))(y), np.stack([2 * y, 2 * y]), tol=TOL)
    check((ts.Diagonal(y, ("N",)) @ C @ ts.Scalar(3.0, ("N",)))(y), 6 * y * y, tol=TOL)


def test_simple_linop_finds_sizes_and_takes_numpy(device):
    W = np.arange(6.0).reshape(3, 2)
    calls = []

    def forward(x):
        calls.append(x.shape)
        return on(str(x.device), W @ x.numpy())

    A = ts.SimpleLinop(forward, lambda y: on(str(y.device), W.T @ y.numpy()), ishape=("N",), oshape=("M",))
    check(A(on(device, np.ones(2))), W.sum(1))
    check(A.H(on(device, np.ones(3))), W.sum(0))
    n = len(calls)
    check(A(on(device, np.ones(2))), W.sum(1))
    assert len(calls) == n + 1  # the size is asked for once
    B = ts.SimpleLinop(lambda x: W @ x, lambda y: y, ishape=("N",), oshape=("M",), sizes={"M": 3})
    assert B.size("M") == 3
    F = ts.SimpleLinop(np.fft.fft, lambda y: 2 * np.fft.ifft(y), ishape=("N",), oshape=("K",), dtype="complex64")
    assert F([1.0, 2.0]).tolist() == [3, -1] and ts.check_adjoint(F, shape=(2,))


def test_simple_linop_failures_are_the_callers():
    class Odd(Exception):
        pass

    def fail(x):
        raise Odd("here")

    A = ts.SimpleLinop(fail, fail, ishape=("N",))
    for _ in range(2):
        with pytest.raises(Odd, match="here"):
            A(np.ones(3))
    with pytest.raises(ts.ShapeError, match="SimpleLinop"):
        ts.SimpleLinop(lambda x: x[:1], lambda y: y, ishape=("N",))(np.ones(3))
    with pytest.raises(TypeError, match="dtype"):
        ts.SimpleLinop(lambda x: 1j * x, lambda y: y, ishape=("N",))(np.ones(3))
    with pytest.raises(TypeError, match="forward"):
        ts.SimpleLinop(3, lambda y: y)
    with pytest.raises(ts.SplitError):
        ts.SimpleLinop(lambda x: x, lambda y: y, ishape=("N",)).split({"N": slice(0, 1)})

    def spoil(x):
        x[0] = 7
        return x

    x = np.ones(3)
    with pytest.raises(ValueError):  # the input is read-only
        ts.SimpleLinop(spoil, spoil, ishape=("N",))(x)
    assert np.array_equal(x, np.ones(3))


def test_simple_linop_lives_and_dies_with_python():
    class Twice:
        def __call__(self, x):
            return 2 * x

    f = Twice()
    seen = weakref.ref(f)
    A = ts.SimpleLinop(f, f, ishape=("N",))
    assert A.N([1.0]).tolist() == [4.0]
    del f
    gc.collect()
    assert seen() is not None
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda op: op([1.0, 2.0]).tolist(), [A] * 8)) == [[2.0, 4.0]] * 8
    del A, pool
    gc.collect()
    assert seen() is None


def test_simple_linop_keeps_what_it_was_given():
    kept = []
    A = ts.SimpleLinop(lambda x: (kept.append(x), 2 * x)[1], lambda y: 2 * y, ishape=("N",))
    B = A @ ts.Scalar(3.0, ("N",))
    assert B([1.0, 2.0]).tolist() == [6.0, 12.0]
    del A, B
    gc.collect()
    assert kept[-1].shape == (2,)  # the memory is still there, whatever it holds now
    kept[-1].numpy().sum()


# --- devices


def test_to_device(rng):
    x = rng.standard_normal(4)
    T = ts.ToDevice("cpu", "sim:0", ("X",))
    y = T(x)
    assert str(y.device) == "sim:0" and str(T.H(y).device) == "cpu"
    assert str(T.idevice) == "cpu" and str(T.odevice) == "sim:0" and str(T.H.idevice) == "sim:0"
    check(T.H(y), x)
    check(T.N(ts.asarray(x)), x)
    assert isinstance(T.N, ts.Identity) and isinstance(T.H, ts.ToDevice) and T.ishape == ("X",)
    with pytest.raises(RuntimeError, match="sim:0"):
        T(y)
    w = rng.standard_normal(4)
    A = ts.ToDevice("sim:0", "cpu", ("X",)) @ ts.Diagonal(ts.array(w, device="sim:0"), ("X",)) @ T
    check(A(x), w * x, tol=1e-15)
    check(A.N(x), w * w * x, tol=1e-15)
    assert A.N.plan(ts.asarray(x)).explain().count("transfer ") == 2


def test_sleep():
    S = ts.Sleep(0.001, ("X",))
    assert S([1.0]).tolist() == [1.0] and ts.Sleep().ishape == ("...",)
    renaming = ts.Sleep(0, ("X",), ("Y",))
    assert renaming.oshape == ("Y",) == renaming.H.ishape and renaming.N.oshape == ("X",)
    with pytest.raises(ts.DimError, match="Sleep"):
        ts.Sleep(0, ("X",), ("Y", "Z"))
    assert S.H([1.0]).tolist() == [1.0] and S.N([1.0]).tolist() == [1.0]
    with pytest.raises(ValueError, match="Sleep"):
        ts.Sleep(-1)
