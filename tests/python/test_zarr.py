# SPDX-License-Identifier: Apache-2.0
"""Zarr v3 directories both ways: beside the zarr package where it is installed, by the text of the format without it;
hostile and damaged ones."""

import gzip
import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ALL, check, draw_numbers, on, optional, seeds, strided

import tessera as ts

zarr = optional("zarr")
SHAPES = [(), (0,), (1,), (7,), (2, 3, 4), (2, 0, 3), (11, 5)]


@pytest.fixture
def small_chunks(monkeypatch):
    """Several chunks of a small array."""
    from tessera import _zarr

    monkeypatch.setattr(_zarr, "_CHUNK_BYTES", 64)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ALL)
def test_both_ways(dtype, compressed, tmp_path, device, rng, small_chunks):
    for i, shape in enumerate(SHAPES):
        x = strided(rng, draw_numbers(rng, shape, dtype))
        path = tmp_path / f"x{i}.zarr"
        for _ in range(2):  # the second replaces the first
            ts.save(path, on(device, x), compressed=compressed)
        check(ts.load(path), x)
        again = ts.load(path, device=device)
        check(again, x)
        assert again.device == device
    assert len(os.listdir(tmp_path)) == len(SHAPES)  # nothing is left beside them


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ALL)
def test_the_zarr_package_reads_ours(dtype, compressed, tmp_path, rng, small_chunks):
    for i, shape in enumerate(SHAPES):
        x = draw_numbers(rng, shape, dtype)
        path = tmp_path / f"x{i}.zarr"
        ts.save(path, x, compressed=compressed)
        array = zarr.open_array(str(path), mode="r")
        assert array.metadata.zarr_format == 3 and array.shape == x.shape and array.dtype == x.dtype
        assert np.array_equal(array[...], x)


CODECS = ["plain", "gzip", "crc32c", "big", "transpose", "all"]


@pytest.mark.parametrize("codecs", CODECS)
@pytest.mark.parametrize("dtype", ["bool", "int16", "uint64", "float16", "float64", "complex64"])
def test_we_read_those_of_the_zarr_package(codecs, dtype, tmp_path, rng):
    codec = zarr.codecs
    for number, (shape, chunks) in enumerate([((7, 5, 3), (2, 5, 2)), ((9,), (4,)), ((4, 4), (4, 4)), ((), ())]):
        x = draw_numbers(rng, shape, dtype)
        filters = [codec.TransposeCodec(order=tuple(rng.permutation(len(shape)).tolist()))]
        filters = filters if codecs in ("transpose", "all") else []
        endian = codec.BytesCodec(endian="big" if codecs in ("big", "all") else "little")
        packed = [codec.GzipCodec(level=3)] if codecs in ("gzip", "all") else []
        packed += [codec.Crc32cCodec()] if codecs in ("crc32c", "all") else []
        path = tmp_path / f"{number}.zarr"
        options = {"chunks": chunks, "zarr_format": 3, "serializer": endian, "filters": filters, "compressors": packed}
        if number == 1:
            options["chunk_key_encoding"] = {"name": "v2", "separator": "."}
        array = zarr.create_array(str(path), shape=shape, dtype=dtype, fill_value=1, **options)
        array[...] = x
        check(ts.load(path), x)
        if shape:  # chunks that are not there hold the fill value
            empty = zarr.create_array(
                str(tmp_path / f"e{number}.zarr"), shape=shape, dtype=dtype, fill_value=1, **options
            )
            empty[:2] = x[:2]
            check(ts.load(tmp_path / f"e{number}.zarr"), np.concatenate([x[:2], np.ones_like(x[2:])]))


def test_groups(tmp_path, rng):
    value = {"a": np.arange(5), "deep": {"b": draw_numbers(rng, (3, 2), "float32"), "none": {}}, "é": np.array(1.5)}
    path = tmp_path / "g.zarr"
    ts.save(path, value)
    again = ts.load(path)
    assert sorted(again) == ["a", "deep", "é"] and again["deep"]["none"] == {}
    check(again["a"], value["a"])
    check(again["deep"]["b"], value["deep"]["b"])
    group = zarr.open_group(str(path), mode="r")
    assert np.array_equal(group["deep/b"][...], value["deep"]["b"]) and group["é"][...] == 1.5
    new = zarr.create_group(str(tmp_path / "theirs.zarr"), zarr_format=3)
    new.create_array("x", data=np.arange(4), compressors=None)
    new.create_group("inner").create_array("y", data=np.ones(2), compressors=None)
    theirs = ts.load(tmp_path / "theirs.zarr")
    assert theirs["x"].tolist() == [0, 1, 2, 3] and theirs["inner"]["y"].tolist() == [1, 1]


def test_arrays_on_disk_are_written_by_chunks(tmp_path, small_chunks):
    x = np.arange(60.0).reshape(12, 5)
    ts.save(tmp_path / "x.zarr", ts.stored.array(x))
    check(ts.load(tmp_path / "x.zarr"), x)


def test_what_is_refused(tmp_path):
    with pytest.raises(TypeError, match="bfloat16"):
        ts.save(tmp_path / "x.zarr", ts.ones(3).astype("bfloat16"))
    for name in ["", ".", "..", "a/b", "__a", "zarr.json", 3]:
        with pytest.raises(ValueError, match="cannot be called"):
            ts.save(tmp_path / "x.zarr", {"good": ts.ones(3), name: ts.ones(3)})
    with pytest.raises(TypeError):
        ts.save(tmp_path / "x.zarr", {"a": "text"})
    assert os.listdir(tmp_path) == []
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / "mine.txt").write_text("keep")
    with pytest.raises(ts.IoError, match="no Zarr directory"):
        ts.save(tmp_path / "x.zarr", ts.ones(3))
    assert (tmp_path / "x.zarr" / "mine.txt").read_text() == "keep"
    with pytest.raises(ts.IoError):
        ts.save(tmp_path / "no" / "x.zarr", ts.ones(3))
    with pytest.raises(ts.IoError, match=r"no\.zarr"):
        ts.load(tmp_path / "no.zarr")


def test_a_failed_save_leaves_the_old_one(tmp_path):
    path = tmp_path / "x.zarr"
    ts.save(path, {"a": ts.arange(3)})
    with pytest.raises(TypeError):
        ts.save(path, {"a": ts.ones(3), "b": "text"})
    assert ts.load(path)["a"].tolist() == [0, 1, 2] and os.listdir(tmp_path) == ["x.zarr"]


def described(path, **changes):
    """Another description of an array."""
    file = path / "zarr.json"
    about = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps({k: v for k, v in about.items() if v != "leave out"}))


BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
LIES = [
    ({"zarr_format": 2}, "version 2"),
    ({"node_type": "thing"}, "thing"),
    ({"shape": "leave out"}, "shape"),
    ({"shape": [-1]}, "integers from 0"),
    ({"shape": [2.5]}, "integers from 0"),
    ({"shape": [4, 4]}, "chunks of shape"),
    ({"data_type": "r16"}, "r16"),
    ({"data_type": {"name": "x"}}, "is no Zarr"),
    ({"codecs": []}, "'bytes'"),
    ({"codecs": [BYTES, {"name": "blosc"}]}, "'blosc', which cannot be decoded here"),
    ({"codecs": [{"name": "sharding_indexed"}]}, "'sharding_indexed', which is not known"),
    ({"codecs": [BYTES, {"name": "gzip"}]}, "is no Zarr"),
    ({"codecs": [BYTES, {"name": "crc32c"}]}, "checksum"),
    ({"codecs": [BYTES, {"name": "gzip"}, {"name": "gzip"}]}, "one at most"),
    ({"codecs": [{"name": "transpose", "configuration": {"order": [1]}}, BYTES]}, "order"),
    ({"chunk_grid": {"name": "rectilinear"}}, "rectilinear"),
    ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0]}}}, "integers from 1"),
    ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2**60]}}}, "a chunk of 24 bytes"),
    ({"chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}}, "separated"),
    ({"fill_value": None}, "fill value"),
    ({"fill_value": [1]}, "fill value"),
    ({"storage_transformers": [{"name": "x"}]}, "storage transformers"),
    ({"unknown": 3}, "'unknown', which is not known"),
]


@pytest.mark.parametrize("changes, text", LIES, ids=[str(i) for i in range(len(LIES))])
def test_descriptions_that_lie(changes, text, tmp_path):
    path = tmp_path / "x.zarr"
    ts.save(path, ts.ones(3))
    described(path, **changes)
    with pytest.raises(ts.IoError, match=text) as info:
        ts.load(path)
    assert "x.zarr" in str(info.value)


def test_what_may_be_passed_over(tmp_path):
    path = tmp_path / "x.zarr"
    ts.save(path, ts.arange(3))
    described(path, extra={"must_understand": False}, dimension_names=["t"], fill_value=7)
    (path / "c" / "9").write_bytes(b"left from a larger array")
    (path / "notes.txt").write_text("mine")
    assert ts.load(path).tolist() == [0, 1, 2]
    (path / "c" / "0").unlink()
    assert ts.load(path).tolist() == [7, 7, 7]
    ts.save(path, ts.ones(2))
    for text, value in [("NaN", np.nan), ("-Infinity", -np.inf), ("0x3ff8000000000000", 1.5), (2, 2.0)]:
        described(path, shape=[3], fill_value=text)
        (path / "c" / "0").unlink(missing_ok=True)
        np.testing.assert_array_equal(ts.load(path), [value] * 3)


def test_pipes_are_not_waited_for(tmp_path):
    path = tmp_path / "x.zarr"
    ts.save(path, ts.arange(3))
    (path / "c" / "0").unlink()
    os.mkfifo(path / "c" / "0")
    assert ts.load(path).tolist() == [0, 0, 0]
    (path / "zarr.json").unlink()
    os.mkfifo(path / "zarr.json")
    with pytest.raises(ts.IoError, match="no file zarr.json"):
        ts.load(path)


def test_more_than_the_memory_is_refused(tmp_path):
    path = tmp_path / "x.zarr"
    ts.save(path, ts.arange(3))
    described(path, shape=[2**55])
    with pytest.raises(MemoryError):
        ts.load(path)
    bomb = gzip.compress(bytes(10**7))
    ts.save(path, ts.arange(3), compressed=True)
    (path / "c" / "0").write_bytes(bomb)
    with pytest.raises(ts.IoError, match="a chunk of 25 bytes; expected 24"):
        ts.load(path)


@settings(max_examples=150)
@given(seed=seeds, data=st.data())
def test_damaged_directories_never_crash(seed, data, tmp_path):
    draw = random.Random(seed)
    path = tmp_path / "x.zarr"
    ts.save(path, {"a": ts.arange(20), "b": ts.ones((2, 3), "bool")}, compressed=data.draw(st.booleans()))
    files = sorted(p for p in path.rglob("*") if p.is_file())
    for _ in range(data.draw(st.integers(1, 3))):
        file = draw.choice(files)
        raw = bytearray(file.read_bytes())
        if raw and draw.random() < 0.8:
            raw[draw.randrange(len(raw))] = draw.randrange(256)
        else:
            raw = raw[: draw.randrange(len(raw) + 1)]
        file.write_bytes(raw)
    try:
        loaded = ts.load(path)
    except ts.Error:
        return
    for x in loaded.values() if isinstance(loaded, dict) else [loaded]:
        x.numpy()


def test_what_a_description_claims_is_not_touched(tmp_path):
    """Four gigabytes of zeros, of which there is no chunk: memory is taken for what is there."""
    ts.save(tmp_path / "x.zarr", ts.zeros(4, "float64"))
    about = json.loads((tmp_path / "x.zarr" / "zarr.json").read_text())
    about["shape"] = [1 << 29]
    (tmp_path / "x.zarr" / "zarr.json").write_text(json.dumps(about))
    code = (
        "import sys, resource, tessera as ts\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    x = ts.load(sys.argv[1])\n"
        "except ts.OutOfMemory:\n"
        "    sys.exit(0)\n"
        "assert x.shape == (1 << 29,) and float(x[-1]) == 0.0\n"
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000\n"
    )
    variables = {key: value for key, value in os.environ.items() if key != "TESSERA_POISON"}
    command = [sys.executable, "-c", code, str(tmp_path / "x.zarr")]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
