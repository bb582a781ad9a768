# SPDX-License-Identifier: Apache-2.0
"""DICOM files beside pydicom: values by their slope, where pixels lie by the standard's own formula, series and slices,
hostile files by a sentence."""

import sys

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im


@pytest.fixture
def pydicom():
    return pytest.importorskip("pydicom")


def turned(rng):
    """An affine of a scanner: turned axes of several lengths, anywhere."""
    affine = np.eye(4)
    affine[:3, :3] = np.linalg.qr(rng.standard_normal((3, 3)))[0] * [0.9, 1.3, 4.0]
    affine[:3, 3] = rng.uniform(-100, 100, 3)
    return affine


@pytest.mark.parametrize("shape", [(5, 4), (1, 1), (1, 6, 4), (3, 5, 4), (2, 3, 5, 4), (2, 1, 5, 4), (2, 2, 2, 3, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int16", "uint8", "bool"])
def test_slices_as_pydicom_reads_them(shape, dtype, pydicom, rng, tmp_path):
    image = (50 * (rng.standard_normal(shape) if dtype != "uint8" else rng.random(shape))).astype(dtype)
    if dtype == "complex64":
        image = image * np.exp(1j * rng.uniform(0, 6, shape)).astype(dtype)
    affine = turned(rng)
    im.save_dicom(tmp_path / "image.dcm", image, affine)
    values = np.abs(image) if dtype == "complex64" else image
    volumes = values.reshape(-1, *(1, *shape)[-3:]).astype(float)
    step = max(np.abs(volumes).max(), 1) / 65000  # half a step of signed samples
    single = volumes.shape[:2] == (1, 1)
    paths = [tmp_path / "image.dcm"] if single else sorted((tmp_path / "image.dcm").iterdir())
    assert len(paths) == volumes.shape[0] * volumes.shape[1]
    seen, series = set(), {}
    for path in paths:
        one = pydicom.dcmread(path)
        s, z = one.SeriesNumber - 1, one.InstanceNumber - 1
        series.setdefault(one.SeriesInstanceUID, set()).add(s)
        seen.add(one.SOPInstanceUID)
        values = one.pixel_array * float(one.RescaleSlope) + float(one.RescaleIntercept)
        assert np.abs(values - volumes[s, z]).max() <= step
        # Equation C.7.6.2.1-1 of the standard: from (column, row) to millimetres to the left, to the back, upwards.
        x, y = np.reshape(one.ImageOrientationPatient, (2, 3)).astype(float)
        rows, columns = map(float, one.PixelSpacing)
        for j, i in [(0, 0), (3, 1)]:
            at = np.array(one.ImagePositionPatient, float) + x * columns * j + y * rows * i
            np.testing.assert_allclose([-at[0], -at[1], at[2]], (affine @ [j, i, z, 1])[:3], atol=1e-4)
        assert float(one.SpacingBetweenSlices) == pytest.approx(4.0)
    assert len(seen) == len(paths) and all(len(own) == 1 for own in series.values()) and len(series) == len(volumes)
    again, place = im.load_dicom(tmp_path / "image.dcm")
    wanted = volumes[0] if len(volumes) == 1 else volumes
    wanted = wanted[0] if wanted.shape[0] == 1 and wanted.ndim == 3 else wanted
    assert again.shape == wanted.shape and np.abs(again - wanted).max() <= step
    np.testing.assert_allclose(place[:, [0, 1, 3]], affine[:, [0, 1, 3]], atol=1e-4)
    np.testing.assert_allclose(np.abs(place[:, 2]), np.abs(affine[:, 2]), atol=1e-3)  # a slice alone has no direction
    assert np.array_equal(im.load_image(tmp_path / "image.dcm"), again)


def numbered(pydicom, folder, numbers, name="InstanceNumber"):
    """Gives the slices of a folder, in the order of their names, other numbers."""
    for path, number in zip(sorted(folder.iterdir()), numbers, strict=True):
        one = pydicom.dcmread(path)
        setattr(one, name, number)
        one.save_as(path)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("first", [-3, 0, 1])
def test_slices_lie_where_they_lie_whatever_their_numbers(seed, first, pydicom, tmp_path):
    """Numbers that go another way than the slices change neither the image nor where its pixels are."""
    rng = np.random.default_rng(seed)
    image, affine = rng.random((int(rng.integers(2, 7)), 4, 3)), turned(rng)
    im.save_dicom(tmp_path / "x.dcm", image, affine)
    numbers = first + rng.permutation(len(image))
    numbered(pydicom, tmp_path / "x.dcm", [int(n) for n in numbers])
    got, place = im.load_dicom(tmp_path / "x.dcm")
    if numbers[0] > numbers[-1]:  # the same image from its other side
        got, place = got[::-1], place @ np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, len(image) - 1], [0, 0, 0, 1]])
    assert np.abs(got - image).max() <= 1 / 65535
    np.testing.assert_allclose(place, affine, atol=1e-3)


def test_numbers_that_are_zero_and_that_are_missing(pydicom, rng, tmp_path):
    image = rng.random((2, 3, 5, 4))
    im.save_dicom(tmp_path / "x.dcm", image)
    numbered(pydicom, tmp_path / "x.dcm", [0, 1, 2] * 2)
    numbered(pydicom, tmp_path / "x.dcm", [0] * 3 + [1] * 3, "SeriesNumber")
    assert np.abs(im.load_dicom(tmp_path / "x.dcm")[0] - image).max() <= 1 / 65535
    numbered(pydicom, tmp_path / "x.dcm", [None] * 6)
    with pytest.raises(ts.IoError, match="slice 1 of series 0 is there twice"):
        im.load_dicom(tmp_path / "x.dcm")


@pytest.mark.parametrize("seed", range(4))
def test_slices_that_make_no_volume(seed, pydicom, tmp_path):
    """One is missing, moved, turned, of other pixels, or lies in the place of another."""
    rng = np.random.default_rng(seed)
    im.save_dicom(tmp_path / "x.dcm", rng.random((5, 4, 3)), turned(rng))
    paths = sorted((tmp_path / "x.dcm").iterdir())
    which = int(rng.integers(1, 4))
    good = paths[which].read_bytes()
    one, other = pydicom.dcmread(paths[which]), pydicom.dcmread(paths[which + 1])
    paths[which].unlink()
    with pytest.raises(ts.IoError, match="x.dcm: series 1: slices .* mm apart, others 4; .*missing"):
        im.load_dicom(tmp_path / "x.dcm")
    for name, value, words in [
        ("ImagePositionPatient", [float(v) + 0.7 for v in one.ImagePositionPatient], "mm apart"),
        ("ImagePositionPatient", other.ImagePositionPatient, "mm apart"),
        ("ImageOrientationPatient", [-float(v) for v in one.ImageOrientationPatient], "turned"),
        ("PixelSpacing", [1.31, 0.9], "other pixels"),
    ]:
        paths[which].write_bytes(good)
        one = pydicom.dcmread(paths[which])
        setattr(one, name, value)
        one.save_as(paths[which])
        with pytest.raises(ts.IoError, match=f"x.dcm: series 1: slices .*{words}"):
            im.load_dicom(tmp_path / "x.dcm")


def test_slices_without_places_stay_in_the_order_of_their_numbers(pydicom, rng, tmp_path):
    image = rng.random((4, 3, 2))
    im.save_dicom(tmp_path / "x.dcm", image)
    for path in (tmp_path / "x.dcm").iterdir():
        one = pydicom.dcmread(path)
        del one.ImageOrientationPatient, one.ImagePositionPatient
        one.save_as(path)
    numbers = [3, 1, 4, 2]
    numbered(pydicom, tmp_path / "x.dcm", numbers)
    got, affine = im.load_dicom(tmp_path / "x.dcm")
    assert np.abs(got - image[np.argsort(numbers)]).max() <= 1 / 65535 and np.linalg.matrix_rank(affine) == 4


def test_times_of_one_place_keep_the_depth_of_a_slice(pydicom, rng, tmp_path):
    affine, images = turned(rng), rng.random((3, 5, 4))
    for i, image in enumerate(images):
        im.save_dicom(tmp_path / "one.dcm", image, affine)
        one = pydicom.dcmread(tmp_path / "one.dcm")
        one.InstanceNumber = i + 1
        (tmp_path / "all.dcm").mkdir(exist_ok=True)
        one.save_as(tmp_path / "all.dcm" / f"{i}.dcm")
    got, place = im.load_dicom(tmp_path / "all.dcm")
    np.testing.assert_allclose(got, images, atol=1e-4)
    np.testing.assert_allclose(np.abs(place), np.abs(affine), atol=1e-3)


def test_the_same_image_makes_the_same_files(pydicom, rng, tmp_path):
    image = rng.random((3, 4, 5))
    for name in ("a.dcm", "b.dcm", "a.dcm"):  # the last one over the first
        im.save_dicom(tmp_path / name, image)
    files = [sorted((tmp_path / name).iterdir()) for name in ("a.dcm", "b.dcm")]
    assert [p.read_bytes() for p in files[0]] == [p.read_bytes() for p in files[1]]
    before = {p.name for p in files[0]}
    (tmp_path / "a.dcm" / "notes.txt").write_text("mine")
    with pytest.raises(ts.IoError, match=r"a.dcm holds notes.txt"):
        im.save_dicom(tmp_path / "a.dcm", image)
    assert {p.name for p in (tmp_path / "a.dcm").iterdir()} == before | {"notes.txt"}


def test_extremes(pydicom, tmp_path):
    im.save_dicom(tmp_path / "x.dcm", np.full((2, 3), -32768, np.int16))
    np.testing.assert_allclose(im.load_dicom(tmp_path / "x.dcm")[0], -32768, rtol=1e-4)
    for value in (0.0, 1e-30, 1e30):
        im.save_dicom(tmp_path / "x.dcm", np.full((2, 3), value))
        np.testing.assert_allclose(im.load_dicom(tmp_path / "x.dcm")[0], value, rtol=1e-4)


def test_what_cannot_be_written(pydicom, tmp_path):
    shear = np.eye(4)
    shear[0, 1] = 0.5
    for image, affine, words in [
        (np.ones(3), None, "shape"),
        (np.ones((0, 3)), None, "shape"),
        (np.full((2, 2), np.nan), None, "4 values are not finite"),
        (np.ones((2, 2)), np.eye(3), "affine"),
        (np.ones((2, 2)), shear, "right angles"),
        (np.ones((2, 2)), np.zeros((4, 4)), "right angles"),
    ]:
        with pytest.raises(ts.ArgumentError, match=f"save_dicom.*{words}"):
            im.save_dicom(tmp_path / "x.dcm", image, affine)
    with pytest.raises(ts.IoError, match="save_dicom"):
        im.save_dicom(tmp_path / "none" / "x.dcm", np.ones((2, 2)))
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore")  # pydicom speaks of what it finds odd
def test_hostile_files(pydicom, rng, tmp_path):
    im.save_dicom(tmp_path / "x.dcm", rng.random((6, 5)))
    good, bad = (tmp_path / "x.dcm").read_bytes(), tmp_path / "y.dcm"
    for cut in (0, 10, 131, 140, 300, len(good) // 2, len(good) - 3):
        bad.write_bytes(good[:cut])
        with pytest.raises(ts.IoError, match="y.dcm"):
            im.load_dicom(bad)
    for seed in range(150):
        content = bytearray(good)
        for place in np.random.default_rng(seed).integers(132, len(good), 3):
            content[place] = (content[place] + 1 + seed) % 256
        bad.write_bytes(content)
        try:
            assert im.load_dicom(bad)[0].size < 1 << 20
        except ts.IoError as error:
            assert "y.dcm" in str(error)
    one = pydicom.dcmread(tmp_path / "x.dcm")
    one.Rows = 60000
    one.save_as(bad)
    with pytest.raises(ts.IoError, match=r"60 bytes of samples; \(60000, 5\) pixels take 600000"):
        im.load_dicom(bad)
    with pytest.raises(ts.IoError, match="none.dcm"):
        im.load_dicom(tmp_path / "none.dcm")
    (tmp_path / "empty.dcm").mkdir()
    with pytest.raises(ts.IoError, match="no file that ends in .dcm"):
        im.load_dicom(tmp_path / "empty.dcm")


def test_without_pydicom(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pydicom", None)
    for call in (
        lambda: im.save_dicom("x.dcm", np.ones((2, 2))),
        lambda: im.load_dicom("x.dcm"),
        lambda: im.save_image("x.dcm", np.ones((2, 2))),
    ):
        with pytest.raises(ts.NotAvailable, match="pip install pydicom"):
            call()
    pytest.importorskip("h5py")
    im.save_ismrmrd(tmp_path / "scan.h5", np.ones((2, 8, 8)))
    with pytest.raises(ts.NotAvailable, match="pydicom"):
        im.recon(tmp_path / "scan.h5", tmp_path / "image.dcm", quiet=True)
    assert [p.name for p in tmp_path.iterdir()] == ["scan.h5"]  # before any work


@pytest.mark.parametrize("frames", [1, 3])
@pytest.mark.parametrize("end", [".dcm", ".nii", ".npy"])
def test_frames_of_one_slice_are_no_depth(frames, end, pydicom, tmp_path):
    """From a raw file: of several repetitions each is a series, and in a file of the room depth has size one."""
    pytest.importorskip("h5py")
    locs = np.stack([im.radial(20, 32, 16, golden=True, first=20 * t) for t in range(frames)])
    kspace = np.stack([im.shepp_logan().kspace(at, (16, 16), coils=im.Coils(4)) for at in locs])
    many = slice(None) if frames > 1 else 0
    im.save_ismrmrd(tmp_path / "scan.h5", kspace[many], locs=locs[many], shape=(16, 16))
    im.recon(tmp_path / "scan.h5", tmp_path / f"image{end}", method="grid", calibration=8, quiet=True)
    image = im.load_image(tmp_path / f"image{end}")
    depth = () if end == ".npy" else (1,)
    assert image.shape == ((frames, *depth, 16, 16) if frames > 1 else (16, 16))
    if end == ".dcm":
        page = im.view(tmp_path / "image.dcm")
        assert "canvas" in open(page).read()
        assert (tmp_path / "image.png").exists() and (tmp_path / "image.dcm").is_dir() == (frames > 1)
