# SPDX-License-Identifier: Apache-2.0
"""Streams that plans use, transfers and what they wait for, pinned memory."""

import copy
import threading

import numpy as np
import pytest

import tessera as ts


def test_device_specs():
    spec = ts.DeviceSpec("sim:0")
    assert spec.device == "sim:0" and spec.compute_stream is None and spec.transfer_stream is None
    assert spec.p2p_setup("sim:1") is spec
    assert spec.compute_stream == ts.Stream.home("sim:0")
    again = ts.DeviceSpec(ts.Device("sim:0")).p2p_setup(ts.DeviceSpec("sim:1"))
    assert spec.transfer_stream == again.transfer_stream  # one stream per pair, reused
    back = ts.DeviceSpec("sim:1").p2p_setup("sim:0")
    assert back.transfer_stream != spec.transfer_stream
    assert "sim:0" in repr(spec) and str(spec.transfer_stream.id) in repr(spec)
    assert ts.DeviceSpec("cpu").p2p_setup("sim:0").transfer_stream is None
    mine = ts.Stream("sim:2")
    assert ts.DeviceSpec("sim:2", compute_stream=mine).compute_stream == mine
    assert len({mine, ts.DeviceSpec("sim:2", mine).compute_stream}) == 1
    with pytest.raises(ts.DeviceError, match="sim:2"):
        ts.DeviceSpec("sim:0", transfer_stream=mine)
    with pytest.raises(ValueError, match="compute_stream"):
        ts.DeviceSpec("sim:0", compute_stream="fast")
    with pytest.raises(ts.DeviceError):
        ts.DeviceSpec("gpu:0")
    assert ts.DeviceSpec.get_transfer_stream("sim:0", ts.DeviceSpec("sim:1")) == spec.transfer_stream
    ts.clear_transfer_streams()
    assert ts.DeviceSpec("sim:0").p2p_setup("sim:1").transfer_stream != spec.transfer_stream


def test_to_device_with_specs(rng):
    x = rng.standard_normal(7)
    source = ts.DeviceSpec("sim:0").p2p_setup("sim:1")
    start = ts.RepeatedEvent("sim:0")
    T = ts.ToDevice(source, ts.DeviceSpec("sim:1"), ("X",), input_listener=start)
    assert T.ispec.device == "sim:0" and T.ospec.device == "sim:1" and T.is_gpu2gpu
    assert T.ispec.transfer_stream == source.transfer_stream
    assert T.input_listener.records == 0
    assert T.H.ispec.device == "sim:1" and T.H.ospec.transfer_stream == source.transfer_stream
    assert T.H.input_listener is not None
    assert isinstance(T.N, ts.Identity)
    xs = ts.array(x, device="sim:0")
    start.record(ts.Stream.home("sim:0"))
    y = T(xs)
    assert str(y.device) == "sim:1" and T.H(y).numpy().tolist() == x.tolist()
    assert "waits for its listener" in T.plan(xs).explain()
    assert f"on stream {source.transfer_stream.id}" in T.plan(xs).explain()
    assert T.plan(xs)(xs).numpy().tolist() == x.tolist()  # a plan whose output is elsewhere
    plain = ts.ToDevice("cpu", "sim:1", ("X",))
    assert not plain.is_gpu2gpu and plain.input_listener is None
    assert plain.ispec.device == "cpu" and plain.ospec.compute_stream is None
    with pytest.raises(RuntimeError, match="sim:0"):
        T(y)
    for wrong in ("now", (plain, "begin"), (plain, "name")):
        with pytest.raises(ValueError, match="input_listener"):
            ts.ToDevice("cpu", "sim:1", input_listener=wrong)
    # The event that somebody else has: here another transfer's.
    second = ts.ToDevice("sim:0", "sim:1", ("X",), input_listener=(T, "input_listener"))
    assert second.input_listener.records == 1 and second(xs).numpy().tolist() == x.tolist()
    A = plain.split({"X": slice(0, 3)})
    assert A(x[:3]).tolist() == x[:3].tolist()


def batched(w):
    spec = ts.BatchSpec({"X": 2}, ["sim:1", "sim:2"], "sim:0")
    return ts.create_batched_linop(ts.Diagonal(ts.asarray(w), ("X",)), spec)


def test_start_events(rng):
    w, x = rng.standard_normal((2, 6))
    A, xs = batched(w), ts.array(x, device="sim:0")
    np.testing.assert_array_equal(A(xs).numpy(), w * x)  # a plan from before the event
    start = A.start_event
    assert isinstance(start, ts.RepeatedEvent) and start.records == 0 and start.device is None
    assert repr(start) == "<RepeatedEvent of any device, recorded 0 times>"
    T = ts.ToDevice("sim:0", "sim:3", ("X",), input_listener=(A, "start_event"))
    assert T.input_listener == start == A.H.start_event == T.H.input_listener
    assert len({start, A.N.start_event, A.split({"X": slice(1, 5)}).start_event}) == 1
    assert start != batched(w).start_event and start != "start"
    with ts.config.using(sim_delay_us=20):
        for n in range(1, 6):
            y = A(xs)
            assert start.records == n and T(y).numpy().tolist() == (w * x).tolist()
    outer = ts.Scalar(2.0) @ A
    np.testing.assert_array_equal(outer(xs).numpy(), 2 * w * x)
    assert start.records == 6
    assert "waits for its listener" in T.plan(xs).explain()
    # Leaves have one too; those of the host are recorded at once.
    D = ts.Diagonal(ts.asarray(w), ("X",))
    first = D.start_event
    D(x)
    first.sync()
    assert first.records == 1
    # Vectors of a solver stay whole, so that the tiles start together.
    before = start.records
    found = ts.solve.cg(A.N, A.H(A(xs)), rtol=1e-12, maxiter=60)
    assert start.records > before + 2 + 3
    np.testing.assert_allclose(found.x.numpy(), x, rtol=1e-6)


def test_start_events_of_deep_copies(rng):
    w, x = rng.standard_normal((2, 4))
    start = ts.RepeatedEvent("sim:0")
    go = ts.ToDevice("sim:0", "sim:1", ("X",), input_listener=start)
    D = ts.Diagonal(ts.array(w, device="sim:1"), ("X",))
    A = (ts.ToDevice("sim:1", "sim:0", ("X",)) @ D @ go).with_start_event(start)
    B = copy.deepcopy(A)
    assert A.start_event == start and B.start_event != start
    assert B.linops[0].input_listener == B.start_event and B.start_event.device == "sim:0"
    assert A.linops[0].input_listener == start
    xs = ts.array(x, device="sim:0")
    np.testing.assert_array_equal(B(xs).numpy(), A(xs).numpy())
    assert start.records == 1 and B.start_event.records == 1
    wrong = A.with_start_event(ts.RepeatedEvent("sim:5"))
    with pytest.raises(ts.DeviceError, match="sim:5"):
        wrong(xs)
    with pytest.raises(TypeError):
        A.with_start_event("now")
    any_device = ts.RepeatedEvent(None)
    for d in ("cpu", "sim:0", "sim:1"):
        any_device.record(ts.Stream(d))
    any_device.sync()
    assert any_device.records == 3


def test_computing_on_the_callers_stream(rng):
    w, x = rng.standard_normal((2, 9))
    compute, transfer = ts.Stream("sim:1"), ts.Stream("sim:1")
    there = ts.DeviceSpec("sim:1", compute, transfer)
    D = ts.Diagonal(ts.array(w, device="sim:1"), ("X",))
    A = ts.ToDevice(there, "cpu", ("X",)) @ D @ ts.ToDevice("cpu", there, ("X",))
    plan = A.plan(ts.asarray(x))
    text = plan.explain()
    assert text.count(f"on stream {transfer.id} ") == 2 and f"on stream {compute.id} " in text
    for _ in range(3):
        np.testing.assert_array_equal(plan(x).numpy(), w * x)
        np.testing.assert_array_equal(A.H(x).numpy(), w * x)


def test_inputs_are_never_overtaken():
    T = ts.ToDevice("sim:0", "sim:1", ("X",))
    x = ts.zeros(50, device="sim:0")
    results = []
    with ts.config.using(sim_delay_us=200):
        for i in range(10):
            x[...] = float(i)
            results.append(T(x))
            x[...] = -1.0
    for i, y in enumerate(results):
        assert y.numpy().tolist() == [float(i)] * 50


def test_threads_share_transfer_streams(rng):
    T = ts.ToDevice("cpu", "sim:3", ("X",))
    A = T.H @ ts.Diagonal(ts.full(20, 2.0, device="sim:3"), ("X",)) @ T
    failures = []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal(20)
        for _ in range(20):
            if A(x).numpy().tolist() != (2 * x).tolist():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_transfers_are_logged_as_sentences(capfd):
    T = ts.ToDevice("cpu", "sim:1", ("X",))
    x = ts.ones(64)
    T(x)
    assert capfd.readouterr().err == ""
    with ts.config.using(log_device_transfers=True):
        T(x)
    line = capfd.readouterr().err
    assert line.startswith("tessera: ToDevice (X,) -> (X,) moves 512 ") and "from cpu to sim:1" in line
    assert " on stream " in line and line.endswith("of sim:1\n")


def test_slices_travel_as_rows():
    x = ts.arange(7 * 40, dtype="float64").reshape(7, 40)[:, 3:23]
    T = ts.ToDevice("cpu", "sim:0", ("X", "Y"))
    before = ts.counters()
    y = T(x)
    after = ts.counters()
    assert y.numpy().tolist() == x.tolist()
    assert after["bytes_host_to_device"] - before["bytes_host_to_device"] == 7 * 20 * 8


def test_pinned_memory():
    x = ts.arange(12, dtype="float32").reshape(3, 4)
    p = x.T.pin_memory()
    assert p.is_pinned and not x.is_pinned and p.device == "cpu"
    assert p.tolist() == x.T.tolist() and p.pin_memory() is not x
    p[0, 0] = 7
    assert x[0, 0].item() == 0 and p[1:].is_pinned
    assert p.to("sim:0").numpy().tolist() == p.tolist()
    assert ts.zeros(0).pin_memory().is_pinned
    with pytest.raises(ts.DeviceError, match="sim:0"):
        ts.ones(2, device="sim:0").pin_memory()
