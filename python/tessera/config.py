# SPDX-License-Identifier: Apache-2.0
"""The settings of the process: ``ts.config``, and the same by ``import tessera.config``.

>>> import tessera.config as config
>>> config is ts.config, config.progress
(True, True)
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ._config import Config

__all__ = ["using"]
sys.modules[__name__].__class__ = Config

if TYPE_CHECKING:  # what the class does for the module

    def __getattr__(name: str) -> bool | int | str: ...

    def using(**settings: bool | int | str) -> AbstractContextManager[Config]: ...
