# SPDX-License-Identifier: Apache-2.0
"""`tessera demo`: images that are near the truth, the same wherever they are made, and a picture with or without
matplotlib; and the example that does one reconstruction by hand."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im

pytest.importorskip("h5py")
from tessera.imaging import _demo, _demo_picture  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
METHODS = {name: {"lamda": "0.002", "iterations": 8} for name in ("sense", "l1wavelet", "tv")}
SMALL = _demo._Size((32, 32), 20, 1, 14, {"grid": {}, **METHODS})
BALL = _demo._Size((12, 12, 12), 120, 1, 8, {"grid": {}, "sense": METHODS["sense"]})
BEATING = _demo._Size((24, 24), 9, 4, 12, {"grid": {}, "lowrank": METHODS["tv"]})
# For processes of their own: the demo, but small.
PROGRAM = (
    "import sys; from tessera.imaging import _demo; "
    f"_demo.SIZES['small'] = _demo.{SMALL!r}; _demo.demo('small', sys.argv[1])"
)


@pytest.fixture
def sizes(monkeypatch):
    monkeypatch.setattr(_demo, "SIZES", {"2d": SMALL, "3d": BALL, "dynamic": BEATING})


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The folder of the small demo on this device, which nobody writes to."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_demo, "SIZES", {"small": SMALL})
        _demo.demo("small", folder)
    return folder


def picture_size(path):
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


@pytest.mark.parametrize("size", ["2d", "3d", "dynamic"])
def test_every_size_makes_its_files(size, sizes, tmp_path, capsys):
    results = _demo.demo(size, tmp_path / "out")
    said = capsys.readouterr().out
    made = _demo.SIZES[size]
    assert list(results) == list(made.methods)
    for method in results:
        assert im.load_image(tmp_path / "out" / f"{method}.nii.gz").size == made.frames * np.prod(made.shape)
        assert f"--method {method}" in said
    scan = im.load_ismrmrd(tmp_path / "out" / "scan.h5")
    assert scan.noise is not None and scan.shape == made.shape and ("repetition" in scan.dims) == (made.frames > 1)
    errors = [result.error for result in results.values()]
    assert max(errors[1:]) < errors[0] < 0.8
    assert min(picture_size(tmp_path / "out" / "demo.png")) > 20


def test_the_picture_without_matplotlib(sizes, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    _demo.demo("2d", tmp_path)
    assert picture_size(tmp_path / "demo.png") == (5 * 32, 2 * 32)
    truth = np.ones((32, 32))
    right = _demo_picture.Result("right", truth, 0.0, [1.0, 0.1, 0.01], 1.0)
    sheet = _demo_picture._sheet(truth, [right, right])
    assert (sheet[:32] == 255).all() and (sheet[32:, 32:] == 0).all()  # errors are black
    line = (sheet[32:, :32] != 255).any(-1)
    assert line[0, 0] and line[-1, -1] and line.any(0).all()  # the curve, from corner to corner


@pytest.mark.parametrize("more", [{"device": "sim:0,sim:1"}, {"budget": "100MiB"}])
def test_the_same_images_on_devices_and_under_a_budget(more, sizes, here, tmp_path):
    _demo.demo("2d", tmp_path, **more)
    assert_same(here, tmp_path)


def test_the_same_images_over_ranks(here, tmp_path):
    from dist import launch

    if not launch.mpirun():
        pytest.skip("no mpirun")
    with launch.Group(3, ["-c", PROGRAM, str(tmp_path / "there")], tmp_path) as group:
        assert group.wait(300) == 0, group.words()
        assert group.words().count("demo.png") == 1  # one rank speaks
    assert_same(here, tmp_path / "there")


def assert_same(here, there):
    for method in SMALL.methods:
        images = [im.load_image(folder / f"{method}.nii.gz") for folder in (here, there)]
        assert im.nrmse(images[1], images[0]) < 2e-3, method


def test_what_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for arguments, words in [
        (("--size", "4d"), "--size '4d'"),
        (("--device", "toaster:0"), "toaster"),
        (("--out", str(tmp_path / "file")), "--out"),
    ]:
        command = [sys.executable, "-m", "tessera", "demo", "--out", str(tmp_path / "out"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 1 and done.stderr.startswith("tessera: ") and words in done.stderr
    assert not (tmp_path / "out").exists()


def test_repetitions_in_raw_files(rng, tmp_path):
    locs = np.stack([im.radial(3, 8, 4, golden=True, first=3 * t) for t in range(2)])
    kspace = (rng.standard_normal((2, 5, 3, 8)) + 1j * rng.standard_normal((2, 5, 3, 8))).astype(np.complex64)
    im.save_ismrmrd(tmp_path / "scan.h5", kspace, locs=locs, shape=(4, 4))
    scan = im.load_ismrmrd(tmp_path / "scan.h5")
    assert scan.dims == ("repetition", "coil", "readout", "sample") and np.array_equal(scan.kspace, kspace)
    np.testing.assert_allclose(scan.locs, locs, atol=1e-6)
    with pytest.raises(ts.ArgumentError, match="several repetitions"):
        im.save_ismrmrd(tmp_path / "scan.h5", kspace, locs=locs[0], shape=(4, 4))


def test_the_example(tmp_path):
    example = ROOT / "examples" / "python" / "cartesian_sense.py"
    done = subprocess.run([sys.executable, str(example), str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    before, after = map(float, re.findall(r"([0-9.]+) %", done.stdout))
    assert after < 0.5 * before
    assert picture_size(tmp_path / "sense.png") == (3 * 128, 128) and "</html>" in (tmp_path / "plan.html").read_text()
