# SPDX-License-Identifier: Apache-2.0
"""Checks file rules: SPDX line, at most 600 lines, no tabs, no trailing blanks, headers open with text, no streams."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CODE = {".cpp", ".hpp", ".cu", ".cuh", ".def"}
SCRIPTS = {".py", ".sh", ".cmake"}
LIMIT = 600
# A second C++ runtime in the process (PyTorch's) makes streams of the library crash: base/text_file.hpp.
STREAMS = ("#include <fstream>", "#include <sstream>", "#include <iostream>", "#include <iomanip>")


def faults(path: Path) -> list[str]:
    lines = path.read_text().splitlines()
    found = []
    if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(lines[:2]):
        found.append("the first line is not the SPDX line")
    if len(lines) > LIMIT:
        found.append(f"{len(lines)} lines, at most {LIMIT}")
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            found.append(f"line {number} holds a tab")
        if line in STREAMS and "src/tessera" in path.as_posix() and not path.stem.endswith("_test"):
            found.append(f"line {number}: the library has no streams; read_text and cat do without")
        if line != line.rstrip():
            found.append(f"line {number} ends in blanks")
    if path.suffix == ".hpp":
        opening = [line for line in lines[1:] if line.strip()][:2]
        if not opening or opening[0] != "#pragma once":
            found.append("#pragma once does not follow the SPDX line")
        elif len(opening) < 2 or not opening[1].startswith("//"):
            found.append("does not open with a paragraph that says what it is for")
    return found


def main() -> int:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    bad = 0
    for name in sorted(set(filter(None, listed))):
        path = ROOT / name
        if path.suffix not in CODE | SCRIPTS or not path.is_file():
            continue
        for fault in faults(path):
            print(f"{name}: {fault}")
            bad += 1
    print("files: in order" if not bad else f"files: {bad} faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
