# SPDX-License-Identifier: Apache-2.0
"""Calls with absurd arguments end with an exception or a result, never with the process; `make fuzz` goes on with
others of them. Below, those that once ended it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tessera as ts
from tessera import _checked

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "fuzz"))
import fuzz_calls  # noqa: E402
import hostile  # noqa: E402
import one_wrong  # noqa: E402


@pytest.mark.parametrize("first", [0, 100_000])
def test_some_hundred_calls(first):
    cases, failures, _ = fuzz_calls.run_block(11, first, first + fuzz_calls.CASES)
    assert not failures, "\n".join(failures)
    assert cases == fuzz_calls.CASES


def test_the_fuzzer_sees_a_crash_and_names_it(monkeypatch):
    # The 30th case ends the process: the block stops there and says so.
    child = "import os, sys; open('at', 'w').write('30 ts.zeros(1)'); os.abort()"
    monkeypatch.setattr(fuzz_calls, "COMMAND", [sys.executable, "-c", child])
    cases, failures, after = fuzz_calls.run_block(1, 0, 100)
    assert (cases, after) == (31, 31)
    assert len(failures) == 1 and "30 ts.zeros(1) ended with SIGABRT, alone too" in failures[0]


def test_cases_are_a_function_of_their_numbers():
    told = [[], []]
    for list_ in told:
        run = hostile.Run(5)
        for number in range(40, 60):
            run.case(number, list_.append)
    assert told[0] == told[1] and len(told[0]) == 20


def holding_itself(*items):
    a = list(items)
    a.append(a)
    return a


ENDLESS = {
    "alone": lambda: holding_itself(),
    "numbers": lambda: holding_itself(1.0),
    "numpy": lambda: holding_itself(np.ones(1)),
    "arrays": lambda: holding_itself(ts.ones(1)),
    "integers": lambda: holding_itself(ts.ones(1, "int64")),
    "distributed": lambda: holding_itself(ts.dist.ones(1)),
    "tuples": lambda: (holding_itself(ts.ones(1)),),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_lists_that_hold_themselves(kind):
    a = ENDLESS[kind]()
    x, y = ts.zeros(3), ts.dist.zeros(3)
    calls = [lambda: ts.asarray(a), lambda: ts.dist.asarray(a), lambda: ts.zeros(a), lambda: x[a], lambda: y[a]]
    calls += [lambda: x.__setitem__(0, a), lambda: y.__setitem__(0, a), lambda: x + a, lambda: ts.concatenate(a)]
    calls += [lambda: ts.BatchSpec({"X": 1}, a), lambda: ts.Identity(a)]
    calls += [lambda: ts.Diagonal(a, ("X",)), lambda: ts.stack(a), lambda: ts.dist.concatenate(a), lambda: ts.sum(a)]
    for call in calls:
        with pytest.raises((ValueError, TypeError, IndexError, ts.DeviceError)):
            call()
    assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize("make", [hostile.shrinking_list, hostile.shrinking_numbers])
def test_lists_that_shrink_while_they_are_read(make):
    for call in (
        ts.zeros,
        ts.asarray,
        ts.concatenate,
        ts.stack,
        ts.dist.concatenate,
        ts.ones(3).reshape,
        ts.ones(3).sum,
    ):
        try:
            call(make())
        except (ValueError, TypeError, MemoryError):
            pass


def test_a_dtype_whose_order_cannot_be_told():
    class Odd:
        name = str = "float64"

        @property
        def isnative(self):
            return hostile.Raises()

    with pytest.raises((ZeroDivisionError, TypeError)):
        ts.zeros(2, Odd())
    assert ts.zeros(2).tolist() == [0, 0]


def test_words_that_are_no_text_and_lists_without_end():
    odd, endless = hostile.Odd(), iter(lambda: "X", None)
    for call in (lambda: ts.zeros(2, odd), lambda: ts.Identity((odd,)), lambda: ts.BatchSpec({"X": 1}, odd)):
        with pytest.raises((ValueError, TypeError, ts.Error)):
            call()
    with pytest.raises(ts.DimError, match="more than 64 dims"):
        ts.Identity(endless)


def test_types_that_do_not_fit_are_a_type_error():
    for call in (lambda: ts.asarray([1.0], copy=2.5), lambda: ts.ones(2).__array__("abc", 5)):
        with pytest.raises(TypeError):
            call()


def test_formats_that_are_no_text():
    for x in (ts.asarray(1.5), ts.ones(3), ts.dist.asarray(1.5), ts.dist.ones(3)):
        for spec in (5, ts.ones(2), ts.dist.zeros((0, 3), split=1)):
            with pytest.raises(TypeError):
                x.__format__(spec)
    for x in (ts.asarray(1.5), ts.dist.asarray(1.5)):
        assert f"{x:.2f}" == "1.50"
        with pytest.raises(ValueError):
            x.__format__("no such format")


def test_lengths_of_transforms_that_are_arrays():
    for n in (ts.zeros((0, 3)), ts.dist.zeros((0, 3), split=1), ts.dist.arange(7, split=0), np.zeros(0, int)):
        with pytest.raises((ValueError, TypeError, ts.Error)):
            ts.fft.ifft([3.0, -1.0], n)
    assert ts.fft.fft([1.0, 2.0], ts.asarray([4])).shape == (4,)


@pytest.mark.parametrize("home", [ts, ts.dist])
def test_more_axes_than_an_array_has_are_counted_not_read(home):
    with pytest.raises(ts.AxisError, match="64 at most"):
        home.expand_dims([1.0], range(2**62))


@pytest.mark.parametrize("shape", [float("inf"), float("nan"), -1.0])
def test_distributions_without_an_end_are_refused(shape):
    rng = ts.random.default_rng(1)
    for draw in (
        rng.standard_gamma,
        rng.chisquare,
        rng.standard_t,
        lambda a: rng.beta(2.5, a),
        lambda a: rng.gamma([1.0, a]),
    ):
        with pytest.raises(ValueError):
            draw(shape)


def test_a_number_is_no_path(tmp_path):
    with open(tmp_path / "mine", "w") as mine:
        with pytest.raises(TypeError):
            ts.dist.load_csv(mine.fileno())
        mine.write("still open")


def test_reports_of_sanitizers_are_shown_from_their_head():
    noise, stack = "x" * 9000 + "\n", "".join(f"    #{i} in f\n" for i in range(2000))
    shown = fuzz_calls.report(f"{noise}==7==ERROR: AddressSanitizer: heap-use-after-free\n{stack}SUMMARY: f")
    assert shown.startswith("==7==ERROR: AddressSanitizer: heap-use-after-free\n    #0 in f") and "SUMMARY: f" in shown
    assert fuzz_calls.report(noise).endswith("xxx\n") and len(shown) < 7000


ONE_WRONG = [sys.executable, str(HERE / "fuzz" / "one_wrong.py"), "child"]
SHARES = {"stored": 9, "imaging": 29, "split": 3, "scipy": 5, "torch": 5, "jax": 5, "compat": 239}


@pytest.mark.parametrize("home", SHARES)
def test_one_argument_that_is_wrong(home):
    """Of the calls in the examples of a module: it is named, or taken; one_wrong.py goes on with the other cases."""
    count = len(one_wrong.cases(SHARES[home], 0, f"ts.{home}."))
    if count == 0:
        pytest.skip(f"the library of {home} is not installed")
    first, failures = 0, []
    while first < count:
        _, wrong, first = fuzz_calls.run_block(f"{SHARES[home]}:0", first, count, [*ONE_WRONG, f"ts.{home}."])
        failures += wrong
    assert not failures, "\n".join(failures)


def test_every_public_module_is_called():
    package = Path(ts.__file__).parent
    found = {
        ".".join(p.relative_to(package).with_suffix("").parts).removesuffix(".__init__") for p in package.rglob("*.py")
    }
    public = {name for name in found if not any(part.startswith("_") for part in name.split("."))}
    called = {name.removeprefix("ts.") for name in hostile.MODULES} | set(one_wrong.NAMES)
    # Settings, of which hostile.py sets each; and what has no functions of its own.
    assert public <= called | {
        "config",
        "compat",
        "compat.torchlinops.config",
        "dist.fft",
        "dist.linalg",
        "dist.random",
    }


def planted_accident(x=1, path="here.txt"):
    return x.shape


def planted_index(x=1):
    return [1, 2][x]


def planted_refusal(x=1):
    if not isinstance(x, int):
        raise TypeError(f"planted: x is {x!r}")
    raise ts.ArgumentError("planted: x")


def planted_file(x=1):
    Path("left.txt").write_text("")
    raise ts.ArgumentError("planted: x")


def planted_wait(x=1):
    time.sleep(3)


@pytest.mark.parametrize(
    ("function", "words", "seen"),
    [
        (planted_accident, "3", "AttributeError: 'int' object has no attribute 'shape'"),
        (planted_accident, "no axes", None),
        (planted_index, "3", "IndexError: list index out of range"),
        (planted_index, "'abc'", None),
        (planted_refusal, "'abc'", None),
        (planted_refusal, "3", None),
        (planted_file, "3", "ArgumentError, and left ['left.txt']"),
        (planted_wait, "3", "more than 1 s"),
    ],
)
def test_defects_are_seen(function, words, seen, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(one_wrong, "PATIENCE", 1)
    before = signal.signal(signal.SIGALRM, one_wrong.late)
    try:
        example = one_wrong.Example(function.__name__, sys.modules[__name__], function)
        wrong = one_wrong.one(example, "x", words)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert wrong is None if seen is None else seen in wrong


def divided(x, by=2):
    """A function that is guarded below, and speaks for itself of one thing."""
    if by is None:
        raise ValueError("divided: by what?")
    return by(x) if callable(by) else x.real / [1, by][len(x.shape)]


def raise_mine(x):
    return {}[x]


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ((3,), ts.DTypeError, "divided cannot take x=3: 'int' object has no attribute 'shape'"),
        ((np.ones((2, 2)), 1), ts.IndexError, "divided cannot take x=a ndarray of float64, shape (2, 2), by=1: list"),
        ((np.float64(1.0), "a"), None, None),
        ((np.ones(2), "a"), ts.DTypeError, "divided cannot take x=a ndarray of float64, shape (2,), by='a': ufunc"),
        ((1, None), ValueError, "divided: by what?"),
        ((1, raise_mine), KeyError, "1"),
        ((1, 2, 3), ts.DTypeError, "divided cannot take x=1, by=2, argument 3=3: divided() takes from 1 to 2"),
    ],
)
def test_what_python_says_becomes_a_sentence(given, kind, said):
    """But for what a function says itself, and what a caller's own function raises."""
    guarded = _checked.guarded(divided)
    if kind is None:
        assert guarded(*given) == 1.0
        return
    with pytest.raises(kind) as caught:
        guarded(*given)
    assert type(caught.value) is kind and str(caught.value).startswith(said), caught.value


def test_the_fuzzer_is_a_program():
    ended = subprocess.run(
        [sys.executable, str(HERE / "fuzz" / "fuzz_calls.py"), "0", "3"], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0 and "0 calls, 0 failures, seed 3" in ended.stdout, ended.stdout + ended.stderr
