# SPDX-License-Identifier: Apache-2.0
"""Arrays in the pair of files NAME.cfl and NAME.hdr, as BART keeps them: complex64, the first dim quickest."""

from __future__ import annotations

import math
import os
import pathlib

import numpy as np
import numpy.typing as npt

from .. import ArgumentError, IoError
from .._beside import beside
from .._checked import Numbers

_LONGEST_HEADER = 1 << 20  # bytes; a header is a few lines


def _names(path: str | os.PathLike[str]) -> tuple[pathlib.Path, pathlib.Path]:
    base = pathlib.Path(path)
    base = base.with_suffix("") if base.suffix in (".cfl", ".hdr") else base
    return base.with_name(base.name + ".hdr"), base.with_name(base.name + ".cfl")


def files_of(path: str | os.PathLike[str]) -> list[str]:
    """The files of an image by its name: two of a pair, whichever of them it names, and all in a folder."""
    name = os.fspath(path)
    if os.path.isdir(name):
        return sorted(os.path.join(place, part) for place, _, parts in os.walk(name) for part in parts)
    if name.endswith((".cfl", ".hdr")):
        return [os.fspath(part) for part in _names(name)]
    return [name]


def overwritten(target: str | os.PathLike[str], read: str | os.PathLike[str]) -> str | None:
    """The file of the image ``read`` that writing ``target`` would overwrite, by any name of it; None where none."""
    real = os.path.realpath(target)
    return next((part for part in files_of(read) if os.path.realpath(part) == real), None)


def save_cfl(path: str | os.PathLike[str], array: Numbers) -> None:
    """Writes an array as complex64. The last axis of the array becomes the first dim of the file, the quickest of both.

    >>> ts.imaging.save_cfl("scan", np.arange(6).reshape(2, 3))
    >>> ts.imaging.load_cfl("scan").shape
    (2, 3)
    """
    header, payload = _names(path)
    x = np.ascontiguousarray(np.asarray(array), np.complex64)
    if x.ndim == 0:
        raise ArgumentError("save_cfl: a number; expected an array of at least one dim")
    # Written beside and renamed: a reader sees the old pair or the new one, and the payload never after its header.
    parts = ((payload, x.tobytes), (header, lambda: _header(x.shape)))
    for target, content in parts:
        with beside(target, "save_cfl") as part:
            pathlib.Path(part).write_bytes(content())


def _header(shape: tuple[int, ...]) -> bytes:
    sizes = " ".join(str(n) for n in reversed(shape))
    return f"# Dimensions\n{sizes} \n".encode()


def load_cfl(path: str | os.PathLike[str]) -> npt.NDArray[np.complex64]:
    """Reads an array: the file's first dim, the quickest, is the last axis. Trailing dims of size one are left out.

    >>> ts.imaging.save_cfl("one", np.ones((1, 1, 4)))
    >>> ts.imaging.load_cfl("one.cfl").shape
    (4,)
    """
    header, payload = _names(path)
    try:
        with open(header, "rb") as file:
            text = file.read(_LONGEST_HEADER).decode("ascii", "replace")
        there = payload.stat().st_size
    except OSError as error:
        raise IoError(f"load_cfl: {error.filename}: {error.strerror}") from None
    sizes = _sizes(header, text)
    wanted = 8 * math.prod(sizes)
    if there != wanted:
        raise IoError(f"load_cfl: {payload} has {there} bytes; its header of dims {sizes} tells {wanted}")
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return np.fromfile(payload, np.complex64).reshape(sizes[::-1])


def _sizes(header: pathlib.Path, text: str) -> list[int]:
    lines = text.splitlines()
    for number, line in enumerate(lines[:-1]):
        if line.strip() == "# Dimensions":
            words = lines[number + 1].split()
            if words and all(w.isdigit() and len(w) < 19 and int(w) > 0 for w in words):
                return [int(w) for w in words]
            raise IoError(f"load_cfl: {header}: dims {lines[number + 1]!r}; expected positive whole numbers")
    raise IoError(f"load_cfl: {header} has no line '# Dimensions'")
