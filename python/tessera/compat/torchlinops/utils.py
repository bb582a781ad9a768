# SPDX-License-Identifier: Apache-2.0
"""Helpers of torch-named-linops that programs use: centred transforms, inner products, batches.

>>> utils.is_adjoint(FFT(1), torch.ones(4) + 0j, torch.ones(4) + 0j)
True
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .._absent import refuse
from ._base import Tensor, torch

__all__ = [
    "batch_iterator",
    "ceildiv",
    "cfft",
    "cfft2",
    "cfftn",
    "cifft",
    "cifft2",
    "cifftn",
    "default_to",
    "default_to_dict",
    "dict_product",
    "end_pad_with_zeros",
    "from_pytorch",
    "get_device",
    "inner",
    "is_adjoint",
    "memory_aware_deepcopy",
    "memory_aware_to",
    "same_storage",
    "to_pytorch",
]


def _centred(transform: Any, x: Tensor, dim: Any, norm: str | None) -> Tensor:
    return torch.fft.fftshift(transform(torch.fft.ifftshift(x, dim=dim), dim=dim, norm=norm), dim=dim)


def cfftn(x: Tensor, dim: Any = None, norm: str | None = "ortho") -> Tensor:
    """The Fourier transform with the origin in the middle.

    >>> cfftn(torch.ones(4))[2].item()
    (2+0j)
    """
    return _centred(torch.fft.fftn, x, dim, norm)


def cifftn(x: Tensor, dim: Any = None, norm: str | None = "ortho") -> Tensor:
    """The inverse of cfftn.

    >>> cifftn(cfftn(torch.ones(3))).real.round().tolist()
    [1.0, 1.0, 1.0]
    """
    return _centred(torch.fft.ifftn, x, dim, norm)


def cfft(x: Tensor, **kwargs: Any) -> Tensor:
    """cfftn of the last axis.

    >>> cfft(torch.ones(2, 4))[0, 2].item()
    (2+0j)
    """
    return cfftn(x, dim=(-1,), **kwargs)


def cifft(x: Tensor, **kwargs: Any) -> Tensor:
    """cifftn of the last axis.

    >>> cifft(torch.ones(2, 4))[0, 2].item()
    (2+0j)
    """
    return cifftn(x, dim=(-1,), **kwargs)


def cfft2(x: Tensor, **kwargs: Any) -> Tensor:
    """cfftn of the last two axes.

    >>> cfft2(torch.ones(4, 4))[2, 2].item()
    (4+0j)
    """
    return cfftn(x, dim=(-2, -1), **kwargs)


def cifft2(x: Tensor, **kwargs: Any) -> Tensor:
    """cifftn of the last two axes.

    >>> cifft2(torch.ones(4, 4))[2, 2].item()
    (4+0j)
    """
    return cifftn(x, dim=(-2, -1), **kwargs)


def inner(x: Tensor, y: Tensor) -> Tensor:
    """The sum of conj(x) y.

    >>> inner(torch.tensor([1j]), torch.tensor([1j])).item()
    (1+0j)
    """
    return (x.conj() * y).sum()


def is_adjoint(A: Any, x: Tensor, y: Tensor, atol: float = 1e-5, rtol: float = 1e-8) -> bool:
    """Whether the inner product of y and A x is that of A.H y and x; ``ts.check_adjoint`` has tolerances.

    >>> is_adjoint(Scalar(2.0), torch.ones(2), torch.ones(2))
    True
    """
    return bool(torch.isclose(inner(y, A(x)), inner(A.H(y), x), atol=atol, rtol=rtol))


def ceildiv(dividend: int, divisor: int) -> int:
    """The quotient rounded up.

    >>> ceildiv(7, 3)
    3
    """
    return -(-dividend // divisor)


def batch_iterator(total: int, batch_size: int) -> Iterator[tuple[int, int]]:
    """Where batches start and end.

    >>> list(batch_iterator(7, 3))
    [(0, 3), (3, 6), (6, 7)]
    """
    if total <= 0:
        raise ValueError(f"batch_iterator: expected a total above 0, got {total}")
    return ((start, min(start + batch_size, total)) for start in range(0, total, batch_size))


def dict_product(input_dict: Mapping[Any, Any]) -> list[dict[Any, Any]]:
    """Every choice of one value for each key.

    >>> dict_product({"a": [1, 2], "b": [3]})
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    return [dict(zip(input_dict, values, strict=True)) for values in itertools.product(*input_dict.values())]


def default_to(*vals: Any, typecast: bool = False) -> Any:
    """The last value that is not None; ``typecast`` makes it of the type of the first.

    >>> default_to(1, None, 2.5), default_to(1, 2.5, typecast=True)
    (2.5, 2)
    """
    found = next((value for value in reversed(vals) if value is not None), None)
    return type(vals[0])(found) if typecast and vals[0] is not None and found is not None else found


def default_to_dict(*dicts: Any) -> dict[Any, Any]:
    """Dictionaries over each other, later ones on top.

    >>> default_to_dict({"a": 1, "b": 2}, None, {"a": 3})
    {'a': 3, 'b': 2}
    """
    return {key: value for part in dicts if part is not None for key, value in part.items()}


def end_pad_with_zeros(t: Tensor, dim: int, pad_length: int) -> Tensor:
    """Zeros behind one axis.

    >>> end_pad_with_zeros(torch.ones(1), 0, 2).tolist()
    [1.0, 0.0, 0.0]
    """
    shape = list(t.shape)
    shape[dim] = pad_length
    return torch.cat([t, t.new_zeros(shape)], dim)


def same_storage(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors are views of one memory.

    >>> x = torch.ones(3); same_storage(x, x[1:])
    True
    """
    return bool(x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr())


def get_device(device_idx: int = -1) -> Any:
    """The CPU for -1, else a CUDA device by its number.

    >>> get_device().type
    'cpu'
    """
    return torch.device("cpu" if device_idx < 0 else f"cuda:{device_idx}")


def from_pytorch(tensor: Tensor) -> Any:
    """A tensor's memory as an array: of NumPy on the CPU, of ``tessera`` on a GPU (which CuPy takes by DLPack).

    >>> from_pytorch(torch.ones(2)).tolist()
    [1.0, 1.0]
    """
    from ._base import array

    return tensor.detach().numpy() if tensor.device.type == "cpu" else array(tensor)


def to_pytorch(array: Any, requires_grad: bool = False) -> Tensor:
    """An array's memory as a tensor.

    >>> to_pytorch(np.ones(2)).tolist()
    [1.0, 1.0]
    """
    return torch.from_dlpack(array).requires_grad_(requires_grad)


def memory_aware_to(module: Any, device: Any) -> Any:
    """module.to(device).

    >>> memory_aware_to(Identity(("X",)), "cpu")
    Identity((X,) -> (X,))
    """
    return module.to(device)


def memory_aware_deepcopy(module: Any) -> Any:
    """copy.deepcopy(module), which keeps shared memory shared.

    >>> memory_aware_deepcopy(Identity(("X",)))
    Identity((X,) -> (X,))
    """
    import copy

    return copy.deepcopy(module)


_NAMES = "tessera.compat.torchlinops.utils"
__getattr__: Callable[[str], Any] = refuse(
    _NAMES,
    {
        "MemReporter": "A.linop.memory and ts.memory_stats() tell what operators and devices hold",
        "ModuleMemoryMap": "operators share the memory of tensors that are shared, on every device",
        "Indenter": "repr() indents by itself",
        "INDENT": "repr() indents by itself",
        "batch_tqdm": "write tqdm(batch_iterator(total, batch_size))",
        "cdata": "compare with same_storage(x, y)",
        "device_ordinal": "write torch.device(device).index",
        "resolve_device": "write torch.device(device)",
        "setup_console_logger": "write logging.basicConfig()",
        "tensor_memory_span": "A.linop.memory tells what operators hold",
        "fake_tl": "kernels are not written with Triton here",
        "fake_triton": "kernels are not written with Triton here",
    },
)
