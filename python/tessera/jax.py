# SPDX-License-Identifier: Apache-2.0
"""Operators in JAX: a linear primitive, so that jit, grad, jvp, linearize, linear_transpose and vmap know it.

The work is done by the host through a callback of XLA; memory is shared both ways where JAX lets us.

>>> import jax, jax.numpy as jnp
>>> f = ts.jax.wrap(ts.Diagonal(ts.array([1.0, 2.0], "float32"), ("X",)))
>>> jax.jit(jax.grad(lambda x: f(x).sum()))(jnp.ones(2)).tolist()
[1.0, 2.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _tessera as _core
from ._batched import apply_batched, extra_axes, needs

try:
    import jax
    import jax.numpy as jnp
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir
except ImportError as error:
    raise needs("jax", error) from error

__all__ = ["wrap"]

_linop_p = Primitive("tessera_linop")


def _result(x: Any, linop: _core.NamedLinop, batch: int) -> tuple[tuple[int, ...], np.dtype]:
    shape = (*x.shape[:batch], *linop.output_shape(x.shape[batch:]))
    return shape, jax.dtypes.canonicalize_dtype(jnp.dtype(str(linop.output_dtype(str(x.dtype)))))


def _run(x: Any, linop: _core.NamedLinop, batch: int, conjugated: bool) -> np.ndarray:
    """y = A x, or the conjugate of A with the conjugate of x."""
    x = np.asarray(x)
    _, dtype = _result(x, linop, batch)
    y = apply_batched(linop, _core.asarray(np.conj(x) if conjugated else x), batch).numpy()
    return (np.conj(y) if conjugated else y).astype(dtype, copy=False)


@_linop_p.def_impl
def _eager(x: Any, *, linop: _core.NamedLinop, batch: int, conjugated: bool) -> jax.Array:
    return jnp.asarray(_run(x, linop, batch, conjugated))


@_linop_p.def_abstract_eval
def _abstract(x: Any, *, linop: _core.NamedLinop, batch: int, conjugated: bool) -> Any:
    return jax.core.ShapedArray(*_result(x, linop, batch))


def _transposed(g: Any, x: Any, *, linop: _core.NamedLinop, batch: int, conjugated: bool) -> list[Any]:
    """JAX transposes where others take adjoints: the transpose is the conjugate of A.H."""
    if type(g) is ad.Zero:
        return [ad.Zero(x.aval)]
    y = _linop_p.bind(g, linop=linop.H, batch=batch, conjugated=not conjugated)
    dtype = x.aval.dtype
    if jnp.iscomplexobj(y) and not jnp.issubdtype(dtype, jnp.complexfloating):
        y = y.real
    return [y.astype(dtype)]


def _vectorized(args: Any, dims: Any, *, linop: _core.NamedLinop, batch: int, conjugated: bool) -> Any:
    x = jnp.moveaxis(args[0], dims[0], 0)
    return _linop_p.bind(x, linop=linop, batch=batch + 1, conjugated=conjugated), 0


def _staged(x: Any, *, linop: _core.NamedLinop, batch: int, conjugated: bool) -> Any:
    result = jax.ShapeDtypeStruct(*_result(x, linop, batch))
    return jax.pure_callback(lambda a: _run(a, linop, batch, conjugated), result, x)


ad.deflinear2(_linop_p, _transposed)
batching.primitive_batchers[_linop_p] = _vectorized
mlir.register_lowering(_linop_p, mlir.lower_fun(_staged, multiple_results=False))


def wrap(A: _core.NamedLinop) -> Callable[[Any], jax.Array]:
    """The operator as a function of JAX arrays; axes before those that A names are a batch.

    >>> f = ts.jax.wrap(ts.FFT(1)); jax.vmap(f)(jnp.ones((3, 4))).shape
    (3, 4)
    """
    if not isinstance(A, _core.NamedLinop):
        raise _core.DTypeError(f"ts.jax.wrap: expected an operator, got {type(A).__name__}")

    def apply(x: Any) -> jax.Array:
        x = jnp.asarray(x)
        return _linop_p.bind(x, linop=A, batch=extra_axes(A, x.ndim), conjugated=False)

    apply.__name__, apply.__doc__ = A.kind, f"{A} on arrays of JAX."
    return apply
