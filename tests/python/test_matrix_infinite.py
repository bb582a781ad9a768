# SPDX-License-Identifier: Apache-2.0
"""Numbers that are not finite in packed matrices: the zeros that a form does not store stay zeros."""

import numpy as np
import pytest

import tessera as ts

M = ts.matrix
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def nonfinite(n, seed, special):
    """Numbers with a few that are not finite, near the diagonal and far from it."""
    a = np.random.default_rng(seed).integers(1, 9, (n, n)) / 8
    for i, j in [(0, 0), (1, 1), (3, 20), (33, 34), (40, 66), (69, 69), (5, 69)]:
        a[i, j] = special
    return a


def halves(n=70, special=np.inf, seed=3):
    a = nonfinite(n, seed, special)
    symmetric = np.triu(a) + np.triu(a, 1).T
    antisymmetric = np.triu(a, 1) - np.triu(a, 1).T
    return {
        "Triangular": (M.Triangular(np.triu(a)), np.triu(a), np.triu(np.ones((n, n), bool))),
        "Lower": (M.Triangular(a.T, lower=True, check=False), np.tril(a.T), np.tril(np.ones((n, n), bool))),
        "Strict": (M.Triangular(np.triu(a, 1), strict=True), np.triu(a, 1), np.triu(np.ones((n, n), bool), 1)),
        "Symmetric": (M.Symmetric(symmetric, check=False), symmetric, np.ones((n, n), bool)),
        "AntiSymmetric": (M.AntiSymmetric(antisymmetric, check=False), antisymmetric, ~np.eye(n, dtype=bool)),
    }


def same(got, want):
    np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_zeros_that_are_not_stored_meet_infinity(special):
    first, second = halves(special=special), halves(special=special, seed=4)
    for a, full_a, has_a in first.values():
        for b, full_b, has_b in second.values():
            for got, want, has in [
                (a + b, full_a + full_b, has_a | has_b),
                (a - b.T, full_a - full_b.T, has_a | has_b.T),
                (a * b, full_a * full_b, has_a & has_b),
                (a * b.T, full_a * full_b.T, has_a & has_b.T),
            ]:
                same(got, np.where(has, want, 0))
                # And so they stay in what is made of the result.
                if got.form in ("Triangular", "Symmetric"):
                    same(got.sum(), np.where(has, want, 0).sum())
                    same((got + got).numpy(), np.where(has, 2 * want, 0))


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_halves_times_infinite_diagonals_and_numbers(special):
    d = np.arange(1.0, 71)
    d[[0, 2, 35, 69]] = special
    for name, (a, full, has) in halves(special=2.0).items():
        if name not in ("Symmetric", "AntiSymmetric"):
            same(M.Diagonal(d) @ a, np.where(has, d[:, None] * full, 0))
            same(a @ M.Diagonal(d), np.where(has, full * d, 0))
        scaled = a * special
        assert scaled.form == a.form
        same(scaled, np.where(has, full * special, 0))
        same((scaled.T + a.T).numpy(), np.where(has.T, full.T * special + full.T, 0))
        small = (2.0**-700 * a).copy()  # two factors whose product is too large for one
        same((2.0**600 * (2.0**600 * small)).numpy(), 2.0**500 * full)


@pytest.mark.parametrize("place", [0, 33, 300, 599])
def test_infinity_reaches_the_rows_that_store_something(place, device):
    """However the triangle is cut into strips, with few columns and with many."""
    n = 600
    x = np.ones(n)
    x[place] = np.inf
    upper = M.Triangular(np.triu(np.ones((n, n)))).to(device)
    strict = M.Triangular(np.triu(np.ones((n, n)), 1), strict=True).to(device)
    bits = M.TriangularBit(np.triu(np.ones((n, n)), 1)).to(device)
    for columns in (None, 1, 3, 80):
        y = x if columns is None else np.repeat(x[:, None], columns, 1)
        for m, first in ((upper, 0), (strict, 1), (bits, 1)):
            got = np.asarray((m @ ts.asarray(y).to(device)).to("cpu"))
            count = n - first - np.arange(n)
            want = np.where(np.arange(n) + first <= place, np.inf, count)
            same(got, want if columns is None else np.repeat(want[:, None], columns, 1))
            back = np.asarray((ts.asarray(y.T).to(device) @ m).to("cpu"))
            want = np.where(np.arange(n) >= place + first, np.inf, np.arange(n) + 1 - first)
            same(back, want if columns is None else np.repeat(want[None], columns, 0))
    for m, first in ((upper, 0), (strict, 1)):
        square = np.asarray(m @ M.Triangular(np.triu(np.where(np.eye(n)[place] > 0, np.inf, 1.0) * np.ones((n, n)))))
        assert not np.tril(square, -1).any() and not np.isnan(square).any()
        assert np.isinf(square[: place + 1 - first, place]).all() and np.isfinite(np.delete(square, place, 1)).all()


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_symmetric_matrices_of_infinite_numbers(special):
    """Against all elements; sums, norms, products with vectors and matrices, the operator."""
    x = np.random.default_rng(6).integers(1, 9, 70) / 8
    panel = np.random.default_rng(7).integers(1, 9, (70, 5)) / 8
    for name in ("Symmetric", "AntiSymmetric"):
        a, full, _ = halves(special=special)[name]
        plain, plain_full, _ = halves(special=2.0)[name]
        A = ts.Matrix(a, ("N",), ("M",))
        for want, got in [
            (full @ x, [a @ ts.array(x), A(ts.array(x))]),
            (full.T @ x, [a.T @ ts.array(x), A.H(ts.array(x))]),
            (full @ panel, [a @ ts.array(panel), a @ M.Dense(panel)]),
            (panel.T @ full, [ts.array(panel.T) @ a]),
        ]:
            for y in got:
                np.testing.assert_allclose(np.asarray(y), want, rtol=1e-12)
        same(a.sum(), full.sum())
        same(ts.linalg.norm(a).item(), np.linalg.norm(full))
        # An infinite element of the vector meets every row, and no zero of a corner.
        far = np.where(np.arange(70) == 35, special, x)
        B = ts.Matrix(plain, ("N",), ("M",))
        for want, got in [
            (plain_full @ far, [plain @ ts.array(far), B(ts.array(far))]),
            (plain_full.T @ far, [plain.T @ ts.array(far), B.H(ts.array(far))]),
        ]:
            for y in got:
                np.testing.assert_allclose(np.asarray(y), want, rtol=1e-12)


def stored_product(full, has, x):
    """What a matrix gives of a vector or panel where only `has` is stored: sums over what is there, in NumPy."""
    terms = np.where(has[:, :, None], full[:, :, None] * x.reshape(len(x), -1)[None], 0)
    return terms.sum(1).reshape(full.shape[:1] + x.shape[1:])


def triangles(n, dtype):
    """name: (matrix, all its elements, where it stores them), in every way in which a triangle comes about."""
    a = (np.random.default_rng(n).integers(1, 9, (n, n)) / 8).astype(dtype)
    every = np.ones((n, n), bool)
    found = {
        "upper": (M.Triangular(np.triu(a)), np.triu(a), np.triu(every)),
        "lower": (M.Triangular(np.tril(a), lower=True), np.tril(a), np.tril(every)),
        "turned": (M.Triangular(np.triu(a)).T, np.triu(a).T, np.tril(every)),
        "strict": (M.Triangular(np.triu(a, 1), strict=True), np.triu(a, 1), np.triu(every, 1)),
        "strictly lower": (M.Triangular(np.triu(a, 1), strict=True).T, np.triu(a, 1).T, np.tril(every, -1)),
        "scaled": (-2.0 * M.Triangular(np.triu(a)), -2 * np.triu(a), np.triu(every)),
        "diagonal": (M.Diagonal(np.diag(a).copy()), np.diag(np.diag(a)), np.eye(n, dtype=bool)),
    }
    if dtype in (np.float32, np.float64):
        ones = np.triu(np.ones((n, n)), 1)
        found["bits"] = (M.TriangularBit(ones), ones, ones > 0)
        found["bits turned"] = (M.TriangularBit(ones).T, ones.T, ones.T > 0)
    return found


def panel_with_specials(n, special, dtype):
    """Columns with one at the beginning, at the end, somewhere, at several places, nowhere."""
    rng = np.random.default_rng(n)
    x = (rng.integers(1, 9, (n, 5)) / 8).astype(dtype)
    x[0, 0] = x[n - 1, 1] = x[n // 2, 2] = special
    x[rng.integers(0, n, 3), 3] = special
    return x


@pytest.mark.parametrize("n", [1, 5, 33, 70, 131])
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_operators_of_triangles_read_what_is_stored(n, special, device):
    """The operator, its adjoint and its normal, whole and cut along either dim, on vectors and panels."""
    for dtype in (np.float64, np.float32) if n < 70 else (np.float64,):
        x = panel_with_specials(n, special, dtype)
        for name, (m, full, has) in triangles(n, dtype).items():
            A = ts.Matrix(m, ("N", "C"), ("M", "C")).to(device)
            forward, back = stored_product(full, has, x), stored_product(full.T, has.T, x)
            both = stored_product(full.T, has.T, forward)
            for what, B, want in (("A", A, forward), ("A.H", A.H, back), ("A.N", A.N, both)):
                got = [(x[:, :1], want[:, :1], B), (x[:, 2:3], want[:, 2:3], B), (x, want, B)]
                for dim in sorted({str(d) for d in (*B.ishape, *B.oshape)} - {"C"}) if n > 1 else ():
                    spec = ts.BatchSpec({dim: max(1, n * 2 // 5)}, [str(device)])
                    got.append((x, want, ts.create_batched_linop(B, spec)))
                for given, expected, operator in got:
                    y = operator(ts.asarray(given.copy()).to(device)).to("cpu")
                    np.testing.assert_allclose(
                        np.asarray(y), expected, rtol=n * np.finfo(dtype).eps * 4, err_msg=f"{name} {what}"
                    )


@pytest.mark.parametrize("special", [np.inf, np.nan])
def test_complex_triangles_leave_far_rows_alone(special, device):
    """A product of complex infinities is what it may be; where none is met, it is as without them."""
    n, place = 70, 41
    rng = np.random.default_rng(5)
    a = np.triu(rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))
    x = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    bad = x.copy()
    bad[place] = special
    A = ts.Matrix(M.Triangular(a), ("N",), ("M",)).to(device)
    rows = np.arange(n)
    for B, full, met in ((A, a, rows <= place), (A.H, a.conj().T, rows >= place)):
        y = np.asarray(B(ts.asarray(bad).to(device)).to("cpu"))
        np.testing.assert_allclose(y[~met], (full @ x)[~met], rtol=1e-12)
        assert not np.isfinite(y[met]).any()
