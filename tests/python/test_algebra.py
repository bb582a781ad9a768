# SPDX-License-Identifier: Apache-2.0
"""The algebra of operators, case by case: adjoints and normals, sums and scalars, names of composed operators."""

import copy

import numpy as np
import pytest
from support import check, on

import tessera as ts
from tessera import Dim

TOL = 1e-12


def draw(shape, seed=0, dtype="complex128"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def matrix(rows, columns, m, n, seed=0, dtype="complex128"):
    """A Dense from n to m (one name each) and its matrix."""
    W = draw((m, n), seed, dtype)
    return ts.Dense(W, (rows, columns), (columns,), (rows,)), W


@pytest.fixture
def A():
    return matrix("M", "N", 4, 3)[0]


@pytest.fixture
def W():
    return matrix("M", "N", 4, 3)[1]


@pytest.fixture
def x():
    return draw(3, 9)


# --- adjoint and normal ------------------------------------------------------------------------------------------------


def containers(A, B):
    S = {"idim_and_idx": ("S", 0)}, {"odim_and_idx": ("S", 0)}, {"idim_and_idx": ("S", 0), "odim_and_idx": ("T", 0)}
    C = {"idim": "N"}, {"odim": "M"}, {"idim": "N", "odim": "M"}
    return [
        ts.Add(A, B),
        ts.Chain(A, B.H.rename({"N": "P"})),
        *(ts.Concat(A, B, **k) for k in C),
        *(ts.Stack(A, B, **k) for k in S),
    ]


def test_adjoints_and_normals_are_made_once(A):
    for op in [A, *containers(A, matrix("M", "N", 4, 3, 1)[0]), ts.FFT(1), ts.Identity(), ts.Scalar(2j)]:
        assert op.H is op.H and op.N is op.N and op.H.H is op, op
    with ts.config.using(cache_adjoint_normal=False):
        B = copy.copy(A)
        assert B.H is not B.H and B.N is not B.N and B.H.H is not B


def test_normals_of_containers_leave_the_parts_alone(A):
    B = matrix("M", "N", 4, 3, 1)[0]
    before = [(op.H, op.N) for op in (A, B)]
    for op in containers(A, B):
        op.N, op.H, op.H.N  # noqa: B018
    for op, (h, n) in zip((A, B), before, strict=True):
        assert op.H is h and op.N is n


def test_copies_share_arrays_and_nothing_else(A, W, x):
    A.H, A.N  # noqa: B018
    B = copy.copy(A)
    assert B is not A and B.shape == A.shape and B.shape is not A.shape and B.H is not A.H and B.N is not A.N
    assert ts.Add(A, B).nbytes == A.nbytes
    check(B(x), W @ x, tol=TOL)


def test_names_of_normals():
    A = ts.Dense(draw((2, 3, 4)), Dim("CAB"), Dim("AB"), Dim("C"))
    assert (A.N.ishape, A.N.oshape) == (Dim("AB"), Dim("A1B1"))
    assert (A.N.H.ishape, A.N.H.oshape) == (Dim("A1B1"), Dim("AB"))
    assert (A.H.N.ishape, A.H.N.oshape) == (Dim("C"), Dim("C1"))


def test_the_normal_of_a_normal(A, W, x):
    G = W.conj().T @ W
    check(A.N(x), G @ x, tol=TOL)
    check(A.N.N(x), G @ (G @ x), tol=TOL)
    check(A.H.N(draw(4)), W @ (W.conj().T @ draw(4)), tol=TOL)


def test_inputs_stay_as_they_are(A, device):
    F = ts.FFT(1, (), (("N",), ("K",)))
    D = ts.Diagonal(on(device, draw(3, 1)), ("N",))
    for op in (A.to(device), F, D, F @ D, A.to(device) @ D, D + 2 * D, D.N):
        z = draw(3, 5)
        given = on(device, z)
        op(given), op.N(given)
        check(given, z)


def test_gradient_of_the_sum_is_the_adjoint_of_ones(A):
    torch = pytest.importorskip("torch")
    x = torch.tensor(draw(3), requires_grad=True)
    ts.torch.wrap(A)(x).real.sum().backward()
    check(A.H(np.ones(4, "complex128")), x.grad.numpy(), tol=TOL)


# --- sums and scalars --------------------------------------------------------------------------------------------------


def test_scalars(A, W, x):
    left, right = 2 * A, A * 2
    assert isinstance(left, ts.Chain) and isinstance(right, ts.Chain)
    assert [op.kind for op in left.linops] == ["Dense", "Scalar"] and left.linops[1].ishape == ("M",)
    assert [op.kind for op in right.linops] == ["Scalar", "Dense"] and right.linops[0].ishape == ("N",)
    for two in (2, 2.0, np.float64(2), np.array(2.0), ts.array(2.0)):
        check((two * A)(x), 2 * W @ x, tol=TOL)
        check((A * two)(x), 2 * W @ x, tol=TOL)


@pytest.mark.parametrize("c", [1j, 2 - 3j, np.complex64(1j)])
def test_complex_scalars(A, W, x, c):
    check((c * A)(x), c * (W @ x), tol=TOL)
    check((c * A).H(draw(4)), np.conj(c) * (W.conj().T @ draw(4)), tol=TOL)
    check((A * c).H(draw(4)), np.conj(c) * (W.conj().T @ draw(4)), tol=TOL)
    check((c * A).N(x), abs(c) ** 2 * (W.conj().T @ (W @ x)), tol=TOL)


def test_what_is_no_operator(A):
    for bad in (lambda: A * "x", lambda: A @ 42, lambda: 5 - A, lambda: A + 1, lambda: A - 1, lambda: "x" @ A):
        with pytest.raises(TypeError):
            bad()
    with pytest.raises(ValueError, match="42.0"):
        42.0 @ A


def test_negation_and_difference(A, W, x):
    B, V = matrix("M", "N", 4, 3, 1)
    C, U = matrix("M", "N", 4, 3, 2)
    check((-A)(x), -(W @ x), tol=TOL)
    check((-A).H(draw(4)), -(W.conj().T @ draw(4)), tol=TOL)
    check((A - B)(x), (W - V) @ x, tol=TOL)
    check(((A - B) - C)(x), (W - V - U) @ x, tol=TOL)
    check((A - (B - C))(x), (W - V + U) @ x, tol=TOL)
    with pytest.raises(ts.DimError, match="Add"):
        A - A.rename({"N": "Q"})


def test_names_of_operators(A):
    L = A.named("L")
    assert repr(L).startswith("L: Dense") and L.name == "L" and A.name == "Dense" and L.kind == "Dense"
    assert L.H.name == "L.H" and "L.H" in repr(L.H) and L.H.H.name == "L" and L.H.H is L
    assert L.N.name == "L.N" and L.N.H.name == "L.N"
    named = ts.Dense(draw((2, 2)), Dim("MN"), Dim("N"), Dim("M"), name="W")
    assert named.name == "W" and ts.Chain(named, ts.Scalar(2), name="C").name == "C"
    assert L.rename({"N": "Q"}).name == "L" and L.split({"M": slice(0, 2)}).name == "L"


def test_cards(A):
    F = ts.FFT(1, (), (("M",), ("K",)), norm="ortho")
    html = ((F @ A).named("<E>"))._repr_html_()
    for part in ("&lt;E&gt;", "Dense", "FFT", "<td", "on cpu", f"{A.nbytes} B", "inside"):
        assert part in html, part
    assert html.count("<li>") == html.count("</li>") == 3 and "<E>" not in html
    assert A.nbytes == 4 * 3 * 16


# --- chains ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def chain():
    """M4xK3 after K3xN2."""
    (A, _), (B, _) = matrix("M", "K", 4, 3), matrix("K", "N", 3, 2, 1)
    return ts.Chain(B, A)


def dense(op):
    return op.to_dense(dtype="complex128").numpy()


def test_chains_apply_the_first_first(chain):
    (_, W), (_, V) = matrix("M", "K", 4, 3), matrix("K", "N", 3, 2, 1)
    check(chain(draw(2)), W @ (V @ draw(2)), tol=TOL)
    assert chain.dims == {"M", "K", "N"} and len(chain) == 2
    part = chain[0:1]
    assert isinstance(part, ts.Chain) and len(part) == 1 and part.oshape == ("K",)
    check(part(draw(2)), V @ draw(2), tol=TOL)
    assert chain[0] is chain.linops[0] and chain[-1] is chain[1] and len(chain[:]) == 2
    for bad in (lambda: chain[2], lambda: chain[-3], lambda: chain[1:1], lambda: chain[::2]):
        with pytest.raises(IndexError):
            bad()


def test_shared_parts_stay_the_same_object(A):
    D = ts.Dense(draw((3, 3)), Dim("NN1"), Dim("N1"), Dim("N"))
    first, second = A @ D, 2 * A
    assert first.linops[1] is A and second.linops[0] is A
    assert ts.Add(A, A).linops[0] is ts.Add(A, A).linops[1] is A


def test_mismatched_names(A):
    with pytest.raises(ValueError, match="Mismatched shape"):
        ts.Chain(A, matrix("Q", "P", 2, 4)[0])


def test_products_flatten():
    (Z, z), (M, m), (K, k) = matrix("Z", "M", 5, 4), matrix("M", "K", 4, 3, 1), matrix("K", "N", 3, 2, 2)
    for op in (Z @ (M @ K), (Z @ M) @ K):
        assert [(p.ishape, p.oshape) for p in op.linops] == [(("N",), ("K",)), (("K",), ("M",)), (("M",), ("Z",))]
        check(op(draw(2)), z @ m @ k @ draw(2), tol=1e-11)


def test_sizes(chain):
    assert chain.size("K") == 3 and chain.size("N") == 2 and chain.size("M") == 4 and chain.size("Q") is None
    with pytest.raises(ValueError, match="K"):
        ts.Chain(matrix("K", "N", 3, 2)[0], matrix("M", "K", 4, 5)[0])
    with pytest.raises(ValueError):
        ts.Chain()


def test_splitting_a_chain(chain):
    B, A = (dense(op) for op in chain.linops)
    inner = chain.split({"K": slice(0, 1)})
    check(inner[0].to_dense(dtype="complex128"), B[:1])
    check(inner[1].to_dense(dtype="complex128"), A[:, :1])
    outer = chain.split({"M": slice(0, 2), "N": slice(1, 2)})
    check(outer[0].to_dense(dtype="complex128"), B[:, 1:])
    check(outer[1].to_dense(dtype="complex128"), A[:2])
    whole = sum(dense(chain.split({"K": slice(k, k + 1)})) for k in range(3))
    check(chain.to_dense(dtype="complex128"), whole, tol=TOL)


def names(op):
    return [(p.ishape, p.oshape) for p in (op.linops or [op])]


def test_adjoint_and_normal_of_a_chain(chain):
    assert names(chain.H) == [(("M",), ("K",)), (("K",), ("N",))]
    assert (chain.N.ishape, chain.N.oshape) == (("N",), ("N1",))
    # Tall enough that the Gram matrix in the middle is less work than two products.
    tall = matrix("M", "K", 40, 3)[0] @ matrix("K", "N", 3, 2, 1)[0]
    assert names(tall.N)[0][0] == ("N",) and names(tall.N)[-1][1] == ("N1",) and len(names(tall.N)) <= 3
    assert not any("M" in p.dims for p in tall.N.linops)
    check(tall.N(draw(2)), dense(tall).conj().T @ (dense(tall) @ draw(2)), tol=1e-11)


def test_wildcards_inside_a_chain():
    B, C, D = matrix("P", "M", 5, 4)[0], ts.Diagonal(draw(4, 1), ("...",)), matrix("M", "N", 4, 3, 2)[0]
    A = B @ C @ D
    assert A.ishape == ("N",) and A.oshape == ("P",)
    assert A.N.ishape == ("N",) and A.N.oshape == ("N1",) and A.N.linops[-1].oshape == ("N1",)
    M = dense(A)
    check(A.N(draw(3)), M.conj().T @ (M @ draw(3)), tol=1e-10)


def test_transforms_vanish_from_normals():
    F = ts.FFT(1, (), (("M",), ("K",)))
    W = matrix("M", "N", 40, 3)[0]
    A = F @ W
    assert isinstance(A.N, ts.Dense) and (A.N.ishape, A.N.oshape) == (("N",), ("N1",))
    check(A.N(draw(3)), dense(W).conj().T @ (dense(W) @ draw(3)), tol=1e-10)
    assert not any(p.kind == "FFT" for p in A.N.linops)
    with ts.config.using(rewrite=False, cache_adjoint_normal=False):
        plain = A.N
        assert sum(p.kind == "FFT" for p in plain.linops) == 2
        check(plain(draw(3)), A.N(draw(3)), tol=1e-10)


def test_reducing_identities_can_be_switched_off():
    W = matrix("M", "N", 40, 3)[0]
    assert W.normal(ts.Identity(("M",))) is W.N
    with ts.config.using(reduce_identity_in_normal=False, rewrite=False):
        sandwich = W.normal(ts.Identity(("M",)))
    assert [p.kind for p in sandwich.linops] == ["Dense", "Identity", "Dense"]
    check(sandwich(draw(3)), W.N(draw(3)), tol=1e-10)


def test_a_normal_keeps_the_names_of_its_input():
    A = ts.FFT(1, (), (("X",), ("K",))) @ ts.Diagonal(draw(5), ("X",))
    assert (A.N.ishape, A.N.oshape) == (("X",), ("X",))
    regularised = A.N + 0.1 * ts.Identity(("X",))
    check(regularised(draw(5, 1)), (abs(draw(5)) ** 2 + 0.1) * draw(5, 1), tol=TOL)


def sense(dims="CXY"):
    return ts.Dense(draw((2, 6, 5), 7), Dim(dims), Dim(dims[1:]), Dim(dims))


def behind_coils():
    """Operators with a named batch dim C over a grid X, Y of 6 by 5."""
    grids = ts.FFT(2, ("C",), (("X", "Y"), ("Kx", "Ky")))
    ops = {
        "identity of a transform": ts.Identity(("C", "Kx", "Ky")) @ grids,
        "transform": grids,
        "diagonal": ts.Diagonal(draw((6, 5), 3), ("C", "X", "Y"), ("C",)),
    }
    if hasattr(ts, "Pad"):
        pad = ts.Pad((8, 6), (6, 5), ("X", "Y"), ("X1", "Y1"), ("C",))
        ops["pad"] = pad
        ops["transform of padded"] = ts.FFT(2, ("C",), (("X1", "Y1"), ("Kx", "Ky"))) @ pad
    if hasattr(ts, "Interpolate"):
        locs = np.random.default_rng(0).uniform(0, 4, (7, 2))
        ops["interpolate"] = ts.Interpolate(locs, (6, 5), ("C",), ("K",), ("X", "Y"))
    if hasattr(ts, "ArrayToBlocks"):
        ops["blocks"] = ts.ArrayToBlocks((6, 5), (2, 3), (1, 1), None, ("C",), ("X", "Y"), ("Bx", "By", "Px", "Py"))
    return ops


@pytest.mark.parametrize("kind", behind_coils())
def test_normals_behind_coils(kind):
    A, S = behind_coils()[kind], sense()
    inner = ts.Diagonal(draw(np.asarray(A(draw((2, 6, 5)))).shape, 5), A.oshape)
    assert A.N.ishape == A.ishape == A.normal(inner).ishape
    # However it is reached, and whether or not something is inside.
    for same in (A.normal(), A.normal(ts.Identity(A.oshape)), A.normal(ts.Identity()), A.H @ A, A.normal(inner)):
        assert same.oshape == A.N.oshape
    E = A @ S
    assert E.N.ishape == ("X", "Y")
    z = draw((6, 5), 11)
    check(E.N(z), np.asarray(E.H(E(z))), tol=1e-10)


def small_normals():
    """Operators whose normal is less than they are: a weight or nothing."""
    grid, F = ("X",), ts.FFT(1, ("C",), (("X",), ("K",)))
    return {
        "transform": F,
        "open transform": ts.FFT(1, ("...",), (("X",), ("K",))),
        "other norm": ts.FFT(1, ("C",), (("X",), ("K",)), norm="backward"),
        "transform of a weight": F @ ts.Diagonal(draw(6, 1), ("C", "X"), ("C",)),
        "weight of a transform": ts.Diagonal(draw(6, 1), ("C", "K"), ("C",)) @ F,
        "crop": ts.Crop((4,), (6,), grid, ("Y",), ("C",)),
        "pad": ts.Pad((9,), (6,), grid, ("Y",), ("C",)),
        "truncate": ts.Truncate(1, 6, 4, ("C", "X")),
        "pad at the end": ts.PadDim(1, 6, 8, ("C", "X")),
        "sampling": ts.Sampling((np.array([0, 3, 3]),), (6,), ("Y",), grid, ("C",)),
        "sampling of a transform": ts.Sampling((np.array([0, 3]),), (6,), ("Y",), ("K",), ("C",)) @ F,
        "blocks": ts.ArrayToBlocks((6,), (3,), (2,), None, ("C",), grid, ("B", "P")),
        "matrix": ts.Dense(draw((5, 6), 2), ("Y", "X"), ("C", "X"), ("C", "Y")),
        "convolution": ts.Convolution(draw(3, 3), ("C",), grid, None, "circular", "conv"),
        "convolution by transforms": ts.FFTConvolution(draw(3, 3), ("C",), grid),
    }


@pytest.mark.parametrize("kind", small_normals())
def test_normals_with_something_inside_have_the_same_names(kind):
    A, x = small_normals()[kind], draw((2, 6), 3)
    y = np.asarray(A(x))
    inner = ts.Diagonal(draw(y.shape, 4), A.oshape if "..." not in A.oshape else ("C", "K"))
    B = A.normal(inner)
    assert B.ishape[-1] == A.N.ishape[-1] and B.oshape[-1] == A.N.oshape[-1]
    check(B(x), np.asarray(A.H(draw(y.shape, 4) * y)), tol=1e-10)
    check(B.H(x), np.asarray(A.H(draw(y.shape, 4).conj() * y)), tol=1e-10)
    total = B + A.N if "..." not in A.oshape else B + 0.5 * ts.Identity()
    assert total(x).shape == x.shape
    # It mixes along the dim all the same, or is a weight.
    try:
        parts = [B.split({"X": slice(i, i + 3)}) for i in (0, 3)]
    except ts.SplitError:
        return
    if B.oshape[-1] == "X":
        whole = np.concatenate([np.asarray(p(x[:, i : i + 3])) for p, i in zip(parts, (0, 3), strict=True)], 1)
        check(B(x), whole, tol=1e-10)


RULES = ["reduce_identity_in_normal", *(k for k in dir(ts.config) if k.startswith("rewrite"))]


@pytest.mark.parametrize("kind", small_normals())
def test_names_of_normals_do_not_depend_on_settings(kind):
    A, x = small_normals()[kind], draw((2, 6), 3)
    expected = (A.N.ishape, A.N.oshape)
    assert expected[0] == A.ishape
    for rule in RULES:
        with ts.config.using(cache_adjoint_normal=False, **{rule: False}):
            for N in (A.N, A.normal(), A.normal(ts.Identity()), A.normal(ts.Scalar(1.0))):
                assert (N.ishape, N.oshape) == expected, rule
                check(N(x), np.asarray(A.H(A(x))), tol=1e-10)


def test_the_identity_is_its_own_adjoint_and_normal():
    for A in (ts.Identity(), ts.Identity(("X",)), ts.Identity(("X",), name="L")):
        assert A.H is A and A.N is A
    A = ts.Identity(("X",), ("Y",))
    assert A.H.oshape == ("X",) and A.H.H is A and A.N.oshape == ("X",)


def test_matrices_without_names():  # case 56
    A, B = ts.Dense(draw((5, 3))), ts.Dense(draw((3, 500)))
    assert (A.ishape, A.oshape) == (("(1)",), ("()",)) and (A.N.ishape, A.N.oshape) == (("(1)",), ("(2)",))
    for N in (B.N, B.normal(ts.Scalar(1.0)), A.normal(ts.Scalar(1.0))):
        assert (N.ishape, N.oshape) == (("(1)",), ("(2)",))
    batched = ts.Dense(draw((2, 5, 3)))
    assert (batched.ishape, batched.oshape) == (("(2)", "(1)"), ("(2)", "()"))
    assert batched.N.oshape == ("(2)", "(3)")
    W, V, x = draw((5, 3)), draw((4, 5), 1), draw(3, 2)
    check((ts.Dense(V) @ A)(x), V @ (W @ x), tol=1e-12)
    check((ts.Dense(V) @ A).N(x), (V @ W).conj().T @ (V @ W @ x), tol=1e-12)


def test_a_weighted_normal_is_an_operator_like_others():
    F = ts.FFT(1, ("C",), (("X",), ("K",)))
    S = ts.Dense(draw((2, 6), 7), ("C", "X"), ("X",), ("C", "X"))
    W = ts.Diagonal(abs(draw(6, 8)), ("C", "K"), ("C",))
    B = F.normal(W)
    x = draw(6, 9)
    E = S.normal(B) + 0.1 * ts.Identity(("X",))
    expected = np.asarray((F @ S).H(abs(draw(6, 8)) * np.asarray((F @ S)(x)))) + 0.1 * x
    assert E.ishape == E.oshape == ("X",)
    check(E(x), expected, tol=1e-10)
    with pytest.raises(ts.SplitError, match="'X'"):
        B.split({"X": slice(0, 3)})
    check(B.split({"C": slice(1, 2)})(draw((1, 6))), np.asarray(B(np.repeat(draw((1, 6)), 2, 0)))[1:], tol=1e-10)
    assert B.rename({"X": "Q"}).oshape == ("C", "Q") and B.H.H is B


def test_neighbouring_diagonals_merge():
    d1, d2 = draw(5, 1), draw(5, 2)
    A = ts.Diagonal(d1, ("X",)) @ ts.Diagonal(d2, ("X",))
    assert isinstance(A.N, ts.Diagonal) and isinstance(A, ts.Diagonal)
    check(A.N(draw(5)), abs(d1 * d2) ** 2 * draw(5), tol=TOL)


def test_sums_with_the_identity(A, W, x):
    check((A.N + 0.1 * ts.Identity())(x), W.conj().T @ (W @ x) + 0.1 * x, tol=TOL)
    with pytest.raises(ValueError, match="Add"):
        A.N + 0.1 * ts.Identity(("N",))
    check((A.N + 0.1 * ts.Identity(("N",), ("N1",)))(x), W.conj().T @ (W @ x) + 0.1 * x, tol=TOL)


def test_shape_inference():
    F = ts.FFT(2, ("C",), (("Nx", "Ny"), ("Kx", "Ky")))
    S = ts.Dense(draw((7, 6, 5), 1), Dim("KKxKy"), Dim("CKxKy"), Dim("CK"))
    D = ts.Diagonal(draw(7, 2), ("...",))
    open_identity = ts.Scalar(2j)
    assert not ts.config.shape_inference
    with ts.config.using(shape_inference=True):
        model = ts.Chain(F, open_identity, S, D)
        total = model.N + 0.01 * ts.Identity()
    expected = [Dim("CNxNy"), Dim("CKxKy"), Dim("CKxKy"), Dim("CK"), Dim("CK")]
    assert [p.ishape for p in model.linops] == expected[:-1] and [p.oshape for p in model.linops] == expected[1:]
    assert {p.ishape for p in total.linops} == {Dim("CNxNy")} and len({p.oshape for p in total.linops}) == 1
    plain = ts.Chain(F, open_identity, S, D)
    z = draw((3, 6, 5), 3)
    check(model(z), plain(z), tol=TOL)
    check(total(z), np.asarray(plain.N(z)) + 0.01 * z, tol=1e-10)
    assert model.size("K") == 7 and model.split({"C": slice(0, 1)})(z[:1]).shape == (1, 7)
    opened = ts.FFT(2)
    with ts.config.using(shape_inference=True):
        both = ts.Chain(ts.Diagonal(draw((3, 6, 5), 4), Dim("CNxNy")), opened)
    assert both.linops[1].ishape == Dim("CNxNy") and both.linops[1].oshape == Dim("CKxKy")
    check(both(z), np.fft.fft2(draw((3, 6, 5), 4) * z, norm="ortho"), tol=1e-10)
    check(both.H(both(z)), abs(draw((3, 6, 5), 4)) ** 2 * z, tol=1e-10)
    check(both.split({"C": slice(1, 2)})(z[1:2]), np.asarray(both(z))[1:2], tol=1e-10)
