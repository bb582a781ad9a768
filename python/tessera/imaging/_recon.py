# SPDX-License-Identifier: Apache-2.0
"""`tessera recon`: from a raw file to an image, in stages that a killed run goes on from."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError, IoError
from ._calibration import Calibration
from ._coils import compress_coils, whitening
from ._dicom import check_dicom_target
from ._dynamic import llr_dynamic
from ._image_files import IN_ROOM, ending, load_image, save_image
from ._ismrmrd import RawReader, Scan, open_raw
from ._off_resonance import hertz
from ._pictures import preview, save_png
from ._placing import bytes_of, goes_to_disk, is_stored, may_go_to_disk, within
from ._recipes import l1_wavelet, sense, tv
from ._recon_folder import StageFolder
from ._recon_options import TIMES, ReconOptions
from ._recon_parts import (
    array_on_disk,
    at_time,
    cropped,
    encoding_of,
    gridded,
    gridded_in_parts,
    in_memory,
    read_array,
    read_json,
    write_array,
    write_json,
)
from ._zarr_images import directory_name

_RECIPES: dict[str, Any] = {"sense": sense, "l1wavelet": l1_wavelet, "tv": tv, "lowrank": llr_dynamic}
_SAVE_EVERY = 10  # iterations of a solver


def recon(scan: str | os.PathLike[str], output: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Reconstructs a raw file and writes the image, a preview (.png) and a report (.json), which is also the result:
    what `tessera recon scan.h5 -o image.nii.gz` does. Options are those of the command.

    >>> maps, head = ts.imaging.Coils(4).maps((32, 32)), ts.imaging.shepp_logan().image((32, 32))
    >>> ts.imaging.save_ismrmrd("scan.h5", ts.imaging.sense_operator(maps)(head).numpy())
    >>> report = ts.imaging.recon("scan.h5", "image.npy", method="sense", lamda="0.001", quiet=True)
    >>> [stage["name"] for stage in report["stages"]]
    ['check', 'maps', 'images', 'write']
    """
    for name in ("maps", "field_map", "checkpoint", "report", "preview"):
        if options.get(name) is not None:
            options[name] = directory_name(options[name])
    if isinstance(options.get("device"), list | tuple):
        options["device"] = ",".join(map(str, options["device"]))
    chosen = ReconOptions(os.fspath(scan), directory_name(output), **options)
    chosen.check()
    try:
        return _Recon(chosen).run()
    except OSError as error:
        raise error if isinstance(error, IoError) else IoError(f"recon: {error}") from None


class _Recon:
    def __init__(self, options: ReconOptions):
        self.options = options
        self.first = ts.dist.world.rank == 0
        self.ranks = ts.dist.world.size
        self.work = StageFolder(options.folder())
        self.stages: list[dict[str, Any]] = []
        self.images: list[dict[str, Any]] = []
        self.about: dict[str, Any] = {}
        self.field: npt.NDArray[Any] | None = None  # in hertz, of each slice where there are several
        self.times: npt.NDArray[Any] | None = None  # of the samples of a readout
        self.begun = time.perf_counter()

    def run(self) -> dict[str, Any]:
        try:
            return self._run()
        finally:
            self.work.release()

    def _run(self) -> dict[str, Any]:
        with open_raw(self.options.scan, self.options.dataset) as raw:
            with self._stage("check"):
                self._check(raw)
                self.apart = self._apart(raw)
                resumed = self._open_folder()
            with self._stage("maps"):
                mixing = self._mixing(raw)
                self._make_maps(raw, mixing)
            with self._stage("images"):
                for number, frame in enumerate(self.frames):
                    self._say_frame(number, frame)
                    self._make_image(raw, mixing, frame)
                self._meet()  # the folder goes once no rank writes to it
            with self._stage("write"):
                image = self._assembled()
                if self.first:
                    shown = self._with_depth(image)
                    save_image(self.options.output, shown, self._affine(raw), dims=self._dims(shown.ndim))
                    save_png(self.options.preview or self.options.beside(".png"), preview(image))
        report = self._report(raw, image, resumed)
        if self.first:
            write_json(Path(self.options.report or self.options.beside(".json")), report)
            if self.options.checkpoint is None:
                self.work.remove()
            else:
                self.work.tidy()
        return report

    @contextlib.contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.stages.append({"name": name, "seconds": round(time.perf_counter() - begun, 4)})

    def _say(self, text: str) -> None:
        if self.first and not self.options.quiet:
            print(f"tessera recon: {text}", file=sys.stderr, flush=True)

    def _say_frame(self, number: int, frame: dict[str, int]) -> None:
        name = ", ".join(f"{axis} {i}" for axis, i in frame.items()) or "the image"
        spent, done = time.perf_counter() - self.begun, len(self.images)
        left = f", about {spent / done * (len(self.frames) - number):.0f} s left" if done else ""
        self._say(f"{name}, {number + 1} of {len(self.frames)}{left}")

    def _check(self, raw: RawReader) -> None:
        """What the file and the options say of each other, and every acquisition once: before any work."""
        options, outer = self.options, raw.outer
        self.outer = outer
        times = [name for name in outer if name in TIMES]
        if options.method == "lowrank" and not times:
            raise ArgumentError(
                f"recon: --method lowrank; {options.scan} has one image of each slice, expected several "
                f"({', '.join(TIMES)}), which share what they show"
            )
        if options.coils is not None and options.coils > raw.coils:
            raise ArgumentError(f"recon: --coils {options.coils}; {options.scan} has {raw.coils}")
        coils = raw.coils if options.coils is None else options.coils
        if coils == 1 and raw.noise.size == 0 and options.strength() == "auto" and options.method != "grid":
            raise ArgumentError(
                f"recon: --lambda auto; {options.scan} has no noise scan, and the samples of one coil do not tell "
                "noise from the object: give a number as --lambda"
            )
        matrix = raw.encoding.matrix
        flat = matrix[0] == 1 if raw.cartesian else bool(np.all(raw.heads["trajectory_dimensions"][raw.image] == 2))
        self.shape = matrix[1:] if flat else matrix
        image = raw.encoding.image[1:] if flat else raw.encoding.image
        self.crop = tuple(min(n, m) for n, m in zip(self.shape, image, strict=True))
        if options.maps is not None:
            given = self._given_maps(options.maps)
            if given.shape != (raw.coils, *self.shape):
                raise ArgumentError(
                    f"recon: --maps {options.maps} of shape {given.shape}; {options.scan} has {raw.coils} coils and an "
                    f"image of {self.shape}, expected {(raw.coils, *self.shape)}"
                )
            if not all(np.isfinite(coil).all() for coil in given):
                raise ArgumentError(f"recon: --maps {options.maps} has values that are not finite")
        if options.field_map is not None:
            self.field = hertz("recon: --field-map", options.field_map, self.shape, outer.get("slice", 1))
            self.times = raw.sample_times(options.sample_time)
        joint = times if options.method == "lowrank" else []
        if raw.left_out:
            self._say(f"{raw.left_out} acquisitions of another encoding than the first are left out")
        raw.check(joint)
        apart = [name for name in outer if name not in joint]
        if ending(options.output) == ".dcm":
            check_dicom_target(options.output, self._with_depth(np.empty((*outer.values(), *self.crop), "V0")).shape)
        self.joint = joint
        self.frames = [
            dict(zip(apart, place, strict=True)) for place in itertools.product(*[range(outer[n]) for n in apart])
        ]

    def _apart(self, raw: RawReader) -> bool:
        """Whether the budget does not hold a frame: then samples, maps and images are read from files in parts."""
        coils = raw.coils if self.options.coils is None else self.options.coils
        many = math.prod(self.outer[name] for name in self.joint)
        samples = (coils, raw.samples(self.frames[0]))
        image = (many, *self.shape)
        return goes_to_disk(
            image, samples, device=self.options.devices(), budget=self.options.budget, ranks=self.ranks > 1
        )

    def _open_folder(self) -> bool:
        """Whether the folder of stages goes on from a run of the same command; another's is not touched."""
        if self.first:
            self.work.hold()
        known = self.options.fingerprint()
        other = self.work.differs(known)
        if other and self.options.checkpoint is not None:
            raise IoError(
                f"recon: --checkpoint {self.work.path} belongs to another command ({', '.join(other)} differ); "
                "remove it, or give another"
            )
        self._meet()  # all ranks have read it before the first writes
        if other is not None:
            self._say(f"{self.work.path}: " + ("another command, beginning anew" if other else "going on"))
        going_on = other == []
        if self.first and not going_on:
            self.work.begin(known)
        self._meet()
        return going_on

    def _meet(self) -> None:
        if self.ranks > 1:
            ts.dist.world.barrier()

    def _mixing(self, raw: RawReader) -> npt.NDArray[Any]:
        """The matrix that samples of the coils are multiplied with: white noise of one, then fewer coils."""
        noise = raw.noise_scan()
        self.white = noise is not None
        mixing = np.eye(raw.coils, dtype=np.complex64) if noise is None else whitening(noise).astype(np.complex64)
        if self.options.coils is not None:
            scan = self._read(raw, mixing, self._first_of({}), calibration=True)
            gathered = self._gathered([scan])
            mixing = compress_coils(gathered.centre(), self.options.coils)[1].astype(np.complex64) @ mixing
        return mixing

    def _first_of(self, part: dict[str, int]) -> dict[str, int]:
        return {**dict.fromkeys(self.outer, 0), **part}

    def _read(self, raw: RawReader, mixing: npt.NDArray[Any], only: dict[str, int], calibration: bool = False) -> Scan:
        """A part of the file with its coils mixed; where it does not fit the budget, a few coils at a time into a file,
        which the samples are a memory map of."""
        if not self.apart:
            scan = raw.scan(only, calibration=calibration)
            before = self._coil_axis(raw, scan)
            data = np.moveaxis(np.tensordot(mixing, scan.kspace, (1, before)), 0, before)
            return dataclasses.replace(scan, kspace=np.ascontiguousarray(data, np.complex64))
        room = bytes_of(self.options.budget) // 4
        step = max(1, room // (8 * raw.samples(only)))
        with contextlib.ExitStack() as kept:
            for begin in range(0, len(mixing), step):
                scan = raw.scan(only, calibration=calibration, mixing=mixing[begin : begin + step])
                before = self._coil_axis(raw, scan)
                if begin == 0:
                    shape = (*scan.kspace.shape[:before], len(mixing), *scan.kspace.shape[before + 1 :])
                    frames = shape[:before] and (math.prod(shape[:before]),)
                    file = kept.enter_context(array_on_disk(self._samples_file(), (*frames, *shape[before:])))
                    whole = file.reshape(shape)
                whole[(slice(None),) * before + (slice(begin, begin + step),)] = scan.kspace
        return dataclasses.replace(scan, kspace=np.load(self._samples_file(), mmap_mode="r").reshape(shape))

    def _coil_axis(self, raw: RawReader, scan: Scan) -> int:
        return len(scan.dims) - len(self.shape) - 1 if raw.cartesian else len(scan.dims) - 3

    def _samples_file(self) -> Path:
        return self.work / "samples.npy"

    def _gathered(self, scans: Any) -> Calibration:
        gathered = Calibration(self.shape, self.options.calibration)
        for scan in scans:
            gathered.add(scan.kspace, locs=scan.locs, sampled=scan.sampled)
        return gathered

    def _maps_file(self, slice_: int) -> Path:
        return self.work / f"maps_{slice_}.npy"

    def _make_maps(self, raw: RawReader, mixing: npt.NDArray[Any]) -> None:
        """Of every slice, from the centre of all its frames."""
        given = None if self.options.maps is None else self._given_maps(self.options.maps)
        times = [name for name in self.outer if name != "slice"]
        for slice_ in range(self.outer.get("slice", 1)):
            path = self._maps_file(slice_)
            if path.exists():
                continue
            self._say(f"maps of slice {slice_}")
            if given is None:
                places = itertools.product(*[range(self.outer[name]) for name in times])
                at = {"slice": slice_} if "slice" in self.outer else {}
                frames = ({**dict(zip(times, place, strict=True)), **at} for place in places)
                parts = (self._read(raw, mixing, frame, calibration=True) for frame in frames)
                gathered = self._gathered(parts)
                if self.apart:
                    with array_on_disk(path, (len(mixing), *self.shape)) as maps:
                        gathered.maps(budget=self.options.budget, out=maps)
                    continue
                maps = gathered.maps(budget=self.options.budget)
            elif self.apart:
                with array_on_disk(path, (len(mixing), *self.shape)) as maps:
                    for row, to in zip(mixing, maps, strict=True):
                        for weight, of in zip(row, given, strict=True):
                            to += weight * of
                continue
            else:
                maps = np.tensordot(mixing, given, 1)
            if self.first:
                write_array(path, maps.astype(np.complex64))
        self._meet()

    def _given_maps(self, path: str) -> npt.NDArray[Any]:
        """All of them, or a memory map if their file can be one."""
        if path.endswith(".npy"):
            with contextlib.suppress(OSError, ValueError, EOFError):
                given = np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
                if given.dtype.kind in "biufc":
                    return given  # what is wrong with other files load_image says
        return load_image(path)

    def _maps(self, raw: RawReader, frame: dict[str, int]) -> Any:
        coils = raw.coils if self.options.coils is None else self.options.coils
        return read_array(self._maps_file(frame.get("slice", 0)), (coils, *self.shape), opened=self.apart)

    def _field_of(self, frame: dict[str, int]) -> dict[str, Any]:
        """The field map of a slice, and when samples are taken."""
        if self.field is None:
            return {}
        many = self.outer.get("slice", 1) > 1
        return {"field_map": self.field[frame["slice"]] if many else self.field, "times": self.times}

    def _frame_file(self, frame: dict[str, int]) -> Path:
        return self.work / ("image" + "".join(f"_{name}{i}" for name, i in frame.items()) + ".npy")

    def _make_image(self, raw: RawReader, mixing: npt.NDArray[Any], frame: dict[str, int]) -> None:
        path = self._frame_file(frame)
        told = path.with_suffix(".json")
        if told.exists() and path.exists():
            self.images.append(read_json(told, dict))
            return
        scan, maps = self._read(raw, mixing, frame), self._maps(raw, frame)
        encoding, field = encoding_of(scan, self.shape), self._field_of(frame)
        kspace = scan.kspace
        if self.joint:
            count = math.prod(self.outer[name] for name in self.joint)
            lead = len(self.joint)
            kspace = kspace.reshape(count, *kspace.shape[lead:])
            encoding = {k: v if v is None else v.reshape(count, *v.shape[lead:]) for k, v in encoding.items()}
        where: dict[str, Any] = {"device": self.options.devices(), "ranks": self.ranks > 1}
        if len(where["device"]) == 1:
            where["device"] = None if where["device"] == ["cpu"] else where["device"][0]
        if self.joint:
            frames = [self._gridded(kspace[t], maps, {**at_time(encoding, t), **field}) for t in range(len(kspace))]
            plain = np.stack(frames)
        else:
            plain = self._gridded(kspace, maps, {**encoding, **field})
        top = float(np.abs(plain).max(initial=0))
        if top == 0:
            raise IoError(f"recon: {self.options.scan}: the samples of {frame or 'the image'} are zero everywhere")
        scale = 1 / top
        about: dict[str, Any] = {"frame": frame, "scale": top}
        if self.options.method == "grid":
            image = plain
        else:
            noise = scale * scan.noise_share if self.white else None
            if self.apart:
                kspace = ts.stored.open(os.fspath(self._samples_file()))
            try:
                image, more = self._solved(
                    kspace * np.float32(scale), maps, {**encoding, **field}, {**where, "noise": noise}, path
                )
            except ts.OutOfMemory:  # the frame has room, but not all that is made of it
                if self.apart or not may_go_to_disk(
                    device=self.options.devices(), budget=self.options.budget, ranks=self.ranks > 1
                ):
                    raise
                del kspace, maps, encoding, scan
                self._forget_solver(path)
                self.apart = True
                return self._make_image(raw, mixing, frame)
            image, about = image / scale, {**about, **more}
        self.images.append(about)
        if self.first:
            write_array(path, cropped(image, self.crop).astype(np.complex64))
            write_json(told, about)
            self._samples_file().unlink(missing_ok=True)
        self._forget_solver(path)

    def _forget_solver(self, path: Path) -> None:
        """States of this rank's solver; each removes its own, since another may be writing still."""
        own = self._own_solver(path).name
        for name in os.listdir(self.work.path):
            if name == own or name.startswith(own + "."):
                (self.work / name).unlink(missing_ok=True)

    def _gridded(self, kspace: Any, maps: Any, encoding: dict[str, Any]) -> npt.NDArray[Any]:
        if not self.apart:
            return gridded(kspace, maps, encoding)
        largest = max(math.prod(kspace.shape[1:]), math.prod(self.shape))
        return gridded_in_parts(kspace, maps, encoding, max(1, bytes_of(self.options.budget) // (16 * 8 * largest)))

    def _solved(self, kspace: Any, maps: Any, encoding: Any, where: Any, path: Path) -> Any:
        recipe, lamda = _RECIPES[self.options.method], self.options.strength()
        common = {**encoding, **where, "budget": self.options.budget}
        known = self.work / "lambda.json"
        if lamda == "auto":  # of the first image, for all: images that are compared have one penalty
            if known.exists() and self.ranks == 1:
                lamda = float(read_json(known, (int, float)))
            elif self.images and "lambda" in self.images[0]:
                lamda = self.images[0]["lambda"]
            else:
                lamda = recipe(kspace, maps, lamda="auto", **common, maxiter=1).lamda
                if self.first:
                    write_json(known, lamda)
        whole = self.options.budget is None or self.apart  # apart the recipe keeps to it
        limit = contextlib.nullcontext() if whole else ts.memory_budget(host=self.options.budget)
        with limit:
            found = recipe(
                kspace,
                maps,
                lamda=lamda,
                **common,
                maxiter=self.options.iterations,
                rtol=1e-5,
                progress=self.first and not self.options.quiet,
                checkpoint=ts.solve.Checkpoint(self._solver_file(path), every=_SAVE_EVERY),
            )
        result = found.result
        if not self.about:
            if is_stored(found.image):
                with within(self.options.budget):
                    plan = ts.stored.plan(lambda: found.operator.N(found.image))
                bytes_ = {"workspace": plan.host_peak, "disk_read": plan.disk_read, "disk_written": plan.disk_written}
            else:
                plan = found.operator.N.plan(found.image)
                bytes_ = {"workspace": plan.workspace, "transferred": plan.transferred_bytes}
            self.about = {"plan": plan.explain(), "forecast": bytes_}
        more = {"lambda": float(lamda), "iterations": result.iterations, "reason": result.reason}
        return in_memory(found.image), {**more, "residuals": [float(r) for r in result.history]}

    def _own_solver(self, path: Path, rank: int | None = None) -> Path:
        """Where a rank keeps the state of its solver, which goes on under the budget that it was begun with."""
        budget = "" if self.options.budget is None else f"-{bytes_of(self.options.budget)}"
        number = (0 if self.first else ts.dist.world.rank) if rank is None else rank
        return path.with_suffix(f".solver{budget}" + (f"-r{number}" if number else ""))

    def _solver_file(self, path: Path) -> str:
        """Each rank writes its own; what the first has is where all go on, so that they stay in step."""
        mine, first = self._own_solver(path), self._own_solver(path, 0)
        if not self.first:
            mine.unlink(missing_ok=True)
            if first.exists():
                shutil.copy(first, mine)
        return str(mine)

    def _assembled(self) -> Any:
        """All images in one array: the axes of the file, then those of the image."""
        sizes = [self.outer[name] for name in self.outer]
        if not self.first:
            return None
        if self.joint:
            names = [n for n in self.outer if n not in self.joint]
            count = math.prod(self.outer[n] for n in self.joint)
            parts = [read_array(self._frame_file(frame), (count, *self.crop)) for frame in self.frames]
            joined = np.stack(parts).reshape(
                *[self.outer[n] for n in names], *[self.outer[n] for n in self.joint], *self.crop
            )
            order = [(*names, *self.joint).index(n) for n in self.outer]
            return joined.transpose(*order, *range(len(order), joined.ndim))
        parts = [read_array(self._frame_file(frame), self.crop) for frame in self.frames]
        return np.stack(parts).reshape(*sizes, *self.crop)

    def _with_depth(self, image: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """For files of images in the room the third axis from the end is depth: frames of one slice are not."""
        flat = len(self.shape) == 2 and self.outer and "slice" not in self.outer
        return image[..., None, :, :] if flat and ending(self.options.output) in IN_ROOM else image

    def _dims(self, ndim: int) -> tuple[str, ...]:
        """Names of the axes of the image that is written; one that stands in for depth is called so."""
        inner = ("z", "y", "x")[3 - len(self.crop) :]
        return (*self.outer, *(("z",) if ndim > len(self.outer) + len(inner) else ()), *inner)

    def _affine(self, raw: RawReader) -> npt.NDArray[Any]:
        """Of the pixels that are written; where there are slices, the third axis goes from one to the next."""
        head = raw.affine({})
        offsets = [n // 2 - m // 2 for n, m in zip(self.shape, self.crop, strict=True)]
        shift = np.eye(4)
        shift[: len(offsets), 3] = offsets[::-1]
        if len(self.shape) == 2:
            head = head.copy()
            if self.outer.get("slice", 1) > 1:
                step = raw.affine({"slice": 1})[:3, 3] - head[:3, 3]
                if np.linalg.norm(step) > 0:
                    head[:3, 2] = step
        return head @ shift

    def _report(self, raw: RawReader, image: Any, resumed: bool) -> dict[str, Any]:
        options = self.options
        return {
            "tessera": ts.__version__,
            "command": {name: getattr(options, name) for name in options.__dataclass_fields__},
            "scan": {
                "coils": raw.coils,
                "trajectory": raw.encoding.trajectory,
                "axes": self.outer,
                "noise": self.white,
                "left_out": raw.left_out,
            },
            "shape": [] if image is None else list(image.shape),
            "ranks": self.ranks,
            "resumed": resumed,
            **self.about,
            "stages": self.stages,
            "images": self.images,
        }
