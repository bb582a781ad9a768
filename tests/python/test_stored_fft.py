# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms of arrays on disk under budgets, beside NumPy, and as jobs that are ended and go on."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from test_stored_files import DTYPES, memory_budget, numbers

import tessera as ts

LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
PLANES = ["fft2", "ifft2", "fftn", "ifftn", "rfftn", "irfftn"]
NORMS = [None, "ortho", "forward"]
REAL = {"rfft", "rfftn", "ihfft"}


def close(ours, theirs, single=False):
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape
    scale = max(float(np.abs(theirs).max(initial=0)), 1e-30)
    assert not float(np.abs(ours - theirs).max(initial=0)) / scale >= (3e-6 if single else 1e-13)


def on_disk(x):
    """In tiles that are smaller than any budget here."""
    with memory_budget(4 << 20):
        return ts.stored.array(x)


def check(name, x, budget, *args, **options):
    a = on_disk(x)
    ts.reset_peak("cpu")
    with memory_budget(budget):
        before = ts.memory_stats("cpu")["in_use"]
        y = getattr(ts.fft, name)(a, *args, **options)
        assert ts.memory_stats("cpu")["peak"] - before <= budget
    assert isinstance(y, ts.StoredArray) and not y.is_formula
    wanted = getattr(np.fft, name)(x, *args, **options)
    memory = getattr(ts.fft, name)(x, *args, **options)
    assert y.dtype == memory.dtype
    close(y.numpy(), wanted, single=str(memory.dtype) in ("float32", "complex64"))
    np.testing.assert_array_equal(a.numpy(), x)


def data_for(name, shape, seed=1):
    return numbers(shape, "float64" if name in REAL else "complex128", seed)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("budget", [60 << 10, 64 << 20])
def test_lines_along_every_axis(name, norm, budget):
    x = data_for(name, (19, 34, 15))
    for axis in (0, 1, -1):
        for n in (None, 13, 64):
            check(name, x, budget, n=n, axis=axis, norm=norm)


@pytest.mark.parametrize("name", PLANES)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("budget", [60 << 10, 64 << 20])
def test_planes(name, norm, budget):
    x = data_for(name, (14, 45, 31))
    for axes in ((-2, -1), (0, 2), (1, 0)):
        check(name, x, budget, axes=axes, norm=norm)
    check(name, x, budget, s=(30, 12), axes=(0, 1), norm=norm)
    if name.endswith("n"):
        check(name, x, budget, axes=(2, 0, 1), norm=norm)
        check(name, x, budget, axes=None, norm=norm)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["fft", "rfft", "irfft", "hfft", "ihfft", "fft2", "rfftn"])
def test_every_dtype(dtype, name):
    x = numbers((21, 40), dtype)
    if name in REAL and x.dtype.kind == "c":
        with pytest.raises(ts.DTypeError, match="real"):
            getattr(ts.fft, name)(ts.stored.array(x))
        return
    if dtype == "float16":  # NumPy has its own idea of half precision
        x32 = x.astype("float32")
        y = getattr(ts.fft, name)(ts.stored.array(x)).numpy()
        return close(y, getattr(np.fft, name)(x32), single=True)
    check(name, x, 200 << 10)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("n", [30000, 27720, 32768, 3 * 10007])
def test_lines_that_do_not_fit(name, n):
    """In two passes; the last of them has a large prime factor."""
    half = name in ("irfft", "hfft")
    x = data_for(name, (n // 2 + 1 if half else n,))
    budget = 6 << 20 if n % 10007 == 0 else 420 << 10
    a = on_disk(x)
    with memory_budget(budget):
        text = ts.stored.explain(name, a)
    assert "in two passes" in text or n % 10007 == 0
    check(name, x, budget, n=n)
    check(name, x[: len(x) // 3], budget, n=n)


def test_sizes_one_and_primes_and_empty_batches():
    for shape in ((1,), (1, 1), (2, 1, 3), (7, 11), (101,)):
        for name in LINES:
            options = {"n": 5} if name in ("irfft", "hfft") else {}
            check(name, data_for(name, shape), 1 << 20, **options)
    y = ts.fft.fft(ts.stored.create((0, 4), "complex64"))
    assert isinstance(y, ts.StoredArray) and y.shape == (0, 4) and str(y.dtype) == "complex64"


def test_refusals_are_those_of_arrays_in_memory():
    x = np.zeros((4, 5))
    a = ts.stored.array(x)
    calls = [
        lambda f, v: f.fft(v, n=0),
        lambda f, v: f.fft(v, axis=2),
        lambda f, v: f.fft(v, norm="no"),
        lambda f, v: f.fftn(v, s=(2,), axes=(0, 1)),
        lambda f, v: f.rfft(v.astype("complex64")),
        lambda f, v: f.rfftn(v, axes=()),
        lambda f, v: f.irfft(v[:, :1] if isinstance(v, ts.Array) else ts.stored.zeros((4, 1))),
        lambda f, v: f.fftshift(v, axes=5),
    ]
    for call in calls:
        raised = []
        for value in (ts.array(x), a):
            with pytest.raises(ts.Error) as e:
                call(ts.fft, value)
            raised.append(type(e.value))
        assert raised[0] is raised[1]


def test_a_prime_line_names_the_least_budget():
    n = 1000003
    x = ts.stored.zeros(n, "complex64")
    with memory_budget(4 << 20), pytest.raises(ts.OutOfMemory, match="the least for these operands is") as e:
        ts.fft.fft(x)
    least = int(str(e.value).split("the least for these operands is ")[1].split()[0])
    assert 8 * n < least < 160 * n
    x[1] = 1
    with memory_budget(least + 4096):
        y = ts.fft.fft(x)
    k = np.arange(5)
    close(y[:5].numpy(), np.exp(-2j * np.pi * k / n), single=True)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("budget", [20 << 10, 64 << 20])
def test_shifts(inverse, budget):
    name = "ifftshift" if inverse else "fftshift"
    for dtype in ("float32", "int16", "complex128"):
        x = numbers((31, 44, 3), dtype)
        for axes in (None, 0, 1, (0, 2), (-1,)):
            a = on_disk(x)
            with memory_budget(budget):
                y = getattr(ts.fft, name)(a, axes)
            assert isinstance(y, ts.StoredArray)
            np.testing.assert_array_equal(y.numpy(), getattr(np.fft, name)(x, axes))


def test_formulas_and_files_of_others(tmp_path):
    x = numbers((40, 60), "float32")
    np.save(tmp_path / "x.npy", x)
    a = ts.stored.open(str(tmp_path / "x.npy"))
    with memory_budget(100 << 10):
        y = ts.stored.fft2(a * 2 - 1, path=tmp_path / "y.npy")
    close(np.load(tmp_path / "y.npy"), np.fft.fft2(x * 2 - 1), single=True)
    close(y.numpy(), np.fft.fft2(x * 2 - 1), single=True)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), x)
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.npy"]


def test_what_is_explained():
    a = on_disk(numbers((300, 280), "complex128"))
    size = a.nbytes
    assert f"reads {size} bytes, writes {size} bytes" in ts.stored.explain("fft", a)
    with memory_budget(400 << 10):
        text = ts.stored.explain("fftn", a)
    assert f"reads {2 * size} bytes, writes {2 * size} bytes" in text and "pass 2 of 2" in text
    assert "(300, 141)" in ts.stored.explain("rfftn", a.real)
    with pytest.raises(ts.Error):
        ts.stored.explain("rfft", a)


def calls_of_jobs():
    every = [(name, {}) for name in LINES + PLANES]
    return every + [("fftshift", {}), ("ifftshift", {"axes": 1}), ("fft", {"axis": 0, "n": 70, "norm": "ortho"})]


@pytest.mark.parametrize("name,options", calls_of_jobs())
def test_jobs_give_the_same_numbers(tmp_path, name, options):
    x = data_for(name, (90, 80))
    a = on_disk(x)
    path = tmp_path / "y.tiles"
    with memory_budget(150 << 10):
        y = getattr(ts.stored, name)(a, **options, path=path)
    close(y.numpy(), getattr(np.fft, name)(x, **options))
    assert os.listdir(tmp_path) == ["y.tiles"]
    with pytest.raises(ts.IoError, match="exists"):
        getattr(ts.stored, name)(a, **options, path=path)


KILLED = """
import sys
import numpy as np
import tessera as ts

folder, name = sys.argv[1:3]
ts._tessera._stored_mark_interval(0)
ts.set_memory_budget(host=ts.memory_stats("cpu")["in_use"] + (400 << 10))
a = ts.stored.open(folder + "/a.tiles")
print("begins", flush=True)
getattr(ts.stored, name)(a, path=folder + "/y.tiles")
print("ended", flush=True)
"""


@pytest.mark.parametrize("name", ["fft2", "rfft", "ifft"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_job_goes_on_with_the_same_bits(tmp_path, name, how):
    shape = (100000,) if name == "ifft" else (250, 300)
    ts.stored.array(data_for(name, shape), tmp_path / "a.tiles")
    command = [sys.executable, "-c", KILLED, str(tmp_path), name]

    def run(seconds=None):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "begins\n"
        if seconds is not None:
            time.sleep(seconds)
            child.send_signal(how)
        out, _ = child.communicate(timeout=120)
        return "ended" in out

    assert run()
    wanted = (tmp_path / "y.tiles").read_bytes()
    os.remove(tmp_path / "y.tiles")
    for seconds in (0.01, 0.04):
        if run(seconds) or (tmp_path / "y.tiles").exists():  # a signal can come after the last step, before the word
            break
    if not (tmp_path / "y.tiles").exists() or (tmp_path / "y.tiles.job").exists():  # or its end was not cleared up
        assert run()
    assert (tmp_path / "y.tiles").read_bytes() == wanted
    assert sorted(os.listdir(tmp_path)) == ["a.tiles", "y.tiles"]


HUGE = [2**58, 2**61, 2**62, 2**63 - 1]
SHORT = [(3,), (0,), (0, 4), (4, 0), (2, 3)]


@pytest.mark.parametrize("name", LINES + PLANES)
@pytest.mark.parametrize("shape", SHORT)
def test_lengths_that_nothing_holds_are_refused(name, shape):
    """Before anything is planned, whichever axis is padded, in every dtype, of arrays with and without elements."""
    axes = len(shape)
    if axes == 1 and name.endswith("2"):
        return
    for dtype in ("float32", "float64") if name in REAL else ("float32", "float64", "complex128"):
        x = np.ones(shape, dtype)
        for n in HUGE:
            calls = [{"n": n, "axis": k} for k in range(axes)] if name in LINES else []
            if name in PLANES:
                calls = [{"s": (n,) * axes}] + [{"s": (2, n), "axes": (0, 1)}] * (axes == 2)
            for options in calls:
                with pytest.raises((ts.ShapeError, ts.OutOfMemory), match=r"63 bits can count|than any disk holds"):
                    getattr(ts.stored, name)(x, **options)


@pytest.mark.parametrize("name", LINES)
def test_lengths_larger_than_the_disk_are_refused(name, tmp_path):
    """With the bytes, and before anything is planned, which would take many seconds."""
    for n in (2**45, 2**50):
        for shape in ((3,), (4, 0)):
            for path in (None, tmp_path / "job"):
                with pytest.raises(ts.Error, match=r"takes [0-9.]+ [TP]iB|takes \d+ bytes"):
                    getattr(ts.stored, name)(np.ones(shape), n, path=path)
    assert not list(tmp_path.iterdir())
