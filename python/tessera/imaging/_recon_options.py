# SPDX-License-Identifier: Apache-2.0
"""What `tessera recon` is asked for, refused by the name of the argument before any work is done."""

from __future__ import annotations

import dataclasses
import math
import numbers
import os
from pathlib import Path
from typing import Any

import tessera as ts

from .. import ArgumentError, IoError
from .._beside import place_of
from .._offered import METHODS
from .._zarr import check_target
from ._files import files_of
from ._image_files import ENDINGS, ending
from ._placing import bytes_of

TIMES = ("repetition", "set", "phase", "contrast")  # axes along which frames show one object


@dataclasses.dataclass(frozen=True)
class ReconOptions:
    """The arguments of `tessera recon`, by their names."""

    scan: str
    output: str
    method: str = "sense"
    lamda: str = "auto"
    device: str = "cpu"
    budget: str | None = None
    checkpoint: str | None = None
    maps: str | None = None
    field_map: str | None = None
    sample_time: float | None = None
    coils: int | None = None
    calibration: int = 24
    iterations: int = 30
    dataset: str = "dataset"
    report: str | None = None
    preview: str | None = None
    quiet: bool = False

    def devices(self) -> list[str]:
        return [name.strip() for name in self.device.split(",")]

    def strength(self) -> float | str:
        """The number that --lambda is, or "auto"."""
        try:
            return "auto" if self.lamda == "auto" else float(self.lamda)
        except (TypeError, ValueError):
            raise ArgumentError(f'recon: --lambda {self.lamda!r}; expected a number or "auto"') from None

    def beside(self, end: str) -> Path:
        """The output's name with another ending."""
        return Path(self.output[: -len(ending(self.output))] + end)

    def folder(self) -> Path:
        """Where stages are kept until the image is written."""
        return Path(self.checkpoint) if self.checkpoint else Path(self.output + ".part")

    def fingerprint(self) -> dict[str, Any]:
        """What a folder of stages belongs to: the scan as it is now, and the arguments that change the image."""
        names = ("method", "lamda", "coils", "calibration", "iterations", "dataset", "sample_time")
        more = {name: getattr(self, name) for name in names}
        for name, path in (("scan", self.scan), ("maps", self.maps), ("field_map", self.field_map)):
            more[name] = None if path is None else [os.path.abspath(path), *_state(path)]
        return more

    def check(self) -> None:
        """Refuses what cannot be, and what contradicts itself."""
        if self.method not in METHODS:
            raise ArgumentError(f"recon: --method {self.method!r}; expected one of {', '.join(METHODS)}")
        value = self.strength()
        if value != "auto" and not (math.isfinite(float(value)) and float(value) >= 0):
            raise ArgumentError(f"recon: --lambda {self.lamda}; expected a number that is not negative")
        if self.method == "grid" and self.lamda != "auto":
            raise ArgumentError(f"recon: --lambda {self.lamda} with --method grid, which has no penalty to weigh")
        for name in ("iterations", "calibration", "coils"):
            number = getattr(self, name)
            if not (isinstance(number, numbers.Integral) or (number is None and name == "coils")):
                raise ArgumentError(f"recon: --{name} {number!r}; expected a whole number")
        if self.iterations < 1 or self.calibration < 4 or (self.coils is not None and self.coils < 1):
            raise ArgumentError(
                f"recon: --iterations {self.iterations}, --calibration {self.calibration}, --coils {self.coils}; "
                "expected at least 1, 4 and 1"
            )
        if self.maps is not None and self.coils is not None:
            raise ArgumentError(
                "recon: --maps with --coils; maps belong to the coils as they are, expected one of them"
            )
        if self.sample_time is not None:
            self._check_time(self.sample_time)
        for name in self.devices():
            ts.Device(name)
        if self.budget is not None:
            bytes_of(self.budget)
        if not any(self.output.endswith(end) for end in ENDINGS):
            raise ArgumentError(f"recon: -o {self.output!r}; expected a name that ends in {', '.join(ENDINGS)}")
        ending(self.output)
        for what, path in (("-o", self.output), ("--report", self.report), ("--preview", self.preview)):
            if path is not None and not Path(path).absolute().parent.is_dir():
                raise IoError(f"recon: {what} {path}: there is no folder {Path(path).absolute().parent}")
        for what, path in self._read():
            if not Path(path).exists():
                raise IoError(f"recon: {what} {path}: there is no such file")
        self._check_files()

    def _check_time(self, seconds: Any) -> None:
        if self.field_map is None:
            raise ArgumentError(f"recon: --sample-time {seconds} without --field-map, for which it is")
        if isinstance(seconds, bool) or not isinstance(seconds, numbers.Real) or not 0 < float(seconds) < math.inf:
            raise ArgumentError(f"recon: --sample-time {seconds!r}; expected seconds, a number above zero")

    def _read(self) -> list[tuple[str, str]]:
        """What is read, and which argument says so."""
        given = [("scan", self.scan), ("--maps", self.maps), ("--field-map", self.field_map)]
        return [(what, path) for what, path in given if path is not None]

    def _check_files(self) -> None:
        """What is written is nothing that is read, nor written twice, and takes the place of a file only."""
        written = [
            ("-o", self.output),
            ("--preview", self.preview or str(self.beside(".png"))),
            ("--report", self.report or str(self.beside(".json"))),
        ]
        for what, path in written:
            if what == "-o" and path.endswith(".zarr"):
                check_target(path, "recon")
            folder = what == "-o" and path.endswith((".dcm", ".zarr")) and os.path.isdir(path)
            try:
                _ = folder or place_of(path)
            except OSError as error:
                kind = "a folder" if os.path.isdir(path) else "no file"
                raise IoError(f"recon: {what} {path} is {kind}: {error.strerror}") from None
        seen: dict[str, str] = {}
        read = self._read()
        for number, (what, path) in enumerate([*read, *written, ("--checkpoint", str(self.folder()))]):
            for part in sorted({path, *([] if what == "--checkpoint" else files_of(path))}):
                real = os.path.realpath(part)
                if number >= len(read) and real in seen:
                    raise ArgumentError(f"recon: {what} {path} would overwrite {seen[real]}; give it another name")
                seen.setdefault(real, f"the {what}" if what == "scan" else f"what {what} names")
        inside = os.path.realpath(self.output) + os.sep
        for what, path in (*written[1:], ("--checkpoint", str(self.folder()))):
            if os.path.realpath(path).startswith(inside):
                raise ArgumentError(f"recon: {what} {path} lies in {self.output}, the image; give it another folder")
        for path, what in seen.items():
            if os.path.realpath(self.folder()) == os.path.dirname(path):
                raise ArgumentError(f"recon: {what} lies in {self.folder()}, the folder of stages; give it another")


def _state(path: str) -> list[list[int]]:
    """Sizes and times of what is read at a name, also where that is a folder or a pair: others after any change."""
    states = [os.stat(part) for part in files_of(path) if os.path.exists(part)]
    return [[state.st_size, state.st_mtime_ns] for state in states]
