# SPDX-License-Identifier: Apache-2.0
"""What `tessera doctor` says: each thing that was looked at, what was found, and one line of advice where it is off.

Nothing here computes with arrays; a question that cannot be answered is a finding as well and never an error.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import _tessera as _core
from ._doctor_machine import cgroup_cores, cgroup_memory, disk_speed, file_system, limits
from ._doctor_names import nearest, unknown_variables

MiB = 1 << 20
GiB = 1 << 30


@dataclasses.dataclass
class Finding:
    """One line: where it belongs, its name, its value as JSON has it, its text, and advice ("" where all is well)."""

    section: str
    name: str
    value: Any
    text: str = ""
    advice: str = ""

    def line(self) -> str:
        said = f"{self.name:<22} {self.text or self.value}"
        return f"  {said}\n    -> {self.advice}" if self.advice else f"  {said}"


def _bytes(number: int) -> str:
    return _core._bytes_text(number)


def versions() -> Iterator[Finding]:
    """This library, Python, and the neighbours that are installed, without importing them."""
    from importlib import metadata

    yield Finding("versions", "tessera", _core._version)
    yield Finding("versions", "python", platform.python_version())
    yield Finding("versions", "machine", f"{platform.machine()}, {platform.system()} {platform.release()}")
    for name in ("numpy", "scipy", "torch", "jax", "mpi4py"):
        try:
            yield Finding("versions", name, metadata.version(name))
        except metadata.PackageNotFoundError:
            if name == "numpy":
                yield Finding("versions", name, None, "not installed", "pip install numpy: to_numpy() needs it")
    yield Finding("versions", "library", str(library_file() or "not found"))


def mapped_files() -> list[Path]:
    """The shared libraries of this process."""
    try:
        text = Path("/proc/self/maps").read_text()
    except OSError:
        return []
    return sorted({Path(m) for m in re.findall(r"\s(/\S*\.so\S*)$", text, re.M)})


def library_file() -> Path | None:
    return next((path for path in mapped_files() if path.name.startswith("libtessera.so")), None)


def plugin_folders() -> list[Path]:
    """Where plug-ins are looked for: TESSERA_PLUGIN_PATH, then beside the library."""
    named = [Path(part) for part in os.environ.get("TESSERA_PLUGIN_PATH", "").split(":") if part]
    own = library_file()
    return named + ([own.parent] if own else [])


def _plugin(kind: str) -> Path | None:
    found = (folder / f"libtessera_{kind}.so" for folder in plugin_folders())
    return next((path for path in found if path.exists()), None)


def devices() -> Iterator[Finding]:
    """Every kind of device, and why CUDA is not there where it is not."""
    names = [str(device) for device in _core.devices()]
    kinds = [f"{len([n for n in names if n.startswith('sim')])} simulated"] if "sim:0" in names else []
    shown = [name for name in names if not name.startswith("sim")]
    yield Finding("devices", "devices", names, ", ".join(shown + kinds))
    plugin, reason = _plugin("cuda"), _core.why_unavailable("cuda")
    advice = ""
    if reason and Path("/proc/driver/nvidia/version").exists():
        advice = "a driver of NVIDIA is here: build with -DTESSERA_CUDA=ON, see docs/guide/installing.md"
        if plugin:
            advice = "the plug-in is here and does not start: are CUDA's libraries installed, and is a GPU free?"
    yield Finding("devices", "cuda", not reason, reason or f"plug-in {plugin}", advice)


def _library_text(prefix: str, read: Callable[[ctypes.CDLL], str]) -> tuple[str | None, str]:
    """(what `read` says, file) of the first mapped library of that name."""
    for path in mapped_files():
        if path.name.startswith(prefix):
            try:
                return read(ctypes.CDLL(str(path))), str(path)
            except (AttributeError, OSError, ValueError):
                continue
    return None, ""


def _blas_text(library: ctypes.CDLL) -> str:
    library.openblas_get_config.restype = ctypes.c_char_p
    return bytes(library.openblas_get_config()).decode()


def _fft_text(library: ctypes.CDLL) -> str:
    return (ctypes.c_char * 64).in_dll(library, "fftw_version").value.decode()


def libraries() -> Iterator[Finding]:
    """BLAS and FFT as they are loaded; MPI as the loader would find it."""
    blas, where = _library_text("libopenblas", _blas_text)
    yield Finding("libraries", "BLAS", blas, f"{blas} ({where})" if blas else "not OpenBLAS, or part of the library")
    fft, where = _library_text("libfftw3", _fft_text) if _core._fft_by_fftw() else ("own passes", "part of the library")
    yield Finding("libraries", "FFT", fft, f"{fft} ({where})" if fft else "FFTW, part of the library")
    hdf5 = _core._has_hdf5()
    yield Finding("libraries", "HDF5", hdf5, "plug-in found" if hdf5 else "no plug-in: .h5 files are refused")
    yield from mpi()


def _find_mpi() -> tuple[ctypes.CDLL, str] | None:
    for name in ("libmpi.so.40", "libmpi.so.12", "libmpi.so"):
        try:
            return ctypes.CDLL(name), name
        except OSError:
            continue
    return None


def mpi() -> Iterator[Finding]:
    """The library, whether it takes device memory, the plug-ins, and the ranks of this run."""
    found, plugin = _find_mpi(), _plugin("mpi")
    if found is None:
        advice = "ranks need it: apt-get install openmpi-bin libopenmpi3" if plugin else ""
        yield Finding("libraries", "MPI", None, "no libmpi is found by the loader", advice)
    else:
        library, name = found
        text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
        try:
            library.MPI_Get_library_version(text, ctypes.byref(length))
            said = re.split(r"[,\n]", text.value.decode(errors="replace"))[0]
        except AttributeError:
            said = name
        yield Finding("libraries", "MPI", said)
        query = getattr(library, "MPIX_Query_cuda_support", None)
        aware = bool(query()) if query is not None else False
        gpus = any(str(device).startswith("cuda") for device in _core.devices())
        advice = "" if aware or not gpus else "messages from GPUs go through NCCL or pinned memory, not through MPI"
        yield Finding("libraries", "MPI knows GPUs", aware, "yes" if aware else "no", advice)
    advice = "" if plugin or found is None else "the library was built without MPI: rebuild where mpicxx is installed"
    yield Finding("libraries", "MPI plug-in", str(plugin) if plugin else None, str(plugin or "none"), advice)
    ranks = next((os.environ[v] for v in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS") if v in os.environ), None)
    if ranks is not None:
        yield Finding("libraries", "ranks of this run", int(ranks) if ranks.isdigit() else ranks)


def threads() -> Iterator[Finding]:
    """Threads of the cpu device beside the cores that this process may use."""
    used, machine = _core.num_threads(), os.cpu_count() or 1
    mask, quota = len(os.sched_getaffinity(0)), cgroup_cores()
    allowed = min(mask, max(1, -int(-quota // 1)) if quota else mask)
    advice = ""
    if used > allowed:
        advice = f"more threads than the {allowed} cores that are allowed: ts.set_num_threads({allowed})"
    elif used < allowed:
        why = next((v for v in ("TESSERA_NUM_THREADS", "OMP_NUM_THREADS") if os.environ.get(v)), None)
        advice = f"{allowed} cores are allowed" + (f"; {why}={os.environ[why]} asks for fewer" if why else "")
    yield Finding("threads", "threads", used, advice=advice)
    cores = {"machine": machine, "affinity": mask, "cgroup": quota}
    said = f"{machine}, {mask} of them for this process" + (f", {quota:g} by the cgroup's quota" if quota else "")
    yield Finding("threads", "cores", cores, said)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        if os.environ.get(name):
            yield Finding("threads", name, os.environ[name])


def memory() -> Iterator[Finding]:
    """What there is, what a cgroup leaves of it, and the limits of the process."""
    left = _core._memory_left("cpu")
    advice = "" if left > GiB else "little memory is left: arrays on disk need a few hundred MiB for their tiles"
    yield Finding("memory", "available", left, _bytes(left), advice)
    group = cgroup_memory()
    yield Finding("memory", "cgroup", group, _bytes(group) if group else "no limit")
    for name, value, advice in limits():
        yield Finding("memory", name, value, "unlimited" if value is None else _bytes(value), advice)


def budgets() -> Iterator[Finding]:
    """Who may hold how many bytes; advice where a budget is more than there is."""
    from ._budgets import memory_tiers

    for tier, numbers in memory_tiers().items():
        budget, left = numbers["budget"], numbers["left"]
        more = budget > left + numbers["in_use"] and tier != "pinned"
        advice = f"only {_bytes(left)} are there: a smaller budget refuses sooner, with a sentence" if more else ""
        yield Finding("budgets", tier, numbers, f"{_bytes(budget) if budget else 'none'}, {_bytes(left)} left", advice)


def cache_folder() -> Path | None:
    """Where measurements are kept between processes: $XDG_CACHE_HOME/tessera, or ~/.cache/tessera."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "tessera"
    return Path(os.environ["HOME"]) / ".cache" / "tessera" if os.environ.get("HOME") else None


def caches() -> Iterator[Finding]:
    """Measured costs (the calibration), links between devices, plans of FFTW."""
    folder = cache_folder()
    if folder is None:
        yield Finding("caches", "folder", None, "none", "set HOME or XDG_CACHE_HOME: each process measures again")
        return
    above = next(path for path in (folder, *folder.parents) if path.exists())
    advice = "" if os.access(above, os.W_OK) else "it cannot be written to: name another with XDG_CACHE_HOME"
    yield Finding("caches", "folder", str(folder), advice=advice)
    files = {
        "calibration": ("costs.txt", "made at the first choice between devices, in about three seconds"),
        "links": ("topology.json", "measured at the first plan over several devices"),
        "FFTW float32": ("fftw_wisdom_float32", "written by plans of config.fft_effort=2"),
        "FFTW float64": ("fftw_wisdom_float64", "written by plans of config.fft_effort=2"),
    }
    for name, (file, otherwise) in files.items():
        path = folder / file
        if path.exists():
            day = time.strftime("%Y-%m-%d", time.localtime(path.stat().st_mtime))
            yield Finding("caches", name, str(path), f"{path}, {_bytes(path.stat().st_size)}, of {day}")
        else:
            yield Finding("caches", name, None, f"not yet: {otherwise}")


def disk(measure: bool = True) -> Iterator[Finding]:
    """The folder of arrays that memory does not hold: its file system, free space, and speed past the page cache."""
    folder = Path(_core.backing_dir())
    kind = file_system(folder)
    advice = {
        "tmpfs": "this folder is memory: name one on a disk with TESSERA_BACKING_DIR",
        "overlay": "a layer of a container: mount a disk and name it with TESSERA_BACKING_DIR",
    }.get(kind, "")
    if kind.startswith(("nfs", "cifs", "fuse")):
        advice = "a file system over a network: a local disk is quicker (TESSERA_BACKING_DIR)"
    yield Finding("disk", "backing folder", str(folder), f"{folder} ({kind or 'unknown file system'})", advice)
    try:
        room = os.statvfs(folder)
    except OSError as error:
        yield Finding("disk", "free space", None, str(error), "name a folder that is there with TESSERA_BACKING_DIR")
        return
    free = room.f_bavail * room.f_frsize
    advice = "" if free > 10 * GiB else "arrays on disk have little room"
    yield Finding("disk", "free space", free, _bytes(free), advice)
    if not measure:
        return
    if free < 256 * MiB:
        yield Finding("disk", "speed", None, "not measured: too little space")
        return
    try:
        written, read = disk_speed(folder)
    except OSError as error:
        yield Finding("disk", "speed", None, f"not measured: {error}", "is the folder yours to write to?")
        return
    advice = "" if min(written, read) > 100e6 else "slow: work on arrays on disk waits for it"
    numbers = {"write_bytes_per_s": written, "read_bytes_per_s": read}
    text = f"{written / 1e6:.0f} MB/s written, {read / 1e6:.0f} MB/s read"
    yield Finding("disk", "speed", numbers, text, advice)


def environment() -> Iterator[Finding]:
    """Every TESSERA_ variable; one that nobody reads is named with the nearest that somebody does."""
    unknown = unknown_variables(os.environ)
    for name in sorted(n for n in os.environ if n.startswith("TESSERA_")):
        advice = ""
        if name in unknown:
            close = nearest(name)
            advice = "nobody reads this variable" + (f"; {close} is one that is read" if close else "")
        yield Finding("environment", name, os.environ[name], advice=advice)


def examine(measure: bool = True) -> list[Finding]:
    """All findings, in the order in which they are printed."""
    parts = [versions, devices, libraries, threads, memory, budgets, caches, lambda: disk(measure), environment]
    return [finding for part in parts for finding in part()]


def as_text(findings: list[Finding]) -> str:
    lines: list[str] = []
    section = ""
    for finding in findings:
        if finding.section != section:
            section = finding.section
            lines.append(f"\n{section.capitalize()}" if lines else section.capitalize())
        lines.append(finding.line())
    off = sum(bool(finding.advice) for finding in findings)
    return "\n".join([*lines, "", f"{off} line{'s' * (off != 1)} of advice" if off else "all is well"])


def as_json(findings: list[Finding]) -> str:
    import json

    return json.dumps({"findings": [dataclasses.asdict(finding) for finding in findings]}, indent=1)


def run(json: bool, measure: bool) -> int:
    findings = examine(measure)
    sys.stdout.write((as_json(findings) if json else as_text(findings)) + "\n")
    return 0
