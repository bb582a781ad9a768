# SPDX-License-Identifier: Apache-2.0
"""Which public name stands on which page of the reference."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

import tessera as ts

CREATION = """arange array asarray astype copy diag empty empty_like eye from_dlpack full full_like geomspace
linspace logspace meshgrid ones ones_like tril triu vander zeros zeros_like load save load_csv save_csv""".split()
REDUCTIONS = """all any argmax argmin average bincount corrcoef count_nonzero cov cumprod cumsum cumulative_prod
cumulative_sum digitize histogram histogram2d histogram_bin_edges histogramdd kurtosis max mean median min norm
percentile prod ptp quantile skew std sum trapezoid var nanargmax nanargmin nancumprod nancumsum nanmax nanmean
nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar""".split()
PRODUCTS = """convolve correlate cross dot einsum inner kron matmul outer tensordot trace vdot vecdot gradient
interp polyfit polyval matrix_transpose""".split()
ORDER = """argpartition argsort intersect1d isin lexsort partition searchsorted setdiff1d setxor1d sort topk union1d
unique unique_all unique_counts unique_inverse unique_values nonzero flatnonzero argwhere where select choose
piecewise extract compress""".split()
DTYPES = "DType can_cast finfo iinfo isdtype result_type".split()
DEVICES = """Device DeviceSpec Event RepeatedEvent Stream devices why_unavailable synchronize clear_transfer_streams
num_threads set_num_threads ComputeDevice CpuDevice CudaDevice ComputeContext AutoSolver context precision_mode
set_precision_mode PrecisionMode compute""".split()
MEMORY = """IOAccelerator AcceleratorConfig MemoryTiers backing_dir memory_budget memory_report memory_stats
memory_tiers reset_peak set_backing_dir set_memory_budget trim_pool may_share_memory Snapshot SnapshotArray
open_snapshot""".split()
PLANS = "Plan StoredPlan trace counters reset_counters".split()
SPLITTING = """BatchSpec Fitted ModuleMemoryMap create_batched_linop fit memory_aware_to split_linop""".split()
OPERATORS = (
    """ConeBeam FanBeam ParallelBeam FieldMapNUFFT NUFFT3 check_adjoint AdjointCheck density_compensation""".split()
)
ELSEWHERE = {
    "StoredArray": "stored",
    "StoredMatrix": "stored",
    "Generator": "random",
    "Cholesky": "linalg",
    "Lu": "linalg",
}
ELSEWHERE |= {name: "solve" for name in "Checkpoint EigenResult Iteration Prox SolveResult SvdResult".split()}
NAMES = "ANY ELLIPSES Dim ND NS NamedDimCollection NamedDimension NamedShape".split()

TITLES = {
    "operators": "Operators",
    "splitting": "Splitting and fitting",
    "plans": "Plans and traces",
    "solve": "Solvers: ts.solve",
    "names": "Named dimensions: ts.names",
    "array": "The array",
    "dtypes": "Dtypes and constants",
    "creation": "Making arrays, reading and writing them",
    "elementwise": "Element by element",
    "reductions": "Reductions and statistics",
    "products": "Products, signals and polynomials",
    "order": "Sorting, sets and choosing",
    "shapes": "Shapes and places",
    "linalg": "Linear algebra: ts.linalg",
    "fft": "Transforms: ts.fft",
    "random": "Random numbers: ts.random",
    "matrix": "Matrices of known form: ts.matrix",
    "dist": "Arrays over ranks: ts.dist",
    "dist-functions": "Functions of arrays over ranks",
    "dist-linalg": "Linear algebra over ranks: ts.dist.linalg",
    "dist-fft": "Transforms over ranks: ts.dist.fft",
    "dist-random": "Random numbers over ranks: ts.dist.random",
    "stored": "Arrays on disk: ts.stored",
    "imaging": "Imaging: ts.imaging",
    "devices": "Devices and what operations cost: ts.compute",
    "memory": "Memory and budgets",
    "neighbours": "PyTorch, SciPy, JAX",
    "debug": "Looking inside: ts.debug, ts.config",
    "errors": "Errors and warnings",
}


def of_functions(name: str) -> str:
    """The group of a function of arrays, local or over ranks."""
    lists = {"creation": CREATION, "reductions": REDUCTIONS, "products": PRODUCTS, "order": ORDER, "dtypes": DTYPES}
    for group, names in lists.items():
        if name in names:
            return group
    if isinstance(getattr(np, name, None), np.ufunc) or hasattr(ts.Array, name) and name in ("real", "imag", "clip"):
        return "elementwise"
    near = "abs2 angle around conj_multiply multiply_add clip imag real round isclose allclose array_equal nan_to_num"
    return "elementwise" if name in near.split() else "shapes"


def of_top(name: str, value: Any) -> str:
    """The group of a name of the package itself."""
    lists = {"devices": DEVICES, "memory": MEMORY, "plans": PLANS, "splitting": SPLITTING, "operators": OPERATORS}
    if name == "config":
        return "debug"
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    for group, names in lists.items():
        if name in names:
            return group
    if name in NAMES:
        return "names"
    if isinstance(value, type):
        if issubclass(value, BaseException):
            return "errors"
        if issubclass(value, ts.NamedLinop):
            return "operators"
        if value is ts.Array:
            return "array"
    if isinstance(value, ts.DType | float | str | None) or name in DTYPES:
        return "dtypes"
    return of_functions(name)


MODULES = {
    "linalg": "linalg",
    "fft": "fft",
    "random": "random",
    "matrix": "matrix",
    "names": "names",
    "solve": "solve",
    "stored": "stored",
    "compute": "devices",
    "debug": "debug",
    "imaging": "imaging",
    "split": "splitting",
    "dist.linalg": "dist-linalg",
    "dist.fft": "dist-fft",
    "dist.random": "dist-random",
}


def public() -> Iterator[tuple[str, str, Any]]:
    """(group, name below `tessera`, what it is) of every public name."""
    for name in ts.__all__:
        value = getattr(ts, name)
        if (not inspect.ismodule(value) or value is ts.config) and not name.startswith("__"):
            yield of_top(name, value), name, value
    for name in ts.dist.__all__:
        value = getattr(ts.dist, name)
        if isinstance(value, type):
            yield "dist", f"dist.{name}", value
        elif not inspect.ismodule(value):
            whole = name in ("apply", "explain_apply", "run_ranks", "check_calls", "map_blocks", "map_overlap", "e")
            solver = name in ts.solve.__all__
            yield "dist" if whole or solver else "dist-functions", f"dist.{name}", value
    for module, group in MODULES.items():
        home = importlib.import_module(f"tessera.{module}")
        for name in home.__all__:
            yield group, f"{module}.{name}", getattr(home, name)
    for module in ("torch", "scipy", "jax"):
        if importlib.util.find_spec(module):
            home = importlib.import_module(f"tessera.{module}")
            for name in home.__all__:
                yield "neighbours", f"{module}.{name}", getattr(home, name)


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """What a class has of its own, and what a plain base of it has that is not public itself."""
    for name, value in vars(kind).items():
        if not name.startswith("_") and callable(getattr(value, "__get__", None)):
            yield name, value


CONSTANTS = (str, int, float, complex, type(None), ts.DType)
