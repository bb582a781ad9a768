// SPDX-License-Identifier: Apache-2.0
#pragma once
// A store beside memory_store: the same boxes written and read through arrays of awkward layouts,
// for every dtype and shapes of no to three axes, none a multiple of its tiles. Bytes are compared,
// so that NaN is a value as any other.
//   check_store([&](const TileGrid& g) { return create_tiled_file(fresh_name(), g); });

#include <cstdlib>
#include <functional>
#include <random>

#include "support/arrays.hpp"
#include "tessera/store/tiles/tile_store.hpp"

namespace tessera::store {

using MakeStore = std::function<std::shared_ptr<TileStore>(const TileGrid&)>;

inline constexpr DType every_dtype[] = {
    DType::b1,  DType::i8,  DType::i16, DType::i32,  DType::i64, DType::u8,  DType::u16, DType::u32,
    DType::u64, DType::f16, DType::f32, DType::bf16, DType::f64, DType::c64, DType::c128};

// An array of a layout whose memory, gaps as well, holds `with`. It begins at a page, as large
// arrays do, so that small ones go past the page cache too.
inline Array awkward_array(const Shape& shape, DType dtype, Lay lay, int with) {
  i64 size = 0;
  const Layout layout = layout_of(shape, lay, &size);
  const i64 bytes = size * size_of(dtype);
  void* pages = std::aligned_alloc(4096, static_cast<std::size_t>(bytes / 4096 + 1) * 4096);
  const Storage storage = Storage::adopt(cpu, pages, bytes, [pages] { std::free(pages); });
  std::memset(storage.data(), with, static_cast<std::size_t>(storage.bytes()));
  return {storage, layout, dtype};
}

inline std::vector<std::byte> bytes_of_array(const Array& a) {
  const i64 item = size_of(a.dtype());
  std::vector<std::byte> out(static_cast<std::size_t>(a.bytes()));
  const auto* first = static_cast<const std::byte*>(a.storage().data());
  for_each_offset(a.layout(), [&](i64 k, i64 offset) {
    std::memcpy(out.data() + k * item, first + offset * item, static_cast<std::size_t>(item));
  });
  return out;
}

class StoreChecker {
 public:
  StoreChecker(TileStore& store, unsigned seed)
      : store_(store),
        random_(seed),
        model_(Array::empty(store.grid().shape(), store.grid().dtype())) {}

  Box random_box() {
    Box box;
    for (const i64 n : store_.grid().shape()) {
      const i64 length = std::uniform_int_distribution<i64>(random_() % 4 == 0 ? n : 0, n)(random_);
      box.begin.push_back(std::uniform_int_distribution<i64>(0, n - length)(random_));
      box.shape.push_back(length);
    }
    return box;
  }
  Lay random_lay() { return all_lays[random_() % 4]; }

  void write(const Box& box) {
    const Array from = awkward_array(box.shape, store_.grid().dtype(), random_lay(), 0);
    auto* bytes = static_cast<unsigned char*>(from.storage().data());
    for (i64 k = 0; k < from.storage().bytes(); ++k)
      bytes[k] = static_cast<unsigned char>(from.dtype() == DType::b1 ? random_() % 2 : random_());
    store_.write(box, from).wait();
    write_box(*memory(), box, from);
  }
  void read(const Box& box) {
    const Array into = awkward_array(box.shape, store_.grid().dtype(), random_lay(), 0xFF);
    store_.read(box, into).wait();
    ASSERT_EQ(bytes_of_array(into), bytes_of_array(read_box(*memory(), box)))
        << store_.describe() << " " << to_text(box);
  }
  std::shared_ptr<TileStore> memory() const {
    return memory_store(model_, store_.grid().tile_shape());
  }
  void write_every_tile() {
    for (i64 t = 0; t < store_.grid().tiles(); ++t) write(store_.grid().tile(t));
  }
  void run(int rounds) {
    write_every_tile();
    read(store_.grid().whole());
    for (int k = 0; k < rounds && !::testing::Test::HasFatalFailure(); ++k) {
      read(random_box());
      write(random_box());
    }
    read(store_.grid().whole());
  }
  // Another store of the same numbers, for instance the file opened again.
  void same(TileStore& other) {
    const Box all = other.grid().whole();
    ASSERT_EQ(bytes_of_array(read_box(other, all)), bytes_of_array(model_)) << other.describe();
  }

 private:
  TileStore& store_;
  std::mt19937 random_;
  Array model_;
};

inline std::vector<TileGrid> awkward_grids(DType dtype) {
  std::vector<TileGrid> out;
  for (const auto& [shape, tile] : {std::pair<Shape, Shape>{{}, {}},
                                    {{1}, {1}},
                                    {{0}, {3}},
                                    {{1037}, {100}},
                                    {{13, 29}, {4, 5}},
                                    {{13, 29}, {13, 1}},
                                    {{5, 0}, {2, 2}},
                                    {{70, 90}, {64, 128}},
                                    {{6, 7, 9}, {4, 3, 2}}})
    out.emplace_back(shape, tile, dtype);
  return out;
}

// `again`: the same file opened anew, or null where there is none.
inline void check_store(const MakeStore& make,
                        const std::function<std::shared_ptr<TileStore>()>& again, int rounds = 6) {
  unsigned seed = 1;
  for (const DType dtype : every_dtype)
    for (const TileGrid& grid : awkward_grids(dtype)) {
      const auto store = make(grid);
      ASSERT_EQ(store->grid(), grid);
      StoreChecker checker(*store, ++seed);
      checker.run(rounds);
      store->flush();
      if (again) checker.same(*again());
      if (::testing::Test::HasFatalFailure()) return;
    }
}

}  // namespace tessera::store
