# SPDX-License-Identifier: Apache-2.0
"""Each function of the array API standard has the standard's signature, in each of our two namespaces; each of its
keywords does what NumPy's does."""

import inspect
import itertools

import numpy as np
import pytest
from array_api_calls import flat, operands
from array_api_signatures import INFO, KEYWORDS, METHODS, SIGNATURES, VALUELESS, parsed
from support import tolerance

import tessera as ts

NAMESPACES = {"ts": ts, "ts.dist": ts.dist}
every = pytest.mark.parametrize("home", NAMESPACES)


def found(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def follows(function, by_place, named, many, keywords, defaults):
    """Whether a function can be called as the standard has it, and has its defaults where it tells them."""
    told = inspect.signature(function)
    values = {name: object() for name in (*by_place, *named, *keywords)}
    places = [values[name] for name in by_place]
    more = [object(), object()] if many else []
    for count in range(len(named) + 1):  # each of the others by its place or by its name
        given = {name: values[name] for name in (*named[count:], *keywords)}
        bound = told.bind(*places, *[values[name] for name in named[:count]], *more, **given)
        for name in (*named, *keywords):
            rest = next((p.name for p in told.parameters.values() if p.kind is p.VAR_KEYWORD), None)
            assert bound.arguments.get(name, bound.arguments.get(rest, {}).get(name)) is values[name], name
    required = [name for name in (*by_place, *named) if name not in defaults]
    told.bind(*[values[n] for n in required if n in by_place], **{n: values[n] for n in required if n in named})
    for name, default in defaults.items():  # with test_defaults_that_are_given_change_nothing
        parameter = told.parameters.get(name)
        if parameter is not None and parameter.default is not inspect.Parameter.empty:
            assert default is None or parameter.default is None or name == "axis" or parameter.default == default, (
                f"{name}={parameter.default!r}, expected {default!r}"
            )


@every
@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name, home):
    follows(found(NAMESPACES[home], name), *SIGNATURES[name])


@every
@pytest.mark.parametrize("line", METHODS)
def test_methods(line, home):
    name, *signature = parsed(line)
    follows(getattr(NAMESPACES[home].zeros(2), name), *signature)


@every
@pytest.mark.parametrize("line", INFO)
def test_info(line, home):
    name, *signature = parsed(line)
    info = NAMESPACES[home].__array_namespace_info__()
    follows(getattr(info, name), *signature)
    assert getattr(info, name)() is not None


def test_every_keyword_has_values():
    """The table below leaves none out, but for those that NumPy's cpu has not."""
    for name, (_, named, _, keywords, defaults) in SIGNATURES.items():
        wanted = {*keywords, *(n for n in named if n in defaults)} - {"device"}
        if wanted and name not in VALUELESS:
            _, values = KEYWORDS[name](operands(np.asarray), np)
            assert wanted <= set(values), name


def numbers(x):
    return np.asarray(x.numpy() if hasattr(x, "numpy") else x)


def outcome(xp, name, a, keywords):
    """What the call gives; a name of an operand or a dtype stands for it."""
    given, _ = KEYWORDS[name](a, xp)
    special = {"sorter": lambda v: xp.argsort(given[0]), "dtype": lambda v: v and getattr(xp, v)}
    special |= {key: lambda v: v and getattr(a, v) for key in ("prepend", "append")}
    made = {key: special.get(key, lambda v: v)(value) for key, value in keywords.items()}
    try:
        return flat(found(xp, name)(*given, **made))
    except (ValueError, TypeError, IndexError, ZeroDivisionError, BufferError) as error:
        return error


NUMPY_HAS_NOT = {("fft.fftfreq", "dtype"), ("fft.rfftfreq", "dtype"), ("sort", "descending"), ("argsort", "descending")}


def needed(name, a, xp):
    """Values of what has no default and is not given by place."""
    given, values = KEYWORDS[name](a, xp)
    by_place, named, _, _, defaults = SIGNATURES[name]
    return {n: values[n][0] for n in [*by_place, *named][len(given) :] if n not in defaults}


def values_of(name):
    """Each keyword alone with each of its values, and each pair of keywords with all of theirs."""
    a = operands(np.asarray)
    values, required = KEYWORDS[name](a, np)[1], needed(name, a, np)
    for key, each in values.items():
        for value in each:
            yield {**required, key: value}
    for (one, of_one), (other, of_other) in itertools.combinations(values.items(), 2):
        for pair in itertools.product(of_one, of_other):
            yield {**required, one: pair[0], other: pair[1]}


def as_numpy(name, keywords):
    """What NumPy is to be asked in its place, and what is then to be done with the result."""
    kept = {k: v for k, v in keywords.items() if (name, k) not in NUMPY_HAS_NOT and k != "device"}
    dtype = keywords.get("dtype") if (name, "dtype") in NUMPY_HAS_NOT else None
    return kept, dtype, keywords.get("descending", False) and name in ("sort", "argsort")


@every
@pytest.mark.parametrize("name", KEYWORDS)
def test_keywords_do_what_they_say(name, home):
    xp = NAMESPACES[home]
    ours, theirs = operands(lambda x: xp.asarray(x)), operands(lambda x: x)
    for keywords in values_of(name):
        got = outcome(xp, name, ours, keywords)
        kept, dtype, descending = as_numpy(name, keywords)
        expected = outcome(np, name, theirs, kept)
        if isinstance(expected, Exception):
            assert isinstance(got, Exception), f"{keywords}: NumPy says {expected}, ours gives {got}"
            continue
        if isinstance(got, BufferError) and home == "ts.dist" and keywords.get("copy") is False:
            continue  # as the standard says where a copy is needed: the parts of other ranks
        assert not isinstance(got, Exception), f"{keywords}: {type(got).__name__}: {got}"
        assert len(got) == len(expected)
        for mine, wanted in zip(got, expected, strict=True):
            mine, wanted = numbers(mine), np.asarray(wanted)
            if descending and name == "argsort":
                x, axis = theirs.f, keywords.get("axis", -1)
                mine = np.take_along_axis(x, mine, axis)
                wanted = np.flip(np.sort(x, axis), axis)
            elif descending:
                wanted = np.flip(wanted, keywords.get("axis", -1))
            wanted = wanted if dtype is None else wanted.astype(dtype)
            assert mine.shape == wanted.shape, (keywords, mine.shape, wanted.shape)
            if "dtype" in keywords or name not in ("full_like", "arange"):
                assert mine.dtype == wanted.dtype, (keywords, mine.dtype, wanted.dtype)
            bound = 100 * tolerance(wanted.dtype, max(2, wanted.size))
            np.testing.assert_allclose(mine, wanted, rtol=bound, atol=bound, err_msg=str(keywords))


@every
@pytest.mark.parametrize("name", KEYWORDS)
def test_defaults_that_are_given_change_nothing(name, home):
    xp = NAMESPACES[home]
    a = operands(lambda x: xp.asarray(x))
    required = needed(name, a, xp)
    plain = outcome(xp, name, a, required)
    for key, default in SIGNATURES[name][4].items():
        if key in SIGNATURES[name][0]:
            continue
        got = outcome(xp, name, a, {**required, key: default})
        if isinstance(plain, Exception):
            assert type(got) is type(plain), key
            continue
        assert not isinstance(got, Exception), f"{key}={default!r}: {got}"
        for mine, wanted in zip(got, plain, strict=True):
            np.testing.assert_array_equal(numbers(mine), numbers(wanted))


@pytest.mark.parametrize("name", [n for n, s in SIGNATURES.items() if "device" in s[3]])
def test_devices(name, device):
    """What is made is made on the device that is asked for."""
    if name in ("empty", "empty_like"):
        given = [(2, 3)] if name == "empty" else [ts.zeros((2, 3))]
    else:
        given, _ = KEYWORDS[name](operands(lambda x: ts.asarray(x)), ts)
    made = found(ts, name)(*given, device=ts.Device(device))
    assert str(made.device) == device and str(found(ts, name)(*given, device=None).device) == "cpu"
