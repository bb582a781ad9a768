# SPDX-License-Identifier: Apache-2.0
"""The random cases without an end: one rank of it. Started by fuzz_dist.py, which bounds its time.

usage (under launch.Group): fuzz.py SECONDS SEED FIRST STATE_FILE"""

import json
import os
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from checks import run_cases  # noqa: E402
from draw import draw_case  # noqa: E402
from slate import Slate  # noqa: E402

import tessera as ts  # noqa: E402

MOST = int(os.environ.get("TESSERA_FUZZ_FAILURES", "20"))  # then it is time to look at them


BATCH = 16  # cases between two meetings of the ranks


class Sequence:
    """Cases by number; `place` is a file that says where it is, should nobody be left to say."""

    def __init__(self, seed, number, ranks, place):
        self.seed, self.number, self.ranks, self.place = seed, number, ranks, place

    def batch(self):
        for _ in range(BATCH):
            if self.place is not None:
                os.pwrite(self.place, f"{self.number:12d}".encode(), 0)
            yield self.name(), draw_case(self.seed, self.number, self.ranks), self.number % 2 == 0
            self.number += 1

    def name(self):
        return f"TESSERA_DIST_CASE={self.seed},{self.number} on {self.ranks} ranks"


def main():
    seconds, seed, first, state = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    slate = Slate()
    began = time.monotonic()
    failures = []
    place = os.open("at", os.O_CREAT | os.O_WRONLY) if slate.rank == 0 else None
    cases = Sequence(seed, first, slate.size, place)

    def keep(behind, found):
        if slate.rank == 0:
            state.write_text(json.dumps({"next": behind, "cases": behind - first, "failures": found}))

    while slate.everybody(time.monotonic() - began)[0] < seconds and len(failures) < MOST:  # rank 0's clock
        try:
            failures += [f"{name}: {text[:1500]}" for name, text in run_cases(cases.batch(), slate).items()]
        except Exception:  # the group may be lost: say where, and leave the rest to the next group
            keep(cases.number + 1, [*failures, f"{cases.name()}: {traceback.format_exc()[-1500:]}"])
            sys.stdout.flush()
            os._exit(3)
        keep(cases.number, failures)
    if ts.dist.world.size > 1:
        ts.dist.world.barrier()


if __name__ == "__main__":
    main()
