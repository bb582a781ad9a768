# SPDX-License-Identifier: Apache-2.0
"""Diffusion over four ranks

An array in four pieces. The loop is NumPy's; slices that reach over a border send what is needed and no more. Started
with `mpirun -n 4`, the same function runs over processes; here four threads play the ranks.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import tessera as ts

n, steps = 96, 120


def diffuse(comm):
    start = np.zeros((n, n))
    start[20:30, 20:30] = 1
    start[60:64, 10:90] = 1
    u = ts.dist.array(start, split=0, comm=comm)
    for _ in range(steps):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] = 0.25 * around
    return u.lshape, u.numpy()


# %%
answers = ts.dist.run_ranks(4, diffuse)
shapes = [shape for shape, _ in answers]
print("each rank holds", shapes)

# %%
# The same with NumPy.
x = np.zeros((n, n))
x[20:30, 20:30] = 1
x[60:64, 10:90] = 1
for _ in range(steps):
    x[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
assert np.allclose(answers[0][1], x)

figure, axis = plt.subplots(figsize=(3.6, 3.2))
axis.imshow(answers[0][1], cmap="inferno")
for row in np.cumsum([s[0] for s in shapes])[:-1]:
    axis.axhline(row - 0.5, color="white", lw=0.8, ls="--")
axis.set(title="after 120 steps, cut between ranks", xticks=[], yticks=[])
figure.tight_layout()
