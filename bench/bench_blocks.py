# SPDX-License-Identifier: Apache-2.0
"""Blocks, convolutions and wavelets beside SigPy, torch-named-linops, SciPy and PyWavelets, in one run.

Peers that are not installed are named and left out. Both sides take turns; medians are shown.
"""

import importlib
import statistics
import time

import numpy as np
import scipy.ndimage
import scipy.signal

import tessera as ts


def peer(name):
    try:
        return importlib.import_module(name)
    except Exception as error:  # a peer that cannot be loaded is as good as one that is not there
        print(f"{name}: not here ({type(error).__name__}), its rows are left out")
        return None


def once(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare(name, ours, theirs, goal=None, rounds=9):
    """`theirs` is (name, function); prints medians and their ratio, above 1 we are faster."""
    ours()
    theirs[1]()
    pairs = [(once(ours), once(theirs[1])) for _ in range(rounds)]
    mine, other = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    speed = statistics.median(b / a for a, b in pairs)
    verdict = "" if goal is None else f"  goal {goal:g}: {'reached' if speed >= goal else 'MISSED'}"
    print(
        f"{name:42s} {mine * 1e3:9.3f} ms   {theirs[0]:22s} {other * 1e3:9.3f} ms   speed {speed:7.2f}{verdict}",
        flush=True,
    )


def complex_numbers(shape, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)


def bench_blocks():
    sigpy, torch, torchlinops = peer("sigpy"), peer("torch"), peer("torchlinops")
    grid, block, stride = (128,) * 3, (8,) * 3, (4,) * 3
    a = complex_numbers(grid)
    B = ts.ArrayToBlocks(grid, block, stride)
    x = ts.asarray(a)
    y = B(x)
    b = y.numpy()
    forward, adjoint = (lambda: B(x)), (lambda: B.H(y))
    names = ("blocks of 128^3, block 8, stride 4", "blocks of 128^3, adjoint")
    if sigpy:
        compare(names[0], forward, ("SigPy", lambda: sigpy.array_to_blocks(a, block, stride)), 2)
        compare(names[1], adjoint, ("SigPy", lambda: sigpy.blocks_to_array(b, grid, block, stride)), 2)
    if torch and torchlinops:
        T = torchlinops.ArrayToBlocks(grid, block, stride)
        u, v = torch.from_numpy(a), torch.from_numpy(b)
        compare(names[0], forward, ("torch-named-linops", lambda: T(u)), 20, 5)
        compare(names[1], adjoint, ("torch-named-linops", lambda: T.H(v)), 20, 5)


def bench_convolution():
    for shape, kernel in (
        ((1 << 20,), (9,)),
        ((1 << 20,), (255,)),
        ((512, 512), (3, 3)),
        ((512, 512), (7, 7)),
        ((512, 512), (31, 31)),
        ((96, 96, 96), (3, 3, 3)),
        ((96, 96, 96), (7, 7, 7)),
    ):
        rng = np.random.default_rng(1)
        a, k = (rng.normal(size=s).astype("float32") for s in (shape, kernel))
        A = ts.Convolution(k)
        C = ts.Convolution(k, padding_mode="circular")
        x, y = ts.asarray(a), ts.empty(shape, dtype="float32")
        text = f"convolution {'x'.join(map(str, shape))} with {'x'.join(map(str, kernel))}"
        zeros = lambda A=A, x=x, y=y: A(x, out=y)
        rounds = 5
        compare(text, zeros, ("signal.convolve", lambda a=a, k=k: scipy.signal.convolve(a, k, "same")), 1, rounds)
        compare(text, zeros, ("signal.oaconvolve", lambda a=a, k=k: scipy.signal.oaconvolve(a, k, "same")), 1, rounds)
        if np.prod(kernel) <= 400:
            compare(
                text + " circular",
                lambda C=C, x=x, y=y: C(x, out=y),
                ("ndimage.convolve", lambda a=a, k=k: scipy.ndimage.convolve(a, k, mode="wrap")),
                1,
                rounds,
            )


def bench_wavelet():
    pywt = peer("pywt")
    if not pywt:
        return
    a = np.random.default_rng(2).normal(size=(512, 512)).astype("float32")
    W = ts.Wavelet("XY", "db4", 4)
    x = ts.asarray(a)
    y = W(x)
    coefficients = pywt.wavedec2(a, "db4", "periodization", 4)
    compare(
        "wavelet db4, 4 levels of 512^2",
        lambda: W(x, out=y),
        ("PyWavelets", lambda: pywt.wavedec2(a, "db4", "periodization", 4)),
    )
    compare(
        "wavelet db4, inverse",
        lambda: W.H(y),
        ("PyWavelets", lambda: pywt.waverec2(coefficients, "db4", "periodization")),
    )


if __name__ == "__main__":
    bench_blocks()
    bench_convolution()
    bench_wavelet()
