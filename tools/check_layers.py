# SPDX-License-Identifier: Apache-2.0
"""Checks that a layer includes only layers to its left; rooms in one pair of braces do not see each other."""

import re
import sys
from pathlib import Path

ORDER = [
    {"base"},
    {"names", "device"},
    {"comm", "array"},
    {"kernels", "store"},
    {"plan"},
    {"compute", "linop"},
    {"matrix", "split"},
    {"dist"},
    {"solve"},
    {"testing"},
]
LEVEL = {layer: level for level, layers in enumerate(ORDER) for layer in layers}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]tessera/(\w+)/', re.M)
SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh", ".def"}


def faults(root: Path) -> list[str]:
    found = []
    for path in sorted(p for p in (root / "src/tessera").rglob("*") if p.suffix in SUFFIXES):
        layer = path.relative_to(root / "src/tessera").parts[0]
        if layer == "tessera.hpp":
            continue
        if layer not in LEVEL:
            found.append(f"{path}: '{layer}' is not a layer")
            continue
        for target in INCLUDE.findall(path.read_text()):
            if target != layer and LEVEL.get(target, 99) >= LEVEL[layer]:
                found.append(f"{path.relative_to(root)}: layer {layer} may not include layer {target}")
    return found


if __name__ == "__main__":
    problems = faults(Path(__file__).resolve().parents[1])
    print("\n".join(problems) if problems else "layers: in order")
    sys.exit(1 if problems else 0)
