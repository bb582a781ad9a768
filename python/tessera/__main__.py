# SPDX-License-Identifier: Apache-2.0
"""`python -m tessera` and the console script `tessera`: what people ask of an installation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import Error
from ._offered import METHODS, SIZES, STRENGTHS, devices
from ._shell import SHELLS, offer


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tessera", description="Named linear operators, arrays and plans.")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    doctor = commands.add_parser("doctor", help="look at this installation and this machine, and give advice")
    doctor.add_argument("--json", action="store_true", help="for programs: every finding as JSON")
    doctor.add_argument("--no-disk", action="store_true", help="do not measure the disk of the backing folder")
    bench = commands.add_parser("bench", help="how quick the usual operations are here, beside NumPy")
    bench.add_argument("--quick", action="store_true", help="a few seconds; the whole is `make bench` of the source")
    commands.add_parser("version", help="print the version")
    completion = commands.add_parser("completion", help="print what a shell needs to complete this command")
    completion.add_argument("shell", choices=SHELLS, help="the shell that it is for")
    manual = commands.add_parser("man", help="print the manual page")
    manual.add_argument("-o", "--output", help="a file that it is written to instead, for example tessera.1")
    demo = commands.add_parser("demo", help="make a scan, reconstruct it in four ways, and draw what came out")
    offer(demo.add_argument("--size", default="2d", help="what is scanned, by default 2d"), SIZES)
    demo.add_argument("--out", default="out", help="the folder that is written into")
    _device(demo)
    demo.add_argument("--budget", help="bytes that arrays may hold, for example 100MiB")
    _recon_parser(commands.add_parser("recon", help="reconstruct a raw file (ISMRMRD) to an image"))
    view = commands.add_parser("view", help="write a page with sliders that shows an image")
    view.add_argument("image", help="an image: .nii, .nii.gz, .dcm, .npy, .cfl, .h5, .zarr or .tessera")
    view.add_argument("-o", "--output", help="the page, by default IMAGE.html")
    return parser


def _device(command: argparse.ArgumentParser) -> None:
    said = "cpu (default), cuda:0, sim:0 or another; several with commas share the coils"
    offer(command.add_argument("--device", default="cpu", metavar="DEVICE", help=said), devices)


def _recon_parser(recon: argparse.ArgumentParser) -> None:
    recon.add_argument("scan", help="a raw file, ISMRMRD (.h5)")
    kinds = "image: .nii, .nii.gz, .dcm, .npy, .cfl, .h5, .zarr or .tessera"
    recon.add_argument("-o", "--output", required=True, help=kinds)
    offer(recon.add_argument("--method", default="sense", help="how, by default sense"), METHODS)
    strength = 'strength of the penalty, a number, or by default "auto": by the noise'
    offer(recon.add_argument("--lambda", dest="lamda", default="auto", metavar="LAMBDA", help=strength), STRENGTHS)
    _device(recon)
    recon.add_argument("--budget", help="bytes that arrays may hold, for example 4GiB: coils are taken in tiles")
    recon.add_argument("--checkpoint", help="a folder for stages, kept; by default OUTPUT.part, removed at the end")
    recon.add_argument("--maps", help="sensitivities (coils, *shape) in a file; by default ESPIRiT of the centre")
    recon.add_argument("--field-map", help="by how many hertz each pixel turns, as a file of images")
    recon.add_argument("--sample-time", type=float, help="seconds of a sample, for a field map; by default the scan's")
    recon.add_argument("--coils", type=int, help="compress to so many coils")
    recon.add_argument("--calibration", type=int, default=24, help="width of the centre that maps are learned from")
    recon.add_argument("--iterations", type=int, default=30, help="of the solver, at most")
    recon.add_argument("--dataset", default="dataset", help="the group of the file that holds the scan")
    recon.add_argument("--report", help="where the report is written, by default beside the image (.json)")
    recon.add_argument("--preview", help="where the preview is written, by default beside the image (.png)")
    recon.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _man(output: str | None) -> int:
    from . import __version__
    from ._shell import manual

    page = manual(_parser(), __version__)
    if output is None:
        sys.stdout.write(page)
    else:
        from pathlib import Path

        try:
            Path(output).write_text(page)
        except OSError as error:
            print(f"tessera: man: {error}", file=sys.stderr)
            return 1
    return 0


def _bench(quick: bool) -> int:
    if not quick:
        raise SystemExit("tessera bench: the whole is `make bench` of the source; write `tessera bench --quick` here")
    from ._quick_bench import run

    return run()


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the status of the process."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(["version"] if words == ["--version"] else words)
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
    if options.command == "completion":
        from ._shell import completion

        sys.stdout.write(completion(options.shell, _parser()))
        return 0
    if options.command == "man":
        return _man(options.output)
    if options.command == "bench":
        return _bench(options.quick)
    if options.command == "view":
        from .imaging import view

        print(view(options.image, options.output))
        return 0
    if options.command == "demo":
        from .imaging._demo import demo

        more = {} if options.budget is None else {"budget": options.budget}
        demo(options.size, options.out, **({} if options.device == "cpu" else {"device": options.device}), **more)
        return 0
    if options.command == "recon":
        from .imaging import recon

        recon(**{name: value for name, value in vars(options).items() if name != "command"})
        return 0
    from ._doctor import run

    return run(json=options.json, measure=not options.no_disk)


if __name__ == "__main__":
    sys.exit(main())
