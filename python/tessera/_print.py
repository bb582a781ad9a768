# SPDX-License-Identifier: Apache-2.0
"""How arrays print: as NumPy's, with the device where it is not the cpu. NumPy is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._tessera import Array


def _host(x: Array) -> Any:
    return (x.astype("float32") if x.dtype == "bfloat16" else x).numpy()


def repr_text(x: Array) -> str:
    import numpy as np

    text = np.array_repr(_host(x))
    extra = []
    if x.dtype == "bfloat16":
        text = text.replace(", dtype=float32", "")
        extra.append("dtype=bfloat16")
    if x.device != "cpu":
        extra.append(f"device='{x.device}'")
    return text[:-1] + "".join(", " + e for e in extra) + ")" if extra else text


def str_text(x: Array) -> str:
    import numpy as np

    return np.array_str(_host(x))
