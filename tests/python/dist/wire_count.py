# SPDX-License-Identifier: Apache-2.0
"""Messages that really leave this rank, those inside of MPI's own collectives too (wire_count.c).

library = build(folder)                         # None without mpicc
count = WireCount(library)                      # on every rank, after MPI has started
before = count.messages()"""

import ctypes
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")


def build(folder):
    """The compiled counter, or None where that is not possible."""
    library = Path(folder) / "wire_count.so"
    try:
        subprocess.run(["mpicc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return library


class WireCount:
    def __init__(self, library):
        self._library = ctypes.CDLL(str(library))
        self._library.wire_messages.restype = ctypes.c_longlong
        self._library.wire_start()

    def messages(self):
        """Sent by this rank so far."""
        return self._library.wire_messages()
