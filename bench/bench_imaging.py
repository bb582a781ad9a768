# SPDX-License-Identifier: Apache-2.0
"""Reconstructions beside SigPy and BART on the same data, in one run: how far each is from the truth, and how long it
takes. BART runs as programs over files, so its start and its reading are in its times. Peers that are not installed are
left out; names of rows as arguments run these alone."""

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tessera import imaging as im

N, COILS, ROUNDS = 256, 16, 3
GOALS = {"SigPy": 5.0, "BART": 1.5}
WORSE = 1.01  # times the smallest error of all: at most


class Bart:
    """BART's programs over arrays: the last axis here is its first dim."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def put(self, name, array):
        im.save_cfl(self.folder / f"{name}.cfl", np.ascontiguousarray(array, np.complex64))

    def __call__(self, *words):
        subprocess.run(["bart", *map(str, words)], cwd=self.folder, check=True, capture_output=True)
        return im.load_cfl(self.folder / f"{words[-1]}.cfl")


def plane():
    """A head seen by coils, a quarter of its k-space in a Poisson disc, a little noise."""
    rng, shape = np.random.default_rng(0), (N, N)
    maps = im.Coils(COILS).maps(shape)
    maps = (maps / np.linalg.norm(maps, axis=0)).astype(np.complex64)
    truth = im.shepp_logan().image(shape)
    full = im.sense_operator(maps)(truth.astype(np.complex64)).numpy()
    noise = rng.standard_normal(full.shape) + 1j * rng.standard_normal(full.shape)
    full = (full + 2e-3 * noise).astype(np.complex64)
    mask = im.poisson_disc(shape, 4, calibration=24)
    return truth, maps, full, mask


def volume(n=32, coils=8):
    maps = im.Coils(coils, 3).maps((n, n, n))
    maps = (maps / np.linalg.norm(maps, axis=0)).astype(np.complex64)
    truth = im.shepp_logan(3).image((n, n, n))
    locs = im.kooshball(600, 2 * n, n)
    data = im.sense_operator(maps, locs=locs, tol=1e-6)(truth.astype(np.complex64)).numpy()
    return truth, maps, locs, data


def sigpy_apps():
    try:
        from sigpy.mri import app
    except ImportError:
        print("SigPy is not installed: its rows are left out")
        return None
    return app


def row_espirit(app, bart):
    truth, maps, full, _ = plane()
    inside = truth > 0

    def error(found):
        """The angle between maps and truth, in the object: that of the root mean square."""
        length = np.linalg.norm(found, axis=0)
        cosine = np.abs((found.conj() * maps).sum(0)) / np.where(length > 0, length, 1)
        return float(np.sqrt(np.mean(1 - np.minimum(cosine[inside], 1) ** 2)))

    runs = {"tessera": lambda: im.espirit(full, calibration=24, kernel=6, crop=0.8)}
    if app is not None:
        options = dict(calib_width=24, kernel_width=6, thresh=0.02, crop=0.8, show_pbar=False)
        runs["SigPy"] = lambda: app.EspiritCalib(full, **options).run()
    if bart is not None:
        bart.put("full", full[:, None])
        words = ("ecalib", "-m1", "-r24", "-k6", "-c0.8", "full", "maps_found")
        runs["BART"] = lambda: bart(*words).reshape(maps.shape)
    return "ESPIRiT 256^2, 16 coils", runs, error


def _plane_row(what, ours, theirs, words, app, bart, lamda):
    truth, maps, full, mask = plane()
    data = full * mask
    runs = {"tessera": lambda: np.asarray(ours(data, maps, mask=mask, lamda=lamda, rtol=0).image)}
    if app is not None:
        runs["SigPy"] = lambda: theirs(app)(data, maps, lamda=lamda, weights=mask.astype(np.float32), show_pbar=False)
    if bart is not None:
        bart.put("data", data[:, None])
        bart.put("maps", maps[:, None])
        runs["BART"] = lambda: bart("pics", *words, "-w1", "data", "maps", "image").reshape(truth.shape)
    return what, runs, lambda found: im.nrmse(found, truth)


def row_sense(app, bart):
    def ours(*a, **k):
        return im.sense(*a, **k, maxiter=30)

    def theirs(app):
        return lambda *a, **k: app.SenseRecon(*a, **k, max_iter=30, tol=0).run()

    words = ("-l2", "-r0.001", "-i30")
    return _plane_row("SENSE CG 256^2, 16 coils, 30 iterations", ours, theirs, words, app, bart, 1e-3)


def row_wavelets(app, bart):
    """With the wavelet that BART has: db2."""

    def ours(*a, **k):
        return im.l1_wavelet(*a, **k, wavelet="db2", maxiter=50)

    def theirs(app):
        return lambda *a, **k: app.L1WaveletRecon(*a, **k, wave_name="db2", max_iter=50).run()

    words = ("-l1", "-r0.002", "-i50")
    return _plane_row("l1-wavelet 256^2, 16 coils, 50 iterations", ours, theirs, words, app, bart, 2e-3)


def row_tv(app, bart):
    def ours(*a, **k):
        return im.tv(*a, **k, maxiter=50)

    def theirs(app):
        return lambda *a, **k: app.TotalVariationRecon(*a, **k, max_iter=50).run()

    words = ("-RT:3:0:0.002", "-i50")
    return _plane_row("TV 256^2, 16 coils, 50 iterations", ours, theirs, words, app, bart, 2e-3)


def row_radial(app, bart):
    truth, maps, locs, data = volume()
    runs = {"tessera": lambda: np.asarray(im.sense(data, maps, locs=locs, lamda=1e-3, rtol=0, maxiter=15).image)}
    if app is not None:
        options = dict(coord=locs.astype(np.float32), lamda=1e-3, max_iter=15, tol=0, show_pbar=False)
        runs["SigPy"] = lambda: app.SenseRecon(data, maps, **options).run()
    if bart is not None:
        bart.put("data3", data[..., None])
        bart.put("maps3", maps)
        bart.put("locs3", locs[..., ::-1])
        words = ("pics", "-l2", "-r0.001", "-i15", "-w1", "-t", "locs3", "data3", "maps3", "image3")
        runs["BART"] = lambda: bart(*words).reshape(truth.shape)
    # Each scales its transform as it likes.
    return "3-D radial CG 32^3, 8 coils, 15 iterations", runs, lambda found: im.nrmse(found, truth, scale=True)


ROWS = {"espirit": row_espirit, "sense": row_sense, "wavelets": row_wavelets, "tv": row_tv, "radial": row_radial}


def core_seconds():
    """Of this process and of those that it has waited for: what a busy machine changes least."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def compare(what, runs, error):
    times, cores, errors = {name: [] for name in runs}, {name: [] for name in runs}, {}
    for name, run in runs.items():
        errors[name] = error(run())  # plans are made, programs are in the cache
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start, spent = time.perf_counter(), core_seconds()
            run()
            times[name].append(time.perf_counter() - start)
            cores[name].append(core_seconds() - spent)
    for name, seconds in times.items():
        both = (1e3 * statistics.median(seconds), 1e3 * statistics.median(cores[name]))
        line = f"{what:44s} {name:8s} {both[0]:9.1f} ms, {both[1]:9.1f} ms of cores   error {errors[name]:.4f}"
        if name in GOALS:
            ratio = statistics.median(b / a for a, b in zip(times["tessera"], seconds, strict=True))
            verdict = "reached" if ratio >= GOALS[name] else "MISSED"
            work = statistics.median(b / a for a, b in zip(cores["tessera"], cores[name], strict=True))
            line += f"   ours {ratio:.2f} times as fast ({work:.2f} by cores), goal {GOALS[name]}: {verdict}"
        print(line, flush=True)
    best = min(errors.values())
    verdict = "reached" if errors["tessera"] <= WORSE * best else "MISSED"
    print(f"{what:44s} our error is {errors['tessera'] / best:.3f} of the best, goal {WORSE}: {verdict}", flush=True)


def main():
    app = sigpy_apps()
    with tempfile.TemporaryDirectory() as folder:
        bart = Bart(folder) if shutil.which("bart") else None
        if bart is None:
            print("BART is not installed: its rows are left out")
        for name in sys.argv[1:] or ROWS:
            compare(*ROWS[name](app, bart))


if __name__ == "__main__":
    main()
