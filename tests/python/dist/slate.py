# SPDX-License-Identifier: Apache-2.0
"""A slate that all ranks of a test run see: small notes through local sockets, independent of the library under test,
so that a rank that fails, or waits in vain inside it, cannot keep the others from hearing so."""

import os
import pickle
import socket
import struct
import time

LONGEST = 16384  # bytes of a note
HEAD = struct.Struct("<qi")  # number of the note, rank
VARIABLE = "TESSERA_SLATE"  # a folder
END = b"E"


class Ended(AssertionError):
    """Another rank has left the test already."""


class Silence(RuntimeError):
    """A rank did not come to the slate in time."""


class Slate:
    """rank and size as mpirun says; alone without it."""

    def __init__(self, folder=None, rank=None, size=None):
        self.folder = folder or os.environ.get(VARIABLE)
        self.rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0)) if rank is None else rank
        self.size = int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1)) if size is None else size
        self.number = 0
        self.early = {}  # notes that came before their turn, by (number, rank)
        if self.size > 1:
            if not self.folder:
                raise RuntimeError(f"{self.size} ranks and no slate: start them with tests/python/dist/launch.py")
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.socket.bind(self.name(self.rank))

    def name(self, rank):
        return os.path.join(self.folder, f"rank{rank}")

    def exchange(self, note: bytes, patience: float = 120.0) -> list[bytes]:
        """Everybody's note, in rank order; collective. Silence names who is missing after `patience` seconds.

        Notes of a test that ends begin with END: a rank that is still inside of it hears them as Ended."""
        if self.size == 1:
            return [note]
        note = note[:LONGEST]
        self.number += 1
        until = time.monotonic() + patience
        for other in range(1, self.size):
            self.send((self.rank + other) % self.size, note, until)
        notes = {self.rank: note}
        while len(notes) < self.size:
            for rank in range(self.size):
                if (self.number, rank) in self.early:
                    notes[rank] = self.early.pop((self.number, rank))
            if len(notes) < self.size:
                self.receive(until, [r for r in range(self.size) if r not in notes])
        over = [n for n in notes.values() if n[:1] == END]
        if over and note[:1] != END:
            raise Ended("; ".join(n[1:].decode(errors="replace") for n in over))
        return [notes[r] for r in range(self.size)]

    def send(self, rank, note, until):
        while True:
            try:
                self.socket.sendto(HEAD.pack(self.number, self.rank) + note, self.name(rank))
                return
            except (FileNotFoundError, ConnectionRefusedError):  # not there yet, or gone
                if time.monotonic() > until:
                    raise Silence(f"rank {rank} is not there") from None
                time.sleep(0.01)

    def receive(self, until, missing):
        self.socket.settimeout(max(0.001, until - time.monotonic()))
        try:
            message = self.socket.recv(LONGEST + HEAD.size)
        except TimeoutError:
            raise Silence(f"rank {self.rank} waited in vain for rank {', '.join(map(str, missing))}") from None
        finally:
            self.socket.settimeout(None)
        self.early[HEAD.unpack(message[: HEAD.size])] = message[HEAD.size :]

    def agree(self, what: bytes) -> bool:
        """Whether all ranks came with the same bytes."""
        return len(set(self.exchange(b"C" + what))) == 1

    def everybody(self, what):
        """Objects of all ranks, by pickle."""
        return [pickle.loads(note[1:]) for note in self.exchange(b"C" + pickle.dumps(what))]

    def total(self, *numbers: int) -> list[int]:
        """Sums over the ranks."""
        return [sum(column) for column in zip(*self.everybody(numbers), strict=True)]
