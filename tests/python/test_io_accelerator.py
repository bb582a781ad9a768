# SPDX-License-Identifier: Apache-2.0
"""Prefetching, discarding and hints for arrays on disk, seen by the pages that the system holds and the bytes read."""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

import tessera as ts

ROWS, COLUMNS = 2048, 1024  # 16 MiB
TILE = 1 << 20  # of a budget of 16 MiB: 128 rows at most


@pytest.fixture
def rows(tmp_path):
    """Numbers in a file of many tiles, and nothing of it in memory."""
    path = str(tmp_path / "rows.tiles")
    with ts.memory_budget(host=ts.memory_stats()["in_use"] + (16 << 20)):
        x = ts.stored.create((ROWS, COLUMNS), "float64", path)
    for i in range(0, ROWS, 256):
        x[i : i + 256] = np.arange(i, i + 256.0)[:, None]
    io = ts.IOAccelerator(x)
    io.flush()
    io.discard()
    return x


def keeps_pages(x):
    return ts.IOAccelerator(x).resident() > 0


def bytes_read():
    try:
        lines = Path("/proc/self/io").read_text().split()
    except OSError:
        return None
    return int(lines[lines.index("read_bytes:") + 1])


def becomes(condition, seconds=10):
    """What is read ahead arrives some time later."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def settled(io):
    """All that is being read ahead has come."""

    def unchanged():
        before = io.resident()
        time.sleep(0.1)
        return io.resident() == before

    return becomes(unchanged)


def drops(io, *key):
    """Pages that are still being read are not dropped."""
    assert settled(io)
    io.discard(*key)
    return io.resident(*key) == 0


def test_prefetch_and_discard_are_seen_by_the_system(rows):
    io = ts.IOAccelerator(rows)
    if keeps_pages(rows):
        pytest.skip("this file system keeps its pages in memory")
    ts.debug.clear_io_trace()
    before = bytes_read()
    io.prefetch(0, 512)
    assert ts.debug.last_io_trace() == "io.prefetch"
    assert becomes(lambda: io.resident(0, 512) >= 512 * COLUMNS * 8)
    assert io.resident() < rows.nbytes / 2
    fetched = bytes_read()
    if fetched is not None and fetched > before:
        assert 512 * COLUMNS * 8 <= fetched - before < rows.nbytes / 2
        assert np.array_equal(rows[:512, 3], np.arange(512.0))  # from memory
        assert bytes_read() - fetched < TILE
        assert rows[1500, 3].item() == 1500
        assert bytes_read() > fetched
    assert drops(io, 0, 512)
    assert ts.debug.last_io_trace() == "io.discard"


def test_hints_leave_no_kernel(rows):
    y = ts.ones(3) + 1
    kernel = ts.debug.last_kernel_trace()
    io = ts.IOAccelerator(rows)
    io.hint("sequential")
    io.prefetch()
    io.discard()
    assert ts.debug.last_kernel_trace() == kernel and y.tolist() == [2, 2, 2]


@pytest.mark.parametrize("pattern", ["normal", "sequential", "strided", "reverse", "random", "once"])
def test_hints_change_no_number(rows, pattern, rng):
    io = ts.IOAccelerator(rows)
    io.hint(pattern)
    expected = np.repeat(np.arange(float(ROWS))[:, None], COLUMNS, 1)
    for key in [np.s_[:], np.s_[::-1, 5], np.s_[100:900:7, ::3], *(np.s_[i] for i in rng.integers(0, ROWS, 20))]:
        assert np.array_equal(rows[key], expected[key])
    rows[300:700] = -1
    expected[300:700] = -1
    io.discard(300, 400)
    assert np.array_equal(rows[:], expected)
    assert rows.sum().item() == expected.sum()


@pytest.mark.parametrize("pattern, first", [("sequential", 0), ("reverse", ROWS - 1)])
def test_orders_read_ahead(rows, pattern, first):
    if keeps_pages(rows):
        pytest.skip("this file system keeps its pages in memory")
    io = ts.IOAccelerator(rows)
    rows[first]
    assert io.resident() < TILE / 4  # a row is short, and goes through pages of its own
    io.hint(pattern)
    rows[first]
    assert becomes(lambda: io.resident() > TILE * 3 / 4)
    io.hint("random")
    assert drops(io)
    rows[first]
    time.sleep(0.1)
    assert io.resident() < TILE / 4


def test_keys_are_those_of_the_array(rows):
    io = ts.IOAccelerator(rows)
    for key in (..., 5, -1, np.s_[3:9], np.s_[:, 7], np.s_[5, ::2], np.s_[0:0]):
        io.prefetch(key)
        io.discard(key)
        assert io.resident(key) % os.sysconf("SC_PAGESIZE") == 0
    io.prefetch(0, 10**9)  # beyond the end: what there is
    io.prefetch(ROWS + 5, ROWS + 10)
    with pytest.raises(ts.IndexError, match="out of bounds"):
        io.prefetch(ROWS)
    with pytest.raises(ts.IndexError):
        io.discard([1, 2])
    with pytest.raises(ts.ArgumentError, match="sequential"):
        io.hint("often")
    with pytest.raises(TypeError, match="IOAccelerator: expected an array of ts.stored, got Array"):
        ts.IOAccelerator(ts.ones(3))
    assert "rows.tiles" in repr(io)


def test_formulas_mean_their_sources(rows):
    if keeps_pages(rows):
        pytest.skip("this file system keeps its pages in memory")
    formula = ts.sqrt(rows) * 2 + rows[0]
    io = ts.IOAccelerator(formula)
    io.prefetch(0, 100)
    assert becomes(lambda: ts.IOAccelerator(rows).resident(0, 100) >= 100 * COLUMNS * 8)
    assert drops(io) and formula.is_formula


def test_traced_as_io(rows, tmp_path):
    path = tmp_path / "io.json"
    with ts.trace(path):
        io = ts.IOAccelerator(rows)
        io.prefetch(0, 10)
        io.discard()
    events = json.loads(path.read_text())
    names = {e.get("name") for e in (events["traceEvents"] if isinstance(events, dict) else events)}
    assert {"io.prefetch", "io.discard"} <= names
