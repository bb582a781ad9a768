# SPDX-License-Identifier: Apache-2.0
"""Every block of the documentation runs.

```python blocks of a page run in order in one namespace; ```pycon blocks are checked as doctests in the same
namespace; ```cpp blocks must stand, line by line, in a file of examples/cpp, which ctest compiles and runs.
A block marked ```python cuda runs only where a CUDA device is, one marked torch or jax where that library is installed.
"""

import doctest
import importlib.util
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import tessera as ts

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.M | re.S)


def blocks(page: Path) -> list[tuple[str, str, int, str]]:
    """(language, marks, line number, text) of each fenced block."""
    text = page.read_text()
    return [
        (m[1], m[2].strip(), text.count("\n", 0, m.start()) + 2, textwrap.dedent(m[3])) for m in FENCE.finditer(text)
    ]


def has_library(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def has_cuda() -> bool:
    return any(str(device).startswith("cuda") for device in ts.devices())


def pages_with(*languages: str) -> list[Path]:
    return [page for page in PAGES if any(block[0] in languages for block in blocks(page))]


def restored_settings() -> Callable[[], None]:
    """Budgets and the backing folder as they were, also after a page that failed in the middle."""
    budget = ts.memory_stats("cpu")["budget"]

    def restore() -> None:
        ts.set_memory_budget(host=budget)
        ts.set_backing_dir(None)

    return restore


@pytest.mark.parametrize("page", pages_with("python", "pycon"), ids=lambda p: str(p.relative_to(ROOT)))
def test_python_blocks(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    request.addfinalizer(restored_settings())
    space: dict[str, object] = {"__name__": "docs"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for language, marks, line, text in blocks(page):
        needed = marks.split()
        if "cuda" in needed and not has_cuda() or any(not has_library(n) for n in needed if n in ("torch", "jax")):
            continue
        if language == "python":
            # Padded so that a traceback names the line of the page.
            exec(compile("\n" * (line - 1) + text, str(page), "exec"), space)
        elif language == "pycon":
            test = doctest.DocTestParser().get_doctest(text, space, page.name, str(page), line - 1)
            test.globs = space
            report: list[str] = []
            runner.run(test, out=report.append, clear_globs=False)
            assert not report, "".join(report)


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("page", pages_with("cpp"), ids=lambda p: str(p.relative_to(ROOT)))
def test_cpp_blocks_are_compiled(page: Path) -> None:
    examples = [lines_of(path.read_text()) for path in ROOT.glob("examples/cpp/*.cpp")]
    for language, _, line, text in blocks(page):
        if language != "cpp":
            continue
        wanted = lines_of(text)
        found = any(example[i : i + len(wanted)] == wanted for example in examples for i in range(len(example)))
        assert found, f"{page.name}:{line}: this block stands in no file of examples/cpp"


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
