# SPDX-License-Identifier: Apache-2.0
"""Weights of sampled frequencies: known areas, images that come back, bad input."""

import itertools
import sys

import numpy as np
import pytest
from support import on, optional

import tessera as ts

spatial = optional("scipy.spatial")
GRID = (24, 24)


def radial(spokes, radius, spacing=1.0):
    angles = np.arange(spokes) * np.pi / spokes
    along = np.arange(-radius, radius + spacing / 2, spacing)
    return along, along[None, :, None] * np.stack([np.cos(angles), np.sin(angles)], -1)[:, None, :]


def spiral(count, turns, radius):
    t = np.sqrt((np.arange(count) + 0.5) / count)
    return radius * t[:, None] * np.stack([np.cos(2 * np.pi * turns * t), np.sin(2 * np.pi * turns * t)], -1)


def full_grid(grid):
    return np.stack(np.meshgrid(*(np.arange(n) - n // 2 for n in grid), indexing="ij"), -1).astype(float)


def blob(grid):
    """Smooth, of one sign, zero near the edges: its spectrum lies within the disc."""
    far = sum(
        ((np.arange(n) - n // 2) / n).reshape([-1 if a == d else 1 for a in range(len(grid))]) ** 2
        for d, n in enumerate(grid)
    )
    return np.exp(-far / (2 * 0.11**2)).astype(complex)


def recovered(locs, grid, weights):
    A = ts.NUFFT(locs, grid, batch_shape=(), tol=1e-8)
    x = blob(grid)
    return np.linalg.norm(A.H(weights * A(x)).numpy() - x) / np.linalg.norm(x)


@pytest.mark.parametrize("method, tol", [("pipe_menon", 1e-3), ("cells", 0)])
@pytest.mark.parametrize("grid", [(8,), (7,), (8, 6), (9, 5), (4, 5, 6), (8, 1), (1,)])
def test_frequencies_of_the_grid_weigh_one(device, grid, method, tol):
    locs = full_grid(grid)
    for dtype, times in itertools.product(["float32", "float64"], [1, 3]):
        many = np.stack([locs] * times).astype(dtype)
        w = ts.density_compensation(on(device, many), grid, method)
        assert w.shape == (times, *grid) and w.dtype == "float64" and str(w.device) == device
        assert np.abs(w.numpy() * times - 1).max() <= tol


def test_cells_by_brute_force(device, rng):
    grid = (5, 4)
    locs = rng.uniform(-6, 6, (7, 9, 2))
    index = np.mod(np.round(locs + np.array(grid) // 2), grid).astype(int)
    counts = np.zeros(grid)
    np.add.at(counts, tuple(np.moveaxis(index, -1, 0)), 1)
    w = ts.density_compensation(on(device, locs), grid, "cells").numpy()
    assert np.array_equal(w, 1 / counts[tuple(np.moveaxis(index, -1, 0))])


@pytest.mark.parametrize("spokes, radius, spacing", [(20, 12, 1.0), (45, 12, 0.5), (61, 9, 1.0), (8, 6, 0.25)])
def test_voronoi_cells_of_spokes_are_a_ramp(spokes, radius, spacing):
    along, locs = radial(spokes, radius, spacing)
    spatial.Voronoi  # noqa: B018
    w = ts.density_compensation(locs, GRID, "voronoi").numpy()
    # A trapezoid between the bisectors of spokes; a polygon around the centre, shared by all spokes.
    ramp = 2 * np.abs(along) * np.tan(np.pi / spokes / 2) * spacing
    ramp[np.abs(along) < spacing / 4] = 2 * (spacing / 2) ** 2 * np.tan(np.pi / spokes / 2)
    assert w.shape == (spokes, len(along))
    assert np.abs(w / ramp - 1).max() < 1e-9


def test_voronoi_cells_of_golden_angles_and_spirals_fill_the_disc():
    spatial.Voronoi  # noqa: B018
    angles = np.arange(80) * np.pi * (3 - 5**0.5)
    golden = np.arange(-12, 12)[None, :, None] * np.stack([np.cos(angles), np.sin(angles)], -1)[:, None, :]
    total = ts.density_compensation(golden, GRID, "voronoi").numpy().sum()
    assert abs(total / (np.pi * 12.5**2) - 1) < 0.01
    turns = 16
    k = spiral(4000, turns, 12)
    w = ts.density_compensation(k, GRID, "voronoi").numpy()
    assert abs(w.sum() / (np.pi * (12 + 12 / turns / 2) ** 2) - 1) < 0.01
    inner = np.abs(np.hypot(*k.T) - 6) < 4  # as many points per area everywhere
    assert np.abs(w[inner] / (np.pi * 12**2 / 4000) - 1).max() < 0.05


def test_pipe_menon_of_dense_spokes_is_a_ramp():
    along, locs = radial(80, 12, 0.5)
    w = ts.density_compensation(locs, GRID).numpy()
    ramp = np.abs(along) * np.pi / 80 * 0.5
    # Weights of points that the kernel does not tell apart may differ: their mean is what is known.
    middle = (np.abs(along) > 3) & (np.abs(along) < 8)
    assert np.abs(w.mean(0)[middle] / ramp[middle] - 1).max() < 0.02
    assert (w > 0).all()


@pytest.mark.parametrize("method, least", [("pipe_menon", 0.04), ("voronoi", 0.03), ("cells", 0.25)])
@pytest.mark.parametrize("kind", ["radial", "spiral"])
def test_images_come_back(method, least, kind):
    if method == "voronoi":
        spatial.Voronoi  # noqa: B018
    locs = radial(60, 12, 0.5)[1] if kind == "radial" else spiral(5000, 26, 12)
    w = ts.density_compensation(locs, GRID, method)
    weighted, plain = recovered(locs, GRID, w), recovered(locs, GRID, np.full(locs.shape[:-1], w.numpy().mean()))
    assert weighted < least
    assert weighted < plain or kind == "spiral"  # whose points are even already


@pytest.mark.parametrize("grid", [(31,), (9, 8, 7)])
def test_pipe_menon_in_one_and_three_dimensions(device, rng, grid):
    # Twice as many points in one half: about half the weight.
    every = full_grid(grid).reshape(-1, len(grid))
    half = every[every[:, 0] >= 0]
    locs = np.concatenate([every, half])
    w = ts.density_compensation(on(device, locs), grid, iterations=100).numpy()
    deep = np.abs(np.abs(locs[:, 0]) - grid[0] / 4) < grid[0] / 4 - 1.9
    want = np.where(locs[:, 0] >= 0, 0.5, 1.0)
    assert deep.any() and np.abs(w - want)[deep].max() < 0.12
    again = ts.density_compensation(on(device, locs), grid, iterations=100).numpy()
    # On a GPU the order in which points are added to a grid is not the same twice.
    assert np.array_equal(w, again) or (device.startswith("cuda") and np.allclose(w, again, rtol=1e-10, atol=0))


def test_more_iterations_see_more_alike():
    locs = radial(60, 12, 0.5)[1]
    worst = []
    for iterations in (1, 5, 30):
        w = ts.density_compensation(locs, GRID, iterations=iterations)
        more = ts.density_compensation(locs, GRID, iterations=iterations + 1)
        worst.append(np.abs(more.numpy() / w.numpy() - 1).max())
    assert worst[0] > worst[1] > worst[2] > 0


def test_no_points_one_point_and_points_that_coincide(rng):
    for method in ("pipe_menon", "cells"):
        assert ts.density_compensation(np.zeros((0, 2)), GRID, method).shape == (0,)
        assert ts.density_compensation([0.5, 0.5], GRID, method).shape == ()
        same = ts.density_compensation(np.full((6, 2), 1.25), GRID, method).numpy()
        one = ts.density_compensation(np.full((1, 2), 1.25), GRID, method).numpy()
        assert np.allclose(same, one / 6, rtol=1e-12)
    spatial.Voronoi  # noqa: B018
    assert ts.density_compensation(np.zeros((0, 2)), GRID, "voronoi").shape == (0,)
    k = spiral(500, 7, 12)
    twice = ts.density_compensation(np.stack([k, k]), GRID, "voronoi").numpy()
    assert np.allclose(2 * twice, ts.density_compensation(k, GRID, "voronoi").numpy(), rtol=1e-9)


def test_inputs_stay_as_they_are(device, rng):
    locs = rng.uniform(-12, 12, (40, 2))
    given = on(device, locs)
    for method in ("pipe_menon", "cells"):
        ts.density_compensation(given, GRID, method)
        assert np.array_equal(given.numpy(), locs)


@pytest.mark.parametrize("method", ["pipe_menon", "cells", "voronoi"])
@pytest.mark.parametrize(
    "locs, grid, error, text",
    [
        (np.zeros((5, 3)), GRID, ValueError, r"expected \(..., 2\)"),
        (np.zeros(()), GRID, ValueError, r"expected \(..., 2\)"),
        (np.zeros((5, 2), complex), GRID, TypeError, "expected real numbers"),
        (np.zeros((5, 2), bool), GRID, TypeError, "expected real numbers"),
        (np.full((5, 2), np.nan), GRID, ValueError, "location 0 is nan along axis 0"),
        (np.full((5, 2), -np.inf), GRID, ValueError, "finite"),
        (np.zeros((5, 2)), (24, 0), ValueError, "not empty"),
        (np.zeros((5, 4)), (2, 2, 2, 2), ValueError, "one to three"),
        (np.zeros((5, 0)), (), ValueError, "one to three"),
        (None, GRID, TypeError, "density_compensation"),
    ],
)
def test_bad_input(method, locs, grid, error, text):
    with pytest.raises(error, match=text) as caught:
        ts.density_compensation(locs, grid, method)
    assert "density_compensation" in str(caught.value)


def test_bad_options(monkeypatch):
    locs = radial(8, 6)[1]
    with pytest.raises(ValueError, match="method 'ramp'; expected one of 'pipe_menon', 'cells', 'voronoi'"):
        ts.density_compensation(locs, GRID, "ramp")
    with pytest.raises(ValueError, match="0 iterations; expected at least one"):
        ts.density_compensation(locs, GRID, iterations=0)
    spatial.Voronoi  # noqa: B018
    with pytest.raises(ValueError, match="of 1 axes; expected two"):
        ts.density_compensation([[0.0]], (8,), "voronoi")
    with pytest.raises(ValueError, match="3 points that differ"):
        ts.density_compensation([[0.0, 0], [1, 0], [0, 1], [1, 0]], GRID, "voronoi")
    with pytest.raises(ValueError, match="no Voronoi cells in the plane"):
        ts.density_compensation(np.arange(8.0)[:, None] * [1, 2], GRID, "voronoi")
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    with pytest.raises(ts.NotAvailable, match=r"method 'voronoi' needs SciPy \(scipy.spatial\)"):
        ts.density_compensation(locs, GRID, "voronoi")
