# SPDX-License-Identifier: Apache-2.0
"""Images as directories of Zarr: an array with the names of its dims, and where its pixels lie among its attributes."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ArgumentError, IoError, _zarr
from .._checked import Numbers
from ._files import files_of

_DENSEST = 1100  # bytes of numbers that a byte of a directory can stand for: deflated zeros
_SPARE = 1 << 26  # bytes of numbers that may be there without any chunk


def save_zarr(
    path: str | os.PathLike[str], image: Numbers, affine: Any = None, dims: Sequence[str] | None = None
) -> None:
    """Writes an image (..., z, y, x), real or complex, as a Zarr v3 array in chunks of plain bytes. ``dims`` are the
    names of its axes, by default z, y and x of the last and dim_0, dim_1, ... of those in front; ``affine`` (4, 4),
    from (x, y, z) in pixels to millimetres, becomes an attribute. A Zarr directory of that name is replaced once the
    new one is whole; anything else is refused.

    >>> ts.imaging.save_zarr("frames.zarr", np.ones((2, 4, 4), complex), dims=("repetition", "y", "x"))
    >>> ts.imaging.load_zarr("frames.zarr")[2]
    ('repetition', 'y', 'x')
    """
    x, name = np.asarray(image), directory_name(path)
    if x.dtype.kind not in "biufc":
        raise ArgumentError(f"save_zarr: {name}: {x.dtype} of shape {x.shape}; expected numbers")
    names = default_dims(x.ndim) if dims is None else tuple(dims)
    if len(names) != x.ndim or len(set(names)) != x.ndim or not all(isinstance(one, str) for one in names):
        raise ArgumentError(f"save_zarr: dims {names} of an image of shape {x.shape}; expected a name for each axis")
    about: dict[str, Any] = {"dimension_names": list(names)}
    if affine is not None:
        about["attributes"] = {"affine": _place("save_zarr: an affine", affine, ArgumentError).tolist()}
    try:
        _zarr.save(name, x, False, about, "save_zarr")
    except TypeError as error:
        raise ArgumentError(f"save_zarr: {name}: {error}") from None


def load_zarr(
    path: str | os.PathLike[str],
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None, tuple[str | None, ...]]:
    """Reads a Zarr v3 array, or the member "image" of a group: the image, its affine (None where it has none), and the
    names of its dims (None for each that has none).

    >>> ts.imaging.save_zarr("one.zarr", np.ones((2, 3), np.float32), np.diag([2.0, 3.0, 1.0, 1.0]))
    >>> image, affine, dims = ts.imaging.load_zarr("one.zarr")
    >>> image.dtype, np.diag(affine).tolist(), dims
    (dtype('float32'), [2.0, 3.0, 1.0, 1.0], ('y', 'x'))
    """
    name = directory_name(path)
    with _zarr.refusing(name, "load_zarr"):
        about, folder = _zarr.described(name), name
        if about["node_type"] == "group":
            folder = os.path.join(name, "image")
            if not os.path.isfile(os.path.join(folder, "zarr.json")):
                raise IoError(f"load_zarr: {name} is a group without a member 'image'; name one of its arrays")
            about = _zarr.described(folder)
        if about["node_type"] != "array":
            raise IoError(f"load_zarr: {folder} is of type {about['node_type']!r}; expected an array")
        shape = _zarr.sizes(about["shape"], 0)
        there = sum(os.path.getsize(file) for file in files_of(folder))
        if math.prod(shape) * np.dtype(about["data_type"]).itemsize > _DENSEST * there + _SPARE:
            raise IoError(f"load_zarr: {folder} of {there} bytes cannot hold {about['data_type']} of shape {shape}")
        given = about.get("dimension_names")
        names = [None] * len(shape) if given is None else list(given)
        if len(names) != len(shape) or not all(one is None or isinstance(one, str) for one in names):
            raise IoError(f"load_zarr: {folder}: names {given} of the dims of {shape}")
        place = about.get("attributes", {}).get("affine")
        affine = None if place is None else _place(f"load_zarr: {folder}: an affine", place, IoError)
    return _zarr.loaded(folder, None, "load_zarr").numpy(), affine, tuple(names)


def default_dims(ndim: int) -> tuple[str, ...]:
    """Names of the axes of an image: z, y and x of the last."""
    return (*(f"dim_{i}" for i in range(ndim - 3)), *("z", "y", "x")[max(0, 3 - ndim) :])


def directory_name(path: str | os.PathLike[str]) -> str:
    """A name as shells complete those of directories, without the separator that they put behind it."""
    name = os.fspath(path)
    return name.rstrip(os.sep) or name


def _place(who: str, affine: Any, error: type[Exception]) -> npt.NDArray[np.float64]:
    try:
        place = np.asarray(affine, float)
    except (TypeError, ValueError):
        raise error(f"{who} that is no matrix; expected (4, 4), finite") from None
    if place.shape != (4, 4) or not np.isfinite(place).all():
        raise error(f"{who} of shape {place.shape}; expected (4, 4), finite")
    return place
