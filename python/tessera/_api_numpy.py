# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions beyond those of the array API standard, of local arrays."""

from __future__ import annotations

from typing import Any

from . import _local
from ._choosing import Choosing
from ._editing import Editing, Sets
from ._histogram import Histograms
from ._keywords import Keywords
from ._ordering import Ordering
from ._padding import Padding
from ._polynomials import Polynomials
from ._quantiles import Quantiles
from ._signal import Signals
from ._spacing import Spacing
from ._statistics import Statistics
from ._subscripts import subscripts_of
from ._tessera import Array, _add_at, ones, zeros
from ._tessera import einsum as _einsum

__all__ = [
    "append",
    "apply_along_axis",
    "argpartition",
    "bincount",
    "block",
    "choose",
    "compress",
    "concatenate",
    "convolve",
    "copyto",
    "corrcoef",
    "correlate",
    "cov",
    "delete",
    "digitize",
    "einsum",
    "dot",
    "dsplit",
    "fill_diagonal",
    "fliplr",
    "flipud",
    "geomspace",
    "gradient",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "hsplit",
    "hstack",
    "insert",
    "interp",
    "intersect1d",
    "lexsort",
    "logspace",
    "median",
    "nanpercentile",
    "nanquantile",
    "pad",
    "partition",
    "percentile",
    "piecewise",
    "place",
    "polyfit",
    "polyval",
    "put",
    "putmask",
    "quantile",
    "ravel_multi_index",
    "round",
    "select",
    "setdiff1d",
    "setxor1d",
    "stack",
    "take",
    "trapezoid",
    "union1d",
    "unique",
    "unravel_index",
    "vander",
    "vsplit",
    "vstack",
]


def add_up(n: int, positions: Array, weights: Array | None) -> Array:
    """An array of n sums: of the weights of each position, or how often each occurs."""
    found = zeros(n, dtype="int64" if weights is None else weights.dtype, device=positions.device)
    if positions.size:
        one = ones(1, dtype="int64", device=positions.device) if weights is None else weights
        _add_at(found, positions, one)
    return found


def einsum(subscripts: Any, *operands: Any, out: Array | None = None, optimize: Any = None) -> Array:
    """Sums of products by subscripts, as text or as lists of numbers behind each array; pairs are multiplied in the
    order that costs least, whatever ``optimize`` says.

    >>> ts.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 1]).tolist(), ts.einsum([[1, 2], [3, 4]], [0, 0]).item()
    ([3, 7], 5)
    """
    if not isinstance(subscripts, str):
        subscripts, operands = subscripts_of([subscripts, *operands])
    found = _einsum(subscripts, *operands)
    if out is None:
        return found
    if out.shape != found.shape:
        raise ValueError(f"einsum: output array has shape {out.shape}, expected {found.shape}")
    out[...] = found
    return out


def _algebra() -> Any:
    from . import linalg

    return linalg


_histograms: Histograms[Array] = Histograms(_local, Array, add_up)
bincount = _histograms.bincount
digitize = _histograms.digitize
histogram = _histograms.histogram
histogram2d = _histograms.histogram2d
histogram_bin_edges = _histograms.histogram_bin_edges
histogramdd = _histograms.histogramdd

_statistics: Statistics[Array] = Statistics(_local, Array)
corrcoef = _statistics.corrcoef
cov = _statistics.cov

_ordering: Ordering[Array] = Ordering(_local, Array)
argpartition = _ordering.argpartition
lexsort = _ordering.lexsort
partition = _ordering.partition

_signals: Signals[Array] = Signals(_local, Array)
convolve = _signals.convolve
correlate = _signals.correlate
gradient = _signals.gradient
interp = _signals.interp
trapezoid = _signals.trapezoid

_polynomials: Polynomials[Array] = Polynomials(_local, Array, _algebra)
polyfit = _polynomials.polyfit
polyval = _polynomials.polyval
vander = _polynomials.vander

_choosing: Choosing[Array] = Choosing(_local, Array)
apply_along_axis = _choosing.apply_along_axis
piecewise = _choosing.piecewise
ravel_multi_index = _choosing.ravel_multi_index
select = _choosing.select
unravel_index = _choosing.unravel_index

_quantiles: Quantiles[Array] = Quantiles(_local, Array)
median = _quantiles.median
nanpercentile = _quantiles.nanpercentile
nanquantile = _quantiles.nanquantile
percentile = _quantiles.percentile
quantile = _quantiles.quantile

_padding: Padding[Array] = Padding(_local, Array)
pad = _padding.pad

_keywords: Keywords[Array] = Keywords(_local, Array)
choose = _keywords.choose
compress = _keywords.compress
concatenate = _keywords.concatenate
dot = _keywords.dot
hstack = _keywords.hstack
put = _keywords.put
round = _keywords.round
stack = _keywords.stack
take = _keywords.take
unique = _keywords.unique
vstack = _keywords.vstack

_editing: Editing[Array] = Editing(_local, Array)
append = _editing.append
block = _editing.block
copyto = _editing.copyto
delete = _editing.delete
dsplit = _editing.dsplit
fill_diagonal = _editing.fill_diagonal
fliplr = _editing.fliplr
flipud = _editing.flipud
hsplit = _editing.hsplit
insert = _editing.insert
place = _editing.place
putmask = _editing.putmask
vsplit = _editing.vsplit

_sets: Sets[Array] = Sets(_local, Array)
intersect1d = _sets.intersect1d
setdiff1d = _sets.setdiff1d
setxor1d = _sets.setxor1d
union1d = _sets.union1d

_spacing: Spacing[Array] = Spacing(_local, Array)
geomspace = _spacing.geomspace
logspace = _spacing.logspace
