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
from .._array_prox import lowered
from .._checked import Numbers
from ._automatic import TRY, chosen, noise_size
from ._recipes import Reconstruction, _factors, sense_operator

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
    maxiter: int = 30,
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
    data = np.asarray(kspace)
    if isinstance(block, bool) or not isinstance(block, int | np.integer) or block < 1:
        raise ArgumentError(f"llr_dynamic: blocks of {block!r} pixels; expected a whole number, at least 1")
    given = {"locs": locs, "mask": mask, "weights": weights}
    for name, value in given.items():
        if value is not None and len(value) != len(data):
            raise ArgumentError(f"llr_dynamic: {name} of {len(value)} frames beside samples of {len(data)}")
    where: dict[str, Any] = dict(field_map=field_map, times=times, device=device, budget=budget, ranks=ranks)
    frames = range(len(data))
    each: list[dict[str, Any]] = [{k: None if v is None else v[t] for k, v in given.items()} for t in frames]
    parts = [sense_operator(maps, **one, **where) for one in each]
    A = ts.Stack(*parts, odim_and_idx=("T", 0), idim_and_idx=("T", 0))
    sizes = tuple(parts[0].size(dim) or 1 for dim in parts[0].oshape)
    if data.shape[1:] != sizes:
        raise ArgumentError(f"llr_dynamic: k-space of shape {data.shape}; expected (time, *{sizes})")
    if not np.isfinite(data).all():
        frame = int(np.argmin(np.isfinite(data).reshape(len(data), -1).all(1)))
        raise ArgumentError(f"llr_dynamic: samples of frame {frame} are not finite")
    factors = [_factors(one["mask"], one["weights"], sizes[1:]) for one in each]
    known = [np.ones(sizes[1:]) if f is None else f for f in factors]
    y = ts.asarray(data * np.stack(known)[:, None].astype(data.real.dtype))
    first = A.H(y)
    top = largest_of_blocks(first.numpy(), block)
    eigenvalue = ts.solve.power_method(A.N, shape=first.shape, dtype=first.dtype, rtol=1e-3, maxiter=50).eigenvalue
    step = 1 / max(1.05 * float(eigenvalue), 1e-300)

    def solve(value: float, x0: Any, **options: Any) -> Any:
        def prox(v: Any, t: float) -> Any:
            return low_rank_blocks(v.numpy(), block, value * t)

        return ts.solve.fista(A, y, prox, first * 0 if x0 is None else x0, step=step, **options)

    def size() -> float:
        return noise_size("llr_dynamic", noise, [(data[t], each[t]["locs"], known[t]) for t in frames])

    strength = chosen("llr_dynamic", lamda, 0.01 * top, size, lambda value, x0: solve(value, x0, **TRY).x, A, y)
    result = solve(strength, None, rtol=rtol, maxiter=maxiter, progress=progress, checkpoint=checkpoint)
    return Reconstruction(result.x, A, result, strength)


def largest_of_blocks(frames: npt.NDArray[Any], block: int) -> float:
    """The largest singular value of a block: a penalty above it leaves nothing."""
    places: Sequence[Any] = list(itertools.product(*[_cuts(n, block, 0) for n in frames.shape[1:]]))
    blocks = [(slice(None), *place) for place in places]
    sizes = [np.linalg.norm(frames[at].reshape(len(frames), -1)) for at in blocks]
    return float(max(sizes, default=0.0)) if math.prod(frames.shape) else 0.0
