# SPDX-License-Identifier: Apache-2.0
"""Imaging: exact phantoms against sums and integrals, trajectories by what they promise, coils and recipes by what they
find again."""

import doctest
import inspect
import itertools
import math

import numpy as np
import pytest
from tessera.imaging._bessel import bessel_j1

import tessera as ts
from tessera import imaging as im


@pytest.mark.parametrize("name", im.__all__)
def test_every_name_has_an_example_that_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value = getattr(im, name)
    if isinstance(value, float):
        return
    if name in ("Scan", "load_ismrmrd", "save_ismrmrd"):
        pytest.importorskip("h5py")
    if name in ("load_dicom", "save_dicom"):
        pytest.importorskip("pydicom")
    own = vars(value).items() if inspect.isclass(value) else ()
    members = [m for n, m in own if not n.startswith("_") and inspect.isfunction(m)]
    for item in [value, *members]:
        assert item.__doc__ and ">>>" in item.__doc__, f"{item} has no example"
        test = doctest.DocTestParser().get_doctest(item.__doc__, {"ts": ts, "np": np}, name, None, 0)
        report: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
        assert not report, "".join(report)


# --- phantoms


def test_bessel_by_its_series_and_its_zeros():
    x = np.linspace(-12, 12, 401)
    series = sum((-1) ** k * (x / 2) ** (2 * k + 1) / (math.factorial(k) * math.factorial(k + 1)) for k in range(60))
    np.testing.assert_allclose(bessel_j1(x), series, atol=1e-11)
    assert bessel_j1(0.0) == 0
    zeros = np.array([3.8317059702075123, 16.470630050877634, 25.903672087618382, 321.2271937139453 - 0.0])
    assert np.abs(bessel_j1(zeros[:3])).max() < 1e-14
    far = np.array([24.9, 25.1, 60.0, 700.0])
    points = (np.arange(4000) + 0.5) * np.pi / 4000
    np.testing.assert_allclose(bessel_j1(far), np.cos(points - far[:, None] * np.sin(points)).mean(1), atol=1e-13)


def some_phantom(ndim, rng):
    n = 3
    return im.Phantom(
        rng.standard_normal(n),
        rng.uniform(-0.3, 0.3, (n, ndim)),
        rng.uniform(0.1, 0.5, (n, ndim)),
        rng.uniform(-3, 3, n),
    )


@pytest.mark.parametrize("ndim", [2, 3])
def test_kspace_is_the_integral(ndim, rng):
    """Beside a fine sum over the object: of 2-D 1e-3, of 3-D 1e-2 of the largest value."""
    phantom = some_phantom(ndim, rng)
    n, fine = (1, 700) if ndim == 2 else (1, 120)
    shape = (n,) * ndim
    locs = np.concatenate([rng.uniform(-6, 6, (20, ndim)), np.zeros((1, ndim)), 1e-4 * np.ones((1, ndim))])
    axis = (np.arange(fine) + 0.5) / fine - 0.5
    points = np.meshgrid(*[axis] * ndim, indexing="ij")
    inside = np.zeros(points[0].shape)
    for value, centre, radii, angle in zip(phantom.values, phantom.centres, phantom.radii, phantom.angles, strict=True):
        moved = [2 * p - c for p, c in zip(points, centre, strict=True)]
        x, y = moved[-1], moved[-2]
        own = [*moved[:-2], y * np.cos(angle) - x * np.sin(angle), x * np.cos(angle) + y * np.sin(angle)]
        inside += value * (sum((o / r) ** 2 for o, r in zip(own, radii, strict=True)) <= 1)
    want = [
        (inside * np.exp(-2j * np.pi * sum(k * p for k, p in zip(loc, points, strict=True)))).mean() for loc in locs
    ]
    got = phantom.kspace(locs, shape)
    assert np.abs(got - want).max() < (1e-3 if ndim == 2 else 1e-2) * np.abs(want).max()


@pytest.mark.parametrize("shape", [(64, 64), (48, 65)])
def test_kspace_is_what_the_nufft_of_the_image_gives(shape):
    """Near the centre of k-space, where the pixels of an image are fine enough; each coil as well."""
    head, coils = im.shepp_logan(), im.Coils(3)
    locs = im.radial(7, 9, 8)
    A = im.sense_operator(coils.maps(shape), locs=locs, tol=1e-8)
    exact, image = head.kspace(locs, shape, coils=coils), head.image(shape, oversampling=8)
    assert np.abs(A(image).numpy() - exact).max() < 5e-3 * np.abs(exact).max()
    one = head.kspace(locs, shape)
    B = ts.NUFFT(locs, shape, tol=1e-8)
    assert np.abs(B(image + 0j).numpy() - one).max() < 5e-3 * np.abs(one).max()


def test_projections_are_line_integrals(rng):
    phantom = some_phantom(2, rng)
    angles, offsets = np.array([0.0, 0.7, np.pi / 2, 2.9]), np.linspace(-0.7, 0.7, 9)
    got = phantom.projections(angles, offsets)
    t = (np.arange(20000) + 0.5) / 10000 - 1
    for (i, angle), (j, s) in itertools.product(enumerate(angles), enumerate(offsets)):
        x, y = s * np.cos(angle) - t * np.sin(angle), s * np.sin(angle) + t * np.cos(angle)
        total = 0.0
        for value, (cy, cx), (b, a), turn in zip(
            phantom.values, phantom.centres, phantom.radii, phantom.angles, strict=True
        ):
            u = (x - cx) * np.cos(turn) + (y - cy) * np.sin(turn)
            v = (y - cy) * np.cos(turn) - (x - cx) * np.sin(turn)
            total += value * ((u / a) ** 2 + (v / b) ** 2 <= 1).mean() * 2
        assert abs(total - got[i, j]) < 2e-3
    # The slice theorem: the transform of a projection is a spoke of k-space.
    fine = np.linspace(-1, 1, 8001)
    spoke = np.array(
        [np.trapezoid(phantom.projections([0.4], fine)[0] * np.exp(-1j * np.pi * k * fine), fine) for k in (0, 1, 3)]
    )
    locs = np.outer([0, 1, 3], [np.sin(0.4), np.cos(0.4)])
    np.testing.assert_allclose(phantom.kspace(locs, (1, 1)), spoke / 4, atol=1e-4)


def test_shepp_logan_in_both_sizes():
    flat, full = im.shepp_logan().image((40, 40)), im.shepp_logan(3).image((9, 40, 40), oversampling=2)
    assert flat.max() == 1 and full.shape == (9, 40, 40)
    assert flat[20, 5] == 0 and flat[20, 20] == pytest.approx(0.2)
    assert flat[3:8].sum() != flat[-8:-3].sum()  # it has an up and a down


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: im.shepp_logan(4), "2 or 3"),
        (lambda: im.Phantom([1.0], [[0, 0]], [[1, 0]], [0]), "radius"),
        (lambda: im.Phantom([1.0, 2.0], [[0, 0]], [[1, 1]], [0]), "centres"),
        (lambda: im.shepp_logan().image((8, 8, 8)), "2 positive sizes"),
        (lambda: im.shepp_logan().kspace(np.zeros((4, 3)), (8, 8)), r"\(4, 3\)"),
        (lambda: im.shepp_logan(3).projections([0], [0]), "expected 2"),
        (lambda: im.Coils(0), "at least 1"),
        (lambda: im.shepp_logan().kspace(np.zeros((4, 2)), (8, 8), coils=im.Coils(2, 3)), "coils of 3"),
        (lambda: im.radial(0, 4, 4), "spokes"),
        (lambda: im.epi(5, 4, 4, shots=2), "multiple"),
        (lambda: im.poisson_disc((8, 8), 8, calibration=8), "calibration"),
        (lambda: im.nrmse([1.0], [0.0]), "zero"),
        (lambda: im.ssim(np.ones((4, 4)), np.ones((4, 4))), "window"),
        (lambda: im.psnr([1.0], [1.0, 2.0]), "expected the same"),
        (lambda: im.whitening(np.ones((3, 2))), "as many samples"),
        (lambda: im.whitening(np.zeros((2, 9))), "follows from"),
        (lambda: im.compress_coils(np.ones((2, 5)), 3), "expected 1 to 2"),
        (lambda: im.espirit(np.ones((4, 4))), "espirit"),
        (lambda: im.espirit(np.zeros((2, 8, 8))), "empty"),
        (lambda: im.sense_operator(np.ones((4, 4))), "maps"),
        (lambda: im.sense_operator(np.ones((2, 4, 4)), locs=np.zeros((5, 3))), "locs"),
        (lambda: im.sense_operator(np.ones((2, 4, 4)), locs=np.zeros((5, 2)), mask=np.ones((4, 4))), "one of them"),
        (lambda: im.sense_operator(np.ones((2, 4, 4)), mask=np.ones((4, 5))), "mask"),
        (lambda: im.sense(np.ones((3, 4, 4)), np.ones((2, 4, 4))), "k-space of shape"),
        (lambda: im.sense(np.full((2, 4, 4), np.nan), np.ones((2, 4, 4))), r"32 samples .* first at \(0, 0, 0\)"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ts.ArgumentError, match=words):
        call()


# --- trajectories


def test_trajectories_stay_inside_and_have_their_shapes():
    n = 24
    for name, k in {
        "radial": im.radial(11, 30, n),
        "golden": im.radial(11, 30, n, golden=True),
        "spiral": im.spiral(6, 90, n, density=1.5),
        "rosette": im.rosette(4, 70, n),
        "epi": im.epi(24, 24, n, shots=3),
        "stars": im.stack_of_stars(5, 12, n, 7),
        "koosh": im.kooshball(40, 12, n),
        "cones": im.cones(3, 50, n),
    }.items():
        assert k.ndim == 3 and k.shape[-1] in (2, 3), name
        assert np.abs(k).max() <= n / 2 * (1 + 1e-12), name


def test_golden_angles_go_on_and_uniform_ones_are_even():
    a, b = im.radial(8, 4, 16, golden=True), im.radial(5, 4, 16, golden=True, first=3)
    np.testing.assert_allclose(a[3:], b, atol=1e-12)
    even = np.arctan2(im.radial(6, 5, 10)[:, -1, 0], im.radial(6, 5, 10)[:, -1, 1])
    np.testing.assert_allclose(np.diff(even), np.pi / 6)
    np.testing.assert_allclose(im.kooshball(9, 4, 8)[4:], im.kooshball(5, 4, 8, first=4))


def test_epi_samples_the_grid_once():
    k = im.epi(8, 6, 24, shots=2).reshape(-1, 2)
    assert len({tuple(row) for row in k.tolist()}) == 48 and set(k[:, 0].tolist()) == set(range(-12, 12, 3))


@pytest.mark.parametrize("acceleration", [1, 2, 6])
@pytest.mark.parametrize("density", [0.0, 2.0])
def test_poisson_disc(acceleration, density):
    shape = (60, 71)
    mask = im.poisson_disc(shape, acceleration, calibration=10, density=density, seed=3)
    assert mask.shape == shape and mask[25:35, 30:40].all()
    assert mask.size / mask.sum() == pytest.approx(acceleration, rel=0.1)
    assert np.array_equal(mask, im.poisson_disc(shape, acceleration, calibration=10, density=density, seed=3))
    if density and acceleration > 2:
        assert mask[20:40, 25:45].mean() > 2 * mask[:12].mean()


# --- coils


def test_whitening_and_compression(rng):
    mix = rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4))
    noise = mix @ (rng.standard_normal((4, 5000)) + 1j * rng.standard_normal((4, 5000)))
    white = im.whitening(noise) @ noise
    np.testing.assert_allclose(np.cov(white), np.eye(4), atol=1e-10)
    data = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 7 * 5)).reshape(2, 35)
    small, matrix = im.compress_coils(data.reshape(6, 7, 5), 2)
    np.testing.assert_allclose(matrix.conj().T @ small.reshape(2, -1), data, atol=1e-10)


def centred_fft(x):
    axes = tuple(range(1, x.ndim))
    return np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(x, axes), axes=axes, norm="ortho"), axes)


@pytest.mark.parametrize("shape", [(32, 40), (12, 16, 14)])
@pytest.mark.parametrize("soft", [False, True])
def test_espirit_finds_the_maps(shape, soft):
    ndim = len(shape)
    truth = im.Coils(6, ndim).maps(shape)
    grid = np.meshgrid(*[(np.arange(n) - n // 2) / n for n in shape], indexing="ij")
    inside = sum(g**2 for g in grid) < 0.12
    object_ = inside * (1 + grid[0])
    found = im.espirit(centred_fft(truth * object_), calibration=12, kernel=5 if ndim == 2 else 4, soft=soft, crop=0.9)
    direction = truth / np.linalg.norm(truth, axis=0)
    seen = np.abs((found.conj() * direction).sum(0))
    assert (seen[inside] > (0.9 if soft else 0.98)).mean() > 0.97
    outside = np.abs(found[:, sum(g**2 for g in grid) > 0.3]).max(initial=0)
    assert found.shape == truth.shape and np.isfinite(found).all() and outside <= 1
    assert np.abs(found[0].imag).max() < 1e-6
    two = im.espirit(centred_fft(truth * object_), calibration=12, kernel=4, maps=2)
    assert two.shape == (2, *truth.shape)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape, taps, calibration", [((11, 14), 4, 9), ((7, 8), 3, 5), ((5, 6, 7), 2, 4)])
@pytest.mark.parametrize("count", [1, 2])
def test_espirit_beside_its_definition(shape, taps, calibration, count, dtype, rng):
    """Singular vectors of the patches, each transformed to the image, and a decomposition in every pixel."""
    coils, ndim = 3, len(shape)
    data = (rng.standard_normal((coils, *shape)) + 1j * rng.standard_normal((coils, *shape))).astype(dtype)
    block = [slice(n // 2 - calibration // 2, n // 2 - calibration // 2 + calibration) for n in shape]
    centre = data[(slice(None), *block)].astype(complex)
    places = itertools.product(range(calibration - taps + 1), repeat=ndim)
    patches = [centre[(slice(None), *(slice(p, p + taps) for p in place))].reshape(-1) for place in places]
    _, sizes, rows = np.linalg.svd(np.array(patches), full_matrices=False)
    kernels = rows[sizes > 0.3 * sizes[0]].reshape(-1, coils, *[taps] * ndim)
    grids = np.meshgrid(*[(np.arange(n) - n // 2) / n for n in shape], indexing="ij")
    seen = np.zeros((len(kernels), coils, *shape), complex)
    for tap in np.ndindex(*[taps] * ndim):
        phase = sum((t - taps // 2) * g for t, g in zip(tap, grids, strict=True))
        seen += kernels[(..., *tap)][(..., *[None] * ndim)] * np.exp(2j * np.pi * phase)
    products = np.einsum("kc...,kd...->...cd", seen, seen.conj()) / taps**ndim
    values, vectors = np.linalg.eigh(products)
    found = im.espirit(data, calibration=calibration, kernel=taps, threshold=0.3, maps=count, crop=0.0)
    found = found.reshape(count, coils, *shape)
    assert found.dtype == dtype
    for which in range(count):
        apart = values[..., -1 - which] - values[..., -2 - which]
        clear = apart > 0.02 if which == 0 else (apart > 0.02) & (values[..., -1] - values[..., -2] > 0.02)
        match = np.abs(np.einsum("...c,c...->...", vectors[..., -1 - which].conj(), found[which]))
        assert clear.mean() > 0.5 and match[clear].min() > 0.999


def test_the_power_method_leaves_what_is_near_to_a_decomposition(rng):
    from tessera.imaging import _maps

    turn = np.linalg.qr(rng.standard_normal((40, 5, 5)) + 1j * rng.standard_normal((40, 5, 5)))[0]
    values = np.sort(rng.random((40, 5)), 1)
    values[:10, -2] = values[:10, -1] * (1 - 1e-3)  # would take thousands of steps
    values[10:13] = 0
    matrices = (turn * values[:, None]) @ turn.conj().transpose(0, 2, 1)
    w, v = _maps.strongest(matrices, 1, 0.0)
    np.testing.assert_allclose(w[:, 0], values[:, -1], atol=1e-9)
    residual = matrices @ v - w[:, None] * v
    assert np.abs(residual).max() < 1e-4 and np.isfinite(v).all()
    w, v = _maps.strongest(matrices[10:14], 1, 5.0)
    assert not w.any() and not v.any()  # none of them can be as large


def test_adaptive_maps_combine_what_coils_see(rng):
    truth, head = im.Coils(5).maps((40, 40)), im.shepp_logan().image((40, 40))
    images = truth * head + 1e-3 * rng.standard_normal((5, 40, 40))
    maps = im.adaptive_maps(images)
    combined = (maps.conj() * images).sum(0)
    want = head * np.linalg.norm(truth, axis=0)
    assert im.nrmse(np.abs(combined), want) < 0.02
    np.testing.assert_allclose(im.root_sum_of_squares(images).numpy(), np.linalg.norm(images, axis=0), rtol=1e-12)


# --- measures


def test_measures_beside_scikit_image(rng):
    metrics = pytest.importorskip("skimage.metrics")
    for shape in [(30, 31), (9, 12, 10)]:
        x, y = rng.random(shape), rng.random(shape)
        span = float(y.max() - y.min())
        assert im.ssim(x, y) == pytest.approx(metrics.structural_similarity(x, y, data_range=span), abs=1e-10)
        assert im.psnr(x, y, peak=1.0) == pytest.approx(metrics.peak_signal_noise_ratio(y, x, data_range=1.0))
        assert im.nrmse(x, y) == pytest.approx(metrics.normalized_root_mse(y, x))


@pytest.mark.parametrize("kind", ["bool", "uint8", "int8", "int16", "uint16", "float16", "float32", "complex64"])
def test_measures_of_numbers_that_wrap_or_overflow(kind, rng):
    x, y = (rng.integers(0, 120, (2, 9, 8)) * (1 if kind != "float16" else 300)).astype(kind)
    wide = complex if kind == "complex64" else float
    for measure in (im.nrmse, im.psnr, im.ssim):
        assert measure(x, y) == measure(x.astype(wide), y.astype(wide))
    assert im.nrmse(x, y, scale=True) <= im.nrmse(x, y)
    with pytest.raises(ts.ArgumentError, match="numbers"):
        im.nrmse(x.astype(str), y)


def test_ssim_by_the_formula(rng):
    x, y = rng.random((9, 8)), rng.random((9, 8))
    w, total = 5, []
    span = y.max() - y.min()
    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    for i, j in itertools.product(range(5), range(4)):
        a, b = x[i : i + w, j : j + w].ravel(), y[i : i + w, j : j + w].ravel()
        v = np.cov(a, b)
        total.append(
            (2 * a.mean() * b.mean() + c1)
            * (2 * v[0, 1] + c2)
            / ((a.mean() ** 2 + b.mean() ** 2 + c1) * (v[0, 0] + v[1, 1] + c2))
        )
    assert im.ssim(x, y, window=w) == pytest.approx(np.mean(total), abs=1e-12)
    assert im.psnr(x, x) == math.inf


# --- files


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (4, 1, 3), (1, 1, 2), (2, 1)])
def test_cfl_goes_there_and_back(shape, rng, tmp_path):
    x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)
    im.save_cfl(tmp_path / "x.cfl", x)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.cfl", "x.hdr"]
    got = im.load_cfl(tmp_path / "x")
    want = x.reshape(shape[next((i for i, n in enumerate(shape) if n > 1), len(shape) - 1) :])
    assert np.array_equal(got, want)
    assert (tmp_path / "x.hdr").read_text().splitlines()[1].split() == [str(n) for n in shape[::-1]]


@pytest.mark.parametrize(
    "header, payload, words",
    [
        ("", b"", "no line"),
        ("# Dimensions\n", b"", "no line"),
        ("# Dimensions\n2 x\n", b"", "positive whole"),
        ("# Dimensions\n0\n", b"", "positive whole"),
        ("# Dimensions\n-3 2\n", b"", "positive whole"),
        ("# Dimensions\n999999999999999999 999999999999999999 9\n", b"12345678", "tells"),
        ("# Dimensions\n2 2\n", b"1234567", "7 bytes"),
        ("\xff\xfe", b"", "no line"),
    ],
)
def test_hostile_headers_are_refused(header, payload, words, tmp_path):
    (tmp_path / "x.hdr").write_text(header, encoding="latin-1")
    (tmp_path / "x.cfl").write_bytes(payload)
    with pytest.raises(ts.IoError, match=words):
        im.load_cfl(tmp_path / "x")


def test_missing_files_are_named(tmp_path):
    with pytest.raises(ts.IoError, match="nothing.hdr"):
        im.load_cfl(tmp_path / "nothing")
    with pytest.raises(ts.IoError, match="x.cfl"):
        im.save_cfl(tmp_path / "no" / "x", np.ones(2))


# --- reconstructions


@pytest.mark.parametrize("recipe", ["sense", "l1_wavelet", "tv"])
@pytest.mark.parametrize("kind", ["mask", "locs", "weights"])
def test_recipes_find_the_head(recipe, kind, device):
    shape, coils = (32, 32), im.Coils(6)
    head, maps = im.shepp_logan().image(shape), coils.maps(shape)
    encoding = {}
    if kind == "mask":
        encoding["mask"] = im.poisson_disc(shape, 2.5, calibration=10)
    else:
        encoding["locs"] = im.radial(26, 64, 32)
        if kind == "weights":
            encoding["weights"] = np.sqrt(np.linalg.norm(encoding["locs"], axis=-1) + 0.25) / 4
    raw = im.sense_operator(maps, locs=encoding.get("locs"))(head)
    options = {} if recipe == "sense" else {"lamda": 1e-3}
    found = getattr(im, recipe)(raw, maps, **encoding, **options, maxiter=60, device=device)
    assert str(found.image.device) == str(ts.zeros(1, device=device).device)
    # Spokes leave the corners of k-space out: an image without them is that far from the head.
    assert im.nrmse(found.image.to("cpu"), head) < (0.05 if kind == "mask" or recipe == "tv" else 0.13)
    assert len(found.history) == found.result.iterations + 1 and "iterations" in repr(found)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("factors", ["mask", "weights", "both"])
@pytest.mark.parametrize("recipe", [im.sense, im.l1_wavelet, im.tv])
def test_masks_do_not_change_the_precision(recipe, factors, dtype):
    maps = im.Coils(3).maps((8, 8)).astype(dtype)
    data = np.ones((3, 8, 8), dtype)
    given = {"mask": np.ones((8, 8), bool), "weights": np.ones((8, 8))}
    found = recipe(data, maps, lamda=1e-3, maxiter=2, **{k: v for k, v in given.items() if factors in (k, "both")})
    assert found.image.dtype == dtype


def test_noise_is_lower_with_a_penalty(rng):
    shape = (32, 32)
    head, maps = im.shepp_logan().image(shape), im.Coils(6).maps(shape)
    mask = im.poisson_disc(shape, 3, calibration=8)
    data = im.sense_operator(maps)(head).numpy()
    data = data + 0.02 * (rng.standard_normal(data.shape) + 1j * rng.standard_normal(data.shape))
    plain = im.nrmse(im.sense(data, maps, mask=mask, maxiter=60).image, head)
    for recipe in (im.l1_wavelet, im.tv):
        assert im.nrmse(recipe(data, maps, mask=mask, lamda=0.02).image, head) < 0.9 * plain
    assert im.nrmse(im.sense(data, maps, mask=mask, lamda=0.05).image, head) < plain


# --- raw files


def test_ismrmrd_cartesian_there_and_back(rng, tmp_path):
    pytest.importorskip("h5py")
    for shape in [(3, 6, 8), (2, 4, 5, 6)]:
        x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)
        noise = (rng.standard_normal((shape[0], 50)) + 0j).astype(np.complex64)
        im.save_ismrmrd(tmp_path / "x.h5", x, noise=noise)
        scan = im.load_ismrmrd(tmp_path / "x.h5")
        assert np.array_equal(scan.kspace, x) and scan.sampled.all() and np.array_equal(scan.noise, noise)
        assert scan.dims == ("coil", *("kz", "ky", "kx")[4 - len(shape) :]) and scan.shape == shape[1:]
        assert "cartesian" in repr(scan) and "noise" in repr(scan)
    assert [p.name for p in tmp_path.iterdir()] == ["x.h5"]


@pytest.mark.parametrize("ndim", [2, 3])
def test_ismrmrd_along_a_trajectory(ndim, rng, tmp_path):
    pytest.importorskip("h5py")
    locs = im.radial(5, 16, 12) if ndim == 2 else im.kooshball(5, 16, 12)
    x = (rng.standard_normal((3, 5, 16)) + 1j).astype(np.complex64)
    im.save_ismrmrd(tmp_path / "x.h5", x, locs=locs, shape=(12,) * ndim)
    scan = im.load_ismrmrd(tmp_path / "x.h5")
    assert scan.dims == ("coil", "readout", "sample") and np.array_equal(scan.kspace, x)
    np.testing.assert_allclose(scan.locs, locs, atol=1e-5)
    im.save_ismrmrd(tmp_path / "parts.h5", x, locs=locs / 12, shape=(12,) * ndim)
    np.testing.assert_allclose(im.load_ismrmrd(tmp_path / "parts.h5").locs, locs, atol=1e-5)


def header(matrix=(1, 8, 6), trajectory="cartesian"):
    from tessera.imaging._ismrmrd_layout import write_header

    return write_header(trajectory, matrix, 2, matrix[1]).encode()


def raw_file(path, acquisitions, xml=None):
    """By the package of the standard: what others write."""
    ismrmrd = pytest.importorskip("ismrmrd")
    data = ismrmrd.Dataset(str(path), "dataset", create_if_needed=True)
    data.write_xml_header(header() if xml is None else xml)
    for values, counters, flags, fields in acquisitions:
        acquisition = ismrmrd.Acquisition.from_array(np.asarray(values, np.complex64))
        for name, value in counters.items():
            setattr(acquisition.idx, name, value)
        for name, value in fields.items():
            setattr(acquisition, name, value)
        for flag in flags:
            acquisition.set_flag(flag)
        data.append_acquisition(acquisition)
    data.close()


def test_ismrmrd_of_others(rng, tmp_path):
    """Averages, reversed and cut readouts, half of the lines, slices and repetitions, scans that are no image."""
    ismrmrd = pytest.importorskip("ismrmrd")
    want = np.zeros((3, 2, 2, 8, 6), complex)
    acquisitions, seen = [], np.zeros((3, 2, 8, 6), bool)
    for repetition, slice_, step, average in itertools.product(range(3), range(2), range(0, 8, 2), range(2)):
        values = (rng.standard_normal((2, 6)) + 1j * rng.standard_normal((2, 6))).astype(np.complex64)
        want[repetition, slice_, :, step] += values / 2
        seen[repetition, slice_, step] = True
        counters = {"repetition": repetition, "slice": slice_, "kspace_encode_step_1": step, "average": average}
        if step == 4:
            acquisitions.append((values[:, ::-1], counters, [ismrmrd.ACQ_IS_REVERSE], {"center_sample": 2}))
        elif step == 2:
            wide = np.concatenate([np.full((2, 2), 9), values, np.full((2, 1), 9)], 1)
            acquisitions.append((wide, counters, [], {"center_sample": 5, "discard_pre": 2, "discard_post": 1}))
        else:
            acquisitions.append((values, counters, [], {"center_sample": 3}))
    acquisitions.insert(3, (np.ones((2, 9)), {}, [ismrmrd.ACQ_IS_NOISE_MEASUREMENT], {}))
    acquisitions.insert(5, (np.ones((2, 3)), {}, [ismrmrd.ACQ_IS_NAVIGATION_DATA], {}))
    raw_file(tmp_path / "x.h5", acquisitions)
    scan = im.load_ismrmrd(tmp_path / "x.h5")
    assert scan.dims == ("repetition", "slice", "coil", "ky", "kx")
    np.testing.assert_allclose(scan.kspace, want, atol=1e-5)
    assert np.array_equal(scan.sampled, seen) and scan.noise.shape == (2, 9)
    assert scan.noise_share == pytest.approx(np.sqrt(1 / 2))  # of the mean of two readouts


def test_other_encodings_are_no_part_of_the_image(rng, tmp_path):
    lines = [
        ((rng.standard_normal((2, 6)) + 1j), {"kspace_encode_step_1": i}, [], {"center_sample": 3}) for i in (2, 5)
    ]
    more = [(np.ones((2, 16)), {"repetition": 4}, [], {"encoding_space_ref": 1})]
    raw_file(tmp_path / "x.h5", lines + more)
    scan = im.load_ismrmrd(tmp_path / "x.h5")
    assert scan.dims == ("coil", "ky", "kx") and scan.sampled.any(1).nonzero()[0].tolist() == [2, 5]
    for line, at in zip(lines, (2, 5), strict=True):
        np.testing.assert_allclose(scan.kspace[:, at], line[0], atol=1e-6)


def test_ismrmrd_of_ours_is_read_by_others(rng, tmp_path):
    ismrmrd = pytest.importorskip("ismrmrd")
    x = (rng.standard_normal((2, 8, 6)) + 1j).astype(np.complex64)
    im.save_ismrmrd(tmp_path / "x.h5", x)
    data = ismrmrd.Dataset(str(tmp_path / "x.h5"), "dataset", create_if_needed=False)
    assert data.number_of_acquisitions() == 8
    read = data.read_acquisition(5)
    assert np.array_equal(read.data, x[:, 5]) and read.idx.kspace_encode_step_1 == 5
    parsed = ismrmrd.xsd.CreateFromDocument(data.read_xml_header())
    assert parsed.encoding[0].encodedSpace.matrixSize.y == 8


LINE = (np.ones((2, 6)), {"kspace_encode_step_1": 3}, [], {"center_sample": 3})


@pytest.mark.parametrize(
    "acquisitions, xml, words",
    [
        ([], None, "no acquisition of the image"),
        ([LINE, (np.ones((3, 6)), {}, [], {})], None, "acquisition 1 has another number of coils"),
        (
            [LINE, (np.ones((2, 6)), {"kspace_encode_step_1": 30}, [], {"center_sample": 3})],
            None,
            "acquisition 1 .*outside",
        ),
        ([LINE, (np.ones((2, 9)), {}, [], {"center_sample": 3})], None, "acquisition 1 .*outside"),
        ([LINE, (np.full((2, 6), np.nan), {}, [], {})], None, "acquisition 1 has samples that are not finite"),
        ([LINE], b"<a>", "no XML"),
        ([LINE], b"<a/>", "no encoding"),
        ([LINE], header().replace(b"<x>6</x>", b"<x>none</x>"), "matrixSize x is 'none'"),
        ([LINE], header().replace(b"<x>6</x>", b"<x>0</x>"), "matrixSize x is 0"),
        ([LINE], header(trajectory="radial"), "acquisition 0 of a radial scan has a trajectory of 0.*missing"),
        ([(*LINE[:3], {"discard_pre": 4, "discard_post": 2})], None, "acquisition 0 discards 4 and 2 of its 6"),
    ],
)
def test_raw_files_that_are_refused(acquisitions, xml, words, tmp_path):
    raw_file(tmp_path / "x.h5", acquisitions or [(np.ones((2, 4)), {}, [19], {})], xml)
    with pytest.raises(ts.IoError, match=words):
        im.load_ismrmrd(tmp_path / "x.h5")


def test_files_that_are_no_raw_files(tmp_path):
    h5py = pytest.importorskip("h5py")
    (tmp_path / "text.h5").write_text("no")
    with h5py.File(tmp_path / "empty.h5", "w"):
        pass
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["dataset/xml"], file["dataset/data"] = [header()], np.zeros((3, 3))
    for name, words in {
        "none": "none.h5",
        "text": "text.h5",
        "empty": "no group",
        "other": "list of acquisitions",
    }.items():
        with pytest.raises(ts.IoError, match=words):
            im.load_ismrmrd(tmp_path / f"{name}.h5")


def test_a_raw_file_to_an_image(tmp_path):
    """The way that a user goes: a file of the scanner, maps from its own centre, an image."""
    pytest.importorskip("h5py")
    shape = (48, 48)
    head, maps = im.shepp_logan().image(shape), im.Coils(6).maps(shape)
    im.save_ismrmrd(tmp_path / "scan.h5", im.sense_operator(maps)(head).numpy())
    scan = im.load_ismrmrd(tmp_path / "scan.h5")
    found = im.sense(scan.kspace, im.espirit(scan.kspace, calibration=24, kernel=6), mask=scan.sampled, lamda=1e-4)
    want = head * np.linalg.norm(maps, axis=0)
    assert im.nrmse(np.abs(found.image.numpy()), want) < 0.05
