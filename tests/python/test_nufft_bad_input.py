# SPDX-License-Identifier: Apache-2.0
"""NUFFTs that cannot be, by sentences that name what was wrong; and odd ones that can."""

import re

import numpy as np
import pytest

import tessera as ts

WAYS = [{}, {"tol": 1e-6}, {"mode": "sampling"}, {"toeplitz": True}]


@pytest.mark.parametrize("options", WAYS, ids=lambda o: "-".join(o) or "plain")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_first_location_that_is_not_finite_is_named(axes, value, dtype, options):
    locs = np.zeros((7, axes), dtype)
    locs[4, axes - 1] = locs[6, 0] = value
    with pytest.raises(ValueError, match=rf"NUFFT.*location 4 is {value} along axis {axes - 1}"):
        ts.NUFFT(locs, (8, 7, 5)[:axes], **options)


@pytest.mark.parametrize(
    "locs, grid, error, text",
    [
        (np.zeros((5, 2)), (8,), ValueError, r"locations of shape \(5, 2\) for an image of shape \(8,\)"),
        (np.zeros((5, 1)), (8, 7), ValueError, r"expected \(..., 2\)"),
        (np.zeros(5), (8, 7), ValueError, r"expected \(..., 2\)"),
        (np.zeros(()), (8,), ValueError, "locations of shape"),
        (np.zeros((5, 4)), (2, 2, 2, 2), ValueError, "expected one to three axes"),
        (np.zeros((5, 0)), (), ValueError, "expected one to three axes"),
        (np.zeros((5, 2)), (8, 0), ValueError, "axes that are not empty"),
        (np.zeros((5, 1), complex), (8,), TypeError, "expected real numbers"),
        (np.zeros((5, 1), bool), (8,), TypeError, "expected real numbers"),
    ],
)
@pytest.mark.parametrize("options", WAYS[:2], ids=lambda o: "-".join(o) or "plain")
def test_shapes_that_do_not_fit(locs, grid, error, text, options):
    with pytest.raises(error, match=f"NUFFT: .*{text}"):
        ts.NUFFT(locs, grid, **options)


@pytest.mark.parametrize("shape", [(8,), (7, 8), (8, 8), (2, 8, 6)])
def test_images_and_data_of_other_sizes(shape):
    A = ts.NUFFT(np.zeros((5, 2)), (8, 7), ("K",), batch_shape=(), tol=1e-3)
    with pytest.raises(ValueError, match="NUFFT"):
        A(np.zeros(shape, "complex64"))
    for others in ((4,), (6,), (5, 5)):
        with pytest.raises(ValueError, match=re.escape(f"shape {others}")):
            A.H(np.zeros(others, "complex64"))


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
@pytest.mark.parametrize("grid", [(9,), (8, 7), (5, 6, 4)], ids=len)
@pytest.mark.parametrize("far", [1e6, 1e17, 1e300])
def test_points_so_far_off_that_digits_are_lost_stay_finite(far, grid, tol):
    rng = np.random.default_rng(len(grid))
    locs = rng.uniform(-far, far, (40, len(grid)))
    A = ts.NUFFT(locs, grid, ("K",), batch_shape=(), tol=tol)
    x, y = np.ones(grid, "complex128"), np.ones(40, "complex128")
    # No sum is larger than that of the absolute values.
    assert not np.abs(A(x).numpy()).max() > (1 + tol) * np.sqrt(x.size)
    assert not np.abs(A.H(y).numpy()).max() > (1 + tol) * y.size / np.sqrt(x.size)
