# SPDX-License-Identifier: Apache-2.0
"""`python -m tessera` and the console script `tessera`: what people ask of an installation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import Error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tessera", description="Named linear operators, arrays and plans.")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    doctor = commands.add_parser("doctor", help="look at this installation and this machine, and give advice")
    doctor.add_argument("--json", action="store_true", help="for programs: every finding as JSON")
    doctor.add_argument("--no-disk", action="store_true", help="do not measure the disk of the backing folder")
    bench = commands.add_parser("bench", help="how quick the usual operations are here, beside NumPy")
    bench.add_argument("--quick", action="store_true", help="a few seconds; the whole is `make bench` of the source")
    commands.add_parser("version", help="print the version")
    return parser


def _bench(quick: bool) -> int:
    if not quick:
        raise SystemExit("tessera bench: the whole is `make bench` of the source; write `tessera bench --quick` here")
    from ._quick_bench import run

    return run()


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the status of the process."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except Error as error:  # a sentence, for example about a variable that cannot be read
        print(f"tessera: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    if options.command == "version":
        from . import __version__

        print(__version__)
        return 0
    if options.command == "bench":
        return _bench(options.quick)
    from ._doctor import run

    return run(json=options.json, measure=not options.no_disk)


if __name__ == "__main__":
    sys.exit(main())
