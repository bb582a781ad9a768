# SPDX-License-Identifier: Apache-2.0
"""Reductions with NumPy's ``initial=`` and ``where=``, and element-wise functions with ``where=``, once for all kinds
of arrays. The core calls them when one of these arguments is given."""

from __future__ import annotations

from typing import Any

from . import _dist, _local
from ._dist import DNDarray
from ._functions import Functions, T
from ._tessera import Array


class Masked(Functions[T]):
    """Those of some of the elements."""

    def reduced(
        self,
        name: str,
        x: Any,
        axis: Any,
        dtype: Any,
        out: Any,
        keepdims: bool,
        initial: Any,
        where: Any,
        ddof: float = 0,
    ) -> Any:
        """The reduction of a name, over the elements where ``where`` holds and from ``initial`` on."""
        x = self._array(x)
        mask = None if where is None or where is True else self._mask(where, x)
        if name in ("sum", "prod"):
            found = self._added(name, x, axis, dtype, keepdims, initial, mask)
        elif name in ("max", "min"):
            found = self._extremum(name, x, axis, keepdims, initial, mask)
        elif name in ("any", "all"):
            truth = x.astype("bool")
            kept = truth if mask is None else truth & mask if name == "any" else truth | ~mask
            found = getattr(self._home, name)(kept, axis, keepdims=keepdims)
        elif name == "mean":
            found = self._mean(x, axis, dtype, keepdims, mask)[0]
        else:
            found = self._var(x, axis, dtype, keepdims, mask, ddof)
            found = self._home.sqrt(found) if name == "std" else found
        return self._into(found, out, name)

    def _mask(self, where: Any, x: Any) -> Any:
        mask = self._near(where, x).astype("bool")
        if mask.ndim > x.ndim:
            raise ValueError(f"where has shape {mask.shape}, more dimensions than the array of shape {x.shape}")
        return self._home.broadcast_to(mask, x.shape)

    def _added(self, name: str, x: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, mask: Any) -> Any:
        add = name == "sum"
        kept = x if mask is None else self._home.where(mask, x, 0 if add else 1)
        found = getattr(self._home, name)(kept, axis, dtype, keepdims=keepdims)
        if initial is None:
            return found
        start = self._start(initial, found)
        return found + start if add else found * start

    def _start(self, initial: Any, x: Any) -> Any:
        if isinstance(initial, (int, float)):
            return self._written(initial, x)
        start = self._near(initial, x)
        if start.dtype.kind == "c" and x.dtype.kind != "c":
            raise TypeError("float() argument must be a string or a real number, not 'complex'")
        return start.astype(x.dtype)

    def _extremum(self, name: str, x: Any, axis: Any, keepdims: bool, initial: Any, mask: Any) -> Any:
        if initial is None:
            raise ValueError(
                f"reduction operation '{name}imum' does not have an identity, so to use a where mask one has to "
                "specify 'initial'"
            )
        home, start = self._home, self._start(initial, x)
        if x.size == 0:
            return home.zeros_like(home.sum(x, axis, keepdims=keepdims), dtype=x.dtype) + start
        kept = x if mask is None else home.where(mask, x, start)
        found = getattr(home, name)(kept, axis, keepdims=keepdims)
        return home.maximum(found, start) if name == "max" else home.minimum(found, start)

    def _mean(self, x: Any, axis: Any, dtype: Any, keepdims: bool, mask: Any) -> tuple[Any, Any]:
        """The mean of what counts, and how many that are."""
        home = self._home
        wide = dtype if dtype is not None else None if x.dtype.kind in "fc" else "float64"
        short = dtype is None and x.dtype.name in ("float16", "bfloat16")
        total = home.sum(home.where(mask, x, 0), axis, "float32" if short else wide, keepdims=keepdims)
        count = home.sum(mask, axis, keepdims=keepdims)
        return (total / count).astype(x.dtype if short else total.dtype), count

    def _var(self, x: Any, axis: Any, dtype: Any, keepdims: bool, mask: Any, ddof: float) -> Any:
        home = self._home
        wide = "float32" if dtype is None and x.dtype.name in ("float16", "bfloat16") else dtype
        mean, _ = self._mean(x, axis, wide, True, mask)
        apart = x.astype(mean.dtype) - mean
        squares = home.where(mask, home.abs2(apart), 0)
        total = home.sum(squares, axis, keepdims=keepdims)
        count = home.maximum(home.sum(mask, axis, keepdims=keepdims) - ddof, 0)
        short = dtype is None and wide is not None
        return (total / count).astype(x.dtype if short else total.dtype)

    def elements(self, result: Any, out: Any, where: Any) -> Any:
        """``result`` where a condition holds; elsewhere ``out`` as it is, or zeros."""
        home = self._home
        mask = self._near(where, result)
        if mask.dtype.kind != "b":
            raise TypeError(f"where: expected booleans, got {mask.dtype.name}")
        if out is None:
            return home.where(mask, result, home.zeros_like(result))
        target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
        if "buifc".index(result.dtype.kind) > "buifc".index(target.dtype.kind):
            raise TypeError(
                f"Cannot cast output from {result.dtype.name} to {target.dtype.name} with casting rule 'same_kind'"
            )
        kept = home.where(mask, result, home.zeros_like(result))
        if tuple(target.shape) != tuple(kept.shape):
            raise ValueError(f"where: output array has shape {target.shape}, expected {kept.shape}")
        return self._into(home.where(mask, kept.astype(target.dtype), target), target, "where")


local: Masked[Array] = Masked(_local, Array)
distributed: Masked[DNDarray] = Masked(_dist, DNDarray)
