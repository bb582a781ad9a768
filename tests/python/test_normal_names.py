# SPDX-License-Identifier: Apache-2.0
"""The names of a normal follow from names and from the axes along which its weights are broadcast, not from sizes or numbers."""

import numpy as np
import pytest

import tessera as ts


def complex_noise(*shape):
    rng = np.random.default_rng(7)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def masked_transforms(norm, weight, declared=()):
    """A weight after a transform, alone and with operators around them."""
    F = ts.FFT(2, ("C",), (("X", "Y"), ("K", "L")), norm, centered=norm == "ortho")
    M = ts.Diagonal(weight, ("C", "K", "L"), declared)
    S = ts.Dense(complex_noise(2, 3, 4), ("C", "X", "Y"), ("X", "Y"), ("C", "X", "Y"))
    P = ts.Pad((3, 4), (2, 3), ("U", "V"), ("X", "Y"), ("C",))
    return {
        "mask": (M @ F, (2, 3, 4)),
        "two masks": (ts.Diagonal(np.full((1, 1), 2.0), ("C", "K", "L"), declared) @ M @ F, (2, 3, 4)),
        "maps": (M @ F @ S, (3, 4)),
        "padded": (M @ F @ P, (2, 2, 3)),
        "sum": (M @ F + 0.5 * F, (2, 3, 4)),
        "side by side": (ts.Stack(M @ F, 2 * (M @ F), odim_and_idx=("R", 0)), (2, 3, 4)),
    }


@pytest.mark.parametrize("declared", [(), ("L",), ("C", "K"), ("C", "K", "L")])
@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("name", masked_transforms("ortho", np.ones(())))
def test_names_of_normals_follow_from_names_and_broadcast_axes(name, norm, declared):
    """Whatever the sizes and numbers of the weights are: scaled, cut, fitted and over ranks."""
    shapes = [(2, 3, 4), (1, 3, 4), (3, 4), (1, 4), (3, 1), (1, 1, 1), (1, 1), (4,), (1,), ()]
    dims = dict(C=0, K=1, L=2)
    fits = [s for s in shapes if all((1, 1, 1, *s)[dims[d] - 3] == 1 for d in declared)]
    told = {}  # by the axes along which the weight varies
    for shape in fits:
        varies = tuple(n != 1 for n in (1, 1, 1, *shape)[-3:])
        for weight in (complex_noise(*shape), np.ones(shape)):
            A, size = masked_transforms(norm, weight, declared)[name]
            x = complex_noise(*size)
            whole = np.asarray(A.H(A(x)))
            known = dict(shape=size)
            first = told.setdefault(varies, (A.N.ishape, A.N.oshape))
            cut = [d for d in ("C", "X", "Y", "K") if d in A.dims]
            others = [A, -A, 2 * A, A * (1 - 2j)]
            for d in cut:
                for resident in (True, False):
                    spec = ts.BatchSpec({d: 1}, ["sim:0", "sim:1"], resident=resident)
                    try:
                        others.append(ts.create_batched_linop(A, spec, **known))
                    except (ts.SplitError, ts.DimError):
                        pass
            others.append(ts.fit(A, ts.asarray(x), budget={"sim:0": 1 << 20}))
            for B in others:
                assert (B.N.ishape, B.N.oshape) == first, (shape, B)
            for B, factor in zip(others, [1, 1, 4, 5, *[1] * 99], strict=False):
                assert np.allclose(np.asarray(B.N(x)), factor * whole), (shape, B)
            for d in set(A.N.ishape) | set(A.N.oshape):
                try:
                    B = ts.create_batched_linop(A.N, ts.BatchSpec({d: 1}, ["sim:0"]), **known)
                except ts.SplitError:
                    continue
                assert (B.ishape, B.oshape) == first and np.allclose(np.asarray(B(x)), whole), (shape, d)
    A, size = masked_transforms(norm, np.ones(fits[-1]), declared)[name]
    x = complex_noise(*size)
    whole = np.asarray(A.H(A(x)))

    def over_ranks(comm):
        return [A.N(ts.dist.array(x, split=k, comm=comm)).numpy() for k in range(x.ndim)]

    for got in ts.dist.run_ranks(3, over_ranks):
        assert all(np.allclose(g, whole) for g in got)
