# SPDX-License-Identifier: Apache-2.0
"""An object that moves between shots: rigid motions as operators, and the image in its first place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tessera as ts

from .. import ArgumentError, NamedLinop
from .._checked import Numbers
from ._automatic import damped, level_of
from ._finite import finite
from ._measured import as_precise, measured
from ._placing import placed
from ._recipes import Reconstruction, sense_operator


def rigid(
    shape: Sequence[int], angle: float, shift: Sequence[float], *, tol: float = 1e-6, dtype: Any = "complex128"
) -> NamedLinop:
    """Turns an image (Ny, Nx) by ``angle``, from the last axis towards the first, around its middle pixel, and then
    moves it by ``shift`` pixels: the image between pixels is that of its Fourier series. Images of ``dtype`` stay it.

    >>> T = ts.imaging.rigid((16, 16), 0.0, (0.0, 3.0))
    >>> x = np.zeros((16, 16)); x[8, 8] = 1
    >>> divmod(int(np.argmax(np.abs(T(x + 0j).numpy()))), 16)
    (8, 11)
    """
    if len(shape) != 2 or len(shift) != 2 or not np.isfinite([angle, *shift]).all():
        raise ArgumentError(f"rigid: shape {tuple(shape)}, angle {angle}, shift {tuple(shift)}; expected 2 sizes")
    ny, nx = shape
    ky, kx = np.meshgrid(np.arange(ny) - ny // 2, np.arange(nx) - nx // 2, indexing="ij")
    # The transform of the turned image is the turned transform; frequencies are in cycles per pixel for that.
    fy, fx = ky / ny, kx / nx
    c, s = np.cos(angle), np.sin(angle)
    locs = np.stack([(c * fy - s * fx) * ny, (s * fy + c * fx) * nx], -1)
    phase = np.exp(-2j * np.pi * (fy * shift[0] + fx * shift[1]))
    # Where the turned square leaves the square of frequencies there is nothing.
    inside = (np.abs(locs) <= np.array([ny, nx]) / 2).all(-1)
    dims = ("Ny", "Nx")
    there = ts.NUFFT(locs, (ny, nx), ("Ky", "Kx"), dims, batch_shape=(), toeplitz=False, tol=tol, wrap=True)
    back = ts.FFT(2, (), (dims, ("Ky", "Kx")), centered=True).H
    return back @ ts.Diagonal(as_precise(phase * inside, dtype), ("Ky", "Kx")) @ there


def motion_operator(
    maps: Numbers, masks: Numbers, angles: Sequence[float], shifts: Any, *, device: Any = None, budget: Any = None
) -> NamedLinop:
    """From an image (Ny, Nx) in its first place to k-space (coils, Ky, Kx): shot i took the samples of ``masks[i]``
    while the object was turned by ``angles[i]`` and moved by ``shifts[i]`` pixels, see :func:`rigid`; coils stay.

    >>> maps, masks = ts.imaging.Coils(4).maps((16, 16)), np.ones((1, 16, 16))
    >>> print(ts.imaging.motion_operator(maps, masks, [0.1], [(0, 1)]).oshape)
    (C, Ky, Kx)
    """
    sensitivities, taken = np.asarray(maps), np.asarray(masks)
    moves = np.asarray(shifts, float)
    if sensitivities.ndim != 3 or taken.ndim != 3 or taken.shape[1:] != sensitivities.shape[1:]:
        raise ArgumentError(
            f"motion_operator: maps of shape {sensitivities.shape}, masks of {taken.shape}; expected (coils, Ny, Nx) "
            "and (shots, Ny, Nx)"
        )
    if len(angles) != len(taken) or moves.shape != (len(taken), 2):
        raise ArgumentError(
            f"motion_operator: {len(angles)} angles and shifts of shape {moves.shape} for {len(taken)} shots"
        )
    finite("motion_operator", maps=sensitivities, masks=taken, angles=angles, shifts=moves)
    if (np.sum(taken != 0, 0) > 1).any():
        raise ArgumentError("motion_operator: a sample that several shots took; expected masks that do not overlap")
    dtype = np.result_type(sensitivities.dtype, np.complex64)
    parts = []
    for one, angle, move in zip(taken, angles, moves, strict=True):
        sense = sense_operator(sensitivities, mask=one)
        if angle != 0 or move.any():
            turn = rigid(one.shape, angle, move, dtype=dtype)
            sense = sense.rename(dict(zip(turn.ishape, turn.oshape, strict=True))) @ turn
        parts.append(sense)
    whole = parts[0] if len(parts) == 1 else ts.Add(*parts)
    return placed(whole, device=device, budget=budget, dtype=str(dtype))


def motion_sense(
    kspace: Numbers,
    maps: Numbers,
    masks: Numbers,
    angles: Sequence[float],
    shifts: Any,
    *,
    lamda: float | str = 0.0,
    noise: float | None = None,
    maxiter: int = 30,
    rtol: float = 1e-6,
    device: Any = None,
    budget: Any = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """The image of an object that moved between shots: minimises |A x - y|^2 + lamda |x|^2 by CG, A as
    :func:`motion_operator` makes it of motions that are known. ``lamda`` and ``noise`` are those of :func:`sense`.

    >>> maps, truth = ts.imaging.Coils(6).maps((16, 16)), ts.imaging.shepp_logan().image((16, 16))
    >>> masks = np.stack([np.arange(16)[:, None] % 2 == i + np.zeros(16) for i in range(2)])
    >>> A = ts.imaging.motion_operator(maps, masks, [0.0, 0.1], [(0, 0), (1, 0.5)])
    >>> found = ts.imaging.motion_sense(A(truth + 0j), maps, masks, [0.0, 0.1], [(0, 0), (1, 0.5)], maxiter=100)
    >>> ts.imaging.nrmse(found.image, truth) < 0.01
    True
    """
    A = motion_operator(maps, masks, angles, shifts, device=device, budget=budget)
    taken = np.sum(np.asarray(masks), 0)
    data = measured("motion_sense", A, kspace, taken, device=device, budget=budget)
    options: dict[str, Any] = dict(rtol=rtol, maxiter=maxiter, progress=progress, checkpoint=checkpoint)

    def spread() -> Any:
        return level_of("motion_sense", noise, [(ts.asarray(kspace).to("cpu").numpy(), None, taken)]) * np.abs(taken)

    result, value = damped("motion_sense", A, data, lamda, spread, **options)
    return Reconstruction(result.x, A, result, value)
