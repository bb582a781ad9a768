// SPDX-License-Identifier: Apache-2.0
// Sorting in place and classes of elements against sort and searchsorted, bit by bit.
#include "tessera/kernels/sort/in_place.hpp"

#include <cstring>

#include "support/arrays.hpp"
#include "support/awkward.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/sort/classes.hpp"
#include "tessera/kernels/sort/sort.hpp"

namespace tessera {
namespace {

constexpr DType all_types[] = {DType::b1,  DType::i8,  DType::u8,  DType::i16, DType::u16,
                               DType::i32, DType::u32, DType::i64, DType::u64, DType::f16,
                               DType::f32, DType::f64, DType::c64, DType::c128};

TEST(SortInPlace, AsSortWithLittleRoom) {
  for (const DType dtype : all_types)
    for (const Data data : all_data)
      for (const i64 n : {0, 1, 2, 37, 1000, 5003})
        for (const i64 room : {i64{1}, i64{700}, i64{1} << 20}) {
          const Array x = awkward(dtype, {n}, 5, data).to(cpu).copy(), expected = tessera::sort(x);
          const Array row = empty_dense({n}, dtype);
          row.copy_from(x);
          sort_in_place(row, room);
          EXPECT_EQ(std::memcmp(row.host_data(), expected.contiguous().host_data(),
                                static_cast<std::size_t>(row.bytes())),
                    0)
              << name(dtype) << " " << n << " " << room;
        }
}

TEST(SortInPlace, TakesNoMoreThanItsRoom) {
  const i64 n = 1 << 20, room = 1 << 20;
  const Array x = awkward(DType::f64, {n}, 5).to(cpu).contiguous();
  reset_peak(cpu);
  const i64 before = memory_stats(cpu).in_use;
  sort_in_place(x, room);
  EXPECT_LE(memory_stats(cpu).peak - before, room + 4096);
}

TEST(SortInPlace, RefusesWhatIsNotARow) {
  EXPECT_THROW(sort_in_place(zeros({3, 2}, DType::f64)), ShapeError);
  EXPECT_THROW(sort_in_place(zeros({8}, DType::f64).slice(0, 0, 8, 2)), ShapeError);
}

TEST(Classes, AsTwoSearches) {
  for (const DType dtype : all_types)
    for (const i64 number : {0, 1, 3, 40}) {
      const Array x = awkward(dtype, {2001}, 5).to(cpu);
      const Array bounds = without_repeats(tessera::sort(awkward(dtype, {number}, 8).to(cpu)));
      const Array left = searchsorted(bounds, x).contiguous(),
                  right = searchsorted(bounds, x, true).contiguous(), c = classes(x, bounds);
      for (i64 i = 0; i < x.size(); ++i)
        ASSERT_EQ(c.host<std::uint16_t>()[i], left.host<i64>()[i] + right.host<i64>()[i])
            << name(dtype) << " " << number << " " << i;
    }
  EXPECT_THROW(classes(zeros({3}, DType::f64), zeros({2}, DType::f32)), ShapeError);
}

}  // namespace
}  // namespace tessera
