# SPDX-License-Identifier: Apache-2.0
"""Problems of the size at which they are used, beside SigPy where it is installed. They take minutes and gigabytes, so
they run on request: TESSERA_LARGE=1 make test."""

import os

import numpy as np
import pytest
from conftest import MAIN_DEVICE

import tessera as ts

pytestmark = [
    pytest.mark.skipif("TESSERA_LARGE" not in os.environ, reason="large: set TESSERA_LARGE=1"),
    pytest.mark.skipif(MAIN_DEVICE != "cpu", reason="beside libraries on the cpu"),
]


def draw(rng, shape, dtype):
    x = rng.standard_normal(shape, dtype="float32")
    if np.dtype(dtype).kind == "c":
        return x + np.complex64(1j) * rng.standard_normal(shape, dtype="float32")
    return x.astype(dtype)


def error(got, expected):
    return np.linalg.norm(np.ravel(np.asarray(got) - expected)) / np.linalg.norm(np.ravel(expected))


@pytest.mark.parametrize("kernel, dtype", [("kaiser_bessel", "complex64"), ("spline", "float32")])
def test_interpolation_of_a_volume(rng, kernel, dtype):
    """220 cubed and 38.4 million points. SigPy, which would take an hour, sees every hundredth of them."""
    interp = pytest.importorskip("sigpy").interp
    shape, count, width, some = (220, 220, 220), 38_400_000, 4, slice(None, None, 100)
    locs = rng.uniform(0, 219, (count, 3)).astype("float32")
    A = ts.Interpolate(locs, shape, width=width, kernel=kernel, kernel_params={"beta": 2.0})
    options = dict(kernel=kernel, width=width, param=2.0 if kernel == "kaiser_bessel" else 1)
    x, y = draw(rng, shape, dtype), draw(rng, (count,), dtype)
    image, back = np.asarray(A(x)), np.asarray(A.H(y))
    assert error(image[some], interp.interpolate(x, locs[some], **options)) < 1e-5
    left, right = np.vdot(y, image), np.vdot(back, x)
    assert abs(left - right) < 1e-4 * np.linalg.norm(y) * np.linalg.norm(image) / np.sqrt(count)
    few = np.zeros_like(y)
    few[some] = y[some]
    assert error(A.H(few), interp.gridding(y[some], locs[some], shape, **options)) < 1e-5


def test_coils_through_a_nufft(rng):
    grid, coils = (128, 128, 128), 11
    locs = rng.uniform(-64, 64, (6, 28, 3))
    maps = draw(rng, (coils, *grid), "complex64")
    S = ts.Dense(maps, ("C", "Nx", "Ny", "Nz"), ("Nx", "Ny", "Nz"), ("C", "Nx", "Ny", "Nz"))
    F = ts.NUFFT(locs, grid, ("R", "K"), batch_shape=("C",))
    x = draw(rng, grid, "complex64")
    y = (F @ S)(x)
    assert y.shape == (coils, 6, 28) and y.dtype == "complex64"
    one = ts.NUFFT(locs, grid, ("R", "K"))
    for c in range(coils):
        assert error(y[c], np.asarray(one(maps[c] * x))) < 1e-5
    sp = pytest.importorskip("sigpy")
    assert error(y[3], sp.nufft(maps[3] * x, locs)) < 1e-3


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("n, block", [(192, 128), (256, 192)])
def test_large_blocks(rng, n, block, dtype):
    sp = pytest.importorskip("sigpy")
    B = ts.ArrayToBlocks((n,) * 3, (block,) * 3, (64,) * 3)
    x = draw(rng, (n,) * 3, dtype)
    blocks = np.asarray(B(x))
    assert blocks.shape == (2, 2, 2, block, block, block)
    assert np.array_equal(blocks, sp.array_to_blocks(x, (block,) * 3, (64,) * 3))
    expected = sp.blocks_to_array(blocks, (n,) * 3, (block,) * 3, (64,) * 3)
    assert error(B.H(blocks), expected) < 4 * np.finfo(dtype).eps


def test_gradients_of_distant_blocks_repeat_exactly(rng):
    torch = pytest.importorskip("torch")
    f = ts.torch.wrap(ts.ArrayToBlocks((120,) * 3, (10,) * 3, (20,) * 3))
    x = torch.tensor(draw(rng, (120,) * 3, "float32"), requires_grad=True)
    grads = []
    for _ in range(20):
        x.grad = None
        (f(x) ** 2).sum().backward()
        grads.append(x.grad.numpy().copy())
    assert all(np.array_equal(g, grads[0]) for g in grads)
    kept = np.zeros(120, bool)
    for start in range(0, 111, 20):
        kept[start : start + 10] = True
    inside = kept[:, None, None] & kept[:, None] & kept
    assert np.array_equal(grads[0], np.where(inside, 2 * x.detach().numpy(), 0))
