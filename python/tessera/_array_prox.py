# SPDX-License-Identifier: Apache-2.0
"""Proximal maps that are functions of whole arrays, on the device where these are: low rank and wavelets."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tessera as ts

from ._tessera import ArgumentError, Array, _wavelet_levels, asarray


@dataclass(frozen=True)
class Pass:
    """What a map does in one pass over a vector on disk: the numbers from ``begin`` on, ``shape`` of them, in boxes of
    whole ``blocks`` (0: all along this axis), the first of which begins at ``shift``, cyclically. ``map`` takes a box,
    what was kept of it where ``reads_kept``, and its place in the grid of blocks; what it gives is written to the
    ``target``: "vector", "kept" (a vector beside it) or "nothing"."""

    shape: tuple[int, ...]
    blocks: tuple[int, ...]
    map: Callable[[Array, Any, tuple[int, ...]], Array | None]
    begin: tuple[int, ...] = ()
    shift: tuple[int, ...] = ()
    target: str = "vector"
    reads_kept: bool = False

    def __post_init__(self) -> None:
        for name in ("begin", "shift"):
            object.__setattr__(self, name, getattr(self, name) or (0,) * len(self.shape))


class ArrayProx:
    """A proximal map by array functions: called as a :class:`Prox` is, pickled as its arguments.

    >>> ts.solve.prox.low_rank(1.0)([[3.0, 0.0], [0.0, 0.5]]).numpy().round(6).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """

    def __init__(
        self,
        made: Callable[..., ArrayProx],
        arguments: tuple[Any, ...],
        function: Callable[..., Array],
        passes: Callable[..., list[Pass]],
    ):
        """``passes(shape, itemsize, t, iteration, room)`` are those that do the same to a vector on disk; boxes that
        are whole along some axes have at most ``room`` bytes."""
        self._made, self._arguments, self._function, self._passes = made, arguments, function, passes
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


def _shifts(seed: int | None, v: Any, within: Sequence[int], iteration: int | None = None) -> list[int]:
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


def _double(a: Array) -> Array:
    return a.astype("complex128" if "complex" in str(a.dtype) else "float64")


def _shrinking(products: Array, threshold: float) -> tuple[Array, Array]:
    """What singular values, the roots of the eigenvalues of ``products``, are multiplied with, and their vectors."""
    values, vectors = ts.linalg.eigh(products)
    size = ts.sqrt(ts.maximum(values, 0.0))
    return ts.where(size > threshold, 1 - threshold / ts.maximum(size, 1e-300), 0.0), vectors


def lowered(matrices: Array, threshold: float) -> Array:
    """Matrices (..., m, n) with each singular value lowered by ``threshold``, by way of the smaller of the two
    products, in double precision: it squares the singular values."""
    m, n = matrices.shape[-2:]
    double = _double(matrices if m <= n else matrices.mT)
    kept, vectors = _shrinking(ts.matmul(double, ts.conj(double).mT), threshold)
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


class _Gram:
    """Matrices of the numbers along ``rows`` by all others, larger than memory: the products of columns are summed by
    one pass, and shrunk by another."""

    def __init__(self, rows: Sequence[int], threshold: float):
        self.rows, self.threshold = rows, threshold
        self.sum: Any = None
        self.factor: Any = None

    def _flat(self, v: Array) -> tuple[Array, tuple[int, ...], list[int]]:
        """The matrix of a box, the shape that it has with ``rows`` in front, and the axes in that order."""
        order = [*self.rows, *(k for k in range(v.ndim) if k not in self.rows)]
        moved = v.transpose(order)
        return moved.reshape((math.prod(v.shape[k] for k in self.rows), -1)), moved.shape, order

    def add(self, v: Array, _kept: Any, _begin: Any) -> None:
        part = _double(self._flat(v)[0])
        product = ts.matmul(part, ts.conj(part).mT)
        self.sum = product if self.sum is None else self.sum + product

    def shrink(self, v: Array, _kept: Any, _begin: Any) -> Array:
        if self.factor is None:
            kept, vectors = _shrinking(self.sum, self.threshold)
            self.factor = ts.matmul(vectors * kept[..., None, :], ts.conj(vectors).mT)
        part, moved, order = self._flat(v)
        found = ts.matmul(self.factor, _double(part)).astype(v.dtype)
        return found.reshape(moved).transpose([order.index(k) for k in range(v.ndim)])


def _checked_axis(ndim: int, axis: int) -> int:
    if ndim < 1 or not -ndim <= axis < ndim:
        raise ArgumentError(f"prox.low_rank: axis {axis} of an array of {ndim} axes")
    return axis % ndim


def _prox_low_rank(lam: float, block: int | None = None, axis: int = 0, seed: int | None = None) -> ArrayProx:
    if not lam >= 0:
        raise ArgumentError(f"prox.low_rank: lam {lam} must not be negative")
    if block is not None and block < 1:
        raise ArgumentError(f"prox.low_rank: blocks of {block} elements; expected at least 1")

    def apply(x: Array, t: float, iteration: int | None) -> Array:
        return _low_rank(x, lam * t, block, _checked_axis(x.ndim, axis), seed, iteration)

    def passes(shape: tuple[int, ...], itemsize: int, t: float, iteration: int, room: int) -> list[Pass]:
        along = _checked_axis(len(shape), axis)
        others = [k for k in range(len(shape)) if k != along]
        if block is None:
            rows = [along] if shape[along] <= math.prod(shape[k] for k in others) else others
            gram = _Gram(rows, lam * t)
            whole = tuple(0 if k in rows else 1 for k in range(len(shape)))
            return [Pass(shape, whole, gram.add, target="nothing"), Pass(shape, whole, gram.shrink)]
        sizes = tuple(0 if k == along else min(block, n) for k, n in enumerate(shape))
        drawn = dict(zip(others, _shifts(seed, None, [sizes[k] for k in others], iteration), strict=True))
        shift = tuple(drawn.get(k, 0) for k in range(len(shape)))
        return [Pass(shape, sizes, lambda v, _kept, _at: _low_rank(v, lam * t, block, along, None, None), shift=shift)]

    return ArrayProx(_prox_low_rank, (lam, block, axis, seed), apply, passes)


def _on_last(v: Array, axes: Sequence[int], function: Callable[[Array], Array]) -> Array:
    """A function of the last axes, of those of ``v`` that are named."""
    last = tuple(range(v.ndim - len(axes), v.ndim))
    return ts.moveaxis(function(ts.moveaxis(v, tuple(axes), last)), last, tuple(axes))


class _WaveletPasses:
    """Coefficients along ``axes`` shrunk, of a vector on disk: levels that ``room`` does not hold are transformed axis
    by axis, in boxes that are whole along that axis, and the approximation that it holds at once."""

    def __init__(
        self, wavelet: str, axes: Sequence[int], shifts: Sequence[int], shrink: Callable[[Array], Array], shape: Any
    ):
        self.wavelet, self.axes, self.shrink, self.shape = wavelet, axes, shrink, tuple(shape)
        self.names = tuple(f"W{i}" for i in range(len(axes)))
        ts.Wavelet(self.names, wavelet)  # no axes are refused here
        self.shifts = dict(zip(axes, shifts, strict=True))
        whole = tuple(shape[a] for a in axes)
        self.levels = _wavelet_levels(wavelet, whole)
        coarsest = tuple((n + 1) // 2 for n in self.levels[-1]) if self.levels else whole
        self.sizes = [*self.levels, coarsest]  # of what is left to each level, and to none

    def _corner(self, sizes: Sequence[int]) -> tuple[int, ...]:
        along = dict(zip(self.axes, sizes, strict=True))
        return tuple(along.get(k, n) for k, n in enumerate(self.shape))

    def _moved(self, v: Array, axes: Sequence[int], sign: int) -> Array:
        shifts = tuple(sign * self.shifts[a] for a in axes)
        return ts.roll(v, shifts, tuple(axes)) if any(shifts) else v

    def rest(self, level: int) -> Pass:
        """All levels from this one on, of boxes that are whole along the axes."""
        plain = level == len(self.levels)
        W = ts.Wavelet(self.names, self.wavelet, None if plain else len(self.levels) - level)

        def shrunk(c: Array) -> Array:
            return self.shrink(c) if plain else W.H(self.shrink(W(c)))

        def apply(v: Array, _kept: Any, _begin: Any) -> Array:
            if level > 0:
                return _on_last(v, self.axes, shrunk)
            return self._moved(_on_last(self._moved(v, self.axes, -1), self.axes, shrunk), self.axes, 1)

        cut = tuple(0 if k in self.axes and not plain else 1 for k in range(len(self.shape)))
        return Pass(self._corner(self.sizes[level]), cut, apply)

    def _one_axis(self, level: int, axis: int, function: Callable[[Array, tuple[int, ...]], Array]) -> Pass:
        blocks = tuple(0 if k == axis else 1 for k in range(len(self.shape)))
        return Pass(self._corner(self.levels[level]), blocks, lambda v, _kept, begin: function(v, begin))

    def _active(self, level: int) -> list[int]:
        return [a for a, n in zip(self.axes, self.levels[level], strict=True) if n > 1]

    def forward(self, level: int, axis: int) -> Pass:
        """One level along an axis; the last axis of a level leaves its coefficients shrunk, but not what the next level
        transforms."""
        W = ts.Wavelet(("W",), self.wavelet, 1)
        low = self._corner(self.sizes[level + 1])
        last = axis == self._active(level)[-1]

        def apply(v: Array, begin: tuple[int, ...]) -> Array:
            c = _on_last(self._moved(v, [axis], -1) if level == 0 else v, [axis], W)
            if not last:
                return c
            # Of axes that no level transforms all numbers go on to the next.
            inside = tuple(slice(0, min(max(n - b, 0), size)) for n, b, size in zip(low, begin, c.shape, strict=True))
            shrunk = self.shrink(c)
            shrunk[inside] = c[inside]
            return shrunk

        return self._one_axis(level, axis, apply)

    def inverse(self, level: int, axis: int) -> Pass:
        W = ts.Wavelet(("W",), self.wavelet, 1)

        def apply(v: Array, _begin: Any) -> Array:
            x = _on_last(v, [axis], W.H)
            return self._moved(x, [axis], 1) if level == 0 else x

        return self._one_axis(level, axis, apply)

    def all(self, itemsize: int, room: int) -> list[Pass]:
        on_disk = 0
        while on_disk < len(self.levels) and math.prod(self.levels[on_disk]) * itemsize > room:
            on_disk += 1
        there = [self.forward(level, a) for level in range(on_disk) for a in self._active(level)]
        back = [self.inverse(level, a) for level in reversed(range(on_disk)) for a in reversed(self._active(level))]
        return [*there, self.rest(on_disk), *back]


def _prox_wavelet(lam: float, wavelet: str = "db4", axes: Any = None, seed: int | None = None) -> ArrayProx:
    if not lam >= 0:
        raise ArgumentError(f"prox.wavelet: lam {lam} must not be negative")
    chosen = None if axes is None else tuple(axes) if isinstance(axes, Sequence) else (axes,)
    ts.Wavelet(("X",), wavelet)  # an unknown name is refused here

    def checked(ndim: int) -> tuple[int, ...]:
        given = tuple(range(ndim)) if chosen is None else chosen
        if any(not -ndim <= a < ndim for a in given) or len({a % ndim for a in given}) != len(given):
            raise ArgumentError(f"prox.wavelet: axes {given} of an array of {ndim} axes")
        return tuple(a % ndim for a in given)

    def apply(x: Array, t: float, iteration: int | None) -> Array:
        along = checked(x.ndim)
        shifts = _shifts(seed, x, [x.shape[a] for a in along], iteration)
        moved = ts.roll(x, tuple(-s for s in shifts), along) if any(shifts) else x
        W = ts.Wavelet(tuple(f"W{i}" for i in range(len(along))), wavelet)
        back = _on_last(moved, along, lambda v: W.H(ts.solve.prox.l1(lam)(W(v), t)))
        return ts.roll(back, tuple(shifts), along) if any(shifts) else back

    def passes(shape: tuple[int, ...], itemsize: int, t: float, iteration: int, room: int) -> list[Pass]:
        along = checked(len(shape))
        shifts = _shifts(seed, None, [shape[a] for a in along], iteration)
        shrink = ts.solve.prox.l1(lam)
        return _WaveletPasses(wavelet, along, shifts, lambda c: shrink(c, t), shape).all(itemsize, room)

    return ArrayProx(_prox_wavelet, (lam, wavelet, chosen, seed), apply, passes)
