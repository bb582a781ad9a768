# SPDX-License-Identifier: Apache-2.0
"""Every map of ``ts.solve.prox`` with arguments drawn at random, for an array of a shape and dtype."""

import numpy as np

import tessera as ts

p = ts.solve.prox
FUNCTIONS = ("low_rank", "wavelet")  # of whole arrays; blocks of them have no pickles
ORDERED = ("box", "simplex")  # real numbers only
NAMES = [n for n in vars(p) if not n.startswith("_")]


def center(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if "complex" in dtype else x).astype(dtype)


def some_axes(rng, rank):
    """None of them, some, all; from the front or from the back."""
    chosen = [a for a in range(rank) if rng.random() < 0.5]
    return tuple(int(a - rank if rng.random() < 0.3 else a) for a in rng.permutation(chosen))


def blocks(rng, shape, dtype):
    axis = int(rng.integers(len(shape)))
    cuts = np.sort(rng.integers(0, shape[axis] + 1, rng.integers(0, 4)))
    sizes = np.diff([0, *cuts, shape[axis]])
    names = [n for n in NAMES if n not in FUNCTIONS and not ("complex" in dtype and n in ORDERED)]
    parts = []
    for size in map(int, sizes):
        part = (*shape[:axis], size, *shape[axis + 1 :])
        parts.append((size, drawn_map(rng, str(rng.choice(names)), part, dtype)))
    return p.blocks(parts, axis - len(shape) if rng.random() < 0.3 else axis)


def low_rank(rng, lam, shape, seed):
    """Of all, or of blocks."""
    axis, n = int(rng.integers(len(shape))), max(int(np.prod(shape)), 1)
    if rng.random() < 0.3:
        return p.low_rank(lam * np.sqrt(n / min(max(shape[axis], 1), 50)), axis=axis)
    return p.low_rank(5 * lam, int(rng.integers(1, 10)), axis - len(shape) if rng.random() < 0.3 else axis, seed)


def drawn_map(rng, name, shape, dtype):
    """The map of that name; it changes normal numbers by about their size."""
    lam = float(rng.uniform(0.1, 1.0))
    n = int(np.prod(shape))
    axes = some_axes(rng, len(shape))
    along = int(np.prod([shape[a] for a in axes]))
    seed = int(rng.integers(100)) if rng.random() < 0.5 else None
    make = {
        "none": p.none,
        "l1": lambda: p.l1(lam),
        "l2": lambda: p.l2(lam * np.sqrt(n)),
        "l2_squared": lambda: p.l2_squared(lam, center(rng, shape, dtype) if rng.random() < 0.6 else None),
        "nonneg": p.nonneg,
        "box": lambda: p.box(-lam, 0.7 * lam),
        "group": lambda: p.group(lam * np.sqrt(along), axes),
        "simplex": lambda: (
            p.simplex(lam * max(n, 1) / 5) if rng.random() < 0.4 else p.simplex(lam * max(along, 1) / 5, axes)
        ),
        "blocks": lambda: blocks(rng, shape, dtype),
        "low_rank": lambda: low_rank(rng, lam, shape, seed),
        "wavelet": lambda: p.wavelet(lam, str(rng.choice(["haar", "db4", "sym3"])), axes or None, seed),
    }
    return make[name]()
