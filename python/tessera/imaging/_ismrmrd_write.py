# SPDX-License-Identifier: Apache-2.0
"""Raw files as scanners write them, of phantoms and of what others measured."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ArgumentError
from ._beside import beside
from ._ismrmrd_layout import COUNTERS, HEAD, NOISE, h5py_of, write_header


def save_ismrmrd(
    path: str | os.PathLike[str],
    kspace: Any,
    *,
    locs: Any = None,
    shape: Any = None,
    trajectory: str = "radial",
    noise: Any = None,
    dataset: str = "dataset",
) -> None:
    """Writes a raw file: Cartesian ``kspace`` (coils, *shape), or samples (coils, readouts, samples) along ``locs``
    (readouts, samples, ndim) of an image of ``shape``, or several repetitions of these, (repetitions, coils, readouts,
    samples) along (repetitions, readouts, samples, ndim); ``noise`` (coils, samples) as a noise scan in front.

    >>> ts.imaging.save_ismrmrd("scan.h5", np.ones((2, 6, 4)), noise=np.ones((2, 100)))
    >>> ts.imaging.load_ismrmrd("scan.h5").noise.shape
    (2, 100)
    """
    data = np.asarray(kspace).astype(np.complex64)
    if locs is None and data.ndim not in (3, 4):
        raise ArgumentError(
            f"save_ismrmrd: k-space of shape {data.shape}; expected (coils, ky, kx) or (coils, kz, ky, kx)"
        )
    points = None if locs is None else np.asarray(locs, np.float32)
    if points is not None:
        ndim = 0 if shape is None else len(tuple(shape))
        readouts = (*data.shape[:-3], *data.shape[-2:])
        if ndim not in (2, 3) or data.ndim not in (3, 4) or points.shape != (*readouts, ndim):
            raise ArgumentError(
                f"save_ismrmrd: samples of shape {data.shape} along locs of shape {points.shape}, image of shape "
                f"{shape}; expected (coils, readouts, samples), (readouts, samples, ndim) and ndim sizes, or several "
                "repetitions of the first two"
            )
    sizes = [int(n) for n in (data.shape[1:] if points is None else shape)]
    depth, height, width = [1, *sizes] if len(sizes) == 2 else sizes
    matrix = (depth, height, width)
    h5py, records = h5py_of(), []
    if noise is not None:
        records.append(_record(np.asarray(noise).astype(np.complex64), None, flags=NOISE))
    if points is None:
        lines = data.reshape(len(data), *matrix)
        for z in range(matrix[0]):
            for y in range(matrix[1]):
                records.append(_record(lines[:, z, y], None, steps=(y, z), centre=matrix[2] // 2))
    else:
        frames = data.reshape(-1, *data.shape[-3:])
        for t, along in enumerate(points.reshape(-1, *points.shape[-3:])):
            for r in range(len(along)):
                records.append(_record(frames[t, :, r], along[r, :, ::-1], steps=(r, 0), repetition=t))
    floats = h5py.vlen_dtype(np.dtype("<f4"))
    kind = np.dtype([("head", HEAD), ("traj", floats), ("data", floats)])
    coils = len(data) if points is None else data.shape[-3]
    text = write_header("cartesian" if points is None else trajectory, matrix, coils, len(records))
    with beside(path, "save_ismrmrd") as part, h5py.File(part, "w") as file:
        group = file.create_group(dataset)
        group.create_dataset("xml", data=np.array([text], object), dtype=h5py.string_dtype())
        out = group.create_dataset("data", (len(records),), kind, maxshape=(None,))
        for i, record in enumerate(records):
            one = np.empty(1, kind)
            one[0] = record
            out[i] = one[0]


def _record(
    values: npt.NDArray[np.complex64],
    points: npt.NDArray[Any] | None,
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
    head["trajectory_dimensions"] = 0 if points is None else points.shape[1]
    head["idx"][COUNTERS[0]], head["idx"][COUNTERS[1]] = steps
    head["idx"]["repetition"] = repetition
    traj = np.zeros(0, "<f4") if points is None else np.ascontiguousarray(points, "<f4").reshape(-1)
    return head[()], traj, np.ascontiguousarray(values).view("<f4").reshape(-1)
