# SPDX-License-Identifier: Apache-2.0
"""``with ts.doctor():``, advice at run time. The command ``tessera doctor`` looks at a machine and an installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._advice_rules import Doctor


def doctor(*, quiet: bool = False, lines: bool = True) -> Doctor:
    """Watches a block; at its end says what cost more than it had to, with file and line, and what to write instead.

    Noticed are copies between devices in a loop, plans that are made again and again, elements that are looked at one
    by one, transfers of host memory that is not pinned, kernels over few elements, and short messages between ranks.
    The report goes to stderr (of ranks, that of rank 0) and is what ``as`` names: ``report.advice`` is a list.

    ``quiet``: prints nothing. ``lines=False``: does not tell lines apart, and does not slow the block down; otherwise
    each line of Python takes a few microseconds more, so that loops in Python show longer times than they have alone.
    Lines are those of the thread that asks; what others do meanwhile counts for the line that ran. Outside of such a
    block nothing is counted that is not counted anyway.

    >>> x = ts.arange(200.0)
    >>> with ts.doctor(quiet=True) as report:
    ...     total = 0.0
    ...     for i in range(200):
    ...         total += float(x[i])
    >>> [(advice.kind, advice.count) for advice in report.advice]
    [('elements', 200)]
    """
    from ._advice_rules import Doctor  # not by every import of the package

    return Doctor(bool(quiet), bool(lines))
