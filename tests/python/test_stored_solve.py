# SPDX-License-Identifier: Apache-2.0
"""Solvers with vectors on disk: the iterations of those in memory, their callbacks, bars and checkpoints, within a
budget."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from random_maps import NAMES, ORDERED, drawn_map
from support import host_memory

import tessera as ts

DTYPES = ["float32", "float64", "complex64", "complex128"]
MIB = 1 << 20


def numbers(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if "complex" in dtype else x.astype(dtype)


def tall(dtype, batch=7, rows=9, columns=5):
    """A batch of tall matrices, as an operator."""
    W = numbers((batch, rows, columns), dtype, 1)
    return ts.Dense(W, ("T", "M", "N"), ("T", "N"), ("T", "M"))


def hermitian(dtype, batch=7, n=6, definite=True):
    W = numbers((batch, n, n), dtype, 2)
    H = W + np.conj(np.swapaxes(W, 1, 2))
    if definite:
        H = np.einsum("tij,tkj->tik", W, W.conj()) + n * np.eye(n, dtype=dtype)
    return ts.Dense(H.astype(dtype), ("T", "M", "N"), ("T", "N"), ("T", "M")).rename({"M": "N1"})


def square(dtype, batch=7, n=6):
    """Neither Hermitian nor singular."""
    W = numbers((batch, n, n), dtype, 16) + 3 * np.eye(n, dtype=dtype)
    return ts.Dense(W.astype(dtype), ("T", "M", "N"), ("T", "N"), ("T", "M")).rename({"M": "N1"})


def turned(b):
    """A preconditioner of gmres, not Hermitian either."""
    return ts.Diagonal(numbers(b.shape, str(b.dtype), 17) * 0.2 + 1, ("T", "N"))


def differences():
    return ts.FiniteDifference("N", ("T", "N"))


P = ts.solve.prox


def side_by_side():
    return P.blocks([(3, P.wavelet(0.3, "haar", seed=1)), (2, P.low_rank(0.3, 2, seed=2)), (2, P.low_rank(0.4))])


SOLVERS = {
    "cg": (lambda d: hermitian(d), (7, 6), lambda A, b, **o: ts.solve.cg(A, b, **o)),
    "minres": (lambda d: hermitian(d, definite=False), (7, 6), lambda A, b, **o: ts.solve.minres(A, b, **o)),
    "shifted": (lambda d: hermitian(d), (7, 6), lambda A, b, **o: ts.solve.minres(A, b, shift=-0.5, **o)),
    "lsqr": (tall, (7, 9), lambda A, b, **o: ts.solve.lsqr(A, b, **o)),
    "damped": (tall, (7, 9), lambda A, b, **o: ts.solve.lsqr(A, b, damp=0.7, **o)),
    "lsmr": (tall, (7, 9), lambda A, b, **o: ts.solve.lsmr(A, b, **o)),
    "gradient": (tall, (7, 9), lambda A, b, **o: ts.solve.fista(A, b, momentum=False, step=0.02, **o)),
    "searched": (tall, (7, 9), lambda A, b, **o: ts.solve.fista(A, b, P.l1(0.3), step="search", **o)),
    "gmres": (square, (7, 6), lambda A, b, **o: ts.solve.gmres(A, b, **o)),
    "restarted": (square, (7, 6), lambda A, b, **o: ts.solve.gmres(A, b, restart=3, **o)),
    "on the right": (square, (7, 6), lambda A, b, **o: ts.solve.gmres(A, b, restart=4, M=turned(b), **o)),
    "l1": (tall, (7, 9), lambda A, b, **o: ts.solve.fista(A, b, P.l1(0.3), **o)),
    "l2": (tall, (7, 9), lambda A, b, **o: ts.solve.fista(A, b, P.l2(0.3), **o)),
    "l2_squared": (tall, (7, 9), lambda A, b, **o: ts.solve.fista(A, b, P.l2_squared(0.3), **o)),
    "centered": (
        tall,
        (7, 9),
        lambda A, b, **o: ts.solve.fista(A, b, P.l2_squared(0.3, np.arange(35.0).reshape(7, 5)), **o),
    ),
    "nonneg": (tall, (7, 9), lambda A, b, **o: ts.solve.fista(A, b, P.nonneg(), **o)),
    "group": (tall, (7, 9), lambda A, b, **o: ts.solve.fista(A, b, P.group(0.3, [-1]), **o)),
    "groups": (tall, (7, 9), lambda A, b, **o: ts.solve.fista(A, b, P.group(0.3, 0), **o)),
    "wavelet": (tall, (7, 9), lambda A, b, **o: ts.solve.fista(A, b, P.wavelet(0.3, "haar", seed=2), step=0.02, **o)),
    "low rank": (tall, (7, 9), lambda A, b, **o: ts.solve.fista(A, b, P.low_rank(0.3, 2, seed=1), step=0.02, **o)),
    "blocks": (tall, (7, 9), lambda A, b, **o: ts.solve.fista(A, b, side_by_side(), step=0.02, **o)),
    "pdhg": (tall, (7, 9), lambda A, b, **o: ts.solve.pdhg(A, b, P.l1(1.0), P.l2_squared(0.1), **o)),
    "admm": (tall, (7, 9), lambda A, b, **o: ts.solve.admm(A, b, P.l1(0.3), **o)),
    "admm of G": (tall, (7, 9), lambda A, b, **o: ts.solve.admm(A, b, P.l1(0.3), G=differences(), rho=0.4, **o)),
}


def close(there, here, dtype):
    single = dtype in ("float32", "complex64")
    assert isinstance(there.x, ts.stored.StoredArray) and there.x.dtype == here.x.dtype
    assert there.iterations == here.iterations and there.reason == here.reason
    assert there.converged == here.converged
    assert np.allclose(there.history, here.history, rtol=2e-2 if single else 1e-6, atol=1e-5 if single else 1e-12)
    tolerance = 2e-3 if single else 1e-8
    assert np.allclose(there.x.numpy(), here.x.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("which", SOLVERS)
@pytest.mark.parametrize("guess", [False, True])
def test_iterations_are_those_of_memory(which, dtype, guess):
    make, shape, run = SOLVERS[which]
    A, b = make(dtype), numbers(shape, dtype, 3)
    more = {"rtol": 0.0, "maxiter": 5}
    x0 = numbers(A.H(b).shape, dtype, 4) if guess else None
    here = run(A, b, x0=x0, **more)
    there = run(A, ts.stored.array(b), x0=ts.stored.array(x0) if guess else None, **more)
    close(there, here, dtype)


# Bytes beside what is in use: boxes of a few rows, tiles of the vectors cut in parts, and all at once.
BUDGETS = [2 * MIB, 4 * MIB, 40 * MIB]


def same_vector(there, here, dtype, what):
    assert there.dtype == here.dtype
    there, here = there.numpy(), here.numpy()
    size = np.abs(here).max() + 1
    tolerance = (1e-4 if dtype in ("float32", "complex64") else 1e-9) * size
    assert np.all(np.abs(there - here) <= tolerance), (what, np.abs(there - here).max())


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_map_is_that_of_memory(name, dtype, budget):
    """Whatever groups a map has, and however the vectors are cut: nothing but the map is done in one iteration."""
    if name in ORDERED and dtype.startswith("complex"):
        return
    rng = np.random.default_rng([NAMES.index(name), DTYPES.index(dtype), budget])
    short = name in ("blocks", "low_rank", "wavelet")  # lines that must fit, with what is made of them
    for shape in ((41, 7, 90), (2000,), (3, 500)) if short else ((41, 7, 90), (20_000,), (3, 3000)):
        b, A = numbers(shape, dtype, 3), ts.Identity(tuple("XYZ"[: len(shape)]))
        g = drawn_map(rng, name, shape, dtype)
        once = {"step": 1.0, "maxiter": 1, "rtol": 0.0}
        here = ts.solve.fista(A, b, g, **once).x
        data = ts.solve.pdhg(A, b, g, P.none(), tau=0.5, sigma=0.7, maxiter=2, rtol=0.0).x
        with host_memory(budget):
            on_disk = ts.stored.array(b)
            same_vector(ts.solve.fista(A, on_disk, g, **once).x, here, dtype, g)
            there = ts.solve.pdhg(A, on_disk, g, P.none(), tau=0.5, sigma=0.7, maxiter=2, rtol=0.0).x
            same_vector(there, data, dtype, g)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_group_of_a_vector_larger_than_memory(dtype):
    """Vectors of 2 or 4 MiB with room for 1: all numbers are one group, or those of a block are."""
    b = numbers((4, 1 << 17), dtype, 12)
    A, stored = ts.Identity(("X", "Y")), ts.stored.array(b)
    maps = [P.simplex(1000.0), P.simplex(10.0, (0, 1)), P.l2(1000.0), P.group(1000.0, (1, 0))]
    maps.append(
        P.blocks(
            [(1, P.simplex(3.0)), (2, P.l2(500.0)), (1, P.blocks([(1 << 16, P.l1(0.3)), (1 << 16, P.l2(300.0))], 1))]
        )
    )
    for g in maps:
        here = ts.solve.fista(A, b, g, step=1.0, maxiter=1).x
        with host_memory(MIB):
            there = ts.solve.fista(A, stored, g, step=1.0, maxiter=1).x
        same_vector(there, here, dtype, g)
    with host_memory(MIB), pytest.raises(ts.OutOfMemory):
        ts.solve.fista(A, stored, P.group(1.0, 1), step=1.0, maxiter=1)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_several_terms(dtype, tmp_path):
    """Each with vectors of its own shape and a right side of its own, or none; and a checkpoint of them."""
    x_shape = (7, 5)
    A, D = tall(dtype), ts.FiniteDifference("N", ("T", "N"))
    W = ts.Diagonal(numbers(x_shape, dtype, 13), ("T", "N"))
    b, c = numbers((7, 9), dtype, 3), numbers(x_shape, dtype, 14)
    x0 = numbers(x_shape, dtype, 15)
    operators, f, g = [A, W, D], [None, P.l1(0.4), P.group(0.3, 1)], P.l2_squared(0.1)
    for guess in (None, x0):
        for more in ({"tau": 0.1, "sigma": 0.2}, {}):
            run = lambda y, z, n=5, more=more, **o: ts.solve.pdhg(  # noqa: E731
                operators, [y, z, None], f, g, rtol=0.0, maxiter=n, **more, **o
            )
            here = run(b, c, x0=guess)
            on_disk = ts.stored.array(b), ts.stored.array(c)
            close(run(*on_disk, x0=None if guess is None else ts.stored.array(guess)), here, dtype)
            close(run(b, on_disk[1], x0=guess), here, dtype)
            close(run(on_disk[0], c, x0=guess), here, dtype)
    path = tmp_path / "c.npz"
    whole = run(*on_disk)
    run(*on_disk, n=2, checkpoint=path)
    assert np.array_equal(run(*on_disk, checkpoint=path).x.numpy(), whole.x.numpy())
    with pytest.raises(ts.ArgumentError, match="another problem: b 1 is not the same"):
        run(on_disk[0], ts.stored.array(c + 1), checkpoint=path)
    with pytest.raises(ts.ArgumentError, match="3 operators beside 2 of b"):
        ts.solve.pdhg(operators, list(on_disk), f, g)
    with pytest.raises(ts.ShapeError, match="operator 1.*beside a b of"):
        run(on_disk[0], ts.stored.array(c[:, :2].copy()))
    with pytest.raises(ts.ArgumentError, match="'function' is a function"):
        ts.solve.pdhg(operators, [*on_disk, None], [None, lambda v, t: v, None], g)


@pytest.mark.parametrize("which", ["cg", "minres", "gmres", "lsqr", "lsmr", "l1"])
def test_they_converge(which):
    make, shape, run = SOLVERS[which]
    A, b = make("float64"), numbers(shape, "float64", 3)
    here, there = (run(A, v, rtol=1e-7, maxiter=500) for v in (b, ts.stored.array(b)))
    assert there.converged and abs(there.iterations - here.iterations) <= 2 and there.reason == here.reason
    assert np.allclose(there.x.numpy(), here.x.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_power_method(dtype):
    A = hermitian(dtype)
    x0 = numbers((7, 6), dtype, 5)
    here, there = (ts.solve.power_method(A, v, rtol=1e-4, maxiter=300) for v in (x0, ts.stored.array(x0)))
    assert isinstance(there, ts.solve.StoredEigenResult) and there.eigenvalue.dtype == here.eigenvalue.dtype
    assert there.converged and np.isclose(there.eigenvalue.item(), here.eigenvalue.item(), rtol=1e-3)
    assert np.isclose(np.linalg.norm(there.x.numpy()), 1, rtol=1e-5)
    minus = ts.solve.power_method(-1.0 * A, ts.stored.array(x0), rtol=1e-4, maxiter=300)
    assert np.isclose(minus.eigenvalue.item(), -there.eigenvalue.item(), rtol=1e-3)
    with pytest.raises(ts.ArgumentError, match="leave dim away"):
        ts.solve.power_method(A, ts.stored.array(x0), dim=("N",))


def test_power_method_draws_as_in_memory():
    """Without a first vector it is drawn on disk, the same numbers; the weights say that it goes there."""
    w = np.arange(1.0, 6.0)
    here = ts.solve.power_method(ts.Diagonal(w, ("X",)), seed=3, rtol=1e-9, maxiter=200)
    there = ts.solve.power_method(ts.Diagonal(ts.stored.array(w), ("X",)), seed=3, rtol=1e-9, maxiter=200)
    assert np.isclose(there.eigenvalue.item(), here.eigenvalue.item(), rtol=1e-12)
    assert np.allclose(there.x.numpy(), here.x.numpy(), rtol=1e-9)


@pytest.mark.parametrize("shape", [(1,), (0,), (1, 1), (0, 5), (3, 0), (257,), (13, 1, 7)])
@pytest.mark.parametrize("which", ["cg", "lsqr", "lsmr", "minres", "gmres", "fista", "admm"])
def test_odd_shapes(which, shape):
    b = numbers(shape, "float64", 6)
    A = ts.Diagonal(1 + np.arange(b.size).reshape(shape) % 3, tuple("XYZ"[: len(shape)]))
    here, there = (getattr(ts.solve, which)(A, v, maxiter=4) for v in (b, ts.stored.array(b)))
    close(there, here, "float64")


def test_integers_and_formulas_are_right_sides():
    A = ts.Diagonal([2.0, 4.0, 5.0], ("X",))
    b = ts.stored.array(np.array([2, 4, 5]))
    assert np.allclose(ts.solve.cg(A, b).x.numpy(), 1)
    assert np.allclose(ts.solve.lsqr(A, b * 2 + b).x.numpy(), 3)
    assert np.allclose(ts.solve.fista(A, b, maxiter=500, rtol=1e-12).x.numpy(), 1, atol=1e-6)


@pytest.mark.parametrize(
    "which",
    ["cg", "minres", "gmres", "lsqr", "lsmr", "l1", "group", "wavelet", "low rank", "locally", "pdhg", "admm", "power"],
)
def test_memory_stays_within_the_budget(which, tmp_path):
    """Vectors of 4 MiB and weights of 32, with room for 3 MiB."""
    T, n = 4096, 32
    W = numbers((T, 8, n), "float32", 7)
    if which in ("cg", "minres", "gmres", "power"):
        A = ts.Diagonal(ts.stored.array(1 + abs(W.reshape(T, -1))), ("T", "N"))
        b = ts.stored.array(numbers((T, 8 * n), "float32", 8))
    else:
        A = ts.Dense(ts.stored.array(W), ("T", "M", "N"), ("T", "N"), ("T", "M"))
        b = ts.stored.array(numbers((T, 8), "float32", 8))
    run = {
        "l1": lambda: ts.solve.fista(A, b, P.l1(0.1), maxiter=2, step=0.01),
        "group": lambda: ts.solve.fista(A, b, P.group(0.1, -1), maxiter=2, step=0.01),
        "wavelet": lambda: ts.solve.fista(A, b, P.wavelet(0.1, seed=0), maxiter=2, step=0.01),
        "low rank": lambda: ts.solve.fista(A, b, P.low_rank(0.1, axis=1), maxiter=2, step=0.01),
        "locally": lambda: ts.solve.fista(A, b, P.low_rank(0.1, 7, seed=0), maxiter=2, step=0.01),
        "pdhg": lambda: ts.solve.pdhg(A, b, P.l1(1.0), P.nonneg(), maxiter=2),
        "admm": lambda: ts.solve.admm(A, b, P.l1(0.1), G=differences(), inner=2, maxiter=2),
        "power": lambda: ts.solve.power_method(A, b, maxiter=2),
    }.get(which, lambda: getattr(ts.solve, which)(A, b, maxiter=3, checkpoint=tmp_path / "c.npz"))
    with host_memory(3 * MIB):
        before = ts.memory_stats("cpu")["in_use"]
        ts.reset_peak("cpu")
        found = run()
        assert ts.memory_stats("cpu")["peak"] - before <= 3 * MIB
    assert found.iterations >= 2 and np.isfinite(found.history).all()


def test_sums_follow_from_the_budget_alone():
    """Twice the same bits, and with another budget the same but for rounding."""
    b = ts.stored.array(numbers((1000, 300), "float64", 9))
    A = ts.Diagonal(1 + abs(numbers((1000, 300), "float64", 10)), ("X", "Y"))
    found = []
    for room in (6, 6, 40):
        with host_memory(room * MIB):
            found.append(ts.solve.cg(A, b, maxiter=6).x.numpy())
    assert np.array_equal(found[0], found[1]) and np.allclose(found[0], found[2], rtol=1e-12)


def test_callbacks_see_the_iterate_and_stop():
    A, b = hermitian("float64"), numbers((7, 6), "float64", 11)
    seen = {"here": [], "there": []}
    for where, right in (("here", b), ("there", ts.stored.array(b))):

        def look(i, where=where):
            seen[where].append((i.number, i.residual, np.array(i.x[:])))
            return i.number < 3

        r = ts.solve.cg(A, right, rtol=0.0, maxiter=10, callback=look)
        assert r.iterations == 3 and r.reason == "stopped by the callback" and not r.converged
    for here, there in zip(seen["here"], seen["there"], strict=True):
        assert here[0] == there[0] and np.isclose(here[1], there[1]) and np.allclose(here[2], there[2])


def test_a_bar_is_shown(capfd):
    ts.solve.lsqr(tall("float64"), ts.stored.array(numbers((7, 9), "float64", 12)), progress=True, maxiter=3)
    assert "lsqr" in capfd.readouterr().err


class Ended(Exception):
    pass


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("which", ["cg", "minres", "restarted", "lsqr", "lsmr", "l1", "wavelet", "low rank", "pdhg"])
def test_a_checkpoint_goes_on_with_the_same_bits(which, dtype, tmp_path):
    make, shape, run = SOLVERS[which]
    A, b, path = make(dtype), ts.stored.array(numbers(shape, dtype, 3)), tmp_path / "c.npz"
    whole = run(A, b, rtol=0.0, maxiter=9)

    def end(i):
        if i.number in (3, 4, 8):
            raise Ended

    saved = ts.solve.Checkpoint(path, every=1)
    for _ in range(3):
        with pytest.raises(Ended):
            run(A, b, rtol=0.0, maxiter=9, checkpoint=saved, callback=end)
    found = run(A, b, rtol=0.0, maxiter=9, checkpoint=saved)
    assert np.array_equal(found.x.numpy(), whole.x.numpy()) and found.history == whole.history
    assert found.iterations == whole.iterations == 9
    # One set of vectors, and what is over is not computed again.
    sets = {name.rsplit(".", 1)[1] for name in os.listdir(tmp_path) if name != "c.npz"}
    assert len(sets) == 1
    again = run(A, b, rtol=0.0, maxiter=9, checkpoint=saved, callback=end)
    assert np.array_equal(again.x.numpy(), whole.x.numpy())
    # More iterations, and looser tolerances than those that ended it.
    assert run(A, b, rtol=0.0, maxiter=11, checkpoint=saved).iterations >= 9


def test_a_checkpoint_of_another_problem_is_refused(tmp_path):
    A, b = hermitian("float64"), numbers((7, 6), "float64", 3)
    path = tmp_path / "c.npz"
    ts.solve.cg(A, ts.stored.array(b), maxiter=2, rtol=0.0, checkpoint=path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    other = b.copy()
    other[0, 0] += 1
    with pytest.raises(ts.ArgumentError, match="another problem: b is not the same"):
        ts.solve.cg(A, ts.stored.array(other), checkpoint=path)
    with pytest.raises(ts.ArgumentError, match="another problem: the operator"):
        ts.solve.cg(2.0 * A, ts.stored.array(b), checkpoint=path)
    with pytest.raises(ts.ArgumentError, match="another problem: the solver"):
        ts.solve.minres(A, ts.stored.array(b), checkpoint=path)
    with pytest.raises(ts.ArgumentError, match="another problem"):  # one in memory
        ts.solve.cg(A, b, checkpoint=path)
    with host_memory(MIB), pytest.raises(ts.ArgumentError, match="give it as much"):
        ts.solve.cg(A, ts.stored.array(b), checkpoint=path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_damaged_checkpoints_are_said(tmp_path):
    A, b, path = hermitian("float64"), ts.stored.array(numbers((7, 6), "float64", 3)), tmp_path / "c.npz"

    def run():
        return ts.solve.cg(A, b, maxiter=3, rtol=0.0, checkpoint=path)

    run()
    (vector,) = tmp_path.glob("c.npz.x.*")
    whole = vector.read_bytes()
    vector.write_bytes(whole[:4096])
    with pytest.raises(OSError, match="c.npz.x"):
        run()
    vector.unlink()
    with pytest.raises(OSError, match="which is not there"):
        run()
    np.save(path.parent / "small.npy", np.zeros(3))
    os.replace(path.parent / "small.npy", vector)
    with pytest.raises(OSError, match="expected float64 of"):
        run()
    path.write_bytes(b"nothing")
    with pytest.raises((OSError, ts.ArgumentError), match="c.npz"):
        run()


KILLED = """
import os, signal, sys
import numpy as np
import tessera as ts
which, path, when, how = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
signal.signal(signal.SIGINT, signal.default_int_handler)
ts.set_backing_dir(sys.argv[5])
ts.set_memory_budget(host=ts.memory_stats("cpu")["in_use"] + (6 << 20))
rng = np.random.default_rng(0)
w = 1 + rng.random((400, 300))
calls = 0
def forward(x):
    global calls
    calls += 1
    if calls == when:
        os.kill(os.getpid(), how)
    return x * 1.0
A = ts.Diagonal(ts.stored.array(w, sys.argv[5] + "/w") if not os.path.exists(sys.argv[5] + "/w")
                else ts.stored.open(sys.argv[5] + "/w"), ("X", "Y"))
A = ts.SimpleLinop(forward, forward, None, ("X", "Y")) @ A if which == "cg" else A
b = ts.stored.array(rng.standard_normal((400, 300)))
try:
    r = getattr(ts.solve, which)(A, b, maxiter=12, rtol=0.0, checkpoint=ts.solve.Checkpoint(path, every=2),
                                 callback=(lambda i: os.kill(os.getpid(), how) if i.number == when else None)
                                 if which != "cg" else None)
except KeyboardInterrupt:
    print("interrupted")
    sys.exit(0)
np.save(path + ".found.npy", r.x.numpy())
print("done", r.iterations)
"""


@pytest.mark.parametrize(
    ("which", "how"),
    [
        ("cg", signal.SIGKILL),
        ("cg", signal.SIGINT),
        ("lsmr", signal.SIGKILL),
        ("gmres", signal.SIGKILL),
        ("fista", signal.SIGKILL),
        ("admm", signal.SIGKILL),
    ],
)
def test_a_killed_solve_goes_on(which, how, tmp_path):
    """Ended at iterations and, where the operator is a function, within an application; then the same bits."""
    folder = tmp_path / "backing"
    folder.mkdir()

    def run(name, when):
        command = [sys.executable, "-c", KILLED, which, str(tmp_path / name), str(when), str(int(how)), str(folder)]
        return subprocess.run(command, capture_output=True, text=True)

    undisturbed = run("whole", 0)
    assert undisturbed.stdout == "done 12\n", undisturbed.stderr
    for when in (3, 5, 4) if which == "cg" else (3, 7, 10):  # applications, or iterations
        ended = run("c", when)
        assert ended.returncode == -signal.SIGKILL or ended.stdout == "interrupted\n", ended.stderr
        assert not (tmp_path / "c.found.npy").exists()
    last = run("c", 0)
    assert last.stdout == "done 12\n", last.stderr
    assert np.array_equal(np.load(tmp_path / "c.found.npy"), np.load(tmp_path / "whole.found.npy"))
    assert [p.name for p in folder.iterdir()] == ["w"]
    assert len({p.name.rsplit(".", 1)[1] for p in tmp_path.glob("c.*") if not p.name.endswith("npy")}) == 1


def test_refusals():
    A, b = tall("float64"), ts.stored.array(numbers((7, 9), "float64", 3))
    with pytest.raises(ts.ArgumentError, match="fista: the proximal map 'function' is a function"):
        ts.solve.fista(A, b, lambda v, t: v)
    for within in (
        P.blocks([(3, P.l1(1.0)), (4, lambda v, t: v)]),
        P.blocks([(7, P.blocks([(9, lambda v, t: v)], 1))]),
    ):
        with pytest.raises(ts.ArgumentError, match="fista: the proximal map 'function' is a function"):
            ts.solve.fista(ts.Identity(("T", "M")), b, within, callback=lambda i: pytest.fail("the solve began"))
    for wrong in (
        P.low_rank(1.0, axis=2),
        P.low_rank(1.0, 3, -3),
        P.wavelet(1.0, axes=(0, -2)),
        P.wavelet(1.0, axes=5),
    ):
        with pytest.raises(ts.ArgumentError, match="axis|axes"):
            ts.solve.fista(A, b, wrong, callback=lambda i: pytest.fail("the solve began"))
    for wrong in (
        P.blocks([(3, P.l1(1.0))]),
        P.l2_squared(1.0, np.ones((3, 9))),
        P.blocks([(7, P.l2_squared(1.0, np.ones(2)))]),
    ):
        with pytest.raises(ts.ShapeError, match="blocks of 3 in all|center has shape"):
            ts.solve.fista(ts.Identity(("T", "M")), b, wrong)
    for wrong in (P.group(1.0, 2), P.simplex(1.0, -3), P.blocks([(7, P.group(1.0, 5))]), P.blocks([(7, P.l1(1.0))], 3)):
        with pytest.raises((ValueError, IndexError), match="axis|axes"):
            ts.solve.fista(ts.Identity(("T", "M")), b, wrong)
    with pytest.raises(ts.DTypeError, match="complex numbers have no order"):
        z = ts.stored.array(numbers((7, 9), "complex128", 3))
        ts.solve.fista(ts.Identity(("T", "M")), z, P.blocks([(6, P.l1(1.0)), (1, P.simplex())]))
    with pytest.raises(ts.ShapeError, match="minres: Dense.*must map b's shape to itself"):
        ts.solve.minres(A, ts.stored.zeros((7, 5)))
    with pytest.raises(ts.ShapeError, match="lsqr: x0 has shape"):
        ts.solve.lsqr(A, b, x0=np.zeros(3))
    with pytest.raises(ts.ShapeError, match="fista: x0 has shape"):
        ts.solve.fista(A, b, x0=np.zeros(3))
    with pytest.raises(ts.DTypeError, match="complex numbers have no order"):
        ts.solve.fista(tall("complex128"), ts.stored.array(numbers((7, 9), "complex128", 3)), P.box(0, 1))
    with pytest.raises(ts.ArgumentError, match="must not be negative"):
        ts.solve.lsmr(A, b, rtol=-1.0)
    with pytest.raises(ts.DTypeError, match="float16"):
        ts.solve.lsqr(A, ts.stored.array(np.ones((7, 9), np.float16)))
    with host_memory(40_000), pytest.raises(ts.OutOfMemory):
        ts.solve.cg(ts.FFT(1, ("T",), ("X", "K")).N, ts.stored.ones((3, 1 << 16), "complex64"))
