# SPDX-License-Identifier: Apache-2.0
"""Names of other libraries that we do not offer: each is a sentence that says what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def refuse(module: str, reasons: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's __getattr__ that tells of names which are left out; others it does not know."""

    def look_up(name: str) -> Any:
        if name in reasons:
            raise NotImplementedError(f"{module}.{name} is not offered: {reasons[name]}")
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return look_up
