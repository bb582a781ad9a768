# SPDX-License-Identifier: Apache-2.0
"""Receive coils: simulated sensitivities, maps estimated from data, noise and compression."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError

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


def root_sum_of_squares(images: Any, axis: int = 0) -> ts.Array:
    """The images of all coils in one: the length of the vector along ``axis``.

    >>> ts.imaging.root_sum_of_squares([[3.0, 1j], [4.0, 0.0]]).tolist()
    [5.0, 1.0]
    """
    return ts.sqrt(ts.sum(ts.abs2(ts.asarray(images)), axis=axis))


def whitening(noise: Any) -> npt.NDArray[Any]:
    """The matrix W (coils, coils) that makes the noise of a scan (coils, ...) white: W @ data has a covariance of one.

    >>> rng = np.random.default_rng(0)
    >>> mixed = np.array([[2.0, 0.0], [1.0, 1.0]]) @ rng.standard_normal((2, 100000))
    >>> bool(np.allclose(np.cov(ts.imaging.whitening(mixed) @ mixed), np.eye(2)))
    True
    """
    scan = np.asarray(noise)
    if scan.ndim < 2 or scan[0].size < scan.shape[0]:
        raise ArgumentError(
            f"whitening: a scan of shape {scan.shape}; expected (coils, ...) with at least as many samples as coils"
        )
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


def compress_coils(data: Any, count: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The ``count`` combinations of coils that hold most of ``data`` (coils, ...), and the matrix (count, coils) that
    makes them: apply it to other data, or to maps, of the same coils.

    >>> data = np.outer([1.0, 2.0, 2.0], np.arange(5.0))
    >>> small, matrix = ts.imaging.compress_coils(data, 1)
    >>> small.shape, matrix.shape, bool(np.allclose(np.abs(small), 3 * np.arange(5.0)))
    ((1, 5), (1, 3), True)
    """
    full = np.asarray(data)
    if full.ndim < 2 or not 1 <= count <= full.shape[0]:
        raise ArgumentError(
            f"compress_coils: data of shape {full.shape} to {count} coils; expected 1 to {full.shape[0]}"
        )
    flat = full.reshape(full.shape[0], -1)
    # Of the small product: the data may be long, the coils are few.
    _, vectors = np.linalg.eigh(flat @ flat.conj().T)
    matrix = vectors[:, ::-1][:, :count].conj().T
    return (matrix @ flat).reshape(count, *full.shape[1:]), matrix


def adaptive_maps(images: Any, *, size: int = 5) -> npt.NDArray[Any]:
    """Maps from images (coils, *shape), as Walsh: the strongest combination in a window of ``size`` pixels around each.
    Their phase is that of the strongest coil.

    >>> truth = ts.imaging.Coils(4).maps((16, 16))
    >>> maps = ts.imaging.adaptive_maps(truth * np.ones((16, 16)), size=3)
    >>> bool(np.allclose((np.abs(maps) ** 2).sum(0), 1))
    True
    """
    all_coils = np.asarray(images)
    if all_coils.ndim < 2 or size < 1 or size % 2 == 0:
        raise ArgumentError(
            f"adaptive_maps: images of shape {all_coils.shape}, a window of {size}; expected (coils, *shape), odd"
        )
    coils = all_coils.shape[0]
    products = all_coils[:, None] * all_coils[None].conj()
    for axis in range(2, products.ndim):
        products = _window_sum(products, axis, size)
    vectors = _strongest(np.moveaxis(products.reshape(coils, coils, -1), -1, 0), 1)[1][:, :, 0]
    loudest = int(np.argmax(np.sum(np.abs(all_coils.reshape(coils, -1)) ** 2, 1)))
    return _with_phase_of(vectors, loudest).T.reshape(all_coils.shape)


def espirit(
    kspace: Any,
    *,
    calibration: int = 24,
    kernel: int = 6,
    maps: int = 1,
    threshold: float = 0.02,
    crop: float = 0.95,
    soft: bool = False,
) -> npt.NDArray[Any]:
    """Sensitivities from the fully sampled centre of Cartesian ``kspace`` (coils, *shape), by ESPIRiT: (coils, *shape),
    or (maps, coils, *shape) for several.

    ``calibration`` samples along each axis, patches of ``kernel`` samples, singular values above ``threshold`` of the
    largest. Pixels whose eigenvalue is below ``crop`` are zero; with ``soft`` they fade in between crop and one.
    The phase is that of the first coil.

    >>> truth = ts.imaging.Coils(4).maps((24, 24))
    >>> disc = np.hypot(*np.mgrid[-12:12, -12:12]) < 9
    >>> data = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(truth * disc, axes=(1, 2))), axes=(1, 2))
    >>> found = ts.imaging.espirit(data, calibration=16, kernel=4)
    >>> seen = np.abs((found.conj() * truth).sum(0)) / np.linalg.norm(truth, axis=0)
    >>> bool((seen[disc] > 0.99).all())
    True
    """
    data = np.asarray(kspace)
    if data.ndim not in (3, 4):
        raise ArgumentError(f"espirit: kspace of shape {data.shape}; expected (coils, *shape) with 2 or 3 dims")
    coils, shape = data.shape[0], data.shape[1:]
    widths = [min(calibration, n) for n in shape]
    kernels = [min(kernel, w) for w in widths]
    if min(kernels) < 1 or not 1 <= maps <= coils:
        raise ArgumentError(f"espirit: calibration {calibration}, kernel {kernel}, {maps} maps of {coils} coils")
    begins = [n // 2 - w // 2 for n, w in zip(shape, widths, strict=True)]
    block = [slice(begin, begin + w) for begin, w in zip(begins, widths, strict=True)]
    centre = data[tuple([slice(None), *block])]
    if not centre.any():
        raise ArgumentError(f"espirit: the centre of k-space, {tuple(widths)} samples, is empty; nothing to learn from")
    row_space = _row_space(centre, kernels, threshold)
    values, vectors = _image_eigenvectors(row_space, kernels, coils, shape, maps)
    found = vectors.transpose(2, 1, 0).reshape(maps, coils, *shape)
    strength = values.T.reshape(maps, 1, *shape)
    weight = np.clip((strength - crop) / (1 - crop), 0, 1) if soft and crop < 1 else (strength >= crop).astype(float)
    result = (found * weight).astype(np.result_type(data.dtype, np.complex64))
    return result[0] if maps == 1 else result


def _row_space(centre: npt.NDArray[Any], kernels: Sequence[int], threshold: float) -> npt.NDArray[Any]:
    """Orthonormal kernels (kept, coils, *kernels): what patches of the calibration data are made of."""
    patches = np.lib.stride_tricks.sliding_window_view(centre, kernels, axis=tuple(range(1, centre.ndim)))
    spatial = len(kernels)
    order = (*range(1, 1 + spatial), 0, *range(1 + spatial, 1 + 2 * spatial))
    rows = patches.transpose(order).reshape(-1, centre.shape[0] * math.prod(kernels))
    values, vectors = np.linalg.eigh(rows.conj().T @ rows)
    kept = np.sqrt(np.maximum(values, 0)) > threshold * math.sqrt(max(values[-1], 0.0))
    return vectors[:, kept].conj().T.reshape(-1, centre.shape[0], *kernels)


def _image_eigenvectors(
    kernels: npt.NDArray[Any], sizes: Sequence[int], coils: int, shape: Sequence[int], maps: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The strongest eigenvectors of each pixel's product of kernels, in blocks of rows of the image."""
    values = np.empty((math.prod(shape), maps))
    vectors = np.empty((math.prod(shape), coils, maps), complex)
    # The transform of kernels with few samples is a product of small matrices, and can be had for any block of rows.
    partial = kernels
    for axis in range(len(shape) - 1, 0, -1):
        partial = np.moveaxis(np.tensordot(partial, _waves(sizes[axis], shape[axis]), (2 + axis, 0)), -1, 2 + axis)
    first = _waves(sizes[0], shape[0])
    row = math.prod(shape[1:])
    step = max(1, (1 << 24) // max(1, kernels.shape[0] * coils * row))
    for begin in range(0, shape[0], step):
        end = min(shape[0], begin + step)
        block = np.moveaxis(np.tensordot(partial, first[:, begin:end], (2, 0)), -1, 2)
        flat = block.reshape(block.shape[0], coils, -1).transpose(2, 1, 0)
        gram = flat @ flat.conj().transpose(0, 2, 1) / math.prod(sizes)
        values[begin * row : end * row], found = _strongest(gram, maps)
        for which in range(maps):
            vectors[begin * row : end * row, :, which] = _with_phase_of(found[:, :, which], 0)
    return values, vectors


def _waves(taps: int, n: int) -> npt.NDArray[Any]:
    """exp(2 pi i j r) of the taps j of a kernel at the n pixels r of an axis."""
    return np.exp(2j * np.pi * np.outer(np.arange(taps) - taps // 2, (np.arange(n) - n // 2) / n))


def _window_sum(x: npt.NDArray[Any], axis: int, size: int) -> npt.NDArray[Any]:
    """Sums over windows of ``size`` along an axis, shorter at its ends."""
    half, n = size // 2, x.shape[axis]
    sums = np.concatenate([np.zeros_like(np.take(x, [0], axis)), np.cumsum(x, axis)], axis)
    ends = np.minimum(np.arange(n) + half + 1, n)
    begins = np.maximum(np.arange(n) - half, 0)
    return np.take(sums, ends, axis) - np.take(sums, begins, axis)


def _strongest(matrices: npt.NDArray[Any], count: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The ``count`` largest eigenvalues (n, count) and their vectors (n, coils, count) of Hermitian matrices."""
    values, vectors = (part.numpy() for part in ts.linalg.eigh(ts.asarray(matrices)))
    return values[:, ::-1][:, :count], vectors[:, :, ::-1][:, :, :count]


def _with_phase_of(vectors: npt.NDArray[Any], coil: int) -> npt.NDArray[Any]:
    """Vectors (n, coils) turned so that one coil is real and positive."""
    lead = vectors[:, coil : coil + 1]
    size = np.abs(lead)
    return vectors * np.where(size > 0, lead.conj() / np.where(size > 0, size, 1), 1)
