# SPDX-License-Identifier: Apache-2.0
""".tessera files: matrices of every form with what is known of them, names of arrays, slices without the rest, damaged
files. Operators, names, shapes and results in them: test_pickle.py; the container itself: store/snapshot in C++."""

import json
import os
import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ALL, check, draw_numbers, on, seeds, strided

import tessera as ts

FORMS = [
    ts.matrix.Dense,
    ts.matrix.Bit,
    ts.matrix.TriangularBit,
    ts.matrix.Triangular,
    ts.matrix.Symmetric,
    ts.matrix.AntiSymmetric,
    ts.matrix.Diagonal,
    ts.matrix.Identity,
]


def made(cls, rng, n, dtype):
    """A matrix of a form with random elements."""
    a = draw_numbers(rng, (n, n), dtype)
    if cls is ts.matrix.Identity:
        return cls(n, dtype=dtype)
    if cls in (ts.matrix.Bit, ts.matrix.TriangularBit):
        a = a != 0
    if cls in (ts.matrix.Triangular, ts.matrix.TriangularBit):
        a = np.triu(a, 1 if cls is ts.matrix.TriangularBit else 0)
    if cls is ts.matrix.Symmetric:
        a = np.triu(a) + np.triu(a, 1).T
    if cls is ts.matrix.AntiSymmetric:
        a = np.triu(a, 1) - np.triu(a, 1).T
    return cls(np.diagonal(a).copy() if cls is ts.matrix.Diagonal else a)


@pytest.mark.parametrize("dtype", ALL)
def test_arrays_of_every_dtype(dtype, tmp_path, device, rng):
    for shape in [(), (0,), (3,), (2, 3, 4), (2, 0, 3)]:
        x = strided(rng, draw_numbers(rng, shape, dtype))
        ts.save(tmp_path / "x.tessera", on(device, x))
        again = ts.load(tmp_path / "x.tessera")
        check(again, x)
        assert again.device == device
        check(ts.load(tmp_path / "x.tessera", device="sim:1"), x)
        ts.save(tmp_path / "x.tessera", {"x": x})  # NumPy's are taken as they are
        check(ts.open_snapshot(tmp_path / "x.tessera")["x"][...], x)


def test_short_floats(tmp_path):
    x = ts.arange(5).astype("bfloat16")
    ts.save(tmp_path / "x.tessera", x)
    again = ts.load(tmp_path / "x.tessera")
    assert again.dtype == ts.bfloat16 and again.tolist() == x.tolist()


@pytest.mark.parametrize("cls", FORMS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("n", [0, 1, 5, 70])
def test_matrices_of_every_form(cls, n, tmp_path, device, rng):
    path = tmp_path / "m.tessera"
    for dtype in ["bool"] if cls in FORMS[1:3] else ["int16", "float32", "complex128"]:
        m = made(cls, rng, n, dtype).to(device)
        m.properties["is_zero"] = False
        trace = m.trace() if dtype != "bool" else None
        views = [m, m.T, m.H] if dtype == "bool" else [m, m.T, m.H, 3 * m, -2 * m.T]
        ts.save(path, {"views": views, "deep": [{"m": m}]})
        loaded = ts.load(path)
        for again, view in zip([*loaded["views"], loaded["deep"][0]["m"]], [*views, m], strict=True):
            assert type(again) is type(view) and again.dtype == view.dtype and again.device == view.device
            assert again.shape == view.shape and again.nbytes == view.nbytes
            np.testing.assert_array_equal(again.numpy(), view.numpy())
            assert dict(again.properties) == dict(view.properties)
        if trace is not None:
            assert loaded["views"][0].properties["trace"] == trace
        assert ts.load(path, device="sim:2")["views"][0].device == "sim:2"


def test_a_lower_triangle_stays_strict(tmp_path):
    ts.save(tmp_path / "m.tessera", ts.matrix.Triangular(3, lower=True, strict=True))
    again = ts.load(tmp_path / "m.tessera")
    with pytest.raises(ValueError, match="Strictly lower"):
        again[1, 1] = 1


def test_names_are_the_keys_that_lead_to_an_array(tmp_path):
    path = tmp_path / "a.tessera"
    x, y = ts.arange(3), ts.ones(2)
    A = ts.Dense(np.ones((2, 3)), "MN", "N", "M")
    value = {
        "x": x,
        "list": [y, (x, 2)],
        "A": A,
        "m": ts.matrix.Symmetric(np.eye(2)),
        "fit": ts.solve.cg(A.N, x, maxiter=1),
    }
    ts.save(path, value)
    file = ts.open_snapshot(path)
    assert list(file) == ["x", "list/0", "A/0", "m/data", "fit/x"]
    assert file["fit/x"].shape == (3,) and len(file) == 5 and "y" not in file
    loaded = ts.load(path)
    assert loaded["list"][1][0] is loaded["x"]  # one array in two places stays one
    for alone, name in [(x, "value"), ([x], "0"), (A, "0"), (ts.matrix.Diagonal([1.0, 2.0]), "data")]:
        ts.save(path, alone)
        assert list(ts.open_snapshot(path)) == [name]
    ts.save(path, {"a/b": x, "a": {"b": y}, 1: ts.zeros(1), "1": ts.zeros(2), "\ud800": ts.zeros(3)})
    assert list(ts.open_snapshot(path)) == ["a/b", "a/b (2)", "1", "1 (2)", "\\ud800"]
    assert list(ts.load(path)) == ["a/b", "a", 1, "1", "\ud800"]


@settings(max_examples=200)
@given(seed=seeds, data=st.data())
def test_slices_are_those_of_numpy(seed, data, tmp_path):
    rng = np.random.default_rng(seed)
    shape = tuple(data.draw(st.lists(st.sampled_from([0, 1, 2, 7, 90]), max_size=3)))
    x = draw_numbers(rng, shape, data.draw(st.sampled_from(["int8", "float64", "complex64"])))
    ts.save(tmp_path / "x.tessera", {"before": ts.ones(3), "x": x})
    on_disk = ts.open_snapshot(tmp_path / "x.tessera")["x"]
    assert (on_disk.shape, on_disk.ndim, on_disk.size, on_disk.nbytes) == (x.shape, x.ndim, x.size, x.nbytes)
    for _ in range(4):
        key = data.draw(st_keys(shape))
        check(on_disk[key], x[key])
    check(ts.asarray(np.asarray(on_disk)), x)


def st_keys(shape):
    """Integers, slices, an ellipsis and None."""
    bound = st.one_of(st.none(), st.integers(-100, 100))
    parts = []
    for n in shape:
        some = [st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, 40, -1, -3, -40]))]
        parts.append(st.one_of(*some, *([st.integers(-n, n - 1)] if n else [])))
    whole = st.tuples(*parts)

    def shortened(key, cut, dots, new):
        key = key[:cut] + ((...,) if dots else ()) + (key[cut + 1 :] if dots else ())
        return (None, *key) if new else key

    return st.builds(shortened, whole, st.integers(0, len(shape)), st.booleans(), st.booleans())


def test_wrong_keys(tmp_path):
    path = tmp_path / "x.tessera"
    ts.save(path, {"x": np.ones((3, 4))})
    file = ts.open_snapshot(path)
    x = file["x"]
    for key, text in [
        (3, "index 3 is out of bounds for axis 0 with size 3"),
        ((0, -5), "index -5 is out of bounds for axis 1"),
        ((0, 0, 0), "3 indices"),
        ((..., ...), "2 ellipses"),
        ([0, 1], "got list"),
        (True, "got bool"),
        (1.5, "got float"),
        (np.ones(3, bool), "got ndarray"),
    ]:
        with pytest.raises(IndexError, match=text):
            x[key]
    with pytest.raises(KeyError, match="no array 'y'; it has 'x'"):
        file["y"]
    with pytest.raises(ts.IoError):
        ts.open_snapshot(tmp_path / "no.tessera")
    with pytest.raises(TypeError, match="expected str, bytes or os.PathLike object, not NoneType"):
        ts.open_snapshot(None)
    assert "shape=(3, 4)" in repr(file)


def read_bytes():
    """Bytes that this process has read from files."""
    with open("/proc/self/io") as f:
        return int(f.read().split("rchar: ")[1].split()[0])


def test_a_slice_reads_little(tmp_path):
    path = tmp_path / "x.tessera"
    x = np.arange(2_000_000.0).reshape(2000, 1000)
    ts.save(path, {"x": x, "y": x})
    before = read_bytes()
    rows = ts.open_snapshot(path)["y"][500:520]
    once = read_bytes() - before
    check(rows, x[500:520])
    assert 20 * 8000 <= once < 20 * 8000 + 200_000
    before = read_bytes()
    far = ts.open_snapshot(path)["y"][::500]
    assert read_bytes() - before < 300_000
    check(far, x[::500])


def test_what_replaces_a_file_is_not_seen(tmp_path):
    path = tmp_path / "x.tessera"
    ts.save(path, {"x": ts.zeros(4)})
    file = ts.open_snapshot(path)
    ts.save(path, {"x": ts.ones(3)})
    assert file["x"][...].tolist() == [0, 0, 0, 0] and ts.load(path)["x"].tolist() == [1, 1, 1]
    assert [p.name for p in tmp_path.iterdir()] == ["x.tessera"]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.tessera"
    ts.save(path, {"x": ts.zeros(4)})
    before = path.read_bytes()
    with pytest.raises(TypeError, match="got set"):
        ts.save(path, [ts.ones(3), {1}])
    with pytest.raises(ValueError, match="not compressed"):
        ts.save(path, ts.ones(3), compressed=True)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["x.tessera"]


def everything(value):
    """All numbers of what was loaded, as text."""
    if isinstance(value, dict):
        return str([(k, everything(v)) for k, v in value.items()])
    if isinstance(value, list | tuple):
        return str([everything(v) for v in value])
    if isinstance(value, ts.matrix.AnyMatrix):
        return str((type(value), value.numpy().tolist(), dict(value.properties)))
    if isinstance(value, ts.NamedLinop):
        return str((value.name, str(value.shape), value.H(value(np.ones(2))).tolist()))
    if isinstance(value, ts.SolveResult):
        return str((repr(value), value.x.tolist()))
    return str(value.tolist() if isinstance(value, ts.Array) else value)


def small_file(path):
    A = ts.Dense(np.array([[1.0, 2.0], [3.0, 5.0]]), "MN", "N", "M")
    fit = ts.solve.cg(ts.Scalar(2.0), [4.0])
    ts.save(path, {"x": ts.arange(5), "m": ts.matrix.Symmetric(np.eye(2)), "A": A, "fit": fit, "n": 3})
    return path.read_bytes()


def test_every_flipped_byte_is_detected_or_harmless(tmp_path):
    path = tmp_path / "x.tessera"
    good = small_file(path)
    expected = everything(ts.load(path))
    zeros = bytes(64)
    detected = 0
    for at in range(len(good)):
        # What lies between two parts of the file is zero and never read: some of it is enough.
        if at % 97 and good[max(0, at - 32) : at + 32] == zeros:
            continue
        bad = bytearray(good)
        bad[at] ^= 1 << at % 8
        path.write_bytes(bad)
        try:
            assert everything(ts.load(path)) == expected
        except ts.IoError as error:
            detected += 1
            assert "x.tessera" in str(error)
    assert detected > 1000


def test_every_shortened_file_is_refused(tmp_path):
    path = tmp_path / "x.tessera"
    good = small_file(path)
    for n in [*range(0, 4200), *range(4200, len(good), 41), *range(len(good) - 64, len(good))]:
        path.write_bytes(good[:n])
        with pytest.raises(ts.IoError, match=r"x\.tessera"):
            ts.load(path)


def test_descriptions_that_lie_take_no_memory(tmp_path):
    path = str(tmp_path / "x.tessera")
    x = ts.ones(100_000)

    def load(value):
        ts._tessera._save_snapshot(path, [("x", x)], json.dumps({"tessera": 1, "value": value}))
        return ts.load(path)

    array = {"array": 0, "device": "cpu"}
    before = ts.memory_stats("cpu")["in_use"]
    many = load([array] * 1000)
    assert ts.memory_stats("cpu")["in_use"] < before + 2 * x.nbytes and many[0] is many[-1]
    fields = {"form": "Symmetric", "rows": 2**20, "cols": 2**20, "dtype": "float64", "strict": False, "data": array}
    fields |= {"scale": 1, "transposed": False, "conjugated": False, "known": {"dict": []}}
    draw = random.Random(5)
    strange = [0, -1, 2**31, 2**62, 2**64, 1.5, None, True, "", "Bit", "Dense", "Diagonal", [], {}, array]
    for _ in range(300):
        lie = {**fields, draw.choice(list(fields)): draw.choice(strange)}
        with pytest.raises(ts.Error):
            load({"matrix": lie})
    for value in [{}, {"matrix": {}}, {"array": 1, "device": "cpu"}, {"array": -1, "device": "cpu"}, {"tuple": 3},
                  {"unknown": []}, {"dict": [[[], 1]]}, {"complex": ["a", 1]}, {"solve result": {"x": 1}}]:  # fmt: skip
        with pytest.raises(ts.Error):
            load(value)
    for text in ["", "{", "[]", "3", '{"tessera": 2, "value": 1}', '{"tessera": 1}', "[" * 100_000]:
        ts._tessera._save_snapshot(path, [], text)
        with pytest.raises(ts.IoError, match=r"x\.tessera"):
            ts.load(path)


@pytest.mark.parametrize("dtype", [*ALL, "bfloat16"])
def test_pickles_are_snapshots(dtype, device, rng):
    for shape in [(), (0, 3), (5,), (130, 257)]:
        x = on(device, draw_numbers(rng, shape, "int8" if dtype == "bfloat16" else dtype)).astype(dtype)
        data, where = x.__getstate__()
        assert data[:8] == b"\x89TESSERA" and where == device
        again = pickle.loads(pickle.dumps(x.T))
        assert again.dtype == x.dtype and again.device == device and again.shape == x.T.shape
        assert again.tolist() == x.T.tolist()


def test_damaged_pickles_are_refused():
    data, _ = ts.arange(5).__getstate__()
    good, noticed = pickle.dumps(ts.arange(5)), 0
    start = good.index(data)
    for at in range(len(data)):
        bad = bytearray(good)
        bad[start + at] ^= 1 << at % 8
        try:
            assert pickle.loads(bad).tolist() == [0, 1, 2, 3, 4]
        except ts.IoError:
            noticed += 1
    assert noticed > 150
    for state in [(), (data,), (3, "cpu"), (b"", "cpu"), (data[:-1], "cpu"), (data, "nowhere:3")]:
        with pytest.raises(ts.Error):
            ts.Array.__new__(ts.Array).__setstate__(state)
