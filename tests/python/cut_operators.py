# SPDX-License-Identifier: Apache-2.0
"""Random operators: every public one has a function here that draws its names, sizes and every option of its constructor."""

import numpy as np
from written_operators import Mixing, MixingWithNormal, OfOperators, Weighted, WithNormal

import tessera as ts

CLASSES = (Weighted, WithNormal, Mixing, MixingWithNormal, OfOperators)
DRAWERS = {}  # name of the class: a function of a Draw, which gives (operator, shape of its input)
WRONG = {}  # name of the class: calls that are refused (test_bad_input.py)


def draws(function, wrong=None):
    DRAWERS[function.__name__] = function
    if wrong:
        WRONG[function.__name__] = wrong
    return function


def draws_and_refuses(*wrong):
    """The same, with calls that the constructor refuses."""
    return lambda function: draws(function, wrong)


class Draw:
    """Choices from one seed: names that do not meet, sizes that are not equal by habit, numbers of one precision."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.double = bool(self.rng.integers(2))
        self.names = iter(f"{a}{b}" for a in "PQRSTUVWXYZABCDEFGHIJKLM" for b in "abcdef")

    def one(self, *options):
        return options[self.rng.integers(len(options))]

    def chance(self, p=0.5):
        return self.rng.random() < p

    def size(self, low=1, high=6):
        return int(self.rng.integers(low, high + 1))

    def sizes(self, n, low=1, high=6):
        return tuple(self.size(low, high) for _ in range(n))

    def dims(self, n):
        return tuple(next(self.names) for _ in range(n))

    def order(self, items):
        return tuple(items[i] for i in self.rng.permutation(len(items)))

    def some(self, items):
        return tuple(i for i in items if self.chance())

    def dtype(self, real=False):
        kind = "float" if real or self.chance() else "complex"
        return {"float": ("float32", "float64"), "complex": ("complex64", "complex128")}[kind][self.double]

    def array(self, shape, dtype=None):
        dtype = np.dtype(dtype or self.dtype())
        a = self.rng.standard_normal(shape)
        if dtype.kind == "c":
            a = a + 1j * self.rng.standard_normal(shape)
        return self.strided(np.asarray(a).astype(dtype))

    def strided(self, a):
        """The same numbers, now and then in another order in memory."""
        if a.ndim > 1 and self.chance(0.3):
            order = self.rng.permutation(a.ndim)
            a = np.ascontiguousarray(a.transpose(order)).transpose(np.argsort(order))
        return a

    def batch(self, most=2):
        """(names, sizes) of leading dims: named, or (None) whatever the input has."""
        n = self.size(0, most)
        return (None, self.sizes(n, 1, 4)) if self.chance(0.2) else (self.dims(n), self.sizes(n, 1, 4))


def with_names(batch, dims):
    return ("...", *dims) if batch is None else (*batch, *dims)


# --- weights and tensors


@draws
def Identity(d):
    n = d.size(1, 3)
    names = d.dims(n)
    return ts.Identity(names, d.dims(n) if d.chance(0.3) else None), d.sizes(n)


@draws
def Scalar(d):
    n = d.size(1, 3)
    return ts.Scalar(d.one(2.0, -0.5, 1 + 2j, 3), d.dims(n) if d.chance(0.8) else None), d.sizes(n)


@draws
def Zero(d):
    kept, gone, born = d.dims(d.size(0, 2)), d.dims(d.size(0, 2)), d.dims(d.size(0, 2))
    size = {name: d.size() for name in (*kept, *gone, *born)}
    ishape, oshape = d.order(kept + gone), d.order(kept + born)
    given = {name: size[name] for name in size if name not in kept or d.chance()}
    return ts.Zero(ishape, oshape, given), tuple(size[n] for n in ishape)


@draws
def Diagonal(d):
    n = d.size(1, 3)
    names, sizes = d.dims(n), d.sizes(n)
    axes = d.size(0, n)
    weight = tuple(1 if d.chance(0.3) else s for s in sizes[n - axes :])
    if d.chance(0.3):
        kept = d.some(range(n))
        given = {names[i]: sizes[i] for i in range(n) if i not in kept and d.chance()}
        kept = d.order(kept)
        w = d.array(tuple(sizes[i] for i in kept))
        return ts.Diagonal.from_weight(w, tuple(names[i] for i in kept), names, given), sizes
    ones = [names[n - axes + i] for i in range(axes) if weight[i] == 1]
    return ts.Diagonal(d.array(weight), names, broadcast_dims=d.some(ones) or None), sizes


@draws
def Dense(d):
    while True:
        groups = [d.dims(d.size(0, 2)) for _ in range(4)]
        both, born, gone, free = groups
        if both or born or gone:
            break
    size = {name: d.size() for g in groups for name in g}
    ishape, oshape, weight = d.order(both + gone + free), d.order(both + born + free), d.order(both + born + gone)
    sizes = tuple(size[n] for n in ishape)
    wide = d.some(both) if d.chance(0.3) else ()  # of length one in the weight, whatever the input has
    w = d.array(tuple(1 if n in wide else size[n] for n in weight))
    return ts.Dense(w, weight, ishape, oshape, broadcast_dims=wide or None), sizes


@draws
def Sparse(d):
    batch, lead = d.batch()
    ins, outs = d.sizes(d.size(1, 2)), d.sizes(d.size(1, 2))
    m = d.array((int(np.prod(outs)), int(np.prod(ins))))
    m = np.where(d.rng.random(m.shape) < 0.5, m, 0)
    op = ts.Sparse(m, d.dims(len(ins)), d.dims(len(outs)), ins, outs, batch)
    return op, lead + ins


@draws
def Toeplitz(d):
    n = d.size(1, 3)
    names, sizes = d.dims(n), d.sizes(n)
    at = d.size(0, n - 1)
    dtype = d.dtype()
    column = d.array((d.size(1, 7),), dtype)
    row = d.array((sizes[at],), dtype)
    row[0] = column[0]
    return ts.Toeplitz(column, row, names[at], names), sizes


@draws
def Kronecker(d):
    parts = [d.one(Dense, Diagonal, Flip, Truncate, Identity)(d) for _ in range(d.size(1, 3))]
    return ts.Kronecker(*(p[0] for p in parts)), sum((p[1] for p in parts), ())


@draws
def Matrix(d):
    rows, columns = d.sizes(2)
    lead = d.sizes(d.size(0, 2), 1, 4)
    names = d.dims(len(lead)) if d.chance(0.7) else ("...",)
    sides = (*names, *d.dims(1)), (*names, *d.dims(1))
    kind = d.one("array", "dense", "diagonal", "triangular", "symmetric", "antisymmetric", "identity")
    if kind in ("diagonal", "triangular", "symmetric", "antisymmetric", "identity"):
        rows = columns
    a = d.array((rows, columns), d.dtype(real=True))
    if kind == "array":
        return ts.Matrix(a, *sides), (*lead, columns)
    m = {
        "dense": lambda: ts.matrix.Dense(a),
        "diagonal": lambda: ts.matrix.Diagonal(np.ascontiguousarray(np.diag(a))),
        "triangular": lambda: ts.matrix.Triangular(np.triu(a)),
        "symmetric": lambda: ts.matrix.Symmetric(a + a.T),
        "antisymmetric": lambda: ts.matrix.AntiSymmetric(a - a.T),
        "identity": lambda: ts.matrix.Identity(rows),
    }[kind]()
    return ts.Matrix(m, *sides), (*lead, columns)


# --- transforms


@draws
def FFT(d):
    n = d.size(1, 3)
    batch, lead = d.batch()
    grid = d.sizes(n, 1, 6)
    kind = d.one("plain", "centered", "real")
    op = ts.FFT(
        n,
        batch,
        (d.dims(n), d.dims(n)),
        d.one("ortho", "backward", "forward"),
        kind == "centered",
        grid[-1] if kind == "real" else 0,
    )
    return op, lead + grid


@draws
def NUFFT(d):
    n = d.size(1, 2)
    batch, lead = d.batch(1)
    grid = d.sizes(n, 4, 7)
    points = d.sizes(d.size(1, 2), 1, 5)
    locs = d.rng.uniform(-0.5, 0.5, (*points, n)) * grid
    mode = d.one("interpolate", "sampling")
    options = {"mode": mode}
    if mode == "interpolate" and d.chance(0.3):
        options["tol"] = d.one(1e-2, 1e-4, 1e-9)
    else:
        options |= {"oversamp": d.one(1.25, 2.0), "width": d.one(3.0, 4.0)}
    if mode == "interpolate" and d.chance(0.4):
        options |= {"toeplitz": True, "toeplitz_dtype": d.one(None, "complex128")}
    if "tol" not in options and d.chance(0.3):
        options["apodize_weights"] = d.array(grid, d.dtype(real=True))
    op = ts.NUFFT(d.strided(locs), grid, d.dims(len(points)), d.dims(n), batch_shape=batch, **options)
    return op, lead + grid


@draws
def Wavelet(d):
    n = d.size(1, 2)
    batch, lead = d.batch()
    op = ts.Wavelet(d.dims(n), d.one("haar", "db2", "sym3", "coif1"), d.one(None, 1, 2), batch_shape=batch)
    return op, lead + d.sizes(n, 2, 9)


# --- sampling


@draws
def Sampling(d):
    n = d.size(1, 3)
    batch, lead = d.batch()
    grid = d.sizes(n, 1, 5)
    inputs = d.dims(n)
    kind = d.one("indices", "mask", "stacked")
    if kind == "mask":
        mask = d.rng.random(grid) < 0.6
        mask.flat[0] = True
        return ts.Sampling.from_mask(mask, None, d.dims(1), inputs, batch), lead + grid
    points = d.sizes(d.size(1, 3), 1, 5)
    idx = [d.strided(d.rng.integers(0, g, points)) for g in grid]
    if kind == "stacked":
        return ts.Sampling.from_stacked_idx(np.stack(idx, -1), grid, d.dims(len(points)), inputs, batch), lead + grid
    return ts.Sampling(tuple(idx), grid, d.dims(len(points)), inputs, batch), lead + grid


@draws
def Interpolate(d):
    n = d.size(1, 2)
    batch, lead = d.batch()
    grid = d.sizes(n, 4, 7)
    points = d.sizes(d.size(1, 2), 1, 5)
    locs = d.strided(d.rng.uniform(0, 1, (*points, n)) * (np.array(grid) - 1))
    kernel = d.one("kaiser_bessel", "spline")
    op = ts.Interpolate(
        locs,
        grid,
        batch,
        d.dims(len(points)),
        d.dims(n),
        width=d.one(2.0, 3.0, 4.0) if kernel == "kaiser_bessel" else d.one(2.0, 4.0),
        kernel=kernel,
        norm=d.one(1, 2),
        pad_mode=d.one("circular", "zero"),
    )
    return op, lead + grid


@draws_and_refuses(
    lambda: ts.RayTransform(np.ones((2, 8)), (4,), 5),
    lambda: ts.RayTransform(np.ones((2, 8)), (4, 4), (5, 5)),
    lambda: ts.RayTransform(np.ones((2, 7)), (4, 4), 5),
    lambda: ts.RayTransform(np.full((2, 8), np.nan), (4, 4), 5),
    lambda: ts.RayTransform(np.zeros((2, 8)), (4, 4), 5),
    lambda: ts.RayTransform(np.ones((2, 8)) * 1j, (4, 4), 5),
    lambda: ts.RayTransform([[0, 1, 0, 0, 0, 0, 1, 0]], (4, 4), 5, "other"),
    lambda: ts.RayTransform([[0, 1, 0, 0, 0, 0, 1, 0]], (4, 4), 0),
    lambda: ts.RayTransform([[0, 1, 0, 0, 0, 0, 1, 0]], (4, 4), 5, voxel=-1.0),
    lambda: ts.RayTransform([[0, 1, 0, 0, 0, 0, 1, 0]], (4, 4), 5, voxel=(1.0, 1.0, 1.0)),
    lambda: ts.RayTransform([[0, 1, 0, 0, 0, 0, 1, 0]], (4, 4), 5, centre=np.inf),
    lambda: ts.RayTransform([[0, 1, 0, 0, 0, 0, 1, 0]], (2, 4, 4), (2, 5)),
    lambda: ts.RayTransform([[0, -1, 0, 0, 9, 0, 1, 0]], (4, 4), 5, "flat"),
    lambda: ts.RayTransform([[0, -9, 0, 0, 9, 0, 1, 0]], (2, 4, 4), (2, 5), "flat", row_pitch=0.0),
    lambda: ts.RayTransform([[0, 1, 0, 0, 0, 0, 1, 0]], (4, 4), 5, image_shape="X"),
    lambda: ts.RayTransform([[0, 1, 0, 0, 0, 0, 1, 0]], (4, 4), 5, image_shape="XY", data_shape="XA"),
)
def RayTransform(d):
    n = d.one(2, 2, 3)
    batch, lead = d.batch()
    grid, detector = d.sizes(n, 1, 6), d.sizes(n - 1, 1, 7)
    angles = d.rng.uniform(0, 7, d.size(1, 4))
    common = {
        "voxel": d.one(1.0, tuple(d.rng.uniform(0.5, 1.5, n))),
        "centre": d.one(None, tuple(d.rng.uniform(0, 4, n))),
        "batch_shape": batch,
        "image_shape": d.dims(n),
        "data_shape": d.dims(n),
    }
    pitch, offset = d.one(0.5, 1.0, 2.3), d.one(0.0, 0.4)
    if n == 2 and d.chance():
        op = ts.ParallelBeam(angles, grid, *detector, pitch=pitch, offset=offset, **common)
    elif n == 2:
        op = ts.FanBeam(angles, grid, *detector, 30.0, 9.0, pitch=pitch, offset=offset, arc=d.chance(), **common)
    else:
        heights = d.one(None, d.rng.uniform(-1, 1, angles.size))
        common |= {"pitch": (d.one(0.7, 1.8), pitch), "offset": (0.3, offset), "heights": heights}
        op = ts.ConeBeam(angles, grid, detector, 30.0, 9.0, arc=d.chance(), **common)
    return op, lead + grid


# --- moving data


def padding(d):
    n = d.size(1, 3)
    batch, lead = d.batch()
    small = d.sizes(n, 1, 4)
    return tuple(s + d.size(0, 3) for s in small), small, d.dims(n), d.dims(n), batch, lead


@draws
def Pad(d):
    large, small, inputs, outputs, batch, lead = padding(d)
    return ts.Pad(large, small, inputs, outputs if d.chance() else None, batch), lead + small


@draws
def Crop(d):
    large, small, inputs, outputs, batch, lead = padding(d)
    return ts.Crop(small, large, inputs, outputs if d.chance() else None, batch), lead + large


def cut_to(d, op, longer):
    n = d.size(1, 3)
    names, sizes = d.dims(n), list(d.sizes(n))
    at = d.size(0, n - 1)
    here, there = sizes[at], sizes[at] + d.size(0, 3)
    sizes[at] = here if longer else there
    dim = names[at] if d.chance() else at
    return op(dim, *((here, there) if longer else (there, here)), names), tuple(sizes)


@draws
def Truncate(d):
    return cut_to(d, ts.Truncate, False)


@draws
def PadDim(d):
    return cut_to(d, ts.PadDim, True)


@draws
def ShapeSpec(d):
    n = d.size(1, 3)
    return ts.ShapeSpec(d.dims(n), d.dims(n)), d.sizes(n)


@draws
def Permute(d):
    names = d.dims(d.size(1, 4))
    return ts.Permute(names, d.order(names)), d.sizes(len(names))


@draws
def Flip(d):
    names = d.dims(d.size(1, 3))
    return ts.Flip(d.some(names) or names[:1], names), d.sizes(len(names))


@draws
def Roll(d):
    names = d.dims(d.size(1, 3))
    return ts.Roll({n: d.size(-3, 3) for n in d.some(names) or names[:1]}, names), d.sizes(len(names))


@draws_and_refuses(
    lambda: ts.Hadamard("", "N"),
    lambda: ts.Hadamard("Q", "N"),
    lambda: ts.Hadamard("NN", "N"),
    lambda: ts.Hadamard(3, "N"),
    lambda: ts.Hadamard("N", "N")([1.0, 2, 3]),
)
def Hadamard(d):
    names = d.dims(d.size(1, 3))
    over = d.some(names) or names[:1]
    return ts.Hadamard(over, names), tuple(d.one(1, 2, 4, 8) if n in over else d.size() for n in names)


@draws
def Rearrange(d):
    a, b, c = d.sizes(3, 1, 4)
    pattern = d.one(
        ("(a b) c", "b a c", 2, 3),
        ("(a b) c", "c (a b)", 2, 2),
        ("a b c", "c (a b)", 3, 2),
        ("a b c", "b a c", 3, 3),
        ("a (b c)", "(a c) b", 2, 2),
    )
    size = {"a": a, "b": b, "c": c}
    items = pattern[0].replace("(a b)", "ab").replace("(b c)", "bc").split()
    shape = tuple(int(np.prod([size[w] for w in item])) for item in items)
    op = ts.Rearrange(pattern[0], pattern[1], d.dims(pattern[2]), d.dims(pattern[3]), size)
    return op, shape


@draws
def SumReduce(d):
    names = d.dims(d.size(1, 4))
    sizes = d.sizes(len(names))
    kept = d.some(names[1:])
    known = {n: s for n, s in zip(names, sizes, strict=True) if n not in kept or d.chance(0.3)}
    return ts.SumReduce(names, d.order(kept), known), sizes


@draws
def Repeat(d):
    names = d.dims(d.size(0, 2))
    born = {n: d.size(1, 4) for n in d.dims(d.size(1, 2))}
    sizes = d.sizes(len(names))
    inner = tuple(n for n in d.order(names + tuple(born)))
    ordered = tuple(n for n in inner if n in names)
    return ts.Repeat(born, ordered, inner), sizes


def differences(d):
    names = d.dims(d.size(1, 3))
    return names, d.sizes(len(names)), d.one("forward", "backward", "central"), d.one("zero", "circular", "replicate")


@draws
def FiniteDifference(d):
    names, sizes, mode, edge = differences(d)
    return ts.FiniteDifference(d.one(*names), names, mode=mode, edge=edge), sizes


@draws
def Gradient(d):
    names, sizes, mode, edge = differences(d)
    return ts.Gradient(d.some(names) or names[:1], names, mode=mode, edge=edge), sizes


@draws
def Sleep(d):
    return ts.Sleep(0.0, d.dims(2)), d.sizes(2)


def scaling(w, dims, normal):
    """Functions that can be cut: each part is made as the whole."""
    return ts.SimpleLinop(
        lambda x: ts.asarray(w).to(x.device) * x,
        lambda y: ts.asarray(w).conj().to(y.device) * y,
        (lambda x: ts.asarray(abs(w) ** 2).to(x.device) * x) if normal else None,
        ishape=dims,
        dtype=w.dtype,
        split=lambda tile: scaling(w[tuple(tile.get(n, slice(None)) for n in dims)], dims, normal),
        size=lambda dim: w.shape[dims.index(dim)],
    )


@draws
def SimpleLinop(d):
    n, sizes = d.dims(2), d.sizes(2)
    if d.chance(0.6):
        return scaling(d.array(sizes), n, d.chance()), sizes
    return ts.SimpleLinop(lambda x: 2 * x, lambda y: 2 * y, ishape=n, oshape=n), sizes


@draws
def Written(d):
    """A class of its own; not one of the library."""
    kind = d.one(*CLASSES)
    if issubclass(kind, Mixing):
        rows, columns = d.sizes(2)
        batch, sides = d.dims(1), d.dims(2)
        A = kind(ts.asarray(d.array((rows, columns))), (*batch, sides[0]), (*batch, sides[1]))
        return A, (d.size(), columns)
    n = d.size(1, 3)
    sizes = d.sizes(n)
    return kind(ts.array(d.array(sizes)), d.dims(n)), sizes


# --- blocks and convolutions


def blocks(d):
    n = d.size(1, 2)
    batch, lead = d.batch()
    grid = d.sizes(n, 3, 7)
    block = tuple(d.size(1, min(3, g)) for g in grid)
    options = {"stride": d.sizes(n, 1, 2), "batch_shape": batch}
    if d.chance(0.3):
        mask = d.rng.random(block) < 0.6
        mask.flat[0] = True
        options["mask"] = mask
    return grid, block, options, lead


@draws
def ArrayToBlocks(d):
    grid, block, options, lead = blocks(d)
    return ts.ArrayToBlocks(grid, block, **options), lead + grid


@draws
def BlocksToArray(d):
    grid, block, options, lead = blocks(d)
    op = ts.BlocksToArray(grid, block, **options)
    return op, tuple(ts.ArrayToBlocks(grid, block, **options).output_shape(lead + grid))


def kernels(d):
    n = d.size(1, 2)
    batch, lead = d.batch()
    return d.array(d.sizes(n, 1, 3)), batch, (d.dims(n), d.dims(n)), lead + d.sizes(n, 3, 7)


@draws
def Convolution(d):
    kernel, batch, grids, shape = kernels(d)
    mode = d.one("zeros", "circular")
    normal = d.one(None, "conv", "fft") if mode == "circular" else None
    return ts.Convolution(kernel, batch, *grids, mode, normal), shape


@draws
def FFTConvolution(d):
    kernel, batch, grids, shape = kernels(d)
    return ts.FFTConvolution(kernel, batch, *grids), shape
