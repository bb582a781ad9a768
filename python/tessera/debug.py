# SPDX-License-Identifier: Apache-2.0
"""Which way the last operation of this thread took, in words: for tests, and for who wonders.

A tag is ``<where>.<what>[.<operands>].<dtype>``, as ``cpu.matmul.bitbit_popcount`` or ``io.read``. Operations on
matrices and input or output have a channel each, and each thread its own.
"""

from . import _tessera as _core

__all__ = [
    "clear_io_trace",
    "clear_kernel_trace",
    "forget_warnings",
    "last_io_trace",
    "last_kernel_trace",
]


def last_kernel_trace() -> str:
    """What this thread computed last with matrices; "" since the start or the last clear.

    >>> b = ts.matrix.Bit(4); c = b @ b; ts.debug.last_kernel_trace()
    'cpu.matmul.bitbit_popcount'
    """
    return _core._last_kernel()


def last_io_trace() -> str:
    """What this thread read, wrote or fetched last; "" since the start or the last clear.

    >>> ts.debug.clear_io_trace(); ts.debug.last_io_trace()
    ''
    >>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), 'x.npy')
    >>> ts.save(name, ts.ones(2)); ts.debug.last_io_trace()
    'io.write'
    """
    return _core._last_io()


def clear_kernel_trace() -> None:
    """Forgets the last kernel of this thread.

    >>> ts.debug.clear_kernel_trace()
    """
    _core._clear_kernel()


def clear_io_trace() -> None:
    """Forgets the last input or output of this thread.

    >>> ts.debug.clear_io_trace()
    """
    _core._clear_io()


def forget_warnings() -> None:
    """Warnings that are said once are said again.

    >>> ts.debug.forget_warnings()
    """
    _core._forget_warnings()
