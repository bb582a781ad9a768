# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of examples/gallery and writes a page for each: its text, its code, what it prints and draws.

An example begins with a docstring (title, then text) and is cut at lines `# %%`, whose comment lines are Markdown. Open
figures are saved at the end of each piece. `python gallery.py EXAMPLE TARGET` runs one; `write` runs each in a process
of its own.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/gallery"


def pieces(text: str) -> tuple[str, str, list[tuple[str, str]]]:
    """(title, text below it, [(Markdown, code), ...]) of an example."""
    tree = ast.parse(text)
    first = tree.body[0]
    doc = ast.get_docstring(tree) or ""
    title, _, below = doc.partition("\n")
    rest = "\n".join(text.splitlines()[first.end_lineno or 0 :])
    parts = []
    for cell in re.split(r"^# %%.*\n?", rest, flags=re.M):
        comment = re.match(r"(?:#.*\n)*", cell)
        assert comment
        prose = "\n".join(line[1:].strip() for line in comment[0].splitlines())
        parts.append((prose, cell[comment.end() :].strip("\n")))
    return title.strip(), below.strip(), [p for p in parts if any(p)]


def run(example: Path, target: Path) -> None:
    """Writes TARGET/NAME.md and its pictures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"figure.dpi": 110, "savefig.bbox": "tight", "image.cmap": "gray", "font.size": 9}
    title, below, parts = pieces(example.read_text())
    out = [f"# {title}\n\n{below}\n"]
    space: dict[str, object] = {"__name__": "__main__"}
    drawn = 0
    for prose, code in parts:
        out.append(prose + "\n")
        if not code:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(example), "exec"), space)
        out.append(f"```python\n{code}\n```\n")
        if printed.getvalue().strip():
            out.append(f"```text\n{printed.getvalue().rstrip()}\n```\n")
        for number in plt.get_fignums():
            drawn += 1
            picture = f"{example.stem}-{drawn}.png"
            plt.figure(number).savefig(target / picture)
            out.append(f"![{title}, figure {drawn}]({picture})\n")
        plt.close("all")
    (target / f"{example.stem}.md").write_text("\n".join(out))


def write(target: Path) -> str:
    """Runs every example; gives what the gallery's first page shows: a card for each, and the menu."""
    folder = target / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    cards, names = [], []
    for example in sorted(EXAMPLES.glob("*.py")):
        subprocess.run([sys.executable, __file__, str(example), str(folder)], check=True)
        title, below, _ = pieces(example.read_text())
        first = " ".join(below.split("\n\n")[0].split())
        pictures = sorted(folder.glob(f"{example.stem}-*.png"))
        picture = f"[![{title}]({pictures[-1].name})]({example.stem}.md)\n\n" if pictures else ""
        cards.append(f":::{{container}} card\n{picture}**[{title}]({example.stem}.md)**\n\n{first}\n:::\n")
        names.append(example.stem)
    menu = "```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"
    return "\n::::{container} cards\n" + "\n".join(cards) + "::::\n\n" + menu


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]))
