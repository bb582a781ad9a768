# SPDX-License-Identifier: Apache-2.0
"""GRAPPA: samples that were left out, from their neighbours in all coils. A baseline for reconstructions with maps."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ArgumentError
from .._checked import Numbers
from ._calibration import centre_of
from ._finite import inexact

_PATTERNS = 1000  # of neighbours, each with weights of its own


def calibration_width(mask: npt.NDArray[Any]) -> tuple[int, ...]:
    """How many samples around the centre are all there, along each axis: a block that grows as long as it can."""
    widths = [1] * mask.ndim
    growing = True
    while growing:
        growing = False
        for axis, n in enumerate(mask.shape):
            tried = list(widths)
            tried[axis] += 1
            if tried[axis] <= n and mask[block_of(mask.shape, tried)].all():
                widths, growing = tried, True
    return tuple(widths)


def block_of(shape: Sequence[int], widths: Sequence[int]) -> tuple[slice, ...]:
    """The middle of a grid, so many samples along each axis."""
    return tuple(centre_of((n,), width)[0] for n, width in zip(shape, widths, strict=True))


def grappa(kspace: Numbers, mask: Numbers, *, kernel: int | Sequence[int] = 5, regularization: float = 1e-4) -> Any:
    """Fills the samples of ``kspace`` (coils, *shape) that ``mask`` leaves out: each is a combination of those within
    ``kernel`` samples around it, learned from the block in the centre of k-space where none is left out.

    Samples with one pattern of neighbours share their weights; those without any neighbour stay zero.
    ``regularization`` is beside the mean square of the calibration data.

    >>> maps, truth = ts.imaging.Coils(6).maps((32, 32)), ts.imaging.shepp_logan().image((32, 32))
    >>> mask = (np.arange(32)[:, None] % 2 == 0) | (np.abs(np.arange(32)[:, None] - 16) < 6) & np.ones((32, 32), bool)
    >>> kspace = ts.imaging.sense_operator(maps)(truth).numpy()
    >>> filled = ts.imaging.grappa(kspace * mask, mask)
    >>> ts.imaging.nrmse(filled, kspace) < 0.3 * ts.imaging.nrmse(kspace * mask, kspace)
    True
    """
    data, taken = inexact(kspace), np.asarray(mask) != 0
    if data.ndim < 2 or taken.shape != data.shape[1:]:
        raise ArgumentError(f"grappa: k-space of shape {data.shape}, a mask of {taken.shape}; expected (coils, *mask)")
    given: Any = kernel
    sizes = tuple(operator.index(n) for n in ((given,) * taken.ndim if np.ndim(given) == 0 else given))
    if len(sizes) != taken.ndim or any(size < 1 or size % 2 == 0 for size in sizes):
        raise ArgumentError(f"grappa: a kernel of {sizes} samples; expected odd sizes for {taken.ndim} axes")
    if not regularization >= 0:
        raise ArgumentError(f"grappa: regularization {regularization}; expected a number that is not negative")
    if not np.isfinite(data[:, taken]).all():
        raise ArgumentError("grappa: samples of k-space are not finite")
    if taken.all():
        return data.copy()
    learned_from = block_of(taken.shape, calibration_width(taken))
    inside = (slice(None), *learned_from)
    centre = data[inside]
    if not taken[block_of(taken.shape, [1] * taken.ndim)].all() or any(
        n < s for n, s in zip(centre.shape[1:], sizes, strict=True)
    ):
        raise ArgumentError(
            f"grappa: {centre.shape[1:]} samples in the centre of k-space were all taken; "
            f"a kernel of {sizes} cannot be learned from them"
        )
    return _filled(np.where(taken, data, 0), taken, centre, sizes, regularization)


def _filled(
    data: npt.NDArray[Any], taken: npt.NDArray[Any], centre: npt.NDArray[Any], sizes: Sequence[int], weight: float
) -> npt.NDArray[Any]:
    coils, axes = len(data), tuple(range(1, data.ndim))
    halves = [size // 2 for size in sizes]
    padding = [(half, half) for half in halves]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(taken, padding), sizes)
    missing = np.argwhere(~taken)
    patterns, which = np.unique(windows[~taken].reshape(len(missing), -1), axis=0, return_inverse=True)
    if len(patterns) > _PATTERNS:
        raise ArgumentError(f"grappa: {len(patterns)} patterns of neighbours; the mask is not regular enough")
    learned = np.lib.stride_tricks.sliding_window_view(centre, sizes, axis=axes)
    flat = learned.reshape(coils, -1, int(np.prod(sizes))).swapaxes(0, 1)  # (windows, coils, neighbours)
    middle = flat[:, :, flat.shape[2] // 2]
    around = np.lib.stride_tricks.sliding_window_view(np.pad(data, [(0, 0), *padding]), sizes, axis=axes)
    result = data.copy()
    for number, pattern in enumerate(patterns):
        if not pattern.any():
            continue
        sources = flat[:, :, pattern].reshape(len(flat), -1)
        gram = sources.conj().T @ sources
        gram += weight * np.trace(gram).real / len(gram) * np.eye(len(gram))
        weights = np.linalg.lstsq(gram, sources.conj().T @ middle, rcond=None)[0]
        points = missing[which.reshape(-1) == number].T
        at = (slice(None), *points)
        near = around[at].reshape(coils, points.shape[1], -1)[:, :, pattern]
        result[at] = (near.swapaxes(0, 1).reshape(points.shape[1], -1) @ weights).T
    return result
