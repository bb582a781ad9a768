# SPDX-License-Identifier: Apache-2.0
"""What ``inspect.signature`` says of compiled functions, methods and classes; editors complete keywords by it."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any


def signature_of(target: Any) -> inspect.Signature:
    """The signature of a compiled function, method or class.

    >>> import inspect, tessera as ts
    >>> list(inspect.signature(ts.Dense).parameters)[:2]
    ['weight', 'weightshape']

    Called by the attribute ``__signature__`` of those: an AttributeError leaves the answer to Python's own rules.
    """
    if isinstance(target, type):
        return _without_first(_of_function(_constructor(target)))
    bound = getattr(target, "__self__", None) is not None and type(target).__name__ == "nb_bound_method"
    return _without_first(_of_function(target)) if bound else _of_function(target)


def _constructor(kind: type) -> Any:
    """What makes objects of a class, where it is compiled."""
    for name in ("__init__", "__new__"):
        for base in kind.__mro__:
            made = base.__dict__.get(name)
            if made is None:
                continue
            made = getattr(made, "__func__", made)
            if hasattr(made, "__nb_signature__") and _overload(made.__nb_signature__) is not None:
                return made
            if inspect.isfunction(made):
                raise AttributeError("__signature__")
            break
    raise AttributeError("__signature__")


def _overload(overloads: Any) -> Any:
    """Of several the one that says most; the ones that nanobind adds for unpickling say nothing."""
    told = [o for o in overloads if "(arg: object, /)" not in o[0] and o[0] != "def __init__(self, *args, **kwargs)"]
    return max(told, key=lambda o: o[0].rpartition("def ")[2].count(","), default=None)


def _of_function(function: Any) -> inspect.Signature:
    chosen = _overload(function.__nb_signature__)
    if chosen is None:
        raise AttributeError("__signature__")
    text, _, defaults = chosen
    # Where it lists several, the last one; values by default are numbered.
    text = re.sub(r"\\(\d+)", r"_given[\1]", text[text.rfind("def ") :])
    try:
        parsed = ast.parse(text.rstrip(": .") + ": ...").body[0]
    except SyntaxError:
        raise AttributeError("__signature__") from None
    assert isinstance(parsed, ast.FunctionDef)
    kinds, given = parsed.args, defaults or ()
    positional: list[tuple[ast.arg, Any]] = [(a, inspect.Parameter.POSITIONAL_ONLY) for a in kinds.posonlyargs]
    positional += [(a, inspect.Parameter.POSITIONAL_OR_KEYWORD) for a in kinds.args]
    values = [None] * (len(positional) - len(kinds.defaults)) + list(kinds.defaults)
    found = [_parameter(a, kind, value, given) for (a, kind), value in zip(positional, values, strict=True)]
    if kinds.vararg:
        found.append(_parameter(kinds.vararg, inspect.Parameter.VAR_POSITIONAL, None, given))
    for a, value in zip(kinds.kwonlyargs, kinds.kw_defaults, strict=True):
        found.append(_parameter(a, inspect.Parameter.KEYWORD_ONLY, value, given))
    if kinds.kwarg:
        found.append(_parameter(kinds.kwarg, inspect.Parameter.VAR_KEYWORD, None, given))
    returns = inspect.Signature.empty if parsed.returns is None else ast.unparse(parsed.returns)
    return inspect.Signature(found, return_annotation=returns)


def _parameter(argument: ast.arg, kind: Any, value: ast.expr | None, given: Any) -> inspect.Parameter:
    default: Any = inspect.Parameter.empty
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        default = given[value.slice.value]
    elif value is not None:
        try:
            default = ast.literal_eval(value)
        except ValueError:
            default = ...  # written as in a stub: there is one
    told = inspect.Parameter.empty if argument.annotation is None else ast.unparse(argument.annotation)
    return inspect.Parameter(argument.arg, kind, default=default, annotation=told)


def _without_first(whole: inspect.Signature) -> inspect.Signature:
    return whole.replace(parameters=list(whole.parameters.values())[1:])
