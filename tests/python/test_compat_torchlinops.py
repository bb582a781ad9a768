# SPDX-License-Identifier: Apache-2.0
"""tessera.compat.torchlinops: beside torch-named-linops where it is installed, and what it does on its own."""

import copy
import doctest
import importlib
import pickle
import warnings

import numpy as np
import pytest

import tessera as ts

torch = pytest.importorskip("torch")
import tessera.compat.torchlinops as tl  # noqa: E402

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torchlinops as peer
except ImportError:
    peer = None
beside = pytest.mark.skipif(peer is None, reason="torch-named-linops is not installed")
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]


def draw(shape, dtype, seed=0):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def locations(points, size, seed=0):
    spread = torch.rand((*points, len(size)), generator=torch.Generator().manual_seed(seed)) - 0.5
    return spread * torch.tensor(size)


# name: (how it is made by either package, from a module and a dtype, and the shape of its input)
CASES = {
    "identity": (lambda m, t: m.Identity(("X", "Y")), (2, 3)),
    "shape_spec": (lambda m, t: m.ShapeSpec(("X", "Y"), ("A", "B")), (2, 3)),
    "zero": (lambda m, t: m.Zero(("X",)), (3,)),
    "diagonal": (lambda m, t: m.Diagonal(draw((3, 5), t), ("X", "Y")), (3, 5)),
    "diagonal_last": (lambda m, t: m.Diagonal(draw((5,), t), ("X", "Y")), (3, 5)),
    "diagonal_ones": (lambda m, t: m.Diagonal(draw((3, 1), t), ("X", "Y")), (3, 5)),
    "diagonal_broadcast": (lambda m, t: m.Diagonal(draw((5,), t), ("B", "Y"), broadcast_dims=["B"]), (3, 5)),
    "diagonal_power": (lambda m, t: m.Diagonal(draw((5,), t), ("Y",)) ** 2, (5,)),
    "diagonal_from": (
        lambda m, t: m.Diagonal.from_weight(draw((3, 4), t), ("C", "X"), ("C", "X", "Y"), {"Y": 5}),
        (3, 4, 5),
    ),
    "scalar": (lambda m, t: m.Scalar(2.5), (3, 4)),
    "scalar_complex": (lambda m, t: m.Scalar(2 - 1j, ("X",)), (3,)),
    "dense": (lambda m, t: m.Dense(draw((4, 3), t), ("M", "N"), ("N",), ("M",)), (3,)),
    "dense_nameless": (lambda m, t: m.Dense(draw((4, 3), t)), (3,)),
    "dense_nameless_batch": (lambda m, t: m.Dense(draw((2, 4, 3), t)), (2, 3)),
    "dense_sense": (lambda m, t: m.Dense(draw((3, 4, 5), t), ("C", "X", "Y"), ("X", "Y"), ("C", "X", "Y")), (4, 5)),
    "dense_batch": (
        lambda m, t: m.Dense(draw((2, 3, 4), t), ("B", "N", "M"), ("B", "N", "Y"), ("B", "M", "Y")),
        (2, 3, 5),
    ),
    "dense_einstr": (lambda m, t: m.Dense.from_einstr(draw((4, 3), t), "MN,NX->MX"), (3, 2)),
    "fft": (lambda m, t: m.FFT(1), (2, 7)),
    "fft_2d": (lambda m, t: m.FFT(2, batch_shape=("C",)), (2, 4, 5)),
    "fft_centred": (lambda m, t: m.FFT(2, ("C",), (("A", "B"), ("D", "E")), centered=True), (2, 5, 6)),
    "fft_3d": (lambda m, t: m.FFT(3, centered=True), (3, 4, 5)),
    "repeat": (lambda m, t: m.Repeat({"A": 3}, ("X",), ("A", "X"), broadcast_dims=[]), (4,)),
    "sum_reduce": (lambda m, t: m.SumReduce(("A", "X", "B"), ("X",)), (2, 4, 3)),
    "rearrange": (lambda m, t: m.Rearrange("(a b) c", "c a b", ("X", "C"), ("C", "A", "B"), {"a": 2}), (6, 5)),
    "pad": (lambda m, t: m.Pad((7, 8), (4, 5), ("X", "Y"), ("U", "V"), ("C",)), (2, 4, 5)),
    "pad_default": (lambda m, t: m.PadLast((6,), (3,)), (2, 3)),
    "crop": (lambda m, t: m.Crop((3,), (6,), ("X",), ("Y",), ("C",)), (2, 6)),
    "truncate": (lambda m, t: m.Truncate(1, 5, 3, ("X", "Y"), ("X", "Z")), (2, 5)),
    "pad_dim": (lambda m, t: m.PadDim(0, 2, 5, ("X", "Y"), ("Z", "Y")), (2, 3)),
    "blocks": (lambda m, t: m.ArrayToBlocks((6, 5), (3, 2), (1, 2)), (2, 6, 5)),
    "blocks_mask": (
        lambda m, t: m.ArrayToBlocks((6, 5), (2, 2), (2, 1), torch.tensor([[True, False], [True, True]])),
        (6, 5),
    ),
    "array": (lambda m, t: m.BlocksToArray((6, 5), (3, 2), (1, 2)), (4, 2, 3, 2)),
    "convolution": (lambda m, t: m.Convolution(draw((3,), t)), (2, 7)),
    "convolution_2d": (lambda m, t: m.Convolution(draw((3, 2), t), padding_mode="circular"), (2, 5, 6)),
    "sampling": (
        lambda m, t: m.Sampling((torch.tensor([0, 3, 3]), torch.tensor([1, 0, 0])), (4, 2), ("K",), ("X", "Y"), ("C",)),
        (2, 4, 2),
    ),
    "sampling_mask": (lambda m, t: m.Sampling.from_mask(torch.tensor([1, 0, 1]), (3,), ("K",), ("X",), ()), (3,)),
    "sampling_stacked": (
        lambda m, t: m.Sampling.from_stacked_idx(torch.tensor([[[0], [2]]]), (3,), ("P", "K"), ("X",)),
        (2, 3),
    ),
    "simple": (lambda m, t: m.SimpleLinop(lambda x: 3 * x, lambda x: 3 * x), (3,)),
    "simple_normal": (lambda m, t: m.SimpleLinop(torch.neg, torch.neg, lambda x: x, ("X",)), (3,)),
    "sleep": (lambda m, t: m.Sleep(0.0, ("X",)), (3,)),
    "to_device": (lambda m, t: m.ToDevice(torch.device("cpu"), torch.device("cpu"), ("X",)), (3,)),
    "chain": (
        lambda m, t: m.FFT(1, ("C",)) @ m.Dense(draw((3, 5), t), ("C", "Nx"), ("Nx",), ("C", "Nx")),
        (5,),
    ),
    "chain_named": (
        lambda m, t: m.Chain(m.Diagonal(draw((3,), t), ("X",)), m.Diagonal(draw((3,), t, 1), ("X",)), name="AB"),
        (3,),
    ),
    "sum": (lambda m, t: m.Diagonal(draw((3,), t), ("X",)) + m.Diagonal(draw((3,), t, 1), ("X",)), (3,)),
    "difference": (lambda m, t: m.Diagonal(draw((3,), t), ("X",)) - m.Diagonal(draw((3,), t, 1), ("X",)), (3,)),
    "scaled": (lambda m, t: 2 * m.Dense(draw((4, 3), t), ("M", "N"), ("N",), ("M",)) * torch.tensor(0.5), (3,)),
    "negative": (lambda m, t: -m.FFT(1), (4,)),
    "concat_both": (
        lambda m, t: m.Concat(*(m.Diagonal(draw((n,), t, n), ("X",)) for n in (2, 3)), idim="X", odim="X"),
        (5,),
    ),
    "concat_out": (
        lambda m, t: m.Concat(*(m.Dense(draw((n, 4), t, n), ("M", "N"), ("N",), ("M",)) for n in (2, 3)), odim="M"),
        (4,),
    ),
    "concat_in": (
        lambda m, t: m.Concat(*(m.Dense(draw((4, n), t, n), ("M", "N"), ("N",), ("M",)) for n in (2, 3)), idim="N"),
        (5,),
    ),
    "stack_out": (
        lambda m, t: m.Stack(*(m.Diagonal(draw((3,), t, n), ("X",)) for n in (0, 1)), odim_and_idx=("S", 0)),
        (3,),
    ),
    "stack_in": (
        lambda m, t: m.Stack(*(m.Diagonal(draw((3,), t, n), ("X",)) for n in (0, 1)), idim_and_idx=("S", 1)),
        (3, 2),
    ),
    "stack_both": (
        lambda m, t: m.Stack(
            *(m.Diagonal(draw((3,), t, n), ("X",)) for n in (0, 1)), idim_and_idx=("S", 0), odim_and_idx=("T", 0)
        ),
        (2, 3),
    ),
    "batched": (
        lambda m, t: m.create_batched_linop(
            m.Dense(draw((5, 4), t), ("M", "N"), ("N",), ("M",)), m.BatchSpec({"N": 2, "M": 3})
        ),
        (4,),
    ),
}
INTERPOLATIONS = {
    "interpolate": lambda m: m.Interpolate(locations((5,), (6, 7)) + 3, (6, 7), ("C",), ("K",), ("X", "Y")),
    "interpolate_beta": lambda m: m.Interpolate(
        locations((5,), (6, 7)) + 3, (6, 7), width=4.0, kernel_params={"beta": 5.0}
    ),
    "interpolate_spline": lambda m: m.Interpolate(locations((2, 5), (6, 7)) + 3, (6, 7), width=3.0, kernel="spline"),
    "interpolate_zero": lambda m: m.Interpolate(locations((5,), (6, 7)) + 3, (6, 7), width=2.0, pad_mode="zero"),
    "nufft": lambda m: m.NUFFT(locations((9,), (8, 12)), (8, 12), ("K",)),
    "nufft_accurate": lambda m: m.NUFFT(
        locations((3, 3), (8, 12)), (8, 12), ("R", "K"), ("X", "Y"), None, ("C",), oversamp=2.0, width=6.0
    ),
    "nufft_sampling": lambda m: m.SamplingNUFFT(locations((9,), (8, 12)), (8, 12), ("K",), oversamp=2.0),
    "nufft_fast": lambda m: m.FastSamplingNUFFT(locations((9,), (8, 12)), (8, 12), ("K",), oversamp=2.0),
    "nufft_sense": lambda m: (
        m.NUFFT(locations((9,), (8, 12)), (8, 12), ("K",), batch_shape=("C",))
        @ m.Dense(draw((2, 8, 12), torch.complex64), ("C", "Nx", "Ny"), ("Nx", "Ny"), ("C", "Nx", "Ny"))
    ),
}


def same(ours, theirs, dtype, loose=1.0):
    assert isinstance(ours, torch.Tensor) and ours.shape == theirs.shape and ours.dtype == theirs.dtype
    single = dtype in (torch.float32, torch.complex64)
    scale = max(1.0, theirs.abs().max().item()) if theirs.numel() else 1.0
    assert (ours - theirs).abs().max().item() <= loose * (1e-5 if single else 1e-12) * scale


@beside
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_operators_beside_theirs(case, dtype):
    make, shape = CASES[case]
    A, B = make(tl, dtype), make(peer, dtype)
    x = draw(shape, dtype, 7)
    before = x.clone()
    y = B(x)
    same(A(x), y, dtype)
    same(A @ x, y, dtype)
    for ours, theirs in ((A.ishape, B.ishape), (A.oshape, B.oshape)):
        assert ours == tuple(str(d) for d in theirs) or tl.isequal(ours, [str(d) for d in theirs])[0]
    if case == "chain" and not dtype.is_complex:
        return  # theirs multiplies no spectrum by a real weight
    same(A.H(y), B.H(y), dtype, 10)
    # Of a sum theirs has length one where ours has the length of the input; -F.H F of reals is complex there.
    same(A.N(x).to(y.dtype), B.N(x).expand(x.shape).to(y.dtype), dtype, 100)
    assert A.H.H is A and A.N is A.N and torch.equal(x, before)
    same(A.fn(A, x), y, dtype)
    same(A.adj_fn(A, y), B.H(y), dtype, 10)
    same(A.normal_fn(A, x), A.N(x), dtype, 10)
    for dim in B.dims:
        if str(dim) != "..." and case != "repeat" and B.size(dim) not in (None, 1):
            assert A.size(str(dim)) == B.size(dim), dim
    g = [x.clone().requires_grad_() for _ in range(2)]
    for op, z in zip((A, B), g, strict=True):
        out = op(z)
        if out.requires_grad:
            (out.abs() ** 2).sum().backward()
    if g[1].grad is not None:
        same(g[0].grad, g[1].grad, dtype, 100)


@beside
@pytest.mark.parametrize("case", INTERPOLATIONS)
def test_interpolation_beside_theirs(case):
    make = INTERPOLATIONS[case]
    A, B = make(tl), make(peer)
    size = {"i": (2, 6, 7), "n": (2, 8, 12)}[case[0]][1 if case == "nufft_sense" else 0 :]
    x = draw(size, torch.complex64, 7)
    y = B(x)
    same(A(x), y, torch.complex64, 10)
    same(A.H(y), B.H(y), torch.complex64, 100)
    same(A.N(x), B.N(x), torch.complex64, 1000)


@beside
def test_functions_beside_theirs():
    F, G = tl.functional, peer.functional
    x, z = draw((2, 6, 8), torch.complex64), draw((2, 5), torch.complex64, 1)
    locs = locations((5,), (6, 8))
    their_utils = importlib.import_module("torchlinops.utils")  # as an attribute it is another module
    pairs = [
        (F.center_pad(x, (6, 8), (9, 9)), G.center_pad(x, (6, 8), (9, 9))),
        (F.center_crop(x, (6, 8), (3, 4)), G.center_crop(x, (6, 8), (3, 4))),
        (F.array_to_blocks(x, (2, 3), (2, 1)), G.array_to_blocks(x, (2, 3), (2, 1))),
        (F.unfold(x, (2, 2), (1, 1)), G.unfold(x, (2, 2), (1, 1))),
        (F.nufft(x, locs, 1.5, 4.0), G.nufft(x, locs, 1.5, 4.0)),
        (F.nufft_adjoint(z, locs, (6, 8), 1.5), G.nufft_adjoint(z, locs, (6, 8), 1.5)),
        (F.interpolate(x, locs + 3, 3.0, "spline"), G.interpolate(x, locs + 3, 3.0, "spline")),
        (F.grid(z, locs + 3, (6, 8), 3.0, "spline"), G.grid(z, locs + 3, (6, 8), 3.0, "spline")),
        (tl.utils.cfftn(x, (-2, -1)), their_utils.cfftn(x, (-2, -1))),
        (tl.utils.cifft2(x), their_utils.cifft2(x)),
        (tl.utils.inner(x, 2j * x), their_utils.inner(x, 2j * x)),
    ]
    idx = (torch.tensor([0, 5, 5]), torch.tensor([1, 0, 0]))
    pairs += [(F.index(x, idx), G.index(x, idx))]
    pairs += [(F.index_adjoint(z[:, :3], idx, (6, 8)), G.index_adjoint(z[:, :3], idx, (6, 8)))]
    blocks = draw((3, 6, 2, 3), torch.complex64)
    pairs += [(F.fold(blocks, (6, 8), (2, 3), (2, 1)), G.fold(blocks, (6, 8), (2, 3), (2, 1)))]
    for ours, theirs in pairs:
        same(ours, theirs, torch.complex64, 10)
    assert F.get_nblocks((5, 4), (2, 2), (1, 2)) == tuple(G.get_nblocks((5, 4), (2, 2), (1, 2)))
    assert list(tl.utils.batch_iterator(7, 3)) == list(their_utils.batch_iterator(7, 3))


@beside
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_algorithms_beside_theirs(dtype):
    quiet = {"disable": True}
    W, y = draw((9, 6), dtype), draw((6,), dtype, 1)
    made = [m.Dense(W, ("M", "N"), ("N",), ("M",)) for m in (tl, peer)]
    for options in (
        {},
        {"max_num_iters": 3},
        {"x0": y, "max_num_iters": 4},
        {"disable_tracking": True, "max_num_iters": 6},
    ):
        x = [m.conjugate_gradients(A.N, y, tqdm_kwargs=quiet, **options) for m, A in zip((tl, peer), made, strict=True)]
        same(*x, torch.float32, 10)
    v = [m.power_method(A.N, y, 400, tol=1e-12, tqdm_kwargs=quiet) for m, A in zip((tl, peer), made, strict=True)]
    same(v[0][1], v[1][1], dtype, 1e4)
    same(v[0][0], v[1][0], torch.float32)
    U, S, Vh = tl.singular_value_decomposition(made[0], y, 6, 2000, 1e-14)
    assert torch.allclose(S, torch.linalg.svdvals(W), rtol=1e-4)
    assert torch.allclose(U @ torch.diag(S).to(dtype) @ Vh, W, atol=1e-3)
    T = [m.Diagonal(torch.linspace(0.1, 1, 5, dtype=torch.float64), ("X",)) for m in (tl, peer)]
    for norm in ("l_2", "ifista"):
        P = [m.polynomial_preconditioner(t, 3, norm) for m, t in zip((tl, peer), T, strict=True)]
        same(P[0](torch.ones(5, dtype=torch.float64)), P[1](torch.ones(5, dtype=torch.float64)), torch.float32)


@beside
def test_every_name_of_theirs_is_here_or_a_sentence():
    import types

    utils = importlib.import_module("torchlinops.utils")
    ours_alone = {"nn", "copy", "logging", "logger", "Mapping", "torch", "Shape", "linops", "nameddim"}
    for module, theirs in ((tl, peer), (tl.alg, peer.alg), (tl.functional, peer.functional), (tl.utils, utils)):
        for name in dir(theirs):
            value = getattr(theirs, name)
            inner = isinstance(value, types.ModuleType) and name not in (
                "alg",
                "config",
                "functional",
                "utils",
                "testing",
            )
            if name.startswith("_") or name in ours_alone or inner:
                continue
            try:
                getattr(module, name)
            except NotImplementedError as why:
                assert "is not offered: " in str(why)


def module_names():
    modules = (tl, tl.alg, tl.functional, tl.utils, tl.config)
    return [(module, name) for module in modules for name in (None, *module.__all__)]


@pytest.mark.parametrize("module, name", module_names(), ids=lambda v: getattr(v, "__name__", v))
def test_examples_run(module, name):
    item = module if name is None else getattr(module, name)
    if isinstance(item, str):
        return
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert item.__doc__ and ">>>" in item.__doc__, f"{name} has no example"
    report = []
    for test in finder.find(item, globs={**vars(tl), "ts": ts, "np": np, **vars(module)}):
        runner.run(test, out=report.append)
    assert not report, "".join(report)


class Stretch(tl.NamedLinop):
    """An operator as users write them: a parameter, static functions, a size and tiles."""

    def __init__(self, weight, shape=("X",)):
        super().__init__(tl.NS(shape))
        self.weight = torch.nn.Parameter(weight)

    @staticmethod
    def fn(linop, x, /):
        return linop.weight * x

    @staticmethod
    def adj_fn(linop, y, /):
        return linop.weight.conj() * y

    @staticmethod
    def split(linop, tile):
        return Stretch(linop.weight.detach()[tile.get("X", slice(None))])

    def size(self, dim):
        return len(self.weight) if dim == "X" else None


def test_operators_of_users():
    w, x = draw((5,), torch.complex128), draw((5,), torch.complex128, 1)
    A = Stretch(w)
    assert torch.equal(A(x), w * x) and torch.equal(A.H(x), w.conj() * x)
    assert torch.allclose(A.N(x), w.abs() ** 2 * x) and torch.allclose(A.N.N(x), w.abs() ** 4 * x)
    assert torch.allclose(A.N.H(x), A.N(x)) and A.H.H is A and repr(A.H) == "Stretch.H((X,) -> (X,))"
    assert np.allclose(A.linop.H(x), A.H(x).detach())
    B = tl.FFT(1, (), (("X",), ("K",))) @ A
    assert torch.allclose(B(x), torch.fft.fft(w * x, norm="ortho"))
    assert torch.allclose(B.H(x), w.conj() * torch.fft.ifft(x, norm="ortho"))
    assert torch.allclose(B.N(x), w.abs() ** 2 * x)
    B(x).real.sum().backward()  # a weight of theirs is trained through a product
    assert A.weight.grad is not None and A.weight.grad.abs().max() > 0
    tiled = tl.create_batched_linop(Stretch(w), tl.BatchSpec({"X": 2}))
    assert torch.allclose(tiled(x), w * x) and torch.allclose(tiled.H(x), w.conj() * x)
    tiles, ins, outs = tl.split_linop(Stretch(w), {"X": 3})
    assert tiles.shape == (2,) and torch.allclose(tiles[1](x[3:]), (w * x)[3:])


@pytest.mark.parametrize("make", [tl.Diagonal, tl.Scalar, tl.Dense], ids=lambda m: m.__name__)
def test_weights_are_trained_where_somebody_asks(make):
    names = (("M", "N"), ("N",), ("M",)) if make is tl.Dense else (("N",),)
    weight = draw({tl.Dense: (4, 3), tl.Scalar: (), tl.Diagonal: (3,)}[make], torch.float64)
    x = draw((3,), torch.float64, 1)
    A = make(weight, *names)
    assert not A.weight.requires_grad
    A.weight.requires_grad_()
    (tl.Scalar(2.0, A.oshape) @ A)(x).sum().backward()
    wanted = weight.clone().requires_grad_()
    (2 * (torch.einsum("mn,n->m", wanted, x) if make is tl.Dense else wanted * x)).sum().backward()
    assert torch.allclose(A.weight.grad, wanted.grad)
    both = tl.Stack(A, A, odim_and_idx=("S", 0))
    with pytest.raises(NotImplementedError, match="requires a gradient"):
        both(x)
    with torch.no_grad():
        assert torch.equal(both(x)[1], A(x))


def test_modules_move_copy_and_pickle():
    A = tl.FFT(1, ("C",)) @ tl.Dense(draw((2, 5), torch.complex64), ("C", "Nx"), ("Nx",), ("C", "Nx"))
    x = draw((5,), torch.complex64, 1)
    y = A(x)
    for B in (
        copy.copy(A),
        copy.deepcopy(A),
        pickle.loads(pickle.dumps(A)),
        A.to("cpu"),
        A.to("cpu", memory_aware=True),
    ):
        assert torch.equal(B(x), y) and torch.equal(B.H(y), A.H(y)) and torch.allclose(B.N(x), A.N(x))
        assert torch.equal(pickle.loads(pickle.dumps(B.H))(y), A.H(y))
    double = copy.deepcopy(A).to(torch.complex128)
    assert double(x.to(torch.complex128)).dtype == torch.complex128 and A(x).dtype == torch.complex64
    D = tl.Diagonal(torch.ones(3), ("X",))
    assert list(D.state_dict()) == ["weight"]
    D.N  # noqa: B018  what is derived is made again after new weights came
    D.load_state_dict({"weight": torch.tensor([1.0, 2.0, 3.0])})
    assert D(torch.ones(3)).tolist() == [1, 2, 3] and D.N(torch.ones(3)).tolist() == [1, 4, 9]
    D.weight.data[0] = 5  # the memory of the weight is the operator's
    assert D(torch.ones(3)).tolist() == [5, 2, 3]


WEIGHED = {
    "scalar": lambda m, w: m.Scalar(w[0], ("X",)),
    "diagonal": lambda m, w: m.Diagonal(w[0].expand(3).clone(), ("X",)),
    "dense": lambda m, w: m.Dense(w[0] * torch.eye(3), ("X", "Y"), ("X",), ("Y",)),
    "convolution": lambda m, w: m.Convolution(w[0].expand(3).clone()),
    "product": lambda m, w: m.Diagonal(w[0].expand(3).clone(), ("X",)) @ m.Diagonal(w[1].expand(3).clone(), ("X",)),
    "scaled": lambda m, w: m.Scalar(w[0], ("X",)) @ m.Diagonal(w[1].expand(3).clone(), ("X",)) @ m.Scalar(w[2], ("X",)),
    "sum": lambda m, w: m.Scalar(w[0], ("X",)) + m.Diagonal(w[1].expand(3).clone(), ("X",)),
    "nested": lambda m, w: (m.Scalar(w[0], ("X",)) + m.Identity(("X",))) @ m.Diagonal(w[1].expand(3).clone(), ("X",)),
    "stack": lambda m, w: m.Stack(
        *(m.Diagonal(w[i].expand(3).clone(), ("X",)) @ m.Scalar(w[2], ("X",)) for i in (0, 1)), odim_and_idx=("S", 0)
    ),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", WEIGHED)
def test_weights_that_changed_are_the_ones_that_count(form, seed):
    """Used, then written into in several ways, then used again: the same as made anew of these weights."""
    g = torch.Generator().manual_seed(seed)
    w, x = torch.rand(3, generator=g) + 0.5, torch.rand(3, generator=g)
    A = WEIGHED[form](tl, w)
    for way in torch.randperm(4, generator=g).tolist():
        y = A(x)
        A.H(y)
        A.requires_grad_(False)
        weights = list(A.parameters())
        factor = float(torch.rand(1, generator=g)) + 0.5
        with torch.no_grad():
            for p in weights:
                if way == 0:
                    p.mul_(factor)
                elif way == 1:
                    p.copy_(p * factor)
                elif way == 2:
                    p.requires_grad_()
                    p.sub_(p * (1 - factor))
                else:
                    p[...] = p * factor
        A.requires_grad_(False)
        fresh = copy.deepcopy(A)
        fresh.reset_adjoint_and_normal()
        assert torch.allclose(A(x), fresh(x)) and not torch.allclose(A(x), y)
        assert torch.allclose(A.linop.H(y), fresh.linop.H(y))


def test_numbers_written_past_the_count_of_pytorch():
    A = tl.Scalar(2.0, ("X",))
    B = A @ tl.Diagonal(torch.ones(2), ("X",))
    assert A(torch.ones(2)).tolist() == B(torch.ones(2)).tolist() == [2, 2]
    A.weight.data.fill_(3)
    assert A(torch.ones(2)).tolist() == B(torch.ones(2)).tolist() == [3, 3]
    B[0].weight.data.fill_(2)
    B.reset_adjoint_and_normal()
    assert B(torch.ones(2)).tolist() == [6, 6]


@beside
@pytest.mark.parametrize("seed", range(30))
def test_sums_keep_the_order_of_their_names(seed):
    rng = np.random.default_rng(seed)
    names = list("ABCD"[: rng.integers(1, 5)])
    kept = [str(name) for name in rng.permutation(names)[: rng.integers(len(names))]]
    more = tuple(rng.integers(1, 4, rng.integers(3)))
    sides = [names, kept]
    if rng.integers(2) or more:
        sides = [[*side[:at], "...", *side[at:]] for side in sides for at in [rng.integers(len(side) + 1)]]
    at = sides[0].index("...") if "..." in sides[0] else 0
    lengths = [int(n) for n in rng.integers(1, 5, len(names))]
    x = torch.from_numpy(rng.standard_normal([*lengths[:at], *more, *lengths[at:]]))
    A, B = (m.SumReduce(*map(tuple, sides)) for m in (tl, peer))
    y = B(x)
    same(A(x), y, torch.float64)
    same(A.H(y), B.H(y), torch.float64)


def test_names_are_set_as_there():
    D = tl.Diagonal(torch.ones(3), ("X",))
    D.oshape = ("Y",)
    assert D.ishape == ("Y",) and D(torch.ones(3)).tolist() == [1, 1, 1] and D.H.ishape == ("Y",)
    A = tl.Dense(torch.ones(2, 3), ("M", "N"), ("N",), ("M",))
    A.oshape = ("K",)
    assert A.oshape == ("K",) and A.H.ishape == ("K",) and A.H(torch.ones(2)).tolist() == [2, 2, 2]
    with pytest.raises(ts.DimError, match="as many names"):
        A.ishape = ("A", "B")
    with pytest.raises(ValueError):
        tl.Chain(A, tl.Diagonal(torch.ones(3), ("Z",)))


def test_tiles_equal_the_whole():
    W = draw((6, 5), torch.complex128)
    A = tl.Dense(W, ("M", "N"), ("N",), ("M",))
    part = A.split(A, {"M": slice(1, 4), "N": slice(0, 2)})
    assert torch.allclose(part(W[0, :2]), W[1:4, :2] @ W[0, :2])
    assert torch.allclose(tl.Dense.adj_split(A, {"M": slice(1, 4)}).H(W[:3, 0]), W[1:4].mH @ W[:3, 0])
    spec = [tl.BatchSpec({"M": 4}, ["cpu"], torch.device("cpu")), tl.BatchSpec({"N": 2})]
    B = tl.create_batched_linop(A, spec)
    assert torch.allclose(B(W[0]), W @ W[0]) and torch.allclose(B.N(W[0]), W.mH @ W @ W[0])
    assert spec[0].resolve(A, "cpu").device_matrix.tolist() == [torch.device("cpu")] * 2


def test_sum_reduce_in_products_knows_its_lengths():
    A = tl.SumReduce(("C", "X"), ("X",)) @ tl.Diagonal(draw((3, 4), torch.float64), ("C", "X"))
    y = draw((4,), torch.float64, 1)
    assert torch.allclose(A.H(y), A[0].weight * y)
    x = draw((3, 4), torch.float64, 2).requires_grad_()
    A(x).sum().backward()
    assert torch.allclose(x.grad, A[0].weight)


def test_settings():
    A = tl.Diagonal(torch.ones(2), ("X",))
    with tl.config.using(cache_adjoint_normal=False):
        assert A.H is not A.H
    assert A.H is A.H
    with pytest.raises(ValueError, match="no setting 'nothing'"):
        tl.config.using(nothing=True)


def test_refusals_are_sentences():
    for name in ("Batch", "testing", "toeplitz_psf", "INDENT"):
        with pytest.raises(NotImplementedError, match=f"torchlinops.{name} is not offered: "):
            getattr(tl, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tl.nonsense  # noqa: B018
    with pytest.raises(ValueError, match="all of weightshape"):
        tl.Dense(torch.ones(2, 2), ("M", "N"))
    with pytest.raises(TypeError, match="expected operators"):
        tl.Chain(tl.Identity(), 3)
    with pytest.raises(ValueError, match="at least one"):
        tl.Add()
    for wrong in (lambda: tl.Identity() @ 3, lambda: tl.Identity() * "x", lambda: tl.Identity() + 1):
        with pytest.raises(TypeError):
            wrong()
