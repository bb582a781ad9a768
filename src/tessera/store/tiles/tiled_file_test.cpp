// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/tiled_file.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "support/files.hpp"
#include "support/tile_stores.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/store/io/io_engine.hpp"
#include "tessera/store/tiles/tiled_header.hpp"

namespace tessera::store {
namespace {

std::string new_tiles(const std::string& name = "a.tiles") {
  std::filesystem::remove(path_of(name));
  return path_of(name);
}

// Both engines where the kernel allows both, each with and without the page cache.
std::vector<TiledFileOptions> every_way() {
  std::vector<TiledFileOptions> out;
  for (const IoEngine::Kind kind : {IoEngine::Kind::threads, IoEngine::Kind::automatic}) {
    const auto engine = std::make_shared<IoEngine>(kind, i64{8} << 20);
    for (const bool direct : {false, true})
      for (const bool column_major : {false, true})
        out.push_back({.reserve = column_major,
                       .column_major = column_major,
                       .direct = direct,
                       .engine = engine});
  }
  return out;
}

TEST(TiledFile, HoldsWhatMemoryHolds) {
  for (const TiledFileOptions& way : every_way())
    check_store([&](const TileGrid& g) { return create_tiled_file(new_tiles(), g, way); },
                [&] { return open_tiled_file(path_of("a.tiles"), false, way); }, 3);
}

// Tiles and boxes of megabytes: straight, past the page cache, in several pieces.
TEST(TiledFile, HoldsLargeTiles) {
  for (const TiledFileOptions& way : every_way())
    for (const auto& [shape, tile] : {std::pair<Shape, Shape>{{600, 700}, {256, 512}},
                                      {{1027, 631}, {1027, 631}},
                                      {{3, 200, 260}, {2, 128, 256}}}) {
      const auto store = create_tiled_file(new_tiles(), TileGrid(shape, tile, DType::f64), way);
      StoreChecker checker(*store, 3);
      checker.run(2);
      for (i64 t = 0; t < store->grid().tiles(); ++t) {
        const Box box = store->grid().tile(t);
        const Array into = Array::empty(box.shape, DType::f64);
        into.fill(Value(-1.0));
        store->read(box, into).wait();
        EXPECT_EQ(bytes_of_array(into), bytes_of_array(read_box(*checker.memory(), box)));
      }
      store->flush();
      checker.same(*open_tiled_file(path_of("a.tiles"), false, way));
      // A column and a row of one element.
      Box line{Shape(shape.size(), 0), Shape(shape.size(), 1)};
      for (i64 d = 0; d < shape.size(); ++d) {
        Box one = line;
        one.shape[d] = shape[d];
        checker.write(one);
        checker.read(one);
      }
    }
}

// What is said before a read is what the file gives: boxes of all kinds into dense memory and into
// columns.
TEST(TiledFile, SaysHowManyBytesAReadTakes) {
  for (const TiledFileOptions& way : every_way()) {
    const TileGrid grid({1400, 1100}, {1024, 600}, DType::f64);
    const auto file = create_tiled_file(new_tiles(), grid, way);
    write_box(*file, grid.whole(),
              Array::scalar(Value(1.0), DType::f64).broadcast_to(grid.shape()));
    for (const Box& box :
         {Box{{0, 0}, {1400, 1100}}, Box{{0, 0}, {1024, 600}}, Box{{5, 7}, {1, 1}},
          Box{{100, 3}, {900, 20}}, Box{{100, 590}, {900, 400}}, Box{{1000, 0}, {30, 600}},
          Box{{17, 100}, {1300, 500}}, Box{{4, 4}, {0, 7}}})
      for (const bool by_columns : {false, true}) {
        Array into =
            Array::empty(by_columns ? Shape{box.shape[1], box.shape[0]} : box.shape, DType::f64);
        if (by_columns) into = into.transpose();
        const i64 before = io_traffic().read, said = file->bytes_to_read(box, into.layout());
        file->read(box, into).wait();
        const i64 read = io_traffic().read - before;
        // Memory that lies otherwise within its blocks goes through buffers of whole blocks.
        EXPECT_GE(read, box.size() * size_of(DType::f64)) << to_text(box);
        EXPECT_NEAR(double(read), double(said), 0.02 * double(said) + 2 * 4096) << to_text(box);
        if (way.direct == false && by_columns) {
          EXPECT_EQ(read, said) << to_text(box);
        }
        if (way.direct == true && !way.column_major) {
          EXPECT_EQ(tiled_bytes_to_read(grid, box, into.layout()), said) << to_text(box);
        }
      }
  }
}

TEST(TiledFile, TilesAreWhereTheHeaderSays) {
  const TileGrid grid({5, 7}, {2, 4}, DType::i16);
  const TiledHeader header{grid};
  i64 at = 4096;
  for (i64 t = 0; t < grid.tiles(); ++t, at += 4096) EXPECT_EQ(header.tile_offset(t), at);
  EXPECT_EQ(header.file_bytes(), at);
  const TiledHeader large{TileGrid({1500, 1100}, {1024, 512}, DType::f64)};
  i64 sum = 4096;
  for (i64 t = 0; t < large.grid.tiles(); ++t) {
    EXPECT_EQ(large.tile_offset(t), sum);
    sum += (large.grid.tile(t).size() * 8 + 4095) / 4096 * 4096;
  }
  EXPECT_EQ(large.file_bytes(), sum);
  const auto store = create_tiled_file(new_tiles(), grid);
  write_box(*store, {{4, 4}, {1, 3}}, Array::of<std::int16_t>({7, 8, 9}).reshape({1, 3}));
  store->flush();
  const std::string bytes = read_all(path_of("a.tiles"));
  ASSERT_EQ(static_cast<i64>(bytes.size()), header.file_bytes());
  EXPECT_EQ(bytes.substr(0, 8), "TSRTILES");
  EXPECT_EQ(bytes.substr(6 * 4096, 6), std::string("\7\0\10\0\11\0", 6));
}

TEST(TiledFile, SaysWhatItsNumbersStandFor) {
  const TileGrid grid({5, 7}, {2, 4}, DType::f32);
  for (const std::string& about :
       {std::string(), std::string("matrix Triangular 7"), std::string(256, 'a')}) {
    EXPECT_EQ(create_tiled_file(new_tiles(), grid, {.about = about})->about(), about);
    EXPECT_EQ(open_tiled_file(path_of("a.tiles"))->about(), about);
  }
  EXPECT_THROW(create_tiled_file(new_tiles("b.tiles"), grid, {.about = std::string(257, 'a')}),
               ArgumentError);
  EXPECT_FALSE(std::filesystem::exists(path_of("b.tiles")));
}

TEST(TiledFile, RefusesWithASentence) {
  const TileGrid grid({5, 7}, {2, 4}, DType::f32);
  const std::string path = new_tiles();
  EXPECT_THROW(open_tiled_file(path), IoError);
  create_tiled_file(path, grid);
  EXPECT_TRUE(has(thrown_text<IoError>([&] { create_tiled_file(path, grid); }), "exists"));
  const auto fixed = open_tiled_file(path);
  EXPECT_FALSE(fixed->writable());
  EXPECT_TRUE(has(thrown_text<IoError>([&] {
                    (void)fixed->write({{0, 0}, {1, 1}}, Array::empty({1, 1}, DType::f32));
                  }),
                  "read only"));
  EXPECT_THROW(fixed->read({{4, 0}, {2, 1}}, Array::empty({2, 1}, DType::f32)), IndexError);
  EXPECT_THROW(fixed->read({{0, 0}, {2, 1}}, Array::empty({2, 1}, DType::f64)), DTypeError);
  const Array asleep(Storage::adopt(cpu, Array::empty({1}, DType::f32).data(), 4, {}, false),
                     Layout::contiguous({1, 1}), DType::f32);
  EXPECT_THROW(fixed->read({{0, 0}, {1, 1}}, asleep), ArgumentError);
  // No space: a size beyond any disk, and nothing is left behind.
  const TileGrid endless({i64{1} << 50}, {i64{1} << 22}, DType::f64);
  const std::string none = new_tiles("none.tiles");
  EXPECT_THROW(create_tiled_file(none, endless), IoError);
  EXPECT_FALSE(std::filesystem::exists(none));
}

TEST(TiledFile, AnyDamagedByteOfTheHeaderIsNoticed) {
  const std::string path = new_tiles();
  create_tiled_file(path, TileGrid({5, 7}, {2, 4}, DType::f32));
  const std::string good = read_all(path);
  for (std::size_t at = 0; at < 4096; at += at < 1200 ? 1 : 61) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    EXPECT_THROW(TiledHeader::decode(std::as_bytes(std::span(bad)), "x"), IoError) << at;
  }
  std::filesystem::resize_file(path, good.size() - 1);
  EXPECT_TRUE(has(thrown_text<IoError>([&] { open_tiled_file(path); }), "cut off"));
  std::filesystem::resize_file(path, 100);
  EXPECT_THROW(open_tiled_file(path), IoError);
}

TEST(TiledFile, AFileThatShrinksIsSaid) {
  for (const TiledFileOptions& way : every_way()) {
    const std::string path = new_tiles();
    const auto store =
        create_tiled_file(path, TileGrid({1024, 1024}, {512, 1024}, DType::f64), way);
    std::filesystem::resize_file(path, 5 << 20);
    EXPECT_NO_THROW(read_box(*store, store->grid().tile(0)));
    EXPECT_TRUE(has(thrown_text<IoError>([&] { read_box(*store, store->grid().tile(1)); }),
                    "became shorter"));
  }
}

// At every n-th call: the data is right in the end, or the failure is said and nothing hangs.
TEST(TiledFile, SurvivesFaultsAtEveryCall) {
  for (const TiledFileOptions& way : every_way()) {
    const TileGrid grid({300, 150}, {128, 128}, DType::f64);
    for (const IoFault fault : {IoFault::short_call, IoFault::interrupted, IoFault::io_error,
                                IoFault::disk_full, IoFault::ended})
      for (const i64 nth : {1, 2, 3, 7}) {
        if (fault == IoFault::interrupted && nth == 1) continue;  // for ever
        const auto store = create_tiled_file(new_tiles(), grid, way);
        std::atomic<i64> calls{0};
        way.engine->inject([&, nth, fault](const IoRequest&) {
          return ++calls % nth == 0 ? fault : IoFault::none;
        });
        StoreChecker checker(*store, 5);
        if (fault == IoFault::short_call || fault == IoFault::interrupted) {
          checker.run(2);
        } else {
          const std::string said = thrown_text<IoError>([&] {
            for (int k = 0; k < 9; ++k) {
              checker.write(grid.whole());
              checker.read(grid.whole());
            }
          });
          EXPECT_TRUE(has(said, "a.tiles")) << said;
        }
        way.engine->inject({});
        if (::testing::Test::HasFatalFailure()) return;
        StoreChecker after(*store, 6);
        after.run(1);
        EXPECT_EQ(way.engine->under_way(), 0);
      }
  }
}

TEST(TiledFile, ServesThreadsAtOnce) {
  for (const TiledFileOptions& way : every_way()) {
    const TileGrid grid({640, 512}, {128, 512}, DType::f64);
    const auto store = create_tiled_file(new_tiles(), grid, way);
    std::vector<std::thread> threads;
    for (i64 t = 0; t < grid.tiles(); ++t)
      threads.emplace_back([&, t] {
        for (int k = 0; k < 4; ++k) {
          const Array a = Array::empty(grid.tile(t).shape, DType::f64);
          a.fill(Value(static_cast<double>(10 * t + k)));
          // By halves, of rows and of columns.
          Box half = grid.tile(t);
          half.shape[k % 2] /= 2;
          write_box(*store, grid.tile(t), a);
          write_box(*store, half, a.slice(k % 2, 0, half.shape[k % 2]));
          const Array b = read_box(*store, half);
          EXPECT_EQ(b.host<double>()[b.size() - 1], static_cast<double>(10 * t + k));
        }
      });
    for (std::thread& t : threads) t.join();
    for (i64 t = 0; t < grid.tiles(); ++t) {
      const Array b = read_box(*store, grid.tile(t));
      for (i64 k = 0; k < b.size(); ++k)
        ASSERT_EQ(b.host<double>()[k], static_cast<double>(10 * t + 3));
    }
  }
}

TEST(TiledFile, WhoWaitedHoldsTheArrayAlone) {
  for (const TiledFileOptions& way : every_way()) {
    const TileGrid grid({640, 512}, {128, 512}, DType::f64);
    const auto store = create_tiled_file(new_tiles(), grid, way);
    for (int k = 0; k < 300; ++k) {
      const i64 before = memory_stats(cpu).in_use;
      read_box(*store, grid.whole());
      ASSERT_EQ(memory_stats(cpu).in_use, before) << k;
    }
  }
}

TEST(TiledFile, DroppedTransfersEndByThemselves) {
  const TileGrid grid({2048, 1024}, {256, 1024}, DType::f64);
  const auto store = create_tiled_file(new_tiles(), grid);
  {
    const Array a = Array::empty(grid.shape(), DType::f64);
    a.fill(Value(4.0));
    (void)store->write(grid.whole(), a);
  }
  store->flush();
  EXPECT_EQ(read_box(*store, {{2047, 1023}, {1, 1}}).item().as<double>(), 4.0);
}

}  // namespace
}  // namespace tessera::store
