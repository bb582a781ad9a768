# SPDX-License-Identifier: Apache-2.0
"""Total generalised variation of second order: images that are piecewise linear, without stairs."""

from __future__ import annotations

from typing import Any

import numpy as np

import tessera as ts

from .. import ArgumentError, NamedLinop
from .._checked import Numbers
from ._automatic import TRY, strength
from ._recipes import Reconstruction, _Problem


def tgv_terms(A: NamedLinop, lamda: float, ratio: float = 2.0) -> tuple[list[NamedLinop], list[Any]]:
    """Operators and proximal maps of the terms |A x - y|^2 / 2 + lamda |grad x - w|_1 + ratio lamda |E w|_1 for
    ``ts.solve.pdhg``. Its unknown is x with the field w behind it, along a new first dim; E is the symmetric gradient.

    >>> A = ts.Identity(("Ny", "Nx"))
    >>> operators, maps = ts.imaging.tgv_terms(A, 0.1)
    >>> [str(K.oshape) for K in operators], len(maps)
    (['(Ny, Nx)', '(D, Ny1, Nx1)', '(D2, D1, Ny1, Nx1)'], 3)
    """
    weight = strength("tgv_terms", lamda)
    if not ratio > 0:
        raise ArgumentError(f"tgv_terms: ratio {ratio}; expected a number > 0")
    dims = tuple(str(dim) for dim in A.ishape)
    n = len(dims)
    whole = ("P", *dims)
    unit = np.eye(n + 1, dtype=np.float32)  # exact, and data of single precision stay it
    image = ts.Dense(unit[0], ("P",), whole, dims)
    field = ts.Dense(unit[1:], ("D", "P"), whole, ("D", *dims))
    gradient = ts.Gradient(dims, dims, edge="replicate") @ image
    out = tuple(str(dim) for dim in gradient.oshape)
    same = ts.Roll(dict.fromkeys(dims, 0), ("D", *dims), ("D", *out[1:]))
    jacobian = ts.Gradient(dims, ("D", *dims), ("D1", "D", *out[1:]), edge="replicate") @ field
    # (J + J^T) / 2 of the two directions.
    halves = np.einsum("ac,bd->abcd", unit[1:, 1:], unit[1:, 1:])
    symmetric = ts.Dense(
        (halves + halves.transpose(1, 0, 2, 3)) / 2,
        ("D2", "D1", "D3", "D"),
        ("D3", "D", *out[1:]),
        ("D2", "D1", *out[1:]),
    )
    strain = symmetric @ jacobian.rename({"D1": "D3"})
    prox = ts.solve.prox
    maps = [None, prox.group(weight, axes=0), prox.group(ratio * weight, axes=(0, 1))]
    return [A @ image, gradient - same @ field, strain], maps


def tgv(
    kspace: Numbers,
    maps: Numbers,
    *,
    lamda: float | str,
    ratio: float = 2.0,
    locs: Numbers = None,
    mask: Numbers = None,
    weights: Numbers = None,
    field_map: Any = None,
    times: Any = None,
    noise: float | None = None,
    maxiter: int = 300,
    rtol: float = 1e-5,
    device: Any = None,
    budget: Any = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """Minimises |A x - y|^2 / 2 + lamda TGV(x) by the method of Chambolle and Pock; ``ratio`` is that of the second
    derivatives to the first. Other arguments are those of :func:`sense`.

    >>> maps, truth = ts.imaging.Coils(6).maps((32, 32)), ts.imaging.shepp_logan().image((32, 32))
    >>> mask = ts.imaging.poisson_disc((32, 32), 3, calibration=8)
    >>> kspace = ts.imaging.sense_operator(maps)(truth)
    >>> found = ts.imaging.tgv(kspace, maps, mask=mask, lamda=1e-3)
    >>> ts.imaging.nrmse(found.image, truth) < 0.08
    True
    """
    encoding = dict(locs=locs, mask=mask, weights=weights, field_map=field_map, times=times)
    encoding |= dict(device=device, budget=budget, ranks=False)
    problem = _Problem("tgv", kspace, maps, noise, encoding)
    A = problem.A

    def solve(value: float, y: Any, x0: Any, **options: Any) -> Any:
        operators, prox = tgv_terms(A, value, ratio)
        place = "cpu" if problem.on_disk else str(problem.data.device)
        if place != "cpu":  # the matrices of the terms live where the images do
            operators = [K.to(place) for K in operators]
        return ts.solve.pdhg(operators, [y, None, None], prox, x0=x0, **options)

    tried: dict[str, Any] = {**TRY, "maxiter": 5 * TRY["maxiter"]}
    with problem.room():
        start = 0.01 * float(ts.max(ts.abs(A.H(problem.data)))) if isinstance(lamda, str) else 0.0
        value = problem.choose(lamda, start, lambda value, y, x0: solve(value, y, x0, **tried).x, lambda x: A(x[0]))
        result = solve(value, problem.data, None, rtol=rtol, maxiter=maxiter, progress=progress, checkpoint=checkpoint)
        return Reconstruction(problem.kept(result.x[0]), A, result, value)
