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


def save_dicom(path: str | os.PathLike[str], image: Any, affine: Any = None) -> None:
    """Writes the magnitudes of an image (..., z, y, x) in 16 bits, with the factor that makes values of them: one slice
    as a file, several as a folder with a file for each, in which every image of the axes in front is a series of its
    own. ``affine`` is that of :func:`save_nifti`.

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
    volumes = np.abs(x.astype(complex if x.dtype.kind == "c" else float)).reshape(-1, *(1, *x.shape)[-3:])
    place = _placed(affine, volumes.shape[:0:-1])
    # As the file will tell it: a number of at most 16 characters.
    slope = f"{float(volumes.max()) / _TOP if volumes.max() > 0 else 1.0:.9e}"
    pixels = np.minimum(np.rint(volumes / float(slope)), _TOP).astype("<u2")
    known = hashlib.sha256(pixels.tobytes() + place.tobytes() + slope.encode()).hexdigest()
    single = pixels.shape[:2] == (1, 1)
    target = Path(name)
    files = {}
    for series, slices in enumerate(pixels):
        for z, plane in enumerate(slices):
            one = _dataset(pydicom, plane, place, z, slope, known, series)
            files[target if single else target / f"series{series + 1:04d}_slice{z + 1:04d}.dcm"] = one
    try:
        _write(target, files, single)
    except OSError as error:
        raise error if isinstance(error, IoError) else IoError(f"save_dicom: {name}: {error.strerror}") from None


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
    one.BitsAllocated, one.BitsStored, one.HighBit, one.PixelRepresentation = 16, 16, 15, 0
    one.RescaleSlope, one.RescaleIntercept, one.RescaleType = slope, "0", "US"
    one.WindowCenter, one.WindowWidth = _number(float(slope) * _TOP / 2), _number(float(slope) * _TOP)
    one.add_new("PixelData", "OW", np.ascontiguousarray(plane).tobytes())
    return one


def _write(target: Path, files: dict[Path, Any], single: bool) -> None:
    if not single:
        if target.is_dir():
            other = sorted({p.name for p in target.iterdir()} - {p.name for p in files})
            if other:
                raise IoError(f"save_dicom: {target} holds {other[0]}, which is no part of this image; remove it first")
        target.mkdir(exist_ok=True)
    for path, one in files.items():
        beside = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            one.save_as(beside, enforce_file_format=True)
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)


def load_dicom(path: str | os.PathLike[str]) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Reads a file, or a folder of the slices of one or more series: the image (series, z, y, x), axes of one entry in
    front of y left out, and its affine (4, 4), of the first series. Slices are in the order of their numbers, or of
    their places where numbers go another way through the room. Samples must not be compressed.

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
    found = {}
    for part in paths:
        series, number, plane, place = _slice(pydicom, part)
        if (series, number) in found:
            raise IoError(f"load_dicom: {part}: slice {number} of series {series} is there twice")
        found[series, number] = plane, place
    order = sorted(found)
    numbers = {series: [n for s, n in order if s == series] for series, _ in order}
    if len({len(own) for own in numbers.values()}) > 1 or len({found[key][0].shape for key in order}) > 1:
        raise IoError(f"load_dicom: {name}: series of {[len(own) for own in numbers.values()]} slices, or of two sizes")
    volumes, affines = [], []
    for series, own in numbers.items():
        parts = [found[series, n] for n in own]
        along, depth = _along_room(f"load_dicom: {name}: series {series}", np.stack([place for _, place in parts]))
        volumes.append(np.stack([parts[i][0] for i in along]))
        affines.append(parts[along[0]][1])
        affines[-1][:3, 2] = depth
    image, affine = np.stack(volumes), affines[0]
    lead = [n for n in image.shape[:2] if n > 1] if len(numbers) == 1 else list(image.shape[:2])
    return image.reshape(*lead, *image.shape[2:]), _LPS @ affine


def _along_room(who: str, places: npt.NDArray[Any]) -> tuple[list[int], npt.NDArray[Any]]:
    """The order of slices with affines (slices, 4, 4) in which they lie evenly, and the step from one to the next."""
    corners, order = places[:, :3, 3], list(range(len(places)))
    if not np.allclose(places[:, :3, :2], places[0, :3, :2], rtol=0, atol=1e-3 * np.abs(places[0, :3, :2]).max()):
        raise IoError(f"{who}: slices that are turned against each other; expected parallel ones")
    if not (np.ptp(corners, 0) > 0).any():  # one slice, or one place all the time
        return order, places[0, :3, 2]
    for chosen in (order, list(np.argsort(corners @ np.cross(places[0, :3, 0], places[0, :3, 1]), kind="stable"))):
        steps = np.diff(corners[chosen], axis=0)
        mean = steps.mean(0)
        if np.abs(steps - mean).max() <= 0.02 * np.linalg.norm(mean):
            return chosen, mean
    raise IoError(f"{who}: slices that are not evenly apart (one is missing, or several times are in one series)")


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
        if int(one.get("NumberOfFrames", None) or 1) != 1:
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
        return int(one.get("SeriesNumber", None) or 1), int(one.get("InstanceNumber", None) or 1), values, place
    except OSError as error:
        raise IoError(f"load_dicom: {path}: {error.strerror or error}") from None
    except Exception as error:
        raise IoError(f"load_dicom: {path}: {error}") from None


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
