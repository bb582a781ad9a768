# SPDX-License-Identifier: Apache-2.0
"""How strong a penalty is to be, told by the noise: the least unbiased estimate of the risk (SURE, of Stein)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tessera as ts

from .. import ArgumentError
from .._checked import Numbers
from ._finite import finite, inexact
from ._placing import is_stored

_DECADES = (1, 0, -1, -2, -3)  # of lambda around a first guess that are looked at, strong ones first
_HALVES = (0.5, 0.25)  # of a decade, to both sides of the best
_MOVED = 0.1  # of the noise: how far the samples are moved to see how much of it an image takes up
_SAMPLES = 1 << 14  # of a coil, that tell the noise where they are on disk
_SEED = 60_221_407  # of the noise that moves them: one that nobody has drawn the noise of an example with
TRY = {"maxiter": 20, "rtol": 1e-6}  # of each lambda that is looked at: as exact as what moved samples change is small


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


def level_of(who: str, noise: float | None, frames: Sequence[tuple[Any, Any, Any]]) -> float:
    """The root mean square of the noise of a sample: ``noise``, or what the samples tell, the median of frames. Each
    frame is its samples (coils, ...) as they were measured, where they are (None on a grid), and what they are
    multiplied with."""
    if noise is None:
        return float(np.median([_told_by(who, *frame) for frame in frames]))
    return checked_level(who, noise)


def checked_level(who: str, level: Any) -> float:
    """The root mean square of the noise of a sample, a number that is not negative."""
    try:
        value = float(level)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise ArgumentError(f"{who}: noise {level!r}; expected its root mean square in a sample, not negative")
    return value


class FrameOnDisk:
    """The samples (coils, ...) of one of several frames on disk, of which a coil is read at a time."""

    def __init__(self, frames: Any, number: int):
        self._frames, self._number = frames, number
        self.shape = tuple(frames.shape[1:])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, coil: int) -> Any:
        return self._frames[self._number, coil]


def _told_by(who: str, samples: Any, locs: Any, factors: Any) -> float:
    check_tellable(who, len(samples))
    shape, seen = tuple(samples.shape[1:]), np.abs(factors) > 0
    axes = np.meshgrid(*[np.arange(n) / n - 0.5 for n in shape], indexing="ij", sparse=True)
    squares: Any = sum(axis**2 for axis in axes) if locs is None else np.sum(np.asarray(locs) ** 2, -1)
    far = np.broadcast_to(squares, shape)
    if not (is_stored(samples) or isinstance(samples, FrameOnDisk)):
        return noise_level(samples[:, seen], far[seen])
    # Of samples on disk some of the outer ones, coil by coil: the level of the noise is a mean.
    outer = np.flatnonzero(seen & (far >= (np.quantile(far[seen], 0.75) if seen.any() else 0)))
    few = outer[:: max(1, len(outer) // _SAMPLES)]
    taken = np.stack([samples[coil].numpy().reshape(-1)[few] for coil in range(samples.shape[0])])
    return noise_level(taken, np.ones(len(few)))


def _least(risk: Callable[[float], float], start: float) -> float:
    """The lambda of the least risk: by decades from strong to weak until it rises, then between, and last where the
    parabola through the best and its neighbours has its bottom."""
    seen: dict[float, float] = {}

    def at(place: float) -> float:
        if place not in seen:
            seen[place] = risk(start * 10**place)
        return seen[place]

    for place in _DECADES:
        if at(place) > min(seen.values()):
            break
    best = min(seen, key=at)
    for half in _HALVES:
        best = min((best, best + half, best - half), key=at)
    step = _HALVES[-1]
    left, middle, right = (at(place) for place in (best - step, best, best + step))
    bend = left - 2 * middle + right
    bottom = step * (left - right) / (2 * bend) if bend > 0 else 0.0
    # At the end of the decades the best may be none of the three, and the bottom of a flat parabola is anywhere.
    return float(start * 10 ** (best + min(max(bottom, -step), step)))


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
    who: str,
    lamda: Any,
    start: float,
    spread: Callable[[], Any],
    solve: Callable[[float, Any, Any], Any],
    A: Any,
    y: Any,
) -> float:
    """``lamda`` as a number: itself, or the one whose image x has the least risk, the expected |A x - E y|^2. Stein's
    estimate of it is |A x - y|^2 + 2 Re<n, dx>, but for a constant: n is noise like that of the samples, of standard
    deviations ``spread()``, and dx is how A x changes with it. ``solve`` makes x of a lambda, of samples and of the x
    that was found of them before; ``A`` gives the samples of x."""
    if not isinstance(lamda, str):
        return strength(who, lamda)
    if lamda != "auto":
        raise ArgumentError(f'{who}: lamda {lamda!r}; expected a number or "auto"')
    noise = _noise_like(y, spread())
    moved_samples = y + _MOVED * noise
    samples, last = (y, moved_samples.compute() if is_stored(y) else moved_samples), [None, None]

    def risk(value: float) -> float:
        last[:] = [solve(value, *given) for given in zip(samples, last, strict=True)]
        fit, moved = (A(x) for x in last)
        change = float(ts.real(ts.sum(ts.conj(noise) * (moved - fit)))) / _MOVED
        return energy(fit - y) + 2 * change

    return _least(risk, start) if start > 0 else 0.0


def energy(x: Any) -> float:
    """The sum of |x|^2, of an array on disk too."""
    return float(ts.sum(ts.abs(x) ** 2 if is_stored(x) else ts.abs2(x)))


def _noise_like(y: Any, spread: Any) -> Any:
    """Noise of these standard deviations in samples like ``y``, the same in every call, and on disk where they are: a
    coil is drawn at a time (or, where the deviations are those of several frames, a coil of a frame)."""
    kind = np.result_type(np.dtype(str(y.dtype)), np.float32)  # whole numbers too
    real: Any = np.float32 if kind in (np.float32, np.complex64) else np.float64
    shape, spread, rng = tuple(y.shape), np.asarray(spread, real), np.random.default_rng(_SEED)
    leading = 2 if spread.ndim == len(shape) > 2 and spread.shape[1] == 1 else 1
    noise = ts.stored.zeros(shape, str(kind)) if is_stored(y) else np.empty(shape, kind)
    every = np.broadcast_to(spread, shape)
    for at in np.ndindex(*shape[:leading]):
        drawn = rng.standard_normal(shape[leading:], real)
        if kind.kind == "c":
            drawn = (drawn + 1j * rng.standard_normal(shape[leading:], real)) / np.sqrt(real(2))
        noise[at] = (drawn * every[at]).astype(kind)
    return noise if is_stored(y) else ts.asarray(noise).to(y.device)


def damped(who: str, A: Any, data: Any, lamda: Any, spread: Callable[[], Any], **options: Any) -> tuple[Any, float]:
    """Minimises |A x - y|^2 + lamda |x|^2 by CG; the result, and ``lamda`` as a number."""
    start = 0.0

    def solve(value: float, y: Any, x0: Any, **more: Any) -> Any:
        if value > 0 and is_stored(y):  # a sum of operators is not cut along the coils, which the normal sums over
            return ts.solve.lsqr(A, y, damp=math.sqrt(value), **more)  # x0 would be what it is damped towards
        return ts.solve.cg(A.N if value == 0 else A.N + value * ts.Identity(), A.H(y), x0, **more)

    if isinstance(lamda, str):
        first = A.H(data)
        start = 0.01 * energy(A(first)) / max(energy(first), 1e-300)
    value = chosen(who, lamda, start, spread, lambda value, y, x0: solve(value, y, x0, **TRY).x, A, data)
    return solve(value, data, None, **options), value
