# SPDX-License-Identifier: Apache-2.0
"""Images in the files that people have: which one, its name says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError, IoError, NotAvailable, _files
from .._beside import beside
from .._checked import Numbers
from ._dicom import load_dicom, pydicom_of, save_dicom
from ._files import load_cfl, save_cfl
from ._nifti import load_nifti, save_nifti
from ._zarr_images import default_dims, directory_name, load_zarr, save_zarr

ENDINGS = (".nii", ".nii.gz", ".npy", ".cfl", ".h5", ".hdf5", ".zarr", ".tessera", ".dcm")
IN_ROOM = (".nii", ".nii.gz", ".dcm")  # which say where their pixels lie


def ending(path: str | os.PathLike[str]) -> str:
    """How the name of an image ends, one of ENDINGS; refused by name where it is none, or where a package lacks."""
    name = directory_name(path)
    found = [end for end in ENDINGS if name.endswith(end)]
    if not found:
        raise ArgumentError(f"image file {name!r}; expected a name that ends in {', '.join(ENDINGS)}")
    if found[-1] in (".h5", ".hdf5"):
        _h5py(name)
    if found[-1] == ".dcm":
        pydicom_of(name)
    return found[-1]


def _h5py(name: str) -> Any:
    try:
        import h5py
    except ImportError:
        raise NotAvailable(f"image file {name!r}: HDF5 is read and written by h5py: pip install h5py") from None
    return h5py


def save_image(
    path: str | os.PathLike[str], image: Numbers, affine: Numbers = None, *, dims: Sequence[str] | None = None
) -> None:
    """Writes an image (..., y, x): .nii and .nii.gz (of complex images the magnitudes, as viewers expect, and numbers
    of 64 bits in single precision; with the affine), .dcm (the same; a folder of that name where there are several
    slices), .npy, .cfl, .h5 (a dataset "image" with the affine), .zarr (:func:`save_zarr`) or .tessera, complex as it
    is. ``dims`` are names of the axes, which .h5 and .zarr keep.

    >>> ts.imaging.save_image("image.npy", np.ones((4, 4), complex))
    >>> ts.imaging.load_image("image.npy").dtype
    dtype('complex128')
    """
    name, x = directory_name(path), np.asarray(image)
    kind = ending(name)
    if x.dtype.kind not in "biufc":
        raise ArgumentError(f"save_image: {name}: {x.dtype} of shape {x.shape}; expected numbers")
    if dims is not None and len(dims) != x.ndim:
        raise ArgumentError(f"save_image: {name}: dims {tuple(dims)} of an image of shape {x.shape}; expected {x.ndim}")
    if kind in (".nii", ".nii.gz"):
        real = np.abs(x) if x.dtype.kind == "c" else x
        kept = real.dtype.kind in "fiu" and real.dtype.itemsize <= 4 and real.dtype != np.float16
        save_nifti(name, real if kept else real.astype(np.float32), affine)
    elif kind == ".dcm":
        save_dicom(name, x, affine)
    elif kind == ".cfl":
        save_cfl(name, x)
    elif kind == ".zarr":
        save_zarr(name, x, affine, dims)
    else:
        with beside(name, "save_image") as part:
            if kind == ".tessera":
                _files.saved(part, {"image": ts.asarray(x)})
            elif kind == ".npy":
                with open(part, "wb") as file:
                    np.save(file, x)
            else:
                with _h5py(name).File(part, "w") as file:
                    file["image"] = x
                    for axis, label in enumerate(default_dims(x.ndim) if dims is None else dims):
                        file["image"].dims[axis].label = label
                    if affine is not None:
                        file["image"].attrs["affine"] = np.asarray(affine)


def load_image(path: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """Reads what :func:`save_image` writes: an image (..., y, x).

    >>> ts.imaging.save_image("image.nii.gz", 2j * np.ones((3, 4, 5)))
    >>> ts.imaging.load_image("image.nii.gz").max()
    np.float32(2.0)
    """
    name = directory_name(path)
    kind = ending(name)
    if kind in (".nii", ".nii.gz"):
        return load_nifti(name)[0]
    if kind == ".zarr":
        return load_zarr(name)[0]
    if kind == ".dcm":
        return load_dicom(name)[0]
    if kind == ".cfl":
        return load_cfl(name)
    try:
        image = _loaded(name, kind)
    except (OSError, ValueError, EOFError, KeyError, TypeError) as error:
        raise error if isinstance(error, ts.Error) else IoError(f"load_image: {name}: {error}") from None
    if image.dtype.kind not in "biufc":
        raise IoError(f"load_image: {name}: {image.dtype} of shape {image.shape}; expected numbers")
    return image


def _loaded(name: str, kind: str) -> npt.NDArray[Any]:
    if kind == ".npy":
        return np.asarray(np.load(name, allow_pickle=False))
    if kind == ".tessera":
        return np.asarray(ts.open_snapshot(name)["image"])
    h5py = _h5py(name)
    with h5py.File(name, "r") as file:
        if not isinstance(file.get("image"), h5py.Dataset):
            raise IoError(f"load_image: {name} has no dataset 'image'")
        return np.asarray(file["image"])
