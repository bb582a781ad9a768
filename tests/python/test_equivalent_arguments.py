# SPDX-License-Identifier: Apache-2.0
"""A whole number is whatever counts as one in Python: NumPy's of any width, an array without axes, a tensor of PyTorch. So
is a number, and so are flags. Every public function is called as its example calls it, with one argument replaced by each
of its equals: the result is the same. Axes and flags that the example leaves away are given as well.
"""

import ast
import contextlib
import copy
import doctest
import importlib
import importlib.util
import inspect
import io
import zlib

import numpy as np
import pytest

import tessera as ts

torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
MODULES = ["", "linalg", "fft", "random", "stored", "solve", "names", "matrix", "scipy", "imaging"]
MODULES += ["dist", "dist.linalg", "compat.heat", "compat.heat.linalg"]
AXES = {"axis", "axes", "dim", "axis1", "axis2", "source", "destination"}
# What ends a shell or changes what all later calls do, and what takes seconds.
LEFT_OUT = {"BreakpointLinop", "Sleep", "doctor", "seed", "set_memory_budget", "set_backing_dir", "run_ranks", "recon"}
LEFT_OUT |= {"use_comm", "use_device", "clear_kernel_trace", "clear_io_trace", "set_precision_mode", "brain_web"}
# An operand, of which the kind of the number is part of the meaning; times and bytes that no two calls share; elements
# of a matrix that an array is, and its size that a number is.
KINDS = {"result_type", "can_cast", "promote_types", "Choice", "Resolved", "memory_stats", "AntiSymmetric", "Symmetric"}
KINDS |= {"permutation", "isscalar", "default_to", "LstsqResult"}
# Draws without a seed of their own.
DRAWS = {"normal", "uniform", "integers", "randn", "rand", "randint", "random", "randperm", "shuffle", "choice"}


def equals(x, inner=False):
    """Name and value of each equal of an argument."""
    if isinstance(x, bool):
        found = {"np.bool": np.bool_(x), "0 or 1": int(x)}
    elif isinstance(x, int) and abs(x) < 2**31:
        found = {"np.int64": np.int64(x), "0-d": np.array(x), "0-d of ours": ts.asarray(x)}
        if 0 <= x < 128:
            found["np.uint8"] = np.uint8(x)
    elif isinstance(x, float) and np.isfinite(x):
        found = {"np.float64": np.float64(x), "0-d": np.array(x), "0-d of ours": ts.asarray(x)}
    elif isinstance(x, (tuple, list)) and not inner and x and all(type(i) is int for i in x):
        found = {f"of {name}": type(x)(equals(i, True)[name] for i in x) for name in ("np.int64", "0-d")}
    else:
        return {}
    if torch and not inner and not isinstance(x, (bool, tuple, list)):
        found["a tensor"] = torch.tensor(x, dtype=torch.float64 if isinstance(x, float) else torch.int64)
    return found


def few_of(found, name):
    """One of them: what takes long to compute is not computed with all."""
    names = sorted(found)
    return {k: found[k] for k in names if k == names[zlib.crc32(name.encode()) % len(names)]}


def numbers(x):
    """What a result is made of."""
    if isinstance(x, (ts.Array, ts.dist.DNDarray, ts.stored.StoredArray, ts.matrix.AnyMatrix)):
        return np.asarray(x.to("cpu").numpy() if isinstance(x, ts.Array) else x.numpy())
    if isinstance(x, dict):
        return [numbers(v) for v in x.values()]
    if isinstance(x, (list, tuple)):
        return [numbers(v) for v in x]
    if isinstance(x, ts.NamedLinop):
        return x.tree()
    if hasattr(x, "history") and hasattr(x, "x"):
        return numbers([x.x, x.iterations])
    return np.asarray(x) if isinstance(x, (bool, int, float, complex, np.generic, np.ndarray)) else type(x).__name__


def same(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray) and a.dtype.kind in "biufc":
        with np.errstate(all="ignore"):  # single precision where a number has a precision of its own
            return a.shape == getattr(b, "shape", None) and np.allclose(a, b, 1e-3, 1e-5, equal_nan=True)
    return type(a) is type(b) and (isinstance(a, np.ndarray) or a == b)


def functions(module):
    home = importlib.import_module("tessera" + ("." if module else "") + module)
    for name in sorted(getattr(home, "__all__", None) or dir(home)):
        value = getattr(home, name, None)
        ours = str(getattr(value, "__module__", None) or "tessera").startswith(("tessera", "_tessera"))
        if name.startswith("_") or name in LEFT_OUT | KINDS | DRAWS or not callable(value) or not ours:
            continue
        if not (isinstance(value, type) and (issubclass(value, BaseException) or issubclass(value, ts.DType))):
            yield home, name, value


def calls_of(home, name, function):
    """The calls of the example, which end well."""
    found = []

    def record(*args, **kwargs):
        result = function(*args, **kwargs)
        found.append((args, dict(kwargs)))
        return result

    space = {"ts": ts, "np": np, "__name__": "example", **vars(home), name: record}
    if "heat" in home.__name__:
        space["ht"] = importlib.import_module("tessera.compat.heat")
    setattr(home, name, record)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for example in doctest.DocTestParser().get_examples(function.__doc__ or ""):
                exec(compile(ast.parse(example.source), name, "exec"), space)
    except Exception:  # noqa: BLE001 that examples run is another test's
        pass
    finally:
        setattr(home, name, function)
    return found[:3]


def cases(function, calls):
    """(args, kwargs, key) of what is replaced: of arguments that are given, and of some that are not."""
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):
        known = {}
    for args, kwargs in calls:
        for key in [*range(len(args)), *kwargs]:
            yield args, kwargs, key
        for name, p in known.items():
            if name in [*list(known)[: len(args)], *kwargs] or p.kind not in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD):
                continue
            values = [0, (0,), (0, 1)] if name in AXES else [not p.default] if isinstance(p.default, bool) else []
            for value in values:
                yield args, {**kwargs, name: value}, name


def called(function, args, kwargs):
    ts.random.seed(3)
    args, kwargs = copy.deepcopy((args, kwargs))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return numbers(function(*args, **kwargs))


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.filterwarnings("ignore")
def test_equal_arguments_give_equal_results(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong, count = [], 0
    for home, name, function in functions(module):
        for args, kwargs, key in cases(function, calls_of(home, name, function)):
            given = args[key] if isinstance(key, int) else kwargs[key]
            others = equals(given)
            if others and module == "imaging":
                others = few_of(others, f"{name} {key}")
            if not others:
                continue
            try:
                want = called(function, args, kwargs)
            except Exception:  # noqa: BLE001 what is refused, or cannot be copied
                continue
            for words, value in others.items():
                count += 1
                if isinstance(key, int):
                    more = ((*args[:key], value, *args[key + 1 :]), kwargs)
                else:
                    more = (args, {**kwargs, key: value})
                try:
                    got = called(function, *more)
                except Exception as error:  # noqa: BLE001
                    wrong.append(f"{name}({key}={given!r} as {words}): {type(error).__name__}: {str(error)[:150]}")
                    continue
                if not same(want, got):
                    wrong.append(f"{name}({key}={given!r} as {words}): {str(want)[:100]} is {str(got)[:100]}")
    assert not wrong, f"{len(wrong)} of {count}\n" + "\n".join(wrong[:60])
    assert count > 0
