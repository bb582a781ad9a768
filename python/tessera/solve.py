# SPDX-License-Identifier: Apache-2.0
"""Iterative solvers on operators. Vectors stay on their device, an iteration runs as a plan.

All take the same options: ``x0`` (first guess), ``rtol``, ``atol``, ``maxiter``; ``callback``, called after each
iteration with an :class:`Iteration`, which stops the solver by returning False; ``progress``, a bar on stderr;
``checkpoint``, a path or a :class:`Checkpoint`, from which a killed solve goes on bit for bit; and ``check_every``, how
many iterations run before the host looks at the measure (0: each one on the cpu, 16 elsewhere; the result is the same).
All give a result with ``x``, ``iterations``, ``converged``, ``reason`` and ``history``.

With ``b`` or an array of the operator on disk, ``cg``, ``lsqr``, ``lsmr``, ``minres``, ``fista``, ``pdhg``, ``admm``
and ``power_method`` keep all vectors there, and so is the solution: memory holds tiles of ``A`` and of each vector. A
checkpoint then has a file for each vector beside it.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from ._checked import is_whole
from ._prox import AnyProx, prox
from ._stored_solve import StoredEigenResult, StoredSolveResult
from ._stored_solve import power_method as _stored_power_method
from ._stored_solve import solve as _solve_on_disk
from ._stored_spectra import StoredSvdResult
from ._stored_spectra import as_operator as _stored_operator
from ._stored_spectra import randomized_svd as _stored_randomized_svd
from ._tessera import (
    ArgumentError,
    Checkpoint,
    EigenResult,
    Iteration,
    NamedDimension,
    NamedLinop,
    Prox,
    SolveResult,
    StoredArray,
    StoredMatrix,
    SvdResult,
    _admm,
    _cg,
    _fista,
    _gmres,
    _lanczos,
    _lsmr,
    _lsqr,
    _minres,
    _pdhg,
    _polynomial_coefficients,
    _polynomial_preconditioner,
    _power_method,
    _randomized_svd,
    _solve_options,
    _svd,
    _with_parameters,
    _works_on_disk,
)

__all__ = [
    "Checkpoint",
    "EigenResult",
    "Iteration",
    "Prox",
    "SolveResult",
    "StoredEigenResult",
    "StoredSolveResult",
    "StoredSvdResult",
    "SvdResult",
    "admm",
    "cg",
    "fista",
    "gmres",
    "lanczos",
    "lsmr",
    "lsqr",
    "minres",
    "pdhg",
    "polynomial_coefficients",
    "polynomial_preconditioner",
    "power_method",
    "prox",
    "randomized_svd",
    "svd",
]

Callback = Callable[[Iteration], Any]
AnyCheckpoint = str | os.PathLike[str] | Checkpoint
_Solver = TypeVar("_Solver", bound=Callable[..., Any])


def _described(solver: _Solver) -> _Solver:
    """A solver whose docstring says what each argument means; the core knows, for those over ranks, too."""
    code, doc = solver.__code__, (solver.__doc__ or "").replace("\n    ", "\n")
    arguments = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    solver.__doc__ = _with_parameters(solver.__name__, arguments, doc)
    return solver


@_described
def cg(
    A: NamedLinop,
    b: Any,
    x0: Any = None,
    *,
    M: NamedLinop | None = None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 100,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> SolveResult | StoredSolveResult:
    """Conjugate gradients for A x = b with A Hermitian and positive (semi)definite, for example ``A.N``.

    ``M`` is a preconditioner: near the inverse of A, Hermitian and positive. History: the relative residual.

    >>> A = ts.Diagonal([1.0, 4.0], ("X",))
    >>> result = ts.solve.cg(A, [1.0, 2.0])
    >>> result.x.numpy().round(6).tolist(), result.converged
    ([1.0, 0.5], True)

    """
    if _works_on_disk(A, b):
        options = _solve_options(None, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
        return _solve_on_disk("cg", A, b, x0, options, M)
    return _cg(A, b, _solve_options(x0, rtol, atol, maxiter, callback, progress, checkpoint, check_every), M)


@_described
def lsqr(
    A: NamedLinop,
    b: Any,
    x0: Any = None,
    *,
    damp: float = 0.0,
    conlim: float = 1e8,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 100,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> SolveResult | StoredSolveResult:
    """LSQR: A x = b or the least-squares solution, for any A; with ``damp``, of |A x - b|^2 + damp^2 |x - x0|^2.

    Stops as Paige and Saunders: the residual, or A.H times it, is small beside ``rtol`` times the norms involved, or
    the condition of A exceeds ``conlim`` (0: never).

    >>> A = ts.Dense([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> ts.solve.lsqr(A, [1.0, 2.0, 7.0]).x.numpy().round(6).tolist()
    [1.0, 1.0]
    """
    if _works_on_disk(A, b):
        options = _solve_options(None, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
        return _solve_on_disk("lsqr", A, b, x0, options, damp, conlim)
    options = _solve_options(x0, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
    return _lsqr(A, b, options, damp, conlim)


@_described
def lsmr(
    A: NamedLinop,
    b: Any,
    x0: Any = None,
    *,
    damp: float = 0.0,
    conlim: float = 1e8,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 100,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> SolveResult | StoredSolveResult:
    """LSMR: as :func:`lsqr`, but |A.H r| falls in every iteration: the one to stop early.

    >>> A = ts.Dense([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> ts.solve.lsmr(A, [1.0, 2.0, 7.0]).x.numpy().round(6).tolist()
    [1.0, 1.0]
    """
    if _works_on_disk(A, b):
        options = _solve_options(None, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
        return _solve_on_disk("lsmr", A, b, x0, options, damp, conlim)
    options = _solve_options(x0, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
    return _lsmr(A, b, options, damp, conlim)


@_described
def minres(
    A: NamedLinop,
    b: Any,
    x0: Any = None,
    *,
    shift: float = 0.0,
    M: NamedLinop | None = None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 100,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> SolveResult | StoredSolveResult:
    """MINRES for (A - shift I) x = b with A Hermitian, indefinite or singular.

    >>> A = ts.Diagonal([1.0, -2.0], ("X",))
    >>> ts.solve.minres(A, [1.0, 1.0]).x.numpy().round(6).tolist()
    [1.0, -0.5]
    """
    if _works_on_disk(A, b):
        options = _solve_options(None, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
        return _solve_on_disk("minres", A, b, x0, options, shift, M)
    options = _solve_options(x0, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
    return _minres(A, b, options, shift, M)


@_described
def gmres(
    A: NamedLinop,
    b: Any,
    x0: Any = None,
    *,
    restart: int = 30,
    M: NamedLinop | None = None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 100,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> SolveResult | StoredSolveResult:
    """GMRES for A x = b with any square A, begun anew after ``restart`` vectors; ``M`` stands on the right.

    ``maxiter`` counts applications of A. The callback's x is that of the last restart.

    >>> A = ts.Dense([[0.0, 1.0], [-1.0, 0.0]])
    >>> ts.solve.gmres(A, [1.0, 2.0]).x.numpy().round(6).tolist()
    [-2.0, 1.0]
    """
    if _works_on_disk(A, b):
        options = _solve_options(None, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
        return _solve_on_disk("gmres", A, b, x0, options, restart, M)
    options = _solve_options(x0, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
    return _gmres(A, b, options, restart, M)


@_described
def fista(
    A: NamedLinop,
    b: Any,
    g: AnyProx | None = None,
    x0: Any = None,
    *,
    step: float | Literal["search"] | None = None,
    momentum: bool = True,
    restart: bool = True,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 100,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> SolveResult | StoredSolveResult:
    """FISTA: minimises |A x - b|^2 / 2 + g(x); ``g`` is one of ``ts.solve.prox`` or a function (v, t) -> x.

    ``step`` is at most 1 / |A|^2, by default from the power method; "search" halves it on the way until it is short
    enough, which needs no norm of A. ``restart``: the momentum starts anew when it points uphill. History: the relative
    change of x.

    >>> A = ts.Identity(("X",))
    >>> ts.solve.fista(A, [3.0, 0.2], ts.solve.prox.l1(1.0)).x.numpy().round(4).tolist()
    [2.0, 0.0]
    >>> ts.solve.fista(A, [3.0, 0.2], ts.solve.prox.l1(1.0), step="search").x.numpy().round(4).tolist()
    [2.0, 0.0]
    """
    if _works_on_disk(A, b):
        options = _solve_options(None, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
        return _solve_on_disk("fista", A, b, x0, options, g, step, momentum, restart)
    options = _solve_options(x0, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
    return _fista(A, b, g, options, step, momentum, restart)


@_described
def pdhg(
    A: NamedLinop | Sequence[NamedLinop],
    b: Any,
    f: AnyProx | Sequence[AnyProx | None] | None = None,
    g: AnyProx | None = None,
    x0: Any = None,
    *,
    tau: float | None = None,
    sigma: float | None = None,
    theta: float = 1.0,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 100,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> SolveResult | StoredSolveResult:
    """Chambolle and Pock's primal-dual method: minimises f(A x - b) + g(x); f is |.|^2 / 2 when not given.

    ``tau`` and ``sigma`` are the steps, tau sigma |A|^2 <= 1, by default from the power method.

    >>> A = ts.Identity(("X",))
    >>> p = ts.solve.prox
    >>> ts.solve.pdhg(A, [3.0, 0.2], p.l1(1.0), p.l2_squared(0.5), maxiter=500).x.numpy().round(3).tolist()
    [2.0, 0.2]

    Lists of A, b and f are terms that are added up, f1(A1 x - b1) + f2(A2 x - b2) + ... + g(x), each on vectors of its
    own shape; of the terms after the first, a b that is None is zero. A data term, a total variation and a bound:

    >>> D = ts.FiniteDifference("X", ("X",))
    >>> r = ts.solve.pdhg([A, D], [[3.0, 2.0, 0.0], None], [None, p.l1(0.5)], p.nonneg(), maxiter=500)
    >>> r.x.numpy().round(3).tolist()
    [2.5, 2.0, 0.0]
    """
    terms = b if isinstance(A, Sequence) and isinstance(b, Sequence) else ()
    if any(isinstance(v, StoredArray) for v in terms) or (not isinstance(A, Sequence) and _works_on_disk(A, b)):
        options = _solve_options(None, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
        return _solve_on_disk("pdhg", A, b, x0, options, f, g, tau or 0.0, sigma or 0.0, theta)
    options = _solve_options(x0, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
    return _pdhg(A, b, f, g, options, 0.0 if tau is None else tau, 0.0 if sigma is None else sigma, theta)


@_described
def admm(
    A: NamedLinop,
    b: Any,
    g: AnyProx | None = None,
    x0: Any = None,
    *,
    G: NamedLinop | None = None,
    rho: float = 1.0,
    inner: int = 10,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 100,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> SolveResult | StoredSolveResult:
    """ADMM: minimises |A x - b|^2 / 2 + g(G x), with ``inner`` steps of conjugate gradients in each iteration.

    >>> A = ts.Identity(("X",))
    >>> ts.solve.admm(A, [3.0, 0.2], ts.solve.prox.l1(1.0)).x.numpy().round(4).tolist()
    [2.0, 0.0]
    """
    if _works_on_disk(A, b):
        options = _solve_options(None, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
        return _solve_on_disk("admm", A, b, x0, options, g, G, rho, inner)
    options = _solve_options(x0, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
    return _admm(A, b, g, options, G, rho, inner)


def _axes(A: NamedLinop, dim: Any) -> Any:
    """Axes of the input from numbers or names; names count from the right, so that "..." may stand in front."""
    if dim is None:
        return None
    dims = (dim,) if isinstance(dim, str | NamedDimension) or is_whole(dim) else tuple(dim)
    names = list(A.ishape)
    return [operator.index(d) if is_whole(d) else names.index(d) - len(names) for d in dims]


@_described
def power_method(
    A: NamedLinop,
    x0: Any = None,
    *,
    dim: Any = None,
    shape: int | Sequence[int] | None = None,
    dtype: Any = None,
    device: Any = None,
    seed: int = 0,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int = 50,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> EigenResult | StoredEigenResult:
    """The eigenvalue of largest magnitude: ``x`` of length one and ``eigenvalue``.

    ``dim`` names the axes (numbers or dims) that make one vector; the others are a batch of problems side by side.
    Without ``x0``, a random vector of ``shape`` (by default of the sizes that A knows). With ``x0`` or an array of A on
    disk there is one problem, whose vector is on disk.

    >>> r = ts.solve.power_method(ts.Diagonal([1.0, 2.0, 5.0], ("X",)), ts.ones(3))
    >>> round(r.eigenvalue.item(), 2)
    5.0
    """
    if _works_on_disk(A, x0):
        options = _solve_options(None, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
        if dim is not None:
            raise ArgumentError("power_method: with a vector on disk there is one problem; leave dim away")
        return _stored_power_method(A, x0, options, shape, dtype, seed)
    options = _solve_options(x0, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
    return _power_method(A, options, _axes(A, dim), shape, dtype, device, seed)


@_described
def lanczos(
    A: NamedLinop | StoredArray | StoredMatrix,
    k: int = 6,
    x0: Any = None,
    *,
    which: str = "LM",
    ncv: int | None = None,
    reorthogonalize: bool = True,
    shape: int | Sequence[int] | None = None,
    dtype: Any = None,
    device: Any = None,
    seed: int = 0,
    rtol: float = 1e-8,
    atol: float = 0.0,
    maxiter: int = 1000,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> EigenResult:
    """The ``k`` extreme eigenvalues of a Hermitian A: ``which`` LM, LA, SA or BE as in SciPy's eigsh.

    ``ncv`` vectors are kept between restarts. ``reorthogonalize`` False: orthogonal to the last two only, quicker and
    less safe. ``maxiter`` counts applications of A. ``eigenvectors`` has the shape (*ishape, k). A matrix on disk, of
    any form, is read once by each application; vectors are in memory.

    >>> r = ts.solve.lanczos(ts.Diagonal([1.0, 2.0, 5.0, -3.0], ("X",)), 2)
    >>> r.eigenvalues.numpy().round(6).tolist()
    [-3.0, 5.0]
    """
    if isinstance(A, StoredArray | StoredMatrix):
        A, shape, dtype = _stored_operator(A, "lanczos")
    options = _solve_options(x0, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
    return _lanczos(A, options, k, which, ncv or 0, reorthogonalize, shape, dtype, device, seed)


@_described
def svd(
    A: NamedLinop,
    k: int = 6,
    x0: Any = None,
    *,
    ncv: int | None = None,
    shape: int | Sequence[int] | None = None,
    dtype: Any = None,
    device: Any = None,
    seed: int = 0,
    rtol: float = 1e-8,
    atol: float = 0.0,
    maxiter: int = 1000,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> SvdResult:
    """The ``k`` largest singular values: ``U`` (*oshape, k), ``S`` (k,) descending, ``Vh`` (k, *ishape).

    By Golub-Kahan-Lanczos bidiagonalisation with full reorthogonalisation and restarts after ``ncv`` pairs.

    >>> A = ts.Dense([[3.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> U, S, Vh = ts.solve.svd(A, 2)
    >>> S.numpy().round(6).tolist(), np.allclose(U.numpy() * S.numpy() @ Vh.numpy(), A.to_dense().numpy())
    ([3.0, 1.0], True)
    """
    options = _solve_options(x0, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
    return _svd(A, options, k, ncv or 0, shape, dtype, device, seed)


@_described
def randomized_svd(
    A: NamedLinop | StoredArray,
    k: int = 6,
    *,
    oversample: int = 10,
    shape: int | Sequence[int] | None = None,
    dtype: Any = None,
    device: Any = None,
    seed: int = 0,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int = 4,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: AnyCheckpoint | None = None,
    check_every: int = 0,
) -> SvdResult | StoredSvdResult:
    """A singular value decomposition by random sampling: ``maxiter`` passes over k + ``oversample`` vectors.

    Shapes as in :func:`svd`. Ends early when no singular value changed by more than ``rtol`` times the largest.

    Of a matrix on disk ``U`` and ``Vh`` are on disk as well; each pass reads it twice. There is no checkpoint then.

    >>> A = ts.Diagonal([4.0, 2.0, 1.0], ("X",))
    >>> ts.solve.randomized_svd(A, 2).S.numpy().round(6).tolist()
    [4.0, 2.0]
    """
    if isinstance(A, StoredArray):
        if callback is not None or checkpoint is not None:
            raise ArgumentError("randomized_svd: of a stored matrix there are no callbacks and checkpoints")
        return _stored_randomized_svd(A, k, oversample, maxiter, rtol, atol, seed)
    options = _solve_options(None, rtol, atol, maxiter, callback, progress, checkpoint, check_every)
    return _randomized_svd(A, options, k, oversample, shape, dtype, device, seed)


@_described
def polynomial_preconditioner(
    T: NamedLinop, degree: int, norm: str = "l_2", lower_eig: float = 0.0, upper_eig: float = 1.0
) -> NamedLinop:
    """A polynomial of T near its inverse on [lower_eig, upper_eig], as an operator; degree -1: the identity.

    ``norm`` says what of 1 - x p(x) is small: "l_2" (or "l2") the integral of its square, "l_inf" its maximum; "ifista"
    makes it (1 - x / upper_eig)^(degree + 1).

    >>> T = ts.Diagonal([0.5, 1.0], ("X",))
    >>> ts.solve.polynomial_preconditioner(T, 1, "ifista")([1.0, 1.0]).tolist()
    [1.5, 1.0]
    """
    return _polynomial_preconditioner(T, degree, norm, lower_eig, upper_eig)


@_described
def polynomial_coefficients(
    degree: int, norm: str = "l_2", lower_eig: float = 0.0, upper_eig: float = 1.0
) -> list[float]:
    """The coefficients of 1, x, x^2, … of :func:`polynomial_preconditioner`.

    >>> [round(c, 6) for c in ts.solve.polynomial_coefficients(1, "l_inf")]
    [8.0, -8.0]
    """
    return _polynomial_coefficients(degree, norm, lower_eig, upper_eig)
