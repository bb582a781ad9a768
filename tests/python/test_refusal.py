# SPDX-License-Identifier: Apache-2.0
"""What cannot fit, does not fit or is no file says so before anything is touched: every function that takes a size,
with sizes that no machine has. In a process of its own that may take little, so that a defect harms nobody."""

import json
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tessera as ts

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "fuzz"))
import hostile  # noqa: E402

SIZES = (2**31 + 11, 2**40, 2**62, 2**63 - 1, 10**30)
SIZE_NAMES = {"shape", "n", "num", "size", "repeats", "pad_width", "indices_or_sections", "s", "ncv", "maxiter"}
SIZE_NAMES |= {"oversample", "block", "degree", "grid", "inner"}
DIST = "x = ts.dist.ones(3, split=0); m = ts.dist.ones((2, 3), split=1)"
# Each of these has more elements than there is memory for: refused.
BOTH = """{h}.zeros(N) {h}.ones(N) {h}.empty(N) {h}.full(N,1.5) {h}.eye(N) {h}.eye(3,N) {h}.arange(N) {h}.arange(0,N,1)
{h}.linspace(0,1,N) {h}.zeros((N,N)) {h}.ones((1,N),'complex64') {h}.empty((2,N,3),'complex128') {h}.tile(x,N)
{h}.tile(m,(N,N)) {h}.repeat(x,N) {h}.repeat(m,N,1) {h}.broadcast_to(x,(N,3))+1 {h}.pad(x,N) {h}.pad(m,((0,N),(1,1)))
{h}.diag(x,N) {h}.diag(x,-N) {h}.array_split(x,N) {h}.unstack({h}.broadcast_to({h}.ones(1),(N,)))
{h}.empty_like(x,shape=(N,)) {h}.zeros_like(x,shape=(N,)) {h}.ones_like(x,shape=(N,)) {h}.full_like(x,2,shape=(N,))
{h}.outer({h}.broadcast_to(x[:1],(N,)),x) {h}.broadcast_to(x[:1],(N,)).copy() {h}.broadcast_to(x[:1],(N,)).tolist()
{h}.topk(x,N) {h}.split(x,N) {h}.logspace(0,1,N) {h}.geomspace(1,2,N) {h}.hsplit(x,N) {h}.vsplit(m,N)
{h}.dsplit({h}.ones((1,2,3)),N)"""
# Methods of local arrays, transforms, random numbers, matrices and operators.
REFUSED = """ts.fft.fft(x,N) ts.fft.ifft(x,N) ts.fft.rfft(x,N) ts.fft.irfft(x,N) ts.fft.hfft(x,N) ts.fft.ihfft(x,N)
ts.fft.fft2(m,(N,2)) ts.fft.ifft2(m,(N,2)) ts.fft.fftn(m,(N,2)) ts.fft.ifftn(m,(2,N)) ts.fft.rfftn(m,(2,N))
ts.fft.irfftn(m,(N,N)) ts.fft.fftfreq(N) ts.fft.rfftfreq(N) ts.random.normal(N) ts.random.normal(size=(N,2))
ts.random.uniform((2,N)) ts.random.integers(0,5,N) ts.random.permutation(N) ts.Generator(1).normal(N)
ts.dist.Generator(1).normal(N) ts.matrix.Dense((N,N)) ts.matrix.Dense((N,2))
ts.matrix.Bit((N,3)) ts.matrix.vector(N)
ts.matrix.unit_vector(N,0) ts.matrix.zeros(N) ts.matrix.Diagonal((N,N))
ts.matrix.Identity(N).array() ts.matrix.Identity(N).numpy() ts.Repeat({'R':N},'X','RX')(x)
ts.Repeat({'R':N,'S':N},'X','RSX')(x) ts.Zero('X','Y',N)(x) ts.zeros(N,device='sim:0') ts.ones((N,N),device='sim:0')
ts.empty(N,device='sim:7') ts.full((3,N),1,device='sim:0') ts.eye(N,device='sim:0') ts.arange(N,device='sim:0')
ts.tile(ts.ones(3,device='sim:0'),N) ts.asarray(range(N)) ts.zeros(range(N)) ts.dist.asarray(range(N))
ts.solve.polynomial_coefficients(N) ts.solve.polynomial_preconditioner(A,N) ts.linalg.eigs(A,k=N)
ts.solve.lanczos(A,k=N,shape=(3,)) ts.solve.svd(A,k=N,shape=(3,)) ts.solve.randomized_svd(A,k=N,shape=(3,))
ts.solve.power_method(A,shape=(N,)) ts.check_adjoint(A,shape=(N,)) ts.fit(A,budget=N,shape=(N,))
ts.create_batched_linop(ts.Identity(('X',)),ts.BatchSpec({'X':1}),shape=(N,)) ts.matrix.random_bits((N,N))
ts.matrix.Symmetric(N) ts.matrix.AntiSymmetric(N) ts.matrix.Triangular(N) ts.matrix.TriangularBit(N)
ts.random.random(N) ts.random.standard_normal(N) ts.random.standard_exponential(N) ts.random.standard_cauchy(N)
ts.random.standard_gamma(2,size=N) ts.random.standard_t(2,size=N) ts.random.beta(1,2,size=N)
ts.random.binomial(3,.5,size=N) ts.random.chisquare(2,size=N) ts.random.choice(3,size=N) ts.random.exponential(size=N)
ts.random.gamma(2,size=N) ts.random.geometric(.5,size=N) ts.random.gumbel(size=N) ts.random.laplace(size=N)
ts.random.logistic(size=N) ts.random.lognormal(size=N) ts.random.pareto(2,size=N) ts.random.poisson(size=N)
ts.random.power(2,size=N) ts.random.rayleigh(size=N) ts.random.triangular(0,1,2,size=N) ts.random.weibull(2,size=N)"""
# Sizes that are cut to what there is, or numbers of steps that end when they have converged: done, or refused.
DONE = """ts.diff(x,N) ts.dist.diff(ts.dist.ones(3),N) ts.linalg.matrix_power(ts.eye(3),N) ts.reshape(x,(N,))
ts.dist.reshape(ts.dist.ones(3),(N,)) ts.solve.cg(A,x,maxiter=N) ts.solve.lsqr(A,x,maxiter=N) ts.solve.lsmr(A,x,maxiter=N)
ts.solve.minres(A,x,maxiter=N) ts.solve.gmres(A,x,maxiter=N) ts.solve.gmres(A,x,restart=N)
ts.solve.lanczos(A,k=1,ncv=N,shape=(3,)) ts.solve.lanczos(A,k=1,shape=(3,),maxiter=N)
ts.solve.svd(A,k=1,ncv=N,shape=(3,),maxiter=N) ts.solve.randomized_svd(A,k=1,oversample=N,shape=(3,))
ts.solve.randomized_svd(A,k=1,maxiter=N,shape=(3,)) ts.solve.power_method(A,shape=(3,),maxiter=N)
ts.linalg.eigs(A,k=1,ncv=N,shape=(3,)) ts.linalg.eigs(A,k=1,block=N,shape=(3,)) ts.linalg.eigs(A,k=1,maxiter=N)
ts.solve.fista(A,x,ts.solve.prox.l1(.1),maxiter=N,rtol=1e-2) ts.solve.pdhg(A,x,ts.solve.prox.l1(.1),ts.solve.prox.none(),maxiter=5)
ts.solve.admm(A,x,ts.solve.prox.l1(.1),inner=2,maxiter=N,rtol=1e-2) ts.solve.cg(A,x,check_every=N) ts.roll(x,N) ts.dist.roll(x,N)
ts.dist.cg(A,X,maxiter=N) ts.dist.lsqr(A,X,maxiter=N) ts.dist.lsmr(A,X,maxiter=N) ts.dist.minres(A,X,maxiter=N)
ts.dist.gmres(A,X,maxiter=N) ts.dist.fista(A,X,ts.solve.prox.l1(.1),maxiter=N,rtol=1e-2) ts.dist.power_method(A,X,maxiter=N)
ts.dist.lanczos(A,X,1,maxiter=N) ts.dist.svd(A,X,1,maxiter=N) ts.dist.randomized_svd(A,X,1,oversample=N)
ts.dist.admm(A,X,ts.solve.prox.l1(.1),maxiter=9) ts.dist.pdhg(A,X,ts.solve.prox.l1(.1),ts.solve.prox.none(),maxiter=9)
ts.unravel_index([0],(N,2)) ts.dist.unravel_index(ts.dist.zeros(2,dtype='int64'),(N,2))
ts.random.integers(N) ts.set_memory_budget(host=N) ts.ArrayToBlocks((3,),(N,),(1,)) ts.BlocksToArray((3,),(N,),(1,))
ts.Wavelet(('X',),size=N) ts.split_linop(A,{'X':N}) ts.Roll({'X':N})(x) ts.rot90(m,N) ts.tril(m,N) ts.triu(m,-N)
ts.names.resolve_wildcards(N,N) ts.create_batched_linop(A,ts.BatchSpec({'X':N}),shape=(3,))"""


def expressions():
    """(what to run first, expression, must it be refused)"""
    calls = [("x = ts.ones(3); m = ts.ones((2, 3))", e.replace("{h}", "ts"), True) for e in BOTH.split()]
    calls += [(DIST, e.replace("{h}", "ts.dist"), True) for e in BOTH.split()]
    local = "x = ts.ones(3); m = ts.ones((2, 3)); X = ts.dist.ones(3, split=0); A = ts.Diagonal([1., 2., 3.], ('X',))"
    calls += [(local, e, True) for e in REFUSED.split()]
    calls += [(local, e, False) for e in DONE.split()]
    return calls


def child():
    """Runs all of them and says what came of each."""
    resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30))
    wrong, cases = [], 0
    ts.zeros(1, device="sim:0")
    for before, expression, refused in expressions():
        for n in SIZES:
            print(f"{expression} N={n}", file=sys.stderr, flush=True)
            names = {"ts": ts, "N": n}
            exec(before, names)
            cases += 1
            try:
                eval(expression, names)
                if refused:
                    wrong.append(f"{expression} with N = {n} was done")
            except (ts.Error, MemoryError, ValueError, OverflowError, TypeError) as e:
                if hostile.improper(e):
                    wrong.append(f"{expression} with N = {n}: {type(e).__name__}: {e}")
            except BaseException as e:  # noqa: BLE001
                wrong.append(f"{expression} with N = {n}: {type(e).__name__}: {e}")
            ts.set_memory_budget(host=0)
    # Not ru_maxrss, in which a program finds what the one that started it had.
    status = Path("/proc/self/status").read_text()
    most = int(status.split("VmHWM:")[1].split()[0]) * 1024
    print(json.dumps({"wrong": wrong, "cases": cases, "most": most}))


def test_every_size_is_refused_before_anything_is_touched():
    command = [sys.executable, str(HERE / "test_refusal.py"), "child"]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=600, env=dict(os.environ, TESSERA_POISON="0")
    )
    at = ended.stderr.strip().splitlines()[-1:]
    assert ended.returncode == 0, f"ended with {ended.returncode} at {at}: {ended.stderr[-2000:]}"
    said = json.loads(ended.stdout.splitlines()[-1])
    assert not said["wrong"], "\n".join(said["wrong"])
    assert said["cases"] > 600
    assert said["most"] < 1 << 30, "memory was touched"


def test_every_function_with_a_size_is_there():
    listed = " ".join(e for _, e, _ in expressions())
    missing = []
    for name, function in hostile.callables():
        if name.startswith(("ts.compute", "ts.names", "ts.solve.prox")) or isinstance(function, type):
            continue
        if name.startswith(("ts.imaging", "ts.split", "ts.stored")):  # fuzz/one_wrong.py gives these every such size
            continue
        if SIZE_NAMES & set(hostile.keywords_of(function)) and f"{name}(" not in listed:
            missing.append(name)
    assert not missing, "add these to the expressions above"


def test_more_than_the_machine_has():
    with pytest.raises(ts.OutOfMemory, match="are left"):
        ts.empty(2**42)  # untouched whatever happens
    with pytest.raises(ts.OutOfMemory, match="are left"):
        ts.zeros((158114 * 8, 158114))
    with pytest.raises(MemoryError, match="sim:0"):
        ts.empty(2**42, device="sim:0")
    with pytest.raises(ts.OutOfMemory, match="are left"):
        ts.Repeat({"R": 2**40}, "X", "RX")(ts.ones(3))
    assert ts.zeros(3).tolist() == [0, 0, 0]


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_zeros_touches_no_pages():
    with ts.config.using(poison=False):
        before = resident()
        x = ts.zeros(2**25)  # 256 MiB
        assert resident() < before + 2**26
        x[2**24] = 1
        assert resident() < before + 2**26
        assert float(x[2**24 - 1 : 2**24 + 2].sum()) == 1
        del x
        y = ts.ones(2**25)
        del y
        z = ts.zeros(2**25)  # what was cached holds ones
        assert float(z[::4096].sum()) == 0
    assert float(ts.zeros(2**24).sum()) == 0  # poisoned again


def in_time(call, seconds=20):
    """The exception of a call that must not wait for anybody."""
    caught = []

    def run():
        try:
            call()
            caught.append(None)
        except Exception as e:  # noqa: BLE001
            caught.append(e)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert caught, "it waits for ever"
    return caught[0]


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.h5", "a.json"])
def test_a_pipe_that_nobody_reads_is_refused(tmp_path, name):
    pipe = str(tmp_path / name)
    os.mkfifo(pipe)
    calls = [lambda: ts.load(pipe)] if name != "a.json" else [lambda: ts.trace(pipe).__enter__()]
    if name == "a.npy":
        calls += [lambda: ts.save(pipe, ts.ones(3)), lambda: ts.save(pipe, np.ones(3)), lambda: ts.dist.load(pipe)]
    if name == "a.npz":
        calls += [lambda: ts.save(pipe, x=ts.ones(3)), lambda: ts.solve.cg(ts.Scalar(2.0), [1.0], checkpoint=pipe)]
    if name == "a.h5":
        calls = [lambda: ts.dist.load(pipe)]
    for call in calls:
        error = in_time(call)
        assert isinstance(error, (OSError, TypeError, ts.Error)), error


def test_a_pipe_with_a_reader_is_written(tmp_path):
    pipe = str(tmp_path / "b.npy")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    x = ts.arange(5)
    ts.save(pipe, x)
    data = tmp_path / "c.npy"
    data.write_bytes(os.read(reader, 10000))
    os.close(reader)
    assert np.load(data).tolist() == x.tolist()


def test_unstack_gives_views_of_many_parts(device):
    x = ts.zeros(2**15, device=device)
    parts = ts.unstack(x)
    assert len(parts) == 2**15 and parts[7].shape == ()
    m = ts.arange(6).reshape(2, 3)
    assert [p.tolist() for p in ts.unstack(m, axis=1)] == [[0, 3], [1, 4], [2, 5]]
    assert [p.tolist() for p in ts.unstack([1.0, 2.0])] == [1.0, 2.0]
    assert ts.unstack(ts.zeros((0, 3))) == ()


MEMORY_ENDS = """
import resource, numpy, tessera as ts
ts.ones((600, 600)) @ ts.ones((600, 600))  # a thread of OpenBLAS waits for ever where it finds no memory for itself
x = ts.broadcast_to(ts.ones(1), (3, 10**7))
most = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (200 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for call in (x.tolist, lambda: list(x[0]), lambda: ts.unstack(x[0]), lambda: x.numpy().tolist(), lambda: x + 1):
    try:
        call()
        raise SystemExit("memory did not end")
    except MemoryError as e:
        assert "std::" not in str(e), e
print("fine")
"""


def test_memory_that_ends_is_a_memory_error():
    few = dict(os.environ, OPENBLAS_NUM_THREADS="1", TESSERA_NUM_THREADS="2")  # each thread takes memory of its own
    ended = subprocess.run([sys.executable, "-c", MEMORY_ENDS], capture_output=True, text=True, timeout=300, env=few)
    assert ended.stdout.strip() == "fine", ended.stderr[-2000:]


@pytest.mark.parametrize("solver", ["cg", "minres", "lsqr", "gmres"])
def test_checkpoints_without_one_of_their_entries(tmp_path, solver):
    """Named and refused as a damaged file, or as another's; never looked up in vain."""
    A, b = ts.Diagonal(np.linspace(1.0, 9.0, 12), ("X",)), np.ones(12)
    whole, damaged = str(tmp_path / "whole.npz"), str(tmp_path / "damaged.npz")
    solve = getattr(ts.solve, solver)
    solve(A, b, maxiter=3, rtol=0.0, checkpoint=whole)
    with np.load(whole) as file:
        entries = dict(file)
    assert {"format", "numbers", "cells", "history"} < set(entries)
    for lacking in entries:
        np.savez(damaged, **{name: array for name, array in entries.items() if name != lacking})
        other = lacking == "format" or lacking.startswith("about/")
        with pytest.raises(ts.ArgumentError if other else ts.IoError) as caught:
            solve(A, b, maxiter=5, rtol=0.0, checkpoint=damaged)
        assert "damaged.npz" in str(caught.value), lacking
        assert other or lacking.removeprefix("state/") in str(caught.value)


if __name__ == "__main__" and sys.argv[1:] == ["child"]:
    child()
