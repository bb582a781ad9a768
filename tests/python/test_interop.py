# SPDX-License-Identifier: Apache-2.0
"""Memory shared with NumPy, DLPack and torch; nested lists; copies, pickles, printing, numbers."""

import array as array_module
import copy
import gc
import operator
import pickle
import re
import weakref

import numpy as np
import pytest
from support import ALL, check, draw_numbers, on, strided

import tessera as ts


@pytest.mark.parametrize("dtype", ALL)
def test_numpy_memory_is_shared_both_ways(dtype, rng):
    a = strided(rng, draw_numbers(rng, (3, 4), dtype))
    x = ts.asarray(a)
    check(x, a)
    x[1, 2] = 1
    assert a[1, 2] == a.dtype.type(1)
    a[0, 0] = 0
    assert x[0, 0].item() == 0
    back = np.asarray(x)
    assert back.dtype == a.dtype and np.shares_memory(back, a) and back.strides == a.strides
    back[2, 3] = 1
    assert x[2, 3].item() == 1


def test_views_export_their_strides():
    x = ts.arange(24).reshape(2, 3, 4)
    for view in (x[:, ::-1], x.T, x[1, :, 1::2], x[..., 0]):
        assert np.array_equal(np.asarray(view), view.numpy())
        assert np.shares_memory(np.asarray(view), np.asarray(x))


def test_complex_numbers_between_their_boundaries_are_copied():
    raw = np.zeros(5 * 16 + 16, np.uint8)
    start = -raw.ctypes.data % 16 + 8
    a = raw[start : start + 64].view(np.complex128)
    a[:] = [1, 2j, 3, 4]
    x = ts.asarray(a)
    check(ts.multiply(x, x), a * a)


def test_array_copies():
    a = np.zeros(3)
    x = ts.array(a)
    x[0] = 1
    assert a[0] == 0
    assert ts.array(x).item(0) == 1 and not ts.may_share_memory(ts.array(x), x)
    assert ts.asarray(x) is not None and ts.may_share_memory(ts.asarray(x), x)


def test_lifetime_goes_with_the_last_user():
    class Owner(np.ndarray):
        pass

    a = np.zeros(1000).view(Owner)
    alive = weakref.ref(a)
    x = ts.asarray(a)
    view = x[10:20]
    del a, x
    gc.collect()
    assert alive() is not None
    view[0] = 3
    del view
    gc.collect()
    assert alive() is None
    x = ts.ones(1000)
    n = x.numpy()
    del x
    gc.collect()
    assert (n == 1).all()


def test_other_buffers_and_byte_orders():
    assert ts.asarray(array_module.array("d", [1, 2])).tolist() == [1.0, 2.0]
    assert ts.asarray(memoryview(b"abc")).tolist() == [97, 98, 99]
    assert ts.asarray(bytearray(b"ab")).dtype == ts.uint8
    swapped = np.array([1.5, 2.5], ">f8")
    assert ts.asarray(swapped).tolist() == [1.5, 2.5]
    record = np.zeros(3, [("a", "i1"), ("b", "f8")])
    record["b"] = [1, 2, 3]
    assert ts.asarray(record["b"]).tolist() == [1.0, 2.0, 3.0]  # unaligned: copied
    for bad in (np.array(["a"]), np.array([None]), np.zeros(2, "M8[s]"), record):
        with pytest.raises(TypeError, match=re.escape(f"got numpy.ndarray of dtype {bad.dtype}")):
            ts.asarray(bad)


@pytest.mark.parametrize("dtype", [t for t in ALL if t != "bool"])
def test_dlpack_with_numpy(dtype, rng):
    a = strided(rng, draw_numbers(rng, (3, 4), dtype))
    x = ts.from_dlpack(a)
    check(x, a)
    x[0, 0] = 1
    assert a[0, 0] == a.dtype.type(1)
    b = np.from_dlpack(ts.asarray(a))
    assert np.array_equal(b, a) and np.shares_memory(a, b)
    copied = np.from_dlpack(ts.asarray(a), copy=True)
    assert np.array_equal(copied, a) and not np.shares_memory(a, copied)


def test_dlpack_rules():
    x = ts.arange(3)
    assert x.__dlpack_device__() == (1, 0)
    capsule = x.__dlpack__()
    y = ts.from_dlpack(capsule)
    assert ts.may_share_memory(x, y)
    with pytest.raises(TypeError, match="used before"):
        ts.from_dlpack(capsule)
    unused = x.__dlpack__(max_version=(1, 0))
    del unused  # its memory is given back by the capsule
    frozen = np.arange(3)
    frozen.flags.writeable = False
    z = ts.asarray(frozen)
    assert not ts.from_dlpack(z).writable
    with pytest.raises(BufferError):
        z.__dlpack__()
    with pytest.raises(BufferError):
        x.to("sim:0").__dlpack__()
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))


def test_torch(device):
    torch = pytest.importorskip("torch")
    if device.startswith("sim"):
        return
    t = torch.arange(6, dtype=torch.float32).reshape(2, 3).to(device)
    x = ts.asarray(t.T)
    assert x.shape == (3, 2)
    x[0, 0] = 9
    ts.synchronize()
    assert t[0, 0].item() == 9
    back = torch.from_dlpack(x)
    assert back.shape == (3, 2) and back.data_ptr() == t.data_ptr()
    assert x.dtype == torch.float32
    assert ts.asarray(torch.ones(2, dtype=torch.bfloat16)).dtype == ts.bfloat16


def test_device_arrays_are_not_moved_silently(device):
    x = ts.arange(3, device=device)
    if device == "cpu":
        return
    with pytest.raises(ts.DeviceError, match="x.numpy"):
        np.asarray(x)
    with pytest.raises(BufferError):
        memoryview(x)
    with pytest.raises(ts.DeviceError, match="move them with to"):
        _ = x + ts.arange(3)
    assert x.numpy().tolist() == [0, 1, 2]


NUMBERS = [
    np.float64(1.5), np.float32(-1.5), np.float16(0.5), np.int8(3), np.uint64(2**63), np.bool_(True),
    np.complex64(1 - 2j), np.complex128(2j), np.array(2.5), np.array(3, "int16"), np.float64("nan"),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "complex64", "bool"])
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: f"{type(n).__name__}-{n}")
def test_numbers_of_numpy_have_no_device(number, dtype, device):
    """x * np.sqrt(2) wherever x is, with NumPy's dtype: a number is made where it is needed, an array is not moved."""
    n = np.arange(4).astype(dtype)
    x = ts.asarray(n).to(device)

    def same(got, want):
        assert str(got.device) == device and got.dtype == str(want.dtype) and got.shape == want.shape
        np.testing.assert_array_equal(got.numpy(), want)

    for op in (operator.add, operator.mul, operator.eq, operator.ne):
        same(op(x, number), op(n, number))
        same(op(number, x), op(number, n))
    same(ts.add(x, number), np.add(n, number))
    same(ts.multiply(number, x), np.multiply(number, n))
    same(np.add(x, number), np.add(n, number))
    same(ts.where(x == x, x, number), np.where(n == n, n, number))
    same(ts.where(x != x, number, x), np.where(n != n, number, n))
    if np.can_cast(np.result_type(n, number), n.dtype, "same_kind"):
        x += number
        n += number
        same(x, n)
    if np.result_type(n, number).kind not in "cb":
        same(ts.clip(x, number, None), np.clip(n, number, None))
        same(ts.maximum(x, number), np.maximum(n, number))
    if device != "cpu":
        for other in (np.full(4, number), np.full(1, number), ts.asarray(number)):
            with pytest.raises(ts.DeviceError, match="move them with to"):
                _ = x + other


NESTED = [
    1,
    2.5,
    True,
    1j,
    [1, 2],
    [[1, 2], [3, 4.5]],
    [],
    [[], []],
    [True, False],
    [1, True],
    (1, [2][0]),
    range(4),
    [2**63],
    [-1, 2**62],
    [np.float32(1.5), 2],
    [np.arange(3), np.arange(3)],
    [[np.int8(1)]],
]


@pytest.mark.parametrize("obj", NESTED, ids=repr)
def test_nested_lists(obj):
    expected = np.array(obj)
    got = ts.array(obj)
    assert got.shape == expected.shape
    assert str(got.dtype) == str(expected.dtype)
    assert np.array_equal(got.numpy(), expected)


def test_nested_lists_that_are_no_arrays():
    for bad in ([[1], [1, 2]], [[1, 2], 3], [1, [2]], [np.zeros(2), np.zeros(3)]):
        with pytest.raises(ValueError, match="inhomogeneous"):
            ts.array(bad)
    for bad in ("a", ["a"], [None], object(), {}, [{}], int):
        with pytest.raises(TypeError):
            ts.array(bad)
    deep: list = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ValueError, match="nested"):
        ts.array(deep)
    with pytest.raises(OverflowError):
        ts.array([2**70])
    assert ts.array([1.7, 2], dtype="int32").tolist() == [1, 2]


def test_numpy_on_either_side(rng):
    a = draw_numbers(rng, (3, 4), "float32")
    x = ts.asarray(a.copy())
    for result in (
        x + a,
        a + x,
        np.add(a, x),
        np.float32(2) * x,
        x * np.float64(2),
        np.multiply(x, 2),
        a @ x.T,
    ):
        assert isinstance(result, ts.Array)
    assert (x * np.float64(2)).dtype == "float64" and (x * 2.0).dtype == "float32"
    check(a - x * 2, a - a * 2)
    b = a.copy()
    b += x
    assert isinstance(b, np.ndarray) and np.array_equal(b, a + a)
    assert isinstance(np.add.reduce(x), ts.Array)
    check(np.logaddexp(x, a), np.logaddexp(a, a))
    assert (x == a).all() and not (x != a).any()
    check(x[0] + [1, 2, 3, 4], a[0] + np.array([1, 2, 3, 4]))


def test_python_numbers(device):
    x = on(device, np.array([2.5]))
    assert float(x) == 2.5 and int(x) == 2 and complex(x) == 2.5 + 0j and bool(x) and x.item() == 2.5
    i = on(device, np.array(3))
    assert [10, 20, 30, 40][i] == 40 and range(5)[i] == 3
    with pytest.raises(TypeError):
        [1, 2][x[0]]
    with pytest.raises(TypeError):
        float(ts.ones(2, device=device))
    for bad, word in ((ts.ones(2), "ambiguous"), (ts.ones(0), "empty")):
        with pytest.raises(ValueError, match=word):
            bool(bad)
    assert ts.arange(6).reshape(2, 3).item(1, 2) == 5 and ts.arange(6).reshape(2, 3).item(4) == 4
    assert isinstance(ts.array(True).item(), bool) and isinstance(ts.array(2**63).item(), int)


@pytest.mark.parametrize("dtype", [*ALL, "bfloat16"])
def test_copies_and_pickles(dtype, device):
    x = ts.arange(6, dtype="float32").astype(dtype).to(device).reshape(2, 3).T
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.copy()):
        assert y.dtype == x.dtype and y.shape == x.shape and y.device == device
        assert not ts.may_share_memory(x, y)
        assert y.tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(x.dtype)) is x.dtype
    assert pickle.loads(pickle.dumps(x.device)) == x.device


def test_printing_is_numpys(device, rng):
    for a in (
        np.arange(6).reshape(2, 3),
        np.array([1.5, np.nan, -1e10]),
        np.array(3),
        np.zeros((0, 2)),
        np.arange(2000),
        np.array([True, False]),
        np.array([1 + 2j, -1j]),
        np.arange(8, dtype=np.int8),
    ):
        x = on(device, a)
        assert str(x) == str(a)
        expected = repr(a) if device == "cpu" else None
        if expected:
            assert repr(x) == expected
        else:
            assert f"device='{device}'" in repr(x)


def test_dtypes():
    assert ts.float32 == np.float32 and ts.float32 == "float32" and ts.float32 == np.dtype("f4") == ts.float32
    for ours, pythons in ((ts.int64, int), (ts.float64, float), (ts.complex128, complex), (ts.bool, bool)):
        assert ours == pythons
    assert np.dtype(ts.complex64) == np.complex64 and np.zeros(1, ts.float32).dtype == np.float32
    assert {ts.float32: 1}["float32"] == 1 and ts.float32 != ts.float64 and ts.float32 != 3
    assert ts.result_type(ts.int8, "uint8") == ts.int16 and ts.result_type(ts.float32, ts.ones(1)) == ts.float64
    assert (ts.float32.kind, ts.float32.itemsize, str(ts.float32), repr(ts.float32)) == (
        "f",
        4,
        "float32",
        "tessera.float32",
    )
    with pytest.raises(ts.DTypeError, match="float128"):
        ts.zeros(1, "float128")


def test_hash_is_refused():
    with pytest.raises(TypeError, match="unhashable"):
        hash(ts.ones(1))


@pytest.mark.parametrize("value", [np.datetime64("2020-01-01"), np.timedelta64(3, "s"), np.array("2020", "M8[D]")])
def test_dates_are_no_numbers(value):
    for call in (ts.asarray, ts.array, ts.sum, ts.dist.array, lambda v: ts.add(ts.ones(2), v)):
        with pytest.raises(TypeError):
            call(value)
