# SPDX-License-Identifier: Apache-2.0
"""Ranks for test_dist_between_machines.py: how many messages really leave each rank, beside what p ranks should need.

usage: count_messages.py FILE COUNTER.so"""

import sys
from pathlib import Path

import numpy as np
from wire_count import WireCount

import tessera as ts

D, world = ts.dist, ts.dist.world
p, me, each = world.size, world.rank, 1000
steps = (p - 1).bit_length()  # messages of a rank until it has heard, directly or not, of all
n = each * p
rng = np.random.default_rng(3)
x = D.array(rng.normal(size=n), split=0)
few, many = D.array(rng.integers(0, 50, n), split=0), D.array(rng.integers(0, 10**9, n), split=0)
world.barrier()
count = WireCount(sys.argv[2])
problems = []


def key(positions):
    """A new one: a key that was used before sends less."""
    return D.array(np.asarray(positions), split=0)


def fresh_mask():
    return D.array(np.arange(n) % 3 == 0, split=0)


def assign(positions):
    x[key(positions)] = 0.0


def sent(what):
    world.barrier()
    before = count.messages()
    what()
    return count.messages() - before


# The counter sees an exchange of one block with each other rank, and a barrier, as what they are.
blocks = D.array(np.arange(float(p * p)).reshape(p, p), split=0)
if (sent(lambda: blocks.resplit(1)), sent(world.barrier)) != (p - 1, steps):
    Path(f"{sys.argv[1]}.rank{me}").write_text("cannot count")
    sys.exit()

shifted = np.roll(np.arange(n), 3)
eight = rng.integers(0, n, 8)
answered = np.unique(np.stack([np.arange(8) // -(-8 // p), eight // each]), axis=1)  # (who asks, who owns)
answers = np.count_nonzero((answered[1] == me) & (answered[0] != me))
# What a rank sends at most. Values that change hands go straight to their ranks: `others` messages, which no
# algorithm that moves them once can save; all else is a number of times `steps`.
others = p - 1
table = {
    "sum": (lambda: x.sum(), steps),
    "std": (lambda: x.std(), steps),
    "cumsum": (lambda: D.cumsum(x), steps),
    "argmax": (lambda: D.argmax(x), steps),
    "read by 8 positions": (lambda: x[key(eight)], steps + answers),
    "write by 8 positions": (lambda: assign(eight), steps),
    "read from the next rank": (lambda: x[key(shifted)], steps + 1),
    "read from one other rank": (lambda: x[key(np.arange(n)[::-1].copy())], steps + 1),
    "mask": (lambda: x[fresh_mask()], steps),
    "nonzero": (lambda: D.nonzero(few), steps),
    "sort": (lambda: D.sort(x), 6 * steps + others),
    "argsort": (lambda: D.argsort(x), 6 * steps + 2 * others),
    "unique of few": (lambda: D.unique(few), 9 * steps),
    "unique of many": (lambda: D.unique(many), 8 * steps + others),
    "bincount": (lambda: D.bincount(few), 5 * steps),
    "histogram": (lambda: D.histogram(x), 7 * steps),
    "quantile": (lambda: D.quantile(x, 0.3), 10 * steps),
    "median": (lambda: D.median(x), 10 * steps),
    "topk": (lambda: D.topk(x, 10), 2 * others),
}
for name, (what, most) in table.items():
    if (messages := sent(what)) > most:
        problems.append(f"{name}: rank {me} of {p} sent {messages} messages, at most {most} were expected")
Path(f"{sys.argv[1]}.rank{me}").write_text("\n".join(problems) or "all is well")
