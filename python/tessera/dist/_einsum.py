# SPDX-License-Identifier: Apache-2.0
"""Sums of products by subscripts over ranks: all operands are cut along one of the letters, each rank sums its part."""

from __future__ import annotations

from typing import Any

from .. import _dist
from .. import _tessera as _core
from .._dist import DNDarray
from .._subscripts import LETTERS, subscripts_of

__all__ = ["einsum"]


def _spelled(subscripts: str, ndims: list[int]) -> tuple[list[str], str]:
    """One letter for each axis of each operand and of the output: "..." is spelled out, the output too."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ValueError(f"einsum: {len(terms)} subscripts for {len(ndims)} operands")
    free = [c for c in LETTERS if c not in subscripts]
    widest = max((n - len(t) + 3 for t, n in zip(terms, ndims, strict=True) if "..." in t), default=0)
    dots = "".join(free[:widest])
    spelled = []
    for term, ndim in zip(terms, ndims, strict=True):
        many = ndim - len(term) + 3
        name = term.replace("...", dots[widest - many :] if many > 0 else "") if "..." in term else term
        if len(name) != ndim:
            raise ValueError(f"einsum: subscripts '{term}' do not fit an operand of {ndim} axes")
        spelled.append(name)
    if arrow:
        return spelled, right.replace("...", dots)
    letters = "".join(terms).replace(".", "")
    return spelled, dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))


def _cut(terms: list[str], arrays: list[DNDarray]) -> tuple[str, Any] | None:
    """The letter along which the operands are cut, and the counts: the one that moves the fewest numbers."""
    best: tuple[int, str, Any] | None = None
    for term, x in zip(terms, arrays, strict=True):
        if x.split is None:
            continue
        letter = term[x.split]
        whole = [
            (t.count(letter) == 1 and y.shape[t.index(letter)] == x.shape[x.split])
            for t, y in zip(terms, arrays, strict=True)
            if letter in t
        ]
        if not all(whole):  # a diagonal, or an axis of size one that is repeated
            continue
        moved = sum(
            y.size
            for t, y in zip(terms, arrays, strict=True)
            if y.split is not None and (letter not in t or t.index(letter) != y.split)
        )
        if best is None or moved < best[0]:
            best = moved, letter, x.counts
    return None if best is None else best[1:]


def einsum(subscripts: Any, *operands: Any, out: DNDarray | None = None, optimize: Any = None) -> DNDarray:
    """Sums of products by subscripts. The operands are cut along the letter that moves the fewest numbers, those
    without it are sent to all ranks; the parts of a letter that is summed are added up over the ranks.

    >>> a, b = ts.dist.ones((4, 3), split=0), ts.dist.ones((3, 2), split=0)
    >>> ts.dist.einsum("ij,jk->ik", a, b).tolist()[0]
    [3.0, 3.0]
    """
    text, given = (subscripts, operands) if isinstance(subscripts, str) else subscripts_of([subscripts, *operands])
    first = next((x for x in given if isinstance(x, DNDarray)), None)
    comm = None if first is None else first.comm
    device = None if first is None else first.device
    arrays = [x if isinstance(x, DNDarray) else _dist.array(x, device=device, comm=comm) for x in given]
    terms, result = _spelled(text, [x.ndim for x in arrays])
    spelled = ",".join(terms) + "->" + result
    found = _product(spelled, terms, result, arrays)
    if out is None:
        return found
    if tuple(out.shape) != tuple(found.shape):
        raise ValueError(f"einsum: output array has shape {out.shape}, expected {found.shape}")
    out[...] = found
    return out


def _product(spelled: str, terms: list[str], result: str, arrays: list[DNDarray]) -> DNDarray:
    comm = arrays[0].comm
    cut = _cut(terms, arrays)
    if cut is None:
        whole = [x.resplit(None) for x in arrays]
        return _dist.array(_core.einsum(spelled, *(x.local for x in whole)), comm=comm)
    letter, counts = cut
    parts = []
    for term, x in zip(terms, arrays, strict=True):
        axis = term.index(letter) if letter in term else None
        x = x.resplit(axis)
        parts.append(x if axis is None or x.counts == counts else x.redistribute(counts))
    mine = _core.einsum(spelled, *(x.local for x in parts))
    if letter in result:
        return _dist.array(mine, is_split=result.index(letter), comm=comm)
    return _dist.sum(_dist.array(mine.reshape(1, *mine.shape), is_split=0, comm=comm), 0, mine.dtype)
