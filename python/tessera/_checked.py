# SPDX-License-Identifier: Apache-2.0
"""Arguments of public functions are what their annotations say: otherwise a sentence names the function, the argument,
what was given and what was expected, before the function begins. Functions that take whatever another library takes
say little by their annotations: what Python says of an object inside of them becomes such a sentence as well.

>>> from tessera._checked import checked
>>> def radial(spokes: int, turn: float = 0.0): ...
>>> checked(radial)("many")
Traceback (most recent call last):
tessera.ArgumentError: radial: spokes is 'many'; expected a whole number
"""

from __future__ import annotations

import collections.abc
import dis
import functools
import inspect
import numbers
import operator
import sys
import types
import typing
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple

from . import _tessera as _core

Numbers = Annotated[Any, "numbers"]
"""An array with an axis at least, or what one is made of, of numbers."""

Operand = Annotated[Any, "operand"]
"""An array, on disk or in memory, or a number: not None."""

_MOST = 64  # of a sequence of sizes or axes: no array has more
_Union = (typing.Union, types.UnionType)


class Kind(NamedTuple):
    """Whether a value is of a kind, the words for that kind, what is raised where it is of another, and what the
    function is given in its place."""

    holds: Callable[[Any], bool]
    words: str
    error: type[Exception] = _core.ArgumentError
    made: Callable[[Any], Any] | None = None


def is_whole(x: Any) -> bool:
    """Whether it is a whole number: of Python, of NumPy, or an array without axes.

    >>> from tessera._checked import is_whole
    >>> is_whole(np.uint8(3)), is_whole(ts.asarray(3)), is_whole(np.array([3])), is_whole(3.0)
    (True, True, False, False)
    """
    try:
        operator.index(x)
    except TypeError:
        return False
    return isinstance(x, int) or getattr(x, "shape", ()) == ()


def axes_of(axis: Any, ndim: int) -> list[int]:
    """The axes that an argument names: one, several, or all with None.

    >>> from tessera._checked import axes_of
    >>> axes_of(np.int64(-1), 3), axes_of((0, 2), 3), axes_of(None, 2)
    ([-1], [0, 2], [0, 1])
    """
    return list(range(ndim)) if axis is None else whole_numbers(axis)


def whole_numbers(x: Any) -> list[int]:
    """One whole number, or several, as a list.

    >>> from tessera._checked import whole_numbers
    >>> whole_numbers(np.int64(3)), whole_numbers((4, np.uint8(5)))
    ([3], [4, 5])
    """
    return [operator.index(x)] if is_whole(x) else [operator.index(a) for a in x]


def _is_whole(x: Any) -> bool:
    return is_whole(x) and -(2**63) <= operator.index(x) < 2**63


def _kind_letter(x: Any) -> str:
    """Of the dtype of an array without axes, of NumPy or of ours."""
    return getattr(getattr(x, "dtype", None), "kind", "") if getattr(x, "shape", None) == () else ""


def _is_number(x: Any) -> bool:
    if isinstance(x, int):
        return _is_whole(x)  # no double is that exact beyond
    if isinstance(x, numbers.Real) or _kind_letter(x):
        return isinstance(x, numbers.Real) or _kind_letter(x) in tuple("iuf")
    return getattr(x, "shape", None) == () and hasattr(x, "is_complex") and not x.is_complex()  # of PyTorch


def _number_of(x: Any) -> Any:
    """What any library takes for a number: fractions and arrays without axes have operators of their own."""
    if isinstance(x, int | float):
        return x
    return operator.index(x) if is_whole(x) else float(x)


def _is_flag(x: Any) -> bool:
    return _kind_letter(x) == "b" or (isinstance(x, int) and x in (0, 1))


def _are_numbers(x: Any) -> bool:
    """Of lists and the like an array is made; what is one already, on whatever device, is not looked at."""
    if isinstance(x, str | bytes | bytearray | memoryview | dict | set | type) or not hasattr(x, "__len__"):
        return False
    if not hasattr(x, "dtype"):
        if isinstance(x, collections.abc.Sized) and not isinstance(x, list | tuple) and len(x) > 2**32:
            return False
        import numpy

        try:
            x = numpy.asarray(x)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return False
    kind = getattr(x.dtype, "kind", None)
    if getattr(x, "shape", None) == ():
        return False
    return kind is None or kind in tuple("biufc")  # those of other libraries have names of their own


def _are(one: Kind, most: int) -> Callable[[Any], bool]:
    def holds(x: Any) -> bool:
        if isinstance(x, str | bytes | collections.abc.Mapping | collections.abc.Set) or not hasattr(x, "__len__"):
            return False
        try:
            return len(x) <= most and all(one.holds(part) for part in x)
        except TypeError:  # an array without axes
            return False

    return holds


_NAMES = {"PathLike": "a path", "Array": "an array", "NamedLinop": "an operator", "StoredArray": "an array on disk"}
WHOLE = Kind(_is_whole, "a whole number", made=operator.index)  # NumPy's have not all that those of Python have
NUMBER = Kind(_is_number, "a number", made=_number_of)
_NAMED = {
    "numbers": Kind(_are_numbers, "an array of numbers"),
    "operand": Kind(lambda x: x is not None, "an array or a number"),
}
_PLAIN = {
    int: WHOLE,
    float: NUMBER,
    bool: Kind(_is_flag, "True or False", made=bool),
    str: Kind(lambda x: isinstance(x, str), "text"),
    types.NoneType: Kind(lambda x: x is None, "None"),
}


def kind_of(annotation: Any) -> Kind | None:
    """What an annotation asks for; None where that is anything."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation is None:
        return _PLAIN[types.NoneType]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _NAMED.get(parts[-1])
    if origin in _Union:
        return _one_of([kind_of(part) for part in parts])
    if origin in (collections.abc.Sequence, collections.abc.Iterable):
        one = kind_of(parts[0])
        return one and Kind(_are(one, _MOST if one is WHOLE else 2**24), f"a list, of each element {one.words}")
    if origin is collections.abc.Callable:
        return Kind(callable, "a function")
    kind = origin or annotation
    if not isinstance(kind, type) or kind in (Any, object):
        return None
    if kind.__name__ == "ndarray":
        return _NAMED["numbers"]
    return Kind(lambda x: isinstance(x, kind), _NAMES.get(kind.__name__, f"a {kind.__name__}"), _core.DTypeError)


def _one_of(kinds: list[Kind | None]) -> Kind | None:
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return None
    words = [kind.words for kind in known if kind.words != "None"]
    words = ["a path"] if words == ["text", "a path"] else words
    told = words if len(words) == len(known) else [*words, "None"]
    errors = {kind.error for kind in known if kind.words != "None"}
    error = errors.pop() if len(errors) == 1 else _core.ArgumentError

    def made(x: Any) -> Any:
        ways = [kind.made for kind in known if kind.holds(x)]
        return x if None in ways or not ways[0] else ways[0](x)

    makes = made if any(kind.made for kind in known) else None
    return Kind(lambda x: any(kind.holds(x) for kind in known), " or ".join(told), error, makes)


def shown(x: Any, parts: int = 4) -> str:
    """A value in few words; of what is not Python's own, its type."""
    if x is None or isinstance(x, bool | int | float | complex | str | bytes):
        text = ascii(x) if isinstance(x, str) and not x.isprintable() else repr(x)
        return text if len(text) <= 60 else f"{text[:56]}..."
    if isinstance(x, type):
        return f"the type {x.__name__}"
    if type(x) in (tuple, list) and parts:
        text = ", ".join([shown(part, 0) for part in x[:parts]] + ["..."] * (len(x) > parts))
        return f"[{text}]" if isinstance(x, list) else f"({text},)" if len(x) == 1 else f"({text})"
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    described = f" of {dtype}, shape {tuple(shape)}" if isinstance(shape, tuple) and dtype is not None else ""
    return f"a {type(x).__name__}{described}"


def _kinds_of(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, Kind]:
    """Of the parameters that ask for something; None is always right where it is the default."""
    found = {}
    space = vars(sys.modules[function.__module__]) if function.__module__ in sys.modules else {}
    for name, parameter in signature.parameters.items():
        annotation = parameter.annotation
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, dict(space))
            except NameError:  # a name that only type checkers see
                continue
        kind = None if annotation is parameter.empty else kind_of(annotation)
        if kind is not None and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            found[name] = kind if parameter.default is not None or kind.holds(None) else _one_of([kind, kind_of(None)])
    return {name: kind for name, kind in found.items() if kind is not None}


# What Python raises for an object that is not what a function takes it for. Other errors are about something else.
_ACCIDENTS: tuple[type[Exception], ...] = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
_ACCIDENTS += (AssertionError, RecursionError, BufferError)
_WORKERS = {"tessera", "numpy", "scipy", "torch", "jax", "jaxlib", "h5py", "einops"}


def _is_accident(error: BaseException) -> bool:
    """Whether Python, or a library that works for us, tripped over an argument: not what our own lines raise, and not
    what a caller's function or object raises."""
    if isinstance(error, _core.Error):
        return False
    trace = error.__traceback__ and error.__traceback__.tb_next  # without the frame that asks
    if trace is None:  # the function did not begin
        return True
    home = "tessera"  # of the function
    while trace.tb_next is not None:
        trace = trace.tb_next
        home = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if home not in _WORKERS and home not in sys.stdlib_module_names:
            return False
    raised = dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")
    return home != "tessera" or not raised or isinstance(error, AssertionError)


def _told(who: str, error: Exception, given: Iterable[tuple[str, Any]]) -> Exception:
    """A sentence in place of what Python said."""
    try:
        said = (str(error).splitlines() or [""])[0].partition(". The following")[0][:200]
    except Exception:  # noqa: BLE001 of an object that cannot be written down
        said = ""
    if isinstance(error, KeyError) or not said:
        said = f"{type(error).__name__} {said}".strip()
    arguments = ", ".join(f"{name}={shown(value)}" for name, value in given)
    kind: type[_core.Error] = _core.IndexError if isinstance(error, IndexError) else _core.ArgumentError
    if isinstance(error, TypeError | AttributeError):
        kind = _core.DTypeError
    return kind(f"{who} cannot take {arguments or 'nothing'}: {said}")


def guarded(function: Callable[..., Any], who: str | None = None) -> Callable[..., Any]:
    """The function, with a sentence in place of what Python says of the objects that it was given.

    >>> from tessera._checked import guarded
    >>> guarded(lambda x: x.shape, "size_of")(3)
    Traceback (most recent call last):
    tessera.DTypeError: size_of cannot take x=3: 'int' object has no attribute 'shape'
    """
    told, known = who or function.__name__, inspect.signature(function).parameters.values()
    names = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except _ACCIDENTS as error:
            if not _is_accident(error):
                raise
            places = [*names[: len(args)], *(f"argument {i + 1}" for i in range(len(names), len(args)))]
            given = [(name, value) for name, value in zip(places, args, strict=True) if name != "self"]
            raise _told(told, error, [*given, *kwargs.items()]) from error

    call._is_checked = True  # type: ignore[attr-defined]
    return call


def checked(function: Callable[..., Any], who: str | None = None) -> Callable[..., Any]:
    """The function, whose arguments are looked at before it is called; itself where its annotations ask for nothing."""
    signature = inspect.signature(function)
    kinds, told = _kinds_of(function, signature), who or function.__name__
    if not kinds:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:  # Python says it by the name of the function
            return function(*args, **kwargs)
        given = bound.arguments
        for name in given.keys() & kinds.keys():
            kind, value = kinds[name], given[name]
            if not kind.holds(value):
                raise kind.error(f"{told}: {name} is {shown(value)}; expected {kind.words}")
            if kind.made:
                given[name] = kind.made(value)
        return function(*bound.args, **bound.kwargs)

    call._is_checked = True  # type: ignore[attr-defined]
    return call


def check_arguments(module: dict[str, Any], names: Iterable[str], prefix: str = "", guard: bool = False) -> None:
    """Has the calls of functions, constructors and methods of these names of a module looked at; sentences begin with
    the prefix. With ``guard`` they are `guarded` as well."""

    def looked_at(function: Callable[..., Any], who: str) -> Callable[..., Any]:
        return checked(guarded(function, who), who) if guard else checked(function, who)

    for name in names:
        value = module[name]
        if inspect.isfunction(value) and not hasattr(value, "_is_checked"):
            module[name] = made = looked_at(value, prefix + name)
            home = sys.modules[value.__module__]
            if getattr(home, name, None) is value:
                setattr(home, name, made)  # where pickles look for it
        elif inspect.isclass(value) and value.__module__.startswith("tessera"):
            for key, member in list(vars(value).items()):
                if inspect.isfunction(member) and (key == "__init__" or not key.startswith("_")):
                    setattr(value, key, looked_at(member, prefix + (name if key == "__init__" else f"{name}.{key}")))
