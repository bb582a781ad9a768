# SPDX-License-Identifier: Apache-2.0
"""Tomography from 24 views

Filtered backprojection needs many views. With few, total variation finds the image with the fewest edges that
explains the data.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import tessera as ts
from tessera import imaging

n, views = 96, 24
angles = np.linspace(0, np.pi, views, endpoint=False)
A = ts.ParallelBeam(angles, (n, n), 137, batch_shape=())
truth = imaging.shepp_logan().image((n, n))
sinogram = A(truth)
print(A.ishape, "->", A.oshape, sinogram.shape)

# %%
# Both inversions use the same operator.
direct = imaging.fdk(sinogram, A)
edges = imaging.tv_ct(sinogram, A, lamda=0.05, maxiter=60)
for name, image in {"filtered backprojection": direct.image, "total variation": edges.image}.items():
    print(f"{name:24} error {imaging.nrmse(image, truth):.3f}")

# %%
figure, axes = plt.subplots(1, 4, figsize=(9.5, 2.6))
axes[0].imshow(sinogram.numpy(), aspect="auto")
axes[0].set(title=f"sinogram, {views} views", xticks=[], yticks=[])
pictures = {"true": truth, "filtered backprojection": direct.image, "total variation": edges.image}
for axis, (title, picture) in zip(axes[1:], pictures.items(), strict=True):
    axis.imshow(ts.asarray(picture).real.numpy(), vmin=0, vmax=0.5)
    axis.set(title=title, xticks=[], yticks=[])
figure.tight_layout()
