# SPDX-License-Identifier: Apache-2.0
"""Raw data of scanners: ISMRMRD files become one array with named axes."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import tessera as ts

from .. import ArgumentError, IoError
from ._ismrmrd_layout import (
    CALIBRATION_ONLY,
    CALIBRATION_TOO,
    HEAD,
    NO_IMAGE,
    NOISE,
    REVERSE,
    Encoding,
    affine_of,
    h5py_of,
    read_encoding,
)

_OUTER = ("repetition", "set", "phase", "contrast", "slice")  # axes in front of the coils, where there are several
_AT_ONCE = 256  # acquisitions that are in memory beside the result


@dataclasses.dataclass(frozen=True, eq=False)
class Scan:
    """What a raw file holds: ``kspace`` with an axis for each of ``dims``; ``locs`` (readouts, samples, ndim) in cycles
    per field of view where the trajectory is not Cartesian; ``sampled``, the mask of a Cartesian one; ``noise`` (coils,
    samples) where there are noise scans, as large as in the bandwidth of the image; the ``shape`` of the image and its
    ``fov`` in mm; ``affine`` (4, 4), from the numbers (x, y, z, 1) of a pixel to mm (right, anterior, superior);
    ``left_out``, how many acquisitions of another encoding than the first the file has beside these; ``noise_share``,
    the root mean square of the noise of a sample over that of a single readout, below 1 where readouts were averaged.

    >>> ts.imaging.save_ismrmrd("scan.h5", np.ones((3, 8, 8)))
    >>> ts.imaging.load_ismrmrd("scan.h5")
    <Scan: coil 3, ky 8, kx 8, cartesian, 64 of 64 samples>
    """

    kspace: npt.NDArray[np.complex64]
    dims: tuple[str, ...]
    trajectory: str
    shape: tuple[int, ...]
    fov: tuple[float, ...]
    locs: npt.NDArray[np.float64] | None = None
    sampled: npt.NDArray[np.bool_] | None = None
    noise: npt.NDArray[np.complex64] | None = None
    affine: npt.NDArray[np.float64] | None = None
    left_out: int = 0
    noise_share: float = 1.0

    def __repr__(self) -> str:
        axes = ", ".join(f"{name} {n}" for name, n in zip(self.dims, self.kspace.shape, strict=True))
        seen = "" if self.sampled is None else f", {int(self.sampled.sum())} of {self.sampled.size} samples"
        noise = "" if self.noise is None else ", with noise scans"
        other = f", {self.left_out} acquisitions of other encodings left out" if self.left_out else ""
        return f"<Scan: {axes}, {self.trajectory}{seen}{noise}{other}>"


def load_ismrmrd(
    path: str | os.PathLike[str],
    *,
    dataset: str = "dataset",
    only: Mapping[str, int] | None = None,
    calibration: bool = False,
) -> Scan:
    """Reads a raw file: averages are averaged, readouts that ran backwards are turned, ends that the scanner marked as
    discarded are left out; navigators and other scans that are no part of the image are passed over, and so are
    acquisitions of a second encoding. Lines that are for calibration only are no part of the image either: with
    ``calibration`` these are read, and of a Cartesian file those of the image where there are none.

    Axes with one entry only (slices, repetitions …) are left out. Trajectories within [-1/2, 1/2] are taken to be parts
    of the matrix, others cycles per field of view. ``only``, for example {"slice": 3, "repetition": 0}, reads a part of
    the file and holds no more than that.

    >>> ts.imaging.save_ismrmrd("scan.h5", np.ones((2, 5, 16)), locs=ts.imaging.radial(5, 16, 8), shape=(8, 8))
    >>> scan = ts.imaging.load_ismrmrd("scan.h5")
    >>> scan.dims, scan.kspace.shape, scan.locs.shape
    (('coil', 'readout', 'sample'), (2, 5, 16), (5, 16, 2))
    """
    with open_raw(path, dataset) as reader:
        return reader.scan(only or {}, calibration=calibration)


@contextlib.contextmanager
def open_raw(path: str | os.PathLike[str], dataset: str = "dataset") -> Iterator[RawReader]:
    """A raw file for as long as it is looked at: its outline, and parts of it as scans."""
    name = os.fspath(path)
    with contextlib.ExitStack() as kept:
        with _reading(name):
            reader = _opened(kept, name, dataset)
        yield reader  # what goes wrong in the block is told by who wrote it


@contextlib.contextmanager
def _reading(name: str) -> Iterator[None]:
    """What h5py says of a file, with its name."""
    try:
        yield
    except (OSError, RuntimeError, TypeError, ValueError, KeyError) as error:  # h5py has no type of its own
        raise error if isinstance(error, ts.Error) else IoError(f"load_ismrmrd: {name}: {error}") from None


def _opened(kept: contextlib.ExitStack, name: str, dataset: str) -> RawReader:
    h5py = h5py_of()
    file = kept.enter_context(h5py.File(name, "r"))
    group = file.get(dataset)
    parts = [group.get(part) for part in ("xml", "data")] if isinstance(group, h5py.Group) else []
    if not parts or not all(isinstance(part, h5py.Dataset) for part in parts):
        raise IoError(f"load_ismrmrd: {name} has no group {dataset!r} with 'xml' and 'data'")
    xml, data = parts
    floats = [h5py.check_vlen_dtype(data.dtype[part]) for part in ("traj", "data") if part in (data.dtype.names or ())]
    if data.ndim != 1 or data.dtype.names != ("head", "traj", "data") or data.dtype["head"] != HEAD:
        raise IoError(f"load_ismrmrd: {name}: 'data' is not a list of acquisitions")
    if any(kind is None or np.dtype(kind).kind != "f" for kind in floats):
        raise IoError(f"load_ismrmrd: {name}: 'data' has samples that are no numbers")
    return RawReader(name, data, read_encoding(_text(xml, name), name))


def _text(xml: Any, name: str) -> str:
    value: Any = np.asarray(xml[()]).reshape(-1) if xml.size else []
    if len(value) != 1 or not isinstance(value[0], bytes | str):
        raise IoError(f"load_ismrmrd: {name}: 'xml' is not one text")
    return str(value[0].decode("utf-8", "replace") if isinstance(value[0], bytes) else value[0])


class RawReader:
    """Two walks over the acquisitions: sizes first, so that the result is made once, then the samples."""

    def __init__(self, path: str, data: Any, encoding: Encoding):
        self.path, self.data, self.encoding = path, data, encoding
        self.cartesian = encoding.trajectory == "cartesian"
        self.heads = self._heads()
        flags = self.heads["flags"].astype(np.uint64)
        self.noise = np.flatnonzero(flags & np.uint64(NOISE))
        no_noise = (flags & np.uint64(NOISE | NO_IMAGE)) == 0
        first = self.heads["encoding_space_ref"] == 0  # whose sizes `encoding` holds
        calibration = (flags & np.uint64(CALIBRATION_ONLY)) != 0
        self.left_out = int(np.count_nonzero(no_noise & ~first))
        self.image = np.flatnonzero(no_noise & first & ~calibration)
        self.calibration = np.flatnonzero(no_noise & first & calibration)
        self.both = np.flatnonzero(no_noise & first & ~calibration & ((flags & np.uint64(CALIBRATION_TOO)) != 0))
        if self.image.size == 0:
            raise IoError(f"load_ismrmrd: {path} has no acquisition of the image, of {self.heads.size} in all")
        self.coils = int(self.heads["active_channels"][self.image[0]])
        for part in (self.image, self.calibration):
            coils = self.heads["active_channels"][part].astype(int)
            other = np.flatnonzero(coils != self.coils)
            if other.size:
                text = f"has another number of coils than the first: {coils[other[0]]}, not {self.coils}"
                raise self._fail(int(part[other[0]]), text)

    @property
    def outer(self) -> dict[str, int]:
        """The axes in front of the coils that have several entries, and how many."""
        sizes = {name: int(self.heads["idx"][name][self.image].max()) + 1 for name in _OUTER}
        return {name: n for name, n in sizes.items() if n > 1}

    def check(self, joint: Sequence[str] = ()) -> None:
        """Walks over every acquisition, holding a few, and refuses the file at the first that is not sound: so that it
        is found now and not when its part of the file is read. Frames of the axes ``joint`` will be read together."""
        other = self.noise[self.heads["active_channels"][self.noise] != self.coils]
        if other.size:
            coils = int(self.heads["active_channels"][other[0]])
            raise self._fail(int(other[0]), f"is a noise scan of {coils} coils; the image has {self.coils}")
        outer = self.outer
        for place in itertools.product(*[range(outer[name]) for name in outer if name not in joint]):
            only = dict(zip([name for name in outer if name not in joint], place, strict=True))
            self._check_part(self._chosen(only), [name for name in outer if name in joint])
        for _ in self._readouts(self.noise):
            pass
        for number, head, values, points in self._readouts(np.sort(np.concatenate([self.image, self.calibration]))):
            if self.cartesian:
                self._place(number, head, values.shape[1])
            elif not np.isfinite(points).all():
                raise self._fail(number, "has locations that are not finite")

    def _check_part(self, image: npt.NDArray[Any], joint: Sequence[str]) -> None:
        if not self.cartesian:
            self._groups(image, joint, [self.outer[name] for name in joint])
            return
        for place in itertools.product(*[range(self.outer[name]) for name in joint]):
            alike = np.all([self.heads["idx"][n][image] == i for n, i in zip(joint, place, strict=True)], axis=0)
            if not np.any(alike):
                raise self._without(dict(zip(joint, place, strict=True)))

    def _without(self, only: Mapping[str, int]) -> IoError:
        part = ", ".join(f"{name} {value}" for name, value in only.items())
        has = self.outer or "one image"
        return IoError(f"load_ismrmrd: {self.path} has no acquisition of {part}; it has {has} (were readouts dropped?)")

    def _heads(self) -> Any:
        with _reading(self.path):
            return self.data.fields("head")[:] if self.data.shape[0] else np.zeros(0, HEAD)

    def _fail(self, number: int, text: str) -> IoError:
        return IoError(f"load_ismrmrd: {self.path}: acquisition {number} {text}")

    def _readouts(self, numbers: npt.NDArray[Any]) -> Iterator[tuple[int, Any, npt.NDArray[Any], npt.NDArray[Any]]]:
        """(number, head, samples (coils, samples), locations (samples, dims)) of some acquisitions, in pieces."""
        for begin in range(0, numbers.size, _AT_ONCE):
            part = numbers[begin : begin + _AT_ONCE]
            with _reading(self.path):
                records = self.data[part[0] : part[-1] + 1] if part[-1] - part[0] < 4 * _AT_ONCE else self.data[part]
            first = part[0] if len(records) != len(part) else None
            for i, number in enumerate(part):
                record = records[number - first] if first is not None else records[i]
                head = record["head"]
                coils, samples = int(head["active_channels"]), int(head["number_of_samples"])
                dims = int(head["trajectory_dimensions"])
                raw, traj = np.asarray(record["data"], "<f4"), np.asarray(record["traj"], "<f4")
                if raw.size != 2 * coils * samples or traj.size != dims * samples:
                    raise self._fail(
                        number,
                        f"has {raw.size} numbers and {traj.size} of trajectory; its head of {coils} coils, {samples} "
                        f"samples and {dims} coordinates tells {2 * coils * samples} and {dims * samples}",
                    )
                values = raw.view("<c8").reshape(coils, samples)
                if not np.isfinite(values).all():
                    raise self._fail(number, "has samples that are not finite")
                pre, post = int(head["discard_pre"]), int(head["discard_post"])
                if pre + post >= samples:
                    raise self._fail(number, f"discards {pre} and {post} of its {samples} samples: none is left")
                keep = slice(pre, samples - post)
                values, points = values[:, keep], traj.reshape(samples, dims)[keep]
                if int(head["flags"]) & REVERSE:
                    values, points = values[:, ::-1], points[::-1]
                yield int(number), head, values, points

    def noise_scan(self) -> npt.NDArray[np.complex64] | None:
        """The samples (coils, samples) of all noise scans, as large as noise is in the bandwidth of the image."""
        silent = [values * self._narrowed(head) for _, head, values, _ in self._readouts(self.noise)]
        return np.concatenate(silent, 1) if silent else None

    def _narrowed(self, head: Any) -> np.float32:
        """What makes noise that was taken at one bandwidth that of the image: its power grows with the bandwidth, one
        over the time of a sample; one where either is not told."""
        own, image = float(head["sample_time_us"]), float(self.heads["sample_time_us"][self.image[0]])
        told = all(math.isfinite(time) and time > 0 for time in (own, image))
        return np.float32(math.sqrt(own / image) if told else 1)

    def sample_times(self, step: float | None = None) -> npt.NDArray[np.float64]:
        """When the samples of a readout are taken, in seconds from its centre: ``step`` apart, by default as the file
        tells. They are those of all readouts, or the file is refused."""
        heads = self.heads[self.image]
        names = ("sample_time_us", *(() if self.cartesian else ("center_sample", "discard_pre")))
        for name in names:
            wrong = np.flatnonzero(heads[name] != heads[name][0])
            if wrong.size:
                told = f"has {name} {heads[name][wrong[0]]}, the first {heads[name][0]}"
                raise self._fail(int(self.image[wrong[0]]), f"{told}; a field map needs the same times in all readouts")
        backwards = np.flatnonzero(heads["flags"] & np.uint64(REVERSE))
        if backwards.size:
            raise self._fail(int(self.image[backwards[0]]), "runs backwards; a field map needs the same times in all")
        own = 1e-6 * float(heads["sample_time_us"][0])
        seconds = own if step is None else step
        if not (math.isfinite(seconds) and seconds > 0):
            raise IoError(
                f"load_ismrmrd: {self.path}: sample_time_us {own * 1e6:g} does not tell the time of a sample, which a "
                "field map needs; give it as --sample-time"
            )
        if self.cartesian:
            nx = self.encoding.matrix[2]
            return np.asarray((np.arange(nx) - nx // 2) * seconds, np.float64)
        first = heads[0]
        samples = int(first["number_of_samples"]) - int(first["discard_pre"]) - int(first["discard_post"])
        zero = int(first["center_sample"]) - int(first["discard_pre"])
        return np.asarray((np.arange(samples) - zero) * seconds, np.float64)

    def affine(self, only: Mapping[str, int]) -> npt.NDArray[np.float64]:
        """Where the pixels of a part of the file are in the room."""
        return affine_of(self.heads[self._chosen(only)[0]], self.encoding)

    def _chosen(self, only: Mapping[str, int]) -> npt.NDArray[Any]:
        """The acquisitions of the image whose counters are ``only`` these."""
        for name in only:
            if name not in _OUTER:
                raise ArgumentError(f"load_ismrmrd: only {name!r}; expected one of {', '.join(_OUTER)}")
        image = self._among(self.image, only)
        if image.size == 0:
            raise self._without(only)
        return image

    def _among(self, numbers: npt.NDArray[Any], only: Mapping[str, int]) -> npt.NDArray[Any]:
        """Those of these acquisitions whose counters are ``only`` these, of frames that the image has."""
        idx, outer = self.heads["idx"], self.outer
        for name in _OUTER:
            at = idx[name][numbers]
            numbers = numbers[at == only[name] if name in only else at < outer.get(name, 1)]
        return numbers

    def samples(self, only: Mapping[str, int]) -> int:
        """How many a coil has in this part."""
        if self.cartesian:
            frames = math.prod(n for name, n in self.outer.items() if name not in only)
            return frames * math.prod(self.encoding.matrix)
        return int(self.heads["number_of_samples"][self._chosen(only)].astype(np.int64).sum())

    def scan(self, only: Mapping[str, int], *, calibration: bool = False, mixing: Any = None) -> Scan:
        """What there is, or a part of it; with ``calibration`` what maps are learned from. The coils are those that the
        rows of ``mixing`` (coils, coils of the file) make of it, by default themselves."""
        rows = None if mixing is None else np.asarray(mixing, np.complex64)
        coils = self.coils if rows is None else len(rows)
        image = self._chosen(only)
        kept = [name for name in self.outer if name not in only]
        sizes = [self.outer[name] for name in kept]
        if self.cartesian:
            parts = [image]
            own = self._among(self.calibration, only)
            if calibration and own.size:
                parts = [np.sort(np.concatenate([own, self._among(self.both, only)])), image]
            found = self._cartesian(parts, coils, kept, sizes, rows)
        else:
            found = self._along_trajectory(image, coils, kept, sizes, rows)
        return dataclasses.replace(found, noise=self.noise_scan(), affine=self.affine(only), left_out=self.left_out)

    def _empty(self, shape: list[int]) -> npt.NDArray[np.complex64]:
        """Zeros, refused at once where they would not fit the machine."""
        made = ts.zeros(shape, dtype="complex64")
        if not isinstance(made, ts.Array):
            raise ArgumentError(
                f"load_ismrmrd: {self.path}: {8 * math.prod(shape)} bytes of k-space exceed the memory budget"
            )
        return np.asarray(made)

    def _cartesian(self, parts: Sequence[Any], coils: int, kept: list[str], sizes: list[int], mixing: Any) -> Scan:
        """The mean of the readouts of the first part; each further one fills places where there is none before it."""
        nz, ny, nx = self.encoding.matrix
        kspace = self._empty([*sizes, coils, nz, ny, nx])
        counts = np.zeros((*sizes, nz, ny, nx), np.uint16)
        for part in parts:
            free = counts == 0
            for number, head, seen, _ in self._readouts(part):
                values = seen if mixing is None else mixing @ seen
                z, y, left = self._place(number, head, values.shape[1])
                at = tuple(int(head["idx"][name]) for name in kept)
                line = np.s_[left : left + values.shape[1]]
                kspace[at][:, z, y, line] += values * free[at][z, y, line]
                counts[at][z, y, line] += free[at][z, y, line]
        kspace /= np.maximum(counts, 1)[(..., None, slice(None), slice(None), slice(None))]
        sampled = counts > 0
        share = math.sqrt(float(np.mean(1 / counts[sampled]))) if sampled.any() else 1.0
        if nz == 1:
            kspace, sampled = kspace[..., 0, :, :], sampled[..., 0, :, :]
        names = ("kz", "ky", "kx")[3 - sampled.ndim + len(kept) :]
        return self._scan(kspace, (*kept, "coil", *names), len(names), sampled=sampled, noise_share=share)

    def _place(self, number: int, head: Any, samples: int) -> tuple[int, int, int]:
        """Where a readout begins in the encoded matrix: (z, y, x)."""
        nz, ny, nx = self.encoding.matrix
        centres = [
            self.encoding.limits.get(f"kspace_encoding_step_{axis}", (0, 0, n // 2))[2]
            for axis, n in ((2, nz), (1, ny))
        ]
        steps = [int(head["idx"][f"kspace_encode_step_{axis}"]) for axis in (2, 1)]
        z, y = (step - centre + n // 2 for step, centre, n in zip(steps, centres, (nz, ny), strict=True))
        middle = int(head["center_sample"]) - int(head["discard_pre"])
        if int(head["flags"]) & REVERSE:
            middle = samples - 1 - middle
        left = nx // 2 - middle if middle > 0 else (nx - samples) // 2
        if not (0 <= z < nz and 0 <= y < ny and left >= 0 and left + samples <= nx):
            raise self._fail(
                number,
                f"(steps {steps}, {samples} samples around {middle}) lies outside of the encoded matrix "
                f"{self.encoding.matrix}",
            )
        return z, y, left

    def _scan(self, kspace: npt.NDArray[Any], dims: tuple[str, ...], ndim: int, **more: Any) -> Scan:
        encoding, last = self.encoding, slice(3 - ndim, 3)
        return Scan(kspace, dims, encoding.trajectory, encoding.matrix[last], encoding.fov[last], **more)

    def _groups(
        self, image: npt.NDArray[Any], kept: Sequence[str], sizes: Sequence[int]
    ) -> tuple[npt.NDArray[Any], int, int, int]:
        """The frame of each readout, and how many readouts, samples and coordinates all have."""
        heads = self.heads[image]
        dims = heads["trajectory_dimensions"].astype(int)
        wrong = np.flatnonzero((dims != dims[0]) | (dims < 2) | (dims > 3))
        if wrong.size:
            raise self._fail(
                int(image[wrong[0]]),
                f"of a {self.encoding.trajectory} scan has a trajectory of {dims[wrong[0]]} coordinates; expected 2 or "
                "3, the same for all (is the trajectory missing?)",
            )
        lengths = heads["number_of_samples"].astype(int) - heads["discard_pre"] - heads["discard_post"]
        wrong = np.flatnonzero(lengths != lengths[0])
        if wrong.size:
            raise self._fail(int(image[wrong[0]]), f"has {lengths[wrong[0]]} samples; the first has {lengths[0]}")
        if math.prod(sizes) > image.size:  # so that what counters claim is not made room for
            raise IoError(
                f"load_ismrmrd: {self.path}: {image.size} readouts for {math.prod(sizes)} frames of {', '.join(kept)}; "
                "expected the same number for each (were readouts dropped?)"
            )
        group = np.zeros(image.size, int)
        for name, n in zip(kept, sizes, strict=True):
            group = group * n + heads["idx"][name]
        many = np.bincount(group, minlength=math.prod(sizes))
        if np.unique(many).size != 1:
            few = dict(zip(kept, (int(i) for i in np.unravel_index(int(np.argmin(many)), tuple(sizes))), strict=True))
            raise IoError(
                f"load_ismrmrd: {self.path}: {many.min()} readouts of {', '.join(f'{n} {i}' for n, i in few.items())}, "
                f"{many.max()} of another; expected the same number (were readouts dropped?)"
            )
        return group, int(many[0]), int(lengths[0]), int(dims[0])

    def _along_trajectory(self, image: Any, coils: int, kept: list[str], sizes: list[int], mixing: Any) -> Scan:
        group, readouts, samples, ndim = self._groups(image, kept, sizes)
        kspace = self._empty([*sizes, coils, readouts, samples])
        locs = np.zeros((*sizes, readouts, samples, ndim))
        seen = np.zeros(math.prod(sizes), int)
        for place, (number, head, values, points) in zip(group, self._readouts(image), strict=True):
            if not np.isfinite(points).all():
                raise self._fail(number, "has locations that are not finite")
            at = tuple(int(head["idx"][name]) for name in kept)
            kspace[at][:, seen[place]] = values if mixing is None else mixing @ values
            locs[at][seen[place]] = points[:, ::-1]  # files have x first
            seen[place] += 1
        matrix = self.encoding.matrix[3 - ndim :]
        if np.abs(locs).max(initial=0) <= 0.5:
            locs *= matrix
        return self._scan(kspace, (*kept, "coil", "readout", "sample"), ndim, locs=locs)
