# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all: written under another name beside, and renamed.

A link stays one: what it names is replaced, and keeps its permissions."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Iterator

from ._tessera import IoError

HALF = r"\.[0-9a-f]+\.part"  # how the name of a file ends that is being written, or was left by who was killed
_numbers = itertools.count()  # of files that are being written: threads may write the same one


def place_of(path: str | os.PathLike[str]) -> str:
    """The file that a name means, through links; an OSError where that is a folder, a pipe or no place at all."""
    name = os.fsdecode(path)
    try:
        place = os.path.realpath(name)
    except ValueError as error:  # a zero, or half of a pair of surrogates
        raise OSError(errno.EINVAL, str(error), name) from None
    if os.path.islink(place):
        raise OSError(errno.ELOOP, "a symbolic link that leads to itself", name)
    if os.path.isdir(place):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if os.path.exists(place) and not os.path.isfile(place):
        raise OSError(errno.EINVAL, "a pipe or a device, no file", name)
    return place


def keep(part: str, place: str) -> None:
    """Gives a whole file the name of the old one, and its permissions where there is an old one."""
    with contextlib.suppress(FileNotFoundError):
        os.chmod(part, stat.S_IMODE(os.stat(place).st_mode))
    os.replace(part, place)


def number_here() -> int:
    """No other file that is being written now has this number, of this process and of others of this machine."""
    return os.getpid() << 32 | next(_numbers)


def begun(place: str, mode: int = 0o600) -> str:
    """A new file beside a place: of a name that no process that was killed has left there, and none of another machine
    has."""
    while True:
        part = f"{place}.{number_here():x}.part"
        with contextlib.suppress(FileExistsError):
            os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
            return part


@contextlib.contextmanager
def beside(path: str | os.PathLike[str], who: str) -> Iterator[str]:
    """The name that is written to; it takes the place of ``path`` when the block ends. Whatever ends it otherwise
    leaves the old file as it was, and nothing beside it."""
    part = None
    try:
        place = place_of(path)
        # Who may not read the old file may not read the new one while it is written.
        part = begun(place, 0o600 if os.path.exists(place) else 0o666)
        yield part
        keep(part, place)
    except OSError as error:
        if isinstance(error, IoError):
            raise
        raise IoError(f"{who}: {os.fsdecode(path)}: {error.strerror or error}") from None
    finally:
        if part is not None:
            with contextlib.suppress(OSError):  # there is none after the renaming, and before the writing began
                os.unlink(part)
