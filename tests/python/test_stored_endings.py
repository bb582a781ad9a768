# SPDX-License-Identifier: Apache-2.0
"""What a path makes, ts.load opens, as what it was; what ts.save writes of arrays on disk goes through little memory."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from support import drawn, host_memory

import tessera as ts

MIB = 1 << 20
OTHERS = ["npz", "zarr", "tessera", "h5", "hdf5"]


def square():
    return ts.stored.array(np.eye(8) * 4 + 1)


# Everything that takes the path of a result.
JOBS = {
    "array": lambda path: ts.stored.array(np.ones(3), path),
    "create": lambda path: ts.stored.create(3, path=path),
    "save": lambda path: (square() + 1).save(path),
    "transpose": lambda path: square().transpose(path=path),
    "matmul": lambda path: ts.stored.matmul(square(), square() + 1, path),
    "cholesky": lambda path: ts.stored.cholesky(square(), path=path),
    "solve": lambda path: ts.stored.solve(square(), np.ones(8), path=path),
    "inverse": lambda path: ts.stored.inverse(square(), path=path),
    "sort": lambda path: ts.stored.sort(square(), path=path),
    "apply": lambda path: ts.stored.apply(ts.Diagonal([1.0, 2.0], ("X",)), [3.0, 4.0], path=path),
    "fft": lambda path: ts.stored.fft(square(), path=path),
    "rfftn": lambda path: ts.stored.rfftn(square(), path=path),
    "fftshift": lambda path: ts.stored.fftshift(square(), path=path),
    "matrix": lambda path: ts.stored.matrix(ts.matrix.Triangular(np.triu(np.ones((8, 8)))), path=path),
    "boolean product": lambda path: ts.matrix.boolean_product(
        ts.stored.matrix(ts.matrix.Bit(np.eye(8))), ts.matrix.Bit(np.eye(8)), path
    ),
    "compute_k": lambda path: ts.matrix.compute_k(ts.matrix.TriangularBit(np.triu(np.ones((8, 8)), 1)), 2.0, path),
}
FORMS = {"matrix", "boolean product", "compute_k"}


@pytest.mark.parametrize("ending", OTHERS)
@pytest.mark.parametrize("job", JOBS)
def test_endings_of_other_formats_are_refused_at_once(job, ending, tmp_path):
    path = tmp_path / f"x.{ending}"
    for call in (lambda: JOBS[job](path), lambda: ts.stored.plan(JOBS[job], path)):
        with pytest.raises(
            ts.IoError, match=rf"cannot create '.*x\.{ending}': .*take one that ends in \.tiles or \.npy"
        ):
            call()
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("name", ["x.tiles", "x.npy", "x", "x.dat"])
@pytest.mark.parametrize("job", JOBS)
def test_what_a_path_makes_is_loaded(job, name, tmp_path):
    path = tmp_path / name
    if name.endswith(".npy") and job in FORMS:
        with pytest.raises(ts.ArgumentError, match=r"a \.npy file does not say that a matrix is"):
            JOBS[job](path)
        assert not os.listdir(tmp_path)
        return
    made = JOBS[job](path)
    again = ts.load(path)
    assert type(again) is (ts.Array if name.endswith(".npy") else type(made))
    assert again.shape == made.shape and again.dtype == made.dtype
    np.testing.assert_array_equal(np.asarray(again), np.asarray(made))


def test_load_says_what_it_opens(tmp_path):
    (tmp_path / "x.dat").write_bytes(b"no array")
    with pytest.raises(ts.ArgumentError, match=r"x\.dat' does not end in .*\.zarr, \.h5 or \.hdf5"):
        ts.load(tmp_path / "x.dat")
    with pytest.raises(ts.ArgumentError, match="does not end in"):
        ts.load(tmp_path / "nothing")
    x = ts.stored.array(np.ones(3), tmp_path / "x.tiles")
    with pytest.raises(ts.ArgumentError, match="used where it lies, on disk, got device 'cpu'"):
        ts.load(tmp_path / "x.tiles", device="cpu")
    with pytest.raises(ts.ArgumentError, match="no HDF5 file, of which name= says the dataset"):
        ts.load(tmp_path / "x.tiles", name="x")
    with pytest.raises(ts.Error, match="read only"):
        ts.load(tmp_path / "x.tiles")[0] = 5
    ts.load(tmp_path / "x.tiles", "r+")[0] = 5
    assert x[0].item() == 5


ALL = ["npy", "npz", "tessera", "tiles", "zarr", "h5", "hdf5", "dat"]


@pytest.mark.parametrize("ending", ALL)
def test_pipes_and_folders_are_refused(ending, tmp_path):
    """Nobody waits for somebody who writes into a pipe."""
    pipe, folder = tmp_path / f"pipe.{ending}", tmp_path / f"folder.{ending}"
    os.mkfifo(pipe)
    folder.mkdir()
    code = f"""
import tessera as ts
for path in ({str(pipe)!r}, {str(folder)!r}):
    for call in (ts.load, lambda p: ts.load(p, "r+"), ts.stored.open, lambda p: ts.stored.open(p, "r+")):
        try:
            print("opened", path, call(path))
        except ts.Error as error:
            assert path in str(error), error
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and not run.stdout, run.stdout + run.stderr


MATRICES = {
    "triangular": lambda: ts.matrix.Triangular(np.triu(drawn((70, 70), "float64", 1))),
    "strict": lambda: ts.matrix.Triangular(np.triu(drawn((70, 70), "float32", 1), 1), strict=True),
    "lower": lambda: ts.matrix.Triangular(np.tril(drawn((70, 70), "float64", 1)), lower=True),
    "symmetric": lambda: ts.matrix.Symmetric((lambda a: a + a.T)(drawn((70, 70), "complex128", 1))),
    "antisymmetric": lambda: ts.matrix.AntiSymmetric((lambda a: a - a.T)(drawn((70, 70), "float64", 1))),
    "bits": lambda: ts.matrix.Bit(drawn((70, 130), "float64", 1) > 0),
    "triangular bits": lambda: ts.matrix.TriangularBit(np.triu(drawn((70, 70), "float64", 1) > 0, 1)),
    "one": lambda: ts.matrix.Symmetric([[2.0]]),
    "none": lambda: ts.matrix.Bit(np.zeros((0, 3), bool)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_keep_their_form(name, tmp_path):
    given = MATRICES[name]()
    m = ts.stored.matrix(given, path=tmp_path / "m.tiles")
    views = {"itself": m, "transposed": m.T, "conjugated": m.conj(), "scaled": m * 2}
    for view, x in views.items():
        saved = x.save(tmp_path / f"{view}.tiles")
        for again in (ts.stored.open(tmp_path / f"{view}.tiles"), ts.load(tmp_path / f"{view}.tiles")):
            assert type(again) is type(saved)  # bits times a number are an array
            assert again.shape == x.shape and again.dtype == x.dtype
            assert repr(again).split(", tiled")[0] == repr(saved).split(", tiled")[0]
            np.testing.assert_array_equal(again.numpy(), x.numpy())
    again = ts.stored.open(tmp_path / "m.tiles")
    assert again.form == type(given).__name__
    product = np.asarray(again.numpy(), m.dtype if m.dtype.kind in "fc" else "int64")
    np.testing.assert_allclose((again.T @ again).numpy(), product.T @ product, rtol=1e-4, atol=1e-4)
    assert ts.stored.matrix(again, again.form) is again
    with pytest.raises(ValueError, match="the matrix on disk is a .*, it cannot be taken for a Hankel"):
        ts.stored.matrix(again, "Hankel")


@pytest.mark.parametrize("name", MATRICES)
def test_numbers_of_a_form_are_written_as_they_lie(name, tmp_path):
    path = tmp_path / "m.tiles"
    m = ts.stored.matrix(MATRICES[name](), path=path)
    words = name in ("bits", "triangular bits", "none")
    for value, call in ((5, ts.stored.open), (7, ts.load)):
        numbers = call(path, "r+")
        assert type(numbers) is ts.stored.StoredArray
        assert numbers.dtype == ("uint64" if words else m.dtype) and numbers.shape[0] == m.shape[0]
        if m.shape[0] == 70:
            numbers[3, 0 if words else 8] = value << 8 if words else value
        del numbers
        again = call(path)
        assert type(again) is ts.stored.StoredMatrix and again.form == m.form and again.is_lower == m.is_lower
        if m.shape[0] == 70:
            whole = again.numpy().T if m.is_lower else again.numpy()
            assert whole[3, 8:11].tolist() == [True, value == 7, True] if words else whole[3, 8] == value


def test_products_of_matrices_keep_their_form(tmp_path):
    u = ts.stored.matrix(ts.matrix.Triangular(np.triu(drawn((50, 50), "float64", 1))))
    ts.stored.matmul(u, u, tmp_path / "p.tiles")
    again = ts.stored.open(tmp_path / "p.tiles")
    assert again.form == "Triangular"
    np.testing.assert_allclose(again.numpy(), u.numpy() @ u.numpy(), atol=1e-12)
    ts.stored.matmul(u, ts.stored.ones((50, 3)), tmp_path / "d.tiles")
    assert isinstance(ts.stored.open(tmp_path / "d.tiles"), ts.stored.StoredArray)


DTYPES = ["bool", "int8", "uint64", "float16", "float32", "complex128"]


def read_by_others(path):
    if path.endswith(".npy"):
        return {"": np.load(path)}
    if path.endswith(".npz"):
        return dict(np.load(path))
    if path.endswith(".zarr"):
        return {k: v.numpy() for k, v in ts.load(path).items()}
    h5py = pytest.importorskip("h5py")
    with h5py.File(path) as f:
        return {k: f[k][...] for k in f}


@pytest.mark.parametrize("ending", ["npy", "npz", "zarr", "h5", "hdf5"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_saving_arrays_on_disk(ending, dtype, tmp_path):
    path = str(tmp_path / f"x.{ending}")
    for shape in [(), (0,), (7,), (5, 8), (0, 3), (3, 4, 5)]:
        a = drawn(shape, dtype, 3)
        x = ts.stored.array(a)
        for kept, wanted in ((x, a), (ts.conj(x) if dtype == "complex128" else x, np.conj(a))):
            ts.save(path, kept if ending == "npy" else {"x": kept, "m": a})  # over the file before
            found = read_by_others(path)
            np.testing.assert_array_equal(found["" if ending == "npy" else "x"], wanted)
            assert found["" if ending == "npy" else "x"].dtype == dtype
            if ending != "npy":
                np.testing.assert_array_equal(found["m"], a)
    assert os.listdir(tmp_path) == [f"x.{ending}"]


WAYS = [
    ("npy", False),
    ("npz", False),
    ("npz", True),
    ("zarr", False),
    ("zarr", True),
    ("h5", False),
    ("tessera", False),
]


@pytest.mark.parametrize(("ending", "compressed"), WAYS)
def test_saving_takes_little_memory(ending, compressed, tmp_path):
    ts.stored.array(np.arange(6 * MIB, dtype="float64").reshape(3072, 2048), tmp_path / "a.tiles")  # 48 MiB
    x = ts.stored.open(tmp_path / "a.tiles") + 1
    path = str(tmp_path / f"x.{ending}")
    with host_memory(36 * MIB):
        held = ts.memory_stats("cpu")["in_use"]
        ts.reset_peak("cpu")
        ts.save(path, x if ending == "npy" else {"x": x}, compressed=compressed)
        assert ts.memory_stats("cpu")["peak"] - held < 36 * MIB
    whole = ts.load(path)
    whole = whole["x"] if isinstance(whole, dict) else whole
    assert whole[0, 0].item() == 1 and whole[3071, 2047].item() == 6 * MIB


def test_a_save_that_fails_leaves_the_old_file(tmp_path):
    x = ts.stored.ones(3)
    for ending in ("npy", "npz", "h5"):
        path = str(tmp_path / f"x.{ending}")
        ts.save(path, x if ending == "npy" else {"x": x})
        before = open(path, "rb").read()
        with pytest.raises((TypeError, ts.Error)):
            ts.save(path, object() if ending == "npy" else {"x": x, "y": object()})
        assert open(path, "rb").read() == before
    with pytest.raises(ValueError, match="a member of an HDF5 file cannot be called 'a/b'"):
        ts.save(tmp_path / "y.h5", {"a/b": x})
    with pytest.raises(ts.IoError, match="cannot write|cannot create"):
        ts.save(tmp_path / "nowhere" / "y.h5", x)


def test_loading_datasets(tmp_path):
    path = tmp_path / "x.h5"
    ts.save(path, ts.stored.ones((3, 4)))
    x = ts.load(path)
    assert isinstance(x, ts.stored.StoredArray) and x.sum().item() == 12 and "'data'" in repr(x)
    ts.save(path, {"a": np.ones(2), "g": {"b": {"c": np.zeros((2, 3))}}})
    with pytest.raises(ts.IoError, match=r"holds 2 datasets \(a, g/b/c\); say which"):
        ts.load(path)
    with pytest.raises(ts.IoError, match="has no dataset 'q'; there are a, g/b/c"):
        ts.load(path, name="q")
    with pytest.raises(ts.DTypeError, match="name is the text by which a dataset is called, got 3"):
        ts.load(path, name=3)
    y = ts.load(path, "r+", name="g/b/c")
    y[1, 1] = 5
    assert ts.stored.open(path, dataset="g/b/c").sum().item() == 5
    del y
    ts.save(path, {})
    with pytest.raises(ts.IoError, match="holds no dataset"):
        ts.load(path)


EMPTY = {
    "rows": lambda h5py: {"data": np.zeros((0, 3))},
    "growing": lambda h5py: {"shape": (0,), "maxshape": (None,), "dtype": "f4"},
    "packed": lambda h5py: {
        "shape": (0, 4),
        "maxshape": (None, 4),
        "chunks": (10, 2),
        "compression": "gzip",
        "dtype": "i2",
    },
    "no shape": lambda h5py: {"data": h5py.Empty("f8")},
}


@pytest.mark.parametrize("kind", EMPTY)
def test_empty_datasets(kind, tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("none", **EMPTY[kind](h5py))
    for mode in ("r", "r+"):
        x = ts.stored.open(path, mode)
        shape = tuple(x.shape)
        assert 0 in shape and repr(x).startswith(f"StoredArray(shape=({', '.join(map(str, shape))}")
        assert "HDF5 dataset 'none' of" in repr(x)
        assert x.numpy().shape == shape and x.sum().item() == 0 and (x + 1).compute().shape == shape
        if mode == "r+":
            x[...] = 1
        del x
