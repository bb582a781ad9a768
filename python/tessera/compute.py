# SPDX-License-Identifier: Apache-2.0
"""The context that picks devices, and the precision in which matrices meet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from . import _tessera as _core

__all__ = [
    "AutoSolver",
    "Choice",
    "ComputeContext",
    "ComputeDevice",
    "CpuDevice",
    "CudaDevice",
    "Resolved",
    "context",
    "precision_mode",
    "resolve",
    "set_precision_mode",
]


class ComputeDevice(str):
    """A device that computes: its name, so that it can be given wherever a device is expected, and what it is good at.

    >>> ts.ComputeDevice("sim:0").is_gpu, ts.zeros(2, device=ts.ComputeDevice("sim:0")).device
    (False, Device('sim:0'))
    """

    __slots__ = ()

    @property
    def is_gpu(self) -> bool:
        """Whether it is an accelerator with memory of its own.

        >>> ts.context().devices[0].is_gpu
        False
        """
        return False

    @property
    def preferred_precision(self) -> Any:
        """The real dtype that it is quick in; nothing is converted for it.

        >>> ts.context().devices[0].preferred_precision in (ts.float32, ts.float64)
        True
        """
        return _core._preferred_precision(str(self))


class CpuDevice(ComputeDevice):
    """The host: its cores, OpenBLAS and LAPACK.

    >>> ts.context().devices == [ts.CpuDevice("cpu")]
    True
    """

    __slots__ = ()


class CudaDevice(ComputeDevice):
    """A GPU: cuBLAS, cuSOLVER and kernels of our own.

    >>> ts.CudaDevice("cuda:0").is_gpu
    True
    """

    __slots__ = ()

    @property
    def is_gpu(self) -> bool:
        """Whether it is an accelerator with memory of its own.

        >>> ts.CudaDevice("cuda:1").is_gpu
        True
        """
        return True


def _device(name: str) -> ComputeDevice:
    return CpuDevice(name) if name == "cpu" else CudaDevice(name) if name.startswith("cuda") else ComputeDevice(name)


class AutoSolver(ComputeDevice):
    """All devices of the context as one: each operation goes to the one that is done first.

    >>> ts.context().device.select_device("matmul", ts.ones((4, 4)), ts.ones((4, 4)))
    'cpu'
    """

    __slots__ = ()

    @property
    def devices(self) -> list[ComputeDevice]:
        """The devices among which it picks, the host first.

        >>> ts.context().device.devices
        ['cpu']
        """
        return [_device(name) for name in _core._solver_devices()]

    @property
    def is_gpu(self) -> bool:
        """Whether an accelerator is among them.

        >>> ts.context().device.is_gpu
        False
        """
        return _core._is_gpu_active()

    @property
    def preferred_precision(self) -> Any:
        """That of the last of its devices, the accelerator where there is one.

        >>> ts.context().device.preferred_precision == ts.context().devices[-1].preferred_precision
        True
        """
        return self.devices[-1].preferred_precision

    def select_device(self, op: str, *operands: Any) -> ComputeDevice:
        """The device on which ``op`` on these operands would run; ``ts.context().explain`` says why.

        >>> ts.context().device.select_device("add", ts.ones(3, device="sim:0"))
        'sim:0'
        """
        return _device(_core._choose(op, *operands)[0])


class Choice(NamedTuple):
    """Where an operation would run, what it would take, and why.

    >>> ts.context().choose("matmul", ts.ones((4, 4)), ts.ones((4, 4))).device
    'cpu'
    """

    device: ComputeDevice
    compute_seconds: float
    transfer_seconds: float
    transferred_bytes: int
    reasons: str


class ComputeContext:
    """Picks the device for an operation from measured costs; there is one, ``ts.context()``.

    Costs are measured once for a machine, in about three seconds, when they are first asked for. It moves nothing: it
    says where. Data on a device that was not enabled stay there.

    >>> ts.context()
    ComputeContext(AutoSolver (cpu))
    """

    __slots__ = ()

    def enable_gpu(self, config: _core.AcceleratorConfig | None = None, **settings: Any) -> None:
        """Lets a CUDA device be chosen; settings are those of ``ts.AcceleratorConfig``.

        >>> try: ts.context().enable_gpu(device_id=4000)
        ... except RuntimeError: print("there is no such device")
        there is no such device
        """
        if config is not None and settings:
            raise ValueError("enable_gpu: give a config or settings, not both")
        _core._enable_gpu(_core.AcceleratorConfig(**settings) if config is None else config)

    def disable_gpu(self) -> None:
        """Only the host from now on.

        >>> ts.context().disable_gpu(); ts.context().is_gpu_active
        False
        """
        _core._disable_gpu()

    @property
    def is_gpu_active(self) -> bool:
        """Whether an accelerator may be chosen.

        >>> ts.context().is_gpu_active
        False
        """
        return _core._is_gpu_active()

    @property
    def config(self) -> _core.AcceleratorConfig:
        """How the accelerator is used.

        >>> ts.context().config.enable_async
        True
        """
        return _core._accelerator_config()

    @property
    def device(self) -> AutoSolver:
        """What operations go to: the devices among which it picks, as one.

        >>> ts.context().device
        'AutoSolver (cpu)'
        """
        return AutoSolver(_core._auto_solver())

    @property
    def devices(self) -> list[ComputeDevice]:
        """The devices among which it picks, the host first.

        >>> ts.context().devices
        ['cpu']
        """
        return self.device.devices

    def choose(self, op: str, *operands: Any) -> Choice:
        """Where ``op`` on these operands would run: elementwise, reduce, matvec, matmul, solve, inverse, …

        Names of functions are taken too and weighed as what they do most: add, outer, det, lstsq, eigvals, …

        >>> ts.context().choose("reduce", ts.ones(10)).transferred_bytes
        0
        """
        device, *rest = _core._choose(op, *operands)
        return Choice(_device(device), *rest)

    def explain(self, op: str, *operands: Any) -> str:
        """A line for each device: what the operation would take there, or why it is out of the question.

        >>> ts.context().explain("matmul", ts.ones((3, 4)), ts.ones((4, 5))).startswith("cpu: ")
        True
        """
        return _core._choose(op, *operands)[4]

    def force(self, device: Any = None) -> None:
        """This device for everything; None: the quickest again.

        >>> ts.context().force("cpu"); ts.context().force(None)
        """
        _core._force_device(device)

    def set_gpu_threshold_elements(self, elements: int) -> None:
        """Smaller results are not brought to an accelerator; 0: only the costs decide.

        >>> ts.context().set_gpu_threshold_elements(512 * 512); ts.context().set_gpu_threshold_elements(0)
        """
        _core._gpu_threshold_elements(elements)

    def set_pinned_budget(self, size: int | str) -> None:
        """Bytes of pinned host memory that arrays may hold in all; 0: no limit.

        >>> ts.context().set_pinned_budget("64MiB"); ts.context().pinned["budget"]
        67108864
        >>> ts.context().set_pinned_budget(0)
        """
        _core._set_pinned_budget(size)

    @property
    def pinned(self) -> dict[str, int]:
        """Bytes of pinned host memory: in use, at the peak, reserved, and the budget.

        >>> sorted(ts.context().pinned)
        ['budget', 'in_use', 'peak', 'reserved']
        """
        return dict(zip(("in_use", "peak", "reserved", "budget"), _core._pinned_stats(), strict=True))

    def preferred_precision(self, device: Any = "cpu") -> Any:
        """The real dtype that a device is quick in, by measurement or by its kind; converts nothing.

        >>> ts.context().preferred_precision("cpu") in (ts.float32, ts.float64)
        True
        """
        return _core._preferred_precision(device)

    def __repr__(self) -> str:
        return f"ComputeContext({self.device})"


_context = ComputeContext()


def context() -> ComputeContext:
    """The context of this process.

    >>> ts.context() is ts.context()
    True
    """
    return _context


class Resolved(NamedTuple):
    """The dtype in which two matrices meet, and whether a longer real float was shortened for it.

    >>> ts.compute.resolve("matmul", "float32", "float64").underpromotion
    True
    """

    dtype: Any
    underpromotion: bool


def resolve(op: str, a: Any, b: Any, mode: str | None = None) -> Resolved:
    """The dtype of ``op`` on matrices of two dtypes, in a precision mode or in the one of this thread.

    ``op`` is matmul, matvec, vecmat, outer, add, subtract, multiply, divide or power.

    >>> ts.compute.resolve("add", "uint8", "int8").dtype
    tessera.int16
    """
    return Resolved(*_core._resolve(op, a, b, _core._promotion() if mode is None else mode))


def set_precision_mode(mode: str) -> None:
    """The precision mode of this thread from now on: "lowest", the default, or "highest".

    >>> ts.set_precision_mode("highest"); ts.compute.resolve("add", "float32", "float64").dtype
    tessera.float64
    >>> ts.set_precision_mode("lowest")
    """
    _core._set_promotion(mode)


@contextmanager
def precision_mode(mode: str) -> Iterator[None]:
    """Of two floats that meet in a matrix operation the shorter ("lowest", the default) or the longer one ("highest").

    >>> with ts.precision_mode("highest"): ts.compute.resolve("matmul", "float32", "float64").dtype
    tessera.float64
    """
    before = _core._promotion()
    _core._set_promotion(mode)
    try:
        yield
    finally:
        _core._set_promotion(before)
