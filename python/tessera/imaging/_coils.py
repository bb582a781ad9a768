# SPDX-License-Identifier: Apache-2.0
"""Receive coils: simulated sensitivities, noise and compression."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError
from .._checked import Numbers
from ._finite import finite, inexact

_PERIOD = 3.0  # of the simulated sensitivities, in fields of view


@dataclasses.dataclass(frozen=True)
class Coils:
    """Simulated receive coils around the object, each a short Fourier series, so that the k-space of what they see of a
    :class:`Phantom` is exact.

    >>> maps = ts.imaging.Coils(8).maps((32, 32))
    >>> maps.shape, bool((np.abs(maps).max((1, 2)) > 0.9).all())
    ((8, 32, 32), True)
    """

    count: int
    ndim: int = 2

    def __post_init__(self) -> None:
        if self.count < 1 or self.ndim not in (2, 3):
            raise ArgumentError(f"Coils: {self.count} coils in {self.ndim} dims; expected at least 1, and 2 or 3 dims")

    def directions(self) -> npt.NDArray[Any]:
        """Unit vectors from the centre to the coils: on a circle, or spread over a sphere by golden angles.

        >>> ts.imaging.Coils(2).directions().round(3).tolist()
        [[0.0, 1.0], [0.0, -1.0]]
        """
        i: npt.NDArray[Any] = np.arange(self.count)
        if self.ndim == 2:
            angle = 2 * np.pi * i / self.count
            return np.stack([np.sin(angle), np.cos(angle)], 1)
        height = 1 - (2 * i + 1) / self.count
        turn = i * np.pi * (3 - math.sqrt(5))
        around = np.sqrt(1 - height**2)
        return np.stack([height, around * np.sin(turn), around * np.cos(turn)], 1)

    def series(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Frequencies (coils, terms, ndim), in cycles per field of view, and weights (coils, terms): the sensitivity is
        the sum of weight * exp(2 pi i frequency r).

        >>> [part.shape for part in ts.imaging.Coils(4).series()]
        [(4, 3, 2), (4, 3)]
        """
        directions = self.directions()
        # (1 + 2 cos(2 pi (u r - 1/2) / 3)) / 3: one at the coil's side, zero at the other, with a phase that turns.
        steps = np.array([0.0, 1.0, -1.0]) / _PERIOD
        frequencies = directions[:, None, :] * (steps + 0.25)[None, :, None]
        phases = np.exp(2j * np.pi * np.arange(self.count) / self.count)
        weights = np.exp(-1j * np.pi * steps)[None, :] / 3 * phases[:, None]
        return frequencies, weights

    def maps(self, shape: Sequence[int]) -> npt.NDArray[np.complex128]:
        """The sensitivities on a grid: (coils, *shape).

        >>> ts.imaging.Coils(3, 3).maps((4, 5, 6)).shape
        (3, 4, 5, 6)
        """
        if len(shape) != self.ndim:
            raise ArgumentError(f"Coils.maps: shape {tuple(shape)}; expected {self.ndim} sizes")
        frequencies, weights = self.series()
        result = np.zeros((self.count, *shape), complex)
        for coil in range(self.count):
            for frequency, weight in zip(frequencies[coil], weights[coil], strict=True):
                wave = np.asarray(weight)
                for axis, n in enumerate(shape):
                    r = (np.arange(n) - n // 2) / n
                    wave = np.multiply.outer(wave, np.exp(2j * np.pi * frequency[axis] * r))
                result[coil] += wave
        return result


def root_sum_of_squares(images: Numbers, axis: int = 0) -> ts.Array:
    """The images of all coils in one: the length of the vector along ``axis``.

    >>> ts.imaging.root_sum_of_squares([[3.0, 1j], [4.0, 0.0]]).tolist()
    [5.0, 1.0]
    """
    return ts.sqrt(ts.sum(ts.abs2(ts.asarray(images)), axis=axis))


def whitening(noise: Numbers) -> npt.NDArray[Any]:
    """The matrix W (coils, coils) that makes the noise of a scan (coils, ...) white: W @ data has a covariance of one.

    >>> rng = np.random.default_rng(0)
    >>> mixed = np.array([[2.0, 0.0], [1.0, 1.0]]) @ rng.standard_normal((2, 100000))
    >>> bool(np.allclose(np.cov(ts.imaging.whitening(mixed) @ mixed), np.eye(2)))
    True
    """
    scan = inexact(noise)
    if scan.ndim < 2 or scan[0].size < scan.shape[0]:
        raise ArgumentError(
            f"whitening: a scan of shape {scan.shape}; expected (coils, ...) with at least as many samples as coils"
        )
    finite("whitening", noise=scan)
    flat = scan.reshape(scan.shape[0], -1)
    flat = flat - flat.mean(1, keepdims=True)
    covariance = flat @ flat.conj().T / (flat.shape[1] - 1 or 1)
    try:
        lower = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise ArgumentError(
            "whitening: the noise of one coil follows from the others (a coil without signal, or one given twice)"
        ) from None
    return np.linalg.inv(lower)


def compress_coils(data: Numbers, count: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The ``count`` combinations of coils that hold most of ``data`` (coils, ...), and the matrix (count, coils) that
    makes them: apply it to other data, or to maps, of the same coils.

    >>> data = np.outer([1.0, 2.0, 2.0], np.arange(5.0))
    >>> small, matrix = ts.imaging.compress_coils(data, 1)
    >>> small.shape, matrix.shape, bool(np.allclose(np.abs(small), 3 * np.arange(5.0)))
    ((1, 5), (1, 3), True)
    """
    full = inexact(data)
    if full.ndim < 2 or not 1 <= count <= full.shape[0]:
        raise ArgumentError(
            f"compress_coils: data of shape {full.shape} to {count} coils; expected 1 to {full.shape[0]}"
        )
    finite("compress_coils", data=full)
    flat = full.reshape(full.shape[0], -1)
    # Of the small product: the data may be long, the coils are few.
    _, vectors = np.linalg.eigh(flat @ flat.conj().T)
    matrix = vectors[:, ::-1][:, :count].conj().T
    return (matrix @ flat).reshape(count, *full.shape[1:]), matrix
