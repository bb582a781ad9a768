# SPDX-License-Identifier: Apache-2.0
"""The operators that hold no others, with the names and the order of arguments of torch-named-linops."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from ... import _tessera as _core
from ...names import AnyDim
from ._base import NamedLinop, Operator, Tensor, array, device_name, torch


class Identity(Operator):
    """x itself.

    >>> A = Identity(("X",)); A.H is A and A.N is A
    True
    """

    _kind = _core.Identity

    def __init__(self, ishape: Any = ("...",), oshape: Any = None) -> None:
        self._hold(ishape=ishape, oshape=oshape)

    @staticmethod
    def fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return x

    adj_fn = normal_fn = fn

    def adjoint(self) -> NamedLinop:
        return self

    def normal(self, inner: NamedLinop | None = None) -> NamedLinop:
        return self if inner is None else inner

    @staticmethod
    def split(linop: NamedLinop, tile: Mapping[Any, slice]) -> NamedLinop:
        return linop

    def __pow__(self, exponent: Any) -> NamedLinop:
        return copy.copy(self)


class ShapeSpec(Operator):
    """x under other names.

    >>> ShapeSpec(("N", "M"), ("K", "L")).H
    ShapeSpec.H((K, L) -> (N, M))
    """

    _kind = _core.ShapeSpec

    def __init__(self, ishape: Any = ("...",), oshape: Any = None) -> None:
        self._hold(ishape=ishape, oshape=oshape)


class Zero(Operator):
    """Zeros; of the input's shape where the names are the same.

    >>> Zero(("X",))(torch.ones(2)).tolist()
    [0.0, 0.0]
    """

    _kind = _core.Zero

    def __init__(self, ishape: Any = ("...",), oshape: Any = None) -> None:
        self._hold(ishape=ishape, oshape=oshape)


class Sleep(Operator):
    """x, after a while (in seconds).

    >>> Sleep(0.0)(torch.ones(1)).tolist()
    [1.0]
    """

    _kind = _core.Sleep

    def __init__(self, duration: float = 0.1, ioshape: Any = ("...",), oshape: Any = None) -> None:
        self._hold(duration=duration, ioshape=ioshape, oshape=oshape)


class BreakpointLinop(NamedLinop):
    """x, after Python's ``breakpoint()``.

    >>> BreakpointLinop(("X",)).ishape
    (X,)
    """

    def __init__(self, ioshape: Any = None) -> None:
        super().__init__(_core.NamedShape(("...",) if ioshape is None else ioshape))

    @staticmethod
    def fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        breakpoint()
        return x

    adj_fn = normal_fn = fn


class Diagonal(Operator):
    """Element-wise multiplication by a weight, which is aligned to the last names.

    >>> A = Diagonal(torch.tensor([1, 2j]), ("X",))
    >>> A.H(torch.ones(2)).tolist(), A.N.weight.tolist()
    ([(1+0j), -2j], [1.0, 4.0])
    """

    _kind = _core.Diagonal
    _copies = True

    def __init__(self, weight: Tensor, ioshape: Any = None, broadcast_dims: Any = None) -> None:
        self._hold(weight=weight, ioshape=ioshape, broadcast_dims=broadcast_dims)

    @classmethod
    def from_weight(cls, weight: Tensor, weight_shape: Any, ioshape: Any, shape_kwargs: Any = None) -> Diagonal:
        """A weight whose axes have names of their own, brought into the order of ``ioshape``; along the others it is
        broadcast, to the lengths in ``shape_kwargs`` where they are known. Nothing is copied.

        >>> Diagonal.from_weight(torch.ones(2), ("X",), ("X", "Y"), {"Y": 3}).size("Y")
        3
        """
        names, wanted = [str(d) for d in weight_shape], [str(d) for d in ioshape]
        for name in names:
            if name not in wanted:
                raise _core.DimError(f"Diagonal.from_weight: dim {name!r} of the weight is not in ioshape {ioshape}")
        order = sorted(range(len(names)), key=lambda axis: wanted.index(names[axis]))
        weight = weight.permute(order)
        for axis, name in enumerate(wanted):
            if name not in names:
                weight = weight.unsqueeze(axis)
        lengths = {str(name): length for name, length in (shape_kwargs or {}).items()}
        return cls(weight.expand([lengths.get(name, -1) for name in wanted]), ioshape)

    def _make(self) -> _core.NamedLinop:
        if self.weight.is_conj():  # the adjoint of what the memory holds: nothing is copied
            return self._kind(array(self.weight.conj()), **self._given, copy=False).H
        return super()._make()

    @staticmethod
    def fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return x * linop.weight if linop.weight.requires_grad else Operator.fn(linop, x)

    @staticmethod
    def adj_fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return x * linop.weight.conj() if linop.weight.requires_grad else Operator.adj_fn(linop, x)

    @staticmethod
    def normal_fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return x * linop.weight.abs() ** 2 if linop.weight.requires_grad else Operator.normal_fn(linop, x)

    def _weighing(self, weight: Tensor) -> Diagonal:
        new = copy.copy(self)
        new.weight = torch.nn.Parameter(weight, requires_grad=self.weight.requires_grad)
        return new  # type: ignore[return-value]

    def adjoint(self) -> NamedLinop:
        return self._weighing(self.weight.detach().conj())

    def normal(self, inner: NamedLinop | None = None) -> NamedLinop:
        return self._weighing(self.weight.detach().abs() ** 2) if inner is None else super().normal(inner)

    def __pow__(self, exponent: Any) -> NamedLinop:
        return self._weighing(self.weight.detach() ** exponent)


class Scalar(Diagonal):
    """Multiplication by one number.

    >>> Scalar(2 + 3j).H(torch.ones(1)).tolist()
    [(2-3j)]
    """

    def __init__(self, weight: Any, ioshape: Any = None) -> None:
        self._hold(weight=torch.as_tensor(weight), ioshape=("...",) if ioshape is None else ioshape)

    def _make(self) -> _core.NamedLinop:
        return _core.Scalar(self.weight.item(), **self._given)

    def _memory(self) -> tuple[Any, ...]:
        """With the number, which the operator has copied; of other devices it is not fetched for each call."""
        return (*super()._memory(), self.weight.item() if self.weight.device.type == "cpu" else None)


class Dense(Operator):
    """A matrix between names: einsum of input and weight.

    >>> A = Dense(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), ("M", "N"), ("N",), ("M",))
    >>> A(torch.ones(2)).tolist(), A.N(torch.ones(2)).tolist()
    ([3.0, 7.0, 11.0], [79.0, 100.0])
    """

    _kind = _core.Dense
    _copies = True

    def __init__(
        self,
        weight: Tensor,
        weightshape: Any = None,
        ishape: Any = None,
        oshape: Any = None,
        broadcast_dims: Any = None,
    ) -> None:
        missing = [part is None for part in (weightshape, ishape, oshape)]
        if any(missing) and not all(missing):
            raise ValueError("Dense: wanted all of weightshape, ishape and oshape, or none of them")
        if all(missing):
            if weight.ndim < 2:
                raise ValueError(f"Dense: a weight without names has two axes or more, got {weight.ndim}")
            names = tuple(AnyDim(i) for i in range(weight.ndim))
            weightshape, ishape, oshape = names, (*names[:-2], names[-1]), (*names[:-2], names[-2])
        self._hold(weight=weight, weightshape=weightshape, ishape=ishape, oshape=oshape, broadcast_dims=broadcast_dims)

    @classmethod
    def from_einstr(cls, weight: Tensor, einstr: str, broadcast_dims: Any = None) -> Dense:
        """Names written as ``"weight,input->output"``.

        >>> Dense.from_einstr(torch.ones(3, 2), "MN,N->M").oshape
        (M,)
        """
        sides = einstr.replace(" ", "").split("->")
        factors = sides[0].split(",")
        if len(sides) != 2 or len(factors) != 2:
            raise ValueError(f"Dense.from_einstr: expected 'weight,input->output', got {einstr!r}")
        shapes = [_core.Dim(part) for part in (factors[0], factors[1], sides[1])]
        for dim in broadcast_dims or ():
            if dim not in shapes[0] or dim not in shapes[1] and dim not in shapes[2]:
                raise ValueError(
                    f"Dense.from_einstr: broadcast dim {dim} is not in the weight and a side of {einstr!r}"
                )
        return cls(weight, shapes[0], shapes[1], shapes[2], broadcast_dims)

    @property
    def weightshape(self) -> Any:
        """Names of the weight's axes."""
        return _core.NamedDimension.infer(tuple(self._given["weightshape"]))

    def _make(self) -> _core.NamedLinop:
        if self.weight.is_conj():
            swapped = {**self._given, "ishape": self._given["oshape"], "oshape": self._given["ishape"]}
            return self._kind(array(self.weight.conj()), **swapped, copy=False).H
        return super()._make()

    @staticmethod
    def fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return linop._einsum(x) if linop.weight.requires_grad and not linop._steps else Operator.fn(linop, x)

    def _einsum(self, x: Tensor) -> Tensor:
        letters: dict[str, str] = {}

        def written(names: Any) -> str:
            return "".join(
                "..." if str(d) == "..." else letters.setdefault(str(d), chr(97 + len(letters))) for d in names
            )

        sides = [written(self._given[part]) for part in ("ishape", "weightshape", "oshape")]
        return torch.einsum(f"{sides[0]},{sides[1]}->{sides[2]}", x, self.weight)

    def adjoint(self) -> NamedLinop:
        if "N" in self._steps:
            return super().adjoint()
        new: Any = copy.copy(self)
        new._given = {**self._given, "ishape": self._given["oshape"], "oshape": self._given["ishape"]}
        new._shape = self._shape.H
        new.weight = torch.nn.Parameter(self.weight.detach().conj(), requires_grad=self.weight.requires_grad)
        return new  # type: ignore[no-any-return]


class FFT(Operator):
    """The Fourier transform of the last axes.

    >>> FFT(2, centered=True)(torch.ones(4, 4))[2, 2].item()
    (4+0j)
    """

    _kind = _core.FFT

    def __init__(
        self, ndim: int, batch_shape: Any = None, grid_shapes: Any = None, centered: Any = False, norm: Any = "ortho"
    ) -> None:
        if isinstance(centered, str):  # the order of version 0.7
            centered, norm = norm is True, centered
        self._hold(ndim=ndim, batch_shape=batch_shape, grid_shapes=grid_shapes, norm=norm, centered=centered)


class Convolution(Operator):
    """Convolution with a kernel of one to three axes, its centre in the middle.

    >>> Convolution(torch.tensor([1.0, 2.0, 3.0]))(torch.tensor([0.0, 1.0, 0.0])).tolist()
    [1.0, 2.0, 3.0]
    """

    _kind = _core.Convolution
    _copies = True

    def __init__(
        self,
        kernel: Tensor,
        batch_shape: Any = None,
        in_grid_shape: Any = None,
        out_grid_shape: Any = None,
        padding_mode: str = "zeros",
        normal_mode: str | None = None,
    ) -> None:
        grids = {"batch_shape": batch_shape, "in_grid_shape": in_grid_shape, "out_grid_shape": out_grid_shape}
        self._hold(kernel=kernel, **grids, padding_mode=padding_mode, normal_mode=normal_mode)


class FFTConvolution(Operator):
    """Circular convolution by Fourier transforms.

    >>> FFTConvolution(torch.tensor([0.0, 0.0, 1.0]))(torch.tensor([1.0, 2.0, 3.0])).round().tolist()
    [3.0, 1.0, 2.0]
    """

    _kind = _core.FFTConvolution
    _copies = True

    def __init__(
        self, kernel: Tensor, batch_shape: Any = None, in_grid_shape: Any = None, out_grid_shape: Any = None
    ) -> None:
        grids = {"batch_shape": batch_shape, "in_grid_shape": in_grid_shape, "out_grid_shape": out_grid_shape}
        self._hold(kernel=kernel, **grids)


class SimpleLinop(NamedLinop):
    """An operator of two functions of tensors.

    >>> A = SimpleLinop(lambda x: 3 * x, lambda x: 3 * x); A.N(torch.ones(1)).tolist()
    [9.0]
    """

    def __init__(
        self,
        forward: Callable[[Tensor], Tensor],
        adjoint: Callable[[Tensor], Tensor],
        normal: Callable[[Tensor], Tensor] | None = None,
        ishape: Any = ("...",),
        oshape: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(_core.NamedShape(ishape, oshape), name)
        self._functions = (forward, adjoint, normal)

    @staticmethod
    def fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return linop._functions[0](x)

    @staticmethod
    def adj_fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return linop._functions[1](x)

    @staticmethod
    def normal_fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        if linop._functions[2] is None or linop._steps:
            return linop.adj_fn(linop, linop.fn(linop, x))
        return linop._functions[2](x)


class ToDevice(Operator):
    """A copy of the input on another device.

    >>> ToDevice("cpu", "cpu", ("X",))(torch.ones(1)).device.type
    'cpu'
    """

    _kind = _core.ToDevice

    def __init__(self, idevice: Any, odevice: Any, ioshape: Any = None) -> None:
        where = [device_name(getattr(d, "device", d) or "cpu") for d in (idevice, odevice)]
        self._hold(idevice=where[0], odevice=where[1], ioshape=ioshape)


__all__ = [
    "BreakpointLinop",
    "Convolution",
    "Dense",
    "Diagonal",
    "FFT",
    "FFTConvolution",
    "Identity",
    "Scalar",
    "ShapeSpec",
    "SimpleLinop",
    "Sleep",
    "ToDevice",
    "Zero",
]
