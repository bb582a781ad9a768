# SPDX-License-Identifier: Apache-2.0
"""Timelines of what ran, for Chrome's trace viewer and Perfetto."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from . import _tessera as _core


@contextmanager
def _written(path: str) -> Iterator[None]:
    file = _core._TraceFile(path)
    try:
        yield
        _core.synchronize()
    finally:
        file.close()


def trace(path: str | os.PathLike[str]) -> AbstractContextManager[None]:
    """Writes a timeline of steps, transfers and allocations inside the block to a file.

    The end of the block waits for the devices, so that the timeline holds all that it started.
    ``plan.explain("html", trace=path)`` draws the last run of a plan in it.

    >>> import json, os, tempfile
    >>> name = os.path.join(tempfile.mkdtemp(), "run.json")
    >>> with ts.trace(name): y = ts.ones(3).to("sim:0")
    >>> len(json.load(open(name))) > 0
    True

    The sum of the diagonal of a matrix is :func:`tessera.linalg.trace`.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"trace: expected the path of a file for a timeline, got {type(path).__name__}; "
            "the trace of a matrix is ts.linalg.trace(a), or a.trace() of those of ts.matrix"
        )
    return _written(os.fspath(path))
