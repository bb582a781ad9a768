# SPDX-License-Identifier: Apache-2.0
"""An image from a third of the rows of its spectrum, seen by eight coils: operators written by hand, a solver, and the
plan of what is inverted as a page (plan.html) and as bytes.

python examples/python/cartesian_sense.py [folder]
"""

import sys
from pathlib import Path

import numpy as np

import tessera as ts
from tessera import imaging


def measured_rows(n: int, acceleration: int) -> np.ndarray:
    """The middle of the spectrum, and one row in so many outside of it."""
    rows = np.random.default_rng(2).random(n) < 1 / acceleration
    rows[n // 2 - 12 : n // 2 + 12] = True
    return rows.astype(np.float32)


def main(folder: Path) -> None:
    n, coils = 128, imaging.Coils(8)
    maps = coils.maps((n, n)).astype(np.complex64)
    truth = imaging.shepp_logan().image((n, n)).astype(np.complex64)

    # Coil maps, then the spectrum of each coil, then the rows that are measured.
    S = ts.Dense(maps, ("C", "Nx", "Ny"), ("Nx", "Ny"), ("C", "Nx", "Ny"))
    F = ts.FFT(2, ("C",), (("Nx", "Ny"), ("Kx", "Ky")), centered=True)
    M = ts.Diagonal(measured_rows(n, 3)[:, None], ("C", "Kx", "Ky"))
    A = M @ F @ S

    ts.random.seed(0)
    clean = A(truth)
    noise = ts.random.normal(clean.shape, dtype="complex64", scale=2e-4 * float(ts.max(ts.abs(clean))))
    zero_filled = A.H(clean + M(noise))
    inverted = A.N + 2e-4 * ts.Identity()
    found = ts.solve.cg(inverted, zero_filled, maxiter=40)

    pictures = [np.clip(np.abs(np.asarray(x)), 0, 1) for x in (truth, zero_filled, found.x)]
    imaging.save_png(folder / "sense.png", np.rint(255 * np.concatenate(pictures, 1)).astype(np.uint8))
    plan = inverted.plan(zero_filled)
    (folder / "plan.html").write_text(plan.explain(format="html"))
    errors = [100 * imaging.nrmse(np.abs(np.asarray(x)), truth) for x in (zero_filled, found.x)]
    print(f"error {errors[0]:.1f} % zero-filled, {errors[1]:.1f} % after {found.iterations} iterations")
    print(f"workspace of one application: {plan.workspace} bytes; wrote sense.png and plan.html into {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
