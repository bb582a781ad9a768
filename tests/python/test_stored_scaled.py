# SPDX-License-Identifier: Apache-2.0
"""Matrices on disk times numbers: views that move nothing, whatever is done with them, against those in memory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support import host_memory
from test_stored_forms import HALVES, PAIRS, PLAIN, assert_product, class_of, elements, in_memory, is_bits, on_disk

import tessera as ts
from tessera.matrix import TriangularBit

FACTORS = [2, -1, 0.5, 1.0, 3j]


def assert_same(got, wanted, k=1):
    form = wanted.copy().form  # scaled bits are numbers on disk
    assert class_of(got) == ("Dense" if form in ("Diagonal", "Identity") else form)
    assert_product(got.numpy(), wanted.numpy(), k)


@pytest.mark.parametrize("form", [*HALVES, "Bit"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int32", "float16"])
def test_views(form, dtype):
    n = 70
    x = elements(form, (n, n), dtype, 1)
    a, m = on_disk(form, x), in_memory(form, x)
    for by in FACTORS:
        before = ts.memory_tiers()["disk"]["in_use"]
        pairs = [(by * a, by * m), (a.T * by, m.T * by), (a / by, m / by), (4 * (by * a), 4 * (by * m))]
        assert ts.memory_tiers()["disk"]["in_use"] == before  # no copy
        pairs.append((-(by * a), -(by * m)))
        for k, (got, wanted) in enumerate(pairs):
            assert class_of(got) == wanted.form or (k == 2 and is_bits(form))  # bits stay bits under a quotient as well
            assert got.dtype == wanted.dtype and got.shape == wanted.shape
            assert_product(got.numpy(), wanted.numpy(), 1)
            if class_of(got) != "Dense":
                assert_product(got.H.numpy(), wanted.H.numpy(), 1)
            assert_product(got[3:9, ::2].numpy(), wanted.numpy()[3:9, ::2], 1)
            for axis in (0, 1):
                assert_product(got.sum(axis=axis).numpy(), wanted.sum(axis=axis).numpy(), n)
        assert_same(ts.stored.matrix(by * a), (by * m).copy())
    assert "times 2" in repr(2 * a) and "times" not in repr(a)
    np.testing.assert_array_equal(a.numpy(), x)


@pytest.mark.filterwarnings("ignore::tessera.PrecisionWarning")
@pytest.mark.parametrize("left, right", PAIRS)
def test_products(left, right):
    n, seed = 40, 0
    factors = [(2, 1), (1, -3), (0.5, 2), (3j, 0.25), (1.0, 1)]
    for t, (p, q) in itertools.product(["float64", "int32", "complex64"], factors):
        seed += 1
        x, y = elements(left, (n, n), t, seed), elements(right, (n, n), t, seed + 1)
        if is_bits(left) and is_bits(right) and t != "float64":
            continue
        a, b = on_disk(left, x), on_disk(right, y)
        m, k = in_memory(left, x), in_memory(right, y)
        p = 1 if left in PLAIN else p
        q = 1 if right in PLAIN else q
        got = (a if left in PLAIN else p * a) @ (b if right in PLAIN else q * b)
        assert_same(got, (p * m) @ (q * k), n)


@pytest.mark.parametrize("form", [*HALVES, "Bit"])
def test_vectors(form):
    n = 600
    x = elements(form, (n, n), "float64", 3)
    a, v = on_disk(form, x), np.random.default_rng(4).standard_normal((n, 3))
    for budget, by in itertools.product((6 << 20, 40 << 20), (2, 0.5, 1j)):
        with host_memory(budget):
            ts.reset_peak("cpu")
            got = (by * a) @ v
            assert ts.memory_stats("cpu")["peak"] <= ts.memory_stats("cpu")["budget"]
        np.testing.assert_allclose(got.numpy(), by * (x @ v), atol=1e-10)
        np.testing.assert_allclose((v[:, 0] @ (a * by)).numpy(), by * (v[:, 0] @ x), atol=1e-10)


def test_sums_are_one_pass():
    n = 90
    x, y = elements("Triangular", (n, n), "float64", 1), elements("Symmetric", (n, n), "float64", 2)
    strict = np.triu(x, 1)
    a, b = on_disk("Triangular", x), on_disk("Symmetric", y)
    c = ts.stored.matrix(ts.matrix.Triangular(strict, strict=True))
    for got, form, wanted in (
        (2 * a + 3 * b, "Dense", 2 * x + 3 * y),
        (2 * a - a, "Triangular", 2 * x - x),
        (1j * c - 1j * c.T, "AntiSymmetric", 1j * (strict - strict.T)),
        (2 * c - 3 * c.T, "Dense", 2 * strict - 3 * strict.T),
        (1j * (c - c.T), "AntiSymmetric", 1j * (strict - strict.T)),
    ):
        assert class_of(got) == form
        np.testing.assert_allclose(got.numpy(), wanted, atol=1e-13)
    assert ts.stored.plan(lambda: 2 * a + 3 * b).passes == 1


def test_factors_that_no_view_can_say():
    x = elements("Triangular", (9, 9), "float64", 1)
    x[0, 3] = np.inf
    a, m = on_disk("Triangular", x), in_memory("Triangular", x)
    for got, wanted in (
        (0 * a, 0 * m),
        (a * np.inf, m * np.inf),
        (a / np.inf, m / np.inf),
        (np.nan * a, np.nan * m),
        (0 * on_disk("Bit", x > 0), 0 * in_memory("Bit", x > 0)),
    ):
        assert class_of(got) == wanted.copy().form and got.dtype == wanted.dtype
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())
    bits = on_disk("TriangularBit", np.triu(np.ones((5, 5)), 1))
    assert (2 * bits).dtype == "int64" and (2 * bits).sum() == 20 and ((2 * bits) @ (3 * bits)).sum() == 60
    big = ts.stored.matrix(ts.matrix.Symmetric(np.full((4, 4), 100, "int8")))
    with pytest.raises(OverflowError):
        (2 * big).numpy()
    with pytest.raises(TypeError):
        ~(2 * bits)


def test_the_chain_of_a_causal_set():
    """The commutator iΔ = i (K_R - K_R^T), K_R = -K / b, and its spectrum, without leaving the disk."""
    n, density, mass = 300, 300.0, 2.0
    links = np.triu(np.random.default_rng(7).random((n, n)) < 0.2, 1)
    a, b = 0.5, -(mass**2) / density
    stored, memory = ts.stored.matrix(TriangularBit(links)), TriangularBit(links)
    results = []
    for c in (stored, memory):
        retarded = (-1 / b) * ts.matrix.compute_k(c, -1 / (a * b))
        commutator = 1j * (retarded - retarded.T)
        assert commutator.form == "AntiSymmetric" and commutator.dtype == "complex128"
        results.append(commutator.numpy())
    got, wanted = results
    np.testing.assert_allclose(got, wanted, atol=1e-10 * abs(wanted).max())
    np.testing.assert_array_equal(got, got.conj().T)
