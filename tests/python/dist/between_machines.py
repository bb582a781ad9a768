# SPDX-License-Identifier: Apache-2.0
"""Ranks for test_dist_between_machines.py, told that they share no memory: collectives beside NumPy.

usage: between_machines.py FILE"""

import sys
from pathlib import Path

import numpy as np

import tessera as ts

D, world = ts.dist, ts.dist.world
rng = np.random.default_rng(3)
wide = rng.normal(size=(11, 1300)) * 10.0 ** rng.integers(-3, 4, size=(11, 1300))
wide[4, 7] = np.nan
problems = []


def same(what, got, wanted, tol=1e-12):
    got = got.numpy() if isinstance(got, D.DNDarray) else np.asarray(got)
    if not np.allclose(got, wanted, rtol=tol, atol=tol, equal_nan=True):
        problems.append(f"{what}: {got} instead of {wanted}")
    return got.tobytes()


replicas = []
for dtype in ("float64", "float32", "complex128", "int64", "int8", "bool"):
    x = np.nan_to_num(wide) if np.dtype(dtype).kind in "ib" else wide
    x = x.astype(dtype)
    d, tol = D.array(x, split=0), 1e-4 if dtype == "float32" else 1e-10
    for name in ("sum", "max", "min", "any", "all"):
        for axis in (None, 0):
            got, wanted = getattr(d, name)(axis=axis), getattr(x, name)(axis=axis)
            replicas.append(same(f"{name} of {dtype} along {axis}", got, wanted, tol))
    if dtype.startswith("float"):
        replicas.append(same(f"std of {dtype}", d.std(axis=0), x.std(axis=0), tol))
        replicas.append(same(f"mean of {dtype}", d[:4].mean(), x[:4].mean(), tol))
    same(f"cumsum of {dtype}", D.cumsum(d[:4], axis=0), np.cumsum(x[:4], axis=0), tol)
row = D.array(np.arange(400_000.0).reshape(2, 200_000), split=0)
same("a row of 1.6 MB", row[1], np.arange(200_000.0) + 200_000)
line = D.array(np.arange(30), split=0)
same("unique", D.unique(line // 7), np.unique(np.arange(30) // 7))
same("sort", D.sort(-line), np.sort(-np.arange(30)))
W, y = rng.normal(size=(6, 4)), rng.normal(size=6)
A = ts.Dense(W, "MN", "N", "M")
same("cg", D.cg(A.N, D.array(W.T @ y, split=0), rtol=1e-12).x, np.linalg.lstsq(W, y, rcond=None)[0], 1e-7)
# Every rank must hold the same bits of what all of them have.
words = D.array(np.frombuffer(b"".join(replicas), np.uint8)[None], is_split=0).numpy()
if (words != words[0]).any():
    problems.append("replicas differ between ranks")
Path(f"{sys.argv[1]}.rank{world.rank}").write_text("\n".join(problems) or "all is well")
