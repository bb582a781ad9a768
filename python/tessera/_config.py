# SPDX-License-Identifier: Apache-2.0
"""The settings of the process as attributes, with a table for people and a scope for changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from . import _tessera as _core


class Config(ModuleType):
    """Every setting, by name; ``print(ts.config)`` lists them with their meaning. It is the class of the module
    ``tessera.config``, which is found as modules are.

    >>> ts.config.progress
    True
    >>> with ts.config.using(progress=False):
    ...     ts.config.progress
    False
    >>> ts.config.no_such_setting
    Traceback (most recent call last):
        ...
    AttributeError: ts.config has no setting 'no_such_setting'
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> bool | int | str:
        if name.startswith("__") or name not in dir(self):
            raise AttributeError(f"ts.config has no setting '{name}'")
        return _core._setting(name)

    def __setattr__(self, name: str, value: bool | int | str) -> None:
        if name.startswith("__"):  # what modules have, and importlib sets
            return super().__setattr__(name, value)
        if name not in dir(self):
            raise AttributeError(f"ts.config has no setting '{name}'")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        _core._set_setting(name, text)

    def __dir__(self) -> list[str]:
        return [row[0] for row in _core._settings()]

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)

    def __repr__(self) -> str:
        rows = [("setting", "value", "default", "meaning"), *_core._settings()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        return "\n".join("  ".join([*(row[i].ljust(widths[i]) for i in range(3)), row[3]]) for row in rows)

    def using(self, **settings: bool | int | str) -> AbstractContextManager[Config]:
        """Settings for the length of a ``with`` block; what was there before comes back.

        >>> with ts.config.using(log_device_transfers=False, progress=False): pass
        >>> ts.config.using(colour="red")
        Traceback (most recent call last):
            ...
        ValueError: Invalid config key 'colour'; ts.config lists the settings
        """
        for name in settings:
            if name not in dir(self):
                raise ValueError(f"Invalid config key '{name}'; ts.config lists the settings")
        return self._using(settings)

    @contextmanager
    def _using(self, settings: dict[str, bool | int | str]) -> Iterator[Config]:
        before = {name: getattr(self, name) for name in settings}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield self
        finally:
            for name, value in before.items():
                setattr(self, name, value)
