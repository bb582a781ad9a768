# SPDX-License-Identifier: Apache-2.0
"""Reconstructions: an operator, a solver, and the image with its history."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError, NamedLinop

_DIMS = {2: ("Ny", "Nx"), 3: ("Nz", "Ny", "Nx")}
_KDIMS = {2: ("Ky", "Kx"), 3: ("Kz", "Ky", "Kx")}


@dataclasses.dataclass(frozen=True)
class Reconstruction:
    """An image with what made it: ``history`` of the solver's measure, ``operator`` from image to data, ``result``.

    >>> maps, truth = ts.imaging.Coils(4).maps((16, 16)), np.ones((16, 16))
    >>> A = ts.imaging.sense_operator(maps)
    >>> print(ts.imaging.sense(A(truth), maps, maxiter=2))
    <Reconstruction: (16, 16) complex128, 2 iterations>
    """

    image: Any
    operator: NamedLinop
    result: Any

    @property
    def history(self) -> Any:
        """The solver's measure before the first iteration and after each."""
        return self.result.history

    def __repr__(self) -> str:
        image = self.image
        return f"<Reconstruction: {tuple(image.shape)} {image.dtype}, {self.result.iterations} iterations>"


def sense_operator(
    maps: Any,
    *,
    locs: Any = None,
    mask: Any = None,
    weights: Any = None,
    toeplitz: bool = True,
    tol: float = 1e-4,
    device: Any = None,
) -> NamedLinop:
    """From an image to the k-space of all coils: ``maps`` (coils, *shape), then a NUFFT at ``locs`` (..., ndim), or a
    centred FFT with a ``mask`` of ``shape``. ``weights`` multiply the data (the root of a density compensation).
    ``toeplitz`` and ``tol`` are those of ``ts.NUFFT``; ``device`` is where the operator lives.

    >>> maps = ts.imaging.Coils(4).maps((16, 16))
    >>> print(ts.imaging.sense_operator(maps).oshape, ts.imaging.sense_operator(maps, locs=np.zeros((5, 2))).oshape)
    (C, Ky, Kx) (C, K)
    """
    sensitivities = np.asarray(maps)
    ndim = sensitivities.ndim - 1
    if ndim not in _DIMS:
        raise ArgumentError(
            f"sense_operator: maps of shape {sensitivities.shape}; expected (coils, *shape), 2 or 3 dims"
        )
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
        encode = ts.NUFFT(points, shape, kdims, dims, batch_shape=("C",), toeplitz=toeplitz, tol=tol)
    kept = _factors(mask, weights, samples)
    chain = encode @ coils if kept is None else ts.Diagonal(kept[None], ("C", *kdims)) @ encode @ coils
    return chain if device is None else chain.to(device)


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


def _prepared(who: str, kspace: Any, operator: NamedLinop, mask: Any, weights: Any, device: Any) -> ts.Array:
    """The data as the operator gives them: checked, and multiplied with mask and weights."""
    data = ts.asarray(kspace)
    data = data if device is None else data.to(device)
    sizes = [operator.size(dim) for dim in operator.oshape]
    if data.ndim != len(sizes) or any(s is not None and s != n for s, n in zip(sizes, data.shape, strict=True)):
        raise ArgumentError(
            f"{who}: k-space of shape {tuple(data.shape)}; expected {operator.oshape} of sizes {tuple(sizes)}"
        )
    bad = ts.nonzero(~ts.isfinite(data))
    if bad[0].size:
        place = tuple(int(part[0]) for part in bad)
        raise ArgumentError(f"{who}: {bad[0].size} samples of k-space are not finite, the first at {place}")
    factors = _factors(mask, weights, tuple(data.shape[1:]))
    return data if factors is None else data * ts.asarray(factors).to(data.device)


def sense(
    kspace: Any,
    maps: Any,
    *,
    locs: Any = None,
    mask: Any = None,
    weights: Any = None,
    lamda: float = 0.0,
    maxiter: int = 30,
    rtol: float = 1e-6,
    device: Any = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """CG-SENSE: minimises |A x - y|^2 + lamda |x|^2, A as :func:`sense_operator` makes it.

    ``kspace`` are the samples of all coils (coils, ...) as they were measured; mask and weights are applied here.

    >>> maps, truth = ts.imaging.Coils(6).maps((16, 16)), ts.imaging.shepp_logan().image((16, 16))
    >>> mask = np.arange(16)[:, None] % 2 == np.zeros(16)
    >>> kspace = ts.imaging.sense_operator(maps)(truth)
    >>> found = ts.imaging.sense(kspace, maps, mask=mask, rtol=1e-9, maxiter=100)
    >>> ts.imaging.nrmse(found.image, truth) < 1e-5
    True
    """
    A = sense_operator(maps, locs=locs, mask=mask, weights=weights, device=device)
    data = _prepared("sense", kspace, A, mask, weights, device)
    normal = A.N if lamda == 0 else A.N + lamda * ts.Identity()
    result = ts.solve.cg(normal, A.H(data), rtol=rtol, maxiter=maxiter, progress=progress, checkpoint=checkpoint)
    return Reconstruction(result.x, A, result)


def l1_wavelet(
    kspace: Any,
    maps: Any,
    *,
    lamda: float,
    locs: Any = None,
    mask: Any = None,
    weights: Any = None,
    wavelet: str = "db4",
    maxiter: int = 50,
    rtol: float = 1e-6,
    device: Any = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """Minimises |A x - y|^2 / 2 + lamda |W x|_1 with an orthogonal wavelet transform W, by FISTA on the coefficients.

    >>> maps, truth = ts.imaging.Coils(6).maps((32, 32)), ts.imaging.shepp_logan().image((32, 32))
    >>> mask = ts.imaging.poisson_disc((32, 32), 3, calibration=8)
    >>> kspace = ts.imaging.sense_operator(maps)(truth)
    >>> found = ts.imaging.l1_wavelet(kspace, maps, mask=mask, lamda=1e-3, wavelet="haar")
    >>> ts.imaging.nrmse(found.image, truth) < 0.05
    True
    """
    A = sense_operator(maps, locs=locs, mask=mask, weights=weights, device=device)
    data = _prepared("l1_wavelet", kspace, A, mask, weights, device)
    synthesis = ts.Wavelet(A.ishape, wavelet).H
    result = ts.solve.fista(
        A @ synthesis,
        data,
        ts.solve.prox.l1(lamda),
        x0=synthesis.H(A.H(data) * 0),
        rtol=rtol,
        maxiter=maxiter,
        progress=progress,
        checkpoint=checkpoint,
    )
    return Reconstruction(synthesis(result.x), A, result)


def tv(
    kspace: Any,
    maps: Any,
    *,
    lamda: float,
    locs: Any = None,
    mask: Any = None,
    weights: Any = None,
    rho: float | None = None,
    maxiter: int = 50,
    rtol: float = 1e-6,
    device: Any = None,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """Minimises |A x - y|^2 / 2 + lamda TV(x), the isotropic total variation, by ADMM.

    ``rho`` balances its two halves, by default ten times lamda over the largest magnitude of A.H(y).

    >>> maps, truth = ts.imaging.Coils(6).maps((32, 32)), ts.imaging.shepp_logan().image((32, 32))
    >>> mask = ts.imaging.poisson_disc((32, 32), 3, calibration=8)
    >>> kspace = ts.imaging.sense_operator(maps)(truth)
    >>> found = ts.imaging.tv(kspace, maps, mask=mask, lamda=1e-3)
    >>> ts.imaging.nrmse(found.image, truth) < 0.05
    True
    """
    A = sense_operator(maps, locs=locs, mask=mask, weights=weights, device=device)
    data = _prepared("tv", kspace, A, mask, weights, device)
    differences = ts.Gradient(A.ishape, A.ishape, edge="replicate")
    first = A.H(data)
    top = float(ts.max(ts.abs(first)))
    result = ts.solve.admm(
        A,
        data,
        ts.solve.prox.group(lamda, axes=0),
        G=differences,
        rho=(10 * lamda / top if top > 0 else 1.0) if rho is None else rho,
        rtol=rtol,
        maxiter=maxiter,
        progress=progress,
        checkpoint=checkpoint,
    )
    return Reconstruction(result.x, A, result)
