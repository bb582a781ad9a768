# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all: written under another name beside, and renamed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from .. import IoError


@contextlib.contextmanager
def beside(path: str | os.PathLike[str], who: str) -> Iterator[str]:
    """The name that is written to; it takes the place of ``path`` when the block ends. Whatever ends it otherwise
    leaves the old file as it was, and nothing beside it."""
    name = os.fspath(path)
    part = f"{name}.{os.getpid()}.part"
    try:
        yield part
        os.replace(part, name)
    except OSError as error:
        raise error if isinstance(error, IoError) else IoError(f"{who}: {name}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):  # there is none after the renaming, and before the writing began
            os.unlink(part)
