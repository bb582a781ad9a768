// SPDX-License-Identifier: Apache-2.0
// .tessera files for Python: conversion only. What their text means is in tessera/_files.py, keys
// and names are in tessera/_snapshots.py.
#include "store/snapshot.hpp"

#include "core/repr.hpp"
#include "core/sequence.hpp"
#include "streaming/stored_array.hpp"
#include "tessera/store/snapshot/crc32c.hpp"
#include "tessera/store/snapshot/snapshot_reader.hpp"
#include "tessera/store/snapshot/snapshot_writer.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::python {
namespace {

using nb::literals::operator""_a;

std::vector<SnapshotPayload> payloads_from(nb::handle pairs) {
  std::vector<SnapshotPayload> sources;
  for (nb::handle pair : nb::borrow<nb::list>(pairs)) {
    const auto name = nb::cast<std::string>(pair[0]);
    const nb::object x = pair[1];
    if (!is_stored(x.ptr())) {
      sources.push_back(snapshot_payload(name, as_array(x, "save")));
      continue;
    }
    const streaming::StoredArray& stored = *nb::inst_ptr<streaming::StoredArray>(x);
    sources.push_back({name, stored.dtype(), stored.shape(), [stored](const auto& sink) {
                         stored.each_part(
                             [&](const Array& part) { sink(part.host_data(), part.bytes()); });
                       }});
  }
  return sources;
}

nb::list entries_of(const Snapshot& s) {
  nb::list all;
  for (const SnapshotEntry& e : s.entries())
    all.append(nb::make_tuple(e.name, dtype_object(e.dtype), tuple_of(e.shape)));
  return all;
}

// Ranges as (begin, count, step) for each of the first axes.
nb::object read_entry(const Snapshot& s, i64 entry, nb::handle ranges) {
  std::vector<SnapshotRange> all;
  for (nb::handle r : nb::borrow<nb::list>(ranges))
    all.push_back(
        {int_from(r[0], "Snapshot"), int_from(r[1], "Snapshot"), int_from(r[2], "Snapshot")});
  return wrap(released([&] { return s.read(entry, all); }));
}

}  // namespace

void bind_snapshot(nb::module_& m) {
  m.def(
      "_save_snapshot",
      [](const std::string& path, nb::handle arrays, const std::string& description) {
        const std::vector<SnapshotPayload> all = payloads_from(arrays);
        released([&] { save_snapshot(path, all, description); });
      },
      "path"_a, "arrays"_a, "description"_a,
      nb::sig("def _save_snapshot(path: str, arrays: list[tuple[str, Array | StoredArray]], "
              "description: "
              "str) -> None"));
  m.def(
      "_crc32c",
      [](const nb::bytes& data) { return crc32c(data.data(), static_cast<i64>(data.size())); },
      "data"_a, nb::sig("def _crc32c(data: bytes) -> int"));
  nb::class_<Snapshot>(m, "_Snapshot")
      .def(
          "__init__",
          [](Snapshot* self, nb::handle path) {
            const std::string from = path_from(path);
            released([&] { new (self) Snapshot(from); });
          },
          "path"_a, nb::sig("def __init__(self, path: str | os.PathLike[str]) -> None"))
      .def_prop_ro(
          "description",
          [](const Snapshot& s) {
            return nb::bytes(s.description().data(), s.description().size());
          },
          nb::sig("def description(self) -> bytes"))
      .def_prop_ro("entries", &entries_of,
                   nb::sig("def entries(self) -> list[tuple[str, DType, tuple[int, ...]]]"))
      .def("read", &read_entry, "entry"_a, "ranges"_a,
           nb::sig("def read(self, entry: int, ranges: list[tuple[int, int, int]]) -> Array"))
      .def(
          "check", [](const Snapshot& s) { released([&] { s.check(); }); },
          nb::sig("def check(self) -> None"));
}

}  // namespace tessera::python
