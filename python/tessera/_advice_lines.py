# SPDX-License-Identifier: Apache-2.0
"""Which line of a program made the library do what: counters are looked at whenever the next line begins.

Python's tracing (`sys.settrace`) of the thread that asks; nothing runs, and nothing is slower, before and after. Lines
of this package, of Python's own library and of installed packages count for the line of the program that called them.
"""

from __future__ import annotations

import sys
import sysconfig
import time
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from . import _tessera as _core

# As `_watched` has them.
NAMES = (
    *("copies", "bytes_host_to_device", "bytes_device_to_host", "bytes_device_to_device", "plans", "runs", "launches"),
    *("messages", "bytes_sent", "elements", "small_launches", "pageable_copies", "pageable_bytes"),
)
_NOT_OF_PROGRAMS = tuple(
    {str(Path(__file__).parent)}
    | {path for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_path(name))}
)


class Line:
    """What one line did: by name how much of it, in how many visits, and the seconds of those visits. Where it stands
    for a whole block (`alone` is False) every event may have been a round of a loop, and is a visit."""

    def __init__(self, file: str, number: int, alone: bool = True):
        self.file, self.number, self.alone = file, number, alone
        self.total = dict.fromkeys(NAMES, 0)
        self.visits = dict.fromkeys(NAMES, 0)
        self.seconds = dict.fromkeys(NAMES, 0.0)

    def add(self, before: tuple[int, ...], after: tuple[int, ...], seconds: float) -> None:
        for name, old, new in zip(NAMES, before, after, strict=True):
            if new > old:  # less: somebody has reset the counters
                self.total[name] += new - old
                self.visits[name] += 1 if self.alone else new - old
                self.seconds[name] += seconds


class Lines:
    """From `begin` to `end` every line that made the library do something; one for all of it where lines are not
    watched."""

    def __init__(self, file: str, number: int, told_apart: bool):
        self._found: dict[tuple[CodeType | None, int], Line] = {(None, 0): Line(file, number, told_apart)}
        self._place: tuple[CodeType | None, int] = (None, 0)
        self._frame: FrameType | None = None
        self._of_programs: dict[str, bool] = {}
        self._seen = _core._watched()
        self._since = time.perf_counter()

    def begin(self, frame: FrameType) -> None:
        """From the next line of that frame on, which is one of this thread."""
        self._frame = frame
        self._place = (frame.f_code, frame.f_lineno)
        self._seen = _core._watched()
        self._since = time.perf_counter()
        frame.f_trace = self._step
        sys.settrace(self._call)

    def end(self) -> list[Line]:
        if self._frame is not None:
            sys.settrace(None)
            self._frame.f_trace = None
            self._frame = None
        self._settle()
        return list(self._found.values())

    def _settle(self) -> None:
        """What happened since the last look is what the line did that ran."""
        now, seen = time.perf_counter(), _core._watched()
        if seen != self._seen:
            line = self._found.get(self._place)
            if line is None:
                code, number = self._place
                line = self._found[self._place] = Line(code.co_filename if code else "", number)
            line.add(self._seen, seen, now - self._since)
        self._seen = seen
        self._since = time.perf_counter()

    def _is_of_program(self, file: str) -> bool:
        known = self._of_programs.get(file)
        if known is None:
            known = self._of_programs[file] = not file.startswith((*_NOT_OF_PROGRAMS, "<frozen "))
        return known

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._step if self._is_of_program(frame.f_code.co_filename) else None

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._settle()
        if event == "line":
            self._place = (frame.f_code, frame.f_lineno)
        elif event == "return":
            above = frame.f_back
            while above is not None and not self._is_of_program(above.f_code.co_filename):
                above = above.f_back
            if above is not None:
                self._place = (above.f_code, above.f_lineno)
        return self._step
