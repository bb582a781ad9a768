# SPDX-License-Identifier: Apache-2.0
"""An operator over arrays with more leading axes than it has names for: what the bridges to other libraries share."""

from __future__ import annotations

from typing import Any

from ._tessera import Array, NamedLinop, empty


def is_open(A: NamedLinop) -> bool:
    """Leading axes may be added: "..." comes first on both sides, and no part is somebody's callable."""
    if not (A.ishape and A.oshape and A.ishape[0] == "..." == A.oshape[0]):
        return False
    parts = [A]
    while parts:
        part = parts.pop()
        if part.kind == "SimpleLinop":
            return False
        parts.extend(part.linops)
    return True


def extra_axes(A: NamedLinop, ndim: int) -> int:
    """The number of leading axes for which the operator has no name."""
    return 0 if "..." in A.ishape else max(0, ndim - len(A.ishape))


def apply_batched(A: NamedLinop, x: Array, batch: int) -> Array:
    """A over x; the first ``batch`` axes are carried along."""
    if batch == 0 or is_open(A):
        return A(x)
    lead, rest = x.shape[:batch], x.shape[batch:]
    shape = A.output_shape(rest)
    flat = x.reshape((-1 if x.size else 0, *rest))
    y = empty((flat.shape[0], *shape), A.output_dtype(x.dtype), x.device)
    for i in range(flat.shape[0]):
        A(flat[i], out=y[i])
    return y.reshape((*lead, *shape))


def needs(library: str, error: ImportError) -> Any:
    """The sentence for a library that is not installed."""
    return ImportError(f"ts.{library} needs the package {library}: {error}")
