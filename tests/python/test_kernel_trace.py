# SPDX-License-Identifier: Apache-2.0
"""Every kernel that arrays and matrices run leaves its tag; an operation made of several has one of its own."""

import threading

import numpy as np
import pytest

import tessera as ts

M = ts.matrix


def tag_of(function):
    ts.debug.clear_kernel_trace()
    function()
    return ts.debug.last_kernel_trace()


x = ts.array([3.0, 1.0, 2.0])
a = ts.array(np.array([[4.0, 1.0], [1.0, 3.0]]))
z = ts.array(np.ones((4, 4), "complex64"))

ARRAYS = [
    (lambda: x + x, "cpu.add.f64"),
    (lambda: x * 2, "cpu.multiply.f64"),
    (lambda: x < 2, "cpu.less.f64"),
    (lambda: ts.array([1, 2], dtype="int8") + 1, "cpu.add.i8"),
    (lambda: ts.sqrt(x.astype("float32")), "cpu.sqrt.f32"),
    (lambda: x.astype("int32"), "cpu.copy.f64"),
    (lambda: a @ a, "cpu.matmul.f64"),
    (lambda: z @ z, "cpu.matmul.c64"),
    (lambda: ts.array([[1, 2]]) @ ts.array([[1], [2]]), "cpu.matmul.i64"),
    (lambda: x.sum(), "cpu.sum.f64"),
    (lambda: ts.array([1, 2], dtype="int16").max(), "cpu.max.i16"),
    (lambda: x.mean(), "cpu.mean.f64"),
    (lambda: x.var(), "cpu.var.f64"),
    (lambda: ts.sort(x), "cpu.sort.f64"),
    (lambda: ts.cumsum(x), "cpu.cumsum.f64"),
    (lambda: ts.fft.fft(z), "cpu.fft.c64"),
    (lambda: x[[2, 0]], "cpu.gather.f64"),
    (lambda: ts.linalg.inverse(a), "cpu.inverse.f64"),
    (lambda: ts.linalg.solve(a, ts.ones(2)), "cpu.solve.f64"),
    (lambda: ts.linalg.solve(ts.eye(40), ts.ones(40)), "cpu.solve.f64"),
    (lambda: ts.linalg.cholesky(a), "cpu.cholesky.f64"),
    (lambda: ts.linalg.lu(a), "cpu.lu.f64"),
    (lambda: ts.linalg.qr(a), "cpu.qr.f64"),
    (lambda: ts.linalg.eigh(a), "cpu.eigh.f64"),
    (lambda: ts.linalg.eigvalsh(a), "cpu.eigvalsh.f64"),
    (lambda: ts.linalg.eigvals(a), "cpu.eigvals.f64"),
    (lambda: ts.linalg.svd(a), "cpu.svd.f64"),
    (lambda: ts.linalg.pinv(a), "cpu.pinv.f64"),
    (lambda: ts.linalg.lstsq(a, ts.ones(2)), "cpu.lstsq.f64"),
    (lambda: ts.linalg.det(a), "cpu.det.f64"),
    (lambda: ts.linalg.norm(a, 2), "cpu.norm.f64"),
    (lambda: ts.linalg.cond(a), "cpu.cond.f64"),
    (lambda: ts.linalg.matrix_power(a, 5), "cpu.matrix_power.f64"),
]


@pytest.mark.parametrize(("function", "tag"), ARRAYS, ids=[tag for _, tag in ARRAYS])
def test_arrays(function, tag):
    assert tag_of(function) == tag


d = M.Diagonal([1.0, 2.0])
m = M.Dense([[4.0, 1.0], [1.0, 3.0]])
big = M.Dense(np.eye(50) + 1)
MATRICES = [
    (lambda: m + m, "cpu.add.f64"),
    (lambda: m - 1, "cpu.subtract.f64"),
    (lambda: m / 2, "cpu.divide.f64"),
    (lambda: M.Dense([[1]], "int8") + M.Dense([[1]], "int8"), "cpu.add.i8"),
    (lambda: big @ big, "cpu.matmul.f64"),
    (lambda: d @ m, "cpu.matmul.diag_x_dense_f64"),
    (lambda: M.Bit(2) @ M.Dense([[1, 2], [3, 4]], "int32"), "cpu.matmul.bit_x_i32"),
    (lambda: M.Bit(2) @ ts.array([1, 2], dtype="int16"), "cpu.matvec.bit_x_i16"),
    (lambda: M.Bit(4) @ M.Bit(4), "cpu.matmul.bitbit_popcount"),
    (lambda: big @ ts.ones(50), "cpu.matvec.f64"),
    (lambda: ts.ones(50) @ big, "cpu.vecmat.f64"),
    (lambda: big @ ts.ones((3, 50, 2)), "cpu.matmul.f64"),
    (lambda: M.outer(x, x), "cpu.outer.f64"),
    (lambda: M.dot(x, x), "cpu.dot.f64"),
    (lambda: M.cross(x, x), "cpu.cross.f64"),
    (lambda: abs(m), "cpu.absolute.f64"),
    (lambda: m.imag, "cpu.imag.f64"),
    (lambda: m**3, "cpu.power.f64"),
    (lambda: m**m, "cpu.power.f64"),
    (lambda: m == m, "cpu.equal.f64"),
    (lambda: M.Dense([[1.0]]).sum(), "cpu.sum.f64"),
    (lambda: M.Symmetric([[1, 2], [2, 1]]).trace(), "cpu.trace.i64"),
    (lambda: M.Dense([[1.0]]).norm(), "cpu.frobenius_norm.f64"),
    (lambda: ts.linalg.inverse(m), "cpu.inverse.f64"),
    (lambda: ts.linalg.inverse(d), "cpu.inverse.f64"),
    (lambda: ts.linalg.solve(d, ts.ones(2)), "cpu.solve.f64"),
    (lambda: ts.linalg.solve(m, ts.ones((3, 2, 1))), "cpu.solve.f64"),
    (lambda: ts.linalg.solve_triangular(m, ts.ones(2)), "cpu.solve_triangular.f64"),
    (lambda: ts.linalg.det(M.Dense([[2.0]])), "cpu.determinant.f64"),
    (lambda: ts.linalg.det(M.Diagonal([2.0])), "cpu.determinant.f64"),
    (lambda: ts.linalg.slogdet(m), "cpu.slogdet.f64"),
    (lambda: ts.linalg.eigh(d), "cpu.eigh.f64"),
    (lambda: ts.linalg.eigvals(M.Symmetric([[1.0, 2.0], [2.0, 1.0]])), "cpu.eigvalsh.f64"),
    (lambda: ts.linalg.svdvals(d), "cpu.svdvals.f64"),
    (lambda: ts.linalg.pinv(d), "cpu.pinv.f64"),
    (lambda: ts.linalg.cond(d), "cpu.cond.f64"),
    (lambda: ts.linalg.lstsq(m, ts.ones(2)), "cpu.lstsq.f64"),
    (lambda: M.compute_k(M.TriangularBit([[0, 1], [0, 0]]), 2.0), "cpu.compute_k.bit_x_f64"),
]


@pytest.mark.parametrize(("function", "tag"), MATRICES, ids=[tag for _, tag in MATRICES])
def test_matrices(function, tag):
    assert tag_of(function) == tag


def test_what_is_known_is_not_computed_again():
    n = M.Dense([[1.0, 2.0], [3.0, 5.0]])
    for function in (n.sum, n.trace, n.norm, lambda: ts.linalg.det(n), lambda: ts.linalg.eigvals(n)):
        assert tag_of(function) != ""
        assert tag_of(function) == ""


def test_tags_name_the_device_and_views_leave_none():
    there = x.to("sim:0")
    assert tag_of(lambda: there + there) == "sim.add.f64"
    for view in (lambda: x[1:], lambda: a.T, lambda: x[1], lambda: m.T, lambda: x.reshape(3, 1)):
        assert tag_of(view) == ""


def test_looking_at_elements_leaves_the_tag_of_what_was_computed():
    def look(r):
        return repr(r), r.numpy(), np.asarray(r), r[0, 1]

    for result in (lambda: a @ a, lambda: d @ m, lambda: M.Triangular(a, check=False) @ M.Triangular(a, check=False)):
        tag = tag_of(result)
        assert tag.startswith("cpu.matmul.")
        assert tag_of(lambda result=result: look(result())) == tag
    assert tag_of(lambda: (a @ a).tolist()) == "cpu.matmul.f64"


def test_threads_have_tags_of_their_own():
    seen = []
    assert tag_of(lambda: x - x) == "cpu.subtract.f64"
    other = threading.Thread(target=lambda: seen.append((ts.debug.last_kernel_trace(), tag_of(lambda: x * x))))
    other.start()
    other.join()
    assert seen == [("", "cpu.multiply.f64")]
    assert ts.debug.last_kernel_trace() == "cpu.subtract.f64"


def test_a_failed_operation_does_not_silence_later_ones():
    with pytest.raises(ts.LinAlgError):
        ts.linalg.inverse(ts.zeros((50, 50)))
    with pytest.raises(ts.LinAlgError):
        ts.linalg.inverse(M.Dense(50))
    with pytest.raises(ValueError):
        m @ ts.ones(3)
    assert tag_of(lambda: x + x) == "cpu.add.f64"
