# SPDX-License-Identifier: Apache-2.0
"""The names and arguments of NumPy's transforms, once for all kinds of arrays: ``ts.fft`` and ``ts.dist.fft``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ._functions import Shareable

T = TypeVar("T")

_Axes = Sequence[int] | None


# The transforms of Hermitian numbers are those of real ones in the opposite direction.
_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward"}


class Transforms(Shareable, Generic[T]):
    """Discrete Fourier transforms of one kind of arrays, whose functions are in the module ``home``: ``_fft`` takes the
    name of the local function, the array, lengths, axes and norm; ``_fftshift`` the array, the axes, and whether it is
    the inverse.
    """

    def __init__(self, home: Any) -> None:
        self._transform: Callable[..., T] = home._fft
        self._shift: Callable[..., T] = home._fftshift
        self._home = home

    def fft(self, x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> T:
        """The transform along one axis.

        >>> ts.fft.fft([1, 0, 0, 0]).tolist()
        [(1+0j), (1+0j), (1+0j), (1+0j)]
        """
        return self._transform("fftn", x, n, axis, norm)

    def ifft(self, x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> T:
        """The inverse transform along one axis.

        >>> ts.fft.ifft([4, 0, 0, 0]).real.tolist()
        [1.0, 1.0, 1.0, 1.0]
        """
        return self._transform("ifftn", x, n, axis, norm)

    def fft2(self, x: Any, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = None) -> T:
        """The transform along two axes.

        >>> ts.fft.fft2(ts.ones((2, 3))).real.tolist()
        [[6.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        """
        return self._transform("fftn", x, s, axes, norm)

    def ifft2(self, x: Any, s: _Axes = None, axes: _Axes = (-2, -1), norm: str | None = None) -> T:
        """The inverse transform along two axes.

        >>> ts.fft.ifft2(ts.fft.fft2(ts.ones((2, 2)))).real.tolist()
        [[1.0, 1.0], [1.0, 1.0]]
        """
        return self._transform("ifftn", x, s, axes, norm)

    def fftn(self, x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> T:
        """The transform along several axes, all unless told; ``norm`` is "backward", "ortho" or "forward".

        >>> ts.fft.fftn(ts.ones((2, 2)), norm="ortho")[0, 0].item()
        (2+0j)
        """
        return self._transform("fftn", x, s, axes, norm)

    def ifftn(self, x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> T:
        """The inverse transform along several axes.

        >>> ts.fft.ifftn([[8, 0], [0, 0]])[1, 1].item()
        (2+0j)
        """
        return self._transform("ifftn", x, s, axes, norm)

    def rfft(self, x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> T:
        """The transform of real numbers: the n//2 + 1 coefficients that are not redundant.

        >>> ts.fft.rfft([1.0, 1.0, 1.0, 1.0]).real.tolist()
        [4.0, 0.0, 0.0]
        """
        return self._transform("rfftn", x, n, axis, norm)

    def irfft(self, x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> T:
        """The inverse of ``rfft``; ``n`` is the length of the result, 2*(m - 1) unless told.

        >>> ts.fft.irfft([4, 0, 0]).tolist()
        [1.0, 1.0, 1.0, 1.0]
        """
        return self._transform("irfftn", x, n, axis, norm)

    def rfftn(self, x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> T:
        """The transform of real numbers along several axes; the last of them is halved.

        >>> ts.fft.rfftn(ts.ones((2, 4))).shape
        (2, 3)
        """
        return self._transform("rfftn", x, s, axes, norm)

    def irfftn(self, x: Any, s: _Axes = None, axes: _Axes = None, norm: str | None = None) -> T:
        """The inverse of ``rfftn``.

        >>> ts.fft.irfftn(ts.fft.rfftn(ts.ones((2, 4)))).tolist()
        [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
        """
        if s is not None and len(s) > 0 and s[-1] == -1:  # as long as the coefficients, here, too
            x = x if hasattr(x, "shape") else self._home.array(x)
            s = [*s[:-1], x.shape[axes[-1] if axes else -1]]
        return self._transform("irfftn", x, s, axes, norm)

    def hfft(self, x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> T:
        """The transform of numbers of which the second half is the first one's conjugate, backwards: real numbers.
        ``n`` is the length of the result, 2*(m - 1) unless told.

        >>> ts.fft.hfft([1, 1j, 0]).tolist()
        [1.0, 3.0, 1.0, -1.0]
        """
        if hasattr(x, "_hermitian"):  # on disk, where conjugates would be one more file
            return x._hermitian("hfft", n, axis, norm)
        return self._transform("irfftn", self._home.conj(x), n, axis, _OPPOSITE.get(norm, norm))

    def ihfft(self, x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> T:
        """The inverse of ``hfft``: the n//2 + 1 coefficients that are not redundant.

        >>> ts.fft.ihfft([1.0, 3.0, 1.0, -1.0]).tolist()
        [(1-0j), 1j, -0j]
        """
        if hasattr(x, "_hermitian"):
            return x._hermitian("ihfft", n, axis, norm)
        return self._home.conj(self._transform("rfftn", x, n, axis, _OPPOSITE.get(norm, norm)))

    def fftfreq(self, n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, **options: Any) -> T:
        """The frequencies of the coefficients of n samples that lie d apart; options are those of ``arange``.

        >>> ts.fft.fftfreq(4, 0.5).tolist()
        [0.0, 0.5, -1.0, -0.5]
        """
        return self._frequencies(n, False, d, dtype, {"device": device, **options})

    def rfftfreq(self, n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, **options: Any) -> T:
        """The frequencies of the coefficients of ``rfft``.

        >>> ts.fft.rfftfreq(4, 0.5).tolist()
        [0.0, 0.5, 1.0]
        """
        return self._frequencies(n, True, d, dtype, {"device": device, **options})

    def _frequencies(self, n: int, half: bool, d: float, dtype: Any, options: dict[str, Any]) -> T:
        if not hasattr(n, "__index__"):
            raise ValueError("n should be an integer")
        k = self._home.arange(n // 2 + 1 if half else n, **options)
        if not half:
            k = self._home.where(k < (n + 1) // 2, k, k - n)
        y = k * (1.0 / (n * d))
        return y if dtype is None else y.astype(dtype)

    def fftshift(self, x: Any, axes: int | Sequence[int] | None = None) -> T:
        """The zero frequency moved to the middle.

        >>> ts.fft.fftshift([0, 1, 2, -2, -1]).tolist()
        [-2, -1, 0, 1, 2]
        """
        return self._shift(x, axes, False)

    def ifftshift(self, x: Any, axes: int | Sequence[int] | None = None) -> T:
        """The inverse of ``fftshift``.

        >>> ts.fft.ifftshift([-2, -1, 0, 1, 2]).tolist()
        [0, 1, 2, -2, -1]
        """
        return self._shift(x, axes, True)
