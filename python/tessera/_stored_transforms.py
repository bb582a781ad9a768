# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms of arrays on disk: behind the names of ts.fft, and by the same names in ts.stored, where they can
be given a path and are jobs, which go on where they were ended."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _tessera as _core
from ._checked import Operand
from ._tessera import StoredArray

_Path = str | os.PathLike[str] | None
_Axes = Sequence[int] | None

# The transforms of Hermitian numbers are those of real ones in the opposite direction.
_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward"}


def _transformed(kind: str, who: str, x: Any, n: Any, axes: Any, norm: str | None, path: _Path) -> StoredArray:
    to = _core._stored_path(path)
    return _core._stored_fft(kind, _core._stored_operand(x, who), n, axes, norm, to)


def _shifted(x: Any, axes: Any, inverse: bool, path: _Path) -> StoredArray:
    to = _core._stored_path(path)
    stored = _core._stored_operand(x, "ifftshift" if inverse else "fftshift")
    return _core._stored_fftshift(stored, axes, inverse, to)


def hermitian(x: StoredArray, kind: str, n: int | None, axis: int, norm: str | None) -> StoredArray:
    """hfft and ihfft, for ts.fft."""
    return _transformed(kind, kind, x, n, axis, _OPPOSITE.get(norm, norm), None)


# Twins of what ts.fft calls.
functions: dict[str, Callable[..., Any]] = {
    "_fft": lambda kind, x, n, axes, norm: _transformed(kind, kind, x, n, axes, norm, None),
    "_fftshift": lambda x, axes, inverse: _shifted(x, axes, inverse, None),
}


def fft(
    x: Operand, n: int | None = None, axis: int = -1, norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The transform along one axis, as `ts.fft.fft` gives it; with a `path` as a job (see `matmul`).

    A line that has no room in memory is transformed as a matrix of rows and columns, in two passes. Until it ends,
    PATH.partial.pass1 and so on hold what is between the passes.

    >>> ts.stored.fft(ts.stored.array([1, 0, 0, 0]))[:].real.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _transformed("fftn", "fft", x, n, axis, norm, path)


def ifft(
    x: Operand, n: int | None = None, axis: int = -1, norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The inverse transform along one axis; with a `path` as a job (see `fft`).

    >>> ts.stored.ifft(ts.stored.array([4, 0, 0, 0]))[:].real.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _transformed("ifftn", "ifft", x, n, axis, norm, path)


def fft2(
    x: Operand, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The transform along two axes; with a `path` as a job (see `fft`).

    >>> ts.stored.fft2(ts.stored.ones((2, 3)))[0, 0].item()
    (6+0j)
    """
    return _transformed("fftn", "fft2", x, s, axes, norm, path)


def ifft2(
    x: Operand, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The inverse transform along two axes; with a `path` as a job (see `fft`).

    >>> ts.stored.ifft2(ts.stored.ones((2, 3)))[0, 0].item()
    (1+0j)
    """
    return _transformed("ifftn", "ifft2", x, s, axes, norm, path)


def fftn(
    x: Operand, s: _Axes = None, axes: _Axes = None, norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The transform along several axes, all unless told; with a `path` as a job (see `fft`).

    Axes whose lines fit the budget together are transformed in one pass over the data.

    >>> ts.stored.fftn(ts.stored.ones((2, 2)), norm="ortho")[0, 0].item()
    (2+0j)
    """
    return _transformed("fftn", "fftn", x, s, axes, norm, path)


def ifftn(
    x: Operand, s: _Axes = None, axes: _Axes = None, norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The inverse transform along several axes; with a `path` as a job (see `fft`).

    >>> ts.stored.ifftn(ts.stored.array([[8, 0], [0, 0]]))[1, 1].item()
    (2+0j)
    """
    return _transformed("ifftn", "ifftn", x, s, axes, norm, path)


def rfft(
    x: Operand, n: int | None = None, axis: int = -1, norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The n//2 + 1 coefficients of real numbers that are not redundant; with a `path` as a job (see `fft`).

    >>> ts.stored.rfft(ts.stored.ones(4))[:].real.tolist()
    [4.0, 0.0, 0.0]
    """
    return _transformed("rfftn", "rfft", x, n, axis, norm, path)


def irfft(
    x: Operand, n: int | None = None, axis: int = -1, norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The inverse of `rfft`; `n` is the length of the result; with a `path` as a job (see `fft`).

    >>> ts.stored.irfft(ts.stored.array([4, 0, 0]))[:].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _transformed("irfftn", "irfft", x, n, axis, norm, path)


def rfftn(
    x: Operand, s: _Axes = None, axes: _Axes = None, norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The transform of real numbers along several axes, the last of them halved; with a `path` as a job (see `fft`).

    >>> ts.stored.rfftn(ts.stored.ones((2, 4))).shape
    (2, 3)
    """
    return _transformed("rfftn", "rfftn", x, s, axes, norm, path)


def irfftn(
    x: Operand, s: _Axes = None, axes: _Axes = None, norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The inverse of `rfftn`; with a `path` as a job (see `fft`).

    >>> ts.stored.irfftn(ts.stored.rfftn(ts.stored.ones((2, 4))))[0].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    x = _core._stored_operand(x, "irfftn")
    if s is not None and len(s) > 0 and s[-1] == -1:  # as long as the coefficients, as in ts.fft
        s = [*s[:-1], x.shape[axes[-1] if axes else -1]]
    return _transformed("irfftn", "irfftn", x, s, axes, norm, path)


def hfft(
    x: Operand, n: int | None = None, axis: int = -1, norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The real transform of numbers whose second half is the first one's conjugate, backwards; with a `path` as a job
    (see `fft`).

    >>> ts.stored.hfft(ts.stored.array([1, 1j, 0]))[:].tolist()
    [1.0, 3.0, 1.0, -1.0]
    """
    return _transformed("hfft", "hfft", x, n, axis, _OPPOSITE.get(norm, norm), path)


def ihfft(
    x: Operand, n: int | None = None, axis: int = -1, norm: str | None = None, *, path: _Path = None
) -> StoredArray:
    """The inverse of `hfft`; with a `path` as a job (see `fft`).

    >>> ts.stored.ihfft(ts.stored.array([1.0, 3.0, 1.0, -1.0]))[:].imag.tolist()
    [-0.0, 1.0, -0.0]
    """
    return _transformed("ihfft", "ihfft", x, n, axis, _OPPOSITE.get(norm, norm), path)


def fftshift(x: Operand, axes: int | Sequence[int] | None = None, *, path: _Path = None) -> StoredArray:
    """The zero frequency moved to the middle; with a `path` as a job (see `matmul`).

    >>> ts.stored.fftshift(ts.stored.array([0, 1, 2, -2, -1]))[:].tolist()
    [-2, -1, 0, 1, 2]
    """
    return _shifted(x, axes, False, path)


def ifftshift(x: Operand, axes: int | Sequence[int] | None = None, *, path: _Path = None) -> StoredArray:
    """The inverse of `fftshift`; with a `path` as a job (see `matmul`).

    >>> ts.stored.ifftshift(ts.stored.array([-2, -1, 0, 1, 2]))[:].tolist()
    [0, 1, 2, -2, -1]
    """
    return _shifted(x, axes, True, path)
