# SPDX-License-Identifier: Apache-2.0
"""A Cartesian scan with more coils than memory holds: 252 x 350 x 256 seen by 52 coils, 9.4 GB of samples and as much
again of maps, under a host budget of 8 GiB; `--scale 0.25` takes a quarter of each side and of the budget what is left.

The samples lie on disk. The readout, which is whole, is transformed there; then each slice across
it is an image of its own: its maps are learned by ESPIRiT and it is reconstructed by CG-SENSE, a few slices in memory
at a time. Printed are the seconds of each stage, the bytes on disk, the error to the truth, and the most memory that
arrays and the whole process held. `--slices` reconstructs that many of the middle only."""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

import tessera as ts
from tessera import imaging as im

FULL, COILS, BUDGET = (252, 350, 256), 52, 8 << 30
LEAST = 256e6  # bytes: what one slice of all coils takes, with its maps, operator and calibration
NOISE = 5e-3  # of the root mean square of the samples


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.15, help="of each side (1: the whole size)")
    parser.add_argument("--coils", type=int, default=COILS)
    parser.add_argument("--budget", type=float, help="bytes of host memory (scaled from 8 GiB)")
    parser.add_argument("--folder", help="where the samples lie; a temporary one by default")
    parser.add_argument("--slices", type=int, help="how many to reconstruct, from the middle on; all by default")
    parser.add_argument("--iterations", type=int, default=20)
    return parser.parse_args()


def centre(plane):
    """How many samples along each axis are all there."""
    return min(24, min(plane) // 3)


def seen_by(coil, shape, image):
    """The image times the sensitivity of one coil, which is a sum of three products of waves along the axes."""
    frequencies, weights = coil
    result = np.zeros(shape, np.complex64)
    for frequency, weight in zip(frequencies, weights, strict=True):
        waves = [np.exp(2j * np.pi * f * (np.arange(n) - n // 2) / n) for f, n in zip(frequency, shape, strict=True)]
        plane = (waves[1][:, None] * waves[2]).astype(np.complex64)
        for i, wave in enumerate((weight * waves[0]).astype(np.complex64)):
            result[i] += wave * plane
    result *= image
    return result


def make(kspace, image, mask, coils):
    """Writes the samples of each coil, and gives the sum over coils of what they see of each pixel, squared."""
    shape, rng = image.shape, np.random.default_rng(0)
    transform = ts.FFT(3, (), ("XYZ", "UVW"), centered=True)
    power, level = np.zeros(shape, np.float32), None
    for c, coil in enumerate(zip(*im.Coils(coils, 3).series(), strict=True)):
        part = seen_by(coil, shape, image)
        power += part.real**2 + part.imag**2
        samples = transform(ts.asarray(part)).numpy()
        del part
        if level is None:
            level = NOISE * float(np.sqrt(np.mean(samples.real**2 + samples.imag**2)))
        for plane in samples:
            noise = rng.standard_normal((2, *mask.shape), np.float32) * np.float32(level)
            plane += noise[0] + 1j * noise[1]
            plane *= mask
        kspace[c] = samples
    return np.sqrt(power)


def reconstruct(hybrid, where, mask, found, budget, iterations):
    """Slices across the readout, a few of which are in memory at a time; the seconds of maps and of images."""
    coils, _, *plane = hybrid.shape
    one = 8 * coils * plane[0] * plane[1]
    width = centre(plane)
    together = max(1, int(budget / 16 // one))
    spent = {"read": 0.0, "maps": 0.0, "images": 0.0}
    for begin in range(where.start, where.stop, together):
        start = time.perf_counter()
        some = slice(begin, min(begin + together, where.stop))
        block = np.ascontiguousarray(hybrid[:, some].numpy().swapaxes(0, 1))
        spent["read"] += time.perf_counter() - start
        for place, samples in enumerate(block, begin):
            start = time.perf_counter()
            maps = im.espirit(samples, calibration=width, kernel=min(6, width // 2), crop=0.8, budget=int(budget / 8))
            middle = time.perf_counter()
            got = im.sense(samples, maps, mask=mask, lamda=1e-3, rtol=0, maxiter=iterations)
            # Its phase is that of a transform that counts from the first sample, which magnitudes do not show.
            found[(place + found.shape[0] // 2) % found.shape[0]] = np.abs(got.image)
            spent["maps"] += middle - start
            spent["images"] += time.perf_counter() - middle
    return spent


def main():
    given = arguments()
    shape = tuple(max(24, round(given.scale * n)) for n in FULL)
    samples = 8 * given.coils * int(np.prod(shape))
    budget = given.budget or max(LEAST, BUDGET * samples / (8 * COILS * int(np.prod(FULL))))
    ts.set_memory_budget(host=int(budget / 2))  # the other half is for what NumPy holds beside
    bare = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"{given.coils} coils of {shape}: {samples / 1e9:.2f} GB of samples, a budget of {budget / 1e9:.2f} GB")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        at, stages, clock = Path(folder), {}, time.perf_counter
        ts.set_backing_dir(folder)
        start = clock()
        image = im.shepp_logan(3).image(shape, oversampling=1).astype(np.float32)
        mask = im.poisson_disc(shape[1:], 4, calibration=centre(shape[1:]))
        kspace = ts.stored.create((given.coils, *shape), "complex64", at / "kspace")
        truth = make(kspace, image, mask, given.coils)
        stages["samples are made"], start = clock() - start, clock()
        hybrid = ts.stored.ifft(kspace, axis=1, norm="ortho", path=at / "hybrid")
        stages["readout"] = clock() - start
        count = shape[0] if given.slices is None else min(given.slices, shape[0])
        where, found = slice(0, count), np.zeros(shape, np.float32)
        stages |= reconstruct(hybrid, where, mask, found, budget, given.iterations)
        disk = sum(file.stat().st_blocks * 512 for file in at.rglob("*") if file.is_file())
    for name, seconds in stages.items():
        print(f"many coils, {name:18s} {seconds:8.1f} s")
    done = (np.arange(count) + shape[0] // 2) % shape[0]
    error = im.nrmse(found[done], truth[done])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"many coils, {count} slices: error {error:.4f}, {disk / 1e9:.2f} GB on disk")
    arrays = ts.memory_stats("cpu")["peak"] / 1e6
    verdict = "kept" if 1e6 * (peak - bare) <= budget else "EXCEEDED"
    print(
        f"many coils, peak: arrays {arrays:.0f} MB, process {peak:.0f} MB of which {bare:.0f} MB before the work; "
        f"budget {budget / 1e6:.0f} MB: {verdict}"
    )


if __name__ == "__main__":
    main()
