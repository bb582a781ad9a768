# SPDX-License-Identifier: Apache-2.0
"""The files of `tessera recon`: what is there before is kept or refused by name, whatever state its folder of stages is
in, and stages belong to what was read as it was."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from tessera._beside import begun

import tessera as ts
from tessera import imaging as im

pytest.importorskip("h5py")
SHAPE = (16, 16)
MAPS = im.Coils(3).maps(SHAPE).astype(np.complex64)
SAME = {"method": "grid", "calibration": 8, "quiet": True}
NAMES = ["image.npy", "image.cfl", "image.h5", "image.nii"]


@pytest.fixture
def scan(tmp_path):
    im.save_ismrmrd(tmp_path / "scan.h5", im.sense_operator(MAPS)(im.shepp_logan().image(SHAPE)).numpy())
    return tmp_path / "scan.h5"


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# What somebody may have put where stages are kept: names of theirs and of ours, files and folders.
FOREIGN = ["notes.txt", "image.npy", "image.json", "maps_0.npy", "command.json.part", "sub/notes.txt", ".hidden"]


@pytest.mark.parametrize("seed", range(8))
def test_folders_of_others_are_refused_and_kept(seed, scan, tmp_path):
    """Without the mark of a command no folder is ours: nothing is read from it, and nothing is removed."""
    rng = np.random.default_rng(seed)
    folder = tmp_path / ("image.npy.part" if seed % 2 else "stages")
    for name in rng.choice(FOREIGN, int(rng.integers(1, 4)), replace=False):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(rng.bytes(20))
    before = contents(tmp_path)
    more = {} if seed % 2 else {"checkpoint": str(folder)}
    with pytest.raises(ts.IoError, match=f"{folder.name} holds .* and no stages"):
        im.recon(scan, tmp_path / "image.npy", **SAME, **more)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("kept", [True, False])
def test_a_file_among_the_stages_outlives_them(kept, scan, tmp_path):
    """Beside stages of a run of the same command or of another, which begins anew: only ours are removed."""
    folder = tmp_path / "image.npy.part"
    im.recon(scan, tmp_path / "image.npy", **SAME, checkpoint=str(folder))
    (folder / "notes.txt").write_text("mine")
    report = im.recon(scan, tmp_path / "image.npy", **{**SAME, "calibration": 8 if kept else 10})
    assert report["resumed"] == kept
    assert contents(folder) == {"notes.txt": b"mine"}


def test_stages_whose_removal_was_cut_short(scan, tmp_path):
    """The mark goes last: what a killed removal has left is never taken for an image of another command."""
    folder = tmp_path / "stages"
    first = im.recon(scan, tmp_path / "a.npy", **SAME, checkpoint=str(folder))
    names = sorted(path.name for path in folder.iterdir())
    for name in [n for n in names if n != "command.json"]:
        (folder / name).unlink()
        assert im.recon(scan, tmp_path / "b.npy", **SAME, checkpoint=str(folder))["images"] == first["images"]
        assert np.array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))
    shutil.rmtree(folder)
    folder.mkdir()
    begun(str(folder / "command.json"))  # killed while it wrote the mark
    assert not im.recon(scan, tmp_path / "b.npy", **SAME, checkpoint=str(folder))["resumed"]


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", "null", '"a"', "[" * 100000, "\0\xff"])
@pytest.mark.parametrize("name", ["command.json", "lambda.json", "image.json", "image.npy", "maps_0.npy"])
def test_stages_that_are_none(name, text, scan, tmp_path):
    more = {"checkpoint": str(tmp_path / "stages"), "lamda": "auto", "method": "sense", "iterations": 2}
    im.recon(scan, tmp_path / "a.npy", **{**SAME, **more})
    if name in ("lambda.json", "maps_0.npy"):
        (tmp_path / "stages" / "image.json").unlink()  # so that it is asked for
    (tmp_path / "stages" / name).write_text(text)
    if (name, text) == ("lambda.json", "3"):
        im.recon(scan, tmp_path / "b.npy", **{**SAME, **more})
        return
    with pytest.raises(ts.IoError, match=rf"recon: .*{name}.*is no stage.*remove .*stages"):
        im.recon(scan, tmp_path / "b.npy", **{**SAME, **more})
    assert not (tmp_path / "b.npy").exists()


def test_stages_of_another_shape(scan, tmp_path):
    more = {"checkpoint": str(tmp_path / "stages")}
    im.recon(scan, tmp_path / "a.npy", **SAME, **more)
    for name in ("image.npy", "maps_0.npy"):
        np.save(tmp_path / "stages" / name, np.ones((2, 2), np.complex64))
        (tmp_path / "stages" / "image.json").unlink(missing_ok=name != "image.npy")
        (tmp_path / "stages" / "image.json").write_text("{}") if name == "image.npy" else None
        with pytest.raises(ts.IoError, match=rf"{name}: complex64 of \(2, 2\)"):
            im.recon(scan, tmp_path / "b.npy", **SAME, **more)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written_over_what_is_read_or_twice(name, scan, tmp_path):
    """Of all pairs of files that the command names, as plain names, by way of a folder and by links."""
    maps = tmp_path / "maps.npy"
    np.save(maps, MAPS)
    os.symlink(scan, tmp_path / "link.h5")
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "pipe")
    out = tmp_path / name
    stem = name.rsplit(".", 1)[0]
    before = contents(tmp_path)
    for more in (
        {"preview": scan},
        {"report": scan},
        {"preview": tmp_path / "sub" / ".." / "scan.h5"},
        {"report": tmp_path / "link.h5"},
        {"preview": maps},
        {"report": maps},
        {"report": out},
        {"preview": out},
        {"report": tmp_path / "one", "preview": tmp_path / "one"},
        {"preview": tmp_path / f"{stem}.json"},
        {"checkpoint": out},
        {"checkpoint": scan},
        {"checkpoint": tmp_path},
        {"report": tmp_path / "sub"},
        {"preview": tmp_path / "sub"},
        {"report": tmp_path / "pipe"},
    ):
        with pytest.raises(ts.Error, match=r"^recon: .*(overwrite|folder|no file)"):
            im.recon(scan, out, maps=str(maps), **SAME, **{key: str(value) for key, value in more.items()})
        assert contents(tmp_path) == before and sorted(os.listdir(tmp_path / "sub")) == [], more
    for target in (scan, tmp_path / "link.h5", tmp_path / "sub" / ".." / "scan.h5", maps):
        with pytest.raises(ts.ArgumentError, match="-o .* would overwrite"):
            im.recon(scan, target, maps=str(maps), **SAME)
    (tmp_path / "sub" / name).mkdir()
    with pytest.raises(ts.IoError, match="-o .* is a folder"):
        im.recon(scan, tmp_path / "sub" / name, **SAME)
    assert contents(tmp_path) == before


def test_a_pair_of_files_is_two(scan, tmp_path):
    im.save_cfl(tmp_path / "maps.cfl", MAPS)
    before = contents(tmp_path)
    for more in ({"report": str(tmp_path / "maps.hdr")}, {"preview": str(tmp_path / "image.hdr")}):
        with pytest.raises(ts.ArgumentError, match="would overwrite"):
            im.recon(scan, tmp_path / "image.cfl", maps=str(tmp_path / "maps.cfl"), **SAME, **more)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("end", [".npy", ".cfl", ".h5", ".tessera"])
def test_stages_belong_to_the_maps_as_they_were(end, scan, tmp_path):
    maps, folder = tmp_path / f"maps{end}", tmp_path / "stages"
    more = {**SAME, "maps": str(maps), "checkpoint": str(folder)}
    im.save_image(maps, MAPS)
    im.recon(scan, tmp_path / "a.npy", **more)
    assert im.recon(scan, tmp_path / "a.npy", **more)["resumed"]
    im.save_image(maps, 2 * MAPS)
    with pytest.raises(ts.IoError, match="another command .maps differ"):
        im.recon(scan, tmp_path / "b.npy", **more)
    shutil.rmtree(folder)
    im.recon(scan, tmp_path / "b.npy", **more)
    assert im.nrmse(np.load(tmp_path / "b.npy"), 2 * np.load(tmp_path / "a.npy")) < 1e-5


# Holds the folder as a run does that another process has begun, until it is told to end.
HOLDER = """
import sys; from pathlib import Path
from tessera.imaging._recon_folder import StageFolder
folder = StageFolder(Path(sys.argv[1])); folder.hold(); print("held", flush=True); sys.stdin.read()
"""


def test_one_run_at_a_time_in_a_folder(scan, tmp_path):
    line = [sys.executable, "-c", HOLDER, str(tmp_path / "image.npy.part")]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ts.IoError, match="another run is at work in .*image.npy.part"):
            im.recon(scan, tmp_path / "image.npy", **SAME)
        other.stdin.close()
    assert other.returncode == 0
    im.recon(scan, tmp_path / "image.npy", **SAME)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["image.json", "image.npy", "image.png", "scan.h5"]


def test_what_cannot_be_a_folder_is_named(scan, tmp_path):
    """Not as a fault of the raw file, which happens to be open."""
    for folder, words in [(scan / "sub", "Not a directory"), (tmp_path / "file", "File exists")]:
        (tmp_path / "file").write_text("mine")
        with pytest.raises(ts.IoError, match=f"^recon: no folder for stages, .*{folder.name}.*{words}"):
            im.recon(scan, tmp_path / "image.npy", **SAME, checkpoint=str(folder))
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("frames", [1, 2])
def test_a_target_of_dicom_that_cannot_be_written(frames, scan, tmp_path):
    """Found before the work: a folder where one file is to be, or one with other files, or a file in its place."""
    pytest.importorskip("pydicom")
    locs = np.stack([im.radial(20, 32, 16, golden=True, first=20 * t) for t in range(frames)])
    kspace = np.stack([im.shepp_logan().kspace(at, SHAPE, coils=im.Coils(3)) for at in locs])
    many = slice(None) if frames > 1 else 0
    im.save_ismrmrd(scan, kspace[many], locs=locs[many], shape=SHAPE)
    target = tmp_path / "image.dcm"
    if frames > 1:
        target.write_text("mine")
        with pytest.raises(ts.IoError, match="image.dcm"):
            im.recon(scan, target, **SAME)
        target.unlink()
    target.mkdir()
    (target / "notes.txt").write_text("mine")
    with pytest.raises(ts.IoError, match="image.dcm"):
        im.recon(scan, target, **SAME)
    assert contents(target) == {"notes.txt": b"mine"} and sorted(os.listdir(tmp_path)) == ["image.dcm", "scan.h5"]


def test_a_kept_folder_holds_stages_alone(scan, tmp_path):
    """Of several ranks each has a state of the solver, and a killed run leaves half a file."""
    folder = tmp_path / "stages"
    more = {**SAME, "method": "sense", "lamda": "0.01", "iterations": 2, "checkpoint": str(folder)}
    im.recon(scan, tmp_path / "image.npy", **more)
    stages = set(os.listdir(folder))
    for name in ("image.solver", "image.solver-r1", "image.solver-64-r2", "image_slice3.solver-r4"):
        (folder / name).write_text("left")
    begun(str(folder / "maps_0.npy"))
    assert im.recon(scan, tmp_path / "image.npy", **more)["resumed"]
    assert set(os.listdir(folder)) == stages == {"command.json", "image.json", "image.npy", "maps_0.npy"}
    assert json.loads((folder / "command.json").read_text())["method"] == "sense"


@pytest.mark.parametrize("place", ["/proc/x", "/proc/x/y", "/dev/null/x", "a_file", "a_file/x", "dangling", "x" * 300])
def test_folders_that_cannot_be_made_are_refused(place, scan, tmp_path):
    """At once, whatever the system says of them."""
    (tmp_path / "a_file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "deep")
    code = (
        "import sys; from tessera import imaging as im; im.recon(*sys.argv[1:3], method='grid', checkpoint=sys.argv[3])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, scan, tmp_path / "image.npy", tmp_path / place],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and "IoError: recon: " in done.stderr and not (tmp_path / "image.npy").exists()


def test_options_of_another_kind(scan, tmp_path):
    """Paths and lists are taken; what is no number is refused, and so is one coil that does not tell its noise."""
    np.save(tmp_path / "maps.npy", MAPS)
    image = tmp_path / "image.npy"
    done = im.recon(
        scan, image, method="grid", quiet=True, maps=tmp_path / "maps.npy", device=["cpu"], report=tmp_path / "r.json"
    )
    assert done["command"]["device"] == "cpu" and (tmp_path / "r.json").exists()
    for more in (
        {"coils": "3"},
        {"iterations": 2.5},
        {"calibration": None},
        {"lamda": None},
        {"lamda": []},
        {"device": []},
    ):
        with pytest.raises(ts.Error):
            im.recon(scan, image, **{"quiet": True, **more})
    one = im.sense_operator(MAPS[:1])(im.shepp_logan().image(SHAPE)).numpy()
    im.save_ismrmrd(tmp_path / "one.h5", one)
    for more in ({"coils": 1}, {}):
        with pytest.raises(ts.ArgumentError, match="^recon: --lambda auto.*noise"):
            im.recon(scan if more else tmp_path / "one.h5", image, quiet=True, calibration=8, **more)
    im.save_ismrmrd(tmp_path / "one.h5", one, noise=0.01 * np.random.default_rng(0).standard_normal((1, 200)))
    im.recon(tmp_path / "one.h5", image, quiet=True, calibration=8, iterations=2)
