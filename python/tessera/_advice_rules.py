# SPDX-License-Identifier: Apache-2.0
"""Advice at run time: ``with ts.doctor():`` says what a block did that costs more than it has to, and what to write
instead. What a machine and an installation lack is said by the command ``tessera doctor``."""

from __future__ import annotations

import dataclasses
import linecache
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from . import _tessera as _core
from ._advice_lines import NAMES, Line, Lines

# What is worth a word: so often in one line, and so much.
LEAST_ROUNDS = 8  # of a loop that copies or plans
LEAST_ELEMENTS = 100
LEAST_KERNELS = 500
LEAST_MESSAGES = 64
SHORT_MESSAGE = 4096  # bytes: latency is most of its time
LONG_COPY = 1 << 16  # bytes: pinning pays


@dataclasses.dataclass(frozen=True)
class Advice:
    """One thing that costs: its kind, the file and line that did it, the text of that line, how often, how many bytes
    (0 where none moved), the seconds of the host in that line (None where lines are not told apart), and in words what
    it cost and what to write instead."""

    kind: str
    file: str
    line: int
    source: str
    count: int
    bytes: int
    seconds: float | None
    cost: str
    instead: str

    def __str__(self) -> str:
        where = f"{_short(self.file)}:{self.line}: " if self.file else ""
        source = f"\n      {self.source}" if self.source else ""
        seconds = "" if self.seconds is None else f", {_seconds(self.seconds)}"
        return f"  {where}{self.cost}{seconds}{source}\n    -> {self.instead}"


class Report:
    """What ``with ts.doctor() as report:`` leaves: ``advice`` (the most seconds first), ``counts`` and ``seconds`` of
    the whole block. Empty while the block runs.

    >>> with ts.doctor(quiet=True) as report:
    ...     y = ts.ones(3) + 1
    >>> report.advice, report.counts["launches"] > 0
    ([], True)
    """

    def __init__(self) -> None:
        self.advice: list[Advice] = []
        self.counts: dict[str, int] = dict.fromkeys(NAMES, 0)
        self.seconds = 0.0
        self.note = ""

    def __repr__(self) -> str:
        number = len(self.advice)
        said = f"{number} line{'s' * (number != 1)} of advice" if number else "nothing to advise"
        head = f"tessera doctor: {said}; the block took {_seconds(self.seconds)}{self.note}"
        return "\n".join([head, *map(str, self.advice)])


def _short(file: str) -> str:
    """The path from here, where it lies below."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file


def _seconds(number: float) -> str:
    return f"{number:.2f} s" if number >= 1 else f"{number * 1e3:.1f} ms"


def _rounds(line: Line, name: str) -> str:
    times = line.visits[name]
    return f" in {times} rounds" if line.alone and times > 1 else ""


Found = Iterator[tuple[str, int, str, str]]  # counter, bytes, what it cost, what to write instead


def _copies(line: Line) -> Found:
    number = line.total["copies"]
    if line.visits["copies"] < LEAST_ROUNDS or (line.alone and line.total["elements"] >= number):
        return
    ways = {"to devices": "bytes_host_to_device", "to the host": "bytes_device_to_host"}
    moved = {way: line.total[name] for way, name in ways.items()}
    moved["between devices"] = line.total["bytes_device_to_device"]
    words = " and ".join(f"{_core._bytes_text(size)} {way}" for way, size in moved.items() if size)
    instead = []
    if moved["to devices"] or moved["between devices"]:
        instead.append("move what stays the same once, before the loop: x = x.to(device)")
    if moved["to the host"]:
        instead.append(
            "leave results on the device, and fetch them once after the loop (a number that is looked at waits)"
        )
    yield "copies", sum(moved.values()), f"{number} copies{_rounds(line, 'copies')}, {words}", "; ".join(instead)


def _plans(line: Line) -> Found:
    if line.visits["plans"] < LEAST_ROUNDS:
        return
    cost = f"{line.total['plans']} plans made{_rounds(line, 'plans')}"
    instead = (
        "make the operator once, before the loop: it keeps its plan for arrays of the same shape, dtype and device"
    )
    yield "plans", 0, cost, instead


def _elements(line: Line) -> Found:
    if line.total["elements"] < LEAST_ELEMENTS:
        return
    cost = f"{line.total['elements']} elements read or written one by one"
    if line.total["copies"]:
        cost += f", {line.total['copies']} copies between devices"
    instead = "work on whole arrays or slices (x[a:b] = ..., ts.where, x.sum()); a loop in Python needs x.tolist() once"
    yield "elements", 0, cost, instead


def _pageable(line: Line) -> Found:
    number, size = line.total["pageable_copies"], line.total["pageable_bytes"]
    if line.visits["pageable_copies"] < LEAST_ROUNDS or size < LONG_COPY * number:
        return
    rounds = _rounds(line, "pageable_copies")
    cost = f"{number} transfers of host memory that is not pinned{rounds}, {_core._bytes_text(size)}"
    instead = "keep what travels often in pinned memory: x = x.pin_memory() before the loop, then x.to(device)"
    yield "pageable_copies", size, cost, instead


def _small_kernels(line: Line) -> Found:
    number = line.total["small_launches"]
    of_others = line.total["launches"] - number
    if number < LEAST_KERNELS or (line.alone and (of_others > number or 2 * line.total["elements"] > number)):
        return
    cost = f"{number} kernels of at most 4096 elements{_rounds(line, 'small_launches')}"
    instead = (
        "put what the loop goes over into one more axis and call once: starting a kernel takes longer than running it"
    )
    yield "small_launches", 0, cost, instead


def _messages(line: Line) -> Found:
    number, size = line.total["messages"], line.total["bytes_sent"]
    if number < LEAST_MESSAGES or size >= SHORT_MESSAGE * number:
        return
    each = f", {number / line.visits['messages']:.3g} per call" if line.alone else ""
    cost = f"{number} messages between ranks{_rounds(line, 'messages')}{each}, {_core._bytes_text(size)}"
    instead = (
        "ask for all at once (a slice, a list of positions, a reduction over an axis): a short message is all latency"
    )
    yield "messages", size, cost, instead


KINDS: dict[str, Callable[[Line], Found]] = {
    "copies": _copies,
    "plans": _plans,
    "elements": _elements,
    "pageable": _pageable,
    "small kernels": _small_kernels,
    "messages": _messages,
}


def _advice(lines: list[Line]) -> list[Advice]:
    found = []
    for line in lines:
        source = linecache.getline(line.file, line.number).strip() if line.file else ""
        for kind, rule in KINDS.items():
            for counter, size, cost, instead in rule(line):
                seconds, number = line.seconds[counter] if line.alone else None, line.total[counter]
                found.append(Advice(kind, line.file, line.number, source, number, size, seconds, cost, instead))
    return sorted(found, key=lambda advice: -(advice.seconds or 0))


def _prints() -> bool:
    """Of several ranks one speaks."""
    names = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
    return next((os.environ[name] for name in names if name in os.environ), "0") == "0"


class Doctor:
    """What ``ts.doctor()`` gives to ``with``; it watches one block."""

    def __init__(self, quiet: bool, lines: bool):
        self._quiet, self._lines = quiet, lines
        self._report = Report()
        self._watch: _core._Watch | None = None

    def __enter__(self) -> Report:
        if self._watch is not None:
            raise RuntimeError("ts.doctor: this block is watched already; write `with ts.doctor():` for each block")
        self._watch = _core._Watch()
        frame = sys._getframe(1)
        if self._lines and sys.gettrace() is not None:
            self._lines = False
            self._report.note = "; lines are not told apart, as another tracer (a debugger, coverage) runs"
        self._began = time.perf_counter()
        self._found = Lines(frame.f_code.co_filename, frame.f_lineno, self._lines)
        if self._lines:
            self._found.begin(frame)
        return self._report

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        lines = self._found.end()
        self._watch = None
        report = self._report
        report.seconds = time.perf_counter() - self._began
        for name in NAMES:
            report.counts[name] = sum(line.total[name] for line in lines)
        report.advice = _advice(lines)
        if not self._quiet and _prints():
            print(report, file=sys.stderr)
