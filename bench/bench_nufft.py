# SPDX-License-Identifier: Apache-2.0
"""NUFFTs beside FINUFFT's, in one run, in turns: forward (grid to points), adjoint and set-up, the least of rounds.

Each row has an error that is measured, not asked for: FINUFFT gets the largest of its tolerances whose error, beside a
direct sum at some outputs, is at most ours, or else its most exact one, with the oversampling that it chooses and with
1.25; the faster of the two stands beside ours. Where FINUFFT is not installed, its columns are left out. Processor time
where there is one thread (OMP_NUM_THREADS=1), else the time that passed. Arguments: the first letters of the rows that
are wanted, and --tiny to see whether all of it works.
"""

import sys
import time
import warnings

import numpy as np

import tessera as ts

try:
    import finufft
except ImportError:
    finufft = None

ROUNDS, SETUPS, SOME = 15, 3, 128
THREADS = ts.num_threads()
clock = time.process_time if THREADS == 1 else time.perf_counter


def radial(spokes, readout, n):
    angle, r = np.arange(spokes) * 2.399963, np.linspace(-n / 2, n / 2 - 1, readout)
    return np.stack([r * np.cos(angle)[:, None], r * np.sin(angle)[:, None]], -1).reshape(-1, 2)


def scattered(count, shape):
    return (np.random.default_rng(7).random((count, len(shape))) - 0.5) * np.array(shape)


def rows(tiny):
    """Name, grid, coils, locations in cycles per image."""
    if tiny:
        return [("a", (32, 32), 2, radial(8, 32, 32)), ("1-D", (500,), 1, scattered(1000, (500,)))]
    return [
        ("a 256^2 16 coils radial", (256, 256), 16, radial(400, 512, 256)),
        ("b 512^2 10^6 points", (512, 512), 1, scattered(10**6, (512, 512))),
        ("c 128^3 262144 points", (128,) * 3, 1, scattered(262144, (128,) * 3)),
        ("1-D 10^6, 10^6 points", (10**6,), 1, scattered(10**6, (10**6,))),
    ]


def direct(locs, grid, image, some):
    """The sum at some points, of the first coil."""
    v = image.astype(np.complex128)
    for axis, n in enumerate(grid):
        e = np.exp(-2j * np.pi / n * locs[some, axis, None] * (np.arange(n) - n // 2))
        v = e @ v.reshape(n, -1) if axis == 0 else np.einsum("jn,jnr->jr", e, v.reshape(len(some), n, -1))
    return v.reshape(-1) / np.sqrt(np.prod(grid))


def direct_adjoint(locs, grid, data, modes):
    turns = (modes - np.array(grid) // 2) / np.array(grid)
    total = np.zeros(len(modes), complex)
    for at in range(0, len(locs), 1 << 14):
        part = slice(at, at + (1 << 14))
        total += np.exp(2j * np.pi * (turns @ locs[part].T)) @ data[part]
    return total / np.sqrt(np.prod(grid))


class Ours:
    def __init__(self, locs, grid, x, y, tol):
        A = ts.NUFFT(locs, grid, ("K",), batch_shape=("C",), tol=tol)
        self.outputs = ts.empty(y.shape, dtype=y.dtype), ts.empty(x.shape, dtype=x.dtype)
        self.inputs = ts.asarray(x), ts.asarray(y)
        self.plans = A.plan(self.inputs[0]), A.H.plan(self.inputs[1])
        self.scale = 1.0

    def run(self, way):
        self.plans[way](self.inputs[way], self.outputs[way])
        return self.outputs[way].numpy()


class Theirs:
    def __init__(self, locs, grid, x, y, tol, upsampling):
        at = (locs * (2 * np.pi / np.array(grid))).astype(np.real(x).dtype)
        self.points = [np.ascontiguousarray(at[:, a]) for a in range(len(grid))]
        self.plans = []
        for kind, sign in ((2, -1), (1, 1)):
            options = {
                "eps": tol,
                "isign": sign,
                "dtype": str(x.dtype),
                "nthreads": THREADS,
                "showwarn": 0,
                **upsampling,
            }
            p = finufft.Plan(kind, grid, n_trans=len(x), **options)
            p.setpts(*self.points)
            self.plans.append(p)
        lead = slice(None) if len(x) > 1 else 0
        self.inputs, self.outputs = (x[lead], y[lead]), (np.empty_like(y), np.empty_like(x))
        self.lead, self.scale = lead, 1 / np.sqrt(np.prod(grid))

    def run(self, way):
        self.plans[way].execute(self.inputs[way], out=self.outputs[way][self.lead])
        return self.outputs[way]


def spent(f):
    start = clock()
    result = f()
    return (clock() - start) * 1e3, result


def errors(side, wanted, some, modes):
    first = side.run(0)[0].reshape(-1)[some] * side.scale
    back = side.run(1)[0][tuple(modes.T)] * side.scale
    return tuple(float(np.linalg.norm(g - w) / np.linalg.norm(w)) for g, w in zip((first, back), wanted, strict=True))


def as_exact(make, error_of, error, dtype):
    """Makes FINUFFT's plans with the largest tolerance whose errors are at most ours, or else with its most exact one;
    and that error."""
    tried = []
    least = 7 if dtype == "complex64" else 14
    for eps in 10.0 ** -np.arange(min(least - 1, -np.log10(max(error)) - 1), least, 0.5):
        theirs = error_of(make(eps))
        tried.append((max(theirs), eps))
        if all(e <= o for e, o in zip(theirs, error, strict=True)):
            break
    else:
        tried = [min(tried)]
    reached, eps = tried[-1]
    return (lambda: make(eps)), reached


def least_times(makers):
    """By maker: the least milliseconds of forward, adjoint and set-up, of rounds in turns."""
    setups = [min(spent(make)[0] for make in [m] * SETUPS) for m in makers]
    sides = [make() for make in makers]
    rounds = [[[spent(lambda s=s, w=w: s.run(w))[0] for w in (0, 1)] for s in sides] for _ in range(ROUNDS)]
    return [[*(min(r[i][w] for r in rounds) for w in (0, 1)), setups[i]] for i in range(len(makers))]


def bench(name, grid, coils, locs, dtype, tol):
    rng = np.random.default_rng(3)
    noise = lambda shape: (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)  # noqa: E731
    x, y = noise((coils, *grid)), noise((coils, len(locs)))
    some = rng.choice(len(locs), SOME, replace=False)
    modes = np.stack([rng.integers(0, n, SOME) for n in grid], -1)
    wanted = direct(locs, grid, x[0], some), direct_adjoint(locs, grid, y[0], modes)
    error_of = lambda side: errors(side, wanted, some, modes)  # noqa: E731
    makers = [lambda: Ours(locs, grid, x, y, tol)]
    error = error_of(makers[0]())
    reached = []
    for upsampling in ({}, {"upsampfac": 1.25}) if finufft else ():
        made, peer_error = as_exact(lambda eps, u=upsampling: Theirs(locs, grid, x, y, eps, u), error_of, error, dtype)
        makers.append(made)
        reached.append(peer_error)
    ours, *theirs = least_times(makers)
    # Where neither is as exact as ours, the more exact one.
    theirs = [t for t, e in zip(theirs, reached, strict=True) if e <= max(max(error), min(reached))]
    text = f"{name:24s} {dtype:10s} {max(error):7.0e}" + (f" FINUFFT {min(reached):7.0e}" if reached else "")
    for w, way in enumerate(("forward", "adjoint", "set-up")):
        text += f"  {way} {ours[w]:8.1f} ms"
        if theirs:
            peer = min(t[w] for t in theirs)
            text += f" FINUFFT {peer:8.1f} speed {peer / ours[w]:4.2f}"
    print(text, flush=True)


def main():
    print(f"{clock.__name__}; {THREADS} threads; FINUFFT {finufft.__version__ if finufft else 'is not installed'}")
    warnings.simplefilter("ignore")  # FINUFFT says when a tolerance is out of its reach; errors are measured
    wanted = tuple(a for a in sys.argv[1:] if a != "--tiny") or ("",)
    for name, grid, coils, locs in rows("--tiny" in sys.argv):
        if not name.startswith(wanted):
            continue
        for dtype, tols in (("complex64", (1e-2, 1e-5)), ("complex128", (1e-5, 1e-10))):
            for tol in tols:
                bench(name, grid, coils, locs, dtype, tol)


if __name__ == "__main__":
    main()
