# SPDX-License-Identifier: Apache-2.0
"""Propagators of causal sets on disk, against those in memory: forms, halves, budgets, jobs and bytes."""

from __future__ import annotations

import os

import numpy as np
import pytest
from support import drawn, host_memory

import tessera as ts
from tessera.matrix import Triangular, TriangularBit, compute_k


def relations(n, p=0.3, seed=1):
    return np.triu(np.random.default_rng(seed).random((n, n)) < p, 1)


@pytest.mark.parametrize("n", [0, 1, 2, 65, 700])
@pytest.mark.parametrize("form", ["bits", "lower bits", "numbers", "lower numbers"])
def test_equals_that_in_memory(n, form):
    c = relations(n)
    m = TriangularBit(c) if "bits" in form else Triangular(c * drawn((n, n), "float32", 2), strict=True)
    m = m.T if "lower" in form else m
    stored, wanted = ts.stored.matrix(m), compute_k(m, 40.0)
    got = compute_k(stored, 40.0)
    assert got.form == "Triangular" and got.is_lower == ("lower" in form) and got.dtype == "float64"
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(stored.numpy(), m.numpy())


@pytest.mark.parametrize("budget", [14 << 20, 30 << 20, 80 << 20])
def test_within_budgets(budget):
    n = 1600
    c = relations(n, 0.1)
    wanted = compute_k(c, -90.0).numpy()
    stored = ts.stored.matrix(TriangularBit(c))
    with host_memory(budget):
        text = ts.stored.explain(compute_k, stored, -90.0)
        assert ("read back" in text) == (budget == 14 << 20)
        ts.reset_peak("cpu")
        got = compute_k(stored, -90.0)
        assert ts.memory_stats("cpu")["peak"] <= ts.memory_stats("cpu")["budget"]
    np.testing.assert_allclose(got.numpy(), wanted, rtol=0, atol=1e-13 * abs(wanted).max())


def test_what_memory_has_no_room_for_is_made_on_disk(tmp_path):
    n = 2000
    c = TriangularBit(relations(n, 0.05))
    wanted = compute_k(c, 30.0)
    with host_memory(24 << 20):
        with pytest.raises(ts.OutOfMemory, match="set_backing_dir"):
            compute_k(c, 30.0)
        ts.set_backing_dir(str(tmp_path))
        try:
            got = compute_k(c, 30.0)
        finally:
            ts.set_backing_dir(None)
    assert isinstance(got, ts.stored.StoredMatrix)
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=0, atol=1e-12)


def test_is_a_job(tmp_path):
    c = relations(900)
    got = compute_k(TriangularBit(c), 50.0, tmp_path / "k.tiles")
    assert os.listdir(tmp_path) == ["k.tiles"]
    np.testing.assert_allclose(got.numpy(), compute_k(c, 50.0).numpy(), rtol=0, atol=1e-14)
    with pytest.raises(OSError, match="File exists"):
        compute_k(TriangularBit(c), 50.0, tmp_path / "k.tiles")


def disk_bytes(which):
    lines = open("/proc/self/io").read().split()
    return int(lines[lines.index(which + ":") + 1])


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="reads are not counted here")
@pytest.mark.parametrize("budget", [15 << 20, 20 << 20])
def test_moves_the_bytes_that_explain_says(budget):
    n = 2300
    stored = ts.stored.matrix(TriangularBit(relations(n)))
    before = disk_bytes("read_bytes")
    stored.sum()
    if disk_bytes("read_bytes") - before < n * n // 16:
        pytest.skip("what is read past the page cache is not counted here")
    with host_memory(budget):
        plan = ts.stored.plan(compute_k, stored, 50.0)
        assert plan.passes == 1 and n * n * 4 < plan.disk_written < 0.75 * n * n * 8
        assert plan.host_peak <= budget
        before = disk_bytes("read_bytes"), disk_bytes("write_bytes")
        k = compute_k(stored, 50.0)
        read, written = disk_bytes("read_bytes") - before[0], disk_bytes("write_bytes") - before[1]
    assert abs(read - plan.disk_read) <= 0.02 * plan.disk_read + 65536
    assert abs(written - plan.disk_written) <= 0.02 * plan.disk_written + 65536
    assert k.shape == (n, n)


def test_refusals():
    full = ts.stored.matrix(Triangular(np.eye(3)))
    for c, a, error, text in (
        (full, 1.0, ValueError, "strictly triangular"),
        (ts.stored.matrix(ts.stored.zeros((3, 3)), "Symmetric"), 1.0, ValueError, "strictly triangular"),
        (ts.stored.matrix(TriangularBit(relations(3))), 0.0, ValueError, "a is 0"),
        (ts.stored.matrix(TriangularBit(relations(3))), np.inf, ValueError, "finite"),
    ):
        with pytest.raises(error, match=text):
            compute_k(c, a)
