// SPDX-License-Identifier: Apache-2.0
// ts.save and ts.load: which format, by the ending of the name; the formats are array/npy,
// array/npz and store/snapshot; directories of Zarr are tessera/_zarr.py.
#include "core/common.hpp"
#include "core/repr.hpp"
#include "tessera/array/npy.hpp"
#include "tessera/array/npz.hpp"

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
  throw ArgumentError(cat(who, ": '", path, "' does not end in .npy, .npz, .tessera or .zarr"));
}

void save_arrays(const std::string& to, nb::handle obj, bool compressed) {
  require<DTypeError>(PyDict_Check(obj.ptr()), "save: a .npz file takes a dict of arrays, got ",
                      Py_TYPE(obj.ptr())->tp_name);
  NamedArrays arrays;
  for (auto [key, value] : nb::borrow<nb::dict>(obj)) {
    require<DTypeError>(PyUnicode_Check(key.ptr()), "save: names of arrays are text, got ",
                        repr_of(key));
    arrays.emplace_back(nb::cast<std::string>(key), as_array(value, "save"));
  }
  released([&] { save_npz(to, arrays, compressed); });
}

void save_file(nb::handle path, nb::handle obj, bool compressed) {
  const std::string to = path_from(path);
  if (to.ends_with(".npz")) return save_arrays(to, obj, compressed);
  if (to.ends_with(".tessera")) {
    require<ArgumentError>(!compressed, "save: '", to,
                           "': a .tessera file is not compressed, so that parts of it can be read; "
                           "a .npz file can be");
    nb::module_::import_("tessera._files").attr("saved")(to, obj);
    return;
  }
  if (to.ends_with(".zarr")) {
    nb::module_::import_("tessera._zarr").attr("saved")(to, obj, compressed);
    return;
  }
  if (!to.ends_with(".npy")) unknown_ending("save", to);
  const Array x = as_array(obj, "save");
  released([&] { save_npy(to, x); });
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

nb::object load_file(nb::handle path, nb::handle mmap_mode, nb::handle device) {
  const std::string from = path_from(path);
  const Device d = device_from(device);
  NpyOptions options;
  options.map = map_from(mmap_mode);
  if (from.ends_with(".npz")) return load_arrays(from, d);
  if (from.ends_with(".tessera"))
    return nb::module_::import_("tessera._files").attr("loaded")(from, device);
  if (from.ends_with(".zarr"))
    return nb::module_::import_("tessera._zarr").attr("loaded")(from, device);
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
      "directory of Zarr v3) an array, or arrays in\ndicts. What was there stays until the new one "
      "is whole. .npz and .zarr can be compressed.\n\n"
      ">>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), 'x.npy')\n"
      ">>> ts.save(name, ts.arange(3)); np.load(name).tolist()\n[0, 1, 2]\n"
      ">>> name = os.path.join(os.path.dirname(name), 'A.tessera')\n"
      ">>> ts.save(name, ts.FFT(1) @ ts.Diagonal([1.0, 2.0], ('Nx',)))\n"
      ">>> ts.load(name)([1.0, 1.0]).real.tolist()[1] < 0\nTrue\n");
  m.def(
      "load", &load_file, "path"_a, "mmap_mode"_a = nb::none(), "device"_a = nb::none(),
      nb::sig("def load(path: str | os.PathLike[str], mmap_mode: str | None = None, "
              "device: DeviceLike | None = None) -> typing.Any"),
      "Reads a .npy file, a .npz file as a dict, what a .tessera file holds, or a .zarr directory "
      "(groups are dicts);\nmmap_mode 'r' or 'r+' maps a .npy file instead of reading it.\n\n"
      ">>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), 'x.npz')\n"
      ">>> np.savez(name, a=np.ones(2)); ts.load(name)['a'].tolist()\n[1.0, 1.0]\n");
}

}  // namespace tessera::python
