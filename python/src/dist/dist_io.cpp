// SPDX-License-Identifier: Apache-2.0
// ts.dist.save and ts.dist.load; the formats are distributed/io/io's.
#include "array/index_key.hpp"
#include "dist/dist.hpp"
#include "tessera/distributed/io/io.hpp"

namespace tessera::python {

namespace {

using nb::literals::operator""_a;

// One slice, or one for each of the first axes.
std::vector<Slice> slices_from(nb::handle h) {
  std::vector<Slice> slices;
  if (h.is_none()) return slices;
  const nb::object given = PySlice_Check(h.ptr()) ? nb::object(nb::make_tuple(h)) : nb::borrow(h);
  for (nb::handle item : given) {
    require<DTypeError>(PySlice_Check(item.ptr()),
                        "load: slices is a slice or a sequence of them, "
                        "got ",
                        Py_TYPE(item.ptr())->tp_name);
    slices.push_back(slice_of(item.ptr()));
  }
  return slices;
}

nb::object load_file(nb::handle path, nb::handle split, nb::handle slices, nb::handle device,
                     nb::handle comm, const std::string& dataset) {
  const std::string from = path_from(path);
  dist::LoadOptions options{.comm = comm_from(comm)};
  if (!split.is_none()) options.split = int_from(split, "split");
  options.slices = slices_from(slices);
  options.device = device_from(device);
  options.dataset = dataset;
  return wrap(released([&] { return dist::load(from, options); }));
}

void save_file(nb::handle path, nb::handle obj, const std::string& dataset) {
  const std::string to = path_from(path);
  const DNDarray x = as_dist(obj, "save");
  released([&] { dist::save(to, x, {dataset}); });
}

}  // namespace

void bind_dist_io(nb::module_& m) {
  m.def(
      "save", &save_file, "path"_a, "obj"_a, nb::kw_only(), "dataset"_a = "data",
      nb::sig("def save(path: str | os.PathLike[str], obj: ArrayLike, *, dataset: str = 'data') -> "
              "None"),
      "Writes an array to .npy, or to a data set of an HDF5 file: every rank its own part, at "
      "once. "
      "The old file stays until the new one is whole.\n\n"
      ">>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), 'x.npy')\n"
      ">>> ts.dist.save(name, ts.dist.arange(3, split=0)); np.load(name).tolist()\n[0, 1, 2]\n");
  m.def(
      "load", &load_file, "path"_a, "split"_a = nb::none(), "slices"_a = nb::none(),
      "device"_a = nb::none(), "comm"_a = nb::none(), nb::kw_only(), "dataset"_a = "",
      nb::sig("def load(path: str | os.PathLike[str], split: int | None = None, slices: slice | "
              "typing.Sequence[slice] | None = None, device: DeviceLike | None = None, comm: "
              "Communicator | None = None, *, dataset: str = '') -> DNDarray"),
      "Reads a .npy or HDF5 file, or the part of it that slices name: every rank only what it "
      "will hold.\n\n"
      ">>> import os, tempfile; name = os.path.join(tempfile.mkdtemp(), 'x.npy')\n"
      ">>> np.save(name, np.arange(8)); ts.dist.load(name, split=0, slices=slice(2, 5)).tolist()\n"
      "[2, 3, 4]\n");
}

}  // namespace tessera::python
