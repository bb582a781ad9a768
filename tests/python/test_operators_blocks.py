# SPDX-License-Identifier: Apache-2.0
"""Blocks, convolutions and wavelets against NumPy, SciPy and numbers worked out by hand."""

import itertools

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

import tessera as ts

DTYPES = ["float32", "float64", "complex64", "complex128"]


def draw(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return np.asarray(values).astype(dtype)


def close(got, expected, factor=1.0):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    eps = np.finfo(got.dtype).eps
    scale = max(1e-30, float(np.max(np.abs(expected), initial=0)))
    error = float(np.max(np.abs(got - expected), initial=0))
    assert error <= factor * 64 * eps * scale, f"error {error}, scale {scale}"


def matrix_of(A, shape, dtype):
    """Column by column, through A itself."""
    n = int(np.prod(shape))
    columns = [np.asarray(A(np.eye(n, dtype=dtype)[j].reshape(shape))).ravel() for j in range(n)]
    return np.stack(columns, axis=1)


# --- blocks


def blocks_by_definition(x, block, stride, mask=None):
    """All blocks of the last axes of x, stacked."""
    rank = len(block)
    counts = [(n - b) // s + 1 for n, b, s in zip(x.shape[-rank:], block, stride, strict=True)]
    out = np.empty((*x.shape[:-rank], *counts, *block), x.dtype)
    for k in itertools.product(*map(range, counts)):
        window = tuple(slice(i * s, i * s + b) for i, s, b in zip(k, stride, block, strict=True))
        out[(..., *k, *[slice(None)] * rank)] = x[(..., *window)]
    return out if mask is None else out[..., mask]


@pytest.mark.parametrize(
    ("grid", "block", "stride", "counts"),
    [
        ((5, 5), (3, 3), (1, 1), (3, 3)),
        ((5, 5), (3, 3), (2, 2), (2, 2)),
        ((6, 6), (3, 3), (2, 2), (2, 2)),
        ((7, 7), (3, 3), (2, 2), (3, 3)),
        ((10, 10), (8, 8), (4, 4), (1, 1)),
    ],
)
def test_counts_of_blocks(grid, block, stride, counts):
    assert ts.ArrayToBlocks(grid, block, stride)(np.zeros(grid)).shape == (*counts, *block)


def test_lines_by_hand():
    x = [0, 1, 2, 3, 4]
    assert ts.ArrayToBlocks((5,), (3,), (1,))(x).tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert ts.ArrayToBlocks((5,), (3,), (2,))(x).tolist() == [[0, 1, 2], [2, 3, 4]]
    assert ts.ArrayToBlocks((5,), 3)(x).tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert ts.BlocksToArray((5,), (3,), (1,))(np.ones((3, 3))).tolist() == [1, 2, 3, 2, 1]
    assert ts.BlocksToArray((5,), (3,), (2,))(np.ones((2, 3))).tolist() == [1, 1, 2, 1, 1]
    assert ts.BlocksToArray((6,), (3,), (2,))(np.ones((2, 3))).tolist() == [1, 1, 2, 1, 1, 0]
    assert ts.ArrayToBlocks((6,), (3,), (2,)).N(np.ones(6)).tolist() == [1, 1, 2, 1, 1, 0]


def test_masked_blocks():
    B = ts.ArrayToBlocks((5,), (3,), (1,), mask=np.array([False, True, False]))
    assert B(np.arange(5.0)).tolist() == [[1], [2], [3]]
    assert B.H([[1.0], [2.0], [3.0]]).tolist() == [0, 1, 2, 3, 0]
    cross = np.zeros((3, 3, 3), bool)
    cross[1, 1, :] = cross[1, :, 1] = cross[:, 1, 1] = True
    assert cross.sum() == 7
    x = draw((1, 15, 15, 15), "float32")
    C = ts.ArrayToBlocks((15, 15, 15), (3, 3, 3), (1, 1, 1), mask=cross)
    y = C(x)
    assert y.shape == (1, 13, 13, 13, 7)
    assert np.array_equal(y, blocks_by_definition(x, (3, 3, 3), (1, 1, 1), cross))
    assert ts.check_adjoint(C, shape=x.shape, dtype="float32")


@pytest.mark.parametrize("dtype", ["float16", *DTYPES])
@pytest.mark.parametrize(
    ("batch", "grid", "block", "stride"),
    [((2, 2), (33,), (7,), (2,)), ((3,), (9, 14), (4, 3), (3, 2)), ((), (7, 8, 9), (2, 3, 4), (2, 1, 3))],
)
def test_blocks_by_definition(dtype, batch, grid, block, stride):
    x = draw((*batch, *grid), dtype)
    B = ts.ArrayToBlocks(grid, block, stride)
    expected = blocks_by_definition(x, block, stride)
    y = B(ts.asarray(x))
    assert str(y.dtype) == dtype
    assert np.array_equal(y, expected)
    assert y.shape != (2, 2, 14, 7) or batch == (2, 2)
    coverage = np.asarray(B.N(np.ones((*batch, *grid), "float64")))
    folded = np.asarray(B.H(y)).astype("complex128")
    assert np.max(np.abs(folded - coverage * x)) <= 40 * np.finfo(dtype).eps * np.max(np.abs(x))
    inside = coverage > 0
    close(folded[inside] / coverage[inside], x.astype("complex128")[inside], float(np.finfo(dtype).eps) / 1e-16)


def test_blocks_into_a_given_array():
    B = ts.ArrayToBlocks((6, 5), (3, 2), (1, 3))
    x = draw((6, 5), "float32")
    out = ts.empty((4, 2, 3, 2), dtype="float32")
    B(x, out=out)
    assert np.array_equal(out, blocks_by_definition(x, (3, 2), (1, 3)))
    with pytest.raises(TypeError):
        B(x.astype("complex64"), out=out)


def test_large_strides_repeatedly():
    B = ts.ArrayToBlocks((40, 40, 40), (10, 10, 10), (30, 30, 30))
    x = draw((40, 40, 40), "float32")
    first = np.asarray(B.H(B(x)))
    for _ in range(5):
        assert np.array_equal(B.H(B(x)), first)
    kept = np.zeros_like(x)
    for corner in itertools.product((slice(0, 10), slice(30, 40)), repeat=3):
        kept[corner] = x[corner]
    assert np.array_equal(first, kept)


def test_block_names_and_sizes():
    B = ts.ArrayToBlocks((6, 5), (3, 2), (2, 1), batch_shape=("C",))
    assert B.ishape == ("C", "Nx", "Ny")
    assert B.oshape == ("C", "Bx", "By", "Nx1", "Ny1")
    assert [B.size(d) for d in ("C", "Nx", "Ny", "Bx", "By", "Nx1", "Ny1")] == [None, 6, 5, 2, 4, 3, 2]
    assert B.H.H is B
    assert B.N.ishape == B.ishape == B.N.oshape
    assert isinstance(B.H, ts.BlocksToArray)
    M = ts.ArrayToBlocks((5,), (3,), mask=[True, False, True])
    assert M.oshape[-2:] == ("Bx", "P")
    four = ts.ArrayToBlocks((3, 3, 3, 3), (2, 2, 2, 2), array_shape="ABCD", blocks_shape="EFGHIJKL")
    assert four(np.zeros((3, 3, 3, 3))).shape == (2,) * 8


def test_blocks_of_coils_have_a_normal():
    S = ts.Dense(draw((3, 6), "complex64"), ("C", "Nx"), ("Nx",), ("C", "Nx"))
    B = ts.ArrayToBlocks((6,), (3,), (1,), batch_shape=("C",))
    x = draw((6,), "complex64")
    A = B @ S
    assert A.N.ishape == ("Nx",)
    close(A.N(x), A.H(A(x)))


def test_blocks_cannot_be_cut_along_the_grid():
    B = ts.ArrayToBlocks((6,), (3,), (1,), batch_shape=("C",))
    for dim in ("Nx", "Bx", "Nx1"):
        with pytest.raises(ts.SplitError, match=dim):
            B.split({dim: slice(0, 2)})
    x = draw((4, 6), "float32")
    assert np.array_equal(B.split({"C": slice(1, 3)})(x[1:3]), np.asarray(B(x))[1:3])


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (((5,), (6,)), ts.ShapeError, "larger than the grid"),
        (((5, 5), (3,)), ts.ShapeError, "as many axes"),
        (((5,), (0,)), ts.ShapeError, "positive"),
        (((5,), (2,), (0,)), ts.ShapeError, "positive"),
        (((5,), (2,), (1,), np.ones(3, bool)), ts.ShapeError, "mask has shape"),
        (((5,), (2,), (1,), np.ones(2)), ts.DTypeError, "expected bool"),
        (((5,), (2,), (1,), np.zeros(2, bool)), ts.Error, "keeps no place"),
        (((5,) * 4, (2,) * 4), ts.DimError, "no default names"),
        (((5,), (2,), (1,), None, ("C",), ("X", "Y")), ts.DimError, "needs 1 names"),
        (((5,), (2,), (1,), None, ("C",), ("X",), ("B",)), ts.DimError, "need 2 names"),
        (((5,), (2,), (1,), None, ("C",), ("X",), ("X", "B")), ts.DimError, "appears twice"),
    ],
)
def test_blocks_refuse(arguments, error, text):
    with pytest.raises(error, match=text) as caught:
        ts.ArrayToBlocks(*arguments)
    assert "ArrayToBlocks" in str(caught.value)


def test_blocks_refuse_other_sizes():
    B = ts.ArrayToBlocks((5,), (3,), (1,))
    with pytest.raises(ts.DimError):
        B(np.zeros(6))
    with pytest.raises(ts.DimError):
        B.H(np.zeros((2, 3)))


# --- convolution


def convolved(x, kernel, mode):
    """Of the last axes of x, by definition; centre at n // 2."""
    rank = kernel.ndim
    out = np.zeros(x.shape, np.result_type(x, kernel))
    grid = x.shape[-rank:]
    for k in np.ndindex(*kernel.shape):
        shift = [i - n // 2 for i, n in zip(k, kernel.shape, strict=True)]
        moved = np.roll(x, shift, axis=tuple(range(-rank, 0)))
        if mode == "zeros":
            keep = np.ones(grid, bool)
            for a, s in enumerate(shift):
                at = np.arange(grid[a]) - s
                inside = (at >= 0) & (at < grid[a])
                keep &= inside.reshape([-1 if i == a else 1 for i in range(rank)])
            moved = moved * keep
        out = out + kernel[k] * moved
    return out


def test_convolution_by_hand():
    delta = [1.0, 0, 0, 0, 0]
    assert ts.Convolution([1.0, 2, 3])(delta).tolist() == [2, 3, 0, 0, 0]
    assert ts.Convolution([1.0, 2, 3], padding_mode="circular")(delta).tolist() == [2, 3, 0, 0, 1]
    assert ts.Convolution([1.0, 2])(delta).tolist() == [2, 0, 0, 0, 0]
    assert ts.Convolution([1.0, 2], padding_mode="circular")(delta).tolist() == [2, 0, 0, 0, 1]
    assert ts.Convolution([1, 2, 3])([1, 0, 0]).tolist() == [2.0, 3.0, 0.0]


@pytest.mark.parametrize("mode", ["zeros", "circular"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("kernel", "shape"),
    [((3,), (2, 9)), ((4,), (7,)), ((3, 2), (2, 3, 8, 8)), ((1, 5), (6, 11)), ((2, 3, 3), (5, 4, 6)), ((61,), (200,))],
)
def test_convolution_by_definition(mode, dtype, kernel, shape):
    k, x = draw(kernel, dtype, 1), draw(shape, dtype, 2)
    A = ts.Convolution(k, padding_mode=mode)
    close(A(x), convolved(x, k, mode), 2)
    y = draw(shape, dtype, 3)
    left, right = np.vdot(y, A(x)), np.vdot(A.H(y), x)
    assert abs(left - right) <= 1e3 * np.finfo(dtype).eps * np.linalg.norm(x) * np.linalg.norm(y)
    close(A.N(x), A.H(A(x)), 4)


def test_convolution_is_scipys():
    k, x = draw((5, 3), "float64", 1), draw((20, 31), "float64", 2)
    close(ts.Convolution(k)(x), scipy.signal.convolve(x, k, mode="same"))
    close(ts.Convolution(k, padding_mode="circular")(x), scipy.ndimage.convolve(x, k, mode="wrap"))


def test_mixed_types_of_kernel_and_data():
    k, x = draw((3,), "complex64", 1), draw((8,), "float32", 2)
    y = ts.Convolution(k)(x)
    assert str(y.dtype) == "complex64"
    close(y, convolved(x, k, "zeros"))
    z = draw((8,), "complex128", 3)
    y = ts.Convolution(draw((3,), "float32", 1))(z)
    assert str(y.dtype) == "complex128"
    half = ts.Convolution(np.array([0.5, 1, 0.25], "float16"))(np.arange(6, dtype="float16"))
    assert str(half.dtype) == "float16"
    assert half.tolist() == convolved(np.arange(6.0), np.array([0.5, 1, 0.25]), "zeros").tolist()


@pytest.mark.parametrize("normal_mode", ["conv", "fft"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_normal_modes(normal_mode, dtype):
    for kernel, shape in (((2, 3), (1, 5, 2)), ((3, 3), (2, 8, 7)), ((4,), (9,))):
        k, x = draw(kernel, dtype, 1), draw(shape, dtype, 2)
        A = ts.Convolution(k, padding_mode="circular", normal_mode=normal_mode)
        plain = ts.Convolution(k, padding_mode="circular")
        close(A.N(x), plain.H(plain(x)), 4)
        close(A.H.N(x), plain(plain.H(x)), 4)
        assert A.N.ishape == A.ishape


@pytest.mark.parametrize("mode", ["zeros", "circular"])
def test_long_lines_go_in_sections(mode):
    for n, taps in ((60000, 400), (50001, 255), (40960, 301)):
        k, x = draw((taps,), "float64", 1), draw((2, n), "float64", 2)
        A = ts.Convolution(k, padding_mode=mode)
        assert "in sections of" in A.explain(shape=x.shape, dtype="float64")
        full = np.stack([np.convolve(row, k) for row in x])
        expected = full[:, taps // 2 : taps // 2 + n].copy()
        if mode == "circular":
            wrapped = np.zeros((2, n))
            for start in range(0, full.shape[1], n):
                part = full[:, start : start + n]
                wrapped[:, : part.shape[1]] += part
            expected = np.roll(wrapped, -(taps // 2), axis=1)
        close(A(x), expected, 4)
        y = draw((2, n), "float64", 3)
        assert abs(np.vdot(y, A(x)) - np.vdot(A.H(y), x)) < 1e-9


def test_many_sizes_choose_direct_sums_or_transforms():
    x = draw((64, 64), "float32", 1)
    small, large = ts.Convolution(np.ones((3, 3), "float32")), ts.Convolution(draw((41, 41), "float32", 2))
    assert "direct" in small.explain(shape=x.shape, dtype="float32")
    assert "by FFT" in large.explain(shape=x.shape, dtype="float32")
    close(large(x), scipy.signal.convolve(x.astype("float64"), draw((41, 41), "float32", 2), mode="same"), 4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fft_convolution_is_the_circular_one(dtype):
    k, x = draw((3, 2), dtype, 1), draw((2, 3, 8, 8), dtype, 2)
    A, B = ts.FFTConvolution(k), ts.Convolution(k, padding_mode="circular")
    for f, g in ((A, B), (A.H, B.H), (A.N, B.N)):
        close(f(x), g(x), 4)
    assert str(A(x).dtype) == dtype
    assert A.size("Nx") is None
    y = draw((16, 15), dtype, 3)
    close(A(y), B(y), 4)
    close(A(x), B(x), 4)


def test_convolution_names():
    A = ts.Convolution(np.ones((2, 2)), batch_shape=("C",))
    assert A.ishape == ("C", "Nx", "Ny")
    assert A.oshape == ("C", "Nx1", "Ny1")
    assert A.H.oshape == A.ishape
    assert ts.Convolution(np.ones(2), ("C",), ("X",), ("Y",)).oshape == ("C", "Y")
    for dim in ("Nx", "Ny1"):
        with pytest.raises(ts.SplitError, match=dim):
            A.split({dim: slice(0, 1)})


@pytest.mark.parametrize("make", [ts.Convolution, ts.FFTConvolution])
def test_convolutions_refuse(make):
    name = make.__name__
    for arguments, text in (
        ((3.0,), "kernel of shape"),
        ((np.zeros((0, 2)),), "kernel of shape"),
        ((np.ones((2,) * 4),), "no default names"),
        ((np.ones(2), ("C",), ("X", "Y")), "needs 1 names"),
        ((np.ones(2), ("C",), ("X",), ("X",)), "appears twice"),
        ((np.ones(2), ("X",), ("X",)), "appears twice"),
    ):
        with pytest.raises(ValueError, match=text) as caught:
            make(*arguments)
        assert name in str(caught.value)
    with pytest.raises(ValueError, match="kernel of shape"):
        make(np.ones((9, 5)))(np.ones((3, 2)))


def test_convolution_refuses_unknown_modes():
    with pytest.raises(ValueError, match="padding_mode"):
        ts.Convolution([1.0], padding_mode="reflect")
    with pytest.raises(ValueError, match="normal_mode"):
        ts.Convolution([1.0], padding_mode="circular", normal_mode="toeplitz")
    for mode in ("conv", "fft"):
        with pytest.raises(ValueError, match="circular"):
            ts.Convolution([1.0], normal_mode=mode)
    with pytest.raises(ts.ShapeError):
        ts.FFTConvolution(np.ones((5, 5)))(np.ones((3, 3)))


# --- wavelets

NAMES = ["haar", *[f"db{i}" for i in range(1, 9)], *[f"sym{i}" for i in range(2, 9)], "coif1", "coif2", "coif3"]


def level_matrix(n, low):
    """One level of length n: approximations, then details; the last sample of an odd length passes through."""
    even, taps = n - n % 2, len(low)
    high = [(-1) ** (j + 1) * low[taps - 1 - j] for j in range(taps)]
    M = np.zeros((n, n))
    for o in range(even // 2):
        for j in range(taps):
            column = (taps // 2 + 2 * o - j) % even
            M[o, column] += low[j]
            M[n - even // 2 + o, column] += high[j]
    if n % 2:
        M[even // 2, n - 1] = 1
    return M


def low_of(name):
    """The filter, read off the operator: the first approximation of a long line of deltas."""
    n = 64
    W = ts.Wavelet("X", name, 1)
    first = np.array([float(W(np.eye(n)[j])[0]) for j in range(n)])
    taps = next(t for t in range(n, 0, -2) if np.any(first[[(t // 2) % n, (t // 2 - t + 1) % n]]))
    return [first[(taps // 2 - j) % n] for j in range(taps)]


@pytest.mark.parametrize("name", NAMES)
def test_filters_are_orthonormal(name):
    low = np.array(low_of(name))
    assert len(low) % 2 == 0
    assert abs(low.sum() - np.sqrt(2)) < 1e-14
    for shift in range(0, len(low), 2):
        assert abs(low[shift:] @ low[: len(low) - shift] - (shift == 0)) < 1e-14


@pytest.mark.parametrize("name", ["haar", "db2", "db3", "sym4", "coif1"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 24])
def test_lines_are_products_of_level_matrices(name, n):
    low = low_of(name)
    for level in (1, 2, 3):
        expected, length = np.eye(n), n
        for _ in range(level):
            if length > 1:
                expected[:length] = level_matrix(length, low) @ expected[:length]
            length = (length + 1) // 2
        W = ts.Wavelet("X", name, level)
        close(matrix_of(W, (n,), "float64"), expected)
        close(matrix_of(W.H, (n,), "float64"), expected.T)


def test_planes_are_separable():
    low = low_of("db2")
    x = draw((3, 6, 9), "complex128")
    expected = np.einsum("pa,qb,cab->cpq", level_matrix(6, low), level_matrix(9, low), x)
    W = ts.Wavelet(("Nx", "Ny"), "db2", 1)
    close(W(x), expected)
    close(W.H(expected), x)
    corner = np.einsum("pa,qb,cab->cpq", level_matrix(3, low), level_matrix(5, low), expected[:, :3, :5])
    expected[:, :3, :5] = corner
    close(ts.Wavelet(("Nx", "Ny"), "db2", 2)(x), expected)


@pytest.mark.parametrize("name", NAMES)
def test_wavelets_are_pywavelets(name):
    pywt = pytest.importorskip("pywt")
    x = draw((32,), "float64")
    packed, _ = pywt.coeffs_to_array(pywt.wavedec(x, name, "periodization", level=3))
    close(ts.Wavelet("X", name, 3)(x), packed, 1e4)  # its symlets have twelve digits
    image = draw((16, 24), "float64")
    packed, _ = pywt.coeffs_to_array(pywt.wavedec2(image, name, "periodization", level=2))
    close(ts.Wavelet("XY", name, 2)(image), packed, 1e4)


@pytest.mark.parametrize("dtype", ["float16", *DTYPES])
def test_wavelets_are_unitary(dtype):
    for shape in ((17,), (5, 12), (2, 7, 9, 4)):
        W = ts.Wavelet("XYZ"[: min(len(shape), 3)], "sym4", 2)
        x = draw(shape, dtype)
        y = W(x)
        assert str(y.dtype) == dtype
        assert y.shape == shape
        assert abs(np.linalg.norm(y.numpy().astype("complex128")) / np.linalg.norm(x) - 1) < 30 * np.finfo(dtype).eps
        close(W.H(y), x, 2)
        close(W(W.H(x)), x, 2)
        assert isinstance(W.N, ts.Identity)


def test_wavelets_take_as_many_levels_as_fit():
    x = draw((64,), "float64")
    assert np.array_equal(ts.Wavelet("X", "db2")(x), ts.Wavelet("X", "db2", 4)(x))
    assert np.array_equal(ts.Wavelet("X", "db8")(x), ts.Wavelet("X", "db8", 2)(x))
    assert np.array_equal(ts.Wavelet("X", "haar", 20)(x), ts.Wavelet("X", "haar", 6)(x))


def test_wavelets_of_integers_and_names():
    assert ts.Wavelet("X", "haar", 1)([2, 2]).tolist() == pytest.approx([8**0.5, 0])
    W = ts.Wavelet(("X", "Y"), "db4", 1, batch_shape=("C",))
    assert W.oshape == ("C", "X1", "Y1")
    assert ts.Wavelet("X", out_shape=("U",)).oshape[-1] == "U"


@pytest.mark.parametrize(
    ("arguments", "keywords", "text"),
    [
        (("X", "db99"), {}, "no wavelet 'db99'"),
        (("X", "db4", 0), {}, "level 0"),
        (("X", "db4", 1, "symmetric"), {}, "periodization"),
        ((("...",), "db4"), {}, "at least one name"),
        (((), "db4"), {}, "at least one name"),
        (("X", "db4"), {"out_shape": ("U", "V")}, "need 1 names"),
        (("X", "db4"), {"out_shape": ("X",)}, "appears twice"),
        (("X", "db4"), {"batch_shape": ("X",)}, "appears twice"),
    ],
)
def test_wavelets_refuse(arguments, keywords, text):
    with pytest.raises(ValueError, match=text) as caught:
        ts.Wavelet(*arguments, **keywords)
    assert "Wavelet" in str(caught.value)


def test_wavelets_cannot_be_cut_along_the_grid():
    W = ts.Wavelet("X", "db2", 1, batch_shape=("C",))
    for dim in ("X", "X1"):
        with pytest.raises(ts.SplitError, match=dim):
            W.split({dim: slice(0, 2)})
    x = draw((3, 8), "float32")
    assert np.array_equal(W.split({"C": slice(0, 2)})(x[:2]), np.asarray(W(x))[:2])


@pytest.mark.parametrize("length", [0, 2, 3])  # of 1 a weight goes with any size
def test_blocks_of_dims_of_any_length(length):
    """An empty dim is one: operators with it, their adjoints, normals and tiles give empty arrays, or zeros."""
    D = ts.Diagonal(np.arange(1.0, 1 + 2 * length).reshape(length, 2), ("S", "T"))
    row = ts.Diagonal(np.ones(length), ("S",))
    for A, shape in [
        (ts.BlockDiag(D, D, idim="S", odim="S"), (2 * length, 2)),
        (ts.Stack(D, D, odim_and_idx=("P", 0)), (length, 2)),
        (ts.Zero(("S",), ("P",), {"P": 3}) @ row, (length,)),
        (row @ ts.Zero(("P",), ("S",), {"S": length, "P": 3}), (3,)),
    ]:
        x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        y = A(x).numpy()
        back = A.H(y).numpy()
        np.testing.assert_array_equal(A.N(x).numpy(), back)
        for dim in (dim for dim, n in zip(A.ishape, shape, strict=True) if n):  # there is nothing to cut of the others
            tiled = ts.create_batched_linop(A, ts.BatchSpec({str(dim): 1}, ["sim:0"]), shape=shape)
            np.testing.assert_array_equal(tiled(x).numpy(), y, err_msg=f"{A} cut along {dim}")
