# SPDX-License-Identifier: Apache-2.0
"""Proximal maps by what defines them: no point near the result has a smaller f(x) + |x - v|^2 / (2 t), and the
conditions of optimality hold; on every device, in every dtype, over pieces and ranks."""

import doctest
import pickle

import numpy as np
import pytest
from random_maps import NAMES, ORDERED, drawn_map
from support import on

import tessera as ts

p = ts.solve.prox
DTYPES = ["float32", "float64", "complex64", "complex128"]


def tolerance(dtype):
    return 2e-4 if dtype in ("float32", "complex64") else 1e-8


def numbers(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def minimises(f, v, t, x, rng, among=lambda z: z):
    """Nothing tried has a lower value: near points, far points, and points between x and v."""
    value = lambda z: f(z) + np.sum(np.abs(z - v) ** 2) / (2 * t)  # noqa: E731
    best = value(x)
    for scale in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            assert best <= value(among(x + scale * numbers(rng, v.shape, str(v.dtype)))) * (1 + 1e-6) + 1e-7
    for a in np.linspace(0, 1, 11):
        assert best <= value(among((1 - a) * x + a * v)) * (1 + 1e-6) + 1e-7


# --- simplex


def sorted_projection(v, total):
    """Held, Wolfe and Crowder, by sorting."""
    u = np.sort(v)[::-1]
    sums = np.cumsum(u) - total
    rank = np.nonzero(u * np.arange(1, len(u) + 1) > sums)[0][-1]
    return np.maximum(v - sums[rank] / (rank + 1), 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 7, 33, 1000])
@pytest.mark.parametrize("total", [1e-3, 1.0, 50.0])
def test_simplex_as_by_sorting(device, rng, dtype, n, total):
    for v in (rng.standard_normal(n), 100 + rng.standard_normal(n), np.zeros(n), -np.ones(n), np.arange(n) * 3.0):
        v = v.astype(dtype)
        x = p.simplex(total)(on(device, v), 0.3).numpy()
        assert x.dtype == dtype and x.min() >= 0
        scale = np.abs(v).max() + total
        eps = 4e-6 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(x, sorted_projection(v.astype(float), total), atol=eps * scale, rtol=0)
        assert abs(float(x.astype(float).sum()) - total) <= eps * scale * n


def test_simplex_along_axes_and_what_it_refuses(device, rng):
    v = rng.standard_normal((4, 5, 3))
    x = p.simplex(2.0, (0, -1))(on(device, v)).numpy()
    for j in range(5):
        np.testing.assert_allclose(x[:, j].ravel(), sorted_projection(v[:, j].ravel(), 2.0), atol=1e-12)
    one = p.simplex(2.0, 1)(on(device, v)).numpy()
    np.testing.assert_allclose(one.sum(1), 2.0, atol=1e-10)
    assert p.simplex()(on(device, np.zeros(0))).shape == (0,)
    for bad in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="total"):
            p.simplex(bad)
    with pytest.raises(TypeError, match="complex"):
        p.simplex()(on(device, np.ones(3) * 1j))
    with pytest.raises((ValueError, IndexError), match="axis|axes"):
        p.simplex(1.0, 3)(on(device, np.ones(3)))


# --- blocks


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_are_their_maps_side_by_side(device, rng, dtype, axis):
    v = numbers(rng, (7, 7, 7), dtype)
    center = numbers(rng, np.take(v, range(3), axis).shape, dtype)
    parts = [(2, p.l1(0.3)), (3, p.l2_squared(0.7, on(device, center))), (0, p.l1(9.0)), (1, p.l2(0.5)), (1, p.none())]
    found = p.blocks(parts, axis)(on(device, v), 0.8).numpy()
    begins = np.cumsum([0, *(n for n, _ in parts)])
    wanted = [m(on(device, np.take(v, range(a, a + n), axis)), 0.8).numpy() for a, (n, m) in zip(begins, parts)]  # noqa: B905
    np.testing.assert_allclose(found, np.concatenate(wanted, axis), atol=1e-6)
    # A function among them, and blocks in blocks.
    own = [(5, p.blocks(parts[:2], axis)), (2, lambda x, t: x / (1 + t))]
    both = p.blocks(own, axis)(on(device, v), 0.8).numpy()
    np.testing.assert_allclose(np.take(both, range(5), axis), np.take(found, range(5), axis), atol=1e-6)
    np.testing.assert_allclose(np.take(both, range(5, 7), axis), np.take(v, range(5, 7), axis) / 1.8, rtol=1e-6)


def test_blocks_of_a_solver_in_pieces(rng, tmp_path):
    """The operator is cut over devices along the axis of the blocks, which end within pieces, or along another."""
    A = ts.Dense(0.3 * rng.standard_normal((6, 9, 7)), ts.Dim("TMN"), ts.Dim("TNX"), ts.Dim("TMX"))
    y = rng.standard_normal((6, 9, 4))
    center = rng.standard_normal((1, 7, 4))
    inner = p.blocks([(2, p.group(0.2, 1)), (3, p.l2(0.3)), (1, p.l2_squared(0.5, center))])
    across = p.blocks([(3, p.simplex(2.0, 1)), (4, p.l1(0.1))], axis=1)
    for g in (inner, across):
        whole = ts.solve.fista(A, y, g, step=0.05, rtol=0, maxiter=9)
        for spec in ({"T": 2}, {"T": 4}, {"T": 1}, {"N": 4}):
            for devices in (["sim:0", "sim:1"], ["sim:1", "cpu", "sim:0"]):
                cut = ts.create_batched_linop(A, ts.BatchSpec(spec, device_matrix=devices))
                found = ts.solve.fista(cut, y, g, step=0.05, rtol=0, maxiter=9)
                assert found.iterations == 9
                np.testing.assert_allclose(found.x.numpy(), whole.x.numpy(), atol=1e-9)
        stop = dict(step=0.05, rtol=0, checkpoint=tmp_path / f"{g.name[:9]}.npz")
        ts.solve.fista(A, y, g, maxiter=4, **stop)
        again = ts.solve.fista(A, y, g, maxiter=9, **stop)
        assert again.x.tolist() == whole.x.tolist()


@pytest.mark.parametrize("split", [None, 0, 1])
def test_blocks_over_ranks(rng, split):
    A = ts.Dense(0.3 * rng.standard_normal((5, 8, 7)), "BMN", "BNX", "BMX")
    y = rng.standard_normal((5, 8, 3))
    for axis, sizes in ((0, (1, 4)), (1, (3, 4)), (2, (2, 1))):
        g = p.blocks([(sizes[0], p.l2(0.4)), (sizes[1], p.simplex(1.5, (0, 2)))], axis)
        expected = ts.solve.fista(A, y, g, step=0.1, rtol=0.0, maxiter=6).x.numpy()

        def work(comm, g=g):
            return ts.dist.fista(
                A, ts.dist.array(y, split=split, comm=comm), g, step=0.1, rtol=0.0, maxiter=6
            ).x.numpy()

        for x in ts.dist.run_ranks(3, work):
            np.testing.assert_allclose(x, expected, atol=1e-9)


def test_blocks_that_do_not_fit():
    with pytest.raises(ValueError, match="no blocks"):
        p.blocks([])
    with pytest.raises(ValueError, match="size -1"):
        p.blocks([(-1, p.l1(1.0))])
    with pytest.raises(ValueError, match="pairs of a size and a map"):
        p.blocks([p.l1(1.0)])
    with pytest.raises(ValueError, match="blocks of 2 in all along axis 0"):
        p.blocks([(2, p.l1(1.0))])(np.ones(3))
    with pytest.raises(ValueError, match="gave shape"):
        p.blocks([(2, lambda v, t: v[:1]), (1, p.l1(1.0))])(np.ones(3))


# --- low rank


def nuclear(x):
    return np.linalg.svd(x, compute_uv=False).sum()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (1, 5), (5, 1), (3, 2, 4)])
def test_nuclear_norm_by_its_minimisation(device, rng, dtype, shape):
    v = numbers(rng, shape, dtype)
    t, lam = 0.8, 0.9
    for axis in range(len(shape)):
        x = p.low_rank(lam, axis=axis)(on(device, v), t).numpy()
        assert x.dtype == v.dtype and x.shape == v.shape
        flat = lambda z, a=axis: np.moveaxis(z, a, 0).reshape(z.shape[a], -1)  # noqa: E731
        u, s, vh = np.linalg.svd(flat(v), full_matrices=False)
        wanted = (u * np.maximum(s - lam * t, 0)) @ vh
        np.testing.assert_allclose(flat(x), wanted, atol=tolerance(dtype))
        minimises(lambda z, flat=flat: lam * nuclear(flat(z)), v, t, x, rng)


@pytest.mark.parametrize("seed", [None, 0, 11])
def test_locally_low_rank_is_the_sum_over_a_grid_of_blocks(device, rng, seed):
    v, block, t = rng.standard_normal((3, 7, 8)), 3, 0.7
    x = p.low_rank(0.8, block, seed=seed)(on(device, v), t).numpy()

    # Some shift of the grid explains it, and without a seed it is none.
    def of_grid(a, b):
        moved = np.roll(v, (-a, -b), (1, 2))
        result = np.zeros_like(moved)
        for i in range(0, 7, block):
            for j in range(0, 8, block):
                part = moved[:, i : i + block, j : j + block]
                u, s, vh = np.linalg.svd(part.reshape(3, -1), full_matrices=False)
                result[:, i : i + block, j : j + block] = ((u * np.maximum(s - 0.8 * t, 0)) @ vh).reshape(part.shape)
        return np.roll(result, (a, b), (1, 2))

    shifts = [(0, 0)] if seed is None else [(a, b) for a in range(block) for b in range(block)]
    assert min(np.abs(of_grid(a, b) - x).max() for a, b in shifts) < 1e-10
    again = p.low_rank(0.8, block, seed=seed)(on(device, v), t).numpy()
    assert again.tobytes() == x.tobytes()


def test_shifts_change_with_the_numbers(rng):
    seen = {p.low_rank(0.5, 4, seed=3)(rng.standard_normal((2, 8, 8))).numpy().shape for _ in range(3)}
    assert seen == {(2, 8, 8)}
    from tessera._array_prox import _shifts

    drawn = {tuple(_shifts(3, ts.asarray(rng.standard_normal(9)), (4, 4))) for _ in range(200)}
    assert len(drawn) == 16  # all of them come
    assert _shifts(None, ts.ones(3), (4, 4)) == [0, 0]


@pytest.mark.parametrize("g", [p.low_rank(0.2, 4, seed=1), p.wavelet(0.1, "haar", (1, 2), seed=1)], ids=["low", "wave"])
def test_shifts_follow_the_iterations_of_a_solver(g, rng):
    """So that rounding draws no others: on other devices, with tiles, looked at in other steps, and in blocks."""
    calls = []

    class Noted:
        def __call__(self, v, t):
            raise AssertionError("a solver tells the iteration")

        def at_iteration(self, v, t, iteration):
            calls.append(iteration)
            return g.at_iteration(v, t, iteration)

    A = ts.Diagonal(rng.uniform(0.5, 1, (4, 8, 8)), ("T", "Y", "X"))
    y = rng.standard_normal((4, 8, 8))
    tiled = ts.create_batched_linop(A, ts.BatchSpec({"T": 2}, ["sim:0", "sim:1"]))
    options = dict(step=0.5, rtol=0, maxiter=7)
    whole = ts.solve.fista(A, y, Noted(), **options).x.numpy()
    assert calls == list(range(7)) and not np.array_equal(whole, ts.solve.fista(A, y, g, step=0.5, maxiter=6, rtol=0).x)
    for found in (
        ts.solve.fista(A, y, g, **options, check_every=3),
        ts.solve.fista(A.to("sim:0"), ts.asarray(y).to("sim:0"), g, **options),
        ts.solve.fista(tiled, y, g, **options),
        ts.solve.fista(A, y, p.blocks([(4, Noted())]), **options),
    ):
        np.testing.assert_allclose(found.x.to("cpu").numpy(), whole, atol=1e-12)
    near = y * (1 + 1e-13 * rng.standard_normal(y.shape))
    np.testing.assert_allclose(ts.solve.fista(A, near, g, **options).x.numpy(), whole, atol=1e-10)


def test_a_resumed_solve_with_random_shifts_is_the_uninterrupted_one(rng, tmp_path):
    A = ts.Diagonal(rng.uniform(0.5, 1, (4, 8, 8)), ("T", "Y", "X"))
    y = rng.standard_normal((4, 8, 8))
    for g in (p.low_rank(0.2, 4, seed=1), p.wavelet(0.1, "haar", (1, 2), seed=1)):
        run = lambda n, g=g, **o: ts.solve.fista(A, y, g, step=0.5, rtol=0, maxiter=n, **o)  # noqa: E731
        whole = run(12)
        run(5, checkpoint=tmp_path / f"{g.name[:4]}.npz")
        assert run(12, checkpoint=tmp_path / f"{g.name[:4]}.npz").x.tolist() == whole.x.tolist()
        with pytest.raises(ValueError, match="another problem: the regulariser"):
            other = p.low_rank(0.3, 4, seed=1)
            ts.solve.fista(A, y, other, step=0.5, rtol=0, checkpoint=tmp_path / f"{g.name[:4]}.npz")


# --- wavelets


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wavelet,axes", [("haar", None), ("db4", (1,)), ("sym4", (0, -1)), ("db2", -1)])
def test_wavelets_by_their_minimisation(device, rng, dtype, wavelet, axes):
    v = numbers(rng, (6, 9), dtype)
    x = p.wavelet(0.4, wavelet, axes)(on(device, v), 0.9).numpy()
    assert x.dtype == v.dtype
    along = (0, 1) if axes is None else tuple(a % 2 for a in (axes if isinstance(axes, tuple) else (axes,)))
    W = ts.Wavelet(tuple(f"A{i}" for i in along), wavelet)
    order = [i for i in (0, 1) if i not in along] + list(along)
    f = lambda z: 0.4 * np.abs(W(np.ascontiguousarray(z.transpose(order))).numpy()).sum()  # noqa: E731
    minimises(f, v, 0.9, x, rng)
    assert not np.allclose(x, v, atol=1e-3)


def test_shifted_wavelets_are_those_of_the_moved_array(rng):
    from tessera._array_prox import _shifts

    v = rng.standard_normal((8, 6))
    shifts = _shifts(5, ts.asarray(v), (8, 6))
    assert any(shifts)
    moved = p.wavelet(0.5, "haar")(np.roll(v, [-s for s in shifts], (0, 1))).numpy()
    np.testing.assert_allclose(p.wavelet(0.5, "haar", seed=5)(v).numpy(), np.roll(moved, shifts, (0, 1)), atol=1e-12)


def test_what_they_refuse():
    for make in (p.low_rank, p.wavelet):
        with pytest.raises(ValueError, match="negative"):
            make(-1.0)
    with pytest.raises(ValueError, match="blocks of 0"):
        p.low_rank(1.0, 0)
    with pytest.raises(ValueError, match="axis 2 of an array of 2"):
        p.low_rank(1.0, axis=2)(np.ones((2, 2)))
    with pytest.raises(ValueError, match="axes .* of an array of 1"):
        p.wavelet(1.0, axes=(0, 0))(np.ones(4))
    with pytest.raises(ValueError, match="nosuch"):
        p.wavelet(1.0, "nosuch")
    assert p.low_rank(1.0)(np.zeros((0, 3))).shape == (0, 3)
    assert p.wavelet(1.0)(np.arange(4)).dtype == "float64"


# --- the others, by the same definition


@pytest.mark.parametrize("dtype", DTYPES)
def test_norms_by_their_minimisation(device, rng, dtype):
    v, t = numbers(rng, (4, 5), dtype), 0.7
    lengths = lambda z: np.sqrt((np.abs(z) ** 2).sum(0)).sum()  # noqa: E731
    for made, f in (
        (p.l1(0.6), lambda z: 0.6 * np.abs(z).sum()),
        (p.l2(2.0), lambda z: 2.0 * np.linalg.norm(z)),
        (p.l2_squared(0.9), lambda z: 0.45 * np.linalg.norm(z) ** 2),
        (p.group(0.8, 0), lambda z: 0.8 * lengths(z)),
    ):
        minimises(f, v, t, made(on(device, v), t).numpy(), rng)


def test_examples_run():
    from tessera._array_prox import ArrayProx

    runner, report = doctest.DocTestRunner(), []
    for found in (p, ArrayProx):
        for test in doctest.DocTestFinder().find(found, found.__name__, globs={"ts": ts, "np": np}):
            runner.run(test, out=report.append)
    assert not report and runner.tries > 10, "".join(report)


# --- all of them


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_a_pickle_is_the_same_map(rng, name, dtype):
    """The same numbers and the same name, by which plans and checkpoints know it; simplex(1.0, ()) is not simplex()."""
    if dtype.startswith("complex") and name in ORDERED:
        return
    for shape in ((5,), (4, 3), (2, 5, 3)):
        for _ in range(6):
            made, v = drawn_map(rng, name, shape, dtype), numbers(rng, shape, dtype)
            again = pickle.loads(pickle.dumps(made))
            assert again.name == made.name
            assert again(v, 0.7).numpy().tobytes() == made(v, 0.7).numpy().tobytes(), made


def test_no_axes_given_and_no_axes_are_two_things():
    for made, wanted in ((p.simplex(1.0), [0.0, 1.0]), (p.simplex(1.0, ()), [1.0, 1.0])):
        for m in (made, pickle.loads(pickle.dumps(made)), p.blocks([(2, made)])):
            np.testing.assert_allclose(m([3.0, 4.0]).numpy(), wanted, atol=1e-12)


def far_apart(dtype):
    """Arrays of huge and tiny numbers, with a length about which a threshold is."""
    large, small = (1e38, 1e-42) if dtype == "float32" else (1e150, 1e-150)
    for v in ([1, 0], [1, -0.75, 0.5], [1, 1e-9, -1], [1], [-1, -0.5], [0.25, 0.5, 0.5, 1]):
        for scale in (large, small, large**0.6, small**0.6, 1.0):
            yield (np.array(v) * scale).astype(dtype), scale


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_huge_and_tiny_numbers(device, dtype):
    eps = 1e-5 if dtype == "float32" else 1e-12
    for v, scale in far_apart(dtype):
        wide = v.astype(np.longdouble)
        length = np.sqrt(np.sum((wide / scale) ** 2)) * scale

        least_of_all = 4 * np.spacing(np.abs(v).max())  # where numbers have few digits left

        def check(m, wanted, t=1.0, v=v, least=least_of_all):
            x = m(on(device, v), t).numpy()
            error = np.abs(x.astype(np.longdouble) - wanted)
            assert np.all(error <= eps * np.abs(v).max() + least), (m, v, x, wanted)

        for part in (0.0, 0.3, 0.999, 1.5):
            soft = np.sign(wide) * np.maximum(np.abs(wide) - np.longdouble(part * scale), 0)
            check(p.l1(part * scale), soft)
            check(p.l1(part), soft, scale)
            shrunk = wide * np.maximum(1 - np.longdouble(part * scale) / length, 0)
            check(p.l2(part * scale), shrunk)
            check(p.group(part * scale, 0), shrunk)
            check(p.group(part * scale, ()), soft)
            check(p.l2_squared(part, on(device, v)), wide)
            check(p.l2_squared(part), wide / (1 + np.longdouble(part)))
        check(p.box(-0.6 * scale, 0.3 * scale), np.clip(wide, np.longdouble(-0.6 * scale), np.longdouble(0.3 * scale)))
        check(p.nonneg(), np.maximum(wide, 0))
        check(p.none(), wide)
        for total in (0.1, 1.0, 3.0):
            # In units of the larger of both, so that the reference itself loses nothing.
            top = wide.max()
            for at in {scale, 1.0}:
                if np.dtype(dtype).type(total * at) == 0 or total * at > 1e38:
                    continue
                wanted = sorted_projection(wide - top, np.longdouble(total * at))
                check(p.simplex(total * at), wanted, least=eps * total * at + least_of_all)
        check(p.l2_squared(1e308, on(device, v)), wide, 100.0)
    one = p.simplex(1.0)(on(device, np.array([1e20, 0], dtype))).numpy()
    assert one.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_that_is_none_stays_in_its_group(device, rng, dtype):
    """NaN comes out where it went in, in all of its group, and nowhere else."""
    v = numbers(rng, (3, 4), dtype)
    spoilt = v.copy()
    spoilt[1, 2] = np.nan
    number, row, everything = np.zeros((3, 4), bool), np.zeros((3, 4), bool), np.ones((3, 4), bool)
    number[1, 2] = row[1] = True
    cases = [(p.none(), number), (p.l1(0.3), number), (p.l2_squared(0.3), number), (p.l2(0.3), everything)]
    cases += [
        (p.nonneg(), number),
        (p.group(0.3, 1), row),
        (p.group(0.3, ()), number),
        (p.group(0.3, (0, 1)), everything),
    ]
    cases += [(p.blocks([(1, p.l2(0.3)), (1, p.l2(0.3)), (1, p.l1(0.3))]), row)]
    if not dtype.startswith("complex"):
        cases += [(p.box(-0.3, 0.3), number), (p.simplex(1.0, 1), row), (p.simplex(1.0), everything)]
    for m, reached in cases:
        x, whole = m(on(device, spoilt), 0.7).numpy(), m(on(device, v), 0.7).numpy()
        assert np.array_equal(np.isnan(x), reached), m
        np.testing.assert_allclose(x[~reached], whole[~reached], rtol=1e-6)


def test_infinite_numbers():
    inf = np.inf
    v = np.array([inf, -inf, 1.0, -0.25])
    assert p.l1(0.5)(v).tolist() == [inf, -inf, 0.5, 0.0]
    assert p.l1(inf)(np.array([3.0, -1e300])).tolist() == [0.0, 0.0]
    assert p.box(-2.0, 0.5)(v).tolist() == [0.5, -2.0, 0.5, -0.25]
    assert p.nonneg()(v).tolist() == [inf, 0.0, 1.0, 0.0]
    assert p.none()(v).tolist() == v.tolist()
    assert p.simplex(1.0)(np.array([-inf, 3.0, 3.0])).tolist() == [0.0, 0.5, 0.5]


def test_an_axis_that_is_not_there_is_refused_whatever_the_threshold():
    for made in (p.group(0.0, 3), p.group(1.0, 3), p.blocks([(3, p.group(0.0, -2))])):
        with pytest.raises((ValueError, IndexError), match="axis|axes"):
            made(np.ones(3))
