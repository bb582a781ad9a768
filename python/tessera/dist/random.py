# SPDX-License-Identifier: Apache-2.0
"""Random arrays over ranks, drawn from one generator that all ranks share without a message: the numbers depend on the
seed and on the order of the calls, not on the number of ranks, and are those of ``ts.random`` with the same seed.

Every rank makes the same calls. Groups that draw on their own have a ``Generator`` of their own.
"""

from __future__ import annotations

import os
import zlib
from typing import Any

from .. import _dist, _shared
from .._dist import Communicator, DNDarray, Generator, array, take
from .._distributions import Distributions, are_numbers, is_whole
from ..random import _Shape, _shape


def _first_seed() -> int:
    """The same on all ranks of one run, another one in the next run: made of what the launcher calls the run."""
    names = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_JOB_ID")
    run = next((os.environ[name] for name in names if name in os.environ), None)
    return int.from_bytes(os.urandom(7), "little") if run is None else zlib.crc32(run.encode())


_generator = Generator(_first_seed())
__all__ = ["Distributions", "Generator", "default_rng", "seed"]
_distributions = Distributions(_dist, DNDarray, _generator)
__all__ += _shared.share(globals(), _distributions)  # four of them are further down


def seed(value: int) -> None:
    """Starts the sequence of draws that belongs to a seed.

    >>> ts.dist.random.seed(3); a = ts.dist.random.normal(4, split=0)
    >>> ts.random.seed(3); bool((a == ts.random.normal(4)).all())
    True
    """
    _generator.seed(value)


def normal(
    shape: _Shape | None = None,
    dtype: Any = "float64",
    split: int | None = None,
    device: Any = None,
    comm: Communicator | None = None,
    mean: float = 0.0,
    deviation: float = 1.0,
    *,
    size: _Shape | None = None,
    loc: float | None = None,
    scale: float | None = None,
) -> DNDarray:
    """Normal numbers; complex ones have the deviation in both parts together. ``size``, ``loc`` and ``scale`` are
    NumPy's names of shape, mean and deviation.

    >>> ts.dist.random.normal((2, 3), dtype="complex64", split=1).shape
    (2, 3)
    """
    mean, deviation = mean if loc is None else loc, deviation if scale is None else scale
    return _generator.normal(_shape(shape, size), dtype, split, device, comm, mean, deviation)


def uniform(
    shape: _Shape | None = None,
    dtype: Any = "float64",
    split: int | None = None,
    device: Any = None,
    comm: Communicator | None = None,
    low: float = 0.0,
    high: float = 1.0,
    *,
    size: _Shape | None = None,
) -> DNDarray:
    """Uniform numbers in [low, high).

    >>> x = ts.dist.random.uniform(100, split=0, low=2, high=3); bool(((x >= 2) & (x < 3)).all())
    True
    """
    return _generator.uniform(_shape(shape, size), dtype, split, device, comm, low, high)


def integers(
    low: Any,
    high: Any = None,
    shape: _Shape | None = None,
    dtype: Any = "int64",
    split: int | None = None,
    device: Any = None,
    comm: Communicator | None = None,
    *,
    size: _Shape | None = None,
) -> DNDarray:
    """Integers in [low, high), or in [0, low) when high is not given; both may be arrays.

    >>> x = ts.dist.random.integers(0, 6, 100, split=0); bool(((x >= 0) & (x < 6)).all())
    True
    """
    if high is None:
        low, high = 0, low
    if not are_numbers(low, high):
        size = None if shape is None and size is None else _shape(shape, size)
        return _distributions.integers(low, high, size, dtype, split=split, device=device, comm=comm)
    return _generator.integers(low, high, _shape(shape, size), dtype, split, device, comm)


def permutation(x: Any, split: int | None = None, device: Any = None, comm: Communicator | None = None) -> DNDarray:
    """The numbers 0 … x-1 in random order, or the elements of x along its first axis.

    >>> ts.dist.sort(ts.dist.random.permutation(5, split=0)).tolist()
    [0, 1, 2, 3, 4]
    """
    if is_whole(x):
        return _generator.permutation(x, split, device, comm)
    x = x if isinstance(x, DNDarray) else array(x, split, device=device, comm=comm)
    order = _generator.permutation(x.shape[0], None if x.split is None else 0, x.device, x.comm)
    return take(x, order, 0)


def default_rng(seed: int | None = None) -> Distributions[DNDarray]:
    """A generator of its own, with the names and arguments of NumPy's. Every rank gives the same seed.

    >>> a, b = (ts.dist.random.default_rng(7).normal(2.0, 0.5, size=3, split=0) for _ in range(2))
    >>> a.tolist() == b.tolist()
    True
    """
    return Distributions(_dist, DNDarray, Generator(_first_seed() if seed is None else seed))
