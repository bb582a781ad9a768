# SPDX-License-Identifier: Apache-2.0
"""What operators do, as functions of tensors, with the names and order of torch-named-linops.

>>> functional.center_pad(torch.ones(2), (2,), (4,)).tolist()
[0.0, 1.0, 1.0, 0.0]

Each makes its operator and applies it: gradients flow, and who calls one of them often makes the operator once instead.
"""

from __future__ import annotations

from typing import Any

from ._base import Tensor, torch
from ._moves import ArrayToBlocks, BlocksToArray, Interpolate, Pad, Sampling
from ._names import fake_dims
from ._nufft import NUFFT

__all__ = [
    "array_to_blocks",
    "blocks_to_array",
    "canonicalize_idx",
    "center_crop",
    "center_pad",
    "ensure_tensor_indexing",
    "fold",
    "get_nblocks",
    "grid",
    "index",
    "index_adjoint",
    "interpolate",
    "interpolate_adjoint",
    "mask2idx",
    "nufft",
    "nufft_adjoint",
    "slice2range",
    "unfold",
    "ungrid",
]


def center_pad(x: Tensor, im_size: Any, pad_im_size: Any) -> Tensor:
    """Zeros around the last axes.

    >>> center_pad(torch.ones(1), (1,), (3,)).tolist()
    [0.0, 1.0, 0.0]
    """
    return Pad(pad_im_size, im_size)(x)


def center_crop(x: Tensor, im_size: Any, crop_im_size: Any) -> Tensor:
    """The middle of the last axes.

    >>> center_crop(torch.arange(4), (4,), (2,)).tolist()
    [1, 2]
    """
    return Pad(im_size, crop_im_size).H(x)


def get_nblocks(im_size: Any, block_size: Any, block_stride: Any = None) -> tuple[int, ...]:
    """How many blocks fit along each axis.

    >>> get_nblocks((5, 4), (2, 2), (1, 2))
    (4, 2)
    """
    strides = (1,) * len(tuple(im_size)) if block_stride is None else block_stride
    return tuple((n - b) // s + 1 for n, b, s in zip(im_size, block_size, strides, strict=True))


def _into(out: Tensor | None, result: Tensor) -> Tensor:
    return result if out is None else out.copy_(result.reshape(out.shape))


def array_to_blocks(input: Tensor, block_shape: Any, stride: Any = None, mask: Any = None, out: Any = None) -> Tensor:
    """Blocks of the last axes.

    >>> array_to_blocks(torch.arange(4), (2,), (2,)).tolist()
    [[0, 1], [2, 3]]
    """
    size = tuple(input.shape[-len(tuple(block_shape)) :])
    return _into(out, ArrayToBlocks(size, block_shape, stride or (1,) * len(size), mask)(input))


def blocks_to_array(
    input: Tensor, im_size: Any, block_shape: Any, stride: Any = None, mask: Any = None, out: Any = None
) -> Tensor:
    """Blocks added up where they lie.

    >>> blocks_to_array(torch.ones(3, 2), (4,), (2,), (1,)).tolist()
    [1.0, 2.0, 2.0, 1.0]
    """
    return _into(out, BlocksToArray(im_size, block_shape, stride or (1,) * len(tuple(im_size)), mask)(input))


def unfold(x: Tensor, block_size: Any, stride: Any = None, mask: Any = None, output: Any = None) -> Tensor:
    """array_to_blocks under its other name.

    >>> unfold(torch.arange(2), (1,)).tolist()
    [[0], [1]]
    """
    return array_to_blocks(x, block_size, stride, mask, output)


def fold(x: Tensor, im_size: Any, block_size: Any, stride: Any, mask: Any = None, output: Any = None) -> Tensor:
    """blocks_to_array under its other name.

    >>> fold(torch.ones(2, 1), (2,), (1,), (1,)).tolist()
    [1.0, 1.0]
    """
    return blocks_to_array(x, im_size, block_size, stride, mask, output)


def _interpolator(
    locs: Tensor, size: Any, width: Any, kernel: str, norm: int, pad_mode: str, params: Any
) -> Interpolate:
    return Interpolate(
        locs, tuple(size), None, fake_dims("p", locs.ndim - 1), None, width, kernel, norm, pad_mode, params
    )


def interpolate(
    vals: Tensor,
    locs: Tensor,
    width: Any,
    kernel: str = "kaiser_bessel",
    norm: int = 1,
    pad_mode: str = "circular",
    kernel_params: Any = None,
) -> Tensor:
    """Values of a grid at points.

    >>> interpolate(torch.arange(4.0), torch.tensor([[1.5]]), 2.0, "spline").tolist()
    [1.5]
    """
    size = vals.shape[-locs.shape[-1] :]
    return _interpolator(locs, size, width, kernel, norm, pad_mode, kernel_params)(vals)


def interpolate_adjoint(
    vals: Tensor,
    locs: Tensor,
    grid_size: Any,
    width: Any,
    kernel: str = "kaiser_bessel",
    norm: int = 1,
    pad_mode: str = "circular",
    kernel_params: Any = None,
) -> Tensor:
    """Values at points, spread over a grid.

    >>> interpolate_adjoint(torch.ones(1), torch.tensor([[1.5]]), (4,), 2.0, "spline").tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    return _interpolator(locs, grid_size, width, kernel, norm, pad_mode, kernel_params).H(vals)


ungrid = interpolate
grid = interpolate_adjoint


def nufft(x: Tensor, locs: Tensor, oversamp: float = 1.25, width: float = 4.0) -> Tensor:
    """The Fourier transform at locations in [-n/2, n/2].

    >>> nufft(torch.ones(4) + 0j, torch.zeros(1, 1)).real.round(decimals=1).tolist()
    [2.0]
    """
    size = tuple(x.shape[-locs.shape[-1] :])
    return NUFFT(locs, size, fake_dims("k", locs.ndim - 1), oversamp=oversamp, width=width)(x)


def nufft_adjoint(x: Tensor, locs: Tensor, grid_size: Any, oversamp: float = 1.25, width: float = 4.0) -> Tensor:
    """The adjoint of nufft.

    >>> nufft_adjoint(torch.ones(1) + 0j, torch.zeros(1, 1), (4,)).real.round(decimals=1).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    return NUFFT(locs, grid_size, fake_dims("k", locs.ndim - 1), oversamp=oversamp, width=width).H(x)


def mask2idx(mask: Tensor) -> tuple[Tensor, ...]:
    """Indices of what is true, one tensor for each axis.

    >>> mask2idx(torch.tensor([True, False, True]))
    (tensor([0, 2]),)
    """
    return tuple(torch.nonzero(mask, as_tuple=True))


def canonicalize_idx(idx: Tensor, dim: int = -1) -> tuple[Tensor, ...]:
    """Stacked indices as one tensor for each axis.

    >>> canonicalize_idx(torch.tensor([[0, 1], [2, 3]]))
    (tensor([0, 2]), tensor([1, 3]))
    """
    return tuple(idx.unbind(dim))


def slice2range(slice_obj: slice, n: int) -> Tensor:
    """The indices that a slice picks.

    >>> slice2range(slice(1, None, 2), 5).tolist()
    [1, 3]
    """
    return torch.arange(n)[slice_obj]


def ensure_tensor_indexing(idx: Any, tshape: Any) -> tuple[Tensor, ...]:
    """Indices in which slices are tensors that broadcast, as NumPy's ix_ has them.

    >>> [tuple(i.shape) for i in ensure_tensor_indexing((slice(0, 2), slice(None)), (4, 3))]
    [(2, 1), (1, 3)]
    """
    slices = [i for i, part in enumerate(idx) if isinstance(part, slice)]
    if not slices:
        return tuple(idx)
    if len(slices) != len(tuple(idx)):
        raise NotImplementedError("ensure_tensor_indexing: expected all tensors or all slices")
    ranges = [slice2range(part, n) for part, n in zip(idx, tshape, strict=True)]
    return tuple(r.reshape([-1 if i == axis else 1 for i in range(len(ranges))]) for axis, r in enumerate(ranges))


def index(vals: Tensor, idx: Any, deterministic_backward: bool = False) -> Tensor:
    """Elements of the last axes by their indices.

    >>> index(torch.arange(6).reshape(2, 3), (torch.tensor([0, 2]),)).tolist()
    [[0, 2], [3, 5]]
    """
    idx = torch.broadcast_tensors(*ensure_tensor_indexing(idx, vals.shape[-len(tuple(idx)) :]))
    return Sampling(idx, vals.shape[-len(idx) :], fake_dims("m", idx[0].ndim), fake_dims("n", len(idx)))(vals)


def index_adjoint(vals: Tensor, idx: Any, grid_size: Any) -> Tensor:
    """Elements added up where they came from.

    >>> index_adjoint(torch.ones(2), (torch.tensor([1, 1]),), (3,)).tolist()
    [0.0, 2.0, 0.0]
    """
    idx = torch.broadcast_tensors(*ensure_tensor_indexing(idx, grid_size))
    return Sampling(idx, grid_size, fake_dims("m", idx[0].ndim), fake_dims("n", len(idx))).H(vals)
