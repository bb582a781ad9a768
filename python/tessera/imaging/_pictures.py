# SPDX-License-Identifier: Apache-2.0
"""Pictures of images: PNG files, and slices beside each other."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ArgumentError
from .._beside import beside
from .._checked import Numbers
from .._png import grey, png


def save_png(path: str | os.PathLike[str], pixels: Numbers) -> None:
    """Writes bytes (height, width), grey, or (height, width, 3), colours, as a PNG file.

    >>> ts.imaging.save_png("grey.png", np.zeros((4, 5), np.uint8))
    >>> open("grey.png", "rb").read(8)
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    x = np.asarray(pixels)
    if x.dtype != np.uint8 or x.ndim not in (2, 3) or x.shape[2:] not in ((), (3,)) or x.size == 0:
        raise ArgumentError(
            f"save_png: {x.dtype} of shape {x.shape}; expected uint8 of (height, width) or (height, width, 3)"
        )
    with beside(path, "save_png") as part, open(part, "wb") as file:
        file.write(png(x))


def preview(image: Any, most: int = 16) -> npt.NDArray[np.uint8]:
    """Slices (..., y, x) beside each other, evenly taken where there are more than ``most``."""
    x = np.asarray(image)
    flat = x.reshape(-1, *x.shape[-2:]) if x.ndim >= 2 else x.reshape(1, 1, -1)
    if len(flat) > most:
        flat = flat[np.linspace(0, len(flat) - 1, most).round().astype(int)]
    columns = math.ceil(math.sqrt(len(flat)))
    rows = math.ceil(len(flat) / columns)
    height, width = flat.shape[1:]
    sheet = np.zeros((rows * height, columns * width), np.uint8)
    top = float(np.abs(flat).max(initial=0))
    for i, part in enumerate(flat):
        y, z = divmod(i, columns)
        sheet[y * height : (y + 1) * height, z * width : (z + 1) * width] = grey(part, top)
    return sheet
