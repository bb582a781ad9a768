# SPDX-License-Identifier: Apache-2.0
"""inspect.signature of everything public that is compiled, and what people write by habit."""

import inspect

import numpy as np
import pytest

import tessera as ts

COMPILED = {"nb_func", "nb_method", "nb_bound_method"}
MADE_BY_CALLS = (ts.NamedLinop, ts.Fitted)  # classes without a constructor of their own


def public(home):
    return [(name, getattr(home, name)) for name in dir(home) if not name.startswith("_")]


@pytest.mark.parametrize("home", [ts, ts.linalg, ts.fft, ts.dist, ts.dist.linalg, ts.matrix, ts.solve, ts.random])
def test_every_public_callable_has_a_signature(home):
    told = 0
    for name, value in public(home):
        if type(value).__name__ in COMPILED or inspect.isroutine(value):
            assert isinstance(inspect.signature(value), inspect.Signature), name
            told += 1
        if isinstance(value, type) and issubclass(value, ts.NamedLinop) and value not in MADE_BY_CALLS:
            assert inspect.signature(value).parameters, name
            told += 1
    assert told > 0


def test_methods_and_bound_methods():
    unbound, bound = inspect.signature(ts.Array.sum), inspect.signature(ts.zeros(3).sum)
    assert list(unbound.parameters)[0] == "self"
    assert list(unbound.parameters)[1:] == list(bound.parameters)
    assert bound.parameters["keepdims"].default is False


def test_defaults_are_those_of_the_call():
    told = inspect.signature(ts.NUFFT).parameters
    assert told["mode"].default == "interpolate" and told["locs"].default is inspect.Parameter.empty
    assert told["copy"].kind is inspect.Parameter.KEYWORD_ONLY
    a = ts.NUFFT(np.zeros((3, 1)), (4,), mode=told["mode"].default, toeplitz=told["toeplitz"].default)
    assert a.oshape == ts.NUFFT(np.zeros((3, 1)), (4,)).oshape


def test_classes_written_in_python_keep_their_own():
    class Mine(ts.NamedLinop):
        def __init__(self, weight, *, power=2):
            super().__init__()

    assert str(inspect.signature(Mine)) == "(weight, *, power=2)"


@pytest.mark.parametrize("text", ["NxNyNz", "Nx,Ny,Nz", "Nx Ny Nz", " Nx,  Ny,\tNz ", "Nx, NyNz"])
def test_names_in_one_text(text):
    assert ts.Dim(text) == ts.Dim("NxNyNz") == (ts.ND("Nx"), ts.ND("Ny"), ts.ND("Nz"))


def test_names_in_one_text_with_wildcards():
    assert ts.Dim("B, ..., (1)") == ts.Dim("B...(1)")


@pytest.mark.parametrize("x", [np.ones(3), ts.ones(3), np.ones((1, 3)), np.float32([1, 2])])
def test_an_operator_times_an_array_says_what_to_write(x):
    a = ts.Diagonal([1.0, 2.0, 3.0], ("X",))
    for product in (lambda: a * x, lambda: x * a):
        with pytest.raises(ts.DTypeError, match=r"A\(x\)"):
            product()


@pytest.mark.parametrize("c", [2, 2.0, np.float32(2), np.array(2.0), ts.asarray(2.0), ts.asarray([2.0])])
def test_an_operator_times_a_number(c):
    a = ts.Diagonal([1.0, 2.0, 3.0], ("X",))
    for product in (a * c, c * a):
        assert product([1.0, 1, 1]).tolist() == [2, 4, 6]


def test_an_operator_is_no_array():
    a = ts.Identity(("X",))
    for call in (np.asarray, np.array, np.sum, ts.asarray, lambda o: ts.ones(3) + o, lambda o: np.ones(3) + o):
        with pytest.raises(TypeError):
            call(a)
