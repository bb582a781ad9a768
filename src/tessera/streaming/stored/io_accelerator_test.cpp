// SPDX-License-Identifier: Apache-2.0
// What prefetching, discarding and hints do is seen in the pages that the system holds and in the
// bytes that the process read from the disk.
#include "tessera/streaming/stored/io_accelerator.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "support/arrays.hpp"
#include "support/distances.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/store/tiles/tiled_file.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 accelerated_tile = i64{2} << 20, accelerated_tiles = 9;

// Nine tiles of 2 MiB, one below the other, on disk and not in memory.
StoredArray new_rows() {
  const std::string path = path_of("rows.tiles");
  std::remove(path.c_str());
  const Shape shape{256 * accelerated_tiles, 1024}, tile{256, 1024};
  const auto store = store::create_tiled_file(path, store::TileGrid(shape, tile, DType::f64));
  for (i64 t = 0; t < accelerated_tiles; ++t) {
    const Array numbers = Array::empty(tile, DType::f64);
    numbers.fill(Value(static_cast<double>(t)));
    store::write_box(*store, store->grid().tile(t), numbers);
  }
  store->flush();
  store->discard(store->grid().whole());
  return StoredArray(store);
}
Box tile_box(i64 t) { return {{256 * t, 0}, {256, 1024}}; }

// What is read ahead arrives some time later.
bool comes_true(const std::function<bool()>& condition) {
  for (int k = 0; k < 500; ++k) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// Tiles that are wholly in memory.
std::vector<i64> near_tiles(const IOAccelerator& io) {
  std::vector<i64> all;
  for (i64 t = 0; t < accelerated_tiles; ++t)
    if (io.resident(tile_box(t)) == accelerated_tile) all.push_back(t);
  return all;
}
i64 resident_in_all(const IOAccelerator& io) {
  return io.resident({{0, 0}, {256 * accelerated_tiles, 1024}});
}

i64 bytes_from_disk() {
  std::ifstream in("/proc/self/io");
  std::string word;
  i64 number = -1;
  while (in >> word >> number)
    if (word == "read_bytes:") return number;
  return -1;
}

// A file system in memory never drops pages: there is nothing to see there.
bool drops_pages() {
  const IOAccelerator io(new_rows());
  return resident_in_all(io) == 0;
}

TEST(IOAccelerator, PrefetchBringsWholeTilesAndDiscardDropsThem) {
  if (!drops_pages()) GTEST_SKIP() << "this file system keeps its pages in memory";
  const StoredArray a = new_rows();
  const IOAccelerator io(a);
  EXPECT_EQ(resident_in_all(io), 0);
  clear_tag(Channel::io);
  tag_kernel("cpu", "before");
  const i64 before = bytes_from_disk();
  io.prefetch({{300, 5}, {400, 1}});  // tiles 1 and 2
  EXPECT_EQ(last_tag(Channel::io), "io.prefetch");
  EXPECT_TRUE(comes_true([&] { return near_tiles(io) == std::vector<i64>{1, 2}; }));
  EXPECT_EQ(resident_in_all(io), 2 * accelerated_tile);
  const i64 fetched = bytes_from_disk();
  if (before >= 0 && fetched > before) {  // some systems do not count
    EXPECT_GE(fetched - before, 2 * accelerated_tile);
    EXPECT_LT(fetched - before, 3 * accelerated_tile);
    EXPECT_EQ(a.read(tile_box(1)).host<double>()[0], 1.0);  // from memory: nothing is read again
    EXPECT_LT(bytes_from_disk() - fetched, accelerated_tile / 4);
    EXPECT_EQ(a.read(tile_box(5)).host<double>()[0], 5.0);
    EXPECT_GE(bytes_from_disk() - fetched, accelerated_tile);
  }
  io.discard(tile_box(1));
  EXPECT_EQ(last_tag(Channel::io), "io.discard");
  EXPECT_EQ(last_tag(Channel::kernel), "cpu.before");
  EXPECT_EQ(near_tiles(io), std::vector<i64>{2});
  io.discard({{0, 0}, {256 * accelerated_tiles, 1024}});
  EXPECT_EQ(resident_in_all(io), 0);
}

TEST(IOAccelerator, WhatWasWrittenSurvivesDiscarding) {
  const StoredArray a = new_rows();
  const IOAccelerator io(a);
  io.prefetch(tile_box(3));
  a.write(tile_box(3), Array::scalar(Value(33.0), DType::f64));  // into the page cache
  io.discard(tile_box(3));
  const Array back = a.read(tile_box(3));
  for (i64 k = 0; k < back.size(); ++k) ASSERT_EQ(back.host<double>()[k], 33.0);
  io.flush();
  EXPECT_EQ(StoredArray::open(path_of("rows.tiles")).read(tile_box(3)).host<double>()[9], 33.0);
}

TEST(IOAccelerator, EveryHintIsHonoured) {
  if (!drops_pages()) GTEST_SKIP() << "this file system keeps its pages in memory";
  using Tiles = std::vector<i64>;
  const auto near_after = [](Access pattern, const Tiles& read, const Tiles& expected) {
    const StoredArray a = new_rows();
    const IOAccelerator io(a);
    if (pattern == Access::once) io.prefetch({{0, 0}, {256 * accelerated_tiles, 1024}});
    io.hint(pattern);
    for (const i64 t : read)
      EXPECT_EQ(a.read(tile_box(t)).host<double>()[7], static_cast<double>(t));
    EXPECT_TRUE(comes_true([&] { return near_tiles(io) == expected; }))
        << static_cast<int>(pattern) << " after " << read.size();
  };
  near_after(Access::normal, {4}, {});
  near_after(Access::random, {4, 2, 7}, {});
  near_after(Access::sequential, {4}, {5});
  near_after(Access::sequential, {0, 1, 2}, {1, 2, 3});
  near_after(Access::sequential, {8}, {});  // there is none behind
  near_after(Access::reverse, {4}, {3});
  near_after(Access::reverse, {1, 0}, {0});
  near_after(Access::strided, {1}, {});
  near_after(Access::strided, {1, 4}, {7});
  near_after(Access::strided, {8, 6, 4}, {2, 4});
  near_after(Access::once, {0, 1, 2}, {2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(access_from("strided"), Access::strided);
  EXPECT_TRUE(has(thrown_text<ArgumentError>([] { access_from("often"); }), "sequential"));
}

TEST(IOAccelerator, FormulasMeanTheirSources) {
  if (!drops_pages()) GTEST_SKIP() << "this file system keeps its pages in memory";
  const StoredArray a = new_rows();
  const StoredArray f = a + StoredArray::from(random_on_host({1024}, DType::f64, 1));
  const IOAccelerator of_formula(f), io(a);
  of_formula.prefetch(tile_box(6));
  EXPECT_TRUE(comes_true([&] { return near_tiles(io) == std::vector<i64>{6}; }));
  of_formula.discard(tile_box(6));
  EXPECT_EQ(resident_in_all(io), 0);
  EXPECT_TRUE(f.is_formula());
}

TEST(IOAccelerator, RangesOutsideAndEmptyOnes) {
  const StoredArray a = new_rows();
  const IOAccelerator io(a);
  EXPECT_THROW(io.prefetch({{0, 0}, {256 * accelerated_tiles + 1, 1}}), IndexError);
  EXPECT_THROW(io.discard({{-1, 0}, {1, 1}}), IndexError);
  io.prefetch({{0, 0}, {0, 1024}});
  io.discard({{5, 5}, {5, 0}});
  EXPECT_EQ(io.resident({{5, 5}, {5, 0}}), 0);
  const StoredArray none = StoredArray::create({0, 7}, DType::f32);
  IOAccelerator(none).prefetch({{0, 0}, {0, 7}});
  const StoredArray one = StoredArray::create({}, DType::f32);
  IOAccelerator(one).prefetch({{}, {}});
  IOAccelerator(one).discard({{}, {}});
}

TEST(IOAccelerator, TracesWhatItDoes) {
  const std::string path = path_of("io.json");
  {
    TraceFile trace(path);
    const StoredArray a = new_rows();
    IOAccelerator(a).prefetch(tile_box(0));
    trace.close();
  }
  const std::string text = read_all(path);
  EXPECT_TRUE(has(text, "io.prefetch") && has(text, "io.discard"));
}

}  // namespace
}  // namespace tessera::streaming
