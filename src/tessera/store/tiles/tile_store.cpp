// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/tile_store.hpp"

#include <memory>
#include <vector>

#include "tessera/base/hash.hpp"

namespace tessera::store {

void check_transfer(std::string_view who, const TileGrid& grid, const Box& box,
                    const Array& array) {
  grid.check(who, box);
  require<ShapeError>(array.shape() == box.shape, who, ": the box ", to_text(box),
                      " needs an array of shape ", tessera::to_text(box.shape), ", got ",
                      tessera::to_text(array.shape()));
  require<DTypeError>(array.dtype() == grid.dtype(), who, ": the tiles hold ", name(grid.dtype()),
                      ", the array ", name(array.dtype()));
  require<DeviceError>(array.device() == cpu, who,
                       ": tiles pass through host memory, the array is on ", array.device().str());
}

i64 TileStore::bytes_to_read(const Box& box, const Layout&) const {
  return box.size() * size_of(grid().dtype());
}

Array read_box(TileStore& store, const Box& box) {
  Array out = Array::empty(box.shape, store.grid().dtype());
  store.read(box, out).wait();
  return out;
}

void write_box(TileStore& store, const Box& box, const Array& from) {
  store.write(box, from).wait();
}

std::string version_of_numbers(const TileGrid& grid, const ReadBox& read) {
  constexpr i64 at_a_time = i64{1} << 20;
  const TileGrid rows = TileGrid::rows(grid.shape(), grid.dtype(), at_a_time);
  // Memory that no budget counts: none is too small to know what was computed from what.
  const std::size_t most = static_cast<std::size_t>(rows.tile_bytes()), page = 4096;
  std::vector<std::byte> memory(most + page);
  std::size_t room = memory.size();
  void* data = memory.data();
  std::align(page, most, data, room);
  std::uint64_t sum = 0;
  for (i64 t = 0; t < rows.tiles(); ++t) {
    const Box box = rows.tile(t);
    const i64 bytes = box.size() * size_of(grid.dtype());
    read(box,
         Array(Storage::adopt(cpu, data, bytes, {}), Layout::contiguous(box.shape), grid.dtype()));
    const std::uint64_t both[] = {sum, hash_bytes(data, static_cast<std::size_t>(bytes))};
    sum = hash_bytes(both, sizeof both);
  }
  return cat("numbers ", grid.shape(), " ", name(grid.dtype()), ", hash ", sum);
}

namespace {

class MemoryStore final : public TileStore {
 public:
  MemoryStore(Array array, const Shape& tile)
      : array_(std::move(array)), grid_(array_.shape(), tile, array_.dtype()) {
    require<DeviceError>(array_.device() == cpu, "memory_store: tiles pass through host memory, ",
                         "the array is on ", array_.device().str());
  }
  const TileGrid& grid() const override { return grid_; }
  std::string describe() const override {
    return cat("memory, ", tessera::to_text(grid_.shape()), " ", name(grid_.dtype()));
  }
  bool writable() const override { return true; }
  bool on_disk() const override { return false; }
  std::string version() const override {
    array_.host_data();  // what is under way has ended
    return version_of_numbers(
        grid_, [&](const Box& box, const Array& into) { into.copy_from(in_memory(box)); });
  }
  Transfer read(const Box& box, const Array& into) override {
    check_transfer("read", grid_, box, into);
    into.copy_from(in_memory(box));
    return {};
  }
  Transfer write(const Box& box, const Array& from) override {
    check_transfer("write", grid_, box, from);
    in_memory(box).copy_from(from);
    return {};
  }
  Array in_memory(const Box& box) const override {
    Array v = array_;
    for (i64 d = 0; d < box.begin.size(); ++d)
      v = v.slice(d, box.begin[d], box.begin[d] + box.shape[d]);
    return v;
  }

 private:
  Array array_;
  TileGrid grid_;
};

class GeneratedStore final : public TileStore {
 public:
  GeneratedStore(std::string name, TileGrid grid, MakeTile make)
      : name_(std::move(name)), grid_(std::move(grid)), make_(std::move(make)) {}
  const TileGrid& grid() const override { return grid_; }
  std::string describe() const override {
    return cat("made by ", name_, ", ", tessera::to_text(grid_.shape()), " ", name(grid_.dtype()));
  }
  bool writable() const override { return false; }
  bool on_disk() const override { return false; }
  Transfer read(const Box& box, const Array& into) override {
    check_transfer("read", grid_, box, into);
    if (box.size() > 0) make_(box, into);
    return {};
  }
  Transfer write(const Box&, const Array&) override {
    throw IoError(cat("write: what ", name_, " makes is not kept; write into a file or memory"));
  }

 private:
  std::string name_;
  TileGrid grid_;
  MakeTile make_;
};

}  // namespace

std::shared_ptr<TileStore> memory_store(Array array, const Shape& tile) {
  return std::make_shared<MemoryStore>(std::move(array), tile);
}

std::shared_ptr<TileStore> generated_store(std::string name, TileGrid grid, MakeTile make) {
  return std::make_shared<GeneratedStore>(std::move(name), std::move(grid), std::move(make));
}

}  // namespace tessera::store
