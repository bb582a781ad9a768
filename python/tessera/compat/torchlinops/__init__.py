# SPDX-License-Identifier: Apache-2.0
"""torch-named-linops on our operators: its names, its order of arguments, tensors of PyTorch in and out.

>>> import tessera.compat.torchlinops as torchlinops
>>> S = Dense(torch.ones(3, 4, 4) + 0j, Dim("CNxNy"), Dim("NxNy"), Dim("CNxNy"))
>>> A = FFT(2, batch_shape=Dim("C")) @ S
>>> A.H(A(torch.ones(4, 4) + 0j)).real.mean().round().item()
3.0

An operator is an ``nn.Module``; ``A.linop`` is ours, with plans, ``explain()`` and solvers. What differs stands in
docs/guide/moving-from-others.md.
"""

from __future__ import annotations

from collections.abc import Callable as _Callable
from typing import Any as _Any

from ..._checked import check_arguments as _check_arguments
from ...names import (
    ANY,
    ELLIPSES,
    ND,
    NS,
    AnyDim,
    Dim,
    NamedDimCollection,
    NamedDimension,
    NamedShape,
    get_nd_shape,
    iscompatible,
    isequal,
    max_shape,
    resolve_wildcards,
)
from .._absent import refuse as _refuse
from . import _base, _batching, _containers, _moves, _names, _nufft, _operators, alg, config, functional, utils
from ._base import Built, NamedLinop
from ._batching import *  # noqa: F403
from ._containers import *  # noqa: F403
from ._moves import *  # noqa: F403
from ._names import *  # noqa: F403
from ._nufft import *  # noqa: F403
from ._operators import *  # noqa: F403
from .alg import conjugate_gradients, polynomial_preconditioner, power_method, singular_value_decomposition
from .utils import cfftn, cifftn, default_to

torch = _base.torch

__all__ = [
    "ANY",
    "AnyDim",
    "Built",
    "Dim",
    "ELLIPSES",
    "ND",
    "NS",
    "NamedDimCollection",
    "NamedDimension",
    "NamedLinop",
    "NamedShape",
    "alg",
    "cfftn",
    "cifftn",
    "config",
    "conjugate_gradients",
    "default_to",
    "functional",
    "get_nd_shape",
    "iscompatible",
    "isequal",
    "max_shape",
    "polynomial_preconditioner",
    "power_method",
    "resolve_wildcards",
    "singular_value_decomposition",
    "utils",
]
for _part in (_batching, _containers, _moves, _names, _nufft, _operators):
    __all__ += _part.__all__
for _part in (alg, functional, utils):
    _home = f"torchlinops.{_part.__name__.rpartition('.')[2]}."
    _check_arguments(vars(_part), _part.__all__, _home, guard=True)
_own = [_name for _name in __all__ if str(getattr(globals()[_name], "__module__", "")).startswith(__name__)]
globals().update({_name: vars(_part)[_name] for _part in (alg, utils) for _name in _own if _name in vars(_part)})
_check_arguments(globals(), _own, "torchlinops.", guard=True)

_SHAPES = "shapes of operators rename themselves (A.ishape = ...) and match by isequal and resolve_wildcards"
_TILES = "the library schedules tiles itself: create_batched_linop"
__getattr__: _Callable[[str], _Any] = _refuse(
    "tessera.compat.torchlinops",
    {
        "Batch": "torch-named-linops removed it; create_batched_linop(linop, BatchSpec(...)) computes in batches",
        "MPBatch": "torch-named-linops removed it; create_batched_linop(linop, BatchSpec(...)) uses several devices",
        "INDENT": "repr() indents by itself",
        "TilingStrategy": _TILES,
        "align": _SHAPES,
        "clamp": "write torch.clamp",
        "coalesce": _SHAPES,
        "fftshift_locs": "a NUFFT shifts locations itself; write torch.remainder(locs + size // 2, size)",
        "ifftshift_locs": "a NUFFT shifts locations itself; write torch.remainder(locs - size // 2, size)",
        "parallel_execute": _TILES,
        "psf_sizing": "NUFFT(..., toeplitz=True).N makes its kernel itself",
        "rescale_locs": "NUFFT(..., toeplitz=True).N makes its kernel itself",
        "scale_int": "write tuple(int(scale * n) for n in size)",
        "standardize_shapes": _SHAPES,
        "testing": "ts.check_adjoint and docs/guide/extending.md test operators of your own",
        "toeplitz_psf": "NUFFT(..., toeplitz=True).N makes its kernel itself",
    },
)
