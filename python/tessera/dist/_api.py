# SPDX-License-Identifier: Apache-2.0
"""What the array API standard calls by other names than NumPy, or wants to know, of distributed arrays."""

from __future__ import annotations

from typing import Any

from .. import _dist
from .. import _tessera as _core
from .._composed import Composed
from .._dist import Communicator, DNDarray, array, concatenate, invert, left_shift, right_shift
from .._dtypes import can_cast, finfo, iinfo, isdtype, result_type
from .._nan import NanReductions
from .._standard import Standard

__all__ = [
    "allclose",
    "argsort",
    "argwhere",
    "array_equal",
    "asarray",
    "astype",
    "average",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "broadcast_arrays",
    "can_cast",
    "concat",
    "cross",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "expand_dims",
    "finfo",
    "flatnonzero",
    "from_dlpack",
    "iinfo",
    "inner",
    "isclose",
    "isdtype",
    "isin",
    "kron",
    "logaddexp",
    "matrix_transpose",
    "meshgrid",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "nextafter",
    "outer",
    "permute_dims",
    "ptp",
    "reshape",
    "result_type",
    "rot90",
    "round",
    "searchsorted",
    "sort",
    "tensordot",
    "trace",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "vecdot",
]

bitwise_invert = invert
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift
concat = concatenate

_standard: Standard[DNDarray] = Standard(_dist, DNDarray)
argsort = _standard.argsort
broadcast_arrays = _standard.broadcast_arrays
cumulative_prod = _standard.cumulative_prod
cumulative_sum = _standard.cumulative_sum
diff = _standard.diff
expand_dims = _standard.expand_dims
matrix_transpose = _standard.matrix_transpose
meshgrid = _standard.meshgrid
permute_dims = _standard.permute_dims
reshape = _standard.reshape
round = _standard.round
searchsorted = _standard.searchsorted
sort = _standard.sort
tensordot = _standard.tensordot
unique_all = _standard.unique_all
unique_counts = _standard.unique_counts
unique_inverse = _standard.unique_inverse
unique_values = _standard.unique_values
unstack = _standard.unstack
vecdot = _standard.vecdot

_composed: Composed[DNDarray] = Composed(_dist, DNDarray)
allclose = _composed.allclose
argwhere = _composed.argwhere
array_equal = _composed.array_equal
average = _composed.average
cross = _composed.cross
flatnonzero = _composed.flatnonzero
inner = _composed.inner
isclose = _composed.isclose
isin = _composed.isin
kron = _composed.kron
logaddexp = _composed.logaddexp
nan_to_num = _composed.nan_to_num
nextafter = _composed.nextafter
outer = _composed.outer
ptp = _composed.ptp
rot90 = _composed.rot90
trace = _composed.trace

_nan: NanReductions[DNDarray] = NanReductions(_dist, DNDarray)
nanargmax = _nan.nanargmax
nanargmin = _nan.nanargmin
nancumprod = _nan.nancumprod
nancumsum = _nan.nancumsum
nanmax = _nan.nanmax
nanmean = _nan.nanmean
nanmedian = _nan.nanmedian
nanmin = _nan.nanmin
nanprod = _nan.nanprod
nanstd = _nan.nanstd
nansum = _nan.nansum
nanvar = _nan.nanvar


def asarray(
    obj: Any,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    split: int | None = None,
    comm: Communicator | None = None,
) -> DNDarray:
    """A distributed array as it is, unless something else is asked of it; anything else as ``ts.dist.array`` has it.

    >>> x = ts.dist.arange(3, split=0); ts.dist.asarray(x) is x, ts.dist.asarray([1, 2]).split
    (True, None)
    """
    same = (
        isinstance(obj, DNDarray)
        and (dtype is None or obj.dtype == dtype)
        and (device is None or obj.device == device)
        and (split is None or obj.split == split)
    )
    if same and not copy:
        return obj
    if copy is False:
        raise ValueError("asarray: what was asked for cannot be had without a copy")
    return array(obj, split, dtype=dtype, device=device, comm=comm)


def from_dlpack(
    x: Any,
    /,
    *,
    device: Any = None,
    copy: bool | None = None,
    split: int | None = None,
    comm: Communicator | None = None,
) -> DNDarray:
    """An array of what anything with ``__dlpack__`` holds, the same on every rank: a copy, and so a BufferError where
    none is wanted.

    >>> ts.dist.from_dlpack(np.arange(3), split=0).tolist()
    [0, 1, 2]
    """
    if copy is False:
        raise BufferError("dist.from_dlpack: a distributed array holds a copy; copy=False cannot be had")
    return array(_core.from_dlpack(x, device=device), split, comm=comm)


def astype(x: DNDarray, dtype: Any, /, *, copy: bool = True, device: Any = None) -> DNDarray:
    """The elements converted as NumPy converts.

    >>> ts.dist.astype(ts.dist.arange(3, split=0), "float32").tolist()
    [0.0, 1.0, 2.0]
    """
    y = x.astype(dtype, copy=copy)
    return y if device is None else y.to(device)
