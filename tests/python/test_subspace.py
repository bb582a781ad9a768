# SPDX-License-Identifier: Apache-2.0
"""Subspaces: images over time as few coefficients, beside frames one by one, on a grid and along trajectories."""

import numpy as np
import pytest
from encoding_laws import SHAPE, adjoint_and_cuts, band_limited, exact

import tessera as ts
from tessera import imaging as im


def decaying(times=8, seed=0):
    """Three discs that decay at their own pace: exact k-space (times, coils, *shape), masks and a basis."""
    paces = np.array([3.0, 6.0, 12.0])
    discs = [im.Phantom([1.0], [[y, x]], [[0.3, 0.25]], [0.2]) for y, x in ((-0.4, 0.3), (0.4, 0.4), (0.0, -0.4))]
    courses = np.exp(-np.arange(times)[:, None] / paces)
    coils = im.Coils(6)
    each = np.stack([exact(disc, SHAPE, coils) for disc in discs])
    images = np.stack([band_limited(disc, SHAPE) for disc in discs])
    basis = im.subspace_basis(np.exp(-np.arange(times)[:, None] / np.linspace(2, 20, 60)), 3)
    masks = np.stack([im.poisson_disc(SHAPE, 4, calibration=6, seed=seed + i) for i in range(times)])
    return np.tensordot(courses, each, 1), np.tensordot(courses, images, 1), coils.maps(SHAPE), basis, masks


def test_subspace_beats_frames_one_by_one():
    kspace, truth, maps, basis, masks = decaying()
    found = im.subspace(kspace, maps, basis, mask=masks, maxiter=100)
    frames = np.tensordot(basis, found.image.numpy(), 1)
    alone = np.stack([im.sense(k, maps, mask=m, lamda=1e-3).image.numpy() for k, m in zip(kspace, masks, strict=True)])
    together = im.nrmse(frames, truth)
    assert together < 0.08 and together < 0.7 * im.nrmse(alone, truth)
    # Noise: blocks of low rank hold it down.
    rng = np.random.default_rng(1)
    noisy = kspace + 0.02 * (rng.standard_normal(kspace.shape) + 1j * rng.standard_normal(kspace.shape))
    plain = im.subspace(noisy, maps, basis, mask=masks, maxiter=100)
    low = im.subspace(noisy, maps, basis, mask=masks, lamda=0.05, maxiter=100)
    error = [im.nrmse(np.tensordot(basis, r.image.numpy(), 1), truth) for r in (plain, low)]
    assert error[1] < error[0]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape, points", [((16, 16), (11, 32)), ((15, 12), (90,)), ((8, 6, 10), (7, 40))], ids=str)
def test_subspaces_of_trajectories_are_the_same_both_ways(rng, shape, points, dtype):
    """Images made at each time and transformed alone, or coefficients transformed to all samples; and both normals."""
    times, rank, ndim = 6, 3, len(shape)
    locs = rng.uniform(-0.5, 0.5, (times, *points, ndim)) * shape
    basis = np.linalg.qr(rng.standard_normal((times, rank)))[0]
    maps = im.Coils(4, ndim).maps(shape).astype(dtype)
    apart, together = (im.subspace_operator(maps, basis, locs=locs, toeplitz=way) for way in (False, True))
    assert (apart.ishape, apart.oshape) == (together.ishape, together.oshape)
    x = (rng.standard_normal((rank, *shape)) + 1j * rng.standard_normal((rank, *shape))).astype(dtype)
    y = apart(x).numpy()
    found = together(x).numpy()
    assert found.dtype == y.dtype == dtype
    assert np.linalg.norm(found - y) < 4e-4 * np.linalg.norm(y)
    back, other = apart.H(y).numpy(), together.H(y).numpy()
    assert np.linalg.norm(other - back) < 4e-4 * np.linalg.norm(back)
    normal = together.N
    assert "NUFFT" not in str(normal) and normal.ishape == apart.N.ishape
    assert np.linalg.norm(normal(x).numpy() - back) < 4e-4 * np.linalg.norm(back)
    weights = rng.uniform(0.5, 2, (times, 1, *points))
    W = ts.Diagonal(weights.astype(dtype), together.oshape, broadcast_dims=("C",))
    weighed = (W @ together).N
    want = apart.H(weights**2 * y).numpy()
    assert "NUFFT" not in str(weighed)
    assert np.linalg.norm(weighed(x).numpy() - want) < 4e-4 * np.linalg.norm(want)


def test_subspace_of_a_trajectory_and_its_tiles(rng):
    times, coils = 5, im.Coils(4)
    locs = np.stack([im.radial(11, 32, 16, golden=True, first=11 * i) for i in range(times)])
    basis = im.subspace_basis(np.exp(-np.arange(times)[:, None] / np.linspace(2, 9, 20)), 2)
    maps = coils.maps((16, 16))
    A = im.subspace_operator(maps, basis, locs=locs)
    assert str(A.oshape) == "(T, C, R, K)"
    adjoint_and_cuts(A, (2, 16, 16), rng)
    adjoint_and_cuts(im.subspace_operator(maps, basis, locs=locs, toeplitz=True), (2, 16, 16), rng)
    adjoint_and_cuts(im.subspace_operator(maps, basis, mask=rng.random((times, 16, 16)) < 0.4), (2, 16, 16), rng)
    truth = np.stack([band_limited(im.shepp_logan(), (16, 16))] * 2) * np.array([1.0, 0.3])[:, None, None]
    found = im.subspace(A(truth), maps, basis, locs=locs, maxiter=60)
    assert im.nrmse(found.image, truth) < 0.1  # the corners of k-space were not measured
    for placed in ({"device": ["sim:0", "sim:1"]}, {"budget": "3MB"}):
        again = im.subspace(A(truth), maps, basis, locs=locs, maxiter=10, **placed)
        same = im.subspace(A(truth), maps, basis, locs=locs, maxiter=10)
        np.testing.assert_allclose(again.image.numpy(), same.image.numpy(), atol=1e-7)


def test_subspace_under_any_budget(rng):
    """The same numbers, or a sentence about memory: never one about dims that only the normal has."""
    maps, basis = im.Coils(4, 3).maps((8, 6, 10)).astype(np.complex64), np.eye(6, dtype=np.float32)[:, :3]
    masks = rng.random((6, 8, 6, 10)) < 0.5
    whole = im.subspace_operator(maps, basis, mask=masks)
    x = rng.standard_normal((3, 8, 6, 10)).astype(np.complex64)
    want, done = whole.N(x).numpy(), []
    for given in np.geomspace(3e4, 1e6, 14):
        try:
            some = im.subspace_operator(maps, basis, mask=masks, device="sim:0", budget=int(given))
        except ts.OutOfMemory as error:
            assert str(error).startswith(("fit: ", "imaging: ")) and "bytes" in str(error)
            continue
        done.append(given)
        np.testing.assert_allclose(some.N(x).numpy(), want, atol=1e-5 * np.abs(want).max())
    assert 0 < len(done) < 14


def test_subspace_refuses():
    kspace, _, maps, basis, masks = decaying(4)
    with pytest.raises(ValueError, match="one of them"):
        im.subspace_operator(maps, basis)
    with pytest.raises(ValueError, match="4 times"):
        im.subspace_operator(maps, basis[:3], mask=masks)
    with pytest.raises(ValueError, match="mask of shape"):
        im.subspace_operator(maps, basis, mask=masks[:, :5])
    with pytest.raises(ValueError, match="k-space of shape"):
        im.subspace(kspace[:, :2], maps, basis, mask=masks)
    with pytest.raises(ValueError, match="not finite"):
        im.subspace(kspace * np.nan, maps, basis, mask=masks)
    with pytest.raises(ValueError, match="lamda"):
        im.subspace(kspace, maps, basis, mask=masks, lamda=-1.0)
    with pytest.raises(ValueError, match="rank 9"):
        im.subspace_basis(np.ones((4, 5)), 9)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "float16", "float32", "complex64"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 2, 5])
def test_normals_around_matrices_of_any_dtype(rng, dtype, weighted, outputs):
    """A spectrum is neither whole numbers nor held by half precision, whatever the matrix at the samples is."""
    F = ts.NUFFT(rng.uniform(-4, 4, (30, 1)), (8,), ("K",), ("X",), batch_shape=("C",), tol=1e-6, toeplitz=True)
    W = ts.Dense(rng.integers(0, 4, (outputs, 2)).astype(dtype), ("E", "C"), ("C", "K"), ("E", "K"))
    A = W @ F
    if weighted:
        A = ts.Diagonal(rng.random((outputs, 30)), ("E", "K")) @ A
    x = rng.standard_normal((2, 8)) + 1j * rng.standard_normal((2, 8))
    want = A.H(A(x)).numpy()
    assert np.linalg.norm(A.N(x).numpy() - want) <= 1e-5 * np.linalg.norm(want)
    between = rng.integers(0, 4, (2, 2)).astype(dtype)
    inner = F.normal(ts.Dense(between, ("D", "C"), ("C", "K"), ("D", "K")))(x).numpy()
    want = F.H(between.astype(complex) @ F(x).numpy()).numpy()
    assert np.linalg.norm(inner - want) <= 1e-5 * np.linalg.norm(want)


def test_kernels_that_nobody_asked_for_pay(rng):
    """A matrix of many coils at the samples would take a kernel for each of its elements: they are gridded, with a
    normal that is still A.H A; few are convolved."""
    n, points = 24, 4000
    locs = rng.uniform(-n / 2, n / 2, (points, 2))
    for coils, outputs in ((20, 5), (20, 20), (2, 3)):
        F = ts.NUFFT(locs, (n, n), ("K",), ("X", "Y"), batch_shape=("C",), tol=1e-4)
        weight = rng.standard_normal((outputs, coils)) + 1j * rng.standard_normal((outputs, coils))
        A = ts.Dense(weight, ("E", "C"), ("C", "K"), ("E", "K")) @ F
        x = rng.standard_normal((coils, n, n)) + 0j
        want = A.H(A(x)).numpy()
        assert np.linalg.norm(A.N(x).numpy() - want) <= 1e-3 * np.linalg.norm(want)
        assert ("NUFFT" in repr(A.N)) == (coils > 2), repr(A.N)
