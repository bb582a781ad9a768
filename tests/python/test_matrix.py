# SPDX-License-Identifier: Apache-2.0
"""Matrices of every form beside NumPy: elements, views, copies, properties."""

import copy
import pickle

import numpy as np
import pytest
from support import ALL, INTEGERS, draw_numbers, strided, tolerance

import tessera as ts
from tessera.matrix import (
    AntiSymmetric,
    AnyMatrix,
    Bit,
    Dense,
    Diagonal,
    Identity,
    Symmetric,
    Triangular,
    TriangularBit,
)

FORMS = [Dense, Bit, TriangularBit, Triangular, Symmetric, AntiSymmetric, Diagonal, Identity]


def full(rng, cls, dtype, n):
    """A full NumPy matrix that the form can hold."""
    a = draw_numbers(rng, (n, n), dtype)
    if cls is Triangular:
        return np.triu(a)
    if cls is TriangularBit:
        return np.triu(a, 1)
    if cls is Symmetric:
        return np.triu(a) + np.triu(a, 1).T
    if cls is AntiSymmetric:
        return np.triu(a, 1) - np.triu(a, 1).T
    if cls is Diagonal:
        return np.diag(np.diag(a))
    return np.eye(n, dtype=dtype) if cls is Identity else a


def takes(cls, dtype):
    kind = np.dtype(dtype).kind
    if cls in (Bit, TriangularBit):
        return kind == "b"
    return cls is not AntiSymmetric or kind not in "bu"


def make(cls, a, device):
    if cls is Identity:
        return Identity(a.shape, a.dtype.name, device)
    return cls(a, device=device)


CASES = [(cls, dtype) for cls in FORMS for dtype in ALL if takes(cls, dtype)]
IDS = [f"{cls.__name__}-{dtype}" for cls, dtype in CASES]


def same(m, expected):
    got = np.asarray(m)
    assert m.shape == expected.shape == got.shape
    assert m.dtype == expected.dtype.name, (m.dtype, expected.dtype)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=tolerance(expected.dtype), atol=0)
    rows, cols = m.shape
    for i in range(rows):
        for j in range(cols):
            assert m[i, j] == got[i, j], (i, j)


@pytest.mark.parametrize("cls, dtype", CASES, ids=IDS)
def test_every_view_as_numpy(cls, dtype, device):
    rng = np.random.default_rng(7)
    for n in (0, 1, 6, 35):
        a = full(rng, cls, dtype, n)
        m = make(cls, strided(rng, a), device)
        assert type(m) is cls and m.form == cls.__name__ and str(m.device) == device
        assert m.ndim == 2 and m.size == n * n
        if n > 6:
            np.testing.assert_array_equal(m.numpy(), a)
            np.testing.assert_array_equal(m.H.copy().numpy(), a.conj().T)
            continue
        same(m, a)
        same(m.T, a.T)
        same(m.conj(), a.conj())
        same(m.H, a.conj().T)
        same(m.T.T, a)
        same(m * 2, a * 2)
        same(0.5 * m.T, 0.5 * a.T)
        same((1 + 2j) * m.H, (1 + 2j) * a.conj().T)
        same(((1 + 2j) * m).H, ((1 + 2j) * a).conj().T)
        same(m / 4, a / 4)
        same(np.float64(2) * m, 2.0 * a)
        same((m * 2).copy(), a * 2)
        same(((1 + 2j) * m).H.copy(), ((1 + 2j) * a).conj().T)
        if np.dtype(dtype).kind not in "bu":
            same(-m, -a)


@pytest.mark.parametrize("cls, dtype", CASES, ids=IDS)
def test_astype(cls, dtype, device):
    a = full(np.random.default_rng(1), cls, dtype, 5)
    m = make(cls, a, device)
    for other in ("float32", "complex128", "int64"):
        if np.dtype(dtype).kind == "c" and other != "complex128" and cls is not Identity:
            with pytest.raises(TypeError):
                m.astype(other)
            continue
        same(m.T.astype(other), a.T.real.astype(other) if cls is Identity else a.T.astype(other))
    assert type(m.astype("complex128")) is {Bit: Dense, TriangularBit: Triangular}.get(cls, cls)


@pytest.mark.parametrize("cls, dtype", CASES, ids=IDS)
def test_writing_to_one_of_two_handles(cls, dtype, device):
    if cls is Identity:
        pytest.skip("has no element to set")
    a = full(np.random.default_rng(2), cls, dtype, 6)
    m = make(cls, a, device)
    i, j = (4, 4) if cls is Diagonal else (1, 4)
    value = not a[i, j] if dtype == "bool" else 3
    t = m.T
    t[j, i] = value
    expected = a.copy()
    expected[i, j] = value
    if cls is Symmetric:
        expected[j, i] = value
    if cls is AntiSymmetric:
        expected[j, i] = -value
    np.testing.assert_array_equal(t.numpy(), expected.T)
    np.testing.assert_array_equal(m.numpy(), a)
    m[i - 6, j - 6] = value
    np.testing.assert_array_equal(m.numpy(), expected)


def test_memory_of_packed_forms():
    n = 2000
    assert Dense((n, n)).nbytes == 8 * n * n
    assert Symmetric(n, "float32").nbytes < 4 * n * n * 0.53
    assert Bit(n).nbytes == n * 256
    assert TriangularBit(10000).nbytes < 10000 * 10000 / 8 * 0.56
    assert Diagonal(n).nbytes == 8 * n
    assert Identity(n).nbytes == 0


def test_large_packed_ones_element_by_element(device):
    n = 1300
    a = np.triu(np.random.default_rng(0).random((n, n)))
    m = Triangular(a, device=device)
    np.testing.assert_array_equal(m.numpy(), a)
    c = TriangularBit(np.triu(a > 0.5, 1), device=device)
    np.testing.assert_array_equal(c.numpy(), np.triu(a > 0.5, 1))
    np.testing.assert_array_equal(c.T.numpy(), np.triu(a > 0.5, 1).T)
    for i, j in [(0, 1299), (511, 512), (512, 513), (1024, 1200), (700, 3)]:
        assert m[i, j] == a[i, j] and c[i, j] == (i < j and a[i, j] > 0.5)


def test_constructors_copy_or_share():
    a = np.ones((2, 3))
    kept, shared = Dense(a), Dense(a, copy=False)
    a[0, 0] = 5
    assert kept[0, 0] == 1 and shared[0, 0] == 5
    shared[1, 1] = 7
    assert a[1, 1] == 7
    other = shared.T  # two handles: the next write copies
    shared[1, 1] = 8
    assert a[1, 1] == 7 and other[1, 1] == 7 and shared[1, 1] == 8
    m = Symmetric([[1, 2], [2, 3]])
    np.testing.assert_array_equal(Dense(m), m)
    assert Dense(m, "float32").dtype == "float32"
    assert type(Symmetric(Dense(m))) is Symmetric
    x = ts.array([[1.0, 2.0]])
    assert Dense(x)[0, 1] == 2 and Dense([[1, 2]], "int8").dtype == "int8"


def test_shapes_give_zeros():
    assert Dense(2).shape == (2, 2) and Dense((2, 3)).shape == (2, 3)
    assert Dense(np.int64(2)).shape == (2, 2) and Dense((np.int32(2), 3)).shape == (2, 3)
    assert Bit((2, 700)).shape == (2, 700) and not Bit((2, 700)).numpy().any()
    assert Triangular(3, lower=True, strict=True).form == "Triangular"
    assert Identity([2, 5]).shape == (2, 5) and Identity(3)[2, 2] == 1  # 67
    assert Identity([2, 5])[0, 4] == 0
    assert Diagonal([1, 2], shape=(2, 4)).shape == (2, 4)
    with pytest.raises(ValueError):
        Symmetric((2, 3))
    with pytest.raises(ValueError):
        Diagonal([1, 2], shape=(3, 4))
    with pytest.raises(TypeError):
        Dense("x")
    with pytest.raises(ValueError):
        Dense([1, 2, 3])
    with pytest.raises(TypeError):
        AnyMatrix()


def test_forms_are_checked():
    a = np.arange(9.0).reshape(3, 3) + 1
    for cls in (TriangularBit, Triangular, Symmetric, AntiSymmetric, Diagonal):
        with pytest.raises(ValueError):
            cls(a)
    np.testing.assert_array_equal(Triangular(a, lower=True, check=False), np.tril(a))
    np.testing.assert_array_equal(Triangular(a, strict=True, check=False), np.triu(a, 1))
    np.testing.assert_array_equal(Symmetric(a, check=False), np.triu(a) + np.triu(a, 1).T)
    np.testing.assert_array_equal(Diagonal(a, check=False), np.diag(np.diag(a)))
    with pytest.raises(TypeError):
        AntiSymmetric(np.zeros((2, 2), "uint8"))


def test_elements_that_do_not_fit():
    b = Bit(3)
    for wrong in (2, "x", 0.5):  # 34
        with pytest.raises(TypeError):
            b[0, 0] = wrong
    c = TriangularBit(4)
    with pytest.raises(ValueError, match="Strictly upper triangular"):  # 35
        c[2, 1] = 1
    with pytest.raises(ValueError, match="Strictly upper triangular"):
        c.set(1, 1, True)
    with pytest.warns(UserWarning):
        c[1, 1] = 1
    assert not c[1, 1]
    s = AntiSymmetric(3)
    s[0, 2] = 5  # 66
    assert s[2, 0] == -5
    with pytest.raises(ValueError):
        s[1, 1] = 2.0
    m = Dense((2, 3), "int8")
    for key in ((2, 0), (0, 3), (-3, 0)):  # 65
        with pytest.raises(IndexError):
            m[key]
        with pytest.raises(IndexError):
            m[key] = 1
    with pytest.raises(IndexError):
        m[0] = 1
    with pytest.raises(TypeError):
        m[0, 1.5]
    with pytest.raises(OverflowError):
        m[0, 0] = 300
    with pytest.raises(TypeError):
        m[0, 0] = 1.5
    with pytest.raises(ValueError):
        Identity(2)[0, 0] = 2


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_never_wrap(dtype):
    most = np.iinfo(dtype).max
    m = Dense(np.array([[most, 1]], dtype))
    assert (m * 1)[0, 0] == most
    twice = 2 * m
    assert twice.dtype == dtype and twice[0, 1] == 2
    for read in (lambda: twice[0, 0], twice.numpy, twice.copy):
        with pytest.raises(OverflowError):
            read()
    assert (m * 0.5)[0, 1] == 0.5
    with pytest.raises(OverflowError):
        Dense([[-1]]).astype("uint8")
    with pytest.raises(OverflowError):
        Dense([[1e30]]).astype(dtype)


def test_mirrors():
    m = Dense([[1.0, 2.0]])
    assert [str(d) for d in m.held_at] == ["cpu"]
    there = m.array(device="sim:0")
    assert str(there.device) == "sim:0" and [str(d) for d in m.held_at] == ["cpu", "sim:0"]
    there[0, 0] = 7  # not the mirror
    assert m.array(device="sim:0").tolist() == [[1, 2]] and m[0, 0] == 1
    m[0, 0] = 9
    assert len(m.held_at) == 1 and m.array(device="sim:0").tolist() == [[9, 2]]
    moved = m.to("sim:0")
    assert str(moved.device) == "sim:0" and np.asarray(moved).tolist() == [[9, 2]]
    a = np.zeros((1, 1))
    shared = Dense(a, copy=False)
    shared.array(device="sim:0")
    a[0, 0] = 4
    assert shared.array(device="sim:0").tolist() == [[4]]


def test_bits_and_their_complements():
    m = ~Bit((100, 100))  # 29
    assert type(m) is Bit and m.numpy().all() and m.nbytes == 6400
    c = TriangularBit(np.triu(np.ones((5, 5)), 1))
    np.testing.assert_array_equal(~c, ~np.triu(np.ones((5, 5), bool), 1))
    with pytest.raises(TypeError):
        ~Dense(2)


@pytest.mark.parametrize("cls", [Bit, Dense, TriangularBit, Identity])
def test_factors_of_bits_that_cancel_leave_integers(cls):
    bits = cls(3, "bool") if cls is Identity else cls(np.triu(np.ones((3, 3), bool), 1))
    back = -1 * (-1 * bits)
    assert back.dtype == (-1 * bits).dtype == "int64"
    assert back.numpy().tolist() == bits.numpy().astype(int).tolist()
    assert ((-1 * bits) @ (-1 * Identity(3, "int16"))).dtype == "int64"
    assert (1 * bits).dtype == "bool"


def test_properties_are_a_mapping():
    m = Dense(np.diag([1.0, 2.0, 4.0]))
    p = m.properties
    assert p["is_diagonal"] is None and len(p) == 0 and not list(p)
    p["is_diagonal"] = True
    assert m.properties["is_upper_triangular"] is True and "is_diagonal" in p and "is_zero" not in p
    assert p.get("is_symmetric") is True and dict(p)["is_diagonal"] is True
    with pytest.raises(ValueError):  # 74
        p["is_upper_triangular"] = False
    with pytest.raises(ValueError, match="is_unitary"):
        p["is_nice"] = True
    with pytest.raises(ValueError):
        p["is_nice"]
    p["is_zero"] = False
    assert p["is_zero"] is False
    del p["is_diagonal"]
    assert p["is_diagonal"] is None
    p["is_diagonal"] = None
    with pytest.raises(TypeError):
        p["is_diagonal"] = 7
    for name in ("is_unitary", "is_upper_triangular"):  # 73
        with pytest.raises(ValueError):
            Dense((2, 3)).properties[name] = True
    with pytest.raises(ValueError):
        Dense((2, 3)).properties["trace"] = 1.0
    one = Identity(3)
    with pytest.raises(ValueError):
        Dense(3).properties.update(is_identity=True, is_zero=True)
    assert one.properties["is_unitary"] is True and one.properties["diagonal_value"] == 1
    assert "is_identity" in repr(one.properties)


def test_properties_of_rows_and_columns():
    v = Dense([[1.0, 2.0, 2.0]])
    v.properties["is_sorted"] = False
    with pytest.raises(ValueError, match="is_strictly_sorted"):  # 74
        v.properties["is_strictly_sorted"] = True
    assert v.check("is_sorted") and not v.check("is_strictly_sorted") and v.T.check("is_sorted")
    assert Dense([[0.6], [0.8]]).check("is_unit_norm") and not v.check("is_unit_norm")
    assert not Dense(2).check("is_sorted") and Dense([[3]]).check("is_strictly_sorted")
    u = Dense([[3.0, 4.0]])
    u.properties["is_unit_norm"] = True  # trusted
    assert u.norm() == 1 and (2 * u).norm() == 2
    with pytest.raises(ValueError, match="not one row or one column"):
        Dense(2).properties["is_unit_norm"] = True


def test_properties_follow_views():
    m = Dense(np.triu(np.ones((3, 3), complex)))
    m.properties.update(is_upper_triangular=True, trace=7, determinant=3, is_unitary=True)
    assert m.T.properties["is_lower_triangular"] and m.T.properties["is_upper_triangular"] is None  # 75
    assert m.T.properties["trace"] == 7 and m.T.properties["is_unitary"] is None
    assert m.H.properties["is_unitary"] is True
    m.properties["trace"] = 1 + 2j
    assert m.conj().properties["trace"] == 1 - 2j
    m.properties["trace"] = 7
    twice = 2 * m
    assert twice.properties["trace"] == 14 and twice.properties["determinant"] == 24  # 76
    nothing = 0 * m
    assert nothing.properties["trace"] == 0 and nothing.properties["is_zero"] is None
    d = Dense(3)
    d.properties["is_diagonal"] = True
    d[0, 1] = 1.0  # 77
    assert d.properties["is_diagonal"] is False and d.properties["trace"] is None
    d[2, 0] = 1.0
    assert d.properties["is_upper_triangular"] is False


@pytest.mark.parametrize("cls", FORMS)
def test_set_identity(cls):  # 77
    if cls in (TriangularBit, AntiSymmetric):
        with pytest.raises(ValueError, match="no diagonal"):
            cls(3).set_identity()
        return
    m = cls(3)
    if cls is not Identity:
        m[1, 1] = 0
    kept = m.copy()
    before = kept.numpy()
    m.trace()
    turned = m.T
    turned.set_identity()
    np.testing.assert_array_equal(turned.numpy(), np.eye(3))
    np.testing.assert_array_equal(m.numpy(), before)
    assert turned.properties["is_identity"] is True and turned.properties["diagonal_value"] == 1
    assert turned.trace() == 3 and type(turned) is cls
    if cls in (Dense, Triangular, Symmetric, Diagonal):
        scaled = 3 * cls(3)
        scaled.set_identity()
        np.testing.assert_array_equal(scaled.numpy(), np.eye(3))
    x = np.ones((2, 3))
    Dense(x, copy=False).set_identity()
    np.testing.assert_array_equal(x, np.eye(2, 3))
    with pytest.raises(ValueError, match="no diagonal"):
        Triangular(3, strict=True).set_identity()


def test_check_looks_at_the_elements():
    m = Dense([[1.0, 2.0], [0.0, 1.0]])
    m.properties["is_diagonal"] = True  # a lie
    assert not m.check("is_diagonal") and m.check("is_upper_triangular") and m.check("has_unit_diagonal")
    assert not m.check("is_symmetric") and not m.check("is_unitary")
    q, _ = np.linalg.qr(np.random.default_rng(0).random((30, 30)))
    assert Dense(q).check("is_unitary") and not Dense(1.001 * q).check("is_unitary")
    assert AntiSymmetric([[0, 1], [-1, 0]]).check("is_unitary")
    with pytest.raises(ValueError):
        m.check("is_nice")


def test_text():
    m = Triangular([[1.0, 2.0], [0.0, 3.0]])
    text = repr((2.5 * m).T)
    for part in ("Triangular", "(2, 2)", "float64", "cpu", "bytes", "lower", "times 2.5", "5."):
        assert part in text
    assert "..." in repr(Bit(3000)) and "sim:0" in repr(Dense(2).to("sim:0"))


def test_numpy_leaves_arithmetic_alone():
    m = Dense([[1.0, 2.0]])
    with pytest.raises(TypeError):
        np.sqrt(m)
    with pytest.raises(TypeError):
        list(m)
    assert np.asarray(m, dtype="float32").dtype == np.float32
    assert type(np.float32(3) * m) is Dense
    assert copy.copy(m)[0, 1] == 2 and copy.deepcopy(m)[0, 0] == 1
    with pytest.raises(TypeError):
        m * "x"


def test_pickle_keeps_what_was_computed():
    m = Diagonal([2.0, 3.0, 4.0])  # case 55
    assert (m.trace(), ts.linalg.det(m).item(), m.sum()) == (9.0, 24.0, 9.0)
    m.norm()
    again = pickle.loads(pickle.dumps(m))
    assert {name: again.properties[name] for name in ("trace", "determinant", "sum", "norm")} == {
        "trace": 9.0,
        "determinant": 24.0,
        "sum": 9.0,
        "norm": m.norm(),
    }
    half = pickle.loads(pickle.dumps(0.5 * m))
    assert half.properties["trace"] == 4.5
    assert half.properties["determinant"] == 3.0
    again[0, 0] = 5.0
    assert again.properties["trace"] is None
    assert again.trace() == 12.0


@pytest.mark.parametrize("cls", FORMS, ids=lambda c: c.__name__)
def test_pickle(cls, device):
    dtype = "bool" if cls in (Bit, TriangularBit) else "complex64"
    m = ((2 - 1j) * make(cls, full(np.random.default_rng(4), cls, dtype, 5), device)).H
    m.properties["is_zero"] = False
    again = pickle.loads(pickle.dumps(m))
    assert type(again) is cls and again.dtype == m.dtype and again.device == m.device
    np.testing.assert_array_equal(again, m)
    assert again.properties["is_zero"] is False and again.nbytes == m.nbytes
    strict = pickle.loads(pickle.dumps(Triangular(3, lower=True, strict=True)))
    with pytest.raises(ValueError, match="Strictly lower"):
        strict[1, 1] = 1


def test_inf_and_nan_round_trip():
    a = np.array([[np.inf, -np.inf], [np.nan, 1.0]])  # 70
    np.testing.assert_array_equal(Dense(a), a)
    s = np.array([[np.nan, np.inf], [np.inf, 1.0]])
    np.testing.assert_array_equal(Symmetric(s, check=False), s)


def test_68_unit_vectors():
    e = ts.matrix.unit_vector(5, 2)
    assert isinstance(e, ts.Array) and e.tolist() == [0, 0, 1, 0, 0]
    assert (e + e).tolist() == [0, 0, 2, 0, 0]
    assert ts.matrix.unit_vector(3, -1, "int8").tolist() == [0, 0, 1]
    np.testing.assert_array_equal(Dense(np.arange(15.0).reshape(3, 5)) @ e, [2, 7, 12])
    for n, k in [(5, 5), (5, -6), (0, 0)]:
        with pytest.raises(IndexError, match="unit_vector"):
            ts.matrix.unit_vector(n, k)


def test_70_vectors_and_matrices_of_numpy():
    assert ts.matrix.vector(np.ones(3, "float32")).dtype == "float64"
    assert ts.matrix.vector(np.ones(3, "float32"), "float32").dtype == "float32"
    assert ts.matrix.vector(np.ones(3, "float16")).dtype == "float16"
    assert ts.matrix.vector(np.arange(3, dtype="int16")).dtype == "int16"
    assert ts.matrix.asmatrix(np.ones((2, 3), "float32")).dtype == "float32"
    assert type(ts.matrix.asmatrix(np.ones((2, 3), bool))) is Bit
    s = Symmetric(3)
    assert ts.matrix.asmatrix(s) is s
    special = np.array([np.inf, -np.inf, np.nan, -0.0], "float32")
    got = ts.matrix.vector(special).numpy()
    np.testing.assert_array_equal(got, special.astype("float64"))
    assert np.signbit(got[3])
    with pytest.raises(ValueError, match="one axis"):
        ts.matrix.vector(np.ones((2, 2)))
    for shape in [(3,), (), (2, 2, 2)]:
        with pytest.raises(ValueError, match="two axes"):
            ts.matrix.asmatrix(np.ones(shape))
        with pytest.raises(ValueError, match="two axes"):
            ts.matrix.asmatrix(np.ones(shape, bool))


def test_names_of_properties_have_one_list():
    m = Dense(np.ones((2, 2)))
    for name in ts.matrix._names:
        assert m.properties[name] is None
    assert len(set(ts.matrix._names)) == len(ts.matrix._names) == 22
    assert "bogus" not in m.properties
