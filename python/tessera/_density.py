# SPDX-License-Identifier: Apache-2.0
"""Weights of sampled frequencies: what the core has, and areas of Voronoi cells, for which SciPy is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._tessera import Array, NotAvailable, _density_compensation, asarray

_METHODS = ("pipe_menon", "cells", "voronoi")


def density_compensation(
    locs: Any, grid_size: int | Sequence[int], method: str = "pipe_menon", *, iterations: int = 30
) -> Array:
    """The area that each sampled frequency stands for, in cells of the grid: weights w for which A.H(w * A(x)) is near
    x, where A is ``ts.NUFFT(locs, grid_size)``; all are 1 where the points are the frequencies of the grid.

    "pipe_menon" divides the weights by what they sum to around each point, ``iterations`` times; "cells" gives each
    point its share of its cell; "voronoi" takes the areas of the Voronoi cells of points that fill a disc around 0, as
    radial lines and spirals in two dimensions do, and needs SciPy.

    >>> grid = np.stack(np.meshgrid(np.arange(-4, 4), np.arange(-3, 3), indexing="ij"), -1)
    >>> w = ts.density_compensation(grid, (8, 6))
    >>> w.shape, bool(abs(w.numpy() - 1).max() < 1e-3)
    ((8, 6), True)
    >>> ts.density_compensation([[0.0], [0.1], [2.0]], (8,), "cells").tolist()
    [0.5, 0.5, 1.0]
    """
    if method not in _METHODS:
        raise ValueError(f"density_compensation: method {method!r}; expected one of {', '.join(map(repr, _METHODS))}")
    if method != "voronoi":
        return _density_compensation(locs, grid_size, method, iterations)
    _density_compensation(locs, grid_size, "cells", iterations)  # whether it takes them
    at = asarray(locs)
    if at.shape[-1] != 2:
        raise ValueError(f"density_compensation: Voronoi cells of {at.shape[-1]} axes; expected two")
    areas = asarray(_voronoi_areas(at.to("cpu").numpy().reshape(-1, 2).astype("float64")))
    return areas.reshape(at.shape[:-1]).to(at.device)


def _voronoi_areas(points: Any) -> Any:
    """Points that coincide share a cell. Outermost cells end at a circle, half a sample beyond the last point: points
    are mirrored there, and the boundary between a point and its image is a tangent of the circle."""
    try:
        import numpy as np
        from scipy.spatial import ConvexHull, Delaunay, QhullError, Voronoi
    except ImportError as e:
        raise NotAvailable(f"density_compensation: method 'voronoi' needs SciPy (scipy.spatial): {e}") from None
    if len(points) == 0:
        return np.zeros(0)
    size = abs(points).max()
    rounded = np.round(points, int(10 - np.ceil(np.log10(size))) if size > 0 else 0)
    _, first, place, copies = np.unique(rounded, axis=0, return_index=True, return_inverse=True, return_counts=True)
    here = points[first]
    if len(here) < 4:
        raise ValueError(f"density_compensation: {len(here)} points that differ; Voronoi cells need four or more")
    try:
        edge, radius = _circle(here, ConvexHull(here).vertices, Delaunay(here)), np.hypot(*here.T)
        outer = radius > edge / 2
        mirrored = here[outer] * (2 * edge / radius[outer] - 1)[:, None]
        cells = Voronoi(np.concatenate([here, mirrored]))
    except QhullError as e:
        raise ValueError(
            f"density_compensation: these points have no Voronoi cells in the plane: {str(e).splitlines()[0]}"
        ) from None
    areas = np.empty(len(here))
    for i in range(len(here)):
        region = cells.regions[cells.point_region[i]]
        if -1 in region or not region:
            raise ValueError(
                f"density_compensation: the Voronoi cell of point {first[i]} at {tuple(here[i])} is not bounded; "
                "expected points that fill a disc around 0"
            )
        x, y = cells.vertices[region].T  # in the order of a walk around the cell
        areas[i] = abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
    return (areas / copies)[place.reshape(-1)]


def _circle(points: Any, hull: Any, triangles: Any) -> float:
    """Half the distance between samples beyond the outermost point: the distance inwards, in the middle of those of all
    points of the hull to the nearest neighbour that lies in that direction."""
    import numpy as np

    starts, neighbours = triangles.vertex_neighbor_vertices
    radius = np.hypot(*points.T)
    gaps: list[float] = []
    for i in hull:
        apart = points[i] - points[neighbours[starts[i] : starts[i + 1]]]
        along = apart @ points[i] / radius[i]
        inwards = along > 0.7 * np.hypot(*apart.T)
        gaps.extend(np.sort(along[inwards])[:1])
    return float(radius.max() + np.median(gaps) / 2 if gaps else radius.max())
