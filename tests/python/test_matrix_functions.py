# SPDX-License-Identifier: Apache-2.0
"""Functions of matrices and LAPACK's further decompositions beside SciPy, and by what they must satisfy."""

import numpy as np
import pytest
import scipy.linalg as sl
from conftest import MAIN_DEVICE
from hypothesis import given
from hypothesis import strategies as st
from support import check, on, outcome, same_outcome, seeds

import tessera as ts

DTYPES = ["float64", "float32", "complex128", "complex64"]
EPS = {"float64": 1e-9, "float32": 2e-3, "complex128": 1e-9, "complex64": 2e-3}
on_lapack = pytest.mark.skipif(
    MAIN_DEVICE.startswith("cuda"), reason="LAPACK's alone, in host memory; the refusal is a test of its own"
)


def draw(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if "complex" in dtype else x.astype(dtype)


def near(got, want, tol):
    got = got.numpy() if isinstance(got, ts.Array) else got
    assert got.shape == want.shape and got.dtype == want.dtype, (got.dtype, want.dtype, got.shape, want.shape)
    if want.size:
        error = np.max(np.abs(got - want)) / max(1.0, np.max(np.abs(want)))
        assert error < tol, error


@given(seed=seeds, dtype=st.sampled_from(DTYPES), n=st.integers(0, 9), size=st.sampled_from([1e-3, 0.1, 1, 9]))
def test_expm(seed, dtype, n, size, main_device):
    rng = np.random.default_rng(seed)
    a = size * draw(rng, (n, n), dtype) / max(1, n) ** 0.5
    a = a.astype(dtype)
    near(ts.linalg.expm(on(main_device, a)), sl.expm(a).astype(dtype), EPS[dtype])
    stack = np.stack([a, 3 * a, 0 * a]).astype(dtype)
    near(ts.linalg.expm(on(main_device, stack)), sl.expm(stack).astype(dtype), EPS[dtype])


def test_expm_special(device):
    near(ts.linalg.expm(on(device, np.array([[0, 1], [0, 0]]))), np.array([[1.0, 1], [0, 1]]), 1e-15)
    assert np.isnan(ts.linalg.expm(on(device, np.full((2, 2), np.nan))).numpy()).all()
    # A triangle of very unlike sizes, where too many halvings lose all digits.
    near(ts.linalg.expm(on(device, np.array([[0.0, 1e6], [0, 0]]))), np.array([[1, 1e6], [0, 1]]), 1e-14)
    with pytest.raises(ValueError, match="square"):
        ts.linalg.expm(on(device, np.ones((2, 3))))


@on_lapack
@given(
    seed=seeds, dtype=st.sampled_from(DTYPES), n=st.integers(0, 8), kind=st.sampled_from(["positive", "any", "upper"])
)
def test_roots_and_logarithms(seed, dtype, n, kind, main_device):
    rng = np.random.default_rng(seed)
    a = draw(rng, (n, n), dtype)
    if kind == "positive":
        a = a @ a.conj().T + np.eye(n)
    elif kind == "upper":
        a = np.triu(a, 1) + np.diag(1 + rng.random(n))
    else:
        a = a + 0.3 * np.eye(n)
    a = a.astype(dtype)
    mine = on(main_device, a)
    root, log = ts.linalg.sqrtm(mine), ts.linalg.logm(mine)
    assert str(root.device) == main_device
    tol = 20 * EPS[dtype] * max(1.0, float(np.max(np.abs(root.numpy()), initial=0)) ** 2)
    for got, back in ((root, lambda x: x @ x), (log, sl.expm)):
        values = got.numpy()
        again = back(values.astype("complex128"))
        assert not (np.max(np.abs(again - a), initial=0) > tol * max(1, np.max(np.abs(a), initial=0)))
        complex_wanted = "complex" in dtype or (n and (np.linalg.eigvals(a.astype("complex128")).real < 0).any())
        if values.dtype.kind == "c":
            assert complex_wanted
    # Principal: eigenvalues of the root on the right, those of the logarithm within pi of the real line.
    if n:
        assert (np.linalg.eigvals(root.numpy()).real > -tol).all()
        assert (np.abs(np.linalg.eigvals(log.numpy()).imag) <= np.pi + tol).all()
    if n and kind != "any" and "64" in dtype.replace("complex64", ""):
        near(root, sl.sqrtm(a).astype(root.numpy().dtype), 1e-8)
        near(log, sl.logm(a).astype(log.numpy().dtype), 1e-7)


@on_lapack
def test_singular_roots(device):
    check(ts.linalg.sqrtm(on(device, np.zeros((3, 3)))), np.zeros((3, 3)))
    for name, a in (("sqrtm", [[0.0, 1.0], [0.0, 0.0]]), ("logm", [[1.0, 1.0], [1.0, 1.0]]), ("logm", [[0.0]])):
        kind, *rest = outcome(lambda name=name, a=a: getattr(ts.linalg, name)(on(device, np.array(a))))
        finite_and_wrong = kind == "value" and name == "sqrtm"
        assert not finite_and_wrong, rest


@on_lapack
@given(seed=seeds, dtype=st.sampled_from([*DTYPES, "int32"]), n=st.integers(0, 9), complex_=st.booleans())
def test_schur(seed, dtype, n, complex_, main_device):
    rng = np.random.default_rng(seed)
    a = np.round(10 * rng.standard_normal((2, n, n))).astype(dtype) if dtype == "int32" else draw(rng, (2, n, n), dtype)
    T, Z = ts.linalg.schur(on(main_device, a), "complex" if complex_ else "real")
    expected = np.result_type(a.dtype, np.float64) if dtype == "int32" else a.dtype
    expected = np.result_type(expected, np.complex64) if complex_ else expected
    t, z = T.numpy(), Z.numpy()
    assert t.dtype == z.dtype == expected and t.shape == a.shape
    tol = EPS[expected.name]
    assert not (np.max(np.abs(z @ t @ z.conj().swapaxes(1, 2) - a), initial=0) > tol * 10)
    assert not (np.max(np.abs(z @ z.conj().swapaxes(1, 2) - np.eye(n)), initial=0) > tol)
    below = np.tril(t, -1 if expected.kind == "c" else -2)
    assert not below.any()


@on_lapack
@given(seed=seeds, dtype=st.sampled_from(DTYPES), n=st.integers(0, 9), lower=st.booleans(), data=st.data())
def test_ldl(seed, dtype, n, lower, data, main_device):
    rng = np.random.default_rng(seed)
    hermitian = data.draw(st.booleans())
    a = draw(rng, (n, n), dtype) * rng.choice([0, 1], (n, n))
    a = a + (a.conj() if hermitian else a).T
    if data.draw(st.booleans()):
        np.fill_diagonal(a, 0)  # blocks of two
    junk = np.triu(np.full((n, n), 7), 1) if lower else np.tril(np.full((n, n), 7), -1)
    given_half = (np.tril(a) if lower else np.triu(a)) + junk
    lu, d, perm = ts.linalg.ldl(on(main_device, given_half.astype(dtype)), lower, hermitian)
    u, m = lu.numpy(), d.numpy()
    back = u @ m @ (u.conj() if hermitian else u).T
    assert not (np.max(np.abs(back - a), initial=0) > EPS[dtype] * 10)
    triangle = u[perm.numpy()]
    assert not (np.triu(triangle, 1) if lower else np.tril(triangle, -1)).any()
    assert (np.diagonal(triangle) == 1).all()
    assert not np.triu(m, 2).any() and not np.tril(m, -2).any()
    if n:
        expected = sl.ldl(given_half.astype(dtype), lower, hermitian)
        for got, want in zip((lu, d), expected, strict=False):
            near(got, want, EPS[dtype])
        assert np.array_equal(perm.numpy(), expected[2])


@on_lapack
@given(seed=seeds, dtype=st.sampled_from(DTYPES), n=st.integers(1, 12), data=st.data())
def test_banded(seed, dtype, n, data, main_device):
    rng = np.random.default_rng(seed)
    below, above = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    ab = draw(rng, (below + above + 1, n), dtype)
    ab[above] += 4
    b = draw(rng, data.draw(st.sampled_from([(n,), (n, 2), (n, 0)])), dtype)
    tol = EPS[dtype] * 100
    if below < n and above < n:
        got = ts.linalg.solve_banded((below, above), on(main_device, ab), on(main_device, b))
        near(got, sl.solve_banded((below, above), ab, b) if b.size else b, tol)
    lower = data.draw(st.booleans())
    half = draw(rng, (min(n, 3), n), dtype) / 9
    half[0 if lower else -1] = 4
    got = ts.linalg.solveh_banded(on(main_device, half), on(main_device, b), lower)
    near(got, sl.solveh_banded(half, b, lower=lower) if b.size else b, tol)


def refused(calls):
    for call in calls:
        with pytest.raises(ValueError):
            call()


def test_wrong_shapes(device):  # also where there is no kernel
    ones, four = on(device, np.ones((3, 4))), on(device, np.ones(4))
    refused(
        [
            lambda: ts.linalg.solve_banded((1, 0), ones, four),
            lambda: ts.linalg.solve_banded((1, 1), ones, on(device, np.ones(3))),
            lambda: ts.linalg.solve_banded((1, 1), four, four),
            lambda: ts.linalg.solveh_banded(four, four),
            lambda: ts.linalg.solveh_banded(ones[:0], four),
            lambda: ts.linalg.solveh_banded(ones, on(device, np.ones(3))),
            lambda: ts.linalg.schur(ones),
            lambda: ts.linalg.schur(ones[:, :3], "both"),
            lambda: ts.linalg.ldl(ones),
            lambda: ts.linalg.sqrtm(ones),
            lambda: ts.linalg.logm(ones),
            lambda: ts.linalg.eig(on(device, np.eye(2)), b=on(device, np.eye(3))),
            lambda: ts.linalg.eigh(on(device, np.eye(2)), b=on(device, -np.eye(2))),
        ],
    )


@on_lapack
def test_wrong_numbers(device):
    ones, four = on(device, np.ones((3, 4))), on(device, np.ones(4))
    infinite = on(device, np.full((2, 2), np.inf))
    refused(
        [
            lambda: ts.linalg.solve_banded((1, 1), 0 * ones, four),
            lambda: ts.linalg.solveh_banded(-1.0 * ones, four),
            lambda: ts.linalg.solveh_banded(ones * np.nan, four),
            lambda: ts.linalg.schur(infinite),
            lambda: ts.linalg.ldl(infinite),
        ],
    )
    for who in ("sqrtm", "logm"):  # which stand on schur, and speak for themselves
        with pytest.raises(ts.LinAlgError, match=f"^{who}: .*infs or NaNs"):
            getattr(ts.linalg, who)(infinite)


@pytest.mark.skipif(not MAIN_DEVICE.startswith("cuda"), reason="there is a kernel here")
@pytest.mark.parametrize("dtype", [*DTYPES, "int32"])
def test_cuda_refuses_what_lapack_alone_has(dtype, main_device):
    """Nothing goes to the host and back in silence: the sentence says who has no kernel, where, and what to do."""
    a, b = on(main_device, np.eye(3, dtype=dtype)), on(main_device, np.ones(3, dtype=dtype))
    calls = {
        "schur": lambda: ts.linalg.schur(a),
        "ldl": lambda: ts.linalg.ldl(a),
        "solve_banded": lambda: ts.linalg.solve_banded((1, 1), a, b),
        "solveh_banded": lambda: ts.linalg.solveh_banded(a, b),
        "sqrtm: schur": lambda: ts.linalg.sqrtm(a),
        "logm: schur": lambda: ts.linalg.logm(a),
        "eig of a pair": lambda: ts.linalg.eig(a, b=a),
    }
    for who, call in calls.items():
        with pytest.raises(ts.NotAvailable, match=f"^{who}: no kernel on {main_device}; move the arrays"):
            call()
    assert str(ts.linalg.schur(a.to("cpu")).T.device) == "cpu"


@on_lapack
@given(seed=seeds, dtype=st.sampled_from(DTYPES), n=st.integers(1, 8))
def test_pairs(seed, dtype, n, main_device):
    rng = np.random.default_rng(seed)
    a, b = draw(rng, (n, n), dtype), draw(rng, (n, n), dtype)
    tol = EPS[dtype] * 100
    w, v, left = ts.linalg.eig(on(main_device, a), b=on(main_device, b), left=True)
    w, v, left = w.numpy(), v.numpy(), left.numpy()
    assert w.dtype == v.dtype == np.result_type(dtype, np.complex64)
    scale = max(1.0, float(np.max(np.abs(w))))
    assert not (np.max(np.abs(a @ v - b @ v * w)) > tol * scale)
    assert not (np.max(np.abs(left.conj().T @ a - (left.conj().T @ b) * w[:, None])) > tol * scale)
    assert np.allclose(np.linalg.norm(v, axis=0), 1, atol=tol)


@given(seed=seeds, dtype=st.sampled_from(DTYPES), n=st.integers(1, 8), lower=st.booleans())
def test_positive_pairs(seed, dtype, n, lower, main_device):
    rng = np.random.default_rng(seed)
    a, b = draw(rng, (n, n), dtype), draw(rng, (n, n), dtype)
    tol = EPS[dtype] * 100
    a, b = a + a.conj().T, b @ b.conj().T + np.eye(n)
    triangle = np.tril if lower else np.triu
    w, v = ts.linalg.eigh(on(main_device, triangle(a).astype(dtype)), "L" if lower else "U", b=on(main_device, b))
    near(w, sl.eigh(a, b)[0].astype(w.numpy().dtype), tol)
    v = v.numpy()
    assert not (np.max(np.abs(a @ v - b @ v * w.numpy())) > tol * 10)
    assert not (np.max(np.abs(v.conj().T @ b @ v - np.eye(n))) > tol)


@on_lapack
def test_singular_pair(device):
    w = ts.linalg.eig(on(device, np.eye(2)), b=on(device, np.diag([1.0, 0.0]))).eigenvalues.numpy()
    assert np.isinf(w).sum() == 1 and np.isclose(w[np.isfinite(w)], 1).all()


@given(seed=seeds, data=st.data())
def test_multi_dot(seed, data, main_device):
    rng = np.random.default_rng(seed)
    sizes = data.draw(st.lists(st.integers(0, 5), min_size=2, max_size=6))
    parts = [draw(rng, shape, "float64") for shape in zip(sizes, sizes[1:], strict=False)]
    if data.draw(st.booleans()) and len(parts) > 1:
        parts[0] = parts[0][0] if sizes[0] else parts[0]
    if data.draw(st.booleans()) and len(parts) > 1:
        parts[-1] = parts[-1][:, 0] if sizes[-1] else parts[-1]
    mine = [on(main_device, p) for p in parts]

    def compare(got, want):
        check(got, want, tol=1e-12)

    same_outcome(lambda: ts.linalg.multi_dot(mine), lambda: np.linalg.multi_dot(parts), compare, text=False)
    same_outcome(lambda: ts.linalg.multi_dot([*mine, mine[0]]), lambda: np.linalg.multi_dot([*parts, parts[0]]),
                 compare, text=False)  # fmt: skip


@given(seed=seeds, dtype=st.sampled_from(DTYPES), data=st.data())
def test_tensors(seed, dtype, data, main_device):
    rng = np.random.default_rng(seed)
    shape, b, axes = data.draw(
        st.sampled_from(
            [((2, 3, 6), (2, 3), None), ((2, 3, 3, 2), (2, 3), None), ((6, 2, 3), (2, 3), (0,)), ((2, 3), (2,), None)]
        )
    )
    a, b = draw(rng, shape, dtype), draw(rng, b, dtype)

    def compare(got, want):
        check(got, want, tol=EPS[dtype] * 100)

    same_outcome(
        lambda: ts.linalg.tensorsolve(on(main_device, a), on(main_device, b), axes),
        lambda: np.linalg.tensorsolve(a, b, axes),
        compare,
        text=False,
    )
    for ind in (0, 1, 2):
        same_outcome(
            lambda ind=ind: ts.linalg.tensorinv(on(main_device, a), ind),
            lambda ind=ind: np.linalg.tensorinv(a, ind),
            compare,
            text=False,
        )
