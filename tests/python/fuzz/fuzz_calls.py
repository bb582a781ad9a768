# SPDX-License-Identifier: Apache-2.0
"""Calls with absurd arguments for a given time, in processes of their own that may take little memory.

usage: fuzz_calls.py SECONDS [SEED [FIRST [LAST]]]

Each case is told before it runs: a crash, or a call that does not end, names its case, which is then run alone to see
whether it needs those before it. With LAST these cases run in this process, and nothing is caught: for a debugger.
TESSERA_FUZZ_PYTHONPATH takes the package from there, with LD_PRELOAD as it is: so that an instrumented build is used
(scripts/fuzz.sh has the words; then the limit of addresses is left away, ASAN_OPTIONS has limits of its own)."""

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMAND = [sys.executable, str(HERE / "fuzz_calls.py"), "child"]
CASES = 400  # of one process: enough for what earlier calls leave to matter
ADDRESSES = 6 << 30  # bytes
PATIENCE = 60.0  # seconds for one call
# Memory that is fresh or freed holds nonsense, that of Python's objects too: what is used after its end shows.
SHARP = {"TESSERA_POISON": "1", "MALLOC_PERTURB_": "165", "PYTHONMALLOC": "malloc", "OPENBLAS_NUM_THREADS": "2"}
REPORT = re.compile(r"^.*(ERROR: \w*Sanitizer|Sanitizer: CHECK failed|: runtime error: ).*$", re.MULTILINE)
# An instrumented `new` ends the process where the plain one throws: no fault of the call.
NO_MEMORY = re.compile(
    r"Sanitizer: (allocation-size-too-big|out-of-memory|out of memory|\w+ rss limit)|rss limit exhausted"
)


def child(seed, first, last):
    """Runs the cases and says each beforehand in the file 'at'; ends with 3 where one was improper."""
    import faulthandler

    import hostile

    faulthandler.enable()
    at = os.open("at", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def tell(text):
        line = text.encode("utf-8", "replace")[:4000]
        os.pwrite(at, line.ljust(4000), 0)

    run = hostile.Run(seed)
    found = 0
    for number in range(first, last):
        wrong = run.case(number, tell)
        if wrong:
            found += 1
            with open("improper", "a") as file:
                told = os.pread(os.open("at", os.O_RDONLY), 4000, 0).decode().strip()
                file.write(f"{told}: {wrong}\n")
    return 3 if found else 0


def report(words):
    """What to show of a process' last words: the first report of a sanitizer from its head on, and how they end."""
    head = REPORT.search(words)
    if not head:
        return words[-3000:]
    told = words[head.start() :]
    return told if len(told) < 7000 else f"{told[:5000]}\n[...]\n{told[-1500:]}"


def limits():
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES if most < 0 else min(ADDRESSES, most), most))


class Block:
    """A process that runs cases, in a folder of its own."""

    def __init__(self, seed, first, last, command=None):
        self.folder = tempfile.TemporaryDirectory(prefix="tessera_calls_")
        # Results on disk that would fill it are refused at once; those that just fit take minutes.
        environment = dict(os.environ, TESSERA_DISK_BUDGET=str(2**28), **SHARP)
        path = os.environ.get("TESSERA_FUZZ_PYTHONPATH")
        if path:
            environment["PYTHONPATH"] = path
        self.words = open(Path(self.folder.name) / "words", "wb")
        command = [*(command or COMMAND), str(seed), str(first), str(last)]
        self.process = subprocess.Popen(
            command, cwd=self.folder.name, env=environment, stdout=self.words, stderr=self.words, preexec_fn=limits
        )

    def told(self, name):
        path = Path(self.folder.name) / name
        return path.read_text(errors="replace").strip() if path.exists() else ""

    def wait(self):
        """How it ended: None, or words."""
        last, since = None, time.monotonic()
        while (status := self.process.poll()) is None:
            time.sleep(0.02)
            now = self.told("at")
            if now != last:
                last, since = now, time.monotonic()
            if time.monotonic() - since > PATIENCE:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                return f"did not end within {PATIENCE:.0f} s"
        if status in (0, 3):
            return None
        return f"ended with {signal.Signals(-status).name if status < 0 else status}"

    def close(self):
        self.words.close()
        self.folder.cleanup()


def run_block(seed, first, last, command=None):
    """(cases done, failures, where to go on); of another program that numbers its cases where there is a command."""
    block = Block(seed, first, last, command)
    ended = block.wait()
    failures = [line for line in block.told("improper").splitlines() if line]
    at = block.told("at")
    words = block.told("words")
    block.close()
    if ended is None:
        return last - first, failures, last
    number = int(at.split()[0]) if at else first
    if NO_MEMORY.search(words):
        return number + 1 - first, failures, number + 1
    if number == last - 1 and "SIG" not in ended:
        where = "after the last case"
    else:
        alone = Block(seed, number, number + 1, command)
        where = "alone too" if alone.wait() else f"only after those before it (from {first})"
        alone.close()
    failures.append(f"{at} {ended}, {where}\n{report(words)}")
    return number + 1 - first, failures, number + 1


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("TESSERA_FUZZ_SEED", "1"))
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    if len(sys.argv) > 4:
        return child(seed, first, int(sys.argv[4]))
    began, cases, failures = time.monotonic(), 0, []
    while time.monotonic() - began < seconds and len(failures) < 20:
        done, wrong, first = run_block(seed, first, first + CASES)
        cases += done
        for text in wrong:
            print(f"seed {seed}, case {text}", flush=True)
        failures += wrong
    print(f"fuzz_calls: {cases} calls, {len(failures)} failures, seed {seed}, up to case {first}")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        sys.exit(child(*map(int, sys.argv[2:5])))
    sys.exit(main())
