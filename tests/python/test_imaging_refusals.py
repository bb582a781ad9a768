# SPDX-License-Identifier: Apache-2.0
"""What imaging is given and cannot work with: refused by a sentence that names the function, never by zeros."""

import warnings

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im

N = 16
MAPS = im.Coils(4).maps((N, N))
KSPACE = im.sense_operator(MAPS)(im.shepp_logan().image((N, N))).numpy()
MASK = np.ones((N, N))
LOCS = im.radial(5, N, N)
SAMPLES = np.ones((4, 5, N), complex)
FAR = np.hypot(*np.mgrid[-8:8, -8:8])
BASIS = np.eye(3)[:, :2]
IMAGES = np.ones((2, N, N)) + 0j

# Each array that a function takes: the call, with the place of the array open.
TAKES = {
    "sense_operator maps": (MAPS, lambda x: im.sense_operator(x)),
    "sense_operator locs": (LOCS, lambda x: im.sense_operator(MAPS, locs=x)),
    "sense_operator mask": (MASK, lambda x: im.sense_operator(MAPS, mask=x)),
    "sense_operator weights": (MASK, lambda x: im.sense_operator(MAPS, weights=x)),
    "sense kspace": (KSPACE, lambda x: im.sense(x, MAPS, maxiter=1)),
    "sense maps": (MAPS, lambda x: im.sense(KSPACE, x, maxiter=1)),
    "l1_wavelet maps": (MAPS, lambda x: im.l1_wavelet(KSPACE, x, lamda=1e-3, maxiter=1)),
    "tv maps": (MAPS, lambda x: im.tv(KSPACE, x, lamda=1e-3, maxiter=1)),
    "tgv maps": (MAPS, lambda x: im.tgv(KSPACE, x, lamda=1e-3, maxiter=1)),
    "llr_dynamic maps": (MAPS, lambda x: im.llr_dynamic(KSPACE[None], x, lamda=1e-3, maxiter=1)),
    "multislice maps": (MAPS[None], lambda x: im.multislice(KSPACE, x, maxiter=1)),
    "multislice mask": (MASK, lambda x: im.multislice(KSPACE, MAPS[None], mask=x, maxiter=1)),
    "multislice shifts": (np.zeros(1), lambda x: im.multislice(KSPACE, MAPS[None], shifts=x, maxiter=1)),
    "subspace maps": (MAPS, lambda x: im.subspace_operator(x, BASIS, mask=np.stack([MASK] * 3))),
    "subspace basis": (BASIS, lambda x: im.subspace_operator(MAPS, x, mask=np.stack([MASK] * 3))),
    "subspace mask": (np.stack([MASK] * 3), lambda x: im.subspace_operator(MAPS, BASIS, mask=x)),
    "subspace locs": (np.stack([LOCS] * 3), lambda x: im.subspace_operator(MAPS, BASIS, locs=x)),
    "subspace_basis signals": (np.ones((4, 5)), lambda x: im.subspace_basis(x, 2)),
    "motion maps": (MAPS, lambda x: im.motion_operator(x, MASK[None], [0.1], [(0, 1)])),
    "motion masks": (MASK[None], lambda x: im.motion_operator(MAPS, x, [0.1], [(0, 1)])),
    "motion angles": (np.full(1, 0.1), lambda x: im.motion_operator(MAPS, MASK[None], x, [(0, 1)])),
    "motion shifts": (np.ones((1, 2)), lambda x: im.motion_operator(MAPS, MASK[None], [0.1], x)),
    "joint_maps kspace": (KSPACE, lambda x: im.joint_maps(x, (N, N), mask=MASK)),
    "joint_maps mask": (MASK, lambda x: im.joint_maps(KSPACE, (N, N), mask=x)),
    "joint_maps locs": (LOCS, lambda x: im.joint_maps(SAMPLES, (N, N), locs=x)),
    "espirit kspace": (KSPACE, lambda x: im.espirit(x, calibration=12, kernel=4)),
    "adaptive_maps images": (IMAGES, lambda x: im.adaptive_maps(x)),
    "adaptive_combine images": (IMAGES, lambda x: im.adaptive_combine(x)),
    "whitening noise": (np.random.default_rng(0).standard_normal((3, 50)), lambda x: im.whitening(x)),
    "compress_coils data": (KSPACE, lambda x: im.compress_coils(x, 2)),
    "compress_coils_geometrically kspace": (KSPACE, lambda x: im.compress_coils_geometrically(x, 2)),
    "noise_level kspace": (KSPACE, lambda x: im.noise_level(x, FAR)),
    "noise_level radius": (FAR, lambda x: im.noise_level(KSPACE, x)),
    "grappa kspace": (KSPACE, lambda x: im.grappa(x, MASK)),
}


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(name, bad, rng):
    """In any array that is taken, wherever it is: in the middle, where a centre is learned from, as well."""
    good, call = TAKES[name]
    call(good)
    x = np.array(good)
    middle = tuple(n // 2 for n in x.shape)
    for place in [middle, *([tuple(rng.integers(x.shape))] if name != "espirit kspace" else [])]:
        x = np.array(good)
        x[place] = bad
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ts.ArgumentError, match=r"^\w+: .*(finite)"):
                call(x)


@pytest.mark.parametrize(
    "more", [{"threshold": 2}, {"threshold": np.nan}, {"threshold": -1}, {"crop": 2}, {"crop": np.nan}]
)
def test_espirit_refuses_thresholds_that_leave_nothing(more):
    with pytest.raises(ts.ArgumentError, match="^espirit: threshold"):
        im.espirit(KSPACE, calibration=12, kernel=4, **more)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "bool", "float16"])
def test_integers_are_taken_for_numbers(kind, rng):
    """Products of bytes would wrap."""
    x = (100 * rng.random((4, N, N))).astype(kind)
    mask = (np.arange(N)[:, None] % 2 == 0) | (np.abs(np.arange(N)[:, None] - 8) < 5) & np.ones((N, N), bool)
    calls = [
        lambda y: im.adaptive_combine(y),
        lambda y: im.grappa(y * mask, mask),
        lambda y: im.compress_coils(y, 4)[0],
        lambda y: im.noise_level(y, FAR),
    ]
    for call in calls:
        want = call(x.astype(float))
        np.testing.assert_allclose(np.abs(call(x)), np.abs(want), rtol=1e-3, atol=1e-3 * np.abs(want).max())


CALLS = {
    "sense device": lambda: im.sense(KSPACE, MAPS, device=[]),
    "llr_dynamic block 0": lambda: im.llr_dynamic(KSPACE[None], MAPS, lamda=1e-3, block=0),
    "llr_dynamic block half": lambda: im.llr_dynamic(KSPACE[None], MAPS, lamda=1e-3, block=2.5),
    "ssim of numbers": lambda: im.ssim(1.0, 1.0),
    "radial of text": lambda: im.radial("x", 16, 8),
    "radial of half a spoke": lambda: im.radial(2.5, 16, 8),
    "radial of half a sample": lambda: im.radial(2, 16.5, 8),
    "radial of nothing": lambda: im.radial(2, 16, None),
    "spiral of turns": lambda: im.spiral(2, 16, 8, turns="x"),
    "epi of infinite size": lambda: im.epi(4, 4, np.inf),
    "cones of half a level": lambda: im.cones(2, 8, 8, levels=2.5),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_of_another_kind_are_refused(name):
    with pytest.raises(ts.ArgumentError, match=r"^\w+: .*expected"):
        CALLS[name]()


@pytest.mark.parametrize("lamda", ["best", "x", -1, np.inf, np.nan, None])
def test_strengths_of_tv_ct(lamda):
    A = ts.ParallelBeam(np.linspace(0, np.pi, 8, endpoint=False), (8, 8), 12, batch_shape=())
    with pytest.raises(ts.ArgumentError, match="^tv_ct: lamda"):
        im.tv_ct(np.ones((8, 12)), A, lamda=lamda)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("beam", ["parallel", "fan"])
def test_filtered_backprojection_keeps_precision(beam, dtype):
    if beam == "parallel":
        A = ts.ParallelBeam(np.linspace(0, np.pi, 30, endpoint=False), (16, 16), 25)
    else:
        A = ts.FanBeam(np.linspace(0, 2 * np.pi, 60, endpoint=False), (16, 16), 32, 80.0, 40.0, pitch=1.2)
    data = A(im.shepp_logan().image((16, 16))).numpy()
    want = im.fdk(data, A).image.numpy()
    for got in (im.fdk(data.astype(dtype), A).image, im.fbp_operator(A, dtype=dtype)(data.astype(dtype))):
        assert str(got.dtype) == dtype
        assert (
            np.abs(got.numpy() - want).max()
            < (1e-5 if dtype in ("float32", "complex64") else 1e-12) * np.abs(want).max()
        )


@pytest.mark.parametrize("recipe", ["sense", "l1_wavelet", "tv", "llr_dynamic"])
def test_one_coil_does_not_tell_its_noise(recipe, rng):
    """Its samples are the object's wherever they lie; with the noise told lamda is found."""
    maps = im.Coils(1).maps((N, N))
    kspace = im.sense_operator(maps)(im.shepp_logan().image((N, N))).numpy()
    kspace = kspace + 0.01 * (rng.standard_normal(kspace.shape) + 1j * rng.standard_normal(kspace.shape))
    kspace = kspace[None] if recipe == "llr_dynamic" else kspace
    with pytest.raises(ts.ArgumentError, match=f'^{recipe}: lamda "auto" of one coil.* give noise'):
        getattr(im, recipe)(kspace, maps, lamda="auto", maxiter=2)
    assert getattr(im, recipe)(kspace, maps, lamda="auto", noise=0.014, maxiter=2).lamda > 0


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("every", [2, 3, "random"])
def test_espirit_refuses_a_centre_that_was_not_taken(ndim, every, rng):
    shape = (12,) * ndim
    data = rng.standard_normal((3, *shape)) + 1j * rng.standard_normal((3, *shape))
    mask = rng.random(shape) < 0.6 if every == "random" else np.arange(12) % every == np.zeros(shape)
    with pytest.raises(ts.ArgumentError, match=r"^espirit: \d+ of \d+ samples in the centre"):
        im.espirit(data * mask, calibration=8, kernel=3)
    mask[(slice(2, 10),) * ndim] = True
    assert im.espirit(data * mask, calibration=8, kernel=3).shape == data.shape
