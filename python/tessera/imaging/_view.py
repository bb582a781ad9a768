# SPDX-License-Identifier: Apache-2.0
"""`tessera view`: an image as one HTML page with sliders, which needs no server and no other file."""

from __future__ import annotations

import base64
import html
import json
import os
from typing import Any

import numpy as np

from .. import ArgumentError
from .._beside import beside
from ._files import overwritten
from ._image_files import load_image
from ._pictures import grey
from ._zarr_images import directory_name

_MOST = 1 << 27  # pixels: what browsers open as one page

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>@TITLE@</title>
<style>
body { font: 14px sans-serif; margin: 1em; background: #111; color: #ddd; }
canvas { image-rendering: pixelated; border: 1px solid #444; width: @WIDTH@px; height: @HEIGHT@px; }
label { display: block; margin: 0.4em 0; }
input { width: 20em; vertical-align: middle; }
output { display: inline-block; min-width: 4em; }
</style>
</head>
<body>
<h1>@TITLE@</h1>
<p>@ABOUT@</p>
<canvas id="image" width="@COLUMNS@" height="@ROWS@"></canvas>
<div id="sliders"></div>
<script>
"use strict";
const sizes = @SIZES@, rows = @ROWS@, columns = @COLUMNS@, top_value = @TOP@;
const text = atob("@PIXELS@");
const canvas = document.getElementById("image"), context = canvas.getContext("2d");
const sliders = [], box = document.getElementById("sliders");
function slider(name, least, most, value) {
  const label = document.createElement("label"), input = document.createElement("input");
  const shown = document.createElement("output");
  input.type = "range"; input.min = least; input.max = most; input.value = value;
  label.append(input, " " + name + " ", shown);
  box.append(label);
  input.addEventListener("input", draw);
  sliders.push(() => { shown.textContent = input.value; return Number(input.value); });
}
function draw() {
  const values = sliders.map((read) => read());
  let at = 0;
  sizes.forEach((size, axis) => { at = at * size + values[axis]; });
  const black = values[sizes.length], white = Math.max(values[sizes.length + 1], black + 1);
  const picture = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; ++i) {
    const value = text.charCodeAt(at * rows * columns + i);
    const shade = 255 * (value - black) / (white - black);
    picture.data[4 * i] = picture.data[4 * i + 1] = picture.data[4 * i + 2] = shade;
    picture.data[4 * i + 3] = 255;
  }
  context.putImageData(picture, 0, 0);
}
sizes.forEach((size, axis) => slider("axis " + axis + " of " + size, 0, size - 1, Math.floor(size / 2)));
slider("black, of 255", 0, 255, 0);
slider("white, of 255: " + top_value.toPrecision(4), 0, 255, 255);
draw();
</script>
</body>
</html>
"""


def view(image: Any, page: str | os.PathLike[str] | None = None) -> str:
    """Writes a page that shows the magnitudes of an image (..., y, x), an array or the name of a file, with a slider
    for each axis in front and for black and white; the name of the page, by default beside the file (.html).

    >>> ts.imaging.save_image("image.npy", np.ones((3, 8, 8)))
    >>> ts.imaging.view("image.npy")
    'image.npy.html'
    """
    name = directory_name(image) if isinstance(image, str | os.PathLike) else None
    if name is None and page is None:
        raise ArgumentError("view: an array without a name for its page; expected page=")
    target = os.fspath(page) if page is not None else f"{name}.html"
    lost_file = None if name is None else overwritten(target, name)
    if lost_file is not None:
        raise ArgumentError(f"view: the page {target} would overwrite {lost_file}, the image; give it another name")
    x = load_image(name) if name is not None else np.asarray(image)
    if x.ndim < 2 or x.size == 0 or x.dtype.kind not in "buifc":
        raise ArgumentError(f"view: {x.dtype} of shape {x.shape}; expected numbers with two axes or more, not empty")
    if x.size > _MOST:
        raise ArgumentError(f"view: {x.size} pixels; a page holds at most {_MOST}: take a part of the image")
    sizes = np.abs(x.astype(complex if x.dtype.kind == "c" else float))
    finite = np.isfinite(sizes)
    shown = np.where(finite, sizes, 0)
    outer = [n for n in x.shape[:-2] if n > 1]
    zoom = max(1, 512 // max(x.shape[-2:]))
    lost = int(finite.size - finite.sum())
    about = f"{x.dtype} of shape {x.shape}" + (f"; {lost} values that are not finite are black" if lost else "")
    parts = {
        "TITLE": html.escape(_readable(os.path.basename(name) if name is not None else "image")),
        "ABOUT": html.escape(about),
        "SIZES": json.dumps(outer),
        "ROWS": str(x.shape[-2]),
        "COLUMNS": str(x.shape[-1]),
        "WIDTH": str(zoom * x.shape[-1]),
        "HEIGHT": str(zoom * x.shape[-2]),
        "TOP": repr(float(shown.max())),
        "PIXELS": base64.b64encode(grey(shown).tobytes()).decode(),
    }
    pieces = _PAGE.split("@")
    text = "".join(piece if i % 2 == 0 else parts[piece] for i, piece in enumerate(pieces))
    with beside(target, "view") as part, open(part, "w", encoding="utf-8") as file:
        file.write(text)
    return target


def _readable(name: str) -> str:
    """A name of a file, of which any bytes may be part, as text."""
    return os.fsencode(name).decode("utf-8", "replace")
