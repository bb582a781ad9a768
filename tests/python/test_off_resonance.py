# SPDX-License-Identifier: Apache-2.0
"""Reconstructions with a map of the main field, beside objects whose off-resonance is exact."""

import json

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im

SHAPE = (32, 30)
COILS = im.Coils(5)
MAPS = COILS.maps(SHAPE)
STEP = 8e-6  # seconds between samples
LOCS = im.spiral(12, 300, 32)
TIMES = np.arange(300) * STEP
HERTZ = [0.0, 180.0, -140.0]
DISCS = [
    im.Phantom([value], [centre], [radii], [0.3])
    for value, centre, radii in [
        (1.0, (-0.4, 0.0), (0.3, 0.5)),
        (0.7, (0.45, 0.4), (0.3, 0.3)),
        (1.2, (0.4, -0.45), (0.35, 0.25)),
    ]
]
TRUTH = sum(disc.image(SHAPE) for disc in DISCS)


def discs_field():
    """Of each pixel the frequency of the disc that it belongs to."""
    field = np.zeros(SHAPE)
    for disc, value in zip(DISCS, HERTZ, strict=True):
        field[disc.image(SHAPE) > 0] = value
    return field


def discs_kspace(locs, times):
    """Each disc turns as a whole: exact, without any grid."""
    parts = zip(DISCS, HERTZ, strict=True)
    return sum(disc.kspace(locs, SHAPE, coils=COILS) * np.exp(-2j * np.pi * f * times) for disc, f in parts)


def grid_locs(shape):
    return np.stack(np.meshgrid(*[np.arange(n) - n // 2 for n in shape], indexing="ij"), -1)


def exact_samples(maps, locs, field, times, image):
    """By the sum of all pixels."""
    shape = image.shape
    at = np.stack(np.meshgrid(*[(np.arange(n) - n // 2) / n for n in shape], indexing="ij"), -1).reshape(-1, len(shape))
    points = locs.reshape(-1, len(shape))
    turns = points @ at.T + np.broadcast_to(times, locs.shape[:-1]).reshape(-1, 1) * field.reshape(1, -1)
    made = np.exp(-2j * np.pi * turns) @ (maps * image).reshape(len(maps), -1).T / np.sqrt(image.size)
    return made.T.reshape(len(maps), *locs.shape[:-1])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(12, 10), (6, 5, 8)])
@pytest.mark.parametrize("kind", ["locs", "readouts", "grid", "mask", "all times"])
def test_the_operator_is_the_sum_of_its_pixels(kind, shape, dtype, rng):
    maps = im.Coils(3, len(shape)).maps(shape).astype(dtype)
    field, image = rng.uniform(-60, 60, shape), rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    locs, mask, more = grid_locs(shape), None, {}
    times = np.linspace(-0.004, 0.012, shape[-1])
    if kind in ("locs", "readouts"):
        locs = rng.uniform(-0.5, 0.5, ((7, 20) if kind == "readouts" else (20,)) + (len(shape),)) * shape
        times, more = np.linspace(0, 0.02, 20), {"locs": locs}
    if kind == "mask":
        mask = rng.random(shape) > 0.4
        more = {"mask": mask}
    if kind == "all times":
        times = rng.uniform(0, 0.02, shape)
    A = im.sense_operator(maps, **more, field_map=field, times=times, tol=1e-5)
    want = exact_samples(maps, locs, field, times, image) * (1 if mask is None else mask)
    got = A(image.astype(dtype))
    assert got.dtype == dtype and got.shape == want.shape
    assert np.linalg.norm(got.numpy() - want) < (3e-5 if dtype == "complex128" else 1e-4) * np.linalg.norm(want)
    assert A.oshape == im.sense_operator(maps, **{k: v for k, v in more.items()}).oshape
    y = rng.standard_normal(want.shape) + 1j * rng.standard_normal(want.shape)
    left, right = np.vdot(y, A(image).numpy()), np.vdot(A.H(y).numpy(), image)
    assert abs(left - right) < 1e-5 * np.linalg.norm(y) * np.linalg.norm(want)


@pytest.mark.parametrize("recipe", ["sense", "l1_wavelet", "tv", "tgv", "llr_dynamic"])
def test_the_map_takes_the_blur_away(recipe, tmp_path):
    """Discs that turn each at its own frequency, whose samples no grid has touched: almost as good as without."""
    field, data = discs_field(), discs_kspace(LOCS, TIMES)
    still = sum(disc.kspace(LOCS, SHAPE, coils=COILS) for disc in DISCS)
    np.save(tmp_path / "field.npy", field)

    def error(kspace, **more):
        call = getattr(im, recipe)
        if recipe == "llr_dynamic":
            found = call(np.stack([kspace] * 2), MAPS, locs=np.stack([LOCS] * 2), lamda=1e-3, maxiter=20, **more).image
            return im.nrmse(found[0], TRUTH)
        return im.nrmse(
            call(kspace, MAPS, locs=LOCS, lamda=1e-3, maxiter=100 if recipe == "tgv" else 25, **more).image, TRUTH
        )

    best, blurred = error(still), error(data)
    for given in (field, field.astype(np.float32), str(tmp_path / "field.npy"), field[None]):
        assert error(data, field_map=given, times=TIMES) < 1.15 * best + 0.04
        if recipe != "sense":
            break
    assert blurred > 2 * best


def test_a_field_that_grows_along_an_axis():
    """Its samples are those of the phantom at places that move while time passes: exact for any object."""
    head, slope = im.shepp_logan(), np.array([90.0, -70.0])  # hertz over the field of view
    truth, field = head.image(SHAPE), 0.0
    for axis, n in enumerate(SHAPE):
        field = field + slope[axis] * ((np.arange(n) - n // 2) / n).reshape([-1 if a == axis else 1 for a in range(2)])
    data = head.kspace(LOCS + slope * TIMES[:, None], SHAPE, coils=COILS)
    errors = [
        im.nrmse(im.sense(data, MAPS, locs=LOCS, lamda=1e-3, **more).image, truth)
        for more in ({}, {"field_map": field, "times": TIMES})
    ]
    still = im.nrmse(im.sense(head.kspace(LOCS, SHAPE, coils=COILS), MAPS, locs=LOCS, lamda=1e-3).image, truth)
    assert errors[1] < 1.1 * still < 1.5 * errors[0]


@pytest.mark.parametrize("more", [{"device": "sim:0"}, {"device": ["sim:0", "sim:1"]}, {"budget": "4MB"}], ids=str)
def test_on_devices_and_under_budgets(more):
    data, same = discs_kspace(LOCS, TIMES), dict(locs=LOCS, lamda=1e-2, field_map=discs_field(), times=TIMES, maxiter=8)
    here = im.sense(data, MAPS, **same)
    there = im.sense(data, MAPS, **same, **more)
    assert im.nrmse(there.image.to("cpu"), here.image) < 1e-3


@pytest.mark.parametrize(
    "change, words",
    [
        ({"times": None}, "a field map alone; expected both"),
        ({"field_map": None}, "times alone; expected both"),
        ({"field_map": np.zeros((3, 4))}, r"field map of float64 and shape \(3, 4\); expected .*\(32, 30\)"),
        ({"field_map": np.zeros(SHAPE, complex)}, "field map of complex128"),
        ({"field_map": np.full(SHAPE, np.nan)}, "field_map are not finite"),
        ({"field_map": "none.npy"}, "none.npy"),
        ({"times": np.zeros(7)}, r"times of float64 and shape \(7,\); expected seconds of the samples \(12, 300\)"),
        ({"times": 0.1}, r"shape \(\)"),
        ({"times": np.full(300, np.inf)}, "times are not finite"),
        ({"times": np.zeros(300, complex)}, "times of complex128"),
        ({"times": np.zeros((2, 12, 300))}, "times of float64"),
        ({"field_map": "many"}, "many"),
    ],
)
def test_maps_and_times_that_do_not_fit(change, words):
    given = {"field_map": np.zeros(SHAPE), "times": TIMES} | change
    with pytest.raises(ts.Error, match=words):
        im.sense_operator(MAPS, locs=LOCS, **given)


@pytest.fixture
def scan(tmp_path):
    pytest.importorskip("h5py")
    centre = LOCS.shape[1] // 2  # where save_ismrmrd says that readouts have their middle
    data = discs_kspace(LOCS, TIMES - centre * STEP)
    im.save_ismrmrd(tmp_path / "scan.h5", data, locs=LOCS, shape=SHAPE, trajectory="spiral", sample_time=STEP)
    np.save(tmp_path / "maps.npy", MAPS.astype(np.complex64))
    im.save_image(tmp_path / "field.nii", discs_field().astype(np.float32))
    im.save_image(tmp_path / "field.zarr", discs_field().astype(np.float32)[None])
    return tmp_path / "scan.h5"


@pytest.mark.parametrize("method", ["grid", "sense", "l1wavelet", "tv"])
def test_the_command(method, scan, tmp_path):
    same = {"method": method, "maps": tmp_path / "maps.npy", "quiet": True}
    same |= {} if method == "grid" else {"lamda": "0.001"}
    errors = {}
    for name in (None, "field.nii", "field.zarr"):
        more = {} if name is None else {"field_map": tmp_path / name}
        im.recon(scan, tmp_path / "x.npy", **same, **more)
        errors[name] = im.nrmse(np.abs(np.load(tmp_path / "x.npy")), TRUTH, scale=True)
    assert errors["field.nii"] == errors["field.zarr"] < (0.95 if method == "grid" else 0.75) * errors[None]


def test_the_time_of_a_sample(scan, tmp_path):
    """By the file, or by the command where the file does not tell it; stages belong to it and to the map."""
    import h5py

    same = {"maps": tmp_path / "maps.npy", "quiet": True, "lamda": "0.001", "field_map": tmp_path / "field.nii"}
    im.recon(scan, tmp_path / "a.npy", **same)
    im.recon(scan, tmp_path / "b.npy", **same, sample_time=np.float64(STEP), checkpoint=tmp_path / "stages")
    assert im.nrmse(np.load(tmp_path / "b.npy"), np.load(tmp_path / "a.npy")) < 1e-3
    with pytest.raises(ts.IoError, match="sample_time differ"):
        im.recon(scan, tmp_path / "b.npy", **same, sample_time=2 * STEP, checkpoint=tmp_path / "stages")
    im.save_image(tmp_path / "field.nii", np.zeros(SHAPE, np.float64))
    with pytest.raises(ts.IoError, match="field_map differ"):
        im.recon(scan, tmp_path / "b.npy", **same, sample_time=STEP, checkpoint=tmp_path / "stages")
    assert json.loads((tmp_path / "b.json").read_text())["command"]["sample_time"] == STEP

    def changed(name, number, value):
        im.save_ismrmrd(tmp_path / "other.h5", discs_kspace(LOCS, TIMES), locs=LOCS, shape=SHAPE, sample_time=STEP)
        with h5py.File(tmp_path / "other.h5", "r+") as file:
            data = file["dataset/data"]
            for i in range(len(data)) if number is None else [number]:
                one = data[i]
                one["head"][name] = value
                data[i] = one

    for name, number, value, words in [
        ("sample_time_us", None, 0, "sample_time_us 0 does not tell.*--sample-time"),
        ("sample_time_us", 3, 1, "acquisition 3 has sample_time_us 1"),
        ("center_sample", 5, 7, "acquisition 5 has center_sample 7, the first 150"),
        ("flags", 2, 1 << 21, "acquisition 2 runs backwards"),
    ]:
        changed(name, number, value)
        with pytest.raises(ts.IoError, match=words):
            im.recon(tmp_path / "other.h5", tmp_path / "x.npy", **same)
    changed("sample_time_us", None, 0)
    im.recon(tmp_path / "other.h5", tmp_path / "x.npy", **same, sample_time=STEP)


def test_arguments_that_do_not_fit(scan, tmp_path):
    np.save(tmp_path / "small.npy", np.zeros((3, 4)))
    field = tmp_path / "field.nii"
    for more, words in [
        ({"sample_time": 1e-6}, "--sample-time 1e-06 without --field-map"),
        ({"field_map": field, "sample_time": -1.0}, "--sample-time -1.0; expected seconds"),
        ({"field_map": field, "sample_time": "soon"}, "--sample-time 'soon'"),
        ({"field_map": tmp_path / "none.nii"}, "--field-map .*none.nii: there is no such file"),
        ({"field_map": tmp_path / "small.npy"}, r"--field-map: a field map .*small.npy .*\(3, 4\)"),
        ({"field_map": field, "report": field}, "would overwrite what --field-map names"),
    ]:
        with pytest.raises(ts.Error, match=f"^recon: .*{words}"):
            im.recon(scan, tmp_path / "x.npy", quiet=True, **more)
    assert not (tmp_path / "x.npy").exists()


def test_a_cartesian_scan(tmp_path):
    """Columns are taken one after the other: the field moves discs along the readout, and the map moves them back."""
    pytest.importorskip("h5py")
    locs = grid_locs(SHAPE).astype(float)
    step = 200e-6
    times = (np.arange(SHAPE[1]) - SHAPE[1] // 2) * step
    im.save_ismrmrd(tmp_path / "scan.h5", discs_kspace(locs, times), sample_time=step)
    np.save(tmp_path / "maps.npy", MAPS.astype(np.complex64))
    np.save(tmp_path / "field.npy", discs_field())
    errors = []
    for more in ({}, {"field_map": tmp_path / "field.npy"}):
        im.recon(tmp_path / "scan.h5", tmp_path / "x.npy", maps=tmp_path / "maps.npy", lamda="0.01", quiet=True, **more)
        errors.append(im.nrmse(np.abs(np.load(tmp_path / "x.npy")), TRUTH, scale=True))
    assert errors[1] < 0.6 * errors[0]


def test_slices_have_their_own_maps(tmp_path):
    ismrmrd = pytest.importorskip("ismrmrd")
    from tessera.imaging._ismrmrd_layout import write_header

    data = ismrmrd.Dataset(str(tmp_path / "scan.h5"), "dataset", create_if_needed=True)
    data.write_xml_header(write_header("spiral", (1, *SHAPE), 5, len(LOCS)).encode())
    for slice_, sign in enumerate((1, -1)):
        kspace = discs_kspace(LOCS, sign * TIMES).astype(np.complex64)
        for r in range(len(LOCS)):
            made = ismrmrd.Acquisition.from_array(kspace[:, r], np.ascontiguousarray(LOCS[r, :, ::-1], np.float32))
            made.idx.slice, made.idx.kspace_encode_step_1, made.sample_time_us = slice_, r, 1e6 * STEP
            data.append_acquisition(made)
    data.close()
    np.save(tmp_path / "maps.npy", MAPS.astype(np.complex64))
    np.save(tmp_path / "field.npy", np.stack([discs_field(), -discs_field()]))
    im.recon(
        tmp_path / "scan.h5",
        tmp_path / "x.npy",
        maps=tmp_path / "maps.npy",
        field_map=tmp_path / "field.npy",
        lamda="0.001",
        quiet=True,
    )
    for image in np.load(tmp_path / "x.npy"):
        assert im.nrmse(np.abs(image), TRUTH, scale=True) < 0.25
