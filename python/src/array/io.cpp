// SPDX-License-Identifier: Apache-2.0
// ts.save and ts.load: which format, by the ending of the name; the formats are array/npy,
// array/npz and store/snapshot; directories of Zarr are tessera/_zarr.py, HDF5 files tessera/_hdf5.py.
// Arrays on disk are written some rows at a time.
#include <filesystem>
#include <fstream>

#include "core/common.hpp"
#include "core/repr.hpp"
#include "streaming/stored_array.hpp"
#include "tessera/array/npy.hpp"
#include "tessera/array/npz.hpp"
#include "tessera/streaming/plan/planning.hpp"

namespace tessera::python {

std::string path_from(nb::handle h) {
  nb::object text = nb::steal(PyOS_FSPath(h.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  if (PyBytes_Check(text.ptr())) return PyBytes_AS_STRING(text.ptr());
  return nb::cast<std::string>(text);
}

namespace {

using nb::literals::operator""_a;

[[noreturn]] void unknown_ending(std::string_view who, const std::string& path) {
  throw ArgumentError(cat(who, ": '", path, "' does not end in .npy, .npz, .tessera, ",
                          who == "load" ? ".tiles, " : "", ".zarr, .h5 or .hdf5"));
}

bool names_hdf5(const std::string& path) {
  return path.ends_with(".h5") || path.ends_with(".hdf5");
}

// Jobs make tiled files of names with any ending that is not another format's.
bool is_tiled(const std::string& path) {
  if (path.ends_with(".tiles")) return true;
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) return false;  // a pipe would wait for a writer
  char start[8] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  return std::string_view(start, sizeof start) == "TSRTILES";
}

// The whole .npy file of an array in memory or on disk.
NpyWriter npy_of(nb::handle x) {
  if (!is_stored(x.ptr()))
    return [a = as_array(x, "save")](const auto& sink) { encode_npy(a.to(cpu), sink); };
  return [a = *nb::inst_ptr<streaming::StoredArray>(x)](const auto& sink) {
    const std::string head = npy_header_text(a.dtype(), a.shape(), false);
    sink(head.data(), static_cast<i64>(head.size()));
    a.each_part([&](const Array& part) { sink(part.host_data(), part.bytes()); });
  };
}

void save_arrays(const std::string& to, nb::handle obj, bool compressed) {
  require<DTypeError>(PyDict_Check(obj.ptr()), "save: a .npz file takes a dict of arrays, got ",
                      Py_TYPE(obj.ptr())->tp_name);
  NamedWriters arrays;
  for (auto [key, value] : nb::borrow<nb::dict>(obj)) {
    require<DTypeError>(PyUnicode_Check(key.ptr()), "save: names of arrays are text, got ",
                        repr_of(key));
    arrays.emplace_back(nb::cast<std::string>(key), npy_of(value));
  }
  released([&] { write_npz(to, arrays, compressed); });
}

void save_file(nb::handle path, nb::handle obj, bool compressed) {
  const std::string to = path_from(path);
  require<ArgumentError>(!streaming::Planning::now(), "save: within a plan nothing is written to '",
                         to, "'; x.save(path) of an array on disk can be planned");
  if (to.ends_with(".npz")) return save_arrays(to, obj, compressed);
  for (const std::string_view ending : {".tessera", ".npy", ".h5", ".hdf5"})
    require<ArgumentError>(!compressed || !to.ends_with(ending), "save: '", to, "': a ", ending,
                           " file is not compressed, so that parts of it can be read; a .npz file "
                           "or a .zarr directory can be");
  if (to.ends_with(".tessera")) {
    nb::module_::import_("tessera._files").attr("saved")(to, obj);
    return;
  }
  if (to.ends_with(".zarr")) {
    nb::module_::import_("tessera._zarr").attr("save")(to, obj, compressed);
    return;
  }
  if (names_hdf5(to)) {
    nb::module_::import_("tessera._hdf5").attr("save")(to, obj);
    return;
  }
  if (!to.ends_with(".npy")) unknown_ending("save", to);
  const NpyWriter write = npy_of(obj);
  released([&] { write_npy(to, write); });
}

MapMode map_from(nb::handle h) {
  if (h.is_none()) return MapMode::none;
  const std::string s = nb::cast<std::string>(h);
  if (s == "r") return MapMode::read;
  require<ArgumentError>(s == "r+", "load: mmap_mode is None, 'r' or 'r+', got '", s, "'");
  return MapMode::write;
}

nb::dict load_arrays(const std::string& from, Device d) {
  NamedArrays arrays = released([&] {
    NamedArrays a = load_npz(from);
    for (auto& [name, array] : a) array = array.to(d);
    return a;
  });
  nb::dict result;
  for (auto& [name, array] : arrays) {
    // Names of a foreign archive may be in any encoding: kept as they are, as paths are.
    nb::object key = nb::steal(
        PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogateescape"));
    result[key] = wrap(std::move(array));
  }
  return result;
}

// An array in place: of a dataset, or a tiled file.
nb::object open_in_place(const std::string& from, MapMode mode, nb::handle device,
                         nb::handle name) {
  require<ArgumentError>(device.is_none(), "load: '", from,
                         "' is used where it lies, on disk, got device ", repr_of(device),
                         "; x[...].to(device) brings its numbers there");
  require<DTypeError>(name.is_none() || PyUnicode_Check(name.ptr()),
                      "load: name is the text by which a dataset is called, got ", repr_of(name));
  return open_stored(from, mode == MapMode::write,
                     name.is_none() ? std::string() : nb::cast<std::string>(name));
}

nb::object load_file(nb::handle path, nb::handle mmap_mode, nb::handle device, nb::handle name) {
  const std::string from = path_from(path);
  const Device d = device_from(device);
  NpyOptions options;
  options.map = map_from(mmap_mode);
  require<ArgumentError>(name.is_none() || names_hdf5(from), "load: '", from,
                         "' is no HDF5 file, of which name= says the dataset");
  if (names_hdf5(from)) return open_in_place(from, options.map, device, name);
  if (from.ends_with(".npz")) return load_arrays(from, d);
  if (from.ends_with(".tessera"))
    return nb::module_::import_("tessera._files").attr("loaded")(from, device);
  if (from.ends_with(".zarr"))
    return nb::module_::import_("tessera._zarr").attr("loaded")(from, device);
  if (!from.ends_with(".npy") && is_tiled(from))
    return open_in_place(from, options.map, device, name);
  if (!from.ends_with(".npy")) unknown_ending("load", from);
  return wrap(released([&] { return load_npy(from, options).to(d); }));
}

}  // namespace

void bind_io(nb::module_& m) {
  m.def(
      "save", &save_file, "path"_a, "obj"_a, nb::kw_only(), "compressed"_a = false,
      nb::sig("def save(path: str | os.PathLike[str], obj: typing.Any, *, "
              "compressed: bool = False) -> None"),
      "Writes an array to .npy, a dict of arrays to .npz; to .tessera arrays, matrices, "
      "operators, names,\nshapes, specs, results, and lists and dicts of these; to .zarr (a "
      "directory of Zarr v3) and .h5 or .hdf5\nan array, or arrays in dicts. What was there stays "
      "until the new one is whole. .npz and .zarr can be `compressed`,\nfor the others that is "
      "refused. Arrays on disk are written some megabytes at a time, to all of them.\n\n"
      ">>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), 'x.npy')\n"
      ">>> ts.save(name, ts.arange(3)); np.load(name).tolist()\n[0, 1, 2]\n"
      ">>> name = os.path.join(os.path.dirname(name), 'A.tessera')\n"
      ">>> ts.save(name, ts.FFT(1) @ ts.Diagonal([1.0, 2.0], ('Nx',)))\n"
      ">>> ts.load(name)([1.0, 1.0]).real.tolist()[1] < 0\nTrue\n");
  m.def(
      "load", &load_file, "path"_a, "mmap_mode"_a = nb::none(), "device"_a = nb::none(),
      nb::kw_only(), "name"_a = nb::none(),
      nb::sig("def load(path: str | os.PathLike[str], mmap_mode: str | None = None, "
              "device: DeviceLike | None = None, *, name: str | None = None) -> typing.Any"),
      "Reads a .npy file, a .npz file as a dict, what a .tessera file holds, or a .zarr directory "
      "(groups are dicts);\nmmap_mode 'r' or 'r+' maps a .npy file instead of reading it.\n\n"
      "A tiled file and a dataset of a .h5 or .hdf5 file are opened in place, as "
      "``ts.stored.open`` does it: to be\nread, or with mmap_mode 'r+' to be written as well: the "
      "numbers as they lie, also those of a matrix of a form.\n`name` says which dataset where "
      "there are several.\n\n"
      ">>> import os, tempfile; tiles = os.path.join(tempfile.mkdtemp(), 'x.tiles')\n"
      ">>> x = ts.stored.array([1.0, 2.0], tiles); ts.load(tiles).sum().item()\n3.0\n\n"
      ">>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), 'x.npz')\n"
      ">>> np.savez(name, a=np.ones(2)); ts.load(name)['a'].tolist()\n[1.0, 1.0]\n");
}

}  // namespace tessera::python
