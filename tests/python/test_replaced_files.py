# SPDX-License-Identifier: Apache-2.0
"""What is written over a file by its name: through links to what they name, with the permissions that the old file
had, and nothing is left beside it; what is no place for a file is refused by its name and left as it was."""

import concurrent.futures
import io
import os
import stat

import numpy as np
import pytest
from tessera.__main__ import main

import tessera as ts
from tessera import imaging as im

FILES = [end for end in im._image_files.ENDINGS if end not in (".dcm", ".zarr")]  # which may be folders
PIXELS = np.arange(12, dtype=np.float32).reshape(3, 4)


def scan(path):
    im.save_ismrmrd(path, np.ones((2, 8, 8), np.complex64))


def command(*words):
    """A sub-command; where it ends with 1 it has said why on stderr."""

    def write(path):
        if main([str(w).replace("PATH", os.fsdecode(path)) for w in words]):
            raise ts.IoError(f"refused {os.fsdecode(path)!r}")

    return write


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What sub-commands read."""
    folder = tmp_path_factory.mktemp("given")
    maps, head = im.Coils(4).maps((16, 16)), im.shepp_logan().image((16, 16))
    pytest.importorskip("h5py")
    im.save_ismrmrd(folder / "scan.h5", im.sense_operator(maps)(head).numpy())
    im.save_image(folder / "image.npy", PIXELS)
    np.save(folder / "maps.npy", maps)
    return folder


def writers(files):
    """(ending, function of a path) by name."""
    found = {f"image{end}": (end, lambda p: im.save_image(p, PIXELS)) for end in FILES}
    found |= {
        "png": (".png", lambda p: im.save_png(p, PIXELS.astype(np.uint8))),
        "nifti": (".nii", lambda p: im.save_nifti(p, PIXELS)),
        "cfl": (".cfl", lambda p: im.save_cfl(p, PIXELS)),
        "ismrmrd": (".h5", scan),
        "page": (".html", lambda p: im.view(PIXELS, p)),
        "csv": (".csv", lambda p: ts.dist.save_csv(p, ts.dist.array(PIXELS, split=0))),
        "hdf5": (".h5", lambda p: ts.save(p, PIXELS)),
        "view": (".html", command("view", files / "image.npy", "-o", "PATH")),
        "man": (".1", command("man", "-o", "PATH")),
    }
    recon = ["recon", files / "scan.h5", "--maps", files / "maps.npy", "--lambda", "0.01", "--iterations", 2, "--quiet"]
    plain = ["recon", files / "scan.h5", "--maps", files / "maps.npy", "--method", "grid", "--quiet"]
    found["recon"] = (
        ".nii.gz",
        command(*recon, "-o", "PATH", "--report", files / "r.json", "--preview", files / "p.png"),
    )
    made = files / "made.npy"
    found["recon report"] = (".json", command(*plain, "-o", made, "--report", "PATH", "--preview", files / "p.png"))
    found["recon preview"] = (".png", command(*plain, "-o", made, "--preview", "PATH", "--report", files / "r.json"))
    return found


NAMES = [f"image{end}" for end in FILES]
NAMES += [
    "png",
    "nifti",
    "cfl",
    "ismrmrd",
    "page",
    "csv",
    "hdf5",
    "view",
    "man",
    "recon",
    "recon report",
    "recon preview",
]
COMMANDS = ("view", "man", "recon", "recon report", "recon preview")
TIMED = ("recon report", "image.nii.gz", "image.h5", "image.hdf5", "ismrmrd", "hdf5")  # whose bytes tell when


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize("name", NAMES)
def test_links_stay_and_permissions_too(name, files, tmp_path):
    end, write = writers(files)[name]
    plain = tmp_path / f"plain{end}"
    write(plain)
    there, here = tmp_path / "there", tmp_path / "here"
    for folder in (there, here):
        folder.mkdir()
    target, link, twice = there / f"target{end}", here / f"link{end}", here / f"twice{end}"
    link.symlink_to(os.path.join("..", "there", target.name))
    twice.symlink_to(link.name)
    for path, old in [(target, None), (link, None), (link, 0o600), (twice, 0o640), (target, 0o604), (twice, 0o755)]:
        if old is None:
            target.unlink(missing_ok=True)
        else:
            target.write_bytes(b"old")
            target.chmod(old)
        write(path)
        assert link.is_symlink() and twice.is_symlink() and not target.is_symlink()
        assert mode(target) == (mode(plain) if old is None else old)
        assert name in TIMED or target.read_bytes() == plain.read_bytes()
        assert target.stat().st_size > 3 and target.read_bytes() != b"old"
        assert {p.name for p in there.iterdir()} - {"target.hdr"} == {target.name}
        assert {p.name for p in here.iterdir()} - {"link.hdr", "twice.hdr"} == {link.name, twice.name}


@pytest.mark.parametrize("place", ["folder", "pipe", "loop", "nowhere", "zero"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_place_for_a_file(name, place, files, tmp_path, capsys):
    end, write = writers(files)[name]
    if name == "man" and place == "pipe":
        pytest.skip("written as it is: whoever reads it gets the page")
    if place == "zero" and name in COMMANDS:
        pytest.skip("no argument of a command has one")
    path = tmp_path / f"x{end}"
    if place == "folder":
        path.mkdir()
    elif place == "pipe":
        os.mkfifo(path)
    elif place == "loop":
        path.symlink_to(path)
    elif place == "nowhere":
        path = tmp_path / "none" / f"x{end}"
    else:
        path = f"{tmp_path}/a\0b{end}"
    before = sorted(os.listdir(tmp_path))
    with pytest.raises((ts.Error, OSError)) as caught:
        write(path)
    said = str(caught.value) + capsys.readouterr().err
    assert "Traceback" not in said and (f"x{end}" in said or place == "zero" or end == ".cfl")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("name", NAMES)
def test_an_error_while_writing_leaves_the_old_file(name, files, tmp_path, monkeypatch):
    end, write = writers(files)[name]
    if name == "man":
        pytest.skip("text of some kilobytes, written as it is")
    path = tmp_path / f"x{end}"
    path.write_bytes(b"old")

    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises((ts.Error, OSError), match="No space left"):
        try:
            write(path)
        except ts.IoError as error:
            if "refused" in str(error):
                raise OSError("No space left") from None
            raise
    stages = {f"{path.name}.part"} if name == "recon" else set()  # kept, for the same command once more
    assert path.read_bytes() == b"old" and set(os.listdir(tmp_path)) - stages == {path.name}


@pytest.mark.parametrize("name", [n for n in NAMES if n not in COMMANDS])
def test_threads_that_write_one_file(name, files, tmp_path):
    """Each has a file of its own until it is whole: the last one stays, and none is in parts of two."""
    end, write = writers(files)[name]
    (tmp_path / "alone").mkdir()
    alone, path = tmp_path / "alone" / f"x{end}", tmp_path / f"x{end}"
    write(alone)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(write, path) for _ in range(24)]:
            done.result()
    if name not in TIMED:
        assert path.read_bytes() == alone.read_bytes()
    assert path.stat().st_size == alone.stat().st_size
    assert {p.name for p in tmp_path.iterdir()} == {"alone"} | {p.name for p in alone.parent.iterdir()}


def test_a_link_to_a_pipe_is_written_through(tmp_path):
    """What /proc links to is no path: the pipe gets the file."""
    read, write = os.pipe()
    link = tmp_path / "x.npy"
    link.symlink_to(f"/proc/self/fd/{write}")
    ts.save(link, ts.arange(5))
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        assert np.load(io.BytesIO(stream.read())).tolist() == [0, 1, 2, 3, 4]
    assert link.is_symlink()
