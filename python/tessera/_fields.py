# SPDX-License-Identifier: Apache-2.0
"""Names and specs as dataclasses see them: ``dataclasses.replace(spec, resident=False)``, ``dataclasses.fields``, and
``copy.replace`` of Python 3.13."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import _tessera as _core


def _as_dataclass(cls: type, *names: str) -> None:
    """Fields that the constructor takes by these names, and that are attributes of these names."""
    like = dataclasses.make_dataclass(cls.__name__, names)
    cls.__dataclass_fields__ = like.__dataclass_fields__  # type: ignore[attr-defined]

    def replaced(self: Any, **changes: Any) -> Any:
        return cls(**{name: getattr(self, name) for name in names} | changes)

    cls.__replace__ = replaced  # type: ignore[attr-defined]


_as_dataclass(_core.NamedDimension, "name", "i")
_as_dataclass(
    _core.BatchSpec, "batch_sizes", "device_matrix", "base_device", "resident", "base_stream", "transfer_stream"
)
_as_dataclass(_core.DeviceSpec, "device", "compute_stream", "transfer_stream")
