# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions beyond those of the array API standard, of distributed arrays."""

from __future__ import annotations

from typing import Any

from .. import _dist
from .._api_numpy import add_up
from .._choosing import Choosing
from .._dist import DNDarray
from .._editing import Editing, Sets
from .._histogram import Histograms
from .._keywords import Keywords
from .._ordering import Ordering
from .._padding import Padding
from .._polynomials import Polynomials
from .._quantiles import Quantiles
from .._signal import Signals
from .._spacing import Spacing
from .._statistics import Statistics

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
    "kurtosis",
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
    "skew",
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


def _add_up(n: int, positions: DNDarray, weights: DNDarray | None) -> DNDarray:
    """Every rank adds up what it has; the sums of all ranks are added."""
    if weights is not None:
        weights = weights.resplit(positions.split)
        if positions.split is not None and weights.counts != positions.counts:
            weights = weights.redistribute(positions.counts)
    mine = add_up(n, positions.local, None if weights is None else weights.local)
    if positions.split is None:
        return _dist.array(mine, comm=positions.comm)
    return _dist.sum(_dist.array(mine.reshape(1, n), is_split=0, comm=positions.comm), 0, mine.dtype)


def _algebra() -> Any:
    from . import linalg

    return linalg


_histograms: Histograms[DNDarray] = Histograms(_dist, DNDarray, _add_up)
bincount = _histograms.bincount
digitize = _histograms.digitize
histogram = _histograms.histogram
histogram2d = _histograms.histogram2d
histogram_bin_edges = _histograms.histogram_bin_edges
histogramdd = _histograms.histogramdd

_statistics: Statistics[DNDarray] = Statistics(_dist, DNDarray)
corrcoef = _statistics.corrcoef
cov = _statistics.cov
kurtosis = _statistics.kurtosis
skew = _statistics.skew

_ordering: Ordering[DNDarray] = Ordering(_dist, DNDarray)
argpartition = _ordering.argpartition
lexsort = _ordering.lexsort
partition = _ordering.partition

_signals: Signals[DNDarray] = Signals(_dist, DNDarray)
convolve = _signals.convolve
correlate = _signals.correlate
gradient = _signals.gradient
interp = _signals.interp
trapezoid = _signals.trapezoid

_polynomials: Polynomials[DNDarray] = Polynomials(_dist, DNDarray, _algebra)
polyfit = _polynomials.polyfit
polyval = _polynomials.polyval
vander = _polynomials.vander

_choosing: Choosing[DNDarray] = Choosing(_dist, DNDarray)
apply_along_axis = _choosing.apply_along_axis
piecewise = _choosing.piecewise
ravel_multi_index = _choosing.ravel_multi_index
select = _choosing.select
unravel_index = _choosing.unravel_index

_quantiles: Quantiles[DNDarray] = Quantiles(_dist, DNDarray)
median = _quantiles.median
nanpercentile = _quantiles.nanpercentile
nanquantile = _quantiles.nanquantile
percentile = _quantiles.percentile
quantile = _quantiles.quantile

_padding: Padding[DNDarray] = Padding(_dist, DNDarray)
pad = _padding.pad

_keywords: Keywords[DNDarray] = Keywords(_dist, DNDarray)
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

_editing: Editing[DNDarray] = Editing(_dist, DNDarray)
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

_sets: Sets[DNDarray] = Sets(_dist, DNDarray)
intersect1d = _sets.intersect1d
setdiff1d = _sets.setdiff1d
setxor1d = _sets.setxor1d
union1d = _sets.union1d

_spacing: Spacing[DNDarray] = Spacing(_dist, DNDarray)
geomspace = _spacing.geomspace
logspace = _spacing.logspace
