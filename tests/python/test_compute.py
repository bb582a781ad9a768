# SPDX-License-Identifier: Apache-2.0
"""ts.context(): which device an operation would run on, and why."""

import importlib.util
import itertools
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import tessera as ts
from tessera.compute import resolve

OPS = ["matmul", "matvec", "vecmat", "outer", "add", "subtract", "multiply", "divide"]
SIGNED = [ts.int8, ts.int16, ts.int32, ts.int64]
UNSIGNED = [ts.uint8, ts.uint16, ts.uint32, ts.uint64]
FLOATS = [ts.float16, ts.bfloat16, ts.float32, ts.float64]
COMPLEX = [ts.complex64, ts.complex128]
ALL = [ts.bool_, *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX]


def test_a_context_without_accelerators_stays_on_the_host():
    c = ts.context()
    assert c is ts.context() and repr(c) == "ComputeContext(AutoSolver (cpu))"
    choice = c.choose("matmul", ts.ones((30, 40)), ts.ones((40, 50)))
    assert choice.device == "cpu" and choice.transferred_bytes == 0 and choice.compute_seconds > 0
    assert c.explain("matmul", ts.ones((3, 4)), ts.ones((4, 5))).count("\n") == 0


def test_larger_work_is_said_to_take_longer():
    c = ts.context()
    small, large = (c.choose("solve", ts.eye(n), ts.ones(n)).compute_seconds for n in (8, 2048))
    assert large > 10 * small


@pytest.mark.parametrize(
    ("op", "shapes", "text"),
    [
        ("matmul", [(3, 4), (3, 4)], r"matmul: operands of shapes \(3, 4\) and \(3, 4\) do not fit"),
        ("matmul", [(3, 4)], "matmul: 1 operands; expected 2"),
        ("eigh", [(3, 4)], r"eigh: an operand of shape \(3, 4\); expected square matrices"),
        ("eigvals", [(3, 4)], r"eigvals: an operand of shape \(3, 4\); expected square matrices"),
        ("add", [(3, 4), (2, 4)], r"add: operands could not be broadcast together with shapes \(3, 4\) \(2, 4\)"),
        ("lstsq", [(3, 4), (4,)], r"lstsq: operands of shapes \(3, 4\) and \(4,\) do not fit each other"),
        ("dot", [(3,), (4,)], r"dot: operands of shapes \(3,\) and \(4,\) do not fit each other"),
        ("dance", [(3, 4)], "'dance' is no operation with a known cost; expected elementwise, "),
    ],
)
def test_questions_that_make_no_sense(op, shapes, text):
    with pytest.raises(ValueError, match=text):
        ts.context().explain(op, *(ts.ones(s) for s in shapes))


FUNCTIONS = [
    *("add", "subtract", "multiply", "divide", "matmul", "gemv", "vecmat", "solve", "solve_triangular", "lstsq"),
    *("inverse", "lu", "lu_factor", "cholesky", "cholesky_factor", "qr", "eigh", "eigvalsh", "eig", "eigvals", "eigs"),
    *("svd", "svdvals", "pinv", "matrix_rank", "det", "slogdet", "trace", "norm", "cond", "sum", "multiply_scalar"),
    *("boolean_product", "transitive_closure", "compute_k", "absolute", "real", "imag", "power", "matrix_power"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "all", "any"),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_can_be_explained(function):
    c = ts.context()
    a = ts.matrix.Bit(6) if function in ("boolean_product", "transitive_closure") else ts.matrix.Dense(6)
    first = {"vecmat": (ts.ones(6), a), "gemv": (a, ts.ones(6)), "lstsq": (a, ts.ones(6))}
    two = ("add", "subtract", "multiply", "divide", "matmul", "solve", "solve_triangular", "boolean_product")
    operands = first.get(function, (a, a) if function in two else (a,))
    assert c.explain(function, *operands).startswith("cpu: ")
    assert c.choose(function, *operands).compute_seconds > 0
    assert isinstance(c.device.select_device(function, *operands), ts.CpuDevice)


def test_products_of_vectors_can_be_explained():
    c = ts.context()
    for function in ("outer", "dot"):
        assert c.choose(function, ts.ones(6), ts.ones(6)).compute_seconds > 0
    with pytest.raises(ValueError, match=r"outer: an operand of shape \(2, 2\); expected a vector"):
        c.explain("outer", ts.ones((2, 2)), ts.ones(2))


def test_devices_have_classes():
    c = ts.context()
    assert isinstance(c, ts.ComputeContext) and isinstance(c.device, ts.AutoSolver)
    assert str(c.device) == "AutoSolver (cpu)" and c.devices == c.device.devices == ["cpu"]
    host = c.devices[0]
    assert isinstance(host, ts.CpuDevice) and isinstance(host, ts.ComputeDevice) and not host.is_gpu
    assert (
        host.preferred_precision == c.device.preferred_precision == c.preferred_precision("cpu") and not c.device.is_gpu
    )
    assert ts.zeros(3, device=host).device == "cpu"
    assert c.choose("reduce", ts.ones(3, device="sim:0")).device == ts.ComputeDevice("sim:0")
    assert issubclass(ts.CudaDevice, ts.ComputeDevice) and ts.CudaDevice("cuda:0").is_gpu
    assert issubclass(ts.AutoSolver, ts.ComputeDevice)


@pytest.mark.parametrize("function", ["add", "divide", "sum", "det", "lu", "inv", "eigvals", "svdvals", "pinv", "norm"])
def test_functions_are_weighed_too(function):
    two = function in ("add", "divide")
    for a in (ts.eye(5), ts.matrix.Symmetric(5), ts.ones((5, 5), dtype="complex64")):
        choice = ts.context().choose(function, *([a, a] if two else [a]))
        assert choice.device == "cpu" and choice.compute_seconds > 0
    with pytest.raises(ValueError, match="square|shape"):
        ts.context().explain("det", ts.ones((2, 3)))


def test_settings():
    c = ts.context()
    with pytest.raises(ts.DeviceError, match="sim:0 was asked for, which this context does not use"):
        try:
            c.force("sim:0")
            c.explain("reduce", ts.ones(4))
        finally:
            c.force(None)
    with pytest.raises(ValueError, match="gpu_threshold_elements: -1"):
        c.set_gpu_threshold_elements(-1)
    with pytest.raises(ValueError, match="config or settings"):
        c.enable_gpu(ts.AcceleratorConfig(), device_id=1)
    with pytest.raises(ValueError, match="device_id = -1"):
        c.enable_gpu(device_id=-1)


def test_data_on_a_device_that_is_not_enabled_stay_there():
    c = ts.context()
    a, b = ts.ones((8, 8), device="sim:0"), ts.ones((8, 8))
    for operands in [(a, a), (a, b), (b, a)]:
        assert c.choose("matmul", *operands).device == "sim:0"
    assert c.explain("reduce", a) == "sim:0: not measured, all operands are there"
    assert c.choose("matmul", a, b).transferred_bytes == b.nbytes


def test_matrices_are_weighed_as_they_are_packed():
    c = ts.context()
    bits = ts.matrix.Bit(ts.ones((64, 64), dtype=ts.bool_))
    assert c.explain("matmul", bits, bits).startswith("cpu: ")
    there = bits.to("sim:0") if hasattr(bits, "to") else bits
    assert c.choose("matmul", there, there).transferred_bytes == 0


def test_pinned_memory_has_a_budget():
    c = ts.context()
    before, held = c.pinned["budget"], c.pinned["in_use"]
    pinned = lambda size: ts.zeros(size, dtype=ts.int8).pin_memory()  # noqa: E731
    try:
        c.set_pinned_budget(held + 1000)
        first, second = pinned(500), pinned(400)
        with pytest.raises(MemoryError, match="pinned host memory: cannot allocate 200"):
            pinned(200)
        assert second.is_pinned and c.pinned["in_use"] == held + 900
        del first
        third = pinned(200)
        assert third.is_pinned and c.pinned["in_use"] == held + 600
    finally:
        c.set_pinned_budget(before)
    with pytest.raises(ValueError, match="budget of pinned host memory"):
        c.set_pinned_budget(-1)


def test_config_of_accelerators():
    plain = ts.AcceleratorConfig()
    assert (plain.device_id, plain.memory_limit_bytes, plain.enable_async) == (0, 0, True)
    assert plain.precision == ts.PrecisionMode.AUTO and plain.stream_buffer_size == 8 << 20
    given = ts.AcceleratorConfig(1, 2, 3, False, "FORCE_FLOAT32", pinned_budget_bytes=5)
    assert (given.device_id, given.memory_limit_bytes, given.stream_buffer_size) == (1, 2, 3)
    assert "memory_limit_bytes=2, stream_buffer_size=3, enable_async=" in repr(given)
    assert given.precision == ts.PrecisionMode.FORCE_FLOAT32 and given.pinned_budget_bytes == 5
    assert ts.AcceleratorConfig(precision=ts.PrecisionMode.FORCE_FLOAT64).precision == ts.PrecisionMode.FORCE_FLOAT64
    with pytest.raises(ValueError, match="'HALF'; expected 'AUTO'"):
        ts.AcceleratorConfig(precision="HALF")


# Acceptance cases of promotion, in their order.
@pytest.mark.parametrize(
    ("op", "a", "b", "mode", "dtype", "flag"),
    [
        ("matmul", ts.float32, ts.float64, "lowest", ts.float32, True),
        ("matmul", ts.float32, ts.float64, "highest", ts.float64, False),
        ("matvec", ts.float32, ts.float64, "lowest", ts.float32, True),
        ("matmul", ts.complex64, ts.complex128, "lowest", ts.complex64, False),
        ("matmul", ts.complex64, ts.complex128, "highest", ts.complex128, False),
        ("add", ts.bool_, ts.bool_, "lowest", ts.int32, False),
        ("add", ts.bool_, ts.int16, "lowest", ts.int16, False),
        ("add", ts.bool_, ts.float32, "lowest", ts.float32, False),
        ("multiply", ts.bool_, ts.bool_, "lowest", ts.bool_, False),
        ("outer", ts.bool_, ts.bool_, "lowest", ts.bool_, False),
        ("divide", ts.int32, ts.int32, "lowest", ts.float32, False),
        ("divide", ts.int32, ts.int32, "highest", ts.float64, False),
        ("divide", ts.bool_, ts.bool_, "lowest", ts.float32, False),
        ("add", ts.uint32, ts.int32, "lowest", ts.int64, False),
        ("add", ts.uint8, ts.int8, "lowest", ts.int16, False),
        ("matmul", ts.float16, ts.complex128, "lowest", ts.complex64, False),  # no shorter complex
        ("matmul", ts.float16, ts.complex128, "highest", ts.complex128, False),
    ],
)
def test_promotion_of_matrices(op, a, b, mode, dtype, flag):
    for first, second in [(a, b), (b, a)]:
        assert resolve(op, first, second, mode) == (dtype, flag)
        with ts.precision_mode(mode):
            assert resolve(op, first, second) == (dtype, flag)


@pytest.mark.parametrize("op", OPS)
def test_no_integer_holds_uint64_and_a_sign(op):
    for signed in SIGNED:
        for pair in [(ts.uint64, signed), (signed, ts.uint64)]:
            with pytest.raises(ValueError, match=f"{op}: no safe integer supertype of "):
                resolve(op, *pair)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("mode", ["lowest", "highest"])
def test_every_other_pair_resolves(op, mode):
    for a, b in itertools.product(ALL, ALL):
        if {a, b} & {ts.uint64} and {a, b} & set(SIGNED):
            continue
        found = resolve(op, a, b, mode)
        assert found.dtype in ALL and (found.dtype in COMPLEX) == bool({a, b} & set(COMPLEX))


def test_names_of_no_dtype():
    for kind in (ValueError, TypeError, ts.DTypeError):  # a wrong value; NumPy's own error is a TypeError
        with pytest.raises(kind, match="'float31' is not one of bool"):
            ts.zeros(3, dtype="float31")


def test_set_precision_mode_is_of_the_thread():
    with pytest.raises(ValueError, match="'bogus'; expected 'lowest' or 'highest'"):
        ts.set_precision_mode("bogus")
    ts.set_precision_mode("highest")
    try:
        elsewhere = []
        other = threading.Thread(target=lambda: elsewhere.append(resolve("add", ts.float32, ts.float64).dtype))
        other.start()
        other.join()
        assert resolve("add", ts.float32, ts.float64).dtype == ts.float64 and elsewhere == [ts.float32]
    finally:
        ts.set_precision_mode("lowest")
    with pytest.raises(ValueError, match="'dance' is no operation of matrices; expected matmul"):
        resolve("dance", ts.int8, ts.int8)


def test_traces_are_empty_until_something_is_done():
    ts.debug.clear_kernel_trace()
    ts.debug.clear_io_trace()
    assert ts.debug.last_kernel_trace() == "" and ts.debug.last_io_trace() == ""


def test_files_leave_a_trace_in_their_own_channel(tmp_path):
    m = ts.matrix.Dense([[1.0, 2.0], [3.0, 4.0]])
    x = ts.ones(3)
    m @ m
    ts.debug.clear_io_trace()
    for name, stored in [("a.npy", x), ("a.npz", {"x": x})]:
        ts.save(tmp_path / name, stored)
        assert ts.debug.last_io_trace() == "io.write"
        ts.load(tmp_path / name)
        assert ts.debug.last_io_trace() == "io.read"
    assert ts.debug.last_kernel_trace() == "cpu.matmul.f64"
    elsewhere = []
    other = threading.Thread(target=lambda: elsewhere.append(ts.debug.last_io_trace()))
    other.start()
    other.join()
    assert elsewhere == [""]


@pytest.mark.parametrize("n", [3, 70])
def test_matrices_in_files_are_read_ahead(tmp_path, n, rng):
    whole = rng.normal(size=(n, n))
    np.save(tmp_path / "a.npy", whole)
    for part in (np.s_[:, :], np.s_[1:3, ::-1]):
        m = ts.matrix.Dense(ts.load(tmp_path / "a.npy", mmap_mode="r")[part], copy=False)
        ts.debug.clear_io_trace()
        product = m @ m.T
        np.testing.assert_allclose(np.asarray(product), whole[part] @ whole[part].T)
        assert ts.debug.last_io_trace() == ("" if n == 3 else "io.prefetch")  # small products are over at once
        ts.debug.clear_io_trace()
        product @ product
        assert ts.debug.last_io_trace() == ""
    m = ts.matrix.Dense(ts.load(tmp_path / "a.npy", mmap_mode="r"), copy=False)
    ts.debug.clear_io_trace()
    np.testing.assert_allclose(np.asarray(ts.linalg.solve(m, np.ones(n))), np.linalg.solve(whole, np.ones(n)))
    assert ts.debug.last_io_trace() == "io.prefetch"


def test_a_forced_device_that_is_not_used_is_an_error_at_any_size():
    ts.context().force("sim:0")
    try:
        for n in (2, 40):
            m = ts.matrix.Dense(np.eye(n))
            with pytest.raises(ts.DeviceError, match="sim:0 was asked for"):
                m @ m
    finally:
        ts.context().force(None)
    ts.context().force("cpu")  # what it is anyway
    try:
        assert np.asarray(ts.matrix.Dense(np.eye(2)) @ ts.matrix.Dense(np.eye(2)))[0, 0] == 1
    finally:
        ts.context().force(None)


def test_warnings_have_classes():
    for kind in (ts.DeviceWarning, ts.PrecisionWarning, ts.OverflowRiskWarning):
        assert issubclass(kind, RuntimeWarning) and kind.__module__ == "tessera" and kind.__doc__


def test_warnings_of_the_compiled_part_are_python_warnings_and_said_once():
    ts.debug.forget_warnings()
    for number, kind in enumerate([ts.DeviceWarning, ts.PrecisionWarning, ts.OverflowRiskWarning]):
        with pytest.warns(kind, match="^told$") as heard:
            ts._tessera._warn_once(number, "a test", "told")
            ts._tessera._warn_once(number, "a test", "told again")
        assert len(heard) == 1
    ts.debug.forget_warnings()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ts.PrecisionWarning, match="as an error"):
            ts._tessera._warn_once(1, "a test", "as an error")
    ts.debug.forget_warnings()


def in_fresh_process(code):
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=900
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return run.stdout.strip()


# In a process of its own, where the first question measures: alone, and behind a library that brings another C++
# runtime and other threads.
@pytest.mark.parametrize("first", ["sys", "torch"])
def test_the_first_measurement_from_a_fresh_process(tmp_path, monkeypatch, first):
    if importlib.util.find_spec(first) is None:
        pytest.skip(f"{first} is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = (
        f"import {first}; import tessera as ts; a = ts.ones((30, 40)); c = ts.context();"
        "assert c.choose('matmul', a, a.T).compute_seconds > 0; print('done')"
    )
    assert in_fresh_process(code) == "done"
    assert (tmp_path / "tessera" / "costs.txt").read_text().startswith("# ")


# Processes of their own that read costs which the test wrote: what is measured depends on what else a machine does.
def test_the_preferred_precision_follows_the_costs_that_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ask = (
        "import tessera as ts; print(ts.context().preferred_precision('cpu'), ts.context().device.preferred_precision)"
    )
    in_fresh_process(ask)
    costs = tmp_path / "tessera" / "costs.txt"
    machine, version = costs.read_text().splitlines()[:2]
    for seconds_of_double, preferred in [(2.0, "float64"), (3.9, "float64"), (4.1, "float32"), (64.0, "float32")]:
        known = ["cpu matmul float32 1e9 1", f"cpu matmul float64 1e9 {seconds_of_double}"]
        costs.write_text("\n".join([machine, version, *known, ""]))
        assert in_fresh_process(ask) == f"{preferred} {preferred}"


def test_precision_mode_is_a_scope():
    with pytest.raises(ValueError, match="'bogus'; expected 'lowest' or 'highest'"), ts.precision_mode("bogus"):
        pass
    with ts.precision_mode("highest"):
        assert ts._tessera._promotion() == "highest"
        with ts.precision_mode("low"):
            assert ts._tessera._promotion() == "lowest"
        assert ts._tessera._promotion() == "highest"
    assert ts._tessera._promotion() == "lowest"
