# SPDX-License-Identifier: Apache-2.0
"""Cartesian SENSE reconstructions beside SigPy's, in one run: 256 x 256, 16 coils, 30 iterations of CG, complex64. The
samples are whole lines, as a scanner takes them, or single points of the plane."""

import statistics
import time

import numpy as np

import tessera as ts

N, COILS, ITERATIONS, ROUNDS, GOAL = 256, 16, 30, 5, 5.0


def problem():
    y, x = np.mgrid[:N, :N] / N - 0.5
    image = (np.hypot(x, 1.4 * y) < 0.4) * (1 + 0.3 * np.sin(9 * x)) + 0j
    angles = 2 * np.pi * np.arange(COILS)[:, None, None] / COILS
    maps = np.exp(-3 * ((x - 0.5 * np.cos(angles)) ** 2 + (y - 0.5 * np.sin(angles)) ** 2)) * np.exp(1j * angles)
    maps /= np.sqrt((abs(maps) ** 2).sum(0))
    return image.astype(np.complex64), maps.astype(np.complex64)


def masks():
    """By name: the dims of the mask, and the mask."""
    rng = np.random.default_rng(0)
    lines = rng.random(N) < 0.4
    lines[N // 2 - 12 : N // 2 + 12] = True
    return {
        "lines": (("Kx",), lines.astype(np.float32)),
        "points": (("Kx", "Ky"), (rng.random((N, N)) < 0.4).astype(np.float32)),
    }


def ours(maps, names, mask, data):
    S = ts.Dense(maps, "CXY", "XY", "CXY")
    F = ts.FFT(2, ("C",), (("X", "Y"), ("Kx", "Ky")), centered=True)
    A = ts.Diagonal.from_weight(mask, names, ("C", "Kx", "Ky")) @ F @ S
    normal, right = A.N, A.H(data)
    return lambda: ts.solve.cg(normal, right, maxiter=ITERATIONS, rtol=0, progress=False).x.numpy()


def sigpys(maps, mask, data):
    import sigpy as sp

    A = sp.linop.FFT((COILS, N, N), axes=(-2, -1)) * sp.linop.Multiply((N, N), maps)
    A = sp.linop.Multiply((COILS, N, N), mask) * A
    right = A.H * data

    def run():
        x = np.zeros((N, N), np.complex64)
        alg = sp.alg.ConjugateGradient(A.N, right, x, max_iter=ITERATIONS)
        while not alg.done():
            alg.update()
        return x

    return run


def compare(what, names, mask):
    image, maps = problem()
    full = mask if len(names) == 2 else mask[:, None]
    spectrum = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(maps * image, axes=(1, 2)), norm="ortho"), axes=(1, 2))
    data = (full * spectrum).astype(np.complex64)
    runs = {"tessera": ours(maps, names, mask, data)}
    try:
        runs["sigpy"] = sigpys(maps, full, data)
    except ImportError:
        print("SigPy is not installed: its side is left out")
    times = {name: [] for name in runs}
    answers = {}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            answers[name] = run()
            times[name].append(time.perf_counter() - start)
    for name, seconds in times.items():
        error = np.linalg.norm(answers[name] - image) / np.linalg.norm(image)
        print(f"SENSE CG, {what:6s} {name:8s} {statistics.median(seconds) * 1e3:9.1f} ms   error {error:.4f}")
    if "sigpy" in times:
        ratio = statistics.median(b / a for a, b in zip(times["tessera"], times["sigpy"], strict=True))
        verdict = "reached" if ratio >= GOAL else "MISSED"
        print(f"SENSE CG beside SigPy, {what}: {ratio:.2f} times as fast, goal {GOAL}: {verdict}")


def main():
    for what, (names, mask) in masks().items():
        compare(what, names, mask)


if __name__ == "__main__":
    main()
