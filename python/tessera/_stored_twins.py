# SPDX-License-Identifier: Apache-2.0
"""Which function takes arrays on disk where one of ts did not, and what is said where none does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import _tessera as _core
from ._tessera import StoredArray, StoredMatrix

# Functions of whole arrays that there are in memory alone.
_in_memory = (
    "abs2 argmax argmin argsort array_split broadcast_to column_stack compress concatenate conj_multiply cumprod cumsum"
)
_in_memory += " diag diagonal diff dot einsum expand_dims extract flip hstack median moveaxis multiply_add nonzero pad"
_in_memory += " percentile prod put put_along_axis quantile ravel repeat reshape roll searchsorted split squeeze stack"
_in_memory += " swapaxes take take_along_axis tile topk tril triu unique vdot vstack"
_hidden = {"_det": "det", "_slogdet": "slogdet", "_eig": "eig", "_eigh": "eigh", "_eigvals": "eigvals"}
_hidden |= {"_eigvalsh": "eigvalsh", "_eig_pair": "eig", "_solve_banded": "solve_banded", "_svd": "svd"}
_hidden |= {"_solveh_banded": "solveh_banded", "_cholesky_factor": "cholesky"}

# Of matrices of a form a copy with all of its numbers is what these work on.
_of_dense = {"_cholesky", "_inverse", "_solve", "_solve_triangular", "_qr", "_svd_of", "_svdvals", "_lstsq", "_pinv"}
_of_dense |= {"_norm", "norm"}


def refused(who: str, x: Any) -> Exception:
    if isinstance(x, StoredMatrix):
        return _core.DTypeError(f"{who}: a matrix of the form {x.form} on disk; x[:, :] brings it to memory")
    return _core.DTypeError(f"{who}: an array on disk; x[...] brings it to memory")


def _first(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return next(v for v in (*args, *options.values()) if isinstance(v, StoredArray | StoredMatrix))


def _refusing(who: str) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        raise refused(who, _first(args, options))

    return call


def _asked_for(otherwise: str) -> str:
    """The function of ours that was called and asked for an array in memory."""
    frame, found = sys._getframe(2), otherwise
    while frame is not None and frame.f_globals.get("__name__", "").startswith("tessera."):
        name = frame.f_code.co_name
        found = found if name.startswith(("_", "<")) else name
        frame = frame.f_back  # type: ignore[assignment]
    return found


def _converting(name: str) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        raise refused(_asked_for(name), _first(args, options))

    return call


def _alone(x: Any) -> Any:
    """An array on disk is of one rank already; what it is given to then has a twin, or refuses by its own name."""
    return x


def dense(m: StoredMatrix) -> StoredArray:
    """A copy in the backing folder with all numbers of a matrix of a form, some rows at a time."""
    rows, columns = m.shape
    out = _core._stored_create((rows, columns), m.dtype, "")
    of_row = max(1, columns * _core.empty(0, m.dtype).itemsize)
    step = max(1, min(_core._memory_left("cpu") // 8, 32 << 20) // of_row)
    for top in range(0, rows, step):
        out[top : top + step] = _core.asarray(m[top : top + step])
    return out


def _with_forms(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same of matrices of a form too."""

    def call(*args: Any, **options: Any) -> Any:
        given = _first(args, options)
        if not any(isinstance(v, StoredMatrix) for v in (*args, *options.values())):
            return function(*args, **options)
        if name == "sum" and isinstance(args[0], StoredMatrix):
            return args[0].sum(*args[1:], **options)
        if name not in _of_dense:
            raise refused(name.lstrip("_"), given)
        args = tuple(dense(v) if isinstance(v, StoredMatrix) else v for v in args)
        return function(*args, **{k: dense(v) if isinstance(v, StoredMatrix) else v for k, v in options.items()})

    return call


def complete(functions: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """With those that refuse by their name."""
    takes_forms = {"matmul"}
    found: dict[str, Callable[..., Any]] = {name: _refusing(name) for name in _in_memory.split()}
    found |= {name: _refusing(told) for name, told in _hidden.items()}
    found |= {name: _converting(name) for name in ("array", "asarray")} | {"_alone": _alone}
    return found | {n: f if n in takes_forms else _with_forms(n, f) for n, f in functions.items()}
