# SPDX-License-Identifier: Apache-2.0
"""Raw files as scanners write them, of phantoms and of what others measured."""

from __future__ import annotations

import math
import operator
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ArgumentError
from .._beside import beside
from .._checked import Numbers
from ._finite import finite
from ._ismrmrd_layout import COUNTERS, HEAD, NOISE, h5py_of, write_header

_MOST = 65535  # that 16 bits count


def save_ismrmrd(
    path: str | os.PathLike[str],
    kspace: Numbers,
    *,
    locs: Numbers = None,
    shape: Any = None,
    trajectory: str = "radial",
    noise: Numbers = None,
    sample_time: float = 0.0,
    dataset: str = "dataset",
) -> None:
    """Writes a raw file: Cartesian ``kspace`` (coils, *shape), or samples (coils, readouts, samples) along ``locs``
    (readouts, samples, ndim) of an image of ``shape``, or several repetitions of these, (repetitions, coils, readouts,
    samples) along (repetitions, readouts, samples, ndim); ``noise`` (coils, samples) as a noise scan in front.
    ``sample_time`` is the time of a sample, in seconds.

    >>> ts.imaging.save_ismrmrd("scan.h5", np.ones((2, 6, 4)), noise=np.ones((2, 100)))
    >>> ts.imaging.load_ismrmrd("scan.h5").noise.shape
    (2, 100)
    """
    data = _single("kspace", kspace)
    if locs is None and data.ndim not in (3, 4):
        raise ArgumentError(
            f"save_ismrmrd: k-space of shape {data.shape}; expected (coils, ky, kx) or (coils, kz, ky, kx)"
        )
    points = None if locs is None else np.asarray(locs, np.float32)
    if points is not None:
        if trajectory.strip().lower() == "cartesian":
            raise ArgumentError('save_ismrmrd: locs with trajectory="cartesian"; expected another name, or no locs')
        finite("save_ismrmrd", locs=points)
        ndim = np.size(shape) if np.ndim(shape) == 1 else 0
        readouts = (*data.shape[:-3], *data.shape[-2:])
        if ndim not in (2, 3) or data.ndim not in (3, 4) or points.shape != (*readouts, ndim):
            raise ArgumentError(
                f"save_ismrmrd: samples of shape {data.shape} along locs of shape {points.shape}, image of shape "
                f"{shape}; expected (coils, readouts, samples), (readouts, samples, ndim) and ndim sizes, or several "
                "repetitions of the first two"
            )
    sizes = _sizes(data.shape[1:] if points is None else shape)
    coils = len(data) if points is None else data.shape[-3]
    silent = None if noise is None else _single("noise", noise)
    if silent is not None and (silent.ndim != 2 or len(silent) != coils):
        raise ArgumentError(f"save_ismrmrd: noise of shape {silent.shape}; expected ({coils}, samples)")
    for what, shape_of in (("k-space", data.shape), ("noise", () if silent is None else silent.shape)):
        if shape_of and not 1 <= min(shape_of) <= max(shape_of) <= _MOST:
            raise ArgumentError(
                f"save_ismrmrd: {what} of shape {shape_of}; expected 1 to {_MOST} along each axis: the file counts "
                "coils, readouts and samples in 16 bits"
            )
    depth, height, width = [1, *sizes] if len(sizes) == 2 else sizes
    matrix = (depth, height, width)
    if not (math.isfinite(sample_time) and sample_time >= 0):
        raise ArgumentError(f"save_ismrmrd: sample_time {sample_time}; expected seconds, not negative")
    h5py, records, time = h5py_of(), [], 1e6 * sample_time
    if silent is not None:
        records.append(_record(silent, None, time, flags=NOISE))
    if points is None:
        lines = data.reshape(len(data), *matrix)
        for z in range(matrix[0]):
            for y in range(matrix[1]):
                records.append(_record(lines[:, z, y], None, time, steps=(y, z), centre=matrix[2] // 2))
    else:
        frames = data.reshape(-1, *data.shape[-3:])
        for t, along in enumerate(points.reshape(-1, *points.shape[-3:])):
            for r in range(len(along)):
                records.append(_record(frames[t, :, r], along[r, :, ::-1], time, steps=(r, 0), repetition=t))
    floats = h5py.vlen_dtype(np.dtype("<f4"))
    kind = np.dtype([("head", HEAD), ("traj", floats), ("data", floats)])
    text = write_header("cartesian" if points is None else trajectory, matrix, coils, len(records))
    with beside(path, "save_ismrmrd") as part, h5py.File(part, "w") as file:
        group = file.create_group(dataset)
        group.create_dataset("xml", data=np.array([text], object), dtype=h5py.string_dtype())
        out = group.create_dataset("data", (len(records),), kind, maxshape=(None,))
        for i, record in enumerate(records):
            one = np.empty(1, kind)
            one[0] = record
            out[i] = one[0]


def _single(name: str, values: Any) -> npt.NDArray[np.complex64]:
    """As the file has them, which are finite still."""
    finite("save_ismrmrd", **{name: values})
    with np.errstate(over="ignore"):
        single = np.asarray(values).astype(np.complex64)
    if not np.isfinite(single).all():
        raise ArgumentError(f"save_ismrmrd: {name} beyond what single precision holds; expected smaller numbers")
    return single


def _sizes(shape: Any) -> list[int]:
    """Of the image: whole numbers that fit the file."""
    try:
        sizes = [operator.index(n) for n in shape]
    except TypeError:
        sizes = []
    if not sizes or not 1 <= min(sizes) <= max(sizes) <= _MOST:
        raise ArgumentError(f"save_ismrmrd: an image of shape {shape}; expected whole sizes of 1 to {_MOST}")
    return sizes


def _record(
    values: npt.NDArray[np.complex64],
    points: npt.NDArray[Any] | None,
    time: float,
    *,
    steps: tuple[int, int] = (0, 0),
    repetition: int = 0,
    centre: int | None = None,
    flags: int = 0,
) -> tuple[Any, ...]:
    head = np.zeros((), HEAD)
    head["version"], head["flags"] = 1, flags
    head["active_channels"] = head["available_channels"] = values.shape[0]
    head["number_of_samples"] = values.shape[1]
    head["center_sample"] = values.shape[1] // 2 if centre is None else centre
    head["sample_time_us"] = time
    head["trajectory_dimensions"] = 0 if points is None else points.shape[1]
    head["idx"][COUNTERS[0]], head["idx"][COUNTERS[1]] = steps
    head["idx"]["repetition"] = repetition
    traj = np.zeros(0, "<f4") if points is None else np.ascontiguousarray(points, "<f4").reshape(-1)
    return head[()], traj, np.ascontiguousarray(values).view("<f4").reshape(-1)
