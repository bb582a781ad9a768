# SPDX-License-Identifier: Apache-2.0
"""What the array API standard calls by other names than NumPy, and what is made of other functions, of local arrays."""

from __future__ import annotations

from typing import Any

from . import _local
from ._composed import Composed
from ._dtypes import can_cast, finfo, iinfo, isdtype
from ._nan import NanReductions
from ._standard import Standard
from ._tessera import Array, concatenate, invert, left_shift, right_shift

__all__ = [
    "allclose",
    "argsort",
    "argwhere",
    "array_equal",
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
    "rot90",
    "round",
    "searchsorted",
    "sort",
    "tensordot",
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

_standard: Standard[Array] = Standard(_local, Array)
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

_composed: Composed[Array] = Composed(_local, Array)
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

_nan: NanReductions[Array] = NanReductions(_local, Array)
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


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """The elements converted as NumPy converts.

    >>> ts.astype(ts.arange(3), "float32").tolist()
    [0.0, 1.0, 2.0]
    """
    y = x.astype(dtype, copy=copy)
    return y if device is None else y.to(device)
