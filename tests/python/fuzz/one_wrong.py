# SPDX-License-Identifier: Apache-2.0
"""Calls that people make, with one argument that is wrong. The example of each public function of the modules below is
run, and what it calls is called again, with one argument replaced by each value of a list of hostile ones: it gives a
result, or an exception that speaks of what was given, in no more than some seconds, and leaves no file behind.

usage: one_wrong.py [SHARE [NUMBER [NAME]]]: of all cases those whose number is NUMBER modulo SHARE, and only of
functions whose name contains NAME. A function with its cases is a process of its own when it crashes.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import doctest
import importlib
import inspect
import io
import os
import re
import resource
import shutil
import signal
import sys
import time
import types
import zlib
from pathlib import Path

import hostile
import numpy as np

import tessera as ts

PATIENCE = 10  # seconds of one call
NAMES = """stored imaging split scipy torch jax compat.heat compat.heat.fft compat.heat.io compat.heat.linalg
compat.heat.random compat.heat.statistics compat.torchlinops compat.torchlinops.alg compat.torchlinops.functional
compat.torchlinops.utils""".split()
# What ends or opens a shell, waits as long as it is told to, or speaks to other processes.
LEFT_OUT = {"ts.compat.torchlinops.BreakpointLinop", "ts.compat.torchlinops.Sleep"}
LEFT_OUT |= {"ts.compat.heat.use_comm", "ts.compat.heat.use_device"}  # what every later call begins with
PASSED_ON = {"ts.stored.plan", "ts.stored.explain"}  # arguments, to a function that is an argument
# Numbers of steps: who asks for many waits.
STEPS = {"maxiter", "iterations", "passes", "inner", "oversampling", "max_iter"}
MANY = ("2**40", "2**62", "10**30")

VALUES = {
    "None": lambda: None,
    "True": lambda: True,
    "'abc'": lambda: "abc",
    "''": lambda: "",
    "'é'": lambda: "é",
    "'X Y'": lambda: "X Y",
    "a zero in text": lambda: "X\0Y",
    "half of a pair of surrogates": lambda: "\ud800",
    "b'abc'": lambda: b"abc",
    "nowhere": lambda: os.path.join("none", "such.npy"),
    "a folder": lambda: ".",
    "0": lambda: 0,
    "-1": lambda: -1,
    "3": lambda: 3,
    "2**40": lambda: 2**40,
    "2**62": lambda: 2**62,
    "10**30": lambda: 10**30,
    "1.5": lambda: 1.5,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: -float("inf"),
    "3+4j": lambda: 3 + 4j,
    "np.int64(2)": lambda: np.int64(2),
    "object": object,
    "int": lambda: int,
    "raises": lambda: hostile.raises,
    "Raises": hostile.Raises,
    "Odd": hostile.Odd,
    "Lies": hostile.Lies,
    "text from a function": lambda: lambda *_, **__: "text",
    "()": tuple,
    "[]": list,
    "[[]]": lambda: [[]],
    "[1, 2, 3]": lambda: [1, 2, 3],
    "(2, -3)": lambda: (2, -3),
    "(2**40, 2**40)": lambda: (2**40, 2**40),
    "['a', None]": lambda: ["a", None],
    "a list that holds itself": hostile.endless_list,
    "{}": dict,
    "{'X': -1}": lambda: {"X": -1},
    "range(2**62)": lambda: range(2**62),
    "no elements": lambda: np.zeros((0, 3)),
    "no axes": lambda: np.array(2.5),
    "reversed": lambda: np.arange(12.0).reshape(3, 4)[:, ::-2],
    "read only": lambda: np.broadcast_to(np.float64(1.0), (4, 3)),
    "with nan": lambda: np.array([1 + 2j, np.nan]),
    "of objects": lambda: np.array([1, "a", None], dtype=object),
    "of words": lambda: np.array(["a", "b"]),
    "of times": lambda: np.array([1, 2], "datetime64[s]"),
    "of fields": lambda: np.zeros(2, [("a", "f4"), ("b", "i8")]),
    "big-endian": lambda: np.ones(3, ">f8"),
    "halves": lambda: np.ones((4, 4), "f2"),
    "five axes": lambda: np.ones((1, 2, 1, 2, 1)),
    "ts.ones": lambda: ts.ones((2, 3)),
    "elsewhere": lambda: ts.ones((2, 3), "float32", device="sim:0"),
    "distributed": lambda: ts.dist.ones((4, 3), split=0),
    "on disk": lambda: ts.stored.ones((2, 3)),
    "a matrix": lambda: ts.matrix.Diagonal(np.ones(3)),
    "an operator": lambda: ts.Identity(("X",)),
    "a dtype": lambda: ts.float32,
}

# What Python says of objects inside of a function, where a caller has to be told of the argument.
INTERNAL = re.compile(
    "has no attribute|has no len|not subscriptable|not callable|not iterable|not supported between|unsupported operand"
    "|cannot unpack|values to unpack|index out of range|incompatible function arguments|incompatible constructor"
    "|NoneType|bad operand type|truth value of an array|positional argument|unexpected keyword|not hashable|unhashable"
    "|must be real number|can only concatenate|setting an array element|unsupported format|not JSON|maximum recursion"
    "|cannot be broadcast|could not be broadcast|shapes .* not aligned|mismatch in its core dimension|ufunc|_tessera"
)
ACCIDENTS = (AttributeError, NameError, KeyError, AssertionError, RecursionError, SystemError, ZeroDivisionError)
ACCIDENTS += (StopIteration, BufferError, EOFError)
PACKAGE = os.path.dirname(ts.__file__)
HERE = str(Path(__file__).resolve().parent)


def homes():
    """The modules that are here, by their names; those of a library that is not installed are left out."""
    found = {}
    for name in NAMES:
        with contextlib.suppress(ImportError):
            found[f"ts.{name}"] = importlib.import_module(f"tessera.{name}")
    return found


def functions():
    """(name, module, function) of everything public, in order."""
    found, seen = [], set()
    for home, module in homes().items():
        for name in sorted(getattr(module, "__all__", None) or dir(module)):
            value = getattr(module, name, None)
            belongs = str(getattr(value, "__module__", None) or "tessera").startswith(("tessera", "_tessera"))
            if name.startswith("_") or not callable(value) or not belongs or id(value) in seen:
                continue
            if f"{home}.{name}" not in LEFT_OUT and not (isinstance(value, type) and issubclass(value, BaseException)):
                seen.add(id(value))
                found.append((f"{home}.{name}", module, value))
    return found


def parameters(function):
    """The names of what it takes; of one that takes anything the places of three."""
    try:
        known = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [0, 1, 2]
    named = [p.name for p in known if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return named + [i + len(named) for i in range(3) if any(p.kind is p.VAR_POSITIONAL for p in known)]


def cases(share=1, number=0, name=""):
    """(function, parameter, value) of each case: a function of what there is alone."""
    found = []
    for at, (called, _, function) in enumerate(functions()):
        if name not in called:
            continue
        for parameter in parameters(function):
            for words in VALUES:
                if called in PASSED_ON and isinstance(parameter, int) or parameter in STEPS and words in MANY:
                    continue
                if zlib.crc32(f"{called} {parameter} {words}".encode()) % share == number % share:
                    found.append((at, parameter, words))
    return found


class Example:
    """What the example of a function calls it with; in the folder that it needs."""

    def __init__(self, name, module, function):
        self.name, self.module, self.function = name, module, function
        self.given = ((), {})
        self.run()

    def run(self):
        """Runs it, in an empty folder; the first call is what is kept."""
        for path in os.listdir("."):
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        calls, short = [], self.name.rpartition(".")[2]

        def record(*args, **kwargs):
            calls.append((args, kwargs))
            return self.function(*args, **kwargs)

        space = {"ts": ts, "np": np, "__name__": "example", **vars(self.module)}
        for library, known in (("torch", "torch"), ("jax", "jax"), ("jnp", "jax.numpy")):
            if self.name.startswith(("ts.torch", "ts.compat.torchlinops", "ts.jax")):
                with contextlib.suppress(ImportError):
                    space[library] = importlib.import_module(known)
        if self.name.startswith("ts.compat.heat"):
            space["ht"] = importlib.import_module("tessera.compat.heat")
        space[short] = record
        setattr(self.module, short, record)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                for example in doctest.DocTestParser().get_examples(self.function.__doc__ or ""):
                    exec(compile(ast.parse(example.source), self.name, "exec"), space)
        except Exception:  # noqa: BLE001 that examples run is another test's
            pass
        finally:
            setattr(self.module, short, self.function)
        if calls:
            self.given = calls[0]
        elif not self.given[0]:
            self.given = ((np.arange(6.0).reshape(2, 3),) * self._required(), {})

    def _required(self):
        try:
            known = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):
            return 1
        positional = [p for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return max(1, sum(p.default is p.empty for p in positional))

    def call(self, parameter, value):
        """The same call with another value of a parameter."""
        args, kwargs = list(self.given[0]), dict(self.given[1])
        if isinstance(parameter, int):
            args[parameter : parameter + 1] = [value]
            return self.function(*args, **kwargs)
        bound = inspect.signature(self.function).bind_partial(*args, **kwargs)
        bound.arguments[parameter] = value
        return self.function(*bound.args, **bound.kwargs)


def improper(error):
    """What is wrong with an exception, in words; None where it is a sentence for the caller."""
    if isinstance(error, TimeoutError):
        return str(error)
    wrong = hostile.improper(error)
    if wrong or isinstance(error, (ts.Error, MemoryError, OSError, ImportError, NotImplementedError)):
        return wrong
    place, trace = None, error.__traceback__
    while trace is not None:
        place, trace = trace, trace.tb_next
    file, text = place.tb_frame.f_code.co_filename, str(error)
    if file.startswith(HERE):  # what the value itself raised, or a call that Python refuses
        return None
    ours = file.startswith(PACKAGE)
    raised = dis.opname[place.tb_frame.f_code.co_code[place.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")
    if ours and raised and not isinstance(error, AssertionError):
        return None
    if isinstance(error, ACCIDENTS) or INTERNAL.search(text):
        where = f"{os.path.relpath(file, PACKAGE) if ours else file}:{place.tb_lineno}"
        return f"{type(error).__name__}: {text[:200]} ({where})"
    return None


def late(*_):
    raise TimeoutError(f"more than {PATIENCE} s")


def child(share, first, last, name=""):
    """Runs cases and says each beforehand in the file 'at'; what is improper goes to 'improper' beside it."""
    import faulthandler

    faulthandler.enable()
    home = Path.cwd()
    folder = home / "work"
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    signal.signal(signal.SIGALRM, late)
    known, example, found = functions(), None, 0
    at = os.open(home / "at", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    share, _, number = str(share).partition(":")
    for count, (which, parameter, words) in list(enumerate(cases(int(share), int(number or 0), name)))[first:last]:
        called = known[which][0]
        if example is None or example.name != called:
            if called.startswith("ts.jax."):  # what XLA compiles lies far apart: without room for it the process aborts
                resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)
            example = Example(*known[which])
        os.pwrite(at, f"{count} {called}({parameter}={words})".encode("utf-8", "replace").ljust(4000), 0)
        wrong = one(example, parameter, words)
        if wrong:
            found += 1
            with open(home / "improper", "a") as file:
                file.write(f"{called}({parameter}={words}): {wrong}\n")
    return 3 if found else 0


def one(example, parameter, words):
    """Makes the call; what is wrong with how it ended, or None."""
    before = sorted(os.listdir("."))
    try:
        value = VALUES[words]()
    except (MemoryError, ts.Error):
        return None
    began = time.monotonic()
    signal.alarm(PATIENCE)
    try:
        result = example.call(parameter, value)
        hostile.left_over()
        if isinstance(result, types.GeneratorType):
            next(result, None)
    except (KeyboardInterrupt, SystemExit) as error:
        return f"{type(error).__name__}: {error}"
    except BaseException as error:  # noqa: BLE001
        signal.alarm(0)
        left = sorted(set(os.listdir(".")) - set(before))
        if isinstance(error, TimeoutError) and parameter in STEPS:
            return None
        return improper(error) or (f"{type(error).__name__}, and left {left}" if left else None)
    finally:
        signal.alarm(0)
        if time.monotonic() - began > PATIENCE + 2:
            return f"took {time.monotonic() - began:.0f} s"  # noqa: B012
        if sorted(os.listdir(".")) != before:
            example.run()
    return None


def main(arguments):
    import fuzz_calls

    share = int(arguments[0]) if arguments else 1
    number = int(arguments[1]) if len(arguments) > 1 else 0
    name = arguments[2] if len(arguments) > 2 else ""
    count, first, failures = len(cases(share, number, name)), 0, []
    while first < count:
        command = [sys.executable, __file__, "child", name]
        _, wrong, first = fuzz_calls.run_block(f"{share}:{number}", first, min(count, first + 4000), command)
        for text in wrong:
            print(text, flush=True)
        failures += wrong
    print(f"one_wrong: {count} calls, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        sys.exit(child(sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), sys.argv[2]))
    sys.exit(main(sys.argv[1:]))
