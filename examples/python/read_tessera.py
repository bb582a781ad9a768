# SPDX-License-Identifier: Apache-2.0
"""Arrays of a .tessera file with NumPy alone, by docs/guide/file-format.md: python read_tessera.py FILE [NAME]"""

import json
import struct
import sys

import numpy as np

TABLE = np.arange(256, dtype=np.uint32)
for _ in range(8):
    TABLE = (TABLE >> 1) ^ np.where(TABLE & 1, np.uint32(0x82F63B78), np.uint32(0))


def crc32c(rows):
    """Checksums of the rows of an array of bytes, all at once."""
    sums = np.full(len(rows), 0xFFFFFFFF, np.uint32)
    for column in rows.T:
        sums = TABLE[(sums ^ column) & 255] ^ (sums >> 8)
    return ~sums


def require(condition, text):
    if not condition:
        raise ValueError(f"no .tessera file that can be read: {text}")


def metadata(data):
    """The list of arrays, by their names, and the description of what they are parts of."""
    require(len(data) >= 16 and data[:8].tobytes() == b"\x89TESSERA", "another magic")
    version, alignment = struct.unpack_from("<II", data, 8)
    require(version == 1, f"version {version}")
    slots = [data[at : at + 40] for at in (16, alignment // 2)]
    slots = [s for s in slots if len(s) == 40 and crc32c(s[None, :36])[0] == s[36:].view("<u4")[0]]
    require(slots, "both slots are damaged")
    _, at, count, end, expected = max(struct.unpack_from("<QqqqI", s) for s in slots)
    text = data[at : at + count]
    require(end <= len(data) and crc32c(text[None, :])[0] == expected, "it is cut, or its metadata are damaged")
    index, description = text.tobytes().split(b"\n", 1)
    return {e["name"]: e for e in json.loads(index)["arrays"]}, description.decode()


def read(data, entry):
    """One array of the list, checked piece by piece."""
    short = entry["dtype"] == "bfloat16"  # the upper halves of float32
    dtype = np.dtype("uint16" if short else entry["dtype"]).newbyteorder("<")
    count, piece = dtype.itemsize * int(np.prod(entry["shape"], dtype=object)), entry["piece"]
    payload = data[entry["offset"] : entry["offset"] + count]
    sums = data[entry["sums"] : entry["sums"] + 4 * -(-count // piece)].view("<u4")
    parts = [payload[: count - count % piece].reshape(-1, piece), payload[None, count - count % piece :]]
    found = [s for part in parts if part.size for s in crc32c(part)]
    require(np.array_equal(found, sums), f"array {entry['name']!r} is damaged")
    x = payload.view(dtype).reshape(entry["shape"])
    return (x.astype("uint32") << 16).view("float32") if short else x


if __name__ == "__main__":
    file = np.memmap(sys.argv[1], mode="r")
    for name, e in metadata(file)[0].items():
        print(name, e["dtype"], e["shape"], read(file, e) if name in sys.argv[2:] else "")
