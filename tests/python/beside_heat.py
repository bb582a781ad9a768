# SPDX-License-Identifier: Apache-2.0
"""The same programs by Heat and by tessera.compat.heat; test_compat_heat.py runs this in a process of its own."""

import types
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import heat as peer  # first: it starts MPI, before anybody asks for ranks

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import tessera.compat.heat as ht  # noqa: E402
import torch  # noqa: E402

DTYPES = ["uint8", "int32", "int64", "float32", "float64", "complex64"]
REAL = [d for d in DTYPES if d[0] != "c"]
FLOATS = ["float32", "float64"]
A = np.array([[3, 1, 2, 7], [0, 5, 4, 1], [9, 2, 6, 6]])
B = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [2, 1, 2, 1]])


def value(x):
    """Numbers of a result of either."""
    if isinstance(x, (tuple, list)):
        return [value(each) for each in x]
    return np.asarray(x.numpy() if hasattr(x, "numpy") else x)


def kind(x):
    return x.dtype.__name__ if hasattr(x.dtype, "__name__") else None


def same(ours, theirs, what, dtypes=True):
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other, what, dtypes)
        return
    assert value(ours).shape == value(theirs).shape or value(ours).size == 1 == value(theirs).size, what
    if dtypes and hasattr(theirs, "dtype"):
        assert kind(ours) == kind(theirs), what
    np.testing.assert_allclose(
        value(ours).reshape(value(theirs).shape), value(theirs), rtol=2e-5, atol=2e-5, err_msg=what
    )


UNARY = "abs exp sqrt sin cos tanh floor ceil trunc square sign log1p isnan isfinite negative expm1 exp2 arctan deg2rad rad2deg isposinf".split()
BINARY = "add sub mul div floordiv mod pow fmod maximum minimum eq ne lt le gt ge hypot arctan2 copysign logaddexp remainder".split()
REDUCTIONS = "sum prod max min mean var std all any argmax argmin median ptp".split()
# Heat's own oddities: it makes float32 of every variance and has no ptp or median of complex numbers.
ODD_DTYPES = {"var", "std", "sign", "arctan2", "hypot", "copysign", "logaddexp", "median"}


@pytest.mark.parametrize("split", [None, 0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise_beside_theirs(dtype, split):
    for name in UNARY + BINARY:
        for other in ("array", 2, 1.5) if name in BINARY else (None,):

            def run(m, name=name, other=other):
                x = m.array(A.astype(dtype), split=split)
                if other is None:
                    return getattr(m, name)(x)
                return getattr(m, name)(x, m.array(B.astype(dtype), split=split) if other == "array" else other)

            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    theirs = run(peer)
            except (AttributeError, TypeError, NotImplementedError, RuntimeError, ValueError):
                continue  # what Heat has not for this dtype
            ours = run(ht)
            loose = name in ODD_DTYPES or dtype == "uint8" or (name == "pow" and other == 1.5)
            if (
                name == "mod"
                and dtype == "uint8"
                or dtype == "uint8"
                and name in ("negative", "sub", "pow", "mul", "square")
            ):
                continue  # what wraps round
            same(ours, theirs, f"{name} {dtype} {other}", dtypes=not loose)


@pytest.mark.parametrize("split", [None, 0, 1])
@pytest.mark.parametrize("dtype", REAL)
def test_reductions_beside_theirs(dtype, split):
    for name in REDUCTIONS:
        for axis in (None, 0, 1):
            if name in ("var", "std") and axis is not None:
                continue  # along an axis Heat takes ddof for 1 on some splits
            a = [m.array(A.astype(dtype), split=split) for m in (ht, peer)]
            try:
                theirs = getattr(peer, name)(a[1], axis=axis)
            except (TypeError, NotImplementedError, RuntimeError, AttributeError):
                continue
            ours = getattr(ht, name)(a[0], axis=axis)
            same(
                ours,
                theirs,
                f"{name} {dtype} {axis}",
                dtypes=name not in ODD_DTYPES and name != "mean" and dtype != "uint8",
            )
            same(getattr(a[0], name)(axis=axis), ours, name)


PROGRAMS = {
    "arange": lambda m: [m.arange(5), m.arange(1, 9, 3, split=0), m.arange(2.5), m.arange(3, dtype=m.float64)],
    "filled": lambda m: [m.zeros((2, 3)), m.ones(3, split=0), m.full((2,), 4), m.eye(3), m.eye((2, 3), split=1)],
    "like": lambda m: [f(m.arange(3, split=0)) for f in (m.zeros_like, m.ones_like)] + [m.full_like(m.arange(2), 7)],
    "spaced": lambda m: [m.linspace(0, 2, 5, split=0), m.linspace(0, 1, 4, endpoint=False), m.logspace(0, 2, 3)],
    "array": lambda m: [
        m.array([1, 2]),
        m.array([1.5]),
        m.array([1j]),
        m.array(np.ones(2)),
        m.array([True]),
        m.array(3),
        m.array([1, 2], ndmin=2),
    ],
    "mixed": lambda m: [
        m.arange(3) / 2,
        m.array([1, 2]) + m.array([0.5, 1]),
        2 - m.arange(3),
        1 / m.array([2.0]),
        m.array([True]) + 1,
        m.arange(3) * 2j,
    ],
    "sort": lambda m: m.sort(m.array(A, split=0), axis=1)[0],
    "sort_0": lambda m: m.sort(m.array(A, split=0), axis=0, descending=True)[0],
    "topk": lambda m: m.topk(m.array(A, split=0), 2)[0],
    "unique": lambda m: m.unique(m.array(A, split=0), sorted=True),
    "nonzero": lambda m: [m.nonzero(m.array(A, split=0)), m.where(m.array(A) > 4)],
    "where": lambda m: m.where(m.array(A, split=0) > 4, m.array(A, split=0), 0),
    "joined": lambda m: [
        f((m.array(A, split=0), m.array(B, split=0)))
        for f in (m.concatenate, m.vstack, m.hstack, m.stack, m.row_stack, m.column_stack)
    ],
    "concatenate_1": lambda m: m.concatenate((m.array(A, split=1), m.array(B, split=1)), axis=1),
    "shaped": lambda m: [
        m.reshape(m.array(A, split=0), (4, 3)),
        m.flatten(m.array(A, split=0)),
        m.ravel(m.array(A)),
        m.array(A).reshape(2, 6),
    ],
    "axes": lambda m: [
        m.transpose(m.array(A, split=0)),
        m.array(A).T,
        m.expand_dims(m.array(A), 1),
        m.squeeze(m.array(A[:1])),
        m.swapaxes(m.array(A), 0, 1),
        m.moveaxis(m.array(A), 0, 1),
    ],
    "moved": lambda m: [
        m.flip(m.array(A, split=0), 0),
        m.roll(m.array(A), 1),
        m.rot90(m.array(A)),
        m.fliplr(m.array(A)),
        m.flipud(m.array(A)),
        m.roll(m.array(A, split=0), 2, 0),
    ],
    "repeated": lambda m: [
        m.repeat(m.array(A), 2),
        m.tile(m.array(A), (1, 2)),
        m.pad(m.array(A), ((0, 1), (2, 0))),
        m.pad(m.array(A, split=0), ((1, 1), (0, 0)), constant_values=5),
    ],
    "diagonals": lambda m: [
        m.diag(m.arange(3)),
        m.diag(m.array(A), 1),
        m.diagonal(m.array(A)),
        m.tril(m.array(A), -1),
        m.triu(m.array(A)),
    ],
    "cut": lambda m: m.split(m.array(A, split=1), 2, axis=1) + m.vsplit(m.array(A), 3),
    "meshgrid": lambda m: m.meshgrid(m.arange(2), m.arange(3)),
    "cumulated": lambda m: [
        m.cumsum(m.array(A, split=0), 0),
        m.cumprod(m.array(B, split=0), 1),
        m.diff(m.array(A)),
        m.diff(m.array(A, split=0), axis=0),
    ],
    "statistics": lambda m: [
        m.average(m.array(A, split=0), axis=0, weights=m.array([1, 2, 3])),
        m.cov(m.array(A.astype("float32"))),
        m.percentile(m.array(A.astype("float32"), split=0), 30),
        m.median(m.array(A.astype("float32")), axis=1),
    ],
    "moments": lambda m: [
        m.skew(m.array(A[0].astype("float32"))),
        m.kurtosis(m.array(A[0].astype("float32"))),
        m.skew(m.array(A.astype("float32")), axis=1, unbiased=False),
        m.std(m.array(A.astype("float32")), ddof=1),
    ],
    "binned": lambda m: [
        m.bincount(m.array(A.ravel())),
        m.digitize(m.array([1.0, 2.5]), m.array([1.0, 2, 3])),
        m.bucketize(m.array([1.0, 2.5]), m.array([1.0, 2, 3])),
        m.histc(m.array(A.astype("float32")), 4),
    ],
    "products": lambda m: [
        m.matmul(m.array(A, split=0), m.array(B.T.copy(), split=1)),
        m.dot(m.arange(3), m.arange(3)),
        m.outer(m.arange(3), m.arange(2)),
        m.array(A) @ m.array(B.T.copy()),
        m.vecdot(m.array(A), m.array(B)),
        m.projection(m.array([1.0, 2]), m.array([3.0, 1])),
    ],
    "norms": lambda m: [
        m.norm(m.array(A.astype("float32"), split=0)),
        m.linalg.vector_norm(m.array([3.0, 4])),
        m.linalg.matrix_norm(m.array(A.astype("float32"))),
        m.linalg.norm(m.array(A.astype("float32")), axis=1),
    ],
    "solved": lambda m: [
        m.linalg.det(m.array(A[:, :3].astype("float32"))),
        m.linalg.inv(m.array(A[:, :3].astype("float64"))),
        m.linalg.trace(m.array(A)),
        m.linalg.svd(m.array(A.T.astype("float32")), compute_uv=False),
    ],
    "qr": lambda m: (lambda f: [f.Q @ f.R, m.abs(f.R)])(m.linalg.qr(m.array(A.T.astype("float32"), split=0))),
    "svd": lambda m: (lambda u, s, v: [s, u @ m.diag(s) @ v])(*m.linalg.svd(m.array(A.T.astype("float32")))),
    "cross": lambda m: m.cross(m.array([[1.0, 2, 3]]), m.array([[3.0, 1, 2]])),
    "parts": lambda m: [
        m.modf(m.array([1.5, -2.25]))[0],
        *m.divmod(m.array([-5, 5]), 3),
        m.real(m.array([1 + 2j])),
        m.imag(m.array([1 + 2j])),
        m.conj(m.array([1 + 2j])),
        m.sgn(m.array([-2.0])),
    ],
    "rounded": lambda m: [
        m.round(m.array([1.26, 2.5]), 1),
        m.clip(m.array(A), 2, 5),
        m.nan_to_num(m.array([float("nan"), 1.0])),
        m.fabs(m.array([-1.5])),
    ],
    "fft": lambda m: [
        m.fft.fft(m.array(A.astype("float32"))),
        m.fft.ifft(m.array(A + 0j)),
        m.fft.fftn(m.array(A)),
        m.fft.rfft(m.array(A.astype("float32"))),
        m.fft.fftshift(m.array(A)),
        m.fft.fftfreq(5),
    ],
    "keys": lambda m: (
        lambda x: [x[1], x[1, 2], x[:, 1:3], x[::2], x[-1:], x[x > 4], x[[2, 0]], x[..., 0], x[1:, None]]
    )(m.array(A, split=0)),
    "convolve": lambda m: m.convolve(m.array([1.0, 2, 3, 4]), m.array([1.0, 0, 2])),
    "unfold": lambda m: m.unfold(m.arange(6), 0, 3, 2),
    "casts": lambda m: [
        m.float64([1, 2]),
        m.int32(2.7),
        m.arange(3).astype(m.float32),
        m.array(A, dtype=m.uint8),
        m.float32(m.arange(2)),
    ],
    "bits": lambda m: [
        m.array(A) & 3,
        m.array(A) | 8,
        m.array(A) ^ 1,
        m.array(A) << 1,
        m.array(A) >> 1,
        ~m.array(A),
        m.array([True]) & m.array([False]),
    ],
    "logic": lambda m: [
        m.logical_and(m.array(A) > 1, m.array(B) > 1),
        m.isclose(m.array([1.0]), m.array([1.0])),
        m.array(m.allclose(m.array(A), m.array(A))),
    ],
    "broadcast": lambda m: [m.broadcast_to(m.arange(3), (2, 3)), *m.broadcast_arrays(m.arange(3), m.zeros((2, 1)))],
}
SAME_DTYPES = {
    "arange",
    "filled",
    "like",
    "spaced",
    "array",
    "mixed",
    "casts",
    "shaped",
    "axes",
    "moved",
    "repeated",
    "cumulated",
    "where",
    "nonzero",
    "keys",
    "bits",
    "logic",
    "products",
    "fft",
    "joined",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_beside_theirs(name):
    same(PROGRAMS[name](ht), PROGRAMS[name](peer), name, dtypes=name in SAME_DTYPES)


def test_changes_in_place_beside_theirs():
    found = []
    for m in (ht, peer):
        x = m.array(A.astype("float32"), split=0)
        x[0] = 7
        x[1, 2:] = m.array([8.0, 9.0])
        x[x > 8] = -1
        x += 1
        x *= m.array(B.astype("float32"), split=0)
        x.add_(2)
        x.mul_(0.5)
        x.resplit_(1)
        assert x.split == 1
        x.balance_()
        x.cumsum_(0)
        found.append(x)
    same(*found, "in place")
    same([each.larray.numpy() for each in found][0], found[1].larray.numpy(), "larray")


def outcome(run, module):
    """What a program gives, or that it is refused."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(module)
    except (TypeError, ValueError, RuntimeError, AttributeError):  # of Heat, which stumbles over its sentences
        return "refused"


IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift".split()
NUMBERS = [True, 2, 1.5, np.int64(2), np.int8(3), np.float32(0.5), np.float64(1.5)]


@pytest.mark.parametrize("seed", range(6))
def test_random_changes_in_place_beside_theirs(seed):
    """Operators on views, of any dtype, with numbers and arrays of others: the whole array is what it is there, or both
    refuse."""
    rng = np.random.default_rng(seed)
    seen = 0
    for _ in range(60):
        name, dtype, split = rng.choice(IN_PLACE), rng.choice(["bool", *DTYPES]), [None, 0, 1][rng.integers(3)]
        rows = slice(*sorted(rng.choice(4, 2, replace=False)))
        number = NUMBERS[rng.integers(len(NUMBERS))]
        other = rng.integers(1, 4, [(4,), (1, 4), (4, 3, 4)][rng.integers(3)]).astype(rng.choice(DTYPES))

        symbol, by = f"__{name}__", number if rng.random() < 0.5 else other

        def run(m, dtype=dtype, split=split, rows=rows, symbol=symbol, by=by):
            x = m.array(A.astype(dtype), split=split)
            view = x[rows]
            changed = getattr(type(view), symbol)(view, m.array(by) if isinstance(by, np.ndarray) else by)
            if changed is NotImplemented:
                raise TypeError(symbol)
            return [x, view, changed]

        def anew(m, dtype=dtype, rows=rows, symbol=f"__{name[1:]}__", by=by):
            return getattr(m.array(A[rows].astype(dtype)), symbol)(m.array(by) if isinstance(by, np.ndarray) else by)

        theirs, ours = outcome(run, peer), outcome(run, ht)
        what = f"{name} {dtype} {split} {rows} {by!r}"
        if isinstance(theirs, str):  # or not made for such a dtype: then ours is what is made anew, where that fits
            made = outcome(anew, ht)
            fits = not isinstance(made, str) and made.shape == A[rows].shape
            fits = fits and ht.promote_types(made.dtype, dtype) == dtype
            assert fits != isinstance(ours, str), what
            if fits:
                assert np.array_equal(ours[0].numpy()[rows], made.numpy(), equal_nan=made.dtype.__name__[0] in "fc")
        elif dtype != "uint8":  # what wraps round
            same(ours, theirs, what)
            seen += 1
    assert seen > 3


COPIES = {
    **{name: (lambda m, x, name=name: getattr(m, name)(x)) for name in "copy flip fliplr flipud rot90 flatten".split()},
    **{
        name: (lambda m, x, name=name: getattr(m, name)(x))
        for name in "abs floor round tril nan_to_num diagonal".split()
    },
    "resplit": lambda m, x: m.resplit(x, x.split),
    "method": lambda m, x: x.resplit(x.split),
    "collect": lambda m, x: m.collect(x),
    "astype": lambda m, x: x.astype(x.dtype),
    "roll": lambda m, x: m.roll(x, 0),
    "clip": lambda m, x: m.clip(x, -99, 99),
}


@pytest.mark.parametrize("split", [None, 0, 1])
@pytest.mark.parametrize("name", COPIES)
def test_copies_are_copies_where_theirs_are(name, split):
    """Changes of a result in place leave the array alone that it was made of, where they do so there."""
    for dtype in FLOATS + ["int32"]:
        kept = []
        for m in (peer, ht):
            x = m.array(A.astype(dtype), split=split)
            y = COPIES[name](m, x)
            y += 1
            kept.append(np.array_equal(x.numpy(), A))
        assert kept[1] or not kept[0], (name, dtype)


OUTS = "add sub mul div floordiv mod pow fmod maximum minimum hypot arctan2 copysign logaddexp eq lt divmod".split()


@pytest.mark.parametrize("where", [False, True], ids=["everywhere", "where"])
@pytest.mark.parametrize("split", [None, 0, 1])
def test_out_and_where_of_every_function_beside_theirs(split, where):
    def run(m):
        found = []
        for name in OUTS:
            arrays = [m.array(each.astype("float32") + 1, split=split) for each in (A, B)]
            two = name == "divmod"
            outs = [m.full(A.shape, 50 + i, split=split) for i in range(1 + two)]
            only = {"where": m.array(A > B, split=split)} if where else {}
            try:
                getattr(m, name)(*arrays, out=tuple(outs) if two else outs[0], **only)
            except TypeError:
                assert m is peer, name
                outs = None  # theirs has no such argument here
            found.append(outs)
        return found

    for name, ours, theirs in zip(OUTS, run(ht), run(peer), strict=True):
        if theirs is not None:
            same(ours, theirs, name, dtypes=False)
    x = ht.array(A.astype("float32"), split=split)
    outs = (ht.full(A.shape, 5, split=split), ht.full(A.shape, 6, split=split))
    ht.modf(x / 4, outs)
    same(outs, peer.modf(peer.array(A.astype("float32") / 4)), "modf")
    if where:
        ht.logaddexp2(x, x, out=outs[0], where=x > 3)
        np.testing.assert_allclose(outs[0].numpy(), np.where(A > 3, A + 1, np.modf(A / 4)[0]), rtol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_positions_are_keys_as_there(seed):
    rng = np.random.default_rng(seed)
    for _ in range(8):
        shape = tuple(rng.integers(1, 5, rng.integers(1, 4)))
        values, split = rng.integers(0, 9, shape), [None, *range(len(shape))][rng.integers(len(shape) + 1)]
        x, bound = ht.array(values, split=split), rng.integers(9)
        at = ht.nonzero(x > bound)
        assert np.array_equal(x[at].numpy(), values[values > bound])
        if len(shape) < 3:  # of more axes theirs does not take them apart
            y = peer.array(values, split=split)
            same(at, peer.nonzero(y > bound), "positions")
            same(x[at], y[peer.nonzero(y > bound)], "values")
            same(ht.where(x > bound), peer.where(y > bound), "where")
        x[at] = -1
        assert np.array_equal(x.numpy(), np.where(values > bound, -1, values))


def test_numbers_of_numpy_beside_theirs():
    two, three = np.int64(2), np.int32(3)
    programs = [
        lambda m: m.reshape(m.arange(6, split=0), np.int64(6)),
        lambda m: m.arange(6).reshape(two, three),
        lambda m: m.reshape(m.array([5], split=0), ()),
        lambda m: m.zeros((two, three)),
        lambda m: m.full((two,), np.float32(3)),
        lambda m: m.linspace(0, 1, three),
        lambda m: m.tile(m.arange(2), two),
        lambda m: m.unfold(m.arange(4), 0, two, two),
        lambda m: m.arange(4)[two],
        lambda m: m.broadcast_to(m.arange(3), (two, three)),
        *(lambda m, n=n: [m.arange(3) + n, n * m.arange(3), m.ones(2) - n, m.ones(2) > n] for n in NUMBERS),
    ]
    for i, program in enumerate(programs):
        same(program(ht), program(peer), str(i))
    assert ht.eye(three).shape == (3, 3) and ht.random.random(three).shape == ht.random.randint(0, 5, two + 1).shape


def test_attributes_beside_theirs():
    x, y = (m.array(A.astype("int32"), split=0) for m in (ht, peer))
    for name in "shape gshape lshape ndim size gnumel lnumel nbytes gnbytes lnbytes split balanced strides".split():
        assert getattr(x, name) == getattr(y, name), name
    assert x.counts_displs() == y.counts_displs() and x.is_distributed() == y.is_distributed()
    assert torch.equal(x.lshape_map, y.lshape_map) and str(x.device) == str(y.device)
    assert x.comm.chunk((5, 2), 0) == y.comm.chunk((5, 2), 0) and x.comm.rank == y.comm.rank
    assert int(x[0, 0]) == int(y[0, 0]) and float(x[0, 1]) == float(y[0, 1]) and bool(x[0, 0]) and len(x) == len(y)
    assert x.tolist() == y.tolist() and x.T.split == y.T.split and ht.equal(x, x) is peer.equal(y, y) is True
    assert x.std().item() == pytest.approx(float(y.std()))


def test_every_name_of_theirs_is_here_or_a_sentence():
    typing_and_such = {
        "Any",
        "Callable",
        "Dict",
        "Enum",
        "List",
        "Optional",
        "Tuple",
        "TypeVar",
        "Union",
        "annotations",
        "self",
        "Type",
    }
    missing = []
    for module, theirs in ((ht, peer), (ht.linalg, peer.linalg), (ht.random, peer.random), (ht.fft, peer.fft)):
        for name in dir(theirs):
            item = getattr(theirs, name)
            if name.startswith("_") or name in typing_and_such or isinstance(item, types.ModuleType):
                continue
            try:
                getattr(module, name)
            except NotImplementedError as why:
                assert "is not offered: " in str(why)
            except AttributeError:
                missing.append(f"{theirs.__name__}.{name}")
    allowed = {"DNDarray", "Communication", "Device", "MPI_WORLD", "datatype"}
    assert not [name for name in missing if name.rpartition(".")[2] not in allowed]
    for name in dir(peer.DNDarray):
        if not name.startswith("_") and not hasattr(ht.DNDarray, name) and name not in ("dist", "touch"):
            assert name in {
                "gcd_",
                "lcm_",
                "create_partition_interface",
                "halo_next",
                "halo_prev",
                "save_hdf5",
                "stride",
                "to_sparse_csc",
                "to_sparse_csr",
                "save_netcdf",
                "save_zarr",
            }, name
