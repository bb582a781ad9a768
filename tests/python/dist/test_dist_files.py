# SPDX-License-Identifier: Apache-2.0
"""Files written and read by all ranks: the bytes that NumPy and h5py know, every split, hyperslabs, refusals."""

import numpy as np
import pytest
from checks import outcome, settle
from layouts import WORLD, check, distribute, uneven

import tessera as ts

ARRAYS = {
    "line": np.arange(37.0),
    "grid": (np.arange(7 * 6 * 5).reshape(7, 6, 5) * 3 % 101).astype("int16"),
    "complex": (np.arange(12) + 2j).astype("complex64").reshape(4, 3),
    "nothing": np.zeros((0, 3)),
    "number": np.array(4.5),
}


def splits(array):
    return [None, *range(array.ndim)]


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("ending", ["npy", "h5"])
def test_saved_and_loaded(name, ending, folder, slate):
    array = ARRAYS[name]
    for split in splits(array):
        x = distribute(array, split, None if split is None else uneven(array.shape[split], WORLD.size))
        path = str(folder / f"{split}.{ending}")
        done = outcome(lambda path=path, x=x: ts.dist.save(path, x))
        settle(slate, None, done[0])
        if ending == "h5" and done[0] == "error" and issubclass(done[1], ts.NotAvailable):
            pytest.skip("built without HDF5")
        assert done[0] == "value", done
        if ending == "npy":
            assert np.array_equal(np.load(path), array) and np.load(path).dtype == array.dtype
        for to in splits(array):
            check(ts.dist.load(path, split=to), array, to)


def test_what_one_rank_owns(folder):
    """An element and a row, which nobody has read before."""
    x = distribute(np.arange(12.0).reshape(6, 2), 0)
    ts.dist.save(str(folder / "element.npy"), x[3, 1])
    ts.dist.save(str(folder / "row.npy"), x[5])
    WORLD.barrier()
    assert np.load(folder / "element.npy") == 7.0 and np.load(folder / "row.npy").tolist() == [10.0, 11.0]


def test_hyperslabs(folder):
    array = ARRAYS["grid"]
    path = str(folder / "x.npy")
    ts.dist.save(path, distribute(array, 1))
    for slices in ((slice(2, 6),), (slice(None), slice(1, 5, 2)), (slice(6, 1, -2), slice(None), slice(0, 0))):
        for split in (None, 0, 1, 2):
            check(ts.dist.load(path, split=split, slices=slices), array[slices], split)


def test_what_numpy_wrote(folder, slate):
    path = str(folder / "x.npy")
    if WORLD.rank == 0:
        np.save(path, np.asfortranarray(ARRAYS["grid"]))
    slate.everybody(None)
    for split in (None, 0, 1, 2):
        check(ts.dist.load(path, split=split), ARRAYS["grid"], split)


def test_refusals_are_everybodys(folder, slate):
    x = distribute(np.arange(4.0), 0)
    (folder / "short.npy").write_bytes(b"\x93NUMPY") if WORLD.rank == 0 else None
    slate.everybody(None)
    for act in (
        lambda: ts.dist.load(str(folder / "missing.npy"), split=0),
        lambda: ts.dist.load(str(folder / "short.npy"), split=0),
        lambda: ts.dist.save(str(folder / "no" / "such" / "folder.npy"), x),
        lambda: ts.dist.save(str(folder / "x.unknown"), x),
    ):
        got = outcome(act)
        settle(slate, None, (got[0], got[1].__name__ if got[0] == "error" else "", got[2:]))
        assert got[0] == "error" and issubclass(got[1], (OSError, ValueError)), got
    check(x + 1, np.arange(4.0) + 1, 0)
