# SPDX-License-Identifier: Apache-2.0
"""Heat's functions of arrays over ``ts.dist``: most are ours under its order of arguments, with its dtypes."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from ... import dist as _dist
from ..._distributions import is_whole
from ._array import DNDarray, ours, theirs
from ._calls import _array, binary, call, into, into_where, operands, reduction, rounding, same, unary
from ._factories import array
from ._types import canonical, promote_types

_UNARY = (
    "abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh "
    "bitwise_not ceil conj conjugate cos cosh exp exp2 expm1 floor imag invert isfinite isinf isnan log log10 "
    "log1p log2 logical_not negative positive real sign signbit sin sinh sqrt square tan tanh trunc"
).split()
_BINARY = (
    "add arctan2 atan2 bitwise_and bitwise_or bitwise_xor copysign divide floor_divide greater greater_equal "
    "hypot left_shift less less_equal logaddexp logical_and logical_or logical_xor maximum minimum mod "
    "multiply not_equal power remainder right_shift subtract"
).split()
_ALIASES = {
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "floordiv": "floor_divide",
    "pow": "power",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_REDUCTIONS = "all any max min nanprod nansum prod sum".split()
_SAME = (
    "broadcast_arrays broadcast_to column_stack concatenate diff dsplit expand_dims hsplit "
    "hstack moveaxis ravel repeat roll split squeeze stack swapaxes tile tril triu vsplit vstack"
).split()

FUNCTIONS: dict[str, Callable[..., Any]] = {}
FUNCTIONS |= {name: unary(name) for name in _UNARY}
FUNCTIONS |= {"neg": unary("neg", "negative"), "pos": unary("pos", "positive"), "fabs": unary("fabs", "abs")}
FUNCTIONS |= {name: binary(name) for name in _BINARY}
FUNCTIONS |= {name: binary(name, ours_name) for name, ours_name in _ALIASES.items()}
FUNCTIONS |= {name: reduction(name) for name in _REDUCTIONS}
FUNCTIONS |= {name: same(name) for name in _SAME}
FUNCTIONS |= {name: same(name, copies=True) for name in ("flip", "fliplr", "flipud", "rot90")}
FUNCTIONS["row_stack"] = same("row_stack", "vstack")
FUNCTIONS["flatten"] = same("flatten", "ravel")


def _offered(function: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS[function.__name__] = function
    return function


@_offered
def equal(x: Any, y: Any) -> bool:
    """Whether two arrays have the same elements; element by element it is ``ht.eq``.

    >>> ht.equal(ht.arange(2), ht.array([0, 1]))
    True
    """
    x, y = _array(x), _array(y)
    return x.shape == y.shape and bool(_dist.array_equal(x.dist, y.dist))


@_offered
def allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are nearly equal.

    >>> ht.allclose(ht.ones(2), 1.0)
    True
    """
    return bool(_dist.allclose(ours(_array(x)), ours(y), rtol, atol, equal_nan))


@_offered
def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> DNDarray:
    """Where elements are nearly equal.

    >>> ht.isclose(ht.arange(2), 1).tolist()
    [False, True]
    """
    return call(_dist.isclose, _array(x), y, rtol, atol, equal_nan)  # type: ignore[no-any-return]


@_offered
def isneginf(x: Any, out: Any = None) -> Any:
    """Where elements are minus infinity.

    >>> ht.isneginf([-ht.inf, 0.0]).tolist()
    [True, False]
    """
    return into(out, _array(x) == -float("inf"))  # type: ignore[operator]


@_offered
def isposinf(x: Any, out: Any = None) -> Any:
    """Where elements are plus infinity.

    >>> ht.isposinf([ht.inf, 0.0]).tolist()
    [True, False]
    """
    return into(out, _array(x) == float("inf"))


@_offered
def iscomplex(x: Any) -> Any:
    """Where elements have an imaginary part.

    >>> ht.iscomplex([1j, 1]).tolist()
    [True, False]
    """
    return _array(x).imag != 0


@_offered
def isreal(x: Any) -> Any:
    """Where elements have no imaginary part.

    >>> ht.isreal([1j, 1]).tolist()
    [False, True]
    """
    return _array(x).imag == 0


@_offered
def deg2rad(x: Any, out: Any = None) -> Any:
    """Angles in radians.

    >>> round(ht.deg2rad([180.0]).item(), 3)
    3.142
    """
    return into(out, FUNCTIONS["mul"](rounding(_array(x)), _dist.pi / 180))


@_offered
def rad2deg(x: Any, out: Any = None) -> Any:
    """Angles in degrees.

    >>> round(ht.rad2deg([ht.pi]).item())
    180
    """
    return into(out, FUNCTIONS["mul"](rounding(_array(x)), 180 / _dist.pi))


FUNCTIONS |= {"radians": deg2rad, "degrees": rad2deg}


@_offered
def sgn(x: Any, out: Any = None) -> Any:
    """The sign, of complex numbers their direction.

    >>> ht.sgn([-2.0, 0.0]).tolist(), ht.sgn([3j]).tolist()
    ([-1.0, 0.0], [1j])
    """
    return into(out, call(_dist.sign, _array(x)))


@_offered
def fmod(t1: Any, t2: Any, /, out: Any = None, *, where: Any = True) -> Any:
    """What is left of a division, with the sign of the dividend.

    >>> ht.fmod([-5.0, 5.0], 3).tolist()
    [-2.0, 2.0]
    """
    t1, t2 = operands(t1 if isinstance(t2, DNDarray) else _array(t1), t2)
    rest = FUNCTIONS["mod"](builtins.abs(t1), builtins.abs(t2))
    return into_where("fmod", out, where, call(_dist.where, t1 < 0, -rest, rest))


@_offered
def divmod(
    t1: Any, t2: Any, out1: Any = None, out2: Any = None, /, out: Any = (None, None), *, where: Any = True
) -> tuple[Any, Any]:
    """Quotient, rounded down, and remainder.

    >>> [part.tolist() for part in ht.divmod([5, -5], 3)]
    [[1, -2], [2, 1]]
    """
    t1, t2 = operands(t1, t2)
    parts = FUNCTIONS["floor_divide"](t1, t2), FUNCTIONS["mod"](t1, t2)
    one, other = (given if given is not None else each for given, each in zip((out1, out2), out, strict=True))
    return into_where("divmod", one, where, parts[0]), into_where("divmod", other, where, parts[1])


@_offered
def modf(x: Any, out: Any = None) -> tuple[Any, Any]:
    """Fraction and whole part, both with the sign of x.

    >>> [part.tolist() for part in ht.modf([1.5, -2.25])]
    [[0.5, -0.25], [1.0, -2.0]]
    """
    x = _array(x)
    whole = call(_dist.trunc, x)
    one, other = (None, None) if out is None else out
    return into(one, x - whole), into(other, whole)


@_offered
def logaddexp2(t1: Any, t2: Any, /, out: Any = None, *, where: Any = True) -> Any:
    """log2(2^a + 2^b).

    >>> ht.logaddexp2([1.0], [1.0]).tolist()
    [2.0]
    """
    ln2 = 0.6931471805599453
    scaled = [FUNCTIONS["mul"](_array(t), ln2) for t in (t1, t2)]
    return into_where("logaddexp2", out, where, call(_dist.logaddexp, *scaled) / ln2)


@_offered
def clip(x: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
    """The nearest values between bounds.

    >>> ht.clip(ht.arange(4), 1, 2).tolist()
    [1, 1, 2, 2]
    """
    x, given = _array(x), [bound for bound in (min, max) if bound is not None]
    bounds = iter(operands(x, *given)[1:])
    return into(out, call(_dist.clip, x, *(None if bound is None else next(bounds) for bound in (min, max))))


@_offered
def round(x: Any, decimals: int = 0, out: Any = None, dtype: Any = None) -> Any:
    """The nearest values with so many decimals.

    >>> ht.round([1.26], 1).dtype
    ht.float32
    """
    made = call(_dist.round, _array(x), decimals)
    return into(out, made if dtype is None else made.astype(dtype))


@_offered
def nan_to_num(a: Any, nan: float = 0.0, posinf: Any = None, neginf: Any = None, out: Any = None) -> Any:
    """Numbers in place of NaN and infinities.

    >>> ht.nan_to_num([ht.nan, 1.0]).tolist()
    [0.0, 1.0]
    """
    return into(out, call(_dist.nan_to_num, _array(a), True, nan, posinf, neginf))


def _accumulate(name: str, a: Any, axis: int, dtype: Any, out: Any) -> Any:
    a = _array(a)
    return into(out, theirs(getattr(_dist, name)(a.dist, axis, canonical(dtype or a.dtype).__name__)))


@_offered
def cumsum(a: Any, axis: int, dtype: Any = None, out: Any = None) -> Any:
    """Sums up to each element, in the array's dtype.

    >>> ht.cumsum(ht.arange(4, split=0), 0).tolist()
    [0, 1, 3, 6]
    """
    return _accumulate("cumsum", a, axis, dtype, out)


@_offered
def cumprod(a: Any, axis: int, dtype: Any = None, out: Any = None) -> Any:
    """Products up to each element, in the array's dtype.

    >>> ht.cumprod(ht.arange(1, 4), 0).tolist()
    [1, 2, 6]
    """
    return _accumulate("cumprod", a, axis, dtype, out)


FUNCTIONS["cumproduct"] = cumprod


@_offered
def where(cond: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds, else y; alone, the positions where it does, as ``nonzero`` gives them.

    >>> a = ht.arange(4, split=0); ht.where(a > 1, a, -1).tolist(), ht.where(a > 2).tolist()
    ([-1, -1, 2, 3], [3])
    """
    if x is None and y is None:
        return nonzero(cond)
    return call(_dist.where, cond, x, y)


@_offered
def nonzero(x: Any) -> DNDarray:
    """Positions of what is not zero: along one axis numbers, along several one row for each, which keys take apart.

    >>> x = ht.array([[0, 3], [4, 0]]); at = ht.nonzero(x); at.tolist(), x[at].tolist(), ht.nonzero(x[0]).tolist()
    ([[0, 1], [1, 0]], [3, 4], [1])
    """
    x = _array(x)
    return DNDarray(_dist.nonzero(x.dist)[0] if x.ndim == 1 else _dist.nonzero(x.dist, as_tuple=False))


@_offered
def reshape(a: Any, *shape: Any, new_split: int | None = None) -> DNDarray:
    """The same elements in another shape; ``new_split`` says along which axis they are distributed then.

    >>> ht.reshape(ht.arange(6, split=0), (2, 3)).split
    0
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and not is_whole(shape[0]) else shape
    a = _array(a)
    if new_split is None and a.split is not None and sizes:
        new_split = a.split if a.split < len(sizes) else 0
    return DNDarray(_dist.reshape(a.dist, sizes, new_split))


@_offered
def transpose(a: Any, axes: Any = None) -> DNDarray:
    """The axes in another order, reversed unless told.

    >>> ht.transpose(ht.zeros((2, 3), split=0)).split
    1
    """
    return call(_dist.transpose, _array(a), axes)  # type: ignore[no-any-return]


@_offered
def diag(a: Any, offset: int = 0) -> DNDarray:
    """A matrix with this diagonal, or the diagonal of a matrix.

    >>> ht.diag(ht.arange(2)).tolist()
    [[0, 0], [0, 1]]
    """
    return call(_dist.diag, _array(a), offset)  # type: ignore[no-any-return]


@_offered
def diagonal(a: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> DNDarray:
    """A diagonal of two axes.

    >>> ht.diagonal(ht.eye(2)).tolist()
    [1.0, 1.0]
    """
    return DNDarray(_dist.diagonal(_array(a).dist, offset, dim1, dim2).copy())


@_offered
def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> DNDarray:
    """Values around an array.

    >>> ht.pad(ht.ones(2), (1, 1)).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    return call(_dist.pad, _array(array), pad_width, mode, constant_values=constant_values)  # type: ignore[no-any-return]


@_offered
def meshgrid(*arrays: Any, indexing: str = "xy") -> list[DNDarray]:
    """Coordinates of a grid.

    >>> [each.shape for each in ht.meshgrid(ht.arange(2), ht.arange(3))]
    [(3, 2), (3, 2)]
    """
    return list(theirs(list(_dist.meshgrid(*(_array(a).dist for a in arrays), indexing=indexing))))


@_offered
def sort(a: Any, axis: int = -1, descending: bool = False, out: Any = None) -> Any:
    """Elements in order and where they were.

    >>> [each.tolist() for each in ht.sort(ht.array([3, 1, 2], split=0))]
    [[1, 2, 3], [1, 2, 0]]
    """
    a = _array(a)
    order: Any = _dist.argsort
    where = DNDarray(order(a.dist, axis, descending=descending))
    values = DNDarray(_dist.take_along_axis(a.dist, where.dist, axis))
    return (values, where) if out is None else (into(out, values), where)


@_offered
def topk(a: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, out: Any = None) -> tuple[Any, Any]:
    """The largest or smallest elements and where they are.

    >>> [each.tolist() for each in ht.topk(ht.array([3, 9, 5], split=0), 2)]
    [[9, 5], [1, 2]]
    """
    values, where = theirs(tuple(_dist.topk(_array(a).dist, k, dim, largest)))
    return (values, where) if out is None else (into(out[0], values), into(out[1], where))


@_offered
def unique(a: Any, sorted: bool = False, return_inverse: bool = False, axis: int | None = None) -> Any:
    """The distinct elements, always in order; with ``return_inverse`` also which of them each element is.

    >>> ht.unique(ht.array([2, 1, 2], split=0)).tolist()
    [1, 2]
    """
    return theirs(_dist.unique(_array(a).dist, return_inverse=return_inverse, axis=axis))


@_offered
def convolve(a: Any, v: Any, mode: str = "full", stride: int = 1) -> DNDarray:
    """The convolution of two lists of numbers, every ``stride``-th value of it.

    >>> ht.convolve(ht.array([1.0, 2.0]), ht.array([1.0, 1.0])).tolist()
    [1.0, 3.0, 2.0]
    """
    made = call(_dist.convolve, _array(a), _array(v), mode)
    return made if stride == 1 else made[::stride]  # type: ignore[no-any-return]


@_offered
def unfold(a: Any, axis: int, size: int, step: int = 1) -> DNDarray:
    """Windows along an axis, as a last axis.

    >>> ht.unfold(ht.arange(4), 0, 2, 2).tolist()
    [[0, 1], [2, 3]]
    """
    a = _array(a)
    starts = range(0, a.shape[axis] - size + 1, step)
    windows = [[start + i for i in range(size)] for start in starts]
    taken = _dist.take(a.dist, [i for window in windows for i in window], axis)
    axis %= a.ndim
    shaped = _dist.reshape(taken, (*a.shape[:axis], len(windows), size, *a.shape[axis + 1 :]))
    return DNDarray(_dist.moveaxis(shaped, axis + 1, -1))


@_offered
def shape(a: Any) -> tuple[int, ...]:
    """The shape over all ranks.

    >>> ht.shape(ht.zeros((2, 3)))
    (2, 3)
    """
    return _array(a).shape


@_offered
def resplit(arr: Any, axis: int | None = None) -> DNDarray:
    """A copy split along another axis; None: whole on every rank.

    >>> ht.resplit(ht.zeros((2, 3), split=0), 1).split
    1
    """
    return _array(arr).resplit(axis)


@_offered
def balance(array: Any, copy: bool = False) -> DNDarray:
    """Equally much on all ranks, of the array itself unless ``copy``.

    >>> ht.balance(ht.arange(4, split=0)).balanced
    True
    """
    array = _array(array)
    return DNDarray(array.dist.balance()) if copy else array.balance_()


@_offered
def redistribute(arr: Any, lshape_map: Any = None, target_map: Any = None) -> DNDarray:
    """A copy in which ranks have what ``target_map`` says.

    >>> x = ht.arange(4, split=0); ht.redistribute(x, target_map=x.lshape_map).lshape
    (4,)
    """
    return DNDarray(_array(arr).dist).redistribute_(lshape_map, target_map)


@_offered
def collect(arr: Any, target_rank: int = 0) -> DNDarray:
    """A copy of which one rank has everything.

    >>> ht.collect(ht.arange(4, split=0)).lshape
    (4,)
    """
    arr = _array(arr)
    return copy(arr) if arr.split is None else DNDarray(arr.dist).collect_(target_rank)


@_offered
def copy(x: Any) -> DNDarray:
    """A copy.

    >>> x = ht.arange(2); ht.copy(x).dist is x.dist
    False
    """
    return DNDarray(_array(x).dist.copy())


@_offered
def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that these make together.

    >>> ht.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    import numpy as np

    return tuple(np.broadcast_shapes(*shapes))


@_offered
def broadcast_shape(shape_a: Any, shape_b: Any) -> tuple[int, ...]:
    """The shape that two make together.

    >>> ht.broadcast_shape((2, 1), (3,))
    (2, 3)
    """
    return broadcast_shapes(shape_a, shape_b)


@_offered
def print0(*args: Any, **kwargs: Any) -> None:
    """print, on rank 0 only.

    >>> ht.print0("once")
    once
    """
    texts = [repr(a) if isinstance(a, DNDarray) else a for a in args]
    if _dist.world.rank == 0:
        builtins.print(*texts, **kwargs)


def _operators() -> None:
    """Python's operators and, for those that have one, the methods that change the array."""
    symbols = {
        "add": "add",
        "sub": "subtract",
        "mul": "multiply",
        "truediv": "divide",
        "floordiv": "floor_divide",
        "mod": "mod",
        "pow": "power",
        "and": "bitwise_and",
        "or": "bitwise_or",
        "xor": "bitwise_xor",
        "lshift": "left_shift",
        "rshift": "right_shift",
    }

    def compared(function: Any) -> Any:
        return lambda self, other: function(self, other)

    for symbol, name in symbols.items():
        function = FUNCTIONS[name]
        setattr(DNDarray, f"__{symbol}__", compared(function))
        setattr(DNDarray, f"__r{symbol}__", lambda self, other, function=function: function(other, self))
        setattr(DNDarray, f"__i{symbol}__", _changing(function))
    for symbol in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(DNDarray, f"__{symbol}__", compared(FUNCTIONS[symbol]))
    for symbol, name in {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "invert"}.items():
        setattr(DNDarray, f"__{symbol}__", lambda self, function=FUNCTIONS[name]: function(self))
    others = {
        "matmul": lambda self, other: call(_dist.matmul, self, other),
        "rmatmul": lambda self, other: call(_dist.matmul, array(other), self),
        "divmod": lambda self, other: divmod(self, other),
    }
    for symbol, method in others.items():
        setattr(DNDarray, f"__{symbol}__", method)


def _changing(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: DNDarray, *args: Any, **kwargs: Any) -> DNDarray:
        made = function(self, *args, **kwargs)
        if made.shape != self.shape:
            raise ValueError(f"ht: an array of shape {self.shape} cannot hold a result of shape {made.shape} in place")
        if promote_types(made.dtype, self.dtype) != self.dtype:
            raise TypeError(f"ht: an array of {self.dtype} cannot hold a result of {made.dtype} in place")
        self[...] = made  # into its memory, which views and tensors share
        return self

    return method


def methods(names: str, functions: dict[str, Callable[..., Any]]) -> None:
    """Functions as methods of DNDarray; a name that ends in _ is one that changes the array."""
    for name in names.split():
        function = functions[name.removesuffix("_")]
        if name.endswith("_"):
            method = _changing(function)
        else:

            def method(self: DNDarray, *args: Any, function: Any = function, **kwargs: Any) -> Any:
                return function(self, *args, **kwargs)

        method.__name__, method.__doc__ = name, function.__doc__
        setattr(DNDarray, name, method)


_operators()
methods(
    "abs absolute acos all allclose any asin atan atan2 balance ceil clip collect conj copy cos cosh exp exp2 "
    "expand_dims expm1 fabs flatten floor isclose log log10 log1p log2 max min modf nonzero prod ravel "
    "redistribute reshape rot90 round sin sinh sqrt square squeeze sum swapaxes tan tanh transpose tril triu "
    "trunc unique add_ bitwise_and_ bitwise_not_ bitwise_or_ bitwise_xor_ copysign_ cumprod_ cumproduct_ "
    "cumsum_ div_ divide_ floor_divide_ floordiv_ fmod_ hypot_ invert_ left_shift_ mod_ mul_ multiply_ "
    "nan_to_num_ neg_ negative_ pow_ power_ remainder_ right_shift_ sub_ subtract_",
    FUNCTIONS,
)
