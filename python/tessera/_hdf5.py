# SPDX-License-Identifier: Apache-2.0
"""HDF5 files: arrays as datasets, dicts of arrays as groups; what is on disk comes through memory part by part."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

from . import _tessera as _core
from ._beside import keep, place_of
from ._files import AT_A_TIME, parts

_ALONE = "data"  # what an array that is saved without a name is called


def save(path: str, obj: Any) -> None:
    """Writes a file; the one of that name stays until the new one is whole."""
    members = dict(_named(obj, "" if isinstance(obj, dict) else _ALONE))
    arrays = {key: x for key, x in members.items() if x is not None}
    try:
        place = place_of(path)
        folder, name = os.path.split(place)
        with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=folder) as beside:
            made = os.path.join(beside, name)
            sets = [(key, x.shape, x.dtype) for key, x in arrays.items()]
            _core._stored_new_hdf5(made, sets, [key for key in members if key not in arrays])
            for key, x in arrays.items():
                _write(_core._stored_open(made, True, key), x)
            keep(made, place)
    except OSError as error:
        raise _core.IoError(f"save: cannot write '{path}': {error}") from error


def _named(obj: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Arrays by their names, and None for each group without any."""
    if not isinstance(obj, dict):
        yield name, obj if isinstance(obj, _core.StoredArray) else _core.asarray(obj).to("cpu")
        return
    if not obj and name:
        yield name, None
    for key, value in obj.items():
        if not isinstance(key, str) or key.strip(".") == "" or "/" in key or "\0" in key or not _is_text(key):
            raise ValueError(f"save: a member of an HDF5 file cannot be called {key!r}")
        yield from _named(value, f"{name}/{key}" if name else key)


def _is_text(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return False
    return True


def _write(to: _core.StoredArray, x: Any) -> None:
    for begin, shape in parts(x.shape, AT_A_TIME // x.dtype.itemsize):
        box = tuple(slice(b, b + n) for b, n in zip(begin, shape, strict=True))
        to._write(begin, shape, x[box] if box else x[...])
