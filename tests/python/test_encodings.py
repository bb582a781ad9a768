# SPDX-License-Identifier: Apache-2.0
"""Encodings beyond plain SENSE: each against exact data of phantoms, better than what ignores it, cut over coils like any
operator, and with errors that name what is wrong."""

import numpy as np
import pytest
from encoding_laws import SHAPE, adjoint_and_cuts, band_limited, exact, rss

import tessera as ts
from tessera import imaging as im

# --- simultaneous multislice


def slices_at_once(shifts):
    first, second = (
        im.shepp_logan(),
        im.Phantom([1.0, -0.5], [[0.1, 0.0], [0.2, 0.3]], [[0.7, 0.5], [0.2, 0.1]], [0, 0.4]),
    )
    coils = im.Coils(8)
    parts = [exact(first, SHAPE, coils), np.roll(exact(second, SHAPE, coils), 1, 0)]
    maps = np.stack([coils.maps(SHAPE), np.roll(coils.maps(SHAPE), 1, 0)])
    ramps = [np.exp(-2j * np.pi * s * (np.arange(SHAPE[0]) - SHAPE[0] // 2))[:, None] for s in shifts]
    truth = np.stack([band_limited(first, SHAPE), band_limited(second, SHAPE)])
    return sum(part * ramp for part, ramp in zip(parts, ramps, strict=True)), maps, truth


def test_slices_are_told_apart(rng):
    kspace, maps, truth = slices_at_once((0.0, 0.5))
    found = im.multislice(kspace, maps, maxiter=100, lamda=1e-4)
    error = im.nrmse(found.image, truth)
    adjoint = found.operator.H(kspace)
    assert error < 0.12 and error < 0.3 * im.nrmse(adjoint, truth, scale=True)
    # Without the shift of the field of view coils alone must do it: with noise that is worse.
    noise = 0.01 * (rng.standard_normal(kspace.shape) + 1j * rng.standard_normal(kspace.shape))
    flat, _, _ = slices_at_once((0.0, 0.0))
    shifted = im.nrmse(im.multislice(kspace + noise, maps, maxiter=60, lamda=1e-4).image, truth)
    unshifted = im.nrmse(im.multislice(flat + noise, maps, shifts=(0, 0), maxiter=60, lamda=1e-4).image, truth)
    assert shifted < unshifted
    adjoint_and_cuts(im.multislice_operator(maps, mask=rng.random(SHAPE) < 0.5), (2, *SHAPE), rng)
    tiled = im.multislice(kspace, maps, maxiter=10, device=["sim:0", "sim:1"])
    np.testing.assert_allclose(tiled.image.numpy(), im.multislice(kspace, maps, maxiter=10).image.numpy(), atol=1e-8)


def test_multislice_refuses():
    kspace, maps, _ = slices_at_once((0.0, 0.5))
    with pytest.raises(ValueError, match="maps of shape"):
        im.multislice_operator(maps[0])
    with pytest.raises(ValueError, match="3 shifts for 2 slices"):
        im.multislice_operator(maps, shifts=(0, 0.3, 0.6))
    with pytest.raises(ValueError, match="mask of shape"):
        im.multislice_operator(maps, mask=np.ones((3, 3)))
    with pytest.raises(ValueError, match="k-space of shape"):
        im.multislice(kspace[:3], maps)
    with pytest.raises(ValueError, match="not finite"):
        im.multislice(kspace * np.inf, maps)


# --- GRAPPA


@pytest.mark.parametrize("every,centre,dtype", [(2, 10, "complex128"), (3, 14, "complex128"), (2, 12, "complex64")])
def test_grappa_fills_lines(every, centre, dtype):
    kspace = exact(im.shepp_logan(), (48, 40), im.Coils(8)).astype(dtype)
    lines = np.arange(48)
    mask = ((lines % every == 0) | (np.abs(lines - 24) <= centre // 2))[:, None] & np.ones((48, 40), bool)
    filled = im.grappa(np.where(mask, kspace, np.nan), mask)
    assert filled.dtype == kspace.dtype and (filled[:, mask] == kspace[:, mask]).all()
    truth = rss(kspace)
    assert im.nrmse(rss(filled), truth) < 0.4 * im.nrmse(rss(kspace * mask), truth)


def test_grappa_in_three_dims_and_what_it_refuses():
    kspace = exact(im.shepp_logan(3), (8, 12, 12), im.Coils(6, 3))
    y, z = np.arange(12)[:, None], np.arange(12)[None]
    plane = ((y % 2 == 0) & (z % 2 == 0)) | ((np.abs(y - 6) < 4) & (np.abs(z - 6) < 4))
    mask = np.broadcast_to(plane, (8, 12, 12))
    filled = im.grappa(kspace * mask, mask, kernel=3)
    assert im.nrmse(filled, kspace) < im.nrmse(kspace * mask, kspace)
    full = np.ones((8, 12, 12))
    assert (im.grappa(kspace, full) == kspace).all()
    with pytest.raises(ValueError, match="mask of"):
        im.grappa(kspace, mask[0])
    with pytest.raises(ValueError, match="odd sizes"):
        im.grappa(kspace, mask, kernel=4)
    with pytest.raises(ValueError, match="cannot be learned"):
        im.grappa(kspace, mask * (np.arange(8) != 4)[:, None, None])
    with pytest.raises(ValueError, match="not finite"):
        im.grappa(kspace * np.nan, mask)
    with pytest.raises(ValueError, match="patterns"):
        rng = np.random.default_rng(0)
        random = rng.random((64, 64)) < 0.5
        random[27:38, 27:38] = True
        im.grappa(np.ones((2, 64, 64)), random)


# --- partial Fourier


@pytest.mark.parametrize("shape", [(48, 40), (33, 31)])
@pytest.mark.parametrize("axis", [0, 1])
def test_half_of_kspace_and_a_little(shape, axis):
    kspace = exact(im.shepp_logan(), shape, im.Coils(3))  # sensitivities turn the phase
    n = shape[axis]
    kept = np.arange(n) < int(0.62 * n)
    mask = np.broadcast_to(kept[:, None] if axis == 0 else kept, shape)
    truth = np.stack([im.sense_operator(np.ones((1, *shape))).H(k[None]).numpy() for k in kspace])
    zero = np.stack([im.sense_operator(np.ones((1, *shape))).H((k * mask)[None]).numpy() for k in kspace])
    naive = im.nrmse(np.abs(zero), np.abs(truth))
    for found in (im.pocs(kspace * mask, mask), im.conjugate_symmetry(kspace * mask, mask)):
        assert found.shape == kspace.shape
        assert im.nrmse(np.abs(found), np.abs(truth)) < 0.6 * naive
    # All samples leave nothing to do.
    np.testing.assert_allclose(im.pocs(kspace, np.ones(shape)), truth, atol=1e-10)


def test_partial_fourier_refuses():
    kspace = exact(im.shepp_logan(), SHAPE)
    half = np.arange(32)[:, None] < 20 + np.zeros(32)
    for solve in (im.pocs, im.conjugate_symmetry):
        with pytest.raises(ValueError, match="mask of"):
            solve(kspace, half[:5])
        with pytest.raises(ValueError, match="misses the centre"):
            solve(kspace, ~half)
        with pytest.raises(ValueError, match="neither themselves"):
            solve(kspace, half & (np.arange(32) % 2 == 0))
        with pytest.raises(ValueError, match="not finite"):
            solve(kspace * np.nan, half)
    with pytest.raises(ValueError, match="0 iterations"):
        im.pocs(kspace, half, iterations=0)


# --- motion


def moved(phantom, angle, shift, shape):
    """The phantom turned from the last axis towards the first around the middle, then moved by pixels."""
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, s], [-s, c]])  # on (y, x)
    centres = phantom.centres @ turn.T + 2 * np.asarray(shift) / np.asarray(shape)
    return im.Phantom(phantom.values, centres, phantom.radii, phantom.angles + angle)


@pytest.mark.parametrize("angle,shift", [(0.0, (2.0, -3.0)), (0.3, (0.0, 0.0)), (-0.2, (1.5, 0.25))])
def test_rigid_is_the_motion_of_the_object(angle, shift):
    shape = (48, 48)
    phantom = im.Phantom([1.0, 0.5], [[0.1, -0.1], [-0.2, 0.2]], [[0.4, 0.25], [0.15, 0.2]], [0.3, 0.0])
    before, after = band_limited(phantom, shape), band_limited(moved(phantom, angle, shift, shape), shape)
    T = im.rigid(shape, angle, shift)
    error = im.nrmse(T(before), after)
    assert error < 0.08 and error < 0.2 * im.nrmse(before, after)
    assert ts.check_adjoint(T, shape, dtype="complex128")


def test_shots_of_a_moving_object(rng):
    phantom, coils, shape = im.shepp_logan(), im.Coils(8), (48, 48)
    angles, shifts = [0.0, 0.12, -0.08], [(0, 0), (1.5, -1.0), (-2.0, 0.5)]
    masks = np.stack([np.arange(48)[:, None] % 3 == i + np.zeros(48) for i in range(3)])
    each = [exact(moved(phantom, a, s, shape), shape, coils) for a, s in zip(angles, shifts, strict=True)]
    kspace = sum(k * m for k, m in zip(each, masks, strict=True))
    maps, truth = coils.maps(shape), band_limited(phantom, shape)
    found = im.motion_sense(kspace, maps, masks, angles, shifts, maxiter=25, lamda=1e-3)
    still = im.sense(kspace, maps, lamda=1e-3)
    assert im.nrmse(found.image, truth) < 0.5 * im.nrmse(still.image, truth)
    A = im.motion_operator(im.Coils(4).maps((16, 16)), masks[:, :16, :16], angles, shifts)
    adjoint_and_cuts(A, (16, 16), rng)


def test_motion_refuses():
    maps, masks = im.Coils(4).maps(SHAPE), np.zeros((2, *SHAPE))
    with pytest.raises(ValueError, match="masks of"):
        im.motion_operator(maps, masks[0], [0.0], [(0, 0)])
    with pytest.raises(ValueError, match="1 angles"):
        im.motion_operator(maps, masks, [0.0], [(0, 0), (0, 0)])
    with pytest.raises(ValueError, match="do not overlap"):
        im.motion_operator(maps, masks + 1, [0.0, 0.0], [(0, 0), (0, 0)])
    with pytest.raises(ValueError, match="expected 2 sizes"):
        im.rigid((8, 8), float("nan"), (0, 0))
    with pytest.raises(ValueError, match="k-space of shape"):
        im.motion_sense(np.ones((3, 3)), maps, masks, [0.0, 0.0], [(0, 0), (0, 0)])


# --- coils


def test_geometric_compression_keeps_more_than_one_matrix():
    kspace = exact(im.shepp_logan(), (40, 48), im.Coils(12))
    kept = lambda k: np.sum(np.abs(k) ** 2) / np.sum(np.abs(kspace) ** 2)  # noqa: E731
    for axis in (1, -1):
        small, matrices = im.compress_coils_geometrically(kspace, 3, axis=axis)
        assert small.shape == (3, 40, 48) and matrices.shape == (kspace.shape[axis], 3, 12)
        np.testing.assert_allclose(
            matrices @ matrices.conj().swapaxes(1, 2), np.broadcast_to(np.eye(3), (len(matrices), 3, 3)), atol=1e-10
        )
        assert kept(small) >= kept(im.compress_coils(kspace, 3)[0])
        # Neighbours are turned alike.
        steps = np.linalg.norm(matrices[1:] - matrices[:-1], axis=(1, 2))
        assert np.median(steps) < 0.5
    whole, _ = im.compress_coils_geometrically(kspace, 12)
    np.testing.assert_allclose(kept(whole), 1, rtol=1e-12)
    for bad in ({"count": 13}, {"count": 0}, {"count": 2, "axis": 0}, {"count": 2, "axis": 5}):
        with pytest.raises(ValueError, match="compress_coils_geometrically"):
            im.compress_coils_geometrically(kspace, **bad)


def test_adaptive_combination_holds_noise_down(rng):
    maps, truth = im.Coils(8).maps(SHAPE), im.shepp_logan().image(SHAPE)
    maps = maps / np.linalg.norm(maps, axis=0)
    noisy = maps * truth + 0.05 * (rng.standard_normal(maps.shape) + 1j * rng.standard_normal(maps.shape))
    combined = np.abs(im.adaptive_combine(noisy))
    outside = truth == 0
    assert combined[outside].mean() < im.root_sum_of_squares(noisy).numpy()[outside].mean()
    assert im.nrmse(combined, truth) < im.nrmse(im.root_sum_of_squares(noisy).numpy(), truth)


# --- total generalised variation


def test_tgv_leaves_ramps_that_tv_turns_into_stairs(rng):
    y, x = np.mgrid[0:24, 0:28] / 24
    truth = np.where(x < 0.6, x + 0.5 * y, 2.0 - x)
    noisy = truth + 0.05 * rng.standard_normal(truth.shape)
    A = ts.Identity(("Ny", "Nx"))
    p = ts.solve.prox
    best = []
    for lamda in (0.03, 0.06, 0.12):
        operators, maps = im.tgv_terms(A, lamda)
        second = ts.solve.pdhg(operators, [noisy, None, None], maps, rtol=1e-6, maxiter=3000).x.numpy()[0]
        G = ts.Gradient(("Ny", "Nx"), ("Ny", "Nx"), edge="replicate")
        first = ts.solve.pdhg([A, G], [noisy, None], [None, p.group(lamda, 0)], rtol=1e-6, maxiter=3000).x.numpy()
        best.append((im.nrmse(second, truth), im.nrmse(first, truth)))
    assert min(a for a, _ in best) < 0.8 * min(b for _, b in best) and min(best)[0] < 0.6 * im.nrmse(noisy, truth)


def test_tgv_is_blind_to_linear_images_and_by_its_definition(rng):
    operators, _ = im.tgv_terms(ts.Identity(("Ny", "Nx")), 1.0)
    y, x = np.mgrid[0:6, 0:7].astype(float)
    # x = a + b y + c x with w its gradient: nothing to pay inside; at the last row and column differences are zero.
    u = np.stack([1 + 2 * y - 3 * x, np.full(x.shape, 2.0), np.full(x.shape, -3.0)])
    assert np.abs(operators[1](u).numpy()[:, :-1, :-1]).max() < 1e-12 and not operators[2](u).numpy().any()
    w = rng.standard_normal((3, 6, 7))
    strain = operators[2](w).numpy()
    assert strain.shape == (2, 2, 6, 7)
    np.testing.assert_allclose(strain, strain.swapaxes(0, 1))
    dy, dx = np.diff(w[1:], axis=1, append=w[1:, -1:]), np.diff(w[1:], axis=2, append=w[1:, :, -1:])
    np.testing.assert_allclose(strain[0, 0], dy[0], atol=1e-12)
    np.testing.assert_allclose(strain[0, 1], (dy[1] + dx[0]) / 2, atol=1e-12)
    for K in operators:
        assert ts.check_adjoint(K, (3, 6, 7), dtype="float64")
    with pytest.raises(ValueError, match="ratio"):
        im.tgv_terms(ts.Identity(("Ny", "Nx")), 1.0, 0.0)


def test_tgv_of_a_scan():
    kspace, maps = exact(im.shepp_logan(), SHAPE, im.Coils(6)), im.Coils(6).maps(SHAPE)
    rng = np.random.default_rng(3)
    noisy = kspace + 0.02 * (rng.standard_normal(kspace.shape) + 1j * rng.standard_normal(kspace.shape))
    mask = im.poisson_disc(SHAPE, 3, calibration=8)
    truth = band_limited(im.shepp_logan(), SHAPE)
    found = im.tgv(noisy, maps, mask=mask, lamda=0.01)
    assert im.nrmse(found.image, truth) < im.nrmse(im.sense(noisy, maps, mask=mask).image, truth)
    same = im.tgv(noisy, maps, mask=mask, lamda=0.01, maxiter=20)
    for device in ("sim:0", ["sim:0", "sim:1"]):
        there = im.tgv(noisy, maps, mask=mask, lamda=0.01, maxiter=20, device=device)
        np.testing.assert_allclose(there.image.to("cpu").numpy(), same.image.numpy(), atol=1e-7)


# --- maps from any trajectory, and readouts that come late


@pytest.mark.parametrize("cartesian", [False, True])
def test_joint_maps_of_undersampled_data(cartesian):
    coils, phantom = im.Coils(6), im.shepp_logan()
    if cartesian:
        mask = im.poisson_disc(SHAPE, 2, calibration=8)
        kspace, given = exact(phantom, SHAPE, coils) * mask, {"mask": mask}
    else:
        locs = im.radial(41, 64, 32, golden=True)
        kspace, given = phantom.kspace(locs, SHAPE, coils=coils), {"locs": locs}
    maps = im.joint_maps(kspace, SHAPE, **given)
    seen = phantom.image(SHAPE) > 0.05
    true = coils.maps(SHAPE) / np.linalg.norm(coils.maps(SHAPE), axis=0)
    likeness = np.abs((maps.conj() * true).sum(0))[seen]
    assert likeness.mean() > 0.99 and np.median(likeness) > 0.995
    np.testing.assert_allclose((np.abs(maps) ** 2).sum(0)[seen], 1, atol=1e-9)
    # A reconstruction with them comes near to one with the true maps, and beats coils one by one.
    weight = {} if cartesian else {"weights": np.sqrt(np.linalg.norm(locs, axis=-1) + 0.3)}
    truth = np.abs(band_limited(phantom, SHAPE)) * np.linalg.norm(coils.maps(SHAPE), axis=0)
    found = np.abs(im.sense(kspace, maps, lamda=1e-3, **given, **weight).image.numpy())
    ones = np.ones((1, *SHAPE))
    apart = [np.abs(im.sense(k[None], ones, lamda=1e-3, **given, **weight).image.numpy()) for k in kspace]
    alone = np.linalg.norm(apart, axis=0)
    assert im.nrmse(found, truth, scale=True) < im.nrmse(alone, truth, scale=True)


def test_joint_maps_refuse():
    kspace = exact(im.shepp_logan(), SHAPE, im.Coils(3))
    for wrong, sentence in (
        ({"shape": (32,)}, "shape"),
        ({}, "one of them"),
        ({"mask": np.ones(SHAPE), "order": 4}, "order 4"),
        ({"mask": np.ones((3, 3))}, "mask of shape"),
        ({"locs": np.zeros((5, 2))}, "k-space of shape"),
    ):
        with pytest.raises(ValueError, match=sentence):
            im.joint_maps(kspace, wrong.pop("shape", SHAPE), **wrong)
    with pytest.raises(ValueError, match="not finite"):
        im.joint_maps(kspace * np.nan, SHAPE, mask=np.ones(SHAPE))


@pytest.mark.parametrize("golden", [True, False])
@pytest.mark.parametrize("delays", [(0.0, 0.0, 0.0), (0.4, -0.3, 0.15)])
def test_delays_are_found_and_undone(golden, delays, rng):
    nominal, coils, phantom = im.radial(55, 64, 32, golden=golden), im.Coils(3), im.shepp_logan()
    kspace = phantom.kspace(im.delayed(nominal, delays), SHAPE, coils=coils)
    kspace = kspace + 0.002 * (rng.standard_normal(kspace.shape) + 1j * rng.standard_normal(kspace.shape))
    found = im.gradient_delays(kspace, nominal)
    assert np.abs(found - delays).max() < 0.02
    if any(delays):
        maps, truth = coils.maps(SHAPE), band_limited(phantom, SHAPE)
        undone = im.sense(kspace, maps, locs=im.delayed(nominal, found), lamda=1e-3)
        ignored = im.sense(kspace, maps, locs=nominal, lamda=1e-3)
        assert im.nrmse(undone.image, truth) < 0.8 * im.nrmse(ignored.image, truth)


def test_delays_refuse():
    locs = im.radial(55, 64, 32)
    kspace = np.ones((2, 55, 64))
    with pytest.raises(ValueError, match="three numbers"):
        im.delayed(locs, (1.0, 2.0))
    with pytest.raises(ValueError, match="no direction"):
        im.delayed(np.zeros((2, 4, 2)), (0, 0, 0))
    with pytest.raises(ValueError, match="locs of shape"):
        im.gradient_delays(kspace, locs[0])
    with pytest.raises(ValueError, match="k-space of shape"):
        im.gradient_delays(kspace[:, :4], locs)
    with pytest.raises(ValueError, match="tell delays apart"):
        im.gradient_delays(kspace[:, :4], locs[:4])
    with pytest.raises(ValueError, match="not finite"):
        im.gradient_delays(kspace * np.nan, locs)


# --- all recipes


def small(rng, dtype="complex128"):
    """Every recipe on data of its own operator: from the data as (samples, keywords) to the image, and the samples."""
    shape, coils = (12, 10), 3
    maps = im.Coils(coils).maps(shape).astype(dtype)
    image = (im.shepp_logan().image(shape) + 0.1 * rng.standard_normal(shape)).astype(dtype)
    mask = (rng.random(shape) < 0.8).astype(np.float64)
    locs = im.radial(24, 20, 10)
    basis = im.subspace_basis(np.exp(-np.arange(4)[:, None] / np.linspace(2, 9, 20)), 2)
    masks = np.stack([rng.random(shape) < 0.7 for _ in range(4)]).astype(float)
    shots = np.stack([np.arange(12)[:, None] % 2 == i + np.zeros(10) for i in range(2)]).astype(float)
    moves = [0.0, 0.1], [(0, 0), (1, 0.5)]
    slices = np.stack([maps, np.roll(maps, 1, 1)])
    full = im.sense_operator(maps)(image).numpy()
    few = im.subspace_operator(maps, basis, mask=masks)(np.stack([image, image])).numpy()
    along = im.sense_operator(maps, locs=locs)(image).numpy()
    times = np.stack([locs] * 4)
    turning = im.subspace_operator(maps, basis, locs=times)(np.stack([image, image])).numpy()
    moved, both = im.motion_operator(maps, shots, *moves)(image).numpy(), im.multislice_operator(slices)
    few_steps = {"maxiter": 4}
    return {
        "sense": (full, lambda k, **m: im.sense(k, maps, mask=mask, **{"lamda": 0.01, **few_steps, **m})),
        "sense along": (along, lambda k, **m: im.sense(k, maps, locs=locs, **{"lamda": 0.01, **few_steps, **m})),
        "l1_wavelet": (full, lambda k, **m: im.l1_wavelet(k, maps, mask=mask, **{"lamda": 0.01, **few_steps, **m})),
        "tv": (full, lambda k, **m: im.tv(k, maps, mask=mask, **{"lamda": 0.01, **few_steps, **m})),
        "tgv": (full, lambda k, **m: im.tgv(k, maps, mask=mask, **{"lamda": 0.01, **few_steps, **m})),
        "subspace": (few, lambda k, **m: im.subspace(k, maps, basis, mask=masks, **few_steps, **m)),
        "subspace low": (
            few,
            lambda k, **m: im.subspace(k, maps, basis, mask=masks, **{"lamda": 0.01, **few_steps, **m}),
        ),
        "subspace along": (turning, lambda k, **m: im.subspace(k, maps, basis, locs=times, **few_steps, **m)),
        "multislice": (
            both(np.stack([image, image])).numpy(),
            lambda k, **m: im.multislice(k, slices, mask=mask, **few_steps, **m),
        ),
        "motion_sense": (moved, lambda k, **m: im.motion_sense(k, maps, shots, *moves, **few_steps, **m)),
    }


RECIPES = ["sense", "sense along", "l1_wavelet", "tv", "tgv", "subspace", "subspace low", "subspace along"]
RECIPES += ["multislice", "motion_sense"]
DRAWN = ("l1_wavelet", "subspace low")  # grids may be moved at random, by the numbers themselves to their last bit


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_keep_the_precision_of_their_data(name):
    """Of maps and samples; masks, bases, and locations in double precision do not change it."""
    images = {}
    for dtype in ("complex64", "complex128"):
        samples, recipe = small(np.random.default_rng(3), dtype)[name]
        images[dtype] = recipe(samples.astype(dtype)).image
        assert images[dtype].dtype == dtype
    assert im.nrmse(images["complex64"], images["complex128"]) < (5e-2 if name in DRAWN else 1e-3)


@pytest.mark.parametrize("kind", ["mask", "locs"])
def test_joint_maps_keep_the_precision_of_their_data(kind, rng):
    maps, locs = im.Coils(3).maps((12, 12)), im.radial(24, 24, 12)
    given = {"locs": locs} if kind == "locs" else {"mask": rng.random((12, 12)) < 0.9}
    kspace = im.sense_operator(maps, **({"locs": locs} if kind == "locs" else {}))(im.shepp_logan().image((12, 12)))
    found = {d: im.joint_maps(kspace.numpy().astype(d), (12, 12), **given) for d in ("complex64", "complex128")}
    assert all(got.dtype == dtype for dtype, got in found.items())
    seen = np.abs(im.shepp_logan().image((12, 12))) > 0.1  # elsewhere nothing tells what maps are
    assert im.nrmse(found["complex64"][:, seen], found["complex128"][:, seen]) < 3e-2
    assert np.isfinite(im.joint_maps(0 * kspace.numpy().astype("complex64"), (12, 12), **given)).all()


@pytest.mark.parametrize("name", RECIPES)
def test_data_may_be_on_the_device_already(name, rng):
    """As an array of any place, whole or shared out: the same image, there where it was asked for."""
    samples, recipe = small(rng)[name]
    want = recipe(samples).image.numpy()
    size = np.abs(want).max()
    for device in ("sim:0", ["sim:0", "sim:1"]):
        for given in (samples, ts.asarray(samples), ts.asarray(samples).to("sim:0")):
            found = recipe(given, device=device).image
            error = np.abs(found.to("cpu").numpy() - want).max()
            assert error < (0.1 if name in DRAWN else 1e-6) * size


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("lamda", [-1.0, -1e-30, float("nan"), float("inf"), "much", None])
def test_recipes_refuse_penalties_that_are_none(name, lamda, rng):
    samples, recipe = small(rng)[name]
    with pytest.raises(ts.ArgumentError, match=f"{name.split()[0]}.*: lamda .*; expected"):
        recipe(samples, lamda=lamda)


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, np.array])
def test_sizes_of_any_kind_of_integer(kind, rng):
    x = rng.integers(-5, 5, (3, 4, 4))
    low = im.low_rank_blocks(x, kind(4), 0.5)
    assert low.dtype == float and np.allclose(low, im.low_rank_blocks(x.astype(float), 4, 0.5))
    assert np.allclose(im.low_rank_blocks(x, kind(4), 0.0), x)
    mask = (np.arange(16)[:, None] % 2 == 0) | (np.abs(np.arange(16)[:, None] - 8) < 5) & np.ones((16, 16), bool)
    kspace = im.sense_operator(im.Coils(3).maps((16, 16)))(im.shepp_logan().image((16, 16))).numpy() * mask
    want = im.grappa(kspace, mask, kernel=(3, 3))
    for kernel in (kind(3), (kind(3), kind(3)), np.array([3, 3])):
        assert np.array_equal(im.grappa(kspace, mask, kernel=kernel), want)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_blocks_of_low_rank_in_single_precision_are_those_of_double(dtype, rng):
    """Small singular values beside large ones survive: they are squared in double precision."""
    u, _, v = np.linalg.svd(rng.standard_normal((6, 36)), full_matrices=False)
    x = ((u * [1e4, 10, 1, 0.5, 0.2, 0.1]) @ v).reshape(6, 6, 6).astype(dtype)
    low = im.low_rank_blocks(x, 6, 0.3)
    want = im.low_rank_blocks(x.astype("complex128"), 6, 0.3)
    assert low.dtype == dtype and not (np.abs(low - want).max() > 5e-3)
