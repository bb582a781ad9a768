# SPDX-License-Identifier: Apache-2.0
"""NUFFT.with_locs: the same numbers, to the last bit, as a NUFFT that is made anew."""

import itertools
import pickle

import numpy as np
import pytest
from support import on

import tessera as ts

GRIDS = [(9,), (8, 7), (5, 6, 4)]
OPTIONS = [
    {},
    {"oversamp": 2, "width": 6},
    {"tol": 1e-7},
    {"toeplitz": True},
    {"toeplitz": True, "toeplitz_dtype": "complex64", "toeplitz_oversamp": 2.5},
    {"mode": "sampling"},
    {"mode": "sampling", "toeplitz": True},
    {"do_prep_locs": False},
    {"apodize_weights": True, "toeplitz": True},
]


def drawn(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if "complex" in dtype else x).astype(dtype)


def pair(rng, grid, options, points=(3, 5), dtype="float64", **more):
    """One with other locations and one that is made anew."""
    options = dict(options)
    if "apodize_weights" in options:
        options["apodize_weights"] = rng.uniform(0.5, 1, grid)
    old, new = (rng.uniform(-0.5, 0.5, (*points, len(grid))) * grid for _ in range(2))
    make = (
        lambda k: ts.NUFFT(  # noqa: E731
            k.astype(dtype),
            grid,
            ("R", "K")[: len(points)],
            ("X", "Y", "Z")[: len(grid)],
            batch_shape=("C",),
            **options,
            **more,
        )
    )
    return make(old), new.astype(dtype), make(new)


def same(a, b):
    a, b = np.asarray(a.numpy()), np.asarray(b.numpy())
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)


def same_operators(A, B, device, rng, grid, points, dtype):
    x = on(device, drawn(rng, (2, *grid), dtype))
    y = on(device, drawn(rng, (2, *points), dtype))
    W = ts.Diagonal(rng.uniform(0.5, 1, points), ("C", "R", "K")[: 1 + len(points)]).to(device)
    assert same(A(x), B(x)) and same(A.H(y), B.H(y)) and same(A.N(x), B.N(x)) and same((W @ A).N(x), (W @ B).N(x))


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o) or "plain")
@pytest.mark.parametrize("grid", GRIDS, ids=len)
def test_equals_one_made_anew(device, rng, grid, options):
    for dtype, where in itertools.product(["float64", "complex64", "complex128"], ["float32", "float64"]):
        A, new, B = pair(rng, grid, options, dtype=where)
        A, B = A.to(device), B.to(device)
        moved = A.with_locs(new)
        assert moved.shape == B.shape and moved.device == B.device and moved.locs.dtype == where
        assert str(moved.N) == str(B.N)
        same_operators(moved, B, device, rng, grid, (3, 5), dtype)
        assert np.array_equal(moved.with_locs(A.locs).locs.numpy(), A.locs.numpy())


def test_the_old_one_and_what_it_remembers_stay(rng):
    A, new, B = pair(rng, (8, 7), {"toeplitz": True})
    x = drawn(rng, (2, 8, 7), "complex128")
    before = A(x).numpy(), A.N(x).numpy()
    moved = A.with_locs(new)
    given = new.copy()
    new[:] = np.nan  # its own by now
    assert np.array_equal(moved.locs.numpy(), given)
    assert same(moved(x), B(x)) and same(moved.N(x), B.N(x))
    assert np.array_equal(A(x).numpy(), before[0]) and np.array_equal(A.N(x).numpy(), before[1])


@pytest.mark.parametrize("devices", [["cpu"], ["sim:0", "sim:1"]], ids=len)
@pytest.mark.parametrize(
    "options", [{}, {"toeplitz": True}, {"mode": "sampling"}], ids=lambda o: "-".join(o) or "plain"
)
@pytest.mark.parametrize("sizes", [{"C": 1}, {"K": 2}, {"R": 2, "K": 3, "C": 1}], ids=str)
def test_tiles_of_it_are_those_of_one_made_anew(rng, devices, options, sizes):
    A, new, B = pair(rng, (8, 7), options)
    S = ts.Dense(drawn(rng, (2, 8, 7), "complex64"), ("C", "X", "Y"), ("X", "Y"), ("C", "X", "Y"))
    tiles, want = (ts.create_batched_linop(a @ S, ts.BatchSpec(sizes, devices)) for a in (A.with_locs(new), B))
    x, y = drawn(rng, (8, 7), "complex64"), drawn(rng, (2, 3, 5), "complex64")
    assert same(tiles(x), want(x)) and same(tiles.H(y), want.H(y)) and same(tiles.N(x), want.N(x))


def test_tiles_and_renamed_ones_get_other_locations(rng):
    A, new, B = pair(rng, (8, 7), {"tol": 1e-5})
    x = drawn(rng, (2, 8, 7), "complex128")
    tile = {"R": slice(1, 3), "K": slice(0, 4)}
    assert same(A.split(tile).with_locs(new[1:3, :4])(x), B.split(tile)(x))
    names = {"K": "P", "X": "U", "C": "D"}
    moved = A.rename(names).with_locs(new)
    assert moved.ishape == ("D", "U", "Y") and moved.oshape == ("D", "R", "P") and same(moved(x), B(x))
    assert same(pickle.loads(pickle.dumps(A.with_locs(new)))(x), B(x))
    assert A.with_locs(new).name == A.name
    assert ts.NUFFT(new, (8, 7), name="F").with_locs(new).name == "F"


def test_frames_one_after_another(rng):
    A, _, _ = pair(rng, (8, 7), {"tol": 1e-6}, points=(20,))
    x = drawn(rng, (2, 8, 7), "complex64")
    for _ in range(4):
        k = rng.uniform(-0.5, 0.5, (20, 2)) * (8, 7)
        A = A.with_locs(k)
        assert same(A(x), ts.NUFFT(k, (8, 7), ("K",), ("X", "Y"), batch_shape=("C",), tol=1e-6)(x))


@pytest.mark.parametrize("options", OPTIONS[:6], ids=lambda o: "-".join(o) or "plain")
@pytest.mark.parametrize("frames", [("T",), ("T", "E")], ids=len)
def test_one_trajectory_per_frame(device, rng, frames, options):
    sizes = (3, 2)[: len(frames)]
    old, new = (rng.uniform(-0.5, 0.5, (*sizes, 5, 2)) * (8, 7) for _ in range(2))
    make = lambda k: ts.NUFFT(  # noqa: E731
        k, (8, 7), ("K",), ("X", "Y"), batch_shape=("C",), locs_batch_shape=frames, name="F", **options
    ).to(device)
    moved, anew = make(old).with_locs(new), make(new)
    assert moved.shape == anew.shape and moved.device == anew.device and moved.name == anew.name
    x, y = on(device, drawn(rng, (*sizes, 2, 8, 7), "complex64")), on(device, drawn(rng, (*sizes, 2, 5), "complex64"))
    assert same(moved(x), anew(x)) and same(moved.H(y), anew.H(y)) and same(moved.N(x), anew.N(x))
    with pytest.raises(ValueError, match="with_locs: locations of shape .* for 3 frames along 'T'"):
        moved.with_locs(new[:2])
    with pytest.raises(ValueError, match="with_locs takes locations of shape"):
        moved.with_locs(new[..., :4, :])
    with pytest.raises(ValueError, match="neither a NUFFT nor a stack of NUFFTs"):
        ts.Stack(ts.Scalar(1, ("X",)), ts.Scalar(2, ("X",)), odim_and_idx=("M", 0)).with_locs(new)


def test_no_points_and_points_beyond_the_box(rng):
    none = ts.NUFFT(np.zeros((0, 1)), (8,), ("K",)).with_locs(np.zeros((0, 1)))
    assert none(np.ones(8)).shape == (0,) and not none.H(np.zeros(0)).numpy().any()
    far = rng.uniform(-40, 40, (5, 1))
    x = drawn(rng, 8, "complex128")
    zero = np.zeros((5, 1))
    assert same(ts.NUFFT(zero, (8,), wrap=True).with_locs(far)(x), ts.NUFFT(far, (8,), wrap=True)(x))
    with pytest.raises(ValueError, match="along axis 0 of 8 points; expected cycles per field of view"):
        ts.NUFFT(zero, (8,)).with_locs(np.full((5, 1), 4.5))


@pytest.mark.parametrize(
    "locs, error, text",
    [
        (np.zeros((4, 2)), ValueError, r"with_locs takes locations of shape \(5, 2\), got \(4, 2\)"),
        (np.zeros((5, 1)), ValueError, r"got \(5, 1\)"),
        (np.zeros((5, 1, 2)), ValueError, r"got \(5, 1, 2\)"),
        (np.zeros(2), ValueError, "got "),
        (np.zeros((5, 2), complex), TypeError, "expected real numbers"),
        (np.zeros((5, 2), bool), TypeError, "expected real numbers"),
        (np.full((5, 2), np.nan), ValueError, "location 0 is nan along axis 0"),
        (np.full((5, 2), np.inf), ValueError, "finite"),
        ("nowhere", TypeError, "NUFFT"),
        (None, TypeError, "NUFFT|with_locs"),
    ],
)
def test_bad_input(locs, error, text):
    A = ts.NUFFT(np.zeros((5, 2)), (8, 7))
    with pytest.raises(error, match=text):
        A.with_locs(locs)
    with pytest.raises(ValueError, match="expected a position"):
        ts.NUFFT(np.zeros((5, 2)), (8, 7), do_prep_locs=False).with_locs(np.full((5, 2), np.nan))
