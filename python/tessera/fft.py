# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms with NumPy's names and arguments, on every device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._tessera import Array, _fft, _fftshift

__all__ = [
    "fft",
    "fft2",
    "fftn",
    "fftshift",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "irfft",
    "irfftn",
    "rfft",
    "rfftn",
]

_Axes = Sequence[int] | None


def fft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The transform along one axis.

    >>> ts.fft.fft([1, 0, 0, 0]).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """
    return _fft("fftn", x, n, axis, norm)


def ifft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse transform along one axis.

    >>> ts.fft.ifft([4, 0, 0, 0]).real.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _fft("ifftn", x, n, axis, norm)


def fft2(x: Any, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = None) -> Array:
    """The transform along two axes.

    >>> ts.fft.fft2(ts.ones((2, 3))).real.tolist()
    [[6.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return _fft("fftn", x, s, axes, norm)


def ifft2(x: Any, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = None) -> Array:
    """The inverse transform along two axes.

    >>> ts.fft.ifft2(ts.fft.fft2(ts.ones((2, 2)))).real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return _fft("ifftn", x, s, axes, norm)


def fftn(x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> Array:
    """The transform along several axes, all unless told; ``norm`` is "backward", "ortho" or "forward".

    >>> ts.fft.fftn(ts.ones((2, 2)), norm="ortho")[0, 0].item()
    (2+0j)
    """
    return _fft("fftn", x, s, axes, norm)


def ifftn(x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> Array:
    """The inverse transform along several axes.

    >>> ts.fft.ifftn([[8, 0], [0, 0]])[1, 1].item()
    (2+0j)
    """
    return _fft("ifftn", x, s, axes, norm)


def rfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The transform of real numbers: the n//2 + 1 coefficients that are not redundant.

    >>> ts.fft.rfft([1.0, 1.0, 1.0, 1.0]).real.tolist()
    [4.0, 0.0, 0.0]
    """
    return _fft("rfftn", x, n, axis, norm)


def irfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``rfft``; ``n`` is the length of the result, 2*(m - 1) unless told.

    >>> ts.fft.irfft([4, 0, 0]).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _fft("irfftn", x, n, axis, norm)


def rfftn(x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> Array:
    """The transform of real numbers along several axes; the last of them is halved.

    >>> ts.fft.rfftn(ts.ones((2, 4))).shape
    (2, 3)
    """
    return _fft("rfftn", x, s, axes, norm)


def irfftn(x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> Array:
    """The inverse of ``rfftn``.

    >>> ts.fft.irfftn(ts.fft.rfftn(ts.ones((2, 4)))).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    return _fft("irfftn", x, s, axes, norm)


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Array:
    """The zero frequency moved to the middle.

    >>> ts.fft.fftshift([0, 1, 2, -2, -1]).tolist()
    [-2, -1, 0, 1, 2]
    """
    return _fftshift(x, axes, False)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of ``fftshift``.

    >>> ts.fft.ifftshift([-2, -1, 0, 1, 2]).tolist()
    [0, 1, 2, -2, -1]
    """
    return _fftshift(x, axes, True)
