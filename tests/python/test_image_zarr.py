# SPDX-License-Identifier: Apache-2.0
"""Images as directories of Zarr: read by the text of the format alone, beside other kinds of files, through
`tessera recon` and `tessera view`; hostile ones by a sentence, and folders of others kept."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im

KINDS = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"]
SHAPE = (16, 18)
MAPS = im.Coils(3).maps(SHAPE).astype(np.complex64)
SAME = {"method": "grid", "calibration": 8, "quiet": True}


@pytest.fixture
def scan(tmp_path):
    pytest.importorskip("h5py")
    im.save_ismrmrd(tmp_path / "scan.h5", im.sense_operator(MAPS)(im.shepp_logan().image(SHAPE)).numpy())
    return tmp_path / "scan.h5"


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def by_the_text(folder):
    """An array of one chunk, its names and its attributes, by json and NumPy."""
    about = json.loads((folder / "zarr.json").read_text())
    assert (about["zarr_format"], about["node_type"], about["codecs"][0]["name"]) == (3, "array", "bytes")
    assert about["chunk_grid"]["configuration"]["chunk_shape"] == about["shape"]
    chunk = folder.joinpath("c", *["0"] * len(about["shape"]))
    kind = np.dtype(about["data_type"]).newbyteorder("<")
    return np.fromfile(chunk, kind).reshape(about["shape"]), about["dimension_names"], about["attributes"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 4)])
def test_there_and_back(kind, shape, rng, tmp_path):
    x = (40 * rng.standard_normal(shape) + (40j if "complex" in kind else 0)).astype(kind)
    affine, path = rng.standard_normal((4, 4)), tmp_path / "x.zarr"
    plain = ("dim_0", "z", "y", "x")[4 - len(shape) :]
    for place, dims, want in [(None, None, plain), (affine, None, plain), (affine, tuple("abcd")[: len(shape)], None)]:
        im.save_image(path, x.T.copy().T, place, dims=dims)  # of any strides; the second replaces the first
        got, there, names = im.load_zarr(path)
        assert got.dtype == x.dtype and np.array_equal(got, x) and np.array_equal(im.load_image(f"{path}/"), x)
        assert names == (want or dims) and np.array_equal(there, place)
        told, labels, more = by_the_text(path)
        assert np.array_equal(told, x) and tuple(labels) == names
        assert more == ({} if place is None else {"affine": affine.tolist()})
    assert os.listdir(tmp_path) == ["x.zarr"]
    zarr = pytest.importorskip("zarr")
    theirs = zarr.open_array(str(path), mode="r")
    assert np.array_equal(theirs[...], x) and theirs.metadata.dimension_names == names


def test_dims_in_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    im.save_image(tmp_path / "x.h5", np.ones((2, 3, 4)), dims=("slice", "y", "x"))
    with h5py.File(tmp_path / "x.h5") as file:
        assert [dim.label for dim in file["image"].dims] == ["slice", "y", "x"]


@pytest.mark.parametrize("how", ["image", "of another", "two formats"])
def test_groups(how, tmp_path):
    path, x = tmp_path / "x.zarr", np.arange(6.0).reshape(2, 3)
    ts.save(str(path), {"image" if how == "image" else "other": x, "mask": x > 2})
    if how == "image":
        assert np.array_equal(im.load_image(path), x) and im.load_zarr(path)[1:] == (None, (None, None))
        return
    if how == "two formats":
        (path / "zarr.json").rename(path / ".zgroup")
    words = "version 2; version 3 is read" if how == "two formats" else "a group without a member 'image'"
    with pytest.raises(ts.IoError, match=f"load_zarr: .*x.zarr.*{words}"):
        im.load_image(path)


GOOD = {"shape": [3, 4], "affine": np.eye(4).tolist()}
HOSTILE = {
    "names of another number": ({"dimension_names": ["x"]}, "names .'x'. of the dims of .3, 4."),
    "names that are numbers": ({"dimension_names": [1, 2]}, "names .1, 2."),
    "names of no list": ({"dimension_names": 3}, "no Zarr v3"),
    "an affine of another shape": ({"attributes": {"affine": [[1, 2]]}}, r"affine of shape \(1, 2\)"),
    "an affine of text": ({"attributes": {"affine": "here"}}, "affine that is no matrix"),
    "an affine of rows": ({"attributes": {"affine": [[1], [1, 2]]}}, "affine that is no matrix"),
    "an affine of NaN": ({"attributes": {"affine": np.full((4, 4), np.inf).tolist()}}, "expected .4, 4., finite"),
    "attributes of no dict": ({"attributes": [1]}, "no Zarr v3"),
    "a shape without end": ({"shape": [1 << 40, 1 << 40]}, r"cannot hold float64 of shape \(1099511627776"),
    "a negative shape": ({"shape": [-1, 4]}, r"sizes \[-1, 4\]"),
    "a shape of text": ({"shape": "34"}, "sizes 34"),
    "text": ({"data_type": "string"}, "string"),
    "no type": ({"data_type": None}, "no Zarr v3|not known"),
    "no array": ({"node_type": "folder"}, "of type 'folder'"),
    "another version": ({"zarr_format": 4}, "version 4"),
    "no codec": ({"codecs": []}, "codecs"),
    "a chunk too short": ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4]}}}, "96 bytes"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_directories(what, tmp_path):
    path = tmp_path / "x.zarr"
    im.save_image(path, np.ones((3, 4)), np.eye(4))
    change, words = HOSTILE[what]
    about = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps({**about, **change}))
    with pytest.raises(ts.IoError, match=f"load_zarr: .*x.zarr.*({words})"):
        im.load_image(path)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_descriptions_are_refused_or_read(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = tmp_path / "x.zarr"
    im.save_image(path, np.ones((3, 4)), np.eye(4))
    text = bytearray((path / "zarr.json").read_bytes())
    for at in rng.integers(0, len(text), 3):
        text[at] = rng.integers(32, 127)
    (path / "zarr.json").write_bytes(text[: None if seed % 3 else -int(rng.integers(1, len(text)))])
    try:
        assert im.load_image(path).size < 1 << 24
    except ts.IoError as error:
        assert str(error).startswith("load_zarr: ")


def test_what_is_no_directory_of_zarr_is_kept(tmp_path):
    (tmp_path / "file.zarr").write_text("mine")
    (tmp_path / "folder.zarr").mkdir()
    (tmp_path / "folder.zarr" / "notes.txt").write_text("mine")
    before = contents(tmp_path)
    for name in ("file.zarr", "folder.zarr"):
        with pytest.raises(ts.IoError, match=f"save_zarr: .*{name}.*left alone"):
            im.save_image(tmp_path / name, np.ones((2, 2)))
        with pytest.raises(ts.IoError, match=f"load_zarr: .*{name}.*no file zarr.json"):
            im.load_image(tmp_path / name)
    for bad in ({"dims": ("y",)}, {"dims": ("y", "y")}, {"dims": (1, 2)}, {"affine": np.eye(3)}, {"affine": "here"}):
        with pytest.raises(ts.ArgumentError, match="save_(image|zarr): .*expected"):
            im.save_image(tmp_path / "x.zarr", np.ones((2, 2)), **bad)
    for bad in (np.array(["a"]), np.ones(2, np.longdouble)):
        with pytest.raises(ts.Error):
            im.save_image(tmp_path / "x.zarr", bad)
    with pytest.raises(ts.IoError, match="no/x.zarr"):
        im.save_image(tmp_path / "no" / "x.zarr", np.ones((2, 2)))
    assert contents(tmp_path) == before


def test_a_failure_while_writing_leaves_the_old_one(tmp_path, monkeypatch):
    from tessera import _zarr

    im.save_image(tmp_path / "x.zarr", np.ones((2, 2)))
    before = contents(tmp_path)
    for failure in (OSError(28, "No space left on device"), KeyboardInterrupt()):
        for step in ("_write_json", "_replace"):

            def broken(*_, what=failure):
                raise what

            with monkeypatch.context() as patch:
                patch.setattr(_zarr, step, broken)
                with pytest.raises(ts.IoError if isinstance(failure, OSError) else KeyboardInterrupt):
                    im.save_image(tmp_path / "x.zarr", np.zeros((3, 3)))
            assert contents(tmp_path) == before and os.listdir(tmp_path) == ["x.zarr"]


def test_recon_and_view(scan, tmp_path):
    """The command's image is that of another kind of file, with names and with the place that NIfTI has."""
    for end in (".npy", ".nii"):
        im.recon(scan, tmp_path / f"a{end}", **SAME)
    line = [sys.executable, "-m", "tessera"]
    options = ["--method", "grid", "--calibration", "8", "--quiet"]
    for _ in range(2):  # the second takes the place of the first
        done = subprocess.run(
            [*line, "recon", scan, "-o", f"{tmp_path}/a.zarr/", *options], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    image, affine, dims = im.load_zarr(tmp_path / "a.zarr")
    assert np.array_equal(image, np.load(tmp_path / "a.npy")) and dims == ("y", "x")
    np.testing.assert_allclose(affine, im.load_nifti(tmp_path / "a.nii")[1], atol=1e-5)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "a.nii", "a.npy", "a.png", "a.zarr", "scan.h5"]
    done = subprocess.run([*line, "view", f"{tmp_path}/a.zarr/"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == str(tmp_path / "a.zarr.html")
    im.view(np.load(tmp_path / "a.npy"), tmp_path / "b.html")
    shown = [(tmp_path / name).read_text() for name in ("a.zarr.html", "b.html")]
    assert shown[0].replace("a.zarr", "image") == shown[1]
    chunk = tmp_path / "a.zarr" / "c" / "0" / "0"
    with pytest.raises(ts.ArgumentError, match="view: the page .* would overwrite"):
        im.view(tmp_path / "a.zarr", chunk)


def test_names_of_frames_and_slices(tmp_path):
    pytest.importorskip("h5py")
    locs = np.stack([im.radial(20, 32, 16, golden=True, first=20 * t) for t in range(3)])
    kspace = np.stack([im.shepp_logan().kspace(at, (16, 16), coils=im.Coils(3)) for at in locs])
    im.save_ismrmrd(tmp_path / "scan.h5", kspace, locs=locs, shape=(16, 16))
    im.recon(tmp_path / "scan.h5", tmp_path / "x.zarr", **SAME)
    image, _, dims = im.load_zarr(tmp_path / "x.zarr")
    assert dims == ("repetition", "y", "x") and image.shape == (3, 16, 16)


def test_recon_keeps_what_it_reads_and_what_is_not_its_own(scan, tmp_path):
    im.save_image(tmp_path / "maps.zarr", MAPS)
    im.save_image(tmp_path / "old.zarr", MAPS)
    np.save(tmp_path / "old.zarr" / "maps.npy", MAPS)
    (tmp_path / "folder.zarr").mkdir()
    (tmp_path / "folder.zarr" / "notes.txt").write_text("mine")
    before, old, maps = contents(tmp_path), tmp_path / "old.zarr", tmp_path / "maps.zarr"
    for output, more, words in [
        (maps, {"maps": maps}, "would overwrite"),
        (old, {"maps": old / "maps.npy"}, "would overwrite"),
        (tmp_path / "x.npy", {"maps": maps, "preview": maps / "zarr.json"}, "would overwrite"),
        (tmp_path / "x.npy", {"maps": maps, "report": maps / "c" / "0" / "0" / "0"}, "would overwrite"),
        (old, {"checkpoint": old / "stages"}, "lies in .*old.zarr"),
        (old, {"preview": old / "x.png"}, "lies in .*old.zarr"),
        (tmp_path / "folder.zarr", {}, "left alone"),
    ]:
        with pytest.raises(ts.Error, match=f"^recon: .*{words}"):
            im.recon(scan, output, **SAME, **more)
        assert contents(tmp_path) == before


def test_maps_in_a_directory_of_zarr(scan, tmp_path):
    """Stages belong to them as they were, down to the chunks."""
    im.save_image(tmp_path / "maps.zarr", MAPS)
    np.save(tmp_path / "maps.npy", MAPS)
    kept = {**SAME, "checkpoint": str(tmp_path / "stages")}
    im.recon(scan, tmp_path / "a.npy", **SAME, maps=tmp_path / "maps.npy")
    for _ in range(2):
        im.recon(scan, tmp_path / "b.npy", **kept, maps=f"{tmp_path}/maps.zarr/")
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))
    chunk = tmp_path / "maps.zarr" / "c" / "0" / "0" / "0"
    chunk.write_bytes((2 * MAPS).tobytes())
    with pytest.raises(ts.IoError, match="maps differ"):
        im.recon(scan, tmp_path / "b.npy", **kept, maps=str(tmp_path / "maps.zarr"))
