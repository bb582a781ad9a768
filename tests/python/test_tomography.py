# SPDX-License-Identifier: Apache-2.0
"""Filtered backprojection, iterations and total variation of tomographs; spreading along travel times."""

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im

N = 48
TURNS = np.linspace(0, np.pi, 100, endpoint=False)
OBJECT = im.Phantom([1.0, -0.4], [[0.1, 0.0], [0.2, 0.1]], [[0.6, 0.5], [0.2, 0.15]], [0.2, 0.0])
TOMOGRAPHS = {
    "parallel": lambda: ts.ParallelBeam(TURNS, (N, N), 71),
    "whole turn": lambda: ts.ParallelBeam(2 * TURNS, (N, N), 71),
    "voxels": lambda: ts.ParallelBeam(TURNS, (N, N), 120, pitch=0.9, voxel=(1.0, 1.4), offset=0.2),
    "fan": lambda: ts.FanBeam(2 * TURNS, (N, N), 100, 80.0, 40.0, pitch=1.4),
    "moved": lambda: ts.FanBeam(2 * TURNS, (N, N), 100, 80.0, 40.0, pitch=1.4, offset=0.35),
    "arc": lambda: ts.FanBeam(2 * TURNS, (N, N), 100, 80.0, 40.0, pitch=1.4, arc=True),
}


@pytest.mark.parametrize("name", TOMOGRAPHS)
def test_filtered_backprojection(name):
    """In numbers, not up to a factor: inside of the object, and all over with smooth edges."""
    A, truth = TOMOGRAPHS[name](), OBJECT.image((N, N))
    data = A(truth)
    for window, bound in (("ramp", 0.1), ("shepp-logan", 0.1), ("cosine", 0.15), ("hamming", 0.15), ("hann", 0.15)):
        found = im.fdk(data, A, window=window)
        assert im.nrmse(found.image, truth) < bound
        assert abs(found.image.numpy()[17:21, 20:24].mean() - 1) < 0.01
        assert found.operator is A and len(found.history) == 0


@pytest.mark.parametrize("arc", [False, True])
def test_cone(arc):
    ball = im.Phantom([1.0], [[0.0, 0.1, 0.0]], [[0.5, 0.6, 0.5]], [0.2])
    n = 24
    truth = ball.image((n, n, n))
    A = ts.ConeBeam(2 * TURNS[::2], (n, n, n), (48, 54), 80.0, 40.0, pitch=(1.3, 1.2), arc=arc)
    image = im.fdk(A(truth), A).image.numpy()
    assert im.nrmse(image, truth) < 0.15 and abs(image[12, 12, 10:14].mean() - 1) < 0.01


def test_views_that_are_not_even_and_batches():
    A = ts.ParallelBeam(np.arange(150) * 1.941611, (N, N), 71, batch_shape=("C",))
    truth = np.stack([OBJECT.image((N, N)), 2 * OBJECT.image((N, N))])
    found = im.fdk(A(truth.astype("float32")), A).image
    assert im.nrmse(found, truth) < 0.1


def test_iterations():
    A, truth = ts.ParallelBeam(TURNS[::4], (N, N), 71), OBJECT.image((N, N))
    data = A(truth)
    slow, fast = im.sirt(data, A, maxiter=10), im.os_sart(data, A, subsets=5, maxiter=10)
    for found in (slow, fast):
        assert len(found.history) == 11 and found.result.iterations == 10 and found.history[0] == 1
        assert all(b < a for a, b in zip(found.history, found.history[1:], strict=False))
    assert fast.history[-1] < slow.history[-1]
    positive = im.os_sart(data, A, subsets=5, maxiter=3, nonnegative=True, x0=slow.image).image.numpy()
    assert positive.min() >= 0
    own = im.sirt(np.ones(3), ts.Dense(np.eye(3) + 0.5, ("M", "N"), ("N",), ("M",)), maxiter=200)
    assert np.allclose(own.image, np.linalg.solve(np.eye(3) + 0.5, np.ones(3)))


def test_total_variation_from_few_views():
    A = ts.ParallelBeam(TURNS[::6], (N, N), 71, batch_shape=())
    truth = OBJECT.image((N, N))
    noise = np.random.default_rng(0).standard_normal((17, 71)) * 0.1
    data = A(truth).numpy() + noise
    found = im.tv_ct(data, A, lamda=0.3, maxiter=60)
    assert im.nrmse(found.image, truth) < 0.6 * im.nrmse(im.fdk(data, A).image, truth)
    assert len(found.history) > 1


def test_refusals():
    A = ts.ParallelBeam(TURNS[:5], (8, 8), 11)
    helix = ts.ConeBeam(TURNS[:5], (4, 8, 8), (4, 8), 40.0, 20.0, heights=np.arange(5.0))
    fan = ts.FanBeam(np.linspace(0, np.pi, 60), (8, 8), 11, 40.0, 20.0)
    quarter = ts.ParallelBeam(np.linspace(0, np.pi / 2, 60), (8, 8), 11)
    for wrong, says in (
        (lambda: im.fbp_operator(fan), "no view in 180 degrees of a whole turn"),
        (lambda: im.fbp_operator(quarter), "no view in 90 degrees of half a turn"),
        (lambda: im.fdk(np.ones((5, 10)), A), "data of shape"),
        (lambda: im.fdk(np.full((5, 11), np.nan), A), "not finite"),
        (lambda: im.fbp_operator(ts.ParallelBeam(TURNS, (8, 8), 11), window="other"), "window"),
        (lambda: im.fbp_operator(ts.Identity(("N",))), "expected a RayTransform"),
        (lambda: im.fbp_operator(helix), "several heights"),
        (lambda: im.os_sart(np.ones((5, 11)), A, subsets=6), "6 subsets"),
        (lambda: im.sirt(np.ones((5, 11)), A, relax=2.0), "relax"),
        (lambda: im.sirt(np.ones((5, 11)), A, maxiter=-1), "maxiter"),
        (lambda: im.tv_ct(np.ones((5, 11)), A, lamda=1.0), "batch_shape"),
        (lambda: im.ramp_filter(0, 1.0), "cells"),
        (lambda: im.spread(np.ones(3), 4), "table"),
        (lambda: im.spread(np.ones((3, 2)), 0), "samples"),
        (lambda: im.spread(np.ones((3, 2)), 4, weights=np.ones(2)), "weights of shape"),
    ):
        with pytest.raises((ts.ArgumentError, ts.DTypeError), match=says):
            wrong()


@pytest.mark.parametrize("interpolate", [True, False])
def test_spread_beside_loops(interpolate):
    rng = np.random.default_rng(1)
    table = rng.uniform(-3, 9, (3, 4, 5))
    table[0, 0, 0] = np.nan
    weights = rng.standard_normal(table.shape)
    x, samples = rng.standard_normal((2, 3, 4)), 6
    expected = np.zeros((2, 5, samples))
    for i, j, k in np.ndindex(table.shape):
        t = table[i, j, k]
        if not np.isfinite(t):
            continue
        low = int(np.floor(t if interpolate else t + 0.5))
        share = t - low if interpolate else 0.0
        for at, part in ((low, 1 - share), (low + 1, share)):
            if 0 <= at < samples:
                expected[:, k, at] += part * weights[i, j, k] * x[:, i, j]
    A = im.spread(table, samples, weights=weights, interpolate=interpolate, image_shape=("Z", "X"))
    assert np.allclose(A(x), expected)
    y = rng.standard_normal(expected.shape)
    assert np.isclose(np.vdot(y, A(x)), np.vdot(A.H(y), x))
