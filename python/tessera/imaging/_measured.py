# SPDX-License-Identifier: Apache-2.0
"""Samples as recipes take them, in the place and the precision of the operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError, NamedLinop
from ._placing import brought


def as_precise(values: Any, dtype: Any) -> npt.NDArray[Any]:
    """Factors that leave data of this dtype in their precision: single ones for complex64 and float32."""
    x = np.asarray(values)
    if np.dtype(str(dtype)) in (np.complex64, np.float32):
        return x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)
    return x.astype(float) if x.dtype.kind == "b" else x


def measured(who: str, A: NamedLinop, kspace: Any, factors: Any, *, device: Any, budget: Any) -> ts.Array:
    """The samples that ``A`` gives, multiplied with ``factors`` where they have any."""
    data = brought(ts.asarray(kspace), device=device, budget=budget)
    sizes = tuple(A.size(dim) for dim in A.oshape)
    if data.ndim != len(sizes) or any(s is not None and s != n for s, n in zip(sizes, data.shape, strict=True)):
        raise ArgumentError(f"{who}: k-space of shape {tuple(data.shape)}; expected {A.oshape} of sizes {sizes}")
    if not bool(ts.all(ts.isfinite(data))):
        raise ArgumentError(f"{who}: samples of k-space are not finite")
    return data if factors is None else data * ts.asarray(as_precise(factors, data.dtype)).to(data.device)
