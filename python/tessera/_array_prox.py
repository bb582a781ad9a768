# SPDX-License-Identifier: Apache-2.0
"""Proximal maps that are functions of whole arrays, on the device where these are: low rank and wavelets."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import tessera as ts

from ._tessera import ArgumentError, Array, asarray


class ArrayProx:
    """A proximal map by array functions: called as a :class:`Prox` is, pickled as its arguments.

    >>> ts.solve.prox.low_rank(1.0)([[3.0, 0.0], [0.0, 0.5]]).numpy().round(6).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """

    def __init__(self, made: Callable[..., ArrayProx], arguments: tuple[Any, ...], function: Callable[..., Array]):
        self._made, self._arguments, self._function = made, arguments, function
        known = ", ".join(str(a) for a in arguments)
        self.name = f"{made.__name__.removeprefix('_prox_')}({known})"

    def __call__(self, v: Any, t: float = 1.0) -> Array:
        return self.at_iteration(v, t, None)

    def at_iteration(self, v: Any, t: float, iteration: int | None) -> Array:
        """The map of an iteration of a solver, counted from 0, which random shifts follow; None: of no solver.

        >>> p = ts.solve.prox.wavelet(1.0, "haar", seed=0)
        >>> [p.at_iteration([4.0, 0.0, 0.0, 0.0], 1.0, i).numpy().round(1).tolist() for i in (1, 2)]
        [[2.3, 0.0, 0.0, -0.3], [2.3, -0.3, 0.0, 0.0]]
        """
        x = asarray(v)
        x = x if str(x.dtype).startswith(("float", "complex")) else x.astype("float64")
        return self._function(x, t, iteration) if x.size else x

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made, self._arguments

    def __repr__(self) -> str:
        return f"prox.{self.name}"


def _shifts(seed: int | None, v: Array, within: Sequence[int], iteration: int | None = None) -> list[int]:
    """How far the grid is moved along each axis: drawn from the seed and the number of the iteration, so that a solve
    that goes on after a kill, or runs elsewhere, is the same one; in no solver from the numbers themselves, so that the
    same array is always treated alike."""
    if seed is None:
        return [0] * len(within)
    if iteration is None:
        total = complex(ts.sum(v))
        words = struct.pack("<Qdd", seed & 0xFFFFFFFFFFFFFFFF, total.real, total.imag)
    else:
        words = struct.pack("<QQ", seed & 0xFFFFFFFFFFFFFFFF, iteration)
    drawn = int.from_bytes(hashlib.blake2b(words).digest(), "little")
    shifts = []
    for n in within:
        drawn, shift = divmod(drawn, n)
        shifts.append(shift)
    return shifts


def lowered(matrices: Array, threshold: float) -> Array:
    """Matrices (..., m, n) with each singular value lowered by ``threshold``, by way of the smaller of the two
    products, in double precision: it squares the singular values."""
    m, n = matrices.shape[-2:]
    wide = matrices if m <= n else matrices.mT
    double = wide.astype("complex128" if "complex" in str(wide.dtype) else "float64")
    values, vectors = ts.linalg.eigh(ts.matmul(double, ts.conj(double).mT))
    size = ts.sqrt(ts.maximum(values, 0.0))
    kept = ts.where(size > threshold, 1 - threshold / ts.maximum(size, 1e-300), 0.0)
    found = ts.matmul(vectors * kept[..., None, :], ts.matmul(ts.conj(vectors).mT, double)).astype(matrices.dtype)
    return found if m <= n else found.mT


def _low_rank(
    x: Array, threshold: float, block: int | None, axis: int, seed: int | None, iteration: int | None
) -> Array:
    frames = ts.moveaxis(x, axis, 0)
    times, shape = frames.shape[0], frames.shape[1:]
    sizes = [n if block is None else min(block, n) for n in shape]
    axes = tuple(range(1, frames.ndim))
    shifts = _shifts(seed, x, sizes, iteration)
    moved = ts.roll(frames, tuple(-s for s in shifts), axes) if any(shifts) else frames
    # Zeros that fill the last blocks change no singular value.
    fill = [-n % s for n, s in zip(shape, sizes, strict=True)]
    padded = ts.pad(moved, [(0, 0), *[(0, f) for f in fill]]) if any(fill) else moved
    counts = [(n + f) // s for n, f, s in zip(shape, fill, sizes, strict=True)]
    grid = padded.reshape((times, *[k for pair in zip(counts, sizes, strict=True) for k in pair]))
    places, inner = range(1, 2 * len(shape), 2), range(2, 2 * len(shape) + 1, 2)
    order = [*places, 0, *inner]
    blocks = grid.transpose(order)
    flat = lowered(blocks.reshape((-1, times, math.prod(sizes))), threshold).reshape(blocks.shape)
    back = flat.transpose([order.index(k) for k in range(len(order))]).reshape(padded.shape)
    inside = (slice(None), *[slice(0, n) for n in shape])
    result = back[inside]
    result = ts.roll(result, tuple(shifts), axes) if any(shifts) else result
    return ts.moveaxis(result, 0, axis)


def _prox_low_rank(lam: float, block: int | None = None, axis: int = 0, seed: int | None = None) -> ArrayProx:
    if not lam >= 0:
        raise ArgumentError(f"prox.low_rank: lam {lam} must not be negative")
    if block is not None and block < 1:
        raise ArgumentError(f"prox.low_rank: blocks of {block} elements; expected at least 1")

    def apply(x: Array, t: float, iteration: int | None) -> Array:
        if x.ndim < 1 or not -x.ndim <= axis < x.ndim:
            raise ArgumentError(f"prox.low_rank: axis {axis} of an array of {x.ndim} axes")
        return _low_rank(x, lam * t, block, axis, seed, iteration)

    return ArrayProx(_prox_low_rank, (lam, block, axis, seed), apply)


def _prox_wavelet(lam: float, wavelet: str = "db4", axes: Any = None, seed: int | None = None) -> ArrayProx:
    if not lam >= 0:
        raise ArgumentError(f"prox.wavelet: lam {lam} must not be negative")
    chosen = None if axes is None else tuple(axes) if isinstance(axes, Sequence) else (axes,)
    ts.Wavelet(("X",), wavelet)  # an unknown name is refused here

    def apply(x: Array, t: float, iteration: int | None) -> Array:
        given = tuple(range(x.ndim)) if chosen is None else chosen
        if any(not -x.ndim <= a < x.ndim for a in given) or len({a % x.ndim for a in given}) != len(given):
            raise ArgumentError(f"prox.wavelet: axes {given} of an array of {x.ndim} axes")
        along = tuple(a % x.ndim for a in given)
        last = tuple(range(x.ndim - len(along), x.ndim))
        shifts = _shifts(seed, x, [x.shape[a] for a in along], iteration)
        moved = ts.moveaxis(ts.roll(x, tuple(-s for s in shifts), along) if any(shifts) else x, along, last)
        W = ts.Wavelet(tuple(f"W{i}" for i in range(len(along))), wavelet)
        back = ts.moveaxis(W.H(ts.solve.prox.l1(lam)(W(moved), t)), last, along)
        return ts.roll(back, tuple(shifts), along) if any(shifts) else back

    return ArrayProx(_prox_wavelet, (lam, wavelet, chosen, seed), apply)
