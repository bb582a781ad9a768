# SPDX-License-Identifier: Apache-2.0
"""How strong a penalty is to be, told by the noise: the discrepancy principle of Morozov."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tessera as ts

from .. import ArgumentError
from .._checked import Numbers
from ._finite import finite, inexact

_STEPS = 8
_NEAR = 0.03  # of the residual that is aimed at
TRY = {"maxiter": 20, "rtol": 1e-3}  # of each lambda that is looked at


def noise_level(kspace: Numbers, radius: Numbers) -> float:
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
    squares = []
    for one, other in ((outer[:, ::2], outer[:, 1::2]), (outer[:, 1::2], outer[:, ::2])):
        # The least of several estimates is too small: what one half of the samples chooses, the other measures.
        least = np.linalg.eigh(one @ one.conj().T)[1][:, 0]
        squares.append(float(np.mean(np.abs(least.conj() @ (other if other.size else one)) ** 2)))
    return math.sqrt(sum(squares) / 2)


def check_tellable(who: str, coils: int) -> None:
    """Refuses to take the level of the noise from the samples of one coil, in which the object is everywhere."""
    if coils == 1:
        raise ArgumentError(
            f'{who}: lamda "auto" of one coil, whose samples do not tell noise from the object; give noise, its root '
            "mean square in a sample, or a number as lamda"
        )


def noise_size(who: str, noise: float | None, frames: Sequence[tuple[Any, Any, Any]]) -> float:
    """The length that the noise of all samples has: that of ``noise`` in each, or of what the samples tell, the median
    of frames. Each frame is its samples (coils, ...) as they were measured, where they are (None on a grid), and what
    they are multiplied with."""
    level = noise
    if level is None:
        level = float(np.median([_told_by(who, *frame) for frame in frames]))
    return noise_length(who, level, sum(len(part) * float(np.sum(np.abs(f) ** 2)) for part, _, f in frames))


def noise_length(who: str, level: Any, squares: float) -> float:
    """The length of noise of this root mean square in samples whose factors have this sum of squares."""
    try:
        value = float(level)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise ArgumentError(f"{who}: noise {level!r}; expected its root mean square in a sample, not negative")
    return value * math.sqrt(squares)


def _told_by(who: str, samples: Any, locs: Any, factors: Any) -> float:
    check_tellable(who, len(samples))
    shape, seen = samples.shape[1:], np.abs(factors) > 0
    axes = np.meshgrid(*[np.arange(n) / n - 0.5 for n in shape], indexing="ij", sparse=True)
    squares: Any = sum(axis**2 for axis in axes) if locs is None else np.sum(np.asarray(locs) ** 2, -1)
    return noise_level(samples[:, seen], np.broadcast_to(squares, shape)[seen])


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

    target = size()
    return by_discrepancy(residual, start, target) if start > 0 else 0.0


def damped(who: str, A: Any, data: Any, lamda: Any, size: Callable[[], float], **options: Any) -> tuple[Any, float]:
    """Minimises |A x - y|^2 + lamda |x|^2 by CG; the result, and ``lamda`` as a number."""
    first, start = A.H(data), 0.0

    def solve(value: float, x0: Any, **more: Any) -> Any:
        return ts.solve.cg(A.N if value == 0 else A.N + value * ts.Identity(), first, x0, **more)

    if isinstance(lamda, str):
        start = 0.01 * float(ts.sum(ts.abs2(A(first)))) / max(float(ts.sum(ts.abs2(first))), 1e-300)
    value = chosen(who, lamda, start, size, lambda value, x0: solve(value, x0, **TRY).x, A, data)
    return solve(value, None, **options), value
