# SPDX-License-Identifier: Apache-2.0
"""Matrices of every form on disk, against the full arrays of NumPy: pairs of forms, dtypes, shapes and budgets."""

from __future__ import annotations

import itertools
import os
import re

import numpy as np
import pytest
from support import drawn, host_memory

import tessera as ts
from tessera.matrix import AntiSymmetric, Bit, Dense, Diagonal, Identity, Symmetric, Triangular, TriangularBit

HALVES = ["Triangular", "lower", "Symmetric", "AntiSymmetric", "TriangularBit", "lower bits"]
FORMS = [*HALVES, "Bit", "Dense", "Diagonal", "Identity"]
PLAIN = ["Dense", "Diagonal", "Identity"]
PAIRS = [pair for pair in itertools.product(FORMS, FORMS) if not {*pair} <= {*PLAIN}]  # a form is on disk
NUMBERS = ["float64", "float32", "complex128", "int32", "float16"]


def is_bits(form):
    return form in ("Bit", "TriangularBit", "lower bits")


def elements(form, shape, dtype, seed):
    """All elements, as NumPy has them."""
    x = drawn(shape, "float64" if is_bits(form) else dtype, seed)
    if form == "Triangular":
        return np.triu(x)
    if form == "lower":
        return np.tril(x, -1)
    if form == "Symmetric":
        return np.triu(x) + np.triu(x, 1).T
    if form == "AntiSymmetric":
        return np.triu(x, 1) - np.triu(x, 1).T
    if form == "Diagonal":
        return np.eye(*shape, dtype=dtype) * x
    if form == "Identity":
        return np.eye(*shape, dtype=dtype)
    x = x > 0.3 if is_bits(form) else x
    return np.triu(x, 1) if form == "TriangularBit" else np.tril(x, -1) if form == "lower bits" else x


def in_memory(form, x):
    if form == "lower":
        return Triangular(x, lower=True, strict=True)
    if form == "lower bits":
        return TriangularBit(x.T).T
    if form == "Identity":
        return Identity(x.shape, dtype=str(x.dtype))
    kinds = {"Triangular": Triangular, "Symmetric": Symmetric, "AntiSymmetric": AntiSymmetric, "Bit": Bit}
    kinds |= {"TriangularBit": TriangularBit, "Dense": Dense, "Diagonal": Diagonal}
    return kinds[form](x)


def on_disk(form, x):
    if form == "Dense":
        return ts.stored.array(x)
    return in_memory(form, x) if form in ("Diagonal", "Identity") else ts.stored.matrix(in_memory(form, x))


def assert_product(got, wanted, k):
    """Of the same dtype as the product in memory."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    if not np.issubdtype(wanted.dtype, np.inexact):
        np.testing.assert_array_equal(got, wanted)
        return
    scale = max(1.0, np.abs(wanted.astype(np.complex128)).max(initial=0))
    atol = 8 * np.finfo(wanted.dtype).eps * scale * max(1, k) ** 0.5
    np.testing.assert_allclose(got, wanted, rtol=0, atol=atol)


def class_of(x):
    return "Dense" if isinstance(x, ts.stored.StoredArray) else x.form


@pytest.mark.filterwarnings("ignore::tessera.PrecisionWarning")
@pytest.mark.parametrize("left, right", PAIRS)
def test_products_of_every_pair(left, right):
    pairs = [("float64", "float64"), *zip(NUMBERS, NUMBERS[1:] + NUMBERS[:1], strict=True)]
    if is_bits(left) or is_bits(right):
        pairs = [(t, t) for t in (["float64"] if is_bits(left) and is_bits(right) else NUMBERS)]
    sizes = [(13, 13, 13), (1, 1, 1), (0, 0, 0)]
    if left in ("Bit", "Dense", "Diagonal", "Identity"):
        sizes.append((5, 13, 13))
    if right in ("Bit", "Dense", "Diagonal", "Identity"):
        sizes.append((13, 13, 4))
    for seed, ((s, t), (m, k, n)) in enumerate(itertools.product(pairs, sizes)):
        if seed > 0 and m * k * n == 0 or (m == 1 and s != t):
            continue
        x, y = elements(left, (m, k), s, seed), elements(right, (k, n), t, seed + 1)
        a, b = in_memory(left, x), in_memory(right, y)
        expected = a @ b
        wanted = expected.numpy()
        if not is_bits(left) and not is_bits(right) and s == t == "float64":
            np.testing.assert_allclose(wanted, x @ y, atol=1e-12)
        ways = [(on_disk(left, x), on_disk(right, y))]
        if left not in ("Diagonal", "Identity"):
            ways.append((ways[0][0], b))
        if right not in ("Diagonal", "Identity"):
            ways.append((a, ways[0][1]))
        for p, q in ways:
            got = p @ q
            assert class_of(got) == ("Dense" if expected.form in ("Diagonal", "Identity") else expected.form)
            assert_product(got.numpy(), wanted, k)


@pytest.mark.parametrize("left", HALVES)
@pytest.mark.parametrize("right", [*HALVES, "Bit", "Dense"])
def test_products_within_budgets(left, right):
    n = 600
    x, y = elements(left, (n, n), "float64", 1), elements(right, (n, n), "float64", 2)
    a, b = on_disk(left, x), on_disk(right, y)
    wanted = (in_memory(left, x) @ in_memory(right, y)).numpy()
    for budget in (6 << 20, 40 << 20):
        with host_memory(budget):
            ts.reset_peak("cpu")
            try:
                got = a @ b
            except ts.OutOfMemory as error:  # bits with halves of numbers need a little more
                assert "least for these operands" in str(error) and budget == 6 << 20
                continue
            assert ts.memory_stats("cpu")["peak"] <= ts.memory_stats("cpu")["budget"]
        assert_product(got.numpy(), wanted, n)
    np.testing.assert_array_equal(a.numpy(), x)  # inputs are as they were


@pytest.mark.parametrize("form", [*HALVES, "Bit"])
@pytest.mark.parametrize("n", [0, 1, 2, 65, 600])
def test_rows_sums_and_views(form, n):
    x = elements(form, (n, n), "int32", n)
    a = on_disk(form, x)
    assert a.shape == (n, n) and len(a) == n and a.form == in_memory(form, x).form
    np.testing.assert_array_equal(a.numpy(), x)
    np.testing.assert_array_equal(a.T.numpy(), x.T)
    np.testing.assert_array_equal(np.asarray(a), x)
    assert a.sum() == x.sum()
    for axis in (0, 1):
        np.testing.assert_array_equal(a.sum(axis=axis).numpy(), x.sum(axis))
        np.testing.assert_array_equal(a.T.sum(axis=axis).numpy(), x.T.sum(axis))
    for i in range(0, n, 37):
        np.testing.assert_array_equal(a[i].numpy(), x[i])
        np.testing.assert_array_equal(a[:, i].numpy(), x[:, i])
        assert a[i, n - 1 - i] == x[i, n - 1 - i] and a[-1, i] == x[-1, i]
    for key in ((slice(3, 50), slice(None)), (slice(None, None, -3), slice(1, 40)), (slice(2, 2), slice(5, 1, -2))):
        np.testing.assert_array_equal(a[key].numpy(), x[key])
        np.testing.assert_array_equal(a.T[key].numpy(), x.T[key])
    with pytest.raises(IndexError):
        a[n]
    with pytest.raises(IndexError):
        a[0, [0]]


@pytest.mark.parametrize("left", ["Bit", "TriangularBit", "lower bits"])
@pytest.mark.parametrize("right", ["Bit", "TriangularBit", "lower bits"])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (600, 600), (30, 1100)])
def test_bits_are_combined_as_in_memory(left, right, shape):
    if shape[0] != shape[1] and (left, right) != ("Bit", "Bit"):
        pytest.skip("halves are square")
    x, y = elements(left, shape, "float64", 1), elements(right, shape, "float64", 2)
    a, b = on_disk(left, x), on_disk(right, y)
    m, n = in_memory(left, x), in_memory(right, y)
    for op in ("__and__", "__or__", "__xor__"):
        wanted = getattr(x, op)(y)
        for p, q in ((a, b), (a, n)):
            got = getattr(p, op)(q)
            assert got.form == getattr(m, op)(n).form
            np.testing.assert_array_equal(got.numpy(), wanted)
    np.testing.assert_array_equal((~a).numpy(), ~x)
    np.testing.assert_array_equal((~a).sum(axis=1).numpy(), (~x).sum(1))
    if shape[0] == shape[1]:
        got, wanted = ts.matrix.boolean_product(a, b), ts.matrix.boolean_product(m, n)
        assert got.form == wanted.form
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())


def test_sums_and_differences_keep_their_forms():
    x = elements("Triangular", (70, 70), "float64", 1)
    strict = np.triu(x, 1)
    u, c = on_disk("Triangular", x), ts.stored.matrix(Triangular(strict, strict=True))
    for got, form, wanted in (
        (u + u, "Triangular", x + x),
        (u + u.T, "Symmetric", x + x.T),
        (c - c.T, "AntiSymmetric", strict - strict.T),
        (u - c.T, "Dense", x - strict.T),
        (u * c, "Triangular", x * strict),
    ):
        assert class_of(got) == form
        np.testing.assert_array_equal(got.numpy(), wanted)
    with pytest.raises(ValueError, match="on disk shapes are equal"):
        u + on_disk("Triangular", np.eye(3))


@pytest.mark.parametrize("form", [*HALVES, "Bit"])
def test_vectors_meet_the_matrix_in_one_pass(form):
    n = 900
    x = elements(form, (n, n), "float64", 3)
    a = on_disk(form, x)
    v, block = drawn((n,), "float64", 4), drawn((n, 7), "float64", 5)
    np.testing.assert_allclose((a @ v).numpy(), x @ v, atol=1e-10)
    np.testing.assert_allclose((v @ a).numpy(), v @ x, atol=1e-10)
    np.testing.assert_allclose((a @ block).numpy(), x @ block, atol=1e-10)
    np.testing.assert_allclose((block.T @ a).numpy(), block.T @ x, atol=1e-10)
    assert isinstance(a @ block, ts.Array) and isinstance(v @ a, ts.Array)


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("form", ["Triangular", "lower", "TriangularBit", "Bit"])
def test_what_is_not_stored_is_zero_whatever_it_meets(form, special):
    n = 60
    x = elements(form, (n, n), "float64", 1)
    a, m = on_disk(form, x), in_memory(form, x)
    for k in (0, 30, n - 1):
        y = drawn((n, 5), "float64", 2)
        y[k, 3] = special
        np.testing.assert_allclose((a @ ts.stored.array(y)).numpy(), (m @ y).numpy(), atol=1e-12)
        np.testing.assert_allclose((ts.stored.array(y.T.copy()) @ a).numpy(), (y.T @ m).numpy(), atol=1e-12)
        np.testing.assert_allclose((a @ y[:, 3]).numpy(), (m @ y[:, 3]).numpy(), atol=1e-12)


def test_integers_never_wrap():
    big = np.full((40, 40), 100, "int8")
    a = ts.stored.matrix(Symmetric(big))
    with pytest.raises(OverflowError, match="int8"):
        a @ a
    # A sum that passes the limit on its way and comes back is no overflow.
    x = np.zeros((64, 64), "int8")
    x[0, :32], x[0, 32:] = 100, -100
    y = np.ones((64, 64), "int8")
    got = ts.stored.array(x) @ ts.stored.matrix(Symmetric(y))
    assert not got.numpy().any()


def disk_bytes_read():
    lines = open("/proc/self/io").read().split()
    return int(lines[lines.index("read_bytes:") + 1])


@pytest.fixture(scope="module")
def counts_reads(tmp_path_factory):
    """Whether the kernel counts what is read past the page cache here."""
    if not os.path.exists("/proc/self/io"):
        return False
    x = ts.stored.array(np.ones(1 << 20), tmp_path_factory.mktemp("counted") / "x.tiles")
    before = disk_bytes_read()
    x.sum()
    return disk_bytes_read() - before >= 8 << 20


@pytest.mark.parametrize(
    ("left", "right"),
    [
        *itertools.product(["Triangular", "Symmetric"], ["Triangular", "Symmetric", "Dense", "vector"]),
        *(("TriangularBit", right) for right in ("TriangularBit", "Bit", "vector")),
    ],
)
def test_reads_what_explain_says(left, right, counts_reads):
    if not counts_reads:
        pytest.skip("reads are not counted here")
    n = 1500
    y = drawn((n, 1), "float64", 2) if right == "vector" else elements(right, (n, n), "float64", 2)
    x = elements(left, (n, n), "float64", 1)
    bits = in_memory(left, x) if is_bits(left) else None
    with host_memory(40 << 20):
        a = ts.stored.matrix(ts.stored.array(x), left) if bits is None else ts.stored.matrix(bits)
        b = ts.stored.matrix(in_memory(right, y)) if is_bits(right) else ts.stored.array(y)
        b = b if is_bits(right) or right in ("Dense", "vector") else ts.stored.matrix(b, right)
        said = int(re.search(r"in all: reads (\d+) bytes", a.explain(b))[1])
        before = disk_bytes_read()
        a @ b
        assert abs(disk_bytes_read() - before - said) <= 0.02 * said + 65536


def test_larger_than_memory_by_the_same_calls(tmp_path):
    ts.set_backing_dir(str(tmp_path))
    try:
        ts.random.seed(5)
        with ts.memory_budget(host="4MiB"):
            c = ts.matrix.random_bits(9000, 0.01, triangular=True)
            assert isinstance(c, ts.stored.StoredMatrix) and c.form == "TriangularBit"
            assert c[10].numpy().any() and not c[:, 0].numpy().any()
            between = c & c
        ts.random.seed(5)
        same = ts.matrix.random_bits(9000, 0.01, triangular=True)
        assert isinstance(same, TriangularBit) and (same == c[:, :]).all() and between.sum() == same.sum()
        # Of a half the disk holds no more than the half.
        used = sum(os.stat(tmp_path / f).st_blocks * 512 for f in os.listdir(tmp_path))
        assert used < 2 * 0.62 * 9000 * 9000 / 8 + (1 << 20)
    finally:
        ts.set_backing_dir(None)


def test_products_are_jobs(tmp_path):
    x = elements("Triangular", (300, 300), "float64", 1)
    a = ts.stored.matrix(Triangular(x), path=tmp_path / "a.tiles")
    b = a.save(tmp_path / "b.tiles")
    got = ts.stored.matmul(a, b, path=tmp_path / "c.tiles")
    assert got.form == "Triangular" and not os.path.exists(tmp_path / "c.tiles.job")
    np.testing.assert_allclose(got.numpy(), x @ x, atol=1e-11)
    again = ts.stored.matrix(ts.stored.open(tmp_path / "c.tiles"), "Triangular")
    np.testing.assert_array_equal(again.numpy(), got.numpy())
    with pytest.raises(OSError, match="File exists"):
        ts.stored.matmul(a, b, path=tmp_path / "c.tiles")


def test_refusals():
    a = on_disk("Triangular", np.eye(4))
    for wrong, error, text in (
        (lambda: a @ ts.stored.zeros((3, 3)), ValueError, "the first has 4 columns, the second 3 rows"),
        (lambda: ts.stored.matrix(ts.stored.zeros((3, 4)), "Symmetric"), ValueError, "square"),
        (lambda: ts.stored.matrix(ts.stored.zeros((3, 3)), "Bit"), ValueError, "Triangular"),
        (lambda: ts.stored.matrix(np.eye(3)), TypeError, "ndarray"),
        (lambda: a & a, TypeError, "bits"),
        (lambda: ts.matrix.boolean_product(a, a), TypeError, "bits"),
    ):
        with pytest.raises(error, match=text):
            wrong()
    with pytest.raises(TypeError):
        a @ "x"


TAKEN = {
    "Triangular": lambda a: np.triu(a),
    "Symmetric": lambda a: np.triu(a) + np.triu(a, 1).T,
    "AntiSymmetric": lambda a: np.triu(a, 1) - np.triu(a, 1).T,
}


@pytest.mark.parametrize("lower", [None, False, True])
@pytest.mark.parametrize("form", TAKEN)
def test_arrays_taken_for_a_form_and_copied(form, lower, tmp_path):
    a = drawn((70, 70), "float64", 1)
    x, wanted = ts.stored.array(a), TAKEN[form](a.T).T if lower else TAKEN[form](a)
    m = ts.stored.matrix(x, form, lower=lower)
    copy = ts.stored.matrix(x, form, tmp_path / "m.tiles", lower=lower)
    again = ts.stored.open(tmp_path / "m.tiles")
    for found in (m, copy, again):
        assert found.form == form and found.is_lower == (bool(lower) and form == "Triangular")
        np.testing.assert_array_equal(found.numpy(), wanted)
    x[...] = 0  # the copy is one
    np.testing.assert_array_equal(copy.numpy(), wanted)


@pytest.mark.parametrize("form", HALVES)
def test_matrices_on_disk_are_what_they_are(form, tmp_path):
    """Given back, copied to a path, and refused where something else is asked for."""
    x = elements(form, (70, 70), "float64", 1)
    m = on_disk(form, x)
    strict = form in ("lower", "AntiSymmetric", "TriangularBit", "lower bits")
    own = {"lower": m.is_lower, "strict": strict}
    assert ts.stored.matrix(m, m.form) is ts.stored.matrix(m, m.form, **own) is m
    for k, options in enumerate(({"form": m.form}, {}, own, {"form": m.form, **own})):
        copy = ts.stored.matrix(m, path=tmp_path / f"{k}.tiles", **options)
        assert copy.form == m.form and copy.is_lower == m.is_lower
        np.testing.assert_array_equal(ts.stored.open(tmp_path / f"{k}.tiles").numpy(), x)
    for path in (None, tmp_path / "never.tiles"):
        for name, there in own.items():
            for taken in (None, m.form):
                with pytest.raises(ValueError, match=f"{m.form} on disk has {name}={there}, got {name}={not there}"):
                    ts.stored.matrix(m, taken, path, **{name: not there})
        with pytest.raises(ValueError, match=f"is a {m.form}, it cannot be taken for a Dense"):
            ts.stored.matrix(m, "Dense", path)
    for given in ({"lower": False}, {"strict": True}):
        with pytest.raises(ValueError, match="a matrix in memory knows its half"):
            ts.stored.matrix(in_memory(form, x), **given)
    assert not (tmp_path / "never.tiles").exists()


@pytest.mark.parametrize("form", ["Symmetric", "AntiSymmetric", "TriangularBit"])
@pytest.mark.parametrize("block", [1, 3])
def test_a_few_eigenvalues_of_forms(form, block):
    """Of a view i K as well, which is Hermitian; bits are made symmetric by their sum with the transpose."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((57, 57))
    if form == "Symmetric":
        m = ts.stored.matrix(ts.matrix.Symmetric(x + x.T))
    elif form == "AntiSymmetric":
        m = 1j * ts.stored.matrix(ts.matrix.AntiSymmetric(x - x.T))
    else:
        c = ts.stored.matrix(ts.matrix.TriangularBit(np.triu(x > 0, 1)))
        m = c | c.T
    values = np.linalg.eigvalsh(m.numpy().astype(complex if form == "AntiSymmetric" else float))
    largest = np.sort(values[np.argsort(-abs(values))[:4]])
    found, vectors = ts.linalg.eigs(m, 4, block=block)
    assert np.allclose(np.sort(found.numpy().real), largest) and vectors.shape == (57, 4)
    if block == 1:
        assert np.allclose(ts.solve.lanczos(m, 4).eigenvalues.numpy(), largest)


def test_eigenvalues_of_a_form_that_is_not_square():
    with pytest.raises(ts.ShapeError, match="takes a square matrix"):
        ts.solve.lanczos(ts.stored.matrix(ts.matrix.Bit(np.ones((3, 5), bool))), 1)
