# SPDX-License-Identifier: Apache-2.0
"""Splitting: tiles, batch specs and batched operators, against NumPy."""

from itertools import product

import numpy as np
import pytest
from support import optional

import tessera as ts

torch = optional("torch")

RNG = np.random.default_rng(4)
W = RNG.normal(size=(10, 3, 7))


def matrix() -> ts.NamedLinop:
    return ts.Dense(W, "BMN", "BN", "BM")


def reference(x: np.ndarray) -> np.ndarray:
    return np.einsum("bmn,bn->bm", W, x)


def check(batched: ts.NamedLinop, x: np.ndarray) -> None:
    y = reference(x)
    h = np.einsum("bmn,bm->bn", W, y)
    before = x.copy()
    assert np.allclose(batched(x), y)
    assert np.allclose(batched.H(y), h)
    assert np.allclose(batched.N(x), h)
    assert np.array_equal(x, before)


def texts(devices: np.ndarray) -> list:
    return np.vectorize(str, otypes=[object])(devices).tolist()


def test_split_linop_gives_arrays_of_operators_and_slices() -> None:
    linops, ins, outs = ts.split_linop(matrix(), {"N": 2, "M": 1})
    assert linops.shape == ins.shape == outs.shape == (4, 3)
    assert linops.dtype == ins.dtype == outs.dtype == object
    assert ins[1, 2] == (slice(0, 10), slice(2, 4))
    assert outs[1, 2] == (slice(0, 10), slice(2, 3))
    x = RNG.normal(size=(10, 2))
    assert np.allclose(linops[1, 2](x), np.einsum("bmn,bn->bm", W[:, 2:3, 2:4], x))
    assert linops[3, 0].size("N") == 1  # ragged


def test_tiles_add_up_to_the_whole() -> None:
    x = RNG.normal(size=(10, 7))
    for sizes in ({"N": 2, "M": 1}, {"B": 4}, {"M": 2, "B": 3, "N": 5}, {"N": 100}, {}):
        y = np.zeros((10, 3))
        linops, ins, outs = ts.split_linop(matrix(), sizes)
        for part, i, o in zip(linops.flat, ins.flat, outs.flat, strict=True):
            y[o] += part(x[i]).numpy()
        assert np.allclose(y, reference(x)), sizes


def test_slices_index_arrays_with_open_dims() -> None:
    A = ts.Dense(W[0], "MN", "...N", "...M")
    linops, ins, outs = ts.split_linop(A, {"N": 3}, shape=(2, 4, 7))
    x = RNG.normal(size=(2, 4, 7))
    assert ins[0] == (Ellipsis, slice(0, 3)) and outs[0] == (Ellipsis, slice(0, 3))
    total = sum(part(x[i]).numpy() for part, i in zip(linops, ins, strict=True))
    assert np.allclose(total, x @ W[0].T)


def test_unknown_sizes_come_from_a_shape_or_an_array() -> None:
    F = ts.FFT(1, batch_shape=("C",))
    with pytest.raises(ts.DimError, match="'C'.*shape"):
        ts.split_linop(F, {"C": 2})
    x = RNG.normal(size=(5, 8)) + 0j
    for shape in ((5, 8), x, ts.asarray(x)):
        linops, ins, _ = ts.split_linop(F, {"C": 2}, shape)
        assert linops.shape == (3,) and ins[2] == (slice(4, 5), slice(0, 8))
    B = ts.create_batched_linop(F, ts.BatchSpec({"C": 2}, ["sim:0", "sim:1"]), shape=x.shape)
    assert np.allclose(B(x), np.fft.fft(x, norm="ortho"))
    assert np.allclose(B.H(x), np.fft.ifft(x, norm="ortho"))
    assert np.allclose(B.N(x), x)


def test_split_linop_refuses_by_sentence() -> None:
    A = matrix()
    with pytest.raises(ts.DimError, match="no dim 'Q'"):
        ts.split_linop(A, {"Q": 2})
    for size in (0, -3):
        with pytest.raises(ValueError, match="at least 1"):
            ts.split_linop(A, {"N": size})
    with pytest.raises(TypeError):
        ts.split_linop(A, ["N"])
    with pytest.raises(TypeError):
        ts.split_linop("A", {"N": 2})
    with pytest.raises(ts.SplitError, match="'Nx'"):
        ts.split_linop(ts.FFT(1), {"Nx": 2}, 8)


def test_split_forward_takes_a_slice_per_dim() -> None:
    d = RNG.normal(size=(256, 6))
    A = ts.Diagonal(d, ("Nx", "Ny"))
    part = A.split_forward([slice(0, 128), slice(None)], [slice(0, 128), slice(None)])
    assert part.size("Nx") == 128 and part.size("Ny") == 6
    assert np.allclose(part(np.ones((128, 6))), d[:128])
    assert A.split_forward([slice(-6, None), slice(None)], [slice(250, 256), slice(0, 6)]).size("Nx") == 6
    x = RNG.normal(size=(10, 3))
    part = matrix().split_forward([slice(None), slice(2, 5)], [slice(None), slice(1, 2)])
    assert np.allclose(part(x), np.einsum("bmn,bn->bm", W[:, 1:2, 2:5], x))


def test_split_forward_refuses_two_slices_of_one_dim() -> None:
    A = ts.Diagonal(np.ones((4, 6)), ("X", "Y"))
    whole = slice(None)
    for ibatch, obatch in (([slice(0, 2), whole], [slice(1, 3), whole]), ([slice(0, 2), whole], [whole, whole])):
        with pytest.raises(ts.SplitError, match="'X'"):
            A.split_forward(ibatch, obatch)
    with pytest.raises(ts.DimError):
        A.split_forward([slice(0, 2)], [slice(0, 2), whole])
    with pytest.raises(ts.SplitError, match="step"):
        A.split_forward([slice(0, 4, 2), whole], [slice(0, 4, 2), whole])
    with pytest.raises(ts.SplitError):
        ts.FFT(1).split_forward([slice(0, 2), whole], [slice(0, 2), whole])


def test_parts_of_a_chain_operator_by_operator() -> None:
    B = ts.Dense(RNG.normal(size=(4, 6)), "PM", "M", "P")
    C = B @ ts.Dense(RNG.normal(size=(6, 8)), "MN", "N", "M")
    x, top, whole = RNG.normal(size=8), slice(0, 2), slice(None)
    part = C.split_forward([[whole], [whole]], [[whole], [top]])
    assert np.allclose(part(x), C(x).numpy()[:2])
    term = C.split_forward([[whole], [top]], [[top], [whole]])
    rest = C.split_forward([[whole], [slice(2, 6)]], [[slice(2, 6)], [whole]])
    assert np.allclose(term(x).numpy() + rest(x).numpy(), C(x))
    with pytest.raises(ts.DimError, match="2 operators, got 1 and 1"):
        C.split_forward([[whole]], [[whole]])
    with pytest.raises(ts.DimError, match="no Chain"):
        B.split_forward([[whole]], [[whole]])


def test_split_takes_the_operator_too() -> None:
    A, tile = matrix(), {ts.ND("M"): slice(0, 2)}
    x = RNG.normal(size=(10, 7))
    for part in (
        A.split(A, tile),
        A.adj_split(A, tile),
        ts.NamedLinop.split(A, tile),
        ts.NamedLinop.adj_split(A, tile),
    ):
        assert np.allclose(part(x), reference(x)[:, :2])
    with pytest.raises(TypeError):
        A.split("A", tile)


def test_weights_that_are_merged_may_be_fetched() -> None:
    x = RNG.normal(size=(3, 4, 6)) + 0j
    w = ts.Diagonal(RNG.normal(size=(3, 4, 6)) + 1j, ("C", "Nx", "Ny"))
    A = ts.FFT(2, batch_shape=("C",), centered=True) @ w
    for resident in (True, False):
        B = ts.create_batched_linop(A, ts.BatchSpec({"C": 1}, ["sim:0", "sim:1"], resident=resident))
        assert np.allclose(B(x), A(x)) and np.allclose(B.H(x), A.H(x)) and np.allclose(B.N(x), A.N(x))


def test_batched_equals_the_operator() -> None:
    x = RNG.normal(size=(10, 7))
    check(ts.create_batched_linop(matrix(), ts.BatchSpec({"N": 2, "M": 1})), x)
    for n, dim in product((1, 2, 3, 8), "BMN"):
        devices = [f"sim:{i}" for i in range(n)]
        check(ts.create_batched_linop(matrix(), ts.BatchSpec({dim: 2}, devices)), x)
    levels = [ts.BatchSpec({"B": 5}, ["sim:0", "sim:1"]), ts.BatchSpec({"N": 3}, ["cpu", "sim:2"])]
    check(ts.create_batched_linop(matrix(), levels), x)
    check(ts.create_batched_linop(matrix(), ts.BatchSpec({"M": 1}, ["sim:0"], resident=False)), x)


def test_base_device() -> None:
    x = ts.asarray(RNG.normal(size=(10, 7))).to("sim:0")
    B = ts.create_batched_linop(matrix(), ts.BatchSpec({"M": 1}, ["cpu", "sim:1"], base_device="sim:0"))
    assert str(B.device) == "sim:0" and str(B(x).device) == "sim:0"
    assert np.allclose(B(x).numpy(), reference(x.numpy()))


def test_batched_is_an_ordinary_operator() -> None:
    x = RNG.normal(size=(10, 7))
    B = ts.create_batched_linop(matrix(), ts.BatchSpec({"N": 2, "B": 3}, ["sim:0", "sim:1"]))
    assert B.H.H is B and B.ishape == ("B", "N") and B.oshape == ("B", "M")
    assert np.allclose(B.rename({"N": "Q"})(x), reference(x))
    assert np.allclose(B.to_dense(dtype="float64"), matrix().to_dense(dtype="float64"))
    assert np.allclose(B.split({"B": slice(2, 7), "M": slice(0, 2)})(x[2:7]), reference(x)[2:7, :2])
    assert "tile B=0:3 N=0:2 @ sim:0" in repr(B) or "tile N=0:2 B=0:3 @ sim:0" in repr(B)
    check(ts.create_batched_linop(B, ts.BatchSpec({"M": 2})), x)


def test_solver_over_devices() -> None:
    a = RNG.normal(size=(30, 12))
    A = ts.Dense(a, "MN", "N", "M")
    B = ts.create_batched_linop(A, ts.BatchSpec({"M": 7}, ["sim:0", "sim:1", "sim:2"]))
    x = RNG.normal(size=12)
    result = ts.solve.cg(B.N, B.H(a @ x), rtol=1e-12, maxiter=200)
    assert result.converged and np.allclose(result.x, x)


def test_batch_spec_is_a_frozen_value() -> None:
    spec = ts.BatchSpec({"X": 2}, ["sim:0", "sim:1"])
    assert spec.batch_sizes == {"X": 2} and spec.base_device is None and spec.resident
    assert texts(spec.device_matrix) == ["sim:0", "sim:1"]
    for name in ("batch_sizes", "device_matrix", "base_device"):
        with pytest.raises(AttributeError):
            setattr(spec, name, None)
    assert spec == ts.BatchSpec({"X": 2}, ("sim:0", "sim:1")) and hash(spec) == hash(
        ts.BatchSpec({"X": 2}, ["sim:0", "sim:1"])
    )
    assert spec != ts.BatchSpec({"X": 3}, ["sim:0", "sim:1"]) and spec != 2
    A = ts.Diagonal(np.ones(5), ("X",))
    before = repr(spec)
    ts.create_batched_linop(A, spec)
    assert repr(spec) == before
    plain = ts.BatchSpec({"X": 2})
    assert plain.device_matrix is None
    assert plain.resolve(A, "sim:0") != plain.resolve(A, "cpu")
    assert str(plain.resolve(A, "sim:0").base_device) == "sim:0"


@pytest.mark.parametrize(
    ("devices", "sizes", "expected"),
    [
        (["sim:1", "sim:2", "sim:3"], {"X": 1}, ["sim:1", "sim:2", "sim:3", "sim:1"]),
        (["sim:1", "sim:2", "sim:3"], {"X": 2}, ["sim:1", "sim:2"]),
        (["sim:1", "sim:2"], {"X": 4}, ["sim:1"]),
        (["sim:1", "sim:2"], {"X": 1, "Y": 3}, [["sim:1"], ["sim:2"], ["sim:1"], ["sim:2"]]),
        (["sim:1", "sim:2"], {"X": 2, "Y": 1}, [["sim:1", "sim:2", "sim:1"]] * 2),
        ([["sim:1"], ["sim:2"]], {"X": 2, "Y": 2}, [["sim:1"] * 2, ["sim:2"] * 2]),
        (np.array([["sim:1", "sim:2"]]), {"X": 1}, ["sim:1", "sim:2", "sim:1", "sim:2"]),
        ("sim:1", {"X": 2}, ["sim:1", "sim:1"]),
    ],
)
def test_device_matrix_is_repeated_and_cut_off(devices: object, sizes: dict, expected: list) -> None:
    A = ts.Diagonal(np.ones((4, 3)), ("X", "Y"))
    assert texts(ts.BatchSpec(sizes, devices).broadcast_device_matrix(A)) == expected


def test_devices_that_are_not_there() -> None:
    with pytest.raises(ts.CommError, match="rank1/sim:0"):
        ts.create_batched_linop(matrix(), ts.BatchSpec({"M": 1}, ["rank1/sim:0"]))
    with pytest.raises(ts.DeviceError, match="sim:99"):
        ts.create_batched_linop(matrix(), ts.BatchSpec({"M": 1}, ["sim:99"]))
    for wrong in ("tpu:0", ["rank/cpu"]):
        with pytest.raises(ts.DeviceError):
            ts.BatchSpec({"M": 1}, wrong)
    with pytest.raises(ValueError, match="ragged"):
        ts.BatchSpec({"M": 1}, [["cpu", "sim:0"], ["cpu"]])
    with pytest.raises(ValueError, match="no devices"):
        ts.BatchSpec({"M": 1}, [])
    with pytest.raises(ValueError, match="no BatchSpec"):
        ts.create_batched_linop(matrix(), [])
    with pytest.raises(TypeError, match="BatchSpec"):
        ts.create_batched_linop(matrix(), [{"M": 1}])
    if not any(str(d).startswith("cuda") for d in ts.devices()):
        with pytest.raises(ts.NotAvailable, match="cuda"):
            ts.create_batched_linop(matrix(), ts.BatchSpec({"M": 1}, ["cuda:0"]))


def test_devices_hold_their_own_bytes() -> None:
    w = RNG.normal(size=(40, 50))
    A = ts.Dense(w, "MN", "N", "M")
    for sizes, held in (({"M": 20}, 20 * 50), ({"N": 25}, 40 * 25), ({"M": 10, "N": 10}, 0)):
        before = ts.memory_stats("sim:6")["in_use"]
        B = ts.create_batched_linop(A, ts.BatchSpec(sizes, ["sim:5", "sim:6"]))
        expected = 8 * (held or 4 * 2 * 100)  # every second of five columns of tiles
        assert ts.memory_stats("sim:6")["in_use"] - before == expected, sizes
        del B


def test_a_batched_operator_does_not_move_unseen():
    A = ts.Diagonal(np.arange(6.0), ("X",))
    B = ts.create_batched_linop(A, ts.BatchSpec({"X": 2}, ["sim:0", "sim:1"]))
    bound = [B, B.H, B.N, 2 * B, ts.AsyncStreamer(A, {"X": 2}, "sim:0"), ts.ToDevice("cpu", "sim:0", ("X",))]
    bound.append(ts.fit(A, shape=(6,), dtype="float64", budget={"sim:0": 100}))
    for op in bound:
        for device in ("sim:4", "sim:0", torch.device("cuda", 0)):
            with pytest.raises((ts.DeviceError, ts.NotAvailable), match="which devices it runs on|cuda"):
                op.to(device)
        assert op.to("cpu") is op
        assert np.array_equal(op(np.ones(6)).to("cpu").numpy(), op(np.ones(6)).to("cpu").numpy())
    # One that has not left its device goes as any other.
    C = ts.create_batched_linop(A, ts.BatchSpec({"X": 2})).to("sim:4")
    assert C.device == "sim:4" and C(ts.ones(6, device="sim:4")).to("cpu").tolist() == list(range(6))


def test_devices_of_torch():
    cpu = torch.device("cpu")
    A = ts.Diagonal(np.arange(6.0), ("X",))
    assert A.to(cpu).device == "cpu" and ts.ones(2).to(cpu).device == "cpu" and ts.zeros(2, device=cpu).device == "cpu"
    spec = ts.BatchSpec({"X": 2}, [cpu, "sim:0"], cpu)
    assert spec.base_device == "cpu" and [str(d) for d in spec.device_matrix] == ["cpu", "sim:0"]
    assert ts.create_batched_linop(A, spec)(np.ones(6)).tolist() == list(range(6))
    assert ts.Device(torch.device("cuda", 1)) == "cuda:1" and ts.Device(torch.device("cpu", 0)) == "cpu"
    with pytest.raises(ts.DeviceError, match="meta"):
        A.to(torch.device("meta"))
    ts.context().force(cpu)
    assert "cpu" in str(ts.context().device)
    ts.context().force(None)


@pytest.mark.skipif(not ts.why_unavailable("cuda"), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda:0", "torch", "sim:99"])
def test_a_device_that_is_not_there_is_not_forced(device):
    with pytest.raises((ts.NotAvailable, ts.DeviceError)):
        ts.context().force(torch.device("cuda:0") if device == "torch" else device)
    assert ts.linalg.matmul(np.eye(3), np.eye(3)).device == "cpu"


def test_an_empty_dim_is_named():
    D = ts.Diagonal(np.ones((0, 3)), ("X", "Y"))
    for wrong in (
        lambda: ts.create_batched_linop(D, ts.BatchSpec({"X": 2})),
        lambda: ts.split_linop(D, {"X": 2}),
        lambda: ts.split_linop(ts.Scalar(2.0, ("X", "Y")), {"X": 1}, shape=(0, 3)),
        lambda: ts.AsyncStreamer(D, {"X": 2}, "sim:0"),
    ):
        with pytest.raises(ts.ArgumentError, match="dim 'X' is empty"):
            wrong()
