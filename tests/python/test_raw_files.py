# SPDX-License-Identifier: Apache-2.0
"""Raw files of others: which acquisitions are the image, and HDF5 that is laid out otherwise, refused by a sentence."""

import itertools

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im

h5py = pytest.importorskip("h5py")
from tessera.imaging._ismrmrd_layout import HEAD, bit, write_header  # noqa: E402

NY, NX, COILS = 24, 20, 3
FLOATS = h5py.vlen_dtype(np.dtype("<f4"))
KIND = np.dtype([("head", HEAD), ("traj", FLOATS), ("data", FLOATS)])


def line(values, step, flags=0, space=0, **counters):
    """One acquisition of a Cartesian scan."""
    one = np.zeros(1, KIND)[0]
    head = one["head"]
    head["flags"], head["encoding_space_ref"], head["center_sample"] = flags, space, values.shape[1] // 2
    head["active_channels"], head["number_of_samples"] = values.shape
    head["idx"]["kspace_encode_step_1"] = step
    for name, value in counters.items():
        head["idx"][name] = value
    one["traj"], one["data"] = np.zeros(0, "<f4"), np.ascontiguousarray(values, np.complex64).view("<f4").reshape(-1)
    return one


def raw_file(path, lines, matrix=(1, NY, NX)):
    with h5py.File(path, "w") as file:
        file["dataset/xml"] = [write_header("cartesian", matrix, COILS, matrix[1])]
        data = file.create_dataset("dataset/data", (len(lines),), KIND)
        for i, one in enumerate(lines):
            data[i] = one
    return path


def drawn(rng, n=NX):
    return (rng.standard_normal((COILS, n)) + 1j * rng.standard_normal((COILS, n))).astype(np.complex64)


@pytest.mark.parametrize("seed", range(6))
def test_the_image_is_of_the_first_encoding(seed, tmp_path):
    """Acquisitions of another one, in any order among these, change nothing but what is told of them."""
    rng = np.random.default_rng(seed)
    own = [line(drawn(rng), y, repetition=t) for t, y in itertools.product(range(1 + seed % 3), range(0, NY, 2))]
    # Of other sizes, coils and counters, and outside of the matrix of the first.
    other = [
        line(drawn(rng, int(rng.integers(4, 90))), int(rng.integers(0, 200)), 0, int(rng.integers(1, 4)), slice=5)
        for _ in range(int(rng.integers(1, 9)))
    ]
    mixed = [*own, *other]
    mixed = [mixed[i] for i in rng.permutation(len(mixed))]
    alone = im.load_ismrmrd(raw_file(tmp_path / "alone.h5", own))
    among = im.load_ismrmrd(raw_file(tmp_path / "mixed.h5", mixed))
    assert among.dims == alone.dims and np.array_equal(among.kspace, alone.kspace)
    assert np.array_equal(among.sampled, alone.sampled)
    assert (alone.left_out, among.left_out) == (0, len(other)) and f"{len(other)} acquisitions of other" in repr(among)
    with pytest.raises(ts.IoError, match="no acquisition of the image"):
        im.load_ismrmrd(raw_file(tmp_path / "none.h5", other))


def test_recon_says_what_it_leaves_out(tmp_path, capfd):
    rng = np.random.default_rng(0)
    lines = [line(drawn(rng), y, space=int(y >= NY)) for y in range(NY + 3)]
    report = im.recon(raw_file(tmp_path / "x.h5", lines), tmp_path / "image.npy", method="grid", calibration=8)
    assert report["scan"]["left_out"] == 3 and "3 acquisitions of another encoding" in capfd.readouterr().err


@pytest.mark.parametrize("seed", range(6))
def test_lines_for_calibration_are_no_image(seed, tmp_path):
    """Of another contrast, ten times as strong: none of it in the image; maps are learned from them, and from lines that
    serve for both, where these are."""
    rng = np.random.default_rng(seed)
    frames, image, calibration = 1 + seed % 2, {}, {}
    lines = []
    for t in range(frames):
        for y in range(seed % 2, NY, 2):
            image[t, y] = drawn(rng)
            both = seed % 3 == 0 and abs(y - NY // 2) < 4
            lines.append(line(image[t, y], y, bit(21) if both else 0, repetition=t))
            if both and t == 0:
                calibration[t, y] = image[t, y]
    for y in range(NY // 2 - 4, NY // 2 + 4):
        if (0, y) not in calibration:
            calibration[0, y] = 10 * drawn(rng)
            lines.append(line(calibration[0, y], y, bit(20)))
    lines = [lines[i] for i in rng.permutation(len(lines))]
    path = raw_file(tmp_path / "x.h5", lines)
    scan, found = im.load_ismrmrd(path), im.load_ismrmrd(path, calibration=True)
    assert scan.left_out == 0
    for read, wanted in [(scan, image), (found, {**image, **calibration})]:
        kspace = read.kspace.reshape(frames, COILS, NY, NX)
        sampled = read.sampled.reshape(frames, NY, NX)
        for t, y in itertools.product(range(frames), range(NY)):
            assert sampled[t, y].all() == sampled[t, y].any() == ((t, y) in wanted)
            assert np.array_equal(kspace[t, :, y], wanted.get((t, y), np.zeros((COILS, NX))))


@pytest.mark.parametrize("strength", [1, 7])
def test_maps_from_a_separate_scan(strength, tmp_path):
    """The image of an undersampled scan is the same, up to nothing, however strong the lines for calibration are."""
    shape, coils = (32, 32), im.Coils(6)
    maps, head = coils.maps(shape), im.shepp_logan().image(shape)
    kspace = im.sense_operator(maps)(head).numpy().astype(np.complex64)
    lines = [line(kspace[:, y], y) for y in range(0, 32, 2)]
    lines += [line(strength * kspace[:, y], y, bit(20)) for y in range(8, 24)]
    path = raw_file(tmp_path / "x.h5", lines, (1, 32, 32))
    im.recon(path, tmp_path / "x.npy", method="sense", lamda="1e-4", calibration=16, iterations=60, quiet=True)
    truth = head * np.linalg.norm(maps, axis=0)
    assert im.nrmse(np.abs(np.load(tmp_path / "x.npy")), truth) < 0.1


def nothing(rng, path, file, name):
    del file[name]


def as_group(rng, path, file, name):
    del file[name]
    file.create_group(name)


def as_number(rng, path, file, name):
    del file[name]
    file[name] = rng.choice([1, -1.5])


def as_text(rng, path, file, name):
    del file[name]
    file[name] = "text"


def as_nothing(rng, path, file, name):
    del file[name]
    file[name] = h5py.Empty("f4")


def as_empty(rng, path, file, name):
    kind = file[name].dtype if isinstance(file[name], h5py.Dataset) else "f4"
    del file[name]
    file.create_dataset(name, (0,), kind)


def as_numbers(rng, path, file, name):
    del file[name]
    file[name] = rng.random(tuple(rng.integers(1, 4, int(rng.integers(1, 4)))))


def as_link(rng, path, file, name):
    del file[name]
    file[name] = [h5py.SoftLink("/none"), h5py.ExternalLink("none.h5", "/x"), h5py.SoftLink(f"/{name}")][
        rng.integers(3)
    ]


def as_texts(rng, path, file, name):
    del file[name]
    file[name] = ["a", "b"]


def as_records(rng, path, file, name):
    """With a head whose fields are others, fewer, or of other types, or samples that are numbers, text or integers."""
    head = [field for field in [(n, HEAD.fields[n][0]) for n in HEAD.names] if rng.random() < 0.8]
    samples = [np.dtype("f4"), h5py.vlen_dtype(np.dtype("i4")), h5py.string_dtype(), h5py.vlen_dtype(np.dtype("f8"))]
    kinds = [
        np.dtype([("head", head or [("a", "i4")]), ("traj", FLOATS), ("data", FLOATS)]),
        np.dtype([("head", "f4"), ("traj", FLOATS), ("data", FLOATS)]),
        np.dtype([("head", HEAD), ("traj", FLOATS), ("data", samples[rng.integers(4)])]),
        np.dtype([("head", HEAD), ("traj", samples[rng.integers(4)]), ("data", FLOATS)]),
    ]
    del file[name]
    file.create_dataset(name, (3,), kinds[rng.integers(4)])


CHANGES = [
    nothing, as_group, as_number, as_text, as_nothing, as_empty, as_numbers, as_link, as_texts, as_records
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["dataset", "dataset/xml", "dataset/data"])
@pytest.mark.parametrize("seed", range(4))
def test_hdf5_of_another_layout(change, name, seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = raw_file(tmp_path / "x.h5", [line(drawn(rng), y) for y in range(3)])
    with h5py.File(path, "a") as file:
        change(rng, path, file, name)
    with pytest.raises(ts.IoError, match="^load_ismrmrd: .*x.h5"):
        im.load_ismrmrd(path)
    with pytest.raises(ts.IoError, match="^load_ismrmrd: .*x.h5"):
        im.recon(path, tmp_path / "image.npy", quiet=True)


@pytest.mark.parametrize("seed", range(3))
def test_bytes_that_were_changed(seed, tmp_path):
    """Any error of the library, of any of its layers, comes out as one of ours."""
    rng = np.random.default_rng(seed)
    path = raw_file(tmp_path / "x.h5", [line(drawn(rng), y) for y in range(4)])
    good, refused = path.read_bytes(), 0
    for _ in range(60):
        content = bytearray(good)
        for place in rng.integers(0, len(good), 4):
            content[place] = rng.integers(256)
        path.write_bytes(content)
        try:
            im.load_ismrmrd(path)
        except ts.Error as error:
            refused += 1
            assert "x.h5" in str(error)
    assert refused > 0


@pytest.mark.parametrize("text", ["²", "٣", "9" * 5000, "-1", "", "1.5", "ten"])
def test_limits_that_are_no_numbers_are_none(text, tmp_path):
    rng = np.random.default_rng(1)
    path = raw_file(tmp_path / "x.h5", [line(drawn(rng), y) for y in range(NY)])
    whole = im.load_ismrmrd(path)
    with h5py.File(path, "a") as file:
        xml = file["dataset/xml"][0].decode()
        assert xml.count(f"<center>{NY // 2}</center>") == 1
        del file["dataset/xml"]
        file["dataset/xml"] = [xml.replace(f"<center>{NY // 2}</center>", f"<center>{text}</center>")]
    assert np.array_equal(im.load_ismrmrd(path).kspace, whole.kspace)  # the middle of the matrix


def test_faults_of_the_block_are_not_those_of_the_file(tmp_path):
    from tessera.imaging._ismrmrd import open_raw

    path = raw_file(tmp_path / "x.h5", [line(drawn(np.random.default_rng(0)), 0)])
    for fault in (FileNotFoundError(2, "No such file", "other"), TypeError("other"), KeyError("other")):
        with pytest.raises(type(fault), match="other"), open_raw(path):
            raise fault


@pytest.mark.parametrize("times", [1, 4, 0.25, "untold"])
def test_noise_scans_of_another_bandwidth(times, tmp_path):
    """Noise has the root of the bandwidth: scans of one receiver tell the same noise whatever their bandwidth."""
    rng = np.random.default_rng(3)
    white, factor = drawn(rng, 5000), 1 if times == "untold" else times
    noise = line((white * np.sqrt(factor)).astype(np.complex64), 0, bit(19))
    lines = [line(drawn(rng), y) for y in range(NY)]
    for one in lines:
        one["head"]["sample_time_us"] = 4
    noise["head"]["sample_time_us"] = 0 if times == "untold" else 4 / times
    scan = im.load_ismrmrd(raw_file(tmp_path / "x.h5", [noise, *lines]))
    np.testing.assert_allclose(scan.noise, white, rtol=1e-5)
    if times != "untold":
        same = line(white, 0, bit(19))
        same["head"]["sample_time_us"] = 4
        reports = []
        for name, first in (("a", noise), ("b", same)):
            path = raw_file(tmp_path / f"{name}.h5", [first, *lines])
            reports.append(im.recon(path, tmp_path / f"{name}.npy", calibration=8, iterations=3, quiet=True))
        assert reports[0]["images"][0]["lambda"] == pytest.approx(reports[1]["images"][0]["lambda"], rel=1e-3)


GOOD = np.ones((2, 6, 4))
LOCS, ALONG = im.radial(3, 8, 8), np.ones((2, 3, 8))
REFUSED = {
    "no coils": (GOOD[:0], {}),
    "no samples": (GOOD[:, :, :0], {}),
    "not finite": (GOOD * np.nan, {}),
    "too large": (GOOD * 1e300, {}),
    "no numbers": (GOOD.astype(str), {}),
    "long readouts": (np.ones((1, 1, 65536), np.complex64), {}),
    "many coils": (np.ones((65536, 1, 1), np.complex64), {}),
    "many lines": (np.ones((1, 65536, 1), np.complex64), {}),
    "noise of other coils": (GOOD, {"noise": np.ones((3, 9))}),
    "noise of one axis": (GOOD, {"noise": np.ones(9)}),
    "noise without samples": (GOOD, {"noise": np.ones((2, 0))}),
    "long noise": (GOOD, {"noise": np.ones((2, 65536))}),
    "noise not finite": (GOOD, {"noise": np.full((2, 9), np.inf)}),
    "size zero": (ALONG, {"locs": LOCS, "shape": (0, 8)}),
    "size half": (ALONG, {"locs": LOCS, "shape": (8.5, 8)}),
    "size negative": (ALONG, {"locs": LOCS, "shape": (8, -8)}),
    "size large": (ALONG, {"locs": LOCS, "shape": (8, 70000)}),
    "one size": (ALONG, {"locs": LOCS, "shape": 8}),
    "locs not finite": (ALONG, {"locs": LOCS * np.nan, "shape": (8, 8)}),
    "cartesian locs": (ALONG, {"locs": LOCS, "shape": (8, 8), "trajectory": " Cartesian"}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_could_not_be_read_are_not_written(name, tmp_path):
    data, more = REFUSED[name]
    with pytest.raises(ts.ArgumentError, match="^save_ismrmrd: .*(expected|finite)"):
        im.save_ismrmrd(tmp_path / "x.h5", data, **more)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("trajectory", ["a<b", "a&b", "</trajectory>", "radial"])
def test_names_of_trajectories_are_text(trajectory, tmp_path):
    im.save_ismrmrd(tmp_path / "x.h5", ALONG, locs=LOCS, shape=(8, 8), trajectory=trajectory)
    assert im.load_ismrmrd(tmp_path / "x.h5").trajectory == trajectory
