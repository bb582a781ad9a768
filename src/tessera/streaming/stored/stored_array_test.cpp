// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/stored_array.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/arrays.hpp"
#include "support/distances.hpp"
#include "support/files.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/store/tiers/backing_file.hpp"

namespace tessera::streaming {
namespace {

// The budget of the host while one of these lives.
struct HostBudget {
  explicit HostBudget(i64 more) { set_memory_budget(cpu, memory_stats(cpu).in_use + more); }
  ~HostBudget() { set_memory_budget(cpu, config_decides); }
};
constexpr i64 mib = i64{1} << 20;

TEST(StoredArray, ReadsAndWritesBoxesOfFiles) {
  for (const DType t : {DType::b1, DType::i16, DType::f32, DType::c128})
    for (const Shape& shape : {Shape{7, 5}, {3}, {2, 3, 4}, {0, 4}}) {
      const Array x = random_on_host(shape, DType::f32, 3).astype(t);
      const StoredArray a = StoredArray::from(x);
      EXPECT_EQ(a.shape(), shape);
      EXPECT_FALSE(a.is_formula());
      EXPECT_PRED2(same_bits, a.array(), x);
    }
  const Array x = random_on_host({50, 30}, DType::f64, 4);
  const StoredArray a = StoredArray::from(x);
  a.write({{10, 5}, {20, 3}}, Array::scalar(Value(2.5), DType::f32));
  EXPECT_EQ(a.read({{29, 7}, {1, 1}}).item().as<double>(), 2.5);
  EXPECT_PRED2(same_bits, a.read({{0, 8}, {50, 22}}), x.slice(1, 8, 30));
  EXPECT_THROW(a.read({{0, 0}, {51, 1}}), IndexError);
}

TEST(StoredArray, FormulasAreComputedWhenAsked) {
  const Array x = random_on_host({40, 30}, DType::f64, 5), y = random_on_host({30}, DType::f32, 6);
  const StoredArray a = StoredArray::from(x), b = StoredArray::from(y);
  const StoredArray f = (a - b) * (a - b);
  EXPECT_TRUE(f.is_formula());
  const Array d = ops::subtract(x, y), wanted = ops::multiply(d, d);
  EXPECT_PRED2(same_bits, f.read({{3, 4}, {5, 6}}),
               wanted.slice(0, 3, 8).slice(1, 4, 10).contiguous());
  EXPECT_TRUE(f.is_formula());
  EXPECT_PRED2(same_bits, f.array(), wanted);
  EXPECT_LT(relative(streaming::reduce(Reduction::sum, f.expression()),
                     tessera::reduce(ReduceOp::sum, wanted)),
            1e-13);
  f.store();
  EXPECT_FALSE(f.is_formula());
  EXPECT_PRED2(same_bits, f.array(), wanted);
  EXPECT_THROW((a + b).write({{0, 0}, {1, 1}}, Array::scalar(Value(1), DType::f64)), ArgumentError);
}

TEST(StoredArray, StaysWithinTheBudget) {
  const Array x = random_on_host({600, 500}, DType::f64, 7),
              y = random_on_host({500, 400}, DType::f64, 8);
  const Array wanted = matmul(x, y);
  const StoredArray a = StoredArray::from(x), b = StoredArray::from(y);
  std::optional<StoredArray> c, d;
  {
    const HostBudget budget(mib);
    reset_peak(cpu);
    const i64 before = memory_stats(cpu).in_use;
    c = matmul(a, b);
    d = c->transpose();
    EXPECT_LE(memory_stats(cpu).peak - before, mib);
  }
  for (i64 r = 0; r < 600; r += 100) {
    EXPECT_LT(relative(c->read({{r, 0}, {100, 400}}), wanted.slice(0, r, r + 100)), 1e-13);
    EXPECT_LT(relative(d->read({{0, r}, {400, 100}}), wanted.slice(0, r, r + 100).transpose()),
              1e-13);
  }
  EXPECT_THROW(matmul(a, a), ShapeError);
}

TEST(StoredArray, FilesOfTheBackingFolderGoWithTheirHandles) {
  const std::string folder = path_of("backing");
  store::set_backing_dir(folder);
  const auto files = [&] {
    const std::filesystem::directory_iterator all(folder);
    return std::distance(begin(all), end(all));
  };
  {
    const StoredArray a = StoredArray::create({100, 100}, DType::f32);
    EXPECT_EQ(files(), 1);
    EXPECT_EQ(a.read({{99, 99}, {1, 1}}).item().as<float>(), 0.0F);
    const StoredArray copy = a;
    EXPECT_EQ(files(), 1);
    (a + a).store();
    EXPECT_EQ(files(), 1);
  }
  EXPECT_EQ(files(), 0);
  EXPECT_EQ(store::disk_stats().in_use, 0);
  store::set_backing_dir("");
}

TEST(StoredArray, NamedFilesStayAndAreOpenedAgain) {
  const std::string path = path_of("stays.tiles");
  std::filesystem::remove(path);
  const Array x = random_on_host({33, 44}, DType::c64, 9);
  StoredArray::from(x, path);
  const StoredArray again = StoredArray::open(path);
  EXPECT_PRED2(same_bits, again.array(), x);
  EXPECT_THROW(again.write({{0, 0}, {1, 1}}, x.slice(0, 0, 1).slice(1, 0, 1)), IoError);
  EXPECT_THROW(StoredArray::create({2}, DType::f32, path), IoError);
  const std::string other = path_of("other.tiles");
  std::filesystem::remove(other);
  (again + again).save(other);
  EXPECT_PRED2(same_bits, StoredArray::open(other).array(), ops::add(x, x));
}

}  // namespace
}  // namespace tessera::streaming
