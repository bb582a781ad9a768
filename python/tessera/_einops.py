# SPDX-License-Identifier: Apache-2.0
"""einops' plain functions on our arrays. einops has a class for each library and asks those that exist when it meets a
new type; ours is made when einops is imported, before tessera or after it, and einops is not imported for it."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

_HOME = "einops._backends"


def _join(backends: Any) -> None:
    class TesseraBackend(backends.NumpyBackend):  # type: ignore[name-defined,misc]
        framework_name = "tessera"

        def __init__(self) -> None:
            import tessera

            self.np = tessera

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, self.np.Array)

        def from_numpy(self, x: Any) -> Any:
            return self.np.asarray(x)

        def to_numpy(self, x: Any) -> Any:
            return x.numpy()

    # einops asks for subclasses, which are kept weakly: this one by its module.
    backends.TesseraBackend = TesseraBackend


class _Watch(MetaPathFinder):
    """Finds einops' list of libraries as Python does, and joins it once it has run."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != _HOME:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path)
        loader: Any = spec.loader if spec else None
        if loader is not None:
            run = loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                _join(module)

            loader.exec_module = exec_module
        return spec


def watch() -> None:
    if _HOME in sys.modules:
        _join(sys.modules[_HOME])
    else:
        sys.meta_path.insert(0, _Watch())
