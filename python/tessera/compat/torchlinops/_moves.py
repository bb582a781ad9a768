# SPDX-License-Identifier: Apache-2.0
"""Operators that move, repeat, pick and interpolate elements, with the names and order of torch-named-linops."""

from __future__ import annotations

from typing import Any

from ... import _tessera as _core
from ._base import NamedLinop, Operator, Tensor, array, frozen, torch


def unnamed(first: int, count: int) -> tuple[str, ...]:
    """Names that match any others, for axes of which nobody said how they are called."""
    return tuple(f"({i})" for i in range(first, first + count))


class Rearrange(Operator):
    """Axes split, merged and permuted, as einops writes it.

    >>> A = Rearrange("(a b)", "b a", ("X",), ("B", "A"), {"a": 2})
    >>> A(torch.arange(6)).tolist()
    [[0, 3], [1, 4], [2, 5]]
    """

    _kind = _core.Rearrange

    def __init__(self, ipattern: str, opattern: str, ishape: Any, oshape: Any, axes_lengths: Any = None) -> None:
        lengths = None if axes_lengths is None else {str(k): v for k, v in axes_lengths.items()}
        self._hold(ipattern=ipattern, opattern=opattern, ishape=ishape, oshape=oshape, axes_lengths=lengths)


class Repeat(Operator):
    """Copies along new axes; the adjoint sums over them.

    >>> A = Repeat({"A": 2}, ("X",), ("A", "X")); A.H(A(torch.ones(3))).tolist()
    [2.0, 2.0, 2.0]
    """

    _kind = _core.Repeat

    def __init__(self, n_repeats: Any, ishape: Any, oshape: Any, broadcast_dims: Any = None) -> None:
        self._hold(n_repeats=dict(n_repeats), ishape=ishape, oshape=oshape, broadcast_dims=broadcast_dims)


class SumReduce(Operator):
    """Sums over the axes that the output does not name.

    >>> A = SumReduce(("A", "X"), ("X",)); A(torch.ones(2, 3)).tolist(), A.H(torch.ones(3)).shape
    ([2.0, 2.0, 2.0], torch.Size([1, 3]))

    Alone, its adjoint does not know how long the axes were: as there, they have length one and are broadcast. In a
    product they have the length that its neighbours know.
    """

    _kind = _core.SumReduce

    def __init__(self, ishape: Any, oshape: Any) -> None:
        self._hold(ishape=ishape, oshape=oshape)

    @staticmethod
    def fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        if "N" in linop._steps:
            return Operator.fn(linop, x)
        names, wanted = ([str(dim) for dim in side] for side in (linop.ishape, linop.oshape))
        batch = [f"...{i}" for i in range(x.ndim - len(names) + 1)]
        names, wanted = (  # the axes that "..." stands for by names of their own
            [each for name in side for each in (batch if name == "..." else [name])] for side in (names, wanted)
        )
        gone = [axis for axis, name in enumerate(names) if name not in wanted]
        x = x.sum(gone) if gone else x
        left = [name for name in names if name in wanted]
        x = x.permute([left.index(name) for name in wanted if name in left])
        return x[tuple(slice(None) if name in left else None for name in wanted)]

    @staticmethod
    def adj_fn(linop: Any, x: Tensor, /, context: Any = None) -> Tensor:
        return linop.H(x)

    def with_sizes(self, sizes: dict[str, int]) -> _core.NamedLinop | None:
        """The operator among others that know the lengths of what is summed, or None where they do not."""
        names = [str(d) for side in (self.ishape, self.oshape) for d in side]
        lengths = {name: sizes[name] for name in names if names.count(name) == 1 and name in sizes}
        sides = (self.oshape, self.ishape) if "H" in self._steps else (self.ishape, self.oshape)
        gone = [str(d) for d in sides[0] if d not in sides[1]]
        if "N" in self._steps or any(name not in lengths for name in gone):
            return None
        made = _core.SumReduce(*sides, {name: lengths[name] for name in gone})
        return made.H if "H" in self._steps else made


class Pad(Operator):
    """Zeros around the last axes, the centre kept; the adjoint crops.

    >>> Pad((4,), (2,))(torch.ones(2)).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """

    _kind = _core.Pad

    def __init__(
        self, pad_im_size: Any, im_size: Any, in_shape: Any = None, out_shape: Any = None, batch_shape: Any = None
    ) -> None:
        self._hold(
            pad_im_size=tuple(pad_im_size),
            im_size=tuple(im_size),
            in_shape=in_shape,
            out_shape=out_shape,
            batch_shape=batch_shape,
        )


PadLast = Pad


def Crop(
    crop_im_size: Any, im_size: Any, in_shape: Any = None, out_shape: Any = None, batch_shape: Any = None
) -> NamedLinop:
    """The middle of the last axes: the adjoint of Pad.

    >>> Crop((2,), (4,), ("X",), ("Y",), ())(torch.arange(4)).tolist()
    [1, 2]
    """
    return _Crop(crop_im_size, im_size, in_shape, out_shape, batch_shape)


class _Crop(Operator):
    _kind = _core.Crop

    def __init__(self, crop_im_size: Any, im_size: Any, in_shape: Any, out_shape: Any, batch_shape: Any) -> None:
        sizes = {"crop_im_size": tuple(crop_im_size), "im_size": tuple(im_size)}
        self._hold(**sizes, in_shape=in_shape, out_shape=out_shape, batch_shape=batch_shape)
        self._name = "Crop"


class Truncate(Operator):
    """The first elements of one axis.

    >>> Truncate(0, 3, 2, ("X",), ("Y",))(torch.arange(3)).tolist()
    [0, 1]
    """

    _kind = _core.Truncate

    def __init__(self, dim: Any, from_length: int, to_length: int, ishape: Any, oshape: Any) -> None:
        self._hold(dim=dim, from_length=from_length, to_length=to_length, ishape=ishape, oshape=oshape)


class PadDim(Operator):
    """Zeros behind one axis.

    >>> PadDim(0, 2, 3, ("X",), ("Y",))(torch.ones(2)).tolist()
    [1.0, 1.0, 0.0]
    """

    _kind = _core.PadDim

    def __init__(self, dim: Any, from_length: int, to_length: int, ishape: Any, oshape: Any) -> None:
        self._hold(dim=dim, from_length=from_length, to_length=to_length, ishape=ishape, oshape=oshape)


def _block_names(grid_size: Any, mask: Any, array_shape: Any, blocks_shape: Any) -> tuple[Any, Any]:
    axes = len(tuple(grid_size))
    blocks = 2 * axes if mask is None else axes + 1
    return array_shape or unnamed(1, axes), blocks_shape or unnamed(1 + axes, blocks)


class ArrayToBlocks(Operator):
    """Blocks, overlapping or not, cut out of the last axes.

    >>> ArrayToBlocks((4,), (2,), (1,))(torch.arange(4)).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """

    _kind = _core.ArrayToBlocks
    _copies = True

    def __init__(
        self,
        grid_size: Any,
        block_size: Any,
        stride: Any,
        mask: Any = None,
        batch_shape: Any = None,
        array_shape: Any = None,
        blocks_shape: Any = None,
    ) -> None:
        array_shape, blocks_shape = _block_names(grid_size, mask, array_shape, blocks_shape)
        sizes = {"grid_size": grid_size, "block_size": block_size, "stride": stride, "mask": mask}
        self._hold(**sizes, batch_shape=batch_shape, array_shape=array_shape, blocks_shape=blocks_shape)


class BlocksToArray(Operator):
    """Blocks added up where they lie in an array.

    >>> BlocksToArray((4,), (2,), (1,))(torch.ones(3, 2)).tolist()
    [1.0, 2.0, 2.0, 1.0]
    """

    _kind = _core.BlocksToArray
    _copies = True

    def __init__(
        self,
        grid_size: Any,
        block_size: Any,
        stride: Any,
        mask: Any = None,
        batch_shape: Any = None,
        blocks_shape: Any = None,
        array_shape: Any = None,
    ) -> None:
        array_shape, blocks_shape = _block_names(grid_size, mask, array_shape, blocks_shape)
        sizes = {"grid_size": grid_size, "block_size": block_size, "stride": stride, "mask": mask}
        self._hold(**sizes, batch_shape=batch_shape, blocks_shape=blocks_shape, array_shape=array_shape)


class Interpolate(Operator):
    """Values at points off a grid; the adjoint is gridding.

    >>> A = Interpolate(torch.tensor([[3.5]]), (8,), width=2.0, kernel="spline")
    >>> A(torch.arange(8.0)).tolist()
    [3.5]
    """

    _kind = _core.Interpolate
    _copies = True

    def __init__(
        self,
        locs: Tensor,
        grid_size: Any,
        batch_shape: Any = None,
        locs_batch_shape: Any = None,
        grid_shape: Any = None,
        width: Any = 4.0,
        kernel: str = "kaiser_bessel",
        norm: int = 1,
        pad_mode: str = "circular",
        kernel_params: Any = None,
    ) -> None:
        grid_size, points = tuple(grid_size), locs.ndim - 1
        shapes = {
            "batch_shape": batch_shape,
            "locs_batch_shape": unnamed(1, points) if locs_batch_shape is None else locs_batch_shape,
            "grid_shape": unnamed(1 + points, len(grid_size)) if grid_shape is None else grid_shape,
        }
        params = {"kernel": kernel, "norm": norm, "pad_mode": pad_mode, "kernel_params": kernel_params}
        self._hold(locs=locs, grid_size=grid_size, **shapes, width=width, **params)


class Sampling(Operator):
    """Points of a grid by their indices; the adjoint adds them back.

    >>> A = Sampling((torch.tensor([0, 2]),), (4,), ("K",), ("X",))
    >>> A(torch.arange(4)).tolist(), A.H(torch.tensor([5, 6])).tolist()
    ([0, 2], [5, 0, 6, 0])
    """

    _kind = _core.Sampling

    def __init__(
        self, idx: Any, input_size: Any, output_shape: Any = None, input_shape: Any = None, batch_shape: Any = None
    ) -> None:
        idx, axes = tuple(idx), len(tuple(input_size))
        points = max((i.ndim for i in idx if isinstance(i, torch.Tensor)), default=1)
        shapes = {
            "output_shape": unnamed(1, points) if output_shape is None else output_shape,
            "input_shape": unnamed(1 + points, axes) if input_shape is None else input_shape,
            "batch_shape": batch_shape,
        }
        self._slices = idx
        self._hold(input_size=tuple(input_size), **shapes)

    def _make(self) -> _core.NamedLinop:
        if "idx" not in self._modules:
            kept = [
                i if isinstance(i, torch.Tensor) else torch.arange(n)[i]
                for i, n in zip(self._slices, self.input_size, strict=True)
            ]
            self.idx = torch.nn.ParameterList([frozen(i) for i in kept])
            del self._slices
        return _core.Sampling([array(i) for i in self.idx], **self._given)

    @property
    def locs(self) -> Tensor:
        """The indices, one row for each point."""
        return torch.stack(tuple(self.idx), -1)

    @classmethod
    def from_mask(cls, mask: Tensor, *args: Any, **kwargs: Any) -> Sampling:
        """The points where a mask is true.

        >>> Sampling.from_mask(torch.tensor([1, 0, 1]), (3,), ("K",), ("X",))(torch.arange(3)).tolist()
        [0, 2]
        """
        return cls(torch.nonzero(mask, as_tuple=True), *args, **kwargs)

    @classmethod
    def from_stacked_idx(cls, idx: Tensor, *args: Any, dim: int = -1, **kwargs: Any) -> Sampling:
        """Indices as one tensor, those of a point along ``dim``.

        >>> Sampling.from_stacked_idx(torch.tensor([[2]]), (3,), ("K",), ("X",))(torch.arange(3)).tolist()
        [2]
        """
        return cls(idx.unbind(dim), *args, **kwargs)


__all__ = [
    "ArrayToBlocks",
    "BlocksToArray",
    "Crop",
    "Interpolate",
    "Pad",
    "PadDim",
    "PadLast",
    "Rearrange",
    "Repeat",
    "Sampling",
    "SumReduce",
    "Truncate",
]
