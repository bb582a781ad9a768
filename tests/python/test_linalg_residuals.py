# SPDX-License-Identifier: Apache-2.0
"""Solves, inverses, determinants, least squares and spectra of matrices of every kind (graded, triangular, singular,
badly scaled, stacked), judged by their residuals: random cases by number.

``TESSERA_CASES=20000`` takes so many with up to 200 rows (some ten a second), ``TESSERA_CASE=123`` that one alone."""

import os

import numpy as np
import pytest

import tessera as ts

pytestmark = pytest.mark.filterwarnings("ignore")
LONG = "TESSERA_CASES" in os.environ
CASES = int(os.environ.get("TESSERA_CASES", "500"))
BLOCK = 100
MOST = 200 if LONG else 70
DTYPES = ["float64", "float64", "float32", "complex128", "complex64"]


def random(rng, m, n, dtype):
    a = rng.standard_normal((m, n))
    if dtype[0] == "c":
        a = a + 1j * rng.standard_normal((m, n))
    return a


def grades(rng, n, dtype):
    """Powers of two over many decades, in any order."""
    most = 30 if dtype in ("float32", "complex64") else 200
    return 2.0 ** rng.integers(-most // 2, most // 2, n)


def general(rng, n, dtype):
    return random(rng, n, n, dtype)


def upper(rng, n, dtype):
    return np.triu(random(rng, n, n, dtype))


def lower(rng, n, dtype):
    return np.tril(random(rng, n, n, dtype))


def graded_rows(rng, n, dtype):
    return grades(rng, n, dtype)[:, None] * random(rng, n, n, dtype)


def graded_columns(rng, n, dtype):
    return random(rng, n, n, dtype) * grades(rng, n, dtype)


def graded_triangle(rng, n, dtype):
    a = graded_columns(rng, n, dtype) if rng.random() < 0.5 else graded_rows(rng, n, dtype)
    return np.triu(a) if rng.random() < 0.5 else np.tril(a)


def hermitian(rng, n, dtype):
    a = random(rng, n, n, dtype)
    return a + a.conj().T


def skew(rng, n, dtype):
    a = random(rng, n, n, "float64")
    return a - a.T


def orthogonal(rng, n, dtype):
    return np.linalg.qr(random(rng, n, n, dtype))[0]


def tiny(rng, n, dtype):
    return random(rng, n, n, dtype) * float(np.finfo(dtype).tiny) * 16


def huge(rng, n, dtype):
    return random(rng, n, n, dtype) * (float(np.finfo(dtype).max) / (64 * n))


def whole(rng, n, dtype):
    return rng.integers(-9, 10, (n, n)).astype(float)


def wilkinson(rng, n, dtype):
    """The growth of elimination by rows; harmless where columns are exchanged, and by parts turned over."""
    a = np.eye(n) - np.tril(np.ones((n, n)), -1)
    a[:, -1] = 1
    return a + 1e-3 * rng.standard_normal((n, n))


def permuted_triangle(rng, n, dtype):
    return upper(rng, n, dtype)[rng.permutation(n)]


def deficient(rng, n, dtype):
    k = max(1, n // 2)
    return random(rng, n, k, dtype) @ random(rng, k, n, dtype)


def diagonal(rng, n, dtype):
    return np.diag(grades(rng, n, dtype) * rng.choice([-1.0, 1.0], n))


KINDS = [
    general,
    upper,
    lower,
    graded_rows,
    graded_columns,
    graded_triangle,
    hermitian,
    skew,
    orthogonal,
    tiny,
    huge,
    whole,
    wilkinson,
    permuted_triangle,
    deficient,
    diagonal,
]
TRIANGLES = (upper, lower, graded_triangle, diagonal)


def size(rng):
    if rng.random() < 0.3:
        return int(rng.integers(1, 17))
    return int(rng.integers(1, MOST + 1))


def formed(rng, a, kind):
    """The same numbers as an array, or as a matrix of a form that they have."""
    if a.ndim != 2 or rng.random() < 0.5:
        return a
    if kind in TRIANGLES and rng.random() < 0.7:
        low = not np.triu(a, 1).any()
        return ts.matrix.Triangular(a, lower=low)
    if kind is diagonal:
        return ts.matrix.Diagonal(np.diag(a).copy())
    if kind is skew:
        return ts.matrix.AntiSymmetric(a)
    if kind is hermitian and np.isrealobj(a):
        return ts.matrix.Symmetric(a)
    return ts.matrix.Dense(a)


def eps(a):
    return float(np.finfo(a.dtype).eps)


def length(x):
    """The largest number."""
    return float(np.abs(x).max(initial=0))


def normwise(residual, *sizes):
    """How large a residual is beside what was added up, 0 / 0 being 0; NaN and infinities stay."""
    with np.errstate(all="ignore"):
        top, below = np.abs(residual), sum(sizes)
        return float(np.where(top == 0, 0.0, top / below).max(initial=0))


def below(error, bound, text):
    assert error <= bound, f"{text}: {error:.3g} > {bound:.3g}"


def wide(x):
    x = np.asarray(x)
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


def solved(a, x, b):
    """The backward error of each row: what LU with exchanges of rows and substitution keep small."""
    a, x, b = wide(a), wide(x), wide(b)
    return normwise(b - a @ x, np.abs(a) @ np.abs(x) + np.abs(b))


def check_solve(rng, a, kind, given):
    n, columns = a.shape[0], int(rng.integers(1, 4))
    b = random(rng, n, columns, str(a.dtype)).astype(a.dtype)
    if rng.random() < 0.4:
        b = b[:, 0]
    try:
        reference = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        with pytest.raises(ts.LinAlgError):
            ts.linalg.solve(given, b)
        return
    try:
        x = ts.linalg.solve(given, b).numpy()
    except ts.LinAlgError:
        assert kind is deficient or (kind is skew and n % 2), "called singular"
        return
    assert x.dtype == a.dtype and x.shape == b.shape
    if not np.isfinite(reference).all() or not np.isfinite(x).all():
        assert kind in (
            tiny,
            huge,
            graded_rows,
            graded_columns,
            graded_triangle,
            upper,
            lower,
            deficient,
            permuted_triangle,
        )
        return
    beside = 4.0 if kind in TRIANGLES else 64.0
    bound = beside * n * eps(a)
    if kind not in TRIANGLES:
        bound = max(bound, 30 * solved(a, reference, b))
    below(solved(a, x, b), bound, "row-wise backward error of solve")


def check_inverse(rng, a, kind, given):
    n = a.shape[0]
    try:
        reference = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        try:  # whether a last pivot is zero or rounding is left to the order of sums
            x = np.asarray(ts.linalg.inverse(given))
        except ts.LinAlgError:
            return
        largest = np.linalg.norm(x, 2) * np.linalg.norm(a, 2)
        assert not np.isfinite(x).all() or largest * eps(a) * n > 1e-3, "NumPy calls it singular"
        return
    try:
        x = np.asarray(ts.linalg.inverse(given))
    except ts.LinAlgError:
        assert kind is deficient or (kind is skew and n % 2), "called singular"
        return
    assert x.dtype == a.dtype
    if kind is skew and n % 2:  # singular, which is not always seen
        return
    if not np.isfinite(reference).all() or not np.isfinite(x).all():
        return

    def one_sided(a, y):
        return normwise(a @ y - np.eye(n), np.abs(a) @ np.abs(y))

    def residual(y):
        # Elimination keeps the residual of one side small, which one being a matter of the order of its steps.
        return min(one_sided(wide(a), wide(y)), one_sided(wide(y), wide(a)))

    bound = max((16 if kind in TRIANGLES else 64) * n * eps(a), 30 * residual(reference))
    below(residual(x), bound, "residual of inverse")
    if kind in TRIANGLES:
        assert not x[a == 0].any() or not np.all(np.diag(a)), "another half"


def exact_determinant(a):
    """By elimination in long double, as a sign and a logarithm."""
    m = wide(a).copy()
    sign, log = m.dtype.type(1), np.longdouble(0)
    for j in range(len(m)):
        p = j + int(np.abs(m[j:, j]).argmax())
        if m[p, j] == 0:
            return m.dtype.type(0), -np.inf
        if p != j:
            m[[j, p]] = m[[p, j]]
            sign = -sign
        sign = sign * m[j, j] / abs(m[j, j])
        log = log + np.log(abs(m[j, j]))
        m[j + 1 :, j:] -= np.outer(m[j + 1 :, j] / m[j, j], m[j, j:])
    return sign, log


def check_determinant(rng, a, kind, given):
    n = a.shape[0]
    got = ts.linalg.slogdet(given)
    det = np.asarray(ts.linalg.det(given))
    if kind in TRIANGLES:
        d = wide(np.diag(a))
        with np.errstate(all="ignore"):
            sign, log = np.prod(d / np.abs(d)), np.log(np.abs(d)).sum()
        bound = 4 * n * eps(a)
    else:
        sign, log = exact_determinant(a)
        # relative to what row and column scaling leave, which pivots do not see
        scaled = a / np.abs(a).max(0, initial=0, keepdims=True).clip(1e-300)
        scaled = scaled / np.abs(scaled).max(1, keepdims=True).clip(1e-300)
        condition = np.linalg.cond(scaled.astype(complex if a.dtype.kind == "c" else float))
        bound = 64 * n * eps(a) * condition
    if not bound < 0.1:
        return
    below(abs(np.asarray(got.sign) - sign), bound, "sign of slogdet")
    below(
        abs(float(got.logabsdet) - float(log)),
        bound + 8 * eps(a) * (abs(float(log)) + n * abs(np.log(length(a)))),
        "logarithm of slogdet",
    )
    top = np.log(float(np.finfo(a.dtype).max))
    if abs(float(log)) < min(0.9 * top, 600):
        want = complex(sign) * np.exp(float(log))
        below(abs(complex(det) - want), (bound + 64 * np.finfo(float).eps * abs(float(log))) * abs(want), "det")


def check_lstsq(rng, a, kind, given):
    m, n = a.shape[0], int(rng.integers(1, a.shape[0] + 1))
    tall = a[:, :n] if rng.random() < 0.5 else a[:n]
    b = random(rng, tall.shape[0], 2, str(a.dtype)).astype(a.dtype)
    s = np.linalg.svd(tall, compute_uv=False)
    if s[0] == 0 or not np.isfinite(s).all() or not np.isfinite(s[0] * s[0]) or s[0] < 1e-15 * 2:
        return
    got = ts.linalg.lstsq(tall if not isinstance(given, ts.matrix.AnyMatrix) else ts.matrix.Dense(tall), b)
    cut = s[0] * eps(a) * max(tall.shape)
    sure = not ((s > cut / 8) & (s < cut * 8)).any()
    x = wide(got.x.numpy())
    below(normwise(np.asarray(got.s) - s, 64 * max(m, n) * eps(a) * s[0]), 1, "singular values of lstsq")
    if not sure:
        return
    assert got.rank == int((s > cut).sum())
    least = s[s > cut].min()
    residual = wide(b) - wide(tall) @ x
    scale = s[0] * (s[0] * length(x) + length(b)) * max(m, n)
    below(length(wide(tall).conj().T @ residual), 64 * scale * eps(a) * s[0] / least, "orthogonality of lstsq")
    if got.rank < n:  # the shortest solution has nothing in the null space
        _, _, vh = np.linalg.svd(tall)
        below(
            length(wide(vh[got.rank :]) @ x),
            640 * max(m, n) * eps(a) * s[0] / least * max(length(x), 1e-300),
            "length of lstsq",
        )


def check_eig(rng, a, kind, given):
    n = a.shape[0]
    w, v = (np.asarray(part) for part in ts.linalg.eig(given))
    values = np.asarray(ts.linalg.eigvals(given))
    top = length(a)
    if not np.isfinite(top * n):
        return
    bound = 64 * n * eps(a) * max(np.linalg.norm(a.astype(complex) / (top or 1)), 1e-300)
    scaled = wide(a) / (top or 1)

    def residual(w, v):
        return length(scaled @ wide(v) - wide(v) * (wide(w) / (top or 1)))

    below(residual(w, v), max(bound, 30 * residual(*np.linalg.eig(a))), "residual of eig")
    below(length(np.abs(np.linalg.norm(v, axis=0) - 1)), 64 * n * eps(a), "lengths of eigenvectors")
    if kind in TRIANGLES:
        key = lambda z: (round(float(z.real), 3), round(float(z.imag), 3))  # noqa: E731
        assert sorted(map(key, np.diag(a) / (top or 1))) == sorted(map(key, values / (top or 1))), (
            "values of a triangle"
        )
    if kind is skew:
        assert not values.real.any() and length(np.sort(values.imag) + np.sort(values.imag)[::-1]) <= bound * top
    if kind is hermitian:
        assert not values.imag.any()
        below(length(np.sort(values.real) - np.linalg.eigvalsh(a)), 8 * bound * top, "values of a Hermitian matrix")


def check_eigh(rng, a, kind, given):
    h = np.tril(a) + np.tril(a, -1).conj().T
    if np.iscomplexobj(h):
        h = h - 1j * np.diag(np.diag(h).imag)
    top = length(h)
    if not np.isfinite(top * len(h)):
        return
    w, v = (
        np.asarray(part)
        for part in ts.linalg.eigh(h if not isinstance(given, ts.matrix.AnyMatrix) else ts.matrix.Dense(h))
    )
    n, scaled = len(h), wide(h) / (top or 1)
    bound = 64 * n * eps(a) * max(1e-300, np.linalg.norm(scaled.astype(complex)))
    below(length(scaled @ wide(v) - wide(v) * (wide(w) / (top or 1))), bound, "residual of eigh")
    below(length(v.conj().T @ v - np.eye(n)), 64 * n * eps(a), "orthogonality of eigh")
    assert (np.diff(w) >= 0).all()


def check_svd(rng, a, kind, given):
    n = int(rng.integers(1, a.shape[0] + 1))
    part = a[:, :n]
    top = length(part)
    if not np.isfinite(top * len(a)):
        return
    full = rng.random() < 0.5
    given = ts.matrix.Dense(part) if isinstance(given, ts.matrix.AnyMatrix) else part
    u, s, vh = (np.asarray(x) for x in ts.linalg.svd(given, full_matrices=full))
    bound = 64 * len(a) * eps(a)
    back = (wide(u[:, :n]) * (wide(s) / (top or 1))) @ wide(vh[: len(s)])
    below(
        length(back - wide(part) / (top or 1)), bound * max(1, np.linalg.norm(part.astype(complex) / (top or 1))), "svd"
    )
    below(length(u.conj().T @ u - np.eye(u.shape[1])), bound, "u")
    below(length(vh @ vh.conj().T - np.eye(len(vh))), bound, "vh")
    assert (np.diff(s) <= 0).all() and (s >= 0).all()
    values = np.asarray(ts.linalg.svdvals(given))
    below(length(values - s), bound * s.max(initial=0), "svdvals")
    cut = s[0] * eps(a) * max(part.shape)
    if not ((s > cut / 8) & (s < cut * 8)).any():
        assert int(ts.linalg.matrix_rank(given)) == int((s > cut).sum())


def check_factors(rng, a, kind, given):
    top, n = length(a), a.shape[0]
    if not np.isfinite(top * n * n):
        return
    q, r = (np.asarray(x) for x in ts.linalg.qr(given))
    bound = 64 * n * eps(a)

    def lost(q, r):
        columns = np.linalg.norm(a.astype(complex) / (top or 1), axis=0) * (top or 1)
        return normwise(wide(q) @ wide(r) - wide(a), columns + np.finfo(a.dtype).tiny)

    below(lost(q, r), max(bound, 4 * lost(*np.linalg.qr(a))), "qr by columns")
    below(length(q.conj().T @ q - np.eye(n)), bound, "q")
    p, l, u = (np.asarray(x) for x in ts.linalg.lu(given))  # noqa: E741
    below(
        normwise(
            wide(p) @ (wide(l) @ wide(u)) - wide(a),
            wide(p) @ (np.abs(wide(l)) @ np.abs(wide(u))) + np.finfo(a.dtype).tiny,
        ),
        bound,
        "lu",
    )
    assert length(l) <= 1 + 8 * eps(a) * (2 if np.iscomplexobj(a) else 1) or np.iscomplexobj(a)
    h = (a / (top or 1)) @ (a / (top or 1)).conj().T
    h = h + np.eye(n, dtype=a.dtype) * length(h)
    if top and np.isfinite(length(h)):
        c = np.asarray(ts.linalg.cholesky(h))
        below(length(wide(c) @ wide(c).conj().T - wide(h)), bound * length(h), "cholesky")


CHECKS = [
    check_solve,
    check_inverse,
    check_determinant,
    check_lstsq,
    check_eig,
    check_eigh,
    check_svd,
    check_factors,
    check_solve,
    check_inverse,
]


def run_case(number):
    rng = np.random.default_rng([1848, number])
    check, kind = CHECKS[number % len(CHECKS)], KINDS[rng.integers(0, len(KINDS))]
    dtype, n = str(rng.choice(DTYPES)), size(rng)
    a = kind(rng, n, dtype)
    a = np.asarray(a.real if dtype[0] == "f" and np.iscomplexobj(a) else a).astype(dtype)
    given = formed(rng, a, kind)
    try:
        check(rng, a, kind, given)
    except Exception as error:
        what = f"case {number}, {check.__name__} of {kind.__name__} {n} {dtype} as {getattr(given, 'form', 'array')}"
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


@pytest.mark.parametrize("block", range((CASES + BLOCK - 1) // BLOCK))
def test_residuals(block):
    if "TESSERA_CASE" in os.environ:
        if block == 0:
            run_case(int(os.environ["TESSERA_CASE"]))
        return
    for number in range(block * BLOCK, min(CASES, (block + 1) * BLOCK)):
        run_case(number)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("n", [3, 7, 16, 17, 40, 90])
def test_singular_triangles_are_singular(rng, n, dtype):
    """Whole numbers with one zero on the diagonal, upper and lower, alone and in a stack beside others."""
    for low in (False, True):
        a = rng.integers(1, 9, (n, n)).astype(dtype)
        a = np.tril(a) if low else np.triu(a)
        place = int(rng.integers(0, n))
        a[place, place] = 0
        stack = np.stack([rng.integers(1, 9, (n, n)).astype(dtype) + 20 * np.eye(n, dtype=dtype), a, a.T])
        assert ts.linalg.det(a).item() == 0 and ts.linalg.slogdet(a).sign.item() == 0
        assert (ts.linalg.det(stack) == 0).tolist() == [False, True, True]
        for given in (a, stack, ts.matrix.Dense(a), ts.matrix.Triangular(a, lower=low)):
            with pytest.raises(ts.LinAlgError, match=r"(?i)singular"):
                ts.linalg.inverse(given)
            with pytest.raises(ts.LinAlgError, match=r"(?i)singular"):
                ts.linalg.solve(given, np.ones((n, 1)))


@pytest.mark.parametrize("n", [5, 16, 17, 60])
def test_triangles_in_stacks(rng, n, device):
    """Each matrix of a stack is treated as it would be alone; one matrix serves stacks of right sides."""
    full, up = rng.standard_normal((n, n)), np.triu(rng.standard_normal((n, n)))
    stack, b = np.stack([full, up, up.T, full.T, np.eye(n)]), rng.standard_normal((5, n, 3))
    there = ts.asarray(stack).to(device)
    for i in range(5):
        x = ts.linalg.solve(there, ts.asarray(b).to(device)).numpy()[i]
        below(solved(stack[i], x, b[i]), 300 * n * np.finfo(float).eps, "solve")
        y = ts.linalg.solve(there[i], ts.asarray(b).to(device)).numpy()
        for j in range(5):
            below(solved(stack[i], y[j], b[j]), 300 * n * np.finfo(float).eps, "solve")
    alone = [ts.linalg.inverse(there[i]).numpy() for i in range(5)]
    assert np.array_equal(ts.linalg.inverse(there).numpy(), np.stack(alone))
    assert not np.tril(alone[1], -1).any() and not np.triu(alone[2], 1).any()
    want = [np.prod(np.diag(a)) for a in (up, up.T)]
    np.testing.assert_allclose(ts.linalg.det(there).numpy()[1:3], want, rtol=1e-13)


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("n", [4, 20])
def test_what_is_not_finite_has_no_finite_answer(rng, n, special):
    a = rng.standard_normal((n + 3, n))
    a[1, 2] = special
    square = a[:n]
    for f, x in [
        (lambda m: ts.linalg.lstsq(m, np.ones(n + 3)).x, a),
        (ts.linalg.svd, a),
        (ts.linalg.svdvals, a),
        (ts.linalg.pinv, a),
        (ts.linalg.matrix_rank, a),
        (ts.linalg.eig, square),
        (ts.linalg.eigvals, square),
    ]:
        for given in (x, np.stack([np.ones_like(x), x]), ts.matrix.Dense(x)):
            with pytest.raises(ts.LinAlgError):
                f(given)
    for given in (square + square.T, ts.matrix.Symmetric(square + square.T, check=False)):
        try:
            values = np.asarray(ts.linalg.eigvalsh(given))
        except ts.LinAlgError:
            continue
        assert not np.isfinite(values).any()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 5), (3, 3), (20, 7)])
def test_lstsq_near_the_ends_of_the_range(rng, dtype, shape):
    """A scale changes neither the rank nor, but for its inverse, the solution: of arrays, stacks, forms and parts."""
    is_short = np.finfo(dtype).bits == 32
    for low_rank in (False, True):
        powers = (126, -105) if is_short else (1023, -960)  # exact, the rest of each number within the range
        ends = [2.0**p for p in powers]
        if low_rank:
            ends += [1e38, 1e-37] if is_short else [1e308, 1e-308]
        a = random(rng, *shape, dtype).astype(dtype)
        a = np.ones(shape, dtype) if low_rank else a / (2 * length(a))
        b = random(rng, shape[0], 2, dtype).astype(dtype)
        b = b / (2 * length(b))
        want = ts.linalg.lstsq(a, b)
        tol = 1e4 * eps(a) * length(want.x.numpy())
        for end in ends:
            far = a * a.dtype.type(end)
            forms = [far, ts.matrix.Dense(far), np.stack([far, far])]
            for given in forms:
                got = ts.linalg.lstsq(given, b)
                assert int(np.max(np.asarray(got.rank))) == int(want.rank)
                below(length(wide(got.x.numpy()) * end - wide(want.x.numpy())), tol, f"scale {end}")
            got = ts.dist.linalg.lstsq(ts.dist.array(far, split=0), ts.dist.array(b, split=0))
            assert int(got.rank) == int(want.rank)
            below(length(wide(got.x.numpy()) * end - wide(want.x.numpy())), tol, f"distributed, scale {end}")
            # right sides as large or small as the matrix, beside a matrix of ordinary numbers in the same stack
            got = ts.linalg.lstsq(np.stack([far, a]), np.stack([b * b.dtype.type(end) / 4, b]))
            below(length(wide(got.x.numpy()[0]) * 4 - wide(want.x.numpy())), tol, f"both of scale {end}")
            below(length(wide(got.x.numpy()[1]) - wide(want.x.numpy())), tol, f"beside scale {end}")
    assert not ts.linalg.lstsq(np.zeros(shape, dtype), b).x.numpy().any()


def test_lstsq_of_huge_equal_elements_is_that_of_numpy():
    got, want = (f(np.full((4, 2), 1e308), np.ones(4)) for f in (ts.linalg.lstsq, np.linalg.lstsq))
    assert got.rank == want[2] == 1
    np.testing.assert_allclose(got.x.numpy(), want[0], rtol=1e-13)
