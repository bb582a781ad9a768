# SPDX-License-Identifier: Apache-2.0
"""Operators from Python: application, algebra, names, plans and conjugate gradients against NumPy."""

import gc
import json

import numpy as np
import pytest
from support import check, draw_numbers, on

import tessera as ts

TOL = 1e-5


@pytest.fixture
def z(rng):
    return draw_numbers(rng, (3, 6, 5), "complex64")


def test_identity_objects():
    A = ts.FFT(2) @ ts.Diagonal([[1.0, 2.0]], ("Nx", "Ny"))
    assert A.H is A.H and A.N is A.N and A.H.H is A and isinstance(A, ts.Chain)
    assert isinstance(ts.FFT(1).H, ts.FFT) and isinstance(ts.Identity().H, ts.NamedLinop)
    B = ts.Diagonal([1.0], ("X",))
    adjoint = id(B.H)
    del adjoint
    gc.collect()
    assert B.H.H is B
    with ts.config.using(cache_adjoint_normal=False):
        C = ts.Diagonal([1j], ("X",))
        first, second = C.H, C.H
        assert first is not second


def test_application(device, z):
    A = ts.FFT(2, ("C",)).to(device)
    x = on(device, z)
    y = A(x)
    expected = np.fft.fft2(z, norm="ortho")
    check(y, expected.astype("complex64"), tol=TOL)
    out = ts.empty(z.shape, "complex64", device)
    assert A(x, out=out) is out
    check(out, expected.astype("complex64"), tol=TOL)
    check(A @ x, expected.astype("complex64"), tol=TOL)
    check(A.H(y), z, tol=TOL)
    check(A.N(x), z, tol=TOL)
    check(x, z)  # inputs are never changed


def test_algebra(device, rng, z):
    w = draw_numbers(rng, (6, 5), "complex64")
    D = ts.Diagonal(on(device, w), ("C", "Nx", "Ny"), ("C",))
    F = ts.FFT(2, ("C",))
    x = on(device, z)

    def fft(a):
        return np.fft.fft2(a, norm="ortho").astype("complex64")

    check((F @ D)(x), fft(w * z), tol=TOL)
    check((D + 2 * D)(x), 3 * w * z, tol=TOL)
    check((D - D)(x), 0 * z, tol=TOL)
    check((-D)(x), -w * z, tol=TOL)
    check((1j * D)(x), 1j * w * z, tol=TOL)
    check((D * 2)(x), 2 * w * z, tol=TOL)
    check((1j * D).H(x), -1j * np.conj(w) * z, tol=TOL)
    check((D**2)(x), w * w * z, tol=TOL)
    check((ts.Scalar(2j) ** -2)(x), z / -4, tol=TOL)
    check((ts.Scalar(4.0) ** 0.5)(x), 2 * z, tol=TOL)
    assert isinstance(ts.Scalar(2, ("X",)) ** 3, ts.Scalar) and (ts.Scalar(2, ("X",)) ** 3).ishape == ("X",)
    check((F @ D).N(x), np.abs(w) ** 2 * z, tol=TOL)
    check(np.float32(2) * D @ x, 2 * w * z, tol=TOL)
    assert (F @ D).N.ishape == (F @ D).ishape
    for bad in (lambda: D @ 42, lambda: D * "x", lambda: 5 - D, lambda: D + 1, lambda: "x" @ D):
        with pytest.raises(TypeError):
            bad()


def test_dense(device):
    W = np.array([[1.0, 2], [3, 4], [5, 6]])
    A = ts.Dense(on(device, W), ("M", "N"), ("N",), ("M",))
    check(A(on(device, np.ones(2))), np.array([3.0, 7, 11]))
    check(A.H(on(device, np.ones(3))), np.array([9.0, 12]))
    check(A.N(on(device, np.ones(2))), np.array([79.0, 100]))
    assert A.size("M") == 3 and A.size("N") == 2 and A.size("Q") is None
    check(ts.Dense(on(device, W))(on(device, np.ones(2))), np.array([3.0, 7, 11]))
    assert ts.Dense.from_einstr(W, "MN,N->M").ishape == ("N",)
    with pytest.raises(ValueError, match="all must be None"):
        ts.Dense(W, ("M", "N"))
    check(A.to_dense(dtype="float64"), W)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64", "float16"])
def test_normal_of_narrow_weights(device, rng, dtype):
    """What W.H W sums does not fit the dtype of W."""
    w = rng.integers(0, 2 if dtype == "bool" else 100, (400, 4)).astype(dtype)
    A, x = ts.Dense(on(device, w), ("M", "N"), ("N",), ("M",)), rng.standard_normal(4)
    expected = w.T.astype("float64") @ (w.astype("float64") @ x)
    check(A.N(on(device, x)), expected, tol=1e-12)
    check((A @ ts.Diagonal(on(device, w[0]), ("N",))).N(on(device, x)), w[0] * (w.T @ (w @ (w[0] * x))), tol=1e-12)


def test_chain_and_add_constructors(device):
    A, B = ts.Diagonal(on(device, np.array([1.0, 2])), ("X",)), ts.FFT(1, (), (("X",), ("K",)))
    x = on(device, np.array([1.0, 1], "complex128"))
    check(ts.Chain(A, B)(x), np.fft.fft([1, 2], norm="ortho"), tol=1e-12)
    assert len(ts.Chain(A, B)) == 2 and ts.Chain(A, B).linops[0] is A
    check(ts.Add(A, A)(x), np.array([2.0, 4], "complex128"))
    with pytest.raises(ValueError):
        ts.Chain()
    with pytest.raises(TypeError):
        ts.Chain(A, 3)
    with pytest.raises(ts.DimError):
        ts.Chain(B, A)
    with pytest.raises(ts.DimError):
        A + ts.Diagonal(on(device, np.ones(2)), ("Y",))


def test_names():
    assert ts.Dim("A1B2Kx1") == ("A1", "B2", "Kx1") and ts.Dim(None) == () == ts.Dim("")
    assert ts.ND("A") == "A" and {"P": 1}[ts.ND("P")] == 1 and {ts.ND("Q"): 2}["Q"] == 2
    assert ts.ND.infer("Nx1").i == 1 and ts.ND.infer(["A", "B"]) == ["A", "B"] and ts.ND.infer(("A",)) == ("A",)
    assert ts.ND("K") + 4 == "K4" and ts.ND("...") + 1 == "..." and ts.ND("A").next_unused() == "A1"
    with pytest.raises(TypeError):
        ts.ND("A") + [1]
    assert ts.NamedDimension is ts.ND and ts.NamedShape is ts.NS and ts.ELLIPSES == "..." and ts.ANY == "()"
    assert ts.NS(("...", "A")) == ts.NS(("C", "A")) and ts.NS(("A", "B")) != ts.NS(("C", "A"))
    s = ts.NS(("A", "B"), ("C",)) + ts.NS(("E", "F"))
    assert s.ishape == ("A", "B", "E", "F") and s.oshape == ("C", "E", "F")
    assert ts.names.isequal(("A", "..."), ("A",))[0] and ts.names.isequal(("...", "A"), ()) == (False, None)
    A = ts.Identity(("A", "B")).rename({"A": "B", "B": "A"})
    assert A.ishape == ("B", "A") and A.dims == {"A", "B"}


def test_shapes_are_checked(device, z):
    D = ts.Diagonal(on(device, np.ones(4)), ("X",))
    for bad in (np.ones(5), np.ones((4, 4))):
        with pytest.raises(ValueError, match="Diagonal"):
            D(on(device, bad))
    with pytest.raises(ts.DimError):
        ts.Diagonal(np.ones((2, 2)), ("X",))
    with pytest.raises(ts.Error):
        ts.FFT(2, grid_shapes=(("A", "B"), ("C",)))
    with pytest.raises(ts.Error):
        D(on(device, np.ones(4)), out=ts.empty(5, device=device))


def test_plans(device, z):
    A = ts.FFT(2, ("C",)).H @ ts.FFT(2, ("C",))
    with ts.config.using(rewrite=False):
        plan = (ts.FFT(2, ("C",)) @ ts.Diagonal(on(device, z[0]), ("C", "Nx", "Ny"), ("C",))).plan(on(device, z))
    x = on(device, z)
    expected = np.fft.fft2(z[0] * z, norm="ortho").astype("complex64")
    check(plan(x), expected, tol=TOL)
    check(plan(x[:, ::-1][:, ::-1]), expected, tol=TOL)
    out = ts.zeros(z.shape, "complex64", device)
    assert plan(x, out=out) is out
    check(out, expected, tol=TOL)
    strided = ts.zeros((*z.shape, 2), "complex64", device)[..., 1]
    check(plan(x, out=strided), expected, tol=TOL)
    text = plan.explain()
    assert "fft" in text.lower() and json.loads(plan.explain("json")) and "digraph" in plan.explain("dot")
    assert all(isinstance(k, str) and n >= 0 for k, n in plan.workspace.items())
    plan.capture()
    check(plan(x), expected, tol=TOL)
    with pytest.raises(ValueError, match="format"):
        plan.explain("pdf")
    with pytest.raises(ts.Error):
        plan(on(device, z[0]))
    with pytest.raises(ValueError, match="shape="):
        A.plan()
    assert "FFT" in repr(ts.FFT(1)) and "FFT" in ts.FFT(1).tree()


def test_explaining_without_an_input(z):
    F, D = ts.FFT(2, ("C",)), ts.Diagonal(z[0], ("C", "Kx", "Ky"), ("C",))
    assert "nothing was rewritten" in F.explain() and F.explain().startswith(F.tree())
    A = 2.0 * D @ D @ F
    assert all(word in A.explain() for word in ("rewritten:", "merged: one multiplication", "scalar 2 folded into"))
    assert "and its adjoint became Diagonal" in A.N.explain()
    with ts.config.using(rewrite=False, cache_adjoint_normal=False):
        assert "nothing was rewritten" in F.N.explain()
    with pytest.raises(ValueError, match="shape="):
        F.explain(format="html")


def test_plan_under_a_budget():
    W, x = ts.ones((64, 64)), ts.ones(64)
    A = ts.Dense(W, "MN", "N", "M")
    plan = A.plan(x, budget={"sim:0": "8KiB"})
    assert plan(x).tolist() == [64.0] * 64 and "sim:0" in plan.explain()
    assert "sim:0" not in A.plan(x).explain()
    assert A.plan(shape=64, dtype="float64", budget={"sim:0": "8KiB"})(x).tolist() == [64.0] * 64
    with pytest.raises(ts.OutOfMemory, match="budget"):
        A.plan(x, budget={"sim:0": 100})
    with pytest.raises(TypeError, match="budget is a dict"):
        A.plan(x, budget=3)


def test_plan_from_several_threads(z):
    from concurrent.futures import ThreadPoolExecutor

    plan = ts.FFT(2, ("C",)).plan(ts.asarray(z))
    expected = plan(z).numpy()
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: plan(z).numpy(), range(40)):
            assert np.array_equal(result, expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ts.FFT(2),
        lambda: ts.FFT(1, norm="backward", centered=True),
        lambda: ts.Scalar(2 + 3j),
        lambda: ts.Diagonal([1.0, 2j], ("X",)),
        lambda: ts.Identity(("X",)),
        lambda: ts.Dense(np.arange(6.0).reshape(3, 2), ("M", "N"), ("N",), ("M",)),
        lambda: ts.FFT(1) @ ts.Scalar(1j) + ts.FFT(1),
    ],
)
def test_check_adjoint(make, device):
    A = make().to(device)
    for op in (A, A.H, A.N):
        result = ts.check_adjoint(op, device=device)
        assert result and result.error < 1e-12 and float(result) == result.error and f"{result:.1f}" == "0.0"
        assert "holds" in repr(result) and result < 1e-12 and not result > 1e-12


@pytest.mark.parametrize("dtype", ["complex128", "complex64", "float64", "float32", "float16"])
def test_check_adjoint_sees_a_wrong_one(dtype):
    right = ts.SimpleLinop(lambda x: 2 * x, lambda y: 2 * y, ishape=("X",))
    wrong = ts.SimpleLinop(lambda x: 2 * x, lambda y: 2.25 * y, ishape=("X",))
    assert ts.check_adjoint(right, (7,), dtype) and not ts.check_adjoint(wrong, (7,), dtype)
    assert ts.check_adjoint(wrong, (7,), dtype).error > 1e-3 and "fails" in repr(ts.check_adjoint(wrong, (7,), dtype))
    assert ts.check_adjoint(wrong, (7,), dtype, tolerance=100.0)
    nans = ts.SimpleLinop(lambda x: 2 * x, lambda y: ts.full_like(y, float("nan")), ishape=("X",))
    assert not ts.check_adjoint(nans, (7,), dtype)


def real_transform(n, wrong=False):
    """numpy.fft.rfft, with the adjoint of the real inner product."""

    def adjoint(y):
        half = np.ones(n // 2 + 1) / 2
        half[0] = 1
        if n % 2 == 0:
            half[-1] = 1
        return ts.asarray(np.fft.irfft(y.numpy() * (1 if wrong else half), n) * n)

    return ts.SimpleLinop(
        lambda x: ts.asarray(np.fft.rfft(x.numpy())), adjoint, ishape=("X",), oshape=("K",), dtype="complex64"
    )


@pytest.mark.parametrize("n", [6, 7])
def test_check_adjoint_from_real_to_complex(n, device):
    for norm in ("ortho", "backward", "forward"):
        F = ts.FFT(1, ("B",), (("X",), ("K",)), norm=norm, real=n)
        assert ts.check_adjoint(F, device=device) and ts.check_adjoint(F.H, device=device)
        assert ts.check_adjoint(F @ ts.Diagonal(np.arange(1.0, n + 1), ("B", "X")), (3, n))
    assert ts.check_adjoint(real_transform(n), shape=(n,)) and ts.check_adjoint(real_transform(n), (n,), "float32")
    assert not ts.check_adjoint(real_transform(n, wrong=True), shape=(n,))
    # Complex weights on real vectors: the imaginary part of the adjoint counts.
    D = ts.Diagonal(np.exp(1j * np.arange(n)), ("X",))
    assert ts.check_adjoint(D, (n,), "float64")
    half = ts.SimpleLinop(lambda x: x * D(ts.ones(n)), lambda y: y * D(ts.ones(n)), ishape=("X",), dtype="complex128")
    assert not ts.check_adjoint(half, (n,), "float64")


@pytest.mark.parametrize("n", [6, 7])
def test_adjoints_of_real_numbers_that_became_complex(n):
    """Re<y, Ax> = Re<A.H y, x> where a complex factor or term comes after a transform that gives real numbers."""
    F = ts.FFT(1, (), (("X",), ("K",)), "backward", real=n)
    x = np.arange(1.0, n + 1)
    y = np.exp(1j * x)
    for A in ((1 - 2j) * F.N, F.N + 1j * F.N, ts.Diagonal(y, F.N.oshape) @ F.N, ((1 - 2j) * F.N).H.H):
        assert ts.check_adjoint(A, (n,), "float64"), A
        assert np.allclose(np.asarray(A.N(x)), np.asarray(A.H(A(x))))
    half = np.ones(n // 2 + 1) + 1j
    assert ts.check_adjoint((1 - 2j) * F.H, half.shape, "complex128")
    B = ((1 - 2j) * F.N).H
    assert np.allclose(np.asarray(B(y)), np.asarray(F.N(((1 + 2j) * y).real)))
    assert "takes the real part" in str(B.plan(shape=(n,), dtype="complex128").explain())
    # Where no adjoint asks for it, complex numbers are refused as ever.
    for make in (lambda: F(y), lambda: F.N(y), lambda: F * 1j, lambda: F @ ts.Diagonal(y, ("X",))):
        with pytest.raises(ts.DTypeError, match="takes real numbers"):
            make()


def test_cg(device, rng):
    n = 12
    M = rng.standard_normal((n, n))
    M = M @ M.T + n * np.eye(n)
    b = rng.standard_normal(n)
    A = ts.Dense(on(device, M))
    seen = []
    r = ts.solve.cg(A, on(device, b), rtol=1e-12, maxiter=200, callback=lambda i: seen.append((i.number, i.residual)))
    assert r.converged and r.iterations == len(seen) and len(r.history) == r.iterations + 1 and r.reason
    assert np.allclose(r.x.numpy(), np.linalg.solve(M, b), atol=1e-9)
    r = ts.solve.cg(A, on(device, b), callback=lambda i: i.number < 3)
    assert r.iterations == 3 and not r.converged
    r = ts.solve.cg(A, on(device, b), x0=on(device, np.linalg.solve(M, b)), maxiter=5)
    assert np.allclose(r.x.numpy(), np.linalg.solve(M, b), atol=1e-6)
    with pytest.raises(ts.Error):
        ts.solve.cg(A, on(device, np.ones(n + 1)))


def test_names_can_be_assigned():
    A = ts.Dense(np.arange(6.0).reshape(2, 3), "MN", "N", "M")
    before, x = A.H, np.ones(3)
    A.ishape = ("X",)
    assert (A.ishape, A.oshape, A.H.oshape, A.N.ishape) == (("X",), ("M",), ("X",), ("X",))
    assert A.H.H is A and before.oshape == ("N",) and A(x).tolist() == [3, 12]
    A.oshape = ("Y",)
    assert (A.ishape, A.oshape) == (("X",), ("Y",))
    D = ts.Diagonal([1.0, 2.0], ("X",))
    D.oshape = ("Z",)  # a dim that passes has one name on both sides
    assert D.ishape == D.oshape == ("Z",)
    for names in (("X", "Y"), 3):
        with pytest.raises(ts.DimError):
            A.ishape = names
    assert A.ishape == ("X",)


def test_weights_are_shown_as_copies():
    w = np.array([[1.0, 2j], [3.0, 4.0], [0.5, 1.0]])
    D, M = ts.Diagonal(w, ("X", "Y")), ts.Dense(w, "MN", "N", "M")
    assert np.array_equal(D.weight.numpy(), w) and np.array_equal(D.H.weight.numpy(), w.conj())
    assert np.array_equal(D.N.weight.numpy(), abs(w) ** 2) and np.array_equal(M.H.weight.numpy(), w.conj())
    M.weight[0, 0] = D.weight[0, 0] = 99
    assert D.weight[0, 0] == 1 == M.weight[0, 0] and ts.Scalar(2j).H.weight == -2j
