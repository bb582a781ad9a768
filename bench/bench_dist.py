# SPDX-License-Identifier: Apache-2.0
"""Distributed arrays beside Heat, in one MPI job each on 2, 4 and 8 ranks: bytes over the lower bound, messages, time.

usage: bench_dist.py [ranks,ranks,...]

Both libraries take turns on the same numbers with fresh arrays and keys; a time is the slowest rank's, shown as the
best round and (the median one), and the goal is judged by the best of both. Our bytes are those that the communicator
counts, Heat's what it hands to MPI (bench/dist/mpi_sent.c, which sees ours too). Heat's results are compared with
NumPy's: rows that it gets wrong, refuses or does not end are named so. The table is also out/bench_dist.json.
"""

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
import timeit
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/python/dist"), str(ROOT / "bench/dist")]
import launch  # noqa: E402
import rows as table  # noqa: E402

OUT = ROOT / "out"
PROGRAM = str(ROOT / "bench/dist/ranks.py")
PATIENCE = 90  # seconds without a new row: it hangs; 1 GiB on 8 ranks takes half of it


def counter():
    """The compiled counter, or None."""
    library = ROOT / "build/mpi_sent.so"
    command = ["mpicc", "-shared", "-fPIC", "-O1", "-o", str(library), str(ROOT / "bench/dist/mpi_sent.c")]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print("mpicc: not here, bytes of Heat are not counted")
        return None
    return str(library)


def group(ranks, what, argument, out, extra):
    return launch.Group(ranks, [PROGRAM, str(out), what, str(argument)], extra=extra)


def watch(running, out):
    """Waits while rows keep coming; True when the job ended by itself."""
    seen, since = None, time.monotonic()
    while running.process.poll() is None:
        size = out.stat().st_size if out.exists() else 0
        if size != seen:
            seen, since = size, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            running.end()
            return False
        time.sleep(0.2)
    return True


def measure_rows(ranks, extra):
    """All rows on so many ranks; a new job after a row that broke the last one."""
    out = OUT / f"bench_dist.{ranks}.jsonl"
    out.unlink(missing_ok=True)
    first, found = 0, {}
    for _ in range(40):
        with group(ranks, "rows", first, out, extra) as running:
            ended = watch(running, out)
            words = running.words(1500)
        for line in map(json.loads, out.read_text().splitlines() if out.exists() else []):
            found.setdefault(line["row"], {}).update(line)
        count = len(table.rows())
        heat_is_here = "heat_verdict" in found.get(0, {})
        last = max(found, default=-1)
        if last == count - 1 and ("heat_verdict" in found[last] or not heat_is_here):
            break
        broken = out.with_suffix(".running")
        at = int(broken.read_text()) if broken.exists() else 0
        if "verdict" not in found.get(at, {}):
            print(f"our row {at} on {ranks} ranks {'ended the job' if ended else 'hangs'}:\n{words}")
            found.setdefault(at, {})["verdict"] = "hangs"
        elif "heat_verdict" not in found[at]:
            found[at]["heat_verdict"] = "ends the job" if ended else "hangs"
        first = at + 1
        if first >= count:
            break
    return [found[n] for n in sorted(found)]


def ratio(a, b):
    """a over b as text; bounds of 0 are met by 0."""
    if b == 0:
        return "0 of 0" if a == 0 else f"{a} of 0"
    return f"{a / b:.3f}"


def show(line):
    if "seconds" not in line:
        print(f"{table.rows()[line['row']].name:46s} {line.get('verdict', 'missing')}")
        return
    heat = line.get("heat_verdict")
    mine = ratio(line["bytes"], line["bound"])
    ms = lambda prefix: f"{line[prefix + 'seconds'] * 1e3:8.3f} ms ({line[prefix + 'median'] * 1e3:.3f})"
    text = f"{line['name']:46s} {ms('')} {line['messages']:5d} messages  bytes/bound {mine:>9s}"
    if heat == "ok":
        speed = line["heat_seconds"] / line["seconds"]
        theirs = ratio(line["heat_bytes"], line["bound"]) if line["heat_bytes"] else "-"
        text += f"   Heat {ms('heat_')}  bytes/bound {theirs:>9s}   speed {speed:7.1f}"
        text += f"  goal 10: {'reached' if speed >= 10 else 'MISSED'}"
    elif heat:
        text += f"   Heat: {heat}"
    small = line["bytes"] <= 1.05 * line["bound"]
    text += f"  bytes goal 1.05: {'reached' if small else 'MISSED'}"
    if line["verdict"] != "ok":
        text += f"   OURS: {line['verdict'].upper()}"
    print(text, flush=True)


def mebibytes(most=1024, copies=10):
    """`most` where there is room for some copies of it, else less."""
    with open("/proc/meminfo") as file:
        free = next(int(line.split()[1]) // 1024 for line in file if line.startswith("MemAvailable"))
    return next((m for m in (1024, 512, 256, 128) if m <= most and free > copies * m), 64)


def job(what, ranks, size, extra):
    """The lines of a job of bench/dist/ranks.py, and its last words."""
    out = OUT / f"bench_dist.{what}.{ranks}.jsonl"
    out.unlink(missing_ok=True)
    with group(ranks, what, size, out, extra) as running:
        watch(running, out)
        words = running.words(1500)
    if not out.exists():
        print(f"{what} on {ranks} ranks: nothing came back\n{words}")
        return []
    return [json.loads(line) for line in out.read_text().splitlines()]


# Their seconds and ours, by the same start and end: the rows and the columns of the array.
PAIRS = [
    ("as programs call them, new memory at each call", "alltoallv_new_seconds", "seconds"),
    ("the same, and no memory kept from call to call", "alltoallv_new_seconds", "seconds_new"),
    ("all memory there before", "alltoallv_packing_seconds", "seconds"),
]


def measure_redistribution(ranks, extra):
    """Beside Alltoallv at its best: with and without reading the memory of the other ranks."""
    size, found = mebibytes(), None
    for way in ("cma", "none"):
        lines = job("redistribution", ranks, size, {**extra, "OMPI_MCA_btl_vader_single_copy_mechanism": way})
        for line in lines:
            for name in line:
                if found and "seconds" in name:
                    line[name] = min(line[name], found.get(name, line[name]))
            found = line
    if found is None:
        return None
    memory = found["extra_memory"] / 2**20
    print(f"split 0 to 1 of {size} MiB on {ranks} ranks: extra memory {memory:.0f} MiB (goal 64)   {found['verdict']}")
    for words, their, our in PAIRS:
        if their not in found:
            print(f"    {words:48s} {found[our] * 1e3:7.1f} ms")
            continue
        speed = found[their] / found[our]
        text = f"    {words:48s} {found[our] * 1e3:7.1f} ms   packing and Alltoallv {found[their] * 1e3:7.1f} ms"
        print(f"{text}   speed {speed:5.2f}  goal 2: {'reached' if speed >= 2 else 'MISSED'}")
    if "alltoallv_packed_seconds" in found:
        packed, copy = found["alltoallv_packed_seconds"] * 1e3, found["copy_seconds"] * 1e3
        print(
            f"    Alltoallv of data packed before {packed:.1f} ms, a copy of each rank's part {copy:.1f} ms", flush=True
        )
    return found


def measure_unordered(ranks, extra, thousands=6000):
    """x[permutation] beside the lines that a program would write with mpi4py."""
    found = None
    for found in job("unordered", ranks, thousands, extra):
        text = f"x[permutation] of {thousands / 1000:g} million on {ranks} ranks: {found['seconds'] * 1e3:.1f} ms"
        text += f", again {found['seconds_again'] * 1e3:.1f} ms"
        if "mpi4py_seconds" in found:
            speed = found["mpi4py_seconds"] / found["seconds"]
            text += f"   mpi4py {found['mpi4py_seconds'] * 1e3:.1f} ms   speed {speed:.2f}"
            text += f"  goal 1: {'reached' if speed >= 1 else 'MISSED'}"
        print(f"{text}   {found['verdict']}", flush=True)
    return found


def measure_memory(ranks, extra):
    """Beside operand and result, per rank."""
    lines = job("memory", ranks, mebibytes(512, 12), extra)
    for line in lines:
        mebi = line["extra_memory"] / 2**20
        text = f"{line['name']:46s} extra memory {mebi:7.1f} MiB   {line['seconds']:7.2f} s"
        print(text + f"  goal 64: {'reached' if mebi <= 64 else 'MISSED'}", flush=True)
    return lines


def measure_scalar():
    """x[5] on one rank, as a program without mpirun sees it."""
    import tessera as ts

    def micros(names, statement="x[5]"):
        timer = timeit.Timer(statement, globals=names)
        return statistics.median(timer.timeit(20000) / 20000 * 1e6 for _ in range(9))

    line = {"name": "x[5], one rank", "us": micros({"x": ts.dist.zeros((1000,), split=0)})}
    if importlib.util.find_spec("heat"):
        try:
            import heat as ht

            line["heat_us"] = micros({"x": ht.zeros(1000, split=0)})
        except Exception as error:
            print(f"heat: not here ({type(error).__name__})")
    text = f"local x[5] from Python                         {line['us']:9.3f} us"
    if "heat_us" in line:
        text += f"   Heat {line['heat_us']:9.3f} us   speed {line['heat_us'] / line['us']:5.1f}"
    print(text + f"  limit 0.50 us: {'reached' if line['us'] <= 0.5 else 'MISSED'}", flush=True)
    return line


def main():
    if launch.mpirun() is None:
        print("no mpirun here: distributed arrays are not measured")
        return
    OUT.mkdir(exist_ok=True)
    sizes = [int(n) for n in sys.argv[1].split(",")] if len(sys.argv) > 1 else [2, 4, 8]
    library = counter()
    extra = {"TESSERA_MPI_SENT": library, "LD_PRELOAD": library} if library else {}
    extra |= {"TESSERA_POISON": "0", "TESSERA_COMM_TIMEOUT": "60"}
    results = {"scalar": measure_scalar(), "rows": [], "redistribution": [], "unordered": [], "memory": []}
    for ranks in sizes:
        print(f"-- {ranks} ranks on {os.cpu_count()} cores")
        found = measure_rows(ranks, extra)
        for line in found:
            show(line)
        results["rows"] += found
        results["redistribution"].append(measure_redistribution(ranks, extra))
        results["unordered"].append(measure_unordered(ranks, extra))
        if ranks == 2:
            results["memory"] = measure_memory(ranks, extra)
    (OUT / "bench_dist.json").write_text(json.dumps(results, indent=1))
    for leftover in OUT.glob("bench_dist.*.jsonl"):
        leftover.unlink()
    for leftover in OUT.glob("bench_dist.*.running"):
        leftover.unlink()


if __name__ == "__main__":
    main()
