# SPDX-License-Identifier: Apache-2.0
"""usage: assemble.py TARGET: fills a folder with the sources of the site; `--light` leaves the gallery away.

`make docs` runs it, then Sphinx on the folder; the tests run it lightly and look at what it wrote.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import gallery  # noqa: E402
import reference  # noqa: E402
from stage import Stage  # noqa: E402


def assemble(target: Path, light: bool = False) -> Stage:
    stage = Stage(target)
    for address, text in reference.pages().items():
        stage.put(address, text)
    stage.more["reference/index.md"] = reference.contents()
    if not light:
        stage.more["gallery/index.md"] = gallery.write(target)
    stage.write()
    return stage


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--light"]
    assemble(Path(arguments[0]), light="--light" in sys.argv)
