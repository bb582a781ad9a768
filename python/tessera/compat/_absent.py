# SPDX-License-Identifier: Apache-2.0
"""Names of other libraries that we do not offer: each is a sentence that says what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class Absent(NotImplementedError, AttributeError):
    """A name that is left out; an AttributeError too, so that hasattr() and getattr() with a default find nothing."""


def refuse(module: str, reasons: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's __getattr__ that tells of names which are left out; others it does not know."""

    def look_up(name: str) -> Any:
        if name in reasons:
            raise Absent(f"{module}.{name} is not offered: {reasons[name]}")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return look_up
