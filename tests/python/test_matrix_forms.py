# SPDX-License-Identifier: Apache-2.0
"""Every form of matrix in every dtype and view under every operation equals the full array's: random cases by number.

``TESSERA_CASES=100000`` takes so many (a few hundred a second), ``TESSERA_CASE=123`` that one alone."""

import operator
import os
import pickle

import numpy as np
import pytest
from matrix_draw import (
    DTYPES,
    UNSIGNED,
    Drawn,
    conj,
    draw,
    epsilon,
    fits,
    in_kind,
    kind,
    largest,
    limits,
    numbers,
    numpy_of,
    rounded,
    scaled_dtype,
    times,
    word,
)

import tessera as ts

pytestmark = pytest.mark.filterwarnings("ignore")
CASES = int(os.environ.get("TESSERA_CASES", "1500"))
BLOCK = 300  # cases of one test
SCALARS = [2, -3, 0.5, 0.0, 1.0, 1j, np.inf, -np.inf, np.nan, 200, -1, 0, 2.0**40]
POWERS = [0, 1, 2, 3, 0.5, 2.0, 3.0, 1.5, -1, -0.5, 1j, 0.0]
ARITHMETIC = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
}
COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
REFUSED = (OverflowError, TypeError, ValueError)


def agree(got, want, dtype, tol, text):
    """got is want: whole numbers exactly, NaN and infinities where they belong, the rest within tol (of each element)."""
    assert got.shape == want.shape, text
    if kind(dtype) in "bi":
        assert got.tolist() == want.tolist(), text
        return
    finite = np.isfinite(want)
    if kind(dtype) == "c":  # which part of a complex number is not finite is not promised
        assert not np.isfinite(got[~finite]).any(), text
    else:
        assert np.array_equal(got[~finite], want[~finite], equal_nan=True), text
    wide = complex if kind(dtype) == "c" else float
    error = np.abs(got[finite].astype(wide) - want[finite].astype(wide))
    assert (error <= np.broadcast_to(tol, want.shape)[finite]).all(), f"{text}: {error.max(initial=0)}"


def same_as(matrix, want, dtype, text, tol=0.0):
    assert word(matrix.dtype) == dtype, f"{text}: {matrix.dtype}, expected {dtype}"
    agree(numpy_of(matrix), want, dtype, tol, text)


def refused(f, text):
    try:
        f()
    except REFUSED as error:
        assert str(error), text
    else:
        raise AssertionError(f"{text}: accepted")


def sizes(want, dtype):
    """The tolerance of one operation."""
    with np.errstate(all="ignore"):
        return 4 * epsilon(dtype) * np.abs(want.astype(complex)) + float(
            np.finfo("float32" if dtype == "bfloat16" else dtype).tiny
        )


# --- one matrix


def check_views(rng, d):
    same_as(d.matrix, d.full, d.dtype, d.text)
    same_as(d.matrix.T, d.full.T, d.dtype, d.text)
    same_as(d.matrix.H, conj(d.full).T, d.dtype, d.text)
    same_as(d.matrix.copy(), d.full, d.dtype, d.text)
    same_as(+d.matrix, d.full, d.dtype, d.text)
    again = pickle.loads(pickle.dumps(d.matrix))
    assert again.form == d.matrix.form
    same_as(again, d.full, d.dtype, d.text)
    assert str(d.matrix)
    for _ in range(3 if d.full.size else 0):
        i, j = (int(rng.integers(0, n)) for n in d.full.shape)
        got, want = d.matrix[i, j], d.full[i, j]
        assert np.array_equal(np.asarray(got).astype(np.asarray(want).dtype), want, equal_nan=kind(d.dtype) in "fc"), (
            d.text
        )
    if d.matrix.form in ("Bit", "TriangularBit") and d.dtype == "bool":
        same_as(~d.matrix, ~d.full, "bool", d.text)


def check_casts(rng, d):
    dtype = str(rng.choice(DTYPES))
    text = f"{d.text}.astype({dtype})"
    low_high = None if kind(dtype) != "i" else limits(dtype)
    # As whole numbers and bools, factors of 1 leave the Identity as it is.
    ones = d.matrix.form == "Identity" and d.text.startswith(("Identity", "1 *", "True *"))
    impossible = (kind(d.dtype) == "c" and kind(dtype) in "if" and not ones) or (
        d.matrix.form == "AntiSymmetric" and (dtype in UNSIGNED or dtype == "bool")
    )
    if impossible and dtype != d.dtype:
        return refused(lambda: d.matrix.astype(dtype), text)
    if kind(dtype) == "i" and kind(d.dtype) == "f":
        low, high = low_high
        if not all(np.isfinite(v) and low - 1 < v < high + 1 for v in d.full[d.has].astype(float)):
            return refused(lambda: d.matrix.astype(dtype), text)
        want = np.array([int(v) for v in d.full.flat], object).reshape(d.full.shape)
    else:
        want = in_kind(d.full.real if kind(d.dtype) == "c" and kind(dtype) in "if" else d.full, dtype)
        want = want.astype(int).astype(object) if kind(dtype) == "i" and want.dtype != object else want
        if kind(dtype) == "i" and not fits(want, dtype):
            return refused(lambda: d.matrix.astype(dtype), text)
    got = d.matrix.astype(dtype)
    same_as(got, want, dtype, text)
    if dtype == "bool":
        same_as(got + got, 2 * want.astype(int).astype(object), "int32", text + " twice")


def check_functions(rng, d):
    absolute = np.abs(d.full)
    if kind(d.dtype) == "i" and not fits(absolute, d.dtype):
        refused(lambda: abs(d.matrix), d.text)
    else:
        real = word(ts.zeros(1, dtype=d.dtype).real.dtype) if kind(d.dtype) == "c" else d.dtype
        same_as(
            abs(d.matrix),
            absolute,
            real,
            f"abs({d.text})",
            4 * epsilon(d.dtype) * np.where(np.isfinite(absolute.astype(float)), absolute, 0).astype(float),
        )
        if d.full.dtype != object:
            same_as(d.matrix.real, np.real(d.full), real, f"{d.text}.real")
        same_as(
            d.matrix.imag,
            in_kind(np.zeros(d.full.shape), real) if kind(d.dtype) != "c" else np.imag(d.full),
            real,
            f"{d.text}.imag",
        )
    assert d.matrix.all() == bool((d.full != 0).all()), d.text
    assert d.matrix.any() == bool((d.full != 0).any()), d.text


def summed(values):
    """The sum of numbers, infinities in any order."""
    with np.errstate(all="ignore"):
        return values.sum(dtype=complex if values.dtype.kind == "c" else float)


def check_sums(rng, d):
    stored = d.full
    text = f"sum of {d.text}"
    if kind(d.dtype) in "bi":
        want = int(stored.astype(object).sum()) if stored.size else 0
        low, high = (0, 2**64 - 1) if d.dtype in UNSIGNED else (-(2**63), 2**63 - 1)
        if not low <= want <= high:
            refused(d.matrix.sum, text)
        else:
            assert d.matrix.sum() == want, text
    else:
        got, want = np.asarray(d.matrix.sum()), np.asarray(summed(stored))
        with np.errstate(all="ignore"):
            size = np.abs(stored[np.isfinite(stored)].astype(complex)).sum()
        agree(
            got[None],
            want[None],
            d.dtype,
            1e3 * epsilon("float32" if d.dtype in ("float16", "bfloat16") else d.dtype) * size,
            text,
        )
    norm = d.matrix.norm()
    with np.errstate(all="ignore"):
        wide = stored.astype(complex)
        want = np.sqrt((wide.real**2 + wide.imag**2).sum())
    loose = kind(d.dtype) == "c" and not np.isfinite(want) and not np.isfinite(norm)
    assert loose or np.array_equal(norm, want, equal_nan=True) or abs(norm - want) <= 1e-12 * want, (
        f"norm of {d.text}: {norm} {want}"
    )
    if stored.shape[0] == stored.shape[1] and kind(d.dtype) in "bi":
        want = int(np.trace(stored.astype(object))) if stored.size else 0
        if limits("int64")[0] <= want <= limits("int64")[1]:
            assert d.matrix.trace() == want, f"trace of {d.text}"


def check_numbers(rng, d):
    """With a number on either side."""
    v = SCALARS[rng.integers(0, len(SCALARS))]
    if kind(d.dtype) == "i" and isinstance(v, int) and rng.random() < 0.5:
        v = int(rng.choice([2, -3, 0, 1]))
    name = str(rng.choice(["multiply", "add", "subtract", "divide"]))
    first = rng.random() < 0.5
    text = f"{v} {name} {d.text}" if first else f"{d.text} {name} {v}"
    if name == "multiply":
        made = times(d, v)
        if made is None:
            return refused(lambda: (v * d.matrix).numpy(), text)
        tol = 0.0 if kind(made[0]) in "bi" else sizes(made[1], made[0])
        return same_as(v * d.matrix if first else d.matrix * v, made[1], made[0], text, tol)
    dtype = scaled_dtype(d.dtype, v)
    if name == "divide" and isinstance(v, int):
        dtype = scaled_dtype(d.dtype, 1.0)
    elif d.dtype == "bool" and isinstance(v, int):
        dtype = "int32"
    f = ARITHMETIC[name]
    run = lambda: f(v, d.matrix) if first else f(d.matrix, v)  # noqa: E731
    if kind(dtype) == "i":
        if not fits(np.array([v], object), dtype):
            return refused(run, text)
        x = in_kind(d.full, dtype)
        want = f(v, x) if first else f(x, v)
        if not fits(np.asarray(want, object), dtype):
            return refused(run, text)
        return same_as(run(), want, dtype, text)
    x = in_kind(d.full, dtype)
    with np.errstate(all="ignore"):
        number = rounded(np.asarray(v), dtype)
        want = rounded(f(number, x) if first else f(x, number), dtype)
        got, tol = numpy_of(run()), 4 * sizes(want, dtype)
    assert word(run().dtype) == dtype, text
    if name == "divide":  # by zeros, whose sign no form promises
        got, want = np.where(np.isinf(want), np.abs(got), got), np.where(np.isinf(want), np.abs(want), want)
    agree(got, want, dtype, tol, text)


def check_powers(rng, d):
    v = POWERS[rng.integers(0, len(POWERS))]
    text = f"{d.text} ** {v}"
    whole = isinstance(v, int) and kind(d.dtype) in "bi"
    if whole and v < 0:
        return refused(lambda: d.matrix**v, text)
    dtype = scaled_dtype(d.dtype, v)
    if whole:
        if d.dtype == "bool":
            return same_as(d.matrix**v, d.full if v else np.ones_like(d.full), "bool", text)
        want = d.full**v
        if not fits(np.asarray(want, object), dtype):
            return refused(lambda: d.matrix**v, text)
        return same_as(d.matrix**v, want, dtype, text)
    x = in_kind(d.full, dtype)
    with np.errstate(all="ignore"):
        want = rounded(np.power(x, rounded(np.asarray(v), dtype)), dtype)
    got = numpy_of(d.matrix**v)
    assert word((d.matrix**v).dtype) == dtype, text
    if dtype[0] == "c":  # what complex powers of zero and of infinities are is another test's
        clear = np.isfinite(x) & (x != 0)
        got, want = np.where(clear, got, 0), np.where(clear, want, 0)
    if v == 0.5:  # the root of -inf is NaN, its power inf: NumPy has both
        got, want = np.where(np.isneginf(x.real), 0, got), np.where(np.isneginf(x.real), 0, want)
    sign = np.isinf(want)
    got, want = np.where(sign, np.abs(got), got), np.where(sign, np.abs(want), want)
    agree(got, want, dtype, 16 * sizes(want, dtype), text)


# --- two matrices


def partner(rng, d, inner):
    """A matrix, or an array of the same shape, or of the shape that a product wants."""
    want = (d.full.shape[1], None) if inner else d.full.shape
    for _ in range(400):
        other = draw(rng)
        fits_shape = other.full.shape[0] == want[0] and (want[1] is None or other.full.shape[1] == want[1])
        if fits_shape:
            return other
    shape = (want[0], int(rng.integers(1, 40)) if want[1] is None else want[1])
    dtype = str(rng.choice([t for t in DTYPES if t != "bfloat16"]))
    full = numbers(rng, shape, dtype, rng.random() < 0.4)
    return Drawn(ts.matrix.Dense(full.astype(dtype)), full, np.ones(shape, bool), dtype, f"Dense {dtype} {shape}")


def resolved(name, a, b, run, text):
    try:
        return word(ts.compute.resolve(name, a.dtype, b.dtype).dtype)
    except ValueError:
        refused(run, text)
        return None


def check_elementwise(rng, a):
    b, name = partner(rng, a, False), str(rng.choice(list(ARITHMETIC)))
    f, text = ARITHMETIC[name], f"{a.text} {name} {b.text}"
    if name == "power" and (np.abs(in_kind(b.full, "complex128")) > 20).any():
        return
    run = lambda: f(a.matrix, b.matrix)  # noqa: E731
    dtype = resolved(name, a, b, run, text)
    if dtype is None:
        return
    x, y = in_kind(a.full, dtype), in_kind(b.full, dtype)
    both = a.has & b.has
    if kind(dtype) in "bi":
        if name == "power" and kind(dtype) == "i" and (y < 0).any():
            return refused(run, text)
        if dtype == "bool":
            want = (x >= y) if name == "power" else (x & y)
            return same_as(run(), want, dtype, text)
        want = np.where(both, x * y, 0) if name == "multiply" else f(x, y)
        if not fits(want, dtype):
            return refused(run, text)
        return same_as(run(), want, dtype, text)
    with np.errstate(all="ignore"):
        want = rounded(f(x, y), dtype)
    if name == "multiply":
        want = np.where(both, want, 0).astype(want.dtype)
    result = run()
    assert word(result.dtype) == dtype, text
    got = numpy_of(result)
    if name in ("divide", "power"):
        got, want = np.where(np.isinf(want), np.abs(got), got), np.where(np.isinf(want), np.abs(want), want)
        if dtype[0] == "c":
            clear = np.isfinite(x) & np.isfinite(y) & np.isfinite(want) & (x != 0) & (y != 0)
            got, want = np.where(clear, got, 0), np.where(clear, want, 0)
    agree(got, want, dtype, (64 if name == "power" else 2) * sizes(want, dtype), text)


def places(d):
    """Where an element takes part in a product: bits that are not set are zero whatever they meet, the diagonal of an
    antisymmetric matrix is a zero as others are."""
    if d.matrix.form == "AntiSymmetric":
        return np.ones_like(d.has)
    return d.has & (d.full != 0) if d.dtype == "bool" or d.matrix.form in ("Bit", "TriangularBit") else d.has


def product(x, y, has_x, has_y, dtype):
    """Sums over what both store, infinities and NaN as IEEE adds them in any order; and the sum of sizes."""
    wide = complex if kind(dtype) == "c" else float
    x, y = x.astype(wide), y.astype(wide)
    with np.errstate(all="ignore"):
        terms = x[:, :, None] * y[None, :, :]
        terms = np.where(has_x[:, :, None] & has_y[None, :, :], terms, 0)
        total = terms.sum(1)
        size = np.where(np.isfinite(terms), np.abs(terms), 0).sum(1)
    return total, size


def check_products(rng, a):
    b = partner(rng, a, True)
    text = f"{a.text} @ {b.text}"
    run = lambda: a.matrix @ b.matrix  # noqa: E731
    if a.full.shape[0] * a.full.shape[1] * b.full.shape[1] > 200_000 and rng.random() < 0.7:
        b = Drawn(
            ts.matrix.Dense(np.asarray(b.matrix)[:, :1]) if b.dtype != "bfloat16" else b.matrix,
            b.full,
            b.has,
            b.dtype,
            text,
        )
        b = b if b.dtype == "bfloat16" else b._replace(full=b.full[:, :1], has=np.ones_like(b.full[:, :1], bool))
    dtype = resolved("matmul", a, b, run, text)
    if dtype is None:
        return
    if kind(dtype) in "bi":
        want = (
            in_kind(a.full, "int64") @ in_kind(b.full, "int64")
            if a.full.shape[1]
            else np.zeros((a.full.shape[0], b.full.shape[1]), object)
        )
        want = np.asarray(want, object)
        if not fits(want, dtype):
            return refused(run, text)
        return same_as(run(), want, dtype, text)
    x, y = in_kind(a.full, dtype), in_kind(b.full, dtype)
    want, size = product(x, y, places(a), places(b), dtype)
    sure = size < largest(dtype) / 4
    got = run()
    assert word(got.dtype) == dtype, text
    got = numpy_of(got)
    work = "float32" if dtype in ("float16", "bfloat16") else dtype
    tol = (
        4 * epsilon(work) * (x.shape[1] + 4) * size
        + 2 * epsilon(dtype) * np.abs(np.where(np.isfinite(want), want, 0))
        + 1e-30
    )
    agree(np.where(sure, got, 0), np.where(sure, want, 0), dtype, tol, text)
    if rng.random() < 0.3 and x.size and b.full.shape[1] and b.dtype not in ("bfloat16",) and kind(b.dtype) != "b":
        column = ts.asarray(np.ascontiguousarray(np.asarray(b.matrix)[:, 0]))
        want, size = product(x, in_kind(b.full[:, :1], dtype), places(a), np.ones((x.shape[1], 1), bool), dtype)
        got = (a.matrix @ column).astype("complex128" if dtype[0] == "c" else "float64").numpy()[:, None]
        sure = size < largest(dtype) / 4
        agree(np.where(sure, got, 0), np.where(sure, want, 0), dtype, tol[:, :1], text + " as a vector")


def check_comparisons(rng, a):
    b, name = partner(rng, a, False), str(rng.choice(list(COMPARISONS)))
    if "c" in kind(a.dtype) + kind(b.dtype) and name not in ("==", "!="):
        return
    if "special" in a.text + b.text and {kind(a.dtype), kind(b.dtype)} - set("fcb"):
        return  # integers beyond 2**53 beside floats
    text = f"{a.text} {name} {b.text}"
    with np.errstate(all="ignore"):
        x, y = (v.astype(float) if v.dtype == object else v for v in (a.full, b.full))
        want = COMPARISONS[name](x, y)
    same_as(COMPARISONS[name](a.matrix, b.matrix), np.asarray(want, bool), "bool", text)


CHECKS = [
    check_views,
    check_casts,
    check_functions,
    check_sums,
    check_numbers,
    check_powers,
    check_elementwise,
    check_elementwise,
    check_products,
    check_products,
    check_comparisons,
]


def run_case(number):
    rng = np.random.default_rng([18, number])
    check = CHECKS[number % len(CHECKS)]
    a = draw(rng)
    try:
        check(rng, a)
    except Exception as error:
        raise AssertionError(f"case {number}, {check.__name__} of {a.text}: {type(error).__name__}: {error}") from error


@pytest.mark.parametrize("block", range((CASES + BLOCK - 1) // BLOCK))
def test_every_form_equals_its_full_array(block):
    if "TESSERA_CASE" in os.environ:
        if block == 0:
            run_case(int(os.environ["TESSERA_CASE"]))
        return
    for number in range(block * BLOCK, min(CASES, (block + 1) * BLOCK)):
        run_case(number)


def test_what_is_no_matrix_is_refused_or_asked():
    """Distributed arrays, text and other strangers on either side of every function and operation."""
    split, whole = ts.dist.zeros((5, 5), split=0), ts.dist.ones((5, 5))
    strangers = [split, whole, ts.dist.ones(5, split=0), "abc", b"abc", None, object(), [["a"]], {}]
    functions = [getattr(ts.matrix, name) for name in ("dot", "cross", "outer", "bit_counts", "boolean_product")]
    functions += [ts.linalg.solve, ts.linalg.lstsq, ts.linalg.matmul, ts.linalg.solve_triangular]
    functions += [operator.matmul, *ARITHMETIC.values(), *COMPARISONS.values()]
    forms = [
        ts.matrix.Diagonal(np.ones(3)),
        ts.matrix.Diagonal(np.ones(5)),
        ts.matrix.TriangularBit(5),
        ts.matrix.Dense(5),
    ]
    for m in forms:
        for x in strangers:
            for f in functions:
                for pair in ((x, m), (m, x)):
                    try:
                        f(*pair)
                    except (ValueError, TypeError, RuntimeError) as error:
                        assert str(error)
    with pytest.raises(ValueError, match="dot: .*one row or one column"):
        ts.matrix.dot(ts.dist.zeros((5, 5)), forms[0])
    with pytest.raises(TypeError, match="distributed array .* split along axis 0"):
        ts.matrix.dot(forms[1], split)
    with pytest.raises(TypeError, match="dot: expected an array or numbers, got str"):
        ts.matrix.dot("abc", forms[1])


def test_sums_fit_where_their_elements_do():
    large = ts.matrix.Dense([[2**62, 2**62]])
    assert (large * 0.5).sum() == 2.0**62 and (large * -1).sum() == -(2**63) and (large * 1j).sum() == 2.0**63 * 1j
    with pytest.raises(OverflowError):
        large.sum()


def test_bits_have_roots_and_float_powers():
    bits = ts.matrix.TriangularBit([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    for power in (0.5, 2.0, 3.5):
        for m in (bits, bits.T, 2 * bits):
            got = m**power
            assert got.form == "Triangular" and np.allclose(got.numpy(), m.numpy().astype(float) ** power)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int64", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(17, 0), (0, 3), (0, 0)])
def test_factors_of_matrices_without_elements(shape, dtype):
    """No element is too large for a factor where there are none."""
    forms = [ts.matrix.Identity(shape, dtype), ts.matrix.Dense(np.zeros(shape, dtype))]
    if shape[0] == shape[1]:
        empty = np.zeros(shape, dtype)
        forms += [ts.matrix.Triangular(empty), ts.matrix.Symmetric(empty), ts.matrix.Diagonal(np.zeros(0, dtype))]
    for matrix in forms:
        for factor in (-1, 2**40, -(2**40)):
            scaled = factor * matrix
            assert str(scaled)
            same_as(scaled, np.zeros(shape, dtype), dtype, f"{factor} * {matrix.form} {dtype} {shape}")
            same_as(
                abs(scaled).T,
                np.zeros(shape[::-1], abs(np.zeros(1, dtype)).dtype),
                str(abs(np.zeros(1, dtype)).dtype),
                matrix.form,
            )


@pytest.mark.parametrize("factor", [None, 1, True, 1.0, 2, -1, 0.5, 1j])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float32", "bfloat16", "complex64", "complex128"])
def test_casts_of_scaled_identities(factor, dtype):
    """A factor of 1 or True leaves the Identity, which every dtype holds; others make numbers that it may not hold."""
    one = np.eye(3).astype(int).astype(object) if kind(dtype) == "i" else in_kind(np.eye(3), dtype)
    d = Drawn(ts.matrix.Identity(3, dtype), one, np.eye(3, dtype=bool), dtype, f"Identity {dtype}")
    if factor is not None:
        made = times(d, factor)
        if made is None:
            return
        d = Drawn(factor * d.matrix, made[1], d.has, made[0], f"{factor} * {d.text}")
    for seed in range(60):
        check_casts(np.random.default_rng(seed), d)
