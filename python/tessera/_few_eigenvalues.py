# SPDX-License-Identifier: Apache-2.0
"""What :func:`tessera.linalg.eigs` does for each kind of matrix: in memory, packed, on disk, or an operator."""

from __future__ import annotations

from typing import Any

from ._matrix import AnyMatrix
from ._stored_spectra import as_operator
from ._tessera import (
    Array,
    BackendError,
    Dense,
    Matrix,
    NamedLinop,
    SimpleLinop,
    StoredArray,
    StoredMatrix,
    _as_working,
    _eigs,
    _lu_factor,
    zeros,
)


def few_eigenvalues(
    A: Any, options: Any, k: int, which: str, ncv: int, block: int, shape: Any, dtype: Any, device: Any, seed: int
) -> tuple[Array, Array]:
    """Values and vectors; a BackendError when they have not converged."""
    if isinstance(A, StoredArray | StoredMatrix):
        if which == "SM":
            raise BackendError(
                "eigs: of a stored matrix there are no smallest values; give the operator of its inverse"
            )
        A, shape, dtype = as_operator(A, "eigs")
    inverted = which == "SM" and not isinstance(A, NamedLinop)
    if isinstance(A, AnyMatrix) and not inverted:
        device = A.device if device is None else device
        dtype = _as_working(zeros(0, dtype=A.dtype)).dtype if dtype is None else dtype
        shape = A.shape[1:] if shape is None else shape
        A = Matrix(A)
    elif not isinstance(A, NamedLinop):
        matrix = _as_working(A)
        device = matrix.device if device is None else device
        dtype = matrix.dtype if dtype is None else dtype
        A = Dense(matrix)
        if inverted:
            factored = _lu_factor(matrix)
            names = ("...", "N")  # vectors of a block lie one above the other
            A = SimpleLinop(
                lambda x: factored.solve(x.T).T, lambda y: factored.solve(y.T, "C").T, None, names, name="inverse"
            )
            shape = matrix.shape[-1:] if shape is None else shape
    result = _eigs(A, options, k, "LM" if inverted else which, ncv, block, shape, dtype, device, seed)
    if not result.converged:
        raise BackendError(
            f"eigs: {k} eigenvalues ({which}) have not converged after {result.iterations} applications; "
            f"the largest residual is {result.history[-1]:.2g} of the largest value; raise maxiter or ncv"
        )
    values = result.eigenvalues
    return 1 / values if inverted else values, result.eigenvectors
