# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms with NumPy's names and arguments, on every device."""

from __future__ import annotations

from ._tessera import Array, _fft, _fftshift
from ._transforms import Transforms

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

_all: Transforms[Array] = Transforms(_fft, _fftshift)

fft = _all.fft
fft2 = _all.fft2
fftn = _all.fftn
fftshift = _all.fftshift
ifft = _all.ifft
ifft2 = _all.ifft2
ifftn = _all.ifftn
ifftshift = _all.ifftshift
irfft = _all.irfft
irfftn = _all.irfftn
rfft = _all.rfft
rfftn = _all.rfftn
