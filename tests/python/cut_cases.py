# SPDX-License-Identifier: Apache-2.0
"""Random operators for the law that a cut operator is the whole one (test_cut_whole.py): those of cut_operators.py, alone
or put together, scaled, stacked, in chains, renamed. The same seed gives the same operator.
"""

from cut_operators import DRAWERS, FFT, Convolution, Dense, Draw, Flip, Wavelet

import tessera as ts

COMPOSED = []  # functions of a Draw, which give (operator, shape of its input)


def composed(function):
    COMPOSED.append(function)
    return function


def any_operator(d):
    return DRAWERS[d.one(*sorted(DRAWERS))](d)


def line_mask(d, sizes, real=False):
    return d.array(tuple(1 if d.chance(0.4) else s for s in sizes), d.dtype(real))


@composed
def masked_fft(d):
    """A mask, which may be constant along some axes, after a transform of any norm, after coils or not."""
    n = d.size(1, 3)
    lead = d.dims(d.size(0, 1))
    sizes, grid = d.sizes(len(lead), 1, 4), d.sizes(n, 1, 5)
    ins, outs = d.dims(n), d.dims(n)
    F = ts.FFT(n, lead, (ins, outs), d.one("ortho", "backward", "forward"), d.chance())
    A = ts.Diagonal(line_mask(d, grid), (*lead, *outs)) @ F
    if lead and d.chance():
        A = A @ ts.Dense(d.array(sizes + grid), (*lead, *ins), ins, (*lead, *ins))
        return A, grid
    return A, sizes + grid


@composed
def sampled_fft(d):
    n = d.size(1, 2)
    lead = d.dims(d.size(0, 2))
    sizes, grid = d.sizes(len(lead), 1, 4), d.sizes(n, 2, 5)
    ins, outs = d.dims(n), d.dims(n)
    points = d.sizes(d.size(1, 2), 1, 5)
    idx = tuple(d.rng.integers(0, g, points) for g in grid)
    S = ts.Sampling(idx, grid, d.dims(len(points)), outs, lead)
    return S @ ts.FFT(n, lead, (ins, outs), d.one("ortho", "backward", "forward"), d.chance()), sizes + grid


@composed
def padded_fft(d):
    n = d.size(1, 3)
    lead = d.dims(d.size(0, 2))
    sizes, small = d.sizes(len(lead), 1, 4), d.sizes(n, 1, 4)
    large = tuple(s + d.size(0, 3) for s in small)
    ins, wide, outs = d.dims(n), d.dims(n), d.dims(n)
    F = ts.FFT(n, lead, (wide, outs), d.one("ortho", "backward", "forward"), d.chance())
    A = F @ ts.Pad(large, small, ins, wide, lead)
    return (ts.Diagonal(line_mask(d, large), (*lead, *outs)) @ A if d.chance() else A), sizes + small


@composed
def filtered(d):
    """There, a weight, and back."""
    A, shape = d.one(FFT, Wavelet, Convolution, Flip, Dense)(d)
    if "..." in A.ishape:
        return A, shape
    W = ts.Diagonal(line_mask(d, A.output_shape(shape)), A.oshape)
    return A.normal(W), shape


@composed
def weighted(d):
    """Weights before, after, or both."""
    A, shape = any_operator(d)
    if "..." in A.ishape or "..." in A.oshape:
        return A, shape
    if d.chance():
        A = A @ ts.Diagonal(line_mask(d, shape, "real=" in A.tree()), A.ishape)
    return ts.Diagonal(line_mask(d, A.output_shape(shape)), A.oshape) @ A, shape


@composed
def convolved(d):
    """A NUFFT whose normal is a convolution, between maps and a mixing of batches, or some of them."""
    n = d.size(1, 2)
    grid, points = d.sizes(n, 4, 6), d.sizes(d.size(1, 2), 1, 5)
    image, outs, batch = d.dims(n), d.dims(len(points)), d.dims(1)
    coils = d.size(1, 4)
    locs = d.rng.uniform(-0.5, 0.5, (*points, n)) * grid
    A = ts.NUFFT(locs, grid, outs, image, batch_shape=batch, oversamp=1.25, width=4.0, toeplitz=True)
    if d.chance():
        A = ts.Diagonal(line_mask(d, (coils, *points)), (*batch, *outs)) @ A
    elif d.chance():
        mixed = d.dims(1)
        A = ts.Dense(d.array((d.size(1, 4), coils)), mixed + batch, batch + outs, mixed + outs) @ A
    before = d.one("nothing", "maps", "basis", "sum")
    if before == "maps":
        return A @ ts.Dense(d.array((coils, *grid)), batch + image, image, batch + image), grid
    if before == "basis":
        few, size = d.dims(1), d.size(1, 4)
        return A @ ts.Dense(d.array((size, coils)), few + batch, few + image, batch + image), (size, *grid)
    if before == "sum":
        few, size = d.dims(1), d.size(1, 4)
        summed = ts.Dense(d.array((size, coils, *grid)), few + batch + image, few + batch + image, batch + image)
        return A @ summed, (size, coils, *grid)
    return A, (coils, *grid)


def some_part(d):
    return (any_operator if d.chance(0.6) else d.one(masked_fft, sampled_fft, padded_fft, weighted, convolved))(d)


def several(d, A, n):
    return [d.one(1.0, 2.0, -3.0) * A if d.chance() else A for _ in range(n)]


@composed
def sums(d):
    A, shape = some_part(d)
    return A + d.one(2.0, -1.0) * A, shape


@composed
def stacked(d):
    A, shape = some_part(d)
    n = d.size(1, 3)
    sides = d.one((True, False), (False, True), (True, True))
    one = d.dims(1)[0]
    other = one if d.chance(0.3) else d.dims(1)[0]
    i = d.size(0, 0 if "..." in A.ishape else len(A.ishape))
    o = d.size(0, 0 if "..." in A.oshape else len(A.oshape))
    op = ts.Stack(
        *several(d, A, n),
        idim_and_idx=(one, i) if sides[0] else None,
        odim_and_idx=(other, o) if sides[1] else None,
    )
    return op, (shape[:i] + (n,) + shape[i:]) if sides[0] else shape


@composed
def beside(d):
    """Concat along an input dim, an output dim or both."""
    A, shape = some_part(d)
    ishape, oshape = [str(n) for n in A.ishape], [str(n) for n in A.oshape]
    known = [n for n in {*ishape, *oshape} if n != "..." and A.size(n)]
    idim = d.one(None, *sorted(n for n in known if n in ishape))
    odim = idim if idim in oshape else d.one(None, *sorted(n for n in known if n not in ishape))
    if idim is None and odim is None:
        return A, shape
    n = d.size(1, 3)
    whole = list(shape)
    if idim is not None:
        whole[ishape.index(idim) - len(ishape)] *= n
    return ts.Concat(*several(d, A, n), idim=idim, odim=odim), tuple(whole)


def scaled(d, A):
    kind = d.one("", "", "scaled", "negative", "complex", "renamed", "adjoint of adjoint", "after")
    if kind == "scaled":
        return 2.0 * A
    if kind == "negative":
        return -A
    if kind == "complex":
        return (1 - 2j) * A
    if kind == "renamed":
        names = [n for n in A.dims if n != "..." and "(" not in str(n)]
        return A.rename({d.one(*names): d.dims(1)[0]}) if names else A
    if kind == "after":
        return A * 3.0
    return A


def drawn(seed):
    """(operator, shape of its input, Draw) of a seed."""
    d = Draw(seed)
    A, shape = any_operator(d) if d.chance() else d.one(*COMPOSED)(d)
    return scaled(d, A), tuple(int(n) for n in shape), d
