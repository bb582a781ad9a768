# SPDX-License-Identifier: Apache-2.0
"""Programs written for Heat on several ranks, against NumPy."""

import numpy as np
import pytest
import tessera.compat.heat as ht

import tessera as ts

A = np.random.default_rng(3).integers(0, 50, (7, 5))
SPLITS = [None, 0, 1]


def check(x, wanted, dtype=None):
    assert isinstance(x, ht.DNDarray) and x.shape == np.shape(wanted)
    np.testing.assert_allclose(x.numpy(), wanted, rtol=1e-5, atol=1e-5)
    if dtype is not None:
        assert x.dtype is getattr(ht, dtype)


@pytest.mark.parametrize("split", SPLITS)
def test_arithmetic_and_reductions(split):
    x = ht.array(A.astype("float32"), split=split)
    assert x.split == split and x.comm.size == ts.dist.world.size
    check((x * 2 - 1) / 4, (A * 2 - 1) / 4, "float32")
    check(x + ht.ones((5,)), A + 1.0)
    for axis in (None, 0, 1):
        check(x.sum(axis=axis), A.sum(axis=axis))
        check(ht.mean(x, axis), A.mean(axis=axis), "float32")
        check(ht.std(x, axis, ddof=1), A.std(axis=axis, ddof=1))
        check(ht.max(x, axis, keepdims=True), A.max(axis=axis, keepdims=True))
        check(ht.median(x, axis), np.median(A, axis=axis))
    check(ht.cumsum(x, 0), np.cumsum(A, 0))
    assert ht.argmax(x).item() == A.argmax() and ht.allclose(x, x)


@pytest.mark.parametrize("split", SPLITS)
def test_where_things_are(split):
    x = ht.array(A, split=split)
    start, shape, slices = x.comm.chunk(A.shape, split)
    assert x.lshape == shape and tuple(x.lshape_map[x.comm.rank].tolist()) == shape
    assert np.array_equal(x.dist.local.numpy(), A[slices])
    for axis in SPLITS:
        y = x.resplit(axis)
        assert y.split == axis and x.split == split
        check(y, A)
    x.resplit_(1)
    assert x.split == 1 and sum(x.counts_displs()[0]) == 5
    x.collect_(0)
    assert x.lshape == ((7, 5) if x.comm.rank == 0 else (7, 0))
    x.balance_()
    assert x.is_balanced()
    check(x, A)
    part = ht.array(np.full((2, 3), ts.dist.world.rank), is_split=0)
    check(part, np.repeat(np.arange(ts.dist.world.size), 2)[:, None] * np.ones(3))


@pytest.mark.parametrize("split", SPLITS)
def test_indexing_and_order(split):
    x = ht.array(A, split=split)
    for key in (2, (slice(1, 6, 2), slice(None)), (slice(None), [0, 3]), (..., -1), ([4, 0, 6],)):
        check(x[key], A[key])
    check(x[x > 20], A[A > 20])
    check(ht.nonzero(x > 40), np.argwhere(A > 40))
    check(ht.where(x > 20, x, 0), np.where(A > 20, A, 0))
    values, where = ht.sort(x, axis=0)
    check(values, np.sort(A, axis=0))
    check(where, np.argsort(A, axis=0, kind="stable"))
    check(ht.unique(x), np.unique(A))
    check(ht.topk(x, 2)[0], -np.sort(-A, axis=1)[:, :2])
    x[1:3] = -1
    x[x == -1] = 9
    x += 1
    wanted = A.copy()
    wanted[1:3] = 9
    check(x, wanted + 1)


@pytest.mark.parametrize("split", SPLITS)
def test_shapes_and_products(split):
    x = ht.array(A.astype("float64"), split=split)
    check(x.T @ x, A.T @ A, "float64")
    check(ht.reshape(x, (5, 7)), A.reshape(5, 7))
    check(ht.concatenate((x, x), 0), np.concatenate((A, A)))
    check(ht.hstack((x, x)), np.hstack((A, A)))
    check(ht.pad(x, ((1, 0), (0, 2))), np.pad(A, ((1, 0), (0, 2))))
    check(ht.roll(x, 3, 0), np.roll(A, 3, 0))
    check(ht.unfold(x, 0, 3, 2), np.stack([A[i : i + 3].T for i in (0, 2, 4)]))
    Q, R = ht.linalg.qr(x)
    check(Q @ R, A)
    check(ht.linalg.norm(x), np.linalg.norm(A))
    check(ht.fft.fft(x), np.fft.fft(A))
    assert ht.linalg.svd(x, compute_uv=False)[0].item() == pytest.approx(np.linalg.svd(A)[1][0])


def test_random_numbers_do_not_depend_on_ranks():
    drawn = []
    for split in SPLITS:
        ht.random.seed(5)
        drawn.append(ht.random.randn(6, 4, split=split).numpy())
    assert np.array_equal(drawn[0], drawn[1]) and np.array_equal(drawn[0], drawn[2])
    ht.random.seed()
    same = ht.array([ht.random.random()], is_split=0).numpy()
    assert (same == same[0]).all()


@pytest.mark.parametrize("split", SPLITS)
def test_changes_in_place_and_positions(split):
    x = ht.array(A.astype("float32"), split=split)
    wanted = A.astype("float32")
    view = x[2:6]
    view += 1
    wanted[2:6] += 1
    check(x, wanted, "float32")
    at = ht.nonzero(x > 20)
    check(x[at], wanted[wanted > 20])
    check(ht.nonzero(x[0] > 20), np.nonzero(wanted[0] > 20)[0])
    x[at] = -1
    wanted[wanted > 20] = -1
    turned = ht.flip(x, 0)
    turned *= ht.array([1.0, 2.0, 3.0, 4.0, 5.0])
    check(turned, wanted[::-1] * [1, 2, 3, 4, 5])
    check(x, wanted)
    with pytest.raises(TypeError, match="in place"):
        x += ht.ones(5, dtype=ht.float64)
    with pytest.raises(ValueError, match="in place"):
        x[0].__iadd__(x)
    outs = ht.zeros((7, 5), split=split), ht.zeros((7, 5), split=0)
    ht.divmod(x, 3.0, out=outs, where=x > 5)
    for out, made in zip(outs, np.divmod(wanted, 3), strict=True):
        check(out, np.where(wanted > 5, made, 0))
    check(ht.reshape(ht.array([5], split=0), ()), 5)
    assert isinstance(ht.supports_hdf5(), bool)
