# SPDX-License-Identifier: Apache-2.0
"""Operators made of operators: sums, Concat, Stack, their adjoints, normals and parts."""

import numpy as np
import pytest

import tessera as ts


def matrix(rows, columns, names="PQ", seed=0):
    w = np.random.default_rng(seed).normal(size=(rows, columns))
    return ts.Dense(w, tuple(names), (names[1],), (names[0],)), w


def dense(values, names="PQ"):
    return ts.Dense(np.array(values, float), tuple(names), (names[1],), (names[0],))


def close(a, b):
    np.testing.assert_allclose(np.asarray(a), b, rtol=1e-12, atol=1e-12)


def test_sums_need_equal_names_and_may_hold_an_operator_twice():
    A, w = matrix(3, 4)
    assert ts.Add(A, A).linops[0] is A
    close(ts.Add(A, A)(np.ones(4)), 2 * w @ np.ones(4))
    assert ts.Add(A, A).size("Q") == 4
    with pytest.raises(ts.DimError, match="does not fit"):
        ts.Add(A, dense([[1.0]], "RS"))


def test_concat_along_the_input():
    C = ts.Concat(dense([[1, 2]]), dense([[3]]), idim="Q")
    close(C([1.0, 1, 1]), [6])
    close(C.H([2.0]), [2, 4, 6])
    assert C.size("Q") == 3 and C.H.H is C


def test_concat_along_the_output():
    C = ts.Concat(dense([[1, 2]]), dense([[3, 4]]), odim="P")
    close(C([1.0, 1]), [3, 7])
    close(C.H([1.0, 1]), [4, 6])


def test_concat_along_both_is_block_diagonal():
    C = ts.Concat(dense([[1, 2]]), dense([[3]]), idim="Q", odim="P")
    close(C([1.0, 1, 1]), [3, 3])
    close(ts.BlockDiag(dense([[1, 2]]), dense([[3]]))([1.0, 1, 1]), [3, 3])


def test_concat_sizes():
    C = ts.Concat(matrix(2, 3)[0], matrix(5, 3)[0], odim="P")
    assert C.size("P") == 7 and C.H.size("P") == 7
    assert [str(d) for d in C.H.ishape] == ["P"]


@pytest.mark.parametrize("along", [{"idim": "Q"}, {"odim": "P"}, {"idim": "Q", "odim": "P"}])
def test_concat_normals(along):
    parts = [matrix(3, 4, seed=i)[0] for i in range(3)]
    C = ts.Concat(*parts, **along)
    n = C.size("Q")
    x = np.random.default_rng(9).normal(size=n)
    close(C.N(x), np.asarray(C.H(C(x))))
    assert C.N.ishape == C.ishape
    assert [str(d) for d in C.N.oshape] == ["Q1"]


def test_concat_refuses_what_it_cannot_join():
    A = matrix(3, 4)[0]
    with pytest.raises(ValueError, match="At least one"):
        ts.Concat(A, A)
    with pytest.raises(ValueError, match="undefined size"):
        ts.Concat(ts.FFT(1), ts.FFT(1), odim="Kx")
    with pytest.raises(ValueError, match="not one of"):
        ts.Concat(A, A, odim="Z")
    with pytest.raises(ValueError, match="does not fit"):
        ts.Concat(A, dense([[1.0]], "RS"), odim="P")
    with pytest.raises(ValueError, match="Q"):
        ts.Concat(A, A, idim="Q")(np.ones(7))


def test_concat_finds_the_dim_beside_an_ellipsis():
    W = ts.Dense(np.ones((2, 3)), ("P", "Q"), ("...", "Q"), ("...", "P"))
    C = ts.Concat(W, W, odim="P")
    assert C(np.ones((5, 3))).shape == (5, 4)
    with pytest.raises(ValueError):
        ts.Concat(
            ts.Dense(np.ones((2, 3)), ("P", "Q"), ("...", "Q", "..."), ("...", "P", "...")),
            ts.Dense(np.ones((2, 3)), ("P", "Q"), ("...", "Q", "..."), ("...", "P", "...")),
            odim="P",
        )


def test_parts_of_a_concat():
    (A, a), (B, b) = matrix(3, 4, seed=1), matrix(3, 4, seed=2)
    C = ts.Concat(A, B, odim="P")
    x = np.random.default_rng(3).normal(size=4)
    part = C.split({"P": slice(2, 6)})
    assert part.size("P") == 4
    close(part(x), np.concatenate([a, b])[2:6] @ x)
    close(C.split({"P": slice(3, 6)})(x), b @ x)
    assert C.split({"P": slice(0, 3)}) is A
    close(C.split({"P": slice(-2, None)})(x), b[1:] @ x)


def test_parts_beside_the_diagonal_are_zero():
    C = ts.Concat(matrix(3, 4, seed=1)[0], matrix(3, 4, seed=2)[0], idim="Q", odim="P")
    off = C.split({"P": slice(0, 3), "Q": slice(4, 8)})
    assert off.name == "Zero"
    close(off(np.ones(4)), np.zeros(3))


@pytest.mark.parametrize("bad", [slice(0, 6, 2), slice(0, 7), slice(4, 4)])
def test_slices_that_are_no_parts(bad):
    C = ts.Concat(matrix(3, 4)[0], matrix(3, 4)[0], odim="P")
    with pytest.raises(ts.SplitError):
        C.split({"P": bad})


def test_stack_along_the_output():
    (A, a), (B, b) = matrix(3, 4, seed=1), matrix(3, 4, seed=2)
    S = ts.Stack(A, B, odim_and_idx=("M", 1))
    x = np.random.default_rng(3).normal(size=4)
    assert [str(d) for d in S.oshape] == ["P", "M"] and S.size("M") == 2
    close(S(x), np.stack([a @ x, b @ x], axis=1))
    assert [str(d) for d in S.H.ishape] == ["P", "M"]
    close(S.N(x), a.T @ a @ x + b.T @ b @ x)


def test_stack_along_the_input():
    (A, a), (B, b) = matrix(3, 4, seed=1), matrix(3, 4, seed=2)
    S = ts.Stack(A, B, idim_and_idx=("N", 0))
    x = np.random.default_rng(3).normal(size=(2, 4))
    close(S(x), a @ x[0] + b @ x[1])
    assert [str(d) for d in S.N.ishape] == ["N", "Q"]
    assert [str(d) for d in S.N.oshape] == ["N1", "Q1"]
    close(S.N(x), np.asarray(S.H(S(x))))


def test_stack_along_both():
    (A, a), (B, b) = matrix(3, 4, seed=1), matrix(3, 4, seed=2)
    S = ts.Stack(A, B, idim_and_idx=("N", 0), odim_and_idx=("M", 1))
    x = np.random.default_rng(3).normal(size=(2, 4))
    close(S(x), np.stack([a @ x[0], b @ x[1]], axis=1))
    assert [str(d) for d in S.N.oshape] == ["N1", "Q1"]
    close(S.N(x), np.stack([a.T @ a @ x[0], b.T @ b @ x[1]]))


def test_stack_refuses():
    A = matrix(3, 4)[0]
    with pytest.raises(ValueError, match="already"):
        ts.Stack(A, A, odim_and_idx=("P", 0))
    with pytest.raises(ValueError, match="dim 'N' is 2"):
        ts.Stack(A, A, idim_and_idx=("N", 0))(np.ones((3, 4)))
    with pytest.raises(ValueError, match="At least one"):
        ts.Stack(A, A)


def test_parts_of_a_stack_keep_the_stack():
    (A, a), (B, b) = matrix(3, 4, seed=1), matrix(3, 4, seed=2)
    S = ts.Stack(A, B, odim_and_idx=("M", 1))
    part = S.split({"P": slice(0, 1)})
    x = np.random.default_rng(3).normal(size=4)
    assert [str(d) for d in part.oshape] == ["P", "M"]
    close(part(x), np.stack([a[:1] @ x, b[:1] @ x], axis=1))
    one = S.split({"M": slice(1, 2)})
    assert one.size("M") == 1 and [str(d) for d in one.oshape] == ["P", "M"]
    close(one(x), (b @ x)[:, None])


@pytest.mark.parametrize("threaded", [True, False])
@pytest.mark.parametrize("workers", [None, 1, 3])
def test_threads_make_no_difference(threaded, workers):
    parts = [matrix(3, 4, seed=i)[0] for i in range(4)]
    x = np.random.default_rng(5).normal(size=4)
    expected = sum(np.asarray(p(x)) for p in parts)
    close(ts.Add(*parts, threaded=threaded, num_workers=workers)(x), expected)


def test_parts_of_a_diagonal():
    D = ts.Diagonal(np.arange(5.0), ("M", "N"), ("M",))
    assert D.size("M") is None and D.size("N") == 5
    close(D.split({"N": slice(0, 3)})(np.ones((2, 3))), [[0, 1, 2]] * 2)
    close(D.split({"M": slice(0, 4)})(np.ones((4, 5))), [np.arange(5.0)] * 4)
    B = ts.Diagonal(np.arange(10.0).reshape(10, 1, 1), ("M", "N", "P"))
    assert B.size("N") is None
    assert B.split({"N": slice(2, 4)})(np.ones((10, 2, 3))).shape == (10, 2, 3)


def test_parts_of_a_chain():
    (B, b), (A, a) = matrix(3, 2, "KN", 1), matrix(4, 3, "MK", 2)
    C = A @ B
    x = np.random.default_rng(3).normal(size=2)
    close(C.split({"K": slice(0, 1)})(x), a[:, :1] @ b[:1] @ x)
    close(C.split({"M": slice(0, 2), "N": slice(1, 2)})(x[1:]), a[:2] @ b[:, 1:] @ x[1:])
    close(ts.NamedLinop.adj_split(C, {"M": slice(0, 2)})(x), a[:2] @ b @ x)


@pytest.mark.parametrize("make", [lambda: ts.FFT(2), lambda: ts.FFT(2).H, lambda: ts.FFT(1, real=8)])
def test_a_transform_is_not_cut_along_its_grid(make):
    for d in make().dims:
        if str(d) != "...":
            with pytest.raises(ts.SplitError, match=str(d)):
                make().split({d: slice(0, 2)})


def test_unknown_dims_are_named():
    with pytest.raises(ts.DimError, match="no dim 'Z'"):
        matrix(3, 4)[0].split({"Z": slice(0, 1)})


def test_real_transforms_have_a_real_adjoint():
    for n in (8, 9):
        F = ts.FFT(2, norm="backward", real=n)
        rng = np.random.default_rng(n)
        x = rng.normal(size=(3, 5, n))
        y = rng.normal(size=(3, 5, n // 2 + 1)) + 1j * rng.normal(size=(3, 5, n // 2 + 1))
        close(F(x), np.fft.rfft2(x))
        assert np.asarray(F.H(y)).dtype == np.float64
        np.testing.assert_allclose(np.vdot(y, F(x)).real, np.vdot(np.asarray(F.H(y)), x), rtol=1e-12)
        with pytest.raises(TypeError, match="real"):
            F(x + 1j)


def test_rewriting_is_told_and_can_be_switched_off():
    F = ts.FFT(1)
    A = F @ ts.Diagonal([1.0, 2.0, 3.0], ("Nx",))
    assert "cancel" in A.N.explain(shape=3, dtype="complex64")
    with ts.config.using(rewrite=False, cache_adjoint_normal=False):
        assert "cancel" not in A.N.explain(shape=3, dtype="complex64")
