# SPDX-License-Identifier: Apache-2.0
"""Events that operators wait for (input_listener), of every operator and set at any time; and the streams of a BatchSpec."""

import copy
import dataclasses
import pickle

import cut_cases
import numpy as np
import pytest

import tessera as ts

WAITS = "waits for its listener"


def steps(A, x):
    return [line for line in A.explain(x).splitlines() if line[:5].strip().isdigit()]


@pytest.mark.parametrize("name", sorted(cut_cases.DRAWERS))
@pytest.mark.parametrize("seed", range(3))
def test_every_operator_listens(name, seed):
    d = cut_cases.Draw([seed, len(name)])
    A, shape = cut_cases.DRAWERS[name](d)
    real = name == "FFT" and "real" in A.tree()
    x = ts.asarray(d.array(shape, d.dtype(real=real)))
    y, back = A(x).numpy(), A.H(A(x)).numpy()
    assert A.input_listener is None and not any(WAITS in s for s in steps(A, x))
    event = ts.RepeatedEvent("sim:7")
    A.input_listener = event
    assert A.input_listener == event == A.H.input_listener == A.named("other").input_listener
    assert steps(A, x) and all(WAITS in s for s in steps(A, x))
    assert all(WAITS in s for s in steps(A.H, A(x)))
    for records in range(3):
        assert event.records == records
        np.testing.assert_array_equal(A(x).numpy(), y)
        np.testing.assert_array_equal(A.H(A(x)).numpy(), back)
        event.record(ts.Stream.home("sim:7"))
    A.input_listener = None
    assert A.input_listener is None and A.H.input_listener is None and not any(WAITS in s for s in steps(A, x))
    np.testing.assert_array_equal(A(x).numpy(), y)


SLOW, VERY_SLOW = ts.Sleep(0.1, ("X",)), ts.Sleep(2.0, ("X",))  # kept: an operator that goes waits for its work


def busy(device, slow=SLOW):
    """Work on the home stream of a device that takes a while; the event behind it."""
    slow(ts.ones(1, device=device))
    return ts.Stream.home(device).record()


@pytest.mark.parametrize("device", ["cpu", "sim:1"])
def test_an_operator_waits_for_the_latest_record(device):
    A = ts.Diagonal(ts.arange(4.0).to(device), ("X",))
    x = ts.ones(4, device=device)
    A(x).numpy()  # a plan from before the listener
    event = ts.RepeatedEvent("sim:6")
    A.input_listener = event
    for op in (A, A.H, 2 * A, A @ A, A.N, ts.Stack(A, A, odim_and_idx=("S", 0))):
        end = busy("sim:6")
        event.record(ts.Stream.home("sim:6"))
        y = op(x).numpy()
        assert end.done() and np.max(np.abs(y)) > 0
    A.input_listener = None
    end = busy("sim:6", VERY_SLOW)
    event.record(ts.Stream.home("sim:6"))
    A(x).numpy()
    assert not end.done()  # nobody waits two seconds for four products
    end.wait()


def test_parts_that_are_set_afterwards():
    """The transfers of two tiles, which start together when the whole starts."""
    go = [ts.ToDevice("sim:0", f"sim:{i}", ("X",)) for i in (1, 2)]
    tiles = [
        ts.ToDevice(f"sim:{i}", "sim:0", ("X",)) @ ts.Diagonal(ts.ones(3, device=f"sim:{i}"), ("X",)) for i in (1, 2)
    ]
    C = ts.Concat(tiles[0] @ go[0], tiles[1] @ go[1], idim="X", odim="X")
    x = ts.arange(6.0).to("sim:0")
    assert C(x).tolist() == list(range(6))
    for g in go:
        g.input_listener = (C, "start_event")
    assert all(c.linops[0].input_listener == C.start_event for c in C.linops)
    assert C(x).tolist() == list(range(6)) and C.start_event.records == 1
    assert WAITS not in C.explain(x)  # the plan starts with it
    other = ts.RepeatedEvent("sim:0")
    go[1].input_listener = other
    assert sum(WAITS in s for s in steps(C, x)) == 1 and C(x).tolist() == list(range(6))
    deep = copy.deepcopy(C)
    assert deep.linops[0].linops[0].input_listener == deep.start_event != C.start_event
    assert deep.linops[1].linops[0].input_listener == other
    go[0].input_listener = go[1].input_listener = None
    assert not any(WAITS in s for s in steps(C, x))
    assert sum(WAITS in s for s in steps(deep, x)) == 1


def test_what_listens_is_not_merged_with_its_neighbours():
    D = ts.Diagonal([1.0, 2.0], ("X",))
    E = ts.Diagonal([3.0, 4.0], ("X",))
    assert len((D @ E).linops) == 0  # one product
    D.input_listener = ts.RepeatedEvent()
    both = D @ E
    assert len(both.linops) == 2 and both([1.0, 1.0]).tolist() == [3, 8]
    x = ts.ones(2)
    assert [WAITS in s for s in steps(both, x)] == [False, True]
    F = ts.FFT(1, (), (("X",), ("K",)))
    W = ts.Diagonal([1.0, 2.0], ("K",))
    W.input_listener = D.input_listener
    N = F.H @ W @ F
    assert [WAITS in s for s in steps(N, ts.ones(2, "complex128"))] == [False, True, False]
    F.input_listener = D.input_listener
    assert isinstance(F.N, ts.Identity)  # what vanishes waits for nothing


def test_listeners_are_checked():
    A = ts.Diagonal([1.0], ("X",))
    for wrong in ("now", 3, (A, "name"), (A, "nothing"), (A,)):
        with pytest.raises(ValueError, match="Diagonal: input_listener is a ts.RepeatedEvent"):
            A.input_listener = wrong
    assert A.input_listener is None


# --- streams of a BatchSpec


def batched(spec, w, shape=None):
    return ts.create_batched_linop(ts.Dense(w, "MN", "N", "M"), spec, shape=shape)


def test_streams_of_the_caller_do_the_work():
    w, x = np.random.default_rng(0).normal(size=(6, 4)), ts.arange(4.0).to("sim:0")
    base, transfer = ts.Stream("sim:0"), ts.Stream("sim:0")
    devices = [["sim:1", "sim:2"], ["sim:2", "sim:0"]]
    spec = ts.BatchSpec({"M": 2, "N": 2}, devices, "sim:0", True, base, transfer)
    B, plain = batched(spec, w), batched(ts.BatchSpec({"M": 2, "N": 2}, devices, "sim:0"), w)
    for A, given in ((B, x), (B.H, B(x)), (B.N, x)):
        moves = [s for s in steps(A, given) if "transfer " in s]
        there = [s for s in steps(A, given) if "transfer " not in s and " sim:0 " in s]
        assert moves and all(f"on stream {transfer.id} " in s for s in moves)
        assert there and all(f"on stream {base.id} " in s for s in there), A.explain(given)
        elsewhere = [s for s in steps(A, given) if s not in moves and s not in there]
        assert elsewhere and not any("on stream" in s for s in elsewhere)
    with ts.config.using(sim_delay_us=20):
        for _ in range(3):
            assert np.allclose(B(x).numpy(), w @ np.arange(4.0)) and np.array_equal(B(x).numpy(), plain(x).numpy())
    assert np.array_equal(B.N(x).numpy(), plain.N(x).numpy()) and "on stream" not in plain.explain(x)


@pytest.mark.parametrize("which", ["base_stream", "transfer_stream"])
def test_work_goes_behind_what_is_on_the_stream(which):
    """Something slow stands on the given stream: the tiles come after it."""
    w, x = np.ones((4, 3)), ts.ones(3, device="sim:0")
    mine = ts.Stream("sim:0")
    B = batched(ts.BatchSpec({"M": 2}, ["sim:1", "sim:0"], "sim:0", **{which: mine}), w)
    B(x).numpy()
    mine.wait(busy("sim:3"))
    end = mine.record()
    y = B(x).numpy()
    assert end.done() and y.tolist() == [3, 3, 3, 3]


def test_a_transfer_stream_of_one_device_serves_that_device():
    w, x = np.ones((4, 3)), ts.ones(3)
    mine = ts.Stream("sim:1")
    B = batched(ts.BatchSpec({"M": 2}, ["sim:1", "sim:2"], transfer_stream=mine), w)
    for s in steps(B, x):
        assert (f"on stream {mine.id} " in s) == ("transfer " in s and "sim:1" in s)
    assert B(x).tolist() == [3, 3, 3, 3]
    levels = [ts.BatchSpec({"M": 2}, ["sim:1", "sim:2"]), ts.BatchSpec({"N": 1}, base_stream=mine)]
    with pytest.raises(ts.DeviceError, match="sim:1.*sim:2"):
        batched(levels, w)


def test_specs_with_streams():
    mine = ts.Stream("sim:0")
    spec = ts.BatchSpec({"M": 2}, ["sim:1"], "sim:0", base_stream=mine)
    assert spec.base_stream == mine and spec.transfer_stream is None and str(mine.id) in repr(spec)
    other = dataclasses.replace(spec, transfer_stream=mine)
    assert other.transfer_stream == mine == other.base_stream and other != spec
    assert spec == ts.BatchSpec({"M": 2}, ["sim:1"], "sim:0", base_stream=mine)
    assert other.resolve(ts.Diagonal(ts.ones(4), ("M",))).transfer_stream == mine
    with pytest.raises(TypeError, match="streams"):
        pickle.dumps(spec)
    B = batched(spec, np.ones((4, 3)))
    again = pickle.loads(pickle.dumps(B))  # without the streams, which are of this process
    assert again(ts.ones(3, device="sim:0")).tolist() == [3, 3, 3, 3]
    for wrong in ({"base_stream": ts.Stream("sim:1")}, {"transfer_stream": ts.Stream("sim:5")}):
        with pytest.raises(ts.DeviceError, match="_stream is of sim"):
            batched(ts.BatchSpec({"M": 2}, ["sim:1"], "sim:0", **wrong), np.ones((4, 3)))
    for wrong in ({"base_stream": "sim:0"}, {"transfer_stream": 3}):
        with pytest.raises(TypeError, match="BatchSpec"):
            ts.BatchSpec({"M": 2}, **wrong)
