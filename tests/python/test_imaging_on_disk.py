# SPDX-License-Identifier: Apache-2.0
"""Reconstructions under budgets that do not hold a frame: samples, maps and the vectors of solvers are on disk, images
are those of memory, and the process takes no more."""

import tracemalloc

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im

SHAPE, COILS = (96, 80), 20
MAPS = im.Coils(COILS).maps(SHAPE).astype(np.complex64)
TRUTH = im.shepp_logan().image(SHAPE).astype(np.complex64)
ROOM = "2.9MB"  # of 3.07 for samples and images in memory


def noisy(samples, seed=0):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(samples.shape) + 1j * rng.standard_normal(samples.shape)
    return (samples + 1e-3 * noise).astype(np.complex64)


def cartesian(seed=0):
    mask = im.poisson_disc(SHAPE, 2, calibration=20, seed=seed)
    return noisy(im.sense_operator(MAPS)(TRUTH).numpy(), seed) * mask, {"mask": mask}


def along_spokes():
    locs = im.radial(80, 96, 80)
    return noisy(im.sense_operator(MAPS, locs=locs)(TRUTH).numpy()), {"locs": locs}


RECIPES = {
    "sense": (im.sense, {"lamda": 1e-3}),
    "undamped": (im.sense, {}),
    "l1_wavelet": (im.l1_wavelet, {"lamda": 1e-3}),
    "in place": (im.l1_wavelet, {"lamda": 1e-3, "seed": None}),
    "tv": (im.tv, {"lamda": 1e-3}),
    "tgv": (im.tgv, {"lamda": 1e-3}),
}


@pytest.mark.parametrize("which", RECIPES)
@pytest.mark.parametrize("samples", [cartesian, along_spokes])
def test_images_are_those_of_memory(which, samples):
    recipe, options = RECIPES[which]
    kspace, encoding = samples()
    options = {**options, **encoding, "maxiter": 8, "rtol": 0.0}
    here = recipe(kspace, MAPS, **options)
    there = recipe(kspace, MAPS, budget=ROOM, **options)
    assert isinstance(there.result.x, ts.stored.StoredArray) and isinstance(there.image, ts.stored.StoredArray)
    # Along spokes the normal is a convolution, or both halves of it, and rounding moves iterates of LSQR in the middle.
    near = 2e-3 if samples is cartesian else 2e-2
    assert im.nrmse(there.image.numpy(), here.image.numpy()) < near
    stored = recipe(ts.stored.array(kspace), ts.stored.array(MAPS), **options)  # no budget but the machine's
    assert im.nrmse(stored.image.numpy(), there.image.numpy()) < near


@pytest.mark.parametrize("share", [0.4, 0.8, 0.95, 1.05, 1.3, 1.9, 3.0])
@pytest.mark.parametrize("which", ["sense", "l1_wavelet", "tv"])
def test_every_budget_above_the_least_gives_the_image(which, share):
    """Where samples and images have room and no tile of the operator has beside them, they are on disk as well."""
    recipe, options = RECIPES[which]
    kspace, encoding = cartesian()
    options = {**options, **encoding, "maxiter": 2, "rtol": 0.0}
    here = recipe(kspace, MAPS, **options)
    there = recipe(kspace, MAPS, budget=int(share * 3.07e6), **options)
    image = there.image.numpy() if isinstance(there.image, ts.stored.StoredArray) else there.image
    assert im.nrmse(image, here.image) < 2e-3


@pytest.mark.parametrize("weighted", [None, "real", "complex"])
@pytest.mark.parametrize("block", [1, 7])
def test_frames_that_share_blocks(block, weighted):
    scans = [cartesian(seed) for seed in range(4)]
    kspace = np.stack([data * (1 + 0.1 * t) for t, (data, _) in enumerate(scans)])
    options = {"lamda": 1e-3, "mask": np.stack([encoding["mask"] for _, encoding in scans])}
    options |= {"block": block, "maxiter": 3}
    if weighted:
        rng = np.random.default_rng(1)
        weights = rng.uniform(0.5, 1, options["mask"].shape)
        options["weights"] = (
            weights * np.exp(1j * rng.uniform(0, 3, weights.shape)) if weighted == "complex" else weights
        )
    here = im.llr_dynamic(kspace, MAPS, **options)
    there = im.llr_dynamic(kspace, MAPS, budget="6MB", **options)
    assert isinstance(there.image, ts.stored.StoredArray)
    assert im.nrmse(there.image.numpy(), here.image.numpy()) < 2e-3


def test_what_does_not_fit_at_all_is_refused():
    kspace, encoding = cartesian()
    with pytest.raises(ts.OutOfMemory, match="budget"):
        im.sense(kspace, MAPS, budget="100kB", lamda=1e-3, **encoding)
    bad = kspace.copy()
    bad[3, 4, 5] = np.nan
    with pytest.raises(ts.ArgumentError, match="kspace, which is on disk, are not finite"):
        im.sense(bad, MAPS, budget=ROOM, **encoding)
    for recipe in (im.sense, im.l1_wavelet, im.tv, im.tgv):  # no device is passed over in silence
        with pytest.raises(ts.ArgumentError, match="device='sim:0'.* on disk"):
            recipe(ts.stored.array(kspace), MAPS, lamda=1e-3, device="sim:0", **encoding)
    with pytest.raises(ts.ArgumentError, match="noise|one coil"):
        im.sense(ts.stored.array(kspace[:1]), MAPS[:1], lamda="auto", **encoding)


def save(path, samples, **more):
    rng = np.random.default_rng(9)
    before = rng.standard_normal((len(samples), 500)) + 1j * rng.standard_normal((len(samples), 500))
    im.save_ismrmrd(path / "scan.h5", samples, noise=1e-3 * before, **more)
    np.save(path / "maps.npy", MAPS)


@pytest.mark.parametrize("recipe", [im.sense, im.l1_wavelet, im.tv, im.llr_dynamic])
def test_a_penalty_that_the_noise_tells(recipe):
    """Stein's estimate of samples on disk, drawn coil by coil, is that of memory."""
    maps = MAPS[:5, ::4, ::4]
    truth = im.shepp_logan().image(maps.shape[1:]).astype(np.complex64) / 20  # beside noise of 1e-3
    kspace = noisy(im.sense_operator(maps)(truth).numpy())
    if recipe is im.llr_dynamic:
        kspace = np.stack([kspace, noisy(0.8 * kspace, 1)])
    here = recipe(kspace, maps, lamda="auto", maxiter=3)
    there = recipe(ts.stored.array(kspace), ts.stored.array(maps), lamda="auto", maxiter=3)
    # CG goes on from the image of the lambda before, LSQR begins anew.
    assert there.lamda == pytest.approx(here.lamda, rel=0.2 if recipe is im.sense else 0.02)


def test_samples_that_a_mask_leaves_out_tell_nothing():
    kspace, none = cartesian()[0], np.zeros(SHAPE)
    for given in (kspace, ts.stored.array(kspace)):
        with pytest.raises(ts.ArgumentError, match="noise_level: radii"):
            im.sense(given, MAPS, mask=none, lamda="auto")


@pytest.mark.parametrize(
    "kind, method",
    [("radial", "grid"), ("learned", "sense"), *(("cartesian", m) for m in ("sense", "l1wavelet", "tv"))],
)
def test_a_file_to_an_image(kind, method, tmp_path):
    """With maps that are given, or learned from the samples of fewer coils."""
    coils = 6 if kind == "learned" else COILS
    if kind == "radial":
        kspace, encoding = along_spokes()
        save(tmp_path, kspace, shape=SHAPE, locs=encoding["locs"])
    else:
        save(tmp_path, noisy(im.sense_operator(MAPS[:coils])(TRUTH).numpy()))
    options = {"method": method, "iterations": 4, "quiet": True}
    options |= {"coils": 6, "calibration": 10} if kind == "learned" else {"maps": tmp_path / "maps.npy"}
    options |= {} if method == "grid" else {"lamda": "0.002"}
    im.recon(tmp_path / "scan.h5", tmp_path / "here.npy", **options)
    room = "1.3MB" if kind == "learned" else ROOM
    report = im.recon(tmp_path / "scan.h5", tmp_path / "there.npy", budget=room, **options)
    assert im.nrmse(np.load(tmp_path / "there.npy"), np.load(tmp_path / "here.npy")) < 2e-3
    assert method == "grid" or report["forecast"]["disk_read"] > 0
    assert {p.name for p in tmp_path.iterdir()} == {
        *("scan.h5", "maps.npy"),
        *(f"{name}.{ending}" for name in ("here", "there") for ending in ("npy", "json", "png")),
    }


def test_no_more_memory_than_the_budget(tmp_path):
    """Of a frame that takes 9.5 MB: arrays of ours and of NumPy, at the moment when they are most."""
    shape, coils = (128, 160), 24
    maps = im.Coils(coils).maps(shape).astype(np.complex64)
    samples = im.sense_operator(maps)(im.shepp_logan().image(shape).astype(np.complex64)).numpy()
    im.save_ismrmrd(tmp_path / "scan.h5", noisy(samples))
    np.save(tmp_path / "maps.npy", maps)
    del maps, samples
    taken = {}
    for budget in (None, "5MB"):
        ts.synchronize()
        ts.reset_peak("cpu")
        before = ts.memory_stats("cpu")["in_use"]
        tracemalloc.start()
        im.recon(
            tmp_path / "scan.h5",
            tmp_path / "image.npy",
            **dict(method="l1wavelet", lamda="0.002", iterations=2, quiet=True, maps=tmp_path / "maps.npy"),
            budget=budget,
        )
        taken[budget] = ts.memory_stats("cpu")["peak"] - before + tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert taken["5MB"] < 6.5e6 < 15e6 < taken[None]
