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


@pytest.mark.parametrize("options", [*WAYS, {"locs_batch_shape": "R"}], ids=lambda o: "-".join(o) or "plain")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_frequencies_beyond_those_of_the_image(axes, side, dtype, options, device):
    grid = (8, 7, 5)[:axes]
    locs = np.random.default_rng(axes).integers(-2, 3, (3, 7, axes)).astype(dtype)
    locs[0, 0] = side * np.array(grid) / 2  # the rim belongs to them
    make = lambda at, **more: ts.NUFFT(ts.asarray(at).to(device), grid, **options, **more)  # noqa: E731
    make(locs), make(locs.astype("float32") * np.float32(1.000001))
    far = locs.copy()
    far[1, 2, axes - 1] = side * 5
    where = "location (2|9)" if options.get("locs_batch_shape") else "location 9"
    text = (
        rf"NUFFT .*{where} is {side * 5} along axis {axes - 1} of {grid[-1]} points; expected cycles per field of view"
    )
    with pytest.raises(ValueError, match=text + rf", from -{grid[-1] / 2:g} to {grid[-1] / 2:g} \(wrap=True"):
        make(far)
    near = far.copy()
    near[1, 2, axes - 1] -= side * grid[-1]
    x = np.random.default_rng(0).standard_normal((3, *grid) if "locs_batch_shape" in options else grid)
    a, b = make(far, wrap=True)(ts.asarray(x).to(device)), make(near)(ts.asarray(x).to(device))
    assert np.abs(a.numpy() - b.numpy()).max() < 1e-12


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
    A = ts.NUFFT(locs, grid, ("K",), batch_shape=(), tol=tol, wrap=True)
    x, y = np.ones(grid, "complex128"), np.ones(40, "complex128")
    # No sum is larger than that of the absolute values.
    assert not np.abs(A(x).numpy()).max() > (1 + tol) * np.sqrt(x.size)
    assert not np.abs(A.H(y).numpy()).max() > (1 + tol) * y.size / np.sqrt(x.size)
