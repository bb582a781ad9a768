# SPDX-License-Identifier: Apache-2.0
"""Tessera: arrays and named linear operators that run on cores, GPUs, disks and clusters without changes.

>>> x = ts.arange(6, dtype="float32").reshape(2, 3)
>>> (x @ x.T).tolist()
[[5.0, 14.0], [14.0, 50.0]]
"""

import os as _os
import typing as _typing
from typing import Any as _Any

if _typing.TYPE_CHECKING:  # of two functions of one name type checkers keep the first: here that of more arguments
    from . import compat as compat
    from . import imaging as imaging

    jax: _Any
    scipy: _Any
    torch: _Any
    from ._api import *  # noqa: F403
    from ._config import Config as _Config

    config: _Config

    # isort: split
    from ._local import *  # type: ignore[assignment]  # noqa: F403

# isort: split
from . import _fields, _pickle, _tessera, compute, debug, dist, fft, linalg, matrix, names, random, solve, stored  # noqa: F401
from . import split as _split
from ._advice import doctor
from ._budgets import MemoryTiers, memory_budget, memory_tiers, set_backing_dir, set_memory_budget
from ._density import density_compensation
from ._doctor_names import notice_unknown as _notice_unknown
from ._io_accelerator import IOAccelerator
from ._snapshots import Snapshot, SnapshotArray, open_snapshot
from ._tessera import *  # type: ignore[assignment]  # noqa: F403
from ._trace import trace
from .compute import (
    AutoSolver,
    ComputeContext,
    ComputeDevice,
    CpuDevice,
    CudaDevice,
    context,
    precision_mode,
    set_precision_mode,
)

# isort: split
from . import _api, _einops, _local, _reports  # some of their functions take more arguments than the core's
from ._dtypes import NamespaceInfo as _NamespaceInfo
from ._local import *  # type: ignore[assignment]  # noqa: F403

# isort: split
from ._api import *  # noqa: F403

for _name in _split.__all__:
    setattr(split, _name, getattr(_split, _name))  # noqa: F405

__version__: str = _tessera._version
bool = bool_  # noqa: A001, F405
PadLast = Pad  # noqa: F405
newaxis = None
pi = 3.141592653589793
e = 2.718281828459045
inf = float("inf")
nan = float("nan")
__array_api_version__ = "2024.12"

__all__ = [name for name in dir(_tessera) if not name.startswith("_")] + _local.__all__
__all__ += [name for name in _api.__all__ if name not in __all__]
__all__ += ["__version__", "bool", "config", "dist", "e", "fft", "inf", "linalg", "matrix", "names", "nan", "newaxis"]
__all__ += ["ComputeContext", "compute", "context", "debug", "pi", "precision_mode", "random", "set_precision_mode"]
__all__ += ["AutoSolver", "ComputeDevice", "CpuDevice", "CudaDevice", "PadLast", "solve", "stored", "trace"]
__all__ += ["Snapshot", "SnapshotArray", "density_compensation", "doctor", "open_snapshot"]
__all__ += ["IOAccelerator", "MemoryTiers", "memory_budget", "memory_tiers", "set_backing_dir", "set_memory_budget"]

if not _typing.TYPE_CHECKING:  # to which it is an object of a class, whose attributes are the settings
    from . import config

_einops.watch()
_reports.watch()
_notice_unknown(_os.environ)
_on_demand = ("compat", "imaging", "jax", "scipy", "torch")  # the last three need the library of their name


def __array_namespace_info__() -> _NamespaceInfo:
    """Devices, dtypes and abilities, for code that is written for the array API."""
    return _NamespaceInfo()


if not _typing.TYPE_CHECKING:  # to which every other name would be one of ours

    def __getattr__(name: str) -> _Any:
        """ts.torch, ts.scipy, ts.jax, ts.imaging and ts.compat are imported when they are first asked for."""
        if name not in _on_demand:
            raise AttributeError(f"module 'tessera' has no attribute '{name}'")
        from importlib import import_module

        try:
            return import_module(f".{name}", __name__)
        except ImportError as error:  # what hasattr, getattr with a default, pydoc and inspect take for "not there"
            raise AttributeError(str(error), name=name) from error


def _installed(library: str) -> _Any:
    """Whether a library is found, which is not imported for that."""
    import sys
    from importlib.util import find_spec

    try:
        return sys.modules.get(library) is not None or find_spec(library) is not None
    except (ImportError, ValueError):  # a finder that refuses, or a module without a spec
        return False


def __dir__() -> list[str]:
    found = [name for name in _on_demand if name in ("compat", "imaging") or _installed(name)]
    return sorted({*globals(), *found})
