# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms of distributed arrays over any axes, NumPy's names and arguments; the split stays."""

from __future__ import annotations

from .. import _dist
from .._dist import DNDarray
from .._transforms import Transforms

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

_all: Transforms[DNDarray] = Transforms(_dist)

fft = _all.fft
fft2 = _all.fft2
fftfreq = _all.fftfreq
fftn = _all.fftn
fftshift = _all.fftshift
hfft = _all.hfft
ifft = _all.ifft
ifft2 = _all.ifft2
ifftn = _all.ifftn
ifftshift = _all.ifftshift
ihfft = _all.ihfft
irfft = _all.irfft
irfftn = _all.irfftn
rfft = _all.rfft
rfftfreq = _all.rfftfreq
rfftn = _all.rfftn
