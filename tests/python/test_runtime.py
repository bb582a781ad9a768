# SPDX-License-Identifier: Apache-2.0
"""Settings, counters, traces, streams, threads; the package itself: examples, names, import, types."""

import doctest
import inspect
import json
import os
import platform
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tessera as ts

PACKAGE = Path(ts.__file__).parent


@pytest.mark.parametrize("variable, wrong, right", [("FFT", "best", "own"), ("INSTRUCTIONS", "avx9", "base")])
def test_words_of_variables(variable, wrong, right):
    if variable == "INSTRUCTIONS" and platform.machine() != "x86_64":
        pytest.skip("instructions are chosen on x86-64 only")
    program = "import tessera as ts; print(float(ts.fft.ifft(ts.fft.fft(ts.ones(64)) + 1).real.sum()))"
    for word in (wrong, right):
        env = {**os.environ, f"TESSERA_{variable}": word}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)
        if word == wrong:
            assert done.returncode == 1 and f'TESSERA_{variable} is "{word}"; it ' in done.stderr, done.stderr
        else:
            assert done.returncode == 0 and abs(float(done.stdout) - 65) < 1e-9, done.stderr


def test_config(capsys):
    assert ts.config.progress is True or ts.config.progress is False
    before = ts.config.progress
    with ts.config.using(progress=not before, num_threads=ts.config.num_threads):
        assert ts.config.progress is not before
        with pytest.raises(KeyError):
            with ts.config.using(progress=before):
                assert ts.config.progress is before
                raise KeyError
        assert ts.config.progress is not before
    assert ts.config.progress is before
    table = repr(ts.config)
    assert all(name in table for name in dir(ts.config)) and "meaning" in table
    with pytest.raises(AttributeError, match="no setting 'speed'"):
        ts.config.speed = 1
    with pytest.raises(ValueError):
        ts.config.progress = "perhaps"
    with pytest.raises(ValueError, match="Invalid config key 'speed'"):
        ts.config.using(speed=1)


def test_counters(device):
    ts.reset_counters()
    assert set(ts.counters().values()) == {0}
    x = ts.ones(100, "float32", device)
    y = x + x
    c = ts.counters()
    assert c["launches"] >= 2 and c["pool_requests"] >= 2 and c["messages"] == 0
    if device != "cpu":
        y.to("cpu")
        assert ts.counters()["bytes_device_to_host"] >= 400


def test_trace(tmp_path, device):
    path = tmp_path / "run.json"
    with ts.trace(path):
        x = ts.random.normal((64, 64), "complex64", device)
        ts.FFT(2).to(device)(x)
        ts.synchronize()
    events = json.loads(path.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    spans = [e for e in events if e.get("ph") == "X"]
    assert spans and all(e["dur"] >= 0 for e in spans)
    with pytest.raises(ts.IoError):
        with ts.trace(tmp_path / "no" / "such.json"):
            pass


def test_streams_and_events(device):
    s, other = ts.Stream(device), ts.Stream(device)
    assert s.device == device and s.id != other.id
    e = s.record()
    other.wait(e)
    e.wait()
    assert e.done()
    r = ts.RepeatedEvent(device)
    for _ in range(3):
        r.record(s)
        r.wait(other)
    r.sync()
    assert r.records == 3
    s.sync()
    ts.Stream.home(device).sync()
    ts.synchronize(device)


def test_devices():
    found = ts.devices()
    assert found[0] == "cpu" and ts.Device("sim:0") in found
    assert str(ts.Device("sim:3")) == "sim:3" and {ts.Device("cpu"): 1}["cpu"] == 1
    assert ts.Device("sim") == "sim:0" and ts.Device("sim:1").index == 1 and ts.Device("sim:1").kind == "sim"
    stats = ts.memory_stats("cpu")
    assert stats["in_use"] <= stats["peak"]


def test_threads_give_the_results_of_one(device):
    rng = np.random.default_rng(0)
    data = [rng.standard_normal((40, 30)).astype("float32") for _ in range(8)]

    def work(a):
        x = ts.asarray(a).to(device)
        for _ in range(10):
            y = ts.sqrt(ts.abs(x @ x.T)) + x.sum(axis=1)
            y[::2] *= 2
        return y.numpy()

    one = [work(a) for a in data]
    with ThreadPoolExecutor(8) as pool:
        many = list(pool.map(work, data * 4))
    for i, result in enumerate(many):
        assert np.allclose(result, one[i % 8], rtol=1e-6, atol=1e-6)


def test_the_lock_is_released():
    """A second Python thread advances while a long function runs in the first."""
    x = ts.random.normal((600, 600), "float64")
    steps = [0]
    stop = threading.Event()

    def count():
        while not stop.is_set():
            steps[0] += 1
            time.sleep(0)  # gives the lock back: the switch interval below would keep it here for good

    counter = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # Python itself would not hand over in time
    try:
        counter.start()
        before = steps[0]
        for _ in range(200):  # a busy machine may let the other thread wait for a while
            ts.einsum("ij,kj->ik", x, x)
            if steps[0] > before:
                break
        after = steps[0]
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        counter.join()
    assert after > before


def test_generator_from_several_threads():
    g = ts.random.Generator(3)
    with ThreadPoolExecutor(4) as pool:
        draws = list(pool.map(lambda _: g.normal(50).numpy(), range(40)))
    reference = ts.random.Generator(3)
    expected = [reference.normal(50).numpy() for _ in range(40)]
    assert sorted(d.tobytes() for d in draws) == sorted(e.tobytes() for e in expected)


def names_of(module, prefix=""):
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.ismodule(value):
            yield from names_of(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def public_objects():
    """Every name of the package and its modules, and what each class has of its own."""
    found = dict(names_of(ts))
    yield from found.items()
    seen = set()
    for home, cls in found.items():
        if not isinstance(cls, type) or cls in seen:
            continue
        seen.add(cls)
        for name, value in vars(cls).items():
            if not name.startswith("_") and callable(getattr(value, "__get__", None)):
                yield f"{home}.{name}", value


CONSTANTS = (str, int, float, type(None), ts.DType)
DOCUMENTED = [(n, o) for n, o in public_objects() if not isinstance(o, CONSTANTS)]


@pytest.mark.parametrize("name, value", DOCUMENTED, ids=[n for n, _ in DOCUMENTED])
def test_every_public_name_has_an_example_that_runs(name, value):
    text = value.__doc__ or ""
    assert text.strip(), f"{name} has no documentation"
    if inspect.isdatadescriptor(value):  # attributes: the example of their class shows them
        return
    assert ">>>" in text, f"{name} has no example"
    test = doctest.DocTestParser().get_doctest(text, {"ts": ts, "np": np}, name, None, 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
    assert not report, "".join(report)


def run(command, **env):
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=900)


def run_python(code, **env):
    code = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n" + code
    return run([sys.executable, "-c", code], **env)


def test_import_does_not_bring_numpy():
    done = run_python("import sys, tessera; print('numpy' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr


def test_exit_with_live_arrays_is_quiet():
    code = """
import tessera as ts, numpy as np, builtins
builtins.keep = [ts.ones(3), ts.ones(3, device='sim:0'), ts.asarray(np.ones(3)), ts.FFT(1), ts.float32]
builtins.views = [x.numpy() for x in builtins.keep[:3]]
"""
    done = run_python(code)
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_environment_reaches_the_settings():
    code = "import tessera as ts; print(ts.config.sim_devices)"
    assert run_python(code, TESSERA_SIM_DEVICES="3").stdout.strip() == "3"
    for bad in ("many", "-3"):
        said = run_python(code, TESSERA_SIM_DEVICES=bad).stderr
        assert f"TESSERA_SIM_DEVICES: '{bad}' is not a number from 0 on (number of sim devices)" in said
    assert "is not a number of bytes" in run_python(code, TESSERA_HOST_BUDGET="much").stderr


def test_types():
    """mypy accepts the package with its generated stub, and a user's script."""
    pytest.importorskip("mypy")
    stub = PACKAGE / "_tessera.pyi"
    if not stub.exists():
        pytest.skip("the stub was not built")
    assert (PACKAGE / "py.typed").exists()
    script = (
        "import tessera as ts\n"
        "x: ts.Array = ts.zeros((2, 3), 'float32')\n"
        "y: ts.Array = x + 1.0 * x[0] @ x.T\n"
        "A: ts.NamedLinop = 2 * ts.FFT(2).H\n"
        "n: int = len(x)\n"
        "s: tuple[int, ...] = x.shape\n"
    )
    mypy = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file=",
        "--no-incremental",
        "--cache-dir",
        os.devnull,
        "-c",
    ]
    done = run([*mypy, script], MYPYPATH=str(PACKAGE.parent))
    assert done.returncode == 0, done.stdout
    done = run([*mypy, script + "z: str = x.shape\n"], MYPYPATH=str(PACKAGE.parent))
    assert done.returncode == 1 and ":7: error" in done.stdout
