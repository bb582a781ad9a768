# SPDX-License-Identifier: Apache-2.0
"""Heat's files: .npy, HDF5 and tables of text, each rank its own part.

>>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), "x.npy")
>>> ht.save(ht.arange(3, split=0), name); ht.load(name, split=0).tolist()
[0, 1, 2]
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ... import _tessera as _core
from ... import dist as _dist
from .._absent import refuse
from ._array import DNDarray
from ._calls import _array
from ._factories import place
from ._types import canonical

__all__ = [
    "load",
    "load_csv",
    "load_hdf5",
    "save",
    "save_csv",
    "save_hdf5",
    "supports_hdf5",
    "supports_netcdf",
    "supports_zarr",
]


def load(path: Any, *args: Any, **kwargs: Any) -> DNDarray:
    """Reads .npy, HDF5 (which wants the name of its data set, as ``load_hdf5`` does) or .csv.

    >>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), "x.npy"); np.save(name, np.arange(4))
    >>> ht.load(name, split=0).sum().item()
    6
    """
    end = os.path.splitext(os.fspath(path))[1].lower()
    if end == ".csv":
        return load_csv(path, *args, **kwargs)
    if end in (".h5", ".hdf5"):
        return load_hdf5(path, *args, **kwargs)
    if end != ".npy":
        raise ValueError(f"ht.load: expected a name that ends in .npy, .h5, .hdf5 or .csv, got {os.fspath(path)!r}")
    return _loaded(path, "", *args, **kwargs)


def _loaded(
    path: Any,
    dataset: str,
    dtype: Any = None,
    slices: Any = None,
    split: int | None = None,
    device: Any = None,
    comm: Any = None,
) -> DNDarray:
    made = _dist.load(path, slices=slices, dataset=dataset, **place(split, device, comm))
    return DNDarray(made if dtype is None else made.astype(canonical(dtype).__name__))


def load_hdf5(
    path: Any,
    dataset: str,
    dtype: Any = None,
    slices: Any = None,
    split: int | None = None,
    device: Any = None,
    comm: Any = None,
) -> DNDarray:
    """Reads a data set, as float32 unless told.

    >>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), "x.h5")
    >>> ht.save_hdf5(ht.arange(3), name, "x"); ht.load_hdf5(name, "x").dtype
    ht.float32
    """
    return _loaded(path, dataset, dtype or "float32", slices, split, device, comm)


def load_csv(
    path: Any,
    header_lines: int = 0,
    sep: str = ",",
    dtype: Any = "float32",
    encoding: str = "utf-8",
    split: int | None = None,
    device: Any = None,
    comm: Any = None,
) -> DNDarray:
    """Reads a table of numbers.

    >>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), "x.csv")
    >>> ht.save_csv(ht.ones((2, 2)), name); ht.load_csv(name, split=0).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return DNDarray(_dist.load_csv(path, header_lines, sep, canonical(dtype).__name__, **place(split, device, comm)))


def save(data: Any, path: Any, *args: Any, **kwargs: Any) -> None:
    """Writes .npy, HDF5 (with the name of a data set) or .csv.

    >>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> ht.save(ht.arange(2), name); np.load(name).tolist()
    [0, 1]
    """
    end = os.path.splitext(os.fspath(path))[1].lower()
    if end == ".csv":
        return save_csv(data, path, *args, **kwargs)
    if end in (".h5", ".hdf5"):
        return save_hdf5(data, path, *args, **kwargs)
    if end != ".npy":
        raise ValueError(f"ht.save: expected a name that ends in .npy, .h5, .hdf5 or .csv, got {os.fspath(path)!r}")
    return _dist.save(path, _array(data).dist)


def save_hdf5(data: Any, path: Any, dataset: str, mode: str = "w", dtype: Any = None, **kwargs: Any) -> None:
    """Writes a file with one data set.

    >>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), "x.h5")
    >>> ht.save_hdf5(ht.ones(2), name, "x"); ht.load(name, "x").tolist()
    [1.0, 1.0]
    """
    if mode != "w":
        raise NotImplementedError(
            f"ht.save_hdf5: mode {mode!r} is not offered: files are written as a whole (mode 'w')"
        )
    data = _array(data)
    _dist.save(path, (data if dtype is None else data.astype(dtype)).dist, dataset=dataset)


def save_csv(
    data: Any,
    path: Any,
    header_lines: Any = None,
    sep: str = ",",
    decimals: int = -1,
    encoding: str = "utf-8",
    comm: Any = None,
    truncate: bool = True,
) -> None:
    """Writes a table of numbers.

    >>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), "x.csv")
    >>> ht.save_csv(ht.ones((1, 2)), name, decimals=1); open(name).read()
    '1.0,1.0\\n'
    """
    header = "" if header_lines is None else header_lines if isinstance(header_lines, str) else "\n".join(header_lines)
    _dist.save_csv(path, _array(data).dist, header.rstrip("\n"), sep, None if decimals < 0 else decimals)


def supports_hdf5() -> bool:
    """Whether HDF5 can be read.

    >>> isinstance(ht.supports_hdf5(), bool)
    True
    """
    try:  # refused on every rank at once: for the name that it lacks, or where the library was built without HDF5
        _dist.save("x.h5", _dist.zeros(1), dataset="")
    except _core.NotAvailable:
        return False
    except _core.ArgumentError:
        return True
    raise AssertionError("ts.dist.save wrote a data set without a name")


def supports_netcdf() -> bool:
    """NetCDF is not read.

    >>> ht.supports_netcdf()
    False
    """
    return False


def supports_zarr() -> bool:
    """Zarr is read by ``ts.load``, not here.

    >>> ht.supports_zarr()
    False
    """
    return False


_ZARR = "ts.load and ts.save read and write Zarr, as local arrays"
REFUSED = {
    "load_csv_from_folder": "load each file with ht.load_csv and join them with ht.concatenate",
    "load_multiple_hdf5": "load each file with ht.load_hdf5 and join them with ht.concatenate",
    "load_netcdf": "NetCDF 4 files are HDF5: ht.load_hdf5 reads their variables",
    "load_npy_from_path": "load each file with ht.load and join them with ht.concatenate",
    "load_zarr": _ZARR,
    "save_netcdf": "ht.save_hdf5 writes HDF5",
    "save_zarr": _ZARR,
}
__getattr__: Callable[[str], Any] = refuse("tessera.compat.heat.io", REFUSED)
