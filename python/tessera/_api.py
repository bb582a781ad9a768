# SPDX-License-Identifier: Apache-2.0
"""Functions of the array API standard and of NumPy beyond the core's, of local arrays."""

from __future__ import annotations

from typing import Any

from . import _local
from ._dtypes import can_cast, finfo, iinfo, isdtype
from ._shared import array_functions, share
from ._subscripts import subscripts_of
from ._tessera import Array, _add_at, concatenate, invert, left_shift, ones, right_shift, zeros
from ._tessera import einsum as _einsum


def add_up(n: int, positions: Array, weights: Array | None) -> Array:
    """An array of n sums: of the weights of each position, or how often each occurs."""
    found = zeros(n, dtype="int64" if weights is None else weights.dtype, device=positions.device)
    if positions.size:
        one = ones(1, dtype="int64", device=positions.device) if weights is None else weights
        _add_at(found, positions.reshape(-1), one if weights is None else one.reshape(-1))
    return found


def _algebra() -> Any:
    from . import linalg

    return linalg


bitwise_invert = invert
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift
concat = concatenate

__all__ = ["astype", "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift", "can_cast", "concat", "einsum"]
__all__ += ["finfo", "iinfo", "isdtype"]
__all__ += share(globals(), *array_functions(_local, Array, add_up, _algebra))
for _name in ("kurtosis", "skew", "trace"):  # ts.trace is a timeline of what runs
    __all__.remove(_name)


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """The elements converted as NumPy converts.

    >>> ts.astype(ts.arange(3), "float32").tolist()
    [0.0, 1.0, 2.0]
    """
    y = x.astype(dtype, copy=copy)
    return y if device is None else y.to(device)


def einsum(subscripts: Any, *operands: Any, out: Array | None = None, optimize: Any = None) -> Array:
    """Sums of products by subscripts, as text or as lists of numbers behind each array; pairs are multiplied in the
    order that costs least, whatever ``optimize`` says.

    >>> ts.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 1]).tolist(), ts.einsum([[1, 2], [3, 4]], [0, 0]).item()
    ([3, 7], 5)
    """
    if not isinstance(subscripts, str):
        subscripts, operands = subscripts_of([subscripts, *operands])
    found = _einsum(subscripts, *operands)
    if out is None:
        return found
    if out.shape != found.shape:
        raise ValueError(f"einsum: output array has shape {out.shape}, expected {found.shape}")
    out[...] = found
    return out
