# SPDX-License-Identifier: Apache-2.0
"""Parts of `tessera recon` that need nothing of it: encodings, gridded images, files that are there whole or not."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import IoError
from .._beside import beside
from ._ismrmrd import Scan
from ._placing import is_stored
from ._recipes import sense_operator


def encoding_of(scan: Scan, shape: tuple[int, ...]) -> dict[str, Any]:
    """Of each sample: where it is, whether it was taken, and the root of the area that it stands for."""
    if scan.locs is None:
        return {"locs": None, "mask": scan.sampled, "weights": None}
    flat = scan.locs.reshape(-1, *scan.locs.shape[-3:])
    roots = [np.sqrt(ts.density_compensation(locs, shape).numpy()).astype(np.float32) for locs in flat]
    return {"locs": scan.locs, "mask": None, "weights": np.stack(roots).reshape(scan.locs.shape[:-1])}


def at_time(encoding: dict[str, Any], t: int) -> dict[str, Any]:
    """The encoding of one frame of several."""
    return {name: None if value is None else value[t] for name, value in encoding.items()}


def gridded(kspace: Any, maps: Any, encoding: dict[str, Any]) -> npt.NDArray[Any]:
    """All samples brought to the grid, and coils combined: no iteration."""
    A = sense_operator(maps, **encoding)
    weights = encoding["weights"] if encoding["mask"] is None else encoding["mask"]
    return in_memory(A.H(kspace if weights is None else kspace * single(weights)))


def gridded_in_parts(kspace: Any, maps: Any, encoding: dict[str, Any], coils: int) -> npt.NDArray[Any]:
    """The same of samples and maps on disk, of so many coils at a time."""
    image: Any = 0
    for begin in range(0, len(kspace), coils):
        part = slice(begin, begin + coils)
        image = image + gridded(np.asarray(kspace[part]), maps[part].numpy(), encoding)
    return np.asarray(image)


def single(weights: Any) -> npt.NDArray[Any]:
    """Masks and weights that leave samples in single precision, on disk too."""
    return np.asarray(weights, np.float32)


def in_memory(image: Any) -> npt.NDArray[Any]:
    """An image from a device, from disk or from memory."""
    return np.asarray(image.numpy() if is_stored(image) else image.to("cpu"))


def cropped(image: npt.NDArray[Any], sizes: tuple[int, ...]) -> npt.NDArray[Any]:
    """The middle of an image: pixel n // 2 stays pixel m // 2."""
    lead = image.ndim - len(sizes)
    middle = [slice(n // 2 - m // 2, n // 2 - m // 2 + m) for n, m in zip(image.shape[lead:], sizes, strict=True)]
    at: tuple[Any, ...] = (..., *middle)
    return image[at]


def write_array(path: Path, array: npt.NDArray[Any]) -> None:
    """A .npy file, there whole or not at all."""
    with beside(path, "recon") as part, open(part, "wb") as file:
        np.save(file, array)


def read_array(path: Path, shape: tuple[int, ...], opened: bool = False) -> Any:
    """What :func:`write_array` wrote, refused by name where somebody else has; with ``opened`` it stays on disk."""
    try:
        found = np.load(path, mmap_mode="r" if opened else None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise IoError(f"recon: {path} is no stage: {error}; remove {path.parent}") from None
    if found.shape != shape or found.dtype != np.complex64:
        raise IoError(f"recon: {path}: {found.dtype} of {found.shape}; a stage of {shape} in complex64 was expected")
    return ts.stored.open(os.fspath(path)) if opened else np.asarray(found)


def write_json(path: Path, value: Any) -> None:
    """A .json file, there whole or not at all."""
    with beside(path, "recon") as part:
        Path(part).write_text(json.dumps(value, indent=1, default=str))


@contextlib.contextmanager
def array_on_disk(path: Path, shape: tuple[int, ...]) -> Iterator[npt.NDArray[Any]]:
    """A .npy file to be written part by part, which is there whole or not at all."""
    with beside(path, "recon") as part:
        array = np.lib.format.open_memmap(part, "w+", np.complex64, shape)
        yield array
        array.flush()


def read_json(path: Path, kind: Any) -> Any:
    """What :func:`write_json` wrote, of this kind; refused by name where somebody else has."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise IoError(f"recon: {path} is no stage: {error}; remove {path.parent}") from None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise IoError(f"recon: {path} is no stage: it holds {str(value)[:40]!r}; remove {path.parent}")
    return value
