# SPDX-License-Identifier: Apache-2.0
"""A dynamic volume by a subspace of time courses, whose samples exceed the budget of the device, beside the same
without a budget, in one run: 192^3, 16 coils, 40 frames, 36 GB of samples, 8 GiB of the device; the goal is 1.2 times
the time.

The samples are made by the operator, in host memory. A run is the gridded samples, A.H(y), and a number of iterations
of CG. Without a GPU it runs on a simulated device, by default at a size of seconds, which shows that it works."""

import argparse
import resource
import time

import numpy as np

import tessera as ts
from tessera import imaging as im

GOAL = 1.2


def arguments():
    gpu = any(str(device).startswith("cuda") for device in ts.devices())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0" if gpu else "sim:0")
    parser.add_argument("--size", type=int, default=192 if gpu else 24)
    parser.add_argument("--coils", type=int, default=16)
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--rank", type=int, default=4)
    parser.add_argument("--budget", type=float, help="bytes of the device; 8 GiB at the whole size and in proportion")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    return parser.parse_args()


def problem(given):
    """Maps, the basis of the time courses, what is sampled in each frame (lines along the first axis), coefficients."""
    shape, rng = (given.size,) * 3, np.random.default_rng(0)
    maps = im.Coils(given.coils, 3).maps(shape).astype(np.complex64)
    maps /= np.linalg.norm(maps, axis=0)
    courses = np.exp(-np.arange(given.frames)[:, None] / np.geomspace(0.1, 2, 50) / given.frames)
    basis = im.subspace_basis(courses, given.rank).astype(np.float32)
    masks = (rng.random((given.frames, 1, 1, *shape[1:])) < 0.25).astype(np.float32)
    image = im.shepp_logan(3).image(shape, oversampling=1).astype(np.complex64)
    truth = np.stack([np.roll(image, 2 * i, 2) / (1 + i) for i in range(given.rank)])
    return maps, basis, masks, truth


def encoding(maps, basis, masks):
    """That of `imaging.subspace_operator`; masks are held without the first axis, along which lines are whole."""
    image, samples = ("Nz", "Ny", "Nx"), ("Kz", "Ky", "Kx")
    repeat = ts.Repeat({"C": len(maps)}, ("B", *image), ("B", "C", *image))
    sense = ts.Diagonal(maps[None], ("B", "C", *image), broadcast_dims=("B",)) @ repeat
    transform = ts.FFT(3, ("B", "C"), (image, samples), centered=True)
    over_time = ts.Dense(basis, ("T", "B"), ("B", "C", *samples), ("T", "C", *samples))
    return ts.Diagonal(masks, ("T", "C", *samples), broadcast_dims=("C", "Kz")) @ over_time @ transform @ sense


def main():
    given = arguments()
    item = 8 * given.coils * given.frames * given.size**3
    tiles = {"C": 1}
    budget = int(given.budget or (8 << 30) * item / (8 * 16 * 40 * 192**3))
    start = time.perf_counter()
    maps, basis, masks, truth = problem(given)
    on_host = encoding(maps, basis, masks)

    def tiled(base):
        """In tiles of one coil that the device computes, from vectors on `base` to vectors there."""
        return ts.create_batched_linop(on_host, ts.BatchSpec(tiles, [given.device], base))

    y = tiled("cpu")(ts.asarray(truth))
    print(f"dynamic {given.size}^3, {given.coils} coils, {given.frames} frames, on {given.device}", flush=True)
    print(f"  {y.nbytes / 1e6:.0f} MB of samples, a budget of {budget / 1e6:.0f} MB, tiles of {tiles}", flush=True)
    print(f"  made in {time.perf_counter() - start:.1f} s", flush=True)

    def under_the_budget():
        """Samples come from the host tile by tile; what CG works on stays on the device."""
        first = tiled("cpu").H(y)
        return first.to(given.device), tiled(given.device)

    def all_on_the_device():
        return whole.H(y.to(given.device)), whole

    times, found, peaks = {}, {}, {}

    def rounds(name, begin):
        ts.reset_peak(given.device)
        times[name] = []
        for _ in range(given.rounds):
            start = time.perf_counter()
            first, A = begin()
            middle = time.perf_counter()
            found[name] = ts.solve.cg(A.N, first, rtol=0, maxiter=given.iterations).x.to("cpu").numpy()
            times[name].append(time.perf_counter() - start)
            print(f"  {name}: {times[name][-1]:.3f} s, of which A.H(y) {middle - start:.3f} s", flush=True)
            del first, A
        peaks[name] = ts.memory_stats(given.device)["peak"]

    with ts.memory_budget(device={given.device: budget}):
        rounds("under the budget", under_the_budget)
    whole = on_host.to(given.device)
    rounds("all on the device", all_on_the_device)
    for name, x in found.items():
        error = im.nrmse(x, truth)
        best = min(times[name])
        print(f"dynamic, {name:18s} {best:8.3f} s, {peaks[name] / 1e6:9.1f} MB of the device, error {error:.4f}")
    part, whole = found.values()
    ratio = min(times["under the budget"]) / min(times["all on the device"])
    verdict = "reached" if ratio <= GOAL else "MISSED"
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"dynamic, {im.nrmse(part, whole):.1e} apart, host peak {host:.1f} GB")
    print(f"dynamic, under the budget: {ratio:.2f} times the time, goal {GOAL}: {verdict}")


if __name__ == "__main__":
    main()
