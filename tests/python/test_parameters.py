# SPDX-License-Identifier: Apache-2.0
"""Every argument of every operator and solver is described in its docstring, under its name and in its order."""

import inspect
import re

import pytest

import tessera as ts

FUNCTIONS = ("ParallelBeam", "FanBeam", "ConeBeam", "FieldMapNUFFT", "NUFFT3")  # which give operators
RESULTS = ("Checkpoint", "Iteration", "Prox", "prox")  # of solvers, and what they are given


def operators():
    made_by_calls = (ts.Fitted,)  # classes without a constructor of their own
    kinds = [(n, v) for n, v in vars(ts).items() if isinstance(v, type) and issubclass(v, ts.NamedLinop)]
    return [(n, v) for n, v in kinds if v not in made_by_calls] + [(n, getattr(ts, n)) for n in FUNCTIONS]


def solvers():
    names = [n for n in ts.solve.__all__ if not n.endswith("Result") and n not in RESULTS]
    over_ranks = [n for n in names if hasattr(ts.dist, n)]
    return [(f"solve.{n}", getattr(ts.solve, n)) for n in names] + [
        (f"dist.{n}", getattr(ts.dist, n)) for n in over_ranks
    ]


def described(doc):
    """The arguments that a docstring has paragraphs on, with their text."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n|\Z)", inspect.cleandoc(doc), re.M | re.S)
    return dict(re.findall(r"^(\w+)\n((?:    \S.*\n?)+)", section[1] + "\n", re.M)) if section else {}


CASES = operators() + solvers()


@pytest.mark.parametrize("name, value", CASES, ids=[n for n, _ in CASES])
def test_every_argument_is_described(name, value):
    told = described(value.__doc__)
    assert list(told) == list(inspect.signature(value).parameters)
    for argument, text in told.items():
        assert text.strip().endswith((".", ")")) and len(text.split()) > 1, argument


def test_there_are_many():
    assert len(operators()) > 45 and len(solvers()) > 24


def test_the_examples_still_follow():
    for _, value in CASES:
        doc = inspect.cleandoc(value.__doc__)
        assert doc.index("Parameters\n---") < doc.index(">>>")
