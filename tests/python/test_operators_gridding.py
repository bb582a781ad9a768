# SPDX-License-Identifier: Apache-2.0
"""Interpolate, Sampling and NUFFT: known numbers, brute force in NumPy, SciPy and SigPy."""

import itertools

import numpy as np
import pytest
import scipy.special
from support import check, close, draw_numbers, on, relative

import tessera as ts


def kernel_value(u, kernel, beta):
    u = np.abs(u)
    if kernel == "spline":
        return np.where(u <= 1, np.maximum(0, 1 - u), 0)
    return np.where(u <= 1 + 1e-12, scipy.special.i0(beta * np.sqrt(np.maximum(0, 1 - u * u))), 0)


def interpolation_matrix(locs, grid, width, kernel="kaiser_bessel", norm=1, pad_mode="circular", beta=1.0):
    """Dense, from the definition: every period of the grid within reach of the kernel."""
    D = len(grid)
    width = np.broadcast_to(width, D)
    locs = np.asarray(locs, float).reshape(-1, D)
    matrix = np.zeros((len(locs), *grid))
    reach = [int(w // n) + 2 if pad_mode == "circular" else 0 for w, n in zip(width, grid, strict=True)]
    for p, loc in enumerate(locs):
        for period in itertools.product(*(range(-r, r + 1) for r in reach)):
            axes = [(np.arange(n) + k * n - c) / (w / 2) for n, k, c, w in zip(grid, period, loc, width, strict=True)]
            if norm == 2:
                u = np.sqrt(
                    sum(np.square(a).reshape([-1 if i == d else 1 for i in range(D)]) for d, a in enumerate(axes))
                )
                inside = np.ones(grid, bool)
                for d, a in enumerate(axes):
                    inside &= (np.abs(a) <= 1).reshape([-1 if i == d else 1 for i in range(D)])
                matrix[p] += np.where(inside, kernel_value(u, kernel, beta), 0)
            else:
                product = np.ones(())
                for a in axes:
                    product = product[..., None] * kernel_value(a, kernel, beta)
                matrix[p] += product
    return matrix.reshape(len(locs), -1)


def ungrid(values, loc, width=4.0, **kw):
    A = ts.Interpolate(np.atleast_2d(np.asarray(loc, float)).T, (len(values),), width=width, **kw)
    return A(np.asarray(values, float)).numpy()


ONE_TO_EIGHT = np.arange(1.0, 9)


class TestInterpolate:
    def test_kernels_at_known_distances(self):  # case 100
        for beta, expected in [(1.0, [1.2660658, 1.1964743, 1.0]), (2.0, [2.2795853, 1.9029099, 1.0])]:
            for offset, value in enumerate(expected):
                x = np.zeros(9)
                x[4 + offset] = 1
                assert abs(ungrid(x, 4.0, kernel_params={"beta": beta})[0] - value) < 1e-7
        x = np.zeros(9)
        x[5] = 1
        assert ungrid(x, 4.0, kernel="spline")[0] == 0.5
        x[5], x[6], x[2] = 0, 1, 1
        assert ungrid(x, 4.0, kernel="spline")[0] == 0

    def test_known_numbers(self):  # cases 101 to 103
        assert abs(ungrid(ONE_TO_EIGHT, 4.0)[0] - 28.295072) < 1e-6
        assert abs(ungrid(ONE_TO_EIGHT, 3.3)[0] - 21.069920) < 1e-6
        assert abs(ungrid(ONE_TO_EIGHT, 0.0)[0] - 23.230809) < 1e-6
        assert abs(ungrid(ONE_TO_EIGHT, 0.0, pad_mode="zero")[0] - 6.659014) < 1e-6
        for loc, width, mode, value in [
            (4.0, 4, "circular", 10.0),
            (3.5, 4, "circular", 9.0),
            (7.5, 4, "circular", 9.0),
            (7.5, 4, "zero", 7.75),
            (3.25, 2, "circular", 4.25),
            (3.0, 1, "circular", 4.0),
        ]:
            assert ungrid(ONE_TO_EIGHT, loc, width, kernel="spline", pad_mode=mode)[0] == value
        A = ts.Interpolate([[4.0]], (8,))
        check(
            A.H([1.0]),
            np.array([0, 0, 1, 1.1964743, 1.2660658, 1.1964743, 1, 0]),
            tol=1e-7,
        )

    @pytest.mark.parametrize(
        "grid, width",
        [((10,), 4), ((24,), 3.5), ((2, 2), 2), ((10, 8), 4), ((13, 9), (2, 5.0)), ((6, 5, 7), 3), ((7,), 1.2)],
    )
    @pytest.mark.parametrize("kernel, beta", [("kaiser_bessel", 5.0), ("spline", 1.0)])
    @pytest.mark.parametrize("norm", [1, 2])
    @pytest.mark.parametrize("pad_mode", ["circular", "zero"])
    def test_brute_force(self, device, rng, grid, width, kernel, beta, norm, pad_mode):  # 104, 106, 107
        locs = rng.uniform(-1, np.array(grid) + 1, (3, 4, len(grid)))
        locs[0, 0] = 0  # on the grid, at its edge
        options = dict(width=width, kernel=kernel, norm=norm, pad_mode=pad_mode)
        A = ts.Interpolate(
            locs, grid, ("C",), ("R", "K"), ("X", "Y", "Z")[: len(grid)], kernel_params={"beta": beta}, **options
        ).to(device)
        matrix = interpolation_matrix(locs, grid, beta=beta, **options)
        for dtype, tol in [("float32", 3e-6), ("float64", 1e-13), ("complex64", 3e-6), ("complex128", 1e-13)]:
            x = draw_numbers(rng, (2, *grid), dtype)
            y = draw_numbers(rng, (2, 3, 4), dtype)
            got, back = A(on(device, x)), A.H(on(device, y))
            assert got.dtype == dtype and back.dtype == dtype
            close(got, (x.reshape(2, -1) @ matrix.T).reshape(2, 3, 4), tol)
            close(back, (y.reshape(2, -1) @ matrix).reshape(2, *grid), tol)

    @pytest.mark.parametrize(
        "shape, count, width",
        [
            ((10,), 50, 4),
            ((24,), 50, 3),
            ((220,), 1000, 4),
            ((2, 2), 20, 2),
            ((10, 8), 50, 3),
            ((124, 125), 5000, 4),
            ((220, 220), 20000, 4),
            ((10, 8, 9), 100, 3),
            ((33, 35, 37), 2000, 3),
        ],
    )
    @pytest.mark.parametrize("kernel", ["kaiser_bessel", "spline"])
    @pytest.mark.parametrize("pad_mode", ["circular", "zero"])
    @pytest.mark.parametrize("dtype", ["float32", "complex64"])
    def test_as_sigpy(self, rng, shape, count, width, kernel, pad_mode, dtype):  # case 104; 220 cubed: test_large.py
        interp = pytest.importorskip("sigpy").interp
        margin = width / 2 if pad_mode == "zero" else 0  # SigPy wraps around at the ends
        if min(shape) - 1 <= 2 * margin and margin > 0:
            pytest.skip("no point is away from the edges")
        locs = rng.uniform(margin, np.array(shape) - 1 - margin, (count, len(shape)))
        x, y = draw_numbers(rng, shape, dtype), draw_numbers(rng, (count,), dtype)
        A = ts.Interpolate(locs, shape, width=width, kernel=kernel, pad_mode=pad_mode, kernel_params={"beta": 2.0})
        options = dict(kernel=kernel, width=width, param=2.0 if kernel == "kaiser_bessel" else 1)
        close(A(x), interp.interpolate(x, locs, **options), 1e-5)
        close(A.H(y), interp.gridding(y, locs, shape, **options), 1e-5)

    def test_names_sizes_and_splitting(self, rng):  # case 108
        locs = rng.uniform(0, 6, (8, 6, 5, 3))
        A = ts.Interpolate(locs, (6, 7, 8), None, ("A", "B", "C"))
        assert A.ishape == ("...", "Nx", "Ny", "Nz") and A.oshape == ("...", "A", "B", "C")
        assert [A.size(d) for d in ("A", "B", "C", "Nx", "Ny", "Nz")] == [8, 6, 5, 6, 7, 8]
        part = A.split({"B": slice(0, 4), "C": slice(2, 3)})
        assert part.locs.shape == (8, 4, 1, 3)
        x = rng.standard_normal((2, 6, 7, 8))
        check(part(x), A(x).numpy()[:, :, 0:4, 2:3], tol=1e-12)
        with pytest.raises(ts.SplitError, match="Interpolate.*'Ny'"):
            A.split({"Ny": slice(0, 2)})
        assert ts.Interpolate([[0.5]], (5,)).oshape == ("...", "K")
        assert ts.Interpolate([0.5], (5,)).oshape == ("...",)

    def test_containers_keep_the_adjoint_when_split(self, rng):  # case 109
        A = ts.Interpolate(rng.uniform(0, 9, (7, 1)), (9,), (), ("K",), ("X",))
        S = ts.Sampling((rng.integers(0, 9, 5),), (9,), ("M",), ("X",), ())
        for op, dim, n in [(A, "K", 7), (S, "M", 5)]:
            back = ts.Diagonal(rng.standard_normal(9), ("X",)) @ op.H
            y = rng.standard_normal(n)
            parts = [back.split({dim: slice(0, 3)}), back.split({dim: slice(3, n)})]
            total = parts[0](y[:3]).numpy() + parts[1](y[3:]).numpy()
            check(back(y), total, tol=1e-12)
        coils = ts.Interpolate(A.locs, (9,), ("C",), ("K",), ("X",))
        x = rng.standard_normal((4, 9))
        check(coils.N.split({"C": slice(1, 3)})(x[1:3]), coils.H(coils(x)).numpy()[1:3], tol=1e-12)

    def test_normal_keeps_the_input_names(self, rng):  # case 68b
        A = ts.Interpolate(rng.uniform(0, 9, (7, 1)), (9,), ("C",), ("K",), ("X",))
        assert A.N.ishape == ("C", "X") and A.N.oshape == ("C", "X1")

    def test_other_dtypes(self):
        A = ts.Interpolate([[0.25]], (2,), width=2, kernel="spline")
        assert A(np.array([0, 4])).dtype == "float64" and A(np.array([0, 4])).tolist() == [1.0]
        assert A(np.array([0, 4], "float16")).dtype == "float32"
        assert ts.Interpolate(np.array([[1]]), (3,), width=1)([1.0, 2.0, 3.0]).shape == (1,)

    @pytest.mark.parametrize(
        "change, error, text",
        [
            (dict(width=(2.0, 2.0, 2.0)), ValueError, "3 widths for 2 axes"),
            (dict(width=0), ValueError, "width 0"),
            (dict(width=float("nan")), ValueError, "width"),
            (
                dict(width=(4.0, 5.5)),
                ValueError,
                "width 5.5 is larger than the grid along dim 'Ny', which has 5 points",
            ),
            (dict(kernel="gauss"), ValueError, "'kaiser_bessel' or 'spline', got 'gauss'"),
            (dict(norm=3), ValueError, "norm 3"),
            (dict(pad_mode="reflect"), ValueError, "'circular' or 'zero'"),
            (dict(kernel_params={"alpha": 1}), ValueError, "'alpha'"),
            (dict(kernel_params={"beta": -1.0}), ValueError, "beta"),
            (dict(locs=[[0.0, np.nan]]), ValueError, "location 0 is nan along axis 1"),
            (dict(locs=[[np.inf, 0.0]]), ValueError, "finite"),
            (dict(locs=[[0.0]]), ValueError, r"expected \(..., 2\)"),
            (dict(locs=np.zeros((1, 2), complex)), TypeError, "real numbers"),
            (dict(grid_size=(4, 0)), ValueError, "no point"),
            (dict(grid_size=(2, 2, 2, 2), locs=np.zeros((1, 4))), ValueError, "one to three"),
            (dict(grid_shape=("X",)), ValueError, "names"),
            (dict(locs_batch_shape=("A", "B")), ValueError, "expected 1"),
            (dict(locs_batch_shape=("Nx",)), ValueError, "'Nx' appears twice"),
            (dict(batch_shape=("K",)), ValueError, "'K' appears twice"),
        ],
    )
    def test_bad_input(self, change, error, text):
        arguments = dict(locs=[[0.5, 1.5]], grid_size=(4, 5)) | change
        with pytest.raises(error, match=text) as caught:
            ts.Interpolate(**arguments)
        assert "Interpolate" in str(caught.value)


class TestSampling:
    def test_split_is_slicing(self, device, rng):  # case 116
        idx = rng.integers(0, 64, (2, 13, 17))
        A = ts.Sampling(tuple(idx), (64, 64), ("R", "K"), batch_shape=("C",)).to(device)
        x = draw_numbers(rng, (3, 64, 64), "complex64")
        expected = x[:, idx[0], idx[1]]
        check(A(on(device, x)), expected)
        part = A.split({"R": slice(2, 5), "K": slice(4, 10)})
        check(part(on(device, x)), expected[:, 2:5, 4:10])
        assert A.size("R") == 13 and A.size("Nx") == 64 and A.size("C") is None
        with pytest.raises(ts.SplitError, match="Sampling.*'Nx'"):
            A.split({"Nx": slice(0, 2)})

    def test_mask_and_locs(self):  # case 116
        mask = np.zeros((8, 9), bool)
        mask[2, 3] = mask[5, 6] = True
        A = ts.Sampling.from_mask(mask, (8, 9), ("K",))
        x = np.arange(72.0).reshape(8, 9)
        assert A(x).tolist() == [x[2, 3], x[5, 6]]
        assert A.locs.shape == (2, 2) and A.locs.tolist() == [[2, 3], [5, 6]]
        B = ts.Sampling.from_stacked_idx(A.locs, (8, 9))
        assert B(x).tolist() == A(x).tolist()
        assert ts.Sampling.from_stacked_idx(A.locs.numpy().T, (8, 9), dim=0)(x).tolist() == A(x).tolist()

    def test_broadcast_indices_and_slices(self, rng):  # case 117
        x = rng.standard_normal((4, 5))
        rows, columns = np.array([[1], [0], [1]]), np.array([1, 2, 3])
        A = ts.Sampling((rows, columns), (4, 5), ("P", "Q"))
        check(A(x), x[rows, columns])
        for key in [(slice(None), np.array([1, 3])), (np.array([1, 3]), slice(0, 4, 2)), (slice(1, 3), slice(None))]:
            A = ts.Sampling(key, (4, 5), ("P", "Q"))
            check(A(x), x[key])
            y = rng.standard_normal(x[key].shape)
            expected = np.zeros_like(x)
            np.add.at(expected, key, y)
            check(A.H(y), expected, tol=1e-12)
        assert ts.Sampling(([1, 3, 2],), (4,)).H([5, 4, -1]).tolist() == [0, 5, -1, 4]

    def test_repeated_points_add_up_and_normal_counts(self, device, rng):
        idx = rng.integers(0, 5, 40)
        A = ts.Sampling((idx,), (5,)).to(device)
        y = draw_numbers(rng, (3, 40), "complex64")
        expected = np.zeros((3, 5), "complex64")
        np.add.at(expected, (slice(None), idx), y)
        check(A.H(on(device, y)), expected, tol=1e-5)
        assert isinstance(A.N, ts.Diagonal) and A.N.ishape == A.ishape == A.N.oshape
        x = draw_numbers(rng, (2, 5), "complex128")
        check(A.N(on(device, x)), np.bincount(idx, minlength=5) * x, tol=1e-12)
        assert A.N(on(device, x)).dtype == "complex128"

    def test_any_dtype(self, device):
        A = ts.Sampling(([2, 0],), (3,)).to(device)
        for dtype in ["int32", "float16", "float64", "complex64"]:
            y = A(on(device, np.array([1, 2, 3], dtype)))
            assert y.dtype == dtype and y.tolist() == [3, 1]

    @pytest.mark.parametrize(
        "make, error, text",
        [
            (lambda: ts.Sampling(([8],), (8,)), ValueError, "index 8 is out of range for dim 'Nx'"),
            (lambda: ts.Sampling(([0], [-1]), (8, 8)), ValueError, "index -1 is out of range for dim 'Ny'"),
            (lambda: ts.Sampling(([0],), (8, 8)), ValueError, "1 index arrays"),
            (lambda: ts.Sampling(([0.5],), (8,)), TypeError, "expected integers"),
            (lambda: ts.Sampling(([0],), (0,)), ValueError, "no point"),
            (lambda: ts.Sampling(([0],), (8,), ("A", "B")), ValueError, "names"),
            (lambda: ts.Sampling(([0],), (8,), ("Nx",)), ValueError, "'Nx' appears twice"),
            (lambda: ts.Sampling(([0],), (8,), None, ("X", "Y")), ValueError, "names"),
            (lambda: ts.Sampling(([[0, 1]], [[0], [1], [2]]), (8, 8), ("K",)), ValueError, "names"),
            (lambda: ts.Sampling.from_mask([1, 0]), TypeError, "expected bool"),
            (lambda: ts.Sampling.from_mask([True], (2,)), ValueError, "grid of shape"),
            (lambda: ts.Sampling.from_stacked_idx([[0]], (8, 8)), ValueError, r"expected \(..., 2\)"),
        ],
    )
    def test_bad_input(self, make, error, text):
        with pytest.raises(error, match=text) as caught:
            make()
        assert "Sampling" in str(caught.value)


def dft_matrix(locs, grid):
    """y(k) = N^-1/2 sum x[n] exp(-2 pi i k (n - N//2) / N), dense."""
    locs = np.asarray(locs, float).reshape(-1, len(grid))
    matrix = np.ones((len(locs), 1))
    for d, n in enumerate(grid):
        phase = np.exp(-2j * np.pi * np.outer(locs[:, d], np.arange(n) - n // 2) / n) / np.sqrt(n)
        matrix = (matrix[:, :, None] * phase[:, None, :]).reshape(len(locs), -1)
    return matrix


def random_complex(rng, shape, dtype="complex128"):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def operators_in(A):
    return [A, *itertools.chain.from_iterable(operators_in(p) for p in A.linops)]


class TestNUFFT:
    def test_known_numbers(self):  # case 112
        A = ts.NUFFT([[0.0], [0.3], [-1.5]], (8,))
        y = A(ONE_TO_EIGHT).numpy()
        expected = [12.7217178, 11.2451723 - 1.9106638j, -2.6446654 + 1.2080893j]
        assert np.abs(y - expected).max() < 1e-6
        assert y.dtype == "complex128"

    @pytest.mark.parametrize(
        "oversamp, width, bound", [(1.25, 4, 3.7e-3), (2, 6, 3.1e-6), (2, 12, 1e-11), (1.5, 10, 1e-7)]
    )
    def test_accuracy(self, oversamp, width, bound):  # case 112
        x, k = np.arange(1.0, 17), np.linspace(-8, 8, 401)[:, None]
        exact = dft_matrix(k, (16,)) @ x
        y = ts.NUFFT(k, (16,), oversamp=oversamp, width=width)(x).numpy()
        error = np.abs(y - exact).max() / np.abs(exact).max()
        assert error < bound, error

    @pytest.mark.parametrize("grid", [(8,), (7,), (9, 12), (11, 8), (5, 6, 7), (6, 1, 4)])
    def test_against_the_dft(self, device, rng, grid):
        locs = rng.uniform(-0.5, 0.5, (3, 5, len(grid))) * grid
        A = ts.NUFFT(locs, grid, ("R", "K"), batch_shape=("C",), oversamp=2, width=8).to(device)
        matrix = dft_matrix(locs, grid)
        for dtype, tol in [("complex64", 5e-6), ("complex128", 3e-7)]:
            x, y = random_complex(rng, (2, *grid), dtype), random_complex(rng, (2, 3, 5), dtype)
            got, back = A(on(device, x)), A.H(on(device, y))
            assert got.dtype == dtype and back.dtype == dtype
            close(got, (x.reshape(2, -1) @ matrix.T).reshape(2, 3, 5), tol)
            close(back, (y.reshape(2, -1) @ matrix.conj()).reshape(2, *grid), tol)
        assert A(on(device, x.real.astype("float32").copy())).dtype == "complex64"

    def test_double_precision_is_kept(self, rng):
        """Weights and apodisation follow the data: an accurate kernel gives more than single precision."""
        locs = rng.uniform(-8, 8, (20, 1))
        x = random_complex(rng, 16)
        close(ts.NUFFT(locs, (16,), oversamp=2, width=14)(x), dft_matrix(locs, (16,)) @ x, 1e-12)

    @pytest.mark.parametrize("oversamp, width", [(1.25, 4), (2, 6)])
    @pytest.mark.parametrize("grid, count", [((32, 32, 32), (3, 5)), ((120, 119), (40,)), ((146,), (7, 9))])
    def test_as_sigpy(self, rng, grid, count, oversamp, width):  # case 113
        sp = pytest.importorskip("sigpy")
        locs = rng.uniform(-0.5, 0.5, (*count, len(grid))) * grid
        names = ("R", "K")[: len(count)]
        A = ts.NUFFT(locs, grid, names, batch_shape=("B", "C"), oversamp=oversamp, width=width)
        assert [A.size(d) for d in names] == list(count)
        x, y = random_complex(rng, (2, 1, *grid)), random_complex(rng, (2, 1, *count))
        options = dict(oversamp=oversamp, width=width)
        close(A(x), sp.nufft(x, locs, **options), 1e-6)
        close(A.H(y), sp.nufft_adjoint(y, locs, (2, 1, *grid), **options), 1e-6)

    def test_padded_size_rounds_up(self):
        A = ts.NUFFT([[0.0]], (119,))
        sizes = [p.size("Kx") for p in A.linops if p.size("Kx") is not None]
        assert sizes and set(sizes) == {149}

    def test_locations_are_periodic(self, rng):  # case 114
        locs = rng.uniform(-32, 32, (50, 2))
        x = random_complex(rng, (64, 64))
        A, B = ts.NUFFT(locs, (64, 64)), ts.NUFFT(locs + [64, -128], (64, 64), wrap=True)
        # A shift by n frequencies turns the sign by (-1)^n of the centre, here even.
        close(B(x), A(x).numpy(), 1e-10)

    def test_sampling_mode(self, device, rng):  # case 114
        locs = rng.uniform(-4, 4, (12, 2))
        A = ts.NUFFT(locs, (8, 9), ("K",), mode="sampling", oversamp=1.25).to(device)
        x = random_complex(rng, (3, 8, 9))
        padded = np.zeros((3, 10, 12), complex)
        padded[:, 1:9, 2:11] = x
        k = np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(padded, (1, 2)), axes=(1, 2), norm="ortho"), (1, 2))
        at = np.round(locs * [10 / 8, 12 / 9] + [5, 6]).astype(int) % [10, 12]
        close(A(on(device, x)), k[:, at[:, 0], at[:, 1]], 1e-12)
        assert any(isinstance(p, ts.Sampling) for p in A.linops)

    def test_prepared_locations(self, rng):
        locs = rng.uniform(-4, 4, (12, 1))
        x = random_complex(rng, 8)
        prepared = ts.NUFFT(locs * 10 / 8 + 5, (8,), do_prep_locs=False)
        close(prepared(x), ts.NUFFT(locs, (8,))(x).numpy(), 1e-12)

    def test_apodisation_of_ones_own(self, rng):
        locs = rng.uniform(-4, 4, (12, 1))
        x, w = random_complex(rng, 8), rng.uniform(0.5, 1, 8)
        plain = ts.NUFFT(locs, (8,), apodize_weights=np.ones(8))
        close(ts.NUFFT(locs, (8,), apodize_weights=w)(x), plain(w * x).numpy(), 1e-12)
        # case 111
        known = [0.07492529, 0.03248311, 0.01905986, 0.01411244, 0.01280297, 0.01411244, 0.01905986, 0.03248311]
        close(ts.NUFFT(locs, (8,))(x), plain(known * x).numpy(), 1e-6)

    def test_sense_chain(self, rng):  # case 118, smaller; at its size in test_large.py
        grid, coils = (16, 12, 10), 11
        locs = rng.uniform(-0.5, 0.5, (6, 28, 3)) * grid
        maps = random_complex(rng, (coils, *grid))
        S = ts.Dense(maps, ("C", "Nx", "Ny", "Nz"), ("Nx", "Ny", "Nz"), ("C", "Nx", "Ny", "Nz"))
        F = ts.NUFFT(locs, grid, ("R", "K"), batch_shape=("C",))
        x = random_complex(rng, grid)
        y = (F @ S)(x)
        assert y.shape == (coils, 6, 28)
        close(y, F(maps * x).numpy(), 1e-12)
        N = (F @ S).N
        assert N.ishape == ("Nx", "Ny", "Nz")
        close(N(x), (F @ S).H(y).numpy(), 1e-12)

    def test_splitting(self, device, rng):
        locs = rng.uniform(-4, 4, (6, 5, 2))
        A = ts.NUFFT(locs, (8, 8), ("R", "K"), batch_shape=("C",), toeplitz=True).to(device)
        x, y = random_complex(rng, (3, 8, 8)), random_complex(rng, (3, 6, 5))
        tile = A.split({"R": slice(1, 3), "K": slice(0, 4), "C": slice(0, 2)})
        assert tile.locs.shape == (2, 4, 2)
        assert all(p.locs.shape[:-1] == (2, 4) for p in tile.linops if hasattr(p, "locs"))
        close(tile(on(device, x[:2])), A(on(device, x)).numpy()[:2, 1:3, :4], 1e-12)
        rest = [A.H.split({"R": slice(0, 2)}), A.H.split({"R": slice(2, 6)})]
        total = rest[0](on(device, y[:, :2])).numpy() + rest[1](on(device, y[:, 2:])).numpy()
        close(A.H(on(device, y)), total, 1e-12)
        # Normal operators of tiles add up to that of the whole: nothing of the whole is left in them.
        parts = [A.split({"R": slice(0, 2)}).N, A.split({"R": slice(2, 6)}).N]
        close(parts[0](on(device, x)).numpy() + parts[1](on(device, x)).numpy(), A.N(on(device, x)).numpy(), 1e-4)
        with pytest.raises(ts.SplitError, match="NUFFT.*'Nx'"):
            A.split({"Nx": slice(0, 2)})

    def test_names(self, rng):
        A = ts.NUFFT(np.zeros((3, 2, 1)), (8,), ("Nx1", "Kx"), ("Nx",), batch_shape=("C",))
        assert A.ishape == ("C", "Nx") and A.oshape == ("C", "Nx1", "Kx")
        assert A.N.ishape == ("C", "Nx")
        B = A.rename({"Nx": "X", "Kx": "P"})
        assert B.ishape == ("C", "X") and B.oshape == ("C", "Nx1", "P") and isinstance(B, ts.NUFFT)
        x = random_complex(rng, (2, 8))
        close(B(x), A(x).numpy(), 1e-12)

    @pytest.mark.parametrize(
        "change, error, text",
        [
            (dict(locs=[[np.nan, 0.0]]), ValueError, "location 0 is nan along axis 0"),
            (dict(locs=[[0.0, -np.inf]]), ValueError, "finite"),
            (dict(locs=[[0.0]]), ValueError, r"expected \(..., 2\)"),
            (dict(locs=np.zeros((1, 2), complex)), TypeError, "real numbers"),
            (dict(mode="linear"), ValueError, "'interpolate' or 'sampling', got 'linear'"),
            (dict(oversamp=0.5), ValueError, "oversamp 0.5"),
            (dict(width=1), ValueError, "too narrow"),
            (dict(width=100), ValueError, "width 100"),
            (dict(apodize_weights=np.full((8, 9), np.nan)), ValueError, "finite"),
            (dict(apodize_weights=np.ones(8)), ValueError, "apodize_weights of shape"),
            (dict(grid_size=(8, 0)), ValueError, "not empty"),
            (dict(output_shape=("R", "K")), ValueError, "expected 1"),
            (dict(output_shape=("Nx",)), ValueError, "'Nx' appears twice"),
            (dict(input_shape=("X",)), ValueError, "names"),
            (dict(input_kshape=("X",)), ValueError, "names"),
            (dict(input_kshape=("K", "Ky")), ValueError, "'K' appears twice"),
            (dict(toeplitz=True, toeplitz_oversamp=1.5), ValueError, "doubled"),
        ],
    )
    def test_bad_input(self, change, error, text):
        arguments = dict(locs=[[0.5, 1.5]], grid_size=(8, 9)) | change
        with pytest.raises(error, match=text) as caught:
            ts.NUFFT(**arguments)
        assert any(who in str(caught.value) for who in ("NUFFT", "Interpolate"))


class TestToeplitz:
    """Normal operators without the points, as accurate as the NUFFT itself (case 115)."""

    @pytest.mark.parametrize("oversamp, width", [(1.25, 4), (2, 6)])
    @pytest.mark.parametrize("grid", [(16,), (15,), (12, 15), (6, 5, 8)])
    @pytest.mark.parametrize("weighting", [None, "real", "complex", "coils"])
    def test_accuracy(self, device, rng, oversamp, width, grid, weighting):
        locs = rng.uniform(-0.5, 0.5, (4, 30, len(grid))) * grid
        options = dict(oversamp=oversamp, width=width)
        A, plain = (
            ts.NUFFT(locs, grid, ("R", "K"), batch_shape=("C",), toeplitz=t, **options).to(device)
            for t in (True, False)
        )
        x = random_complex(rng, (3, *grid))
        if weighting is None:
            T, exact_weights = A.N, np.ones((4, 30))
        else:
            shape = (3, 4, 30) if weighting == "coils" else (4, 30)
            exact_weights = rng.uniform(0.5, 2, shape)
            if weighting == "complex":
                exact_weights = exact_weights * np.exp(1j * rng.uniform(0, 1, shape))
            T = A.normal(ts.Diagonal(on(device, exact_weights), ("C", "R", "K")))
        assert not any(isinstance(p, (ts.NUFFT, ts.Interpolate)) for p in operators_in(T))
        assert T.ishape == A.ishape
        got = T(on(device, x))
        chained = plain.H(on(device, exact_weights * plain(on(device, x)).numpy())).numpy()
        matrix = dft_matrix(locs, grid)
        y = (x.reshape(3, -1) @ matrix.T).reshape(3, 4, 30) * exact_weights
        exact = (y.reshape(3, -1) @ matrix.conj()).reshape(3, *grid)
        accuracy = relative(chained, exact)  # of the kernel, for this problem
        assert accuracy < (2e-2 if width == 4 else 2e-5)
        close(got, chained, 1.1 * accuracy)
        close(got, exact, accuracy / 20)

    def test_folds_in_a_chain(self, rng):
        grid = (10, 12)
        locs = rng.uniform(-5, 5, (80, 2))
        maps = random_complex(rng, (4, *grid))
        S = ts.Dense(maps, ("C", "Nx", "Ny"), ("Nx", "Ny"), ("C", "Nx", "Ny"))
        D = ts.Diagonal(rng.uniform(0.5, 2, 80), ("C", "K"))
        A = D @ ts.NUFFT(locs, grid, ("K",), batch_shape=("C",), oversamp=2, width=6, toeplitz=True) @ S
        N = A.N
        assert not any(isinstance(p, ts.NUFFT) for p in operators_in(N))
        x = random_complex(rng, grid)
        close(N(x), A.H(A(x)).numpy(), 2e-5)
        with ts.config.using(rewrite=False):
            plain = A.H @ A
        close(plain(x), A.H(A(x)).numpy(), 1e-12)

    @pytest.mark.parametrize("batch", [("A",), None])
    @pytest.mark.parametrize("names", ["BAK", "KBA", "BA", "RKAB"])
    @pytest.mark.parametrize("dtype", ["float64", "complex128", "complex64"])
    def test_matrices_between_batches(self, device, rng, batch, names, dtype):
        grid, sizes = (9, 12), dict(A=3, B=2, R=2, K=40)
        locs = rng.uniform(-0.5, 0.5, (2, 40, 2)) * grid
        A, plain = (
            ts.NUFFT(locs, grid, ("R", "K"), batch_shape=batch, oversamp=2, width=6, toeplitz=t).to(device)
            for t in (True, False)
        )
        weight = random_complex(rng, [sizes[d] for d in names]).astype(dtype if dtype[0] == "c" else "complex128")
        weight = weight if dtype[0] == "c" else weight.real
        W = ts.Dense(on(device, weight), tuple(names), ("A", "R", "K"), ("B", "R", "K"))
        T = A.normal(W)
        assert not any(isinstance(p, (ts.NUFFT, ts.Interpolate)) for p in operators_in(T))
        x = random_complex(rng, (3, *grid))
        y = plain(on(device, x)).numpy()
        expected = plain.H(on(device, np.einsum(f"{names},ARK->BRK", weight, y))).numpy()
        close(T(on(device, x)), expected, 2e-5)
        back = np.einsum(f"{names},BRK->ARK", weight.conj(), plain(on(device, expected)).numpy())
        close(T.H(on(device, expected)), plain.H(on(device, back)).numpy(), 2e-5)

    def test_names_are_those_of_any_normal(self, rng):
        locs, x = rng.uniform(-4, 4, (9, 1)), random_complex(rng, (2, 8))
        S = ts.Dense(random_complex(rng, (2, 8)), ts.Dim("CX"), ts.Dim("X"), ts.Dim("CX"))
        for mode in ("interpolate", "sampling"):
            plain, A = (ts.NUFFT(locs, (8,), "K", "X", None, "C", mode=mode, toeplitz=t) for t in (False, True))
            for N in (plain.N, A.N, A.H @ A, A.normal(ts.Scalar(2.0)), A.normal(2 * ts.Identity(("C", "K")))):
                assert (N.ishape, N.oshape) == (("C", "X"), ("C", "X1"))
            assert (A @ S).N.oshape == (plain @ S).N.oshape
            close(A.normal(2 * ts.Identity(("C", "K")))(x), 2 * A.N(x).numpy(), 1e-12)

    def test_matrices_that_mix_points_stay(self, rng):
        A = ts.NUFFT(rng.uniform(-4, 4, (7, 1)), (8,), ("K",), batch_shape=(), toeplitz=True)
        W = ts.Dense(rng.normal(size=(7, 7)), ("L", "K"), ("K",), ("L",))
        x = random_complex(rng, 8)
        T = A.normal(W)
        assert any(isinstance(p, ts.NUFFT) for p in operators_in(T))
        close(T(x), A.H(W(A(x))).numpy(), 1e-12)

    def test_weights_of_ones_own_count_in_the_normal(self, rng):
        locs, x = rng.uniform(-3, 3, (40, 2)), random_complex(rng, (6, 8))
        D = ts.Diagonal(rng.uniform(1, 2, 40), ("K",))
        for weights in (rng.uniform(0.5, 1.5, (6, 8)), random_complex(rng, (6, 8))):
            options = dict(batch_shape=(), oversamp=2.0, width=6.0, apodize_weights=weights)
            A = ts.NUFFT(locs, (6, 8), toeplitz=True, **options)
            close(A.N(x), A.H(A(x)).numpy(), 1e-4)
            close(A.normal(D)(x), A.H(D(A(x))).numpy(), 1e-4)

    def test_normal_of_the_adjoint_is_not_a_convolution(self, rng):
        A = ts.NUFFT(rng.uniform(-4, 4, (7, 1)), (8,), ("K",), batch_shape=(), toeplitz=True)
        y = random_complex(rng, 7)
        close(A.H.N(y), A(A.H(y)).numpy(), 1e-12)
        assert A.H.N.ishape == ("K",)

    def test_dtypes(self, rng):
        A = ts.NUFFT(rng.uniform(-4, 4, (9, 1)), (8,), ("K",), toeplitz=True, toeplitz_dtype="complex64")
        B = ts.NUFFT(A.locs, (8,), ("K",), toeplitz=True)
        x = random_complex(rng, (2, 8))
        for op in (A, B):
            assert op.N(x).dtype == "complex128" and op.N(x.astype("complex64")).dtype == "complex64"
        close(A.N(x), B.N(x).numpy(), 1e-6)
        close(B.N(x.astype("complex64")), B.N(x).numpy(), 1e-6)

    def test_sampling_mode_is_exact(self, rng):
        A = ts.NUFFT(rng.uniform(-4, 4, (9, 1)), (8,), ("K",), mode="sampling", toeplitz=True)
        x = random_complex(rng, (2, 8))
        assert not any(isinstance(p, (ts.NUFFT, ts.Sampling)) for p in operators_in(A.N))
        close(A.N(x), A.H(A(x)).numpy(), 1e-12)
