# SPDX-License-Identifier: Apache-2.0
"""Zarr v3 directories (https://zarr-specs.readthedocs.io): arrays, and dicts of arrays as groups.

Written are chunks of plain bytes, with gzip if asked for. Read is what else the standard library decodes: both byte
orders, transposed chunks, checksums, and zstd where Python has it. One chunk is in memory at a time beside the array.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import _tessera as _core

_CHUNK_BYTES = 1 << 24
_DTYPES = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
_DTYPES |= {"float16", "float32", "float64", "complex64", "complex128"}
_KEYS = {"zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"}
_KEYS |= {"attributes", "dimension_names", "storage_transformers"}
_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def save(path: str, obj: Any, compressed: bool, about: dict[str, Any] | None = None, who: str = "save") -> None:
    """Writes a directory; the one of that name stays until the new one is whole. Only Zarr's are replaced. ``about`` is
    more that the description of an array says: names of its dims, attributes."""
    check_target(path, who)
    place = os.path.realpath(path)  # a link stays one
    folder, name = os.path.split(place)
    try:
        made = tempfile.mkdtemp(prefix=f".{name}.", dir=folder)
        try:
            whole = os.path.join(made, "new")
            _write_node(whole, obj, compressed, "", about or {})
            _replace(whole, place, os.path.join(made, "old"))
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise _core.IoError(f"{who}: cannot write '{path}': {error}") from error


def check_target(path: str, who: str) -> None:
    """Refuses to take the place of anything but a directory of Zarr."""
    if os.path.lexists(path) and not os.path.isfile(os.path.join(path, "zarr.json")):
        raise _core.IoError(f"{who}: '{path}' is there and is no Zarr directory; it is left alone")


def loaded(path: str, device: Any, who: str = "load") -> Any:
    """An array, or a dict of what a group holds."""
    with refusing(path, who):
        return _read_node(path, device)


def described(folder: str) -> dict[str, Any]:
    """What the description of a node says; to be read while :func:`refusing`."""
    if not os.path.isfile(os.path.join(folder, "zarr.json")):
        older = any(os.path.isfile(os.path.join(folder, name)) for name in (".zarray", ".zgroup"))
        raise ValueError("version 2; version 3 is read" if older else f"there is no file zarr.json in '{folder}'")
    with open(os.path.join(folder, "zarr.json"), "rb") as f:
        about = json.loads(f.read())
    if about["zarr_format"] != 3:
        raise ValueError(f"version {about['zarr_format']}; version 3 is read")
    return dict(about)


@contextlib.contextmanager
def refusing(path: str, who: str) -> Iterator[None]:
    """Makes a sentence of whatever a directory of somebody else leads to."""
    try:
        yield
    except (
        ValueError,
        LookupError,
        TypeError,
        ArithmeticError,
        AttributeError,
        RecursionError,
        OSError,
        zlib.error,
    ) as error:
        if isinstance(error, _core.Error):
            raise
        raise _core.IoError(f"{who}: '{path}' is no Zarr v3 directory that can be read: {error}") from error


def _replace(new: str, path: str, old: str) -> None:
    if not os.path.lexists(path):
        return os.rename(new, path)
    os.chmod(new, stat.S_IMODE(os.stat(path).st_mode))
    os.rename(path, old)
    try:
        os.rename(new, path)
    except OSError:
        os.rename(old, path)
        raise


# --- writing


def _write_node(folder: str, obj: Any, compressed: bool, name: str, more: dict[str, Any]) -> None:
    os.mkdir(folder)
    if not isinstance(obj, dict):
        return _write_array(folder, obj, compressed, name, more)
    _write_json(folder, {"zarr_format": 3, "node_type": "group", "attributes": {}})
    for key, value in obj.items():
        if not isinstance(key, str) or key.strip(".") == "" or key.startswith("__") or "/" in key or "\0" in key:
            raise ValueError(f"save: a member of a Zarr group cannot be called {key!r}")
        if key == "zarr.json":
            raise ValueError("save: a member of a Zarr group cannot be called 'zarr.json', as its description is")
        _write_node(os.path.join(folder, key), value, compressed, f"{name}/{key}", {})


def _write_array(folder: str, x: Any, compressed: bool, name: str, more: dict[str, Any]) -> None:
    if not isinstance(x, _core.StoredArray):
        x = _core.asarray(x)
    dtype = str(x.dtype)
    if dtype not in _DTYPES:
        raise TypeError(f"save: Zarr has no {dtype}, of which array '{name}' is")
    chunk = _chunk_shape(x.shape, x.dtype.itemsize)
    codecs: list[dict[str, Any]] = [{"name": "bytes", "configuration": {"endian": "little"}}]
    if compressed:
        codecs.append({"name": "gzip", "configuration": {"level": 5}})
    zero: Any = [0.0, 0.0] if dtype.startswith("complex") else False if dtype == "bool" else 0
    grid = {"name": "regular", "configuration": {"chunk_shape": chunk}}
    keys = {"name": "default", "configuration": {"separator": "/"}}
    about: dict[str, Any] = {"zarr_format": 3, "node_type": "array", "shape": list(x.shape), "data_type": dtype}
    about["chunk_grid"] = grid
    about |= {"chunk_key_encoding": keys, "fill_value": zero, "codecs": codecs, "attributes": {}}
    _write_json(folder, about | more)
    for at in itertools.product(*(range(-(-n // c)) for n, c in zip(x.shape, chunk, strict=True))):
        box = _box(at, chunk, x.shape)
        whole = np.zeros(chunk, np.dtype(dtype).newbyteorder("<"))  # chunks at the end are as large as the others
        whole[tuple(slice(0, b.stop - b.start) for b in box)] = (x[box] if box else x).numpy()
        data = whole.tobytes()
        if compressed:
            packer = zlib.compressobj(5, wbits=31)
            data = packer.compress(data) + packer.flush()
        file = os.path.join(folder, "c", *map(str, at))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "wb") as f:
            f.write(data)


def _write_json(folder: str, value: dict[str, Any]) -> None:
    with open(os.path.join(folder, "zarr.json"), "w", encoding="utf-8") as f:
        json.dump(value, f, indent=2)


def _chunk_shape(shape: Sequence[int], itemsize: int) -> list[int]:
    """The first axes are cut until a chunk is small: rows stay together."""
    chunk = [max(1, n) for n in shape]
    for axis, n in enumerate(chunk):
        rest = itemsize * math.prod(chunk[axis + 1 :])
        chunk[axis] = max(1, min(n, _CHUNK_BYTES // rest))
    return chunk


def _box(at: Sequence[int], chunk: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(at, chunk, shape, strict=True))


# --- reading


def _read_node(folder: str, device: Any) -> Any:
    about = described(folder)
    if about["node_type"] == "array":
        return _read_array(folder, about).to(device if device is not None else "cpu")
    if about["node_type"] != "group":
        raise ValueError(f"a node of type {about['node_type']!r}")
    members = sorted(e.name for e in os.scandir(folder) if os.path.isfile(os.path.join(e.path, "zarr.json")))
    return {name: _read_node(os.path.join(folder, name), device) for name in members}


def _read_array(folder: str, about: dict[str, Any]) -> _core.Array:
    for key, value in about.items():
        if key not in _KEYS and not (isinstance(value, dict) and value.get("must_understand") is False):
            raise ValueError(f"an array with {key!r}, which is not known")
    if about.get("storage_transformers"):
        raise ValueError("an array with storage transformers, which are not known")
    if about["data_type"] not in _DTYPES:
        raise ValueError(f"an array of {about['data_type']}, which is not known")
    dtype = np.dtype(about["data_type"])
    shape, chunk = sizes(about["shape"], 0), sizes(_configured(about["chunk_grid"], "regular")["chunk_shape"], 1)
    if len(chunk) != len(shape):
        raise ValueError(f"chunks of shape {chunk} for an array of shape {shape}")
    decode = _decoder(about["codecs"], dtype, chunk)
    fill = np.asarray(_fill_value(about["fill_value"], dtype), dtype)
    zeros = not any(fill.tobytes())  # whose memory is not touched: a description may claim more than there is
    out = _core.zeros(shape, about["data_type"]) if zeros else _core.empty(shape, about["data_type"])
    view = out.numpy()
    if not zeros:
        view[...] = fill
    for at, file in _present_chunks(folder, about["chunk_key_encoding"], len(shape)):
        box = _box(at, chunk, shape)
        if all(b.start < b.stop for b in box):  # others are left from a larger array, and mean nothing
            with open(file, "rb") as f:
                view[box] = decode(f.read())[tuple(slice(0, b.stop - b.start) for b in box)]
    return out


def sizes(given: Any, least: int) -> tuple[int, ...]:
    if not isinstance(given, list) or not all(type(n) is int and n >= least for n in given):
        raise ValueError(f"sizes {given}; expected a list of integers from {least} on")
    return tuple(given)


def _configured(given: Any, *names: str) -> dict[str, Any]:
    """The configuration of an extension point, of one of these names."""
    if given["name"] not in names:
        raise ValueError(f"{given['name']!r}, which is not known; expected {' or '.join(names)}")
    return given.get("configuration", {})


def _fill_value(given: Any, dtype: np.dtype) -> Any:
    if dtype.kind == "c":
        re, im = (_fill_value(v, np.empty(0, dtype).real.dtype) for v in given)
        return complex(re, im)
    if dtype.kind == "f" and isinstance(given, str):
        if given in _FLOATS:
            return _FLOATS[given]
        return np.frombuffer(bytes.fromhex(given.removeprefix("0x")), dtype.newbyteorder(">"))[0]
    if not isinstance(given, bool | int | float):
        raise ValueError(f"a fill value {given!r} of {dtype}")
    return dtype.type(given)


def _present_chunks(folder: str, encoding: Any, ndim: int) -> Iterator[tuple[tuple[int, ...], str]]:
    """The chunks that are there; the others hold the fill value."""
    configured = _configured(encoding, "default", "v2")
    default = encoding["name"] == "default"
    separator = configured.get("separator", "/" if default else ".")
    if separator not in ("/", "."):
        raise ValueError(f"chunks separated by {separator!r}; expected '/' or '.'")
    for where, _, files in os.walk(folder):
        for name in files:
            file = os.path.join(where, name)
            parts = os.path.relpath(file, folder).replace(os.sep, "/").split(separator)
            if default and parts.pop(0) != "c":
                continue
            if not default and ndim == 0 and parts == ["0"]:
                parts = []
            whole = all(p.isdecimal() and p.isascii() and str(int(p)) == p for p in parts)
            if whole and len(parts) == ndim and os.path.isfile(file):
                yield tuple(map(int, parts)), file


# --- codecs: each takes bytes, and how many it should make of them


def _decoder(codecs: Any, dtype: np.dtype, chunk: tuple[int, ...]) -> Callable[[bytes], np.ndarray]:
    """What makes an array of the bytes of a chunk."""
    order = list(range(len(chunk)))
    names = [c["name"] for c in codecs]
    at = names.index("bytes") if "bytes" in names else len(names)
    for codec in codecs[:at]:
        turn = sizes(_configured(codec, "transpose", "bytes")["order"], 0)
        if sorted(turn) != list(range(len(chunk))):
            raise ValueError(f"axes in the order {turn} for chunks of shape {chunk}")
        order = [order[i] for i in turn]
    if at == len(names):
        raise ValueError(f"codecs {', '.join(names)}; expected one of them to be 'bytes'")
    endian = _configured(codecs[at], "bytes").get("endian", "little")
    if endian not in ("little", "big"):
        raise ValueError(f"bytes of endian {endian!r}")
    stored, packed = dtype.newbyteorder("<" if endian == "little" else ">"), [c["name"] for c in codecs[at + 1 :]]
    if unknown := [name for name in packed if name not in _UNPACK]:
        raise ValueError(f"codec {unknown[0]!r}, which cannot be decoded here; {', '.join(sorted(_UNPACK))} can")
    if len(packed) - packed.count("crc32c") > 1:
        raise ValueError(f"codecs {', '.join(names)}; expected one at most that compresses")
    count = math.prod(chunk) * dtype.itemsize
    back = np.argsort(order).tolist()

    def decode(data: bytes) -> np.ndarray:
        for i in reversed(range(len(packed))):
            data = _UNPACK[packed[i]](data, count + 4 * packed[:i].count("crc32c"))
        if len(data) != count:
            raise ValueError(f"a chunk of {len(data)} bytes; expected {count}")
        numbers = np.frombuffer(data, "u1") != 0 if dtype.kind == "b" else np.frombuffer(data, stored)
        return numbers.reshape([chunk[i] for i in order]).transpose(back)

    return decode


def _without_checksum(data: bytes, count: int) -> bytes:
    if len(data) < 4 or _core._crc32c(data[:-4]).to_bytes(4, "little") != data[-4:]:
        raise ValueError("a chunk is damaged: its checksum is wrong")
    return data[:-4]


def _inflated(data: bytes, count: int) -> bytes:
    found = zlib.decompressobj(wbits=31)
    out = found.decompress(data, count + 1)
    if len(out) == count and not found.eof:
        raise ValueError("a chunk is damaged: what was compressed is cut")
    return out


_UNPACK: dict[str, Callable[[bytes, int], bytes]] = {"crc32c": _without_checksum, "gzip": _inflated}
try:
    from compression import zstd as _zstd  # type: ignore[import-not-found]  # from Python 3.14 on
except ImportError:
    pass
else:
    _UNPACK["zstd"] = lambda data, count: _zstd.ZstdDecompressor().decompress(data, count + 1)
