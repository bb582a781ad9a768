# SPDX-License-Identifier: Apache-2.0
"""Products, sums and reductions of matrices from Python; caseNN in a name is a number of the list of acceptance."""

import warnings

import numpy as np
import pytest

import tessera as ts

pytestmark = pytest.mark.filterwarnings("ignore::tessera.OverflowRiskWarning")
M = ts.matrix
rng = np.random.default_rng(5)


def dense(values, dtype=None):
    return M.Dense(np.asarray(values, dtype=dtype))


def last_kernel():
    return ts.debug.last_kernel_trace()


def matrices(n=37, dtype="float64"):
    """One matrix of each form with all its elements."""
    full = (rng.integers(-8, 9, (n, n)) / 8).astype(dtype)
    if np.dtype(dtype).kind == "c":
        full = full + 1j * (rng.integers(-8, 9, (n, n)) / 8).astype(full.real.dtype)
    ones = rng.integers(0, 2, (n, n)).astype(bool)
    symmetric = np.triu(full) + np.triu(full, 1).T
    antisymmetric = np.triu(full, 1) - np.triu(full, 1).T
    return {
        "Dense": (M.Dense(full), full),
        "Bit": (M.Bit(ones), ones),
        "TriangularBit": (M.TriangularBit(np.triu(ones, 1)), np.triu(ones, 1)),
        "Triangular": (M.Triangular(np.triu(full)), np.triu(full)),
        "Lower": (M.Triangular(np.tril(full), lower=True), np.tril(full)),
        "Symmetric": (M.Symmetric(symmetric), symmetric),
        "AntiSymmetric": (M.AntiSymmetric(antisymmetric), antisymmetric),
        "Diagonal": (M.Diagonal(np.diag(full)), np.diag(np.diag(full))),
        "Identity": (M.Identity(n, dtype), np.eye(n, dtype=dtype)),
    }


def number(a):
    return a.astype(int) if a.dtype == bool else a


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_every_form_with_every_form(dtype):
    all_of = matrices(dtype=dtype)
    for x, (a, full_a) in all_of.items():
        for y, (b, full_b) in all_of.items():
            p, q = number(full_a), number(full_b)
            for got, want in [
                (a @ b, p @ q),
                (a.T @ b, p.T @ q),
                (a @ b.H, p @ q.conj().T),
                (a.conj() @ (2 * b), p.conj() @ (2 * q)),
                (a + b, p + q),
                (a - b.T, p - q.T),
                (a * b, p * q),
            ]:
                assert isinstance(got, M.AnyMatrix), (x, y)
                np.testing.assert_allclose(got.numpy(), want, rtol=1e-13, atol=1e-12, err_msg=f"{x} with {y}")


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_with_numpy_arrays(dtype):
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for name, (a, full) in matrices(dtype=dtype).items():
        x = rng.standard_normal((37, 5)).astype(dtype)
        for got, want in [(a @ x, full @ x), (x.T @ a, x.T @ full), (a @ x[:, 0], full @ x[:, 0])]:
            assert isinstance(got, ts.Array), name
            np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance, err_msg=name)
        y = ts.asarray(x)
        got = y.T @ a
        assert isinstance(got, ts.Array)
        np.testing.assert_allclose(np.asarray(got), x.T @ full, rtol=tolerance, atol=tolerance, err_msg=name)
        np.testing.assert_allclose((ts.asarray(number(full)) + a).numpy(), 2 * number(full), rtol=tolerance)


def test_case16_int32_products_overflow():
    with pytest.raises(OverflowError, match="int32"):
        dense([[2**31 - 1, 0], [0, 0]], "int32") @ dense([[2, 0], [0, 0]], "int32")


def test_case17_and_case18_one_warning_of_a_risk():
    a = np.zeros((256, 256), np.int32)
    a[0, 0] = 46340
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ts.debug.forget_warnings()
        assert (M.Dense(a) @ M.Dense(a))[0, 0] == 2147395600
        M.Dense(a) @ M.Dense(a)
    risks = [w for w in said if issubclass(w.category, ts.OverflowRiskWarning)]
    assert len(risks) == 1
    assert "may overflow int32 output" in str(risks[0].message)


def test_case19_int8_products_overflow():
    with pytest.raises(OverflowError):
        dense([[100, 0], [0, 0]], "int8") @ dense([[100, 0], [0, 0]], "int8")


def test_case20_int8_sums_overflow():
    with pytest.raises(OverflowError):
        dense([[120]], "int8") + dense([[100]], "int8")


def test_case21_int64_products_overflow():
    with pytest.raises(OverflowError):
        dense([[2**62]], "int64") @ dense([[4]], "int64")


def test_case22_uint64_is_exact():
    assert (dense([[2**63 + 5]], "uint64") @ dense([[1]], "uint64"))[0, 0] == 2**63 + 5


def test_case23_int64_is_exact():
    assert (dense([[2**53 + 1]], "int64") + dense([[0]], "int64"))[0, 0] == 9007199254740993


@pytest.mark.parametrize(("dtype", "tag"), [("int32", "bit_x_i32"), ("int16", "bit_x_i16")])
def test_case24_bits_times_integers(dtype, tag):
    a, b = M.Bit(64), np.zeros((64, 64), dtype)
    a[0, 0] = a[0, 1] = 1
    b[0, 0], b[1, 0], b[0, 1], b[1, 1] = 2, 3, 7, 11
    c = a @ M.Dense(b)
    assert last_kernel() == f"cpu.matmul.{tag}"
    assert (c[0, 0], c[0, 1], c[1, 0]) == (5, 18, 0)
    assert c.dtype == dtype


def test_case25_bits_times_float64():
    a, b = M.Bit((3, 4)), np.zeros((4, 2))
    a[0, 0] = a[0, 2] = 1
    b[0, 0], b[2, 0], b[0, 1], b[2, 1] = 2.5, 3.5, 7, 11
    c = a @ M.Dense(b)
    assert last_kernel() == "cpu.matmul.bit_x_f64"
    assert c.shape == (3, 2)
    assert (c[0, 0], c[0, 1], c[1, 0]) == (6.0, 18.0, 0.0)


def test_case26_bits_times_bits():
    a, b = M.Bit((2, 3)), M.Bit((3, 4))
    a[0, 1] = b[1, 0] = 1
    c = a @ b
    assert last_kernel() == "cpu.matmul.bitbit_popcount"
    assert c[0, 0] == 1
    assert c.dtype == "int32"
    assert c.sum() == 1


@pytest.mark.parametrize(("dtype", "tag"), [("int32", "i32"), ("int16", "i16"), ("float64", "f64")])
def test_case27_bits_times_a_vector(dtype, tag):
    a, v = M.Bit(128), np.zeros(128, dtype)
    a[0, 0] = a[0, 1] = a[0, 64] = 1
    v[[0, 1, 64]] = 2, 3, 5
    y = a @ v
    assert last_kernel() == f"cpu.matvec.bit_x_{tag}"
    assert np.asarray(y)[0] == 10
    assert y.shape == (128,)


def test_case28_dot_of_bits():
    bits = np.zeros(64, bool)
    bits[[0, 63]] = True
    assert M.dot(bits, bits) == 2
    assert last_kernel() == "cpu.dot.bitbit_popcount"
    row = M.Bit(bits[None])
    assert M.dot(row, row.T) == 2


def test_case29_the_complement_keeps_its_padding_zero():
    full = ~M.Bit(100)
    np.testing.assert_array_equal(np.asarray(full @ np.ones(100)), np.full(100, 100.0))
    assert (full @ full)[3, 4] == 100


def test_case30_outer_product_of_bits():
    c = M.outer(np.array([1, 0, 1], bool), np.array([0, 1, 1], bool))
    assert isinstance(c, M.Bit)
    assert [c[0, 0], c[0, 1], c[1, 2], c[2, 2]] == [False, True, False, True]


def test_case31_causal_products_are_triangular_integers():
    c = M.TriangularBit(3)
    c[0, 1] = c[1, 2] = c[0, 2] = 1
    squared = c @ c
    assert squared[0, 2] == 1
    assert isinstance(squared, M.Triangular)
    assert squared.dtype == "int32"


def test_case32_random_bits_are_counted_exactly():
    a, b = rng.random((2, 128, 128)) < 0.5
    np.testing.assert_array_equal((M.Bit(a) @ M.Bit(b)).numpy(), a.astype(int) @ b.astype(int))


def test_case33_floats_times_bits():
    a, b = rng.standard_normal((5, 70)), rng.random((70, 9)) < 0.5
    np.testing.assert_allclose((M.Dense(a) @ M.Bit(b)).numpy(), a @ b.astype(float), rtol=1e-13, atol=1e-13)


def test_case57_norms():
    assert dense([[3.0, 4.0]]).norm() == 5
    assert (2 * dense([[3.0, 4.0]])).norm() == 10
    assert dense([[3.0, 4.0], [0, 0]]).norm() == 5


def test_case58_sums():
    assert dense([[1.0, 2.0], [3.0, 4.0]]).sum() == 10 + 0j
    v = dense([[1 + 2j, 3 - 1j]])
    assert v.conj().sum() == np.conj(v.sum()) == 4 - 1j


def test_case59_dot_conjugates_nothing():
    assert M.dot([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 14
    assert M.dot([1j, 2.0], [1j, 1.0]) == 1


def test_case60_cross_products_are_of_three_numbers():
    np.testing.assert_array_equal(np.asarray(M.cross([1.0, 2.0, 3.0], [4.0, 5.0, 7.0])), [-1, 5, -3])
    with pytest.raises(ValueError, match="3 elements"):
        M.cross([1.0, 2.0], [3.0, 4.0])


def test_case61_vectors_on_both_sides():
    m, v = dense([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(m @ v), [5, 11])
    np.testing.assert_array_equal(np.asarray(v @ m), [7, 10])
    row = dense([[1.0, 2.0]]) @ m
    assert row.shape == (1, 2)
    np.testing.assert_array_equal(row.numpy(), [[7, 10]])
    assert M.outer([1, 2, 3], [4, 5, 6])[2, 2] == 18


def test_case62_dot_of_integers_is_an_integer():
    product = M.dot([1, 2, 3], [4, 5, 6])
    assert product == 32
    assert type(product) is int
    mixed = M.dot([1, 2, 3], [1.0, 2.0, 4.0])
    assert mixed == 17.0
    assert type(mixed) is float


def test_case63_views_are_honoured():
    a = rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4))
    np.testing.assert_allclose((M.Dense(a).conj() @ M.Dense(a)).numpy(), a.conj() @ a)
    d, m = rng.standard_normal(4), rng.standard_normal((4, 4))
    np.testing.assert_allclose((M.Diagonal(d) @ M.Dense(m).T).numpy(), np.diag(d) @ m.T)
    lower = np.tril(m)
    x = M.Triangular(lower, lower=True)
    np.testing.assert_allclose((x @ x.T).numpy(), lower @ lower.T)


def test_case64_transposed_times_plain():
    a, b = rng.standard_normal((7, 3)), rng.standard_normal((7, 5))
    np.testing.assert_allclose((M.Dense(a).T @ M.Dense(b)).numpy(), a.T @ b)


def test_case65_shapes_that_do_not_fit():
    a = dense(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(2, 3\)"):
        a @ a
    with pytest.raises(IndexError):
        a[2, 0]
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(4, 3\)"):
        a + dense(np.ones((4, 3)))
    np.testing.assert_array_equal((a + np.arange(3)).numpy(), [[1, 2, 3], [1, 2, 3]])
    np.testing.assert_array_equal((a + dense([[0.0, 1.0, 2.0]])).numpy(), [[1, 2, 3], [1, 2, 3]])


def test_case66_antisymmetric_matrices():
    a = M.AntiSymmetric(3)
    a.set(0, 2, 5)
    assert a[2, 0] == -5
    with pytest.raises(ValueError, match="diagonal"):
        a.set(1, 1, 2.0)
    np.testing.assert_array_equal((a @ np.array([0.0, 0.0, 1.0])), [5, 0, 0])


def test_case67_identities():
    i = M.Identity((2, 5))
    assert i.shape == (2, 5)
    assert i[0, 1] == 0
    assert isinstance(M.Identity(3) @ M.Identity(3), M.Identity)
    assert isinstance(i @ M.Identity(5), M.Identity)
    np.testing.assert_array_equal((i @ dense(np.arange(10.0).reshape(5, 2))).numpy(), [[0, 1], [2, 3]])


def test_case69_shorter_and_longer_floats():
    a, b = dense([[2.0, 0.0], [0.0, 3.0]], "float32"), dense(np.eye(2))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ts.debug.forget_warnings()
        c = a @ b
        assert c.dtype == "float32"
        np.testing.assert_allclose([c[0, 0], c[1, 1]], [2.0, 3.0], rtol=1e-5)
        a + b
    assert [w.category for w in said] == [ts.PrecisionWarning]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ts.debug.forget_warnings()
        with ts.precision_mode("highest"):
            assert (a @ b).dtype == "float64"


@pytest.mark.parametrize(
    ("short", "long"), [("complex64", "complex128"), ("float32", "complex128"), ("complex64", "float64")]
)
def test_no_number_is_shortened_in_silence(short, long):
    a, b = dense(np.eye(2), short), dense(np.eye(2), long)
    for operation in (lambda: a @ b, lambda: b + a, lambda: a @ np.ones(2, long)):
        ts.debug.forget_warnings()
        with pytest.warns(ts.PrecisionWarning, match="gives complex64"):
            assert operation().dtype == "complex64"
    with warnings.catch_warnings(), ts.precision_mode("highest"):
        warnings.simplefilter("error")
        ts.debug.forget_warnings()
        assert (a @ b).dtype == "complex128"


@pytest.mark.parametrize("mode", ["lowest", "highest"])
def test_whoever_is_shortened_beside_arrays_hears_it_once(mode):
    """Every pair of dtypes under every operation: said exactly where NumPy's arrays keep more digits."""
    import operator

    dtypes = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    dtypes += ["float16", "float32", "float64", "complex64", "complex128"]
    operations = [operator.matmul, operator.add, operator.sub, operator.mul, operator.truediv]
    digits = {"f": lambda t: t.itemsize, "c": lambda t: t.itemsize // 2}
    for first in dtypes:
        for second in dtypes:
            for f in operations:
                a, b = dense(np.eye(2), first), dense(np.eye(2), second)
                ts.debug.forget_warnings()
                with warnings.catch_warnings(record=True) as said, ts.precision_mode(mode):
                    warnings.simplefilter("always", ts.PrecisionWarning)
                    try:
                        result = f(a, b)
                    except ValueError:  # no safe integer supertype
                        continue
                    f(a, b)
                said = [w for w in said if w.category is ts.PrecisionWarning]
                kept = np.result_type(first, second)
                if kept.kind not in "fc" and f is operator.truediv:
                    kept = np.result_type(kept, "float32")
                got = np.dtype(str(result.dtype).removeprefix("tessera."))
                shortened = kept.kind in "fc" and digits[got.kind](got) < digits[kept.kind](kept)
                text = f"{first} {f.__name__} {second}"
                assert len(said) == shortened, text
                if said and "int" in first + second:
                    assert f"gives {got}, arrays give {kept}" in str(said[0].message), text
    ts.debug.forget_warnings()


def test_every_combination_is_said_once():
    """All pairs one after the other, without forgetting: each pair of dtypes and what becomes of it has its warning,
    whatever was said of others before, and no second one from another operation of its kind."""
    import operator

    dtypes = ["int32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
    expected, heard = [], []
    for again in range(2):
        for first in dtypes:
            for second in dtypes:
                for f in (operator.matmul, operator.add, operator.mul, operator.truediv):
                    a, b = dense(np.eye(2), first), dense(np.eye(2), second)
                    if not again:
                        ts.debug.forget_warnings()
                    with warnings.catch_warnings(record=True) as said:
                        warnings.simplefilter("always", ts.PrecisionWarning)
                        try:
                            result = f(a, b)
                        except ValueError:  # no safe integer supertype
                            continue
                    said = [w for w in said if w.category is ts.PrecisionWarning]
                    quotient = f is operator.truediv and "int" in first and "int" in second
                    row = (first, second, str(result.dtype), quotient)
                    if said and not again and row not in expected:
                        expected.append(row)
                    elif said and again:
                        heard.append(row)
        ts.debug.forget_warnings()
    assert heard == expected
    pairs = {row[:2] for row in heard}
    assert {("int64", "float16"), ("int64", "float32"), ("float32", "float64"), ("float16", "float64")} <= pairs


def test_case13_no_complex_numbers_of_halves():
    half, long = dense(np.eye(2), "float16"), dense(np.eye(2), "complex128")
    ts.debug.forget_warnings()
    said = "matmul: float16 with complex128 gives complex64, the shortest complex dtype there is; precision_mode"
    with pytest.warns(ts.PrecisionWarning, match=said):
        assert (half @ long).dtype == "complex64"
    with ts.precision_mode("highest"):
        assert (half @ long).dtype == "complex128"
    with pytest.raises(ValueError, match="'complex32' is not one of .*complex64"):
        M.Dense(np.eye(2), "complex32")


def test_case71_declared_diagonal():
    a = dense([[1.0, 100.0], [200.0, 4.0]])
    a.properties["is_diagonal"] = True
    c = a @ dense([[5.0, 6.0], [7.0, 8.0]])
    assert "diag_x_dense" in last_kernel()
    np.testing.assert_array_equal(c.numpy(), [[5, 6], [28, 32]])


def test_declared_zeros_and_identities():
    b = dense([[5.0, 6.0], [7.0, 8.0]])
    for name, one in [("is_zero", 0.0), ("is_identity", 1.0)]:
        a = dense([[1.0, 100.0], [200.0, 4.0]])
        a.properties[name] = True
        for got, want in [(a @ b, one * b.numpy()), (b @ a, one * b.numpy()), (a.T @ b, one * b.numpy())]:
            np.testing.assert_array_equal(got, want)
        assert ts.Matrix(a, ("N",), ("M",))(ts.ones(2)).tolist() == [one, one]
        assert a.trace() == 2 * one
        assert ts.linalg.det(a).item() == one


def test_case72_declared_upper_triangular():
    a, b = dense([[1.0, 2.0], [30.0, 4.0]]), dense([[5.0, 6.0], [70.0, 8.0]])
    a.properties["is_upper_triangular"] = b.properties["is_upper_triangular"] = True
    c = a @ b
    assert last_kernel() == "cpu.matmul.tri_f64"
    np.testing.assert_array_equal(c.numpy(), [[5, 22], [0, 32]])


def test_case80_results_are_arrays_for_numpy():
    a = dense([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(np.asarray(a @ a), [[7, 10], [15, 22]])


def test_numbers_and_matrices():
    a = dense([[1.0, 2.0], [3.0, 4.0]])
    for got, want in [
        (a + 1, [[2, 3], [4, 5]]),
        (1 + a, [[2, 3], [4, 5]]),
        (a - 1, [[0, 1], [2, 3]]),
        (1 - a, [[0, -1], [-2, -3]]),
        (2 * a, [[2, 4], [6, 8]]),
        (a / 2, [[0.5, 1], [1.5, 2]]),
        (12 / a, [[12, 6], [4, 3]]),
        (np.float64(2) * a, [[2, 4], [6, 8]]),
        (a / a, [[1, 1], [1, 1]]),
        (np.ones((2, 2)) - a, [[0, -1], [-2, -3]]),
    ]:
        assert isinstance(got, M.AnyMatrix)
        np.testing.assert_array_equal(got.numpy(), want)
    third = M.Symmetric([[1.0, 2.0], [2.0, 5.0]]) / 3
    assert isinstance(third, M.Symmetric)
    assert third[0, 1] == 2.0 / 3


def test_functions_follow_the_rules_of_matrices():
    bits, full = M.Bit([[1, 1], [1, 1]]), dense([[1.0, 2.0], [3.0, 4.0]])
    assert ts.matmul(bits, bits).numpy().tolist() == [[2, 2], [2, 2]]
    assert ts.add(bits, bits).numpy().tolist() == [[2, 2], [2, 2]]
    assert isinstance(ts.multiply(bits, bits), M.Bit)
    np.testing.assert_array_equal(ts.subtract(np.ones((2, 2)), full).numpy(), [[0, -1], [-2, -3]])
    np.testing.assert_array_equal(ts.divide(full, 2).numpy(), [[0.5, 1], [1.5, 2]])
    out = ts.zeros((2, 2))
    assert ts.matmul(full, full, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), [[7, 10], [15, 22]])
    with pytest.raises(ValueError, match="expected"):
        ts.matmul(full, full, out=ts.zeros((3, 2)))
    assert np.asarray(ts.sqrt(M.Diagonal([4.0, 9.0]))).tolist() == [[2, 0], [0, 3]]


def test_what_is_no_matrix_is_refused():
    a = dense(np.eye(2))
    for other in ("text", None, object()):
        with pytest.raises(TypeError):
            a @ other
        with pytest.raises(TypeError):
            other + a
    with pytest.raises(ValueError, match="a vector, a matrix or a stack"):
        a @ ts.ones(())
    with pytest.raises(ValueError, match="3 columns|2 columns"):
        a @ np.ones((2, 3, 2))
    with pytest.raises(ValueError, match="uint64"):
        dense([[1]], "uint64") @ dense([[1]], "int8")


@pytest.mark.parametrize("lead", [(4,), (2, 3), (0,), (2, 1, 3)])
def test_stacks_of_arrays_meet_one_matrix(lead):
    for name, (a, full) in matrices(n=7).items():
        x, y = rng.standard_normal((*lead, 7, 2)), rng.standard_normal((*lead, 3, 7))
        full = number(full).astype(float)
        for got, want in [(a @ x, full @ x), (y @ a, y @ full), (a.T @ x, full.T @ x)]:
            assert isinstance(got, ts.Array), name
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12, atol=1e-12, err_msg=name)
    counts = M.Bit(np.eye(7, dtype=bool)) @ np.ones((*lead, 7, 2), "int16")
    assert counts.shape == (*lead, 7, 2)
    assert counts.dtype == "int16"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((4, 3, 70), (4, 70, 5)),
        ((2, 1, 3, 70), (3, 70, 5)),
        ((3, 70), (6, 70, 1)),
        ((0, 3, 7), (7, 5)),
        ((2, 3, 0), (0, 5)),
        ((2, 1, 64), (64, 129)),
    ],
)
def test_stacks_of_bits_are_counted(first, second):
    a, b = rng.integers(0, 2, first).astype(bool), rng.integers(0, 2, second).astype("uint8")
    counts = M.bit_counts(a, b)
    assert counts.dtype == "int32"
    np.testing.assert_array_equal(counts, a.astype(int) @ b.astype(int))


def test_sums_of_identities_are_of_their_kind():
    assert [type(M.Identity(3, t).sum()) for t in ("int8", "float32", "complex64")] == [int, float, complex]
    assert (2 * M.Identity(2**40)).trace() == 2.0**41


def test_stacks_of_bits_that_do_not_fit():
    with pytest.raises(ValueError, match=r"left operand of shape \(2, 3, 7\) has 7 columns"):
        M.bit_counts(np.ones((2, 3, 7)), np.ones((2, 6, 3)))
    with pytest.raises(ValueError, match=r"\(7,\)"):
        M.bit_counts(np.ones(7), np.ones((7, 2)))


def test_closure_and_boolean_product():
    c = M.TriangularBit(5)
    for i in range(4):
        c[i, i + 1] = 1
    closed = M.transitive_closure(c)
    assert isinstance(closed, M.TriangularBit)
    np.testing.assert_array_equal(closed.numpy(), np.triu(np.ones((5, 5), bool), 1))
    square = M.boolean_product(c, c)
    assert isinstance(square, M.TriangularBit)
    np.testing.assert_array_equal(square.numpy(), np.eye(5, k=2, dtype=bool))
    np.testing.assert_array_equal(M.transitive_closure(np.eye(3, k=-1)).numpy(), np.tril(np.ones((3, 3), bool), -1))


def test_reductions_are_kept():
    m = dense([[1.0, 2.0], [3.0, 4.0]])
    assert (m.trace(), m.sum(), m.properties["trace"], m.properties["sum"]) == (5, 10, 5, 10)
    m[0, 0] = 10
    assert m.properties["trace"] is None
    assert (m.trace(), m.sum()) == (14, 19)
    with pytest.raises(ValueError, match="square"):
        dense(np.ones((2, 3))).trace()
