# SPDX-License-Identifier: Apache-2.0
"""Every operator that imaging makes, with options drawn at random: its adjoint is one, its normal is both of them, and
cut along any dim it is itself.

`TESSERA_IMAGING_CASES=500` draws as many, `TESSERA_IMAGING_SEED=7` others, `TESSERA_IMAGING_CASE=12` one alone.
"""

import os

import numpy as np
import pytest
from cut_operators import Draw
from test_cut_whole import Law

import tessera as ts
from tessera import imaging as im

SEED = int(os.environ.get("TESSERA_IMAGING_SEED", "0"))
CASES = int(os.environ.get("TESSERA_IMAGING_CASES", "6"))
ONLY = os.environ.get("TESSERA_IMAGING_CASE")


def complex_of(d):
    return "complex128" if d.double else "complex64"


def maps_of(d, *shape):
    return d.array(shape, complex_of(d))


def a_mask(d, *shape):
    mask = d.rng.random(shape) < 0.6
    return mask if d.chance() else mask * d.rng.random(shape)


def spots(d, sizes, *lead):
    return d.rng.uniform(-0.5, 0.5, (*lead, len(sizes))) * sizes


def sense_on_a_grid(d):
    sizes = d.sizes(d.one(2, 3), 1, 6)
    given = {"mask": a_mask(d, *sizes) if d.chance() else None, "weights": d.array(sizes) if d.chance() else None}
    return im.sense_operator(maps_of(d, d.size(1, 4), *sizes), **given), sizes


def sense_along_a_trajectory(d):
    sizes = d.sizes(d.one(2, 3), 4, 7)
    lead = d.sizes(d.one(1, 2), 1, 6)
    weights = d.rng.random(lead) if d.chance() else None
    options = dict(toeplitz=d.chance(), tol=1e-5)
    maps = maps_of(d, d.size(1, 4), *sizes)
    return im.sense_operator(maps, locs=spots(d, sizes, *lead), weights=weights, **options), sizes


def subspace(d):
    sizes, times, rank = d.sizes(d.one(2, 3), 4, 6), d.size(2, 4), d.size(1, 2)
    basis, maps = np.linalg.qr(d.array((times, rank)))[0], maps_of(d, d.size(1, 3), *sizes)
    if d.chance():
        return im.subspace_operator(maps, basis, mask=a_mask(d, times, *sizes)), (rank, *sizes)
    return im.subspace_operator(maps, basis, locs=spots(d, sizes, times, *d.sizes(d.one(1, 2), 1, 5))), (rank, *sizes)


def multislice(d):
    slices, sizes = d.size(1, 3), d.sizes(2, 1, 6)
    shifts = d.rng.uniform(-1, 1, slices) if d.chance() else None
    mask = a_mask(d, *sizes) if d.chance() else None
    return im.multislice_operator(maps_of(d, slices, d.size(1, 4), *sizes), shifts=shifts, mask=mask), (slices, *sizes)


def rigid(d):
    sizes = d.sizes(2, 4, 7)
    return im.rigid(sizes, d.one(0.0, 0.3, -2.0), d.rng.uniform(-3, 3, 2)), sizes


def motion(d):
    sizes, shots = d.sizes(2, 4, 7), d.size(1, 3)
    owner = d.rng.integers(0, shots + 1, sizes)
    masks = np.stack([owner == shot for shot in range(shots)])
    angles = [d.one(0.0, 0.2, -1.0) for _ in range(shots)]
    moves = [d.one((0, 0), (1, -0.5), (0.25, 2)) for _ in range(shots)]
    return im.motion_operator(maps_of(d, d.size(1, 4), *sizes), masks, angles, moves), sizes


def spread(d):
    points, traces, samples = d.sizes(d.size(1, 2), 1, 4), d.size(1, 4), d.size(1, 7)
    table = d.rng.uniform(-2, samples + 1, (*points, traces))
    table[d.rng.random(table.shape) < 0.1] = np.inf
    weights = d.array(table.shape) if d.chance() else None
    batch = d.sizes(d.size(0, 1), 1, 3)
    names = d.dims(len(batch))
    made = im.spread(table, samples, weights=weights, interpolate=d.chance(), batch_shape=names)
    return made, (*batch, *points)


def filtered_rays(d):
    turn = np.linspace(0, np.pi, d.size(2, 6), endpoint=False)
    sizes, cells = d.sizes(2, 3, 7), d.size(4, 9)
    kind = d.one("parallel", "fan", "cone")
    if kind == "parallel":
        A = ts.ParallelBeam(turn, sizes, cells, offset=d.one(0.0, 0.25), batch_shape=())
    elif kind == "fan":
        A = ts.FanBeam(2 * turn, sizes, cells, 20.0, d.one(8.0, 15.0), arc=d.chance(), batch_shape=())
    else:
        sizes = (d.size(2, 4), *sizes)
        A = ts.ConeBeam(2 * turn, sizes, (d.size(2, 5), cells), 20.0, 8.0, arc=d.chance(), batch_shape=())
    if d.chance(0.3):
        return A, sizes
    B = im.fbp_operator(A, window=d.one("ramp", "hann", "shepp-logan", "cosine", "hamming"))
    return B, tuple(B.size(dim) for dim in B.ishape)


def tgv_terms(d):
    A, sizes = sense_on_a_grid(d)
    terms = im.tgv_terms(A, 0.1)[0]
    return d.one(*terms), (1 + len(sizes), *sizes)


DRAWERS = [
    sense_on_a_grid,
    sense_along_a_trajectory,
    subspace,
    multislice,
    rigid,
    motion,
    spread,
    filtered_rays,
    tgv_terms,
]


def adjoint_and_normal(d, A, x, label):
    y = A(x)
    u = ts.asarray(d.array(y.shape, str(y.dtype)))
    back = A.H(u)
    left, right = np.vdot(u.numpy(), y.numpy()), np.vdot(back.numpy(), x.numpy())
    scale = np.linalg.norm(u.numpy()) * np.linalg.norm(y.numpy()) + np.linalg.norm(back.numpy()) * np.linalg.norm(x)
    eps = 1e-12 if d.double else 1e-5
    assert abs(left - right) <= eps * max(scale, 1), (label, left, right)
    both, normal = A.H(y).numpy(), A.N(x).numpy()
    assert normal.shape == both.shape, label
    assert np.linalg.norm(normal - both) <= 2e-4 * max(np.linalg.norm(both), 1e-3), label


@pytest.mark.parametrize("draw", DRAWERS, ids=lambda draw: draw.__name__)
def test_adjoint_normal_and_cut(draw):
    cuts = 0
    for number in [int(ONLY)] if ONLY else range(CASES):
        d = Draw([SEED, DRAWERS.index(draw), number])
        A, shape = draw(d)
        real = draw in (spread, filtered_rays, tgv_terms) and d.chance()
        x = ts.asarray(d.array(shape, d.dtype(real=True) if real else complex_of(d)))
        label = f"{draw.__name__}, case {number} (TESSERA_IMAGING_CASE={number} TESSERA_IMAGING_SEED={SEED})"
        label += f"\n{A.tree()}\n on {x.shape} {x.dtype}"
        adjoint_and_normal(d, A, x, label)
        law = Law(d, A, x, label)
        for _ in range(3):
            law.batched()
        d.one(law.two_levels, law.streamed, law.by_hand, law.fitted, law.over_ranks)()
        cuts += law.cuts
    assert cuts > 0 or ONLY
