# SPDX-License-Identifier: Apache-2.0
"""Calls with absurd arguments: every public callable of tessera and its modules, methods and operators of what comes
out of them, with values of all kinds. A case is a function of a seed and a number, given the values that earlier
cases of the same run left.

>>> run = Run(seed=1)
>>> for number in range(100): run.case(number, tell=print)
"""

import ctypes
import gc
import importlib
import inspect
import random
import re
import types

import numpy as np

import tessera as ts

MODULES = {
    "ts": ts,
    "ts.compute": ts.compute,
    "ts.debug": ts.debug,
    "ts.dist": ts.dist,
    "ts.fft": ts.fft,
    "ts.linalg": ts.linalg,
    "ts.matrix": ts.matrix,
    "ts.names": ts.names,
    "ts.random": ts.random,
    "ts.solve": ts.solve,
    "ts.solve.prox": ts.solve.prox,
    "ts.split": importlib.import_module("tessera.split"),
    "ts.stored": ts.stored,
    "ts.imaging": ts.imaging,
}
# What sleeps, starts threads by the number, measures the machine, or speaks to other processes.
LEFT_OUT = {"ts.Sleep", "ts.dist.run_ranks", "ts.set_num_threads", "ts.compute.resolve", "ts.dist.Communicator"}
# What makes every later call wait, or starts threads.
SETTINGS_LEFT_OUT = {"sim_delay_us", "num_threads", "sim_devices"}
DUNDERS = """__getitem__ __setitem__ __add__ __radd__ __sub__ __mul__ __rmul__ __matmul__ __rmatmul__ __imatmul__ __pow__
__rpow__ __truediv__ __floordiv__ __mod__ __divmod__ __and__ __or__ __xor__ __invert__ __lshift__ __neg__ __abs__ __eq__
__ne__ __lt__ __iadd__ __imul__ __ipow__ __contains__ __len__ __iter__ __bool__ __float__ __int__ __complex__ __index__
__repr__ __str__ __array__ __dlpack__ __dlpack_device__ __array_namespace__ __call__ __copy__ __deepcopy__ __reduce_ex__
__hash__ __format__ __round__ __delitem__ __array_ufunc__ __array_function__ __enter__ __exit__""".split()
KEYWORDS = """axis out dtype device split shape keepdims k n where ord indices_or_sections mode x0 maxiter rtol which seed
copy like axes shift fill_value start stop step decimals ddof q side descending callback checkpoint norm""".split()


def callables():
    """(name, function) of everything public, in order."""
    found = {}
    for where, module in MODULES.items():
        for name in sorted(dir(module)):
            try:
                value = getattr(module, name)
            except ImportError:  # ts.torch, ts.jax where those packages are not
                continue
            if name.startswith("_") or not callable(value) or f"{where}.{name}" in LEFT_OUT:
                continue
            if getattr(value, "__module__", "tessera").startswith(("tessera", "_tessera")):
                found[f"{where}.{name}"] = value
    return sorted(found.items())


def keywords_of(function):
    """Names that its signature has, or that the text of it has."""
    try:
        return [p for p in inspect.signature(function).parameters if p not in ("self", "args", "kwargs")]
    except (TypeError, ValueError):
        text = str(getattr(function, "__nb_signature__", "") or getattr(function, "__doc__", "") or "")
        return [name for name in re.findall(r"\b([a-z_]\w*): ", text[:1500]) if name != "self"]


class Raises:
    """Raises whatever is asked of it."""

    def __index__(self):
        raise ZeroDivisionError("index")

    def __len__(self):
        raise ZeroDivisionError("len")

    def __getitem__(self, key):
        raise ZeroDivisionError("item")

    def __array__(self, *_, **__):
        raise ZeroDivisionError("array")

    def __float__(self):
        raise ZeroDivisionError("float")

    def __str__(self):
        raise ZeroDivisionError("str")


class Odd:
    """Has words that are no text, and is its own list."""

    def __repr__(self):
        return "\ud800"

    def tolist(self):
        return self


class Lies:
    """Says that it is longer than it is."""

    def __len__(self):
        return 2**40

    def __getitem__(self, key):
        raise IndexError(key)


def raises(*_, **__):
    raise ZeroDivisionError("called")


def endless_list():
    a = [1.0]
    a.append(a)
    return a


def endless_with(first):
    a = [first, first]
    a[1] = a
    return a


def only_itself():
    a = []
    a.append(a)
    return a


class Shrinks:
    """Empties the list that it is in when it is looked at."""

    def __init__(self, home):
        self.home = home

    def _shrink(self):
        self.home.clear()

    def __index__(self):
        self._shrink()
        return 1

    def __float__(self):
        self._shrink()
        return 1.0

    def __array__(self, *_, **__):
        self._shrink()
        return np.ones(2)


def shrinking_list():
    a = []
    a += [Shrinks(a)] + [np.ones(2) for _ in range(60)]
    return a


def shrinking_numbers():
    a = []
    a += [Shrinks(a)] + [3] * 60
    return a


class Growing(dict):
    """A mapping whose keys are never the same."""

    def keys(self):
        return [Raises(), 1, "X"]

    def items(self):
        return [("X", Raises()), ("X", 2)]


def deep_list(depth=2000):
    a = [1.0]
    for _ in range(depth):
        a = [a]
    return a


def used_capsule():
    capsule = ts.ones(3).__dlpack__()
    try:
        ts.from_dlpack(types.SimpleNamespace(__dlpack__=lambda **_: capsule, __dlpack_device__=lambda: (1, 0)))
    except Exception:  # noqa: BLE001
        pass
    return capsule


NUMBERS = [0, 1, 2, 3, -1, -2, 5, 7, 2**31, 2**40, 2**62, 2**63, -(2**63), 10**30, 1.5, -0.0, 1e300, 1e-320, 3 + 4j]
NUMBERS += [
    float("nan"),
    float("inf"),
    -float("inf"),
    complex("nan"),
    True,
    np.int64(2),
    np.float32(2.5),
    np.uint8(255),
]
PLAIN = [
    None,
    "",
    "X",
    "XY",
    "N",
    "abc",
    "float64",
    "complex64",
    "cpu",
    "sim:0",
    "sim:99",
    "cuda:0",
    "reduced",
    "X\0Y",
    "é",
]
PLAIN += [
    b"",
    b"abc",
    bytearray(b"xyz"),
    memoryview(b"abcd"),
    range(0),
    range(5),
    range(10, 0, -3),
    range(2**62),
    (),
    [],
]
PLAIN += [[[]], [1, 2, 3], (2, 3), (5, 5), [1.0, "a"], [None], {1, 2}, {}, {"X": 2}, {"R": 2**40}, {"X": -1}, {0: 1.5}]
PLAIN += [slice(None), slice(1, None, 2), slice(None, None, -1), slice(2**62, -(2**62), 2**40), Ellipsis, object, int]
PLAIN += [(0, 1), (-1, -2), (2**40, 2**40), (2**31, 2**31, 2), (3, -1), ("X", "Y"), (("X",), ("K",)), [[1, 2], [3]]]
MADE = [
    lambda: Raises(),
    lambda: Lies(),
    lambda: Odd(),
    lambda: raises,
    lambda: lambda *a, **k: a[0] if a else None,
    lambda: lambda *a, **k: "text",
    endless_list,
    lambda: endless_with(np.ones(1)),
    lambda: endless_with(ts.ones(1)),
    lambda: endless_with(ts.dist.ones(1)),
    lambda: endless_with(ts.Identity(("X",))),
    lambda: endless_with(ts.matrix.Identity(2)),
    lambda: endless_with("X"),
    only_itself,
    shrinking_list,
    shrinking_numbers,
    lambda: Growing(X=1),
    deep_list,
    used_capsule,
    lambda: iter([1, 2, 3]),
    lambda: (x for x in [1.0, 2.0]),
    lambda: np.ones((2, 3)),
    lambda: np.arange(12.0).reshape(3, 4)[:, ::-2],
    lambda: np.zeros((0, 3)),
    lambda: np.array(2.5),
    lambda: np.arange(5),
    lambda: np.array([True, False, True]),
    lambda: np.array([1 + 2j, np.nan]),
    lambda: np.array([1, "a", None], dtype=object),
    lambda: np.array(["a", "b"]),
    lambda: np.array([1, 2], "datetime64[s]"),
    lambda: np.ones(3, ">f8"),
    lambda: np.ones(4, "f2"),
    lambda: np.zeros(2, [("a", "f4"), ("b", "i8")]),
    lambda: np.broadcast_to(np.float64(1.0), (2000, 1500)),
    lambda: np.eye(5),
    lambda: ts.ones((2, 3)),
    lambda: ts.ones((5, 5)),
    lambda: ts.arange(5),
    lambda: ts.zeros((0, 3)),
    lambda: ts.full((), 2.5),
    lambda: ts.ones(3, "complex64"),
    lambda: ts.ones((2, 3), "float32", device="sim:0"),
    lambda: ts.asarray([True, False, True]),
    lambda: ts.broadcast_to(ts.ones(1), (4, 3)),
    lambda: ts.arange(24).reshape(2, 3, 4)[:, ::-1, 1::2],
    lambda: ts.dist.zeros((5, 5)),
    lambda: ts.dist.ones((4, 3), split=0),
    lambda: ts.dist.arange(7, split=0),
    lambda: ts.dist.ones((2, 3, 4), split=2),
    lambda: ts.dist.zeros((0, 3), split=1),
    lambda: ts.matrix.Diagonal(np.ones(3)),
    lambda: ts.matrix.Triangular(np.triu(np.ones((5, 5)))),
    lambda: ts.matrix.TriangularBit(3),
    lambda: ts.matrix.Bit(np.eye(5) > 0),
    lambda: ts.matrix.Symmetric(np.eye(3)),
    lambda: ts.matrix.Identity(4),
    lambda: ts.Dense(np.ones((3, 2)), "MN", "N", "M"),
    lambda: ts.Diagonal(np.arange(3.0), ("X",)),
    lambda: ts.FFT(1, grid_shapes=(("X",), ("K",))),
    lambda: ts.Identity(("X",)),
    lambda: ts.Scalar(2.0),
    lambda: ts.Repeat({"R": 3}, "X", "RX"),
    lambda: ts.float32,
    lambda: ts.Device("cpu"),
    lambda: ts.BatchSpec({"X": 1}),
    lambda: ts.Dim("X"),
    lambda: ts.Generator(3),
    lambda: ts.Checkpoint("run.npz"),
]


class Run:
    """Cases of one seed, one after the other; what they make is an argument of later ones."""

    def __init__(self, seed):
        self.seed = seed
        self.known = callables()
        self.names = dict(self.known)
        self.kept = []

    def value(self, draw):
        """Some value, and words for it."""
        kind = draw.random()
        if kind < 0.2:
            v = draw.choice(NUMBERS)
            return v, repr(v)
        if kind < 0.4:
            v = draw.choice(PLAIN)
            return v, repr(v)
        if kind < 0.5 and self.kept:
            at = draw.randrange(len(self.kept))
            return self.kept[at], f"kept[{at}]:{type(self.kept[at]).__name__}"
        if kind < 0.55:
            parts = [self.value(draw) for _ in range(draw.randrange(4))]
            made = [p[0] for p in parts]
            words = ", ".join(p[1] for p in parts)
            return (made, f"[{words}]") if draw.random() < 0.5 else (tuple(made), f"({words},)")
        at = draw.randrange(len(MADE))
        try:
            return MADE[at](), f"made[{at}]"
        except (MemoryError, ts.Error):  # the limits of the process, or a device that an earlier call lost
            return None, "None"

    def target(self, draw):
        """A function and its name: public ones, methods of values, settings, which stay as they were set."""
        if draw.random() < 0.01:
            name = draw.choice([n for n in dir(ts.config) if n not in SETTINGS_LEFT_OUT])
            return lambda *a, **k: setattr(ts.config, name, a[0] if a else None), f"ts.config.{name}.set"
        if draw.random() < 0.6:
            name, function = draw.choice(self.known)
            return function, name
        owner, words = self.value(draw)
        if not type(owner).__module__.startswith(("tessera", "_tessera")):
            name, function = draw.choice(self.known)
            return function, name
        names = [n for n in dir(owner) if not n.startswith("_")] + [n for n in DUNDERS if hasattr(type(owner), n)]
        name = draw.choice(names)
        if draw.random() < 0.05:
            return lambda *a, **k: setattr(owner, name, a[0] if a else None), f"setattr({words}, {name!r})"
        # Looked up when called: a property is a call too.
        return (
            lambda *a, **k: (lambda got: got(*a, **k) if callable(got) else got)(getattr(owner, name)),
            f"{words}.{name}",
        )

    def case(self, number, tell):
        """Calls; an exception that a caller can make something of is fine. Returns what is not, or None."""
        draw = random.Random(f"{self.seed}:{number}")
        function, name = self.target(draw)
        given = [self.value(draw) for _ in range(draw.choice((0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5)))]
        options = keywords_of(self.names[name]) if name in self.names else KEYWORDS
        options = {draw.choice(options or KEYWORDS): self.value(draw) for _ in range(draw.choice((0, 0, 0, 1, 1, 2)))}
        words = ", ".join([w for _, w in given] + [f"{k}={w}" for k, (_, w) in options.items()])
        tell(f"{number} {name}({words})")
        try:
            result = function(*[v for v, _ in given], **{k: v for k, (v, _) in options.items()})
            left_over()
            self.look_at(result)
        except SystemError as e:
            return f"SystemError: {e}"
        except BaseException as e:  # noqa: BLE001
            return improper(e)
        finally:
            given = options = result = function = None
            if number % 50 == 49:
                gc.collect()
        return None

    def look_at(self, result):
        repr(result)
        if result is None or isinstance(result, (bool, int, float, complex, str, type)):
            return
        if len(self.kept) < 40:
            self.kept.append(result)
        else:
            self.kept[len(repr(type(result))) * 7 % 40] = result


def left_over():
    """Raises what a call that gave a result left set: slots of types are not looked at by the interpreter."""
    try:
        ctypes.pythonapi.PyErr_Occurred()
    except BaseException as e:
        raise SystemError(f"the call gave a result and left an exception: {e!r}") from None


def improper(e):
    """What a caller should never see, in words."""
    text = str(e) if not isinstance(e, ZeroDivisionError) else ""
    if isinstance(e, (KeyboardInterrupt, SystemExit)):
        return f"{type(e).__name__}: {text}"
    for words in ("std::", "bad_alloc", "unknown C++", "vector::", "basic_string", "map::at"):
        if words in text:
            return f"{type(e).__name__}: {text[:300]}"
    return None
