# SPDX-License-Identifier: Apache-2.0
"""Algorithms over functions of tensors, with the names and order of torch-named-linops.

>>> A = Diagonal(torch.tensor([1.0, 4.0]), ("X",))
>>> alg.conjugate_gradients(A, torch.tensor([1.0, 8.0])).round(decimals=3).tolist()
[1.0, 2.0]

They take anything that can be called; solvers of whole operators, also on several devices and ranks, are ``ts.solve``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import solve as _solve
from ._base import Built, NamedLinop, Tensor, torch

__all__ = ["conjugate_gradients", "polynomial_preconditioner", "power_method", "singular_value_decomposition"]


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a.conj() * b).sum()


def conjugate_gradients(
    A: Callable[[Tensor], Tensor],
    y: Tensor,
    x0: Tensor | None = None,
    max_num_iters: int = 20,
    gtol: float = 1e-3,
    ltol: float = 1e-5,
    disable_tracking: bool = False,
    tqdm_kwargs: Any = None,
) -> Tensor:
    """x with A x = y for a Hermitian, positive A.

    >>> conjugate_gradients(lambda x: 2 * x, torch.ones(2)).tolist()
    [0.5, 0.5]

    Ends when the loss Re(x^H A x - 2 x^H y) changes by less than ``ltol`` and the residual's norm is below ``gtol``,
    unless ``disable_tracking``; both follow from the residual that the method has: A is applied once an iteration. It
    ends too when nothing is left to solve, where a division by zero would follow. No progress bar is shown.
    """
    x = torch.zeros_like(y) if x0 is None else x0.clone()
    r = y - A(x) if x0 is not None else y.clone()
    p, rs, loss = r, _dot(r, r).real, None
    for _ in range(max_num_iters):
        if rs == 0:
            break
        Ap = A(p)
        alpha = rs / _dot(p, Ap)
        x, r = x + alpha * p, r - alpha * Ap
        rs, before = _dot(r, r).real, rs
        if not disable_tracking:
            now = -_dot(x, r + y).real
            if loss is not None and abs(now - loss) < ltol and rs.sqrt() < gtol:
                break
            loss = now
        p = r + (rs / before) * p
    return x


def power_method(
    A: Callable[[Tensor], Tensor],
    v_init: Tensor,
    max_iters: int = 50,
    eps: float = 0.0,
    tol: float = 1e-5,
    dim: Any = None,
    tqdm_kwargs: Any = None,
) -> tuple[Tensor, Tensor]:
    """The eigenvector of the largest eigenvalue and that value's magnitude; along ``dim`` for a batch of matrices.

    >>> v, value = power_method(lambda x: torch.tensor([3.0, 1.0]) * x, torch.ones(2)); round(value.item(), 3)
    3.0
    """
    norm = torch.linalg.vector_norm(v_init, dim=dim, keepdim=True)
    v = v_init / (norm + eps)
    for _ in range(max_iters):
        before = norm
        v = A(v)
        norm = torch.linalg.vector_norm(v, dim=dim, keepdim=True)
        v = v / (norm + eps)
        if ((before - norm).abs() / before.abs()).max() < tol:
            break
    return v, norm.squeeze()


def polynomial_preconditioner(
    T: NamedLinop, degree: int, norm: str = "l_2", lower_eig: float = 0.0, upper_eig: float = 1.0
) -> NamedLinop:
    """A polynomial of T near its inverse on [lower_eig, upper_eig], as an operator.

    >>> T = Diagonal(torch.tensor([0.5, 1.0]), ("X",))
    >>> polynomial_preconditioner(T, 1, "ifista")(torch.ones(2)).tolist()
    [1.5, 1.0]
    """
    if norm not in ("l_2", "l_inf", "ifista"):
        raise ValueError(f"polynomial_preconditioner: norm is 'l_2', 'l_inf' or 'ifista', got {norm!r}")
    return Built(_solve.polynomial_preconditioner(T.linop, degree, norm, lower_eig, upper_eig))


def singular_value_decomposition(
    A: NamedLinop,
    x_init: Tensor,
    num_singular_values: int,
    max_iters: int = 50,
    tol: float = 1e-5,
    eps: float = 0.0,
    dim: Any = None,
    tqdm_kwargs: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest singular values with their vectors, by the power method: U (*output, k), S (k,), Vh (k, *input).

    >>> A = Dense(torch.diag(torch.tensor([3.0, 2.0])), ("M", "N"), ("N",), ("M",))
    >>> singular_value_decomposition(A, torch.tensor([1.0, 0.1]), 1)[1].round(decimals=3).tolist()
    [3.0]

    Vectors that were found are projected out of what follows. ``ts.solve.svd`` and ``randomized_svd`` are faster.
    """
    if dim is not None:
        raise NotImplementedError(
            "singular_value_decomposition: batches (dim) are not offered; torch.linalg.svd takes batches of matrices"
        )
    found: list[Tensor] = []
    values, left = [], []

    def without(x: Tensor) -> Tensor:
        for v in found:
            x = x - v * _dot(v, x)
        return x

    for _ in range(num_singular_values):
        v, value = power_method(lambda x: without(A.N(without(x))), x_init, max_iters, eps, tol)
        sigma = value.sqrt()
        values.append(sigma)
        left.append(A(v) / (sigma + eps))
        found.append(v)
    return torch.stack(left, -1), torch.stack(values), torch.stack(found).conj().resolve_conj()
