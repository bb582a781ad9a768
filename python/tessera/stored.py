# SPDX-License-Identifier: Apache-2.0
"""Arrays that are not in memory: files that are read and written in place, and formulas over them.

>>> a = ts.stored.array(np.arange(12.0).reshape(3, 4))
>>> b = ts.sqrt(a) * 2          # a formula: nothing is computed
>>> b.sum().item() == (np.sqrt(np.arange(12.0)) * 2).sum()
True
>>> (a @ a.T)[1, :].tolist()
[38.0, 126.0, 214.0]
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _tessera as _core
from ._checked import Operand
from ._checked import check_arguments as _check_arguments
from ._stored_forms import matrix
from ._stored_functions import complete as _complete
from ._stored_functions import matmul
from ._stored_functions import twin as _twin  # noqa: F401  (the core asks for it)
from ._stored_jobs import apply, cholesky, inverse, solve, sort
from ._stored_plans import explain, plan
from ._stored_transforms import (
    fft,
    fft2,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfftn,
    rfft,
    rfftn,
)
from ._tessera import StoredArray, StoredMatrix, StoredPlan

__all__ = [
    "StoredArray",
    "StoredMatrix",
    "StoredPlan",
    "apply",
    "array",
    "cholesky",
    "create",
    "explain",
    "fft",
    "fft2",
    "fftn",
    "fftshift",
    "full",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "inverse",
    "irfft",
    "irfftn",
    "matmul",
    "matrix",
    "ones",
    "open",
    "plan",
    "rfft",
    "rfftn",
    "solve",
    "sort",
    "zeros",
]


def create(
    shape: int | Sequence[int], dtype: Any = "float64", path: str | os.PathLike[str] | None = None
) -> StoredArray:
    """A new array of zeros on disk: at `path`, where it stays, or in the backing folder, where it goes with the array.

    A `path` that ends in .npy makes a file of that format, any other a tiled file; endings of other formats (.npz,
    .zarr, .tessera, .h5, .hdf5) are refused. `ts.load` opens what was made.

    >>> str(ts.stored.create((2, 3), "complex64").dtype)
    'complex64'
    """
    return _core._stored_create(shape, "float64" if dtype is None else dtype, _core._stored_path(path))


def zeros(shape: int | Sequence[int], dtype: Any = "float64") -> StoredArray:
    """Zeros in the backing folder, which take nothing of the disk before they are written.

    >>> ts.stored.zeros(3)[:].tolist()
    [0.0, 0.0, 0.0]
    """
    return _core._stored_zeros(shape, "float64" if dtype is None else dtype)


def full(shape: int | Sequence[int], value: Operand, dtype: Any = "float64") -> StoredArray:
    """One number on disk, as often as the shape says.

    >>> ts.stored.full(2, 7, "int8")[:].tolist()
    [7, 7]
    """
    return _core._stored_full(shape, value, "float64" if dtype is None else dtype)


def ones(shape: int | Sequence[int], dtype: Any = "float64") -> StoredArray:
    """Ones on disk.

    >>> ts.stored.ones(2)[:].tolist()
    [1.0, 1.0]
    """
    return full(shape, 1, dtype)


def array(obj: Operand, path: str | os.PathLike[str] | None = None) -> StoredArray:
    """The numbers of an array in a file: at `path`, which stays, or in the backing folder.

    >>> ts.stored.array([1, 2, 3])[1:].tolist()
    [2, 3]
    """
    return _core._stored_from(obj, _core._stored_path(path))


def open(path: str | os.PathLike[str], mode: str = "r", dataset: str | None = None) -> Any:
    """A tiled file, a .npy file or a dataset of an HDF5 file, read in place ("r"), or written as well ("r+").

    Which of them it is, its first bytes say. Of a .npy file the header stays as it is; C and Fortran order and numbers
    of the other byte order are taken as they lie. `dataset` names one of an HDF5 file that holds several; chunks stay
    as they are, compressed ones go through the HDF5 library. A tiled file of a matrix of a form is read as a
    `StoredMatrix` of that form, everything else as a `StoredArray`; so are with "r+" the numbers of a form as they lie,
    those of the upper half (of its transpose for a lower triangle) or words of bits.

    >>> import os, tempfile; path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> np.save(path, np.arange(6).reshape(2, 3))
    >>> x = ts.stored.open(path, "r+")
    >>> x[:, 1] = 7; np.load(path).tolist()
    [[0, 7, 2], [3, 7, 5]]
    """
    if mode not in ("r", "r+"):
        raise ValueError(f"stored.open: mode is 'r' or 'r+', got {mode!r}")
    return _core._stored_open(os.fsdecode(path), mode == "r+", dataset or "")


_complete()
_check_arguments(globals(), __all__)
