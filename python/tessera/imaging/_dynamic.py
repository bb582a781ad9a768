# SPDX-License-Identifier: Apache-2.0
"""Images that belong together: several frames of one object, reconstructed as one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError
from .._array_prox import ArrayProx, Pass, _low_rank, lowered
from .._checked import Numbers
from ._automatic import TRY, FrameOnDisk, chosen, level_of
from ._finite import finite
from ._measured import as_precise
from ._placing import brought, goes_to_disk, is_stored, precision_of, within
from ._recipes import _DIMS, _KDIMS, Reconstruction, _factors, sense_operator

_AT_ONCE = 256  # blocks that are in memory beside the frames


def low_rank_blocks(frames: Numbers, block: int, threshold: float) -> npt.NDArray[Any]:
    """Shrinks the singular values of every block of ``block`` pixels along each axis of frames (time, *shape), as
    matrices of time by pixels; the mean over two grids of blocks, half a block apart, so that no seams show.

    >>> flat = np.outer(np.arange(1, 4), np.ones(16)).reshape(3, 4, 4)
    >>> bool(np.allclose(ts.imaging.low_rank_blocks(flat, 4, 0.0), flat))
    True
    >>> bool(ts.imaging.low_rank_blocks(flat, 4, 99.0).any())
    False
    """
    x = np.asarray(frames)
    if x.ndim < 2 or block < 1:
        raise ArgumentError(
            f"low_rank_blocks: frames {x.shape}, blocks of {block}; expected (time, *shape), at least 1"
        )
    x = x if x.dtype.kind in "fc" else x.astype(float)
    result = np.zeros_like(x)
    shifts = (0, block // 2) if block > 1 else (0,)
    for shift in shifts:
        alike: dict[tuple[int, ...], list[Any]] = {}  # blocks of one shape are taken at once
        for place in itertools.product(*[_cuts(n, block, shift) for n in x.shape[1:]]):
            alike.setdefault(tuple(part.stop - part.start for part in place), []).append((slice(None), *place))
        for places in alike.values():
            for begin in range(0, len(places), _AT_ONCE):
                part = places[begin : begin + _AT_ONCE]
                blocks = np.stack([x[at].reshape(len(x), -1) for at in part])
                for at, low in zip(part, lowered(ts.asarray(blocks), threshold).numpy(), strict=True):
                    result[at] += low.reshape(x[at].shape)
    return result / len(shifts)


def _prox_low_rank_blocks(lam: float, block: int) -> ArrayProx:
    """:func:`low_rank_blocks` as a proximal map: of frames on disk, one grid of blocks after the other."""

    def apply(x: Any, t: float, _iteration: int | None) -> Any:
        return ts.asarray(low_rank_blocks(x.to("cpu").numpy(), block, lam * t)).to(x.device)

    def passes(shape: tuple[int, ...], itemsize: int, t: float, iteration: int, room: int) -> list[Pass]:
        def low(v: Any) -> Any:
            return _low_rank(v, lam * t, block, 0, None, None)

        blocks = (0, *(min(block, n) for n in shape[1:]))
        if block == 1:
            return [Pass(shape, blocks, lambda v, _kept, _at: low(v))]
        found = [Pass(shape, blocks, lambda v, _kept, _at: low(v), target="kept")]
        # The second grid begins with half a block along each axis.
        for place in itertools.product(*[[slice(0, block // 2), slice(block // 2, n)] for n in shape[1:]]):
            begin = (0, *(min(part.start, n) for part, n in zip(place, shape[1:], strict=True)))
            stop = (shape[0], *(min(part.stop, n) for part, n in zip(place, shape[1:], strict=True)))
            part = tuple(b - a for a, b in zip(begin, stop, strict=True))
            if math.prod(part) > 0:
                mean = Pass(part, blocks, lambda v, kept, _at: (low(v) + kept) / 2, begin=begin, reads_kept=True)
                found.append(mean)
        return found

    return ArrayProx(_prox_low_rank_blocks, (lam, block), apply, passes)


def _cuts(n: int, block: int, shift: int) -> list[slice]:
    ends = [0, *range(shift or block, n, block), n]
    return [slice(a, b) for a, b in itertools.pairwise(ends) if b > a]


def llr_dynamic(
    kspace: Numbers,
    maps: Numbers,
    *,
    lamda: float | str,
    locs: Numbers = None,
    mask: Numbers = None,
    weights: Numbers = None,
    field_map: Any = None,
    times: Any = None,
    block: int = 8,
    noise: float | None = None,
    maxiter: int = 50,
    rtol: float = 1e-4,
    device: Any = None,
    budget: Any = None,
    ranks: bool = False,
    progress: bool = False,
    checkpoint: Any = None,
) -> Reconstruction:
    """Frames (time, *shape) of samples (time, coils, ...): minimises |A x - y|^2 / 2 + lamda times the nuclear norms of
    all blocks of ``block`` pixels over time, by FISTA. ``locs``, ``mask`` and ``weights`` have an axis for time in
    front; other arguments are those of :func:`sense`, one field map and the times within a readout for all frames.

    >>> maps, truth = ts.imaging.Coils(6).maps((16, 16)), ts.imaging.shepp_logan().image((16, 16))
    >>> masks = np.stack([ts.imaging.poisson_disc((16, 16), 2, calibration=6, seed=i) for i in range(4)])
    >>> frames = truth * np.array([1.0, 1.1, 0.9, 1.0])[:, None, None]
    >>> kspace = np.stack([ts.imaging.sense_operator(maps)(frame).numpy() for frame in frames])
    >>> found = ts.imaging.llr_dynamic(kspace, maps, mask=masks, lamda=1e-3)
    >>> ts.imaging.nrmse(found.image, frames) < 0.05
    True
    """
    on_disk = is_stored(kspace, maps) or goes_to_disk(
        (len(kspace), *np.shape(maps)[1:]), np.shape(kspace), device=device, budget=budget, ranks=ranks
    )
    if isinstance(block, bool) or not isinstance(block, int | np.integer) or block < 1:
        raise ArgumentError(f"llr_dynamic: blocks of {block!r} pixels; expected a whole number, at least 1")
    with within(budget if on_disk else None):
        if on_disk:
            maps, data = (a if is_stored(a) else ts.stored.array(a) for a in (maps, kspace))
        else:
            data = np.asarray(kspace)
        given = {"locs": locs, "mask": mask, "weights": weights}
        for name, value in given.items():
            if value is not None and len(value) != len(data):
                raise ArgumentError(f"llr_dynamic: {name} of {len(value)} frames beside samples of {len(data)}")
        where: dict[str, Any] = dict(field_map=field_map, times=times, device=device, ranks=ranks)
        where["budget"] = None if on_disk else budget
        frames = range(len(data))
        if not frames:
            raise ArgumentError("llr_dynamic: samples of no frame; expected at least one")
        each: list[dict[str, Any]] = [{k: None if v is None else v[t] for k, v in given.items()} for t in frames]
        parts = [sense_operator(maps, **one, **where) for one in each]
        if on_disk and locs is None and field_map is None:
            A = _cartesian_frames(maps, each)
        else:
            A = ts.Stack(*parts, odim_and_idx=("T", 0), idim_and_idx=("T", 0))
        sizes = tuple(parts[0].size(dim) or 1 for dim in parts[0].oshape)
        if tuple(data.shape[1:]) != sizes:
            raise ArgumentError(f"llr_dynamic: k-space of shape {tuple(data.shape)}; expected (time, *{sizes})")
        if on_disk:
            finite("llr_dynamic", kspace=data)
        elif not np.isfinite(data).all():
            frame = int(np.argmin(np.isfinite(data).reshape(len(data), -1).all(1)))
            raise ArgumentError(f"llr_dynamic: samples of frame {frame} are not finite")
        factors = [_factors(one["mask"], one["weights"], sizes[1:]) for one in each]
        known = [np.ones(sizes[1:]) if f is None else f for f in factors]
        y = data * as_precise(np.stack(known)[:, None], data.dtype)
        y = y if on_disk else brought(ts.asarray(y), device=device, budget=budget, ranks=ranks)

        def spread() -> Any:
            samples = [FrameOnDisk(data, t) if on_disk else data[t] for t in frames]
            level = level_of("llr_dynamic", noise, [(samples[t], each[t]["locs"], known[t]) for t in frames])
            return level * np.abs(np.stack(known))[:, None]

        options: dict[str, Any] = dict(rtol=rtol, maxiter=maxiter, progress=progress, checkpoint=checkpoint)
        return _low_rank_frames(A, y, lamda, block, spread, options)


def _cartesian_frames(maps: Any, each: Sequence[dict[str, Any]]) -> Any:
    """All frames of samples on a grid in one operator, which is cut along frames and coils."""
    coils, *shape = maps.shape
    dims, kdims = _DIMS[len(shape)], _KDIMS[len(shape)]
    A = ts.Diagonal(maps, ("T", "C", *dims), ("T",)) @ ts.Repeat({"C": coils}, ("T", *dims), ("T", "C", *dims))
    A = ts.FFT(len(shape), ("T", "C"), (dims, kdims), centered=True) @ A
    factors = [_factors(one["mask"], one["weights"], tuple(shape)) for one in each]
    if any(f is not None for f in factors):
        kept = np.stack([np.ones(shape) if f is None else f for f in factors])[:, None]
        A = ts.Diagonal(as_precise(kept, precision_of(maps)), ("T", "C", *kdims)) @ A
    return A


def _low_rank_frames(A: Any, y: Any, lamda: Any, block: int, spread: Any, last: dict[str, Any]) -> Reconstruction:
    """:func:`llr_dynamic` of samples ``y``; ``last`` are the options of the last solve."""
    first = A.H(y)
    like: dict[str, Any] = dict(shape=first.shape, dtype=first.dtype)
    like |= {} if is_stored(first) else {"device": first.device}
    eigenvalue = ts.solve.power_method(A.N, **like, rtol=1e-3, maxiter=50).eigenvalue
    step = 1 / max(1.05 * float(eigenvalue), 1e-300)
    top = largest_of_blocks(first, block) if isinstance(lamda, str) else 0.0

    def solve(value: float, samples: Any, x0: Any, **options: Any) -> Any:
        prox = _prox_low_rank_blocks(value, block)
        return ts.solve.fista(A, samples, prox, first * 0 if x0 is None else x0, step=step, **options)

    def tried(*given: Any) -> Any:
        return solve(*given, **TRY).x

    strength = chosen("llr_dynamic", lamda, 0.01 * top, spread, tried, A, y)
    result = solve(strength, y, None, **last)
    return Reconstruction(result.x, A, result, strength)


def largest_of_blocks(frames: Any, block: int) -> float:
    """The largest singular value of a block, or more: a penalty above it leaves nothing. Frames may be on disk."""
    if math.prod(frames.shape) == 0:
        return 0.0
    squares = ts.sum(ts.abs(frames) ** 2, axis=0).numpy()
    for axis in range(squares.ndim):
        squares = np.add.reduceat(squares, np.arange(0, squares.shape[axis], block), axis)
    return float(np.sqrt(squares.max()))
