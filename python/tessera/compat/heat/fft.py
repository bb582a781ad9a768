# SPDX-License-Identifier: Apache-2.0
"""Heat's Fourier transforms: those of ``ts.dist.fft``, in the precision of their input.

>>> ht.fft.fft(ht.ones(4, split=0)).tolist()
[(4+0j), 0j, 0j, 0j]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dist as _dist
from .._absent import refuse
from ._array import DNDarray
from ._calls import _array, call, described

__all__ = [
    name
    for name in (
        "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn"
    ).split()
]


def _of(name: str) -> Callable[..., Any]:
    compute = getattr(_dist.fft, name)

    def function(x: Any, *args: Any, **kwargs: Any) -> Any:
        if name.endswith("freq"):
            made = compute(x, *args, **kwargs)
            return DNDarray(made if "dtype" in kwargs else made.astype("float32"))
        return call(compute, _array(x), *args, wide_integers=False, **kwargs)

    call_of, axes = (f"{name}(4)", 1) if name.endswith("freq") else (f"{name}(ht.ones((4, 4), split=0))", 2)
    text = f"ts.dist.fft.{name}, with the same arguments.\n\n    >>> ht.fft.{call_of}.ndim\n    {axes}\n    "
    return described(function, name, text)


for _name in __all__:
    globals()[_name] = _of(_name)

_ND = "transforms of half a spectrum along several axes are those along one axis, one after another"
__getattr__: Callable[[str], Any] = refuse(
    "tessera.compat.heat.fft",
    {name: _ND for name in ("hfft2", "hfftn", "ihfft2", "ihfftn")}
    | {"rfft2": "write ht.fft.rfftn(x, axes=(-2, -1))", "irfft2": "write ht.fft.irfftn(x, axes=(-2, -1))"},
)
