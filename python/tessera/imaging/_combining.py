# SPDX-License-Identifier: Apache-2.0
"""Many coils as few, position by position, and the images of coils as one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ArgumentError
from .._checked import Numbers
from ._finite import finite
from ._maps import adaptive_maps


def adaptive_combine(images: Numbers, *, size: int = 5) -> npt.NDArray[Any]:
    """One image of those of all coils (coils, *shape), weighted with :func:`adaptive_maps` of them, as Walsh: noise
    adds up less than in the root of the sum of squares.

    >>> truth = ts.imaging.shepp_logan().image((16, 16))
    >>> images = ts.imaging.Coils(4).maps((16, 16)) * truth
    >>> ts.imaging.adaptive_combine(images).shape
    (16, 16)
    """
    all_coils = np.asarray(images)
    return np.asarray(np.sum(adaptive_maps(all_coils, size=size).conj() * all_coils, 0))


def compress_coils_geometrically(kspace: Numbers, count: int, *, axis: int = -1) -> tuple[Any, npt.NDArray[Any]]:
    """As :func:`compress_coils`, with matrices of their own for each position along ``axis``, which is fully sampled
    (the readout): coils that see a slice are fewer than those that see all. Matrices of neighbours are turned so that
    combinations change smoothly. Returns k-space (count, ...) and the matrices (positions, count, coils), for maps.

    >>> kspace = ts.imaging.sense_operator(ts.imaging.Coils(8).maps((16, 16)))(np.ones((16, 16))).numpy()
    >>> small, matrices = ts.imaging.compress_coils_geometrically(kspace, 4)
    >>> small.shape, matrices.shape
    ((4, 16, 16), (16, 4, 8))
    """
    full = np.asarray(kspace)
    if full.ndim < 2 or not 1 <= count <= full.shape[0]:
        raise ArgumentError(
            f"compress_coils_geometrically: data of shape {full.shape} to {count} coils; expected 1 to {full.shape[0]}"
        )
    if not -full.ndim <= axis < full.ndim or axis % full.ndim == 0:
        raise ArgumentError(f"compress_coils_geometrically: axis {axis}; expected one of the axes behind the coils")
    finite("compress_coils_geometrically", kspace=full)
    along = axis % full.ndim
    hybrid = np.fft.fftshift(np.fft.ifft(np.fft.ifftshift(full, axes=along), axis=along, norm="ortho"), axes=along)
    lines = np.moveaxis(hybrid, along, 0)
    flat = lines.reshape(len(lines), full.shape[0], -1)
    _, vectors = np.linalg.eigh(flat @ flat.conj().swapaxes(1, 2))
    matrices = vectors[:, :, ::-1][:, :, :count].conj().swapaxes(1, 2)
    # From the middle outwards: the rotation among the combinations that is nearest to the neighbour's.
    middle = len(lines) // 2
    for order in (range(middle + 1, len(lines)), range(middle - 1, -1, -1)):
        before = matrices[middle]
        for i in order:
            u, _, vh = np.linalg.svd(before @ matrices[i].conj().T)
            matrices[i] = before = u @ vh @ matrices[i]
    small = np.moveaxis((matrices @ flat).reshape(len(lines), count, *lines.shape[2:]), 0, along)
    back = np.fft.fftshift(np.fft.fft(np.fft.ifftshift(small, axes=along), axis=along, norm="ortho"), axes=along)
    return back, matrices
