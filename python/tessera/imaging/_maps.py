# SPDX-License-Identifier: Apache-2.0
"""Maps of coils from images of them: Walsh's adaptive combination; the strongest combinations of many matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError
from .._checked import Numbers
from ._finite import finite, inexact

_POWERS = 48  # steps of the power method, after which pixels whose two strongest combinations are near get the rest
_SETTLED = 1e-5  # of the eigenvalue: the residual of an eigenvector


def adaptive_maps(images: Numbers, *, size: int = 5) -> npt.NDArray[Any]:
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
    vectors = strongest(np.moveaxis(products.reshape(coils, coils, -1), -1, 0), 1)[1][:, :, 0]
    loudest = int(np.argmax(np.sum(np.abs(all_coils.reshape(coils, -1)) ** 2, 1)))
    return with_phase_of(vectors, loudest).T.reshape(all_coils.shape)


def _window_sum(x: npt.NDArray[Any], axis: int, size: int) -> npt.NDArray[Any]:
    """Sums over windows of ``size`` along an axis, shorter at its ends."""
    half, n = size // 2, x.shape[axis]
    sums = np.concatenate([np.zeros_like(np.take(x, [0], axis)), np.cumsum(x, axis)], axis)
    ends = np.minimum(np.arange(n) + half + 1, n)
    begins = np.maximum(np.arange(n) - half, 0)
    return np.take(sums, ends, axis) - np.take(sums, begins, axis)


def strongest(matrices: npt.NDArray[Any], count: int, least: float = 0.0) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
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


def with_phase_of(vectors: npt.NDArray[Any], coil: int) -> npt.NDArray[Any]:
    """Vectors (n, coils) turned so that one coil is real and positive."""
    lead = vectors[:, coil : coil + 1]
    size = np.abs(lead)
    return vectors * np.where(size > 0, lead.conj() / np.where(size > 0, size, 1), 1)
