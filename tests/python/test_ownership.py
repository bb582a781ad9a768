# SPDX-License-Identifier: Apache-2.0
"""Who owns what operators hold: their arrays are theirs, and their functions are seen by the garbage collector."""

import functools
import gc
import weakref

import numpy as np
import pytest
import scipy.sparse
from support import optional

import tessera as ts

torch = optional("torch")


def weights(shape, dtype=np.float64):
    return np.random.default_rng(3).standard_normal(shape).astype(dtype) + 2


# --- arrays. Each entry: what the arrays are, and the operator made of them.

LOCS = np.random.default_rng(1).uniform(-2, 2, (7, 1))
SPARSE = scipy.sparse.random(5, 7, 0.5, "csr", random_state=2)
MAKERS = {
    "Diagonal": ((weights(5),), lambda w, **k: ts.Diagonal(w, ("X",), **k)),
    "Diagonal.from_weight": ((weights(5),), lambda w, **k: ts.Diagonal.from_weight(w, ("X",), ("X",), **k)),
    "Dense": ((weights((3, 5)),), lambda w, **k: ts.Dense(w, "MN", "N", "M", **k)),
    "Dense.from_einstr": ((weights((3, 5)),), lambda w, **k: ts.Dense.from_einstr(w, "MN,N->M", **k)),
    "Matrix": ((weights((3, 5)),), lambda w, **k: ts.Matrix(w, **k)),
    "Toeplitz": ((weights(5), weights(3)), lambda c, r, **k: ts.Toeplitz(c, r, ishape=("N",), oshape=("M",), **k)),
    "Convolution": ((weights(3),), lambda w, **k: ts.Convolution(w, (), "X", "Y", **k)),
    "FFTConvolution": ((weights(3),), lambda w, **k: ts.FFTConvolution(w, (), "X", "Y", **k)),
    "ArrayToBlocks": (
        (np.array([True, False, True]),),
        lambda m, **k: ts.ArrayToBlocks((7,), (3,), (2,), m, (), ("X",), ("B", "I"), **k),
    ),
    "BlocksToArray": (
        (np.array([True, False, True]),),
        lambda m, **k: ts.BlocksToArray((7,), (3,), (2,), m, (), ("B", "I"), ("X",), **k),
    ),
    "Interpolate": ((LOCS + 3,), lambda x, **k: ts.Interpolate(x, (8,), (), ("K",), ("X",), **k)),
    "NUFFT": ((LOCS,), lambda x, **k: ts.NUFFT(x, (6,), ("K",), ("X",), batch_shape=(), **k)),
    "RayTransform": (
        (np.array([[0.0, 1, 0, 0, 0, 0, 1, 0], [1.0, 0, 0, 0, 0, 0, 0, 1]]),),
        lambda v, **k: ts.RayTransform(v, (4, 3), 5, batch_shape=(), **k),
    ),
    "Sampling": ((np.array([0, 2, 3]),), lambda i: ts.Sampling((i,), (5,), ("K",), ("X",), ())),
    "Sampling.from_mask": (
        (np.array([True, False, True, True]),),
        lambda m: ts.Sampling.from_mask(m, None, ("K",), ("X",), ()),
    ),
    "Sampling.from_stacked_idx": (
        (np.array([[0], [2], [3]]),),
        lambda i: ts.Sampling.from_stacked_idx(i, (5,), ("K",), ("X",), ()),
    ),
    "Sparse": (
        (SPARSE.data.copy(), SPARSE.indices.copy(), SPARSE.indptr.copy()),
        lambda d, i, p, **k: ts.Sparse((d, i, p), ("N",), ("M",), batch_shape=(), shape=(5, 7), **k),
    ),
}
NO_CHOICE = {"Sampling", "Sampling.from_mask", "Sampling.from_stacked_idx"}  # always positions of its own


def test_every_operator_that_takes_arrays_is_listed():
    """A constructor that takes copy= has an entry above."""
    takes = set()
    for name in set(dir(ts)) - {"jax", "torch"}:  # modules, which import what may not be there
        c = getattr(ts, name)
        if isinstance(c, type) and issubclass(c, ts.NamedLinop):
            made = {name: c.__new__, **{f"{name}.{n}": getattr(c, n) for n in dir(c) if n.startswith("from_")}}
            takes |= {
                n for n, f in made.items() if "copy:" in (f.__doc__ or "") + str(getattr(f, "__nb_signature__", ""))
            }
    assert takes and takes == set(MAKERS) - NO_CHOICE


def given(kind, arrays):
    if kind == "numpy":
        return [a.copy() for a in arrays]
    if kind == "strided":
        return [np.repeat(a, 2, axis=0)[::2] for a in arrays]
    if kind == "torch":
        return [torch.tensor(a) for a in arrays]
    return [ts.array(a) for a in arrays]


def spoil(arrays):
    for a in arrays:
        a[...] = a[...] * 0


@pytest.mark.parametrize("kind", ["numpy", "strided", "torch", "tessera"])
@pytest.mark.parametrize("name", MAKERS)
def test_operators_own_their_arrays(name, kind):
    arrays, make = MAKERS[name]
    mine = given(kind, arrays)
    A = make(*mine)
    n = tuple(A.size(d) or 9 for d in A.ishape)
    x = np.random.default_rng(0).standard_normal(n)
    y, z = A(x).numpy().copy(), A.N(x).numpy().copy()
    before = A.rename({A.ishape[-1]: "Q"})  # nothing cached
    spoil(mine)
    for op in (A, before):
        assert np.array_equal(op(x).numpy(), y)
        assert np.allclose(op.N(x).numpy(), z, rtol=1e-12, atol=1e-12)
        assert np.allclose(op.H(op(x)).numpy(), z, rtol=1e-12, atol=1e-12)
    # A loop that refills one buffer makes different operators.
    refilled = given(kind, arrays)
    first = make(*refilled)
    for a, b in zip(refilled, mine, strict=True):
        a[...] = b[...]
    # Indices, masks and rays of zeros are no operator.
    if all(a.dtype.kind == "f" for a in arrays) and name != "RayTransform":
        assert not np.array_equal(make(*refilled)(x).numpy(), first(x).numpy())


@pytest.mark.parametrize("name", sorted(set(MAKERS) - NO_CHOICE))
def test_copy_false_shares(name):
    arrays, make = MAKERS[name]
    mine = given("tessera", arrays)
    before = ts.memory_stats("cpu")["in_use"]
    A = make(*mine, copy=False)
    n = tuple(A.size(d) or 9 for d in A.ishape)
    assert np.allclose(A(np.ones(n)).numpy(), make(*mine)(np.ones(n)).numpy())
    if name in ("Diagonal", "Dense", "Matrix"):
        assert ts.memory_stats("cpu")["in_use"] - before < 8 * arrays[0].size + 8 * sum(n) * 4
        spoil(mine)
        assert np.all(A(np.ones(n)).numpy() == 0)


def test_weights_that_repeat_are_copied_once():
    w = np.broadcast_to(weights((1, 64)), (4096, 64))
    ts.synchronize()
    before = ts.memory_stats("cpu")["in_use"]
    D = ts.Diagonal(w, ("X", "Y"))
    assert ts.memory_stats("cpu")["in_use"] - before < 4096 * 8 and D.nbytes == 64 * 8
    assert np.array_equal(D(np.ones((4096, 64))).numpy(), w)


def test_matrices_are_owned():
    m = ts.matrix.Symmetric(np.eye(3))
    A = ts.Matrix(m)
    m[0, 1] = 5.0
    assert A([1.0, 1.0, 1.0]).tolist() == [1, 1, 1]
    w = np.eye(3)
    A = ts.Matrix(ts.matrix.Dense(w, copy=False))
    w[:] = 0
    assert A([1.0, 1.0, 1.0]).tolist() == [1, 1, 1]
    s = scipy.sparse.eye(3, format="csr")
    A, B = ts.Matrix(s), ts.Sparse(s)
    s.data[:] = 0
    assert A([1.0, 1.0, 1.0]).tolist() == B([1.0, 1.0, 1.0]).tolist() == [1, 1, 1]


def test_locations_that_are_read_are_copies():
    for A in (ts.NUFFT(LOCS, (6,)), ts.Interpolate(LOCS + 3, (8,)), ts.Sampling(([0, 2],), (4,))):
        at = A.locs.numpy().copy()
        A.locs[...] = 0
        assert np.array_equal(A.locs.numpy(), at)


# --- functions


class Holder:
    """Has an operator of its own methods: a cycle through C++."""

    def fwd(self, x):
        return 2 * x

    def adj(self, y):
        return 2 * y


def simple(h, **options):
    return ts.SimpleLinop(h.fwd, h.adj, ishape=("X",), **options)


def held_by_a_closure(h):
    cell = []
    h.A = ts.SimpleLinop(lambda x: cell[0].fwd(x), functools.partial(Holder.adj, h), ishape=("X",))
    cell.append(h)


def with_normal(h):
    h.A = simple(h, normal=lambda x: h.adj(h.fwd(x)))
    h.N = h.A.N


def used(h):
    h.A = simple(h)
    assert h.A([1.0]).tolist() == [2] and h.A.H([1.0]).tolist() == [2] and h.A.N([1.0]).tolist() == [4]


def composed(h):
    A = simple(h)
    h.B = ts.Diagonal([1.0, 2.0], ("X",)) @ A + 3 * A
    h.B([1.0, 2.0])
    h.C = ts.Stack(A, A, odim_and_idx=("S", 0))
    h.D = ts.Kronecker(A, ts.Diagonal([1.0, 2.0], ("Y",)))
    h.E = h.B.rename({"X": "Q"}).named("E")
    h.F = h.B.N


def planned(h):
    h.plan = simple(h).plan(shape=(3,), dtype="float64")
    assert h.plan([1.0, 2.0, 3.0]).tolist() == [2, 4, 6]


def on_a_device(h):
    h.A = simple(h).to("sim:0")
    h.A(ts.ones(3, device="sim:0"))


def preconditioned(h):
    A = simple(h)
    h.P = ts.solve.polynomial_preconditioner(A, 2)


def batched(h):
    A = simple(h)
    h.B = ts.create_batched_linop(A @ ts.Scalar(1.0, ("X",)), ts.BatchSpec({}, ["sim:0"]), shape=(3,))
    h.B(np.ones(3))


def fitted(h):
    h.F = ts.fit(simple(h), ts.ones(3), budget={"sim:0": "1MiB"})


def of_a_subclass(h):
    class Mine(ts.SimpleLinop):
        pass

    h.A = Mine(h.fwd, h.adj, ishape=("X",))
    h.A([1.0])


class Mine(ts.NamedLinop):
    def __init__(self, h):
        super().__init__(("X",))
        self.h = h

    def fn(self, x):
        return self.h.fwd(x)

    def adj_fn(self, y):
        return self.h.adj(y)


def written(h):
    h.A = Mine(h)
    h.N, h.B = h.A.N, h.A.H @ h.A
    assert h.B([1.0]).tolist() == h.N([1.0]).tolist() == [4]


def written_on_a_device(h):
    h.B = Mine(h).to("sim:0")
    h.plan = Mine(h).plan(shape=(3,), dtype="float64")
    h.C = ts.create_batched_linop(Mine(h), ts.BatchSpec({}, ["sim:0"]), shape=(3,))
    assert h.C(np.ones(3)).tolist() == [2, 2, 2]


def with_split_and_size(h):
    h.A = simple(h, split=lambda tile: h.A, size=lambda dim: h and None)
    h.part = h.A.split({"X": slice(0, 1)})


def solver_callback(h):
    """The frame of a solver that failed is kept by what the callback raised."""

    def callback(i):
        raise KeyError(i.number)

    h.callback = callback
    try:
        ts.solve.cg(ts.Diagonal([1.0, 2.0], ("X",)), [1.0, 1.0], callback=callback)
    except KeyError as e:
        h.error = e


def proximal(h):
    h.prox = lambda v, t: h.fwd(v)
    ts.solve.fista(ts.Diagonal([1.0, 2.0], ("X",)), [1.0, 1.0], h.prox, maxiter=2)


@pytest.mark.parametrize(
    "hold",
    [
        held_by_a_closure,
        with_normal,
        used,
        composed,
        planned,
        on_a_device,
        preconditioned,
        batched,
        fitted,
        of_a_subclass,
        written,
        written_on_a_device,
        with_split_and_size,
        solver_callback,
        proximal,
    ],
)
def test_cycles_through_functions_are_collected(hold):
    gc.collect()
    h = Holder()
    hold(h)
    gone = weakref.ref(h)
    gc.collect()  # nothing that is in use goes
    assert all(v is not None for v in vars(h).values())
    if hasattr(h, "A"):
        at = h.A.device or "cpu"
        assert h.A(ts.ones(3, device=at)).to("cpu").tolist() == [2, 2, 2]
    del h
    gc.collect()
    ts.synchronize()
    gc.collect()
    assert gone() is None


def test_functions_live_as_long_as_anything_that_calls_them():
    h = Holder()
    A = simple(h)
    B, plan = 2 * A, A.plan(shape=(2,), dtype="float64")
    gone = weakref.ref(h)
    H = A.H
    del h, A
    gc.collect()
    assert B([1.0]).tolist() == [4] and plan([1.0, 1.0]).tolist() == [2, 2] and H([1.0]).tolist() == [2]
    del B, H
    gc.collect()
    assert gone() is not None and plan([1.0, 1.0]).tolist() == [2, 2]
    del plan
    gc.collect()
    assert gone() is None


def test_references_are_counted_once_each():
    import sys

    def f(x):
        return x

    gc.collect()
    before = sys.getrefcount(f)
    A = ts.SimpleLinop(f, f, ishape=("X",))
    B = A @ A
    C = [B.H, B.N, A.H, A.plan(shape=(2,))]
    for _ in range(3):
        gc.collect()
        assert A([1.0]).tolist() == [1.0]
    del A, B, C
    gc.collect()
    assert sys.getrefcount(f) == before


# --- tensors with lazy bits


LAZY = [
    lambda z: z.conj().imag,
    lambda z: z.conj(),
    lambda z: z.conj().real,
    lambda z: z.imag,
    lambda z: torch._neg_view(z),
    lambda z: torch._neg_view(z.conj()),
    lambda z: z.conj().imag[::2],
    lambda z: torch._neg_view(z.real)[1:],
    lambda z: z.mH.conj() if z.ndim > 1 else z.conj().conj(),
]


@pytest.mark.parametrize("i", range(len(LAZY)))
@pytest.mark.parametrize("shape", [(5,), (3, 4)])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_lazy_bits_are_resolved(i, shape, dtype):
    z = torch.complex(torch.arange(1.0, 1 + np.prod(shape)), -torch.arange(2.0, 2 + np.prod(shape))).reshape(shape)
    v = LAZY[i](z.to(getattr(torch, dtype)))
    expected = v.resolve_conj().resolve_neg().numpy()
    names = ("A", "B")[: v.ndim]
    for got in (
        ts.asarray(v),
        ts.array(v),
        ts.from_dlpack(v),
        ts.Identity(names)(v),
        ts.Diagonal(v, names)(np.ones(v.shape)),
        ts.Diagonal(v, names, copy=False)(np.ones(v.shape)),
        ts.add(v, 0),
        ts.ones(v.shape, str(expected.dtype)) * v,
        ts.dist.array(v),
        ts.stack([ts.asarray(v)])[0],
    ):
        assert np.array_equal(got.numpy(), expected)
    if v.ndim == 1:
        assert np.array_equal(ts.zeros(3 * v.shape[0])[ts.arange(0)].numpy(), np.zeros(0))
        x = ts.zeros(v.shape, str(expected.dtype))
        x[...] = v
        assert np.array_equal(x.numpy(), expected)


def test_plain_tensors_are_still_shared():
    t = torch.zeros(3)
    ts.asarray(t)[1] = 7
    assert t.tolist() == [0, 7, 0]
