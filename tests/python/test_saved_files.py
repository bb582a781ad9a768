# SPDX-License-Identifier: Apache-2.0
"""Files that are written over keep their permissions, and links to them stay links, whatever the format and whoever
writes; also where a link leads to what is not there yet."""

import os
import stat

import numpy as np
import pytest

import tessera as ts

ENDINGS = [".npy", ".npz", ".tessera", ".zarr", ".h5"]


def saved(writer, path, x):
    if writer == "ranks":
        ts.dist.save(path, ts.dist.asarray(x, split=0))
    elif path.suffix == ".npz":
        ts.save(path, {"x": ts.asarray(x)})
    else:
        ts.save(path, ts.asarray(x))


def numbers(path):
    found = ts.load(path)
    while isinstance(found, dict):
        found = next(iter(found.values()))
    return np.asarray(found)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


CASES = [("one", ending) for ending in ENDINGS] + [("ranks", ".npy")]


@pytest.fixture(params=CASES, ids=lambda case: "".join(case))
def case(request):
    return request.param


@pytest.mark.parametrize("through", ["itself", "a link", "a link to a link"])
@pytest.mark.parametrize("bits", [0o600, 0o640, 0o755])
def test_what_is_written_over_keeps_permissions_and_links(case, bits, through, tmp_path):
    writer, ending = case
    real = path = tmp_path / f"real{ending}"
    saved(writer, real, np.arange(3.0))
    os.chmod(real, bits)
    for name in {"itself": (), "a link": ("a",), "a link to a link": ("a", "b")}[through]:
        link = tmp_path / f"{name}{ending}"
        link.symlink_to(path.name)
        path = link
    saved(writer, path, np.arange(4.0))
    assert numbers(real).tolist() == [0.0, 1.0, 2.0, 3.0] and mode(real) == bits
    assert path.is_symlink() == (through != "itself")
    assert len(os.listdir(tmp_path)) == 1 + len({"itself": "", "a link": "a", "a link to a link": "ab"}[through])


def test_a_link_to_what_is_not_there_yet(case, tmp_path):
    writer, ending = case
    (tmp_path / "far").mkdir()
    link = tmp_path / f"link{ending}"
    link.symlink_to(os.path.join("far", f"new{ending}"))
    if ending == ".zarr":  # takes the place of nothing but a directory of Zarr
        with pytest.raises(ts.IoError, match="no Zarr directory"):
            saved(writer, link, np.arange(2.0))
        return
    saved(writer, link, np.arange(2.0))
    assert link.is_symlink() and numbers(tmp_path / "far" / f"new{ending}").tolist() == [0.0, 1.0]


def test_a_link_that_leads_to_itself_is_refused(case, tmp_path):
    writer, ending = case
    link = tmp_path / f"link{ending}"
    link.symlink_to(link.name)
    with pytest.raises(OSError, match="link"):
        saved(writer, link, np.arange(2.0))
    assert os.listdir(tmp_path) == [link.name]


def test_new_files_are_as_others_are(case, tmp_path):
    writer, ending = case
    path = tmp_path / f"new{ending}"
    saved(writer, path, np.arange(2.0))
    assert mode(path) & 0o777 == (0o777 if path.is_dir() else 0o666) & ~umask()


def umask():
    now = os.umask(0)
    os.umask(now)
    return now
