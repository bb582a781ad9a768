# SPDX-License-Identifier: Apache-2.0
"""Heat on our distributed arrays: its names, its order of arguments, its dtypes.

>>> import tessera.compat.heat as ht
>>> x = ht.arange(10, split=0)
>>> (x / 2).sum().item(), x.dtype, x.split, x.comm.size
(22.5, ht.int32, 0, 1)

``x.dist`` is our array, with ``explain()`` and everything else of ``ts.dist``. What differs and what is not offered
stands in docs/guide/moving-from-others.md.
"""

from __future__ import annotations

from collections.abc import Callable as _Callable
from typing import Any as _Any

from ..._checked import check_arguments as _check_arguments
from .._absent import refuse as _refuse
from . import _factories, _functions, _types, fft, io, linalg, random, statistics
from ._array import Communication, Device, DNDarray
from ._factories import *  # noqa: F403

MPICommunication = Communication
pi, e, inf, nan = 3.141592653589793, 2.718281828459045, float("inf"), float("nan")
Inf = Infty = Infinity = inf
NaN, Euler = nan, e
comm = _factories.MPI_WORLD

__all__ = [
    "Communication",
    "DNDarray",
    "Device",
    "MPICommunication",
    "comm",
    "fft",
    "io",
    "linalg",
    "random",
    "statistics",
    *_factories.__all__,
    *_types.FUNCTIONS,
    *_functions.FUNCTIONS,
    *io.__all__,
]
globals().update({_name: getattr(_types, _name) for _name in _types.FUNCTIONS})
globals().update(_functions.FUNCTIONS)
globals().update({_name: getattr(io, _name) for _name in io.__all__})
globals().update(_types.TYPES)
globals().update({_name: _types.TYPES[_of] for _name, _of in _types.ALIASES.items()})
_functions.methods("save", {"save": io.save})
for _part in (fft, io, linalg, random, statistics):
    _home = f"ht.{_part.__name__.rpartition('.')[2]}."
    _check_arguments(vars(_part), getattr(_part, "__all__", ()), _home, guard=True)
_check_arguments(globals(), [_name for _name in __all__ if _name != "DNDarray"], "ht.", guard=True)

_LEARNING = "it is no part of arrays; scikit-learn takes x.numpy()"
_PRINTING = "repr() shows the whole array on every rank; ht.print0 prints once"
_INTERNAL = "it is an inner function of Heat"
_REASONS = {
    **linalg.REFUSED,
    **io.REFUSED,
    "float16": "distributed arrays have float32 and float64",
    "half": "distributed arrays have float32 and float64",
    "gcd": "ts.dist has none; NumPy's is np.gcd",
    "lcm": "ts.dist has none; NumPy's is np.lcm",
    "vmap": "write the function for whole arrays, or use ts.dist.map_blocks",
    "from_partitioned": "ht.array(part, is_split=axis) takes what each rank has",
    "from_partition_dict": "ht.array(part, is_split=axis) takes what each rank has",
    "MPI_SELF": "ts.dist.world.split(rank) is a group of one",
    "gpu": 'write "gpu" where a device is asked for',
    "sparse": "ts.Sparse is an operator; distributed sparse arrays are not offered",
    "SplitTiles": _INTERNAL,
    "SquareDiagTiles": _INTERNAL,
    "mpi_library": "tessera doctor tells which MPI there is",
    "dup_comm": "x.comm.Split() makes a group of its own",
}
_REASONS |= {
    name: _LEARNING
    for name in (
        "BaseEstimator ClassificationMixin ClusteringMixin RegressionMixin TransformMixin is_classifier "
        "is_clusterer is_estimator is_regressor is_transformer classification cluster decomposition graph "
        "naive_bayes nn optim preprocessing regression spatial"
    ).split()
}
_REASONS |= {name: _PRINTING for name in "get_printoptions global_printing local_printing set_printoptions".split()}
_REASONS |= {
    name: _INTERNAL
    for name in (
        "MPIRequest MPILibrary MPILibraryInfo sanitize_axis sanitize_distribution sanitize_in "
        "sanitize_in_tensor sanitize_infinity sanitize_lshape sanitize_memory_layout sanitize_out "
        "sanitize_sequence sanitize_shape sanitize_slice scalar_to_1d CUDA_AWARE_MPI CUDA_IS_ACTUALLY_ROCM "
        "GPU_AWARE_MPI PLATFORM ROCM_AWARE_MPI TORCH_CUDA_IS_AVAILABLE TORCH_VERSION flexible floating "
        "integer number signedinteger unsignedinteger issubdtype"
    ).split()
}
__getattr__: _Callable[[str], _Any] = _refuse("tessera.compat.heat", _REASONS)
