# SPDX-License-Identifier: Apache-2.0
"""Functions of distributed arrays on one rank, against NumPy."""

import numpy as np
import pytest
from dist_support import same
from support import draw_numbers

import tessera as ts

D = ts.dist


# --- functions


@pytest.mark.parametrize("split", [None, 0, 1, 2])
def test_reductions(split, rng):
    n = draw_numbers(rng, (3, 4, 5), "float64")
    x = D.array(n, split=split)
    for name in ["sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "count_nonzero"]:
        for axis in [None, 0, -1, (0, 2)]:
            expected = getattr(np, name)(n, axis=axis)
            same(getattr(D, name)(x, axis=axis), expected, n=60)
            same(getattr(x, name)(axis, keepdims=True), getattr(np, name)(n, axis=axis, keepdims=True), n=60)
    for name in ["argmax", "argmin"]:
        for axis in [None, 1]:
            same(getattr(x, name)(axis), getattr(np, name)(n, axis=axis))
    for name in ["cumsum", "cumprod"]:
        for axis in [None, 0, 2]:
            same(getattr(x, name)(axis), getattr(np, name)(n, axis=axis), n=60)
    out = D.zeros((3, 5))
    assert x.sum(axis=1, out=out) is out
    same(out, n.sum(axis=1), n=4)
    same(x.sum(dtype="float32"), n.sum(dtype="float32"), n=60)
    same(D.norm(x), np.linalg.norm(n), n=60)
    same(D.vdot(x, x), np.vdot(n, n), n=60)
    with pytest.raises(IndexError, match="axis 5"):
        x.sum(axis=5)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_shapes_and_moves(split, rng):
    n = draw_numbers(rng, (4, 6), "int32")
    x = D.array(n, split=split)
    pairs = [
        (x.reshape(3, 8), n.reshape(3, 8)),
        (x.reshape((2, -1), new_split=1), n.reshape(2, -1)),
        (D.reshape(x, -1), n.reshape(-1)),
        (x.ravel(), n.ravel()),
        (x.flatten(), n.flatten()),
        (x.transpose(1, 0), n.T),
        (D.transpose(x), n.T),
        (x.swapaxes(0, 1), n.T),
        (D.moveaxis(x, 0, -1), n.T),
        (D.expand_dims(x, 1).squeeze(1), n),
        (D.broadcast_to(x, (2, 4, 6)), np.broadcast_to(n, (2, 4, 6))),
        (D.flip(x), np.flip(n)),
        (D.flip(x, 1), np.flip(n, 1)),
        (D.roll(x, 2), np.roll(n, 2)),
        (D.roll(x, (1, -2), (0, 1)), np.roll(n, (1, -2), (0, 1))),
        (D.pad(x, 1), np.pad(n, 1)),
        (D.pad(x, (1, 2), "edge"), np.pad(n, (1, 2), "edge")),
        (D.pad(x, ((1, 2), (0, 3)), constant_values=7), np.pad(n, ((1, 2), (0, 3)), constant_values=7)),
        (x.repeat(2), n.repeat(2)),
        (x.repeat([1, 0, 2, 1], 0), n.repeat([1, 0, 2, 1], 0)),
        (D.tile(x, (2, 1)), np.tile(n, (2, 1))),
        (D.diff(x, axis=0), np.diff(n, axis=0)),
        (x.diagonal(1), n.diagonal(1)),
        (D.diag(x), np.diag(n)),
        (D.tril(x), np.tril(n)),
        (D.triu(x, 1), np.triu(n, 1)),
    ]
    for got, expected in pairs:
        same(got, expected)
    same(D.diag(x[0]), np.diag(n[0]))
    for mode in ("reflect", "symmetric", "wrap"):
        same(D.pad(x, 2, mode), np.pad(n, 2, mode))
    with pytest.raises(ValueError, match="mode"):
        D.pad(x, 1, "mirror")
    with pytest.raises(ValueError):
        x.reshape(5, 5)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_joining_and_cutting(split, rng):
    a, b = draw_numbers(rng, (4, 6), "float32"), draw_numbers(rng, (4, 6), "float64")
    x, y = D.array(a, split=split), D.array(b, split=0)
    for axis in (0, 1, None):
        same(D.concatenate([x, y, ts.array(b)], axis), np.concatenate([a, b, b], axis))
    for axis in (0, 1, 2):
        same(D.stack([x, y], axis), np.stack([a, b], axis))
    same(D.hstack([x, y]), np.hstack([a, b]))
    same(D.vstack([x, y]), np.vstack([a, b]))
    same(D.column_stack([x[0], y[1]]), np.column_stack([a[0], b[1]]))
    for got, expected in [
        (D.split(x, 2), np.split(a, 2)),
        (D.split(x, [1, 3], 1), np.split(a, [1, 3], 1)),
        (D.array_split(x, 4, 1), np.array_split(a, 4, 1)),
    ]:
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            same(g, e)
    with pytest.raises(ValueError):
        D.split(x, 3)
    with pytest.raises(ValueError, match="at least one"):
        D.concatenate([])
    same(x @ y.T, a @ b.T, n=6)
    same(D.matmul(x, D.array(b.T, split=1)), a @ b.T, n=6)
    same(D.dot(x[0], y[0]), a[0] @ b[0], n=6)
    same(x.dot(y.T), a.dot(b.T), n=6)
    same(ts.array(a) @ y.T, a @ b.T, n=6)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_sorting_and_selecting(split, rng):
    n = draw_numbers(rng, (5, 7), "int64")
    x = D.array(n, split=split)
    for axis in (0, 1, -1, None):
        same(D.sort(x, axis), np.sort(n, axis))
        same(x.argsort(axis), np.argsort(n, axis, kind="stable"))
    same(D.sort(x, 0, descending=True), np.sort(n, 0)[::-1])
    same(D.argsort(x, 1, descending=True), np.argsort(-n, 1, kind="stable"))
    same(D.argsort(x, None, descending=True), np.argsort(-n, None, kind="stable"))
    assert isinstance(np.argsort(x, 0, kind="stable"), D.DNDarray)
    y = x.copy()
    y.sort(0)
    same(y, np.sort(n, 0))
    values, where = x.topk(3, axis=1)
    same(values, -np.sort(-n, axis=1)[:, :3])
    same(D.take_along_axis(x, where, 1), values.numpy())
    same(D.topk(x, 2, 0, largest=False)[0], np.sort(n, 0)[:2])
    same(D.unique(x), np.unique(n))
    for got, expected in zip(D.unique(x, True, True, True), np.unique(n, True, True, True), strict=True):
        same(got, expected.reshape(got.shape))
    for got, expected in zip(x.nonzero(), n.nonzero(), strict=True):
        same(got, expected)
    same(D.where(x > 0, x, -1), np.where(n > 0, n, -1))
    same(D.where([True] * 7, x, 0.5), np.where([True] * 7, n, 0.5))
    same(D.where(x)[0], np.where(n)[0])
    same(x.take([3, 0, 34]), n.take([3, 0, 34]))
    same(D.take(x, [[1, 0]], 1), np.take(n, [[1, 0]], 1))
    same(D.take(x, [], 0), np.take(n, np.empty(0, int), 0))
    same(D.searchsorted(D.sort(x, None), [3, -9, 4]), np.searchsorted(np.sort(n, None), [3, -9, 4]))
    same(D.searchsorted([1, 3], x, "right"), np.searchsorted([1, 3], n, "right"))
    same(x.clip(-1, 3), n.clip(-1, 3))
    same(D.clip(x, max=2), np.minimum(n, 2))
    same(D.compress([1, 0, 1], x, 0), np.compress([1, 0, 1], n, 0))
    same(D.extract(x > 2, x), np.extract(n > 2, n))
    y, m = x.copy(), n.copy()
    y.put([3, 0, 3], [9, 8, 7])
    np.put(m, [3, 0, 3], [9, 8, 7])
    same(y, m)
    D.put_along_axis(y, [[1], [2], [0], [0], [6]], 99, 1)
    np.put_along_axis(m, np.array([[1], [2], [0], [0], [6]]), 99, 1)
    same(y, m)
    with pytest.raises(IndexError):
        x.take([99])
    with pytest.raises(ValueError):
        D.where(x, x)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
@pytest.mark.parametrize("split", [None, 0, 1])
def test_medians_and_quantiles(split, dtype, rng):
    n = draw_numbers(rng, (6, 9), dtype)
    x = D.array(n, split=split)
    for axis in (None, 0, -1):
        for keep in (False, True):
            same(D.median(x, axis, keep), np.median(n, axis, keepdims=keep), n=4)
            same(D.quantile(x, 0.3, axis, keep), np.quantile(n, 0.3, axis, keepdims=keep), n=4)
            got = D.percentile(x, [[10, 50.0], [99, 0]], axis, keep)
            same(got, np.percentile(n, [[10, 50.0], [99, 0]], axis, keepdims=keep), n=4)
    same(np.median(x, 1), np.median(n, 1), n=4)
    same(np.median(x, axis=(0, 1)), np.median(n), n=4)
    assert np.quantile(x, 0.3, method="lower") == np.quantile(n, 0.3, method="lower")
    for q in (-0.1, [0.5, 1.5]):
        with pytest.raises(ValueError, match="range"):
            D.quantile(x, q)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_fft(split, rng):
    n = draw_numbers(rng, (6, 8), "complex128")
    x = D.array(n, split=split)
    for name in ["fft", "ifft"]:
        for axis in (0, 1):
            same(getattr(D.fft, name)(x, axis=axis), getattr(np.fft, name)(n, axis=axis), n=8)
    for name in ["fft2", "ifft2", "fftn", "ifftn"]:
        same(getattr(D.fft, name)(x, norm="ortho"), getattr(np.fft, name)(n, norm="ortho"), n=48)
    same(D.fft.rfft(x.real), np.fft.rfft(n.real), n=8)
    same(D.fft.irfft(x, n=9, axis=0), np.fft.irfft(n, n=9, axis=0), n=9)
    same(D.fft.rfftn(x.real), np.fft.rfftn(n.real), n=48)
    same(D.fft.irfftn(x), np.fft.irfftn(n), n=48)
    same(D.fft.fftshift(x), np.fft.fftshift(n))
    same(D.fft.ifftshift(x, 1), np.fft.ifftshift(n, 1))
    same(D.fft.fftshift(x, ()), n)
    same(np.fft.fft(x), np.fft.fft(n), n=8)


@pytest.mark.parametrize("split", [None, 0, 1])
def test_linalg(split, rng):
    n = rng.standard_normal((5, 5)) + 5 * np.eye(5)
    b = rng.standard_normal((5, 3))
    x = D.array(n, split=split)
    la = D.linalg
    same(la.solve(x, D.array(b, split=split)), np.linalg.solve(n, b), tol=1e-12)
    same(la.solve(x, b[:, 0]), np.linalg.solve(n, b[:, 0]), tol=1e-12)
    same(la.inv(x), np.linalg.inv(n), tol=1e-12)
    same(la.matmul(x, b), n @ b, tol=1e-12)
    same(la.cholesky(x @ x.T), np.linalg.cholesky(n @ n.T), tol=1e-12)
    same(la.det(x), np.linalg.det(n), tol=1e-12)
    sign, log = la.slogdet(x)
    assert sign.item() == np.linalg.slogdet(n)[0] and abs(log.item() - np.linalg.slogdet(n)[1]) < 1e-12
    q, r = la.qr(D.array(b, split=split))
    same(q @ r, b, tol=1e-12)
    w, v = la.eigh(x + x.T)
    same((v * w) @ v.T, n + n.T, tol=1e-11)
    same(la.eigvalsh(x + x.T), np.linalg.eigvalsh(n + n.T), tol=1e-12)
    u, s, vh = la.svd(D.array(b, split=split), full_matrices=False)
    same((u * s) @ vh, b, tol=1e-12)
    for m in (b, b.T + 1j * b.T):
        u, s, vh = la.svd(D.array(m, split=split))
        k = s.shape[0]
        same((u[:, :k] * s) @ vh[:k], m, tol=1e-12)
        for q in (u, vh):
            same(q @ q.mT.conj(), np.eye(q.shape[0], dtype=m.dtype), tol=1e-12)
            assert q.split == split
    same(la.svdvals(x), np.linalg.svd(n)[1], tol=1e-12)
    found, expected = la.lstsq(x[:, :2], b), np.linalg.lstsq(n[:, :2], b)
    same(found.x, expected[0], tol=1e-12)
    assert found.rank == expected[2]
    for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        same(la.norm(x, order), np.linalg.norm(n, order), tol=1e-12)
    for order in (None, 0, 1, 2, 3, -1, np.inf, -np.inf):
        same(la.norm(x, order, axis=1, keepdims=True), np.linalg.norm(n, order, 1, True), tol=1e-12)
    same(np.linalg.solve(x, b), np.linalg.solve(n, b), tol=1e-12)
    same(np.linalg.norm(x, 1), np.linalg.norm(n, 1), tol=1e-12)
    with pytest.raises(ValueError, match="ingular"):
        la.solve(D.zeros((2, 2), split=0), [1.0, 2.0])
    with pytest.raises(ValueError):
        la.norm(x, "bad")
    assert isinstance(la.backend(), str)


def test_elementwise_functions(rng):
    n = draw_numbers(rng, (3, 4), "float64")
    x = D.array(n, split=1)
    same(D.add(x, 1), n + 1)
    same(D.hypot(x, x), np.hypot(n, n), n=4)
    same(D.exp(x), np.exp(n), n=4)
    same(D.multiply_add(x, 2, x), n * 3)
    out = D.zeros((3, 4), split=0)
    assert D.subtract(x, 1, out=out) is out and out.split == 0
    same(out, n - 1)
    same(D.add([1, 2], 3), np.array([4, 5]))
    same(D.add(1, 2), np.array(3))
    with pytest.raises(TypeError, match="DNDarray"):
        D.add(x, 1, out=ts.zeros((3, 4)))
    with pytest.raises(ValueError):
        D.add(x, D.zeros(5))


def test_random():
    D.random.seed(5)
    ts.random.seed(5)
    same(D.random.normal((3, 5), split=1), ts.random.normal((3, 5)).numpy())
    same(D.random.uniform(7, "float32", split=0), ts.random.uniform(7, "float32").numpy())
    same(D.random.integers(0, 9, (2, 3), split=0), ts.random.integers(0, 9, (2, 3)).numpy())
    same(D.random.permutation(6, split=0), ts.random.permutation(6).numpy())
    p = D.random.permutation(D.arange(6, split=0).reshape(3, 2))
    assert sorted(p.tolist()) == [[0, 1], [2, 3], [4, 5]]
    g = D.random.Generator(3)
    assert g.normal(3, split=0).tolist() == ts.random.Generator(3).normal(3).tolist()


def test_files(tmp_path):
    n = np.arange(35.0).reshape(5, 7)
    name = tmp_path / "x.npy"
    D.save(name, D.array(n, split=1))
    assert (np.load(name) == n).all()
    for split in (None, 0, 1):
        x = D.load(name, split=split)
        same(x, n)
        assert x.split == split
    same(D.load(str(name), split=0, slices=[slice(1, 4), slice(None, None, 2)]), n[1:4, ::2])
    same(D.load(name, slices=slice(3)), n[:3])
    with pytest.raises(OSError):
        D.load(tmp_path / "none.npy")
    with pytest.raises(TypeError):
        D.load(name, slices=[3])


# --- NumPy's own functions


@pytest.mark.parametrize("number", [np.float64(2.5), np.float32(2.5), np.int8(2), np.array(2.0)])
def test_numbers_of_numpy_have_no_device(number, device):
    n = np.arange(6, dtype="float32")
    x = D.array(n, split=0, device=device)
    for got, want in (
        (x * number, n * number),
        (number * x, number * n),
        (np.add(x, number), n + number),
        (D.clip(x, number, None), np.clip(n, number, None)),
        (D.where(x > 2, x, number), np.where(n > 2, n, number)),
    ):
        assert str(got.device) == device and got.dtype == str(want.dtype)
        assert np.array_equal(got.numpy(), want)


def test_numpy_functions(rng):
    n = draw_numbers(rng, (4, 5), "float64")
    x = D.array(n, split=0)
    for function in (np.sqrt, np.negative, np.exp):
        with np.errstate(all="ignore"):
            same(function(x * x), function(n * n), n=4)
    same(np.add(x, n), n + n)
    same(n + x, n + n)
    same(np.float64(2) * x, 2 * n)
    same(np.sum(x, axis=0), n.sum(axis=0), n=4)
    same(np.sort(x, axis=0), np.sort(n, axis=0))
    same(np.concatenate([x, n]), np.concatenate([n, n]))
    same(np.where(x > 0, x, 0), np.where(n > 0, n, 0))
    same(np.logaddexp(x, x), np.logaddexp(n, n))  # not ours: gathered
    same(np.add.reduce(x), np.add.reduce(n))
    assert np.shape(x) == (4, 5) and np.ndim(x) == 2 and np.size(x, 0) == 4
    assert np.median(x) == np.median(n) and np.array_equal(x, n) and np.allclose(x, n)
    same(np.sum(x, where=n > 0), n.sum(where=n > 0), n=20)
    same(np.nan_to_num(x, copy=True), n)
    assert isinstance(np.around(x, out=np.empty((4, 5))), np.ndarray)  # memory of NumPy's: gathered
    np.testing.assert_array_equal(x, n)
    out = D.zeros((4, 5), split=1)
    assert np.add(x, 1, out=out) is out
    same(out, n + 1)
    same(np.logaddexp(x, x, out=out), np.logaddexp(n, n))
    n2 = n.copy()
    n2 += x
    assert isinstance(n2, np.ndarray) and (n2 == 2 * n).all()
    with pytest.raises(TypeError):
        np.copyto(n2, x)  # would gather
    np.copyto(x, -n)
    same(x, -n)
    np.copyto(x, n)
    assert isinstance(ts.array(n) + x, D.DNDarray) and isinstance(np.add(ts.array(n), x), D.DNDarray)


def test_functions_of_local_arrays_take_what_every_rank_has():
    x = D.arange(3)
    assert ts.sum(x).item() == 3 and ts.asarray(x[1]).item() == 1
    with pytest.raises(TypeError, match="ts.dist"):
        ts.sum(D.arange(3, split=0))
    with pytest.raises(TypeError, match="x.local"):
        ts.array(D.arange(3, split=0))


def test_array_namespace():
    x = D.arange(3, split=0)
    xp = x.__array_namespace__()
    assert xp is D and xp.__array_api_version__ == "2024.12"
    info = xp.__array_namespace_info__()
    assert set(info.dtypes(kind="integral")) == {f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)}
    assert info.default_dtypes()["integral"] == xp.int64 and info.default_device() in info.devices()
    assert xp.isdtype(x.dtype, "signed integer") and not xp.isdtype(x.dtype, ("bool", "complex floating"))
    for name in ("float16", "float32", "float64"):
        assert xp.finfo(name).max == float(np.finfo(name).max) and xp.finfo(name).eps == float(np.finfo(name).eps)
        assert xp.finfo(name).smallest_normal == float(np.finfo(name).smallest_normal)
    for name in ("int8", "uint64"):
        assert (xp.iinfo(name).min, xp.iinfo(name).max) == (np.iinfo(name).min, np.iinfo(name).max)
    assert xp.result_type(x, xp.float32) == "float64"
    with pytest.raises(TypeError):
        xp.finfo("int8")
