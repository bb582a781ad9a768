# SPDX-License-Identifier: Apache-2.0
"""How near an image is to the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import ArgumentError
from .._checked import Numbers


def _pair(who: str, image: Any, truth: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Both in double precision: differences of bytes would wrap, squares of halves overflow."""
    x, y = np.asarray(image), np.asarray(truth)
    if x.shape != y.shape or x.size == 0:
        raise ArgumentError(f"{who}: an image of shape {x.shape} beside a truth of shape {y.shape}; expected the same")
    if x.dtype.kind not in "biufc" or y.dtype.kind not in "biufc":
        raise ArgumentError(f"{who}: an image of {x.dtype} beside a truth of {y.dtype}; expected numbers")
    wide = complex if "c" in (x.dtype.kind, y.dtype.kind) else float
    return x.astype(wide), y.astype(wide)


def nrmse(image: Numbers, truth: Numbers, *, scale: bool = False) -> float:
    """The length of the difference over that of the truth; with ``scale``, after the factor that suits best.

    >>> round(ts.imaging.nrmse([3.0, 5.0], [3.0, 4.0]), 6), ts.imaging.nrmse([2.0, 4.0], [1.0, 2.0], scale=True)
    (0.2, 0.0)
    """
    x, y = _pair("nrmse", image, truth)
    if scale and np.vdot(x, x) != 0:
        x = x * (np.vdot(x, y) / np.vdot(x, x))
    size = np.linalg.norm(y)
    if size == 0:
        raise ArgumentError("nrmse: the truth is zero everywhere")
    return float(np.linalg.norm(x - y) / size)


def psnr(image: Numbers, truth: Numbers, *, peak: float | None = None) -> float:
    """The peak of the truth over the root mean square of the difference, in decibels.

    >>> round(ts.imaging.psnr([0.0, 1.0], [0.1, 1.0], peak=1.0), 2)
    23.01
    """
    x, y = _pair("psnr", image, truth)
    top = float(np.abs(y).max()) if peak is None else peak
    error = float(np.mean(np.abs(x - y) ** 2))
    return float("inf") if error == 0 else float(10 * np.log10(top**2 / error))


def ssim(image: Numbers, truth: Numbers, *, window: int = 7, span: float | None = None) -> float:
    """The structural similarity of two real images, its mean over windows of ``window`` samples along each axis.

    ``span`` is the range of values, by default that of the truth; of complex images the magnitudes are compared.

    >>> x = np.arange(100.0).reshape(10, 10)
    >>> ts.imaging.ssim(x, x), ts.imaging.ssim(x[::-1], x) < 0
    (1.0, True)
    """
    x, y = _pair("ssim", image, truth)
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        x, y = np.abs(x), np.abs(y)
    if x.ndim == 0:
        raise ArgumentError("ssim: two numbers; expected images of at least one axis")
    if window < 2 or window > min(x.shape):
        raise ArgumentError(f"ssim: a window of {window} in images of shape {x.shape}; expected 2 to {min(x.shape)}")
    value_range = float(y.max() - y.min()) if span is None else span
    means = _window_means([x, y, x * x, y * y, x * y], window)
    mx, my = means[0], means[1]
    samples = window**x.ndim
    unbiased = samples / (samples - 1)
    vx, vy, vxy = (unbiased * (means[i] - a) for i, a in ((2, mx * mx), (3, my * my), (4, mx * my)))
    c1, c2 = (0.01 * value_range) ** 2, (0.03 * value_range) ** 2
    top = (2 * mx * my + c1) * (2 * vxy + c2)
    below = (mx * mx + my * my + c1) * (vx + vy + c2)
    return float(np.where(below == 0, 1.0, top / np.where(below == 0, 1, below)).mean())


def _window_means(images: list[npt.NDArray[Any]], window: int) -> list[npt.NDArray[Any]]:
    """Means over all windows that lie inside."""
    result = []
    for means in images:
        for axis in range(means.ndim):
            windows = np.lib.stride_tricks.sliding_window_view(means, window, axis=axis)
            means = windows.mean(-1)
        result.append(means)
    return result
