# SPDX-License-Identifier: Apache-2.0
"""The command line tool, from outside: what it prints, what it writes, how it refuses."""

import os
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

import tessera as ts

TOOL = Path(ts.__file__).resolve().parents[2] / "bin" / "tessera"
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="the tool was not built beside the package")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(TOOL), *arguments], capture_output=True, text=True, env={**os.environ, **environment})


def read_png(path: Path) -> list[list[int]]:
    """Grey 8-bit PNG with the filters 'none' and 'left': all that the tool writes."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, size = 8, b"", (0, 0)
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (check,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert check == zlib.crc32(name + body)
        if name == b"IHDR":
            size = struct.unpack(">II", body[:8])
            assert body[8:] == bytes([8, 0, 0, 0, 0])
        elif name == b"IDAT":
            packed += body
        at += 12 + length
    rows, raw = [], zlib.decompress(packed)
    width, height = size
    assert len(raw) == (width + 1) * height
    for y in range(height):
        line = raw[y * (width + 1) : (y + 1) * (width + 1)]
        assert line[0] in (0, 1)
        row, left = [], 0
        for value in line[1:]:
            left = (value + left * line[0]) & 255
            row.append(left if line[0] else value)
        rows.append(row)
    return rows


def test_info_names_devices_and_libraries() -> None:
    done = run("info", "--no-topology")
    assert done.returncode == 0, done.stderr
    for word in ("cpu", "sim:0", "OpenBLAS", "FFT ", "MPI", "num_threads"):
        assert word in done.stdout


def difference(a: list[list[int]], b: list[list[int]]) -> float:
    pairs = [(p - q) ** 2 for r, s in zip(a, b, strict=True) for p, q in zip(r, s, strict=True)]
    return (sum(pairs) / len(pairs)) ** 0.5


@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_demo_reconstructs(device: str, tmp_path: Path) -> None:
    size = 96
    page = tmp_path / "plan.html"
    done = run(
        "demo", "--size", str(size), "--device", device, "--out", str(tmp_path), "--no-progress", "--explain", str(page)
    )
    assert done.returncode == 0, done.stderr
    assert "</html>" in page.read_text()
    picture = read_png(tmp_path / "demo.png")
    assert len(picture) == size and len(picture[0]) == 3 * size + 4
    panels = [[row[i * (size + 2) : i * (size + 2) + size] for row in picture] for i in range(3)]
    true, zero_filled, reconstructed = panels
    assert max(map(max, true)) > 200
    assert difference(true, reconstructed) < 0.5 * difference(true, zero_filled)
    for word in ("planned", "used"):
        assert word in done.stdout


def test_bad_device_is_a_sentence() -> None:
    done = run("demo", "--device", "toaster:0")
    assert done.returncode == 1
    assert "toaster" in done.stderr and done.stderr.startswith("tessera: ")


def test_unwritable_folder_is_a_sentence(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = run("demo", "--size", "16", "--iterations", "1", "--no-progress", "--out", str(blocked))
    assert done.returncode == 1
    assert str(blocked) in done.stderr
