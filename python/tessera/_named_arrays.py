# SPDX-License-Identifier: Apache-2.0
"""Arrays whose axes have names: a thin cover over arrays and distributed arrays, which stay positional themselves."""

from __future__ import annotations

import operator
from typing import Any

from . import _tessera as _core


class NamedArray:
    """An array, local or distributed, with a name for each axis: ``array`` is what it covers.

    >>> x = ts.names.NamedArray(ts.ones((2, 3)), ("coil", "Nx"))
    >>> x.sel(coil=1), x.sum("Nx").array.tolist()
    (NamedArray (Nx: 3) float64
    [1. 1. 1.], [3.0, 3.0])

    Arithmetic goes by names, wherever their axes stand; names that only one side has are broadcast.

    >>> w = ts.names.NamedArray([1.0, 10.0], ("coil",))
    >>> (x * w).dims, (w * x).sizes, (x * w).array[1].tolist()
    ((coil, Nx), {'coil': 2, 'Nx': 3}, [10.0, 10.0, 10.0])

    An operator that takes these names gives its own; functions of single elements are given to ``map``.

    >>> ts.FFT(1, ("coil",))(x).dims, x.map(ts.exp).dims
    ((coil, Kx), (coil, Nx))
    """

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]  # == compares elements

    def __init__(self, array: Any, dims: Any) -> None:
        from .dist import DNDarray

        self.array: Any = array if isinstance(array, (_core.Array, DNDarray)) else _core.asarray(array)
        named = _core.Dim(dims) if isinstance(dims, str) else tuple(dims)
        self.dims: tuple[_core.NamedDimension, ...] = tuple(_core.NamedDimension.infer(named))
        texts = [str(dim) for dim in self.dims]
        if any(dim.is_wildcard for dim in self.dims):
            raise _core.DimError(f"NamedArray: wildcards name no axis, got {texts}")
        if len(texts) != self.array.ndim or len(set(texts)) != len(texts):
            raise _core.DimError(
                f"NamedArray: an array of shape {tuple(self.array.shape)} needs as many different names, got {texts}"
            )

    @property
    def sizes(self) -> dict[str, int]:
        """The length of each axis by its name."""
        return {str(dim): n for dim, n in zip(self.dims, self.array.shape, strict=True)}

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes, in their order."""
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.dims)

    @property
    def dtype(self) -> _core.DType:
        """The dtype of the array."""
        return self.array.dtype  # type: ignore[no-any-return]

    def _axis(self, name: Any) -> int:
        texts = [str(dim) for dim in self.dims]
        if str(name) not in texts:
            raise _core.DimError(f"NamedArray: there is no axis {str(name)!r}; there are {texts}")
        return texts.index(str(name))

    def sel(self, **places: Any) -> NamedArray:
        """The elements at a place, or in a slice or list of places, along named axes; single places drop their axis.

        >>> x = ts.names.NamedArray(ts.arange(6).reshape(2, 3), ("coil", "Nx"))
        >>> x.sel(coil=1, Nx=slice(0, 2)).array.tolist(), x.sel(Nx=[2, 0]).dims
        ([3, 4], (coil, Nx))
        """
        found, dims = self.array, list(self.dims)
        for name, place in places.items():
            axis = [str(dim) for dim in dims].index(str(self.dims[self._axis(name)]))
            try:
                found = found[(slice(None),) * axis + (place,)]
            except IndexError as error:
                n = found.shape[axis]
                raise IndexError(f"NamedArray.sel: {place!r} on axis {name!r} of length {n}: {error}") from error
            if found.ndim < len(dims):
                del dims[axis]
        return NamedArray(found, dims)

    def rename(self, **names: str) -> NamedArray:
        """The same array under other names.

        >>> ts.names.NamedArray([1, 2], ("X",)).rename(X="Y").dims
        (Y,)
        """
        changed = list(self.dims)
        for name, new in names.items():
            changed[self._axis(name)] = _core.NamedDimension.infer(new)
        return NamedArray(self.array, changed)

    def transpose(self, *names: Any) -> NamedArray:
        """The axes in the order of names, or reversed.

        >>> ts.names.NamedArray(ts.ones((2, 3)), ("A", "B")).transpose("B", "A").sizes
        {'B': 3, 'A': 2}
        """
        order = [self._axis(name) for name in names] if names else list(range(len(self.dims)))[::-1]
        if sorted(order) != list(range(len(self.dims))):
            raise _core.DimError(f"NamedArray.transpose: expected each of {self.dims} once, got {names}")
        return NamedArray(self.array.transpose(tuple(order)), [self.dims[axis] for axis in order])

    def apply(self, linop: _core.NamedLinop) -> NamedArray:
        """An operator's result, under its names.

        >>> ts.names.NamedArray([1.0, 2.0], ("N",)).apply(ts.Dense([[1.0, 1.0]], "MN", "N", "M"))
        NamedArray (M: 1) float64
        [3.]
        """
        fits, meaning = _core._isequal(linop.ishape, self.dims)
        if not fits or meaning is None:
            said = f"NamedArray: the operator takes {linop.ishape}, the axes are {self.dims}"
            if sorted(map(str, linop.ishape)) == sorted(map(str, self.dims)):
                said += f"; write x.transpose({', '.join(repr(str(dim)) for dim in linop.ishape)})"
            raise _core.DimError(said)
        stands_for = {str(dim): [self.dims[i] for i in meaning.get(k, [])] for k, dim in enumerate(linop.ishape)}
        dims = [name for dim in linop.oshape for name in stands_for.get(str(dim), [dim])]
        return NamedArray(linop(self.array), dims)

    def map(self, function: Any) -> NamedArray:
        """What a function of single elements makes of the array, under the same names.

        >>> ts.names.NamedArray([4.0, 9.0], ("N",)).map(ts.sqrt)
        NamedArray (N: 2) float64
        [2. 3.]
        """
        found = function(self.array)
        if tuple(getattr(found, "shape", ())) != self.shape:
            raise _core.ShapeError(
                f"NamedArray.map: expected a result of shape {self.shape}, which the names {self.dims} are for, got "
                f"{tuple(found.shape) if hasattr(found, 'shape') else type(found).__name__}"
            )
        return NamedArray(found, self.dims)

    def to_xarray(self) -> Any:
        """The same numbers as a DataArray of xarray, which computes with our arrays.

        >>> ts.names.NamedArray(ts.ones((2, 3)), ("coil", "Nx")).to_xarray().dims
        ('coil', 'Nx')
        """
        if not isinstance(self.array, _core.Array):
            raise _core.DTypeError("NamedArray.to_xarray: the array is distributed; expected a local one")
        return _xarray("to_xarray").DataArray(self.array, dims=[str(dim) for dim in self.dims])

    @staticmethod
    def from_xarray(data: Any) -> NamedArray:
        """The numbers of a DataArray of xarray under its dims; its coordinates and attributes are left behind.

        >>> import xarray
        >>> ts.names.NamedArray.from_xarray(xarray.DataArray([1.0], dims="Nx"))
        NamedArray (Nx: 1) float64
        [1.]
        """
        if not isinstance(data, _xarray("from_xarray").DataArray):
            raise _core.DTypeError(f"NamedArray.from_xarray: expected a DataArray, got {type(data).__name__}")
        return NamedArray(data.data, [str(name) for name in data.dims])

    def numpy(self) -> Any:
        """The elements as an array of NumPy, without names.

        >>> ts.names.NamedArray([1, 2], ("X",)).numpy()
        array([1, 2])
        """
        return self.array.numpy()

    def item(self) -> Any:
        """The only element, as a number.

        >>> ts.names.NamedArray([1.5, 2.0], ("X",)).sum().item()
        3.5
        """
        return self.array.item()

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __complex__(self) -> complex:
        return complex(self.array)

    def __neg__(self) -> NamedArray:
        return NamedArray(-self.array, self.dims)

    def __pos__(self) -> NamedArray:
        return NamedArray(+self.array, self.dims)

    def __abs__(self) -> NamedArray:
        return NamedArray(abs(self.array), self.dims)

    def __invert__(self) -> NamedArray:
        return NamedArray(~self.array, self.dims)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.array.__array__(dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        """Functions of arrays ask for this: they go by the places of axes, and would drop the names in silence."""
        raise _core.DimError(
            f"NamedArray: a function of arrays knows no names, here {self.dims}; write x.map(function) for one of "
            "single elements, or give it x.array"
        )

    __dlpack_device__ = __dlpack__

    def _repr_html_(self) -> str:
        from html import escape

        head, _, numbers = repr(self).partition("\n")
        return f"<div><b>{escape(head)}</b><pre>{escape(numbers)}</pre></div>"

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}: {n}" for name, n in self.sizes.items())
        split = getattr(self.array, "split", None)
        over = "" if not isinstance(split, int) else f", {self.dims[split]} over {self.array.comm.size} ranks"
        return f"NamedArray ({axes}) {self.dtype}{over}\n{self.array}"

    def _aligned(self, dims: list[_core.NamedDimension]) -> Any:
        """The array with its axes in the order of dims, of length one where it has none."""
        texts = [str(dim) for dim in self.dims]
        mine = [str(dim) for dim in dims if str(dim) in texts]
        ordered = self.transpose(*mine).array
        return ordered[tuple(slice(None) if str(dim) in texts else None for dim in dims)]


def _xarray(function: str) -> Any:
    try:
        import xarray
    except ImportError as error:
        raise ImportError(f"NamedArray.{function} needs the package xarray: {error}") from error
    return xarray


def _number(value: Any) -> Any:
    """A number of Python or NumPy, or an array without axes; all else has axes without names."""
    if not isinstance(value, (bool, int, float, complex)) and getattr(value, "ndim", None) != 0:
        raise _core.DimError(f"NamedArray: expected a number or another NamedArray, got {type(value).__name__}")
    return value


def _arithmetic(symbol: str) -> Any:
    compute = getattr(operator, f"__{symbol}__")

    def method(self: NamedArray, other: Any) -> NamedArray:
        if not isinstance(other, NamedArray):
            return NamedArray(compute(self.array, _number(other)), self.dims)
        known = [str(dim) for dim in self.dims]
        dims = [*self.dims, *(dim for dim in other.dims if str(dim) not in known)]
        return NamedArray(compute(self._aligned(dims), other._aligned(dims)), dims)

    def reflected(self: NamedArray, other: Any) -> NamedArray:
        return NamedArray(compute(_number(other), self.array), self.dims)

    return method, reflected


def _reduction(name: str) -> Any:
    def method(self: NamedArray, *names: Any, **options: Any) -> NamedArray:
        if "axis" in options:
            known = ", ".join(repr(str(dim)) for dim in self.dims)
            raise _core.DimError(
                f"NamedArray.{name}: axes go by their names, {known}: expected x.{name}(name), "
                f"got axis={options['axis']!r}"
            )
        if options:
            raise TypeError(f"NamedArray.{name}: expected names of axes alone, got {next(iter(options))}=")
        axes = tuple(self._axis(each) for each in names) if names else tuple(range(len(self.dims)))
        kept = [dim for axis, dim in enumerate(self.dims) if axis not in axes]
        return NamedArray(getattr(self.array, name)(axis=axes), kept)

    method.__name__ = name
    method.__doc__ = f"""What ``{name}`` of arrays is, over named axes or over all.

    >>> ts.names.NamedArray(ts.ones((2, 3)), ("A", "B")).{name}("A").dims
    (B,)
    """
    return method


for _symbol in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    for _name, _method in zip((_symbol, f"r{_symbol}"), _arithmetic(_symbol), strict=True):
        setattr(NamedArray, f"__{_name}__", _method)
for _symbol in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(NamedArray, f"__{_symbol}__", _arithmetic(_symbol)[0])
for _name in ("sum", "prod", "mean", "std", "var", "max", "min", "all", "any"):
    setattr(NamedArray, _name, _reduction(_name))
