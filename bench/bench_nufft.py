# SPDX-License-Identifier: Apache-2.0
"""NUFFTs beside FINUFFT's, in one run, in turns: processor time of forward (grid to points), adjoint and set-up.

Each row has an error that is measured, not asked for: FINUFFT gets the largest of its tolerances whose error, beside a
direct sum at some outputs, is at most ours. Where FINUFFT is not installed, its columns are left out. OMP_NUM_THREADS=1
compares one thread each.
"""

import statistics
import sys
import time

import numpy as np

import tessera as ts

try:
    import finufft
except ImportError:
    finufft = None

ROUNDS, SOME = 5, 128
THREADS = ts.num_threads()


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
    def __init__(self, locs, grid, x, y, tol):
        at = (locs * (2 * np.pi / np.array(grid))).astype(np.real(x).dtype)
        self.points = [np.ascontiguousarray(at[:, a]) for a in range(len(grid))]
        self.plans = []
        for kind, sign in ((2, -1), (1, 1)):
            p = finufft.Plan(kind, grid, n_trans=len(x), eps=tol, isign=sign, dtype=str(x.dtype), nthreads=THREADS)
            p.setpts(*self.points)
            self.plans.append(p)
        lead = slice(None) if len(x) > 1 else 0
        self.inputs, self.outputs = (x[lead], y[lead]), (np.empty_like(y), np.empty_like(x))
        self.lead, self.scale = lead, 1 / np.sqrt(np.prod(grid))

    def run(self, way):
        self.plans[way].execute(self.inputs[way], out=self.outputs[way][self.lead])
        return self.outputs[way]


def spent(f):
    start = time.process_time()
    result = f()
    return (time.process_time() - start) * 1e3, result


def errors(side, wanted, some, modes):
    first = side.run(0)[0].reshape(-1)[some] * side.scale
    back = side.run(1)[0][tuple(modes.T)] * side.scale
    return tuple(float(np.linalg.norm(g - w) / np.linalg.norm(w)) for g, w in zip((first, back), wanted, strict=True))


def bench(name, grid, coils, locs, dtype, tol):
    rng = np.random.default_rng(3)
    noise = lambda shape: (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)  # noqa: E731
    x, y = noise((coils, *grid)), noise((coils, len(locs)))
    some = rng.choice(len(locs), SOME, replace=False)
    modes = np.stack([rng.integers(0, n, SOME) for n in grid], -1)
    wanted = direct(locs, grid, x[0], some), direct_adjoint(locs, grid, y[0], modes)
    setup, mine = spent(lambda: Ours(locs, grid, x, y, tol))
    sides, setups, error = [mine], [setup], errors(mine, wanted, some, modes)
    if finufft:
        for eps in 10.0 ** -np.arange(1, 15, 0.5):
            setup, peer = spent(lambda eps=eps: Theirs(locs, grid, x, y, eps))
            if all(e <= o for e, o in zip(errors(peer, wanted, some, modes), error, strict=True)):
                sides.append(peer)
                setups.append(setup)
                break
    times = [[[spent(lambda s=s, w=w: s.run(w))[0] for s in sides] for w in (0, 1)] for _ in range(ROUNDS)]
    text = f"{name:26s} {dtype:10s} {error[0]:7.0e}"
    for w, way in enumerate(("forward", "adjoint")):
        each = [statistics.median(t[w][i] for t in times) for i in range(len(sides))]
        text += f"  {way} {each[0]:8.1f} ms"
        text += f" FINUFFT {each[1]:8.1f} speed {each[1] / each[0]:4.2f}" if len(each) > 1 else ""
    text += f"  set-up {setups[0]:8.1f} ms" + (f" FINUFFT {setups[1]:8.1f}" if len(setups) > 1 else "")
    print(text + ("" if len(sides) > 1 or not finufft else "  FINUFFT is not as exact"), flush=True)


def main():
    print(f"processor time; {THREADS} threads; FINUFFT {finufft.__version__ if finufft else 'is not installed'}")
    for name, grid, coils, locs in rows("--tiny" in sys.argv):
        for dtype, tols in (("complex64", (1e-2, 1e-5)), ("complex128", (1e-5, 1e-10))):
            for tol in tols:
                bench(name, grid, coils, locs, dtype, tol)


if __name__ == "__main__":
    main()
