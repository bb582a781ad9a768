# SPDX-License-Identifier: Apache-2.0
"""How strong a penalty is to be, told by the noise: the discrepancy principle of Morozov."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tessera as ts

from .. import ArgumentError
from ._finite import finite, inexact

_STEPS = 8
_NEAR = 0.03  # of the residual that is aimed at
TRY = {"maxiter": 20, "rtol": 1e-3}  # of each lambda that is looked at


def noise_level(kspace: Any, radius: Any) -> float:
    """The root mean square of the noise of a complex sample of ``kspace`` (coils, ...), from the outer quarter of
    k-space: that combination of coils which has least is taken to have noise alone, which one coil that sees an object
    has nowhere. ``radius`` says how far from the centre each sample of a coil is.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.standard_normal((4, 64, 64)) + 1j * rng.standard_normal((4, 64, 64))
    >>> far = np.hypot(*np.mgrid[-32:32, -32:32])
    >>> bool(abs(ts.imaging.noise_level(noise, far) / np.sqrt(2) - 1) < 0.05)
    True
    """
    data, far = inexact(kspace), np.asarray(radius)
    if far.shape != data.shape[1:] or far.size == 0:
        raise ArgumentError(f"noise_level: radii of shape {far.shape}; expected {data.shape[1:]}, of a coil's samples")
    finite("noise_level", kspace=data, radius=far)
    outer = data[:, far >= np.quantile(far, 0.75)]
    coils, samples = outer.shape
    least = float(np.linalg.eigvalsh(outer @ outer.conj().T / samples)[0])
    # The least of several estimates is too small: the edge of Marchenko and Pastur's law says by how much.
    edge = max(1 - math.sqrt(coils / samples), 0.5)
    return math.sqrt(max(least, 0.0)) / edge


def check_tellable(who: str, coils: int) -> None:
    """Refuses to take the level of the noise from the samples of one coil, in which the object is everywhere."""
    if coils == 1:
        raise ArgumentError(
            f'{who}: lamda "auto" of one coil, whose samples do not tell noise from the object; give noise, its root '
            "mean square in a sample, or a number as lamda"
        )


def by_discrepancy(residual: Callable[[float], float], start: float, target: float) -> float:
    """The lambda at which ``residual``, the length of what a reconstruction leaves of the data, is ``target``, within
    five decades around ``start``.

    Where data and operator differ by more than the noise (maps that are estimates, an object that ends between pixels),
    no penalty reaches the target: then the residual may exceed that of the smallest lambda by a twentieth.

    >>> round(ts.imaging.by_discrepancy(lambda value: value**0.5, 1.0, 0.1), 3)
    0.01
    """
    if not (start > 0 and target >= 0):
        raise ArgumentError(f"by_discrepancy: start {start}, target {target}; expected > 0 and >= 0")
    low, high = math.log10(start) - 3, math.log10(start) + 2
    aim = max(target, 1.05 * residual(10**low))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        left = residual(10**middle)
        if abs(left - aim) < _NEAR * aim:
            return float(10**middle)
        low, high = (low, middle) if left > aim else (middle, high)
    return float(10 ** ((low + high) / 2))


def strength(who: str, lamda: Any) -> float:
    """The weight of a penalty, a finite number that is not negative."""
    try:
        value = math.nan if isinstance(lamda, str) else float(lamda)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise ArgumentError(f"{who}: lamda {lamda!r}; expected a number that is not negative")
    return value


def chosen(
    who: str, lamda: Any, start: float, size: Callable[[], float], solve: Callable[[float, Any], Any], A: Any, data: Any
) -> float:
    """``lamda`` as a number: itself, or the one that leaves a residual of length ``size()``. ``solve`` makes an image
    of a lambda and of the image that was found before it."""
    if not isinstance(lamda, str):
        return strength(who, lamda)
    if lamda != "auto":
        raise ArgumentError(f'{who}: lamda {lamda!r}; expected a number or "auto"')
    last: list[Any] = [None]

    def residual(value: float) -> float:
        last[0] = solve(value, last[0])
        return float(ts.sqrt(ts.sum(ts.abs2(A(last[0]) - data))))

    return by_discrepancy(residual, start, size()) if start > 0 else 0.0
