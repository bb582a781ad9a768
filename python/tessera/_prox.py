# SPDX-License-Identifier: Apache-2.0
"""Proximal maps by name. Most are steps of a solver's plan; those of :class:`ArrayProx` are functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._array_prox import ArrayProx, _prox_low_rank, _prox_wavelet
from ._tessera import (
    Prox,
    _prox_blocks,
    _prox_box,
    _prox_group,
    _prox_l1,
    _prox_l2,
    _prox_l2_squared,
    _prox_none,
    _prox_nonneg,
    _prox_simplex,
)

AnyProx = Prox | Callable[[Any, float], Any]


class prox:
    """Proximal maps for :func:`fista`, :func:`pdhg` and :func:`admm`: argmin_x f(x) + |x - v|^2 / (2 t).

    >>> ts.solve.prox.box(0.0, 1.0)([-1.0, 0.5, 3.0]).tolist()
    [0.0, 0.5, 1.0]
    """

    @staticmethod
    def none() -> Prox:
        """f = 0.

        >>> ts.solve.prox.none()([-3.0, 0.5]).tolist()
        [-3.0, 0.5]
        """
        return _prox_none()

    @staticmethod
    def l1(lam: float) -> Prox:
        """f = lam sum |x|: the soft threshold, of complex numbers too.

        >>> ts.solve.prox.l1(1.0)([-3.0, 0.5]).tolist()
        [-2.0, 0.0]
        """
        return _prox_l1(lam)

    @staticmethod
    def l2(lam: float) -> Prox:
        """f = lam |x|: shrinks the whole vector.

        >>> ts.solve.prox.l2(5.0)([3.0, 4.0]).tolist()
        [0.0, 0.0]
        """
        return _prox_l2(lam)

    @staticmethod
    def l2_squared(lam: float, center: Any = None) -> Prox:
        """f = lam / 2 |x - center|^2.

        >>> ts.solve.prox.l2_squared(1.0)([-3.0, 0.5]).tolist()
        [-1.5, 0.25]
        """
        return _prox_l2_squared(lam, center)

    @staticmethod
    def nonneg() -> Prox:
        """x >= 0; of complex numbers the real part.

        >>> ts.solve.prox.nonneg()([-3.0, 0.5]).tolist()
        [0.0, 0.5]
        """
        return _prox_nonneg()

    @staticmethod
    def box(low: float, high: float) -> Prox:
        """low <= x <= high.

        >>> ts.solve.prox.box(-1.0, 0.25)([-3.0, 0.5]).tolist()
        [-1.0, 0.25]
        """
        return _prox_box(low, high)

    @staticmethod
    def group(lam: float, axes: int | Sequence[int]) -> Prox:
        """f = lam times the sum of the lengths of the vectors along ``axes``: they are zero together.

        >>> ts.solve.prox.group(1.0, axes=1)([[0.0, 2.0], [0.3, 0.4]]).tolist()
        [[0.0, 1.0], [0.0, 0.0]]
        """
        return _prox_group(lam, axes)

    @staticmethod
    def simplex(total: float = 1.0, axes: int | Sequence[int] | None = None) -> Prox:
        """x >= 0 that sum up to ``total`` along ``axes``, by default along all.

        >>> ts.solve.prox.simplex(1.0)([0.9, 0.5, -3.0]).numpy().round(6).tolist()
        [0.7, 0.3, 0.0]
        """
        return _prox_simplex(total, axes)

    @staticmethod
    def blocks(blocks: Sequence[tuple[int, AnyProx]], axis: int = 0) -> Prox:
        """The sum of functions of blocks along an axis, pairs (size, map) in their order: of vectors that were put
        together (``ts.Concat``), a map for each part.

        >>> p = ts.solve.prox
        >>> p.blocks([(2, p.l1(1.0)), (1, p.nonneg())])([3.0, -0.5, -2.0]).tolist()
        [2.0, 0.0, 0.0]
        """
        return _prox_blocks(list(blocks), axis)

    @staticmethod
    def low_rank(lam: float, block: int | None = None, axis: int = 0, seed: int | None = None) -> ArrayProx:
        """f = lam times the nuclear norm, the sum of singular values, of x as a matrix of ``axis`` by all others.

        With ``block``, the sum over blocks of so many elements along each of the other axes (locally low rank). With a
        ``seed`` the grid of blocks is moved at random, cyclically, in each iteration of a solver, and each time that
        other numbers come where it is called: no seams show.

        >>> frames = np.outer([1.0, 2.0], np.ones(6)).reshape(2, 2, 3)
        >>> ts.solve.prox.low_rank(np.sqrt(30) / 2)(frames).numpy().round(6).tolist()[1]
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
        """
        return _prox_low_rank(lam, block, axis, seed)

    @staticmethod
    def wavelet(
        lam: float, wavelet: str = "db4", axes: int | Sequence[int] | None = None, seed: int | None = None
    ) -> ArrayProx:
        """f = lam |W x|_1 with an orthogonal wavelet transform W along ``axes``, by default along all.

        With a ``seed`` x is moved at random, cyclically, in each iteration of a solver, and each time that other
        numbers come where it is called, which lessens the blocks of a transform that is not invariant under shifts.

        >>> ts.solve.prox.wavelet(1.0, "haar")([4.0, 4.0]).numpy().round(3).tolist()
        [3.293, 3.293]
        """
        return _prox_wavelet(lam, wavelet, axes, seed)
