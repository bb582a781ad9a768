# SPDX-License-Identifier: Apache-2.0
"""Interpolate, Sampling, NUFFT and Sparse: known numbers, brute force in NumPy, SciPy and SigPy."""

import itertools

import numpy as np
import pytest
import scipy.sparse
import scipy.special
from support import check, draw_numbers, on

import tessera as ts


def relative(got, want):
    got = got.numpy() if isinstance(got, ts.Array) else np.asarray(got)
    want = np.asarray(want)
    assert got.shape == want.shape
    return np.linalg.norm(got - want) / np.linalg.norm(want)


def close(got, want, tol):
    error = relative(got, want)
    assert error < tol, error  # NaN fails


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

    @pytest.mark.parametrize("shape, count, width", [((220,), 1000, 4), ((124, 125), 5000, 4), ((33, 35, 37), 2000, 3)])
    @pytest.mark.parametrize("kernel", ["kaiser_bessel", "spline"])
    @pytest.mark.parametrize("pad_mode", ["circular", "zero"])
    def test_as_sigpy(self, rng, shape, count, width, kernel, pad_mode):  # case 104
        interp = pytest.importorskip("sigpy").interp
        margin = width if pad_mode == "zero" else 0  # SigPy wraps around at the ends
        locs = rng.uniform(margin, np.array(shape) - 1 - margin, (count, len(shape)))
        x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype("complex64")
        y = (rng.standard_normal(count) + 1j * rng.standard_normal(count)).astype("complex64")
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
        assert ts.Interpolate([[0.5]], (3,)).oshape == ("...", "K")
        assert ts.Interpolate([0.5], (3,)).oshape == ("...",)

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
            (dict(locs_batch_shape=("Nx",)), ValueError, "'Nx' is named twice"),
            (dict(batch_shape=("K",)), ValueError, "'K' is named twice"),
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
            (lambda: ts.Sampling(([8],), (8,)), ValueError, "index 8 is out of range for axis 0"),
            (lambda: ts.Sampling(([0], [-1]), (8, 8)), ValueError, "index -1 is out of range for axis 1"),
            (lambda: ts.Sampling(([0],), (8, 8)), ValueError, "1 index arrays"),
            (lambda: ts.Sampling(([0.5],), (8,)), TypeError, "expected integers"),
            (lambda: ts.Sampling(([0],), (0,)), ValueError, "no point"),
            (lambda: ts.Sampling(([0],), (8,), ("A", "B")), ValueError, "names"),
            (lambda: ts.Sampling(([0],), (8,), ("Nx",)), ValueError, "'Nx' is named twice"),
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


class TestSparse:
    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "parts", "triplets", "dense"])
    @pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
    def test_as_scipy(self, device, rng, form, dtype):
        m = scipy.sparse.random(13, 9, 0.3, random_state=3, dtype="float64").tocsr()
        m.data = draw_numbers(rng, m.nnz, dtype)
        coo = m.tocoo()
        matrix, shape = {
            "csr": (m, None),
            "csc": (m.tocsc(), None),
            "coo": (coo, None),
            "parts": ((m.data, m.indices, m.indptr), m.shape),
            "triplets": ((coo.data[::-1], (coo.row[::-1], coo.col[::-1])), m.shape),
            "dense": (m.toarray(), None),
        }[form]
        A = ts.Sparse(matrix, ("N",), ("M",), batch_shape=("C",), shape=shape).to(device)
        assert A.ishape == ("C", "N") and A.oshape == ("C", "M") and (A.size("N"), A.size("M")) == (9, 13)
        tol = 1e-5 if dtype in ("float32", "complex64") else 1e-12
        x, y = draw_numbers(rng, (11, 9), dtype), draw_numbers(rng, (11, 13), dtype)
        close(A(on(device, x)), (m @ x.T).T, tol)
        close(A.H(on(device, y)), (m.conj().T @ y.T).T, tol)
        assert A(on(device, x)).dtype == dtype

    def test_real_matrix_on_complex_vectors(self, device, rng):
        m = scipy.sparse.random(6, 5, 0.5, random_state=1, dtype="float32").tocsr()
        x = draw_numbers(rng, 5, "complex64")
        A = ts.Sparse(m).to(device)
        y = A(on(device, x))
        assert y.dtype == "complex64"
        close(y, m @ x, 1e-6)
        assert ts.Sparse(m)(np.arange(5)).dtype == "float64"

    def test_several_dims_and_splitting(self, rng):
        m = scipy.sparse.random(6, 20, 0.4, random_state=2).tocsr()
        A = ts.Sparse(m, ("X", "Y"), ("P", "Q"), (4, 5), (2, 3))
        x = rng.standard_normal((7, 4, 5))
        full = np.asarray((m @ x.reshape(7, 20).T).T).reshape(7, 2, 3)
        close(A(x), full, 1e-12)
        check(A.split({"Q": slice(1, 3)})(x), full[:, :, 1:3], tol=1e-12)
        halves = [A.split({"X": slice(0, 1)})(x[:, :1]), A.split({"X": slice(1, 4)})(x[:, 1:])]
        check(halves[0] + halves[1], full, tol=1e-12)
        both = A.split({"P": slice(1, 2), "Y": slice(2, 4)})
        dense = m.toarray().reshape(2, 3, 4, 5)[1:2, :, :, 2:4]
        close(both(x[:, :, 2:4]), np.einsum("pqxy,bxy->bpq", dense, x[:, :, 2:4]), 1e-12)
        y = rng.standard_normal((7, 1, 3))
        close(both.H(y), np.einsum("pqxy,bpq->bxy", dense, y), 1e-12)

    @pytest.mark.parametrize(
        "make, error, text",
        [
            (lambda: ts.Sparse(([1.0], [3], [0, 1]), shape=(1, 3)), IndexError, "column 3 of entry 0"),
            (lambda: ts.Sparse(([1.0], ([1], [0])), shape=(1, 3)), IndexError, "row 1 of entry 0"),
            (lambda: ts.Sparse(([1.0], [0], [0])), ValueError, "shape of the matrix"),
            (lambda: ts.Sparse(([1.0], [0], [0]), shape=(1, 3)), ValueError, "row starts"),
            (lambda: ts.Sparse(([1.0], [0], [0, 2]), shape=(1, 3)), ValueError, "0 to 2; expected 0 to 1"),
            (lambda: ts.Sparse(([1.0], [0.5], [0, 1]), shape=(1, 3)), TypeError, "expected integers"),
            (lambda: ts.Sparse(np.eye(3), ("N", "M"), ("P",)), ValueError, "input"),
            (lambda: ts.Sparse(np.eye(3), ("N",), ("N",)), ValueError, "'N' is named twice"),
            (lambda: ts.Sparse(np.eye(3), ("...",)), ValueError, "without '...'"),
            (lambda: ts.Sparse(np.eye(3), output_size=(4,)), ValueError, "output"),
            (lambda: ts.Sparse(np.ones(3)), ValueError, "expected a matrix"),
        ],
    )
    def test_bad_input(self, make, error, text):
        with pytest.raises(error, match=text) as caught:
            make()
        assert "Sparse" in str(caught.value)
