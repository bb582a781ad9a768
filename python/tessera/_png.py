# SPDX-License-Identifier: Apache-2.0
"""PNG pictures, made by zlib alone."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """The picture of bytes (height, width), grey, or (height, width, 3), colours."""
    rows = pixels.reshape(pixels.shape[0], -1)
    lines = np.zeros((rows.shape[0], rows.shape[1] + 1), np.uint8)  # each line begins with its filter, none
    lines[:, 1:] = rows
    size = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0 if pixels.ndim == 2 else 2, 0, 0, 0)
    parts = [_chunk(b"IHDR", size), _chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def grey(image: Any, top: float | None = None) -> npt.NDArray[np.uint8]:
    """Magnitudes as bytes: 0 is black, ``top`` (by default the largest that is finite) white."""
    values = np.nan_to_num(np.abs(np.asarray(image)).astype(float), nan=0.0, posinf=np.inf)
    white = float(values[np.isfinite(values)].max(initial=0)) if top is None else top
    return np.rint(255 * np.clip(values / white if white > 0 else values, 0, 1)).astype(np.uint8)


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
