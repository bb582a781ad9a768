# SPDX-License-Identifier: Apache-2.0
"""Maps of coils from the centre of what was measured, whatever the trajectory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError
from .._checked import Numbers, shown
from ._espirit import ENOUGH, maps_of_centre

_ITERATIONS = 15


def centre_of(shape: Iterable[int], width: int) -> tuple[slice, ...]:
    """The middle of a grid, ``width`` samples along each axis or all of it."""
    return tuple(slice(n // 2 - min(width, n) // 2, n // 2 - min(width, n) // 2 + min(width, n)) for n in shape)


class Calibration:
    """Gathers the centre of k-space over frames, of which each alone may be too few, and makes maps of it.

    >>> maps = ts.imaging.Coils(4).maps((24, 24))
    >>> gathered = ts.imaging.Calibration((24, 24), width=16)
    >>> gathered.add(ts.imaging.sense_operator(maps)(ts.imaging.shepp_logan().image((24, 24))).numpy())
    >>> gathered.maps(kernel=5).shape
    (4, 24, 24)
    """

    def __init__(self, shape: Iterable[int], width: int = 24):
        self.shape, self.width = tuple(shape), width
        self._sum: Any = 0
        self._count: Any = 0
        self._samples: list[npt.NDArray[Any]] = []
        self._locs: list[npt.NDArray[Any]] = []

    def add(self, kspace: Numbers, *, locs: Numbers = None, sampled: Any = None) -> None:
        """Adds a frame: samples (coils, *shape) with the mask of those that were ``sampled``, or samples at ``locs``.

        >>> gathered = ts.imaging.Calibration((8, 8), width=4)
        >>> gathered.add(np.ones((2, 5, 16)), locs=ts.imaging.radial(5, 16, 8))
        """
        data = np.asarray(kspace)
        if locs is None:
            at = centre_of(self.shape, self.width)
            seen = np.ones(self.shape, bool) if sampled is None else np.asarray(sampled)
            coils_at = (slice(None), *at)
            self._sum = self._sum + data[coils_at] * seen[at]
            self._count = self._count + seen[at]
            return
        points = np.asarray(locs).reshape(-1, len(self.shape))
        near = (np.abs(points) < np.minimum(self.width, self.shape) / 2 - 0.5).all(1)
        self._samples.append(data.reshape(len(data), -1)[:, near])
        self._locs.append(points[near])

    def centre(self) -> npt.NDArray[Any]:
        """The samples of the centre on their grid, (coils, *widths).

        >>> gathered = ts.imaging.Calibration((8, 8), width=4)
        >>> gathered.add(np.ones((2, 8, 8)))
        >>> gathered.centre().shape
        (2, 4, 4)
        """
        if not self._locs:
            if np.ndim(self._count) == 0:
                raise ArgumentError("calibration: no frame was added")
            seen = self._count > 0
            if seen.mean() < ENOUGH:
                raise ArgumentError(
                    f"calibration: {int(seen.sum())} of {seen.size} samples in the centre of k-space, {seen.shape}, "
                    "were taken; maps cannot be learned from them: give maps, or a narrower calibration"
                )
            return np.asarray(self._sum / np.maximum(self._count, 1))
        widths = [min(self.width, n) for n in self.shape]
        locs, samples = np.concatenate(self._locs), np.concatenate(self._samples, 1)
        if len(locs) < np.prod(widths) / 2:
            raise ArgumentError(
                f"calibration: {len(locs)} samples of the trajectory lie in the centre of k-space, {tuple(widths)}; "
                "maps cannot be learned from them: give maps"
            )
        A = ts.NUFFT(locs, tuple(widths), ("K",), batch_shape=("C",))
        weights = ts.Diagonal(np.sqrt(ts.density_compensation(locs, widths).numpy())[None], ("C", "K"))
        W = weights @ A
        images = ts.solve.cg(W.N, W.H(weights(ts.asarray(samples))), maxiter=_ITERATIONS, rtol=1e-3).x
        return np.asarray(ts.FFT(len(widths), ("C",), centered=True)(images))

    def maps(
        self, *, kernel: int = 6, crop: float = 0.0, budget: Any = None, out: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[Any]:
        """ESPIRiT's maps (coils, *shape) of the centre; pixels with eigenvalues below ``crop`` are zero. ``budget`` is
        that of :func:`espirit`. Maps are written into ``out`` where it is given, which may be a memory map of a file.

        >>> gathered = ts.imaging.Calibration((8, 8), width=4)
        >>> gathered.add(np.random.default_rng(0).standard_normal((2, 8, 8)))
        >>> gathered.maps(kernel=3).shape
        (2, 8, 8)
        """
        if out is not None and not (
            isinstance(out, np.ndarray)
            and out.flags.writeable
            and out.dtype.kind == "c"
            and out.shape[1:] == self.shape
        ):
            raise ArgumentError(
                f"calibration: out is {shown(out)}; expected an array of NumPy that can be written, complex numbers of "
                f"(coils, *{self.shape})"
            )
        if kernel < 1:
            raise ArgumentError(f"calibration: a kernel of {kernel} samples; expected at least 1")
        centre = self.centre()
        kernels = [min(kernel, n) for n in centre.shape[1:]]
        if out is not None and len(out) != len(centre):
            raise ArgumentError(f"calibration: out for {len(out)} coils; expected {len(centre)}")
        return maps_of_centre(centre, self.shape, kernels=kernels, crop=crop, budget=budget, out=out)
