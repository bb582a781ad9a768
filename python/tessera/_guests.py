# SPDX-License-Identifier: Apache-2.0
"""Operators on arrays of other libraries: a tensor of PyTorch, an array of JAX or CuPy goes in, and its like comes out.

Asked by ``A(x)`` for what is no array of ours or of NumPy's. A library that nobody has imported has made no array, so
none is imported here.
"""

from __future__ import annotations

import sys
from typing import Any

from . import _tessera as _core
from ._named_arrays import NamedArray


def applied(A: _core.NamedLinop, x: Any, out: Any) -> Any:
    """A x in the library of x, or NotImplemented where it is none of these, or ``out`` is an array of ours.

    An array with names is matched by them, and gives one.
    """
    if isinstance(x, NamedArray):
        if out is not None:
            raise _core.DimError(f"{A.kind}: out= has no names, and x has {x.dims}; leave it away, or give x.array")
        return x.apply(A)
    for library, cls, apply in (
        ("torch", "Tensor", _apply_torch),
        ("jax", "Array", _apply_jax),
        ("cupy", "ndarray", _apply_cupy),
    ):
        known = getattr(sys.modules.get(library), cls, None)
        if known is None or not isinstance(x, known):
            continue
        if out is not None and not isinstance(out, known):
            return NotImplemented
        return apply(A, x, out)
    return NotImplemented


def _apply_torch(A: _core.NamedLinop, x: Any, out: Any) -> Any:
    from . import torch as bridge

    if out is None:
        return bridge.apply(A, x)
    if x.requires_grad or out.requires_grad:
        raise _core.ArgumentError(
            f"{A.kind}: out= is written without a trace for gradients; expected tensors with requires_grad=False"
        )
    if out.is_conj() or out.is_neg():
        raise _core.ArgumentError(
            f"{A.kind}: out= is a lazily conjugated or negated view; expected one whose numbers are in its memory"
        )
    A(bridge.asarray(x), out=bridge.asarray(out))
    return out


def _apply_jax(A: _core.NamedLinop, x: Any, out: Any) -> Any:
    from . import jax as bridge

    if out is not None:
        raise _core.ArgumentError(f"{A.kind}: out= is an array of JAX, which nobody can write to; leave it away")
    return bridge.wrap(A)(x)


def _apply_cupy(A: _core.NamedLinop, x: Any, out: Any) -> Any:
    if out is None:
        return sys.modules["cupy"].from_dlpack(A(_core.from_dlpack(x)))
    A(_core.from_dlpack(x), out=_core.from_dlpack(out))
    return out
