# SPDX-License-Identifier: Apache-2.0
"""Modes of a drum without a matrix

The smallest eigenvalues of the Laplacian of an L-shaped membrane, by Lanczos. The operator is a gradient, cut to the
shape; no matrix is formed.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import tessera as ts

n = 48
inside = np.ones((n, n), bool)
inside[: n // 2, n // 2 :] = False
inside = np.pad(inside, 1)  # the rim is held
P = ts.Sampling.from_mask(inside, inside.shape, ("K",), ("X", "Y"), ())
G = ts.Gradient(("X", "Y"), ("X", "Y"), edge="zero")
L = (G @ P.H).N  # from the points inside to themselves
print(L.ishape, "->", L.oshape, P.size("K"), "points")

# %%
# Lanczos finds the largest eigenvalues quickly: we ask for those of 8 - L, whose largest are L's smallest.
shifted = ts.Scalar(8.0) + (-1.0) * L
found = ts.solve.lanczos(
    shifted, 4, ts.asarray(np.random.default_rng(0).standard_normal(P.size("K"))), which="LA", ncv=60
)
values = 8 - found.eigenvalues.numpy()[::-1]
print("eigenvalues over (pi / n)^2:", (values * (n / np.pi) ** 2).round(2))

# %%
figure, axes = plt.subplots(1, 4, figsize=(9, 2.4))
for k, axis in enumerate(axes):
    mode = P.H(found.eigenvectors[:, -1 - k]).numpy()
    mode *= np.sign(mode[n * 3 // 4, n // 4]) / abs(mode).max()
    axis.imshow(np.where(inside, mode, np.nan), cmap="coolwarm", vmin=-1, vmax=1)
    axis.set(title=f"mode {k + 1}", xticks=[], yticks=[])
figure.tight_layout()
