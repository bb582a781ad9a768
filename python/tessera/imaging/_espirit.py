# SPDX-License-Identifier: Apache-2.0
"""Maps of coils that are learned from the centre of k-space: ESPIRiT, in no more memory than it is given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError
from .._checked import Numbers
from ._finite import finite
from ._maps import strongest, with_phase_of
from ._placing import bytes_of

_AT_ONCE = 1 << 22  # entries of matrices, one for each pixel, that are in memory beside the maps
_COPIES = 8  # of those, while their eigenvectors are sought
ENOUGH = 0.9  # of the samples of a centre


def espirit(
    kspace: Numbers,
    *,
    calibration: int = 24,
    kernel: int = 6,
    maps: int = 1,
    threshold: float = 0.02,
    crop: float = 0.95,
    soft: bool = False,
    budget: Any = None,
) -> npt.NDArray[Any]:
    """Sensitivities from the fully sampled centre of Cartesian ``kspace`` (coils, *shape), by ESPIRiT: (coils, *shape),
    or (maps, coils, *shape) for several.

    ``calibration`` samples along each axis, patches of ``kernel`` samples, singular values above ``threshold`` of the
    largest. Pixels whose eigenvalue is below ``crop`` are zero; with ``soft`` they fade in between crop and one.
    The phase is that of the first coil. ``budget``, bytes or text as "2GiB", is what is held at most beside ``kspace``
    and the maps: the image is worked on in slabs that fit it.

    >>> truth = ts.imaging.Coils(4).maps((24, 24))
    >>> disc = np.hypot(*np.mgrid[-12:12, -12:12]) < 9
    >>> data = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(truth * disc, axes=(1, 2))), axes=(1, 2))
    >>> found = ts.imaging.espirit(data, calibration=16, kernel=4)
    >>> seen = np.abs((found.conj() * truth).sum(0)) / np.linalg.norm(truth, axis=0)
    >>> bool((seen[disc] > 0.99).all())
    True
    """
    data = np.asarray(kspace)
    if data.ndim not in (3, 4):
        raise ArgumentError(f"espirit: kspace of shape {data.shape}; expected (coils, *shape) with 2 or 3 dims")
    coils, shape = data.shape[0], data.shape[1:]
    widths = [min(calibration, n) for n in shape]
    kernels = [min(kernel, w) for w in widths]
    if min(kernels) < 1 or not 1 <= maps <= coils:
        raise ArgumentError(f"espirit: calibration {calibration}, kernel {kernel}, {maps} maps of {coils} coils")
    begins = [n // 2 - w // 2 for n, w in zip(shape, widths, strict=True)]
    block = [slice(begin, begin + w) for begin, w in zip(begins, widths, strict=True)]
    centre = data[tuple([slice(None), *block])]
    if not (0 <= threshold < 1 and 0 <= crop <= 1):
        raise ArgumentError(f"espirit: threshold {threshold}, crop {crop}; expected at least 0, below 1 and at most 1")
    return maps_of_centre(
        centre, shape, kernels=kernels, maps=maps, threshold=threshold, crop=crop, soft=soft, budget=budget
    )


def maps_of_centre(
    centre: npt.NDArray[Any],
    shape: Sequence[int],
    *,
    kernels: Sequence[int],
    maps: int = 1,
    threshold: float = 0.02,
    crop: float = 0.95,
    soft: bool = False,
    budget: Any = None,
    out: npt.NDArray[Any] | None = None,
) -> npt.NDArray[Any]:
    """What :func:`espirit` makes of the samples of the centre (coils, *widths), for an image of ``shape``; one set of
    maps is written into ``out`` where it is given."""
    finite("espirit", **{"the centre of kspace": centre})
    seen, widths = centre.any(0), centre.shape[1:]
    if not seen.any():
        raise ArgumentError(f"espirit: the centre of k-space, {widths} samples, is empty; nothing to learn from")
    if seen.mean() < ENOUGH:
        raise ArgumentError(
            f"espirit: {int(seen.sum())} of {seen.size} samples in the centre of kspace, {widths}, are there, "
            "the others zero in all coils; maps cannot be learned from them: give a narrower calibration, or joint_maps"
        )
    coils, kind = len(centre), np.result_type(centre.dtype, np.complex64)
    room = _Room(centre.astype(kind, copy=False), kernels, budget)
    partial = _correlations(_row_space(room, threshold), room.at_once)
    partial = (partial / math.prod(kernels)).astype(kind).reshape(*partial.shape[:-2], coils**2)
    result = np.empty((maps, coils, *shape), kind) if out is None else out[None]
    for place, products in _products(partial, shape, (), room.at_once):
        values, vectors = strongest(products.reshape(-1, coils, coils), maps, crop)
        sizes = [end.stop - end.start for end in place]
        for which in range(maps):
            strength = values[:, which]
            weight = np.clip((strength - crop) / (1 - crop), 0, 1) if soft and crop < 1 else strength >= crop
            found = with_phase_of(vectors[:, :, which], 0) * weight[:, None]
            at: Any = (which, slice(None), *place)
            result[at] = found.T.reshape(coils, *sizes)
    return result[0] if maps == 1 else result


class _Room:
    """Patches of the centre, and how many entries of matrices may be held at once while maps are made of them."""

    def __init__(self, centre: npt.NDArray[Any], kernels: Sequence[int], budget: Any):
        self.coils, self.kernels = len(centre), tuple(kernels)
        windows = np.lib.stride_tricks.sliding_window_view(centre, self.kernels, axis=tuple(range(1, centre.ndim)))
        spatial = len(self.kernels)
        self._windows = windows.transpose(*range(1, 1 + spatial), 0, *range(1 + spatial, 1 + 2 * spatial))
        self.patches = math.prod(self._windows.shape[:spatial])
        self.taps = math.prod(self.kernels)
        self.at_once = _AT_ONCE
        if budget is not None:
            item = centre.dtype.itemsize
            least = min(self.patches, self.coils * self.taps)  # of the two products of the patches
            series = math.prod(2 * n - 1 for n in self.kernels) * self.coils**2
            fixed = max(5 * least**2 + least * self.coils * self.taps, 3 * series)
            given, needed = bytes_of(budget), item * (fixed + _COPIES * max(self.coils**2, self.patches * self.taps))
            if given < needed:
                raise ArgumentError(
                    f"espirit: a budget of {given} bytes; {self.patches} patches of {self.coils} coils and "
                    f"{self.kernels} samples take {needed}: give fewer coils (compress_coils), or a narrower "
                    "calibration or kernel"
                )
            self.at_once = min(_AT_ONCE, (given // item - fixed) // _COPIES)

    def rows(self) -> Iterator[npt.NDArray[Any]]:
        """The patches as the rows of a matrix, the columns of some coils at a time."""
        step = max(1, self.at_once // (self.patches * self.taps))
        for begin in range(0, self.coils, step):
            part = self._windows[(slice(None),) * len(self.kernels) + (slice(begin, begin + step),)]
            yield part.reshape(self.patches, -1)


def _row_space(room: _Room, threshold: float) -> npt.NDArray[Any]:
    """Orthonormal kernels (kept, coils, *kernels): what patches of the calibration data are made of."""
    few = room.patches < room.coils * room.taps  # as in volumes: the smaller of the two products knows all
    if few:
        product: Any = 0
        for part in room.rows():
            product = product + part @ part.conj().T
    else:
        product = np.concatenate([np.concatenate([a.conj().T @ b for b in room.rows()], 1) for a in room.rows()])
    values, vectors = (part.numpy() for part in ts.linalg.eigh(ts.asarray(product)))
    del product
    sizes = np.sqrt(np.maximum(values, 0))
    kept = sizes > max(threshold, math.sqrt(np.finfo(values.dtype).eps)) * sizes[-1]
    left = vectors[:, kept].conj().T
    del vectors
    right = np.concatenate([(left / sizes[kept, None]) @ part for part in room.rows()], 1) if few else left
    return right.reshape(-1, room.coils, *room.kernels)


def _correlations(kernels: npt.NDArray[Any], at_once: int) -> npt.NDArray[Any]:
    """The sum over kernels of the correlations of their coils, (*widths, coils, coils), widths of 2 taps - 1."""
    axes = tuple(range(2, kernels.ndim))
    widths = [2 * n - 1 for n in kernels.shape[2:]]
    coils, sums = kernels.shape[1], np.zeros((), kernels.dtype)
    step = max(1, at_once // (coils * math.prod(widths)))
    for begin in range(0, len(kernels), step):
        spectra = np.fft.fftn(kernels[begin : begin + step], widths, axes)
        lead = np.moveaxis(spectra.reshape(*spectra.shape[:2], -1), -1, 0)  # (frequency, kernel, coil)
        sums = sums + lead.transpose(0, 2, 1) @ lead.conj()
    spatial = tuple(range(len(widths)))
    return np.fft.fftshift(np.fft.ifftn(sums.reshape(*widths, coils, coils), axes=spatial), spatial)


def _products(
    partial: npt.NDArray[Any], shape: Sequence[int], place: tuple[slice, ...], at_once: int
) -> Iterator[tuple[tuple[slice, ...], npt.NDArray[Any]]]:
    """Each pixel's product of kernels, (*sizes, coils * coils), slab by slab with where it lies. The products are the
    Fourier series of the kernels' correlations: of few terms, however many kernels there are."""
    first = _waves(partial.shape[0], shape[0]).astype(partial.dtype)
    row = math.prod(shape[1:]) * partial.shape[-1]
    step = max(1, at_once // max(1, row))
    for begin in range(0, shape[0], step):
        end = min(shape[0], begin + step)
        slab = (first[:, begin:end].T @ partial.reshape(len(partial), -1)).reshape(end - begin, *partial.shape[1:])
        here = (*place, slice(begin, end))
        if row > at_once and len(shape) > 1:
            yield from _products(slab[0], shape[1:], here, at_once)
            continue
        for axis in range(1, len(shape)):  # of a slab that fits, along all axes that are left
            waves = _waves(slab.shape[axis], shape[axis]).astype(slab.dtype).T
            flat = slab.reshape(math.prod(slab.shape[:axis]), slab.shape[axis], -1)
            slab = (waves @ flat).reshape(*slab.shape[:axis], shape[axis], *slab.shape[axis + 1 :])
        yield (*here, *(slice(0, n) for n in shape[1:])), slab


def _waves(taps: int, n: int) -> npt.NDArray[Any]:
    """exp(2 pi i j r) of the taps j of a kernel at the n pixels r of an axis."""
    return np.exp(2j * np.pi * np.outer(np.arange(taps) - taps // 2, (np.arange(n) - n // 2) / n))
