# SPDX-License-Identifier: Apache-2.0
"""Files of images: NIfTI beside nibabel, PNG beside imageio, hostile ones by a sentence; frames of low rank by their
singular values."""

import gzip
import itertools

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im

KINDS = ["uint8", "int16", "int32", "float32", "complex64", "float64", "int8", "uint16", "uint32", "complex128"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 4), (2, 1, 1, 2, 1, 3, 2)])
@pytest.mark.parametrize("end", [".nii", ".nii.gz"])
def test_nifti_there_and_back(kind, shape, end, rng, tmp_path):
    x = (100 * rng.random(shape)).astype(kind)
    x = x + (1j * x).astype(kind) if "complex" in kind else x
    affine = np.eye(4)
    affine[:3] = rng.standard_normal((3, 4)).astype(np.float32)
    im.save_nifti(tmp_path / f"x{end}", x, affine)
    got, place = im.load_nifti(tmp_path / f"x{end}")
    assert got.dtype == x.dtype and np.array_equal(got, x) and np.array_equal(place, affine)
    nibabel = pytest.importorskip("nibabel")
    read = nibabel.load(tmp_path / f"x{end}")
    assert np.array_equal(np.asarray(read.dataobj).T, x) and np.allclose(read.affine, affine)


def test_nifti_of_others(rng, tmp_path):
    nibabel = pytest.importorskip("nibabel")
    x = rng.standard_normal((4, 3, 2)).astype(np.float32)
    affine = np.diag([2.0, 3.0, 4.0, 1.0])
    nibabel.save(nibabel.Nifti1Image(x, affine), tmp_path / "x.nii.gz")
    got, place = im.load_nifti(tmp_path / "x.nii.gz")
    assert np.array_equal(got.T, x) and np.array_equal(place, affine)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("method", ["matrix", "quaternion", "sizes"])
@pytest.mark.parametrize("unit", ["mm", "meter", "micron"])
def test_places_and_byte_orders_of_others(order, method, unit, rng, tmp_path):
    """A rotation of any angle and either hand, steps of any length, as nibabel writes and reads them."""
    nibabel = pytest.importorskip("nibabel")
    for turn in range(8):
        axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        if turn < 3:  # half turns, of which a quaternion has no first number
            axes = np.diag(np.roll([1.0, -1.0, -1.0], turn))
        affine = np.eye(4)
        affine[:3, :3] = axes * rng.uniform(0.5, 4, 3)
        affine[:3, 3] = rng.uniform(-100, 100, 3)
        x = rng.integers(-90, 90, (4, 3, 2)).astype(order + "i2")
        made = nibabel.Nifti1Image(x, affine, nibabel.Nifti1Header(endianness=order))
        made.header.set_xyzt_units(unit)
        made.header.set_slope_inter(0.5, 3.0)
        made.set_sform(affine, code=int(method == "matrix"))
        made.set_qform(affine, code=int(method == "quaternion"))
        nibabel.save(made, tmp_path / "x.nii")
        got, place = im.load_nifti(tmp_path / "x.nii")
        read = nibabel.load(tmp_path / "x.nii")
        np.testing.assert_allclose(got.T, np.asarray(read.dataobj), atol=1e-5)
        wanted = affine.copy()
        if method == "sizes":
            wanted = np.diag([*np.linalg.norm(affine[:3, :3], axis=0), 1.0])
        wanted[:3] *= {"mm": 1, "meter": 1000, "micron": 0.001}[unit]
        np.testing.assert_allclose(place, wanted, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("seed", range(20))
def test_nifti_places_by_each_method(seed, tmp_path):
    """With a sform, a qform, both or none of them, beside nibabel; without any, voxels along the axes."""
    nibabel = pytest.importorskip("nibabel")
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0] * rng.choice([-1, 1], 3)  # reflections as well: qfac -1
    sizes = rng.uniform(0.5, 4, 3)
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = turn * sizes, rng.uniform(-100, 100, 3)
    if seed in (0, 1):  # half a turn: the first part of the quaternion is nothing
        affine[:3, :3] = np.diag([-1, -1, 1 - 2 * seed])[:, [0, 2, 1]] * sizes
    im.save_nifti(tmp_path / "x.nii", rng.random((4, 3, 2)))
    read = nibabel.load(tmp_path / "x.nii")
    sform, qform = [(0, 1), (0, 2), (1, 1), (2, 0)][seed % 4]
    other = affine.copy()
    other[:3, 3] += 1
    read.header.set_qform(affine, qform)
    read.header.set_sform(other, sform)
    read.header["vox_offset"] = 352
    head = read.header.binaryblock
    content = (tmp_path / "x.nii").read_bytes()
    (tmp_path / "x.nii").write_bytes(head + content[len(head) :])
    want = nibabel.load(tmp_path / "x.nii").affine
    np.testing.assert_allclose(want, affine if sform == 0 else other, atol=1e-4)
    np.testing.assert_allclose(im.load_nifti(tmp_path / "x.nii")[1], want, atol=1e-4)
    read.header["sform_code"] = read.header["qform_code"] = 0
    (tmp_path / "x.nii").write_bytes(read.header.binaryblock + content[len(head) :])
    np.testing.assert_allclose(im.load_nifti(tmp_path / "x.nii")[1], np.diag([*sizes, 1]), atol=1e-4)


def test_hostile_nifti(tmp_path):
    im.save_nifti(tmp_path / "x.nii", np.ones((3, 4), np.float32))
    good = (tmp_path / "x.nii").read_bytes()

    def changed(at, text):
        return good[:at] + text + good[at + len(text) :]

    for content, words in {
        b"": "0 bytes",
        good[:200]: "200 bytes",
        good[:-1]: "47 bytes of samples",
        changed(0, b"\0\0"): "no NIfTI-1",
        changed(40, b"\x09\0"): "expected 1 to 7",
        changed(42, b"\0\0"): "positive sizes",
        changed(42, b"\xff\x7f\xff\x7f"): "tells",
        changed(70, b"\x63\0"): "type 99",
        changed(108, b"\0\0\xc0\x7f"): "begin at byte nan",
        changed(280, b"\0\0\xc0\x7f"): "voxels lie is not finite",
        changed(284, b"\0\0\xc0\x7f"): "voxels lie is not finite",
    }.items():
        (tmp_path / "y.nii").write_bytes(content)
        with pytest.raises(ts.IoError, match=words) as refused:
            im.load_nifti(tmp_path / "y.nii")
        assert str(refused.value).count("load_nifti") == str(refused.value).count("y.nii") == 1
    (tmp_path / "y.nii.gz").write_bytes(gzip.compress(good)[:-20])
    with pytest.raises(ts.IoError, match="y.nii.gz"):
        im.load_nifti(tmp_path / "y.nii.gz")
    # A few bytes that promise gigabytes are refused before any of them is unpacked.
    (tmp_path / "y.nii.gz").write_bytes(gzip.compress(changed(42, b"\xff\x7f\xff\x7f\xff\x7f") + bytes(1 << 20)))
    with pytest.raises(ts.IoError, match=r"y.nii.gz of \d+ bytes cannot hold \d+"):
        im.load_nifti(tmp_path / "y.nii.gz")
    im.save_nifti(tmp_path / "y.nii.gz", np.zeros((200, 200, 200)))  # as dense as files become
    assert im.load_nifti(tmp_path / "y.nii.gz")[0].shape == (200, 200, 200)
    with pytest.raises(ts.IoError, match="none.nii"):
        im.load_nifti(tmp_path / "none.nii")
    for bad in (np.ones((0, 2)), np.ones(2, bool), np.ones(40000)):
        with pytest.raises(ts.ArgumentError, match="save_nifti"):
            im.save_nifti(tmp_path / "z.nii", bad)
    with pytest.raises(ts.ArgumentError, match="affine"):
        im.save_nifti(tmp_path / "z.nii", np.ones(2), np.ones((3, 4)))
    with pytest.raises(ts.IoError, match="z.nii"):
        im.save_nifti(tmp_path / "no" / "z.nii", np.ones(2))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.nii", "y.nii", "y.nii.gz"]


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (6, 9, 3)])
def test_png_beside_another_reader(shape, rng, tmp_path):
    reader = pytest.importorskip("imageio.v3")
    x = rng.integers(0, 256, shape, dtype=np.uint8)
    im.save_png(tmp_path / "x.png", x)
    assert np.array_equal(reader.imread(tmp_path / "x.png"), x)
    for bad in (x.astype(int), x[..., None, None], x[:0]):
        with pytest.raises(ts.ArgumentError, match="save_png"):
            im.save_png(tmp_path / "y.png", bad)


@pytest.mark.parametrize("name", ["x.nii", "x.npy", "x.cfl", "x.h5", "x.zarr", "x.tessera"])
def test_images_that_are_no_images(name, tmp_path):
    if name == "x.h5":
        pytest.importorskip("h5py")
    (tmp_path / name).write_bytes(b"nothing of this kind")
    (tmp_path / "x.hdr").write_bytes(b"nothing of this kind")
    with pytest.raises(ts.Error, match="x"):
        im.load_image(tmp_path / name)
    with pytest.raises(ts.ArgumentError, match=r"x\.jpeg.*\.nii"):
        im.load_image("x.jpeg")


def test_entries_that_are_no_images(tmp_path):
    """An 'image' that is there but is a group, text, records or a reference to nothing; arrays of text."""
    h5py = pytest.importorskip("h5py")
    for number, value in enumerate(["text", [b"a", b"b"], np.zeros(2, "f4,i4"), None, h5py.Empty("f4"), "link"]):
        with h5py.File(tmp_path / f"{number}.h5", "w") as file:
            if value is None:
                file.create_group("image")
            elif isinstance(value, str) and value == "link":
                file["image"] = h5py.SoftLink("/nowhere")
            else:
                file["image"] = value
        with pytest.raises(ts.IoError, match=rf"load_image: .*{number}\.h5"):
            im.load_image(tmp_path / f"{number}.h5")
    np.save(tmp_path / "x.npy", np.array(["a"]))
    with pytest.raises(ts.IoError, match="load_image: .*x.npy"):
        im.load_image(tmp_path / "x.npy")


def test_a_failure_while_writing_leaves_nothing_beside(tmp_path, monkeypatch):
    """Whatever ends it, of any type, and whichever file it is; the old one stays as it was."""
    from tessera import _beside

    kinds = [".npy", ".nii", ".nii.gz", ".cfl", ".h5", ".png", ".html", ".json"]
    for end in kinds:
        (tmp_path / f"x{end}").write_text("old")
    for failure in (OSError(28, "No space left on device"), TypeError("text"), KeyboardInterrupt()):

        def broken(*_, what=failure):
            raise what

        monkeypatch.setattr(_beside.os, "replace", broken)
        for end in kinds:
            with pytest.raises(ts.IoError if isinstance(failure, OSError) else type(failure)):
                write(tmp_path / f"x{end}")
        monkeypatch.undo()
        assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {f"x{end}": "old" for end in kinds}
    for end in (".h5", ".npy", ".cfl", ".nii", ".dcm"):
        with pytest.raises(ts.ArgumentError, match="save_image: .*expected .*numbers"):
            im.save_image(tmp_path / f"y{end}", np.array([["a"]]))
    assert len(list(tmp_path.iterdir())) == len(kinds)


def write(path):
    from tessera.imaging._recon_parts import write_json

    if path.suffix == ".png":
        im.save_png(path, np.zeros((2, 2), np.uint8))
    elif path.suffix == ".html":
        im.view(np.zeros((2, 2)), path)
    elif path.suffix == ".json":
        write_json(path, {})
    else:
        if path.suffix == ".h5":
            pytest.importorskip("h5py")
        im.save_image(path, np.zeros((2, 2)))


@pytest.mark.parametrize(
    "shape, block", [((3, 8, 8), 4), ((2, 5, 7), 3), ((4, 6), 1), ((12, 3, 2, 2), 2), ((1, 4, 4), 9)]
)
def test_blocks_of_low_rank_by_their_singular_values(shape, block, rng):
    """Beside the singular values of each block of both grids."""
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    want = np.zeros_like(x)
    shifts = [0, block // 2] if block > 1 else [0]
    for shift in shifts:
        starts = [sorted({0, *range(shift or block, n, block)}) for n in shape[1:]]
        for corner in itertools.product(*starts):
            ends = [min([s for s in all_ if s > c] + [n]) for all_, c, n in zip(starts, corner, shape[1:], strict=True)]
            at = (slice(None), *[slice(c, e) for c, e in zip(corner, ends, strict=True)])
            u, s, v = np.linalg.svd(x[at].reshape(shape[0], -1), full_matrices=False)
            want[at] += ((u * np.maximum(s - 0.7, 0)) @ v).reshape(x[at].shape) / len(shifts)
    np.testing.assert_allclose(im.low_rank_blocks(x, block, 0.7), want, atol=1e-10)
    np.testing.assert_allclose(im.low_rank_blocks(x, block, 0.0), x, atol=1e-10)
    assert not im.low_rank_blocks(x, block, 1e9).any()


@pytest.mark.parametrize("kind", ["mask", "locs"])
def test_frames_together_are_nearer_than_each_alone(kind, rng):
    shape, frames = (32, 32), 6
    maps, head = im.Coils(5).maps(shape), im.shepp_logan().image(shape)
    truth = head * (1 + 0.3 * np.sin(np.arange(frames)))[:, None, None]
    if kind == "mask":
        given = {"mask": np.stack([im.poisson_disc(shape, 6, calibration=8, seed=t) for t in range(frames)])}
    else:
        given = {"locs": np.stack([im.radial(7, 64, 32, golden=True, first=7 * t) for t in range(frames)])}
    one = [{k: v[t] for k, v in given.items()} for t in range(frames)]
    data = np.stack([im.sense_operator(maps, locs=o.get("locs"))(x).numpy() for o, x in zip(one, truth, strict=True)])
    data = data + 0.01 * (rng.standard_normal(data.shape) + 1j * rng.standard_normal(data.shape))
    alone = np.stack([im.sense(y, maps, **o, lamda=1e-2).image.numpy() for y, o in zip(data, one, strict=True)])
    found = im.llr_dynamic(data, maps, **given, lamda="auto", noise=0.01 * np.sqrt(2), maxiter=100)
    assert im.nrmse(found.image, truth) < 0.8 * im.nrmse(alone, truth) and found.lamda > 0
    for call, words in [
        (lambda: im.llr_dynamic(data[:-1], maps, **given, lamda=1.0), "6 frames beside samples of 5"),
        (lambda: im.llr_dynamic(data * np.nan, maps, **given, lamda=1.0), "frame 0 are not finite"),
        (lambda: im.llr_dynamic(data[:, :3], maps, **given, lamda=1.0), "k-space of shape"),
    ]:
        with pytest.raises(ts.ArgumentError, match=words):
            call()


@pytest.mark.parametrize("end", [".nii", ".nii.gz", ".dcm", ".npy", ".cfl", ".h5", ".zarr", ".tessera"])
@pytest.mark.parametrize(
    "kind", ["bool", "int8", "int16", "int32", "int64", "uint64", "float16", "float32", "float64", "complex128"]
)
def test_images_keep_their_signs(kind, end, rng, tmp_path):
    """Of real numbers of every width; only complex ones become magnitudes, in files that hold no complex ones."""
    pytest.importorskip({".dcm": "pydicom", ".h5": "h5py"}.get(end, "numpy"))
    x = np.round(40 * rng.standard_normal((4, 5))).astype("complex128" if kind[0] == "c" else "float64")
    x = (np.abs(x) if kind[0] in "bu" else x).astype(kind)
    im.save_image(tmp_path / f"x{end}", x)
    got = im.load_image(tmp_path / f"x{end}")
    want = np.abs(x) if kind[0] == "c" and end in (".nii", ".nii.gz", ".dcm") else x
    assert np.abs(got.astype(complex) - want).max() <= (40 * 4 / 65000 if end == ".dcm" else 0)


@pytest.mark.parametrize("end", [".npy", ".nii", ".cfl"])
@pytest.mark.parametrize("how", ["same", "dots", "link", "header"])
def test_a_page_never_takes_the_place_of_its_image(how, end, tmp_path):
    image = tmp_path / f"x{end}"
    im.save_image(image, np.ones((3, 3), np.float32))
    (tmp_path / "link").symlink_to(image)
    (tmp_path / "sub").mkdir()
    page = {
        "same": image,
        "dots": tmp_path / "sub" / ".." / image.name,
        "link": tmp_path / "link",
        "header": tmp_path / "x.hdr",
    }[how]
    if how == "header" and end != ".cfl":
        pytest.skip("one file")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    with pytest.raises(
        ts.ArgumentError, match="^view: the page .* would overwrite .*, the image; give it another name"
    ):
        im.view(image, page)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before
    assert im.view(image, tmp_path / "page.html") == str(tmp_path / "page.html")
