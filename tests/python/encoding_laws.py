# SPDX-License-Identifier: Apache-2.0
"""What tests of encodings share: exact samples of phantoms, and the laws that every encoding obeys."""

import numpy as np

import tessera as ts
from tessera import imaging as im

SHAPE = (32, 32)


def grid(shape):
    """Cartesian locations (*shape, ndim) in cycles per field of view."""
    return np.stack(np.meshgrid(*[np.arange(n) - n // 2 for n in shape], indexing="ij"), -1)


def exact(phantom, shape, coils=None):
    return phantom.kspace(grid(shape), shape, coils=coils)


def band_limited(phantom, shape):
    """The image that the exact samples of a Cartesian scan stand for."""
    return im.sense_operator(np.ones((1, *shape))).H(exact(phantom, shape)[None]).numpy()


def rss(kspace):
    axes = tuple(range(1, kspace.ndim))
    images = np.fft.ifftn(np.fft.ifftshift(kspace, axes=axes), axes=axes, norm="ortho")
    return np.sqrt((np.abs(np.fft.fftshift(images, axes=axes)) ** 2).sum(0))


def adjoint_and_cuts(A, shape, rng):
    """<A x, y> = <x, A.H y>, and the same numbers in tiles of coils on two devices."""
    assert ts.check_adjoint(A, shape, dtype="complex128")
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    cut = ts.create_batched_linop(A, ts.BatchSpec({"C": 2}, device_matrix=["sim:0", "sim:1"]))
    whole = A(x).numpy()
    np.testing.assert_allclose(cut(x).numpy(), whole, atol=1e-9 * np.abs(whole).max())
    back = A.H(whole).numpy()
    np.testing.assert_allclose(cut.H(whole).numpy(), back, atol=1e-9 * np.abs(back).max())
