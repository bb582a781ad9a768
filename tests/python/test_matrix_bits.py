# SPDX-License-Identifier: Apache-2.0
"""Bits for use: Boolean algebra, rows and slices, sums along axes, diagonals, random bits; and what is made of halves."""

import operator

import numpy as np
import pytest
from matrix_draw import conj, draw, kind, numbers, numpy_of, word

import tessera as ts

pytestmark = pytest.mark.filterwarnings("ignore")
M = ts.matrix
LOGIC = [operator.and_, operator.or_, operator.xor]


def bits(rng, n, form):
    a = rng.random((n, n)) < 0.4
    if form == "Bit":
        return M.Bit(a), a
    strict = np.triu(a, 1)
    if form == "Dense":
        return M.Dense(a), a
    return (M.TriangularBit(strict), strict) if form == "TriangularBit" else (M.TriangularBit(strict).T, strict.T)


@pytest.mark.parametrize("n", [0, 1, 65, 530])
def test_boolean_algebra(rng, n, device):
    forms = ["Bit", "TriangularBit", "Lower", "Dense"]
    for first in forms:
        for second in forms:
            (a, full_a), (b, full_b) = bits(rng, n, first), bits(rng, n, second)
            a, b = a.to(device), b.to(device)
            for f in LOGIC:
                got = f(a, b)
                assert got.dtype == "bool" and np.array_equal(got.numpy(), f(full_a, full_b)), (first, second, f)
                assert got.form in ("Bit", "TriangularBit")
                if first == second and first != "Bit":
                    assert got.form == ("Bit" if first == "Dense" else "TriangularBit")
            assert np.array_equal((~a).numpy(), ~full_a) and not (a & ~a).any()
    a, full = bits(rng, n, "Bit")
    assert np.array_equal((a | full.T).numpy(), full | full.T) and np.array_equal((full.T ^ a).numpy(), full ^ full.T)
    assert np.array_equal((a & True).numpy(), full) and np.array_equal((True ^ a).numpy(), ~full)


def test_numbers_have_no_boolean_algebra():
    with pytest.raises(TypeError, match="bitwise_and: .* of int64 .*expected matrices of bits"):
        M.Dense([[1, 2]]) & M.Bit([[1, 1]])
    with pytest.raises(TypeError, match="bitwise_or: 2 with a matrix of bits"):
        M.Bit([[1, 1]]) | 2
    with pytest.raises(ValueError, match="bitwise_xor: .*do not fit each other"):
        M.Bit((2, 3)) ^ M.Bit((3, 2))


def slices(rng, n):
    yield slice(None)
    yield slice(int(rng.integers(-n - 2, n + 2)), int(rng.integers(-n - 2, n + 2)))
    yield slice(None, None, int(rng.choice([-3, -1, 2, 5])))


@pytest.mark.parametrize("block", range(4))
def test_rows_columns_slices_diagonals_and_sums_of_every_form(block):
    for number in range(60):
        rng = np.random.default_rng([28, block, number])
        d = draw(rng, special=False)
        text = f"{block} {number} {d.text}"
        rows, cols = d.full.shape
        for i in {0, rows - 1, int(rng.integers(0, rows))} if rows else ():
            assert d.matrix[i].tolist() == d.matrix[i, :].tolist() == d.full[i].tolist(), text
            assert d.matrix[i - rows, 1:7:2].tolist() == d.full[i, 1:7:2].tolist(), text
            assert word(d.matrix[i].dtype) == d.dtype, text
        for j in {0, cols - 1, int(rng.integers(0, cols))} if cols else ():
            assert d.matrix[:, j].tolist() == d.full[:, j].tolist(), text
            assert d.matrix[::-2, j].tolist() == d.full[::-2, j].tolist(), text
        for down in slices(rng, rows):
            assert np.array_equal(numpy_of(d.matrix[down]), d.full[down]), text
            for across in slices(rng, cols):
                part = d.matrix[down, across]
                assert part.form == (
                    "Bit" if d.matrix.form in ("Bit", "TriangularBit") and d.dtype == "bool" else "Dense"
                )
                assert part.shape == d.full[down, across].shape, text
                assert np.array_equal(numpy_of(part), d.full[down, across]), text
        assert d.matrix.diagonal().tolist() == np.diagonal(d.full).tolist(), text
        for axis in (0, 1, -1):
            got, want = d.matrix.sum(axis=axis), d.full.sum(axis) if d.full.size else np.zeros(d.full.sum(axis).shape)
            if kind(d.dtype) in "bi":
                assert got.tolist() == [int(v) for v in want], text
            else:
                assert np.allclose(
                    got.astype("complex128").numpy(), want, rtol=2e-2, atol=1e-1 if "16" in d.dtype else 1e-4
                ), text


def test_large_bits_are_sliced_where_they_lie(rng):
    n = 1300
    full = np.triu(rng.random((n, n)) < 0.5, 1)
    c = M.TriangularBit(full)
    for m, a in ((c, full), (c.T, full.T), (M.Bit(full), full), (M.Bit(full).T, full.T)):
        assert np.array_equal(m[700].numpy(), a[700]) and np.array_equal(m[:, 613].numpy(), a[:, 613])
        assert np.array_equal(m[100:1200:3, 5:1299:7].numpy(), a[100:1200:3, 5:1299:7])
        assert np.array_equal(m[600:].numpy(), a[600:]) and type(m[600:]) is M.Bit
        assert m.sum(axis=0).tolist() == a.sum(0).tolist() and m.sum(axis=1).tolist() == a.sum(1).tolist()
        assert m.diagonal().tolist() == np.diagonal(a).tolist()
    assert M.Bit(rng.random((200, 700)) < 0.5)[3].shape == (700,)


@pytest.mark.parametrize(
    "key", ["a", None, 1.5, (1, 2, 3), ([0, 1], 0), ..., (None, 0), (0, None), (0, "a"), np.ones((3, 3), bool)]
)
def test_other_keys_are_refused(key):
    with pytest.raises((IndexError, TypeError)):
        M.Dense(np.eye(3))[key]


def test_places_outside_are_refused():
    for key in (3, -4, (slice(None), 3), (5, slice(None)), (3, 3)):
        with pytest.raises(IndexError):
            M.Triangular(np.eye(3))[key]


def test_random_bits(device):
    a = M.random_bits((300, 1100), 0.25, device=device, generator=ts.random.Generator(5))
    b = M.random_bits((300, 1100), 0.25, device=device, generator=ts.random.Generator(5))
    assert a.form == "Bit" and a.shape == (300, 1100) and (a == b).all() and str(a.device) == device
    assert abs(a.sum() - 0.25 * a.size) < 6 * np.sqrt(a.size * 0.25 * 0.75)
    want = ts.random.Generator(5).uniform((300, 1100), "float64").numpy() < 0.25
    assert np.array_equal(a.numpy(), want)  # those of one draw, however many rows are drawn at a time
    c = M.random_bits(500, 0.5, triangular=True, generator=ts.random.Generator(6))
    assert c.form == "TriangularBit" and np.array_equal(c.numpy(), np.triu(c.numpy(), 1))
    assert (
        M.random_bits((0, 3)).shape == (0, 3) and M.random_bits((3, 4), 1.0).all() and not M.random_bits(4, 0.0).any()
    )
    for wrong in ((3, 1.5), (3, -0.1), (3, np.nan), ((-1, 3), 0.5)):
        with pytest.raises(ValueError, match="random_bits"):
            M.random_bits(*wrong)
    with pytest.raises(ValueError, match="not square"):
        M.random_bits((3, 4), triangular=True)


def test_random_bits_take_little_memory():
    n = 8000
    before = ts.memory_stats("cpu")["in_use"]
    ts.reset_peak("cpu")
    c = M.random_bits(n, 0.1, generator=ts.random.Generator(1))
    peak = ts.memory_stats("cpu")["peak"] - before
    assert c.nbytes <= n * (n / 8 + 64) and peak < 2 * c.nbytes + 2**25 < n * n


@pytest.mark.parametrize("n", [0, 1, 2, 40, 70])
def test_triangles_and_their_transposes(rng, n):
    """Minus its transpose a strict triangle is antisymmetric, plus it any triangle is symmetric; views are seen."""
    for dtype in ("bool", "int8", "int64", "uint16", "float32", "float64", "complex128"):
        a = numbers(rng, (n, n), dtype, False)
        strict = np.triu(a, 1)
        made = [
            M.Triangular(strict.astype(dtype), strict=True),
            M.Triangular(strict.T.astype(dtype), strict=True, lower=True),
        ]
        made += (
            [M.TriangularBit(strict), M.TriangularBit(strict).T] if dtype == "bool" else [2 * made[0], made[0].conj()]
        )
        for k in made:
            full = numpy_of(k)
            number = full.astype(int) if full.dtype == bool else full
            if dtype != "uint16":
                assert (k - k.T).form == "AntiSymmetric", dtype
                assert np.array_equal(numpy_of(k - k.T), number - number.T)
            elif n > 1 and full.any():
                with pytest.raises(OverflowError):
                    k - k.T
            assert (k + k.T).form == "Symmetric" and np.array_equal(numpy_of(k + k.T), number + number.T)
            assert np.array_equal(numpy_of(k + k.H), number + conj(number).T)
        upper = M.Triangular(np.triu(a).astype(dtype))
        whole = np.triu(a).astype(int) if dtype == "bool" else np.triu(a)
        assert (upper + upper.T).form == "Symmetric" and np.array_equal(numpy_of(upper + upper.T), whole + whole.T)
        assert (upper + (2 * upper).T).form == "Dense"
    least = M.Triangular(np.array([[0, -128], [0, 0]], "int8"), strict=True)
    with pytest.raises(OverflowError):
        least - least.T


@pytest.mark.parametrize("n", [1, 65, 530])
def test_triangular_bits_times_triangles(rng, n, device):
    for dtype in ("int64", "float64", "float32", "complex128"):
        c = np.triu(rng.random((n, n)) < 0.5, 1)
        k = np.triu(rng.integers(-9, 10, (n, n))).astype(dtype)
        bit, upper = M.TriangularBit(c).to(device), M.Triangular(k).to(device)
        full = M.Dense(k + k.T).to(device)
        wide = "float64" if dtype == "int64" else dtype  # exact, and quicker
        number, k = c.astype(wide), k.astype(wide)
        for got, want, form in [
            (bit @ upper, number @ k, "Triangular"),
            (upper @ bit, k @ number, "Triangular"),
            (bit.T @ upper.T, number.T @ k.T, "Triangular"),
            (upper.T @ bit.T, k.T @ number.T, "Triangular"),
            (bit.T @ upper, number.T @ k, "Dense"),
            (bit @ upper.T, number @ k.T, "Dense"),
            (bit @ full, number @ (k + k.T), "Dense"),
            (bit.T @ full, number.T @ (k + k.T), "Dense"),
            (3 * bit @ upper, 3 * number @ k, "Dense" if dtype == "int64" else "Triangular"),
        ]:
            assert got.form == form and np.array_equal(got.numpy(), want), (dtype, form)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 40, 71])
def test_eigenvalues_of_real_antisymmetric_matrices(rng, n, dtype, device):
    a = rng.standard_normal((n, n)).astype(dtype)
    a = a - a.T
    want = np.sort(np.linalg.eigvalsh(1j * a.astype(complex)))
    for given in (ts.asarray(a).to(device), M.AntiSymmetric(a).to(device), np.stack([a, 2 * a])):
        values = ts.linalg.eigvals(given).to("cpu").numpy()
        first = values[0] if values.ndim == 2 else values
        assert first.dtype == np.result_type(dtype, "complex64") and not first.real.any()
        assert np.array_equal(first, -first[::-1])  # pairs to the last bit
        assert (np.diff(first.imag) <= 0).all()
        np.testing.assert_allclose(
            np.sort(first.imag), want, atol=30 * n * np.finfo(dtype).eps * max(1, abs(want).max(initial=0))
        )
        if values.ndim == 2:
            np.testing.assert_allclose(values[1], 2 * first, rtol=1e-5)


def test_files_are_read_ahead_or_not_at_all(rng, tmp_path):
    n = 600
    ts.save(str(tmp_path / "a.npy"), rng.standard_normal((n, n)))
    m = M.Dense(ts.load(str(tmp_path / "a.npy"), mmap_mode="r"), copy=False)
    full = np.load(tmp_path / "a.npy")
    ts.debug.clear_io_trace()
    assert abs(m.trace() - np.trace(full)) < 1e-9 and np.array_equal(m.diagonal().numpy(), np.diagonal(full))
    assert ts.debug.last_io_trace() == ""
    np.testing.assert_allclose((m @ np.ones(n)).numpy(), full @ np.ones(n), atol=1e-10)
    assert ts.debug.last_io_trace() == "io.prefetch"
    ts.debug.clear_io_trace()
    np.testing.assert_allclose((np.ones((2, n)) @ m).numpy(), np.ones((2, n)) @ full, atol=1e-10)
    assert ts.debug.last_io_trace() == "io.prefetch"
