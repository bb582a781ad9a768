# SPDX-License-Identifier: Apache-2.0
"""Slices that are excited at once, told apart by their coils and by shifts of the field of view (CAIPIRINHA)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tessera as ts

from .. import ArgumentError, NamedLinop
from .._checked import Numbers
from ._automatic import damped, level_of
from ._finite import finite
from ._measured import measured
from ._placing import placed
from ._recipes import Reconstruction


def multislice_operator(
    maps: Numbers,
    *,
    shifts: Sequence[float] | None = None,
    mask: Numbers = None,
    device: Any = None,
    budget: Any = None,
) -> NamedLinop:
    """From slices (S, Ny, Nx) to the one k-space (coils, Ky, Kx) that holds them all; ``maps`` are (S, coils, Ny, Nx).
    Slice i appears moved by ``shifts[i]`` of the field of view along the first axis, by default by i / S.

    >>> maps = np.stack([ts.imaging.Coils(4).maps((16, 16))] * 2)
    >>> A = ts.imaging.multislice_operator(maps)
    >>> print(A.ishape, A.oshape)
    (S, Ny, Nx) (C, Ky, Kx)
    """
    sensitivities = np.asarray(maps)
    if sensitivities.ndim != 4:
        raise ArgumentError(
            f"multislice_operator: maps of shape {sensitivities.shape}; expected (slices, coils, Ny, Nx)"
        )
    finite("multislice_operator", maps=sensitivities, shifts=shifts, mask=mask)
    slices, coils, ny, nx = sensitivities.shape
    moved = np.arange(slices) / slices if shifts is None else np.asarray(shifts, float)
    if moved.shape != (slices,):
        raise ArgumentError(f"multislice_operator: {moved.size} shifts for {slices} slices")
    dtype = np.result_type(sensitivities.dtype, np.complex64)
    phases = np.exp(-2j * np.pi * moved[:, None] * (np.arange(ny) - ny // 2)).astype(dtype)
    image, kspace = ("Ny", "Nx"), ("Ky", "Kx")
    repeat = ts.Repeat({"C": coils}, ("S", *image), ("S", "C", *image))
    sense = ts.Diagonal(sensitivities, ("S", "C", *image)) @ repeat
    encode = ts.FFT(2, ("S", "C"), (image, kspace), centered=True)
    wave = np.broadcast_to(phases[:, None, :, None], (slices, 1, ny, 1))
    modulate = ts.Diagonal(wave, ("S", "C", *kspace), broadcast_dims=("C", "Kx"))
    chain = ts.SumReduce(("S", "C", *kspace), ("C", *kspace), {"S": slices}) @ modulate @ encode @ sense
    if mask is not None:
        kept = np.asarray(mask)
        if kept.shape != (ny, nx):
            raise ArgumentError(f"multislice_operator: mask of shape {kept.shape}; expected {(ny, nx)}")
        chain = ts.Diagonal(kept[None].astype(phases.real.dtype), ("C", *kspace), broadcast_dims=("C",)) @ chain
    return placed(chain, device=device, budget=budget, dtype=str(dtype))


def multislice(
    kspace: Numbers,
    maps: Numbers,
    *,
    shifts: Sequence[float] | None = None,
    mask: Numbers = None,
    lamda: float | str = 0.0,
    noise: float | None = None,
    maxiter: int = 50,
    rtol: float = 1e-6,
    device: Any = None,
    budget: Any = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """Slices (S, Ny, Nx) from one k-space (coils, Ky, Kx): minimises |A x - y|^2 + lamda |x|^2 by CG, A as
    :func:`multislice_operator` makes it. ``lamda`` and ``noise`` are those of :func:`sense`.

    >>> maps = ts.imaging.Coils(8).maps((16, 16))
    >>> maps = np.stack([maps, np.roll(maps, 1, 0)])
    >>> truth = np.stack([ts.imaging.shepp_logan().image((16, 16)), np.ones((16, 16))])
    >>> kspace = ts.imaging.multislice_operator(maps)(truth + 0j)
    >>> found = ts.imaging.multislice(kspace, maps, maxiter=200, rtol=1e-8)
    >>> ts.imaging.nrmse(found.image, truth) < 1e-3
    True
    """
    A = multislice_operator(maps, shifts=shifts, mask=mask, device=device, budget=budget)
    data = measured("multislice", A, kspace, mask, device=device, budget=budget)
    options: dict[str, Any] = dict(rtol=rtol, maxiter=maxiter, progress=progress, checkpoint=checkpoint)

    def spread() -> Any:
        factors = np.ones(tuple(data.shape[1:])) if mask is None else np.asarray(mask)
        return level_of("multislice", noise, [(ts.asarray(kspace).to("cpu").numpy(), None, factors)]) * np.abs(factors)

    result, value = damped("multislice", A, data, lamda, spread, **options)
    return Reconstruction(result.x, A, result, value)
