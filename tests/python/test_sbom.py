# SPDX-License-Identifier: Apache-2.0
"""tools/sbom.py: what a wheel carries is listed, each file with its hash, and nothing that is not declared passes."""

import hashlib
import json
import random
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import sbom  # noqa: E402

sys.path.pop(0)

OURS = ["tessera/_tessera.cpython-311-x86_64-linux-gnu.so", "tessera/libtessera.so.0.1", "tessera/libtessera_mpi.so"]
LIBS = "tessera_linops.libs/"
OTHERS = {
    "libfftw3-6c1f.so.3.6.10": ("FFTW", "3.6.10"),
    "libfftw3f-77aa.so.3.6.10": ("FFTW", "3.6.10"),
    "libopenblasp-12ab-r0.3.21.so": ("OpenBLAS", "0.3.21"),
    "libgfortran-8d9.so.5.0.0": ("libgfortran", "5.0.0"),
    "liburing-1.so.2.3": ("liburing", "2.3"),
}


def wheel(folder, names):
    path = folder / "tessera_linops-0.1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tessera/__init__.py", "")
        archive.writestr("tessera_linops-0.1.0.dist-info/METADATA", "Name: tessera-linops\nVersion: 0.1.0\n\ntext\n")
        for name in names:
            archive.writestr(name, "bytes of " + name)
    return path


def test_everything_is_listed_with_its_hash(tmp_path):
    path = wheel(tmp_path, [*OURS, *(LIBS + name for name in OTHERS)])
    assert sbom.main([str(path)]) == 0
    document = json.loads((tmp_path / (path.name + ".cdx.json")).read_text())
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    main = document["metadata"]["component"]
    assert (main["name"], main["version"]) == ("tessera-linops", "0.1.0")
    assert main["hashes"][0]["content"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [file["name"] for file in main["components"]] == sorted(OURS)
    listed = {
        file["name"]: (part["name"], part["version"], file["hashes"][0]["content"])
        for part in document["components"]
        for file in part.get("components", [])
    }
    digest = lambda name: hashlib.sha256(("bytes of " + LIBS + name).encode()).hexdigest()
    assert listed == {LIBS + name: (*about, digest(name)) for name, about in OTHERS.items()}
    names = [part["name"] for part in document["components"]]
    assert names.count("FFTW") == 1 and {"nanobind", "JSON for Modern C++"} <= set(names)
    references = [part["bom-ref"] for part in document["components"]]
    assert len(references) == len(set(references)) and document["dependencies"][0]["dependsOn"] == references


def test_the_same_bytes_give_the_same_document(tmp_path):
    path = wheel(tmp_path, OURS)
    assert sbom.bill(path) == sbom.bill(path)


def test_what_nobody_declared_is_refused(tmp_path, capsys):
    path = wheel(tmp_path, [*OURS, LIBS + "libcurl-gnutls-1.so.4.8.0"])
    assert sbom.main([str(path), str(tmp_path / "out.json")]) == 1
    assert "libcurl" in capsys.readouterr().err and not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("known", sbom.CARRIED, ids=lambda known: known.begins)
def test_only_the_library_itself_passes(known, tmp_path):
    for end in (".so.1", "-1a2b.so.3.6.10", "-r0.3.21.so"):
        sbom.bill(wheel(tmp_path, [*OURS, LIBS + known.begins + end]))
    rng = random.Random(known.begins)
    for _ in range(20):
        more = "".join(rng.choices("abcghijkmnrstuvwxyz", k=rng.randint(2, 6)))
        with pytest.raises(ValueError, match="do not name"):
            sbom.bill(wheel(tmp_path, [*OURS, f"{LIBS}{known.begins}{more}-1.so.2"]))


@pytest.mark.parametrize(
    "file",
    [
        "libfftw3f_threads.so.3",
        "libfftw3_omp-1a.so.3",
        "libfftw3l.so.3",
        "libopenblas64_-1a.so",
        "libopenblasp-r0.3.21.so",
    ],
)
def test_variants_pass(file, tmp_path):
    assert len(sbom.bill(wheel(tmp_path, [*OURS, LIBS + file]))["components"]) == 1 + len(sbom.COMPILED_IN)


@pytest.mark.parametrize("arguments", [[], ["a", "b", "c"]])
def test_usage(arguments):
    assert sbom.main(arguments) == 2


def test_the_notices_name_every_component():
    notices = (ROOT / "THIRD_PARTY_NOTICES.md").read_text()
    for known in (*sbom.CARRIED, *sbom.COMPILED_IN):
        assert known.name in notices, known.name
        assert known.licence.split(" ")[0] in notices
