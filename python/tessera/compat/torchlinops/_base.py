# SPDX-License-Identifier: Apache-2.0
"""The base class: a module of PyTorch over one of our operators, which it makes again when its tensors move.

What a class was given stands in parameters and plain attributes; ``_make`` turns them into an operator. Adjoints and
normal operators that are not written out are steps taken from there, so that ``to``, ``copy`` and pickles treat an
operator and what was derived from it alike.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, cast

from ... import _tessera as _core
from ... import torch as _torch  # which says what to install where PyTorch is not

# isort: split
import torch

from . import config

Tensor = Any  # of PyTorch, which type checkers of the package do not read


def array(x: Any) -> Any:
    """A tensor's memory as an array, anything else as it is."""
    return _torch.asarray(x) if isinstance(x, torch.Tensor) else x


def frozen(x: Any) -> Any:
    """A parameter that is not trained unless somebody says so."""
    return torch.nn.Parameter(torch.as_tensor(x), requires_grad=False)


def device_name(device: Any) -> str:
    """A device of PyTorch as we write it."""
    where = torch.device(device)
    return f"{where.type}:{where.index or 0}" if where.type == "cuda" else where.type


class NamedLinop(torch.nn.Module):
    """A linear operator with named input and output; subclasses have static ``fn(linop, x)`` and ``adj_fn(linop, x)``.

    >>> class Twice(NamedLinop):
    ...     @staticmethod
    ...     def fn(linop, x): return 2 * x
    ...     adj_fn = fn
    >>> A = Twice(NamedShape(("X",)))
    >>> (A.N @ A)(torch.ones(1)).tolist(), A.H.H is A
    ([8.0], True)
    """

    is_container = False
    _adjoint: list[NamedLinop] | None
    _normal: list[NamedLinop] | None
    _built: _core.NamedLinop | None
    _built_of: tuple[Any, ...]
    _written_out = False  # of our own classes: fn and adj_fn run the operator that _make gives

    def __init__(self, shape: Any, name: str | None = None, stream: Any = None) -> None:
        super().__init__()
        self._shape = _core.NamedShape(shape)
        self._name = name
        self._suffix = ""
        self._steps: tuple[Any, ...] = ()
        self.stream = stream
        self.reset_adjoint_and_normal()

    # What is computed

    @staticmethod
    def fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        """A x; subclasses override it."""
        return x

    @staticmethod
    def adj_fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        """A.H x; subclasses override it."""
        return x

    @staticmethod
    def normal_fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        """A.H A x; subclasses may override it."""
        return linop.adj_fn(linop, linop.fn(linop, x))

    def forward(self, x: Tensor, context: Any = None) -> Tensor:
        """A x. Write ``fn`` and ``adj_fn`` instead of overriding it."""
        if self.stream is None:
            return self.fn(self, x)
        with torch.cuda.stream(self.stream):
            return self.fn(self, x)

    @property
    def _trained(self) -> bool:
        return any(p.requires_grad for p in self.parameters())

    @property
    def _by_torch(self) -> bool:
        """Whether PyTorch must see what is computed: fn is somebody's own, or a weight is trained."""
        return not self._written_out or self._trained

    @property
    def linop(self) -> _core.NamedLinop:
        """The operator of ``tessera`` that this is."""
        if self._built is None or self._built_of != self._memory():
            made = self._make()
            for step in self._steps:
                made = made.rename(step) if isinstance(step, dict) else getattr(made, step)
            self._keep(made)
        return cast(_core.NamedLinop, self._built)

    def _memory(self) -> tuple[Any, ...]:
        """What changes when PyTorch writes into a weight: an operator may hold what it has made of weights before, for
        example the product of two."""
        return tuple((weight.data_ptr(), weight._version) for weight in self.parameters())

    def _keep(self, made: _core.NamedLinop) -> None:
        self._built, self._built_of = made, self._memory()

    def _make(self) -> _core.NamedLinop:
        cls: Any = type(self)

        def through(fn: Any) -> Any:
            return lambda x: array(fn(self, torch.from_dlpack(x)))

        return _core.SimpleLinop(
            through(cls.fn),
            through(cls.adj_fn),
            through(cls.normal_fn),
            self._shape.ishape,
            self._shape.oshape,
            name=self.name,
            size=lambda dim: cls.size(self, dim),
            split=lambda tile: cls.split(self, tile).linop,
        )

    # Adjoint and normal

    @property
    def H(self) -> NamedLinop:
        """The adjoint, made once."""
        if self._adjoint is None or not config.cache_adjoint_normal:
            made = self.adjoint()
            if made is not self and made._adjoint is None:
                made._adjoint = [self]
            self._adjoint = [made]
        return cast(NamedLinop, self._adjoint[0])

    @property
    def N(self) -> NamedLinop:
        """The normal operator A.H A, made once."""
        if self._normal is None or not config.cache_adjoint_normal:
            self._normal = [self.normal()]
        return cast(NamedLinop, self._normal[0])

    def adjoint(self) -> NamedLinop:
        """A new adjoint, which shares what this operator holds."""
        new = self._step("H")
        if not self._written_out:
            new.fn, new.adj_fn = self.adj_fn, self.fn  # type: ignore[method-assign]
            new.__dict__.pop("normal_fn", None)
        return new

    def normal(self, inner: NamedLinop | None = None) -> NamedLinop:
        """A.H inner A."""
        if inner is not None and not (isinstance(inner, _identity()) and config.reduce_identity_in_normal):
            return cast(NamedLinop, self.adjoint() @ inner @ self)
        return self._step("N") if self._written_out else Normal(self)

    def reset_adjoint_and_normal(self) -> None:
        """Forgets the adjoint, the normal operator and the operator itself: they are made again when asked for."""
        self._adjoint = None
        self._normal = None
        self._built, self._built_of = None, ()

    def _step(self, step: Any) -> NamedLinop:
        new = copy.copy(self)
        if step == "H" and self._steps and self._steps[-1] == "H":
            new._steps = self._steps[:-1]
        else:
            new._steps = (*self._steps, step)
        if step == "H":
            new._shape = self._shape.H
            new._suffix = self._suffix[:-2] if self._suffix.endswith(".H") else self._suffix + ".H"
        elif step == "N":
            new._suffix = self._suffix + ".N"
            new._shape = new.linop.shape
        return new

    # Names and sizes

    @property
    def shape(self) -> _core.NamedShape:
        """Names of input and output."""
        return self._shape

    @property
    def ishape(self) -> tuple[_core.NamedDimension, ...]:
        """Names of the input; set, they are renamed wherever the operator has them."""
        return tuple(self._shape.ishape)

    @ishape.setter
    def ishape(self, names: Any) -> None:
        self._rename(self.ishape, names)

    @property
    def oshape(self) -> tuple[_core.NamedDimension, ...]:
        """Names of the output; set, they are renamed wherever the operator has them."""
        return tuple(self._shape.oshape)

    @oshape.setter
    def oshape(self, names: Any) -> None:
        self._rename(self.oshape, names)

    def _rename(self, old: tuple[_core.NamedDimension, ...], new: Any) -> None:
        names = tuple(_core.NamedDimension.infer(tuple(new)))
        if len(old) != len(names) or any(
            str(a) != str(b) and "..." in (str(a), str(b)) for a, b in zip(old, names, strict=True)
        ):
            raise _core.DimError(
                f"{self.repr_name}: cannot rename {old} to {names}: wanted as many names, and '...' where it is"
            )
        changes: dict[Any, Any] = {a: b for a, b in zip(old, names, strict=True) if str(a) != str(b)}
        if changes:
            now = self.linop.rename(changes)
            self._steps = (*self._steps, changes)
            self.reset_adjoint_and_normal()
            self._keep(now)
            self._shape = _core.NamedShape(now.ishape, now.oshape)

    @property
    def dims(self) -> set[_core.NamedDimension]:
        """All names of input and output."""
        return {*self.ishape, *self.oshape}

    def size(self, dim: Any) -> int | None:
        """The size of a dim where the operator knows it."""
        return self.linop.size(dim) if self._written_out else None

    @staticmethod
    def split(linop: NamedLinop, tile: Mapping[Any, slice]) -> NamedLinop:
        """The part of an operator between slices of its dims."""
        if linop._written_out:
            return Built(linop.linop.split({d: s for d, s in tile.items() if s != slice(None)}))
        return copy.copy(linop)

    @staticmethod
    def adj_split(linop: NamedLinop, tile: Mapping[Any, slice]) -> NamedLinop:
        """The same part, cut through the adjoint."""
        adjoint = linop.adjoint()
        return type(adjoint).split(adjoint, tile).adjoint()

    # Algebra

    def flatten(self) -> list[NamedLinop]:
        """The operators of which a product is made, first applied first."""
        return [self]

    def compose(self, inner: NamedLinop) -> NamedLinop:
        """A after inner."""
        from ._containers import Chain

        return Chain(*inner.flatten(), *self.flatten())

    def __matmul__(self, right: Any) -> Any:
        if isinstance(right, NamedLinop):
            return self.compose(right)
        return self(right) if isinstance(right, torch.Tensor) else NotImplemented

    def __add__(self, right: Any) -> Any:
        from ._containers import Add

        return Add(self, right) if isinstance(right, NamedLinop) else NotImplemented

    def __sub__(self, right: Any) -> Any:
        return self + -right if isinstance(right, NamedLinop) else NotImplemented

    def __neg__(self) -> Any:
        return -1 * self

    def __mul__(self, right: Any) -> Any:
        return self.compose(_scalar(right, self.ishape)) if _is_number(right) else NotImplemented

    def __rmul__(self, left: Any) -> Any:
        return _scalar(left, self.oshape).compose(self) if _is_number(left) else NotImplemented

    # What PyTorch and people do with a module

    def to(self, *args: Any, memory_aware: bool = False, **kwargs: Any) -> NamedLinop:
        """Moves tensors and operator; memory that is shared stays shared, whether ``memory_aware`` is said or not."""
        return cast(NamedLinop, super().to(*args, **kwargs))

    def _apply(self, fn: Any, recurse: bool = True) -> NamedLinop:
        super()._apply(fn, recurse)
        self.reset_adjoint_and_normal()
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self.reset_adjoint_and_normal()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_adjoint": None, "_normal": None, "_built": None}

    def __copy__(self) -> NamedLinop:
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__getstate__())
        for own in ("_parameters", "_buffers", "_modules"):
            new.__dict__[own] = dict(self.__dict__[own])
        new.__dict__["_shape"] = _core.NamedShape(self._shape)
        return new

    @property
    def name(self) -> str:
        """What repr calls it: its class, unless it was given a name."""
        return self._name or type(self).__name__

    @name.setter
    def name(self, name: str | None) -> None:
        self._name = name

    @property
    def repr_name(self) -> str:
        """The name with .H or .N."""
        return self.name + self._suffix

    def __repr__(self) -> str:
        return f"{self.repr_name}({self.ishape} -> {self.oshape})"


class Operator(NamedLinop):
    """Those of our classes: what they compute is an operator of ``tessera``, of the class ``_kind``.

    Tensors among its arguments are parameters of the module, whose memory the operator uses; the others are read as
    attributes too (``A.grid_size``). Products may hold what they made of several weights; they notice all changes but
    those through ``weight.data``, which PyTorch does not count: then call ``reset_adjoint_and_normal()``.
    """

    _written_out = True
    _kind: Any = None
    _copies = False  # whether _kind takes copy=

    def _hold(self, **arguments: Any) -> None:
        """Keeps the arguments of _kind and makes the operator, so that what is wrong with them is said now."""
        NamedLinop.__init__(self, ("...",))
        self._given = {key: value for key, value in arguments.items() if not isinstance(value, torch.Tensor)}
        for key, value in arguments.items():
            if isinstance(value, torch.Tensor):
                setattr(self, key, frozen(value))
        made = self._make()
        self._keep(made)
        self._shape = _core.NamedShape(made.ishape, made.oshape)

    def _make(self) -> _core.NamedLinop:
        tensors = {key: array(value) for key, value in self._parameters.items()}
        more = {"copy": False} if self._copies else {}
        return cast(_core.NamedLinop, self._kind(**self._given, **tensors, **more))

    def __getattr__(self, name: str) -> Any:
        given = self.__dict__.get("_given", {})
        return given[name] if name in given else super().__getattr__(name)

    @staticmethod
    def fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        if linop._trained and torch.is_grad_enabled():
            raise NotImplementedError(
                f"{linop.repr_name}: a weight in it requires a gradient, which Diagonal, Scalar, Dense and their sums "
                "and products give; call requires_grad_(False), or compute under torch.no_grad()"
            )
        return _torch.apply(linop.linop, x)

    @staticmethod
    def adj_fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return _torch.apply(linop.linop.H, x)

    @staticmethod
    def normal_fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return _torch.apply(linop.linop.N, x)


class Built(Operator):
    """An operator of ``tessera`` as it is: a tile, one in batches, a preconditioner, or one that you hand over.

    >>> Built(ts.Hadamard(("X",), ("X",)))(torch.tensor([1.0, 0.0])).tolist()
    [0.7071067..., 0.7071067...]
    """

    def __init__(self, linop: _core.NamedLinop, name: str | None = None) -> None:
        super().__init__(_core.NamedShape(linop.ishape, linop.oshape), name or linop.name)
        self.held = linop

    def _make(self) -> _core.NamedLinop:
        return self.held

    def _apply(self, fn: Any, recurse: bool = True) -> NamedLinop:
        super()._apply(fn, recurse)
        now = self.held.device
        if now is not None and now.kind != "sim":
            self.held = self.held.to(device_name(fn(torch.empty(0, device=str(now))).device))
        return self


class Normal(NamedLinop):
    """A.H A of an operator with functions of its own, which its ``normal_fn`` computes."""

    def __init__(self, source: NamedLinop) -> None:
        super().__init__(source.shape.N, source.name)
        self._suffix = source._suffix + ".N"
        self.source = source

    @staticmethod
    def fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return linop.source.normal_fn(linop.source, x)

    adj_fn = fn


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) or isinstance(value, torch.Tensor) and value.numel() == 1


def _scalar(value: Any, names: Any) -> NamedLinop:
    from ._operators import Scalar

    return Scalar(value, names)


def _identity() -> type:
    from ._operators import Identity

    return Identity
