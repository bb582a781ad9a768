# SPDX-License-Identifier: Apache-2.0
"""Ranks for test_dist_failures.py: one of them comes to grief in the middle of the work.

usage: failures.py HOW FILE.  HOW: kill, stop, stall, raise, exit, save (killed some microseconds later, inside of saving),
host (test_dist_several_hosts.py takes a whole host away)"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

import tessera as ts

how, path = sys.argv[1:3]
how, delay = (how.split("-") + ["0"])[:2]
world = ts.dist.world
n = 300_000
x = ts.dist.array(np.arange(n, dtype="float64"), split=0)
keys = ts.dist.array(np.random.default_rng(0).permutation(n), split=0)


def die():
    Path(f"{path}.grief").touch()
    os.kill(os.getpid(), signal.SIGKILL)


def grief(turn):
    if world.rank != 1 or turn != 7:
        return
    if how == "host":
        Path(f"{path}.grief").touch()
        return
    if how == "save":
        threading.Timer(int(delay) * 1e-6, die).start()
        return
    Path(f"{path}.grief").touch()
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if how == "stall":
        time.sleep(3600)
    if how == "raise":
        raise ValueError("rank 1 has had enough")
    if how == "exit":
        os._exit(0)


try:
    for turn in range({"save": 400, "host": 1_000_000}.get(how, 60)):
        grief(turn)
        if how == "save":
            ts.dist.save(path, x + turn)
        else:
            y = x[keys]
            x = ts.dist.sort(y) if turn % 3 == 0 else y + 1.0
except ts.CommError as error:
    Path(f"{path}.saying{world.rank}").write_text(str(error))
    os.replace(f"{path}.saying{world.rank}", f"{path}.rank{world.rank}")  # whole once the others see it
    print(f"rank {world.rank}: CommError: {error}", flush=True)
    until = time.time() + 60  # mpirun ends everybody at the first one that leaves: the others may say it, too
    others = range(4) if how == "host" else (0, 2)
    while time.time() < until and not all(os.path.exists(f"{path}.rank{r}") for r in others):
        time.sleep(0.05)
    os._exit(7)
