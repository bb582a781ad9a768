# SPDX-License-Identifier: Apache-2.0
"""Checks that a layer includes only layers to its left, and a room inside a layer only rooms to its left; those in one
pair of braces do not see each other. Tests of a room may look at the rooms beside it."""

import re
import sys
from pathlib import Path

ORDER = [
    {"base"},
    {"names", "device"},
    {"comm", "array"},
    {"kernels", "store"},
    {"compute"},
    {"plan"},
    {"linop"},
    {"matrix", "split"},
    {"streaming"},
    {"distributed"},
    {"solve"},
    {"testing"},
]
ROOMS = {  # those of layers whose rooms stand in an order
    "distributed": [
        {"wire"},
        {"array"},
        {"exchange"},
        {"functions"},
        {"indexing"},
        {"sorting"},
        {"fft", "linalg", "io", "operators"},
    ],
    "store": [{"io"}, {"tiles", "tiers"}, {"snapshot", "hdf5"}],
    "streaming": [{"plan"}, {"passes", "linalg"}, {"transforms"}, {"stored"}, {"operators", "forms"}],
    "solve": [{"disk"}, {"core"}, {"linear", "spectra"}, {"proximal"}, {"ranks", "stored"}],
}
# Rules know no operator by its type but those that algebra itself makes: one, a number, nothing.
RULES = ("containers", "core", "rewrite")
MADE_BY_RULES = {"linop/ops/basic/identity", "linop/ops/basic/scalar", "linop/ops/basic/zero"}
READS_ALL = "readers.cpp"  # of files: it reads the whole list
LARGEST = 40  # files of one folder
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]tessera/(\w+/[\w/]+)\.\w+[">]', re.M)
SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh", ".def"}


def levels(order: list[set[str]]) -> dict[str, int]:
    return {room: level for level, rooms in enumerate(order) for room in rooms}


def crowded(root: Path) -> list[str]:
    folders = [f for top in ("src/tessera", "python/src") for f in (root / top).rglob("*") if f.is_dir()]
    counts = {f: sum(p.suffix in SUFFIXES for p in f.iterdir()) for f in folders}
    return [f"{f}: {n} files in one folder, at most {LARGEST}" for f, n in counts.items() if n > LARGEST]


def faults(root: Path) -> list[str]:
    found = crowded(root)
    layers = levels(ORDER)
    rooms = {layer: levels(order) for layer, order in ROOMS.items()}
    for path in sorted(p for p in (root / "src/tessera").rglob("*") if p.suffix in SUFFIXES):
        layer, *inside = path.relative_to(root / "src/tessera").parts
        if not inside:  # the public faces
            continue
        if layer not in layers:
            found.append(f"{path}: '{layer}' is not a layer")
            continue
        if layer in rooms and inside[0] not in rooms[layer]:
            found.append(f"{path}: '{inside[0]}' is not a room of {layer}")
            continue
        names = INCLUDE.findall(path.read_text())
        if layer == "linop" and inside[0] in RULES and not path.stem.endswith("_test") and path.name != READS_ALL:
            known = [n for n in names if n.startswith("linop/ops/") and n not in MADE_BY_RULES]
            found += [f"{path.relative_to(root)}: asks what operators offer, may not include {n}" for n in known]
        for target, *rest in (name.split("/") for name in names):
            if target != layer and layers.get(target, 99) >= layers[layer]:
                found.append(f"{path.relative_to(root)}: layer {layer} may not include layer {target}")
            if target != layer or layer not in rooms or path.stem.endswith("_test") or rest[0] == inside[0]:
                continue
            if rooms[layer].get(rest[0], 99) >= rooms[layer][inside[0]]:
                found.append(f"{path.relative_to(root)}: room {inside[0]} of {layer} may not include room {rest[0]}")
    return found


if __name__ == "__main__":
    problems = faults(Path(__file__).resolve().parents[1])
    print("\n".join(problems) if problems else "layers: in order")
    sys.exit(1 if problems else 0)
