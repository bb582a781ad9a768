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

from checks import run_case  # noqa: E402
from draw import draw_case  # noqa: E402
from slate import Slate  # noqa: E402

import tessera as ts  # noqa: E402


MOST = int(os.environ.get("TESSERA_FUZZ_FAILURES", "20"))  # then it is time to look at them


def main():
    seconds, seed, number, state = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    slate = Slate()
    began = time.monotonic()
    failures = []
    first = number
    place = os.open("at", os.O_CREAT | os.O_WRONLY) if slate.rank == 0 else None
    while True:
        if number % 64 == 0:
            spent = slate.everybody(time.monotonic() - began)[0]  # rank 0's clock decides for all
            if slate.rank == 0:
                state.write_text(json.dumps({"next": number, "cases": number - first, "failures": failures}))
            if spent > seconds or len(failures) >= MOST:
                break
        if place is not None:
            os.pwrite(place, f"{number:12d}".encode(), 0)  # where it was, should nobody be left to say
        try:
            run_case(draw_case(seed, number, slate.size), slate, bound=number % 2 == 0)
        except AssertionError as found:
            failures.append(f"TESSERA_DIST_CASE={seed},{number} on {slate.size} ranks: {str(found)[:1500]}")
        except Exception:  # the group may be lost: say where, and leave the rest to the next group
            if slate.rank == 0:
                text = f"TESSERA_DIST_CASE={seed},{number} on {slate.size} ranks: {traceback.format_exc()[-1500:]}"
                state.write_text(
                    json.dumps({"next": number + 1, "cases": number + 1 - first, "failures": [*failures, text]})
                )
            sys.stdout.flush()
            os._exit(3)
        number += 1
    if ts.dist.world.size > 1:
        ts.dist.world.barrier()


if __name__ == "__main__":
    main()
