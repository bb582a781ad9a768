# SPDX-License-Identifier: Apache-2.0
"""The end of a rank under mpirun: an exception that nobody caught ends the whole run, and says whose it was."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

from .. import _dist


def _rank() -> str:
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"):
        if name in os.environ:
            return os.environ[name]
    return "?"


def watch() -> None:
    """Does nothing where no launcher started the program."""
    if not _dist._launched():
        return
    earlier: Any = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        print(f"rank {_rank()} ends with an exception that nobody caught:", file=sys.stderr)
        earlier(kind, error, trace)
        sys.stderr.flush()
        _dist._give_up(f"rank {_rank()} ended with {kind.__name__}: {error}")

    sys.excepthook = hook
