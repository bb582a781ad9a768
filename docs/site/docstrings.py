# SPDX-License-Identifier: Apache-2.0
"""Docstrings and signatures as reStructuredText, as the reference shows them."""

from __future__ import annotations

import inspect
import re
from typing import Any

# What is kept as it is: ``code``, and roles, of which the name is left.
LITERAL = re.compile(r"(``.+?``|:\w+:`~?[^`]+`|`[^`\s][^`]*`)", re.S)


def escaped(text: str) -> str:
    """Prose with marks that reStructuredText would read otherwise."""
    pieces = LITERAL.split(text)
    for i, piece in enumerate(pieces):
        if i % 2 == 0:
            pieces[i] = re.sub(r"([\\*|`]|_(?=\W|$))", r"\\\1", piece)
            continue
        role = piece.startswith(":")
        code = re.sub(r"^:\w+:", "", piece).strip("`").replace("\n", " ")
        before, after = pieces[i - 1][-1:], pieces[i + 1][:1]
        # A literal stands between blanks or marks; where it does not, there is an empty one.
        pieces[i] = "\\ " * before.isalnum() + f"``{code.lstrip('~') if role else code}``" + "\\ " * after.isalnum()
    return "".join(pieces)


def parameters(section: str) -> str:
    """A list of fields for a NumPy section "Parameters"."""
    entries = re.findall(r"^([*\w]+).*\n((?:    .*\n?)+)", section + "\n", re.M)
    return "\n".join(f":param {name}: {escaped(' '.join(text.split()))}" for name, text in entries)


def indented(text: str, by: str = "   ") -> str:
    return "\n".join(by + line if line.strip() else "" for line in text.splitlines())


def body(doc: str) -> str:
    """A docstring: paragraphs, examples, arguments."""
    out = []
    clean = inspect.cleandoc(doc)
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n|\Z)", clean, re.M | re.S)
    fields = ""
    if section:
        fields = parameters(section[1])
        clean = clean[: section.start()] + clean[section.end() :]
    for block in re.split(r"\n\s*\n", clean):
        if not block.strip():
            continue
        if block.lstrip().startswith(">>>"):
            out.append(".. code-block:: pycon\n\n" + indented(inspect.cleandoc(block)))
            continue
        prose, _, example = block.partition("\n>>>")
        out.append(escaped(" ".join(prose.split())))
        if example:
            out.append(".. code-block:: pycon\n\n" + indented(">>>" + example))
    return "\n\n".join([*out, fields]).rstrip() + "\n"


def without_signature(value: Any) -> str:
    """The docstring; those of compiled functions begin with signatures."""
    doc = value.__doc__ or ""
    if type(value).__name__ in ("nb_func", "nb_method"):
        lines = doc.split("\n\n", 1)
        return lines[1] if len(lines) == 2 and "(" in lines[0] else doc
    return doc


def summary(value: Any) -> str:
    """The first sentence."""
    first = inspect.cleandoc(without_signature(value)).split("\n\n")[0]
    text = " ".join(first.split(">>>")[0].split())
    return escaped(re.split(r"(?<=[.;:])\s", text)[0].rstrip(";:"))


def one_argument(p: inspect.Parameter) -> str:
    told = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
    annotation = "" if p.annotation is p.empty else p.annotation
    if not isinstance(annotation, str):
        annotation = getattr(annotation, "__name__", str(annotation))
    annotation = annotation.replace("typing.", "")
    told += f": {annotation}" if annotation else ""
    if p.default is p.empty:
        return told
    value = repr(p.default)
    value = "..." if value.startswith("<") or p.default is ... else value
    return told + (f" = {value}" if annotation else f"={value}")


def signature(value: Any) -> str:
    """(x, *, out=None) as people write it; "()" where none is known."""
    try:
        whole = inspect.signature(value)
    except (TypeError, ValueError):
        return "" if isinstance(value, type) else "()"
    told, starred, previous = [], False, None
    for p in whole.parameters.values():
        if previous is p.POSITIONAL_ONLY and p.kind is not p.POSITIONAL_ONLY:
            told.append("/")
        if p.kind is p.KEYWORD_ONLY and not starred:
            told.append("*")
        starred = starred or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        previous = p.kind
        told.append(one_argument(p))
    if previous is inspect.Parameter.POSITIONAL_ONLY:
        told.append("/")
    returns = whole.return_annotation
    if isinstance(value, type) or returns in (inspect.Signature.empty, "None"):
        return f"({', '.join(told)})"
    returns = returns if isinstance(returns, str) else getattr(returns, "__name__", str(returns))
    return f"({', '.join(told)}) -> {returns.replace('typing.', '')}"
