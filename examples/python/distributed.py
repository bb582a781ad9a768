# SPDX-License-Identifier: Apache-2.0
"""Heat in a rod, over ranks: each rank holds a block of the rod and asks its neighbours for one entry each.

mpirun -n 4 python examples/python/distributed.py    (or without mpirun: one rank)
"""

import tessera as ts


def step(u: ts.dist.DNDarray, rate: float) -> ts.dist.DNDarray:
    """Slices of one array lie nearly alike: only the entries at the borders of the blocks travel."""
    v = u.copy()
    v[1:-1] += rate * (u[2:] - 2 * u[1:-1] + u[:-2])
    return v


def main() -> None:
    world = ts.dist.world
    n = 2000
    u = ts.dist.zeros(n, split=0)
    u[n // 2 - 50 : n // 2 + 50] = 1.0
    heat = u.sum().item()

    before = world.traffic
    for _ in range(200):
        u = step(u, 0.4)
    sent = world.traffic - before

    warm = ts.dist.nonzero(u > 0.01)[0]
    print(f"rank {world.rank} of {world.size} holds {u.lshape[0]} entries and sent {sent.bytes} bytes in 200 steps")
    text = str(u)  # every rank takes part: what is shown lies on several
    if world.rank == 0:
        print(f"{warm.size} entries are warm: {text}")
    assert abs(u.sum().item() - heat) < 1e-9, "heat is lost"


if __name__ == "__main__":
    main()
