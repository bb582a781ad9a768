# SPDX-License-Identifier: Apache-2.0
"""Functions that the core has whole for arrays on the host. Those that are written once for all kinds of arrays ask
here first: None says that the general way has to be taken."""

from ._tessera import _allclose_host as allclose
from ._tessera import _bincount_host as bincount
from ._tessera import _convolve_host as convolve
from ._tessera import _correlate_host as correlate
from ._tessera import _counts_host as counts
from ._tessera import _inner_host as inner
from ._tessera import _interp_host as interp
from ._tessera import _isclose_host as isclose
from ._tessera import _logaddexp2_host as logaddexp2
from ._tessera import _logaddexp_host as logaddexp
from ._tessera import _ptp_host as ptp

__all__ = [
    "allclose",
    "bincount",
    "convolve",
    "correlate",
    "counts",
    "inner",
    "interp",
    "isclose",
    "logaddexp",
    "logaddexp2",
    "ptp",
]
