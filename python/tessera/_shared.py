# SPDX-License-Identifier: Apache-2.0
"""Modules of functions that are written once for all kinds of arrays: ``ts`` and ``ts.dist`` have them of theirs."""

from __future__ import annotations

from typing import Any

from ._choosing import Choosing
from ._composed import Composed
from ._editing import Editing, Sets
from ._histogram import Histograms
from ._keywords import Keywords
from ._nan import NanReductions
from ._ordering import Ordering
from ._padding import Padding
from ._polynomials import Polynomials
from ._quantiles import Quantiles
from ._signal import Signals
from ._spacing import Spacing
from ._standard import Standard
from ._statistics import Statistics


def array_functions(home: Any, kind: Any, add_up: Any, algebra: Any) -> list[Any]:
    """What has the functions of one kind of arrays; ``add_up`` is that of Histograms, ``algebra`` gives ``linalg``."""
    plain = [Standard, Composed, NanReductions, Statistics, Ordering, Signals, Choosing, Quantiles, Padding, Keywords]
    plain += [Editing, Sets, Spacing]
    return [
        *(functions(home, kind) for functions in plain),
        Histograms(home, kind, add_up),
        Polynomials(home, kind, algebra),
    ]


def share(module: dict[str, Any], *parts: Any) -> list[str]:
    """Puts the public methods of the parts into a module; of two with one name the last one's stays. Gives their names.
    Type checkers see them in the stub of the module, which ``python/shared_stubs.py`` writes when the package is built.
    """
    named = module.setdefault("_parts_shared", {})
    for part in parts:
        part._shared_in = (module["__name__"], type(part).__name__)
        named[type(part).__name__] = part
    functions = {name: getattr(part, name) for part in parts for name in dir(part) if not name.startswith("_")}
    module.update(functions)
    return sorted(functions)
