# SPDX-License-Identifier: Apache-2.0
"""usage: check_includes.py BUILD [-j JOBS]: every header and every source of the library compiles by what it
includes itself. BUILD holds compile_commands.json of a build without precompiled headers. Syntax only.

A header that its own source includes before anything else is checked by that source; each other one alone.
"""

import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
ELSEWHERE = re.compile(r"/tessera/(device/cuda|comm/mpi|comm/nccl)/")
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.M)


def commands(build: Path) -> dict[Path, list[str]]:
    """Of each library source: compiler and flags, without the cache, the input and the outputs."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        source = Path(entry["file"])
        if "-DTESSERA_BUILDING" not in words or ELSEWHERE.search(entry["file"]):
            continue
        if Path(words[0]).name == "ccache":
            del words[0]
        del words[words.index("-o") :]
        found[source] = [*words, "-fsyntax-only"]
    return found


def header_of(source: Path) -> Path | None:
    """The header that a source includes first, if it is its own."""
    first = INCLUDE.search(source.read_text())
    own = source.with_suffix(".hpp")
    return own if first and SRC / first[1] == own else None


def check(command: list[str], text: str | None = None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main() -> int:
    build = Path(sys.argv[1])
    jobs = int(sys.argv[sys.argv.index("-j") + 1]) if "-j" in sys.argv else 1
    sources = commands(build)
    if not sources or any("cmake_pch" in word for words in sources.values() for word in words):
        print(f"check_includes: {build} has no sources of the library, or precompiled headers")
        return 1
    flags = next(iter(sources.values()))
    covered = {header_of(source) for source in sources}
    headers = [h for h in sorted(SRC.rglob("*.hpp")) if h not in covered and not ELSEWHERE.search(str(h))]
    with ThreadPoolExecutor(jobs) as pool:
        faults = [pool.submit(check, [*words, str(source)]) for source, words in sources.items()]
        for header in headers:
            name = header.relative_to(SRC)
            faults.append(pool.submit(check, [*flags, "-x", "c++", "-"], f"#include <{name}>\n" * 2))
    failed = [text for fault in faults if (text := fault.result())]
    print("\n".join(failed))
    print(f"includes: {len(sources)} sources and {len(headers)} headers alone, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
