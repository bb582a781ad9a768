# SPDX-License-Identifier: Apache-2.0
"""Deblurring with a gradient penalty

A blurred, noisy image. Least squares alone amplifies the noise; a penalty on differences of neighbours, by ADMM, does
not.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import tessera as ts
from tessera import imaging

n = 128
truth = ts.asarray(imaging.shepp_logan().image((n, n))).real
window = np.hanning(11)
kernel = np.outer(window, window) / np.outer(window, window).sum()
B = ts.Convolution(kernel, (), ("Ny", "Nx"), ("By", "Bx"), padding_mode="circular")
rng = np.random.default_rng(0)
data = B(truth) + 0.01 * ts.asarray(rng.standard_normal((n, n)))

# %%
# `G` gives differences along both axes; `prox.group` shrinks each pair of them together.
G = ts.Gradient(("Ny", "Nx"), ("Ny", "Nx"), edge="replicate")
plain = ts.solve.cg(B.N, B.H(data), maxiter=60)
smooth = ts.solve.admm(B, data, ts.solve.prox.group(0.004, 0), G=G, rho=0.05, maxiter=80)
print(plain)
print(smooth)

# %%
figure, axes = plt.subplots(1, 4, figsize=(9.5, 2.6))
pictures = {"true": truth, "measured": data, "least squares": plain.x, "total variation": smooth.x}
for axis, (title, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture.numpy(), vmin=0, vmax=0.5)
    axis.set(title=title, xticks=[], yticks=[])
figure.tight_layout()
