# SPDX-License-Identifier: Apache-2.0
"""The Bessel function of order one: the Fourier transform of a disc."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_FAR = 25.0  # from here on the expansion for large arguments has all digits
_TERMS = 16
_POINTS = 64  # of the integral for small ones: the error of the trapezoidal rule falls faster than any power


def bessel_j1(x: npt.ArrayLike) -> npt.NDArray[Any]:
    """J1, to about 1e-14."""
    x = np.asarray(x, float)
    size = np.abs(x)
    near = size < _FAR
    result = np.empty_like(size)
    result[near] = _by_integral(size[near])
    result[~near] = _by_expansion(size[~near])
    return np.sign(x) * result


def _by_integral(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The mean of cos(t - x sin t) over half a turn, in pieces of bounded memory."""
    t = (np.arange(_POINTS) + 0.5) * (np.pi / _POINTS)
    sines, result = np.sin(t), np.empty_like(x)
    for begin in range(0, x.size, 1 << 14):
        part = x[begin : begin + (1 << 14)]
        result[begin : begin + part.size] = np.cos(t - part[:, None] * sines).mean(1)
    return result


def _by_expansion(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Hankel's: sqrt(2 / pi x) (P cos w - Q sin w) with w = x - 3 pi / 4."""
    term, p, q = np.ones_like(x), np.zeros_like(x), np.zeros_like(x)
    for k in range(_TERMS):
        sign = -1.0 if k // 2 % 2 else 1.0
        if k % 2:
            q += sign * term
        else:
            p += sign * term
        term = term * (4.0 - (2 * k + 1) ** 2) / ((k + 1) * 8 * x)
    angle = x - 0.75 * np.pi
    return np.sqrt(2 / (np.pi * x)) * (p * np.cos(angle) - q * np.sin(angle))
