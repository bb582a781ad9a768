# SPDX-License-Identifier: Apache-2.0
"""The calculus of names, case by case: dims, matching with wildcards, collections and shapes."""

import copy
import itertools
import pickle

import pytest

import tessera as ts
from tessera import ND, NS, Dim, NamedDimCollection
from tessera.names import AnyDim, get_nd_shape, iscompatible, isequal, max_shape, resolve_wildcards


@pytest.mark.parametrize(
    "text, expected",
    [
        ("ABCD", ("A", "B", "C", "D")),
        ("NxNyNz", ("Nx", "Ny", "Nz")),
        ("A1B2Kx1Ky2", ("A1", "B2", "Kx1", "Ky2")),
        ("", ()),
        (None, ()),
        ("()A()B", ("()", "A", "()", "B")),
        ("(1)A(23)", ("(1)", "A", "(23)")),
        ("(12)(34)", ("(12)", "(34)")),
        ("A(1)B", ("A", "(1)", "B")),
        ("A...", ("A", "...")),
        ("...A", ("...", "A")),
        ("A...B", ("A", "...", "B")),
    ],
)
def test_dim(text, expected):
    assert Dim(text) == expected


@pytest.mark.parametrize(
    "text, name, i",
    [("A1", "A", 1), ("Nx", "Nx", 0), ("Nx1", "Nx", 1), ("N12", "N", 12), ("(1)", "()", 1), ("...", "...", 0)],
)
def test_infer(text, name, i):
    d = ND.infer(text)
    assert (d.name, d.i) == (name, i) and d == text and ND.infer(d) == d


@pytest.mark.parametrize("mark", ";:/|\\&+")
@pytest.mark.parametrize("text", ["Nx{}Ny", "Nx{} Ny", "Nx{}", "{}Nx", "A...{}B"])
def test_other_separators_are_refused(text, mark):
    with pytest.raises(ts.DimError, match="has a '.'; names are separated by commas, spaces or the capital letters"):
        Dim(text.format(mark))


def test_infer_keeps_the_kind_of_sequence():
    assert ND.infer(["A", "B1"]) == ["A", "B1"] and ND.infer(("A",)) == ("A",)
    assert isinstance(ND.infer(["A"]), list) and isinstance(ND.infer(("A",)), tuple)


def test_a_dim_is_its_text():
    assert ND("A") == "A" and {"P": 1}[ND("P")] == 1 and {ND("Q"): 2}["Q"] == 2
    assert repr(ND("B", 1)) == "B1" == str(ND("B", 1)) and ND("A") != "B" and ND("A") != 1
    assert pickle.loads(pickle.dumps(ND("Nx", 3))) == "Nx3"
    for bad in [("",), (3,), (3, 1)]:
        with pytest.raises(ts.DimError):
            ND(*bad)
    for bad in [3, ("Nx", "Ny"), b"Nx"]:
        with pytest.raises(ts.DimError, match="expected a text"):
            Dim(bad)


def test_counting():
    assert (ND("K") + 4).i == 4 and ND("...") + 1 == "..."
    with pytest.raises(TypeError):
        ND("A") + [1, 2]


@pytest.mark.parametrize(
    "name, avoid, expected",
    [
        ("A", ("A", "B"), "A1"),
        ("A", ("A", "A1"), "A2"),
        ("A", None, "A1"),
        ("A", ("B",), "A"),
        ("...", ("...",), "..."),
        ("A3", ("A3",), "A4"),
    ],
)
def test_next_unused(name, avoid, expected):
    assert ND(name).next_unused(avoid) == expected


def test_any_dims():
    assert AnyDim() == "()" and AnyDim(2) == "(2)" and AnyDim() != AnyDim(1)
    assert len({AnyDim(), AnyDim(1), AnyDim(1)}) == 2
    assert isequal(("(1)",), ("A",))[0] and isequal((AnyDim(1),), ("A",))[0] and ND("(1)").is_wildcard


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ("AB", "AB", (True, {0: [0], 1: [1]})),
        ("AC", "A", (False, None)),
        ("AC", "...", (True, {0: [0], 1: [0]})),
        ("ABC", "A...C", (True, {0: [0], 1: [1], 2: [2]})),
        ("AB", "A()", (True, {0: [0], 1: [1]})),
        ("A", "()()", (False, None)),
        ("...AC", "BC", (False, None)),
        ("...K", "BCK", (True, {0: [0, 1], 1: [2]})),
        ("()K", "BCK", (False, None)),
        ("A...", "A", (True, {0: [0], 1: []})),
        ("A...B", "AB", (True, {0: [0], 1: [], 2: [1]})),
        ("...AC", "C", (False, None)),
        ("...A", "", (False, None)),
    ],
)
def test_isequal(a, b, expected):
    assert isequal(Dim(a), Dim(b)) == expected


def instances(pattern, longest):
    """Every list of A and B up to a length that a pattern stands for."""
    if not pattern:
        return {""}
    first, rest = pattern[0], instances(pattern[1:], longest)
    heads = {"A": ["A"], "B": ["B"], "()": ["A", "B"]}.get(first)
    if heads is None:
        heads = ["".join(w) for n in range(longest + 1) for w in itertools.product("AB", repeat=n)]
    return {h + r for h in heads for r in rest if len(h) + len(r) <= longest}


def test_matching_against_brute_force():
    # The C++ tests go to length four; two patterns of length three share an instance of at most four dims.
    patterns = [p for n in range(4) for p in itertools.product(("A", "B", "...", "()"), repeat=n)]
    meaning = {p: instances(p, 4) for p in patterns}
    wrong = [
        (p, q) for p, q in itertools.product(patterns, repeat=2) if isequal(p, q)[0] != bool(meaning[p] & meaning[q])
    ]
    assert len(patterns) ** 2 == 7225 and not wrong


def test_iscompatible():
    assert iscompatible(Dim("AB"), Dim("CD"))[0] and iscompatible(("...",), ())[0]
    assert not iscompatible(Dim("AB"), Dim("C"))[0]
    assert iscompatible(Dim("A..."), Dim("XYZ")) == (True, {0: [0], 1: [1, 2]})


@pytest.mark.parametrize(
    "shape, target, expected",
    [
        ("C...", "CKxKy", ("C", "Kx", "Ky")),
        ("...", "AB", ("A", "B")),
        ("X...", "AB", ("X", "...")),
        ("(1)(2)", "AB", ("A", "B")),
    ],
)
def test_resolve_wildcards(shape, target, expected):
    assert resolve_wildcards(Dim(shape), Dim(target)) == expected


@pytest.mark.parametrize(
    "shapes, expected",
    [
        (("NQ", "NQ1"), ("N", "Q1")),
        (("...", "AB"), ("A", "B")),
        (("A...", "A2..."), ("A2", "...")),
        (("()B", "AB"), ("A", "B")),
        (("Nx1", "Nx"), ("Nx1",)),
    ],
)
def test_max_shape(shapes, expected):
    assert max_shape([Dim(s) for s in shapes]) == expected
    assert max_shape([Dim(s) for s in reversed(shapes)]) == expected


def test_max_shape_refuses():
    for shapes in ([Dim("AB"), Dim("C")], [Dim("AB"), Dim("AC")], []):
        with pytest.raises(ValueError, match="max_shape"):
            max_shape(shapes)


@pytest.fixture
def two():
    return NamedDimCollection(shape1=("A", "B"), shape2=("B", "C"))


def test_a_rename_reaches_every_shape(two):
    two.shape1 = ("D", "E")
    assert two.shape1 == ("D", "E") and two["shape2"] == ("E", "C")


def test_renames_are_simultaneous(two):
    two.shape1 = ("B", "A")
    assert two.shape1 == ("B", "A") and two.shape2 == ("A", "C")
    other = NamedDimCollection(shape1=("A", "B"), shape2=("B", "C"))
    other["shape1"] = ("B", "X")
    assert other.shape1 == ("B", "X") and other.shape2 == ("X", "C")


def test_a_refused_update_changes_nothing():
    c = NamedDimCollection(shape=("C", "C"), other=("C", "D"))
    with pytest.raises(ValueError, match="inconsistent mapping"):
        c.shape = ("A", "B")
    assert c.shapes == {"shape": ("C", "C"), "other": ("C", "D")}
    with pytest.raises(ValueError):
        c.update({"other": ("X", "Y"), "shape": ("A", "B")})
    assert c.other == ("C", "D")
    c.shape = ("B", "B")
    assert c.other == ("B", "D")


def test_ellipses_stay_in_their_shape():
    c = NamedDimCollection(shape=("...", "C"), other=("...", "D"))
    c.shape = ("A", "B", "C")
    assert c.shape == ("A", "B", "C") and c.other == ("...", "D")
    for assigned in (("C",), ("...", "B", "C")):
        e = NamedDimCollection(shape=("...", "C"))
        e.shape = assigned
        assert e.shape == assigned
    assert NamedDimCollection(shape=("...", "...")).shape == ("...",)


def test_filling_wildcards_and_wrong_lengths():
    c = NamedDimCollection(shape=("A", "()", "C", "()"), one="A")
    c.shape = ("A", "B", "C", "D")
    assert c.shape == ("A", "B", "C", "D") and c.one == "A"
    for name, value in (("shape", ("A", "B", "C")), ("one", ("A", "B"))):
        with pytest.raises(ValueError, match="compatible|non-singleton"):
            c[name] = value
    c.one = "Q"
    assert c.shape == ("Q", "B", "C", "D")


def test_mappings_follow():
    c = NamedDimCollection(axes_lengths={"A": 2}, ishape=("A", "B"))
    c.ishape = ("E", "F")
    assert c.axes_lengths == {"E": 2}
    with pytest.raises(ValueError, match="wildcard"):
        c.axes_lengths = {"()": 2}
    with pytest.raises(TypeError):
        c.axes_lengths = {"A": "two"}
    assert c.axes_lengths == {"E": 2} and c.ishape == ("E", "F")


def test_collections_as_objects(two):
    two.third = ("C", "Q")
    assert two.third == ("C", "Q") and "third" in two and "fourth" not in two and len(two) == 3
    assert repr(two) == "NamedDimCollection(shape1=(A, B), shape2=(B, C), third=(C, Q))"
    twin = copy.copy(two)
    twin.third = ("X", "Y")
    assert two.third == ("C", "Q")
    with pytest.raises(AttributeError):
        two.fourth  # noqa: B018
    with pytest.raises(KeyError):
        two["fourth"]
    with pytest.raises(AttributeError):
        two.update = ("A",)


def test_shapes_are_diagonal_by_default():
    s = NS(("A", "B"))
    s.ishape = ("C", "D")
    assert s.oshape == ("C", "D")
    assert NS(None).ishape == ("...",) == NS(None).oshape and NS().oshape == ("...",)
    t = NS(s)
    t.ishape = ("X", "Y")
    assert s.ishape == ("C", "D")


@pytest.mark.parametrize(
    "ishape, oshape, expected", [("AB", "CD", "A1B1"), ("AB", "BC", "A1B"), ("CA", "C1A", "C1A"), ("AB", "AB", "AB")]
)
def test_normal_names(ishape, oshape, expected):
    n = NS(Dim(ishape), Dim(oshape)).N
    assert n.ishape == Dim(ishape) and n.oshape == Dim(expected)


def test_sums_of_shapes():
    a, b = NS(("A", "B"), ("C",)), NS(("E", "F"))
    assert (a + b).ishape == ("A", "B", "E", "F") and (a + b).oshape == ("C", "E", "F")
    assert (b + a).ishape == ("E", "F", "A", "B") and (b + a).oshape == ("E", "F", "C")
    assert (None + a).ishape == a.ishape
    with pytest.raises((TypeError, AttributeError)):
        a + object()


def test_shapes_match_with_wildcards():
    assert NS(("...", "A")) == NS(("C", "A")) and NS(("A", "B")) != NS(("C", "A"))
    assert NS(("...", "C"), ("...", "D")) == NS(("...",)) and NS("A") != "A"
    with pytest.raises(TypeError):
        hash(NS("A"))


def test_other_shapes():
    s = NS(("A", "B"), ("C",), weight=("C", "A"), lengths={"B": 3}, axis="A")
    assert s.H.ishape == ("C",) and s.H.weight == ("C", "A") and s.N.axis == "A"
    s.ishape = ("B", "A")
    assert s.weight == ("C", "B") and s.lengths == {"A": 3} and s.axis == "B"
    both = s + NS(("E",), mask=("E",))
    assert both.others == {"weight": ("C", "B"), "lengths": {"A": 3}, "axis": "B", "mask": ("E",)}
    with pytest.raises(ValueError, match="weight"):
        s + NS(("E",), weight=("E",))
    with pytest.raises(AttributeError):
        s.nothing  # noqa: B018
    with pytest.raises(AttributeError):
        s.H = ("A",)
    assert repr(NS("A", "B", w="A")) == "NS((A,) -> (B,), w=A)"


def test_grids():
    assert get_nd_shape(2, kspace=True) == ("Kx", "Ky") and get_nd_shape(3) == ("Nx", "Ny", "Nz")
    for ndim in (0, 4):
        with pytest.raises(ValueError):
            get_nd_shape(ndim)


def test_config_scopes():
    with ts.config.using(rewrite=False, progress=False):
        assert not ts.config.rewrite
        with ts.config.using(rewrite=True):
            assert ts.config.rewrite and not ts.config.progress
        assert not ts.config.rewrite
    assert ts.config.rewrite and ts.config.progress
    with pytest.raises(KeyError):
        with ts.config.using(rewrite=False):
            raise KeyError
    assert ts.config.rewrite
    with pytest.raises(ValueError, match="colour"):
        ts.config.using(rewrite=False, colour=1)
    assert ts.config.rewrite
