# SPDX-License-Identifier: Apache-2.0
"""How an ISMRMRD file is laid out: its records, its flags, and the few fields of its XML header that are read."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ET
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt

from .. import IoError, NotAvailable

COUNTERS = [
    "kspace_encode_step_1",
    "kspace_encode_step_2",
    "average",
    "slice",
    "contrast",
    "phase",
    "repetition",
    "set",
    "segment",
]
_IDX = np.dtype([(name, "<u2") for name in COUNTERS] + [("user", "<u2", (8,))])
HEAD = np.dtype(
    [
        ("version", "<u2"),
        ("flags", "<u8"),
        ("measurement_uid", "<u4"),
        ("scan_counter", "<u4"),
        ("acquisition_time_stamp", "<u4"),
        ("physiology_time_stamp", "<u4", (3,)),
        ("number_of_samples", "<u2"),
        ("available_channels", "<u2"),
        ("active_channels", "<u2"),
        ("channel_mask", "<u8", (16,)),
        ("discard_pre", "<u2"),
        ("discard_post", "<u2"),
        ("center_sample", "<u2"),
        ("encoding_space_ref", "<u2"),
        ("trajectory_dimensions", "<u2"),
        ("sample_time_us", "<f4"),
        ("position", "<f4", (3,)),
        ("read_dir", "<f4", (3,)),
        ("phase_dir", "<f4", (3,)),
        ("slice_dir", "<f4", (3,)),
        ("patient_table_position", "<f4", (3,)),
        ("idx", _IDX),
        ("user_int", "<i4", (8,)),
        ("user_float", "<f4", (8,)),
    ]
)


def h5py_of() -> Any:
    """h5py, or a sentence that names it."""
    try:
        import h5py
    except ImportError:
        raise NotAvailable(
            "ISMRMRD files are read and written by h5py, which is not installed: pip install h5py"
        ) from None
    return h5py


def bit(number: int) -> int:
    """Flags are counted from one."""
    return 1 << (number - 1)


NOISE = bit(19)
CALIBRATION_ONLY = bit(20)  # lines for maps or kernels, of the image's contrast or not
CALIBRATION_TOO = bit(21)  # lines of the image that serve for these as well
REVERSE = bit(22)
# Navigators, phase correction, feedback, dummies and scans of the surface coils: no part of the image.
NO_IMAGE = bit(23) | bit(24) | bit(26) | bit(27) | bit(28) | bit(29) | bit(30)


@dataclasses.dataclass(frozen=True)
class Encoding:
    """Of the first encoding: sizes (z, y, x), fields of view in mm, the kind of trajectory, the limits of counters."""

    trajectory: str
    matrix: tuple[int, ...]
    image: tuple[int, ...]
    fov: tuple[float, ...]
    limits: dict[str, tuple[int, int, int]]  # minimum, maximum, centre


def _plain(tag: str) -> str:
    return tag.rsplit("}", 1)[-1]


def _child(node: Any, name: str, path: str) -> Any:
    for child in node:
        if _plain(child.tag) == name:
            return child
    raise IoError(f"load_ismrmrd: {path}: the header has no {name} in {_plain(node.tag)}")


def _triple(node: Any, kind: type, path: str) -> Any:
    values = []
    for name in ("z", "y", "x"):
        text = (_child(node, name, path).text or "").strip()
        try:
            value = kind(text)
        except ValueError:
            raise IoError(f"load_ismrmrd: {path}: {_plain(node.tag)} {name} is {text!r} in the header") from None
        if not 0 < value < 1 << 20:
            raise IoError(f"load_ismrmrd: {path}: {_plain(node.tag)} {name} is {value} in the header")
        values.append(value)
    return tuple(values)


def read_encoding(text: str, path: str) -> Encoding:
    """The encoding that the XML header of a file describes."""
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise IoError(f"load_ismrmrd: {path}: the header is no XML: {error}") from None
    encoding = _child(root, "encoding", path)
    encoded, image = (_child(encoding, name, path) for name in ("encodedSpace", "reconSpace"))
    limits = {}
    for node in encoding:
        if _plain(node.tag) != "encodingLimits":
            continue
        for counter in node:
            numbers = {_plain(part.tag): (part.text or "").strip() for part in counter}
            # Counters have 16 bits; a longer number is none, and int() would refuse thousands of digits.
            if all(re.fullmatch("[0-9]{1,5}", numbers.get(part, "")) for part in ("minimum", "maximum", "center")):
                low, high, centre = (int(numbers[part]) for part in ("minimum", "maximum", "center"))
                limits[_plain(counter.tag)] = (low, high, centre)
    trajectory = (_child(encoding, "trajectory", path).text or "").strip().lower()
    return Encoding(
        trajectory,
        _triple(_child(encoded, "matrixSize", path), int, path),
        _triple(_child(image, "matrixSize", path), int, path),
        _triple(_child(encoded, "fieldOfView_mm", path), float, path),
        limits,
    )


def affine_of(head: Any, encoding: Encoding) -> npt.NDArray[np.float64]:
    """From the numbers (x, y, z, 1) of a pixel of the encoded matrix to mm (right, anterior, superior). The file counts
    to the left and to the back; pixel n // 2 of each axis is at its position. Directions that are missing are those of
    the axes."""
    directions = np.stack([np.asarray(head[f"{name}_dir"], float) for name in ("read", "phase", "slice")], 1)
    lengths = np.linalg.norm(directions, axis=0)
    if not (np.isfinite(directions).all() and (lengths > 0.5).all()):
        directions, lengths = np.eye(3), np.ones(3)
    position = np.asarray(head["position"], float)
    matrix, fov = np.array(encoding.matrix[::-1]), np.array(encoding.fov[::-1])
    steps = directions / lengths * (fov / matrix)
    affine = np.eye(4)
    affine[:3, :3] = steps
    affine[:3, 3] = np.where(np.isfinite(position), position, 0) - steps @ (matrix // 2)
    return np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine


def write_header(trajectory: str, matrix: tuple[int, int, int], coils: int, readouts: int) -> str:
    """A header with what the standard requires."""

    def triple(name: str, sizes: Any) -> str:
        z, y, x = sizes
        return f"<{name}><x>{x}</x><y>{y}</y><z>{z}</z></{name}>"

    space = triple("matrixSize", matrix) + triple("fieldOfView_mm", matrix)
    steps = max(readouts, 1) if trajectory != "cartesian" else matrix[1]
    centre = 0 if trajectory != "cartesian" else matrix[1] // 2
    limit = f"<minimum>0</minimum><maximum>{steps - 1}</maximum><center>{centre}</center>"
    depth = f"<minimum>0</minimum><maximum>{matrix[0] - 1}</maximum><center>{matrix[0] // 2}</center>"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD">'
        "<experimentalConditions><H1resonanceFrequency_Hz>63500000</H1resonanceFrequency_Hz></experimentalConditions>"
        f"<acquisitionSystemInformation><receiverChannels>{coils}</receiverChannels></acquisitionSystemInformation>"
        f"<encoding><encodedSpace>{space}</encodedSpace><reconSpace>{space}</reconSpace>"
        f"<encodingLimits><kspace_encoding_step_1>{limit}</kspace_encoding_step_1>"
        f"<kspace_encoding_step_2>{depth}</kspace_encoding_step_2></encodingLimits>"
        f"<trajectory>{escape(trajectory)}</trajectory></encoding></ismrmrdHeader>"
    )
