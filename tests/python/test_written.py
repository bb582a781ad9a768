# SPDX-License-Identifier: Apache-2.0
"""Operators written in Python, and SimpleLinop with split and size: what they have in common with those of the library.
That a cut one is the whole is a law (test_cut_whole.py draws them); that they are collected is in test_ownership.py."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
from written_operators import Mixing, MixingWithNormal, OfOperators, Weighted, WithNormal

import tessera as ts

rng = np.random.default_rng(11)


def complex_array(*shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def close(a, b):
    return np.allclose(np.asarray(a.to("cpu")), np.asarray(b), rtol=1e-12, atol=1e-12)


def samples():
    w, m = complex_array(4, 5), complex_array(3, 5)
    yield Weighted(ts.array(w), ("X", "Y")), (4, 5), ts.Diagonal(w, ("X", "Y"))
    yield WithNormal(ts.array(w), ("X", "Y")), (4, 5), ts.Diagonal(w, ("X", "Y"))
    yield Mixing(ts.array(m), ("B", "N"), ("B", "M")), (2, 5), ts.Dense(m, "MN", ("B", "N"), ("B", "M"))
    yield MixingWithNormal(ts.array(m), ("B", "N"), ("B", "M")), (2, 5), ts.Dense(m, "MN", ("B", "N"), ("B", "M"))
    yield OfOperators(ts.array(w), ("X", "Y")), (4, 5), ts.Diagonal(2 * w, ("X", "Y"))


CASES = list(samples())
EVERY = pytest.mark.parametrize(("A", "shape", "whole"), CASES, ids=[type(c[0]).__name__ for c in CASES])


@EVERY
def test_it_is_what_it_says(A, shape, whole):
    x = complex_array(*shape)
    y = whole(x)
    assert ts.check_adjoint(A, shape)
    assert close(A(x), y) and close(A @ ts.asarray(x), y) and close(A.H(y), whole.H(y)) and close(A.N(x), whole.N(x))
    assert close((2j * A - A)(x), (2j - 1) * y.numpy()) and close((A.H @ A)(x), whole.N(x))
    assert A.H.H is A and A.N is A.N and (A @ ts.Identity(A.ishape)) is not None
    assert A.shape == whole.shape and A.output_shape(shape) == whole.output_shape(shape)
    out = ts.full(y.shape, float("nan"), "complex128")
    assert A(x, out=out) is out and close(out, y)
    assert np.allclose(A.to_dense(shape, "complex128"), whole.to_dense(shape, "complex128"))
    renamed = A.rename({A.ishape[-1]: "Q"})
    assert renamed.ishape[-1] == "Q" and close(renamed(x), y) and renamed.size("Q") == A.size(A.ishape[-1])
    assert A.name in (type(A).__name__, "mixing") and A.name in repr(A) and A.H.name == f"{A.name}.H"


@EVERY
def test_it_moves_with_its_arrays(A, shape, whole):
    x = complex_array(*shape)
    y, there = whole(x), ts.array(x, device="sim:1")
    B = A.to("sim:1")
    assert str(A.device) == "cpu" and str(B.device) == "sim:1" and A.nbytes == B.nbytes > 0
    assert set(B.memory()) == {"sim:1"} and set(A.memory()) == {"cpu"}
    assert close(B(there), y) and close(B.H(B(there)), whole.H(y)) and close(B.N(there), whole.N(x))
    with pytest.raises(ts.DeviceError, match=A.name):
        A(there)
    C = B.to("cpu")
    assert close(C(x), y)
    if type(A) is not OfOperators:
        cut = {A.ishape[-1]: slice(1, 3)}
        part = B.split(cut)
        assert str(part.device) == "sim:1"
        assert close(part(there[..., 1:3]), whole.split(cut)(x[..., 1:3]))


@EVERY
@pytest.mark.parametrize("resident", [True, False])
def test_it_is_batched_and_fitted(A, shape, whole, resident):
    x = complex_array(*shape)
    if type(A) is OfOperators:
        with pytest.raises(ts.SplitError, match="OfOperators|SimpleLinop"):
            ts.create_batched_linop(A, ts.BatchSpec({"X": 2}), shape=shape)
        return
    before = ts.memory_stats("sim:2")["in_use"]
    B = ts.create_batched_linop(A, ts.BatchSpec({A.ishape[-1]: 2}, ["sim:2", "sim:3"], resident=resident), shape=shape)
    assert (ts.memory_stats("sim:2")["in_use"] > before) == resident
    assert close(B(x), whole(x)) and close(B.H(whole(x)), whole.H(whole(x))) and close(B.N(x), whole.N(x))
    text = B.explain(ts.asarray(x))
    assert ("transfer cpu -> sim:3" in text) and text.count("transfer cpu") == (3 if resident else 6)
    F = ts.fit(A, ts.asarray(x), budget={"sim:2": 1200})
    assert F.specs and close(F(x), whole(x)) and close(F.H(whole(x)), whole.H(whole(x)))
    linops, ins, outs = ts.split_linop(A, {A.ishape[-1]: 2}, shape)
    total = np.zeros(whole(x).shape, complex)
    for op, i, o in zip(linops.flat, ins.flat, outs.flat, strict=True):
        total[o] += op(x[i]).numpy()
        assert isinstance(op, type(A))
    assert np.allclose(total, whole(x))


@EVERY
def test_it_is_pickled_and_copied(A, shape, whole):
    x = complex_array(*shape)
    y = whole(x)
    for made in (A, A.H, A.N, 2 * A, A.rename({A.ishape[0]: "Q"}), A.H.N, A.N.H, A.to("sim:0")):
        again = pickle.loads(pickle.dumps(made))
        given = y if made.ishape == A.H.ishape and made is not A else x
        given = ts.array(given, device=str(made.device or "cpu"))
        assert again.shape == made.shape and again.name == made.name
        assert again.ishape == made.ishape and again.oshape == made.oshape
        assert close(again(given), made(given).to("cpu"))
    shallow, deep = copy.copy(A), copy.deepcopy(A)
    for B in (shallow, deep, pickle.loads(pickle.dumps(A))):
        assert type(B) is type(A) and B is not A and close(B(x), y) and set(vars(B)) == set(vars(A))
    if type(A) is Weighted:
        deep.weight[...] = 0
        assert close(A(x), y) and np.max(np.abs(deep(x).numpy())) == 0
        part = A.split({"X": slice(1, 2)})
        assert close(pickle.loads(pickle.dumps(part))(x[1:2]), y.numpy()[1:2])
        assert len(pickle.dumps(part)) < len(pickle.dumps(A))
    named = pickle.loads(pickle.dumps(A))
    named.ishape = tuple(f"{n}9" for n in A.ishape)
    again = pickle.loads(pickle.dumps(named))
    assert type(again) is type(A) and again.ishape == named.ishape and close(again(x), y)
    with pytest.raises(TypeError, match="Python functions"):
        ts.save("/nowhere/a.tessera", A)


def test_an_operator_that_refers_to_itself_is_pickled_and_collected():
    A = Weighted(ts.asarray([1.0, 2.0]), ("X",))
    A.back, A.both = A.H, 3 * A
    B = pickle.loads(pickle.dumps(A))
    assert B.back([1.0, 1.0]).tolist() == [1, 2] and B.both([1.0, 1.0]).tolist() == [3, 6]
    assert copy.deepcopy(A).both([1.0, 1.0]).tolist() == [3, 6]
    gone = [weakref.ref(A), weakref.ref(B)]
    del A, B
    gc.collect()
    assert [r() for r in gone] == [None, None]


def test_without_a_cycle_it_goes_at_once():
    gc.collect()
    gc.disable()
    try:
        A = Weighted(ts.asarray([1.0, 2.0]), ("X",))
        A([1.0, 1.0]), A.H([1.0, 1.0]), A.N([1.0, 1.0])
        gone = weakref.ref(A)
        del A
        assert gone() is None
    finally:
        gc.enable()


def test_what_is_made_of_it_keeps_it_working():
    A = Weighted(ts.asarray([1.0, 2.0]), ("X",))
    chain, adjoint, part, plan = (
        ts.Scalar(2.0) @ A,
        A.H,
        A.split({"X": slice(1, 2)}),
        A.plan(shape=(2,), dtype="float64"),
    )
    del A
    gc.collect()
    assert chain([1.0, 1.0]).tolist() == [2, 4] and adjoint([1.0, 1.0]).tolist() == [1, 2]
    assert part([1.0]).tolist() == [2] and plan([1.0, 1.0]).tolist() == [1, 2]


def test_attributes_are_shared_with_the_methods():
    A = OfOperators(ts.asarray([1.0, 2.0]), ("X",))
    A([1.0, 1.0])
    assert A.calls == 1
    A.inner = [ts.Diagonal([3.0, 3.0], ("X",)), ts.Scalar(1.0, ("X",))]
    assert A([1.0, 1.0]).tolist() == [3, 3] and A.calls == 2


def test_from_several_threads_and_solvers():
    w = rng.uniform(1, 2, 9)
    A = Weighted(ts.asarray(w), ("X",))
    b = rng.normal(size=9)
    assert np.allclose(ts.solve.cg(A.N, A.H(b), rtol=1e-12).x, b / w)
    B = ts.create_batched_linop(A, ts.BatchSpec({"X": 4}, ["sim:0", "sim:1"]))
    assert np.allclose(ts.solve.cg(B.N, B.H(b), rtol=1e-12).x, b / w)
    wrong = []

    def work():
        for _ in range(20):
            if not np.allclose(B(b), w * b):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_classes_that_are_not_whole_are_refused():
    class OneWay(ts.NamedLinop):
        def fn(self, x):
            return x

    class Slotted(ts.NamedLinop):
        __slots__ = ()
        fn = adj_fn = staticmethod(lambda linop, x: x)

    class Silent(ts.NamedLinop):
        def __init__(self):
            pass

        fn = adj_fn = staticmethod(lambda linop, x: x)

    with pytest.raises(TypeError, match="OneWay.*adj_fn"):
        OneWay(("X",))
    with pytest.raises(TypeError, match="NamedLinop.*fn"):
        ts.NamedLinop(("X",))
    with pytest.raises(TypeError, match="Slotted.*__slots__"):
        Slotted(("X",))
    with pytest.raises(TypeError):
        Silent().H  # noqa: B018
    with pytest.raises(ts.DimError, match="'X' appears twice"):
        Weighted(ts.ones((2, 2)), ("X", "X"))


def test_parts_that_do_not_fit_are_refused():
    class Wrong(Weighted):
        part = None

        def split_forward(self, ibatch, obatch):
            return Wrong.part

    A = Wrong(ts.ones(4), ("X",))
    for part, error in (
        (3, TypeError),
        (ts.Diagonal(ts.ones((2, 2)), ("X", "Y")), ts.DimError),
        (ts.Diagonal(ts.ones(3), ("X",)), ts.SplitError),
        (ts.ShapeSpec(("X",), ("Y",)), ts.DimError),
    ):
        Wrong.part = part
        with pytest.raises(error, match="Wrong"):
            A.split({"X": slice(0, 2)})

    class Odd(Weighted):
        def size(self, dim):
            return "four"

    with pytest.raises(TypeError, match="Odd"):
        ts.split_linop(Odd(ts.ones(4), ("X",)), {"X": 2})

    class Failing(Weighted):
        def split_forward(self, ibatch, obatch):
            raise KeyError("mine")

        def fn(self, x):
            return self(x)

    with pytest.raises(KeyError, match="mine"):
        Failing(ts.ones(4), ("X",)).split({"X": slice(0, 2)})
    with pytest.raises(ts.PlanError, match="cannot be applied"):
        Failing(ts.ones(4), ("X",))([1.0, 1, 1, 1])


def test_super_means_the_base_class():
    class Asking(Weighted):
        def size(self, dim):
            assert super(Weighted, self).size(dim) is None
            return super().size(dim)

        def split_forward(self, ibatch, obatch):
            with pytest.raises(ts.SplitError, match="its own class"):
                super(Weighted, self).split_forward(ibatch, obatch)
            return super().split_forward(ibatch, obatch)

    A = Asking(ts.arange(4.0), ("X",))
    assert A.size("X") == 4 and A.split({"X": slice(1, 3)})([1.0, 1.0]).tolist() == [1, 2]


def test_functions_with_a_split_keep_their_first_names():
    seen = []

    def scaling(w):
        def split(tile):
            seen.append({str(d): s for d, s in tile.items()})
            return scaling(w[tile["X"]])

        def f(x):
            return w.to(x.device) * x

        return ts.SimpleLinop(f, f, ishape="X", oshape="X", split=split, size=lambda d: len(w))

    A = scaling(ts.arange(6.0))
    B = (ts.Scalar(2.0) @ A).rename({"X": "P"})
    for C in (B, B.H):
        cut = ts.create_batched_linop(C, ts.BatchSpec({"P": 4}, ["sim:0", "cpu"]))
        assert cut.size("P") == 6 and C.split({"P": slice(1, 3)})(ts.ones(2)).tolist() == [2, 4]
    assert {"X": slice(1, 3)} in seen and all(set(s) == {"X"} for s in seen)
