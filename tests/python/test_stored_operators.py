# SPDX-License-Identifier: Apache-2.0
"""Operators whose input, output or own arrays are on disk are those of memory: whatever they are (cut_cases.py draws
them), their adjoints and normals, under any budget that they accept; and no run holds more than its budget.

`TESSERA_CUT_SEED=7` draws others, `TESSERA_CUT_CASE=123` one alone, as in test_cut_whole.py.
"""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys

import cut_cases
import numpy as np
import pytest
from support import host_memory

import tessera as ts

SEED = int(os.environ.get("TESSERA_CUT_SEED", "0"))
CASES = int(os.environ.get("TESSERA_CUT_CASES", "80"))
ONLY = os.environ.get("TESSERA_CUT_CASE")
BUNCH = 20


def stored(x):
    return isinstance(x, ts.stored.StoredArray)


def numbers(shape, dtype="complex64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return np.asarray(x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def same(got, whole, double, what):
    got, whole = got.numpy(), np.asarray(whole)
    assert got.shape == whole.shape and got.dtype == whole.dtype, (what, got.shape, got.dtype, whole.shape, whole.dtype)
    error, scale = np.max(np.abs(got - whole), initial=0), max(1.0, np.max(np.abs(whole), initial=0))
    assert error <= (1e-9 if double else 2e-4) * scale, f"{what}: error {error} of {scale}\n{got}\n{whole}"


def poisoned(like):
    """An output on disk that holds what no result is."""
    return ts.stored.full(like.shape, 7e7, str(like.dtype))


def smallest_budget(A, x):
    """That of the refusal, which does; one byte less is refused as well."""
    with pytest.raises(ts.OutOfMemory, match="the smallest budget that would do is") as refusal:
        ts.fit(A, x, budget={"cpu": 1})
    least = int(re.search(r"would do is (\d+) bytes", str(refusal.value))[1])
    with pytest.raises(ts.OutOfMemory):
        ts.fit(A, x, budget={"cpu": least - 1})
    return least


def budgets(A, x, whole, d):
    """The smallest one, where that does not make thousands of tiles, and others."""
    least, data = smallest_budget(A, x), x.nbytes + whole.nbytes
    few = [least] if x.size + whole.size < 60 else []
    some = [least + int(data * d.rng.uniform(0.3, 1))] if x.size + whole.size < 3000 else []
    return [*few, *some, least + 2 * data]


def parts_of(A):
    yield A
    for part in A.linops:
        yield from parts_of(part)


def run_case(number):
    A, shape, d = cut_cases.drawn([SEED, number])
    real = any(part.kind == "FFT" and "real" in part.tree() for part in parts_of(A))
    x = ts.asarray(d.array(shape, d.dtype(real=real)))
    tiles = 0
    for form, op, given in (("", A, x), (".H", A.H, A(x)), (".N", A.N, x)):
        whole = op(given)
        on_disk = ts.stored.array(given)
        what = f"case {number}{form} (TESSERA_CUT_CASE={number} TESSERA_CUT_SEED={SEED})\n{op.tree()}"
        same(op(on_disk), whole, d.double, what)
        out = poisoned(whole)
        if not whole.nbytes:
            continue
        for budget in budgets(op, on_disk, whole, d):
            B = ts.fit(op, on_disk, budget={"cpu": budget})
            assert B.ishape == op.ishape and B.oshape == op.oshape
            assert B(on_disk, out=out) is out
            same(out, whole, d.double, f"{what} under {budget}: {B.tree()}")
            tiles += "tiles of" in B.tree()
    return tiles


@pytest.mark.parametrize("bunch", range(0, CASES, BUNCH))
def test_operators_of_arrays_on_disk_are_those_of_memory(bunch):
    numbered = [int(ONLY)] if ONLY else range(bunch, min(bunch + BUNCH, CASES))
    assert sum(run_case(n) for n in numbered) > 0 or ONLY


class StoredWeight:
    """Stands for a class of operators, whose weights it puts on disk."""

    def __init__(self, kind):
        self.kind = kind
        self.from_weight = getattr(kind, "from_weight", None)

    def __call__(self, weight, *names, **options):
        return self.kind(ts.stored.array(weight), *names, **options)


def drawn_twice(number, monkeypatch):
    """The same draw with the weights of Dense and Diagonal in memory and on disk."""
    A, shape, d = cut_cases.drawn([SEED, number])
    for kind in ("Dense", "Diagonal"):
        monkeypatch.setattr(ts, kind, StoredWeight(getattr(ts, kind)))
    B, _, _ = cut_cases.drawn([SEED, number])
    monkeypatch.undo()
    return A, B, shape, d


@pytest.mark.parametrize("bunch", range(0, CASES, BUNCH))
def test_operators_whose_weights_are_on_disk(bunch, monkeypatch):
    for number in range(bunch, bunch + BUNCH):
        A, B, shape, d = drawn_twice(number, monkeypatch)
        if "OnDisk" not in B.tree() or np.prod(shape) > 2000:  # a search over many dims takes seconds
            continue
        real = any(part.kind == "FFT" and "real" in part.tree() for part in parts_of(A))
        x = ts.asarray(d.array(shape, d.dtype(real=real)))
        for form, op, of_disk, given in (("", A, B, x), (".H", A.H, B.H, A(x)), (".N", A.N, B.N, x)):
            if form == ".N" and "toeplitz" in A.tree():  # a convolution, which is another approximation
                continue
            # A complex weight and its conjugate make a real one where they meet in memory.
            whole = op(given).astype(of_disk.output_dtype(given.dtype))
            what = f"case {number}{form}\n{op.tree()}\n{of_disk.tree()}"
            assert of_disk.ishape == op.ishape, what
            assert of_disk.oshape == op.oshape or form == ".N", what  # dims of a normal that rules took out of it
            same(of_disk(given), whole, d.double, what)
            on_disk = ts.stored.array(given)
            if not whole.nbytes:
                continue
            fitted = ts.fit(of_disk, on_disk, budget={"cpu": budgets(of_disk, on_disk, whole, d)[0]})
            out = poisoned(whole)
            same(fitted(on_disk, out=out), whole, d.double, what)
            same(fitted(given, out=poisoned(whole)), whole, d.double, f"{what}, of an input in memory")


def sense(coils=6, frames=5, sizes=(12, 10), dtype="complex64"):
    maps = numbers((coils, *sizes), dtype, 1)
    F = ts.FFT(2, batch_shape=("T", "C"), grid_shapes=(("X", "Y"), ("K", "L")))
    mask = ts.Diagonal((numbers(sizes, "float32", 2) > 0).astype("float32"), ("T", "C", "K", "L"))
    image = numbers((frames, *sizes), dtype, 3)
    names = ("C", "X", "Y"), ("T", "X", "Y"), ("T", "C", "X", "Y")
    return lambda weight: mask @ F @ ts.Dense(weight(maps), *names), image


@pytest.mark.parametrize("share", [0.6, 0.25, 0.1])
def test_the_budget_holds(share):
    """Maps, image and data on disk, and memory for a part of one of them."""
    make, image = sense(8, 24, (64, 48))
    A, B = make(np.asarray), make(ts.stored.array)
    whole, back, again = A(image), A.H(A(image)), A.N(image)
    x, y = ts.stored.array(image), ts.stored.array(whole)
    budget = int(share * whole.nbytes)
    for op, given, wanted in ((B, x, whole), (B.H, y, back), (B.N, x, again)):
        out = poisoned(wanted)
        with host_memory(budget):
            before = ts.memory_stats("cpu")["in_use"]
            ts.reset_peak("cpu")
            op(given, out=out)
            assert ts.memory_stats("cpu")["peak"] - before <= budget
        same(out, wanted, False, op.tree())


@pytest.mark.parametrize("threads", [1, 4, 16])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_bits_are_those_of_memory_where_nothing_is_summed(dtype, threads):
    """However many lines of a transform a tile has: kernels/fft/fft_bits_test.cpp is the law."""
    make, image = sense(dtype=dtype)
    before = ts.config.num_threads
    try:
        ts.config.num_threads = threads
        A = make(np.asarray)
        x, whole = ts.stored.array(image), A(image)
        least = smallest_budget(A, x)
        for budget in (least, 2 * least, 4 * least):
            out = ts.fit(A, x, budget={"cpu": budget})(x, out=poisoned(whole))
            assert np.array_equal(out.numpy(), whole.numpy())
    finally:
        ts.config.num_threads = before


@pytest.mark.parametrize("resident", [True, False])
def test_tiles_are_computed_on_devices(resident):
    make, image = sense()
    A = make(np.asarray)
    x, whole, again = ts.stored.array(image), A(image), A.N(image)
    device = "1MiB" if resident else "24KiB"
    F = ts.fit(A, x, budget={"cpu": "100KiB", "sim:0": device})
    ts.reset_peak("sim:0")
    before = ts.memory_stats("sim:0")["in_use"]
    same(F(x, out=poisoned(whole)), whole, False, F.tree())
    assert 0 < ts.memory_stats("sim:0")["peak"] - before <= (1 << 20 if resident else 24 << 10)
    same(F.N(x, out=poisoned(again)), again, False, F.tree())


def test_a_job_on_other_devices_is_another_job(tmp_path):
    """Devices may round in other ways: what one began none other ends."""
    make, image = sense(4, 24, (32, 24))
    A = make(np.asarray)
    x, whole = ts.stored.array(image, tmp_path / "x"), A(image).numpy()
    on_first, on_second = (ts.fit(A, x, budget={"cpu": "100KiB", device: "200KiB"}) for device in ("sim:0", "sim:1"))
    try:
        ts._tessera._stored_mark_interval(0.0)
        ts._tessera._stored_faults("ended", 5)
        with pytest.raises(OSError):
            ts.stored.apply(on_first, x, path=tmp_path / "y")
    finally:
        ts._tessera._stored_faults("", 0)
        ts._tessera._stored_mark_interval(1.0)
    assert (tmp_path / "y.job").exists()
    with pytest.raises(ts.ArgumentError, match="another job"):
        ts.stored.apply(on_second, x, path=tmp_path / "y")
    assert np.array_equal(ts.stored.apply(on_first, x, path=tmp_path / "y").numpy(), whole)


def test_where_results_come_to_lie():
    D = ts.Diagonal(np.arange(1.0, 5), ("X",))
    x = ts.stored.ones((1000, 4))
    A = ts.Diagonal(np.arange(1.0, 5), ("T", "X"))
    assert isinstance(A(x), ts.Array)  # there is room
    with host_memory(100_000):
        y = A(x)
        assert stored(y) and np.array_equal(y.numpy(), np.tile([1.0, 2, 3, 4], (1000, 1)))
        total = ts.Dense(np.ones(1000), ("T",), ("T", "X"), ("X",))(y)
    assert isinstance(total, ts.Array) and total.tolist() == [1000, 2000, 3000, 4000]
    here = ts.zeros((1000, 4))
    assert A(x, out=here) is here and np.array_equal(here, y.numpy())
    there = poisoned(here)
    assert A(np.ones((1000, 4)), out=there) is there and np.array_equal(there.numpy(), here)
    assert np.array_equal((A @ (x * 2)).numpy(), 2 * here.numpy())  # a formula is computed first
    assert D(ts.stored.array(np.ones(4))).tolist() == [1, 2, 3, 4]


def test_an_operator_on_disk_is_moved_copied_and_cut_as_others():
    w, x = numbers((6, 4), "float64"), numbers((4,), "float64", 1)
    B, wanted = ts.Dense(ts.stored.array(w), ("M", "N"), ("N",), ("M",)), w @ x
    assert np.allclose(B.to("sim:0")(ts.asarray(x, device="sim:0")).to("cpu"), wanted)
    assert np.allclose(ts.create_batched_linop(B, ts.BatchSpec({"M": 4, "N": 3}, ["sim:0", "sim:1"]))(x), wanted)
    assert np.allclose(ts.fit(B, x, budget={"sim:0": 600})(x), wanted)
    assert np.allclose(B.plan(x)(x), wanted) and np.allclose(copy.deepcopy(B)(x), wanted)
    assert np.allclose(B.rename({"N": "Q"}).split({"M": slice(2, 5)})(x), wanted[2:5])
    assert np.allclose(ts.Dense.from_einstr(ts.stored.array(w), "MN,N->M")(x), wanted)
    assert np.allclose(ts.Dense(ts.stored.array(w) * 2)(x), 2 * wanted)
    with pytest.raises(ts.DTypeError, match="on disk"):
        pickle.dumps(B)


def test_empty_and_single():
    W = ts.Dense(np.zeros((3, 0)), ("M", "N"), ("N",), ("M",))
    assert W(ts.stored.array(np.zeros(0)), out=ts.stored.ones(3)).numpy().tolist() == [0, 0, 0]
    assert W.H(ts.stored.ones(3)).shape == (0,)
    D = ts.Diagonal(ts.stored.array(np.zeros((0, 4))), ("T", "X"))
    assert D(np.zeros((0, 4))).shape == (0, 4)
    assert ts.Diagonal(ts.stored.array([3.0]), ("X",))(ts.stored.array([2.0])).tolist() == [6]


def test_refusals():
    A = ts.Dense(np.ones((3, 4)), ("M", "N"), ("N",), ("M",))
    x = ts.stored.ones(4)
    with pytest.raises(ts.ShapeError, match="the output on disk has shape"):
        A(x, out=ts.stored.ones(4))
    with pytest.raises(ts.DTypeError, match="the output on disk holds float32"):
        A(x, out=ts.stored.ones(3, "float32"))
    with pytest.raises(ts.ArgumentError, match="read by the operator"):
        ts.Diagonal(np.ones(4), ("X",))(x, out=x)
    with pytest.raises(ts.ArgumentError, match="a formula"):
        A(x, out=ts.stored.ones(3) + 1)
    with pytest.raises(ts.DimError):
        A(ts.stored.ones(5))
    with pytest.raises(ts.DeviceError, match="beside one on disk"):
        A(ts.ones(4, device="sim:0"), out=ts.stored.ones(3))
    F = ts.FFT(1, (), (("X",), ("K",)))
    with pytest.raises(ts.OutOfMemory, match="no dim to be cut along.*smallest budget.*not along 'X'"):
        ts.fit(F, ts.stored.ones(4096, "complex64"), budget={"cpu": "10kB"})
    with pytest.raises(ts.OutOfMemory, match="'...', which have no names"):
        ts.fit(ts.FFT(1), ts.stored.ones((9, 4096), "complex64"), budget={"cpu": "10kB"})


def test_fit_of_a_shape_that_memory_does_not_hold():
    make, image = sense()
    A, B = make(np.asarray), make(ts.stored.array)
    x, whole = ts.stored.array(image), A(image)
    for op in (A, B):
        F = ts.fit(op, shape=image.shape, dtype="complex64", budget={"cpu": "20KiB"})
        assert "tiles of" in F.tree()
        same(F(x, out=poisoned(whole)), whole, False, F.tree())
    assert ts.fit(A, shape=image.shape, dtype="complex64", budget={"cpu": "1MiB"}).kind == "Fitted"


def test_explain_says_what_will_be_read():
    make, image = sense()
    B = make(ts.stored.array)
    x = ts.stored.array(image)
    text = ts.fit(B, x, budget={"cpu": "50KiB"}).explain(x)
    assert f"reads {image.nbytes} bytes" in text and "tiles of {" in text and "budget of 50.0 KiB" in text


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("form", ["plain", "x0", "preconditioned"])
def test_cg_with_vectors_on_disk(dtype, form):
    """The same iterations as in memory, but for rounding; and what they find solves the system."""
    W, b = numbers((30, 20, 20), dtype, 4), numbers((30, 20), dtype, 5)
    N = np.einsum("tij,tkj->tik", W, W.conj()) + 20 * np.eye(20, dtype=dtype)
    A = ts.Dense(N, ("T", "M", "N"), ("T", "N"), ("T", "M")).rename({"M": "N1"})
    D = ts.Diagonal((1 / np.einsum("tii->ti", N).real).astype(dtype), ("T", "N"))
    more = {"plain": {}, "x0": {"x0": numbers((30, 20), dtype, 6)}, "preconditioned": {"M": D}}[form]
    here = ts.solve.cg(A, b, rtol=1e-4, maxiter=60, **more)
    more = {k: ts.stored.array(v) if k == "x0" else v for k, v in more.items()}
    there = ts.solve.cg(A, ts.stored.array(b), rtol=1e-4, maxiter=60, **more)
    assert stored(there.x) and there.x.dtype == here.x.dtype and there.converged and here.converged
    assert there.iterations == here.iterations and np.allclose(there.history, here.history, rtol=1e-2)
    tolerance = 1e-3 if dtype in ("float32", "complex64") else 1e-6
    assert np.allclose(there.x.numpy(), here.x, rtol=tolerance, atol=tolerance)


def test_cg_of_weights_on_disk_within_the_budget():
    make, image = sense(8, 24, (64, 48))
    A, B = make(np.asarray), make(ts.stored.array)
    b = ts.stored.array(A.H(A(image)))
    here = ts.solve.cg(A.N + ts.Scalar(0.1), b.numpy(), maxiter=3)
    with host_memory(2 << 20):
        before = ts.memory_stats("cpu")["in_use"]
        ts.reset_peak("cpu")
        there = ts.solve.cg(B.N + ts.Scalar(0.1), b, maxiter=3)
        assert ts.memory_stats("cpu")["peak"] - before <= 2 << 20
    assert there.iterations == 3 and there.reason == here.reason
    assert np.allclose(there.x.numpy(), here.x, atol=1e-3)


def test_refusals_of_cg_on_disk():
    b = ts.stored.ones((5, 3))
    with pytest.raises(ts.ShapeError, match="^cg: Dense.* must map b's shape to itself"):
        ts.solve.cg(ts.Dense(np.ones((4, 3)), ("M", "N"), ("T", "N"), ("T", "M")), b)
    ended = ts.solve.cg(-1.0 * ts.Identity(("T", "N")), b)
    assert not ended.converged and "positive definite" in ended.reason and ended.iterations == 1
    assert ts.solve.cg(ts.Identity(("T", "N")), ts.stored.zeros((5, 3))).iterations == 0


CODE = """
import os, sys
import numpy as np
import tessera as ts
ts.set_memory_budget(host=ts.memory_stats("cpu")["in_use"] + (1 << 20))
ts._tessera._stored_mark_interval(0.0)
x, w = (ts.stored.open(f"{sys.argv[1]}/{name}") for name in "xw")
A = ts.FFT(1, ("T",), ("X", "K")) @ ts.Diagonal(w, ("T", "X"))
import threading
def end():
    while True:
        try:
            text = open(sys.argv[1] + "/y.job").read()
            if "step 0000" in text and "step 00000000000000000000" not in text:
                os.kill(os.getpid(), 9)
        except OSError:
            pass
if sys.argv[2] == "kill":
    threading.Thread(target=end, daemon=True).start()
ts.stored.apply(A, x, path=sys.argv[1] + "/y")
"""


def test_an_application_is_a_job_that_goes_on_after_a_kill(tmp_path):
    x, w = numbers((600, 512)), numbers((600, 512), seed=1)
    ts.stored.array(x, tmp_path / "x")
    ts.stored.array(w, tmp_path / "w")
    run = [sys.executable, "-c", CODE, str(tmp_path)]
    ended = subprocess.run([*run, "kill"], capture_output=True, text=True, check=False)
    assert ended.returncode in (0, -9), ended.stderr
    other = ts.Diagonal(ts.stored.open(tmp_path / "w"), ("T", "X"))
    if (tmp_path / "y.job").exists() and not (tmp_path / "y").exists():  # else it had come to its end
        with host_memory(1 << 20), pytest.raises(ts.ArgumentError, match="another job"):
            ts.stored.apply(other, ts.stored.open(tmp_path / "x"), path=tmp_path / "y")
    if (tmp_path / "y.job").exists():
        done = subprocess.run([*run, "go on"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["w", "x", "y"]
    A = ts.FFT(1, ("T",), ("X", "K")) @ ts.Diagonal(w, ("T", "X"))
    assert np.array_equal(ts.stored.open(tmp_path / "y").numpy(), A(x).numpy())
