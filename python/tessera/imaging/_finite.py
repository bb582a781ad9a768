# SPDX-License-Identifier: Apache-2.0
"""What goes into a reconstruction is numbers, all of them finite: otherwise a sentence says which are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError


def finite(who: str, **given: Any) -> None:
    """Refuses arrays that are no numbers or not finite, by the name of the argument; None is passed over.

    >>> finite("sense", maps=np.ones(3), mask=None)
    """
    for name, value in given.items():
        if value is None:
            continue
        if isinstance(value, ts.stored.StoredArray):
            if not bool(ts.all(ts.isfinite(value))):
                raise ArgumentError(f"{who}: values of {name}, which is on disk, are not finite")
            continue
        x = np.asarray(value)
        if x.dtype.kind not in "biufc":
            raise ArgumentError(f"{who}: {name} of {x.dtype}; expected numbers")
        bad = np.argwhere(~np.isfinite(x))
        if len(bad):
            place = tuple(int(i) for i in bad[0])
            raise ArgumentError(
                f"{who}: {len(bad)} of the {x.size} values of {name} are not finite, the first at {place}; "
                "expected finite numbers"
            )


def inexact(values: Any) -> npt.NDArray[Any]:
    """Numbers of which sums and products neither wrap nor lose precision: integers in double precision."""
    x = np.asarray(values)
    if x.dtype.kind in "biu":
        return x.astype(float)
    return x.astype(np.float32) if x.dtype == np.float16 else x
