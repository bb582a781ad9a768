# SPDX-License-Identifier: Apache-2.0
"""Words of which an option of the command `tessera` takes one, for its help and for shells; of what reads them
nothing is imported for that."""

from __future__ import annotations

METHODS = ("grid", "sense", "l1wavelet", "tv", "lowrank")  # of `tessera recon`
SIZES = ("2d", "3d", "dynamic")  # of `tessera demo`
STRENGTHS = ("auto",)  # of --lambda, beside numbers


def devices() -> tuple[str, ...]:
    """The names of the devices that are here."""
    from . import _tessera as _core

    return tuple(str(device) for device in _core.devices())
