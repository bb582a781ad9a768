# SPDX-License-Identifier: Apache-2.0
"""Reductions of arrays on disk with the arguments that those of memory take, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from . import _tessera as _core
from ._checked import axes_of
from ._dtypes import iinfo
from ._stored_twins import refused
from ._tessera import StoredArray

_Axes = int | Sequence[int] | None


def into(result: Any, out: Any, who: str) -> Any:
    """The result, written into `out` where there is one: an array in memory or on disk, of NumPy too.

    Within a plan nothing is written: arrays on disk see to it themselves.
    """
    if out is None:
        return result
    if tuple(getattr(out, "shape", ())) != tuple(result.shape):
        raise _core.ShapeError(f"{who}: out has shape {getattr(out, 'shape', None)}, expected {result.shape}")
    if isinstance(out, StoredArray) or not _core._stored_planning():
        out[...] = result if isinstance(out, StoredArray | _core.Array) else result[...].numpy()
    return out


def _plain(who: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise _core.ArgumentError(f"{who}: an array on disk is reduced without {name}")


def _reduced(which: str, x: StoredArray, axis: _Axes, keepdims: bool) -> _core.Array:
    return _core._stored_reduce(which, x, axis, keepdims)


def _summing(which: str) -> Callable[..., Any]:
    def reduction(
        x: StoredArray,
        axis: _Axes = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        _plain(which, initial=initial, where=where)
        x = x if dtype is None else x._as(dtype)
        found = _reduced(which, x, axis, keepdims)
        return into(found if dtype is None else found.astype(dtype), out, which)

    reduction.__name__ = which
    return reduction


def _extreme(which: str) -> Callable[..., Any]:
    def reduction(
        x: StoredArray,
        axis: _Axes = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        _plain(which, initial=initial, where=where)
        return into(_reduced(which, x, axis, keepdims), out, which)

    reduction.__name__ = which
    return reduction


def _working(x: StoredArray, dtype: Any) -> tuple[StoredArray, Any]:
    """What deviations are computed in, and the dtype of the result."""
    x = x if dtype is None else x._as(dtype)
    result = _core.mean(_core.zeros(1, dtype=x.dtype)).dtype
    short = str(result) in ("float16", "bfloat16")
    return x._as("float32" if short else result), _core.zeros(1, dtype=result).real.dtype


def var(
    x: StoredArray,
    axis: _Axes = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    correction: float | None = None,
) -> Any:
    """Two passes: one finds the mean, one the squares of what is beside it."""
    return _variance("var", x, axis, dtype, out, ddof if correction is None else correction, keepdims, where)


def std(
    x: StoredArray,
    axis: _Axes = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    correction: float | None = None,
) -> Any:
    return _variance("std", x, axis, dtype, out, ddof if correction is None else correction, keepdims, where)


def _variance(
    who: str, x: StoredArray, axis: _Axes, dtype: Any, out: Any, ddof: float, keepdims: bool, where: Any
) -> Any:
    _plain(who, where=where)
    x, result = _working(x, dtype)
    beside = _core._stored_apply("subtract", x, _reduced("mean", x, axis, True))
    squares = _core._stored_apply("square", _core._stored_apply("absolute", beside))
    sums = _reduced("sum", squares, axis, keepdims)
    count = x.size / sums.size if sums.size else 0.0
    found = sums / max(count - ddof, 0.0)
    return into((_core.sqrt(found) if who == "std" else found).astype(result), out, who)


def count_nonzero(x: StoredArray, axis: _Axes = None, keepdims: bool = False) -> _core.Array:
    return _reduced("sum", _core._stored_apply("not_equal", x, 0), axis, keepdims)


def any_(x: StoredArray, axis: _Axes = None, out: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    _plain("any", where=where)
    return into(count_nonzero(x, axis, keepdims) > 0, out, "any")


def all_(x: StoredArray, axis: _Axes = None, out: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    _plain("all", where=where)
    zeros = _reduced("sum", _core._stored_apply("equal", x, 0), axis, keepdims)
    return into(zeros == 0, out, "all")


def clip(x: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:  # noqa: A002  (as the function in memory)
    """Within bounds, of which either may be on disk; a formula."""
    if getattr(x, "dtype", _core.float64).kind in "iu":  # what no number of the dtype is beyond asks for nothing
        limits = iinfo(x.dtype)
        min = None if isinstance(min, int) and min <= limits.min else min  # noqa: A001
        max = None if isinstance(max, int) and max >= limits.max else max  # noqa: A001
    found = x if min is None else _core._stored_apply("maximum", x, min)
    return into(found if max is None else _core._stored_apply("minimum", found, max), out, "clip")


def round_(x: StoredArray, decimals: int = 0, out: Any = None) -> Any:
    """A formula; integers are what they were."""
    if x.dtype.kind == "c":
        raise refused("round", x)
    if x.dtype.kind not in "fc" and decimals >= 0:
        return into(x, out, "round")
    found = _core._stored_apply("rint", x) if decimals == 0 else _decimals(x, 10.0 ** abs(decimals), decimals > 0)
    return into(found, out, "round")


def _decimals(x: StoredArray, scale: float, behind: bool) -> StoredArray:
    away, back = ("multiply", "divide") if behind else ("divide", "multiply")
    near = _core._stored_apply("rint", _core._stored_apply(away, x, scale))
    return _core._stored_apply(back, near, scale)._as(x.dtype)


def euclidean(x: StoredArray, axis: _Axes = None, keepdims: bool = False) -> _core.Array:
    return _reduced("norm", _working(x, None)[0], axis, keepdims)


def norm(x: StoredArray, ord: Any = None, axis: _Axes = None, keepdims: bool = False) -> Any:  # noqa: A002
    """Of vectors (one axis) or matrices (two), as ts.linalg.norm."""
    axes = [a % x.ndim if -x.ndim <= a < x.ndim else a for a in axes_of(axis, x.ndim)]
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return euclidean(x, axis, keepdims)
    size = _core._stored_apply("absolute", _working(x, None)[0])
    if len(axes) == 1 and not isinstance(ord, str):
        return _vector_norm(size, float(ord), axes[0], keepdims)
    if len(axes) == 2 and ord in (1, -1, math.inf, -math.inf):
        summed, other = axes if abs(ord) == 1 else axes[::-1]
        sums = _reduced("sum", size, summed, True)
        found = (_core.max if ord > 0 else _core.min)(sums, axis=other, keepdims=True)
        kept = [1 if a in axes else n for a, n in enumerate(x.shape)] if keepdims else None
        return found.reshape([n for a, n in enumerate(x.shape) if a not in axes] if kept is None else kept)
    if len(axes) == 2 and x.ndim == 2 and axes == [0, 1] and ord in (2, -2, "nuc"):
        values = _core._stored_svdvals(x.transpose() if x.shape[0] < x.shape[1] else x)
        found = _core.sum(values) if ord == "nuc" else (_core.max if ord > 0 else _core.min)(values)
        return found.reshape(1, 1) if keepdims else found
    raise _core.ArgumentError(f"norm: of an array on disk along {len(axes)} axes there is no norm {ord!r}")


def _vector_norm(size: StoredArray, order: float, axis: int, keepdims: bool) -> Any:
    if math.isinf(order):
        return _reduced("max" if order > 0 else "min", size, axis, keepdims)
    if order == 0:
        return count_nonzero(size, axis, keepdims).astype(size.dtype)
    return _reduced("sum", _core._stored_apply("power", size, order), axis, keepdims) ** (1 / order)


functions: dict[str, Callable[..., Any]] = {name: _summing(name) for name in ("sum", "mean")}
functions |= {name: _extreme(name) for name in ("min", "max")}
functions |= {"amin": functions["min"], "amax": functions["max"], "std": std, "var": var, "any": any_, "all": all_}
functions |= {"count_nonzero": count_nonzero, "clip": clip, "round": round_, "norm": euclidean, "_norm": norm}
