# SPDX-License-Identifier: Apache-2.0
"""The picture of `tessera demo`: by matplotlib where it is installed, else by our own PNG writer, without words."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ._pictures import grey, save_png

_COLOURS = ("#7f7f7f", "#0072b2", "#d55e00", "#009e73")  # told apart by colour-blind people too
_WHITE = 0.7  # of the brightest pixel: what is white in images, so that soft tissue is seen
_ERRORS = 0.3  # of the brightest pixel: what is white in the images of errors


@dataclasses.dataclass(frozen=True)
class Result:
    """A method's image, its distance to the truth, and what its solver measured."""

    title: str
    image: npt.NDArray[Any]
    error: float
    residuals: Sequence[float]
    seconds: float

    def curve(self) -> npt.NDArray[Any]:
        """The solver's measure over its first one, positive."""
        measured = np.asarray(self.residuals, float)
        measured = measured[np.isfinite(measured) & (measured > 0)]
        return measured / measured[0] if measured.size else measured


def draw(path: Path, truth: npt.NDArray[Any], results: Sequence[Result]) -> None:
    """Truth and results above; curves and errors below."""
    try:
        import matplotlib

        matplotlib.use("Agg")
    except ImportError:
        save_png(path, _sheet(truth, results))
        return
    _figure(path, truth, results)


def _figure(path: Path, truth: npt.NDArray[Any], results: Sequence[Result]) -> None:
    from matplotlib import pyplot as plt

    columns, top = 1 + len(results), float(np.abs(truth).max())
    grey_scale: dict[str, Any] = {"cmap": "gray", "vmin": 0, "vmax": _WHITE * top, "interpolation": "nearest"}
    style = {"font.family": "sans-serif", "font.size": 11, "axes.titlesize": 12.5, "axes.titleweight": "bold"}
    with plt.rc_context(style):
        figure, axes = plt.subplots(2, columns, figsize=(2.7 * columns, 5.9), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.01, hspace=0.02)
        for ax in [*axes[0], *axes[1, 1:]]:
            ax.set(xticks=[], yticks=[])
            for side in ax.spines.values():
                side.set_visible(False)
        axes[0, 0].imshow(truth, **grey_scale)
        axes[0, 0].set_title("truth")
        curves = axes[1, 0]
        for column, (result, colour) in enumerate(zip(results, _COLOURS, strict=False), 1):
            above, below = axes[0, column], axes[1, column]
            above.imshow(result.image, **grey_scale)
            above.set_title(result.title, color=colour)
            error = np.abs(result.image - truth) / top
            shown = below.imshow(error, cmap="inferno", vmin=0, vmax=_ERRORS, interpolation="nearest")
            below.set_title(f"NRMSE {100 * result.error:.1f} %", fontweight="normal")
            if result.curve().size:
                curves.semilogy(result.curve(), color=colour, lw=2, label=result.title)
        bar = figure.colorbar(shown, ax=axes[1, -1], shrink=0.85, pad=0.03)
        bar.set_label("error / brightest pixel", fontsize=9.5)
        bar.ax.tick_params(labelsize=9)
        bar.outline.set_visible(False)
        curves.set_title("convergence", fontweight="normal")
        curves.set_xlabel("iteration", fontsize=10)
        curves.set_box_aspect(0.85)
        curves.grid(True, which="major", color="#dddddd", lw=0.7)
        curves.spines[["top", "right"]].set_visible(False)
        curves.tick_params(labelsize=9)
        curves.legend(frameon=False, fontsize=9, handlelength=1.2, borderaxespad=0.1)
        figure.savefig(path, dpi=110)
        plt.close(figure)


def _sheet(truth: npt.NDArray[Any], results: Sequence[Result]) -> npt.NDArray[np.uint8]:
    """The same without words: bytes (height, width, 3)."""
    top, (height, width) = float(np.abs(truth).max()), truth.shape
    above = [grey(truth, _WHITE * top), *(grey(result.image, _WHITE * top) for result in results)]
    below = [grey(result.image - truth, _ERRORS * top) for result in results]
    rows = [
        np.concatenate([np.repeat(part[..., None], 3, -1) for part in above], 1),
        np.concatenate([_plot(results, height, width), *(np.repeat(part[..., None], 3, -1) for part in below)], 1),
    ]
    return np.concatenate(rows, 0)


def _plot(results: Sequence[Result], height: int, width: int) -> npt.NDArray[np.uint8]:
    """Curves over a logarithmic axis, in the colours of the methods."""
    field = np.full((height, width, 3), 255, np.uint8)
    curves = [np.log10(result.curve()) for result in results]
    drawn = np.concatenate([c for c in curves if c.size] or [np.zeros(1)])
    low, span = float(drawn.min()), max(float(np.ptp(drawn)), 1e-6)
    longest = max([len(c) for c in curves] + [2])
    for curve, colour in zip(curves, _COLOURS, strict=False):
        if curve.size == 0:
            continue
        steps = np.linspace(0, len(curve) - 1, 4 * (height + width))
        x = np.rint(steps / (longest - 1) * (width - 1)).astype(int)
        y = np.rint((1 - (np.interp(steps, range(len(curve)), curve) - low) / span) * (height - 1)).astype(int)
        field[y, x] = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return field
