# SPDX-License-Identifier: Apache-2.0
"""usage: sbom.py WHEEL [OUTPUT]: what a wheel carries, as CycloneDX 1.5 (JSON), beside it by default (WHEEL.cdx.json).

Every shared library in the wheel is looked at. One that is neither ours nor known below is refused: then
THIRD_PARTY_NOTICES.md has to name it, and this table as well.
"""

from __future__ import annotations

import email
import hashlib
import json
import re
import sys
import uuid
import zipfile
from pathlib import Path
from typing import Any, NamedTuple


class Known(NamedTuple):
    """A library of others: how its files begin, its name in the notices, its licence (SPDX), where it is from, and the
    letters of variants (a pattern) that stand before the version."""

    begins: str
    name: str
    licence: str
    source: str
    variants: str = ""


FFTW = ("FFTW", "GPL-2.0-or-later", "https://www.fftw.org")
GCC = "https://gcc.gnu.org"
CARRIED = (
    Known("libfftw3", *FFTW, "[flq]?(_threads|_omp|_mpi)?"),
    Known("libopenblas", "OpenBLAS", "BSD-3-Clause", "https://www.openblas.net", "(64_?)?(_?openmp|o|p)?"),
    Known("libblas", "OpenBLAS", "BSD-3-Clause", "https://www.openblas.net"),
    Known("liblapacke", "LAPACKE", "BSD-3-Clause", "https://www.netlib.org/lapack"),
    Known("liblapack", "LAPACK", "BSD-3-Clause", "https://www.netlib.org/lapack"),
    Known("libtmglib", "LAPACK", "BSD-3-Clause", "https://www.netlib.org/lapack"),
    Known("libgfortran", "libgfortran", "GPL-3.0-or-later WITH GCC-exception-3.1", GCC),
    Known("libquadmath", "libquadmath", "LGPL-2.1-or-later", GCC),
    Known("libgomp", "libgomp", "GPL-3.0-or-later WITH GCC-exception-3.1", GCC),
    Known("liburing", "liburing", "MIT", "https://github.com/axboe/liburing"),
    Known("libfmt", "fmt", "MIT", "https://fmt.dev", "d?"),
)
# Headers that are part of our own files.
COMPILED_IN = (
    Known("", "JSON for Modern C++", "MIT", "https://json.nlohmann.me"),
    Known("", "nanobind", "BSD-3-Clause", "https://nanobind.readthedocs.io"),
    Known("", "tsl::robin_map", "MIT", "https://github.com/Tessil/robin-map"),
)
OURS = re.compile(r"(libtessera(_[a-z]+)?[-.]|_tessera\.)")


def version_of(file: str) -> str:
    """That of libx.so.3.6.10, and of libx-r0.3.21.so; "" where the name has none."""
    after = re.search(r"\.so\.([0-9][0-9.]*)$", file)
    before = re.search(r"-r([0-9][0-9.]*)\.so", file)
    return after[1] if after else before[1] if before else ""


def licence(expression: str) -> list[dict[str, Any]]:
    return [{"expression": expression}] if " " in expression else [{"license": {"id": expression}}]


def component(known: Known, version: str, files: dict[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"{known.name}@{version or 'unknown'}",
        "name": known.name,
        "licenses": licence(known.licence),
        "externalReferences": [{"type": "website", "url": known.source}],
    }
    if version:
        made["version"] = version
    if files:
        made["components"] = [file_component(name, digest) for name, digest in sorted(files.items())]
    return made


def file_component(name: str, digest: str) -> dict[str, Any]:
    return {"type": "file", "bom-ref": name, "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]}


def bill(wheel: Path) -> dict[str, Any]:
    """The whole document; ValueError names a library that nobody has declared."""
    carried: dict[tuple[Known, str], dict[str, str]] = {}
    ours: dict[str, str] = {}
    with zipfile.ZipFile(wheel) as archive:
        described = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        about = email.message_from_bytes(archive.read(described))
        for path in archive.namelist():
            file = path.rsplit("/", 1)[-1]
            if not re.search(r"\.so(\.|$)", file):
                continue
            digest = hashlib.sha256(archive.read(path)).hexdigest()
            if OURS.match(file):
                ours[path] = digest
                continue
            known = next((k for k in CARRIED if re.match(rf"{k.begins}{k.variants}[-.]", file)), None)
            if known is None:
                raise ValueError(
                    f"sbom: {wheel.name} carries {path}, which THIRD_PARTY_NOTICES.md and tools/sbom.py do not name"
                )
            carried.setdefault((known, version_of(file)), {})[path] = digest
    # FFTW, LAPACK and OpenBLAS are several files each.
    joined: dict[tuple[str, str], tuple[Known, dict[str, str]]] = {}
    for (known, version), files in carried.items():
        joined.setdefault((known.name, version), (known, {}))[1].update(files)
    parts = [component(known, version, files) for (_, version), (known, files) in sorted(joined.items())]
    parts += [component(known, "", {}) for known in COMPILED_IN]
    name, version = about["Name"], about["Version"]
    main = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "purl": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "licenses": licence("Apache-2.0"),
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}],
        "components": [file_component(path, digest) for path, digest in sorted(ours.items())],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, main['hashes'][0]['content'])}",  # of these bytes
        "version": 1,
        "metadata": {"component": main},
        "components": parts,
        "dependencies": [{"ref": main["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    wheel = Path(arguments[0])
    output = Path(arguments[1]) if len(arguments) == 2 else wheel.with_name(wheel.name + ".cdx.json")
    try:
        document = bill(wheel)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    output.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{output}: {len(document['components'])} components")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
