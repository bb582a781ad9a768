# SPDX-License-Identifier: Apache-2.0
"""What the machine allows a process: limits, control groups, file systems, and the speed of a disk.

Files of the system are read below `root`, which is "/" except in tests.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

MiB = 1 << 20
_SYSTEM = Path("/")


def limits() -> Iterator[tuple[str, int | None, str]]:
    """(name, bytes or None for no limit, advice) of the limits that people stumble over."""
    advice = {
        "memlock": (64 * MiB, "raise it for pinned memory and InfiniBand: ulimit -l unlimited"),
        "address space": (None, "arrays that are mapped count: ulimit -v unlimited"),
        "stack": (1 * MiB, "raise it: ulimit -s 8192"),
    }
    kinds = {"memlock": resource.RLIMIT_MEMLOCK, "address space": resource.RLIMIT_AS, "stack": resource.RLIMIT_STACK}
    for name, kind in kinds.items():
        soft = resource.getrlimit(kind)[0]
        value = None if soft == resource.RLIM_INFINITY else soft
        least, text = advice[name]
        yield name, value, text if value is not None and (least is None or value < least) else ""


def _groups(root: Path) -> Iterator[tuple[Path, bool]]:
    """The folders of this process's control groups with their parents, and whether they are of version 2."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")
        second = controllers == ""
        if not second and "memory" not in names and "cpu" not in names:
            continue
        mount = root / "sys/fs/cgroup" if second else root / "sys/fs/cgroup" / controllers
        folder = mount / path.lstrip("/")
        while True:  # inside a container the path is that of the host, and only the mount itself is there
            yield folder, second
            if folder == mount or mount not in folder.parents:
                break
            folder = folder.parent


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def cgroup_memory(root: Path = _SYSTEM) -> int | None:
    """Bytes that the tightest control group allows; None without a limit."""
    found = []
    for folder, second in _groups(root):
        files = ("memory.max", "memory.high") if second else ("memory.limit_in_bytes",)
        for number in (_number(folder / file) for file in files):
            if number is not None and number < 1 << 60:  # version 1 writes "no limit" as a huge number
                found.append(number)
    return min(found, default=None)


def cgroup_cores(root: Path = _SYSTEM) -> float | None:
    """Cores of the tightest quota of a control group; None without one."""
    found = []
    for folder, second in _groups(root):
        with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
            if second:
                quota, period = (folder / "cpu.max").read_text().split()
            else:
                quota = (folder / "cpu.cfs_quota_us").read_text()
                period = (folder / "cpu.cfs_period_us").read_text()
            if int(quota) > 0:
                found.append(int(quota) / int(period))
    return min(found, default=None)


def file_system(folder: Path, root: Path = _SYSTEM) -> str:
    """The kind of file system below a folder ("ext4", "tmpfs", "nfs4"); "" where that is not told."""
    try:
        lines = (root / "proc/self/mounts").read_text().splitlines()
    except OSError:
        return ""
    real, best, kind = folder.resolve(), -1, ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mount = Path(fields[1].replace("\\040", " "))
        if (real == mount or mount in real.parents) and len(mount.parts) >= best:
            best, kind = len(mount.parts), fields[2]
    return kind


def disk_speed(folder: Path, size: int = 64 * MiB, piece: int = 4 * MiB) -> tuple[float, float]:
    """Bytes per second written and read past the page cache, in a file that has no name and is gone afterwards.

    A file system that does not let programs past its cache is told to forget what it keeps before it is read.
    """
    block = mmap.mmap(-1, piece)  # its address is that of a page, as direct transfers need
    block.write(os.urandom(piece))
    handle, name = tempfile.mkstemp(prefix="tessera-doctor-", dir=folder)
    os.close(handle)
    try:
        file = _open_direct(name)
        try:
            began = time.perf_counter()
            for at in range(0, size, piece):
                os.pwrite(file, block, at)
            os.fdatasync(file)
            written = time.perf_counter() - began
            os.posix_fadvise(file, 0, size, os.POSIX_FADV_DONTNEED)
            began = time.perf_counter()
            for at in range(0, size, piece):
                os.preadv(file, [block], at)
            read = time.perf_counter() - began
        finally:
            os.close(file)
    finally:
        os.unlink(name)
        block.close()
    return size / max(written, 1e-9), size / max(read, 1e-9)


def _open_direct(name: str) -> int:
    try:
        return os.open(name, os.O_RDWR | os.O_DIRECT)
    except OSError:
        return os.open(name, os.O_RDWR)
