# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of this folder under mpirun, the same files on every rank, and never hangs.

usage: launch.py [-n 1,2,3,4,7] [--hosts COUNT] [--limit SECONDS for each number of ranks] [--results DIR]
                 [pytest arguments]

A test that loses the group of ranks, ends a rank, or outlasts its limit is a failure with the last words of the
ranks; what was left is run in a new group. Results are one JUnit file per number of ranks. The same launcher starts
other programs: launch.Group(4, ["fuzz.py", "60"]). With --hosts the ranks live on machines of their own (hosts.py).
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import hosts  # noqa: E402
import slate  # noqa: E402

RESTARTS = 6


def mpirun():
    return shutil.which("mpirun")


def environment(folder, extra=()):
    """One thread per rank, equal hashes, pytest as it is, no database of examples, short patience for silent ranks."""
    settings = {
        "PYTHONHASHSEED": "0",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TESSERA_NUM_THREADS": "1",
        "TESSERA_POISON": "1",
        "TESSERA_COMM_TIMEOUT": "120",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",  # containers forbid it, loudly
        "PYTEST_DEBUG_TEMPROOT": str(folder),  # folders of tests: not beside those of other runs
        slate.VARIABLE: str(folder),
        "TESSERA_RANKS_FOLDER": str(folder),
    }
    return {
        **os.environ,
        **{k: os.environ.get(k, v) if k == "TESSERA_COMM_TIMEOUT" else v for k, v in settings.items()},
        **dict(extra),
    }


class Group:
    """One mpirun with its ranks. The folder (its working directory with cwd) holds the slate and what they say."""

    def __init__(self, ranks, command, folder=None, options=(), extra=(), cwd=False, hosts=None):
        self.own = folder is None
        self.folder = Path(folder or tempfile.mkdtemp(prefix="ranks-"))
        where = hosts.mpirun(ranks, self.folder) if hosts else ["--oversubscribe"]
        line = [mpirun(), *where, "--bind-to", "none", *options, "-n", str(ranks), sys.executable, *command]
        line = hosts.inside(0, line) if hosts else line
        self.output = open(self.folder / "output", "wb")
        self.process = subprocess.Popen(
            line,
            env=environment(self.folder, extra),
            cwd=self.folder if cwd else None,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def wait(self, limit):
        """The exit status, or None when it had to be ended after `limit` seconds."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.end()
            return None
        finally:
            self.output.close()

    def end(self):
        """mpirun passes SIGTERM on to its ranks; ranks that are stopped, or left over, are ended by their numbers."""
        ranks = children(self.process.pid)
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
        for pid in [*ranks, self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def words(self, limit=6000):
        text = (self.folder / "output").read_text(errors="replace")
        for path in sorted(self.folder.glob("stack*")):
            if path.stat().st_size:
                text += f"\n{path.name}:\n{path.read_text(errors='replace')[:1500]}"
        return text if len(text) <= limit else text[: limit // 2] + "\n[...]\n" + text[-limit // 2 :]

    def close(self):
        if self.process.poll() is None:
            self.end()
        self.output.close()
        if self.own:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def children(pid):
    """Process ids of the children of `pid`, theirs included."""
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *children(child)]
    return found


def events(folder):
    """What rank 0 wrote while it ran: {"test", "state": running | passed | failed | skipped, "seconds", "text"}."""
    path = folder / "events"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def run(ranks, limit, arguments, hosts=None):
    """All tests on `ranks` ranks: {test: (state, seconds, text)}, and whether a whole session came to its end."""
    results, began, whole = {}, time.monotonic(), False
    for _ in range(RESTARTS):
        left = limit - (time.monotonic() - began)
        if left < 5:
            results["(the rest)"] = ("failed", 0.0, f"no time left: the limit is {limit} s for {ranks} ranks")
            break
        command = ["-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", *arguments]
        with Group(ranks, command, hosts=hosts) as group:
            (group.folder / "done").write_text("\n".join(results))
            status = group.wait(left)
            running = None
            for event in events(group.folder):
                name = event["test"]
                if event["state"] == "running":
                    running = name
                else:
                    results[name] = (event["state"], event["seconds"], event["text"])
                    running = None
            whole = (group.folder / "whole").exists()
            if whole:
                break
            ended = f"ended after {left:.0f} s" if status is None else f"exit status {status}"
            if running is not None:
                results[running] = ("failed", 0.0, f"{ended} while it ran; last words:\n{group.words()}")
            elif not (group.folder / "lost").exists():
                results["(start)"] = ("failed", 0.0, f"{ended} outside of a test; last words:\n{group.words()}")
                break
    return results, whole


def write_junit(path, ranks, results):
    suite = ET.Element("testsuite", name=f"{ranks} ranks", tests=str(len(results)))
    for name, (state, seconds, text) in results.items():
        case = ET.SubElement(suite, "testcase", classname=f"ranks{ranks}", name=name, time=f"{seconds:.3f}")
        if state == "failed":
            ET.SubElement(case, "failure", message=text[:200]).text = text
        elif state == "skipped":
            ET.SubElement(case, "skipped", message=text[:200])
    ET.ElementTree(suite).write(path, encoding="unicode")


def seconds_of_files(results):
    """'cases 2.0, product 6.3': where the time went."""
    files = {}
    for name, (_, seconds, _) in results.items():
        file = name.split("::")[0].rsplit("/", 1)[-1].removeprefix("test_dist_").removesuffix(".py")
        files[file] = files.get(file, 0.0) + seconds
    return ", ".join(f"{file} {seconds:.1f}" for file, seconds in files.items() if seconds >= 0.05)


def core_seconds():
    """Of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", default="1,2,3,4,7")
    parser.add_argument("--hosts", type=int, default=0)
    parser.add_argument("--limit", type=float, default=1800)
    parser.add_argument("--results", type=Path)
    options, arguments = parser.parse_known_args()
    if mpirun() is None:
        print("no mpirun here: the tests over ranks are skipped (Open MPI: apt-get install openmpi-bin libopenmpi-dev)")
        return 0
    reason = hosts.why_not() if options.hosts else None
    if reason:
        print(f"the tests over {options.hosts} hosts are skipped: {reason}")
        return 0
    arguments = arguments or [str(HERE)]
    bad = 0
    for ranks in map(int, options.n.split(",")):
        began, used = time.monotonic(), core_seconds()
        with hosts.Hosts(options.hosts) if options.hosts else contextlib.nullcontext() as several:
            results, _ = run(ranks, options.limit, arguments, several)
        states = [state for state, _, _ in results.values()]
        for name, (state, _, text) in results.items():
            if state == "failed":
                print(f"-- FAILED on {ranks} ranks: {name}\n{text}\n")
        failed = states.count("failed") + (not states)
        skipped = f", {states.count('skipped')} skipped" if "skipped" in states else ""
        seconds = f"in {time.monotonic() - began:.0f} s ({core_seconds() - used:.0f} core seconds: {seconds_of_files(results)})"
        print(f"{ranks} ranks: {states.count('passed')} passed, {failed} failed{skipped} {seconds}", flush=True)
        bad += failed
        if options.results:
            write_junit(
                options.results / f"{'hosts' if options.hosts else 'ranks'}.{ranks}.xml",
                ranks,
                results or {"(none)": ("failed", 0.0, "no test ran")},
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
