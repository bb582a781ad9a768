# SPDX-License-Identifier: Apache-2.0
"""Settings under the names of torch-named-linops.

>>> with config.using(cache_adjoint_normal=False):
...     A = Identity(("X",)); config.cache_adjoint_normal
False

``reduce_identity_in_normal`` and ``cache_adjoint_normal`` do what they did. The others are kept and change nothing:
products always find out what their wildcards stand for, transfers are told by ``A.linop.explain(x)``, and a NUFFT's
tables belong to its operator.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["using"]

reduce_identity_in_normal: bool = True
cache_adjoint_normal: bool = True
cache_nufft_parameters: bool = False
log_device_transfers: bool = True
shape_inference: bool = False

_KEYS = (
    "reduce_identity_in_normal",
    "cache_adjoint_normal",
    "cache_nufft_parameters",
    "log_device_transfers",
    "shape_inference",
)


def using(**settings: bool) -> object:
    """Settings for the time of a ``with``; ValueError for one that does not exist.

    >>> with config.using(shape_inference=True): config.shape_inference
    True
    """
    for key in settings:
        if key not in _KEYS:
            raise ValueError(f"config.using: there is no setting {key!r}; there are {', '.join(_KEYS)}")
    return _changed(settings)


@contextmanager
def _changed(settings: dict[str, bool]) -> Iterator[None]:
    module = sys.modules[__name__]
    before = {key: getattr(module, key) for key in settings}
    try:
        for key, value in settings.items():
            setattr(module, key, value)
        yield
    finally:
        for key, value in before.items():
            setattr(module, key, value)
