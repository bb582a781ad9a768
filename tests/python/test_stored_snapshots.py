# SPDX-License-Identifier: Apache-2.0
"""Arrays on disk in .tessera files and in pickles: written and read in parts, with the numbers that they had."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from support import draw_numbers, host_memory

import tessera as ts

MIB = 1 << 20


@pytest.fixture(autouse=True)
def folder(tmp_path):
    ts.set_backing_dir(str(tmp_path / "backing"))
    yield tmp_path
    ts.set_backing_dir(None)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "float16", "float32", "float64", "complex64", "complex128"]
)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 0, 2), (50, 31), (4, 5, 6)])
def test_what_is_saved_comes_back(tmp_path, dtype, shape):
    x = draw_numbers(np.random.default_rng(3), shape, dtype)
    path = tmp_path / "x.tessera"
    ts.save(path, {"x": ts.stored.array(x), "beside": np.arange(3), "again": None})
    got = ts.load(path)
    assert isinstance(got["x"], ts.stored.StoredArray)
    np.testing.assert_array_equal(got["x"].numpy(), x)
    assert got["x"].dtype == dtype and got["beside"].tolist() == [0, 1, 2]
    ts.open_snapshot(path).check()


def test_an_array_that_is_named_twice_is_written_once(tmp_path):
    x = ts.stored.array(np.arange(10_000.0))
    ts.save(tmp_path / "x.tessera", [x, x])
    assert os.path.getsize(tmp_path / "x.tessera") < 100_000
    a, b = ts.load(tmp_path / "x.tessera")
    assert a is b


@pytest.mark.parametrize("shape", [(2200, 1000), (3, 733_333), (2_200_001,)])
def test_neither_saving_nor_loading_holds_all_of_it(tmp_path, shape):
    x = np.random.default_rng(1).standard_normal(shape)  # 17 MB
    stored = ts.stored.array(x) * 2
    path = tmp_path / "x.tessera"
    with host_memory(14 * MIB):
        held = ts.memory_stats("cpu")["in_use"]
        ts.reset_peak("cpu")
        ts.save(path, stored)
        back = ts.load(path)
        key = (slice(1, 3), slice(10, 20)) if len(shape) == 2 else slice(10, 20)
        assert ts.open_snapshot(path)["value"][key].tolist() == (2 * x[key]).tolist()
        assert ts.memory_stats("cpu")["peak"] - held <= 14 * MIB
    np.testing.assert_array_equal(back.numpy(), 2 * x)


def test_the_old_file_stays_when_reading_fails(tmp_path):
    path, tiles = tmp_path / "x.tessera", tmp_path / "x.tiles"
    ts.save(path, 7)
    x = ts.stored.array(np.ones((300, 300)), tiles)
    os.truncate(tiles, 5000)
    with pytest.raises(OSError, match="shorter"):
        ts.save(path, x)
    assert ts.load(path) == 7
    assert sorted(p.name for p in tmp_path.iterdir()) == ["backing", "x.tessera", "x.tiles"]


@pytest.mark.parametrize("name", ["x.tiles", "x.npy"])
def test_pickles_refer_to_the_file(tmp_path, name):
    x = ts.stored.array(np.arange(6.0).reshape(2, 3), tmp_path / name)
    data = pickle.dumps(x)
    assert len(data) < 500
    y = pickle.loads(data)
    np.testing.assert_array_equal(y.numpy(), np.arange(6.0).reshape(2, 3))
    x[0, 0] = 9
    assert y[0, 0].item() == 9  # the same file
    y[0, 1] = 8  # open to be written, as the first was
    assert x[0, 1].item() == 8
    read_only = pickle.loads(pickle.dumps(ts.stored.open(tmp_path / name)))
    with pytest.raises(OSError, match="read only"):
        read_only[0, 0] = 1
    os.remove(tmp_path / name)
    with pytest.raises(OSError):
        pickle.loads(data)


def test_what_others_cannot_find_is_not_pickled():
    x = ts.stored.ones((3, 3))
    with pytest.raises(TypeError, match=r"backing folder.*x\.save\(path\)"):
        pickle.dumps(x)
    with pytest.raises(TypeError, match="a formula"):
        pickle.dumps(x + 1)
