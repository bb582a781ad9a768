# SPDX-License-Identifier: Apache-2.0
"""Drawn at random: arrays in every kind of file, conversions, numbers that are written, small budgets; bit for bit what
arrays in memory give."""

import contextlib

import numpy as np
import pytest
from support import ALL, draw_numbers, host_memory

import tessera as ts


def in_a_file(rng, x, folder):
    """Tiles, .npy by rows or columns or of the other byte order, HDF5 plain, in chunks, packed or shuffled."""
    kinds = ["tiles", "rows", "columns", "swapped"]
    with contextlib.suppress(ImportError):
        import h5py

        kinds += ["plain", "chunks", "packed"] * (x.dtype != bool)
    kind = kinds[rng.integers(0, len(kinds))]
    path = str(folder / f"x{rng.integers(0, 2**60)}")
    if kind == "tiles":
        return ts.stored.array(x)
    if kind in ("rows", "columns", "swapped"):
        y = np.asarray(x, order="F" if kind == "columns" else "C")
        np.save(path + ".npy", y.astype(y.dtype.newbyteorder()) if kind == "swapped" else y)
        return ts.stored.open(path + ".npy", "r+")
    with h5py.File(path, "w") as file:
        if kind == "plain" or x.size == 0 or x.ndim == 0:
            file["x"] = x
        else:
            chunks = tuple(int(rng.integers(1, n + 1)) for n in x.shape)
            file.create_dataset(
                "x", data=x, chunks=chunks, compression="gzip" if kind == "packed" else None, shuffle=True
            )
    return ts.stored.open(path, "r+")


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", ALL)
def test_conversions_are_those_of_memory(dtype, tmp_path):
    """To every dtype, whatever is lost: of files, and within formulas."""
    rng = np.random.default_rng(ALL.index(dtype))
    x = draw_numbers(rng, (37, 53), dtype)
    a, s = ts.asarray(x), in_a_file(rng, x, tmp_path)
    for to in ALL:
        if x.dtype.kind in "fc" and np.dtype(to).kind == "u":
            continue  # negative ones have no such number
        wanted = a.astype(to)
        assert same_bits(s.astype(to)[...], wanted) and same_bits(s.astype(to).compute(), wanted), to
        assert same_bits(s.astype(to)[5:9].T, wanted[5:9].T), to
        assert same_bits((s.astype(to) == 1).compute(), wanted == 1), to


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_numbers_that_do_not_fit_are_not_written(dtype, tmp_path):
    rng = np.random.default_rng(1)
    x = draw_numbers(rng, (6, 5), dtype)
    s, most = in_a_file(rng, x, tmp_path), np.iinfo(dtype).max
    for key in (..., 0, (slice(None, None, 2), 1), (None, slice(2, 4))):
        for value in (most + 1, -most - 2):
            with pytest.raises(OverflowError):
                s[key] = value
        assert same_bits(s, x)
        s[key] = x[key] = most
        assert same_bits(s, x)


@pytest.mark.parametrize("seed", range(12))
def test_files_of_others_within_small_budgets(seed, tmp_path):
    """What stands between a file and the arrays of a call is no part of its budget, and no reason to refuse it."""
    rng = np.random.default_rng(seed)
    x = draw_numbers(
        rng, (int(rng.integers(200, 400)), int(rng.integers(200, 400))), ["complex128", "float64"][seed % 2]
    )
    s = in_a_file(rng, x, tmp_path)
    copy = ts.stored.array(x)
    with host_memory(700_000):
        turned, sorted_columns = s.transpose(), ts.sort(s, axis=0)
        job = copy.transpose(path=tmp_path / "job")
        few = (s * 2 + s)[3:7]
    assert same_bits(turned, x.T) and same_bits(job, x.T)
    assert same_bits(sorted_columns, ts.sort(ts.asarray(x), axis=0))
    assert same_bits(few, ts.asarray(x)[3:7] * 2 + ts.asarray(x)[3:7])
