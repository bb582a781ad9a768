# SPDX-License-Identifier: Apache-2.0
"""Gradients that come late: radial readouts miss the centre of k-space, each as its direction tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError
from .._checked import Numbers

_STEPS = 8  # of Gauss and Newton
_ITERATIONS = 12  # of conjugate gradients in each fit


def delayed(locs: Numbers, delays: Numbers) -> npt.NDArray[Any]:
    """Readouts (spokes, samples, 2) moved by S n, n the direction of each and S the symmetric matrix of ``delays``
    (yy, xx, yx), in samples of k-space that are one cycle per field of view apart.

    >>> moved = ts.imaging.delayed(ts.imaging.radial(4, 8, 8), (0.0, 0.5, 0.0))
    >>> (moved - ts.imaging.radial(4, 8, 8))[0, 0].round(3).tolist()
    [0.0, 0.5]
    """
    points = np.asarray(locs, float)
    given = np.asarray(delays, float)
    if points.ndim != 3 or points.shape[-1] != 2 or points.shape[1] < 2:
        raise ArgumentError(f"delayed: locs of shape {points.shape}; expected (spokes, samples, 2)")
    if given.shape != (3,) or not np.isfinite(given).all():
        raise ArgumentError(f"delayed: delays {delays}; expected three numbers, of yy, xx and yx")
    along = points[:, -1] - points[:, 0]
    length = np.linalg.norm(along, axis=1, keepdims=True)
    if not (length > 0).all():
        raise ArgumentError("delayed: a readout whose first and last sample are at one place has no direction")
    matrix = np.array([[given[0], given[2]], [given[2], given[1]]])
    return np.asarray(points + (along / length @ matrix)[:, None])


def gradient_delays(kspace: Numbers, locs: Numbers, *, width: int = 16) -> npt.NDArray[Any]:
    """The delays (yy, xx, yx) of radial samples (coils, spokes, samples) at ``locs`` (spokes, samples, 2), for
    :func:`delayed`: those with which the samples within ``width`` of the centre contradict each other least. An image
    of so few pixels is fitted to each coil; what no image explains is made small by steps of Gauss and Newton.

    >>> nominal = ts.imaging.radial(55, 64, 32, golden=True)
    >>> taken = ts.imaging.delayed(nominal, (0.3, -0.2, 0.1))
    >>> found = ts.imaging.gradient_delays(ts.imaging.shepp_logan().kspace(taken, (32, 32))[None], nominal)
    >>> bool(np.abs(found - [0.3, -0.2, 0.1]).max() < 0.05)
    True
    """
    data, points = np.asarray(kspace), np.asarray(locs, float)
    delayed(points, np.zeros(3))  # its checks
    if data.ndim != 3 or data.shape[1:] != points.shape[:2]:
        raise ArgumentError(f"gradient_delays: k-space of shape {data.shape}; expected (coils, *{points.shape[:2]})")
    if not np.isfinite(data).all():
        raise ArgumentError("gradient_delays: samples of k-space are not finite")
    near = np.linalg.norm(points, axis=-1) <= width / 2 - 1
    if width < 4 or near.sum() < 2 * width**2:
        raise ArgumentError(
            f"gradient_delays: {int(near.sum())} samples within {width} of the centre; more than {2 * width**2} tell "
            "delays apart from the object"
        )
    samples = data[:, near]
    found = np.zeros(3)
    for _ in range(_STEPS):
        rest, slopes = _contradiction(samples, points, near, found, width)
        step = np.linalg.lstsq(slopes, -rest, rcond=None)[0]
        found = found + step
        if np.abs(step).max() < 1e-4:
            break
    return found


def _contradiction(
    samples: npt.NDArray[Any], points: npt.NDArray[Any], near: npt.NDArray[Any], delays: npt.NDArray[Any], width: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """What the best images leave of the samples, and how that changes with each delay while the images may follow: the
    change of their samples, less what other images could do to it (variable projection)."""
    at = delayed(points, delays)[near]
    grid = (2 * width, 2 * width)  # finer than the samples reach, so that samples near the rim are free as well
    root = np.sqrt(np.linalg.norm(at, axis=-1) + 0.5)

    def encode(where: npt.NDArray[Any]) -> Any:
        E = ts.NUFFT(where, grid, ("K",), batch_shape=("C",), tol=1e-6, wrap=True)
        return ts.Diagonal(root[None], ("C", "K"), broadcast_dims=("C",)) @ E

    A = encode(at)

    def fitted(y: npt.NDArray[Any]) -> Any:
        first = A.H(ts.asarray(y))
        solved: Any = ts.solve.cg(A.N, first, maxiter=_ITERATIONS, rtol=1e-8)
        return solved.x

    images = fitted(samples * root)
    rest = (A(images).numpy() - samples * root).ravel()
    slopes = []
    for number in range(3):
        more = delays + 1e-3 * np.eye(3)[number]
        change = (encode(delayed(points, more)[near])(images) - A(images)).numpy() / 1e-3
        slopes.append((change - A(fitted(change)).numpy()).ravel())
    both = np.stack(slopes, 1)
    return np.concatenate([rest.real, rest.imag]), np.concatenate([both.real, both.imag])
