# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms off the grid, with the names and order of torch-named-linops."""

from __future__ import annotations

from typing import Any

from ... import _tessera as _core
from ._base import Operator, Tensor


class NUFFT(Operator):
    """The Fourier transform at locations in [-n/2, n/2] along each axis.

    >>> A = NUFFT(torch.zeros(3, 1), (8,), ("K",)); A(torch.ones(8) + 0j).real.round(decimals=1)
    tensor([2.8000, 2.8000, 2.8000])

    Options as there: ``oversamp`` (1.25), ``width`` (4), ``toeplitz``, ``toeplitz_dtype``, ``toeplitz_oversamp`` (2),
    ``skip_prep_locs``; besides them ``tol``, a wanted accuracy, instead of the first two. An oversampled length that is
    no whole number is rounded up as in SigPy, not down.
    """

    _kind = _core.NUFFT
    _copies = True
    _mode = "interpolate"

    def __init__(
        self,
        locs: Tensor,
        grid_size: Any,
        output_shape: Any,
        input_shape: Any = None,
        input_kshape: Any = None,
        batch_shape: Any = None,
        oversamp: float | None = None,
        width: float | None = None,
        mode: str | None = None,
        do_prep_locs: bool = True,
        apodize_weights: Any = None,
        toeplitz: bool = False,
        toeplitz_dtype: Any = None,
        toeplitz_oversamp: float = 2.0,
        skip_prep_locs: bool = False,
        tol: float | None = None,
    ) -> None:
        shapes = {"output_shape": output_shape, "input_shape": input_shape, "input_kshape": input_kshape}
        self._hold(
            locs=locs,
            grid_size=tuple(grid_size),
            **shapes,
            batch_shape=batch_shape,
            oversamp=oversamp,
            width=None if width is None else float(width),
            mode=mode or self._mode,
            do_prep_locs=do_prep_locs and not skip_prep_locs,
            apodize_weights=apodize_weights,
            toeplitz=toeplitz,
            toeplitz_dtype=None if toeplitz_dtype is None else str(toeplitz_dtype).removeprefix("torch."),
            toeplitz_oversamp=toeplitz_oversamp,
            tol=tol,
            wrap=True,
        )

    @property
    def options(self) -> dict[str, Any]:
        """What was said about accuracy and the normal operator."""
        return {
            key: self._given[key] for key in ("oversamp", "width", "toeplitz", "toeplitz_dtype", "toeplitz_oversamp")
        }


NUFFTBase = NUFFT


class SamplingNUFFT(NUFFT):
    """The nearest points of an oversampled grid instead of an interpolation.

    >>> A = SamplingNUFFT(torch.zeros(1, 1), (8,), ("K",), oversamp=2.0); A(torch.ones(8) + 0j).real
    tensor([2.])
    """

    _mode = "sampling"

    def __init__(
        self,
        locs: Tensor,
        grid_size: Any,
        output_shape: Any,
        input_shape: Any = None,
        input_kshape: Any = None,
        batch_shape: Any = None,
        oversamp: float = 1.25,
        phase_placement: str = "auto",
    ) -> None:
        if phase_placement not in ("auto", "samples", "grid"):
            raise ValueError(f"SamplingNUFFT: phase_placement is 'auto', 'samples' or 'grid', got {phase_placement!r}")
        super().__init__(locs, grid_size, output_shape, input_shape, input_kshape, batch_shape, oversamp)


class FastSamplingNUFFT(SamplingNUFFT):
    """The same operator: shifts are always folded into phases here, wherever ``phase_placement`` wants them.

    >>> FastSamplingNUFFT(torch.zeros(1, 1), (8,), ("K",)).oshape
    (..., K)
    """


def clear_nufft_parameter_caches() -> None:
    """Nothing: the tables of a NUFFT belong to its operator and go with it.

    >>> clear_nufft_parameter_caches()
    """


__all__ = ["FastSamplingNUFFT", "NUFFT", "NUFFTBase", "SamplingNUFFT", "clear_nufft_parameter_caches"]
