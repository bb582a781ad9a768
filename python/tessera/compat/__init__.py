# SPDX-License-Identifier: Apache-2.0
"""Modules with the names and argument orders of other libraries, over ours: change an import and go on.

>>> import tessera.compat.torchlinops as torchlinops  # for torch-named-linops; needs PyTorch
>>> import tessera.compat.heat as ht  # for Heat
>>> ht.arange(4, split=0).sum().item()
6

What a call of theirs becomes, and what is not offered, stands in docs/guide/moving-from-others.md.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _CHECKING
from typing import Any as _Any

_PARTS = ("heat", "torchlinops")

if not _CHECKING:  # to which every other name would be one of ours

    def __getattr__(name: str) -> _Any:
        """ts.compat.heat and ts.compat.torchlinops are imported when they are first asked for."""
        if name not in _PARTS:
            raise AttributeError(f"module 'tessera.compat' has no attribute '{name}'")
        return _import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PARTS])
