# SPDX-License-Identifier: Apache-2.0
"""What all solvers share: one interface, no allocation in iterations, checkpoints that survive a kill."""

import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from support import on
from test_solvers import dense, random_matrix, random_vector, with_eigenvalues

import tessera as ts

solve = ts.solve


def all_solvers(device):
    """name -> solve(**options), on problems that need more than twenty iterations."""
    rng = np.random.default_rng(5)
    p = with_eigenvalues(rng, np.geomspace(1e-3, 1, 60))
    w = random_matrix(rng, 40, 60, "complex128")
    b, c = random_vector(rng, 60, "complex128"), random_vector(rng, 40, "complex128")
    P, W, B, C = dense(device, p), dense(device, w), on(device, b), on(device, c)
    return {
        "cg": lambda **o: solve.cg(P, B, **o),
        "lsqr": lambda **o: solve.lsqr(W, C, **o),
        "lsmr": lambda **o: solve.lsmr(W, C, **o),
        "minres": lambda **o: solve.minres(P, B, **o),
        "gmres": lambda **o: solve.gmres(P, B, restart=9, **o),
        "fista": lambda **o: solve.fista(W, C, solve.prox.l1(0.01), **o),
        "fista that searches": lambda **o: solve.fista(W, C, solve.prox.l1(0.01), step="search", **o),
        "pdhg": lambda **o: solve.pdhg(W, C, None, solve.prox.l1(0.01), **o),
        "pdhg of two terms": lambda **o: solve.pdhg([W, P], [C, B], [None, solve.prox.l1(0.1)], **o),
        "admm": lambda **o: solve.admm(W, C, solve.prox.l1(0.01), **o),
        "power_method": lambda **o: solve.power_method(P, B, **o),
        "lanczos": lambda **o: solve.lanczos(P, 3, ncv=9, **{"dtype": "complex128", **o}),
        "svd": lambda **o: solve.svd(W, 3, ncv=9, **{"dtype": "complex128", **o}),
        "randomized_svd": lambda **o: solve.randomized_svd(W, 3, dtype="complex128", **o),
    }


NAMES = list(all_solvers("cpu"))


@pytest.mark.parametrize("name", NAMES)
def test_one_interface(device, name, capfd, tmp_path):
    run = all_solvers(device)[name]
    seen = []
    r = run(rtol=0.0, atol=0.0, maxiter=7, callback=seen.append, progress=True, checkpoint=tmp_path / "c.npz")
    assert [i.number for i in seen] == list(range(1, 8)) and r.iterations == 7 and not r.converged
    assert r.history[1:] == [i.residual for i in seen] and r.reason == "maxiter"
    assert name.split()[0] in capfd.readouterr().err and (tmp_path / "c.npz").exists()
    assert isinstance(r.x, ts.Array) and str(r.x.device) == device
    stopped = run(rtol=0.0, maxiter=50, callback=lambda i: i.number < 3)
    assert stopped.iterations == 3 and "callback" in stopped.reason
    with pytest.raises(ZeroDivisionError):
        run(callback=lambda i: 1 / 0)
    with pytest.raises(ValueError, match="negative"):
        run(rtol=-1.0)


@pytest.mark.parametrize("name", ["cg", "lsqr", "lsmr", "minres", "fista", "pdhg", "admm", "power_method"])
def test_check_every_changes_nothing(device, name):
    run = all_solvers(device)[name]
    each, seldom = run(rtol=1e-2, check_every=1), run(rtol=1e-2, check_every=13)
    assert each.iterations == seldom.iterations and each.history == seldom.history
    assert np.array_equal(each.x.numpy(), seldom.x.numpy())


@pytest.mark.parametrize("name", NAMES)
def test_iterations_allocate_nothing(device, name):
    counted = {}

    def count(i):
        c = ts.counters()
        counted[i.number] = c["pool_requests"] + c["plans"]

    all_solvers(device)[name](rtol=0.0, maxiter=25, callback=count)
    assert counted[25] == counted[12]


def test_bad_input(device):
    A = ts.Dense(on(device, np.ones((3, 2))), ("M", "N"), ("N",), ("M",))
    b = on(device, np.ones(2))
    for solver in (solve.cg, solve.minres, solve.gmres):
        with pytest.raises(ts.ShapeError, match="must map b's shape to itself"):
            solver(A, b)
    with pytest.raises(ts.Error):
        solve.lsqr(A, b)
    square = ts.Diagonal(on(device, np.ones(2)), ("X",))
    with pytest.raises(ts.DTypeError, match="float16"):
        solve.cg(square, b.astype("float16"))
    with pytest.raises(ts.ShapeError, match="x0 has shape"):
        solve.cg(square, b, on(device, np.ones(3)))
    with pytest.raises(TypeError):
        solve.cg(np.eye(2), b)
    with pytest.raises(ts.DeviceError):
        solve.cg(square, ts.ones(2, device="sim:3"))


# --- operators over several devices -----------------------------------------------------------------


def batch_solvers(split):
    """name -> solve(**options) for batches of matrices, cut over two devices or not."""
    rng = np.random.default_rng(6)
    A = ts.Dense(0.3 * rng.standard_normal((6, 9, 7)), ts.Dim("TMN"), ts.Dim("TNX"), ts.Dim("TMX"))
    b, c = rng.standard_normal((6, 7, 4)), rng.standard_normal((6, 9, 4))
    if split:
        A = ts.create_batched_linop(A, ts.BatchSpec({"T": 2}, device_matrix=["sim:0", "sim:1"]))
    P = A.N + 0.5 * ts.Identity()
    M = ts.Diagonal(np.linspace(1, 2, 42).reshape(6, 7, 1), ts.Dim("TNX"), broadcast_dims=ts.Dim("X"))
    G = ts.FiniteDifference("N", ts.Dim("TNX"))
    prox = solve.prox
    return {
        "cg": lambda **o: solve.cg(P, b, **o),
        "cg with M": lambda **o: solve.cg(P, b, M=M, **o),
        "lsqr": lambda **o: solve.lsqr(A, c, **o),
        "lsmr": lambda **o: solve.lsmr(A, c, **o),
        "minres": lambda **o: solve.minres(P, b, shift=0.2, **o),
        "gmres": lambda **o: solve.gmres(P, b, restart=4, M=M, **o),
        "fista": lambda **o: solve.fista(A, c, prox.l1(0.1), **o),
        "fista that searches": lambda **o: solve.fista(A, c, prox.l1(0.1), step="search", **o),
        "fista with a function": lambda **o: solve.fista(A, c, lambda v, t: v / (1 + t), **o),
        "pdhg": lambda **o: solve.pdhg(A, c, prox.l2(1.0), prox.group(0.1, [0]), **o),
        "pdhg of three terms": lambda **o: solve.pdhg(
            [A, G, ts.Identity()], [c, None, b], [None, prox.group(0.1, 0), lambda v, t: v / (1 + t)], **o
        ),
        "admm": lambda **o: solve.admm(A, c, prox.l1(0.1), G=G, inner=3, **o),
        "power_method": lambda **o: solve.power_method(P, b, dim="N", **o),
        "lanczos": lambda **o: solve.lanczos(P, 2, ncv=6, shape=(6, 7, 4), **o),
        "svd": lambda **o: solve.svd(A, 2, ncv=6, shape=(6, 7, 4), **o),
        "randomized_svd": lambda **o: solve.randomized_svd(A, 2, shape=(6, 7, 4), **o),
    }


@pytest.mark.parametrize("name", list(batch_solvers(False)))
def test_over_two_devices(name, tmp_path):
    options = {"rtol": 0.0, "maxiter": 11}
    whole, split = batch_solvers(False)[name], batch_solvers(True)[name]
    expected, found = whole(**options), split(**options)
    assert found.iterations == expected.iterations and str(found.x.device) == "cpu"
    size = np.abs(expected.x.numpy()).max()
    assert not np.abs(found.x.numpy() - expected.x.numpy()).max() > 1e-8 * size
    # Stopped and gone on with, it is the same solve bit for bit; the callback sees what the result will be.
    seen = []
    split(checkpoint=tmp_path / "c.npz", callback=lambda i: seen.append(i.x) or i.number < 5, **options)
    assert len(seen) == 5
    again = split(checkpoint=tmp_path / "c.npz", **options)
    assert again.history == found.history and again.x.numpy().tobytes() == found.x.numpy().tobytes()


# --- checkpoints ----------------------------------------------------------------------------------

SCRIPT = """
import sys, time
sys.path.insert(0, {folder!r})
import numpy as np, tessera as ts
from test_solver_runs import all_solvers
slow = {slow}
def wait(i):
    print(i.number, flush=True)
    if slow: time.sleep(0.01 if i.number < 30 else 3600)  # whoever kills it may be late
r = all_solvers({device!r})[{name!r}](rtol=0.0, maxiter=40, callback=wait,
                                      checkpoint=ts.solve.Checkpoint({path!r}, every=1))
np.savez({out!r}, x=r.x.numpy(), history=r.history, iterations=r.iterations)
"""


def start(name, device, path, out, slow):
    folder = os.path.dirname(os.path.abspath(__file__))
    code = SCRIPT.format(folder=folder, slow=slow, device=device, name=name, path=str(path), out=str(out))
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", NAMES)
def test_killed_and_resumed_bit_for_bit(main_device, name, tmp_path):
    whole = all_solvers(main_device)[name](rtol=0.0, maxiter=40)
    path, out = tmp_path / "run.npz", tmp_path / "out.npz"
    process = start(name, main_device, path, out, slow=True)
    for line in process.stdout:
        if int(line) >= 14:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL and path.exists() and not out.exists()
    assert zipfile.is_zipfile(path)
    again = start(name, main_device, path, out, slow=False)
    numbers = [int(line) for line in again.stdout]
    assert again.wait() == 0
    assert numbers[0] >= 14 and numbers[-1] == whole.iterations  # it went on, it did not begin again
    resumed = np.load(out)
    assert int(resumed["iterations"]) == whole.iterations > 30
    assert resumed["history"].tolist() == whole.history
    assert resumed["x"].tobytes() == whole.x.numpy().tobytes()


def test_checkpoint_of_another_problem_is_refused(device, tmp_path):
    path = tmp_path / "c.npz"
    solvers = all_solvers(device)
    solvers["cg"](maxiter=3, checkpoint=path)
    with pytest.raises(ValueError, match="belongs to another problem: the solver is not the same"):
        solvers["minres"](maxiter=3, checkpoint=path)
    A = ts.Diagonal(on(device, np.ones(3)), ("X",))
    solve.cg(A, on(device, np.ones(3)), checkpoint=tmp_path / "d.npz")
    with pytest.raises(ValueError, match="b is not the same"):
        solve.cg(A, on(device, np.array([1.0, 1.0, 2.0])), checkpoint=tmp_path / "d.npz")
    with pytest.raises(ValueError, match="the operator is not the same"):
        B = ts.Diagonal(on(device, np.array([1.0, 1.0, 2.0])), ("X",))
        solve.cg(B, on(device, np.ones(3)), checkpoint=tmp_path / "d.npz")
    (tmp_path / "e.npz").write_bytes(b"not a zip file at all")
    with pytest.raises(ts.Error):
        solve.cg(A, on(device, np.ones(3)), checkpoint=tmp_path / "e.npz")
    with pytest.raises(OSError):
        solve.cg(A, on(device, np.ones(3)), checkpoint=tmp_path / "no" / "folder.npz")


def test_a_checkpoint_is_a_solution_found(device, tmp_path):
    A = ts.Diagonal(on(device, np.geomspace(1, 100, 50)), ("X",))
    b = on(device, np.ones(50))
    path = tmp_path / "c.npz"
    loose = solve.cg(A, b, rtol=1e-2, checkpoint=path)
    calls = []
    again = solve.cg(A, b, rtol=1e-2, checkpoint=path, callback=calls.append)
    assert not calls and again.converged and again.x.tolist() == loose.x.tolist()
    tight = solve.cg(A, b, rtol=1e-9, maxiter=500, checkpoint=path)
    assert tight.converged and tight.iterations > loose.iterations
    assert len(tight.history) == tight.iterations + 1


@pytest.mark.parametrize(
    "solve_for_long",
    [
        "ts.solve.cg(A, np.ones(200000), rtol=0.0, maxiter=10**7)",
        "ts.solve.admm(A, np.ones(200000), ts.solve.prox.l1(0.1), inner=2**62)",
        "ts.solve.admm(A, ts.stored.ones(200000), ts.solve.prox.l1(0.1), inner=2**62)",
    ],
)
def test_control_c_stops_a_solve(solve_for_long):
    code = (
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it\n"
        "import numpy as np, tessera as ts\n"
        "A = ts.Diagonal(np.geomspace(1e-9, 1, 200000), ('X',))\n"
        "try:\n"
        "    print('go', flush=True)\n"
        f"    {solve_for_long}\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "go\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=600)[0] == "stopped\n"
    finally:
        process.kill()


@pytest.mark.parametrize("name", ("cg", "minres", "lsqr", "lsmr"))
def test_a_second_solve_records_nothing(device, name):
    rng = np.random.default_rng(3)
    A = dense(device, with_eigenvalues(rng, np.geomspace(1e-2, 1, 30)))
    b, c = (on(device, random_vector(rng, 30, "complex128")) for _ in range(2))
    run = getattr(solve, name)
    first = run(A, b, rtol=1e-10)
    kept = first.x.numpy().copy()
    before = ts.counters()["plans"]
    other, again = run(A, c, rtol=1e-10), run(A, b, rtol=1e-10)
    assert ts.counters()["plans"] == before
    assert np.array_equal(first.x.numpy(), kept) and np.array_equal(again.x.numpy(), kept)
    assert again.history == first.history and other.history != first.history
