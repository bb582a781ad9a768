# SPDX-License-Identifier: Apache-2.0
"""Arrays on disk: keys, formulas, reductions and products beside NumPy, and jobs that are killed."""

import ast
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support import ALL, draw_numbers, host_memory, on, tolerance

import tessera as ts

SHAPES = [(), (0,), (1,), (7,), (5, 3), (3, 0, 2), (4, 1, 3)]


def equal(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", SHAPES)
def test_numbers_come_back(shape, dtype):
    x = draw_numbers(np.random.default_rng(0), shape, dtype)
    s = ts.stored.array(x)
    assert s.shape == x.shape and s.ndim == x.ndim and s.size == x.size and s.nbytes == x.nbytes
    assert str(s.dtype) == dtype
    assert equal(s[...], x) and equal(np.asarray(s), x) and equal(s.numpy(), x)
    assert "StoredArray" in repr(s) and dtype in repr(s)


def random_key(rng, shape):
    """Integers (of NumPy too), slices with any step, None and an ellipsis."""
    parts = []
    for n in shape[: rng.integers(0, len(shape) + 1)]:
        kind = rng.integers(0, 3 if n else 1)
        if kind == 0:
            ends = [None, *range(-n - 2, n + 3)]
            step = rng.choice([None, 1, 2, 3, -1, -2])
            parts.append(slice(rng.choice(ends), rng.choice(ends), step))
        else:
            i = rng.integers(-n, n)
            parts.append(i if kind == 1 else int(i))
    if rng.integers(0, 2):
        parts.insert(rng.integers(0, len(parts) + 1), None)
    if rng.integers(0, 2):
        parts.append(Ellipsis)
    return tuple(parts)


@pytest.mark.parametrize("seed", range(60))
def test_keys_read_and_write_as_in_numpy(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 4)))
    x = draw_numbers(rng, shape, "float32")
    s = ts.stored.array(x)
    for _ in range(10):
        key = random_key(rng, shape)
        assert equal(s[key], x[key]), key
        value = draw_numbers(rng, x[key].shape, "int16") if rng.integers(0, 2) else 5
        x[key] = value
        s[key] = ts.stored.array(value) if rng.integers(0, 3) == 0 and np.ndim(value) else value
        assert equal(s[...], x), key


@pytest.mark.parametrize("seed", range(20))
def test_keys_of_more_than_memory_has_room_for(seed):
    """What lies between the elements is not held, nor what is read and written at once: `room` is less than half."""
    rng = np.random.default_rng(seed)
    shape = [(600, 610), (40, 90, 100), (370_000,)][seed % 3]
    x = rng.integers(-100, 100, shape).astype("float64")  # 2.9 MB
    s = ts.stored.array(x)
    steps = [int(rng.choice([7, 13, -1, -5, -20])) for _ in shape]
    key = (None, *(slice(None, None, step) for step in steps))
    some, room = x[key], 1_200_000
    with host_memory(room + some.nbytes):
        assert equal(s[key], some)
    small = tuple(1 if rng.integers(0, 2) else n for n in some.shape)
    value = rng.integers(-100, 100, small).astype("float32")
    twice = x * 2
    source = ts.stored.array(twice)
    whole = tuple(slice(None, None, -1) for _ in shape)
    x[key] = value
    twice[whole] = twice + x
    with host_memory(room):
        s[key] = value
        source[whole] = source + s  # read as it was, whatever is written meanwhile
        with pytest.raises(ValueError, match="could not broadcast"):
            s[whole] = ts.stored.zeros((3, *shape))
    assert equal(s[...], x) and equal(source[...], twice)


def test_keys_that_are_refused():
    s = ts.stored.zeros((3, 4))
    masks = [True, (0, False), np.bool_(True), (np.array([True, False, True]),)]
    for key in [(3,), (0, 4), (0, -5), (0, 0, 0), (..., ...), "a", [1, 2], 1.5, *masks]:
        with pytest.raises(IndexError):
            s[key]
        with pytest.raises(IndexError):
            s[key] = 1
    with pytest.raises(ValueError, match="broadcast"):
        s[0] = [1, 2, 3]


UNARY = ["negative", "square", "conj", "exp", "sqrt", "sin", "abs", "isnan", "sign", "real", "imag"]
BINARY = ["add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "less", "equal", "hypot"]


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
def test_functions_and_operators_as_in_memory(dtype):
    rng = np.random.default_rng(1)
    x, y = draw_numbers(rng, (40, 30), dtype), draw_numbers(rng, (30,), dtype)
    a, b, s, t = ts.asarray(x), ts.asarray(y), ts.stored.array(x), ts.stored.array(y)
    with np.errstate(all="ignore"):
        for name in UNARY + BINARY:
            function, given, stored = getattr(ts, name), (a, b)[: 2 if name in BINARY else 1], (s, t)
            try:
                wanted = function(*given)
            except Exception as error:
                with pytest.raises(type(error)):
                    function(*stored[: len(given)])[...]
                continue
            made = function(*stored[: len(given)])
            assert isinstance(made, ts.stored.StoredArray) and made.is_formula, name
            assert equal(made[...], wanted), name
            if hasattr(np, name):
                assert equal(getattr(np, name)(*stored[: len(given)])[...], wanted), name
    for made, wanted in [
        (s + t, a + b),
        (2 - s, 2 - a),
        (s * y, a * b),
        (-s, -a),
        (s == t, a == b),
        (s**2, a**2),
        (s.T, a.T),
    ]:
        assert equal(made[...], wanted)


def test_a_formula_is_computed_once():
    s = ts.stored.array(np.arange(6.0))
    f = s * 2
    assert f.is_formula
    with pytest.raises(ValueError, match="formula"):
        f[0] = 1
    assert f.compute() is f and not f.is_formula
    f[0] = 9  # its own file
    assert f[...].tolist() == [9, 2, 4, 6, 8, 10] and s[0].item() == 0


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("name", ["sum", "mean", "min", "max"])
def test_reductions(name, dtype):
    rng = np.random.default_rng(2)
    for shape in [(6, 5, 4), (7,), ()]:
        x = draw_numbers(rng, shape, dtype)
        a, s = ts.asarray(x), ts.stored.array(x)
        for axis in [None, *range(-len(shape), len(shape)), tuple(range(len(shape)))]:
            for keepdims in (False, True):
                wanted = getattr(ts, name)(a, axis=axis, keepdims=keepdims)
                for made in (
                    getattr(ts, name)(s, axis=axis, keepdims=keepdims),
                    getattr(s, name)(axis=axis, keepdims=keepdims),
                ):
                    assert made.shape == wanted.shape and made.dtype == wanted.dtype
                    assert np.allclose(made.numpy(), wanted.numpy(), rtol=tolerance(dtype, x.size), atol=0)


@pytest.mark.parametrize("first", ALL)
def test_products(first):
    """In the dtype of the product in memory; integers wrap as there, and half precision is summed in single."""
    rng = np.random.default_rng(3)
    for second in ALL:
        for m, k, n in [(5, 4, 3), (1, 7, 1), (0, 2, 3), (3, 0, 2), (60, 50, 40)]:
            x, y = draw_numbers(rng, (m, k), first), draw_numbers(rng, (k, n), second)
            wanted = ts.matmul(x, y).numpy()
            products = [ts.stored.array(x) @ ts.stored.array(y), ts.matmul(ts.stored.array(x), y)]
            for made in (*products, x @ ts.stored.array(y)):
                assert isinstance(made, ts.stored.StoredArray) and made.dtype == wanted.dtype
                if wanted.dtype.kind in "biu":
                    assert equal(made, wanted)
                else:
                    scale = max(1.0, np.abs(wanted.astype("complex128")).max(initial=0))
                    error = np.abs(made.numpy().astype("complex128") - wanted).max(initial=0)
                    assert not error > tolerance(wanted.dtype, k) * scale


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16"])
@pytest.mark.parametrize("budget", [300_000, 64 << 20])
def test_products_under_budgets_are_exact(dtype, budget, tmp_path):
    """Of numbers that wrap; turned factors, one factor twice, and as a job."""
    rng = np.random.default_rng(4)
    low, high = (0, 2) if dtype in ("bool", "float16") else (-(2**31), 2**31)
    x, y = (rng.integers(low, high, s).astype(dtype) for s in ((170, 130), (130, 190)))
    a, b = ts.stored.array(x), ts.stored.array(y)
    with host_memory(budget):
        made = [a @ b, b.T @ a.T, a.T @ a, ts.stored.matmul(a, b, tmp_path / "c")]
    for c, wanted in zip(made, [x @ y, y.T @ x.T, x.T @ x, x @ y], strict=True):
        assert equal(c, wanted)


def test_functions_without_a_twin_refuse_and_say_so():
    s = ts.stored.zeros((3, 3))
    for call in (lambda: ts.cumsum(s), lambda: ts.asarray(s), lambda: ts.Toeplitz(s[:, 0], s, "X", ("X",))):
        with pytest.raises((TypeError, ValueError), match="StoredArray|an array on disk"):
            call()


def test_arrays_of_other_devices_are_not_moved_silently(device):
    n = np.arange(16.0).reshape(4, 4) + 20 * np.eye(4)
    a, x, v = ts.stored.array(n), on(device, n), on(device, np.arange(4.0))
    calls = {
        "add": [lambda: a + x, lambda: x + a, lambda: ts.add(a, v), lambda: np.add(x, a), lambda: a + v[2]],
        "less": [lambda: a < x],
        "where": [lambda: ts.where(a > 3, x, a), lambda: ts.where(x > 3, a, 0.0)],
        "matmul": [lambda: a @ x, lambda: x @ a, lambda: ts.matmul(a, x), lambda: ts.stored.matmul(x, x)],
        "solve": [lambda: ts.linalg.solve(a, v), lambda: ts.linalg.solve(x, ts.stored.ones(4))],
        "solve_triangular": [lambda: ts.linalg.solve_triangular(a, x)],
    }
    for who, some in calls.items():
        for call in some:
            if device == "cpu":
                assert isinstance(call(), ts.stored.StoredArray)
                continue
            with pytest.raises(ts.DeviceError, match=f'^{who}: an array on disk beside one on {device}; .*to."cpu".'):
                call()
    if device != "cpu":
        with pytest.raises(ts.DeviceError, match=device):
            a[0] = v
    assert equal(a[...], n)
    assert equal(ts.stored.array(x)[...], n)  # which says what it does


def test_explain_tells_the_bytes():
    x = np.arange(20000.0).reshape(100, 200)
    a, b = ts.stored.array(x), ts.stored.array(x)
    text = ((a - b) ** 2).explain("sum")
    assert text.count("reads 160000 bytes") == 2 and "in all: reads 320000 bytes, writes 0" in text


def test_work_stays_within_the_budget(tmp_path):
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((700, 600)), rng.standard_normal((600, 500))
    a, b = ts.stored.array(x, tmp_path / "a"), ts.stored.array(y, tmp_path / "b")
    before = ts.memory_stats("cpu")["in_use"]
    ts.set_memory_budget(host=before + (1 << 20))
    try:
        c = (a @ b).transpose()
        total = (c * c).sum().item()
    finally:
        ts.set_memory_budget(host=0)
    assert np.allclose(np.asarray(c), (x @ y).T, rtol=1e-12, atol=1e-10)
    assert total == pytest.approx(((x @ y) ** 2).sum(), rel=1e-12)


def test_files_that_stay(tmp_path):
    path = tmp_path / "x.tiles"
    x = np.arange(12, dtype="int16").reshape(3, 4)
    ts.stored.array(x, path)
    with pytest.raises(OSError, match="exists"):
        ts.stored.array(x, path)
    with pytest.raises(OSError):
        ts.stored.open(path)[0] = 1
    ts.stored.open(path, "r+")[1] = 7
    x[1] = 7
    assert equal(ts.stored.open(path)[...], x)
    with pytest.raises(ValueError, match="mode"):
        ts.stored.open(path, "w")
    with pytest.raises(OSError):
        ts.stored.open(tmp_path / "none.tiles")
    (tmp_path / "bad.tiles").write_bytes(b"no tiles" * 1000)
    with pytest.raises(OSError, match="not a tiled file"):
        ts.stored.open(tmp_path / "bad.tiles")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.tiles", "x.tiles"]


JOB = """
import sys
import tessera as ts
ts.set_memory_budget(host=ts.memory_stats("cpu")["in_use"] + (2 << 20))
ts._tessera._stored_mark_interval(0.0)
folder, which = sys.argv[1:]
a, b = ts.stored.open(folder + "/a"), ts.stored.open(folder + "/b")
print("begins", flush=True)
if which == "matmul":
    ts.stored.matmul(a, b, folder + "/c")
elif which == "transpose":
    a.transpose(path=folder + "/c")
elif which == "cholesky":
    ts.stored.cholesky(a, path=folder + "/c")
elif which == "solve":
    ts.stored.solve(a, b, path=folder + "/c")
elif which == "inverse":
    ts.stored.inverse(a, path=folder + "/c")
elif which == "sort":
    ts.stored.sort(a, path=folder + "/c")
else:
    (ts.sqrt(ts.abs(a)) * 2 - a).save(folder + "/c")
"""


def operands(which):
    rng = np.random.default_rng(5)
    if which == "sort":
        return rng.standard_normal(600_000), np.zeros(1)
    if which in ("cholesky", "solve", "inverse"):
        a = rng.standard_normal((700, 700))
        return a @ a.T + np.eye(700), rng.standard_normal((700, 300))
    return rng.standard_normal((900, 700)), rng.standard_normal((700, 800))


def numpys(which, a, b):
    if which == "formula":
        return np.sqrt(abs(a)) * 2 - a
    functions = {"matmul": np.matmul, "solve": np.linalg.solve}
    functions |= {"transpose": lambda a, b: a.T, "sort": lambda a, b: np.sort(a)}
    functions |= {"cholesky": lambda a, b: np.linalg.cholesky(a), "inverse": lambda a, b: np.linalg.inv(a)}
    return functions[which](a, b)


@pytest.mark.parametrize("which", ["matmul", "transpose", "formula", "cholesky", "solve", "inverse", "sort"])
def test_a_job_that_is_killed_goes_on(tmp_path, which):
    a, b = operands(which)
    ts.stored.array(a, tmp_path / "a")
    ts.stored.array(b, tmp_path / "b")
    environment = dict(os.environ, TESSERA_NUM_THREADS="1")
    command = [sys.executable, "-c", JOB, str(tmp_path), which]
    began = time.monotonic()
    subprocess.run(command, check=True, env=environment, capture_output=True)
    seconds = time.monotonic() - began
    result = tmp_path / "c"
    wanted = result.read_bytes()
    expected = numpys(which, a, b)
    assert np.allclose(ts.stored.open(result).numpy(), expected, rtol=1e-6, atol=1e-8 * abs(expected).max())
    draw = random.Random(which)
    moments = 200 if os.environ.get("TESSERA_LARGE") else 3
    for _ in range(moments):
        result.unlink()
        for _ in range(50):
            with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
                job.stdout.readline()
                time.sleep(draw.random() * seconds / 3)
                job.send_signal(signal.SIGKILL)
                _, said = job.communicate()
            assert job.returncode in (0, -signal.SIGKILL), said.decode()
            if job.returncode == 0 or result.exists():
                break
        subprocess.run(command, check=not result.exists(), env=environment, capture_output=True)
        assert result.read_bytes() == wanted
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "c"]


def test_an_interrupted_job_leaves_what_it_needs_to_go_on(tmp_path):
    rng = np.random.default_rng(6)
    ts.stored.array(rng.standard_normal((2500, 2000)), tmp_path / "a")
    ts.stored.array(rng.standard_normal((2000, 2500)), tmp_path / "b")
    command = [sys.executable, "-c", JOB, str(tmp_path), "matmul"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        job.stdout.readline()
        while job.poll() is None:
            time.sleep(0.005)
            if (tmp_path / "c.job").exists() and b"step 00000000000000000000" not in (tmp_path / "c.job").read_bytes():
                break
        job.send_signal(signal.SIGINT)
        _, said = job.communicate()
    if job.returncode:
        assert b"KeyboardInterrupt" in said
    if not (tmp_path / "c").exists():  # it does where the signal came after the last step
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "c.job", "c.partial"]
    if (tmp_path / "c.job").exists():
        subprocess.run(command, check=True, capture_output=True)
    c = ts.stored.open(pathlib.Path(tmp_path / "c"))
    assert np.allclose(
        c[:3].numpy(), ts.stored.open(tmp_path / "a")[:3].numpy() @ ts.stored.open(tmp_path / "b").numpy()
    )


def test_type_checkers_see_what_the_class_is_given():
    """Members that Python adds to the class stand in the stub, and no others."""
    stub = ast.parse((pathlib.Path(ts.__file__).parent / "_tessera.pyi").read_text())
    body = next(x for x in stub.body if isinstance(x, ast.ClassDef) and x.name == "StoredArray").body
    told = {x.name for x in body if isinstance(x, ast.FunctionDef)}
    there = {
        name for name, member in vars(ts.stored.StoredArray).items() if callable(member) or isinstance(member, property)
    }
    left_out = {"__array_ufunc__", "__new__", "__hash__"}
    assert {x for x in there - told - left_out if not hasattr(object, x)} == set()
    assert {x for x in told if not hasattr(ts.stored.StoredArray, x)} == set()
