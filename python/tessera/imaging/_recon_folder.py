# SPDX-License-Identifier: Apache-2.0
"""The folder in which `tessera recon` keeps its stages: of one command, of one run at a time, and of nobody else."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from pathlib import Path
from typing import Any

from .. import IoError
from .._beside import HALF
from ._recon_parts import read_json, write_json

_MARK = "command.json"
_OWN = re.compile(rf"(lambda\.json|samples\.npy|maps_\d+\.npy|image(_[a-z]+\d+)*\.(npy|json|solver.*?))({HALF})?")
_HALF = re.compile(rf"{re.escape(_MARK)}{HALF}")  # of a run that was killed as it wrote its mark


class StageFolder:
    """``path`` with a mark that says which command it belongs to; stages are read and written as its files.

    Only what recon has written is removed from it. The mark comes first and goes last, so that a folder without one is
    somebody else's, whatever it holds, and is refused.
    """

    def __init__(self, path: Path):
        self.path = path
        self._held: int | None = None

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def differs(self, known: dict[str, Any]) -> list[str] | None:
        """The arguments in which the command of the folder differs from ``known``; None where it has none yet."""
        if not self.path.exists():
            return None
        if not (self.path / _MARK).exists():
            other = sorted(name for name in os.listdir(self.path) if not _HALF.fullmatch(name))
            if other:
                raise IoError(
                    f"recon: the folder {self.path} holds {other[0]} and no stages of recon; "
                    "empty it, or give another as --checkpoint"
                )
            return None
        before = read_json(self.path / _MARK, dict)
        return [name for name in known if before.get(name) != known[name]]

    def hold(self) -> None:
        """Makes the folder and keeps other runs out of it until :meth:`release`, or the end of the process."""
        while self._held is None:
            made = False
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                made = True
                held = os.open(self.path, os.O_RDONLY)
            except OSError as error:
                if made and isinstance(error, FileNotFoundError):  # whoever had it has just removed it
                    continue
                raise IoError(f"recon: no folder for stages, {self.path}: {error.strerror}") from None
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(held)
                raise IoError(f"recon: another run is at work in {self.path}; wait for it, or give another") from None
            except OSError:  # a file system without locks: as good as it can be
                self._held = held
                return
            if self._is_there(held):
                self._held = held
            else:
                os.close(held)

    def _is_there(self, held: int) -> bool:
        """Whether what was opened is still what the name means, and not a folder that was removed meanwhile."""
        try:
            return os.path.samestat(os.fstat(held), os.stat(self.path))
        except FileNotFoundError:
            return False

    def begin(self, known: dict[str, Any]) -> None:
        """Removes the stages of another command and says whose those to come are."""
        if (self.path / _MARK).exists():
            self._clear()
        write_json(self.path / _MARK, known)

    def remove(self) -> None:
        """Removes the stages, and the folder unless somebody has put something into it."""
        self._clear()
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def _clear(self) -> None:
        for name in os.listdir(self.path):
            if _OWN.fullmatch(name) or _HALF.fullmatch(name):
                (self.path / name).unlink()
        (self.path / _MARK).unlink()

    def tidy(self) -> None:
        """Removes what is no stage once all is done: states of solvers, of every rank, and files never finished."""
        for name in os.listdir(self.path):
            own = _OWN.fullmatch(name)
            if own and (".solver" in name or name.startswith("samples") or own[4]):
                (self.path / name).unlink()

    def release(self) -> None:
        """Lets other runs in."""
        if self._held is not None:
            os.close(self._held)
            self._held = None
