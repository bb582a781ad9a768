# SPDX-License-Identifier: Apache-2.0
"""Images as NIfTI-1 files, with where they lie in the room. Needs no other package."""

from __future__ import annotations

import gzip
import math
import os
import zlib
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import ArgumentError, IoError
from .._beside import beside
from .._checked import Numbers

_HEAD = np.dtype(
    [
        ("sizeof_hdr", "<i4"),
        ("unused", "V35"),
        ("dim_info", "u1"),
        ("dim", "<i2", (8,)),
        ("intent", "V14"),
        ("datatype", "<i2"),
        ("bitpix", "<i2"),
        ("slice_start", "<i2"),
        ("pixdim", "<f4", (8,)),
        ("vox_offset", "<f4"),
        ("scl_slope", "<f4"),
        ("scl_inter", "<f4"),
        ("slice_end", "<i2"),
        ("slice_code", "u1"),
        ("xyzt_units", "u1"),
        ("times", "V24"),
        ("descrip", "S80"),
        ("aux_file", "S24"),
        ("qform_code", "<i2"),
        ("sform_code", "<i2"),
        ("quatern", "<f4", (6,)),
        ("srow", "<f4", (3, 4)),
        ("intent_name", "S16"),
        ("magic", "S4"),
    ]
)
assert _HEAD.itemsize == 348
_Order = Literal["<", ">"]  # of bytes
_BEGIN = 352  # of the samples: the head and four bytes that say that no extension follows
_CODES = {2: "u1", 4: "<i2", 8: "<i4", 16: "<f4", 32: "<c8", 64: "<f8", 256: "i1", 512: "<u2", 768: "<u4", 1792: "<c16"}
_MILLIMETRES = 2
_SIZES = {1: 1000.0, _MILLIMETRES: 1.0, 3: 0.001}  # of the units of places: metres, millimetres, micrometres
_SCANNER = 1  # what an affine refers to
_DENSEST = 1040  # bytes that one of a compressed file can stand for, and a little: deflate's own limit is 1032


def save_nifti(path: str | os.PathLike[str], image: Numbers, affine: Numbers = None) -> None:
    """Writes an image (..., z, y, x) of 1 to 7 axes, compressed where the name ends in .gz. ``affine`` (4, 4) maps the
    numbers (x, y, z, 1) of a voxel to millimetres (right, anterior, superior); by default voxels of one around 0.

    >>> ts.imaging.save_nifti("image.nii.gz", np.arange(24.0).reshape(2, 3, 4))
    >>> image, affine = ts.imaging.load_nifti("image.nii.gz")
    >>> image.shape, affine[:3, 3].tolist()
    ((2, 3, 4), [-2.0, -1.0, -1.0])
    """
    x, name = np.asarray(image), os.fspath(path)
    if not 1 <= x.ndim <= 7 or x.size == 0 or max(x.shape) > 32767:
        raise ArgumentError(f"save_nifti: an image of shape {x.shape}; expected 1 to 7 axes of 1 to 32767 samples")
    code = next((number for number, text in _CODES.items() if np.dtype(text) == x.dtype), None)
    if code is None:
        kinds = ", ".join(str(np.dtype(text)) for text in _CODES.values())
        raise ArgumentError(f"save_nifti: an image of {x.dtype}; expected one of {kinds}")
    sizes = (*x.shape[::-1], 1, 1)[:3]
    place = np.eye(4) if affine is None else np.asarray(affine, float)
    if affine is None:
        place[:3, 3] = [-(n // 2) for n in sizes]
    if place.shape != (4, 4) or not np.isfinite(place).all():
        raise ArgumentError(f"save_nifti: an affine of shape {place.shape}; expected (4, 4), finite")
    head = np.zeros((), _HEAD)
    head["sizeof_hdr"], head["magic"], head["vox_offset"] = 348, b"n+1", _BEGIN
    head["dim"][: x.ndim + 1] = [x.ndim, *x.shape[::-1]]
    head["dim"][x.ndim + 1 :] = 1
    head["datatype"], head["bitpix"] = code, 8 * x.dtype.itemsize
    head["pixdim"] = 1
    head["pixdim"][1:4] = np.linalg.norm(place[:3, :3], axis=0)
    head["scl_slope"], head["xyzt_units"], head["sform_code"] = 1, _MILLIMETRES, _SCANNER
    head["srow"] = place[:3]
    with beside(name, "save_nifti") as part, open(part, "wb") as raw:
        # Without a time in the head, the same image makes the same file.
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) if name.endswith(".gz") else raw as file:
            file.write(head.tobytes() + bytes(4))
            file.write(np.ascontiguousarray(x.astype(x.dtype.newbyteorder("<"), copy=False)).data)


def load_nifti(path: str | os.PathLike[str]) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Reads an image (..., z, y, x), of either byte order, and its affine (4, 4): the matrix that the file has, else
    that of its quaternion, else the sizes of voxels alone.

    >>> ts.imaging.save_nifti("one.nii", np.ones((2, 2), np.float32), np.diag([2.0, 3.0, 1.0, 1.0]))
    >>> image, affine = ts.imaging.load_nifti("one.nii")
    >>> image.dtype, np.diag(affine).tolist()
    (dtype('float32'), [2.0, 3.0, 1.0, 1.0])
    """
    name = os.fspath(path)
    try:
        with gzip.open(name, "rb") if name.endswith(".gz") else open(name, "rb") as file:
            text = file.read(_HEAD.itemsize)
            if len(text) < _HEAD.itemsize:
                raise IoError(f"load_nifti: {name} has {len(text)} bytes; a head has {_HEAD.itemsize}")
            order: _Order = "<" if np.frombuffer(text[:4], "<i4")[0] == 348 else ">"
            head = np.frombuffer(text, _HEAD.newbyteorder(order))[0]
            shape, dtype, begin = _layout(name, head, order)
            wanted = math.prod(shape) * dtype.itemsize
            if name.endswith(".gz") and wanted > _DENSEST * os.path.getsize(name):
                raise IoError(f"load_nifti: {name} of {os.path.getsize(name)} bytes cannot hold {wanted} of samples")
            file.seek(begin)
            content = _read(file, wanted)
    except (OSError, EOFError, zlib.error) as error:
        raise error if isinstance(error, IoError) else IoError(f"load_nifti: {name}: {error}") from None
    if len(content) < wanted:
        raise IoError(f"load_nifti: {name} has {len(content)} bytes of samples; its head tells {wanted}")
    own = np.dtype(dtype.str[1:])  # of this machine
    image = np.frombuffer(content, own) if dtype.isnative else np.frombuffer(content, dtype).astype(own)
    image = image.reshape(shape)
    slope, offset = float(head["scl_slope"]), float(head["scl_inter"])
    if math.isfinite(slope) and math.isfinite(offset) and slope != 0 and (slope, offset) != (1.0, 0.0):
        image = image * slope + offset
    return image, _affine(name, head)


def _affine(name: str, head: Any) -> npt.NDArray[np.float64]:
    """The standard's three methods, the best that the file has first."""
    affine = np.eye(4)
    steps = np.abs(np.asarray(head["pixdim"][1:4], float))
    if head["sform_code"] > 0:
        affine[:3] = head["srow"]
    elif head["qform_code"] > 0:
        flip = -1.0 if head["pixdim"][0] < 0 else 1.0  # of the third axis: a rotation has no mirror image
        affine[:3, :3] = _turned(head["quatern"][:3].astype(float)) * steps * [1.0, 1.0, flip]
        affine[:3, 3] = head["quatern"][3:]
    else:
        affine[:3, :3] = np.diag(steps)
    if not np.isfinite(affine).all():
        raise IoError(f"load_nifti: {name}: where its voxels lie is not finite")
    affine[:3] *= _SIZES.get(int(head["xyzt_units"]) & 7, 1.0)
    return affine


def _turned(vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The rotation of a quaternion of length one whose first part, not negative, is left out."""
    length = float(vector @ vector)
    half = 1 - length < 1e-7  # a turn by half a circle, as far as single precision can tell: the standard's own limit
    b, c, d = vector / math.sqrt(length) if half else vector
    a = 0.0 if half else math.sqrt(1 - length)
    return np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - c * c - b * b],
        ]
    )


def _read(file: Any, wanted: int) -> bytes:
    """In pieces: what a head promises is held only as far as it is there."""
    parts, left = [], wanted
    while left > 0:
        part = file.read(min(left, 1 << 24))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _layout(name: str, head: Any, order: _Order) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    if head["sizeof_hdr"] != 348 or head["magic"] not in (b"n+1", b"ni1"):
        raise IoError(f"load_nifti: {name} is no NIfTI-1 file")
    count = int(head["dim"][0])
    sizes = [int(n) for n in head["dim"][1 : 1 + max(count, 0)]]
    if not 1 <= count <= 7 or min(sizes) < 1:
        raise IoError(f"load_nifti: {name}: dims {head['dim'].tolist()}; expected 1 to 7 positive sizes")
    code = int(head["datatype"])
    if code not in _CODES:
        raise IoError(f"load_nifti: {name}: samples of type {code}, which is not read")
    begin = float(head["vox_offset"])
    if head["magic"] != b"n+1" or not _BEGIN <= begin < 1 << 30:
        raise IoError(f"load_nifti: {name}: samples that begin at byte {begin}; expected one file, {_BEGIN} or later")
    return tuple(sizes[::-1]), np.dtype(_CODES[code]).newbyteorder(order), int(begin)
