# SPDX-License-Identifier: Apache-2.0
"""Random numbers of the process-wide generator. They depend on the seed and on the order of the calls only:
not on threads, tiles, devices or ranks (CUDA's logarithms, sines and powers round otherwise: the last bits of numbers
that are made with them may differ there)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _larger, _local, _shared
from ._distributions import Distributions, are_numbers, is_whole
from ._tessera import Array, Generator, OutOfMemory, asarray, take

_Shape = int | Sequence[int]
_generator = Generator(int.from_bytes(os.urandom(7), "little"))
__all__ = ["Distributions", "Generator", "default_rng", "seed"]
_distributions = Distributions(_local, Array, _generator)
__all__ += _shared.share(globals(), _distributions)  # four of them are further down


def seed(value: int) -> None:
    """Starts the sequence of draws that belongs to a seed.

    >>> ts.random.seed(3); a = ts.random.normal(4)
    >>> ts.random.seed(3); bool((a == ts.random.normal(4)).all())
    True
    """
    _generator.seed(value)


def _shape(shape: _Shape | None, size: _Shape | None) -> _Shape:
    if shape is not None and size is not None:
        raise TypeError("shape and size are two names of one argument: give one")
    return () if shape is None and size is None else shape if shape is not None else size  # type: ignore[return-value]


def normal(
    shape: _Shape | None = None,
    dtype: Any = "float64",
    device: Any = "cpu",
    mean: float = 0.0,
    deviation: float = 1.0,
    *,
    size: _Shape | None = None,
    loc: float | None = None,
    scale: float | None = None,
) -> Array:
    """Normal numbers; complex ones have the deviation in both parts together. ``size``, ``loc`` and ``scale`` are
    NumPy's names of shape, mean and deviation.

    >>> ts.random.normal((2, 3), dtype="complex64").shape
    (2, 3)
    """
    if loc is not None:
        mean = loc
    if scale is not None:
        deviation = scale
    if shape is None or size is not None:
        shape = _shape(shape, size)
    try:
        return _generator.normal(shape, dtype, device, mean, deviation)
    except OutOfMemory as error:
        return _larger.drawn(error, "normal", _generator, shape, dtype, device, mean, deviation)  # type: ignore[return-value]


def uniform(
    shape: _Shape | None = None,
    dtype: Any = "float64",
    device: Any = "cpu",
    low: float = 0.0,
    high: float = 1.0,
    *,
    size: _Shape | None = None,
) -> Array:
    """Uniform numbers in [low, high).

    >>> x = ts.random.uniform(100, low=2, high=3); bool(((x >= 2) & (x < 3)).all())
    True
    """
    if shape is None or size is not None:
        shape = _shape(shape, size)
    try:
        return _generator.uniform(shape, dtype, device, low, high)
    except OutOfMemory as error:
        return _larger.drawn(error, "uniform", _generator, shape, dtype, device, low, high)  # type: ignore[return-value]


def integers(
    low: Any,
    high: Any = None,
    shape: _Shape | None = None,
    dtype: Any = "int64",
    device: Any = "cpu",
    *,
    size: _Shape | None = None,
) -> Array:
    """Integers in [low, high), or in [0, low) when high is not given; both may be arrays.

    >>> x = ts.random.integers(0, 6, 100); bool(((x >= 0) & (x < 6)).all())
    True
    """
    if high is None:
        low, high = 0, low
    if not are_numbers(low, high):
        size = None if shape is None and size is None else _shape(shape, size)
        return _distributions.integers(low, high, size, dtype, device=device)
    if shape is None or size is not None:
        shape = _shape(shape, size)
    try:
        return _generator.integers(low, high, shape, dtype, device)
    except OutOfMemory as error:
        return _larger.drawn(error, "integers", _generator, shape, dtype, device, low, high)  # type: ignore[return-value]


def permutation(x: Any, device: Any = None) -> Array:
    """The numbers 0 … x-1 in random order, or the elements of x along its first axis.

    >>> ts.sort(ts.random.permutation(5)).tolist()
    [0, 1, 2, 3, 4]
    """
    if is_whole(x):
        return _generator.permutation(x, device or "cpu")
    x = asarray(x, device=device)
    return take(x, _generator.permutation(x.shape[0], x.device), 0)


def default_rng(seed: int | None = None) -> Distributions[Array]:
    """A generator of its own, with the names and arguments of NumPy's.

    >>> a, b = (ts.random.default_rng(7).normal(2.0, 0.5, size=3) for _ in range(2))
    >>> a.tolist() == b.tolist()
    True
    """
    return Distributions(_local, Array, Generator(int.from_bytes(os.urandom(7), "little") if seed is None else seed))
