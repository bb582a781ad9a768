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
TIMES = 4
MASKS = np.stack([im.poisson_disc(SHAPE, 4, calibration=8, seed=t) for t in range(TIMES)])
MANY_LOCS = np.stack([im.radial(15, 96, 48, golden=True, first=15 * t) for t in range(TIMES)])
FRAMES = HEAD * (1 + 0.3 * np.sin(np.arange(TIMES)))[:, None, None]
BASIS = im.subspace_basis(np.exp(-np.arange(TIMES)[:, None] / np.linspace(2, 9, 20)), 2)
COEFFICIENTS = np.stack([HEAD, 0.3 * HEAD[:, ::-1]])
SLICES = np.stack([HEAD, HEAD[::-1] * 0.7])
SLICE_MAPS = np.stack([MAPS, np.roll(MAPS, 2, 0)])
SHOTS = np.stack([(np.arange(SHAPE[0])[:, None] % 3 == i) & MASK for i in range(3)])
MOVES = [0.0, 0.1, -0.05], [(0, 0), (1, 0.5), (-0.5, 1)]
SECTION = im.shepp_logan().image((32, 30))
RAYS = ts.ParallelBeam(np.linspace(0, np.pi, 16, endpoint=False), SECTION.shape, 47, batch_shape=())


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
    return SECTION, RAYS(SECTION).numpy(), lambda y, **more: im.tv_ct(y, RAYS, **more)


# The truth, its samples, and the recipe as a function of samples.
CASES = {
    "sense mask": lambda: one_frame(im.sense, mask=MASK),
    "sense locs": lambda: one_frame(im.sense, locs=LOCS),
    "l1_wavelet mask": lambda: one_frame(im.l1_wavelet, mask=MASK),
    "l1_wavelet locs": lambda: one_frame(im.l1_wavelet, locs=LOCS),
    "tv mask": lambda: one_frame(im.tv, mask=MASK),
    "tv locs": lambda: one_frame(im.tv, locs=LOCS),
    "tgv mask": lambda: one_frame(im.tgv, mask=MASK),
    "llr_dynamic mask": lambda: dynamic("mask", MASKS),
    "llr_dynamic locs": lambda: dynamic("locs", MANY_LOCS),
    "subspace mask": lambda: few("mask", MASKS, 8),
    "subspace locs": lambda: few("locs", MANY_LOCS, 8),
    "multislice mask": slices,
    "motion_sense mask": moved,
    "tv_ct rays": rays,
}
# Where the noise is known, and where it is told from the data: at most this times the error of the best of a scan.
WORSE, WORSE_TOLD = 1.15, 1.25


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


def scanned(recipe, y, truth, found, more=()):
    """The least error of strengths around the one that was found."""
    near = [im.nrmse(recipe(y, lamda=found.lamda * 10**k).image, truth) for k in (-0.5, 0.35, *more)]
    return min(im.nrmse(found.image, truth), *near)


@pytest.mark.parametrize("name", CASES)
def test_auto_is_near_the_best_of_a_scan(name):
    truth, data, recipe = CASES[name]()
    y, level = noisy(data, (0.05, 0.2)[list(CASES).index(name) % 2])
    given = recipe(y, lamda="auto", noise=level)
    best = scanned(recipe, y, truth, given)
    assert given.lamda > 0 and im.nrmse(given.image, truth) < WORSE * best
    same = recipe(y, lamda=given.lamda)
    assert same.lamda == given.lamda and np.array_equal(same.image, given.image)
    found = recipe(y, lamda="auto")
    assert 0.4 < found.lamda / given.lamda < 2.5 and im.nrmse(found.image, truth) < WORSE_TOLD * best


def test_a_risk_without_a_least_keeps_to_what_was_looked_at():
    """It falls all the way, as of samples that are noise alone: then the strongest lambda that was tried, or nearly."""
    from tessera.imaging._automatic import _least

    for bend in (0.0, 1e-13, 1e-3):
        assert 10 <= _least(lambda value, bend=bend: -np.log10(value) + bend * np.log10(value) ** 2, 1.0) <= 100.1
        assert 1e-5 < _least(lambda value, bend=bend: np.log10(value) + bend * np.log10(value) ** 2, 1.0) <= 1e-3


WHO, PATTERNS = ("sense", "l1_wavelet", "tv", "llr_dynamic"), ("disc", "lines", "spokes", "weighted spokes")
DRAWN = [
    (who, pattern, (0.02, 0.1, 0.4)[(i + j) % 3], i + 2 * j)
    for i, who in enumerate(WHO)
    for j, pattern in enumerate(PATTERNS)
]


@pytest.mark.parametrize("who, pattern, share, seed", DRAWN)
def test_auto_over_patterns_noise_and_seeds(who, pattern, share, seed):
    """Small images; the seed draws the noise, the mask and the first angle."""
    shape, coils = (32, 30), im.Coils(5)
    lines = np.broadcast_to(np.isin(np.arange(32), [*range(seed % 2, 32, 2), *range(12, 20)])[:, None], shape)
    spokes = im.radial(24, 64, 32, golden=True, first=7 * seed)
    where = {
        "disc": {"mask": im.poisson_disc(shape, 2.5, calibration=8, seed=seed)},
        "lines": {"mask": lines},
        "spokes": {"locs": spokes},
        "weighted spokes": {"locs": spokes, "weights": np.sqrt(np.linalg.norm(spokes, axis=-1) + 0.25) / 4},
    }[pattern]
    head, maps = im.shepp_logan().image(shape), coils.maps(shape)
    clean = along(im.sense_operator(maps, **{k: v for k, v in where.items() if k != "weights"}), head)
    truth, recipe = head, getattr(im, who)
    if who == "llr_dynamic":
        where = {name: np.stack([value] * 3) for name, value in where.items()}
        truth, clean = (
            head * np.array([1, 0.8, 1.2])[:, None, None],
            clean * np.array([1, 0.8, 1.2]).reshape(3, 1, *[1] * (clean.ndim - 1)),
        )
    y, level = noisy(clean, share, 100 + seed)

    def of(y, **more):
        return recipe(y, maps, **where, **more)

    found = of(y, lamda="auto", noise=level)
    assert im.nrmse(found.image, truth) < WORSE * scanned(of, y, truth, found, (-0.2, 0.15))


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_told_is_a_sentence(name):
    truth, data, recipe = CASES[name]()
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


@pytest.mark.parametrize("name", ["sense mask", "subspace mask", "multislice mask", "tv_ct rays"])
def test_on_a_device(name):
    truth, data, recipe = CASES[name]()
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
