# SPDX-License-Identifier: Apache-2.0
"""Random distributed indexing beside NumPy for a given time, on 1, 2, 3, 4 and 7 ranks in turn; resumable.

usage: fuzz_dist.py SECONDS [STATE_FILE [CASES]]

The state file (build/fuzz_dist.json) keeps the next number and how many cases each number of ranks has had, so that a
million of them may be had in pieces, whatever ends one of them; with CASES the run ends at the next multiple of so
many. TESSERA_FUZZ_SEED begins another sequence. Fails with the numbers of the cases."""

import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import launch  # noqa: E402

RANKS = (4, 2, 3, 7, 1)
SLICE = 60.0  # seconds of one group


def one_group(ranks, seconds, seed, first):
    """(cases, failures) of one mpirun."""
    with launch.Group(ranks, [str(HERE / "fuzz.py"), str(seconds), str(seed), str(first), "state"], cwd=True) as group:
        status = group.wait(seconds + 300)
        path = group.folder / "state"
        said = json.loads(path.read_text()) if path.exists() else {"next": first, "cases": 0, "failures": []}
        if status not in (0, 3):
            at = int((group.folder / "at").read_text()) if (group.folder / "at").exists() else first
            ended = "did not end in time" if status is None else f"ended with {status}"
            said["failures"].append(f"TESSERA_DIST_CASE={seed},{at} on {ranks} ranks {ended}: {group.words(2000)}")
            said["next"], said["cases"] = at + 1, at + 1 - first
        return said


def save(state, known):
    """A run that is killed while it writes leaves the old state."""
    state.parent.mkdir(parents=True, exist_ok=True)
    new = state.with_suffix(".new")
    new.write_text(json.dumps(known, indent=1))
    os.replace(new, state)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    state = Path(sys.argv[2] if len(sys.argv) > 2 else "build/fuzz_dist.json")
    pieces = int(sys.argv[3]) if len(sys.argv) > 3 else sys.maxsize
    seed = int(os.environ.get("TESSERA_FUZZ_SEED", "2"))
    if launch.mpirun() is None:
        print("no mpirun here: the fuzzer of distributed arrays is skipped")
        return 0
    known = json.loads(state.read_text()) if state.exists() else {}
    had = known.setdefault(str(seed), {str(r): {"next": 0, "cases": 0} for r in RANKS})
    failures = known.setdefault("failures", [])  # of a run that did not come to tell them, too
    total = lambda: sum(r["cases"] for r in had.values())
    first = total()
    goal, began = (first // pieces + 1) * pieces, time.monotonic()
    while (left := seconds - (time.monotonic() - began)) > 0 and total() < goal and len(failures) < 20:
        ranks = min(RANKS, key=lambda r: (had[str(r)]["cases"], RANKS.index(r)))
        mine = had[str(ranks)]
        said = one_group(ranks, min(SLICE, max(2.0, left), max(2.0, seconds / len(RANKS))), seed, mine["next"])
        mine["next"], mine["cases"] = said["next"], mine["cases"] + said["cases"]
        failures += said["failures"]
        save(state, known)
    for failure in failures:
        print(f"-- {failure}\n")
    cases = total() - first
    print(
        f"fuzz_dist: {cases} cases in {time.monotonic() - began:.0f} s, {len(failures)} failures; {total()} with seed {seed} so far"
    )
    save(state, {**known, "failures": []})  # told
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
