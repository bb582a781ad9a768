# SPDX-License-Identifier: Apache-2.0
"""Where lines of a log and bars of progress go: a program's own log, bars of tqdm in notebooks, else stderr."""

from __future__ import annotations

import sys
from typing import Any

from . import _tessera as _core

_bars: dict[int, Any] = {}


def logged(text: str) -> bool:
    """Whether the logger ``tessera`` took a line: where nobody has set logging up, it goes to stderr."""
    logging = sys.modules.get("logging")
    if logging is None:
        return False
    logger = logging.getLogger("tessera")
    if not (logger.isEnabledFor(logging.INFO) and logger.hasHandlers()):
        return False
    logger.info(text)
    return True


def watch() -> None:
    """Bars of tqdm where a notebook runs us."""
    if "ipykernel" in sys.modules:
        _core._follow_progress(True)


def shown(bar: int, name: str, note: str, done: int, total: int, ended: bool) -> bool:
    """Draws a bar by tqdm; without it, bars go to stderr from here on."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        _core._follow_progress(False)
        return False
    if bar not in _bars:
        _bars[bar] = tqdm(total=total, desc=name)
    drawn = _bars[bar]
    drawn.n = done
    drawn.set_postfix_str(note, refresh=False)
    drawn.refresh()
    if ended:
        _bars.pop(bar).close()
    return True
