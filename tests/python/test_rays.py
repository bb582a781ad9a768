# SPDX-License-Identifier: Apache-2.0
"""Ray transforms beside brute force, exact projections of ellipses and scikit-image; adjoints, threads, devices, tiles."""

import numpy as np
import pytest

import tessera as ts

DTYPES = ("float32", "float64", "complex64", "complex128")
TURNS = np.random.default_rng(5).uniform(-4, 4, 7)


def tomographs(batch=None):
    """(name, operator, shape of its input): every beam, odd sizes, voxels that are not cubes, cells of every width."""
    o = {"batch_shape": batch}
    return [
        ("parallel", ts.ParallelBeam(TURNS, (9, 12), 17, **o), (9, 12)),
        ("narrow", ts.ParallelBeam(TURNS, (9, 7), 40, pitch=0.3, offset=0.2, voxel=(1.0, 0.6), **o), (9, 7)),
        ("wide", ts.ParallelBeam(TURNS, (8, 11), 4, pitch=4.7, centre=(2.0, 5.5), **o), (8, 11)),
        ("fan", ts.FanBeam(TURNS, (9, 12), 19, 16.0, 7.0, pitch=1.4, offset=0.3, **o), (9, 12)),
        ("arc", ts.FanBeam(TURNS, (9, 12), 19, 16.0, 7.0, pitch=1.4, offset=0.3, arc=True, **o), (9, 12)),
        (
            "cone",
            ts.ConeBeam(TURNS, (5, 8, 9), (7, 15), 16.0, 7.0, pitch=(1.2, 1.5), offset=(0.2, 0.1), **o),
            (5, 8, 9),
        ),
        ("helix", ts.ConeBeam(TURNS, (5, 8, 9), (4, 9), 16.0, 7.0, pitch=2.5, arc=True, heights=TURNS, **o), (5, 8, 9)),
    ]


NAMES = [t[0] for t in tomographs()]


def random(rng, shape, dtype):
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else a).astype(dtype)


def brute_force(views, beam, x, cells, rows, voxel, centre, row_pitch):
    """Weights of the distance-driven transform, cell by cell and voxel by voxel: (views, (rows,) cells)."""
    volume = x if rows else x[None]
    nz, ny, nx = volume.shape
    dz, dy, dx = voxel if rows else (1.0, *voxel)
    cz, cy, cx = centre if rows else (0.0, *centre)
    out = np.zeros((len(views), rows or 1, cells), x.dtype)

    def line(view, d):
        e = d - cells // 2
        if beam == "parallel":
            return view[3:5] + e * view[6:8], view[:2]
        q = view[3:5] - view[:2]
        if beam == "flat":
            return view[:2], q + e * view[6:8]
        c, s = np.cos(e * view[6]), np.sin(e * view[6])
        return view[:2], np.array([c * q[0] - s * q[1], s * q[0] + c * q[1]])

    def at(line, axis, value):
        """Where a line has this coordinate along an axis: the other coordinate."""
        (p, v) = line
        return p[1 - axis] + (value - p[axis]) * v[1 - axis] / v[axis]

    def overlap(a, b, low, high):
        return max(0.0, min(max(a, b), high) - max(min(a, b), low)) / abs(b - a)

    size, zero, count = (dx, dy), (cx, cy), (nx, ny)
    for a, view in enumerate(views):
        for d in range(cells):
            p, v = middle = line(view, d)
            axis = 1 if abs(v[1] / dy) >= abs(v[0] / dx) else 0
            length = size[axis] * np.hypot(*v) / abs(v[axis])
            for s in range(count[axis]):
                c = (s - zero[axis]) * size[axis]
                low, high = at(line(view, d - 0.5), axis, c), at(line(view, d + 0.5), axis, c)
                depth = (c - p[axis]) / v[axis]
                for j in range(count[1 - axis]):
                    edge = (j - zero[1 - axis] - 0.5) * size[1 - axis]
                    w = length * overlap(low, high, edge, edge + size[1 - axis])
                    y, x_ = (s, j) if axis == 1 else (j, s)
                    if w == 0 or (rows and depth <= 0):
                        continue
                    if not rows:
                        out[a, 0, d] += w * volume[0, y, x_]
                        continue
                    for r in range(rows):
                        at_detector = view[5] - view[2] + (r - rows // 2) * row_pitch
                        stretch = np.hypot(1, at_detector / np.hypot(*middle[1]))
                        z0 = view[2] + depth * (at_detector - row_pitch / 2)
                        z1 = view[2] + depth * (at_detector + row_pitch / 2)
                        for z in range(nz):
                            edge = (z - cz - 0.5) * dz
                            out[a, r, d] += w * stretch * overlap(z0, z1, edge, edge + dz) * volume[z, y, x_]
    return out if rows else out[:, 0]


@pytest.mark.parametrize("name", NAMES)
def test_brute_force(name):
    _, A, shape = next(t for t in tomographs() if t[0] == name)
    x = np.random.default_rng(1).standard_normal(shape)
    rows = A.size("V") if len(shape) == 3 else 0
    expected = brute_force(A.views.numpy(), A.beam, x, A.size("D"), rows, A.voxel, A.centre, A.row_pitch)
    assert np.abs(A(x).numpy() - expected).max() < 1e-12 * np.abs(expected).max()
    single = A(x.astype("float32"))
    assert single.dtype == np.float32
    assert np.abs(single.numpy() - expected).max() < 3e-6 * np.abs(expected).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_adjoint(name, dtype):
    _, A, shape = next(t for t in tomographs() if t[0] == name)
    rng = np.random.default_rng(2)
    for batch in ((), (3,), (2, 5)):
        x = random(rng, (*batch, *shape), dtype)
        y = A(x).numpy()
        z = random(rng, y.shape, dtype)
        back = A.H(z).numpy()
        one, other = np.vdot(z.astype("c16"), y.astype("c16")), np.vdot(back.astype("c16"), x.astype("c16"))
        tolerance = 1e-6 if np.dtype(dtype).itemsize in (4, 8) and dtype != "float64" else 1e-13
        assert abs(one - other) < tolerance * np.linalg.norm(z) * np.linalg.norm(y)


@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_threads_and_batches(name):
    """To the bit: alone, in a batch of any size, in any strides, on devices that are one thread."""
    _, A, shape = next(t for t in tomographs() if t[0] == name)
    x = np.random.default_rng(3).standard_normal((9, *shape)).astype("float32")
    whole, back = A(x).numpy(), None
    back = A.H(whole).numpy()
    turned = np.ascontiguousarray(np.moveaxis(x, 0, -1))
    assert np.array_equal(A(ts.moveaxis(ts.asarray(turned), -1, 0)).numpy(), whole)
    for i in range(3):
        assert np.allclose(A(x[i]).numpy(), whole[i], rtol=1e-5, atol=1e-5)
        assert np.allclose(A.H(whole[i]).numpy(), back[i], rtol=1e-4, atol=1e-4)
    there = A.to("sim:0")
    assert np.array_equal(there(ts.asarray(x).to("sim:0")).numpy(), whole)
    assert np.array_equal(there.H(ts.asarray(whole).to("sim:0")).numpy(), back)


@pytest.mark.parametrize("name", NAMES)
def test_tiles(name):
    _, A, shape = next(t for t in tomographs(("C",)) if t[0] == name)
    x = np.random.default_rng(4).standard_normal((2, *shape))
    whole = A(x).numpy()
    back = A.H(whole).numpy()
    for dim in [d for d in (*A.ishape, *A.oshape) if str(d) != "C"]:
        tiled = ts.create_batched_linop(A, ts.BatchSpec({str(dim): 3}))
        assert np.abs(tiled(x).numpy() - whole).max() < 1e-12 * np.abs(whole).max()
        assert np.abs(tiled.H(whole).numpy() - back).max() < 1e-12 * np.abs(back).max()


def test_exact_projections():
    """Of ellipses, from finer and finer images: the error falls with the size of the pixels."""
    phantom = ts.imaging.Phantom([1.0, -0.4], [[0.1, -0.1], [0.2, 0.2]], [[0.6, 0.5], [0.2, 0.3]], [0.3, 0.0])
    angles = np.linspace(0, np.pi, 23, endpoint=False)
    errors = []
    for n in (32, 64, 128):
        cells = 3 * n // 2 + 1
        A = ts.ParallelBeam(angles, (n, n), cells, voxel=2 / n, pitch=2 / n)
        exact = phantom.projections(angles, (np.arange(cells) - cells // 2) * 2 / n)
        errors.append(ts.imaging.nrmse(A(phantom.image((n, n))), exact))
    assert errors[0] < 0.04 and errors[1] < 0.6 * errors[0] and errors[2] < 0.6 * errors[1]


def test_fan_and_cone_beside_exact_integrals():
    """A fan's rays are lines of known angle and offset; the middle row of a cone is a fan."""
    phantom = ts.imaging.Phantom([1.0], [[0.1, -0.2]], [[0.5, 0.4]], [0.4])
    n, cells, rs, rd = 128, 161, 3.0, 1.0
    turns = np.linspace(0, 2 * np.pi, 9, endpoint=False)
    pitch = 2.5 / n
    place = (np.arange(cells) - cells // 2) * pitch
    for arc in (False, True):
        tilt = place / (rs + rd) if arc else np.arctan(place / (rs + rd))
        exact = np.array(
            [[phantom.projections([t - g], [rs * np.sin(g)])[0, 0] for g in tilt] for t in turns]
        )  # the ray turns against the cells' direction
        A = ts.FanBeam(turns, (n, n), cells, rs, rd, pitch=pitch, voxel=2 / n, arc=arc)
        x = phantom.image((n, n))
        assert ts.imaging.nrmse(A(x), exact) < 0.02
        C = ts.ConeBeam(turns, (9, n, n), (5, cells), rs, rd, pitch=(1e-3, pitch), voxel=2 / n, arc=arc)
        middle = C(np.repeat(x[None], 9, 0)).numpy()[:, 2]
        assert np.abs(middle - A(x).numpy()).max() < 1e-5


def test_beside_scikit_image():
    radon = pytest.importorskip("skimage.transform").radon
    n, degrees = 96, np.linspace(0, 180, 40, endpoint=False)
    image = ts.imaging.shepp_logan().image((n, n)).astype("float32")
    ours = ts.ParallelBeam(-np.deg2rad(degrees), (n, n), n)(image).numpy()  # its rows go down
    assert ts.imaging.nrmse(ours, radon(image, degrees, circle=True).T) < 0.01


def test_empty_and_small():
    none = ts.ParallelBeam([], (4, 5), 6)
    assert none(np.ones((4, 5))).shape == (0, 6)
    assert (none.H(np.ones((0, 6))).numpy() == 0).all()
    A = ts.ParallelBeam([0.3], (1, 1), 1)
    assert A(np.ones((0, 1, 1))).shape == (0, 1, 1)
    assert A(np.ones((1, 1))).shape == (1, 1)
    assert ts.FanBeam([0.3], (4, 5), 1, 20.0, 5.0).H(np.ones((1, 1), "int32")).dtype == np.float64


def test_properties_and_pickle():
    import pickle

    for _, A, shape in tomographs():
        B = pickle.loads(pickle.dumps(A))
        x = np.random.default_rng(6).standard_normal(shape)
        assert np.array_equal(A(x).numpy(), B(x).numpy())
        assert (A.beam, A.voxel, A.centre, A.row_pitch) == (B.beam, B.voxel, B.centre, B.row_pitch)
        assert A.views.shape == (7, 8)


def test_refusals():
    for wrong, says in (
        (lambda: ts.FanBeam([0.0], (9, 9), 5, -1.0, 2.0), "distances"),
        (lambda: ts.FanBeam([0.0], (9, 9), 5, 3.0, 2.0), "within the image"),
        (lambda: ts.ParallelBeam([[0.0]], (9, 9), 5), "one axis"),
        (lambda: ts.ParallelBeam([np.nan], (9, 9), 5), "finite"),
        (lambda: ts.ParallelBeam([1j], (9, 9), 5), "real numbers"),
        (lambda: ts.ParallelBeam([0.0], (9, 9), 5, pitch=0.0), "extent"),
        (lambda: ts.ConeBeam([0.0], (9, 9, 9), (5, 5), 20.0, 2.0, pitch=(1, 1, 1)), "one for rows"),
        (lambda: ts.ConeBeam([0.0], (9, 9, 9), (5, 5), 20.0, 2.0, heights=[1.0, 2.0]), "heights"),
    ):
        with pytest.raises(ts.Error, match=says):
            wrong()


@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_are_none_stay_where_rays_pass(name):
    """NaN and infinity reach what they have a weight for, and nothing else, in both directions."""
    _, A, shape = next(t for t in tomographs() if t[0] == name)
    weights = A.to_dense(dtype="float64").numpy()
    weights = weights.reshape(-1, int(np.prod(shape)))
    rng = np.random.default_rng(6)
    for _ in range(6):
        x, y = np.zeros(shape), np.zeros(A.output_shape(shape))
        v, c = int(rng.integers(x.size)), int(rng.integers(y.size))
        for bad in (np.nan, np.inf):
            x.flat[v], y.flat[c] = bad, bad
            for result, weight in ((A(x), weights[:, v]), (A.H(y), weights[c])):
                assert np.array_equal(~np.isfinite(np.asarray(result)).ravel(), weight != 0)
            for result, weight in ((A(x.astype("f4")), weights[:, v]), (A.H(y.astype("f4")), weights[c])):
                assert not np.isfinite(np.asarray(result)).ravel()[weight > 1e-6].any()


@pytest.mark.parametrize("voxel", [0.3, 0.5, 1.0, 2.5])
def test_pickles_of_geometries_in_any_unit(voxel, tmp_path):
    """A source that would lie within an image of voxels of length one, and parts of a whole."""
    import pickle

    A = ts.FanBeam(np.linspace(0, 6, 5), (16, 20), 24, 22 * voxel, 9 * voxel, voxel=voxel, pitch=1.7 * voxel)
    B = ts.ConeBeam(np.linspace(0, 6, 3), (4, 8, 9), (5, 9), 14 * voxel, 5 * voxel, voxel=voxel, pitch=1.5 * voxel)
    for op, shape in ((A, (16, 20)), (B, (4, 8, 9))):
        x = np.random.default_rng(1).standard_normal(shape)
        part = op.split({op.ishape[-1]: slice(2, 7)})
        for each, given in ((op, x), (part, x[..., 2:7])):
            ts.save(tmp_path / "rays.tessera", each)
            for same in (pickle.loads(pickle.dumps(each)), ts.load(tmp_path / "rays.tessera")):
                assert np.array_equal(np.asarray(same(given)), np.asarray(each(given)))
