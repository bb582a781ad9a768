# SPDX-License-Identifier: Apache-2.0
"""Copies of operators, what they hold, and what moving them keeps."""

import copy

import numpy as np

import tessera as ts


def dense(w):
    """An operator that shares the memory of its weight."""
    return ts.Dense(w, ("M", "N"), ("N",), ("M",), copy=False)


def test_copy_shares_its_arrays_and_caches_nothing():
    # Acceptance case 32.
    w = np.arange(6.0).reshape(2, 3)
    a = dense(ts.asarray(w))
    h = a.H
    b = copy.copy(a)
    assert b is not a
    assert b.H is not h
    assert b.ishape == a.ishape
    w[0, 0] = 10
    x = np.array([1.0, 0, 0])
    assert np.asarray(b(x))[0] == 10


def test_deepcopy_is_independent():
    # Acceptance case 132: plain, transposed and conjugated views of one weight.
    w = np.arange(6.0).reshape(2, 3) + 1j
    shared = ts.asarray(w)
    a = dense(shared)
    t = ts.Dense(shared.T, ("N", "M"), ("N",), ("M",), copy=False)
    both = a.H @ ts.Diagonal([1.0, 2.0], ("M",)) @ a + a.H @ t
    x = np.array([1.0, 2j, 3.0])
    before = np.asarray(both(x)).copy()
    twin = copy.deepcopy(both)
    assert np.array_equal(np.asarray(twin(x)), before)
    assert twin.memory() == both.memory() == {"cpu": 2 * 3 * 16 + 2 * 8}
    w[:] = 0
    assert np.array_equal(np.asarray(copy.copy(twin)(x)), before)
    assert np.all(np.asarray(copy.copy(both)(x)) == 0)


def test_deepcopy_of_operators_without_arrays():
    f = ts.FFT(1)
    g = copy.deepcopy(f)
    assert g is not f
    assert copy.deepcopy([f, f])[0] is not f
    s = ts.SimpleLinop(lambda x: x * 2, lambda x: x * 2)
    assert np.asarray(copy.deepcopy(s)(np.ones(2))).tolist() == [2.0, 2.0]


def test_moving_keeps_sharing():
    # Acceptance case 131.
    w = ts.ones((4, 6), "float32")
    both = ts.Stack(dense(w), dense(w[:, :]), odim_and_idx=("S", 0)).to("sim:0")
    assert both.memory() == {"sim:0": 4 * 6 * 4}
    halves = ts.Concat(dense(w[:2]), dense(w[2:]), odim="M").to("sim:0")
    assert halves.memory() == {"sim:0": 4 * 6 * 4}
    column = dense(w).split({"N": slice(2, 4)}).to("sim:0")
    assert column.memory() == {"sim:0": 4 * 2 * 4}
    assert np.asarray(halves(ts.ones(6, "float32", "sim:0")).to("cpu")).tolist() == [6.0] * 4


def test_memory_report_counts_shared_memory_once():
    # Acceptance case 134.
    assert ts.Diagonal(ts.ones((3, 4), "float32")).memory() == {"cpu": 48}
    assert ts.Diagonal(ts.ones((3, 4), "complex64")).memory() == {"cpu": 96}
    assert ts.memory_report(ts.Diagonal(ts.ones(512, "float32"))) == "cpu: 2.00 KiB in 1 array"
    assert ts.memory_report(ts.FFT(1)) == "no arrays"
    w = ts.ones((3, 4), "float32")
    a = ts.Add(ts.Diagonal(w, ("X", "Y"), copy=False), ts.Diagonal(w[1:2], ("X", "Y"), copy=False))
    assert a.memory() == {"cpu": 48}
    assert a.nbytes == 48
    assert ts.Add(ts.Diagonal(w, ("X", "Y")), ts.Diagonal(w[1:2], ("X", "Y"))).nbytes == 48 + 16


def test_tiles_on_one_device_are_one_product():
    w = np.random.default_rng(0).normal(size=(8, 6))
    a = dense(w)
    tiles = [a.split({"M": slice(i, i + 2)}) for i in range(0, 8, 2)]
    b = ts.Concat(*tiles, odim="M")
    text = b.explain(np.ones(6))
    assert "4 tiles of Dense joined" in text
    with ts.config.using(rewrite_tiles=False):
        assert "joined" not in copy.copy(b).explain(np.ones(6))
    assert np.allclose(np.asarray(b(np.ones(6))), w.sum(axis=1))
