# SPDX-License-Identifier: Apache-2.0
"""Where k-space is sampled: locations (readouts, samples, ndim) in cycles per field of view, inside [-n/2, n/2] for an
image of n pixels along each axis, as ``ts.NUFFT`` takes them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ArgumentError

GOLDEN_ANGLE = math.pi * (math.sqrt(5) - 1) / 2  # 111.25 degrees
_PLANE = (0.4656, 0.6823)  # the golden means of the plane, rounded as in the literature

_Floats = npt.NDArray[Any]


_MEASURES = ("n", "turns", "density")  # which need not be whole, as counts are


def _positive(who: str, **counts: Any) -> None:
    for name, value in counts.items():
        kind, wanted = (numbers.Real, "a number") if name in _MEASURES else (numbers.Integral, "a whole number")
        if not isinstance(value, kind) or not 0 < float(value) < math.inf:
            raise ArgumentError(f"{who}: {name} is {value!r}; expected {wanted}, more than 0")


def _spokes(angles: _Floats, samples: int, n: int) -> _Floats:
    along = (np.arange(samples) - samples // 2) * (n / samples)
    return np.stack([np.sin(angles)[:, None] * along, np.cos(angles)[:, None] * along], -1)


def radial(spokes: int, samples: int, n: int, *, golden: bool = False, first: int = 0) -> _Floats:
    """Spokes through the centre: evenly over half a turn, or each a golden angle after the last, from spoke ``first``.

    >>> k = ts.imaging.radial(4, 8, 16)
    >>> k.shape, k[0, :, 1].tolist()
    ((4, 8, 2), [-8.0, -6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0])
    """
    _positive("radial", spokes=spokes, samples=samples, n=n)
    number = np.arange(first, first + spokes)
    return _spokes(number * (GOLDEN_ANGLE if golden else math.pi / spokes), samples, n)


def spiral(arms: int, samples: int, n: int, *, turns: float | None = None, density: float = 1.0) -> _Floats:
    """Spirals from the centre outwards. ``turns`` of one arm, by default as many as ``arms`` need to sample a field of
    view; ``density`` above one samples the centre more densely.

    >>> k = ts.imaging.spiral(8, 100, 32)
    >>> k.shape, float(np.hypot(*k[0, -1]).round(6))
    ((8, 100, 2), 16.0)
    """
    _positive("spiral", arms=arms, samples=samples, n=n, density=density)
    around = n / (2 * arms) if turns is None else turns
    _positive("spiral", turns=around)
    t = np.linspace(0, 1, samples)
    # With density one the speed along the arm is even: the angle grows as the root of time.
    radius = (n / 2) * t ** (density / 2)
    angle = 2 * np.pi * (around * np.sqrt(t)[None, :] + np.arange(arms)[:, None] / arms)
    return np.stack([radius * np.sin(angle), radius * np.cos(angle)], -1)


def rosette(petals: int, samples: int, n: int, *, turn: float = 1 / math.sqrt(2)) -> _Floats:
    """Petals through the centre; ``turn`` is the ratio of the slow to the fast oscillation.

    >>> ts.imaging.rosette(3, 50, 32).shape
    (3, 50, 2)
    """
    _positive("rosette", petals=petals, samples=samples, n=n)
    t = np.linspace(0, 2 * np.pi, samples, endpoint=False)[None, :]
    angle = turn * t + 2 * np.pi * np.arange(petals)[:, None] / petals
    radius = (n / 2) * np.sin(t)
    return np.stack([radius * np.sin(angle), radius * np.cos(angle)], -1)


def epi(lines: int, samples: int, n: int, *, shots: int = 1) -> _Floats:
    """Lines forth and back, dealt to ``shots``: (shots, lines / shots * samples, 2).

    >>> k = ts.imaging.epi(4, 4, 4)
    >>> k.shape, k[0, 3:5].tolist()
    ((1, 16, 2), [[-2.0, 1.0], [-1.0, 1.0]])
    """
    _positive("epi", lines=lines, samples=samples, n=n, shots=shots)
    if lines % shots:
        raise ArgumentError(f"epi: {lines} lines in {shots} shots; expected a multiple")
    along = (np.arange(samples) - samples // 2) * (n / samples)
    rows = (np.arange(lines) - lines // 2) * (n / lines)
    result = np.empty((shots, lines // shots, samples, 2))
    for line in range(lines):
        shot, number = line % shots, line // shots
        result[shot, number, :, 0] = rows[line]
        result[shot, number, :, 1] = along if number % 2 == 0 else along[::-1]
    return result.reshape(shots, -1, 2)


def stack_of_stars(spokes: int, samples: int, n: int, planes: int, *, golden: bool = False) -> _Floats:
    """Radial spokes in each of ``planes`` along the first axis: (planes * spokes, samples, 3).

    >>> k = ts.imaging.stack_of_stars(5, 8, 16, 4)
    >>> k.shape, sorted(set(k[..., 0].ravel().tolist()))
    ((20, 8, 3), [-2.0, -1.0, 0.0, 1.0])
    """
    _positive("stack_of_stars", planes=planes)
    star = radial(spokes, samples, n, golden=golden)
    heights = np.arange(planes) - planes // 2
    result = np.empty((planes, spokes, samples, 3))
    result[..., 1:] = star
    result[..., 0] = heights[:, None, None]
    return result.reshape(-1, samples, 3)


def kooshball(spokes: int, samples: int, n: int, *, first: int = 0) -> _Floats:
    """Spokes through the centre of 3-D k-space, spread by the golden means of the plane, any run of them evenly.

    >>> k = ts.imaging.kooshball(10, 8, 16)
    >>> k.shape, np.linalg.norm(k[:, 0], axis=-1).round(6).tolist() == [8.0] * 10
    ((10, 8, 3), True)
    """
    _positive("kooshball", spokes=spokes, samples=samples, n=n)
    number = np.arange(first, first + spokes)
    height = 2 * (number * _PLANE[0] % 1) - 1
    turn = 2 * np.pi * (number * _PLANE[1] % 1)
    around = np.sqrt(1 - height**2)
    directions = np.stack([height, around * np.sin(turn), around * np.cos(turn)], -1)
    along = (np.arange(samples) - samples // 2) * (n / samples)
    return directions[:, None, :] * along[:, None]


def cones(interleaves: int, samples: int, n: int, *, levels: int | None = None, turns: float = 4.0) -> _Floats:
    """Spirals on cones around the first axis, from the centre outwards: (levels * interleaves, samples, 3).

    >>> ts.imaging.cones(4, 64, 16, levels=6).shape
    (24, 64, 3)
    """
    _positive("cones", interleaves=interleaves, samples=samples, n=n, turns=turns)
    count = max(1, n // 2) if levels is None else levels
    _positive("cones", levels=count)
    t = np.linspace(0, 1, samples)
    height = (2 * np.arange(count) + 1) / count - 1  # cosines: even over the sphere
    around = np.sqrt(1 - height**2)
    angle = 2 * np.pi * (turns * np.sqrt(t)[None, :] + np.arange(interleaves)[:, None] / interleaves)
    radius = (n / 2) * t
    result = np.empty((count, interleaves, samples, 3))
    result[..., 0] = radius * height[:, None, None]
    result[..., 1] = radius * around[:, None, None] * np.sin(angle)
    result[..., 2] = radius * around[:, None, None] * np.cos(angle)
    return result.reshape(-1, samples, 3)


def poisson_disc(
    shape: Sequence[int], acceleration: float, *, calibration: int = 24, density: float = 2.0, seed: int = 0
) -> npt.NDArray[np.bool_]:
    """A mask of ``shape`` that keeps one in ``acceleration`` samples, none too near to another, more densely
    towards the centre (``density`` 0: evenly), with a full block of ``calibration`` samples along each axis.

    >>> mask = ts.imaging.poisson_disc((64, 64), 4, calibration=12)
    >>> bool(mask[26:38, 26:38].all()), bool(abs(mask.size / mask.sum() - 4) < 0.4)
    (True, True)
    """
    if len(shape) != 2 or min(shape) < 1 or not acceleration >= 1:
        raise ArgumentError(f"poisson_disc: shape {tuple(shape)}, acceleration {acceleration}; expected 2 sizes, >= 1")
    block = tuple(min(calibration, n) for n in shape)
    wanted = math.prod(shape) / acceleration
    if math.prod(block) > wanted:
        raise ArgumentError(
            f"poisson_disc: {block} samples of calibration are more than the {wanted:.0f} that acceleration "
            f"{acceleration} keeps of {tuple(shape)}"
        )
    order = np.random.default_rng(seed).permutation(math.prod(shape))
    # The same order for every spacing: the number of samples falls with the spacing, but for a few.
    low, high = 0.0, float(max(shape))
    for _ in range(18):
        spacing = (low + high) / 2
        many = _thrown(shape, block, spacing, density, order).sum() >= wanted
        low, high = (spacing, high) if many else (low, spacing)
    mask = _thrown(shape, block, low, density, order)
    # Distances on a grid come in steps: where one spacing keeps too many and the next too few, some are left out.
    loose = [place for place in order if mask.flat[place] and not _in_block(place, shape, block)]
    for place in loose[: int(mask.sum() - round(wanted))]:
        mask.flat[place] = False
    return mask


def _block(shape: Sequence[int], block: Sequence[int]) -> tuple[slice, ...]:
    """The middle of an array, of the sizes of ``block``."""
    return tuple(slice(n // 2 - b // 2, n // 2 - b // 2 + b) for n, b in zip(shape, block, strict=True))


def _in_block(place: int, shape: Sequence[int], block: Sequence[int]) -> bool:
    at = np.unravel_index(place, tuple(shape))
    return all(part.start <= i < part.stop for i, part in zip(at, _block(shape, block), strict=True))


def _thrown(shape: Sequence[int], block: Any, spacing: float, density: float, order: Any) -> npt.NDArray[np.bool_]:
    """Samples in random order, each of which keeps its neighbours away."""
    y, x = (np.arange(n) - n // 2 for n in shape)
    far = np.hypot(y[:, None] / max(1, shape[0] / 2), x[None, :] / max(1, shape[1] / 2))
    reach = spacing * (0.2 + far) ** (density / 2) if density else np.full(tuple(shape), spacing)
    free = np.ones(tuple(shape), bool)
    mask = np.zeros(tuple(shape), bool)
    for place in order:
        i, j = divmod(int(place), shape[1])
        if not free[i, j]:
            continue
        mask[i, j] = True
        r = reach[i, j]
        if r >= 1:
            w = int(r)
            top, left = max(0, i - w), max(0, j - w)
            near = np.s_[top : i + w + 1, left : j + w + 1]
            rows, columns = free[near].shape
            distance = np.hypot(np.arange(top - i, top - i + rows)[:, None], np.arange(left - j, left - j + columns))
            free[near] &= distance > r
    mask[_block(shape, block)] = True
    return mask
