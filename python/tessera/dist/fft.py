# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms of distributed arrays over any axes, NumPy's names and arguments; the split stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dist import DNDarray, _fft, _fftshift

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


def fft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> DNDarray:
    """The transform along one axis.

    >>> ts.dist.fft.fft([1, 0, 0, 0]).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """
    return _fft("fftn", x, n, axis, norm)


def ifft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> DNDarray:
    """The inverse transform along one axis.

    >>> ts.dist.fft.ifft([4, 0, 0, 0]).real.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _fft("ifftn", x, n, axis, norm)


def fft2(x: Any, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = None) -> DNDarray:
    """The transform along two axes.

    >>> ts.dist.fft.fft2(ts.dist.ones((2, 3), split=0)).real.tolist()
    [[6.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return _fft("fftn", x, s, axes, norm)


def ifft2(x: Any, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = None) -> DNDarray:
    """The inverse transform along two axes.

    >>> ts.dist.fft.ifft2(ts.dist.fft.fft2(ts.dist.ones((2, 2), split=0))).real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return _fft("ifftn", x, s, axes, norm)


def fftn(x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> DNDarray:
    """The transform along several axes, all unless told; ``norm`` is "backward", "ortho" or "forward".

    >>> ts.dist.fft.fftn(ts.dist.ones((2, 2), split=0), norm="forward")[0, 0].item()
    (1+0j)
    """
    return _fft("fftn", x, s, axes, norm)


def ifftn(x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> DNDarray:
    """The inverse transform along several axes.

    >>> ts.dist.fft.ifftn([[8, 0], [0, 0]])[1, 1].item()
    (2+0j)
    """
    return _fft("ifftn", x, s, axes, norm)


def rfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> DNDarray:
    """The transform of real numbers: the n//2 + 1 coefficients that are not redundant.

    >>> ts.dist.fft.rfft([1.0, 1.0, 1.0, 1.0]).real.tolist()
    [4.0, 0.0, 0.0]
    """
    return _fft("rfftn", x, n, axis, norm)


def irfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> DNDarray:
    """The inverse of ``rfft``; ``n`` is the length of the result, 2*(m - 1) unless told.

    >>> ts.dist.fft.irfft([4, 0, 0]).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _fft("irfftn", x, n, axis, norm)


def rfftn(x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> DNDarray:
    """The transform of real numbers along several axes; the last of them is halved.

    >>> ts.dist.fft.rfftn(ts.dist.ones((2, 4), split=0)).shape
    (2, 3)
    """
    return _fft("rfftn", x, s, axes, norm)


def irfftn(x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> DNDarray:
    """The inverse of ``rfftn``.

    >>> ts.dist.fft.irfftn(ts.dist.fft.rfftn(ts.dist.ones((2, 4), split=0))).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    return _fft("irfftn", x, s, axes, norm)


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> DNDarray:
    """The zero frequency moved to the middle.

    >>> ts.dist.fft.fftshift([0, 1, 2, -2, -1]).tolist()
    [-2, -1, 0, 1, 2]
    """
    return _fftshift(x, axes, False)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> DNDarray:
    """The inverse of ``fftshift``.

    >>> ts.dist.fft.ifftshift([-2, -1, 0, 1, 2]).tolist()
    [0, 1, 2, -2, -1]
    """
    return _fftshift(x, axes, True)
