// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/fill.hpp"

#include <gtest/gtest.h>

#include "support/arrays.hpp"
#include "support/distances.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/store/tiers/backing_file.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 small_budget = i64{3} << 20;
bool equal_arrays(const Array& a, const Array& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && same_bits(a, b);
}
// Made under a budget of the host that holds little; whole at its end, and not before.
template <class Make>
Array under_budget(Make make) {
  set_memory_budget(cpu, memory_stats(cpu).in_use + small_budget);
  reset_peak(cpu);
  const i64 before = memory_stats(cpu).in_use;
  const StoredArray made = make();
  EXPECT_LE(memory_stats(cpu).peak - before, small_budget);
  EXPECT_FALSE(made.is_formula());
  EXPECT_TRUE(made.store()->writable());
  set_memory_budget(cpu, config_decides);
  return made.array();
}
const std::vector<Shape> filled_shapes = {{},          {0},         {1},       {700001},
                                          {600, 1001}, {1, 3000},   {3000, 1}, {7, 301, 203},
                                          {3, 0, 5},   {2, 3, 4, 5}};

TEST(Fill, OneValueEverywhere) {
  for (const Shape& shape : filled_shapes)
    for (const DType t : {DType::b1, DType::i8, DType::f32, DType::c128}) {
      const Array wanted = Array::empty(shape, t);
      wanted.fill(Value(1));
      EXPECT_PRED2(equal_arrays, under_budget([&] { return filled(shape, Value(1), t); }), wanted)
          << tessera::to_text(shape);
    }
}

TEST(Fill, RandomNumbersAreThoseOfMemory) {
  for (const Shape& shape : filled_shapes)
    for (const DType t : {DType::f16, DType::f32, DType::f64, DType::c64, DType::c128}) {
      Random here(5), there(5);
      EXPECT_PRED2(equal_arrays,
                   under_budget([&] { return drawn(shape, t, there.next_normal(t, 1, 2)); }),
                   here.normal(shape, t, cpu, 1, 2))
          << tessera::to_text(shape) << name(t);
      if (is_complex(t)) continue;
      EXPECT_PRED2(equal_arrays,
                   under_budget([&] { return drawn(shape, t, there.next_uniform(t, 0, 3)); }),
                   here.uniform(shape, t, cpu, 0, 3));
    }
  for (const DType t : {DType::b1, DType::u8, DType::i32, DType::i64}) {
    Random here(6), there(6);
    EXPECT_PRED2(equal_arrays, under_budget([&] {
                   return drawn({900, 700}, t, there.next_integers(0, 2, t));
                 }),
                 here.integers(0, 2, {900, 700}, t));
  }
}

TEST(Fill, ZerosTakeNothingOfTheDisk) {
  const i64 before = store::disk_occupied();
  const StoredArray a = StoredArray::zeros({1 << 14, 1 << 14}, DType::f64);  // 2 GiB
  EXPECT_LT(store::disk_occupied() - before, 1 << 20);
  EXPECT_EQ(a.read({{5000, 6000}, {1, 1}}).item().as<double>(), 0.0);
  EXPECT_GE(store::disk_stats().in_use, i64{2} << 30);
  a.write({{12345, 678}, {2, 3}}, Array::scalar(Value(2.5), DType::f64));
  EXPECT_LT(store::disk_occupied() - before, 256 << 20);
  EXPECT_EQ(a.read({{12346, 680}, {1, 1}}).item().as<double>(), 2.5);
  EXPECT_EQ(a.read({{12347, 680}, {1, 1}}).item().as<double>(), 0.0);
}

}  // namespace
}  // namespace tessera::streaming
