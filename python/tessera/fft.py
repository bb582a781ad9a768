# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms with NumPy's names and arguments, on every device."""

from __future__ import annotations

from . import _shared, _tessera
from ._transforms import Transforms

__all__ = _shared.share(globals(), Transforms(_tessera))
