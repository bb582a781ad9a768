// SPDX-License-Identifier: Apache-2.0
// Datasets as stores, and new files; the functions that the plug-in offers.
#include <algorithm>
#include <set>
#include <vector>

#include "tessera/store/hdf5/library.hpp"
#include "tessera/store/io/io_engine.hpp"
#include "tessera/store/tiles/hdf5_backend.hpp"
#include "tessera/store/tiles/slab_file.hpp"

namespace tessera::store {
namespace {

// Asking where each chunk is takes time that grows with the square of their number.
constexpr i64 most_places = 4096;

// Whole chunks, along the last axes first, up to about so many bytes.
TileGrid grid_of_chunks(const Shape& shape, Shape chunk, DType dtype, i64 bytes) {
  i64 room = std::max<i64>(1, bytes / std::max<i64>(1, count_of(chunk) * size_of(dtype)));
  for (i64 d = shape.size() - 1; d >= 0; --d) {
    const i64 count = std::clamp<i64>((shape[d] + chunk[d] - 1) / chunk[d], 1, room);
    chunk[d] = std::min(chunk[d] * count, std::max<i64>(1, shape[d]));
    room /= count;
  }
  return {shape, chunk, dtype};
}

Shape as_shape(const std::vector<hsize_t>& sizes) {
  Shape out;
  for (const hsize_t n : sizes) out.push_back(static_cast<i64>(n));
  return out;
}

// Chunks that lie in the file as in memory; `places` are their offsets, row-major.
class ChunkedFile final : public TileStore {
 public:
  ChunkedFile(std::string name, std::shared_ptr<const File> file, const Hdf5Description& found,
              const Shape& chunk, std::vector<i64> places, const Hdf5StoreOptions& options)
      : name_(std::move(name)),
        file_(std::move(file)),
        chunk_(chunk),
        chunks_(found.shape, chunk, found.dtype),
        grid_(grid_of_chunks(found.shape, chunk, found.dtype, options.tile_bytes)),
        places_(std::move(places)),
        options_(options) {
    const i64 bytes = count_of(chunk_) * size_of(found.dtype);
    for (const i64 at : places_) end_ = std::max(end_, at + bytes);
    check_length("open");
  }
  const TileGrid& grid() const override { return grid_; }
  std::string describe() const override {
    return cat("HDF5 dataset ", name_, " of ", file_->path(), ", ", tessera::to_text(grid_.shape()),
               " ", tessera::name(grid_.dtype()), ", chunks of ", tessera::to_text(chunk_));
  }
  bool writable() const override { return file_->writable(); }
  bool on_disk() const override { return true; }
  std::string version() const override { return cat("dataset ", name_, " of ", file_->version()); }

  Transfer read(const Box& box, const Array& into) override {
    check_transfer("read", grid_, box, into);
    require<ArgumentError>(into.storage().writable(), "read: the array is read-only");
    return move(box, into, read_slab);
  }
  Transfer write(const Box& box, const Array& from) override {
    check_transfer("write", grid_, box, from);
    require<IoError>(writable(), "write: '", file_->path(), "' was opened to be read only");
    check_length("write");
    return move(box, from, write_slab);
  }
  void flush() override {
    file_->wait_idle();
    if (writable()) file_->sync();
  }

 private:
  template <class MoveSlab>
  Transfer move(const Box& box, const Array& array, const MoveSlab& move_slab) {
    const std::shared_ptr<IoEngine> engine = options_.engine ? options_.engine : IoEngine::shared();
    return transfer(array, [&](const Batch& batch) {
      for (const i64 n : chunks_.tiles_of(box)) {
        const Box chunk = chunks_.tile(n), part = intersection(chunk, box);
        Box inside = part;
        for (i64 d = 0; d < inside.begin.size(); ++d) inside.begin[d] -= chunk.begin[d];
        // In the file all chunks have one shape, those that reach beyond the array as well.
        const Slab slab{.file = file_,
                        .offset = places_[static_cast<std::size_t>(n)],
                        .shape = chunk_,
                        .dtype = grid_.dtype(),
                        .direct = options_.direct.value_or(true),
                        .convert = only_truth(grid_.dtype())};
        move_slab(*engine, batch, slab, inside, part_of(array, box, part));
      }
    });
  }
  void check_length(std::string_view who) const {
    const i64 size = file_->size();
    require<IoError>(size >= end_, who, ": '", file_->path(), "' has ", size,
                     " bytes, and its chunks end at byte ", end_, ": it was cut off");
  }

  std::string name_;
  std::shared_ptr<const File> file_;
  Shape chunk_;
  TileGrid chunks_, grid_;
  std::vector<i64> places_;
  i64 end_ = 0;
  Hdf5StoreOptions options_;
};

// Everything else: hyperslabs by the library, which keeps the file open. It takes one call at a time,
// so that transfers have ended when they are asked for.
class LibraryDataset final : public TileStore {
 public:
  LibraryDataset(std::string name, std::string path, bool writable, hdf5::Handle file,
                 hdf5::Handle set, TileGrid grid, TileGrid pieces)
      : name_(std::move(name)),
        path_(std::move(path)),
        writable_(writable),
        grid_(std::move(grid)),
        pieces_(std::move(pieces)),
        open_(std::make_unique<Open>(std::move(file), std::move(set))) {}
  const TileGrid& grid() const override { return grid_; }
  std::string describe() const override {
    return cat("HDF5 dataset ", name_, " of ", path_, ", ", tessera::to_text(grid_.shape()), " ",
               tessera::name(grid_.dtype()), ", through the HDF5 library");
  }
  bool writable() const override { return writable_; }
  bool on_disk() const override { return true; }
  std::string version() const override {
    if (writable_) {  // what the library keeps to itself is no part of the file yet
      const hdf5::Quiet quiet;
      require<IoError>(H5Fflush(open_->file, H5F_SCOPE_GLOBAL) >= 0, "cannot bring '", path_,
                       "' to disk");
    }
    return cat("dataset ", name_, " of ", File(path_, File::Mode::read, false).version());
  }

  Transfer read(const Box& box, const Array& into) override {
    check_transfer("read", grid_, box, into);
    require<ArgumentError>(into.storage().writable(), "read: the array is read-only");
    return dense_parts(box, into, false, [&path = path_](const Selected& s, const Array& array) {
      require<IoError>(H5Dread(s.set, s.type, s.memory, s.space, H5P_DEFAULT, array.data()) >= 0,
                       "cannot read '", path, "': HDF5 refuses, the file may be damaged");
    });
  }
  Transfer write(const Box& box, const Array& from) override {
    check_transfer("write", grid_, box, from);
    require<IoError>(writable_, "write: '", path_, "' was opened to be read only");
    return dense_parts(box, from, true, [&path = path_](const Selected& s, const Array& array) {
      require<IoError>(H5Dwrite(s.set, s.type, s.memory, s.space, H5P_DEFAULT, array.data()) >= 0,
                       "cannot write '", path, "': HDF5 refuses, the file system may be full");
    });
  }
  void flush() override {
    if (!writable_) return;
    {
      const hdf5::Quiet quiet;
      require<IoError>(H5Fflush(open_->file, H5F_SCOPE_GLOBAL) >= 0, "cannot bring '", path_,
                       "' to disk: HDF5 refuses");
    }
    File(path_, File::Mode::write, false).sync();
  }

 private:
  struct Open {
    Open(hdf5::Handle f, hdf5::Handle s) : file(std::move(f)), set(std::move(s)) {}
    ~Open() { close(); }
    void close() {
      const hdf5::Quiet quiet;
      const hdf5::Handle f = std::move(file), s = std::move(set);  // the dataset first
    }
    hdf5::Handle file, set;
  };
  struct Selected {
    hid_t set, type, memory, space;
  };
  // The library moves dense arrays only: others pass through a buffer for files, which no budget
  // counts, some chunks at a time.
  template <class Call>
  Transfer dense_parts(const Box& box, const Array& array, bool write, const Call& call) const {
    if (box.size() == 0) return {};
    if (array.is_contiguous()) return now(box, array, call);
    const std::shared_ptr<IoEngine> engine = IoEngine::shared();
    for (const i64 t : pieces_.tiles_of(box)) {
      const Box part = intersection(pieces_.tile(t), box);
      const i64 bytes = part.size() * size_of(array.dtype());
      const std::shared_ptr<IoBuffer> buffer = engine->buffer(bytes);
      const Array dense{Storage::adopt(cpu, buffer->data(), bytes, {}),
                        Layout::contiguous(part.shape), array.dtype()};
      const Array there = part_of(array, box, part);
      if (write) dense.copy_from(there);
      now(part, dense, call);
      if (!write) there.copy_from(dense);
    }
    return {};
  }
  template <class Call>
  Transfer now(const Box& box, const Array& array, const Call& call) const {
    array.host_data();  // waits for what still writes or reads it
    const hdf5::Quiet quiet;
    const hdf5::Handle type = hdf5::type_of(array.dtype()),
                       space{H5Dget_space(open_->set), H5Sclose,
                             "HDF5 does not give the shape of a dataset"};
    std::vector<hsize_t> start, count;
    for (i64 d = 0; d < box.begin.size(); ++d) {
      start.push_back(static_cast<hsize_t>(box.begin[d]));
      count.push_back(static_cast<hsize_t>(box.shape[d]));
    }
    const int ndim = static_cast<int>(count.size());
    if (ndim > 0)
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    const hdf5::Handle memory{
        ndim > 0 ? H5Screate_simple(ndim, count.data(), nullptr) : H5Screate(H5S_SCALAR), H5Sclose,
        "HDF5 cannot describe a box"};
    call(Selected{open_->set, type, memory, space}, array);
    return {};
  }

  std::string name_, path_;
  bool writable_;
  TileGrid grid_, pieces_;
  std::unique_ptr<Open> open_;
};

// Offsets of all chunks, row-major; nothing where one is missing or there are too many.
std::vector<i64> places_of(hid_t set, const Shape& shape, const Shape& chunk, DType dtype) {
  std::vector<i64> out;
#if H5_VERSION_GE(1, 10, 5)
  const TileGrid chunks(shape, chunk, dtype);
  const i64 expected = count_of(chunk) * size_of(dtype);
  if (chunks.tiles() > most_places || count_of(chunks.shape()) == 0) return out;
  for (i64 n = 0; n < chunks.tiles(); ++n) {
    std::vector<hsize_t> at;
    for (const i64 k : chunks.tile(n).begin) at.push_back(static_cast<hsize_t>(k));
    unsigned skipped = 0;
    haddr_t place = HADDR_UNDEF;
    hsize_t bytes = 0;
    if (H5Dget_chunk_info_by_coord(set, at.data(), &skipped, &place, &bytes) < 0 ||
        place == HADDR_UNDEF || static_cast<i64>(bytes) != expected)
      return {};
    out.push_back(static_cast<i64>(place));
  }
#endif
  return out;
}

std::optional<Shape> chunk_shape(hid_t set, i64 ndim) {
  const hdf5::Handle how{H5Dget_create_plist(set), H5Pclose,
                         "HDF5 does not say how a dataset lies"};
  if (H5Pget_layout(how) != H5D_CHUNKED) return std::nullopt;
  std::vector<hsize_t> sizes(static_cast<std::size_t>(ndim));
  H5Pget_chunk(how, static_cast<int>(ndim), sizes.data());
  return as_shape(sizes);
}

std::shared_ptr<TileStore> open_dataset(const std::string& path, const std::string& dataset,
                                        bool writable, const Hdf5StoreOptions& options) {
  const auto plain_file = [&] {
    return std::make_shared<File>(path, writable ? File::Mode::write : File::Mode::read,
                                  options.direct.value_or(true));
  };
  const hdf5::Quiet quiet;
  hdf5::Handle file = hdf5::open_file(path, writable);
  hdf5::Handle set = hdf5::open_dataset(file, path, dataset);
  const std::string name = cat("'", hdf5::name_of(set), "'");
  const Hdf5Description found = hdf5::describe(file, set, path);
  if (found.place >= 0)
    return std::make_shared<SlabFile>(cat("HDF5 dataset ", name, " of"),
                                      Slab{.file = plain_file(),
                                           .offset = found.place,
                                           .shape = found.shape,
                                           .dtype = found.dtype,
                                           .direct = options.direct.value_or(true),
                                           .convert = only_truth(found.dtype)},
                                      options.engine, options.tile_bytes);
  const std::optional<Shape> chunk = chunk_shape(set, found.shape.size());
  if (!chunk)
    return std::make_shared<LibraryDataset>(
        name, path, writable, std::move(file), std::move(set),
        TileGrid::rows(found.shape, found.dtype, options.tile_bytes),
        TileGrid::rows(found.shape, found.dtype, IoEngine::piece));
  if (hdf5::is_plain(file, set, found.dtype)) {
    std::vector<i64> places = places_of(set, found.shape, *chunk, found.dtype);
    if (!places.empty())
      return std::make_shared<ChunkedFile>(name, plain_file(), found, *chunk, std::move(places),
                                           options);
  }
  TileGrid grid = grid_of_chunks(found.shape, *chunk, found.dtype, options.tile_bytes);
  return std::make_shared<LibraryDataset>(
      name, path, writable, std::move(file), std::move(set), std::move(grid),
      grid_of_chunks(found.shape, *chunk, found.dtype, IoEngine::piece));
}

void create_file(const std::string& path, const std::vector<Hdf5Dataset>& sets,
                 const std::vector<std::string>& groups) {
  const hdf5::Quiet quiet;
  const hdf5::Handle file{H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
                          "cannot create '", path, "': HDF5 refuses"},
      how{H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "HDF5 has no property lists"},
      links{H5Pcreate(H5P_LINK_CREATE), H5Pclose, "HDF5 has no property lists"};
  H5Pset_layout(how, H5D_CONTIGUOUS);
  H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(how, H5D_FILL_TIME_NEVER);
  H5Pset_char_encoding(links, H5T_CSET_UTF8);
  // One by one: the names of those that HDF5 would make along with what is in them are not UTF-8.
  std::set<std::string> made;
  const auto make_groups = [&](const std::string& inside) {
    for (std::size_t end = inside.find('/'); end != inside.npos; end = inside.find('/', end + 1)) {
      const std::string name = inside.substr(0, end);
      if (!made.insert(name).second) continue;
      const hdf5::Handle group{H5Gcreate2(file, name.c_str(), links, H5P_DEFAULT, H5P_DEFAULT),
                               H5Gclose,
                               "cannot create '",
                               path,
                               "': HDF5 makes no group that is called '",
                               name,
                               "'"};
    }
  };
  for (const std::string& name : groups) make_groups(name + "/");
  for (const Hdf5Dataset& s : sets) {
    make_groups(s.name);
    std::vector<hsize_t> sizes;
    for (const i64 n : s.shape) sizes.push_back(static_cast<hsize_t>(n));
    const hdf5::Handle space{
        sizes.empty() ? H5Screate(H5S_SCALAR)
                      : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
        H5Sclose, "HDF5 cannot hold an array of shape ", s.shape},
        type = hdf5::type_of(s.dtype);
    const hdf5::Handle set{H5Dcreate2(file, s.name.c_str(), type, space, links, how, H5P_DEFAULT),
                           H5Dclose,
                           "cannot create '",
                           path,
                           "': HDF5 makes no dataset of ",
                           name(s.dtype),
                           " and shape ",
                           s.shape,
                           " that is called '",
                           s.name,
                           "'"};
  }
}

Hdf5Description describe_dataset(const std::string& path, const std::string& dataset) {
  const hdf5::Quiet quiet;
  const hdf5::Handle file = hdf5::open_file(path), set = hdf5::open_dataset(file, path, dataset);
  return hdf5::describe(file, set, path);
}

void read_dataset(const std::string& path, const std::string& dataset,
                  std::span<const SliceRange> axes, const Array& into) {
  if (into.size() == 0) return;
  const hdf5::Quiet quiet;
  const hdf5::Handle file = hdf5::open_file(path), set = hdf5::open_dataset(file, path, dataset),
                     space{H5Dget_space(set), H5Sclose, "'", path,
                           "' has a dataset without a shape"},
                     memory = hdf5::type_of(into.dtype());
  std::vector<hsize_t> start, step, count;
  for (const SliceRange& a : axes) {
    start.push_back(static_cast<hsize_t>(a.start));
    step.push_back(static_cast<hsize_t>(a.step));
    count.push_back(static_cast<hsize_t>(a.length));
  }
  const int ndim = static_cast<int>(count.size());
  if (ndim > 0)
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), step.data(), count.data(), nullptr);
  const hdf5::Handle here{
      ndim > 0 ? H5Screate_simple(ndim, count.data(), nullptr) : H5Screate(H5S_SCALAR), H5Sclose,
      "HDF5 cannot describe an array of shape ", into.shape()};
  require<IoError>(H5Dread(set, memory, here, space, H5P_DEFAULT, into.host_data()) >= 0,
                   "cannot read '", path, "': HDF5 refuses, the file may be damaged");
}

}  // namespace
}  // namespace tessera::store

// The one function that libtessera looks for in this library.
extern "C" TESSERA_API const tessera::store::Hdf5Backend* tessera_hdf5() {
  using namespace tessera::store;
  static const std::string tag = hdf5_abi_tag();
  static const Hdf5Backend backend{tag.c_str(), open_dataset, create_file, describe_dataset,
                                   read_dataset};
  return &backend;
}
