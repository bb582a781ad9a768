# SPDX-License-Identifier: Apache-2.0
"""An operator under a budget of bytes

`ts.fit` cuts an operator into tiles until it fits into the memory that you allow, and says beforehand what a run will
hold.
"""

# %%
# A stack of images seen by coils: 36 MiB of maps, and as much data.
import matplotlib.pyplot as plt
import numpy as np

import tessera as ts

ts.random.seed(0)
maps = ts.random.normal((24, 8, 128, 96), dtype="float32").astype("complex64")
S = ts.Dense(maps, ("Z", "C", "X", "Y"), ("Z", "X", "Y"), ("Z", "C", "X", "Y"))
A = ts.FFT(2, ("Z", "C"), (("X", "Y"), ("Kx", "Ky"))) @ S
x = ts.ones((24, 128, 96), dtype="complex64")

# %%
# On simulated devices, which count bytes as real ones do.
allowed = [8, 16, 32, 64]
forecast, result = [], A(x)
for megabytes in allowed:
    F = ts.fit(A, x, budget={"sim:0": f"{megabytes}MiB"})
    forecast.append(F.forecast["memory"]["sim:0"]["total"] / 2**20)
    assert np.allclose(F(x).numpy(), result.numpy(), atol=1e-3)
print([round(f, 1) for f in forecast], "MiB forecast for", allowed)

# %%
figure, axis = plt.subplots(figsize=(5, 3))
places = np.arange(len(allowed))
axis.bar(places - 0.2, allowed, 0.4, color="#c9d6d8", label="allowed")
axis.bar(places + 0.2, forecast, 0.4, color="#0b5c66", label="forecast")
axis.set(
    xticks=places,
    xticklabels=[f"{a} MiB" for a in allowed],
    ylabel="MiB on the device",
    title="the same numbers, in less memory",
)
axis.legend()
figure.tight_layout()
