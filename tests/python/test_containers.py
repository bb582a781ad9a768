# SPDX-License-Identifier: Apache-2.0
"""Operators made of operators: sums, Concat, Stack, their adjoints, normals and parts."""

import itertools

import numpy as np
import pytest
from support import optional

import tessera as ts

torch = optional("torch")


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


# --- what operators say of arithmetic that people try first


def test_arithmetic_that_works():
    A, B = ts.Diagonal([1.0, 2.0], ("X",)), ts.Scalar(3.0, ("X",))
    x = np.array([1.0, 1.0])
    assert sum([A, B])(x).tolist() == (A + B)(x).tolist() == [4, 5]
    assert sum([A]) is A and (A + 0) is A and (0 + A) is A
    assert (A / 2)(x).tolist() == [0.5, 1] and (A / 2j)(x).tolist() == [-0.5j, -1j]
    assert (A / np.float64(4))(x).tolist() == [0.25, 0.5] and (A / ts.asarray(2.0))(x).tolist() == [0.5, 1]


@pytest.mark.parametrize(
    "wrong, error, text",
    [
        (lambda A, x: x @ A, TypeError, "stands on the left"),
        (lambda A, x: ts.asarray(x) @ A, TypeError, "stands on the left"),
        (lambda A, x: torch.tensor(x) @ A, TypeError, "Diagonal"),
        (lambda A, x: ts.dist.array(x) @ A, TypeError, "stands on the left"),
        (lambda A, x: 2 @ A, ValueError, "a number does not compose"),
        (lambda A, x: A / 0, ZeroDivisionError, "/ 0"),
        (lambda A, x: A / A, TypeError, "divided by a number"),
        (lambda A, x: A / x, TypeError, "divided by a number"),
        (lambda A, x: 2 / A, TypeError, "ts.solve"),
        (lambda A, x: A + 3, TypeError, "Identity"),
        (lambda A, x: 3 + A, TypeError, "Identity"),
        (lambda A, x: A.T, AttributeError, "H is the adjoint"),
        (lambda A, x: A.rename({"Q": "Z"}), ValueError, "no dim 'Q'.*X"),
        (lambda A, x: A.rename({"X": "Z", "Q": "W"}), ValueError, "no dim 'Q'"),
    ],
)
def test_arithmetic_that_is_refused_says_what_was_meant(wrong, error, text):
    A = ts.Diagonal([1.0, 2.0], ("X",))
    with pytest.raises(error, match=text):
        wrong(A, np.array([1.0, 1.0]))
    assert not hasattr(A, "T")


@pytest.mark.parametrize("names", [("A", "...", "B"), ("A", "..."), ("A", "...", "B", "C")])
def test_a_weight_means_the_same_axis_for_every_rank(names):
    rng = np.random.default_rng(0)
    right = len(names) - 1 - names.index("...")
    for shape in [(3,), (2, 3), (3, 2, 3), (1, 3), (1, 1, 3), (1,), ()]:
        axes = len(np.trim_zeros(np.array([n - 1 for n in shape]), "f"))
        w = rng.standard_normal(shape)
        if axes > right:
            with pytest.raises(ts.DimError, match="another axis for each rank"):
                ts.Diagonal(w, names)
            continue
        D = ts.Diagonal(w, names)
        for extra in range(3):
            x = rng.standard_normal((3,) * extra + (2, 3, 2, 3)[-max(right + 1, len(shape)) :])
            assert np.allclose(D(x).numpy(), w * x)


# --- long chains: work grows as their length does


F = ts.FFT(1)
LONG = {
    "weights and factors": lambda i: ts.Scalar(1j, ("X",)) if i % 2 else ts.Diagonal(np.full(3, -1j), ("X",)),
    "new names": lambda i: ts.Roll({"X": 1}, ("X",), ("Y",)) if i % 2 == 0 else ts.Roll({"Y": 1}, ("Y",), ("X",)),
    "factors far from weights": lambda i: (
        ts.Diagonal([1.0, 2.0, 4.0], ("X",)),
        ts.Flip("X", ("X",), ("Y",)),
        ts.Scalar(-1.0, ("Y",)),
        ts.Flip("Y", ("Y",), ("X",)),
    )[0 if i == 0 else 1 + (i - 1) % 3],
    "pairs that cancel": lambda i: F if i % 2 == 0 else F.H,
    "a name for each": lambda i: ts.Dense(np.eye(3)[[1, 2, 0]], (f"N{i + 1}", f"N{i}"), (f"N{i}",), (f"N{i + 1}",)),
    "functions": lambda i: ts.SimpleLinop(lambda x: -x, lambda y: -y, ishape=("X",)),
    "sums": lambda i: ts.Scalar(0.5, ("X",)) + ts.Diagonal([0.5, 0.25, -0.5], ("X",)),
}


@pytest.mark.parametrize("kind", LONG)
def test_chains_of_thousands(kind):
    parts = [LONG[kind](i) for i in range(3001 if kind.startswith("factors") else 3000)]
    C = ts.Chain(*parts)
    x = np.array([1.0, 2.0, -3.0])
    got = C(x).numpy()
    expected = ts.asarray(x)
    for part in parts:
        expected = part(expected)
    assert np.allclose(got, expected.numpy(), atol=1e-9)
    y = np.array([0.5, -1.0, 2.0])
    assert np.isclose(np.vdot(y, got), np.vdot(C.H(y).numpy(), x))


def test_normals_of_long_chains_fold_from_the_inside():
    """Each layer of A.H A is seen only when the one inside it has gone."""
    names = [f"N{i}" for i in range(301)]
    layers = [
        ts.Identity((a,), (b,)) if i % 2 else ts.FFT(1, (), ((a,), (b,)))
        for i, (a, b) in enumerate(itertools.pairwise(names))
    ]
    A = ts.Chain(*layers)
    N = A.N
    assert "FFT" not in repr(N) and len(N) <= 1
    assert np.allclose(N(np.arange(5.0)).numpy(), np.arange(5.0))


def test_normals_of_parts_with_and_without_names_take_the_names():
    """Whichever part comes first: one that takes any dims has no say in their names."""
    parts = ts.Scalar(2.0), ts.Diagonal(np.arange(1.0, 4.0), ("X",))
    for A in (ts.Stack(*parts, odim_and_idx=("O", 0)), ts.Stack(*parts[::-1], odim_and_idx=("O", 0))):
        assert (A.N.ishape, A.N.oshape) == (("X",), ("X",))
        assert A.N(np.ones(3)).tolist() == [5.0, 8.0, 13.0]
        tiles = ts.create_batched_linop(A.N, ts.BatchSpec({"X": 1}, ["sim:0"]), shape=(3,))
        assert tiles(np.ones(3)).tolist() == [5.0, 8.0, 13.0]
