# SPDX-License-Identifier: Apache-2.0
"""The reference, from what is compiled and from the public headers: a page for each group of names."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import groups
from docstrings import body, escaped, indented, signature, summary, without_signature
from tessera._doctor_names import known_variables

from tessera import _tessera as core

ROOT = Path(__file__).resolve().parents[2]
VARIABLES = {
    "TESSERA_BACKING_DIR": "the folder of files that back arrays larger than memory, as ``ts.set_backing_dir``",
    "TESSERA_CHECK_CALLS": "1: ranks compare what they call (``ts.dist.check_calls``), a rank that differs is named",
    "TESSERA_FFT": "``own`` or ``fftw``: who transforms on the cpu, where the plug-in for FFTW is",
    "TESSERA_INSTRUCTIONS": "``base`` or ``avx2``: kernels of the cpu use no wider instructions (x86-64)",
    "TESSERA_PLUGIN_PATH": "folders, with colons between them, in which plug-ins (CUDA, MPI) are looked for first",
}


def heading(text: str, mark: str = "=") -> str:
    return f"{text}\n{mark * len(text)}\n"


def formulas() -> dict[str, str]:
    """Of each operator, from docs/mathematics.md."""
    text = (ROOT / "docs/mathematics.md").read_text()
    return dict(re.findall(r"^\| `(\w+)` \| \$(.+?)\$ \|", text, re.M))


def attribute(owner: str, name: str, value: Any) -> str:
    return f".. py:property:: {owner}.{name}\n\n" + indented(body(value.__doc__ or "")) + "\n"


def function(path: str, value: Any, directive: str = "function") -> str:
    return f".. py:{directive}:: {path}{signature(value)}\n\n{indented(body(without_signature(value)))}\n"


def a_class(path: str, value: type, formula: str = "") -> str:
    kind = "exception" if issubclass(value, BaseException) else "class"
    text = [f".. py:{kind}:: {path}{signature(value)}\n"]
    if formula:
        text.append(f"   .. math:: {formula}\n")
    text.append(indented(body(value.__doc__ or "")) + "\n")
    for name, member in groups.members(value):
        if inspect.isdatadescriptor(member):
            text.append(indented(attribute(path, name, member)))
        else:
            bare = getattr(member, "__func__", member)
            text.append(indented(function(f"{path}.{name}", bare, "method")))
    return "\n".join(text)


def entry(path: str, value: Any, formula: str, shown: dict[int, str]) -> str:
    """What is said of one name; of a second name of the same object, where to look."""
    full = f"tessera.{path}"
    first = shown.setdefault(id(value), full)
    if isinstance(value, groups.CONSTANTS):
        return f".. py:data:: {full}\n\n   ``{value!r}``\n"
    if first != full and (isinstance(value, type) or callable(value)):
        kind = "class" if isinstance(value, type) else "function"
        return (
            f".. py:{kind}:: {full}{'' if kind == 'class' else signature(value)}\n\n   The same as :py:obj:`{first}`.\n"
        )
    if isinstance(value, type):
        return a_class(full, value, formula)
    if callable(value):
        return function(full, value)
    return f".. py:data:: {full}\n\n{indented(body(type(value).__doc__ or ''))}\n"


def table(rows: list[tuple[str, ...]], header: tuple[str, ...], widths: str) -> str:
    lines = [".. list-table::", f"   :widths: {widths}", "   :header-rows: 1", "   :class: names", ""]
    for row in [header, *rows]:
        lines += [("   * - " if i == 0 else "     - ") + cell for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def page(group: str, names: list[tuple[str, Any]], shown: dict[int, str], told: dict[str, str]) -> str:
    rows = [
        (f":py:obj:`{path} <tessera.{path}>`", summary(v) if not isinstance(v, groups.CONSTANTS) else f"``{v!r}``")
        for path, v in names
    ]
    text = [heading(groups.TITLES[group]), table(rows, ("name", "what it is"), "30 70")]
    # A rule between entries would be noise: each one is a box of its own.
    text += [entry(path, value, told.get(path, ""), shown) for path, value in names]
    return "\n".join(text)


def settings_page() -> str:
    rows = [
        (f"``{name}``", f"``TESSERA_{name.upper()}``", f"``{default}``", escaped(meaning))
        for name, _, default, meaning in settings()
    ]
    more = [(f"``{name}``", escaped(VARIABLES[name])) for name in known_variables() if name in VARIABLES]
    return "\n".join(
        [
            heading("Settings and environment variables"),
            "A setting is read from its variable when the process starts, and read and written as ``ts.config.NAME``;",
            "``with ts.config.using(NAME=value):`` changes it for a while. ``print(ts.config)`` shows what holds",
            "now, and ``tessera doctor`` names variables that nobody reads.\n",
            table(rows, ("ts.config", "variable", "default", "meaning"), "22 30 12 36"),
            heading("Other variables", "-"),
            table(more, ("variable", "meaning"), "30 70"),
        ]
    )


def settings() -> list[tuple[str, str, str, str]]:
    """(name, value, default, meaning) of each setting."""
    return [tuple(str(part) for part in row)[:4] for row in core._settings()]  # type: ignore[misc]


def public_headers() -> list[Path]:
    """Those that are installed: what tessera.hpp, distributed.hpp and testing/ include, and what that includes."""
    source = ROOT / "src"
    testing = [str(h.relative_to(source)) for h in (source / "tessera/testing").rglob("*.hpp")]
    waiting = ["tessera/tessera.hpp", "tessera/distributed.hpp", *testing]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in found or not (source / name).exists():
            continue
        found.add(name)
        text = (source / name).read_text()
        waiting += re.findall(r'#include [<"](tessera/[^">]+)[">]', text)
        if name == "tessera/tessera.hpp":  # operators stand in a list
            waiting += re.findall(r'"?(tessera/linop/ops/[\w/]+\.hpp)', (source / "tessera/linop/ops.def").read_text())
    return [source / name for name in sorted(found) if name.endswith(".hpp")]


def leading_comment(header: Path) -> tuple[str, str]:
    """The paragraph with which a header opens, and its example."""
    lines = []
    for line in header.read_text().splitlines():
        if line.startswith("//") and "SPDX" not in line:
            lines.append(line[2:])
        elif lines and not line.startswith("//"):
            break
    prose = [line.strip() for line in lines if not line.startswith("   ")]
    example = [line[3:] for line in lines if line.startswith("   ")]
    return escaped(" ".join(prose)), "\n".join(example)


def headers_page() -> str:
    text = [
        heading("C++ headers"),
        "What is installed, folder by folder, with what each header says of itself. ``tessera/tessera.hpp`` includes",
        "all but the arrays over ranks, which are in ``tessera/distributed.hpp``, and what tests of operators use,",
        "``tessera/testing``.\n",
    ]
    folder = ""
    for header in public_headers():
        name = header.relative_to(ROOT / "src")
        if str(name.parent) != folder:
            folder = str(name.parent)
            text.append(heading(folder, "-"))
        prose, example = leading_comment(header)
        text.append(f".. rubric:: {name.name}\n\n{prose}\n")
        if example.strip():
            text.append(".. code-block:: cpp\n   :force:\n\n" + indented(example) + "\n")
    return "\n".join(text)


def pages() -> dict[str, str]:
    """Every page of the reference, by its address."""
    by_group: dict[str, list[tuple[str, Any]]] = {group: [] for group in groups.TITLES}
    for group, path, value in groups.public():
        by_group[group].append((path, value))
    shown: dict[int, str] = {}
    told = formulas()
    made = {f"reference/{group}.rst": page(group, names, shown, told) for group, names in by_group.items() if names}
    made["reference/settings.rst"] = settings_page()
    made["reference/headers.rst"] = headers_page()
    return made


def contents() -> str:
    """What the first page of the reference ends with: its pages, as a list and in the menu."""
    titles = groups.TITLES | {"settings": "Settings and environment variables", "headers": "C++ headers"}
    return "\n```{toctree}\n:maxdepth: 1\n\n" + "\n".join(titles) + "\n```\n"


def names_on(text: str) -> set[str]:
    """The public names that a page describes."""
    return set(re.findall(r"^\s*\.\. py:\w+:: tessera\.([\w.]+)", text, re.M))
