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


def expected(name, a, b):
    if name != "divide":
        return OPERATIONS[name](a, b)
    kind = complex if complex in (a.dtype, b.dtype) else float
    with np.errstate(all="ignore"):
        return a.astype(kind) / b.astype(kind)


def check(name, x, y, a, b):
    try:
        dtype = str(ts.compute.resolve(name, x.dtype, y.dtype).dtype).removeprefix("tessera.")
    except ValueError:
        with pytest.raises(ValueError, match="no safe integer supertype"):
            OPERATIONS[name](x, y)
        return
    want = expected(name, a, b)
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
    if name == "divide":  # by zeros, whose sign no form promises
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
