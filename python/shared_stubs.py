# SPDX-License-Identifier: Apache-2.0
"""Writes stubs of the modules whose functions are shared (python/tessera/_shared.py), as type checkers cannot see them:
shared_stubs.py FOLDER KIND MODULE ..., where KIND is the class of their arrays."""

import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType


def entry(module: ModuleType, name: str, kind: str) -> str:
    """A function with its signature and docstring; where another module has it, its import from there."""
    value = getattr(module, name)
    if not inspect.ismethod(value) and value.__module__ != module.__name__:
        return f"from {value.__module__} import {value.__name__} as {name}\n"
    signature = str(inspect.signature(value, eval_str=True)).replace("~T", kind)
    text = inspect.getdoc(value).replace("\\", "\\\\")
    return f"def {name}{signature}:\n" + textwrap.indent(f'"""{text}\n"""\n', "    ")


def stub(module: ModuleType, kind: str) -> str:
    entries = [entry(module, name, kind) for name in module.__all__]
    homes = sorted(set(re.findall(r"tessera\.[\w.]+(?=\.\w+)", "".join(e for e in entries if e.startswith("def")))))
    heads = [f"import {home}\n" for home in ("collections.abc", "typing", *homes)] + ["from typing import Any, Union\n"]
    # Other modules of the package draw from a module's generator, too.
    drawn = [f"_generator: {type(module._generator).__module__}.Generator\n"] if hasattr(module, "_generator") else []
    return "".join([*heads, *entries, *drawn, f"__all__ = {module.__all__}\n"])


if __name__ == "__main__":
    folder, kind, *names = sys.argv[1:]
    sys.path.insert(0, folder)
    for name in names:
        path = Path(folder, *name.split(".")).with_suffix(".pyi")
        path.write_text(stub(importlib.import_module(name), kind))
