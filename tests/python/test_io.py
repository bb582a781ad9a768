# SPDX-License-Identifier: Apache-2.0
""".npy and .npz both ways with NumPy; truncated, malformed and hostile files."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ALL, check, draw_numbers, on, seeds, strided

import tessera as ts


@pytest.mark.parametrize("dtype", ALL)
def test_npy_both_ways(dtype, tmp_path, device, rng):
    for shape in [(), (0,), (3,), (2, 3, 4), (2, 0, 3)]:
        x = strided(rng, draw_numbers(rng, shape, dtype))
        ts.save(tmp_path / "ours.npy", on(device, x))
        loaded = np.load(tmp_path / "ours.npy")
        assert loaded.dtype == x.dtype and np.array_equal(loaded, x)
        np.save(tmp_path / "theirs.npy", x)
        check(ts.load(tmp_path / "theirs.npy", device=device), x)
        columns = np.asfortranarray(x)  # NumPy makes one axis of a number here
        np.save(tmp_path / "fortran.npy", columns)
        check(ts.load(tmp_path / "fortran.npy"), columns)


def test_our_files_are_numpys_files(tmp_path, rng):
    x = draw_numbers(rng, (3, 5), "complex64")
    ts.save(tmp_path / "a.npy", x)
    np.save(tmp_path / "b.npy", x)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_byte_orders_and_versions(tmp_path):
    x = np.arange(6, dtype=">i4").reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    check(ts.load(tmp_path / "x.npy"), x.astype("int32"))
    for version in [(1, 0), (2, 0), (3, 0)]:
        with open(tmp_path / "v.npy", "wb") as f:
            np.lib.format.write_array(f, np.arange(3.0), version=version)
        check(ts.load(tmp_path / "v.npy"), np.arange(3.0))


def test_maps(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(1000.0))
    x = ts.load(tmp_path / "x.npy", mmap_mode="r")
    assert x[7].item() == 7 and not x.writable
    with pytest.raises(ValueError):
        x[0] = 1
    y = ts.load(tmp_path / "x.npy", mmap_mode="r+")
    y[0] = 42
    del y
    assert np.load(tmp_path / "x.npy")[0] == 42


@pytest.mark.parametrize("compressed", [False, True])
def test_npz_both_ways(compressed, tmp_path, device, rng):
    arrays = {
        "a": draw_numbers(rng, (3, 4), "float32"),
        "b/c": np.arange(5),
        "z": np.zeros((0, 2)),
        "é": np.array(1.5),
    }
    ts.save(tmp_path / "ours.npz", {k: on(device, v) for k, v in arrays.items()}, compressed=compressed)
    with np.load(tmp_path / "ours.npz") as loaded:
        assert sorted(loaded.files) == sorted(arrays)
        for key, value in arrays.items():
            assert loaded[key].dtype == value.dtype and np.array_equal(loaded[key], value)
    (np.savez_compressed if compressed else np.savez)(tmp_path / "theirs.npz", **arrays)
    loaded = ts.load(tmp_path / "theirs.npz", device=device)
    assert sorted(loaded) == sorted(arrays)
    for key, value in arrays.items():
        check(loaded[key], value)


def refused(path):
    with pytest.raises(ts.IoError) as info:
        ts.load(path)
    assert path.name in str(info.value)


def header(text, version=(1, 0), magic=b"\x93NUMPY"):
    body = text.encode("latin1") + b"\n"
    size = len(body).to_bytes(2 if version == (1, 0) else 4, "little")
    return magic + bytes(version) + size + body


GOOD = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"
MALFORMED = {
    "empty": b"",
    "magic": header(GOOD, magic=b"\x93NUMPX") + bytes(24),
    "version": header(GOOD, version=(9, 0)) + bytes(24),
    "no data": header(GOOD),
    "short data": header(GOOD) + bytes(23),
    "object": header(GOOD.replace("<f8", "|O")) + bytes(24),
    "record": header(GOOD.replace("'<f8'", "[('a', '<f8')]")) + bytes(24),
    "text": header(GOOD.replace("<f8", "<U8")) + bytes(96),
    "huge shape": header(GOOD.replace("(3,)", "(4611686018427387904, 4611686018427387904)")) + bytes(24),
    "large shape": header(GOOD.replace("(3,)", "(100000000000,)")) + bytes(24),
    "negative shape": header(GOOD.replace("(3,)", "(-3,)")) + bytes(24),
    "float shape": header(GOOD.replace("(3,)", "(3.0,)")) + bytes(24),
    "no shape": header("{'descr': '<f8', 'fortran_order': False, }") + bytes(24),
    "code": header(GOOD.replace("(3,)", "__import__('os').abort()")) + bytes(24),
    "header cut": header(GOOD)[:30],
    "header length": b"\x93NUMPY\x01\x00\xff\xff" + GOOD.encode(),
    "not a dict": header("[1, 2, 3]") + bytes(24),
    "key twice": header("{'descr': '<f8', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }") + bytes(24),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_npy(name, tmp_path):
    path = tmp_path / "bad.npy"
    path.write_bytes(MALFORMED[name])
    before = ts.memory_stats("cpu")["in_use"]
    refused(path)
    assert ts.memory_stats("cpu")["in_use"] <= before + 2**12


@given(seed=seeds, data=st.data())
def test_damaged_files_never_crash(seed, data, tmp_path):
    rng = np.random.default_rng(seed)
    packed = io.BytesIO()
    zipped = data.draw(st.booleans())
    if zipped:
        np.savez_compressed(packed, a=np.arange(20), b=np.ones((2, 3)))
    else:
        np.save(packed, np.arange(20))
    raw = bytearray(packed.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[int(rng.integers(0, len(raw)))] = int(rng.integers(0, 256))
    if data.draw(st.booleans()):
        raw = raw[: int(rng.integers(0, len(raw)))]
    path = tmp_path / ("bad.npz" if zipped else "bad.npy")
    path.write_bytes(bytes(raw))
    try:
        loaded = ts.load(path)
    except ts.Error:
        return
    for x in loaded.values() if isinstance(loaded, dict) else [loaded]:
        x.numpy()


def test_malformed_npz(tmp_path):
    path = tmp_path / "bad.npz"
    path.write_bytes(b"PK\x03\x04 nothing")
    refused(path)
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("a.npy", b"no array")
    refused(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr(
            "bomb.npy",
            header("{'descr': '|u1', 'fortran_order': False, 'shape': (1099511627776,), }") + bytes(2**20),
        )
    refused(path)


def test_saving_is_all_or_nothing(tmp_path):
    path = tmp_path / "x.npy"
    ts.save(path, ts.arange(3))
    with pytest.raises(TypeError):
        ts.save(path, "text")
    assert np.load(path).tolist() == [0, 1, 2]
    with pytest.raises(ts.IoError):
        ts.save(tmp_path / "no" / "folder.npy", ts.arange(3))
    with pytest.raises(ValueError, match=".npy, .npz, .tessera, .zarr, .h5 or .hdf5"):
        ts.save(tmp_path / "x.txt", ts.arange(3))
    with pytest.raises(TypeError, match="dict"):
        ts.save(tmp_path / "x.npz", ts.arange(3))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy"]
