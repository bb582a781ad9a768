# SPDX-License-Identifier: Apache-2.0
"""ESPIRiT under budgets: the same maps in slabs, and no more memory than was given."""

import subprocess
import sys

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im


def measured(shape, coils, dtype, rng):
    """The k-space of an object in the middle, seen by coils, with a little noise."""
    grids = np.meshgrid(*[(np.arange(n) - n // 2) / n for n in shape], indexing="ij")
    seen = im.Coils(coils, len(shape)).maps(shape) * (sum(g**2 for g in grids) < 0.12) * (1 + grids[0])
    axes = tuple(range(1, seen.ndim))
    data = np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(seen, axes), axes=axes, norm="ortho"), axes)
    noise = rng.standard_normal(data.shape) + 1j * rng.standard_normal(data.shape)
    return (data + 1e-3 * noise).astype(dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("options", [{}, {"soft": True, "crop": 0.8}, {"maps": 2, "crop": 0.0}], ids=str)
@pytest.mark.parametrize(
    "shape, coils, width, taps", [((23, 30), 5, 12, 5), ((30, 9), 12, 9, 4), ((7, 12, 10), 6, 7, 3)]
)
def test_the_same_maps_in_slabs(shape, coils, width, taps, options, dtype, rng, monkeypatch):
    """Of several rows, of one, of a part of one, and of one pixel; patches of one coil or of several at a time."""
    data = measured(shape, coils, dtype, rng)
    from tessera.imaging import _espirit

    whole = im.espirit(data, calibration=width, kernel=taps, **options)
    if options.get("maps") == 2:  # of which the second is no direction where values are near: projections are compared
        whole = np.einsum("mc...,md...->cd...", whole, whole.conj())
    for most in (1, 7 * coils**2, 3 * shape[-1] * coils**2, 40 * shape[-1] * coils**2):
        monkeypatch.setattr(_espirit, "_AT_ONCE", most)
        found = im.espirit(data, calibration=width, kernel=taps, **options)
        assert found.dtype == dtype
        if options.get("maps") == 2:
            found = np.einsum("mc...,md...->cd...", found, found.conj())
        far = np.abs(found - whole).reshape(-1, np.prod(shape)).max(0) > (2e-2 if dtype == "complex64" else 1e-4)
        # A pixel whose eigenvalue is just at ``crop`` may be on the other side of it.
        assert far.mean() < 0.02


def test_gathered_centres_are_those_of_espirit(rng):
    data = measured((20, 24), 4, "complex64", rng)
    gathered = im.Calibration((20, 24), width=12)
    gathered.add(data)
    want = im.espirit(data, calibration=12, kernel=5, crop=0.3)
    # In slabs of another size: single precision, divided by the gap between two eigenvalues.
    assert np.abs(gathered.maps(kernel=5, crop=0.3, budget="10MB") - want).max() < 1e-3
    out = np.zeros((4, 20, 24), np.complex64)
    gathered.maps(kernel=5, crop=0.3, out=out)
    assert np.abs(out - want).max() < 1e-3
    for bad in (out[:3], out[:, 1:], out.real):
        with pytest.raises(ts.ArgumentError, match="calibration: out"):
            gathered.maps(kernel=5, out=bad)


@pytest.mark.parametrize("bad", ["10kB", 1000, 0, -5, "much", [], "1"])
def test_budgets_that_are_too_small_or_none(bad, rng):
    data = measured((20, 24), 8, "complex64", rng)
    with pytest.raises(
        ts.ArgumentError, match=r"espirit: a budget of .* take \d+: give fewer coils|imaging: a budget of"
    ):
        im.espirit(data, calibration=12, kernel=5, budget=bad)


PEAK = """
import sys, numpy as np, tessera as ts
from tessera import imaging as im
def most():
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return 1024 * int(lines["VmHWM"].split()[0])
data = np.load(sys.argv[1], mmap_mode="r")
square = np.ones((400, 400), np.complex64)
ts.linalg.eigh(ts.asarray(square @ square))  # what libraries keep for their own use is there from now on
im.espirit(np.ascontiguousarray(data[:3, 8:16, 8:16, 8:16]), calibration=6, kernel=3)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = most()
budget = sys.argv[2] if sys.argv[2] != "none" else None
maps = im.espirit(data, calibration=12, kernel=4, budget=budget)
print(most() - before - maps.nbytes)
"""


def test_no_more_memory_than_the_budget(rng, tmp_path):
    """Measured as the process' own peak: beside the maps, and the samples that are read from a file."""
    np.save(tmp_path / "data.npy", measured((24, 30, 28), 20, "complex64", rng))
    taken = {}
    for budget in ("none", "40MB"):
        line = [sys.executable, "-c", PEAK, tmp_path / "data.npy", budget]
        done = subprocess.run(line, capture_output=True, text=True, timeout=300)
        if "clear_refs" in done.stderr:
            pytest.skip("the peak of a process cannot be measured here")
        assert done.returncode == 0, done.stderr
        taken[budget] = int(done.stdout)
    print(taken)
    assert taken["40MB"] < 44e6 < taken["none"]
