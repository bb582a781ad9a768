# SPDX-License-Identifier: Apache-2.0
"""Heat's random numbers; the same on any number of ranks, but not the numbers that Heat draws.

>>> ht.random.seed(1); x = ht.random.rand(3, split=0); ht.random.seed(1)
>>> ht.equal(x, ht.random.rand(3, split=0))
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dist as _dist
from ..._distributions import is_whole
from .._absent import refuse
from ._array import DNDarray
from ._calls import _array
from ._factories import place
from ._types import canonical

__all__ = [
    "normal",
    "permutation",
    "rand",
    "randint",
    "randn",
    "random",
    "random_integer",
    "random_sample",
    "randperm",
    "ranf",
    "sample",
    "seed",
    "standard_normal",
]


def seed(seed: int | None = None) -> None:
    """Starts the numbers anew; from a number that all ranks draw from the clock of the first where none is given.

    >>> ht.random.seed(3)
    """
    if seed is None:
        import time

        seed = int(_dist.array([time.time_ns() % 2**31], is_split=0)[0].item())
    _dist.random.seed(seed)


def _shaped(made: DNDarray, shape: Any) -> Any:
    return made if shape is not None else made.item()


def rand(*d: int, dtype: Any = "float32", split: int | None = None, device: Any = None, comm: Any = None) -> DNDarray:
    """Numbers between 0 and 1.

    >>> ht.random.rand(2, 3, split=0).dtype
    ht.float32
    """
    return DNDarray(_dist.random.random(d, canonical(dtype).__name__, **place(split, device, comm)))


def random(
    shape: Any = None, dtype: Any = "float32", split: int | None = None, device: Any = None, comm: Any = None
) -> Any:
    """Numbers between 0 and 1, or one of them.

    >>> ht.random.random((2, 3)).shape
    (2, 3)
    """
    sizes = (1,) if shape is None else (shape,) if is_whole(shape) else tuple(shape)
    return _shaped(rand(*sizes, dtype=dtype, split=split, device=device, comm=comm), shape)


random_sample = ranf = sample = random


def randn(*d: int, dtype: Any = "float32", split: int | None = None, device: Any = None, comm: Any = None) -> DNDarray:
    """Numbers of the standard normal distribution.

    >>> ht.random.randn(2, 3, split=1).lshape
    (2, 3)
    """
    return DNDarray(_dist.random.standard_normal(d, canonical(dtype).__name__, **place(split, device, comm)))


def standard_normal(
    shape: Any = None, dtype: Any = "float32", split: int | None = None, device: Any = None, comm: Any = None
) -> Any:
    """Numbers of the standard normal distribution, or one of them.

    >>> ht.random.standard_normal((4,)).shape
    (4,)
    """
    sizes = (1,) if shape is None else (shape,) if is_whole(shape) else tuple(shape)
    return _shaped(randn(*sizes, dtype=dtype, split=split, device=device, comm=comm), shape)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    shape: Any = None,
    dtype: Any = "float32",
    split: int | None = None,
    device: Any = None,
    comm: Any = None,
) -> Any:
    """Numbers of a normal distribution.

    >>> ht.random.normal(5.0, 0.0, (2,)).tolist()
    [5.0, 5.0]
    """
    return standard_normal(shape, dtype, split, device, comm) * std + mean


def randint(
    low: int,
    high: int | None = None,
    size: Any = None,
    dtype: Any = "int32",
    split: int | None = None,
    device: Any = None,
    comm: Any = None,
) -> Any:
    """Whole numbers below a bound.

    >>> ht.random.randint(5, 6, (2,)).tolist()
    [5, 5]
    """
    sizes = () if size is None else (size,) if is_whole(size) else tuple(size)
    low, high = (0, low) if high is None else (low, high)
    where = place(split, device, comm)
    return DNDarray(_dist.random.integers(low, high, sizes, canonical(dtype or "int32").__name__, **where))


random_integer = randint


def randperm(n: int, dtype: Any = "int64", split: int | None = None, device: Any = None, comm: Any = None) -> DNDarray:
    """The numbers below n in any order.

    >>> sorted(ht.random.randperm(3, split=0).tolist())
    [0, 1, 2]
    """
    return DNDarray(_dist.random.permutation(n, **place(split, device, comm)).astype(canonical(dtype).__name__))


def permutation(x: Any, **kwargs: Any) -> DNDarray:
    """The rows of an array, or the numbers below x, in any order.

    >>> sorted(ht.random.permutation(ht.arange(3, split=0)).tolist())
    [0, 1, 2]
    """
    if is_whole(x):
        return randperm(x, **kwargs)
    x = _array(x)
    return DNDarray(_dist.random.permutation(x.dist, split=x.split))


__getattr__: Callable[[str], Any] = refuse(
    "tessera.compat.heat.random",
    {
        name: "a generator of its own, ts.dist.random.default_rng(seed), keeps its state"
        for name in ("get_state", "set_state")
    },
)
