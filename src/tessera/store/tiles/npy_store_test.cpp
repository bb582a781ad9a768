// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/npy_store.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>

#include "support/files.hpp"
#include "support/tile_stores.hpp"
#include "tessera/array/npy.hpp"
#include "tessera/store/io/io_engine.hpp"
#include "tessera/store/tiles/open_store.hpp"

namespace tessera::store {
namespace {

std::string new_npy(const std::string& name = "a.npy") {
  std::filesystem::remove(path_of(name));
  return path_of(name);
}

// Both engines, with and without the page cache, by rows and by columns, with tiny and large tiles.
std::vector<NpyStoreOptions> every_npy_way() {
  std::vector<NpyStoreOptions> out;
  for (const IoEngine::Kind kind : {IoEngine::Kind::threads, IoEngine::Kind::automatic}) {
    const auto engine = std::make_shared<IoEngine>(kind, i64{8} << 20);
    for (const bool direct : {false, true})
      for (const bool fortran : {false, true})
        out.push_back({.fortran = fortran,
                       .direct = direct,
                       .engine = engine,
                       .tile_bytes = direct == fortran ? i64{300} : TileGrid::default_tile_bytes});
  }
  return out;
}

// What NumPy would read.
std::vector<std::byte> loaded_bytes(const std::string& path) {
  return bytes_of_array(load_npy(path));
}

TEST(NpyStore, HoldsWhatMemoryHolds) {
  for (const NpyStoreOptions& way : every_npy_way())
    for (const DType dtype : every_dtype)
      for (const TileGrid& grid : awkward_grids(dtype)) {
        const std::string path = new_npy();
        {
          const auto store = create_npy_store(path, grid.shape(), dtype, way);
          ASSERT_EQ(store->grid().shape(), grid.shape());
          ASSERT_EQ(store->grid().dtype(), dtype);
          const std::vector<std::byte> zeros = bytes_of_array(read_box(*store, grid.whole()));
          EXPECT_EQ(zeros, std::vector<std::byte>(zeros.size()));
        }
        const auto store = open_npy_store(path, true, way);
        StoreChecker checker(*store, static_cast<unsigned>(dtype) + 1);
        checker.run(3);
        if (::testing::Test::HasFatalFailure()) return;
        checker.same(*open_store(path));
        store->flush();
        ASSERT_EQ(loaded_bytes(path), bytes_of_array(read_box(*checker.memory(), grid.whole())));
        const std::string head = npy_header_text(dtype, grid.shape(), way.fortran);
        EXPECT_EQ(read_all(path).substr(0, head.size()), head);
      }
}

// Boxes of megabytes, whose numbers begin in the middle of a block.
TEST(NpyStore, HoldsLargeBoxes) {
  for (const NpyStoreOptions& way : every_npy_way()) {
    const std::string path = new_npy();
    const auto store = create_npy_store(path, {700, 1031}, DType::f64, way);
    StoreChecker checker(*store, 3);
    checker.write({{0, 0}, {700, 1031}});
    for (const Box& box :
         {Box{{0, 0}, {700, 1031}}, Box{{3, 0}, {650, 1031}}, Box{{0, 5}, {700, 900}},
          Box{{0, 1030}, {700, 1}}, Box{{699, 0}, {1, 1031}}}) {
      checker.read(box);
      checker.write(box);
      checker.read(box);
    }
    checker.read({{0, 0}, {700, 1031}});
    const Array dense = awkward_array({700, 1031}, DType::f64, Lay::dense, 0xFF);
    store->read(store->grid().whole(), dense).wait();
    EXPECT_EQ(bytes_of_array(dense),
              bytes_of_array(read_box(*checker.memory(), store->grid().whole())));
    ASSERT_EQ(loaded_bytes(path), bytes_of_array(dense));
  }
}

// A header as another program may have written it, and the bytes of the numbers.
std::string npy_bytes(int version, const std::string& text, const std::string& numbers) {
  std::string out("\x93NUMPY", 6);
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    out += static_cast<char>((text.size() >> (8 * i)) & 0xff);
  return out + text + numbers;
}
void put_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(NpyStore, TakesEveryVersionAndTheOtherByteOrder) {
  const std::string numbers("\0\1\0\2\0\3\0\4\0\5\0\6", 12);
  for (const int version : {1, 2, 3}) {
    const std::string path = new_npy(),
                      text = "{'shape': (2, 3), 'fortran_order': False, 'descr': '>i2'}";
    put_file(path, npy_bytes(version, text, numbers));
    const auto store = open_npy_store(path, true);
    const Array part = read_box(*store, {{0, 1}, {2, 2}}).contiguous();
    const std::vector<std::int16_t> got(part.host<std::int16_t>(), part.host<std::int16_t>() + 4);
    EXPECT_EQ(got, (std::vector<std::int16_t>{2, 3, 5, 6}));
    write_box(*store, {{1, 1}, {1, 1}}, Array::of<std::int16_t>({0x0708}).reshape({1, 1}));
    store->flush();
    EXPECT_EQ(read_all(path),
              npy_bytes(version, text, std::string("\0\1\0\2\0\3\0\4\7\10\0\6", 12)));
  }
}

TEST(NpyStore, BytesThatAreNotZeroAreTrue) {
  const std::string path = new_npy();
  put_file(path, npy_bytes(1, "{'descr': '|b1', 'fortran_order': True, 'shape': (3,)}",
                           std::string("\0\5\1", 3)));
  const Array x = read_box(*open_npy_store(path), {{0}, {3}});
  EXPECT_EQ(bytes_of_array(x), (std::vector<std::byte>{std::byte{0}, std::byte{1}, std::byte{1}}));
}

TEST(NpyStore, RefusesWithASentence) {
  const std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}";
  const std::string good = npy_bytes(1, text, std::string(16, '\0'));
  const std::string path = new_npy();
  EXPECT_THROW(open_npy_store(path), IoError);
  for (std::size_t n = 0; n < good.size(); ++n) {
    put_file(path, good.substr(0, n));
    const std::string said = thrown_text<IoError>([&] { open_store(path); });
    EXPECT_TRUE(has(said, "a.npy")) << n << said;
  }
  put_file(path, good);
  const auto fixed = open_npy_store(path);
  EXPECT_FALSE(fixed->writable());
  EXPECT_TRUE(has(thrown_text<IoError>([&] {
                    (void)fixed->write({{0}, {1}}, Array::empty({1}, DType::f64));
                  }),
                  "read only"));
  EXPECT_THROW(fixed->read({{1}, {2}}, Array::empty({2}, DType::f64)), IndexError);
  EXPECT_THROW(fixed->read({{1}, {1}}, Array::empty({1}, DType::f32)), DTypeError);
  EXPECT_TRUE(
      has(thrown_text<IoError>([&] { create_npy_store(path, {2}, DType::f64); }), "exists"));
  EXPECT_EQ(read_all(path), good);
  put_file(path, npy_bytes(1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "12"));
  EXPECT_TRUE(has(thrown_text<IoError>([&] { open_npy_store(path); }), "Python objects"));
  const std::string none = new_npy("none.npy");
  EXPECT_THROW(create_npy_store(none, {i64{1} << 50}, DType::f64), IoError);
  EXPECT_FALSE(std::filesystem::exists(none));
  EXPECT_THROW(create_npy_store(none, {(i64{1} << 60) - 1}, DType::f64), Error);
  put_file(path_of("a.text"), "no numbers at all");
  EXPECT_TRUE(has(thrown_text<IoError>([&] { open_store(path_of("a.text")); }), "in place"));
}

TEST(NpyStore, AFileThatShrinksIsSaid) {
  for (const NpyStoreOptions& way : every_npy_way()) {
    const std::string path = new_npy();
    const auto store = create_npy_store(path, {600000}, DType::f64, way);
    std::filesystem::resize_file(path, 1 << 20);
    EXPECT_NO_THROW(read_box(*store, {{0}, {1000}}));
    EXPECT_TRUE(has(thrown_text<IoError>([&] {
                      read_box(*store, {{500}, {500000}});
                    }),
                    "became shorter"));
    EXPECT_TRUE(has(thrown_text<IoError>([&] {
                      (void)store->write({{500000}, {1}}, Array::empty({1}, DType::f64));
                    }),
                    "cut off"));
    EXPECT_EQ(std::filesystem::file_size(path), 1u << 20);
  }
}

// At every n-th call: the numbers are right in the end, or the failure is said, nothing hangs, and
// the header, the length and what was not written stay as they were.
TEST(NpyStore, SurvivesFaultsAtEveryCall) {
  for (const NpyStoreOptions& way : every_npy_way())
    for (const IoFault fault : {IoFault::short_call, IoFault::interrupted, IoFault::io_error,
                                IoFault::disk_full, IoFault::ended})
      for (const i64 nth : {2, 3, 7}) {
        const std::string path = new_npy();
        const auto store = create_npy_store(path, {300, 150}, DType::f64, way);
        StoreChecker checker(*store, 5);
        checker.write(store->grid().whole());
        const std::string before = read_all(path);
        const Box rows{{way.fortran ? 0 : 100, way.fortran ? 50 : 0},
                       {way.fortran ? 300 : 100, way.fortran ? 50 : 150}};
        std::atomic<i64> calls{0};
        way.engine->inject([&, nth, fault](const IoRequest&) {
          return ++calls % nth == 0 ? fault : IoFault::none;
        });
        if (fault == IoFault::short_call || fault == IoFault::interrupted) {
          checker.run(2);
        } else {
          const std::string said = thrown_text<IoError>([&] {
            for (int k = 0; k < 9; ++k) {
              checker.write(rows);
              checker.read(rows);
            }
          });
          EXPECT_TRUE(has(said, "a.npy")) << said;
          const std::string after = read_all(path);
          // The second third of the numbers, in both orders.
          const std::size_t third = 8 * 300 * 50, from = before.size() - 2 * third,
                            to = before.size() - third;
          ASSERT_EQ(after.size(), before.size());
          EXPECT_EQ(after.substr(0, from), before.substr(0, from));
          EXPECT_EQ(after.substr(to), before.substr(to));
        }
        way.engine->inject({});
        if (::testing::Test::HasFatalFailure()) return;
        StoreChecker again(*store, 6);
        again.run(1);
        EXPECT_EQ(way.engine->under_way(), 0);
      }
}

TEST(NpyStore, AHeaderThatCannotBeWrittenLeavesNoFile) {
  for (const NpyStoreOptions& way : every_npy_way()) {
    const std::string path = new_npy();
    way.engine->inject([](const IoRequest&) { return IoFault::disk_full; });
    EXPECT_TRUE(has(thrown_text<IoError>([&] { create_npy_store(path, {5}, DType::f64, way); }),
                    "the file system is full"));
    way.engine->inject({});
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST(NpyStore, HonoursHints) {
  const std::string path = new_npy();
  const auto store =
      create_npy_store(path, {64, 1000}, DType::f64, {.fortran = false, .tile_bytes = 1 << 16});
  StoreChecker checker(*store, 4);
  checker.write(store->grid().whole());
  for (const Access access : {Access::normal, Access::sequential, Access::strided, Access::reverse,
                              Access::random, Access::once}) {
    store->advise(access);
    for (i64 t = 0; t < store->grid().tiles(); ++t) {
      const i64 n = access == Access::reverse ? store->grid().tiles() - 1 - t : t;
      checker.read(store->grid().tile(n));
    }
    store->discard(store->grid().whole());
    store->prefetch({{3, 5}, {20, 10}});
    checker.write({{3, 5}, {20, 10}});
    checker.read(store->grid().whole());
  }
}

}  // namespace
}  // namespace tessera::store
