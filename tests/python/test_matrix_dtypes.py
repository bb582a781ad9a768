# SPDX-License-Identifier: Apache-2.0
"""Every form in every dtype with every other: what the table of promotion resolves is computed exactly, or overflows."""

import itertools
import operator

import numpy as np
import pytest

import tessera as ts

pytestmark = pytest.mark.filterwarnings("ignore")
M = ts.matrix
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
EPSILON = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "complex64": 2**-23}
DTYPES = ["bool", *INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
OPERATIONS = {
    "matmul": operator.matmul,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
}


def numbers(rng, n, dtype):
    """Small numbers that every dtype holds, as Python integers where they are whole: NumPy then computes exactly."""
    if dtype == "bool":
        return rng.integers(0, 2, (n, n)).astype(object)
    if dtype in INTEGERS:
        return rng.integers(0 if dtype[0] == "u" else -3, 4, (n, n)).astype(object)
    real = rng.integers(-8, 9, (n, n)) / 4
    return real + 1j * rng.integers(-8, 9, (n, n)) / 4 if dtype[0] == "c" else real


def forms(n, dtype):
    rng = np.random.default_rng(DTYPES.index(dtype))
    a = numbers(rng, n, dtype)
    upper, strict = np.triu(a), np.triu(a, 1)

    def made(cls, values, **options):
        if dtype == "bfloat16":
            return cls(ts.asarray(values.astype("float32")).astype(dtype), **options)
        return cls(values.astype(dtype), **options)

    yield made(M.Dense, a), a
    yield made(M.Dense, a).T, a.T
    yield made(M.Triangular, upper), upper
    yield made(M.Triangular, np.tril(a), lower=True), np.tril(a)
    yield made(M.Triangular, strict, strict=True), strict
    yield made(M.Symmetric, upper + strict.T), upper + strict.T
    yield made(M.Diagonal, np.diag(a)), np.diag(np.diag(a))
    yield M.Identity(n, dtype), np.eye(n, dtype=int).astype(a.dtype)
    if dtype == "bool":
        yield M.Bit(a.astype(bool)), a
        yield M.TriangularBit(strict.astype(bool)), strict
    elif dtype[0] != "u":
        yield made(M.AntiSymmetric, strict - strict.T), strict - strict.T


def expected(name, a, b, dtype):
    whole = dtype == "bool" or dtype in INTEGERS
    if name not in ("divide", "power") or whole:
        return OPERATIONS[name](a, b)
    kind = complex if complex in (a.dtype, b.dtype) else float
    with np.errstate(all="ignore"):
        return OPERATIONS[name](a.astype(kind), b.astype(kind))


def check(name, x, y, a, b):
    try:
        dtype = str(ts.compute.resolve(name, x.dtype, y.dtype).dtype).removeprefix("tessera.")
    except ValueError:
        with pytest.raises(ValueError, match="no safe integer supertype"):
            OPERATIONS[name](x, y)
        return
    if name == "power" and dtype in INTEGERS and any(value < 0 for value in b.flat):
        with pytest.raises(ValueError, match="power: Integers to negative integer powers are not allowed"):
            OPERATIONS[name](x, y)
        return
    want = expected(name, a, b, dtype)
    if dtype in INTEGERS:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        if any(not least <= value <= most for value in want.flat):
            with pytest.raises(OverflowError):
                OPERATIONS[name](x, y)
            return
    result = OPERATIONS[name](x, y)
    where = f"{x.form} {x.dtype} {name} {y.form} {y.dtype}"
    assert result.dtype == dtype, where
    got = (result.astype("float32") if dtype == "bfloat16" else result).numpy()
    if dtype == "bool" or dtype in INTEGERS:
        assert got.astype(object).tolist() == (want != 0 if dtype == "bool" else want).tolist(), where
        return
    size = 16 * EPSILON.get(dtype, 2**-52)
    want = want.astype(complex if dtype[0] == "c" else float)
    if name in ("divide", "power"):  # by zeros, whose sign no form promises, and roots of negative numbers
        got, want = np.where(np.isfinite(want), got, 0), np.where(np.isfinite(want), want, 0)
    largest = max(1, np.abs(want).max(initial=0))
    np.testing.assert_allclose(got, want, rtol=size, atol=size * largest, err_msg=where)


@pytest.mark.parametrize("mode", ["lowest", "highest"])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_every_form_and_dtype_with_every_other(n, mode):
    everything = [pair for dtype in DTYPES for pair in forms(n, dtype)]
    names = list(OPERATIONS)
    with ts.precision_mode(mode):
        for (i, (x, a)), (j, (y, b)) in itertools.product(enumerate(everything), enumerate(everything)):
            check(names[(i + j) % len(names)], x, y, a, b)


@pytest.mark.parametrize("cls", ["Dense", "Triangular", "Symmetric", "Diagonal", "Bit"])
def test_operators_sum_integers_in_64_bits(cls):
    ones = np.diag(np.full(3, 100, "int8"))
    m = M.Bit(np.ones((3, 300))) if cls == "Bit" else getattr(M, cls)(np.diag(ones) if cls == "Diagonal" else ones)
    x = np.full(m.shape[1], 100, "int8")
    A = ts.Matrix(m, ("N",), ("M",))
    full = m.numpy().astype(int)
    for got, want in [
        (A(x), full @ x.astype(int)),
        (A.H(x[:3]), full.T @ x[:3].astype(int)),
        (A.N(x), full.T @ (full @ x.astype(int))),
        ((A + A)(x), 2 * (full @ x.astype(int))),
        (A.split({"M": slice(0, 2)})(x), full[:2] @ x.astype(int)),
    ]:
        assert got.dtype == "int64"
        assert got.tolist() == want.tolist()
    assert A(x.astype("float32")).dtype == "float32"
    assert ts.Matrix(M.Dense([[2**63]], "uint64"), ("N",), ("M",))(np.array([1], "uint8")).item() == 2**63


def views(m, a):
    yield m, a
    yield m.T, a.T
    yield 2 * m, 2 * a


def agrees(result, want, dtype, where):
    """Values and dtype; integers exactly, of floats to a few units in the last place of the largest."""
    assert result.dtype == dtype, where
    got = (result.astype("float32") if dtype == "bfloat16" else result).numpy()
    if dtype == "bool" or dtype in INTEGERS:
        assert got.astype(object).tolist() == want.tolist(), where
        return
    size = 16 * EPSILON.get(dtype, 2**-52) * max(1, np.abs(want).max(initial=0))
    np.testing.assert_allclose(got, want, rtol=0, atol=size, err_msg=where)


REAL = {"complex64": "float32", "complex128": "float64"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_parts_and_powers_keep_the_form(n, dtype):
    seen = set()
    for plain, values in forms(n, dtype):
        for m, a in views(plain, values):
            own = str(m.dtype).removeprefix("tessera.")
            where = f"{m.form} {m.dtype}"
            number = float if own.startswith(("float", "bfloat")) else complex if own[0] == "c" else object
            a = a.astype(number)
            real = REAL.get(own, own)
            odd = {m.form} | ({"Diagonal"} if m.form == "Identity" else set())
            even = {"Symmetric"} if m.form == "AntiSymmetric" else odd
            if own == "bool" or own in INTEGERS:
                parts = [(abs(m), np.vectorize(abs, otypes=[object])(a)), (m.real, a), (m.imag, 0 * a)]
            else:
                parts = [(abs(m), abs(a)), (m.real, a.real), (m.imag, a.imag)]
            for part, want in parts:
                agrees(part, want, real, where)
            if m.form not in ("Bit", "TriangularBit"):
                assert parts[0][0].form in even, where
                assert {part.form for part, _ in parts[1:]} <= odd, where
            for k in (1, 2, 3):
                if own in INTEGERS and any(value > np.iinfo(own).max for value in abs(a**k).flat):
                    with pytest.raises(OverflowError):
                        m**k
                    continue
                power = m**k
                agrees(power, a**k if own != "bool" else a, own, f"{where} ** {k}")
                if m.form not in ("Bit", "TriangularBit"):
                    assert power.form in (even if k == 2 else odd), f"{where} ** {k}"
            agrees(m**0, np.ones_like(a), own, where)
            seen.add(m.form)
    assert len(seen) >= 5


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_magnitudes_and_powers_do_not_wrap(dtype):
    least = np.iinfo(dtype).min
    with pytest.raises(OverflowError, match=f"absolute: the magnitude of {least} does not fit {dtype}"):
        abs(M.Dense(np.array([[least]], dtype)))
    root = 2 ** (np.iinfo(dtype).bits // 2 - 1)
    with pytest.raises(OverflowError, match=f"power: an element to the power 2 does not fit {dtype}"):
        M.Symmetric(np.array([[2 * root]], dtype)) ** 2
    assert (M.Dense(np.array([[root]], dtype)) ** 2)[0, 0] == root**2
    assert (M.Dense(np.array([[-1]], dtype)) ** (10**9 + 1))[0, 0] == -1
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        M.Dense(np.array([[1]], dtype)) ** -1


def test_powers_with_other_numbers():
    a = np.array([[4.0, -1.0], [0.0, 9.0]])
    upper = M.Triangular(a)
    with np.errstate(all="ignore"):
        for exponent in (0.5, -1, -0.5, 2.0, 1 + 1j, 0):
            want = a**exponent if exponent != 1 + 1j else a.astype(complex) ** exponent
            got = upper**exponent
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-14)
            assert got.form == ("Triangular" if exponent in (0.5, 2.0) else "Dense")
    skew = M.AntiSymmetric([[0.0, 2.0], [-2.0, 0.0]])
    assert (skew**2.0).form == "Symmetric"
    assert (skew**3).form == "AntiSymmetric"
    assert (skew**0.5).form == "Dense"
    assert (M.Dense([[4]]) ** 0.5).dtype == "float64"
    assert (M.Dense([[4]], "float32") ** 0.5).dtype == "float32"
    for wrong in (lambda: pow(skew, 2, 3), lambda: skew ** "2", lambda: "2" ** skew):
        with pytest.raises(TypeError):
            wrong()


def test_powers_of_matrices_element_by_element():
    a, b = np.array([[4, 1], [0, 9]]), np.array([[2, 0], [0, 3]])
    upper, diagonal = M.Triangular(a), M.Diagonal(np.diag(b))
    for got, want in [
        (upper**diagonal, a**b),
        (upper**b, a**b),
        (a**diagonal, a**b),
        (upper ** np.array([2, 3]), a ** np.array([2, 3])),
        (2**upper, 2**a),
        (0.5**upper, 0.5**a),
        (upper ** diagonal.astype("float32"), (a ** b.astype("float32")).astype("float32")),
    ]:
        assert got.form == "Dense"
        assert str(got.dtype) == str(want.dtype)
        np.testing.assert_array_equal(got.numpy(), want)
    bits = M.Bit([[1, 0], [0, 1]])
    assert (bits**bits).form == "Bit"
    assert (bits ** M.Bit([[1, 1]])).numpy().tolist() == [[True, False], [False, True]]
    assert (bits**bits).all()
    assert (2**bits).dtype == "int32"
    assert (M.Dense([[-2]]) ** M.Dense([[63]]))[0, 0] == -(2**63)
    assert (M.Dense([[2]], "uint64") ** M.Dense([[63]], "uint64"))[0, 0] == 2**63
    assert (M.Dense([[-1, 2]], "int8") ** M.Dense([[127, 6]], "int8")).numpy().tolist() == [[-1, 64]]
    for base, exponent, dtype in [
        (2, 7, "int8"),
        (2, 63, "int64"),
        (2, 64, "uint64"),
        (3, 100, "int16"),
        (256, 4, "uint32"),
    ]:
        with pytest.raises(OverflowError, match=f"power: .* {dtype}"):
            M.Dense([[base]], dtype) ** M.Dense([[exponent]], dtype)
    with pytest.raises(ValueError, match=r"power: .*\(2, 2\).*\(3, 3\)"):
        upper ** M.Identity(3)


def test_declarations_of_zeros_follow_parts_and_powers():
    m = M.Dense([[1j, 0.0], [0.0, 2.0]])
    m.properties["is_diagonal"] = True
    m.properties["is_unitary"] = True
    for part in (m**2, abs(m), m.real, m.imag):
        assert part.properties["is_diagonal"] is True
        assert part.properties["is_unitary"] is None
    assert (m**0).properties["is_diagonal"] is None


COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("n", [0, 1, 3])
def test_comparisons_of_every_form_and_dtype(n):
    everything = [pair for dtype in DTYPES for pair in forms(n, dtype)]
    for (i, (x, a)), (j, (y, b)) in itertools.product(enumerate(everything), enumerate(everything)):
        compare = COMPARISONS[(i + j) % 6]
        if complex in (a.dtype, b.dtype) and compare not in (operator.eq, operator.ne):
            compare = operator.eq
        got = compare(x, y)
        assert got.form == "Bit"
        assert got.numpy().tolist() == compare(a, b).tolist(), f"{x.form} {x.dtype} {compare} {y.form} {y.dtype}"
        assert compare(x, 1).numpy().tolist() == compare(a, 1).tolist()
        assert (x == y).all() == bool((a == b).all())
        assert (x != y).any() == bool((a != b).any())


@pytest.mark.parametrize("form", ["Dense", "Bit", "TriangularBit", "Triangular", "Symmetric", "Diagonal", "Identity"])
def test_equality_is_of_elements(form):
    m = getattr(M, form)(3)
    assert (m == m.copy()).all()
    assert not (m != m).any()
    with pytest.raises(TypeError, match="unhashable"):
        hash(m)
    with pytest.raises(ValueError, match=r"Use m.any\(\) or m.all\(\)"):
        bool(m == m)
    assert (m == None) is False  # noqa: E711
    assert (m != "x") is True
    with pytest.raises(ValueError, match="equal: a matrix .* do not fit each other"):
        m == np.zeros((2, 2))  # noqa: B015
    assert (np.zeros((3, 3)) == 0 * m).all()
    assert (m == ts.zeros((1, 3))).numpy().tolist() == (m.numpy() == 0).tolist()
    assert not (0 * m).any()
    assert M.boolean_product(0 * m, M.Identity(3)).any() is False
    assert bool(M.Dense([[2]])) is True
    assert bool(M.Dense([[0.0]])) is False


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5])
def test_powers_of_whole_matrices(n):
    a = np.array([[2.0, 1.0], [0.0, 4.0]])
    for cls in (M.Dense, M.Triangular):
        got = ts.linalg.matrix_power(cls(a), n)
        np.testing.assert_allclose(got.numpy(), np.linalg.matrix_power(a, n), rtol=1e-14)
        assert got.form == (cls.__name__ if n else "Identity")
    stack = np.stack([a, a.T, np.eye(2)])
    np.testing.assert_allclose(ts.linalg.matrix_power(stack, n).numpy(), np.linalg.matrix_power(stack, n), rtol=1e-14)
    for wrong in (M.Dense((2, 3)), np.ones((2, 3))):
        with pytest.raises(ValueError, match="matrix_power"):
            ts.linalg.matrix_power(wrong, n)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        ts.linalg.matrix_power(stack, n + 0.5)


def test_powers_of_bits_count_paths():
    c = np.triu(np.ones((6, 6), int), 1)
    got = ts.linalg.matrix_power(M.TriangularBit(c), 3)
    assert got.form == "Triangular"
    assert got.numpy().tolist() == np.linalg.matrix_power(c, 3).tolist()
    with pytest.raises(OverflowError):
        ts.linalg.matrix_power(M.Dense([[10]], "int8"), 3)
