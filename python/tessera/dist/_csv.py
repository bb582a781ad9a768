# SPDX-License-Identifier: Apache-2.0
"""Tables as text: every rank reads and writes its own lines."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from .. import _dist
from .. import _tessera as _core
from .._beside import keep, number_here, place_of
from .._dist import Communicator, DNDarray
from .._tessera import result_type

__all__ = ["load_csv", "save_csv"]


def _agree(problem: str, comm: Communicator, error: type[Exception] = ValueError) -> None:
    """An error of one rank is raised by all."""
    mine = _core.array(list(problem.encode()), dtype="uint8")
    told = _dist.array(mine, is_split=0, comm=comm)
    if told.size:
        raise error(told.numpy().tobytes().decode(errors="replace"))


def _number(dtype: Any) -> Callable[[str], Any]:
    kinds: dict[str, Callable[[str], Any]] = {
        "f": float,
        "c": lambda text: complex(text.strip().replace(" ", "")),
        "b": lambda text: bool(int(text)),
    }
    return kinds.get(dtype.kind, int)


def _lines(path: Any, header_lines: int, rank: int, size: int) -> list[bytes]:
    """The lines that begin in this rank's share of the bytes."""
    with open(os.fspath(path), "rb") as file:  # a number would be somebody's open file, and closed
        for _ in range(header_lines):
            file.readline()
        begin = file.tell()
        end = file.seek(0, os.SEEK_END)
        first, last = (begin + (end - begin) * r // size for r in (rank, rank + 1))
        file.seek(max(first - 1, begin))
        if first > begin:
            file.readline()  # belongs to the rank before
        found = []
        while file.tell() < last:
            found.append(file.readline())
    return found


def load_csv(
    path: str | os.PathLike[str],
    header_lines: int = 0,
    sep: str = ",",
    dtype: Any = "float64",
    split: int | None = 0,
    device: Any = None,
    comm: Communicator | None = None,
    *,
    comments: str = "#",
) -> DNDarray:
    """A table of numbers from a text file: rows of equal length, always two axes. Every rank reads its share.

    >>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), "x.csv")
    >>> ts.dist.save_csv(name, [[0.0, 1.0], [2.0, 3.5]]); ts.dist.load_csv(name).tolist()
    [[0.0, 1.0], [2.0, 3.5]]
    """
    group = _dist._world() if comm is None else comm
    kind = result_type(dtype)
    read, rows, problem, failed = _number(kind), [], "", ""
    try:
        for raw in _lines(path, header_lines, group.rank, group.size):
            text = raw.decode().split(comments)[0].strip() if comments else raw.decode().strip()
            if text:
                rows.append([read(word) for word in text.split(sep)])
    except OSError as error:
        failed = f"load_csv: {error}"
    except (ValueError, UnicodeDecodeError) as error:
        problem = f"load_csv: {os.fspath(path)}: {error}"
    _agree(failed, group, OSError)
    widths = sorted({len(row) for row in rows})
    _agree(problem, group)
    told = _dist.array(_core.array(widths, dtype="int64"), is_split=0, comm=group).tolist()
    if len(set(told)) > 1:
        raise ValueError(f"load_csv: {os.fspath(path)} has rows of {min(told)} and of {max(told)} columns")
    columns = told[0] if told else 0
    mine = _core.array(rows, dtype=kind) if rows else _core.zeros((0, columns), dtype=kind)
    mine = mine if device is None else mine.to(device)
    found = _dist.array(mine, is_split=0, comm=group).balance()
    return found if split == 0 else found.resplit(split)


def save_csv(
    path: str | os.PathLike[str], x: Any, header: str = "", sep: str = ",", decimals: int | None = None
) -> None:
    """Writes a table, or a vector as one column, as text: each rank its rows, at their places in the file. Numbers are
    written so that they are read again exactly, or with so many ``decimals``. The old file stays until all is written.

    >>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), "x.csv")
    >>> ts.dist.save_csv(name, ts.dist.arange(3, split=0), header="n"); open(name).read()
    'n\\n0\\n1\\n2\\n'
    """
    x = x if isinstance(x, DNDarray) else _dist.array(x)
    if not 1 <= x.ndim <= 2:
        raise ValueError(f"save_csv: expected a table or a vector, got shape {x.shape}")
    comm = x.comm
    x = x.resplit(0) if x.split == 1 else x
    mine = x.local if x.split == 0 or comm.rank == 0 else x.local[:0]
    text = _text(mine.reshape(-1, 1) if x.ndim == 1 else mine, sep, decimals)
    if comm.rank == 0 and header:
        text = (header.rstrip("\n") + "\n").encode() + text
    told = _dist.array(_core.array([[len(text), number_here()]]), is_split=0, comm=comm).tolist()
    lengths, number = [length for length, _ in told], told[0][1]
    at, place, part, failed = sum(lengths[: comm.rank]), "", "", ""
    try:
        for step in ("make", "fill", "keep"):
            try:
                if step == "make":
                    place = place_of(path)
                    part = f"{place}.{number:x}.part"
                    if comm.rank == 0:
                        with open(part, "wb") as file:
                            file.truncate(sum(lengths))
                elif step == "fill" and text:
                    with open(part, "r+b") as file:
                        file.seek(at)
                        file.write(text)
                elif step == "keep" and comm.rank == 0:
                    keep(part, place)
            except OSError as error:
                failed = f"save_csv: {error}"
            _agree(failed, comm, OSError)
    finally:
        if comm.rank == 0 and part:
            with contextlib.suppress(OSError):  # there is none after the renaming
                os.unlink(part)


def _text(rows: Any, sep: str, decimals: int | None) -> bytes:
    def word(v: Any) -> str:
        if isinstance(v, bool):
            return str(int(v))
        if decimals is not None and not isinstance(v, int):
            return f"{v:.{decimals}f}"
        return repr(v).strip("()")

    return "".join(sep.join(map(word, row)) + "\n" for row in rows.tolist()).encode()
