# SPDX-License-Identifier: Apache-2.0
"""Operators in PyTorch: exact gradients (the adjoint), forward mode, batches, memory shared through DLPack.

>>> import torch
>>> layer = ts.torch.wrap(ts.Diagonal([1.0, 2.0], ("X",)))
>>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
>>> layer(x).sum().backward(); x.grad
tensor([1., 2.], dtype=torch.float64)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _tessera as _core
from ._batched import apply_batched, extra_axes, needs
from ._checked import check_arguments as _check_arguments
from ._pickle import restored as _restored

try:
    import torch
except ImportError as error:
    raise needs("torch", error) from error

__all__ = ["LinopModule", "apply", "asarray", "denoiser", "wrap"]


def asarray(x: torch.Tensor) -> _core.Array:
    """The tensor's memory as an array; a lazily conjugated or negated one is copied.

    >>> t = torch.zeros(2); ts.torch.asarray(t)[0] = 3; t.tolist()
    [3.0, 0.0]
    """
    return _core.asarray(x.detach().resolve_conj().resolve_neg())


def _run(A: _core.NamedLinop, x: torch.Tensor, batch: int) -> torch.Tensor:
    return torch.from_dlpack(apply_batched(A, asarray(x), batch))


class _Apply(torch.autograd.Function):
    """y = A x. Gradients are A.H g: PyTorch's convention for complex numbers is the adjoint's."""

    @staticmethod
    def forward(x: torch.Tensor, A: _core.NamedLinop, batch: int) -> torch.Tensor:
        return _run(A, x, batch)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        x, ctx.linop, ctx.batch = inputs
        ctx.dtype = x.dtype

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        x = _Apply.apply(g, ctx.linop.H, ctx.batch)
        if x.is_complex() and not ctx.dtype.is_complex:
            x = x.real
        return x.to(ctx.dtype), None, None

    @staticmethod
    def jvp(ctx: Any, t: torch.Tensor, *_: Any) -> torch.Tensor:
        return _Apply.apply(t, ctx.linop, ctx.batch)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], x: torch.Tensor, A: Any, batch: int) -> tuple[torch.Tensor, int]:
        return _Apply.apply(x.movedim(in_dims[0], 0), A, batch + 1), 0


def apply(A: _core.NamedLinop, x: torch.Tensor) -> torch.Tensor:
    """A x, differentiable any number of times; axes before those that A names are a batch.

    >>> A = ts.Diagonal([1.0, 2.0], ("X",)); ts.torch.apply(A, torch.ones(3, 2, dtype=torch.float64)).shape
    torch.Size([3, 2])
    """
    return _Apply.apply(x, A, extra_axes(A, x.ndim))


class LinopModule(torch.nn.Module):
    """A module that applies an operator. The operator's arrays are buffers, which share its memory: they move, change
    precision and are saved with the rest of a model, and ``linop`` is the operator of what they hold now.

    >>> layer = ts.torch.LinopModule(ts.Diagonal([1.0, 2.0], ("X",)))
    >>> layer.state_dict()["array0"].tolist(), layer.float()(torch.ones(2)).tolist()
    ([1.0, 2.0], [1.0, 2.0])
    """

    _linop: _core.NamedLinop
    _seen: list[tuple[Any, ...]]

    def __init__(self, linop: _core.NamedLinop) -> None:
        super().__init__()
        if not isinstance(linop, _core.NamedLinop):
            raise _core.DTypeError(f"ts.torch.wrap: expected an operator, got {type(linop).__name__}")
        self._hold(linop)

    def _hold(self, linop: _core.NamedLinop) -> None:
        """Takes an operator, with its arrays as buffers unless one is where PyTorch has no tensors."""
        _, arrays, _ = _core._linop_state(linop)
        shared = all(a.device.kind in ("cpu", "cuda") for a in arrays)
        for i, a in enumerate(arrays if shared else ()):
            self.register_buffer(f"array{i}", torch.from_dlpack(a))
        self._linop, self._seen = linop, self._marks()

    def _marks(self) -> list[tuple[Any, ...]]:
        """What changes when a buffer is replaced or written to."""
        return [(b.data_ptr(), b.dtype, 0 if b.is_inference() else b._version) for b in self._buffers.values()]

    @property
    def linop(self) -> _core.NamedLinop:
        """The operator, with the arrays that the buffers hold now."""
        if (marks := self._marks()) != self._seen:
            text, _, functions = _core._linop_state(self._linop)
            self._linop, self._seen = self._with_buffers(text, functions), marks
        return self._linop

    def _with_buffers(self, text: str, functions: list[Any]) -> _core.NamedLinop:
        return _restored(text, [asarray(b) for b in self._buffers.values()], functions)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return apply(self.linop, x)

    @property
    def H(self) -> LinopModule:
        """The module of the adjoint."""
        return LinopModule(self.linop.H)

    @property
    def N(self) -> LinopModule:
        """The module of the normal operator."""
        return LinopModule(self.linop.N)

    def extra_repr(self) -> str:
        return repr(self.linop)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> LinopModule:
        now = self.linop.device or _core.Device("cpu")
        where = fn(torch.empty(0, device=str(now))).device if now.kind != "sim" else None
        if where is not None and where.type in ("cpu", "cuda"):
            to = _core.Device("cpu" if where.type == "cpu" else f"cuda:{where.index or 0}")
            if to != now:  # the operator moves its arrays itself, also what is no buffer
                self._hold(self.linop.to(to))
        super()._apply(fn, recurse)
        return self

    def __getstate__(self) -> dict[str, Any]:
        text, _, functions = _core._linop_state(self.linop)
        return {**self.__dict__, "_linop": (text, functions) if self._buffers else self._linop}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._buffers:
            text, functions = state["_linop"]
            self._linop = self._with_buffers(text, functions)
        self._seen = self._marks()

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        for name, b in self._buffers.items():  # they are written to, and the operator that was given keeps its numbers
            self._buffers[name] = b.clone()
        super()._load_from_state_dict(*args, **kwargs)


def wrap(A: _core.NamedLinop) -> LinopModule:
    """The operator as a module of PyTorch, with exact gradients.

    >>> layer = ts.torch.wrap(ts.FFT(2)); layer(torch.ones(4, 4, dtype=torch.complex64))[0, 0].real.item()
    4.0
    """
    return LinopModule(A)


def denoiser(
    model: Callable[..., torch.Tensor], *, lam: float | None = None, parts: str = "batch"
) -> Callable[..., Any]:
    """A module or function that denoises tensors (batch, channel, *shape), as a proximal map for ``ts.solve``: plug and
    play. It is called without gradients, in the dtype and on the device of its parameters.

    Arrays are one image of one channel. Of complex ones the real and imaginary part are two images of a batch, or with
    ``parts="channels"`` two channels of one. With ``lam`` the model gets the noise level sqrt(lam t) as a second
    argument, t being the solver's step.

    >>> half = ts.torch.denoiser(lambda x: x / 2)
    >>> ts.solve.fista(ts.Identity(("X",)), [4.0, 2.0], half, step=1.0).x.numpy().round(3).tolist()
    [2.0, 1.0]
    """
    if not callable(model):
        raise _core.DTypeError(f"ts.torch.denoiser: expected a module or a function, got {type(model).__name__}")
    if parts not in ("batch", "channels"):
        raise _core.ArgumentError(f'ts.torch.denoiser: parts {parts!r}; expected "batch" or "channels"')
    if lam is not None and not lam >= 0:
        raise _core.ArgumentError(f"ts.torch.denoiser: lam {lam} must not be negative")
    weights = list(model.parameters()) if isinstance(model, torch.nn.Module) else []
    first = next((w for w in weights if w.is_floating_point()), None)

    def apply_model(v: Any, t: float) -> _core.Array:
        given = _core.asarray(v)
        x = torch.from_dlpack(given if given.device.kind != "sim" else given.to("cpu"))
        split = torch.view_as_real(x).movedim(-1, 0) if x.is_complex() else x[None]
        images = split[None] if parts == "channels" else split[:, None]
        ready = images if first is None else images.to(first)
        with torch.no_grad():
            found = model(ready) if lam is None else model(ready, (lam * t) ** 0.5)
        if found.shape != images.shape:
            raise _core.ShapeError(
                f"ts.torch.denoiser: the model gave {tuple(found.shape)} for {tuple(images.shape)}; expected the same"
            )
        back = found.to(images).reshape(split.shape)
        whole = torch.view_as_complex(back.movedim(0, -1).contiguous()) if x.is_complex() else back[0]
        return asarray(whole).copy().to(given.device)

    apply_model.name = f"denoiser({type(model).__name__}, {lam}, {parts})"  # type: ignore[attr-defined]
    return apply_model


_check_arguments(globals(), ["apply", "asarray", "denoiser", "wrap"], "ts.torch.", guard=True)
