# SPDX-License-Identifier: Apache-2.0
"""Maps and image together, from data of any trajectory: maps are smooth, and both explain all samples (JSENSE)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError
from .._checked import Numbers
from ._automatic import strength
from ._finite import finite
from ._measured import as_precise
from ._recipes import _DIMS, _KDIMS

_INNER = 10  # steps of conjugate gradients on the image, then on the maps


def joint_maps(
    kspace: Numbers,
    shape: Sequence[int],
    *,
    locs: Numbers = None,
    mask: Numbers = None,
    order: int = 7,
    iterations: int = 5,
    lamda: float = 1e-3,
) -> npt.NDArray[Any]:
    """Maps (coils, *shape) of samples (coils, ...) at ``locs`` (..., ndim), or on a grid with a ``mask``: in turn the
    image and maps of ``order`` frequencies along each axis become those that fit the samples best. The sum of squares
    of the maps is one where they see anything. ``lamda`` is beside the largest eigenvalue of each fit.

    >>> coils, locs = ts.imaging.Coils(4), ts.imaging.radial(31, 48, 24)
    >>> maps = ts.imaging.joint_maps(ts.imaging.shepp_logan().kspace(locs, (24, 24), coils=coils), (24, 24), locs=locs)
    >>> maps.shape
    (4, 24, 24)
    """
    data, sizes = np.asarray(kspace), tuple(shape)
    if len(sizes) not in _DIMS or min(sizes) < 1:
        raise ArgumentError(f"joint_maps: shape {sizes}; expected 2 or 3 sizes")
    if (locs is None) == (mask is None):
        raise ArgumentError("joint_maps: expected locs or a mask, one of them")
    weight = strength("joint_maps", lamda)
    if order < 1 or order % 2 == 0 or iterations < 1:
        raise ArgumentError(f"joint_maps: order {order}, {iterations} iterations; expected odd, at least 1")
    samples = sizes if locs is None else np.shape(locs)[:-1]
    if data.shape[1:] != samples or data.ndim < 2:
        raise ArgumentError(f"joint_maps: k-space of shape {data.shape}; expected (coils, *{tuple(samples)})")
    finite("joint_maps", kspace=data, locs=locs, mask=mask)
    dims, dtype = _DIMS[len(sizes)], np.result_type(data.dtype, np.complex64)
    if locs is None:
        kept = as_precise(mask, dtype)
        if kept.shape != sizes:
            raise ArgumentError(f"joint_maps: mask of shape {kept.shape}; expected {sizes}")
        kdims = _KDIMS[len(sizes)]
        window = ts.Diagonal(kept[None], ("C", *kdims), broadcast_dims=("C",))
        encode: Any = window @ ts.FFT(len(sizes), ("C",), (dims, kdims), centered=True)
        y = ts.asarray(data * kept)
    else:
        points = np.asarray(locs).reshape(-1, len(sizes))
        root = as_precise(np.sqrt(ts.density_compensation(points, sizes).numpy()), dtype)
        weights = ts.Diagonal(root[None], ("C", "K"), broadcast_dims=("C",))
        encode = weights @ ts.NUFFT(points, sizes, ("K",), dims, batch_shape=("C",), wrap=True)
        y = ts.asarray(data.reshape(len(data), -1) * root)
    return _alternated(encode, y, sizes, dims, order, iterations, weight)


def _alternated(
    encode: Any, y: Any, sizes: tuple[int, ...], dims: tuple[str, ...], order: int, iterations: int, lamda: float
) -> npt.NDArray[Any]:
    coils, smooth = len(y), _smooth(sizes, dims, order, y.dtype)
    repeat = ts.Repeat({"C": coils}, dims, ("C", *dims))
    coefficients = np.zeros((coils, *[order] * len(sizes)), np.result_type(str(y.dtype), np.complex64))
    coefficients.reshape(coils, -1)[:, coefficients[0].size // 2] = 1
    values = ts.asarray(coefficients)
    for _ in range(iterations):
        maps = _normalised(smooth(values).numpy())
        image = _fitted(encode @ ts.Diagonal(maps, ("C", *dims)) @ repeat, y, None, lamda)
        seen = ts.Diagonal(image.numpy()[None], ("C", *dims), broadcast_dims=("C",))
        values = _fitted(encode @ seen @ smooth, y, values, lamda)
    return _normalised(smooth(values).numpy())


def _normalised(maps: npt.NDArray[Any]) -> npt.NDArray[Any]:
    length = np.sqrt((np.abs(maps) ** 2).sum(0))
    return np.asarray(maps / np.maximum(length, max(1e-12 * float(length.max()), float(np.finfo(length.dtype).tiny))))


def _smooth(sizes: tuple[int, ...], dims: tuple[str, ...], order: int, dtype: Any) -> Any:
    """From few frequencies, half a cycle of the field of view apart so that maps need not be periodic, to maps."""
    given: list[str] = [f"F{i}" for i in range(len(sizes))]
    names = list(given)
    chain: Any = None
    for axis, n in enumerate(sizes):
        waves = np.exp(1j * np.pi * np.outer((np.arange(n) - n // 2) / n, np.arange(order) - order // 2))
        after = [*names[:axis], dims[axis], *names[axis + 1 :]]
        part = ts.Dense(
            as_precise(waves / np.sqrt(order), dtype), (dims[axis], names[axis]), ("C", *names), ("C", *after)
        )
        chain = part if chain is None else part @ chain
        names = after
    return chain


def _fitted(A: Any, y: Any, x0: Any, lamda: float) -> Any:
    first = A.H(y)
    top = float(ts.sum(ts.abs2(A(first)))) / max(float(ts.sum(ts.abs2(first))), 1e-300)
    result: Any = ts.solve.cg(A.N + lamda * top * ts.Identity(), first, x0, maxiter=_INNER, rtol=1e-6)
    return result.x
