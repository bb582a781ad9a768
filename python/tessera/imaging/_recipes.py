# SPDX-License-Identifier: Apache-2.0
"""Reconstructions: an operator, a solver, and the image with its history."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError, NamedLinop
from .._checked import Numbers
from ._automatic import TRY, chosen, damped, level_of
from ._finite import finite
from ._off_resonance import turning
from ._placing import (
    brought,
    devices_of,
    goes_to_disk,
    has_room_for_table,
    is_stored,
    may_go_to_disk,
    placed,
    precision_of,
    within,
)

_DIMS = {2: ("Ny", "Nx"), 3: ("Nz", "Ny", "Nx")}
_KDIMS = {2: ("Ky", "Kx"), 3: ("Kz", "Ky", "Kx")}


@dataclasses.dataclass(frozen=True, eq=False)
class Reconstruction:
    """An image with what made it: ``history`` of the solver's measure, ``operator`` from image to data, ``result``,
    and ``lamda``, the strength of its penalty. An image that was made on disk is an array of :mod:`tessera.stored`.

    >>> maps, truth = ts.imaging.Coils(4).maps((16, 16)), np.ones((16, 16))
    >>> A = ts.imaging.sense_operator(maps)
    >>> print(ts.imaging.sense(A(truth), maps, maxiter=2))
    <Reconstruction: (16, 16) complex128, 2 iterations>
    """

    image: Any
    operator: NamedLinop
    result: Any
    lamda: float = 0.0

    @property
    def history(self) -> Any:
        """The solver's measure before the first iteration and after each."""
        return self.result.history

    def __repr__(self) -> str:
        image = self.image
        return f"<Reconstruction: {tuple(image.shape)} {image.dtype}, {self.result.iterations} iterations>"


def sense_operator(
    maps: Numbers,
    *,
    locs: Numbers = None,
    mask: Numbers = None,
    weights: Numbers = None,
    field_map: Any = None,
    times: Any = None,
    toeplitz: bool = True,
    tol: float = 1e-4,
    device: Any = None,
    budget: Any = None,
    ranks: bool = False,
) -> NamedLinop:
    """From an image to the k-space of all coils: ``maps`` (coils, *shape), then a NUFFT at ``locs`` (..., ndim), or a
    centred FFT with a ``mask`` of ``shape``. ``weights`` multiply the data (the root of a density compensation).
    Where the main field is not even, ``field_map`` tells by how many hertz each pixel turns, an array of ``shape`` or a
    file of images, and ``times`` when samples are taken, in seconds, of the shape of the samples or of its last axes.
    ``tol`` is that of ``ts.NUFFT``, and so is ``toeplitz``, which with a field map, or maps on disk and little memory,
    says that normals may be convolutions where that is cheaper. ``device`` is where the operator lives, a list of
    devices shares the coils out; with ``budget`` bytes on each it works on as many coils at a time as they allow, and
    with ``ranks`` the coils are shared out among the ranks of mpirun, each of which makes the same call. Maps may be on
    disk (:mod:`tessera.stored`): then the operator reads those of a few coils at a time.

    >>> maps = ts.imaging.Coils(4).maps((16, 16))
    >>> print(ts.imaging.sense_operator(maps).oshape, ts.imaging.sense_operator(maps, locs=np.zeros((5, 2))).oshape)
    (C, Ky, Kx) (C, K)
    """
    sensitivities = maps if is_stored(maps) else np.asarray(maps)
    ndim = sensitivities.ndim - 1
    if ndim not in _DIMS:
        raise ArgumentError(
            f"sense_operator: maps of shape {sensitivities.shape}; expected (coils, *shape), 2 or 3 dims"
        )
    finite("sense_operator", maps=sensitivities, locs=locs, mask=mask, weights=weights)
    shape, dims = sensitivities.shape[1:], _DIMS[ndim]
    coils = ts.Diagonal(sensitivities, ("C", *dims)) @ ts.Repeat({"C": len(sensitivities)}, dims, ("C", *dims))
    if locs is None:
        kdims: tuple[str, ...] = _KDIMS[ndim]
        samples = tuple(shape)
        encode: NamedLinop = ts.FFT(ndim, ("C",), (dims, kdims), centered=True)
    elif mask is not None:
        raise ArgumentError("sense_operator: locs and a mask; expected one of them")
    else:
        points = np.asarray(locs)
        if points.ndim not in (2, 3) or points.shape[-1] != ndim:
            raise ArgumentError(
                f"sense_operator: locs of shape {points.shape}; expected (samples, {ndim}) "
                f"or (readouts, samples, {ndim})"
            )
        kdims, samples = ("R", "K")[3 - points.ndim :], points.shape[:-1]
        toeplitz = toeplitz and (not is_stored(maps) or has_room_for_table(shape))
        encode = ts.NUFFT(points, shape, kdims, dims, batch_shape=("C",), toeplitz=toeplitz, tol=tol, wrap=True)
    dtype = precision_of(sensitivities)
    if field_map is not None or times is not None:
        normals = None if toeplitz else False  # by cost: a matrix at each frequency may be too large
        encode = turning(locs, shape, kdims, dims, field_map, times, dtype=dtype, tol=tol, toeplitz=normals)
    kept = _factors(mask, weights, samples)
    chain = encode @ coils
    if kept is not None:  # in the precision of the maps: a mask does not make single data double
        same = kept.astype(_single(kept)) if dtype == np.complex64 else kept
        chain = ts.Diagonal(same[None], ("C", *kdims)) @ chain
    if is_stored(maps):
        if devices_of(device) != ["cpu"] or (ranks and ts.dist.world.size > 1):
            raise ArgumentError(
                f"sense_operator: device={device!r}, ranks={ranks} beside samples or maps on disk; expected neither: "
                "they pass through the host"
            )
        return chain
    return placed(chain, device=device, budget=budget, ranks=ranks, dtype=str(dtype))


def _factors(mask: Any, weights: Any, shape: tuple[int, ...]) -> npt.NDArray[Any] | None:
    """What samples are multiplied with."""
    product = None
    for who, factor in (("mask", mask), ("weights", weights)):
        if factor is None:
            continue
        values = np.asarray(factor)
        if values.shape != tuple(shape):
            raise ArgumentError(f"sense_operator: {who} of shape {values.shape}; expected {tuple(shape)}")
        if not np.isfinite(values).all():
            raise ArgumentError(f"sense_operator: {who} that are not finite")
        values = values.astype(float) if values.dtype == bool else values
        product = values if product is None else product * values
    return product


def _single(factors: npt.NDArray[Any]) -> type:
    """The dtype of single precision for such factors."""
    return np.complex64 if factors.dtype.kind == "c" else np.float32


class _Problem:
    """The operator, the data as it gives them (checked, multiplied with mask and weights), and their noise."""

    def __init__(self, who: str, kspace: Any, maps: Any, noise: float | None, encoding: dict[str, Any]):
        self.who, self.noise, self.encoding = who, noise, encoding
        where = {name: encoding[name] for name in ("device", "budget", "ranks")}
        stored = is_stored(kspace, maps)
        given = {**where, "dtype": None if stored else precision_of(maps)}
        self.on_disk = stored or goes_to_disk(np.shape(maps)[1:], np.shape(kspace), **given)
        try:
            with self.room():
                self._check(kspace, maps)
        except ts.OutOfMemory:  # samples and images have room, but no tile of the operator beside them
            if self.on_disk or not may_go_to_disk(**where):
                raise
            self.on_disk = True
            with self.room():
                self._check(kspace, maps)

    def _check(self, kspace: Any, maps: Any) -> None:
        encoding = self.encoding
        where = {name: encoding[name] for name in ("device", "budget", "ranks")}
        if self.on_disk:
            maps, kspace = (a if is_stored(a) else ts.stored.array(a) for a in (maps, kspace))
        self.A = sense_operator(maps, **encoding)  # of maps on disk the budget is that of its room
        data = kspace if self.on_disk else brought(ts.asarray(kspace), **where)
        sizes = [self.A.size(dim) for dim in self.A.oshape]
        if data.ndim != len(sizes) or any(s is not None and s != n for s, n in zip(sizes, data.shape, strict=True)):
            raise ArgumentError(
                f"{self.who}: k-space of shape {tuple(data.shape)}; expected {self.A.oshape} of sizes {tuple(sizes)}"
            )
        finite(self.who, **({"kspace": data} if self.on_disk else {}))
        bad = () if self.on_disk else ts.nonzero(~ts.isfinite(data))
        if bad and bad[0].size:
            place = tuple(int(part[0]) for part in bad)
            raise ArgumentError(f"{self.who}: {bad[0].size} samples of k-space are not finite, the first at {place}")
        self.raw = data
        self.factors = _factors(encoding["mask"], encoding["weights"], tuple(data.shape[1:]))
        if self.factors is not None and data.dtype == "complex64":
            self.factors = self.factors.astype(_single(self.factors))
        if self.factors is None:
            self.data = data
        else:
            self.data = data * (self.factors if self.on_disk else ts.asarray(self.factors).to(data.device))

    def room(self) -> Any:
        """What a solver may take of the host where its vectors are on disk."""
        return within(self.encoding["budget"] if self.on_disk else None)

    def kept(self, image: Any) -> Any:
        """The image, on disk where all else is."""
        return ts.stored.array(image) if self.on_disk and not is_stored(image) else image

    def spread(self) -> Any:
        """The standard deviation of the noise of each sample of a coil, as the data have it."""
        factors = np.ones(tuple(self.data.shape[1:])) if self.factors is None else self.factors
        samples = self.raw if self.on_disk else self.raw.to("cpu").numpy()
        return level_of(self.who, self.noise, [(samples, self.encoding["locs"], factors)]) * np.abs(factors)

    def choose(self, lamda: Any, start: float, solve: Any, fit: Any = None) -> float:
        return chosen(self.who, lamda, start, self.spread, solve, fit or self.A, self.data)

    def largest_eigenvalue(self, like: ts.Array) -> float:
        """Of A.N on vectors ``like`` this, a little too large rather than too small."""
        like_it: dict[str, Any] = dict(shape=like.shape, dtype=like.dtype, device=like.device)
        found = ts.solve.power_method(self.A.N, **like_it, rtol=1e-3, maxiter=100)
        return 1.05 * float(found.eigenvalue)


def sense(
    kspace: Numbers,
    maps: Numbers,
    *,
    locs: Numbers = None,
    mask: Numbers = None,
    weights: Numbers = None,
    field_map: Any = None,
    times: Any = None,
    lamda: float | str = 0.0,
    noise: float | None = None,
    maxiter: int = 30,
    rtol: float = 1e-6,
    device: Any = None,
    budget: Any = None,
    ranks: bool = False,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """CG-SENSE: minimises |A x - y|^2 + lamda |x|^2, A as :func:`sense_operator` makes it.

    ``kspace`` are the samples of all coils (coils, ...) as they were measured; mask and weights are applied here.
    Where one of ``kspace`` and ``maps`` is on disk, or ``budget`` bytes of the host do not hold samples and images, all
    of it is on disk, the vectors of the solver and the image too: then a few images of one coil must fit the host, on
    which it is computed.
    ``lamda="auto"`` takes the one whose error in the samples is least by Stein's unbiased estimate: ``noise`` is the
    root mean square of the noise in a complex sample, by default :func:`noise_level` of the data.

    >>> maps, truth = ts.imaging.Coils(6).maps((16, 16)), ts.imaging.shepp_logan().image((16, 16))
    >>> mask = np.arange(16)[:, None] % 2 == np.zeros(16)
    >>> kspace = ts.imaging.sense_operator(maps)(truth)
    >>> found = ts.imaging.sense(kspace, maps, mask=mask, rtol=1e-9, maxiter=100)
    >>> ts.imaging.nrmse(found.image, truth) < 1e-5
    True
    """
    encoding = dict(locs=locs, mask=mask, weights=weights, field_map=field_map, times=times)
    encoding |= dict(device=device, budget=budget, ranks=ranks)
    problem = _Problem("sense", kspace, maps, noise, encoding)
    options: dict[str, Any] = dict(rtol=rtol, maxiter=maxiter, progress=progress, checkpoint=checkpoint)
    with problem.room():
        result, strength = damped("sense", problem.A, problem.data, lamda, problem.spread, **options)
    return Reconstruction(result.x, problem.A, result, strength)


def l1_wavelet(
    kspace: Numbers,
    maps: Numbers,
    *,
    lamda: float | str,
    locs: Numbers = None,
    mask: Numbers = None,
    weights: Numbers = None,
    field_map: Any = None,
    times: Any = None,
    wavelet: str = "db4",
    seed: int | None = 0,
    noise: float | None = None,
    maxiter: int = 50,
    rtol: float = 1e-6,
    device: Any = None,
    budget: Any = None,
    ranks: bool = False,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """Minimises |A x - y|^2 / 2 + lamda |W x|_1 with an orthogonal wavelet transform W, by FISTA. Arguments are those
    of :func:`sense`.

    With a ``seed`` the image is moved at random, cyclically, before W in each iteration: edges are where they are and
    not where the blocks of W end, and errors are smaller. What an iteration changes then stays above a small ``rtol``.
    With None W stays in its place, and the minimum is found as exactly as is asked for.

    >>> maps, truth = ts.imaging.Coils(6).maps((32, 32)), ts.imaging.shepp_logan().image((32, 32))
    >>> mask = ts.imaging.poisson_disc((32, 32), 3, calibration=8)
    >>> kspace = ts.imaging.sense_operator(maps)(truth)
    >>> found = ts.imaging.l1_wavelet(kspace, maps, mask=mask, lamda=1e-3, wavelet="haar")
    >>> ts.imaging.nrmse(found.image, truth) < 0.05
    True
    """
    encoding = dict(locs=locs, mask=mask, weights=weights, field_map=field_map, times=times)
    encoding |= dict(device=device, budget=budget, ranks=ranks)
    problem = _Problem("l1_wavelet", kspace, maps, noise, encoding)
    options: dict[str, Any] = dict(rtol=rtol, maxiter=maxiter, progress=progress, checkpoint=checkpoint)
    with problem.room():
        return _sparse(problem, lamda, wavelet, seed, options)


def _sparse(problem: _Problem, lamda: Any, wavelet: str, seed: int | None, last: dict[str, Any]) -> Reconstruction:
    """:func:`l1_wavelet` of a problem; ``last`` are the options of the last solve."""
    W, A, zero = ts.Wavelet(problem.A.ishape, wavelet), problem.A, problem.A.H(problem.data)
    step = 1 / max(problem.largest_eigenvalue(zero), 1e-300)
    start = 0.01 * float(ts.max(ts.abs(zero if is_stored(zero) else W(zero)))) if isinstance(lamda, str) else 0.0

    def solve(value: float, y: Any, x0: Any, **options: Any) -> tuple[Any, Any]:
        first = zero * 0 if x0 is None else x0
        if seed is None:  # on the coefficients, of which the map is a step of the plan
            result = ts.solve.fista(A @ W.H, y, ts.solve.prox.l1(value), W(first), step=step, **options)
            return W.H(result.x), result
        prox = ts.solve.prox.wavelet(value, wavelet, seed=seed)
        result = ts.solve.fista(A, y, prox, first, step=step, **options)
        return result.x, result

    strength = problem.choose(lamda, start, lambda value, y, x0: solve(value, y, x0, **TRY)[0])
    image, result = solve(strength, problem.data, None, **last)
    return Reconstruction(problem.kept(image), A, result, strength)


def tv(
    kspace: Numbers,
    maps: Numbers,
    *,
    lamda: float | str,
    locs: Numbers = None,
    mask: Numbers = None,
    weights: Numbers = None,
    field_map: Any = None,
    times: Any = None,
    rho: float | None = None,
    inner: int | None = None,
    noise: float | None = None,
    maxiter: int = 50,
    rtol: float = 1e-6,
    device: Any = None,
    budget: Any = None,
    ranks: bool = False,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """Minimises |A x - y|^2 / 2 + lamda TV(x), the isotropic total variation, by ADMM. Arguments are those of
    :func:`sense`.

    ``rho`` balances its two halves, by default ten times lamda over the largest magnitude of A.H(y). An iteration takes
    ``inner`` steps of conjugate gradients, by default 3 for samples on a grid and 10 along a trajectory, where few are
    not enough.

    >>> maps, truth = ts.imaging.Coils(6).maps((32, 32)), ts.imaging.shepp_logan().image((32, 32))
    >>> mask = ts.imaging.poisson_disc((32, 32), 3, calibration=8)
    >>> kspace = ts.imaging.sense_operator(maps)(truth)
    >>> found = ts.imaging.tv(kspace, maps, mask=mask, lamda=1e-3)
    >>> ts.imaging.nrmse(found.image, truth) < 0.05
    True
    """
    encoding = dict(locs=locs, mask=mask, weights=weights, field_map=field_map, times=times)
    encoding |= dict(device=device, budget=budget, ranks=ranks)
    problem = _Problem("tv", kspace, maps, noise, encoding)
    options: dict[str, Any] = dict(rtol=rtol, maxiter=maxiter, progress=progress, checkpoint=checkpoint)
    steps = (3 if locs is None else 10) if inner is None else inner
    with problem.room():
        return _smooth(problem, lamda, rho, steps, options)


def _smooth(problem: _Problem, lamda: Any, rho: float | None, steps: int, last: dict[str, Any]) -> Reconstruction:
    """:func:`tv` of a problem; ``last`` are the options of the last solve."""
    A = problem.A
    differences = ts.Gradient(A.ishape, A.ishape, edge="replicate")
    top = float(ts.max(ts.abs(A.H(problem.data))))

    def solve(value: float, y: Any, x0: Any, **options: Any) -> Any:
        weight = (10 * value / top if top > 0 and value > 0 else 1.0) if rho is None else rho
        prox = ts.solve.prox.group(value, axes=0)
        return ts.solve.admm(A, y, prox, x0, G=differences, rho=weight, **options)

    tried = dict(TRY, inner=min(steps, 5))
    strength = problem.choose(lamda, 0.01 * top, lambda value, y, x0: solve(value, y, x0, **tried).x)
    result = solve(strength, problem.data, None, inner=steps, **last)
    return Reconstruction(result.x, A, result, strength)
