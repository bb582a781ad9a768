# SPDX-License-Identifier: Apache-2.0
"""Objects whose pixels turn at frequencies of their own while samples are taken: maps of the main field."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError, NamedLinop
from ._finite import finite
from ._image_files import load_image


def hertz(who: str, field_map: Any, shape: Sequence[int], slices: int = 1) -> npt.NDArray[Any]:
    """A field map as real numbers (*shape), or (slices, *shape) where there are several: an array, or the name of a
    file of images, whose axes of one entry in front are left out."""
    named = isinstance(field_map, str | os.PathLike)
    given = load_image(field_map) if named else np.asarray(field_map)
    wanted = (*(() if slices == 1 else (slices,)), *shape)
    one = given.reshape(given.shape[-len(shape) :]) if given.size == np.prod(given.shape[-len(shape) :]) else given
    if one.dtype.kind not in "iuf" or one.shape not in (wanted, tuple(shape)):
        what = f"{os.fspath(field_map)} " if named else ""
        raise ArgumentError(
            f"{who}: a field map {what}of {given.dtype} and shape {given.shape}; expected real numbers, in hertz, of "
            f"shape {wanted}"
        )
    finite(who, field_map=one)
    return np.ascontiguousarray(np.broadcast_to(one, wanted))


def turning(
    locs: Any,
    shape: Sequence[int],
    kdims: Sequence[str],
    dims: Sequence[str],
    field_map: Any,
    times: Any,
    *,
    dtype: Any,
    tol: float,
    toeplitz: bool | None = None,
) -> NamedLinop:
    """The encoding of samples of ``dtype`` at ``locs``, of all frequencies of the grid without these, whose pixels turn
    by ``field_map`` (hertz) during ``times`` (seconds; of the samples, or of their last axes)."""
    who = "sense_operator"
    if (field_map is None) != (times is None):
        raise ArgumentError(
            f"{who}: {'times' if field_map is None else 'a field map'} alone; expected both, or neither"
        )
    frequencies, seconds = hertz(who, field_map, shape), np.asarray(times)
    finite(who, times=seconds)
    points = np.asarray(locs) if locs is not None else np.stack(_grid(shape), -1).astype(float)
    samples = points.shape[:-1]
    if seconds.dtype.kind not in "iuf" or seconds.shape != samples[len(samples) - seconds.ndim :] or seconds.ndim == 0:
        raise ArgumentError(
            f"{who}: times of {seconds.dtype} and shape {seconds.shape}; expected seconds of the samples {samples}, or "
            "of their last axes"
        )
    real: Any = np.float32 if np.dtype(str(dtype)) == np.complex64 else np.float64
    names: tuple[Any, Any, Any] = (tuple(kdims), tuple(dims), ("C",))
    options: dict[str, Any] = dict(tol=tol, wrap=True, toeplitz=toeplitz)
    return ts.FieldMapNUFFT(points, tuple(shape), frequencies.astype(real), seconds.astype(float), *names, **options)


def _grid(shape: Sequence[int]) -> list[npt.NDArray[Any]]:
    return list(np.meshgrid(*[np.arange(n) - n // 2 for n in shape], indexing="ij"))
