# SPDX-License-Identifier: Apache-2.0
"""A causal set

Points are sprinkled into a diamond of two-dimensional spacetime; which precedes which is a triangular matrix of bits.
Its powers count chains, and a power series of it is the retarded propagator of a scalar field.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import tessera as ts

n = 1500
rng = np.random.default_rng(4)
u, v = np.sort(rng.uniform(0, 1, n)), rng.uniform(0, 1, n)  # light-cone coordinates, in the order of u
precedes = (u[:, None] < u[None, :]) & (v[:, None] < v[None, :])
C = ts.matrix.TriangularBit(precedes)
print(C, f"{C.nbytes / 1024:.0f} KiB, {n * n * 8 / 2**20:.0f} MiB as float64")

# %%
# The square counts the elements between each pair; the links are the pairs with none between.
between = C @ C
links = np.asarray(C) & (np.asarray(between) == 0)
print("relations", int(C.sum()), " links", int(links.sum()), " largest interval", int(np.asarray(between).max()))

# %%
# The propagator of a field of mass m is a C (1 + a b C)^-1 with a = 1/2 and b = m^2 / density: products with triangular
# matrices alone. `compute_k(C, z)` is C (z + C)^-1.
mass, density = 16.0, 2 * n
b = mass**2 / density
K = ts.matrix.compute_k(C, 2 / b) * (1 / b)
print(K)

# %%
t, x = (u + v) / 2, (v - u) / 2
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
few = np.sort(np.argsort(t)[:250])
for i, j in zip(*np.nonzero(links[np.ix_(few, few)]), strict=True):
    left.plot(x[few[[i, j]]], t[few[[i, j]]], color="#0b5c66", lw=0.3)
left.plot(x[few], t[few], ".", ms=3, color="black")
left.set(title="the 250 earliest points and their links", xlabel="x", ylabel="t")
source = int(np.argmin(u + v))
shown = right.scatter(x, t, c=np.asarray(K)[source], s=4, cmap="coolwarm", vmin=-0.5, vmax=0.5)
right.set(title="propagator from the earliest point", xlabel="x")
figure.colorbar(shown)
figure.tight_layout()
