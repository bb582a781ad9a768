# SPDX-License-Identifier: Apache-2.0
"""Gathers the pages of the site in one folder, for Sphinx.

Pages of docs/ go there as they are, readable on their own; pages from elsewhere in the tree get an address, and
so does every source file that a page links to. A link that leads nowhere is an error here. The menu follows the links:
an index page lists, in their order, the pages of its folder and the indices of the folders below it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "THIRD_PARTY_NOTICES.md": "project/notices.md",
    "bench/README.md": "project/benchmarks.md",
    "examples/own_operator_project/README.md": "project/own-operator-project.md",
}
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".sh": "sh", ".cff": "yaml"}
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
FENCED = re.compile(r"^```.*?^```", re.M | re.S)


def sources() -> dict[Path, str]:
    """Each page of the tree that is part of the site, with its address."""
    docs = ROOT / "docs"
    pages = {page: str(page.relative_to(docs)) for page in sorted(docs.rglob("*.md"))}
    return pages | {ROOT / name: address for name, address in ELSEWHERE.items() if (ROOT / name).exists()}


class Stage:
    """Pages on their way to a folder."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.pages = sources()
        self.files: dict[Path, str] = {}  # sources that pages link to
        self.more: dict[str, str] = {}  # what is generated for the end of a page, by its address

    def address(self, page: Path, link: str) -> str | None:
        """Where a link of a page leads on the site; None outside of the tree."""
        if "://" in link or link.startswith("mailto:"):
            return None
        goal = (page.parent / link).resolve()
        if not goal.exists():
            raise FileNotFoundError(f"{page.relative_to(ROOT)} links to {link}, which is not there")
        if goal in self.pages:
            return self.pages[goal]
        if goal.is_dir() or goal.suffix == ".png":
            return str(goal.relative_to(ROOT / "docs")) if goal.is_relative_to(ROOT / "docs") else None
        return self.files.setdefault(goal, "source/" + str(goal.relative_to(ROOT)).replace("/", "-") + ".md")

    def linked(self, page: Path) -> list[str]:
        """Addresses of the pages that a page links to, in order."""
        text = FENCED.sub("", page.read_text())
        found = (self.address(page, link) for _, link, _ in LINK.findall(text))
        return list(dict.fromkeys(a for a in found if a))

    def rewritten(self, page: Path) -> str:
        """The text of a page with links between addresses."""
        here = Path(self.pages[page]).parent

        def lead(link: re.Match[str]) -> str:
            goal = self.address(page, link[2])
            return link[0] if goal is None else link[1] + os.path.relpath(goal, here) + link[3]

        pieces, last = [], 0
        text = page.read_text()
        for fence in FENCED.finditer(text):
            pieces += [LINK.sub(lead, text[last : fence.start()]), fence[0]]
            last = fence.end()
        return "".join(pieces) + LINK.sub(lead, text[last:]) + self.menu(page) + self.more.get(self.pages[page], "")

    def menu(self, page: Path) -> str:
        """The hidden table of contents of an index page."""
        address = self.pages[page]
        if Path(address).name != "index.md":
            return ""
        folder = Path(address).parent
        entries = []
        for goal in self.linked(page):
            inside = Path(goal).parent == folder
            below = Path(goal).name in ("index.md", "index.rst") and Path(goal).parent.parent == folder
            if goal != address and (inside or below) and Path(goal).suffix in (".md", ".rst"):
                entries.append(os.path.relpath(Path(goal).with_suffix(""), folder))
        return "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(entries) + "\n```\n" if entries else ""

    def write(self) -> None:
        for page, address in self.pages.items():
            self.put(address, self.rewritten(page))
        for picture in sorted((ROOT / "docs").rglob("*.png")):
            copy = self.target / picture.relative_to(ROOT / "docs")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(picture.read_bytes())
        for file, address in self.files.items():
            name = file.relative_to(ROOT)
            language = "cmake" if file.name == "CMakeLists.txt" else LANGUAGES.get(file.suffix, "text")
            # One mark longer than any in the file.
            fence = "`" * (max((len(m) for m in re.findall("`{3,}", file.read_text())), default=2) + 1)
            self.put(address, f"---\norphan: true\n---\n\n# {name}\n\n{fence}{language}\n{file.read_text()}{fence}\n")

    def put(self, address: str, text: str) -> None:
        path = self.target / address
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:  # Sphinx reads again what is newer
            path.write_text(text)


def reachable(stage: Stage) -> set[str]:
    """Addresses that the menu leads to, from the first page on."""
    by_address = {address: page for page, address in stage.pages.items()}
    seen, waiting = set(), ["index.md"]
    while waiting:
        address = waiting.pop()
        if address in seen or address not in by_address:
            continue
        seen.add(address)
        folder = Path(address).parent
        for entry in re.findall(r"^(?![`:]|\s)(\S+)$", stage.menu(by_address[address]), re.M):
            waiting.append(os.path.normpath(folder / (entry + ".md")))
    return seen
