# SPDX-License-Identifier: Apache-2.0
"""Which way the last operation of this thread took, in words: for tests, and for who wonders.

A tag is ``<where>.<what>[.<operands>].<dtype>``, as ``cpu.matmul.bitbit_popcount`` or ``io.read``. What is computed
with arrays and matrices and what is read or written have a channel each, and each thread its own. Elements that are
looked at leave no tag. Operators run plans, which ``plan.explain()`` shows instead.
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
    """What this thread computed last; "" since the start or the last clear.

    An operation that is made of several kernels has one tag of its own.

    >>> b = ts.matrix.Bit(4); c = b @ b; ts.debug.last_kernel_trace()
    'cpu.matmul.bitbit_popcount'
    >>> y = ts.ones(3, dtype='float32') * 2; ts.debug.last_kernel_trace()
    'cpu.multiply.f32'
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
