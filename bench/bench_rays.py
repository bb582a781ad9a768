# SPDX-License-Identifier: Apache-2.0
"""Projections of an image along parallel rays beside scikit-image's radon and ASTRA's projectors of the CPU, in one
run: 256 x 256, 180 views, float32; and our own backprojection, fan and cone. Peers that are not installed are left
out."""

import resource
import statistics
import time

import numpy as np

import tessera as ts

N, VIEWS, ROUNDS = 256, 180, 5
GOALS = {"radon": 20.0}


def astra_projector(image, angles, kind):
    """Of ASTRA: `strip` weighs pixels by the area that a ray as wide as a cell has in them, `linear` is Joseph's."""
    import astra

    volume = astra.create_vol_geom(N, N)
    projector = astra.create_projector(kind, astra.create_proj_geom("parallel", 1.0, N, angles), volume)

    def run():
        number, sinogram = astra.create_sino(image, projector)
        astra.data2d.delete(number)
        return sinogram

    return run


def core_seconds():
    """Of all threads: what a busy machine changes least."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


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
    try:
        for kind in ("strip", "linear"):
            all_runs[f"ASTRA {kind}"] = astra_projector(image, np.deg2rad(degrees), kind)
    except ImportError as error:
        print(f"ASTRA is not installed: its side is left out ({error})")
    return all_runs


def main():
    all_runs = runs()
    times, cores = {name: [] for name in all_runs}, {name: [] for name in all_runs}
    answers = {}
    for _ in range(ROUNDS):
        for name, run in all_runs.items():
            start, spent = time.perf_counter(), core_seconds()
            answers[name] = run()
            times[name].append(time.perf_counter() - start)
            cores[name].append(core_seconds() - spent)
    for name, seconds in times.items():
        work = statistics.median(cores[name]) * 1e3
        print(f"rays, {name:20s} {statistics.median(seconds) * 1e3:9.1f} ms, {work:9.1f} ms of cores")
    for name in [name for name in times if name.split()[0] in ("radon", "ASTRA")]:
        apart = ts.imaging.nrmse(answers["tessera"], answers[name])
        ratio = statistics.median(b / a for a, b in zip(times["tessera"], times[name], strict=True))
        work = statistics.median(b / a for a, b in zip(cores["tessera"], cores[name], strict=True))
        line = f"rays beside {name}, {apart:.4f} apart: {ratio:.2f} times as fast ({work:.2f} by cores)"
        if name in GOALS:
            line += f", goal {GOALS[name]}: {'reached' if ratio >= GOALS[name] else 'MISSED'}"
        print(line)


if __name__ == "__main__":
    main()
