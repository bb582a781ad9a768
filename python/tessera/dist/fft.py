# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms of distributed arrays over any axes, NumPy's names and arguments; the split stays."""

from __future__ import annotations

from .. import _dist, _shared
from .._transforms import Transforms

__all__ = _shared.share(globals(), Transforms(_dist))
