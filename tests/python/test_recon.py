# SPDX-License-Identifier: Apache-2.0
"""`tessera recon`: one image however it is made, runs that were killed, and what is refused before any work."""

import functools
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im

pytest.importorskip("h5py")
SHAPE, COILS = (48, 48), im.Coils(6)
HEAD = im.shepp_logan()
TRUTH = HEAD.image(SHAPE) * np.linalg.norm(COILS.maps(SHAPE), axis=0)


def noise(shape, size, seed):
    rng = np.random.default_rng(seed)
    return size * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))


@pytest.fixture(scope="module")
def radial_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("scans") / "radial.h5"
    locs = im.radial(30, 96, 48, golden=True)
    kspace = HEAD.kspace(locs, SHAPE, coils=COILS)
    size = 2e-4 * np.abs(kspace).max()
    im.save_ismrmrd(
        path, kspace + noise(kspace.shape, size, 0), locs=locs, shape=SHAPE, noise=noise((6, 1000), size, 1)
    )
    return path


@pytest.fixture(scope="module")
def cartesian_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("scans") / "cartesian.h5"
    kspace = im.sense_operator(COILS.maps(SHAPE))(HEAD.image(SHAPE)).numpy()
    im.save_ismrmrd(path, kspace + noise(kspace.shape, 1e-3, 2))
    return path


def command(*arguments):
    return [sys.executable, "-m", "tessera", "recon", *map(str, arguments)]


def run(*arguments, **more):
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=300, **more)


@pytest.mark.parametrize("method, error", [("grid", 0.4), ("sense", 0.25), ("l1wavelet", 0.2), ("tv", 0.22)])
@pytest.mark.parametrize("kind", ["radial", "cartesian"])
def test_a_file_to_an_image(method, error, kind, request, tmp_path):
    scan = request.getfixturevalue(f"{kind}_file")
    report = im.recon(scan, tmp_path / "image.nii.gz", method=method, quiet=True, calibration=20)
    image, affine = im.load_nifti(tmp_path / "image.nii.gz")
    assert image.shape == (1, *SHAPE)[-image.ndim :] and image.dtype == np.float32
    assert im.nrmse(image.reshape(SHAPE), TRUTH, scale=True) < (error if kind == "radial" else 0.1)
    assert json.loads((tmp_path / "image.json").read_text())["stages"] == report["stages"]
    assert (tmp_path / "image.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["image.json", "image.nii.gz", "image.png"]
    if method != "grid":
        made = report["images"][0]
        assert made["lambda"] > 0 and len(made["residuals"]) == made["iterations"] + 1
        assert "workspace" in report["forecast"] and "plan" in report["plan"]


@pytest.mark.parametrize("name", ["image.npy", "image.cfl", "image.h5", "image.zarr", "image.tessera"])
def test_files_of_every_kind_hold_the_image(name, cartesian_file, tmp_path):
    im.recon(cartesian_file, tmp_path / name, method="grid", quiet=True)
    image = im.load_image(tmp_path / name)
    assert image.shape == SHAPE and np.iscomplexobj(image)
    assert im.nrmse(np.abs(image), TRUTH, scale=True) < 0.05


@pytest.fixture(scope="module")
def image_of(radial_file, tmp_path_factory):
    """image_of(method, **where): the image of a method, wherever it is made; those made here are made once."""

    def made(method, **where):
        path = tmp_path_factory.mktemp("images") / "image.npy"
        same = {"method": method, "lamda": "0.002", "iterations": 12, "quiet": True, "calibration": 20}
        im.recon(radial_file, path, **same, **where)
        return np.load(path)

    here = functools.cache(made)
    return lambda method, **where: made(method, **where) if where else here(method)


@pytest.mark.parametrize("more", [{"device": "sim:0"}, {"device": "sim:0,sim:1"}, {"budget": "100MiB"}])
@pytest.mark.parametrize("method", ["sense", "l1wavelet", "tv"])
def test_the_same_image_on_devices_and_under_budgets(method, more, image_of):
    assert im.nrmse(image_of(method, **more), image_of(method)) < 1e-3


@pytest.mark.parametrize("recipe", [im.sense, im.l1_wavelet, im.tv])
def test_tiles_of_coils_under_a_budget(recipe):
    maps = im.Coils(24).maps(SHAPE).astype(np.complex64)
    locs = im.radial(30, 96, 48)
    data = im.sense_operator(maps, locs=locs)(HEAD.image(SHAPE).astype(np.complex64)).numpy()
    images = [recipe(data, maps, locs=locs, lamda=1e-3, maxiter=8, budget=b) for b in (None, "5MB")]
    assert [made.operator.kind for made in images] == ["Chain", "Tiled"]
    assert im.nrmse(images[1].image, images[0].image) < 5e-3


def test_the_same_image_over_ranks(radial_file, tmp_path):
    from dist import launch

    if not launch.mpirun():
        pytest.skip("no mpirun")
    same = ["--method", "sense", "--lambda", "0.002", "--iterations", "10", "--quiet", "--calibration", "20"]
    assert run(radial_file, "-o", tmp_path / "one.npy", *same).returncode == 0
    with launch.Group(3, command(radial_file, "-o", tmp_path / "three.npy", *same)[1:], tmp_path) as group:
        assert group.wait(300) == 0, group.words()
    assert json.loads((tmp_path / "three.json").read_text())["ranks"] == 3
    assert im.nrmse(np.load(tmp_path / "three.npy"), np.load(tmp_path / "one.npy")) < 1e-3


def several(tmp_path, slices=2, repetitions=3, coils=COILS):
    """Slices and repetitions, each with spokes of its own, by the package of the standard."""
    ismrmrd = pytest.importorskip("ismrmrd")
    from tessera.imaging._ismrmrd_layout import write_header

    path = tmp_path / "several.h5"
    data = ismrmrd.Dataset(str(path), "dataset", create_if_needed=True)
    data.write_xml_header(write_header("radial", (1, 32, 32), coils.count, 12).encode())
    for slice_ in range(slices):
        for repetition in range(repetitions):
            locs = im.radial(12, 64, 32, golden=True, first=12 * repetition)
            kspace = HEAD.kspace(locs, (32, 32), coils=coils) * (1 + slice_) * (1 + 0.1 * repetition)
            for r in range(12):
                made = ismrmrd.Acquisition.from_array(
                    kspace[:, r].astype(np.complex64), np.ascontiguousarray(locs[r, :, ::-1], np.float32)
                )
                made.idx.slice, made.idx.repetition, made.idx.kspace_encode_step_1 = slice_, repetition, r
                made.position = (0, 0, 5.0 * slice_)
                made.read_dir, made.phase_dir, made.slice_dir = (1, 0, 0), (0, 1, 0), (0, 0, 1)
                data.append_acquisition(made)
    data.close()
    return path


@pytest.mark.parametrize("method", ["sense", "lowrank"])
def test_slices_and_repetitions(method, tmp_path):
    scan = several(tmp_path)
    report = im.recon(scan, tmp_path / "image.nii", method=method, lamda="0.003", quiet=True, calibration=16)
    image, affine = im.load_nifti(tmp_path / "image.nii")
    assert image.shape == (3, 2, 32, 32) and report["scan"]["axes"] == {"repetition": 3, "slice": 2}
    assert len(report["images"]) == (6 if method == "sense" else 2)
    assert np.abs(affine[:3, 2]).tolist() == [0, 0, 5]
    means = image.mean((2, 3))
    np.testing.assert_allclose(means / means[0, 0], np.outer([1, 1.1, 1.2], [1, 2]), rtol=0.05)
    truth = HEAD.image((32, 32)) * np.linalg.norm(COILS.maps((32, 32)), axis=0)
    worst = max(im.nrmse(frame, truth, scale=True) for frame in image.reshape(-1, 32, 32))
    assert worst < (0.4 if method == "sense" else 0.3)


def test_a_part_of_a_file(tmp_path):
    scan = several(tmp_path)
    whole, part = im.load_ismrmrd(scan), im.load_ismrmrd(scan, only={"slice": 1, "repetition": 2})
    assert whole.dims == ("repetition", "slice", "coil", "readout", "sample") and part.dims == whole.dims[2:]
    assert np.array_equal(whole.kspace[2, 1], part.kspace) and np.array_equal(whole.locs[2, 1], part.locs)
    with pytest.raises(ts.IoError, match="no acquisition of slice 7"):
        im.load_ismrmrd(scan, only={"slice": 7})
    with pytest.raises(ts.ArgumentError, match="'coil'"):
        im.load_ismrmrd(scan, only={"coil": 0})


def test_a_killed_run_goes_on(radial_file, tmp_path):
    """Killed while it iterates; the same command again finds the stages and ends with the bits of a run that was left
    alone."""
    arguments = ["--method", "tv", "--lambda", "0.0005", "--iterations", "150", "--calibration", "20"]
    solver = tmp_path / "image.npy.part" / "image.solver"
    end = time.monotonic() + 240
    for _ in range(5):  # on a busy machine the solver, or the run, can end before the signal is sent
        (tmp_path / "image.npy").unlink(missing_ok=True)
        shutil.rmtree(solver.parent, ignore_errors=True)
        killed = subprocess.Popen(
            command(radial_file, "-o", tmp_path / "image.npy", *arguments), stderr=subprocess.DEVNULL
        )
        while not solver.exists() and killed.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        if solver.exists() and not (tmp_path / "image.npy").exists():
            break
    assert solver.exists() and not (tmp_path / "image.npy").exists()
    again = run(radial_file, "-o", tmp_path / "image.npy", *arguments)
    assert again.returncode == 0 and "going on" in again.stderr, again.stderr
    report = json.loads((tmp_path / "image.json").read_text())
    assert report["resumed"] and not solver.parent.exists()
    im.recon(
        radial_file, tmp_path / "whole.npy", method="tv", lamda="0.0005", iterations=150, calibration=20, quiet=True
    )
    assert np.array_equal(np.load(tmp_path / "image.npy"), np.load(tmp_path / "whole.npy"))


def test_other_maps_of_the_same_name_begin_anew(cartesian_file, tmp_path):
    """A run that stopped keeps its stages for the maps that it was given, not for those that came after it."""
    maps, given = COILS.maps(SHAPE), tmp_path / "maps.npy"
    same = dict(maps=str(given), lamda="0.001", iterations=3, quiet=True)
    np.save(given, maps)
    im.recon(cartesian_file, tmp_path / "one.npy", **same, checkpoint=str(tmp_path / "kept"))
    np.save(given, 2 * maps)
    with pytest.raises(ts.IoError, match="maps differ"):
        im.recon(cartesian_file, tmp_path / "one.npy", **same, checkpoint=str(tmp_path / "kept"))
    im.recon(cartesian_file, tmp_path / "two.npy", **same)
    one, two = np.load(tmp_path / "one.npy"), np.load(tmp_path / "two.npy")
    assert im.nrmse(two, one) > 0.1


def test_stages_of_another_command(cartesian_file, tmp_path):
    keep = {"checkpoint": str(tmp_path / "stages"), "quiet": True}
    im.recon(cartesian_file, tmp_path / "a.npy", method="grid", **keep)
    assert im.recon(cartesian_file, tmp_path / "b.npy", method="grid", **keep)["resumed"]
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))
    with pytest.raises(ts.IoError, match="another command .method differ"):
        im.recon(cartesian_file, tmp_path / "c.npy", method="sense", **keep)
    assert not (tmp_path / "c.npy").exists()


def test_bad_arguments_are_named_before_the_work(cartesian_file, tmp_path):
    np.save(tmp_path / "few.npy", np.ones((4, *SHAPE), np.complex64))
    np.save(tmp_path / "words.npy", np.full((6, *SHAPE), "x"))
    (tmp_path / "half.npy").write_bytes((tmp_path / "few.npy").read_bytes()[:99])
    out = tmp_path / "image.npy"
    for more, words in [
        ({"method": "magic"}, "--method 'magic'"),
        ({"lamda": "much"}, "--lambda 'much'"),
        ({"lamda": "-1"}, "--lambda -1"),
        ({"method": "grid", "lamda": "0.1"}, "--lambda 0.1 with --method grid"),
        ({"method": "lowrank"}, "--method lowrank"),
        ({"device": "cpuu"}, "cpuu"),
        ({"budget": "many"}, "many"),
        ({"budget": "10kB"}, "10000 bytes"),
        ({"maps": str(tmp_path / "none.npy")}, "--maps .*none.npy"),
        ({"maps": str(tmp_path / "few.npy")}, "6 coils"),
        ({"maps": str(tmp_path / "words.npy")}, "words.npy: <U1 of shape"),
        ({"maps": str(tmp_path / "half.npy")}, "half.npy"),
        ({"maps": str(tmp_path / "few.npy"), "coils": 2}, "--maps with --coils"),
        ({"coils": 9}, "--coils 9; .* has 6"),
        ({"iterations": 0}, "--iterations 0"),
    ]:
        with pytest.raises(ts.Error, match=words):
            im.recon(cartesian_file, out, quiet=True, **more)
    with pytest.raises(ts.ArgumentError, match="-o .*image.jpeg"):
        im.recon(cartesian_file, tmp_path / "image.jpeg")
    with pytest.raises(ts.IoError, match="there is no folder"):
        im.recon(cartesian_file, tmp_path / "none" / "image.npy")
    with pytest.raises(ts.IoError, match="none.h5"):
        im.recon(tmp_path / "none.h5", out)
    assert not out.exists()
    done = run(cartesian_file, "-o", out, "--method", "grid", "--lambda", "1")
    assert done.returncode == 1 and done.stderr.startswith("tessera: recon: --lambda") and done.stderr.count("\n") == 1


def test_a_scan_without_its_centre(tmp_path):
    """Half of the lines, none near the middle: maps cannot be learned, and the sentence says what would help."""
    ismrmrd = pytest.importorskip("ismrmrd")
    from tessera.imaging._ismrmrd_layout import write_header

    kspace = im.sense_operator(COILS.maps((32, 32)))(HEAD.image((32, 32))).numpy().astype(np.complex64)
    data = ismrmrd.Dataset(str(tmp_path / "scan.h5"), "dataset", create_if_needed=True)
    data.write_xml_header(write_header("cartesian", (1, 32, 32), 6, 32).encode())
    for step in [*range(8), *range(24, 32)]:
        line = ismrmrd.Acquisition.from_array(np.ascontiguousarray(kspace[:, step]))
        line.idx.kspace_encode_step_1, line.center_sample = step, 16
        data.append_acquisition(line)
    data.close()
    with pytest.raises(ts.ArgumentError, match="centre of k-space.*give maps"):
        im.recon(tmp_path / "scan.h5", tmp_path / "image.npy", calibration=12, quiet=True)
    np.save(tmp_path / "maps.npy", COILS.maps((32, 32)).astype(np.complex64))
    im.recon(tmp_path / "scan.h5", tmp_path / "image.npy", maps=str(tmp_path / "maps.npy"), lamda="0.01", quiet=True)


def test_lambda_by_the_noise(rng):
    """A residual a little below the noise is left, whichever recipe; more noise asks for a stronger penalty."""
    maps = COILS.maps(SHAPE)
    mask = im.poisson_disc(SHAPE, 2, calibration=16)
    clean = im.sense_operator(maps, mask=mask)(HEAD.image(SHAPE)).numpy()
    for recipe in (im.sense, im.l1_wavelet, im.tv):
        found = {}
        for size in (0.01, 0.04):
            data = (clean + noise(clean.shape, size, 5)) * mask
            level = size * np.sqrt(2)
            got = recipe(data, maps, mask=mask, lamda="auto", noise=level, maxiter=60)
            residual = np.linalg.norm(got.operator(got.image).numpy() - data)
            assert 0.7 < residual / (level * np.sqrt(6 * mask.sum())) < 1.05
            found[size] = got.lamda
            told = im.noise_level(data[:, mask], np.hypot(*np.mgrid[-24:24, -24:24])[mask])
            assert told == pytest.approx(level, rel=0.4)
        assert found[0.04] > found[0.01]
    with pytest.raises(ts.ArgumentError, match="lamda 'best'"):
        im.tv(clean, maps, lamda="best")


def test_averages_are_less_noisy(tmp_path):
    """Four readouts of each line, and their mean with a noise scan of half the size: one penalty."""
    ismrmrd = pytest.importorskip("ismrmrd")
    from tessera.imaging._ismrmrd_layout import write_header

    size, silence = 0.02, noise((6, 1000), 0.02, 1)
    lines = im.sense_operator(COILS.maps(SHAPE))(HEAD.image(SHAPE)).numpy()
    readouts = np.stack([lines + noise(lines.shape, size, seed) for seed in range(2, 6)]).astype(np.complex64)
    data = ismrmrd.Dataset(str(tmp_path / "four.h5"), "dataset", create_if_needed=True)
    data.write_xml_header(write_header("cartesian", (1, *SHAPE), 6, SHAPE[0]).encode())
    silent = ismrmrd.Acquisition.from_array(silence.astype(np.complex64))
    silent.set_flag(ismrmrd.ACQ_IS_NOISE_MEASUREMENT)
    data.append_acquisition(silent)
    for average, step in itertools.product(range(4), range(SHAPE[0])):
        one = ismrmrd.Acquisition.from_array(np.ascontiguousarray(readouts[average, :, step]))
        one.idx.average, one.idx.kspace_encode_step_1, one.center_sample = average, step, SHAPE[1] // 2
        data.append_acquisition(one)
    data.close()
    im.save_ismrmrd(tmp_path / "mean.h5", readouts.mean(0), noise=silence / 2)
    found = [
        im.recon(tmp_path / f"{name}.h5", tmp_path / f"{name}.npy", method="sense", quiet=True)["images"][0]["lambda"]
        for name in ("four", "mean")
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_compressed_coils(cartesian_file, tmp_path):
    im.recon(cartesian_file, tmp_path / "image.npy", coils=3, lamda="1e-4", quiet=True)
    assert im.nrmse(np.abs(np.load(tmp_path / "image.npy")), TRUTH, scale=True) < 0.1


def test_no_file_stays_open(cartesian_file, tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        im.recon(cartesian_file, tmp_path / "image.npy", method="grid", quiet=True)
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def damaged(path, change, repetitions=2, slices=2):
    """A radial raw file of several frames whose list of acquisitions (values, points, counters, fields) was changed."""
    ismrmrd = pytest.importorskip("ismrmrd")
    from tessera.imaging._ismrmrd_layout import write_header

    made = []
    for slice_, repetition, r in itertools.product(range(slices), range(repetitions), range(12)):
        locs = im.radial(12, 32, 16, golden=True, first=12 * repetition)
        values = HEAD.kspace(locs[r], (16, 16), coils=im.Coils(4)).astype(np.complex64)
        points = np.ascontiguousarray(locs[r, :, ::-1], np.float32)
        made.append([values, points, {"slice": slice_, "repetition": repetition, "kspace_encode_step_1": r}, {}])
    change(made)
    data = ismrmrd.Dataset(str(path), "dataset", create_if_needed=True)
    data.write_xml_header(write_header("radial", (1, 16, 16), 4, 12).encode())
    for values, points, counters, fields in made:
        one = ismrmrd.Acquisition.from_array(values, points)
        for name, value in counters.items():
            setattr(one.idx, name, value)
        for name, value in fields.items():
            setattr(one, name, value)
        if fields.get("scan_counter") == 19:
            one.set_flag(ismrmrd.ACQ_IS_NOISE_MEASUREMENT)
        data.append_acquisition(one)
    data.close()
    return path


def set_sample(made, number, value):
    made[number][0][1, 3] = value


def set_location(made, number, value):
    made[number][1][3, 0] = value


def shorten(made, number):
    made[number][:2] = made[number][0][:, :20].copy(), made[number][1][:20].copy()


def lose_trajectory(made, number):
    made[number][1] = np.zeros((32, 0), np.float32)


# All of them are in the last frame: found in the walk over the file, and not when their turn has come.
DAMAGES = {
    "nothing": (lambda made: None, "sense", None),
    "NaN": (lambda made: set_sample(made, 45, np.nan), "sense", "acquisition 45 has samples that are not finite"),
    "infinite location": (lambda made: set_location(made, 44, np.inf), "sense", "acquisition 44 has locations"),
    "short readout": (lambda made: shorten(made, 43), "sense", "acquisition 43 has 20 samples; the first has 32"),
    "no trajectory": (lambda made: lose_trajectory(made, 42), "sense", "acquisition 42 .*0 coordinates.*missing"),
    "a frame dropped": (
        lambda made: made.__delitem__(slice(36, 48)),
        "sense",
        "no acquisition of .*repetition 1, slice 1",
    ),
    "readouts dropped": (lambda made: made.__delitem__(slice(40, 48)), "lowrank", "4 readouts of repetition 1, 12 of"),
    "coils lost": (lambda made: made[46].__setitem__(0, made[46][0][:3].copy()), "sense", "acquisition 46 has another"),
    "noise of others": (
        lambda made: made.append([np.ones((3, 32), np.complex64), made[0][1], {}, {"scan_counter": 19}]),
        "sense",
        "acquisition 48 is a noise scan of 3 coils; the image has 4",
    ),
    "all discarded": (lambda made: made[47].__setitem__(3, {"discard_pre": 32}), "sense", "acquisition 47 "),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damaged_files_are_refused_before_the_work(what, tmp_path):
    change, method, words = DAMAGES[what]
    scan = damaged(tmp_path / "scan.h5", change)
    options = {"method": method, "lamda": "0.01", "iterations": 2, "calibration": 8, "quiet": True}
    if words is None:
        im.recon(scan, tmp_path / "image.npy", **options)
        return
    with pytest.raises(ts.IoError, match=words):
        im.recon(scan, tmp_path / "image.npy", **options)
    assert [p.name for p in tmp_path.iterdir()] == ["scan.h5"]  # no stage had begun


def test_wrong_sizes_of_the_encoding(tmp_path):
    """The last line of the last slice lies outside of the matrix that the header tells of."""
    ismrmrd = pytest.importorskip("ismrmrd")
    from tessera.imaging._ismrmrd_layout import write_header

    for steps, samples, words in [(9, 8, r"acquisition 15 \(steps \[0, 9\]"), (7, 10, "acquisition 15 .*10 samples")]:
        path = tmp_path / f"{samples}.h5"
        data = ismrmrd.Dataset(str(path), "dataset", create_if_needed=True)
        data.write_xml_header(write_header("cartesian", (1, 8, 8), 2, 8).encode())
        for slice_, step in itertools.product(range(2), range(8)):
            last = (slice_, step) == (1, 7)
            line = ismrmrd.Acquisition.from_array(np.ones((2, samples if last else 8), np.complex64))
            line.idx.slice, line.idx.kspace_encode_step_1 = slice_, steps if last else step
            data.append_acquisition(line)
        data.close()
        with pytest.raises(ts.IoError, match=words):
            im.recon(path, tmp_path / "image.npy", calibration=8, quiet=True)
        assert not (tmp_path / "image.npy.part").exists()
