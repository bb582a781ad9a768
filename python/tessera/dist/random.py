# SPDX-License-Identifier: Apache-2.0
"""Random arrays over ranks, drawn from one generator that all ranks share without a message: the numbers depend on the
seed and on the order of the calls, not on the number of ranks, and are those of ``ts.random`` with the same seed.

Every rank makes the same calls. Groups that draw on their own have a ``Generator`` of their own.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from typing import Any

from .._dist import Communicator, DNDarray, Generator, array, take

__all__ = ["Generator", "integers", "normal", "permutation", "seed", "uniform"]

_Shape = int | Sequence[int]


def _first_seed() -> int:
    """The same on all ranks of one run, another one in the next run: made of what the launcher calls the run."""
    names = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_JOB_ID")
    run = next((os.environ[name] for name in names if name in os.environ), None)
    return int.from_bytes(os.urandom(7), "little") if run is None else zlib.crc32(run.encode())


_generator = Generator(_first_seed())


def seed(value: int) -> None:
    """Starts the sequence of draws that belongs to a seed.

    >>> ts.dist.random.seed(3); a = ts.dist.random.normal(4, split=0)
    >>> ts.random.seed(3); bool((a == ts.random.normal(4)).all())
    True
    """
    _generator.seed(value)


def normal(
    shape: _Shape = (),
    dtype: Any = "float64",
    split: int | None = None,
    device: Any = None,
    comm: Communicator | None = None,
    mean: float = 0.0,
    deviation: float = 1.0,
) -> DNDarray:
    """Normal numbers; complex ones have the deviation in both parts together.

    >>> ts.dist.random.normal((2, 3), dtype="complex64", split=1).shape
    (2, 3)
    """
    return _generator.normal(shape, dtype, split, device, comm, mean, deviation)


def uniform(
    shape: _Shape = (),
    dtype: Any = "float64",
    split: int | None = None,
    device: Any = None,
    comm: Communicator | None = None,
    low: float = 0.0,
    high: float = 1.0,
) -> DNDarray:
    """Uniform numbers in [low, high).

    >>> x = ts.dist.random.uniform(100, split=0, low=2, high=3); bool(((x >= 2) & (x < 3)).all())
    True
    """
    return _generator.uniform(shape, dtype, split, device, comm, low, high)


def integers(
    low: int,
    high: int | None = None,
    shape: _Shape = (),
    dtype: Any = "int64",
    split: int | None = None,
    device: Any = None,
    comm: Communicator | None = None,
) -> DNDarray:
    """Integers in [low, high), or in [0, low) when high is not given.

    >>> x = ts.dist.random.integers(0, 6, 100, split=0); bool(((x >= 0) & (x < 6)).all())
    True
    """
    if high is None:
        low, high = 0, low
    return _generator.integers(low, high, shape, dtype, split, device, comm)


def permutation(x: Any, split: int | None = None, device: Any = None, comm: Communicator | None = None) -> DNDarray:
    """The numbers 0 … x-1 in random order, or the elements of x along its first axis.

    >>> ts.dist.sort(ts.dist.random.permutation(5, split=0)).tolist()
    [0, 1, 2, 3, 4]
    """
    if isinstance(x, int):
        return _generator.permutation(x, split, device, comm)
    x = x if isinstance(x, DNDarray) else array(x, split, device=device, comm=comm)
    order = _generator.permutation(x.shape[0], None if x.split is None else 0, x.device, x.comm)
    return take(x, order, 0)
