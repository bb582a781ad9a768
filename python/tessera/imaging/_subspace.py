# SPDX-License-Identifier: Apache-2.0
"""Images over time as few coefficients: the time courses of all pixels are combinations of a basis (T2 shuffling)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError, NamedLinop
from .._checked import Numbers
from ._automatic import TRY, chosen, damped, level_of, strength
from ._dynamic import largest_of_blocks
from ._finite import finite
from ._measured import as_precise, measured
from ._placing import placed
from ._recipes import Reconstruction, sense_operator


def subspace_basis(signals: Numbers, rank: int) -> npt.NDArray[Any]:
    """Orthonormal columns (times, rank) that hold most of ``signals`` (times, examples).

    >>> times = np.arange(1, 9)
    >>> basis = ts.imaging.subspace_basis(np.exp(-times[:, None] / np.linspace(2, 20, 50)), 2)
    >>> basis.shape, bool(np.allclose(basis.T @ basis, np.eye(2)))
    ((8, 2), True)
    """
    all_signals = np.asarray(signals)
    if all_signals.ndim != 2 or not 1 <= rank <= min(all_signals.shape):
        raise ArgumentError(f"subspace_basis: signals of shape {all_signals.shape} to rank {rank}")
    finite("subspace_basis", signals=all_signals)
    return np.linalg.svd(all_signals, full_matrices=False)[0][:, :rank]


def subspace_operator(
    maps: Numbers,
    basis: Numbers,
    *,
    locs: Numbers = None,
    mask: Numbers = None,
    toeplitz: bool | None = None,
    device: Any = None,
    budget: Any = None,
) -> NamedLinop:
    """From images of coefficients (B, *shape) to the k-space of all coils at all times: ``basis`` is (times, B), and
    ``mask`` (times, *shape) or ``locs`` (times, ..., ndim) tell what is measured at each. With ``toeplitz`` the
    coefficients are transformed to the samples of all times, and the normal is a matrix between them at each frequency
    of a doubled grid, without the samples; without it images are made at each time, which is then transformed alone;
    when not given the former where that is less work.

    >>> maps, masks = ts.imaging.Coils(4).maps((16, 16)), np.ones((5, 16, 16))
    >>> A = ts.imaging.subspace_operator(maps, np.eye(5)[:, :2], mask=masks)
    >>> print(A.ishape, A.oshape)
    (B, Ny, Nx) (T, C, Ky, Kx)
    """
    sensitivities, courses = np.asarray(maps), np.asarray(basis)
    given, name = (mask, "mask") if locs is None else (locs, "locs")
    if (mask is None) == (locs is None):
        raise ArgumentError("subspace_operator: expected a mask or locs, one of them")
    times = np.asarray(given)
    if courses.ndim != 2 or len(times) != len(courses):
        raise ArgumentError(
            f"subspace_operator: a basis of shape {courses.shape} beside {name} of {len(times)} times; "
            "expected (times, rank)"
        )
    finite("subspace_operator", maps=sensitivities, basis=courses, **{name: times})
    one = sense_operator(sensitivities, locs=None if locs is None else times[0])
    dims, kdims = tuple(map(str, one.ishape)), tuple(map(str, one.oshape))
    dtype = np.result_type(sensitivities.dtype, np.complex64)
    courses = as_precise(courses, dtype)  # in the precision of the maps, as masks
    coils, batch = len(sensitivities), ("B", "C")
    repeat = ts.Repeat({"C": coils}, ("B", *dims), ("B", "C", *dims))
    sense = ts.Diagonal(sensitivities[None], ("B", "C", *dims), broadcast_dims=("B",)) @ repeat
    # Two transforms of a doubled grid for each coefficient, or two of a grid about as large as the image for each time.
    rank, doubled = courses.shape[1], 2 ** len(dims)
    fits = rank**2 * doubled * sensitivities[0].size <= 2**28  # numbers at all frequencies
    together = (fits and rank * doubled <= len(courses)) if toeplitz is None else toeplitz
    if locs is not None and together:
        points, names = np.asarray(times), ("T", *kdims[1:])
        options: dict[str, Any] = dict(toeplitz=True, tol=1e-4, wrap=True)
        encode: NamedLinop = ts.NUFFT(points, sensitivities.shape[1:], names, dims, batch_shape=batch, **options)
        chain: NamedLinop = ts.Dense(courses, ("T", "B"), (*batch, *names), ("T", *kdims)) @ encode @ sense
    elif locs is not None:
        mix = [ts.Dense(row, ("B",), ("B", *dims), dims) for row in courses]
        parts = [sense_operator(sensitivities, locs=points) @ part for points, part in zip(times, mix, strict=True)]
        chain = ts.Stack(*parts, odim_and_idx=("T", 0))
    else:
        if times.shape[1:] != sensitivities.shape[1:]:
            raise ArgumentError(
                f"subspace_operator: mask of shape {times.shape}; expected (times, *{sensitivities.shape[1:]})"
            )
        # Few coefficients are transformed, not many times: masks stand behind the basis.
        encode = ts.FFT(len(dims), batch, (dims, kdims[1:]), centered=True)
        over_time = ts.Dense(courses, ("T", "B"), ("B", *kdims), ("T", *kdims))
        kept = ts.Diagonal(as_precise(times[:, None], dtype), ("T", *kdims), broadcast_dims=("C",))
        chain = kept @ over_time @ encode @ sense
    return placed(chain, device=device, budget=budget, dtype=str(dtype))


def subspace(
    kspace: Numbers,
    maps: Numbers,
    basis: Numbers,
    *,
    lamda: float | str = 0.0,
    locs: Numbers = None,
    mask: Numbers = None,
    block: int | None = 8,
    noise: float | None = None,
    maxiter: int = 50,
    rtol: float = 1e-5,
    seed: int = 0,
    device: Any = None,
    budget: Any = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """Images of coefficients (B, *shape) from samples (times, coils, ...): minimises |A x - y|^2 / 2 + lamda times the
    nuclear norms of blocks of ``block`` pixels, at random places, by FISTA; with ``lamda`` 0 |A x - y|^2 by CG.
    ``np.tensordot(basis, image, 1)`` are the images at all times. ``lamda="auto"`` and ``noise`` are those of
    :func:`sense`.

    >>> maps, truth = ts.imaging.Coils(6).maps((16, 16)), ts.imaging.shepp_logan().image((16, 16))
    >>> basis = ts.imaging.subspace_basis(np.exp(-np.arange(6)[:, None] / np.linspace(2, 9, 20)), 2)
    >>> masks = np.stack([ts.imaging.poisson_disc((16, 16), 3, calibration=6, seed=i) for i in range(6)])
    >>> coefficients = np.stack([truth, 0.2 * truth])
    >>> kspace = ts.imaging.subspace_operator(maps, basis, mask=masks)(coefficients + 0j)
    >>> found = ts.imaging.subspace(kspace, maps, basis, mask=masks, maxiter=200)
    >>> ts.imaging.nrmse(found.image, coefficients) < 0.01
    True
    """
    A = subspace_operator(maps, basis, locs=locs, mask=mask, device=device, budget=budget)
    taken = None if mask is None else np.asarray(mask)[:, None]
    data = measured("subspace", A, kspace, taken, device=device, budget=budget)
    options: dict[str, Any] = dict(rtol=rtol, maxiter=maxiter, progress=progress, checkpoint=checkpoint)

    def spread() -> Any:
        samples, ones = ts.asarray(kspace).to("cpu").numpy(), np.ones(tuple(data.shape[2:]))
        each = [(part, None if locs is None else np.asarray(locs)[t], ones) for t, part in enumerate(samples)]
        if mask is not None:
            each = [(part, None, one) for part, one in zip(samples, np.asarray(mask), strict=True)]
        level = level_of("subspace", noise, each)
        return level if taken is None else level * np.abs(taken)

    if not isinstance(lamda, str) and strength("subspace", lamda) == 0:
        result, value = damped("subspace", A, data, lamda, spread, **options)
        return Reconstruction(result.x, A, result, value)

    def solve(value: float, y: Any, x0: Any, **more: Any) -> Any:
        return ts.solve.fista(A, y, ts.solve.prox.low_rank(value, block, seed=seed), x0, **more)

    first = A.H(data).to("cpu").numpy() if isinstance(lamda, str) else np.zeros((1, 1))
    start = 0.01 * largest_of_blocks(first, block or max(first.shape))
    value = chosen("subspace", lamda, start, spread, lambda *given: solve(*given, **TRY).x, A, data)
    result = solve(value, data, None, **options)
    return Reconstruction(result.x, A, result, value)
