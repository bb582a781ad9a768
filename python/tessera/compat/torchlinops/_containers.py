# SPDX-License-Identifier: Apache-2.0
"""Operators made of operators. Where all parts are ours, one operator of ``tessera`` runs the whole."""

from __future__ import annotations

from typing import Any, cast

from ... import _tessera as _core
from ._base import NamedLinop, Operator, Tensor, torch
from ._moves import SumReduce


class Container(Operator):
    """What Chain, Add, Concat and Stack share: their parts are modules, and they are made anew when parts move."""

    is_container = True

    def _contain(self, linops: Any, name: str | None, **options: Any) -> None:
        for part in linops:
            if not isinstance(part, NamedLinop):
                raise TypeError(f"{type(self).__name__}: expected operators, got {type(part).__name__}")
        if not linops:
            raise ValueError(f"{type(self).__name__}: expected at least one operator")
        NamedLinop.__init__(self, ("...",), name)
        self._given = options
        self.linops = torch.nn.ModuleList(linops)
        made = self._make()
        self._keep(made)
        self._shape = _core.NamedShape(made.ishape, made.oshape)

    def _make(self) -> _core.NamedLinop:
        return cast(_core.NamedLinop, self._kind(*(part.linop for part in self.linops), **self._given))

    def _memory(self) -> tuple[Any, ...]:
        return tuple(part._memory() for part in self.linops)

    @property
    def _by_torch(self) -> bool:
        return any(part._by_torch for part in self.linops)

    def __len__(self) -> int:
        return len(self.linops)


class Chain(Container):
    """A product; the first operator is applied first.

    >>> A = Chain(Identity(("X",)), Diagonal(torch.tensor([1.0, 2.0]), ("X",)))
    >>> A(torch.ones(2)).tolist(), len(A @ A)
    ([1.0, 2.0], 4)

    Where all of it is ours PyTorch sees one step, whose gradient is the adjoint; where a part has functions of its own
    or a weight that is trained, parts run one after another.
    """

    _kind = _core.Chain

    def __init__(self, *linops: NamedLinop, name: str | None = None) -> None:
        self._contain(linops, name)

    def _parts(self) -> list[_core.NamedLinop | None]:
        """Our operators of the parts; None for a sum over axes whose lengths no other part knows."""
        known: dict[str, int] = {}
        for part in self.linops:
            for dim in part.dims if not isinstance(part, SumReduce) else ():
                size = part.linop.size(dim) if str(dim) != "..." else None
                if size is not None:
                    known[str(dim)] = size
        return [part.with_sizes(known) if isinstance(part, SumReduce) else part.linop for part in self.linops]

    def _make(self) -> _core.NamedLinop:
        return _core.Chain(*(ours or part.linop for ours, part in zip(self._parts(), self.linops, strict=True)))

    @property
    def _by_torch(self) -> bool:
        return super()._by_torch or None in self._parts()

    @staticmethod
    def fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        if not linop._by_torch:
            return Operator.fn(linop, x)
        if linop._steps and linop._steps[-1] in ("H", "N"):
            return Operator.fn(linop, x)
        for part in linop.linops:
            x = part(x)
        return x

    @staticmethod
    def adj_fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return linop.H(x)

    def adjoint(self) -> NamedLinop:
        if self._steps:
            return super().adjoint()
        return Chain(*(part.adjoint() for part in reversed(self.linops)), name=self._name)

    def normal(self, inner: NamedLinop | None = None) -> NamedLinop:
        if inner is None and self._by_torch:
            return Chain(*self.flatten(), *self.adjoint().flatten(), name=self._name)
        return super().normal(inner)

    def flatten(self) -> list[NamedLinop]:
        return [self] if self._steps else list(self.linops)

    def __getitem__(self, index: Any) -> NamedLinop:
        picked = self.linops[index]
        return picked if isinstance(picked, NamedLinop) else Chain(*picked, name=self._name)

    def __repr__(self) -> str:
        if self._steps:
            return super().__repr__()
        inner = "\n".join("  " + line for part in self.linops for line in repr(part).splitlines())
        return f"{self.repr_name}(\n{inner}\n)"


class Add(Container):
    """A sum. ``threaded``, ``num_workers`` and ``accumulate`` change nothing: parts share the threads of the library.

    >>> (Scalar(2.0) + Scalar(3.0))(torch.ones(1)).tolist()
    [5.0]
    """

    _kind = _core.Add

    def __init__(
        self, *linops: NamedLinop, threaded: bool = True, num_workers: int | None = None, accumulate: bool = False
    ) -> None:
        self._contain(linops, None)

    @staticmethod
    def fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        if linop._steps or not linop._by_torch:
            return Operator.fn(linop, x)
        total = linop.linops[0](x)
        for part in linop.linops[1:]:
            total = total + part(x)
        return total

    @staticmethod
    def adj_fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return linop.H(x)

    def adjoint(self) -> NamedLinop:
        return super().adjoint() if self._steps else Add(*(part.adjoint() for part in self.linops))


class Concat(Container):
    """Operators side by side along a dim that they have, of the input, of the output or of both.

    >>> D = Diagonal(torch.tensor([1.0, 2.0]), ("X",))
    >>> Concat(D, D, idim="X", odim="X")(torch.ones(4)).tolist()
    [1.0, 2.0, 1.0, 2.0]
    """

    _kind = _core.Concat

    def __init__(
        self,
        *linops: NamedLinop,
        idim: Any = None,
        odim: Any = None,
        threaded: bool = True,
        num_workers: int | None = None,
        accumulate: bool = False,
    ) -> None:
        self._contain(linops, None, idim=idim, odim=odim)


class Stack(Container):
    """Operators side by side along a new dim, given with its place.

    >>> A = Stack(Scalar(2.0, ("X",)), Scalar(3.0, ("X",)), odim_and_idx=("S", 0))
    >>> A(torch.ones(1)).tolist()
    [[2.0], [3.0]]
    """

    _kind = _core.Stack

    def __init__(
        self,
        *linops: NamedLinop,
        idim_and_idx: Any = (None, None),
        odim_and_idx: Any = (None, None),
        threaded: bool = True,
        num_workers: int | None = None,
        accumulate: bool = False,
    ) -> None:
        places = {"idim_and_idx": idim_and_idx, "odim_and_idx": odim_and_idx}
        self._contain(linops, None, **{key: None if place[0] is None else place for key, place in places.items()})


__all__ = ["Add", "Chain", "Concat", "Stack"]
