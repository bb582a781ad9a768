# SPDX-License-Identifier: Apache-2.0
"""Numbers at even steps of their logarithm, with NumPy's arguments, once for all kinds of arrays."""

from __future__ import annotations

import math
from typing import Any

from ._functions import Functions, T


class Spacing(Functions[T]):
    """Those that space numbers out; ``options`` say where the array is (device, split, comm)."""

    def logspace(
        self,
        start: float,
        stop: float,
        num: int = 50,
        endpoint: bool = True,
        base: float = 10.0,
        dtype: Any = None,
        **options: Any,
    ) -> T:
        """num powers of the base, from base**start to base**stop.

        >>> ts.logspace(0, 3, 4).tolist()
        [1.0, 10.0, 100.0, 1000.0]
        """
        found = base ** self._home.linspace(start, stop, num, endpoint, **options)
        return found if dtype is None else found.astype(dtype)

    def geomspace(
        self, start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: Any = None, **options: Any
    ) -> T:
        """num numbers from start to stop, each the same multiple of the one before.

        >>> ts.geomspace(1, 8, 4).numpy().round(6).tolist()
        [1.0, 2.0, 4.0, 8.0]
        """
        if start == 0 or stop == 0:
            raise ValueError("Geometric sequence cannot include zero")
        if (start < 0) != (stop < 0):
            raise ValueError(f"geomspace: {start} and {stop} are on two sides of zero")
        sign = -1.0 if start < 0 else 1.0
        found: Any = self.logspace(math.log10(abs(start)), math.log10(abs(stop)), num, endpoint, **options)
        if num > 0:
            found[0] = abs(start)
            if num > 1 and endpoint:
                found[-1] = abs(stop)
        found = sign * found
        return found if dtype is None else found.astype(dtype)
