# SPDX-License-Identifier: Apache-2.0
"""Every class of error: its built-in parent, what raises it, and that nothing is lost or changed by it."""

import builtins

import numpy as np
import pytest

import tessera as ts

PARENTS = {
    "ArgumentError": ValueError,
    "LinAlgError": RuntimeError,
    "ShapeError": ValueError,
    "DimError": ValueError,
    "DTypeError": TypeError,
    "IndexError": IndexError,
    "AxisError": (IndexError, ValueError),
    "OverflowError": OverflowError,
    "DeviceError": RuntimeError,
    "OutOfMemory": MemoryError,
    "SplitError": ValueError,
    "NotAvailable": RuntimeError,
    "PlanError": RuntimeError,
    "CommError": RuntimeError,
    "IoError": OSError,
    "BackendError": RuntimeError,
}


@pytest.mark.parametrize("name", PARENTS)
def test_family(name):
    cls = getattr(ts, name)
    parents = PARENTS[name] if isinstance(PARENTS[name], tuple) else (PARENTS[name],)
    assert issubclass(cls, ts.Error) and all(issubclass(cls, parent) for parent in parents)
    assert cls.__module__ == "tessera" and cls.__name__ == name and cls.__doc__
    assert issubclass(ts.Error, builtins.Exception)


def refuses(cls, text, function):
    with pytest.raises(cls, match=text) as info:
        function()
    assert type(info.value) is cls
    return str(info.value)


def test_each_class_is_raised(tmp_path, device):
    x = ts.ones((2, 3), device=device)
    refuses(ts.ArgumentError, "non-negative", lambda: ts.linspace(0, 1, -1))
    refuses(ts.ShapeError, "could not be broadcast", lambda: x + ts.ones(4, device=device))
    refuses(ts.DTypeError, "is not one of", lambda: ts.zeros(1, "text"))
    refuses(ts.IndexError, "out of bounds", lambda: x[5])
    for reach in (lambda: x.sum(axis=2), lambda: ts.sort(x, axis=-3), lambda: ts.linalg.norm(x, axis=5)):
        refuses(ts.AxisError, "is out of bounds for array of dimension 2", reach)
    refuses(ts.OverflowError, "out of bounds for int8", lambda: ts.ones(2, "int8", device) + 1000)
    refuses(ts.DeviceError, "not a device", lambda: x.to("gpu"))
    refuses(ts.LinAlgError, "zero pivot", lambda: ts.linalg.inverse(ts.zeros((2, 2))))
    refuses(ts.DimError, "Diagonal", lambda: ts.Diagonal(x, ("A",)))
    refuses(ts.IoError, "nothing.npy", lambda: ts.load(tmp_path / "nothing.npy"))
    refuses(ts.DeviceError, "sim:", lambda: x.to("sim:99"))


def test_missing_plugin_is_a_sentence():
    if any(d.kind == "cuda" for d in ts.devices()):
        pytest.skip("there is a CUDA device")
    text = refuses(ts.NotAvailable, "cuda", lambda: ts.zeros(2, device="cuda:0"))
    assert len(text.split()) > 4 and ts.why_unavailable("cuda")


def test_trace_inside_a_trace_is_refused(tmp_path):
    with ts.trace(tmp_path / "a.json"):
        with pytest.raises(ts.PlanError):
            with ts.trace(tmp_path / "b.json"):
                pass
    assert (tmp_path / "a.json").exists()


def test_memory_budget(device):
    before = ts.memory_stats(device)
    assert before["in_use"] <= before["peak"]
    budget = before["in_use"] + 4 * 2**20

    def set_budget(n):
        return ts.set_memory_budget(host=n) if device == "cpu" else ts.set_memory_budget(device={device: n})

    old = before["budget"]
    set_budget(budget)
    try:
        assert ts.memory_stats(device)["budget"] == budget
        kept = ts.ones(2**10, device=device)
        text = refuses(ts.OutOfMemory, "budget", lambda: ts.zeros(2**24, device=device))
        assert device in text
        assert kept.sum().item() == 2**10  # what was there is whole
        y = ts.zeros(2**17, device=device)  # 1 MiB still fits
        assert y.size == 2**17
    finally:
        set_budget(old)
    assert ts.zeros(2**20, device=device).sum().item() == 0


def test_hostile_sizes_do_not_allocate(device):
    for shape in [(2**62,), (2**40, 2**40), (2**31, 2**31, 2), (-1,)]:
        with pytest.raises((ts.ShapeError, ts.OutOfMemory)):
            ts.empty(shape, device=device)


def test_memory_returns(device):
    ts.synchronize()
    before = ts.memory_stats(device)["in_use"]
    x = ts.ones(2**16, device=device)
    y = x + 1
    assert ts.memory_stats(device)["in_use"] >= before + 2 * 2**19
    del x, y
    ts.synchronize()
    assert ts.memory_stats(device)["in_use"] <= before + 2**12


def test_errors_in_callbacks_come_through():
    def stop(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ts.solve.cg(ts.Diagonal([1.0, 2.0], ("X",)), [1.0, 1.0], callback=stop)


def test_wrong_arguments_are_type_errors():
    for call in [
        lambda: ts.zeros(),
        lambda: ts.zeros(2, bad=1),
        lambda: ts.zeros(1.5),
        lambda: ts.zeros("a"),
        lambda: ts.arange("a"),
        lambda: ts.concatenate(3),
        lambda: np.float64("x"),
    ]:
        with pytest.raises((TypeError, ValueError)):
            call()
