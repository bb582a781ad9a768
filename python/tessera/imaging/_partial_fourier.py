# SPDX-License-Identifier: Apache-2.0
"""Partial Fourier: images from little more than one half of k-space, whose phase is smooth."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ArgumentError
from .._checked import Numbers


def _to_image(kspace: npt.NDArray[Any], axes: tuple[int, ...]) -> npt.NDArray[Any]:
    return np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(kspace, axes=axes), axes=axes, norm="ortho"), axes=axes)


def _to_kspace(image: npt.NDArray[Any], axes: tuple[int, ...]) -> npt.NDArray[Any]:
    return np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(image, axes=axes), axes=axes, norm="ortho"), axes=axes)


def _mirrored(mask: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The mask at -k: the centre of an axis of n is n // 2, and an even axis has no counterpart of its first sample."""
    result = mask
    for axis, n in enumerate(mask.shape):
        result = np.take(result, (2 * (n // 2) - np.arange(n)) % n, axis)
    return result


def _prepared(who: str, kspace: Any, mask: Any) -> tuple[Any, Any, Any, tuple[int, ...]]:
    """Samples, mask, the phase of the low frequencies, and the axes of the image."""
    data, taken = np.asarray(kspace), np.asarray(mask) != 0
    if taken.ndim < 1 or data.shape[data.ndim - taken.ndim :] != taken.shape:
        raise ArgumentError(f"{who}: k-space of shape {data.shape}, a mask of {taken.shape}; expected (..., *mask)")
    if not np.isfinite(data).all():
        raise ArgumentError(f"{who}: samples of k-space are not finite")
    both = taken & _mirrored(taken)
    if not taken[tuple(n // 2 for n in taken.shape)]:
        raise ArgumentError(f"{who}: the mask misses the centre of k-space, from which the phase is known")
    if not (taken | _mirrored(taken)).all():
        raise ArgumentError(
            f"{who}: {int((~(taken | _mirrored(taken))).sum())} samples were taken neither themselves nor at the other "
            "side of the centre; undersampled data are for reconstructions with maps"
        )
    axes = tuple(range(data.ndim - taken.ndim, data.ndim))
    window = both.astype(float)
    for axis, n in enumerate(taken.shape):
        others = tuple(a for a in range(taken.ndim) if a != axis)
        width = int(both.any(others).sum())
        if width < n:  # cut off: without a soft end the phase would ring
            far = np.abs(np.arange(n) - n // 2) / (width / 2 + 1)
            soft = np.cos(np.pi / 2 * np.minimum(far, 1)) ** 2
            window = window * soft.reshape([n if a == axis else 1 for a in range(taken.ndim)])
    smooth = _to_image(data * window, axes)
    size = np.abs(smooth)
    phase = np.where(size > 0, smooth / np.where(size > 0, size, 1), 1)
    return np.where(taken, data, 0), taken, phase, axes


def pocs(kspace: Numbers, mask: Numbers, *, iterations: int = 20) -> npt.NDArray[Any]:
    """Images of ``kspace`` (..., *shape), of which ``mask`` (*shape) tells what was taken, by projections onto convex
    sets: in turn the phase becomes that of the low frequencies and the samples become those that were taken.

    >>> truth = ts.imaging.shepp_logan().image((32, 32))
    >>> kspace = ts.imaging.sense_operator(np.ones((1, 32, 32)))(truth).numpy()
    >>> mask = np.arange(32)[:, None] < 20 + np.zeros(32)
    >>> bool(ts.imaging.nrmse(ts.imaging.pocs(kspace, mask)[0], truth) < 0.05)
    True
    """
    data, taken, phase, axes = _prepared("pocs", kspace, mask)
    if iterations < 1:
        raise ArgumentError(f"pocs: {iterations} iterations; expected at least 1")
    image = _to_image(data, axes)
    for _ in range(iterations):
        image = np.maximum((image * phase.conj()).real, 0) * phase
        image = _to_image(np.where(taken, data, _to_kspace(image, axes)), axes)
    return np.asarray(image)


def conjugate_symmetry(kspace: Numbers, mask: Numbers) -> npt.NDArray[Any]:
    """Images of ``kspace`` (..., *shape), of which ``mask`` (*shape) tells what was taken: without the phase of the low
    frequencies an image is real, so that samples which were not taken are the conjugates of those across the centre
    (homodyne detection). The phase is put back.

    >>> truth = ts.imaging.shepp_logan().image((32, 32))
    >>> kspace = ts.imaging.sense_operator(np.ones((1, 32, 32)))(truth).numpy()
    >>> mask = np.arange(32)[:, None] < 20 + np.zeros(32)
    >>> bool(ts.imaging.nrmse(ts.imaging.conjugate_symmetry(kspace, mask)[0], truth) < 0.05)
    True
    """
    data, taken, phase, axes = _prepared("conjugate_symmetry", kspace, mask)
    alone = taken & ~_mirrored(taken)
    image = _to_image(data * np.where(alone, 2.0, 1.0), axes)
    return np.asarray((image * phase.conj()).real * phase)
