# SPDX-License-Identifier: Apache-2.0
"""docs/guide/file-format.md is enough to read our files: examples/python/read_tessera.py, NumPy alone, reads them, and
matrices are unpacked here by what the page says."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import ALL, draw_numbers

import tessera as ts

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "python" / "read_tessera.py"
reader = runpy.run_path(str(EXAMPLE))


def read_file(path):
    """All arrays by name, and the description."""
    data = np.fromfile(path, np.uint8)
    index, description = reader["metadata"](data)
    return {name: reader["read"](data, entry) for name, entry in index.items()}, json.loads(description)


def test_the_reader_is_short_and_needs_numpy_alone():
    text = EXAMPLE.read_text()
    assert len(text.splitlines()) <= 60 and "import tessera" not in text


@pytest.mark.parametrize("dtype", ALL)
def test_arrays(dtype, tmp_path, rng):
    path = tmp_path / "x.tessera"
    shapes = [(), (0,), (3,), (2, 3, 4), (2, 0, 3), (130, 257)]  # the last has several pieces, and the end of one
    arrays = {f"x{i}": draw_numbers(rng, shape, dtype) for i, shape in enumerate(shapes)}
    ts.save(path, arrays)
    found, description = read_file(path)
    assert list(found) == list(arrays) and description["tessera"] == 1
    for name, x in arrays.items():
        assert found[name].dtype == x.dtype and found[name].shape == x.shape and np.array_equal(found[name], x)


def test_short_floats(tmp_path):
    ts.save(tmp_path / "x.tessera", {"x": ts.arange(7).astype("bfloat16")})
    assert read_file(tmp_path / "x.tessera")[0]["x"].tolist() == list(range(7))


def test_it_prints(tmp_path):
    ts.save(tmp_path / "x.tessera", {"x": np.arange(3), "y": np.ones((2, 2))})
    done = subprocess.run([sys.executable, EXAMPLE, tmp_path / "x.tessera", "x"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == ["x int64 [3] [0 1 2]", "y float64 [2, 2] ", ""]


def test_it_notices_damage(tmp_path):
    path = tmp_path / "x.tessera"
    ts.save(path, {"x": np.arange(3000.0)})
    good = np.fromfile(path, np.uint8)
    for at, text in [
        (0, "magic"),
        (8, "version"),
        (4096, "array 'x'"),
        (20000, "array 'x'"),
        (len(good) - 5, "metadata"),
    ]:
        bad = good.copy()
        bad[at] ^= 16
        bad.tofile(path)
        with pytest.raises(ValueError, match=text):
            read_file(path)
    for at in (20, 2060):  # one slot is enough
        bad = good.copy()
        bad[at] ^= 16
        bad.tofile(path)
        assert read_file(path)[0]["x"][2999] == 2999
    good[:-1].tofile(path)
    with pytest.raises(ValueError, match="cut"):
        read_file(path)


def words_of(data, rows, cols):
    """Rows of bits: bit j % 64 of word j // 64."""
    bits = np.unpackbits(data.reshape(rows, -(-cols // 512) * 8).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :cols].astype(bool)


def unpacked(fields, data):
    """The matrix of the fields of a description, by the page alone."""
    form, n, cols = fields["form"], fields["rows"], fields["cols"]
    if form in ("Dense", "Bit"):
        stored = data if form == "Dense" else words_of(data, n, cols)
    elif form in ("Diagonal", "Identity"):
        stored = np.diag(data) if form == "Diagonal" else np.eye(n, cols)
    else:
        unit = 512 if form == "TriangularBit" else 32
        height = max(unit, -(-(n // 32) // unit) * unit)
        stored, at = np.zeros((n, n), bool if form == "TriangularBit" else data.dtype), 0
        for first in range(0, n, height):
            rows, width = min(height, n - first), n - first
            words = (width + 511) // 512 * 8 if form == "TriangularBit" else width
            strip = data[at : at + rows * words]
            at += rows * words
            part = words_of(strip, rows, width) if form == "TriangularBit" else strip.reshape(rows, width)
            stored[first : first + rows, first:] = part
        assert at == len(data)
        if form in ("Symmetric", "AntiSymmetric"):
            stored = stored + (1 if form == "Symmetric" else -1) * np.triu(stored, 1).T
    if fields["conjugated"]:
        stored = stored.conj()
    scale = fields["scale"]
    scale = complex(*scale["complex"]) if isinstance(scale, dict) else scale
    return scale * (stored.T if fields["transposed"] else stored)


@pytest.mark.parametrize("n", [0, 1, 33, 70, 1100])
def test_matrices(n, tmp_path, rng):
    a = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    upper = np.triu(a, 1)
    matrices = {
        "dense": ts.matrix.Dense(a),
        "bit": ts.matrix.Bit(a.real > 0),
        "triangular_bit": ts.matrix.TriangularBit(upper.real > 0),
        "triangular": ts.matrix.Triangular(np.triu(a)),
        "symmetric": ts.matrix.Symmetric(upper + upper.T),
        "antisymmetric": ts.matrix.AntiSymmetric(upper - upper.T),
        "diagonal": ts.matrix.Diagonal(np.diagonal(a).copy()),
        "identity": ts.matrix.Identity(n),
    }
    matrices |= {f"{k}_view": (2 - 1j) * m.H for k, m in matrices.items()}
    ts.save(tmp_path / "m.tessera", matrices)
    arrays, description = read_file(tmp_path / "m.tessera")
    numbered = list(arrays.values())
    for key, value in description["value"]["dict"]:
        fields = value["matrix"]
        found = unpacked(fields, numbered[fields["data"]["array"]])
        assert np.allclose(found, matrices[key].numpy(), rtol=1e-14), key
    known = dict(description["value"]["dict"])["identity"]["matrix"]["known"]["dict"]
    assert ["diagonal_value", 1] in known
