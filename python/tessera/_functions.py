# SPDX-License-Identifier: Apache-2.0
"""What functions that are written once for all kinds of arrays stand on: ``ts`` and ``ts.dist``."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Functions(Generic[T]):
    """The functions of arrays of the class ``kind``; the module ``home`` has the others that they need."""

    def __init__(self, home: Any, kind: type[T]) -> None:
        self._home = home
        self._kind = kind

    def _array(self, x: Any) -> Any:
        return x if isinstance(x, self._kind) else self._home.array(x)
