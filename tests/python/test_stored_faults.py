# SPDX-License-Identifier: Apache-2.0
"""Arrays on disk where something goes wrong: files that change, processes that share a folder, memory of a cgroup."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import host_memory

import tessera as ts

MIB = 1 << 20


@pytest.mark.parametrize("name", ["x.tiles", "x.npy"])
@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.sum(),
        lambda x: x.T,
        lambda x: (x + 1).compute(),
        lambda x: x @ x,
        lambda x: ts.linalg.cholesky(x),
        lambda x: ts.linalg.solve(x, np.ones(300)),
        lambda x: ts.sort(x),
        lambda x: ts.linalg.qr(x),
        lambda x: x[:],
    ],
)
def test_a_file_that_becomes_shorter_is_said(tmp_path, name, use):
    ts.set_backing_dir(str(tmp_path / "backing"))
    try:
        path = tmp_path / name
        x = ts.stored.array(np.eye(300) * 4, path)
        os.truncate(path, 300 * 300 * 4)
        with pytest.raises(OSError, match="shorter|cut off"):
            use(x)
        assert path.stat().st_size == 300 * 300 * 4  # nobody wrote there
        assert list((tmp_path / "backing").iterdir()) == []
    finally:
        ts.set_backing_dir(None)


def test_writing_to_a_file_that_became_shorter_is_refused(tmp_path):
    path = tmp_path / "x.tiles"
    x = ts.stored.create((300, 300), "float64", path)
    os.truncate(path, 5000)
    with pytest.raises(OSError, match="shorter"):
        x[299, 299] = 1
    assert path.stat().st_size == 5000


@pytest.mark.parametrize("which", ["matmul", "cholesky", "solve", "inverse", "sort"])
def test_a_job_notices_an_operand_that_changed(tmp_path, which):
    """Begun by another process, killed at its first mark, and then the operand is written to."""
    a = ts.stored.array(np.eye(400) * 4, tmp_path / "a")
    calls = {
        "matmul": lambda: ts.stored.matmul(a, a, path=tmp_path / "c"),
        "cholesky": lambda: ts.stored.cholesky(a, path=tmp_path / "c"),
        "solve": lambda: ts.stored.solve(a, a, path=tmp_path / "c"),
        "inverse": lambda: ts.stored.inverse(a, path=tmp_path / "c"),
        "sort": lambda: ts.stored.sort(a, path=tmp_path / "c"),
    }
    code = f"""
import os, sys
import tessera as ts
ts.set_memory_budget(host=ts.memory_stats("cpu")["in_use"] + {1 * MIB})
ts._tessera._stored_mark_interval(0.0)
a = ts.stored.open({str(tmp_path / "a")!r})
out = {str(tmp_path / "c")!r}
which = {which!r}
import threading
def end():
    while True:
        try:
            if "step 00000000000000000000" not in open(out + ".job").read() and os.path.exists(out + ".partial"):
                os.kill(os.getpid(), {int(signal.SIGKILL)})
        except OSError:
            pass
threading.Thread(target=end, daemon=True).start()
function = getattr(ts.stored, which)
function(*([a, a] if which in ("matmul", "solve") else [a]), path=out)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True)
    if ended.returncode == 0 or not (tmp_path / "c.job").exists() or (tmp_path / "c").exists():
        pytest.skip("it came to its end before it was ended")
    before = {p.name: p.read_bytes() for p in tmp_path.glob("c*")}
    writable = ts.stored.open(tmp_path / "a", "r+")
    writable[0, 0] = 5.0
    del writable
    with host_memory(1 * MIB), pytest.raises(ts.ArgumentError, match="another job"):
        calls[which]()
    assert {p.name: p.read_bytes() for p in tmp_path.glob("c*")} == before


SHARED = """
import os, sys
import tessera as ts
ts.set_backing_dir(sys.argv[1])
x = ts.stored.array([float(sys.argv[2])] * 1000)
y = (x * 2).compute()
print("ready", flush=True)
sys.stdin.readline()
print(y.sum().item(), flush=True)
"""


def test_processes_share_a_backing_folder(tmp_path):
    """Files of the living stay, those of the killed go with the next one that comes."""

    def begin(number):
        command = [sys.executable, "-c", SHARED, str(tmp_path), str(number)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        return process

    with begin(1) as first, begin(2) as second:
        assert len(list(tmp_path.glob("*.backing"))) == 4
        second.kill()
        second.wait()
        assert len(list(tmp_path.glob("*.backing"))) == 4
        with begin(3) as third:
            assert len(list(tmp_path.glob("*.backing"))) == 4  # those of the first and the third
            for process, said in ((first, "2000.0\n"), (third, "6000.0\n")):
                process.stdin.write("\n")
                process.stdin.flush()
                assert process.stdout.readline() == said
    assert list(tmp_path.glob("*.backing")) == []


def memory_cgroup(limit):
    """A new cgroup with so many bytes, or a reason why there is none."""
    for root, file in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        group = Path(root) / f"tessera-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as error:
            reason = f"no cgroup can be made: {error}"
            continue
        reason = f"{root} is no cgroup with limits of memory"
        if (group / "cgroup.procs").exists() and (group / file).exists():  # else a folder as any other
            try:
                (group / file).write_text(str(limit))
                return group
            except OSError as error:
                reason = f"a cgroup takes no limit of memory: {error}"
        group.rmdir()
    pytest.skip(reason)


CONFINED = """
import os, sys
try:
    with open(sys.argv[1] + "/cgroup.procs", "w") as processes:
        processes.write(str(os.getpid()))
except OSError as error:
    sys.exit(f"no process may enter the cgroup: {error}")
import tessera as ts
ts.set_backing_dir(sys.argv[2])
x = ts.random.normal((8192, 8192), dtype="float32")  # 256 MiB
assert isinstance(x, ts.stored.StoredArray), type(x)
total = (x * x).mean().item()
assert 0.99 < total < 1.01, total
assert x.T[5, :3].tolist() == x[:3, 5].tolist()
print("done")
"""


def in_memory(path):
    """Whether files there are memory themselves, which a limit of memory counts."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(path)], capture_output=True, text=True).stdout.strip()
    return kind in ("tmpfs", "ramfs")


def test_a_cgroup_with_less_memory_than_the_data(tmp_path):
    if in_memory(tmp_path):
        pytest.skip(f"files of {tmp_path} are in memory")
    group = memory_cgroup(200 * MIB)
    try:
        command = [sys.executable, "-c", CONFINED, str(group), str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True)
        if "no process may enter" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.stdout == "done\n", (done.returncode, done.stderr)
    finally:
        group.rmdir()
    assert list(tmp_path.iterdir()) == []
