// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/hdf5_store.hpp"

#include <filesystem>

#include "support/distances.hpp"
#include "support/files.hpp"
#include "support/tile_stores.hpp"
#include "tessera/store/io/io_engine.hpp"
#include "tessera/store/tiles/open_store.hpp"

#define H5_USE_110_API
#include <hdf5.h>

namespace tessera::store {
namespace {

enum class Lies : std::uint8_t { piece, later, chunks, chunks_later, packed, turned };
constexpr Lies every_way_to_lie[] = {Lies::piece,        Lies::later,  Lies::chunks,
                                     Lies::chunks_later, Lies::packed, Lies::turned};

hid_t hdf5_type(DType t, bool turned) {
  switch (t) {
    case DType::i16: return H5Tcopy(turned ? H5T_STD_I16BE : H5T_STD_I16LE);
    case DType::f64: return H5Tcopy(turned ? H5T_IEEE_F64BE : H5T_IEEE_F64LE);
    case DType::b1: {
      const hid_t e = H5Tenum_create(H5T_STD_I8LE);
      const std::int8_t no = 0, yes = 1;
      H5Tenum_insert(e, "FALSE", &no);
      H5Tenum_insert(e, "TRUE", &yes);
      return e;
    }
    default: {
      const hid_t c = H5Tcreate(H5T_COMPOUND, 8);
      const hid_t part = turned ? H5T_IEEE_F32BE : H5T_IEEE_F32LE;
      H5Tinsert(c, "r", 0, part);
      H5Tinsert(c, "i", 4, part);
      return c;
    }
  }
}

// A file with a dataset of zeros that lies so; a chunk may be larger than what there is.
std::string new_hdf5(const Shape& shape, const Shape& chunk, DType t, Lies lies) {
  const std::string path = path_of("a.h5");
  std::filesystem::remove(path);
  std::vector<hsize_t> sizes(shape.begin(), shape.end()), chunks(chunk.begin(), chunk.end());
  const std::vector<hsize_t> endless(sizes.size(), H5S_UNLIMITED);
  const int ndim = static_cast<int>(sizes.size());
  const bool chunked = lies != Lies::piece && lies != Lies::later && lies != Lies::turned;
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT),
              space = ndim == 0 ? H5Screate(H5S_SCALAR)
                                : H5Screate_simple(ndim, sizes.data(),
                                                   chunked ? endless.data() : nullptr),
              type = hdf5_type(t, lies == Lies::turned), how = H5Pcreate(H5P_DATASET_CREATE);
  if (chunked) H5Pset_chunk(how, ndim, chunks.data());
  if (lies == Lies::packed) H5Pset_deflate(how, 1);
  const bool now = lies == Lies::piece || lies == Lies::chunks;
  H5Pset_alloc_time(how, now ? H5D_ALLOC_TIME_EARLY : H5D_ALLOC_TIME_LATE);
  const hid_t set = H5Dcreate2(file, "numbers", type, space, H5P_DEFAULT, how, H5P_DEFAULT);
  EXPECT_GE(set, 0);
  H5Dclose(set);
  H5Pclose(how);
  H5Tclose(type);
  H5Sclose(space);
  H5Fclose(file);
  return path;
}

// What the library reads.
std::vector<std::byte> hdf5_bytes(const std::string& path, DType t, i64 bytes) {
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT),
              set = H5Dopen2(file, "numbers", H5P_DEFAULT), type = hdf5_type(t, false);
  if (bytes > 0) {
    EXPECT_GE(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()), 0);
  }
  H5Tclose(type);
  H5Dclose(set);
  H5Fclose(file);
  return out;
}

TEST(Hdf5Store, HoldsWhatMemoryHolds) {
  const auto engine = std::make_shared<IoEngine>(IoEngine::Kind::threads, i64{8} << 20);
  for (const Lies lies : every_way_to_lie)
    for (const DType t : {DType::i16, DType::f64, DType::b1, DType::c64})
      for (const auto& [shape, chunk] : {std::pair<Shape, Shape>{{1037}, {100}},
                                         {{13, 29}, {4, 5}},
                                         {{6, 7, 9}, {4, 3, 2}},
                                         {{70, 90}, {64, 128}},
                                         {{5, 0}, {2, 2}},
                                         {{1}, {1}}}) {
        const std::string path = new_hdf5(shape, chunk, t, lies);
        for (const bool direct : {false, true}) {
          auto store = open_hdf5_store(
              path, "numbers", true,
              {.direct = direct, .engine = engine, .tile_bytes = direct ? 200 : 1 << 20});
          ASSERT_EQ(store->grid().shape(), shape);
          ASSERT_EQ(store->grid().dtype(), t);
          const bool by_library = has(store->describe(), "through the HDF5 library");
          if (count_of(shape) > 0 && t == DType::f64 && lies != Lies::chunks_later) {
            EXPECT_EQ(by_library, (lies == Lies::later && !direct) || lies == Lies::packed ||
                                      lies == Lies::turned)
                << store->describe();
          }
          StoreChecker checker(*store, 7);
          checker.run(4);
          if (::testing::Test::HasFatalFailure()) return;
          store->flush();
          const Array all = read_box(*checker.memory(), checker.memory()->grid().whole());
          store.reset();
          ASSERT_EQ(hdf5_bytes(path, t, all.bytes()), bytes_of_array(all));
          checker.same(*open_store(path));
        }
      }
}

TEST(Hdf5Store, SaysWhenItsNumbersWereChanged) {
  for (const Lies lies : every_way_to_lie) {
    const std::string path = new_hdf5({70, 90}, {64, 128}, DType::f64, lies);
    const auto version = [&] { return open_hdf5_store(path, "numbers", false, {})->version(); };
    const std::string before = version();
    EXPECT_FALSE(before.empty());
    EXPECT_EQ(version(), before);
    {
      const auto store = open_hdf5_store(path, "numbers", true, {});
      write_box(*store, {{3, 4}, {1, 1}}, Array::scalar(Value(7), DType::f64).reshape({1, 1}));
      store->flush();
    }
    EXPECT_NE(version(), before);
  }
}

TEST(Hdf5Store, NewFilesAreWrittenInPlace) {
  const std::string path = path_of("new.h5");
  std::filesystem::remove(path);
  create_hdf5_file(
      path, {{"x", {3, 5}, DType::c64}, {"g/none", {0, 2}, DType::b1}, {"s", {}, DType::i16}});
  const Array x = random_on_host({3, 5}, DType::c64, 1);
  write_box(*open_hdf5_store(path, "x", true), {{0, 0}, {3, 5}}, x);
  EXPECT_PRED2(same_bits, read_box(*open_hdf5_store(path, "x"), {{0, 0}, {3, 5}}), x);
  const auto none = open_hdf5_store(path, "g/none", true);
  EXPECT_EQ(none->grid().shape(), (Shape{0, 2}));
  EXPECT_TRUE(has(none->describe(), "HDF5 dataset 'g/none' of")) << none->describe();
  EXPECT_EQ(open_hdf5_store(path, "s")->grid().dtype(), DType::i16);
  EXPECT_TRUE(
      has(thrown_text<IoError>([&] { open_hdf5_store(path); }), "3 datasets (g/none, s, x)"));
  EXPECT_THROW(create_hdf5_file(path, {}), IoError);
  std::filesystem::remove(path);
  EXPECT_THROW(create_hdf5_file(path, {{"x", {1}, DType::f32}, {"x", {1}, DType::f32}}), IoError);
  std::filesystem::remove(path);
}

// Every link on the way to a dataset or a group, as UTF-8 or not.
std::vector<std::string> names_that_are_not_utf8(const std::string& path) {
  std::vector<std::string> found;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const auto note = [](hid_t, const char* name, const H5L_info_t* info, void* out) -> herr_t {
    if (info->cset != H5T_CSET_UTF8) static_cast<std::vector<std::string>*>(out)->push_back(name);
    return 0;
  };
  H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, note, &found);
  H5Fclose(file);
  return found;
}

TEST(Hdf5Store, NamesAreUtf8AndGroupsMayBeEmpty) {
  const std::string path = path_of("new.h5"), inside = "größe/κ/x";
  std::filesystem::remove(path);
  create_hdf5_file(path, {{"größe/κ/x", {2}, DType::f64}, {"naïve", {1}, DType::f32}},
                   {"größe/leer", "none", "größe"});
  EXPECT_EQ(names_that_are_not_utf8(path), std::vector<std::string>());
  EXPECT_TRUE(has(open_hdf5_store(path, inside)->describe(), inside));
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  for (const char* const name : {"größe/leer", "none"}) {
    const hid_t group = H5Gopen2(file, name, H5P_DEFAULT);
    EXPECT_GE(group, 0) << name;
    if (group >= 0) H5Gclose(group);
  }
  H5Fclose(file);
  // Neither a group nor a name below a dataset is one.
  for (const std::string other : {"größe", "none", "naïve/x", "q", "größe/q"})
    EXPECT_TRUE(has(thrown_text<IoError>([&] { open_hdf5_store(path, other); }),
                    cat("has no dataset '", other, "'; there are größe/κ/x, naïve")))
        << other;
  std::filesystem::remove(path);
  EXPECT_THROW(create_hdf5_file(path, {{"x", {1}, DType::f32}}, {"x"}), IoError);
  std::filesystem::remove(path);
}

TEST(Hdf5Store, RefusesWithASentence) {
  const std::string path = new_hdf5({13, 29}, {4, 5}, DType::f64, Lies::chunks);
  EXPECT_TRUE(has(thrown_text<IoError>([&] { open_store(path, false, "none"); }), "numbers"));
  const auto fixed = open_store(path, false, "numbers");
  EXPECT_TRUE(has(thrown_text<IoError>([&] {
                    (void)fixed->write({{0, 0}, {1, 1}}, Array::empty({1, 1}, DType::f64));
                  }),
                  "read only"));
  EXPECT_THROW(fixed->read({{12, 0}, {2, 1}}, Array::empty({2, 1}, DType::f64)), IndexError);
  const auto store = open_store(path, true);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_TRUE(
      has(thrown_text<IoError>([&] { read_box(*store, store->grid().whole()); }), "shorter"));
  EXPECT_TRUE(has(thrown_text<IoError>([&] {
                    (void)store->write({{0, 0}, {1, 1}}, Array::empty({1, 1}, DType::f64));
                  }),
                  "cut off"));
  EXPECT_THROW(open_store(path), IoError);
  std::filesystem::resize_file(path, 0);
  EXPECT_TRUE(has(thrown_text<IoError>([&] { open_store(path); }), "HDF5"));
  EXPECT_THROW(create_store(path_of("b.h5"), TileGrid({3}, {3}, DType::f64)), IoError);
  EXPECT_FALSE(std::filesystem::exists(path_of("b.h5")));
  create_store(path_of("c.tiles"), TileGrid({3}, {3}, DType::f64));
  EXPECT_THROW(open_store(path_of("c.tiles"), false, "numbers"), ArgumentError);
  std::filesystem::remove(path_of("c.tiles"));
}

}  // namespace
}  // namespace tessera::store
