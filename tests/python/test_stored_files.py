# SPDX-License-Identifier: Apache-2.0
"""Files of other programs used in place: what we read and write there is what NumPy reads and writes."""

import contextlib
import os

import numpy as np
import pytest

import tessera as ts

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


def numbers(shape, dtype, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.integers(-100, 100, shape) if np.dtype(dtype).kind in "biu" else rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@contextlib.contextmanager
def memory_budget(nbytes):
    """So many bytes beside what is in use."""
    ts.set_memory_budget(host=ts.memory_stats("cpu")["in_use"] + nbytes)
    try:
        yield
    finally:
        ts.set_memory_budget(host=0)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "x.npy")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("swapped", [False, True])
def test_npy_files_in_place(path, dtype, order, swapped):
    for shape in [(), (0,), (1,), (37,), (5, 8), (0, 3), (3, 4, 5)]:
        x = np.asarray(numbers(shape, dtype), order=order)
        np.save(path, x.astype(x.dtype.newbyteorder()) if swapped else x)
        head = open(path, "rb").read()[:64]
        stored = ts.stored.open(path)
        assert stored.shape == shape and stored.dtype == dtype
        np.testing.assert_array_equal(stored[...].numpy(), x)
        if x.ndim == 0:
            continue
        y = ts.stored.open(path, "r+")
        key = (slice(1, 4),) if x.ndim == 1 else (slice(None), slice(1, 3))
        x = x.copy()
        x[key] = x[key][::-1].copy()
        y[key] = x[key]
        np.testing.assert_array_equal(np.load(path), x)
        assert open(path, "rb").read()[:64] == head
        with pytest.raises(ts.Error, match="read only"):
            stored[key] = x[key]


def test_npy_files_are_made_by_their_name(path, tmp_path):
    x = numbers((30, 40), "float32")
    a = ts.stored.array(x, path)
    np.testing.assert_array_equal(np.load(path), x)
    other = str(tmp_path / "y.npy")
    (a * 2 + 1).save(other)
    np.testing.assert_array_equal(np.load(other), x * 2 + 1)
    with pytest.raises(ts.Error, match="exists"):
        a.save(other)
    third = str(tmp_path / "z.npy")
    z = ts.stored.create((3, 2), "int16", third)
    z[1:] = 5
    assert np.load(third).tolist() == [[0, 0], [5, 5], [5, 5]]


def test_streaming_over_npy_files_under_a_budget(path, tmp_path):
    x = numbers((700, 900), "float64")
    np.save(path, np.asfortranarray(x))
    a = ts.stored.open(path)
    with memory_budget(2 << 20):
        np.testing.assert_allclose(float(((a - 1) ** 2).sum()), ((x - 1) ** 2).sum(), rtol=1e-12)
        np.testing.assert_allclose(a.mean(axis=0).numpy(), x.mean(axis=0), rtol=1e-10, atol=1e-12)
        t, p = a.T, a @ a.T
    np.testing.assert_array_equal(t[...].numpy(), x.T)
    np.testing.assert_allclose(p[...].numpy(), x @ x.T, rtol=1e-10, atol=1e-9)


def test_damaged_npy_files_are_refused(path):
    np.save(path, numbers((5, 6), "float64"))
    good = open(path, "rb").read()
    for n in (0, 5, 11, 60, 127, 128, len(good) - 1):
        with open(path, "wb") as f:
            f.write(good[:n])
        with pytest.raises(ts.Error, match=r"x\.npy"):
            ts.stored.open(path)
    np.save(path, np.array(["text"]))
    with pytest.raises(ts.Error, match="text"):
        ts.stored.open(path)
    os.remove(path)
    with pytest.raises(ts.Error, match="No such file"):
        ts.stored.open(path)
    with pytest.raises(ValueError, match="r\\+"):
        ts.stored.open(path, "w")


def test_datasets_of_hdf5_files(tmp_path):
    h5py = pytest.importorskip("h5py")
    path, x = str(tmp_path / "x.h5"), numbers((60, 70), "float64")
    with h5py.File(path, "w") as f:
        f["plain"] = x
        f.create_dataset("chunks", data=x, chunks=(7, 30))
        f.create_dataset("packed", data=x, chunks=(16, 16), compression="gzip")
    for dataset in ("plain", "chunks", "packed"):
        y = ts.stored.open(path, "r+", dataset=dataset)
        np.testing.assert_array_equal(y[...].numpy(), x)
        y[5:50, 3::2] = 7
        del y
        with h5py.File(path) as f:
            wanted = x.copy()
            wanted[5:50, 3::2] = 7
            np.testing.assert_array_equal(f[dataset][...], wanted)
    with pytest.raises(ts.Error, match="say which"):
        ts.stored.open(path)
