# SPDX-License-Identifier: Apache-2.0
"""Tomography: direct inversions of ray transforms, and iterations that use rows and columns of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError, NamedLinop, RayTransform
from .._checked import Numbers
from ._automatic import TRY, checked_level, chosen
from ._recipes import Reconstruction

_Floats = npt.NDArray[np.float64]

WINDOWS: dict[str, Callable[[_Floats], _Floats]] = {
    "ramp": lambda f: np.ones_like(f),
    "shepp-logan": lambda f: np.sinc(f),
    "cosine": lambda f: np.cos(np.pi * f),
    "hamming": lambda f: 0.54 + 0.46 * np.cos(2 * np.pi * f),
    "hann": lambda f: 0.5 + 0.5 * np.cos(2 * np.pi * f),
}


@dataclasses.dataclass(frozen=True)
class Iterations:
    """What an iteration of this module did: relative residuals, before the first step and after each.

    >>> ts.imaging.Iterations([1.0, 0.5]).iterations
    1
    """

    history: Any

    @property
    def iterations(self) -> int:
        """How many steps were taken."""
        return max(0, len(self.history) - 1)


def ramp_filter(cells: int, spacing: float, window: str = "ramp", *, arc: bool = False) -> _Floats:
    """The response of the ramp filter |f| at distances 0 to ``cells`` - 1, for samples ``spacing`` apart: exact for
    band-limited data ("ramp"), or smoothed by a ``window``: "shepp-logan", "cosine", "hamming", "hann". With ``arc``,
    samples are at angles (radians) of a detector on a circle around the source.

    >>> ts.imaging.ramp_filter(3, 1.0).round(4).tolist()
    [0.25, -0.1013, 0.0]
    """
    if window not in WINDOWS:
        raise ArgumentError(f"ramp_filter: window '{window}'; expected one of {', '.join(WINDOWS)}")
    if cells < 1 or not spacing > 0:
        raise ArgumentError(f"ramp_filter: {cells} cells, {spacing} apart; expected at least one, apart")
    n = 1 << (4 * cells - 1).bit_length()
    at = np.minimum(np.arange(n), n - np.arange(n))
    odd = at % 2 == 1
    response = np.zeros(n)
    response[0] = 0.25
    response[odd] = -1 / (np.pi * at[odd]) ** 2
    if window != "ramp":
        response = np.fft.irfft(np.fft.rfft(response) * WINDOWS[window](np.arange(n // 2 + 1) / n), n)
    kept: _Floats = response[:cells] / spacing
    if arc:
        angle = np.arange(cells) * spacing
        kept[1:] *= (angle[1:] / np.sin(angle[1:])) ** 2
    return kept


def fbp_operator(A: RayTransform, *, window: str = "ramp", dtype: Any = "float64") -> NamedLinop:
    """From the data of ``A`` back to images: weights, the ramp filter along the cells, and A's adjoint. With ``dtype``
    "float32" its weights are single, and so are images of single data.

    Views of parallel rays cover half a turn or more, those of a fan or cone a whole turn; each counts as much as the
    angle to its neighbours. For a fan and a cone this is Feldkamp, Davis and Kress' method.

    >>> A = ts.ParallelBeam(np.linspace(0, np.pi, 90, endpoint=False), (32, 32), 47)
    >>> disc = ts.imaging.Phantom([1.0], [[0.0, 0.0]], [[0.5, 0.5]], [0.0]).image((32, 32))
    >>> image = ts.imaging.fbp_operator(A)(A(disc)).numpy()
    >>> bool(abs(image[16, 16] - 1) < 0.02)
    True
    """
    if not isinstance(A, RayTransform):
        raise ArgumentError(f"fbp_operator: {type(A).__name__}; expected a RayTransform")
    single = np.dtype(str(dtype)) in (np.float32, np.complex64)
    table = ts.asarray(A.views)
    views, device = table.numpy(), table.device
    if np.ptp(views[:, 2]) > 0 or np.ptp(views[:, 5]) > 0:
        raise ArgumentError("fbp_operator: views at several heights; expected a circle, a helix is for iterations")
    names = tuple(str(d) for d in A.oshape)
    volume = len(A.voxel) == 3
    inner = names[-len(A.voxel) :]
    cells = A.size(inner[-1]) or 1
    step = np.hypot(views[0, 6], views[0, 7]) if A.beam != "arc" else abs(views[0, 6])
    if A.beam == "parallel":
        before = after = np.ones((1, cells))
        spacing, back = step, A.H
        across = np.arctan2(views[:, 7], views[:, 6])
        _check_covered(across, np.pi)
        weights = _shares(across, np.pi) * step / np.prod(A.voxel)
    else:
        before, after, spacing, scale = _fan_weights(A, views, step, volume)
        back = A.H if volume else _with_depth(A).H
        turn = np.arctan2(views[:, 1], views[:, 0])
        _check_covered(turn, 2 * np.pi)
        weights = _shares(turn, 2 * np.pi) / 2 * scale
    raw = (*names[:-1], names[-1] + "raw")
    kind: Any = np.float32 if single else np.float64
    response = ts.asarray(ramp_filter(cells, spacing, window, arc=A.beam == "arc").astype(kind)).to(device)
    filtered = ts.Toeplitz(response, None, raw[-1], raw, names)
    rows = (1,) * (len(inner) - 2)
    per_view = (weights.reshape(-1, *rows, 1) * after).astype(kind)
    first = ts.Diagonal(ts.asarray(np.asarray(before, kind)).to(device), raw)
    last = ts.Diagonal(ts.asarray(per_view).to(device), names)
    return back @ last @ filtered @ first


def _check_covered(angles: _Floats, period: float) -> None:
    """Refuses a wide sector without a view, which filtering cannot make up for; few or uneven views are no sector."""
    found = np.unique(np.mod(angles, period).round(12))
    gaps = np.diff(found, append=found[0] + period)
    if found.size > 2 and gaps.max() > period / 12 and gaps.max() > 4 * np.median(gaps):
        wanted = "half a turn" if period < 4 else "a whole turn"
        raise ArgumentError(
            f"fbp_operator: no view in {np.degrees(gaps.max()):.0f} degrees of {wanted}; expected views all around "
            f"{wanted}: use sirt or another iteration for a sector"
        )


def _shares(angles: _Floats, period: float) -> _Floats:
    """How much of the circle belongs to each of the angles: half way to its neighbours. Equal ones share."""
    turned = np.mod(angles, period)
    turned[period - turned < 1e-9 * period] = 0
    found, where, count = np.unique(turned.round(12), return_inverse=True, return_counts=True)
    if found.size == 1:
        return np.full(angles.size, period / angles.size)
    gaps = np.diff(found, append=found[0] + period)
    share: _Floats = ((gaps + np.roll(gaps, 1)) / 2 / count)[where.reshape(-1)]
    return share


def _fan_weights(A: RayTransform, views: _Floats, step: float, volume: bool) -> tuple[Any, Any, float, _Floats]:
    """Factors of cells before and after the filter, the spacing of the filter, and factors of views."""
    between = views[0, 3:5] - views[0, 0:2]
    length = np.hypot(*between)
    radius = np.hypot(views[:, 0], views[:, 1])
    cells = A.size(str(A.oshape[-1])) or 1
    place = np.arange(cells) - cells // 2
    cosine = np.cos(place * step) if A.beam == "arc" else 0 * place + 1.0
    if A.beam == "flat":
        along = np.dot(between, views[0, 6:8]) / step  # a detector that is moved along itself
        depth = np.sqrt(length**2 - along**2)
        cosine, length = depth / np.hypot(depth, place * step + along), depth
    stretch = np.ones((1, cells))
    height, thick = _row_pitch(A, volume), A.voxel[0] if volume else 1.0
    if volume:
        rows = A.size(str(A.oshape[-2])) or 1
        z = (np.arange(rows) - rows // 2) * height + views[0, 5] - views[0, 2]
        stretch = np.hypot(1, z[:, None] * (cosine if A.beam == "flat" else 1 + 0 * cosine) / length)
    size = height / np.prod(A.voxel[-2:]) / thick
    if A.beam == "arc":
        return cosine / stretch, 1 / stretch, step, radius * step * size / length
    shrink = radius / length
    return cosine / stretch, cosine / stretch, float(step * shrink[0]), shrink**2 * step * size


def _row_pitch(A: RayTransform, volume: bool) -> float:
    """Of a volume; of a plane the pitch of one row that is higher than the plane wherever its shadow falls."""
    if volume:
        return float(A.row_pitch)
    views = ts.asarray(A.views).numpy()
    length = np.hypot(*(views[:, 3:5] - views[:, 0:2]).T)
    sizes = [(A.size(str(d)) or 1) * v for d, v in zip(A.ishape[-2:], A.voxel, strict=True)]
    nearest = np.hypot(views[:, 0], views[:, 1]) - np.hypot(sizes[0], sizes[1])
    return float(2 * np.max(length / np.maximum(nearest, 1e-2 * length)))


def _with_depth(A: RayTransform) -> NamedLinop:
    """A as a volume of one slice and a detector of one row: its shadow grows with depth, so its weights fall as the
    inverse square of it, as those of a fan that is inverted should."""
    image, data = (tuple(str(d) for d in side) for side in (A.ishape, A.oshape))
    names_in, names_out = ("One", *image[-2:]), (data[-2], "Row", data[-1])
    cone = ts.RayTransform(
        A.views,
        (1, *(A.size(d) or 1 for d in image[-2:])),
        (1, A.size(data[-1]) or 1),
        A.beam,
        (1.0, *A.voxel),
        (0.0, *A.centre),
        _row_pitch(A, False),
        image[:-2],
        names_in,
        names_out,
    )
    into = ts.Repeat({"One": 1}, image, (*image[:-2], *names_in))
    out = ts.SumReduce((*data[:-2], *names_out), data)
    return out @ cone @ into


def fdk(data: Numbers, A: RayTransform, *, window: str = "ramp") -> Reconstruction:
    """Filtered backprojection: of parallel rays, or Feldkamp, Davis and Kress' of a fan or cone; see
    :func:`fbp_operator`.

    >>> A = ts.FanBeam(np.linspace(0, 2 * np.pi, 120, endpoint=False), (32, 32), 64, 80.0, 40.0, pitch=1.2)
    >>> truth = ts.imaging.Phantom([1.0], [[0.1, 0.0]], [[0.5, 0.4]], [0.0]).image((32, 32))
    >>> found = ts.imaging.fdk(A(truth), A, window="hann")
    >>> ts.imaging.nrmse(found.image, truth) < 0.2
    True
    """
    values = _checked("fdk", data, A)
    kind = values.dtype if values.dtype in ("float32", "complex64") else "float64"
    return Reconstruction(fbp_operator(A, window=window, dtype=kind)(values), A, Iterations([]))


def _checked(who: str, data: Any, A: NamedLinop) -> ts.Array:
    values = ts.asarray(data)
    named = [d for d in A.oshape if str(d) != "..."]
    sizes = [A.size(d) for d in named]
    given = tuple(values.shape)[values.ndim - len(sizes) :] if values.ndim >= len(sizes) else ()
    if len(given) != len(sizes) or any(s is not None and s != n for s, n in zip(sizes, given, strict=True)):
        raise ArgumentError(f"{who}: data of shape {tuple(values.shape)}; expected {A.oshape} of sizes {tuple(sizes)}")
    bad = int(ts.sum(~ts.isfinite(values)))
    if bad:
        raise ArgumentError(f"{who}: {bad} numbers of the data are not finite")
    return values


def _inverse(sums: Any) -> Any:
    """One over sums of weights; zero for what no ray meets."""
    return ts.where(sums > 0, 1 / ts.where(sums > 0, sums, 1), 0)


def sirt(
    data: Numbers,
    A: NamedLinop,
    *,
    maxiter: int = 50,
    relax: float = 1.0,
    x0: Any = None,
    nonnegative: bool = False,
) -> Reconstruction:
    """The simultaneous iterative reconstruction: x += relax C A^H R (y - A x), R and C one over the sums of rows and
    columns of A, whose weights are not negative. ``relax`` is between 0 and 2.

    >>> A = ts.ParallelBeam(np.linspace(0, np.pi, 40, endpoint=False), (24, 24), 35)
    >>> truth = ts.imaging.Phantom([1.0], [[0.0, 0.1]], [[0.6, 0.5]], [0.0]).image((24, 24))
    >>> found = ts.imaging.sirt(A(truth), A, maxiter=60, nonnegative=True)
    >>> ts.imaging.nrmse(found.image, truth) < 0.1
    True
    """
    return os_sart(data, A, subsets=1, maxiter=maxiter, relax=relax, x0=x0, nonnegative=nonnegative, _who="sirt")


def os_sart(
    data: Numbers,
    A: NamedLinop,
    *,
    subsets: int = 10,
    maxiter: int = 10,
    relax: float = 1.0,
    x0: Any = None,
    nonnegative: bool = False,
    _who: str = "os_sart",
) -> Reconstruction:
    """SIRT by ordered subsets: each step uses every ``subsets``-th view of a ``RayTransform``, and an iteration all of
    them. The first iterations gain about as much as ``subsets`` times as many of :func:`sirt`.

    >>> A = ts.ParallelBeam(np.linspace(0, np.pi, 40, endpoint=False), (24, 24), 35)
    >>> truth = ts.imaging.Phantom([1.0], [[0.0, 0.1]], [[0.6, 0.5]], [0.0]).image((24, 24))
    >>> found = ts.imaging.os_sart(A(truth), A, subsets=8, maxiter=5, nonnegative=True)
    >>> ts.imaging.nrmse(found.image, truth) < 0.1
    True
    """
    y = _checked(_who, data, A)
    if not 0 < relax < 2:
        raise ArgumentError(f"{_who}: relax {relax}; expected a number between 0 and 2")
    if maxiter < 0:
        raise ArgumentError(f"{_who}: maxiter {maxiter}; expected at least 0")
    parts = [(A, slice(None))] if subsets == 1 else _view_subsets(_who, A, subsets)
    axis = 0 if subsets == 1 else y.ndim - len(A.voxel)  # type: ignore[attr-defined]
    steps = []
    for part, views in parts:
        own = y if subsets == 1 else y[(slice(None),) * axis + (views,)]
        ones = ts.ones_like(own)
        columns = part.H(ones)
        steps.append((part, own, _inverse(part(ts.ones_like(columns))), _inverse(columns)))
    x = A.H(y) * 0 if x0 is None else ts.asarray(x0).astype(steps[0][3].dtype)
    whole = float(ts.linalg.norm(y.ravel())) or 1.0
    history = [float(ts.linalg.norm((y - A(x)).ravel())) / whole]
    for _ in range(maxiter):
        for part, own, rows, columns in steps:
            x = x + relax * (columns * part.H(rows * (own - part(x))))
            if nonnegative:
                x = ts.maximum(x, 0)
        history.append(float(ts.linalg.norm((y - A(x)).ravel())) / whole)
    return Reconstruction(x, A, Iterations(history))


def _view_subsets(who: str, A: NamedLinop, subsets: int) -> list[tuple[NamedLinop, slice]]:
    if not isinstance(A, RayTransform):
        raise ArgumentError(f"{who}: {type(A).__name__}; expected a RayTransform, whose views are taken apart")
    views = ts.asarray(A.views)
    if not 1 <= subsets <= views.shape[0]:
        raise ArgumentError(f"{who}: {subsets} subsets of {views.shape[0]} views")
    image, data = (tuple(str(d) for d in side) for side in (A.ishape, A.oshape))
    n = len(A.voxel)
    parts: list[tuple[NamedLinop, slice]] = []
    for first in range(subsets):
        every = slice(first, None, subsets)
        part = ts.RayTransform(
            views[every],
            tuple(A.size(d) or 1 for d in image[-n:]),
            tuple(A.size(d) or 1 for d in data[1 - n :]),
            A.beam,
            A.voxel,
            A.centre,
            A.row_pitch,
            image[:-n],
            image[-n:],
            data[-n:],
        )
        parts.append((part, every))
    return parts


def tv_ct(
    data: Numbers,
    A: NamedLinop,
    *,
    lamda: float | str,
    rho: float | None = None,
    noise: float | None = None,
    maxiter: int = 50,
    rtol: float = 1e-6,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """Minimises |A x - y|^2 / 2 + lamda TV(x), the isotropic total variation, by ADMM, for images or volumes without a
    batch. ``rho`` balances its two halves, by default the mean of the diagonal of A^H A. ``lamda="auto"`` takes
    the one whose error in the rays is least by Stein's unbiased estimate: ``noise`` is the root mean square of the
    noise in a ray, by default what differences of neighbouring cells tell, in which an object is small but for its
    edges.

    >>> A = ts.ParallelBeam(np.linspace(0, np.pi, 15, endpoint=False), (32, 32), 47, batch_shape=())
    >>> truth = ts.imaging.shepp_logan().image((32, 32))
    >>> found = ts.imaging.tv_ct(A(truth), A, lamda=0.1, maxiter=100)
    >>> ts.imaging.nrmse(found.image, truth) < 0.15
    True
    """
    y = _checked("tv_ct", data, A)
    if any(str(d) == "..." for d in A.ishape):
        raise ArgumentError(f"tv_ct: an operator of {A.ishape}; expected named dims alone (batch_shape=())")
    gradient = ts.Gradient(A.ishape, A.ishape, edge="replicate")
    if rho is None:
        shape = tuple(A.size(d) or 1 for d in A.ishape)
        ones = ts.ones(shape, dtype=y.dtype, device=y.device)
        rho = float(ts.sum(A.N(ones))) / ones.size / max(shape) or 1.0

    def solve(value: float, rays: Any, x0: Any, **options: Any) -> Any:
        return ts.solve.admm(A, rays, ts.solve.prox.group(value, axes=0), x0, G=gradient, rho=rho, **options)

    def spread() -> float:
        return _ray_noise(y.to("cpu").numpy()) if noise is None else checked_level("tv_ct", noise)

    start = 0.01 * float(ts.max(ts.abs(A.H(y)))) if isinstance(lamda, str) else 0.0
    value = chosen("tv_ct", lamda, start, spread, lambda *given: solve(*given, **TRY, inner=5).x, A, y)
    result = solve(value, y, None, rtol=rtol, maxiter=maxiter, progress=progress, checkpoint=checkpoint)
    return Reconstruction(result.x, A, result, value)


def _ray_noise(data: npt.NDArray[Any]) -> float:
    """The root mean square of the noise of a ray, by the median of third differences along the cells: projections are
    smooth but at few places."""
    if data.shape[-1] < 8:
        raise ArgumentError(
            f'tv_ct: lamda "auto" of {data.shape[-1]} cells, too few to tell noise from the object; give noise, its '
            "root mean square in a ray, or a number as lamda"
        )
    rough = np.abs(np.diff(data, 3, axis=-1)) / math.sqrt(20)
    # The median of |z| beside its root mean square: of one normal number, or of a complex one.
    share = math.sqrt(math.log(2)) if data.dtype.kind == "c" else 0.674490
    return float(np.median(rough)) / share
