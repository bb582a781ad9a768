# SPDX-License-Identifier: Apache-2.0
"""Spreading along curves of travel times: what Kirchhoff's migration and slant stacks are adjoint to."""

from __future__ import annotations

from typing import Any

import numpy as np

import tessera as ts

from .. import ArgumentError, Sparse
from .._checked import Numbers


def spread(
    table: Numbers,
    samples: int,
    *,
    weights: Numbers = None,
    interpolate: bool = True,
    image_shape: Any = None,
    data_shape: Any = ("R", "T"),
    batch_shape: Any = None,
) -> Sparse:
    """Each point of the input is added to one time of every trace: ``table`` (*points, traces) holds the times, counted
    in samples from 0; the data are (traces, ``samples``). Times between two samples are shared by them, or go to the
    nearest where ``interpolate`` is false; times that are not finite or beyond the trace add nothing. ``weights``
    of the shape of the table multiply.

    The adjoint sums along the same curves: with travel times from source to point to receiver it is Kirchhoff's
    migration, and with ``table[p, t0, x] = t0 + p x`` a slant stack.

    >>> A = ts.imaging.spread([[0.0, 1.5], [2.0, 9.0]], 4)
    >>> A([1.0, 10.0]).tolist()
    [[1.0, 0.0, 10.0, 0.0], [0.0, 0.5, 0.5, 0.0]]
    >>> A.H([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]).tolist()
    [7.5, 3.0]
    """
    times = np.asarray(table)
    if times.dtype.kind not in "fiu" or times.ndim < 2:
        raise ArgumentError(f"spread: a table of shape {times.shape}, {times.dtype}; expected real (*points, traces)")
    if samples < 1:
        raise ArgumentError(f"spread: {samples} samples; expected at least one")
    factors = np.ones(times.shape) if weights is None else np.asarray(weights)
    if factors.shape != times.shape:
        raise ArgumentError(f"spread: weights of shape {factors.shape} for a table of shape {times.shape}")
    if factors.dtype.kind not in "fc":
        factors = factors.astype(float)
    points, traces = times.shape[:-1], times.shape[-1]
    flat = times.reshape(-1, traces).astype(float)
    point, trace = np.nonzero(np.isfinite(flat) & (flat > -1) & (flat < samples))
    at = flat[point, trace]
    first = np.floor(at) if interpolate else np.floor(at + 0.5)
    parts = [(first, 1 - (at - first)), (first + 1, at - first)] if interpolate else [(first, np.ones_like(at))]
    values, rows, columns = [], [], []
    for time, part in parts:
        inside = (time >= 0) & (time < samples) & (part != 0)
        values.append((factors.reshape(flat.shape)[point, trace] * part)[inside])
        rows.append(trace[inside] * samples + time[inside].astype(np.int64))
        columns.append(point[inside])
    names = tuple(f"P{i}" if i else "P" for i in range(len(points))) if image_shape is None else image_shape
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return ts.Sparse(
        entries,
        names,
        data_shape,
        points,
        (traces, samples),
        batch_shape,
        (traces * samples, int(np.prod(points))),
    )
