# SPDX-License-Identifier: Apache-2.0
"""NUFFTs made for a tolerance, beside direct sums in double precision.

TESSERA_NUFFT_CASES=10000 draws as many cases for each number of axes instead of 80.
"""

import os
import pickle

import numpy as np
import pytest

import tessera as ts

CASES = int(os.environ.get("TESSERA_NUFFT_CASES", "80"))
LARGEST = {1: 60, 2: 24, 3: 13}


def exact_matrix(locs, grid):
    """exp(-2 pi i k (n - N//2) / N) / sqrt(N), a row for each point."""
    rows = np.ones((len(locs), 1))
    for axis, n in enumerate(grid):
        phase = np.exp(-2j * np.pi * locs[:, axis, None] * (np.arange(n) - n // 2) / n)
        rows = (rows[:, :, None] * phase[:, None, :]).reshape(len(locs), rows.shape[1] * n)
    return rows / np.sqrt(np.prod(grid))


def locations(rng, kind, count, grid):
    axes = len(grid)
    if kind == "clustered":
        at = rng.uniform(-0.5, 0.5, axes) + rng.normal(0, 0.02, (count, axes))
        return np.clip(at, -0.5, 0.5) * grid
    if kind == "radial":
        ways = rng.normal(size=(count, axes))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        return ways * rng.uniform(-0.5, 0.5, (count, 1)) * grid
    if kind == "edge":
        at = rng.uniform(-0.5, 0.5, (count, axes))
        at[:, rng.integers(axes)] = rng.choice([-0.5, 0.5], count)
        return at * grid
    return rng.uniform(-0.5, 0.5, (count, axes)) * grid


def noise(rng, shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def error(got, want):
    return np.linalg.norm(np.asarray(got.numpy()).ravel() - want) / np.linalg.norm(want)


def expected_norm(matrix, x):
    """The norm that the product has on average, for numbers without structure of this norm."""
    return np.linalg.norm(matrix) * np.linalg.norm(x) / np.sqrt(x.size)


@pytest.mark.parametrize("kind", ["uniform", "clustered", "radial", "edge"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_errors_stay_below_the_tolerance(axes, kind):
    """Relative to the norm that results have on average, and where points lie apart to that of the result itself.

    Points that coincide give a single number, which random data may cancel: then no kernel is exact relative to it.
    """
    rng = np.random.default_rng([axes, len(kind)])
    for case in range(CASES):
        tol = 10 ** rng.uniform(-12, -1)
        grid = tuple(int(n) for n in rng.integers(1, LARGEST[axes], axes))
        locs = locations(rng, kind, int(rng.integers(60, 120)), grid)
        A = ts.NUFFT(locs, grid, ("K",), batch_shape=(), tol=tol)
        matrix = exact_matrix(locs, grid)
        for op, m, x in ((A, matrix, noise(rng, grid)), (A.H, matrix.conj().T, noise(rng, len(locs)))):
            want = m @ x.ravel()
            relative = error(op(x), want)
            assert relative * np.linalg.norm(want) <= tol * expected_norm(m, x), (case, tol, grid)
            if kind in ("uniform", "radial"):
                assert relative <= tol, (case, tol, grid)


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_errors_relative_to_the_result_itself(axes, dtype):
    """In 999 of 1000 cases below the tolerance, and never above three times that, even where results cancel."""
    rng = np.random.default_rng([axes, len(dtype), 1])
    least = -12 if dtype == "complex128" else -5
    ratios = []
    for case in range(CASES):
        kind = ("uniform", "clustered", "radial", "edge")[case % 4]
        tol = 10 ** rng.uniform(least, -2)
        grid = tuple(int(n) for n in rng.integers(2, LARGEST[axes], axes))
        locs = locations(rng, kind, int(rng.integers(60, 120)), grid)
        if kind == "edge":  # on one edge or the other all would be one or two numbers
            locs[::2] = locations(rng, "uniform", len(locs[::2]), grid)
        A = ts.NUFFT(locs, grid, ("K",), batch_shape=(), tol=tol)
        matrix = exact_matrix(locs, grid)
        for op, m, shape in ((A, matrix, grid), (A.H, matrix.conj().T, (len(locs),))):
            x = noise(rng, shape).astype(dtype)
            got = op(x)
            assert got.dtype == dtype
            ratios.append(error(got, m @ x.ravel().astype("complex128")) / tol)
    ratios = np.array(ratios)
    assert not (np.isnan(ratios).any() or ratios.max() > 3), ratios.max()
    assert (ratios > 1).sum() <= max(1, len(ratios) // 1000), np.sort(ratios)[-10:]


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_single_precision_reaches_what_it_can(axes):
    rng = np.random.default_rng(axes)
    grid = (20, 17, 11)[:axes]
    locs = rng.uniform(-0.5, 0.5, (100, axes)) * grid
    matrix = exact_matrix(locs, grid)
    for tol in (1e-2, 1e-4, 1e-6):
        A = ts.NUFFT(locs, grid, ("K",), batch_shape=(), tol=tol)
        x, y = noise(rng, grid).astype("complex64"), noise(rng, 100).astype("complex64")
        assert A(x).dtype == "complex64"
        assert error(A(x), matrix @ x.ravel()) <= max(tol, 2e-6)
        assert error(A.H(y), matrix.conj().T @ y) <= max(tol, 2e-6)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_every_tolerance_gives_finite_numbers(axes, dtype):
    """Also where three wide kernels multiply, whose product leaves the range of single precision."""
    rng = np.random.default_rng(axes)
    grid = (20, 17, 11)[:axes]
    locs = rng.uniform(-0.5, 0.5, (100, axes)) * grid
    locs[:3] = np.round(locs[:3])  # on a grid point: one neighbour more
    matrix = exact_matrix(locs, grid)
    floor = 2e-5 if dtype == "complex64" else 1e-12
    for tol in (*10.0 ** np.arange(-12, 0), 0.999):
        A = ts.NUFFT(locs, grid, ("K",), batch_shape=(), tol=tol)
        x, y = noise(rng, grid).astype(dtype), noise(rng, 100).astype(dtype)
        assert not error(A(x), matrix @ x.ravel()) > max(tol, floor), tol
        assert not error(A.H(y), matrix.conj().T @ y) > max(tol, floor), tol


def test_frames_pickles_tiles_and_normals_keep_it():
    rng = np.random.default_rng(3)
    locs = rng.uniform(-4, 4, (2, 90, 2))
    A = ts.NUFFT(locs[0], (8, 9), ("K",), batch_shape=(), tol=1e-8, toeplitz=True)
    matrix, x = exact_matrix(locs[0], (8, 9)), noise(rng, (8, 9))
    assert error(pickle.loads(pickle.dumps(A))(x), matrix @ x.ravel()) <= 1e-8
    assert error(A.split({"K": slice(10, 80)})(x), (matrix @ x.ravel())[10:80]) <= 1e-8
    assert error(A.N(x), matrix.conj().T @ (matrix @ x.ravel())) <= 1e-8
    frames = ts.NUFFT(locs, (8, 9), ("K",), batch_shape=(), locs_batch_shape=("T",), tol=1e-8)
    want = np.stack([exact_matrix(k, (8, 9)) @ x.ravel() for k in locs])
    assert error(frames(np.stack([x, x])), want.ravel()) <= 1e-8


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("count, by_convolution", [(20, False), (6000, True)])
def test_normals_are_what_is_predicted_to_be_cheaper(tol, count, by_convolution):
    rng = np.random.default_rng(count)
    grid = (12, 9)
    locs, x = rng.uniform(-0.5, 0.5, (count, 2)) * grid, noise(rng, grid)
    matrix = exact_matrix(locs, grid)
    weights = rng.uniform(1, 2, count)
    make = lambda **options: ts.NUFFT(locs, grid, ("K",), batch_shape=(), tol=tol, **options)  # noqa: E731
    A, gridding, convolution = make(), make(toeplitz=False), make(toeplitz=True)
    assert ("NUFFT" not in A.N.tree()) == by_convolution
    assert "NUFFT" in gridding.N.tree() and "NUFFT" not in convolution.N.tree()
    D = ts.Diagonal(weights, ("K",))
    for inner, w in ((None, 1), (D, weights)):
        N, G = (op.N if inner is None else op.normal(inner) for op in (A, gridding))
        assert (N.ishape, N.oshape) == (G.ishape, G.oshape)
        assert error(N(x), matrix.conj().T @ (w * (matrix @ x.ravel()))) <= 2 * tol
        said = N.plan(x).explain()
        assert ("normals as a convolution" if by_convolution else "normals by gridding") in said, said
    assert "normals" not in gridding.N.plan(x).explain() + convolution.N.plan(x).explain()
    again = pickle.loads(pickle.dumps(A))
    assert str(again.N) == str(A.N) and np.array_equal(again.N(x).numpy(), A.N(x).numpy())
    plain = ts.NUFFT(locs, grid, ("K",), batch_shape=())  # oversamp and width: as it always was
    assert "NUFFT" in plain.N.tree()


@pytest.mark.parametrize("tol", [0, -1.0, 1e-13, 1.0, np.inf, np.nan])
def test_what_is_out_of_reach_is_named(tol):
    with pytest.raises(ValueError, match="NUFFT: tol .* out of reach; expected at least 1e-12"):
        ts.NUFFT([[0.5]], (8,), tol=tol)


@pytest.mark.parametrize(
    "other",
    [
        {"oversamp": 2},
        {"width": 4},
        {"mode": "sampling"},
        {"do_prep_locs": False},
        {"apodize_weights": np.ones(8)},
    ],
)
def test_one_way_of_saying_it(other):
    with pytest.raises(ValueError, match=f"NUFFT: tol and {next(iter(other))}.* were given"):
        ts.NUFFT([[0.5]], (8,), tol=1e-3, **other)


@pytest.mark.parametrize("grid", [(1,), (1, 1), (1, 1, 1), (2, 1), (7,), (13, 11), (31,), (1, 5, 1)])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_small_odd_and_prime_grids_and_no_points(grid, count):
    rng = np.random.default_rng(5)
    locs = rng.uniform(-0.5, 0.5, (count, len(grid))) * grid
    A = ts.NUFFT(locs, grid, ("K",), batch_shape=(), tol=1e-9)
    matrix, x, y = exact_matrix(locs, grid), noise(rng, grid), noise(rng, count)
    scale = np.linalg.norm(x)
    assert np.linalg.norm(A(x).numpy() - matrix @ x.ravel()) <= 1e-8 * scale
    back = A.H(y).numpy()
    assert back.shape == grid
    assert np.linalg.norm(back.ravel() - matrix.conj().T @ y) <= 1e-8 * max(1, np.linalg.norm(y))


def test_points_beyond_the_box_repeat():
    rng = np.random.default_rng(6)
    locs = rng.uniform(-4, 4, (50, 1))
    x = noise(rng, 8)
    far = ts.NUFFT(locs + 8 * rng.integers(-5, 6, (50, 1)), (8,), ("K",), tol=1e-9, wrap=True)
    assert error(far(x), exact_matrix(locs, (8,)) @ x) <= 1e-9
