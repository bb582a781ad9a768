# SPDX-License-Identifier: Apache-2.0
"""Objects made of ellipses or ellipsoids, whose images, k-space and projections are known exactly."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ArgumentError
from .._checked import Numbers
from ._bessel import bessel_j1
from ._coils import Coils

_Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Phantom:
    """A sum of ellipses (2-D) or ellipsoids (3-D), in units of half the field of view: the image spans [-1, 1).

    Row i: the value ``values[i]`` inside, ``centres[i]``, ``radii[i]`` along its own axes, which are turned by
    ``angles[i]`` from the last axis of the image towards the one before it. Values add where they overlap.

    >>> disc = ts.imaging.Phantom([1.0], [[0.0, 0.0]], [[0.5, 0.5]], [0.0])
    >>> bool(abs(disc.image((64, 64)).mean() - np.pi / 16) < 1e-3)
    True
    """

    values: Numbers
    centres: Numbers
    radii: Numbers
    angles: Numbers

    def __post_init__(self) -> None:
        for name in ("values", "centres", "radii", "angles"):
            object.__setattr__(self, name, np.array(getattr(self, name), float))
        n = self.values.size
        shape = (n, self.centres.shape[-1])
        wanted = {"values": (n,), "centres": shape, "radii": shape, "angles": (n,)}
        for name, expected in wanted.items():
            if getattr(self, name).shape != expected:
                raise ArgumentError(f"Phantom: {name} of shape {getattr(self, name).shape}; expected {expected}")
        if shape[1] not in (2, 3):
            raise ArgumentError(f"Phantom: centres of {shape[1]} coordinates; expected 2 or 3")
        if not (self.radii > 0).all():
            raise ArgumentError("Phantom: a radius that is not positive")

    @property
    def ndim(self) -> int:
        """2 or 3."""
        return int(self.centres.shape[1])

    def image(self, shape: Sequence[int], *, oversampling: int = 4) -> _Floats:
        """The image on a grid: each pixel is the mean over ``oversampling`` points along each axis.

        >>> ts.imaging.shepp_logan().image((32, 32)).shape
        (32, 32)
        """
        self._same_ndim("image", shape)
        if oversampling < 1:
            raise ArgumentError(f"Phantom.image: oversampling {oversampling}; expected at least 1")
        inner = (np.arange(oversampling) + 0.5) / oversampling - 0.5
        axes = [(np.arange(n) - n // 2)[:, None] + inner for n in shape]
        axes = [2 * points.reshape(-1) / n for points, n in zip(axes, shape, strict=True)]
        result = np.zeros(tuple(shape))
        # Plane by plane of the first axis: memory is that of one plane of points.
        for i in range(shape[0]):
            first = axes[0][i * oversampling : (i + 1) * oversampling]
            points = np.meshgrid(first, *axes[1:], indexing="ij")
            inside = np.zeros(points[0].shape)
            for row in range(self.values.size):
                own = self._own_axes(row, [p - c for p, c in zip(points, self.centres[row], strict=True)])
                inside[sum((x / r) ** 2 for x, r in zip(own, self.radii[row], strict=True)) <= 1] += self.values[row]
            split = [size for n in shape[1:] for size in (n, oversampling)]
            result[i] = inside.reshape(oversampling, *split).mean(tuple(range(0, 2 * self.ndim, 2)))
        return result

    def kspace(self, locs: Numbers, shape: Sequence[int], *, coils: Coils | None = None) -> npt.NDArray[Any]:
        """The exact Fourier transform at ``locs`` (..., ndim), in cycles per field of view, as ``ts.NUFFT`` scales it
        for images of ``shape``. With ``coils``, one data set for each of them, along a new first axis.

        >>> k = ts.imaging.radial(5, 16, 8)
        >>> ts.imaging.shepp_logan().kspace(k, (8, 8), coils=ts.imaging.Coils(3)).shape
        (3, 5, 16)
        """
        self._same_ndim("kspace", shape)
        locs = np.asarray(locs, float)
        if locs.ndim == 0 or locs.shape[-1] != self.ndim:
            raise ArgumentError(f"Phantom.kspace: locs of shape {locs.shape}; expected (..., {self.ndim})")
        scale = math.sqrt(math.prod(shape))
        if coils is None:
            return scale * self._transform(locs)
        if coils.ndim != self.ndim:
            raise ArgumentError(f"Phantom.kspace: coils of {coils.ndim} dims with a phantom of {self.ndim}")
        frequencies, weights = coils.series()
        result = np.zeros((coils.count, *locs.shape[:-1]), complex)
        for coil in range(coils.count):
            for frequency, weight in zip(frequencies[coil], weights[coil], strict=True):
                result[coil] += scale * weight * self._transform(locs - frequency)
        return result

    def projections(self, angles: Numbers, offsets: Numbers) -> _Floats:
        """Exact line integrals (2-D), in units of half the field of view: (angles, offsets).

        A line at angle t and offset s holds the points x cos t + y sin t = s, x along the last axis of the image.

        >>> disc = ts.imaging.Phantom([1.0], [[0.0, 0.0]], [[0.5, 0.5]], [0.0])
        >>> disc.projections([0.0, 1.0], [0.0, 0.3, 0.6]).round(3).tolist()
        [[1.0, 0.8, 0.0], [1.0, 0.8, 0.0]]
        """
        if self.ndim != 2:
            raise ArgumentError("Phantom.projections: a phantom of 3 dims; expected 2")
        angles, offsets = np.asarray(angles, float), np.asarray(offsets, float)
        if angles.ndim != 1 or offsets.ndim != 1:
            raise ArgumentError(
                f"Phantom.projections: angles of shape {angles.shape} and offsets of shape {offsets.shape}; "
                "expected vectors"
            )
        result = np.zeros((angles.size, offsets.size))
        for value, (y, x), (b, a), turn in zip(self.values, self.centres, self.radii, self.angles, strict=True):
            square = (a * np.cos(angles - turn)) ** 2 + (b * np.sin(angles - turn)) ** 2
            s = offsets[None, :] - (x * np.cos(angles) + y * np.sin(angles))[:, None]
            chord = np.sqrt(np.maximum(square[:, None] - s**2, 0))
            result += 2 * value * a * b * chord / square[:, None]
        return result

    def _same_ndim(self, who: str, shape: Sequence[int]) -> None:
        if len(shape) != self.ndim or min(shape) < 1:
            raise ArgumentError(f"Phantom.{who}: shape {tuple(shape)}; expected {self.ndim} positive sizes")

    def _own_axes(self, row: int, x: Sequence[_Floats]) -> list[_Floats]:
        """Coordinates along the axes of an ellipse: the last two are turned."""
        c, s = math.cos(self.angles[row]), math.sin(self.angles[row])
        return [*x[:-2], c * x[-2] - s * x[-1], s * x[-2] + c * x[-1]]

    def _transform(self, locs: _Floats) -> npt.NDArray[Any]:
        """The integral of the object times exp(-2 pi i k r), r in units of the field of view."""
        k = [locs[..., i] for i in range(self.ndim)]
        result = np.zeros(locs.shape[:-1], complex)
        for row, value in enumerate(self.values):
            radii = self.radii[row] / 2
            own = self._own_axes(row, k)
            rho = np.sqrt(sum((x * r) ** 2 for x, r in zip(own, radii, strict=True)))
            turn = np.exp(-1j * np.pi * sum(x * c for x, c in zip(k, self.centres[row], strict=True)))
            result += value * math.prod(radii) * _ball(rho, self.ndim) * turn
        return result


def _ball(rho: _Floats, ndim: int) -> _Floats:
    """The Fourier transform of the disc or ball of radius one at frequency rho."""
    x = 2 * np.pi * np.atleast_1d(rho)
    small = x < 1e-2
    safe = np.where(small, 1.0, x)
    if ndim == 2:
        far, near = 2 * np.pi * bessel_j1(safe) / safe, np.pi * (1 - x**2 / 8 + x**4 / 192)
    else:
        far = 4 * np.pi * (np.sin(safe) - safe * np.cos(safe)) / safe**3
        near = 4 * np.pi / 3 * (1 - x**2 / 10 + x**4 / 280)
    return np.where(small, near, far).reshape(np.shape(rho))


# Value, centre (x, y, z), radii (x, y, z), angle in degrees: Shepp and Logan's head, with the values of Toft for
# displays that show soft tissue.
_HEAD = (
    (1.0, (0.0, 0.0, 0.0), (0.69, 0.92, 0.81), 0),
    (-0.8, (0.0, -0.0184, 0.0), (0.6624, 0.874, 0.78), 0),
    (-0.2, (0.22, 0.0, 0.0), (0.11, 0.31, 0.22), -18),
    (-0.2, (-0.22, 0.0, 0.0), (0.16, 0.41, 0.28), 18),
    (0.1, (0.0, 0.35, -0.15), (0.21, 0.25, 0.41), 0),
    (0.1, (0.0, 0.1, 0.25), (0.046, 0.046, 0.05), 0),
    (0.1, (0.0, -0.1, 0.25), (0.046, 0.046, 0.05), 0),
    (0.1, (-0.08, -0.605, 0.0), (0.046, 0.023, 0.05), 0),
    (0.1, (0.0, -0.605, 0.0), (0.023, 0.023, 0.02), 0),
    (0.1, (0.06, -0.605, 0.0), (0.023, 0.046, 0.02), 0),
)


def shepp_logan(ndim: int = 2) -> Phantom:
    """Shepp and Logan's head, in 2 or 3 dims, its forehead at the first rows.

    >>> image = ts.imaging.shepp_logan().image((64, 64))
    >>> float(image.max()), float(image[32, 32].round(2))
    (1.0, 0.2)
    """
    if ndim not in (2, 3):
        raise ArgumentError(f"shepp_logan: {ndim} dims; expected 2 or 3")
    pick = slice(3 - ndim, 3)
    values, centres, radii, angles = [], [], [], []
    for value, (x, y, z), (a, b, c), degrees in _HEAD:
        values.append(value)
        centres.append((z, -y, x)[pick])  # rows go down
        radii.append((c, b, a)[pick])
        angles.append(-math.radians(degrees))
    return Phantom(values, centres, radii, angles)
