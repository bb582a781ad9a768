# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of local arrays and of results of solvers: what they are, a picture where there is one to see."""

from __future__ import annotations

import base64
import html
import math
from typing import Any

from . import _tessera as _core

_BORDER = "border:1px solid;border-radius:4px;padding:.4em .8em;display:inline-block"
_FRAME = f'<div class="tessera-{{}}" style="{_BORDER}">{{}}</div>'
_SIDE = 128  # pixels of a picture at most
_LEAST = 8  # numbers along an axis, below which numbers say more than a picture


def array(x: _core.Array) -> str:
    """A card of an array: its numbers, or the middle image of its last two axes as a picture."""
    head = _line(f"<b>Array</b> <code>{x.shape} {x.dtype}</code>, {_bytes(x.nbytes)}, on {html.escape(str(x.device))}")
    if x.ndim >= 2 and min(x.shape[-2:]) >= _LEAST and x.size > 0:
        return _FRAME.format("array", head + _picture(x))
    return _FRAME.format("array", head + f"<pre style='margin:.3em 0'>{html.escape(str(x))}</pre>")


def result(r: Any) -> str:
    """A card of a solver's result: how it ended, and its measure over the iterations on a logarithmic scale."""
    text = f"<b>{type(r).__name__}</b>: {r.iterations} iterations, {html.escape(str(r.reason))}"
    found = "" if r.x is None else _line(f"x: <code>{r.x.shape} {r.x.dtype}</code>")
    return _FRAME.format("result", _line(text) + found + _curve(list(r.history)))


def _line(text: str) -> str:
    return f"<div>{text}</div>"


def _bytes(n: int) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n} {unit}" if unit == "bytes" else f"{n:.1f} {unit}"
        n /= 1024  # type: ignore[assignment]
    raise AssertionError


def _picture(x: _core.Array) -> str:
    """The magnitudes of the middle image, with every n-th row and column where it is larger than a picture."""
    from ._png import grey, png

    middle = tuple(n // 2 for n in x.shape[:-2])
    step = math.ceil(max(x.shape[-2:]) / _SIDE)
    key = (*middle, slice(None, None, step), slice(None, None, step))
    part = x[key]
    pixels = grey((part.astype("float32") if str(x.dtype) == "bfloat16" else part).numpy())
    scale = max(1, _SIDE // max(pixels.shape))
    size = f"height:{scale * pixels.shape[0]}px;width:{scale * pixels.shape[1]}px;"
    place = ", ".join([*map(str, middle), ":", ":"])
    data = base64.b64encode(png(pixels)).decode()
    image = f'<img alt="magnitudes" style="{size}image-rendering:pixelated" src="data:image/png;base64,{data}">'
    return f"<div style='margin:.3em 0'>{image}</div>" + _line(f"magnitudes of [{place}]")


def _curve(history: list[float]) -> str:
    points = [(i, math.log10(v)) for i, v in enumerate(history) if math.isfinite(v) and v > 0]
    if len(points) < 2:
        return ""
    low, high = min(y for _, y in points), max(y for _, y in points)
    width, height = 240, 60
    places = " ".join(
        f"{width * i / max(1, len(history) - 1):.1f},{height * (high - y) / (high - low or 1):.1f}" for i, y in points
    )
    line = f'<polyline points="{places}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
    drawn = f'<svg width="{width}" height="{height}" style="margin:.3em 0;overflow:visible">{line}</svg>'
    return _line(drawn) + _line(f"from {10 ** points[0][1]:.2e} to {10 ** points[-1][1]:.2e}")
