# SPDX-License-Identifier: Apache-2.0
"""HDF5 files of ts.save: names, groups, links to them, and what is refused."""

from __future__ import annotations

import os

import numpy as np
import pytest

import tessera as ts

NAMES = ["x", "größe", "κ/λ", "a b/ü/x", "日本/語"]


def nested(names):
    """Dicts in dicts: of each name, cut at its slashes."""
    out = {}
    for k, name in enumerate(names):
        *groups, last = name.split("/")
        inside = out
        for g in groups:
            inside = inside.setdefault(g, {})
        inside[last] = np.full(3, float(k))
    return out


def test_names_are_utf8(tmp_path):
    path = str(tmp_path / "x.h5")
    ts.save(path, nested(NAMES))
    for k, name in enumerate(NAMES):
        assert ts.load(path, name=name).numpy().tolist() == [k] * 3
        assert f"'{name}'" in repr(ts.stored.open(path, dataset=name))
    h5py = pytest.importorskip("h5py")
    with h5py.File(path) as f:
        for k, name in enumerate(NAMES):
            assert f[name][0] == k
            parts = name.split("/")
            for end in range(1, len(parts) + 1):
                assert f.id.links.get_info("/".join(parts[:end]).encode()).cset == h5py.h5t.CSET_UTF8


@pytest.mark.parametrize("key", ["", ".", "..", "a/b", "a\0", "\udc80", "a\ud800b", 3, None, ("a",), b"a"])
def test_keys_that_are_no_names_are_refused(key, tmp_path):
    for x in ({key: np.ones(2)}, {"g": {"x": np.ones(2), key: {}}}):
        with pytest.raises(ValueError, match="save: a member of an HDF5 file cannot be called"):
            ts.save(tmp_path / "x.h5", x)
    assert not os.listdir(tmp_path)


def test_empty_dicts_are_empty_groups(tmp_path):
    path = str(tmp_path / "x.h5")
    ts.save(path, {"none": {}, "g": {"x": np.ones(2), "none": {}, "deep": {"ü": {}}}})
    assert ts.load(path).numpy().tolist() == [1, 1]  # the only dataset
    for name in ("none", "g", "g/none", "q", "g/x/y"):
        with pytest.raises(ts.IoError, match=f"has no dataset '{name}'; there are g/x"):
            ts.load(path, name=name)
    h5py = pytest.importorskip("h5py")
    with h5py.File(path) as f:
        assert sorted(f) == ["g", "none"] and sorted(f["g"]) == ["deep", "none", "x"]
        assert len(f["none"]) == len(f["g/none"]) == len(f["g/deep/ü"]) == 0


def test_many_datasets(tmp_path):
    path = str(tmp_path / "x.h5")
    ts.save(path, {f"{k}": np.full(2, k) for k in range(300)})
    assert [ts.load(path, name=f"{k}")[1].item() for k in (0, 17, 299)] == [0, 17, 299]
    with pytest.raises(ts.IoError, match="holds 300 datasets"):
        ts.load(path)


@pytest.mark.parametrize("ending", ["h5", "hdf5"])
def test_links_stay_links(ending, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    target, link = tmp_path / "there" / f"x.{ending}", tmp_path / "here" / f"l.{ending}"
    link.symlink_to(os.path.join("..", "there", target.name))  # there is nothing yet
    for numbers in ([1.0], [2.0, 3.0]):
        ts.save(link, np.array(numbers))
        assert link.is_symlink() and not target.is_symlink()
        assert ts.load(target).numpy().tolist() == ts.load(link).numpy().tolist() == numbers
    twice = tmp_path / f"twice.{ending}"
    twice.symlink_to(link)
    ts.save(twice, np.array([4.0]))
    assert twice.is_symlink() and link.is_symlink() and ts.load(target).numpy().tolist() == [4]
    assert os.listdir(tmp_path / "there") == [target.name] and os.listdir(tmp_path / "here") == [link.name]


@pytest.mark.parametrize("to", ["nowhere/x.h5", "itself.h5"])
def test_links_that_lead_nowhere_are_left_alone(to, tmp_path):
    link = tmp_path / "itself.h5"
    link.symlink_to(tmp_path / to)
    with pytest.raises(ts.IoError, match=r"save: cannot write '.*itself\.h5'"):
        ts.save(link, np.ones(2))
    assert link.is_symlink() and os.listdir(tmp_path) == ["itself.h5"]


@pytest.mark.parametrize("ending", ["h5", "hdf5", "npy", "tessera"])
def test_what_is_not_compressed_says_so(ending, tmp_path):
    path = tmp_path / f"x.{ending}"
    for x in (np.ones(3), ts.stored.ones(3)):
        with pytest.raises(ts.ArgumentError, match=rf"save: '.*x\.{ending}': a \.{ending} file is not compressed"):
            ts.save(path, x, compressed=True)
        assert not path.exists()
        ts.save(path, x, compressed=False)
        path.unlink()


@pytest.mark.parametrize("ending", ["h5", "hdf5", "zarr", "npz", "npy", "tessera"])
def test_matrices_of_a_form_are_refused_by_save(ending, tmp_path):
    m = ts.stored.matrix(ts.matrix.Symmetric([[1.0, 2.0], [2.0, 5.0]]))
    for x in (m, {"m": m}):
        with pytest.raises(TypeError, match=r"^save: "):
            ts.save(tmp_path / f"x.{ending}", x)
    assert not os.listdir(tmp_path)
