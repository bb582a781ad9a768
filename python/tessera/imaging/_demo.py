# SPDX-License-Identifier: Apache-2.0
"""`tessera demo`: a scan of a phantom, reconstructed in four ways by `tessera recon`, drawn beside the truth."""

from __future__ import annotations

import dataclasses
import math
import os
import shlex
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError, IoError
from ._coils import Coils
from ._demo_picture import Result, draw
from ._image_files import load_image
from ._ismrmrd_write import save_ismrmrd
from ._metrics import nrmse
from ._phantoms import Phantom, shepp_logan
from ._placing import bytes_of
from ._recon import recon
from ._trajectories import kooshball, radial

_COILS = 8
_NOISE = 3e-4  # of the largest sample, in each of its two parts
_TITLES = {
    "grid": "gridding",
    "sense": "CG-SENSE",
    "l1wavelet": "wavelets",
    "tv": "total variation",
    "lowrank": "low rank",
}


@dataclasses.dataclass(frozen=True)
class _Size:
    """What is scanned, and the methods with their own arguments of `tessera recon`."""

    shape: tuple[int, ...]
    spokes: int  # of each frame
    frames: int
    calibration: int
    methods: dict[str, dict[str, Any]]


SIZES = {
    "2d": _Size((128, 128), 30, 1, 24, {"grid": {}, "sense": {}, "l1wavelet": {}, "tv": {}}),
    "3d": _Size(
        (32, 32, 32),
        400,
        1,
        12,
        {
            "grid": {},
            "sense": {"lamda": "0.001", "iterations": 20},
            "l1wavelet": {"lamda": "0.001", "iterations": 20},
            "tv": {"lamda": "0.001", "iterations": 8},
        },
    ),
    "dynamic": _Size((64, 64), 9, 16, 20, {"grid": {}, "sense": {}, "l1wavelet": {}, "lowrank": {}}),
}


def demo(size: str = "2d", out: str | os.PathLike[str] = "out", **options: Any) -> dict[str, Result]:
    """Writes scan.h5, an image of each method and demo.png into a folder; ``options`` are those of `recon`, for all
    methods (device, budget). Every rank of mpirun makes the same call."""
    if size not in SIZES:
        raise ArgumentError(f"demo: --size {size!r}; expected one of {', '.join(SIZES)}")
    chosen, folder, first = SIZES[size], Path(out), ts.dist.world.rank == 0
    for name in str(options.get("device", "cpu")).split(","):
        ts.Device(name.strip())
    if options.get("budget") is not None:
        bytes_of(options["budget"])
    if first:
        _make_folder(folder)
        _tell_scan(chosen, folder)
        write_scan(chosen, folder / "scan.h5")
    ts.dist.world.barrier()
    if first:
        print(f"\n{'method':16s} {'NRMSE':>8s} {'lambda':>9s} {'steps':>6s} {'seconds':>8s}   command", flush=True)
    # What the coils see together is the object times the length of their sensitivities, which maps cannot tell from it.
    seen = np.linalg.norm(Coils(_COILS, len(chosen.shape)).maps(chosen.shape), axis=0)
    truth = np.stack([head.image(chosen.shape) for head in _objects(chosen)]) * seen
    results = {}
    for method, own in chosen.methods.items():
        result = _reconstructed(method, folder, truth, {"calibration": chosen.calibration, **own, **options}, first)
        if result is not None:
            results[method] = result
    if first:
        picture = folder / "demo.png"
        draw(picture, _in_plane(truth), list(results.values()))
        print(
            f"\nwrote {picture}: the truth, {', '.join(r.title for r in results.values())}, their errors, convergence"
        )
    return results


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IoError(f"demo: --out {folder}: {error.strerror}; expected a folder, or a name to make one of") from None


def _tell_scan(size: _Size, folder: Path) -> None:
    full = math.pi / 2 * size.shape[0] if len(size.shape) == 2 else math.pi / 2 * size.shape[0] ** 2
    frames = f"{size.frames} frames of " if size.frames > 1 else ""
    print(
        f"{folder / 'scan.h5'}: {frames}{' x '.join(map(str, size.shape))} pixels, {_COILS} coils, "
        f"{size.spokes} spokes by golden angles, {full / size.spokes:.1f} times fewer than would do without coils",
        flush=True,
    )


def _objects(size: _Size) -> list[Phantom]:
    """The head, of each frame; where there are several, something in it beats."""
    head = shepp_logan(len(size.shape))
    if size.frames == 1:
        return [head]
    moments = []
    for frame in range(size.frames):
        beat = math.cos(2 * math.pi * frame / size.frames)
        ball = Phantom([0.6], [[0.42, 0.12]], [[0.16 + 0.06 * beat, 0.20 + 0.07 * beat]], [0.3])
        parts = (np.concatenate([getattr(head, n), getattr(ball, n)]) for n in ("values", "centres", "radii", "angles"))
        moments.append(Phantom(*parts))
    return moments


def _locations(size: _Size, frame: int) -> npt.NDArray[Any]:
    n = size.shape[-1]
    if len(size.shape) == 3:
        return kooshball(size.spokes, 2 * n, n, first=frame * size.spokes)
    return radial(size.spokes, 2 * n, n, golden=True, first=frame * size.spokes)


def write_scan(size: _Size, path: Path) -> None:
    """The raw file of a scan, exact but for noise, with a noise scan in front."""
    coils, rng = Coils(_COILS, len(size.shape)), np.random.default_rng(0)
    locs = np.stack([_locations(size, frame) for frame in range(size.frames)])
    kspace = np.stack([head.kspace(at, size.shape, coils=coils) for head, at in zip(_objects(size), locs, strict=True)])
    level = _NOISE * np.abs(kspace).max()

    def noise(shape: tuple[int, ...]) -> Any:
        return level * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))

    kspace = kspace + noise(kspace.shape)
    many = slice(None) if size.frames > 1 else 0
    save_ismrmrd(path, kspace[many], locs=locs[many], shape=size.shape, noise=noise((_COILS, 1000)))


def _reconstructed(
    method: str, folder: Path, truth: npt.NDArray[Any], options: dict[str, Any], first: bool
) -> Result | None:
    image = folder / f"{method}.nii.gz"
    begun = time.perf_counter()
    report = recon(folder / "scan.h5", image, method=method, quiet=True, **options)
    seconds = time.perf_counter() - begun
    if not first:
        return None
    found = load_image(image).reshape(truth.shape).astype(float)
    found *= np.vdot(found, truth) / max(np.vdot(found, found), 1e-300)  # no method tells the scale of the receivers
    made, error = report["images"][0], nrmse(found, truth)
    words = ["tessera", "recon", str(folder / "scan.h5"), "-o", str(image), "--method", method]
    for name, value in options.items():
        words += [f"--{'lambda' if name == 'lamda' else name}", str(value)]
    steps, strength = made.get("iterations", ""), f"{made['lambda']:.1e}" if "lambda" in made else ""
    print(
        f"{_TITLES[method]:16s} {100 * error:6.1f} % {strength:>9s} {steps:>6} {seconds:8.1f}   {shlex.join(words)}",
        flush=True,
    )
    return Result(_TITLES[method], _in_plane(found), error, made.get("residuals", []), seconds)


def _in_plane(frames: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The picture of some frames of an image, (frames, *shape): the first, and of a volume the plane in the middle."""
    image = frames[0]
    return image if image.ndim == 2 else np.asarray(image[len(image) // 2])
