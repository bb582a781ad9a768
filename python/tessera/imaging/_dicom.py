# SPDX-License-Identifier: Apache-2.0
"""Images as DICOM files, one for each slice, by pydicom."""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ArgumentError, IoError, NotAvailable
from .._beside import beside
from .._checked import Numbers

_LPS = np.diag([-1.0, -1.0, 1.0, 1.0])  # DICOM counts to the left and to the back
_MR = "1.2.840.10008.5.1.4.1.1.4"
_PLAIN = ("1.2.840.10008.1.2", "1.2.840.10008.1.2.1")  # samples that are not compressed, lowest byte first
_TOP = 65535  # of 16 bits


def pydicom_of(name: str) -> Any:
    """pydicom, or a sentence that names it."""
    try:
        import pydicom
    except ImportError:
        raise NotAvailable(f"image file {name!r}: DICOM is read and written by pydicom: pip install pydicom") from None
    return pydicom


def save_dicom(path: str | os.PathLike[str], image: Numbers, affine: Numbers = None) -> None:
    """Writes an image (..., z, y, x) in 16 bits, with the factor that makes values of them, of complex ones the
    magnitudes: one slice as a file, several as a folder with a file for each, in which every image of the axes in front
    is a series of its own. ``affine`` is that of :func:`save_nifti`.

    >>> ts.imaging.save_dicom("slice.dcm", np.arange(12.0).reshape(3, 4), np.diag([2.0, 3.0, 1.0, 1.0]))
    >>> image, affine = ts.imaging.load_dicom("slice.dcm")
    >>> image.shape, float(image.max().round(3)), np.diag(affine).tolist()
    ((3, 4), 11.0, [2.0, 3.0, 1.0, 1.0])
    """
    name = os.fspath(path)
    pydicom, x = pydicom_of(name), np.asarray(image)
    if x.ndim < 2 or x.size == 0 or max(x.shape[-2:]) > _TOP or x.dtype.kind not in "biufc":
        raise ArgumentError(f"save_dicom: {x.dtype} of shape {x.shape}; expected (..., y, x), sizes of 1 to {_TOP}")
    if not np.isfinite(x).all():
        raise ArgumentError(f"save_dicom: {int((~np.isfinite(x)).sum())} values are not finite")
    values = np.abs(x.astype(complex)) if x.dtype.kind == "c" else x.astype(float)
    volumes = values.reshape(-1, *(1, *x.shape)[-3:])
    place = _placed(affine, volumes.shape[:0:-1])
    # As the file will tell it: a number of at most 16 characters.
    most, signed = float(np.abs(volumes).max()), bool(volumes.min() < 0)
    top = _TOP // 2 if signed else _TOP
    slope = f"{most / top if most > 0 else 1.0:.9e}"
    pixels = np.clip(np.rint(volumes / float(slope)), -top, top).astype("<i2" if signed else "<u2")
    known = hashlib.sha256(pixels.tobytes() + place.tobytes() + slope.encode()).hexdigest()
    paths = check_dicom_target(name, x.shape)
    try:
        if paths[0] != Path(name):
            Path(name).mkdir(exist_ok=True)
    except OSError as error:
        raise IoError(f"save_dicom: {name}: {error.strerror}") from None
    for path, (series, z) in zip(paths, np.ndindex(pixels.shape[:2]), strict=True):
        one = _dataset(pydicom, pixels[series, z], place, z, slope, known, series)
        with beside(path, "save_dicom") as part:
            one.save_as(part, enforce_file_format=True)


def check_dicom_target(name: str, shape: tuple[int, ...]) -> list[Path]:
    """The files of an image of this shape, series by series; refused where something else is in their place."""
    target = Path(name)
    series, slices = math.prod(shape[:-3]), (1, *shape)[-3]
    if series * slices == 1:
        if target.is_dir():
            raise IoError(f"save_dicom: {name} is a folder; an image of one slice is a file")
        return [target]
    paths = [target / f"series{s + 1:04d}_slice{z + 1:04d}.dcm" for s in range(series) for z in range(slices)]
    if target.is_dir():
        other = sorted({p.name for p in target.iterdir()} - {p.name for p in paths})
        if other:
            raise IoError(f"save_dicom: {target} holds {other[0]}, which is no part of this image; remove it first")
    elif target.exists():
        raise IoError(f"save_dicom: {name} is a file; an image of several slices is a folder")
    return paths


def _placed(affine: Any, sizes: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """The affine to left, posterior, superior."""
    place = np.eye(4) if affine is None else np.asarray(affine, float)
    if affine is None:
        place[:3, 3] = [-(n // 2) for n in sizes]
    if place.shape != (4, 4) or not np.isfinite(place).all():
        raise ArgumentError(f"save_dicom: an affine of shape {place.shape}; expected (4, 4), finite")
    lengths = np.linalg.norm(place[:3, :3], axis=0)
    if lengths.min() == 0 or abs(place[:3, 0] @ place[:3, 1]) > 1e-3 * lengths[0] * lengths[1]:
        raise ArgumentError("save_dicom: an affine whose rows and columns are not at right angles; DICOM has no shears")
    return _LPS @ place


def _number(value: float) -> str:
    """A decimal string: at most 16 characters."""
    text = f"{value:.8f}".rstrip("0").rstrip(".")
    return text if len(text) <= 16 and (value == 0 or abs(value) > 1e-4) else f"{value:.8e}"


def _dataset(
    pydicom: Any, plane: npt.NDArray[Any], place: npt.NDArray[Any], z: int, slope: str, known: str, series: int
) -> Any:
    from pydicom.uid import ExplicitVRLittleEndian, generate_uid

    def uid(*what: object) -> str:  # of the content, so that the same image makes the same files
        return str(generate_uid(entropy_srcs=[known, *map(str, what)]))

    meta = pydicom.dataset.FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = _MR, uid("slice", series, z)
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    one = pydicom.dataset.Dataset()
    one.file_meta = meta
    one.SOPClassUID, one.SOPInstanceUID = _MR, meta.MediaStorageSOPInstanceUID
    one.Modality, one.ImageType = "MR", ["DERIVED", "SECONDARY", "OTHER"]
    one.ScanningSequence, one.SequenceVariant, one.ScanOptions, one.MRAcquisitionType = "RM", "NONE", "", "2D"
    for empty in ("PatientName", "PatientID", "PatientBirthDate", "PatientSex", "StudyDate", "StudyTime", "StudyID"):
        setattr(one, empty, "")
    one.AccessionNumber = one.ReferringPhysicianName = one.PositionReferenceIndicator = one.Laterality = ""
    one.EchoTime = one.EchoTrainLength = one.RepetitionTime = None
    one.Manufacturer = "Tessera"
    one.StudyInstanceUID, one.SeriesInstanceUID, one.FrameOfReferenceUID = (
        uid("study"),
        uid("series", series),
        uid("at"),
    )
    one.SeriesNumber, one.InstanceNumber = series + 1, z + 1
    steps = np.linalg.norm(place[:3, :3], axis=0)
    along = place[:3, :2] / steps[:2]
    at = place[:3] @ [0, 0, z, 1]
    one.ImageOrientationPatient = [_number(v) for v in (*along[:, 0], *along[:, 1])]
    one.ImagePositionPatient = [_number(v) for v in at]
    one.PixelSpacing = [_number(steps[1]), _number(steps[0])]  # between rows first
    one.SliceThickness = one.SpacingBetweenSlices = _number(steps[2])
    one.SliceLocation = _number(float(np.cross(along[:, 0], along[:, 1]) @ at))
    one.Rows, one.Columns = plane.shape
    one.SamplesPerPixel, one.PhotometricInterpretation = 1, "MONOCHROME2"
    signed = plane.dtype.kind == "i"
    one.BitsAllocated, one.BitsStored, one.HighBit, one.PixelRepresentation = 16, 16, 15, int(signed)
    one.RescaleSlope, one.RescaleIntercept, one.RescaleType = slope, "0", "US"
    one.WindowCenter = _number(0.0 if signed else float(slope) * _TOP / 2)
    one.WindowWidth = _number(float(slope) * _TOP)
    one.add_new("PixelData", "OW", np.ascontiguousarray(plane).tobytes())
    return one


def load_dicom(path: str | os.PathLike[str]) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Reads a file, or a folder of the slices of one or more series: the image (series, z, y, x), axes of one entry in
    front of y left out, and its affine (4, 4), of the first series. Slices are ordered by where they lie; they must be
    parallel and equally far apart. Samples must not be compressed.

    >>> ts.imaging.save_dicom("volume.dcm", np.ones((3, 4, 5)))
    >>> ts.imaging.load_dicom("volume.dcm")[0].shape
    (3, 4, 5)
    """
    name = os.fspath(path)
    pydicom, folder = pydicom_of(name), Path(name)
    try:
        paths = sorted(folder.glob("*.dcm")) if folder.is_dir() else [folder]
    except OSError as error:
        raise IoError(f"load_dicom: {name}: {error.strerror}") from None
    if not paths:
        raise IoError(f"load_dicom: {name} holds no file that ends in .dcm")
    found: dict[int, dict[int, Any]] = {}
    for part in paths:
        series, number, plane, place = _slice(pydicom, part)
        if number in found.setdefault(series, {}):
            raise IoError(f"load_dicom: {part}: slice {number} of series {series} is there twice")
        found[series][number] = plane, place
    counts = [len(found[series]) for series in sorted(found)]
    if len(set(counts)) > 1 or len({plane.shape for own in found.values() for plane, _ in own.values()}) > 1:
        raise IoError(f"load_dicom: {name}: series of {counts} slices, or of two sizes")
    volumes = [_stacked(f"load_dicom: {name}: series {series}", found[series]) for series in sorted(found)]
    image, affine = np.stack([volume for volume, _ in volumes]), volumes[0][1]
    lead = [n for n in image.shape[:2] if n > 1] if len(volumes) == 1 else list(image.shape[:2])
    return image.reshape(*lead, *image.shape[2:]), _LPS @ affine


def _stacked(who: str, slices: dict[int, Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """The slices of a series in the order in which they lie, from the side of the lower numbers, and their affine."""
    numbers = sorted(slices)
    places = np.stack([slices[n][1] for n in numbers])
    affine = places[0]
    if len(numbers) > 1 and not (places == affine).all():  # without places, or with one for all: by numbers
        if not np.allclose(places[:, :3, :2], affine[:3, :2], rtol=0, atol=1e-3 * np.abs(affine[:3, :2]).max()):
            raise IoError(f"{who}: slices that are turned, or of other pixels, than the first")
        normal = np.cross(affine[:3, 0], affine[:3, 1])
        order = np.argsort(places[:, :3, 3] @ normal, kind="stable")
        order = order[::-1] if order[0] > order[-1] else order
        numbers, places = [numbers[i] for i in order], places[order]
        steps = np.diff(places[:, :3, 3], axis=0)
        mean = steps.mean(0)
        wrong = np.flatnonzero(np.linalg.norm(steps - mean, axis=1) > max(0.01 * float(np.linalg.norm(mean)), 1e-3))
        if wrong.size or abs(mean @ normal) < 1e-6 * np.linalg.norm(normal):
            i = int(wrong[0]) if wrong.size else 0
            raise IoError(
                f"{who}: slices {numbers[i]} and {numbers[i + 1]} are {np.linalg.norm(steps[i]):.4g} mm apart, others "
                f"{np.median(np.linalg.norm(steps, axis=1)):.4g}; expected equal steps (is a slice missing?)"
            )
        affine = places[0].copy()
        affine[:3, 2] = mean
    return np.stack([slices[n][0] for n in numbers]), affine


def _slice(pydicom: Any, path: Path) -> tuple[int, int, npt.NDArray[Any], npt.NDArray[Any]]:
    """Its series and number, its values, and where it lies; whatever a hostile file does to its parser, a sentence."""
    try:
        one = pydicom.dcmread(path)
        if str(one.file_meta.TransferSyntaxUID) not in _PLAIN:
            raise ValueError(f"samples in {one.file_meta.TransferSyntaxUID.name}, which is not read")
        shape, bits = (int(one.Rows), int(one.Columns)), int(one.BitsAllocated)
        signed = int(one.get("PixelRepresentation", 0))
        if min(shape) < 1 or bits not in (8, 16, 32) or signed not in (0, 1) or int(one.get("SamplesPerPixel", 1)) != 1:
            raise ValueError(f"{shape} pixels of {bits} bits; expected grey ones of 8, 16 or 32")
        if _whole(one, "NumberOfFrames") != 1:
            raise ValueError("several frames in one file, which are not read")
        kind = np.dtype(f"<{'i' if signed else 'u'}{bits // 8}")
        wanted = math.prod(shape) * kind.itemsize
        if len(one.PixelData) < wanted:
            raise ValueError(f"{len(one.PixelData)} bytes of samples; {shape} pixels take {wanted}")
        plane = np.frombuffer(one.PixelData, kind, math.prod(shape)).reshape(shape)
        values = plane * float(one.get("RescaleSlope", 1)) + float(one.get("RescaleIntercept", 0))
        place = _place_of(one)
        if not (np.isfinite(values).all() and np.isfinite(place).all()):
            raise ValueError("values or places that are not finite")
        return _whole(one, "SeriesNumber"), _whole(one, "InstanceNumber"), values, place
    except OSError as error:
        raise IoError(f"load_dicom: {path}: {error.strerror or error}") from None
    except Exception as error:
        raise IoError(f"load_dicom: {path}: {error}") from None


def _whole(one: Any, name: str) -> int:
    """A number of the file, which may be zero; one where it is not told."""
    value = one.get(name, None)
    return 1 if value is None or value == "" else int(value)


def _place_of(one: Any) -> npt.NDArray[np.float64]:
    place = np.eye(4)
    if "ImageOrientationPatient" not in one:
        return place
    along = np.array([float(v) for v in one.ImageOrientationPatient]).reshape(2, 3).T
    between_rows, between_columns = (float(v) for v in one.PixelSpacing)
    place[:3, 0], place[:3, 1] = along[:, 0] * between_columns, along[:, 1] * between_rows
    depth = float(one.get("SpacingBetweenSlices", None) or one.get("SliceThickness", None) or 1)
    place[:3, 2] = np.cross(along[:, 0], along[:, 1]) * depth
    place[:3, 3] = [float(v) for v in one.ImagePositionPatient]
    return place
