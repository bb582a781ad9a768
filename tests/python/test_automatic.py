# SPDX-License-Identifier: Apache-2.0
"""lamda="auto" in every recipe that has a lamda: as near to the truth as the best of a scan, or a sentence."""

import inspect
import json

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im

SHAPE = (48, 45)
COILS = im.Coils(6)
MAPS, HEAD = COILS.maps(SHAPE), im.shepp_logan().image(SHAPE)
MASK = im.poisson_disc(SHAPE, 2.5, calibration=10)
LOCS = im.radial(36, 96, 48, golden=True)
TIMES = 5
MASKS = np.stack([im.poisson_disc(SHAPE, 4, calibration=8, seed=t) for t in range(TIMES)])
MANY_LOCS = np.stack([im.radial(15, 96, 48, golden=True, first=15 * t) for t in range(TIMES)])
FRAMES = HEAD * (1 + 0.3 * np.sin(np.arange(TIMES)))[:, None, None]
BASIS = im.subspace_basis(np.exp(-np.arange(TIMES)[:, None] / np.linspace(2, 9, 20)), 2)
COEFFICIENTS = np.stack([HEAD, 0.3 * HEAD[:, ::-1]])
SLICES = np.stack([HEAD, HEAD[::-1] * 0.7])
SLICE_MAPS = np.stack([MAPS, np.roll(MAPS, 2, 0)])
SHOTS = np.stack([(np.arange(SHAPE[0])[:, None] % 3 == i) & MASK for i in range(3)])
MOVES = [0.0, 0.1, -0.05], [(0, 0), (1, 0.5), (-0.5, 1)]
RAYS = ts.ParallelBeam(np.linspace(0, np.pi, 45, endpoint=False), SHAPE, 69, batch_shape=())


def along(A, x):
    return A(x + 0j).numpy()


def one_frame(recipe, **where):
    data = along(im.sense_operator(MAPS, **where), HEAD)
    return HEAD, data, lambda y, coils=6, **more: recipe(y, MAPS[:coils], **where, **more)


def dynamic(key, given):
    data = np.stack([along(im.sense_operator(MAPS, **{key: at}), x) for at, x in zip(given, FRAMES, strict=True)])
    return FRAMES, data, lambda y, coils=6, **more: im.llr_dynamic(y, MAPS[:coils], **{key: given}, **more)


def few(key, given, block):
    data = along(im.subspace_operator(MAPS, BASIS, **{key: given}), COEFFICIENTS)
    more = {key: given, "block": block}
    return COEFFICIENTS, data, lambda y, coils=6, **o: im.subspace(y, MAPS[:coils], BASIS, **more, **o)


def slices():
    data = along(im.multislice_operator(SLICE_MAPS, mask=MASK), SLICES)
    return SLICES, data, lambda y, coils=6, **more: im.multislice(y, SLICE_MAPS[:, :coils], mask=MASK, **more)


def moved():
    data = along(im.motion_operator(MAPS, SHOTS, *MOVES), HEAD)
    return HEAD, data, lambda y, coils=6, **more: im.motion_sense(y, MAPS[:coils], SHOTS, *MOVES, **more)


def rays():
    return HEAD, RAYS(HEAD).numpy(), lambda y, **more: im.tv_ct(y, RAYS, **more)


# The truth, its samples, and the recipe as a function of samples; how much worse than the best of a scan "auto" may be
# where the noise is known: a residual of its size is what a penalty a little too strong leaves.
CASES = {
    "sense mask": (lambda: one_frame(im.sense, mask=MASK), 1.6),
    "sense locs": (lambda: one_frame(im.sense, locs=LOCS), 1.6),
    "l1_wavelet mask": (lambda: one_frame(im.l1_wavelet, mask=MASK), 1.6),
    "l1_wavelet locs": (lambda: one_frame(im.l1_wavelet, locs=LOCS), 1.6),
    "tv mask": (lambda: one_frame(im.tv, mask=MASK), 1.6),
    "tv locs": (lambda: one_frame(im.tv, locs=LOCS), 1.6),
    "tgv mask": (lambda: one_frame(im.tgv, mask=MASK), 1.6),
    "llr_dynamic mask": (lambda: dynamic("mask", MASKS), 1.6),
    "llr_dynamic locs": (lambda: dynamic("locs", MANY_LOCS), 1.6),
    "subspace mask": (lambda: few("mask", MASKS, 8), 1.6),
    "subspace locs": (lambda: few("locs", MANY_LOCS, 8), 1.6),
    "multislice mask": (slices, 1.6),
    "motion_sense mask": (moved, 1.6),
    "tv_ct rays": (rays, 1.6),
}


def noisy(data, share, seed=0):
    """The samples with noise of this share of their root mean square, and its root mean square in a sample."""
    rng = np.random.default_rng(seed)
    level = share * np.sqrt(np.mean(np.abs(data) ** 2))
    noise = rng.standard_normal(data.shape)
    if np.iscomplexobj(data):
        noise = (noise + 1j * rng.standard_normal(data.shape)) / np.sqrt(2)
    return data + level * noise, level


def test_every_recipe_with_a_lamda_is_here():
    takes = {name for name in im.__all__ if callable(getattr(im, name)) and not isinstance(getattr(im, name), type)}
    takes = {name for name in takes if "lamda" in inspect.signature(getattr(im, name)).parameters}
    assert takes - {name.split()[0] for name in CASES} == {"joint_maps", "tgv_terms"}


@pytest.mark.parametrize("name", CASES)
def test_auto_is_near_the_best_of_a_scan(name):
    make, worse = CASES[name]
    truth, data, recipe = make()
    y, level = noisy(data, (0.1, 0.3)[list(CASES).index(name) % 2])
    found = recipe(y, lamda="auto")
    given = recipe(y, lamda="auto", noise=level)
    assert found.lamda > 0 and 0.2 < found.lamda / given.lamda < 5
    same = recipe(y, lamda=found.lamda)
    assert same.lamda == found.lamda and np.array_equal(same.image, found.image)
    scan = [im.nrmse(recipe(y, lamda=found.lamda * 10**k).image, truth) for k in (-1, -0.5, 0.5)]
    errors = [im.nrmse(one.image, truth) for one in (found, given)]
    best = min(*scan, *errors)
    assert errors[1] < worse * best and errors[0] < 1.3 * worse * best, (errors, scan)


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_told_is_a_sentence(name):
    truth, data, recipe = CASES[name][0]()
    who = name.split()[0]
    for bad in ("best", None, -1.0, np.nan, np.inf, [], "0.1"):
        with pytest.raises(ts.ArgumentError, match=f"^{who}: lamda "):
            recipe(data, lamda=bad, maxiter=1)
    for bad in (-1.0, np.nan, np.inf, "much"):
        with pytest.raises(ts.ArgumentError, match=f"^{who}: noise .*(root mean square|expected a number)"):
            recipe(data, lamda="auto", noise=bad, maxiter=1)
    if who == "tv_ct":
        few_cells = ts.ParallelBeam(np.linspace(0, np.pi, 30, endpoint=False), SHAPE, 7, batch_shape=())
        with pytest.raises(ts.ArgumentError, match='^tv_ct: lamda "auto" of 7 cells'):
            im.tv_ct(few_cells(HEAD), few_cells, lamda="auto")
        return
    axis = 1 if who in ("llr_dynamic", "subspace") else 0
    one = np.take(data, [0], axis)
    with pytest.raises(ts.ArgumentError, match=f'^{who}: lamda "auto" of one coil.*give noise'):
        recipe(one, coils=1, lamda="auto", maxiter=1)
    assert recipe(one, coils=1, lamda="auto", noise=0.05, maxiter=2).lamda > 0


@pytest.mark.parametrize("who", ["joint_maps", "tgv_terms"])
def test_what_has_no_auto(who):
    with pytest.raises(ts.ArgumentError, match=f"^{who}: lamda (is )?'auto'"):
        if who == "joint_maps":
            im.joint_maps(along(im.sense_operator(MAPS), HEAD), SHAPE, mask=MASK, lamda="auto")
        else:
            im.tgv_terms(ts.Identity(("Ny", "Nx")), "auto")


@pytest.mark.parametrize(
    "name", ["sense mask", "tgv mask", "subspace mask", "multislice mask", "motion_sense mask", "tv_ct rays"]
)
def test_on_a_device(name):
    truth, data, recipe = CASES[name][0]()
    y, level = noisy(data, 0.1)
    here = recipe(y, lamda="auto", maxiter=5)
    if name == "tv_ct rays":
        there = im.tv_ct(ts.asarray(y).to("sim:0"), RAYS.to("sim:0"), lamda="auto", maxiter=5)
    else:
        there = recipe(y, lamda="auto", maxiter=5, device="sim:0")
    assert there.lamda == pytest.approx(here.lamda, rel=0.2)


@pytest.mark.parametrize("lamda", ["auto", "0.01"])
@pytest.mark.parametrize("method", ["sense", "l1wavelet", "tv", "lowrank"])
@pytest.mark.parametrize("kind", ["cartesian", "radial"])
def test_the_command(kind, method, lamda, tmp_path):
    pytest.importorskip("h5py")
    if (kind, method) == ("cartesian", "lowrank"):
        pytest.skip("save_ismrmrd writes one frame of Cartesian samples")
    frames = slice(None) if method == "lowrank" else 0
    where = {"locs": MANY_LOCS[frames]} if kind == "radial" else {}
    each = MANY_LOCS if method == "lowrank" else [where.get("locs")]
    data = np.stack([along(im.sense_operator(MAPS, locs=at), HEAD) for at in each])
    y, level = noisy(data if method == "lowrank" else data[0], 0.05)
    shape = {"shape": SHAPE} if kind == "radial" else {}
    silent = level / np.sqrt(2) * (np.random.default_rng(1).standard_normal((6, 400, 2)) @ [1, 1j])
    im.save_ismrmrd(tmp_path / "scan.h5", y, **where, **shape, noise=silent)
    report = im.recon(tmp_path / "scan.h5", tmp_path / "x.npy", method=method, lamda=lamda, calibration=12, quiet=True)
    told = json.loads((tmp_path / "x.json").read_text())["images"][0]["lambda"]
    assert told == report["images"][0]["lambda"] and (told == 0.01 if lamda == "0.01" else told > 0)
