# SPDX-License-Identifier: Apache-2.0
"""Reconstructions beside SigPy and BART on the same data, in one run: how far each is from the truth, and how long it
takes. BART runs as programs over files, so its start and its reading are in its times. Peers that are not installed are
left out; names of rows as arguments run these alone. With `--device cuda:0` ours works on that GPU and SigPy by CuPy;
each gets arrays of the host and gives one back. `--once` measures the first call alone, for rows that take minutes."""

import argparse
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from tessera import imaging as im

N, COILS, ROUNDS = 256, 16, 3
GOALS = {"SigPy": 5.0, "BART": 1.5}
ON_A_GPU = {"SigPy": 10.0}
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


def volume(n, spokes, coils=8):
    maps = im.Coils(coils, 3).maps((n, n, n))
    maps = (maps / np.linalg.norm(maps, axis=0)).astype(np.complex64)
    truth = im.shepp_logan(3).image((n, n, n))
    locs = im.kooshball(spokes, 2 * n, n)
    data = im.sense_operator(maps, locs=locs, tol=1e-6)(truth.astype(np.complex64)).numpy()
    return truth, maps, locs, data


class Sigpy:
    """SigPy's reconstructions, on the first GPU (through CuPy) where ours is on one."""

    def __init__(self, gpu):
        import sigpy
        from sigpy.mri import app

        self._to, self._app = sigpy.to_device, app
        self._where = {"device": sigpy.Device(0 if gpu else -1), "show_pbar": False}

    def __call__(self, name, *given, **options):
        return self._to(getattr(self._app, name)(*given, **options, **self._where).run(), -1)


def mrpro_sense(data, maps, mask, lamda, iterations, gpu):
    """CG-SENSE of MRpro's operators, which has no recipe for arrays; None where it is not installed."""
    try:
        import torch
        from mrpro.algorithms.optimizers import cg
        from mrpro.operators import FastFourierOp, SensitivityOp
    except ImportError as error:
        print(f"MRpro is not installed: its row is left out ({error})")
        return None

    def run():
        place = "cuda:0" if gpu else "cpu"
        y, kept = (torch.from_numpy(part).to(place) for part in (data, mask.astype(np.float32)))
        coils = SensitivityOp(torch.from_numpy(maps[:, None]).to(place))  # (coils, z, y, x)
        fourier = FastFourierOp(dim=(-2, -1))

        def normal(x):
            (seen,) = fourier(*coils(x))
            (back,) = coils.adjoint(*fourier.adjoint(kept * seen))
            return (back + lamda * x,)

        (first,) = coils.adjoint(*fourier.adjoint((kept * y)[None, :, None]))
        return cg(normal, first, max_iterations=iterations, tolerance=0.0)[0].cpu().numpy().reshape(mask.shape)

    return run


def sigpy_apps(gpu):
    try:
        return Sigpy(gpu)
    except ImportError as error:
        print(f"SigPy is not installed: its rows are left out ({error})")
        return None


def on_the_host(found):
    return found.image.to("cpu").numpy()


def row_espirit(app, bart, device):
    truth, maps, full, _ = plane()
    inside = truth > 0

    def error(found):
        """The angle between maps and truth, in the object: that of the root mean square."""
        length = np.linalg.norm(found, axis=0)
        cosine = np.abs((found.conj() * maps).sum(0)) / np.where(length > 0, length, 1)
        return float(np.sqrt(np.mean(1 - np.minimum(cosine[inside], 1) ** 2)))

    runs = {"tessera": lambda: im.espirit(full, calibration=24, kernel=6, crop=0.8)}
    if app is not None:
        options = dict(calib_width=24, kernel_width=6, thresh=0.02, crop=0.8)
        runs["SigPy"] = lambda: app("EspiritCalib", full, **options)
    if bart is not None:
        bart.put("full", full[:, None])
        words = ("ecalib", "-m1", "-r24", "-k6", "-c0.8", "full", "maps_found")
        runs["BART"] = lambda: bart(*words).reshape(maps.shape)
    return "ESPIRiT 256^2, 16 coils", runs, error


def _plane_row(what, ours, theirs, words, app, bart, device, lamda):
    truth, maps, full, mask = plane()
    data = full * mask
    runs = {"tessera": lambda: on_the_host(ours(data, maps, mask=mask, lamda=lamda, rtol=0, device=device))}
    if app is not None:
        name, options = theirs
        weights = mask.astype(np.float32)
        runs["SigPy"] = lambda: app(name, data, maps, lamda=lamda, weights=weights, **options)
    if bart is not None:
        bart.put("data", data[:, None])
        bart.put("maps", maps[:, None])
        runs["BART"] = lambda: bart("pics", *words, "-w1", "data", "maps", "image").reshape(truth.shape)
    return what, runs, lambda found: im.nrmse(found, truth)


def row_sense(*peers):
    def ours(*a, **k):
        return im.sense(*a, **k, maxiter=30)

    theirs = "SenseRecon", {"max_iter": 30, "tol": 0}
    words = ("-l2", "-r0.001", "-i30")
    what, runs, error = _plane_row("SENSE CG 256^2, 16 coils, 30 iterations", ours, theirs, words, *peers, 1e-3)
    _, maps, full, mask = plane()
    third = mrpro_sense(full * mask, maps, mask, 1e-3, 30, str(peers[-1]).startswith("cuda"))
    return what, runs | ({} if third is None else {"MRpro": third}), error


def row_wavelets(*peers):
    """With the wavelet that BART has: db2."""

    def ours(*a, **k):
        return im.l1_wavelet(*a, **k, wavelet="db2", maxiter=50)

    theirs = "L1WaveletRecon", {"wave_name": "db2", "max_iter": 50}
    words = ("-l1", "-r0.002", "-i50")
    return _plane_row("l1-wavelet 256^2, 16 coils, 50 iterations", ours, theirs, words, *peers, 2e-3)


def row_tv(*peers):
    def ours(*a, **k):
        return im.tv(*a, **k, maxiter=50)

    theirs = "TotalVariationRecon", {"max_iter": 50}
    words = ("-RT:3:0:0.002", "-i50")
    return _plane_row("TV 256^2, 16 coils, 50 iterations", ours, theirs, words, *peers, 2e-3)


def row_radial(app, bart, device, n=32, spokes=600, iterations=15):
    truth, maps, locs, data = volume(n, spokes)
    options = {"locs": locs, "lamda": 1e-3, "rtol": 0, "maxiter": iterations, "device": device}
    runs = {"tessera": lambda: on_the_host(im.sense(data, maps, **options))}
    if app is not None:
        theirs = {"coord": locs.astype(np.float32), "lamda": 1e-3, "max_iter": iterations, "tol": 0}
        runs["SigPy"] = lambda: app("SenseRecon", data, maps, **theirs)
    if bart is not None:
        bart.put("data3", data[..., None])
        bart.put("maps3", maps)
        bart.put("locs3", locs[..., ::-1])
        words = ("pics", "-l2", "-r0.001", f"-i{iterations}", "-w1", "-t", "locs3", "data3", "maps3", "image3")
        runs["BART"] = lambda: bart(*words).reshape(truth.shape)
    # Each scales its transform as it likes.
    what = f"3-D radial CG {n}^3, 8 coils, {iterations} iterations"
    return what, runs, lambda found: im.nrmse(found, truth, scale=True)


def row_radial128(app, bart, device):
    """A million samples: minutes for SigPy on two cores, so that `make bench` leaves it away."""
    return row_radial(app, None, device, 128, 4000, 5)


ROWS = {"espirit": row_espirit, "sense": row_sense, "wavelets": row_wavelets, "tv": row_tv, "radial": row_radial}
LONG = {"radial128": row_radial128}


def core_seconds():
    """Of this process and of those that it has waited for: what a busy machine changes least."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def compare(what, runs, error, goals, once):
    times, cores, errors = {name: [] for name in runs}, {name: [] for name in runs}, {}
    if not once:
        for run in runs.values():
            run()  # plans are made, programs are in the cache
    for _ in range(1 if once else ROUNDS):
        for name, run in runs.items():
            start, spent = time.perf_counter(), core_seconds()
            found = run()
            times[name].append(time.perf_counter() - start)
            cores[name].append(core_seconds() - spent)
            errors[name] = error(found)
    for name, seconds in times.items():
        both = (1e3 * statistics.median(seconds), 1e3 * statistics.median(cores[name]))
        line = f"{what:44s} {name:8s} {both[0]:9.1f} ms, {both[1]:9.1f} ms of cores   error {errors[name]:.4f}"
        if name in goals:
            ratio = statistics.median(b / a for a, b in zip(times["tessera"], seconds, strict=True))
            verdict = "reached" if ratio >= goals[name] else "MISSED"
            work = statistics.median(b / a for a, b in zip(cores["tessera"], cores[name], strict=True))
            line += f"   ours {ratio:.2f} times as fast ({work:.2f} by cores), goal {goals[name]}: {verdict}"
        print(line, flush=True)
    best = min(errors.values())
    verdict = "reached" if errors["tessera"] <= WORSE * best else "MISSED"
    print(f"{what:44s} our error is {errors['tessera'] / best:.3f} of the best, goal {WORSE}: {verdict}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help=" ".join([*ROWS, *LONG]))
    parser.add_argument("--device", help="of ours, such as cuda:0")
    parser.add_argument("--once", action="store_true", help="one call each, without one before it")
    given = parser.parse_args()
    gpu = str(given.device).startswith("cuda")
    app, goals = sigpy_apps(gpu), ON_A_GPU if gpu else GOALS
    with tempfile.TemporaryDirectory() as folder:
        bart = Bart(folder) if shutil.which("bart") and not gpu else None
        if bart is None:
            print("BART is not installed, or for the CPU alone: its rows are left out")
        for name in given.rows or ROWS:
            more = {"radial128": {"SigPy": 8.0}}.get(name, {})
            compare(*{**ROWS, **LONG}[name](app, bart, given.device), {**goals, **more}, given.once)


if __name__ == "__main__":
    main()
