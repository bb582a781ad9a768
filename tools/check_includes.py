# SPDX-License-Identifier: Apache-2.0
"""usage: check_includes.py BUILD [--public] [-j JOBS]: every header of the library, or every one that is installed,
compiles alone, twice in a row. BUILD holds compile_commands.json of a build without precompiled headers. Syntax only.
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
ELSEWHERE = re.compile(r"/tessera/(device/cuda|comm/mpi|comm/nccl|distributed/linalg/scalapack|store/hdf5)/")


def flags_of(build: Path) -> list[str]:
    """Compiler and flags of a library source, without the cache, the input and the outputs."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if "-DTESSERA_BUILDING" not in words or ELSEWHERE.search(entry["file"]):
            continue
        if Path(words[0]).name == "ccache":
            del words[0]
        del words[words.index("-o") :]
        return [*words, "-fsyntax-only"]
    return []


def check(command: list[str], text: str | None = None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main() -> int:
    build = Path(sys.argv[1])
    jobs = int(sys.argv[sys.argv.index("-j") + 1]) if "-j" in sys.argv else 1
    flags = flags_of(build)
    if not flags or any("cmake_pch" in word for word in flags):
        print(f"check_includes: {build} has no sources of the library, or precompiled headers")
        return 1
    if "--public" in sys.argv:
        public = sorted((build / "public_headers.txt").read_text().split(";"))
        headers = [SRC / name for name in public if name.endswith(".hpp")]
    else:
        headers = [h for h in sorted(SRC.rglob("*.hpp")) if not ELSEWHERE.search(str(h))]
    with ThreadPoolExecutor(jobs) as pool:
        faults = []
        for header in headers:
            name = header.relative_to(SRC)
            faults.append(pool.submit(check, [*flags, "-x", "c++", "-"], f"#include <{name}>\n" * 2))
    failed = [text for fault in faults if (text := fault.result())]
    print("\n".join(failed))
    print(f"includes: {len(headers)} headers alone, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
