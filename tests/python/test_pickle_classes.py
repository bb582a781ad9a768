# SPDX-License-Identifier: Apache-2.0
"""Every public class, found by walking the package: an object of it survives pickles and copies as something equal, or
is refused by a sentence that names the class. A class without an object here fails, and so does a refusal that is not
on the list. Public functions go into pickles as well: by their names."""

import copy
import functools
import importlib
import pickle
import types

import cut_operators
import numpy as np
import pytest

import tessera as ts

MODULES = ["", ".linalg", ".fft", ".matrix", ".solve", ".random", ".names", ".split", ".stored", ".compute", ".debug"]
MODULES += [".imaging", ".config", ".dist", ".dist.linalg", ".dist.fft", ".dist.random"]
SYMMETRIC = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 2.0]])


def public():
    """(module, name, value) of every public name."""
    for module in (importlib.import_module("tessera" + name) for name in MODULES):
        for name in getattr(module, "__all__", dir(module)):
            if not name.startswith("_") and name not in ("jax", "scipy", "torch"):
                yield module, name, getattr(module, name)


CLASSES = {v: f"{m.__name__}.{n}" for m, n, v in public() if isinstance(v, type) and v.__module__.startswith("tessera")}


def iteration():
    seen = []
    ts.solve.cg(ts.Diagonal([1.0, 2.0], ("X",)), [1.0, 1.0], callback=seen.append)
    return seen[0]


def snapshot():
    ts.save("objects.tessera", {"x": ts.arange(6).reshape(2, 3)})
    return ts.open_snapshot("objects.tessera")


def stored():
    return ts.stored.array(np.arange(12.0).reshape(4, 3))


def calibration():
    gathered = ts.imaging.Calibration((6, 8), width=4)
    gathered.add(np.arange(96.0).reshape(2, 6, 8))
    return gathered


def over_ranks():
    return ts.dist.array(SYMMETRIC, split=0)


def twice(x):
    return 2 * x


def after(generator, draws=3):
    """A generator in the middle of its numbers."""
    for _ in range(draws):
        generator.normal(2) if isinstance(
            generator, ts.random.Generator | ts.dist.random.Generator
        ) else generator.random(2)
    return generator


W = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, 3.0]])
DENSE = functools.partial(ts.Dense, W, ("M", "N"), ("N",), ("M",))
LINOPS = {
    ts.NamedLinop: lambda: DENSE() @ ts.Scalar(2.0) + DENSE(),
    ts.Add: lambda: DENSE() + 2 * DENSE(),
    ts.Chain: lambda: ts.FFT(1, (), (("M",), ("K",))) @ DENSE(),
    ts.Concat: lambda: ts.Concat(DENSE(), DENSE(), odim="M"),
    ts.Stack: lambda: ts.Stack(DENSE(), DENSE(), odim_and_idx=("C", 0)),
    ts.BlockDiag: lambda: ts.BlockDiag(DENSE(), DENSE(), idim="N", odim="M"),
    ts.ToDevice: lambda: ts.ToDevice("cpu", "sim:0"),
    ts.AsyncStreamer: lambda: ts.AsyncStreamer(DENSE(), {"M": 1}, "sim:0", resident=False),
    ts.Fitted: lambda: ts.fit(DENSE(), shape=(3,), dtype="float64", budget={"sim:0": "8kB"}),
    ts.SimpleLinop: lambda: ts.SimpleLinop(twice, twice, None, ("X",), ("Y",), "twice"),
    ts.NUFFT: lambda: ts.NUFFT(np.random.default_rng(3).uniform(-3, 3, (7, 2)), (6, 8)),
}
OBJECTS = {
    ts.AcceleratorConfig: lambda: ts.AcceleratorConfig(1, 2**33),
    ts.AdjointCheck: lambda: ts.check_adjoint(DENSE()),
    ts.Array: lambda: ts.asarray(np.arange(6.0).reshape(2, 3).T),
    ts.AutoSolver: ts.AutoSolver,
    ts.BatchSpec: lambda: ts.BatchSpec({"X": 2}, ["sim:0", "cpu"], resident=False),
    ts.Checkpoint: lambda: ts.Checkpoint("run.npz", every=3, seconds=7.5),
    ts.linalg.Cholesky: lambda: ts.linalg.cholesky_factor(SYMMETRIC),
    ts.linalg.Lu: lambda: ts.linalg.lu_factor(SYMMETRIC[::-1]),
    ts.ComputeContext: ts.context,
    ts.ComputeDevice: lambda: ts.ComputeDevice("cpu"),
    ts.CpuDevice: ts.CpuDevice,
    ts.CudaDevice: ts.CudaDevice,
    ts.DType: lambda: ts.float32,
    ts.Device: lambda: ts.Device("sim:1"),
    ts.DeviceSpec: lambda: ts.DeviceSpec("sim:1"),
    ts.EigenResult: lambda: ts.solve.lanczos(ts.Diagonal([1.0, 2.0, 5.0], ("X",)), k=1),
    ts.Event: lambda: ts.Stream("cpu").record(),
    ts.random.Generator: lambda: after(ts.random.Generator(3)),
    ts.IOAccelerator: lambda: ts.IOAccelerator(stored()),
    ts.Iteration: iteration,
    ts.MemoryTiers: ts.memory_tiers,
    ts.ModuleMemoryMap: ts.ModuleMemoryMap,
    ts.ND: lambda: ts.ND("Nx", 3),
    ts.NS: lambda: ts.NS(("A", "B"), ("C",), axes=("A",)),
    ts.names.NamedArray: lambda: ts.names.NamedArray(W, ("M", "N")),
    ts.NamedDimCollection: lambda: ts.NamedDimCollection(a=("A", "B"), b="A"),
    ts.Plan: lambda: ts.Scalar(2.0).plan((3,)),
    ts.PrecisionMode: lambda: ts.PrecisionMode.FORCE_FLOAT64,
    ts.solve.Prox: lambda: ts.solve.prox.l2_squared(0.1, [1.0, 2.0, 3.0]),
    ts.solve.prox: ts.solve.prox,
    ts.RepeatedEvent: ts.RepeatedEvent,
    ts.Snapshot: snapshot,
    ts.SnapshotArray: lambda: snapshot()["x"],
    ts.SolveResult: lambda: ts.solve.cg(ts.Diagonal([1.0, 2.0], ("X",)), [1.0, 1.0]),
    ts.StoredArray: stored,
    ts.Stream: lambda: ts.Stream("cpu"),
    ts.SvdResult: lambda: ts.solve.svd(ts.Diagonal([1.0, 2.0, 5.0], ("X",)), k=2),
    ts.compute.Choice: lambda: ts.context().choose("matmul", ts.ones((4, 4)), ts.ones((4, 4))),
    ts.compute.Resolved: lambda: ts.compute.resolve("matmul", "float32", "float64"),
    ts.dist.ApplyRoute: lambda: ts.dist.explain_apply(ts.Scalar(2.0), over_ranks()),
    ts.dist.Communicator: lambda: over_ranks().comm,
    ts.dist.DNDarray: over_ranks,
    ts.dist.EigenResult: lambda: ts.dist.lanczos(ts.Diagonal([1.0, 4.0], ("X",)), ts.dist.ones(2, split=0), 1),
    ts.dist.Explanation: lambda: over_ranks().explain(1),
    ts.dist.SolveResult: lambda: ts.dist.cg(ts.Diagonal([1.0, 4.0], ("X",)), ts.dist.ones(2, split=0)),
    ts.dist.SvdResult: lambda: ts.dist.svd(ts.Diagonal([1.0, 4.0], ("X",)), ts.dist.ones(2, split=0), 1),
    ts.dist.Traffic: lambda: ts.dist.world.traffic,
    ts.dist.linalg.EighResult: lambda: ts.dist.linalg.eigh(over_ranks()),
    ts.dist.linalg.LstsqResult: lambda: ts.dist.linalg.lstsq(over_ranks(), ts.dist.ones(3)),
    ts.dist.linalg.QRResult: lambda: ts.dist.linalg.qr(over_ranks()),
    ts.dist.linalg.SVDResult: lambda: ts.dist.linalg.svd(over_ranks()),
    ts.dist.linalg.SlogdetResult: lambda: ts.dist.linalg.slogdet(over_ranks()),
    ts.imaging.Calibration: calibration,
    ts.imaging.Coils: lambda: ts.imaging.Coils(4, 3),
    ts.imaging.Iterations: lambda: ts.imaging.Iterations([1.0, 0.5]),
    ts.imaging.Phantom: ts.imaging.shepp_logan,
    ts.imaging.Reconstruction: lambda: ts.imaging.sense(np.ones((2, 4, 6)), np.ones((2, 4, 6)), maxiter=2),
    ts.imaging.Scan: lambda: ts.imaging.Scan(np.ones((2, 4, 6)), ("coil", "ky", "kx"), "cartesian", (4, 6), (1.0, 1.0)),
    ts.linalg.EigResult: lambda: ts.linalg.eig(SYMMETRIC),
    ts.linalg.EighResult: lambda: ts.linalg.eigh(SYMMETRIC),
    ts.linalg.LDLResult: lambda: ts.linalg.ldl(SYMMETRIC),
    ts.linalg.LUResult: lambda: ts.linalg.lu(SYMMETRIC),
    ts.linalg.LstsqResult: lambda: ts.linalg.lstsq(SYMMETRIC, np.ones(3)),
    ts.linalg.QRResult: lambda: ts.linalg.qr(SYMMETRIC),
    ts.linalg.SVDResult: lambda: ts.linalg.svd(SYMMETRIC),
    ts.linalg.SchurResult: lambda: ts.linalg.schur(SYMMETRIC),
    ts.linalg.SlogdetResult: lambda: ts.linalg.slogdet(SYMMETRIC),
    ts.matrix.AnyMatrix: lambda: ts.matrix.Dense(W) @ ts.matrix.Dense(W.T),
    ts.matrix.Bit: lambda: ts.matrix.Bit(W > 0.7),
    ts.matrix.Properties: lambda: ts.matrix.Symmetric(SYMMETRIC).properties,
    ts.StoredMatrix: lambda: ts.stored.matrix(ts.matrix.Symmetric(SYMMETRIC)),
    ts.StoredPlan: lambda: ts.stored.plan(stored().sum),
    ts.solve.StoredSolveResult: lambda: ts.solve.cg(ts.Diagonal([1.0, 4.0], ("X",)), ts.stored.array([1.0, 2.0])),
    ts.solve.StoredEigenResult: lambda: ts.solve.power_method(ts.Diagonal([1.0, 4.0], ("X",)), ts.stored.ones(2)),
    ts.solve.StoredSvdResult: lambda: ts.solve.randomized_svd(ts.stored.array(np.diag([3.0, 1.0, 2.0])), k=2),
    ts.dist.random.Generator: lambda: after(ts.dist.random.Generator(3)),
    ts.random.Distributions: lambda: after(ts.random.default_rng(4)),
}


for form in (ts.matrix.Dense, ts.matrix.Symmetric, ts.matrix.AntiSymmetric, ts.matrix.Triangular):
    OBJECTS[form] = functools.partial(form, np.triu(SYMMETRIC, 1) - np.triu(SYMMETRIC, 1).T)
OBJECTS |= {
    ts.matrix.Symmetric: lambda: ts.matrix.Symmetric(SYMMETRIC),
    ts.matrix.Triangular: lambda: ts.matrix.Triangular(np.triu(SYMMETRIC)),
    ts.matrix.TriangularBit: lambda: ts.matrix.TriangularBit(5),
    ts.matrix.Diagonal: lambda: ts.matrix.Diagonal(np.arange(3.0)),
    ts.matrix.Identity: lambda: ts.matrix.Identity(3),
}
REFUSED = {  # these are of one process, or of one run of ranks
    *(ts.Event, ts.IOAccelerator, ts.ModuleMemoryMap, ts.RepeatedEvent, ts.StoredArray, ts.Stream),
    *(ts.dist.ApplyRoute, ts.dist.Communicator, ts.dist.EigenResult, ts.dist.Explanation, ts.dist.SolveResult),
    *(ts.dist.SvdResult, ts.dist.Traffic, ts.StoredMatrix, ts.StoredPlan),
    *(ts.solve.StoredSolveResult, ts.solve.StoredEigenResult, ts.solve.StoredSvdResult),
}
OF_ARRAYS_ON_DISK = (
    ts.solve.StoredSolveResult,
    ts.solve.StoredEigenResult,
    ts.solve.StoredSvdResult,
)  # plain objects of Python's
WAYS = {
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "protocol 2": lambda x: pickle.loads(pickle.dumps(x, protocol=2)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


def one_of(cls):
    """An object of a public class."""
    if cls in OBJECTS:
        return OBJECTS[cls]()
    if cls in LINOPS:
        return LINOPS[cls]()
    if issubclass(cls, BaseException):
        return cls("a sentence")
    return cut_operators.DRAWERS[cls.__name__](cut_operators.Draw(7))[0]


def facts(x):
    """What an object says of itself: its public attributes that are no methods."""
    return {
        name: value
        for name in dir(x)
        if not name.startswith("_")
        and not callable(value := getattr(x, name, None))
        and name not in ("T", "mT", "comm")
    }


def same_values(a, b):
    mine, others = (x if isinstance(x, np.ndarray) else x.numpy() for x in (a, b))
    return np.array_equal(mine, others, equal_nan=True)


def assert_same(a, b, depth=0):
    assert type(a) is type(b)
    if isinstance(a, ts.Array | np.ndarray | ts.dist.DNDarray | ts.matrix.AnyMatrix | ts.SnapshotArray):
        assert a.shape == b.shape and a.dtype == b.dtype and same_values(a, b)
        assert getattr(a, "device", None) == getattr(b, "device", None)
        assert getattr(a, "split", None) == getattr(b, "split", None)
    elif isinstance(a, ts.names.NamedArray):
        assert a.dims == b.dims
        assert_same(a.array, b.array)
    elif isinstance(a, ts.NamedLinop):
        mine, others = ts._tessera._linop_state(a), ts._tessera._linop_state(b)
        assert mine[0] == others[0] and a.shape == b.shape and a.name == b.name
        assert_same(mine[1], others[1])
    elif isinstance(a, ts.random.Generator | ts.dist.random.Generator):
        for _ in range(3):  # both go on, and alike
            assert_same(a.normal(4), b.normal(4))
            assert_same(a.permutation(4), b.permutation(4))
    elif isinstance(a, ts.random.Distributions):
        assert_same(a.random(3), b.random(3))
        assert_same(a.standard_gamma([0.5, 2.0]), b.standard_gamma([0.5, 2.0]))
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, dict) or hasattr(a, "keys"):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, BaseException):
        assert a.args == b.args and str(a) == str(b)
    elif isinstance(a, float) and a != a:
        assert b != b
    elif isinstance(a, ts.linalg.Lu | ts.linalg.Cholesky):
        for name, value in facts(a).items():
            assert_same(value, getattr(b, name))
        assert_same(a.solve([1.0, 2.0, 3.0]), b.solve([1.0, 2.0, 3.0]))
    elif isinstance(a, ts.Plan):
        assert repr(a) == repr(b) and a.explain() == b.explain() and a.workspace == b.workspace
    elif isinstance(a, ts.solve.Prox):
        assert repr(a) == repr(b)
        assert_same(a([-3.0, 0.25, 2.0], 0.5), b([-3.0, 0.25, 2.0], 0.5))
    elif type(a).__eq__ is not object.__eq__:
        assert a == b
    else:
        assert " at 0x" in repr(a) or repr(a) == repr(b)
        mine, others = facts(a), facts(b)
        assert mine.keys() == others.keys() and depth < 4
        for name in mine:
            assert_same(mine[name], others[name], depth + 1)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("cls", CLASSES, ids=CLASSES.values())
def test_every_class_survives_or_refuses(cls):
    x = one_of(cls)
    assert isinstance(x, cls) or cls is ts.BlockDiag and isinstance(x, ts.Concat)
    for way, again in WAYS.items():
        if way == "copy" and cls is ts.random.Distributions:
            continue  # draws of the same generator
        if cls in REFUSED:
            if way == "copy" and cls in OF_ARRAYS_ON_DISK:
                continue  # a second holder of the same arrays
            with pytest.raises(TypeError, match=r"tessera\.(\w+) cannot be pickled or copied: \w+") as refusal:
                again(x)
            assert cls in OF_ARRAYS_ON_DISK or f"tessera.{cls.__name__} " in str(refusal.value)
        else:
            assert_same(x, again(x))


@pytest.mark.parametrize("cls", [ts.random.Generator, ts.dist.random.Generator])
def test_draws_go_on_from_wherever_the_state_was_taken(cls):
    for draws in range(5):
        g = after(cls(17), draws)
        wanted = after(cls(17), draws).normal(6)
        for again in (*(way(g) for way in WAYS.values()), g):
            assert_same(again.normal(6), wanted)
    with pytest.raises(ValueError, match="seed"):
        cls.__new__(cls).__setstate__((1, -1))


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (5, 3), (3, 5), (4, 4), (2, 3, 4, 4)])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_factored_matrices_of_every_kind(shape, dtype, device, tmp_path):
    rng = np.random.default_rng(5)
    a = (5 * rng.standard_normal(shape)).astype(dtype) + (1j * rng.standard_normal(shape)).astype("complex64") * (
        np.dtype(dtype).kind == "c"
    )
    a = ts.asarray(a.astype(dtype), device=device)
    factors = [ts.linalg.lu_factor(a)]
    if shape[-1] == shape[-2]:
        factors.append(ts.linalg.cholesky_factor(a @ a.mT.conj() + shape[-1] * ts.eye(shape[-1], device=device)))
    for f in factors:
        ts.save(tmp_path / "f.tessera", f)
        for again in (*(way(f) for way in WAYS.values()), ts.load(tmp_path / "f.tessera")):
            assert_same(facts(f), facts(again))
            if shape[-1] == shape[-2]:
                b = ts.ones(shape[-1], device=device)
                assert_same(f.solve(b), again.solve(b))


def test_singular_matrices_stay_singular():
    f = pickle.loads(pickle.dumps(ts.linalg.lu_factor([[1.0, 2.0], [2.0, 4.0]])))
    with pytest.raises(ts.LinAlgError, match="Singular"):
        f.solve([1.0, 1.0])


def test_damaged_factors_are_refused():
    """Rows are exchanged by number: one of another matrix would be memory of somebody else."""
    cls, (m, pivots, info) = ts.linalg.Lu, ts.linalg.lu_factor(SYMMETRIC).__getstate__()
    wrong = [(m, pivots), (m, pivots + 7, info), (m, pivots * 0, info), (m, pivots[:2], info), (m[0], pivots, info)]
    wrong += [(m, pivots.astype("int32"), info), (m, pivots, info + 9), (m, pivots, info - 1), (m > 0, pivots, info)]
    for state in wrong:
        with pytest.raises((ValueError, TypeError), match="Lu"):
            cls.__new__(cls).__setstate__(state)
    for state in ((), (ts.ones((2, 3)),), (ts.ones(3),), (ts.arange(4).reshape(2, 2),)):
        with pytest.raises((ValueError, TypeError), match="Cholesky"):
            ts.linalg.Cholesky.__new__(ts.linalg.Cholesky).__setstate__(state)


PROX = ts.solve.prox
MAPS = [PROX.none(), PROX.l1(0.1), PROX.l2(1 / 3), PROX.l2_squared(0.7), PROX.l2_squared(2.0, [[1.0], [2.0]])]
MAPS += [PROX.nonneg(), PROX.box(-0.5, 0.25), PROX.group(0.3, 1), PROX.group(0.3, (0, -1))]
MAPS += [PROX.simplex(), PROX.simplex(2.0, 0), PROX.blocks([(1, PROX.l1(0.1)), (1, PROX.l2_squared(1.0, [[3.0]]))])]
MAPS += [PROX.low_rank(0.1), PROX.low_rank(0.1, 1, 1, 7), PROX.wavelet(0.2), PROX.wavelet(0.2, "haar", (0,), 5)]


@pytest.mark.parametrize("p", MAPS, ids=repr)
def test_every_proximal_map(p, tmp_path):
    assert len({m.name.split("(")[0] for m in MAPS}) == sum(not n.startswith("_") for n in vars(PROX))
    v = ts.asarray(np.random.default_rng(1).standard_normal((2, 1)))
    ts.save(tmp_path / "p.tessera", {"p": p})
    for again in (*(way(p) for way in WAYS.values()), ts.load(tmp_path / "p.tessera")["p"]):
        assert repr(again) == repr(p)
        assert_same(again(v, 0.7), p(v, 0.7))


def steps_of(plan):
    return [line for line in plan.explain().splitlines() if not line.strip().startswith("note:")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("device", ["cpu", "sim:0"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_plans_are_planned_again(dtype, device, way):
    maps = np.random.default_rng(2).standard_normal((3, 4, 5)).astype(dtype)
    A = (ts.FFT(2, ("C",), (("X", "Y"), ("K", "L"))) @ ts.Diagonal(maps, ("C", "X", "Y"))).to(device)
    x = ts.asarray(maps, device=device)
    for p in (A.plan(x), A.N.plan(shape=maps.shape, dtype=dtype)):
        again = WAYS[way](p)
        assert repr(again) == repr(p) and same_values(again(x), p(x))
        # The operator travels as it was simplified; why it was is told where that was done.
        assert steps_of(again) == steps_of(p)


def test_plans_of_operators_that_cannot_be_pickled():
    p = ts.SimpleLinop(lambda x: 2 * x, lambda y: 2 * y, ishape=("X",), oshape=("X",)).plan(ts.ones(3))
    with pytest.raises((AttributeError, pickle.PicklingError, TypeError)):
        pickle.dumps(p)


def test_generators_in_files(tmp_path):
    ts.save(tmp_path / "g.tessera", after(ts.random.Generator(9), 4))
    assert_same(ts.load(tmp_path / "g.tessera"), after(ts.random.Generator(9), 4))


FUNCTIONS = {f"{m.__name__}.{n}": v for m, n, v in public() if callable(v) and not isinstance(v, type)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_pickled_by_its_name(name):
    f = FUNCTIONS[name]
    if isinstance(f, types.ModuleType):
        return
    for again in WAYS.values():
        g = again(f)
        assert g is f or g == f or g.__func__ is f.__func__ and type(g.__self__) is type(f.__self__)


def test_functions_and_methods_work_where_they_arrive():
    x = ts.asarray([3.0, 1.0, 2.0])
    calls = [(f, x) for f in (ts.sort, ts.sum, ts.nanmax, ts.linalg.norm, ts.fft.fft, ts.Array.max)]
    for f, *arguments in (*calls, (x.sum,), (x.reshape, (3, 1))):
        assert_same(pickle.loads(pickle.dumps(f))(*arguments), f(*arguments))
    ts.random.seed(3)
    drawn = [pickle.loads(pickle.dumps(ts.random.exponential))(size=2), ts.random.exponential(size=2)]
    ts.random.seed(3)  # one generator of the process, not a copy of it
    assert_same(drawn, [ts.random.exponential(size=2), ts.random.exponential(size=2)])
