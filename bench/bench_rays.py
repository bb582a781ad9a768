# SPDX-License-Identifier: Apache-2.0
"""Projections of an image along parallel rays beside scikit-image's radon, in one run: 256 x 256, 180 views, float32;
and our own backprojection, fan and cone."""

import statistics
import time

import numpy as np

import tessera as ts

N, VIEWS, ROUNDS, GOAL = 256, 180, 5, 20.0


def runs():
    degrees = np.linspace(0, 180, VIEWS, endpoint=False)
    image = ts.imaging.shepp_logan().image((N, N)).astype("float32")
    A = ts.ParallelBeam(-np.deg2rad(degrees), (N, N), N)
    fan = ts.FanBeam(np.deg2rad(2 * degrees), (N, N), N, 2.5 * N, 1.2 * N, pitch=1.5)
    cone = ts.ConeBeam(np.deg2rad(2 * degrees[::6]), (64, 64, 64), (64, 96), 200.0, 100.0, pitch=1.5)
    x, volume = ts.asarray(image), ts.ones((64, 64, 64), dtype="float32")
    y = A(x)
    all_runs = {
        "tessera": lambda: A(x).numpy(),
        "backprojection": lambda: A.H(y).numpy(),
        "fan": lambda: fan(x).numpy(),
        "cone 64^3, 30 views": lambda: cone(volume).numpy(),
    }
    try:
        from skimage.transform import radon

        all_runs["radon"] = lambda: radon(image, degrees, circle=True).T
    except ImportError:
        print("scikit-image is not installed: its side is left out")
    return all_runs


def main():
    all_runs = runs()
    times = {name: [] for name in all_runs}
    answers = {}
    for _ in range(ROUNDS):
        for name, run in all_runs.items():
            start = time.perf_counter()
            answers[name] = run()
            times[name].append(time.perf_counter() - start)
    for name, seconds in times.items():
        print(f"rays, {name:20s} {statistics.median(seconds) * 1e3:9.1f} ms")
    if "radon" in times:
        apart = ts.imaging.nrmse(answers["tessera"], answers["radon"])
        ratio = statistics.median(b / a for a, b in zip(times["tessera"], times["radon"], strict=True))
        verdict = "reached" if ratio >= GOAL else "MISSED"
        print(f"rays beside scikit-image's radon, {apart:.4f} apart: {ratio:.2f} times as fast, goal {GOAL}: {verdict}")


if __name__ == "__main__":
    main()
