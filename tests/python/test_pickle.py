# SPDX-License-Identifier: Apache-2.0
"""Pickles, copies and .tessera files of operators, names, shapes, specs and results. That every operator of the library
survives its description is a law (tests/laws); here it is the Python side, processes, files, and files that lie."""

import copy
import io
import json
import multiprocessing
import pickle
import random

import numpy as np
import pytest

import tessera as ts

rng = np.random.default_rng(7)


def close(a, b):
    return np.allclose(np.asarray(a), b, rtol=1e-12, atol=1e-12)


def complex_array(*shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def twice(x):
    return 2 * x


def operators():
    """(operator, shape of an input): every way in which Python makes one."""
    w = complex_array(5, 3)
    fft = ts.FFT(1, ("B",), (("X",), ("K",)), "forward", True)
    yield ts.Diagonal(w, ("B", "X")), (5, 3)
    yield ts.Dense(w, "MN", "N", "M"), (3,)
    yield fft @ ts.Diagonal(w, ("B", "X")), (5, 3)
    yield (fft @ ts.Diagonal(w, ("B", "X"))).H, (5, 3)
    yield (fft @ ts.Diagonal(w, ("B", "X"))).N, (5, 3)
    yield 2j * fft - fft, (5, 3)
    yield ts.NUFFT(rng.uniform(-3, 3, (7, 2)), (6, 8), toeplitz=True).N, (6, 8)
    yield ts.Sampling.from_mask(rng.random((4, 5)) < 0.5), (4, 5)
    yield ts.Concat(ts.Dense(w, "MN", "N", "M"), ts.Dense(w, "MN", "N", "M"), odim="M"), (3,)
    yield ts.Stack(ts.Diagonal(w, ("B", "X")), ts.Scalar(3.0, ("B", "X")), odim_and_idx=("C", 0)), (5, 3)
    yield ts.Diagonal(w, ("B", "X")).split({"X": slice(1, 3)}), (5, 2)
    yield ts.create_batched_linop(ts.Dense(w, "MN", "N", "M"), ts.BatchSpec({"M": 2}, ["sim:0", "sim:1"])), (3,)
    yield ts.AsyncStreamer(ts.Dense(w, "MN", "N", "M"), {"M": 2}, "sim:0", resident=False), (3,)
    yield ts.fit(ts.Dense(w, "MN", "N", "M"), shape=(3,), dtype="complex128", budget={"sim:0": "8kB"}), (3,)
    yield ts.Matrix(ts.matrix.Symmetric(np.eye(4) + 1)), (4,)
    yield ts.Matrix(ts.matrix.TriangularBit(70)), (70,)
    yield ts.Sparse(np.array([[0, 1.0], [2, 0]])), (2,)
    yield ts.solve.polynomial_preconditioner(ts.Diagonal(np.array([0.5, 1.0]), ("X",)), 3), (2,)


CASES = list(operators())


@pytest.mark.parametrize("number", range(len(CASES)))
def test_operators_survive_pickles_and_files(number, tmp_path):
    A, shape = CASES[number]
    x = complex_array(*shape)
    path = tmp_path / "A.tessera"
    ts.save(path, A)
    for B in (pickle.loads(pickle.dumps(A)), ts.load(path), pickle.loads(pickle.dumps(A, protocol=5))):
        assert type(B) is type(A) and B.name == A.name and B.shape == A.shape and B.kind == A.kind
        assert close(B(x), A(x).numpy()) and close(B.H(B(x)), A.H(A(x)).numpy())
        assert (B.device is None) == (A.device is None) and B.device == A.device
        if A.kind == "Fitted":
            assert B.explain() == A.explain() and B.forecast == A.forecast


def test_a_part_takes_its_part_along():
    whole = ts.Dense(np.ones((1000, 100)), "MN", "N", "M")
    part = whole.split({"M": slice(0, 10)})
    assert len(pickle.dumps(part)) < 20 * 100 * 8 < len(pickle.dumps(whole))


def test_shared_arrays_travel_once():
    D = ts.Diagonal(np.ones(10_000), ("X",))
    both = ts.Stack(D, D, odim_and_idx=("C", 0))
    assert len(pickle.dumps(both)) < 1.1 * len(pickle.dumps(D))


def test_functions_are_pickled_where_python_can():
    A = ts.SimpleLinop(twice, twice, None, ("X",), ("Y",), "twice")
    for made in (A, A.H, 3 * A, A.N, A.rename({"X": "Z"})):
        B = pickle.loads(pickle.dumps(made))
        assert B([1.0, 2.0]).tolist() == made([1.0, 2.0]).tolist() and B.shape == made.shape and B.name == made.name
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(ts.SimpleLinop(lambda x: x, lambda x: x))
    with pytest.raises(TypeError, match="Python functions"):
        ts.save("/nowhere/a.tessera", A)


def applied(job):
    A, x = job
    return A(x).numpy()


def test_operators_go_to_other_processes():
    A, x = CASES[2][0], complex_array(5, 3)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert close(pool.map(applied, [(A, x)])[0], A(x).numpy())


def test_torch_saves_operators():
    torch = pytest.importorskip("torch")
    file = io.BytesIO()
    torch.save({"A": CASES[0][0]}, file)
    file.seek(0)
    x = complex_array(5, 3)
    assert close(torch.load(file, weights_only=False)["A"](x), CASES[0][0](x).numpy())


OTHERS = [
    ts.ND("Nx", 3),
    ts.Dim("NxNy"),
    ts.NS(("A", "B"), ("C",), axes=("A",), count={"B": 2}),
    ts.NamedDimCollection(a=("A", "B"), b="A"),
    ts.BatchSpec({"X": 2, "Y": 3}, [["sim:0", "cpu"], ["sim:1", "rank1/cpu"]], "cpu", resident=False),
    ts.BatchSpec({"X": 2}),
    ts.DeviceSpec("sim:1"),
    ts.Device("sim:2"),
]


@pytest.mark.parametrize("value", OTHERS, ids=repr)
def test_names_shapes_and_specs(value, tmp_path):
    ts.save(tmp_path / "v.tessera", [value, {"k": value}])
    from_file = ts.load(tmp_path / "v.tessera")
    for again in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value), *from_file[:1]):
        assert type(again) is type(value) and repr(again) == repr(value)
    assert repr(from_file[1]["k"]) == repr(value)


def test_results(tmp_path):
    A = ts.Diagonal(np.array([1.0, 2.0, 5.0]), ("X",))
    for r in (ts.solve.cg(A, np.ones(3)), ts.solve.lanczos(A, k=1), ts.solve.svd(A, k=2)):
        ts.save(tmp_path / "r.tessera", r)
        for again in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r), ts.load(tmp_path / "r.tessera")):
            assert type(again) is type(r) and repr(again) == repr(r) and again.history == r.history
            for name in ("x", "eigenvalues", "eigenvectors", "U", "S", "Vh"):
                if hasattr(r, name):
                    assert np.array_equal(getattr(again, name).numpy(), getattr(r, name).numpy())


@pytest.mark.parametrize(
    "value",
    [
        ts.check_adjoint(ts.Diagonal([1.0, 2.0], ("X",))),
        ts.check_adjoint(ts.SimpleLinop(lambda x: 2 * x, lambda y: 3 * y)),
        ts.AcceleratorConfig(1, 2**40, 0, False, ts.PrecisionMode.FORCE_FLOAT64, 2**33),
        ts.AcceleratorConfig(),
    ],
    ids=repr,
)
def test_checks_and_configurations(value):
    for again in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):
        assert type(again) is type(value) and again is not value and repr(again) == repr(value)
        assert bool(again) == bool(value)


def test_damaged_checks_are_refused():
    kind = type(ts.check_adjoint(ts.Scalar(2.0)))
    for state in (("a", 1.0), (1.0,), (1.0, 2.0, 3.0)):
        with pytest.raises(TypeError, match="expected its error"):
            kind.__new__(kind).__setstate__(state)


def test_values_of_every_kind(tmp_path):
    value = {"a": [1, 2.5, float("inf"), 1 + 2j, None, True, "text"], 3: (ts.arange(3), float("nan"))}
    ts.save(tmp_path / "v.tessera", value)
    again = ts.load(tmp_path / "v.tessera")
    assert again["a"] == value["a"] and again[3][0].tolist() == [0, 1, 2] and np.isnan(again[3][1])
    with pytest.raises(TypeError, match="got set"):
        ts.save(tmp_path / "w.tessera", {1, 2})
    ts.save(tmp_path / "d.tessera", ts.Diagonal([1.0], ("X",)))
    assert ts.load(tmp_path / "d.tessera", device="sim:0").device == "sim:0"


def mutated(value, draw):
    """The same JSON with one thing changed."""
    if isinstance(value, dict) and value and draw.random() < 0.8:
        key = draw.choice(sorted(value))
        return {**value, key: mutated(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.8:
        at = draw.randrange(len(value))
        cut = draw.random()
        if cut < 0.1:
            return value[:at] + value[at + 1 :]
        if cut < 0.2:
            return [*value, value[at]]
        return [mutated(v, draw) if i == at else v for i, v in enumerate(value)]
    return draw.choice([0, -1, 1, 2, 7, 2**62, -(2**63), 2**64, 1.5, True, None, "", "X", "...", [], [0], {}, "Dense"])


def test_files_that_lie_are_refused(tmp_path):
    """Whatever the description says: an operator that works or refuses its input, or an error with a sentence."""
    draw = random.Random(3)
    refused = 0
    for number in range(600):
        A, shape = CASES[number % len(CASES)]
        text, arrays, _ = ts._tessera._linop_state(A)
        lie = json.dumps(mutated(json.loads(text), draw))
        try:
            B = ts._tessera._restore_linop(lie, arrays, [])
            B(np.ones(shape, complex))
            assert B.H is not None
        except ts.Error as error:
            refused += 1
            assert len(str(error)) > 10
        except MemoryError:
            refused += 1
    assert refused > 200
    path = tmp_path / "A.tessera"
    ts.save(path, CASES[2][0])
    file = ts._tessera._Snapshot(path)
    arrays = [(name, file.read(i, [])) for i, (name, _, _) in enumerate(file.entries)]
    for _ in range(200):
        lie = json.dumps(mutated(json.loads(file.description), draw))
        ts._tessera._save_snapshot(str(path), arrays, lie)
        try:
            ts.load(path)
        except ts.Error:
            pass
