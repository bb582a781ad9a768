# SPDX-License-Identifier: Apache-2.0
"""What other libraries and the array API standard expect of arrays, dtypes and devices beside numbers: comparisons with
anything, formats, protocols, signatures that type checkers read."""

import subprocess
import sys
import weakref

import numpy as np
import pytest
from support import check, draw_numbers, is_like, on, outcome, same_outcome

import tessera as ts

VALUES = {
    "dtype": lambda: ts.float32,
    "device": lambda: ts.Device("sim:0"),
    "stream": lambda: ts.Stream("sim:0"),
    "repeated event": lambda: ts.RepeatedEvent("sim:0"),
    "device spec": lambda: ts.DeviceSpec("sim:0"),
    "dim": lambda: ts.Dim("X"),
    "shape": lambda: ts.NamedShape(("X",), ("Y",)),
    "batch spec": lambda: ts.BatchSpec({"X": 1}, ["sim:0"]),
    "communicator": lambda: ts.dist.world,
    "traffic": lambda: ts.dist.world.traffic,
}
OTHERS = [
    None,
    1,
    1.5,
    "no such thing",
    b"x",
    (),
    [],
    {},
    object(),
    int,
    object,
    NotImplemented,
    ...,
    np.nan,
    np.zeros(()),
]


@pytest.mark.parametrize("kind", VALUES)
def test_values_compare_with_anything(kind):
    value = VALUES[kind]()
    for other in OTHERS:
        if isinstance(other, np.ndarray) and kind == "dtype":
            continue  # the array's comparison, element by element
        assert not bool(value == other) and bool(value != other), other
        assert not bool(other == value), other
    assert value not in [None, object()] and value in [None, value]
    assert value == value and not value != value


NUMBERS = [True, 3, 2.5, 1j, 2**40]
DTYPES = ["bool", "int8", "uint8", "int64", "float32", "float64", "complex64"]


def test_result_type_of_numbers_is_numpys():
    for dtype in DTYPES:
        for number in NUMBERS:
            for more in ([], ["float32"]):
                of_ours = [getattr(ts, dtype if dtype != "bool" else "bool_"), number, *more]
                of_numpys = [np.dtype(dtype), number, *map(np.dtype, more)]
                assert str(ts.result_type(*of_ours)) == str(np.result_type(*of_numpys)), (dtype, number, more)
                array = np.zeros(2, dtype)
                assert str(ts.result_type(ts.asarray(array), number)) == str(np.result_type(array, number))
    assert (
        ts.result_type(1, 2.5) == ts.float64 and ts.result_type(ts.dist.zeros(2, dtype="float32"), 1j) == ts.complex64
    )
    assert ts.result_type(np.float32(1), 1.0) == ts.float32 and ts.result_type(np.zeros(2, "int8"), 1) == ts.int8
    for bad in ((), (object(),), ("no such thing", 1)):
        with pytest.raises((TypeError, ValueError)):
            ts.result_type(*bad)


INFINITE = [np.inf, -np.inf, 1.0, 2.0, -3.5, np.nan]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nanmedian_with_infinities(dtype, device):
    for seed in range(150):
        rng = np.random.default_rng(seed)
        x = rng.choice(INFINITE, (int(rng.integers(1, 7)), int(rng.integers(1, 7)))).astype(dtype)
        for axis in (None, 0, 1, (0, 1)):
            same_outcome(
                lambda a=axis, x=x: ts.nanmedian(on(device, x), axis=a),
                lambda a=axis, x=x: np.nanmedian(x, axis=a),
                check,
            )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_quantiles_of_integers_are_the_ends(dtype, device):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.choice(INFINITE[: 6 if seed % 2 else 5], 5)
        x = x.astype(dtype) if dtype != "int32" else rng.integers(-9, 9, 5).astype(dtype)
        for function in ("quantile", "nanquantile"):
            for q in (0, 1, [0, 1], np.array([1, 0, 1])):
                ours, numpys = getattr(ts, function), getattr(np, function)
                same_outcome(lambda f=ours, q=q: f(on(device, x), q), lambda f=numpys, q=q: f(x, q), check)  # noqa: B023


REFUSED = {
    "vecdot of other lengths": lambda xp, of: xp.vecdot(of(np.ones(3)), of(np.ones(1))),
    "vecdot along an axis that one does not have": lambda xp, of: xp.linalg.vecdot(
        of(np.ones((3, 2))), of(np.ones(2)), axis=-2
    ),
    "expand_dims twice": lambda xp, of: xp.expand_dims(of(np.zeros((3, 3, 3))), (0, -5)),
    "expand_dims beyond": lambda xp, of: xp.expand_dims(of(np.zeros((3, 3, 3))), (0, -6)),
    "expand_dims far beyond": lambda xp, of: xp.expand_dims(of(np.zeros(3)), (0, 7)),
    "expand_dims of one axis beyond": lambda xp, of: xp.expand_dims(of(np.zeros(3)), 3),
    "product that does not fit": lambda xp, of: of(np.ones(3)).__imatmul__(of(np.ones((3, 3, 3)))),
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused_as_by_numpy(call, device):
    got = outcome(lambda: REFUSED[call](ts, lambda x: on(device, x)))
    want = outcome(lambda: REFUSED[call](np, lambda x: x))
    assert want[0] == got[0] == "error" and is_like(got[1], want[1]), (got, want)


def test_vecdot_broadcasts_the_other_axes(device):
    a, b = np.arange(12.0).reshape(2, 1, 6), np.arange(18.0).reshape(3, 6)
    check(ts.vecdot(on(device, a), on(device, b)), np.vecdot(a, b))
    check(ts.expand_dims(on(device, b), (0, -1)), np.expand_dims(b, (0, -1)))
    check(ts.expand_dims(on(device, b), np.int64(1)), np.expand_dims(b, 1))


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64"])
def test_products_in_place(dtype, device, rng):
    x, y = draw_numbers(rng, (4, 3), dtype), draw_numbers(rng, (3, 3), dtype)
    mine = same = on(device, x.copy())
    mine @= on(device, y)
    assert mine is same
    check(mine, x @ y)
    square = on(device, y.copy())
    square @= square  # reads what it writes
    check(square, y @ y)
    with pytest.raises(ValueError, match=r"\(4, 3\)"):
        mine @= on(device, np.ones((3, 2), dtype))
    integers = ts.ones((2, 2), dtype="int64", device=device)
    with pytest.raises(TypeError, match="same_kind"):
        integers @= ts.ones((2, 2), device=device)
    with pytest.raises(ValueError, match="read-only"):
        fixed = ts.broadcast_to(ts.ones((2, 2), device=device), (2, 2))
        fixed @= ts.ones((2, 2), device=device)


def test_nextafter_of_numbers(device):
    for dtype in ("float32", "float64"):
        x = np.array([1.0, -1.0, 0.0, 5.5, np.inf, np.nan], dtype)
        for number in (0, 0.0, 1, -2.5):
            check(ts.nextafter(on(device, x), number), np.nextafter(x, x.dtype.type(number)))
            check(ts.nextafter(number, on(device, x)), np.nextafter(x.dtype.type(number), x))


def test_to_device_and_from_dlpack(device):
    x = ts.arange(6, device=device).reshape(2, 3)
    assert x.to_device(device).device == device and x.to_device("sim:1").device == "sim:1"
    assert x.to_device("cpu", stream=None).tolist() == x.tolist()
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=5)
    assert ts.may_share_memory(ts.from_dlpack(x), x) and ts.may_share_memory(ts.from_dlpack(x, copy=False), x)
    assert not ts.may_share_memory(ts.from_dlpack(x, copy=True), x)
    moved = ts.from_dlpack(x, device="sim:2")
    assert moved.device == "sim:2" and moved.tolist() == x.tolist()
    with pytest.raises(BufferError, match="copy"):
        ts.from_dlpack(x, device="sim:2", copy=False)
    assert np.from_dlpack(x, device="cpu", copy=None if device == "cpu" else True).tolist() == x.tolist()
    a = np.zeros(3)
    assert np.shares_memory(ts.from_dlpack(a, device="cpu", copy=False).numpy(), a)


def test_linalg_of_the_standard(rng):
    a = rng.integers(-5, 5, (3, 4, 5)).astype("int32")
    for dtype in ("float32", "int64", "complex64"):
        check(ts.linalg.trace(ts.asarray(a), dtype=dtype), np.linalg.trace(a, dtype=dtype))
        check(ts.linalg.trace(ts.asarray(a), offset=-1, dtype=dtype), np.linalg.trace(a, offset=-1, dtype=dtype))
    stack = rng.normal(size=(3, 5, 4)) @ np.diag([1.0, 1e-2, 1e-5, 1e-12])
    for rtol in (np.array([1e-1, 1e-4, 1e-15]), 1e-3, np.array(1e-7)):
        check(ts.linalg.matrix_rank(ts.asarray(stack), rtol=rtol), np.linalg.matrix_rank(stack, rtol=rtol))
        check(ts.linalg.pinv(ts.asarray(stack), rtol=rtol), np.linalg.pinv(stack, rtol=rtol), tol=1e-9)
    complex_stack = stack + 1j * rng.normal(size=stack.shape)
    rtol = np.array([0.5, 1e-4, 0.9])
    check(ts.linalg.pinv(ts.asarray(complex_stack), rtol=rtol), np.linalg.pinv(complex_stack, rtol=rtol), tol=1e-9)
    x = rng.normal(size=(2, 3, 4))
    for axis in ((), (0,), (0, 2), (2, 0, 1), None, 1, (-1, 0)):
        for ord in (2, 1, 0, np.inf, -np.inf, 3):
            for keep in (False, True):
                want = (
                    np.linalg.vector_norm(x, axis=axis, ord=ord, keepdims=keep)
                    if axis != ()
                    else {0: (x != 0) * 1.0}.get(ord, abs(x))
                )
                check(ts.linalg.vector_norm(ts.asarray(x), axis=axis, ord=ord, keepdims=keep), want)


def test_distributed_arrays_keep_the_standard_too(rng):
    a = rng.integers(-5, 5, (3, 4, 5)).astype("int32")
    stack = rng.normal(size=(3, 5, 4)) @ np.diag([1.0, 1e-2, 1e-5, 1e-12])
    rtol = np.array([1e-1, 1e-4, 1e-15])
    for split in (None, 0):
        mine = ts.dist.array(a, split=split)
        check(ts.dist.linalg.trace(mine, dtype="float32").local, np.linalg.trace(a, dtype="float32"))
        many = ts.dist.array(stack, split=split)
        check(ts.dist.linalg.matrix_rank(many, rtol=rtol).local, np.linalg.matrix_rank(stack, rtol=rtol))
        check(ts.dist.linalg.pinv(many, rtol=rtol).local, np.linalg.pinv(stack, rtol=rtol), tol=1e-9)
        assert mine.to_device("sim:0").device == "sim:0"
        x = ts.dist.linspace(1, 0, 10, endpoint=False, split=split)
        assert x.tolist() == np.linspace(1, 0, 10, endpoint=False).tolist()
    assert ts.dist.from_dlpack(np.arange(3), device="sim:0", copy=True).device == "sim:0"
    with pytest.raises(BufferError, match="copy"):
        ts.dist.from_dlpack(np.arange(3), copy=False)


def test_eye_of_diagonals_far_away(device):
    for k in (0, 2, -1, 5, -5, 2**62, -(2**63), 2**63, 10**30, np.int8(1)):
        check(ts.eye(3, 4, k, device=device), np.eye(3, 4, int(k)))
    with pytest.raises(TypeError):
        ts.eye(3, k=1.5)


def test_linspace_without_its_end():
    for start, stop, num in ((1.0, 0.0, 10), (0.0, 1.0, 7), (-3.5, 2.25, 1), (0.0, 1.0, 0), (1e300, -1e300, 5)):
        assert (
            ts.linspace(start, stop, num, endpoint=False).tolist()
            == np.linspace(start, stop, num, endpoint=False).tolist()
        )
    with pytest.raises(ValueError, match="non-negative"):
        ts.linspace(0, 1, -1)


def test_formats_and_rounding(device):
    x = ts.array(2.34567, device=device)
    assert f"{x:.3f} {x:8.1e}|{ts.array(7, device=device):05d}" == f"{2.34567:.3f} {2.34567:8.1e}|{7:05d}"
    assert f"{ts.arange(3, device=device)}" == str(ts.arange(3, device=device)) and format(x) == format(2.34567)
    with pytest.raises(TypeError, match=r"\(3,\)"):
        format(ts.arange(3, device=device), ".3f")
    with pytest.raises(ValueError):
        format(x, "no format")
    assert round(x) == 2 and type(round(x)) is int and round(ts.array(2.5, device=device)) == 2
    assert round(x, 2).item() == 2.35 and round(ts.array([0.26, 1.74], device=device), 1).tolist() == [0.3, 1.7]
    assert round(ts.array(-7, device=device)) == -7 and round(ts.array([0.5, 1.5], device=device)).tolist() == [0, 2]


def test_weak_references():
    x = ts.zeros(3)
    ended = []
    seen, also = weakref.ref(x, lambda _: ended.append(1)), weakref.WeakValueDictionary(x=x)
    assert seen() is x and also["x"] is x
    del x
    assert seen() is None and ended == [1] and not also


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64", "complex128"])
def test_array_interface(dtype, rng):
    x = ts.asarray(draw_numbers(rng, (4, 5), dtype))

    class Other:  # whoever reads the dict and nothing else
        def __init__(self, array):
            self.__array_interface__ = array.__array_interface__

    for view in (x, x.T, x[::2, ::-1], x[1:1], x[2, 3]):
        seen = np.asarray(Other(view))
        assert np.array_equal(seen, view.numpy()) and seen.dtype == view.numpy().dtype
        assert view.__array_interface__["version"] == 3
    assert np.asarray(Other(x)).ctypes.data == x.numpy().ctypes.data
    for elsewhere in (x.to("sim:0"), ts.zeros(2, dtype="bfloat16")):
        assert not hasattr(elsewhere, "__array_interface__") and not hasattr(elsewhere, "__cuda_array_interface__")
    assert not hasattr(x, "__cuda_array_interface__")


def test_numbers_of_numpy_become_arrays_of_their_own():
    for number in (np.float64(1.0), np.int8(3), np.complex64(1j), np.bool_(True)):
        x = ts.asarray(number)
        assert x.writable and str(x.dtype) == str(number.dtype) and x.item() == number.item()
        x[...] = 0
        assert x.item() == 0 and number.item() != 0
    frozen = np.zeros(())
    frozen.flags.writeable = False
    assert not ts.asarray(frozen).writable and ts.asarray(np.zeros(())).writable


NUMPYS = {
    "sort": lambda np, x: np.sort(x, axis=0),
    "concatenate": lambda np, x: np.concatenate([x, x], axis=1),
    "sum": lambda np, x: np.sum(x, axis=1, keepdims=True),
    "linalg.norm": lambda np, x: np.linalg.norm(x),
    "linalg.svd": lambda np, x: np.linalg.svd(x, compute_uv=False),
    "fft": lambda np, x: np.fft.fft(x),
    "trace": lambda np, x: np.trace(x, offset=1),
    "linalg.trace": lambda np, x: np.linalg.trace(x),
    "einsum": lambda np, x: np.einsum("ij,kj->ik", x, x),
    "where": lambda np, x: np.where(x > 0, x, 0),
    "zeros_like": lambda np, x: np.zeros_like(x),
    "quantile": lambda np, x: np.quantile(x, 0.3, axis=0),
    "tensordot": lambda np, x: np.tensordot(x, x, axes=([1], [1])),
    "broadcast_to": lambda np, x: np.broadcast_to(x, (2, 3, 5)),
    "clip": lambda np, x: np.clip(x, -1, 1),
    "median": lambda np, x: np.median(x, axis=1),
}


@pytest.mark.parametrize("name", NUMPYS)
def test_numpys_functions_run_here(name, device, rng):
    x = rng.normal(size=(3, 5))
    check(NUMPYS[name](np, on(device, x)), NUMPYS[name](np, x), tol=1e-12)


# Ours where we have them with these arguments, else NumPy's: the numbers are the same.
EITHER = [
    lambda a: np.vstack([a, np.ones((2, 5))]),
    lambda a: np.histogram(a, 4),
    lambda a: np.linalg.lstsq(a, np.ones(3), rcond=None)[0],
    lambda a: np.linalg.eigh(a @ a.T)[0],
    lambda a: np.linalg.norm(a, axis=1, ord=1),
    lambda a: np.clip(a, a_min=-0.5, a_max=0.5),
    lambda a: np.average(a, axis=0, weights=[1, 2, 3]),
    lambda a: np.average(a, returned=True),
    lambda a: np.meshgrid(a[0], a[1], sparse=True),
    lambda a: np.pad(a, 1, mode="mean"),
    lambda a: np.unique(np.rint(a), return_counts=True),
    lambda a: np.roll(a, (1, 2), axis=(0, 1)),
    lambda a: np.gradient(a),
    lambda a: np.cov(a),
    lambda a: np.percentile(a, [10, 50], axis=1, method="lower"),
    lambda a: np.sum(a, where=np.asarray(a) > 0),
    lambda a: np.max(a, initial=100),
    lambda a: np.insert(a, 1, 0, axis=0),
    lambda a: np.append(a, [1.0]),
    lambda a: np.kron(a, [1, 2]),
    lambda a: np.cross(a[:, :3], [1, 2, 3]),
    lambda a: np.array_split(a, 2),
    lambda a: np.take(a, [0, -1, 99], mode="clip"),
    lambda a: np.median(a, axis=0, overwrite_input=False),
    lambda a: np.fft.rfft(a, n=6, axis=0),
    lambda a: np.einsum("ij,ij->i", a, a, optimize=True),
    lambda a: np.searchsorted(np.sort(a[0]), [0.0, 0.5]),
    lambda a: np.partition(a, 1)[:, 1],  # what stands before and behind it is in no order
    lambda a: np.apply_along_axis(lambda r: float(np.sum(r)), 0, a),
    lambda a: np.trapezoid(a),
    lambda a: np.block([[a], [a]]),
    lambda a: np.linalg.multi_dot([a, a.T, a]),
    lambda a: np.select([np.asarray(a) > 0], [a]),
    lambda a: np.broadcast_arrays(a, np.ones(5)),
    lambda a: np.full_like(a, 3, dtype=int),
    lambda a: np.amax(a, axis=0),
]


@pytest.mark.parametrize("number", range(len(EITHER)))
def test_numpys_functions_agree(number, rng):
    def flat(r):
        return [y for part in r for y in flat(part)] if isinstance(r, (tuple, list)) else [np.asarray(r)]

    x = rng.normal(size=(3, 5))
    got, want = flat(EITHER[number](ts.asarray(x.copy()))), flat(EITHER[number](x))
    assert [g.shape for g in got] == [w.shape for w in want]
    assert all(np.allclose(g, w, rtol=1e-11, atol=1e-12) for g, w in zip(got, want, strict=True))


def test_numpys_functions_that_we_lack(rng):
    x = rng.normal(size=(3, 5))
    mine = ts.asarray(x.copy())
    assert np.array_equal(np.nan_to_num(mine, copy=True).__array__(), x)
    assert np.array_equal(np.asarray(np.unwrap(mine)), np.unwrap(x))
    assert np.shape(mine) == (3, 5) and np.ndim(mine) == 2 and np.size(mine, 1) == 5 and not np.iscomplexobj(mine)
    assert np.result_type(mine, np.float32) == np.float64 and np.can_cast(mine.dtype.dtype, "complex128")
    np.copyto(mine, 5.0)  # writes into the same memory
    assert mine.tolist() == [[5.0] * 5] * 3
    np.fill_diagonal(mine, 1)
    assert mine[1, 1].item() == 1 and np.may_share_memory(mine, mine.numpy())
    assert "5." in np.array2string(mine) and np.array_repr(mine).startswith("array(")
    with pytest.raises(ValueError):
        np.concatenate([mine, ts.zeros((4, 4))], axis=1)
    with pytest.raises(RuntimeError, match="sim:0"):
        np.unwrap(mine.to("sim:0"))


def test_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.array([1.5, -2.0, 3.0, 0.1], ml_dtypes.bfloat16)
    x = ts.asarray(a)
    assert x.dtype == ts.bfloat16 and x.dtype == ml_dtypes.bfloat16 and x.tolist() == a.astype("float64").tolist()
    x[0] = 7
    assert float(a[0]) == 7 and np.shares_memory(x.numpy(), a) and x.numpy().dtype == a.dtype
    assert np.array_equal(ts.asarray(a[::-2]).numpy(), a[::-2])
    assert ts.asarray(ml_dtypes.bfloat16(2.5)).item() == 2.5
    assert (x + a).dtype == ts.bfloat16 and np.asarray(ts.zeros(2, dtype="bfloat16")).dtype == a.dtype
    assert not np.shares_memory(np.array(x, copy=True), a)


def test_jax_takes_arrays():
    jnp = pytest.importorskip("jax.numpy")
    x = ts.arange(6, dtype="float32").reshape(2, 3)
    for view in (x, x.T, x[:, ::2], x[0, 0], ts.broadcast_to(x[0], (4, 3))):
        got = jnp.asarray(view)
        assert np.array_equal(np.asarray(got), view.numpy()) and str(got.dtype) == "float32"
    assert np.allclose(np.asarray(jnp.sin(jnp.asarray(x))), np.sin(x.numpy()), atol=1e-6)


@pytest.mark.parametrize("first", ["einops", "tessera"])
def test_einops(first):
    """By its plain functions, whichever is imported first."""
    pytest.importorskip("einops")
    program = f"""
import {first}, tessera as ts, numpy as np
from einops import rearrange, reduce, repeat, einsum, pack, unpack
x = np.arange(24.0).reshape(2, 3, 4)
t = ts.asarray(x)
for a, b in [
    (rearrange(t, "a b c -> (b a) c"), rearrange(x, "a b c -> (b a) c")),
    (rearrange([t, t], "n a b c -> n c (a b)"), rearrange([x, x], "n a b c -> n c (a b)")),
    (reduce(t, "a b (c d) -> d a", "max", c=2), reduce(x, "a b (c d) -> d a", "max", c=2)),
    (reduce(t, "a b c -> b", "mean"), reduce(x, "a b c -> b", "mean")),
    (repeat(t, "a b c -> a 2 (c b)"), repeat(x, "a b c -> a 2 (c b)")),
    (einsum(t, t, "a b c, a d c -> b d"), einsum(x, x, "a b c, a d c -> b d")),
    (pack([t, t], "a * c")[0], pack([x, x], "a * c")[0]),
]:
    assert isinstance(a, ts.Array) and np.array_equal(a.numpy(), b), (a, b)
print("einops" in __import__("sys").modules)
"""
    path = [str(ts.__path__[0] + "/.."), *sys.path]
    ran = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": ":".join(path)}, capture_output=True, text=True
    )
    assert ran.stdout == "True\n", ran.stderr


SCIPYS = """
import numpy as np, tessera as ts
from scipy import cluster, constants, differentiate, fft, integrate, signal, special, stats
from scipy.optimize import elementwise
a = np.random.default_rng(1).normal(size=(6, 40))
p, v = abs(a) + 0.1, a[0]
CALLS = [
    lambda x: stats.skew(x(a), axis=1),
    lambda x: stats.zscore(x(a)),
    lambda x: stats.gmean(x(p)),
    lambda x: stats.moment(x(a), [1, 2]),
    lambda x: stats.rankdata(x(a), axis=1),
    lambda x: stats.iqr(x(a)),
    lambda x: stats.quantile(x(a), 0.3, axis=1),
    lambda x: stats.ttest_1samp(x(a), 0.0).pvalue,
    lambda x: stats.pearsonr(x(a[0]), x(a[1])).statistic,
    lambda x: stats.circmean(x(a)),
    lambda x: special.logsumexp(x(a), axis=1),
    lambda x: special.softmax(x(a)),
    lambda x: special.expit(x(a)),
    lambda x: fft.dct(x(a)),
    lambda x: fft.rfft(x(a)),
    lambda x: signal.hilbert(x(a)),
    lambda x: signal.fftconvolve(x(v), x(v)),
    lambda x: signal.detrend(x(a)),
    lambda x: integrate.trapezoid(x(a)),
    lambda x: integrate.tanhsinh(lambda t: t**2, x(np.array(0.0)), x(np.array(2.0))).integral,
    lambda x: differentiate.derivative(lambda t: t**3, x(np.array([1.0, 2.0]))).df,
    lambda x: elementwise.find_root(lambda t: t**2 - 2, (x(np.array(0.0)), x(np.array(2.0)))).x,
    lambda x: cluster.vq.whiten(x(p)),
    lambda x: constants.convert_temperature(x(v), "C", "K"),
]
for i, call in enumerate(CALLS):
    got, want = call(lambda z: ts.asarray(z.copy())), call(lambda z: z)
    assert isinstance(got, ts.Array) and got.shape == np.shape(want), (i, got)
    assert np.allclose(got.numpy(), want, rtol=1e-9, atol=1e-12), (i, got, want)
print(len(CALLS))
"""


def test_scipys_functions_of_the_array_api():
    """SciPy reads its setting when it is imported: in a process of its own."""
    pytest.importorskip("scipy", minversion="1.17")
    environment = {"PYTHONPATH": ":".join([str(ts.__path__[0] + "/.."), *sys.path]), "SCIPY_ARRAY_API": "1"}
    ran = subprocess.run([sys.executable, "-c", SCIPYS], env=environment, capture_output=True, text=True)
    assert ran.stdout == "24\n", ran.stderr


CHECKED = """
import tessera as ts
import torch
reveal_type(ts.sort)
x: ts.Array = ts.sort([1, 2], descending=True)
y: ts.Array = ts.argsort([1, 2], stable=False, descending=True)
z: ts.Array = ts.searchsorted([1, 2], [1], sorter=[0, 1])
w: ts.Array = ts.expand_dims(x, axis=(0, 1))
v: ts.Array = x.to_device("cpu")
x @= y
ts.torch, ts.dist.world
A: ts.NamedLinop = ts.FFT(2).to(torch.device("cpu"))
u: ts.Array = x.to(torch.device("cpu")).to_device(torch.device("cpu"))
t: ts.Array = ts.zeros(3, device=torch.device("cpu"))
M: ts.matrix.AnyMatrix = ts.matrix.Dense(x).to(torch.device("cpu"))
spec = ts.BatchSpec({"X": 1}, base_device=torch.device("cpu"))
"""
TORCH = """
class device:  # as torch/_C/__init__.pyi has it
    type: str
    index: int
    def __new__(cls, type: str, index: int = -1) -> device: ...
"""
MISTAKES = [
    "ts.no_such_name",
    "ts.dist.no_such_name",
    "ts.sort([1], no_such_keyword=1)",
    "ts.sort([1], descending='a')",
    "ts.zeros(3).to(3)",
]


def test_type_checkers_see_the_right_signatures(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "torch.pyi").write_text(TORCH)
    (tmp_path / "good.py").write_text(CHECKED)
    (tmp_path / "bad.py").write_text("import tessera as ts\n" + "\n".join(MISTAKES))
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--follow-imports=silent"]
    command += ["--cache-dir", str(tmp_path / "cache"), "good.py", "bad.py"]
    environment = {"MYPYPATH": str(ts.__path__[0] + "/.."), "PATH": "/usr/bin:/bin"}
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True).stdout
    lines = [line for line in found.splitlines() if ": error:" in line]
    assert [line.split(":")[:2] for line in lines] == [["bad.py", str(i + 2)] for i in range(len(MISTAKES))], found


def held(kind, path):
    """Numbers in each class that NumPy takes for an array."""
    a = np.arange(6.0).reshape(2, 3)
    if kind == "snapshot":
        ts.save(path / "a.tessera", {"x": a})
        return ts.open_snapshot(path / "a.tessera")["x"]
    if kind == "heat":
        import tessera.compat.heat as ht

        return ht.array(a, split=0)
    return {
        "array": lambda: ts.array(a),
        "view": lambda: ts.array(a)[:, ::-1],
        "distributed": lambda: ts.dist.array(a, split=0),
        "on every rank": lambda: ts.dist.array(a),
        "named": lambda: ts.names.NamedArray(ts.array(a), "AB"),
        "named, distributed": lambda: ts.names.NamedArray(ts.dist.array(a, split=0), "AB"),
        "on disk": lambda: ts.stored.array(a),
        "matrix": lambda: ts.matrix.Dense(ts.array(a), copy=False),
        "matrix on disk": lambda: ts.stored.matrix(ts.matrix.Dense(a)),
    }[kind]()


@pytest.mark.parametrize(
    "kind",
    ["array", "view", "distributed", "on every rank", "named", "named, distributed", "on disk", "matrix"]
    + ["matrix on disk", "snapshot", "heat"],
)
def test_numpy_gets_a_copy_where_it_asks_for_one_and_none_where_it_does_not(kind, tmp_path):
    x = held(kind, tmp_path)
    before = np.array(x)
    mine = np.array(x)
    mine[...] = 77
    assert np.array_equal(np.array(x), before) and mine.dtype == np.float64
    assert np.array(x, dtype="float32").dtype == np.float32
    try:
        shared = np.asarray(x, copy=False)
    except ValueError:
        shared = None
    assert shared is None or np.may_share_memory(shared, np.asarray(x, copy=False))
    with pytest.raises(ValueError):
        np.asarray(x, dtype="float32", copy=False)
