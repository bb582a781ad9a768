# SPDX-License-Identifier: Apache-2.0
"""NUFFT3 beside direct sums, with its adjoint, normal, tiles and devices."""

import itertools
import pickle

import numpy as np
import pytest
from support import on

import tessera as ts


def exact_matrix(points, frequencies, sign=-1):
    x, s = points.reshape(-1, points.shape[-1]), frequencies.reshape(-1, frequencies.shape[-1])
    return np.exp(sign * 1j * (s @ x.T))


def noise(rng, shape, dtype="complex128"):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if "complex" in dtype else x).astype(dtype)


def error(got, want):
    got = np.asarray(got.numpy() if hasattr(got, "numpy") else got)
    return np.linalg.norm(got.ravel() - want.ravel()) / np.linalg.norm(want)


def places(rng, axes, count, reach, centre=0.0, kind="uniform"):
    at = rng.uniform(-1, 1, (count, axes))
    if kind == "ends":  # all at the corners of the box, and one in its middle
        at = np.sign(at)
        at[0] = 0
    elif kind == "clustered":
        at = 0.02 * at + rng.choice([-0.9, 0.9], (count, axes))
    return centre + reach * at


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_errors_stay_below_the_tolerance(axes):
    rng = np.random.default_rng(axes)
    largest = {1: 200.0, 2: 30.0, 3: 8.0}[axes]  # the product of how far both reach
    kinds = list(itertools.product(["uniform", "ends", "clustered"], repeat=2))
    for case in range(36):
        tol = 10 ** rng.uniform(-11, -1)
        reach = 10 ** rng.uniform(-6, 6)
        product = largest * rng.uniform(0.01, 1)
        of_points, of_frequencies = kinds[case % len(kinds)]
        # Rounding of the angles themselves: what lies far off has few digits left.
        far = rng.uniform(-20, 20, 2)
        x = places(rng, axes, 60, reach, far[0] * reach, of_points)
        s = places(rng, axes, 70, product / reach, far[1] / reach, of_frequencies)
        sign = int(rng.choice([-1, 1]))
        A = ts.NUFFT3(x, s, batch_shape=(), tol=tol, sign=sign)
        matrix = exact_matrix(x, s, sign)
        for op, m in ((A, matrix), (A.H, matrix.conj().T)):
            v = noise(rng, m.shape[1])
            want = m @ v
            # Relative to the norm on average: sums may cancel.
            scale = np.linalg.norm(m) * np.linalg.norm(v) / np.sqrt(v.size)
            got = op(v).numpy()
            assert not np.linalg.norm(got - want) > tol * scale, (case, tol, of_points, of_frequencies)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("where", ["float32", "float64"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_precision_is_that_of_the_data(device, rng, axes, where, dtype):
    x, s = (places(rng, axes, n, 3.0, 1.0).astype(where) for n in (41, 37))
    A = ts.NUFFT3(x, s, tol=1e-9).to(device)
    matrix = exact_matrix(x.astype(float), s.astype(float))
    v, w = noise(rng, (2, 41), dtype), noise(rng, (2, 37), dtype)
    got, back = A(on(device, v)), A.H(on(device, w))
    single = dtype in ("float32", "complex64")
    assert got.dtype == back.dtype == ("complex64" if single else "complex128")
    assert error(got, v @ matrix.T) < (5e-6 if single else 1e-8)
    assert error(back, w @ matrix.conj()) < (5e-6 if single else 1e-8)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_least_tolerance_stays_in_the_range_of_single_precision(device, rng, axes):
    x, s = places(rng, axes, 30, 2.0), places(rng, axes, 30, 2.0)
    A = ts.NUFFT3(x, s, tol=1e-11, batch_shape=()).to(device)
    v = noise(rng, 30, "complex64")
    assert error(A(on(device, v)), exact_matrix(x, s) @ v) < 5e-6
    assert error(A.H(on(device, v)), exact_matrix(x, s).conj().T @ v) < 5e-6


def test_adjoint_and_normal(device, rng):
    for axes, batch in itertools.product([1, 2, 3], [(), ("C",), ("T", "C")]):
        x, s = places(rng, axes, 15, 2.0).reshape(3, 5, axes), places(rng, axes, 14, 2.0).reshape(2, 7, axes)
        A = ts.NUFFT3(x, s, ("P", "Q"), ("U", "V"), batch, tol=1e-7).to(device)
        assert A.ishape == (*batch, "U", "V") and A.oshape == (*batch, "P", "Q")
        sizes = (2, 3)[: len(batch)]
        v, w = on(device, noise(rng, (*sizes, 3, 5))), on(device, noise(rng, (*sizes, 2, 7)))
        forward, back = A(v).numpy(), A.H(w).numpy()
        left, right = np.vdot(w.numpy(), forward), np.vdot(back, v.numpy())
        assert abs(left - right) <= 1e-12 * np.linalg.norm(forward) * np.linalg.norm(w.numpy())
        matrix = exact_matrix(x, s)
        assert error(A.N(v), v.numpy().reshape(-1, 15) @ (matrix.T @ matrix.conj())) < 1e-6


SIZES = [{"J": 4}, {"K": 5}, {"J": 3, "K": 2}, {"C": 1}, {"C": 2, "J": 9, "K": 16}]


@pytest.mark.parametrize("devices", [["cpu"], ["sim:0", "sim:1"]], ids=len)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_tiles_are_the_whole(rng, sizes, devices):
    x, s = places(rng, 2, 13, 3.0), places(rng, 2, 17, 3.0, 1.0)
    A = ts.NUFFT3(x, s, batch_shape=("C",), tol=1e-8) @ ts.Diagonal(rng.uniform(1, 2, (3, 13)), ("C", "J"))
    tiles = ts.create_batched_linop(A, ts.BatchSpec(sizes, devices))
    v, w = noise(rng, (3, 13)), noise(rng, (3, 17))
    assert error(tiles(v), A(v).numpy()) < 1e-12
    assert error(tiles.H(w), A.H(w).numpy()) < 1e-12
    assert error(tiles.N(v), A.N(v).numpy()) < 1e-12


def test_tiles_pickles_and_names(rng):
    x, s = places(rng, 1, 9, 3.0), places(rng, 1, 8, 3.0)
    A = ts.NUFFT3(x, s, batch_shape=(), name="F")
    v = noise(rng, 9)
    assert A.name == "F" and np.array_equal(pickle.loads(pickle.dumps(A))(v).numpy(), A(v).numpy())
    part = A.split({"K": slice(2, 7)})
    assert error(part(v), A(v).numpy()[2:7]) < 1e-12
    x[:] = np.nan  # its own by now
    assert np.isfinite(A(v).numpy()).all()
    assert A.rename({"J": "P"}).ishape == ("P",)


def test_one_place_none_and_places_that_coincide(rng):
    for count, others in itertools.product([0, 1, 3], repeat=2):
        x, s = np.full((count, 2), 4.0), np.full((others, 2), -0.5)
        A = ts.NUFFT3(x, s, batch_shape=(), tol=1e-9)
        v = noise(rng, count)
        assert A(v).shape == (others,)
        assert np.allclose(A(v).numpy(), exact_matrix(x, s) @ v, atol=1e-8)
        assert np.allclose(A.H(noise(rng, others)).shape, (count,))
    x, s = places(rng, 2, 9, 5.0), np.array([[0.25, -3.0]])  # one frequency, points apart
    v = noise(rng, 9)
    assert error(ts.NUFFT3(x, s, batch_shape=(), tol=1e-9)(v), exact_matrix(x, s) @ v) < 1e-8
    tiny = ts.NUFFT3(x * 1e-300, s * 1e-300, batch_shape=(), tol=1e-9)
    assert error(tiny(v), np.array([v.sum()])) < 1e-8
    one = ts.NUFFT3([0.5, 1.0], [[2.0, 3.0]], batch_shape=())
    assert one.ishape == () and abs(complex(one(np.array(1.0)).numpy()[0]) - np.exp(-4j)) < 1e-5


BAD = [
    ({"points": np.zeros(())}, ValueError, "points of shape"),
    ({"points": np.zeros((3, 4))}, ValueError, "one to three axes"),
    ({"frequencies": np.zeros((3, 1))}, ValueError, "expected the same number of axes"),
    ({"points": np.zeros((3, 2), complex)}, TypeError, "points of complex128; expected real"),
    ({"frequencies": np.zeros((3, 2), bool)}, TypeError, "frequencies of bool"),
    ({"points": np.full((3, 2), np.nan)}, ValueError, "points hold nan at position 0 along axis 0"),
    ({"frequencies": np.full((3, 2), -np.inf)}, ValueError, "frequencies hold -inf"),
    ({"tol": 1e-12}, ValueError, "tol 1e-12 is out of reach; expected at least 1e-11"),
    ({"tol": np.nan}, ValueError, "out of reach"),
    ({"tol": 1.0}, ValueError, "less than 1"),
    ({"sign": 0}, ValueError, "sign 0; expected 1 or -1"),
    ({"output_shape": ("K", "L")}, ValueError, "have the names"),
    ({"input_shape": ("K",), "output_shape": ("K",)}, ValueError, "appears twice"),
    ({"points": [[0, 0], [1e9, 0]], "frequencies": [[0, 0], [1e9, 0]]}, ValueError, "need a grid of"),
    ({"points": [[0, 0], [1e5, 1e5]], "frequencies": [[0, 0], [10, 10]]}, ValueError, "expected fewer than"),
    ({"points": [[-1e308, 0], [1e308, 0]], "frequencies": [[0, 0], [10, 10]]}, ValueError, "need a grid of"),
]


@pytest.mark.parametrize("given, kind, text", BAD)
def test_bad_input(given, kind, text):
    arguments = {"points": np.zeros((3, 2)), "frequencies": np.ones((4, 2)), **given}
    with pytest.raises(kind, match=f"NUFFT3: .*{text}|NUFFT3.*{text}"):
        ts.NUFFT3(**arguments)
