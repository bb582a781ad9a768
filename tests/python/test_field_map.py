# SPDX-License-Identifier: Apache-2.0
"""FieldMapNUFFT beside direct sums, with its adjoint, normal and tiles."""

import itertools
import pickle

import numpy as np
import pytest
from support import on

import tessera as ts

GRIDS = [(14,), (9, 8), (6, 5, 4)]
NAMES = ("X", "Y", "Z")


def exact_matrix(locs, grid, field_map, times):
    """exp(-2 pi i (k (n - N//2) / N + f t)) / sqrt(N), a row for each point."""
    points = locs.shape[:-1]
    turns = np.zeros((int(np.prod(points)), *grid))
    for axis, n in enumerate(grid):
        at = (np.arange(n) - n // 2) / n
        turns += locs[..., axis].reshape(-1, *[1] * len(grid)) * at.reshape(
            [-1 if a == axis else 1 for a in range(len(grid))]
        )
    turns += np.broadcast_to(times, points).reshape(-1, *[1] * len(grid)) * field_map
    return np.exp(-2j * np.pi * turns).reshape(len(turns), -1) / np.sqrt(np.prod(grid))


def case(rng, grid, turns=3.0, kind="smooth", full_times=False, points=(7, 11)):
    """Locations, a field map and times that span so many turns."""
    locs = rng.uniform(-0.5, 0.5, (*points, len(grid))) * grid
    f = rng.uniform(-1, 1, grid)
    if kind == "smooth":
        f = np.cos(np.arange(np.prod(grid)) * 2.5 / np.prod(grid)).reshape(grid)
    elif kind == "two":  # water and fat
        f = np.where(f > 0, 1.0, -1.0) + 0.02 * rng.uniform(-1, 1, grid)
    times = np.sort(rng.uniform(0, 1, points if full_times else points[-1:]), axis=-1)
    span = max(np.ptp(f) * np.ptp(times), 1e-30)
    return locs, 50 * f, turns * times / span / 50


def noise(rng, shape, dtype="complex128"):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if "complex" in dtype else x).astype(dtype)


def error(got, want):
    return np.linalg.norm(np.asarray(got.numpy()).ravel() - want.ravel()) / np.linalg.norm(want)


@pytest.mark.parametrize("segmentation", ["time", "frequency"])
@pytest.mark.parametrize("kind, full_times", [("smooth", False), ("random", True), ("two", False)])
@pytest.mark.parametrize("grid", GRIDS, ids=len)
def test_errors_stay_below_the_tolerance(rng, grid, kind, full_times, segmentation):
    for tol, turns in ((1e-2, 15.0), (1e-4, 0.3), (1e-4, 4.0), (1e-6, 9.0), (1e-9, 2.0)):
        locs, f, t = case(rng, grid, turns, kind, full_times)
        A = ts.FieldMapNUFFT(locs, grid, f, t, ("R", "K"), NAMES[: len(grid)], (), tol=tol, segmentation=segmentation)
        assert A.ishape == NAMES[: len(grid)] and A.oshape == ("R", "K")
        matrix = exact_matrix(locs, grid, f, t)
        x, y = noise(rng, grid), noise(rng, (7, 11))
        assert error(A(x), matrix @ x.ravel()) <= tol, (tol, turns)
        assert error(A.H(y), matrix.conj().T @ y.ravel()) <= tol, (tol, turns)


def has_points(A):
    """Whether a NUFFT is among what the operator is made of."""
    return isinstance(A, ts.NUFFT) or any(has_points(part) for part in getattr(A, "linops", None) or [])


@pytest.mark.parametrize("toeplitz", [False, True])
@pytest.mark.parametrize("segmentation", ["time", "frequency"])
def test_adjoint_and_normal(device, rng, segmentation, toeplitz):
    how = dict(tol=1e-6, segmentation=segmentation, toeplitz=toeplitz)
    for grid, batch in itertools.product(GRIDS, [(), ("C",), ("T", "C")]):
        locs, f, t = case(rng, grid)
        names = NAMES[: len(grid)]
        A = ts.FieldMapNUFFT(locs, grid, f, t, ("R", "K"), names, batch, **how).to(device)
        assert has_points(A.N) != toeplitz
        sizes = (2, 3)[: len(batch)]
        x, y = on(device, noise(rng, (*sizes, *grid))), on(device, noise(rng, (*sizes, 7, 11)))
        forward, back = A(x).numpy(), A.H(y).numpy()
        left, right = np.vdot(y.numpy(), forward), np.vdot(back, x.numpy())
        assert abs(left - right) <= 1e-12 * np.linalg.norm(forward) * np.linalg.norm(y.numpy())
        matrix = exact_matrix(locs, grid, f, t)
        flat = x.numpy().reshape(-1, matrix.shape[1])
        want = flat @ matrix.T @ matrix.conj()
        assert error(A.N(x), want) <= 4e-6


@pytest.mark.parametrize("segmentation", ["time", "frequency"])
@pytest.mark.parametrize("weights", ["R K", "K", "C R K", "R", "complex", "integer", "scaled", "two"])
@pytest.mark.parametrize("full_times", [False, True])
def test_normals_without_the_points_take_weights_in(device, rng, segmentation, weights, full_times):
    """Whatever stands behind the segments counts: weights of points, readouts and coils, factors, or several of them."""
    grid, sizes = (9, 8), {"C": 2, "R": 7, "K": 11}
    locs, f, t = case(rng, grid, full_times=full_times)
    plain, A = (
        ts.FieldMapNUFFT(
            locs, grid, f, t, ("R", "K"), ("X", "Y"), ("C",), tol=1e-6, segmentation=segmentation, toeplitz=way
        )
        for way in (False, True)
    )
    dims = tuple(weights.split()) if weights[0] in "CKR" else ("R", "K")
    w = rng.uniform(0.5, 2, [sizes[d] for d in dims])
    if weights == "complex":
        w = w * np.exp(1j * w)
    if weights == "integer":
        w = np.arange(77).reshape(7, 11) % 3
    others = tuple(d for d in ("C", "R", "K") if d not in dims)
    shape = [sizes[d] if d in dims else 1 for d in ("C", "R", "K")]
    W = ts.Diagonal(w.reshape(shape), ("C", "R", "K"), broadcast_dims=others)
    if weights == "scaled":
        W = 2.5 * W
    if weights == "two":
        W = W @ W
    x = on(device, noise(rng, (2, *grid)))
    chained, closed = (W @ plain).to(device), (W @ A).to(device)
    if "C" not in dims:  # coils with weights of their own would need a matrix each
        assert not has_points(closed.N)
    assert error(closed.N(x), chained.H(chained(x)).numpy()) <= 4e-6
    assert (
        error(A.to(device).normal(W.to(device))(x), plain.to(device).H(W.to(device)(plain.to(device)(x))).numpy())
        <= 4e-6
    )


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_normals_without_the_points_keep_precision_and_bits(rng, dtype):
    grid = (9, 8)
    locs, f, t = case(rng, grid)
    single = dtype != "complex128"
    A = ts.FieldMapNUFFT(locs, grid, f.astype("float32" if single else "float64"), t, tol=1e-4, toeplitz=True)
    x = noise(rng, (2, *grid), dtype)
    got = A.N(x)
    assert got.dtype == ("complex64" if single else "complex128")
    assert error(got, A.H(A(x)).numpy()) < 4e-4
    bits = got.numpy().tobytes()
    for threads in (1, 2, 3):
        with ts.config.using(num_threads=threads):
            assert A.N(x).numpy().tobytes() == bits


def test_the_cheaper_normal_is_taken_and_told(rng):
    f, t = np.cos(np.arange(256)).reshape(16, 16), rng.uniform(0, 1, 40_000)
    many, few = (rng.uniform(-8, 8, (n, 2)) for n in (40_000, 40))
    for locs, way in ((many, "by convolutions;"), (few, "by gridding;")):
        A = ts.FieldMapNUFFT(locs, (16, 16), f, t[: len(locs)], batch_shape=())
        assert way in A.explain() and has_points(A.N) == (locs is few)
    assert has_points(ts.FieldMapNUFFT(many, (16, 16), f, t, batch_shape=(), toeplitz=False).N)


@pytest.mark.parametrize("toeplitz", [None, False, True])
@pytest.mark.parametrize("turns", [60.0, 90.0, 140.0])
def test_turns_beyond_what_normals_take(rng, toeplitz, turns):
    """Differences of frequencies make twice the turns; only who asks for their normals is refused, by his own number."""
    locs, hertz, seconds = rng.uniform(-4, 4, (40, 1)), np.linspace(-turns / 2, turns / 2, 8), np.linspace(0, 1, 40)
    if turns > 128 or (toeplitz and turns > 64):
        said = f"span {turns:.0f} turns; (expected|normals by convolutions take) at most"
        with pytest.raises(ValueError, match=said):
            ts.FieldMapNUFFT(locs, (8,), hertz, seconds, batch_shape=(), tol=1e-2, toeplitz=toeplitz)
        return
    A = ts.FieldMapNUFFT(locs, (8,), hertz, seconds, batch_shape=(), tol=1e-2, toeplitz=toeplitz)
    x = rng.standard_normal(8) + 0j
    want = A.H(A(x)).numpy()
    assert np.linalg.norm(A.N(x).numpy() - want) <= 5e-2 * np.linalg.norm(want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_precision_is_that_of_the_map_and_the_data(device, rng, dtype, precision):
    grid = (9, 8)
    locs, f, t = case(rng, grid, turns=2.0)
    f = f.astype(precision)
    A = ts.FieldMapNUFFT(locs, grid, f, t, tol=1e-5).to(device)
    x = noise(rng, (2, *grid), dtype)
    y = A(on(device, x))
    single = precision == "float32" and dtype in ("float32", "complex64")
    assert y.dtype == ("complex64" if single else "complex128") and y.shape == (2, 7, 11)
    want = x.reshape(2, -1) @ exact_matrix(locs, grid, f.astype(float), t).T
    assert error(y, want) <= 1e-5


@pytest.mark.parametrize("toeplitz", [False, True])
@pytest.mark.parametrize("sizes", [{"K": 4}, {"R": 3, "C": 1}, {"S": 2}, {"S": 1, "K": 5, "C": 2}], ids=str)
def test_tiles_over_devices(rng, sizes, toeplitz):
    grid = (9, 8)
    locs, f, t = case(rng, grid)
    A = ts.FieldMapNUFFT(locs, grid, f, t, ("R", "K"), ("X", "Y"), ("C",), tol=1e-6, toeplitz=toeplitz)
    maps = ts.Dense(noise(rng, (3, *grid)), ("C", "X", "Y"), ("X", "Y"), ("C", "X", "Y"))
    A = A @ maps
    tiles = ts.create_batched_linop(A, ts.BatchSpec(sizes, ["sim:0", "sim:1"]))
    x, y = noise(rng, grid), noise(rng, (3, 7, 11))
    assert error(tiles(x), A(x).numpy()) < 1e-12
    assert error(tiles.H(y), A.H(y).numpy()) < 1e-12
    assert error(tiles.N(x), A.N(x).numpy()) < 1e-12
    again = pickle.loads(pickle.dumps(A))
    assert np.array_equal(again(x).numpy(), A(x).numpy())


def test_segments_are_as_few_as_are_needed(rng):
    def count(**options):
        return ts.FieldMapNUFFT(locs, grid, f, t, ("R", "K"), ("X", "Y"), (), **options).linops[0].size("S")

    grid = (9, 8)
    locs, f, t = case(rng, grid, turns=5.0)
    counts = [count(tol=tol) for tol in (1e-1, 1e-3, 1e-5, 1e-8)]
    assert counts == sorted(counts) and counts[0] <= 9 and counts[-1] <= 25
    assert count(segments=7) == 7
    assert count(tol=1e-4) <= count(tol=1e-4, segmentation="frequency") + 3
    worse = []
    matrix, x = exact_matrix(locs, grid, f, t), noise(rng, grid)
    for segments in (3, 6, 9, 12):
        A = ts.FieldMapNUFFT(locs, grid, f, t, batch_shape=(), segments=segments, tol=1e-9)
        worse.append(error(A(x), matrix @ x.ravel()))
    assert all(b < a for a, b in itertools.pairwise(worse))
    two = case(rng, grid, turns=5.0, kind="two")
    assert ts.FieldMapNUFFT(*two[:1], grid, *two[1:], tol=1e-3).linops[0].size("S") <= counts[1]


def test_without_a_field_it_is_the_nufft(rng):
    grid = (9, 8)
    locs, _, t = case(rng, grid)
    x = noise(rng, grid)
    want = exact_matrix(locs, grid, np.zeros(grid), t) @ x.ravel()
    for f in (np.zeros(grid), np.zeros(grid, int)):
        A = ts.FieldMapNUFFT(locs, grid, f, t, batch_shape=(), tol=1e-7)
        assert A.linops[0].size("S") == 1 and error(A(x), want) < 1e-7
    same = ts.FieldMapNUFFT(locs, grid, np.full(grid, 30.0), 0.02, batch_shape=(), tol=1e-7)
    assert error(same(x), want * np.exp(-2j * np.pi * 0.6)) < 1e-7


def test_names_no_points_and_what_is_given_stays(rng):
    f, t = rng.uniform(-50, 50, 8), np.zeros(0)
    none = ts.FieldMapNUFFT(np.zeros((0, 1)), (8,), f, t)
    assert none(np.ones(8)).shape == (0,) and not none.H(np.zeros(0)).numpy().any()
    assert none.ishape == ("...", "Nx") and none.oshape == ("...", "K")
    taken = ts.FieldMapNUFFT(np.zeros((3, 1)), (8,), f, np.arange(3) * 1e-3, ("S",), ("S1",), (), name="F")
    assert taken.ishape == ("S1",) and taken.oshape == ("S",) and taken.name == "F" and bool(ts.check_adjoint(taken))
    locs = rng.uniform(-4, 4, (5, 1))
    A = ts.FieldMapNUFFT(locs, (8,), f, np.arange(5) * 1e-3)
    before = A(np.ones(8)).numpy()
    locs[:], f[:] = 0, 0
    assert np.array_equal(ts.FieldMapNUFFT(locs, (8,), f, np.arange(5) * 1e-3)(np.ones(8)).numpy(), before) is False
    assert np.array_equal(A.H.H(np.ones(8)).numpy(), before)


@pytest.mark.parametrize(
    "change, error, text",
    [
        (dict(field_map=np.zeros((9, 7))), ValueError, r"a field map of shape \(9, 7\) for an image of shape \(9, 8\)"),
        (dict(times=np.zeros(4)), ValueError, "expected the last sizes of the points"),
        (dict(times=np.zeros((3, 5, 5))), ValueError, "expected the last sizes of the points"),
        (dict(field_map=np.full((9, 8), np.nan)), ValueError, "field map hold nan at position 0"),
        (dict(times=np.full(5, np.inf)), ValueError, "times hold inf at position 0"),
        (dict(field_map=np.zeros((9, 8), complex)), TypeError, "expected real numbers"),
        (dict(times=np.zeros(5, bool)), TypeError, "expected real numbers"),
        (dict(tol=1e-10), ValueError, "tol 1e-10 is out of reach; expected at least 1e-09"),
        (dict(tol=np.nan), ValueError, "out of reach"),
        (dict(tol=1), ValueError, "out of reach"),
        (dict(segments=0), ValueError, "0 segments"),
        (dict(segmentation="space"), ValueError, "'time' or 'frequency', got 'space'"),
        (dict(locs=np.full((5, 2), np.nan)), ValueError, "location 0 is nan"),
        (dict(locs=np.zeros((5, 3))), ValueError, r"expected \(..., 2\)"),
        (dict(field_map=np.arange(72.0).reshape(9, 8) * 1e3), ValueError, "span 2.84e[+]05 turns|span 284000 turns"),
        (dict(output_shape=("X", "Y")), ValueError, "names"),
    ],
)
def test_bad_input(change, error, text):
    arguments = dict(locs=np.zeros((5, 2)), grid_size=(9, 8), field_map=np.zeros((9, 8)), times=np.arange(5.0)) | change
    with pytest.raises(error, match=text):
        ts.FieldMapNUFFT(**arguments)
