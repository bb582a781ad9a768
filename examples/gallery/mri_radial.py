# SPDX-License-Identifier: Apache-2.0
"""MRI from radial spokes

Eight coils see a head along 40 spokes, a fifth of what the image would need. Gridding shows the streaks of what is
missing; SENSE solves for the image that the coils agree on.
"""

# %%
# A phantom whose k-space is known exactly, not computed from pixels: no inverse crime.
import matplotlib.pyplot as plt

import tessera as ts
from tessera import imaging

n = 128
coils = imaging.Coils(8)
locs = imaging.radial(40, 2 * n, n, golden=True)  # (spokes, samples, 2), cycles per field of view
data = imaging.shepp_logan().kspace(locs, (n, n), coils=coils)
maps = coils.maps((n, n))
truth = imaging.shepp_logan().image((n, n))

# %%
# The forward model is a chain of two operators: coil maps, then a Fourier transform at the sampled frequencies.
S = ts.Dense(maps, ("C", "Nx", "Ny"), ("Nx", "Ny"), ("C", "Nx", "Ny"))
F = ts.NUFFT(locs, (n, n), ("R", "K"), ("Nx", "Ny"), batch_shape=("C",), tol=1e-4)
A = F @ S
print(A)

# %%
# Gridding is the adjoint with weights, divided by what the coils see together; SENSE is least squares.
weights = ts.density_compensation(locs, (n, n))
gridded = A.H(weights * data) / (abs(maps) ** 2).sum(axis=0)
found = ts.solve.cg(A.N, A.H(data), maxiter=20)
print(found)

# %%
figure, axes = plt.subplots(1, 4, figsize=(9.5, 2.6))
pictures = {"true": truth, "gridding": gridded, "SENSE, 20 iterations": found.x}
for axis, (title, picture) in zip(axes, pictures.items(), strict=False):
    axis.imshow(abs(ts.asarray(picture)).numpy(), vmin=0, vmax=0.5)
    axis.set(title=title, xticks=[], yticks=[])
axes[3].semilogy(found.history, color="#0b5c66")
axes[3].set(title="relative residual", xlabel="iteration")
figure.tight_layout()
