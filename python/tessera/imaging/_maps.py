# SPDX-License-Identifier: Apache-2.0
"""Maps of coils that are learned from data: ESPIRiT, and Walsh's adaptive combination."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError
from ._finite import finite, inexact

_AT_ONCE = 1 << 22  # entries of matrices, one for each pixel, that are in memory beside the maps
_POWERS = 48  # steps of the power method, after which pixels whose two strongest combinations are near get the rest
ENOUGH = 0.9  # of the samples of a centre
_SETTLED = 1e-5  # of the eigenvalue: the residual of an eigenvector


def adaptive_maps(images: Any, *, size: int = 5) -> npt.NDArray[Any]:
    """Maps from images (coils, *shape), as Walsh: the strongest combination in a window of ``size`` pixels around each.
    Their phase is that of the strongest coil.

    >>> truth = ts.imaging.Coils(4).maps((16, 16))
    >>> maps = ts.imaging.adaptive_maps(truth * np.ones((16, 16)), size=3)
    >>> bool(np.allclose((np.abs(maps) ** 2).sum(0), 1))
    True
    """
    all_coils = inexact(images)
    if all_coils.ndim < 2 or size < 1 or size % 2 == 0:
        raise ArgumentError(
            f"adaptive_maps: images of shape {all_coils.shape}, a window of {size}; expected (coils, *shape), odd"
        )
    finite("adaptive_maps", images=all_coils)
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
    finite("espirit", **{"the centre of kspace": centre})
    if not (0 <= threshold < 1 and 0 <= crop <= 1):
        raise ArgumentError(f"espirit: threshold {threshold}, crop {crop}; expected at least 0, below 1 and at most 1")
    if not centre.any():
        raise ArgumentError(f"espirit: the centre of k-space, {tuple(widths)} samples, is empty; nothing to learn from")
    seen = centre.any(0)
    if seen.mean() < ENOUGH:
        raise ArgumentError(
            f"espirit: {int(seen.sum())} of {seen.size} samples in the centre of kspace, {tuple(widths)}, are there, "
            "the others zero in all coils; maps cannot be learned from them: give a narrower calibration, or joint_maps"
        )
    row_space = _row_space(centre, kernels, threshold)
    values, vectors = _image_eigenvectors(row_space, shape, maps, crop)
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
    few = rows.shape[0] < rows.shape[1]  # patches, as in volumes: the smaller of the two products knows all
    product = rows @ rows.conj().T if few else rows.conj().T @ rows
    values, vectors = (part.numpy() for part in ts.linalg.eigh(ts.asarray(product)))
    sizes = np.sqrt(np.maximum(values, 0))
    kept = sizes > max(threshold, math.sqrt(np.finfo(values.dtype).eps)) * sizes[-1]
    right = (vectors[:, kept] / sizes[kept]).conj().T @ rows if few else vectors[:, kept].conj().T
    return right.reshape(-1, centre.shape[0], *kernels)


def _correlations(kernels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The sum over kernels of the correlations of their coils, (*widths, coils, coils), widths of 2 taps - 1."""
    axes = tuple(range(2, kernels.ndim))
    widths = [2 * n - 1 for n in kernels.shape[2:]]
    spectra = np.fft.fftn(kernels, widths, axes)
    lead = np.moveaxis(spectra.reshape(*kernels.shape[:2], -1), -1, 0)  # (frequency, kernel, coil)
    sums = lead.transpose(0, 2, 1) @ lead.conj()
    spatial = tuple(range(len(widths)))
    return np.fft.fftshift(np.fft.ifftn(sums.reshape(*widths, *sums.shape[1:]), axes=spatial), spatial)


def _image_eigenvectors(
    kernels: npt.NDArray[Any], shape: Sequence[int], maps: int, crop: float
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The strongest eigenvectors of each pixel's product of kernels, in blocks of rows of the image. The products are
    the Fourier series of the kernels' correlations: of few terms, however many kernels there are."""
    kind = np.result_type(kernels.dtype, np.complex64)
    coils, spatial = kernels.shape[1], kernels.ndim - 2
    values = np.empty((math.prod(shape), maps), np.float32 if kind == np.complex64 else float)
    vectors = np.empty((math.prod(shape), coils, maps), kind)
    partial = (_correlations(kernels) / math.prod(kernels.shape[2:])).astype(kind)
    for axis in range(spatial - 1, 0, -1):
        along = _waves(partial.shape[axis], shape[axis]).astype(kind)
        partial = np.moveaxis(np.tensordot(along, partial, (0, axis)), 0, axis)
    taps = partial.shape[0]
    partial = np.ascontiguousarray(partial).reshape(taps, -1)
    first, row = _waves(taps, shape[0]).astype(kind), math.prod(shape[1:])
    step = max(1, _AT_ONCE // max(1, coils * coils * row))
    for begin in range(0, shape[0], step):
        end = min(shape[0], begin + step)
        products = (first[:, begin:end].T @ partial).reshape(-1, coils, coils)
        at = slice(begin * row, end * row)
        values[at], found = _strongest(products, maps, crop)
        for which in range(maps):
            vectors[at, :, which] = _with_phase_of(found[:, :, which], 0)
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


def _strongest(matrices: npt.NDArray[Any], count: int, least: float = 0.0) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The ``count`` largest eigenvalues (n, count) and their vectors (n, coils, count) of Hermitian matrices without
    negative eigenvalues; where the largest is below ``least``, zeros. One is found by the power method, which few
    pixels do not end: those, and several, are left to a decomposition."""
    n, coils = matrices.shape[:2]
    values, vectors = np.zeros((n, count), matrices.real.dtype), np.zeros((n, coils, count), matrices.dtype)
    left = np.flatnonzero(np.trace(matrices, axis1=1, axis2=2).real >= least)  # which is at least the largest of them
    if count == 1:
        left = _by_powers(matrices, left, values[:, 0], vectors[:, :, 0])
    if left.size:
        w, v = (part.numpy() for part in ts.linalg.eigh(ts.asarray(np.ascontiguousarray(matrices[left]))))
        values[left], vectors[left] = w[:, ::-1][:, :count], v[:, :, ::-1][:, :, :count]
    return values, vectors


def _by_powers(
    matrices: npt.NDArray[Any], left: npt.NDArray[Any], values: npt.NDArray[Any], vectors: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Writes what the power method finds; the numbers of matrices for which it has not settled."""
    some = matrices if left.size == len(matrices) else matrices[left]
    loudest = np.argmax(np.einsum("nii->ni", some).real, 1)
    v = some[np.arange(left.size), :, loudest][..., None]  # one step, from that coil alone
    v = v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), np.finfo(values.dtype).tiny)
    for step in range(_POWERS):
        product = some @ v
        if step % 4 == 3:
            size = np.einsum("nik,nik->n", v.conj(), product).real
            rest = np.linalg.norm((product - size[:, None, None] * v)[..., 0], axis=1)
            done = rest <= _SETTLED * size
            values[left[done]], vectors[left[done]] = size[done], v[done, :, 0]
            if done.all():
                return left[:0]
            if done.mean() > 0.25 or step + 1 == _POWERS:  # those that are left move together
                left, some, product = left[~done], some[~done], product[~done]
        v = product / np.maximum(np.linalg.norm(product, axis=1, keepdims=True), np.finfo(values.dtype).tiny)
    return left


def _with_phase_of(vectors: npt.NDArray[Any], coil: int) -> npt.NDArray[Any]:
    """Vectors (n, coils) turned so that one coil is real and positive."""
    lead = vectors[:, coil : coil + 1]
    size = np.abs(lead)
    return vectors * np.where(size > 0, lead.conj() / np.where(size > 0, size, 1), 1)
